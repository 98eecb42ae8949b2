/* Fused multiply-add with one rounding, the same bits on every machine.
 *
 * Where the target has the instruction, glow_fmaf and glow_fma are it. Elsewhere they are computed
 * here, so that no object refers to libm: for float in double with rounding to odd, for double in
 * integers. GlowVec8 is eight float lanes, for kernels whose shape gcc does not find by itself. */
#ifndef GLOW_NUM_FMA_H
#define GLOW_NUM_FMA_H

#include <stdint.h>

#include "num/bits.h"

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__FP_FAST_FMAF) ||                   \
    (defined(__riscv_flen) && __riscv_flen >= 64)
#define GLOW_HAS_FMA 1
#else
#define GLOW_HAS_FMA 0
#endif

/* The product of two floats is exact in double. Their sum with c is rounded to odd (truncated, and
 * the last bit set if anything was cut off); double has more than twice the digits of float plus
 * two, so rounding that to float is the correct rounding of the exact value. */
static inline float glow_fmaf_soft(float a, float b, float c) {
  double p = (double)a * (double)b, z = (double)c, s = p + z;
  double t = s - p, error = (p - (s - t)) + (z - t);
  uint64_t u = glow_double_bits(s);
  int inexact = error > 0 || error < 0, outwards = (error > 0) == (s > 0);
  if (inexact && (u & 1) == 0)
    u += outwards ? UINT64_C(1) : ~UINT64_C(0);
  return (float)glow_double_from_bits(u);
}

/* ---- double, in integers --------------------------------------------------------------------- */

typedef struct GlowWide {
  uint64_t hi, lo;
} GlowWide;

static inline GlowWide glow_wide_product(uint64_t a, uint64_t b) {
  uint64_t al = a & 0xffffffffu, ah = a >> 32, bl = b & 0xffffffffu, bh = b >> 32;
  uint64_t low = al * bl, m1 = ah * bl, m2 = al * bh;
  uint64_t mid = (low >> 32) + (m1 & 0xffffffffu) + (m2 & 0xffffffffu);
  return (GlowWide){ah * bh + (m1 >> 32) + (m2 >> 32) + (mid >> 32),
                    mid << 32 | (low & 0xffffffffu)};
}

static inline GlowWide glow_wide_left(GlowWide w, int n) {
  if (n >= 64) {
    w = (GlowWide){w.lo, 0};
    n -= 64;
  }
  return n ? (GlowWide){w.hi << n | w.lo >> (64 - n), w.lo << n} : w;
}

/* Bits that fall off to the right stay as a set last bit. */
static inline GlowWide glow_wide_right(GlowWide w, int n) {
  uint64_t lost = 0;
  if (n >= 128)
    return (GlowWide){0, (w.hi | w.lo) != 0};
  if (n >= 64) {
    lost = w.lo;
    w = (GlowWide){0, w.hi};
    n -= 64;
  }
  if (n) {
    lost |= w.lo << (64 - n);
    w = (GlowWide){w.hi >> n, w.lo >> n | w.hi << (64 - n)};
  }
  w.lo |= lost != 0;
  return w;
}

static inline int glow_wide_top(GlowWide w) { /* index of the highest set bit; w is not 0 */
  return w.hi ? 127 - __builtin_clzll(w.hi) : 63 - __builtin_clzll(w.lo);
}

/* w * 2^exponent as the nearest double, ties to even. w is not 0. */
static inline double glow_wide_round(GlowWide w, int exponent, uint64_t sign) {
  int drop = glow_wide_top(w) - 52;
  drop = exponent + drop < -1074 ? -1074 - exponent : drop;
  /* Two bits below the result's last: one half, and whether there is more. */
  w = drop < 2 ? glow_wide_left(w, 2 - drop) : glow_wide_right(w, drop - 2);
  uint64_t q = w.lo >> 2, rest = w.lo & 3, bits = q;
  bits += rest == 3 || (rest == 2 && (q & 1));
  int biased = exponent + drop + 1075; /* of a result whose hidden bit is set */
  if (biased >= 2047)
    bits = UINT64_C(0x7ff) << 52;
  else if (bits >> 52)
    bits += (uint64_t)(biased - 1) << 52;
  return glow_double_from_bits(sign | bits);
}

/* w shifted left until its highest bit is bit 125; *exponent goes down by the same. w is a mantissa
 * or a product of two, and not 0. */
static inline GlowWide glow_wide_normal(GlowWide w, int *exponent) {
  int up = 125 - glow_wide_top(w);
  *exponent -= up;
  return glow_wide_left(w, up);
}
/* The mantissa of v with its hidden bit: |v| = mantissa * 2^*exponent. v is finite. */
static inline uint64_t glow_double_mantissa(double v, int *exponent) {
  uint64_t u = glow_double_bits(v), m = u & ((UINT64_C(1) << 52) - 1);
  int e = (int)(u >> 52 & 0x7ff);
  *exponent = (e ? e : 1) - 1075;
  return e ? m | UINT64_C(1) << 52 : m;
}

static inline double glow_fma_soft(double a, double b, double c) {
  const double inf = __builtin_inf();
  int finite = a - a == 0 && b - b == 0;
  if (!finite || a == 0 || b == 0)
    return a * b + c;
  if (c == inf || c == -inf || c != c)
    return c;
  if (c == 0)
    return a * b;
  int ea, eb, ec;
  uint64_t ma = glow_double_mantissa(a, &ea), mb = glow_double_mantissa(b, &eb);
  uint64_t mc = glow_double_mantissa(c, &ec);
  int ep = ea + eb;
  GlowWide p = glow_wide_normal(glow_wide_product(ma, mb), &ep);
  GlowWide z = glow_wide_normal((GlowWide){0, mc}, &ec);
  uint64_t top = UINT64_C(1) << 63;
  uint64_t sp = (glow_double_bits(a) ^ glow_double_bits(b)) & top, sc = glow_double_bits(c) & top;
  int e = ep > ec ? ep : ec;
  p = glow_wide_right(p, e - ep);
  z = glow_wide_right(z, e - ec);
  if (sp == sc) {
    uint64_t lo = p.lo + z.lo;
    return glow_wide_round((GlowWide){p.hi + z.hi + (lo < p.lo), lo}, e, sp);
  }
  int less = p.hi < z.hi || (p.hi == z.hi && p.lo < z.lo);
  GlowWide x = less ? z : p, y = less ? p : z;
  GlowWide d = {x.hi - y.hi - (x.lo < y.lo), x.lo - y.lo};
  return (d.hi | d.lo) ? glow_wide_round(d, e, less ? sc : sp) : 0.0;
}

/* ---- What kernels call ----------------------------------------------------------------------- */

static inline float glow_fmaf(float a, float b, float c) {
#if GLOW_HAS_FMA
  return __builtin_fmaf(a, b, c);
#else
  return glow_fmaf_soft(a, b, c);
#endif
}
static inline double glow_fma(double a, double b, double c) {
#if GLOW_HAS_FMA
  return __builtin_fma(a, b, c);
#else
  return glow_fma_soft(a, b, c);
#endif
}

typedef float GlowVec8 __attribute__((vector_size(32), aligned(4), may_alias));

/* *acc = a * b + *acc, lane by lane. */
static inline __attribute__((always_inline)) void glow_vec8_fma(GlowVec8 *acc, const GlowVec8 *a,
                                                                const GlowVec8 *b) {
#if defined(__clang__) && GLOW_HAS_FMA
  *acc = __builtin_elementwise_fma(*a, *b, *acc);
#elif defined(__FMA__) && defined(__GNUC__)
  *acc = __builtin_ia32_vfmaddps256(*a, *b, *acc);
#else
  for (int i = 0; i < 8; i++)
    (*acc)[i] = glow_fmaf((*a)[i], (*b)[i], (*acc)[i]);
#endif
}

#endif
