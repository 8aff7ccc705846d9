/* bpe_trainer.c -- the trainer's documented errors, and the files it writes.  That vocabularies are HF's is tested
   in tests/interop/trainer.c.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <minimind/bpe_trainer.h>
#include <minimind/tokenizer.h>

#include "../tap.h"

static const char *const three[] = { "<|endoftext|>", "<|im_start|>", "<|im_end|>" };

static mm_status
try_open (struct mm_bpe_options o)
{
  struct mm_bpe_trainer *t;
  mm_status st = mm_bpe_trainer_open (&o, &t);

  mm_bpe_trainer_close (t);
  return st;
}

static void
test_refusals (void)
{
  static char lengthy[4098];
  const char *bad[1];
  struct mm_bpe_options o = { .vocab_size = 259, .special = three, .n_special = 3, .n_threads = 1 };

  ok (try_open (o) == MM_OK, "259 hold three special tokens and the bytes");
  o.vocab_size = 258;
  ok (try_open (o) == MM_EUSAGE && strstr (mm_error_message (), "259"), "258 do not");
  o.vocab_size = 5000000;
  ok (try_open (o) == MM_EUSAGE, "a vocabulary can be too large");
  o.vocab_size = 300;
  o.n_threads = 0;
  ok (try_open (o) == MM_EINVAL, "no threads");
  o.n_threads = 1;
  o.eos = "</s>";
  ok (try_open (o) == MM_EUSAGE && strstr (mm_error_message (), "</s>"), "a role for no token");
  o.eos = NULL;
  o.special = (const char *[]) { "<a>", "<b>", "<a>" };
  ok (try_open (o) == MM_EUSAGE && strstr (mm_error_message (), "<a> is given twice"),
      "a token given twice");
  o.special = bad;
  o.n_special = 1;
  bad[0] = "";
  ok (try_open (o) == MM_EUSAGE && strstr (mm_error_message (), "empty"), "an empty token");
  bad[0] = "a\xff";
  ok (try_open (o) == MM_EUSAGE && strstr (mm_error_message (), "UTF-8"), "a token not UTF-8");
  bad[0] = "\303\251";
  ok (try_open (o) == MM_EUSAGE && strstr (mm_error_message (), "spells"),
      "a token that spells another byte");
  bad[0] = memset (lengthy, 'x', 4097);
  ok (try_open (o) == MM_EUSAGE && strstr (mm_error_message (), "4097"), "a token too long");
  bad[0] = "\344\270\255";
  ok (try_open (o) == MM_OK, "a Chinese one will do");
}

static void
test_files (void)
{
  struct mm_bpe_options o = { .vocab_size = 265, .special = three, .n_special = 3, .bos = three[1], .eos = three[2],
                              .pad = three[0], .unk = three[0], .n_threads = 2 };
  json_t *root, *config_root;
  struct mm_bpe_trainer *t;
  struct mm_tokenizer *tokenizer;
  char *json, *config;
  uint32_t reached;
  uint64_t pieces, distinct;

  if (mm_bpe_trainer_open (&o, &t) < 0)
    exit (99);
  ok (mm_bpe_trainer_cut (t, "one two", 7, 5) == 3 && mm_bpe_trainer_cut (t, "onetwo", 6, 6) == 0,
      "where a document may be cut");
  ok (mm_bpe_trainer_add (t, "ab\xff", 3) == MM_EFORMAT && strstr (mm_error_message (), "byte 2"),
      "invalid UTF-8 is refused, naming the byte");
  ok (mm_bpe_trainer_add (t, "low lower lowest low", 20) == MM_OK
      && mm_bpe_trainer_add (t, "", 0) == MM_OK, "documents are added");
  ok (mm_bpe_trainer_finish (t, &json, &config, &reached) == MM_OK && reached == 265,
      "the size asked for is reached");
  mm_bpe_trainer_counts (t, &pieces, &distinct);
  ok (pieces == 4 && distinct == 4, "pieces are counted");
  ok (mm_bpe_trainer_add (t, "x", 1) == MM_EINVAL, "nothing more may come");
  free (json);
  free (config);
  ok (mm_bpe_trainer_finish (t, &json, &config, &reached) == MM_EINVAL && !json && !config,
      "nor may it finish twice");
  mm_bpe_trainer_close (t);

  if (mm_bpe_trainer_open (&o, &t) < 0 || mm_bpe_trainer_add (t, "low lower lowest low", 20) < 0
      || mm_bpe_trainer_finish (t, &json, &config, &reached) < 0)
    exit (99);
  mm_bpe_trainer_close (t);
  ok (mm_tokenizer_parse ("t", json, strlen (json), config, strlen (config), &tokenizer) == MM_OK,
      "what comes out loads");
  ok (mm_tokenizer_bos (tokenizer) == 1 && mm_tokenizer_eos (tokenizer) == 2
      && mm_tokenizer_pad (tokenizer) == 0 && mm_tokenizer_vocab_size (tokenizer) == 265
      && mm_tokenizer_is_special (tokenizer, 2), "with its roles");
  ok (mm_tokenizer_find (tokenizer, "!") == 3 && mm_tokenizer_find (tokenizer, " low") >= 259,
      "bytes first, then merges");
  mm_tokenizer_free (tokenizer);

  root = json_loads (json, 0, NULL);
  config_root = json_loads (config, 0, NULL);
  ok (strstr (json_string_value (json_object_get (config_root, "chat_template")), "<|im_start|>")
      && json_is_false (json_object_get (config_root, "clean_up_tokenization_spaces"))
      && json_integer_value (json_object_get (config_root, "model_max_length")) == 32768
      && strcmp (json_string_value (json_object_get (config_root, "tokenizer_class")),
                 "PreTrainedTokenizerFast") == 0
      && strcmp (json_string_value (json_object_get (config_root, "unk_token")), three[0]) == 0,
      "the configuration has ChatML");
  ok (json_array_size (json_array_get (json_object_get (json_object_get (root, "model"), "merges"),
                                       0)) == 2, "merges are pairs");
  json_decref (root);
  json_decref (config_root);
  free (json);
  free (config);
}

/* ---- memory ---- */

enum { WORDS = 150000 };

/* What is learnt from WORDS distinct words, a third of them long, some frequent.  NULL after a failure.  */
static char *
learn_words (int n_threads, uint64_t max_memory, const char *folder)
{
  struct mm_bpe_options o = { .vocab_size = 330, .special = three, .n_special = 3, .n_threads = n_threads,
                              .max_memory = max_memory, .temp_folder = folder };
  char word[64], *json = NULL, *config = NULL;
  struct mm_bpe_trainer *t;
  uint32_t reached, x = 1;
  uint64_t pieces, distinct;
  mm_status st = mm_bpe_trainer_open (&o, &t);

  for (int i = 0; st == MM_OK && i < WORDS + WORDS / 2; i++)
    {
      int n = 0;

      /* The last ones repeat the first.  */
      x = i % WORDS == 0 ? 1 : x;
      for (uint32_t k = x = x * 1664525 + 1013904223; k; k /= 23)
        word[n++] = (char) ('a' + k % 23);
      n += sprintf (word + n, "%s", i % 3 == 0 ? "andsomethinglonger" : "");
      word[n++] = 'z';
      for (int k = i % WORDS % 1000 == 0 ? 5000 : 1; st == MM_OK && k > 0; k--)
        st = mm_bpe_trainer_add (t, word, (size_t) n);
    }
  if (st == MM_OK)
    st = mm_bpe_trainer_finish (t, &json, &config, &reached);
  if (st == MM_OK)
    mm_bpe_trainer_counts (t, &pieces, &distinct);
  mm_bpe_trainer_close (t);
  free (config);
  if (st < 0)
    printf ("# %s\n", mm_error_message ());
  else if (distinct != WORDS)
    printf ("# %llu distinct pieces\n", (unsigned long long) distinct);
  return json;
}

static void
test_memory (void)
{
  char *want = learn_words (1, 0, NULL);
  struct mm_bpe_options o = { .vocab_size = 300, .n_threads = 2, .max_memory = 20 << 20 };

  ok (try_open (o) == MM_EUSAGE && strstr (mm_error_message (), "want at least 35"), "20 MB are too little");
  for (int mb = 30; mb <= 70; mb += 8)
    {
      char *json = learn_words (mb == 30 ? 1 : mb == 46 ? 4 : 2, (uint64_t) mb << 20, ".");

      ok (want && json && strcmp (json, want) == 0, "what does not fit in memory gives the same vocabulary");
      free (json);
    }
  ok (!learn_words (1, 30 << 20, "no/such/folder") && strstr (mm_error_message (), "no/such/folder"),
      "where there is no room for a temporary file, the folder is named");
  free (want);
}

int
main (void)
{
  test_refusals ();
  test_files ();
  test_memory ();
  return tap_done ();
}
