/* Backends: by name, their memory, their profile, and what opening refuses.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/backend.h>
#include <minimind/ops.h>

#include "../tap.h"

static void
test_refusals (void)
{
  struct mm_backend *be = (struct mm_backend *) &be;

  ok (mm_backend_open ("abacus", 1, &be) == MM_EUSAGE && !be, "an unknown backend");
  ok (strstr (mm_error_message (), "abacus") != NULL, "the message names it");
  ok (mm_backend_open ("cpu", 0, &be) == MM_EINVAL && !be, "no threads");
  ok (mm_backend_open ("cpu", 1025, &be) == MM_EINVAL && !be, "too many threads");
  setenv ("MM_CPU", "z80", 1);
  ok (mm_backend_open ("cpu", 1, &be) == MM_EUSAGE && !be, "unknown kernels");
  ok (strstr (mm_error_message (), "z80") != NULL, "the message names them");
  unsetenv ("MM_CPU");
  mm_backend_close (NULL);
}

static void
test_names (void)
{
  struct mm_backend *be;
  struct mm_limits limits;

  ok (strstr (mm_backend_list (), "generic") != NULL, "the list names the generic kernels");
  if (mm_backend_open ("auto", 3, &be) < 0)
    {
      ok (false, "the best backend opens");
      return;
    }
  ok (strstr (mm_backend_list (), mm_backend_name (be)) != NULL, "the best backend is in the list");
  ok (strstr (mm_backend_list (), mm_backend_kernels (be)) != NULL, "and so are its kernels");
  ok (mm_backend_threads (be) == 3, "it has its threads");
  ok (mm_backend_peak (be) > 0 && mm_backend_peak (be) == mm_backend_peak (be), "its peak is measured once");
  ok (mm_backend_limits (be, 1 << 20, &limits) == MM_OK && limits.peak > 0 && limits.bandwidth > 0
      && limits.sustained > 0, "its limits are measured");
  mm_backend_close (be);

  setenv ("MM_CPU", "generic", 1);
  ok (mm_backend_open ("cpu", 1, &be) == MM_OK, "the generic kernels open");
  ok (strcmp (mm_backend_name (be), "cpu") == 0 && strcmp (mm_backend_kernels (be), "generic") == 0,
      "and have their name");
  mm_backend_close (be);
  unsetenv ("MM_CPU");
}

static void
test_memory (struct mm_backend *be)
{
  enum { BYTES = 3 << 20 };
  static unsigned char here[BYTES], back[BYTES];
  void *there, *none = here;
  bool zero = true;

  ok (mm_backend_alloc (be, "test", BYTES, &there) == MM_OK, "memory");
  ok ((uintptr_t) there % 64 == 0, "is aligned");
  memset (back, 1, BYTES);
  ok (mm_backend_get (be, back, there, BYTES) == MM_OK, "can be read");
  for (size_t i = 0; i < BYTES; i++)
    {
      zero &= back[i] == 0;
      here[i] = (unsigned char) (i * 7);
    }
  ok (zero, "is zero at first");
  ok (mm_backend_put (be, there, here, BYTES) == MM_OK
      && mm_backend_get (be, back, there, BYTES) == MM_OK && memcmp (here, back, BYTES) == 0,
      "holds what is put there");
  ok (!mm_backend_host (be, there) || memcmp (mm_backend_host (be, there), here, BYTES) == 0,
      "is the host's own, or not at all");
  ok (mm_backend_zero (be, (char *) there + 1, 2) == MM_OK && mm_backend_sync (be) == MM_OK
      && mm_backend_get (be, back, there, 4) == MM_OK && back[0] == here[0] && back[1] == 0 && back[2] == 0
      && back[3] == here[3], "can be zeroed in part");
  mm_backend_release (be, there);
  mm_backend_release (be, NULL);
  ok (mm_backend_alloc (be, "the moon", SIZE_MAX / 2, &none) == MM_ENOMEM && !none, "too much memory");
  ok (strstr (mm_error_message (), "the moon") != NULL, "the message names what for");
}

static const struct mm_op_profile *
profile_of (struct mm_backend *be, const char *name)
{
  const struct mm_op_profile *ops;
  size_t n = mm_backend_profile (be, &ops);

  for (size_t i = 0; i < n; i++)
    if (strcmp (ops[i].name, name) == 0)
      return &ops[i];
  return NULL;
}

static void
test_profile (struct mm_backend *be)
{
  float x[6] = { 1, 2, 3, 4, 5, 6 }, w[3] = { 1, 1, 1 };
  struct mm_mat m = mm_mat (x, 2, 3);
  const struct mm_op_profile *p;

  mm_backend_profile_reset (be);
  p = profile_of (be, "rmsnorm");
  ok (p && p->calls == 0 && p->seconds == 0, "the profile starts empty");
  ok (mm_rmsnorm (be, m, w, 1e-5f, m, NULL) == MM_OK && mm_rmsnorm (be, m, w, 1e-5f, m, NULL) == MM_OK,
      "two operations");
  p = profile_of (be, "rmsnorm");
  ok (p && p->calls == 2 && p->seconds > 0 && p->flops > 0 && p->bytes == 2 * 2 * sizeof x,
      "are booked with time, FLOPs and bytes");
  ok (profile_of (be, "linear") && profile_of (be, "linear")->calls == 0, "under their own name");
}

int
main (void)
{
  struct mm_backend *be;

  test_refusals ();
  test_names ();
  if (mm_backend_open ("cpu", 2, &be) < 0)
    {
      printf ("Bail out! %s\n", mm_error_message ());
      return 99;
    }
  test_memory (be);
  test_profile (be);
  mm_backend_close (be);
  return tap_done ();
}
