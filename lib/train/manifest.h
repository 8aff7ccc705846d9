/* manifest.h -- names, sizes and hashes of a folder's files: the MANIFEST of a checkpoint.
   SPDX-License-Identifier: Apache-2.0

     # minimind checkpoint 1
     # 512 config.json
     ...
     <64 hexadecimal digits>  config.json
     ...

   "# SIZE NAME" for each file, then "SHA256  NAME" for each, both in the order of the names' bytes.
   sha256sum -c passes over lines that begin with '#'.  */

#ifndef MM_TRAIN_MANIFEST_H
#define MM_TRAIN_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>
#include <minimind/hash.h>

#define MM_MANIFEST "MANIFEST"

struct mm_manifest_entry
{
  char *name;
  uint64_t size;                /* bytes */
  char sha256[MM_SHA256_TEXT];
};

struct mm_manifest
{
  struct mm_manifest_entry *entries;    /* ascending by name */
  size_t count, capacity;
};

/* List the regular files that stand in DIR, MANIFEST left out; HASH: hash them too.  MM_ENOENT, MM_EIO.  */
mm_status mm_manifest_scan (const char *dir, bool hash, struct mm_manifest *m) MM_NODISCARD;

/* Read DIR/MANIFEST.  MM_EFORMAT if it is not exactly what mm_manifest_text would write.  */
mm_status mm_manifest_read (const char *dir, struct mm_manifest *m) MM_NODISCARD;

/* The MANIFEST's text, or only the lines with hashes; the caller frees it.  */
mm_status mm_manifest_text (const struct mm_manifest *m, bool hashes_only, char **text) MM_NODISCARD;

/* DIR holds the files of its MANIFEST and no others, of those sizes; HASHES: and of those contents.  MM_EFORMAT
   names the first that differs.  */
mm_status mm_manifest_check (const char *dir, bool hashes) MM_NODISCARD;

void mm_manifest_free (struct mm_manifest *m);

#endif /* MM_TRAIN_MANIFEST_H */
