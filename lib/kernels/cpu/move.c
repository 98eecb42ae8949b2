/* Copies between strided boxes, and zeros into one. Copy and Relayout are made of these. Loops that
 * are not needed stand behind the outermost one, so that the innermost one has steps to take. */
#include "run.h"

#define LOOP(d) ROLLED for (int64_t i##d = 0; i##d < p->n[d]; i##d++)
#define SPAN(d) ROLLED for (int64_t i##d = begin; i##d < end; i##d++)

/* The offset of a place but for the innermost loop: a sum that folds to constants for loops of one
 * step. */
#define PLACE(s)                                                                                   \
  (i0 * (s)[0] + i1 * (s)[1] + i2 * (s)[2] + i3 * (s)[3] + i4 * (s)[4] + i5 * (s)[5] + i6 * (s)[6])

/* Whether the loops between the outermost and the innermost one have one step each: library code is
 * faster without them. */
INLINE bool is_flat(const int64_t *n, int dims) {
  int64_t steps = 1;
  UNROLL for (int i = 1; i < dims - 1; i++) steps *= n[i];
  return steps == 1;
}

void glow_move(const GlowMoveParams *p, void *const *ptrs, int64_t begin, int64_t end,
               char *scratch) {
  char *y = GLOW_MOVE_PTRS(ptrs).y;
  const char *x = GLOW_MOVE_PTRS(ptrs).x;
  (void)scratch;
  if (is_flat(p->n, GLOW_MOVE_DIMS)) {
    const Runs r = {{end - begin, p->n[7]}, {p->to[0], p->to[7]}, {p->from[0], p->from[7]}, p->run};
    copy_runs(y + begin * p->to[0], x + begin * p->from[0], &r);
    return;
  }
  const Runs r = {{p->n[6], p->n[7]}, {p->to[6], p->to[7]}, {p->from[6], p->from[7]}, p->run};
  SPAN(0) LOOP(1) LOOP(2) LOOP(3) LOOP(4) LOOP(5) {
    const int64_t i6 = 0;
    copy_runs(y + PLACE(p->to), x + PLACE(p->from), &r);
  }
}

void glow_zero(const GlowMoveParams *p, void *const *ptrs, int64_t begin, int64_t end,
               char *scratch) {
  char *y = GLOW_ZERO_PTRS(ptrs).y;
  (void)scratch;
  SPAN(0) LOOP(1) LOOP(2) LOOP(3) LOOP(4) LOOP(5) LOOP(6) {
    char *to = y + PLACE(p->to);
    LOOP(7) __builtin_memset(to + i7 * p->to[7], 0, (size_t)p->run);
  }
}

/* ---- Elements -------------------------------------------------------------------------------- */

enum { LANES = 8 };

#define AT(bits, place) (*(const Lanes##bits *)(place))

/* Lines of elements: of one that is repeated, backwards, every second or third one, or any. A line
 * in steps reads nothing behind its last element. Which they are is asked once for all lines. */
#define EACH_LINE(count, body)                                                                     \
  ROLLED for (int64_t k = 0; k < (count); k++, to += to_next, from += from_next) {                 \
    int64_t i = 0;                                                                                 \
    body ROLLED for (; i < n; i++) to[i * ts] = from[i * fs];                                      \
  }
#define ELEMENTS(bits)                                                                             \
  typedef uint##bits##_t Unit##bits __attribute__((may_alias));                                    \
  typedef uint##bits##_t Lanes##bits                                                               \
      __attribute__((vector_size(LANES * bits / 8), aligned(bits / 8), may_alias));                \
  INLINE void lines_##bits(Unit##bits *to, const Unit##bits *from, int64_t count, int64_t to_next, \
                           int64_t from_next, int64_t n, int64_t ts, int64_t fs) {                 \
    if (ts == 1 && fs == 0) {                                                                      \
      EACH_LINE(count, {                                                                           \
        const Lanes##bits v = (Lanes##bits){0} + *from;                                            \
        ROLLED for (; i + 4 * LANES <= n; i += 4 * LANES) {                                        \
          UNROLL for (int l = 0; l < 4; l++)*(Lanes##bits *)(to + i + l * LANES) = v;             \
        }                                                                                          \
        ROLLED for (; i + LANES <= n; i += LANES) *(Lanes##bits *)(to + i) = v;                    \
      })                                                                                           \
    } else if (ts == 1 && fs == -1) {                                                              \
      EACH_LINE(                                                                                   \
          count, ROLLED for (; i + LANES <= n; i += LANES) {                                       \
            const Lanes##bits v = AT(bits, from - i - (LANES - 1));                                \
            *(Lanes##bits *)(to + i) = __builtin_shufflevector(v, v, 7, 6, 5, 4, 3, 2, 1, 0);      \
          })                                                                                       \
    } else if (ts == 1 && fs == 2) {                                                               \
      EACH_LINE(                                                                                   \
          count, ROLLED for (; i + LANES <= n; i += LANES) {                                       \
            const Unit##bits *f = from + 2 * i;                                                    \
            *(Lanes##bits *)(to + i) = __builtin_shufflevector(                                    \
                AT(bits, f), AT(bits, f + LANES - 1), 0, 2, 4, 6, 9, 11, 13, 15);                  \
          })                                                                                       \
    } else if (ts == 1 && fs == 3) {                                                               \
      EACH_LINE(                                                                                   \
          count, ROLLED for (; i + LANES <= n; i += LANES) {                                       \
            const Unit##bits *f = from + 3 * i;                                                    \
            const Lanes##bits v = __builtin_shufflevector(AT(bits, f), AT(bits, f + LANES), 0, 3,  \
                                                          6, 9, 12, 15, -1, -1);                   \
            *(Lanes##bits *)(to + i) =                                                             \
                __builtin_shufflevector(v, AT(bits, f + 2 * LANES - 2), 0, 1, 2, 3, 4, 5, 12, 15); \
          })                                                                                       \
    } else {                                                                                       \
      EACH_LINE(                                                                                   \
          count, ROLLED for (; i + 4 <= n; i += 4) {                                               \
            UNROLL for (int64_t e = i; e < i + 4; e++) to[e * ts] = from[e * fs];                  \
          })                                                                                       \
    }                                                                                              \
  }                                                                                                \
  void glow_move_elements_##bits(const GlowMoveElementsParams *p, void *const *ptrs,               \
                                 int64_t begin, int64_t end, char *scratch) {                      \
    Unit##bits *y = GLOW_MOVE_ELEMENTS_PTRS(ptrs).y;                                               \
    const Unit##bits *x = GLOW_MOVE_ELEMENTS_PTRS(ptrs).x;                                         \
    (void)scratch;                                                                                 \
    if (is_flat(p->n, GLOW_MOVE_LINES) && p->parts == 1 && p->n[6] == 1) {                         \
      lines_##bits(y + begin * p->to[0], x + begin * p->from[0], end - begin, p->to[0],            \
                   p->from[0], p->columns, p->column_to, p->column_from);                          \
      return;                                                                                      \
    }                                                                                              \
    ROLLED for (int64_t u = begin; u < end; u++) {                                                 \
      const int64_t i0 = u / p->parts, i6 = 0, first = u % p->parts * p->part;                     \
      const int64_t n = p->columns - first < p->part ? p->columns - first : p->part;               \
      LOOP(1)                                                                                      \
      LOOP(2)                                                                                      \
      LOOP(3)                                                                                      \
      LOOP(4)                                                                                      \
      LOOP(5) lines_##bits(y + PLACE(p->to) + first * p->column_to,                                \
                           x + PLACE(p->from) + first * p->column_from, p->n[6], p->to[6],         \
                           p->from[6], n, p->column_to, p->column_from);                           \
    }                                                                                              \
  }

ELEMENTS(8)
ELEMENTS(16)
ELEMENTS(32)
ELEMENTS(64)
