/* See corpus.h. */
#include "test/corpus/corpus.h"
#include "test/swaps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/backends.h"
#include "driver/session.h"
#include "test/corpus/open.h"
#include "test/passes/each_pass.h"

typedef struct CaseRun {
  GlowCase *c;
  GlowContext *ctx;
  GlowSession session;
  GlowVerdict verdict;
} CaseRun;

/* "codegen: 'gather' runs as its reference kernel: ..." or "... is a step of the interpreter". */
static void count_reference(GlowCase *c, const char *remark) {
  static const char who[] = "codegen: ";
  remark += strncmp(remark, who, sizeof who - 1) == 0 ? sizeof who - 1 : 0;
  c->steps += strstr(remark, "is a step of the interpreter") != NULL;
  const char *end = remark[0] == '\'' ? strchr(remark + 1, '\'') : NULL;
  GlowOp op = end ? glow_op_from_instr_name(remark + 1, (size_t)(end - remark - 1)) : GLOW_OP_COUNT;
  if (op != GLOW_OP_COUNT && strstr(end, "runs as its reference kernel"))
    c->references[op]++;
  if (op != GLOW_OP_COUNT && strstr(end, "is a step of the interpreter"))
    c->stepped[op]++;
}

static void remember_error(void *user, const GlowDiagnostic *d) {
  GlowCase *c = user;
  if (d->severity == GLOW_REMARK)
    count_reference(c, d->message);
  if (d->severity == GLOW_ERROR && !c->error[0])
    snprintf(c->error, sizeof c->error, "%s", d->message);
}

/* The corpus was made with a cast to bfloat16 that truncates, where its definition rounds: one
 * unit, which for 8 bits is more than the usual tolerance. */
static double tolerance(const GlowTensor *want) {
  bool coarse = glow_type_is_tensor(want->type) && want->type->kind == GLOW_KIND_BFLOAT16;
  return coarse ? 0x1p-7 : 1e-3;
}

/* NULL if output i is as expected, else what is wrong. */
static const char *judge_output(const CaseRun *run, GlowStr name, uint32_t i,
                                const GlowBindings *outputs) {
  GlowContext *ctx = run->ctx;
  const GlowSession *s = &run->session;
  const char *path =
      glow_arena_printf(ctx->arena, "%s/test_data_set_0/output_%u.pb", run->c->dir, i);
  const GlowTensor *got = glow_bindings_find(outputs, name);
  if (!got)
    return glow_str_printf(ctx, "output %s is missing", name);
  GlowTensor *want =
      glow_session_read((GlowSession *)(uintptr_t)s, path, glow_session_output_type(s, name), NULL);
  if (!want)
    return "an expected output cannot be read";
  GlowCompare c = glow_tensor_compare(ctx, got, want, tolerance(want), 1e-7);
  bool good = c.ok || (run->c->shape_only && got->type == want->type);
  glow_tensor_free(want);
  return good ? NULL
              : glow_str_printf(ctx, "output %s differs: %s", name,
                                c.mismatch ? c.mismatch : "values");
}

static const char *judge_outputs(const CaseRun *run, const GlowBindings *outputs) {
  GlowNameList names = {0};
  glow_session_names(&run->session, true, &names);
  const char *wrong = names.count ? NULL : "the model has no output";
  for (uint32_t i = 0; i < names.count && !wrong; i++)
    wrong = judge_output(run, names.data[i], i, outputs);
  return wrong;
}

static GlowStatus add_inputs(CaseRun *run) {
  GlowNameList names = {0};
  glow_session_names(&run->session, false, &names);
  for (uint32_t i = 0; i < names.count; i++) {
    const char *path =
        glow_arena_printf(run->ctx->arena, "%s/test_data_set_0/input_%u.pb", run->c->dir, i);
    struct stat st;
    if (stat(path, &st)) /* the remaining ones are variables or have an initializer */
      break;
    const char *spec = glow_arena_printf(run->ctx->arena, "%s=%s", names.data[i], path);
    GlowStatus status = glow_session_add_input(&run->session, spec, NULL);
    if (status != GLOW_OK)
      return status;
  }
  return GLOW_OK;
}

/* ---- Passes ---------------------------------------------------------------------------------- */

static const char *judge_bounded(void *user, const GlowBindings *before,
                                 const GlowBindings *after) {
  (void)before;
  return judge_outputs(user, after);
}

static void report(void *user, const GlowPass *pass, bool alone, bool exact, uint64_t rewrites,
                   const char *wrong) {
  GlowCase *c = ((CaseRun *)user)->c;
  (void)rewrites;
  if (wrong)
    printf("FAILED %s: %s%s%s: %s%s%s\n", c->name,
           alone   ? ""
           : exact ? "-O2 -exact"
                   : "-O2",
           alone || !pass ? "" : " without ", pass ? pass->name : "", wrong,
           c->error[0] ? ": " : "", c->error);
  c->error[0] = 0;
}

static bool try_passes(CaseRun *run) {
  GlowEachPass each = {.module = run->session.module,
                       .entry = run->session.entry->name,
                       .inputs = &run->session.inputs,
                       .judge = judge_bounded,
                       .report = report,
                       .user = run};
  bool ran = glow_each_pass(run->ctx, &each);
  run->c->pipelines = each.judged;
  if (each.failed)
    snprintf(run->c->error, sizeof run->c->error, "%u of %u pipelines", each.failed, each.judged);
  return ran && !each.failed;
}

/* ---- Another backend --------------------------------------------------------------------------
 */

/* NULL if every output has the bits of `want`. */
static const char *compare_bits(GlowContext *ctx, const GlowBindings *want,
                                const GlowBindings *got) {
  for (uint32_t i = 0; i < want->count; i++) {
    const GlowTensor *t = glow_bindings_find(got, want->data[i].name);
    if (!t || !glow_tensor_same_bits(want->data[i].tensor, t))
      return glow_str_printf(ctx, "output %s is not the interpreter's", want->data[i].name);
  }
  return NULL;
}

/* A GlowBackendFn that compiles and then runs with random swaps of compiled and library code. */
static GlowStatus run_swapping(GlowFunction *f, const GlowBindings *inputs, GlowBindings *outputs,
                               const GlowRunOptions *options) {
  const GlowBackend *cpu = glow_backend_find(f->module->ctx, &glow_backends, "cpu");
  GlowRunnable *r = glow_backend_prepare(cpu, f, inputs, options);
  if (!r)
    return GLOW_BAD_INPUT;
  GlowDefer defer;
  glow_defer_push(f->module->ctx, &defer, glow_runnable_destroy_fn, r);
  if (r->execution->entry->program)
    glow_swap_begin(r->execution, strlen(f->name));
  GlowStatus status = glow_runnable_run(r);
  if (status == GLOW_OK)
    glow_runnable_take(r, outputs);
  if (status == GLOW_OK && options->values)
    glow_values_take_state(options->values, r->state);
  glow_defer_pop(f->module->ctx, &defer, true);
  return status;
}

/* One run on the backend; `parallel` may be NULL. Leaves its outputs in the session. NULL if they
 * are right. */
static const char *run_on(CaseRun *run, const GlowBackend *backend,
                          const struct GlowParallel *parallel, const GlowBindings *want) {
  GlowCase *c = run->c;
  GlowSession *s = &run->session;
  GlowRunOptions options = {.tier = c->tier, .parallel = parallel};
  run->ctx->remarks = parallel == c->parallel; /* once is enough */
  bool swap = parallel && c->tier == GLOW_TIER_COMPILED;
  GlowStatus status = glow_session_run(s, swap ? run_swapping : backend->run, &options);
  run->ctx->remarks = false;
  if (status != GLOW_OK && strstr(c->error, "cannot be compiled"))
    run->verdict = GLOW_REFUSED;
  const char *wrong = status != GLOW_OK ? "it did not run"
                      : c->shape_only   ? NULL
                                        : compare_bits(run->ctx, want, &s->outputs);
  return wrong ? wrong : judge_outputs(run, &s->outputs);
}

/* Runs the program on the backend, on one thread and on those of the case, there with random swaps
 * of compiled and library code: the same bits, and what
 * is expected. Variables, such as the state of random numbers, keep what the run before left in
 * them, so what depends on them is not compared. */
static bool run_backend(CaseRun *run) {
  GlowCase *c = run->c;
  GlowSession *s = &run->session;
  const GlowBackend *backend = glow_backend_find(run->ctx, &glow_backends, c->backend);
  if (!backend)
    return false;
  GlowBindings want = s->outputs;
  s->outputs = (GlowBindings){0};
  const char *wrong = run_on(run, backend, NULL, &want);
  if (!wrong && c->parallel)
    wrong = run_on(run, backend, c->parallel, &want);
  for (uint32_t i = 0; i < want.count; i++)
    glow_tensor_free(want.data[i].tensor);
  if (wrong && !c->error[0])
    snprintf(c->error, sizeof c->error, "%s", wrong);
  return !wrong;
}

/* Compiles the program, before a run changes its variables. False if there is no bundle of it, but
 * for extents that are known only when it runs. */
static bool make_bundle(CaseRun *run, GlowTrial **trial) {
#if GLOW_HAVE_CPU_BACKEND
  GlowCase *c = run->c;
  if (!c->bundles)
    return true;
  *trial = glow_bundles_compile(c->bundles, &run->session, c->name);
  c->hosted = !*trial && strstr(c->error, "extents are known only when it runs");
  if (c->hosted)
    c->error[0] = 0;
  else if (!*trial && (strstr(c->error, "cannot be compiled") || strstr(c->error, "is a graph")))
    run->verdict = GLOW_REFUSED;
  return *trial || c->hosted;
#else
  (void)run;
  (void)trial;
  return true;
#endif
}

/* Leaves the bundle to its group if the interpreter's run was right. */
static void keep_bundle(CaseRun *run, GlowTrial *trial, bool right) {
#if GLOW_HAVE_CPU_BACKEND
  if (trial && right)
    glow_bundles_expect(run->c->bundles, trial, &run->session.outputs);
  else
    glow_trial_destroy(trial);
#else
  (void)run;
  (void)trial;
  (void)right;
#endif
}

/* ---- The case -------------------------------------------------------------------------------- */

static bool is_not_wanted(GlowNode *n, void *wanted) { return !((const bool *)wanted)[n->op]; }

/* Whether the module has a wanted operator, as nodes or as instructions. */
static bool is_wanted(const CaseRun *run) {
  bool found = !run->c->wanted;
  for (GlowFunction *f = run->session.module->first_function; f && !found; f = f->next)
    found = f->body && !glow_block_walk(f->body, is_not_wanted, (void *)(uintptr_t)run->c->wanted);
  return found;
}

static bool run_loaded(CaseRun *run) {
  GlowCase *c = run->c;
  GlowSession *s = &run->session;
  GlowRunOptions options = {.primitives = c->primitives};
  if (add_inputs(run) != GLOW_OK || glow_session_bind(s) != GLOW_OK)
    return false;
  bool wanted = is_wanted(run); /* before optimizations remove what is wanted, or after */
  if (c->passes && wanted && !try_passes(run))
    return false;
  if ((c->primitives && glow_session_lower_all(s) != GLOW_OK) ||
      glow_session_optimize(s, c->level, GLOW_MATH_BOUNDED) != GLOW_OK) {
    run->verdict = c->backend || c->bundles ? GLOW_REFUSED : GLOW_FAILED;
    return false;
  }
  if (!wanted && !is_wanted(run)) {
    run->verdict = GLOW_LEFT_OUT;
    return false;
  }
  GlowTrial *trial = NULL;
  if (!make_bundle(run, &trial))
    return false;
  GlowStatus status = glow_session_run(s, NULL, &options);
  const char *wrong = status == GLOW_OK ? judge_outputs(run, &s->outputs) : "it did not run";
  keep_bundle(run, trial, !wrong);
  if (wrong && !c->error[0])
    snprintf(c->error, sizeof c->error, "%s", wrong);
  return !wrong && (!c->backend || run_backend(run));
}

/* ---- Open extents ---------------------------------------------------------------------------- */

/* A case in one form: with the extents of its inputs, or with symbols for some of them. */
typedef struct Form {
  GlowCase *c;
  GlowContext *ctx; /* owned */
  unsigned opening; /* GLOW_OPENINGS: none */
  GlowSession session;
  bool ran;
} Form;

static void run_form(GlowContext *ctx, void *arg) {
  Form *form = arg;
  GlowCase *c = form->c;
  GlowSession *s = &form->session;
  CaseRun run = {.c = c, .ctx = ctx};
  bool bound = form->opening == GLOW_OPENINGS;
  GlowLoadOptions load = {0};
  const char *model = glow_arena_printf(ctx->arena, "%s/model.onnx", c->dir);
  if (glow_session_load(&run.session, ctx, model, &load) != GLOW_OK)
    return;
  bool ready = add_inputs(&run) == GLOW_OK && glow_session_bind(&run.session) == GLOW_OK &&
               (bound || (c->opened = glow_open_inputs(&run.session, form->opening)) > 0) &&
               glow_session_optimize(&run.session, 2, GLOW_MATH_EXACT) == GLOW_OK;
  *s = run.session;
  if (!ready)
    return;
  GlowRunOptions options = {.tier = GLOW_TIER_LIBRARY};
  const GlowBackend *cpu = glow_backend_find(ctx, &glow_backends, "cpu");
  ctx->remarks = !bound;
  form->ran = cpu && glow_session_run(s, bound ? NULL : cpu->run, &options) == GLOW_OK;
}

/* The first output of `want` that `got` has otherwise, or NULL. They are of two contexts, so types
 * are compared as text. */
static const char *find_other(const GlowBindings *want, const Form *got) {
  GlowContext *ctx = got->ctx;
  for (uint32_t i = 0; i < want->count; i++) {
    const GlowTensor *a = want->data[i].tensor;
    const GlowTensor *b =
        glow_bindings_find(&got->session.outputs, glow_str(ctx, want->data[i].name));
    if (!b || strcmp(glow_type_str(ctx, a->type), glow_type_str(ctx, b->type)) ||
        a->bytes != b->bytes || memcmp(a->data, b->data, a->bytes))
      return want->data[i].name;
  }
  return NULL;
}

/* Runs the case in a form. */
static void begin_form(Form *form) {
  form->ctx = glow_context_create();
  if (!form->ctx)
    exit(1);
  form->c->error[0] = 0;
  form->c->steps = 0;
  form->ctx->error_limit = 0;
  glow_context_set_diagnostic_fn(form->ctx, remember_error, form->c);
  if (glow_protect(form->ctx, run_form, form) != GLOW_OK)
    form->ran = false;
}

static void end_form(Form *form) {
  glow_session_close(&form->session);
  glow_context_destroy(form->ctx);
}

/* Opens the case in the first way that is possible. */
static GlowVerdict run_open(GlowCase *c) {
  Form bound = {.c = c, .opening = GLOW_OPENINGS};
  GlowVerdict verdict = GLOW_REFUSED;
  begin_form(&bound);
  for (unsigned k = 0; bound.ran && k < GLOW_OPENINGS && verdict == GLOW_REFUSED; k++) {
    Form open = {.c = c, .opening = k};
    begin_form(&open);
    const char *other =
        open.ran && !c->shape_only ? find_other(&bound.session.outputs, &open) : NULL;
    if (open.ran)
      verdict = other ? GLOW_FAILED : GLOW_PASSED;
    if (other)
      snprintf(c->error, sizeof c->error, "output %s has other bits (opening %u)", other, k);
    end_form(&open);
  }
  if (verdict == GLOW_REFUSED && !c->error[0])
    snprintf(c->error, sizeof c->error, "no input has an extent above 1");
  end_form(&bound);
  return verdict;
}

/* ---------------------------------------------------------------------------------------------- */

static void run_case(GlowContext *ctx, void *arg) {
  CaseRun *run = arg;
  run->ctx = ctx;
  GlowLoadOptions load = {0};
  const char *model = glow_arena_printf(ctx->arena, "%s/model.onnx", run->c->dir);
  if (glow_session_load(&run->session, ctx, model, &load) != GLOW_OK) {
    run->verdict = strstr(run->c->error, "unsupported") ? GLOW_UNSUPPORTED : GLOW_FAILED;
    return;
  }
  GlowDefer defer;
  glow_defer_push(ctx, &defer, glow_session_close_fn, &run->session);
  if (run_loaded(run))
    run->verdict = GLOW_PASSED;
  glow_defer_pop(ctx, &defer, true);
}

GlowVerdict glow_case_run(GlowCase *c) {
  if (c->open)
    return run_open(c);
  CaseRun run = {.c = c, .verdict = GLOW_FAILED};
  GlowContext *ctx = glow_context_create();
  if (!ctx)
    exit(1);
  c->error[0] = 0;
  ctx->error_limit = 0;
  glow_context_set_diagnostic_fn(ctx, remember_error, c);
  if (glow_protect(ctx, run_case, &run) != GLOW_OK)
    run.verdict = GLOW_FAILED;
  glow_context_destroy(ctx);
  return run.verdict;
}
