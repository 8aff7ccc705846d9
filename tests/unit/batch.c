/* Rows become inputs, targets, positions and segments.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdint.h>
#include <string.h>

#include <minimind/batch.h>

#include "../tap.h"

enum { T = 5 };

static const uint32_t ids[T + 1] = { 10, 11, 12, 13, 14, 15 };

static bool
equal (const int32_t *got, const int32_t *want, size_t n)
{
  return memcmp (got, want, n * sizeof *want) == 0;
}

static bool
segment_is (const struct mm_segment *s, size_t q0, size_t n)
{
  return s->q0 == q0 && s->k0 == q0 && s->n_q == n && s->n_k == n;
}

static void
test_one_document (struct mm_batch *b)
{
  mm_batch_set_row (b, 0, ids, NULL, NULL);
  ok (equal (b->ids, (int32_t[]) { 10, 11, 12, 13, 14 }, T), "inputs are the first T ids");
  ok (equal (b->targets, (int32_t[]) { 11, 12, 13, 14, 15 }, T), "targets are the next ids");
  ok (equal (b->positions, (int32_t[]) { 0, 1, 2, 3, 4 }, T), "positions count from 0");
  ok (b->n_segments == 1 && segment_is (&b->segments[0], 0, T), "without starts, one segment");
  ok (b->n_targets == T, "all are targets");
}

/* Documents of 2, 1 and 3 tokens; the last one's end is masked.  */
static void
test_documents (struct mm_batch *b)
{
  static const uint8_t starts[T + 1] = { 1, 0, 1, 1, 0, 0 };
  static const uint8_t mask[T + 1] = { 1, 1, 1, 1, 1, 0 };

  mm_batch_set_row (b, 0, ids, starts, mask);
  mm_batch_set_row (b, 1, ids, starts, NULL);
  ok (equal (b->targets, (int32_t[]) { 11, -1, -1, 14, -1, 11, -1, -1, 14, 15 }, 2 * T),
      "a document's first token and a masked one are no targets");
  ok (equal (b->positions, (int32_t[]) { 0, 1, 0, 0, 1, 0, 1, 0, 0, 1 }, 2 * T),
      "positions restart with documents and rows");
  ok (b->n_targets == 2 + 3, "targets are counted over rows");
  ok (b->n_segments == 6
      && segment_is (&b->segments[0], 0, 2) && segment_is (&b->segments[1], 2, 1)
      && segment_is (&b->segments[2], 3, 2) && segment_is (&b->segments[3], 5, 2)
      && segment_is (&b->segments[4], 7, 1) && segment_is (&b->segments[5], 8, 2),
      "segments are the documents' parts in each row");
}

/* A document that begins at the row's last token leaves no input there.  */
static void
test_start_at_end (struct mm_batch *b)
{
  static const uint8_t starts[T + 1] = { 1, 0, 0, 0, 0, 1 };

  mm_batch_set_row (b, 0, ids, starts, NULL);
  ok (b->n_segments == 1 && segment_is (&b->segments[0], 0, T) && b->targets[T - 1] == -1,
      "a start after the last input ends the targets, not the segment");
  mm_batch_set_row (b, 0, ids, (uint8_t[T + 1]) { 0 }, NULL);
  ok (b->n_segments == 1 && b->n_targets == T, "a row starts a segment whatever its first flag");
}

int
main (void)
{
  struct mm_batch b;

  ok (mm_batch_alloc (0, T, &b) == MM_EINVAL, "no rows are refused");
  ok (mm_batch_alloc (2, 0, &b) == MM_EINVAL, "no tokens are refused");
  ok (mm_batch_alloc (SIZE_MAX / 2, 4, &b) == MM_EINVAL, "a product that wraps is refused");
  ok (mm_batch_alloc (1 << 16, 1 << 16, &b) == MM_EINVAL, "a product beyond int32 is refused");
  mm_batch_free (&b);
  if (mm_batch_alloc (2, T, &b) < 0)
    return 99;
  ok (b.seq_len == T && b.rows == 0 && b.n_segments == 0, "a new batch is empty");
  test_one_document (&b);
  test_documents (&b);
  test_start_at_end (&b);
  mm_batch_free (&b);
  ok (!b.ids && !b.segments, "freed");
  mm_batch_free (&b);
  return tap_done ();
}
