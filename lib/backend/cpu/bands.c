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

/* An operand of a piece of work, of which unit u of `units` touches bytes u * bytes / units up to
 * (u + 1) * bytes / units. bytes = 0: each unit may touch any of it. */
typedef struct Slices {
  const GlowPlace *place;
  int64_t bytes;
  bool written;
} Slices;

typedef struct Group {
  Slices slices[MOST_SLICES];
  uint32_t count, before; /* those of the pieces before the last one */
  int64_t units;          /* what divides the units of all */
  int64_t bytes;          /* that they touch */
  bool shares;            /* whether the last piece touches what another one does */
} Group;

static bool overlap(const GlowPlace *a, const GlowPlace *b) {
  return a->storage == b->storage && a->offset < b->offset + b->bytes &&
         b->offset < a->offset + a->bytes;
}

/* False if the work with this operand cannot join the group. */
static bool add_slices(Group *g, const GlowPlace *place, int64_t bytes, bool written) {
  bool known = false;
  if (place->storage == GLOW_PLACE_ABSENT || place->storage == GLOW_PLACE_ZEROS)
    return true;
  for (uint32_t i = 0; i < g->count; i++) {
    const Slices *s = &g->slices[i];
    bool same = place->offset == s->place->offset && bytes == s->bytes && bytes;
    if (!overlap(place, s->place))
      continue;
    known |= same;
    g->shares |= i < g->before;
    if (i < g->before && (written || s->written) && !same)
      return false;
  }
  if (g->count == MOST_SLICES)
    return false;
  g->bytes += known ? 0 : bytes;
  g->slices[g->count++] = (Slices){place, bytes, written};
  return true;
}

/* Rows of neighbours, one behind the other. */
static bool add_reduction(Group *g, const GlowWork *w) {
  const GlowReduceParams *p = (const GlowReduceParams *)w->params;
  const GlowPlace *y = w->places, *x = y + w->nwritten;
  int64_t size = y->bytes / w->units, row = p->kept_stride[GLOW_REDUCE_DIMS - 1];
  if (p->inner || p->kept[GLOW_REDUCE_DIMS - 1] != w->units || row != p->count)
    return false;
  for (uint32_t i = 0; i < w->nwritten; i++)
    if (!add_slices(g, &y[i], y[i].bytes, true))
      return false;
  return add_slices(g, x, row * size * w->units, false);
}

/* The bytes of an operand of a stack, or 0 if its units are no slices. */
static int64_t sliced(const GlowStackParams *p, const GlowOperand *o) {
  int64_t last = 0;
  for (int d = 1; d < GLOW_STACK_DIMS; d++) {
    if (o->stride[d] < 0)
      return 0;
    last += (p->n[d] - 1) * o->stride[d];
  }
  return last < o->stride[0] ? o->stride[0] * p->n[0] * (glow_kind_info[o->kind].bits / 8) : 0;
}

static bool add_stack(Group *g, const GlowWork *w) {
  for (uint32_t i = 0; i < w->noperands; i++)
    if (!add_slices(g, &w->operands[i].place,
                    sliced((const GlowStackParams *)w->params, &w->operands[i]), i < w->nouts))
      return false;
  return true;
}

static int64_t common_divisor(int64_t a, int64_t b) { return b ? common_divisor(b, a % b) : a; }

/* Adds a piece of work to a group; false if it does not belong there. */
static bool add(Group *g, const GlowWork *w) {
  if (w->kind != GLOW_WORK_KERNEL || w->faults || w->scratch)
    return false;
  g->before = g->count;
  g->shares = !g->before;
  g->units = common_divisor(w->units, g->units);
  bool fits = w->kernel == glow_find_stack()            ? add_stack(g, w)
              : !strncmp(w->kernel->name, "reduce_", 7) ? add_reduction(g, w)
                                                        : false;
  return fits && g->shares && g->bytes / g->units <= MOST_BYTES;
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
