/* pack() as a whole: where every token goes, over odd sizes and all strategies.
   SPDX-License-Identifier: Apache-2.0

   Token number g of the stream has the id g + 3, so that a row tells exactly which tokens it
   holds; ids below 3 are padding.  */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>

#include <xxhash.h>

#include <minimind/dataset.h>
#include <minimind/files.h>
#include <minimind/hash.h>
#include <minimind/json.h>
#include <minimind/log.h>
#include <minimind/random.h>
#include <minimind/safetensors.h>
#include <minimind/tokens.h>

#include "../../pack/pack.h"
#include "../tap.h"
#include "scratch.h"
#include "tiny.h"

enum { MAX_TOKENS = 4000, SPECIALS = 3 };

/* The stream: which tokens begin a document, and which documents each input holds.  */
static uint64_t n_tokens;
static bool is_first[MAX_TOKENS + 1];   /* of a document */
static uint64_t begin_of[MAX_TOKENS];    /* first token of its document */

static void
must (mm_status st)
{
  if (st < 0)
    {
      fprintf (stderr, "%s\n", mm_error_message ());
      exit (99);
    }
}

/* Append an input file NAME of DOCS documents of 0 to LONGEST tokens (all LONGEST, if EVEN).  */
static void
write_input (const char *name, const struct mm_tokenizer *t, size_t input, size_t docs,
             size_t longest, bool even)
{
  struct mm_tokens_writer *w;

  must (mm_tokens_create (name, true, t, &w));
  for (size_t d = 0; d < docs; d++)
    {
      uint64_t begin = n_tokens;
      double u = mm_uniform (longest, MM_RANDOM_TEST, (uint32_t) input, d);
      size_t length = even ? longest : (size_t) (u * (double) (longest + 1));

      for (size_t i = 0; i < length; i++)
        {
          uint32_t id = (uint32_t) n_tokens + SPECIALS;

          if (n_tokens == MAX_TOKENS)
            exit (99);
          is_first[n_tokens] = i == 0;
          begin_of[n_tokens] = begin;
          n_tokens++;
          must (mm_tokens_add (w, &id, 1));
        }
      must (mm_tokens_end_document (w));
    }
  must (mm_tokens_commit (w));
}

/* ---- what a dataset should hold ---- */

struct seen
{
  int targets[MAX_TOKENS];      /* how often each token is one */
  int present[MAX_TOKENS];
  enum mm_split split[MAX_TOKENS];
  uint64_t n_targets[2], padding[2], documents_first[2];
  bool sound;                   /* no flaw so far */
};

static void
flaw (struct seen *s, bool is_one, const char *what, uint64_t row, size_t i)
{
  if (is_one && s->sound)
    printf ("# %s at row %" PRIu64 ", position %zu\n", what, row, i);
  s->sound = s->sound && !is_one;
}

static void
look_at_row (struct seen *s, const struct pack_config *c, enum mm_split split, uint64_t row,
             const uint32_t *ids, const uint8_t *starts, const uint8_t *mask)
{
  uint64_t targets = 0;

  for (size_t i = 0; i <= c->seq_len; i++)
    {
      uint64_t g = (uint64_t) ids[i] - SPECIALS;
      bool target = i > 0 && mask[i] && !starts[i];

      if (ids[i] < SPECIALS)
        {
          flaw (s, c->strategy == PACK_CONCAT, "padding under concat", row, i);
          flaw (s, ids[i] != 0 || mask[i], "padding of another kind", row, i);
          flaw (s, starts[i] != (ids[i - 1] >= SPECIALS), "padding no document of its own", row, i);
          s->padding[split]++;
          continue;
        }
      flaw (s, g >= n_tokens, "an unknown token", row, i);
      if (g >= n_tokens)
        return;
      flaw (s, !starts[i] && ids[i] != ids[i - 1] + 1, "a gap inside a document", row, i);
      flaw (s, is_first[g] && !starts[i], "a document begins unmarked", row, i);
      flaw (s, s->present[g] > 0 && s->split[g] != split, "a token in both splits", row, i);
      s->split[g] = split;
      s->present[g]++;
      s->targets[g] += target;
      targets += target;
    }
  flaw (s, targets == 0, "nothing to learn", row, 0);
  s->n_targets[split] += targets;
}

static void
look_at_dataset (struct seen *s, const struct pack_config *c, const struct mm_dataset *d)
{
  uint32_t *ids = malloc ((c->seq_len + 1) * sizeof *ids);
  uint8_t *starts = malloc (c->seq_len + 1), *mask = malloc (c->seq_len + 1);

  memset (s, 0, sizeof *s);
  s->sound = true;
  for (int split = 0; split < 2; split++)
    for (uint64_t row = 0; row < mm_dataset_rows (d, (enum mm_split) split); row++)
      {
        must (mm_dataset_read (d, (enum mm_split) split, row, ids, starts, mask));
        look_at_row (s, c, (enum mm_split) split, row, ids, starts, mask);
      }
  free (ids);
  free (starts);
  free (mask);
}

static int64_t
reported (const json_t *report, const char *split, const char *key)
{
  return json_integer_value (json_object_get (json_object_get (report, split), key));
}

/* Would the hash hold out the document that begins with token BEGIN?  By minimind-pack(1): the first 8 bytes of the
   canonical XXH3-128 of its ids are the index, the next 4 the stream of a random number of the seed.  */
static bool
is_chosen (const struct pack_config *c, uint64_t begin)
{
  uint16_t ids[MAX_TOKENS];
  uint64_t n = 0;
  XXH128_hash_t hash;

  do
    ids[n] = (uint16_t) (begin + n + SPECIALS);
  while (++n + begin < n_tokens && !is_first[begin + n]);
  /* In its canonical form a digest begins with its most significant byte.  */
  hash = XXH3_128bits (ids, 2 * n);
  return mm_uniform (c->seed, MM_RANDOM_VALIDATION, __builtin_bswap32 ((uint32_t) (hash.low64 >> 32)),
                     __builtin_bswap64 (hash.high64)) < c->validation;
}

/* The split that token G should be in, by the rules of pack(1).  */
static enum mm_split
split_of (const struct pack_config *c, const char *held_out, uint64_t tail, uint64_t g)
{
  if (strcmp (held_out, "documents") == 0)
    return is_chosen (c, begin_of[g]) ? MM_VALIDATION : MM_TRAIN;
  return strcmp (held_out, "tail") == 0 && g >= n_tokens - tail ? MM_VALIDATION : MM_TRAIN;
}

/* Every token is accounted for: in the right split; a target once unless it begins a document (or
   the tail), or was dropped with the end of the split, or stands alone in a row.  */
static bool
accounted (const struct pack_config *c, const json_t *report, const struct seen *s)
{
  static const char *const names[] = { "train", "validation" };
  const char *held_out = json_string_value (json_object_get (report, "held_out"));
  uint64_t tail = (uint64_t) reported (report, "validation", "tokens"), targets[2] = { 0 };
  bool right = s->sound;

  for (int split = 0; right && split < 2; split++)
    {
      uint64_t dropped = (uint64_t) reported (report, names[split], "dropped_tail");
      uint64_t untargeted = (uint64_t) reported (report, names[split], "untargeted_tokens");
      uint64_t given = (uint64_t) reported (report, names[split], "tokens"), kept = 0;

      for (uint64_t g = n_tokens; right && g-- > 0;)
        {
          bool starts = is_first[g] || (strcmp (held_out, "tail") == 0 && g == n_tokens - tail);

          if (split_of (c, held_out, tail, g) != (enum mm_split) split)
            continue;
          given--;
          if (dropped > 0)
            {
              dropped--;
              right = s->present[g] == 0;
              continue;
            }
          kept += s->present[g] > 0;
          right = s->targets[g] == (starts ? 0 : 1) && (s->present[g] > 0 || (starts && untargeted > 0))
                  && (s->present[g] == 0 || s->split[g] == (enum mm_split) split);
          targets[split] += (uint64_t) s->targets[g];
        }
      right = right && given == 0
              && kept + untargeted + (uint64_t) reported (report, names[split], "dropped_tail")
                 == (uint64_t) reported (report, names[split], "tokens")
              && (int64_t) targets[split] == reported (report, names[split], "targets")
              && (int64_t) s->padding[split] == reported (report, names[split], "padding");
      if (!right)
        printf ("# %s of %s does not add up\n", names[split], pack_strategy_names[c->strategy]);
    }
  return right;
}

/* Documents that fit a row are in one.  */
static bool
uncut (const struct pack_config *c, const struct seen *s)
{
  for (uint64_t g = 0; g < n_tokens;)
    {
      uint64_t end = g + 1;

      while (end < n_tokens && !is_first[end])
        end++;
      if (end - g <= c->seq_len + 1 && end - g > 1)
        for (uint64_t i = g; i < end; i++)
          if (s->present[i] > 1)
            return false;
      g = end;
    }
  return true;
}

static json_t *
read_report (void)
{
  json_t *root;

  must (mm_json_read ("out/dataset.json", 1 << 20, &root));
  return root;
}

static bool
packs_right (const struct pack_config *c)
{
  static struct seen seen;
  struct mm_dataset *d;
  json_t *root;
  bool right;

  if (pack (c) < 0)
    {
      printf ("# %s\n", mm_error_message ());
      return false;
    }
  must (mm_dataset_open ("out", true, &d));
  root = read_report ();
  look_at_dataset (&seen, c, d);
  right = accounted (c, json_object_get (root, "report"), &seen)
          && (c->strategy == PACK_CONCAT || uncut (c, &seen));
  json_decref (root);
  mm_dataset_close (d);
  return right;
}

/* ---- the tests ---- */

static struct pack_input two_inputs[] = { { "a", 0 }, { "b", 0 } };
static double one_weight[] = { 1 };

static struct pack_config
config (uint32_t seq_len, enum pack_strategy strategy)
{
  return (struct pack_config) { .inputs = two_inputs, .n_inputs = 2, .weights = one_weight,
                                .n_sources = 1, .threads = 2, .output = "out", .force = true,
                                .seq_len = seq_len, .strategy = strategy, .validation = 0.1, .seed = 5 };
}

static void
test_strategies (const char *corpus)
{
  static const uint32_t lengths[] = { 1, 3, 16, 61 };

  for (int strategy = 0; pack_strategy_names[strategy]; strategy++)
    {
      char name[128];
      bool right = true;

      for (int i = 0; i < 4; i++)
        {
          struct pack_config c = config (lengths[i], (enum pack_strategy) strategy);

          c.validation = i == 2 ? 0 : 0.1;
          c.shard_rows = i == 3 ? 4 : 0;
          right = packs_right (&c) && right;
        }
      snprintf (name, sizeof name, "%s: %s loses and doubles nothing", corpus,
                pack_strategy_names[strategy]);
      ok (right, name);
    }
}

static void
test_corpora (const struct mm_tokenizer *t)
{
  n_tokens = 0;
  write_input ("a", t, 0, 1, 700, true);
  write_input ("b", t, 1, 1, 1, true);
  test_strategies ("one long document");
  n_tokens = 0;
  write_input ("a", t, 0, 9, 90, false);
  write_input ("b", t, 1, 5, 40, true);
  test_strategies ("few documents");
  n_tokens = 0;
  write_input ("a", t, 0, 130, 20, false);
  write_input ("b", t, 1, 70, 33, false);
  test_strategies ("many documents");
}

/* The corpus at hand has many documents.  */
static void
test_held_out (void)
{
  struct pack_config c = config (8, PACK_CONCAT);
  char first[MM_SHA256_TEXT], second[MM_SHA256_TEXT];
  json_t *root;

  must (pack (&c));
  must (mm_sha256_file ("out/dataset.json", first));
  must (pack (&c));
  must (mm_sha256_file ("out/dataset.json", second));
  ok (strcmp (first, second) == 0, "equal inputs and options give an equal dataset");
  root = read_report ();
  ok (strcmp (json_string_value (json_object_get (json_object_get (root, "report"), "held_out")),
              "documents") == 0, "many documents are held out whole");
  json_decref (root);
  c.seed = 6;
  must (pack (&c));
  must (mm_sha256_file ("out/dataset.json", second));
  ok (strcmp (first, second) != 0, "another seed holds out others");

  c.validation = 0.0001;
  ok (packs_right (&c), "where the hash would hold out no row");
  root = read_report ();
  ok (strcmp (json_string_value (json_object_get (json_object_get (root, "report"), "held_out")),
              "tail") == 0 && reported (root, "validation", "rows") == 1,
      "the tail is, one row of it");
  json_decref (root);
}

/* The largest --seq-len that the message of a refusal names.  */
static uint32_t
advised (void)
{
  const char *at = strstr (mm_error_message (), "at most --seq-len=");

  return at ? (uint32_t) strtoul (at + strlen ("at most --seq-len="), NULL, 10) : 0;
}

static void
test_too_little (const struct mm_tokenizer *t)
{
  for (uint64_t n = 4; n <= 40; n += 9)
    for (int held = 0; held < 2; held++)
      {
        struct pack_config c = config (512, PACK_CONCAT);
        char name[64];
        bool right;

        n_tokens = 0;
        write_input ("a", t, 0, 1, n, true);
        c.n_inputs = 1;
        c.validation = 0.01 * held;
        right = pack (&c) == MM_EUSAGE;
        c.seq_len = advised ();
        right = right && packs_right (&c);
        c.seq_len++;
        right = right && pack (&c) == MM_EUSAGE;
        snprintf (name, sizeof name, "%" PRIu64 " tokens: the row length advised fits, no more", n);
        ok (right, name);
      }
}

static void
test_refusals (const struct mm_tokenizer *t)
{
  struct mm_tokenizer *larger = tiny_tokenizer (MAX_TOKENS + 10);
  struct mm_tokenizer *other = tiny_tokenizer_with (MAX_TOKENS + SPECIALS, "{\"eos_token\": \"<|im_end|>\"}");
  struct pack_config c = config (8, PACK_CONCAT);

  n_tokens = 0;
  write_input ("a", t, 0, 20, 20, true);
  write_input ("b", larger, 1, 20, 20, true);
  ok (pack (&c) == MM_EFORMAT && strstr (mm_error_message (), mm_tokenizer_sha256 (t))
      && strstr (mm_error_message (), mm_tokenizer_sha256 (larger)),
      "inputs of two tokenizers are refused, both named");
  write_input ("b", other, 1, 20, 20, true);
  ok (pack (&c) == MM_EFORMAT, "so are those of two configurations");
  mm_tokenizer_free (larger);
  mm_tokenizer_free (other);

  c.n_inputs = 1;
  c.shard_rows = 1;
  c.seq_len = 1;
  ok (pack (&c) == MM_EUSAGE && strstr (mm_error_message (), "--shard-rows=2"),
      "too many parts are refused, with a number that fits");
  c.shard_rows = 0;
  must (pack (&c));
  c.force = false;
  ok (pack (&c) == MM_EEXIST, "an existing dataset is kept");
  c.force = true;
  c.inputs = (struct pack_input[]) { { "missing", 0 } };
  ok (pack (&c) == MM_ENOENT && access ("out/dataset.json", F_OK) == 0,
      "a failure leaves what was there");

  n_tokens = 0;
  write_input ("a", t, 0, 3, 0, true);
  c.inputs = two_inputs;
  ok (pack (&c) == MM_EFORMAT, "no tokens at all");
  n_tokens = 0;
  write_input ("a", t, 0, 20, 1, true);
  ok (pack (&c) == MM_EFORMAT, "nothing that is a target");
}

/* A conversation file "a": 4 documents of 10 tokens, of which 0, 3, 0 and 10 are to be learnt.  */
static void
write_masked (const struct mm_tokenizer *t)
{
  static const uint8_t mask[40] = { [17] = 1, 1, 1, [30] = 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
  const int64_t offsets[] = { 0, 10, 20, 30, 40 };
  const uint64_t n_offsets = 5, n = 40;
  uint16_t ids[40];
  struct mm_safetensors_writer *w;
  const char *json, *config;
  size_t json_size, config_size;

  for (int i = 0; i < 40; i++)
    ids[i] = (uint16_t) (i + SPECIALS);
  mm_tokenizer_files (t, &json, &json_size, &config, &config_size);
  must (mm_safetensors_create ("a", true, true, &w));
  must (mm_safetensors_add_meta (w, "kind", "minimind-tokens"));
  must (mm_safetensors_add_meta (w, "tokenizer_sha256", mm_tokenizer_sha256 (t)));
  must (mm_safetensors_add_meta (w, "vocab_size", "4003"));
  must (mm_safetensors_add_meta (w, "documents", "4"));
  must (mm_safetensors_add_meta (w, "tokens", "40"));
  must (mm_safetensors_declare (w, "doc_offsets", MM_I64, 1, &n_offsets));
  must (mm_safetensors_declare (w, "tokens", MM_U16, 1, &n));
  must (mm_safetensors_declare (w, "loss_mask", MM_U8, 1, &n));
  must (mm_safetensors_declare (w, "tokenizer_json", MM_U8, 1, &(uint64_t) { json_size }));
  must (mm_safetensors_declare (w, "tokenizer_config_json", MM_U8, 1, &(uint64_t) { config_size }));
  must (mm_safetensors_write (w, "doc_offsets", offsets, sizeof offsets));
  must (mm_safetensors_write (w, "tokens", ids, sizeof ids));
  must (mm_safetensors_write (w, "loss_mask", mask, sizeof mask));
  must (mm_safetensors_write (w, "tokenizer_json", json, json_size));
  must (mm_safetensors_write (w, "tokenizer_config_json", config, config_size));
  must (mm_safetensors_commit (w, NULL));
}

static void
test_mask (const struct mm_tokenizer *t)
{
  struct pack_config c = config (16, PACK_PAD);
  uint8_t starts[17], mask[17];
  uint32_t ids[17];
  struct mm_dataset *d;
  json_t *root, *report;

  write_masked (t);
  c.n_inputs = 1;
  c.validation = 0;
  must (pack (&c));
  root = read_report ();
  report = json_object_get (root, "report");
  ok (reported (report, "train", "rows") == 2 && reported (report, "train", "untargeted_rows") == 2
      && reported (report, "train", "untargeted_tokens") == 20
      && reported (report, "train", "targets") == 3 + 9, "rows of nothing to learn are dropped");
  json_decref (root);

  c.strategy = PACK_CONCAT;
  must (pack (&c));
  must (mm_dataset_open ("out", true, &d));
  must (mm_dataset_read (d, MM_TRAIN, 0, ids, starts, mask));
  ok (mm_dataset_rows (d, MM_TRAIN) == 1 && ids[0] == 16 + SPECIALS
      && memcmp (mask, (uint8_t[]) { 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1 }, 17) == 0,
      "a loss mask goes along, and the row without a target is dropped");
  mm_dataset_close (d);
}

/* Under a tokenizer without special roles.  */
static void
test_no_padding (void)
{
  struct pack_config c = config (8, PACK_PAD);
  char *json = tiny_json (MAX_TOKENS + SPECIALS), *at;
  struct mm_tokenizer *t;

  for (int i = 0; i < 2; i++)
    if ((at = strstr (json, "<|im_end|>")) && memcpy (at, "<|im_fin|>", 10)
        && (at = strstr (json, "<|endoftext|>")))
      memcpy (at, "<|endoffile|>", 13);
  must (mm_tokenizer_parse ("bare", json, strlen (json), NULL, 0, &t));
  n_tokens = 0;
  write_input ("a", t, 0, 20, 20, true);
  c.n_inputs = 1;
  ok (pack (&c) == MM_EFORMAT, "without pad and eos there is no padding");
  c.strategy = PACK_CONCAT;
  ok (pack (&c) == MM_OK, "concat needs none");
  mm_tokenizer_free (t);
  free (json);
}

int
main (void)
{
  struct mm_tokenizer *t;

  scratch_enter ();
  mm_log_setup ("pack", MM_LOG_QUIET);
  t = tiny_tokenizer (MAX_TOKENS + SPECIALS);
  test_corpora (t);
  test_held_out ();
  test_too_little (t);
  test_refusals (t);
  test_mask (t);
  test_no_padding ();
  mm_tokenizer_free (t);
  return tap_done ();
}
