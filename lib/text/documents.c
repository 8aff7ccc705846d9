/* documents.c -- through inputs, members, and parts of documents.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <minimind/memory.h>

#include "documents_impl.h"

/* ---- opening ---- */

static mm_status
check_options (const struct mm_document_options *o)
{
  bool texts = o->format == MM_DOCUMENTS_AUTO || o->format == MM_DOCUMENTS_TEXT;
  bool rows = o->format == MM_DOCUMENTS_CSV || o->format == MM_DOCUMENTS_TSV;

  if (o->delimiter && o->delimiter_size == 0)
    return mm_fail (MM_EUSAGE, "the delimiter between documents is empty");
  if (o->delimiter && !texts)
    return mm_fail (MM_EUSAGE, "a delimiter is for texts: JSON and rows have their own");
  if (o->no_header && !(rows && o->field && o->field[strspn (o->field, "0123456789")] == '\0'))
    return mm_fail (MM_EUSAGE, "rows without a header: want --format=csv or tsv, and the column's number for "
                    "--field");
  if (o->field && o->format == MM_DOCUMENTS_VALUES)
    return mm_fail (MM_EUSAGE, "a field is for rows with one text: of conversations all is read");
  if (o->null && !o->files_from)
    return mm_fail (MM_EUSAGE, "--null is for --files-from");
  return MM_OK;
}

/* Add up the inputs' sizes, and find those that are missing before hours go by.  */
static mm_status
measure (struct mm_documents *d)
{
  bool known = true;

  if (d->o.parts > 0)
    {
      mm_status st = mm_alloc ("inputs", d->n_inputs, sizeof *d->sizes, &d->sizes);

      if (st < 0)
        return st;
    }
  for (size_t i = 0; i < d->n_inputs; i++)
    {
      struct stat info;

      bool is_stdin = strcmp (d->inputs[i], "-") == 0;

      if (!is_stdin && stat (d->inputs[i], &info) < 0)
        return mm_fail_errno (d->inputs[i]);
      known &= !is_stdin && S_ISREG (info.st_mode);
      if (!known && d->sizes && !(!is_stdin && S_ISDIR (info.st_mode)))
        return mm_fail (MM_EUSAGE, "%s: cannot be read in parts, it is no file",
                        is_stdin ? "standard input" : d->inputs[i]);
      d->total += is_stdin ? 0 : (uint64_t) info.st_size;
      if (d->sizes)
        d->sizes[i] = (uint64_t) info.st_size;
    }
  if (!known)
    d->total = 0;
  return documents_divide (d);
}

mm_status
mm_documents_open (const char *const *inputs, size_t n_inputs,
                   const struct mm_document_options *options, struct mm_documents **out)
{
  struct mm_documents *d;
  mm_status st = check_options (options);

  *out = NULL;
  if (st == MM_OK)
    st = mm_alloc ("documents", 1, sizeof *d, &d);
  if (st < 0)
    return st;
  d->o = *options;
  if (!d->o.field)
    d->o.field = "text";
  st = mm_grow ("documents", &d->inputs, &d->capacity, n_inputs, sizeof *d->inputs);
  for (size_t i = 0; st == MM_OK && i < n_inputs; i++)
    d->inputs[d->n_inputs++] = inputs[i];
  if (st == MM_OK && d->o.files_from)
    st = documents_read_list (d);
  if (st == MM_OK && d->o.format != MM_DOCUMENTS_CSV && d->o.format != MM_DOCUMENTS_TSV)
    st = mm_json_path_parse (d->o.field, &d->path);
  if (st == MM_OK)
    st = measure (d);
  if (st < 0)
    mm_documents_close (d);
  else
    *out = d;
  return st;
}

void
mm_documents_close (struct mm_documents *d)
{
  if (!d)
    return;
  mm_input_close (d->in);
  mm_json_path_free (&d->path);
  free (d->inputs);
  free (d->list);
  free (d->sizes);
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

uint64_t
mm_documents_expected (const struct mm_documents *d)
{
  bool whole = d->kind == MM_DOCUMENTS_TEXT && !d->o.delimiter && d->o.parts == 0;

  /* A file as it is has one member, an archive as many as it likes.  */
  return whole && (!d->in || mm_input_seekable (d->in)) ? d->n_inputs : UINT64_MAX;
}

void
mm_documents_progress (const struct mm_documents *d, uint64_t *done, uint64_t *total)
{
  uint64_t present = 0, size;

  if (d->in)
    mm_input_progress (d->in, &present, &size);
  *done = d->done + (d->in ? documents_done (d, present) : 0);
  *total = d->total;
}

/* ---- members ---- */

/* Begin the next member of the present input; *FOUND: there is one, be there something to read in it or not.  */
static mm_status
begin_member (struct mm_documents *d, bool *found)
{
  mm_status st = mm_input_next (d->in, &d->in_member);

  *found = d->in_member;
  if (st < 0 || !d->in_member)
    return st;
  d->delimited = d->array = d->comma = false;
  d->csv = (struct csv_reader) { .columns = 0 };
  st = documents_begin (d);
  if (st == MM_OK)
    st = documents_refuse (d);
  if (st == MM_OK)
    st = documents_check_mark (d);
  if (st == MM_OK)
    st = documents_choose_kind (d);
  return st < 0 ? st : documents_narrow (d);
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
          if (!documents_enter (d, d->next_input++))
            continue;
          st = mm_input_open (d->inputs[d->next_input - 1], &d->in);
          if (st < 0)
            return st;
        }
      if (!d->range.leave)
        {
          bool found;

          st = begin_member (d, &found);
          if (st < 0 || d->in_member)
            return st;
          if (found && !d->range.leave)
            continue;
        }
      mm_input_progress (d->in, &done, &total);
      d->done += documents_done (d, done);
      mm_input_close (d->in);
      d->in = NULL;
    }
}

mm_status
mm_documents_begin (struct mm_documents *d, bool *values)
{
  bool more = true;
  mm_status st = MM_OK;

  /* A member in which nothing stands tells nothing.  */
  while (st == MM_OK && more && !d->detected && d->o.detect && d->o.format == MM_DOCUMENTS_AUTO)
    st = next_member (d, &more);
  *values = d->o.format == MM_DOCUMENTS_VALUES;
  return st;
}

/* ---- documents ---- */

void
documents_give (struct mm_documents *d, const char *text, size_t size, bool final)
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

/* Hand out what waits, or its first part.  */
static void
hand_out (struct mm_documents *d, struct mm_document_part *part)
{
  size_t size = d->left;

  if (d->o.cut && d->o.format != MM_DOCUMENTS_VALUES)
    for (size_t limit = (size_t) DOCUMENT_PART; limit < d->left && size == d->left; limit *= 2)
      {
        size_t cut = d->o.cut (d->o.cut_arg, d->text, d->left, limit);

        if (cut > 0)
          size = cut;
      }
  part->text = d->text;
  part->size = size;
  part->first = !d->in_document;
  part->last = d->final && size == d->left;
  part->n_input = d->next_input - 1;
  part->input = d->inputs[part->n_input];
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
  static mm_status (*const take[]) (struct mm_documents *) = {
    [MM_DOCUMENTS_TEXT] = documents_take_text, [MM_DOCUMENTS_JSONL] = documents_take_line,
    [MM_DOCUMENTS_JSON] = documents_take_value, [MM_DOCUMENTS_CSV] = documents_take_row,
    [MM_DOCUMENTS_TSV] = documents_take_row,
  };
  mm_status st = MM_OK;

  *more = true;
  do
    {
      while (!d->waiting)
        {
          st = d->in_member ? take[d->kind] (d) : next_member (d, more);
          if (st < 0 || !*more)
            return st;
        }
      hand_out (d, part);
    }
  while (!documents_in_part (d, part));
  return MM_OK;
}
