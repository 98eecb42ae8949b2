/* Weights of contractions as integers of 8 bits: see quantize.h. Scales and integers are algebra in
 * `eval` constants:
 *
 *   scale = Max(largest / 127, 2^-60)          stored = QuantizeLinear(W, scale)
 *
 * where `largest` is, for each output channel, the largest magnitude; and with `pairs` also the
 * largest sum of the positive, or of the negative ones of two neighbours. Neighbours are the
 * channels 2i and 2i + 1 of a tap; with less than 4 channels the places of a row of taps, as
 * kernels pack it; of a product, the terms 2i and 2i + 1. Rounded, two of one sign sum to at most
 * 128, and 255 * 128 fits into 16 bits. The filters of depthwise convolutions have no neighbours.
 */
#include "transforms/quantize/quantize.h"

enum { FEW = 4 };

typedef struct Weights {
  GlowEval eval;
  const GlowNode *node;
  GlowValue *rows; /* [channels, rows, run]: neighbours lie in a run */
  int64_t channels;
} Weights;

static GlowValue *reduced(Weights *w, GlowOp op, GlowValue *v, int64_t axis) {
  GlowBuilder *b = &w->eval.builder;
  return v ? glow_build_reduce(b, op, v, glow_constant_ints(b->module, w->node, "axis", &axis, 1))
           : NULL;
}

static GlowValue *shaped(Weights *w, GlowValue *v, uint32_t rank, const int64_t *dims) {
  return v ? glow_build_shaped(&w->eval.builder, w->node, v, rank, dims) : NULL;
}

/* Brings the output channels in front and neighbours into runs. */
static bool arrange(Weights *w, const GlowContraction *c, GlowValue *v) {
  const GlowType *t = v->type;
  uint32_t perm[GLOW_MAX_RANK] = {c->w_out}, n = 1;
  int64_t run = t->dims[c->w_in].size, rows = 1;
  for (uint32_t i = 0; i < t->rank; i++)
    if (i != c->w_out && i != c->w_in) {
      perm[n++] = i;
      rows *= t->dims[i].size;
    }
  perm[n] = c->w_in;
  if (run < FEW && t->rank > 2) {
    int64_t taps = t->dims[perm[n - 1]].size;
    rows = taps ? rows / taps : 0;
    run *= taps;
  }
  w->channels = t->dims[c->w_out].size;
  int64_t dims[] = {w->channels, rows, run};
  v = shaped(w, glow_build_permuted(&w->eval.builder, v, perm, t->rank), 3, dims);
  w->rows = v ? glow_build_padded(&w->eval.builder, w->node, v, 2, 0, run % 2) : NULL;
  return w->rows != NULL;
}

static GlowValue *largest_magnitude(Weights *w) {
  GlowValue *v = glow_then1(&w->eval.builder, GLOW_OP_ABS, w->rows, NULL);
  v = reduced(w, GLOW_OP_REDUCE_MAX, v, 2);
  return reduced(w, GLOW_OP_REDUCE_MAX, v, 1);
}

/* The largest sum of the positive ones of two neighbours, or of the negative ones. */
static GlowValue *largest_pair(Weights *w, bool negative) {
  GlowBuilder *b = &w->eval.builder;
  const GlowDim *d = w->rows->type->dims;
  int64_t dims[] = {w->channels, d[1].size * d[2].size / 2, 2};
  GlowValue *v = negative ? glow_then1(b, GLOW_OP_NEG, w->rows, NULL) : w->rows;
  v = shaped(w, glow_then1(b, GLOW_OP_RELU, v, NULL), 3, dims);
  return reduced(w, GLOW_OP_REDUCE_MAX, reduced(w, GLOW_OP_REDUCE_SUM, v, 2), 1);
}

static GlowValue *build_scale(Weights *w, GlowWeightHow how, bool pairs) {
  GlowBuilder *b = &w->eval.builder;
  GlowValue *v = largest_magnitude(w);
  for (int negative = 0; pairs && v && negative < 2; negative++)
    v = glow_then2(b, GLOW_OP_MAX, v, largest_pair(w, negative));
  if (how.tensor)
    v = reduced(w, GLOW_OP_REDUCE_MAX, v, 0);
  v = shaped(w, v, how.tensor ? 0 : 1, &w->channels);
  double steps = how.bits == GLOW_WEIGHTS_7 ? 63 : 127;
  v = v ? glow_then2(b, GLOW_OP_DIV, v, glow_build_scalar(b, GLOW_KIND_FLOAT, steps)) : NULL;
  return v ? glow_then2(b, GLOW_OP_MAX, v,
                        glow_build_scalar(b, GLOW_KIND_FLOAT, (double)GLOW_LEAST_SCALE))
           : NULL;
}

GlowValue *glow_store_weights(GlowPassRun *run, const GlowContraction *c, GlowWeightHow how,
                              GlowValue **scale) {
  GlowContext *ctx = run->ctx;
  GlowNode *n = c->node;
  GlowValue *old = glow_node_in(n, GLOW_CONTRACTION_W);
  Weights w = {.eval = glow_eval_create(run->module, run->arena, n), .node = n};
  bool depthwise = c->groups > 1 && old->type->dims[c->w_in].size == 1;
  if (!arrange(&w, c, glow_eval_copy(&w.eval, old)))
    return NULL;
  GlowValue *s = build_scale(&w, how, how.bits == GLOW_WEIGHTS_PAIRS && !depthwise);
  if (!s)
    return NULL;
  GlowStr name = old->name ? old->name : "weights";
  *scale = &glow_eval_finish(&w.eval, s, glow_str_printf(ctx, "%s.scale", name))->value;
  GlowEval stored = glow_eval_create(run->module, run->arena, n);
  GlowValue *ins[] = {glow_eval_copy(&stored, old), *scale};
  GlowQuantizeLinearMembers q = {.axis = c->w_out, .kind = GLOW_KIND_I8, .saturate = true};
  GlowValue *v = glow_then(&stored.builder, GLOW_OP_QUANTIZE_LINEAR, ins, 2, &q);
  return v ? &glow_eval_finish(&stored, v, glow_str_printf(ctx, "%s.i8", name))->value : NULL;
}
