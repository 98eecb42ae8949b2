/* The values of a function whose ranges count, how files of ranges call them, and the variables
 * that ObserveRange and ObserveSums count in. */
#ifndef GLOW_QUANTIZE_OBSERVED_H
#define GLOW_QUANTIZE_OBSERVED_H

#include "analysis/constness.h"
#include "ir/ir.h"

typedef GLOW_VEC(GlowValue *) GlowValueList;

/* The floating-point values that f computes at run time outside of regions, in the order of the
 * text: placeholders and variables that it reads, parameters, results. In `arena`. */
GlowValueList glow_observable_values(GlowFunction *f, GlowArena *arena);

/* The name of a value in a file of ranges: NAME of a result or parameter, @NAME of storage. */
GlowStr glow_observed_name(GlowContext *ctx, const GlowValue *v);
/* What computes it: the name of the operator, "parameter", "placeholder" or "variable". */
const char *glow_observed_source(const GlowValue *v);

/* A value, as it was when the list was made, and the variable that has its state. */
typedef struct GlowObserved {
  GlowStr name, variable;
  const char *source, *type;
  GlowStr sums; /* the variable with the sums of the slices of `axis`, or NULL */
  int64_t axis;
  GlowStr low, high; /* the variables with the ends of these slices, or NULL */
} GlowObserved;
typedef GLOW_VEC(GlowObserved) GlowObservedList;

/* What the ObserveRange nodes of f observe, in the order of the text; in the context. */
GlowObservedList glow_observed_values(GlowFunction *f);

/* A checksum of f's text: its signature, its nodes with their regions, and the types of the storage
 * that it names; without locations and initializers. */
uint64_t glow_function_text_hash(GlowFunction *f);

#endif
