/* One product and one sum for a chain of affine steps that no contraction takes:
 *
 *   y = x -> step -> step ...      becomes      y = x * F + T
 *
 * A step is BatchNormalization, or Add, Sub, Mul or Div with an operand that repeats along x; only
 * the next step uses its result. F and T come from the operands, node by node in the order of the
 * steps, beginning at F = 1 and T = 0:
 *
 *   BatchNormalization   f = Scale / Sqrt(Var + epsilon)
 *                        F' = F * f,  T' = T * f + (Bias - Mean * f)
 *   Mul s, Div s         F' = F * s,  T' = T * s           (or /)
 *   Add s, Sub s         T' = T + s                        (or -)
 *
 * If all operands are constants, they have one value for each place along one axis of x, or one for
 * all, and -constant-fold computes F and T. Otherwise each operand has one value along the last
 * axis, so that F and T are short. Such a chain does not begin with a sum: in x - mean(x), the
 * cancellation is exact. A chain is rewritten if fewer operators are left, or if it has two and one
 * is a quotient.
 *
 * Bounded: BatchNormalization counts as 4 operators, and a chain has at most 8. Each operator of
 * the chain rounds once; F takes at most one rounding more, T at most two for each operator, and
 * there are two in the end: c = 28. Chains on 16-bit elements stay, because T would be rounded to
 * these. Nodes with a predicate stay, too. */
#include "pass/pass.h"
#include "transforms/contraction.h"

enum { MAX_OPERATORS = 8, NORM_OPERATORS = 4 };
enum { SHORT_ROW = 4 }; /* elements along the last axis: with fewer F and T are not short */

typedef struct Step {
  GlowNode *node;
  GlowValue *operand; /* NULL: BatchNormalization */
} Step;

typedef struct Chain {
  GlowConstness *constness;
  GlowArena *arena;
  GlowValue *x;
  GLOW_VEC(Step) steps;
  uint32_t axes; /* bit i: an operand has several values along axis i of x */
  uint32_t operators;
  bool constant; /* all operands are */
  bool scales, adds, divides;
} Chain;

/* ---- What a chain takes ---------------------------------------------------------------------- */

/* The axes of x along which v, which broadcasts to x, has several values. */
static uint32_t axes_of(const GlowType *v, const GlowType *x) {
  uint32_t axes = 0;
  for (uint32_t i = 0; i < v->rank; i++)
    if (v->dims[i].kind != GLOW_DIM_EXACT || v->dims[i].size != 1)
      axes |= 1u << (x->rank - v->rank + i);
  return axes;
}

/* Whether operands with several values along `axes` repeat along x as a chain needs. */
static bool repeats(uint32_t axes, const GlowType *x, bool constant) {
  if (constant)
    return (axes & (axes - 1)) == 0;
  const GlowDim last = x->rank > 1 ? x->dims[x->rank - 1] : GLOW_EXACT(1);
  return last.kind == GLOW_DIM_EXACT && last.size >= SHORT_ROW && !(axes >> (x->rank - 1));
}

/* Whether a step may turn x into the type `to`: kind and extents are the same, but for axis 0. That
 * axis may hold the batch, whose extent must not decide: rows have the same bits in every batch. */
static bool same_rows(const GlowType *x, const GlowType *to) {
  if (!glow_type_is_tensor(x) || x->unranked || x->kind != to->kind || x->rank != to->rank)
    return false;
  return x->rank == 0 || !memcmp(x->dims + 1, to->dims + 1, (x->rank - 1) * sizeof *x->dims);
}

/* Adds a step with operands along `axes` to the chain. False if the chain ends before it. */
static bool extend(Chain *c, Step step, uint32_t axes, bool constant, uint32_t operators) {
  bool sum = step.node->op == GLOW_OP_ADD || step.node->op == GLOW_OP_SUB;
  bool quotient = step.node->op == GLOW_OP_DIV || !step.operand;
  if (c->operators + operators > MAX_OPERATORS || (!constant && sum && !c->operators) ||
      !repeats(c->axes | axes, c->x->type, c->constant && constant))
    return false;
  c->axes |= axes;
  c->constant &= constant;
  c->operators += operators;
  c->adds |= sum || !step.operand;
  c->scales |= !sum;
  c->divides |= quotient;
  glow_vec_push(c->arena, &c->steps, step);
  return true;
}

static bool extend_by_norm(Chain *c, GlowNode *n, const GlowValue *y) {
  bool constant = true;
  if (glow_node_in(n, GLOW_BATCH_NORMALIZATION_IN_X) != y || y->type->rank < 2)
    return false;
  for (uint32_t i = 1; i < glow_node_nins(n); i++) {
    const GlowValue *v = glow_node_in(n, i);
    if (v->type->unranked || v->type->rank != 1 || v->type->dims[0].kind != GLOW_DIM_EXACT)
      return false;
    constant = constant && glow_constness_of(c->constness, v);
  }
  return extend(c, (Step){n, NULL}, 1u << 1, constant, NORM_OPERATORS);
}

static bool extend_by_operator(Chain *c, GlowNode *n, const GlowValue *y) {
  bool first = glow_node_in(n, 0) == y;
  GlowValue *other = glow_node_in(n, first ? 1 : 0);
  if ((!first && !GLOW_HAS(glow_node_desc(n), COMMUTATIVE)) || other == y ||
      other->type->unranked || other->type->rank > y->type->rank)
    return false;
  return extend(c, (Step){n, other}, axes_of(other->type, y->type),
                glow_constness_of(c->constness, other), 1);
}

static bool is_step(const GlowNode *n) {
  return glow_is_affine(n) || n->op == GLOW_OP_BATCH_NORMALIZATION;
}

/* The longest chain from x whose first step is n. */
static void collect(Chain *c, GlowNode *n, GlowValue *x) {
  const GlowNode *first = n;
  c->x = x;
  c->steps.count = c->axes = c->operators = 0;
  c->constant = true;
  c->scales = c->adds = c->divides = false;
  for (GlowValue *y = x; n && is_step(n) && same_rows(x->type, n->results[0].type) &&
                         n->block == first->block && !n->pred.value;
       n = glow_only_user(y)) {
    bool taken = n->op == GLOW_OP_BATCH_NORMALIZATION ? extend_by_norm(c, n, y)
                                                      : extend_by_operator(c, n, y);
    if (!taken)
      break;
    y = &n->results[0];
  }
}

static bool is_worthwhile(const Chain *c) {
  uint32_t left = c->scales + c->adds;
  return c->steps.count &&
         (left < c->operators || (left == c->operators && left == 2 && c->divides));
}

/* ---- The rewrite ----------------------------------------------------------------------------- */

typedef struct Affine {
  GlowBuilder builder;
  GlowValue *f, *t; /* NULL: 1 and 0 */
  bool failed;      /* after a diagnostic */
} Affine;

/* Sets *v to *v op by, or to `by` if *v is NULL. */
static void step_to(Affine *a, GlowValue **v, GlowOp op, GlowValue *by) {
  *v = *v ? glow_then2(&a->builder, op, *v, by) : by;
  a->failed |= !*v;
}

/* y op v, or y where v is absent. NULL if y is. */
static GlowValue *apply(Affine *a, GlowValue *y, GlowOp op, GlowValue *v) {
  return v ? glow_then2(&a->builder, op, y, v) : y;
}

static void add_norm(Affine *a, const GlowNode *n) {
  GlowBuilder *b = &a->builder;
  uint32_t rank = n->results[0].type->rank;
  GlowValue *f = glow_norm_factor(b, n, glow_node_in(n, GLOW_BATCH_NORMALIZATION_IN_SCALE),
                                  glow_node_in(n, GLOW_BATCH_NORMALIZATION_IN_VAR));
  GlowValue *t = glow_then2(b, GLOW_OP_MUL, glow_node_in(n, GLOW_BATCH_NORMALIZATION_IN_MEAN), f);
  t = glow_then2(b, GLOW_OP_SUB, glow_node_in(n, GLOW_BATCH_NORMALIZATION_IN_BIAS), t);
  f = glow_along_channels(b, n, f, rank);
  t = glow_along_channels(b, n, t, rank);
  step_to(a, &a->f, GLOW_OP_MUL, f);
  if (a->t)
    step_to(a, &a->t, GLOW_OP_MUL, f);
  step_to(a, &a->t, GLOW_OP_ADD, t);
}

static void add_operator(Affine *a, const Step *step) {
  GlowOp op = step->node->op;
  GlowValue *s = step->operand;
  if (op == GLOW_OP_SUB && !a->t)
    s = glow_then1(&a->builder, GLOW_OP_NEG, s, NULL);
  if (op == GLOW_OP_DIV && !a->f)
    a->f = glow_build_scalar(&a->builder, s->type->kind, 1.0);
  if (op == GLOW_OP_ADD || op == GLOW_OP_SUB) {
    step_to(a, &a->t, op, s);
    return;
  }
  step_to(a, &a->f, op, s);
  if (a->t)
    step_to(a, &a->t, op, s);
}

static bool rewrite(GlowPassRun *run, const Chain *c) {
  GlowNode *last = c->steps.data[c->steps.count - 1].node;
  Affine a = {.builder = glow_builder_before(last)};
  for (uint32_t i = 0; i < c->steps.count && !a.failed; i++) {
    if (c->steps.data[i].operand)
      add_operator(&a, &c->steps.data[i]);
    else
      add_norm(&a, c->steps.data[i].node);
  }
  GlowValue *y = a.failed ? NULL : apply(&a, c->x, GLOW_OP_MUL, a.f);
  y = apply(&a, y, GLOW_OP_ADD, a.t);
  if (!y)
    return false;
  glow_pass_changed(run, last, "merged %u operators into %u", c->operators, c->scales + c->adds);
  glow_node_replace(last, &y, 1);
  if (c->steps.count > 1)
    glow_remove_dead(c->steps.data[c->steps.count - 2].node);
  return true;
}

typedef struct Found {
  GlowArena *arena;
  GLOW_VEC(GlowNode *) nodes;
} Found;

static bool find(GlowNode *n, void *arg) {
  Found *found = arg;
  if (is_step(n) && glow_type_is_tensor(n->results[0].type) && !n->results[0].type->unranked &&
      (n->results[0].type->kind == GLOW_KIND_FLOAT || n->results[0].type->kind == GLOW_KIND_DOUBLE))
    glow_vec_push(found->arena, &found->nodes, n);
  return true;
}

bool glow_pass_merge_affine(GlowPassRun *run) {
  Found found = {.arena = run->arena};
  Chain c = {.arena = run->arena, .constness = glow_constness_create(run->arena)};
  glow_block_walk(run->function->body, find, &found); /* a rewrite removes what follows */
  for (uint32_t i = 0; i < found.nodes.count; i++) {
    GlowNode *n = found.nodes.data[i];
    uint32_t operands = GLOW_HAS(glow_node_desc(n), COMMUTATIVE) ? 2 : 1;
    for (uint32_t k = 0; k < operands && n->block; k++) {
      GlowValue *x = glow_node_in(n, k);
      if (!same_rows(x->type, n->results[0].type) || glow_constness_of(c.constness, x))
        continue;
      collect(&c, n, x);
      if (is_worthwhile(&c) && !rewrite(run, &c))
        return false;
    }
  }
  return true;
}
