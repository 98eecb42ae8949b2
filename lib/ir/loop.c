/* See loop.h. */
#include "ir/loop.h"

/* 1 or 0 for a known condition, -1 for an unknown one. */
static int known_condition(const GlowValue *v) {
  const GlowTensor *t = glow_value_known(v);
  return !t || glow_tensor_elements(t) != 1 ? -1 : glow_tensor_get_int(t, 0) != 0;
}

int64_t glow_loop_trips(const GlowNode *n) {
  const GlowValue *trip = glow_node_in(n, GLOW_LOOP_IN_TRIP),
                  *cond = glow_node_in(n, GLOW_LOOP_IN_COND);
  const GlowValue *next = glow_block_terminator(n->regions[0])->operands[0].value;
  const GlowTensor *known = trip ? glow_value_known(trip) : NULL;
  int start = cond ? known_condition(cond) : 1;
  int goes_on = next == n->regions[0]->params[1] ? 1 : known_condition(next);
  int64_t count = INT64_MAX;
  if (known && glow_tensor_elements(known) == 1)
    count = glow_tensor_get_int(known, 0);
  if (count <= 0 || start == 0)
    return 0;
  if (start < 0 || (trip && !known))
    return -1;
  if (goes_on == 0)
    return 1;
  return goes_on > 0 && count != INT64_MAX ? count : -1;
}

static bool is_number(const GlowValue *v, int64_t number) {
  const GlowTensor *t = v ? glow_value_known(v) : NULL;
  return t && glow_tensor_elements(t) == 1 && glow_tensor_get_int(t, 0) == number;
}

bool glow_loop_picks(const GlowNode *loop, const GlowNode *n, int64_t trips, bool *backwards) {
  const GlowBlock *body = loop->regions[0];
  if (n->op != GLOW_OP_GATHER || n->block != body || n->pred.value)
    return false;
  const GlowValue *index = glow_node_in(n, 1);
  const GlowNode *sub = glow_value_def(index, GLOW_OP_SUB);
  *backwards = index != body->params[0];
  return !*backwards || (sub && !sub->pred.value && glow_node_in(sub, 1) == body->params[0] &&
                         is_number(glow_node_in(sub, 0), trips - 1));
}
