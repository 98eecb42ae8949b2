/* Orders of steps against all orders there are: on random graphs of up to 12 steps the peak that is
 * found is the lowest of all, which a search over every order finds with an account of bytes of its
 * own. */
#include <stdio.h>
#include <stdlib.h>

#include "memplan/order.h"
#include "support/context.h"
#include "test/unit/unit.h"

enum { MAX = 12 };

static uint32_t state = 2024;
static uint32_t draw(uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

/* Step i makes value i, and takes values of steps before it. */
typedef struct Case {
  uint32_t n;
  int64_t bytes[MAX + 1], inner[MAX];
  bool stays[MAX + 1], takes[MAX][MAX + 1], after[MAX][MAX], reuses[MAX][MAX + 1];
} Case;

static const Case *now;

/* Bytes of all values that exist: made or there from the start, and needed by a step that is still
 * to come or by the caller. */
static int64_t alive(unsigned done) {
  int64_t sum = 0;
  for (uint32_t v = 0; v <= now->n; v++) {
    bool exists = v == now->n || done >> v & 1, needed = now->stays[v];
    for (uint32_t i = 0; i < now->n; i++)
      needed = needed || (now->takes[i][v] && !(done >> i & 1));
    sum += exists && needed ? now->bytes[v] : 0;
  }
  return sum;
}

/* Bytes while `step` runs after `done`: what was there, what it makes and needs inside. */
static int64_t during(unsigned done, uint32_t step) {
  int64_t sum = alive(done) + now->bytes[step] + now->inner[step];
  for (uint32_t v = 0; v <= now->n; v++) {
    bool last = now->reuses[step][v] && !now->stays[v];
    for (uint32_t i = 0; i < now->n && last; i++)
      last = i == step || !now->takes[i][v] || done >> i & 1;
    if (last)
      return sum - now->bytes[step];
  }
  return sum;
}

static bool is_ready(unsigned done, uint32_t step) {
  for (uint32_t i = 0; i < now->n; i++)
    if ((now->takes[step][i] || now->after[step][i]) && !(done >> i & 1))
      return false;
  return !(done >> step & 1);
}

static int64_t lowest(unsigned done, int64_t peak, int64_t best) {
  if (peak >= best)
    return best;
  if (done == (1u << now->n) - 1)
    return peak;
  for (uint32_t i = 0; i < now->n; i++)
    if (is_ready(done, i)) {
      int64_t here = during(done, i);
      best = lowest(done | 1u << i, here > peak ? here : peak, best);
    }
  return best;
}

static int64_t peak_of(const uint32_t *order) {
  int64_t peak = alive(0);
  unsigned done = 0;
  for (uint32_t i = 0; i < now->n; i++) {
    EXPECT(is_ready(done, order[i]), "step %u runs before what it needs", order[i]);
    int64_t here = during(done, order[i]);
    peak = here > peak ? here : peak;
    done |= 1u << order[i];
  }
  return peak;
}

/* Value n is there from the start. One of `density` pairs of steps depend on each other. */
static Case make_case(uint32_t n, uint32_t density) {
  Case c = {.n = n};
  for (uint32_t v = 0; v <= n; v++) {
    c.bytes[v] = draw(4) ? 1 + draw(8) : 0;
    c.stays[v] = draw(6) == 0;
  }
  for (uint32_t i = 0; i < n; i++) {
    c.inner[i] = draw(5) ? 0 : draw(8);
    c.takes[i][n] = draw(4) == 0;
    for (uint32_t k = 0; k < i; k++) {
      c.takes[i][k] = draw(density) == 0;
      c.after[i][k] = draw(12) == 0;
    }
    for (uint32_t v = 0; v <= n; v++)
      c.reuses[i][v] = c.takes[i][v] && c.bytes[v] == c.bytes[i] && c.bytes[i] && draw(2);
  }
  return c;
}

static GlowOrderProblem describe(GlowArena *arena, const Case *c) {
  GlowOrderProblem p = {.nvalues = c->n + 1, .nsteps = c->n};
  p.values = GLOW_NEW_ARRAY(arena, GlowOrderValue, p.nvalues);
  p.steps = GLOW_NEW_ARRAY(arena, GlowOrderStep, p.nsteps);
  for (uint32_t v = 0; v < p.nvalues; v++)
    p.values[v] = (GlowOrderValue){.bytes = c->bytes[v], .stays = c->stays[v]};
  for (uint32_t i = 0; i < c->n; i++) {
    GlowOrderStep *s = &p.steps[i];
    s->inner = c->inner[i];
    s->reused = c->bytes[i];
    glow_vec_push(arena, &s->makes, i);
    for (uint32_t v = 0; v <= c->n; v++) {
      if (c->takes[i][v])
        glow_vec_push(arena, &s->takes, v);
      if (c->reuses[i][v])
        glow_vec_push(arena, &s->reuses, v);
    }
    for (uint32_t k = 0; k < i; k++)
      if (c->after[i][k])
        glow_vec_push(arena, &s->after, k);
  }
  return p;
}

static void random_graphs(GlowContext *ctx) {
  int improved = 0;
  for (int round = 0; round < 2000; round++) {
    GlowArena *arena = glow_arena_create(ctx);
    uint32_t n = round < 1500 ? 1 + draw(8) : 9 + draw(4), order[MAX], given[MAX];
    Case c = make_case(n, n > 8 ? 3 : 2 + draw(4));
    now = &c;
    GlowOrderProblem p = describe(arena, &c);
    GlowOrderResult r = glow_order_find(arena, &p, order);
    for (uint32_t i = 0; i < n; i++)
      given[i] = i;
    EXPECT(r.given == peak_of(given), "the given order has a peak of %ld", (long)r.given);
    EXPECT(r.best == peak_of(order), "the order found has a peak of %ld", (long)r.best);
    EXPECT(glow_order_peak(arena, &p, order) == r.best, "peaks differ");
    EXPECT(r.exact && r.best == lowest(0, alive(0), INT64_MAX), "%u steps: %ld is not the lowest",
           n, (long)r.best);
    EXPECT(r.best < r.given || !memcmp(order, given, n * sizeof *order), "steps moved for nothing");
    improved += r.best < r.given;
    glow_arena_destroy(arena);
  }
  EXPECT(improved > 200, "only %d orders were improved", improved);
}

/* `width` chains of three steps that one step gathers: make (small, large, small). Depth first
 * needs one large value at a time, the given order all. Too many sets for the exact search. */
static void wide_graph(GlowContext *ctx, uint32_t width) {
  GlowArena *arena = glow_arena_create(ctx);
  GlowOrderProblem p = {.nvalues = 3 * width, .nsteps = 3 * width + 1};
  p.values = GLOW_NEW_ARRAY(arena, GlowOrderValue, p.nvalues);
  p.steps = GLOW_NEW_ARRAY(arena, GlowOrderStep, p.nsteps);
  for (uint32_t i = 0; i < 3 * width; i++) {
    p.values[i].bytes = i / width == 1 ? 100 : 1;
    glow_vec_push(arena, &p.steps[i].makes, i);
    if (i >= width)
      glow_vec_push(arena, &p.steps[i].takes, i - width);
    if (i >= 2 * width)
      glow_vec_push(arena, &p.steps[3 * width].takes, i);
  }
  uint32_t *order = GLOW_NEW_ARRAY(arena, uint32_t, p.nsteps);
  GlowOrderResult r = glow_order_find(arena, &p, order);
  EXPECT(r.given == width * 100 + 1, "given %ld", (long)r.given);
  EXPECT(r.best == 100 + width, "%u chains: %ld, and one large value is enough", width,
         (long)r.best);
  glow_arena_destroy(arena);
}

int main(void) {
  GlowContext *ctx = glow_context_create();
  if (!ctx)
    return 1;
  random_graphs(ctx);
  wide_graph(ctx, 4);
  wide_graph(ctx, 100);
  GlowOrderProblem empty = {0};
  uint32_t none;
  GlowArena *arena = glow_arena_create(ctx);
  EXPECT(glow_order_find(arena, &empty, &none).best == 0, "nothing to order");
  glow_context_destroy(ctx);
  return unit_finish();
}
