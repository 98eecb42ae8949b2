/* FilterGradient of float over one or two spatial axes, of operands that are plain or in blocks of
 * channels. */
#include "backend/cpu/conv.h"
#include "cpu/work.h"

/* The channels of a block of an operand; 0, with s->why, if the kernel does not take its layout. */
static int64_t block_of(GlowSelect *s, const char *operand, const GlowView *v) {
  if (!v->type->layout)
    return 1;
  if (!glow_select_layout(s, glow_find_filter_gradient(), operand, v, NULL))
    return 0;
  if (v->strides[4] != 1)
    glow_select_fail(s, "the channels of a block are not contiguous");
  return v->strides[4] == 1 ? GLOW_CONV_BLOCK : 0;
}

/* Extents along the last two axes, where one axis is a map of one row. */
static void read_extents(const GlowFilterGradientMembers *m, const GlowView *x, const GlowView *dy,
                         GlowFilterGradientParams *p) {
  const uint32_t axes = x->type->rank - 2, w = axes - 1;
  const bool plane = axes == 2;
  p->oh = plane ? dy->type->dims[2].size : 1;
  p->ow = dy->type->dims[2 + w].size;
  p->ih = plane ? x->type->dims[2].size : 1;
  p->iw = x->type->dims[2 + w].size;
  p->kh = plane ? glow_listed(m->kernels, 0, 1) : 1;
  p->kw = glow_listed(m->kernels, w, 1);
  p->sh = plane ? glow_listed(m->strides, 0, 1) : 1;
  p->sw = glow_listed(m->strides, w, 1);
  p->dh = plane ? glow_listed(m->dilations, 0, 1) : 1;
  p->dw = glow_listed(m->dilations, w, 1);
  p->pt = plane ? glow_listed(m->pads, 0, 0) : 0;
  p->pl = glow_listed(m->pads, w, 0);
  p->xn = x->strides[0], p->xc = x->strides[1], p->xw = x->strides[2 + w];
  p->xh = plane ? x->strides[2] : 0;
  p->yn = dy->strides[0], p->yc = dy->strides[1], p->yw = dy->strides[2 + w];
  p->yh = plane ? dy->strides[2] : 0;
}

bool glow_select_filter_gradient(GlowSelect *s, const GlowNode *n) {
  const GlowFilterGradientMembers *m = n->members;
  GlowView x, dy, dw;
  GlowFilterGradientParams p = {.groups = m->group ? m->group : 1};
  if (!glow_select_view(s, glow_node_in(n, GLOW_FILTER_GRADIENT_IN_X), &x) ||
      !glow_select_view(s, glow_node_in(n, GLOW_FILTER_GRADIENT_IN_DY), &dy) ||
      !glow_select_dense(s, glow_node_out(n, 0), &dw))
    return false;
  if (dw.type->kind != GLOW_KIND_FLOAT)
    return glow_select_fail(s, "it is not of float");
  if (dw.rank < 3 || dw.rank > 4)
    return glow_select_fail(s, "it has not one or two spatial axes");
  p.x_block = block_of(s, "x", &x);
  p.y_block = p.x_block ? block_of(s, "dy", &dy) : 0;
  if (!p.y_block)
    return false;
  read_extents(m, &x, &dy, &p);
  p.images = x.dims[0];
  p.ic = dw.dims[1];
  p.oc = dw.dims[0] / p.groups;
  if (p.groups > 1 && ((p.x_block > 1 && p.ic % p.x_block) || (p.y_block > 1 && p.oc % p.y_block)))
    return glow_select_fail(s, "its groups are no whole blocks of channels");
  if (!glow_view_extent(&dw, 0, dw.rank))
    return true; /* no elements */
  if (!p.images || !p.oh || !p.ow || !p.ih || !p.iw)
    return glow_select_fail(s, "it has no places");
  GlowSetup setup = {0};
  glow_setup_filter_gradient(&s->cpu, &p, &setup);
  glow_work_filter_gradient(
      s, n, &p, &setup, &(GlowFilterGradientPlaces){.dw = dw.place, .x = x.place, .dy = dy.place});
  return true;
}
