/* batch.c -- rows of a dataset as the micro-batch that a pass over the model reads.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>

#include <minimind/batch.h>
#include <minimind/memory.h>

mm_status
mm_batch_alloc (size_t rows, size_t seq_len, struct mm_batch *b)
{
  mm_status st;
  size_t n;

  *b = (struct mm_batch) { .seq_len = seq_len };
  if (rows == 0 || seq_len == 0 || __builtin_mul_overflow (rows, seq_len, &n)
      || n > INT32_MAX)
    return mm_fail (MM_EINVAL, "micro-batch: %zu sequences of %zu tokens do not make a batch",
                    rows, seq_len);

  st = mm_alloc ("micro-batch", n, sizeof *b->ids, &b->ids);
  if (st >= 0)
    st = mm_alloc ("micro-batch", n, sizeof *b->targets, &b->targets);
  if (st >= 0)
    st = mm_alloc ("micro-batch", n, sizeof *b->positions, &b->positions);
  if (st >= 0)
    st = mm_alloc ("micro-batch", n, sizeof *b->segments, &b->segments);
  if (st < 0)
    mm_batch_free (b);
  return st;
}

void
mm_batch_free (struct mm_batch *b)
{
  free (b->ids);
  free (b->targets);
  free (b->positions);
  free (b->segments);
  *b = (struct mm_batch) { 0 };
}

void
mm_batch_set_row (struct mm_batch *b, size_t row, const uint32_t *ids,
                  const uint8_t *doc_starts, const uint8_t *mask)
{
  const size_t first = row * b->seq_len;
  struct mm_segment *segment = NULL;

  if (row == 0)
    {
      b->n_segments = 0;
      b->n_targets = 0;
    }
  for (size_t t = 0; t < b->seq_len; t++)
    {
      size_t q = first + t;
      bool next_starts = doc_starts && doc_starts[t + 1];
      bool target = !next_starts && (!mask || mask[t + 1]);

      if (!segment || (doc_starts && doc_starts[t]))
        {
          segment = &b->segments[b->n_segments++];
          *segment = (struct mm_segment) { .q0 = q, .k0 = q };
        }
      b->positions[q] = (int32_t) segment->n_q++;
      segment->n_k = segment->n_q;
      b->ids[q] = (int32_t) ids[t];
      b->targets[q] = target ? (int32_t) ids[t + 1] : -1;
      b->n_targets += target;
    }
}
