/* Functions of bytes: glow_lookup. A load gives eight indices, which are as many loads of results.
 */
#include "kernels/kernels.h"

void glow_lookup(const GlowLookupParams *p, void *const *ptrs, int64_t begin, int64_t end,
                 char *scratch) {
  const GlowLookupPtrs at = GLOW_LOOKUP_PTRS(ptrs);
  const uint8_t *x = at.x, *table = at.table;
  uint8_t *y = at.y;
  int64_t i = begin * GLOW_LOOKUP_PART;
  const int64_t last = end * GLOW_LOOKUP_PART < p->n ? end * GLOW_LOOKUP_PART : p->n;
  (void)scratch;
  ROLLED for (; i + 8 <= last; i += 8) {
    uint64_t in, out = 0;
    __builtin_memcpy(&in, x + i, sizeof in);
    UNROLL for (int k = 0; k < 8; k++) out |= (uint64_t)table[in >> (8 * k) & 0xff] << (8 * k);
    __builtin_memcpy(y + i, &out, sizeof out);
  }
  ROLLED for (; i < last; i++) y[i] = table[x[i]];
}
