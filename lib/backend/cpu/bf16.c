/* Convolutions and products with strategy = bf16, whose filters are packed as bfloat16. */
#include "backend/cpu/conv.h"
#include "cpu/work.h"
#include "ir/remarks.h"

/* The bias, if there is one, and the kernel; then the epilogue, a loop behind it. */
static bool append(GlowSelect *s, const GlowNode *n, GlowBf16Params *p, GlowBf16Places *at) {
  GlowSetup setup = {0};
  if (!s->cpu.squares)
    glow_codegen_remark(n, "'%s' multiplies bfloat16 by arithmetic on floats: %s has no "
                           "instruction for that",
                        glow_node_desc(n)->instr, s->isa->name);
  glow_setup_bf16(&s->cpu, p, &setup);
  glow_work_bf16(s, n, p, &setup, at);
  return glow_select_epilogue(s, n);
}

/* Pairs of channels of a tap, or of rows of B, as the layout says. */
static bool read_pairs(GlowSelect *s, const GlowView *w, int64_t channels, GlowBf16Params *p) {
  int64_t blocks[GLOW_LAYOUT_BLOCKS] = {0};
  p->tap = (channels + 1) / 2;
  if (w->type->kind != GLOW_KIND_BFLOAT16 || !w->type->layout || !glow_view_is_dense(w) ||
      !glow_kernel_takes(glow_find_bf16(), "w", s->isa, w->type->layout, blocks) ||
      blocks[0] != p->tap)
    return glow_select_fail(s, "with strategy = bf16 only a packed filter of bfloat16 has a kernel");
  return true;
}

bool glow_select_bf16_conv(GlowSelect *s, const GlowNode *n, const GlowConvView *c) {
  GlowBf16Params p = {.g = c->g, .images = c->y.dims[0], .x_block = 1, .whole = 1};
  GlowBf16Places at = {.y = c->y.place, .x = c->x.place, .w = c->w.place};
  at.bias = c->has_bias ? c->b.place : glow_place_absent();
  if (!glow_select_layout(s, glow_find_bf16(), "y", &c->y, NULL) ||
      !read_pairs(s, &c->w, c->ic, &p))
    return false;
  if (c->x.type->layout) {
    if (!glow_select_layout(s, glow_find_bf16(), "x", &c->x, NULL))
      return false;
    p.x_block = GLOW_CONV_BLOCK;
  }
  if (c->y.strides[4] != 1 || (c->x.type->layout && c->x.strides[4] != 1))
    return glow_select_fail(s, "the channels of a block are not contiguous");
  return append(s, n, &p, &at);
}

/* Rows of all axes but the last as one axis. */
static bool read_rows(const GlowView *v, int64_t *rows, int64_t *stride) {
  *rows = 1;
  *stride = v->rank > 1 ? v->strides[v->rank - 2] : 0;
  for (uint32_t a = v->rank - 1; a-- > 0; *rows *= v->dims[a])
    if (v->dims[a] != 1 && v->strides[a] != *stride * *rows)
      return false;
  return v->strides[v->rank - 1] == 1 || v->dims[v->rank - 1] == 1;
}

bool glow_select_bf16_product(GlowSelect *s, const GlowNode *n) {
  GlowView a, b, c;
  int64_t rows, a_stride, c_rows, c_stride;
  if (!glow_select_view(s, glow_node_in(n, 0), &a) ||
      !glow_select_view(s, glow_node_in(n, 1), &b) || !glow_select_view(s, glow_node_out(n, 0), &c))
    return false;
  if (b.type->rank != 2 || a.type->layout || c.type->layout || !a.rank || !c.rank ||
      !read_rows(&a, &rows, &a_stride) || !read_rows(&c, &c_rows, &c_stride) || rows != c_rows)
    return glow_select_fail(s, "its right operand is no matrix, or rows have gaps");
  int64_t k = a.dims[a.rank - 1], columns = c.dims[c.rank - 1];
  GlowBf16Params p = {.images = 1, .x_block = k > 1 ? k : 2};
  p.g = (GlowConvGeometry){.oh = 1, .ow = rows, .oc = columns, .ih = 1, .iw = rows, .ic = k};
  p.g.kh = p.g.kw = p.g.sh = p.g.sw = p.g.dh = p.g.dw = 1;
  p.g.xw = a_stride, p.g.yw = c_stride, p.g.yc = GLOW_CONV_BLOCK;
  GlowBf16Places at = {.y = c.place, .x = a.place, .w = b.place, .bias = glow_place_absent()};
  if (!read_pairs(s, &b, k, &p))
    return false;
  return rows && columns && k ? append(s, n, &p, &at)
                              : glow_select_fail(s, "it has no elements, or adds up none");
}
