/* See loop.h. */
#include "train/loop.h"

#include <math.h>

#include "support/process.h"

static int64_t steps_of_epoch(const GlowTraining *t) {
  return glow_order_steps(&t->checkpoints.order);
}

/* ---- One step -------------------------------------------------------------------------------- */

/* The samples of the next step. */
static const uint64_t *next_samples(GlowTraining *t) {
  int64_t steps = steps_of_epoch(t), epoch = t->done / steps;
  if (epoch != t->epoch)
    glow_order_make(&t->checkpoints.order, epoch, t->order);
  t->epoch = epoch;
  return t->order + t->done % steps * t->data.batch;
}

/* Says which step failed, and which of its samples fails alone. */
static void blame(GlowTraining *t, const uint64_t *samples) {
  glow_note(t->ctx, GLOW_NOWHERE, "this was step %lld", (long long)t->done + 1);
  for (int64_t i = 0; i < t->data.batch; i++) {
    GlowSilence silence;
    glow_silence_begin(t->ctx, &silence);
    bool fails = glow_feed_fill(&t->data, &samples[i], 1) && glow_runnable_run(t->step) != GLOW_OK;
    glow_silence_end(&silence);
    if (fails) {
      glow_note(t->ctx, GLOW_NOWHERE, "sample %llu fails alone, too",
                (unsigned long long)samples[i]);
      return;
    }
  }
}

static GlowStatus run_step(GlowTraining *t) {
  double since = glow_clock();
  const uint64_t *samples = next_samples(t);
  if (!glow_feed_fill(&t->data, samples, t->data.batch))
    return GLOW_BAD_INPUT;
  if (t->watched)
    glow_watch_begin(&t->watch, t->step->state);
  GlowStatus status = glow_runnable_run(t->step);
  if (status == GLOW_BAD_INPUT)
    blame(t, samples);
  if (status != GLOW_OK)
    return status;
  if (t->watched && !glow_watch_holds(t->step)) {
    glow_log_end_line(&t->log);
    glow_watch_explain(&t->watch, &t->data.inputs, t->done + 1);
    return GLOW_BAD_INPUT;
  }
  t->done++;
  glow_scores_of_run(t->ctx, t->step, &t->scores);
  return glow_log_step(&t->log, t->done, t->epoch, &t->scores, glow_clock() - since) ? GLOW_OK
                                                                                     : GLOW_IO;
}

/* ---- Evaluation ------------------------------------------------------------------------------ */

/* The score that says what is best, and whether more is better. NULL: there is none. */
static const GlowScore *score_of_best(const GlowTraining *t, bool *more) {
  const GlowCondition *c = t->required.count ? t->required.data : NULL;
  const GlowScore *s = c ? glow_scores_find(&t->evaluation, c->name) : NULL;
  *more = s && c->order == '>';
  if (!s)
    s = glow_scores_find(&t->evaluation, "loss");
  return s ? s : t->evaluation.count ? t->evaluation.data : NULL;
}

static GlowStatus keep_best(GlowTraining *t) {
  bool more;
  const GlowScore *s = score_of_best(t, &more);
  if (!t->checkpoints.path || !s || isnan(s->value))
    return GLOW_OK;
  if (t->has_best && (more ? s->value <= t->best : s->value >= t->best))
    return GLOW_OK;
  t->has_best = true;
  t->best = s->value;
  return glow_checkpoint_write_best(&t->checkpoints, t->step->state, t->done, t->best);
}

static GlowStatus evaluate(GlowTraining *t) {
  if (!t->judged.batch)
    return GLOW_OK;
  double since = glow_clock();
  GlowStatus status = glow_evaluate(&t->judged, t->judge, &t->evaluation);
  if (status != GLOW_OK) {
    glow_note(t->ctx, GLOW_NOWHERE, "this was the evaluation after step %lld", (long long)t->done);
    return status;
  }
  if (!glow_log_evaluation(&t->log, t->done, t->done / steps_of_epoch(t), &t->evaluation,
                           glow_clock() - since))
    return GLOW_IO;
  return keep_best(t);
}

/* ---- The loop -------------------------------------------------------------------------------- */

static void show(GlowTraining *t, double since, int64_t first, bool now) {
  if (!t->log.terminal)
    return;
  int64_t steps = steps_of_epoch(t);
  double seconds = glow_clock() - since;
  GlowText line;
  GlowDefer defer;
  glow_text_init(&line, t->ctx);
  glow_defer_push(t->ctx, &defer, glow_text_release_fn, &line);
  glow_text_printf(&line, "epoch %lld/%lld  step %lld", (long long)(t->done / steps),
                   (long long)(t->steps / steps + (t->steps % steps != 0)), (long long)t->done);
  glow_log_put(&line, &t->scores, &t->evaluation);
  if (seconds > 0)
    glow_text_printf(&line, "  %.0f samples/s",
                     (double)((t->done - first) * t->data.batch) / seconds);
  glow_log_show(&t->log, &line, now);
  glow_defer_pop(t->ctx, &defer, true);
}

static GlowStatus checkpoint(GlowTraining *t) {
  if (!t->checkpoints.path || t->checkpoints.last == t->done)
    return GLOW_OK;
  return glow_checkpoint_write(&t->checkpoints, t->step->state, t->done);
}

/* A step and what is due after it. */
static GlowStatus advance(GlowTraining *t) {
  GlowStatus status = run_step(t);
  bool epoch = t->done % steps_of_epoch(t) == 0;
  if (status == GLOW_OK && epoch)
    status = evaluate(t);
  if (status == GLOW_OK && (t->every ? t->done % t->every == 0 : epoch))
    status = checkpoint(t);
  return status;
}

static GlowStatus run_all(GlowTraining *t) {
  double since = glow_clock();
  int64_t first = t->done;
  GlowStatus status = GLOW_OK;
  while (status == GLOW_OK && t->done < t->steps && !t->interrupted) {
    status = advance(t);
    show(t, since, first, false);
    t->interrupted = t->stop && *t->stop;
  }
  if (status == GLOW_OK && !t->interrupted &&
      (t->done == first || t->done % steps_of_epoch(t) != 0))
    status = evaluate(t);
  show(t, since, first, true);
  return status == GLOW_OK ? checkpoint(t) : status;
}

GlowStatus glow_train(GlowTraining *t) {
  GlowArena *arena = glow_arena_create(t->ctx);
  t->order = GLOW_NEW_ARRAY(arena, uint64_t, (size_t)t->data.count);
  t->epoch = -1;
  GlowStatus status = run_all(t);
  glow_arena_destroy(arena);
  return status;
}

bool glow_train_holds(const GlowTraining *t) {
  bool ok = true;
  for (uint32_t i = 0; i < t->required.count; i++) {
    const GlowCondition *c = &t->required.data[i];
    const GlowScore *s = glow_scores_find(&t->evaluation, c->name);
    s = s ? s : glow_scores_find(&t->scores, c->name);
    if (s && glow_condition_holds(c, s->value))
      continue;
    if (s)
      glow_error(t->ctx, GLOW_NOWHERE, "%s is %.6g, but %s%c%s%g is required", c->name, s->value,
                 c->name, c->order, c->equal ? "=" : "", c->bound);
    else
      glow_error(t->ctx, GLOW_NOWHERE, "nothing says what %s is", c->name);
    ok = false;
  }
  return ok;
}
