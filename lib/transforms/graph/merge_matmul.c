/* Products that share an operand become one wide product, which Split cuts apart:
 *
 *   MatMul(x, A), MatMul(x, B), ...   -> Split(MatMul(x, Concat(A, B, ...)), last axis)
 *   MatMul(A, x), MatMul(B, x), ...   -> Split(MatMul(Concat(A, B, ...), x), axis of rows)
 *
 * and FullyConnected(x, A, a), ... likewise, with the biases concatenated: the projections of
 * attention. The other operands are constant matrices, so the Concat is an `eval` constant;
 * products are merged only in the same block and under the same predicate. Exact: every element
 * keeps its chain over k, and bias is added to it as before. */
#include "pass/pass.h"
#include "transforms/transforms.h"

#include <stdlib.h>

/* Products of one operator that share operand `shared`, in the order of the text. */
typedef struct Group {
  GlowPassRun *run;
  GLOW_VEC(GlowNode *) nodes;
  uint32_t shared;
} Group;

typedef struct Context {
  GlowPassRun *run;
  GlowConstness *constness;
  GlowMap *seen; /* values whose users were grouped, to the values themselves */
  GLOW_VEC(GlowValue *) shared;
} Context;

static bool is_product(const GlowNode *n) {
  return n->op == GLOW_OP_MAT_MUL || n->op == GLOW_OP_FULLY_CONNECTED;
}

static bool is_constant(Context *ctx, const GlowValue *v, uint32_t rank) {
  return glow_type_is_static(v->type) && !v->type->quantized && v->type->rank == rank &&
         glow_type_elements(v->type) > 0 && glow_constness_of(ctx->constness, v);
}

/* Whether n can be merged over its operand `shared` with products like it. */
static bool is_candidate(Context *ctx, const GlowNode *n, uint32_t shared) {
  if (!is_product(n) || (n->op == GLOW_OP_FULLY_CONNECTED && shared != 0))
    return false;
  const GlowValue *x = glow_node_in(n, shared), *w = glow_node_in(n, 1 - shared);
  const GlowValue *bias = glow_node_in(n, GLOW_FULLY_CONNECTED_IN_B);
  if (x == w || x->type->unranked || x->type->rank < 2 || !is_constant(ctx, w, 2))
    return false;
  if (shared == 1 && x->type->rank != 2) /* the batch axes of x would stand before the rows */
    return false;
  return !bias || (is_constant(ctx, bias, 1) && bias->type->dims[0].size == w->type->dims[1].size);
}

static bool belong_together(const GlowNode *a, const GlowNode *b, uint32_t shared) {
  const GlowType *s = glow_node_in(a, 1 - shared)->type, *t = glow_node_in(b, 1 - shared)->type;
  return a->op == b->op && a->block == b->block && a->pred.value == b->pred.value &&
         s->kind == t->kind && s->layout == t->layout &&
         glow_members_equal(glow_node_desc(a), a->members, b->members) &&
         !glow_node_in(a, GLOW_FULLY_CONNECTED_IN_B) == !glow_node_in(b, GLOW_FULLY_CONNECTED_IN_B);
}

/* Concat of the operands `port` of a group, as a constant. */
static GlowValue *concat(const Group *g, uint32_t port, int64_t axis, const char *name) {
  GlowPassRun *run = g->run;
  GlowEval e = glow_eval_create(run->module, run->arena, g->nodes.data[0]);
  GlowValue **parts = GLOW_NEW_ARRAY(run->arena, GlowValue *, g->nodes.count);
  for (uint32_t i = 0; i < g->nodes.count; i++)
    parts[i] = glow_eval_copy(&e, glow_node_in(g->nodes.data[i], port));
  GlowConcatMembers members = {.axis = axis};
  GlowNode *n = glow_build(&e.builder, GLOW_OP_CONCAT, parts, g->nodes.count, &members, NULL);
  if (!n)
    return NULL;
  const char *first = g->nodes.data[0]->results[0].name;
  GlowStr full = glow_str_printf(run->ctx, "%s.%s", first ? first : "product", name);
  return &glow_eval_finish(&e, &n->results[0], full)->value;
}

/* Cuts the wide product into the results of the group. */
static GlowNode *split(const Group *g, GlowBuilder *b, GlowValue *wide, uint32_t axis) {
  int64_t *sizes = GLOW_NEW_ARRAY(g->run->arena, int64_t, g->nodes.count);
  const GlowNode *first = g->nodes.data[0];
  for (uint32_t i = 0; i < g->nodes.count; i++)
    sizes[i] = g->nodes.data[i]->results[0].type->dims[axis].size;
  GlowValue *ins[] = {wide,
                      glow_constant_ints(g->run->module, first, "sizes", sizes, g->nodes.count)};
  GlowSplitMembers members = {.axis = (int64_t)axis};
  GlowNodeSpec spec = {
      .op = GLOW_OP_SPLIT, .ins = ins, .nins = 2, .members = &members, .nresults = g->nodes.count};
  return glow_node_create(b, &spec);
}

static bool merge(const Group *g) {
  GlowNode *first = g->nodes.data[0];
  const GlowType *type = first->results[0].type;
  uint32_t axis = g->shared == 0 ? type->rank - 1 : type->rank - 2;
  GlowBuilder b = glow_builder_before(first);
  GlowValue *ins[3] = {NULL};
  ins[g->shared] = glow_node_in(first, g->shared);
  ins[1 - g->shared] = concat(g, 1 - g->shared, g->shared == 0 ? 1 : 0, "weights");
  bool biased = glow_node_in(first, GLOW_FULLY_CONNECTED_IN_B);
  if (biased)
    ins[2] = concat(g, GLOW_FULLY_CONNECTED_IN_B, 0, "biases");
  if (!ins[1 - g->shared] || (biased && !ins[2]))
    return false;
  GlowNode *wide = glow_build(&b, first->op, ins, biased ? 3 : 2, first->members, NULL);
  GlowNode *pieces = wide ? split(g, &b, &wide->results[0], axis) : NULL;
  if (!pieces)
    return false;
  glow_pass_changed(g->run, first, "merged %u products that share an operand", g->nodes.count);
  for (uint32_t i = 0; i < g->nodes.count; i++) {
    GlowValue *piece = &pieces->results[i];
    glow_node_replace(g->nodes.data[i], &piece, 1);
  }
  return true;
}

static int by_order(const void *a, const void *b) {
  const GlowNode *p = *(GlowNode *const *)a, *q = *(GlowNode *const *)b;
  return p->order < q->order ? -1 : p->order > q->order;
}

/* Merges the products that have x as operand `shared`. */
static bool merge_users(Context *ctx, GlowValue *x, uint32_t shared) {
  Group all = {.run = ctx->run};
  for (GlowUse *u = x->uses; u; u = u->next)
    if (u == &u->user->operands[shared] && is_candidate(ctx, u->user, shared) &&
        glow_block_function(u->user->block) == ctx->run->function)
      glow_vec_push(ctx->run->arena, &all.nodes, u->user);
  if (all.nodes.count)
    qsort(all.nodes.data, all.nodes.count, sizeof *all.nodes.data, by_order);
  for (uint32_t i = 0; i < all.nodes.count;) {
    /* A run of products that belong together; others in between end it. */
    Group g = {.run = ctx->run, .shared = shared};
    do
      glow_vec_push(ctx->run->arena, &g.nodes, all.nodes.data[i++]);
    while (i < all.nodes.count && belong_together(g.nodes.data[0], all.nodes.data[i], shared));
    if (g.nodes.count > 1 && !merge(&g))
      return false;
  }
  return true;
}

static bool find_shared(GlowNode *n, void *arg) {
  Context *ctx = arg;
  for (uint32_t i = 0; is_product(n) && i < 2; i++) {
    GlowValue *x = glow_node_in(n, i);
    if (x->uses->next && !glow_map_get(ctx->seen, x)) {
      glow_map_set(ctx->seen, x, x);
      glow_vec_push(ctx->run->arena, &ctx->shared, x);
    }
  }
  return true;
}

bool glow_pass_merge_matmul(GlowPassRun *run) {
  Context ctx = {.run = run,
                 .constness = glow_constness_create(run->arena),
                 .seen = glow_map_create(run->arena)};
  glow_function_number(run->function);
  glow_block_walk(run->function->body, find_shared, &ctx);
  for (uint32_t i = 0; i < ctx.shared.count; i++)
    for (uint32_t side = 0; side < 2; side++)
      if (!merge_users(&ctx, ctx.shared.data[i], side))
        return false;
  return true;
}
