/* Convolutions and products with strategy = bf16, whose filters are packed as bfloat16. With order
 * = tile epilogues are loops behind the kernel; with order = pair they are part of it. */
#include "backend/cpu/conv.h"
#include "cpu/work.h"
#include "ir/remarks.h"

#include <string.h>

static void say_machine(const GlowSelect *s, const GlowNode *n, bool has) {
  if (!has)
    glow_codegen_remark(n,
                        "'%s' multiplies bfloat16 by arithmetic on floats: %s has no "
                        "instruction for that",
                        glow_node_desc(n)->instr, s->isa->name);
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

/* The operands of a product's epilogue, of results `c`, as those of one row of pixels. *fits: rows
 * of all axes but the last are one axis for each of them. False after a diagnostic. */
static bool read_row_operands(GlowSelect *s, const GlowNode *n, const GlowView *c, GlowWork *w,
                              bool *fits) {
  const uint32_t last = c->rank - 1;
  GlowOperand *operands = GLOW_NEW_ARRAY(s->arena, GlowOperand, n->nextra);
  *fits = n->nextra <= GLOW_MAX_RANK;
  w->form = GLOW_BODY_EPILOGUE;
  w->noperands = n->nextra, w->operands = operands;
  if (!glow_select_epilogue_body(s, n, &w->body))
    return false;
  for (uint32_t i = 0; i < n->nextra && *fits; i++) {
    GlowOperand *o = &operands[i];
    GlowView v;
    int64_t stride[GLOW_VIEW_RANK], rows = 1;
    const GlowValue *value = n->operands[n->noperands - n->nextra + i].value;
    if (!value || !glow_select_view(s, value, &v))
      return value ? false : glow_select_fail(s, "an operand of its epilogue is absent");
    if (v.type->layout || !glow_select_operand(s, c, &v, stride, &o->channels)) {
      *fits = false;
      break;
    }
    const int64_t row = last ? stride[last - 1] : 0;
    for (uint32_t a = last; a-- > 0; rows *= c->dims[a])
      *fits &= c->dims[a] == 1 || stride[a] == row * rows;
    *fits &= stride[last] == 0 || stride[last] == 1;
    memset(o->stride, 0, sizeof o->stride);
    o->stride[1] = GLOW_CONV_BLOCK * stride[last];
    o->stride[3] = row;
    o->stride[4] = stride[last];
    o->place = v.place;
    o->kind = v.type->kind;
  }
  return true;
}

/* Whether all pixels of an image can be seen as one row: windows of one tap, outputs without gaps.
 */
static bool is_flat(const GlowConvGeometry *g, const GlowWork *body) {
  bool flat = g->kh == 1 && g->kw == 1 && g->pt == 0 && g->pl == 0 && (g->oh - 1) * g->sh < g->ih &&
              (g->ow - 1) * g->sw < g->iw && g->yh == g->ow * g->yw;
  for (uint32_t i = 0; i < body->noperands; i++)
    flat = flat && body->operands[i].stride[2] == g->ow * body->operands[i].stride[3];
  return flat;
}

/* Sees them as one row. The input has the pixels that windows read, in rows of `width`. */
static void flatten(GlowBf16PairParams *p) {
  GlowConvGeometry *g = &p->g;
  const bool even = g->sh == 1 && g->xh == g->ow * g->sw * g->xw;
  g->xh *= g->sh, g->xw *= g->sw;
  g->sh = g->sw = 1;
  g->ow *= g->oh;
  p->width = even ? g->ow : g->ow / g->oh;
  g->oh = g->ih = 1;
  g->iw = g->ow;
}

/* Whether operand 0 of an epilogue lies as the output does. */
static bool is_beside(const GlowConvGeometry *g, const GlowWork *body) {
  const GlowOperand *o = body->operands;
  return body->noperands && o->kind == GLOW_KIND_FLOAT && o->stride[0] == g->yn &&
         o->stride[1] == g->yc && o->stride[2] == g->yh && o->stride[3] == g->yw &&
         o->stride[4] == 1;
}

/* With order = pair; y: the result, in blocks of channels, or that of a product. */
static bool append_pair(GlowSelect *s, const GlowNode *n, const GlowBf16Params *p,
                        const GlowBf16Places *at, const GlowView *y) {
  GlowBf16PairParams q = {
      .g = p->g, .images = p->images, .x_block = p->x_block, .whole = p->whole, .tap = p->tap};
  GlowSetup setup = {0};
  GlowWork body = {0};
  bool inside = true;
  if (!(n->op == GLOW_OP_CONVOLUTION ? glow_conv_epilogue(s, n, y, &body)
                                     : read_row_operands(s, n, y, &body, &inside)))
    return false;
  say_machine(s, n, s->cpu.pairs);
  q.beside = inside && is_beside(&q.g, &body);
  if (inside && is_flat(&q.g, &body))
    flatten(&q);
  glow_setup_bf16_pair(&s->cpu, &q, &setup);
  GlowWork *w =
      glow_work_bf16_pair(s, n, &q, &setup, &(GlowBf16PairPlaces){at->y, at->x, at->w, at->bias});
  if (!inside)
    return glow_select_epilogue(s, n);
  glow_conv_set_epilogue(w, &body);
  return true;
}

/* ---- Tiles ----------------------------------------------------------------------------------- */

static bool append_tile(GlowSelect *s, const GlowNode *n, GlowBf16Params *p, GlowBf16Places *at) {
  GlowSetup setup = {0};
  say_machine(s, n, s->cpu.squares);
  glow_setup_bf16(&s->cpu, p, &setup);
  glow_work_bf16(s, n, p, &setup, at);
  return glow_select_epilogue(s, n);
}

/* ---- Both ------------------------------------------------------------------------------------ */

/* Pairs of channels of a tap, or of rows of B, as the layout says. */
static bool read_pairs(GlowSelect *s, const GlowView *w, int64_t channels, GlowBf16Params *p) {
  int64_t blocks[GLOW_LAYOUT_BLOCKS] = {0};
  p->tap = (channels + 1) / 2;
  if (w->type->kind != GLOW_KIND_BFLOAT16 || !w->type->layout || !glow_view_is_dense(w) ||
      !glow_kernel_takes(glow_find_bf16(), "w", s->isa, w->type->layout, blocks) ||
      blocks[0] != p->tap)
    return glow_select_fail(s,
                            "with strategy = bf16 only a packed filter of bfloat16 has a kernel");
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
  return c->m->order == GLOW_BF16_ORDER_PAIR ? append_pair(s, n, &p, &at, &c->y)
                                             : append_tile(s, n, &p, &at);
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
  if (!rows || !columns || !k)
    return glow_select_fail(s, "it has no elements, or adds up none");
  return ((const GlowMatMulMembers *)n->members)->order == GLOW_BF16_ORDER_PAIR
             ? append_pair(s, n, &p, &at, &c)
             : append_tile(s, n, &p, &at);
}
