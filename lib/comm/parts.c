/* parts.c -- which bytes of an array are a rank's.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include "impl.h"

struct mm_range
mm_range_of (const struct mm_comm *c, int rank, size_t count, size_t size, size_t grain)
{
  size_t from, to;

  mm_comm_part (c, rank, count, grain, &from, &to);
  return (struct mm_range) { from * size, to * size };
}

void
mm_flow_piece (const struct mm_flow *f, size_t k, size_t *from, size_t *to)
{
  *from = (f->n - 1 - k) * f->piece;
  *to = f->count - *from < f->piece ? f->count : *from + f->piece;
}

struct mm_range
mm_range_piece (struct mm_range part, size_t done, size_t most)
{
  size_t length = part.to - part.from;
  size_t from = part.from + (done < length ? done : length);

  return (struct mm_range) { from, part.to - from < most ? part.to : from + most };
}
