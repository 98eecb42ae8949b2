/* Instructions that put boxes of elements elsewhere: Transpose, Expand and Tile of plain buffers;
 * Concat, Split, Slice and Pad in any layout. Operands that say where must be known. */
#include "backend/cpu/box.h"
#include "tensor/tensor.h"

/* The known integers of an operand; NULL, with s->why, if they are not known. An absent operand has
 * none. */
static bool read_ints(GlowSelect *s, const GlowNode *n, uint32_t operand, const GlowTensor **out) {
  const GlowValue *v = operand < glow_node_nins(n) ? glow_node_in(n, operand) : NULL;
  *out = v ? glow_value_known(v) : NULL;
  if (v && !*out)
    return glow_select_fail(s, "an operand that says where is not known before it runs");
  return true;
}

static uint32_t axis_at(const GlowTensor *axes, int64_t i, uint32_t rank) {
  int64_t a = axes ? glow_tensor_get_int(axes, i) : i;
  return (uint32_t)(a < 0 ? a + rank : a);
}

static uint32_t counted(int64_t axis, uint32_t rank) {
  return (uint32_t)(axis < 0 ? axis + rank : axis);
}

static int64_t element_bytes(const GlowView *v) { return glow_kind_info[v->type->kind].bits / 8; }

static bool read_view(GlowSelect *s, const GlowValue *v, GlowView *view) {
  if (!glow_select_view(s, v, view))
    return false;
  return element_bytes(view) || glow_select_fail(s, "its elements are not whole bytes");
}

static bool plain_view(GlowSelect *s, const GlowValue *v, GlowView *view) {
  return read_view(s, v, view) &&
         (!view->type->layout || glow_select_fail(s, "an operand has a blocked layout"));
}

static bool read_views(GlowSelect *s, const GlowNode *n, GlowView *to, GlowView *from) {
  return plain_view(s, glow_node_out(n, 0), to) && plain_view(s, glow_node_in(n, 0), from);
}

bool glow_select_transpose(GlowSelect *s, const GlowNode *n) {
  const GlowArray perm = ((const GlowTransposeMembers *)n->members)->perm;
  GlowView to, from;
  GlowBox b = {0};
  if (!read_views(s, n, &to, &from))
    return false;
  int64_t bytes = element_bytes(&to);
  for (uint32_t a = 0; a < to.rank; a++) {
    uint32_t axis = perm.count ? glow_array_at(perm, uint32_t, a) : to.rank - 1 - a;
    glow_box_push(&b, to.dims[a], to.strides[a] * bytes, from.strides[axis] * bytes);
  }
  return glow_box_append(s, n, &b, &to, &from);
}

/* ---- Pieces, in any layout ------------------------------------------------------------------- */

/* Copies all of `part`, which is `to` or `from`; in the other buffer it begins at index `at` of an
 * axis. */
static bool append_part(GlowSelect *s, const GlowNode *n, const GlowView *to, const GlowView *from,
                        const GlowView *part, uint32_t axis, int64_t at) {
  GlowSlab slabs[GLOW_MAX_RANK];
  for (uint32_t a = 0; a < to->type->rank; a++)
    slabs[a] = (GlowSlab){part->type->dims[a].size, 0, 0, 1};
  if (part == from)
    slabs[axis].to = at;
  else
    slabs[axis].from = at;
  return glow_slab_append(s, n, slabs, to, from);
}

bool glow_select_concat(GlowSelect *s, const GlowNode *n) {
  GlowView to, from;
  if (!read_view(s, glow_node_out(n, 0), &to))
    return false;
  uint32_t axis = counted(((const GlowConcatMembers *)n->members)->axis, to.type->rank);
  int64_t done = 0;
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    if (!read_view(s, glow_node_in(n, i), &from) ||
        !append_part(s, n, &to, &from, &from, axis, done))
      return false;
    done += from.type->dims[axis].size;
  }
  return glow_select_zero_padding(s, n, &to);
}

bool glow_select_split(GlowSelect *s, const GlowNode *n) {
  GlowView to, from;
  if (!read_view(s, glow_node_in(n, 0), &from))
    return false;
  uint32_t axis = counted(((const GlowSplitMembers *)n->members)->axis, from.type->rank);
  int64_t done = 0;
  for (uint32_t i = 0; i < n->nouts; i++) {
    if (!glow_node_out(n, i))
      continue;
    if (!read_view(s, glow_node_out(n, i), &to) ||
        !append_part(s, n, &to, &from, &to, axis, done) || !glow_select_zero_padding(s, n, &to))
      return false;
    done += to.type->dims[axis].size;
  }
  return true;
}

bool glow_select_slice(GlowSelect *s, const GlowNode *n) {
  const GlowTensor *starts, *axes, *steps;
  GlowView to, from;
  GlowSlab slabs[GLOW_MAX_RANK];
  if (!read_view(s, glow_node_out(n, 0), &to) || !read_view(s, glow_node_in(n, 0), &from) ||
      !read_ints(s, n, 1, &starts) || !read_ints(s, n, 3, &axes) || !read_ints(s, n, 4, &steps))
    return false;
  uint32_t rank = from.type->rank;
  for (uint32_t a = 0; a < rank; a++)
    slabs[a] = (GlowSlab){to.type->dims[a].size, 0, 0, 1};
  for (int64_t i = 0; i < glow_tensor_elements(starts); i++) {
    uint32_t a = axis_at(axes, i, rank);
    int64_t extent = from.type->dims[a].size, start = glow_tensor_get_int(starts, i);
    int64_t step = steps ? glow_tensor_get_int(steps, i) : 1;
    start = start < 0 ? start + extent : start;
    start = start < 0 ? 0 : start > extent ? extent : start;
    slabs[a].from = step < 0 && start > extent - 1 ? extent - 1 : start;
    slabs[a].step = step;
  }
  return glow_slab_append(s, n, slabs, &to, &from) && glow_select_zero_padding(s, n, &to);
}

/* ---- Repetition ------------------------------------------------------------------------------ */

bool glow_select_expand(GlowSelect *s, const GlowNode *n) {
  GlowView to, from;
  GlowBox b = {0};
  if (!read_views(s, n, &to, &from))
    return false;
  int64_t bytes = element_bytes(&to);
  uint32_t lead = to.rank - from.rank;
  for (uint32_t a = 0; a < to.rank; a++) {
    bool repeats = a < lead || from.dims[a - lead] == 1;
    glow_box_push(&b, to.dims[a], to.strides[a] * bytes,
                  repeats ? 0 : from.strides[a - lead] * bytes);
  }
  return glow_box_append(s, n, &b, &to, &from);
}

/* Every axis of the result is two loops: which copy, and where in it. */
bool glow_select_tile(GlowSelect *s, const GlowNode *n) {
  GlowView to, from;
  GlowBox b = {0};
  if (!read_views(s, n, &to, &from))
    return false;
  int64_t bytes = element_bytes(&to);
  for (uint32_t a = 0; a < to.rank; a++) {
    int64_t extent = from.dims[a], copies = extent ? to.dims[a] / extent : 0;
    if (b.count + 2 > GLOW_VIEW_RANK)
      return glow_select_fail(s, "it has too many axes");
    glow_box_push(&b, copies, extent * to.strides[a] * bytes, 0);
    glow_box_push(&b, extent, to.strides[a] * bytes, from.strides[a] * bytes);
  }
  return glow_box_append(s, n, &b, &to, &from);
}

/* ---- Pad ------------------------------------------------------------------------------------- */

/* A run of indices of an axis that come from a run of the source: forwards, backwards, or, with a
 * step of 0, from one place. */
typedef struct Segment {
  int64_t to, from, count, step;
} Segment;

enum { MAX_SEGMENTS = 3 };

/* The segments of an axis whose index i comes from i - begin. False if padding is wider than one
 * reflection or repetition. */
static bool cut_axis(int64_t n, int64_t out, int64_t begin, int mode, Segment *seg,
                     uint32_t *count) {
  int64_t before = begin > 0 ? begin : 0, first = begin < 0 ? -begin : 0;
  int64_t last = out - begin < n ? out - begin : n, after = out - begin > n ? out - begin - n : 0;
  int64_t most = mode == GLOW_PAD_MODE_REFLECT ? n - 1 : n;
  *count = 0;
  if (last > first)
    seg[(*count)++] = (Segment){first + begin, first, last - first, 1};
  if (mode == GLOW_PAD_MODE_CONSTANT)
    return true;
  if (n < 1 || (mode != GLOW_PAD_MODE_EDGE && (before > most || after > most)) || last <= first)
    return before == 0 && after == 0;
  if (before)
    seg[(*count)++] = mode == GLOW_PAD_MODE_EDGE   ? (Segment){0, 0, before, 0}
                      : mode == GLOW_PAD_MODE_WRAP ? (Segment){0, n - before, before, 1}
                                                   : (Segment){0, before, before, -1};
  if (after)
    seg[(*count)++] = mode == GLOW_PAD_MODE_EDGE   ? (Segment){out - after, n - 1, after, 0}
                      : mode == GLOW_PAD_MODE_WRAP ? (Segment){out - after, 0, after, 1}
                                                   : (Segment){out - after, n - 2, after, -1};
  return true;
}

/* The padded value, `from` or zeros if that is NULL, everywhere. */
static bool fill_all(GlowSelect *s, const GlowNode *n, const GlowView *to, const GlowView *from) {
  GlowBox b = {0};
  int64_t bytes = element_bytes(to);
  for (uint32_t a = 0; a < to->rank; a++)
    glow_box_push(&b, to->dims[a], to->strides[a] * bytes, 0);
  return glow_box_append(s, n, &b, to, from);
}

/* The same in the border alone: along each axis before and behind what comes from X, for the places
 * inside of all axes before it. */
static bool fill_border(GlowSelect *s, const GlowNode *n, const GlowView *to, const GlowView *from,
                        Segment (*seg)[MAX_SEGMENTS]) {
  int64_t bytes = element_bytes(to);
  for (uint32_t axis = 0; axis < to->rank; axis++) {
    const Segment *in = &seg[axis][0];
    const int64_t begin[] = {0, in->to + in->count}, end[] = {in->to, to->dims[axis]};
    for (int side = 0; side < 2; side++) {
      GlowBox b = {.to = begin[side] * to->strides[axis] * bytes};
      if (begin[side] == end[side])
        continue;
      for (uint32_t a = 0; a < to->rank; a++) {
        int64_t count = a < axis    ? seg[a][0].count
                        : a == axis ? end[side] - begin[side]
                                    : to->dims[a];
        b.to += a < axis ? seg[a][0].to * to->strides[a] * bytes : 0;
        glow_box_push(&b, count, to->strides[a] * bytes, 0);
      }
      if (!glow_box_append(s, n, &b, to, from))
        return false;
    }
  }
  return true;
}

/* The padded value, before the box of X is put into it: of a result that is larger than the second
 * level of cache only in its border, which otherwise takes more steps than it saves. */
static bool fill(GlowSelect *s, const GlowNode *n, const GlowView *to, Segment (*seg)[MAX_SEGMENTS],
                 int64_t boxes) {
  const GlowValue *value = glow_node_nins(n) > 2 ? glow_node_in(n, 2) : NULL;
  GlowView from;
  if (value && !plain_view(s, value, &from))
    return false;
  if (boxes && !to->type->layout && glow_type_bytes(to->type) > s->cpu.l2)
    return fill_border(s, n, to, value ? &from : NULL, seg);
  return fill_all(s, n, to, value ? &from : NULL);
}

/* Whether X lies whole inside of the result, and what repeats it is a halo, which takes fewer
 * boxes; fills in h and the slabs of X. */
static bool has_halo(const GlowNode *n, const GlowView *to, const GlowView *from,
                     const int64_t *begin, GlowHalo *h, GlowSlab *slabs) {
  *h = (GlowHalo){.to = *to, .mode = ((const GlowPadMembers *)n->members)->mode};
  for (uint32_t a = 0; a < to->rank; a++)
    h->inside[a] = to->dims[a];
  for (uint32_t a = 0; a < to->type->rank; a++) {
    const int64_t size = from->type->dims[a].size, added = to->type->dims[a].size - size;
    slabs[a] = (GlowSlab){size, begin[a], 0, 1};
    if (!begin[a] && !added)
      continue;
    if (size < 1 || begin[a] < 0 || added < begin[a] || glow_block_of(to->type, a) >= 0)
      return false;
    h->begin[a] = begin[a];
    h->inside[a] = size;
  }
  return h->mode != GLOW_PAD_MODE_CONSTANT;
}

bool glow_select_pad(GlowSelect *s, const GlowNode *n) {
  const GlowPadMembers *m = n->members;
  const GlowTensor *pads, *axes;
  GlowView to, from;
  Segment seg[GLOW_MAX_RANK][MAX_SEGMENTS];
  uint32_t counts[GLOW_MAX_RANK], at[GLOW_MAX_RANK] = {0};
  int64_t begin[GLOW_MAX_RANK] = {0}, boxes = 1;
  GlowSlab slabs[GLOW_MAX_RANK];
  GlowHalo halo;
  if (!read_view(s, glow_node_out(n, 0), &to) || !read_view(s, glow_node_in(n, 0), &from) ||
      !read_ints(s, n, 1, &pads) || !read_ints(s, n, 3, &axes))
    return false;
  uint32_t rank = to.type->rank;
  for (int64_t i = 0; i < glow_tensor_elements(pads) / 2; i++)
    begin[axis_at(axes, i, rank)] = glow_tensor_get_int(pads, i);
  if (has_halo(n, &to, &from, begin, &halo, slabs))
    return glow_slab_append(s, n, slabs, &to, &from) && glow_halo_append(s, n, &halo) &&
           glow_select_zero_padding(s, n, &to);
  for (uint32_t a = 0; a < rank; a++) {
    if (!cut_axis(from.type->dims[a].size, to.type->dims[a].size, begin[a], m->mode, seg[a],
                  &counts[a]))
      return glow_select_fail(s, "its padding is wider than what it repeats");
    boxes *= counts[a];
  }
  if (m->mode == GLOW_PAD_MODE_CONSTANT && !fill(s, n, &to, seg, boxes))
    return false;
  if (boxes > 27)
    return glow_select_fail(s, "its padding has too many parts");
  for (int64_t i = 0; i < boxes; i++) {
    for (uint32_t a = 0; a < rank; a++) {
      const Segment *g = &seg[a][at[a]];
      slabs[a] = (GlowSlab){g->count, g->to, g->from, g->step};
    }
    if (!glow_slab_append(s, n, slabs, &to, &from))
      return false;
    for (uint32_t a = rank; a-- > 0 && ++at[a] == counts[a];)
      at[a] = 0;
  }
  return glow_select_zero_padding(s, n, &to);
}
