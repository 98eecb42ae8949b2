/* Blocked layouts; see layouts.h. */
#include "analysis/layouts.h"

bool glow_value_has_layout(const GlowValue *v) {
  return v && glow_type_is_tensor(v->type) && v->type->layout;
}

bool glow_node_has_layout(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (!GLOW_HAS(d, PURE) || n->op == GLOW_OP_RELAYOUT || n->nregions || n->block->scalar)
    return false;
  for (uint32_t i = 0; i < n->noperands; i++)
    if (glow_value_has_layout(n->operands[i].value))
      return true;
  for (uint32_t i = 0; i < n->nresults; i++)
    if (glow_value_has_layout(&n->results[i]))
      return true;
  return false;
}

/* How the elements lie in memory: the physical extents from the outermost to the innermost, and the
 * axis of each. Extents of 1 are left out, because they say nothing about places; neighbours of one
 * axis are multiplied. False if a block is not full. */
static bool places(const GlowType *t, int64_t *extents, uint8_t *axes, uint32_t *count) {
  int64_t dims[GLOW_MAX_RANK], physical[GLOW_MAX_RANK + 4];
  for (uint32_t a = 0; a < t->rank; a++)
    dims[a] = t->dims[a].size;
  uint32_t rank = glow_layout_physical(t->layout, t->rank, dims, physical);
  *count = 0;
  for (uint32_t a = 0; a < rank; a++) {
    uint8_t axis = a < t->rank ? (uint8_t)a : t->layout->blocks[a - t->rank].axis;
    if (a >= t->rank && (t->dims[axis].kind != GLOW_DIM_EXACT ||
                         dims[axis] % (int64_t)t->layout->blocks[a - t->rank].size))
      return false;
    if (physical[a] == 1)
      continue;
    if (*count && axes[*count - 1] == axis) {
      extents[*count - 1] *= physical[a];
      continue;
    }
    axes[*count] = axis;
    extents[(*count)++] = physical[a];
  }
  return true;
}

bool glow_layouts_agree(const GlowType *a, const GlowType *b) {
  int64_t x[GLOW_MAX_RANK + 4], y[GLOW_MAX_RANK + 4];
  uint8_t x_axes[GLOW_MAX_RANK + 4], y_axes[GLOW_MAX_RANK + 4];
  uint32_t m, n;
  bool open = !glow_type_is_static(a) || !glow_type_is_static(b);
  if ((open && !glow_type_is_same_shape(a, b)) || !places(a, x, x_axes, &m) ||
      !places(b, y, y_axes, &n) || m != n)
    return false;
  return memcmp(x, y, m * sizeof *x) == 0 && memcmp(x_axes, y_axes, m) == 0;
}
