/* input.h -- every input as a stream of members, through libarchive.
   SPDX-License-Identifier: Apache-2.0

   A plain file is one member; a compressed file is one member, decompressed; an
   archive's regular files are members in archive order; "-" is standard input.
   Member names are shown, never used as paths.  */

#ifndef MINIMIND_INPUT_H
#define MINIMIND_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

struct mm_input;                /* opaque */

/* Open PATH.  MM_ENOENT, MM_EIO (a directory included).  */
mm_status mm_input_open (const char *path, struct mm_input **in) MM_NODISCARD;
void mm_input_close (struct mm_input *in);      /* accepts NULL */

/* Go to the next member; *MORE false at the end.  MM_EFORMAT for a damaged archive or
   compressed stream.  */
mm_status mm_input_next (struct mm_input *in, bool *more) MM_NODISCARD;

/* "FILE" or "FILE(MEMBER)": the present member, for messages.  */
const char *mm_input_name (const struct mm_input *in);

/* Read up to SIZE bytes of the present member; *GOT 0 at its end.  Truncated
   compressed data is MM_EFORMAT, not a short file.  */
mm_status mm_input_read (struct mm_input *in, void *data, size_t size, size_t *got) MM_NODISCARD;

/* Bytes consumed of the file itself (compressed), and its size or 0 when unknown:
   for progress.  */
void mm_input_progress (const struct mm_input *in, uint64_t *done, uint64_t *total);

#endif /* MINIMIND_INPUT_H */
