/* What several passes share: types that get narrower, and constants that are made. What they ask
 * about a module is in lib/analysis. */
#ifndef GLOW_TRANSFORMS_TRANSFORMS_H
#define GLOW_TRANSFORMS_TRANSFORMS_H

#include "analysis/buffers.h"
#include "analysis/constness.h"
#include "analysis/effects.h"
#include "ir/dead.h"
#include "ir/infer.h"
#include "ir/ir.h"
#include "lower/lower.h"
#include "pass/pass.h"

#define PASS(name, function, ...) bool glow_pass_##function(GlowPassRun *run);
#include "transforms/passes.def"
#undef PASS

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
/* All funcs of the module, after types anywhere became narrower. */
bool glow_reinfer_module(GlowModule *m);

/* ---- Every type (retype.c) ------------------------------------------------------------------- */
typedef const GlowType *GlowTypeFn(void *arg, const GlowType *t);
typedef void GlowSizeFn(void *arg, GlowSize *size);
/* Calls `type` for each type of the module, which becomes the type that it returns, and `size` for
 * each size among the members of nodes. */
void glow_map_types(GlowModule *m, GlowTypeFn *type, GlowSizeFn *size, void *arg);
/* The same; the module then declares the symbols that types and sizes name, and no others. */
void glow_retype(GlowModule *m, GlowTypeFn *type, GlowSizeFn *size, void *arg);

/* Whether every backend can hold the kind in its loops, and a GlowScalar all values of the kind:
 * bools, integers of at least 8 bits, floating-point numbers of at least 16. */
static inline bool glow_kind_is_data(GlowKind k) {
  return k == GLOW_KIND_BOOL || (glow_kind_is_integer(k) && glow_kind_info[k].bits >= 8) ||
         (glow_kind_is_float(k) && glow_kind_info[k].bits >= 16);
}

/* ---- Constants (constants.c) ----------------------------------------------------------------- */
/* The limit that -constant-fold has unless growth= gives another. */
enum { GLOW_FOLD_GROWTH = 1 << 16 };

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

/* The value that an eval constant yields; other values themselves. */
GlowValue *glow_eval_inside(GlowValue *v);

/* A constant with the elements of t (copied) as a list. */
GlowStorage *glow_constant_list(GlowModule *m, GlowStr name, const GlowTensor *t);

/* ---- Folding (graph/constant_fold.c) --------------------------------------------------------- */
/* Evaluates what is computed from known small integers and booleans, narrows types by it, and
 * calls fold hooks, over a whole function. *changes counts the nodes folded. */
bool glow_fold_small_integers(GlowFunction *f, GlowArena *arena, uint64_t *changes);

#endif
