/* describe.c -- what --dry-run prints: the run's sizes before anything is done.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <minimind/log.h>
#include <minimind/ops.h>

#include "trainer.h"

/* Parameters by part of the model.  */
struct parts
{
  uint64_t embedding, attention, feed_forward, norms, head;     /* head 0: it is the embedding */
};

static struct parts
count_parts (const struct mm_model_config *c)
{
  uint64_t h = c->hidden_size, hd = c->head_dim, layers = c->n_layers;
  struct parts p;

  p.embedding = (uint64_t) c->vocab_size * h;
  p.attention = layers * (2 * c->n_heads * hd * h + 2 * c->n_kv_heads * hd * h);
  p.feed_forward = layers * 3 * h * c->ffn_size;
  p.head = c->tied ? 0 : p.embedding;
  p.norms = mm_config_parameters (c) - p.embedding - p.attention - p.feed_forward - p.head;
  return p;
}

static uint64_t
count_trained (const struct mm_trainer *t)
{
  return t->lora.parameters ? t->lora.parameters : mm_config_parameters (&t->shape);
}

static void
print_part (const char *name, uint64_t parameters, double flops)
{
  if (parameters)
    printf ("  %-22s %14" PRIu64, name, parameters);
  else
    printf ("  %-22s %14s", name, "");
  if (flops > 0)
    printf (" %12.2f", 1e-6 * flops);
  putchar ('\n');
}

/* A multiplication with each weight costs 2 FLOPs forward and 4 backward, or 2 where it is frozen; what a frozen model
   saves beyond that is attention's.  */
static void
print_parameters (const struct mm_trainer *t)
{
  const struct mm_model_config *c = &t->shape;
  struct parts p = count_parts (c);
  double a_weight = t->lora.parameters ? 4 : 6, adapter = t->lora.adapter_flops, all = mm_trainer_token_flops (t);
  double feed_forward = a_weight * (double) p.feed_forward, head = a_weight * (double) p.embedding;
  double scores = mm_config_train_flops (c, t->plan.seq_len)
                  - 6 * (double) (p.attention + p.feed_forward + p.embedding);

  printf ("model                        parameters  MFLOP/token\n");
  print_part ("embedding", p.embedding, 0);
  print_part ("attention matrices", p.attention, all - scores - feed_forward - head - adapter);
  print_part ("attention scores", 0, scores);
  print_part ("feed-forward", p.feed_forward, feed_forward);
  print_part ("norms", p.norms, 0);
  print_part (c->tied ? "head (the embedding)" : "head", p.head, head);
  if (t->lora.parameters)
    print_part ("adapter, trained alone", t->lora.parameters, adapter);
  print_part ("total", mm_config_parameters (c) + t->lora.parameters, all);
}

static uint64_t
print_bytes (const char *name, uint64_t bytes)
{
  char text[32];

  printf ("  %-36s %10s\n", name, mm_format_bytes (bytes, text));
  return bytes;
}

static bool
is_small (const struct mm_trainer *t)
{
  return mm_pass_is_small (t->plan.order.micro_batch, t->plan.seq_len);
}

/* What the CPU's kernels take while they work: logits of a piece of the rows, the largest matrix packed for backward
   unless all are, and blocks of matrices for each thread, as measured.  tests/cli/memory.sh holds the total against
   a run's.  */
static uint64_t
kernel_bytes (const struct mm_trainer *t)
{
  const uint64_t thread = 2600000;
  const struct mm_model_config *c = &t->shape;
  size_t rows = t->plan.order.micro_batch * t->plan.seq_len;
  uint64_t outputs = c->vocab_size > 2 * (uint64_t) c->ffn_size ? c->vocab_size : 2 * (uint64_t) c->ffn_size;
  uint64_t weight = is_small (t) ? 0 : outputs * c->hidden_size * sizeof (float);

  return mm_head_loss_bytes (rows, c->vocab_size) + weight + thread * (uint64_t) t->config->compute.threads;
}

/* What a rank sees of the others' gradients, BYTES each, in memory that they share: it adds up its part.  With ZeRO
   it also fetches their moments there for a save, half of which lie elsewhere, and their parameters through the
   staging.  */
static uint64_t
seen_of_others (const struct mm_trainer *t, uint64_t bytes)
{
  uint64_t ranks = (uint64_t) mm_comm_local_size (t->comm), parts = bytes / ranks * (ranks - 1);

  return t->config->zero ? parts + parts / 2 + ranks * MM_COMM_STAGING : parts;
}

/* Of each rank, where there are several.  */
static void
print_memory (const struct mm_trainer *t)
{
  const struct mm_model_config *c = &t->shape;
  struct parts p = count_parts (c);
  uint64_t n = count_trained (t), all = mm_config_parameters (c) + t->lora.parameters, total = 0;
  uint64_t packed = (p.attention + p.feed_forward + p.embedding + t->lora.parameters) * (is_small (t) ? 2 : 1);
  uint64_t grad = n * sizeof (int64_t), floats = t->config->fast ? n * sizeof (float) : 0;
  size_t from = 0, to = (size_t) n;

  if (t->config->zero)
    mm_comm_part (t->comm, 0, (size_t) n, MM_GRAD_BLOCK, &from, &to);
  printf (mm_comm_size (t->comm) > 1 ? "memory    of each rank\n" : "memory\n");
  total += print_bytes ("parameters, float32", all * sizeof (float));
  total += print_bytes ("weights packed for multiplication", packed * sizeof (float));
  total += print_bytes ("moments m and v, float32", 2 * (to - from) * sizeof (float));
  total += print_bytes ("gradient, 64-bit fixed point", grad);
  if (mm_comm_size (t->comm) > 1 && floats)
    total += print_bytes ("gradient, float32, to be summed", floats);
  if (mm_comm_local_size (t->comm) > 1)
    total += print_bytes ("seen of other ranks, shared", seen_of_others (t, grad + floats));
  total += print_bytes ("activations of a micro-batch",
                        mm_pass_bytes (c, t->plan.order.micro_batch, t->plan.seq_len, true, t->lora.width));
  total += print_bytes ("buffers of the kernels, all threads", kernel_bytes (t));
  print_bytes ("total", total);
}

static void
print_plan (const struct mm_trainer *t)
{
  const struct mm_plan *p = &t->plan;
  const struct mm_schedule *s = &p->schedule;
  char text[MM_PLAN_TEXT];

  printf ("data      %s of %s to train on, %" PRIu64 " to validate\n", MM_COUNT (p->order.rows, "row"),
          MM_COUNT (p->seq_len, "token"), mm_dataset_rows (t->data, MM_VALIDATION));
  printf ("batch     %s; %s\n", mm_plan_equation (p, text), MM_COUNT (p->step_tokens, "token"));
  printf ("run       %s; an epoch has %" PRIu64 "\n", MM_COUNT (s->total, "step"), p->windows);
  printf ("rate      %g, %s to %g, warm-up %s\n", s->peak, mm_schedule_names[s->kind],
          mm_schedule_rate (s, s->total - 1), MM_COUNT (s->warmup, "step"));
}

/* The least time that the arithmetic takes on this machine.  */
static mm_status
print_time (const struct mm_trainer *t)
{
  const struct mm_compute *compute = &t->config->compute;
  double flops = mm_trainer_token_flops (t) * (double) t->plan.step_tokens;
  struct mm_backend *be = NULL;
  mm_status st = mm_backend_open (compute->backend, compute->threads, &be);
  double peak;
  char step[32], all[32];

  if (st < 0)
    return st;
  peak = mm_backend_peak (be) * t->plan.world_size;
  printf ("time      %.3g TFLOP a step; at the FMA peak of %.0f GFLOP/s a step takes %s, the run %s\n",
          1e-12 * flops, 1e-9 * peak, mm_format_seconds (flops / peak, step),
          mm_format_seconds (flops / peak * (double) t->plan.schedule.total, all));
  mm_backend_close (be);
  return MM_OK;
}

/* Step folders and their size: a new one is complete before an old one goes.  */
static void
print_files (const struct mm_trainer *t)
{
  const struct mm_train_config *c = t->config;
  uint64_t total = t->plan.schedule.total, saves = c->save_every ? (total - 1) / c->save_every + 1 : 1;
  uint64_t kept = c->keep && (uint64_t) c->keep < saves ? (uint64_t) c->keep : saves;
  uint64_t bytes = 3 * sizeof (float) * count_trained (t);
  const char *out = c->output ? c->output : "OUT";
  char one[32], all[32];

  printf ("files     %s/step-%08" PRIu64 " at the end; %s, %" PRIu64 " kept, %s each: %s at most\n", out, total,
          MM_COUNT (saves, "checkpoint"), kept, mm_format_bytes (bytes, one),
          mm_format_bytes ((kept + (saves > kept)) * bytes, all));
  printf ("          each with %s, tokenizer.json,\n"
          "          tokenizer_config.json, optimizer.safetensors, trainer.json, MANIFEST\n",
          t->lora.parameters ? "adapter_config.json, adapter_model.safetensors"
                             : "config.json, generation_config.json, model.safetensors");
  printf ("          %s/latest, %s/log/metrics.jsonl, %s/log/events.jsonl, TensorBoard events in %s/log\n",
          out, out, out, out);
}

mm_status
mm_trainer_describe (const struct mm_trainer *t)
{
  mm_status st;

  print_parameters (t);
  print_memory (t);
  print_plan (t);
  st = print_time (t);
  print_files (t);
  return st;
}
