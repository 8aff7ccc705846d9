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

enum
{
  MM_JSON_LINE_DEPTH = 64,
  MM_JSON_PATH_LENGTH = 16,

  /* Flags.  */
  MM_JSON_REPLACE = 1,          /* a surrogate without its other half becomes U+FFFD; else it is a
                                   problem */
  MM_JSON_STRINGS = 2           /* a string in place of an object is the value itself */
};

/* The names that lead to a field: one, or those of the objects around it before it.  */
struct mm_json_path
{
  char *names[MM_JSON_PATH_LENGTH];     /* pieces of one allocation, which names[0] begins */
  size_t sizes[MM_JSON_PATH_LENGTH];
  unsigned length;
};

/* FIELD cut at its dots; "\." is a dot of a name and "\\" a backslash.  MM_EUSAGE for a name that
   is empty, too many of them, and a backslash before anything else.  */
mm_status mm_json_path_parse (const char *field, struct mm_json_path *path) MM_NODISCARD;
void mm_json_path_free (struct mm_json_path *path);

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

/* Find the string at PATH of the object in the SIZE bytes at TEXT, valid UTF-8.  PATH NULL: only check
   that the line is an object.  What is wrong with the line stands in R->problem; the status is for memory
   alone.  */
mm_status mm_json_line_field (const char *text, size_t size, const struct mm_json_path *path, unsigned flags,
                              struct mm_json_line *r) MM_NODISCARD;

/* Where the JSON value at TEXT ends, which may be cut off by the end of the SIZE bytes: the scan goes on where
   it stood when called again with more of the same text.  All zero at first.  Only strings and brackets are
   looked at: mm_json_line_field checks the rest.  */
struct mm_json_extent
{
  size_t at;                    /* bytes looked at */
  unsigned depth;               /* open brackets */
  bool in_string, started;
};

/* True if the value ends within the SIZE bytes, at E->at: behind a string or container, at what follows
   another value.  */
bool mm_json_extent_find (struct mm_json_extent *e, const char *text, size_t size);

#endif /* TEXT_JSON_LINE_H */
