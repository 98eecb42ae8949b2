/* What matching and reporting share: the nodes of both functions, and which nodes are partners. */
#ifndef GLOW_DIFF_DIFF_INTERNAL_H
#define GLOW_DIFF_DIFF_INTERNAL_H

#include "backend/interp/values.h"
#include "diff/diff.h"

/* One node of a function under comparison. */
typedef struct GlowDiffNode GlowDiffNode;
struct GlowDiffNode {
  GlowNode *node;
  uint32_t index;         /* in pre-order */
  uint64_t local;         /* operator, members, types, the regions around it */
  uint64_t down;          /* with all that it is computed from */
  uint64_t up;            /* with all that is computed from it */
  uint64_t form;          /* as down, but without types */
  uint64_t users;         /* sum over users, while `up` is computed */
  GlowDiffNode *partner;  /* in the other function */
  GlowDiffNode *home;     /* the node whose region it stands in, or NULL */
  GlowDiffNode **sources; /* for each operand: what computes it, or wrote the buffer last */
  struct GlowDiffUse *uses;
};

typedef struct GlowDiffUse {
  GlowDiffNode *user;
  uint32_t operand;
  struct GlowDiffUse *next;
} GlowDiffUse;

typedef struct GlowDiffSide {
  GlowModule *module;
  GlowFunction *function;
  GLOW_VEC(GlowDiffNode *) nodes; /* terminators included */
  GlowMap *by_node;               /* GlowNode -> GlowDiffNode */
} GlowDiffSide;

typedef struct GlowDiff {
  GlowContext *ctx;
  const GlowDiffOptions *options;
  GlowArena *arena;
  GlowMap *storage; /* of both modules: GlowStorage -> its partner */
  GlowValues *values[2]; /* of each module's storage */
  GlowText *out;
  bool differ, ok; /* something differs; all values could be computed */
} GlowDiff;

/* A name that nobody chose: NULL or a number. */
bool glow_diff_is_generated(GlowStr name);
/* The nodes of f with their hashes (hash.c). */
GlowDiffSide glow_diff_side(GlowDiff *d, GlowFunction *f);
/* Finds partners (match.c). */
void glow_diff_match(GlowDiff *d, GlowDiffSide *a, GlowDiffSide *b);
/* Compares partners and prints (report.c). */
void glow_diff_report(GlowDiff *d, const GlowDiffSide *a, const GlowDiffSide *b);

static inline uint64_t glow_diff_mix(uint64_t hash, uint64_t x) {
  hash = (hash ^ x) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

#endif
