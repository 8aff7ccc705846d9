/* cpu.c -- the CPU backend: its table, its threads, and the choice of kernels at run time.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "cpu.h"

/* ---- which kernels ---- */

static bool
have_always (void)
{
  return true;
}

#if HAVE_KERNELS_AVX2
/* libgcc's answer includes whether the operating system saves the registers.  */
static bool
have_avx2 (void)
{
  return __builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma");
}
#endif

#if HAVE_KERNELS_AVX512
static bool
have_avx512 (void)
{
  return (__builtin_cpu_supports ("avx512f") && __builtin_cpu_supports ("avx512dq")
          && __builtin_cpu_supports ("avx512vl") && __builtin_cpu_supports ("avx512bw")
          && __builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma"));
}
#endif

/* The widest first.  */
static const struct
{
  const struct mm_cpu_kernels *kernels;
  bool (*have) (void);
} sets[] = {
#if HAVE_KERNELS_AVX512
  { &mm_cpu_kernels_avx512, have_avx512 },
#endif
#if HAVE_KERNELS_AVX2
  { &mm_cpu_kernels_avx2, have_avx2 },
#endif
#if HAVE_KERNELS_NEON
  { &mm_cpu_kernels_neon, have_always },
#endif
  { &mm_cpu_kernels_generic, have_always },
};

static mm_status
choose_kernels (const struct mm_cpu_kernels **kernels)
{
  const char *want = getenv ("MM_CPU");

  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    if (want && *want ? strcmp (sets[i].kernels->name, want) == 0 : sets[i].have ())
      {
        if (!sets[i].have ())
          return mm_fail (MM_EUSAGE, "MM_CPU=%s: this processor lacks it", want);
        *kernels = sets[i].kernels;
        return MM_OK;
      }
  return mm_fail (MM_EUSAGE, "MM_CPU=%s: not in this build (it has %s)", want, mm_backend_list ());
}

/* ---- memory that the host shares ---- */

static mm_status
cpu_put (struct mm_backend *be, void *device, const void *host, size_t bytes)
{
  (void) be;
  memcpy (device, host, bytes);
  return MM_OK;
}

static mm_status
cpu_get (struct mm_backend *be, void *host, const void *device, size_t bytes)
{
  (void) be;
  memcpy (host, device, bytes);
  return MM_OK;
}

static mm_status
cpu_sync (struct mm_backend *be)
{
  (void) be;                    /* operations return when they are done */
  return MM_OK;
}

/* ---- threads ---- */

struct split
{
  struct mm_team *team;
  size_t n, grain, parts;
  mm_cpu_split_fn *fn;
  void *job;
};

static void
run_parts (void *arg, int thread, int n_threads)
{
  struct split *s = arg;
  size_t part, from, to;

  (void) n_threads;
  while (mm_team_take (s->team, thread, &part))
    {
      mm_share (s->n, s->grain, (int) part, (int) s->parts, &from, &to);
      s->fn (s->job, from, to);
    }
}

void
mm_cpu_split (struct mm_backend *be, size_t n, size_t grain, mm_cpu_split_fn *fn, void *job)
{
  enum { PARTS = 8 };           /* for each thread: one that is held up leaves some to the others */
  struct mm_team *team = mm_cpu_state (be)->team;
  size_t grains = n / grain + (n % grain != 0), most = PARTS * (size_t) mm_team_size (team);
  struct split s = { team, n, grain, grains < most ? grains : most, fn, job };

  if (s.parts < 2 || mm_team_size (team) == 1)
    {
      fn (job, 0, n);
      return;
    }
  mm_team_tasks (team, s.parts);
  mm_team_run (team, run_parts, &s);
}

void
mm_cpu_split_rows (struct mm_backend *be, size_t rows, size_t cols, mm_cpu_split_fn *fn, void *job)
{
  enum { WORTH_A_THREAD = 4096 };

  mm_cpu_split (be, rows, cols < WORTH_A_THREAD ? WORTH_A_THREAD / (cols + 1) + 1 : 1, fn, job);
}

/* ---- the table ---- */

static void
cpu_close (struct mm_backend *be)
{
  struct mm_cpu *cpu = mm_cpu_state (be);

  if (!cpu)
    return;
  mm_team_close (cpu->team);
  for (int i = 0; i < MM_N_SCRATCH; i++)
    mm_cpu_release (be, cpu->scratch[i]);
  free (cpu);
}

static mm_status
cpu_open (struct mm_backend *be, int n_threads)
{
  struct mm_cpu *cpu;
  mm_status st = mm_alloc ("cpu backend", 1, sizeof *cpu, &cpu);

  if (st < 0)
    return st;
  be->state = cpu;
  st = choose_kernels (&cpu->kernels);
  if (st < 0)
    return st;
  mm_thread_float_mode ();
  return mm_team_open (n_threads, &cpu->team);
}

static const char *
cpu_kernels (const struct mm_backend *be)
{
  return mm_cpu_state (be)->kernels->name;
}

const struct mm_backend_ops mm_cpu_ops = {
  .name = "cpu",
  .shares_memory = true,
  .open = cpu_open,
  .close = cpu_close,
  .kernels = cpu_kernels,
  .alloc = mm_cpu_alloc,
  .release = mm_cpu_release,
  .put = cpu_put,
  .get = cpu_get,
  .zero = mm_cpu_zero,
  .sync = cpu_sync,
  .peak = mm_cpu_peak,
  .limits = mm_cpu_limits,
  .embed = mm_cpu_embed,
  .embed_grad = mm_cpu_embed_grad,
  .rmsnorm = mm_cpu_rmsnorm,
  .rmsnorm_grad = mm_cpu_rmsnorm_grad,
  .head_norm = mm_cpu_head_norm,
  .head_norm_grad = mm_cpu_head_norm_grad,
  .rope = mm_cpu_rope,
  .attention = mm_cpu_attention,
  .attention_grad = mm_cpu_attention_grad,
  .swiglu = mm_cpu_swiglu,
  .swiglu_grad = mm_cpu_swiglu_grad,
  .head_loss = mm_cpu_head_loss,
  .weight_create = mm_cpu_weight_create,
  .weight_free = mm_cpu_weight_free,
  .weight_set = mm_cpu_weight_set,
  .weight_keep_columns = mm_cpu_weight_keep_columns,
  .linear = mm_cpu_linear,
  .linear_grad_input = mm_cpu_linear_grad_input,
  .linear_plus = mm_cpu_linear_plus,
  .linear_grad_input_plus = mm_cpu_linear_grad_input_plus,
  .linear_grad_weight = mm_cpu_linear_grad_weight,
  .scale = mm_cpu_scale,
  .accumulate = mm_cpu_accumulate,
  .grad_squares = mm_cpu_grad_squares,
  .grad_values = mm_cpu_grad_values,
  .adamw_step = mm_cpu_adamw_step,
};
