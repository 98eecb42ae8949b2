/* Writing files of ranges: see ranges.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "num/bits.h"
#include "num/range.h"
#include "num/sums.h"
#include "quantize/ranges.h"
#include "support/json.h"

static void put_string(GlowText *out, const char *key, const char *s) {
  glow_text_printf(out, "\"%s\":", key);
  glow_json_string(out, s, strlen(s));
  glow_text_putc(out, ',');
}

static void put_number(GlowText *out, const char *key, int64_t bits) {
  char digits[64];
  size_t n = glow_format_float(digits, glow_float_from_bits((uint32_t)bits));
  glow_text_printf(out, ",\"%s\":%.*s", key, (int)n, digits);
}

void glow_ranges_put_head(GlowText *out, const GlowModule *m, GlowStr function, uint64_t text,
                          int64_t samples) {
  glow_text_puts(out, "{\"glow\":\"ranges\",\"version\":1,");
  if (m->name)
    put_string(out, "module", m->name);
  put_string(out, "function", function);
  glow_text_printf(out, "\"text\":\"%016" PRIx64 "\",\"samples\":%" PRId64 "}\n", text, samples);
}

static void put_bins(GlowText *out, const int64_t *state) {
  const char *before = ",\"bins\":[";
  for (uint32_t i = 0; i < GLOW_RANGE_BINS; i++) {
    if (!state[i])
      continue;
    glow_text_printf(out, "%s[%u,%" PRId64 "]", before, i, state[i]);
    before = ",";
  }
  glow_text_putc(out, ']');
}

void glow_ranges_put(GlowText *out, const GlowObserved *o, const int64_t *state) {
  glow_text_putc(out, '{');
  put_string(out, "value", o->name);
  put_string(out, "op", o->source);
  put_string(out, "type", o->type);
  glow_text_printf(out, "\"nan\":%" PRId64 ",\"inf\":%" PRId64, state[GLOW_RANGE_NAN],
                   state[GLOW_RANGE_INF]);
  if (state[GLOW_RANGE_COUNT]) {
    put_number(out, "min", state[GLOW_RANGE_MIN]);
    put_number(out, "max", state[GLOW_RANGE_MAX]);
    glow_text_printf(out, ",\"exponent\":%" PRId64, state[GLOW_RANGE_EXPONENT]);
    put_bins(out, state);
  }
  glow_text_puts(out, "}\n");
}

static bool are_finite(const GlowTensor *t) {
  for (int64_t i = 0; i < glow_tensor_elements(t); i++)
    if (!isfinite(glow_tensor_get_double(t, i)))
      return false;
  return true;
}

static void put_list(GlowText *out, const char *key, uint32_t i, double v) {
  char digits[64];
  size_t n = glow_format_float(digits, (float)v + 0.0f);
  if (i)
    glow_text_putc(out, ',');
  else
    glow_text_printf(out, ",\"%s\":[", key);
  glow_text_printf(out, "%.*s", (int)n, digits);
}

static void put_ends(GlowText *out, const char *key, const GlowTensor *t) {
  for (int64_t i = 0; i < glow_tensor_elements(t); i++)
    put_list(out, key, (uint32_t)i, glow_tensor_get_double(t, i));
  glow_text_putc(out, ']');
}

/* The mean of a channel that has elements. */
static double mean_of(const int64_t *channel) {
  double sum = 0;
  for (int i = GLOW_SUMS_LIMBS; i-- > 0;)
    sum += ldexp((double)channel[i], i * GLOW_SUMS_LIMB_BITS + GLOW_SUMS_LEAST_EXPONENT);
  return sum / (double)channel[GLOW_SUMS_COUNT];
}

void glow_ranges_put_channels(GlowText *out, const GlowObserved *o, const GlowTensor *sums,
                              const GlowTensor *low, const GlowTensor *high) {
  const int64_t *channels = sums->data;
  int64_t count = sums->type->dims[0].size;
  bool empty = count == 0;
  for (int64_t c = 0; c < count; c++)
    empty |= channels[c * GLOW_SUMS_SIZE + GLOW_SUMS_COUNT] == 0;
  if (empty)
    return;
  glow_text_putc(out, '{');
  put_string(out, "value", o->name);
  glow_text_printf(out, "\"channels\":%lld", (long long)o->axis);
  for (int64_t c = 0; c < count; c++)
    put_list(out, "mean", (uint32_t)c, mean_of(channels + c * GLOW_SUMS_SIZE));
  glow_text_putc(out, ']');
  if (low && high && are_finite(low) && are_finite(high)) {
    put_ends(out, "min", low);
    put_ends(out, "max", high);
  }
  glow_text_puts(out, "}\n");
}

void glow_ranges_put_keep(GlowText *out, GlowStr value, GlowStr why) {
  glow_text_putc(out, '{');
  put_string(out, "value", value);
  put_string(out, "keep", "float");
  glow_text_puts(out, "\"why\":");
  glow_json_string(out, why, strlen(why));
  glow_text_puts(out, "}\n");
}
