/* error.c -- the calling thread's last failure.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <minimind/error.h>

enum { MESSAGE_SIZE = 2048 };

static _Thread_local char message[MESSAGE_SIZE];

/* Copy TEXT to the message, control characters as \xNN: names in it may come
   from a hostile file.  */
static void
set_message (const char *text)
{
  size_t used = 0;

  for (; *text && used + 5 < MESSAGE_SIZE; text++)
    {
      unsigned char c = (unsigned char) *text;

      if (c < 0x20 || c == 0x7f)
        used += (size_t) snprintf (message + used, 5, "\\x%02x", c);
      else
        message[used++] = (char) c;
    }
  message[used] = '\0';
}

mm_status
mm_fail (mm_status st, const char *fmt, ...)
{
  char text[MESSAGE_SIZE];
  va_list ap;

  va_start (ap, fmt);
  vsnprintf (text, sizeof text, fmt, ap);
  va_end (ap);
  set_message (text);
  return st;
}

mm_status
mm_fail_errno (const char *what)
{
  int error = errno;
  mm_status st = error == ENOENT || error == ENOTDIR ? MM_ENOENT
                 : error == ENOMEM ? MM_ENOMEM : MM_EIO;

  return mm_fail (st, "%s: %s", *what ? what : "''", strerror (error));
}

mm_status
mm_fail_errno_output (const char *what)
{
  mm_status st = mm_fail_errno (what);

  return st == MM_ENOENT ? MM_EIO : st;
}

mm_status
mm_fail_prefix (mm_status st, const char *fmt, ...)
{
  char prefix[MESSAGE_SIZE], text[MESSAGE_SIZE];
  va_list ap;

  va_start (ap, fmt);
  vsnprintf (prefix, sizeof prefix, fmt, ap);
  va_end (ap);
  snprintf (text, sizeof text, "%.512s: %.1500s", prefix, message);
  set_message (text);
  return st;
}

const char *
mm_error_message (void)
{
  return message;
}
