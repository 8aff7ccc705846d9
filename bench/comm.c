/* comm.c -- training steps on two ranks beside one process of two threads and PyTorch's DDP; what exact sums cost.
   SPDX-License-Identifier: Apache-2.0

     bench/comm [ROUNDS [CONTENDER,...]]        default: 3, all of one, two, ddp

   A step: 16 rows of 512 tokens through minimind2-small, four at a time, AdamW with clip.  A round is one step of
   everybody, in turns of half a step, so that what else the machine does hits all alike; ratios are medians over
   rounds.
   "two" are two ranks of one thread under minimind-launch, "one" is one process of two threads, "ddp" PyTorch's
   DistributedDataParallel over gloo on two ranks of one thread (comm_torch.py, by the Python of BENCH_PYTHON).

   What exact sums cost: the rounding of each micro-batch's gradient to fixed point as an operation of its own (in
   training it goes along with the products), the sum over ranks, and one conversion back: more than the true cost,
   since float32 gradients would have to be added and read too.

   Beside the clock, the processor time of all of a contender's threads: on a machine that others use it is what is left
   to compare.

     bench/comm serve THREADS                   a contender of ours: answers lines with seconds of both kinds  */

#include <config.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include <minimind/comm.h>
#include <minimind/model.h>
#include <minimind/ops.h>
#include <minimind/optimizer.h>
#include <minimind/random.h>

#include "bench.h"
#include "peer.h"

enum
{
  VOCAB = 6400, SEQ_LEN = 512, ROWS = 16, MICRO = 4, TURNS = 2,
  MICROS = ROWS / MICRO / TURNS,        /* of a turn */
  BUCKET = 25000000 / 8 / MM_GRAD_BLOCK * MM_GRAD_BLOCK,
  MOST_ROUNDS = 50
};

/* ---- a contender of ours ---- */

struct contender
{
  struct mm_comm *comm;
  struct mm_backend *be;
  struct mm_model *model;
  struct mm_optimizer optimizer;
  struct mm_pass *pass;
  struct mm_batch batch;
  float *floats;                /* a gradient, for the cost of sums */
};

static void
fill_batch (struct mm_batch *b)
{
  bench_want (mm_batch_alloc (MICRO, SEQ_LEN, b));
  for (uint32_t row = 0; row < MICRO; row++)
    {
      uint32_t ids[SEQ_LEN + 1], words[4];

      for (uint32_t i = 0; i <= SEQ_LEN; i++)
        {
          mm_philox (42, MM_RANDOM_TEST, row, i, words);
          ids[i] = words[0] % VOCAB;
        }
      mm_batch_set_row (b, row, ids, NULL, NULL);
    }
  b->rows = MICRO;
}

static void
prepare (struct contender *c, int threads)
{
  struct mm_model_config config;
  void *grad, *floats;

  c->optimizer = (struct mm_optimizer) { .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1,
                                         .grad_clip = 1 };
  bench_want (mm_comm_open ("auto", 600, &c->comm));
  bench_want (mm_backend_open ("cpu", threads, &c->be));
  bench_want (mm_config_preset ("minimind2-small", VOCAB, &config));
  bench_want (mm_model_create (c->be, &config, &c->model));
  bench_want (mm_model_init (c->model, 42));
  bench_want (mm_comm_alloc (c->comm, "gradient", mm_model_size (c->model) * sizeof (int64_t), &grad));
  c->optimizer.grad = grad;
  c->optimizer.grad_lent = grad != NULL;
  bench_want (mm_optimizer_create (c->model, &c->optimizer));
  bench_want (mm_pass_create (c->model, MICRO, SEQ_LEN, true, &c->pass));
  bench_want (mm_backend_alloc (c->be, "gradient", mm_model_size (c->model) * sizeof (float), &floats));
  c->floats = floats;
  fill_batch (&c->batch);
}

static mm_status
hand_over (void *comm, size_t from)
{
  return mm_comm_hand_over (comm, from);
}

/* This rank's micro-batches of a turn; the LAST of a step with sum and update.  */
static void
run_turn (struct contender *c, bool last)
{
  struct mm_loss loss = { 0 };
  int n = MICROS / mm_comm_size (c->comm);
  double norm;

  if (last)
    bench_want (mm_comm_begin_i64 (c->comm, c->optimizer.grad, mm_model_size (c->model), 0, BUCKET));
  for (int i = 0; i < n; i++)
    {
      mm_pass_on_final (c->pass, last && i == n - 1 ? hand_over : NULL, c->comm);
      bench_want (mm_model_gradient (c->pass, &c->batch, c->optimizer.grad, &loss, NULL));
    }
  if (!last)
    return;
  bench_want (mm_comm_end (c->comm));
  bench_want (mm_optimizer_step (c->model, &c->optimizer, 5e-4, ROWS * SEQ_LEN, &norm));
  bench_want (mm_backend_sync (c->be));
}

/* The parts of an exact sum, of a step.  */
static void
run_sum (struct contender *c)
{
  size_t n = mm_model_size (c->model);
  int overflow = 0;

  for (int i = 0; i < ROWS / MICRO / mm_comm_size (c->comm); i++)
    bench_want (mm_accumulate (c->be, c->floats, n, c->optimizer.grad, &overflow));
  bench_want (mm_comm_sum_i64 (c->comm, c->optimizer.grad, n));
  bench_want (mm_grad_values (c->be, c->optimizer.grad, n, ROWS * SEQ_LEN, c->floats));
  bench_want (mm_optimizer_skip (c->model, &c->optimizer));
  bench_want (mm_backend_sync (c->be));
}

/* Of this process, so far.  */
static int64_t
processor_microseconds (void)
{
  struct rusage u;

  getrusage (RUSAGE_SELF, &u);
  return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * INT64_C (1000000) + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
}

static int
serve (int threads)
{
  struct contender c;
  char line[64] = "";
  int64_t used;
  double began;

  prepare (&c, threads);
  if (mm_comm_rank (c.comm) == 0)
    printf ("transport %s, ranks: %d, threads: %d, kernels %s\n", mm_comm_name (c.comm), mm_comm_size (c.comm), threads,
            mm_backend_kernels (c.be));
  for (;;)
    {
      fflush (stdout);
      if (mm_comm_rank (c.comm) == 0 && !fgets (line, sizeof line, stdin))
        strcpy (line, "end");
      bench_want (mm_comm_broadcast (c.comm, line, sizeof line, 0));
      began = bench_clock (CLOCK_MONOTONIC);
      used = processor_microseconds ();
      if (strncmp (line, "end", 3) == 0)
        break;
      if (strncmp (line, "sum", 3) == 0)
        run_sum (&c);
      else
        run_turn (&c, strncmp (line, "last", 4) == 0);
      bench_want (mm_comm_barrier (c.comm));
      began = bench_clock (CLOCK_MONOTONIC) - began;
      used = processor_microseconds () - used;
      bench_want (mm_comm_sum_i64 (c.comm, &used, 1));
      if (mm_comm_rank (c.comm) == 0)
        printf ("%.9f %.6f\n", began, 1e-6 * (double) used);
    }
  mm_batch_free (&c.batch);
  mm_pass_free (c.pass);
  mm_backend_release (c.be, c.floats);
  mm_optimizer_free (c.model, &c.optimizer);
  mm_model_free (c.model);
  mm_backend_close (c.be);
  mm_comm_close (c.comm);
  return 0;
}

/* ---- rounds ---- */

enum { ONE, TWO, DDP, CONTENDERS };
static const char *const names[] = { "one", "two", "ddp" };
static const char *const titles[] = { "one process, 2 threads", "two ranks, 1 thread each", "PyTorch DDP, 2 ranks" };

static struct bench_peer
open_contender (int which, char *self)
{
  const char *srcdir = getenv ("srcdir");
  char script[4096];
  char *one[] = { self, "serve", "2", NULL };
  char *two[] = { "./minimind-launch", "-n", "2", "--", self, "serve", "1", NULL };
  char *ddp[] = { (char *) bench_python (), script, NULL };

  snprintf (script, sizeof script, "%s/bench/comm_torch.py", srcdir ? srcdir : ".");
  return bench_peer_open (titles[which], which == ONE ? one : which == TWO ? two : ddp);
}

/* Median over ROUNDS of A over B; 0 where one is missing.  */
static double
median_ratio (const double *a, const double *b, int rounds)
{
  double ratios[MOST_ROUNDS];
  size_t n = 0;

  for (int i = 0; i < rounds; i++)
    if (a[i] > 0 && b[i] > 0)
      ratios[n++] = a[i] / b[i];
  return n ? bench_median (ratios, n) : 0;
}

static double
median (const double *a, int rounds)
{
  double sorted[MOST_ROUNDS];

  memcpy (sorted, a, (size_t) rounds * sizeof *a);
  return bench_median (sorted, (size_t) rounds);
}

typedef double table[CONTENDERS + 1][MOST_ROUNDS];     /* of contenders' steps, and of two ranks' sums */

/* Ratios of OTHER to two ranks, by the clock and by processor time.  */
static void
print_ratio (table seconds, table used, int other, int rounds)
{
  if (median_ratio (seconds[other], seconds[TWO], rounds) > 0)
    printf ("two ranks to %s: %.3f of its tokens/s, %.3f by processor time\n", titles[other],
            median_ratio (seconds[other], seconds[TWO], rounds), median_ratio (used[other], used[TWO], rounds));
}

static void
print (table seconds, table used, int rounds)
{
  for (int i = 0; i < CONTENDERS; i++)
    if (seconds[i][0] > 0)
      printf ("%-26s %7.1f tokens/s, %.3f s a step, of processors %.3f s (medians of %d)\n", titles[i],
              ROWS * SEQ_LEN / median (seconds[i], rounds), median (seconds[i], rounds), median (used[i], rounds),
              rounds);
  print_ratio (seconds, used, ONE, rounds);
  print_ratio (seconds, used, DDP, rounds);
  if (seconds[CONTENDERS][0] > 0)
    printf ("exact sums, conversions included: %.1f ms, %.2f%% of a step; %.2f%% by processor time\n",
            1e3 * median (seconds[CONTENDERS], rounds), 100 * median_ratio (seconds[CONTENDERS], seconds[TWO], rounds),
            100 * median_ratio (used[CONTENDERS], used[TWO], rounds));
}

/* One step of everybody.  */
static void
run_round (struct bench_peer *peers, table seconds, table used, int round)
{
  double more;

  for (int turn = 0; turn < TURNS; turn++)
    for (int i = 0; i < CONTENDERS; i++)
      {
        seconds[i][round] += bench_peer_ask_both (&peers[i], turn == TURNS - 1 ? "last" : "first", &more);
        used[i][round] += more;
      }
  seconds[CONTENDERS][round] = bench_peer_ask_both (&peers[TWO], "sum", &used[CONTENDERS][round]);
  printf ("round %d:", round + 1);
  for (int i = 0; i < CONTENDERS; i++)
    if (seconds[i][round] > 0)
      printf ("  %s %.3f s, of processors %.3f s", names[i], seconds[i][round], used[i][round]);
  printf ("  sums %.3f s, of processors %.3f s\n", seconds[CONTENDERS][round], used[CONTENDERS][round]);
  fflush (stdout);
}

int
main (int argc, char **argv)
{
  int rounds = argc > 1 && strcmp (argv[1], "serve") != 0 ? atoi (argv[1]) : 3;
  const char *wanted = argc > 2 ? argv[2] : "one,two,ddp";
  static table seconds, used;
  struct bench_peer peers[CONTENDERS];
  char processor[128];

  if (argc > 2 && strcmp (argv[1], "serve") == 0)
    return serve (atoi (argv[2]));
  if (rounds < 1 || rounds > MOST_ROUNDS)
    return 64;
  bench_processor (processor, sizeof processor);
  printf ("%s\n", processor);
  for (int i = 0; i < CONTENDERS; i++)
    {
      peers[i] = strstr (wanted, names[i]) ? open_contender (i, argv[0]) : (struct bench_peer) { 0 };
      bench_peer_ask (&peers[i], "last");       /* first touch of all memory */
    }
  for (int round = 0; round < rounds; round++)
    run_round (peers, seconds, used, round);
  print (seconds, used, rounds);
  for (int i = 0; i < CONTENDERS; i++)
    bench_peer_close (&peers[i]);
  return 0;
}
