/* Which values are constants: what can be computed before a program runs. */
#ifndef GLOW_ANALYSIS_CONSTNESS_H
#define GLOW_ANALYSIS_CONSTNESS_H

#include "ir/ir.h"

/* Which values can be computed before the program runs: constants, and results of pure nodes on
 * them. Remembers what it found; make a new one after changing operands. */
typedef struct GlowConstness GlowConstness;
GlowConstness *glow_constness_create(GlowArena *arena);
/* Nodes that repeat elements, so that a result has more of them than all operands by this many
 * bytes, do not count. */
void glow_constness_limit(GlowConstness *c, int64_t bytes);
bool glow_constness_of(GlowConstness *c, const GlowValue *v);
/* True if n is pure, draws no random numbers and has no regions and no predicate. */
bool glow_node_is_foldable(const GlowNode *n);
/* The constant's one value if all its elements are the same and are known now. Complex numbers are
 * no such value. */
bool glow_value_splat(const GlowValue *v, GlowScalar *value);

#endif
