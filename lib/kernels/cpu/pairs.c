/* Operators that follow each other in one loop, for bodies of library code: what is between them
 * needs no block. See kernels/body.h. */
#define GLOW_BLOCK_FORMS
#include "exp.h"
#include "lanes.h"

#include "body.h"
#include "kernels/body.h"

#define FIRST_add(a, b) ((a) + (b))
#define FIRST_sub(a, b) ((a) - (b))
#define FIRST_mul(a, b) ((a) * (b))
#define SECOND_add(v, c) ((v) + (c))
#define SECOND_sub(v, c) ((v) - (c))
#define SECOND_mul(v, c) ((v) * (c))
#define SECOND_from(v, c) ((c) - (v))
#define SECOND_div(v, c) ((v) / (c))

#define PAIR(T, first, second)                                                                     \
  INLINE void pair_##first##_##second##_##T(T *restrict r, const T *restrict a,                    \
                                            const T *restrict b, const T *restrict c) {            \
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] =                                            \
        SECOND_##second(FIRST_##first(a[l], b[l]), c[l]);                                          \
  }                                                                                                \
  BLOCK_FUNCTION(pair_##first##_##second##_##T, 3,                                                 \
                 BLOCK_FORMS(sizeof(T) == 4, BLOCK_ROW(T, 0) BLOCK_ROW(T, 1) BLOCK_ROW(T, 2),      \
                             pair_##first##_##second##_##T(BLOCK_OUT(T), BLOCK_IN(T, 0),           \
                                                           BLOCK_IN(T, 1), BLOCK_IN(T, 2))))
/* In the order of GLOW_PAIR_... */
#define SECONDS(M, T, first)                                                                       \
  M(T, first, add) M(T, first, sub) M(T, first, mul) M(T, first, from) M(T, first, div)
#define FIRSTS(M, T) SECONDS(M, T, add) SECONDS(M, T, sub) SECONDS(M, T, mul)

FIRSTS(PAIR, float)
FIRSTS(PAIR, double)

#define PRODUCTS(name, op)                                                                         \
  INLINE void name##_products(float *restrict r, const float *restrict a, const float *restrict b, \
                              const float *restrict c, const float *restrict d) {                  \
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] = a[l] * b[l] op c[l] * d[l];                \
  }                                                                                                \
  GLOW_BLOCK(name##_products, 4,                                                                   \
             BLOCK_ROW(float, 0) BLOCK_ROW(float, 1) BLOCK_ROW(float, 2) BLOCK_ROW(float, 3),      \
             name##_products(BLOCK_OUT(float), BLOCK_IN(float, 0), BLOCK_IN(float, 1),             \
                             BLOCK_IN(float, 2), BLOCK_IN(float, 3)))
PRODUCTS(add, +)
PRODUCTS(sub, -)

INLINE void cube(float *restrict r, const float *restrict a) {
  GLOW_LANES for (int l = 0; l < GLOW_VL; l++) {
    const double v = a[l];
    r[l] = (float)(v * v * v);
  }
}
GLOW_BLOCK(cube, 1, BLOCK_ROW(float, 0), cube(BLOCK_OUT(float), BLOCK_IN(float, 0)))

INLINE void scale(float *restrict r, const int32_t *restrict a, const float *restrict b) {
  GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] = (float)a[l] * b[l];
}
GLOW_BLOCK(scale, 2, BLOCK_ROW(int32_t, 0) BLOCK_ROW(float, 1),
           scale(BLOCK_OUT(float), BLOCK_IN(int32_t, 0), BLOCK_IN(float, 1)))

INLINE void exp_difference(float *r, const float *a, const float *b) {
  vec_store(r, vec_exp(vec_load(a) - vec_load(b), false));
}
GLOW_BLOCK(exp_difference, 2, BLOCK_ROW(float, 0) BLOCK_ROW(float, 1),
           exp_difference(BLOCK_OUT(float), BLOCK_IN(float, 0), BLOCK_IN(float, 1)))

#define WRAP(name, op)                                                                             \
  INLINE void wrap_##name(int64_t *restrict r, const int64_t *restrict a,                          \
                          const int64_t *restrict b) {                                             \
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) r[l] = a[l] < 0 ? a[l] op b[l] : a[l];            \
  }                                                                                                \
  GLOW_BLOCK(wrap_##name, 2, BLOCK_ROW(int64_t, 0) BLOCK_ROW(int64_t, 1),                          \
             wrap_##name(BLOCK_OUT(int64_t), BLOCK_IN(int64_t, 0), BLOCK_IN(int64_t, 1)))
WRAP(add, +)
WRAP(sub, -)

#define NAME(T, first, second) glow_block_pair_##first##_##second##_##T,
GlowBlockFn *const glow_pair_blocks[] = {
    FIRSTS(NAME, float) FIRSTS(NAME, double) glow_block_add_products, glow_block_sub_products,
    glow_block_cube, glow_block_scale, glow_block_scale_quantize_i8, glow_block_scale_quantize_u8,
    glow_block_exp_difference, glow_block_wrap_add, glow_block_wrap_sub};
