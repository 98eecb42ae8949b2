/* What a strategy sees: a copy of the module, and a question to ask.
 *
 * A strategy walks the module and calls glow_delta_offer for each thing that it could leave out, in
 * an order that depends on the module alone. Where the answer is true, it leaves the thing out. It
 * also runs once with the answer always false, to count the questions. So it must ask all questions
 * before its first change: glow_delta_each_node and glow_delta_each_storage see to that. A module
 * that does not verify afterwards does no harm; it is not tested. */
#ifndef GLOW_REDUCE_DELTA_H
#define GLOW_REDUCE_DELTA_H

#include "ir/ir.h"

typedef struct GlowDelta {
  GlowContext *ctx;
  GlowModule *module;
  GlowArena *arena;  /* for lists; released after the strategy */
  const bool *taken; /* NULL: answer false */
  uint32_t count;    /* questions so far */
  bool retype;       /* types have changed: infer those of all results again */
} GlowDelta;

typedef struct GlowStrategy {
  const char *name;
  void (*run)(GlowDelta *d);
  bool after; /* see strategies.def */
  const char *doc;
} GlowStrategy;

#define STRATEGY(name, function, after, doc) void glow_delta_##function(GlowDelta *d);
#include "reduce/strategies.def"
#undef STRATEGY

extern const GlowStrategy glow_strategies[];
extern const uint32_t glow_nstrategies;

static inline bool glow_delta_offer(GlowDelta *d) {
  uint32_t i = d->count++;
  return d->taken && d->taken[i];
}

/* Offers each node for which `fits` is true: of functions, then of eval initializers, a node before
 * its regions, terminators left out. Then calls `change` for those taken that are still there, in
 * that order. */
void glow_delta_each_node(GlowDelta *d, bool (*fits)(const GlowNode *n),
                          void (*change)(GlowDelta *d, GlowNode *n));
void glow_delta_each_storage(GlowDelta *d, bool (*fits)(const GlowStorage *s),
                             void (*change)(GlowDelta *d, GlowStorage *s));

/* What may stand for a value. */
typedef enum GlowStandIn {
  GLOW_STAND_IN_ONE,
  GLOW_STAND_IN_RANDOM,
  GLOW_STAND_IN_INPUT
} GlowStandIn;

/* Whether a value of this type can be such storage: a constant needs a rank, and only floating
 * point kinds are drawn at random. */
bool glow_stand_in_fits(const GlowType *t, GlowStandIn kind);
/* New storage of the type, for use in block b (NULL: anywhere). In constants open extents are 1. */
GlowValue *glow_stand_in(GlowDelta *d, const GlowBlock *b, const GlowType *t, GlowStandIn kind,
                         GlowStr name);
/* Replaces the results of n that are used, which must all fit, and removes n. */
void glow_stand_in_for(GlowDelta *d, GlowNode *n, GlowStandIn kind);
/* A uniform distribution over [-1, 1], or the value of every element. */
GlowInit glow_init_random(void);
GlowInit glow_init_splat(int64_t value);

/* The operand that may stand for a node's result: the first that is present and no constant. */
GlowValue *glow_delta_main_operand(const GlowNode *n);
/* Whether a function is called, or named by a gradient declaration. */
bool glow_delta_is_referred(const GlowFunction *f);
/* Infers all types again. Where a type that was there contradicts the operands, the inferred one
 * counts. A placeholder that is only saved to takes the type of what is saved. */
void glow_delta_retype(GlowDelta *d);

#endif
