/* line.h -- lines that a person types, or another program writes.
   SPDX-License-Identifier: Apache-2.0

   On a terminal they are edited, with those typed before at hand, by libedit where that is built in.  */

#ifndef GENERATE_LINE_H
#define GENERATE_LINE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include <minimind/error.h>

enum line_event
{
  LINE_TEXT,
  LINE_STOPPED,                 /* the line was given up (Ctrl-C) */
  LINE_END                      /* there are no more */
};

struct line_editor;             /* opaque: libedit's part */

struct line_reader
{
  bool interactive;             /* standard input is a terminal */
  const volatile sig_atomic_t *stop;    /* becomes not 0 when a person gives up a line */
  struct line_editor *editor;   /* NULL: lines are read as they come */
  char *text;                   /* the line without its end, and a NUL */
  size_t size, capacity;
  size_t number;                /* of the line, from 1 */
};

/* Read standard input.  HISTORY: file of lines typed before, to which more are appended, or NULL.  MM_EUNSUP where
   one is asked for and this build cannot use it; MM_EIO.  Close whatever the result.  */
mm_status line_open (struct line_reader *r, const char *history, const volatile sig_atomic_t *stop) MM_NODISCARD;
void line_close (struct line_reader *r);

/* The next line into R->text, with PROMPT shown on a terminal.  MM_EIO.  */
mm_status line_read (struct line_reader *r, const char *prompt, enum line_event *event) MM_NODISCARD;

/* ---- libedit's part (line_edit.c) ---- */

/* An editor on the terminal; NULL where there is none to write to.  */
mm_status line_editor_open (struct line_reader *r, const char *history) MM_NODISCARD;
void line_editor_close (struct line_editor *e); /* accepts NULL */
mm_status line_editor_read (struct line_reader *r, const char *prompt, enum line_event *event) MM_NODISCARD;

#endif /* GENERATE_LINE_H */
