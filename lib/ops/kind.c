/* The table of element kinds, and finding a row by its name in texts or by its number in ONNX. */
#include "ops/kind.h"

#include <string.h>

const GlowKindInfo glow_kind_info[GLOW_KIND_COUNT] = {
#define KIND(e, name, bits, cls, onnx, npy, st) {name, bits, GLOW_CLASS_##cls, onnx, npy, st},
#include "ops/kinds.def"
#undef KIND
};

GlowKind glow_kind_from_name(const char *name, size_t length) {
  for (int k = 0; k < GLOW_KIND_COUNT; k++)
    if (strlen(glow_kind_info[k].name) == length && !memcmp(glow_kind_info[k].name, name, length))
      return (GlowKind)k;
  return GLOW_KIND_COUNT;
}

GlowKind glow_kind_from_onnx(int data_type) {
  for (int k = 0; k < GLOW_KIND_COUNT; k++)
    if (glow_kind_info[k].onnx == data_type)
      return (GlowKind)k;
  return GLOW_KIND_COUNT;
}

bool glow_kind_holds(GlowKind k, int64_t v) {
  uint32_t bits = glow_kind_info[k].bits;
  if (glow_kind_info[k].cls == GLOW_CLASS_UINT)
    return v >= 0 && (bits >= 63 || v >> bits == 0);
  return bits >= 64 || (v >= -(INT64_C(1) << (bits - 1)) && v < INT64_C(1) << (bits - 1));
}
