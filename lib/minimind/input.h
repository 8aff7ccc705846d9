/* input.h -- every input as a stream of members, through libarchive.
   SPDX-License-Identifier: Apache-2.0

   A plain file is one member; a compressed file is one member, decompressed; an
   archive's regular files are members in archive order, each decompressed, archives
   in archives included; "-" is standard input.  An empty file is one empty member.
   Member names are shown, never used as paths.

   Compression: gzip, bzip2, compress, xz, lzma, lzip, zstd, lz4.  Archives: tar, zip,
   7zip, rar, cab.  Formats that begin like text (mtree, cpio, ar, WARC) are read as the
   plain files they look like, so that no text is taken for an archive.  */

#ifndef MINIMIND_INPUT_H
#define MINIMIND_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

struct mm_input;                /* opaque */

/* Open PATH.  MM_ENOENT, MM_EIO (a directory included), MM_EFORMAT.  */
mm_status mm_input_open (const char *path, struct mm_input **in) MM_NODISCARD;
void mm_input_close (struct mm_input *in);      /* accepts NULL */

/* Go to the next member; *MORE false at the end.  MM_EFORMAT for a damaged archive or
   compressed stream, and for a tar without members, which any file that begins with 512 zero
   bytes looks like; MM_EUNSUP where archives are nested more than five deep.  */
mm_status mm_input_next (struct mm_input *in, bool *more) MM_NODISCARD;

/* "FILE", "FILE(MEMBER)", "FILE(MEMBER)(MEMBER)": the present member, for messages.  Valid until the
   next mm_input_next.  */
const char *mm_input_name (const struct mm_input *in);

/* Read up to SIZE bytes of the present member; *GOT 0 at its end
   and where there is no present member.  Truncated
   compressed data is MM_EFORMAT, not a short file, except in the formats whose stream does not say where
   it ends (compress).  */
mm_status mm_input_read (struct mm_input *in, void *data, size_t size, size_t *got) MM_NODISCARD;

/* True if the present member is a file that is neither compressed nor an archive, nor standard input or empty: it
   can be read from any place.  */
bool mm_input_seekable (const struct mm_input *in);

/* Go to byte OFFSET of the present member.  MM_EINVAL where it is not seekable, MM_EIO.  */
mm_status mm_input_seek (struct mm_input *in, uint64_t offset) MM_NODISCARD;

/* Bytes consumed of the file itself (compressed), and its size or 0 when unknown:
   for progress; where the present member is seekable, the place in it.  */
void mm_input_progress (const struct mm_input *in, uint64_t *done, uint64_t *total);

#endif /* MINIMIND_INPUT_H */
