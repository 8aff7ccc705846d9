/* normalize.c -- normalisation form C.
   SPDX-License-Identifier: Apache-2.0

   Most text is normalised already and only looked through.  Else runs of characters that take part
   are decomposed, their marks sorted, and composed again; decomposition and composition are
   utf8proc's, the sorting is ours because its own is quadratic in a run of marks.  */

#include <config.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include <minimind/memory.h>

#include "normalize.h"
#include "unicode.h"

size_t
mm_nfc_check (const char *text, size_t size)
{
  const unsigned char *p = (const unsigned char *) text;
  unsigned length;
  size_t i = 0;

  /* Nothing below U+0300 (lead CC) takes part, nor from U+4000 to U+9FFF (leads E4 to E9).  */
  while (i < size)
    if (p[i] < 0xcc || (p[i] >= 0xe4 && p[i] <= 0xe9))
      i++;
    else if (mm_unicode_more (mm_utf8_get (text + i, &length)) & MM_NFC_JOINS)
      return i;
    else
      i += length;
  return size;
}

/* ---- one run ---- */

static unsigned
combining_class (int32_t c)
{
  return (unsigned) utf8proc_get_property (c)->combining_class;
}

/* Sort the N marks at POINTS by combining class, equals in their order; TEMPORARY has room for N.  */
static void
sort_marks (int32_t *points, size_t n, int32_t *temporary)
{
  size_t start[256] = { 0 }, total = 0;

  for (size_t i = 0; i < n; i++)
    start[combining_class (points[i]) & 0xff]++;
  for (unsigned class = 0; class < 256; class++)
    {
      size_t count = start[class];

      start[class] = total;
      total += count;
    }
  for (size_t i = 0; i < n; i++)
    temporary[start[combining_class (points[i]) & 0xff]++] = points[i];
  memcpy (points, temporary, n * sizeof *points);
}

static void
order_marks (int32_t *points, size_t n, int32_t *temporary)
{
  for (size_t i = 0; i < n;)
    {
      size_t first = i;
      unsigned last = 0, class;
      bool ordered = true;

      for (; i < n && (class = combining_class (points[i])) != 0; i++)
        {
          ordered &= class >= last;
          last = class;
        }
      if (!ordered)
        sort_marks (points + first, i - first, temporary);
      i += i == first;
    }
}

/* Decompose the SIZE bytes of TEXT into N->points; *COUNT of them.  */
static mm_status
decompose (struct mm_nfc *n, const char *text, size_t size, size_t *count)
{
  size_t used = 0;

  for (size_t i = 0; i < size;)
    {
      unsigned length;
      int32_t c = (int32_t) mm_utf8_get (text + i, &length);
      int boundary = 0;
      utf8proc_ssize_t made;
      mm_status st = mm_grow ("normalised text", &n->points, &n->points_capacity, used + 32,
                              sizeof *n->points);

      if (st < 0)
        return st;
      made = utf8proc_decompose_char (c, n->points + used, 32, UTF8PROC_DECOMPOSE, &boundary);
      if (made < 0 || made > 32)
        return mm_fail (MM_EINVAL, "U+%04X cannot be normalised: %s", (unsigned) c,
                        utf8proc_errmsg (made));
      used += (size_t) made;
      i += length;
    }
  *count = used;
  return MM_OK;
}

static mm_status
append (struct mm_nfc *n, const char *text, size_t size)
{
  mm_status st = mm_grow ("normalised text", &n->text, &n->capacity, n->size + size, 1);

  if (st < 0 || size == 0)
    return st;
  memcpy (n->text + n->size, text, size);
  n->size += size;
  return MM_OK;
}

static mm_status
append_run (struct mm_nfc *n, const char *text, size_t size)
{
  size_t count = 0;
  utf8proc_ssize_t left;
  mm_status st = decompose (n, text, size, &count);

  if (st == MM_OK)
    st = mm_grow ("normalised text", &n->sorted, &n->sorted_capacity, count, sizeof *n->sorted);
  if (st == MM_OK)
    st = mm_grow ("normalised text", &n->text, &n->capacity, n->size + 4 * count, 1);
  if (st < 0)
    return st;
  order_marks (n->points, count, n->sorted);
  left = utf8proc_normalize_utf32 (n->points, (utf8proc_ssize_t) count,
                                   UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  for (utf8proc_ssize_t i = 0; i < left; i++)
    n->size += (size_t) utf8proc_encode_char (n->points[i], (utf8proc_uint8_t *) n->text + n->size);
  return MM_OK;
}

/* ---- the whole ---- */

/* Where the character before AT starts if something may be joined to it, else AT.  */
static size_t
leader (const char *text, size_t at)
{
  size_t before = at;
  unsigned length;

  if (at == 0)
    return at;
  do
    before--;
  while (before > 0 && ((unsigned char) text[before] & 0xc0) == 0x80);
  return mm_unicode_more (mm_utf8_get (text + before, &length)) & MM_NFC_LEADS ? before : at;
}

mm_status
mm_nfc_make (struct mm_nfc *n, const char *text, size_t size)
{
  size_t at = 0;
  mm_status st = MM_OK;

  n->size = 0;
  while (st == MM_OK && at < size)
    {
      size_t joins = at + mm_nfc_check (text + at, size - at), start = joins, end = joins;
      unsigned length;

      if (joins < size)
        start = leader (text + at, joins - at) + at;
      while (end < size && mm_unicode_more (mm_utf8_get (text + end, &length)) & MM_NFC_JOINS)
        end += length;
      st = append (n, text + at, start - at);
      if (st == MM_OK && end > start)
        st = append_run (n, text + start, end - start);
      at = end;
    }
  return st;
}

void
mm_nfc_free (struct mm_nfc *n)
{
  free (n->text);
  free (n->points);
  free (n->sorted);
  *n = (struct mm_nfc) { 0 };
}
