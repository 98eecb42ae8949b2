/* A case's function with its derivatives, and runs of it. */
#ifndef GLOW_TEST_AUTODIFF_DERIVED_H
#define GLOW_TEST_AUTODIFF_DERIVED_H

#include "backend/interp/interp.h"
#include "backend/interp/values.h"
#include "ir/ir.h"
#include "test/autodiff/case.h"

/* How often a function is differentiated, and what it saves:
 *
 *   0  its floating-point results: @y0, @y1, ...
 *   1  also the derivatives of the sum of w<r> * y<r> by x<i>, which are g<i>
 *   2  the derivatives of the sum of u<i> * g<i> by x<i> and w<r>, which are h<i>, w's behind x's
 *
 * @w<r> and @u<i> are placeholders. */
typedef struct Derived {
  GlowModule *module;
  GlowFunction *entry;
  GlowValues *values;
  const GlowNode *last;       /* the node whose results are differentiated */
  uint32_t results, operands; /* numbers of y's and x's */
} Derived;

enum { MAX_RESULTS = 8 };

/* False after a diagnostic; derived_end must be called all the same. */
bool derived_begin(Derived *d, GlowContext *ctx, const Case *c, int order);
/* Order 1 of the nodes that the lowering rule of the last node builds. False if it has none, or a
 * scalar body, or if a diagnostic says what is missing. */
bool derived_begin_lowered(Derived *d, GlowContext *ctx, const Case *c);
/* Order 1 of the primitives that -lower=all makes of the function. */
bool derived_begin_primitive(Derived *d, GlowContext *ctx, const Case *c);
/* Order 1 in another kind than double. False after a diagnostic, where an operator has no such
 * kind. */
bool derived_begin_kind(Derived *d, GlowContext *ctx, const Case *c, const char *kind);
/* Runs it; the outputs take the place of those of the last run. */
bool derived_run(const Derived *d, const GlowBindings *inputs, GlowBindings *outputs);
void derived_end(Derived *d);
void bindings_release(GlowBindings *b);
/* The tensor called <letter><i>; NULL if there is none. */
GlowTensor *bindings_get(GlowContext *ctx, const GlowBindings *b, char letter, uint32_t i);
GlowStr numbered(GlowContext *ctx, char letter, uint32_t i);

#endif
