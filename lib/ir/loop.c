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
