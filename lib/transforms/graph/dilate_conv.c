/* A convolution on blocks of space that were moved into the batch becomes one with dilations:
 *
 *   Transpose -> SpaceToDepth -> Transpose -> Convolution -> Transpose -> DepthToSpace -> Transpose
 *     becomes   Convolution {dilations = blocksize}
 *
 * TensorFlow has no dilations in NCHW, and exports them so. The Transposes exchange batch and
 * channels, so that blocks move to the batch. The convolution has stride 1; its padding and
 * dilations are multiplied by the block's size. Exact: each output keeps its chain. */
#include "transforms/match.h"

/* Whether a Transpose of rank 4 exchanges the first two axes alone. */
static bool swaps_batch(const GlowNode *n) {
  static const uint32_t want[] = {1, 0, 2, 3};
  const GlowTransposeMembers *m = n->members;
  return m->perm.count == 4 && memcmp(m->perm.data, want, sizeof want) == 0;
}

/* `count` entries, each times `block`; an empty list counts as `initial` for each entry. */
static GlowArray scale(GlowModule *m, GlowArray a, uint32_t count, uint32_t initial,
                       uint32_t block) {
  uint32_t values[8];
  for (uint32_t i = 0; i < count; i++)
    values[i] = (a.count ? glow_array_at(a, uint32_t, i) : initial) * block;
  return glow_array_u32(m, values, count);
}

static GlowValue *build(GlowBuilder *b, const GlowMatch *m) {
  const GlowNode *conv = glow_match_def(m, 'c');
  const GlowSpaceToDepthMembers *in = glow_match_def(m, 's')->members;
  const GlowDepthToSpaceMembers *out = glow_match_def(m, 'd')->members;
  GlowConvolutionMembers members = *(const GlowConvolutionMembers *)conv->members;
  bool swap = swaps_batch(m->root);
  for (const char *t = "pqr"; *t; t++)
    swap &= swaps_batch(glow_match_def(m, *t));
  if (!swap || in->blocksize != out->blocksize || in->mode != out->mode ||
      members.layout != GLOW_LAYOUT_NCHW || members.strategy != GLOW_CONV_STRATEGY_DIRECT)
    return NULL;
  for (uint32_t i = 0; i < members.strides.count; i++)
    if (glow_array_at(members.strides, uint32_t, i) != 1)
      return NULL;
  for (uint32_t i = 0; i < members.pads.count + members.dilations.count; i++) {
    bool pad = i < members.pads.count;
    uint32_t v = pad ? glow_array_at(members.pads, uint32_t, i)
                     : glow_array_at(members.dilations, uint32_t, i - members.pads.count);
    if (v > INT32_MAX / in->blocksize)
      return NULL;
  }
  members.pads = scale(b->module, members.pads, 4, 0, in->blocksize);
  members.dilations = scale(b->module, members.dilations, 2, 1, in->blocksize);
  GlowValue *ins[] = {glow_match_value(m, 'x'), glow_match_value(m, 'w'),
                      glow_node_in(conv, GLOW_CONVOLUTION_IN_B)};
  GlowNode *n = glow_build(b, GLOW_OP_CONVOLUTION, ins, 3, &members, NULL);
  return n ? &n->results[0] : NULL;
}

#define FROM "p=Transpose(s=SpaceToDepth(q=Transpose(x)))"

bool glow_pass_dilate_conv(GlowPassRun *run) {
  static const GlowFormula formulas[] = {
      {"Transpose(d=DepthToSpace(r=Transpose(c=Convolution(" FROM ", w))))", build},
      {"Transpose(d=DepthToSpace(r=Transpose(c=Convolution(" FROM ", w, _))))", build},
  };
  return glow_recognize(run, "Convolution", formulas, 2);
}
