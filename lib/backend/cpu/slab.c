/* Boxes of logical elements between buffers in any layout.
 *
 * Along an axis that is blocked on either side the elements are cut into runs that lie in one block
 * on both sides; runs of the same lanes in consecutive blocks are one part, of two loops. Blocks
 * that begin at the same element on both sides are one part, and the last, partial one another;
 * pieces that are shifted by part of a block make two more. Each choice of a part for every axis is
 * a box.
 */
#include "backend/cpu/box.h"

#define MAX_PARTS 8

/* How an axis of one buffer is laid out; a block of 0: it is not blocked. Strides of blocks and of
 * the elements inside one, in bytes. */
typedef struct Side {
  int64_t block, outer, inner;
} Side;

/* n runs of `size` elements. Bytes. */
typedef struct Part {
  int64_t n, size;
  int64_t to, to_step, to_inner;
  int64_t from, from_step, from_inner;
  int64_t to_lane, from_lane; /* where in a block the runs begin */
} Part;

typedef struct Parts {
  Part data[MAX_PARTS];
  uint32_t count;
} Parts;

static bool side_of(GlowSelect *s, const GlowView *v, uint32_t a, int64_t bytes, Side *side) {
  const GlowLayout *layout = v->type->layout;
  *side = (Side){.outer = v->strides[a] * bytes, .inner = v->strides[a] * bytes};
  for (uint32_t i = 0; layout && i < layout->nblocks; i++) {
    if (layout->blocks[i].axis != a)
      continue;
    if (side->block)
      return glow_select_fail(s, "an axis is blocked twice");
    side->block = layout->blocks[i].size;
    side->inner = v->strides[v->type->rank + i] * bytes;
  }
  return true;
}

static int64_t lane_of(const Side *side, int64_t i) { return side->block ? i % side->block : 0; }
static int64_t offset_of(const Side *side, int64_t i) {
  return side->block ? i / side->block * side->outer + i % side->block * side->inner
                     : i * side->inner;
}
/* How many elements from i on, at most n, are in its block. */
static int64_t left_of(const Side *side, int64_t i, int64_t n) {
  int64_t left = side->block ? side->block - i % side->block : n;
  return left < n ? left : n;
}

/* Whether a run is the next one of a part. */
static bool joins(Part *g, const Part *run) {
  if (g->size != run->size || g->to_lane != run->to_lane || g->from_lane != run->from_lane)
    return false;
  int64_t to_step = (run->to - g->to) / g->n, from_step = (run->from - g->from) / g->n;
  if (g->n > 1 && (to_step != g->to_step || from_step != g->from_step))
    return false;
  g->to_step = to_step;
  g->from_step = from_step;
  g->n++;
  return true;
}

static bool add_run(GlowSelect *s, Parts *parts, const Part *run) {
  for (uint32_t i = 0; i < parts->count; i++)
    if (joins(&parts->data[i], run))
      return true;
  if (parts->count == MAX_PARTS)
    return glow_select_fail(s, "its blocks are cut into too many parts");
  parts->data[parts->count++] = *run;
  return true;
}

static bool cut_axis(GlowSelect *s, const GlowView *to, const GlowView *from, uint32_t a,
                     const GlowSlab *slab, Parts *parts) {
  int64_t bytes = glow_kind_info[to->type->kind].bits / 8;
  Side t, f;
  parts->count = 0;
  if (!side_of(s, to, a, bytes, &t) || !side_of(s, from, a, bytes, &f))
    return false;
  if (!t.block && !f.block) {
    parts->data[parts->count++] = (Part){.n = slab->size,
                                         .size = 1,
                                         .to = offset_of(&t, slab->to),
                                         .to_step = t.inner,
                                         .from = offset_of(&f, slab->from),
                                         .from_step = f.inner * slab->step};
    return true;
  }
  if (slab->step != 1 && slab->size > 1)
    return glow_select_fail(s, "it takes steps along a blocked axis");
  for (int64_t i = 0; i < slab->size;) {
    int64_t to_at = slab->to + i, from_at = slab->from + i;
    Part run = {.n = 1,
                .size = left_of(&f, from_at, left_of(&t, to_at, slab->size - i)),
                .to = offset_of(&t, to_at),
                .to_inner = t.inner,
                .from = offset_of(&f, from_at),
                .from_inner = f.inner,
                .to_lane = lane_of(&t, to_at),
                .from_lane = lane_of(&f, from_at)};
    if (!add_run(s, parts, &run))
      return false;
    i += run.size;
  }
  return true;
}

bool glow_slab_append(GlowSelect *s, const GlowNode *n, const GlowSlab *slabs, const GlowView *to,
                      const GlowView *from) {
  uint32_t rank = to->type->rank, at[GLOW_MAX_RANK] = {0};
  Parts axes[GLOW_MAX_RANK];
  int64_t boxes = 1;
  for (uint32_t a = 0; a < rank; a++) {
    if (!cut_axis(s, to, from, a, &slabs[a], &axes[a]))
      return false;
    boxes *= axes[a].count;
  }
  for (int64_t i = 0; i < boxes; i++) {
    GlowBox b = {0};
    for (uint32_t a = 0; a < rank; a++) {
      const Part *p = &axes[a].data[at[a]];
      b.to += p->to;
      b.from += p->from;
      glow_box_push(&b, p->n, p->to_step, p->from_step);
      glow_box_push(&b, p->size, p->to_inner, p->from_inner);
    }
    if (!glow_box_append(s, n, &b, to, from))
      return false;
    for (uint32_t a = rank; a-- > 0 && ++at[a] == axes[a].count;)
      at[a] = 0;
  }
  return true;
}
