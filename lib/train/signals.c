/* signals.c -- the first signal sets a flag, the second ends the process.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <signal.h>
#include <stddef.h>

#include "signals.h"

static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1 };
enum { N_SIGNALS = sizeof signals / sizeof *signals };

static struct sigaction before[N_SIGNALS];
static volatile sig_atomic_t caught;

void
mm_signals_release (void)
{
  for (int i = 0; i < N_SIGNALS; i++)
    sigaction (signals[i], &before[i], NULL);
}

static void
handle (int signo)
{
  if (caught)
    {
      mm_signals_release ();    /* sigaction is async-signal-safe */
      raise (signo);            /* delivered when this handler returns */
    }
  caught = signo;
}

void
mm_signals_catch (void)
{
  struct sigaction new = { .sa_handler = handle, .sa_flags = SA_RESTART };

  caught = 0;
  sigemptyset (&new.sa_mask);
  for (int i = 0; i < N_SIGNALS; i++)
    if (sigaction (signals[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
      sigaction (signals[i], &new, NULL);
}

int
mm_signals_caught (void)
{
  return caught;
}
