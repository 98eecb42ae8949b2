/* Two rows put between each other, and taken apart: elements 0, 1, ... of the first are 0, 2, ...
 * of both together, those of the second 1, 3, ... */
#include "place.h"

enum { LANES = 8, HALF = 4, PAIR = 2 };

/* Library code goes through the units of a box at each place of loops 1 to 3, not the other way
 * round, where the result has at most as many bytes: a call for each unit takes longer. */
enum { NEAR = IN_LIBRARY ? 16384 : 0 };

/* CALL(to, from, row, columns) for each line of some units of boxes without loops 1 to 3. */
#define EACH_LINE(CALL, columns)                                                                   \
  ROLLED for (int64_t u = 0; u < units; u++, y += q.to[0], x += q.from[0]) {                       \
    __typeof__(y) row = y;                                                                         \
    __typeof__(x) source = x;                                                                      \
    ROLLED for (int64_t k = 0; k < q.n[4]; k++, row += q.to[4], source += q.from[4]) {             \
      __typeof__(y) to = row;                                                                      \
      __typeof__(x) from = source;                                                                 \
      ROLLED for (int64_t i = 0; i < q.n[5]; i++, to += q.to[5], from += q.from[5])                \
          CALL(to, from, q.row, columns);                                                          \
    }                                                                                              \
  }
/* Lines of few columns have a loop that knows how many. */
#define LINES(bits, name, CALL)                                                                    \
  APART void name(Unit##bits *y, const Unit##bits *x, const GlowInterleaveParams *p,               \
                  int64_t units) {                                                                 \
    const GlowInterleaveParams q = *p; /* what is stored may alias the others */                   \
    if (q.columns == LANES)                                                                        \
      EACH_LINE(CALL, LANES)                                                                       \
    else if (q.columns == HALF)                                                                    \
      EACH_LINE(CALL, HALF)                                                                        \
    else if (q.columns == HALF + PAIR)                                                             \
      EACH_LINE(CALL, HALF + PAIR)                                                                 \
    else                                                                                           \
      EACH_LINE(CALL, q.columns)                                                                   \
  }
/* Loops 1 to 3, of which most boxes need none, are one counter. */
#define KERNEL(bits, name, lines, PTRS)                                                            \
  void name(const GlowInterleaveParams *p, void *const *ptrs, int64_t begin, int64_t end,          \
            char *scratch) {                                                                       \
    Unit##bits *y = (Unit##bits *)PTRS(ptrs).y + begin * p->to[0];                                 \
    const Unit##bits *x = (const Unit##bits *)PTRS(ptrs).x + begin * p->from[0];                   \
    const int64_t around = p->n[1] * p->n[2] * p->n[3];                                            \
    const bool near = (end - begin) * p->to[0] * bits / 8 <= NEAR;                                 \
    const int64_t together = around == 1 || near ? end - begin : 1;                                \
    Place place = {{0}, 0, 0}; /* the first one again behind the last one */                       \
    (void)scratch;                                                                                 \
    ROLLED for (int64_t u = begin; u < end; u += together, y += p->to[0], x += p->from[0]) {       \
      ROLLED for (int64_t i = 0; i < around; i++) {                                                \
        lines(y + place.to, x + place.from, p, together);                                          \
        if (around > 1)                                                                            \
          next_place(3, p->n + 1, p->to + 1, p->from + 1, &place);                                 \
      }                                                                                            \
    }                                                                                              \
  }

#define INTERLEAVE(bits)                                                                           \
  typedef uint##bits##_t Unit##bits __attribute__((may_alias));                                    \
  typedef uint##bits##_t Lanes##bits                                                               \
      __attribute__((vector_size(LANES * bits / 8), aligned(bits / 8), may_alias));                \
  typedef uint##bits##_t Few##bits                                                                 \
      __attribute__((vector_size(HALF * bits / 8), aligned(bits / 8), may_alias));                 \
  typedef uint##bits##_t Pair##bits                                                                \
      __attribute__((vector_size(PAIR * bits / 8), aligned(bits / 8), may_alias));                 \
  INLINE void line_##bits(Unit##bits *to, const Unit##bits *a, int64_t row, int64_t columns) {     \
    const Unit##bits *b = a + row;                                                                 \
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
    if (c + PAIR <= columns) {                                                                     \
      Pair##bits x = *(const Pair##bits *)(a + c), y = *(const Pair##bits *)(b + c);               \
      *(Few##bits *)(to + 2 * c) = __builtin_shufflevector(x, y, 0, 2, 1, 3);                      \
      c += PAIR;                                                                                   \
    }                                                                                              \
    ROLLED for (; c < columns; c++) {                                                              \
      to[2 * c] = a[c];                                                                            \
      to[2 * c + 1] = b[c];                                                                        \
    }                                                                                              \
  }                                                                                                \
  INLINE void part_##bits(Unit##bits *a, const Unit##bits *from, int64_t row, int64_t columns) {   \
    Unit##bits *b = a + row;                                                                       \
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
    if (c + PAIR <= columns) {                                                                     \
      Few##bits x = *(const Few##bits *)(from + 2 * c);                                            \
      *(Pair##bits *)(a + c) = __builtin_shufflevector(x, x, 0, 2);                                \
      *(Pair##bits *)(b + c) = __builtin_shufflevector(x, x, 1, 3);                                \
      c += PAIR;                                                                                   \
    }                                                                                              \
    ROLLED for (; c < columns; c++) {                                                              \
      a[c] = from[2 * c];                                                                          \
      b[c] = from[2 * c + 1];                                                                      \
    }                                                                                              \
  }                                                                                                \
  LINES(bits, lines_##bits, line_##bits)                                                           \
  LINES(bits, parts_##bits, part_##bits)                                                           \
  KERNEL(bits, glow_interleave_##bits, lines_##bits, GLOW_INTERLEAVE_PTRS)                         \
  KERNEL(bits, glow_deinterleave_##bits, parts_##bits, GLOW_DEINTERLEAVE_PTRS)

INTERLEAVE(8)
INTERLEAVE(16)
INTERLEAVE(32)
INTERLEAVE(64)
