/* See score.h. */
#include "train/score.h"

#include <string.h>

const GlowScore *glow_scores_find(const GlowScores *scores, const char *name) {
  for (uint32_t i = 0; i < scores->count; i++)
    if (!strcmp(scores->data[i].name, name))
      return &scores->data[i];
  return NULL;
}

/* Sets the score of a name. */
static void set(GlowContext *ctx, GlowScores *scores, GlowStr name, double value) {
  for (uint32_t i = 0; i < scores->count; i++)
    if (scores->data[i].name == name) {
      scores->data[i].value = value;
      return;
    }
  glow_vec_push(ctx->arena, scores, ((GlowScore){name, value}));
}

static bool is_number(const GlowTensor *t) {
  return glow_type_is_tensor(t->type) && t->type->kind != GLOW_KIND_STRING &&
         glow_kind_info[t->type->kind].cls != GLOW_CLASS_COMPLEX;
}

void glow_scores_of_run(GlowContext *ctx, const GlowRunnable *r, GlowScores *scores) {
  for (uint32_t i = 0; i < r->outputs.count; i++) {
    const GlowBinding *b = &r->outputs.data[i];
    if (is_number(b->tensor) && glow_tensor_elements(b->tensor) == 1)
      set(ctx, scores, b->name, glow_tensor_get_double(b->tensor, 0));
  }
}

/* ---- Evaluation ------------------------------------------------------------------------------ */

/* How an output says something about the samples of a batch. */
typedef enum Form { FORM_NONE, FORM_ROWS, FORM_MEAN, FORM_COUNT } Form;

static Form form_of(const GlowTensor *t, int64_t batch) {
  if (!is_number(t))
    return FORM_NONE;
  if (t->type->rank && t->type->dims[0].size == batch && glow_tensor_elements(t))
    return FORM_ROWS;
  if (glow_tensor_elements(t) != 1)
    return FORM_NONE;
  return glow_kind_is_float(t->type->kind) ? FORM_MEAN : FORM_COUNT;
}

typedef struct Evaluation {
  GlowFeed *feed;
  GlowRunnable *runnable;
  double *sums; /* by output, over the samples so far */
} Evaluation;

static double sum_of_rows(const GlowTensor *t, int64_t rows, int64_t batch) {
  int64_t width = glow_tensor_elements(t) / batch;
  double sum = 0;
  for (int64_t i = 0; i < rows * width; i++)
    sum += glow_tensor_get_double(t, i);
  return sum / (double)width;
}

/* Adds what the outputs of the last run say of their first n samples, and leaves out the rest. If
 * `alone`, all places of the batch hold one sample, and it is taken away as often as it was
 * repeated beside n samples. */
static void add(Evaluation *e, int64_t n, bool alone) {
  int64_t batch = e->feed->batch;
  for (uint32_t i = 0; i < e->runnable->outputs.count; i++) {
    const GlowTensor *t = e->runnable->outputs.data[i].tensor;
    Form form = form_of(t, batch);
    double *sum = &e->sums[i];
    if (form == FORM_ROWS && !alone) {
      *sum += sum_of_rows(t, n, batch);
    } else if (form == FORM_MEAN || form == FORM_COUNT) {
      double all = glow_tensor_get_double(t, 0) * (double)(form == FORM_MEAN ? batch : 1);
      *sum += alone ? -all * (double)(batch - n) / (double)batch : all;
    }
  }
}

static bool has_one_number(const Evaluation *e) {
  bool found = false;
  for (uint32_t i = 0; i < e->runnable->outputs.count; i++) {
    Form form = form_of(e->runnable->outputs.data[i].tensor, e->feed->batch);
    found |= form == FORM_MEAN || form == FORM_COUNT;
  }
  return found;
}

/* Runs on n samples from `first` on; fewer than a batch are the last ones. */
static GlowStatus run_batch(Evaluation *e, int64_t first, int64_t n, uint64_t *samples) {
  for (int64_t i = 0; i < n; i++)
    samples[i] = (uint64_t)(first + i);
  if (!glow_feed_fill(e->feed, samples, n))
    return GLOW_BAD_INPUT;
  return glow_runnable_run(e->runnable);
}

static GlowStatus run_all(Evaluation *e, GlowArena *arena) {
  const GlowFeed *f = e->feed;
  uint64_t *samples = GLOW_NEW_ARRAY(arena, uint64_t, (size_t)f->batch);
  for (int64_t first = 0; first < f->count; first += f->batch) {
    int64_t n = f->count - first < f->batch ? f->count - first : f->batch;
    GlowStatus status = run_batch(e, first, n, samples);
    if (status != GLOW_OK)
      return status;
    if (!e->sums)
      e->sums = GLOW_NEW_ARRAY(arena, double, e->runnable->outputs.count);
    add(e, n, false);
    if (n == f->batch || !has_one_number(e))
      continue;
    status = run_batch(e, first, 1, samples);
    if (status != GLOW_OK)
      return status;
    add(e, n, true);
  }
  return GLOW_OK;
}

GlowStr glow_score_name(GlowContext *ctx, GlowStr output) {
  return strcmp(output, "right") ? output : glow_str(ctx, "accuracy");
}

GlowStatus glow_evaluate(GlowFeed *f, GlowRunnable *r, GlowScores *scores) {
  GlowArena *arena = glow_arena_create(f->ctx);
  Evaluation e = {.feed = f, .runnable = r};
  GlowStatus status = run_all(&e, arena);
  for (uint32_t i = 0; status == GLOW_OK && i < r->outputs.count; i++)
    if (form_of(r->outputs.data[i].tensor, f->batch) != FORM_NONE)
      set(f->ctx, scores, glow_score_name(f->ctx, r->outputs.data[i].name),
          e.sums[i] / (double)f->count);
  glow_arena_destroy(arena);
  return status;
}

/* ---- Conditions ------------------------------------------------------------------------------ */

bool glow_condition_read(GlowContext *ctx, const char *text, GlowCondition *c) {
  size_t length = strcspn(text, "<>");
  if (!length || !text[length])
    return false;
  *c = (GlowCondition){.name = glow_str_n(ctx, text, length), .order = text[length]};
  const char *bound = text + length + 1;
  c->equal = *bound == '=';
  bound += c->equal;
  char *end;
  c->bound = glow_parse_double(bound, &end);
  return end != bound && !*end && c->bound == c->bound;
}

bool glow_condition_holds(const GlowCondition *c, double value) {
  return (c->equal && value == c->bound) || (c->order == '<' ? value < c->bound : value > c->bound);
}
