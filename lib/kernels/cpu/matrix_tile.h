/* The inner loop of products of matrices: a tile of rows of A by registers of columns of B, one FMA
 * chain for each output. Shared by MatMul, attention and plain convolutions. */
#ifndef GLOW_KERNELS_CPU_MATRIX_TILE_H
#define GLOW_KERNELS_CPU_MATRIX_TILE_H

#include "kernels/kernels.h"
#include "part.h"

#define PANEL (GLOW_TILE_VECTORS * GLOW_VL) /* columns of B that a tile takes */

typedef GlowVec Accumulators[GLOW_TILE_PIXELS][GLOW_TILE_VECTORS];

/* ---- Columns: registers at column c of n ----------------------------------------------------- */

/* Whether a part of the register is beyond the last column, and whether all of it is. */
INLINE bool is_partial(int64_t n, int64_t c) { return n % GLOW_VL && c + GLOW_VL > n; }
INLINE bool is_outside(int64_t n, int64_t c) { return n % PANEL && c >= n; }

INLINE void put(float *to, GlowVec v, int64_t c, int64_t n) {
  if (is_outside(n, c))
    return;
  if (is_partial(n, c))
    put_first(to, v, n % GLOW_VL);
  else
    vec_store(to, v);
}

INLINE GlowVec get(const float *from, int64_t c, int64_t n) {
  if (is_outside(n, c))
    return (GlowVec){0};
  return is_partial(n, c) ? get_first(from, n % GLOW_VL) : vec_load(from);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* How a tile goes through its operands; constants. */
typedef struct Steps {
  int64_t am, ak, bk; /* strides: of A from row to row and from step to step, of B by steps */
  int64_t ahead;      /* cache lines to fetch at `next` in four steps */
  bool rest;          /* the number of steps may be no multiple of 4 */
} Steps;

/* Returns v and emits nothing. But it keeps LLVM from putting a sum off until after the loads of
 * the next step, for which there is one register too few. See conv_tile.h for the fence. */
INLINE GlowVec computed(GlowVec v) {
#if defined(__AVX512F__)
  __asm__("" : "+v"(v));
#endif
  return vec_now(v);
}

/* Where every third row of A is: two more rows are a stride and two strides away, which addresses
 * of x86 have room for. */
#define THIRD(rows) (((rows) + 2) / 3)
typedef const float *Thirds[THIRD(GLOW_TILE_PIXELS)];

/* Sets the pointers of `rows` rows that begin at a. So library code, which does not know strides,
 * has neither a pointer for each row, for which there are too few registers, nor a single one that
 * goes from row to row, for which the sums would wait. */
INLINE void find_thirds(int rows, Thirds row, const float *a, int64_t am) {
  UNROLL for (int i = 0; i < THIRD(rows); i++) {
    row[i] = a + 3 * i * am;
#ifdef GLOW_LIBRARY
    __asm__("" : "+r"(row[i])); /* emits nothing; LLVM no longer knows what it is */
#endif
  }
}

/* One step for a tile of `rows` rows by nr registers: rows * nr FMAs. */
INLINE void product_step(int rows, int nr, Accumulators acc, const float *a, int64_t am,
                         const float *b) {
  GlowVec f[GLOW_TILE_VECTORS];
  Thirds row;
  find_thirds(rows, row, a, am);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  UNROLL for (int j = 0; j < nr; j++) f[j] = vec_load(b + j * GLOW_VL);
  UNROLL for (int i = 0; i < rows; i++) {
    GlowVec v = vec_splat(row[i / 3][i % 3 * am]);
    UNROLL for (int j = 0; j < nr; j++) acc[i][j] = computed(vec_fma(v, f[j], acc[i][j]));
  }
}

/* acc += A * B over `depth` steps in ascending order. */
INLINE void product_steps(int rows, int nr, Accumulators acc, const float *a, const float *b,
                          const float *next, int64_t depth, const Steps *s) {
  const int64_t whole = depth & -4;
  ROLLED for (int64_t k = 0; k < whole; k += 4) {
    UNROLL for (int i = 0; i < GLOW_MATMUL_AHEAD; i++) {
      if (i < s->ahead)
        __builtin_prefetch(next + i * 16, 0, 2);
    }
    next += s->ahead * 16;
    UNROLL for (int u = 0; u < 4; u++)
        product_step(rows, nr, acc, a + u * s->ak, s->am, b + u * s->bk);
    a += 4 * s->ak;
    b += 4 * s->bk;
  }
  if (s->rest) {
    ROLLED for (int64_t k = whole; k < depth; k++) {
      product_step(rows, nr, acc, a, s->am, b);
      a += s->ak;
      b += s->bk;
    }
  }
}

#endif
