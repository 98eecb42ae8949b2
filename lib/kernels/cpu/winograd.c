/* Winograd's convolution: its steps as functions, one product per number of tiles, and the loop
 * over blocks of tiles. See winograd_tile.h.
 *
 * Compiled code links the steps that a convolution uses, wraps each with constant parameters and
 * the convolution's epilogue, and hands the wrappers to glow_winograd. */
#include "winograd_tile.h"

#define STEP(name)                                                                                 \
  void glow_winograd_##name(const GlowWinogradParams *params, GlowEpilogueFn *epilogue, float *y,  \
                            const float *x, const float *w, const float *bias, void *const *env,   \
                            float *scratch, int64_t a, int64_t b, int64_t c, int64_t d)
#define UNUSED(...) (void)(0, __VA_ARGS__)

#define TRANSFORMS(side)                                                                           \
  STEP(input_##side) {                                                                             \
    UNUSED(epilogue, y, w, bias, env, c, d);                                                       \
    input_step(side, params, x, scratch, a, b);                                                    \
  }                                                                                                \
  STEP(output_##side) {                                                                            \
    UNUSED(x, w, c, d);                                                                            \
    output_step(side, params, y, bias, env, scratch, a, b, epilogue);                              \
  }

EACH_WINOGRAD_INPUT(TRANSFORMS) /* outputs have the same sizes */

void glow_winograd(const GlowWinogradParams *params, GlowWinogradInputFn *input,
                   GlowWinogradProductFn *full, GlowWinogradProductFn *small,
                   GlowWinogradOutputFn *output, GlowEpilogueFn *callback, void *const *ptrs,
                   int64_t begin, int64_t end, char *scratch) {
  const GlowWinogradPtrs p = GLOW_WINOGRAD_PTRS(ptrs);
  all_steps(params, input, full, small, output, callback, &p, (float *)scratch, begin, end);
}

#define PRODUCT(rows)                                                                              \
  STEP(product_##rows) {                                                                           \
    UNUSED(epilogue, y, x, bias, env);                                                             \
    product_step(rows, params, w, scratch, a, b, c, d);                                            \
  }

EACH_WINOGRAD_PRODUCT(PRODUCT)
