/* vector.c -- the vector instructions of this processor.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "vector.h"

int
mm_vector_has (enum mm_vector v)
{
  switch (v)
    {
    case MM_VECTOR_PLAIN:
      return 1;
#if defined __x86_64__ && defined __GNUC__
    case MM_VECTOR_AVX2:
      return __builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("bmi2")
             && __builtin_cpu_supports ("aes");
    case MM_VECTOR_AVX512:
      return mm_vector_has (MM_VECTOR_AVX2) && __builtin_cpu_supports ("avx512bw")
             && __builtin_cpu_supports ("avx512vl") && __builtin_cpu_supports ("avx512vbmi")
             && __builtin_cpu_supports ("avx512vbmi2");
#endif
    default:
      return 0;
    }
}

enum mm_vector
mm_vector_best (void)
{
  static atomic_int known;      /* 1 + the answer */
  int v = atomic_load_explicit (&known, memory_order_relaxed) - 1;

  if (v < 0)
    {
      const char *limit = getenv ("MM_CPU");

      v = !limit ? MM_VECTOR_AVX512 : strcmp (limit, "generic") == 0 ? MM_VECTOR_PLAIN
          : strcmp (limit, "avx2") == 0 ? MM_VECTOR_AVX2 : MM_VECTOR_AVX512;
      while (!mm_vector_has ((enum mm_vector) v))
        v--;
      atomic_store_explicit (&known, v + 1, memory_order_relaxed);
    }
  return (enum mm_vector) v;
}
