/* train.c -- a training step of minimind2-small, where its time goes, and PyTorch beside it.
   SPDX-License-Identifier: Apache-2.0

     bench/train [THREADS [ROUNDS]]             default: all processors, 3
     bench/train THREADS lora [ROUNDS]          an adapter of rank 8, beside the whole model and PEFT's

   A step: 16 rows of 512 tokens, one document each, four at a time, AdamW with clip.  FLOPs are three times
   those of the forward pass with causal attention, nothing made again counted; of an adapter without the gradients of
   frozen weights.  A round is one step of everybody: ours and the peer's, train_torch.py, in turns of a micro-batch, so
   that what else the machine does hits all alike.  Ratios and shares of the FMA peak are medians over rounds; the peak
   is measured before and after each of our turns, and so is what the threads sustain of the same arithmetic.
   BENCH_PYTHON names a Python that has torch, transformers and peft, or is "venv": then they are fetched into a folder
   that is removed afterwards.  With MM_CPU=avx2 the peer is held to AVX2 too.  */

#include <config.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include <minimind/thread.h>

#include "ours.h"
#include "peer.h"

enum
{
  VOCAB = 6400, SEQ_LEN = 512, ROWS = 16, MICRO = 4,
  TURNS = ROWS / MICRO,         /* of a step */
  MOST_ROUNDS = 100
};

static struct bench_ours whole, adapter;

enum { RANK = 8 };

static void
prepare (int threads, bool lora)
{
  struct bench_shape s = { .rows = MICRO, .seq_len = SEQ_LEN, .document = SEQ_LEN };

  bench_want (mm_config_preset ("minimind2-small", VOCAB, &s.config));
  bench_ours_open (threads, &s, &whole);
  s.rank = RANK;
  if (lora)
    bench_ours_open (threads, &s, &adapter);
}

/* ---- the peer ---- */

static struct bench_peer
open_peer (int threads, const char *kernels)
{
  const char *srcdir = getenv ("srcdir");
  char script[4096], number[16];
  char *argv[] = { (char *) bench_python (), script, number, NULL };

  snprintf (script, sizeof script, "%s/bench/train_torch.py", srcdir ? srcdir : ".");
  snprintf (number, sizeof number, "%d", threads);
  if (strcmp (kernels, "avx2") == 0)
    {
      setenv ("ATEN_CPU_CAPABILITY", "avx2", 1);
      setenv ("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
      setenv ("MKL_ENABLE_INSTRUCTIONS", "AVX2", 1);
    }
  return bench_peer_open ("PyTorch", argv);
}

/* ---- rounds ---- */

/* One way to train: OURS, or the peer's by its name.  */
struct mode
{
  const char *name;
  struct bench_ours *ours;
};

enum { MOST_MODES = 5 };

/* The first mode is the one that is looked at; those of other types come last and run once.  */
struct plan
{
  struct mode modes[MOST_MODES];
  int n_float32, n;
};

static const struct plan plan_whole = {
  { { "minimind float32", &whole }, { "float32-eager", NULL }, { "float32-compiled", NULL },
    { "bfloat16-eager", NULL }, { "bfloat16-compiled", NULL } }, 3, 5
};
static const struct plan plan_lora = {
  { { "minimind LoRA", &adapter }, { "minimind float32", &whole }, { "float32-eager-lora", NULL },
    { "float32-compiled-lora", NULL } }, 4, 4
};

struct rounds
{
  const struct plan *plan;
  int n;
  double seconds[MOST_MODES][MOST_ROUNDS];      /* of a step; 0: none */
  double peak_seconds[MOST_ROUNDS];     /* what the first mode's steps would take at the peak beside them */
  double sustained_seconds[MOST_ROUNDS];        /* and at what threads sustained beside them */
  double peak[MOST_ROUNDS * TURNS];
  double peer_memory;                   /* GB, eager */
  bool gone[MOST_MODES];                /* it said why */
};

/* Seconds of a turn of MODE; 0: it can't.  */
static double
turn_of (struct bench_peer *peer, const struct mode *mode, bool last)
{
  char question[64];

  if (mode->ours)
    return bench_ours_turn (mode->ours, last);
  snprintf (question, sizeof question, "%s%s", mode->name, last ? " last" : "");
  return bench_peer_ask (peer, question);
}

/* A turn of mode I in ROUND; the first one with the peak beside it.  */
static void
run_mode (struct rounds *r, int i, int round, int turn, struct bench_peer *peer)
{
  const struct mode *mode = &r->plan->modes[i];
  struct mm_limits around = { 0 };
  double seconds;

  if (i == 0)
    bench_add_limits (mm_model_backend (mode->ours->model), &around);
  seconds = turn_of (peer, mode, turn == TURNS - 1);
  r->gone[i] = seconds == 0;
  r->seconds[i][round] += seconds;
  if (i == 0)
    {
      bench_add_limits (mm_model_backend (mode->ours->model), &around);
      r->peak[round * TURNS + turn] = around.peak / 2;
      r->peak_seconds[round] += mode->ours->turn_flops / (around.peak / 2);
      r->sustained_seconds[round] += mode->ours->turn_flops / (around.sustained / 2);
    }
}

/* A step of each mode from FIRST to LAST that still runs, in turns.  */
static void
run_round (struct rounds *r, int round, int first, int last, struct bench_peer *peer)
{
  for (int turn = 0; turn < TURNS; turn++)
    for (int i = first; i < last; i++)
      if (!r->gone[i])
        run_mode (r, i, round, turn, peer);
}

/* First touch of all memory, compilation.  */
static void
warm_up (struct rounds *r, struct bench_peer *peer)
{
  bool first = true;

  for (int i = 0; i < r->plan->n_float32; i++)
    {
      r->gone[i] = turn_of (peer, &r->plan->modes[i], true) == 0;
      if (!r->plan->modes[i].ours && first)
        {
          r->peer_memory = bench_peer_ask (peer, "memory");
          first = false;
        }
    }
}

static void
print_modes (const struct rounds *r)
{
  printf ("%-22s %9s %9s   tokens/s of a step of %d x %d, micro-batch %d\n", "", "best", "median", ROWS,
          SEQ_LEN, MICRO);
  for (int mode = 0; mode < r->plan->n; mode++)
    {
      double v[MOST_ROUNDS];
      size_t n = 0;

      for (int i = 0; i < r->n; i++)
        if (r->seconds[mode][i] > 0)
          v[n++] = ROWS * SEQ_LEN / r->seconds[mode][i];
      if (n == 0)
        continue;
      double median = bench_median (v, n);

      printf ("%-22s %9.1f %9.1f\n", r->plan->modes[mode].name, v[n - 1], median);
    }
}

/* The time of the fastest float32 mode in ROUND that is OURS, the first one left out, or not; 0 if there is none.  */
static double
fastest (const struct rounds *r, int round, bool ours)
{
  double best = 0;

  for (int i = 1; i < r->plan->n_float32; i++)
    if ((r->plan->modes[i].ours != NULL) == ours && r->seconds[i][round] > 0
        && (best == 0 || r->seconds[i][round] < best))
      best = r->seconds[i][round];
  return best;
}

static void
print_ratio (const struct rounds *r, const char *what, bool ours)
{
  double ratio[MOST_ROUNDS];
  size_t n = 0;

  for (int i = 0; i < r->n; i++)
    {
      double other = fastest (r, i, ours);

      if (other > 0)
        ratio[n++] = other / r->seconds[0][i];
    }
  if (n > 0)
    {
      double median = bench_median (ratio, n);

      printf ("ratio to %s: %.2f (rounds %.2f to %.2f)\n", what, median, ratio[0], ratio[n - 1]);
    }
}

/* What the rounds say of the first mode against the peak, and against the others in float32.  */
static void
print_ratios (const struct rounds *r)
{
  double share[MOST_ROUNDS], sustained[MOST_ROUNDS];
  bool lora = r->plan == &plan_lora;

  for (int i = 0; i < r->n; i++)
    {
      share[i] = 100 * r->peak_seconds[i] / r->seconds[0][i];
      sustained[i] = 100 * r->sustained_seconds[i] / r->seconds[0][i];
    }
  printf ("share of the FMA peak measured beside each turn: %.1f%%\n", bench_median (share, (size_t) r->n));
  printf ("share of what the threads sustained in a tenth of a second beside each turn: %.1f%%\n",
          bench_median (sustained, (size_t) r->n));
  print_ratio (r, lora ? "PEFT in float32, the better of eager and compiled"
                       : "PyTorch in float32, the better of eager and compiled", false);
  if (lora)
    {
      size_t part = mm_model_trained (adapter.model).size, all = mm_model_trained (whole.model).size;

      print_ratio (r, "training the whole model", true);
      printf ("its arithmetic: %.2f times less; a sum over ranks moves %.1f%% of the bytes, %.1f MB of %.1f\n",
              whole.turn_flops / adapter.turn_flops, 100 * (double) part / (double) all, 8e-6 * (double) part,
              8e-6 * (double) all);
    }
}

int
main (int argc, char **argv)
{
  static struct rounds r;
  bool lora = argc > 2 && strcmp (argv[2], "lora") == 0;
  int threads = argc > 1 ? atoi (argv[1]) : mm_cpus_allowed ();
  double total = 0;
  struct mm_backend *be;
  struct bench_peer peer;
  struct rusage usage;
  char processor[128];

  r.plan = lora ? &plan_lora : &plan_whole;
  r.n = argc > 2 + lora ? atoi (argv[2 + lora]) : 3;
  if (r.n < 1 || r.n > MOST_ROUNDS)
    return 64;
  prepare (threads, lora);
  be = mm_model_backend (r.plan->modes[0].ours->model);
  bench_processor (processor, sizeof processor);
  printf ("%s, kernels %s, %d threads\n", processor, mm_backend_kernels (be), threads);
  fflush (stdout);
  peer = open_peer (threads, mm_backend_kernels (be));
  warm_up (&r, &peer);

  mm_backend_profile_reset (be);
  for (int i = 0; i < r.n; i++)
    {
      run_round (&r, i, 0, r.plan->n_float32, &peer);
      total += r.seconds[0][i];
    }
  getrusage (RUSAGE_SELF, &usage);      /* before limits are measured on buffers of their own */
  bench_profile (be, bench_median (r.peak, (size_t) r.n * TURNS), r.n, total);
  run_round (&r, 0, r.plan->n_float32, r.plan->n, &peer);
  bench_peer_close (&peer);

  print_modes (&r);
  print_ratios (&r);
  printf ("peak memory %.2f GB; PyTorch eager (0: absent) %.2f GB\n", 1.024e-6 * (double) usage.ru_maxrss,
          r.peer_memory);

  bench_ours_close (&whole);
  if (lora)
    bench_ours_close (&adapter);
  return 0;
}
