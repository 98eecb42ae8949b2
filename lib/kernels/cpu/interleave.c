/* Two rows put between each other, and taken apart: elements 0, 1, ... of the first are 0, 2, ...
 * of both together, those of the second 1, 3, ... */
#include "kernels/kernels.h"

enum { LANES = 8, HALF = 4 };

/* Loops add up addresses. `q` is a copy of the params: what is stored may alias the others. */
#define LOOP(d, o)                                                                                 \
  y##d = y##o, x##d = x##o;                                                                        \
  ROLLED for (int64_t i##d = 0; i##d < q.n[d]; i##d++, y##d += q.to[d], x##d += q.from[d])
#define LOOPS(bits, CALL)                                                                          \
  Unit##bits *y1, *y2, *y3, *y4, *y0 = y + begin * q.to[0];                                        \
  const Unit##bits *x1, *x2, *x3, *x4, *x0 = x + begin * q.from[0];                                \
  ROLLED for (int64_t i0 = begin; i0 < end; i0++, y0 += q.to[0], x0 += q.from[0]) {                \
    LOOP(1, 0) {                                                                                   \
      LOOP(2, 1) {                                                                                 \
        LOOP(3, 2) { LOOP(4, 3) CALL(y4, x4, &q); }                                                \
      }                                                                                            \
    }                                                                                              \
  }

/* Lines of few columns have a loop that knows how many. */
#define LINES(CALL, columns, a, b, c)                                                              \
  ROLLED for (int64_t i = 0; i < q->n[5]; i++) CALL(a, b, c, columns);
#define BY_COLUMNS(columns, CALL, a, b, c)                                                         \
  if ((columns) == LANES) {                                                                        \
    LINES(CALL, LANES, a, b, c)                                                                    \
  } else if ((columns) == HALF) {                                                                  \
    LINES(CALL, HALF, a, b, c)                                                                     \
  } else {                                                                                         \
    LINES(CALL, columns, a, b, c)                                                                  \
  }

#define INTERLEAVE(bits)                                                                           \
  typedef uint##bits##_t Unit##bits __attribute__((may_alias));                                    \
  typedef uint##bits##_t Lanes##bits                                                               \
      __attribute__((vector_size(LANES * bits / 8), aligned(bits / 8), may_alias));                \
  typedef uint##bits##_t Few##bits                                                                 \
      __attribute__((vector_size(HALF * bits / 8), aligned(bits / 8), may_alias));                 \
  INLINE void line_##bits(Unit##bits *to, const Unit##bits *a, const Unit##bits *b,                \
                          int64_t columns) {                                                       \
    int64_t c = 0;                                                                                 \
    ROLLED for (; c + LANES <= columns; c += LANES) {                                              \
      Lanes##bits x = *(const Lanes##bits *)(a + c), y = *(const Lanes##bits *)(b + c);            \
      *(Lanes##bits *)(to + 2 * c) = __builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11);      \
      *(Lanes##bits *)(to + 2 * c + LANES) =                                                       \
          __builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15);                               \
    }                                                                                              \
    if (c + HALF <= columns) {                                                                     \
      Few##bits x = *(const Few##bits *)(a + c), y = *(const Few##bits *)(b + c);                  \
      *(Lanes##bits *)(to + 2 * c) = __builtin_shufflevector(x, y, 0, 4, 1, 5, 2, 6, 3, 7);        \
      c += HALF;                                                                                   \
    }                                                                                              \
    ROLLED for (; c < columns; c++) {                                                              \
      to[2 * c] = a[c];                                                                            \
      to[2 * c + 1] = b[c];                                                                        \
    }                                                                                              \
  }                                                                                                \
  INLINE void part_##bits(Unit##bits *a, Unit##bits *b, const Unit##bits *from, int64_t columns) { \
    int64_t c = 0;                                                                                 \
    ROLLED for (; c + LANES <= columns; c += LANES) {                                              \
      Lanes##bits x = *(const Lanes##bits *)(from + 2 * c),                                        \
                  y = *(const Lanes##bits *)(from + 2 * c + LANES);                                \
      *(Lanes##bits *)(a + c) = __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14);          \
      *(Lanes##bits *)(b + c) = __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15);          \
    }                                                                                              \
    if (c + HALF <= columns) {                                                                     \
      Lanes##bits x = *(const Lanes##bits *)(from + 2 * c);                                        \
      *(Few##bits *)(a + c) = __builtin_shufflevector(x, x, 0, 2, 4, 6);                           \
      *(Few##bits *)(b + c) = __builtin_shufflevector(x, x, 1, 3, 5, 7);                           \
      c += HALF;                                                                                   \
    }                                                                                              \
    ROLLED for (; c < columns; c++) {                                                              \
      a[c] = from[2 * c];                                                                          \
      b[c] = from[2 * c + 1];                                                                      \
    }                                                                                              \
  }                                                                                                \
  INLINE void lines_##bits(Unit##bits *to, const Unit##bits *from,                                 \
                           const GlowInterleaveParams *q) {                                        \
    BY_COLUMNS(q->columns, line_##bits, to + i * q->to[5], from + i * q->from[5],                  \
               from + i * q->from[5] + q->row);                                                    \
  }                                                                                                \
  INLINE void parts_##bits(Unit##bits *to, const Unit##bits *from,                                 \
                           const GlowInterleaveParams *q) {                                        \
    BY_COLUMNS(q->columns, part_##bits, to + i * q->to[5], to + i * q->to[5] + q->row,             \
               from + i * q->from[5]);                                                             \
  }                                                                                                \
  void glow_interleave_##bits(const GlowInterleaveParams *p, void *const *ptrs, int64_t begin,     \
                              int64_t end, char *scratch) {                                        \
    Unit##bits *y = GLOW_INTERLEAVE_PTRS(ptrs).y;                                                  \
    const Unit##bits *x = GLOW_INTERLEAVE_PTRS(ptrs).x;                                            \
    const GlowInterleaveParams q = *p;                                                             \
    (void)scratch;                                                                                 \
    LOOPS(bits, lines_##bits)                                                                      \
  }                                                                                                \
  void glow_deinterleave_##bits(const GlowInterleaveParams *p, void *const *ptrs, int64_t begin,   \
                                int64_t end, char *scratch) {                                      \
    Unit##bits *y = GLOW_DEINTERLEAVE_PTRS(ptrs).y;                                                \
    const Unit##bits *x = GLOW_DEINTERLEAVE_PTRS(ptrs).x;                                          \
    const GlowInterleaveParams q = *p;                                                             \
    (void)scratch;                                                                                 \
    LOOPS(bits, parts_##bits)                                                                      \
  }

INTERLEAVE(8)
INTERLEAVE(16)
INTERLEAVE(32)
INTERLEAVE(64)
