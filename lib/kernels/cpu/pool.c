/* MaxPool, AveragePool and LpPool, a kernel for each kind: glow_<pool>_<kind>.
 *
 * Units are output rows of all images. A window is clipped to the input; its taps are visited in
 * ascending spatial order, 16 neighbouring channels at a time, or 64 of bytes, where there are that
 * many. Maximum: the first of equals, a NaN above all. Mean: a chain from +0, then a division.
 * Norm: a chain over |x|^p, then the root. */
#include "pool_window.h"

#include "num/half.h"
#include "num/math.h"

#define LANES16                                                                                    \
  _Pragma("clang loop vectorize(enable) interleave(disable)") for (int l = 0; l < 16; l++)
#define ONE for (int l = 0; l < 1; l++)

/* A loop over the taps i, j, k that lie inside, and the offset in X of such a tap. */
#define TAPS(p, w)                                                                                 \
  ROLLED for (int64_t i = 0; i < (w)->count[0]; i++)                                               \
      ROLLED for (int64_t j = 0; j < (w)->count[1]; j++)                                           \
          ROLLED for (int64_t k = 0; k < (w)->count[2]; k++)
#define TAP(p, w)                                                                                  \
  ((w)->at + i * (p)->dilation[0] * (p)->xs[0] + j * (p)->dilation[1] * (p)->xs[1] +               \
   k * (p)->dilation[2] * (p)->xs[2])

/* A kernel that calls STEP##_more for 64 channels where there is such a step (MORE), STEP##_all for
 * 16 and STEP##_one for single ones at each pixel.
 * Here and below S is the type of a stored element, C that of what is computed; LOAD and STORE
 * convert between them. EACH is a loop over l, the N channels of a step. */
#define KERNEL(name, PTRS, S, STEP, MORE)                                                          \
  void glow_##name(const GlowPoolParams *p, void *const *ptrs, int64_t begin, int64_t end,         \
                   char *scratch) {                                                                \
    (void)scratch;                                                                                 \
    ROLLED for (int64_t u = begin; u < end; u++) {                                                 \
      int64_t image = u / (p->out[0] * p->out[1]), row = u % (p->out[0] * p->out[1]);              \
      int64_t n = image / p->c, c = image % p->c;                                                  \
      int64_t place[GLOW_POOL_DIMS] = {row / p->out[1], row % p->out[1], 0};                       \
      const S *x = (const S *)PTRS(ptrs).x + n * p->xn + c * p->xc;                                \
      S *y =                                                                                       \
          (S *)PTRS(ptrs).y + n * p->yn + c * p->yc + place[0] * p->ys[0] + place[1] * p->ys[1];   \
      ROLLED for (place[2] = 0; place[2] < p->out[2]; place[2]++) {                                \
        Window w;                                                                                  \
        clip(p, place, &w);                                                                        \
        int64_t l = 0;                                                                             \
        MORE(STEP##_more)                                                                          \
        ROLLED for (; l + 16 <= p->lanes; l += 16)                                                 \
            STEP##_all(p, &w, x + l, y + place[2] * p->ys[2] + l);                                 \
        ROLLED for (; l < p->lanes; l++) STEP##_one(p, &w, x + l, y + place[2] * p->ys[2] + l);    \
      }                                                                                            \
    }                                                                                              \
  }

#define NO_MORE(step)
#define MORE64(step)                                                                               \
  ROLLED for (; l + 64 <= p->lanes; l += 64) step(p, &w, x + l, y + place[2] * p->ys[2] + l);

/* ---- Maximum --------------------------------------------------------------------------------- */

#define ABOVE_REAL(a, b) (((a) > (b)) | (((a) != (a)) & ((b) == (b))))
#define ABOVE_INT(a, b) ((a) > (b))

#define MAX_STEP(name, S, C, LOAD, ABOVE, LOWEST, EACH, N)                                         \
  INLINE void name(const GlowPoolParams *p, const Window *w, const S *restrict x, S *restrict y) { \
    C top[N];                                                                                      \
    S out[N];                                                                                      \
    if (w->elements == 0) {                                                                        \
      EACH y[l] = (S)(LOWEST);                                                                     \
      return;                                                                                      \
    }                                                                                              \
    EACH top[l] = LOAD(x[w->at + l]);                                                              \
    EACH out[l] = x[w->at + l];                                                                    \
    TAPS(p, w) {                                                                                   \
      const S *restrict at = x + TAP(p, w);                                                        \
      EACH {                                                                                       \
        const C e = LOAD(at[l]);                                                                   \
        const int above = ABOVE(e, top[l]);                                                        \
        out[l] = above ? at[l] : out[l];                                                           \
        top[l] = above ? e : top[l];                                                               \
      }                                                                                            \
    }                                                                                              \
    EACH y[l] = out[l];                                                                            \
  }
#define MAX_POOL(kind, S, C, LOAD, ABOVE, LOWEST)                                                  \
  MAX_STEP(max_##kind##_all, S, C, LOAD, ABOVE, LOWEST, LANES16, 16)                               \
  MAX_STEP(max_##kind##_one, S, C, LOAD, ABOVE, LOWEST, ONE, 1)                                    \
  KERNEL(max_pool_##kind, GLOW_MAX_POOL_PTRS, S, max_##kind, NO_MORE)
/* Of bytes, N at a time. */
#define MAX_BYTES(name, S, LOWEST, N)                                                              \
  INLINE void name(const GlowPoolParams *p, const Window *w, const S *x, S *y) {                   \
    typedef S Bytes __attribute__((vector_size(N), aligned(1)));                                   \
    Bytes top = (Bytes){0} + (S)(LOWEST);                                                          \
    if (w->elements) {                                                                             \
      TAPS(p, w) top = __builtin_elementwise_max(top, *(const Bytes *)(x + TAP(p, w)));            \
    }                                                                                              \
    *(Bytes *)y = top;                                                                             \
  }
#define MAX_POOL_BYTES(kind, S, LOWEST)                                                            \
  MAX_BYTES(max_##kind##_more, S, LOWEST, 64)                                                      \
  MAX_BYTES(max_##kind##_all, S, LOWEST, 16)                                                       \
  MAX_STEP(max_##kind##_one, S, S, PLAIN, ABOVE_INT, LOWEST, ONE, 1)                               \
  KERNEL(max_pool_##kind, GLOW_MAX_POOL_PTRS, S, max_##kind, MORE64)

#define PLAIN(v) (v)

/* The taps of a window in registers: 16 channels are few enough to stay there. */
INLINE void max_taps(const GlowPoolParams *p, const Window *w, const float *x, float *y) {
  GlowVec top[16 / GLOW_VL];
  UNROLL for (int v = 0; v < 16 / GLOW_VL; v++) top[v] = vec_load(x + w->at + v * GLOW_VL);
  TAPS(p, w) {
    const float *at = x + TAP(p, w);
    UNROLL for (int v = 0; v < 16 / GLOW_VL; v++) {
      top[v] = vec_top(top[v], vec_load(at + v * GLOW_VL));
    }
  }
  UNROLL for (int v = 0; v < 16 / GLOW_VL; v++) vec_store(y + v * GLOW_VL, top[v]);
}

/* The same for whole windows of 3 x 3, spelled out: a processor mispredicts the ends of loops of
 * three rounds. */
INLINE void max_nine(const GlowPoolParams *p, const Window *w, const float *x, float *y) {
  int64_t row = p->dilation[1] * p->xs[1], column = p->dilation[2] * p->xs[2];
  UNROLL for (int v = 0; v < 16 / GLOW_VL; v++) {
    const float *at = x + w->at + v * GLOW_VL;
    GlowVec top = vec_load(at);
    UNROLL for (int tap = 1; tap < 9; tap++) {
      top = vec_top(top, vec_load(at + tap / 3 * row + tap % 3 * column));
    }
    vec_store(y + v * GLOW_VL, top);
  }
}

INLINE bool is_nine(const GlowPoolParams *p) {
  return p->kernel[0] == 1 && p->kernel[1] == 3 && p->kernel[2] == 3;
}

INLINE void max_float_all(const GlowPoolParams *p, const Window *w, const float *x, float *y) {
  if (w->elements == 0) {
    UNROLL for (int l = 0; l < 16; l++) y[l] = -__builtin_inff();
  } else if (w->elements == p->kernel[0] * p->kernel[1] * p->kernel[2]) {
    Window inside = *w; /* the whole window: counts that are constants once this is specialized */
    AXES inside.count[a] = p->kernel[a];
    if (is_nine(p))
      max_nine(p, w, x, y);
    else
      max_taps(p, &inside, x, y);
  } else {
    max_taps(p, w, x, y);
  }
}
MAX_STEP(max_float_one, float, float, PLAIN, ABOVE_REAL, -__builtin_inff(), ONE, 1)
KERNEL(max_pool_float, GLOW_MAX_POOL_PTRS, float, max_float, NO_MORE)

MAX_POOL(double, double, double, PLAIN, ABOVE_REAL, -__builtin_inf())
MAX_POOL(float16, uint16_t, float, glow_half_to_float, ABOVE_REAL, 0xfc00)
MAX_POOL(bfloat16, uint16_t, float, glow_bfloat_to_float, ABOVE_REAL, 0xff80)
MAX_POOL_BYTES(i8, int8_t, INT8_MIN)
MAX_POOL(i16, int16_t, int16_t, PLAIN, ABOVE_INT, INT16_MIN)
MAX_POOL(i32, int32_t, int32_t, PLAIN, ABOVE_INT, INT32_MIN)
MAX_POOL(i64, int64_t, int64_t, PLAIN, ABOVE_INT, INT64_MIN)
MAX_POOL_BYTES(u8, uint8_t, 0)
MAX_POOL(u16, uint16_t, uint16_t, PLAIN, ABOVE_INT, 0)
MAX_POOL(u32, uint32_t, uint32_t, PLAIN, ABOVE_INT, 0)
MAX_POOL(u64, uint64_t, uint64_t, PLAIN, ABOVE_INT, 0)

/* ---- Where the maximum stood: plain NCHW ----------------------------------------------------- */

/* The index into X flattened, spatial axes in one order or the other. */
INLINE int64_t flat_index(const GlowPoolParams *p, int64_t image, const int64_t *at) {
  int64_t size = p->in[0] * p->in[1] * p->in[2];
  int64_t row = (at[0] * p->in[1] + at[1]) * p->in[2] + at[2];
  int64_t column = (at[2] * p->in[1] + at[1]) * p->in[0] + at[0];
  return image * size + (p->column_major ? column : row);
}

#define ARG_POOL(kind, S, C, LOAD, ABOVE, LOWEST)                                                  \
  void glow_max_pool_arg_##kind(const GlowPoolParams *p, void *const *ptrs, int64_t begin,         \
                                int64_t end, char *scratch) {                                      \
    (void)scratch;                                                                                 \
    ROLLED for (int64_t u = begin; u < end; u++) {                                                 \
      int64_t image = u / (p->out[0] * p->out[1]), row = u % (p->out[0] * p->out[1]);              \
      int64_t place[GLOW_POOL_DIMS] = {row / p->out[1], row % p->out[1], 0};                       \
      const S *x =                                                                                 \
          (const S *)GLOW_MAX_POOL_ARG_PTRS(ptrs).x + image / p->c * p->xn + image % p->c * p->xc; \
      ROLLED for (place[2] = 0; place[2] < p->out[2]; place[2]++) {                                \
        Window w;                                                                                  \
        clip(p, place, &w);                                                                        \
        S best = (S)(LOWEST);                                                                      \
        int64_t where = 0, first = 1;                                                              \
        TAPS(p, &w) {                                                                              \
          const S e = x[TAP(p, &w)];                                                               \
          const C v = LOAD(e), top = LOAD(best);                                                   \
          if (first || ABOVE(v, top)) {                                                            \
            int64_t at[] = {i, j, k};                                                              \
            AXES at[a] =                                                                           \
                place[a] * p->stride[a] - p->before[a] + (w.first[a] + at[a]) * p->dilation[a];    \
            where = flat_index(p, image, at);                                                      \
            best = e;                                                                              \
            first = 0;                                                                             \
          }                                                                                        \
        }                                                                                          \
        ((S *)GLOW_MAX_POOL_ARG_PTRS(ptrs).y)[u * p->out[2] + place[2]] = best;                    \
        GLOW_MAX_POOL_ARG_PTRS(ptrs).at[u * p->out[2] + place[2]] = where;                         \
      }                                                                                            \
    }                                                                                              \
  }
ARG_POOL(float, float, float, PLAIN, ABOVE_REAL, -__builtin_inff())
ARG_POOL(double, double, double, PLAIN, ABOVE_REAL, -__builtin_inf())
ARG_POOL(float16, uint16_t, float, glow_half_to_float, ABOVE_REAL, 0xfc00)
ARG_POOL(i8, int8_t, int8_t, PLAIN, ABOVE_INT, INT8_MIN)
ARG_POOL(u8, uint8_t, uint8_t, PLAIN, ABOVE_INT, 0)

/* ---- Mean and norm --------------------------------------------------------------------------- */

#define SUM_STEP(name, S, C, LOAD, STORE, TERM, FINISH, EACH, N)                                   \
  INLINE void name(const GlowPoolParams *p, const Window *w, const S *restrict x, S *restrict y) { \
    const float norm = glow_float_from_bits((uint32_t)p->norm);                                    \
    const C divisor = (C)w->divisor;                                                               \
    (void)norm, (void)divisor;                                                                     \
    C sum[N];                                                                                      \
    EACH sum[l] = 0;                                                                               \
    TAPS(p, w) {                                                                                   \
      const S *restrict at = x + TAP(p, w);                                                        \
      EACH sum[l] += TERM(LOAD(at[l]), (C)norm);                                                   \
    }                                                                                              \
    EACH y[l] = STORE(FINISH(sum[l], divisor, (C)norm));                                           \
  }
#define SUM_POOL(pool, PTRS, kind, S, C, LOAD, STORE, TERM, FINISH)                                \
  SUM_STEP(pool##_##kind##_all, S, C, LOAD, STORE, TERM, FINISH, LANES16, 16)                      \
  SUM_STEP(pool##_##kind##_one, S, C, LOAD, STORE, TERM, FINISH, ONE, 1)                           \
  KERNEL(pool##_##kind, PTRS, S, pool##_##kind, NO_MORE)

#define ELEMENT(v, p) (v)
#define QUOTIENT(sum, divisor, p) ((sum) / (divisor))
#define POWER(v, p) ((p) == 1 ? ABS(v) : (p) == 2 ? (v) * (v) : POW(ABS(v), p))
#define ROOT(sum, divisor, p) ((p) == 1 ? (sum) : (p) == 2 ? SQRT(sum) : POW(sum, 1 / (p)))
#define SUM_POOLS(kind, S, C, LOAD, STORE)                                                         \
  SUM_POOL(average_pool, GLOW_AVERAGE_POOL_PTRS, kind, S, C, LOAD, STORE, ELEMENT, QUOTIENT)       \
  SUM_POOL(lp_pool, GLOW_LP_POOL_PTRS, kind, S, C, LOAD, STORE, POWER, ROOT)
SUM_POOLS(float, float, float, PLAIN, PLAIN)
SUM_POOLS(double, double, double, PLAIN, PLAIN)
SUM_POOLS(float16, uint16_t, float, glow_half_to_float, glow_half_from_float)
SUM_POOLS(bfloat16, uint16_t, float, glow_bfloat_to_float, glow_bfloat_from_float)
