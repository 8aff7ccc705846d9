/* train.c -- a training step of minimind2-small, where its time goes, and PyTorch beside it.
   SPDX-License-Identifier: Apache-2.0

     bench/train [THREADS [ROUNDS]]             default: all processors, 3

   A step: 16 rows of 512 tokens, one document each, four at a time, AdamW with clip.  FLOPs are three times
   those of the forward pass with causal attention, nothing made again counted.  A round is one step of
   everybody: ours and the peer's, train_torch.py, in turns of a micro-batch, so that what else the machine does hits
   all alike.  Ratios and shares of the FMA peak are medians over rounds; the peak is measured before and after
   each of our turns.  BENCH_PYTHON names a Python that has torch and transformers, or is "venv": then they are fetched
   into a folder that is removed afterwards.  With MM_CPU=avx2 the peer is held to AVX2 too.  */

#include <config.h>

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <minimind/model.h>
#include <minimind/optimizer.h>
#include <minimind/random.h>
#include <minimind/thread.h>

#include "bench.h"

enum
{
  VOCAB = 6400, SEQ_LEN = 512, ROWS = 16, MICRO = 4,
  TURNS = ROWS / MICRO,         /* of a step */
  MOST_ROUNDS = 100
};

static struct mm_model_config config;
static struct mm_model *model;
static struct mm_optimizer optimizer
  = { .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1, .grad_clip = 1 };
static struct mm_pass *pass;
static struct mm_batch batch;

static void
prepare (struct mm_backend *be)
{
  bench_want (mm_config_preset ("minimind2-small", VOCAB, &config));
  bench_want (mm_model_create (be, &config, true, &model));
  bench_want (mm_model_init (model, 42));
  bench_want (mm_optimizer_create (model, &optimizer));
  bench_want (mm_pass_create (model, MICRO, SEQ_LEN, true, &pass));
  bench_want (mm_batch_alloc (MICRO, SEQ_LEN, &batch));
  for (uint32_t row = 0; row < MICRO; row++)
    {
      uint32_t ids[SEQ_LEN + 1], words[4];

      for (uint32_t i = 0; i <= SEQ_LEN; i++)
        {
          mm_philox (42, MM_RANDOM_TEST, row, i, words);
          ids[i] = words[0] % VOCAB;
        }
      mm_batch_set_row (&batch, row, ids, NULL, NULL);
    }
  batch.rows = MICRO;
}

/* ---- our turn ---- */

/* Seconds of one micro-batch, and of the update after the LAST of a step.  */
static double
run_turn (bool last)
{
  static struct mm_loss loss;
  double began = bench_clock (CLOCK_MONOTONIC), norm;

  bench_want (mm_model_gradient (pass, &batch, optimizer.grad, &loss, NULL));
  if (last)
    {
      bench_want (mm_optimizer_step (model, &optimizer, 5e-4, loss.n_targets, &norm));
      loss = (struct mm_loss) { 0 };
    }
  bench_want (mm_backend_sync (mm_model_backend (model)));
  return bench_clock (CLOCK_MONOTONIC) - began;
}

/* Where the time of STEPS steps went, SECONDS in all, beside PEAK.  */
static void
print_profile (struct mm_backend *be, int steps, double seconds, double peak)
{
  const struct mm_op_profile *ops;
  size_t n = mm_backend_profile (be, &ops);
  double rest = seconds;

  printf ("%-20s %9s %7s %9s %8s %9s\n", "operation", "s a step", "share", "GFLOP/s", "of peak", "GB/s");
  for (size_t i = 0; i < n; i++)
    {
      const struct mm_op_profile *o = &ops[i];

      if (o->calls == 0)
        continue;
      rest -= o->seconds;
      printf ("%-20s %9.4f %6.1f%% %9.1f %7.1f%% %9.1f\n", o->name, o->seconds / steps, 100 * o->seconds / seconds,
              1e-9 * o->flops / o->seconds, 100 * o->flops / o->seconds / peak, 1e-9 * o->bytes / o->seconds);
    }
  printf ("%-20s %9.4f %6.1f%%\n", "between them", rest / steps, 100 * rest / seconds);
}

/* ---- the peer ---- */

struct peer
{
  pid_t pid;
  FILE *ask, *answer;           /* NULL: there is none */
};

static void
exec_peer (int threads, int in, int out)
{
  const char *python = getenv ("BENCH_PYTHON"), *srcdir = getenv ("srcdir");
  char script[4096], number[16];

  if (!python || strcmp (python, "venv") == 0)
    python = "python3";
  snprintf (script, sizeof script, "%s/bench/train_torch.py", srcdir ? srcdir : ".");
  snprintf (number, sizeof number, "%d", threads);
  dup2 (in, STDIN_FILENO);
  dup2 (out, STDOUT_FILENO);
  execlp (python, python, script, number, (char *) NULL);
  _exit (127);
}

static struct peer
open_peer (int threads, const char *kernels)
{
  struct peer peer = { 0 };
  char line[256];
  int to[2], from[2];

  if (strcmp (kernels, "avx2") == 0)
    {
      setenv ("ATEN_CPU_CAPABILITY", "avx2", 1);
      setenv ("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
      setenv ("MKL_ENABLE_INSTRUCTIONS", "AVX2", 1);
    }
  if (pipe (to) != 0 || pipe (from) != 0 || (peer.pid = fork ()) < 0)
    return peer;
  if (peer.pid == 0)
    {
      close (to[1]);
      close (from[0]);
      exec_peer (threads, to[0], from[1]);
    }
  close (to[0]);
  close (from[1]);
  peer.ask = fdopen (to[1], "w");
  peer.answer = fdopen (from[0], "r");
  if (peer.answer && fgets (line, sizeof line, peer.answer))
    printf ("PyTorch: %s", line);
  return peer;
}

static void
close_peer (struct peer *peer)
{
  if (peer->ask)
    fclose (peer->ask);
  if (peer->answer)
    fclose (peer->answer);
  if (peer->pid > 0)
    waitpid (peer->pid, NULL, 0);
}

/* Its answer to QUESTION, or 0 when that is no number: then it is printed.  */
static double
ask_peer (struct peer *peer, const char *question)
{
  char line[256];
  double answer;

  if (!peer->ask || !peer->answer)
    return 0;
  signal (SIGPIPE, SIG_IGN);    /* it may have left */
  fprintf (peer->ask, "%s\n", question);
  if (fflush (peer->ask) != 0 || !fgets (line, sizeof line, peer->answer))
    return 0;
  /* Its idle threads spin for a while.  */
  bench_sleep (0.1);
  if (sscanf (line, "%lf", &answer) == 1)
    return answer;
  printf ("PyTorch: %s", line);
  return 0;
}

/* ---- rounds ---- */

enum { OURS, EAGER, COMPILED, BF16_EAGER, BF16_COMPILED, N_MODES, FLOAT32_MODES = BF16_EAGER };

static const char *const modes[N_MODES]
  = { "minimind float32", "float32-eager", "float32-compiled", "bfloat16-eager", "bfloat16-compiled" };

struct rounds
{
  int n;
  double seconds[N_MODES][MOST_ROUNDS]; /* of a step; 0: none */
  double peak_seconds[MOST_ROUNDS];     /* what our steps would take at the peak beside them */
  double peak[MOST_ROUNDS * TURNS];
  double peer_memory;                   /* GB, eager */
  bool gone[N_MODES];                   /* it said why */
};

/* Seconds of a turn of MODE; 0: it can't.  */
static double
turn_of (struct peer *peer, int mode, bool last)
{
  char question[64];

  if (mode == OURS)
    return run_turn (last);
  snprintf (question, sizeof question, "%s%s", modes[mode], last ? " last" : "");
  return ask_peer (peer, question);
}

/* A step of each mode from FIRST to LAST that still runs, in turns.  */
static void
run_round (struct rounds *r, int round, int first, int last, struct peer *peer, int threads, double turn_flops)
{
  for (int turn = 0; turn < TURNS; turn++)
    for (int mode = first; mode < last; mode++)
      {
        double before = mode == OURS ? bench_peak (threads) : 0, seconds;

        if (r->gone[mode])
          continue;
        seconds = turn_of (peer, mode, turn == TURNS - 1);
        r->gone[mode] = seconds == 0;
        r->seconds[mode][round] += seconds;
        if (mode == OURS)
          {
            double peak = (before + bench_peak (threads)) / 2;

            r->peak[round * TURNS + turn] = peak;
            r->peak_seconds[round] += turn_flops / peak;
          }
      }
}

/* First touch of all memory, compilation.  */
static void
warm_up (struct rounds *r, struct peer *peer)
{
  run_turn (true);
  r->gone[EAGER] = ask_peer (peer, modes[EAGER]) == 0;
  r->peer_memory = ask_peer (peer, "memory");
  r->gone[COMPILED] = ask_peer (peer, modes[COMPILED]) == 0;
}

static void
print_modes (const struct rounds *r)
{
  printf ("%-20s %9s %9s   tokens/s of a step of %d x %d, micro-batch %d\n", "", "best", "median", ROWS,
          SEQ_LEN, MICRO);
  for (int mode = 0; mode < N_MODES; mode++)
    {
      double v[MOST_ROUNDS];
      size_t n = 0;

      for (int i = 0; i < r->n; i++)
        if (r->seconds[mode][i] > 0)
          v[n++] = ROWS * SEQ_LEN / r->seconds[mode][i];
      if (n == 0)
        continue;
      double median = bench_median (v, n);

      printf ("%-20s %9.1f %9.1f\n", modes[mode], v[n - 1], median);
    }
}

/* What the rounds say of us against the peak, and against the better of the peer's float32 modes.  */
static void
print_ratios (const struct rounds *r)
{
  double share[MOST_ROUNDS], ratio[MOST_ROUNDS];
  size_t n = 0;

  for (int i = 0; i < r->n; i++)
    {
      double fastest = 0;

      share[i] = 100 * r->peak_seconds[i] / r->seconds[OURS][i];
      for (int mode = EAGER; mode < FLOAT32_MODES; mode++)
        if (r->seconds[mode][i] > 0 && (fastest == 0 || r->seconds[mode][i] < fastest))
          fastest = r->seconds[mode][i];
      if (fastest > 0)
        ratio[n++] = fastest / r->seconds[OURS][i];
    }
  printf ("share of the FMA peak measured beside each turn: %.1f%%\n", bench_median (share, (size_t) r->n));
  if (n > 0)
    {
      double median = bench_median (ratio, n);

      printf ("ratio to PyTorch in float32, the better of eager and compiled: %.2f (rounds %.2f to %.2f)\n", median,
              ratio[0], ratio[n - 1]);
    }
}

int
main (int argc, char **argv)
{
  static struct rounds r;
  int threads = argc > 1 ? atoi (argv[1]) : mm_cpus_allowed ();
  double total = 0, turn_flops;
  struct mm_backend *be;
  struct peer peer;
  struct rusage usage;
  char processor[128];

  r.n = argc > 2 ? atoi (argv[2]) : 3;
  if (r.n < 1 || r.n > MOST_ROUNDS)
    return 64;
  bench_want (mm_backend_open ("cpu", threads, &be));
  bench_processor (processor, sizeof processor);
  printf ("%s, kernels %s, %d threads\n", processor, mm_backend_kernels (be), threads);
  fflush (stdout);
  peer = open_peer (threads, mm_backend_kernels (be));
  prepare (be);
  warm_up (&r, &peer);

  turn_flops = mm_config_train_flops (&config, SEQ_LEN) * MICRO * SEQ_LEN;
  mm_backend_profile_reset (be);
  for (int i = 0; i < r.n; i++)
    {
      run_round (&r, i, OURS, FLOAT32_MODES, &peer, threads, turn_flops);
      total += r.seconds[OURS][i];
    }
  print_profile (be, r.n, total, bench_median (r.peak, (size_t) r.n * TURNS));
  if (!r.gone[EAGER])
    run_round (&r, 0, BF16_EAGER, N_MODES, &peer, threads, turn_flops);
  close_peer (&peer);

  print_modes (&r);
  print_ratios (&r);
  getrusage (RUSAGE_SELF, &usage);
  printf ("peak memory %.2f GB; PyTorch eager (0: absent) %.2f GB\n", 1.024e-6 * (double) usage.ru_maxrss,
          r.peer_memory);

  mm_batch_free (&batch);
  mm_pass_free (pass);
  mm_optimizer_free (model, &optimizer);
  mm_model_free (model);
  mm_backend_close (be);
  return 0;
}
