/* list.c -- the backends and kernel sets of this build.
   SPDX-License-Identifier: Apache-2.0

   On its own, so that --version of a tool that does not compute links no kernels.  */

#include <config.h>

#include <minimind/backend.h>

const char *
mm_backend_list (void)
{
  return "cpu (generic"
#if HAVE_KERNELS_AVX2
    " avx2"
#endif
#if HAVE_KERNELS_AVX512
    " avx512"
#endif
#if HAVE_KERNELS_NEON
    " neon"
#endif
    ")";
}
