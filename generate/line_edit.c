/* line_edit.c -- lines edited on a terminal, by libedit.
   SPDX-License-Identifier: Apache-2.0

   Characters are read here, not by libedit, which would read on after the first Ctrl-C.  The history file has a line
   for each; it is only appended to, so that two conversations may share one.  */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include <minimind/error.h>
#include <minimind/memory.h>

#include "line.h"

enum { REMEMBERED = 1000 };     /* lines at hand */

struct line_editor
{
  struct line_reader *reader;
  EditLine *el;
  History *history;
  const char *history_path;     /* NULL: nothing is kept */
  const char *prompt;
  FILE *terminal;
};

/* ---- signals ---- */

static volatile sig_atomic_t disturbed;

/* The window was resized, or the program was stopped and goes on.  */
static void
on_disturbance (int signo)
{
  (void) signo;
  disturbed = 1;
}

/* Caught without SA_RESTART: reading ends, and the terminal is set right.  */
static void
catch_disturbances (void)
{
  struct sigaction action = { .sa_handler = on_disturbance };

  sigemptyset (&action.sa_mask);
  sigaction (SIGWINCH, &action, NULL);
  sigaction (SIGCONT, &action, NULL);
}

/* The shell has set the terminal its way, or the line has another width now.  */
static void
set_right (EditLine *el)
{
  disturbed = 0;
  el_set (el, EL_PREP_TERM, 0);
  el_set (el, EL_PREP_TERM, 1);
  el_resize (el);
  el_set (el, EL_REFRESH);
}

/* ---- characters ---- */

/* The next byte: 1, or 0 at the end, or -1 when the line is given up.  */
static int
read_byte (struct line_editor *e, char *byte)
{
  for (;;)
    {
      ssize_t got = *e->reader->stop ? -1 : read (STDIN_FILENO, byte, 1);

      if (got >= 0)
        return (int) got;
      if (*e->reader->stop || errno != EINTR)
        return -1;
      if (disturbed)
        set_right (e->el);
    }
}

/* The next character, for libedit.  Bytes that are none are passed over.  */
static int
read_character (EditLine *el, wchar_t *c)
{
  struct line_editor *e;
  mbstate_t state = { 0 };
  char byte;
  int got;

  el_get (el, EL_CLIENTDATA, &e);
  while ((got = read_byte (e, &byte)) == 1)
    {
      size_t n = mbrtowc (c, &byte, 1, &state);

      if (n <= 1)
        return 1;
      if (n == (size_t) -1)
        memset (&state, 0, sizeof state);
    }
  return got;
}

/* ---- history ---- */

static mm_status
load_history (struct line_editor *e)
{
  FILE *f = fopen (e->history_path, "re");
  char *line = NULL;
  size_t capacity = 0;
  HistEvent event;
  mm_status st = MM_OK;

  if (!f)
    return errno == ENOENT ? MM_OK : mm_fail_errno (e->history_path);
  while (getline (&line, &capacity, f) > 0)
    history (e->history, &event, H_ENTER, line);
  if (ferror (f))
    st = mm_fail_errno (e->history_path);
  free (line);
  fclose (f);
  return st;
}

/* Others may not read what a person says.  */
static mm_status
append_history (const char *path, const char *line, size_t size)
{
  int fd = open (path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  ssize_t written = fd < 0 ? -1 : write (fd, line, size);
  mm_status st = written == (ssize_t) size ? MM_OK : mm_fail_errno_output (path);

  if (fd >= 0)
    close (fd);
  return st;
}

static mm_status
remember (struct line_editor *e, const char *line, size_t size)
{
  HistEvent event;

  if (size <= 1)                /* its end only */
    return MM_OK;
  history (e->history, &event, H_ENTER, line);
  return e->history_path ? append_history (e->history_path, line, size) : MM_OK;
}

/* ---- the editor ---- */

static char *
prompt_of (EditLine *el)
{
  struct line_editor *e;

  el_get (el, EL_CLIENTDATA, &e);
  return (char *) e->prompt;
}

/* Text is UTF-8 here, whatever the locale says.  */
static void
use_utf8 (void)
{
  setlocale (LC_CTYPE, "");
  if (strcmp (nl_langinfo (CODESET), "UTF-8") != 0)
    setlocale (LC_CTYPE, "C.UTF-8");
}

static mm_status
set_up (struct line_editor *e)
{
  HistEvent event;

  use_utf8 ();
  e->el = el_init ("minimind-generate", stdin, e->terminal, stderr);
  e->history = history_init ();
  if (!e->el || !e->history)
    return mm_fail (MM_ENOMEM, "no memory for an editor of lines");
  history (e->history, &event, H_SETSIZE, REMEMBERED);
  history (e->history, &event, H_SETUNIQUE, 1);
  el_set (e->el, EL_CLIENTDATA, e);
  el_set (e->el, EL_PROMPT, prompt_of);
  el_set (e->el, EL_HIST, history, e->history);
  el_set (e->el, EL_EDITOR, "emacs");
  el_set (e->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
  el_set (e->el, EL_GETCFN, read_character);
  el_source (e->el, NULL);      /* the person's ~/.editrc */
  catch_disturbances ();
  return e->history_path ? load_history (e) : MM_OK;
}

mm_status
line_editor_open (struct line_reader *r, const char *history_path)
{
  FILE *terminal = isatty (STDOUT_FILENO) ? stdout : isatty (STDERR_FILENO) ? stderr : NULL;
  mm_status st;

  if (!terminal)
    return MM_OK;
  st = mm_alloc ("editor", 1, sizeof *r->editor, &r->editor);
  if (st < 0)
    return st;
  *r->editor = (struct line_editor) { .reader = r, .history_path = history_path, .terminal = terminal };
  return set_up (r->editor);
}

void
line_editor_close (struct line_editor *e)
{
  if (!e)
    return;
  if (e->el)
    el_end (e->el);
  if (e->history)
    history_end (e->history);
  free (e);
}

static mm_status
keep (struct line_reader *r, const char *line, size_t size)
{
  mm_status st = mm_grow ("line", &r->text, &r->capacity, size + 1, 1);

  if (st < 0)
    return st;
  memcpy (r->text, line, size);
  r->text[size] = '\0';
  r->size = size;
  return MM_OK;
}

mm_status
line_editor_read (struct line_reader *r, const char *prompt, enum line_event *event)
{
  const char *line;
  int count = 0;
  mm_status st;

  fflush (stdout);
  r->editor->prompt = prompt;
  el_resize (r->editor->el);
  line = el_gets (r->editor->el, &count);
  *event = line && count > 0 ? LINE_TEXT : *r->stop ? LINE_STOPPED : LINE_END;
  if (*event != LINE_TEXT)
    {
      fputc ('\n', r->editor->terminal);
      return MM_OK;
    }
  st = remember (r->editor, line, (size_t) count);
  return st < 0 ? st : keep (r, line, (size_t) count);
}
