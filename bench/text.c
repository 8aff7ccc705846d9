/* text.c -- text to ids: encoders beside others, the tool from end to end, the time to start.
   SPDX-License-Identifier: Apache-2.0

     bench/text [TOKENIZER.json...]

   Each tokenizer with English and Chinese text, one thread and two in turns: every byte once, by encoders whose caches
   are empty, ids kept; medians of RUNS, of what two threads make of one the median of the turns.  The peers
   (text_peers.py) are run by the Python that BENCH_PYTHON names.
   BENCH_TEXT names a folder with english.txt and chinese.txt, which make-text.py fills where they are missing;
   BENCH_TOKENIZERS a list of tokenizer.json.  Without any a tokenizer of 6,400 tokens is trained on both texts.  */

#include <config.h>

#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <minimind/files.h>
#include <minimind/memory.h>
#include <minimind/thread.h>
#include <minimind/tokenizer.h>

#include "../lib/text/vector.h"
#include "bench.h"

enum { RUNS = 9, MOST_THREADS = 2, PART = 1 << 16 };

static const char *folder, *srcdir;

/* ---- the encoder ---- */

struct work
{
  const struct mm_tokenizer *t;
  const char *text;
  size_t *cuts, n_parts;
  struct mm_encoder *encoders[MOST_THREADS];
  struct mm_ids ids[MOST_THREADS];
  atomic_size_t next;
};

static void
encode_parts (void *arg, int thread, int n_threads)
{
  struct work *w = arg;
  size_t i;

  (void) n_threads;
  while ((i = atomic_fetch_add (&w->next, 1)) < w->n_parts)
    bench_want (mm_encode (w->encoders[thread], w->text + w->cuts[i], w->cuts[i + 1] - w->cuts[i], 0,
                           &w->ids[thread]));
}

/* Seconds to encode TEXT anew; *N_IDS gets their number.  */
static double
run_encoder (const struct mm_tokenizer *t, const char *text, size_t size, int threads, size_t *n_ids)
{
  struct work w = { .t = t, .text = text };
  struct mm_team *team;
  size_t capacity = 0;
  double began;

  bench_want (mm_team_open (threads, &team));
  for (int i = 0; i < threads; i++)
    bench_want (mm_encoder_open (t, &w.encoders[i]));
  began = bench_clock (CLOCK_MONOTONIC);
  for (size_t at = 0; at < size; w.n_parts++)
    {
      size_t cut = size - at > PART ? mm_encode_cut (t, text + at, size - at, PART, 0) : 0;

      at = cut > 0 ? at + cut : size;
      bench_want (mm_grow ("parts", &w.cuts, &capacity, w.n_parts + 2, sizeof *w.cuts));
      w.cuts[0] = 0;
      w.cuts[w.n_parts + 1] = at;
    }
  mm_team_run (team, encode_parts, &w);
  began = bench_clock (CLOCK_MONOTONIC) - began;
  *n_ids = 0;
  for (int i = 0; i < threads; i++)
    {
      *n_ids += w.ids[i].count;
      mm_encoder_close (w.encoders[i]);
      free (w.ids[i].data);
    }
  mm_team_close (team);
  free (w.cuts);
  return began;
}

/* ---- peers ---- */

/* Print what the peers do, with the ratio of OURS to theirs, both in MB/s.  */
static void
run_peers (const char *tokenizer, const char *text, int threads, double ours, size_t n_ids)
{
  const char *python = getenv ("BENCH_PYTHON");
  char command[4096], line[256], name[64], version[64];
  double speed;
  size_t bytes, ids;
  struct stat info;
  FILE *f;

  if (!python || stat (text, &info) < 0)
    return;
  snprintf (command, sizeof command, "'%s' '%s/bench/text_peers.py' '%s' '%s' %d", python, srcdir, tokenizer, text,
            threads);
  f = popen (command, "r");
  while (f && fgets (line, sizeof line, f))
    if (sscanf (line, "%63s %63s %lf %zu %zu", name, version, &speed, &bytes, &ids) == 5)
      printf ("    %-10s %-8s %8.1f MB/s%s   ratio %6.2f%s\n", name, version, speed,
              bytes < (size_t) info.st_size ? " (first 4 MB)" : "", ours / speed,
              bytes == (size_t) info.st_size && ids != 0 && ids != n_ids ? "   OTHER IDS" : "");
    else
      printf ("    %s", line);
  if (f)
    pclose (f);
}

/* ---- the tool ---- */

/* Seconds of a command, or exit.  */
static double
run_command (const char *command)
{
  double began = bench_clock (CLOCK_MONOTONIC);

  if (system (command) != 0)
    {
      fprintf (stderr, "bench: failed: %s\n", command);
      exit (1);
    }
  return bench_clock (CLOCK_MONOTONIC) - began;
}

/* Seconds of RUNS turns with one thread and with two, if there are two processors.  */
struct turns
{
  int most;                     /* threads */
  double seconds[MOST_THREADS][RUNS];
};

static int
most_threads (void)
{
  return mm_cpus_allowed () < MOST_THREADS ? mm_cpus_allowed () : MOST_THREADS;
}

/* MB/s of SIZE bytes with THREADS, and beside two what they make of one.  */
static double
print_turns (const struct turns *t, int threads, double size)
{
  double seconds[RUNS], ratios[RUNS], speed;

  for (int i = 0; i < RUNS; i++)
    {
      seconds[i] = t->seconds[threads - 1][i];
      ratios[i] = t->seconds[0][i] / seconds[i];
    }
  speed = 1e-6 * size / bench_median (seconds, RUNS);
  printf ("%d thread%s %8.1f MB/s", threads, threads > 1 ? "s" : " ", speed);
  if (threads > 1)
    printf (", %.2f x one", bench_median (ratios, RUNS));
  putchar ('\n');
  fflush (stdout);
  return speed;
}

static double
median_command (const char *command, int runs)
{
  double seconds[RUNS];

  for (int i = 0; i < runs; i++)
    seconds[i] = run_command (command);
  return bench_median (seconds, (size_t) runs);
}

static void
run_tool (const char *tokenizer, const char *input)
{
  char command[8192], path[2048], out[2048];
  struct turns t = { .most = most_threads () };
  struct stat info;

  snprintf (path, sizeof path, "%s/%s", folder, input);
  if (stat (path, &info) < 0)
    return;
  snprintf (out, sizeof out, "%s/out.tokens", folder);
  for (int i = 0; i < RUNS * t.most; i++)
    {
      int threads = 1 + i % t.most;

      snprintf (command, sizeof command, "./minimind-tokenize -q --threads=%d --tokenizer='%s' --no-eos '%s' -o '%s'",
                threads, tokenizer, path, out);
      t.seconds[threads - 1][i / t.most] = run_command (command);
      /* To take away the file of the run before costs time that is not the tool's.  */
      unlink (out);
    }
  for (int threads = 1; threads <= t.most; threads++)
    {
      printf ("  minimind-tokenize %-15s ", input);
      print_turns (&t, threads, (double) info.st_size);
    }
}

/* The start to the first ids, of a text of one letter, a process and all.  */
static void
run_start (const char *tokenizer)
{
  char command[4096];

  snprintf (command, sizeof command, "printf a | ./minimind-tokenize -q --threads=1 --tokenizer='%s' --no-eos "
            "--format=text --output-format=raw -o - - > /dev/null", tokenizer);
  run_command (command);
  printf ("  start to first id %.1f ms (shell and process %.1f ms of it)\n", 1e3 * median_command (command, RUNS),
          1e3 * median_command ("printf a | ./minimind-tokenize --version > /dev/null", RUNS));
}

/* ---- all ---- */

static void
run_language (const struct mm_tokenizer *tokenizer, const char *tokenizer_path, const char *language)
{
  struct turns t = { .most = most_threads () };
  char path[2048], *text;
  size_t size, n_ids = 0;

  snprintf (path, sizeof path, "%s/%s.txt", folder, language);
  if (mm_read_file (path, (size_t) 1 << 30, &text, &size) < 0)
    {
      printf ("  %s: %s\n", language, mm_error_message ());
      return;
    }
  for (int i = 0; i < RUNS * t.most; i++)
    t.seconds[i % t.most][i / t.most] = run_encoder (tokenizer, text, size, 1 + i % t.most, &n_ids);
  for (int threads = 1; threads <= t.most; threads++)
    {
      printf ("  %s, %zu bytes, %zu ids, ", language, size, n_ids);
      run_peers (tokenizer_path, path, threads, print_turns (&t, threads, (double) size), n_ids);
    }
  free (text);
}

static void
run_tokenizer (const char *path)
{
  static const char *const inputs[] = { "english.txt", "chinese.txt", "english.jsonl", "chinese.jsonl" };
  struct mm_tokenizer *t;

  printf ("%s\n", path);
  bench_want (mm_tokenizer_load (path, &t));
  run_language (t, path, "english");
  run_language (t, path, "chinese");
  mm_tokenizer_free (t);
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
    run_tool (path, inputs[i]);
  run_start (path);
  fflush (stdout);
}

static void
print_file (const char *name)
{
  char path[2048], *text;
  size_t size;

  snprintf (path, sizeof path, "%s/%s", folder, name);
  if (mm_read_file (path, 1 << 20, &text, &size) < 0)
    return;
  fputs (text, stdout);
  free (text);
}

/* The folder of texts, filled where it is not.  */
static void
find_texts (void)
{
  static char made[64];
  char command[4096];

  folder = getenv ("BENCH_TEXT");
  if (!folder)
    {
      snprintf (made, sizeof made, "/tmp/bench-text.%ld", (long) getuid ());
      folder = made;
    }
  snprintf (command, sizeof command, "python3 '%s/bench/make-text.py' '%s'", srcdir, folder);
  run_command (command);
}

int
main (int argc, char **argv)
{
  static const char *const vectors[] = { "no", "AVX2", "AVX-512" };
  const char *list = getenv ("BENCH_TOKENIZERS");
  char processor[128], trained[2048], command[8192];

  srcdir = getenv ("srcdir") ? getenv ("srcdir") : ".";
  find_texts ();
  bench_processor (processor, sizeof processor);
  printf ("%s, %s vectors; every byte once, caches empty, medians of %d runs\n", processor,
          vectors[mm_vector_best ()], RUNS);
  print_file ("sources");
  if (argc > 1)
    for (int i = 1; i < argc; i++)
      run_tokenizer (argv[i]);
  else if (list)
    for (char *copy = strdup (list), *path = strtok (copy, " :"); path; path = strtok (NULL, " :"))
      run_tokenizer (path);
  else
    {
      snprintf (trained, sizeof trained, "%s/tokenizer.json", folder);
      snprintf (command, sizeof command, "./minimind-train-tokenizer -q --force '%s/english.txt' '%s/chinese.txt' "
                "-o '%s'", folder, folder, trained);
      run_command (command);
      run_tokenizer (trained);
    }
  return 0;
}
