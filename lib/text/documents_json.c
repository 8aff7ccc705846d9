/* documents_json.c -- JSON Lines, and JSON that is not in lines: an array, or values one behind the other.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdio.h>
#include <string.h>

#include "documents_impl.h"
#include "json_string.h"

/* What to add where the value of SIZE bytes at START has no field: only the first value of all inputs was asked whether
   it is a conversation.  Of values that are left out only the first is told of.  */
static const char *
hint_at_chat (const struct mm_documents *d, size_t size)
{
  if (!d->o.detect || d->counts.skipped > 0 || !d->o.detect (d->buffer + d->start, size))
    return "";
  return "; it looks like a conversation: these are read with --format=chat, without texts beside them";
}

/* The SIZE bytes at START are a value or a line with one: give its field, or all of it.  */
static mm_status
take (struct mm_documents *d, size_t size, unsigned flags)
{
  size_t valid = documents_valid (d, 0, size);
  char problem[256];
  mm_status st;

  if (valid < size)
    return documents_fail_or_skip (d, d->start + valid, "invalid UTF-8");
  if (d->o.format == MM_DOCUMENTS_VALUES)
    {
      if (d->o.errors == MM_ERRORS_REPLACE)
        d->counts.replaced += mm_json_mend_surrogates (d->buffer + d->start, size);
      d->place = d->line;
      documents_give (d, d->buffer + d->start, size, true);
      return MM_OK;
    }
  if (d->o.errors == MM_ERRORS_REPLACE)
    flags |= MM_JSON_REPLACE;
  st = mm_json_line_field (d->buffer + d->start, size, &d->path, flags, &d->found);
  if (st < 0)
    return st;
  if (!d->found.problem)
    {
      d->counts.replaced += d->found.replaced;
      documents_give (d, d->found.text, d->found.size, true);
      return MM_OK;
    }
  if (strncmp (d->found.problem, "the field", 9) == 0)
    snprintf (problem, sizeof problem, "%s (field \"%.100s\")%s", d->found.problem, d->o.field,
              hint_at_chat (d, size));
  else
    snprintf (problem, sizeof problem, "%s", d->found.problem);
  return documents_fail_or_skip (d, d->start + d->found.at, problem);
}

mm_status
documents_take_line (struct mm_documents *d)
{
  size_t end, at;
  mm_status st = documents_line_end (d, SIZE_MAX, &end);

  if (st < 0)
    return st;
  for (at = d->start; at < end && memchr (" \t\r", d->buffer[at], 3); at++)
    ;
  if (at == end)
    d->in_member = end < d->end;        /* a blank line, or behind the last */
  else
    st = take (d, end - d->start, 0);
  if (st == MM_OK)
    documents_consume_line (d, end < d->end ? end + 1 : end);
  return st;
}

/* ---- values ---- */

/* Go to the next byte that is not white space; *C is it, or -1 at the end of the member.  */
static mm_status
next_byte (struct mm_documents *d, int *c)
{
  for (;;)
    {
      size_t at = d->start;
      mm_status st;

      while (at < d->end && memchr (" \t\r\n", d->buffer[at], 4))
        at++;
      documents_consume (d, at);
      *c = at < d->end ? (unsigned char) d->buffer[at] : -1;
      if (at < d->end || d->at_end)
        return MM_OK;
      st = documents_read (d);
      if (st < 0)
        return st;
    }
}

/* Go over the comma before a value, or the end of the array: then the member ends.  */
static mm_status
between_values (struct mm_documents *d, int *c)
{
  mm_status st;

  if (*c == ']')
    {
      documents_consume (d, d->start + 1);
      st = next_byte (d, c);
      if (st == MM_OK && *c >= 0)
        return documents_fail (d, d->start, "something follows the array");
      d->in_member = false;
      return st;
    }
  if (!d->comma)
    return MM_OK;
  if (*c != ',')
    return documents_fail (d, d->start, *c < 0 ? "the array has no end" : "want a comma or the end of the array");
  documents_consume (d, d->start + 1);
  return next_byte (d, c);
}

/* The size of the value at START, which is read whole.  */
static mm_status
find_extent (struct mm_documents *d, size_t *size)
{
  struct mm_json_extent e = { .at = 0 };
  mm_status st;

  while (!mm_json_extent_find (&e, d->buffer + d->start, d->end - d->start))
    {
      if (d->at_end && (e.depth > 0 || e.in_string))
        return documents_fail (d, d->start, "the value that begins here has no end");
      if (d->at_end)
        break;
      st = documents_read (d);
      if (st < 0)
        return st;
    }
  *size = e.at;
  return e.at > 0 ? MM_OK : documents_fail (d, d->start, "want a value");
}

mm_status
documents_take_value (struct mm_documents *d)
{
  size_t size;
  int c;
  mm_status st = next_byte (d, &c);

  if (st < 0)
    return st;
  if (c == '[' && !d->array && !d->comma)
    {
      d->array = true;
      documents_consume (d, d->start + 1);
      st = next_byte (d, &c);
    }
  if (st == MM_OK && d->array)
    st = between_values (d, &c);
  else if (c < 0)
    d->in_member = false;
  if (st < 0 || !d->in_member)
    return st;
  st = find_extent (d, &size);
  if (st == MM_OK)
    st = take (d, size, MM_JSON_STRINGS);
  if (st < 0)
    return st;
  d->comma = true;
  documents_consume (d, d->start + size);
  return MM_OK;
}
