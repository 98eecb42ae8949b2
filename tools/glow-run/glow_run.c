/* glow-run: runs a model from any stage on inputs from files, as machine code or by the interpreter. */
#include "tools/glow-run/glow_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backends.h"
#include "support/process.h"
#ifdef GLOW_HAVE_CPU_BACKEND
#include "backend/cpu/plugin.h"
#endif

/* A line on a terminal for runs over two seconds. */
typedef struct Progress {
  double start;
  bool shown;
} Progress;

static double lap(double *since) {
  double now = glow_clock(), passed = now - *since;
  *since = now;
  return passed;
}

static void show_progress(void *user, uint64_t done, uint64_t total) {
  Progress *p = user;
  if (!total || glow_clock() - p->start < 2)
    return;
  fprintf(stderr, "\rrunning: %3llu %%", (unsigned long long)(done * 100 / total));
  p->shown = true;
}

/* Compiles the entry and runs it. */
static GlowStatus run_entry(GlowRun *run) {
  const GlowRunCommand *c = run->command;
  GlowSession *s = run->session;
  double since = glow_clock();
  GlowRunnable *r = glow_backend_prepare(run->backend, s->entry, &s->inputs, &run->options);
  if (!r)
    return GLOW_BAD_INPUT;
  GlowDefer defer;
  glow_defer_push(s->ctx, &defer, glow_runnable_destroy_fn, r);
  run->times.compile = lap(&since);
  GlowStatus status = run->options.profile ? glow_run_profile(s, r, c)
                                           : glow_model_run_steps(s, r, c->steps ? c->steps : 1);
  run->times.run = lap(&since);
  if (status == GLOW_OK)
    glow_values_take_state(run->options.values, r->state);
  if (c->verbose)
    glow_run_tell(run, r);
  glow_defer_pop(s->ctx, &defer, true);
  return status;
}

static GlowStatus run(GlowSession *s, const GlowRunCommand *c, double import) {
  const GlowBackend *backend = glow_model_backend(s->ctx, &glow_backends, &c->model);
  if (!backend)
    return GLOW_BAD_USAGE;
  GlowRun run = {.command = c, .session = s, .backend = backend, .times.import = import};
  double since = glow_clock();
  GlowStatus status = glow_model_optimize(s, &c->model, backend, c->primitives);
  if (status != GLOW_OK)
    return status;
  run.times.passes = lap(&since);
  Progress progress = {.start = since};
  GlowPool *pool = glow_pool_make(s->ctx, (int)c->model.threads);
  GlowDefer defer;
  glow_defer_push(s->ctx, &defer, glow_pool_destroy_fn, pool);
  run.options = glow_model_run_options(s->ctx, &c->model, backend, pool);
  run.options.primitives = c->primitives || backend->primitives;
  run.options.debug = c->debug;
  run.options.profile = c->profile || c->trace;
  run.options.values = glow_session_values(s);
  run.options.written = s->written;
  if (isatty(2)) {
    run.options.progress = show_progress;
    run.options.progress_user = &progress;
  }
  status = run_entry(&run);
  glow_defer_pop(s->ctx, &defer, true);
  if (progress.shown)
    fprintf(stderr, "\r               \r");
  return status;
}

static GlowStatus use_outputs(GlowSession *s, const GlowRunCommand *c) {
  GlowStatus status = GLOW_OK, expected = GLOW_OK;
  if (c->save_state)
    status = glow_session_write_state(s, c->save_state);
  if (status == GLOW_OK && c->output_dir)
    status = glow_session_write_outputs(s, c->output_dir);
  if (c->expects.count)
    expected = glow_run_expect(s, c);
  if (c->test_data && expected == GLOW_OK)
    expected = glow_run_check_test_outputs(s, c);
  bool classes = c->softmax || c->labels || c->top_k;
  if (status == GLOW_OK && classes)
    status = glow_run_classes(s, c);
  if (status == GLOW_OK && !c->output_dir && !c->expects.count && !c->test_data && !classes)
    status = glow_run_print(s);
  return status == GLOW_OK ? expected : status;
}

static GlowStatus run_model(GlowContext *ctx, const GlowRunCommand *c, const char *path) {
  GlowSession s = {0};
  GlowDefer defer;
  glow_defer_push(ctx, &defer, glow_session_close_fn, &s); /* it owns inputs, also after a throw */
  double since = glow_clock();
  GlowStatus status = glow_model_load(&s, ctx, path, &c->model);
  for (uint32_t i = 0; i < c->inputs.count && status == GLOW_OK; i++)
    status = glow_session_add_input(&s, c->inputs.data[i], &c->image);
  if (status == GLOW_OK && c->state)
    status = glow_session_read_state(&s, c->state);
  if (status == GLOW_OK && c->test_data)
    status = glow_run_add_test_inputs(&s, c->test_data);
  if (status == GLOW_OK)
    status = glow_session_bind(&s);
  if (status == GLOW_OK)
    status = run(&s, c, lap(&since));
  if (status == GLOW_OK)
    status = use_outputs(&s, c);
  glow_defer_pop(ctx, &defer, true);
  return status;
}

#ifdef GLOW_HAVE_CPU_BACKEND
static const char *llvm_version(GlowContext *ctx) {
  const GlowCodegenPlugin *codegen = glow_codegen_open(ctx);
  return codegen ? codegen->llvm_version(ctx) : NULL;
}
#endif

/* What --version says beyond the version. */
static void describe_machine(GlowContext *ctx, GlowCommand *command) {
  command->targets = "interp";
#ifdef GLOW_HAVE_CPU_BACKEND
  const GlowIsa *host = glow_isa_host();
  command->llvm = llvm_version;
  command->host = host ? host->name : "no machine that cpu compiles for";
  command->targets = "interp, cpu for";
  for (int i = 0; i < GLOW_ISA_COUNT; i++)
    command->targets = glow_str_printf(ctx, "%s %s", command->targets, glow_isa[i].name);
#else
  (void)ctx;
#endif
}

static GlowStatus body(GlowContext *ctx, int argc, char **argv) {
  GlowRunCommand c = {.model = GLOW_MODEL_DEFAULTS(GLOW_DEFAULT_BACKEND, GLOW_TIER_AUTO),
                      .verdict = {.accuracy = -1, .agreement = -1, .cosine = -2},
                      .rtol = 1e-3,
                      .atol = 1e-7,
                      .error_limit = 20};
  /* clang-format off */
  const GlowOption options[] = {
      GLOW_OPTION_HEADING("Inputs and outputs"),
      {.name = "input", .value = "[NAME=]SOURCE",
       .help = "an input or variable: .npy, .pb, PNG, JPEG, PNM or raw bytes; splat:V; random:SEED",
       .kind = GLOW_OPT_REPEAT, .target = &c.inputs, .two_dashes = true},
      {.name = "state", .value = "FILE",
       .help = "take values of variables from a safetensors file",
       .kind = GLOW_OPT_STRING, .target = &c.state, .two_dashes = true},
      {.name = "save-state", .value = "FILE",
       .help = "write the variables as they are after the last run",
       .kind = GLOW_OPT_STRING, .target = &c.save_state, .two_dashes = true},
      {.name = "steps", .value = "N",
       .help = "run N times; variables keep their values from run to run (1)",
       .kind = GLOW_OPT_INT, .target = &c.steps, .min = 1, .max = 1000000000, .two_dashes = true},
      {.name = "output-dir", .value = "DIR",
       .help = "write each output to DIR/NAME.npy, or .pb for what .npy cannot hold",
       .kind = GLOW_OPT_STRING, .target = &c.output_dir, .two_dashes = true},
      {.name = "softmax", .help = "turn the first output into probabilities before --top-k",
       .kind = GLOW_OPT_FLAG, .target = &c.softmax, .two_dashes = true},
      {.name = "labels", .value = "FILE", .help = "names of the classes, one per line",
       .kind = GLOW_OPT_STRING, .target = &c.labels, .two_dashes = true},
      {.name = "top-k", .value = "N", .help = "print the N best classes of the first output",
       .kind = GLOW_OPT_INT, .target = &c.top_k, .min = 1, .max = 1000000, .two_dashes = true},
      {.name = "error-limit", .value = "N", .help = "stop after N errors (20; 0: never)",
       .kind = GLOW_OPT_INT, .target = &c.error_limit, .max = 1000000},
      GLOW_OPTION_HEADING("Comparing with references"),
      {.name = "expect", .value = "[NAME=]FILE",
       .help = "compare an output with a reference; exit status 1 if it differs",
       .kind = GLOW_OPT_REPEAT, .target = &c.expects, .two_dashes = true},
      {.name = "test-data", .value = "DIR",
       .help = "take inputs from DIR/input_N.pb and compare with DIR/output_N.pb",
       .kind = GLOW_OPT_STRING, .target = &c.test_data, .two_dashes = true},
      {.name = "rtol", .value = "X",
       .help = "relative tolerance of --expect and --test-data (0.001)", .kind = GLOW_OPT_DOUBLE,
       .target = &c.rtol, .two_dashes = true},
      {.name = "atol", .value = "X",
       .help = "absolute tolerance of --expect and --test-data (1e-7)", .kind = GLOW_OPT_DOUBLE,
       .target = &c.atol, .two_dashes = true},
      GLOW_OPTION_HEADING("Runs on samples"),
      {.name = "each", .value = "NAME=SOURCE",
       .help = "run on each sample: of a pattern for files, of FILE.npy, of @LIST, or as glow-train --data takes it",
       .kind = GLOW_OPT_REPEAT, .target = &c.each, .two_dashes = true},
      {.name = "ranges", .value = "FILE",
       .help = "write what the values of the graph were, for -quantize; implies -exact",
       .kind = GLOW_OPT_STRING, .target = &c.ranges, .two_dashes = true},
      {.name = "ranges-channels", .help = "with --ranges: the ends of each channel of what contractions read, too",
       .kind = GLOW_OPT_FLAG, .target = &c.ranges_channels, .two_dashes = true},
      {.name = "truth", .value = "FILE", .help = "count how often the first output is right: a label for each sample",
       .kind = GLOW_OPT_STRING, .target = &c.truth, .two_dashes = true},
      {.name = "against", .value = "MODEL", .help = "compare the outputs with those of another model on the same samples",
       .kind = GLOW_OPT_STRING, .target = &c.against, .two_dashes = true},
      {.name = "min-accuracy", .value = "X", .help = "exit status 1 if a smaller share of the labels is right",
       .kind = GLOW_OPT_DOUBLE, .target = &c.verdict.accuracy, .two_dashes = true},
      {.name = "min-agreement", .value = "X", .help = "exit status 1 if the models agree on a smaller share of the samples",
       .kind = GLOW_OPT_DOUBLE, .target = &c.verdict.agreement, .two_dashes = true},
      {.name = "min-cosine", .value = "X", .help = "exit status 1 if a sample's output has a smaller cosine with that of the other model",
       .kind = GLOW_OPT_DOUBLE, .target = &c.verdict.cosine, .two_dashes = true},
      GLOW_OPTION_HEADING("How it runs"),
      {.name = "backend", .value = "NAME",
       .help = "cpu (the default where it is built): machine code, implies -O2; or interp", .kind = GLOW_OPT_STRING,
       .target = &c.model.backend, .two_dashes = true},
      GLOW_MODEL_OPTIONS(c.model),
      {.name = "verbose", .help = "say on stderr what ran, and what each stage took",
       .kind = GLOW_OPT_FLAG, .target = &c.verbose, .two_dashes = true},
      {.name = "profile", .help = "print where the time goes, by node and by kernel",
       .kind = GLOW_OPT_FLAG, .target = &c.profile, .two_dashes = true},
      {.name = "trace", .value = "FILE", .help = "write the same in Chrome's trace format",
       .kind = GLOW_OPT_STRING, .target = &c.trace, .two_dashes = true},
      {.name = "g", .help = "give compiled code the lines of the text, for gdb and perf; implies --tier=compiled",
       .kind = GLOW_OPT_FLAG, .target = &c.debug},
      {.name = "primitives",
       .help = "first lower to primitives (-lower=all), and run nothing else",
       .kind = GLOW_OPT_FLAG, .target = &c.primitives, .two_dashes = true},
      GLOW_OPTION_HEADING("Pictures as inputs"),
      GLOW_IMAGE_OPTIONS(c.pictures),
  };
  /* clang-format on */
  GlowCommand command = {.name = "glow-run",
                         .overview = "run a model from any stage: .onnx, .gg, .gir or an executable",
                         .usage = "[options] MODEL",
                         .options = options,
                         .noptions = sizeof options / sizeof *options,
                         .user = &c,
                         .min_positional = 1,
                         .max_positional = 1};
  describe_machine(ctx, &command);
  GlowStrList positional = {0};
  bool exit_now;
  GlowStatus status = glow_cmdline_parse(ctx, &command, argc, argv, &positional, &exit_now);
  if (status != GLOW_OK || exit_now)
    return status;
  ctx->error_limit = (unsigned)c.error_limit;
  if (c.debug) /* the library has no lines */
    c.model.default_tier = GLOW_TIER_COMPILED;
  if (!(c.rtol >= 0 && c.atol >= 0)) {
    glow_error(ctx, GLOW_NOWHERE, "--rtol and --atol must not be negative");
    return GLOW_BAD_USAGE;
  }
  if (!glow_image_flags_read(ctx, &c.pictures, &c.image))
    return GLOW_BAD_USAGE;
  if (!glow_run_check_each(ctx, &c) || !glow_remarks_begin(ctx, &c.model.remarks))
    return GLOW_BAD_USAGE;
  const char *path = positional.data[0];
  return glow_remarks_end(ctx, c.each.count ? glow_run_each(ctx, &c, path)
                                            : run_model(ctx, &c, path));
}

int main(int argc, char **argv) { return glow_tool_main("glow-run", argc, argv, body); }
