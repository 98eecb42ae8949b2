/* Profiles: each floating-point value that a function computes is counted in a variable.
 *
 *   y = Op(..)   becomes   y = Op(..)
 *                          s = ObserveRange(y, @y.range)
 *                          Save(s, @y.range)
 *
 * Placeholders, variables and parameters that the function reads are counted where it begins. What
 * regions compute, constants and other kinds are not counted. `glow-run --ranges` runs this pass
 * first, and writes the variables as a file of ranges.
 *
 * Requested: it adds variables. Values stay as they are. */
#include "num/range.h"
#include "pass/pass.h"
#include "quantize/observed.h"
#include "transforms/transforms.h"

static bool is_observed(const GlowValue *v) {
  for (const GlowUse *u = v->uses; u; u = u->next)
    if (u->user->op == GLOW_OP_OBSERVE_RANGE)
      return true;
  return false;
}

static bool observe(GlowPassRun *run, GlowBuilder *b, GlowValue *v) {
  GlowContext *ctx = run->ctx;
  int64_t size = GLOW_RANGE_SIZE;
  GlowStorage *state = glow_storage_create(
      run->module, GLOW_VARIABLE, glow_str_printf(ctx, "%s.range", v->name),
      glow_type_exact(ctx, GLOW_KIND_I64, 1, &size), (GlowInit){.kind = GLOW_INIT_SPLAT});
  b->src = glow_value_loc(v);
  GlowValue *next = glow_build2(b, GLOW_OP_OBSERVE_RANGE, v, &state->value, NULL, NULL);
  GlowValue *saved[] = {next, &state->value};
  return next && glow_build(b, GLOW_OP_SAVE, saved, 2, NULL, NULL);
}

bool glow_pass_observe(GlowPassRun *run) {
  GlowValueList values = glow_observable_values(run->function, run->arena);
  GlowBuilder b = glow_builder_at_end(run->function->body);
  b.before = run->function->body->first;
  const GlowNode *last = NULL;
  for (uint32_t i = 0; i < values.count; i++) {
    GlowValue *v = values.data[i];
    const GlowNode *n = v->kind == GLOW_VALUE_RESULT ? v->def.node : NULL;
    if (is_observed(v))
      continue;
    glow_pass_changed(run, n, "counts %s", glow_observed_name(run->ctx, v));
    if (n != last) /* results of one node are counted in their order */
      b.before = n->next;
    last = n;
    if (!observe(run, &b, v))
      return false;
  }
  return true;
}
