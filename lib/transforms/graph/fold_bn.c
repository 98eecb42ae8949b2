/* Folding affine steps into the contraction before.
 *
 *   y = Convolution(x, W, B)  ->  step  ->  step ...      becomes      y = Convolution(x, W', B')
 *
 * and likewise for ConvTranspose, for FullyConnected, and for MatMul, whose B' is an Add behind it.
 * A step is BatchNormalization with constant parameters, or a node that lowering makes of it: Sub,
 * Div, Mul or Add of a constant. This constant has one value for each channel (for a product: for
 * each column), or one for all. The operand of a step has no other use. W must be constant, B
 * constant or absent. W' and B' are `eval` constants, whose text shows how they come from W and B:
 *
 *   BatchNormalization   f = Scale / Sqrt(Var + epsilon),  W' = W * f,  B' = (B - Mean) * f + Bias
 *   Mul s, Div s         W' = W * s,  B' = B * s           (or /)
 *   Add s, Sub s         B' = B + s                        (or -)
 *
 * Bounded: each step replaces at most two roundings of the result by one of each weight and one of
 * the bias, so c = K + 8 for K products per output (docs/Numerics.md). */
#include "pass/pass.h"
#include "transforms/contraction.h"

typedef struct Step {
  GlowNode *node;
  GlowValue *constant; /* NULL: BatchNormalization */
} Step;

/* A contraction and the steps that follow it. */
typedef struct Chain {
  GlowContraction of;
  GLOW_VEC(Step) steps;
  const GlowType *type; /* of its result */
} Chain;

typedef struct Context {
  GlowPassRun *run;
  GlowConstness *constness;
} Context;

static bool accept_affine(Context *ctx, const Chain *c, const GlowNode *n, const GlowValue *y,
                          Step *step) {
  bool first = glow_node_in(n, 0) == y;
  if (!first && !GLOW_HAS(glow_node_desc(n), COMMUTATIVE))
    return false;
  GlowValue *other = glow_node_in(n, first ? 1 : 0);
  if (other == y || !glow_constness_of(ctx->constness, other) ||
      !glow_is_per_channel(other->type, c->type->rank, c->of.y_axis, c->of.out))
    return false;
  step->constant = other;
  return true;
}

static bool accept_batch_norm(Context *ctx, const Chain *c, const GlowNode *n, const GlowValue *y) {
  if (glow_node_in(n, GLOW_BATCH_NORMALIZATION_IN_X) != y || c->of.y_axis != 1)
    return false;
  for (uint32_t i = 1; i < glow_node_nins(n); i++) {
    const GlowValue *v = glow_node_in(n, i);
    if (!glow_type_is_static(v->type) || v->type->rank != 1 || v->type->dims[0].size != c->of.out ||
        !glow_constness_of(ctx->constness, v))
      return false;
  }
  return true;
}

/* Collects the steps behind a contraction whose weights are constants. */
static void collect(Context *ctx, Chain *c) {
  GlowValue *y = &c->of.node->results[0];
  for (GlowNode *n; (n = glow_only_user(y)); y = &n->results[0]) {
    Step step = {.node = n};
    bool accepted = n->op == GLOW_OP_BATCH_NORMALIZATION ? accept_batch_norm(ctx, c, n, y)
                    : glow_is_affine(n)                  ? accept_affine(ctx, c, n, y, &step)
                                                         : false;
    if (!accepted || n->pred.value != c->of.node->pred.value || n->block != c->of.node->block ||
        n->results[0].type->kind != c->type->kind)
      return;
    glow_vec_push(ctx->run->arena, &c->steps, step);
  }
}

/* ---- New weights ----------------------------------------------------------------------------- */

/* W' or B', while its eval block is being written. */
typedef struct Weights {
  const Chain *chain;
  GlowEval eval;
  GlowValue *value;     /* the result so far; NULL: a bias of zero */
  uint32_t rank, axis;  /* of `value`: its rank, and the axis of its channels */
  int64_t groups;       /* if not 1, axis 0 of `value` has the groups, `axis` the channels of one */
  GlowValue *shapes[2]; /* shapes of that rank: all 1, and with the channels; NULL: not built yet */
} Weights;

static GlowValue *build(Weights *w, GlowOp op, GlowValue *a, GlowValue *b) {
  return a && b ? glow_build2(&w->eval.builder, op, a, b, NULL, NULL) : NULL;
}

/* v, which has one element for each channel or one for all, in a shape that broadcasts to
 * w->value. */
static GlowValue *along_channels(Weights *w, GlowValue *v) {
  if (!v || v->type->rank == 0)
    return v;
  bool vector = glow_type_elements(v->type) != 1;
  int64_t shape[GLOW_MAX_RANK];
  bool fits = v->type->rank == w->rank;
  for (uint32_t i = 0; i < w->rank; i++)
    shape[i] = vector && i == w->axis ? w->chain->of.out / w->groups : 1;
  if (vector && w->groups > 1)
    shape[0] = w->groups;
  for (uint32_t i = 0; fits && i < w->rank; i++)
    fits = v->type->dims[i].size == shape[i];
  if (fits)
    return v;
  GlowValue **to = &w->shapes[vector];
  if (!*to)
    *to = glow_constant_ints(w->eval.module, w->chain->of.node, "shape", shape, w->rank);
  return build(w, GLOW_OP_RESHAPE, v, *to);
}

static GlowValue *copy_input(Weights *w, const GlowNode *n, uint32_t port) {
  return glow_eval_copy(&w->eval, glow_node_in(n, port));
}

/* w->value op v, for Add and Sub; w->value may be a bias of zero. */
static GlowValue *shift(Weights *w, GlowOp op, GlowValue *v) {
  if (w->value || !v)
    return build(w, op, w->value, v);
  return op == GLOW_OP_SUB ? glow_build1(&w->eval.builder, GLOW_OP_NEG, v, NULL, NULL) : v;
}

static bool fold_batch_norm(Weights *w, const GlowNode *n, bool bias) {
  GlowValue *var = copy_input(w, n, GLOW_BATCH_NORMALIZATION_IN_VAR);
  GlowValue *scale = copy_input(w, n, GLOW_BATCH_NORMALIZATION_IN_SCALE);
  GlowValue *factor = along_channels(w, glow_norm_factor(&w->eval.builder, n, scale, var));
  if (bias)
    w->value = shift(w, GLOW_OP_SUB, copy_input(w, n, GLOW_BATCH_NORMALIZATION_IN_MEAN));
  w->value = build(w, GLOW_OP_MUL, w->value, factor);
  if (bias)
    w->value = build(w, GLOW_OP_ADD, w->value, copy_input(w, n, GLOW_BATCH_NORMALIZATION_IN_BIAS));
  return w->value != NULL;
}

static bool fold_step(Weights *w, const Step *step, bool bias) {
  const GlowNode *n = step->node;
  if (!step->constant)
    return fold_batch_norm(w, n, bias);
  bool scales = n->op == GLOW_OP_MUL || n->op == GLOW_OP_DIV;
  if (scales ? !w->value : !bias)
    return true;
  GlowValue *v = along_channels(w, glow_eval_copy(&w->eval, step->constant));
  w->value = shift(w, n->op, v);
  return w->value != NULL;
}

/* The weights of groups, [in, out / groups, ..], as [groups, in / groups, out / groups, ..]. */
static bool split_groups(Weights *w) {
  const GlowType *t = w->value->type;
  GlowDim dims[GLOW_MAX_RANK] = {GLOW_EXACT(w->groups), GLOW_EXACT(t->dims[0].size / w->groups)};
  for (uint32_t i = 1; i < t->rank; i++)
    dims[i + 1] = t->dims[i];
  w->rank = t->rank + 1;
  w->axis++;
  w->value = glow_build_reshape(&w->eval.builder, w->chain->of.node, w->value, w->rank, dims);
  return w->value != NULL;
}

static GlowStr folded_name(GlowContext *ctx, const GlowValue *v, const char *fallback) {
  return v && v->name ? glow_str_printf(ctx, "%s.folded", v->name)
                      : glow_str_printf(ctx, "%s.bias", fallback ? fallback : "sum");
}

/* W' or B' as a constant; *result stays NULL for a bias of zero. False after a diagnostic. */
static bool fold_weights(Context *ctx, const Chain *c, uint32_t port, GlowValue **result) {
  bool bias = port == GLOW_CONTRACTION_B;
  GlowModule *m = ctx->run->module;
  GlowValue *old = glow_node_in(c->of.node, port);
  Weights w = {.chain = c,
               .rank = bias ? 1 : glow_node_in(c->of.node, GLOW_CONTRACTION_W)->type->rank,
               .axis = bias ? 0 : c->of.w_out,
               .groups = bias || c->of.w_out == 0 ? 1 : c->of.groups};
  w.eval = glow_eval_create(m, ctx->run->arena, c->of.node);
  w.value = old ? glow_eval_copy(&w.eval, old) : NULL;
  if (w.groups > 1 && !split_groups(&w))
    return false;
  for (uint32_t i = 0; i < c->steps.count; i++)
    if (!fold_step(&w, &c->steps.data[i], bias))
      return false;
  if (w.groups > 1 && !(w.value = glow_build_reshape(&w.eval.builder, c->of.node, w.value,
                                                     old->type->rank, old->type->dims)))
    return false;
  *result = NULL;
  if (!w.value)
    return true;
  if (glow_type_elements(w.value->type) != glow_type_elements(old ? old->type : w.value->type) ||
      (bias && (w.value->type->rank != 1 || w.value->type->dims[0].size != c->of.out))) {
    int64_t channels[] = {c->of.out};
    w.value =
        build(&w, GLOW_OP_EXPAND, w.value, glow_constant_ints(m, c->of.node, "shape", channels, 1));
    if (!w.value)
      return false;
  }
  GlowStr name = folded_name(m->ctx, old, c->of.node->results[0].name);
  *result = &glow_eval_finish(&w.eval, w.value, name)->value;
  return true;
}

/* ---- The rewrite ----------------------------------------------------------------------------- */

static bool rewrite(Context *ctx, const Chain *c) {
  GlowValue *ins[] = {glow_node_in(c->of.node, 0), NULL, NULL};
  if (!fold_weights(ctx, c, GLOW_CONTRACTION_W, &ins[1]) ||
      !fold_weights(ctx, c, GLOW_CONTRACTION_B, &ins[2]))
    return false;
  GlowValue *y = glow_contraction_build(&c->of, ins);
  if (!y)
    return false;
  uint32_t last = c->steps.count - 1;
  glow_pass_changed(ctx->run, c->of.node, "folded %u step%s into %%%s", c->steps.count,
                    last ? "s" : "", c->of.node->results[0].name);
  glow_value_replace_uses(&c->steps.data[last].node->results[0], y);
  glow_value_replace_uses(&c->of.node->results[0], y); /* only by the first step, which goes */
  for (uint32_t i = c->steps.count; i-- > 0;)
    glow_node_remove(c->steps.data[i].node);
  glow_node_replace(c->of.node, &y, 1);
  return true;
}

/* Whether folding gains anything. A MatMul with one Add or Sub behind it would become a MatMul with
 * an Add. */
static bool is_worthwhile(const Chain *c) {
  bool added =
      c->steps.count == 1 && c->steps.data[0].constant &&
      (c->steps.data[0].node->op == GLOW_OP_ADD || c->steps.data[0].node->op == GLOW_OP_SUB);
  return c->steps.count > 0 && !(c->of.node->op == GLOW_OP_MAT_MUL && added);
}

typedef struct Found {
  GlowArena *arena;
  GLOW_VEC(Chain) chains;
} Found;

static bool find_contraction(GlowNode *n, void *arg) {
  Found *found = arg;
  Chain c = {.type = n->nresults ? n->results[0].type : NULL};
  if (glow_contraction_describe(n, &c.of))
    glow_vec_push(found->arena, &found->chains, c);
  return true;
}

bool glow_pass_fold_bn(GlowPassRun *run) {
  Context ctx = {.run = run, .constness = glow_constness_create(run->arena)};
  Found found = {.arena = run->arena};
  glow_block_walk(run->function->body, find_contraction,
                  &found); /* a rewrite removes what follows */
  for (uint32_t i = 0; i < found.chains.count; i++) {
    Chain *c = &found.chains.data[i];
    if (!glow_contraction_is_constant(&c->of, ctx.constness) ||
        (c->of.groups > 1 && c->type->rank == GLOW_MAX_RANK)) /* no room for an axis of groups */
      continue;
    collect(&ctx, c);
    if (is_worthwhile(c) && !rewrite(&ctx, c))
      return false;
  }
  return true;
}
