/* What is computed of all pieces of a value is computed of the value:
 *
 *   a, b = Split(x);  Sigmoid(a);  Sigmoid(b)   ->   Split(Sigmoid(x))
 *
 * The nodes are one element-wise operator with equal members, no other operand and no other use of
 * the pieces. A contraction or an element-wise node computes x, so that both may become one loop:
 * two gates of a GRU are the results of one product. Exact: each element is computed as before. */
#include "ir/dead.h"
#include "transforms/rules.h"

/* The node that alone reads v, if one node like it may stand before `split`. */
static GlowNode *unary_user(const GlowNode *split, const GlowValue *v) {
  GlowNode *n = glow_only_user(v);
  const GlowOpDesc *d = n ? glow_node_desc(n) : NULL;
  bool fits = n && GLOW_HAS(d, ELEMENTWISE) && !GLOW_HAS(d, RANDOM) &&
              d->infer == GLOW_INFER_SAME && n->noperands == 1 && n->nresults == 1 &&
              !n->nregions && n->block == split->block && !n->pred.value &&
              n->results[0].type == v->type;
  return fits ? n : NULL;
}

/* Whether the nodes that read the pieces are alike. */
static bool is_alike(const GlowNode *split) {
  const GlowNode *first = unary_user(split, &split->results[0]);
  if (!first || split->pred.value || split->nresults < 2 ||
      !glow_value_is_computed(glow_node_in(split, GLOW_SPLIT_IN_X)))
    return false;
  for (uint32_t i = 1; i < split->nresults; i++) {
    const GlowNode *n = unary_user(split, &split->results[i]);
    if (!n || n->op != first->op ||
        !glow_members_equal(glow_node_desc(n), n->members, first->members))
      return false;
  }
  return true;
}

typedef struct Splits {
  GlowPassRun *run;
  GLOW_VEC(GlowNode *) all;
} Splits;

static bool find(GlowNode *n, void *arg) {
  Splits *s = arg;
  if (n->op == GLOW_OP_SPLIT && is_alike(n))
    glow_vec_push(s->run->arena, &s->all, n);
  return true;
}

static bool merge(GlowPassRun *run, GlowNode *split) {
  GlowNode *first = split->results[0].uses->user;
  GlowValue *x = glow_node_in(split, GLOW_SPLIT_IN_X);
  GlowBuilder b = glow_builder_before(split);
  b.src = first->src;
  b.origin = first->origin;
  GlowNode *whole = glow_build(&b, first->op, &x, 1, first->members, NULL);
  if (!whole)
    return false;
  glow_pass_changed(run, first, "one %s of all pieces of a Split", glow_node_desc(first)->node);
  glow_use_set(&split->operands[GLOW_SPLIT_IN_X], &whole->results[0]);
  for (uint32_t i = 0; i < split->nresults; i++) {
    GlowValue *piece = &split->results[i];
    glow_node_replace(piece->uses->user, &piece, 1);
  }
  return true;
}

bool glow_pass_merge_split(GlowPassRun *run) {
  Splits s = {.run = run};
  bool ok = true;
  glow_block_walk(run->function->body, find, &s);
  for (uint32_t i = 0; i < s.all.count && ok; i++)
    ok = merge(run, s.all.data[i]);
  return ok;
}
