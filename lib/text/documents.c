/* documents.c -- reading documents out of members.
   SPDX-License-Identifier: Apache-2.0

   The present member goes through one buffer.  Unless documents with errors are to be skipped,
   bytes are checked, and replaced, as they come in, so that what stands in the buffer is UTF-8 but
   for a character cut off by its end; else a document is checked when it is complete.  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include <minimind/documents.h>
#include <minimind/input.h>
#include <minimind/log.h>
#include <minimind/memory.h>
#include <minimind/tokenizer.h>

#include "json_line.h"
#include "unicode.h"

static const size_t read_size = 1 << 20;
static const size_t part_size = 4 << 20;        /* documents up to here come whole */
static const size_t sniff_size = 16 << 20;      /* of a first line */
static const char replacement[] = "\xef\xbf\xbd";

struct mm_documents
{
  struct mm_document_options o;
  const char *const *inputs;
  size_t n_inputs, next_input;
  uint64_t total, done;         /* bytes of all inputs, or 0; of those closed */
  struct mm_input *in;

  /* The present member.  */
  bool in_member, at_end;       /* at_end: all of it is in the buffer */
  bool jsonl, delimited;        /* delimited: a delimiter was found in it */
  char *buffer;
  size_t start, end, capacity;  /* bytes not yet handed out: [start, end) */
  size_t checked;               /* valid UTF-8 up to here */
  size_t scanned;               /* no end of a line, no delimiter begins before here */
  size_t try_cut;               /* try to cut a document that has this many bytes */
  uint64_t line, column;        /* of START, both from 0 */

  /* The document under way.  */
  const char *text;             /* waits to be handed out */
  size_t left;
  bool waiting, final;          /* final: the document ends with it */
  bool in_document;             /* parts of it were handed out */

  char *fixed;                  /* bytes with replacements */
  size_t fixed_capacity;
  struct mm_json_line found;
  struct mm_document_counts counts;
};

/* ---- opening ---- */

mm_status
mm_documents_open (const char *const *inputs, size_t n_inputs,
                   const struct mm_document_options *options, struct mm_documents **out)
{
  struct mm_documents *d;
  bool known = true;
  mm_status st;

  *out = NULL;
  if (options->delimiter && options->delimiter_size == 0)
    return mm_fail (MM_EUSAGE, "the delimiter between documents is empty");
  if (options->delimiter && options->format == MM_DOCUMENTS_JSONL)
    return mm_fail (MM_EUSAGE, "a delimiter is for texts: in JSON Lines each line is a document");
  st = mm_alloc ("documents", 1, sizeof *d, &d);
  if (st < 0)
    return st;
  d->o = *options;
  if (!d->o.field)
    d->o.field = "text";
  d->inputs = inputs;
  d->n_inputs = n_inputs;
  for (size_t i = 0; i < n_inputs; i++)
    {
      struct stat info;

      known &= strcmp (inputs[i], "-") != 0 && stat (inputs[i], &info) == 0 && S_ISREG (info.st_mode);
      d->total += known ? (uint64_t) info.st_size : 0;
    }
  if (!known)
    d->total = 0;
  *out = d;
  return MM_OK;
}

void
mm_documents_close (struct mm_documents *d)
{
  if (!d)
    return;
  mm_input_close (d->in);
  free (d->buffer);
  free (d->fixed);
  free (d->found.buffer);
  free (d);
}

void
mm_documents_counts (const struct mm_documents *d, struct mm_document_counts *counts)
{
  *counts = d->counts;
}

void
mm_documents_progress (const struct mm_documents *d, uint64_t *done, uint64_t *total)
{
  uint64_t present = 0, size;

  if (d->in)
    mm_input_progress (d->in, &present, &size);
  *done = d->done + present;
  *total = d->total;
}

/* ---- places in the member ---- */

static uint64_t
count_lines (const char *text, size_t size)
{
  const uint64_t low = UINT64_C (0x7f7f7f7f7f7f7f7f);
  uint64_t lines = 0, word;
  size_t i = 0;

  for (; i + 8 <= size; i += 8)
    {
      memcpy (&word, text + i, 8);
      word ^= UINT64_C (0x0a0a0a0a0a0a0a0a);
      /* Bit 7 stays clear exactly where a byte is zero.  */
      lines += 8 - (uint64_t) __builtin_popcountll ((((word & low) + low) | word) & ~low);
    }
  for (; i < size; i++)
    lines += text[i] == '\n';
  return lines;
}

/* Line and column, from 0, of byte AT of the buffer.  */
static void
find_place (const struct mm_documents *d, size_t at, uint64_t *line, uint64_t *column)
{
  const char *start = d->buffer + d->start, *newline;
  uint64_t lines = count_lines (start, at - d->start);

  *line = d->line + lines;
  *column = d->column + (at - d->start);
  if (lines > 0)
    {
      newline = memrchr (start, '\n', at - d->start);
      *column = (uint64_t) (d->buffer + at - newline) - 1;
    }
}

/* What stands before AT has been dealt with.  */
static void
consume (struct mm_documents *d, size_t at)
{
  uint64_t line, column;

  find_place (d, at, &line, &column);
  d->line = line;
  d->column = column;
  d->start = at;
  if (d->scanned < at)
    d->scanned = at;
  if (d->checked < at)
    d->checked = at;
}

static mm_status
fail_at (const struct mm_documents *d, size_t at, const char *problem)
{
  uint64_t line, column;

  find_place (d, at, &line, &column);
  return mm_fail (MM_EFORMAT, "%s: line %llu, byte %llu: %s", mm_input_name (d->in),
                  (unsigned long long) line + 1, (unsigned long long) column + 1, problem);
}

/* The document with a problem at AT fails, or is skipped: then MM_OK.  */
static mm_status
fail_or_skip (struct mm_documents *d, size_t at, const char *problem)
{
  mm_status st = fail_at (d, at, problem);

  if (d->o.errors != MM_ERRORS_SKIP)
    return st;
  if (d->counts.skipped++ == 0)
    mm_warn ("left out: %s", mm_error_message ());
  else
    mm_verbose ("left out: %s", mm_error_message ());
  return MM_OK;
}

/* ---- the buffer ---- */

/* Put replacements into what stands from CHECKED on.  */
static mm_status
replace_invalid (struct mm_documents *d)
{
  const char *from = d->buffer + d->checked;
  size_t size = d->end - d->checked, at = 0, n = 0;
  bool truncated = false;
  mm_status st = mm_grow ("documents", &d->fixed, &d->fixed_capacity, 3 * size, 1);

  if (st == MM_OK)
    st = mm_grow ("documents", &d->buffer, &d->capacity, d->checked + 3 * size, 1);
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

/* Check what has come in.  */
static mm_status
check_utf8 (struct mm_documents *d)
{
  bool truncated;

  d->checked += mm_utf8_check (d->buffer + d->checked, d->end - d->checked, &truncated);
  if (d->checked == d->end || (truncated && !d->at_end))
    return MM_OK;
  if (d->o.errors == MM_ERRORS_REPLACE)
    return replace_invalid (d);
  return fail_at (d, d->checked, "invalid UTF-8");
}

/* Read more of the member into the buffer, or set AT_END.  */
static mm_status
read_more (struct mm_documents *d)
{
  size_t got;
  mm_status st;

  if (d->start > 0)
    {
      memmove (d->buffer, d->buffer + d->start, d->end - d->start);
      d->end -= d->start;
      d->checked -= d->start;
      d->scanned -= d->start;
      d->start = 0;
    }
  st = mm_grow ("documents", &d->buffer, &d->capacity, d->end + read_size, 1);
  if (st == MM_OK)
    st = mm_input_read (d->in, d->buffer + d->end, read_size, &got);
  if (st < 0)
    return st;
  d->end += got;
  d->at_end = got == 0;
  return d->o.errors == MM_ERRORS_SKIP ? MM_OK : check_utf8 (d);
}

/* The end of the line that starts at START, at or behind SCANNED; END if the member ends without
   one.  */
static mm_status
find_line_end (struct mm_documents *d, size_t limit, size_t *at)
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
      st = read_more (d);
      if (st < 0)
        return st;
    }
}

/* ---- members ---- */

/* Does NAME, without what tells of compression and the parentheses around a member, end in one of
   TAILS, a list that NULL ends?  */
static bool
has_tail (const char *name, const char *const *tails)
{
  static const char *const compressed[] = { ".gz", ".bz2", ".xz", ".lzma", ".zst", ".lz4", ".lz", ".Z" };
  size_t size = strlen (name);

  while (size > 0 && name[size - 1] == ')')
    size--;
  for (size_t i = 0; i < sizeof compressed / sizeof *compressed; i++)
    {
      size_t n = strlen (compressed[i]);

      if (size > n && strncasecmp (name + size - n, compressed[i], n) == 0)
        {
          size -= n;
          break;
        }
    }
  for (; *tails; tails++)
    if (size > strlen (*tails)
        && strncasecmp (name + size - strlen (*tails), *tails, strlen (*tails)) == 0)
      return true;
  return false;
}

/* Is the member's first line a JSON object?  */
static mm_status
sniff (struct mm_documents *d, bool *jsonl)
{
  size_t at = d->start, line_end;
  mm_status st;

  *jsonl = false;
  while (at < d->end && memchr (" \t\r\n", d->buffer[at], 4))
    at++;
  if (at == d->end || d->buffer[at] != '{')
    return MM_OK;
  d->scanned = at;
  st = find_line_end (d, sniff_size, &line_end);
  if (st == MM_OK && mm_utf8_check (d->buffer + d->start, line_end - d->start, NULL)
                     == line_end - d->start)
    {
      st = mm_json_line_field (d->buffer + d->start, line_end - d->start, NULL, true, &d->found);
      *jsonl = st == MM_OK && !d->found.problem;
    }
  d->scanned = d->start;
  return st;
}

static mm_status
choose_format (struct mm_documents *d)
{
  static const char *const lines[] = { ".jsonl", ".ndjson", NULL };
  static const char *const texts[] = { ".txt", ".text", NULL };
  static const char *const json[] = { ".json", NULL };
  const char *name = mm_input_name (d->in);
  size_t at = d->start;
  mm_status st;

  d->jsonl = d->o.format == MM_DOCUMENTS_JSONL;
  if (d->o.format != MM_DOCUMENTS_AUTO || d->o.delimiter || has_tail (name, texts))
    return MM_OK;
  d->jsonl = has_tail (name, lines);
  if (d->jsonl)
    return MM_OK;
  while (at < d->end && memchr (" \t\r\n", d->buffer[at], 4))
    at++;
  if (has_tail (name, json) && at < d->end && d->buffer[at] == '[')
    return mm_fail (MM_EUNSUP, "%s: a JSON array is not supported: want JSON Lines, one object a "
                    "line", name);
  st = sniff (d, &d->jsonl);
  if (st == MM_OK && d->jsonl)
    mm_verbose ("%s: taken for JSON Lines", name);
  return st;
}

/* Begin the next member of the present input.  */
static mm_status
begin_member (struct mm_documents *d)
{
  mm_status st = mm_input_next (d->in, &d->in_member);

  if (st < 0 || !d->in_member)
    return st;
  d->at_end = d->delimited = d->in_document = false;
  d->start = d->end = d->checked = d->scanned = 0;
  d->line = d->column = 0;
  d->try_cut = part_size;
  st = read_more (d);
  if (st == MM_OK)
    st = choose_format (d);
  if (st == MM_OK && d->jsonl && d->end - d->start >= 3
      && memcmp (d->buffer + d->start, "\xef\xbb\xbf", 3) == 0)
    consume (d, d->start + 3);  /* a byte order mark is not JSON */
  return st;
}

/* Go to the next member of all inputs; *MORE is false behind the last.  */
static mm_status
next_member (struct mm_documents *d, bool *more)
{
  mm_status st;

  *more = true;
  for (;;)
    {
      uint64_t done, total;

      if (!d->in)
        {
          *more = d->next_input < d->n_inputs;
          if (!*more)
            return MM_OK;
          st = mm_input_open (d->inputs[d->next_input++], &d->in);
          if (st < 0)
            return st;
        }
      st = begin_member (d);
      if (st < 0 || d->in_member)
        return st;
      mm_input_progress (d->in, &done, &total);
      d->done += done;
      mm_input_close (d->in);
      d->in = NULL;
    }
}

/* ---- documents ---- */

/* The SIZE bytes at TEXT wait to be handed out.  */
static void
give (struct mm_documents *d, const char *text, size_t size, bool final)
{
  if (size == 0 && !d->in_document)
    {
      d->counts.empty++;
      return;
    }
  d->text = text;
  d->left = size;
  d->final = final;
  d->waiting = true;
}

/* Take the next line of JSON Lines.  */
static mm_status
take_line (struct mm_documents *d)
{
  bool replace = d->o.errors == MM_ERRORS_REPLACE;
  size_t start, end, size, valid, at;
  mm_status st = find_line_end (d, SIZE_MAX, &end);

  if (st < 0)
    return st;
  start = d->start;
  size = end - start;
  for (at = start; at < end && memchr (" \t\r", d->buffer[at], 3); at++)
    ;
  if (at == end)
    d->in_member = end < d->end;        /* a blank line, or behind the last */
  else if (d->o.errors == MM_ERRORS_SKIP
           && (valid = mm_utf8_check (d->buffer + start, size, NULL)) < size)
    st = fail_or_skip (d, start + valid, "invalid UTF-8");
  else
    {
      st = mm_json_line_field (d->buffer + start, size, d->o.field, replace, &d->found);
      if (st == MM_OK && d->found.problem)
        {
          char problem[256];

          snprintf (problem, sizeof problem, "%s (field \"%.100s\")", d->found.problem, d->o.field);
          st = fail_or_skip (d, start + d->found.at,
                             strncmp (d->found.problem, "the field", 9) == 0 ? problem
                             : d->found.problem);
        }
      else if (st == MM_OK)
        {
          d->counts.replaced += d->found.replaced;
          give (d, d->found.text, d->found.size, true);
        }
    }
  if (st == MM_OK)
    consume (d, end < d->end ? end + 1 : end);
  return st;
}

/* A whole document of text stands from START to END, and NEXT is where the next one starts.  */
static mm_status
take_whole (struct mm_documents *d, size_t end, size_t next)
{
  size_t size = end - d->start, valid = size;
  mm_status st = MM_OK;

  if (d->o.errors == MM_ERRORS_SKIP)
    valid = mm_utf8_check (d->buffer + d->start, size, NULL);
  if (valid < size)
    st = fail_or_skip (d, d->start + valid, "invalid UTF-8");
  else
    give (d, d->buffer + d->start, size, true);
  if (st == MM_OK)
    consume (d, next);
  d->try_cut = part_size;
  return st;
}

/* Hand out a part of a document that is longer than one; *DONE if it could be cut.  */
static void
take_part (struct mm_documents *d, bool *done)
{
  size_t known = d->checked;
  size_t cut;

  /* A delimiter may begin behind SCANNED.  */
  if (d->o.delimiter && d->scanned < known)
    known = d->scanned;
  cut = d->o.cut (d->o.cut_arg, d->buffer + d->start, known - d->start, known - d->start);
  *done = cut > 0;
  if (!*done)
    {
      d->try_cut = 2 * (d->end - d->start);
      return;
    }
  give (d, d->buffer + d->start, cut, false);
  consume (d, d->start + cut);
  d->try_cut = part_size;
}

/* Take the next document of a text, or a part of it.  */
static mm_status
take_text (struct mm_documents *d)
{
  size_t overlap = d->o.delimiter ? d->o.delimiter_size - 1 : 0;
  bool done;
  mm_status st;

  for (;;)
    {
      const char *found = NULL;

      if (d->o.delimiter)
        found = memmem (d->buffer + d->scanned, d->end - d->scanned, d->o.delimiter,
                        d->o.delimiter_size);
      if (found)
        {
          size_t end = (size_t) (found - d->buffer);

          d->delimited = true;
          return take_whole (d, end, end + d->o.delimiter_size);
        }
      if (d->at_end)
        {
          d->in_member = false;
          /* Behind a delimiter the end is no document.  */
          return d->delimited && d->start == d->end && !d->in_document
                 ? MM_OK : take_whole (d, d->end, d->end);
        }
      d->scanned = d->end - d->start > overlap ? d->end - overlap : d->start;
      if (d->o.errors != MM_ERRORS_SKIP && d->o.cut && d->end - d->start >= d->try_cut)
        {
          take_part (d, &done);
          if (done)
            return MM_OK;
        }
      st = read_more (d);
      if (st < 0)
        return st;
    }
}

/* Hand out what waits, or its first part.  */
static void
hand_out (struct mm_documents *d, struct mm_document_part *part)
{
  size_t size = d->left;

  if (d->o.cut)
    for (size_t limit = part_size; limit < d->left && size == d->left; limit *= 2)
      {
        size_t cut = d->o.cut (d->o.cut_arg, d->text, d->left, limit);

        if (cut > 0)
          size = cut;
      }
  part->text = d->text;
  part->size = size;
  part->first = !d->in_document;
  part->last = d->final && size == d->left;
  d->text += size;
  d->left -= size;
  d->waiting = d->left > 0;
  d->in_document = !part->last;
  d->counts.bytes += size;
  d->counts.documents += part->last;
}

mm_status
mm_documents_next (struct mm_documents *d, struct mm_document_part *part, bool *more)
{
  mm_status st = MM_OK;

  *more = true;
  while (!d->waiting)
    {
      if (!d->in_member)
        st = next_member (d, more);
      else
        st = d->jsonl ? take_line (d) : take_text (d);
      if (st < 0 || !*more)
        return st;
    }
  hand_out (d, part);
  return MM_OK;
}
