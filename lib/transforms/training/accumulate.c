/* Accumulation: a step over a batch of R slices, each of the size that the function is bound to.
 *
 *   accumulate=4    @train(%x : float<32 x ...>) is a Loop over slices of 8: it Calls the gradient
 * of
 *                   @net(%x : float<8 x ...>) and carries the sums, in ascending order from 0
 *
 * Inputs become parameters, since they have another extent in each function. Gradients and the loss
 * are divided by R at the end; how many are right is a sum. */
#include "transforms/training/training.h"

/* ---- Parameters ------------------------------------------------------------------------------ */

static const GlowFunction *function_of(const GlowNode *n) {
  const GlowBlock *b = n->block;
  for (const GlowBlock *up; (up = glow_block_parent(b));)
    b = up;
  return b->owner == GLOW_BLOCK_FUNCTION ? b->of.function : NULL;
}

static bool is_read_by(const GlowUse *u, const GlowFunction *f) {
  bool saved = u->user->op == GLOW_OP_SAVE && u == &u->user->operands[GLOW_SAVE_IN_STORAGE];
  return !saved && function_of(u->user) == f;
}

static bool is_read(const GlowStorage *s, const GlowFunction *f) {
  for (const GlowUse *u = s->value.uses; u; u = u->next)
    if (is_read_by(u, f))
      return true;
  return false;
}

static bool refuse(GlowTraining *t, GlowLoc loc, const char *why, GlowStr name) {
  glow_error(t->ctx, loc, "-train: accumulate: %s'%s'", why, name);
  return false;
}

/* Checks the first extent of an input, which all of them have. */
static bool check_batch(GlowTraining *t, const GlowValue *v, GlowLoc loc) {
  const GlowType *type = v->type;
  if (!glow_type_is_tensor(type) || !glow_type_is_static(type) || type->rank == 0)
    return refuse(t, loc, "an input has no exact first extent: ", v->name);
  if (t->batch == 0)
    t->batch = type->dims[0].size;
  return t->batch == type->dims[0].size ||
         refuse(t, loc, "an input has another first extent than the others: ", v->name);
}

static bool make_parameter(GlowTraining *t, GlowFunction *f, GlowStorage *s) {
  GlowValue *p = glow_block_add_param(f->body, s->value.name, s->value.type);
  if (p->name != s->value.name)
    return refuse(t, s->src, "an input has the name of a value: ", s->value.name);
  for (GlowUse *u = s->value.uses, *next; u; u = next) {
    next = u->next;
    if (is_read_by(u, f))
      glow_use_set(u, p);
  }
  if (!s->value.uses)
    glow_storage_remove(s);
  return true;
}

bool glow_training_parameters(GlowTraining *t, GlowFunction *f) {
  for (uint32_t i = 0; i < f->body->nparams; i++)
    if (!check_batch(t, f->body->params[i], f->src))
      return false;
  for (GlowStorage *s = t->module->first_storage, *next; s; s = next) {
    next = s->next;
    if (s->cls == GLOW_PLACEHOLDER && is_read(s, f) &&
        (!check_batch(t, &s->value, s->src) || !make_parameter(t, f, s)))
      return false;
  }
  return f->body->nparams || refuse(t, f->src, "a function has no input: ", f->name);
}

const GlowType *glow_training_whole(const GlowTraining *t, const GlowType *type) {
  GlowDim dims[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < type->rank; i++)
    dims[i] = i ? type->dims[i] : GLOW_EXACT(type->dims[0].size * t->slices);
  return glow_type_with_dims(t->ctx, type, type->rank, dims);
}

/* ---- The loop -------------------------------------------------------------------------------- */

/* x [R * batch, ...] as [R, batch, ...]. */
static GlowValue *as_slices(GlowTraining *t, const GlowNode *n, GlowValue *x) {
  int64_t dims[GLOW_MAX_RANK] = {t->slices, t->batch};
  for (uint32_t i = 1; i < x->type->rank && i + 1 < GLOW_MAX_RANK; i++)
    dims[i + 1] = x->type->dims[i].size;
  return glow_build_shaped(&t->b, n, x, x->type->rank + 1, dims);
}

/* The body: a Call for slice %i, and the sums of what it gives. */
static GlowBlock *build_body(GlowTraining *t, const GlowFunction *g, GlowValue *const *slices,
                             GlowValue *seed, GlowValue *const *zeros) {
  GlowBuilder b;
  GlowBlock *body = glow_build_region(&t->b, "body", &b);
  GlowValue *i = glow_block_add_param(body, glow_str(t->ctx, "slice"),
                                      glow_type_scalar(t->ctx, GLOW_KIND_I64));
  uint32_t nparams = t->loss->body->nparams, count = g->nresults;
  GlowValue **yields = GLOW_NEW_ARRAY(t->run->arena, GlowValue *, count + 1);
  GlowValue **ins = GLOW_NEW_ARRAY(t->run->arena, GlowValue *, nparams + 1);
  yields[0] =
      glow_block_add_param(body, glow_str(t->ctx, "go"), glow_type_scalar(t->ctx, GLOW_KIND_BOOL));
  for (uint32_t k = 0; k < count; k++)
    yields[k + 1] = glow_block_add_param(body, glow_str(t->ctx, "sum"), zeros[k]->type);
  for (uint32_t k = 0; k < nparams; k++)
    ins[k] = glow_build_picked(&b, slices[k], i, 0);
  ins[nparams] = seed;
  GlowCallMembers members = {.callee = g->name};
  GlowNodeSpec spec = {.op = GLOW_OP_CALL,
                       .ins = ins,
                       .nins = nparams + (seed != NULL),
                       .members = &members,
                       .nresults = count};
  GlowNode *call = glow_node_create(&b, &spec);
  for (uint32_t k = 0; call && k < count; k++)
    yields[k + 1] = glow_then2(&b, GLOW_OP_ADD, yields[k + 1], &call->results[k]);
  return call && glow_build_terminator(body, GLOW_OP_YIELD, yields, count + 1) ? body : NULL;
}

/* sum / R; whole numbers are counts, which stay. */
static GlowValue *mean_of(GlowTraining *t, GlowValue *sum) {
  if (!sum || !glow_kind_is_float(sum->type->kind))
    return sum;
  GlowValue *count = glow_build_scalar(&t->b, sum->type->kind, (double)t->slices);
  return glow_then2(&t->b, GLOW_OP_DIV, sum, count);
}

bool glow_training_accumulate(GlowTraining *t, const GlowFunction *g, GlowValue *seed,
                              GlowValue **results) {
  uint32_t nparams = t->loss->body->nparams, count = g->nresults;
  GlowValue *trip = glow_build_scalar(&t->b, GLOW_KIND_I64, (double)t->slices);
  GlowValue **slices = GLOW_NEW_ARRAY(t->run->arena, GlowValue *, nparams);
  GlowValue **ins = GLOW_NEW_ARRAY(t->run->arena, GlowValue *, count + GLOW_LOOP_IN_INIT);
  bool ok = trip != NULL;
  for (uint32_t k = 0; ok && k < nparams; k++)
    ok = (slices[k] = as_slices(t, trip->def.node, t->b.block->params[k])) != NULL;
  ins[GLOW_LOOP_IN_TRIP] = trip;
  for (uint32_t k = 0; ok && k < count; k++) {
    GlowScalar zero = {.is_int = glow_kind_is_integer(g->results[k]->kind)};
    ins[GLOW_LOOP_IN_INIT + k] = glow_build_filled(&t->b, g->results[k], zero);
    ok = ins[GLOW_LOOP_IN_INIT + k] != NULL;
  }
  GlowBlock *body = ok ? build_body(t, g, slices, seed, ins + GLOW_LOOP_IN_INIT) : NULL;
  GlowNodeSpec spec = {.op = GLOW_OP_LOOP,
                       .ins = ins,
                       .nins = count + GLOW_LOOP_IN_INIT,
                       .regions = &body,
                       .nregions = 1,
                       .nresults = count,
                       .types = g->results};
  GlowNode *loop = body ? glow_node_create(&t->b, &spec) : NULL;
  for (uint32_t k = 0; loop && k < count; k++)
    if (!(results[k] = mean_of(t, &loop->results[k])))
      return false;
  return loop != NULL;
}
