/* Rules for operators that put elements back where windows took them from. They have kernels;
 * -lower=all brings them down to ScatterND:
 *
 *   MaxUnpool  X scattered into zeros, flattened; Pad to OutputShape
 *   Col2Im     rows of X, tap by tap, added to the places that they cover, so that each place sums
 *              its taps in ascending order; taps in the padding go to one more place
 *
 * All extents must be known. */
#include "lower/window.h"
#include "ops/lower.h"

/* ---- MaxUnpool ------------------------------------------------------------------------------- */

/* The indices, which are places among `count` elements, as ScatterND takes them. ScatterND would
 * count negative indices from the end; here they become an index that is out of range. */
static GlowValue *checked(GlowBuilder *b, const GlowNode *n, GlowValue *index, int64_t elements,
                          int64_t count) {
  GlowValue *zero = glow_constant_int(b->module, n, "zero", 0);
  GlowValue *end = glow_constant_int(b->module, n, "end", count);
  index = glow_then3(b, GLOW_OP_WHERE, glow_then2(b, GLOW_OP_LESS, index, zero), end, index);
  return glow_build_shaped(b, n, index, 2, (int64_t[]){elements, 1});
}

/* v with zeros behind it up to the shape of y. */
static GlowValue *enlarged(GlowBuilder *b, const GlowNode *n, GlowValue *v, const int64_t *dims,
                           const GlowType *y) {
  int64_t pads[2 * GLOW_MAX_RANK] = {0};
  bool same = true;
  for (uint32_t a = 0; a < y->rank; a++) {
    pads[y->rank + a] = y->dims[a].size - dims[a];
    same = same && pads[y->rank + a] == 0;
  }
  GlowValue *list = same ? NULL : glow_constant_ints(b->module, n, "pads", pads, 2 * y->rank);
  return same ? v : glow_then2(b, GLOW_OP_PAD, v, list);
}

bool glow_lower_max_unpool(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowMaxUnpoolMembers *m = n->members;
  GlowValue *x = glow_node_in(n, 0);
  const GlowType *t = x->type, *y = n->results[0].type;
  int64_t dims[GLOW_MAX_RANK], count = 1;
  if (!glow_type_is_static(t) || !glow_type_is_static(y))
    return false;
  for (uint32_t a = 0; a < t->rank; a++) {
    dims[a] = t->dims[a].size;
    if (a >= 2)
      dims[a] = (dims[a] - 1) * glow_listed(m->strides, a - 2, 1) +
                glow_listed(m->kernels, a - 2, 1) - glow_listed(m->pads, a - 2, 0) -
                glow_listed(m->pads, t->rank - 2 + a - 2, 0);
    if (dims[a] > y->dims[a].size)
      return false;
    count *= dims[a];
  }
  int64_t elements = glow_type_elements(t);
  GlowScalar nothing = {.is_int = !glow_kind_is_float(t->kind)};
  GlowValue *zeros =
      glow_build_filled(b, glow_type_exact(b->module->ctx, t->kind, 1, &count), nothing);
  GlowValue *v =
      glow_then3(b, GLOW_OP_SCATTER_ND, zeros, checked(b, n, glow_node_in(n, 1), elements, count),
                 glow_build_shaped(b, n, x, 1, &elements));
  v = glow_build_shaped(b, n, v, t->rank, dims);
  results[0] = v ? enlarged(b, n, v, dims, y) : NULL;
  return results[0] != NULL;
}

/* ---- Col2Im ---------------------------------------------------------------------------------- */

/* The sliding window whose taps are the elements of a block. False if extents are not known. */
static bool blocks_of(const GlowNode *n, GlowSlide *s) {
  const GlowCol2ImMembers *m = n->members;
  const GlowType *y = n->results[0].type;
  const GlowTensor *block = glow_value_known(glow_node_in(n, GLOW_COL2_IM_IN_BLOCK_SHAPE));
  if (!glow_type_is_static(y) || !block)
    return false;
  *s = glow_slide_begin(y->rank - 2, m->strides, m->pads, m->dilations);
  for (uint32_t i = 0; i < s->spatial; i++) {
    s->in[i] = y->dims[2 + i].size;
    s->kernel[i] = glow_tensor_get_int(block, i);
    int64_t room = s->in[i] + s->before[i] + glow_listed(m->pads, s->spatial + i, 0);
    room -= (s->kernel[i] - 1) * s->dilation[i] + 1;
    s->out[i] = room < 0 ? 0 : room / s->stride[i] + 1;
  }
  glow_slide_finish(s);
  return true;
}

/* The place of each tap of each block, [taps * blocks, 1]. */
static GlowValue *covered(GlowBuilder *b, const GlowNode *n, const GlowSlide *s) {
  int64_t count = s->taps * s->windows;
  int64_t *at = GLOW_NEW_ARRAY(b->module->arena, int64_t, (size_t)count + 1);
  for (int64_t i = 0; i < count; i++) {
    at[i] = glow_slide_place(s, i % s->windows, i / s->windows, false);
    at[i] = at[i] < 0 ? s->places : at[i];
  }
  GlowValue *list = glow_constant_ints(b->module, n, "places", at, (uint32_t)count);
  return glow_build_shaped(b, n, list, 2, (int64_t[]){count, 1});
}

bool glow_lower_col2_im(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowType *t = glow_node_in(n, 0)->type, *y = n->results[0].type;
  GlowContext *ctx = b->module->ctx;
  GlowKind kind = glow_sum_kind(t->kind);
  int64_t dims[GLOW_MAX_RANK];
  GlowSlide s;
  if (!glow_type_is_static(t) || !blocks_of(n, &s))
    return false;
  int64_t maps = y->dims[0].size * y->dims[1].size, each = s.taps * s.windows;
  if (glow_type_elements(t) != maps * each)
    return false;
  GlowValue *v = glow_then_cast(b, glow_node_in(n, 0), kind);
  v = glow_build_shaped(b, n, v, 2, (int64_t[]){maps, each});
  v = v ? glow_build_permuted(b, v, (uint32_t[]){1, 0}, 2) : NULL;
  const GlowType *wide = glow_type_exact(ctx, kind, 2, (int64_t[]){s.places + 1, maps});
  GlowValue *zeros = glow_build_filled(b, wide, (GlowScalar){.is_int = !glow_kind_is_float(kind)});
  GlowScatterNDMembers members = {.reduction = GLOW_SCATTER_REDUCTION_ADD};
  v = glow_then(b, GLOW_OP_SCATTER_ND, (GlowValue *[]){zeros, covered(b, n, &s), v}, 3, &members);
  v = v ? glow_build_part(b, n, v, 0, 0, s.places, 1) : NULL;
  v = v ? glow_build_permuted(b, v, (uint32_t[]){1, 0}, 2) : NULL;
  for (uint32_t a = 0; a < y->rank; a++)
    dims[a] = y->dims[a].size;
  v = glow_build_shaped(b, n, v, y->rank, dims);
  results[0] = glow_then_cast(b, v, t->kind);
  return results[0] != NULL;
}
