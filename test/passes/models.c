/* Every pass alone, and every pass left out of -O2, on one model.
 *
 *   glow-each-pass [--tolerance R] MODEL [NAME=FILE]...
 *
 * Prints a line for each pipeline that changed the module: `alone` or `without`, the pass (or -O2,
 * with -exact), how many rewrites it made, and `same bits` or the greatest difference as a fraction
 * of the output's greatest value, which for pipelines with bounded passes may be up to R (1e-3).
 * Exit status 1 if one is wrong, 3 if the model cannot be loaded or does not run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/session.h"
#include "test/passes/each_pass.h"

typedef struct Tester {
  const char *model;
  char **inputs;
  int ninputs;
  double tolerance, error; /* of the pipeline at hand */
  GlowContext *ctx;
  unsigned judged, failed;
  bool ran;
} Tester;

static double greatest(const GlowTensor *t) {
  double most = 0;
  for (int64_t i = 0; i < glow_tensor_elements(t); i++) {
    double v = fabs(glow_tensor_get(t, i).f);
    most = v > most && isfinite(v) ? v : most;
  }
  return most;
}

static const char *judge_bounded(void *user, const GlowBindings *before,
                                 const GlowBindings *after) {
  Tester *t = user;
  for (uint32_t i = 0; i < before->count; i++) {
    const GlowBinding *b = &before->data[i];
    const GlowTensor *got = glow_bindings_find(after, b->name), *want = b->tensor;
    if (!got)
      return glow_str_printf(t->ctx, "output %s is missing", b->name);
    if (!glow_type_is_tensor(want->type) || !glow_kind_is_float(want->type->kind)) {
      if (!glow_tensor_same_bits(got, want))
        return glow_str_printf(t->ctx, "output %s differs", b->name);
      continue;
    }
    double scale = greatest(want);
    GlowCompare c = glow_tensor_compare(t->ctx, got, want, 0, t->tolerance * scale);
    if (c.mismatch)
      return c.mismatch;
    t->error = fmax(t->error, scale > 0 ? c.max_abs / scale : 0);
    if (!c.ok)
      return glow_str_printf(t->ctx, "output %s differs by %.2g of its greatest value", b->name,
                             scale > 0 ? c.max_abs / scale : INFINITY);
  }
  return NULL;
}

static void report(void *user, const GlowPass *pass, bool alone, bool exact, uint64_t rewrites,
                   const char *wrong) {
  Tester *t = user;
  printf("%s%s%s%s %llu ", wrong ? "FAILED " : "",
         alone  ? "alone "
         : pass ? "without "
                : "",
         pass    ? pass->name
         : exact ? "-O2-exact"
                 : "-O2",
         !alone && pass && !exact ? " bounded" : "", (unsigned long long)rewrites);
  if (wrong)
    printf("%s\n", wrong);
  else if (exact)
    printf("same bits\n");
  else
    printf("%.1e\n", t->error);
  t->error = 0;
}

static bool load(Tester *t, GlowSession *s) {
  for (int i = 0; i < t->ninputs; i++)
    if (glow_session_add_input(s, t->inputs[i], NULL) != GLOW_OK)
      return false;
  return glow_session_bind(s) == GLOW_OK;
}

static void run(GlowContext *ctx, void *arg) {
  Tester *t = arg;
  GlowSession s;
  GlowLoadOptions options = {0};
  t->ctx = ctx;
  if (glow_session_load(&s, ctx, t->model, &options) != GLOW_OK)
    return;
  GlowDefer defer;
  glow_defer_push(ctx, &defer, glow_session_close_fn, &s);
  if (load(t, &s)) {
    GlowEachPass each = {.module = s.module,
                         .entry = s.entry->name,
                         .inputs = &s.inputs,
                         .judge = judge_bounded,
                         .report = report,
                         .user = t};
    t->ran = glow_each_pass(ctx, &each);
    t->judged = each.judged;
    t->failed = each.failed;
  }
  glow_defer_pop(ctx, &defer, true);
}

static void print_error(void *user, const GlowDiagnostic *d) {
  (void)user;
  if (d->severity == GLOW_ERROR)
    fprintf(stderr, "%s\n", d->message);
}

int main(int argc, char **argv) {
  Tester t = {.tolerance = 1e-3};
  if (argc > 2 && !strcmp(argv[1], "--tolerance")) {
    t.tolerance = strtod(argv[2], NULL);
    argc -= 2;
    argv += 2;
  }
  if (argc < 2) {
    fprintf(stderr, "usage: glow-each-pass [--tolerance R] MODEL [NAME=FILE]...\n");
    return 2;
  }
  t.model = argv[1];
  t.inputs = argv + 2;
  t.ninputs = argc - 2;
  GlowContext *ctx = glow_context_create();
  if (!ctx)
    return 3;
  ctx->error_limit = 0;
  glow_context_set_diagnostic_fn(ctx, print_error, NULL);
  GlowStatus status = glow_protect(ctx, run, &t);
  glow_context_destroy(ctx);
  if (status != GLOW_OK || !t.ran)
    return 3;
  printf("%u passed, %u failed\n", t.judged - t.failed, t.failed);
  return t.failed || !t.judged;
}
