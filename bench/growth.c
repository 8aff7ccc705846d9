/* growth.c -- how the cost of training grows: with the sequence, the vocabulary, the width, threads, the micro-batch.
   SPDX-License-Identifier: Apache-2.0

     bench/growth [TABLE [ROUNDS]]      default: all of sequence, vocabulary, width, threads, micro-batch; 5

   Each table changes one thing of minimind2-small on all processors in micro-batches of 2,048 tokens, rows of 512, one
   document each; of the sequence, 4,096 tokens, so that each length has as many.  A line is the median over rounds of
   a micro-batch without the update, after one that touches all memory, as many as begin within two seconds; the peak is
   measured before and after each.  FLOPs as in bench/train.  Beside attention's share of the time (both directions)
   stands its share of FLOPs: it costs as its FLOPs where both are alike.  */

#include <config.h>

#include <minimind/thread.h>

#include "ours.h"

enum { VOCAB = 6400, SEQ_LEN = 512, TOKENS = 2048, MOST_TOKENS = 4096, MOST = 50, VALUES = 8 };
static const double longest = 2;        /* s a line, if it has a round */

struct point
{
  struct bench_shape shape;
  int threads;
};

static void
set_sequence (struct point *p, size_t value)
{
  p->shape.seq_len = p->shape.document = value;
  p->shape.rows = MOST_TOKENS / value;
}

static void
set_vocabulary (struct point *p, size_t value)
{
  p->shape.config.vocab_size = (uint32_t) value;
}

static void
set_width (struct point *p, size_t value)
{
  struct mm_model_config *c = &p->shape.config;

  c->hidden_size = (uint32_t) value;
  c->n_heads = c->hidden_size / c->head_dim;
  c->n_kv_heads = c->n_heads / 4 ? c->n_heads / 4 : 1;
  c->ffn_size = c->hidden_size * 11 / 4;
}

static void
set_threads (struct point *p, size_t value)
{
  p->threads = (int) value;
}

static void
set_rows (struct point *p, size_t value)
{
  p->shape.rows = value;
}

static const struct table
{
  const char *name;
  void (*set) (struct point *p, size_t value);
  size_t values[VALUES];        /* up to the first 0 */
} tables[] = {
  { "sequence", set_sequence, { 128, 256, 512, 1024, 2048, 4096 } },
  { "vocabulary", set_vocabulary, { 6400, 16000, 32000, 64000, 128000 } },
  { "width", set_width, { 128, 256, 512, 768, 1024 } },
  { "threads", set_threads, { 1, 2 } },
  { "micro-batch", set_rows, { 1, 2, 4, 8, 16, 32 } },
};

/* Seconds that operation NAME of BE took so far.  */
static double
seconds_of (struct mm_backend *be, const char *name)
{
  const struct mm_op_profile *ops;
  size_t n = mm_backend_profile (be, &ops);

  for (size_t i = 0; i < n; i++)
    if (strcmp (ops[i].name, name) == 0)
      return ops[i].seconds;
  return 0;
}

/* Attention's part of the FLOPs: two products of queries and keys, and of these the causal half.  */
static double
attention_flops (const struct bench_shape *s)
{
  const struct mm_model_config *c = &s->config;

  return 2.0 * c->n_heads * c->head_dim * ((double) s->document + 1) * c->n_layers
         / mm_config_forward_flops (c, s->document);
}

static void
print_point (const struct point *p, size_t value, int rounds)
{
  double speed[MOST], of_peak[MOST], of_time[MOST], tokens = (double) (p->shape.rows * p->shape.seq_len);
  struct bench_ours o;
  struct mm_backend *be;
  double spent = 0;
  size_t n = 0;

  bench_ours_open (p->threads, &p->shape, &o);
  be = mm_model_backend (o.model);
  bench_ours_turn (&o, false);  /* first touch */
  for (; n < (size_t) rounds && spent < longest; n++)
    {
      double before = bench_peak (p->threads), peak, seconds;

      mm_backend_profile_reset (be);
      seconds = bench_ours_turn (&o, false);
      peak = (before + bench_peak (p->threads)) / 2;
      spent += seconds;
      speed[n] = tokens / seconds;
      of_peak[n] = 100 * o.turn_flops / seconds / peak;
      of_time[n] = 100 * (seconds_of (be, "attention") + seconds_of (be, "attention_grad")) / seconds;
    }
  printf ("%12zu %9.1f %9.1f %9.1f %8.1f%% %8.1f%% %8.1f%%\n", value, bench_median (speed, n),
          1e-6 * o.turn_flops / tokens, 1e-9 * o.turn_flops / tokens * bench_median (speed, n),
          bench_median (of_peak, n), bench_median (of_time, n), 100 * attention_flops (&p->shape));
  fflush (stdout);
  bench_ours_close (&o);
}

static void
print_table (const struct table *t, int rounds)
{
  printf ("\n%12s %9s %9s %9s %9s %9s %9s\n", t->name, "tokens/s", "MF/token", "GFLOP/s", "of peak", "attention",
          "its FLOPs");
  for (int i = 0; i < VALUES && t->values[i]; i++)
    {
      struct point p = { { .rows = TOKENS / SEQ_LEN, .seq_len = SEQ_LEN, .document = SEQ_LEN }, mm_cpus_allowed () };

      bench_want (mm_config_preset ("minimind2-small", VOCAB, &p.shape.config));
      t->set (&p, t->values[i]);
      print_point (&p, t->values[i], rounds);
    }
}

int
main (int argc, char **argv)
{
  int rounds = argc > 2 ? atoi (argv[2]) : 5;
  struct mm_backend *be;
  char processor[128];

  if (rounds < 1 || rounds > MOST)
    return 64;
  bench_want (mm_backend_open ("cpu", 1, &be));
  bench_processor (processor, sizeof processor);
  printf ("%s, kernels %s, %d processors, at most %d rounds\n", processor, mm_backend_kernels (be), mm_cpus_allowed (),
          rounds);
  mm_backend_close (be);
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    if (argc < 2 || strcmp (argv[1], tables[i].name) == 0)
      print_table (&tables[i], rounds);
  return 0;
}
