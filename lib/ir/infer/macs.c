/* Numbers of multiply-accumulates: elements of the result times the terms of each element. */
#include "ir/infer/hooks.h"

static bool is_known(const GlowValue *v) { return v && glow_type_is_static(v->type); }

/* a * b, or -1 if either is unknown or the product is over INT64_MAX. */
static int64_t times(int64_t a, int64_t b) {
  int64_t product;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

/* Each output, pooled or not, sums over the filter of its channel: all extents of W but the first.
 */
static int64_t convolution(const GlowNode *n, const GlowValue *w) {
  const GlowValue *y = glow_node_out(n, 0);
  if (!is_known(w) || !is_known(y) || w->type->dims[0].size == 0)
    return is_known(w) && is_known(y) ? 0 : -1;
  return times(glow_type_elements(glow_node_map(n)),
               glow_type_elements(w->type) / w->type->dims[0].size);
}

/* Winograd's algorithm counts as the direct one, with 9 taps, so that strategies compare. */
int64_t glow_macs_convolution(const GlowNode *n) {
  const GlowConvolutionMembers *m = n->members;
  const GlowValue *w = glow_node_in(n, GLOW_CONVOLUTION_IN_W), *y = glow_node_out(n, 0);
  if (m->strategy == GLOW_CONV_STRATEGY_WINOGRAD && is_known(w) && is_known(y))
    return times(glow_type_elements(glow_node_map(n)), 9 * w->type->dims[3].size);
  return convolution(n, w);
}

int64_t glow_macs_conv_integer(const GlowNode *n) {
  return convolution(n, glow_node_in(n, GLOW_CONV_INTEGER_IN_W));
}

int64_t glow_macs_deform_conv(const GlowNode *n) {
  return convolution(n, glow_node_in(n, GLOW_DEFORM_CONV_IN_W));
}

/* Each element of X meets the filters of its group: all extents of W but the first. */
int64_t glow_macs_conv_transpose(const GlowNode *n) {
  const GlowValue *x = glow_node_in(n, GLOW_CONV_TRANSPOSE_IN_X);
  const GlowValue *w = glow_node_in(n, GLOW_CONV_TRANSPOSE_IN_W);
  if (!is_known(x) || !is_known(w) || w->type->dims[0].size == 0)
    return is_known(x) && is_known(w) ? 0 : -1;
  return times(glow_type_elements(x->type), glow_type_elements(w->type) / w->type->dims[0].size);
}

/* Each element of DY meets the taps of its group: all extents of DW but the first. */
int64_t glow_macs_filter_gradient(const GlowNode *n) {
  const GlowValue *dy = glow_node_in(n, GLOW_FILTER_GRADIENT_IN_DY), *dw = glow_node_out(n, 0);
  if (!is_known(dy) || !is_known(dw) || dw->type->dims[0].size == 0)
    return is_known(dy) && is_known(dw) ? 0 : -1;
  return times(glow_type_elements(dy->type), glow_type_elements(dw->type) / dw->type->dims[0].size);
}

/* Each output sums over the last axis of A. */
static int64_t product(const GlowNode *n, const GlowValue *a) {
  const GlowValue *c = glow_node_out(n, 0);
  if (!is_known(a) || !is_known(c))
    return -1;
  return times(glow_type_elements(c->type), a->type->dims[a->type->rank - 1].size);
}

int64_t glow_macs_mat_mul(const GlowNode *n) {
  return product(n, glow_node_in(n, GLOW_MAT_MUL_IN_A));
}

int64_t glow_macs_mat_mul_integer(const GlowNode *n) {
  return product(n, glow_node_in(n, GLOW_MAT_MUL_INTEGER_IN_A));
}

int64_t glow_macs_mat_mul_nbits(const GlowNode *n) {
  return product(n, glow_node_in(n, GLOW_MAT_MUL_NBITS_IN_A));
}

int64_t glow_macs_fully_connected(const GlowNode *n) {
  return product(n, glow_node_in(n, GLOW_FULLY_CONNECTED_IN_X));
}

/* Each score is a sum over the size of a head; each result is a sum over the keys. */
int64_t glow_macs_tiled_attention(const GlowNode *n) {
  const GlowValue *q = glow_node_in(n, GLOW_TILED_ATTENTION_IN_Q);
  const GlowValue *k = glow_node_in(n, GLOW_TILED_ATTENTION_IN_K), *y = glow_node_out(n, 0);
  if (!is_known(q) || !is_known(k) || !is_known(y))
    return -1;
  int64_t elements = glow_type_elements(q->type) + glow_type_elements(y->type);
  return times(elements, k->type->dims[2].size);
}
