/* log.h -- what a tool tells the person who waits for it, on stderr.
   SPDX-License-Identifier: Apache-2.0

   Results go to stdout and errors through error.h; this is everything else.  */

#ifndef MINIMIND_LOG_H
#define MINIMIND_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include <minimind/error.h>

enum mm_log_level
{
  MM_LOG_SILENT = -1,           /* nothing: ranks beyond the first, which would repeat it */
  MM_LOG_QUIET,                 /* -q: warnings only */
  MM_LOG_NORMAL,
  MM_LOG_VERBOSE                /* -v */
};

/* The level and the program's name are set once, by cli.c.  */
void mm_log_setup (const char *program, enum mm_log_level level);
enum mm_log_level mm_log_get_level (void);
const char *mm_log_get_program (void);

/* One line each.  info: unless quiet.  verbose: with -v.  warn: unless silent, as
   "PROGRAM: warning: ...".  They clear a progress line first.  */
void mm_info (const char *fmt, ...) MM_PRINTF (1, 2);
void mm_verbose (const char *fmt, ...) MM_PRINTF (1, 2);
void mm_warn (const char *fmt, ...) MM_PRINTF (1, 2);

/* Progress of long work: a line rewritten in place five times a second on a
   terminal, a plain line each ten seconds elsewhere, nothing when quiet.
   TEXT is the whole line without its end.  */
void mm_progress (const char *fmt, ...) MM_PRINTF (1, 2);

/* True when the next mm_progress call would print: spares making the text.  */
bool mm_progress_due (void);

/* Clear the progress line; called before the tool ends.  */
void mm_progress_end (void);

/* "1.2 GB", "640 kB" for BYTES (powers of 1000), "3 min 20 s" for SECONDS;
   TEXT has room for 32 bytes and is returned.  */
char *mm_format_bytes (uint64_t bytes, char text[32]);
char *mm_format_seconds (double seconds, char text[32]);

/* "1 document", "400 documents", "2 batches" for N and the NOUN of one; TEXT is returned.
   MM_COUNT brings the room, which lasts as long as the block that it stands in.  */
enum { MM_COUNT_TEXT = 64 };
char *mm_format_count (uint64_t n, const char *noun, char text[MM_COUNT_TEXT]);
#define MM_COUNT(n, noun) mm_format_count (n, noun, (char[MM_COUNT_TEXT]) { 0 })

/* Seconds of CLOCK_MONOTONIC.  */
double mm_now (void);

#endif /* MINIMIND_LOG_H */
