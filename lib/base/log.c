/* log.c -- lines and progress on standard error.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <minimind/log.h>

static const double terminal_period = 0.2, plain_period = 10;    /* seconds */

/* One lock, because a loader's thread warns while the main one reports.  */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *program_name = "minimind";
static enum mm_log_level level = MM_LOG_NORMAL;
static bool on_terminal;        /* stderr is a terminal that can go back in a line */
static bool line_shown;         /* a progress line stands at the cursor */
static double next_progress;    /* when the next one is due; s of mm_now */

void
mm_log_setup (const char *program, enum mm_log_level new_level)
{
  const char *term = getenv ("TERM");

  pthread_mutex_lock (&lock);
  program_name = program;
  level = new_level;
  on_terminal = isatty (STDERR_FILENO) && term && strcmp (term, "dumb") != 0;
  next_progress = on_terminal ? 0 : mm_now () + plain_period;
  pthread_mutex_unlock (&lock);
}

enum mm_log_level
mm_log_get_level (void)
{
  return level;
}

const char *
mm_log_get_program (void)
{
  return program_name;
}

/* Remove the progress line; the lock is held.  */
static void
clear_line (void)
{
  if (line_shown)
    fputs ("\r\033[K", stderr);
  line_shown = false;
}

static void
print_line (const char *before, const char *fmt, va_list ap)
{
  pthread_mutex_lock (&lock);
  clear_line ();
  fputs (before, stderr);
  vfprintf (stderr, fmt, ap);
  fputc ('\n', stderr);
  pthread_mutex_unlock (&lock);
}

void
mm_info (const char *fmt, ...)
{
  va_list ap;

  if (level < MM_LOG_NORMAL)
    return;
  va_start (ap, fmt);
  print_line ("", fmt, ap);
  va_end (ap);
}

void
mm_verbose (const char *fmt, ...)
{
  va_list ap;

  if (level < MM_LOG_VERBOSE)
    return;
  va_start (ap, fmt);
  print_line ("", fmt, ap);
  va_end (ap);
}

void
mm_warn (const char *fmt, ...)
{
  char before[128];
  va_list ap;

  if (level < MM_LOG_QUIET)
    return;
  snprintf (before, sizeof before, "%s: warning: ", program_name);
  va_start (ap, fmt);
  print_line (before, fmt, ap);
  va_end (ap);
}

bool
mm_progress_due (void)
{
  bool due;

  if (level < MM_LOG_NORMAL)
    return false;
  pthread_mutex_lock (&lock);
  due = mm_now () >= next_progress;
  pthread_mutex_unlock (&lock);
  return due;
}

/* Cut TEXT to what one line of the terminal holds, not inside a UTF-8 character:
   a line that wraps could not be rewritten in place.  */
static void
cut_to_terminal (char *text)
{
  struct winsize size;
  size_t room = 79;

  if (ioctl (STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
    room = size.ws_col - 1u;
  if (strlen (text) <= room)
    return;
  while (room > 0 && ((unsigned char) text[room] & 0xc0) == 0x80)
    room--;
  text[room] = '\0';
}

void
mm_progress (const char *fmt, ...)
{
  char text[1024];
  va_list ap;

  if (!mm_progress_due ())
    return;
  va_start (ap, fmt);
  vsnprintf (text, sizeof text, fmt, ap);
  va_end (ap);

  pthread_mutex_lock (&lock);
  if (on_terminal)
    {
      cut_to_terminal (text);
      fprintf (stderr, "\r%s\033[K", text);
      fflush (stderr);
      line_shown = true;
    }
  else
    fprintf (stderr, "%s\n", text);
  next_progress = mm_now () + (on_terminal ? terminal_period : plain_period);
  pthread_mutex_unlock (&lock);
}

void
mm_progress_end (void)
{
  pthread_mutex_lock (&lock);
  clear_line ();
  pthread_mutex_unlock (&lock);
}

char *
mm_format_bytes (uint64_t bytes, char text[32])
{
  static const char *const units[] = { "kB", "MB", "GB", "TB", "PB", "EB" };
  double value = (double) bytes / 1000;
  size_t unit = 0;

  if (bytes < 1000)
    {
      snprintf (text, 32, "%d B", (int) bytes);
      return text;
    }
  /* 999.5 and more would be shown as 1000.  */
  for (; value >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
    value /= 1000;
  snprintf (text, 32, value < 9.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

char *
mm_format_seconds (double seconds, char text[32])
{
  uint64_t whole;

  if (!(seconds >= 0 && seconds < 1e12))
    {
      snprintf (text, 32, "unknown");
      return text;
    }
  whole = (uint64_t) (seconds + 0.5);
  if (seconds < 0.995)
    snprintf (text, 32, "%.2f s", seconds);
  else if (seconds < 9.95)
    snprintf (text, 32, "%.1f s", seconds);
  else if (whole < 60)
    snprintf (text, 32, "%d s", (int) whole);
  else if (whole < 3600)
    snprintf (text, 32, "%d min %d s", (int) (whole / 60), (int) (whole % 60));
  else if (whole < 86400)
    snprintf (text, 32, "%d h %d min", (int) (whole / 3600), (int) (whole / 60 % 60));
  else
    snprintf (text, 32, "%llu d %d h", (unsigned long long) (whole / 86400),
              (int) (whole / 3600 % 24));
  return text;
}

char *
mm_format_count (uint64_t n, const char *noun, char text[MM_COUNT_TEXT])
{
  size_t size = strlen (noun);
  bool hisses = size >= 3 && (noun[size - 1] == 's' || strcmp (noun + size - 3, "tch") == 0);

  snprintf (text, MM_COUNT_TEXT, "%llu %s%s", (unsigned long long) n, noun,
            n == 1 ? "" : hisses ? "es" : "s");
  return text;
}

double
mm_now (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}
