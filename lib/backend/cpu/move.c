/* Copy and Relayout as copies between strided boxes.
 *
 * A blocked axis is two loops, over blocks and inside a block. If the extent is no multiple of the
 * block, whole blocks and the last, partial one are boxes of their own, and its padding lanes are
 * zeroed. Loops are then ordered by the strides of the destination and merged where both sides are
 * contiguous. */
#include "kernels/cpu/move.h"
#include "backend/cpu/select.h"

#include <string.h>

typedef struct Loop {
  int64_t n, to, from; /* strides in bytes */
} Loop;

typedef struct Box {
  Loop loops[GLOW_VIEW_RANK];
  uint32_t count;
  int64_t to, from; /* offsets in bytes */
} Box;

/* An axis of both sides. A block of 0: the axis is not blocked. Strides are those of the blocks and
 * of the elements inside one, in bytes. */
typedef struct Axis {
  int64_t extent, to_block, from_block;
  int64_t to_outer, to_inner, from_outer, from_inner;
} Axis;

static bool fail(GlowSelect *s, const char *why) {
  s->why = why;
  return false;
}

static bool axis_side(GlowSelect *s, const GlowView *v, uint32_t a, int64_t bytes, int64_t *block,
                      int64_t *outer, int64_t *inner) {
  const GlowLayout *layout = v->type->layout;
  *block = 0;
  *outer = *inner = v->strides[a] * bytes;
  for (uint32_t i = 0; layout && i < layout->nblocks; i++) {
    if (layout->blocks[i].axis != a)
      continue;
    if (*block)
      return fail(s, "an axis is blocked twice");
    *block = layout->blocks[i].size;
    *inner = v->strides[v->type->rank + i] * bytes;
  }
  return true;
}

static bool axis_of(GlowSelect *s, const GlowView *to, const GlowView *from, uint32_t a, Axis *x) {
  int64_t bytes = glow_kind_info[to->type->kind].bits / 8;
  *x = (Axis){.extent = to->type->dims[a].size};
  if (!axis_side(s, to, a, bytes, &x->to_block, &x->to_outer, &x->to_inner) ||
      !axis_side(s, from, a, bytes, &x->from_block, &x->from_outer, &x->from_inner))
    return false;
  if (x->to_block && x->from_block && x->to_block != x->from_block)
    return fail(s, "an axis changes the size of its blocks");
  int64_t block = x->to_block ? x->to_block : x->from_block;
  if (block && !x->to_block)
    x->to_outer = x->to_inner * block;
  if (block && !x->from_block)
    x->from_outer = x->from_inner * block;
  return true;
}

static void push(Box *b, int64_t n, int64_t to, int64_t from) {
  if (n != 1)
    b->loops[b->count++] = (Loop){n, to, from};
}

/* Largest destination stride outermost; then neighbours that are one loop become one. */
static void normalize(Box *b) {
  for (uint32_t i = 1; i < b->count; i++) {
    for (uint32_t k = i; k > 0 && b->loops[k - 1].to < b->loops[k].to; k--) {
      Loop t = b->loops[k];
      b->loops[k] = b->loops[k - 1];
      b->loops[k - 1] = t;
    }
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < b->count; i++) {
    Loop in = b->loops[i], *out = kept ? &b->loops[kept - 1] : NULL;
    if (out && out->to == in.n * in.to && out->from == in.n * in.from)
      *out = (Loop){out->n * in.n, in.to, in.from};
    else
      b->loops[kept++] = in;
  }
  b->count = kept;
}

static bool append(GlowSelect *s, const GlowNode *n, Box *b, const GlowView *to,
                   const GlowView *from) {
  int64_t bytes = glow_kind_info[to->type->kind].bits / 8;
  for (uint32_t i = 0; i < b->count; i++) {
    if (!b->loops[i].n)
      return true;
  }
  normalize(b);
  GlowMoveParams p = {.run = bytes};
  GlowPlace places[2] = {to->place};
  const Loop *last = b->count ? &b->loops[b->count - 1] : NULL;
  if (last && last->to == bytes && (!from || last->from == bytes)) {
    p.run = last->n * bytes;
    b->count--;
  }
  if (b->count > GLOW_MOVE_DIMS)
    return fail(s, "it has too many axes");
  int64_t cost = p.run;
  for (uint32_t i = 0; i < GLOW_MOVE_DIMS; i++) {
    Loop none = {1, 0, 0}, l = i < b->count ? b->loops[i] : none;
    p.n[i] = l.n;
    p.to[i] = l.to;
    p.from[i] = from ? l.from : 0;
    cost *= l.n;
  }
  places[0].offset += b->to;
  places[0].bytes -= b->to;
  if (from) {
    places[1] = from->place;
    places[1].offset += b->from;
    places[1].bytes -= b->from;
  }
  GlowWorkSpec spec = {.kernel = from ? "move" : "zero",
                       .params = &p,
                       .params_size = sizeof p,
                       .places = {places[0], places[1]},
                       .nplaces = from ? 2 : 1,
                       .nwritten = 1,
                       .units = p.n[0],
                       .cost = cost};
  glow_select_work(s, n, &spec);
  return true;
}

/* One box for each choice of whole or partial blocks: bit i of `partial` for axis i. */
static bool append_boxes(GlowSelect *s, const GlowNode *n, const GlowView *to,
                         const GlowView *from) {
  uint32_t rank = to->type->rank, partial_axes = 0;
  Axis axes[GLOW_MAX_RANK];
  for (uint32_t a = 0; a < rank; a++) {
    if (!axis_of(s, to, from, a, &axes[a]))
      return false;
    int64_t block = axes[a].to_block ? axes[a].to_block : axes[a].from_block;
    partial_axes |= block && axes[a].extent % block ? 1u << a : 0;
  }
  for (uint32_t partial = 0; partial < 1u << rank; partial++) {
    if (partial & ~partial_axes)
      continue;
    Box b = {0};
    for (uint32_t a = 0; a < rank; a++) {
      const Axis *x = &axes[a];
      int64_t block = x->to_block ? x->to_block : x->from_block;
      if (!block) {
        push(&b, x->extent, x->to_outer, x->from_outer);
      } else if (partial >> a & 1u) {
        b.to += x->extent / block * x->to_outer;
        b.from += x->extent / block * x->from_outer;
        push(&b, x->extent % block, x->to_inner, x->from_inner);
      } else {
        push(&b, x->extent / block, x->to_outer, x->from_outer);
        push(&b, block, x->to_inner, x->from_inner);
      }
    }
    if (!append(s, n, &b, to, from))
      return false;
  }
  return true;
}

bool glow_select_zero_padding(GlowSelect *s, const GlowNode *n, const GlowView *to) {
  const GlowLayout *layout = to->type->layout;
  int64_t bytes = glow_kind_info[to->type->kind].bits / 8;
  for (uint32_t i = 0; layout && i < layout->nblocks; i++) {
    uint32_t axis = layout->blocks[i].axis, inner = to->type->rank + i;
    int64_t block = layout->blocks[i].size, extent = to->type->dims[axis].size;
    if (extent % block == 0)
      continue;
    Box b = {0};
    for (uint32_t p = 0; p < to->rank; p++) {
      if (p == axis)
        b.to += extent / block * to->strides[p] * bytes;
      else if (p == inner)
        b.to += extent % block * to->strides[p] * bytes;
      push(&b,
           p == axis    ? 1
           : p == inner ? block - extent % block
                        : to->dims[p],
           to->strides[p] * bytes, to->strides[p] * bytes);
    }
    if (!append(s, n, &b, to, NULL))
      return false;
  }
  return true;
}

bool glow_select_move(GlowSelect *s, const GlowNode *n) {
  GlowView to, from;
  if (!glow_select_view(s, glow_node_out(n, 0), &to) ||
      !glow_select_view(s, glow_node_in(n, 0), &from))
    return false;
  if (glow_kind_info[to.type->kind].bits % 8)
    return glow_select_fail(s, "its elements are not whole bytes");
  bool same = to.place.storage == from.place.storage && to.place.offset == from.place.offset &&
              memcmp(to.strides, from.strides, to.rank * sizeof *to.strides) == 0;
  if (same && to.type == from.type)
    return true;
  return append_boxes(s, n, &to, &from) && glow_select_zero_padding(s, n, &to);
}
