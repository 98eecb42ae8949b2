/* The types that the values of a program have when its symbols are numbers. */
#ifndef GLOW_BACKEND_CPU_BOUND_H
#define GLOW_BACKEND_CPU_BOUND_H

#include "ir/ir.h"

/* A symbol with its number. */
typedef struct GlowBoundSymbol {
  const GlowExtent *extent;
  int64_t size;
} GlowBoundSymbol;

/* The number of an extent: that of a symbol, or what follows by its definition. -1: it follows from
 * other symbols. */
int64_t glow_bound_size(const GlowExtent *extent, const GlowBoundSymbol *symbols, uint32_t count);

typedef struct GlowBound {
  GLOW_VEC(GlowValue *) values;
  GLOW_VEC(const GlowType *) types; /* of each value: the type that it does not have now */
  GLOW_VEC(GlowNode *) nodes;
  GLOW_VEC(void *) members; /* of each node, likewise */
} GlowBound;

/* Finds the types of f's values, of those of its regions and of all storage, where `count` symbols
 * are numbers; the values keep the types of the text. A buffer of which the text says no more than
 * a bound gets the extents that follow from the operands of its only writer, if they fit each
 * other. Memory is the arena's. */
void glow_bound_make(GlowArena *arena, GlowFunction *f, const GlowBoundSymbol *symbols,
                     uint32_t count, GlowBound *bound);
/* The values change their types, and nodes their members: those of the text become those of the
 * numbers, or the other way round. */
void glow_bound_swap(GlowBound *b);

#endif
