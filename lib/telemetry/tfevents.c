/* tfevents.c -- the few messages of TensorBoard's format that scalars need, encoded by hand.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tfevents.h"

/* Field numbers, with the wire type in the low bits: 0 varint, 1 eight bytes, 2 counted bytes, 5 four bytes.  */
enum
{
  EVENT_WALL_TIME = 1 << 3 | 1,
  EVENT_STEP = 2 << 3 | 0,
  EVENT_FILE_VERSION = 3 << 3 | 2,
  EVENT_SUMMARY = 5 << 3 | 2,
  EVENT_SESSION_LOG = 7 << 3 | 2,
  SUMMARY_VALUE = 1 << 3 | 2,
  VALUE_TAG = 1 << 3 | 2,
  VALUE_SIMPLE = 2 << 3 | 5,
  SESSION_STATUS = 1 << 3 | 0,
  SESSION_START = 1
};

uint32_t
mm_crc32c (const void *data, size_t size)
{
  const unsigned char *at = data;
  uint32_t crc = 0xffffffff;

  while (size-- > 0)
    {
      crc ^= *at++;
      for (int i = 0; i < 8; i++)
        crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
    }
  return ~crc;
}

static uint32_t
masked (const void *data, size_t size)
{
  uint32_t crc = mm_crc32c (data, size);

  return (crc >> 15 | crc << 17) + 0xa282ead8;
}

/* ---- protocol buffers ---- */

static void
put_little_endian (FILE *f, uint64_t value, int bytes)
{
  for (int i = 0; i < bytes; i++)
    putc ((int) (value >> 8 * i & 0xff), f);
}

static void
put_varint (FILE *f, uint64_t value)
{
  for (; value >= 0x80; value >>= 7)
    putc ((int) (value & 0x7f) | 0x80, f);
  putc ((int) value, f);
}

static size_t
varint_size (uint64_t value)
{
  size_t n = 1;

  for (; value >= 0x80; value >>= 7)
    n++;
  return n;
}

static void
put_head (FILE *f, double wall_time, uint64_t step)
{
  uint64_t bits;

  memcpy (&bits, &wall_time, sizeof bits);
  putc (EVENT_WALL_TIME, f);
  put_little_endian (f, bits, 8);
  if (step)                     /* zero is the default and is left out */
    {
      putc (EVENT_STEP, f);
      put_varint (f, step);
    }
}

/* Bytes of a scalar's message.  */
static size_t
value_size (const struct mm_scalar *s)
{
  size_t n = strlen (s->tag);

  return 1 + varint_size (n) + n + 1 + 4;
}

static void
put_summary (FILE *f, const struct mm_scalar *scalars, size_t n)
{
  size_t size = 0;

  for (size_t i = 0; i < n; i++)
    size += 1 + varint_size (value_size (&scalars[i])) + value_size (&scalars[i]);
  putc (EVENT_SUMMARY, f);
  put_varint (f, size);
  for (size_t i = 0; i < n; i++)
    {
      uint32_t bits;

      memcpy (&bits, &scalars[i].value, sizeof bits);
      putc (SUMMARY_VALUE, f);
      put_varint (f, value_size (&scalars[i]));
      putc (VALUE_TAG, f);
      put_varint (f, strlen (scalars[i].tag));
      fputs (scalars[i].tag, f);
      putc (VALUE_SIMPLE, f);
      put_little_endian (f, bits, 4);
    }
}

/* ---- records ---- */

struct record
{
  FILE *f;                      /* collects the message */
  char *message;
  size_t size;
};

static mm_status
begin (struct record *r)
{
  *r = (struct record) { NULL, NULL, 0 };
  r->f = open_memstream (&r->message, &r->size);
  return r->f ? MM_OK : mm_fail (MM_ENOMEM, "no memory for an event");
}

/* Frame the message; *DATA is the record.  */
static mm_status
finish (struct record *r, char **data, size_t *size)
{
  char length[8];
  int bad = fclose (r->f);
  FILE *f = bad ? NULL : open_memstream (data, size);

  if (f)
    {
      for (int i = 0; i < 8; i++)
        length[i] = (char) ((uint64_t) r->size >> 8 * i);
      fwrite (length, 1, sizeof length, f);
      put_little_endian (f, masked (length, sizeof length), 4);
      fwrite (r->message, 1, r->size, f);
      put_little_endian (f, masked (r->message, r->size), 4);
      bad = fclose (f);
    }
  free (r->message);
  return f && !bad ? MM_OK : mm_fail (MM_ENOMEM, "no memory for an event");
}

mm_status
mm_tfevents_version (double wall_time, char **data, size_t *size)
{
  static const char version[] = "brain.Event:2";
  struct record r;
  mm_status st = begin (&r);

  if (st < 0)
    return st;
  put_head (r.f, wall_time, 0);
  putc (EVENT_FILE_VERSION, r.f);
  put_varint (r.f, strlen (version));
  fputs (version, r.f);
  return finish (&r, data, size);
}

mm_status
mm_tfevents_restart (double wall_time, uint64_t step, char **data, size_t *size)
{
  struct record r;
  mm_status st = begin (&r);

  if (st < 0)
    return st;
  put_head (r.f, wall_time, step);
  putc (EVENT_SESSION_LOG, r.f);
  put_varint (r.f, 2);
  putc (SESSION_STATUS, r.f);
  putc (SESSION_START, r.f);
  return finish (&r, data, size);
}

mm_status
mm_tfevents_scalars (double wall_time, uint64_t step, const struct mm_scalar *scalars, size_t n,
                     char **data, size_t *size)
{
  struct record r;
  mm_status st = begin (&r);

  if (st < 0)
    return st;
  put_head (r.f, wall_time, step);
  put_summary (r.f, scalars, n);
  return finish (&r, data, size);
}
