/* generate.c -- minimind2-small one token at a time, and its prompt, beside the machine's limits and llama.cpp.
   SPDX-License-Identifier: Apache-2.0

     bench/generate [THREADS [ROUNDS]]          default: all processors, 7

   A round: a prompt of 512 tokens, then 64 tokens one by one behind it; evaluation of a row of 512 tokens; reading as
   many bytes as the weights have, the bandwidth; llama.cpp (llama_peer.py) with the same float32 weights, prompt and
   tokens.  A token reads each weight once, and the keys and values of those before it.  Medians over rounds.
   BENCH_PYTHON names a Python that has llama_cpp and gguf.  */

#include <config.h>

#include <minimind/safetensors.h>
#include <minimind/thread.h>

#include "ours.h"
#include "peer.h"

enum { VOCAB = 6400, PROMPT = 512, TOKENS = 64, MOST = 100 };

static struct bench_ours ours;
static struct mm_session *session;
static float logits[VOCAB];

static void
feed (const int32_t *ids, size_t count)
{
  bench_want (mm_session_feed (session, ids, count, logits));
}

static double
time_prompt (void)
{
  double began = bench_clock (CLOCK_MONOTONIC);

  mm_session_truncate (session, 0);
  feed (ours.batch.ids, PROMPT);
  return bench_clock (CLOCK_MONOTONIC) - began;
}

static double
time_tokens (void)
{
  double began = bench_clock (CLOCK_MONOTONIC);

  for (int i = 0; i < TOKENS; i++)
    feed (ours.batch.ids + i, 1);
  return bench_clock (CLOCK_MONOTONIC) - began;
}

/* What a token reads, in the mean of TOKENS behind the prompt.  */
static double
token_bytes (void)
{
  const struct mm_model_config *c = mm_model_config (ours.model);
  double cached = 2.0 * c->n_layers * c->n_kv_heads * c->head_dim;

  return sizeof (float) * ((double) mm_model_size (ours.model) + cached * (PROMPT + (TOKENS + 1) / 2.0));
}

/* The model as a folder for the peer.  */
static void
write_folder (const char *folder)
{
  struct mm_safetensors_writer *w;
  char path[512], *config, *generation;
  FILE *f;

  snprintf (path, sizeof path, "%s/model.safetensors", folder);
  bench_want (mm_safetensors_create (path, false, false, &w));
  bench_want (mm_model_declare (ours.model, "", w));
  bench_want (mm_model_write (ours.model, "", mm_model_values (ours.model), w));
  bench_want (mm_safetensors_commit (w, NULL));
  bench_want (mm_config_text (mm_model_config (ours.model), MM_F32, &config, &generation));
  snprintf (path, sizeof path, "%s/config.json", folder);
  f = fopen (path, "w");
  if (!f || fputs (config, f) < 0 || fclose (f) != 0)
    exit (1);
  free (config);
  free (generation);
}

static struct bench_peer
open_peer (const char *folder, int threads)
{
  const char *srcdir = getenv ("srcdir");
  char script[4096], number[16];
  char *argv[] = { (char *) bench_python (), script, (char *) folder, number, NULL };

  snprintf (script, sizeof script, "%s/bench/llama_peer.py", srcdir ? srcdir : ".");
  snprintf (number, sizeof number, "%d", threads);
  return bench_peer_open ("llama.cpp", argv);
}

struct rounds
{
  double prompt[MOST], tokens[MOST], evaluation[MOST], bandwidth[MOST], share[MOST], prompt_to_evaluation[MOST];
  double peer_prompt[MOST], peer_tokens[MOST], ratio[MOST], prompt_ratio[MOST];
};

static void
run_round (struct rounds *r, int i, struct bench_peer *peer)
{
  const struct mm_model_config *c = mm_model_config (ours.model);
  double bytes = token_bytes (), head = 2.0 * c->hidden_size * c->vocab_size * (PROMPT - 1);
  struct mm_limits before, after;

  bench_want (mm_backend_limits (mm_model_backend (ours.model), (size_t) bytes, &before));
  r->prompt[i] = time_prompt ();
  r->tokens[i] = time_tokens ();
  r->evaluation[i] = bench_ours_evaluate (&ours);
  bench_want (mm_backend_limits (mm_model_backend (ours.model), (size_t) bytes, &after));
  r->bandwidth[i] = (before.bandwidth + after.bandwidth) / 2;
  r->share[i] = 100 * TOKENS * bytes / r->tokens[i] / r->bandwidth[i];
  /* The prompt has logits of its last token only.  */
  r->prompt_to_evaluation[i] = (ours.forward_flops - head) / r->prompt[i] / (ours.forward_flops / r->evaluation[i]);
  r->peer_prompt[i] = bench_peer_ask (peer, "prompt");
  r->peer_tokens[i] = bench_peer_ask (peer, "tokens");
  r->ratio[i] = r->peer_tokens[i] / r->tokens[i];
  r->prompt_ratio[i] = r->peer_prompt[i] / r->prompt[i];
}

/* Where the time of TOKENS tokens goes.  */
static void
print_profile (void)
{
  struct mm_backend *be = mm_model_backend (ours.model);
  double seconds;

  time_prompt ();
  mm_backend_profile_reset (be);
  seconds = time_tokens ();
  printf ("%d tokens one at a time: ", TOKENS);
  bench_profile (be, mm_backend_peak (be), 1, seconds);
}

int
main (int argc, char **argv)
{
  int threads = argc > 1 ? atoi (argv[1]) : mm_cpus_allowed (), n = argc > 2 ? atoi (argv[2]) : 7;
  struct bench_shape s = { .rows = 1, .seq_len = PROMPT, .document = PROMPT };
  static struct rounds r;
  char folder[] = "/tmp/minimind-bench.XXXXXX", command[64], processor[128];
  struct bench_peer peer;
  size_t count = (size_t) n;
  double prompt, tokens;

  if (n < 1 || n > MOST || !mkdtemp (folder))
    return 64;
  bench_want (mm_config_preset ("minimind2-small", VOCAB, &s.config));
  bench_ours_open (threads, &s, &ours);
  bench_want (mm_session_open (ours.model, PROMPT + TOKENS, &session));
  time_prompt ();
  time_tokens ();
  bench_ours_evaluate (&ours);
  write_folder (folder);
  bench_processor (processor, sizeof processor);
  printf ("%s, kernels %s, %d threads, %d rounds\n", processor, mm_backend_kernels (mm_model_backend (ours.model)),
          threads, n);
  fflush (stdout);
  peer = open_peer (folder, threads);
  bench_peer_ask (&peer, "prompt");
  for (int i = 0; i < n; i++)
    run_round (&r, i, &peer);
  bench_peer_close (&peer);
  tokens = bench_median (r.tokens, count);
  prompt = bench_median (r.prompt, count);
  printf ("one at a time: %.1f tokens/s, %.2f GB/s of weights, keys and values, %.1f%% of the %.2f GB/s at which "
          "memory is read\n",
          TOKENS / tokens, 1e-9 * token_bytes () * TOKENS / tokens, bench_median (r.share, count),
          1e-9 * bench_median (r.bandwidth, count));
  printf ("prompt: %.1f tokens/s, %.2f of evaluation's FLOP/s\n", PROMPT / prompt,
          bench_median (r.prompt_to_evaluation, count));
  if (r.peer_tokens[0] > 0)
    printf ("llama.cpp: %.1f tokens/s one at a time, ratio %.2f; prompt %.1f, ratio %.2f\n",
            TOKENS / bench_median (r.peer_tokens, count), bench_median (r.ratio, count),
            PROMPT / bench_median (r.peer_prompt, count), bench_median (r.prompt_ratio, count));
  print_profile ();
  mm_session_close (session);
  bench_ours_close (&ours);
  snprintf (command, sizeof command, "rm -r %s", folder);
  return system (command) != 0;
}
