/* gemm.c -- products of matrices on tiles held in registers.
   SPDX-License-Identifier: Apache-2.0

   A tile of MR by NR sums stays in registers while k runs: each step loads NR values of B and
   broadcasts MR of A.  The loops over i and v below are unrolled, so s[][] are registers.  */

#include "simd.h"

enum
{
  NV = MM_NR / 16,
  COPIED = MM_MR > 8 ? 16 : 8,  /* values of a register that holds MR */
  B_AHEAD = 8                   /* rows of B that are fetched before they are read */
};

static inline size_t
least (size_t a, size_t b)
{
  return a < b ? a : b;
}

/* What is read after this tile's chains, fetched while they are computed: memory is far behind a tile's
   pace, and the processor's own prefetching follows neither columns of A nor rows of tiles.  */
struct ahead
{
  const float *a;               /* one element for each step of k, ... */
  size_t a_step;                /* ... this far apart */
  const char *rows;             /* lines of a tile's rows that will be written; NULL: none */
  size_t row_bytes, rows_apart;
};

/* The tile for MR known at compile time; see gemm_tile in kernels.h.  */
MM_INLINE void
tile_rows (size_t mr, size_t k, const float *a, size_t a_row, size_t a_step, const float *b,
           size_t b_step, const float *start, size_t start_ld, float *y, size_t y_ld,
           const struct ahead *ahead)
{
  v16 s[MM_MR][NV];
  const float *next = ahead->a;
  size_t next_step = ahead->a_step;

#pragma GCC unroll 16
  for (size_t i = 0; i < mr; i++)
#pragma GCC unroll 2
    for (size_t v = 0; v < NV; v++)
      s[i][v] = start ? v16_load (start + i * start_ld + 16 * v) : v16_zero ();
  if (ahead->rows)
    for (size_t i = 0; i < mr; i++)
      for (size_t byte = 0; byte < ahead->row_bytes; byte += 64)
        __builtin_prefetch (ahead->rows + i * ahead->rows_apart + byte, 1);

  for (; k > 0; k--)
    {
      v16 row[NV];

#pragma GCC unroll 2
      for (size_t v = 0; v < NV; v++)
        {
          row[v] = v16_load (b + 16 * v);
          __builtin_prefetch (b + B_AHEAD * b_step + 16 * v);
        }
      __builtin_prefetch (next, 0, 2);
      next += next_step;
#pragma GCC unroll 16
      for (size_t i = 0; i < mr; i++)
        {
          v16 x = v16_set1 (a[i * a_row]);

#pragma GCC unroll 2
          for (size_t v = 0; v < NV; v++)
            s[i][v] = v16_fma (x, row[v], s[i][v]);
        }
      a += a_step;
      b += b_step;
    }

#pragma GCC unroll 16
  for (size_t i = 0; i < mr; i++)
#pragma GCC unroll 2
    for (size_t v = 0; v < NV; v++)
      v16_store (y + i * y_ld + 16 * v, s[i][v]);
}

/* A tile of all NR columns.  The two strides of A that full tiles have are told to the compiler.  */
static void
tile (size_t rows, size_t k, const float *a, size_t a_row, size_t a_step, const float *b, size_t b_step,
      const float *start, size_t start_ld, float *y, size_t y_ld, const struct ahead *ahead)
{
#define ROWS(mr) \
  case mr: \
    tile_rows (mr, k, a, a_row, a_step, b, b_step, start, start_ld, y, y_ld, ahead); \
    break
  switch (rows)
    {
    case MM_MR:
      if (a_step == 1)
        tile_rows (MM_MR, k, a, a_row, 1, b, b_step, start, start_ld, y, y_ld, ahead);
      else if (a_row == 1 && a_step == MM_MR)
        tile_rows (MM_MR, k, a, 1, MM_MR, b, b_step, start, start_ld, y, y_ld, ahead);
      else
        tile_rows (MM_MR, k, a, a_row, a_step, b, b_step, start, start_ld, y, y_ld, ahead);
      break;
    ROWS (1); ROWS (2); ROWS (3); ROWS (4); ROWS (5);
#ifdef MM_ISA_AVX512
    ROWS (6); ROWS (7); ROWS (8); ROWS (9); ROWS (10); ROWS (11); ROWS (12); ROWS (13);
#endif
    }
#undef ROWS
}

/* Copy ROWS x COLS values, COLS <= NR.  */
static void
copy_part (size_t rows, size_t cols, const float *from, size_t from_ld, float *to, size_t to_ld)
{
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j += 16)
      {
        size_t n = cols - j < 16 ? cols - j : 16;

        v16_store_n (to + i * to_ld + j, v16_load_n (from + i * from_ld + j, n), n);
      }
}

/* The same for COLS columns.  Fewer than NR go through a tile beside: B has all of them, START and Y do
   not.  */
static void
any_tile (size_t rows, size_t cols, size_t k, const float *a, size_t a_row, size_t a_step, const float *b,
          size_t b_step, const float *start, size_t start_ld, float *y, size_t y_ld,
          const struct ahead *ahead)
{
  if (cols == MM_NR)
    tile (rows, k, a, a_row, a_step, b, b_step, start, start_ld, y, y_ld, ahead);
  else
    {
      float sums[MM_MR * MM_NR] = { 0 };

      if (start)
        copy_part (rows, cols, start, start_ld, sums, MM_NR);
      tile (rows, k, a, a_row, a_step, b, b_step, start ? sums : NULL, MM_NR, sums, MM_NR, ahead);
      copy_part (rows, cols, sums, MM_NR, y, y_ld);
    }
}

void
mm_kernel (gemm_tile) (size_t rows, size_t cols, size_t k, const float *a, size_t a_row, size_t a_step,
                       const float *b, size_t b_step, const float *start, size_t start_ld, float *y,
                       size_t y_ld)
{
  const struct ahead ahead = { .a = a };

  any_tile (rows, cols, k, a, a_row, a_step, b, b_step, start, start_ld, y, y_ld, &ahead);
}

/* Bring the sums S of the tile at (I0, J0) of G to where they go.  */
static bool
finish (const struct mm_gemm *g, size_t i0, size_t j0, size_t rows, size_t cols, const float *sums)
{
  m16 bad = m16_none ();

  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j += 16)
      {
        size_t n = cols - j < 16 ? cols - j : 16, row = i0 + i, col = j0 + j;
        v16 s = v16_load_n (sums + i * MM_NR + j, n);

        if (g->total)
          s = v16_add (v16_load_n (g->total + row * g->total_ld + col, n), s);
        if (g->residual)
          s = v16_add (v16_load_n (g->residual + row * g->residual_ld + col, n), s);
        if (!g->fixed)
          v16_store_n (g->y + row * g->y_ld + col, s, n);
        else if (n == 16)
          bad = m16_or (bad, v16_add_fixed (g->fixed + row * g->fixed_ld + col, s));
        else
          bad = m16_or (bad, v16_add_fixed_n (g->fixed + row * g->fixed_ld + col, s, n));
      }
  return m16_any (bad);
}

void
mm_kernel (gemm_copy) (const float *a, size_t a_step, size_t rows, size_t k, float *panels)
{
  for (size_t t = 0; t < k; t++, a += a_step)
    {
      float *to = panels + t * MM_MR;
      size_t i = 0;

      /* Whole registers: what is too much lies where the next column goes, or behind the panel.  */
      for (; i + COPIED <= rows; i += MM_MR, to += MM_GEMM_A_PANEL (MM_MR))
        __builtin_memcpy (to, a + i, COPIED * sizeof *a);
      for (; i < rows; i += MM_MR, to += MM_GEMM_A_PANEL (MM_MR))
        for (size_t r = 0; r < MM_MR && i + r < rows; r++)
          to[r] = a[i + r];
    }
}

/* A panel of N <= NR columns that lie in rows of memory, LD apart, each K long.  */
static void
pack_columns (const float *b, size_t ld, size_t k, size_t n, float *panel)
{
  for (size_t t = 0; t < k; t += 16)
    for (size_t l = 0; l < MM_NR; l += 16)
      {
        size_t steps = k - t < 16 ? k - t : 16;
        v16 block[16];

#pragma GCC unroll 16
        for (size_t j = 0; j < 16; j++)
          block[j] = l + j >= n ? v16_zero ()
                     : steps == 16 ? v16_load (b + (l + j) * ld + t)
                     : v16_load_n (b + (l + j) * ld + t, steps);
        v16_transpose (block);
        for (size_t i = 0; i < steps; i++)
          v16_store (panel + (t + i) * MM_NR + l, block[i]);
      }
}

/* The same of columns that lie side by side in rows LD apart.  */
static void
pack_rows (const float *b, size_t ld, size_t k, size_t n, float *panel)
{
  for (size_t t = 0; t < k; t++)
    for (size_t l = 0; l < MM_NR; l += 16)
      v16_store (panel + t * MM_NR + l,
                 n == MM_NR ? v16_load (b + t * ld + l)
                 : v16_load_n (b + t * ld + l, l >= n ? 0 : n - l < 16 ? n - l : 16));
}

void
mm_kernel (gemm_pack) (const float *b, size_t ld, bool transposed, size_t k, size_t cols, float *panels)
{
  for (size_t j = 0; j < cols; j += MM_NR, panels += k * MM_NR)
    if (transposed)
      pack_columns (b + j * ld, ld, k, cols - j < MM_NR ? cols - j : MM_NR, panels);
    else
      pack_rows (b + j, ld, k, cols - j < MM_NR ? cols - j : MM_NR, panels);
}

/* What to fetch during tile (I, J): of the next panel of A a row for each tile, or all of it where steps
   lie side by side; of the outputs, the sums of the next tile, which it may start from, or the
   integers that this one is added to.  */
static struct ahead
look_ahead (const struct mm_gemm *g, size_t i, size_t j)
{
  size_t row = j / MM_NR;
  struct ahead ahead = { .a = g->a };

  if (i + MM_MR < g->m && row < (g->a_step == 1 ? least (MM_MR, g->m - i - MM_MR) : 1))
    {
      ahead.a = g->a + (i / MM_MR + 1) * g->a_panel + row * g->a_row;
      ahead.a_step = g->a_step;
    }
  if (g->fixed)
    {
      ahead.rows = (const char *) (g->fixed + i * g->fixed_ld + j);
      ahead.row_bytes = MM_NR * sizeof *g->fixed;
      ahead.rows_apart = g->fixed_ld * sizeof *g->fixed;
    }
  else if (j + MM_NR < g->n)
    {
      ahead.rows = (const char *) (g->y + i * g->y_ld + j + MM_NR);
      ahead.row_bytes = MM_NR * sizeof *g->y;
      ahead.rows_apart = g->y_ld * sizeof *g->y;
    }
  return ahead;
}

bool
mm_kernel (gemm) (const struct mm_gemm *g)
{
  float sums[MM_MR * MM_NR] __attribute__ ((__aligned__ (64)));
  bool direct = !g->total && !g->residual && !g->fixed, bad = false;

  for (size_t i = 0; i < g->m; i += MM_MR)
    for (size_t j = 0; j < g->n; j += MM_NR)
      {
        size_t rows = least (MM_MR, g->m - i), cols = least (MM_NR, g->n - j);
        const float *start = g->start ? g->start + i * g->start_ld + j : NULL;
        const struct ahead ahead = look_ahead (g, i, j);

        any_tile (rows, cols, g->k, g->a + i / MM_MR * g->a_panel, g->a_row, g->a_step,
                  g->b.data + j / MM_NR * g->b.panel, g->b.step, start, g->start_ld,
                  direct ? g->y + i * g->y_ld + j : sums, direct ? g->y_ld : MM_NR, &ahead);
        if (!direct)
          bad |= finish (g, i, j, rows, cols, sums);
      }
  return bad;
}
