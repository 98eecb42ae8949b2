/* Tensors by name: what goes into a run, and what comes out. */
#ifndef GLOW_TENSOR_BINDINGS_H
#define GLOW_TENSOR_BINDINGS_H

#include "support/diag.h"
#include "tensor/tensor.h"

/* Named values for one run: inputs for placeholders (and function parameters), and what comes out.
 */
typedef struct GlowBinding {
  GlowStr name;
  GlowTensor *tensor; /* inputs: borrowed from the caller. outputs: owned by the bindings */
} GlowBinding;
typedef GLOW_VEC(GlowBinding) GlowBindings;

GlowTensor *glow_bindings_find(const GlowBindings *b, GlowStr name); /* NULL if there is none */
/* The tensor that is bound to an input of this type. NULL after a diagnostic at loc: there is none,
 * or its type does not fit. */
GlowTensor *glow_bindings_take(GlowContext *ctx, const GlowBindings *b, GlowStr name,
                               const GlowType *type, GlowLoc loc);

#endif
