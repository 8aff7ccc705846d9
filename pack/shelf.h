/* shelf.h -- open rows by the room that is left in them: the best fit without a search through all.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef PACK_SHELF_H
#define PACK_SHELF_H

#include <stdbool.h>
#include <stddef.h>

#include <minimind/error.h>

struct shelf;

/* For bins numbered below BINS whose room is at most MOST.  */
mm_status shelf_open (size_t bins, size_t most, struct shelf **s) MM_NODISCARD;
void shelf_close (struct shelf *s);     /* accepts NULL */

/* Bin BIN with ROOM comes, goes, or gets another room.  */
void shelf_add (struct shelf *s, size_t bin, size_t room);
void shelf_remove (struct shelf *s, size_t bin, size_t room);
void shelf_move (struct shelf *s, size_t bin, size_t from, size_t to);

/* The bin with the least room that has NEED at least; of several the one that had it first.  False if there is
   none.  */
bool shelf_find (const struct shelf *s, size_t need, size_t *bin);

#endif /* PACK_SHELF_H */
