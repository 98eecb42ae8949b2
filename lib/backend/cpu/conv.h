/* What the selections of convolutions share: operands, extents and epilogues. */
#ifndef GLOW_BACKEND_CPU_CONV_H
#define GLOW_BACKEND_CPU_CONV_H

#include "backend/cpu/select.h"
#include "kernels/params.h"
#include "ops/listed.h"

/* A convolution as its instruction says. */
typedef struct GlowConvView {
  const GlowConvolutionMembers *m;
  GlowView x, w, b, y;
  GlowView map; /* what the epilogue transforms: y, or what y is pooled from, which has no memory */
  bool has_bias, pools;
  int64_t x_element, y_element; /* GlowConvElement */
  int64_t groups, ic, oc; /* ic: channels of one group; oc: of all */
  GlowConvGeometry g;     /* as the instruction says */
} GlowConvView;

/* The GlowConvElement of a type. False if there is none. */
bool glow_conv_element(const GlowType *t, int64_t *element);

/* Reads the operands of a convolution of float with two spatial axes in NCHW order. False, with
 * s->why, for all others. */
bool glow_conv_read(GlowSelect *s, const GlowNode *n, GlowConvView *c);
/* The epilogue and its operands, into w, for a result at y in NCHW16c. False, with s->why, if it
 * cannot be emitted. */
bool glow_conv_epilogue(GlowSelect *s, const GlowNode *n, const GlowView *y, GlowWork *w);
/* Gives work the epilogue that was read into `body`. */
void glow_conv_set_epilogue(GlowWork *w, const GlowWork *body);

/* The kernels: append work or return false with s->why. */
bool glow_select_conv_direct(GlowSelect *s, const GlowNode *n, const GlowConvView *c);
bool glow_select_depthwise(GlowSelect *s, const GlowNode *n, const GlowConvView *c);
bool glow_select_winograd(GlowSelect *s, const GlowNode *n, const GlowConvView *c);
/* With strategy = bf16, also a MatMul. */
bool glow_select_bf16_conv(GlowSelect *s, const GlowNode *n, const GlowConvView *c);
bool glow_select_bf16_product(GlowSelect *s, const GlowNode *n);
bool glow_select_conv_plain(GlowSelect *s, const GlowNode *n);
/* A MatMul of float by a B of 16 bits. */
bool glow_select_stored_product(GlowSelect *s, const GlowNode *n);
/* Of narrow integers, also a MatMul. */
bool glow_select_narrow_conv(GlowSelect *s, const GlowNode *n);
/* One that glow_narrow_has_lanes. */
bool glow_select_narrow_lanes(GlowSelect *s, const GlowNode *n);
bool glow_select_narrow_product(GlowSelect *s, const GlowNode *n);
/* A convolution whose filter is not packed, or that has groups: sums alone, and padding by 0. */
bool glow_select_plain_narrow(GlowSelect *s, const GlowNode *n);

#endif
