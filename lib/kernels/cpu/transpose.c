/* Transpositions of matrices of 8-, 16-, 32- and 64-bit elements: blocks of elements in registers,
 * in stripes of columns so that every cache line that is touched is used while it is there. Where
 * columns are far apart in the result, whole lines of it are written one after the other: those
 * that lie a power of two apart would drive each other out of the cache. It is four lines at a time
 * where rows are close, so that what is read of them stays there meanwhile. */
#include "place.h"

enum { LINE = 64, CLOSE = 512, FAR = 4096 }; /* bytes */

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* 4 x 4 elements. */
#define FOUR(bits)                                                                                 \
  typedef uint##bits##_t Four##bits                                                                \
      __attribute__((vector_size(bits / 2), aligned(bits / 8), may_alias));                        \
  typedef uint##bits##_t Unit##bits __attribute__((may_alias));                                    \
  INLINE void four_##bits(Unit##bits *to, int64_t to_step, const Unit##bits *from,                 \
                          int64_t from_step) {                                                     \
    Four##bits a = *(const Four##bits *)from, b = *(const Four##bits *)(from + from_step),         \
               c = *(const Four##bits *)(from + 2 * from_step),                                    \
               d = *(const Four##bits *)(from + 3 * from_step);                                    \
    Four##bits ac0 = __builtin_shufflevector(a, c, 0, 4, 1, 5),                                    \
               ac1 = __builtin_shufflevector(a, c, 2, 6, 3, 7),                                    \
               bd0 = __builtin_shufflevector(b, d, 0, 4, 1, 5),                                    \
               bd1 = __builtin_shufflevector(b, d, 2, 6, 3, 7);                                    \
    *(Four##bits *)to = __builtin_shufflevector(ac0, bd0, 0, 4, 1, 5);                             \
    *(Four##bits *)(to + to_step) = __builtin_shufflevector(ac0, bd0, 2, 6, 3, 7);                 \
    *(Four##bits *)(to + 2 * to_step) = __builtin_shufflevector(ac1, bd1, 0, 4, 1, 5);             \
    *(Four##bits *)(to + 3 * to_step) = __builtin_shufflevector(ac1, bd1, 2, 6, 3, 7);             \
  }
FOUR(8)
FOUR(16)
FOUR(32)
FOUR(64)

/* 8 x 8 bytes: rows 0 and 4, then 0, 2, 4 and 6, then all are put between each other. */
typedef uint8_t Half8 __attribute__((vector_size(8), aligned(1), may_alias));
typedef uint8_t Whole8 __attribute__((vector_size(16)));
#define LOW(a, b)                                                                                  \
  __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH(a, b)                                                                                 \
  __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
INLINE void block_8(Unit8 *to, int64_t to_step, const Unit8 *from, int64_t from_step) {
  Whole8 z[4], out[4];
  UNROLL for (int i = 0; i < 4; i++) {
    const Half8 a = *(const Half8 *)(from + i * from_step);
    const Half8 b = *(const Half8 *)(from + (i + 4) * from_step);
    z[i] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
  }
  const Whole8 even0 = LOW(z[0], z[2]), even1 = HIGH(z[0], z[2]);
  const Whole8 odd0 = LOW(z[1], z[3]), odd1 = HIGH(z[1], z[3]);
  out[0] = LOW(even0, odd0), out[1] = HIGH(even0, odd0);
  out[2] = LOW(even1, odd1), out[3] = HIGH(even1, odd1);
  UNROLL for (int i = 0; i < 4; i++) {
    *(Half8 *)(to + 2 * i * to_step) =
        __builtin_shufflevector(out[i], out[i], 0, 1, 2, 3, 4, 5, 6, 7);
    *(Half8 *)(to + (2 * i + 1) * to_step) =
        __builtin_shufflevector(out[i], out[i], 8, 9, 10, 11, 12, 13, 14, 15);
  }
}

/* 8 rows by 4 columns: rows 0 to 3 and 4 to 7 in the halves of registers. */
typedef uint32_t Eight32 __attribute__((vector_size(32), aligned(4), may_alias));
#define LOW_HALVES(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH_HALVES(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
INLINE void block_32(Unit32 *y, int64_t to_step, const Unit32 *x, int64_t from_step) {
  const int64_t t = to_step * 4, f = from_step * 4;
  const char *from = (const char *)x, *high = from + 4 * f;
  char *to = (char *)y;
  Eight32 v[4];
  UNROLL for (int i = 0; i < 4; i++) {
    const Four32 a = *(const Four32 *)(const void *)(from + i * f);
    const Four32 b = *(const Four32 *)(const void *)(high + i * f);
    v[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
  }
  const Eight32 even0 = LOW_HALVES(v[0], v[2]), even1 = HIGH_HALVES(v[0], v[2]);
  const Eight32 odd0 = LOW_HALVES(v[1], v[3]), odd1 = HIGH_HALVES(v[1], v[3]);
  *(Eight32 *)(void *)to = LOW_HALVES(even0, odd0);
  *(Eight32 *)(void *)(to + t) = HIGH_HALVES(even0, odd0);
  *(Eight32 *)(void *)(to + 2 * t) = LOW_HALVES(even1, odd1);
  *(Eight32 *)(void *)(to + 3 * t) = HIGH_HALVES(even1, odd1);
}

#define block_16 four_16
#define block_64 four_64

/* ---- Matrices -------------------------------------------------------------------------------- */

/* Rows [r0, r1) of columns [c0, c1), whole blocks of 4 x 4. */
#define FOURS(bits, r0, r1, c0, c1)                                                                \
  ROLLED for (int64_t r = (r0); r < (r1); r += 4) ROLLED for (int64_t c = (c0); c < (c1); c += 4)  \
      four_##bits(y + c * next_to + r, next_to, x + r * next_from + c, next_from);

/* R, C: rows and columns of a block. */
#define TRANSPOSE(bits, R, C)                                                                      \
  /* Whole stripes, rows of blocks one after the other. */                                         \
  APART void near_##bits(Unit##bits *y, int64_t next_to, const Unit##bits *x, int64_t next_from,   \
                         int64_t rows, int64_t stripes) {                                          \
    ROLLED for (int64_t s = 0; s < stripes; s++) {                                                 \
      Unit##bits *to = y + s * GLOW_TRANSPOSE_TILE * next_to;                                      \
      const Unit##bits *from = x + s * GLOW_TRANSPOSE_TILE;                                        \
      ROLLED for (int64_t r = 0; r < rows; r += R, to += R, from += R * next_from) {               \
        UNROLL for (int c = 0; c < GLOW_TRANSPOSE_TILE; c += C)                                    \
            block_##bits(to + c * next_to, next_to, from + c, next_from);                          \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  /* `columns` lines of the result, `rows` elements of each. */                                    \
  APART void lines_##bits(Unit##bits *to, int64_t next_to, const Unit##bits *from,                 \
                          int64_t next_from, int64_t rows, int64_t columns) {                      \
    ROLLED for (int64_t c = 0; c < columns; c += C, to += C * next_to, from += C) {                \
      const Unit##bits *at = from;                                                                 \
      ROLLED for (int64_t r = 0; r < rows; r += R, at += R * next_from)                            \
          block_##bits(to + r, next_to, at, next_from);                                            \
    }                                                                                              \
  }                                                                                                \
  INLINE void stripe_##bits(const GlowTransposeParams *p, Unit##bits *y, const Unit##bits *x,      \
                            int64_t count) {                                                       \
    const int64_t rows = p->rows / 4 * 4, columns = count / 4 * 4;                                 \
    const int64_t rows_r = rows / R * R, columns_c = count / C * C;                                \
    const int64_t next_to = p->column_to, next_from = p->row_from;                                 \
    if (next_to * bits / 8 < FAR && count == GLOW_TRANSPOSE_TILE) {                                \
      near_##bits(y, next_to, x, next_from, rows_r, 1);                                            \
    } else {                                                                                       \
      const int64_t line = (next_from * bits / 8 <= CLOSE ? 4 * LINE : LINE) * 8 / bits;           \
      const int64_t most = next_to * bits / 8 < FAR ? R : line;                                    \
      ROLLED for (int64_t r = 0; r < rows_r; r += most)                                            \
          lines_##bits(y + r, next_to, x + r * next_from, next_from,                               \
                       most < rows_r - r ? most : rows_r - r, columns_c);                          \
    }                                                                                              \
    FOURS(bits, 0, rows_r, columns_c, columns)                                                     \
    FOURS(bits, rows_r, rows, 0, columns)                                                          \
    ROLLED for (int64_t c = columns; c < count; c++) {                                             \
      ROLLED for (int64_t r = 0; r < rows; r++) y[c * next_to + r] = x[r * next_from + c];         \
    }                                                                                              \
    ROLLED for (int64_t r = rows; r < p->rows; r++) {                                              \
      ROLLED for (int64_t c = 0; c < count; c++) y[c * next_to + r] = x[r * next_from + c];        \
    }                                                                                              \
  }                                                                                                \
  void glow_transpose_##bits(const GlowTransposeParams *params, void *const *ptrs, int64_t begin,  \
                             int64_t end, char *scratch) {                                         \
    const GlowTransposeParams p = *params; /* what is stored may alias the others */               \
    Place at = place_of(GLOW_TRANSPOSE_DIMS, p.n, p.to, p.from, begin ? begin / p.stripes : 0);    \
    int64_t column = begin ? begin % p.stripes * GLOW_TRANSPOSE_TILE : 0;                          \
    Unit##bits *y = GLOW_TRANSPOSE_PTRS(ptrs).y;                                                   \
    const Unit##bits *x = GLOW_TRANSPOSE_PTRS(ptrs).x;                                             \
    (void)scratch;                                                                                 \
    const bool near = IN_LIBRARY && p.column_to * bits / 8 < FAR && p.rows % R == 0;               \
    ROLLED for (int64_t u = begin, stripes; u < end; u += stripes) {                               \
      const int64_t rest = p.columns - column, whole = near ? rest / GLOW_TRANSPOSE_TILE : 0;      \
      Unit##bits *to = y + at.to + column * p.column_to;                                           \
      const Unit##bits *from = x + at.from + column;                                               \
      stripes = whole < end - u ? whole : end - u;                                                 \
      if (stripes > 1) {                                                                           \
        near_##bits(to, p.column_to, from, p.row_from, p.rows, stripes);                           \
      } else {                                                                                     \
        stripe_##bits(&p, to, from, rest < GLOW_TRANSPOSE_TILE ? rest : GLOW_TRANSPOSE_TILE);      \
        stripes = 1;                                                                               \
      }                                                                                            \
      column += stripes * GLOW_TRANSPOSE_TILE;                                                     \
      if (column >= p.columns) {                                                                   \
        column = 0;                                                                                \
        next_place(GLOW_TRANSPOSE_DIMS, p.n, p.to, p.from, &at);                                   \
      }                                                                                            \
    }                                                                                              \
  }

TRANSPOSE(8, 8, 8)
TRANSPOSE(16, 4, 4)
TRANSPOSE(32, 8, 4)
TRANSPOSE(64, 4, 4)
