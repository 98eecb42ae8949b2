/* Convolutions with three spatial axes become convolutions with two, since layouts and algorithms
 * are for two. Places along the first axis, the depth, become images; the filter's taps along it
 * become channels:
 *
 *   Convolution(x : N x C x D x H x W, w : O x C x KD x KH x KW, B)
 *     becomes   s = Pad(Reshape(Transpose(x)) : (D N) x C x H x W)
 *               t = Concat(s of tap 0, ..., s of tap KD - 1) : (D' N) x (KD C) x H x W
 *               Transpose(Reshape(Convolution(t, w', B) : (D' N) x O x H' x W'))
 *
 * "s of tap k" is a Slice: the images that tap k of the windows meets. So t has KD copies of x,
 * which is little beside the KH KW filters' products of each. w' is w with its taps along the depth
 * before its channels, an `eval` constant, so w must be constant. Between two such convolutions
 * Transposes and Reshapes cancel.
 *
 * Groups whose filters have several taps along the depth stay. No extent of the batch decides.
 *
 * Bounded: the order of taps in sums changes, and zeros are added: c = 2 K + 2 for K products. */
#include "lower/window.h"
#include "transforms/contraction.h"

enum { AXES = 3, MOST_TAPS = 64 };

/* Numbers of the first axis, and of batch and depth. */
typedef struct Depth {
  GlowNode *node;
  int64_t images, in, out; /* the batch; places along the depth of operand and result */
  int64_t taps, stride, dilation, before, behind;
} Depth;

/* Whether n has the form that the head of this file asks for. */
static bool describe(GlowNode *n, GlowConstness *constness, Depth *d) {
  GlowContraction c;
  if (n->op != GLOW_OP_CONVOLUTION || n->results[0].type->rank != 2 + AXES ||
      !glow_contraction_describe(n, &c) || !glow_contraction_is_constant(&c, constness))
    return false;
  const GlowConvolutionMembers *m = n->members;
  const GlowType *x = glow_node_in(n, GLOW_CONTRACTION_X)->type, *y = n->results[0].type;
  const GlowType *w = glow_node_in(n, GLOW_CONTRACTION_W)->type;
  if (m->layout != GLOW_LAYOUT_NCHW || !glow_type_is_static(x) || !glow_type_is_static(y) ||
      x->layout || y->layout || glow_type_elements(x) == 0 || glow_type_elements(y) == 0)
    return false;
  *d = (Depth){.node = n,
               .images = x->dims[0].size,
               .in = x->dims[2].size,
               .out = y->dims[2].size,
               .taps = w->dims[2].size,
               .stride = glow_listed(m->strides, 0, 1),
               .dilation = glow_listed(m->dilations, 0, 1),
               .before = glow_listed(m->pads, 0, 0),
               .behind = glow_listed(m->pads, AXES, 0)};
  return d->taps == 1 || (m->group == 1 && d->taps <= MOST_TAPS);
}

/* x : N x C x D x H x W as (D N) x C x H x W. */
static GlowValue *as_images(const Depth *d, GlowBuilder *b, GlowValue *x) {
  const GlowDim *e = x->type->dims;
  int64_t dims[] = {d->images * d->in, e[1].size, e[3].size, e[4].size};
  x = glow_build_permuted(b, x, (uint32_t[]){2, 0, 1, 3, 4}, 2 + AXES);
  return glow_build_shaped(b, d->node, x, 4, dims);
}

/* The images of s that a tap of the windows meets. */
static GlowValue *of_tap(const Depth *d, GlowBuilder *b, GlowValue *s, int64_t tap) {
  const GlowDim *e = s->type->dims;
  int64_t first = tap * d->dilation, end = first + (d->out - 1) * d->stride + 1;
  if (d->stride == 1 || d->images == 1)
    return glow_build_part(b, d->node, s, 0, first * d->images, end * d->images, d->stride);
  int64_t apart[] = {e[0].size / d->images, d->images, e[1].size, e[2].size, e[3].size};
  int64_t joined[] = {d->out * d->images, e[1].size, e[2].size, e[3].size};
  GlowValue *v = glow_build_shaped(b, d->node, s, 5, apart);
  v = glow_build_part(b, d->node, v, 0, first, end, d->stride);
  return glow_build_shaped(b, d->node, v, 4, joined);
}

/* The operand of the new convolution. */
static GlowValue *taps_of(const Depth *d, GlowBuilder *b) {
  GlowValue *parts[MOST_TAPS], *s = as_images(d, b, glow_node_in(d->node, GLOW_CONTRACTION_X));
  s = glow_build_padded(b, d->node, s, 0, d->before * d->images, d->behind * d->images);
  if (!s || (d->taps == 1 && d->stride == 1))
    return s;
  for (int64_t i = 0; i < d->taps; i++)
    if (!(parts[i] = of_tap(d, b, s, i)))
      return NULL;
  return d->taps == 1 ? parts[0] : glow_build_concat(b, parts, (uint32_t)d->taps, 1);
}

/* The filter O x (KD C) x KH x KW, as a constant. */
static GlowValue *filter_of(const Depth *d, GlowPassRun *run) {
  GlowValue *w = glow_node_in(d->node, GLOW_CONTRACTION_W);
  const GlowDim *e = w->type->dims;
  int64_t dims[] = {e[0].size, d->taps * e[1].size, e[3].size, e[4].size};
  GlowEval eval = glow_eval_create(run->module, run->arena, d->node);
  GlowValue *v = glow_eval_copy(&eval, w);
  v = glow_build_permuted(&eval.builder, v, (uint32_t[]){0, 2, 1, 3, 4}, 2 + AXES);
  v = glow_build_shaped(&eval.builder, d->node, v, 4, dims);
  GlowStr name = glow_str_printf(run->ctx, "%s.flat", w->name ? w->name : "filter");
  return v ? &glow_eval_finish(&eval, v, name)->value : NULL;
}

/* A list of the members without what it says of the depth; its entries are for AXES or 2 AXES. */
static GlowArray of_two_axes(GlowModule *m, GlowArray list) {
  uint32_t left[2 * AXES], count = 0;
  for (uint32_t i = 0; i < list.count; i++)
    if (i % AXES)
      left[count++] = glow_array_at(list, uint32_t, i);
  return glow_array_u32(m, left, count);
}

static GlowValue *convolve(const Depth *d, GlowPassRun *run, GlowBuilder *b) {
  GlowConvolutionMembers members = *(const GlowConvolutionMembers *)d->node->members;
  members.strides = of_two_axes(run->module, members.strides);
  members.dilations = of_two_axes(run->module, members.dilations);
  members.pads = of_two_axes(run->module, members.pads);
  GlowValue *ins[] = {taps_of(d, b), filter_of(d, run), glow_node_in(d->node, GLOW_CONTRACTION_B)};
  GlowNode *n =
      ins[0] && ins[1] ? glow_build(b, GLOW_OP_CONVOLUTION, ins, 3, &members, NULL) : NULL;
  return n ? &n->results[0] : NULL;
}

/* v : (D' N) x O x H' x W' as the node's result. */
static GlowValue *as_depth(const Depth *d, GlowBuilder *b, GlowValue *v) {
  const GlowDim *e = d->node->results[0].type->dims;
  int64_t apart[] = {d->out, d->images, e[1].size, e[3].size, e[4].size};
  v = glow_build_shaped(b, d->node, v, 5, apart);
  return glow_build_permuted(b, v, (uint32_t[]){1, 2, 0, 3, 4}, 2 + AXES);
}

static bool rewrite(GlowNode *n, void *arg) {
  GlowPassRun *run = arg;
  Depth d;
  if (n->op != GLOW_OP_CONVOLUTION || !describe(n, glow_constness_create(run->arena), &d))
    return true;
  GlowBuilder b = glow_builder_before(n);
  GlowValue *v = convolve(&d, run, &b);
  v = v ? as_depth(&d, &b, v) : NULL;
  if (!v)
    return false;
  glow_pass_changed(run, n, "became a convolution with two spatial axes");
  glow_node_replace(n, &v, 1);
  return true;
}

bool glow_pass_conv_3d(GlowPassRun *run) {
  return glow_block_walk(run->function->body, rewrite, run);
}
