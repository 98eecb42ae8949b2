/* Halo: what is left of a Pad if its operand is computed in place, inside of the padded buffer. It
 * is copies of boxes, in any layout whose padded axes are not blocked. The halo grows axis by axis:
 * the boxes before and after the operand along an axis reach over the halo of earlier axes, but not
 * of later ones. */
#include "backend/cpu/box.h"
#include "tensor/tensor.h"

#include <string.h>

/* The padded buffer and the box that is there already, along the physical axes of Y. */
typedef struct Halo {
  GlowView to;
  int64_t begin[GLOW_VIEW_RANK], inside[GLOW_VIEW_RANK];
  int mode;
  const GlowValue *value; /* NULL: 0 */
} Halo;

static int64_t element_bytes(const GlowType *t) { return glow_kind_info[t->kind].bits / 8; }

/* Places [at, at + count) of an axis are those from `from` on, forwards, backwards or, with a step
 * of 0, one place. */
typedef struct Segment {
  int64_t at, from, count, step;
} Segment;

/* Appends `count` places of axis a of the halo. */
static bool append_segment(GlowSelect *s, const GlowNode *n, const Halo *h, uint32_t a,
                           const Segment *g, const GlowView *from) {
  int64_t bytes = element_bytes(h->to.type);
  bool mapped = h->mode != GLOW_PAD_MODE_CONSTANT;
  GlowBox b = {0};
  for (uint32_t k = 0; k < h->to.rank; k++) {
    int64_t stride = h->to.strides[k] * bytes, first = k < a ? 0 : k == a ? g->at : h->begin[k];
    int64_t count = k < a ? h->to.dims[k] : k == a ? g->count : h->inside[k];
    b.to += first * stride;
    b.from += !mapped ? 0 : k == a ? g->from * stride : first * stride;
    glow_box_push(&b, count, stride, !mapped ? 0 : k == a ? g->step * stride : stride);
  }
  return glow_box_append(s, n, &b, &h->to, from);
}

static bool append_axis(GlowSelect *s, const GlowNode *n, const Halo *h, uint32_t a,
                        const GlowView *from) {
  int64_t begin = h->begin[a], inside = h->inside[a], end = begin + inside;
  int64_t after = h->to.dims[a] - end;
  int64_t most = h->mode == GLOW_PAD_MODE_REFLECT ? inside - 1
                 : h->mode == GLOW_PAD_MODE_WRAP  ? inside
                                                  : INT64_MAX;
  if (begin > most || after > most)
    return glow_select_fail(s, "its padding is wider than what it repeats");
  Segment low = {0, begin, begin, 0}, high = {end, end - 1, after, 0};
  if (h->mode == GLOW_PAD_MODE_WRAP) {
    low = (Segment){0, inside, begin, 1};
    high = (Segment){end, begin, after, 1};
  } else if (h->mode == GLOW_PAD_MODE_REFLECT) {
    low = (Segment){0, 2 * begin, begin, -1};
    high = (Segment){end, end - 2, after, -1};
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

static bool append_halo(GlowSelect *s, const GlowNode *n, const Halo *h) {
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
  Halo h = {.mode = m->mode, .value = glow_node_in(n, GLOW_HALO_IN_VALUE)};
  if (!glow_select_view(s, glow_node_out(n, 0), &h.to))
    return false;
  uint32_t rank = h.to.type->rank;
  memcpy(h.inside, h.to.dims, sizeof h.inside);
  for (uint32_t a = 0; a < rank; a++) {
    h.begin[a] = glow_array_at(m->pads, uint32_t, a);
    h.inside[a] -= h.begin[a] + glow_array_at(m->pads, uint32_t, rank + a);
  }
  return append_halo(s, n, &h);
}
