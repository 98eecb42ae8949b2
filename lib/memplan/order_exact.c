/* The best order of up to 64 steps: dynamic programming over the sets of steps that can have run.
 * Which values are alive follows from the set, so of all orders of a set only the lowest peak
 * counts.
 *
 * Sets are expanded by their number of steps. Sets whose peak is not below the best known are
 * dropped. A step that is ready, raises no peak and leaves no more bytes than it finds is run at
 * once: running it early adds no bytes to what is alive later, and lets no value live longer. */
#include "memplan/order_internal.h"

enum { MAX_PIECE = 64, MAX_LOG_SETS = 17 };

typedef struct Set {
  uint64_t done;      /* bit i: step from + i of the piece has run */
  int64_t live, peak; /* bytes alive behind these steps; the lowest peak on the way */
  uint32_t before; /* index of the set without the last step, `step` */
  uint8_t step;
} Set;

typedef struct Exact {
  const GlowOrderProblem *problem;
  uint32_t from, n;
  uint64_t needs[MAX_PIECE]; /* steps that must have run */
  uint64_t *takers;          /* of each value: steps of the piece that take it */
  bool *outlives;            /* of each value: it is needed after the piece */
  int64_t best;
  Set *sets;
  uint32_t nsets, max_sets;
  uint32_t *slots, nslots; /* hash table of the sets: index + 1 */
} Exact;

/* Whether v ends with `step` if `done` have run before. */
static bool ends_with(const Exact *e, uint32_t v, uint64_t done) {
  return !e->outlives[v] && !(e->takers[v] & ~done);
}

static Set after(const Exact *e, const Set *set, uint32_t step) {
  const GlowOrderStep *t = &e->problem->steps[e->from + step];
  Set next = {.done = set->done | UINT64_C(1) << step, .live = set->live, .step = (uint8_t)step};
  int64_t during = set->live + t->inner;
  for (uint32_t k = 0; k < t->makes.count; k++) {
    uint32_t v = t->makes.data[k];
    during += e->problem->values[v].bytes;
    next.live += ends_with(e, v, next.done) ? 0 : e->problem->values[v].bytes;
  }
  for (uint32_t k = 0; k < t->takes.count; k++)
    if (ends_with(e, t->takes.data[k], next.done))
      next.live -= e->problem->values[t->takes.data[k]].bytes;
  for (uint32_t k = 0; k < t->reuses.count; k++)
    if (ends_with(e, t->reuses.data[k], next.done)) {
      during -= t->reused;
      break;
    }
  next.peak = during > set->peak ? during : set->peak;
  return next;
}

/* Keeps the set, unless it is known with a peak that is no higher. False if there is no room. */
static bool keep(Exact *e, Set next) {
  uint64_t h = next.done * UINT64_C(0x9E3779B97F4A7C15);
  uint32_t at = (uint32_t)(h >> 32) % e->nslots;
  for (; e->slots[at]; at = (at + 1) % e->nslots) {
    Set *old = &e->sets[e->slots[at] - 1];
    if (old->done != next.done)
      continue;
    if (next.peak < old->peak)
      *old = next;
    return true;
  }
  if (e->nsets == e->max_sets)
    return false;
  e->sets[e->nsets++] = next;
  e->slots[at] = e->nsets;
  return true;
}

static bool expand(Exact *e, uint32_t index) {
  const Set set = e->sets[index];
  Set ready[MAX_PIECE];
  uint32_t n = 0;
  for (uint32_t i = 0; i < e->n; i++) {
    if (set.done >> i & 1 || e->needs[i] & ~set.done)
      continue;
    Set next = after(e, &set, i);
    next.before = index;
    if (next.live <= set.live && next.peak == set.peak)
      return keep(e, next);
    if (next.peak < e->best)
      ready[n++] = next;
  }
  for (uint32_t i = 0; i < n; i++)
    if (!keep(e, ready[i]))
      return false;
  return true;
}

static void describe(GlowArena *scratch, Exact *e, const GlowOrderState *s) {
  const GlowOrderProblem *p = e->problem;
  uint32_t *maker = glow_order_makers(scratch, p);
  uint32_t *left = glow_arena_copy(scratch, s->left, p->nvalues * sizeof *left);
  e->takers = GLOW_NEW_ARRAY(scratch, uint64_t, p->nvalues);
  e->outlives = GLOW_NEW_ARRAY(scratch, bool, p->nvalues);
  for (uint32_t i = 0; i < e->n; i++) {
    const GlowOrderStep *t = &p->steps[e->from + i];
    for (uint32_t k = 0; k < t->takes.count; k++) {
      uint32_t v = t->takes.data[k];
      e->takers[v] |= UINT64_C(1) << i;
      left[v]--;
      if (maker[v] != GLOW_ORDER_NONE && maker[v] >= e->from)
        e->needs[i] |= UINT64_C(1) << (maker[v] - e->from);
    }
    for (uint32_t k = 0; k < t->after.count; k++)
      if (t->after.data[k] >= e->from)
        e->needs[i] |= UINT64_C(1) << (t->after.data[k] - e->from);
  }
  for (uint32_t v = 0; v < p->nvalues; v++)
    e->outlives[v] = left[v] != 0;
}

bool glow_order_exact(GlowArena *scratch, const GlowOrderState *s, uint32_t from, uint32_t to,
                      int64_t *best, uint32_t *order) {
  if (to - from > MAX_PIECE)
    return false;
  Exact e = {.problem = s->problem, .from = from, .n = to - from, .best = *best};
  describe(scratch, &e, s);
  e.max_sets = UINT32_C(1) << (e.n < MAX_LOG_SETS ? e.n : MAX_LOG_SETS);
  e.nslots = 2 * e.max_sets;
  e.sets = GLOW_NEW_ARRAY(scratch, Set, e.max_sets);
  e.slots = GLOW_NEW_ARRAY(scratch, uint32_t, e.nslots);
  e.sets[e.nsets++] = (Set){.live = s->live, .peak = s->live};
  uint32_t first = 0;
  for (uint32_t size = 0; size < e.n; size++) {
    uint32_t end = e.nsets;
    for (uint32_t i = first; i < end; i++)
      if (!expand(&e, i))
        return false;
    first = end;
  }
  if (first == e.nsets)
    return true; /* no order is better */
  *best = e.sets[first].peak;
  for (uint32_t i = e.n, at = first; i; at = e.sets[at].before)
    order[--i] = from + e.sets[at].step;
  return true;
}
