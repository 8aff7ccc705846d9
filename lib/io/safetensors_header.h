/* safetensors_header.h -- what reader and writer of safetensors share.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MM_IO_SAFETENSORS_HEADER_H
#define MM_IO_SAFETENSORS_HEADER_H

#include <stdbool.h>
#include <stdint.h>

#include <minimind/safetensors.h>

/* The reference's limit on the header's size, bytes.  */
#define MM_MAX_HEADER UINT64_C (100000000)

#define MM_METADATA "__metadata__"

/* The dtype called NAME; false if there is none.  */
bool mm_dtype_find (const char *name, enum mm_dtype *dtype);

/* Bytes of a tensor; false if a product wraps or they are no whole number.  */
bool mm_tensor_bytes (enum mm_dtype dtype, int n_dims, const uint64_t *shape, uint64_t *bytes);

#endif /* MM_IO_SAFETENSORS_HEADER_H */
