/* byte_table.h -- the characters that stand for bytes in byte-level vocabularies.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  Bytes 0x21-0x7E, 0xA1-0xAC and 0xAE-0xFF stand for themselves as code
   points; the other 68, in their order, for U+0100 and what follows (GPT-2's bytes_to_unicode).  */

#ifndef TEXT_BYTE_TABLE_H
#define TEXT_BYTE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The code point of byte C, at most 0x143.  */
uint32_t mm_table_code_point (unsigned char c);

/* Is every character of TEXT, valid UTF-8, one of the table?  */
bool mm_is_table_text (const char *text);

/* The bytes that the SIZE bytes at TEXT, valid UTF-8, stand for into BYTES, which has room for as many; false, and
   nothing of meaning written, if a character is not in the table.  */
bool mm_bytes_of_table_text (const char *text, size_t size, char *bytes, size_t *n_bytes);

/* The spelling of SIZE bytes into OUT, which has room for 2 * SIZE + 1.  */
void mm_table_text (const char *bytes, size_t size, char *out);

#endif /* TEXT_BYTE_TABLE_H */
