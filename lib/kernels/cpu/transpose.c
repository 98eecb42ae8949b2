/* Transpositions of matrices of 8-, 16-, 32- and 64-bit elements: 4x4 elements in registers, in
 * stripes of columns so that every cache line that is touched is used while it is there. Where
 * columns are far apart in the result, whole lines of it are written one after the other: those
 * that lie a power of two apart would drive each other out of the cache. */
#include "place.h"

enum { LINE = 64, FAR = 4096 }; /* bytes */

#define TRANSPOSE(bits)                                                                            \
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
  }                                                                                                \
  INLINE void stripe_##bits(const GlowTransposeParams *p, Unit##bits *y, const Unit##bits *x,      \
                            int64_t count) {                                                       \
    const int64_t rows = p->rows / 4 * 4, columns = count / 4 * 4;                                 \
    const int64_t next_to = p->column_to, next_from = p->row_from;                                 \
    if (next_to * bits / 8 < FAR) {                                                                \
      ROLLED for (int64_t r = 0; r < rows; r += 4) {                                               \
        Unit##bits *to = y + r;                                                                    \
        const Unit##bits *from = x + r * next_from;                                                \
        if (count == GLOW_TRANSPOSE_TILE) {                                                        \
          UNROLL for (int c = 0; c < GLOW_TRANSPOSE_TILE; c += 4)                                  \
              four_##bits(to + c * next_to, next_to, from + c, next_from);                         \
          continue;                                                                                \
        }                                                                                          \
        ROLLED for (int64_t c = 0; c < columns; c += 4, to += 4 * next_to)                         \
            four_##bits(to, next_to, from + c, next_from);                                         \
      }                                                                                            \
    } else {                                                                                       \
      ROLLED for (int64_t r0 = 0, r1; r0 < rows; r0 = r1) {                                        \
        r1 = r0 + LINE * 8 / bits < rows ? r0 + LINE * 8 / bits : rows;                            \
        Unit##bits *to = y;                                                                        \
        ROLLED for (int64_t c = 0; c < columns; c += 4, to += 4 * next_to) {                       \
          const Unit##bits *from = x + r0 * next_from + c;                                         \
          ROLLED for (int64_t r = r0; r < r1; r += 4, from += 4 * next_from)                       \
              four_##bits(to + r, next_to, from, next_from);                                       \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
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
    ROLLED for (int64_t u = begin; u < end; u++) {                                                 \
      const int64_t rest = p.columns - column;                                                     \
      stripe_##bits(&p, y + at.to + column * p.column_to, x + at.from + column,                    \
                    rest < GLOW_TRANSPOSE_TILE ? rest : GLOW_TRANSPOSE_TILE);                      \
      column += GLOW_TRANSPOSE_TILE;                                                               \
      if (column >= p.columns) {                                                                   \
        column = 0;                                                                                \
        next_place(GLOW_TRANSPOSE_DIMS, p.n, p.to, p.from, &at);                                   \
      }                                                                                            \
    }                                                                                              \
  }

TRANSPOSE(8)
TRANSPOSE(16)
TRANSPOSE(32)
TRANSPOSE(64)
