/* tfevents.h -- TensorBoard event files: framed records of protocol buffer messages.
   SPDX-License-Identifier: Apache-2.0

   A record: u64 length | u32 masked CRC-32C of the length | data | u32 masked CRC-32C of data, all
   little-endian.  Source: tensorboard, summary/writer/record_writer.py; compat/proto/event.proto and
   summary.proto.  */

#ifndef MM_TELEMETRY_TFEVENTS_H
#define MM_TELEMETRY_TFEVENTS_H

#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

struct mm_scalar
{
  const char *tag;
  float value;
};

/* CRC-32C (Castagnoli) of SIZE bytes.  */
uint32_t mm_crc32c (const void *data, size_t size);

/* The records that may stand in a file; the caller frees *DATA.  version: the first one.  restart: a session
   begins at STEP, so that readers forget what earlier files say of it and later ones.  scalars: N values.  */
mm_status mm_tfevents_version (double wall_time, char **data, size_t *size) MM_NODISCARD;
mm_status mm_tfevents_restart (double wall_time, uint64_t step, char **data, size_t *size) MM_NODISCARD;
mm_status mm_tfevents_scalars (double wall_time, uint64_t step, const struct mm_scalar *scalars, size_t n,
                               char **data, size_t *size) MM_NODISCARD;

#endif /* MM_TELEMETRY_TFEVENTS_H */
