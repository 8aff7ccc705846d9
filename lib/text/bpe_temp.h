/* bpe_temp.h -- a temporary file for what memory is too small for.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  One file without a name, which goes away with the process.  Parts of it are written and
   read as a stream's records are, or mapped as memory that the kernel may write out.  */

#ifndef TEXT_BPE_TEMP_H
#define TEXT_BPE_TEMP_H

#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

struct mm_temp;                 /* opaque; may be used from several threads, but for the mapped parts */

/* Make the file in FOLDER.  RESIDENT: bytes that the process may keep in memory, for mm_temp_breathe.  */
mm_status mm_temp_open (const char *folder, uint64_t resident, struct mm_temp **t) MM_NODISCARD;
void mm_temp_close (struct mm_temp *t); /* accepts NULL */

/* SIZE more bytes of the file, from *OFFSET on.  */
mm_status mm_temp_reserve (struct mm_temp *t, uint64_t size, uint64_t *offset) MM_NODISCARD;
mm_status mm_temp_write (struct mm_temp *t, uint64_t offset, const void *data, size_t size) MM_NODISCARD;
mm_status mm_temp_read (struct mm_temp *t, uint64_t offset, void *data, size_t size) MM_NODISCARD;

/* Give the room of bytes no longer needed back to the file system, where it can.  */
void mm_temp_drop (struct mm_temp *t, uint64_t offset, uint64_t size);

/* As mm_alloc and free, in mapped parts of the file; without T in plain memory.  Unmapping needs the size.  */
mm_status mm_temp_alloc (struct mm_temp *t, const char *what, size_t count, size_t size, void *out) MM_NODISCARD;
void mm_temp_free (struct mm_temp *t, void *data, size_t bytes);

/* As mm_grow, likewise.  */
mm_status mm_temp_grow (struct mm_temp *t, const char *what, void *data, size_t *capacity, size_t need,
                        size_t size) MM_NODISCARD;

/* Let go of the mapped pages in memory if the process holds more than it may; the file keeps them.  To be called
   once in a few thousand places touched.  Accepts NULL.  */
void mm_temp_breathe (struct mm_temp *t);

#endif /* TEXT_BPE_TEMP_H */
