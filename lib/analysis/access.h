/* Which storage and parameters a function reads and writes. */
#ifndef GLOW_ANALYSIS_ACCESS_H
#define GLOW_ANALYSIS_ACCESS_H

#include "ir/ir.h"

typedef struct GlowAccess {
  bool read, written;
  bool wanted; /* a read may see the content from before the run */
} GlowAccess;

typedef struct GlowAccesses {
  const GlowAccess *of;               /* by value id */
  GLOW_VEC(GlowFunction *) functions; /* the function itself, then those that it calls */
} GlowAccesses;

/* What f, and the functions that it calls, do with storage and parameters. A view counts as the
 * buffer that it lies in. A predicate is a hint and no read. Memory comes from `arena`; the answer
 * holds until the module changes. */
GlowAccesses glow_function_accesses(GlowFunction *f, GlowArena *arena);

/* The function that a node calls, or NULL. */
GlowFunction *glow_node_callee(const GlowNode *n);

/* The values that a function uses but does not own: all storage of the module in the order of its
 * declaration, then the parameters of the function. */
typedef GLOW_VEC(GlowValue *) GlowOuterValues;
GlowOuterValues glow_function_outer_values(const GlowFunction *f, GlowArena *arena);

/* Whether v is a storage, or a parameter of a function and not of a region. */
static inline bool glow_value_is_outer(const GlowValue *v) {
  return v->kind == GLOW_VALUE_STORAGE ||
         (v->kind == GLOW_VALUE_PARAM && v->def.block->owner == GLOW_BLOCK_FUNCTION);
}

/* The class of an outer value: the caller binds a parameter as it binds a placeholder. */
static inline GlowStorageClass glow_outer_class(const GlowValue *v) {
  return v->kind == GLOW_VALUE_STORAGE ? v->def.storage->cls : GLOW_PLACEHOLDER;
}

#endif
