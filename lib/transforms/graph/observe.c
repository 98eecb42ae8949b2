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
 * Of what contractions read, the elements of each channel are added up besides:
 *
 *   t = ObserveSums(y, @y.sums)                        Save(t, @y.sums)
 *
 * With `channels` the smallest and the largest element of each of these channels, or 0, are in
 * variables, too:
 *
 *   l = ReduceMin(y, axes)     m = Min(l, @y.low)     Save(m, @y.low)
 *   h = ReduceMax(y, axes)     n = Max(h, @y.high)    Save(n, @y.high)
 *
 * Requested: it adds variables. Values stay as they are. */
#include "num/range.h"
#include "num/sums.h"
#include "pass/pass.h"
#include "quantize/observed.h"
#include "transforms/contraction.h"

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

/* The smallest elements of channels, or the largest ones: `merge` is Min or Max. The other axes
 * stay with extent 1. */
static bool observe_ends(GlowBuilder *b, const GlowNode *reader, uint32_t axis, bool low) {
  GlowModule *m = b->module;
  GlowValue *v = glow_node_in(reader, GLOW_CONTRACTION_X);
  int64_t axes[GLOW_MAX_RANK], dims[GLOW_MAX_RANK];
  uint32_t count = 0, rank = v->type->rank;
  for (uint32_t i = 0; i < rank; i++) {
    dims[i] = i == axis ? v->type->dims[i].size : 1;
    if (i != axis)
      axes[count++] = i;
  }
  GlowStorage *state = glow_storage_create(
      m, GLOW_VARIABLE, glow_str_printf(m->ctx, low ? "%s.low" : "%s.high", v->name),
      glow_type_exact(m->ctx, GLOW_KIND_FLOAT, rank, dims), (GlowInit){.kind = GLOW_INIT_SPLAT});
  GlowValue *end = glow_build_reduce(b, low ? GLOW_OP_REDUCE_MIN : GLOW_OP_REDUCE_MAX, v,
                                     glow_constant_ints(m, reader, "axes", axes, count));
  end = glow_then2(b, low ? GLOW_OP_MIN : GLOW_OP_MAX, end, &state->value);
  GlowValue *saved[] = {end, &state->value};
  return end && glow_build(b, GLOW_OP_SAVE, saved, 2, NULL, NULL);
}

static bool observe_sums(GlowBuilder *b, GlowValue *v, uint32_t axis) {
  GlowContext *ctx = b->module->ctx;
  int64_t dims[] = {v->type->dims[axis].size, GLOW_SUMS_SIZE};
  GlowStorage *state = glow_storage_create(
      b->module, GLOW_VARIABLE, glow_str_printf(ctx, "%s.sums", v->name),
      glow_type_exact(ctx, GLOW_KIND_I64, 2, dims), (GlowInit){.kind = GLOW_INIT_SPLAT});
  GlowObserveSumsMembers m = {.axis = axis};
  GlowValue *next = glow_build2(b, GLOW_OP_OBSERVE_SUMS, v, &state->value, &m, NULL);
  GlowValue *saved[] = {next, &state->value};
  return next && glow_build(b, GLOW_OP_SAVE, saved, 2, NULL, NULL);
}

static bool observe_channels(GlowBuilder *b, GlowValue *v, bool ends) {
  uint32_t axis;
  const GlowNode *reader = glow_channels_reader(v, &axis);
  if (!reader)
    return true;
  return observe_sums(b, v, axis) &&
         (!ends || v->type->dims[axis].size < 2 ||
          (observe_ends(b, reader, axis, true) && observe_ends(b, reader, axis, false)));
}

bool glow_pass_observe(GlowPassRun *run) {
  GlowValueList values = glow_observable_values(run->function, run->arena);
  GlowBuilder b = glow_builder_at_end(run->function->body);
  b.before = run->function->body->first;
  const GlowNode *last = NULL;
  bool channels = glow_pass_option(run, "channels") != NULL;
  for (uint32_t i = 0; i < values.count; i++) {
    GlowValue *v = values.data[i];
    const GlowNode *n = v->kind == GLOW_VALUE_RESULT ? v->def.node : NULL;
    if (is_observed(v))
      continue;
    glow_pass_changed(run, n, "counts %s", glow_observed_name(run->ctx, v));
    if (n != last) /* results of one node are counted in their order */
      b.before = n->next;
    last = n;
    if (!observe(run, &b, v) || !observe_channels(&b, v, channels))
      return false;
  }
  return true;
}
