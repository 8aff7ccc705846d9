/* relay.c -- pass a rank's lines on, each with the rank before it.
   SPDX-License-Identifier: Apache-2.0

   Whole lines are written in one go, so that those of several ranks do not run into each other.  */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <minimind/memory.h>

#include "launch.h"

enum { LONGEST = 1 << 20 };     /* bytes of a line that are waited for */

void
launch_relay_open (struct launch_relay *r, int rank, int from, int to)
{
  *r = (struct launch_relay) { .from = from, .to = to };
  snprintf (r->prefix, sizeof r->prefix, "[rank %d] ", rank);
}

/* The reader of our output may be gone: the ranks go on all the same.  */
static void
write_all (int fd, const char *data, size_t n)
{
  while (n > 0)
    {
      ssize_t done = write (fd, data, n);

      if (done < 0 && errno == EINTR)
        continue;
      if (done <= 0)
        return;
      data += done;
      n -= (size_t) done;
    }
}

/* Write the N bytes of DATA, a line, behind the prefix.  */
static mm_status
write_line (struct launch_relay *r, const char *data, size_t n)
{
  size_t before = strlen (r->prefix);
  char *line;
  mm_status st = mm_alloc ("line", before + n + 1, 1, &line);

  if (st < 0)
    return st;
  memcpy (line, r->prefix, before);
  memcpy (line + before, data, n);
  if (n == 0 || data[n - 1] != '\n')
    line[before + n++] = '\n';
  write_all (r->to, line, before + n);
  free (line);
  return MM_OK;
}

mm_status
launch_relay_move (struct launch_relay *r)
{
  enum { PIECE = 16 << 10 };
  size_t done = 0;
  char *end;
  ssize_t n;
  mm_status st = mm_grow ("output of a rank", &r->data, &r->capacity, r->used + PIECE, 1);

  if (st < 0)
    return st;
  n = read (r->from, r->data + r->used, PIECE);
  if (n < 0 && errno == EINTR)
    return MM_OK;
  r->used += n > 0 ? (size_t) n : 0;
  while (st == MM_OK && (end = memchr (r->data + done, '\n', r->used - done)) != NULL)
    {
      size_t length = (size_t) (end + 1 - (r->data + done));

      st = write_line (r, r->data + done, length);
      done += length;
    }
  if (st == MM_OK && done < r->used && (n <= 0 || r->used - done > LONGEST))
    {
      st = write_line (r, r->data + done, r->used - done);
      done = r->used;
    }
  memmove (r->data, r->data + done, r->used - done);
  r->used -= done;
  if (n <= 0)
    launch_relay_close (r);
  return st;
}

void
launch_relay_close (struct launch_relay *r)
{
  if (r->from >= 0)
    close (r->from);
  r->from = -1;
  free (r->data);
  r->data = NULL;
  r->used = r->capacity = 0;
}
