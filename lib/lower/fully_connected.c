/* FullyConnected(X, W, B) = Add(MatMul(X, W), B). */
#include "lower/lower.h"
#include "ops/lower.h"

bool glow_lower_fully_connected(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  GlowValue *bias = glow_node_in(n, GLOW_FULLY_CONNECTED_IN_B);
  GlowValue *product = glow_build2(b, GLOW_OP_MAT_MUL, glow_node_in(n, GLOW_FULLY_CONNECTED_IN_X),
                                   glow_node_in(n, GLOW_FULLY_CONNECTED_IN_W), NULL, NULL);
  results[0] = product && bias ? glow_build2(b, GLOW_OP_ADD, product, bias, NULL, NULL) : product;
  return results[0] != NULL;
}
