/* The search for a memory plan: what follows from decisions, and how it is taken back.
 *
 * note [plans of the smallest sum]: if there is a plan within the limit, there is one whose offsets
 * have the smallest sum, and the search looks for such a plan. In it no buffer can be moved down
 * alone. So a branch is left as soon as a buffer that is still to be placed would fit below all
 * others that are. And where two buffers with the same lifetime lie right above each other, the
 * smaller one is below. */
#include "memplan/search.h"

static uint32_t bit_of(uint32_t level) {
  return level < GLOW_SEARCH_LEVELS ? level : GLOW_SEARCH_LEVELS - 1;
}

void glow_why_add(GlowWhy *w, const GlowWhy *more) {
  for (int i = 0; i < GLOW_SEARCH_WORDS; i++)
    w->bits[i] |= more->bits[i];
}

static void add_decision(GlowSearch *s, GlowSectionState *x) {
  x->why.bits[bit_of(s->level) / 64] |= UINT64_C(1) << bit_of(s->level) % 64;
}

/* ---- Changes --------------------------------------------------------------------------------- */

static void save_section(GlowSearch *s, uint32_t at) {
  GlowChange c = {.index = at, .old.section = s->sections[at].now};
  glow_vec_push(s->arena, &s->changes, c);
}

static void save_item(GlowSearch *s, uint32_t i) {
  GlowChange c = {.index = i, .is_item = true, .old.item = s->items[i].now};
  glow_vec_push(s->arena, &s->changes, c);
}

void glow_search_undo(GlowSearch *s, uint32_t mark) {
  while (s->changes.count > mark) {
    const GlowChange *c = &s->changes.data[--s->changes.count];
    if (c->is_item)
      s->items[c->index].now = c->old.item;
    else
      s->sections[c->index].now = c->old.section;
  }
}

/* For a section whose floor has risen: items over it may have to rise. */
static void queue_section(GlowSearch *s, uint32_t at) {
  if (!s->sections[at].is_queued) {
    s->sections[at].is_queued = true;
    s->queue[s->nqueue++] = at;
  }
}

/* For a section with an item that has risen or is placed: its floor may have to rise. */
static void suspect_section(GlowSearch *s, uint32_t at) {
  if (!s->sections[at].is_suspect) {
    s->sections[at].is_suspect = true;
    s->suspects[s->nsuspects++] = at;
  }
}

/* Takes an item out of those of x that are still to be placed. It changes places with the last of
 * them, so that adding 1 to `left` takes it back in. */
static void take_out(GlowSection *x, uint32_t item) {
  uint32_t at = 0;
  while (x->items[at] != item)
    at++;
  x->items[at] = x->items[--x->now.left];
  x->items[x->now.left] = item;
}

void glow_search_place(GlowSearch *s, uint32_t item, int64_t floor) {
  GlowItem *i = &s->items[item];
  save_item(s, item);
  i->now.placed = true;
  i->offset = floor;
  for (uint32_t t = i->from; t < i->to; t++) {
    save_section(s, t);
    GlowSectionState *x = &s->sections[t].now;
    x->floor = x->top = floor + i->rounded;
    x->rest -= i->rounded;
    take_out(&s->sections[t], item);
    x->top_item = item;
    add_decision(s, x);
    queue_section(s, t);
    suspect_section(s, t);
  }
}

void glow_search_raise(GlowSearch *s, uint32_t section, int64_t floor) {
  save_section(s, section);
  s->sections[section].now.floor = floor;
  add_decision(s, &s->sections[section].now);
  queue_section(s, section);
}

/* ---- Conclusions ----------------------------------------------------------------------------- */

static bool fits(GlowSearch *s, uint32_t at) {
  const GlowSection *x = &s->sections[at];
  if (x->now.floor + x->now.rest - x->slack <= s->limit)
    return true;
  s->conflict = x->now.why;
  return false;
}

/* Items over a section begin at its floor or higher. */
static bool push_items_up(GlowSearch *s, uint32_t at) {
  const GlowSection *x = &s->sections[at];
  s->steps += x->now.left;
  for (uint32_t k = 0; k < x->now.left; k++) {
    GlowItem *i = &s->items[x->items[k]];
    if (!i->is_touched) {
      i->is_touched = true;
      s->touched[s->ntouched++] = x->items[k];
    }
    if (i->now.low >= x->now.floor)
      continue;
    for (uint32_t t = i->from; t < i->to; t++)
      if (s->sections[t].now.floor == i->now.low)
        suspect_section(s, t);
    s->steps += i->to - i->from;
    save_item(s, x->items[k]);
    i->now.low = x->now.floor;
    i->now.low_at = at;
    if (i->now.low + i->size > s->limit) {
      s->conflict = x->now.why;
      return false;
    }
  }
  return true;
}

/* For every height, the items that cannot begin below it must fit between it and the limit. */
static bool stack_fits(GlowSearch *s, uint32_t at) {
  const GlowSection *x = &s->sections[at];
  GlowSearchLow *lows = s->lows;
  s->steps += x->now.left;
  for (uint32_t k = 0; k < x->now.left; k++) { /* the highest first */
    const GlowItem *i = &s->items[x->items[k]];
    uint32_t j = k;
    for (; j > 0 && lows[j - 1].low < i->now.low; j--)
      lows[j] = lows[j - 1];
    lows[j] = (GlowSearchLow){i->now.low, i->rounded};
  }
  int64_t sum = 0;
  uint32_t n = 0;
  while (n < x->now.left && lows[n].low + sum + lows[n].size - x->slack <= s->limit)
    sum += lows[n++].size;
  if (n == x->now.left)
    return true;
  s->conflict = (GlowWhy){0};
  for (uint32_t k = 0; k < x->now.left; k++) {
    const GlowItem *i = &s->items[x->items[k]];
    if (i->now.low >= lows[n].low)
      glow_why_add(&s->conflict, &s->sections[i->now.low_at].now.why);
  }
  return false;
}

/* Raises a floor to the lowest offset that an item over the section can have. */
static bool pull_floor_up(GlowSearch *s, uint32_t at) {
  GlowSection *x = &s->sections[at];
  int64_t low = INT64_MAX, high = 0;
  s->steps += x->now.left;
  for (uint32_t k = 0; k < x->now.left; k++) {
    const GlowItem *i = &s->items[x->items[k]];
    low = i->now.low < low ? i->now.low : low;
    high = i->now.low > high ? i->now.low : high;
  }
  if (x->now.left && low > x->now.floor) {
    save_section(s, at);
    x->now.floor = low;
    s->steps += x->now.left;
    for (uint32_t k = 0; k < x->now.left; k++)
      glow_why_add(&x->now.why, &s->sections[s->items[x->items[k]].now.low_at].now.why);
    queue_section(s, at);
    if (!fits(s, at))
      return false;
  }
  return high + x->now.rest - x->slack <= s->limit || stack_fits(s, at);
}

/* Whether the item would fit below everything that can still be placed over its sections:
 * see note [plans of the smallest sum]. */
static bool is_dominated(GlowSearch *s, const GlowItem *i) {
  int64_t top = 0, floor = INT64_MAX;
  for (uint32_t t = i->from; t < i->to; t++) {
    const GlowSectionState *x = &s->sections[t].now;
    top = x->top > top ? x->top : top;
    floor = x->floor < floor ? x->floor : floor;
  }
  s->steps += i->to - i->from;
  if (top + i->rounded > floor)
    return false;
  s->conflict = (GlowWhy){0};
  for (uint32_t t = i->from; t < i->to; t++)
    glow_why_add(&s->conflict, &s->sections[t].now.why);
  return true;
}

static void clear_queues(GlowSearch *s) {
  while (s->nqueue)
    s->sections[s->queue[--s->nqueue]].is_queued = false;
  while (s->nsuspects)
    s->sections[s->suspects[--s->nsuspects]].is_suspect = false;
  while (s->ntouched)
    s->items[s->touched[--s->ntouched]].is_touched = false;
}

bool glow_search_propagate(GlowSearch *s) {
  bool ok = true;
  for (uint32_t k = 0; ok && k < s->nqueue; k++) /* sections that the decision has changed */
    ok = fits(s, s->queue[k]);
  while (ok && (s->nqueue || s->nsuspects)) {
    while (ok && s->nqueue) {
      uint32_t at = s->queue[--s->nqueue];
      s->sections[at].is_queued = false;
      ok = push_items_up(s, at);
    }
    while (ok && s->nsuspects) {
      uint32_t at = s->suspects[--s->nsuspects];
      s->sections[at].is_suspect = false;
      ok = pull_floor_up(s, at);
    }
  }
  for (uint32_t k = 0; ok && k < s->ntouched; k++) {
    const GlowItem *i = &s->items[s->touched[k]];
    ok = i->now.placed || !is_dominated(s, i);
  }
  clear_queues(s);
  return ok;
}
