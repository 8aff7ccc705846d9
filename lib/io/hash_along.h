/* hash_along.h -- SHA-256 of a file while it is written, on a thread of its own.
   SPDX-License-Identifier: Apache-2.0

   The thread reads behind the writer, from the page cache, so that nothing is handed over but how
   far the file is written.  Of the library alone.  */

#ifndef MM_IO_HASH_ALONG_H
#define MM_IO_HASH_ALONG_H

#include <stdint.h>

#include <minimind/error.h>
#include <minimind/hash.h>

struct mm_hash_along;           /* opaque */

/* Follow the file open at FD, called PATH in messages; FD may be closed meanwhile.  MM_ENOMEM where a
   thread cannot be had.  */
mm_status mm_hash_along_start (int fd, const char *path, struct mm_hash_along **h) MM_NODISCARD;

/* The first END bytes stand in the file and will not change.  */
void mm_hash_along_to (struct mm_hash_along *h, uint64_t end);

/* Wait until all of that is hashed.  Frees H whatever the result.  */
mm_status mm_hash_along_finish (struct mm_hash_along *h, char text[MM_SHA256_TEXT]) MM_NODISCARD;
void mm_hash_along_abort (struct mm_hash_along *h);     /* accepts NULL */

#endif /* MM_IO_HASH_ALONG_H */
