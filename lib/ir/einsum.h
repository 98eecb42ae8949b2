/* The equation of Einsum over operands of known rank, as inference and lowering need it. */
#ifndef GLOW_IR_EINSUM_H
#define GLOW_IR_EINSUM_H

#include "ir/infer.h"

/* A letter of the equation, or 1 to 8 for an axis of the ellipsis, counted from its right end. */
typedef uint8_t GlowLabel;

typedef struct GlowEinsumTerm {
  uint32_t rank;
  GlowLabel labels[GLOW_MAX_RANK];
} GlowEinsumTerm;

typedef struct GlowEinsum {
  uint32_t nterms;
  GlowEinsumTerm *terms; /* one for each operand; in the context's arena */
  GlowEinsumTerm result;
  uint32_t nlabels;
  GlowLabel order[64]; /* all labels, in order of first appearance */
} GlowEinsum;

/* Reads an equation for operands of the given types, all ranked, into *e. Returns NULL, or a
 * message if the equation is wrong. */
const char *glow_einsum_parse(GlowContext *ctx, const char *equation, const GlowType *const *types,
                              uint32_t ntypes, GlowEinsum *e);

static inline bool glow_einsum_has(const GlowEinsumTerm *t, GlowLabel label) {
  for (uint32_t i = 0; i < t->rank; i++)
    if (t->labels[i] == label)
      return true;
  return false;
}

#endif
