/* Files of ranges: what was read must give parameters that types can have, however it is
 * calibrated. */
#include <math.h>

#include "quantize/parameters.h"
#include "test/fuzz/fuzz.h"

static void check(const GlowRange *r, GlowCalibration how, GlowQuantScheme scheme, GlowKind kind) {
  double min, max;
  glow_calibrate(how, 99, r, &min, &max);
  GlowQuantParameters p = glow_quant_parameters(scheme, kind, min, max);
  int32_t low = p.kind == GLOW_KIND_U8 ? 0 : -128;
  if (!(min <= 0 && max >= 0) || !(p.scale >= GLOW_LEAST_SCALE && p.scale < INFINITY) ||
      p.offset < low || p.offset > low + 255)
    __builtin_trap();
}

static void body(GlowContext *ctx, void *arg) {
  const GlowFuzzInput *in = arg;
  GlowRanges *ranges = glow_ranges_parse(ctx, "fuzz", (const char *)in->data, in->size);
  for (uint32_t i = 0; ranges && i < ranges->list.count; i++) {
    const GlowRange *r = &ranges->list.data[i];
    if (glow_ranges_find(ranges, r->value) != r)
      __builtin_trap();
    for (int how = 0; r->bounded && how < GLOW_CALIBRATIONS; how++)
      check(r, (GlowCalibration)how, (GlowQuantScheme)(i % GLOW_QUANT_SCHEMES),
            i % 2 ? GLOW_KIND_I8 : GLOW_KIND_U8);
  }
}

GLOW_FUZZ_TARGET(false, body)
