/* glow-train: runs a training step again and again on samples from files, judges the model, and
 * keeps checkpoints. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/backends.h"
#include "driver/model.h"
#include "driver/pictures.h"
#include "train/training.h"

typedef struct GlowTrainCommand {
  GlowModelFlags model;
  GlowImageFlags pictures;
  GlowImageOptions image;
  GlowStrList data, eval, inputs, required;
  int64_t error_limit;
  GlowTrainingSetup how;
} GlowTrainCommand;

/* ---- Ctrl-C ---------------------------------------------------------------------------------- */

static volatile sig_atomic_t stopped_by; /* the signal, or 0 */

/* The first signal ends the training after the step, a second one the process. */
static void on_signal(int signal_number) { stopped_by = signal_number; }

static void catch_signals(void) {
  static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction how = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
  sigemptyset(&how.sa_mask);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    struct sigaction now;
    if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
      sigaction(ends[i], &how, NULL);
  }
}

/* ---- Running --------------------------------------------------------------------------------- */

static void put_summary(const GlowTraining *t) {
  GlowText out;
  GlowDefer defer;
  glow_text_init(&out, t->ctx);
  glow_defer_push(t->ctx, &defer, glow_text_release_fn, &out);
  glow_text_printf(&out, "step %lld", (long long)t->done);
  glow_log_put(&out, &t->scores, &t->evaluation);
  glow_text_putc(&out, '\n');
  fwrite(out.data, 1, out.size, stdout);
  glow_defer_pop(t->ctx, &defer, true);
}

/* Optimizes the functions as the command line says, compiles and runs them. */
static GlowStatus run(GlowTraining *t, const GlowTrainCommand *c, const GlowBackend *backend,
                      const GlowPool *pool) {
  GlowSession *s = &t->session;
  GlowStatus status = glow_model_optimize(s, &c->model, backend, false);
  if (status != GLOW_OK)
    return status;
  GlowRunOptions options = glow_model_run_options(s->ctx, &c->model, backend, pool);
  options.primitives = backend->primitives;
  status = glow_training_compile(t, backend, &options);
  if (status != GLOW_OK)
    return status;
  catch_signals();
  status = glow_train(t);
  if (status != GLOW_OK)
    return status;
  put_summary(t);
  return t->interrupted || glow_train_holds(t) ? GLOW_OK : GLOW_BAD_INPUT;
}

static GlowStatus train(GlowContext *ctx, const GlowTrainCommand *c, const GlowTrainingSetup *how) {
  const GlowBackend *backend = glow_model_backend(ctx, &glow_backends, &c->model);
  if (!backend)
    return GLOW_BAD_USAGE;
  GlowTraining t = {.ctx = ctx, .stop = &stopped_by, .log = {.ctx = ctx, .terminal = isatty(2)}};
  GlowPool *pool = glow_pool_make(ctx, (int)c->model.threads);
  GlowDefer close_pool, close;
  glow_defer_push(ctx, &close_pool, glow_pool_destroy_fn, pool);
  glow_defer_push(ctx, &close, glow_training_close_fn, &t);
  GlowStatus status = glow_training_open(&t, how);
  if (status == GLOW_OK)
    status = run(&t, c, backend, pool);
  if (!glow_log_close(&t.log) && status == GLOW_OK)
    status = GLOW_IO;
  glow_defer_pop(ctx, &close, true);
  glow_defer_pop(ctx, &close_pool, true);
  return status;
}

/* ---- The command line ------------------------------------------------------------------------ */

static GlowStatus check_command(GlowContext *ctx, GlowTrainCommand *c, const char *path) {
  GlowTrainingSetup *how = &c->how;
  const char *problem = NULL;
  if (how->steps < 0 && how->epochs < 0)
    problem = "how long? say --epochs N or --steps N";
  else if (!how->checkpoint && how->every)
    problem = "--every needs --checkpoint";
  else if (!how->checkpoint && how->keep > 1)
    problem = "--keep needs --checkpoint";
  else if (how->reset_order && !how->resume)
    problem = "--reset-order needs --resume";
  else if (how->stop_on_nan && !strcmp(path, "-"))
    problem = "--stop-on-nan reads the model again, so that needs a file";
  if (problem)
    glow_error(ctx, GLOW_NOWHERE, "%s", problem);
  if (problem || !glow_image_flags_read(ctx, &c->pictures, &c->image))
    return GLOW_BAD_USAGE;
  how->path = path;
  how->load = glow_model_load_options(&c->model);
  how->data = (GlowTexts){c->data.data, c->data.count};
  how->eval = (GlowTexts){c->eval.data, c->eval.count};
  how->inputs = (GlowTexts){c->inputs.data, c->inputs.count};
  how->required = (GlowTexts){c->required.data, c->required.count};
  how->image = &c->image;
  return GLOW_OK;
}

static GlowStatus body(GlowContext *ctx, int argc, char **argv) {
  GlowTrainCommand c = {.model = GLOW_MODEL_DEFAULTS(GLOW_DEFAULT_BACKEND, GLOW_TIER_AUTO),
                        .how = {.steps = -1, .epochs = -1, .shuffle = -1, .keep = 1},
                        .error_limit = 20};
  /* clang-format off */
  const GlowOption options[] = {
      GLOW_OPTION_HEADING("Data"),
      {.name = "data", .value = "NAME=SOURCE",
       .help = "samples for an input of the step: .npy, .safetensors:KEY, IDX, .csv:COLUMNS, text:window=N, or a folder",
       .kind = GLOW_OPT_REPEAT, .target = &c.data, .two_dashes = true},
      {.name = "eval", .value = "NAME=SOURCE",
       .help = "samples for an input of @eval, which judges the model after each epoch",
       .kind = GLOW_OPT_REPEAT, .target = &c.eval, .two_dashes = true},
      {.name = "input", .value = "NAME=SOURCE",
       .help = "a value that an input has in all steps, or a variable at first, as glow-run takes it",
       .kind = GLOW_OPT_REPEAT, .target = &c.inputs, .two_dashes = true},
      {.name = "error-limit", .value = "N", .help = "stop after N errors (20; 0: never)",
       .kind = GLOW_OPT_INT, .target = &c.error_limit, .max = 1000000},
      GLOW_OPTION_HEADING("Training"),
      {.name = "epochs", .value = "N", .help = "pass over the data N times, together with what was resumed",
       .kind = GLOW_OPT_INT, .target = &c.how.epochs, .min = 0, .max = INT64_MAX, .two_dashes = true},
      {.name = "steps", .value = "N", .help = "end after N steps, together with what was resumed",
       .kind = GLOW_OPT_INT, .target = &c.how.steps, .min = 0, .max = INT64_MAX, .two_dashes = true},
      {.name = "shuffle", .value = "SEED", .help = "take samples in another order in each epoch (as they lie)",
       .kind = GLOW_OPT_INT, .target = &c.how.shuffle, .min = 0, .max = INT64_MAX, .two_dashes = true},
      {.name = "require", .value = "NAME>=X",
       .help = "exit status 1 unless an output is so at the end; also >, < and <=; the first says what is best",
       .kind = GLOW_OPT_REPEAT, .target = &c.required, .two_dashes = true},
      {.name = "stop-on-nan", .help = "stop at a value that is not finite, and name the first one",
       .kind = GLOW_OPT_FLAG, .target = &c.how.stop_on_nan, .two_dashes = true},
      {.name = "log", .value = "FILE", .help = "write the outputs of each step as lines of JSON",
       .kind = GLOW_OPT_STRING, .target = &c.how.log, .two_dashes = true},
      GLOW_OPTION_HEADING("Checkpoints"),
      {.name = "checkpoint", .value = "FILE",
       .help = "write all variables to a safetensors file after each epoch and at the end",
       .kind = GLOW_OPT_STRING, .target = &c.how.checkpoint, .two_dashes = true},
      {.name = "every", .value = "N", .help = "write it after each N steps instead",
       .kind = GLOW_OPT_INT, .target = &c.how.every, .min = 1, .max = INT64_MAX, .two_dashes = true},
      {.name = "keep", .value = "K", .help = "keep the last K checkpoints; older ones are called after their steps (1)",
       .kind = GLOW_OPT_INT, .target = &c.how.keep, .min = 1, .max = 1000000, .two_dashes = true},
      {.name = "resume", .value = "FILE", .help = "go on where a checkpoint was written",
       .kind = GLOW_OPT_STRING, .target = &c.how.resume, .two_dashes = true},
      {.name = "reset-order", .help = "resume although the samples come in another order now",
       .kind = GLOW_OPT_FLAG, .target = &c.how.reset_order, .two_dashes = true},
      {.name = "state", .value = "FILE", .help = "take values of variables from a safetensors file",
       .kind = GLOW_OPT_STRING, .target = &c.how.state, .two_dashes = true},
      GLOW_OPTION_HEADING("How it runs"),
      {.name = "backend", .value = "NAME",
       .help = "cpu (the default where it is built): machine code, implies -O2; or interp",
       .kind = GLOW_OPT_STRING, .target = &c.model.backend, .two_dashes = true},
      GLOW_MODEL_OPTIONS(c.model),
      GLOW_OPTION_HEADING("Pictures as samples"),
      GLOW_IMAGE_OPTIONS(c.pictures),
  };
  /* clang-format on */
  const GlowCommand command = {.name = "glow-train",
                               .overview =
                                   "train a model on data: run a step of text again and again",
                               .usage = "[options] MODEL",
                               .options = options,
                               .noptions = sizeof options / sizeof *options,
                               .user = &c,
                               .min_positional = 1,
                               .max_positional = 1};
  GlowStrList positional = {0};
  bool exit_now;
  GlowStatus status = glow_cmdline_parse(ctx, &command, argc, argv, &positional, &exit_now);
  if (status != GLOW_OK || exit_now)
    return status;
  ctx->error_limit = (unsigned)c.error_limit;
  status = check_command(ctx, &c, positional.data[0]);
  if (status != GLOW_OK)
    return status;
  if (!glow_remarks_begin(ctx, &c.model.remarks))
    return GLOW_BAD_USAGE;
  return glow_remarks_end(ctx, train(ctx, &c, &c.how));
}

int main(int argc, char **argv) {
  int status = glow_tool_main("glow-train", argc, argv, body);
  if (stopped_by && !status) { /* as the signal would have ended it */
    signal(stopped_by, SIG_DFL);
    raise(stopped_by);
  }
  return status;
}
