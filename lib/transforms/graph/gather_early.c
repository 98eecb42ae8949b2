/* GatherElements moves up through element-wise nodes where a quarter of their results or fewer is
 * gathered:
 *
 *   GatherElements(f(x, c), at)   -> f(GatherElements(x, at), c), where c has extent 1 along the
 *                                    axis, or none
 *
 * The loss of a classifier reads the logarithm of one probability of each row: those of the others
 * are not computed then. A run of the pass moves it up by one node. Other nodes that read the result of f are element-wise, so that it may be
 * a value in their loop, which is not stored. */
#include "transforms/rules.h"

enum { FEWER = 4, MOST_GATHERED = 2 }; /* results for each that is gathered; operands */

typedef struct Gathered {
  GlowNode *n; /* GatherElements */
  const GlowType *x, *at;
  uint32_t axis;
} Gathered;

static bool same_beside(const Gathered *g) {
  for (uint32_t i = 0; i < g->x->rank; i++)
    if (i != g->axis && !glow_dim_equals(g->x->dims[i], g->at->dims[i]))
      return false;
  return true;
}

static bool all_users_are_elementwise(const GlowValue *v, const GlowNode *except) {
  for (const GlowUse *u = v->uses; u; u = u->next)
    if (u->user != except && !glow_node_is_elementwise(u->user))
      return false;
  return true;
}

/* Whether v has one element for all indices along the axis. */
static bool broadcasts(const Gathered *g, const GlowType *v) {
  const uint32_t missing = g->x->rank - v->rank;
  return g->axis < missing || glow_dim_is_exact(v->dims[g->axis - missing], 1);
}

/* Whether each operand of f either broadcasts or can be gathered, and one or two have to be. */
static bool operands_suit(const Gathered *g, const GlowNode *f) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < f->noperands; i++) {
    const GlowValue *v = glow_node_in(f, i);
    if (!v)
      continue;
    const GlowType *t = v->type;
    if (!glow_type_is_static(t) || t->layout || t->rank > g->x->rank)
      return false;
    if (broadcasts(g, t))
      continue;
    if (t->rank != g->x->rank || memcmp(t->dims, g->x->dims, t->rank * sizeof *t->dims) != 0)
      return false;
    count++;
  }
  return count > 0 && count <= MOST_GATHERED;
}

static GlowValue *gather_operand(const Gathered *g, GlowBuilder *b, GlowValue *v) {
  if (!v || broadcasts(g, v->type))
    return v;
  return glow_build2(b, GLOW_OP_GATHER_ELEMENTS, v,
                     glow_node_in(g->n, GLOW_GATHER_ELEMENTS_IN_INDICES), g->n->members, NULL);
}

static GlowValue *gather_operands(GlowPassRun *run, GlowNode *n) {
  GlowValue *x = glow_node_in(n, GLOW_GATHER_ELEMENTS_IN_X);
  const GlowType *t = n->results[0].type;
  const int64_t axis = ((const GlowGatherElementsMembers *)n->members)->axis;
  Gathered g = {.n = n, .x = x->type, .at = t};
  GlowNode *f = x->kind == GLOW_VALUE_RESULT ? x->def.node : NULL;
  if (!f || !glow_node_is_elementwise(f) || !glow_type_is_static(g.x) || g.x->layout ||
      !glow_type_is_static(t) || f->block != n->block || f->pred.value != n->pred.value)
    return NULL;
  g.axis = (uint32_t)(axis < 0 ? axis + g.x->rank : axis);
  if (glow_type_elements(t) > glow_type_elements(g.x) / FEWER || !same_beside(&g) ||
      !all_users_are_elementwise(x, n) || !operands_suit(&g, f))
    return NULL;
  GlowBuilder b = glow_builder_before(n);
  GlowValue **ins = GLOW_NEW_ARRAY(run->arena, GlowValue *, f->noperands);
  for (uint32_t i = 0; i < f->noperands; i++) {
    GlowValue *v = glow_node_in(f, i);
    ins[i] = gather_operand(&g, &b, v);
    if (v && !ins[i])
      return NULL;
  }
  GlowNodeSpec spec = {
      .op = f->op, .ins = ins, .nins = f->noperands, .members = f->members, .types = &t};
  GlowNode *few = glow_node_create(&b, &spec);
  return few ? &few->results[0] : NULL;
}

static const GlowRule rules[] = {
    {GLOW_OP_GATHER_ELEMENTS, gather_operands, "gathered what an element-wise node reads"},
};

bool glow_pass_gather_early(GlowPassRun *run) {
  return glow_rules_run(run, rules, sizeof rules / sizeof *rules);
}
