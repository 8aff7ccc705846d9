/* log.c -- levels, lines, and how sizes and times read.
   SPDX-License-Identifier: Apache-2.0

   Standard error is a file here, so progress takes its plain form; a terminal's form needs
   a pseudo-terminal, opened where the system has one.  */

#include <config.h>

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <minimind/log.h>

#include "../tap.h"

static char text[4096];

/* Put stderr on FD, call FN, put it back.  */
static void
with_stderr (int fd, void (*fn) (void))
{
  int saved = dup (2);

  fflush (stderr);
  dup2 (fd, 2);
  fn ();
  fflush (stderr);
  dup2 (saved, 2);
  close (saved);
}

/* What FN writes to a stderr that is a file.  */
static const char *
plain (void (*fn) (void))
{
  char name[] = "/tmp/minimind-log.XXXXXX";
  int fd = mkstemp (name);
  ssize_t got;

  unlink (name);
  with_stderr (fd, fn);
  lseek (fd, 0, SEEK_SET);
  got = read (fd, text, sizeof text - 1);
  text[got > 0 ? got : 0] = '\0';
  close (fd);
  return text;
}

static void
all_lines (void)
{
  mm_info ("info %d", 1);
  mm_verbose ("verbose %d", 2);
  mm_warn ("warn %d", 3);
}

static void
quiet_lines (void)
{
  mm_log_setup ("tool", MM_LOG_QUIET);
  all_lines ();
}

static void
normal_lines (void)
{
  mm_log_setup ("tool", MM_LOG_NORMAL);
  all_lines ();
}

static void
verbose_lines (void)
{
  mm_log_setup ("tool", MM_LOG_VERBOSE);
  all_lines ();
}

static void
plain_progress (void)
{
  mm_log_setup ("tool", MM_LOG_NORMAL);
  for (int i = 0; i < 1000; i++)
    mm_progress ("step %d", i);
  mm_progress_end ();
}

static void
terminal_progress (void)
{
  mm_log_setup ("tool", MM_LOG_NORMAL);
  if (mm_progress_due ())
    mm_progress ("step %d", 1);
  if (!mm_progress_due ())
    mm_info ("line");
}

static void
test_levels (void)
{
  ok (strcmp (plain (quiet_lines), "tool: warning: warn 3\n") == 0, "quiet");
  ok (mm_log_get_level () == MM_LOG_QUIET, "level told");
  ok (strcmp (plain (normal_lines), "info 1\ntool: warning: warn 3\n") == 0, "normal");
  ok (strcmp (plain (verbose_lines), "info 1\nverbose 2\ntool: warning: warn 3\n") == 0, "verbose");
  ok (strcmp (mm_log_get_program (), "tool") == 0, "program told");
  ok (strcmp (plain (plain_progress), "") == 0, "no progress in a log before ten seconds");
  mm_log_setup ("tool", MM_LOG_QUIET);
  ok (!mm_progress_due (), "no progress when quiet");
}

static void
test_terminal (void)
{
  int master = posix_openpt (O_RDWR | O_NOCTTY), slave = -1;
  size_t used = 0;
  ssize_t got;

  if (master >= 0 && grantpt (master) == 0 && unlockpt (master) == 0)
    slave = open (ptsname (master), O_RDWR | O_NOCTTY);
  if (slave < 0)
    return;
  setenv ("TERM", "xterm", 1);
  with_stderr (slave, terminal_progress);
  close (slave);                /* what was written stays, then reading ends */
  while ((got = read (master, text + used, sizeof text - 1 - used)) > 0)
    used += (size_t) got;
  text[used] = '\0';
  ok (strcmp (text, "\rstep 1\033[K\r\033[Kline\r\n") == 0, "a line clears the progress first");
  close (master);
}

static int
bytes_read (uint64_t bytes, const char *want)
{
  char got[32];

  return strcmp (mm_format_bytes (bytes, got), want) == 0;
}

static int
seconds_read (double seconds, const char *want)
{
  char got[32];

  return strcmp (mm_format_seconds (seconds, got), want) == 0;
}

static bool
counts (uint64_t n, const char *noun, const char *want)
{
  return strcmp (MM_COUNT (n, noun), want) == 0;
}

static void
test_formats (void)
{
  ok (counts (1, "document", "1 document") && counts (0, "document", "0 documents")
      && counts (UINT64_MAX, "document", "18446744073709551615 documents"), "one, none, many");
  ok (counts (2, "micro-batch", "2 micro-batches") && counts (2, "pass", "2 passes")
      && counts (2, "epoch", "2 epochs") && counts (2, "s", "2 ss"), "their plurals");
  ok (bytes_read (0, "0 B") && bytes_read (999, "999 B") && bytes_read (1000, "1.0 kB")
      && bytes_read (9949, "9.9 kB") && bytes_read (9950, "10 kB") && bytes_read (640000, "640 kB")
      && bytes_read (999499, "999 kB") && bytes_read (999500, "1.0 MB")
      && bytes_read (1200000000, "1.2 GB") && bytes_read (UINT64_MAX, "18 EB"), "bytes");
  ok (seconds_read (0.25, "0.25 s") && seconds_read (0.996, "1.0 s") && seconds_read (9.96, "10 s")
      && seconds_read (59.6, "1 min 0 s") && seconds_read (200, "3 min 20 s")
      && seconds_read (7500, "2 h 5 min") && seconds_read (100000, "1 d 3 h"), "seconds");
  ok (seconds_read (-1, "unknown") && seconds_read (1e300, "unknown")
      && seconds_read (NAN, "unknown"), "seconds out of range");
}

static void
test_clock (void)
{
  double a = mm_now (), b = mm_now ();

  ok (a > 0 && b >= a, "the clock does not go back");
}

int
main (void)
{
  test_levels ();
  test_terminal ();
  test_formats ();
  test_clock ();
  return tap_done ();
}
