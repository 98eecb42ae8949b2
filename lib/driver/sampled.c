/* See sampled.h. */
#include "driver/sampled.h"

#include "driver/passes.h"
#include "support/process.h"

static GlowStatus load(GlowSampled *s, GlowContext *ctx, const GlowSampledSetup *how) {
  GlowSession *session = &s->session;
  GlowStatus status = glow_model_load(session, ctx, how->path, how->model);
  for (uint32_t i = 0; i < how->inputs->count && status == GLOW_OK; i++)
    status = glow_session_add_input(session, how->inputs->data[i], how->image);
  return status == GLOW_OK && how->state ? glow_session_read_state(session, how->state) : status;
}

static GlowStatus run_passes(GlowSampled *s, const GlowSampledSetup *how) {
  GlowSession *session = &s->session;
  GlowStr entry = session->entry->name;
  GlowRunnerOptions options = {.math = how->model->math};
  GlowStatus status = glow_pipeline_run(session->module, how->passes, &options);
  session->entry = glow_module_function(session->module, entry);
  return status;
}

/* Notes what the module is like in its file. */
static GlowStatus observe(GlowSampled *s, bool channels) {
  GlowSession *session = &s->session;
  GlowStr entry = session->entry->name;
  s->observes = true;
  s->text = glow_function_text_hash(session->entry);
  GlowStatus status = glow_session_keep_entry(session);
  if (status == GLOW_OK)
    status = glow_session_pass(session, channels ? "observe<channels>" : "observe");
  session->entry = glow_module_function(session->module, entry);
  s->observed = glow_observed_values(session->entry);
  return status;
}

static GlowStatus open_feed(GlowSampled *s, const GlowSampledSetup *how) {
  GlowSession *session = &s->session;
  const GlowStrList *each = how->each;
  GlowStatus status = glow_feed_bind(session, each->data, each->count);
  if (status == GLOW_OK)
    status = glow_session_bind(session);
  if (status == GLOW_OK)
    status = glow_feed_open(&s->feed, session, each->data, each->count, "each", how->image);
  if (status != GLOW_OK || !s->observes || s->feed.count % s->feed.batch == 0)
    return status;
  glow_error(s->feed.ctx, GLOW_NOWHERE,
             "%lld samples are no multiple of %lld, which a run takes: ranges would count some "
             "twice",
             (long long)s->feed.count, (long long)s->feed.batch);
  return GLOW_BAD_INPUT;
}

static GlowStatus compile(GlowSampled *s, const GlowSampledSetup *how) {
  GlowSession *session = &s->session;
  GlowModelFlags flags = *how->model;
  if (s->observes)
    flags.math = GLOW_MATH_EXACT;
  GlowStatus status = glow_model_optimize(session, &flags, how->backend, false);
  if (status != GLOW_OK)
    return status;
  GlowRunOptions options = glow_model_run_options(session->ctx, &flags, how->backend, how->pool);
  options.primitives = how->backend->primitives;
  options.values = glow_session_values(session);
  options.written = session->written;
  s->runnable = glow_backend_prepare(how->backend, session->entry, &s->feed.inputs, &options);
  return s->runnable ? GLOW_OK : GLOW_BAD_INPUT;
}

GlowStatus glow_sampled_open(GlowSampled *s, GlowContext *ctx, const GlowSampledSetup *how) {
  *s = (GlowSampled){0};
  GlowStatus status = load(s, ctx, how);
  if (status == GLOW_OK && how->passes)
    status = run_passes(s, how);
  if (status == GLOW_OK && how->observes && s->session.entry->kind != GLOW_FUNC) {
    glow_error(ctx, s->session.entry->src, "ranges are those of a graph, not of a program");
    status = GLOW_BAD_INPUT;
  }
  if (status == GLOW_OK && how->observes)
    status = observe(s, how->channels);
  if (status == GLOW_OK)
    status = open_feed(s, how);
  return status == GLOW_OK ? compile(s, how) : status;
}

void glow_sampled_close(void *sampled) {
  GlowSampled *s = sampled;
  glow_runnable_destroy(s->runnable);
  glow_feed_close(&s->feed);
  glow_session_close(&s->session);
}

GlowStatus glow_sampled_run(GlowSampled *s, int64_t first, int64_t n) {
  GlowArena *arena = glow_arena_create(s->feed.ctx);
  uint64_t *samples = GLOW_NEW_ARRAY(arena, uint64_t, (size_t)n);
  for (int64_t i = 0; i < n; i++)
    samples[i] = (uint64_t)(first + i);
  bool filled = glow_feed_fill(&s->feed, samples, n);
  glow_arena_destroy(arena);
  double start = glow_clock();
  GlowStatus status = filled ? glow_runnable_run(s->runnable) : GLOW_BAD_INPUT;
  s->seconds = glow_clock() - start;
  if (filled && status != GLOW_OK)
    glow_note(s->feed.ctx, GLOW_NOWHERE, "this was sample %lld", (long long)first);
  return status;
}

static const GlowTensor *value_of(const GlowSampled *s, GlowValues *values, GlowStr variable) {
  return glow_values_get(values, glow_module_storage(s->session.module, variable));
}

/* The lines of a value. */
static bool put_range(const GlowSampled *s, GlowValues *values, GlowText *out,
                      const GlowObserved *o) {
  const GlowTensor *state = value_of(s, values, o->variable);
  const GlowTensor *low = o->low ? value_of(s, values, o->low) : NULL;
  const GlowTensor *high = o->high ? value_of(s, values, o->high) : NULL;
  if (state)
    glow_ranges_put(out, o, state->data);
  const GlowTensor *sums = o->sums ? value_of(s, values, o->sums) : NULL;
  if (sums)
    glow_ranges_put_channels(out, o, sums, low, high);
  return state != NULL;
}

GlowStatus glow_sampled_write_ranges(GlowSampled *s, const char *path) {
  GlowSession *session = &s->session;
  GlowContext *ctx = session->ctx;
  GlowValues *values = glow_session_values(session);
  glow_values_take_state(values, s->runnable->state);
  GlowText out;
  GlowDefer release;
  glow_text_init(&out, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &out);
  glow_ranges_put_head(&out, session->module, session->entry->name, s->text, s->feed.count);
  bool ok = true;
  for (uint32_t i = 0; i < s->observed.count && ok; i++)
    ok = put_range(s, values, &out, &s->observed.data[i]);
  ok = ok && glow_output_write(ctx, path, &(GlowBytes){out.data, out.size}, 1);
  glow_defer_pop(ctx, &release, true);
  return ok ? GLOW_OK : GLOW_IO;
}
