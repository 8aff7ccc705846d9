/* batch.h -- micro-batches in the order of training, read ahead on a thread of their own.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MINIMIND_BATCH_H
#define MINIMIND_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/dataset.h>
#include <minimind/error.h>

/* A run of rows of the micro-batch, flattened to B*T, that attend to each other only: one
   document, or the part of one in a row.  Attention uses the general form: queries are the last
   n_q of n_k keys (n_q = n_k in training; with a KV cache n_k is larger).  */
struct mm_segment
{
  size_t q0;                    /* first query row */
  size_t n_q;
  size_t k0;                    /* first key row */
  size_t n_k;                   /* >= n_q; query i sees keys 0 .. n_k - n_q + i */
};

struct mm_batch
{
  size_t rows;                  /* B sequences; 0: nothing left in this window */
  size_t seq_len;               /* T */
  int32_t *ids;                 /* [B*T] inputs */
  int32_t *targets;             /* [B*T] next token; -1: not a target */
  int32_t *positions;           /* [B*T] position in the document, from 0 */
  struct mm_segment *segments;  /* in order of q0, covering B*T */
  size_t n_segments;
  uint64_t n_targets;
  uint64_t first;               /* global sample index of its first sequence */
};

/* Room for ROWS sequences of SEQ_LEN, rows and n_segments still 0; free with mm_batch_free.
   MM_EINVAL if either is 0 or the product does not fit an int32_t.  */
mm_status mm_batch_alloc (size_t rows, size_t seq_len, struct mm_batch *b) MM_NODISCARD;
void mm_batch_free (struct mm_batch *b);

/* Fill sequence ROW of B from T + 1 ids, starts and mask: targets are the next ids where mask
   is 1 and no document starts there.  DOC_STARTS NULL: one document; MASK NULL: all ones.  Call for
   row 0, 1, ... then set b->rows.  */
void mm_batch_set_row (struct mm_batch *b, size_t row, const uint32_t *ids,
                       const uint8_t *doc_starts, const uint8_t *mask);

/* The order of training.  Sample i of epoch e is row mm_permute (seed, MM_RANDOM_ORDER, e, rows, i)
   (identity when shuffle is false).  An epoch is cut into windows of GLOBAL_BATCH samples, the
   last one may be short; a window into micro-batches of MICRO_BATCH, the last may be short.
   Micro-batch j of a window belongs to rank j mod world_size.  */
struct mm_order
{
  uint64_t seed;
  uint64_t rows;                /* rows of the split */
  uint64_t global_batch, micro_batch;   /* sequences */
  bool shuffle;
};

uint64_t mm_order_windows (const struct mm_order *o);   /* steps an epoch, >= 1 */

/* Samples [*FIRST, *FIRST + *COUNT) of the epoch that make up window STEP (0-based over the whole
   run; *EPOCH is derived).  */
void mm_order_window (const struct mm_order *o, uint64_t step, uint64_t *epoch, uint64_t *first,
                      uint64_t *count);

/* A loader hands out the micro-batches of rank RANK of WORLD_SIZE from window FIRST_STEP on, in order,
   reading ahead on its own thread.  D must outlive it.  MM_EINVAL if O's rows are not the split's (or
   0), a batch size is 0, or RANK is not one of WORLD_SIZE.  */
struct mm_loader;
mm_status mm_loader_open (const struct mm_dataset *d, enum mm_split split, const struct mm_order *o,
                          uint64_t first_step, int rank, int world_size,
                          struct mm_loader **l) MM_NODISCARD;
void mm_loader_close (struct mm_loader *l);     /* accepts NULL */

/* A loader to which the caller deals micro-batches, window by window: of window FIRST_STEP those from the FIRST-th on,
   COUNT of them, as far as the window has so many.  mm_loader_share tells the same of window STEP, in ascending order,
   at most MM_LOADER_SHARES windows from the one at hand on (MM_EINVAL); mm_loader_next wants to have been told.  The
   loader reads ahead as far as it knows.  */
enum { MM_LOADER_SHARES = 4 };
mm_status mm_loader_open_shared (const struct mm_dataset *d, enum mm_split split, const struct mm_order *o,
                                 uint64_t first_step, uint64_t first, uint64_t count,
                                 struct mm_loader **l) MM_NODISCARD;
mm_status mm_loader_share (struct mm_loader *l, uint64_t step, uint64_t first, uint64_t count) MM_NODISCARD;

/* The next micro-batch of window STEP; *B is NULL when the window has no more for this rank.  *B
   belongs to the loader, valid until the next call.  Steps must ascend by one, each to its last
   micro-batch (MM_EINVAL).  A row that mm_dataset_read refuses comes out here, in its turn.  *WAITED (unless
   NULL) grows by the seconds this call waited for the reader.  */
mm_status mm_loader_next (struct mm_loader *l, uint64_t step, const struct mm_batch **b,
                          double *waited) MM_NODISCARD;

/* Is the micro-batch that came last the last one of its window for this rank?  */
bool mm_loader_is_last (const struct mm_loader *l);

#endif /* MINIMIND_BATCH_H */
