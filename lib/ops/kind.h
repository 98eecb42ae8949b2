/* Element kinds (kinds.def), their properties, and finding them by name or number. */
#ifndef GLOW_OPS_KIND_H
#define GLOW_OPS_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum GlowKind {
#define KIND(e, name, bits, cls, onnx, npy, st) GLOW_KIND_##e,
#include "ops/kinds.def"
#undef KIND
  GLOW_KIND_COUNT
} GlowKind;

typedef enum GlowKindClass {
  GLOW_CLASS_FLOAT,
  GLOW_CLASS_SINT,
  GLOW_CLASS_UINT,
  GLOW_CLASS_BOOL,
  GLOW_CLASS_COMPLEX,
  GLOW_CLASS_STRING
} GlowKindClass;

/* An element of kind string. */
typedef struct GlowString {
  char *data; /* not NUL-terminated; owned by the tensor if the tensor owns its data */
  size_t length;
} GlowString;

typedef struct GlowKindInfo {
  const char *name;
  uint32_t bits; /* in memory; a string element is a GlowString (pointer, length) */
  GlowKindClass cls;
  int onnx; /* TensorProto.DataType */
  const char *npy, *safetensors;
} GlowKindInfo;

extern const GlowKindInfo glow_kind_info[GLOW_KIND_COUNT];

typedef uint32_t GlowKindSet; /* bit i: kind i; the last bit: quantized types of integer kinds */
#define GLOW_KIND_BIT(kind) (UINT32_C(1) << (kind))
#define GLOW_KINDS_QUANTIZED (UINT32_C(1) << 31)

/* Finds a kind by its name in texts; GLOW_KIND_COUNT if there is none. */
GlowKind glow_kind_from_name(const char *name, size_t length);
GlowKind glow_kind_from_onnx(int data_type);
/* Whether v is a value of an integer kind. */
bool glow_kind_holds(GlowKind k, int64_t v);

static inline bool glow_kind_is_integer(GlowKind k) {
  return glow_kind_info[k].cls == GLOW_CLASS_SINT || glow_kind_info[k].cls == GLOW_CLASS_UINT;
}
static inline bool glow_kind_is_float(GlowKind k) {
  return glow_kind_info[k].cls == GLOW_CLASS_FLOAT;
}

#endif
