/* bpe_runs.h -- counts that memory is too small for, as sorted runs in a temporary file.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  A run is a table of pieces in the order of mm_word_compare; all runs are merged as they are
   read, so that each piece comes once, with its whole count.  */

#ifndef TEXT_BPE_RUNS_H
#define TEXT_BPE_RUNS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

#include "bpe_temp.h"
#include "word_count.h"

struct mm_run
{
  uint64_t offset, size;        /* in the file */
};

struct mm_runs
{
  struct mm_temp *temp;         /* not owned */
  struct mm_run *runs;
  size_t n_runs, runs_capacity;
  pthread_mutex_t lock;         /* for the list */
};

void mm_runs_open (struct mm_runs *r, struct mm_temp *temp);
void mm_runs_close (struct mm_runs *r); /* accepts one that is all zero */

/* Drain W into a run.  From any thread.  */
mm_status mm_runs_add (struct mm_runs *r, struct mm_words *w) MM_NODISCARD;

/* Call FN for all pieces in order, until it fails, using about MEMORY bytes.  */
mm_status mm_runs_each (struct mm_runs *r, size_t memory, mm_word_fn *fn, void *arg) MM_NODISCARD;

#endif /* TEXT_BPE_RUNS_H */
