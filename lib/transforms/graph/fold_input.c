/* Folding affine steps into the contraction after them:
 *
 *   step -> ... -> y = Convolution(x, W, B)      becomes      y = Convolution(x, W', B')
 *
 * and likewise for ConvTranspose, FullyConnected and MatMul. A step is Mul, Div, Add or Sub with a
 * constant of one value for each channel (of a product: each row of W; or one for all), whose
 * result has no other use; W must be constant, B constant or absent. The steps nearest to the
 * contraction come first:
 *
 *   Mul s, Div s         W' = W * s along the channels that come in         (or /)
 *   Add t, Sub t         B' = B + the sum of W' * t for each output         (or -)
 *
 * A shift stays if the convolution pads: the zeros of its padding were not shifted. It stays before
 * ConvTranspose, whose outputs do not all meet the same taps.
 *
 * Bounded: each output has K products; a step's rounding of x is replaced by one of W, and a
 * shift's products are summed apart: c = 2 K + 8. */
#include "pass/pass.h"
#include "transforms/contraction.h"

typedef struct Step {
  GlowNode *node;
  GlowValue *constant;
} Step;

typedef struct Fold {
  GlowPassRun *run;
  GlowContraction of;
  GLOW_VEC(Step) steps; /* the nearest first */
} Fold;

/* Whether all outputs of n add up the same number of products. */
static bool sums_alike(const GlowNode *n) {
  if (n->op != GLOW_OP_CONVOLUTION)
    return n->op != GLOW_OP_CONV_TRANSPOSE;
  const GlowConvolutionMembers *m = n->members;
  bool padded = false;
  for (uint32_t i = 0; i < m->pads.count; i++)
    padded |= glow_array_at(m->pads, uint32_t, i) != 0;
  return !padded;
}

/* The operand of the step n that is not constant; NULL if n is no step. Only `user` uses n. */
static GlowValue *accept(const Fold *f, GlowConstness *constness, GlowNode *n, const GlowNode *user,
                         Step *step) {
  bool shift = n->op == GLOW_OP_ADD || n->op == GLOW_OP_SUB;
  if (!glow_is_affine(n) || glow_only_user(&n->results[0]) != user || n->block != user->block ||
      n->pred.value != user->pred.value || (shift && !sums_alike(f->of.node)))
    return NULL;
  const GlowType *type = n->results[0].type;
  for (uint32_t i = 0; i < 2; i++) {
    GlowValue *x = glow_node_in(n, i), *other = glow_node_in(n, 1 - i);
    if (i == 1 && !GLOW_HAS(glow_node_desc(n), COMMUTATIVE))
      break;
    if (x->type == type && glow_is_per_channel(other->type, type->rank, f->of.x_axis, f->of.in) &&
        glow_constness_of(constness, other)) {
      *step = (Step){n, other};
      return x;
    }
  }
  return NULL;
}

/* Collects the steps before the contraction. Returns the operand of the first of them. */
static GlowValue *collect(Fold *f, GlowConstness *constness) {
  GlowValue *x = glow_node_in(f->of.node, GLOW_CONTRACTION_X);
  const GlowNode *user = f->of.node;
  while (x->kind == GLOW_VALUE_RESULT) {
    Step step;
    GlowValue *before = accept(f, constness, x->def.node, user, &step);
    if (!before)
      break;
    glow_vec_push(f->run->arena, &f->steps, step);
    x = before;
    user = step.node;
  }
  return x;
}

/* ---- New weights ----------------------------------------------------------------------------- */

typedef struct Weights {
  const Fold *fold;
  GlowEval eval;
  GlowValue *w, *b; /* so far; b NULL: zeros */
  const GlowType *type;
} Weights;

static GlowValue *reshape(Weights *s, GlowValue *v, const int64_t *shape, uint32_t rank) {
  if (!v)
    return NULL;
  GlowValue *to = glow_constant_ints(s->eval.module, s->fold->of.node, "shape", shape, rank);
  return glow_build2(&s->eval.builder, GLOW_OP_RESHAPE, v, to, NULL, NULL);
}

static GlowValue *build(Weights *s, GlowOp op, GlowValue *a, GlowValue *b) {
  return a && b ? glow_build2(&s->eval.builder, op, a, b, NULL, NULL) : NULL;
}

/* op(W, v) along the input channels. If these are not axis 0 of W and there are several groups,
 * axis 0 has the outputs of group after group; so W gets an axis of groups in front for the
 * operation. */
static GlowValue *along_input(Weights *s, GlowOp op, GlowValue *v) {
  const GlowContraction *c = &s->fold->of;
  uint32_t rank = s->type->rank, extra = c->groups > 1 && c->w_in;
  int64_t split[GLOW_MAX_RANK + 1], shape[GLOW_MAX_RANK + 1], whole[GLOW_MAX_RANK];
  bool vector = glow_type_elements(v->type) != 1;
  for (uint32_t i = 0; i < rank; i++) {
    whole[i] = split[i + extra] = s->type->dims[i].size;
    shape[i + extra] = vector && i == c->w_in ? (extra ? c->in / c->groups : c->in) : 1;
  }
  if (extra) {
    split[0] = c->groups;
    split[1] = whole[0] / c->groups;
    shape[0] = vector ? c->groups : 1;
  }
  GlowValue *w = extra ? reshape(s, s->w, split, rank + 1) : s->w;
  GlowValue *y = build(s, op, w, reshape(s, v, shape, rank + extra));
  return extra ? reshape(s, y, whole, rank) : y;
}

/* The sum of W * t over all axes but that of outputs. */
static GlowValue *shift_of(Weights *s, GlowValue *t) {
  const GlowContraction *c = &s->fold->of;
  int64_t axes[GLOW_MAX_RANK];
  uint32_t count = 0;
  for (uint32_t i = 0; i < s->type->rank; i++)
    if (i != c->w_out)
      axes[count++] = i;
  GlowValue *products = along_input(s, GLOW_OP_MUL, t);
  GlowValue *over = glow_constant_ints(s->eval.module, c->node, "axes", axes, count);
  GlowReduceSumMembers members = {.keep = false};
  return products
             ? glow_build2(&s->eval.builder, GLOW_OP_REDUCE_SUM, products, over, &members, NULL)
             : NULL;
}

/* W' and, if asked, B' after all steps, as a constant. NULL after a diagnostic. */
static GlowValue *fold_weights(const Fold *f, bool bias) {
  GlowNode *n = f->of.node;
  GlowValue *w = glow_node_in(n, GLOW_CONTRACTION_W), *b = glow_node_in(n, GLOW_CONTRACTION_B);
  Weights s = {.fold = f, .type = w->type};
  s.eval = glow_eval_create(f->run->module, f->run->arena, n);
  s.w = glow_eval_copy(&s.eval, w);
  s.b = bias && b ? glow_eval_copy(&s.eval, b) : NULL;
  for (uint32_t i = 0; s.w && i < f->steps.count; i++) {
    GlowOp op = f->steps.data[i].node->op;
    bool shift = op == GLOW_OP_ADD || op == GLOW_OP_SUB;
    if (shift && !bias)
      continue;
    GlowValue *v = glow_eval_copy(&s.eval, f->steps.data[i].constant);
    if (!shift) {
      s.w = along_input(&s, op, v);
      continue;
    }
    GlowValue *sum = shift_of(&s, v);
    if (!s.b && sum && op == GLOW_OP_SUB)
      s.b = glow_build1(&s.eval.builder, GLOW_OP_NEG, sum, NULL, NULL);
    else
      s.b = s.b ? build(&s, op, s.b, sum) : sum;
    if (!s.b)
      return NULL;
  }
  GlowValue *y = bias ? s.b : s.w;
  const char *name = n->results[0].name ? n->results[0].name : "sum";
  GlowStr full = glow_str_printf(f->run->ctx, "%s.%s", name, bias ? "bias" : "weights");
  return y ? &glow_eval_finish(&s.eval, y, full)->value : NULL;
}

static bool rewrite(const Fold *f, GlowValue *x) {
  GlowNode *n = f->of.node;
  bool shifts = false, scales = false;
  for (uint32_t i = 0; i < f->steps.count; i++) {
    GlowOp op = f->steps.data[i].node->op;
    shifts |= op == GLOW_OP_ADD || op == GLOW_OP_SUB;
    scales |= op == GLOW_OP_MUL || op == GLOW_OP_DIV;
  }
  GlowValue *ins[] = {x, glow_node_in(n, GLOW_CONTRACTION_W), glow_node_in(n, GLOW_CONTRACTION_B)};
  if ((scales && !(ins[1] = fold_weights(f, false))) ||
      (shifts && !(ins[2] = fold_weights(f, true))))
    return false;
  GlowValue *y = glow_contraction_build(&f->of, ins);
  if (!y)
    return false;
  glow_pass_changed(f->run, n, "folded %u step%s before %%%s into it", f->steps.count,
                    f->steps.count == 1 ? "" : "s", n->results[0].name);
  glow_node_replace(n, &y, 1);
  glow_remove_dead(f->steps.data[0].node);
  return true;
}

typedef struct Found {
  GlowArena *arena;
  GLOW_VEC(GlowContraction) all;
} Found;

static bool find(GlowNode *n, void *arg) {
  Found *found = arg;
  GlowContraction c;
  if (glow_contraction_describe(n, &c))
    glow_vec_push(found->arena, &found->all, c);
  return true;
}

bool glow_pass_fold_input(GlowPassRun *run) {
  GlowConstness *constness = glow_constness_create(run->arena);
  Found found = {.arena = run->arena};
  glow_block_walk(run->function->body, find, &found);
  for (uint32_t i = 0; i < found.all.count; i++) {
    Fold f = {.run = run, .of = found.all.data[i]};
    if (!glow_contraction_is_constant(&f.of, constness) ||
        (f.of.groups > 1 && glow_node_in(f.of.node, 1)->type->rank == GLOW_MAX_RANK))
      continue;
    GlowValue *x = collect(&f, constness);
    if (f.steps.count && !rewrite(&f, x))
      return false;
  }
  return true;
}
