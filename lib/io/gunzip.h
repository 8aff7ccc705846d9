/* gunzip.h -- gzip streams decompressed with their checksums checked.
   SPDX-License-Identifier: Apache-2.0

   libarchive reads gzip too, but passes over the CRC and the length that end each stream, so that a flipped bit
   goes unseen.  */

#ifndef MM_IO_GUNZIP_H
#define MM_IO_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>

#include <minimind/error.h>

struct mm_gunzip;               /* opaque */

enum { MM_GZIP_MAGIC = 3 };     /* bytes that tell a gzip stream */

/* True if the MM_GZIP_MAGIC bytes at DATA begin a gzip stream.  */
bool mm_gunzip_begins (const void *data);

mm_status mm_gunzip_open (struct mm_gunzip **g) MM_NODISCARD;
void mm_gunzip_close (struct mm_gunzip *g);     /* accepts NULL */

/* Decompress from *IN, which moves forward by what was used, into OUT of SIZE bytes; *GOT may be 0: call again,
   with more input when none is left.  NULL, or what is wrong with the stream.  Streams one behind the other are
   one; zeros may follow (tapes), nothing else.  */
const char *mm_gunzip_step (struct mm_gunzip *g, const char **in, size_t *in_size, void *out, size_t size,
                            size_t *got);

/* Input has ended: NULL if a stream has just ended too.  */
const char *mm_gunzip_finish (const struct mm_gunzip *g);

#endif /* MM_IO_GUNZIP_H */
