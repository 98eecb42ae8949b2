/* Exact search: offsets that fit under a limit, or the proof that there are none.
 *
 * Time is cut into sections, one for each maximal set of buffers that live together. Buffers are
 * stacked from below, so a section has a floor, and what is left must fit between floor and limit.
 * A valley is a run of sections of one floor between higher ones. The search picks a section of a
 * valley and branches: one of the buffers that lie inside the valley covers the section at its
 * floor, or none does, and the floor rises to the next height at which a buffer can begin.
 *
 *  - Plans with a gap that a buffer above could drop into are left out, as in "MiniMalloc: A
 *    Lightweight Memory Allocator for Hardware-Accelerated Machine Learning" (ASPLOS 2023); see
 *    note [plans of the smallest sum]. Long lives are tried before short ones, and among buffers of
 *    one lifetime the small ones first.
 *  - For every height, the buffers that cannot begin below it must fit between it and the limit.
 *  - Where no remaining buffer crosses from one section to the next, both sides are searched apart.
 *  - A dead end names the decisions that it follows from; the search goes back to the last of them
 *    at once, past decisions that have no part in the dead end.
 *  - States that failed are remembered by a hash of 64 bits, from one run to the next. */
#include "memplan/search.h"
#include "support/sort.h"

enum { MAX_DEPTH = 2048, FAILED_BITS = 18 };

typedef struct Valley {
  uint32_t from, to; /* the part of time that is searched */
  uint32_t at;       /* the section to decide on */
  uint32_t left, right; /* the valley: sections [left, right) */
  int64_t floor, wall;  /* of the valley; of the lower of its neighbours, INT64_MAX without any */
} Valley;

/* ---- The section to decide on ---------------------------------------------------------------- */

static int64_t wall(const GlowSearch *s, const Valley *v) {
  int64_t low = INT64_MAX;
  if (v->left > v->from)
    low = s->sections[v->left - 1].now.floor;
  if (v->right < v->to && s->sections[v->right].now.floor < low)
    low = s->sections[v->right].now.floor;
  return low;
}

/* Fills in left and right of all sections in [from, to); left is UINT32_MAX outside of valleys. */
static void find_valleys(GlowSearch *s, uint32_t from, uint32_t to) {
  for (uint32_t at = from, end; at < to; at = end) {
    int64_t floor = s->sections[at].now.floor;
    for (end = at; end < to && s->sections[end].now.floor == floor; end++)
      s->covers[end] = 0;
    bool valley = (at == from || s->sections[at - 1].now.floor > floor) &&
                  (end == to || s->sections[end].now.floor > floor);
    for (uint32_t t = at; t < end; t++) {
      s->left[t] = valley ? at : UINT32_MAX;
      s->right[t] = end;
    }
    s->least[at] = INT64_MAX;
  }
  s->covers[to] = 0;
}

/* Fills in `covers`: how many more items of a valley cover a section at its floor than cover the
 * section before it. Fills in `least`: the smallest rounded size of an item of each valley. */
static void count_candidates(GlowSearch *s, uint32_t from, uint32_t to) {
  for (uint32_t k = s->first_from[from]; k < s->first_from[to]; k++) {
    const GlowItem *i = &s->items[k];
    uint32_t valley = s->left[i->from];
    if (i->now.placed || valley == UINT32_MAX || i->to > s->right[i->from])
      continue;
    s->covers[i->from]++;
    s->covers[i->to]--;
    if (i->rounded < s->least[valley])
      s->least[valley] = i->rounded;
  }
  s->steps += 2 * (to - from) + s->first_from[to] - s->first_from[from];
}

static Valley choose(GlowSearch *s, uint32_t from, uint32_t to) {
  Valley best = {.from = from, .to = to};
  int64_t best_first = INT64_MAX, best_second = INT64_MAX;
  uint32_t covers = 0;
  find_valleys(s, from, to);
  count_candidates(s, from, to);
  for (uint32_t t = from; t < to; t++) {
    covers += s->covers[t];
    if (s->left[t] == UINT32_MAX || !covers)
      continue;
    const GlowSection *x = &s->sections[t];
    Valley v = {from, to, t, s->left[t], s->right[t], x->now.floor, 0};
    v.wall = wall(s, &v);
    int64_t next = x->now.floor + s->least[v.left];
    next = next < v.wall ? next : v.wall;
    int64_t options = covers + (next != INT64_MAX && next + x->now.rest - x->slack <= s->limit);
    int64_t first = options, second = s->limit - x->now.floor - x->now.rest;
    if (s->strategy.order != GLOW_SEARCH_FEWEST && options > 1)
      first = 2 + x->now.floor;
    if (s->strategy.order == GLOW_SEARCH_LOWEST)
      second = options;
    if (first > best_first || (first == best_first && second >= best_second))
      continue;
    best_first = first;
    best_second = second;
    best = v;
  }
  return best;
}

/* ---- Branches -------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

static uint64_t key_of_state(GlowSearch *s, uint32_t from, uint32_t to) {
  uint64_t key = (uint64_t)s->limit;
  for (uint32_t k = s->first_from[from]; k < s->first_from[to]; k++)
    if (!s->items[k].now.placed)
      key ^= s->items[k].key;
  for (uint32_t t = from; t < to; t++) {
    const GlowSectionState *x = &s->sections[t].now;
    key = mix(key + (uint64_t)x->floor);
    key = mix(key + (uint64_t)x->top);
    key += (uint64_t)x->top_item;
  }
  s->steps += to - from;
  return mix(key ^ (uint64_t)from << 32 ^ to);
}

static bool same_life(const GlowItem *a, const GlowItem *b) {
  return a->from == b->from && a->to == b->to;
}

/* Whether the item and the one right below it would give a smaller sum the other way round. */
static bool is_swapped(const GlowSearch *s, const GlowItem *i, int64_t floor) {
  const GlowSectionState *x = &s->sections[i->from].now;
  if (x->top_item < 0 || x->top != floor)
    return false;
  const GlowItem *below = &s->items[x->top_item];
  return same_life(i, below) && i->rounded < below->rounded &&
         below->offset + i->rounded + below->size <= s->limit;
}

/* Pushes the items that can cover v->at at its floor; returns where the floor rises to if none of
 * them does. */
static int64_t find_candidates(GlowSearch *s, const Valley *v) {
  uint32_t base = s->candidates.count;
  int64_t next = v->wall;
  for (uint32_t k = s->first_from[v->left]; k < s->first_from[v->right]; k++) {
    const GlowItem *i = &s->items[k];
    if (i->now.placed || i->to > v->right)
      continue;
    if (i->from > v->at || i->to <= v->at) {
      next = v->floor + i->rounded < next ? v->floor + i->rounded : next;
      continue;
    }
    bool skip = is_swapped(s, i, v->floor);
    for (uint32_t j = base; j < s->candidates.count && !skip; j++) {
      const GlowItem *twin = &s->items[s->candidates.data[j]];
      skip = same_life(i, twin) && i->size == twin->size;
    }
    if (skip)
      continue;
    glow_vec_push(s->arena, &s->candidates, k);
    for (uint32_t j = s->candidates.count - 1;
         j > base && s->items[s->candidates.data[j - 1]].rank > i->rank; j--) {
      s->candidates.data[j] = s->candidates.data[j - 1];
      s->candidates.data[j - 1] = k;
    }
  }
  return next;
}

/* The decisions that make these branches the only ones. */
static GlowWhy why_only_these(const GlowSearch *s, const Valley *v) {
  GlowWhy why = {0};
  uint32_t from = v->left > v->from ? v->left - 1 : v->left;
  uint32_t to = v->right < v->to ? v->right + 1 : v->right;
  for (uint32_t t = from; t < to; t++)
    glow_why_add(&why, &s->sections[t].now.why);
  return why;
}

static bool solve(GlowSearch *s, uint32_t from, uint32_t to);

/* Tries every branch; false with a conflict if none leads to a plan. */
static bool try_branches(GlowSearch *s, const Valley *v) {
  uint32_t base = s->candidates.count, level = s->level;
  int64_t next = find_candidates(s, v);
  uint32_t end = s->candidates.count + (next != INT64_MAX);
  GlowWhy why = why_only_these(s, v);
  uint64_t bit = UINT64_C(1) << level % 64;
  uint32_t word = level / 64;
  for (uint32_t k = base; k < end; k++) {
    uint32_t mark = s->changes.count, top = s->candidates.count;
    if (k < top)
      glow_search_place(s, s->candidates.data[k], v->floor);
    else
      glow_search_raise(s, v->at, next);
    s->level = level + 1;
    bool ok = glow_search_propagate(s) && solve(s, v->from, v->to);
    s->level = level;
    s->candidates.count = top;
    if (ok)
      return true;
    glow_search_undo(s, mark);
    if (s->out)
      return false;
    s->dead_ends++;
    if (level < GLOW_SEARCH_LEVELS - 1) {
      if (!(s->conflict.bits[word] & bit))
        return false; /* the conflict does not follow from this decision */
      s->conflict.bits[word] &= ~bit;
    }
    glow_why_add(&why, &s->conflict);
  }
  s->conflict = why;
  return false;
}

/* Decides on a section of [from, to) and searches on. These sections have items left, none of which
 * crosses their ends. */
static bool branch(GlowSearch *s, uint32_t from, uint32_t to) {
  s->out = s->steps > s->most.steps || s->dead_ends > s->most.dead_ends || s->level >= MAX_DEPTH;
  if (s->out)
    return false;
  uint64_t key = key_of_state(s, from, to), steps = s->steps;
  uint64_t *slot = &s->failed[key >> (64 - FAILED_BITS)];
  __builtin_prefetch(slot); /* the table is 2 MB, so its slot comes while choose works */
  Valley v = choose(s, from, to);
  if (*slot == key) {
    s->steps = steps;
    s->conflict = (GlowWhy){0};
    for (uint32_t t = from; t < to; t++)
      glow_why_add(&s->conflict, &s->sections[t].now.why);
    return false;
  }
  uint32_t base = s->candidates.count;
  bool ok = try_branches(s, &v);
  s->candidates.count = base;
  if (!ok && !s->out)
    *slot = key;
  return ok;
}

static bool solve(GlowSearch *s, uint32_t from, uint32_t to) {
  uint32_t mark = s->changes.count, start = from, reach = from, k = s->first_from[from];
  s->steps += to - from;
  for (uint32_t t = from; t < to; t++) {
    for (; k < s->first_from[t + 1]; k++)
      if (!s->items[k].now.placed && s->items[k].to > reach)
        reach = s->items[k].to;
    if (reach > t + 1)
      continue;
    if (reach == t + 1 && !branch(s, start, reach)) {
      glow_search_undo(s, mark);
      return false;
    }
    start = t + 1;
  }
  return true;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static int by_length(const void *a, const void *b) {
  const GlowSearchRank *x = a, *y = b;
  if (x->length != y->length)
    return x->length > y->length ? -1 : 1;
  if (x->item->rounded != y->item->rounded)
    return x->item->rounded < y->item->rounded ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

static void rank_items(GlowSearch *s) {
  uint64_t seed = s->strategy.seed;
  for (uint32_t k = 0; k < s->nitems; k++) {
    GlowItem *i = &s->items[k];
    uint64_t factor = seed ? 128 + (mix(i->key ^ mix(seed)) >> 56) : 1;
    s->ranks[k] = (GlowSearchRank){(i->to - i->from) * factor, i};
  }
  glow_sort(s->ranks, s->nitems, sizeof *s->ranks, by_length);
  for (uint32_t k = 0; k < s->nitems; k++)
    s->ranks[k].item->rank = k;
}

GlowFound glow_search_run(GlowSearch *s, GlowStrategy strategy, int64_t limit,
                          GlowSearchEffort most) {
  glow_search_undo(s, 0);
  s->strategy = strategy;
  s->limit = limit;
  s->most = (GlowSearchEffort){s->steps + most.steps, s->dead_ends + most.dead_ends};
  s->out = false;
  s->level = 0;
  rank_items(s);
  if (solve(s, 0, s->nsections)) {
    for (uint32_t k = 0; k < s->nitems; k++)
      s->items[k].buffer->offset = s->items[k].offset;
    return GLOW_FOUND;
  }
  return s->out ? GLOW_FOUND_UNKNOWN : GLOW_FOUND_NONE;
}

/* ---- Sections -------------------------------------------------------------------------------- */

enum { MAX_ITEMS = 1024 };

typedef struct Event {
  uint32_t time;
  bool begins;
  GlowItem *item;
} Event;

static int in_time(const void *a, const void *b) {
  const Event *x = a, *y = b;
  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  if (x->begins != y->begins)
    return (int)x->begins - (int)y->begins;
  return x->item < y->item ? -1 : x->item > y->item;
}

static int by_from(const void *a, const void *b) {
  const GlowItem *x = a, *y = b;
  if (x->from != y->from)
    return x->from < y->from ? -1 : 1;
  return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

/* Cuts time into sections: one ends wherever a buffer ends after another has begun. */
static void find_sections(GlowSearch *s) {
  Event *events = GLOW_NEW_ARRAY(s->arena, Event, 2 * (size_t)s->nitems);
  for (uint32_t k = 0; k < s->nitems; k++) {
    GlowItem *i = &s->items[k];
    events[2 * k] = (Event){i->buffer->start, true, i};
    events[2 * k + 1] = (Event){i->buffer->end, false, i};
  }
  glow_sort(events, 2 * (size_t)s->nitems, sizeof *events, in_time);
  bool grew = false;
  for (uint32_t k = 0; k < 2 * s->nitems; k++) {
    s->nsections += grew && !events[k].begins;
    grew = events[k].begins;
    if (grew)
      events[k].item->from = s->nsections;
    else
      events[k].item->to = s->nsections;
  }
  glow_sort(s->items, s->nitems, sizeof *s->items, by_from);
}

static void fill_section(GlowSearch *s, uint32_t t) {
  GlowSection *x = &s->sections[t];
  x->now.top_item = -1;
  for (int pass = 0; pass < 2; pass++) {
    x->items = pass ? GLOW_NEW_ARRAY(s->arena, uint32_t, x->count) : NULL;
    x->count = 0;
    for (uint32_t k = 0; k < s->first_from[t + 1]; k++)
      if (s->items[k].to > t) {
        if (pass)
          x->items[x->count] = k;
        x->count++;
      }
  }
  for (uint32_t k = 0; k < x->count; k++) {
    const GlowItem *i = &s->items[x->items[k]];
    x->now.rest += i->rounded;
    if (i->rounded - i->size > x->slack)
      x->slack = i->rounded - i->size;
  }
  x->now.left = x->count;
}

GlowSearch *glow_search_create(GlowArena *arena, GlowPlanBuffer *buffers, uint32_t count,
                               int64_t align) {
  GlowSearch *s = GLOW_NEW(arena, GlowSearch);
  s->arena = arena;
  s->items = GLOW_NEW_ARRAY(arena, GlowItem, MAX_ITEMS);
  for (uint32_t k = 0; k < count; k++) {
    GlowPlanBuffer *b = &buffers[k];
    if (b->size == 0 || b->start >= b->end)
      continue;
    if (s->nitems == MAX_ITEMS)
      return NULL;
    s->items[s->nitems++] = (GlowItem){.size = b->size,
                                       .rounded = (b->size + align - 1) & -align,
                                       .key = mix(k * UINT64_C(7919) + 13),
                                       .buffer = b};
  }
  find_sections(s);
  uint32_t n = s->nsections;
  s->sections = GLOW_NEW_ARRAY(arena, GlowSection, n);
  s->first_from = GLOW_NEW_ARRAY(arena, uint32_t, n + 1);
  for (uint32_t t = 0, k = 0; t <= n; t++) {
    while (k < s->nitems && s->items[k].from < t)
      k++;
    s->first_from[t] = k;
  }
  for (uint32_t t = 0; t < n; t++)
    fill_section(s, t);
  s->queue = GLOW_NEW_ARRAY(arena, uint32_t, n);
  s->suspects = GLOW_NEW_ARRAY(arena, uint32_t, n);
  s->touched = GLOW_NEW_ARRAY(arena, uint32_t, s->nitems);
  s->left = GLOW_NEW_ARRAY(arena, uint32_t, n);
  s->right = GLOW_NEW_ARRAY(arena, uint32_t, n);
  s->covers = GLOW_NEW_ARRAY(arena, uint32_t, n + 1);
  s->least = GLOW_NEW_ARRAY(arena, int64_t, n);
  s->ranks = GLOW_NEW_ARRAY(arena, GlowSearchRank, s->nitems);
  s->lows = GLOW_NEW_ARRAY(arena, GlowSearchLow, s->nitems);
  s->failed = GLOW_NEW_ARRAY(arena, uint64_t, (size_t)1 << FAILED_BITS);
  return s;
}
