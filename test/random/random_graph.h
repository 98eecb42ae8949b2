/* Random valid modules over the operator table: what the metamorphic tests and the graph fuzzer
 * run. Nothing here lists operators; ports, kinds, members and inference say what fits, and a node
 * that inference or the verifier refuses is dropped. A few conventions help it to hit: names of
 * ports that take lists (Axes, Shape, Pads, ...), names of members (axis, perm, kernels, ...), and
 * shapes of weights (operands.c). An operator that is added to the table is generated at once. */
#ifndef GLOW_TEST_RANDOM_RANDOM_GRAPH_H
#define GLOW_TEST_RANDOM_RANDOM_GRAPH_H

#include "backend/interp/interp.h"
#include "test/random/choice.h"

/* A module with a func @main and sometimes one that it calls. The context should be silent: what
 * is refused while trying is reported as usual. NULL if what was built does not verify, which is a
 * fault of the builder or the verifier; *text then gets the module. */
GlowModule *glow_random_module(GlowContext *ctx, GlowChoice *choice, GlowText *text);

/* Changes a graph function that nothing calls: reroutes operands, puts nodes between a value and
 * its user, makes inner values results, and appends nodes. False if the module does not verify any
 * more, which for a rerouted operand is no fault. */
bool glow_random_mutate(GlowFunction *f, GlowChoice *choice);

/* A declaration of the gradient of f: of all its floating-point results and what it saves, by all
 * floating-point parameters and storage that it reads, keeping all results. NULL if there is
 * nothing to declare. */
GlowFunction *glow_random_declare(GlowFunction *f, GlowStr name);

/* Values for every placeholder of the module and every parameter of f. Types must be static, else
 * false. Tensors are owned by the caller: glow_random_release. */
bool glow_random_inputs(GlowFunction *f, GlowChoice *choice, GlowBindings *inputs);
void glow_random_release(GlowBindings *b);

#endif
