/* Plans for chains of stages against all plans that there are: 600 random chains of up to 8 stages.
 * A plan is a tree, whose peak and cost are taken from the tree itself. There are as many slots as
 * bytes, so sizes are not rounded. */
#include <stdio.h>
#include <stdlib.h>

#include "memplan/chain.h"
#include "support/context.h"
#include "test/unit/unit.h"

static uint32_t state = 77;
static uint32_t draw(uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

typedef struct Plan {
  int64_t cost, peak;
} Plan;

enum { MOST = 8, PLANS = 1 << 16 };

/* What a saved stage i takes, before a rest that takes `rest`, in a stretch that ends at j. */
static int64_t peak_of_saved(const GlowChainStage *s, uint32_t i, uint32_t j, int64_t rest) {
  int64_t later = s[i].saved + (rest > s[i].late ? rest : s[i].late), now = s[i].run + s[j].front;
  return now > later ? now : later;
}

/* What it takes to run stages i to k - 1 without saving them, in a stretch that ends at j. */
static int64_t peak_of_passed(const GlowChainStage *s, uint32_t i, uint32_t j, uint32_t k) {
  int64_t most = 0;
  for (uint32_t a = i; a < k; a++) {
    int64_t now = (a > i ? s[a - 1].boundary : 0) + s[a].run + s[j].front;
    most = now > most ? now : most;
  }
  return most;
}

/* All plans for stages i to j that no other plan beats in both cost and peak; returns how many. */
static uint32_t enumerate(const GlowChainStage *s, uint32_t i, uint32_t j, Plan *out) {
  static Plan parts[MOST + 1][2][PLANS];
  uint32_t depth = j - i, count = 0;
  uint32_t n = i == j ? 1 : enumerate(s, i + 1, j, parts[depth][0]);
  for (uint32_t a = 0; a < n; a++) {
    Plan rest = i == j ? (Plan){0, 0} : parts[depth][0][a];
    out[count++] = (Plan){rest.cost, peak_of_saved(s, i, j, rest.peak)};
  }
  int64_t again = 0;
  for (uint32_t k = i + 1; k <= j && !s[k - 1].fixed; k++) {
    int64_t past = peak_of_passed(s, i, j, k);
    uint32_t right = enumerate(s, k, j, parts[depth][0]),
             left = enumerate(s, i, k - 1, parts[depth][1]);
    for (uint32_t a = 0; a < right; a++)
      for (uint32_t b = 0; b < left; b++) {
        int64_t first = s[k - 1].boundary + parts[depth][0][a].peak,
                second = parts[depth][1][b].peak;
        first = past > first ? past : first;
        out[count++] =
            (Plan){again + s[k - 1].tail + parts[depth][0][a].cost + parts[depth][1][b].cost,
                   first > second ? first : second};
      }
    again += s[k - 1].cost;
  }
  uint32_t kept = 0;
  for (uint32_t a = 0; a < count; a++) {
    bool beaten = false;
    for (uint32_t b = 0; b < count && !beaten; b++)
      beaten = out[b].cost <= out[a].cost && out[b].peak <= out[a].peak &&
               (b < a || out[b].cost < out[a].cost || out[b].peak < out[a].peak);
    if (!beaten)
      out[kept++] = out[a];
    else
      out[a].peak = out[a].cost = INT64_MAX / 4;
  }
  return kept;
}

/* The cost and the peak of what glow_chain_step says of a stretch. */
static Plan follow(const GlowChain *c, const GlowChainStage *s, GlowChainPart part) {
  GlowChainPart left, right;
  if (glow_chain_step(c, part, &left, &right)) {
    Plan rest = part.first == part.last ? (Plan){0, 0} : follow(c, s, right);
    return (Plan){rest.cost, peak_of_saved(s, part.first, part.last, rest.peak)};
  }
  Plan r = follow(c, s, right), l = follow(c, s, left);
  int64_t first = s[right.first - 1].boundary + r.peak, cost = r.cost + l.cost;
  int64_t past = peak_of_passed(s, part.first, part.last, right.first);
  first = past > first ? past : first;
  for (uint32_t i = part.first; i < right.first; i++)
    cost += i + 1 < right.first ? s[i].cost : s[i].tail;
  return (Plan){cost, first > l.peak ? first : l.peak};
}

static Plan plans[PLANS];

static void check_chain(GlowContext *ctx) {
  GlowArena *arena = glow_arena_create(ctx);
  GlowChainStage s[MOST];
  uint32_t count = 1 + draw(MOST);
  int64_t least = INT64_MAX;
  for (uint32_t i = 0; i < count; i++) {
    s[i] = (GlowChainStage){.cost = 1 + draw(30), .boundary = draw(20), .fixed = draw(12) == 0};
    s[i].tail = draw((uint32_t)s[i].cost + 1);
    s[i].saved = s[i].boundary + draw(40);
    s[i].run = s[i].boundary + draw(50);
    s[i].front = i + 1 < count ? draw(30) : 0;
    s[i].late = s[i].front + draw(10);
  }
  uint32_t n = enumerate(s, 0, count - 1, plans);
  for (uint32_t a = 0; a < n; a++)
    least = plans[a].peak < least ? plans[a].peak : least;
  CHECK(glow_chain_least(arena, s, count) == least);
  for (int i = 0; i < 4; i++) {
    int64_t memory = i == 0 ? least - 1 : i == 1 ? least : least + draw(200), best = -1;
    for (uint32_t a = 0; a < n; a++)
      if (plans[a].peak <= memory && (best < 0 || plans[a].cost < best))
        best = plans[a].cost;
    const GlowChain *c = glow_chain_solve(arena, s, count, memory);
    CHECK(glow_chain_recomputed(c) == best);
    if (best < 0)
      continue;
    Plan got = follow(c, s, glow_chain_all(c));
    CHECK(got.cost == best && got.peak <= memory);
  }
  glow_arena_destroy(arena);
}

static void check_empty(GlowContext *ctx) {
  GlowArena *arena = glow_arena_create(ctx);
  CHECK(glow_chain_least(arena, NULL, 0) == 0);
  glow_arena_destroy(arena);
}

static void body(GlowContext *ctx, void *arg) {
  (void)arg;
  check_empty(ctx);
  for (int i = 0; i < 60; i++)
    check_chain(ctx);
}

int main(void) {
  for (int i = 0; i < 10; i++) {
    GlowContext *ctx = glow_context_create();
    CHECK(glow_protect(ctx, body, NULL) == GLOW_OK);
    glow_context_destroy(ctx);
  }
  return unit_finish();
}
