/* Products of a few rows by weights of 2, 4 or 8 bits: glow_few_bits.
 *
 * Lanes are columns, so that sums run along k as those of products of floats do. A lane of a
 * register of words has the next weights of its column. Weight q at bit b of the lower half of a
 * lane needs no shift: below the exponent of 2^(23 - b) its bits are the float 2^(23 - b) + q. Once
 * the exponent has all bits, one mask leaves the weight and that exponent. One subtraction, which
 * is exact, leaves q less the zero point; the product with the scale is rounded as that of
 * DequantizeLinear is. */
#include "kernels/kernels.h"

enum {
  PANEL = GLOW_FEW_BITS_PANEL,
  VECTORS = !GLOW_HAS_FMA ? 1 : GLOW_VL < 8 ? 4 : PANEL / GLOW_VL,
  COLUMNS = VECTORS * GLOW_VL, /* whose sums are in registers */
  HALF = 16,
  MOST = HALF / 2,
  EXPONENT = 0x7f800000
};

typedef struct Places {
  int32_t mask[MOST]; /* of half a word: a weight, and the exponent above it */
  float minus[MOST][COLUMNS] __attribute__((aligned(64))); /* what to subtract in each column */
} Places;

INLINE GlowVecI splat(int32_t s) {
  GlowVecI v;
  UNROLL for (int l = 0; l < GLOW_VL; l++) v[l] = s;
  return v;
}

/* Fills in what to subtract, for the zero points of a block; without them for the middle. */
INLINE void set_zero(const GlowFewBitsParams *p, Places *at, const uint8_t *zero) {
  typedef uint8_t Bytes __attribute__((vector_size(GLOW_VL), aligned(1)));
  UNROLL for (int v = 0; v < COLUMNS; v += GLOW_VL) {
    GlowVec z = vec_splat((float)(1 << (p->bits - 1)));
    if (zero)
      z = __builtin_convertvector(*(const Bytes *)(zero + v), GlowVec);
    ROLLED for (int j = 0; j < p->places; j++)
        vec_store(at->minus[j] + v, z + (GlowVec)splat(at->mask[j] & EXPONENT));
  }
}

/* One row of A by the first columns of a panel. */
INLINE void columns(const GlowFewBitsParams *p, Places *at, float *c, const float *a,
                  const int32_t *w, const float *scale, const uint8_t *zero) {
  typedef uint32_t Words __attribute__((vector_size(GLOW_VL * 4), aligned(4)));
  GlowVec sums[VECTORS] = {{0}};
  ROLLED for (int64_t k = 0; k < p->k; scale += p->s_row) {
    const int64_t end = p->k - k < p->block ? p->k : k + p->block;
    GlowVec s[VECTORS];
    UNROLL for (int v = 0; v < VECTORS; v++) s[v] = vec_load(scale + v * GLOW_VL);
    if (zero || k == 0)
      set_zero(p, at, zero);
    if (zero)
      zero += p->s_row;
    ROLLED for (; k < end; w += p->w_row) {
      ROLLED for (int shift = 0; shift < 2 * HALF; shift += HALF) {
        const int64_t count = end - k < p->places ? end - k : p->places;
        GlowVecI words[VECTORS];
        UNROLL for (int v = 0; v < VECTORS; v++) words[v] =
            (GlowVecI)(*(const Words *)(w + v * GLOW_VL) >> (uint32_t)shift) | splat(EXPONENT);
        ROLLED for (int64_t j = 0; j < count; j++) {
          const GlowVecI mask = splat(at->mask[j]);
          const GlowVec x = vec_splat(a[k + j]);
          UNROLL for (int v = 0; v < VECTORS; v++) {
            const GlowVec q = (GlowVec)(words[v] & mask) - vec_load(at->minus[j] + v * GLOW_VL);
            sums[v] = vec_fma(x, q * s[v], sums[v]);
          }
        }
        k += count;
      }
    }
  }
  UNROLL for (int v = 0; v < VECTORS; v++) vec_store(c + v * GLOW_VL, sums[v]);
}

void glow_few_bits(const GlowFewBitsParams *p, void *const *ptrs, int64_t begin, int64_t end,
                   char *scratch) {
  const GlowFewBitsPtrs at = GLOW_FEW_BITS_PTRS(ptrs);
  Places places;
  (void)scratch;
  ROLLED for (int j = 0; j < p->places; j++) {
    const int32_t bit = j * (int32_t)p->bits;
    places.mask[j] = ((1 << p->bits) - 1) << bit | (127 + 23 - bit) << 23;
  }
  ROLLED for (int64_t u = begin; u < end; u++) {
    const int64_t left = p->n - u * PANEL, s = u * p->s_panel;
    ROLLED for (int64_t i = 0; i < p->m; i++) {
      float c[PANEL];
      ROLLED for (int64_t j = 0; j < PANEL; j += COLUMNS)
          columns(p, &places, c + j, at.a + i * p->k, (const int32_t *)at.w + u * p->w_panel + j,
                  at.scale + s + j, at.zero ? at.zero + s + j : NULL);
      __builtin_memcpy(at.c + i * p->n + u * PANEL, c,
                       (size_t)(left < PANEL ? left : PANEL) * sizeof *c);
    }
  }
}
