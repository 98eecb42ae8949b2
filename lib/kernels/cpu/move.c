/* Copies between strided boxes, and zeros into one. Copy and Relayout are made of these. Loops that
 * are not needed stand behind the outermost one, so that the innermost one has steps to take. */
#include "place.h"
#include "run.h"

#define LOOP(d) ROLLED for (int64_t i##d = 0; i##d < p->n[d]; i##d++)
#define SPAN(d) ROLLED for (int64_t i##d = begin; i##d < end; i##d++)

/* The offset of a place but for the innermost loop: a sum that folds to constants for loops of one
 * step. */
#define PLACE(s)                                                                                   \
  (i0 * (s)[0] + i1 * (s)[1] + i2 * (s)[2] + i3 * (s)[3] + i4 * (s)[4] + i5 * (s)[5] + i6 * (s)[6])

enum { AROUND = 5 }; /* loops 1 to 5, of which most boxes need none: one counter stands for them */

INLINE int64_t steps_around(const int64_t *n) { return n[1] * n[2] * n[3] * n[4] * n[5]; }
INLINE void next_around(const int64_t *n, const int64_t *to, const int64_t *from, Place *place) {
  next_place(AROUND, n + 1, to + 1, from + 1, place);
}

/* Two loops over runs: steps of each, and the bytes from one to the next on both sides, the inner
 * loop last. */
typedef struct Runs {
  int64_t n[2], to[2], from[2], run;
} Runs;

#define EACH_RUN(COPY)                                                                             \
  ROLLED for (int64_t i = 0; i < r->n[0]; i++) {                                                   \
    char *t = to + i * r->to[0];                                                                   \
    const char *f = from + i * r->from[0];                                                         \
    ROLLED for (int64_t j = 0; j < r->n[1]; j++, t += r->to[1], f += r->from[1]) COPY(t, f, run);  \
  }

APART void copy_runs(char *to, const char *from, const Runs *steps) {
  const Runs copied = *steps, *const r = &copied; /* what is copied may alias the others */
  const int64_t run = r->run;
  BY_RUN(run, EACH_RUN)
}

void glow_move(const GlowMoveParams *p, void *const *ptrs, int64_t begin, int64_t end,
               char *scratch) {
  char *y = (char *)GLOW_MOVE_PTRS(ptrs).y + begin * p->to[0];
  const char *x = (const char *)GLOW_MOVE_PTRS(ptrs).x + begin * p->from[0];
  const int64_t around = steps_around(p->n);
  Runs r = {{p->n[6], p->n[7]}, {p->to[6], p->to[7]}, {p->from[6], p->from[7]}, p->run};
  int64_t units = end - begin;
  Place place = {{0}, 0, 0}; /* the first one again behind the last one */
  (void)scratch;
  if (around * r.n[0] == 1) { /* the units are one of the two loops over runs */
    if (r.n[1] == 1)
      r.n[1] = units, r.to[1] = p->to[0], r.from[1] = p->from[0];
    else
      r.n[0] = units, r.to[0] = p->to[0], r.from[0] = p->from[0];
    units = 1;
  }
  ROLLED for (int64_t u = 0; u < units; u++, y += p->to[0], x += p->from[0]) {
    ROLLED for (int64_t i = 0; i < around; i++) {
      copy_runs(y + place.to, x + place.from, &r);
      if (around > 1)
        next_around(p->n, p->to, p->from, &place);
    }
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

/* Lines of elements: of one that is repeated, backwards, every second or third one, or any. The
 * last registers of a line overlap those before them. A line in steps reads nothing behind its last
 * element. Which they are is asked once for all lines. */
#define EACH_LINE(count, body)                                                                     \
  ROLLED for (int64_t k = 0; k < (count); k++, to += to_next, from += from_next) body

/* put(to, from) for all registers of a line, which has at least one; `step`: that of the source. */
#define REGISTERS(put, step)                                                                       \
  {                                                                                                \
    const int64_t last = n - LANES, two = n > 2 * LANES ? n - 2 * LANES : 0;                       \
    ROLLED for (int64_t i = 0; i < two; i += 2 * LANES) {                                          \
      put(to + i, from + i * (step));                                                              \
      put(to + i + LANES, from + (i + LANES) * (step));                                            \
    }                                                                                              \
    put(to + two, from + two * (step));                                                            \
    put(to + last, from + last * (step));                                                          \
  }
#define ELEMENTS(bits)                                                                             \
  typedef uint##bits##_t Unit##bits __attribute__((may_alias));                                    \
  typedef uint##bits##_t Lanes##bits                                                               \
      __attribute__((vector_size(LANES * bits / 8), aligned(bits / 8), may_alias));                \
  INLINE void back_##bits(Unit##bits *to, const Unit##bits *from) {                                \
    const Lanes##bits v = AT(bits, from - (LANES - 1));                                            \
    *(Lanes##bits *)to = __builtin_shufflevector(v, v, 7, 6, 5, 4, 3, 2, 1, 0);                    \
  }                                                                                                \
  INLINE void second_##bits(Unit##bits *to, const Unit##bits *from) {                              \
    *(Lanes##bits *)to = __builtin_shufflevector(AT(bits, from), AT(bits, from + LANES - 1), 0, 2, \
                                                 4, 6, 9, 11, 13, 15);                             \
  }                                                                                                \
  INLINE void third_##bits(Unit##bits *to, const Unit##bits *from) {                               \
    const Lanes##bits v = __builtin_shufflevector(AT(bits, from), AT(bits, from + LANES), 0, 3, 6, \
                                                  9, 12, 15, -1, -1);                              \
    *(Lanes##bits *)to =                                                                           \
        __builtin_shufflevector(v, AT(bits, from + 2 * LANES - 2), 0, 1, 2, 3, 4, 5, 12, 15);      \
  }                                                                                                \
  INLINE void one_##bits(Unit##bits *to, const Lanes##bits *v) { *(Lanes##bits *)to = *v; }        \
  INLINE void fours_##bits(Unit##bits *to, const Lanes##bits *v) {                                 \
    Lanes##bits *at = (Lanes##bits *)to;                                                           \
    at[0] = at[1] = at[2] = at[3] = *v;                                                            \
  }                                                                                                \
  APART void lines_##bits(Unit##bits *to, const Unit##bits *from, int64_t count, int64_t to_next,  \
                          int64_t from_next, int64_t n, int64_t ts, int64_t fs) {                  \
    const bool vectors = ts == 1 && n >= LANES;                                                    \
    if (vectors && fs == 0 && n >= 4 * LANES) {                                                    \
      EACH_LINE(count, {                                                                           \
        const Lanes##bits v = (Lanes##bits){0} + *from;                                            \
        ROLLED for (int64_t i = 0; i < n - 4 * LANES; i += 4 * LANES) fours_##bits(to + i, &v);    \
        fours_##bits(to + n - 4 * LANES, &v);                                                      \
      })                                                                                           \
    } else if (vectors && fs == 0) {                                                               \
      EACH_LINE(count, {                                                                           \
        const Lanes##bits v = (Lanes##bits){0} + *from;                                            \
        ROLLED for (int64_t i = 0; i < n - LANES; i += LANES) one_##bits(to + i, &v);              \
        one_##bits(to + n - LANES, &v);                                                            \
      })                                                                                           \
    } else if (vectors && fs == -1) {                                                              \
      EACH_LINE(count, REGISTERS(back_##bits, -1))                                                 \
    } else if (vectors && fs == 2) {                                                               \
      EACH_LINE(count, REGISTERS(second_##bits, 2))                                                \
    } else if (vectors && fs == 3) {                                                               \
      EACH_LINE(count, REGISTERS(third_##bits, 3))                                                 \
    } else {                                                                                       \
      EACH_LINE(count, {                                                                           \
        int64_t i = 0;                                                                             \
        ROLLED for (; i + 4 <= n; i += 4) {                                                        \
          UNROLL for (int64_t e = i; e < i + 4; e++) to[e * ts] = from[e * fs];                    \
        }                                                                                          \
        ROLLED for (; i < n; i++) to[i * ts] = from[i * fs];                                       \
      })                                                                                           \
    }                                                                                              \
  }                                                                                                \
  void glow_move_elements_##bits(const GlowMoveElementsParams *p, void *const *ptrs,               \
                                 int64_t begin, int64_t end, char *scratch) {                      \
    Unit##bits *y = GLOW_MOVE_ELEMENTS_PTRS(ptrs).y;                                               \
    const Unit##bits *x = GLOW_MOVE_ELEMENTS_PTRS(ptrs).x;                                         \
    const int64_t around = steps_around(p->n), parts = p->parts;                                   \
    int64_t count = p->n[6], to_next = p->to[6], from_next = p->from[6], u = begin;                \
    Place place = {{0}, 0, 0};                                                                     \
    (void)scratch;                                                                                 \
    if (around * count == 1 && parts == 1) { /* the units are the lines */                         \
      y += begin * p->to[0], x += begin * p->from[0];                                              \
      count = end - begin, to_next = p->to[0], from_next = p->from[0];                             \
      u = 0, end = 1;                                                                              \
    }                                                                                              \
    ROLLED for (; u < end; u++) {                                                                  \
      const int64_t i0 = whole_of(u, parts), first = part_of(u, parts) * p->part;                  \
      const int64_t left = p->columns - first;                                                     \
      Unit##bits *to = y + i0 * p->to[0] + first * p->column_to;                                   \
      const Unit##bits *from = x + i0 * p->from[0] + first * p->column_from;                       \
      ROLLED for (int64_t i = 0; i < around; i++) {                                                \
        lines_##bits(to + place.to, from + place.from, count, to_next, from_next,                  \
                     left < p->part ? left : p->part, p->column_to, p->column_from);               \
        if (around > 1)                                                                            \
          next_around(p->n, p->to, p->from, &place);                                               \
      }                                                                                            \
    }                                                                                              \
  }

ELEMENTS(8)
ELEMENTS(16)
ELEMENTS(32)
ELEMENTS(64)
