/* Products by weights of a few bits, whose words, scales and zero points are packed in panels, or
 * plain. */
#include "cpu/work.h"

/* Elements from row to row and from panel to panel of a matrix of the weights. */
static bool read_panels(GlowSelect *s, const GlowValue *v, GlowPlace *place, int64_t *row,
                        int64_t *panel) {
  GlowView view;
  int64_t blocks[GLOW_LAYOUT_BLOCKS] = {0};
  if (!glow_select_view(s, v, &view))
    return false;
  int64_t rows = v->type->dims[0].size, columns = v->type->dims[1].size;
  bool packed = v->type->layout &&
                glow_kernel_takes(glow_find_few_bits(), "w", s->isa, v->type->layout, blocks) &&
                blocks[0] >= rows;
  if (!glow_view_is_dense(&view) || (!packed && v->type->layout) ||
      (!packed && columns % GLOW_FEW_BITS_PANEL))
    return glow_select_fail(s, "its weights are no whole panels");
  *place = view.place;
  *row = packed ? GLOW_FEW_BITS_PANEL : columns;
  *panel = packed ? blocks[0] * GLOW_FEW_BITS_PANEL : GLOW_FEW_BITS_PANEL;
  return true;
}

bool glow_select_mat_mul_nbits(GlowSelect *s, const GlowNode *n) {
  const GlowMatMulNBitsMembers *m = n->members;
  const GlowValue *zero = glow_node_in(n, GLOW_MAT_MUL_NBITS_IN_ZERO);
  GlowFewBitsParams p = {.bits = m->bits, .places = 16 / m->bits, .block = m->block};
  GlowFewBitsPlaces at = {.zero = glow_place_absent()};
  GlowView a, c;
  int64_t z_row, z_panel;
  if (!glow_select_dense(s, glow_node_in(n, GLOW_MAT_MUL_NBITS_IN_A), &a) ||
      !glow_select_dense(s, glow_node_out(n, 0), &c) ||
      !read_panels(s, glow_node_in(n, GLOW_MAT_MUL_NBITS_IN_W), &at.w, &p.w_row, &p.w_panel) ||
      !read_panels(s, glow_node_in(n, GLOW_MAT_MUL_NBITS_IN_SCALE), &at.scale, &p.s_row,
                   &p.s_panel))
    return false;
  if (zero && (!read_panels(s, zero, &at.zero, &z_row, &z_panel) || z_row != p.s_row ||
               z_panel != p.s_panel))
    return glow_select_fail(s, "its zero points are not packed as its scales");
  at.a = a.place;
  at.c = c.place;
  p.m = glow_view_extent(&c, 0, c.rank - 1);
  p.n = c.dims[c.rank - 1];
  p.k = a.dims[a.rank - 1];
  if (p.m && p.n)
    glow_work_few_bits(s, n, &p, &at,
                       &(GlowWorkSpec){.units = glow_div_up(p.n, GLOW_FEW_BITS_PANEL)});
  return true;
}
