/* ObserveRange: counts elements in a state whose form num/range.h describes. */
#include "num/range.h"
#include "kernels/ref/ref.h"
#include "num/bits.h"

typedef struct GlowSeen {
  int64_t *bins, count, exponent;
  float min, max;
  double limit, inverse; /* 2^exponent; the bins of 1 */
} GlowSeen;

static double power_of_two(int64_t e) { return glow_double_from_bits((uint64_t)(e + 1023) << 52); }

static void set_exponent(GlowSeen *s, int64_t e) {
  s->exponent = e;
  s->limit = power_of_two(e);
  s->inverse = power_of_two(GLOW_RANGE_SIDE_LOG2 - e);
}

/* The smallest exponent whose bins have a place for v. */
static int64_t exponent_of(float v) {
  uint32_t bits = glow_float_bits(v), magnitude = bits & 0x7fffffff;
  int64_t e = (int64_t)(magnitude >> 23) - 126;
  bool is_end = bits >> 31 && !(magnitude & 0x7fffff); /* -2^e is the first bin's */
  e -= is_end;
  return e > GLOW_RANGE_LEAST_EXPONENT ? e : GLOW_RANGE_LEAST_EXPONENT;
}

/* Merges bins until those of v's exponent are reached. */
static void grow(GlowSeen *s, float v) {
  int64_t e = exponent_of(v), steps = e - s->exponent;
  int64_t shift = steps < GLOW_RANGE_SIDE_LOG2 ? steps : GLOW_RANGE_SIDE_LOG2;
  int64_t *up = s->bins + GLOW_RANGE_SIDE, *down = up - 1;
  for (int64_t i = 1; i < GLOW_RANGE_SIDE; i++) {
    int64_t above = up[i], below = down[-i];
    up[i] = down[-i] = 0;
    up[i >> shift] += above;
    down[-(i >> shift)] += below;
  }
  set_exponent(s, e);
}

static void count(GlowSeen *s, float v) {
  double at = (double)v;
  if (at < -s->limit || at >= s->limit)
    grow(s, v);
  double place = at * s->inverse;
  int64_t bin = (int64_t)place;
  bin -= (double)bin > place;
  s->bins[GLOW_RANGE_SIDE + bin]++;
  s->min = s->count && s->min < v ? s->min : v;
  s->max = s->count && s->max > v ? s->max : v;
  s->count++;
}

GlowRunError glow_kernel_observe_range(GlowCall *call) {
  const GlowBuf *x = &call->in[0];
  int64_t *state = call->out[0].data;
  if (state != call->in[1].data)
    __builtin_memcpy(state, call->in[1].data, GLOW_RANGE_SIZE * sizeof *state);
  GlowSeen s = {.bins = state,
                .count = state[GLOW_RANGE_COUNT],
                .min = glow_float_from_bits((uint32_t)state[GLOW_RANGE_MIN]),
                .max = glow_float_from_bits((uint32_t)state[GLOW_RANGE_MAX])};
  int64_t e = s.count ? state[GLOW_RANGE_EXPONENT] : GLOW_RANGE_LEAST_EXPONENT;
  if (e < GLOW_RANGE_LEAST_EXPONENT || e > GLOW_RANGE_MOST_EXPONENT)
    return GLOW_RUN_VALUE;
  set_exponent(&s, e);
  const float *data = x->data;
  int64_t n = glow_buf_elements(x);
  for (int64_t i = 0; i < n; i++) {
    uint32_t magnitude = glow_float_bits(data[i]) & 0x7fffffff;
    if (magnitude < 0x7f800000)
      count(&s, data[i] + 0.0f);
    else
      state[magnitude > 0x7f800000 ? GLOW_RANGE_NAN : GLOW_RANGE_INF]++;
  }
  state[GLOW_RANGE_COUNT] = s.count;
  state[GLOW_RANGE_EXPONENT] = s.count ? s.exponent : 0;
  state[GLOW_RANGE_MIN] = s.count ? glow_float_bits(s.min) : 0;
  state[GLOW_RANGE_MAX] = s.count ? glow_float_bits(s.max) : 0;
  return GLOW_RUN_OK;
}
