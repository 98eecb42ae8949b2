/* Every pass alone, and every pass left out of -O2: a module computes after each what it did.
 *
 * Exact pipelines must give the same bits; those with a bounded pass are judged by the caller.
 * Graph passes are judged by the graph walker. Where irgen accepts the module, program passes work
 * on what it makes after -O0 and after -O2 on the graph. What a pipeline
 * left as it was is not run, and a graph pass that rewrote nothing in -O2 is not left out of it. */
#ifndef GLOW_TEST_PASSES_EACH_PASS_H
#define GLOW_TEST_PASSES_EACH_PASS_H

#include "pass/pass.h"
#include "test/random/compare.h"

typedef struct GlowEachPass {
  const GlowModule *module; /* extents are bound */
  GlowStr entry;
  const GlowBindings *inputs;
  /* What is wrong with the outputs of a bounded pipeline; NULL if nothing is. */
  const char *(*judge)(void *user, const GlowBindings *before, const GlowBindings *after);
  /* Called for each pipeline that changed the module: `pass` alone or left out; -O2 if NULL. */
  void (*report)(void *user, const GlowPass *pass, bool alone, bool exact, uint64_t rewrites,
                 const char *wrong);
  void *user;
  unsigned judged, failed; /* pipelines */
} GlowEachPass;

/* False after a diagnostic if the module does not run as it is. */
bool glow_each_pass(GlowContext *ctx, GlowEachPass *each);

#endif
