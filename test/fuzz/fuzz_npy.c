/* .npy: what is read must be written and read back with the same bits. */
#include "tensor/formats.h"
#include "test/fuzz/fuzz.h"

static void body(GlowContext *ctx, void *arg) {
  const GlowFuzzInput *in = arg;
  GlowTensor *t = glow_npy_read(ctx, "fuzz.npy", in->data, in->size);
  if (!t)
    return;
  GlowText text;
  GlowDefer defer;
  glow_text_init(&text, ctx);
  glow_defer_push(ctx, &defer, glow_text_release_fn, &text);
  glow_npy_write(&text, t);
  GlowTensor *again = glow_npy_read(ctx, "again.npy", text.data, text.size);
  if (!again || !glow_tensor_same_bits(t, again))
    __builtin_trap();
  glow_tensor_free(again);
  glow_tensor_free(t);
  glow_defer_pop(ctx, &defer, true);
}

GLOW_FUZZ_TARGET(false, body)
