/* lora.c -- adapters: which layers, how they start, one set of bits for all kernels and threads, generation.
   What they compute is checked against PEFT by tests/interop/model.
   SPDX-License-Identifier: Apache-2.0  */

#include <math.h>

#include <minimind/lora.h>

#include "ops.h"
#include "small_model.h"

enum { ROWS = 2, LENGTH = 40, EVERY = 17 };

static const unsigned all = (1u << MM_LORA_TARGETS) - 1;

static void
test_targets (void)
{
  static const struct { const char *list; unsigned set; } good[] = {
    { "all-linear", (1u << MM_LORA_TARGETS) - 1 },
    { "q", 1u << MM_LORA_Q },
    { "v_proj,q_proj", 1u << MM_LORA_Q | 1u << MM_LORA_V },
    { "gate,up_proj,down", 1u << MM_LORA_GATE | 1u << MM_LORA_UP | 1u << MM_LORA_DOWN },
    { "q,k,v,o,gate,up,down", (1u << MM_LORA_TARGETS) - 1 },
    { "q,q", 1u << MM_LORA_Q },
    { "q,all-linear", (1u << MM_LORA_TARGETS) - 1 }
  };
  static const char *const bad[] = { "", "q,", ",q", "x", "q_", "q_pro", "q_projx", "q v", "all", "lm_head",
                                     "q,k,v,o,gate,up,down,x", "all-linear," };
  unsigned set;

  for (size_t i = 0; i < N_ELEMENTS (good); i++)
    ok (mm_lora_targets (good[i].list, &set) == MM_OK && set == good[i].set, good[i].list);
  for (size_t i = 0; i < N_ELEMENTS (bad); i++)
    ok (mm_lora_targets (bad[i], &set) == MM_EUSAGE && strstr (mm_error_message (), "q_proj"),
        *bad[i] ? bad[i] : "no target");
  ok (strcmp (mm_lora_target_name (MM_LORA_DOWN), "down_proj") == 0, "names");
}

static void
test_targets_text (void)
{
  char text[MM_LORA_TARGETS_TEXT];
  unsigned set;
  bool same = true;

  for (unsigned i = 1; i <= all; i++)
    same = same && mm_lora_targets (mm_lora_targets_text (i, text), &set) == MM_OK && set == i;
  ok (same, "each set as text is read as it was");
  ok (strcmp (mm_lora_targets_text (1u << MM_LORA_V | 1u << MM_LORA_Q, text), "q_proj,v_proj") == 0, "in order");
}

/* FLOPs of training an adapter of RANK on SET on a token, counted by matrix: two forward, two for the gradient of the
   input, but below the first attention, two for an adapter's own gradient.  */
static double
count_flops (const struct mm_model_config *c, uint32_t rank, unsigned set, size_t seq_len)
{
  double h = c->hidden_size, q = (double) c->n_heads * c->head_dim, kv = (double) c->n_kv_heads * c->head_dim;
  double f = c->ffn_size, in[] = { h, h, h, q, h, h, f }, out[] = { q, kv, kv, h, f, f, h };
  double sum = 4 * h * c->vocab_size;

  for (uint32_t l = 0; l < c->n_layers; l++)
    {
      for (int t = 0; t < MM_LORA_TARGETS; t++)
        {
          bool first = l == 0 && t <= MM_LORA_V;

          sum += (first ? 2 : 4) * in[t] * out[t];
          if (set & 1u << t)
            sum += rank * (in[t] * (first ? 4 : 6) + 6 * out[t]);
        }
      sum += 3 * 2 * 2 * q * ((double) seq_len + 1) / 2;
    }
  return sum;
}

static void
test_sizes (struct mm_backend *be)
{
  static const unsigned sets[] = { (1u << MM_LORA_TARGETS) - 1, 1u << MM_LORA_Q | 1u << MM_LORA_V, 1u << MM_LORA_DOWN };
  static const size_t widths[] = { 3, 2, 1 };   /* in ranks: q, k and v share an input */
  struct mm_lora_sizes s;
  struct mm_model_config c;

  for (int i = 0; i < 2; i++)
    for (size_t k = 0; k < N_ELEMENTS (sets); k++)
      {
        struct mm_model *m = small_model (be, &small_configs[i]);
        double want = count_flops (&small_configs[i], 2, sets[k], LENGTH);

        must (mm_lora_create (m, 2, 1, sets[k], 1));
        ok (mm_lora_attached (m) && mm_lora_measure (&small_configs[i], 2, sets[k], LENGTH, &s) == MM_OK
            && s.parameters == mm_model_trained (m).size && s.width == 2 * widths[k], "the sizes of an adapter");
        ok (fabs (s.train_flops - want) < 1e-9 * want && s.adapter_flops > 0, "its arithmetic");
        mm_model_free (m);
      }
  ok (mm_lora_measure (&small_configs[0], 7, all, LENGTH, &s) == MM_EUSAGE, "a rank that is too large has none");
  must (mm_config_preset ("minimind2-small", 6400, &c));
  must (mm_lora_measure (&c, 8, all, 512, &s));
  ok (fabs (mm_config_train_flops (&c, 512) / s.train_flops - 1.413) < 0.001,
      "minimind2-small: 1.41 times less than training the whole model");
  ok ((double) s.parameters < 0.03 * (double) mm_config_parameters (&c), "and under 3% of the gradient");
}

static void
test_errors (struct mm_backend *be)
{
  struct mm_model *m = small_model (be, &small_configs[0]);
  struct mm_lora_module none[2 * MM_LORA_TARGETS] = { { 0, 0 } };
  struct mm_lora_module wide[2 * MM_LORA_TARGETS] = { [MM_LORA_K] = { 7, 1 } };

  ok (mm_lora_create (m, 0, 1, all, 1) == MM_EUSAGE, "rank 0");
  ok (mm_lora_create (m, 2, 0, all, 1) == MM_EUSAGE, "alpha 0");
  ok (mm_lora_create (m, 2, NAN, all, 1) == MM_EUSAGE, "alpha not a number");
  ok (mm_lora_create (m, 7, 1, all, 1) == MM_EUSAGE && strstr (mm_error_message (), "k_proj"),
      "a rank beyond the width of k");
  ok (mm_lora_create (m, 2, 1, 0, 1) == MM_EUSAGE, "no target");
  ok (mm_lora_attach (m, none) == MM_EINVAL, "no module");
  ok (mm_lora_attach (m, wide) == MM_EINVAL, "a module that is too wide");
  ok (mm_model_trained (m).size == mm_model_size (m), "all parameters are trained without an adapter");
  ok (mm_lora_create (m, 2, 1, all, 1) == MM_OK, "an adapter");
  ok (mm_lora_create (m, 2, 1, all, 1) == MM_EUSAGE, "a second one");
  mm_model_free (m);
}

/* The parameters of a fresh adapter: names, places, A uniform, B zero.  */
static void
test_start (struct mm_backend *be)
{
  struct mm_model *m = small_model (be, &small_configs[1]);
  unsigned set = 1u << MM_LORA_Q | 1u << MM_LORA_V | 1u << MM_LORA_DOWN;
  bool started = mm_lora_create (m, 3, 6, set, 5) == MM_OK;
  struct mm_params p = mm_model_trained (m);
  size_t at = 0;
  bool dense = true, uniform = true, zero = true;
  double largest = 0;

  ok (started && p.count == 2 * 3 * 2, "two matrices for each module");
  for (size_t i = 0; i < p.count; i++)
    {
      const struct mm_param *x = &p.param[i];
      bool is_a = strstr (x->name, "lora_A") != NULL;

      dense = dense && x->offset == at && x->size == x->rows * x->cols && (is_a ? x->rows : x->cols) == 3;
      at += x->size;
      for (size_t k = 0; k < x->size; k++)
        {
          double v = fabs ((double) p.values[x->offset + k]) * sqrt ((double) x->cols);

          uniform = uniform && (!is_a || v <= 1);
          zero = zero && (is_a || v == 0);
          largest = is_a && v > largest ? v : largest;
        }
    }
  ok (dense && at == p.size, "they lie side by side");
  ok (uniform && largest > 0.9, "A is uniform within 1 / sqrt (in)");
  ok (zero, "B is zero");
  ok (strcmp (p.param[p.count - 2].name, "base_model.model.model.layers.1.mlp.down_proj.lora_A.weight") == 0,
      "names");
  ok (mm_lora_module (m, 0, MM_LORA_V).rank == 3 && mm_lora_module (m, 0, MM_LORA_V).scale == 2
      && mm_lora_module (m, 0, MM_LORA_K).rank == 0, "modules");
  mm_model_free (m);
}

/* A model with an adapter of which nothing is zero.  */
static struct mm_model *
adapted (struct mm_backend *be, const struct mm_model_config *c)
{
  struct mm_model *m = small_model (be, c);
  struct mm_params p;

  must (mm_lora_create (m, 3, 2.1, all & ~(1u << MM_LORA_K), 5));
  p = mm_model_trained (m);
  mm_normal (9, MM_RANDOM_TEST, 0, 0, p.size, 0.2, p.values);
  must (mm_model_refresh_trained (m));
  return m;
}

static float *
logits_of (struct mm_model *m, const struct mm_batch *b)
{
  float *logits = test_alloc (b->rows * b->seq_len * mm_model_config (m)->vocab_size, sizeof *logits);
  struct mm_pass *p;

  must (mm_pass_create (m, b->rows, b->seq_len, false, &p));
  must (mm_model_logits (p, b, logits));
  mm_pass_free (p);
  return logits;
}

/* A fresh adapter changes nothing; one that was trained does.  */
static void
test_effect (struct mm_backend *be)
{
  const struct mm_model_config *c = &small_configs[0];
  size_t size = ROWS * LENGTH * c->vocab_size * sizeof (float);
  struct mm_batch b = small_batch (ROWS, LENGTH, 0, c->vocab_size, EVERY);
  struct mm_model *plain = small_model (be, c), *fresh = small_model (be, c);
  struct mm_model *trained = adapted (be, c);
  float *want, *same, *other;

  must (mm_lora_create (fresh, 4, 8, all, 1));
  want = logits_of (plain, &b);
  same = logits_of (fresh, &b);
  other = logits_of (trained, &b);
  ok (memcmp (want, same, size) == 0, "a fresh adapter changes no bit");
  ok (memcmp (want, other, size) != 0, "a trained one does");
  free (want), free (same), free (other);
  mm_model_free (plain), mm_model_free (fresh), mm_model_free (trained);
  mm_batch_free (&b);
}

/* The gradient of a micro-batch; the caller frees.  */
static int64_t *
gradient_of (struct mm_backend *be, const struct mm_model_config *c, size_t *size)
{
  struct mm_model *m = adapted (be, c);
  struct mm_batch b = small_batch (ROWS, LENGTH, 0, c->vocab_size, EVERY);
  int64_t *grad;
  struct mm_loss loss = { 0 };
  struct mm_pass *p;

  *size = mm_model_trained (m).size;
  grad = test_alloc (*size, sizeof *grad);
  must (mm_pass_create (m, ROWS, LENGTH, true, &p));
  must (mm_model_gradient (p, &b, grad, &loss, NULL));
  mm_pass_free (p);
  mm_model_free (m);
  mm_batch_free (&b);
  return grad;
}

/* The bits of the definition, by one thread.  */
static int64_t *expected[2];

static bool
check_bits (struct mm_backend *be)
{
  bool good = true;

  for (int i = 0; i < 2; i++)
    {
      size_t size;
      int64_t *grad = gradient_of (be, &small_configs[i], &size);

      good = good && memcmp (grad, expected[i], size * sizeof *grad) == 0;
      free (grad);
    }
  return good;
}

static void
test_bits (void)
{
  struct mm_backend *be;
  size_t size;

  setenv ("MM_CPU", "generic", 1);
  be = test_backend ();
  for (int i = 0; i < 2; i++)
    expected[i] = gradient_of (be, &small_configs[i], &size);
  mm_backend_close (be);
  test_everywhere ("gradients of adapters", check_bits);
  free (expected[0]), free (expected[1]);
}

/* Token by token, the bits of a pass.  */
static void
test_generation (struct mm_backend *be)
{
  struct mm_model *m = adapted (be, &small_configs[1]);
  uint32_t vocab = mm_model_config (m)->vocab_size;
  struct mm_batch b = small_batch (1, LENGTH, 0, vocab, 0);
  float *want = logits_of (m, &b), *logits = test_alloc (vocab, sizeof *logits);
  struct mm_session *s;
  bool same = true;

  must (mm_session_open (m, LENGTH, &s));
  for (size_t t = 0; t < LENGTH; t++)
    {
      must (mm_session_feed (s, b.ids + t, 1, logits));
      same = same && memcmp (logits, want + t * vocab, vocab * sizeof *logits) == 0;
    }
  ok (same, "generation with an adapter has the bits of a pass");
  mm_session_close (s);
  mm_model_free (m);
  mm_batch_free (&b);
  free (want), free (logits);
}

int
main (void)
{
  struct mm_backend *be = test_backend ();

  test_targets ();
  test_targets_text ();
  test_sizes (be);
  test_errors (be);
  test_start (be);
  test_effect (be);
  test_bits ();
  test_generation (be);
  mm_backend_close (be);
  return tap_done ();
}
