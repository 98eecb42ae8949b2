/* One element in memory. All access goes through raw bits, so alignment does not matter. Elements
 * of 4 and 2 bits are packed, low bits first. Writing converts as casts do (docs/Numerics): to
 * floats it rounds to nearest even; from floats to integers it truncates and saturates; integers
 * wrap. */
#include <math.h>
#include <string.h>

#include "num/half.h"
#include "tensor/element.h"

uint64_t glow_element_bits(GlowKind kind, const void *data, int64_t index) {
  uint32_t bits = glow_kind_info[kind].bits;
  const unsigned char *p = data;
  if (bits < 8) {
    uint32_t per = 8 / bits;
    uint32_t shift = (uint32_t)(index % per) * bits;
    return (uint64_t)(p[index / per] >> shift) & ((1u << bits) - 1u);
  }
  uint16_t u16;
  uint32_t u32;
  uint64_t u64;
  switch (bits) {
  case 8:
    return p[index];
  case 16:
    memcpy(&u16, p + index * 2, 2);
    return u16;
  case 32:
    memcpy(&u32, p + index * 4, 4);
    return u32;
  default:
    memcpy(&u64, p + index * (bits / 8), 8);
    return u64;
  }
}

void glow_element_set_bits(GlowKind kind, void *data, int64_t index, uint64_t value) {
  uint32_t bits = glow_kind_info[kind].bits;
  unsigned char *p = data;
  uint16_t u16 = (uint16_t)value;
  uint32_t u32 = (uint32_t)value;
  if (bits < 8) {
    uint32_t per = 8 / bits, shift = (uint32_t)(index % per) * bits;
    uint32_t mask = ((1u << bits) - 1u) << shift;
    unsigned char *byte = p + index / per;
    *byte = (unsigned char)((*byte & ~mask) | (u32 << shift & mask));
    return;
  }
  switch (bits) {
  case 8:
    p[index] = (unsigned char)value;
    break;
  case 16:
    memcpy(p + index * 2, &u16, 2);
    break;
  case 32:
    memcpy(p + index * 4, &u32, 4);
    break;
  default:
    memcpy(p + index * (bits / 8), &value, 8);
    break;
  }
}

static double double_from_bits(uint64_t bits) {
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static uint64_t double_bits(double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

/* The low `width` bits as a two's complement number. */
static int64_t sign_extend(uint64_t bits, uint32_t width) {
  uint64_t sign = UINT64_C(1) << (width - 1);
  return (int64_t)((bits ^ sign) - sign);
}

GlowScalar glow_element_decode(GlowKind kind, uint64_t bits) {
  switch (kind) {
  case GLOW_KIND_FLOAT:
  case GLOW_KIND_COMPLEX64:
    return glow_scalar_float(glow_float_from_bits((uint32_t)bits));
  case GLOW_KIND_DOUBLE:
  case GLOW_KIND_COMPLEX128:
    return glow_scalar_float(double_from_bits(bits));
  case GLOW_KIND_FLOAT16:
    return glow_scalar_float(glow_half_to_float((uint16_t)bits));
  case GLOW_KIND_BFLOAT16:
    return glow_scalar_float(glow_bfloat_to_float((uint16_t)bits));
  case GLOW_KIND_I8:
  case GLOW_KIND_I16:
  case GLOW_KIND_I32:
  case GLOW_KIND_I64:
  case GLOW_KIND_I4:
  case GLOW_KIND_I2:
    return glow_scalar_int(sign_extend(bits, glow_kind_info[kind].bits));
  case GLOW_KIND_U8:
  case GLOW_KIND_U16:
  case GLOW_KIND_U32:
  case GLOW_KIND_U64:
  case GLOW_KIND_U4:
  case GLOW_KIND_U2:
    return glow_scalar_uint(bits);
  case GLOW_KIND_BOOL:
    return glow_scalar_int(bits != 0);
  case GLOW_KIND_STRING:
  case GLOW_KIND_COUNT:
    return glow_scalar_int(0);
  default:
    return glow_scalar_float(glow_small_float_decode(kind, (uint8_t)bits));
  }
}

/* An integer as a double, rounded to odd: rounding that to a narrower kind rounds correctly. */
static double int_to_double_odd(GlowScalar v) {
  bool wrapped = glow_scalar_is_wrapped(v), negative = v.i < 0 && !wrapped;
  uint64_t size = negative ? 0 - (uint64_t)v.i : (uint64_t)v.i;
  if (size >> 53) {
    uint64_t lost = size & 0x7ff;
    size = (size & ~UINT64_C(0x7ff)) | (lost ? 0x800 : 0);
  }
  return negative ? -(double)size : (double)size;
}

/* A float kind from any scalar, rounded once. */
static uint64_t encode_float(GlowKind kind, GlowScalar s) {
  double v = s.is_int ? int_to_double_odd(s) : s.f;
  switch (kind) {
  case GLOW_KIND_FLOAT:
  case GLOW_KIND_COMPLEX64:
    return glow_float_bits((float)v);
  case GLOW_KIND_DOUBLE:
  case GLOW_KIND_COMPLEX128:
    return double_bits(s.f);
  case GLOW_KIND_FLOAT16:
    return glow_half_from_double(v);
  case GLOW_KIND_BFLOAT16:
    return glow_bfloat_from_double(v);
  default:
    return glow_small_float_encode(kind, v, true);
  }
}

/* v as an integer of so many bits, truncated and saturated; 0 for NaN. */
static uint64_t truncate_float(double v, uint32_t bits, bool is_signed) {
  double limit = double_from_bits((uint64_t)(1023 + bits - (is_signed ? 1 : 0)) << 52); /* 2^n */
  if (v != v)
    return 0;
  if (!is_signed) {
    uint64_t most = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    return v >= limit ? most : v <= 0 ? 0 : (uint64_t)v;
  }
  int64_t most = (int64_t)((UINT64_C(1) << (bits - 1)) - 1);
  return (uint64_t)(v >= limit ? most : v <= -limit ? -most - 1 : (int64_t)v);
}

uint64_t glow_element_encode(GlowKind kind, GlowScalar v) {
  const GlowKindInfo *info = &glow_kind_info[kind];
  switch (info->cls) {
  case GLOW_CLASS_FLOAT:
  case GLOW_CLASS_COMPLEX:
    return encode_float(kind, v);
  case GLOW_CLASS_SINT:
    return v.is_int ? (uint64_t)v.i : truncate_float(v.f, info->bits, true);
  case GLOW_CLASS_UINT:
    return v.is_int ? (uint64_t)v.i : truncate_float(v.f, info->bits, false);
  case GLOW_CLASS_BOOL:
    return v.is_int ? v.i != 0 : v.f != 0;
  case GLOW_CLASS_STRING:
    break;
  }
  return 0;
}

GlowScalar glow_element_get(GlowKind kind, const void *data, int64_t index) {
  if (kind == GLOW_KIND_STRING)
    return glow_scalar_int(0);
  return glow_element_decode(kind, glow_element_bits(kind, data, index));
}

void glow_element_set(GlowKind kind, void *data, int64_t index, GlowScalar v) {
  if (kind == GLOW_KIND_STRING)
    return;
  uint32_t bytes = glow_kind_info[kind].bits / 8;
  if (glow_kind_info[kind].cls == GLOW_CLASS_COMPLEX)
    memset((unsigned char *)data + index * bytes, 0, bytes);
  uint64_t bits = glow_element_encode(kind, v);
  if (kind == GLOW_KIND_COMPLEX64) {
    uint32_t real = (uint32_t)bits;
    memcpy((unsigned char *)data + index * 8, &real, sizeof real);
    return;
  }
  glow_element_set_bits(kind, data, index, bits);
}
