/* Nodes that change nothing.
 *
 *   Slice with positive steps, Expand, Tile to the same shape       -> x
 *   Pad by nothing                                                  -> x
 *   Resize by scales of 1, or to the same sizes                     -> x
 *   MaxPool by windows of one element with stride 1                 -> x
 *   ReduceSum, Mean, Max, Min, Prod over axes of extent 1, or none  -> x, or Reshape(x)
 *   Concat of one operand                                           -> x
 *
 * Exact: a reduction's first element starts its chain, nothing is added to it, and a mean divides
 * by 1. AveragePool is not here: its chain starts at +0, which turns -0 into +0. */
#include "transforms/rules.h"

static GlowValue *if_same_type(const GlowNode *n) {
  GlowValue *x = glow_node_in(n, 0);
  return x->type == n->results[0].type && glow_type_is_known(x->type) ? x : NULL;
}

static GlowValue *same_shape(GlowPassRun *run, GlowNode *n) {
  (void)run;
  return if_same_type(n);
}

static GlowValue *whole_slice(GlowPassRun *run, GlowNode *n) {
  uint32_t count;
  const int64_t *steps = glow_known_ints(run, n, GLOW_SLICE_IN_STEPS, &count);
  if (glow_node_in(n, GLOW_SLICE_IN_STEPS) && !steps)
    return NULL;
  for (uint32_t i = 0; i < count; i++)
    if (steps[i] <= 0)
      return NULL;
  return if_same_type(n);
}

static GlowValue *empty_pad(GlowPassRun *run, GlowNode *n) {
  uint32_t count;
  const int64_t *pads = glow_known_ints(run, n, GLOW_PAD_IN_PADS, &count);
  if (!pads)
    return NULL;
  for (uint32_t i = 0; i < count; i++)
    if (pads[i])
      return NULL;
  return if_same_type(n);
}

/* An equal shape does not prove that a Resize changes nothing: a crop reads what Roi says, and an
 * aspect ratio that is kept, or a scale that is not 1, may scale an axis whose extent stays. */
static GlowValue *resize_nothing(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowResizeMembers *m = n->members;
  const GlowValue *scales = glow_node_in(n, GLOW_RESIZE_IN_SCALES);
  bool by_scales =
      scales && !(glow_type_is_static(scales->type) && glow_type_elements(scales->type) == 0);
  if (m->coordinate_transformation_mode == GLOW_COORDINATES_TF_CROP_AND_RESIZE ||
      (by_scales ? !glow_value_is_all(scales, 1.0)
                 : m->keep_aspect_ratio_policy != GLOW_ASPECT_POLICY_STRETCH))
    return NULL;
  return if_same_type(n);
}

static bool all_are(GlowArray a, uint32_t want) {
  for (uint32_t i = 0; i < a.count; i++)
    if (glow_array_at(a, uint32_t, i) != want)
      return false;
  return true;
}

static GlowValue *pool_one(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowMaxPoolMembers *m = n->members;
  bool one = all_are(m->kernels, 1) && all_are(m->strides, 1) && all_are(m->pads, 0);
  return one && !n->results[0].type->quantized ? if_same_type(n) : NULL;
}

static GlowValue *concat_one(GlowPassRun *run, GlowNode *n) {
  (void)run;
  return n->noperands == 1 ? glow_node_in(n, 0) : NULL;
}

/* As many elements as before: all reduced axes have extent 1. */
static GlowValue *reduce_nothing(GlowPassRun *run, GlowNode *n) {
  (void)run;
  GlowValue *x = glow_node_in(n, 0);
  const GlowType *t = n->results[0].type;
  if (!glow_type_same_elements(x->type, t) || x->type->layout || t->layout ||
      glow_type_elements(t) == 0)
    return NULL;
  if (x->type == t)
    return x;
  GlowBuilder b = glow_builder_before(n);
  return glow_build_reshape(&b, n, x, t->rank, t->dims);
}

static const GlowRule rules[] = {
    {GLOW_OP_SLICE, whole_slice, "dropped a Slice of everything"},
    {GLOW_OP_EXPAND, same_shape, "dropped an Expand to the same shape"},
    {GLOW_OP_TILE, same_shape, "dropped a Tile to the same shape"},
    {GLOW_OP_PAD, empty_pad, "dropped a Pad by nothing"},
    {GLOW_OP_RESIZE, resize_nothing, "dropped a Resize to the same size"},
    {GLOW_OP_MAX_POOL, pool_one, "dropped a MaxPool over one element"},
    {GLOW_OP_CONCAT, concat_one, "dropped a Concat of one operand"},
    {GLOW_OP_REDUCE_SUM, reduce_nothing, "dropped a reduction over one element"},
    {GLOW_OP_REDUCE_MEAN, reduce_nothing, "dropped a reduction over one element"},
    {GLOW_OP_REDUCE_MAX, reduce_nothing, "dropped a reduction over one element"},
    {GLOW_OP_REDUCE_MIN, reduce_nothing, "dropped a reduction over one element"},
    {GLOW_OP_REDUCE_PROD, reduce_nothing, "dropped a reduction over one element"},
};

bool glow_pass_eliminate_noop(GlowPassRun *run) {
  return glow_rules_run(run, rules, sizeof rules / sizeof *rules);
}
