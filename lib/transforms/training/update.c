/* Clipping, and the nodes of the optimizer.
 *
 * An optimizer is an operator whose first operands are called Weight and Gradient. Its operands
 * Rate and Step are those of the step; every other one is a variable of the weight's type that
 * begins with zeros, NAME.velocity for Velocity, and that the result of this name with a 2 is saved
 * into. So an optimizer is its description and its lowering rule; nothing here knows it. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "transforms/training/training.h"

/* ---- Clipping -------------------------------------------------------------------------------- */

static GlowValue *two(GlowTraining *t, GlowOp op, GlowValue *x, GlowValue *y) {
  return glow_then2(&t->b, op, x, y);
}

/* The square root of the sum of all squares, in the order of the weights. */
static GlowValue *length_of(GlowTraining *t, GlowValue *const *gradients) {
  GlowReduceSumMembers all = {.keep = false};
  GlowValue *total = NULL;
  for (uint32_t i = 0; i < t->weights.count; i++) {
    GlowValue *square = two(t, GLOW_OP_MUL, gradients[i], gradients[i]);
    GlowValue *part = glow_then1(&t->b, GLOW_OP_REDUCE_SUM, square, &all);
    part = total && part ? glow_then_cast(&t->b, part, total->type->kind) : part;
    total = i ? two(t, GLOW_OP_ADD, total, part) : part;
  }
  return glow_then1(&t->b, GLOW_OP_SQRT, total, NULL);
}

/* Each derivative times Min(1, most / (norm + 1e-6)), as PyTorch has it. */
static bool clip_norm(GlowTraining *t, GlowValue **gradients, double most, GlowValue **norm) {
  *norm = length_of(t, gradients);
  if (!*norm)
    return false;
  GlowKind kind = (*norm)->type->kind;
  GlowValue *below = two(t, GLOW_OP_ADD, *norm, glow_build_scalar(&t->b, kind, 1e-6));
  GlowValue *part = two(t, GLOW_OP_DIV, glow_build_scalar(&t->b, kind, most), below);
  GlowValue *factor = two(t, GLOW_OP_MIN, part, glow_build_scalar(&t->b, kind, 1));
  for (uint32_t i = 0; factor && i < t->weights.count; i++) {
    GlowValue *by = glow_then_cast(&t->b, factor, gradients[i]->type->kind);
    gradients[i] = two(t, GLOW_OP_MUL, gradients[i], by);
    if (!gradients[i])
      return false;
  }
  return factor != NULL;
}

static bool clip_value(GlowTraining *t, GlowValue **gradients, double most) {
  for (uint32_t i = 0; i < t->weights.count; i++) {
    GlowKind kind = gradients[i]->type->kind;
    GlowValue *high = glow_build_scalar(&t->b, kind, most);
    GlowValue *low = glow_build_scalar(&t->b, kind, -most);
    gradients[i] = two(t, GLOW_OP_MIN, two(t, GLOW_OP_MAX, gradients[i], low), high);
    if (!gradients[i])
      return false;
  }
  return true;
}

/* A limit that must be above 0; 0 if it is not given, NaN after a diagnostic. */
static double limit(GlowTraining *t, const char *name) {
  double v = glow_training_number(t, name, 0);
  if (v > 0 || !glow_pass_option(t->run, name) || isnan(v))
    return v;
  glow_error(t->ctx, GLOW_NOWHERE, "-train: %s=%g must be above 0", name, v);
  return (double)NAN;
}

bool glow_training_clip(GlowTraining *t, GlowValue **gradients, GlowValue **norm) {
  double most = limit(t, "clip-value"), longest = limit(t, "clip-norm");
  *norm = NULL;
  if (isnan(most) || isnan(longest) || (most > 0 && !clip_value(t, gradients, most)))
    return false;
  return !(longest > 0) || clip_norm(t, gradients, longest, norm);
}

/* ---- Updates --------------------------------------------------------------------------------- */

static bool is_optimizer(const GlowOpDesc *d) {
  return d->node && d->nin > 2 && strcmp(d->in[0].name, "Weight") == 0 &&
         strcmp(d->in[1].name, "Gradient") == 0;
}

/* The operator that option `optimizer` names; AdamW is Adam with another default. */
static GlowOp find_optimizer(GlowTraining *t, const char *name) {
  GLOW_VEC(const char *) names = {0};
  for (int op = 0; op < GLOW_OP_COUNT; op++) {
    if (!is_optimizer(&glow_op_desc[op]))
      continue;
    glow_vec_push(t->run->arena, &names, glow_op_desc[op].node);
    if (strcmp(glow_op_desc[op].node, name) == 0)
      return (GlowOp)op;
  }
  if (strcmp(name, "AdamW") == 0)
    return GLOW_OP_ADAM;
  glow_vec_push(t->run->arena, &names, "AdamW");
  const char *near = glow_nearest(name, names.data, names.count);
  glow_error(t->ctx, GLOW_NOWHERE, "-train: unknown optimizer '%s'%s%s%s", name,
             near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  return GLOW_OP_COUNT;
}

static const GlowMember *find_member(const GlowOpDesc *d, const char *name) {
  for (uint32_t i = 0; i < d->nmembers; i++)
    if (strcmp(d->members[i].name, name) == 0)
      return &d->members[i];
  return NULL;
}

/* Refuses options that are members of other optimizers alone. */
static bool check_options(GlowTraining *t, GlowOp op) {
  bool ok = true;
  for (uint32_t i = 0; i < t->run->noptions; i++) {
    const char *name = t->run->option_names[i];
    bool elsewhere = false;
    for (int k = 0; k < GLOW_OP_COUNT; k++)
      elsewhere |= is_optimizer(&glow_op_desc[k]) && find_member(&glow_op_desc[k], name);
    if (!elsewhere || find_member(&glow_op_desc[op], name))
      continue;
    glow_error(t->ctx, GLOW_NOWHERE, "-train: %s has no '%s'", glow_op_desc[op].node, name);
    ok = false;
  }
  return ok;
}

/* The members of the optimizer: defaults, then what options of their names say. NULL after a
 * diagnostic. */
static const void *read_members(GlowTraining *t, GlowOp op, bool adamw) {
  const GlowOpDesc *d = &glow_op_desc[op];
  char *members = glow_arena_copy(t->module->arena, d->member_defaults, d->member_size);
  if (adamw) {
    GlowAdamMembers *m = (GlowAdamMembers *)(void *)members;
    m->decoupled = true;
    m->decay = (GlowScalar){.f = 0.01};
  }
  for (uint32_t i = 0; i < d->nmembers; i++) {
    const GlowMember *m = &d->members[i];
    if (!glow_pass_option(t->run, m->name))
      continue;
    if (m->type == GLOW_MEMBER_BOOL) {
      memcpy(members + m->offset, &(bool){true}, sizeof(bool));
      continue;
    }
    GlowScalar v = {.f = glow_training_number(t, m->name, 0)};
    if (isnan(v.f))
      return NULL;
    memcpy(members + m->offset, &v, sizeof v);
  }
  return check_options(t, op) ? members : NULL;
}

/* The variable of an operand of the optimizer that is its own: NAME.velocity for Velocity. */
static GlowStorage *state_of(GlowTraining *t, const GlowStorage *w, const char *port) {
  GlowStr name = glow_str_printf(t->ctx, "%s.%c%s", w->value.name, tolower(*port), port + 1);
  return glow_training_variable(t, name, w->value.type, (GlowScalar){.f = 0});
}

static bool update(GlowTraining *t, GlowOp op, const void *members, GlowStorage *w,
                   GlowValue *gradient, GlowValue *rate, GlowValue *count) {
  const GlowOpDesc *d = &glow_op_desc[op];
  GlowValue **ins = GLOW_NEW_ARRAY(t->run->arena, GlowValue *, d->nin);
  GlowStorage **saved = GLOW_NEW_ARRAY(t->run->arena, GlowStorage *, d->nout);
  uint32_t results = 0;
  saved[results++] = w;
  for (uint32_t i = 0; i < d->nin; i++) {
    const char *port = d->in[i].name;
    if (i == 0)
      ins[i] = &w->value;
    else if (i == 1)
      ins[i] = gradient;
    else if (strcmp(port, "Rate") == 0)
      ins[i] = rate;
    else if (strcmp(port, "Step") == 0)
      ins[i] = count;
    else if (results < d->nout && (saved[results] = state_of(t, w, port)))
      ins[i] = &saved[results++]->value;
    if (!ins[i])
      return false;
  }
  GlowNode *n = glow_build(&t->b, op, ins, d->nin, members, NULL);
  for (uint32_t i = 0; n && i < results; i++)
    if (!glow_training_save(t, &n->results[i], saved[i]))
      return false;
  return n != NULL;
}

bool glow_training_update(GlowTraining *t, GlowValue *const *gradients, GlowValue *rate,
                          GlowValue *count) {
  const char *name = glow_pass_option(t->run, "optimizer");
  name = name ? name : "SGD";
  GlowOp op = find_optimizer(t, name);
  if (op == GLOW_OP_COUNT)
    return false;
  const void *members = read_members(t, op, strcmp(name, "AdamW") == 0);
  if (!members)
    return false;
  for (uint32_t i = 0; i < t->weights.count; i++)
    if (!update(t, op, members, t->weights.data[i], gradients[i], rate, count))
      return false;
  return true;
}
