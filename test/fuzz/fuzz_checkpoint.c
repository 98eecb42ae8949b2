/* Checkpoints: a file gives the variables of a module their values, or is refused. */
#include "driver/session.h"
#include "driver/state.h"
#include "test/fuzz/fuzz.h"
#include "train/checkpoint.h"

static const char text[] = "declare {\n"
                           "  variable @w : float<2> = splat(0.0)\n"
                           "  variable @n : i64<> = splat(1)\n"
                           "  variable @q : i4<3> = splat(1)\n"
                           "}\n"
                           "func @train { Save(@w, @w) }\n";

static void body(GlowContext *ctx, void *arg) {
  const GlowFuzzInput *in = arg;
  GlowModule *m = glow_module_parse(ctx, "text", text, sizeof text - 1);
  GlowSession s = {.ctx = ctx, .module = m};
  GlowDefer close;
  glow_defer_push(ctx, &close, glow_session_close_fn, &s);
  s.entry = m ? glow_module_entry(m, NULL) : NULL;
  const GlowBlob *blob =
      s.entry ? glow_blob_from_safetensors(ctx, "fuzz", in->data, in->size, GLOW_NOWHERE) : NULL;
  GlowCheckpoints c = {.order = {.shuffled = true, .seed = 7, .samples = 10, .batch = 2}};
  int64_t step = -1;
  bool reset = in->size % 2;
  if (blob && glow_checkpoint_take(&c, &s, blob, GLOW_NOWHERE, reset, &step) == GLOW_OK &&
      (step < 0 || s.variables.count != 3))
    __builtin_trap();
  glow_defer_pop(ctx, &close, true);
}

GLOW_FUZZ_TARGET(false, body)
