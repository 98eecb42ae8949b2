/* Questions about quantized types and values. */
#include "transforms/quantized.h"

#include <math.h>

void glow_stored_limits(GlowKind kind, int32_t *low, int32_t *high) {
  const GlowKindInfo *info = &glow_kind_info[kind];
  bool has_sign = info->cls == GLOW_CLASS_SINT;
  *low = has_sign ? -(1 << (info->bits - 1)) : 0;
  *high = (1 << (info->bits - has_sign)) - 1;
}

bool glow_quantization_is_usual(const GlowType *t) {
  if (!glow_type_is_tensor(t) || !t->quantized || !glow_kind_is_integer(t->kind) ||
      (glow_kind_info[t->kind].bits != 8 && glow_kind_info[t->kind].bits != 16))
    return false;
  int32_t low, high;
  glow_stored_limits(t->kind, &low, &high);
  return t->offset >= low && t->offset <= high && t->scale >= 0x1p-60f && t->scale <= 0x1p60f;
}

bool glow_quantization_is_same(const GlowType *a, const GlowType *b) {
  return glow_type_is_tensor(a) && glow_type_is_tensor(b) && a->quantized && b->quantized &&
         a->kind == b->kind && a->scale == b->scale && a->offset == b->offset;
}

void glow_quantized_range(const GlowType *t, double *low, double *high) {
  int32_t least, most;
  glow_stored_limits(t->kind, &least, &most);
  *low = ((double)least - t->offset) * (double)t->scale;
  *high = ((double)most - t->offset) * (double)t->scale;
}

int32_t glow_stored_of(const GlowType *t, float x) {
  int32_t low, high;
  glow_stored_limits(t->kind, &low, &high);
  float q = rintf(x / t->scale);
  if (isnan(q))
    return t->offset;
  double v = (double)q + (double)t->offset;
  return v <= low ? low : v >= high ? high : (int32_t)v;
}

GlowValue *glow_build_parameter(GlowBuilder *b, const GlowNode *n, GlowValue *v, uint32_t rank,
                                uint32_t axis) {
  int64_t count = v && glow_type_is_static(v->type) ? glow_type_elements(v->type) : 0;
  if (count <= 1)
    return v ? glow_build_shaped(b, n, v, 0, NULL) : NULL;
  return glow_build_along(b, n, glow_build_shaped(b, n, v, 1, &count), rank, axis);
}

GlowValue *glow_weight_sums(GlowBuilder *b, const GlowNode *n, GlowValue *w, bool convolves,
                            int64_t factor) {
  int64_t axes[GLOW_MAX_RANK];
  uint32_t count = 0, rank = w->type->rank;
  for (uint32_t i = 0; i < rank; i++)
    if (convolves ? i > 0 : i + 2 == rank)
      axes[count++] = i;
  GlowReduceSumMembers m = {.keep = !convolves && rank > 2};
  GlowValue *ins[] = {glow_then_cast(b, w, GLOW_KIND_I32), NULL};
  ins[1] = glow_constant_ints(b->module, n, "axes", axes, count);
  GlowValue *sum = glow_then(b, GLOW_OP_REDUCE_SUM, ins, 2, &m);
  return glow_then2(b, GLOW_OP_MUL, sum, glow_build_scalar(b, GLOW_KIND_I32, (double)factor));
}

GlowValue *glow_centered_weights(GlowBuilder *b, const GlowNode *n, GlowValue *w, GlowValue *zero,
                                 uint32_t axis, double known) {
  bool is_signed = w->type->kind == GLOW_KIND_I8;
  if (is_signed && (!zero || known == 0))
    return w;
  GlowValue *wide = glow_then_cast(b, w, GLOW_KIND_I16);
  if (!zero)
    return wide;
  GlowValue *z = glow_build_parameter(b, n, zero, w->type->rank, axis);
  wide = glow_then2(b, GLOW_OP_SUB, wide, glow_then_cast(b, z, GLOW_KIND_I16));
  return !is_signed && known == 128 ? glow_then_cast(b, wide, GLOW_KIND_I8) : wide;
}

bool glow_zero_point(GlowValues *values, const GlowValue *v, double *zero) {
  const GlowTensor *t = v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls == GLOW_CONSTANT
                            ? glow_values_get(values, v->def.storage)
                            : NULL;
  if (!t)
    return glow_value_number(values, v, zero);
  for (int64_t i = 0; i < glow_tensor_elements(t); i++) {
    double element = glow_tensor_get_double(t, i);
    if (i && element != *zero)
      return false;
    *zero = element;
  }
  return glow_tensor_elements(t) > 0;
}

GlowValue *glow_build_bit_cast(GlowBuilder *b, GlowValue *x, const GlowType *t) {
  GlowBitCastMembers m = {.to = t->kind};
  GlowNodeSpec spec = {.op = GLOW_OP_BIT_CAST, .ins = &x, .nins = 1, .members = &m, .types = &t};
  GlowNode *n = x ? glow_node_create(b, &spec) : NULL;
  return n ? &n->results[0] : NULL;
}
