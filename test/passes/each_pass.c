/* See each_pass.h. */
#include "test/passes/each_pass.h"
#include "driver/passes.h"

typedef struct Tester {
  GlowEachPass *each;
  GlowContext *ctx;
  GlowBindings before; /* what the module computes as it is */
} Tester;

/* One pipeline on a copy of `base`. */
typedef struct Trial {
  const GlowModule *base;
  const GlowPipeline *pipeline;
  const GlowPass *pass; /* alone or left out; NULL: the whole of -O2 */
  bool alone, exact;
  GlowNeeds needs;
  uint64_t *counts; /* gets the rewrites by pass; may be NULL */
} Trial;

static const char *judge(Tester *t, const GlowModule *m, bool exact) {
  GlowBindings after = {0};
  const char *wrong = "it does not run any more";
  if (!glow_module_function(m, t->each->entry))
    return "the function is gone";
  if (glow_run_copy(m, t->each->entry, t->each->inputs, &after) == GLOW_OK)
    wrong = exact ? glow_outputs_differ(t->ctx, &t->before, &after)
                  : t->each->judge(t->each->user, &t->before, &after);
  glow_random_release(&after);
  return wrong;
}

/* Runs the pipeline and judges what it made. */
static void try_pipeline(Tester *t, const Trial *trial) {
  GlowEachPass *e = t->each;
  GlowModule *m = glow_module_clone(trial->base);
  uint64_t changes = 0;
  GlowRunnerOptions options = {.verify_each = true,
                               .math = trial->exact ? GLOW_MATH_EXACT : GLOW_MATH_BOUNDED,
                               .changes = &changes,
                               .pass_changes = trial->counts};
  const char *wrong = NULL;
  bool prepared = glow_make_needs(m, trial->needs), ran = false;
  if (prepared)
    ran = glow_pipeline_run(m, trial->pipeline, &options) == GLOW_OK;
  bool may_refuse = trial->pass && trial->pass->run == glow_pass_irgen;
  if (prepared && !ran && !may_refuse)
    wrong = "the pipeline fails";
  bool changed = ran && (changes || !glow_module_equal(trial->base, m));
  if (changed)
    wrong = judge(t, m, trial->exact);
  if (changed || wrong) {
    e->judged++;
    e->failed += wrong != NULL;
    e->report(e->user, trial->pass, trial->alone, trial->exact, changes, wrong);
  }
  glow_module_destroy(m);
}

/* ---- Pipelines ------------------------------------------------------------------------------- */

static bool is_judged(const GlowPass *p) {
  return p->cls == GLOW_PASS_EXACT || p->cls == GLOW_PASS_BOUNDED;
}

static void try_alone(Tester *t, const GlowModule *base, bool programs) {
  for (uint32_t i = 0; i < glow_passes.count; i++) {
    const GlowPass *p = &glow_passes.passes[i];
    if (!is_judged(p) || (p->level == GLOW_PASS_PROGRAM) != programs)
      continue;
    GlowPipeline *alone = glow_pipeline_create(t->ctx, &glow_passes);
    if (glow_pipeline_add(alone, p, NULL))
      try_pipeline(t, &(Trial){.base = base,
                               .pipeline = alone,
                               .pass = p,
                               .alone = true,
                               .exact = p->cls == GLOW_PASS_EXACT,
                               .needs = p->needs});
  }
}

/* -O2 at one level, whole and without each pass that rewrote something in it. */
static void try_o2(Tester *t, const GlowModule *base, GlowLevel level, bool exact) {
  uint64_t *counts = GLOW_NEW_ARRAY(t->ctx->arena, uint64_t, glow_passes.count);
  const GlowPipeline *whole = glow_pipeline_default(t->ctx, &glow_passes, base->target, level, 2,
                                                    exact ? GLOW_MATH_EXACT : GLOW_MATH_BOUNDED);
  Trial trial = {.base = base, .pipeline = whole, .exact = exact, .counts = counts};
  try_pipeline(t, &trial);
  bool bounded = false, programs = level == GLOW_LEVEL_PROGRAM;
  for (uint32_t i = 0; i < glow_passes.count; i++)
    bounded |= counts[i] && glow_passes.passes[i].cls == GLOW_PASS_BOUNDED;
  trial.counts = NULL;
  for (uint32_t i = 0; i < glow_passes.count; i++) {
    bool worked = counts[i] || (programs && glow_passes.passes[i].level == GLOW_PASS_PROGRAM);
    if (!worked || (!exact && !bounded)) /* without bounded rewrites it is the exact one */
      continue;
    trial.pass = &glow_passes.passes[i];
    trial.pipeline = glow_pipeline_without(whole, trial.pass);
    try_pipeline(t, &trial);
  }
}

/* The program of a copy of m; NULL if irgen refuses, as it may for sequences. */
static GlowModule *program_of(Tester *t, const GlowModule *m, const char *level) {
  const char *text = glow_str_printf(t->ctx, "%s,dce,dce<entry=%s>,irgen", level, t->each->entry);
  const GlowPipeline *p = glow_pipeline_parse(t->ctx, &glow_passes, text);
  GlowModule *copy = glow_module_clone(m);
  if (p && glow_pipeline_run(copy, p, &(GlowRunnerOptions){.math = GLOW_MATH_EXACT}) == GLOW_OK)
    return copy;
  glow_module_destroy(copy);
  return NULL;
}

/* Programs of graphs as they are have what graph passes would remove. */
static void try_programs(Tester *t) {
  static const char *const levels[] = {"O0", "O2"};
  for (int i = 0; i < 2; i++) {
    GlowModule *base = program_of(t, t->each->module, levels[i]);
    if (!base)
      return;
    if (i == 0)
      try_alone(t, base, true);
    try_o2(t, base, GLOW_LEVEL_PROGRAM, true);
    glow_module_destroy(base);
  }
}

bool glow_each_pass(GlowContext *ctx, GlowEachPass *each) {
  Tester t = {.each = each, .ctx = ctx};
  if (glow_run_copy(each->module, each->entry, each->inputs, &t.before) != GLOW_OK)
    return false;
  if (glow_module_has_level(each->module, GLOW_LEVEL_GRAPH)) {
    try_alone(&t, each->module, false);
    try_o2(&t, each->module, GLOW_LEVEL_GRAPH, true);
    try_o2(&t, each->module, GLOW_LEVEL_GRAPH, false);
  }
  try_programs(&t);
  glow_random_release(&t.before);
  return true;
}
