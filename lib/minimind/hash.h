/* hash.h -- SHA-256, by OpenSSL.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MINIMIND_HASH_H
#define MINIMIND_HASH_H

#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

enum
{
  MM_SHA256_TEXT = 65,          /* 64 hexadecimal digits and the end */
  MM_SHA256_SIZE = 32           /* bytes of a digest */
};

struct mm_sha256;               /* opaque, a hash under way */

mm_status mm_sha256_open (struct mm_sha256 **h) MM_NODISCARD;
void mm_sha256_add (struct mm_sha256 *h, const void *data, size_t size);
/* The digest of what was added since H was opened or last taken from; H begins anew.  */
void mm_sha256_take (struct mm_sha256 *h, uint8_t digest[MM_SHA256_SIZE]);
/* Lower-case hexadecimal; frees H.  */
void mm_sha256_close (struct mm_sha256 *h, char text[MM_SHA256_TEXT]);

mm_status mm_sha256_bytes (const void *data, size_t size, char text[MM_SHA256_TEXT]) MM_NODISCARD;
mm_status mm_sha256_file (const char *path, char text[MM_SHA256_TEXT]) MM_NODISCARD;

#endif /* MINIMIND_HASH_H */
