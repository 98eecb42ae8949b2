/* What of its operands a kernel keeps in a cache: the rule of direct convolutions and products.
 *
 * A kernel reads a strip of one operand for each tile of results: a block of the filter, a panel of
 * B. It reads a band of the other operand for each strip: rows of the input, rows of A.
 *
 *  - A strip that can be cut fills half of the first level, or a sixteenth of the second where that
 *    is more: tiles read strips from front to back, so the second level is nearly as good, and
 *    where strips are cut sums go to memory.
 *  - A band fills half of the second level. A strip that is larger than the first level lies in the
 *    second, too: then the band fills half of what is left, but a quarter of all at least.
 *
 * Through the rest of the second level pass results and the strips to come. */
#ifndef GLOW_TARGET_CPU_SETUP_CACHE_H
#define GLOW_TARGET_CPU_SETUP_CACHE_H

#include "target/cpu/setup/setup.h"

/* Bytes of a strip that can be cut. */
static inline int64_t glow_strip_bytes(const GlowCpuNumbers *cpu) {
  return glow_max64(cpu->l1 / 2, cpu->l2 / 16);
}

/* Bytes of a band beside strips of so many bytes. */
static inline int64_t glow_band_bytes(const GlowCpuNumbers *cpu, int64_t strip) {
  int64_t left = strip > cpu->l1 ? cpu->l2 - strip : cpu->l2;
  return glow_max64(left / 2, cpu->l2 / 4);
}

#endif
