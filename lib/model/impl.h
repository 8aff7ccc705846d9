/* impl.h -- what the files of lib/model share.  Private to lib/model.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MODEL_IMPL_H
#define MODEL_IMPL_H

#include <jansson.h>

#include <minimind/lora.h>
#include <minimind/memory.h>
#include <minimind/model.h>
#include <minimind/ops.h>

/* MM_OK if C can be built at all: heads that divide, an even head_dim, numbers within the limits
   under which no product of sizes overflows.  Otherwise ST, saying "NAME: FIELD: ...".  */
mm_status mm_config_check (const char *name, mm_status st,
                           const struct mm_model_config *c) MM_NODISCARD;

/* One decoder layer: where its parameters begin in the flat buffer (elements), and the matrices
   prepared for multiplication.  */
struct mm_layer
{
  size_t in_norm, qkv, q_norm, k_norm, out, mid_norm, gate_up, down;
  struct mm_weight *w_qkv, *w_out, *w_gate_up, *w_down;
};

/* The linear layers of a decoder layer, as they are multiplied.  */
enum mm_site
{
  MM_SITE_QKV, MM_SITE_OUT, MM_SITE_GATE_UP, MM_SITE_DOWN,
  MM_SITES
};

/* The adapter of a target, a part of its site.  */
struct mm_lora_part
{
  enum mm_lora_target target;
  size_t rank;
  float scale;
  size_t a, b;                  /* elements in the adapter's flat buffer */
  size_t u;                     /* its first column in the site's [n, rank] */
  size_t y, out;                /* its first column of the site's output, and how many */
  struct mm_weight *w_b;
};

struct mm_lora_site
{
  struct mm_lora_part parts[3];
  size_t n_parts, rank;         /* rank: the sum of the parts' */
  size_t in;                    /* inputs */
  size_t a;                     /* where the A of all parts begin */
  struct mm_weight *w_a;        /* [rank, in]; NULL without parts */
};

struct mm_lora
{
  struct mm_lora_site *sites;   /* n_layers * MM_SITES */
  size_t n_sites;
  struct mm_param *params;
  size_t n_params, size, widest;        /* tensors; elements; the largest rank of a site */
  float *values;                /* the flat buffer, device memory */
};

struct mm_model
{
  struct mm_backend *be;
  struct mm_model_config config;
  struct mm_param *params;
  size_t n_params;              /* tensors */
  size_t size;                  /* elements */
  float *values;                /* the flat buffer, device memory; the embedding stands at 0 */
  struct mm_layer *layers;      /* n_layers */
  size_t final_norm, head;      /* offsets; the head's is 0 when it is the embedding */
  struct mm_weight *w_head;
  struct mm_lora *lora;         /* NULL: all parameters are trained */
};

/* Tensors that a model of this shape has.  */
size_t mm_params_count (const struct mm_model_config *c);

/* Fill m->params (room for mm_params_count), m->size and the offsets in m and m->layers.  */
void mm_params_layout (struct mm_model *m);

/* The files that hold a model together: one, or the shards of a folder.  */
struct mm_weight_files
{
  const char *name;             /* for messages */
  const struct mm_safetensors *const *file;
  size_t count;
};

/* mm_model_create in two parts: the tables, which are small; then the memory that they ask for.  */
mm_status mm_model_tables (struct mm_backend *be, const struct mm_model_config *c, struct mm_model **m) MM_NODISCARD;
mm_status mm_model_allocate (struct mm_model *m) MM_NODISCARD;

/* mm_weight_keep_columns for all weights that gradients pass through, an adapter's too.  */
mm_status mm_model_keep_columns (struct mm_model *m) MM_NODISCARD;
mm_status mm_lora_keep_columns (struct mm_model *m) MM_NODISCARD;       /* an adapter's alone */

/* Do the files hold just the tensors of M?  It need not have memory yet.  */
mm_status mm_model_check_files (const struct mm_model *m,
                                const struct mm_weight_files *f) MM_NODISCARD;

/* mm_model_read from several files.  */
mm_status mm_model_read_files (struct mm_model *m, const struct mm_weight_files *f) MM_NODISCARD;

/* Widths of a layer: q and k together, q, k and v, attention's output.  */
static inline size_t
mm_width_qk (const struct mm_model_config *c)
{
  return ((size_t) c->n_heads + c->n_kv_heads) * c->head_dim;
}

static inline size_t
mm_width_kv (const struct mm_model_config *c)
{
  return 2 * (size_t) c->n_kv_heads * c->head_dim;
}

/* Heads of keys and of values.  */
static inline size_t
mm_cache_planes (const struct mm_model_config *c)
{
  return 2 * (size_t) c->n_kv_heads;
}

static inline size_t
mm_width_out (const struct mm_model_config *c)
{
  return (size_t) c->n_heads * c->head_dim;
}

static inline size_t
mm_width_qkv (const struct mm_model_config *c)
{
  return mm_width_out (c) + mm_width_kv (c);
}

/* What a layer keeps of a pass, device memory, one row a token.  For training each layer has its
   own; otherwise all layers share one, and in = mid is the residual stream.  */
struct mm_layer_memory
{
  float *in, *in_rms;           /* [n, H], [n]: the residual stream that enters */
  float *qkv;                   /* [n, qkv]: q, k (both turned, unless HEADS is used) and v */
  float *q_rms, *k_rms;         /* [n * heads]: Qwen3 */
  float *out;                   /* [n, heads * hd]: attention's output */
  float *stats;                 /* [2 * n * heads]: of attention's softmax */
  float *mid, *mid_rms;         /* [n, H], [n]: the residual stream after attention */
  float *gate_up;               /* [n, 2F] */
  float *u;                     /* MM_SITES times [n, lora_width]: inside an adapter; NULL without one */
};

/* A pass over N tokens: its inputs (host) and its memory (device).  */
struct mm_run
{
  struct mm_model *model;
  size_t n;
  const int32_t *ids, *positions;
  const struct mm_segment *segments;
  size_t n_segments;

  struct mm_layer_memory *layers;       /* n_layers */
  float *last, *last_rms;       /* [n, H], [n]: the residual stream after all layers */
  float *normed;                /* [n, H]: what the last norm gave; in backward also its gradient */
  float *ffn;                   /* [n, F]: the feed-forward's inner activation */
  float *heads;                 /* [n, qkv]: q and k, normed and turned, where the raw ones are kept
                                   for backward (Qwen3); NULL: normed and turned in place */
  float *cosines, *sines;       /* [table_rows, hd/2] */
  size_t table_rows;

  float *d_u;                   /* [n, lora_width]: gradient of what is inside an adapter */
  size_t lora_width;            /* the largest rank of a site; 0 without an adapter */

  mm_pass_final_fn *final;      /* told how far gradients are final; NULL: nobody */
  void *final_arg;

  float *d;                     /* [n, H]: gradient of the residual stream */
  float *d_qkv, *d_out, *d_qk;  /* [n, ...]: gradients on the way through attention, in ffn's
                                   memory, d_qkv over heads; d_qk for Qwen3 alone */

  /* Generation: keys, then values, of the PAST tokens of the one document, [n_kv_heads, capacity, hd] each for each
     layer, so that those of a head are read in one stream; NULL in passes over whole documents.  ROW_NUMBERS (host)
     is 0, 1, 2, ... of as many as N and mm_cache_planes.  */
  float *cache;
  size_t capacity, past;
  const int32_t *row_numbers;
};

/* Cut the memory of a pass over N tokens out of A: the members of run->layers and the buffers
   above, those for backward only when TRAINING.  Set table_rows and lora_width before.  Measures when A
   does.  */
void mm_run_layout (struct mm_run *run, const struct mm_model_config *c, size_t n, bool training,
                    struct mm_arena *a);

/* Put RoPE's tables for run->table_rows positions into run->cosines and run->sines.  */
mm_status mm_run_rope_tables (struct mm_run *run) MM_NODISCARD;

/* Embedding and all layers; the residual stream ends in run->last.  */
mm_status mm_run_layers (const struct mm_run *run) MM_NODISCARD;

/* run->normed = RMSNorm of X [n, H] by the weight at OFFSET; or of COUNT rows of run->last from
   FIRST on by the final norm's.  */
mm_status mm_run_norm (const struct mm_run *run, float *x, size_t offset, float *rms) MM_NODISCARD;
mm_status mm_run_final_norm (const struct mm_run *run, size_t first, size_t count) MM_NODISCARD;

/* Views of a pass's memory.  */
struct mm_qkv
{
  struct mm_mat q, k, v;
};
struct mm_mat mm_run_stream (const struct mm_run *run, float *data);    /* [n, H] */
struct mm_mat mm_run_out (const struct mm_run *run, float *data);       /* [n, heads * hd] */
struct mm_mat mm_run_gate_up (const struct mm_run *run, size_t l);
struct mm_mat mm_run_ffn (const struct mm_run *run);
struct mm_qkv mm_run_split (const struct mm_run *run, float *data);     /* of [n, qkv] */

/* q, k and v of layer L as attention wants them, normed and turned.  AGAIN, in backward: only what
   was not done in place is to be done.  */
mm_status mm_run_qkv (const struct mm_run *run, size_t l, bool again,
                      struct mm_qkv *h) MM_NODISCARD;

/* RoPE on QK [n, q and k], or its gradient.  */
mm_status mm_run_turn (const struct mm_run *run, struct mm_mat qk, bool grad) MM_NODISCARD;

/* From run->d, the gradient of run->last's norm's output, down to the embedding: adds to the
   fixed-point GRAD all but the head's and the embedding's.  DW has room for a norm's gradient.
   run->d ends as the gradient of the embedding's rows.  */
mm_status mm_run_backward (const struct mm_run *run, int64_t *grad, float *dw,
                           int *overflow) MM_NODISCARD;

/* ---- adapters ---- */

/* Inputs and outputs of TARGET.  */
void mm_lora_shape (const struct mm_model_config *c, enum mm_lora_target target, size_t *in, size_t *out);

/* Sites and parameter table for a model of shape C, without device memory.  As mm_lora_attach.  */
mm_status mm_lora_layout (const struct mm_model_config *c, const struct mm_lora_module *modules,
                          struct mm_lora **lora) MM_NODISCARD;
void mm_lora_free_layout (struct mm_lora *lora);        /* accepts NULL */

/* The part of TARGET in LAYER, or NULL.  */
const struct mm_lora_part *mm_lora_part (const struct mm_lora *lora, size_t layer,
                                         enum mm_lora_target target);

/* "self_attn.q_proj": where the target stands in a layer; the site it is a part of.  */
const char *mm_lora_target_path (enum mm_lora_target target);
enum mm_site mm_lora_target_site (enum mm_lora_target target);

/* adapter_config.json (NAME in messages): refuse what changes the mathematics in other ways than by A and B; then the
   scale of the module called MODULE ("model.layers.0.self_attn.q_proj") with RANK.  */
mm_status mm_adapter_config_check (const char *name, const json_t *config) MM_NODISCARD;
mm_status mm_adapter_config_scale (const char *name, const json_t *config, const char *module, uint32_t rank,
                                   float *scale) MM_NODISCARD;

/* The text of one for the adapter of M; the caller frees.  */
mm_status mm_adapter_config_text (const struct mm_model *m, char **text) MM_NODISCARD;

void mm_lora_free (struct mm_model *m);         /* accepts a model without one */
mm_status mm_lora_refresh (struct mm_model *m) MM_NODISCARD;

/* y = W x (+ residual) + s B (A x) at SITE of layer L, whose matrix is W.  */
mm_status mm_lora_linear (const struct mm_run *run, size_t l, enum mm_site site, struct mm_mat x,
                          const struct mm_weight *w, struct mm_mat residual, struct mm_mat y) MM_NODISCARD;

/* run->d_u = s (B^T dy), which the two below need: dx = W^T dy + A^T d_u, and the gradients of A and B.  */
mm_status mm_lora_grad_inner (const struct mm_run *run, size_t l, enum mm_site site,
                              struct mm_mat dy) MM_NODISCARD;
mm_status mm_lora_grad_input (const struct mm_run *run, size_t l, enum mm_site site, struct mm_mat dy,
                              const struct mm_weight *w, struct mm_mat dx) MM_NODISCARD;
mm_status mm_lora_grad_weight (const struct mm_run *run, size_t l, enum mm_site site, struct mm_mat dy,
                               struct mm_mat x, int64_t *grad, int *overflow) MM_NODISCARD;

static inline struct mm_heads
mm_run_heads (const struct mm_run *run)
{
  const struct mm_model_config *c = &run->model->config;

  return (struct mm_heads) { c->n_heads, c->n_kv_heads, c->head_dim, run->cache ? run->capacity * c->head_dim : 0 };
}

static inline struct mm_mat
mm_no_mat (void)
{
  return (struct mm_mat) { NULL, 0, 0, 0 };
}

#endif /* MODEL_IMPL_H */
