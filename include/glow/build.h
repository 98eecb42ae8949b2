/* Building modules by hand: storage, functions, nodes, and programs of instructions.
 *
 * Types, initializers and members are written as in the text (docs/LangRef.md); operators go by
 * their names there, operands are handles. Every node is checked and typed when it is added.
 *
 * Handles belong to the module. A call that fails returns NULL after a diagnostic and marks the
 * module: later calls on it return NULL without a word, and glow_module_check fails, so that a
 * builder needs one check at its end. Strings are copied. `name` may be NULL where a number will
 * do; a name that is taken gets a numbered suffix. */
#ifndef GLOW_BUILD_H
#define GLOW_BUILD_H

#include "glow/module.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct GlowBlock GlowBlock; /* an ordered list of nodes or instructions */
typedef struct GlowValue GlowValue; /* storage, a parameter, a result, or a buffer */

/* An empty module, the caller's until glow_module_release or the end of the context; `name` may be
 * NULL. NULL if memory is exhausted. */
GLOW_API GlowModule *glow_module_new(GlowContext *ctx, const char *name);

/* ---- Extents: $NAME -------------------------------------------------------------------------- */
/* A symbol that types may name from now on, with its range, or with its definition and, if it is
 * narrower, its range: "$N : 1..512", "$H : 32..640 step 32", "$M = $N * 2 + 1". BAD_INPUT after a
 * diagnostic. */
GLOW_API GlowStatus glow_add_extent(GlowModule *m, const char *declaration);

/* ---- Storage: @name -------------------------------------------------------------------------- */
/* Bound by the caller for each run: glow_add_placeholder(m, "image", "float<8 x 28 x 28 x 1>"). */
GLOW_API GlowValue *glow_add_placeholder(GlowModule *m, const char *name, const char *type);
/* Initializers as in the text: "splat(0.1)", "[1, 2]", "random {kind = xavier, fan = 25.0, seed =
 * 1}", "resource(\"weights.safetensors\", \"w\")"; not eval and payload. */
GLOW_API GlowValue *glow_add_variable(GlowModule *m, const char *name, const char *type,
                                      const char *initializer);
GLOW_API GlowValue *glow_add_constant(GlowModule *m, const char *name, const char *type,
                                      const char *initializer);
/* A constant of a numeric type with exact extents from `bytes` bytes of elements, row-major, in
 * this machine's byte order, which must be little-endian. Copied. */
GLOW_API GlowValue *glow_add_constant_data(GlowModule *m, const char *name, const char *type,
                                           const void *data, size_t bytes);

/* ---- Functions and regions ------------------------------------------------------------------- */
/* The body of a new graph function, or of a new program. */
GLOW_API GlowBlock *glow_add_func(GlowModule *m, const char *name);
GLOW_API GlowBlock *glow_add_program(GlowModule *m, const char *name);
/* The next parameter of a function or region. */
GLOW_API GlowValue *glow_add_param(GlowBlock *block, const char *name, const char *type);
/* A region for a node inside `block`, which it may read values of: "then", "else", "body". */
GLOW_API GlowBlock *glow_add_region(GlowBlock *block, const char *label);
/* A scalar body for an instruction, "body" or "epilogue": nodes on types like float<> that capture
 * nothing. */
GLOW_API GlowBlock *glow_add_scalar_body(GlowBlock *block, const char *label);
/* Ends a function with results, or a region. */
GLOW_API GlowStatus glow_add_return(GlowBlock *block, GlowValue *const *values, size_t count);
GLOW_API GlowStatus glow_add_yield(GlowBlock *block, GlowValue *const *values, size_t count);

/* ---- Nodes and instructions ------------------------------------------------------------------ */
typedef struct GlowNodeArgs {
  const char *op;        /* "MaxPool" in a function, "max_pool" in a program */
  GlowValue *const *ins; /* operands, those that an epilogue takes last; NULL entries: none */
  size_t nins;
  GlowValue *const *outs; /* instructions: the buffers that are written; NULL entries: none */
  size_t nouts;
  const char *members;       /* "kernels = [3, 3], strides = [3, 3]"; NULL: the defaults */
  GlowBlock *const *regions; /* in the order of the operator's description; a scalar body is last */
  size_t nregions;
  const char *const *names; /* of nresults results, or NULL */
  const char *const
      *types;      /* claims, or types that inference leaves free; NULL entries: inferred */
  size_t nresults; /* results wanted; 0: those that are not optional */
  GlowValue *pred; /* a predicate, or NULL */
} GlowNodeArgs;

/* Appends a node or an instruction. Stores as many results as it has, but at most `count`, in
 * `results`, which may be NULL. */
GLOW_API GlowStatus glow_add_node(GlowBlock *block, const GlowNodeArgs *args, GlowValue **results,
                                  size_t count);
/* A node with one result, which is returned. */
GLOW_API GlowValue *glow_add_op(GlowBlock *block, const char *name, const char *op,
                                const char *members, GlowValue *const *ins, size_t nins);
/* Stores a value into storage when the function ends. */
GLOW_API GlowStatus glow_add_save(GlowBlock *block, GlowValue *value, GlowValue *storage);
/* Programs: a buffer, its end, and a part of a buffer or a buffer under another shape. */
GLOW_API GlowValue *glow_add_alloc(GlowBlock *block, const char *name, const char *type);
GLOW_API GlowStatus glow_add_dealloc(GlowBlock *block, GlowValue *buffer);
GLOW_API GlowValue *glow_add_view(GlowBlock *block, const char *name, GlowValue *base,
                                  const char *members, const char *type);
/* An instruction without regions. */
GLOW_API GlowStatus glow_add_instruction(GlowBlock *block, const char *op, const char *members,
                                         GlowValue *const *outs, size_t nouts,
                                         GlowValue *const *ins, size_t nins);

#ifdef __cplusplus
}
#endif
#endif
