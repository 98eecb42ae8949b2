/* Loops of element-wise instructions: a register of elements per step, or four, and one step for
 * what is left of a row. */
#include "kernels/kernels.h"

#define LOOP(d) ROLLED for (int64_t i##d = 0; i##d < p->n[d]; i##d++)

void glow_stack(const GlowStackParams *p, GlowStackFn *step, GlowStackFn *rest, void *const *ptrs,
                int64_t begin, int64_t end, char *scratch) {
  const int64_t lanes = p->at_once * GLOW_VL, whole = p->n[5] / lanes * lanes;
  (void)scratch;
  ROLLED for (int64_t i0 = begin; i0 < end; i0++) LOOP(1) LOOP(2) LOOP(3) LOOP(4) {
    /* `!=`, not `<`: LLVM would compare the old index, and keep it beside the new one. */
    ROLLED for (int64_t i5 = 0; i5 != whole; i5 += lanes) step(ptrs, i0, i1, i2, i3, i4, i5);
    if (p->n[5] > whole)
      rest(ptrs, i0, i1, i2, i3, i4, whole);
  }
}
