/* documents_csv.h -- one column of rows of comma- or tab-separated values.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  RFC 4180: fields between quotes may hold separators, line ends, and quotes
   written twice; a row ends with LF or CRLF.  A quote inside a field that did not begin with one is
   an ordinary character.  */

#ifndef TEXT_DOCUMENTS_CSV_H
#define TEXT_DOCUMENTS_CSV_H

#include <stdbool.h>
#include <stddef.h>

struct csv_reader
{
  char separator;
  const char *name;             /* compare the row's fields with it, or NULL */
  size_t column;                /* wanted, from 0; of the field that is NAME */
  size_t columns;               /* of every row; 0: not known yet */
  unsigned named;               /* fields that are NAME */

  /* The row under way.  Places are from its beginning.  */
  enum { CSV_START, CSV_PLAIN, CSV_QUOTED, CSV_QUOTE } state;
  size_t at;                    /* looked at */
  size_t fields;                /* complete */
  size_t field, quote;          /* where the present one begins; its last quote */
  bool doubled;                 /* it has quotes written twice */
  size_t value, value_end;      /* the wanted one */
  bool value_doubled;
  const char *problem;          /* NULL, or what is wrong */
  size_t problem_at;
};

/* Forget the row under way.  */
void csv_begin (struct csv_reader *r);

/* Scan the row at TEXT, of which SIZE bytes have come; no more will if AT_END.  True if it ends there:
   R->at is behind it.  Else call again with more of it.  */
bool csv_scan (struct csv_reader *r, const char *text, size_t size, bool at_end);

/* The field of SIZE bytes at TEXT with one quote for two into OUT, which has room for it; the bytes
   written.  */
size_t csv_unquote (const char *text, size_t size, char *out);

#endif /* TEXT_DOCUMENTS_CSV_H */
