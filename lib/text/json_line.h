/* json_line.h -- one string field of a line of JSON.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  The line is checked as a whole, strictly by RFC 8259, but nothing is
   built from it.  As in json.h: nesting beyond 64 levels is refused, a second field of the name
   that is looked for too; unlike there, other repeated names and numbers of any size pass, and
   U+0000 is a character.  */

#ifndef TEXT_JSON_LINE_H
#define TEXT_JSON_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>

enum { MM_JSON_LINE_DEPTH = 64 };

struct mm_json_line
{
  const char *text;             /* the field's value: in the line, or in BUFFER */
  size_t size;
  const char *problem;          /* NULL, or what is wrong */
  size_t at;                    /* with the byte there */
  uint64_t replaced;            /* lone surrogates made U+FFFD */
  char *buffer;                 /* grown as needed; the caller frees it */
  size_t capacity;
};

/* Find the string FIELD of the object in the SIZE bytes at TEXT, valid UTF-8.  A surrogate
   without its other half becomes U+FFFD if REPLACE, else it is a problem.  FIELD NULL: only check
   that the line is an object.  What is wrong with the
   line stands in R->problem; the status is for memory alone.  */
mm_status mm_json_line_field (const char *text, size_t size, const char *field, bool replace,
                              struct mm_json_line *r) MM_NODISCARD;

#endif /* TEXT_JSON_LINE_H */
