/* glow-bench: how fast a model runs. It is compiled once and run many times on the same buffers. */
#include "tools/glow-bench/glow_bench.h"

#include <stdlib.h>
#include <string.h>

#include "ir/cost.h"
#include "support/process.h"

#if GLOW_HAVE_CPU_BACKEND
#define DEFAULT_BACKEND "cpu"
#else
#define DEFAULT_BACKEND "interp"
#endif

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
  const GlowBackend *backend = glow_backend_find(s->ctx, c->model.backend);
  if (!backend)
    return GLOW_BAD_USAGE;
  double since = glow_clock();
  GlowStatus status = glow_model_optimize(s, &c->model, backend, false);
  if (status != GLOW_OK)
    return status;
  b->macs = glow_function_cost(s->entry).macs; /* extents may be open before */
  b->optimize = lap(&since);
  glow_session_set_variables(s);
  b->network = glow_backend_prepare(backend, s->entry, &s->inputs, run);
  b->compile = lap(&since);
  if (!b->network)
    return GLOW_BAD_INPUT;
  status = b->network->run(b->network);
  b->first = lap(&since);
  const char *target = s->module->target;
  b->isa = target ? glow_isa_find(target) : glow_isa_host();
  return status;
}

static void release(void *arg) {
  GlowBench *b = arg;
  if (b->network)
    b->network->destroy(b->network);
  if (b->session.ctx)
    glow_session_close(&b->session);
}

static GlowStatus bench(GlowContext *ctx, const GlowBenchCommand *c, const GlowStrList *args) {
  GlowBench b = {.command = c};
  GlowDefer defer, defer_pool;
  GlowPool *pool = glow_pool_create(ctx, (int)c->model.threads);
  glow_defer_push(ctx, &defer_pool, glow_pool_destroy_fn, pool);
  glow_defer_push(ctx, &defer, release, &b);
  double since = glow_clock();
  GlowStatus status = glow_model_load(&b.session, ctx, args->data[0], &c->model);
  b.import = lap(&since);
  if (status == GLOW_OK)
    status = prepare_inputs(&b.session, c, c->worker ? args->data[1] : NULL);
  GlowRunOptions options = glow_model_run_options(ctx, &c->model, pool);
  if (status == GLOW_OK)
    status = start(&b, &options);
  if (status == GLOW_OK)
    status = c->worker ? glow_bench_serve(&b, args->data[2]) : glow_bench_report(&b, args->data[0]);
  glow_defer_pop(ctx, &defer, true);
  glow_defer_pop(ctx, &defer_pool, true);
  return status;
}

/* MODEL, or after --worker MODEL INPUT OUTPUT THREADS; after --burst nothing. */
static GlowStatus check_arguments(GlowContext *ctx, GlowBenchCommand *c, const GlowStrList *args) {
  if (args->count != (c->burst ? 0 : c->worker ? 4 : 1)) {
    glow_error(ctx, GLOW_NOWHERE, "%s",
               c->burst    ? "--burst takes no model"
               : c->worker ? "--worker needs MODEL INPUT OUTPUT THREADS"
                           : "one MODEL is needed");
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
  GlowBenchCommand c = {.model = GLOW_MODEL_DEFAULTS(DEFAULT_BACKEND), .rounds = 9, .seconds = 0.4};
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
      {.name = "worker",
       .help = "take MODEL INPUT OUTPUT THREADS and time as often as standard input says",
       .kind = GLOW_OPT_FLAG, .target = &c.worker, .two_dashes = true},
      {.name = "burst", .help = "be a worker whose inference is a burst of 10^9 operations",
       .kind = GLOW_OPT_FLAG, .target = &c.burst, .two_dashes = true},
  };
  /* clang-format on */
  GlowCommand command = {.name = "glow-bench",
                         .overview = "measure how fast a model runs: .onnx, .gg or .gir",
                         .usage = "[options] MODEL",
                         .options = options,
                         .noptions = sizeof options / sizeof *options,
                         .user = &c,
                         .max_positional = 4};
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
