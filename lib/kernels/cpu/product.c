/* Matrix products of kinds other than float: glow_product_<kind>. One chain in ascending k from +0
 * for each output. 16-bit floats are chains of float, rounded once; integers wrap.
 *
 * Columns that are neighbours are taken 16 at a time, for tiles of so many rows that their sums
 * fill eight registers, then for half as many, and so on. Rows of B are walked side by side, DEPTH
 * at a time, so that few pages of B are in use and each line comes from memory once for all rows of
 * A; meanwhile the sums stand in C. That of 16-bit floats would be rounded, so they have one walk.
 */
#include "kernels/kernels.h"

#include "num/fma.h"
#include "num/half.h"

enum { COLUMNS = 16, MOST_ROWS = 8, DEPTH = 32, AHEAD = 256 /* bytes of a row of B to fetch */ };

#define LANES16                                                                                    \
  _Pragma("clang loop vectorize(enable) interleave(disable)") for (int l = 0; l < COLUMNS; l++)

/* Where the matrices of batch `rest` are, in elements. */
INLINE void find_matrix(const GlowProductParams *p, int64_t rest, int64_t *a, int64_t *b,
                        int64_t *c) {
  *a = *b = *c = 0;
  UNROLL for (int d = GLOW_PRODUCT_BATCH - 1; d >= 0; d--) {
    const int64_t i = rest % p->batch[d];
    rest /= p->batch[d];
    *a += i * p->a_batch[d];
    *b += i * p->b_batch[d];
    *c += i * p->c_batch[d];
  }
}

/* Rows of a tile, a power of two: with 16 sums of C each they take eight registers. */
#define ROWS(C)                                                                                    \
  (GLOW_VL * 2 / (int)sizeof(C) < MOST_ROWS ? GLOW_VL * 2 / (int)sizeof(C) : MOST_ROWS)

/* S: the type of a stored element; C: that of a sum; LOAD and STORE convert between them. FMA adds
 * a product to a sum, STEP the products of a C and 16 of them to 16 sums. */
#define PRODUCT(kind, S, C, LOAD, STORE, FMA, STEP)                                                \
  typedef C Lanes_##kind __attribute__((vector_size(COLUMNS * sizeof(C)), aligned(sizeof(C))));    \
                                                                                                   \
  INLINE void load_##kind(Lanes_##kind *to, const S *w) {                                          \
    C v[COLUMNS];                                                                                  \
    LANES16 v[l] = LOAD(w[l]);                                                                     \
    *to = *(const Lanes_##kind *)v;                                                                \
  }                                                                                                \
                                                                                                   \
  INLINE void store_##kind(S *to, const C *v, int64_t step) {                                      \
    if (step == 1) {                                                                               \
      LANES16 to[l] = STORE(v[l]);                                                                 \
    } else {                                                                                       \
      ROLLED for (int l = 0; l < COLUMNS; l++) to[l * step] = STORE(v[l]);                         \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  /* `depth` steps of some rows; `more`: after others, whose sums are neighbours in C. */          \
  INLINE void tile_##kind(int rows, const GlowProductParams *p, S *c, const S *a, const S *b,      \
                          int64_t depth, bool more) {                                              \
    Lanes_##kind acc[MOST_ROWS] = {{0}}, w;                                                        \
    const S *from[MOST_ROWS];                                                                      \
    UNROLL for (int i = 0; i < rows; i++) {                                                        \
      from[i] = a + i * p->am;                                                                     \
      if (more)                                                                                    \
        load_##kind(&acc[i], c + i * p->cm);                                                       \
    }                                                                                              \
    ROLLED for (int64_t k = 0; k < depth; k++) {                                                   \
      __builtin_prefetch((const char *)(b + k * p->bk) + AHEAD);                                   \
      load_##kind(&w, b + k * p->bk);                                                              \
      UNROLL for (int i = 0; i < rows; i++) acc[i] = STEP(LOAD(from[i][k * p->ak]), w, acc[i]);    \
    }                                                                                              \
    UNROLL for (int i = 0; i < rows; i++) {                                                        \
      C v[COLUMNS];                                                                                \
      *(Lanes_##kind *)v = acc[i];                                                                 \
      store_##kind(c + i * p->cm, v, p->cn);                                                       \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  /* The first `wide` columns, a multiple of 16, of m rows. */                                     \
  INLINE void panels_##kind(const GlowProductParams *p, S *c, const S *a, const S *b, int64_t m,   \
                            int64_t wide) {                                                        \
    const bool cut = sizeof(S) == sizeof(C) && p->cn == 1;                                         \
    int64_t k = 0;                                                                                 \
    ROLLED do {                                                                                    \
      const int64_t depth = cut && p->k - k > DEPTH ? DEPTH : p->k - k;                            \
      ROLLED for (int64_t j = 0; j < wide; j += COLUMNS) {                                         \
        int64_t i = 0;                                                                             \
        UNROLL for (int rows = ROWS(C); rows; rows /= 2) {                                         \
          ROLLED for (; m - i >= rows; i += rows)                                                  \
              tile_##kind(rows, p, c + i * p->cm + j * p->cn, a + i * p->am + k * p->ak,           \
                          b + k * p->bk + j, depth, k > 0);                                        \
        }                                                                                          \
      }                                                                                            \
      k += depth;                                                                                  \
    }                                                                                              \
    while (k < p->k)                                                                               \
      ;                                                                                            \
  }                                                                                                \
                                                                                                   \
  void glow_product_##kind(const GlowProductParams *p, void *const *ptrs, int64_t begin,           \
                           int64_t end, char *scratch) {                                           \
    (void)scratch;                                                                                 \
    const GlowProductPtrs at = GLOW_PRODUCT_PTRS(ptrs);                                            \
    const int64_t wide = p->bn == 1 ? p->n / COLUMNS * COLUMNS : 0;                                \
    ROLLED for (int64_t u = begin, m; u < end; u += m) {                                           \
      const int64_t row = u % p->m;                                                                \
      int64_t a_at, b_at, c_at;                                                                    \
      find_matrix(p, u / p->m, &a_at, &b_at, &c_at);                                               \
      S *restrict c = (S *)at.c + c_at + row * p->cm;                                              \
      const S *restrict a = (const S *)at.a + a_at + row * p->am;                                  \
      const S *restrict b = (const S *)at.b + b_at;                                                \
      m = p->m - row < end - u ? p->m - row : end - u;                                             \
      panels_##kind(p, c, a, b, m, wide);                                                          \
      ROLLED for (int64_t i = 0; i < m; i++) {                                                     \
        ROLLED for (int64_t j = wide; j < p->n; j++) {                                             \
          C acc = 0;                                                                               \
          ROLLED for (int64_t k = 0; k < p->k; k++) acc =                                          \
              FMA(LOAD(a[i * p->am + k * p->ak]), LOAD(b[k * p->bk + j * p->bn]), acc);            \
          c[i * p->cm + j * p->cn] = STORE(acc);                                                   \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }

/* x * w + acc with one rounding, for sums of C. */
#if GLOW_HAS_FMA
#define FUSED(C, FMA, x, w, acc)                                                                   \
  ({                                                                                               \
    const C f = x;                                                                                 \
    __typeof__(acc) splat;                                                                         \
    UNROLL for (int l = 0; l < COLUMNS; l++) splat[l] = f;                                         \
    __builtin_elementwise_fma(splat, w, acc);                                                      \
  })
#else
#define FUSED(C, FMA, x, w, acc)                                                                   \
  ({                                                                                               \
    const C f = x;                                                                                 \
    C sums[COLUMNS];                                                                               \
    LANES16 sums[l] = FMA(f, (w)[l], (acc)[l]);                                                    \
    *(__typeof__(acc) *)sums;                                                                      \
  })
#endif
#define FUSED_DOUBLE(x, w, acc) FUSED(double, glow_fma, x, w, acc)
#define FUSED_FLOAT(x, w, acc) FUSED(float, glow_fmaf, x, w, acc)

#define PLAIN(v) (v)
#define WRAPPING(a, b, c) ((c) + (a) * (b))
PRODUCT(double, double, double, PLAIN, PLAIN, glow_fma, FUSED_DOUBLE)
PRODUCT(float16, uint16_t, float, glow_half_to_float, glow_half_from_float, glow_fmaf, FUSED_FLOAT)
PRODUCT(bfloat16, uint16_t, float, glow_bfloat_to_float, glow_bfloat_from_float, glow_fmaf,
        FUSED_FLOAT)
PRODUCT(i32, uint32_t, uint32_t, PLAIN, PLAIN, WRAPPING, WRAPPING)
PRODUCT(i64, uint64_t, uint64_t, PLAIN, PLAIN, WRAPPING, WRAPPING)
