/* known.c -- the encodings of rank files, and tokenizer.json written for them.
   SPDX-License-Identifier: Apache-2.0

   Sources: tiktoken's openai_public.py (patterns, special tokens, digests of the files); the tokenizers
   that come with Qwen's first models and with Llama 3.  */

#include <config.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/json.h>

#include "known.h"

static const struct mm_known_special gpt2[] = { { "<|endoftext|>", 50256, 0, 1 }, { NULL, 0, 0, 0 } };

static const struct mm_known_special cl100k[] = {
  { "<|endoftext|>", 100257, 0, 1 }, { "<|fim_prefix|>", 100258, 0, 1 }, { "<|fim_middle|>", 100259, 0, 1 },
  { "<|fim_suffix|>", 100260, 0, 1 }, { "<|endofprompt|>", 100276, 0, 1 }, { NULL, 0, 0, 0 }
};

static const struct mm_known_special o200k[] = {
  { "<|endoftext|>", 199999, 0, 1 }, { "<|endofprompt|>", 200018, 0, 1 }, { NULL, 0, 0, 0 }
};

static const struct mm_known_special qwen[] = {
  { "<|endoftext|>", 151643, 0, 1 }, { "<|im_start|>", 151644, 0, 1 }, { "<|im_end|>", 151645, 0, 1 },
  { "<|extra_%d|>", 151646, 0, 205 }, { NULL, 0, 0, 0 }
};

static const struct mm_known_special llama3[] = {
  { "<|begin_of_text|>", 128000, 0, 1 }, { "<|end_of_text|>", 128001, 0, 1 },
  { "<|reserved_special_token_%d|>", 128002, 0, 4 }, { "<|start_header_id|>", 128006, 0, 1 },
  { "<|end_header_id|>", 128007, 0, 1 }, { "<|reserved_special_token_%d|>", 128008, 4, 1 },
  { "<|eot_id|>", 128009, 0, 1 }, { "<|reserved_special_token_%d|>", 128010, 5, 246 }, { NULL, 0, 0, 0 }
};

#define END "<|endoftext|>"

static const struct mm_known known[] = {
  { "gpt2", "gpt-2", NULL, MM_PATTERN_GPT2, false, END, END, gpt2 },
  { "r50k_base", NULL, "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930", MM_PATTERN_GPT2,
    false, NULL, END, gpt2 },
  { "p50k_base", NULL, "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069", MM_PATTERN_GPT2,
    false, NULL, END, gpt2 },
  { "cl100k_base", NULL, "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    MM_PATTERN_CL100K, false, NULL, END, cl100k },
  { "o200k_base", NULL, "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d", MM_PATTERN_O200K,
    false, NULL, END, o200k },
  { "qwen", NULL, NULL, MM_PATTERN_QWEN2, true, NULL, END, qwen },
  { "llama3", "llama-3", NULL, MM_PATTERN_LLAMA3, false, "<|begin_of_text|>", "<|end_of_text|>", llama3 }
};

enum { KNOWN = sizeof known / sizeof *known };

const struct mm_known *
mm_known_named (const char *name, size_t size)
{
  for (int i = 0; i < KNOWN; i++)
    if ((strlen (known[i].name) == size && strncmp (known[i].name, name, size) == 0)
        || (known[i].other_name && strlen (known[i].other_name) == size
            && strncmp (known[i].other_name, name, size) == 0))
      return known + i;
  return NULL;
}

/* Does TEXT hold WORD, in either case?  */
static bool
holds (const char *text, const char *word)
{
  for (; word && *text; text++)
    {
      size_t i = 0;

      while (word[i] && tolower ((unsigned char) text[i]) == word[i])
        i++;
      if (!word[i])
        return true;
    }
  return false;
}

const struct mm_known *
mm_known_of_file (const char *path, const char *sha256)
{
  const char *slash = strrchr (path, '/'), *base = slash ? slash + 1 : path;

  for (int i = 0; i < KNOWN; i++)
    if (known[i].sha256 && strcmp (known[i].sha256, sha256) == 0)
      return known + i;
  for (int i = 0; i < KNOWN; i++)
    if (holds (base, known[i].name) || holds (base, known[i].other_name))
      return known + i;
  return NULL;
}

/* ---- writing ---- */

/* Tokens that are not in the vocabulary yet.  */
struct elsewhere
{
  mm_known_find *find;          /* or NULL */
  const void *arg;
};

/* Add TEXT to the vocabulary unless it is there, or WHERE says so, and to ADDED with the id that it has.  */
static bool
add_special (json_t *vocab, json_t *added, const struct elsewhere *where, const char *text, int id)
{
  json_t *there = json_object_get (vocab, text);
  int64_t found = there ? json_integer_value (there) : where->find ? where->find (where->arg, text) : -1;

  if (!there && found < 0)
    {
      found = id;
      if (json_object_set_new (vocab, text, json_integer (id)) < 0)
        return false;
    }
  return json_array_append_new (added, json_pack ("{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id", (json_int_t) found,
                                                  "content", text, "single_word", 0, "lstrip", 0, "rstrip", 0,
                                                  "normalized", 0, "special", 1)) == 0;
}

static json_t *
add_specials (const struct mm_known *k, json_t *vocab, const struct elsewhere *where)
{
  json_t *added = json_array ();
  char text[64];
  bool good = added;

  for (const struct mm_known_special *s = k->special; good && s->text; s++)
    for (int i = 0; good && i < s->count; i++)
      {
        const char *mark = strstr (s->text, "%d");

        if (mark)
          snprintf (text, sizeof text, "%.*s%d%s", (int) (mark - s->text), s->text, s->from + i, mark + 2);
        else
          snprintf (text, sizeof text, "%s", s->text);
        good = add_special (vocab, added, where, text, s->id + i);
      }
  if (good)
    return added;
  json_decref (added);
  return NULL;
}

/* Splits as the pattern's regular expression says, then bytes.  */
static json_t *
pre_tokenizer (enum mm_pattern pattern)
{
  if (pattern == MM_PATTERN_GPT2)
    return json_pack ("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 1,
                      "use_regex", 1);
  return json_pack ("{s:s, s:[{s:s, s:{s:s}, s:s, s:b}, {s:s, s:b, s:b, s:b}]}", "type", "Sequence",
                    "pretokenizers", "type", "Split", "pattern", "Regex", mm_pattern_regex (pattern),
                    "behavior", "Isolated", "invert", 0, "type", "ByteLevel", "add_prefix_space", 0,
                    "trim_offsets", 0, "use_regex", 0);
}

mm_status
mm_known_write (const struct mm_known *k, const char *name, json_t *vocab, json_t *merges, bool whole_first,
                mm_known_find *find, const void *arg, char **json, char **config)
{
  json_t *tokens = vocab ? json_incref (vocab) : json_object (), *pairs = merges ? json_incref (merges) : json_array ();
  json_t *added = add_specials (k, tokens, &(struct elsewhere) { find, arg }), *root, *settings;
  json_t *normalizer = k->nfc ? json_pack ("{s:s}", "type", "NFC") : json_null ();
  mm_status st;

  *json = *config = NULL;
  root = json_pack ("{s:s, s:n, s:n, s:o, s:o, s:o, s:n, s:{s:s, s:b, s:b, s:b}, "
                    "s:{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:b, s:o, s:o}}",
                    "version", "1.0", "truncation", "padding", "added_tokens", added, "normalizer",
                    normalizer, "pre_tokenizer", pre_tokenizer (k->pattern), "post_processor", "decoder",
                    "type", "ByteLevel", "add_prefix_space", 1, "trim_offsets", 1, "use_regex", 1, "model",
                    "type", "BPE", "dropout", "unk_token", "continuing_subword_prefix",
                    "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0, "ignore_merges",
                    (int) whole_first, "vocab", tokens, "merges", pairs);
  settings = json_pack ("{s:b, s:b, s:s?, s:b, s:s?, s:s}", "add_bos_token", 0, "add_prefix_space", 0,
                        "bos_token", k->bos, "clean_up_tokenization_spaces", 0, "eos_token", k->eos,
                        "tokenizer_class", "PreTrainedTokenizerFast");
  st = root && settings ? mm_json_text (root, false, json)
                        : mm_fail (MM_ENOMEM, "%s: out of memory", name);
  if (st == MM_OK)
    st = mm_json_text (settings, true, config);
  if (st < 0)
    {
      free (*json);
      *json = NULL;
    }
  json_decref (root);
  json_decref (settings);
  return st;
}
