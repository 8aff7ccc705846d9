/* documents_member.c -- the buffer that a member goes through: places in it, its bytes checked.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdio.h>
#include <string.h>

#include <minimind/log.h>
#include <minimind/memory.h>
#include <minimind/tokenizer.h>

#include "documents_impl.h"
#include "scan.h"
#include "unicode.h"

static const size_t read_size = 1 << 18;        /* stays in a core's cache while it is checked */
static const char replacement[] = "\xef\xbf\xbd";

/* ---- places ---- */

/* Line and column, from 0, of byte AT of the buffer.  */
static void
find_place (const struct mm_documents *d, size_t at, uint64_t *line, uint64_t *column)
{
  const char *start = d->buffer + d->start, *newline;
  uint64_t lines = mm_count_bytes (start, at - d->start, '\n');

  *line = d->line + lines;
  *column = d->column + (at - d->start);
  if (lines > 0)
    {
      newline = memrchr (start, '\n', at - d->start);
      *column = (uint64_t) (d->buffer + at - newline) - 1;
    }
}

static void
move_start (struct mm_documents *d, size_t at)
{
  d->start = at;
  if (d->scanned < at)
    d->scanned = at;
  if (d->checked < at)
    d->checked = at;
}

void
documents_consume (struct mm_documents *d, size_t at)
{
  uint64_t line, column;

  find_place (d, at, &line, &column);
  d->line = line;
  d->column = column;
  move_start (d, at);
}

void
documents_consume_line (struct mm_documents *d, size_t at)
{
  bool ends = at > d->start && d->buffer[at - 1] == '\n';

  d->line += ends;
  d->column = ends ? 0 : d->column + (at - d->start);
  move_start (d, at);
}

/* Where LINE, from 0, is.  */
static void
write_place (const struct mm_documents *d, uint64_t line, char *text, size_t size)
{
  char origin[48] = "";

  if (d->range.origin > 0)
    snprintf (origin, sizeof origin, "from byte %llu on: ", (unsigned long long) d->range.origin + 1);
  snprintf (text, size, "%s: %sline %llu", mm_input_name (d->in), origin, (unsigned long long) line + 1);
}

void
mm_documents_place (const struct mm_documents *d, char *text, size_t size)
{
  write_place (d, d->place, text, size);
}

mm_status
documents_fail (const struct mm_documents *d, size_t at, const char *problem)
{
  uint64_t line, column;
  char place[1024];

  find_place (d, at, &line, &column);
  write_place (d, line, place, sizeof place);
  return mm_fail (MM_EFORMAT, "%s, byte %llu: %s", place, (unsigned long long) column + 1, problem);
}

mm_status
documents_fail_or_skip (struct mm_documents *d, size_t at, const char *problem)
{
  mm_status st = documents_fail (d, at, problem);

  if (d->o.errors != MM_ERRORS_SKIP)
    return st;
  if (d->quiet || documents_outside (d))
    ;
  else if (d->counts.skipped == 0)
    mm_warn ("left out: %s", mm_error_message ());
  else
    mm_verbose ("left out: %s", mm_error_message ());
  d->counts.skipped++;
  return MM_OK;
}

/* ---- bytes ---- */

/* Put replacements into what stands from CHECKED on.  */
static mm_status
replace_invalid (struct mm_documents *d)
{
  const char *from = d->buffer + d->checked;
  size_t size = d->end - d->checked, at = 0, n = 0;
  bool truncated = false;
  mm_status st = mm_grow ("documents", &d->fixed, &d->fixed_capacity, 3 * size, 1);

  if (st == MM_OK)
    st = mm_grow ("documents", &d->buffer, &d->buffer_capacity, d->checked + 3 * size, 1);
  if (st < 0)
    return st;
  from = d->buffer + d->checked;
  while (at < size)
    {
      size_t valid = mm_utf8_check (from + at, size - at, &truncated);

      memcpy (d->fixed + n, from + at, valid);
      n += valid;
      at += valid;
      if (at == size || (truncated && !d->at_end))
        break;
      memcpy (d->fixed + n, replacement, 3);
      n += 3;
      at += mm_utf8_bad_length (from + at, size - at);
      d->counts.replaced++;
    }
  memcpy (d->fixed + n, from + at, size - at);
  memcpy (d->buffer + d->checked, d->fixed, n + size - at);
  d->end = d->checked + n + size - at;
  d->checked += n;
  return MM_OK;
}

static mm_status
fail_encoding (const struct mm_documents *d)
{
  const char *encoding = documents_guess (d->buffer + d->start, d->end - d->start);
  char problem[160] = "invalid UTF-8";

  if (encoding)
    snprintf (problem, sizeof problem, "invalid UTF-8, it looks like %s: make it UTF-8 with "
              "iconv -f %s -t UTF-8", encoding, encoding);
  return documents_fail (d, d->checked, problem);
}

mm_status
documents_check (struct mm_documents *d)
{
  bool truncated;

  if (d->o.errors == MM_ERRORS_SKIP)
    return MM_OK;
  d->checked += mm_utf8_check (d->buffer + d->checked, d->end - d->checked, &truncated);
  if (d->checked == d->end || (truncated && !d->at_end))
    return MM_OK;
  return d->o.errors == MM_ERRORS_REPLACE ? replace_invalid (d) : fail_encoding (d);
}

mm_status
documents_check_mark (struct mm_documents *d)
{
  mm_status st = documents_check (d);

  if (st == MM_OK && d->range.origin == 0 && d->end >= 3 && memcmp (d->buffer, "\xef\xbb\xbf", 3) == 0)
    documents_consume (d, 3);
  return st;
}

size_t
documents_valid (const struct mm_documents *d, size_t from, size_t size)
{
  return d->o.errors == MM_ERRORS_SKIP ? mm_utf8_check (d->buffer + d->start + from, size, NULL) : size;
}

static mm_status
fill (struct mm_documents *d)
{
  size_t size = d->range.limited && d->range.left < read_size ? (size_t) d->range.left : read_size, got;
  mm_status st;

  if (d->start > 0)
    {
      memmove (d->buffer, d->buffer + d->start, d->end - d->start);
      d->end -= d->start;
      d->checked -= d->start;
      d->scanned -= d->start;
      d->start = 0;
    }
  st = mm_grow ("documents", &d->buffer, &d->buffer_capacity, d->end + read_size, 1);
  if (st == MM_OK)
    st = mm_input_read (d->in, d->buffer + d->end, size, &got);
  if (st < 0)
    return st;
  d->range.left -= d->range.limited ? got : 0;
  d->end += got;
  d->at_end = got == 0;
  return MM_OK;
}

mm_status
documents_begin (struct mm_documents *d)
{
  d->at_end = d->in_document = false;
  d->start = d->end = d->checked = d->scanned = 0;
  d->line = d->column = 0;
  d->try_cut = DOCUMENT_PART;
  return fill (d);
}

mm_status
documents_read (struct mm_documents *d)
{
  mm_status st = fill (d);

  return st < 0 ? st : documents_check (d);
}

mm_status
documents_line_end (struct mm_documents *d, size_t limit, size_t *at)
{
  for (;;)
    {
      const char *newline = d->scanned == d->end
                            ? NULL : memchr (d->buffer + d->scanned, '\n', d->end - d->scanned);
      mm_status st;

      *at = newline ? (size_t) (newline - d->buffer) : d->end;
      d->scanned = *at;
      if (newline || d->at_end || d->end - d->start >= limit)
        return MM_OK;
      st = documents_read (d);
      if (st < 0)
        return st;
    }
}
