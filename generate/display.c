/* display.c -- what a model says on standard output.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdio.h>
#include <unistd.h>

#include "display.h"

struct display
display_open (enum generate_show thoughts)
{
  bool terminal = isatty (STDOUT_FILENO);

  return (struct display) { .terminal = terminal,
                            .thoughts = thoughts == SHOW_ALWAYS || (thoughts == SHOW_ON_TERMINAL && terminal) };
}

/* Bytes of the control character that TEXT begins with, or 0: C0 but line end and tab, DEL, C1.  */
static size_t
control_at (const char *text, size_t size)
{
  unsigned char c = (unsigned char) *text;

  if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
    return 1;
  return c == 0xc2 && size > 1 && (unsigned char) text[1] < 0xa0 ? 2 : 0;
}

static void
put (const struct display *d, const char *text, size_t size)
{
  size_t done = 0;

  for (size_t i = 0; d->terminal && i < size; i++)
    {
      size_t control = control_at (text + i, size - i);

      if (control == 0)
        continue;
      fwrite (text + done, 1, i - done, stdout);
      fputs ("\357\277\275", stdout);
      done = i + control;
      i = done - 1;
    }
  fwrite (text + done, 1, size - done, stdout);
  fflush (stdout);
}

static void
end_thought (struct display *d)
{
  if (d->thinking)
    fputs (d->terminal ? "\n</think>\033[0m\n\n" : "\n</think>\n\n", stdout);
  d->thinking = false;
}

void
display_text (struct display *d, const char *text, size_t size)
{
  end_thought (d);
  put (d, text, size);
}

void
display_thought (struct display *d, const char *text, size_t size)
{
  if (!d->thoughts)
    return;
  if (!d->thinking)
    fputs (d->terminal ? "\033[2m<think>\n" : "<think>\n", stdout);
  d->thinking = true;
  put (d, text, size);
}

void
display_end (struct display *d)
{
  if (d->thinking && d->terminal)
    fputs ("\033[0m", stdout);
  d->thinking = false;
  putchar ('\n');
}
