/* Reads a convolution's operands and members, and lays out its scratch. */
#include "kernels/ref/conv_plan.h"
#include "kernels/ref/winograd.h"

static void spatial_axes(GlowConvPlan *p, const GlowConvolutionMembers *m) {
  p->taps = p->places = p->outputs = 1;
  for (uint32_t i = 0; i < p->spatial; i++) {
    uint32_t a = p->first_axis + i;
    p->in[i] = p->x->dims[a];
    p->out[i] = p->y->dims[a];
    p->kernel[i] = p->w->dims[a];
    p->stride[i] = glow_listed(m->strides, i, 1);
    p->dilation[i] = glow_listed(m->dilations, i, 1);
    p->before[i] = glow_listed(m->pads, i, 0);
    /* As far as the last window reaches; what follows is never read. */
    int64_t reach = (p->out[i] - 1) * p->stride[i] + (p->kernel[i] - 1) * p->dilation[i] + 1;
    p->padded[i] = p->out[i] > 0 && p->kernel[i] > 0 ? reach : 0;
    p->taps *= p->kernel[i];
    p->places *= p->padded[i];
    p->outputs *= p->out[i];
  }
}

/* Whether the padded input has more elements than there are addresses. */
static bool too_large(const GlowConvPlan *p) {
  double places = (double)p->width;
  for (uint32_t i = 0; i < p->spatial; i++)
    places *= (double)p->padded[i];
  return places > 0x1p48;
}

GlowConvPlan glow_conv_plan(const GlowCall *call) {
  const GlowConvolutionMembers *m = call->members;
  GlowConvPlan p = {.x = &call->in[0], .w = &call->in[1], .b = &call->in[2], .y = &call->out[0]};
  bool nhwc = m->layout == GLOW_LAYOUT_NHWC;
  p.pad = m->pad;
  p.spatial = p.x->rank - 2;
  p.c_axis = nhwc ? p.x->rank - 1 : 1;
  p.first_axis = nhwc ? 1 : 2;
  p.batch = p.x->dims[0];
  p.groups = m->group ? m->group : 1;
  p.in_channels = p.w->dims[p.c_axis];
  p.out_channels = p.w->dims[0] / p.groups;
  p.wide = p.x->kind == GLOW_KIND_DOUBLE;
  p.depthwise = p.in_channels == 1 && p.groups > 1;
  spatial_axes(&p, m);
  int64_t lanes = p.depthwise ? p.groups : p.out_channels;
  p.panels = (lanes + GLOW_CONV_LANES - 1) / GLOW_CONV_LANES;
  p.width = p.depthwise ? p.panels * GLOW_CONV_LANES : p.in_channels;
  size_t size = p.wide ? sizeof(double) : sizeof(float);
  if (too_large(&p)) {
    p.total = SIZE_MAX / 4; /* more than can be had: the caller runs out of memory */
    return p;
  }
  int64_t terms = p.depthwise ? p.taps * p.out_channels : p.taps * p.in_channels;
  p.weights_at = glow_align64((size_t)(p.places * p.width) * size);
  p.bias_at = p.weights_at + glow_align64((size_t)(terms * p.panels * GLOW_CONV_LANES) * size);
  /* Nothing uses the room between bias_at and taps_at. */
  p.taps_at = p.bias_at + glow_align64(8 * GLOW_CONV_LANES * size);
  p.total = p.taps_at + glow_align64((size_t)p.taps * sizeof(int64_t));
  return p;
}

size_t glow_scratch_convolution(const GlowCall *call) {
  return glow_conv_is_winograd(call) ? glow_ref_winograd_scratch(call) : glow_conv_plan(call).total;
}
