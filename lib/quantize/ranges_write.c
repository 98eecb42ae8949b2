/* Writing files of ranges: see ranges.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "num/bits.h"
#include "num/range.h"
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

static void put_ends(GlowText *out, const char *key, const GlowTensor *t) {
  glow_text_printf(out, ",\"%s\":[", key);
  for (int64_t i = 0; i < glow_tensor_elements(t); i++) {
    char digits[64];
    size_t n = glow_format_float(digits, (float)glow_tensor_get_double(t, i) + 0.0f);
    glow_text_printf(out, "%s%.*s", i ? "," : "", (int)n, digits);
  }
  glow_text_putc(out, ']');
}

void glow_ranges_put_channels(GlowText *out, const GlowObserved *o, const GlowTensor *low,
                              const GlowTensor *high) {
  uint32_t axis = 0;
  while (axis + 1 < low->type->rank && low->type->dims[axis].size == 1)
    axis++;
  if (!are_finite(low) || !are_finite(high))
    return;
  glow_text_putc(out, '{');
  put_string(out, "value", o->name);
  glow_text_printf(out, "\"channels\":%u", axis);
  put_ends(out, "min", low);
  put_ends(out, "max", high);
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
