/* See compare.h. */
#include "test/random/compare.h"
#include "analysis/cost.h"
#include "driver/passes.h"

static void add_variables(GlowModule *m, GlowValues *values, GlowBindings *outputs) {
  for (GlowStorage *s = m->first_storage; s; s = s->next) {
    GlowTensor *t = s->cls == GLOW_VARIABLE ? glow_values_take(values, s) : NULL;
    if (!t)
      continue;
    GlowStr name = glow_str_printf(m->ctx, "@%s", s->value.name);
    glow_vec_push(m->ctx->arena, outputs, ((GlowBinding){name, t}));
  }
}

/* A loop of a pattern may run for ever on random inputs. */
enum { MAX_STEPS = 100000 };

static void count_step(void *steps, const GlowNode *n, GlowTensor *const *results) {
  (void)results;
  if (++*(uint32_t *)steps > MAX_STEPS)
    glow_throw(n->block->module->ctx, GLOW_BAD_INPUT);
}

GlowStatus glow_run_copy_by(GlowBackendFn run, const GlowRunOptions *options, const GlowModule *m,
                            GlowStr name, const GlowBindings *inputs, GlowBindings *outputs) {
  GlowModule *copy = glow_module_clone(m);
  GlowRunOptions o = *options;
  o.values = glow_values_create(copy);
  GlowStatus status = run(glow_module_function(copy, name), inputs, outputs, &o);
  if (status == GLOW_OK)
    add_variables(copy, o.values, outputs);
  glow_values_destroy(o.values);
  glow_module_destroy(copy);
  return status;
}

static GlowStatus run(const GlowModule *m, GlowStr name, const GlowBindings *inputs,
                      GlowBindings *outputs, int64_t max_memory) {
  uint32_t steps = 0;
  GlowRunOptions options = {.trace = count_step, .trace_user = &steps, .max_memory = max_memory};
  return glow_run_copy_by(glow_interp_run, &options, m, name, inputs, outputs);
}

GlowStatus glow_run_copy(const GlowModule *m, GlowStr name, const GlowBindings *inputs,
                         GlowBindings *outputs) {
  return run(m, name, inputs, outputs, 0);
}

GlowStatus glow_run_small(const GlowModule *m, GlowStr name, const GlowBindings *inputs,
                          GlowBindings *outputs) {
  GlowFunction *f = glow_module_function(m, name);
  int64_t macs = f->kind == GLOW_FUNC ? glow_function_cost(f).macs : 0;
  if (macs > GLOW_MOST_MACS) {
    glow_error(m->ctx, f->src, "%lld multiply-adds are too many", (long long)macs);
    return GLOW_BAD_INPUT;
  }
  return run(m, name, inputs, outputs, GLOW_MOST_BYTES);
}

static const GlowTensor *find(const GlowBindings *b, GlowStr name) {
  for (uint32_t i = 0; i < b->count; i++)
    if (b->data[i].name == name)
      return b->data[i].tensor;
  return NULL;
}

static const char *describe(GlowContext *ctx, GlowStr name, const GlowTensor *want,
                            const GlowTensor *got) {
  GlowText t;
  glow_text_init(&t, ctx);
  GlowCompare c = glow_tensor_compare(ctx, got, want, 0, 0);
  if (c.mismatch)
    glow_text_printf(&t, "output %s: %s", name, c.mismatch);
  else
    glow_compare_print(&t, name, want, &c);
  const char *message = glow_str(ctx, glow_text_cstr(&t));
  glow_text_release(&t);
  return message;
}

const char *glow_outputs_differ(GlowContext *ctx, const GlowBindings *want,
                                const GlowBindings *got) {
  for (uint32_t i = 0; i < want->count; i++) {
    GlowStr name = want->data[i].name;
    const GlowTensor *t = find(got, name);
    if (!t && name[0] == '@') /* a variable that is not read any more */
      continue;
    if (!t)
      return glow_str_printf(ctx, "output %s is missing", name);
    if (!glow_tensor_same_bits(want->data[i].tensor, t))
      return describe(ctx, name, want->data[i].tensor, t);
  }
  return NULL;
}

static bool make(GlowModule *m, GlowNeedBit need, const char *maker) {
  if (glow_need_holds(m, need, "", false))
    return true;
  const GlowPipeline *p = glow_pipeline_parse(m->ctx, &glow_passes, maker);
  return p && glow_pipeline_run(m, p, &(GlowRunnerOptions){.verify_each = true}) == GLOW_OK &&
         glow_need_holds(m, need, "", false);
}

bool glow_make_needs(GlowModule *m, GlowNeeds needs) {
  static const char *const makers[GLOW_NEED_COUNT] = {[GLOW_NEED_BIT_INLINED] = GLOW_INLINE_ALL,
                                                      [GLOW_NEED_BIT_LOWERED] = "lower",
                                                      [GLOW_NEED_BIT_PLAIN] = "drop-layouts",
                                                      [GLOW_NEED_BIT_MATERIALIZED] = "materialize",
                                                      [GLOW_NEED_BIT_PLANNED] = "plan-memory"};
  for (int bit = 0; bit < GLOW_NEED_COUNT; bit++)
    if (needs >> bit & 1 && makers[bit] && !make(m, (GlowNeedBit)bit, makers[bit]))
      return false;
  return true;
}
