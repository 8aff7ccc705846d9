/* samples.c -- small files of every kind, for the tests of ckpt-inspect.
   SPDX-License-Identifier: Apache-2.0

   In the present folder: tokenizer.json and tokenizer_config.json, text.tokens, chat.tokens (with a mask), data (a
   dataset of two train parts and one of validation), run (steps 1 and 2), plain.safetensors.  */

#include <config.h>

#include <math.h>

#include <minimind/checkpoint.h>
#include <minimind/dataset.h>
#include <minimind/files.h>
#include <minimind/tokens.h>

#include "../unit/small_model.h"
#include "../unit/tiny.h"

enum { SEQ_LEN = 15 };

/* Ids of bytes stand behind three special ones.  */
static void
encode (const char *text, uint32_t *ids)
{
  for (size_t i = 0; text[i]; i++)
    ids[i] = (uint32_t) (unsigned char) text[i] + 3;
}

static void
make_tokenizer (const struct mm_tokenizer *t)
{
  const char *json, *config;
  size_t json_size, config_size;

  mm_tokenizer_files (t, &json, &json_size, &config, &config_size);
  must (mm_write_file ("tokenizer.json", json, json_size));
  must (mm_write_file ("tokenizer_config.json", config, config_size));
}

/* Documents: ASCII, a Chinese character, half of one, a control token's text and the token.  */
static void
make_text (const struct mm_tokenizer *t)
{
  static const char *const documents[] = { "Once upon\na time", "\xe5\xad\x97\x1b[2J", "half \xe5\xad", "a\\b" };
  struct mm_tokens_writer *w;
  uint32_t ids[100], eos = (uint32_t) mm_tokenizer_eos (t);

  must (mm_tokens_create ("text.tokens", false, t, &w));
  for (size_t i = 0; i < sizeof documents / sizeof *documents; i++)
    {
      encode (documents[i], ids);
      must (mm_tokens_add (w, ids, strlen (documents[i])));
      must (mm_tokens_add (w, &eos, 1));
      must (mm_tokens_end_document (w));
    }
  must (mm_tokens_commit (w));
}

/* A file of one conversation, by itself no template's.  */
static void
make_chat (const struct mm_tokenizer *t)
{
  static const char text[] = "hi\nyes!";
  struct mm_tokens_writer *w;
  uint32_t ids[20];
  uint8_t mask[] = { 0, 0, 0, 1, 1, 1, 0 };

  encode (text, ids);
  must (mm_tokens_create_chat ("chat.tokens", false, t, &(struct mm_tokens_chat) { "chatml", false }, &w));
  must (mm_tokens_add_conversation (w, ids, mask, strlen (text), (size_t[]) { 3, 7 }, 2));
  must (mm_tokens_commit (w));
}

static void
make_dataset (const struct mm_tokenizer *t)
{
  struct mm_dataset_options options = { .seq_len = SEQ_LEN, .shard_rows = 2, .with_mask = true };
  struct mm_dataset_writer *w;
  struct mm_output_dir *out;
  const char *temp;
  uint32_t ids[SEQ_LEN + 1];
  uint8_t starts[SEQ_LEN + 1] = { [0] = 1, [8] = 1 }, mask[SEQ_LEN + 1];

  must (mm_output_dir_open ("data", false, &out, &temp));
  must (mm_dataset_create (temp, t, &options, &w));
  encode ("one row;two rows", ids);
  for (int i = 0; i <= SEQ_LEN; i++)
    mask[i] = i >= 4 && i < 7;
  for (int i = 0; i < 4; i++)
    must (mm_dataset_add (w, i < 3 ? MM_TRAIN : MM_VALIDATION, ids, starts, mask));
  must (mm_dataset_commit (w, "{\"strategy\": \"concat\"}"));
  must (mm_output_dir_commit (out));
}

static void
make_run (const struct mm_tokenizer *t)
{
  struct mm_model_config shape = small_configs[1];
  struct mm_run_lock *lock;
  struct mm_backend *be;
  struct mm_model *m;
  size_t n;
  float *values;

  shape.vocab_size = TINY_VOCAB;
  must (mm_backend_open ("cpu", 1, &be));
  m = small_model (be, &shape);
  n = mm_model_size (m);
  values = malloc (n * sizeof *values);
  if (!values)
    exit (99);
  must (mm_backend_get (be, values, mm_model_values (m), n * sizeof *values));
  must (mm_run_lock_take ("run", &lock));
  for (uint64_t step = 1; step <= 2; step++)
    {
      struct mm_checkpoint c = { .step = step, .state = json_pack ("{s:I}", "step", (json_int_t) step) };

      values[1] += 0.5f;
      must (mm_checkpoint_save ("run", &c, m, values, values, values, t, 0));
      json_decref (c.state);
    }
  mm_run_lock_release (lock);
  free (values);
  mm_model_free (m);
  mm_backend_close (be);
}

static void
make_plain (void)
{
  static const float values[] = { -1, 0, 2, INFINITY, 0, 3 };
  struct mm_safetensors_writer *w;

  must (mm_safetensors_create ("plain.safetensors", true, false, &w));
  must (mm_safetensors_declare (w, "weight", MM_F32, 2, (uint64_t[]) { 2, 3 }));
  must (mm_safetensors_declare (w, "odd\x1b[2J", MM_U8, 1, (uint64_t[]) { 1 }));
  must (mm_safetensors_write (w, "weight", values, sizeof values));
  must (mm_safetensors_write (w, "odd\x1b[2J", "x", 1));
  must (mm_safetensors_commit (w, NULL));
}

int
main (void)
{
  struct mm_tokenizer *t = tiny_tokenizer (TINY_VOCAB);

  make_tokenizer (t);
  make_text (t);
  make_chat (t);
  make_dataset (t);
  make_run (t);
  make_plain ();
  mm_tokenizer_free (t);
  return 0;
}
