/* adapter.c -- fuzzing target: an adapter folder; two bytes, little-endian, tell how many of those behind them are
   adapter_config.json, and the rest is adapter_model.safetensors.
   SPDX-License-Identifier: Apache-2.0

   What opens can be attached, added to weights and written again.  */

#include <config.h>

#include <math.h>
#include <string.h>

#include <minimind/backend.h>
#include <minimind/lora.h>
#include <minimind/model.h>

#include "fuzz.h"

static char folder[] = "/tmp/minimind-fuzz.XXXXXX";
static const char *const names[] = { "adapter_config.json", "adapter_model.safetensors" };

/* The base of tests/interop/adapter.  */
static const struct mm_model_config shape = {
  .architecture = MM_LLAMA, .hidden_size = 16, .n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .head_dim = 4,
  .ffn_size = 20, .vocab_size = 32, .max_positions = 64, .rms_eps = 1e-6f, .rope_theta = 1e4, .tied = true,
  .bos_id = 1, .eos_id = 2, .pad_id = -1
};

static void
path_of (int i, char path[96])
{
  snprintf (path, 96, "%s/%s", folder, names[i]);
}

static void
clean (void)
{
  char path[96];

  for (int i = 0; i < 2; i++)
    {
      path_of (i, path);
      unlink (path);
    }
  rmdir (folder);
}

static void
put (int i, const uint8_t *data, size_t size)
{
  char path[96];
  FILE *f;

  path_of (i, path);
  f = fopen (path, "w");
  if (!f || fwrite (data, 1, size, f) != size || fclose (f) != 0)
    abort ();
}

/* Every module has the rank that the model took over, and its product is a number: values are finite, and the
   products of any two in double.  */
static void
use (const struct mm_adapter *a, struct mm_backend *be)
{
  static double delta[20 * 20];
  struct mm_model *m;

  if (mm_model_create (be, &shape, &m) < 0 || mm_adapter_attach (a, m) < 0)
    abort ();
  for (uint32_t layer = 0; layer < shape.n_layers; layer++)
    for (int t = 0; t < MM_LORA_TARGETS; t++)
      {
        struct mm_lora_module module = mm_lora_module (m, layer, (enum mm_lora_target) t);
        bool has;

        memset (delta, 0, sizeof delta);
        mm_adapter_delta (a, layer, (enum mm_lora_target) t, 1, delta, &has);
        if (has != (module.rank > 0) || (has && !isfinite (module.scale)))
          abort ();
        for (size_t i = 0; i < sizeof delta / sizeof *delta; i++)
          if (!isfinite (delta[i]))
            abort ();
      }
  if (mm_adapter_check_base (a, "adapter", "x") == MM_OK && mm_adapter_base_sha256 (a))
    abort ();
  mm_model_free (m);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static struct mm_backend *be;
  struct mm_adapter *a;
  size_t config;

  if (size < 2)
    return 0;
  if (!be)
    {
      if (!mkdtemp (folder) || mm_backend_open ("cpu", 1, &be) < 0)
        abort ();
      atexit (clean);
    }
  config = data[0] | (size_t) data[1] << 8;
  config = config < size - 2 ? config : size - 2;
  put (0, data + 2, config);
  put (1, data + 2 + config, size - 2 - config);
  if (mm_adapter_open (folder, &shape, &a) == MM_OK)
    use (a, be);
  else if (!*mm_error_message ())
    abort ();
  else
    return 0;
  mm_adapter_close (a);
  return 0;
}
