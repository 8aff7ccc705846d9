/* streams.c -- operations that memory bounds, each beside a plain loop that reads and writes as much.
   SPDX-License-Identifier: Apache-2.0

     bench/streams [ROUNDS]                     default: 15

   On the gradient, parameters and moments of minimind2-small, on one thread and on all; operation and loop in turns,
   medians.  The loop does integer sums and exclusive ors on vectors of the same arrays.  */

#include <config.h>

#include <minimind/ops.h>
#include <minimind/thread.h>

#include "bench.h"

enum { MOST = 200 };

struct streams
{
  struct mm_backend *be;
  struct mm_team *team;
  size_t n;
  int64_t *acc;
  float *g, *p, *m, *v;
  double *partial;
  void (*loop) (struct streams *s, size_t from, size_t to);
  int64_t sum;                  /* so that what is read is of use */
};

/* Eight elements.  */
typedef int64_t longs __attribute__ ((vector_size (64), aligned (8), may_alias));
typedef int32_t ints __attribute__ ((vector_size (32), aligned (4), may_alias));

static void
loop_accumulate (struct streams *s, size_t from, size_t to)
{
  for (size_t i = from; i < to; i += 8)
    *(longs *) (s->acc + i) += __builtin_convertvector (*(ints *) (s->g + i), longs);
}

/* One stream is read at half the speed of four; sums of wider vectors would be kept on the stack.  */
static void
loop_squares (struct streams *s, size_t from, size_t to)
{
  typedef int64_t pair __attribute__ ((vector_size (16), aligned (8), may_alias));
  size_t quarter = (to - from) / 4;
  pair s0 = { 0 }, s1 = s0, s2 = s0, s3 = s0;

  for (size_t i = from; i < from + quarter; i += 8)
    for (size_t stream = 0; stream < 4; stream++)
      {
        const pair *line = (const pair *) (s->acc + i + stream * quarter);

        s0 += line[0];
        s1 += line[1];
        s2 += line[2];
        s3 += line[3];
      }
  s0 += s1 + s2 + s3;
  __atomic_fetch_add (&s->sum, s0[0] + s0[1], __ATOMIC_RELAXED);
}

static void
loop_adamw (struct streams *s, size_t from, size_t to)
{
  for (size_t i = from; i < to; i += 8)
    {
      ints g = __builtin_convertvector (*(longs *) (s->acc + i), ints) & 1;

      *(ints *) (s->m + i) ^= g;
      *(ints *) (s->v + i) ^= g;
      *(ints *) (s->p + i) ^= g;
      *(longs *) (s->acc + i) = (longs) { 0 };
    }
}

static void
op_accumulate (struct streams *s)
{
  int overflow = 0;

  bench_want (mm_accumulate (s->be, s->g, s->n, s->acc, &overflow));
}

static void
op_squares (struct streams *s)
{
  bench_want (mm_grad_squares (s->be, s->acc, 0, s->n, 1, s->partial));
}

static void
op_adamw (struct streams *s)
{
  const struct mm_adamw a = { .beta1 = 0.9f, .beta2 = 0.95f, .eps = 1e-8f, .decay = 1, .step_size = 1e-4f,
                              .inv_sqrt_bc2 = 1, .clip = 1 };

  bench_want (mm_adamw_step (s->be, &a, s->acc, 1, s->n, s->p, s->m, s->v));
}

static const struct op
{
  const char *name;
  void (*op) (struct streams *s);
  void (*loop) (struct streams *s, size_t from, size_t to);
  double bytes;                 /* of an element, read and written */
} ops[] = {
  { "reduction to fixed point", op_accumulate, loop_accumulate, 20 },
  { "clip: sums of squares", op_squares, loop_squares, 8 },
  { "AdamW", op_adamw, loop_adamw, 40 },
};

static void
share_loop (void *arg, int thread, int n_threads)
{
  struct streams *s = arg;
  size_t part;

  while (mm_team_take (s->team, thread, &part))
    {
      size_t from, to;

      mm_share (s->n, 4096, (int) part, 8 * n_threads, &from, &to);
      s->loop (s, from, to);
    }
}

static void
measure (struct streams *s, const struct op *op, int rounds)
{
  double ours[MOST], plain[MOST], ratio[MOST];
  int threads = mm_team_size (s->team);

  s->loop = op->loop;
  for (int r = -1; r < rounds; r++)
    {
      double began = bench_clock (CLOCK_MONOTONIC), between, end;

      op->op (s);
      between = bench_clock (CLOCK_MONOTONIC);
      mm_team_tasks (s->team, 8 * (size_t) threads);
      mm_team_run (s->team, share_loop, s);
      end = bench_clock (CLOCK_MONOTONIC);
      if (r < 0)
        continue;
      ours[r] = between - began;
      plain[r] = end - between;
      ratio[r] = ours[r] / plain[r];
    }
  printf ("%-26s %7d %10.1f %10.1f %8.2f\n", op->name, threads,
          1e-9 * op->bytes * (double) s->n / bench_median (ours, (size_t) rounds),
          1e-9 * op->bytes * (double) s->n / bench_median (plain, (size_t) rounds),
          bench_median (ratio, (size_t) rounds));
}

static void
take (struct streams *s, size_t size, void *out)
{
  bench_want (mm_backend_alloc (s->be, "stream", s->n * size, out));
}

int
main (int argc, char **argv)
{
  int rounds = argc > 1 ? atoi (argv[1]) : 15, all = mm_cpus_allowed ();
  static struct streams s = { .n = 25829888 };
  struct mm_backend *be;
  char processor[128];

  if (rounds < 1 || rounds > MOST)
    return 64;
  bench_want (mm_backend_open ("cpu", all, &be));
  s.be = be;
  take (&s, sizeof *s.acc, &s.acc);
  take (&s, sizeof *s.g, &s.g);
  take (&s, sizeof *s.p, &s.p);
  take (&s, sizeof *s.m, &s.m);
  take (&s, sizeof *s.v, &s.v);
  take (&s, sizeof *s.partial, &s.partial);
  for (size_t i = 0; i < s.n; i++)
    s.g[i] = (float) (i * 2654435761u % 1000) * 1e-3f - 0.5f;
  bench_processor (processor, sizeof processor);
  printf ("%s, kernels %s, %zu elements, %d rounds\n", processor, mm_backend_kernels (be), s.n, rounds);
  printf ("%-26s %7s %10s %10s %8s\n", "operation", "threads", "GB/s", "loop GB/s", "time");
  for (int threads = 1; threads <= all; threads = threads == 1 && all > 1 ? all : all + 1)
    {
      bench_want (mm_backend_open ("cpu", threads, &s.be));
      bench_want (mm_team_open (threads, &s.team));
      for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        measure (&s, &ops[i], rounds);
      mm_team_close (s.team);
      mm_backend_close (s.be);
    }
  mm_backend_release (be, s.acc);
  mm_backend_release (be, s.g);
  mm_backend_release (be, s.p);
  mm_backend_release (be, s.m);
  mm_backend_release (be, s.v);
  mm_backend_release (be, s.partial);
  mm_backend_close (be);
  return 0;
}
