/* config.c -- presets, what shapes are possible, how much they hold and cost; config.json as text.
   SPDX-License-Identifier: Apache-2.0

   Reading a config.json is in config_read.c.  */

#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl.h"

/* Source: MiniMind, model/model_minimind.py (minimind-3), and before March 2026 (minimind2).
   tiny and nano are ours, for demonstrations and tests.  */
static const struct preset
{
  const char *name;
  enum mm_architecture architecture;
  uint32_t hidden_size, n_layers, n_heads, n_kv_heads, head_dim, ffn_size;
  float rms_eps;
} presets[] = {
  { "minimind2-small", MM_LLAMA, 512, 8, 8, 2, 64, 1408, 1e-5f },
  { "minimind2", MM_LLAMA, 768, 16, 8, 2, 96, 2048, 1e-5f },
  { "minimind-3", MM_QWEN3, 768, 8, 8, 4, 96, 2432, 1e-6f },
  { "tiny", MM_LLAMA, 128, 4, 4, 2, 32, 384, 1e-5f },
  { "nano", MM_LLAMA, 16, 2, 2, 1, 8, 48, 1e-5f },
};

enum { N_PRESETS = sizeof presets / sizeof *presets };

const char *const mm_preset_names[]
  = { "minimind2-small", "minimind2", "minimind-3", "tiny", "nano", NULL };

mm_status
mm_config_preset (const char *name, uint32_t vocab_size, struct mm_model_config *c)
{
  for (size_t i = 0; i < N_PRESETS; i++)
    if (!strcmp (name, presets[i].name))
      {
        const struct preset *p = &presets[i];

        *c = (struct mm_model_config) {
          .architecture = p->architecture, .hidden_size = p->hidden_size, .n_layers = p->n_layers,
          .n_heads = p->n_heads, .n_kv_heads = p->n_kv_heads, .head_dim = p->head_dim,
          .ffn_size = p->ffn_size, .vocab_size = vocab_size, .max_positions = 32768,
          .rms_eps = p->rms_eps, .rope_theta = 1e6, .tied = true,
          .bos_id = 1, .eos_id = 2, .pad_id = 0
        };
        return mm_config_check (name, MM_EUSAGE, c);
      }
  return mm_fail (MM_EUSAGE, "%s: no such preset; there are minimind2-small, minimind2, "
                  "minimind-3, tiny and nano", name);
}

mm_status
mm_config_check (const char *name, mm_status st, const struct mm_model_config *c)
{
  const struct
  {
    const char *field;
    uint32_t value, max;
  } sizes[] = {
    { "hidden_size", c->hidden_size, 1 << 20 },
    { "num_hidden_layers", c->n_layers, 4096 },
    { "num_attention_heads", c->n_heads, 4096 },
    { "num_key_value_heads", c->n_kv_heads, 4096 },
    { "head_dim", c->head_dim, 4096 },
    { "intermediate_size", c->ffn_size, 1 << 22 },
    { "vocab_size", c->vocab_size, 1 << 24 },
    { "max_position_embeddings", c->max_positions, INT32_MAX },
  };

  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (sizes[i].value < 1 || sizes[i].value > sizes[i].max)
      return mm_fail (st, "%s: %s: want 1 to %u, found %u", name, sizes[i].field, sizes[i].max,
                      sizes[i].value);
  if (c->n_heads % c->n_kv_heads)
    return mm_fail (st,
                    "%s: num_attention_heads: want a multiple of num_key_value_heads %u, found %u",
                    name, c->n_kv_heads, c->n_heads);
  if (c->head_dim % 2)
    return mm_fail (st, "%s: head_dim: want an even number, since RoPE turns pairs, found %u", name,
                    c->head_dim);
  if (!(c->rms_eps > 0) || !isfinite (c->rms_eps))
    return mm_fail (st, "%s: rms_norm_eps: want a number above 0, found %g", name,
                    (double) c->rms_eps);
  if (!(c->rope_theta > 0) || !isfinite (c->rope_theta))
    return mm_fail (st, "%s: rope_theta: want a number above 0, found %g", name, c->rope_theta);
  return MM_OK;
}

/* ---- how much, how fast ---- */

/* Weights of the matrices of one layer.  */
static uint64_t
layer_matrices (const struct mm_model_config *c)
{
  uint64_t h = c->hidden_size;

  return h * (mm_width_qkv (c) + mm_width_out (c)) + 3 * h * c->ffn_size;
}

uint64_t
mm_config_parameters (const struct mm_model_config *c)
{
  uint64_t h = c->hidden_size, table = h * c->vocab_size;
  uint64_t norms = 2 * h + (c->architecture == MM_QWEN3 ? 2 * (uint64_t) c->head_dim : 0);

  return (c->tied ? 1 : 2) * table + c->n_layers * (layer_matrices (c) + norms) + h;
}

/* Two FLOPs a weight and token; attention's two products run over (T + 1) / 2 keys on average.  */
double
mm_config_forward_flops (const struct mm_model_config *c, size_t seq_len)
{
  double keys = ((double) seq_len + 1) / 2;
  double attention = 4 * (double) mm_width_out (c) * keys;

  return c->n_layers * (2 * (double) layer_matrices (c) + attention)
         + 2 * (double) c->hidden_size * c->vocab_size;
}

double
mm_config_train_flops (const struct mm_model_config *c, size_t seq_len)
{
  return 3 * mm_config_forward_flops (c, seq_len);
}

/* ---- config.json as text ---- */

/* X in the fewest digits that read back as the same double (SINGLE: float), with a point or an
   exponent, so that readers of JSON take it for a real number.  Written here rather than by a JSON
   library, so that the bytes of a checkpoint do not depend on that library's version.  */
static void
format_real (double x, bool single, char text[32])
{
  for (int digits = 1; digits <= 17; digits++)
    {
      snprintf (text, 32, "%.*g", digits, x);
      double back = strtod (text, NULL);
      if (single ? (float) back == (float) x : back == x)
        break;
    }
  if (!strpbrk (text, ".e"))
    strcat (text, ".0");
}

/* "12", or "null" for no token.  */
static void
format_id (int32_t id, char text[16])
{
  if (id < 0)
    strcpy (text, "null");
  else
    snprintf (text, 16, "%d", id);
}

/* Fields that only one of the two architectures has.  */
static void
write_own_fields (FILE *f, const struct mm_model_config *c)
{
  if (c->architecture == MM_LLAMA)
    {
      fputs ("  \"mlp_bias\": false,\n", f);
      return;
    }
  fprintf (f, "  \"max_window_layers\": %u,\n  \"use_sliding_window\": false,\n"
              "  \"sliding_window\": null,\n  \"layer_types\": [", c->n_layers);
  for (uint32_t l = 0; l < c->n_layers; l++)
    fprintf (f, "%s\"full_attention\"", l ? ", " : "");
  fputs ("],\n", f);
}

/* Every field is written even where it has its default: transformers' defaults differ between
   classes and versions.  rope_theta stands twice: version 4 reads the plain field, version 5 the
   object.  */
static void
write_config (FILE *f, const struct mm_model_config *c, enum mm_dtype dtype, const char *bos, const char *eos,
              const char *pad)
{
  const char *type = dtype == MM_BF16 ? "bfloat16" : dtype == MM_F16 ? "float16" : "float32";
  bool llama = c->architecture == MM_LLAMA;
  char eps[32], theta[32];

  format_real (c->rms_eps, true, eps);
  format_real (c->rope_theta, false, theta);
  fprintf (f, "{\n  \"architectures\": [\"%s\"],\n  \"model_type\": \"%s\",\n",
           llama ? "LlamaForCausalLM" : "Qwen3ForCausalLM", llama ? "llama" : "qwen3");
  fprintf (f, "  \"vocab_size\": %u,\n  \"hidden_size\": %u,\n  \"intermediate_size\": %u,\n"
              "  \"num_hidden_layers\": %u,\n  \"num_attention_heads\": %u,\n"
              "  \"num_key_value_heads\": %u,\n  \"head_dim\": %u,\n"
              "  \"max_position_embeddings\": %u,\n",
           c->vocab_size, c->hidden_size, c->ffn_size, c->n_layers, c->n_heads, c->n_kv_heads,
           c->head_dim, c->max_positions);
  fprintf (f, "  \"hidden_act\": \"silu\",\n  \"rms_norm_eps\": %s,\n  \"rope_theta\": %s,\n"
              "  \"rope_scaling\": null,\n"
              "  \"rope_parameters\": {\"rope_theta\": %s, \"rope_type\": \"default\"},\n"
              "  \"attention_bias\": false,\n  \"attention_dropout\": 0.0,\n", eps, theta, theta);
  write_own_fields (f, c);
  fprintf (f, "  \"tie_word_embeddings\": %s,\n  \"initializer_range\": 0.02,\n"
              "  \"use_cache\": true,\n  \"bos_token_id\": %s,\n  \"eos_token_id\": %s,\n"
              "  \"pad_token_id\": %s,\n  \"torch_dtype\": \"%s\",\n"
              "  \"dtype\": \"%s\"\n}\n",
           c->tied ? "true" : "false", bos, eos, pad, type, type);
}

/* Close F, an open_memstream of *TEXT; MM_ENOMEM if something could not be written.  */
static mm_status
finish_text (FILE *f, char **text)
{
  bool bad = ferror (f) != 0;

  if (fclose (f) || bad)
    {
      free (*text);
      *text = NULL;
      return mm_fail (MM_ENOMEM, "config.json: out of memory");
    }
  return MM_OK;
}

mm_status
mm_config_text (const struct mm_model_config *c, enum mm_dtype dtype, char **config, char **generation)
{
  char bos[16], eos[16], pad[16];
  size_t size;
  FILE *f;
  mm_status st;

  *config = *generation = NULL;
  format_id (c->bos_id, bos);
  format_id (c->eos_id, eos);
  format_id (c->pad_id, pad);
  f = open_memstream (config, &size);
  if (!f)
    return mm_fail_errno ("config.json");
  write_config (f, c, dtype, bos, eos, pad);
  st = finish_text (f, config);
  if (st < 0)
    return st;
  f = open_memstream (generation, &size);
  if (!f)
    st = mm_fail_errno ("generation_config.json");
  else
    {
      fprintf (f,
               "{\n  \"bos_token_id\": %s,\n  \"eos_token_id\": %s,\n  \"pad_token_id\": %s\n}\n",
               bos, eos, pad);
      st = finish_text (f, generation);
    }
  if (st < 0)
    {
      free (*config);
      *config = NULL;
    }
  return st;
}
