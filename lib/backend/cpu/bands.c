/* Bands: neighbouring pieces of work that go over the same rows, as those of a Softmax do, take
 * turns at bands of rows, so that what one of them has written is still in the cache when the next
 * one reads it. The results are the same: whatever two of them touch, unless both only read it,
 * they cut into the same bands. */
#include "backend/cpu/cpu.h"
#include "target/cpu/rows.h"
#include "tensor/tensor.h"

#include <string.h>

enum {
  BAND_BYTES = 1 << 17, /* that a band touches, at most, if units are as small */
  MOST_BYTES = 5 << 18, /* that a unit may touch */
  MOST_SLICES = 64
};

/* An operand of a piece of work: unit u touches some of the `unit` bytes from first + u * step on;
 * step = 0: each unit may touch any of it. */
typedef struct Slices {
  int32_t storage;
  int64_t first, last; /* all units touch bytes first <= b < last */
  int64_t step, unit;
  int64_t all; /* the steps of all units */
  bool written;
} Slices;

typedef struct Group {
  Slices slices[MOST_SLICES];
  uint32_t count, before; /* those of the pieces before the last one */
  int64_t units;          /* what divides the units of all */
  int64_t bytes;          /* that they touch */
  bool shares;            /* whether the last piece touches what another one does */
} Group;

static Slices slices_of(const GlowPlace *place, int64_t step, int64_t unit, int64_t units,
                        bool written) {
  return (Slices){.storage = place->storage,
                  .first = place->offset,
                  .last = place->offset + place->bytes,
                  .step = step,
                  .unit = unit,
                  .all = step * units,
                  .written = written};
}

static bool overlap(const Slices *a, const Slices *b) {
  return a->storage == b->storage && a->first < b->last && b->first < a->last;
}

/* Whether two operands are cut alike: what a band of one touches, no other band of the other does,
 * however many bands there are. */
static bool alike(const Slices *a, const Slices *b) {
  const int64_t first = a->first < b->first ? a->first : b->first;
  return a->all && a->all == b->all && a->first - first + a->unit <= a->step &&
         b->first - first + b->unit <= b->step;
}

/* False if the work with this operand cannot join the group. */
static bool add_slices(Group *g, Slices slices) {
  bool known = false;
  if (slices.storage == GLOW_PLACE_ABSENT || slices.storage == GLOW_PLACE_ZEROS ||
      slices.storage == GLOW_PLACE_NUMBERS)
    return true;
  for (uint32_t i = 0; i < g->count; i++) {
    const Slices *s = &g->slices[i];
    bool same = alike(&slices, s);
    if (!overlap(&slices, s))
      continue;
    known |= same;
    g->shares |= i < g->before;
    if (i < g->before && (slices.written || s->written) && !same)
      return false;
  }
  if (g->count == MOST_SLICES)
    return false;
  g->bytes += known ? 0 : slices.all;
  g->slices[g->count++] = slices;
  return true;
}

/* Rows of neighbours, one behind the other. */
static bool add_reduction(Group *g, const GlowWork *w) {
  const GlowReduceParams *p = (const GlowReduceParams *)w->params;
  const GlowPlace *y = w->places, *x = y + w->nwritten;
  int64_t size = y->bytes / w->units, row = p->kept_stride[GLOW_REDUCE_DIMS - 1] * size;
  if (p->inner || p->kept[GLOW_REDUCE_DIMS - 1] != w->units || row != p->count * size)
    return false;
  for (uint32_t i = 0; i < w->nwritten; i++)
    if (!add_slices(g,
                    slices_of(&y[i], y[i].bytes / w->units, y[i].bytes / w->units, w->units, true)))
      return false;
  return add_slices(g, slices_of(x, row, row, w->units, false));
}

static bool add_stack(Group *g, const GlowWork *w) {
  const GlowStackParams *p = (const GlowStackParams *)w->params;
  for (uint32_t i = 0; i < w->noperands; i++) {
    const GlowOperand *o = &w->operands[i];
    const int64_t size = glow_kind_info[o->kind].bits / 8;
    int64_t last = 0, step = o->stride[0] * size;
    for (int d = 1; d < GLOW_STACK_DIMS; d++) {
      last += (p->n[d] - 1) * o->stride[d] * size;
      step = o->stride[d] < 0 ? 0 : step;
    }
    if (!add_slices(
            g, slices_of(&o->place, last < step ? step : 0, last + size, p->n[0], i < w->nouts)))
      return false;
  }
  return true;
}

/* One side of a copy: loops around `run` bytes, the outermost one over the units. */
static bool add_side(Group *g, const GlowPlace *place, const int64_t *n, const int64_t *stride,
                     int64_t dims, int64_t run, bool written) {
  GlowPlace at = *place;
  int64_t unit = run;
  for (int64_t d = 1; d < dims; d++) {
    const int64_t length = (n[d] - 1) * stride[d];
    at.offset += length < 0 ? length : 0;
    unit += length < 0 ? -length : length;
  }
  at.bytes += place->offset - at.offset;
  return stride[0] >= 0 &&
         add_slices(g, slices_of(&at, unit <= stride[0] ? stride[0] : 0, unit, n[0], written));
}

static bool add_move(Group *g, const GlowWork *w) {
  const GlowMoveParams *p = (const GlowMoveParams *)w->params;
  return add_side(g, w->places, p->n, p->to, GLOW_MOVE_DIMS, p->run, true) &&
         (w->nplaces == w->nwritten ||
          add_side(g, w->places + 1, p->n, p->from, GLOW_MOVE_DIMS, p->run, false));
}

/* Strides count elements here, and the line is the innermost loop. */
static bool add_elements(Group *g, const GlowWork *w, int64_t size) {
  const GlowMoveElementsParams *p = (const GlowMoveElementsParams *)w->params;
  int64_t n[GLOW_MOVE_LINES + 1], to[GLOW_MOVE_LINES + 1], from[GLOW_MOVE_LINES + 1];
  for (int d = 0; d <= GLOW_MOVE_LINES; d++) {
    const bool line = d == GLOW_MOVE_LINES;
    n[d] = line ? p->columns : p->n[d];
    to[d] = size * (line ? p->column_to : p->to[d]);
    from[d] = size * (line ? p->column_from : p->from[d]);
  }
  return p->parts == 1 && add_side(g, w->places, n, to, GLOW_MOVE_LINES + 1, size, true) &&
         add_side(g, w->places + 1, n, from, GLOW_MOVE_LINES + 1, size, false);
}

/* The bytes of the elements that a kernel moves one by one; 0: it does not. */
static int64_t moved(const GlowKernel *kernel) {
  for (int v = GLOW_MOVE_ELEMENTS_8; v <= GLOW_MOVE_ELEMENTS_64; v++)
    if (kernel == glow_find_move_elements((GlowMoveElementsVariant)v))
      return 1 << v;
  return 0;
}

/* The bytes of an index of a kernel that `find` finds by the kind of its indices; 0: it is another
 * one. */
static int64_t index_bytes(const GlowKernel *kernel, const GlowKernel *(*find)(GlowKind)) {
  return kernel == find(GLOW_KIND_I32) ? 4 : kernel == find(GLOW_KIND_I64) ? 8 : 0;
}

/* A unit is a vector of indices. A check is the first piece of its group, so that the fault is that
 * of the first piece which has one. */
static bool add_check(Group *g, const GlowWork *w, int64_t index) {
  const int64_t step = ((const GlowCheckParams *)w->params)->length * index;
  return !g->count && add_slices(g, slices_of(w->places, step, step, w->units, false));
}

/* The place in X is anywhere. */
static bool add_picks(Group *g, const GlowWork *w, int64_t bytes) {
  const GlowPickParams *p = (const GlowPickParams *)w->params;
  const int64_t step = p->part * p->bytes, index = p->part * bytes;
  return add_slices(g, slices_of(w->places, step, step, w->units, true)) &&
         add_slices(g, slices_of(w->places + 1, 0, 0, w->units, false)) &&
         add_slices(g, slices_of(w->places + 2, index, index, w->units, false));
}

static bool add_operands(Group *g, const GlowWork *w) {
  const int64_t check = index_bytes(w->kernel, glow_find_check_indices);
  const int64_t pick = index_bytes(w->kernel, glow_find_gather_elements);
  if (check)
    return add_check(g, w, check);
  if (w->faults)
    return false;
  if (w->kernel == glow_find_stack())
    return add_stack(g, w);
  if (!strncmp(w->kernel->name, "reduce_", 7))
    return add_reduction(g, w);
  if (w->kernel == glow_find_move() || w->kernel == glow_find_zero())
    return add_move(g, w);
  if (pick)
    return add_picks(g, w, pick);
  return moved(w->kernel) && add_elements(g, w, moved(w->kernel));
}

static int64_t common_divisor(int64_t a, int64_t b) { return b ? common_divisor(b, a % b) : a; }

/* Adds a piece of work to a group; false if it does not belong there. */
static bool add(Group *g, const GlowWork *w) {
  if (w->kind != GLOW_WORK_KERNEL || w->scratch)
    return false;
  g->before = g->count;
  g->shares = !g->before;
  g->units = common_divisor(w->units, g->units);
  return add_operands(g, w) && g->shares && g->bytes / g->units <= MOST_BYTES;
}

uint32_t glow_cpu_bands(const GlowWork *work, uint32_t count, int64_t *bands) {
  Group group = {0}, now = {0};
  uint32_t n = 0;
  for (; n < count && n < INT16_MAX && add(&now, &work[n]); n++)
    group = now;
  *bands = 1;
  while (n > 1 && *bands < group.units &&
         (group.bytes / *bands > BAND_BYTES || group.units % *bands))
    ++*bands;
  return *bands > 1 ? n : 0;
}
