/* pack.c -- minimind-pack beside a plain copy of the bytes that it writes, synced, on the same disk.
   SPDX-License-Identifier: Apache-2.0

     bench/pack [MEGABYTES OF TOKENS [FOLDER]]

   The token file is made by a formula: documents of 100 to 900 tokens, ids below 6,400.  It takes four and a
   half times its size in FOLDER (the present one), where nothing remains.  Runs and copies alternate; medians.  */

#include <config.h>

#include <fcntl.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <minimind/files.h>
#include <minimind/thread.h>
#include <minimind/tokens.h>

#include "../tests/unit/tiny.h"
#include "bench.h"

enum { RUNS = 5, VOCAB = 6400, COPY = 4 << 20 };

/* BYTES of ids, two each.  */
static void
make_tokens (const char *path, uint64_t bytes)
{
  static uint32_t ids[900];
  struct mm_tokenizer *t = tiny_tokenizer (VOCAB);
  struct mm_tokens_writer *w;
  uint64_t state = 1;

  bench_want (mm_tokens_create (path, true, t, &w));
  for (uint64_t done = 0; done < bytes / 2;)
    {
      size_t n = 100 + (size_t) (state >> 33) % 800;

      for (size_t i = 0; i < n; i++)
        {
          state = state * 6364136223846793005u + 1442695040888963407u;
          ids[i] = (uint32_t) ((state >> 32) * VOCAB >> 32);
        }
      ids[n - 1] = 2;
      bench_want (mm_tokens_add (w, ids, n));
      bench_want (mm_tokens_end_document (w));
      done += n;
    }
  bench_want (mm_tokens_commit (w));
  mm_tokenizer_free (t);
}

/* Copy FROM to TO and sync; bytes.  */
static uint64_t
copy (const char *from, const char *to)
{
  static char buffer[COPY];
  int in = open (from, O_RDONLY), out = open (to, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  uint64_t total = 0;
  ssize_t n;

  while (in >= 0 && out >= 0 && (n = read (in, buffer, sizeof buffer)) > 0)
    {
      if (write (out, buffer, (size_t) n) != n)
        break;
      total += (uint64_t) n;
    }
  if (in < 0 || out < 0 || fsync (out) < 0)
    bench_want (mm_fail_errno (to));
  close (in);
  close (out);
  return total;
}

/* Run minimind-pack with these arguments; seconds of its processor time go to *USED.  */
static void
run_pack (char *const *args, double *used)
{
  struct rusage before, after;
  pid_t child;
  int status;

  getrusage (RUSAGE_CHILDREN, &before);
  child = fork ();
  if (child == 0)
    {
      execv ("./minimind-pack", args);
      perror ("./minimind-pack");
      _exit (127);
    }
  if (child < 0 || waitpid (child, &status, 0) < 0 || status != 0)
    bench_want (mm_fail (MM_EIO, "minimind-pack failed"));
  getrusage (RUSAGE_CHILDREN, &after);
  *used = (double) (after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_stime.tv_sec)
          + 1e-6 * (double) (after.ru_utime.tv_usec - before.ru_utime.tv_usec
                             + after.ru_stime.tv_usec - before.ru_stime.tv_usec);
}

static double
pause_and_start (void)
{
  sync ();
  return bench_clock (CLOCK_MONOTONIC);
}

static void
compare (const char *tokens, double gigabytes, const char *data, const char *second, const char *strategy)
{
  char option[32], part[4096];
  char *args[] = { "minimind-pack", "-q", "--validation=0.01", "--seq-len=512", option, (char *) tokens, "-o",
                   (char *) data, NULL };
  double packing[RUNS], copying[RUNS], used[RUNS], pack, plain;
  uint64_t bytes = 0;

  snprintf (option, sizeof option, "--strategy=%s", strategy);
  snprintf (part, sizeof part, "%s/train-00000-of-00001.safetensors", data);
  for (int i = 0; i < RUNS; i++)
    {
      double start = pause_and_start ();

      run_pack (args, &used[i]);
      packing[i] = bench_clock (CLOCK_MONOTONIC) - start;
      start = pause_and_start ();
      bytes = copy (part, second);
      copying[i] = bench_clock (CLOCK_MONOTONIC) - start;
      unlink (second);
      bench_want (mm_remove_tree (data));
    }
  pack = bench_median (packing, RUNS);
  plain = bench_median (copying, RUNS);
  printf ("%-7s %5.2f GB/s of tokens, %.2f s (%.2f s of processor time); the %.2f GB written, copied: %.2f s;"
          " copy/pack %.2f\n", strategy, gigabytes / pack, pack, bench_median (used, RUNS), 1e-9 * (double) bytes,
          plain, plain / pack);
}

int
main (int argc, char **argv)
{
  uint64_t megabytes = argc > 1 ? strtoull (argv[1], NULL, 10) : 500;
  const char *folder = argc > 2 ? argv[2] : ".";
  char *tokens = mm_path_join (folder, "bench-pack.tokens"), *data = mm_path_join (folder, "bench-pack.data");
  char *second = mm_path_join (folder, "bench-pack.copy"), name[256];
  struct stat s;

  if (!tokens || !data || !second)
    return 1;
  make_tokens (tokens, megabytes * 1000000);
  if (stat (tokens, &s) < 0)
    return 1;
  bench_processor (name, sizeof name);
  printf ("%s, %d threads; %.2f GB of tokens in the page cache; medians of %d runs\n", name, mm_cpus_allowed (),
          1e-9 * (double) s.st_size, RUNS);
  compare (tokens, 1e-3 * (double) megabytes, data, second, "concat");
  compare (tokens, 1e-3 * (double) megabytes, data, second, "fit");
  unlink (tokens);
  free (tokens);
  free (data);
  free (second);
  return 0;
}
