/* See chain.h. With R(i, j, m) for the cost of what runs again in stages i to j within m slots:
 *
 *   R(i, j, m) = min(saving, passing)
 *   saving     = R(i + 1, j, m - saved_i)
 *   passing    = min over k: cost_i + ... + cost_k-2 + tail_k-1 + R(k, j, m - boundary_k-1)
 *                            + R(i, k-1, m)
 *
 * where saving needs saved_i + late_i <= m and run_i + front_j <= m, and passing needs
 * boundary_a-1 + run_a + front_j <= m for each stage a from i to k-1 (no boundary for i).
 */
#include "memplan/chain.h"

#include <string.h>

#define NEVER (INT64_MAX / 4) /* sums of three are no overflow */

struct GlowChain {
  const GlowChainStage *stages;
  uint32_t count;
  int64_t slot;    /* bytes of one */
  uint32_t slots;  /* how many there are */
  int64_t *cost;   /* R by stretch and slots */
  uint8_t *choice; /* k, or i to save stage i */
  int64_t *sum;    /* of the costs of the stages before i */
  uint32_t *fixed; /* number of fixed stages before i */
};

static size_t at(const GlowChain *c, uint32_t i, uint32_t j, uint32_t slots) {
  return ((size_t)i * c->count + j) * (GLOW_CHAIN_SLOTS + 1) + slots;
}

static uint32_t slots_of(const GlowChain *c, int64_t bytes) {
  int64_t n = bytes / c->slot + (bytes % c->slot != 0);
  return n > GLOW_CHAIN_SLOTS ? GLOW_CHAIN_SLOTS + 1 : (uint32_t)n;
}

static void solve_saving(GlowChain *c, uint32_t i, uint32_t j) {
  const GlowChainStage *s = &c->stages[i];
  int64_t *cost = &c->cost[at(c, i, j, 0)];
  const int64_t *rest = i < j ? &c->cost[at(c, i + 1, j, 0)] : NULL;
  uint32_t saved = slots_of(c, s->saved), need = saved + slots_of(c, s->late);
  uint32_t run = slots_of(c, s->run + c->stages[j].front);
  need = run > need ? run : need;
  for (uint32_t slots = 0; slots <= c->slots; slots++)
    cost[slots] = slots < need ? NEVER : rest ? rest[slots - saved] : 0;
  memset(&c->choice[at(c, i, j, 0)], (int)i, c->slots + 1);
}

/* Passing to stage k, for all numbers of slots from `from` on. */
static void solve_passing(GlowChain *c, uint32_t i, uint32_t j, uint32_t k, uint32_t from) {
  int64_t *cost = &c->cost[at(c, i, j, 0)];
  int64_t work = c->sum[k - 1] - c->sum[i] + c->stages[k - 1].tail;
  const int64_t *right = &c->cost[at(c, k, j, 0)], *left = &c->cost[at(c, i, k - 1, 0)];
  uint8_t *choice = &c->choice[at(c, i, j, 0)];
  uint32_t kept = slots_of(c, c->stages[k - 1].boundary);
  for (uint32_t slots = from > kept ? from : kept; slots <= c->slots; slots++) {
    int64_t all = work + right[slots - kept] + left[slots];
    choice[slots] = all < cost[slots] ? (uint8_t)k : choice[slots];
    cost[slots] = all < cost[slots] ? all : cost[slots];
  }
}

static void solve_stretch(GlowChain *c, uint32_t i, uint32_t j) {
  int64_t front = c->stages[j].front;
  uint32_t from = slots_of(c, c->stages[i].run + front);
  solve_saving(c, i, j);
  for (uint32_t k = i + 1; k <= j && c->fixed[k] == c->fixed[i]; k++) {
    solve_passing(c, i, j, k, from);
    uint32_t run = slots_of(c, c->stages[k - 1].boundary + c->stages[k].run + front);
    from = run > from ? run : from;
  }
}

GlowChain *glow_chain_solve(GlowArena *arena, const GlowChainStage *stages, uint32_t count,
                            int64_t memory) {
  GlowChain *c = GLOW_NEW(arena, GlowChain);
  size_t cells = (size_t)count * count * (GLOW_CHAIN_SLOTS + 1);
  c->stages = stages;
  c->count = count;
  c->slot = memory / GLOW_CHAIN_SLOTS + (memory % GLOW_CHAIN_SLOTS != 0);
  c->slot += c->slot == 0;
  c->slots = (uint32_t)(memory / c->slot);
  c->cost = GLOW_NEW_ARRAY(arena, int64_t, cells);
  c->choice = GLOW_NEW_ARRAY(arena, uint8_t, cells);
  c->sum = GLOW_NEW_ARRAY(arena, int64_t, count + 1);
  c->fixed = GLOW_NEW_ARRAY(arena, uint32_t, count + 1);
  for (uint32_t i = 0; i < count; i++) {
    c->sum[i + 1] = c->sum[i] + stages[i].cost;
    c->fixed[i + 1] = c->fixed[i] + stages[i].fixed;
  }
  for (uint32_t length = 1; length <= count; length++)
    for (uint32_t i = 0; i + length <= count; i++)
      solve_stretch(c, i, i + length - 1);
  return c;
}

GlowChainPart glow_chain_all(const GlowChain *c) {
  return (GlowChainPart){0, c->count - 1, c->slots};
}

int64_t glow_chain_recomputed(const GlowChain *c) {
  int64_t cost = c->cost[at(c, 0, c->count - 1, c->slots)];
  return cost >= NEVER ? -1 : cost;
}

bool glow_chain_step(const GlowChain *c, GlowChainPart part, GlowChainPart *left,
                     GlowChainPart *right) {
  uint32_t k = c->choice[at(c, part.first, part.last, part.slots)];
  bool saves = k == part.first;
  int64_t kept = saves ? c->stages[k].saved : c->stages[k - 1].boundary;
  *right = (GlowChainPart){saves ? k + 1 : k, part.last, part.slots - slots_of(c, kept)};
  if (!saves)
    *left = (GlowChainPart){part.first, k - 1, part.slots};
  return saves;
}

/* M(i, j), the least memory for stages i to j, by the same recurrence. */
int64_t glow_chain_least(GlowArena *arena, const GlowChainStage *stages, uint32_t count) {
  int64_t *least = GLOW_NEW_ARRAY(arena, int64_t, (size_t)(count + 1) * (count + 1));
  for (uint32_t length = 1; length <= count; length++)
    for (uint32_t i = 0; i + length <= count; i++) {
      uint32_t j = i + length - 1;
      int64_t rest = length > 1 ? least[(i + 1) * count + j] : 0;
      int64_t run = stages[i].run + stages[j].front;
      int64_t best = stages[i].saved + (rest > stages[i].late ? rest : stages[i].late);
      best = run > best ? run : best;
      bool fixed = stages[i].fixed;
      for (uint32_t k = i + 1; k <= j && !fixed; fixed |= stages[k].fixed, k++) {
        int64_t right = stages[k - 1].boundary + least[k * count + j];
        int64_t left = least[i * count + k - 1];
        int64_t both = right > left ? right : left;
        both = run > both ? run : both;
        best = both < best ? both : best;
        int64_t next = stages[k - 1].boundary + stages[k].run + stages[j].front;
        run = next > run ? next : run;
      }
      least[i * count + j] = best;
    }
  return count ? least[count - 1] : 0;
}
