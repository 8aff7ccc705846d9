/* safetensors.h -- the one container of the suite, read and written.
   SPDX-License-Identifier: Apache-2.0

   Source: huggingface/safetensors, README and tensor.rs; all rules that its reader
   enforces are enforced here, and duplicate names are refused as well.  */

#ifndef MINIMIND_SAFETENSORS_H
#define MINIMIND_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

enum mm_dtype
{
  MM_BOOL, MM_F4, MM_F6_E2M3, MM_F6_E3M2, MM_U8, MM_I8, MM_F8_E5M2, MM_F8_E4M3, MM_F8_E8M0,
  MM_F8_E4M3FNUZ, MM_F8_E5M2FNUZ, MM_I16, MM_U16, MM_F16, MM_BF16, MM_I32, MM_U32, MM_F32,
  MM_C64, MM_F64, MM_I64, MM_U64,
  MM_N_DTYPES
};

const char *mm_dtype_name (enum mm_dtype dtype);        /* "F32" */
size_t mm_dtype_bits (enum mm_dtype dtype);             /* bits an element */

/* COUNT elements at RAW, which need not be aligned, as doubles: booleans, integers (beyond 2^53 rounded) and
   floats of 16, 32 and 64 bits.  False for the other types, with nothing written.  */
bool mm_dtype_values (enum mm_dtype dtype, const void *raw, size_t count, double *values);

/* COUNT float32 at VALUES to elements of F32, F16 or BF16 at RAW, rounded to nearest even.  False for the other types,
   with nothing written.  */
bool mm_dtype_from_f32 (enum mm_dtype dtype, const float *values, size_t count, void *raw);

enum { MM_MAX_DIMS = 8 };

struct mm_tensor
{
  const char *name;
  enum mm_dtype dtype;
  int n_dims;
  uint64_t shape[MM_MAX_DIMS];  /* row-major, outermost first */
  uint64_t offset;              /* bytes from the start of the file */
  uint64_t size;                /* bytes */
};

/* ---- reading ---- */

struct mm_safetensors;          /* an open file */

/* Open PATH and validate its header completely against the file's size.
   MM_ENOENT, MM_EIO (a directory included), MM_EFORMAT; MM_EUNSUP for a tensor of more than
   MM_MAX_DIMS dimensions.  */
mm_status mm_safetensors_open (const char *path, struct mm_safetensors **file) MM_NODISCARD;
void mm_safetensors_close (struct mm_safetensors *file);        /* accepts NULL */

const char *mm_safetensors_path (const struct mm_safetensors *file);
uint64_t mm_safetensors_size (const struct mm_safetensors *file);       /* bytes */

/* Tensors in order of their offsets.  */
size_t mm_safetensors_count (const struct mm_safetensors *file);
const struct mm_tensor *mm_safetensors_at (const struct mm_safetensors *file, size_t i);

/* NULL if there is none of that name.  */
const struct mm_tensor *mm_safetensors_find (const struct mm_safetensors *file, const char *name);

/* Find NAME with N_DIMS dimensions and this dtype, or MM_EFORMAT saying what was
   found instead.  */
mm_status mm_safetensors_want (const struct mm_safetensors *file, const char *name,
                               enum mm_dtype dtype, int n_dims,
                               const struct mm_tensor **tensor) MM_NODISCARD;

/* Metadata string KEY, or NULL.  Keys can be walked: i-th key and value, false at
   the end.  */
const char *mm_safetensors_meta (const struct mm_safetensors *file, const char *key);
bool mm_safetensors_meta_at (const struct mm_safetensors *file, size_t i, const char **key,
                             const char **value);

/* Read SIZE bytes at byte OFFSET of the tensor into DATA (pread: no mapping, so a
   file truncated meanwhile is an error, not a signal).  MM_EINVAL beyond the
   tensor's end.  Safe from several threads.  */
mm_status mm_safetensors_read (const struct mm_safetensors *file, const struct mm_tensor *tensor,
                               uint64_t offset, void *data, size_t size) MM_NODISCARD;

/* Read the whole tensor as float32, converting F16, BF16, F32, F64; others
   MM_EUNSUP.  DATA has room for all elements.  */
mm_status mm_safetensors_read_f32 (const struct mm_safetensors *file,
                                   const struct mm_tensor *tensor, float *data) MM_NODISCARD;

/* ---- writing ---- */

struct mm_safetensors_writer;

/* Begin PATH.  PUBLISH true: through mm_output (temporary name, atomic rename at
   commit, FORCE and statuses as there).  PUBLISH false: directly, for files inside a folder that
   is published as a whole; MM_EEXIST if PATH is there.  */
mm_status mm_safetensors_create (const char *path, bool publish, bool force,
                                 struct mm_safetensors_writer **w) MM_NODISCARD;

/* Metadata may be added until commit; "format" = "pt" is always there.  Strings are
   copied.  MM_EINVAL if they are no UTF-8.  */
mm_status mm_safetensors_add_meta (struct mm_safetensors_writer *w, const char *key,
                                   const char *value) MM_NODISCARD;

/* Declare all tensors before the first write.  SHAPE[0] may be MM_GROWING: its rows are
   counted as they are written (they are spooled in an unnamed file beside PATH and put
   in place at commit, since what follows them must move).  MM_EINVAL: a name used before, more than
   MM_MAX_DIMS dimensions, a size that is no whole number of bytes or too large, empty rows that grow,
   a call after the first write.  */
#define MM_GROWING UINT64_MAX
mm_status mm_safetensors_declare (struct mm_safetensors_writer *w, const char *name,
                                  enum mm_dtype dtype, int n_dims, const uint64_t *shape) MM_NODISCARD;

/* Write the growing tensor NAME, the largest, straight into the file: to where it will stand if those that grow before
   it in the layout have EXPECTED bytes together, so that the disk can begin with it at once; MM_GROWING if no one
   knows.  If they have more or less it is moved at commit, which costs less than a spool.  The file is the same.
   After all declarations, before NAME is written.  MM_EINVAL otherwise, and for a second one.  */
mm_status mm_safetensors_direct (struct mm_safetensors_writer *w, const char *name, uint64_t expected) MM_NODISCARD;

/* Append SIZE bytes to the tensor NAME; tensors may be written in any interleaving.
   Layout: dtype descending, then name, as the reference writer; data starts at a
   multiple of 4096; equal contents give equal bytes.  MM_EINVAL for a name that was not declared and
   beyond the tensor's size; MM_EIO, at once where the disk has no room for all that was declared.  */
mm_status mm_safetensors_write (struct mm_safetensors_writer *w, const char *name,
                                const void *data, size_t size) MM_NODISCARD;

/* Hash the file while it is written, on a thread of its own: commit then has little left to do for
   SHA256.  Call it before the first write; without effect where a tensor grows, and in vain where
   metadata is added after the first write.  */
void mm_safetensors_hash_along (struct mm_safetensors_writer *w);

/* MM_EINVAL if a tensor is incomplete.  Frees W whatever the result.  SHA256, unless
   NULL, gets the hash of the file as written.  */
mm_status mm_safetensors_commit (struct mm_safetensors_writer *w, char *sha256) MM_NODISCARD;
void mm_safetensors_abort (struct mm_safetensors_writer *w);    /* accepts NULL */

#endif /* MINIMIND_SAFETENSORS_H */
