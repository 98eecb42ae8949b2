/* The ONNX reader and importer: what imports must verify, print, and parse back; a report of what a
 * model needs can be made of all that is read. */
#include "import/onnx/onnx.h"
#include "test/fuzz/fuzz.h"

static void body(GlowContext *ctx, void *arg) {
  const GlowFuzzInput *in = arg;
  glow_onnx_register(ctx);
  GlowInput input = {.name = "<stdin>", .data = (const char *)in->data, .size = in->size};
  GlowModule *m = glow_onnx_import(ctx, &input, &(GlowOnnxOptions){.quiet = true});
  if (m && glow_module_verify(m) && !glow_module_verify_roundtrip(m))
    __builtin_trap();
  GlowOnnxUses uses = {0};
  glow_onnx_preflight(ctx, &input, &(GlowOnnxOptions){.quiet = true}, &uses);
}

GLOW_FUZZ_TARGET(false, body)
