/* start.c -- how long a training run takes to its first micro-batch.
   SPDX-License-Identifier: Apache-2.0

     bench/start [THREADS [RUNS]]               default: all processors, 7

   minimind2-small on 20,000 rows of 512 tokens that tests/make-dataset makes and that the page cache holds.
   The clock runs from before the process is made until the line is read that pretrain prints right before its first
   step.  Then the same of a run that goes on, whose checkpoint of 26 million parameters and their moments is read.  */

#include <config.h>

#include <minimind/thread.h>
#include <unistd.h>

#include "bench.h"

enum { MOST_RUNS = 100 };

/* Seconds until COMMAND's first line with WHAT; it is then brought to its end.  */
static double
seconds_until (const char *command, const char *what)
{
  double began = bench_clock (CLOCK_MONOTONIC), seconds = 0;
  FILE *f = popen (command, "r");
  char line[512];

  while (f && fgets (line, sizeof line, f))
    if (seconds == 0 && strstr (line, what))
      seconds = bench_clock (CLOCK_MONOTONIC) - began;
  if (!f || pclose (f) != 0 || seconds == 0)
    {
      fprintf (stderr, "bench: failed: %s\n", command);
      exit (1);
    }
  return seconds;
}

static void
run (const char *command)
{
  if (system (command) != 0)
    exit (1);
}

/* The median of N starts of the run in FOLDER, with OPTIONS.  */
static double
measure (const char *folder, int threads, const char *options, int n)
{
  double seconds[MOST_RUNS];
  char command[512];

  for (int i = 0; i < n; i++)
    {
      snprintf (command, sizeof command, "./minimind-pretrain --threads=%d --data=%s/data --output=%s/run"
                " --global-batch=4 --micro-batch=4 --learning-rate=1e-4 --schedule=constant --keep=1 %s%d 2>&1",
                threads, folder, folder, options, i + 2);
      seconds[i] = seconds_until (command, "FMA peak");
      if (strstr (options, "never"))
        {
          snprintf (command, sizeof command, "rm -r %s/run", folder);
          run (command);
        }
    }
  return bench_median (seconds, (size_t) n);
}

int
main (int argc, char **argv)
{
  int threads = argc > 1 ? atoi (argv[1]) : mm_cpus_allowed (), n = argc > 2 ? atoi (argv[2]) : 7;
  char folder[] = "/tmp/minimind-bench.XXXXXX", command[512], processor[128];

  if (n < 1 || n > MOST_RUNS || !mkdtemp (folder))
    return 64;
  snprintf (command, sizeof command, "tests/make-dataset %s/data 20000 10 512 1 6400", folder);
  run (command);
  bench_processor (processor, sizeof processor);
  printf ("%s, %d threads, minimind2-small, %d runs; seconds to the first micro-batch\n", processor, threads, n);
  printf ("from scratch        %.3f\n", measure (folder, threads, "--resume=never --steps=", n > 4 ? 4 : n));
  printf ("from a checkpoint   %.3f\n", measure (folder, threads, "--steps=", n));
  snprintf (command, sizeof command, "rm -r %s", folder);
  run (command);
  return 0;
}
