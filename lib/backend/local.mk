# The operations that are one formula for any real type; compiled again with double for the tests.
ref_real_sources = \
  lib/backend/cpu/ref/linear.c \
  lib/backend/cpu/ref/attention.c \
  lib/backend/cpu/ref/cross_entropy.c \
  lib/backend/cpu/ref/embed.c \
  lib/backend/cpu/ref/norm.c \
  lib/backend/cpu/ref/rope.c \
  lib/backend/cpu/ref/swiglu.c

lib_libcore_a_SOURCES += \
  lib/minimind/backend.h \
  lib/minimind/ops.h \
  lib/backend/impl.h \
  lib/backend/backend.c \
  lib/backend/list.c \
  lib/backend/ops.c \
  lib/backend/rope_table.c \
  lib/backend/cpu/cpu.h \
  lib/backend/cpu/kernels.h \
  lib/backend/cpu/kernels_real.h \
  lib/backend/cpu/kernel_table.h \
  lib/backend/cpu/cpu.c \
  lib/backend/cpu/memory.c \
  lib/backend/cpu/accumulate.c \
  lib/backend/cpu/adamw.c \
  lib/backend/cpu/attention.c \
  lib/backend/cpu/embed.c \
  lib/backend/cpu/gemm.h \
  lib/backend/cpu/gemm.c \
  lib/backend/cpu/grad_squares.c \
  lib/backend/cpu/head_loss.c \
  lib/backend/cpu/linear.c \
  lib/backend/cpu/thin.c \
  lib/backend/cpu/norm.c \
  lib/backend/cpu/peak.c \
  lib/backend/cpu/rope.c \
  lib/backend/cpu/scale.c \
  lib/backend/cpu/swiglu.c \
  lib/backend/cpu/ref/ref.h \
  lib/backend/cpu/ref/kernels.c \
  lib/backend/cpu/ref/real.h \
  lib/backend/cpu/ref/accumulate.c \
  lib/backend/cpu/ref/adamw.c \
  lib/backend/cpu/ref/gemm.c \
  lib/backend/cpu/ref/grad_squares.c \
  lib/backend/cpu/ref/peak.c \
  $(ref_real_sources)

# lib/backend/cpu/simd holds each kernel once; it is compiled for every instruction set, whose vector
# type stands in simd/v16.h, and the tables simd/kernels.c are chosen from at run time.
simd_sources = \
  lib/backend/cpu/simd/simd.h \
  lib/backend/cpu/simd/v16.h \
  lib/backend/cpu/simd/v16_avx2.h \
  lib/backend/cpu/simd/v16_avx512.h \
  lib/backend/cpu/simd/v16_neon.h \
  lib/backend/cpu/simd/lanes.h \
  lib/backend/cpu/simd/gradient.h \
  lib/backend/cpu/simd/kernels.c \
  lib/backend/cpu/simd/accumulate.c \
  lib/backend/cpu/simd/adamw.c \
  lib/backend/cpu/simd/attention.h \
  lib/backend/cpu/simd/attention.c \
  lib/backend/cpu/simd/attention_grad.c \
  lib/backend/cpu/simd/cross_entropy.c \
  lib/backend/cpu/simd/embed.c \
  lib/backend/cpu/simd/gemm.c \
  lib/backend/cpu/simd/grad_squares.c \
  lib/backend/cpu/simd/norm.c \
  lib/backend/cpu/simd/peak.c \
  lib/backend/cpu/simd/rope.c \
  lib/backend/cpu/simd/swiglu.c

if KERNELS_AVX2
noinst_LIBRARIES += lib/libcpu_avx2.a
core_libraries += lib/libcpu_avx2.a
lib_libcpu_avx2_a_SOURCES = $(simd_sources)
lib_libcpu_avx2_a_CFLAGS = $(AM_CFLAGS) -mavx2 -mfma -DMM_ISA=avx2 -DMM_ISA_AVX2
endif
if KERNELS_AVX512
noinst_LIBRARIES += lib/libcpu_avx512.a
core_libraries += lib/libcpu_avx512.a
lib_libcpu_avx512_a_SOURCES = $(simd_sources)
lib_libcpu_avx512_a_CFLAGS = $(AM_CFLAGS) -mavx512f -mavx512dq -mavx512vl -mavx512bw -mavx2 -mfma \
  -mprefer-vector-width=512 -DMM_ISA=avx512 -DMM_ISA_AVX512
endif
if KERNELS_NEON
noinst_LIBRARIES += lib/libcpu_neon.a
core_libraries += lib/libcpu_neon.a
lib_libcpu_neon_a_SOURCES = $(simd_sources)
lib_libcpu_neon_a_CFLAGS = $(AM_CFLAGS) -DMM_ISA=neon -DMM_ISA_NEON
endif
