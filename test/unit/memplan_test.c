/* The memory planner against brute force: on small random cases every plan is legal, no plan is
 * below the lower bound, the bound is below the best plan that exhaustive search finds, and the
 * planner's search finds one as small. On large ones made by cutting a rectangle into buffers, the
 * planner finds the rectangle again. */
#include <stdio.h>
#include <stdlib.h>

#include "memplan/memplan.h"
#include "support/context.h"
#include "test/unit/unit.h"

enum { MAX = 8, ROUNDS = 3300 };

static uint32_t state = 12345;
static uint32_t draw(uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

static bool meet(const GlowPlanBuffer *a, const GlowPlanBuffer *b) {
  return a->start < b->end && b->start < a->end;
}

static bool overlap(const GlowPlanBuffer *a, const GlowPlanBuffer *b) {
  return a->offset < b->offset + b->size && b->offset < a->offset + a->size;
}

static void check_legal(const GlowPlanBuffer *b, uint32_t n, int64_t align, int64_t arena) {
  int64_t top = 0;
  for (uint32_t i = 0; i < n; i++) {
    EXPECT(b[i].offset >= 0 && b[i].offset % align == 0, "offset %ld is not aligned",
           (long)b[i].offset);
    if (b[i].size && b[i].start < b[i].end && b[i].offset + b[i].size > top)
      top = b[i].offset + b[i].size;
    for (uint32_t k = 0; k < i; k++)
      EXPECT(!b[i].size || !b[k].size || !meet(&b[i], &b[k]) || !overlap(&b[i], &b[k]),
             "buffers %u and %u overlap", i, k);
  }
  EXPECT(arena == top, "arena %ld, but buffers end at %ld", (long)arena, (long)top);
}

/* The smallest arena of all plans: each buffer in turn, in every order, at the lowest place that
 * is free. One of the orders gives an optimal plan, since buffers of an optimal plan can be pushed
 * down in the order of their offsets. */
static int64_t best_plan(GlowPlanBuffer *b, uint32_t n, int64_t align, uint32_t placed, int64_t top,
                         int64_t best) {
  if (top >= best)
    return best;
  if (placed == (1u << n) - 1)
    return top;
  for (uint32_t i = 0; i < n; i++) {
    if (placed >> i & 1)
      continue;
    b[i].offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (uint32_t k = 0; k < n; k++)
        if (placed >> k & 1 && meet(&b[i], &b[k]) && overlap(&b[i], &b[k])) {
          b[i].offset = (b[k].offset + b[k].size + align - 1) / align * align;
          moved = true;
        }
    }
    int64_t end = b[i].offset + b[i].size;
    best = best_plan(b, n, align, placed | 1u << i, end > top ? end : top, best);
  }
  return best;
}

static void random_cases(GlowContext *ctx) {
  double worst = 1;
  for (int round = 0; round < ROUNDS; round++) {
    GlowPlanBuffer b[MAX], copy[MAX];
    uint32_t n = 1 + draw(round < ROUNDS - 300 ? 6 : MAX);
    int64_t align = INT64_C(1) << draw(4);
    for (uint32_t i = 0; i < n; i++) {
      uint32_t start = draw(6);
      b[i] = (GlowPlanBuffer){.size = 1 + draw(40), .start = start, .end = start + 1 + draw(5)};
    }
    GlowArena *arena = glow_arena_create(ctx);
    memcpy(copy, b, sizeof b);
    int64_t got = glow_memplan_greedy(arena, b, n, align);
    int64_t bound = glow_memplan_lower_bound(arena, b, n, align);
    check_legal(b, n, align, got);
    int64_t best = best_plan(copy, n, align, 0, 0, INT64_MAX);
    EXPECT(bound <= best, "lower bound %ld is above the best plan %ld", (long)bound, (long)best);
    EXPECT(got >= best, "plan %ld is below the best plan %ld", (long)got, (long)best);
    GlowPlanReport r;
    check_legal(b, n, align, glow_memplan(arena, b, n, align, &r));
    EXPECT(r.exact && r.best == best, "the search finds %ld, the best plan is %ld", (long)r.best,
           (long)best);
    EXPECT(r.greedy == got && r.bound == bound, "the report says %ld and %ld", (long)r.greedy,
           (long)r.bound);
    if ((double)got / (double)best > worst)
      worst = (double)got / (double)best;
    glow_arena_destroy(arena);
  }
  EXPECT(worst < 1.6, "greedy is %.2f times the best plan", worst);
}

/* Cuts a block of memory over time into buffers: `n` times one of them, along time or size. */
static uint32_t cut_block(GlowPlanBuffer *b, uint32_t n, uint32_t time, int64_t size,
                          int64_t align) {
  uint32_t count = 1;
  b[0] = (GlowPlanBuffer){.size = size * align, .start = 0, .end = time};
  for (uint32_t i = 0; i < n; i++) {
    uint32_t k = draw(count);
    GlowPlanBuffer *a = &b[k], *c = &b[count];
    *c = *a;
    uint32_t length = a->end - a->start, units = (uint32_t)(a->size / align);
    if (draw(2) && length > 1) {
      a->end = c->start = a->start + 1 + draw(length - 1);
      count++;
    } else if (units > 1) {
      a->size = align * (1 + draw(units - 1));
      c->size -= a->size;
      count++;
    }
  }
  return count;
}

static void blocks(GlowContext *ctx) {
  uint32_t searched = 0;
  for (int round = 0; round < 60; round++) {
    GlowArena *arena = glow_arena_create(ctx);
    GlowPlanBuffer b[64];
    int64_t align = round % 2 ? 64 : 1;
    uint32_t n = cut_block(b, 20 + draw(40), 40, 100, align);
    GlowPlanReport r;
    check_legal(b, n, align, glow_memplan(arena, b, n, align, &r));
    EXPECT(r.bound == 100 * align && r.best == r.bound, "%u pieces of %ld bytes take %ld", n,
           (long)(100 * align), (long)r.best);
    searched += r.greedy > r.bound;
    glow_arena_destroy(arena);
  }
  EXPECT(searched > 20, "greedy was enough for %u of 60", 60 - searched);
}

/* Blocks with so many small buffers besides that only the large ones are searched: above them there
 * is no more than twice what the small ones take at one time; greedy placement wastes large ones. */
static void many(GlowContext *ctx) {
  enum { SMALL = 1500, LIVES = 4 };
  uint32_t searched = 0;
  for (int round = 0; round < 20; round++) {
    GlowArena *arena = glow_arena_create(ctx);
    GlowPlanBuffer *b = GLOW_NEW_ARRAY(arena, GlowPlanBuffer, 64 + SMALL);
    int64_t align = 64, whole = 100 * 640000;
    uint32_t n = cut_block(b, 20 + draw(40), SMALL + LIVES, 100, 640000);
    for (uint32_t i = 0; i < SMALL; i++)
      b[n++] = (GlowPlanBuffer){.size = 1 + draw(64), .start = i, .end = i + LIVES};
    GlowPlanReport r;
    check_legal(b, n, align, glow_memplan(arena, b, n, align, &r));
    EXPECT(r.best <= whole + 2 * LIVES * align, "%u buffers of %ld bytes and small ones take %ld", n,
           (long)whole, (long)r.best);
    EXPECT(r.best >= r.bound && r.best <= r.greedy, "%ld is not between bound and greedy plan",
           (long)r.best);
    searched += r.greedy > r.best;
    glow_arena_destroy(arena);
  }
  EXPECT(searched > 5, "greedy was enough for %u of 20", 20 - searched);
}

static void fixed_cases(GlowArena *arena) {
  GlowPlanBuffer chain[] = {{100, 0, 2, -1}, {50, 1, 3, -1}, {100, 2, 4, -1}};
  EXPECT(glow_memplan_greedy(arena, chain, 3, 1) == 150, "a chain needs its largest neighbours");
  EXPECT(glow_memplan_lower_bound(arena, chain, 3, 1) == 150, "bound of a chain");
  EXPECT(chain[0].offset == chain[2].offset, "buffers that never meet share memory");

  GlowPlanBuffer rounded[] = {{65, 0, 9, -1}, {65, 0, 9, -1}};
  EXPECT(glow_memplan_greedy(arena, rounded, 2, 64) == 128 + 65, "only the topmost is unrounded");
  EXPECT(glow_memplan_lower_bound(arena, rounded, 2, 64) == 128 + 65, "bound with rounding");

  GlowPlanBuffer empty[] = {{0, 0, 9, -1}, {64, 0, 9, -1}};
  EXPECT(glow_memplan_greedy(arena, empty, 2, 64) == 64, "empty buffers take no room");
  EXPECT(glow_memplan_greedy(arena, NULL, 0, 64) == 0, "nothing to plan");
  EXPECT(glow_memplan_lower_bound(arena, NULL, 0, 64) == 0, "bound of nothing");

  GlowPlanBuffer huge[] = {{INT64_MAX - 100, 0, 9, -1}, {INT64_MAX - 100, 0, 9, -1}};
  EXPECT(glow_memplan_greedy(arena, huge, 2, 64) == -1, "overflow is reported");
  EXPECT(glow_memplan_lower_bound(arena, huge, 2, 64) == -1, "overflow of the bound is reported");
  GlowPlanReport r;
  EXPECT(glow_memplan(arena, huge, 2, 64, &r) == -1, "overflow is reported by the planner");
  EXPECT(glow_memplan(arena, NULL, 0, 64, &r) == 0 && r.exact, "nothing to search for");
}

int main(void) {
  GlowContext *ctx = glow_context_create();
  if (!ctx)
    return 1;
  GlowArena *arena = glow_arena_create(ctx);
  fixed_cases(arena);
  random_cases(ctx);
  blocks(ctx);
  many(ctx);
  glow_context_destroy(ctx);
  return unit_finish();
}
