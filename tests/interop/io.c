/* io.c -- files of other programs' libraries read here, and our own still those that they read.
   SPDX-License-Identifier: Apache-2.0

   io/theirs.safetensors was written by safetensors of Python; io/ours.safetensors and io/ours.tfevents by this
   program (--write FOLDER), and read by safetensors and tensorboard of Python when they were committed.  All
   by make-io-goldens.py.  */

#include <config.h>

#include <minimind/files.h>
#include <minimind/safetensors.h>

#include "../../lib/telemetry/tfevents.h"
#include "../tap.h"
#include "../unit/scratch.h"

/* The tensors of both files: element I is 3 * I + 1 (BOOL: I odd), shape [ROWS, 3], or [] where ROWS is 0.  */
static const struct
{
  const char *name;
  enum mm_dtype dtype;
  uint64_t rows;
} tensors[] = {
  { "bf16", MM_BF16, 5 }, { "bool", MM_BOOL, 1 }, { "f16", MM_F16, 2 }, { "f32", MM_F32, 7 },
  { "f64", MM_F64, 2 }, { "i32", MM_I32, 1 }, { "i64", MM_I64, 2 }, { "i8", MM_I8, 3 },
  { "scalar", MM_F32, 0 }, { "u16", MM_U16, 4 }, { "u32", MM_U32, 2 }, { "u8", MM_U8, 3 },
  { "\xe5\xad\x97 \"\\\n", MM_U8, 1 },
};
enum { N_TENSORS = sizeof tensors / sizeof *tensors };

static size_t
n_elements (size_t t)
{
  return tensors[t].rows ? 3 * (size_t) tensors[t].rows : 1;
}

/* Element I as it lies in a file of DTYPE.  Small integers: exact in all, and positive.  */
static uint64_t
element (enum mm_dtype dtype, size_t i)
{
  float single = (float) (3 * i + 1);
  double twice = single;
  uint32_t bits32;
  uint64_t bits64;

  memcpy (&bits32, &single, sizeof bits32);
  memcpy (&bits64, &twice, sizeof bits64);
  switch (dtype)
    {
    case MM_BOOL:
      return i % 2;
    case MM_F64:
      return bits64;
    case MM_F32:
      return bits32;
    case MM_BF16:
      return bits32 >> 16;
    case MM_F16:
      return (bits32 >> 13 & 0x3ff) | (((bits32 >> 23) - 112) << 10);
    default:
      return 3 * i + 1;
    }
}

/* The bytes of tensor T into DATA; returns their number.  */
static size_t
contents (size_t t, unsigned char *data)
{
  size_t width = mm_dtype_bits (tensors[t].dtype) / 8, n = n_elements (t);

  for (size_t i = 0; i < n; i++)
    {
      uint64_t bits = element (tensors[t].dtype, i);

      memcpy (data + i * width, &bits, width);
    }
  return n * width;
}

/* ---- ours ---- */

static mm_status
write_safetensors (const char *path)
{
  struct mm_safetensors_writer *w;
  unsigned char data[256];
  mm_status st = mm_safetensors_create (path, true, true, &w);

  if (st < 0)
    return st;
  for (size_t t = 0; st == MM_OK && t < N_TENSORS; t++)
    st = mm_safetensors_declare (w, tensors[t].name, tensors[t].dtype, tensors[t].rows ? 2 : 0,
                                 (uint64_t[]) { tensors[t].rows, 3 });
  for (size_t t = 0; st == MM_OK && t < N_TENSORS; t++)
    st = mm_safetensors_write (w, tensors[t].name, data, contents (t, data));
  if (st == MM_OK)
    st = mm_safetensors_add_meta (w, "kind", "\xe5\xad\x97 \"\\\n");
  if (st == MM_OK)
    return mm_safetensors_commit (w, NULL);
  mm_safetensors_abort (w);
  return st;
}

static mm_status
write_tfevents (const char *path)
{
  struct mm_scalar scalars[] = { { "loss", 0.5f }, { "seconds/data", 0.25f } };
  char *records[4] = { NULL, NULL, NULL, NULL }, all[1000];
  size_t size[4], used = 0;
  mm_status st = mm_tfevents_version (1.0, &records[0], &size[0]);

  if (st == MM_OK)
    st = mm_tfevents_restart (2.0, 300, &records[1], &size[1]);
  if (st == MM_OK)
    st = mm_tfevents_scalars (3.0, 300, scalars, 2, &records[2], &size[2]);
  if (st == MM_OK)
    st = mm_tfevents_scalars (4.0, 301, scalars, 1, &records[3], &size[3]);
  for (int i = 0; i < 4; i++)
    {
      if (st == MM_OK)
        memcpy (all + used, records[i], size[i]);
      used += st == MM_OK ? size[i] : 0;
      free (records[i]);
    }
  return st == MM_OK ? mm_write_file (path, all, used) : st;
}

/* The new file PATH has the bytes of the golden NAME.  */
static int
is_golden (const char *path, const char *goldens, const char *name)
{
  char *want = NULL, *golden = mm_path_join (goldens, name);
  size_t size;
  int same = golden && mm_read_file (golden, 1 << 20, &want, &size) == MM_OK && scratch_holds (path, want, size);

  free (want);
  free (golden);
  return same;
}

/* ---- theirs ---- */

static int
tensor_is_right (const struct mm_safetensors *f, size_t t)
{
  unsigned char want[256], got[256];
  float numbers[64];
  size_t size = contents (t, want), n = n_elements (t);
  enum mm_dtype dtype = tensors[t].dtype;
  const struct mm_tensor *tensor;
  int right = mm_safetensors_want (f, tensors[t].name, dtype, tensors[t].rows ? 2 : 0, &tensor) == MM_OK
              && tensor->size == size && mm_safetensors_read (f, tensor, 0, got, size) == MM_OK
              && memcmp (want, got, size) == 0;

  if (!right || (dtype != MM_F16 && dtype != MM_BF16 && dtype != MM_F32 && dtype != MM_F64))
    return right;
  right = mm_safetensors_read_f32 (f, tensor, numbers) == MM_OK;
  for (size_t i = 0; i < n; i++)
    right &= numbers[i] == (float) (3 * i + 1);
  return right;
}

static void
test_theirs (const char *goldens)
{
  char *path = mm_path_join (goldens, "theirs.safetensors"), name[80];
  struct mm_safetensors *f;

  if (!path || mm_safetensors_open (path, &f) < 0)
    {
      ok (0, mm_error_message ());
      free (path);
      return;
    }
  ok (mm_safetensors_count (f) == N_TENSORS + 1, "their file is read");
  for (size_t t = 0; t < N_TENSORS; t++)
    {
      snprintf (name, sizeof name, "its tensor %zu", t);
      ok (tensor_is_right (f, t), name);
    }
  ok (mm_safetensors_find (f, "empty") && mm_safetensors_find (f, "empty")->size == 0, "its empty tensor");
  ok (strcmp (mm_safetensors_meta (f, "kind"), "\xe5\xad\x97 \"\\\n") == 0, "its metadata");
  mm_safetensors_close (f);
  free (path);
}

int
main (int argc, char **argv)
{
  const char *srcdir = getenv ("srcdir");
  char goldens[4096];

  if (argc == 3 && strcmp (argv[1], "--write") == 0)
    return chdir (argv[2]) < 0 || write_safetensors ("ours.safetensors") < 0 || write_tfevents ("ours.tfevents") < 0;
  if (!realpath (srcdir ? srcdir : ".", goldens) || strlen (goldens) > 4000)
    return 99;
  strcat (goldens, "/tests/interop/io");
  scratch_enter ();
  ok (write_safetensors ("ours.safetensors") == MM_OK && is_golden ("ours.safetensors", goldens, "ours.safetensors"),
      "our safetensors file is the one that Python read");
  ok (write_tfevents ("ours.tfevents") == MM_OK && is_golden ("ours.tfevents", goldens, "ours.tfevents"),
      "our event file is the one that TensorBoard read");
  test_theirs (goldens);
  return tap_done ();
}
