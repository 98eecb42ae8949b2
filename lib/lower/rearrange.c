/* DepthToSpace and SpaceToDepth are Reshape to six axes, Transpose, Reshape; CenterCropPad is Pad,
 * which crops where Pads are negative. */
#include "lower/lower.h"
#include "ops/lower.h"

/* ---- Blocks of channels ---------------------------------------------------------------------- */

/* Reshape to `dims`, Transpose by `perm`, then Reshape to the type of n's result. */
static bool through_six_axes(GlowBuilder *b, const GlowNode *n, const GlowDim *dims,
                             const uint32_t *perm, GlowValue **results) {
  const GlowType *t = n->results[0].type;
  GlowTransposeMembers members = {.perm = glow_array_u32(b->module, perm, 6)};
  GlowValue *v = glow_build_reshape(b, n, glow_node_in(n, 0), 6, dims);
  v = v ? glow_build1(b, GLOW_OP_TRANSPOSE, v, &members, NULL) : NULL;
  results[0] = v ? glow_build_reshape(b, n, v, t->rank, t->dims) : NULL;
  return results[0] != NULL;
}

bool glow_lower_depth_to_space(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowDepthToSpaceMembers *m = n->members;
  const GlowType *x = glow_node_in(n, 0)->type, *y = n->results[0].type;
  if (x->unranked || x->rank != 4 || y->unranked)
    return false;
  GlowDim side = GLOW_EXACT(m->blocksize), c = y->dims[1], h = x->dims[2], w = x->dims[3];
  if (m->mode == GLOW_DEPTH_MODE_DCR)
    return through_six_axes(b, n, (GlowDim[]){x->dims[0], side, side, c, h, w},
                            (uint32_t[]){0, 3, 4, 1, 5, 2}, results);
  return through_six_axes(b, n, (GlowDim[]){x->dims[0], c, side, side, h, w},
                          (uint32_t[]){0, 1, 4, 2, 5, 3}, results);
}

bool glow_lower_space_to_depth(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowSpaceToDepthMembers *m = n->members;
  const GlowType *x = glow_node_in(n, 0)->type, *y = n->results[0].type;
  if (x->unranked || x->rank != 4 || y->unranked)
    return false;
  GlowDim side = GLOW_EXACT(m->blocksize), c = x->dims[1], h = y->dims[2], w = y->dims[3];
  const uint32_t *perm = m->mode == GLOW_DEPTH_MODE_DCR ? (uint32_t[]){0, 3, 5, 1, 2, 4}
                                                        : (uint32_t[]){0, 1, 3, 5, 2, 4};
  return through_six_axes(b, n, (GlowDim[]){x->dims[0], c, h, side, w, side}, perm, results);
}

/* ---- CenterCropPad --------------------------------------------------------------------------- */

bool glow_lower_center_crop_pad(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowType *x = glow_node_in(n, 0)->type, *y = n->results[0].type;
  int64_t pads[2 * GLOW_MAX_RANK];
  if (x->unranked || y->unranked || y->rank != x->rank)
    return false;
  for (uint32_t i = 0; i < x->rank; i++) {
    GlowDim from = x->dims[i], to = y->dims[i];
    bool kept = from.kind == to.kind && from.size == to.size && from.symbol == to.symbol;
    if (!kept && (from.kind != GLOW_DIM_EXACT || to.kind != GLOW_DIM_EXACT))
      return false;
    int64_t added = kept ? 0 : to.size - from.size;
    pads[i] = added / 2;
    pads[x->rank + i] = added - added / 2;
  }
  GlowPadMembers members = {.mode = GLOW_PAD_MODE_CONSTANT};
  GlowValue *list = glow_constant_ints(b->module, n, "pads", pads, 2 * x->rank);
  results[0] = glow_build2(b, GLOW_OP_PAD, glow_node_in(n, 0), list, &members, NULL);
  return results[0] != NULL;
}
