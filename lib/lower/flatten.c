/* Flatten, Squeeze and Unsqueeze are Reshape to the shape that inference gives them. */
#include "lower/lower.h"
#include "ops/lower.h"

static bool as_reshape(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowType *t = n->results[0].type;
  if (!glow_type_is_tensor(t) || t->unranked)
    return false;
  results[0] = glow_build_reshape(b, n, glow_node_in(n, 0), t->rank, t->dims);
  return results[0] != NULL;
}

bool glow_lower_flatten(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  return as_reshape(b, n, results);
}

bool glow_lower_squeeze(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  return as_reshape(b, n, results);
}

bool glow_lower_unsqueeze(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  return as_reshape(b, n, results);
}
