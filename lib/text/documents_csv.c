/* documents_csv.c -- documents out of a column of CSV or TSV.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "documents_impl.h"
#include "scan.h"

/* ---- rows ---- */

void
csv_begin (struct csv_reader *r)
{
  r->state = CSV_START;
  r->at = r->fields = 0;
  r->problem = NULL;
}

size_t
csv_unquote (const char *text, size_t size, char *out)
{
  const char *end = text + size;
  char *start = out;

  while (text < end)
    {
      const char *quote = memchr (text, '"', (size_t) (end - text));
      size_t n = (size_t) ((quote ? quote + 1 : end) - text);

      memcpy (out, text, n);
      out += n;
      text += n + (quote != NULL);
    }
  return (size_t) (out - start);
}

/* Is the field of SIZE bytes at TEXT the NAME?  */
static bool
is_name (const char *text, size_t size, bool doubled, const char *name)
{
  if (!doubled)
    return size == strlen (name) && memcmp (text, name, size) == 0;
  while (size > 0 && *name && *text == *name)
    {
      size_t n = *text == '"' ? 2 : 1;

      text += n;
      size -= n;
      name++;
    }
  return size == 0 && !*name;
}

/* The field under way ends at END.  */
static void
end_field (struct csv_reader *r, const char *text, size_t end)
{
  if (r->name && is_name (text + r->field, end - r->field, r->doubled, r->name))
    {
      r->column = r->fields;
      r->named++;
    }
  if (r->fields == r->column)
    {
      r->value = r->field;
      r->value_end = end;
      r->value_doubled = r->doubled;
    }
  r->fields++;
  r->state = CSV_START;
}

/* Where a field that ends before the line end at AT ends.  */
static size_t
before_return (const struct csv_reader *r, const char *text, size_t at)
{
  return at > r->field && text[at - 1] == '\r' ? at - 1 : at;
}

/* In a plain field: true at the end of the row.  */
static bool
scan_plain (struct csv_reader *r, const char *text, size_t size)
{
  const char *stop = mm_scan_either (text + r->at, text + size, r->separator, '\n');
  size_t at = (size_t) (stop - text);
  bool row = at < size && *stop == '\n';

  r->at = at;
  if (at == size)
    return false;
  end_field (r, text, row ? before_return (r, text, at) : at);
  r->at++;
  return row;
}

/* Behind a quote in a quoted field: its end, or half of a quote.  True at the end of the row.  *WAIT: what
   follows has not come.  */
static bool
scan_quote (struct csv_reader *r, const char *text, size_t size, bool at_end, bool *wait)
{
  char c = text[r->at];

  if (c == '"')
    {
      r->doubled = true;
      r->state = CSV_QUOTED;
    }
  else if (c == r->separator || c == '\n')
    end_field (r, text, r->quote);
  else if (c == '\r' && r->at + 1 == size)
    {
      *wait = !at_end;
      r->at += at_end;
      return false;
    }
  else if (c != '\r' || text[r->at + 1] != '\n')
    {
      if (!r->problem)
        r->problem_at = r->at;
      r->problem = "something follows the closing quote";
      r->state = CSV_PLAIN;
      return false;
    }
  r->at++;
  return c == '\n';
}

/* All has come, without a line end behind it.  */
static void
end_data (struct csv_reader *r, const char *text, size_t size)
{
  if (r->state == CSV_QUOTED)
    {
      r->problem = "the quote that opens here has no end";
      r->problem_at = r->field - 1;
    }
  else if (r->state == CSV_QUOTE)
    end_field (r, text, r->quote);
  else if (r->state == CSV_PLAIN)
    end_field (r, text, before_return (r, text, size));
  else if (size > 0)
    {
      r->field = size;          /* nothing behind the last separator */
      r->doubled = false;
      end_field (r, text, size);
    }
}

bool
csv_scan (struct csv_reader *r, const char *text, size_t size, bool at_end)
{
  bool wait = false, row = false;

  while (r->at < size && !wait && !row)
    switch (r->state)
      {
      case CSV_START:
        r->doubled = false;
        r->state = text[r->at] == '"' ? CSV_QUOTED : CSV_PLAIN;
        r->at += r->state == CSV_QUOTED;
        r->field = r->at;
        break;
      case CSV_PLAIN:
        row = scan_plain (r, text, size);
        break;
      case CSV_QUOTED:
        {
          const char *quote = memchr (text + r->at, '"', size - r->at);

          r->quote = quote ? (size_t) (quote - text) : size;
          r->at = quote ? r->quote + 1 : size;
          r->state = quote ? CSV_QUOTE : CSV_QUOTED;
        }
        break;
      case CSV_QUOTE:
        row = scan_quote (r, text, size, at_end, &wait);
        break;
      }
  if (!row && at_end && !wait)
    {
      end_data (r, text, size);
      row = true;
    }
  return row;
}

/* ---- the member ---- */

/* Read the row at START whole.  MM_EFORMAT where a quote has no end: what follows it is lost.  */
static mm_status
read_row (struct mm_documents *d)
{
  mm_status st;

  csv_begin (&d->csv);
  while (!csv_scan (&d->csv, d->buffer + d->start, d->end - d->start, d->at_end))
    {
      st = documents_read (d);
      if (st < 0)
        return st;
    }
  if (d->csv.state == CSV_QUOTED)
    return documents_fail (d, d->start + d->csv.problem_at, d->csv.problem);
  return MM_OK;
}

/* Is the row a line without anything in it?  */
static bool
is_blank (const struct mm_documents *d)
{
  const char *row = d->buffer + d->start;

  return d->csv.at == 0 || *row == '\n' || (*row == '\r' && (d->csv.at == 1 || row[1] == '\n'));
}

/* A column's number, from 1, or 0 if FIELD is none.  */
static size_t
column_number (const char *field)
{
  size_t n = strspn (field, "0123456789");

  return n > 0 && n < 10 && !field[n] ? strtoul (field, NULL, 10) : 0;
}

/* The first row of the member tells its columns, and which one is wanted.  */
static mm_status
find_column (struct mm_documents *d)
{
  size_t number = column_number (d->o.field), size = d->csv.at;
  char problem[320];

  d->csv.columns = d->csv.fields;
  if (d->csv.named > 1)
    snprintf (problem, sizeof problem, "two columns are called \"%.100s\": give the number of one", d->o.field);
  else if (d->csv.named == 1 || (number >= 1 && number <= d->csv.columns))
    {
      d->csv.column = d->csv.named ? d->csv.column : number - 1;
      return MM_OK;
    }
  else if (number > 0)
    snprintf (problem, sizeof problem, "the row has %zu columns, want column %zu", d->csv.columns, number);
  else
    {
      while (size > 0 && strchr ("\r\n", d->buffer[d->start + size - 1]))
        size--;
      snprintf (problem, sizeof problem, "no column is called \"%.100s\"; the header is %.*s%s", d->o.field,
                size > 120 ? 120 : (int) size, d->buffer + d->start, size > 120 ? " ..." : "");
    }
  return documents_fail (d, d->start, problem);
}

/* The wanted field of the row at START, or what is wrong with it.  */
static mm_status
give_field (struct mm_documents *d)
{
  const struct csv_reader *r = &d->csv;
  const char *value = d->buffer + d->start + r->value;
  size_t size = r->value_end - r->value, valid;
  char problem[120];
  mm_status st;

  if (r->problem)
    return documents_fail_or_skip (d, d->start + r->problem_at, r->problem);
  if (r->fields != r->columns)
    {
      snprintf (problem, sizeof problem, "the row has %zu columns, want %zu", r->fields, r->columns);
      return documents_fail_or_skip (d, d->start, problem);
    }
  valid = documents_valid (d, r->value, size);
  if (valid < size)
    return documents_fail_or_skip (d, d->start + r->value + valid, "invalid UTF-8");
  if (r->value_doubled)
    {
      st = mm_grow ("row", &d->found.buffer, &d->found.capacity, size, 1);
      if (st < 0)
        return st;
      size = csv_unquote (value, size, d->found.buffer);
      value = d->found.buffer;
    }
  documents_give (d, value, size, true);
  return MM_OK;
}

mm_status
documents_take_row (struct mm_documents *d)
{
  bool first = d->csv.columns == 0, header = first && !d->o.no_header;
  mm_status st;

  d->csv.separator = d->kind == MM_DOCUMENTS_TSV ? '\t' : ',';
  d->csv.name = header ? d->o.field : NULL;
  st = read_row (d);
  if (st < 0)
    return st;
  if (is_blank (d))
    d->in_member = d->start + d->csv.at < d->end || !d->at_end;
  else if (first && !d->csv.problem)
    {
      st = find_column (d);
      /* Without a header the row is scanned again, for its field.  */
      if (st < 0 || !header)
        return st;
    }
  else if (first)
    return documents_fail (d, d->start + d->csv.problem_at, d->csv.problem);
  else
    st = give_field (d);
  if (st == MM_OK)
    documents_consume (d, d->start + d->csv.at);
  return st;
}
