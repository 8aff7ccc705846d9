/* backend.h -- where the arithmetic runs.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MINIMIND_BACKEND_H
#define MINIMIND_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

struct mm_backend;              /* opaque */

enum { MM_NUMERICS_VERSION = 1 };

/* Open the backend called NAME: "cpu", "cuda" or "auto" (the best in this build that has a
   device).  N_THREADS for the CPU.  The environment variable MM_CPU = generic, avx2, avx512 or
   neon forces narrower kernels (same bits).  MM_EUSAGE if this build or processor lacks it,
   MM_EDEVICE if no device answers.  Close with mm_backend_close.  */
mm_status mm_backend_open (const char *name, int n_threads, struct mm_backend **be) MM_NODISCARD;
void mm_backend_close (struct mm_backend *be);  /* accepts NULL */

const char *mm_backend_name (const struct mm_backend *be);      /* "cpu" */
const char *mm_backend_kernels (const struct mm_backend *be);   /* "avx512" */
int mm_backend_threads (const struct mm_backend *be);

/* Names of the backends and kernel sets in this build, for --version.  */
const char *mm_backend_list (void);

/* Memory on the backend's device, 64-byte aligned, zeroed, in huge pages where possible.  */
mm_status mm_backend_alloc (struct mm_backend *be, const char *what, size_t bytes, void **p) MM_NODISCARD;
void mm_backend_release (struct mm_backend *be, void *p);       /* accepts NULL */

/* Between host and device memory.  */
mm_status mm_backend_put (struct mm_backend *be, void *device, const void *host, size_t bytes) MM_NODISCARD;
mm_status mm_backend_get (struct mm_backend *be, void *host, const void *device, size_t bytes) MM_NODISCARD;

/* DEVICE, memory of mm_backend_alloc, as the host reads and writes it, where both share it (the CPU); else
   NULL, and mm_backend_get and put copy.  Spares copies of the whole model; mm_backend_sync first.  */
void *mm_backend_host (const struct mm_backend *be, void *device);

/* Set device memory to zero; queued like an operation.  */
mm_status mm_backend_zero (struct mm_backend *be, void *device, size_t bytes) MM_NODISCARD;

/* Wait until all queued operations are done; MM_EDEVICE if one failed.  */
mm_status mm_backend_sync (struct mm_backend *be) MM_NODISCARD;

/* Measured float32 FMA peak, FLOP/s, with this backend's threads and widest kernels; takes about
   0.1 s the first time.  */
double mm_backend_peak (struct mm_backend *be);

/* What the machine gives this backend's threads at this moment, measured anew by each call in about 0.4 s.  */
struct mm_limits
{
  double peak;                  /* FLOP/s: the best of some moments, as mm_backend_peak */
  double sustained;             /* FLOP/s of the same arithmetic for a tenth of a second, in pieces of 0.02 ms that
                                   wait for nobody: less where others hold threads up */
  double bandwidth;             /* bytes/s of reading BYTES from memory, the best of some times */
};

/* BYTES 0: 128 MB.  MM_ENOMEM if there is no room for them.  */
mm_status mm_backend_limits (struct mm_backend *be, size_t bytes, struct mm_limits *l) MM_NODISCARD;

/* Where the time goes: seconds, calls, FLOPs and bytes by operation since the last reset.  */
struct mm_op_profile
{
  const char *name;
  double seconds, flops, bytes;
  uint64_t calls;
};
size_t mm_backend_profile (struct mm_backend *be, const struct mm_op_profile **ops);
void mm_backend_profile_reset (struct mm_backend *be);

/* The profile as a table for people, handed line by line to PRINT (ARG, LINE): seconds of each of STEPS steps, share
   of SECONDS, which is all of them, FLOPs and bytes a second, and the share of the limit: what FLOPs at the
   peak or bytes at the bandwidth of L would take, whichever is longer, of the time.  It is beyond 100% where
   operands come from a cache.  */
typedef void mm_profile_print_fn (void *arg, const char *line);
void mm_backend_profile_table (struct mm_backend *be, const struct mm_limits *l, double steps, double seconds,
                               mm_profile_print_fn *print, void *arg);

#endif /* MINIMIND_BACKEND_H */
