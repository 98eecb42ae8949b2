/* Halo: what is left of a Pad if its operand is in place, inside of the padded buffer. It is copies
 * of boxes, in any layout whose padded axes are not blocked. The halo grows axis by axis: the boxes
 * before and after the operand along an axis reach over the halo of earlier axes, but not of later
 * ones. If they are alike, they are one box of one more loop, but for those of a large wrap: what
 * crosses over to the other side is slower together. */
#include "backend/cpu/box.h"
#include "cpu/work.h"
#include "tensor/tensor.h"

#include <string.h>

static int64_t element_bytes(const GlowType *t) { return glow_kind_info[t->kind].bits / 8; }

/* Places [at, at + count) of an axis are those from `from` on, forwards, backwards or, with a step
 * of 0, one place. With times = 2 the same holds further on in both. */
typedef struct Segment {
  int64_t at, from, count, step;
  int64_t times, next, from_next;
} Segment;

/* Whether the result is larger than a cache. */
static bool is_large(const GlowHalo *h) { return h->to.place.bytes > 1 << 20; }

/* Planes are the places of the axes before the first padded one. A large result is written plane by
 * plane. */
static int64_t planes_of(const GlowHalo *h) {
  int64_t planes = 1;
  for (uint32_t a = 0; a < h->to.rank && h->inside[a] == h->to.dims[a]; a++)
    planes *= h->to.dims[a];
  return is_large(h) ? planes : 1;
}

/* Appends `count` places of axis a of the halo. */
static bool append_segment(GlowSelect *s, const GlowNode *n, const GlowHalo *h, uint32_t a,
                           const Segment *g, const GlowView *from) {
  int64_t bytes = element_bytes(h->to.type);
  bool mapped = h->mode != GLOW_PAD_MODE_CONSTANT;
  GlowBox b = {.planes = planes_of(h)};
  for (uint32_t k = 0; k < h->to.rank; k++) {
    int64_t stride = h->to.strides[k] * bytes, first = k < a ? 0 : k == a ? g->at : h->begin[k];
    int64_t count = k < a ? h->to.dims[k] : k == a ? g->count : h->inside[k];
    b.to += first * stride;
    b.from += !mapped ? 0 : k == a ? g->from * stride : first * stride;
    if (k == a)
      glow_box_push(&b, g->times, g->next * stride, !mapped ? 0 : g->from_next * stride);
    glow_box_push(&b, count, stride, !mapped ? 0 : k == a ? g->step * stride : stride);
  }
  return glow_box_append(s, n, &b, &h->to, from);
}

static bool append_axis(GlowSelect *s, const GlowNode *n, const GlowHalo *h, uint32_t a,
                        const GlowView *from) {
  int64_t begin = h->begin[a], inside = h->inside[a], end = begin + inside;
  int64_t after = h->to.dims[a] - end;
  int64_t most = h->mode == GLOW_PAD_MODE_REFLECT ? inside - 1
                 : h->mode == GLOW_PAD_MODE_WRAP  ? inside
                                                  : INT64_MAX;
  if (begin > most || after > most)
    return glow_select_fail(s, "its padding is wider than what it repeats");
  Segment low = {0, begin, begin, 0, 1, 0, 0}, high = {end, end - 1, after, 0, 1, 0, 0};
  if (h->mode == GLOW_PAD_MODE_WRAP) {
    low.from = inside, low.step = 1;
    high.from = begin, high.step = 1;
  } else if (h->mode == GLOW_PAD_MODE_REFLECT) {
    low.from = 2 * begin, low.step = -1;
    high.from = end - 2, high.step = -1;
  }
  const bool crosses = high.from < low.from && is_large(h);
  if (begin == after && !crosses && h->to.rank < GLOW_MOVE_DIMS) {
    low.times = 2, low.next = high.at, low.from_next = high.from - low.from;
    return append_segment(s, n, h, a, &low, from);
  }
  return append_segment(s, n, h, a, &low, from) && append_segment(s, n, h, a, &high, from);
}

static bool is_zero(const GlowValue *v) {
  const GlowTensor *t = v ? glow_value_known(v) : NULL;
  if (!v || !t)
    return !v;
  for (size_t i = 0; i < t->bytes; i++) {
    if (((const char *)t->data)[i])
      return false;
  }
  return true;
}

bool glow_halo_append(GlowSelect *s, const GlowNode *n, const GlowHalo *h) {
  GlowView value;
  const GlowView *from = h->mode != GLOW_PAD_MODE_CONSTANT ? &h->to : NULL;
  if (!from && !is_zero(h->value)) {
    if (!glow_select_view(s, h->value, &value))
      return false;
    from = &value;
  }
  for (uint32_t a = 0; a < h->to.type->rank; a++) {
    if (h->inside[a] < h->to.dims[a] && !append_axis(s, n, h, a, from))
      return false;
  }
  return from != &value || glow_select_zero_padding(s, n, &h->to);
}

bool glow_select_halo(GlowSelect *s, const GlowNode *n) {
  const GlowHaloMembers *m = n->members;
  GlowHalo h = {.mode = m->mode, .value = glow_node_in(n, GLOW_HALO_IN_VALUE)};
  if (!glow_select_view(s, glow_node_out(n, 0), &h.to))
    return false;
  uint32_t rank = h.to.type->rank;
  memcpy(h.inside, h.to.dims, sizeof h.inside);
  for (uint32_t a = 0; a < rank; a++) {
    h.begin[a] = glow_array_at(m->pads, uint32_t, a);
    h.inside[a] -= h.begin[a] + glow_array_at(m->pads, uint32_t, rank + a);
  }
  return glow_halo_append(s, n, &h);
}
