/* Merges a Pad into the window operator after it. The amounts must be constants, not negative, and
 * on spatial axes; the value must be the one that the operator assumes outside of its input anyway:
 *
 *   +0                    Convolution; AveragePool that counts padding, or has none of its own
 *   `pad`, or any value   Convolution of integers; that has no padding of its own
 *   the smallest value    MaxPool without Argmax (its indices would change)
 *
 * Also merges a Pad into the Pad after it. The first Pad is removed if nothing else uses it. Exact:
 * a tap outside takes part as +0, and a chain of sums that starts at +0 never is -0. */
#include "transforms/pieces.h"
#include "transforms/rules.h"

#include <math.h>

/* What the pass needs to know about a window operator. */
typedef struct Window {
  int layout;
  GlowArray *pads;          /* begins, then ends, of the spatial axes; empty: zeros */
  const GlowArray *kernels; /* NULL: Convolution */
} Window;

static bool is_smallest(const GlowType *t, GlowScalar v) {
  if (glow_kind_is_float(t->kind))
    return isinf(v.f) && v.f < 0;
  uint32_t bits = glow_kind_info[t->kind].bits;
  if (glow_kind_info[t->kind].cls == GLOW_CLASS_UINT)
    return v.is_int && v.i == 0;
  return v.is_int && bits <= 64 && v.i == -1 - (int64_t)((UINT64_C(1) << (bits - 1)) - 1);
}

static bool is_plus_zero(GlowScalar v) { return v.is_int ? v.i == 0 : v.f == 0 && !signbit(v.f); }

static bool has_pads(GlowArray pads) {
  for (uint32_t i = 0; i < pads.count; i++)
    if (glow_array_at(pads, uint32_t, i) != 0)
      return true;
  return false;
}

/* Whether taps of a Convolution outside of X can read `fill`. */
static bool can_pad(const GlowNode *n, const GlowConvolutionMembers *m, GlowScalar fill) {
  const GlowType *x = glow_node_in(n, GLOW_CONVOLUTION_IN_X)->type;
  if (!glow_kind_is_integer(x->kind))
    return is_plus_zero(fill);
  return fill.is_int && !x->quantized && (fill.i == m->pad || !has_pads(m->pads));
}

/* The operator that the pass may merge into, or false. `pad` fills with `fill`. */
static bool find_window(GlowNode *n, const GlowNode *pad, GlowScalar fill, Window *w) {
  if (n->op == GLOW_OP_CONVOLUTION) {
    GlowConvolutionMembers *m = n->members;
    *w = (Window){m->layout, &m->pads, NULL};
    return can_pad(n, m, fill);
  }
  if (n->op == GLOW_OP_AVERAGE_POOL && is_plus_zero(fill)) {
    GlowAveragePoolMembers *m = n->members;
    *w = (Window){m->layout, &m->pads, &m->kernels};
    return !m->ceil && (m->count_include_pad || !has_pads(m->pads));
  }
  if (n->op == GLOW_OP_MAX_POOL && is_smallest(pad->results[0].type, fill)) {
    GlowMaxPoolMembers *m = n->members;
    *w = (Window){m->layout, &m->pads, &m->kernels};
    return n->nresults == 1;
  }
  return false;
}

/* The window's padding with that of the Pad added. False if it would not be legal. */
static bool sum_pads(const Window *w, uint32_t rank, const int64_t *amounts, uint32_t *sums) {
  uint32_t spatial = rank - 2, first = w->layout == GLOW_LAYOUT_NHWC ? 1 : 2;
  for (uint32_t axis = 0; axis < rank; axis++) {
    bool is_spatial = axis >= first && axis < first + spatial;
    if (!is_spatial && (amounts[axis] || amounts[rank + axis]))
      return false;
  }
  for (uint32_t i = 0; i < 2 * spatial; i++) {
    uint32_t k = i % spatial;
    int64_t sum = amounts[(i < spatial ? 0 : rank) + first + k];
    if (sum < 0)
      return false;
    sum += w->pads->count ? glow_array_at(*w->pads, uint32_t, i) : 0;
    if (sum > INT32_MAX || (w->kernels && sum >= glow_array_at(*w->kernels, uint32_t, k)))
      return false;
    sums[i] = (uint32_t)sum;
  }
  return true;
}

/* Pad(Pad(x)) with the same fill -> Pad(x), if neither crops. */
static bool merge_pads(GlowPassRun *run, GlowNode *n) {
  const GlowNode *inner = glow_value_def(glow_node_in(n, GLOW_PAD_IN_X), GLOW_OP_PAD);
  int64_t amounts[2 * GLOW_MAX_RANK], more[2 * GLOW_MAX_RANK];
  GlowScalar fill = {.f = 0}, other = {.f = 0};
  if (!inner || inner->pred.value != n->pred.value)
    return false;
  GlowValue *x = glow_node_in(inner, GLOW_PAD_IN_X), *v = glow_node_in(n, GLOW_PAD_IN_VALUE),
            *w = glow_node_in(inner, GLOW_PAD_IN_VALUE);
  uint32_t rank = x->type->rank;
  if (((const GlowPadMembers *)n->members)->mode != GLOW_PAD_MODE_CONSTANT ||
      ((const GlowPadMembers *)inner->members)->mode != GLOW_PAD_MODE_CONSTANT ||
      x->type->unranked || (v && !glow_value_splat(v, &fill)) ||
      (w && !glow_value_splat(w, &other)) || fill.f != other.f ||
      signbit(fill.f) != signbit(other.f) || fill.i != other.i ||
      !glow_pad_amounts(n, rank, amounts) || !glow_pad_amounts(inner, rank, more))
    return false;
  for (uint32_t i = 0; i < 2 * rank; i++)
    if (amounts[i] < 0 || more[i] < 0 || __builtin_add_overflow(amounts[i], more[i], &amounts[i]))
      return false;
  GlowBuilder b = glow_builder_before(n);
  GlowValue *ins[] = {x, glow_constant_ints(run->module, n, "pads", amounts, 2 * rank), v ? v : w};
  GlowNode *both = glow_build(&b, GLOW_OP_PAD, ins, 3, NULL, NULL);
  if (both)
    glow_replace_by(run, n, &both->results[0], "merged two Pads");
  return both != NULL;
}

static bool merge(GlowNode *n, void *arg) {
  GlowPassRun *run = arg;
  if (n->op == GLOW_OP_PAD) {
    merge_pads(run, n);
    return true;
  }
  GlowNode *pad = n->noperands ? glow_value_def(glow_node_in(n, 0), GLOW_OP_PAD) : NULL;
  if (!pad || pad->pred.value != n->pred.value)
    return true;
  GlowValue *x = glow_node_in(pad, GLOW_PAD_IN_X),
            *fill_value = glow_node_in(pad, GLOW_PAD_IN_VALUE);
  GlowScalar fill = {.is_int = glow_kind_is_integer(pad->results[0].type->kind)};
  int64_t amounts[2 * GLOW_MAX_RANK];
  uint32_t sums[2 * GLOW_MAX_RANK], rank = x->type->rank;
  Window w;
  if (((const GlowPadMembers *)pad->members)->mode != GLOW_PAD_MODE_CONSTANT ||
      (fill_value && !glow_value_splat(fill_value, &fill)) || !find_window(n, pad, fill, &w) ||
      x->type->unranked || rank < 3 || !glow_pad_amounts(pad, rank, amounts) ||
      !sum_pads(&w, rank, amounts, sums))
    return true;
  glow_pass_changed(run, n, "merged Pad '%%%s' into %s", pad->results[0].name,
                    glow_node_desc(n)->node);
  *w.pads = glow_array_u32(run->module, sums, 2 * (rank - 2));
  if (n->op == GLOW_OP_CONVOLUTION && fill.is_int)
    ((GlowConvolutionMembers *)n->members)->pad = fill.i;
  if (n->op == GLOW_OP_AVERAGE_POOL)
    ((GlowAveragePoolMembers *)n->members)->count_include_pad = true;
  glow_use_set(&n->operands[0], x);
  glow_remove_dead(pad);
  return true;
}

bool glow_pass_merge_pad(GlowPassRun *run) {
  return glow_block_walk(run->function->body, merge, run);
}
