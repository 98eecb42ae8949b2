/* glow-bench: how fast models run. Each is compiled once and run many times on the same buffers. */
#include "tools/glow-bench/glow_bench.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/cost.h"
#include "backend/backends.h"
#include "support/file.h"
#include "support/process.h"

enum { MOST_MODELS = 64 };

/* Seconds since *since, which becomes now. */
static double lap(double *since) {
  double now = glow_clock(), passed = now - *since;
  *since = now;
  return passed;
}

static GlowStatus prepare_inputs(GlowSession *s, const GlowBenchCommand *c, const char *input) {
  GlowStatus status = c->batch ? glow_session_bind_batch(s, c->batch) : GLOW_OK;
  for (uint32_t i = 0; i < c->inputs.count && status == GLOW_OK; i++)
    status = glow_session_add_input(s, c->inputs.data[i], NULL);
  if (status == GLOW_OK && input)
    status = glow_session_add_input(s, input, NULL);
  if (status == GLOW_OK)
    status = glow_session_bind(s);
  return status == GLOW_OK ? glow_session_fill_inputs(s) : status;
}

/* Compiles, and runs once. */
static GlowStatus start(GlowBench *b, const GlowRunOptions *run) {
  const GlowBenchCommand *c = b->command;
  GlowSession *s = &b->session;
  double since = glow_clock();
  GlowStatus status = glow_model_optimize(s, &c->model, b->backend, false);
  if (status != GLOW_OK)
    return status;
  b->macs = glow_function_cost(s->entry).macs; /* extents may be open before */
  b->optimize = lap(&since);
  GlowRunOptions o = *run;
  o.values = glow_session_values(s);
  o.written = s->written;
  b->runnable = glow_backend_prepare(b->backend, s->entry, &s->inputs, &o);
  b->compile = lap(&since);
  if (!b->runnable)
    return GLOW_BAD_INPUT;
  status = glow_runnable_run(b->runnable);
  b->first = lap(&since);
  const char *target = s->module->target;
  b->isa = target ? glow_isa_find(target) : glow_isa_host();
  return status;
}

/* The models of a command line, and what they share. */
typedef struct Bench {
  GlowContext *ctx;
  const GlowBenchCommand *command;
  GlowBench *models;
  uint32_t count;
  GlowRunOptions options;
} Bench;

static void release(void *arg) {
  Bench *bench = arg;
  for (uint32_t i = 0; i < bench->count; i++) {
    GlowBench *b = &bench->models[i];
    if (b->runnable)
      glow_runnable_destroy(b->runnable);
    if (b->profiled)
      glow_runnable_destroy(b->profiled);
    if (b->session.ctx)
      glow_session_close(&b->session);
  }
}

/* Reads, compiles and runs a model once. `input`: raw bytes for its only input, or NULL. */
static GlowStatus open_model(Bench *bench, GlowBench *b, const char *input) {
  double since = glow_clock();
  GlowStatus status = glow_model_load(&b->session, bench->ctx, b->path, &bench->command->model);
  b->import = lap(&since);
  if (status == GLOW_OK)
    status = prepare_inputs(&b->session, bench->command, input);
  return status == GLOW_OK ? start(b, &bench->options) : status;
}

/* Compiles the model again so that it notes where its time goes, and runs it. */
static GlowStatus profile(GlowBench *b, const GlowRunOptions *options) {
  GlowRunOptions o = *options;
  o.profile = true;
  o.values = glow_session_values(&b->session);
  o.written = b->session.written;
  b->profiled = glow_backend_prepare(b->backend, b->session.entry, &b->session.inputs, &o);
  return b->profiled ? glow_model_run_warm(b->profiled) : GLOW_BAD_INPUT;
}

/* Writes what `print` appends to a file, or to standard output. */
static GlowStatus put(const Bench *bench, const char *path,
                      void (*print)(GlowText *, const GlowBench *, uint32_t)) {
  GlowText text;
  GlowDefer defer;
  glow_text_init(&text, bench->ctx);
  glow_defer_push(bench->ctx, &defer, glow_text_release_fn, &text);
  print(&text, bench->models, bench->count);
  bool ok = glow_output_write(bench->ctx, path, &(GlowBytes){text.data, text.size}, 1);
  glow_defer_pop(bench->ctx, &defer, true);
  return ok ? GLOW_OK : GLOW_IO;
}

static GlowStatus measure(const Bench *bench) {
  const GlowBenchCommand *c = bench->command;
  GlowStatus status = glow_bench_measure(bench->models, bench->count);
  for (uint32_t i = 0; c->profile && i < bench->count && status == GLOW_OK; i++)
    status = profile(&bench->models[i], &bench->options);
  bool taken = (c->json && !strcmp(c->json, "-")) || (c->csv && !strcmp(c->csv, "-"));
  if (status == GLOW_OK && !taken)
    status = put(bench, NULL, glow_bench_print);
  if (status == GLOW_OK && c->json)
    status = put(bench, c->json, glow_bench_json);
  if (status == GLOW_OK && c->csv)
    status = put(bench, c->csv, glow_bench_csv);
  return status;
}

static GlowStatus bench(GlowContext *ctx, const GlowBenchCommand *c, const GlowStrList *args) {
  Bench all = {.ctx = ctx, .command = c, .count = c->worker ? 1 : args->count};
  all.models = GLOW_NEW_ARRAY(ctx->arena, GlowBench, all.count);
  const GlowBackend *backend = glow_model_backend(ctx, &glow_backends, &c->model);
  if (!backend)
    return GLOW_BAD_USAGE;
  GlowDefer defer, defer_pool;
  GlowPool *pool = glow_pool_make(ctx, (int)c->model.threads);
  glow_defer_push(ctx, &defer_pool, glow_pool_destroy_fn, pool);
  glow_defer_push(ctx, &defer, release, &all);
  all.options = glow_model_run_options(ctx, &c->model, backend, pool);
  GlowStatus status = GLOW_OK;
  for (uint32_t i = 0; i < all.count && status == GLOW_OK; i++) {
    all.models[i] = (GlowBench){.command = c, .path = args->data[i], .backend = backend};
    status = open_model(&all, &all.models[i], c->worker ? args->data[1] : NULL);
    if (status != GLOW_OK && all.count > 1)
      glow_note(ctx, glow_loc_file(ctx, args->data[i]), "the error is about this model");
  }
  if (status == GLOW_OK)
    status = c->worker ? glow_bench_serve(all.models, args->data[2]) : measure(&all);
  glow_defer_pop(ctx, &defer, true);
  glow_defer_pop(ctx, &defer_pool, true);
  return status;
}

/* Models, or after --worker MODEL INPUT OUTPUT THREADS; after --burst nothing. */
static GlowStatus check_arguments(GlowContext *ctx, GlowBenchCommand *c, const GlowStrList *args) {
  const char *problem = c->burst && args->count ? "--burst takes no model"
                        : c->burst              ? NULL
                        : c->worker && args->count != 4
                            ? "--worker needs MODEL INPUT OUTPUT THREADS"
                        : !args->count ? "a MODEL is needed"
                                       : NULL;
  bool reports = c->json || c->csv || c->profile;
  if (!problem && reports && (c->worker || c->burst))
    problem = "--json, --csv and --profile are not for workers";
  if (!problem && c->json && c->csv && !strcmp(c->json, c->csv))
    problem = "--json and --csv name the same file";
  if (problem) {
    glow_error(ctx, GLOW_NOWHERE, "%s", problem);
    return GLOW_BAD_USAGE;
  }
  if (!c->worker || c->burst)
    return GLOW_OK;
  char *end;
  c->model.threads = strtol(args->data[3], &end, 10);
  if (*end || end == args->data[3] || c->model.threads < 1 || c->model.threads > GLOW_MAX_THREADS) {
    glow_error(ctx, GLOW_NOWHERE, "'%s' is not a number of threads from 1 to %d", args->data[3],
               GLOW_MAX_THREADS);
    return GLOW_BAD_USAGE;
  }
  return GLOW_OK;
}

static GlowStatus body(GlowContext *ctx, int argc, char **argv) {
  GlowBenchCommand c = {.model = GLOW_MODEL_DEFAULTS(GLOW_DEFAULT_BACKEND, GLOW_TIER_COMPILED),
                        .rounds = 9,
                        .seconds = 0.4};
  /* clang-format off */
  const GlowOption options[] = {
      {.name = "backend", .value = "NAME", .help = "cpu (the default where it is built) or interp",
       .kind = GLOW_OPT_STRING, .target = &c.model.backend, .two_dashes = true},
      GLOW_MODEL_OPTIONS(c.model),
      {.name = "batch", .value = "N", .help = "give the open first dimension of each input an extent",
       .kind = GLOW_OPT_INT, .target = &c.batch, .min = 1, .max = 1 << 20, .two_dashes = true},
      {.name = "input", .value = "[NAME=]SOURCE",
       .help = "an input or variable, as for glow-run; random numbers where none is given",
       .kind = GLOW_OPT_REPEAT, .target = &c.inputs, .two_dashes = true},
      {.name = "rounds", .value = "N", .help = "how often it is measured (9)",
       .kind = GLOW_OPT_INT, .target = &c.rounds, .min = 1, .max = 1000000, .two_dashes = true},
      {.name = "seconds", .value = "S",
       .help = "how long a round takes, at least one inference (0.4)", .kind = GLOW_OPT_DOUBLE,
       .target = &c.seconds, .two_dashes = true},
      {.name = "profile", .help = "print where the time goes, by node",
       .kind = GLOW_OPT_FLAG, .target = &c.profile, .two_dashes = true},
      {.name = "json", .value = "FILE", .help = "write what was measured, all rounds and nodes, too",
       .kind = GLOW_OPT_STRING, .target = &c.json, .two_dashes = true},
      {.name = "csv", .value = "FILE", .help = "write a line of figures for each model",
       .kind = GLOW_OPT_STRING, .target = &c.csv, .two_dashes = true},
      {.name = "worker",
       .help = "take MODEL INPUT OUTPUT THREADS and time as often as standard input says",
       .kind = GLOW_OPT_FLAG, .target = &c.worker, .two_dashes = true},
      {.name = "burst", .help = "be a worker whose inference is a burst of 10^9 operations",
       .kind = GLOW_OPT_FLAG, .target = &c.burst, .two_dashes = true},
  };
  /* clang-format on */
  GlowCommand command = {.name = "glow-bench",
                         .overview = "measure how fast models run: .onnx, .gg or .gir",
                         .usage = "[options] MODEL...",
                         .options = options,
                         .noptions = sizeof options / sizeof *options,
                         .user = &c,
                         .max_positional = MOST_MODELS};
  GlowStrList args = {0};
  bool exit_now;
  GlowStatus status = glow_cmdline_parse(ctx, &command, argc, argv, &args, &exit_now);
  if (status != GLOW_OK || exit_now)
    return status;
  if (!(c.seconds >= 0)) {
    glow_error(ctx, GLOW_NOWHERE, "--seconds must not be negative");
    return GLOW_BAD_USAGE;
  }
  status = check_arguments(ctx, &c, &args);
  if (status != GLOW_OK)
    return status;
  if (c.burst)
    return glow_bench_serve_burst(ctx);
  if (!glow_remarks_begin(ctx, &c.model.remarks))
    return GLOW_BAD_USAGE;
  return glow_remarks_end(ctx, bench(ctx, &c, &args));
}

int main(int argc, char **argv) { return glow_tool_main("glow-bench", argc, argv, body); }
