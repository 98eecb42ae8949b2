/* DFT: a line is loaded into scratch memory as doubles, transformed there (num/fourier.h) and
 * stored, rounded once. Units are lines. */
#include "kernels/kernels.h"

#include "num/fourier.h"
#include "num/half.h"

#define LANES _Pragma("clang loop vectorize(enable) interleave(disable)")

/* Transforms the line whose arrays are at scratch. Returns where its results are. */
static GlowFourierLine transform(const GlowDftParams *p, double *scratch) {
  const GlowFourier f = {.length = p->length,
                         .points = p->points,
                         .chirp = p->chirp,
                         .loaded = p->loaded,
                         .results = p->results,
                         .inverse = p->inverse,
                         .back = p->back,
                         .halved = p->halved};
  GlowFourierLine line = {scratch, scratch + p->room, scratch + 2 * p->room, scratch + 3 * p->room};
  glow_fourier_run(&f, (const double *)p->table, &line);
  return line;
}

#define DFT(kind, S, LOAD, STORE)                                                                  \
  INLINE void load_##kind(const GlowDftParams *p, const S *restrict x, double *restrict re,        \
                          double *restrict im) {                                                   \
    const int64_t given = p->given, point = p->x_point, part = p->x_part;                          \
    if (part == 1 && point == 2) {                                                                 \
      LANES for (int64_t i = 0; i < given; i++) {                                                  \
        re[i] = (double)LOAD(x[2 * i]);                                                            \
        im[i] = (double)LOAD(x[2 * i + 1]);                                                        \
      }                                                                                            \
    } else if (part) {                                                                             \
      ROLLED for (int64_t i = 0; i < given; i++) {                                                 \
        re[i] = (double)LOAD(x[i * point]);                                                        \
        im[i] = (double)LOAD(x[i * point + part]);                                                 \
      }                                                                                            \
    } else {                                                                                       \
      ROLLED for (int64_t i = 0; i < given; i++) {                                                 \
        re[i] = (double)LOAD(x[i * point]);                                                        \
        im[i] = 0;                                                                                 \
      }                                                                                            \
    }                                                                                              \
    ROLLED for (int64_t i = given; i < p->loaded; i++) re[i] = im[i] = 0;                          \
    if (p->half)                                                                                   \
      re[given] = (double)LOAD(x[given * point]);                                                  \
  }                                                                                                \
  INLINE void store_##kind(const GlowDftParams *p, const double *restrict re,                      \
                           const double *restrict im, S *restrict y) {                             \
    const double scale = p->inverse ? 1 / (double)p->length : 1;                                   \
    const int64_t n = p->results, point = p->y_point, part = p->y_part;                            \
    if (part == 1 && point == 2) {                                                                 \
      LANES for (int64_t i = 0; i < n; i++) {                                                      \
        y[2 * i] = STORE(scale * re[i]);                                                           \
        y[2 * i + 1] = STORE(scale * im[i]);                                                       \
      }                                                                                            \
    } else {                                                                                       \
      ROLLED for (int64_t i = 0; i < n; i++) {                                                     \
        y[i * point] = STORE(scale * re[i]);                                                       \
        if (part)                                                                                  \
          y[i * point + part] = STORE(scale * im[i]);                                              \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  void glow_dft_##kind(const GlowDftParams *p, void *const *ptrs, int64_t begin, int64_t end,      \
                       char *scratch) {                                                            \
    double *work = (double *)scratch;                                                              \
    ROLLED for (int64_t u = begin; u < end; u++) {                                                 \
      const int64_t outer = u / p->inner, inner = u % p->inner;                                    \
      const S *x = (const S *)GLOW_DFT_PTRS(ptrs).x + outer * p->x_outer + inner * p->x_inner;     \
      S *y = (S *)GLOW_DFT_PTRS(ptrs).y + outer * p->y_outer + inner * p->y_inner;                 \
      load_##kind(p, x, work, work + p->room);                                                     \
      const GlowFourierLine line = transform(p, work);                                             \
      store_##kind(p, line.re, line.im, y);                                                        \
    }                                                                                              \
  }

#define PLAIN(v) (v)
#define TO_FLOAT(v) ((float)(v))
DFT(float, float, PLAIN, TO_FLOAT)
DFT(double, double, PLAIN, PLAIN)
DFT(float16, uint16_t, glow_half_to_float, glow_half_from_double)
DFT(bfloat16, uint16_t, glow_bfloat_to_float, glow_bfloat_from_double)
