/* display.h -- what a model says on standard output.
   SPDX-License-Identifier: Apache-2.0

   On a terminal control characters but line ends and tabs are shown as U+FFFD, so that a model cannot write to it as
   programs do, and thoughts are dim.  A failed write shows in ferror: the caller stops, mm_exit_status reports.  */

#ifndef GENERATE_DISPLAY_H
#define GENERATE_DISPLAY_H

#include <stdbool.h>
#include <stddef.h>

#include "generate.h"

struct display
{
  bool terminal;
  bool thoughts;                /* are shown */
  bool thinking;                /* one is under way */
};

struct display display_open (enum generate_show thoughts);

/* Whole characters, at least one, of a text or answer; of a thought, which stands in <think> </think> before its
   answer.  They are flushed.  */
void display_text (struct display *d, const char *text, size_t size);
void display_thought (struct display *d, const char *text, size_t size);

/* The text or answer ends: a line end, not flushed, so that the last thing to fail names the reason.  */
void display_end (struct display *d);

#endif /* GENERATE_DISPLAY_H */
