/* documents_part.c -- the K-th of N parts of all inputs.
   SPDX-License-Identifier: Apache-2.0

   The inputs' bytes, one input behind the other, are cut into N ranges of the same size; a part has the documents
   that begin in its range.  So parts follow from sizes and boundaries alone, and in order they are the whole.

   Of a plain text or of JSON Lines the range's documents are found by their boundaries around its two ends, and
   nothing else is read.  Where they cannot (rows, arrays, compressed files, archives), the D documents of the input
   stand for its bytes, the J-th where J / D of them are; they are counted first, unless the range holds the input whole
   or not at all.  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/log.h>
#include <minimind/memory.h>

#include "documents_impl.h"

/* X * Y / Z, rounded down, and up.  */
static uint64_t
scale (uint64_t x, uint64_t y, uint64_t z)
{
  return (uint64_t) ((unsigned __int128) x * y / z);
}

static uint64_t
scale_up (uint64_t x, uint64_t y, uint64_t z)
{
  return (uint64_t) (((unsigned __int128) x * y + z - 1) / z);
}

mm_status
documents_divide (struct mm_documents *d)
{
  struct documents_range *r = &d->range;

  if (d->o.parts == 0)
    return MM_OK;
  if (d->o.part < 1 || d->o.part > d->o.parts)
    return mm_fail (MM_EUSAGE, "part %u of %u: want one from 1 on", d->o.part, d->o.parts);
  r->from = scale (d->total, d->o.part - 1, d->o.parts);
  r->to = scale (d->total, d->o.part, d->o.parts);
  d->total = r->to - r->from;
  return MM_OK;
}

/* Where in SIZE bytes that begin at BEFORE the byte AT of all inputs is.  */
static uint64_t
within (uint64_t at, uint64_t before, uint64_t size)
{
  return at < before ? 0 : at - before < size ? at - before : size;
}

bool
documents_enter (struct mm_documents *d, size_t input)
{
  struct documents_range *r = &d->range;

  r->by_index = r->limited = r->leave = false;
  r->origin = 0;
  if (d->o.parts == 0)
    return true;
  r->size = d->sizes[input];
  r->low = within (r->from, r->before, r->size);
  r->high = within (r->to, r->before, r->size);
  r->before += r->size;
  return r->low < r->high;
}

/* ---- boundaries in a plain file ---- */

enum { WINDOW = 1 << 16 };

/* Up to SIZE bytes at OFFSET of the file into the buffer.  */
static mm_status
read_at (struct mm_documents *d, uint64_t offset, size_t size, size_t *got)
{
  mm_status st = mm_grow ("documents", &d->buffer, &d->buffer_capacity, size, 1);

  if (st == MM_OK)
    st = mm_input_seek (d->in, offset);
  return st < 0 ? st : mm_input_read (d->in, d->buffer, size, got);
}

/* The last place at or before P that no delimiter reaches across.  From there on it is known which of them count where
   they overlap, as "\n\n" does in "\n\n\n".  */
static mm_status
find_clear_place (struct mm_documents *d, uint64_t *p)
{
  size_t size = d->o.delimiter_size, got;

  while (*p > 0)
    {
      uint64_t from = *p > WINDOW + size ? *p - WINDOW - size : 0;
      mm_status st = read_at (d, from, (size_t) (*p - from) + size - 1, &got);

      if (st < 0)
        return st;
      while (*p > 0 && (from == 0 || *p - from >= size))
        {
          uint64_t start = *p - from >= size ? *p - size + 1 : from;
          size_t end = (size_t) (*p - from) + size - 1;
          const char *found = memmem (d->buffer + (start - from), (end < got ? end : got) - (size_t) (start - from),
                                      d->o.delimiter, size);

          if (!found)
            return MM_OK;
          *p = from + (uint64_t) (found - d->buffer);
        }
    }
  return MM_OK;
}

/* The first end of NEEDLE, SIZE bytes, at or behind AT, of those found from FROM on; the end of the file if there is
   none.  */
static mm_status
find_end (struct mm_documents *d, uint64_t from, uint64_t at, const char *needle, size_t size, uint64_t *end)
{
  for (;;)
    {
      const char *p = d->buffer, *found;
      size_t got;
      mm_status st = read_at (d, from, WINDOW + size, &got);

      if (st < 0)
        return st;
      for (p = d->buffer; (found = memmem (p, (size_t) (d->buffer + got - p), needle, size)); p = found + size)
        {
          *end = from + (uint64_t) (found - d->buffer) + size;
          if (*end >= at)
            return MM_OK;
        }
      if (got < WINDOW + size)
        {
          *end = from + got;
          return MM_OK;
        }
      from += (size_t) (p - d->buffer) > WINDOW + 1 ? (uint64_t) (p - d->buffer) : WINDOW + 1;
    }
}

/* The first beginning of a document at or behind AT.  */
static mm_status
find_boundary (struct mm_documents *d, uint64_t at, uint64_t *boundary)
{
  uint64_t from;
  mm_status st;

  *boundary = at > 0 ? d->range.size : 0;
  if (at == 0 || at == d->range.size || (d->kind == MM_DOCUMENTS_TEXT && !d->o.delimiter))
    return MM_OK;
  if (d->kind == MM_DOCUMENTS_JSONL)
    return find_end (d, at - 1, at, "\n", 1, boundary);
  from = at > d->o.delimiter_size ? at - d->o.delimiter_size : 0;
  st = find_clear_place (d, &from);
  return st < 0 ? st : find_end (d, from, at, d->o.delimiter, d->o.delimiter_size, boundary);
}

/* Let the member be what its documents of the range are.  */
static mm_status
limit (struct mm_documents *d)
{
  struct documents_range *r = &d->range;
  uint64_t end;
  mm_status st = find_boundary (d, r->high, &end);

  if (st == MM_OK)
    st = find_boundary (d, r->low, &r->origin);
  if (st == MM_OK && r->origin == end)
    {
      d->in_member = false;
      return MM_OK;
    }
  if (st == MM_OK)
    st = mm_input_seek (d->in, r->origin);
  if (st < 0)
    return st;
  r->limited = true;
  r->left = end - r->origin;
  st = documents_begin (d);
  return st < 0 ? st : documents_check_mark (d);
}

/* ---- documents by their number ---- */

/* The documents of INPUT, all of it.  */
static mm_status
count_documents (struct mm_documents *d, const char *input, uint64_t *n)
{
  struct mm_document_options options = d->o;
  struct mm_document_part part;
  struct mm_documents *all;
  bool more = true;
  mm_status st;

  options.parts = 0;
  options.files_from = NULL;
  options.null = false;
  options.field = options.format == MM_DOCUMENTS_VALUES ? NULL : options.field;
  mm_verbose ("%s: counting its documents", input);
  st = mm_documents_open (&input, 1, &options, &all);
  if (st < 0)
    return st;
  all->quiet = true;
  while (st == MM_OK && more)
    st = mm_documents_next (all, &part, &more);
  *n = all->counts.documents;
  mm_documents_close (all);
  return st;
}

static mm_status
choose_documents (struct mm_documents *d)
{
  struct documents_range *r = &d->range;
  mm_status st = count_documents (d, d->inputs[d->next_input - 1], &r->documents);

  if (st < 0)
    return st;
  r->by_index = true;
  r->index = 0;
  r->first = scale_up (r->low, r->documents, r->size);
  r->last = scale_up (r->high, r->documents, r->size);
  r->kept = d->counts;
  if (r->first == r->last && r->last < r->documents)
    {
      r->leave = true;
      d->in_member = false;
    }
  return MM_OK;
}

bool
documents_in_part (struct mm_documents *d, const struct mm_document_part *part)
{
  struct documents_range *r = &d->range;
  bool inside = r->index >= r->first;

  if (!r->by_index)
    return true;
  r->index += part->last;
  if (part->last && r->index == r->first)
    d->counts = r->kept;
  if (part->last && r->index == r->last && r->last < r->documents)
    {
      r->leave = true;
      d->in_member = false;
    }
  return inside;
}

bool
documents_outside (const struct mm_documents *d)
{
  return d->range.by_index && d->range.index < d->range.first;
}

mm_status
documents_narrow (struct mm_documents *d)
{
  const struct documents_range *r = &d->range;

  if (d->o.parts == 0 || r->by_index || (r->low == 0 && r->high == r->size))
    return MM_OK;
  if (mm_input_seekable (d->in) && (d->kind == MM_DOCUMENTS_TEXT || d->kind == MM_DOCUMENTS_JSONL))
    return limit (d);
  return choose_documents (d);
}

uint64_t
documents_done (const struct mm_documents *d, uint64_t done)
{
  const struct documents_range *r = &d->range;

  if (d->o.parts == 0)
    return done;
  if (r->limited)
    done = done > r->origin ? done - r->origin : 0;
  else
    done = scale (done, r->high - r->low, r->size);
  return done < r->high - r->low ? done : r->high - r->low;
}
