/* Products of few rows by packed weights of 16 bits; the epilogue is a loop behind them. */
#include "backend/cpu/conv.h"
#include "cpu/work.h"

/* Elements from row to row of a view of m rows. False, with s->why, if rows are not contiguous or
 * not evenly apart. */
static bool read_rows(GlowSelect *s, const GlowView *v, int64_t m, int64_t *apart) {
  uint32_t last = v->rank - 1;
  bool matrix = last > 0 && m == v->dims[last - 1];
  *apart = matrix ? v->strides[last - 1] : v->dims[last];
  return (!v->type->layout && v->type->kind == GLOW_KIND_FLOAT &&
          (matrix ? v->strides[last] == 1 : glow_view_is_dense(v))) ||
         glow_select_fail(s, "with a B of 16 bits its rows must be plain and contiguous");
}

bool glow_select_stored_product(GlowSelect *s, const GlowNode *n) {
  GlowView a, b, c;
  int64_t blocks[GLOW_LAYOUT_BLOCKS];
  GlowMatmulStoredParams p = {0};
  if (!glow_select_view(s, glow_node_in(n, GLOW_MAT_MUL_IN_A), &a) ||
      !glow_select_view(s, glow_node_in(n, GLOW_MAT_MUL_IN_B), &b) ||
      !glow_select_view(s, glow_node_out(n, 0), &c))
    return false;
  if (!b.type->layout ||
      !glow_kernel_takes(glow_find_matmul_stored(), "b", s->isa, b.type->layout, blocks) ||
      !glow_view_is_dense(&b) || !glow_conv_element(b.type, &p.element))
    return glow_select_fail(s, "its B of 16 bits is not packed");
  p.chunk = blocks[0];
  p.k = a.dims[a.rank - 1];
  p.n = b.type->dims[1].size;
  p.m = glow_view_extent(&c, 0, c.rank - 1);
  if (!p.m || !p.n)
    return true;
  if (!read_rows(s, &a, p.m, &p.am) || !read_rows(s, &c, p.m, &p.cm))
    return false;
  const int64_t panels = glow_div_up(p.n, s->isa->vl * s->isa->tile_vectors);
  glow_work_matmul_stored(s, n, &p,
                          &(GlowMatmulStoredPlaces){.c = c.place, .a = a.place, .b = b.place},
                          &(GlowWorkSpec){.units = panels});
  return glow_select_epilogue(s, n);
}
