/* json.h -- JSON documents through Jansson, with messages that name the field.
   SPDX-License-Identifier: Apache-2.0

   Duplicate keys, invalid UTF-8 and nesting beyond 64 levels are refused.  */

#ifndef MINIMIND_JSON_H
#define MINIMIND_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <jansson.h>

#include <minimind/error.h>

/* Parse SIZE bytes; NAME stands in messages, with line and column, or of a text that is one line,
   with the byte.  *OUT is a new
   reference.  MM_EFORMAT.  */
mm_status mm_json_parse (const char *name, const char *text, size_t size, json_t **out) MM_NODISCARD;

/* The same for a file of at most LIMIT bytes.  */
mm_status mm_json_read (const char *path, size_t limit, json_t **out) MM_NODISCARD;

/* Field KEY of OBJECT into *VALUE; MM_EFORMAT "NAME: KEY: want an integer from MIN to
   MAX, found ..." when it is missing, of another type or out of range.  With
   REQUIRED false a missing or null field leaves *VALUE as it was.  Strings are
   borrowed.  */
mm_status mm_json_integer (const char *name, const json_t *object, const char *key, bool required,
                           int64_t min, int64_t max, int64_t *value) MM_NODISCARD;
mm_status mm_json_number (const char *name, const json_t *object, const char *key, bool required,
                          double *value) MM_NODISCARD;
mm_status mm_json_bool (const char *name, const json_t *object, const char *key, bool required,
                        bool *value) MM_NODISCARD;
mm_status mm_json_string (const char *name, const json_t *object, const char *key, bool required,
                          const char **value) MM_NODISCARD;

/* OBJECT as text with two-space indent, keys in insertion order, a newline at the
   end; the caller frees *TEXT.  Compact without PRETTY (and without newline).  The bytes do not depend
   on Jansson's version: a real has the fewest digits that read back as the same double.  MM_EINVAL
   beyond 64 levels.  */
mm_status mm_json_text (const json_t *object, bool pretty, char **text) MM_NODISCARD;

/* VALUE on F as Python's json.dumps (ensure_ascii=False) writes it, and with it the tojson of chat
   templates: ", " and ": " between, numbers as repr.  MM_EINVAL beyond 64 levels; errors of F stay there.  */
mm_status mm_json_write_python (const json_t *value, FILE *f) MM_NODISCARD;

#endif /* MINIMIND_JSON_H */
