/* LayerNormalization and RMSNormalization, spelled out over the last axes:
 *
 *   d / Sqrt(ReduceMean(d * d) + e) * s + t   with d = x - ReduceMean(x)
 *   x / Sqrt(ReduceMean(x * x) + e) * s
 *
 * The quotient may be a product with a reciprocal, d * d may be Pow(d, 2), s and t may be absent,
 * the product with s may come first, and all but s and t may be computed in a wider kind between
 * two Casts. tf2onnx writes x * r + (t - ReduceMean(x) * r) with r = s / Sqrt(...).
 *
 * Bounded: the sums are the same; a square and a reciprocal round differently, and so does x * r
 * minus ReduceMean(x) * r: c = 16, where the S of the root is the root itself, since nothing below
 * the root cancels. */
#include "transforms/match.h"

#define SQUARE(x) "{Mul(" x ", " x ") | Pow(" x ", 2)}"
#define VARIANCE(x) "Add(v=ReduceMean(" SQUARE(x) ", _), #e)"
#define ROOT(x) "{Sqrt(" VARIANCE(x) ") | Pow(" VARIANCE(x) ", 0.5)}"
#define INVERSE(x) "{Reciprocal(" ROOT(x) ") | Div(1, " ROOT(x) ") | Pow(" VARIANCE(x) ", -0.5)}"

/* Quotient q of what the square is taken of; the same times s. */
#define BY_ROOT(q, x) "Div(" q ", " ROOT(x) ")"
#define BY_INVERSE(q, x) "Mul(" q ", " INVERSE(x) ")"
#define NORMAL(q, x) "{" BY_ROOT(q, x) " | " BY_INVERSE(q, x) "}"
#define SCALED_LATE(q, x) "Mul({" NORMAL(q, x) " | c=Cast(" NORMAL(q, x) ")}, s)"
#define SCALED_EARLY(q, x) "Mul(" q ", Mul(" INVERSE(x) ", s))"

#define CENTERED "d=Sub(x, m=ReduceMean(x, _))"

/* The first axis that a Reduce node reduces, if it reduces all axes from there to the last; else
 * -1. */
static int64_t first_axis(const GlowNode *n) {
  uint32_t mask, rank = glow_node_in(n, 0)->type->rank;
  if (!glow_reduced_axes(n, &mask) || !mask)
    return -1;
  uint32_t axis = (uint32_t)__builtin_ctz(mask);
  return mask == (((UINT32_C(1) << rank) - 1) & ~((UINT32_C(1) << axis) - 1)) ? (int64_t)axis : -1;
}

/* What both operators are built from. */
typedef struct Norm {
  GlowValue *x;   /* the normalized value, before its Cast if there is one */
  GlowKind stash; /* the kind that computes */
  int64_t axis;
  float epsilon;
} Norm;

static bool read_norm(const GlowMatch *m, Norm *norm) {
  const GlowNode *variance = glow_match_def(m, 'v');
  const GlowValue *narrow = glow_match_value(m, 'c');
  double e = glow_match_number(m, 'e');
  norm->x = glow_match_value(m, 'x');
  norm->stash = norm->x->type->kind;
  norm->axis = first_axis(variance);
  norm->epsilon = (float)e;
  if (norm->axis < 0 || !(e >= 0) || !glow_kind_is_float(norm->stash))
    return false;
  if (norm->stash == GLOW_KIND_DOUBLE && (double)norm->epsilon != e)
    return false;
  if (narrow) {
    const GlowNode *widen = glow_value_def(norm->x, GLOW_OP_CAST);
    if (!widen || glow_node_in(widen, 0)->type->kind != narrow->type->kind)
      return false;
    norm->x = glow_node_in(widen, 0);
  }
  const GlowType *t = norm->x->type;
  return glow_stands_along(glow_match_value(m, 's'), t, norm->axis) &&
         glow_stands_along(glow_match_value(m, 't'), t, norm->axis);
}

static int64_t from_end(const Norm *norm) { return norm->axis - (int64_t)norm->x->type->rank; }

static GlowValue *build_layer_norm(GlowBuilder *b, const GlowMatch *m) {
  Norm norm;
  if (!read_norm(m, &norm) || first_axis(glow_match_def(m, 'm')) != norm.axis)
    return NULL;
  GlowLayerNormalizationMembers members = {
      .axis = from_end(&norm), .epsilon = norm.epsilon, .stash_type = norm.stash};
  GlowValue *ins[] = {norm.x, glow_match_value(m, 's'), glow_match_value(m, 't')};
  GlowNode *n = glow_build(b, GLOW_OP_LAYER_NORMALIZATION, ins, 3, &members, NULL);
  return n ? &n->results[0] : NULL;
}

static GlowValue *build_rms_norm(GlowBuilder *b, const GlowMatch *m) {
  Norm norm;
  if (!read_norm(m, &norm))
    return NULL;
  GlowRMSNormalizationMembers members = {
      .axis = from_end(&norm), .epsilon = norm.epsilon, .stash_type = norm.stash};
  GlowValue *ins[] = {norm.x, glow_match_value(m, 's')};
  GlowNode *n = glow_build(b, GLOW_OP_RMS_NORMALIZATION, ins, 2, &members, NULL);
  return n ? &n->results[0] : NULL;
}

#define FORMULAS(q, x, build)                                                                      \
  {SCALED_LATE(q, x), build}, {SCALED_EARLY(q, x), build}, {BY_ROOT(q, x), build},                 \
      {BY_INVERSE(q, x), build}, {                                                                 \
    "c=Cast(" NORMAL(q, x) ")", build                                                              \
  }

bool glow_pass_recognize_layer_norm(GlowPassRun *run) {
  static const GlowFormula formulas[] = {
      {"Add({" SCALED_LATE(CENTERED, "d") " | " SCALED_EARLY(CENTERED, "d") "}, t)",
       build_layer_norm},
      {"Add(Mul(x, r=Mul(" INVERSE(CENTERED) ", s)), Sub(t, Mul(m, r)))", build_layer_norm},
      FORMULAS(CENTERED, "d", build_layer_norm),
  };
  return glow_recognize(run, "LayerNormalization", formulas, sizeof formulas / sizeof *formulas);
}

bool glow_pass_recognize_rms_norm(GlowPassRun *run) {
  static const GlowFormula formulas[] = {FORMULAS("x", "x", build_rms_norm)};
  return glow_recognize(run, "RMSNormalization", formulas, sizeof formulas / sizeof *formulas);
}
