/* glow-train: runs a training step again and again on samples from files, judges the model, and
 * keeps checkpoints. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/backends.h"
#include "driver/model.h"
#include "driver/pictures.h"
#include "train/loop.h"

typedef struct GlowTrainCommand {
  GlowModelFlags model;
  GlowImageFlags pictures;
  GlowImageOptions image;
  GlowStrList data, eval, inputs, required;
  const char *checkpoint, *resume, *state, *log;
  int64_t steps, epochs, shuffle, every, keep, error_limit; /* steps, epochs, shuffle: -1: none */
  bool reset_order, stop_on_nan;
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

/* ---- Preparing ------------------------------------------------------------------------------- */

/* Chooses the functions: that of --entry, else @train, else the only one; and @eval. */
static GlowStatus choose_entries(GlowSession *s, const GlowTrainCommand *c) {
  const char *name = c->model.entry;
  if (!name && glow_module_function(s->module, glow_str(s->ctx, "train")))
    name = "train";
  s->entry = glow_module_entry(s->module, name);
  if (!s->entry)
    return GLOW_BAD_INPUT;
  if (!c->eval.count)
    return GLOW_OK;
  const GlowFunction *eval = glow_module_entry(s->module, "eval");
  if (!eval)
    return GLOW_BAD_INPUT;
  glow_vec_push(s->ctx->arena, &s->others, eval->name);
  return GLOW_OK;
}

/* Opens the data of both functions. */
static GlowStatus open_feeds(GlowTraining *t, GlowSession *s, const GlowTrainCommand *c) {
  GlowFunction *train = s->entry;
  GlowStatus status = GLOW_OK;
  for (uint32_t i = 0; i < c->inputs.count && status == GLOW_OK; i++)
    status = glow_session_add_input(s, c->inputs.data[i], &c->image);
  if (status == GLOW_OK)
    status = glow_feed_open(&t->data, s, c->data.data, c->data.count, "data", &c->image);
  if (status != GLOW_OK)
    return status;
  if (t->data.count < t->data.batch) {
    glow_error(s->ctx, glow_loc_file(s->ctx, t->data.samples.data[0]->name),
               "%lld samples do not fill a batch of %lld", (long long)t->data.count,
               (long long)t->data.batch);
    return GLOW_BAD_INPUT;
  }
  if (!c->eval.count)
    return status;
  s->entry = glow_module_function(s->module, s->others.data[0]);
  status = glow_feed_open(&t->judged, s, c->eval.data, c->eval.count, "eval", &c->image);
  s->entry = train;
  return status;
}

/* Whether an output of the session's entry is called so, or its score is if `judged`. */
static bool has_score(const GlowSession *s, GlowStr name, bool judged) {
  GlowNameList outputs = {0};
  glow_session_names(s, true, &outputs);
  for (uint32_t i = 0; i < outputs.count; i++)
    if ((judged ? glow_score_name(s->ctx, outputs.data[i]) : outputs.data[i]) == name)
      return true;
  return false;
}

static bool is_score(GlowSession *s, GlowStr name) {
  GlowFunction *train = s->entry;
  bool found = has_score(s, name, false);
  for (uint32_t i = 0; i < s->others.count; i++) {
    s->entry = glow_module_function(s->module, s->others.data[i]);
    found |= has_score(s, name, true);
  }
  s->entry = train;
  return found;
}

static GlowStatus read_conditions(GlowTraining *t, GlowSession *s, const GlowTrainCommand *c) {
  for (uint32_t i = 0; i < c->required.count; i++) {
    GlowCondition condition;
    if (!glow_condition_read(s->ctx, c->required.data[i], &condition)) {
      glow_error(s->ctx, GLOW_NOWHERE, "--require: '%s' is not NAME>=X, NAME>X, NAME<=X or NAME<X",
                 c->required.data[i]);
      return GLOW_BAD_USAGE;
    }
    if (!is_score(s, condition.name)) {
      glow_error(s->ctx, GLOW_NOWHERE, "--require: no function that runs has an output '%s'",
                 condition.name);
      return GLOW_BAD_INPUT;
    }
    glow_vec_push(s->ctx->arena, &t->required, condition);
  }
  return GLOW_OK;
}

/* How many steps there are together. */
static int64_t count_steps(const GlowTraining *t, const GlowTrainCommand *c) {
  int64_t steps = c->steps, of_epochs;
  if (c->epochs < 0)
    return steps;
  if (__builtin_mul_overflow(c->epochs, glow_order_steps(&t->checkpoints.order), &of_epochs))
    of_epochs = INT64_MAX;
  return steps < 0 || of_epochs < steps ? of_epochs : steps;
}

/* Reads what was before, and notes the variables. */
static GlowStatus begin_state(GlowTraining *t, GlowSession *s, const GlowTrainCommand *c) {
  GlowCheckpoints *k = &t->checkpoints;
  k->order = (GlowOrder){c->shuffle >= 0, (uint64_t)(c->shuffle < 0 ? 0 : c->shuffle),
                         t->data.count, t->data.batch};
  k->path = c->checkpoint;
  k->keep = c->keep;
  k->last = -1;
  GlowStatus status = GLOW_OK;
  if (c->state)
    status = glow_session_read_state(s, c->state);
  if (status == GLOW_OK && c->resume)
    status = glow_checkpoint_read(k, s, c->resume, c->reset_order, &t->done);
  if (status == GLOW_OK)
    status = glow_checkpoints_begin(k, s);
  if (c->resume && c->checkpoint && !strcmp(c->resume, c->checkpoint))
    k->last = t->done;
  if (status == GLOW_OK && c->resume && c->checkpoint && c->eval.count)
    t->has_best = glow_checkpoint_best(k, &t->best);
  t->steps = count_steps(t, c);
  return status;
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

static GlowStatus run(GlowTraining *t, const GlowTrainCommand *c) {
  if (!glow_log_open(&t->log, t->done))
    return GLOW_IO;
  catch_signals();
  GlowStatus status = glow_train(t);
  if (!glow_log_close(&t->log) && status == GLOW_OK)
    status = GLOW_IO;
  if (status != GLOW_OK)
    return status;
  put_summary(t);
  if (t->interrupted)
    return GLOW_OK;
  (void)c;
  return glow_train_holds(t) ? GLOW_OK : GLOW_BAD_INPUT;
}

/* Compiles both functions, which share a state. */
static GlowStatus compile_and_run(GlowTraining *t, GlowSession *s, const GlowTrainCommand *c,
                                  const GlowBackend *backend, const GlowRunOptions *options) {
  GlowFunction *functions[] = {s->entry, NULL};
  uint32_t n = 1 + s->others.count;
  if (n > 1)
    functions[1] = glow_module_function(s->module, s->others.data[0]);
  GlowExecutable *e = glow_backend_compile(backend, functions, n, options);
  GlowExecutionSetup how = {.parallel = options->parallel};
  GlowDefer step, judge;
  t->step = glow_runnable_create(e, &t->data.inputs, &how);
  if (!t->step)
    return GLOW_BAD_INPUT;
  glow_defer_push(s->ctx, &step, glow_runnable_destroy_fn, t->step);
  if (n > 1)
    t->judge = glow_runnable_share(t->step, &e->entries[1], &t->judged.inputs, &how);
  glow_defer_push(s->ctx, &judge, glow_runnable_destroy_fn, t->judge);
  GlowStatus status = n == 1 || t->judge ? run(t, c) : GLOW_BAD_INPUT;
  glow_defer_pop(s->ctx, &judge, true);
  glow_defer_pop(s->ctx, &step, true);
  return status;
}

static GlowStatus run_session(GlowTraining *t, GlowSession *s, const GlowTrainCommand *c) {
  const GlowBackend *backend = glow_model_backend(s->ctx, &glow_backends, &c->model);
  if (!backend)
    return GLOW_BAD_USAGE;
  GlowStatus status = glow_model_optimize(s, &c->model, backend, false);
  if (status != GLOW_OK)
    return status;
  GlowPool *pool = glow_pool_make(s->ctx, (int)c->model.threads);
  GlowDefer defer;
  glow_defer_push(s->ctx, &defer, glow_pool_destroy_fn, pool);
  GlowRunOptions options = glow_model_run_options(s->ctx, &c->model, backend, pool);
  options.primitives = backend->primitives;
  options.values = glow_session_values(s);
  options.written = s->written;
  status = compile_and_run(t, s, c, backend, &options);
  glow_defer_pop(s->ctx, &defer, true);
  return status;
}

/* What a training owns besides its runnables. */
static void close_training(void *arg) {
  GlowTraining *t = arg;
  glow_feed_close(&t->data);
  glow_feed_close(&t->judged);
  glow_checkpoints_close(&t->checkpoints);
  if (t->watch)
    glow_watch_close(t->watch);
  if (t->log.file)
    fclose(t->log.file);
}

static GlowStatus train(GlowContext *ctx, const GlowTrainCommand *c, const char *path) {
  GlowSession s = {0};
  GlowTraining t = {.ctx = ctx,
                    .every = c->every,
                    .stop = &stopped_by,
                    .log = {.ctx = ctx, .path = c->log, .terminal = isatty(2)}};
  GlowDefer close_s, close_t;
  glow_defer_push(ctx, &close_s, glow_session_close_fn, &s);
  glow_defer_push(ctx, &close_t, close_training, &t);
  GlowLoadOptions load = {.binds = c->model.binds.data, .nbinds = c->model.binds.count};
  GlowStatus status = glow_session_open(&s, ctx, path, &load);
  if (status == GLOW_OK)
    status = choose_entries(&s, c);
  if (status == GLOW_OK)
    status = open_feeds(&t, &s, c);
  if (status == GLOW_OK)
    status = read_conditions(&t, &s, c);
  if (status == GLOW_OK)
    status = begin_state(&t, &s, c);
  load.entry = status == GLOW_OK ? s.entry->name : NULL;
  GlowWatch watch = {.session = &s, .path = path, .load = &load};
  t.watch = c->stop_on_nan ? &watch : NULL;
  if (status == GLOW_OK)
    status = run_session(&t, &s, c);
  glow_defer_pop(ctx, &close_t, true);
  glow_defer_pop(ctx, &close_s, true);
  return status;
}

/* ---- The command line ------------------------------------------------------------------------ */

static GlowStatus check_command(GlowContext *ctx, GlowTrainCommand *c, const char *path) {
  if (c->steps < 0 && c->epochs < 0) {
    glow_error(ctx, GLOW_NOWHERE, "how long? say --epochs N or --steps N");
    return GLOW_BAD_USAGE;
  }
  if (!c->checkpoint && (c->every || c->keep > 1)) {
    glow_error(ctx, GLOW_NOWHERE, "--%s needs --checkpoint", c->every ? "every" : "keep");
    return GLOW_BAD_USAGE;
  }
  if (c->reset_order && !c->resume) {
    glow_error(ctx, GLOW_NOWHERE, "--reset-order needs --resume");
    return GLOW_BAD_USAGE;
  }
  if (c->stop_on_nan && !strcmp(path, "-")) {
    glow_error(ctx, GLOW_NOWHERE, "--stop-on-nan reads the model again, so that needs a file");
    return GLOW_BAD_USAGE;
  }
  return glow_image_flags_read(ctx, &c->pictures, &c->image) ? GLOW_OK : GLOW_BAD_USAGE;
}

static GlowStatus body(GlowContext *ctx, int argc, char **argv) {
  GlowTrainCommand c = {.model = GLOW_MODEL_DEFAULTS(GLOW_DEFAULT_BACKEND, GLOW_TIER_AUTO),
                        .steps = -1,
                        .epochs = -1,
                        .shuffle = -1,
                        .keep = 1,
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
       .kind = GLOW_OPT_INT, .target = &c.epochs, .min = 0, .max = INT64_MAX, .two_dashes = true},
      {.name = "steps", .value = "N", .help = "end after N steps, together with what was resumed",
       .kind = GLOW_OPT_INT, .target = &c.steps, .min = 0, .max = INT64_MAX, .two_dashes = true},
      {.name = "shuffle", .value = "SEED", .help = "take samples in another order in each epoch (as they lie)",
       .kind = GLOW_OPT_INT, .target = &c.shuffle, .min = 0, .max = INT64_MAX, .two_dashes = true},
      {.name = "require", .value = "NAME>=X",
       .help = "exit status 1 unless an output is so at the end; also >, < and <=; the first says what is best",
       .kind = GLOW_OPT_REPEAT, .target = &c.required, .two_dashes = true},
      {.name = "stop-on-nan", .help = "stop at a value that is not finite, and name the first one",
       .kind = GLOW_OPT_FLAG, .target = &c.stop_on_nan, .two_dashes = true},
      {.name = "log", .value = "FILE", .help = "write the outputs of each step as lines of JSON",
       .kind = GLOW_OPT_STRING, .target = &c.log, .two_dashes = true},
      GLOW_OPTION_HEADING("Checkpoints"),
      {.name = "checkpoint", .value = "FILE",
       .help = "write all variables to a safetensors file after each epoch and at the end",
       .kind = GLOW_OPT_STRING, .target = &c.checkpoint, .two_dashes = true},
      {.name = "every", .value = "N", .help = "write it after each N steps instead",
       .kind = GLOW_OPT_INT, .target = &c.every, .min = 1, .max = INT64_MAX, .two_dashes = true},
      {.name = "keep", .value = "K", .help = "keep the last K checkpoints; older ones are called after their steps (1)",
       .kind = GLOW_OPT_INT, .target = &c.keep, .min = 1, .max = 1000000, .two_dashes = true},
      {.name = "resume", .value = "FILE", .help = "go on where a checkpoint was written",
       .kind = GLOW_OPT_STRING, .target = &c.resume, .two_dashes = true},
      {.name = "reset-order", .help = "resume although the samples come in another order now",
       .kind = GLOW_OPT_FLAG, .target = &c.reset_order, .two_dashes = true},
      {.name = "state", .value = "FILE", .help = "take values of variables from a safetensors file",
       .kind = GLOW_OPT_STRING, .target = &c.state, .two_dashes = true},
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
  return glow_remarks_end(ctx, train(ctx, &c, positional.data[0]));
}

int main(int argc, char **argv) {
  int status = glow_tool_main("glow-train", argc, argv, body);
  if (stopped_by && !status) { /* as the signal would have ended it */
    signal(stopped_by, SIG_DFL);
    raise(stopped_by);
  }
  return status;
}
