/* The order by child memory, depth first. It begins with the steps that nothing else in the piece
 * needs; among the operands of a step, those come first that need the most memory beyond the bytes
 * that they leave. For trees of values of one size this is the best order (Sethi and Ullman, 1970);
 * elsewhere it is a good guess. */
#include "memplan/order_internal.h"
#include "support/sort.h"

typedef struct Need {
  int64_t most;   /* bytes to run the step and all steps it needs, if no other step needs those */
  int64_t leaves; /* bytes of the values that the step makes */
  uint32_t step;
} Need;

typedef struct Greedy {
  const GlowOrderProblem *problem;
  GlowArena *scratch;
  uint32_t from, to, *maker;
  Need *needs;         /* of step from + i */
  uint32_t **operands; /* of step from + i: steps of the piece it comes after, in order of visit */
  uint32_t *noperands;
} Greedy;

static int by_excess(const void *a, const void *b) {
  const Need *x = a, *y = b;
  int64_t ex = x->most - x->leaves, ey = y->most - y->leaves;
  if (ex != ey)
    return ex > ey ? -1 : 1;
  return x->step < y->step ? -1 : x->step > y->step;
}

/* Lists the steps of the piece that this step comes directly after, each once; returns how many. */
static uint32_t collect(Greedy *g, uint32_t step, Need *out) {
  const GlowOrderStep *t = &g->problem->steps[step];
  uint32_t n = 0;
  for (uint32_t k = 0; k < t->takes.count + t->after.count; k++) {
    uint32_t other =
        k < t->takes.count ? g->maker[t->takes.data[k]] : t->after.data[k - t->takes.count];
    bool is_new = other != GLOW_ORDER_NONE && other >= g->from;
    for (uint32_t i = 0; i < n && is_new; i++)
      is_new = out[i].step != other;
    if (is_new)
      out[n++] = g->needs[other - g->from];
  }
  return n;
}

static void measure(Greedy *g, uint32_t step) {
  const GlowOrderStep *t = &g->problem->steps[step];
  Need *operands = GLOW_NEW_ARRAY(g->scratch, Need, t->takes.count + t->after.count);
  uint32_t n = collect(g, step, operands), at = step - g->from;
  if (n)
    glow_sort(operands, n, sizeof *operands, by_excess);
  Need need = {.most = 0, .leaves = 0, .step = step};
  g->operands[at] = GLOW_NEW_ARRAY(g->scratch, uint32_t, n);
  g->noperands[at] = n;
  int64_t held = 0;
  for (uint32_t i = 0; i < n; i++) {
    g->operands[at][i] = operands[i].step;
    need.most = held + operands[i].most > need.most ? held + operands[i].most : need.most;
    held += operands[i].leaves;
  }
  for (uint32_t k = 0; k < t->makes.count; k++)
    need.leaves += g->problem->values[t->makes.data[k]].bytes;
  int64_t during = held + need.leaves + t->inner;
  need.most = during > need.most ? during : need.most;
  g->needs[at] = need;
}

typedef struct Visit {
  uint32_t step, next; /* the operand to visit next */
} Visit;

void glow_order_greedy(GlowArena *scratch, const GlowOrderProblem *p, uint32_t from, uint32_t to,
                       uint32_t *order) {
  uint32_t n = to - from, done = from, depth = 0;
  Greedy g = {.problem = p, .scratch = scratch, .from = from, .to = to};
  g.maker = glow_order_makers(scratch, p);
  g.needs = GLOW_NEW_ARRAY(scratch, Need, n);
  g.operands = GLOW_NEW_ARRAY(scratch, uint32_t *, n);
  g.noperands = GLOW_NEW_ARRAY(scratch, uint32_t, n);
  bool *is_needed = GLOW_NEW_ARRAY(scratch, bool, n), *visited = GLOW_NEW_ARRAY(scratch, bool, n);
  for (uint32_t i = from; i < to; i++) {
    measure(&g, i);
    for (uint32_t k = 0; k < g.noperands[i - from]; k++)
      is_needed[g.operands[i - from][k] - from] = true;
  }
  Visit *stack = GLOW_NEW_ARRAY(scratch, Visit, n);
  for (uint32_t i = from; i < to; i++) {
    if (is_needed[i - from])
      continue;
    visited[i - from] = true;
    stack[depth++] = (Visit){i, 0};
    while (depth) {
      Visit *v = &stack[depth - 1];
      if (v->next == g.noperands[v->step - from]) {
        order[done++] = v->step;
        depth--;
        continue;
      }
      uint32_t operand = g.operands[v->step - from][v->next++];
      if (visited[operand - from])
        continue;
      visited[operand - from] = true;
      stack[depth++] = (Visit){operand, 0};
    }
  }
}
