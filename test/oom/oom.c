/* A failing allocator at malloc's level: fails each allocation in turn while a small model goes
 * through import, print, parse, passes, irgen and a run, in one process. Every failure must end in
 * a status, never in a crash, and must leave no memory behind once the context is destroyed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/passes.h"
#include "driver/session.h"
#include "import/onnx/onnx.h"
#include "test/oom/sweep.h"

typedef struct Case {
  const char *dir;
  GlowInput model;
  GlowStatus status;
} Case;

/* Text and back, as two tools would pass it on. */
static GlowModule *through_text(GlowContext *ctx, GlowModule *m, GlowText *text) {
  glow_text_init(text, ctx);
  glow_module_print(m, text, &(GlowPrintOptions){0});
  const char *data = glow_text_cstr(text);
  return glow_module_parse(ctx, "pipe", data, text->size);
}

static void whole_line(GlowContext *ctx, void *arg) {
  Case *c = arg;
  c->status = GLOW_BAD_INPUT;
  glow_onnx_register(ctx);
  GlowModule *m = glow_onnx_import(ctx, &c->model, &(GlowOnnxOptions){.quiet = true});
  if (!m || !glow_module_verify(m))
    return;
  GlowText text = {0}, text2 = {0};
  GlowDefer defer, defer2, defer3;
  glow_defer_push(ctx, &defer, glow_text_release_fn, &text);
  glow_defer_push(ctx, &defer2, glow_text_release_fn, &text2);
  m = through_text(ctx, m, &text);
  GlowPipeline *p = m ? glow_pipeline_parse(ctx, &glow_passes,
                                            "constant-fold,lower,fold-bn,dce,irgen,plan-memory")
                      : NULL;
  if (p && glow_pipeline_run(m, p, &(GlowRunnerOptions){.verify_each = true}) == GLOW_OK &&
      (m = through_text(ctx, m, &text2))) {
    GlowSession s = {.ctx = ctx, .module = m};
    glow_defer_push(ctx, &defer3, glow_session_close_fn, &s);
    s.entry = glow_module_entry(m, NULL);
    const char *input = glow_arena_printf(ctx->arena, "%s/test_data_set_0/input_0.pb", c->dir);
    if (s.entry && glow_session_add_input(&s, input, NULL) == GLOW_OK)
      c->status = glow_session_run(&s, NULL, &(GlowRunOptions){0});
    glow_defer_pop(ctx, &defer3, true);
  }
  glow_defer_pop(ctx, &defer2, true);
  glow_defer_pop(ctx, &defer, true);
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  printf("allocation failures in turn\n"); /* stdio's own buffer is allocated here */
  long total = 0;
  int failed = 0;
  for (int i = 1; i < argc; i++) {
    Case c = {.dir = argv[i]};
    GlowContext *ctx = glow_context_create();
    char path[4096];
    snprintf(path, sizeof path, "%s/model.onnx", argv[i]);
    if (!ctx || !glow_input_open(ctx, path, true, GLOW_NOWHERE, &c.model))
      return 1;
    failed += !sweep(&(Sweep){argv[i], whole_line, &c, &c.status}, &total);
    glow_input_close(&c.model);
    glow_context_destroy(ctx);
  }
  printf("%d passed, %d failed\n", argc - 1 - failed, failed);
  return failed || total == 0;
}
