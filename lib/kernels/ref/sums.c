/* ObserveSums: adds elements to exact sums, whose form num/sums.h describes. */
#include "num/sums.h"
#include "kernels/ref/ref.h"
#include "num/bits.h"

/* So many elements add less than 2^62 to a limb. */
#define MOST_ELEMENTS ((int64_t)1 << 30)

/* Adds n elements. Limbs may leave their ranges. */
static void add(int64_t *channel, const float *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits = glow_float_bits(x[i]), exponent = bits >> 23 & 0xff;
    uint64_t mantissa = bits & 0x7fffff;
    if (exponent == 0xff)
      continue;
    if (exponent)
      mantissa |= 1 << 23, exponent--;
    mantissa <<= exponent % GLOW_SUMS_LIMB_BITS;
    int64_t *limb = channel + exponent / GLOW_SUMS_LIMB_BITS, sign = bits >> 31 ? -1 : 1;
    limb[0] += sign * (int64_t)(mantissa & UINT32_MAX);
    limb[1] += sign * (int64_t)(mantissa >> GLOW_SUMS_LIMB_BITS);
    channel[GLOW_SUMS_COUNT]++;
  }
}

/* Brings all limbs but the last into [0, 2^32). */
static void carry(int64_t *channel) {
  int64_t over = 0;
  for (int i = 0; i + 1 < GLOW_SUMS_LIMBS; i++) {
    int64_t limb = channel[i] + over;
    channel[i] = limb & UINT32_MAX;
    over = limb >> GLOW_SUMS_LIMB_BITS;
  }
  channel[GLOW_SUMS_LIMBS - 1] += over;
}

GlowRunError glow_kernel_observe_sums(GlowCall *call) {
  const GlowObserveSumsMembers *m = call->members;
  const GlowBuf *x = &call->in[0];
  int64_t *state = call->out[0].data;
  uint32_t axis = glow_ref_axis(m->axis, x->rank);
  int64_t channels = x->dims[axis], outer = glow_ref_extent(x, 0, axis),
          run = glow_ref_extent(x, axis + 1, x->rank);
  if (state != call->in[1].data)
    __builtin_memcpy(state, call->in[1].data, (size_t)channels * GLOW_SUMS_SIZE * sizeof *state);
  const float *data = x->data;
  for (int64_t c = 0; c < channels; c++) {
    int64_t *channel = state + c * GLOW_SUMS_SIZE;
    int64_t since = 0; /* elements since the last carry */
    carry(channel);
    for (int64_t o = 0; o < outer; o++)
      for (int64_t at = 0; at < run; at += MOST_ELEMENTS) {
        int64_t n = run - at < MOST_ELEMENTS ? run - at : MOST_ELEMENTS;
        add(channel, data + (o * channels + c) * run + at, n);
        since += n;
        if (since < MOST_ELEMENTS)
          continue;
        carry(channel);
        since = 0;
      }
    carry(channel);
  }
  return GLOW_RUN_OK;
}
