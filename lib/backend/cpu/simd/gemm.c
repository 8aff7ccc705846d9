/* gemm.c -- products of matrices on tiles held in registers.
   SPDX-License-Identifier: Apache-2.0

   A tile of MR by NR sums stays in registers while k runs: each step loads NR values of B and
   broadcasts MR of A.  The loops over i and v below are unrolled, so s[][] are registers.  */

#include "simd.h"

enum
{
  NV = MM_NR / 16,
  COPIED = MM_MR > 8 ? 16 : 8,  /* values of a register that holds MR */
  UNROLL = MM_MR > 8 ? 1 : 4,   /* steps: adding to pointers takes the place of fmas where a step has few */
  B_AHEAD = 8,                  /* rows of B that are fetched before they are read */
  COPY_STEPS = 32               /* steps copied at a time: runs of both memories */
};

/* Lines of memory to be fetched one by one: N runs of STEPS lines, APART and STEP bytes between them.  */
struct lines
{
  const char *at;
  size_t n, apart;
  size_t steps, step;
};

/* What a tile brings near while it computes, a line with each step of its chains: memory is far behind a tile's
   pace, and the processor's own prefetching follows neither rows of tiles nor that many rows of A.  */
struct ahead
{
  struct lines write;           /* outputs, to the first cache */
  struct lines read[3];         /* the residual, A and B, to the second */
};

enum fetch { NOTHING, TO_WRITE, TO_READ };

MM_INLINE void
fetch_line (enum fetch fetch, const char *line)
{
  if (fetch == TO_WRITE)
    __builtin_prefetch (line, 1);
  else if (fetch == TO_READ)
    __builtin_prefetch (line, 0, 2);
}

/* One step of MR chains: S += a column of A, whose rows are reached from LOW and HIGH, times the row of B at AT.  */
MM_INLINE void
step (size_t mr, size_t nv, const float *low, const float *high, size_t a_row, const float *at, size_t b_step,
      v16 s[MM_MR][NV])
{
  v16 row[NV];

#pragma GCC unroll 2
  for (size_t v = 0; v < nv; v++)
    {
      row[v] = v16_load (at + 16 * v);
      __builtin_prefetch (at + B_AHEAD * b_step + 16 * v);
    }
#pragma GCC unroll 16
  for (size_t i = 0; i < mr; i++)
    {
      v16 x = v16_set1 (i < mr / 2 ? low[i * a_row] : high[(i - mr / 2) * a_row]);

#pragma GCC unroll 2
      for (size_t v = 0; v < nv; v++)
        s[i][v] = v16_fma (x, row[v], s[i][v]);
    }
}

/* N steps.  With each a LINE is fetched, the next APART.  Rows of A are reached from two of them: few enough
   distances for the registers.  */
MM_INLINE void
run_steps (size_t mr, size_t nv, size_t n, const float **a, size_t a_row, size_t a_step, const float **b, size_t b_step,
           v16 s[MM_MR][NV], enum fetch fetch, const char *line, size_t apart)
{
  const float *low = *a, *high = *a + mr / 2 * a_row, *at = *b;
  size_t unroll = mr == MM_MR ? UNROLL : 1;

  *a += n * a_step;
  *b += n * b_step;
  for (; n >= unroll; n -= unroll)
    {
#pragma GCC unroll 4
      for (size_t u = 0; u < unroll; u++)
        {
          fetch_line (fetch, line + u * apart);
          step (mr, nv, low + u * a_step, high + u * a_step, a_row, at + u * b_step, b_step, s);
          /* The next step's loads stay behind: their registers are in use.  */
          if (unroll > 1)
            __asm__ volatile ("" : : : "memory");
        }
      low += unroll * a_step;
      high += unroll * a_step;
      at += unroll * b_step;
      line += unroll * apart;
    }
  for (; n > 0; n--)
    {
      fetch_line (fetch, line);
      step (mr, nv, low, high, a_row, at, b_step, s);
      low += a_step;
      high += a_step;
      at += b_step;
      line += apart;
    }
}

/* The tile for MR known at compile time, and NV registers of columns; see gemm_tile in kernels.h.  */
MM_INLINE void
tile_columns (size_t mr, size_t nv, size_t k, const float *a, size_t a_row, size_t a_step, const float *b,
           size_t b_step, const float *start, size_t start_ld, float *y, size_t y_ld,
           const struct ahead *ahead)
{
  v16 s[MM_MR][NV];

#pragma GCC unroll 16
  for (size_t i = 0; i < mr; i++)
#pragma GCC unroll 2
    for (size_t v = 0; v < nv; v++)
      s[i][v] = start ? v16_load (start + i * start_ld + 16 * v) : v16_zero ();

  if (ahead)
    {
      for (struct lines l = ahead->write; l.n > 0; l.n--, l.at += l.apart)
        {
          size_t n = least (l.steps, k);

          run_steps (mr, nv, n, &a, a_row, a_step, &b, b_step, s, TO_WRITE, l.at, l.step);
          k -= n;
        }
      for (const struct lines *r = ahead->read; r < ahead->read + 3; r++)
        for (struct lines l = *r; l.n > 0; l.n--, l.at += l.apart)
          {
            size_t n = least (l.steps, k);

            run_steps (mr, nv, n, &a, a_row, a_step, &b, b_step, s, TO_READ, l.at, l.step);
            k -= n;
          }
    }
  run_steps (mr, nv, k, &a, a_row, a_step, &b, b_step, s, NOTHING, NULL, 0);

#pragma GCC unroll 16
  for (size_t i = 0; i < mr; i++)
#pragma GCC unroll 2
    for (size_t v = 0; v < nv; v++)
      v16_store (y + i * y_ld + 16 * v, s[i][v]);
}

MM_INLINE void
tile_rows (size_t mr, size_t k, const float *a, size_t a_row, size_t a_step, const float *b,
           size_t b_step, const float *start, size_t start_ld, float *y, size_t y_ld,
           const struct ahead *ahead)
{
  tile_columns (mr, NV, k, a, a_row, a_step, b, b_step, start, start_ld, y, y_ld, ahead);
}

/* A whole panel of rows, but few columns, as inside an adapter: half the registers.  */
static void
half_tile (size_t k, const float *a, size_t a_row, size_t a_step, const float *b, size_t b_step, const float *start,
           size_t start_ld, float *y, size_t y_ld, const struct ahead *ahead)
{
  if (a_step == 1)
    tile_columns (MM_MR, 1, k, a, a_row, 1, b, MM_NR, start, start_ld, y, y_ld, ahead);
  else
    tile_columns (MM_MR, 1, k, a, a_row, a_step, b, b_step, start, start_ld, y, y_ld, ahead);
}

/* A tile of all NR columns.  The strides that most tiles have are told to the compiler.  */
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
      if (a_step == 1 && b_step == MM_NR)
        tile_rows (MM_MR, k, a, a_row, 1, b, MM_NR, start, start_ld, y, y_ld, ahead);
      else if (a_row == 1 && a_step == MM_MR && b_step == MM_NR)
        tile_rows (MM_MR, k, a, 1, MM_MR, b, MM_NR, start, start_ld, y, y_ld, ahead);
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
      if (NV > 1 && rows == MM_MR && cols <= 16 && b_step == MM_NR)
        half_tile (k, a, a_row, a_step, b, b_step, start ? sums : NULL, MM_NR, sums, MM_NR, ahead);
      else
        tile (rows, k, a, a_row, a_step, b, b_step, start ? sums : NULL, MM_NR, sums, MM_NR, ahead);
      copy_part (rows, cols, sums, MM_NR, y, y_ld);
    }
}

void
mm_kernel (gemm_tile) (size_t rows, size_t cols, size_t k, const float *a, size_t a_row, size_t a_step,
                       const float *b, size_t b_step, const float *start, size_t start_ld, float *y,
                       size_t y_ld)
{
  any_tile (rows, cols, k, a, a_row, a_step, b, b_step, start, start_ld, y, y_ld, NULL);
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
  for (size_t t0 = 0; t0 < k; t0 += COPY_STEPS)
    {
      size_t end = least (t0 + COPY_STEPS, k), i = 0;
      float *to = panels + t0 * MM_MR;

      /* Whole registers: what is too much lies where the next column goes, or behind the panel.  */
      for (; i + COPIED <= rows; i += MM_MR, to += MM_GEMM_A_PANEL (MM_MR))
        for (size_t t = t0; t < end; t++)
          {
            __builtin_prefetch (a + (t + COPY_STEPS) * a_step + i, 0, 2);
            __builtin_memcpy (to + (t - t0) * MM_MR, a + t * a_step + i, COPIED * sizeof *a);
          }
      for (; i < rows; i += MM_MR, to += MM_GEMM_A_PANEL (MM_MR))
        for (size_t t = t0; t < end; t++)
          for (size_t r = 0; r < MM_MR && i + r < rows; r++)
            to[(t - t0) * MM_MR + r] = a[t * a_step + i + r];
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

/* Steps [T, END) of the same, of columns that lie side by side in rows LD apart.  */
static void
pack_rows (const float *b, size_t ld, size_t t, size_t end, size_t n, float *panel)
{
  for (; t < end; t++)
    for (size_t l = 0; l < MM_NR; l += 16)
      {
        __builtin_prefetch (b + (t + COPY_STEPS) * ld + l, 0, 2);
        v16_store (panel + t * MM_NR + l,
                   n == MM_NR ? v16_load (b + t * ld + l)
                   : v16_load_n (b + t * ld + l, l >= n ? 0 : n - l < 16 ? n - l : 16));
      }
}

void
mm_kernel (gemm_pack) (const float *b, size_t ld, bool transposed, size_t k, size_t cols, float *panels)
{
  if (transposed)
    for (size_t j = 0; j < cols; j += MM_NR, panels += k * MM_NR)
      pack_columns (b + j * ld, ld, k, least (cols - j, MM_NR), panels);
  else
    for (size_t t = 0; t < k; t += COPY_STEPS)
      for (size_t j = 0; j < cols; j += MM_NR)
        pack_rows (b + j, ld, t, least (t + COPY_STEPS, k), least (cols - j, MM_NR), panels + j * k);
}

/* Lines of the tile of MM_NR values of SIZE bytes at P, rows LD apart.  */
static struct lines
tile_lines (const void *p, size_t size, size_t rows, size_t ld)
{
  return (struct lines) { .at = p, .n = MM_NR * size / 64, .apart = 64, .steps = rows, .step = ld * size };
}

/* What will be read after this product, as runs that tiles fetch on their way: of A a few each, of B one.  */
struct next
{
  struct lines a, b;
  size_t a_each;
};

/* The first N of the runs that are LEFT.  */
static inline struct lines
take_runs (struct lines *left, size_t n)
{
  struct lines taken = *left;

  taken.n = least (n, left->n);
  left->n -= taken.n;
  left->at += taken.n * left->apart;
  return taken;
}

/* All tiles together fetch the columns that are copied to panels next.  */
static struct next
begin_next (const struct mm_gemm *g)
{
  struct next next = { 0 };

  if (g->a_step != 1 && g->next_a && g->m > 0 && g->n > 0)
    {
      next.a = (struct lines) { .at = (const char *) g->next_a, .n = g->next_k, .apart = g->next_a_step * sizeof *g->a,
                                .steps = g->next_m / 16 + 1, .step = 64 };
      next.a_each = pieces (g->next_k, pieces (g->m, MM_MR) * pieces (g->n, MM_NR));
    }
  return next;
}

/* The tiles of the rows from I fetch the next rows of A, where A is read as it lies, and their share of each panel of
   the next columns of B.  */
static void
begin_rows (const struct mm_gemm *g, size_t i, struct next *next)
{
  if (g->a_step == 1)
    {
      bool last = i + MM_MR >= g->m;
      const float *a = last ? g->next_a : g->a + (i / MM_MR + 1) * g->a_panel;

      next->a = (struct lines) { .at = (const char *) a, .n = least (MM_MR, last ? g->next_m : g->m - i - MM_MR),
                                 .apart = g->a_row * sizeof *g->a, .steps = g->k / 16, .step = 64 };
      next->a_each = pieces (next->a.n, pieces (g->n, MM_NR));
    }
  if (g->next_b)
    {
      size_t n_rows = pieces (g->m, MM_MR), row = i / MM_MR, lines = g->k * MM_NR / 16;
      size_t from = row * lines / n_rows, to = (row + 1) * lines / n_rows;

      next->b = (struct lines) { .at = (const char *) (g->next_b + from * 16), .n = pieces (g->next_n, MM_NR),
                                 .apart = g->b.panel * sizeof *g->b.data, .steps = to - from, .step = 64 };
    }
}

/* What to fetch during tile (I, J): of the outputs, the sums of the next tile, which it may start from, or the integers
   that this one is added to; its residual; its share of what is NEXT.  */
static inline struct ahead
look_ahead (const struct mm_gemm *g, size_t i, size_t j, struct next *next)
{
  size_t rows = least (MM_MR, g->m - i);
  struct ahead ahead = { 0 };

  if (g->fixed)
    ahead.write = tile_lines (g->fixed + i * g->fixed_ld + j, sizeof *g->fixed, rows, g->fixed_ld);
  else if (j + MM_NR < g->n)
    ahead.write = tile_lines (g->y + i * g->y_ld + j + MM_NR, sizeof *g->y, rows, g->y_ld);
  if (g->residual)
    ahead.read[0] = tile_lines (g->residual + i * g->residual_ld + j, sizeof *g->y, rows, g->residual_ld);
  ahead.read[1] = take_runs (&next->a, next->a_each);
  ahead.read[2] = take_runs (&next->b, 1);
  return ahead;
}

/* Add what MORE says to the tile at (I, J) of G, which is still near.  */
static void
add_more (const struct mm_gemm *g, size_t i, size_t j, size_t rows, size_t cols)
{
  float sums[MM_MR * MM_NR] __attribute__ ((__aligned__ (64)));

  for (const struct mm_gemm_more *m = g->more; m < g->more + g->n_more; m++)
    {
      size_t at = g->col + j - m->from, n;

      if (g->col + j < m->from || at >= m->n)
        continue;
      n = least (cols, m->n - at);
      any_tile (rows, n, m->k, m->a + (g->row + i) * m->a_row, m->a_row, 1, m->b.data + at / MM_NR * m->b.panel,
                m->b.step, NULL, 0, sums, MM_NR, NULL);
      for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < n; c += 16)
          {
            size_t left = n - c < 16 ? n - c : 16;
            float *y = g->y + (i + r) * g->y_ld + j + c;

            v16_store_n (y, v16_add (v16_load_n (y, left), v16_load_n (sums + r * MM_NR + c, left)), left);
          }
    }
}

bool
mm_kernel (gemm) (const struct mm_gemm *g)
{
  float sums[MM_MR * MM_NR] __attribute__ ((__aligned__ (64)));
  bool direct = !g->total && !g->residual && !g->fixed, bad = false;
  struct next next = begin_next (g);

  for (size_t i = 0; i < g->m; i += MM_MR)
    {
      size_t rows = least (MM_MR, g->m - i);

      begin_rows (g, i, &next);
      for (size_t j = 0; j < g->n; j += MM_NR)
        {
          size_t cols = least (MM_NR, g->n - j);
          const float *start = g->start ? g->start + i * g->start_ld + j : NULL;
          const struct ahead ahead = look_ahead (g, i, j, &next);

          any_tile (rows, cols, g->k, g->a + i / MM_MR * g->a_panel, g->a_row, g->a_step,
                    g->b.data + j / MM_NR * g->b.panel, g->b.step, start, g->start_ld,
                    direct ? g->y + i * g->y_ld + j : sums, direct ? g->y_ld : MM_NR, &ahead);
          if (!direct)
            bad |= finish (g, i, j, rows, cols, sums);
          if (g->n_more)
            add_more (g, i, j, rows, cols);
        }
    }
  return bad;
}
