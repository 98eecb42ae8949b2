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

int32_t glow_stored_of(const GlowType *t, float x) {
  int32_t low, high;
  glow_stored_limits(t->kind, &low, &high);
  float q = rintf(x / t->scale);
  if (isnan(q))
    return t->offset;
  double v = (double)q + (double)t->offset;
  return v <= low ? low : v >= high ? high : (int32_t)v;
}
