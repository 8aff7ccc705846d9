/* eval.c -- one forward pass over a split.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/backend.h>
#include <minimind/batch.h>
#include <minimind/checkpoint.h>
#include <minimind/comm.h>
#include <minimind/log.h>
#include <minimind/memory.h>
#include <minimind/model.h>

#include "eval.h"
#include "result.h"

/* What is open.  */
struct evaluation
{
  const struct eval_config *config;
  struct mm_dataset *data;
  char *dir;                    /* the model folder */
  struct mm_backend *backend;
  struct mm_model *model;
  struct mm_pass *pass;
  struct mm_loader *loader;
  size_t batch;                 /* sequences at a time */
  uint32_t *sizes;              /* bytes of text by id */
  float *losses;                /* [batch * T], where they are printed */
  struct result result;
};

static mm_status
open_data (struct evaluation *e)
{
  const struct eval_config *c = e->config;
  mm_status st = mm_dataset_open (c->data, false, &e->data);

  if (st >= 0 && mm_dataset_rows (e->data, c->split) == 0)
    st = mm_fail (MM_EFORMAT, "%s: no %s rows%s", c->data,
                  c->split == MM_TRAIN ? "training" : "validation",
                  c->split == MM_TRAIN ? "" : "; minimind-pack --validation holds some out");
  return st;
}

/* The folder's tokenizer must be the dataset's: with another one the ids mean something else.  */
static mm_status
check_tokenizer (const struct evaluation *e)
{
  const char *want = mm_tokenizer_sha256 (mm_dataset_tokenizer (e->data));
  struct mm_tokenizer *t;
  mm_status st = mm_tokenizer_load (e->dir, &t);

  if (st == MM_ENOENT)
    {
      mm_warn ("%s holds no tokenizer.json: taken to be the dataset's", e->dir);
      return MM_OK;
    }
  if (st < 0)
    return st;
  if (strcmp (mm_tokenizer_sha256 (t), want) != 0)
    st = mm_fail (MM_ECONFLICT, "%s: tokenizer %s, but %s has %s", e->dir, mm_tokenizer_sha256 (t),
                  e->config->data, want);
  mm_tokenizer_free (t);
  return st;
}

static mm_status
check_shape (const struct evaluation *e)
{
  const struct mm_model_config *shape = mm_model_config (e->model);
  uint32_t vocab_size = mm_tokenizer_vocab_size (mm_dataset_tokenizer (e->data));
  uint32_t seq_len = mm_dataset_seq_len (e->data);

  if (vocab_size > shape->vocab_size)
    return mm_fail (MM_ECONFLICT, "%s: vocabulary of %" PRIu32 ", but %s has ids up to %" PRIu32,
                    e->dir, shape->vocab_size, e->config->data, vocab_size - 1);
  if (seq_len > shape->max_positions)
    return mm_fail (MM_ECONFLICT, "%s: %" PRIu32 " positions, but rows of %s have %" PRIu32 " tokens",
                    e->dir, shape->max_positions, e->config->data, seq_len);
  return MM_OK;
}

static mm_status
open_model (struct evaluation *e)
{
  const struct eval_config *c = e->config;
  mm_status st = mm_model_folder (c->model, &e->dir);

  if (st >= 0)
    st = check_tokenizer (e);
  if (st >= 0)
    st = mm_backend_open (c->compute.backend, c->compute.threads, &e->backend);
  if (st >= 0)
    st = mm_model_open (e->backend, e->dir, &e->model);
  return st < 0 ? st : check_shape (e);
}

/* Bytes of text behind each id.  Special tokens stand for no text: their losses count, as what
   it takes to tell where documents end.  */
static mm_status
find_sizes (struct evaluation *e)
{
  const struct mm_tokenizer *t = mm_dataset_tokenizer (e->data);
  uint32_t n = mm_tokenizer_vocab_size (t);
  mm_status st = mm_alloc ("token sizes", n, sizeof *e->sizes, &e->sizes);

  for (uint32_t id = 0; st >= 0 && id < n; id++)
    {
      size_t size = 0;

      if (!mm_tokenizer_is_special (t, id) && mm_tokenizer_bytes (t, id, &size))
        e->sizes[id] = (uint32_t) size;
    }
  return st;
}

static mm_status
prepare (struct evaluation *e)
{
  uint64_t rows = mm_dataset_rows (e->data, e->config->split);
  size_t seq_len = mm_dataset_seq_len (e->data);
  struct mm_order order = { .rows = rows, .global_batch = rows };
  mm_status st = find_sizes (e);

  e->batch = e->config->batch < rows ? e->config->batch : (size_t) rows;
  order.micro_batch = e->batch;
  if (st >= 0)
    st = mm_pass_create (e->model, e->batch, seq_len, false, &e->pass);
  if (st >= 0 && e->config->losses)
    st = mm_alloc ("losses", e->batch * seq_len, sizeof *e->losses, &e->losses);
  if (st >= 0)
    st = mm_loader_open (e->data, e->config->split, &order, 0, 0, 1, &e->loader);
  return st;
}

/* The whole split is one window of the loader.  */
static mm_status
evaluate_rows (struct evaluation *e)
{
  uint64_t rows = mm_dataset_rows (e->data, e->config->split);

  for (;;)
    {
      const struct mm_batch *b;
      struct mm_loss loss = { 0 };
      mm_status st = mm_loader_next (e->loader, 0, &b, NULL);

      if (st < 0 || !b)
        return st;
      st = mm_model_evaluate (e->pass, b, &loss, e->losses);
      if (st < 0)
        return st;
      if (loss.overflow)
        return mm_fail (MM_EFORMAT, "%s: a loss in rows %" PRIu64 " to %" PRIu64 " is not finite",
                        e->dir, b->first, b->first + b->rows - 1);
      result_add (&e->result, b, &loss, e->sizes);
      if (e->losses)
        result_print_losses (b, e->losses);
      if (mm_progress_due ())
        mm_progress ("row %" PRIu64 " of %" PRIu64, e->result.rows, rows);
    }
}

mm_status
eval (const struct eval_config *c)
{
  struct evaluation e = { .config = c };
  mm_status st = mm_comm_alone ("minimind-eval");

  if (st >= 0)
    st = open_data (&e);
  if (st >= 0)
    st = open_model (&e);
  if (st >= 0)
    st = prepare (&e);
  if (st >= 0)
    st = evaluate_rows (&e);
  mm_progress_end ();
  if (st >= 0 && e.result.targets == 0)
    st = mm_fail (MM_EFORMAT, "%s: nothing in these rows is a target", c->data);
  if (st >= 0)
    st = result_print (&e.result, c);

  mm_loader_close (e.loader);
  mm_pass_free (e.pass);
  mm_model_free (e.model);
  mm_backend_close (e.backend);
  mm_dataset_close (e.data);
  free (e.dir);
  free (e.sizes);
  free (e.losses);
  return st;
}
