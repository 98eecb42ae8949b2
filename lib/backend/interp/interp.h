/* The interpreter: one table of kernels, two walkers.
 *
 * The graph walker keeps values on the heap and lets extents be unknown until run time; it also
 * evaluates eval constants and folds constants. The program walker runs instructions on planned
 * memory. docs/Numerics says what every kernel computes, to the bit. */
#ifndef GLOW_BACKEND_INTERP_INTERP_H
#define GLOW_BACKEND_INTERP_INTERP_H

#include "backend/interp/values.h"
#include "exec/run_options.h"
#include "ir/ir.h"
#include "tensor/bindings.h"

/* The tensor that is bound to a placeholder or parameter. NULL after a diagnostic: there is none,
 * or its type does not fit. */
GlowTensor *glow_bindings_input(const GlowBindings *b, const GlowValue *v);

/* Runs a func (graph walker) or program (program walker). Every placeholder that is read must be
 * in `inputs`, and so must the parameters of a func and those that a program reads, with a type
 * that fits the declaration; errors are diagnostics. On success `outputs` holds each placeholder
 * that was written, in declaration order, then the parameters that a program wrote, or the results
 * of a func by their names (glow_function_result_names). Variables that were saved are in
 * options->values then. */
GlowStatus glow_interp_run(GlowFunction *f, const GlowBindings *inputs, GlowBindings *outputs,
                           const GlowRunOptions *options);

/* Evaluates one pure node whose operands are known. results[i] are new tensors owned by the
 * caller. Returns false after a diagnostic, or silently if `quiet`. For constant folding. */
bool glow_interp_eval_node(GlowNode *n, const GlowTensor *const *operands, GlowTensor **results,
                           bool quiet);

#endif
