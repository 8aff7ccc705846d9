/* line.c -- lines that a person types, or another program writes.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "line.h"

#if !HAVE_LIBEDIT

mm_status
line_editor_open (struct line_reader *r, const char *history)
{
  (void) r;
  return history ? mm_fail (MM_EUNSUP, "--history: this build has no libedit, which would use it") : MM_OK;
}

void
line_editor_close (struct line_editor *e)
{
  (void) e;
}

mm_status
line_editor_read (struct line_reader *r, const char *prompt, enum line_event *event)
{
  (void) r;
  (void) prompt;
  *event = LINE_END;
  return MM_OK;
}

#endif

mm_status
line_open (struct line_reader *r, const char *history, const volatile sig_atomic_t *stop)
{
  *r = (struct line_reader) { .interactive = isatty (STDIN_FILENO), .stop = stop };
  return r->interactive ? line_editor_open (r, history) : MM_OK;
}

void
line_close (struct line_reader *r)
{
  line_editor_close (r->editor);
  free (r->text);
}

/* TEXT for who types on a terminal.  */
static void
tell_typist (const struct line_reader *r, const char *text)
{
  if (r->interactive && isatty (STDOUT_FILENO))
    fputs (text, stdout);
  fflush (stdout);
}

/* The next line as it comes.  */
static mm_status
read_plain (struct line_reader *r, const char *prompt, enum line_event *event)
{
  ssize_t size;

  tell_typist (r, prompt);
  errno = 0;
  size = getline (&r->text, &r->capacity, stdin);
  if (size < 0 && ferror (stdin) && errno == EINTR && *r->stop)
    {
      clearerr (stdin);
      tell_typist (r, "\n");
      *event = LINE_STOPPED;
      return MM_OK;
    }
  if (size < 0 && (ferror (stdin) || errno == ENOMEM))
    return mm_fail_errno ("standard input");
  if (size < 0)
    tell_typist (r, "\n");
  *event = size < 0 ? LINE_END : LINE_TEXT;
  r->size = size < 0 ? 0 : (size_t) size;
  return MM_OK;
}

mm_status
line_read (struct line_reader *r, const char *prompt, enum line_event *event)
{
  mm_status st = r->editor ? line_editor_read (r, prompt, event) : read_plain (r, prompt, event);

  if (st < 0 || *event != LINE_TEXT)
    return st;
  if (r->size > 0 && r->text[r->size - 1] == '\n')
    r->text[--r->size] = '\0';
  r->number++;
  return MM_OK;
}
