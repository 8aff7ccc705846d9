/* error.h -- how every function in libcore reports failure.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MINIMIND_ERROR_H
#define MINIMIND_ERROR_H

/* MM_OK is zero and every failure is negative, so `st < 0' reads well.  The
   number in brackets is the exit status a tool ends with (cli.h).  */
typedef enum mm_status
{
  MM_OK = 0,
  MM_EINVAL = -1,     /* the caller passed something impossible [1] */
  MM_ENOMEM = -2,     /* host or device memory ran out [1] */
  MM_EIO = -3,        /* the operating system refused a read or write [74] */
  MM_EFORMAT = -4,    /* a file is not what it claims to be, or is damaged [65] */
  MM_ESHAPE = -5,     /* tensors do not fit together [65] */
  MM_EDEVICE = -6,    /* CUDA, cuBLAS or NCCL failed [1] */
  MM_EUNSUP = -7,     /* valid, but this suite or build cannot do it [65] */
  MM_ENOENT = -8,     /* an input does not exist [66] */
  MM_EUSAGE = -9,     /* an option's value cannot work with this input [64] */
  MM_EEXIST = -10,    /* the output exists and --force was not given [64] */
  MM_EBUSY = -11,     /* the output is in use by another run [73] */
  MM_ESTOPPED = -12,  /* stopped early and saved; run again to go on [75] */
  MM_ECONFLICT = -13, /* configuration conflicts with the checkpoint [78] */
  MM_EGAVEUP = -14,   /* no progress after repeated attempts [70] */
  MM_EPIPE = -15      /* the reader of a pipe that is written to has left [SIGPIPE, or 74] */
} mm_status;

#define MM_NODISCARD __attribute__ ((__warn_unused_result__))
#define MM_PRINTF(fmt, first) \
  __attribute__ ((__format__ (__printf__, fmt, first)))

/* Record a message for the calling thread and return ST:
   `return mm_fail (MM_ESHAPE, "%s: want %zu rows, got %zu", ...);'
   The message names the file or tensor, what was wanted, what was found.
   Control characters in it are shown as \xNN, so that a hostile file cannot
   write to the terminal.  */
mm_status mm_fail (mm_status st, const char *fmt, ...) MM_PRINTF (2, 3);

/* Record "WHAT: strerror (errno)" and return MM_ENOENT for ENOENT and
   ENOTDIR, MM_ENOMEM for ENOMEM, MM_EIO for any other errno.  */
mm_status mm_fail_errno (const char *what);

/* The same for what is being written: that a folder or file of it is missing is no missing input, so
   MM_EIO there too.  */
mm_status mm_fail_errno_output (const char *what);

/* Put "PREFIX: " before the message of this thread's last failure; returns ST.
   For callers who know the name of the file a helper did not.  */
mm_status mm_fail_prefix (mm_status st, const char *fmt, ...) MM_PRINTF (2, 3);

/* The message of this thread's last mm_fail; "" if none.  Owned by the
   library, valid until the next mm_fail on this thread.  */
const char *mm_error_message (void);

#endif /* MINIMIND_ERROR_H */
