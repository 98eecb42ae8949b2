/* Folding affine steps into the contraction before.
 *
 *   y = Convolution(x, W, B)  ->  step  ->  step ...      becomes      y = Convolution(x, W', B')
 *
 * and likewise for FullyConnected, and for MatMul, whose B' is an Add behind it. A step is
 * BatchNormalization with constant parameters, or what lowering makes of it: Sub, Div, Mul, Add of
 * a constant with one value for each channel (of a product: each column; or one for all), where the
 * value before has no other use. W must be constant, B constant or absent. W' and B' are `eval`
 * constants, which say in text how they come from the old ones:
 *
 *   BatchNormalization   f = Scale / Sqrt(Var + epsilon),  W' = W * f,  B' = (B - Mean) * f + Bias
 *   Mul s, Div s         W' = W * s,  B' = B * s           (or /)
 *   Add s, Sub s         B' = B + s                        (or -)
 *
 * Bounded: each step replaces at most two roundings of the result by one of each weight and one of
 * the bias, so c = K + 8 for K products per output (docs/Numerics.md). */
#include "pass/pass.h"
#include "transforms/transforms.h"

typedef struct Step {
  GlowNode *node;
  GlowValue *constant; /* NULL: BatchNormalization */
} Step;

/* A contraction and the steps that follow it. */
typedef struct Chain {
  GlowNode *conv;
  uint32_t w_axis; /* of the channels in its weights, port 1 */
  GLOW_VEC(Step) steps;
  int64_t channels;
  uint32_t axis; /* of the channels in its result */
  const GlowType *type;
} Chain;

enum { WEIGHTS = 1, BIAS = 2 }; /* ports, of all contractions here */

typedef struct Context {
  GlowPassRun *run;
  GlowConstness *constness;
} Context;

/* Whether a constant of type t, broadcast with the result, has one value for each channel or one
 * for all, and does not change the result's shape. */
static bool is_per_channel(const Chain *c, const GlowType *t) {
  if (!glow_type_is_static(t) || t->rank > c->type->rank)
    return false;
  for (uint32_t i = 0; i < t->rank; ++i) {
    uint32_t axis = c->type->rank - t->rank + i;
    int64_t size = t->dims[i].size;
    if (size != 1 && !(axis == c->axis && size == c->channels))
      return false;
  }
  return true;
}

static bool is_affine(const GlowNode *n) {
  return n->op == GLOW_OP_ADD || n->op == GLOW_OP_SUB || n->op == GLOW_OP_MUL ||
         n->op == GLOW_OP_DIV;
}

static bool accept_affine(Context *ctx, const Chain *c, const GlowNode *n, const GlowValue *y,
                          Step *step) {
  bool first = glow_node_in(n, 0) == y;
  if (!first && !GLOW_HAS(glow_node_desc(n), COMMUTATIVE))
    return false;
  GlowValue *other = glow_node_in(n, first ? 1 : 0);
  if (other == y || !is_per_channel(c, other->type) || !glow_constness_of(ctx->constness, other))
    return false;
  step->constant = other;
  return true;
}

static bool accept_batch_norm(Context *ctx, const Chain *c, const GlowNode *n, const GlowValue *y) {
  if (glow_node_in(n, GLOW_BATCH_NORMALIZATION_IN_X) != y || c->axis != 1)
    return false;
  for (uint32_t i = 1; i < glow_node_nins(n); ++i) {
    const GlowValue *v = glow_node_in(n, i);
    if (!glow_type_is_static(v->type) || v->type->rank != 1 ||
        v->type->dims[0].size != c->channels || !glow_constness_of(ctx->constness, v))
      return false;
  }
  return true;
}

/* The steps behind a convolution whose weights are constants. */
static void collect(Context *ctx, Chain *c) {
  GlowValue *y = &c->conv->results[0];
  for (GlowNode *n; (n = glow_only_user(y)); y = &n->results[0]) {
    Step step = {.node = n};
    bool accepted = n->op == GLOW_OP_BATCH_NORMALIZATION ? accept_batch_norm(ctx, c, n, y)
                    : is_affine(n)                       ? accept_affine(ctx, c, n, y, &step)
                                                         : false;
    if (!accepted || n->pred.value != c->conv->pred.value || n->block != c->conv->block ||
        n->results[0].type->kind != c->type->kind)
      return;
    glow_vec_push(ctx->run->arena, &c->steps, step);
  }
}

/* ---- New weights ----------------------------------------------------------------------------- */

/* One of the two eval blocks that are being written. */
typedef struct Weights {
  const Chain *chain;
  GlowEval eval;
  GlowValue *value;     /* so far; NULL: a bias of zero */
  uint32_t rank, axis;  /* of the result; where its channels are */
  GlowValue *shapes[2]; /* of that rank, all 1, and with the channels; NULL: not needed yet */
} Weights;

static GlowValue *build(Weights *w, GlowOp op, GlowValue *a, GlowValue *b) {
  return a && b ? glow_build2(&w->eval.builder, op, a, b, NULL, NULL) : NULL;
}

/* A value with one element for each channel, or one for all, so that it stands beside w->value. */
static GlowValue *along_channels(Weights *w, GlowValue *v) {
  if (!v || v->type->rank == 0)
    return v;
  bool vector = glow_type_elements(v->type) != 1;
  int64_t shape[GLOW_MAX_RANK];
  bool fits = v->type->rank == w->rank;
  for (uint32_t i = 0; i < w->rank; ++i)
    shape[i] = vector && i == w->axis ? w->chain->channels : 1;
  for (uint32_t i = 0; fits && i < w->rank; ++i)
    fits = v->type->dims[i].size == shape[i];
  if (fits)
    return v;
  GlowValue **to = &w->shapes[vector];
  if (!*to)
    *to = glow_constant_ints(w->eval.module, w->chain->conv, "shape", shape, w->rank);
  return build(w, GLOW_OP_RESHAPE, v, *to);
}

static GlowValue *copy_input(Weights *w, const GlowNode *n, uint32_t port) {
  return glow_eval_copy(&w->eval, glow_node_in(n, port));
}

/* Scale / Sqrt(Var + epsilon). */
static GlowValue *norm_factor(Weights *w, const GlowNode *n) {
  float epsilon = ((const GlowBatchNormalizationMembers *)n->members)->epsilon;
  GlowValue *var = copy_input(w, n, GLOW_BATCH_NORMALIZATION_IN_VAR);
  GlowValue *eps = glow_build_scalar(&w->eval.builder, w->chain->type->kind, epsilon);
  GlowValue *sum = build(w, GLOW_OP_ADD, var, eps);
  GlowValue *root = sum ? glow_build1(&w->eval.builder, GLOW_OP_SQRT, sum, NULL, NULL) : NULL;
  return build(w, GLOW_OP_DIV, copy_input(w, n, GLOW_BATCH_NORMALIZATION_IN_SCALE), root);
}

/* w->value op v, where the first may be a bias of zero. */
static GlowValue *shift(Weights *w, GlowOp op, GlowValue *v) {
  if (w->value || !v)
    return build(w, op, w->value, v);
  return op == GLOW_OP_SUB ? glow_build1(&w->eval.builder, GLOW_OP_NEG, v, NULL, NULL) : v;
}

static bool fold_batch_norm(Weights *w, const GlowNode *n, bool bias) {
  GlowValue *factor = along_channels(w, norm_factor(w, n));
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

static GlowStr folded_name(GlowContext *ctx, const GlowValue *v, const char *fallback) {
  return v && v->name ? glow_str_printf(ctx, "%s.folded", v->name)
                      : glow_str_printf(ctx, "%s.bias", fallback ? fallback : "sum");
}

/* W' or B' as a constant; *result stays NULL for a bias of zero. False after a diagnostic. */
static bool fold_weights(Context *ctx, const Chain *c, uint32_t port, GlowValue **result) {
  bool bias = port == BIAS;
  GlowModule *m = ctx->run->module;
  GlowValue *old = glow_node_in(c->conv, port);
  Weights w = {.chain = c,
               .rank = bias ? 1 : glow_node_in(c->conv, WEIGHTS)->type->rank,
               .axis = bias ? 0 : c->w_axis};
  w.eval = glow_eval_create(m, ctx->run->arena, c->conv);
  w.value = old ? glow_eval_copy(&w.eval, old) : NULL;
  for (uint32_t i = 0; i < c->steps.count; ++i)
    if (!fold_step(&w, &c->steps.data[i], bias))
      return false;
  *result = NULL;
  if (!w.value)
    return true;
  if (glow_type_elements(w.value->type) != glow_type_elements(old ? old->type : w.value->type) ||
      (bias && (w.value->type->rank != 1 || w.value->type->dims[0].size != c->channels))) {
    int64_t channels[] = {c->channels};
    w.value =
        build(&w, GLOW_OP_EXPAND, w.value, glow_constant_ints(m, c->conv, "shape", channels, 1));
    if (!w.value)
      return false;
  }
  GlowStr name = folded_name(m->ctx, old, c->conv->results[0].name);
  *result = &glow_eval_finish(&w.eval, w.value, name)->value;
  return true;
}

/* ---- The rewrite ----------------------------------------------------------------------------- */

/* The contraction with new operands; MatMul has its bias added behind. NULL after a diagnostic. */
static GlowValue *build_contraction(const Chain *c, GlowValue *const *ins) {
  GlowBuilder b = glow_builder_before(c->conv);
  bool product = c->conv->op == GLOW_OP_MAT_MUL;
  GlowNode *fresh = glow_build(&b, c->conv->op, ins, product ? 2 : 3, c->conv->members, NULL);
  if (!fresh || !product || !ins[BIAS])
    return fresh ? &fresh->results[0] : NULL;
  return glow_build2(&b, GLOW_OP_ADD, &fresh->results[0], ins[BIAS], NULL, NULL);
}

static bool rewrite(Context *ctx, const Chain *c) {
  GlowValue *ins[] = {glow_node_in(c->conv, 0), NULL, NULL};
  if (!fold_weights(ctx, c, WEIGHTS, &ins[WEIGHTS]) || !fold_weights(ctx, c, BIAS, &ins[BIAS]))
    return false;
  GlowValue *y = build_contraction(c, ins);
  if (!y)
    return false;
  uint32_t last = c->steps.count - 1;
  glow_pass_changed(ctx->run, c->conv, "folded %u step%s into %%%s", c->steps.count,
                    last ? "s" : "", c->conv->results[0].name);
  glow_value_replace_uses(&c->steps.data[last].node->results[0], y);
  glow_value_replace_uses(&c->conv->results[0], y); /* only by the first step, which goes */
  for (uint32_t i = c->steps.count; i-- > 0;)
    glow_node_remove(c->steps.data[i].node);
  glow_node_replace(c->conv, &y, 1);
  return true;
}

/* Finds where the channels are. False if the pass knows no way with the operator. */
static bool describe(GlowNode *n, Chain *c) {
  const GlowType *type = n->results[0].type, *w = glow_node_in(n, WEIGHTS)->type;
  if (type->unranked || !glow_type_is_static(w))
    return false;
  *c = (Chain){.conv = n, .type = type};
  if (n->op == GLOW_OP_CONVOLUTION) {
    bool last = ((const GlowConvolutionMembers *)n->members)->layout == GLOW_LAYOUT_NHWC;
    c->axis = last ? type->rank - 1 : 1;
  } else if (w->rank == 2 && type->rank > 0) { /* a product with one matrix */
    c->axis = type->rank - 1;
    c->w_axis = 1;
  } else {
    return false;
  }
  c->channels = w->dims[c->w_axis].size;
  return true;
}

/* Whether a bias is absent, or constant with one value for each channel. */
static bool accept_bias(Context *ctx, const Chain *c) {
  const GlowValue *b = glow_node_in(c->conv, BIAS);
  return !b || (glow_constness_of(ctx->constness, b) && glow_type_is_static(b->type) &&
                b->type->rank == 1 && b->type->dims[0].size == c->channels);
}

/* One addition behind MatMul is as good as it gets. */
static bool is_worthwhile(const Chain *c) {
  bool added =
      c->steps.count == 1 && c->steps.data[0].constant &&
      (c->steps.data[0].node->op == GLOW_OP_ADD || c->steps.data[0].node->op == GLOW_OP_SUB);
  return c->steps.count > 0 && !(c->conv->op == GLOW_OP_MAT_MUL && added);
}

static bool fold_contraction(Context *ctx, GlowNode *n) {
  Chain c;
  if (!describe(n, &c) || !glow_constness_of(ctx->constness, glow_node_in(n, WEIGHTS)) ||
      !accept_bias(ctx, &c))
    return true;
  collect(ctx, &c);
  return !is_worthwhile(&c) || rewrite(ctx, &c);
}

typedef struct Convs {
  GlowArena *arena;
  GLOW_VEC(GlowNode *) all;
} Convs;

static bool find_contraction(GlowNode *n, void *arg) {
  Convs *convs = arg;
  if (n->op == GLOW_OP_CONVOLUTION || n->op == GLOW_OP_FULLY_CONNECTED ||
      (n->op == GLOW_OP_MAT_MUL && glow_kind_is_float(n->results[0].type->kind)))
    glow_vec_push(convs->arena, &convs->all, n);
  return true;
}

bool glow_pass_fold_bn(GlowPassRun *run) {
  Context ctx = {.run = run, .constness = glow_constness_create(run->arena)};
  Convs convs = {.arena = run->arena};
  glow_block_walk(run->function->body, find_contraction,
                  &convs); /* a rewrite removes what follows */
  for (uint32_t i = 0; i < convs.all.count; ++i)
    if (!fold_contraction(&ctx, convs.all.data[i]))
      return false;
  return true;
}
