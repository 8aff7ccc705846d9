/* ops.h -- what the tests of operations share: every kernel set with several numbers of threads, numbers
   from a formula, comparison of bits.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef TEST_OPS_H
#define TEST_OPS_H

#include <config.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/backend.h>
#include <minimind/ops.h>

/* The reference: mm_cpu_OP_generic in float, mm_ref64_OP in double.  */
#include "../../lib/backend/cpu/ref/real.h"

#include "../tap.h"

#define N_ELEMENTS(array) (sizeof (array) / sizeof *(array))

/* ---- numbers ---- */

static uint64_t test_state;

static inline void
test_seed (uint64_t seed)
{
  test_state = seed * UINT64_C (0x9e3779b97f4a7c15) + 1;
}

/* Uniform in [-1, 1).  */
static inline double
test_uniform (void)
{
  test_state = test_state * UINT64_C (6364136223846793005) + UINT64_C (1442695040888963407);
  return (double) (test_state >> 11) * 0x1p-52 - 1;
}

/* N values, zeroed; the test ends without them.  Not inline: GCC then warns of sizes that no caller
   has.  */
__attribute__ ((__noinline__, __unused__))
static void *
test_alloc (size_t n, size_t size)
{
  void *p = calloc (n ? n : 1, size);

  if (!p)
    {
      puts ("Bail out! out of memory");
      exit (99);
    }
  return p;
}

/* ROWS x COLS numbers of magnitude up to SIZE, rows LD apart; what lies between rows is a pattern that
   test_between checks.  */
enum { TEST_PATTERN = 77 };

static inline struct mm_mat
test_mat (size_t rows, size_t cols, size_t ld, double size)
{
  struct mm_mat m = { test_alloc (rows * ld, sizeof (float)), rows, cols, ld };

  for (size_t i = 0; i < rows * ld; i++)
    m.data[i] = i % ld < cols ? (float) (size * test_uniform ()) : TEST_PATTERN;
  return m;
}

static inline bool
test_between (struct mm_mat m)
{
  for (size_t i = 0; i < m.rows * m.ld; i++)
    if (i % m.ld >= m.cols && m.data[i] != TEST_PATTERN)
      return false;
  return true;
}

static inline struct mm_mat
test_copy (struct mm_mat m)
{
  struct mm_mat c = m;

  c.data = test_alloc (m.rows * m.ld, sizeof (float));
  memcpy (c.data, m.data, m.rows * m.ld * sizeof (float));
  return c;
}

/* The same numbers in double, rows close together.  */
static inline struct mm_mat64
test_mat64 (struct mm_mat m)
{
  struct mm_mat64 d = { test_alloc (m.rows * m.cols, sizeof (double)), m.rows, m.cols, m.cols };

  for (size_t i = 0; i < m.rows; i++)
    for (size_t j = 0; j < m.cols; j++)
      d.data[i * d.ld + j] = m.data[i * m.ld + j];
  return d;
}

static inline bool
test_same (struct mm_mat a, struct mm_mat b)
{
  if (!test_between (a) || !test_between (b))
    return false;
  for (size_t i = 0; i < a.rows; i++)
    if (memcmp (a.data + i * a.ld, b.data + i * b.ld, a.cols * sizeof (float)) != 0)
      return false;
  return true;
}

static inline bool
test_same_values (const void *a, const void *b, size_t n, size_t size)
{
  return memcmp (a, b, n * size) == 0;
}

/* Largest |a - b| over the largest |b|.  */
static inline double
test_error (struct mm_mat a, struct mm_mat64 b)
{
  double worst = 0, size = 0;

  for (size_t i = 0; i < a.rows; i++)
    for (size_t j = 0; j < a.cols; j++)
      {
        double want = b.data[i * b.ld + j], error = fabs (a.data[i * a.ld + j] - want);

        worst = error <= worst ? worst : error;         /* NaN stays */
        size = fmax (size, fabs (want));
      }
  return worst / (size > 0 ? size : 1);
}

/* ---- backends ---- */

/* Run CHECK with every kernel set of this build and processor, with 1, 2, 3 and 7 threads; CHECK returns
   whether all went well.  The generic set is the reference itself: there one number of threads shows
   that the parts are right.  */
static inline void
test_everywhere (const char *what, bool (*check) (struct mm_backend *be))
{
  static const char *const sets[] = { "generic", "avx2", "avx512", "neon" };
  static const int threads[] = { 1, 2, 3, 7 };

  for (size_t s = 0; s < N_ELEMENTS (sets); s++)
    {
      char name[200];
      bool good = true;
      mm_status st = MM_OK;

      setenv ("MM_CPU", sets[s], 1);
      for (size_t t = s == 0 ? N_ELEMENTS (threads) - 1 : 0; t < N_ELEMENTS (threads) && st == MM_OK; t++)
        {
          struct mm_backend *be;

          st = mm_backend_open ("cpu", threads[t], &be);
          if (st == MM_OK)
            {
              good &= check (be);
              mm_backend_close (be);
            }
        }
      snprintf (name, sizeof name, "%s, %s%s", what, sets[s], st == MM_EUSAGE ? " # SKIP not here" : "");
      ok (st == MM_EUSAGE || (st == MM_OK && good), name);
    }
  unsetenv ("MM_CPU");
}

/* The widest set with one thread; ends the test where there is none.  */
static inline struct mm_backend *
test_backend (void)
{
  struct mm_backend *be;

  if (mm_backend_open ("cpu", 1, &be) < 0)
    {
      printf ("Bail out! %s\n", mm_error_message ());
      exit (99);
    }
  return be;
}

#endif /* TEST_OPS_H */
