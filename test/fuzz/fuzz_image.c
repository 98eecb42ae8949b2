/* PNG, JPEG and PNM pictures, with a resize so that every sample is used. */
#include "tensor/formats.h"
#include "test/fuzz/fuzz.h"

/* A picture that is legal but large only makes the fuzzer slow. */
static bool small_enough(const GlowFuzzInput *in) { return in->size < 1 << 16; }

static void body(GlowContext *ctx, void *arg) {
  const GlowFuzzInput *in = arg;
  if (!small_enough(in))
    return;
  GlowImageOptions o = {.width = 5, .height = 3, .crop = 0.75, .std = {1, 1, 1}, .channels = 3};
  glow_tensor_free(glow_image_read(ctx, "fuzz.png", in->data, in->size, &o));
}

GLOW_FUZZ_TARGET(false, body)
