/* Convolution of any spatial rank, with groups, strides, pads and dilations, in any layout.
 *
 * Input and filter are packed into scratch in the compute type: the input of one image and group as
 * [place][channel] with its padding as real elements, the filter as [panel][k][16 output channels]
 * with k in contract order (ic/16, taps ascending, ic%16). Then every output is one chain of fused
 * multiply-adds that starts at the bias, 6 places by 16 channels at a time; with strategy = bf16, k
 * runs over all channels of a tap before the next tap. A depthwise
 * convolution has one channel a group, so there the 16 lanes are groups. */
#include "kernels/ref/conv_plan.h"
#include "kernels/ref/tile.h"
#include "kernels/ref/winograd.h"

_Static_assert((int)GLOW_CONV_LANES == (int)GLOW_TILE_COLUMNS, "a tile is one panel wide");

#define T float
#define NAME(x) x##_float
#define LOAD_RUN glow_run_load_float
#define LOAD glow_load_float
#define STORE glow_store_float
#include "kernels/ref/conv_body.inc"

#define T double
#define NAME(x) x##_double
#define LOAD_RUN glow_run_load_double
#define LOAD glow_load_double
#include "kernels/ref/conv_body.inc"

#define T int32_t
#define NAME(x) x##_i32
#define LOAD_RUN glow_run_load_i32
#define LOAD glow_load_i32
#include "kernels/ref/conv_body.inc"

#define T float
#define NAME(x) x##_bf16
#define LOAD_RUN(...)                                                                              \
  (p->pairs ? glow_run_load_pair(__VA_ARGS__) : glow_run_load_bf16(__VA_ARGS__))
#define LOAD glow_load_float
#define BY_TAPS(...) (p->pairs ? glow_tile_pair(__VA_ARGS__) : glow_tile_bf16(__VA_ARGS__))
#include "kernels/ref/conv_body.inc"

GlowRunError glow_kernel_convolution(GlowCall *call) {
  if (glow_conv_is_winograd(call))
    return glow_ref_winograd(call);
  GlowConvPlan p = glow_conv_plan(call);
  char *scratch = call->scratch;
  int64_t *taps = (int64_t *)(scratch + p.taps_at);
  for (int64_t t = 0; t < p.taps; t++) {
    int64_t place = 0, scale = 1, rest = t;
    for (uint32_t i = p.spatial; i-- > 0; rest /= p.kernel[i]) {
      place += rest % p.kernel[i] * p.dilation[i] * scale;
      scale *= p.padded[i];
    }
    taps[t] = place * p.width;
  }
  glow_ref_clear_padding(p.y);
  if (p.outputs == 0)
    return GLOW_RUN_OK;
  const GlowConvolutionMembers *m = call->members;
  p.pairs = m->order == GLOW_BF16_ORDER_PAIR;
  if (m->strategy == GLOW_CONV_STRATEGY_BF16)
    grouped_bf16(&p, scratch, taps);
  else if (p.y->kind == GLOW_KIND_DOUBLE)
    (p.depthwise ? depthwise_double : grouped_double)(&p, scratch, taps);
  else if (p.y->kind == GLOW_KIND_I32)
    (p.depthwise ? depthwise_i32 : grouped_i32)(&p, scratch, taps);
  else
    (p.depthwise ? depthwise_float : grouped_float)(&p, scratch, taps);
  return GLOW_RUN_OK;
}
