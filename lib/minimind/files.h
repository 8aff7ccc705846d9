/* files.h -- reading whole files safely; publishing outputs all or nothing.
   SPDX-License-Identifier: Apache-2.0

   An output is written under a temporary name in the same folder, synced, and
   renamed when complete: whoever finds the name finds the whole file.  */

#ifndef MINIMIND_FILES_H
#define MINIMIND_FILES_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <minimind/error.h>

/* Read a regular file of at most LIMIT bytes into *DATA, with a NUL behind it
   that *SIZE does not count.  MM_ENOENT, MM_EIO (a directory included),
   MM_EFORMAT beyond the limit.  The caller frees *DATA.  */
mm_status mm_read_file (const char *path, size_t limit, char **data, size_t *size) MM_NODISCARD;

/* Open the regular file PATH for reading.  A folder, pipe or device is MM_EIO and is
   never waited for.  *FD, for the caller to close, is -1 on failure.  */
mm_status mm_fd_open_regular (const char *path, int *fd, uint64_t *size) MM_NODISCARD;

/* All of SIZE bytes at OFFSET or a failure that names PATH; short counts and EINTR handled.
   A file that ends early is MM_EIO: its size was known.  */
mm_status mm_fd_read_at (int fd, const char *path, uint64_t offset, void *data,
                         size_t size) MM_NODISCARD;

/* A file being written.  */
struct mm_output;               /* opaque */

/* Begin PATH ("-": standard output, for streams only).  A device or pipe that stands there
   is written to as a stream, never replaced.  MM_EEXIST if PATH is anything else that exists
   and FORCE is false; MM_EIO if it is a directory or cannot be made there.  */
mm_status mm_output_open (const char *path, bool force, struct mm_output **out) MM_NODISCARD;

/* Append; short writes and EINTR handled.  MM_EIO names the path.  */
mm_status mm_output_write (struct mm_output *out, const void *data, size_t size) MM_NODISCARD;

/* Write at OFFSET without moving the end; MM_EIO for streams that cannot seek.  */
mm_status mm_output_write_at (struct mm_output *out, uint64_t offset, const void *data,
                              size_t size) MM_NODISCARD;

/* Complete: flush, fsync, rename, fsync the folder.  OUT is freed whatever the
   result; on failure nothing stands under the name that was not there before, but for one case that the
   message tells: the folder cannot be synced after the rename (MM_EIO), and the whole file stands.
   MM_EEXIST if the name was taken meanwhile and force was not given.  */
mm_status mm_output_commit (struct mm_output *out) MM_NODISCARD;

/* The same for COUNT files that belong together: all are on the disk before the first one is renamed, the last one
   appears last, and if one cannot be, those before it go again (but for one that replaced another by force).  */
mm_status mm_output_commit_all (struct mm_output *const *outs, size_t count) MM_NODISCARD;

/* Give up: remove the temporary file.  Accepts NULL.  Also done when a signal
   (INT, TERM, HUP) ends a tool that called mm_cli_begin.  */
void mm_output_abort (struct mm_output *out);

/* A folder being written: a hidden sibling that becomes PATH by rename.  *TEMP is the
   folder to write into (owned by OUT).  MM_EEXIST if PATH exists and FORCE is false.  With FORCE the
   two are exchanged and the old one removed after the new one stands; but a PATH that is no result of
   this suite (it holds folders, or no dataset.json, config.json or adapter_config.json, and is not
   empty) is MM_EEXIST all the same.  MM_EUSAGE for a PATH like "." or "/"; MM_EIO.  commit fails as a
   file's does.  Once commit or abort gave up, a message about a file in *TEMP names it as one in PATH.  */
struct mm_output_dir;
mm_status mm_output_dir_open (const char *path, bool force, struct mm_output_dir **out,
                              const char **temp) MM_NODISCARD;
mm_status mm_output_dir_commit (struct mm_output_dir *out) MM_NODISCARD;
void mm_output_dir_abort (struct mm_output_dir *out);

/* Write SIZE bytes as PATH, synced, in one call; for files inside a folder that
   is not yet published.  MM_EEXIST if PATH is there, MM_EIO.  */
mm_status mm_write_file (const char *path, const void *data, size_t size) MM_NODISCARD;

/* fsync the folder PATH (MM_EIO); remove a tree of files and folders (no links followed; MM_ENOENT,
   MM_EIO, also where it is nested deeper than 64); "DIR/NAME" as a new string, NULL when memory
   is short.  */
mm_status mm_sync_dir (const char *path) MM_NODISCARD;
mm_status mm_remove_tree (const char *path) MM_NODISCARD;
char *mm_path_join (const char *dir, const char *name);

/* Whether something stands at PATH, links followed.  MM_EIO where that cannot be known: a file that cannot be seen
   is not a file that is not there.  */
mm_status mm_path_exists (const char *path, bool *there) MM_NODISCARD;

/* The next name in the folder DIR but "." and "..", valid until the next call; NULL at the end.  MM_EIO (MM_ENOENT
   for a folder that was removed meanwhile) names PATH.  */
mm_status mm_next_name (DIR *dir, const char *path, const char **name) MM_NODISCARD;

#endif /* MINIMIND_FILES_H */
