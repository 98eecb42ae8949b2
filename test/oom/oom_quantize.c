/* A failing allocator while a graph is quantized: fails each allocation in turn in each of the given
 * pipelines. Every failure must end in a status, never in a crash, and leave no memory behind.
 *
 *   glow-oom-quantize MODEL.gg PIPELINE...   */
#include <stdlib.h>

#include "driver/passes.h"
#include "support/file.h"
#include "test/oom/sweep.h"

typedef struct Case {
  GlowInput model;
  const char *passes;
  GlowStatus status;
} Case;

static void quantize(GlowContext *ctx, void *arg) {
  Case *c = arg;
  c->status = GLOW_BAD_INPUT;
  GlowModule *m = glow_module_parse(ctx, "model", c->model.data, c->model.size);
  GlowPipeline *p = m ? glow_pipeline_parse(ctx, &glow_passes, c->passes) : NULL;
  if (p)
    c->status = glow_pipeline_run(m, p, &(GlowRunnerOptions){.verify_each = true});
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  printf("allocation failures in turn\n"); /* stdio's own buffer is allocated here */
  GlowContext *ctx = glow_context_create();
  Case c = {0};
  long total = 0;
  int failed = 0;
  if (argc < 3 || !ctx || !glow_input_open(ctx, argv[1], true, GLOW_NOWHERE, &c.model))
    return 1;
  for (int i = 2; i < argc; i++) {
    c.passes = argv[i];
    failed += !sweep(&(Sweep){argv[i], quantize, &c, &c.status}, &total);
  }
  glow_input_close(&c.model);
  glow_context_destroy(ctx);
  printf("%d passed, %d failed\n", argc - 2 - failed, failed);
  return failed || total == 0;
}
