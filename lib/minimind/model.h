/* model.h -- the transformer: parameters, forward, backward, generation.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MINIMIND_MODEL_H
#define MINIMIND_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/backend.h>
#include <minimind/batch.h>
#include <minimind/error.h>
#include <minimind/hash.h>
#include <minimind/model_config.h>
#include <minimind/safetensors.h>

/* ---- parameters ---- */

/* One tensor, HuggingFace's name and shape.  All lie in one flat float32 buffer without gaps, in the
   order: embedding; for each layer input norm, q, k, v, (q norm, k norm,) o, post-attention norm, gate,
   up, down; final norm; head if untied.  So q, k, v are one matrix, and gate, up.  */
struct mm_param
{
  char name[96];                /* "model.layers.0.self_attn.q_proj.weight" */
  int n_dims;                   /* 1 or 2 */
  size_t rows, cols;            /* rows 1 when n_dims is 1 */
  size_t offset, size;          /* elements in the flat buffer */
};

struct mm_model;                /* opaque */

/* A model on BE with all parameters zero: init, read or refresh it before the first pass.  BE must outlive it.
   MM_EINVAL if C is impossible.  */
mm_status mm_model_create (struct mm_backend *be, const struct mm_model_config *c, struct mm_model **m) MM_NODISCARD;
void mm_model_free (struct mm_model *m);        /* accepts NULL */

struct mm_backend *mm_model_backend (const struct mm_model *m);
const struct mm_model_config *mm_model_config (const struct mm_model *m);
size_t mm_model_n_params (const struct mm_model *m);    /* tensors */
const struct mm_param *mm_model_param (const struct mm_model *m, size_t i);
size_t mm_model_size (const struct mm_model *m);        /* elements in the flat buffer */
float *mm_model_values (struct mm_model *m);            /* the flat buffer, device memory */

/* Parameters that lie in one flat buffer.  */
struct mm_params
{
  const struct mm_param *param;
  size_t count, size;           /* tensors; elements of the buffer */
  float *values;                /* device memory */
};

/* What training changes: all parameters, or those of the adapter (lora.h).  Gradients, moments and updates
   have this layout.  Borrowed from M, until an adapter is attached.  */
struct mm_params mm_model_trained (const struct mm_model *m);

/* Random start: matrices N(0, 0.02), norms 1, by (SEED, index of the tensor); refreshed.  */
mm_status mm_model_init (struct mm_model *m, uint64_t seed) MM_NODISCARD;

/* Read the parameters from FILE (model.safetensors; F32, F16, BF16), refreshed.  Strict: missing, extra and
   mis-shaped tensors are listed (MM_ESHAPE when only shapes are wrong, else MM_EFORMAT).  A tied model's
   embedding may stand there as model.embed_tokens.weight, as lm_head.weight or as both, which must be equal
   then.  Old Llama files' rotary_emb.inv_freq is passed over.  */
mm_status mm_model_read (struct mm_model *m, const struct mm_safetensors *file) MM_NODISCARD;

/* Open a HuggingFace model folder (config.json, model.safetensors or sharded with an index), create the
   model on BE and read it.  The statuses of mm_config_read and mm_model_read; MM_ENOENT without weights;
   MM_EFORMAT when index and shards disagree.  */
mm_status mm_model_open (struct mm_backend *be, const char *dir, struct mm_model **m) MM_NODISCARD;

/* SHA-256 of the parameters as little-endian float32 in the order of the table: what the model is, however its
   files are cut or stored.  TEXT as in hash.h.  */
mm_status mm_model_sha256 (struct mm_model *m, char text[MM_SHA256_TEXT]) MM_NODISCARD;

/* Declare and write the trained parameters (or another flat buffer of the same layout, VALUES on the host, names
   prefixed by PREFIX) into W.  */
mm_status mm_model_declare (const struct mm_model *m, const char *prefix,
                            struct mm_safetensors_writer *w) MM_NODISCARD;
mm_status mm_model_write (const struct mm_model *m, const char *prefix, const float *values,
                          struct mm_safetensors_writer *w) MM_NODISCARD;

/* Call after a flat buffer changed, before the next pass: after any, or after the trained one.  */
mm_status mm_model_refresh (struct mm_model *m) MM_NODISCARD;
mm_status mm_model_refresh_trained (struct mm_model *m) MM_NODISCARD;

/* ---- training and evaluation passes ---- */

/* Memory for passes over at most ROWS sequences of SEQ_LEN: one arena.  TRAINING: with what gradients need.
   MM_EINVAL for no tokens or too many.  */
struct mm_pass;
mm_status mm_pass_create (struct mm_model *m, size_t rows, size_t seq_len, bool training,
                          struct mm_pass **p) MM_NODISCARD;
void mm_pass_free (struct mm_pass *p);          /* accepts NULL */

/* Whether a training pass has so few tokens that packing weights for each product of backward would take long: then
   mm_pass_create has the model keep them packed for both directions, which takes as much memory again.  */
bool mm_pass_is_small (size_t rows, size_t seq_len);

/* Bytes of device memory that mm_pass_create would take: for --dry-run.  LORA_WIDTH: the largest sum of ranks at
   one input (q, k, v; gate, up) of an adapter, 0 without one.  */
size_t mm_pass_bytes (const struct mm_model_config *c, size_t rows, size_t seq_len, bool training,
                      size_t lora_width);

struct mm_loss
{
  int64_t sum;                  /* fixed point, steps of 2^-34 nats, over target tokens */
  uint64_t n_targets;
  int overflow;                 /* not 0: some loss or gradient was non-finite or out of range */
};

/* The passes take micro-batches up to the size of P, an empty one too.  MM_ESHAPE beyond it, MM_EINVAL for a
   token or target beyond the vocabulary; after a failure *LOSS and GRAD are unspecified.

   Forward only: *LOSS is added to.  LOSSES [rows*seq_len] (unless NULL) gets each token's loss.  */
mm_status mm_model_evaluate (struct mm_pass *p, const struct mm_batch *b, struct mm_loss *loss,
                             float *losses) MM_NODISCARD;

/* Forward and backward: adds to *LOSS, and the fixed-point gradient to GRAD [mm_model_trained's size], device
   memory.  SECONDS[2] (unless NULL) grows by the forward's and the backward's time; the head, whose loss and
   gradient are one operation, counts as backward.  MM_EINVAL when P is not for training.  */
mm_status mm_model_gradient (struct mm_pass *p, const struct mm_batch *b, int64_t *grad,
                             struct mm_loss *loss, double *seconds) MM_NODISCARD;

/* While mm_model_gradient works, it calls FN (ARG, FROM): what it adds to the elements of GRAD from FROM up is queued,
   so that they are final once the backend has done it (mm_backend_sync; at once on the CPU), if the micro-batch is
   the last.  FROM falls from call to call, at least once a layer; what is below the last is final when
   mm_model_gradient returns.  A failure of FN ends the pass with its status.  FN NULL: no more.  */
typedef mm_status mm_pass_final_fn (void *arg, size_t from);
void mm_pass_on_final (struct mm_pass *p, mm_pass_final_fn *fn, void *arg);

/* Forward only, all logits: LOGITS [rows*seq_len, vocab] on the host.  For tests and small inputs.  */
mm_status mm_model_logits (struct mm_pass *p, const struct mm_batch *b, float *logits) MM_NODISCARD;

/* ---- generation ---- */

/* A sequence under way with its keys and values, room for MAX_TOKENS (MM_EINVAL unless 1 to 2^31 - 1).  */
struct mm_session;
mm_status mm_session_open (struct mm_model *m, size_t max_tokens, struct mm_session **s) MM_NODISCARD;
void mm_session_close (struct mm_session *s);   /* accepts NULL */

size_t mm_session_length (const struct mm_session *s);  /* tokens so far */
void mm_session_truncate (struct mm_session *s, size_t length); /* forget what came after */

/* Append COUNT tokens; LOGITS [vocab] on the host gets those after the last one.  The bits do not depend on
   how the tokens are cut into calls, and are those of mm_model_logits.  MM_EUSAGE beyond max_tokens,
   MM_EINVAL for a COUNT of 0 or an id beyond the vocabulary; the sequence is then as before.  */
mm_status mm_session_feed (struct mm_session *s, const int32_t *ids, size_t count, float *logits) MM_NODISCARD;

/* How the next token is chosen.  */
struct mm_sampling
{
  double temperature;           /* 0: greedy, the lowest id of the largest logit */
  int top_k;                    /* 0: all */
  double top_p;                 /* 1: all; smallest set of most likely tokens reaching this share */
  uint64_t seed;
};

/* The INDEX-th token of a sequence from LOGITS [n]; SCRATCH and ORDER hold n elements.  top_k comes first,
   top_p counts the probability of those left (as HuggingFace's warpers do); equal logits rank by id.  NaN
   and -inf are never chosen; -1 if no finite logit is the largest: the model is damaged.  */
int32_t mm_sample (const struct mm_sampling *s, const float *logits, size_t n, uint64_t index,
                   float *scratch, int32_t *order);

#endif /* MINIMIND_MODEL_H */
