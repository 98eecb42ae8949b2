/* DeformConv of float: X and W are copied into the order that the kernel wants. */
#include "backend/cpu/box.h"
#include "cpu/work.h"
#include "ops/listed.h"

enum { BLOCK = 16, SPARE = 256 }; /* channels of a block; bytes behind an operand that are read */

typedef struct Operands {
  GlowView x, w, offset, bias, mask, y;
} Operands;

/* A dense operand, or none. */
static bool read_operand(GlowSelect *s, const GlowNode *n, uint32_t i, GlowView *v) {
  const GlowValue *value = i < glow_node_nins(n) ? glow_node_in(n, i) : NULL;
  *v = (GlowView){.place = glow_place_absent()};
  return !value || glow_select_dense(s, value, v);
}

static bool read_params(GlowSelect *s, const GlowNode *n, const Operands *o, GlowDeformParams *p) {
  const GlowDeformConvMembers *m = n->members;
  p->axes = o->x.rank - 2;
  if (o->y.type->kind != GLOW_KIND_FLOAT || p->axes > GLOW_DEFORM_AXES)
    return glow_select_fail(s, "it is not of float, or has more than three spatial axes");
  p->images = o->y.dims[0];
  p->channels = o->x.dims[1];
  p->filters = o->y.dims[1];
  p->group = m->group;
  p->offset_group = m->offset_group;
  p->taps = p->places = p->in_places = 1;
  for (uint32_t a = 0; a < p->axes; a++) {
    p->in[a] = o->x.dims[2 + a];
    p->out[a] = o->y.dims[2 + a];
    p->kernel[a] = o->w.dims[2 + a];
    p->stride[a] = glow_listed(m->strides, a, 1);
    p->dilation[a] = glow_listed(m->dilations, a, 1);
    p->before[a] = glow_listed(m->pads, a, 0);
    p->taps *= p->kernel[a];
    p->places *= p->out[a];
    p->in_places *= p->in[a];
  }
  return true;
}

/* A copy of an operand of so many elements, in memory of its own. */
static GlowView copy_of(GlowSelect *s, const GlowView *v, int64_t elements) {
  GlowView copy = *v;
  copy.place = glow_select_extra(s, elements * (int64_t)sizeof(float) + SPARE);
  return copy;
}

/* X with its channels last. */
static bool append_x(GlowSelect *s, const GlowNode *n, const GlowDeformParams *p, const GlowView *x,
                     GlowView *to) {
  const int64_t size = sizeof(float), image = p->channels * p->in_places * size;
  GlowBox b = {0};
  *to = copy_of(s, x, p->images * p->channels * p->in_places);
  glow_box_push(&b, p->images, image, image);
  glow_box_push(&b, p->in_places, p->channels * size, size);
  glow_box_push(&b, p->channels, size, p->in_places * size);
  return glow_box_append(s, n, &b, to, x);
}

/* W with its filters last, for `channels` channels from `first` on in blocks of `block`. */
static bool append_blocks(GlowSelect *s, const GlowNode *n, const GlowDeformParams *p,
                          const GlowView *w, const GlowView *to, int64_t first, int64_t channels,
                          int64_t block) {
  const int64_t size = sizeof(float), filters = p->filters / p->group;
  const int64_t filter = p->channels / p->group * p->taps * size;
  GlowBox b = {.to = first * p->taps * filters * size, .from = first * p->taps * size};
  if (!channels)
    return true;
  glow_box_push(&b, p->group, filters * filter, filters * filter);
  glow_box_push(&b, channels / block, block * p->taps * filters * size, block * p->taps * size);
  glow_box_push(&b, p->taps, block * filters * size, size);
  glow_box_push(&b, block, filters * size, p->taps * size);
  glow_box_push(&b, filters, size, filter);
  return glow_box_append(s, n, &b, to, w);
}
static bool append_w(GlowSelect *s, const GlowNode *n, const GlowDeformParams *p, const GlowView *w,
                     GlowView *to) {
  const int64_t channels = p->channels / p->group, rest = channels % BLOCK;
  GlowBox spare = {.to = p->filters * channels * p->taps * (int64_t)sizeof(float)};
  *to = copy_of(s, w, p->filters * channels * p->taps);
  glow_box_push(&spare, SPARE / (int64_t)sizeof(float), sizeof(float), 0);
  return glow_box_append(s, n, &spare, to, NULL) &&
         append_blocks(s, n, p, w, to, 0, channels - rest, BLOCK) &&
         append_blocks(s, n, p, w, to, channels - rest, rest, rest);
}

bool glow_select_deform_conv(GlowSelect *s, const GlowNode *n) {
  Operands o;
  GlowView x, w;
  GlowDeformParams p = {0};
  GlowSetup setup = {0};
  if (!glow_select_dense(s, glow_node_in(n, 0), &o.x) ||
      !glow_select_dense(s, glow_node_in(n, 1), &o.w) ||
      !glow_select_dense(s, glow_node_in(n, 2), &o.offset) || !read_operand(s, n, 3, &o.bias) ||
      !read_operand(s, n, 4, &o.mask) || !glow_select_dense(s, glow_node_out(n, 0), &o.y) ||
      !read_params(s, n, &o, &p))
    return false;
  if (!glow_view_extent(&o.y, 0, o.y.rank))
    return true;
  if (p.channels * p.taps * p.in_places == 0)
    return glow_select_fail(s, "it adds nothing up");
  glow_setup_deform_conv(&s->cpu, &p, &setup);
  if (!append_x(s, n, &p, &o.x, &x) || !append_w(s, n, &p, &o.w, &w))
    return false;
  GlowDeformConvPlaces at = {.y = o.y.place,
                             .x = x.place,
                             .w = w.place,
                             .offset = o.offset.place,
                             .bias = o.bias.place,
                             .mask = o.mask.place};
  glow_work_deform_conv(s, n, &p, &setup, &at);
  return true;
}
