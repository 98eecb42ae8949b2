/* Conversions on lanes: glow_lanes_cast_<to>_<from>, glow_lanes_quantize_<to>_<from> and
 * glow_lanes_dequantize_<to>_<from>; glow_lanes_linear_<to>_<from> are QuantizeLinear and
 * DequantizeLinear with a scale of float, glow_lanes_offset_<to>_float is the former behind the
 * division, and glow_lanes_divide_<to>_float the former with the reciprocal of the scale, too, both
 * of them and the zero point the same on all lanes. Each rounds, truncates, saturates or wraps
 * once, as Cast and Quantize say. Casts to floats of 8 bits exist from float and double, casts from
 * them only to float; all others take two steps. */
#define GLOW_BLOCK_FORMS
#include "lane_scale.h"
#include "lanes.h"

#include "num/half.h"

#undef bool /* it is part of names here */

#define BLOCK1(name, TO, FROM)                                                                     \
  GLOW_BLOCK(name, 1, BLOCK_ROW(FROM, 0),                                                          \
             glow_lanes_##name(members, BLOCK_OUT(TO), BLOCK_IN(FROM, 0)))
#define BLOCK2(name, TO, A, B)                                                                     \
  GLOW_BLOCK(name, 2, BLOCK_ROW(A, 0) BLOCK_ROW(B, 1),                                             \
             glow_lanes_##name(members, BLOCK_OUT(TO), BLOCK_IN(A, 0), BLOCK_IN(B, 1)))
#define BLOCK3(name, TO, A, B, C)                                                                  \
  GLOW_BLOCK(                                                                                      \
      name, 3, BLOCK_ROW(A, 0) BLOCK_ROW(B, 1) BLOCK_ROW(C, 2),                                    \
      glow_lanes_##name(members, BLOCK_OUT(TO), BLOCK_IN(A, 0), BLOCK_IN(B, 1), BLOCK_IN(C, 2)))
/* The members hold a scale. A copy outside of the loop over registers is read once: a result of
 * bytes may alias the members. */
#define BLOCK_SCALED(name, TO, FROM)                                                               \
  GLOW_BLOCK(name, 1, const GlowLaneScale scale = *(const GlowLaneScale *)members;                 \
             BLOCK_ROW(FROM, 0), glow_lanes_##name(&scale, BLOCK_OUT(TO), BLOCK_IN(FROM, 0)))
/* A loop of its own where the scale and the offset are such that a narrow kind needs less. */
#define TWO_A_TURN _Pragma("clang loop unroll_count(2)")
#define BLOCK_SCALED_NARROW(name, TO, FROM, simple)                                                \
  GLOW_BLOCK(name, 1, const GlowLaneScale scale = *(const GlowLaneScale *)members;                 \
             BLOCK_ROW(FROM, 0) if (simple) BLOCK_ROW_LOOP(                                        \
                 TWO_A_TURN, glow_lanes_##name(&scale, BLOCK_OUT(TO), BLOCK_IN(FROM, 0))) else,    \
             glow_lanes_##name(&scale, BLOCK_OUT(TO), BLOCK_IN(FROM, 0)))
#define BLOCK_SCALED_WIDE(name, TO, FROM, simple) BLOCK_SCALED(name, TO, FROM)

/* ---- 16-bit floats: the machine's own conversions give the same bits ------------------------- */

#if defined(__F16C__) || defined(__aarch64__)
static inline float from_half(uint16_t h) {
  _Float16 v;
  __builtin_memcpy(&v, &h, sizeof v);
  return (float)v;
}
static inline uint16_t to_half(float f) {
  _Float16 v = (_Float16)f;
  uint16_t h;
  __builtin_memcpy(&h, &v, sizeof h);
  return h;
}

/* These work on vectors, since clang makes scalar code of a loop over these conversions. */
typedef float Floats __attribute__((vector_size(4 * GLOW_VL)));
typedef _Float16 Halves __attribute__((vector_size(2 * GLOW_VL)));
/* Hides where v is from: LLVM would compare in _Float16, which x86 does number by number. */
static inline Floats widened(Floats v) {
#ifdef __x86_64__
  __asm__("" : "+v"(v));
#endif
  return v;
}
/* The bits of v in a register: to convert and store in one instruction takes twice as long. */
typedef uint16_t Bits16 __attribute__((vector_size(2 * GLOW_VL)));
static inline Bits16 in_register(Halves v) {
  Bits16 bits = (Bits16)v;
#ifdef __x86_64__
  __asm__("" : "+v"(bits));
#endif
  return bits;
}
#define CAST_VECTOR(to, TO, Out, from, FROM, In, Stored, value)                                    \
  void glow_lanes_cast_##to##_##from(const void *m, TO *restrict r, const FROM *restrict x) {      \
    (void)m;                                                                                       \
    In in;                                                                                         \
    __builtin_memcpy(&in, x, sizeof in);                                                           \
    const Stored out = value(__builtin_convertvector(in, Out));                                    \
    __builtin_memcpy(r, &out, sizeof out);                                                         \
  }                                                                                                \
  BLOCK1(cast_##to##_##from, TO, FROM)
CAST_VECTOR(float16, uint16_t, Halves, float, float, Floats, Bits16, in_register)
CAST_VECTOR(float, float, Floats, float16, uint16_t, Halves, Floats, widened)
#else
#define from_half glow_half_to_float
#define to_half glow_half_from_float
#endif

/* ---- Integers -------------------------------------------------------------------------------- */

/* Truncated and saturated, NaN as 0. The limits of kinds up to 32 bits are exact doubles. */
#define SATURATE(k, T, low, high)                                                                  \
  static inline T saturate_##k(double v) {                                                         \
    return (T)(v != v ? 0 : v <= (double)(low) ? (low) : v >= (double)(high) ? (high) : (T)v);     \
  }
SATURATE(i8, int8_t, INT8_MIN, INT8_MAX)
SATURATE(i16, int16_t, INT16_MIN, INT16_MAX)
SATURATE(i32, int32_t, INT32_MIN, INT32_MAX)
SATURATE(u8, uint8_t, 0, UINT8_MAX)
SATURATE(u16, uint16_t, 0, UINT16_MAX)
SATURATE(u32, uint32_t, 0, UINT32_MAX)
#if defined(__AVX2__) && !defined(__AVX512DQ__)
/* An integer from -2^63 to 2^63, saturated, where no instruction converts to 64 bits: the high half
 * and the low one are sums with 2^52, and the constants above them cancel. */
static inline int64_t whole_i64(double v) {
  const double high = __builtin_floor(v * 0x1p-32), low = __builtin_fma(high, -0x1p32, v);
  const uint64_t bits = glow_double_bits(high + (0x1.8p52 - 0x43300000)) << 32;
  return (int64_t)(bits + glow_double_bits(low + 0x1p52) - (v >= 0x1p63 ? 1 : 0));
}
static inline int64_t saturate_i64(double v) {
  v = v == v ? v : 0;
  v = v < -0x1p63 ? -0x1p63 : v;
  return whole_i64(__builtin_trunc(v > 0x1p63 ? 0x1p63 : v));
}
static inline int64_t trim_i64(float v) {
  v = v == v ? v : 0;
  v = v < -0x1p63F ? -0x1p63F : v;
  return whole_i64((double)__builtin_truncf(v > 0x1p63F ? 0x1p63F : v));
}
#else
static inline int64_t saturate_i64(double v) { return glow_trunc_i64(v); }
static inline int64_t trim_i64(float v) { return glow_trunc_i64((double)v); }
#endif
static inline uint64_t saturate_u64(double v) { return glow_trunc_u64(v); }
static inline uint8_t saturate_bool(double v) { return v != 0; }

/* The same of a float. Limits of up to 16 bits are exact floats; of i32 the upper one is not. */
#define SATURATE_FLOAT(k, T, low, high)                                                            \
  static inline T trim_##k(float v) {                                                              \
    v = v == v ? v : 0;                                                                            \
    v = v < (low) ? (low) : v;                                                                     \
    return (T)(int32_t)(v > (high) ? (high) : v);                                                  \
  }
SATURATE_FLOAT(i8, int8_t, INT8_MIN, INT8_MAX)
SATURATE_FLOAT(i16, int16_t, INT16_MIN, INT16_MAX)
SATURATE_FLOAT(u8, uint8_t, 0, UINT8_MAX)
SATURATE_FLOAT(u16, uint16_t, 0, UINT16_MAX)
static inline int32_t trim_i32(float v) {
  const float most = 0x1.fffffep30F; /* without the last 7 bits of INT32_MAX */
  v = v == v ? v : 0;
  v = v < -0x1p31F ? -0x1p31F : v;
  return (int32_t)(v > most ? most : v) | (v > most ? 127 : 0);
}
static inline uint32_t trim_u32(float v) { return saturate_u32((double)v); }
static inline uint64_t trim_u64(float v) { return saturate_u64((double)v); }
static inline uint8_t trim_bool(float v) { return v != 0; }

/* a with 53 significant bits at most, rounded to odd: the last of them is set if any is lost. */
static inline uint64_t odd_size(uint64_t a) {
  return a >> 53 ? (a >> 11 | ((a & 0x7ff) != 0)) << 11 : a;
}
/* An integer as a double that rounds to every narrower kind as the integer itself would. */
static inline double odd_i64(int64_t v) {
  double size = (double)odd_size(v < 0 ? (uint64_t)0 - (uint64_t)v : (uint64_t)v);
  return v < 0 ? -size : size;
}
static inline double odd_u64(uint64_t v) { return (double)odd_size(v); }

/* ---- Casts ----------------------------------------------------------------------------------- */

#define CAST(to, TO, from, FROM, value)                                                            \
  void glow_lanes_cast_##to##_##from(const void *m, TO *restrict r, const FROM *restrict x) {      \
    (void)m;                                                                                       \
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) {                                                 \
      const FROM v = x[l];                                                                         \
      r[l] = (TO)(value);                                                                          \
    }                                                                                              \
  }                                                                                                \
  BLOCK1(cast_##to##_##from, TO, FROM)

/* M(kind, type, argument). */
#define INTEGERS(M, a) M(i32, int32_t, a) OTHER_INTEGERS(M, a)
#define OTHER_INTEGERS(M, a) M(i64, int64_t, a) FEWER_INTEGERS(M, a)
#define FEWER_INTEGERS(M, a)                                                                       \
  M(i8, int8_t, a)                                                                                 \
  M(i16, int16_t, a)                                                                               \
  M(u8, uint8_t, a) M(u16, uint16_t, a) M(u32, uint32_t, a) M(u64, uint64_t, a)

/* From an integer: wide is the double to round from, for the 16-bit floats. */
#define FROM_INTEGER(from, FROM, wide)                                                             \
  CAST(float, float, from, FROM, v)                                                                \
  TO_OTHERS(from, FROM, wide)
#define TO_OTHERS(from, FROM, wide)                                                                \
  CAST(double, double, from, FROM, v)                                                              \
  CAST(float16, uint16_t, from, FROM, to_half(glow_float_odd(wide)))                               \
  CAST(bfloat16, uint16_t, from, FROM, glow_bfloat_from_double(wide))                              \
  CAST(bool, uint8_t, from, FROM, v != 0)
FROM_INTEGER(i8, int8_t, (double)v)
FROM_INTEGER(i16, int16_t, (double)v)
FROM_INTEGER(i32, int32_t, (double)v)
TO_OTHERS(i64, int64_t, odd_i64(v))
FROM_INTEGER(u8, uint8_t, (double)v)
FROM_INTEGER(u16, uint16_t, (double)v)
FROM_INTEGER(u32, uint32_t, (double)v)
FROM_INTEGER(u64, uint64_t, odd_u64(v))

/* Between integers; a cast to the same kind is never called. */
#define TO_INTEGERS(from, FROM, a)                                                                 \
  CAST(i8, int8_t, from, FROM, v)                                                                  \
  CAST(i16, int16_t, from, FROM, v)                                                                \
  CAST(i32, int32_t, from, FROM, v)                                                                \
  CAST(i64, int64_t, from, FROM, v)                                                                \
  CAST(u8, uint8_t, from, FROM, v)                                                                 \
  CAST(u16, uint16_t, from, FROM, v)                                                               \
  CAST(u32, uint32_t, from, FROM, v) CAST(u64, uint64_t, from, FROM, v)
INTEGERS(TO_INTEGERS, )

#define FROM_BOOL(k, T, a) CAST(k, T, bool, uint8_t, v != 0)
INTEGERS(FROM_BOOL, )
CAST(float, float, bool, uint8_t, v != 0)
CAST(double, double, bool, uint8_t, v != 0)
CAST(float16, uint16_t, bool, uint8_t, v ? 0x3c00 : 0)
CAST(bfloat16, uint16_t, bool, uint8_t, v ? 0x3f80 : 0)

#define FROM_FLOAT(k, T, a) CAST(k, T, float, float, trim_##k(v))
#define FROM_DOUBLE(k, T, a) CAST(k, T, double, double, saturate_##k(v))
#define FROM_FLOAT16(k, T, a) CAST(k, T, float16, uint16_t, trim_##k(from_half(v)))
#define FROM_BFLOAT16(k, T, a) CAST(k, T, bfloat16, uint16_t, trim_##k(glow_bfloat_to_float(v)))
#define FROM_REAL(M) INTEGERS(M, ) M(bool, uint8_t, )
FEWER_INTEGERS(FROM_FLOAT, )
FROM_FLOAT(bool, uint8_t, )
FROM_REAL(FROM_DOUBLE)
FROM_REAL(FROM_FLOAT16)
FROM_REAL(FROM_BFLOAT16)

/* The machine's own conversion gives INT32_MIN for what i32 does not hold. */
#ifdef __x86_64__
#ifdef __AVX__
#define TRUNCATE "vcvttps2dq %1, %0"
#else
#define TRUNCATE "cvttps2dq %1, %0"
#endif
void glow_lanes_cast_i32_float(const void *m, int32_t *restrict r, const float *restrict x) {
  (void)m;
  const GlowVec v = vec_load(x);
  GlowVecI whole;
  __asm__(TRUNCATE : "=v"(whole) : "v"(v));
  whole = (whole ^ (v >= 0x1p31F)) & (v == v); /* INT32_MAX is ~INT32_MIN */
  __builtin_memcpy(r, &whole, sizeof whole);
}
BLOCK1(cast_i32_float, int32_t, float)
#else
FROM_FLOAT(i32, int32_t, )
#endif

/* Where no instruction converts to and from 64 bits, those of 32 bits do if all lanes fit. */
#if defined(__AVX2__) && !defined(__AVX512DQ__)
typedef int64_t Longs __attribute__((vector_size(GLOW_VL * 8), aligned(8)));
void glow_lanes_cast_i64_float(const void *m, int64_t *restrict r, const float *restrict x) {
  (void)m;
  const GlowVec v = vec_load(x);
  GlowVecI whole;
  __asm__(TRUNCATE : "=v"(whole) : "v"(v));
  if (!__builtin_reduce_or(whole == INT32_MIN)) {
    const Longs wide = __builtin_convertvector(whole, Longs);
    __builtin_memcpy(r, &wide, sizeof wide);
    return;
  }
  GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] = trim_i64(x[l]);
}
BLOCK1(cast_i64_float, int64_t, float)
void glow_lanes_cast_float_i64(const void *m, float *restrict r, const int64_t *restrict x) {
  (void)m;
  Longs v;
  __builtin_memcpy(&v, x, sizeof v);
  const GlowVecI low = __builtin_convertvector(v, GlowVecI);
  if (__builtin_reduce_and(__builtin_convertvector(low, Longs) == v)) {
    vec_store(r, __builtin_convertvector(low, GlowVec));
    return;
  }
  GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] = (float)x[l];
}
BLOCK1(cast_float_i64, float, int64_t)
#else
FROM_FLOAT(i64, int64_t, )
CAST(float, float, i64, int64_t, v)
#endif

CAST(double, double, float, float, v)
#ifndef CAST_VECTOR
CAST(float16, uint16_t, float, float, to_half(v))
CAST(float, float, float16, uint16_t, from_half(v))
#endif
CAST(bfloat16, uint16_t, float, float, glow_bfloat_from_float(v))
CAST(float, float, double, double, v)
CAST(float16, uint16_t, double, double, to_half(glow_float_odd(v)))
CAST(bfloat16, uint16_t, double, double, glow_bfloat_from_double(v))
CAST(double, double, float16, uint16_t, from_half(v))
CAST(bfloat16, uint16_t, float16, uint16_t, glow_bfloat_from_float(from_half(v)))
CAST(float, float, bfloat16, uint16_t, glow_bfloat_to_float(v))
CAST(double, double, bfloat16, uint16_t, glow_bfloat_to_float(v))
CAST(float16, uint16_t, bfloat16, uint16_t, to_half(glow_bfloat_to_float(v)))

/* ---- Small floats ---------------------------------------------------------------------------- */

#define OVERFLOW (((const GlowCastMembers *)m)->overflow)
#define SMALL(k)                                                                                   \
  CAST(float, float, k, uint8_t, glow_small_to_float(&glow_##k, v))                                \
  CAST(k, uint8_t, float, float, glow_small_from_float(&glow_##k, v, !OVERFLOW))                   \
  CAST(k, uint8_t, double, double, glow_small_from_float(&glow_##k, glow_float_odd(v), !OVERFLOW))
SMALL(float8e4m3fn)
SMALL(float8e4m3fnuz)
SMALL(float8e5m2)
SMALL(float8e5m2fnuz)
CAST(float, float, float8e8m0, uint8_t, glow_e8m0_to_float(v))
CAST(float8e8m0, uint8_t, float, float, glow_e8m0_from_float(v, true))
CAST(float8e8m0, uint8_t, double, double, glow_e8m0_from_float(glow_float_odd(v), true))

/* ---- Quantized integers ---------------------------------------------------------------------- */

/* A rounded quotient plus the offset, clamped; NaN counts as 0. All sums are exact in double. */
static inline double clamped(double q, double offset, double low, double high) {
  q = (q == q ? q < -0x1p40 ? -0x1p40 : q > 0x1p40 ? 0x1p40 : q : 0) + offset;
  return q < low ? low : q > high ? high : q;
}

/* The last bits of an integer below 2^32 in size: adding 1.5 * 2^52 leaves them at the end. */
static inline uint32_t last_bits(double v) { return (uint32_t)glow_double_bits(v + 0x1.8p52); }

/* x between two floats, or 0, which lies between them, for NaN: in the end, so that it is the mask
 * of an instruction that is there anyway. */
static inline float bounded(float x, float least, float most) {
  float v = least > x ? least : x;
  v = most < v ? most : v;
  return x == x ? v : 0;
}

/* A float of at most 17 bits, rounded to an integer, modulo 2^16: the sum with 1.5 * 2^23 has no
 * place for a fraction, and its last bits are those of the integer. */
static inline uint32_t rounded(float q) {
  uint32_t bits;
  q += 0x1.8p23F;
  __builtin_memcpy(&bits, &q, sizeof bits);
  return bits;
}

/* For kinds of up to 16 bits, an offset within the kind, and a quotient that is not rounded yet:
 * limits are integers, so the quotient may be clamped first. */
#define ROUND_NARROW(T, q, offset, low, high)                                                      \
  (T)(rounded(bounded(q, (low) - (float)(offset), (high) - (float)(offset))) + (uint32_t)(offset))
#define ROUND_WIDE(T, q, offset, low, high)                                                        \
  (T) last_bits(clamped((double)glow_rintf(q), (double)(offset), low, high))

/* A quotient of at most 17 bits by a scale that all lanes share. No division is needed where the
 * machine has fused multiply-adds: a product by the reciprocal is corrected by its residual, which
 * is exact. No product may leave the range of float: usual scales ensure that. */
static inline float quotient(float x, float scale, float inverse) {
#if GLOW_HAS_FMA
  const float q = x * inverse;
  return __builtin_fmaf(__builtin_fmaf(-q, scale, x), inverse, q);
#else
  (void)inverse;
  return x / scale;
#endif
}

/* A quotient by a scale that all lanes share, rounded, plus the offset. x is clamped first:
 * products of the limits and the scale are rounded once, and their quotients round to the limits
 * again. */
#define DIVIDE(T, x, scale, inverse, offset, low, high)                                            \
  (T)(rounded(quotient(                                                                            \
          bounded(x, ((low) - (float)(offset)) * (scale), ((high) - (float)(offset)) * (scale)),   \
          scale, inverse)) +                                                                       \
      (uint32_t)(offset))

/* The same of a register for a narrow kind. */
#define QUANTIZE_NARROW(T, low, high)                                                              \
  if (GLOW_LANE_SCALE_IS_USUAL(s.scale) && WITHIN(s.offset, low, high)) {                          \
    const float inverse = 1 / s.scale;                                                             \
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] =                                            \
        DIVIDE(T, x[l], s.scale, inverse, s.offset, low, high);                                    \
    return;                                                                                        \
  }
#define QUANTIZE_WIDE(T, low, high)

#define WITHIN(offset, low, high) ((double)(offset) >= (low) && (double)(offset) <= (high))

/* Integers minus the offset, times the scale. A narrow kind has exact differences in float. */
#define DEQUANTIZE_NARROW(low, high)                                                               \
  if (WITHIN(s.offset, low, high)) {                                                               \
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] = MINUS_NARROW(x[l], s.offset) * s.scale;    \
    return;                                                                                        \
  }
#define DEQUANTIZE_WIDE(low, high)

/* A difference of integers, rounded to float once. */
#define MINUS_NARROW(x, zero) ((float)(x) - (float)(zero))
#define MINUS_WIDE(x, zero) (float)((double)(x) - (double)(zero))

/* SIZE: NARROW for kinds of up to 16 bits. Offsets of types may be anything. */
#define QUANTIZED(k, T, low, high, SIZE)                                                           \
  GLOW_LANES_FUNCTION void glow_lanes_quantize_##k##_float(const void *m, T *restrict r,           \
                                                           const float *restrict x) {              \
    const GlowLaneScale s = *(const GlowLaneScale *)m;                                             \
    QUANTIZE_##SIZE(T, low, high);                                                                 \
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] =                                            \
        ROUND_WIDE(T, x[l] / s.scale, s.offset, low, high);                                        \
  }                                                                                                \
  void glow_lanes_quantize_##k##_double(const void *m, T *restrict r, const double *restrict x) {  \
    const GlowLaneScale s = *(const GlowLaneScale *)m;                                             \
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] =                                            \
        (T)last_bits(clamped(glow_rint(x[l] / (double)s.scale), (double)s.offset, low, high));     \
  }                                                                                                \
  void glow_lanes_offset_##k##_float(const void *m, T *restrict r, const float *restrict q,        \
                                     const T *restrict zero) {                                     \
    (void)m;                                                                                       \
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] = ROUND_##SIZE(T, q[l], zero[l], low, high); \
  }                                                                                                \
  void glow_lanes_linear_##k##_float(const void *m, T *restrict r, const float *restrict x,        \
                                     const float *restrict scale, const T *restrict zero) {        \
    (void)m;                                                                                       \
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] =                                            \
        ROUND_##SIZE(T, x[l] / scale[l], zero[l], low, high);                                      \
  }                                                                                                \
  void glow_lanes_linear_float_##k(const void *m, float *restrict r, const T *restrict x,          \
                                   const float *restrict scale, const T *restrict zero) {          \
    (void)m;                                                                                       \
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] = MINUS_##SIZE(x[l], zero[l]) * scale[l];    \
  }                                                                                                \
  void glow_lanes_dequantize_float_##k(const void *m, float *restrict r, const T *restrict x) {    \
    const GlowLaneScale s = *(const GlowLaneScale *)m;                                             \
    DEQUANTIZE_##SIZE(low, high);                                                                  \
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] = MINUS_WIDE(x[l], s.offset) * s.scale;      \
  }                                                                                                \
  void glow_lanes_dequantize_double_##k(const void *m, double *restrict r, const T *restrict x) {  \
    const GlowLaneScale s = *(const GlowLaneScale *)m;                                             \
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] =                                            \
        ((double)x[l] - (double)s.offset) * (double)s.scale;                                       \
  }                                                                                                \
  BLOCK_SCALED(quantize_##k##_float, T, float)                                                     \
  BLOCK_SCALED(quantize_##k##_double, T, double)                                                   \
  BLOCK2(offset_##k##_float, T, float, T)                                                          \
  BLOCK3(linear_##k##_float, T, float, float, T)                                                   \
  BLOCK3(linear_float_##k, float, T, float, T)                                                     \
  BLOCK_SCALED_##SIZE(dequantize_float_##k, float, T, WITHIN(scale.offset, low, high))             \
      BLOCK_SCALED(dequantize_double_##k, double, T)
QUANTIZED(i8, int8_t, INT8_MIN, INT8_MAX, NARROW)
QUANTIZED(i16, int16_t, INT16_MIN, INT16_MAX, NARROW)
QUANTIZED(i32, int32_t, INT32_MIN, INT32_MAX, WIDE)
QUANTIZED(u8, uint8_t, 0, UINT8_MAX, NARROW)
QUANTIZED(u16, uint16_t, 0, UINT16_MAX, NARROW)
QUANTIZED(u32, uint32_t, 0, UINT32_MAX, WIDE)

/* Operands 1 to 3 are one element each. */
#ifdef GLOW_LIBRARY
#define DIVIDE_BLOCK(k, T)                                                                         \
  GlowBlockFn glow_block_divide_##k##_float;                                                       \
  void glow_block_divide_##k##_float(const void *members, int64_t rows, int64_t width,             \
                                     char *result, int64_t next,                                   \
                                     const GlowBlockOperand *const *operands) {                    \
    enum { COUNT = 2 }; /* the first may be the same for a row */                                  \
    const int64_t last = width - GLOW_VL;                                                          \
    const GlowLaneScale scale = {*(const float *)(const void *)operands[1]->at,                    \
                                 *(const T *)(const void *)operands[3]->at};                       \
    GlowBlockOperand in[COUNT] = {*operands[0], *operands[1]};                                     \
    (void)members;                                                                                 \
    BLOCK_LOOPS(BLOCK_ROW(float, 0),                                                               \
                glow_lanes_quantize_##k##_float(&scale, BLOCK_OUT(T), BLOCK_IN(float, 0)))         \
  }
#else
#define DIVIDE_BLOCK(k, T)
#endif
#define DIVIDED(k, T, low, high)                                                                   \
  void glow_lanes_divide_##k##_float(const void *m, T *restrict r, const float *restrict x,        \
                                     const float *restrict scale, const float *restrict inverse,   \
                                     const T *restrict zero) {                                     \
    (void)m;                                                                                       \
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] =                                            \
        DIVIDE(T, x[l], scale[l], inverse[l], zero[l], low, high);                                 \
  }                                                                                                \
  DIVIDE_BLOCK(k, T)
DIVIDED(i8, int8_t, INT8_MIN, INT8_MAX)
DIVIDED(i16, int16_t, INT16_MIN, INT16_MAX)
DIVIDED(u8, uint8_t, 0, UINT8_MAX)
DIVIDED(u16, uint16_t, 0, UINT16_MAX)

/* An i32 as a float, times another one, quantized: what follows sums of products of bytes. */
#ifdef GLOW_LIBRARY
#define SCALE_QUANTIZE(k, T)                                                                       \
  INLINE void scale_quantize_##k(const void *m, T *restrict r, const int32_t *restrict a,          \
                                 const float *restrict b) {                                        \
    float x[GLOW_VL];                                                                              \
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) x[l] = (float)a[l] * b[l];                        \
    glow_lanes_quantize_##k##_float(m, r, x);                                                      \
  }                                                                                                \
  GLOW_BLOCK(scale_quantize_##k, 2, const GlowLaneScale scale = *(const GlowLaneScale *)members;   \
             BLOCK_ROW(int32_t, 0) BLOCK_ROW(float, 1),                                            \
             scale_quantize_##k(&scale, BLOCK_OUT(T), BLOCK_IN(int32_t, 0), BLOCK_IN(float, 1)))
SCALE_QUANTIZE(i8, int8_t)
SCALE_QUANTIZE(u8, uint8_t)
#endif
