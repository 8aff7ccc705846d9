/* pack() with several sources: proportions, repeats, duplicates, parts, turns.
   SPDX-License-Identifier: Apache-2.0

   Ids tell where a token comes from: source S has ids from 1000 * S + 3 on, ids below 3 are special.  */

#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

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

enum { RANGE = 1000, VOCAB = 5 * RANGE, SEQ_LEN = 32 };

static struct mm_tokenizer *tiny;

static void
must (mm_status st)
{
  if (st < 0)
    {
      fprintf (stderr, "%s\n", mm_error_message ());
      exit (99);
    }
}

/* Document DOC of source S: 5 to 5 + SPREAD ids, by a formula, then eos.  */
static size_t
document (size_t s, uint64_t doc, size_t spread, uint32_t *ids)
{
  size_t n = 5 + (size_t) (mm_uniform (s, MM_RANDOM_TEST, 0, doc) * (double) (spread + 1));

  for (size_t i = 0; i < n; i++)
    ids[i] = (uint32_t) (s * RANGE + 3 + (size_t) (mm_uniform (s, MM_RANDOM_TEST, 1, doc * 1000 + i) * (RANGE - 3)));
  ids[n++] = 2;
  return n;
}

/* A file of documents FROM to TO of source S.  */
static void
write_documents (const char *path, size_t s, uint64_t from, uint64_t to, size_t spread)
{
  struct mm_tokens_writer *w;
  uint32_t ids[600];

  must (mm_tokens_create (path, true, tiny, &w));
  for (uint64_t doc = from; doc < to; doc++)
    {
      must (mm_tokens_add (w, ids, document (s, doc, spread, ids)));
      must (mm_tokens_end_document (w));
    }
  must (mm_tokens_commit (w));
}

static struct pack_config
config (struct pack_input *inputs, size_t n_inputs, double *weights, size_t n_sources)
{
  return (struct pack_config) { .inputs = inputs, .n_inputs = n_inputs, .weights = weights, .n_sources = n_sources,
                                .output = "out", .force = true, .seq_len = SEQ_LEN, .validation = 0.05, .seed = 5,
                                .threads = 2 };
}

/* ---- what a dataset holds ---- */

enum { MAX_ROWS = 20000 };

struct rows
{
  uint64_t n;
  unsigned char source[MAX_ROWS];       /* of the row's tokens; 255: of several */
  unsigned targets[MAX_ROWS];
  uint64_t seen[VOCAB];         /* how often each id stands there as a target */
};

static void
look (struct rows *r, enum mm_split split)
{
  uint32_t ids[SEQ_LEN + 1];
  uint8_t starts[SEQ_LEN + 1], mask[SEQ_LEN + 1];
  struct mm_dataset *d;

  memset (r, 0, sizeof *r);
  must (mm_dataset_open ("out", true, &d));
  r->n = mm_dataset_rows (d, split);
  if (r->n > MAX_ROWS)
    exit (99);
  for (uint64_t row = 0; row < r->n; row++)
    {
      must (mm_dataset_read (d, split, row, ids, starts, mask));
      r->source[row] = 254;
      for (size_t i = 0; i <= SEQ_LEN; i++)
        {
          if (i > 0 && mask[i] && !starts[i])
            {
              r->targets[row]++;
              r->seen[ids[i]]++;
            }
          if (ids[i] < 3)
            continue;
          if (r->source[row] == 254)
            r->source[row] = (unsigned char) (ids[i] / RANGE);
          else if (r->source[row] != ids[i] / RANGE)
            r->source[row] = 255;
        }
    }
  mm_dataset_close (d);
}

/* The share of source S in the targets of rows [FROM, TO).  */
static double
share (const struct rows *r, size_t s, uint64_t from, uint64_t to)
{
  uint64_t mine = 0, all = 0;

  for (uint64_t row = from; row < to; row++)
    {
      all += r->targets[row];
      mine += r->source[row] == s ? r->targets[row] : 0;
    }
  return all > 0 ? (double) mine / (double) all : 0;
}

static json_t *
report (void)
{
  json_t *root, *inner;

  must (mm_json_read ("out/dataset.json", 1 << 20, &root));
  inner = json_incref (json_object_get (root, "report"));
  json_decref (root);
  return inner;
}

/* ---- mixes ---- */

static void
test_shares (void)
{
  static const double cases[][3] = { { 8, 2, 0 }, { 1, 1, 0 }, { 0.5, 0.3, 0.2 }, { 1, 9, 0 } };
  static struct rows r;

  write_documents ("s0", 0, 0, 900, 60);
  write_documents ("s1", 1, 0, 150, 90);
  write_documents ("s2", 2, 0, 40, 20);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int strategy = 0; strategy < 3; strategy++)
      {
        struct pack_input inputs[] = { { "s0", 0 }, { "s1", 1 }, { "s2", 2 } };
        double weights[3], sum = cases[i][0] + cases[i][1] + cases[i][2];
        size_t n = cases[i][2] > 0 ? 3 : 2;
        struct pack_config c = config (inputs, n, weights, n);
        bool right = true, even = true;
        char name[96];

        memcpy (weights, cases[i], sizeof weights);
        c.strategy = (enum pack_strategy) strategy;
        must (pack (&c));
        look (&r, MM_TRAIN);
        for (size_t s = 0; s < n; s++)
          {
            right = right && fabs (share (&r, s, 0, r.n) - cases[i][s] / sum) <= 0.01;
            for (uint64_t row = 0; row + 100 < r.n; row += 50)
              even = even && fabs (share (&r, s, row, row + 100) - cases[i][s] / sum) <= 0.04;
          }
        for (uint64_t row = 0; row < r.n; row++)
          right = right && r.source[row] != 255;
        snprintf (name, sizeof name, "%s: shares of %g : %g : %g, a row of one source each",
                  pack_strategy_names[strategy], cases[i][0], cases[i][1], cases[i][2]);
        ok (right, name);
        ok (even, "in any hundred rows, too");
      }
}

/* Under 8 to 2 source 0 is read once: each target of it that is trained on stands there once, and those of source 1
   about as often as the report says.  */
static void
test_repeats (void)
{
  struct pack_input inputs[] = { { "s0", 0 }, { "s1", 1 } };
  double weights[] = { 8, 2 }, times;
  struct pack_config c = config (inputs, 2, weights, 2);
  static struct rows once, mixed, held;
  bool right = true;
  json_t *text;

  c.strategy = PACK_FIT;
  must (pack (&c));
  look (&mixed, MM_TRAIN);
  look (&held, MM_VALIDATION);
  text = report ();
  times = json_number_value (json_object_get (json_array_get (json_object_get (text, "sources"), 1), "times_read"));
  ok (json_number_value (json_object_get (json_array_get (json_object_get (text, "sources"), 0), "times_read")) == 1,
      "the larger source is read once");
  json_decref (text);

  c.n_inputs = c.n_sources = 1;
  must (pack (&c));
  look (&once, MM_TRAIN);
  for (uint32_t id = 3; id < RANGE; id++)
    right = right && mixed.seen[id] == once.seen[id];
  ok (right, "every target of it once");

  c.inputs = inputs + 1;
  inputs[1].source = 0;
  must (pack (&c));
  look (&once, MM_TRAIN);
  right = times > 1;
  for (uint32_t id = RANGE; id < 2 * RANGE; id++)
    right = right && mixed.seen[id] >= (uint64_t) times * once.seen[id]
            && mixed.seen[id] <= ((uint64_t) times + 1) * once.seen[id];
  ok (right, "the smaller one as often as told");
  look (&once, MM_VALIDATION);
  for (uint32_t id = RANGE; id < 2 * RANGE; id++)
    right = right && held.seen[id] == once.seen[id];
  ok (right, "but held-out documents once");
}

static void
test_mix_refusals (void)
{
  struct pack_input inputs[] = { { "s0", 0 }, { "small", 1 } };
  double weights[] = { 1, 1 };
  struct pack_config c = config (inputs, 2, weights, 2);
  static struct rows r;

  write_documents ("small", 1, 0, 1, 0);
  c.validation = 0;
  must (pack (&c));
  look (&r, MM_TRAIN);
  ok (fabs (share (&r, 1, 0, r.n) - 0.5) < 0.01, "a source shorter than a row fills its share");
  write_documents ("small", 1, 0, 0, 0);
  ok (pack (&c) == MM_EFORMAT && strstr (mm_error_message (), "small: nothing is left of it for training"),
      "an empty one has none to give");
}

/* A source of documents of one token each has no target.  */
static void
test_no_targets (void)
{
  struct pack_input inputs[] = { { "s0", 0 }, { "ones", 1 } };
  double weights[] = { 1, 1 };
  struct pack_config c = config (inputs, 2, weights, 2);
  struct mm_tokens_writer *w;

  must (mm_tokens_create ("ones", true, tiny, &w));
  for (uint32_t i = 0; i < 50; i++)
    {
      must (mm_tokens_add (w, &(uint32_t) { 1003 + i }, 1));
      must (mm_tokens_end_document (w));
    }
  must (mm_tokens_commit (w));
  c.validation = 0;
  for (int strategy = 0; strategy < 3; strategy++)
    {
      c.strategy = (enum pack_strategy) strategy;
      ok (pack (&c) == MM_EFORMAT && strstr (mm_error_message (), "ones: nothing in it is a target"),
          "a source without a target is refused, not read for ever");
    }
}

/* ---- duplicates ---- */

static int64_t
of_source (const json_t *text, size_t s, const char *key)
{
  return json_integer_value (json_object_get (json_array_get (json_object_get (text, "sources"), s), key));
}

static void
test_dedupe (void)
{
  struct pack_input inputs[] = { { "s0", 0 }, { "again", 0 }, { "s1", 0 } };
  struct pack_input plain[] = { { "s0", 0 }, { "s1", 0 } };
  double weights[] = { 1 };
  struct pack_config c = config (inputs, 3, weights, 1);
  static struct rows deduped, once, held;
  bool apart = true;
  json_t *text;

  /* All of "again" stands in "s0", but for 20 documents.  */
  write_documents ("again", 0, 500, 920, 60);
  c.strategy = PACK_FIT;
  c.dedupe = true;
  must (pack (&c));
  text = report ();
  ok (of_source (text, 0, "duplicates") == 400 && of_source (text, 0, "documents") == 900 + 20 + 150,
      "equal documents are dropped but the first");
  json_decref (text);
  look (&deduped, MM_TRAIN);
  write_documents ("again", 0, 900, 920, 60);
  c.dedupe = false;
  must (pack (&c));
  look (&once, MM_TRAIN);
  ok (memcmp (deduped.seen, once.seen, sizeof once.seen) == 0, "what is left is what stands there once");

  /* Not deduplicated, but never in both splits: with ids that few documents share that shows.  */
  c.inputs = plain;
  c.n_inputs = 2;
  plain[1].path = "s0";
  must (pack (&c));
  look (&once, MM_TRAIN);
  look (&held, MM_VALIDATION);
  for (uint32_t id = 3; id < RANGE; id++)
    apart = apart && once.seen[id] % 2 == 0 && held.seen[id] % 2 == 0;
  ok (held.n > 0 && apart, "both copies of a document stand in the same split");
}

/* ---- parts ---- */

static bool
same_file (const char *a, const char *b)
{
  char x[MM_SHA256_TEXT], y[MM_SHA256_TEXT];

  must (mm_sha256_file (a, x));
  must (mm_sha256_file (b, y));
  return strcmp (x, y) == 0;
}

static void
test_parts (void)
{
  struct pack_input whole[] = { { "s0", 0 } };
  struct pack_input parts[20];
  static char names[20][8];
  double weights[] = { 1 };

  for (size_t i = 0; i < 20; i++)
    {
      snprintf (names[i], sizeof names[i], "part%zu", i);
      write_documents (names[i], 0, i * 45, (i + 1) * 45, 60);
      parts[i] = (struct pack_input) { names[i], 0 };
    }
  for (int strategy = 0; strategy < 3; strategy++)
    {
      struct pack_config c = config (whole, 1, weights, 1);

      c.strategy = (enum pack_strategy) strategy;
      c.dedupe = true;
      must (pack (&c));
      c.inputs = parts;
      c.n_inputs = 20;
      c.output = "parts";
      c.threads = 1;
      must (pack (&c));
      ok (same_file ("out/dataset.json", "parts/dataset.json")
          && same_file ("out/train-00000-of-00001.safetensors", "parts/train-00000-of-00001.safetensors"),
          "twenty parts give what the whole gives, with another number of threads");
    }
}

static void
test_dry_run (void)
{
  struct pack_input inputs[] = { { "s0", 0 } };
  double weights[] = { 1 };
  struct pack_config c = config (inputs, 1, weights, 1);

  c.dry_run = true;
  c.output = "nothing";
  ok (pack (&c) == MM_OK && access ("nothing", F_OK) < 0, "a dry run leaves nothing");
}

/* ---- conversations ---- */

/* One conversation of 100 tokens, 3 to 102, with turns at these; every second, or all, are targets.  */
static void
write_turns (const char *path, const int64_t *turns, uint64_t n_turns, bool all)
{
  const int64_t offsets[] = { 0, 100 };
  const uint64_t n_offsets = 2, n = 100;
  uint16_t ids[100];
  uint8_t mask[100];
  struct mm_safetensors_writer *w;
  const char *json, *setting;
  size_t json_size, setting_size;

  for (int i = 0; i < 100; i++)
    {
      ids[i] = (uint16_t) (i + 3);
      mask[i] = all;
    }
  for (uint64_t k = 1; !all && k < n_turns; k += 2)
    for (int64_t i = turns[k]; i < (k + 1 < n_turns ? turns[k + 1] : 100); i++)
      mask[i] = 1;
  mm_tokenizer_files (tiny, &json, &json_size, &setting, &setting_size);
  must (mm_safetensors_create (path, true, true, &w));
  must (mm_safetensors_add_meta (w, "kind", "minimind-tokens"));
  must (mm_safetensors_add_meta (w, "tokenizer_sha256", mm_tokenizer_sha256 (tiny)));
  must (mm_safetensors_add_meta (w, "vocab_size", "5000"));
  must (mm_safetensors_add_meta (w, "documents", "1"));
  must (mm_safetensors_add_meta (w, "tokens", "100"));
  must (mm_safetensors_declare (w, "doc_offsets", MM_I64, 1, &n_offsets));
  must (mm_safetensors_declare (w, "turn_offsets", MM_I64, 1, &n_turns));
  must (mm_safetensors_declare (w, "tokens", MM_U16, 1, &n));
  must (mm_safetensors_declare (w, "loss_mask", MM_U8, 1, &n));
  must (mm_safetensors_declare (w, "tokenizer_json", MM_U8, 1, &(uint64_t) { json_size }));
  must (mm_safetensors_declare (w, "tokenizer_config_json", MM_U8, 1, &(uint64_t) { setting_size }));
  must (mm_safetensors_write (w, "doc_offsets", offsets, sizeof offsets));
  must (mm_safetensors_write (w, "turn_offsets", turns, 8 * n_turns));
  must (mm_safetensors_write (w, "tokens", ids, sizeof ids));
  must (mm_safetensors_write (w, "loss_mask", mask, sizeof mask));
  must (mm_safetensors_write (w, "tokenizer_json", json, json_size));
  must (mm_safetensors_write (w, "tokenizer_config_json", setting, setting_size));
  must (mm_safetensors_commit (w, NULL));
}

/* Where the pieces of the conversation begin, by the first ids of documents in the rows.  */
static size_t
pieces (uint32_t *begin)
{
  uint32_t ids[SEQ_LEN + 1];
  uint8_t starts[SEQ_LEN + 1], mask[SEQ_LEN + 1];
  struct mm_dataset *d;
  size_t n = 0;

  must (mm_dataset_open ("out", true, &d));
  for (uint64_t row = 0; row < mm_dataset_rows (d, MM_TRAIN); row++)
    {
      must (mm_dataset_read (d, MM_TRAIN, row, ids, starts, mask));
      for (size_t i = 0; i <= SEQ_LEN; i++)
        if (starts[i] && ids[i] >= 3 && n < 16)
          begin[n++] = ids[i] - 3;
    }
  mm_dataset_close (d);
  return n;
}

static void
test_turns (void)
{
  struct pack_input inputs[] = { { "talk", 0 } };
  double weights[] = { 1 };
  struct pack_config c = config (inputs, 1, weights, 1);
  uint32_t begin[16];

  c.validation = 0;
  c.strategy = PACK_BY_INPUT;
  /* A row holds 33: from 0 on, turn 33 does not fit; from 33 on, turn 66; the last 34 are one too many.  */
  write_turns ("talk", (const int64_t[]) { 0, 20, 33, 50, 66, 70 }, 6, true);
  must (pack (&c));
  ok (pieces (begin) == 4 && begin[0] == 0 && begin[1] == 33 && begin[2] == 66 && begin[3] == 70,
      "a conversation is cut behind the last turn that fits, and goes on with the next");
  write_turns ("talk", (const int64_t[]) { 0, 20, 90 }, 3, true);
  must (pack (&c));
  ok (pieces (begin) == 4 && begin[0] == 0 && begin[1] == 20 && begin[2] == 20 + 32 && begin[3] == 20 + 64,
      "a turn longer than a row is cut as text is, its pieces sharing a token");
  /* Answers begin at 10, 25 and 60: of the question at 30 and its answer the first 33 tokens fit; the last question
     is alone in its row, which is dropped.  */
  write_turns ("talk", (const int64_t[]) { 0, 10, 20, 25, 30, 60, 90 }, 7, false);
  must (pack (&c));
  ok (pieces (begin) == 3 && begin[0] == 0 && begin[1] == 30 && begin[2] == 30 + 32,
      "a question stays with its answer, which is cut if the two are longer than a row");
  write_turns ("talk", (const int64_t[]) { 0, 20, 101 }, 3, true);
  ok (pack (&c) == MM_EFORMAT && strstr (mm_error_message (), "turn 2 begins at token 101 of 100"),
      "a turn outside the file is refused");
}

int
main (void)
{
  scratch_enter ();
  mm_log_setup ("mix", MM_LOG_QUIET);
  tiny = tiny_tokenizer (VOCAB);
  test_shares ();
  test_repeats ();
  test_mix_refusals ();
  test_no_targets ();
  test_dedupe ();
  test_parts ();
  test_dry_run ();
  test_turns ();
  mm_tokenizer_free (tiny);
  return tap_done ();
}
