/* What a function does to storage, also through the functions that it calls. */
#ifndef GLOW_IR_ACCESS_H
#define GLOW_IR_ACCESS_H

#include "ir/ir.h"

typedef struct GlowAccess {
  bool read, written;
  bool wanted; /* a read may see what it held before the run */
} GlowAccess;

typedef struct GlowAccesses {
  const GlowAccess *of;               /* by the id of the storage's value */
  GLOW_VEC(GlowFunction *) functions; /* f, and those that are called */
} GlowAccesses;

/* What f does. Memory comes from `arena`. The answer holds until the module changes. */
GlowAccesses glow_function_accesses(GlowFunction *f, GlowArena *arena);

#endif
