/* The loader: each sample once over all ranks, in the order of training, from any step.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>

#include <minimind/batch.h>
#include <minimind/random.h>
#include <minimind/safetensors.h>

#include "../tap.h"
#include "scratch.h"
#include "tiny.h"

enum { T = 3, ROWS = 23 };

static struct mm_dataset *data;

static void
must (mm_status st)
{
  if (st < 0)
    {
      fprintf (stderr, "%s\n", mm_error_message ());
      exit (99);
    }
}

/* Rows tell their number by their first id.  */
static void
write_dataset (const struct mm_tokenizer *t)
{
  struct mm_dataset_options o = { .seq_len = T, .shard_rows = 5 };
  struct mm_dataset_writer *w;
  uint8_t starts[T + 1] = { 1 };

  if (mkdir ("d", 0777) < 0)
    exit (99);
  must (mm_dataset_create ("d", t, &o, &w));
  for (uint32_t i = 0; i < ROWS; i++)
    must (mm_dataset_add (w, MM_TRAIN, (uint32_t[T + 1]) { i, 100, 101, 102 }, starts, NULL));
  must (mm_dataset_commit (w, NULL));
}

/* Does batch B hold the samples from number AT of epoch EPOCH on?  Counts them in SEEN.  */
static bool
batch_is_right (const struct mm_order *o, const struct mm_batch *b, uint64_t epoch, uint64_t at,
                int *seen)
{
  bool right = b->first == epoch * ROWS + at && b->seq_len == T && b->rows >= 1
               && b->rows <= o->micro_batch && b->n_segments == b->rows
               && b->n_targets == b->rows * T;

  for (size_t i = 0; right && i < b->rows; i++)
    {
      uint64_t row = at + i;

      if (o->shuffle)
        row = mm_permute (o->seed, MM_RANDOM_ORDER, (uint32_t) epoch, ROWS, row);
      right = b->ids[i * T] == (int32_t) row && b->targets[i * T + 2] == 102;
      seen[at + i]++;
    }
  return right;
}

/* Walk rank RANK's share of steps [FIRST, FIRST + STEPS).  SEEN [STEPS][ROWS].  */
static bool
walk (const struct mm_order *o, uint64_t first_step, uint64_t steps, int rank, int world, int *seen)
{
  struct mm_loader *l;
  bool right = true;

  must (mm_loader_open (data, MM_TRAIN, o, first_step, rank, world, &l));
  for (uint64_t step = first_step; step < first_step + steps; step++)
    {
      uint64_t epoch, first, count, micro = (uint64_t) rank;
      const struct mm_batch *b;

      mm_order_window (o, step, &epoch, &first, &count);
      for (;;)
        {
          must (mm_loader_next (l, step, &b, NULL));
          if (!b)
            break;
          right = right && micro * o->micro_batch < count
                  && batch_is_right (o, b, epoch, first + micro * o->micro_batch,
                                     seen + (step - first_step) * ROWS);
          micro += (uint64_t) world;
        }
      right = right && micro * o->micro_batch >= count;
    }
  mm_loader_close (l);
  return right;
}

/* All ranks together see the samples of each window once.  */
static bool
covers (const struct mm_order *o, uint64_t first_step, uint64_t steps, int world)
{
  int *seen = calloc (steps * ROWS, sizeof *seen);
  bool right = seen != NULL;

  for (int rank = 0; rank < world; rank++)
    right = walk (o, first_step, steps, rank, world, seen) && right;
  for (uint64_t s = 0; s < steps; s++)
    {
      uint64_t epoch, first, count;

      mm_order_window (o, first_step + s, &epoch, &first, &count);
      for (uint64_t i = 0; i < ROWS; i++)
        right = right && seen[s * ROWS + i] == (i >= first && i < first + count);
    }
  free (seen);
  return right;
}

static void
test_cover (void)
{
  static const int worlds[] = { 1, 2, 3, 5 };
  static const uint64_t globals[] = { 1, 4, 8, 23, 64 }, micros[] = { 1, 3, 4, 100 };

  for (int w = 0; w < 4; w++)
    {
      bool right = true;
      char name[64];

      for (int g = 0; g < 5; g++)
        for (int m = 0; m < 4; m++)
          for (int shuffle = 0; shuffle < 2; shuffle++)
            {
              struct mm_order o = { .seed = 9, .rows = ROWS, .global_batch = globals[g],
                                    .micro_batch = micros[m], .shuffle = shuffle };
              uint64_t windows = mm_order_windows (&o);

              right = right && covers (&o, 0, 2 * windows, worlds[w])
                      && covers (&o, windows + windows / 2, windows, worlds[w]);
            }
      snprintf (name, sizeof name, "%d ranks see each sample once an epoch", worlds[w]);
      ok (right, name);
    }
}

/* Window STEP is cut somewhere: the first rank has the micro-batches before, the second those behind.  */
static void
cut_window (uint64_t step, int rank, uint64_t *first, uint64_t *count)
{
  uint64_t cut = step * 5 % 9;

  *first = rank ? cut : 0;
  *count = rank ? 100 : cut;
}

/* Walk what is dealt to RANK of two; SEEN [STEPS][ROWS].  */
static bool
walk_dealt (const struct mm_order *o, uint64_t steps, int rank, int *seen)
{
  uint64_t first, count, told = 3;
  struct mm_loader *l;
  bool right = true, last = false;

  cut_window (told, rank, &first, &count);
  must (mm_loader_open_shared (data, MM_TRAIN, o, told++, first, count, &l));
  for (uint64_t step = 3; step < 3 + steps; step++)
    {
      uint64_t epoch, sample, samples, got = 0;
      const struct mm_batch *b;

      /* As far ahead as it may be, at times; the window before is still at hand.  */
      for (; told < step + 1 + step % (MM_LOADER_SHARES - 1); told++)
        {
          cut_window (told, rank, &first, &count);
          must (mm_loader_share (l, told, first, count));
        }
      mm_order_window (o, step, &epoch, &sample, &samples);
      cut_window (step, rank, &first, &count);
      for (;;)
        {
          must (mm_loader_next (l, step, &b, NULL));
          if (!b)
            break;
          right = right && batch_is_right (o, b, epoch, sample + (first + got) * o->micro_batch,
                                           seen + (step - 3) * ROWS);
          last = mm_loader_is_last (l);
          got++;
        }
      right = right && got <= count && (got == 0 || last);
    }
  mm_loader_close (l);
  return right;
}

static void
test_dealt (void)
{
  enum { STEPS = 40 };
  struct mm_order o = { .seed = 9, .rows = ROWS, .global_batch = 16, .micro_batch = 2, .shuffle = true };
  int *seen = calloc (STEPS * ROWS, sizeof *seen);
  bool right = seen && walk_dealt (&o, STEPS, 0, seen) && walk_dealt (&o, STEPS, 1, seen);
  const struct mm_batch *b;
  struct mm_loader *l;

  for (uint64_t s = 0; s < STEPS && right; s++)
    {
      uint64_t epoch, first, count;

      mm_order_window (&o, s + 3, &epoch, &first, &count);
      for (uint64_t i = 0; i < ROWS; i++)
        right = right && seen[s * ROWS + i] == (i >= first && i < first + count);
    }
  free (seen);
  ok (right, "dealt micro-batches come to whom they are dealt, once");
  must (mm_loader_open_shared (data, MM_TRAIN, &o, 0, 0, 0, &l));
  ok (mm_loader_next (l, 0, &b, NULL) == MM_OK && !b && mm_loader_next (l, 1, &b, NULL) == MM_EINVAL,
      "a window must have been dealt");
  ok (mm_loader_share (l, 2, 0, 1) == MM_EINVAL && mm_loader_share (l, 1, 0, 1) == MM_OK
      && mm_loader_share (l, 2, 0, 1) == MM_OK && mm_loader_share (l, 3, 0, 1) == MM_OK
      && mm_loader_share (l, 4, 0, 1) == MM_EINVAL, "in order, and not too far ahead");
  mm_loader_close (l);
  must (mm_loader_open (data, MM_TRAIN, &o, 0, 0, 1, &l));
  ok (mm_loader_share (l, 1, 0, 1) == MM_EINVAL, "only where they are dealt at all");
  mm_loader_close (l);
}

static void
test_order (void)
{
  struct mm_order o = { .seed = 9, .rows = ROWS, .global_batch = ROWS, .micro_batch = ROWS,
                        .shuffle = true };
  const struct mm_batch *b;
  struct mm_loader *l;
  int32_t first[ROWS];
  int moved = 0;
  double waited = -1;

  must (mm_loader_open (data, MM_TRAIN, &o, 0, 0, 1, &l));
  must (mm_loader_next (l, 0, &b, &waited));
  for (int i = 0; i < ROWS; i++)
    first[i] = b->ids[i * T];
  ok (waited >= -1 && waited < 60, "waiting is measured");
  must (mm_loader_next (l, 0, &b, NULL));
  ok (!b && mm_loader_next (l, 0, &b, NULL) == MM_OK && !b, "a window that is over stays so");
  must (mm_loader_next (l, 1, &b, NULL));
  for (int i = 0; i < ROWS; i++)
    moved += b->ids[i * T] != first[i];
  ok (moved > ROWS / 2, "the next epoch has another order");
  mm_loader_close (l);
}

static void
test_steps (void)
{
  const struct mm_order o = { .rows = ROWS, .global_batch = 4, .micro_batch = 2 };
  const struct mm_batch *b;
  struct mm_loader *l;

  must (mm_loader_open (data, MM_TRAIN, &o, 3, 0, 1, &l));
  ok (mm_loader_next (l, 2, &b, NULL) == MM_EINVAL && !b, "steps begin with the first");
  must (mm_loader_next (l, 3, &b, NULL));
  ok (mm_loader_next (l, 4, &b, NULL) == MM_EINVAL, "they don't go on before the window is over");
  must (mm_loader_next (l, 3, &b, NULL));
  ok (mm_loader_next (l, 5, &b, NULL) == MM_EINVAL, "nor over a step");
  ok (mm_loader_next (l, 4, &b, NULL) == MM_OK && b && b->first == 16, "they do after its last");
  ok (mm_loader_next (l, 3, &b, NULL) == MM_EINVAL, "they don't go back");
  mm_loader_close (l);
}

static void
test_refusals (void)
{
  const struct mm_order good = { .rows = ROWS, .global_batch = 4, .micro_batch = 2 };
  struct mm_order o = good;
  struct mm_loader *l;

  o.rows = ROWS + 1;
  ok (mm_loader_open (data, MM_TRAIN, &o, 0, 0, 1, &l) == MM_EINVAL && !l, "rows of another dataset");
  o = good;
  o.rows = 0;
  ok (mm_loader_open (data, MM_VALIDATION, &o, 0, 0, 1, &l) == MM_EINVAL, "a split without rows");
  o = good;
  o.global_batch = 0;
  ok (mm_loader_open (data, MM_TRAIN, &o, 0, 0, 1, &l) == MM_EINVAL, "an empty global batch");
  o = good;
  o.micro_batch = 0;
  ok (mm_loader_open (data, MM_TRAIN, &o, 0, 0, 1, &l) == MM_EINVAL, "an empty micro-batch");
  ok (mm_loader_open (data, MM_TRAIN, &good, 0, -1, 2, &l) == MM_EINVAL
      && mm_loader_open (data, MM_TRAIN, &good, 0, 2, 2, &l) == MM_EINVAL
      && mm_loader_open (data, MM_TRAIN, &good, 0, 0, 0, &l) == MM_EINVAL, "a rank that there is not");
  mm_loader_close (NULL);
}

/* Row 7, damaged, comes as an error in its turn, not before.  */
static void
test_damage (void)
{
  const struct mm_order o = { .rows = ROWS, .global_batch = 1, .micro_batch = 1 };
  const struct mm_batch *b;
  struct mm_safetensors *s;
  struct mm_loader *l;
  FILE *f = fopen ("d/train-00001-of-00005.safetensors", "r+b");
  mm_status st = MM_OK;
  uint64_t step;

  must (mm_safetensors_open ("d/train-00001-of-00005.safetensors", &s));
  if (!f || fseek (f, (long) mm_safetensors_find (s, "doc_starts")->offset + 2 * (T + 1), SEEK_SET) < 0
      || fputc (0, f) == EOF || fclose (f) < 0)
    exit (99);
  mm_safetensors_close (s);
  must (mm_loader_open (data, MM_TRAIN, &o, 0, 0, 1, &l));
  for (step = 0; st >= 0 && step < ROWS; step++)
    {
      st = mm_loader_next (l, step, &b, NULL);
      if (st >= 0)
        must (mm_loader_next (l, step, &b, NULL));
    }
  ok (st == MM_EFORMAT && step == 8, "a damaged row is an error in its turn");
  ok (strstr (mm_error_message (), "row 2") != NULL, "with the reader's message");
  ok (mm_loader_next (l, 7, &b, NULL) == MM_EFORMAT, "and stays one");
  mm_loader_close (l);
}

int
main (void)
{
  struct mm_tokenizer *t;

  scratch_enter ();
  t = tiny_tokenizer (TINY_VOCAB);
  write_dataset (t);
  must (mm_dataset_open ("d", true, &data));
  test_cover ();
  test_dealt ();
  test_order ();
  test_steps ();
  test_refusals ();
  test_damage ();
  mm_dataset_close (data);
  mm_tokenizer_free (t);
  return tap_done ();
}
