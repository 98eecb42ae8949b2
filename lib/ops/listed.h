/* Lists among members, such as `strides`, that may be left out. */
#ifndef GLOW_OPS_LISTED_H
#define GLOW_OPS_LISTED_H

#include "ops/desc.h"

/* Entry i of a list of u32; `initial` if the list is shorter. */
static inline int64_t glow_listed(GlowArray a, uint32_t i, int64_t initial) {
  return i < a.count ? (int64_t)glow_array_at(a, uint32_t, i) : initial;
}

#endif
