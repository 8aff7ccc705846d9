/* ranks.c -- what ranks tell each other before they train, and whether they hold the same parameters.
   SPDX-License-Identifier: Apache-2.0

   Ranks that would part ways later are told so at once: other options, another version, another dataset.  */

#include <config.h>

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <minimind/hash.h>
#include <minimind/log.h>
#include <minimind/memory.h>
#include <minimind/topology.h>

#include "trainer.h"

/* ---- facts that must be the same ---- */

enum { DIGEST = 16 };           /* digits of a SHA-256 that are compared */

/* All ranks' digests of this rank's TEXT, an array of mm_comm_size strings without ends.  */
static mm_status
gather_digests (struct mm_comm *c, const char *text, char *digests)
{
  char sha256[MM_SHA256_TEXT];
  mm_status st = mm_sha256_bytes (text, strlen (text), sha256);

  if (st < 0)
    return st;
  memcpy (digests + (size_t) mm_comm_rank (c) * DIGEST, sha256, DIGEST);
  return mm_comm_all_gather (c, digests, (size_t) mm_comm_size (c), DIGEST, 1);
}

/* What the first rank that differs from rank 0 says, and what rank 0 does.  */
static mm_status
fail_differs (struct mm_comm *c, const char *what, const char *text, int rank)
{
  char theirs[512], first[512];
  mm_status st;

  snprintf (theirs, sizeof theirs, "%s", text);
  snprintf (first, sizeof first, "%s", text);
  st = mm_comm_broadcast (c, theirs, sizeof theirs, rank);
  if (st == MM_OK)
    st = mm_comm_broadcast (c, first, sizeof first, 0);
  if (st < 0)
    return st;
  return mm_fail (MM_ECONFLICT, "rank %d has another %s than rank 0: found %s, want %s", rank, what, theirs, first);
}

mm_status
mm_ranks_same (struct mm_comm *c, const char *what, const char *text)
{
  char *digests;
  int differs = 0;
  mm_status st;

  if (mm_comm_size (c) == 1)
    return MM_OK;
  st = mm_alloc ("digests", (size_t) mm_comm_size (c), DIGEST, &digests);
  if (st < 0)
    return st;
  st = gather_digests (c, text, digests);
  for (int r = mm_comm_size (c) - 1; r > 0 && st == MM_OK; r--)
    if (memcmp (digests, digests + (size_t) r * DIGEST, DIGEST) != 0)
      differs = r;
  free (digests);
  if (st == MM_OK && differs)
    st = mm_comm_agree (c, fail_differs (c, what, text, differs));
  return st;
}

/* Options that decide which calls ranks make, or what they compute.  */
static void
options_text (const struct mm_train_config *c, char *text, size_t size)
{
  snprintf (text, size, "--global-batch=%" PRIu64 " --micro-batch=%" PRIu64 " --steps=%" PRIu64 " --epochs=%g"
            " --stop-after=%" PRIu64 " --save-every=%" PRIu64 " --eval-every=%" PRIu64 " --sample-every=%" PRIu64
            " --check-replicas=%" PRIu64 " --zero=%d --reduce=%s --bucket-mb=%" PRIu64 " --seed=%" PRIu64 "%s%s",
            c->global_batch, c->micro_batch, c->steps, c->epochs, c->stop_after, c->save_every, c->eval_every,
            c->sample_every, c->check_replicas, c->zero, c->fast ? "fast" : "exact", c->bucket_mb, c->compute.seed,
            c->balance ? " --balance" : "", c->dry_run ? " --dry-run" : "");
}

mm_status
mm_ranks_same_program (struct mm_comm *c, const struct mm_train_config *config)
{
  char text[512];
  mm_status st;

  snprintf (text, sizeof text, "%s, numerics %d", PACKAGE_VERSION, MM_NUMERICS_VERSION);
  st = mm_ranks_same (c, "version", text);
  options_text (config, text, sizeof text);
  return st == MM_OK ? mm_ranks_same (c, "command line", text) : st;
}

/* ---- the table ---- */

struct place
{
  char host[64];
  cpu_set_t cpus;
  char cpus_text[40];
  int threads;
  char device[32];
};

/* What "auto" is here, too; a backend that does not open is refused later.  */
static void
fill_device (const char *backend, struct place *p)
{
  struct mm_backend *be;
  mm_status st = mm_backend_open (backend, 1, &be);

  snprintf (p->device, sizeof p->device, "%s", st == MM_OK ? mm_backend_name (be) : backend);
  if (st == MM_OK)
    mm_backend_close (be);
}

static void
fill_place (const struct mm_trainer *t, struct place *p)
{
  memset (p, 0, sizeof *p);
  if (gethostname (p->host, sizeof p->host - 1) < 0)
    strcpy (p->host, "?");
  if (sched_getaffinity (0, sizeof p->cpus, &p->cpus) < 0)
    CPU_ZERO (&p->cpus);
  mm_topology_cpus (p->cpus_text, sizeof p->cpus_text);
  p->threads = t->config->compute.threads;
  fill_device (t->config->compute.backend, p);
}

/* Threads of the ranks on the host of PLACES[R] against its processors that they may use; once a host.  */
static void
warn_crowded (const struct place *places, int n, int r)
{
  cpu_set_t all;
  int threads = 0, ranks = 0, cpus;

  CPU_ZERO (&all);
  for (int i = 0; i < n; i++)
    if (strcmp (places[i].host, places[r].host) == 0)
      {
        if (i < r)
          return;
        CPU_OR (&all, &all, &places[i].cpus);
        threads += places[i].threads;
        ranks++;
      }
  cpus = CPU_COUNT (&all);
  if (cpus > 0 && cpus < ranks)
    mm_warn ("%s: %d ranks on %d processor%s: as many ranks as processors would be as fast", places[r].host, ranks,
             cpus, cpus == 1 ? "" : "s");
  else if (cpus > 0 && threads > cpus)
    mm_warn ("%s: %d ranks with %d threads together on %d processors: --threads=%d fits", places[r].host, ranks,
             threads, cpus, cpus / ranks);
}

static void
show_places (const struct place *places, int n)
{
  enum { SHOWN = 64 };

  for (int r = 0; r < n && r < SHOWN; r++)
    mm_info ("rank %d  %s  processors %s  %d thread%s  %s", r, places[r].host, places[r].cpus_text,
             places[r].threads, places[r].threads == 1 ? "" : "s", places[r].device);
  if (n > SHOWN)
    mm_info ("... and %d more", n - SHOWN);
  for (int r = 0; r < n; r++)
    if (places[r].threads > CPU_COUNT (&places[r].cpus) && CPU_COUNT (&places[r].cpus) > 0)
      mm_warn ("rank %d: %d threads on %d processor%s (%s): --threads=%d, or bind it to more (mpirun --bind-to none,"
               " minimind-launch --no-pin)", r, places[r].threads, CPU_COUNT (&places[r].cpus),
               CPU_COUNT (&places[r].cpus) == 1 ? "" : "s", places[r].cpus_text, CPU_COUNT (&places[r].cpus));
    else
      warn_crowded (places, n, r);
}

static void
show_topology (void)
{
  struct mm_topology *t;
  char text[256];

  if (mm_topology_open (&t) < 0)
    mm_verbose ("%s", mm_error_message ());
  else
    mm_info ("rank 0 may use %s", mm_topology_text (t, text, sizeof text));
  mm_topology_close (t);
}

mm_status
mm_ranks_show (struct mm_trainer *t)
{
  int n = mm_comm_size (t->comm);
  struct place *places;
  mm_status st;

  if (n == 1)
    return MM_OK;
  st = mm_alloc ("places of ranks", (size_t) n, sizeof *places, &places);
  if (st < 0)
    return st;
  fill_place (t, &places[mm_comm_rank (t->comm)]);
  st = mm_comm_all_gather (t->comm, places, (size_t) n, sizeof *places, 1);
  if (st == MM_OK && mm_comm_rank (t->comm) == 0)
    {
      mm_info ("%d ranks, transport %s", n, mm_comm_name (t->comm));
      show_places (places, n);
      show_topology ();
    }
  free (places);
  return st;
}

/* ---- replicas ---- */

/* An adapter's tensors follow the model's: the frozen ones must not differ either.  */
static size_t
count_tensors (const struct mm_trainer *t)
{
  return mm_model_n_params (t->model) + (mm_lora_attached (t->model) ? mm_model_trained (t->model).count : 0);
}

/* Tensor I; *VALUES its buffer.  */
static const struct mm_param *
tensor (const struct mm_trainer *t, size_t i, float **values)
{
  size_t n = mm_model_n_params (t->model);

  *values = i < n ? mm_model_values (t->model) : mm_model_trained (t->model).values;
  return i < n ? mm_model_param (t->model, i) : &mm_model_trained (t->model).param[i - n];
}

/* Digests of this rank's tensors into MINE [count_tensors].  */
static mm_status
digest_tensors (struct mm_trainer *t, uint64_t *mine)
{
  mm_status st = MM_OK;

  for (size_t i = 0; i < count_tensors (t) && st == MM_OK; i++)
    {
      float *values;
      const struct mm_param *p = tensor (t, i, &values);
      char sha256[MM_SHA256_TEXT];

      values = mm_backend_host (t->backend, values);
      st = mm_sha256_bytes (values + p->offset, p->size * sizeof *values, sha256);
      sha256[16] = '\0';
      mine[i] = st == MM_OK ? strtoull (sha256, NULL, 16) : 0;
    }
  return st;
}

/* The digest that most ranks have of the tensor in column I; the lowest rank's among equals.  */
static uint64_t
majority (const uint64_t *all, int ranks, size_t n_params, size_t i)
{
  uint64_t best = 0;
  int most = 0;

  for (int r = 0; r < ranks; r++)
    {
      int votes = 0;

      for (int q = 0; q < ranks; q++)
        votes += all[(size_t) q * n_params + i] == all[(size_t) r * n_params + i];
      if (votes > most)
        {
          most = votes;
          best = all[(size_t) r * n_params + i];
        }
    }
  return best;
}

/* The ranks whose digest in column I is BEST, or (not SAME) is another, as "0, 2".  Returns how many.  */
static int
list_ranks (const uint64_t *all, int ranks, size_t n_params, size_t i, uint64_t best, bool same, char *text,
            size_t size)
{
  int n = 0;
  size_t used = 0;

  text[0] = '\0';
  for (int r = 0; r < ranks; r++)
    if ((all[(size_t) r * n_params + i] == best) == same)
      {
        if (used < size)
          used += (size_t) snprintf (text + used, size - used, "%s%d", n ? ", " : "", r);
        n++;
      }
  return n;
}

/* Name the first tensor that differs.  */
static mm_status
compare_digests (struct mm_trainer *t, const uint64_t *all)
{
  size_t n_params = count_tensors (t);
  int ranks = mm_comm_size (t->comm);
  char with[200], without[200];
  float *values;

  for (size_t i = 0; i < n_params; i++)
    {
      uint64_t best = majority (all, ranks, n_params, i);
      int others = list_ranks (all, ranks, n_params, i, best, false, without, sizeof without);

      if (others == 0)
        continue;
      list_ranks (all, ranks, n_params, i, best, true, with, sizeof with);
      return mm_fail (MM_EGAVEUP, "step %" PRIu64 ": the ranks' parameters differ in %s: rank%s %s ha%s other values"
                      " than rank%s %s%s; nothing is saved, the checkpoints before stand", t->state.step,
                      tensor (t, i, &values)->name, others == 1 ? "" : "s", without, others == 1 ? "s" : "ve",
                      ranks - others == 1 ? "" : "s", with,
                      2 * others < ranks ? "" : " (no side is the larger)");
    }
  return MM_OK;
}

mm_status
mm_trainer_check_replicas (struct mm_trainer *t)
{
  size_t n = count_tensors (t), ranks = (size_t) mm_comm_size (t->comm);
  uint64_t *all;
  mm_status st;

  if (ranks == 1 || !mm_backend_host (t->backend, mm_model_values (t->model)))
    return MM_OK;
  st = mm_alloc ("digests of parameters", ranks * n, sizeof *all, &all);
  if (st < 0)
    return st;
  st = digest_tensors (t, all + (size_t) mm_comm_rank (t->comm) * n);
  st = mm_comm_agree (t->comm, st);
  if (st == MM_OK)
    st = mm_comm_all_gather (t->comm, all, ranks * n, sizeof *all, n);
  if (st == MM_OK)
    st = mm_comm_agree (t->comm, compare_digests (t, all));
  free (all);
  return st;
}
