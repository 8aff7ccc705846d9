/* stream.c -- tokens as text, in whole characters.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "stream.h"

static mm_status
put (struct stream *s, const char *text, size_t size)
{
  mm_status st;

  if (size == 0)
    return MM_OK;
  st = mm_grow ("text", &s->text, &s->capacity, s->size + size, 1);
  if (st < 0)
    return st;
  memcpy (s->text + s->size, text, size);
  s->size += size;
  return MM_OK;
}

/* Length of the longest start of a UTF-8 sequence at TEXT, which is not valid; at least 1.  */
static size_t
invalid_part (const char *text, size_t size)
{
  size_t n = 1;
  bool truncated;

  while (n < size && n < 3)
    {
      mm_utf8_check (text, n + 1, &truncated);
      if (!truncated)
        break;
      n++;
    }
  return n;
}

/* Turn the first SIZE raw bytes into text.  */
static mm_status
drain (struct stream *s, size_t size)
{
  size_t at = 0;
  mm_status st = MM_OK;

  while (st >= 0 && at < size)
    {
      size_t valid = mm_utf8_check (s->raw + at, size - at, NULL);

      st = put (s, s->raw + at, valid);
      at += valid;
      if (st >= 0 && at < size)
        {
          st = put (s, "\357\277\275", 3);
          at += invalid_part (s->raw + at, size - at);
        }
    }
  memmove (s->raw, s->raw + at, s->raw_size - at);
  s->raw_size -= at;
  return st;
}

mm_status
stream_add (struct stream *s, uint32_t id)
{
  mm_status st = mm_decode (s->tokenizer, &id, 1, true, &s->raw, &s->raw_size, &s->raw_capacity);

  if (st < 0 || s->raw_size == 0)
    return st;
  return drain (s, s->raw_size - mm_utf8_incomplete_tail (s->raw, s->raw_size));
}

mm_status
stream_end (struct stream *s, bool cut)
{
  return cut || s->raw_size == 0 ? MM_OK : drain (s, s->raw_size);
}

void
stream_free (struct stream *s)
{
  free (s->text);
  free (s->raw);
}
