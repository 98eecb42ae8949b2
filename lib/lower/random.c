/* Bernoulli and Multinomial draw what RandomUniform draws. They have kernels; -lower=all brings
 * them down to it:
 *
 *   Bernoulli    Less(u, X)
 *   Multinomial  how many of the cumulated probabilities are at most u times their sum; the last
 *                class that has a probability if all are
 *
 * A row of logarithms that is no distribution picks a class out of range, which GatherND refuses.
 */
#include "lower/lower.h"
#include "ops/lower.h"

/* u in [0, 1) in the precision that x draws with, of the shape of `like`; the next state in
 * results[1]. */
static GlowValue *uniform(GlowBuilder *b, const GlowNode *n, const GlowValue *x, GlowValue *like,
                          GlowValue **results) {
  bool wide = x->type->kind == GLOW_KIND_DOUBLE;
  GlowRandomUniformMembers members = {.high = 1, .kind = wide ? GLOW_KIND_DOUBLE : GLOW_KIND_FLOAT};
  GlowNodeSpec spec = {.op = GLOW_OP_RANDOM_UNIFORM,
                       .ins = (GlowValue *[]){like, glow_node_in(n, 1)},
                       .nins = 2,
                       .members = &members,
                       .nresults = 2};
  GlowNode *draw = like ? glow_node_create(b, &spec) : NULL;
  if (draw && n->nresults > 1)
    results[1] = &draw->results[1];
  return draw ? &draw->results[0] : NULL;
}

bool glow_lower_bernoulli(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowBernoulliMembers *m = n->members;
  GlowValue *x = glow_node_in(n, 0), *u = uniform(b, n, x, x, results);
  GlowValue *p = u ? glow_then_cast(b, x, u->type->kind) : NULL;
  results[0] = glow_then_cast(b, glow_then2(b, GLOW_OP_LESS, u, p), m->kind);
  return results[0] != NULL;
}

/* ---- Multinomial ----------------------------------------------------------------------------- */

static GlowValue *real(GlowBuilder *b, double v) {
  return glow_build_scalar(b, GLOW_KIND_DOUBLE, v);
}

static GlowValue *reduced(GlowBuilder *b, const GlowNode *n, GlowOp op, GlowValue *x) {
  static const int64_t last = -1;
  return glow_then2(b, op, x, glow_constant_ints(b->module, n, "axes", &last, 1));
}

/* One more than the last class for which `which` is true; 0 if there is none. */
static GlowValue *behind_last(GlowBuilder *b, const GlowNode *n, GlowValue *which,
                              int64_t classes) {
  GlowValue *place = glow_then2(b, GLOW_OP_ADD, glow_build_count(b, n, classes, 1),
                                glow_constant_int(b->module, n, "one", 1));
  GlowValue *none = glow_constant_int(b->module, n, "none", 0);
  return reduced(b, n, GLOW_OP_REDUCE_MAX, glow_then3(b, GLOW_OP_WHERE, which, place, none));
}

bool glow_lower_multinomial(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowMultinomialMembers *m = n->members;
  GlowContext *ctx = b->module->ctx;
  GlowValue *x = glow_node_in(n, 0);
  if (!glow_type_is_static(x->type) || !glow_type_is_static(n->results[0].type))
    return false;
  int64_t rows = x->type->dims[0].size, classes = x->type->dims[1].size, samples = m->samples;
  const GlowType *t = glow_type_exact(ctx, GLOW_KIND_FLOAT, 2, (int64_t[]){rows, samples});
  GlowValue *like = glow_build_filled(b, t, (GlowScalar){.f = 0});
  GlowValue *u = uniform(b, n, x, like, results);
  GlowValue *log = glow_then_cast(b, x, GLOW_KIND_DOUBLE);
  GlowValue *max = reduced(b, n, GLOW_OP_REDUCE_MAX, log);
  GlowValue *p = glow_then1(b, GLOW_OP_EXP, glow_then2(b, GLOW_OP_SUB, log, max), NULL);
  GlowValue *sums = glow_then2(b, GLOW_OP_CUM_SUM, p, glow_constant_int(b->module, n, "axis", 1));
  if (!u || !sums || classes == 0)
    return false;
  /* [rows, samples, classes] */
  GlowValue *total = glow_build_part(b, n, sums, 1, classes - 1, classes, 1);
  GlowValue *bar = glow_then2(b, GLOW_OP_MUL, glow_then_cast(b, u, GLOW_KIND_DOUBLE), total);
  bar = glow_build_shaped(b, n, bar, 3, (int64_t[]){rows, samples, 1});
  GlowValue *rising = glow_build_shaped(b, n, sums, 3, (int64_t[]){rows, 1, classes});
  GlowValue *below = behind_last(b, n, glow_then2(b, GLOW_OP_LESS_OR_EQUAL, rising, bar), classes);
  GlowValue *some = behind_last(b, n, glow_then2(b, GLOW_OP_LESS, real(b, 0), p), classes);
  GlowValue *last = glow_then2(b, GLOW_OP_SUB, some, glow_constant_int(b->module, n, "one", 1));
  last = glow_build_shaped(b, n, last, 3, (int64_t[]){rows, 1, 1});
  GlowValue *pick = glow_then2(b, GLOW_OP_MIN, below, last);
  /* A largest logarithm that is finite makes a distribution. */
  GlowValue *span = glow_then2(b, GLOW_OP_SUB, max, max);
  GlowValue *good = glow_then2(b, GLOW_OP_EQUAL, span, real(b, 0));
  good = glow_build_shaped(b, n, good, 3, (int64_t[]){rows, 1, 1});
  pick =
      glow_then3(b, GLOW_OP_WHERE, good, pick, glow_constant_int(b->module, n, "outside", classes));
  GlowValue *y = glow_then2(b, GLOW_OP_GATHER_ND, glow_build_count(b, n, classes, 1), pick);
  results[0] = glow_then_cast(b, y, m->kind);
  return results[0] != NULL;
}
