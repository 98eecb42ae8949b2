/* Random modules, reduced and compared.
 *
 *   glow-random-reduce [--seeds N] [--seed S]
 *
 * What is interesting is a random operator of the module; it has to stay, with at most a few nodes
 * around it, in a module that verifies. Several tests at once must give what one at a time gives.
 * Where it can, the module then becomes a program, and the same holds for that.
 * A module must not differ from its copy, and must differ from what is left of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff/diff.h"
#include "driver/passes.h"
#include "reduce/reduce.h"
#include "test/random/random_graph.h"

enum { MOST_NODES = 6, SLOTS = 3 };

static unsigned passed, failed, modules, programs;

static void expect(bool ok, uint64_t seed, const char *what) {
  ok ? ++passed : ++failed;
  if (!ok)
    printf("FAILED seed %llu: %s\n", (unsigned long long)seed, what);
}

static void ignore(void *user, const GlowDiagnostic *d) {
  (void)user;
  (void)d;
}

static uint32_t count_op(const GlowModule *m, GlowOp op) {
  uint32_t count = 0;
  for (GlowFunction *f = m->first_function; f; f = f->next)
    for (GlowNode *n = f->body->first; n; n = glow_next_in_walk(n))
      count += n->op == op;
  return count;
}

/* ---- Tests of several candidates at once ----------------------------------------------------- */
typedef struct Watch {
  GlowOp op;
  GlowVerdict verdicts[SLOTS];
  bool busy[SLOTS];
  bool misused;
} Watch;

static GlowVerdict judge(void *user, const GlowCandidate *c) {
  return count_op(c->module, ((Watch *)user)->op) ? GLOW_INTERESTING : GLOW_NOT_INTERESTING;
}

static bool start(void *user, uint32_t slot, const GlowCandidate *c) {
  Watch *w = user;
  w->misused |= slot >= SLOTS || w->busy[slot];
  w->busy[slot] = true;
  w->verdicts[slot] = judge(user, c);
  return true;
}

static GlowVerdict wait_for(void *user, uint32_t slot) {
  Watch *w = user;
  w->misused |= !w->busy[slot];
  w->busy[slot] = false;
  return w->verdicts[slot];
}

static void cancel(void *user, uint32_t slot) { (void)wait_for(user, slot); }

/* ---- One seed -------------------------------------------------------------------------------- */

static bool differs(GlowModule *a, GlowModule *b) {
  GlowText t;
  bool differ = true;
  GlowDiffOptions options = {.weights = true};
  glow_text_init(&t, a->ctx);
  glow_module_diff(a, b, &options, &t, &differ);
  glow_text_release(&t);
  return differ;
}

/* The operator of a random node of @main. */
static GlowOp draw_op(const GlowModule *m, uint64_t seed) {
  GlowOp ops[4096];
  uint32_t count = 0;
  for (GlowFunction *f = m->first_function; f; f = f->next)
    for (GlowNode *n = f->body->first; n && count < 4096; n = glow_next_in_walk(n))
      if (!GLOW_HAS(glow_node_desc(n), TERMINATOR))
        ops[count++] = n->op;
  return count ? ops[(seed * 2654435761u >> 7) % count] : GLOW_OP_COUNT;
}

static void reduce(GlowModule *m, GlowOp op, uint64_t seed) {
  Watch watch = {.op = op};
  GlowReduceTest several = {SLOTS, start, wait_for, cancel, &watch};
  GlowModule *one = glow_module_clone(m), *more = glow_module_clone(m);
  expect(!differs(m, one), seed, "a copy differs");
  expect(glow_reduce(&one, judge, &watch, NULL) == GLOW_REDUCED, seed, "not reduced");
  expect(glow_reduce_tests(&more, &several, NULL) == GLOW_REDUCED, seed, "not reduced by several");
  expect(!watch.misused, seed, "slots");
  expect(glow_module_verify(one) && count_op(one, op), seed, "the result is not interesting");
  uint32_t nodes = glow_module_size(one).nodes;
  expect(nodes <= MOST_NODES, seed, glow_str_printf(m->ctx, "%u nodes are left", nodes));
  expect(!differs(one, more), seed, "several tests at once give another result");
  expect(nodes == glow_module_size(m).nodes || differs(m, one), seed, "nothing differs");
}

/* Not every module has a form as a program. */
static bool to_programs(GlowModule *m) {
  GlowRunnerOptions options = {0};
  GlowPipeline *p = glow_pipeline_parse(m->ctx, &glow_passes,
                                        GLOW_INLINE_ALL ",O0,irgen,fuse-epilogue,plan-memory");
  return p && glow_pipeline_run(m, p, &options) == GLOW_OK && glow_module_size(m).nodes > 0;
}

static void body(GlowContext *ctx, void *arg) {
  uint64_t seed = *(const uint64_t *)arg;
  GlowChoice choice = glow_choice_seed(seed);
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &t);
  GlowModule *m = glow_random_module(ctx, &choice, &t);
  GlowOp op = m ? draw_op(m, seed) : GLOW_OP_COUNT;
  if (op != GLOW_OP_COUNT) {
    modules++;
    reduce(m, op, seed);
  }
  if (m && to_programs(m)) {
    programs++;
    reduce(m, draw_op(m, seed), seed);
  }
  glow_defer_pop(ctx, &release, true);
}

int main(int argc, char **argv) {
  uint64_t seeds = 60, first = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--seeds") == 0)
      seeds = strtoull(argv[i + 1], NULL, 10);
    else if (strcmp(argv[i], "--seed") == 0) {
      first = strtoull(argv[i + 1], NULL, 10);
      seeds = 1;
    }
  }
  for (uint64_t seed = first; seed < first + seeds; seed++) {
    GlowContext *ctx = glow_context_create();
    if (!ctx)
      return 1;
    ctx->error_limit = 0; /* what is refused while trying counts as errors */
    if (seeds > 1)
      glow_context_set_diagnostic_fn(ctx, ignore, NULL);
    expect(glow_protect(ctx, body, &seed) == GLOW_OK, seed, "stopped");
    glow_context_destroy(ctx);
  }
  printf("%u graphs, %u programs\n%u passed, %u failed\n", modules, programs, passed, failed);
  return failed || !modules || (seeds > 10 && !programs);
}
