/* documents_list.c -- inputs named in a file.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "documents_impl.h"

/* Read F whole; NAME stands in messages.  */
static mm_status
read_stream (FILE *f, const char *name, char **data, size_t *size)
{
  size_t capacity = 0, got;
  mm_status st;

  *data = NULL;
  *size = 0;
  do
    {
      st = mm_grow ("list of files", data, &capacity, *size + 65536, 1);
      if (st < 0)
        return st;
      got = fread (*data + *size, 1, 65535, f);
      *size += got;
    }
  while (got > 0);
  (*data)[*size] = '\0';
  return ferror (f) ? mm_fail_errno (name) : MM_OK;
}

/* Cut the SIZE bytes of the list at its ends of names.  */
static mm_status
add_names (struct mm_documents *d, const char *name, size_t size)
{
  char end = d->o.null ? '\0' : '\n';

  if (!d->o.null && strlen (d->list) < size)
    return mm_fail (MM_EFORMAT, "%s: a name holds a NUL: --null is for lists whose names end with one", name);
  for (char *p = d->list, *stop = d->list + size; p < stop;)
    {
      char *next = memchr (p, end, (size_t) (stop - p));
      mm_status st;

      if (next)
        *next = '\0';
      if (*p && strcmp (p, "-") == 0 && strcmp (d->o.files_from, "-") == 0)
        return mm_fail (MM_EUSAGE, "%s: names standard input, from which the list comes", name);
      if (*p)
        {
          st = mm_grow ("list of files", &d->inputs, &d->capacity, d->n_inputs + 1, sizeof *d->inputs);
          if (st < 0)
            return st;
          d->inputs[d->n_inputs++] = p;
        }
      p = next ? next + 1 : stop;
    }
  return MM_OK;
}

mm_status
documents_read_list (struct mm_documents *d)
{
  bool is_stdin = strcmp (d->o.files_from, "-") == 0;
  const char *name = is_stdin ? "standard input" : d->o.files_from;
  FILE *f = is_stdin ? stdin : fopen (name, "rbe");
  size_t size;
  mm_status st;

  for (size_t i = 0; is_stdin && i < d->n_inputs; i++)
    if (strcmp (d->inputs[i], "-") == 0)
      return mm_fail (MM_EUSAGE, "standard input cannot be an input and the list of inputs");
  if (!f)
    return mm_fail_errno (name);
  st = read_stream (f, name, &d->list, &size);
  if (!is_stdin)
    fclose (f);
  if (st == MM_OK)
    st = add_names (d, name, size);
  if (st == MM_OK && d->n_inputs == 0)
    st = mm_fail (MM_EFORMAT, "%s: names no input", name);
  return st;
}
