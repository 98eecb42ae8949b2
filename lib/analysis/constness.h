/* Which values are constants: what can be computed before a program runs. */
#ifndef GLOW_ANALYSIS_CONSTNESS_H
#define GLOW_ANALYSIS_CONSTNESS_H

#include "ir/ir.h"

/* Which values can be computed before the program runs: constants, and results of pure nodes on
 * them. Remembers what it found; make a new one after changing operands. */
typedef struct GlowConstness GlowConstness;
GlowConstness *glow_constness_create(GlowArena *arena);
/* Sets a limit on growth, for nodes that repeat elements: if a result has more elements than all
 * operands together, and the surplus takes more than `bytes`, the node does not count as
 * constant. */
void glow_constness_limit(GlowConstness *c, int64_t bytes);
/* Whether v can be computed before the program runs. */
bool glow_constness_of(GlowConstness *c, const GlowValue *v);
/* True if n is pure, draws no random numbers and has no regions and no predicate. */
bool glow_node_is_foldable(const GlowNode *n);
/* If v is a splat, or a constant whose elements are known now and all the same, sets *value to that
 * number. False for all others, among them complex constants, large ones, and quantized ones: these
 * have stored integers, where the value of a quantized Splat is real. */
bool glow_value_splat(const GlowValue *v, GlowScalar *value);

#endif
