/* Copy and Relayout, and copies between strided boxes, which they and other instructions are made
 * of.
 *
 * Loops of a box are ordered by the strides of the destination and merged where both sides are
 * contiguous; padding lanes of a result are zeroed. */
#include "backend/cpu/box.h"
#include "cpu/work.h"

#include <string.h>

/* Orders the loops, the largest stride of the destination outermost, and merges neighbours that are
 * one loop on both sides. */
static void normalize(GlowBox *b) {
  for (uint32_t i = 1; i < b->count; i++) {
    for (uint32_t k = i; k > 0 && b->loops[k - 1].to < b->loops[k].to; k--) {
      GlowBoxLoop t = b->loops[k];
      b->loops[k] = b->loops[k - 1];
      b->loops[k - 1] = t;
    }
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < b->count; i++) {
    GlowBoxLoop in = b->loops[i], *out = kept ? &b->loops[kept - 1] : NULL;
    if (out && out->to == in.n * in.to && out->from == in.n * in.from)
      *out = (GlowBoxLoop){out->n * in.n, in.to, in.from};
    else
      b->loops[kept++] = in;
  }
  b->count = kept;
}

/* The variant of a kernel for elements of so many bytes: 8, 16, 32 or 64 bits. */
static int size_class(int64_t bytes) { return bytes == 8 ? 3 : (int)bytes / 2; }

/* Whether a box transposes a matrix: the loops in which both sides are contiguous differ. *column
 * is that of the source. */
static bool is_transposition(const GlowBox *b, int64_t bytes, uint32_t *column) {
  const GlowBoxLoop *row = b->count ? &b->loops[b->count - 1] : NULL;
  if (!row || bytes > 8 || row->to != bytes || row->from <= bytes || row->n < 4)
    return false;
  for (*column = 0; *column + 1 < b->count; ++*column)
    if (b->loops[*column].from == bytes && b->loops[*column].n >= 4)
      return b->count <= GLOW_TRANSPOSE_DIMS + 2;
  return false;
}

static void append_transposition(GlowSelect *s, const GlowNode *n, const GlowBox *b,
                                 uint32_t column, int64_t bytes, const GlowTransposePlaces *at) {
  const GlowBoxLoop *row = &b->loops[b->count - 1], *col = &b->loops[column];
  GlowTransposeParams p = {.rows = row->n,
                           .columns = col->n,
                           .row_from = row->from / bytes,
                           .column_to = col->to / bytes};
  int64_t cost = bytes * row->n * col->n, d = GLOW_TRANSPOSE_DIMS;
  for (uint32_t i = 0; i < GLOW_TRANSPOSE_DIMS; i++)
    p.n[i] = 1;
  for (uint32_t i = b->count - 1; i-- > 0;) {
    if (i == column)
      continue;
    p.n[--d] = b->loops[i].n;
    p.to[d] = b->loops[i].to / bytes;
    p.from[d] = b->loops[i].from / bytes;
    cost *= b->loops[i].n;
  }
  p.stripes = (col->n + GLOW_TRANSPOSE_TILE - 1) / GLOW_TRANSPOSE_TILE;
  GlowWorkSpec spec = {.units = p.stripes, .cost = cost};
  for (uint32_t i = 0; i < GLOW_TRANSPOSE_DIMS; i++)
    spec.units *= p.n[i];
  glow_work_transpose(s, n, (GlowTransposeVariant)size_class(bytes), &p, at, &spec);
}

/* Which of `dims` loops of a kernel loop i of `count` is: the outermost one first, the others last.
 */
static uint32_t place_of(uint32_t i, uint32_t count, uint32_t dims) {
  return i ? dims - count + i : 0;
}

/* How a box puts two rows between each other, or takes them apart. */
typedef struct Pairs {
  bool apart;
  uint32_t pair, columns; /* the loop over the two rows, the one over their elements */
} Pairs;

/* Whether a box is one of these, each element once. */
static bool is_pairing(const GlowBox *b, int64_t bytes, Pairs *p) {
  uint32_t last = b->count - 1;
  if (b->count < 2 || b->count > GLOW_INTERLEAVE_DIMS + 2 || bytes > 8 ||
      b->loops[last].to != bytes)
    return false;
  *p = (Pairs){.pair = last, .columns = last - 1};
  const GlowBoxLoop *rows = &b->loops[last], *columns = &b->loops[last - 1];
  if (rows->n == 2 && columns->to == 2 * bytes && columns->from == bytes)
    return true;
  *p = (Pairs){.apart = true, .columns = last};
  for (; p->pair < last; p->pair++)
    if (b->loops[p->pair].n == 2 && b->loops[p->pair].from == bytes)
      return b->loops[last].from == 2 * bytes;
  return false;
}

enum { LARGE = 1 << 20 }; /* bytes that are not in a cache when they are written */

/* Two rows of the result are written at once anyway, so the source may be read as it lies. */
static void order_by_source(GlowBoxLoop *loops, uint32_t count) {
  for (uint32_t i = 1; i < count; i++)
    for (uint32_t k = i; k > 0 && loops[k - 1].from < loops[k].from; k--) {
      GlowBoxLoop t = loops[k];
      loops[k] = loops[k - 1];
      loops[k - 1] = t;
    }
}

/* A short innermost loop changes places with a longer one around it. */
static void lengthen_innermost(GlowBoxLoop *loops, uint32_t count) {
  GlowBoxLoop *last = &loops[count - 1];
  if (count < 2 || last->n >= 8 || last[-1].n <= last->n)
    return;
  GlowBoxLoop t = *last;
  *last = last[-1];
  last[-1] = t;
}

/* Where all loops of a border but the outermost one are short, some steps of that one become the
 * innermost loop: those of a plane, if there are planes. */
static void lengthen_border(GlowBox *b) {
  enum { SHORT = 8, MOST = 256 };
  GlowBoxLoop *first = &b->loops[0];
  const bool planes = b->planes > 1 && first->n % b->planes == 0;
  int64_t steps = planes ? first->n / b->planes : MOST;
  for (uint32_t i = 1; i < b->count; i++)
    if (b->loops[i].n >= SHORT)
      return;
  if (!b->planes || b->count < (planes ? 2 : 3) || b->count > GLOW_MOVE_LINES)
    return;
  while (first->n % steps)
    steps--;
  if (steps < SHORT)
    return;
  b->loops[b->count++] = (GlowBoxLoop){steps, first->to, first->from};
  *first = (GlowBoxLoop){first->n / steps, first->to * steps, first->from * steps};
}

static void append_pairs(GlowSelect *s, const GlowNode *n, const GlowBox *b, const Pairs *pairs,
                         int64_t bytes, const GlowInterleavePlaces *at, int64_t cost) {
  const GlowBoxLoop *rows = &b->loops[pairs->pair];
  GlowInterleaveParams p = {.columns = b->loops[pairs->columns].n,
                            .row = (pairs->apart ? rows->to : rows->from) / bytes};
  for (uint32_t i = 0; i < GLOW_INTERLEAVE_DIMS; i++)
    p.n[i] = 1;
  GlowBoxLoop around[GLOW_INTERLEAVE_DIMS];
  uint32_t count = 0;
  for (uint32_t i = 0; i < b->count; i++)
    if (i != pairs->pair && i != pairs->columns)
      around[count++] = b->loops[i];
  if (pairs->apart && cost > LARGE)
    order_by_source(around, count);
  else if (count && cost <= LARGE)
    lengthen_innermost(around, count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t d = place_of(i, count, GLOW_INTERLEAVE_DIMS);
    p.n[d] = around[i].n;
    p.to[d] = around[i].to / bytes;
    p.from[d] = around[i].from / bytes;
  }
  GlowWorkSpec spec = {.units = p.n[0], .cost = cost};
  if (pairs->apart)
    glow_work_deinterleave(s, n, (GlowDeinterleaveVariant)size_class(bytes), &p,
                           &(GlowDeinterleavePlaces){.y = at->y, .x = at->x}, &spec);
  else
    glow_work_interleave(s, n, (GlowInterleaveVariant)size_class(bytes), &p, at, &spec);
}

/* Each element by itself: the innermost loop is that of the result, unless it is short. */
static void append_elements(GlowSelect *s, const GlowNode *n, GlowBox *b, int64_t bytes,
                            const GlowMoveElementsPlaces *at, int64_t cost) {
  lengthen_border(b);
  lengthen_innermost(b->loops, b->count);
  const uint32_t count = b->count - 1;
  const GlowBoxLoop *line = &b->loops[count];
  GlowMoveElementsParams p = {.columns = line->n,
                              .column_to = line->to / bytes,
                              .column_from = line->from / bytes,
                              .part = count ? line->n : GLOW_MOVE_PART};
  p.parts = (line->n + p.part - 1) / p.part;
  for (uint32_t i = 0; i < GLOW_MOVE_LINES; i++)
    p.n[i] = 1;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t d = place_of(i, count, GLOW_MOVE_LINES);
    p.n[d] = b->loops[i].n;
    p.to[d] = b->loops[i].to / bytes;
    p.from[d] = b->loops[i].from / bytes;
  }
  glow_work_move_elements(s, n, (GlowMoveElementsVariant)size_class(bytes), &p, at,
                          &(GlowWorkSpec){.units = p.n[0] * p.parts, .cost = cost});
}

/* Where runs that follow each other in the result are far apart in the source, but have neighbours
 * there in the next outer loop: some of the former at a time, so that pages of both sides are used
 * while they are at hand. */
static void cut_far_loop(GlowBox *b, int64_t run) {
  enum { PAGE = 4096, SHORT = 1024, TOGETHER = 8 };
  if (b->count < 2 || b->count >= GLOW_MOVE_DIMS || run > SHORT)
    return;
  GlowBoxLoop *inner = &b->loops[b->count - 1], *outer = inner - 1;
  if (inner->from < PAGE || outer->from <= 0 || outer->from > SHORT || inner->n % TOGETHER ||
      inner->n == TOGETHER)
    return;
  const GlowBoxLoop group = {inner->n / TOGETHER, inner->to * TOGETHER, inner->from * TOGETHER};
  b->loops[b->count++] = (GlowBoxLoop){TOGETHER, inner->to, inner->from};
  *inner = *outer;
  *outer = group;
}

/* Runs of bytes; zeros if !source. */
static void append_runs(GlowSelect *s, const GlowNode *n, const GlowBox *b, int64_t run,
                        bool source, const GlowMovePlaces *at, int64_t cost) {
  GlowMoveParams p = {.run = run};
  for (uint32_t i = 0; i < GLOW_MOVE_DIMS; i++)
    p.n[i] = 1;
  for (uint32_t i = 0; i < b->count; i++) {
    uint32_t d = place_of(i, b->count, GLOW_MOVE_DIMS);
    p.n[d] = b->loops[i].n;
    p.to[d] = b->loops[i].to;
    p.from[d] = source ? b->loops[i].from : 0;
  }
  GlowWorkSpec spec = {.units = p.n[0], .cost = cost};
  if (source)
    glow_work_move(s, n, &p, at, &spec);
  else
    glow_work_zero(s, n, &p, &(GlowZeroPlaces){.y = at->y}, &spec);
}

bool glow_box_append(GlowSelect *s, const GlowNode *n, GlowBox *b, const GlowView *to,
                     const GlowView *from) {
  int64_t bytes = glow_kind_info[to->type->kind].bits / 8, run = bytes, cost;
  for (uint32_t i = 0; i < b->count; i++) {
    if (!b->loops[i].n)
      return true;
  }
  normalize(b);
  GlowPlace y = to->place, x = from ? from->place : glow_place_absent();
  const GlowBoxLoop *last = b->count ? &b->loops[b->count - 1] : NULL;
  if (last && last->to == bytes && (!from || last->from == bytes)) {
    run = last->n * bytes;
    b->count--;
  }
  uint32_t column = 0;
  bool crossed = from && is_transposition(b, bytes, &column);
  Pairs pairs;
  bool paired = from && is_pairing(b, bytes, &pairs);
  if (b->count > GLOW_MOVE_DIMS)
    return glow_select_fail(s, "it has too many axes");
  cost = run;
  for (uint32_t i = 0; i < b->count; i++)
    cost *= b->loops[i].n;
  y.offset += b->to;
  y.bytes -= b->to;
  x.offset += b->from;
  x.bytes -= b->from;
  if (paired)
    append_pairs(s, n, b, &pairs, bytes, &(GlowInterleavePlaces){.y = y, .x = x}, cost);
  else if (crossed)
    append_transposition(s, n, b, column, bytes, &(GlowTransposePlaces){.y = y, .x = x});
  else if (from && run == bytes && b->count && bytes <= 8)
    append_elements(s, n, b, bytes, &(GlowMoveElementsPlaces){.y = y, .x = x}, cost);
  else {
    if (from)
      cut_far_loop(b, run);
    append_runs(s, n, b, run, from != NULL, &(GlowMovePlaces){.y = y, .x = x}, cost);
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
    GlowBox b = {0};
    for (uint32_t p = 0; p < to->rank; p++) {
      if (p == axis)
        b.to += extent / block * to->strides[p] * bytes;
      else if (p == inner)
        b.to += extent % block * to->strides[p] * bytes;
      glow_box_push(&b,
                    p == axis    ? 1
                    : p == inner ? block - extent % block
                                 : to->dims[p],
                    to->strides[p] * bytes, to->strides[p] * bytes);
    }
    if (!glow_box_append(s, n, &b, to, NULL))
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
  GlowSlab all[GLOW_MAX_RANK];
  for (uint32_t a = 0; a < to.type->rank; a++)
    all[a] = (GlowSlab){to.type->dims[a].size, 0, 0, 1};
  return glow_slab_append(s, n, all, &to, &from) && glow_select_zero_padding(s, n, &to);
}
