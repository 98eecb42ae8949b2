/* Transpositions of matrices of 8-, 16-, 32- and 64-bit elements: 4x4 elements in registers, in
 * stripes of columns so that every cache line that is touched is used while it is there. Where
 * columns are far apart in the result, whole lines of it are written one after the other: those
 * that lie a power of two apart would drive each other out of the cache. */
#include "kernels/kernels.h"

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
  void glow_transpose_##bits(const GlowTransposeParams *p, void *const *ptrs, int64_t begin,       \
                             int64_t end, char *scratch) {                                         \
    (void)scratch;                                                                                 \
    ROLLED for (int64_t u = begin; u < end; u++) {                                                 \
      Unit##bits *to = GLOW_TRANSPOSE_PTRS(ptrs).y;                                                \
      const Unit##bits *from = GLOW_TRANSPOSE_PTRS(ptrs).x;                                        \
      int64_t rest = u / p->stripes, column = u % p->stripes * GLOW_TRANSPOSE_TILE;                \
      int64_t last =                                                                               \
          column + GLOW_TRANSPOSE_TILE < p->columns ? column + GLOW_TRANSPOSE_TILE : p->columns;   \
      UNROLL for (int d = GLOW_TRANSPOSE_DIMS - 1; d >= 0; d--) {                                  \
        to += rest % p->n[d] * p->to[d];                                                           \
        from += rest % p->n[d] * p->from[d];                                                       \
        rest /= p->n[d];                                                                           \
      }                                                                                            \
      const int64_t rows = p->rows / 4 * 4, columns = column + (last - column) / 4 * 4;            \
      if (p->column_to * bits / 8 < FAR) {                                                         \
        ROLLED for (int64_t r = 0; r < rows; r += 4) {                                             \
          ROLLED for (int64_t c = column; c < columns; c += 4) four_##bits(                        \
              to + c * p->column_to + r, p->column_to, from + r * p->row_from + c, p->row_from);   \
        }                                                                                          \
      } else {                                                                                     \
        ROLLED for (int64_t r0 = 0, r1; r0 < rows; r0 = r1) {                                      \
          r1 = r0 + LINE * 8 / bits < rows ? r0 + LINE * 8 / bits : rows;                          \
          ROLLED for (int64_t c = column; c < columns; c += 4) {                                   \
            ROLLED for (int64_t r = r0; r < r1; r += 4) four_##bits(                               \
                to + c * p->column_to + r, p->column_to, from + r * p->row_from + c, p->row_from); \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
      ROLLED for (int64_t c = columns; c < last; c++) {                                            \
        ROLLED for (int64_t r = 0; r < rows; r++) to[c * p->column_to + r] =                       \
            from[r * p->row_from + c];                                                             \
      }                                                                                            \
      ROLLED for (int64_t r = rows; r < p->rows; r++) {                                            \
        ROLLED for (int64_t c = column; c < last; c++) to[c * p->column_to + r] =                  \
            from[r * p->row_from + c];                                                             \
      }                                                                                            \
    }                                                                                              \
  }

TRANSPOSE(8)
TRANSPOSE(16)
TRANSPOSE(32)
TRANSPOSE(64)
