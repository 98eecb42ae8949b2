/* glow-run --each: runs a model on samples, one batch after the other, to note ranges, to judge it
 * by labels or by another model, or to write its outputs. */
#include <stdio.h>
#include <string.h>

#include "backend/backends.h"
#include "driver/judge.h"
#include "driver/sampled.h"
#include "tools/glow-run/glow_run.h"

typedef struct Each {
  GlowContext *ctx;
  const GlowRunCommand *command;
  GlowSampledSetup how;
  GlowSampled model, other; /* the other one with --against */
  GlowJudge judge;
  GlowBindings stacked; /* owned: for --output-dir, the rows of all samples */
} Each;

static void close_each(void *each) {
  Each *e = each;
  for (uint32_t i = 0; i < e->stacked.count; i++)
    glow_tensor_free(e->stacked.data[i].tensor);
  glow_sampled_close(&e->other);
  glow_sampled_close(&e->model);
}

/* ---- The command line ------------------------------------------------------------------------ */

static bool refuse(GlowContext *ctx, bool wrong, const char *message) {
  if (wrong)
    glow_error(ctx, GLOW_NOWHERE, "%s", message);
  return wrong;
}

bool glow_run_check_each(GlowContext *ctx, const GlowRunCommand *c) {
  bool each = c->each.count > 0, labels = c->truth != NULL, other = c->against != NULL;
  bool once = c->steps || c->expects.count || c->test_data || c->softmax || c->labels || c->top_k ||
              c->save_state || c->profile || c->trace || c->debug || c->primitives || c->verbose;
  return !(refuse(ctx, !each && (c->ranges || labels || other),
                  "--ranges, --truth and --against need --each") ||
           refuse(ctx, each && once,
                  "--each goes together with --input, --state, --ranges, --truth, --against and "
                  "--output-dir alone") ||
           refuse(ctx, each && !c->ranges && !labels && !other && !c->output_dir,
                  "--each runs a model for --ranges, --truth, --against or --output-dir") ||
           refuse(ctx, c->ranges_channels && !c->ranges, "--ranges-channels needs --ranges") ||
           refuse(ctx, c->verdict.accuracy >= 0 && !labels, "--min-accuracy needs --truth") ||
           refuse(ctx, (c->verdict.agreement >= 0 || c->verdict.cosine >= -1) && !other,
                  "--min-agreement and --min-cosine need --against"));
}

/* ---- Outputs --------------------------------------------------------------------------------- */

/* Room for the rows of all samples, of each output that has rows. */
static bool begin_stack(Each *e, const GlowBindings *outputs) {
  const GlowFeed *f = &e->model.feed;
  for (uint32_t i = 0; i < outputs->count; i++) {
    const GlowBinding *b = &outputs->data[i];
    const GlowType *t = b->tensor->type;
    if (t->cls != GLOW_TYPE_TENSOR || t->kind == GLOW_KIND_STRING || t->layout || !t->rank ||
        t->dims[0].size != f->batch || glow_kind_info[t->kind].bits < 8)
      continue;
    GlowDim dims[GLOW_MAX_RANK];
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    dims[0] = GLOW_EXACT(f->count);
    GlowBinding all = {b->name,
                       glow_tensor_create(e->ctx, glow_type_with_dims(e->ctx, t, t->rank, dims))};
    glow_vec_push(e->ctx->arena, &e->stacked, all);
  }
  return !refuse(e->ctx, !e->stacked.count, "--output-dir: no output has a row for each sample");
}

static bool stack(Each *e, const GlowBindings *outputs, int64_t first, int64_t n) {
  if (!first && !begin_stack(e, outputs))
    return false;
  for (uint32_t i = 0; i < e->stacked.count; i++) {
    GlowTensor *all = e->stacked.data[i].tensor;
    const GlowTensor *t = glow_bindings_find(outputs, e->stacked.data[i].name);
    size_t row = all->bytes / (size_t)e->model.feed.count;
    if (t && row)
      memcpy((char *)all->data + (size_t)first * row, t->data, (size_t)n * row);
  }
  return true;
}

/* The session takes the stacked outputs to write them. */
static GlowStatus write_stack(Each *e) {
  GlowSession *s = &e->model.session;
  GlowBindings own = s->outputs;
  s->outputs = e->stacked;
  GlowStatus status = glow_session_write_outputs(s, e->command->output_dir);
  s->outputs = own;
  return status;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static GlowStatus run_all(Each *e) {
  const GlowFeed *f = &e->model.feed;
  bool judges = e->judge.truth || e->judge.compares;
  for (int64_t first = 0; first < f->count; first += f->batch) {
    int64_t n = f->count - first < f->batch ? f->count - first : f->batch;
    GlowStatus status = glow_sampled_run(&e->model, first, n);
    if (status == GLOW_OK && e->judge.compares)
      status = glow_sampled_run(&e->other, first, n);
    if (status != GLOW_OK)
      return status;
    const GlowBindings *got = &e->model.runnable->outputs;
    const GlowBindings *want = e->judge.compares ? &e->other.runnable->outputs : NULL;
    if (judges && !glow_judge_add(&e->judge, got, want, f->batch, n))
      return GLOW_BAD_INPUT;
    if (e->command->output_dir && !stack(e, got, first, n))
      return GLOW_BAD_INPUT;
  }
  return GLOW_OK;
}

static GlowStatus open_truth(Each *e) {
  GlowContext *ctx = e->ctx;
  const GlowType *label = glow_type_scalar(ctx, GLOW_KIND_I64);
  if (!e->command->truth)
    return GLOW_OK;
  const GlowSamples *truth = glow_samples_open(ctx, e->command->truth, label, NULL);
  e->judge.truth = truth;
  if (!truth || truth->count == e->model.feed.count)
    return truth ? GLOW_OK : GLOW_BAD_INPUT;
  glow_error(ctx, glow_loc_file(ctx, truth->name), "it has %lld labels for %lld samples",
             (long long)truth->count, (long long)e->model.feed.count);
  return GLOW_BAD_INPUT;
}

static GlowStatus open_other(Each *e) {
  GlowSampledSetup how = e->how;
  if (!e->command->against)
    return GLOW_OK;
  how.path = e->command->against;
  how.observes = false;
  e->judge.compares = true;
  GlowStatus status = glow_sampled_open(&e->other, e->ctx, &how);
  if (status != GLOW_OK || e->other.feed.batch == e->model.feed.batch)
    return status;
  glow_error(e->ctx, GLOW_NOWHERE, "the other model takes %lld samples in a run, not %lld",
             (long long)e->other.feed.batch, (long long)e->model.feed.batch);
  return GLOW_BAD_INPUT;
}

static GlowStatus say(Each *e) {
  GlowText out;
  GlowDefer release;
  glow_text_init(&out, e->ctx);
  glow_defer_push(e->ctx, &release, glow_text_release_fn, &out);
  glow_judge_print(&out, &e->judge);
  fwrite(out.data, 1, out.size, stdout);
  glow_defer_pop(e->ctx, &release, true);
  return glow_judge_holds(&e->judge, &e->command->verdict) ? GLOW_OK : GLOW_BAD_INPUT;
}

static GlowStatus run(Each *e) {
  const GlowRunCommand *c = e->command;
  GlowStatus status = glow_sampled_open(&e->model, e->ctx, &e->how);
  if (status == GLOW_OK)
    status = open_truth(e);
  if (status == GLOW_OK)
    status = open_other(e);
  if (status == GLOW_OK)
    status = run_all(e);
  if (status == GLOW_OK && c->ranges)
    status = glow_sampled_write_ranges(&e->model, c->ranges);
  if (status == GLOW_OK && c->output_dir)
    status = write_stack(e);
  return status == GLOW_OK ? say(e) : status;
}

GlowStatus glow_run_each(GlowContext *ctx, const GlowRunCommand *c, const char *path) {
  const GlowBackend *backend = glow_model_backend(ctx, &glow_backends, &c->model);
  if (!backend)
    return GLOW_BAD_USAGE;
  GlowPool *pool = glow_pool_make(ctx, (int)c->model.threads);
  Each e = {.ctx = ctx,
            .command = c,
            .how = {.path = path,
                    .model = &c->model,
                    .backend = backend,
                    .pool = pool,
                    .each = &c->each,
                    .inputs = &c->inputs,
                    .state = c->state,
                    .image = &c->image,
                    .observes = c->ranges != NULL,
                    .channels = c->ranges_channels},
            .judge = {.ctx = ctx}};
  GlowDefer close_pool, close;
  glow_defer_push(ctx, &close_pool, glow_pool_destroy_fn, pool);
  glow_defer_push(ctx, &close, close_each, &e);
  GlowStatus status = run(&e);
  glow_defer_pop(ctx, &close, true);
  glow_defer_pop(ctx, &close_pool, true);
  return status;
}
