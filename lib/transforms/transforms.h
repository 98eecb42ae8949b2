/* What several passes share: types that get narrower, values that are constants, and constants
 * that are made. */
#ifndef GLOW_TRANSFORMS_TRANSFORMS_H
#define GLOW_TRANSFORMS_TRANSFORMS_H

#include "ir/infer.h"
#include "ir/ir.h"
#include "lower/lower.h"

/* ---- Types (reinfer.c) ----------------------------------------------------------------------- */
/* Infers n's results again and narrows their types; operands that do not fit together any more, and
 * a claim that inference now contradicts, are errors at n. Regions are not entered. *changed is set
 * if a type became narrower. */
bool glow_reinfer_node(GlowNode *n, bool *changed);
/* All nodes of a block in order, regions before the node that has them. */
bool glow_reinfer_block(GlowBlock *b, bool *changed);
/* Calls fn for the regions of n, scalar bodies left out. A branch of an If in which fn reports
 * errors becomes Fail, if the other one is sound. False after a diagnostic. */
bool glow_each_region(GlowNode *n, bool (*fn)(GlowBlock *b, void *arg), void *arg);
/* All funcs, after operands anywhere say more. */
bool glow_reinfer_module(GlowModule *m);

/* Whether loops of every backend hold the kind, and a GlowScalar all its values: numbers of whole
 * bytes and more than 8 bits if floating, and bools. */
static inline bool glow_kind_is_data(GlowKind k) {
  return k == GLOW_KIND_BOOL || (glow_kind_is_integer(k) && glow_kind_info[k].bits >= 8) ||
         (glow_kind_is_float(k) && glow_kind_info[k].bits >= 16);
}

/* ---- Constants (constants.c) ----------------------------------------------------------------- */
/* Which values can be computed before the program runs: constants, and results of pure nodes on
 * them. Remembers what it found; make a new one after changing operands. */
typedef struct GlowConstness GlowConstness;
GlowConstness *glow_constness_create(GlowArena *arena);
/* Nodes that repeat elements, so that a result has more of them than all operands by this many
 * bytes, do not count. */
void glow_constness_limit(GlowConstness *c, int64_t bytes);
/* The limit that -constant-fold has unless growth= gives another. */
enum { GLOW_FOLD_GROWTH = 1 << 16 };
bool glow_constness_of(GlowConstness *c, const GlowValue *v);
/* True if n is pure, draws no random numbers and has no regions and no predicate. */
bool glow_node_is_foldable(const GlowNode *n);

/* An eval initializer under construction. */
typedef struct GlowEval {
  GlowModule *module;
  GlowBuilder builder; /* appends to the eval block */
  GlowMap *map;        /* values of functions to their copies in the block */
  GlowArena *arena;
} GlowEval;
GlowEval glow_eval_create(GlowModule *m, GlowArena *arena, const GlowNode *for_node);
/* The copy of a constant value (see glow_constness_of), with all that computes it; storage stands
 * for itself. */
GlowValue *glow_eval_copy(GlowEval *e, GlowValue *v);
/* Ends the block with `v` and makes it a constant called `name` (or NAME.n). */
GlowStorage *glow_eval_finish(GlowEval *e, GlowValue *v, GlowStr name);

/* For copies into another block: results whose names are only numbers are numbered anew. */
void glow_node_renumber(GlowNode *n);
/* A constant with the elements of t (copied) as a list. */
GlowStorage *glow_constant_list(GlowModule *m, GlowStr name, const GlowTensor *t);
/* The constant's one value if all its elements are the same and are known now. Complex numbers are
 * no such value. */
bool glow_value_splat(const GlowValue *v, GlowScalar *value);

/* ---- Uses and dead code (dead.c) ------------------------------------------------------------- */
/* Removes n if it is pure and unused, then what only it used, upwards. Nothing if n is removed
 * already. */
void glow_remove_dead(GlowNode *n);
/* Removes what is pure, unused and not older than `id` from a block and its regions. */
void glow_remove_dead_since(GlowBlock *b, uint32_t id);
/* The node that is the only use of v, as an operand; NULL if there are others. */
GlowNode *glow_only_user(const GlowValue *v);

/* ---- Effects and equality (effects.c) -------------------------------------------------------- */
/* Whether a Call may do more than compute its results: the callee saves, or calls others. */
bool glow_call_has_effects(const GlowNode *n);
/* Whether anything in n's regions does. */
bool glow_regions_write(const GlowNode *n);
/* Whether a gradient declaration names the storage. */
bool glow_gradient_names(const GlowModule *m, GlowStr storage);
bool glow_scalar_same(GlowScalar a, GlowScalar b);
/* Whether both have the same operator, members, operands and predicate, regions included, in which
 * values correspond by their definitions. Types of the nodes' own results may differ. */
bool glow_node_computes_same(const GlowNode *a, const GlowNode *b);
/* The same for blocks, parameters and terminators included. */
bool glow_blocks_compute_same(GlowBlock *a, GlowBlock *b);

/* ---- Folding (graph/constant_fold.c) --------------------------------------------------------- */
/* Evaluates what is computed from known small integers and booleans, narrows types by it, and
 * calls fold hooks, over a whole function. *changes counts the nodes folded. */
bool glow_fold_small_integers(GlowFunction *f, GlowArena *arena, uint64_t *changes);

/* ---- Programs (program/buffers.c) ------------------------------------------------------------ */
/* The alloc, storage or parameter behind a buffer, through views. */
GlowValue *glow_buffer_base(GlowValue *v);
/* The same, but only past views of all elements in their order. */
GlowValue *glow_buffer_dense_base(GlowValue *v);
/* The bytes that an alloc of this type takes: those of its bounds, plus one i64 for each dimension
 * if an extent is only bounded. -1 if the type is not bounded. */
int64_t glow_buffer_bytes(const GlowType *t);

#endif
