/* json_unescape.h -- the inside of JSON strings copied, simple escapes undone, many bytes at a time.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text, for json_string.c.  */

#ifndef TEXT_JSON_UNESCAPE_H
#define TEXT_JSON_UNESCAPE_H

#include "vector.h"

enum { MM_JSON_ROOM = 64 };     /* bytes behind what is copied that may be written too */

/* What stands behind a backslash for what: itself for u, which needs more, and 0 for no escape.  */
extern const char mm_json_escapes[256];

/* Copy from *P to OUT, which has room for all up to END and MM_JSON_ROOM bytes, and move *P to the first quote, control
   character, or escape that is none of two characters, or to END.  Returns the end of what was written.  */
char *mm_json_unescape (enum mm_vector v, const char **p, const char *end, char *out);

#endif /* TEXT_JSON_UNESCAPE_H */
