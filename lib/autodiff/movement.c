/* Gradient rules of operators that move whole slices:
 *
 *   Concat, Split  Slices of dY; a Concat
 *   Slice          dY between zeros; with a step, zeros between its elements, too
 *   Pad            Pad of dY by the negative amounts; of other modes than constant, elements are
 *                  added where they came from
 *   Tile           sums over what was repeated */
#include "autodiff/parts.h"

/* ---- Concat and Split ------------------------------------------------------------------------ */

bool glow_grad_concat(GlowGrad *g) {
  const GlowConcatMembers *m = g->n->members;
  int64_t at = 0;
  if (g->dy[0]->type->unranked)
    return false;
  uint32_t axis = glow_grad_axis(m->axis, g->dy[0]->type);
  for (uint32_t i = 0; i < glow_node_nins(g->n); i++) {
    const GlowType *t = glow_grad_in(g, i)->type;
    if (t->unranked || t->dims[axis].kind != GLOW_DIM_EXACT)
      return false;
    int64_t size = t->dims[axis].size;
    if (g->wanted[i] &&
        !glow_grad_put(g, i, glow_build_part(g->b, g->n, g->dy[0], axis, at, at + size, 1)))
      return false;
    at += size;
  }
  return true;
}

bool glow_grad_split(GlowGrad *g) {
  const GlowSplitMembers *m = g->n->members;
  uint32_t count = g->n->nresults;
  GlowValue **parts = GLOW_NEW_ARRAY(g->b->module->arena, GlowValue *, count);
  for (uint32_t i = 0; i < count; i++)
    parts[i] = g->dy[i] ? g->dy[i] : glow_grad_filled(g->b, glow_node_out(g->n, i), 0);
  return glow_grad_put(g, 0, glow_build_concat(g->b, parts, count, m->axis));
}

/* ---- Slice ----------------------------------------------------------------------------------- */

/* v with step - 1 zeros behind each element along an axis. */
static GlowValue *dilated(const GlowGrad *g, GlowValue *v, uint32_t axis, int64_t step) {
  int64_t dims[GLOW_MAX_RANK], before = 1, rest = 1;
  uint32_t rank = v->type->rank;
  for (uint32_t i = 0; i < rank; i++) {
    dims[i] = v->type->dims[i].size;
    *(i < axis ? &before : &rest) *= dims[i];
  }
  rest = dims[axis] ? rest / dims[axis] : 0;
  v = glow_build_shaped(g->b, g->n, v, 4, (int64_t[]){before, dims[axis], 1, rest});
  v = glow_build_padded(g->b, g->n, v, 2, 0, step - 1);
  dims[axis] *= step;
  return glow_build_shaped(g->b, g->n, v, rank, dims);
}

/* Zeros of extent `size` along an axis, but for the elements of v at start, start + step, ... */
static GlowValue *laid_out(const GlowGrad *g, GlowValue *v, uint32_t axis, int64_t size,
                           int64_t start, int64_t step) {
  int64_t count = v->type->dims[axis].size;
  if (count <= 1) {
    start = count ? start : 0;
    step = 1;
  }
  if (step < 0) {
    v = glow_build_part(g->b, g->n, v, axis, -1, INT64_MIN, -1);
    start += (count - 1) * step;
    step = -step;
  }
  if (step > 1)
    v = v ? dilated(g, v, axis, step) : NULL;
  count *= step;
  return glow_build_padded(g->b, g->n, v, axis, start, size - start - count);
}

/* Entry i of a list that is an operand; `initial` if there is no such operand. */
static int64_t entry(const GlowGrad *g, uint32_t port, uint32_t i, int64_t initial) {
  GlowValue *list = glow_grad_in(g, port);
  return list ? glow_tensor_get_int(glow_value_known(list), i) : initial;
}

/* Whether the extents of X and Y and all lists are known. */
static bool is_known_slice(const GlowGrad *g) {
  bool known = glow_type_is_static(glow_grad_in(g, 0)->type) && glow_type_is_static(g->dy[0]->type);
  for (uint32_t i = GLOW_SLICE_IN_STARTS; i < glow_node_nins(g->n); i++)
    known = known && (!glow_grad_in(g, i) || glow_value_known(glow_grad_in(g, i)));
  return known;
}

bool glow_grad_slice(GlowGrad *g) {
  const GlowType *x = glow_grad_in(g, 0)->type;
  GlowValue *v = g->dy[0];
  if (!is_known_slice(g))
    return glow_grad_put(g, 0, glow_grad_moved_back(g));
  int64_t count = glow_tensor_elements(glow_value_known(glow_grad_in(g, GLOW_SLICE_IN_STARTS)));
  for (uint32_t i = 0; v && i < count; i++) {
    uint32_t axis = glow_grad_axis(entry(g, GLOW_SLICE_IN_AXES, i, i), x);
    int64_t start = entry(g, GLOW_SLICE_IN_STARTS, i, 0), size = x->dims[axis].size;
    int64_t step = entry(g, GLOW_SLICE_IN_STEPS, i, 1), last = step > 0 ? size : size - 1;
    start += start < 0 ? size : 0;
    start = start < 0 ? 0 : start > last ? last : start;
    v = laid_out(g, v, axis, size, start, step);
  }
  return glow_grad_put(g, 0, v);
}

/* ---- Pad ------------------------------------------------------------------------------------- */

/* What was padded has the value of Value: its derivative is the rest of dY's sum. */
static GlowValue *outside(const GlowGrad *g, GlowValue *inside) {
  GlowReduceSumMembers all = {.keep = false};
  GlowValue *sum = glow_then1(g->b, GLOW_OP_REDUCE_SUM, g->dy[0], &all);
  GlowValue *part = glow_then1(g->b, GLOW_OP_REDUCE_SUM, inside, &all);
  sum = glow_then2(g->b, GLOW_OP_SUB, sum, part);
  return glow_grad_shaped(g, sum, glow_grad_in(g, GLOW_PAD_IN_VALUE)->type);
}

/* The amounts of Pads, negative: numbers where they are known, so that extents are. */
static GlowValue *taken_back(const GlowGrad *g) {
  GlowValue *pads = glow_grad_in(g, GLOW_PAD_IN_PADS);
  const GlowTensor *known = glow_value_known(pads);
  int64_t amounts[2 * GLOW_MAX_RANK], count = known ? glow_tensor_elements(known) : 0;
  if (!known || count > 2 * GLOW_MAX_RANK)
    return glow_then1(g->b, GLOW_OP_NEG, pads, NULL);
  for (int64_t i = 0; i < count; i++)
    amounts[i] = -glow_tensor_get_int(known, i);
  return glow_constant_ints(g->b->module, g->n, "pads", amounts, (uint32_t)count);
}

bool glow_grad_pad(GlowGrad *g) {
  const GlowPadMembers *m = g->n->members;
  if (m->mode != GLOW_PAD_MODE_CONSTANT)
    return !g->wanted[0] || glow_grad_put(g, 0, glow_grad_moved_back(g));
  GlowValue *back = taken_back(g),
            *ins[] = {g->dy[0], back, NULL, glow_grad_in(g, GLOW_PAD_IN_AXES)};
  GlowNode *pad = back ? glow_build(g->b, GLOW_OP_PAD, ins, 4, m, NULL) : NULL;
  GlowValue *inside = pad ? &pad->results[0] : NULL;
  return (!g->wanted[0] || glow_grad_put(g, 0, inside)) &&
         (glow_node_nins(g->n) <= GLOW_PAD_IN_VALUE || !g->wanted[GLOW_PAD_IN_VALUE] ||
          glow_grad_put(g, GLOW_PAD_IN_VALUE, outside(g, inside)));
}

/* ---- Tile ------------------------------------------------------------------------------------ */

bool glow_grad_tile(GlowGrad *g) {
  const GlowType *x = glow_grad_in(g, 0)->type, *y = g->dy[0]->type;
  int64_t dims[GLOW_MAX_RANK];
  GlowValue *v = g->dy[0];
  if (!glow_type_is_static(x) || !glow_type_is_static(y))
    return false;
  for (uint32_t i = 0; i < x->rank; i++)
    dims[i] = y->dims[i].size;
  for (uint32_t i = 0; v && i < x->rank; i++) {
    int64_t size = x->dims[i].size, before = 1, rest = 1;
    if (size == dims[i] || size == 0)
      continue;
    for (uint32_t k = 0; k < x->rank; k++)
      *(k < i ? &before : &rest) *= k == i ? size : dims[k];
    v = glow_build_shaped(g->b, g->n, v, 3, (int64_t[]){before, dims[i] / size, rest});
    v = glow_grad_summed(g, v, (int64_t[]){1}, 1);
    dims[i] = size;
    v = glow_build_shaped(g->b, g->n, v, x->rank, dims);
  }
  if (v && glow_type_elements(x) == 0)
    v = glow_grad_zeros(g, 0);
  return glow_grad_put(g, 0, v);
}
