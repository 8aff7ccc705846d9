/* params.c -- the parameter table, and parameters from and to files.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/files.h>
#include <minimind/model.h>
#include <minimind/random.h>

#include "scratch.h"
#include "../tap.h"

static struct mm_backend *be;

static struct mm_model *
make (enum mm_architecture architecture, bool tied)
{
  const struct mm_model_config c = {
    .architecture = architecture, .hidden_size = 12, .n_layers = 2, .n_heads = 4, .n_kv_heads = 2,
    .head_dim = 6, .ffn_size = 10, .vocab_size = 17, .max_positions = 64, .rms_eps = 1e-5f,
    .rope_theta = 1e4, .tied = tied, .bos_id = 1, .eos_id = 2, .pad_id = 0
  };
  struct mm_model *m;

  if (mm_model_create (be, &c, &m) < 0)
    {
      fprintf (stderr, "%s\n", mm_error_message ());
      exit (99);
    }
  return m;
}

/* The parameters on the host; the caller frees.  */
static float *
values_of (struct mm_model *m)
{
  size_t bytes = mm_model_size (m) * sizeof (float);
  float *x = malloc (bytes);

  if (!x || mm_backend_get (be, x, mm_model_values (m), bytes) < 0)
    exit (99);
  return x;
}

static bool
same_values (struct mm_model *m, const float *x)
{
  float *y = values_of (m);
  bool same = !memcmp (x, y, mm_model_size (m) * sizeof *x);

  free (y);
  return same;
}

/* ---- the table ---- */

static bool
is_param (const struct mm_model *m, size_t i, const char *name, int n_dims, size_t rows,
          size_t cols)
{
  const struct mm_param *p = mm_model_param (m, i);

  return !strcmp (p->name, name) && p->n_dims == n_dims && p->rows == rows && p->cols == cols
         && p->size == rows * cols;
}

static void
test_table (void)
{
  for (int k = 0; k < 4; k++)
    {
      struct mm_model *m = make (k & 1 ? MM_QWEN3 : MM_LLAMA, k & 2);
      size_t at = 0, n = mm_model_n_params (m), a_layer = k & 1 ? 11 : 9;
      bool dense = true;

      for (size_t i = 0; i < n; i++)
        {
          dense &= mm_model_param (m, i)->offset == at;
          at += mm_model_param (m, i)->size;
        }
      ok (n == 2 * a_layer + (k & 2 ? 2 : 3), "number of tensors");
      ok (dense && at == mm_model_size (m), "no gaps");
      ok (at == mm_config_parameters (mm_model_config (m)), "as many as the configuration says");
      ok (is_param (m, 0, "model.embed_tokens.weight", 2, 17, 12), "embedding");
      ok (is_param (m, 1, "model.layers.0.input_layernorm.weight", 1, 1, 12)
          && is_param (m, 2, "model.layers.0.self_attn.q_proj.weight", 2, 24, 12)
          && is_param (m, 3, "model.layers.0.self_attn.k_proj.weight", 2, 12, 12)
          && is_param (m, 4, "model.layers.0.self_attn.v_proj.weight", 2, 12, 12), "q, k, v");
      ok (!(k & 1) || (is_param (m, 5, "model.layers.0.self_attn.q_norm.weight", 1, 1, 6)
                       && is_param (m, 6, "model.layers.0.self_attn.k_norm.weight", 1, 1, 6)),
          "head norms");
      ok (is_param (m, a_layer - 4, "model.layers.0.self_attn.o_proj.weight", 2, 12, 24)
          && is_param (m, a_layer - 3, "model.layers.0.post_attention_layernorm.weight", 1, 1, 12)
          && is_param (m, a_layer - 2, "model.layers.0.mlp.gate_proj.weight", 2, 10, 12)
          && is_param (m, a_layer - 1, "model.layers.0.mlp.up_proj.weight", 2, 10, 12)
          && is_param (m, a_layer, "model.layers.0.mlp.down_proj.weight", 2, 12, 10),
          "the rest of a layer");
      ok (is_param (m, 2 * a_layer, "model.layers.1.mlp.down_proj.weight", 2, 12, 10)
          && is_param (m, 2 * a_layer + 1, "model.norm.weight", 1, 1, 12), "final norm");
      ok (k & 2 || is_param (m, n - 1, "lm_head.weight", 2, 17, 12), "head");
      mm_model_free (m);
    }
}

static void
test_create (void)
{
  struct mm_model_config c;
  struct mm_model *m;

  ok (mm_config_preset ("nano", 320, &c) == MM_OK, "nano");
  c.n_kv_heads = 0;
  ok (mm_model_create (be, &c, &m) == MM_EINVAL && !m, "an impossible configuration");
  mm_model_free (NULL);
}

static void
test_init (void)
{
  struct mm_model *m = make (MM_QWEN3, false), *other = make (MM_QWEN3, false);
  const struct mm_param *q = mm_model_param (m, 2);
  float *x, want[24 * 12];
  bool ones = true;
  double sum = 0, squares = 0, n = 0;

  ok (mm_model_init (m, 42) == MM_OK && mm_model_init (other, 42) == MM_OK, "random start");
  x = values_of (m);
  ok (same_values (other, x), "twice the same");
  ok (mm_model_init (other, 43) == MM_OK && !same_values (other, x), "another seed");
  mm_normal (42, MM_RANDOM_INIT, 2, 0, q->size, 0.02, want);
  ok (!memcmp (want, x + q->offset, sizeof want), "the stream of a tensor is its index");
  for (size_t i = 0; i < mm_model_n_params (m); i++)
    for (const float *v = x + mm_model_param (m, i)->offset, *end = v + mm_model_param (m, i)->size;
         v < end; v++)
      if (mm_model_param (m, i)->n_dims == 1)
        ones &= *v == 1;
      else
        {
          sum += *v;
          squares += (double) *v * *v;
          n++;
        }
  ok (ones, "norms are ones");
  ok (fabs (sum / n) < 5 * 0.02 / sqrt (n)
      && fabs (sqrt (squares / n) - 0.02) < 5 * 0.02 / sqrt (2 * n),
      "matrices are N(0, 0.02)");
  free (x);
  mm_model_free (m);
  mm_model_free (other);
}

/* ---- files ---- */

/* How a file differs from the model's own.  */
struct change
{
  const char *drop;             /* leave this tensor out */
  const char *add;              /* a tensor more, of 3 elements */
  const char *bend;             /* this one transposed, or longer by 2 */
  bool head, other_head;        /* lm_head.weight as well: the embedding again, or with a change */
  const char *rename, *to;
  enum mm_dtype dtype;          /* MM_F32, MM_BF16 or MM_F16 */
};

static void
must (mm_status st)
{
  if (st < 0)
    {
      fprintf (stderr, "params: %s\n", mm_error_message ());
      exit (99);
    }
}

/* X's floats as 16-bit numbers; exact, since they are powers of two and 1.5 times them.  */
static void
narrow (const float *x, size_t n, enum mm_dtype dtype, uint16_t *y)
{
  for (size_t i = 0; i < n; i++)
    {
      uint32_t bits;

      memcpy (&bits, &x[i], sizeof bits);
      if (dtype == MM_BF16)
        y[i] = (uint16_t) (bits >> 16);
      else
        y[i] = (uint16_t) ((bits >> 16 & 0x8000) | ((((bits >> 23) & 0xff) - 112) << 10)
                           | (bits >> 13 & 0x3ff));
    }
}

static void
put_tensor (struct mm_safetensors_writer *w, bool write, const char *name, enum mm_dtype dtype,
            int n_dims, const uint64_t *shape, const float *x)
{
  size_t n = (size_t) (n_dims == 2 ? shape[0] * shape[1] : shape[0]);
  uint16_t *half = malloc ((n + 1) * sizeof *half);

  if (!half)
    exit (99);
  if (!write)
    must (mm_safetensors_declare (w, name, dtype, n_dims, shape));
  else if (dtype == MM_F32)
    must (mm_safetensors_write (w, name, x, n * sizeof *x));
  else
    {
      narrow (x, n, dtype, half);
      must (mm_safetensors_write (w, name, half, n * sizeof *half));
    }
  free (half);
}

/* Parameters FIRST to LAST - 1 of M as FILE, with the change C.  */
static void
write_part (const char *file, struct mm_model *m, size_t first, size_t last, const struct change *c)
{
  struct mm_safetensors_writer *w;
  float *x = values_of (m), *head = values_of (m);
  const struct mm_param *e = mm_model_param (m, 0);

  must (mm_safetensors_create (file, true, true, &w));
  head[e->size - 1] += c->other_head;
  for (int write = 0; write < 2; write++)
    {
      for (size_t i = first; i < last; i++)
        {
          const struct mm_param *p = mm_model_param (m, i);
          uint64_t shape[2] = { p->n_dims == 2 ? p->rows : p->cols, p->cols };
          const char *name = c->rename && !strcmp (p->name, c->rename) ? c->to : p->name;

          if (c->drop && !strcmp (p->name, c->drop))
            continue;
          if (c->bend && !strcmp (p->name, c->bend) && p->n_dims == 2)
            {
              shape[0] = p->cols;
              shape[1] = p->rows;
            }
          else if (c->bend && !strcmp (p->name, c->bend))
            shape[0] -= 2;
          put_tensor (w, write, name, c->dtype, p->n_dims, shape, x + p->offset);
        }
      if (c->add)
        put_tensor (w, write, c->add, MM_F32, 1, (uint64_t[]) { 3 }, x);
      if (c->head || c->other_head)
        put_tensor (w, write, "lm_head.weight", c->dtype, 2, (uint64_t[]) { e->rows, e->cols }, head);
    }
  must (mm_safetensors_commit (w, NULL));
  free (x);
  free (head);
}

/* Read FILE into a zeroed model like M.  */
static mm_status
read_back (const char *file, bool tied, struct mm_model **m)
{
  struct mm_safetensors *f;
  mm_status st;

  *m = make (MM_LLAMA, tied);
  must (mm_safetensors_open (file, &f));
  st = mm_model_read (*m, f);
  mm_safetensors_close (f);
  return st;
}

/* A model whose parameters are exact in 16 bits.  */
static struct mm_model *
make_filled (bool tied)
{
  struct mm_model *m = make (MM_LLAMA, tied);
  size_t n = mm_model_size (m);
  float *x = malloc (n * sizeof *x);

  if (!x)
    exit (99);
  for (size_t i = 0; i < n; i++)
    x[i] = ldexpf (i % 3 ? 1 : -1.5f, -(int) (i * 7 % 13));
  must (mm_backend_put (be, mm_model_values (m), x, n * sizeof *x));
  must (mm_model_refresh (m));
  free (x);
  return m;
}

static void
test_read (void)
{
  static const char embed[] = "model.embed_tokens.weight";
  static const struct
  {
    const char *name;
    bool tied;
    struct change change;
    mm_status st;
    const char *says;           /* NULL: reads the same values */
  } cases[] = {
    { "tied", true, { .dtype = MM_F32 }, MM_OK, NULL },
    { "untied", false, { .dtype = MM_F32 }, MM_OK, NULL },
    { "BF16", true, { .dtype = MM_BF16 }, MM_OK, NULL },
    { "F16", false, { .dtype = MM_F16 }, MM_OK, NULL },
    { "tied, both names", true, { .head = true, .dtype = MM_F32 }, MM_OK, NULL },
    { "tied, the head's name alone", true,
      { .rename = embed, .to = "lm_head.weight", .dtype = MM_F32 }, MM_OK, NULL },
    { "tied, names that disagree", true, { .other_head = true, .dtype = MM_F32 }, MM_EFORMAT,
      "differs" },
    { "old RoPE buffers", true,
      { .add = "model.layers.0.self_attn.rotary_emb.inv_freq", .dtype = MM_F32 }, MM_OK, NULL },
    { "missing", true, { .drop = "model.layers.1.mlp.up_proj.weight", .dtype = MM_F32 }, MM_EFORMAT,
      "missing: model.layers.1.mlp.up_proj.weight" },
    { "untied, no head", false, { .drop = "lm_head.weight", .dtype = MM_F32 }, MM_EFORMAT,
      "missing: lm_head.weight" },
    { "extra", true, { .add = "model.layers.2.bias", .dtype = MM_F32 }, MM_EFORMAT,
      "model.layers.2.bias" },
    { "missing and extra", true, { .rename = "model.norm.weight", .to = "norm", .dtype = MM_F32 },
      MM_EFORMAT, "missing: model.norm.weight; not of this model: norm" },
    { "a matrix transposed", true, { .bend = "model.layers.0.mlp.down_proj.weight", .dtype = MM_F32 },
      MM_ESHAPE, "model.layers.0.mlp.down_proj.weight: want [12,10], found [10,12]" },
    { "a vector too short", true, { .bend = "model.norm.weight", .dtype = MM_F32 }, MM_ESHAPE,
      "model.norm.weight: want [12], found [10]" },
  };

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
      struct mm_model *m = make_filled (cases[i].tied), *back;
      float *x = values_of (m);

      write_part ("model.safetensors", m, 0, mm_model_n_params (m), &cases[i].change);
      ok (read_back ("model.safetensors", cases[i].tied, &back) == cases[i].st
          && (cases[i].says ? strstr (mm_error_message (), cases[i].says)
                              && strstr (mm_error_message (), "model.safetensors")
                            : same_values (back, x)), cases[i].name);
      mm_model_free (back);
      mm_model_free (m);
      free (x);
    }
}

/* A file of nothing that fits: the message is cut off with a count.  */
static void
test_many_missing (void)
{
  struct mm_model *m = make_filled (true), *back;
  const struct change add = { .add = "x", .dtype = MM_F32 };

  write_part ("empty.safetensors", m, 0, 0, &add);
  ok (read_back ("empty.safetensors", true, &back) == MM_EFORMAT
      && strstr (mm_error_message (), "missing: model.embed_tokens.weight, ")
      && strstr (mm_error_message (), " more; not of this model: x"),
      "a long list is cut with a count");
  mm_model_free (back);
  mm_model_free (m);
}

static void
test_write (void)
{
  struct mm_model *m = make_filled (false), *back;
  struct mm_safetensors_writer *w;
  struct mm_safetensors *f;
  float *x = values_of (m);
  char prefix[300] = "";

  must (mm_safetensors_create ("w.safetensors", true, true, &w));
  ok (mm_model_declare (m, "", w) == MM_OK && mm_model_write (m, "", x, w) == MM_OK
      && mm_safetensors_commit (w, NULL) == MM_OK, "written");
  ok (read_back ("w.safetensors", false, &back) == MM_OK && same_values (back, x),
      "reads back the same");
  must (mm_safetensors_create ("w.safetensors", true, true, &w));
  ok (mm_model_declare (m, "m.", w) == MM_OK && mm_model_write (m, "m.", x, w) == MM_OK
      && mm_safetensors_commit (w, NULL) == MM_OK, "written with a prefix");
  must (mm_safetensors_open ("w.safetensors", &f));
  ok (mm_safetensors_count (f) == mm_model_n_params (m)
      && mm_safetensors_find (f, "m.lm_head.weight"),
      "the prefix stands before each name");
  mm_safetensors_close (f);
  memset (prefix, 'p', sizeof prefix - 1);
  must (mm_safetensors_create ("w.safetensors", true, true, &w));
  ok (mm_model_declare (m, prefix, w) == MM_EINVAL && mm_model_write (m, prefix, x, w) == MM_EINVAL,
      "a prefix that is too long");
  mm_safetensors_abort (w);
  mm_model_free (back);
  mm_model_free (m);
  free (x);
}

/* ---- folders ---- */

static void
put_text (const char *file, const char *text)
{
  scratch_put (file, text, strlen (text));
}

/* config.json of M.  */
static void
put_config (const char *dir, const struct mm_model *m)
{
  char *config, *generation, *path = mm_path_join (dir, "config.json");

  must (mm_config_text (mm_model_config (m), MM_F32, &config, &generation));
  put_text (path, config);
  free (path);
  free (config);
  free (generation);
}

/* An index that sends the first HALF parameters to one shard, the rest to another; WRONG, if any, is
   named as the shard of parameter 0.  */
static void
put_index (const char *file, const struct mm_model *m, size_t half, const char *wrong)
{
  FILE *f = fopen (file, "w");

  if (!f)
    exit (99);
  fputs ("{\"metadata\": {\"total_size\": 1}, \"weight_map\": {", f);
  for (size_t i = 0; i < mm_model_n_params (m); i++)
    fprintf (f, "%s\"%s\": \"%s\"", i ? ", " : "", mm_model_param (m, i)->name,
             i == 0 && wrong ? wrong : i < half ? "a.safetensors" : "b.safetensors");
  fputs ("}}", f);
  if (fclose (f))
    exit (99);
}

static void
test_shards (struct mm_model *m, const float *x)
{
  static const char index[] = "d/model.safetensors.index.json";
  static const struct
  {
    const char *name, *wrong, *says;
    mm_status st;
  } cases[] = {
    { "an index that names another shard", "b.safetensors", "model.embed_tokens.weight", MM_EFORMAT },
    { "a shard that is not there", "c.safetensors", "c.safetensors", MM_ENOENT },
    { "a shard outside of the folder", "../d/a.safetensors", "../d/a.safetensors", MM_EFORMAT },
    { "a shard without a name", "", "weight_map", MM_EFORMAT },
  };
  const struct change same = { .dtype = MM_F32 }, more = { .add = "x", .dtype = MM_F32 };
  size_t n = mm_model_n_params (m), half = n / 2;
  struct mm_model *back;

  write_part ("d/a.safetensors", m, 0, half, &same);
  write_part ("d/b.safetensors", m, half, n, &same);
  put_index (index, m, half, NULL);
  ok (mm_model_open (be, "d", &back) == MM_OK && same_values (back, x), "two shards");
  mm_model_free (back);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
      put_index (index, m, half, cases[i].wrong);
      ok (mm_model_open (be, "d", &back) == cases[i].st && !back
          && strstr (mm_error_message (), cases[i].says), cases[i].name);
    }
  put_index (index, m, half, NULL);
  write_part ("d/b.safetensors", m, half, n, &more);
  ok (mm_model_open (be, "d", &back) == MM_EFORMAT && !back
      && strstr (mm_error_message (), "x stands in b.safetensors"),
      "a tensor that the index does not know");
  write_part ("d/b.safetensors", m, half + 1, n, &same);
  ok (mm_model_open (be, "d", &back) == MM_EFORMAT && !back
      && strstr (mm_error_message (), "is not in b.safetensors"),
      "a tensor that its shard does not hold");
  put_text (index, "{\"weight_map\": {}}");
  ok (mm_model_open (be, "d", &back) == MM_EFORMAT && !back, "an empty index");
  put_text (index, "{}");
  ok (mm_model_open (be, "d", &back) == MM_EFORMAT && !back, "an index of nothing");
}

static void
test_open (void)
{
  const struct change same = { .dtype = MM_F32 };
  struct mm_model *m = make_filled (true), *back;
  struct mm_model_config huge = *mm_model_config (m);
  float *x = values_of (m);
  char *config, *generation;

  mkdir ("d", 0700);
  ok (mm_model_open (be, "d", &back) == MM_ENOENT && !back
      && strstr (mm_error_message (), "config.json"), "a folder without config.json");
  put_config ("d", m);
  ok (mm_model_open (be, "d", &back) == MM_ENOENT && !back
      && strstr (mm_error_message (), "model.safetensors.index.json"), "a folder without weights");
  test_shards (m, x);
  write_part ("d/model.safetensors", m, 0, mm_model_n_params (m), &same);
  ok (mm_model_open (be, "d", &back) == MM_OK && same_values (back, x)
      && mm_model_backend (back) == be && mm_model_config (back)->head_dim == 6,
      "one file comes before an index");
  mm_model_free (back);

  /* Terabytes by its claim: refused before memory is taken.  */
  huge.hidden_size = 1 << 20;
  huge.ffn_size = 1 << 22;
  must (mm_config_text (&huge, MM_F32, &config, &generation));
  put_text ("d/config.json", config);
  ok (mm_model_open (be, "d", &back) == MM_ESHAPE && !back
      && strstr (mm_error_message (), "model.embed_tokens.weight"),
      "a configuration that claims too much");
  free (config);
  free (generation);
  put_text ("d/model.safetensors", "short");
  ok (mm_model_open (be, "d", &back) == MM_EFORMAT && !back, "a damaged file");
  mm_model_free (m);
  free (x);
}

int
main (void)
{
  must (mm_backend_open ("cpu", 2, &be));
  scratch_enter ();
  test_table ();
  test_create ();
  test_init ();
  test_read ();
  test_many_missing ();
  test_write ();
  test_open ();
  mm_backend_close (be);
  return tap_done ();
}
