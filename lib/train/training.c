/* See training.h. */
#include "train/training.h"

#include <stdio.h>
#include <string.h>

/* ---- Opening --------------------------------------------------------------------------------- */

/* Chooses the functions: that of --entry, else @train, else the only one; and @eval. */
static GlowStatus choose_entries(GlowSession *s, const GlowTrainingSetup *how) {
  const char *name = how->load.entry;
  if (!name && glow_module_function(s->module, glow_str(s->ctx, "train")))
    name = "train";
  s->entry = glow_module_entry(s->module, name);
  if (!s->entry)
    return GLOW_BAD_INPUT;
  if (!how->eval.count)
    return GLOW_OK;
  const GlowFunction *eval = glow_module_entry(s->module, "eval");
  if (!eval)
    return GLOW_BAD_INPUT;
  glow_vec_push(s->ctx->arena, &s->others, eval->name);
  return GLOW_OK;
}

/* Opens the data of both functions. */
static GlowStatus open_feeds(GlowTraining *t, GlowSession *s, const GlowTrainingSetup *how) {
  GlowFunction *train = s->entry;
  GlowStatus status = GLOW_OK;
  for (uint32_t i = 0; i < how->inputs.count && status == GLOW_OK; i++)
    status = glow_session_add_input(s, how->inputs.data[i], how->image);
  if (status == GLOW_OK)
    status = glow_feed_open(&t->data, s, how->data.data, how->data.count, "data", how->image);
  if (status != GLOW_OK)
    return status;
  if (t->data.count < t->data.batch) {
    glow_error(s->ctx, glow_loc_file(s->ctx, t->data.samples.data[0]->name),
               "%lld samples do not fill a batch of %lld", (long long)t->data.count,
               (long long)t->data.batch);
    return GLOW_BAD_INPUT;
  }
  if (!how->eval.count)
    return status;
  s->entry = glow_module_function(s->module, s->others.data[0]);
  status = glow_feed_open(&t->judged, s, how->eval.data, how->eval.count, "eval", how->image);
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

static GlowStatus read_conditions(GlowTraining *t, GlowSession *s, const GlowTrainingSetup *how) {
  for (uint32_t i = 0; i < how->required.count; i++) {
    GlowCondition condition;
    if (!glow_condition_read(s->ctx, how->required.data[i], &condition)) {
      glow_error(s->ctx, GLOW_NOWHERE, "--require: '%s' is not NAME>=X, NAME>X, NAME<=X or NAME<X",
                 how->required.data[i]);
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
static int64_t count_steps(const GlowTraining *t, const GlowTrainingSetup *how) {
  int64_t steps = how->steps, of_epochs;
  if (how->epochs < 0)
    return steps;
  if (__builtin_mul_overflow(how->epochs, glow_order_steps(&t->checkpoints.order), &of_epochs))
    of_epochs = INT64_MAX;
  return steps < 0 || of_epochs < steps ? of_epochs : steps;
}

/* Reads what was before, and notes the variables. */
static GlowStatus begin_state(GlowTraining *t, GlowSession *s, const GlowTrainingSetup *how) {
  GlowCheckpoints *k = &t->checkpoints;
  k->order = (GlowOrder){how->shuffle >= 0, (uint64_t)(how->shuffle < 0 ? 0 : how->shuffle),
                         t->data.count, t->data.batch};
  k->path = how->checkpoint;
  k->keep = how->keep;
  k->last = -1;
  GlowStatus status = GLOW_OK;
  if (how->state)
    status = glow_session_read_state(s, how->state);
  if (status == GLOW_OK && how->resume)
    status = glow_checkpoint_read(k, s, how->resume, how->reset_order, &t->done);
  if (status == GLOW_OK)
    status = glow_checkpoints_begin(k, s);
  if (how->resume && how->checkpoint && !strcmp(how->resume, how->checkpoint))
    k->last = t->done;
  if (status == GLOW_OK && how->resume && how->checkpoint && how->eval.count)
    t->has_best = glow_checkpoint_best(k, &t->best);
  t->steps = count_steps(t, how);
  return status;
}

GlowStatus glow_training_open(GlowTraining *t, const GlowTrainingSetup *how) {
  GlowSession *s = &t->session;
  GlowLoadOptions load = how->load;
  load.entry = NULL;
  GlowStatus status = glow_session_open(s, t->ctx, how->path, &load);
  if (status == GLOW_OK)
    status = choose_entries(s, how);
  if (status == GLOW_OK)
    status = open_feeds(t, s, how);
  if (status == GLOW_OK)
    status = read_conditions(t, s, how);
  if (status == GLOW_OK)
    status = begin_state(t, s, how);
  if (status != GLOW_OK)
    return status;
  t->every = how->every;
  t->log.path = how->log;
  t->watched = how->stop_on_nan;
  t->watch = (GlowWatch){.session = s, .path = how->path, .load = how->load};
  t->watch.load.entry = s->entry->name;
  return GLOW_OK;
}

/* ---- Compiling ------------------------------------------------------------------------------- */

GlowStatus glow_training_compile(GlowTraining *t, const GlowBackend *backend,
                                 const GlowRunOptions *options) {
  GlowSession *s = &t->session;
  GlowFunction *functions[] = {s->entry, NULL};
  uint32_t n = 1 + s->others.count;
  if (n > 1)
    functions[1] = glow_module_function(s->module, s->others.data[0]);
  GlowRunOptions o = *options;
  o.values = glow_session_values(s);
  o.written = s->written;
  GlowExecutable *e = glow_backend_compile(backend, functions, n, &o);
  GlowExecutionSetup how = {.parallel = options->parallel};
  t->step = glow_runnable_create(e, &t->data.inputs, &how);
  if (t->step && n > 1)
    t->judge = glow_runnable_share(t->step, &e->entries[1], &t->judged.inputs, &how);
  if (!t->step || (n > 1 && !t->judge))
    return GLOW_BAD_INPUT;
  return glow_log_open(&t->log, t->done) ? GLOW_OK : GLOW_IO;
}

void glow_training_close(GlowTraining *t) {
  glow_runnable_destroy(t->judge);
  glow_runnable_destroy(t->step);
  glow_feed_close(&t->data);
  glow_feed_close(&t->judged);
  glow_checkpoints_close(&t->checkpoints);
  glow_watch_close(&t->watch);
  if (t->log.file)
    fclose(t->log.file);
  t->log.file = NULL;
  if (t->session.ctx)
    glow_session_close(&t->session);
}

void glow_training_close_fn(void *t) { glow_training_close(t); }
