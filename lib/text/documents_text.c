/* documents_text.c -- texts: a member is a document, or what stands between delimiters.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <string.h>

#include "documents_impl.h"

/* A whole document stands from START to END, and NEXT is where the next one starts.  */
static mm_status
take_whole (struct mm_documents *d, size_t end, size_t next)
{
  size_t size = end - d->start, valid = documents_valid (d, 0, size);
  mm_status st = MM_OK;

  if (valid < size)
    st = documents_fail_or_skip (d, d->start + valid, "invalid UTF-8");
  else
    documents_give (d, d->buffer + d->start, size, true);
  if (st == MM_OK)
    documents_consume (d, next);
  d->try_cut = DOCUMENT_PART;
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
  documents_give (d, d->buffer + d->start, cut, false);
  documents_consume (d, d->start + cut);
  d->try_cut = DOCUMENT_PART;
}

mm_status
documents_take_text (struct mm_documents *d)
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
      st = documents_read (d);
      if (st < 0)
        return st;
    }
}
