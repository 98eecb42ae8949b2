/* Smooth channels: what contractions read is rounded with one scale for all channels, so a channel
 * of small numbers beside one of large numbers has few steps. Here channels get factors, which go
 * from weights to what computes the value:
 *
 *   y = Convolution(Relu(Convolution(x, W, B)), V)
 *
 * becomes
 *
 *   y = Convolution(Relu(Convolution(x, W / s, B / s)), V * s)
 *
 * with a number s for each channel between: 2^round(log2(a^alpha / w^(1 - alpha))) for the largest
 * magnitude `a` of the channel in a profile, and the largest weight `w` that reads it. So both
 * share the trouble (SmoothQuant; cross-layer equalization). A normalization takes the factors into
 * Scale and Bias, a product with a constant into that. Between it and the contractions may stand
 * operators that commute with positive factors, sums with constants, and Clip, which becomes a
 * maximum and a minimum with a limit for each channel: Clip(x, 0, 6) / s = Min(Max(x / s, 0), 6 /
 * s).
 *
 * Powers of two: results in float are the same, bit for bit, where nothing overflows or becomes
 * denormal. What the contractions read gets a new name, since a profile of it does not fit any
 * more.
 *
 * Requested: results may overflow, and it wants a new profile. */
#include <math.h>

#include "transforms/quantize/quantize.h"
#include "transforms/rules.h"

enum { MAX_EXPONENT = 24 };

typedef struct Smooth {
  GlowPassRun *run;
  GlowRanges *ranges;
  GlowConstness *constness;
  double alpha;
} Smooth;

/* A value that contractions read, and what they and its makers change by its factors. */
typedef struct Channels {
  GlowValue *v;
  uint32_t axis;
  int64_t count;
  const GlowRange *range;
  GLOW_VEC(GlowContraction) readers;
  GLOW_VEC(GlowUse *) divided; /* constants that compute it */
  GLOW_VEC(GlowNode *) clips;  /* what limits it */
} Channels;

/* ---- What can be changed --------------------------------------------------------------------- */

static bool is_channel_constant(const Smooth *s, const GlowValue *v, uint32_t rank, uint32_t axis,
                                int64_t count) {
  return v && v->type->kind == GLOW_KIND_FLOAT && glow_constness_of(s->constness, v) &&
         glow_is_per_channel(v->type, rank, axis, count);
}

/* Whether weights have each channel that r reads in a slice of axis w_in. Of a filter for each
 * channel, that is the axis of its results. */
static bool has_slices(const Channels *c, GlowContraction *r) {
  const GlowType *w = glow_node_in(r->node, GLOW_CONTRACTION_W)->type;
  if (r->groups > 1 && r->groups == c->count && r->node->op == GLOW_OP_CONVOLUTION)
    r->w_in = r->w_out;
  else if (r->groups > 1)
    return false;
  return r->x_axis == c->axis && w->dims[r->w_in].size == c->count;
}

/* Lists the contractions that read v. Why that cannot be done, or NULL. */
static const char *find_readers(const Smooth *s, Channels *c) {
  for (GlowUse *u = c->v->uses; u; u = u->next) {
    GlowContraction r;
    if (u != &u->user->operands[GLOW_CONTRACTION_X] || !glow_contraction_describe(u->user, &r) ||
        !has_slices(c, &r))
      return "not only contractions without groups, or one for each channel, read it";
    const GlowValue *w = glow_node_in(u->user, GLOW_CONTRACTION_W);
    if (!glow_constness_of(s->constness, w) || w->type->kind != GLOW_KIND_FLOAT)
      return "the weights that read it are no constant floats";
    glow_vec_push(s->run->arena, &c->readers, r);
  }
  return NULL;
}

/* Whether result 0 of n, of what has positive factors of channels, is what it was with them. */
static bool commutes(const GlowNode *n) {
  return n->op == GLOW_OP_RELU || n->op == GLOW_OP_LEAKY_RELU || n->op == GLOW_OP_MAX_POOL ||
         n->op == GLOW_OP_AVERAGE_POOL;
}

/* The operand of n that is a constant for each channel, of two. -1: there is none. */
static int constant_operand(const Smooth *s, const Channels *c, const GlowNode *n) {
  for (int i = 1; i >= 0; i--)
    if (is_channel_constant(s, glow_node_in(n, (uint32_t)i), c->v->type->rank, c->axis, c->count))
      return i;
  return -1;
}

/* Scale and Bias of a normalization over the channels, or of one for each channel. */
static bool take_norm(const Smooth *s, Channels *c, GlowNode *n) {
  bool last = n->op == GLOW_OP_LAYER_NORMALIZATION || n->op == GLOW_OP_RMS_NORMALIZATION;
  if (!last && n->op != GLOW_OP_BATCH_NORMALIZATION && n->op != GLOW_OP_GROUP_NORMALIZATION &&
      n->op != GLOW_OP_INSTANCE_NORMALIZATION)
    return false;
  bool bias = n->op != GLOW_OP_RMS_NORMALIZATION && glow_node_in(n, 2);
  bool fits = c->axis == (last ? c->v->type->rank - 1 : 1);
  for (uint32_t i = 1; i <= 1u + bias && fits; i++) {
    fits = is_channel_constant(s, glow_node_in(n, i), 1, 0, c->count);
    if (fits)
      glow_vec_push(s->run->arena, &c->divided, &n->operands[i]);
  }
  return fits;
}

/* Weights and bias of a contraction that computes the channels. */
static bool take_contraction(const Smooth *s, Channels *c, GlowNode *n) {
  GlowContraction p;
  if (!glow_contraction_describe(n, &p) || (p.groups > 1 && p.w_out != 0) || p.y_axis != c->axis ||
      !glow_contraction_is_constant(&p, s->constness) ||
      glow_node_in(n, GLOW_CONTRACTION_W)->type->kind != GLOW_KIND_FLOAT)
    return false;
  glow_vec_push(s->run->arena, &c->divided, &n->operands[GLOW_CONTRACTION_W]);
  if (glow_node_in(n, GLOW_CONTRACTION_B))
    glow_vec_push(s->run->arena, &c->divided, &n->operands[GLOW_CONTRACTION_B]);
  return true;
}

/* A limit that factors leave as it is: none, 0 or infinite. */
static bool is_fixed_limit(const GlowValue *v) {
  GlowScalar limit;
  return !v || (glow_value_splat(v, &limit) && (limit.f == 0 || isinf(limit.f)));
}

/* Clip with constant limits. */
static bool take_clip(const Smooth *s, Channels *c, GlowNode *n) {
  if (n->op != GLOW_OP_CLIP)
    return false;
  const GlowValue *low = glow_node_in(n, GLOW_CLIP_IN_MIN),
                  *high = glow_node_in(n, GLOW_CLIP_IN_MAX);
  if ((low && !glow_constness_of(s->constness, low)) ||
      (high && !glow_constness_of(s->constness, high)))
    return false;
  if (!is_fixed_limit(low) || !is_fixed_limit(high))
    glow_vec_push(s->run->arena, &c->clips, n);
  return true;
}

/* Finds the constants that can be divided by the factors of v. Why that cannot be done, or NULL. */
static const char *find_makers(const Smooth *s, Channels *c) {
  GlowValue *v = c->v;
  for (;;) {
    GlowNode *n =
        v->kind == GLOW_VALUE_RESULT && v == &v->def.node->results[0] ? v->def.node : NULL;
    if (!n)
      return "an input of the function is among what computes it";
    if (take_norm(s, c, n) || take_contraction(s, c, n))
      return NULL;
    bool sum = n->op == GLOW_OP_ADD, product = n->op == GLOW_OP_MUL;
    int constant = sum || product ? constant_operand(s, c, n) : -1;
    if (constant < 0 && !commutes(n) && !take_clip(s, c, n))
      return glow_str_printf(s->run->ctx, "%s takes no factors", glow_node_desc(n)->node);
    if (constant >= 0)
      glow_vec_push(s->run->arena, &c->divided, &n->operands[constant]);
    if (product)
      return NULL;
    v = glow_node_in(n, constant == 0);
    if (!glow_value_has_one_use(v))
      return "others read what it is computed of";
  }
}

/* ---- The factors ----------------------------------------------------------------------------- */

/* The largest magnitudes of channels in the profile. */
static GlowValue *profile_of(const Smooth *s, const Channels *c) {
  GlowContext *ctx = s->run->ctx;
  GlowTensor *t = glow_tensor_create(ctx, glow_type_exact(ctx, GLOW_KIND_FLOAT, 1, &c->count));
  for (int64_t i = 0; i < c->count; i++)
    ((float *)t->data)[i] = fmaxf(-c->range->low.data[i], c->range->high.data[i]);
  GlowStr name = glow_str_printf(ctx, "%s.largest", c->v->name);
  GlowValue *v = &glow_constant_list(s->run->module, name, t)->value;
  glow_tensor_free(t);
  return v;
}

/* The largest magnitudes of weights that read each channel. */
static GlowValue *largest_weights(GlowEval *e, const Channels *c) {
  GlowBuilder *b = &e->builder;
  GlowValue *all = NULL;
  for (uint32_t i = 0; i < c->readers.count; i++) {
    const GlowContraction *r = &c->readers.data[i];
    GlowValue *w = glow_node_in(r->node, GLOW_CONTRACTION_W);
    uint32_t perm[GLOW_MAX_RANK] = {r->w_in}, n = 1;
    int64_t axis = 1, dims[] = {c->count, glow_type_elements(w->type) / c->count};
    for (uint32_t k = 0; k < w->type->rank; k++)
      if (k != r->w_in)
        perm[n++] = k;
    w = glow_build_permuted(b, glow_eval_copy(e, w), perm, n);
    w = w ? glow_build_shaped(b, r->node, glow_then1(b, GLOW_OP_ABS, w, NULL), 2, dims) : NULL;
    w = w ? glow_build_reduce(b, GLOW_OP_REDUCE_MAX, w,
                              glow_constant_ints(b->module, r->node, "axis", &axis, 1))
          : NULL;
    w = w ? glow_build_shaped(b, r->node, w, 1, dims) : NULL;
    all = all ? glow_then2(b, GLOW_OP_MAX, all, w) : w;
  }
  return all;
}

static GlowValue *number(GlowBuilder *b, double v) {
  return glow_build_scalar(b, GLOW_KIND_FLOAT, v);
}

static GlowValue *scaled_log(GlowBuilder *b, GlowValue *v, double factor) {
  return glow_then2(b, GLOW_OP_MUL, glow_then1(b, GLOW_OP_LOG, v, NULL), number(b, factor));
}

/* 2^-k for each channel, or 2^k; 1 where the channel or all of its weights are 0. */
static GlowValue *build_factors(const Smooth *s, const Channels *c, GlowValue *profile,
                                bool inverse) {
  GlowEval e = glow_eval_create(s->run->module, s->run->arena, c->readers.data[0].node);
  GlowBuilder *b = &e.builder;
  GlowValue *a = glow_eval_copy(&e, profile), *w = largest_weights(&e, c);
  GlowValue *k = glow_then2(b, GLOW_OP_SUB, scaled_log(b, a, s->alpha / M_LN2),
                            scaled_log(b, w, (1 - s->alpha) / M_LN2));
  k = glow_then1(b, GLOW_OP_ROUND, k, NULL);
  k = glow_then3(b, GLOW_OP_CLIP, k, number(b, -MAX_EXPONENT), number(b, MAX_EXPONENT));
  k = inverse && k ? glow_then1(b, GLOW_OP_NEG, k, NULL) : k;
  GlowValue *used = glow_then2(b, GLOW_OP_GREATER, glow_then2(b, GLOW_OP_MIN, a, w), number(b, 0));
  GlowValue *v =
      glow_then3(b, GLOW_OP_WHERE, used, glow_then2(b, GLOW_OP_POW, number(b, 2), k), number(b, 1));
  GlowStr name = glow_str_printf(s->run->ctx, inverse ? "%s.divisor" : "%s.factor", c->v->name);
  return v ? &glow_eval_finish(&e, v, name)->value : NULL;
}

/* Multiplies a constant operand by factors; `behind` of its axes begin with that of the channels.
 */
static bool multiply(const Smooth *s, GlowUse *use, GlowValue *factors, uint32_t behind) {
  GlowEval e = glow_eval_create(s->run->module, s->run->arena, use->user);
  GlowBuilder *b = &e.builder;
  GlowValue *old = use->value, *f = glow_eval_copy(&e, factors);
  f = behind > 1 ? glow_build_along(b, use->user, f, behind, 0) : f;
  GlowValue *v = glow_then2(b, GLOW_OP_MUL, glow_eval_copy(&e, old), f);
  GlowStr name = glow_str_printf(s->run->ctx, "%s.even", old->name ? old->name : "constant");
  if (v)
    glow_use_set(use, &glow_eval_finish(&e, v, name)->value);
  return v != NULL;
}

/* How many axes of the constant at `use` begin with that of the channels. */
static uint32_t axes_behind(const Channels *c, const GlowUse *use) {
  GlowContraction p;
  bool element = GLOW_HAS(glow_node_desc(use->user), ELEMENTWISE);
  if (element)
    return c->v->type->rank - c->axis;
  bool weights =
      glow_contraction_describe(use->user, &p) && use == &use->user->operands[GLOW_CONTRACTION_W];
  return weights ? use->value->type->rank - p.w_out : 1;
}

/* The maximum of v and a limit of n, or the minimum; v if there is no limit. */
static GlowValue *limited(const Smooth *s, Channels *c, GlowBuilder *b, GlowOp op, GlowValue *v,
                          GlowValue *limit) {
  GlowValue *y = limit ? glow_then2(b, op, v, limit) : v;
  if (y && !is_fixed_limit(limit))
    glow_vec_push(s->run->arena, &c->divided, &y->def.node->operands[1]);
  return y;
}

/* Puts a maximum and a minimum in the place of a Clip. */
static bool open_clip(const Smooth *s, Channels *c, GlowNode *n) {
  GlowBuilder b = glow_builder_before(n);
  GlowStr name = n->results[0].name;
  GlowValue *y =
      limited(s, c, &b, GLOW_OP_MAX, glow_node_in(n, 0), glow_node_in(n, GLOW_CLIP_IN_MIN));
  y = y ? limited(s, c, &b, GLOW_OP_MIN, y, glow_node_in(n, GLOW_CLIP_IN_MAX)) : NULL;
  if (!y)
    return false;
  c->v = c->v == &n->results[0] ? y : c->v;
  glow_node_replace(n, &y, 1);
  if (name)
    glow_value_set_name(y, name);
  return true;
}

static bool rewrite(const Smooth *s, Channels *c) {
  GlowValue *profile = profile_of(s, c);
  GlowValue *factor = build_factors(s, c, profile, false);
  GlowValue *divisor = factor ? build_factors(s, c, profile, true) : NULL;
  if (!divisor)
    return false;
  glow_pass_begin_batch(s->run);
  glow_pass_changed(s->run, c->v->def.node, "moved factors of '%s' to weights", c->v->name);
  for (uint32_t i = 0; i < c->clips.count; i++)
    if (!open_clip(s, c, c->clips.data[i]))
      return false;
  for (uint32_t i = 0; i < c->divided.count; i++)
    if (!multiply(s, c->divided.data[i], divisor, axes_behind(c, c->divided.data[i])))
      return false;
  for (uint32_t i = 0; i < c->readers.count; i++) {
    const GlowContraction *r = &c->readers.data[i];
    GlowUse *w = &r->node->operands[GLOW_CONTRACTION_W];
    if (!multiply(s, w, factor, w->value->type->rank - r->w_in))
      return false;
  }
  glow_value_set_name(c->v, glow_str_printf(s->run->ctx, "%s.even", c->v->name));
  glow_pass_end_batch(s->run);
  return true;
}

/* ---- The pass -------------------------------------------------------------------------------- */

static const char *find_range(const Smooth *s, Channels *c) {
  c->range = glow_ranges_find(s->ranges, glow_observed_name(s->run->ctx, c->v));
  bool fits = c->range && c->range->axis == c->axis && c->range->low.count == c->count;
  return fits ? NULL : "the ranges file has no line with its channels";
}

static bool smooth_value(const Smooth *s, GlowValue *v) {
  Channels c = {.v = v};
  const GlowNode *reader = glow_channels_reader(v, &c.axis);
  if (!reader || v->type->kind != GLOW_KIND_FLOAT || glow_constness_of(s->constness, v))
    return true;
  c.count = v->type->dims[c.axis].size;
  const char *reason = c.count ? find_readers(s, &c) : "it has no channels";
  reason = reason ? reason : find_makers(s, &c);
  reason = reason ? reason : find_range(s, &c);
  if (!reason)
    return rewrite(s, &c);
  glow_pass_remark(s->run, glow_value_loc(v), "'%s' stays as it is: %s",
                   glow_observed_name(s->run->ctx, v), reason);
  return true;
}

bool glow_pass_smooth(GlowPassRun *run) {
  const char *alpha = glow_pass_option(run, "alpha");
  Smooth s = {.run = run,
              .ranges = glow_quantize_read_ranges(run),
              .constness = glow_constness_create(run->arena),
              .alpha = 0.5};
  GlowFunction *f = s.ranges ? glow_quantize_function(run, s.ranges) : NULL;
  if (!f || (alpha && !glow_quantize_read_number(run, "alpha", alpha, 0, 1, &s.alpha)) ||
      !glow_ranges_fit(s.ranges, f, false))
    return false;
  GlowValueList values = glow_observable_values(f, run->arena);
  for (uint32_t i = 0; i < values.count; i++)
    if (!smooth_value(&s, values.data[i]))
      return false;
  return true;
}
