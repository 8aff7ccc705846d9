/* gunzip.c -- gzip streams through zlib.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <limits.h>
#include <stdlib.h>

#include <zlib.h>

#include <minimind/memory.h>

#include "gunzip.h"

enum { GZIP_WINDOW = 15 + 16 }; /* the largest window, and gzip's header and trailer wanted */

struct mm_gunzip
{
  z_stream z;
  bool between;                 /* a stream has ended, none has begun */
  bool padding;                 /* zeros have followed */
};

bool
mm_gunzip_begins (const void *data)
{
  const unsigned char *d = data;

  return d[0] == 0x1f && d[1] == 0x8b && d[2] == 8;
}

mm_status
mm_gunzip_open (struct mm_gunzip **g)
{
  mm_status st = mm_alloc ("gzip", 1, sizeof **g, g);

  if (st == MM_OK && inflateInit2 (&(*g)->z, GZIP_WINDOW) != Z_OK)
    {
      free (*g);
      *g = NULL;
      st = mm_fail (MM_ENOMEM, "gzip: zlib could not begin");
    }
  return st;
}

void
mm_gunzip_close (struct mm_gunzip *g)
{
  if (g)
    inflateEnd (&g->z);
  free (g);
}

/* Pass over zeros behind a stream; what else comes must be another one.  */
static const char *
pass_padding (struct mm_gunzip *g, const char **in, size_t *in_size)
{
  for (; *in_size > 0 && **in == 0; ++*in, --*in_size)
    g->padding = true;
  if (*in_size == 0)
    return NULL;
  if (g->padding || (unsigned char) **in != 0x1f)
    return "data that is not compressed follows the gzip stream";
  inflateReset (&g->z);
  g->between = false;
  return NULL;
}

const char *
mm_gunzip_step (struct mm_gunzip *g, const char **in, size_t *in_size, void *out, size_t size, size_t *got)
{
  const char *wrong = g->between ? pass_padding (g, in, in_size) : NULL;
  uInt room = size > INT_MAX ? INT_MAX : (uInt) size, given;
  int r;

  *got = 0;
  if (wrong || *in_size == 0)
    return wrong;
  given = *in_size > INT_MAX ? INT_MAX : (uInt) *in_size;
  g->z.next_in = (Bytef *) (void *) (char *) *in;
  g->z.avail_in = given;
  g->z.next_out = out;
  g->z.avail_out = room;
  r = inflate (&g->z, Z_NO_FLUSH);
  *in += given - g->z.avail_in;
  *in_size -= given - g->z.avail_in;
  *got = room - g->z.avail_out;
  g->between = r == Z_STREAM_END;
  if (r == Z_OK || r == Z_STREAM_END || r == Z_BUF_ERROR)
    return NULL;
  return g->z.msg ? g->z.msg : "damaged gzip stream";
}

const char *
mm_gunzip_finish (const struct mm_gunzip *g)
{
  return g->between ? NULL : "truncated gzip stream";
}
