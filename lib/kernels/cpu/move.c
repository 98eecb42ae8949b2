/* Copies between strided boxes, and zeros into one. Copy and Relayout are made of these. */
#include "kernels/kernels.h"

#define LOOP(d) ROLLED for (int64_t i##d = 0; i##d < p->n[d]; i##d++)

/* The byte offset of a place: a sum that folds to constants for loops of one step. */
#define PLACE(s)                                                                                   \
  (i0 * (s)[0] + i1 * (s)[1] + i2 * (s)[2] + i3 * (s)[3] + i4 * (s)[4] + i5 * (s)[5] +             \
   i6 * (s)[6] + i7 * (s)[7])

#define SPAN(d) ROLLED for (int64_t i##d = begin; i##d < end; i##d++)

void glow_move(const GlowMoveParams *p, void *const *ptrs, int64_t begin, int64_t end,
               char *scratch) {
  char *to = GLOW_MOVE_PTRS(ptrs).y;
  const char *from = GLOW_MOVE_PTRS(ptrs).x;
  (void)scratch;
  SPAN(0)
  LOOP(1)
  LOOP(2)
  LOOP(3)
  LOOP(4)
  LOOP(5) LOOP(6) LOOP(7)
      __builtin_memcpy(to + PLACE(p->to), from + PLACE(p->from), (size_t)p->run);
}

void glow_zero(const GlowMoveParams *p, void *const *ptrs, int64_t begin, int64_t end,
               char *scratch) {
  char *to = GLOW_ZERO_PTRS(ptrs).y;
  (void)scratch;
  SPAN(0)
  LOOP(1)
  LOOP(2)
  LOOP(3) LOOP(4) LOOP(5) LOOP(6) LOOP(7) __builtin_memset(to + PLACE(p->to), 0, (size_t)p->run);
}
