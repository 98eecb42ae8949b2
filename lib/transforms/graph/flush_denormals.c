/* Denormal weights become 0 where there are enough of them to matter:
 *
 *   Convolution(x, W, B)  ->  Convolution(x, W', B')     W' = Shrink(W) {bias = 0, lambd = d}
 *
 * and likewise constant operands of ConvTranspose, FullyConnected, MatMul, Mul and Add, and Scale
 * and Bias of BatchNormalization. d is the largest denormal, so W' is an `eval` constant with 0 in
 * the place of denormals and all other numbers of W. Training leaves such weights in channels that
 * do nothing. Processors take some hundred cycles for a product or sum with one, so a few of them
 * can cost more than all else of a layer.
 *
 * W must be a constant of float, or what Transpose and Reshape make of one. A sample of its
 * elements must hold a denormal, and the whole of it at least one in 1024, no NaN, which Shrink
 * would drop, and a number of at least 2^-102.
 *
 * Bounded: for K products with operands of at most X the sum loses K 2^-126 X, which is u S if the
 * largest weight has 2^-102, and as much for its bias; the roundings of K sums may go the other
 * way, 2 u S each. BOUNDED_OVERALL, since S takes an operand's largest magnitude for all its
 * elements. */
#include <float.h>
#include <string.h>

#include "transforms/rules.h"

enum { RUNS = 64, RUN = 64, FEWEST = 1024 };

/* Magnitudes of float as their bits, which have the same order. */
enum { SMALLEST_NORMAL = 0x00800000, LARGE_ENOUGH = (127 - 102) << 23, INFINITE = 0x7f800000 };

/* What a part of a constant holds. */
typedef struct Census {
  int64_t denormals;
  uint32_t largest; /* the bits of a magnitude; above INFINITE: a NaN */
} Census;

static void count(Census *c, const GlowTensor *t, int64_t begin, int64_t end) {
  const char *data = t->data; /* of any alignment */
  for (int64_t i = begin; i < end; i++) {
    uint32_t bits;
    memcpy(&bits, data + i * (int64_t)sizeof bits, sizeof bits);
    bits &= 0x7fffffff;
    c->denormals += bits != 0 && bits < SMALLEST_NORMAL;
    c->largest = bits > c->largest ? bits : c->largest;
  }
}

/* The constant whose elements v has, in some order; NULL if it is not known or not of float. */
static const GlowTensor *elements_of(const GlowValue *v) {
  for (;;) {
    const GlowStorage *s = v->kind == GLOW_VALUE_STORAGE ? v->def.storage : NULL;
    if (s && s->init.kind == GLOW_INIT_EVAL)
      v = glow_block_terminator(s->init.eval)->operands[0].value;
    else if (glow_value_def(v, GLOW_OP_TRANSPOSE) || glow_value_def(v, GLOW_OP_RESHAPE))
      v = glow_node_in(v->def.node, 0);
    else if (!s || s->cls != GLOW_CONSTANT || !s->init.tensor)
      return NULL;
    else
      return s->init.tensor->type->kind == GLOW_KIND_FLOAT ? s->init.tensor : NULL;
  }
}

/* Whether it pays, and is allowed, to flush the denormals of t. See the head of this file. */
static bool pays(const GlowTensor *t) {
  Census sample = {0}, all = {0};
  int64_t elements = glow_tensor_elements(t), step = elements / RUNS;
  if (step <= RUN)
    count(&sample, t, 0, elements);
  for (int64_t i = 0; step > RUN && i < RUNS; i++)
    count(&sample, t, i * step, i * step + RUN);
  if (!sample.denormals)
    return false;
  count(&all, t, 0, elements);
  return all.denormals * FEWEST >= elements && all.largest >= LARGE_ENOUGH &&
         all.largest <= INFINITE;
}

/* Puts W' in the place of operand `at`. Returns the result of n; NULL if there is nothing to flush,
 * or after a diagnostic. */
static GlowValue *flush(GlowPassRun *run, GlowNode *n, uint32_t at) {
  GlowValue *w = glow_node_in(n, at);
  const GlowTensor *t = w ? elements_of(w) : NULL;
  if (!t || !pays(t) || !glow_constness_of(glow_constness_create(run->arena), w))
    return NULL;
  GlowEval e = glow_eval_create(run->module, run->arena, n);
  GlowShrinkMembers members = {.bias = 0, .lambd = FLT_MIN - FLT_TRUE_MIN};
  GlowValue *v = glow_build1(&e.builder, GLOW_OP_SHRINK, glow_eval_copy(&e, w), &members, NULL);
  if (!v)
    return NULL;
  GlowStr name = glow_str_printf(run->ctx, "%s.flushed", w->name ? w->name : "weights");
  glow_use_set(&n->operands[at], &glow_eval_finish(&e, v, name)->value);
  return &n->results[0];
}

static GlowValue *flush_operands(GlowPassRun *run, GlowNode *n) {
  GlowValue *changed = NULL;
  for (uint32_t i = 0; i < glow_node_nins(n); i++)
    changed = flush(run, n, i) ? &n->results[0] : changed;
  return changed;
}

static GlowValue *flush_norm(GlowPassRun *run, GlowNode *n) {
  GlowValue *scale = flush(run, n, GLOW_BATCH_NORMALIZATION_IN_SCALE);
  GlowValue *bias = flush(run, n, GLOW_BATCH_NORMALIZATION_IN_BIAS);
  return scale ? scale : bias;
}

#define WHAT "denormal weights become 0"
static const GlowRule rules[] = {
    {GLOW_OP_CONVOLUTION, flush_operands, WHAT},
    {GLOW_OP_CONV_TRANSPOSE, flush_operands, WHAT},
    {GLOW_OP_FULLY_CONNECTED, flush_operands, WHAT},
    {GLOW_OP_MAT_MUL, flush_operands, WHAT},
    {GLOW_OP_MUL, flush_operands, WHAT},
    {GLOW_OP_ADD, flush_operands, WHAT},
    {GLOW_OP_BATCH_NORMALIZATION, flush_norm, WHAT},
};

bool glow_pass_flush_denormals(GlowPassRun *run) {
  return glow_rules_run(run, rules, sizeof rules / sizeof *rules);
}
