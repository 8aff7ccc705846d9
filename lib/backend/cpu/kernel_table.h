/* kernel_table.h -- the table of the kernel set being compiled; included once by ref/ and by simd/.
   SPDX-License-Identifier: Apache-2.0  */

#define MM_STRING_(x) #x
#define MM_STRING(x) MM_STRING_ (x)

const struct mm_cpu_kernels mm_kernel (kernels) = {
  .name = MM_STRING (MM_ISA),
  .mr = MM_MR,
  .nr = MM_NR,
  .nc = MM_NC,
#define KERNEL(result, name, args) .name = mm_kernel (name),
  MM_CPU_KERNELS (KERNEL)
#undef KERNEL
};
