/* fd.h -- writes and removals by file descriptor, shared by the files of lib/io.  Reads are in files.h.
   SPDX-License-Identifier: Apache-2.0

   Of the library alone: tools use files.h.  */

#ifndef MM_IO_FD_H
#define MM_IO_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/files.h>

/* All of SIZE bytes or a failure that names PATH; short counts and EINTR handled.  */
mm_status mm_fd_write (int fd, const char *path, const void *data, size_t size) MM_NODISCARD;
mm_status mm_fd_write_at (int fd, const char *path, uint64_t offset, const void *data,
                          size_t size) MM_NODISCARD;

/* fsync and close FD, which is closed whatever the result.  Never retried: after a
   failed fsync a second one may report success for data that is lost.  */
mm_status mm_fd_sync_close (int fd, const char *path) MM_NODISCARD;

/* The folder of PATH ("." where it names none) as a new string, and the offset of its
   last component.  NULL when memory is short.  */
char *mm_path_folder (const char *path, size_t *base);

/* "FOLDER/.BASE.PID.N.tmp", a name that no other process of this PID namespace uses.  NULL when memory is
   short.  */
char *mm_temporary_name (const char *path);

/* Make a temporary file (opened for reading and writing) or, with FD NULL, a folder beside PATH; *NAME is
   its name, a new string.  It is removed when INT, TERM or HUP ends the tool (mm_cli_at_signal) before
   *TICKET is given to forget.  MM_EIO names PATH; *NAME is NULL then.  */
mm_status mm_temporary_make (const char *path, char **name, int *fd, int *ticket) MM_NODISCARD;
void mm_temporary_forget (int ticket);

/* Sync the folder of PATH, which stands complete under its name since a moment.  */
mm_status mm_sync_published (const char *path) MM_NODISCARD;

/* rename that never replaces: MM_EEXIST if TO exists.  */
mm_status mm_rename_new (const char *from, const char *to) MM_NODISCARD;

/* A new file PATH, which is under no name but its own until commit, for folders that are published as
   a whole: MM_EEXIST if it is there.  abort removes it.  */
struct mm_output;
mm_status mm_output_open_plain (const char *path, struct mm_output **out) MM_NODISCARD;

/* The open file; flushed by mm_output_write_at only.  */
int mm_output_fd (const struct mm_output *out);

/* Is it written in place, in order: standard output, a pipe, a device?  */
bool mm_output_is_stream (const struct mm_output *out);

#endif /* MM_IO_FD_H */
