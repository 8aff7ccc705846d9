/* json_string.h -- what stands between the quotes of JSON.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text, for its two readers of JSON that build no tree (json_line.h, model_json.h).  */

#ifndef TEXT_JSON_STRING_H
#define TEXT_JSON_STRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json_unescape.h"
#include "scan.h"

struct mm_json_span
{
  const char *start, *end;      /* between the quotes */
  bool escapes;
};

static inline const char *
mm_json_skip_space (const char *p, const char *end)
{
  while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
    p++;
  return p;
}

/* Scan the string whose first quote is at *P, which is moved behind it; UTF-8 is not looked at.  NULL, or what
   is wrong at *P.  */
const char *mm_json_string_scan (const char **p, const char *end, struct mm_json_span *span);

/* Characters being read.  */
struct mm_json_text
{
  char *end;                    /* of what was written */
  uint64_t lone;                /* surrogates without their other half, which became U+FFFD */
  const char *first;            /* the escape of the first of them */
};

/* Write behind TEXT->end, which has room for all up to END and MM_JSON_ROOM bytes, the characters of a string from *P
   on, which stands in it; UTF-8 is not looked at.  *P moves to the quote that ends it.  NULL, or what is wrong
   at *P.  */
const char *mm_json_string_read (const char **p, const char *end, struct mm_json_text *text);

/* Write the characters of SPAN, which was scanned, to OUT, which has room for its size and MM_JSON_ROOM bytes; returns
   their end.  *LONE counts surrogates without their other half as well.  */
char *mm_json_string_get (const struct mm_json_span *span, char *out, uint64_t *lone);

/* Write the escape of U+FFFD in place of each that is half of a surrogate pair without the other in the JSON of SIZE
   bytes at TEXT; returns how many.  */
size_t mm_json_mend_surrogates (char *text, size_t size);

#endif /* TEXT_JSON_STRING_H */
