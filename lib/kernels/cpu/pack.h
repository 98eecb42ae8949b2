/* Copying a matrix with any strides into rows of `ld` floats: row by row, by squares that are
 * transposed in registers, or element by element. */
#ifndef GLOW_KERNELS_CPU_PACK_H
#define GLOW_KERNELS_CPU_PACK_H

#include "vector.h"

/* Exchange of lanes between two registers at distance d: lane l of the first result is lane l of a,
 * or, where l has the bit d, lane l - d of b; of the second lane l + d of a, or lane l of b. */
#define GLOW_LANE_LOW(l, d) ((l) & (d) ? GLOW_VL + (l) - (d) : (l))
#define GLOW_LANE_HIGH(l, d) ((l) & (d) ? GLOW_VL + (l) : (l) + (d))
#define GLOW_LANES4(F, l, d) F(l, d), F(l + 1, d), F(l + 2, d), F(l + 3, d)
#define GLOW_LANES8(F, l, d) GLOW_LANES4(F, l, d), GLOW_LANES4(F, l + 4, d)
#if GLOW_VL == 16
#define GLOW_LANES_OF(F, d) GLOW_LANES8(F, 0, d), GLOW_LANES8(F, 8, d)
#elif GLOW_VL == 8
#define GLOW_LANES_OF(F, d) GLOW_LANES8(F, 0, d)
#elif GLOW_VL == 4
#define GLOW_LANES_OF(F, d) GLOW_LANES4(F, 0, d)
#else
#error "a register has 4, 8 or 16 lanes"
#endif

#define GLOW_EXCHANGE(v, d)                                                                        \
  UNROLL for (int i = 0; i < GLOW_VL; i++) {                                                       \
    if (!(i & (d))) {                                                                              \
      GlowVec a = v[i], b = v[i + (d)];                                                            \
      v[i] = __builtin_shufflevector(a, b, GLOW_LANES_OF(GLOW_LANE_LOW, d));                       \
      v[i + (d)] = __builtin_shufflevector(a, b, GLOW_LANES_OF(GLOW_LANE_HIGH, d));                \
    }                                                                                              \
  }

/* Transposes a square of GLOW_VL registers. */
INLINE void transpose_square(GlowVec *v) {
  GLOW_EXCHANGE(v, 1)
  GLOW_EXCHANGE(v, 2)
#if GLOW_VL >= 8
  GLOW_EXCHANGE(v, 4)
#endif
#if GLOW_VL >= 16
  GLOW_EXCHANGE(v, 8)
#endif
}

/* A square of GLOW_VL rows and columns, columns contiguous on one side and rows on the other. */
INLINE void pack_square(float *to, int64_t ld, const float *from, int64_t cs) {
  GlowVec v[GLOW_VL];
  UNROLL for (int i = 0; i < GLOW_VL; i++) v[i] = vec_load(from + i * cs);
  transpose_square(v);
  UNROLL for (int i = 0; i < GLOW_VL; i++) vec_store(to + i * ld, v[i]);
}

/* rows by cols elements at strides rs and cs; cols is at most ld. */
INLINE void pack(float *to, int64_t ld, const float *from, int64_t rs, int64_t cs, int64_t rows,
                 int64_t cols) {
  const int64_t whole = cols / GLOW_VL * GLOW_VL;
  int64_t r = 0;
  if (cs != 1 && rs == 1) {
    ROLLED for (; r + GLOW_VL <= rows; r += GLOW_VL) {
      ROLLED for (int64_t c = 0; c < whole; c += GLOW_VL)
          pack_square(to + r * ld + c, ld, from + r + c * cs, cs);
      ROLLED for (int64_t c = whole; c < cols; c++) {
        UNROLL for (int i = 0; i < GLOW_VL; i++) to[(r + i) * ld + c] = from[r + i + c * cs];
      }
    }
  }
  ROLLED for (; r < rows; r++) {
    int64_t c = 0;
    if (cs == 1) {
      ROLLED for (; c < whole; c += GLOW_VL)
          vec_store(to + r * ld + c, vec_load(from + r * rs + c));
    }
    ROLLED for (; c < cols; c++) to[r * ld + c] = from[r * rs + c * cs];
  }
}

/* The same, and zeros from cols up to ld, whole registers. */
INLINE void pack_padded(float *to, int64_t ld, const float *from, int64_t rs, int64_t cs,
                        int64_t rows, int64_t cols) {
  ROLLED for (int64_t r = 0; r < rows; r++) {
    ROLLED for (int64_t c = cols / GLOW_VL * GLOW_VL; c < ld; c += GLOW_VL)
        vec_store(to + r * ld + c, (GlowVec){0});
  }
  pack(to, ld, from, rs, cs, rows, cols);
}

#endif
