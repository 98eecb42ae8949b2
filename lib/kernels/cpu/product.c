/* Matrix products of kinds other than float: glow_product_<kind>. One chain in ascending k from +0
 * for each output, 16 columns side by side where there are that many and they are neighbours.
 * 16-bit floats are chains of float, rounded once; integers wrap. */
#include "kernels/kernels.h"

#include "num/fma.h"
#include "num/half.h"

#define LANES16                                                                                    \
  _Pragma("clang loop vectorize(enable) interleave(disable)") for (int l = 0; l < 16; l++)

/* S: the type of a stored element; C: that of a sum; LOAD and STORE convert between them. */
#define PRODUCT(kind, S, C, LOAD, STORE, FMA)                                                      \
  void glow_product_##kind(const GlowProductParams *p, void *const *ptrs, int64_t begin,           \
                           int64_t end, char *scratch) {                                           \
    (void)scratch;                                                                                 \
    ROLLED for (int64_t u = begin; u < end; u++) {                                                 \
      int64_t row = u % p->m, rest = u / p->m, wide = p->bn == 1 ? p->n / 16 * 16 : 0;             \
      const GlowProductPtrs at = GLOW_PRODUCT_PTRS(ptrs);                                          \
      S *restrict c = (S *)at.c + row * p->cm;                                                     \
      const S *restrict a = (const S *)at.a + row * p->am, *restrict b = at.b;                     \
      UNROLL for (int d = GLOW_PRODUCT_BATCH - 1; d >= 0; d--) {                                   \
        int64_t i = rest % p->batch[d];                                                            \
        rest /= p->batch[d];                                                                       \
        a += i * p->a_batch[d];                                                                    \
        b += i * p->b_batch[d];                                                                    \
        c += i * p->c_batch[d];                                                                    \
      }                                                                                            \
      ROLLED for (int64_t j = 0; j < wide; j += 16) {                                              \
        C acc[16];                                                                                 \
        LANES16 acc[l] = 0;                                                                        \
        ROLLED for (int64_t k = 0; k < p->k; k++) {                                                \
          const C x = LOAD(a[k * p->ak]);                                                          \
          const S *restrict w = b + k * p->bk + j;                                                 \
          LANES16 acc[l] = FMA(x, LOAD(w[l]), acc[l]);                                             \
        }                                                                                          \
        UNROLL for (int l = 0; l < 16; l++) c[(j + l) * p->cn] = STORE(acc[l]);                    \
      }                                                                                            \
      ROLLED for (int64_t j = wide; j < p->n; j++) {                                               \
        C acc = 0;                                                                                 \
        ROLLED for (int64_t k = 0; k < p->k; k++) acc =                                            \
            FMA(LOAD(a[k * p->ak]), LOAD(b[k * p->bk + j * p->bn]), acc);                          \
        c[j * p->cn] = STORE(acc);                                                                 \
      }                                                                                            \
    }                                                                                              \
  }

#define PLAIN(v) (v)
#define WRAP8(a, b, c) (uint8_t)((c) + (uint32_t)(a) * (b))
#define WRAP16(a, b, c) (uint16_t)((c) + (uint32_t)(a) * (b))
#define WRAPPING(a, b, c) ((c) + (a) * (b))
PRODUCT(double, double, double, PLAIN, PLAIN, glow_fma)
PRODUCT(float16, uint16_t, float, glow_half_to_float, glow_half_from_float, glow_fmaf)
PRODUCT(bfloat16, uint16_t, float, glow_bfloat_to_float, glow_bfloat_from_float, glow_fmaf)
PRODUCT(i8, uint8_t, uint8_t, PLAIN, PLAIN, WRAP8)
PRODUCT(i16, uint16_t, uint16_t, PLAIN, PLAIN, WRAP16)
PRODUCT(i32, uint32_t, uint32_t, PLAIN, PLAIN, WRAPPING)
PRODUCT(i64, uint64_t, uint64_t, PLAIN, PLAIN, WRAPPING)
