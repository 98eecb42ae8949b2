/* Nodes that compute a tensor of one value from tensors of one value become Splat:
 *
 *   Reshape, Transpose, Slice, Expand, Tile or Gather of a splat, ConstantOfShape -> Splat,
 *                                    of ConstantOfShape also to extents that follow from symbols
 *   an element-wise node of splats                                                -> Splat
 *
 * The value of an element-wise node is what the interpreter computes for one element. */
#include "backend/interp/interp.h"
#include "transforms/rules.h"

static bool is_plain(const GlowType *t) {
  return glow_type_is_static(t) && !t->layout && !t->quantized && t->kind != GLOW_KIND_STRING;
}

static GlowValue *splat(GlowNode *n, GlowScalar value) {
  const GlowType *t = n->results[0].type;
  GlowBuilder b = glow_builder_before(n);
  GlowSplatMembers members = {.value = value};
  GlowNodeSpec spec = {.op = GLOW_OP_SPLAT, .members = &members, .types = &t};
  GlowNode *made = glow_node_create(&b, &spec);
  return made ? &made->results[0] : NULL;
}

/* The value of a splat of a kind that Splat takes. A list of equal elements counts too. */
static bool one_value(const GlowValue *v, GlowScalar *value) {
  return v && is_plain(v->type) && glow_value_splat(v, value);
}

static GlowValue *moved(GlowPassRun *run, GlowNode *n) {
  (void)run;
  GlowScalar value;
  if (!is_plain(n->results[0].type) || !one_value(glow_node_in(n, 0), &value) ||
      !(glow_op_desc[GLOW_OP_SPLAT].vars[0].kinds & GLOW_KIND_BIT(n->results[0].type->kind)))
    return NULL;
  return splat(n, value);
}

/* A Gather is dropped only if all its indices are known to be in range: others have to be reported
 * at run time. */
static GlowValue *gathered(GlowPassRun *run, GlowNode *n) {
  uint32_t count;
  const int64_t *at = glow_known_ints(run, n, GLOW_GATHER_IN_INDICES, &count);
  const GlowType *x = glow_node_in(n, 0)->type;
  int64_t axis = ((const GlowGatherMembers *)n->members)->axis;
  if (!at || !is_plain(x))
    return NULL;
  int64_t extent = x->dims[axis < 0 ? axis + x->rank : axis].size;
  for (uint32_t i = 0; i < count; i++)
    if (at[i] < -extent || at[i] >= extent)
      return NULL;
  return moved(run, n);
}

static GlowValue *of_shape(GlowPassRun *run, GlowNode *n) {
  (void)run;
  const GlowConstantOfShapeMembers *m = n->members;
  return is_plain(n->results[0].type) || glow_extents_follow(n) ? splat(n, m->value) : NULL;
}

static const GlowRule rules[] = {
    {GLOW_OP_RESHAPE, moved, "Reshape of a splat is one"},
    {GLOW_OP_TRANSPOSE, moved, "Transpose of a splat is one"},
    {GLOW_OP_SLICE, moved, "Slice of a splat is one"},
    {GLOW_OP_EXPAND, moved, "Expand of a splat is one"},
    {GLOW_OP_TILE, moved, "Tile of a splat is one"},
    {GLOW_OP_GATHER, gathered, "Gather of a splat is one"},
    {GLOW_OP_CONSTANT_OF_SHAPE, of_shape, "ConstantOfShape of a known shape is a splat"},
};

/* ---- Element-wise nodes ---------------------------------------------------------------------- */

/* One element of each operand, and the element that the node computes from them. */
typedef struct Sample {
  GlowTensor **in, *out;
  uint32_t count;
} Sample;

static void free_sample(void *arg) {
  Sample *s = arg;
  for (uint32_t i = 0; i < s->count; i++)
    glow_tensor_free(s->in[i]);
  glow_tensor_free(s->out);
}

/* Sets *value to the element that the node computes from `values`. `one` is a copy of it on
 * scalars. */
static bool compute(GlowPassRun *run, GlowNode *one, const GlowScalar *values, GlowScalar *value) {
  Sample s = {.count = one->noperands};
  s.in = GLOW_NEW_ARRAY(run->arena, GlowTensor *, s.count + 1);
  GlowDefer release;
  glow_defer_push(run->ctx, &release, free_sample, &s);
  for (uint32_t i = 0; i < s.count; i++) {
    const GlowValue *v = glow_node_in(one, i);
    if (!v)
      continue;
    s.in[i] = glow_tensor_create(run->ctx, glow_type_scalar(run->ctx, v->type->kind));
    glow_tensor_set(s.in[i], 0, values[i]);
  }
  bool ok = glow_interp_eval_node(one, (const GlowTensor *const *)s.in, &s.out, true);
  if (ok)
    *value = glow_tensor_get(s.out, 0);
  glow_defer_pop(run->ctx, &release, true);
  return ok;
}

static bool fold_elementwise(GlowNode *n, void *arg) {
  GlowPassRun *run = arg;
  if (!GLOW_HAS(glow_node_desc(n), ELEMENTWISE) || !glow_node_is_foldable(n) || n->nresults != 1 ||
      n->noperands == 0 || !is_plain(n->results[0].type) ||
      !glow_kind_is_data(n->results[0].type->kind) || glow_type_elements(n->results[0].type) <= 1)
    return true;
  GlowScalar *values = GLOW_NEW_ARRAY(run->arena, GlowScalar, n->noperands), value;
  for (uint32_t i = 0; i < n->noperands; i++)
    if (glow_node_in(n, i) && (!glow_kind_is_data(glow_node_in(n, i)->type->kind) ||
                               !one_value(glow_node_in(n, i), &values[i])))
      return true;
  GlowBuilder b = glow_builder_before(n);
  GlowValue **ins = GLOW_NEW_ARRAY(run->arena, GlowValue *, n->noperands);
  for (uint32_t i = 0; i < n->noperands; i++) {
    if (!glow_node_in(n, i))
      continue;
    const GlowType *scalar = glow_type_scalar(run->ctx, glow_node_in(n, i)->type->kind);
    GlowSplatMembers members = {.value = values[i]};
    GlowNodeSpec spec = {.op = GLOW_OP_SPLAT, .members = &members, .types = &scalar};
    GlowNode *made = glow_node_create(&b, &spec);
    if (!made)
      return true;
    ins[i] = &made->results[0];
  }
  GlowNode *one = glow_build(&b, n->op, ins, n->noperands, n->members, NULL);
  if (!one)
    return true;
  bool ok = compute(run, one, values, &value);
  glow_remove_dead(one);
  GlowValue *folded = ok ? splat(n, value) : NULL;
  if (folded)
    glow_replace_by(run, n, folded, "a function of splats is one");
  return true;
}

bool glow_pass_fold_splat(GlowPassRun *run) {
  unsigned errors = glow_context_error_count(run->ctx);
  glow_rules_run(run, rules, sizeof rules / sizeof *rules);
  glow_block_walk(run->function->body, fold_elementwise, run);
  return glow_context_error_count(run->ctx) == errors;
}
