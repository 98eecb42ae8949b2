/* Faults of passes over graphs. */
#include "faults.h"
#include "transforms/rules.h"

static bool is_one_of(const GlowNode *n, const GlowOp *ops, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (n->op == ops[i])
      return true;
  return false;
}
#define IS_ONE_OF(n, ...)                                                                          \
  is_one_of((n), (const GlowOp[]){__VA_ARGS__},                                                    \
            sizeof((const GlowOp[]){__VA_ARGS__}) / sizeof(GlowOp))

static const GlowType *type_of(const GlowNode *n) { return n->results[0].type; }

/* A number as a value. */
static GlowValue *number(GlowBuilder *b, double v) {
  GlowModule *m = b->module;
  GlowInit init = {.kind = GLOW_INIT_SPLAT, .splat = {.f = v}};
  return &glow_storage_create(m, GLOW_CONSTANT, glow_str(m->ctx, "fault"),
                              glow_type_parse(m, "fault", "float<>"), init)
              ->value;
}

static GlowValue *copy(GlowBuilder *b, const GlowNode *n) {
  return &glow_fault_copy(b, n)->results[0];
}

/* ---- Windows --------------------------------------------------------------------------------- */

static GlowArray *pads_of(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  for (uint32_t i = 0; i < d->nmembers; i++)
    if (strcmp(d->members[i].name, "pads") == 0 && d->members[i].array)
      return (GlowArray *)((char *)n->members + d->members[i].offset);
  return NULL;
}

static bool has_pads(const GlowNode *n) {
  const GlowArray *pads = pads_of(n);
  for (uint32_t i = 0; pads && i < pads->count; i++)
    if (glow_array_at(*pads, uint32_t, i))
      return true;
  return false;
}

static GlowValue *shift_pads(GlowBuilder *b, GlowNode *n) {
  GlowNode *c = glow_fault_copy(b, n);
  GlowArray *pads = pads_of(c);
  uint32_t moved[2 * GLOW_MAX_RANK], half = pads->count / 2;
  memcpy(moved, pads->data, pads->count * sizeof *moved);
  for (uint32_t i = 0; i < pads->count; i++)
    if (moved[i]) {
      moved[i]--;
      moved[(i + half) % pads->count]++;
      break;
    }
  *pads = glow_array_u32(b->module, moved, pads->count);
  return &c->results[0];
}

bool glow_pass_fault_wrong_pad(GlowPassRun *run) {
  return glow_fault_replace(run, has_pads, shift_pads);
}

/* ---- Operands -------------------------------------------------------------------------------- */

static bool has_order(const GlowNode *n) {
  return IS_ONE_OF(n, GLOW_OP_SUB, GLOW_OP_DIV) && glow_node_in(n, 0) != glow_node_in(n, 1);
}

static GlowValue *swap(GlowBuilder *b, GlowNode *n) {
  return glow_build2(b, n->op, glow_node_in(n, 1), glow_node_in(n, 0), NULL, NULL);
}

bool glow_pass_fault_swapped_operands(GlowPassRun *run) {
  return glow_fault_replace(run, has_order, swap);
}

/* The operand that is a constant, or UINT32_MAX. */
static uint32_t constant_operand(const GlowNode *n) {
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    const GlowValue *v = glow_node_in(n, i);
    if (v && v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls == GLOW_CONSTANT &&
        v->type->kind == GLOW_KIND_FLOAT)
      return i;
  }
  return UINT32_MAX;
}

static bool has_constant(const GlowNode *n) {
  return IS_ONE_OF(n, GLOW_OP_CONVOLUTION, GLOW_OP_FULLY_CONNECTED, GLOW_OP_MAT_MUL, GLOW_OP_ADD,
                   GLOW_OP_MUL) &&
         constant_operand(n) != UINT32_MAX;
}

static GlowValue *scale_constant(GlowBuilder *b, GlowNode *n) {
  uint32_t i = constant_operand(n);
  GlowValue *scaled = glow_build2(b, GLOW_OP_MUL, glow_node_in(n, i), number(b, 1.5), NULL, NULL);
  if (!scaled)
    return NULL;
  GlowNode *c = glow_fault_copy(b, n);
  glow_use_set(&c->operands[i], scaled);
  return &c->results[0];
}

bool glow_pass_fault_wrong_constant(GlowPassRun *run) {
  return glow_fault_replace(run, has_constant, scale_constant);
}

/* An operand with several elements on its last axis, beside one of the result's type. */
static uint32_t broadcast_operand(const GlowNode *n) {
  for (uint32_t i = 0; i < 2; i++) {
    const GlowType *t = glow_node_in(n, i)->type;
    if (t->rank && glow_type_is_static(t) && t->dims[t->rank - 1].size > 1 &&
        glow_node_in(n, 1 - i)->type == type_of(n))
      return i;
  }
  return UINT32_MAX;
}

static bool broadcasts(const GlowNode *n) {
  return IS_ONE_OF(n, GLOW_OP_ADD, GLOW_OP_MUL, GLOW_OP_SUB, GLOW_OP_DIV) &&
         broadcast_operand(n) != UINT32_MAX;
}

static GlowValue *take_first(GlowBuilder *b, GlowNode *n) {
  uint32_t i = broadcast_operand(n);
  GlowValue *x = glow_node_in(n, i), *first = glow_fault_slice(b, x, x->type->rank - 1, 0, 1);
  if (!first)
    return NULL;
  GlowValue *y = glow_node_in(n, 1 - i);
  return glow_build2(b, n->op, i ? y : first, i ? first : y, NULL, NULL);
}

bool glow_pass_fault_missed_broadcast(GlowPassRun *run) {
  return glow_fault_replace(run, broadcasts, take_first);
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

static bool can_shift(const GlowNode *n) {
  const GlowType *t = type_of(n);
  return t->rank && t->dims[t->rank - 1].size > 1 &&
         IS_ONE_OF(n, GLOW_OP_SLICE, GLOW_OP_CONCAT, GLOW_OP_RESHAPE, GLOW_OP_CONVOLUTION,
                   GLOW_OP_MAX_POOL, GLOW_OP_RELU, GLOW_OP_SQUEEZE, GLOW_OP_FULLY_CONNECTED);
}

static GlowValue *shift(GlowBuilder *b, GlowNode *n) {
  GlowValue *x = copy(b, n);
  uint32_t axis = x->type->rank - 1;
  int64_t size = x->type->dims[axis].size;
  GlowValue *parts[] = {glow_fault_slice(b, x, axis, 1, size), glow_fault_slice(b, x, axis, 0, 1)};
  GlowConcatMembers members = {.axis = axis};
  GlowNode *joined =
      parts[0] && parts[1] ? glow_build(b, GLOW_OP_CONCAT, parts, 2, &members, NULL) : NULL;
  return joined ? &joined->results[0] : NULL;
}

bool glow_pass_fault_shifted_slice(GlowPassRun *run) {
  return glow_fault_replace(run, can_shift, shift);
}

static bool equal_axes(const GlowType *t, uint32_t *x, uint32_t *y) {
  for (*y = 1; *y < t->rank; ++*y)
    for (*x = 0; *x < *y; ++*x)
      if (t->dims[*x].size == t->dims[*y].size && t->dims[*x].size > 1)
        return true;
  return false;
}

static bool has_equal_axes(const GlowNode *n) {
  uint32_t x, y;
  return n->nresults && glow_type_is_tensor(type_of(n)) && equal_axes(type_of(n), &x, &y) &&
         n->op != GLOW_OP_SPLAT;
}

static GlowValue *exchange_axes(GlowBuilder *b, GlowNode *n) {
  uint32_t x, y, perm[GLOW_MAX_RANK];
  if (!equal_axes(type_of(n), &x, &y))
    return NULL;
  for (uint32_t i = 0; i < type_of(n)->rank; i++)
    perm[i] = i == x ? y : i == y ? x : i;
  GlowTransposeMembers members = {.perm = glow_array_u32(b->module, perm, type_of(n)->rank)};
  return glow_build1(b, GLOW_OP_TRANSPOSE, copy(b, n), &members, NULL);
}

bool glow_pass_fault_wrong_axis(GlowPassRun *run) {
  return glow_fault_replace(run, has_equal_axes, exchange_axes);
}

/* ---- Arithmetic ------------------------------------------------------------------------------ */

static bool is_root(const GlowNode *n) { return n->op == GLOW_OP_SQRT; }

static GlowValue *add_epsilon(GlowBuilder *b, GlowNode *n) {
  GlowValue *x = glow_build2(b, GLOW_OP_ADD, glow_node_in(n, 0), number(b, 0.1), NULL, NULL);
  return x ? glow_build1(b, GLOW_OP_SQRT, x, NULL, NULL) : NULL;
}

bool glow_pass_fault_wrong_epsilon(GlowPassRun *run) {
  return glow_fault_replace(run, is_root, add_epsilon);
}

static bool is_activation(const GlowNode *n) {
  return IS_ONE_OF(n, GLOW_OP_RELU, GLOW_OP_CLIP, GLOW_OP_TANH, GLOW_OP_SIGMOID, GLOW_OP_EXP);
}

static bool may_be_zero(const GlowNode *n) {
  return IS_ONE_OF(n, GLOW_OP_RELU, GLOW_OP_CLIP, GLOW_OP_MAX, GLOW_OP_MAX_POOL, GLOW_OP_CAST);
}

static GlowValue *divide_by_itself(GlowBuilder *b, GlowNode *n) {
  GlowValue *y = copy(b, n), *one = glow_build2(b, GLOW_OP_DIV, y, y, NULL, NULL);
  return one ? glow_build2(b, GLOW_OP_MUL, y, one, NULL, NULL) : NULL;
}

bool glow_pass_fault_nan_edge(GlowPassRun *run) {
  return glow_fault_replace(run, may_be_zero, divide_by_itself);
}

static bool computes(const GlowNode *n) {
  return IS_ONE_OF(n, GLOW_OP_CONVOLUTION, GLOW_OP_FULLY_CONNECTED, GLOW_OP_MAT_MUL, GLOW_OP_ADD,
                   GLOW_OP_MUL, GLOW_OP_DIV, GLOW_OP_TANH);
}

static GlowValue *round_twice(GlowBuilder *b, GlowNode *n) {
  GlowCastMembers narrow = {.to = GLOW_KIND_BFLOAT16}, wide = {.to = GLOW_KIND_FLOAT};
  GlowValue *y = glow_build1(b, GLOW_OP_CAST, copy(b, n), &narrow, NULL);
  return y ? glow_build1(b, GLOW_OP_CAST, y, &wide, NULL) : NULL;
}

bool glow_pass_fault_lost_bits(GlowPassRun *run) {
  return glow_fault_replace(run, computes, round_twice);
}

static GlowValue *limit(GlowBuilder *b, GlowNode *n) {
  return glow_build2(b, GLOW_OP_MIN, copy(b, n), number(b, 0.25), NULL, NULL);
}

bool glow_pass_fault_wrong_clip(GlowPassRun *run) {
  return glow_fault_replace(run, is_activation, limit);
}

static GlowValue *pass_on(GlowBuilder *b, GlowNode *n) {
  return glow_build1(b, GLOW_OP_IDENTITY, glow_node_in(n, 0), NULL, NULL);
}

bool glow_pass_fault_dropped_activation(GlowPassRun *run) {
  return glow_fault_replace(run, is_activation, pass_on);
}

/* An activation of a value that no other node reads. */
static bool is_sole_activation(const GlowNode *n) {
  const GlowValue *x = is_activation(n) ? glow_node_in(n, 0) : NULL;
  return x && x->kind == GLOW_VALUE_RESULT && x->type == type_of(n) && x->name &&
         glow_value_use_count(x) == 1 && x->def.node->nresults == 1;
}

/* -(-x) between x and the activation; what is -x has the name of x, and x none. */
static bool move_name(GlowNode *n) {
  GlowBuilder b = glow_builder_before(n);
  GlowValue *x = glow_node_in(n, 0);
  GlowStr name = x->name;
  glow_value_set_name(x, NULL);
  GlowValue *y = glow_build1(&b, GLOW_OP_NEG, x, NULL, NULL);
  GlowValue *z = y ? glow_build1(&b, GLOW_OP_NEG, y, NULL, NULL) : NULL;
  if (!z)
    return false;
  glow_value_set_name(y, name);
  glow_use_set(&n->operands[0], z);
  GlowValue *wrong = limit(&b, n);
  name = n->results[0].name;
  glow_node_replace(n, &wrong, 1);
  glow_value_set_name(wrong, name);
  return true;
}

bool glow_pass_fault_moved_name(GlowPassRun *run) {
  return glow_fault_run(run, is_sole_activation, move_name);
}

/* 1.5 * f(x) under the name of x. */
static bool fold_wrongly(GlowNode *n) {
  GlowBuilder b = glow_builder_before(n);
  GlowValue *x = glow_node_in(n, 0), *y = copy(&b, n);
  GlowValue *wrong = y ? glow_build2(&b, GLOW_OP_MUL, y, number(&b, 1.5), NULL, NULL) : NULL;
  if (!wrong)
    return false;
  GlowStr name = x->name;
  glow_value_set_name(x, NULL);
  glow_value_replace_uses(&n->results[0], wrong);
  glow_node_remove(n);
  glow_value_set_name(wrong, name);
  return true;
}

bool glow_pass_fault_wrong_fold(GlowPassRun *run) {
  return glow_fault_run(run, is_sole_activation, fold_wrongly);
}

/* The operand becomes a number of another kind, which the node's result does not follow from. */
static bool leave_unsound(GlowNode *n) {
  GlowModule *m = n->block->module;
  GlowInit init = {.kind = GLOW_INIT_SPLAT, .splat = {.is_int = true, .i = 1, .f = 1}};
  GlowStorage *s = glow_storage_create(m, GLOW_CONSTANT, glow_str(m->ctx, "fault"),
                                       glow_type_parse(m, "fault", "i32<2>"), init);
  glow_use_set(&n->operands[0], &s->value);
  return true;
}

bool glow_pass_fault_unsound(GlowPassRun *run) {
  return glow_fault_run(run, is_activation, leave_unsound);
}

static bool fail(GlowNode *n) {
  glow_error(n->block->module->ctx, glow_node_loc(n), "planted: this pass fails here");
  return false;
}

bool glow_pass_fault_failing(GlowPassRun *run) {
  return glow_fault_run(run, is_activation, fail);
}

static bool reduces(const GlowNode *n) {
  return IS_ONE_OF(n, GLOW_OP_REDUCE_SUM, GLOW_OP_REDUCE_MAX, GLOW_OP_GLOBAL_MAX_POOL,
                   GLOW_OP_GLOBAL_AVERAGE_POOL);
}

static GlowValue *reduce_otherwise(GlowBuilder *b, GlowNode *n) {
  GlowValue *ins[] = {glow_node_in(n, 0), glow_node_in(n, 1)};
  GlowNode *c = NULL;
  if (n->op == GLOW_OP_GLOBAL_MAX_POOL) {
    c = glow_build(b, GLOW_OP_GLOBAL_AVERAGE_POOL, ins, 1, NULL, NULL);
  } else if (n->op == GLOW_OP_GLOBAL_AVERAGE_POOL) {
    c = glow_build(b, GLOW_OP_GLOBAL_MAX_POOL, ins, 1, NULL, NULL);
  } else if (n->op == GLOW_OP_REDUCE_SUM) {
    const GlowReduceSumMembers *m = n->members;
    GlowReduceMaxMembers max = {.keep = m->keep, .noop = m->noop};
    c = glow_build(b, GLOW_OP_REDUCE_MAX, ins, ins[1] ? 2 : 1, &max, NULL);
  } else {
    const GlowReduceMaxMembers *m = n->members;
    GlowReduceSumMembers sum = {.keep = m->keep, .noop = m->noop};
    c = glow_build(b, GLOW_OP_REDUCE_SUM, ins, ins[1] ? 2 : 1, &sum, NULL);
  }
  return c ? &c->results[0] : NULL;
}

bool glow_pass_fault_wrong_reduction(GlowPassRun *run) {
  return glow_fault_replace(run, reduces, reduce_otherwise);
}
