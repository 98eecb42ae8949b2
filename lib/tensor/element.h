/* One element in memory: reading, writing and its raw bits, at any alignment, for every kind but
 * strings. Private to lib/tensor. */
#ifndef GLOW_TENSOR_ELEMENT_H
#define GLOW_TENSOR_ELEMENT_H

#include "tensor/tensor.h"

/* `index` counts elements from `data`, for packed kinds, too. */
GlowScalar glow_element_get(GlowKind kind, const void *data, int64_t index);
void glow_element_set(GlowKind kind, void *data, int64_t index, GlowScalar v);

/* The bits of a kind of at most 64 bits. */
uint64_t glow_element_bits(GlowKind kind, const void *data, int64_t index);
void glow_element_set_bits(GlowKind kind, void *data, int64_t index, uint64_t bits);

/* For kinds of at most 64 bits: the value of bits, and the bits of a value rounded to the kind. */
GlowScalar glow_element_decode(GlowKind kind, uint64_t bits);
uint64_t glow_element_encode(GlowKind kind, GlowScalar v);

/* float8 and float4 kinds (small_float.c). */
float glow_small_float_decode(GlowKind kind, uint8_t bits);
uint8_t glow_small_float_encode(GlowKind kind, double v, bool saturate);

static inline GlowScalar glow_scalar_float(double v) { return (GlowScalar){.f = v}; }
static inline GlowScalar glow_scalar_int(int64_t v) {
  return (GlowScalar){.is_int = true, .i = v, .f = (double)v};
}
static inline GlowScalar glow_scalar_uint(uint64_t v) {
  return (GlowScalar){.is_int = true, .i = (int64_t)v, .f = (double)v};
}
/* Whether v is a u64 over INT64_MAX: then i is negative, since it wrapped, but f is not. */
static inline bool glow_scalar_is_wrapped(GlowScalar v) { return v.is_int && v.i < 0 && v.f > 0; }

#endif
