/* Texts of both levels: what parses and verifies must print, and parse back to the same text. */
#include "ir/ir.h"
#include "test/fuzz/fuzz.h"

static void body(GlowContext *ctx, void *arg) {
  const GlowFuzzInput *in = arg;
  GlowModule *m = glow_module_parse(ctx, "fuzz.gg", (const char *)in->data, in->size);
  if (!m || !glow_module_verify(m))
    return;
  if (!glow_module_verify_roundtrip(m))
    __builtin_trap();
}

GLOW_FUZZ_TARGET(true, body)
