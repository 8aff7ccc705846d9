/* gemm.c -- the products of a training step of minimind2-small beside OpenBLAS, BLIS and oneDNN.
   SPDX-License-Identifier: Apache-2.0

     bench/gemm [THREADS [fwd|dX|dW]]   default: all products with 1 thread, then on all processors

   The peers are loaded at run time and left out with a word where they are not installed
   (Debian: libopenblas0-pthread, libblis4-pthread, libdnnl2).  They are told to use their kernels for the same
   instruction set, which are their fastest.  Every round runs each product once with everybody in
   turn, so that what else the machine does hits all alike: GF/s are the best of the rounds, ratios the
   median over rounds; the share of the FMA peak is the median's, of the peak before and after.  One
   thread is timed by its processor time, so that being interrupted does not count; several by the clock.

   Ours reads weights packed beforehand, as training does once an update, and packs the rest inside;
   its weight gradients include the rounding to fixed point and the addition to the accumulator.  */

#include <config.h>

#include <dlfcn.h>
#include <unistd.h>

#include <minimind/ops.h>
#include <minimind/thread.h>

#include "bench.h"

enum
{
  M = 2048,                     /* tokens of a micro-batch */
  ROUNDS = 7,
  N_PEERS = 3
};

enum product { FORWARD, GRAD_INPUT, GRAD_WEIGHT, N_PRODUCTS };

/* A layer W [n, k], and how many the model has.  */
static const struct layer
{
  const char *name;
  size_t n, k;
  int count;
} layers[] = {
  { "qkv", 768, 512, 8 },
  { "o", 512, 512, 8 },
  { "gate+up", 2816, 512, 8 },
  { "down", 512, 1408, 8 },
  { "head", 6400, 512, 1 },
};

enum { N_LAYERS = sizeof layers / sizeof *layers, MOST = 6400 };

/* ---- peers ---- */

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

typedef void sgemm_fn (int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a,
                       int lda, const float *b, int ldb, float beta, float *c, int ldc);

struct peer
{
  const char *name, *library, *threads_function;
  sgemm_fn *sgemm;              /* NULL: absent */
  void (*set_threads) (int);
  char kernels[64];
};

static struct peer peers[N_PEERS] = {
  { .name = "OpenBLAS", .library = "libopenblas.so.0", .threads_function = "openblas_set_num_threads" },
  { .name = "BLIS", .library = "libblis.so.4", .threads_function = "bli_thread_set_num_threads" },
  { .name = "oneDNN", .library = "libdnnl.so.2", .threads_function = "omp_set_num_threads" },
};

/* oneDNN's own function, which knows rows only.  */
static int (*dnnl_sgemm) (char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                          int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

static void
onednn_sgemm (int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
              const float *b, int ldb, float beta, float *c, int ldc)
{
  (void) order;
  dnnl_sgemm (trans_a == TRANS ? 'T' : 'N', trans_b == TRANS ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta, c,
              ldc);
}

/* Function pointers from dlsym, in the way that POSIX blesses.  */
static void
find (void *library, const char *name, void *function)
{
  *(void **) function = dlsym (library, name);
}

static void
name_kernels (struct peer *p, void *library)
{
  const char *(*core) (void) = NULL, *(*arch_string) (int) = NULL;
  int (*arch) (void) = NULL, (*isa) (void) = NULL;
  void (*init) (void) = NULL;

  find (library, "bli_init", &init);    /* asked before, BLIS dies */
  if (init)
    init ();
  find (library, "openblas_get_corename", &core);
  find (library, "bli_arch_query_id", &arch);
  find (library, "bli_arch_string", &arch_string);
  find (library, "dnnl_get_effective_cpu_isa", &isa);
  if (isa)
    snprintf (p->kernels, sizeof p->kernels, "instruction set %#x", (unsigned) isa ());
  else
    snprintf (p->kernels, sizeof p->kernels, "%s",
              core ? core () : arch && arch_string ? arch_string (arch ()) : "?");
}

static void
load_peers (const char *kernels)
{
  /* Their own choice knows only the processors of their day, and Debian's BLIS has none.  */
  if (strcmp (kernels, "avx512") == 0)
    {
      setenv ("OPENBLAS_CORETYPE", "SkylakeX", 1);
      setenv ("BLIS_ARCH_TYPE", "0", 1);
    }
  else if (strcmp (kernels, "avx2") == 0)
    {
      setenv ("OPENBLAS_CORETYPE", "Haswell", 1);
      setenv ("BLIS_ARCH_TYPE", "3", 1);        /* BLIS 0.9 knows numbers only; 0 is skx */
      setenv ("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
    }
  for (struct peer *p = peers; p < peers + N_PEERS; p++)
    {
      void *library = dlopen (p->library, RTLD_NOW | RTLD_LOCAL);

      if (!library)
        {
          printf ("%s: not installed, left out\n", p->name);
          continue;
        }
      find (library, "cblas_sgemm", &p->sgemm);
      if (!p->sgemm)
        {
          find (library, "dnnl_sgemm", &dnnl_sgemm);
          p->sgemm = dnnl_sgemm ? onednn_sgemm : NULL;
        }
      find (library, p->threads_function, &p->set_threads);
      name_kernels (p, library);
      printf ("%s: kernels %s\n", p->name, p->kernels);
    }
}

/* ---- one product ---- */

struct operands
{
  struct mm_backend *be;
  float *x, *dy, *w, *y;        /* [M, MOST] at most; w [n, k] */
  int64_t *acc;
  struct mm_weight *weights[N_LAYERS];
};

static void
run_ours (struct operands *o, size_t layer, enum product product)
{
  const struct layer *l = &layers[layer];
  struct mm_mat none = { 0 }, x = mm_mat (o->x, M, l->k), dy = mm_mat (o->dy, M, l->n);
  int overflow = 0;

  if (product == FORWARD)
    bench_want (mm_linear (o->be, x, o->weights[layer], none, mm_mat (o->y, M, l->n)));
  else if (product == GRAD_INPUT)
    bench_want (mm_linear_grad_input (o->be, dy, o->weights[layer], (struct mm_mat) { 0 }, mm_mat (o->y, M, l->k)));
  else
    bench_want (mm_linear_grad_weight (o->be, dy, x, o->acc, &overflow));
}

static void
run_peer (const struct peer *p, struct operands *o, const struct layer *l, enum product product)
{
  int n = (int) l->n, k = (int) l->k;

  if (product == FORWARD)
    p->sgemm (ROW_MAJOR, NO_TRANS, TRANS, M, n, k, 1, o->x, k, o->w, k, 0, o->y, n);
  else if (product == GRAD_INPUT)
    p->sgemm (ROW_MAJOR, NO_TRANS, NO_TRANS, M, k, n, 1, o->dy, n, o->w, k, 0, o->y, k);
  else
    p->sgemm (ROW_MAJOR, TRANS, NO_TRANS, n, k, M, 1, o->dy, n, o->x, k, 0, o->y, k);
}

/* Seconds of each round: ours, then the peers; a peer that is absent has none.  */
struct times
{
  double of[1 + N_PEERS][ROUNDS];
  double peak;                  /* FLOP/s, beside them */
};

static double
seconds_of (int threads)
{
  return bench_clock (threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID);
}

static void
time_product (struct operands *o, size_t layer, enum product product, int threads, struct times *t)
{
  t->peak = bench_peak (threads) / 2;
  for (int round = -1; round < ROUNDS; round++)
    for (int who = 0; who <= N_PEERS; who++)
      {
        double start;

        if (who > 0 && !peers[who - 1].sgemm)
          continue;
        start = seconds_of (threads);
        if (who == 0)
          run_ours (o, layer, product);
        else
          run_peer (&peers[who - 1], o, &layers[layer], product);
        /* The first round warms caches and threads.  */
        if (round >= 0)
          t->of[who][round] = seconds_of (threads) - start;
        /* Idle threads of the libraries spin for a while.  */
        if (threads > 1)
          bench_sleep (0.03);
      }
  t->peak += bench_peak (threads) / 2;
}

static double
best (const double *seconds)
{
  double b = seconds[0];

  for (int i = 1; i < ROUNDS; i++)
    if (seconds[i] < b)
      b = seconds[i];
  return b;
}

/* The median over rounds of ours over the faster peer's speed; 0 without peers.  */
static double
ratio (const struct times *t)
{
  double r[ROUNDS];

  for (int i = 0; i < ROUNDS; i++)
    {
      double fastest = 0;

      for (int who = 1; who <= N_PEERS; who++)
        if (peers[who - 1].sgemm && (fastest == 0 || t->of[who][i] < fastest))
          fastest = t->of[who][i];
      r[i] = fastest / t->of[0][i];
    }
  return bench_median (r, ROUNDS);
}

/* ---- the table ---- */

static void
print_row (const char *what, const char *layer, size_t m, size_t n, size_t k, const struct times *t)
{
  double flops = 2 * (double) m * (double) n * (double) k, ours = flops / best (t->of[0]), seconds[ROUNDS];
  char shape[64];

  snprintf (shape, sizeof shape, "%zux%zux%zu", m, n, k);
  printf ("%-4s %-8s %-14s %8.1f", what, layer, shape, ours * 1e-9);
  for (int who = 1; who <= N_PEERS; who++)
    printf (" %8.1f", peers[who - 1].sgemm ? flops / best (t->of[who]) * 1e-9 : 0);
  memcpy (seconds, t->of[0], sizeof seconds);
  printf (" %7.2f %7.1f%%\n", ratio (t), 100 * flops / bench_median (seconds, ROUNDS) / t->peak);
  fflush (stdout);
}

static float *
numbers (size_t n, struct mm_backend *be)
{
  void *p;

  bench_want (mm_backend_alloc (be, "operand", n * sizeof (float), &p));
  for (size_t i = 0; i < n; i++)
    ((float *) p)[i] = (float) (i * 2654435761u % 1000) * 1e-3f - 0.5f;
  return p;
}

static void
prepare (struct operands *o, int threads)
{
  void *acc;

  bench_want (mm_backend_open ("cpu", threads, &o->be));
  o->x = numbers ((size_t) M * 1408, o->be);
  o->dy = numbers ((size_t) M * MOST, o->be);
  o->y = numbers ((size_t) M * MOST, o->be);
  o->w = numbers ((size_t) MOST * 512, o->be);
  bench_want (mm_backend_alloc (o->be, "sums", (size_t) MOST * 512 * sizeof (int64_t), &acc));
  o->acc = acc;
  for (size_t i = 0; i < N_LAYERS; i++)
    {
      bench_want (mm_weight_create (o->be, layers[i].n, layers[i].k, &o->weights[i]));
      bench_want (mm_weight_set (o->be, o->weights[i], mm_mat (o->w, layers[i].n, layers[i].k)));
    }
  for (int i = 0; i < N_PEERS; i++)
    if (peers[i].sgemm)
      peers[i].set_threads (threads);
}

static void
finish (struct operands *o)
{
  for (size_t i = 0; i < N_LAYERS; i++)
    mm_weight_free (o->be, o->weights[i]);
  mm_backend_release (o->be, o->x);
  mm_backend_release (o->be, o->dy);
  mm_backend_release (o->be, o->w);
  mm_backend_release (o->be, o->y);
  mm_backend_release (o->be, o->acc);
  mm_backend_close (o->be);
}

static void
measure (int threads, const char *only)
{
  static const char *const names[N_PRODUCTS] = { "fwd", "dX", "dW" };
  struct operands o;
  double total[1 + N_PEERS] = { 0 }, flops = 0;

  prepare (&o, threads);
  printf ("\n%d thread%s, kernels %s, FMA peak at the start %.1f GF/s\n", threads, threads > 1 ? "s" : "",
          mm_backend_kernels (o.be), bench_peak (threads) * 1e-9);
  printf ("%-28s %8s", "product       m x n x k", "ours");
  for (int who = 0; who < N_PEERS; who++)
    printf (" %8s", peers[who].name);
  printf (" %7s %8s\n", "ratio", "of peak");
  for (enum product p = FORWARD; p < N_PRODUCTS; p++)
    for (size_t i = 0; i < N_LAYERS; i++)
      {
        const struct layer *l = &layers[i];
        struct times t = { 0 };

        if (only && strcmp (only, names[p]) != 0)
          continue;
        time_product (&o, i, p, threads, &t);
        if (p == FORWARD)
          print_row (names[p], l->name, M, l->n, l->k, &t);
        else if (p == GRAD_INPUT)
          print_row (names[p], l->name, M, l->k, l->n, &t);
        else
          print_row (names[p], l->name, l->n, l->k, M, &t);
        for (int who = 0; who <= N_PEERS; who++)
          total[who] += l->count * best (t.of[who]);
        flops += l->count * 2.0 * M * (double) l->n * (double) l->k;
      }
  printf ("%-28s", "all of a micro-batch");
  for (int who = 0; who <= N_PEERS; who++)
    printf (" %8.1f", total[who] > 0 ? flops / total[who] * 1e-9 : 0);
  printf ("\n");
  finish (&o);
}

int
main (int argc, char **argv)
{
  struct mm_backend *be;
  char processor[128];
  int all = mm_cpus_allowed ();

  bench_want (mm_backend_open ("cpu", 1, &be));
  bench_processor (processor, sizeof processor);
  printf ("%s, %d processors, our kernels %s\n", processor, all, mm_backend_kernels (be));
  load_peers (mm_backend_kernels (be));
  mm_backend_close (be);
  if (argc > 1)
    measure (atoi (argv[1]), argv[2]);
  else
    {
      measure (1, NULL);
      if (all > 1)
        measure (all, NULL);
    }
  return 0;
}
