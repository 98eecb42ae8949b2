/* Gradient rules of losses by classes, in closed form. With s the derivative of the loss by a
 * place, times the place's weight (over the sum of all weights, for the mean), and 1 at its class:
 *
 *   NegativeLogLikelihoodLoss  dX = -s 1
 *   SoftmaxCrossEntropyLoss    dX = s (Softmax(X) - 1), so no logarithm is kept
 *
 * The derivative by the weight of a class is the sum over its places of the unweighted loss, of the
 * mean that less the mean, over the sum of all weights. X is [batch, classes, ...]. */
#include "autodiff/parts.h"

typedef struct Loss {
  GlowGrad *g;
  GlowValue *x, *dy, *weight;
  GlowValue *ignored; /* where the class is the ignored one; NULL: nowhere */
  GlowValue *classes; /* i64, 0 where it is ignored */
  GlowValue *hot;     /* bool, in the shape of X: whether the class is that of the place */
  GlowValue *weights; /* of the places; NULL: all are 1 */
  GlowValue *total;   /* of the weights, for the mean; else NULL */
  GlowValue *axis;    /* [1] */
  int reduction;
} Loss;

static GlowValue *zero(const Loss *l) { return glow_build_scalar(l->g->b, l->x->type->kind, 0); }

/* v with an axis for the classes. */
static GlowValue *over_classes(const Loss *l, GlowValue *v) {
  return glow_then2(l->g->b, GLOW_OP_UNSQUEEZE, v, l->axis);
}

/* v where the place takes part, else 0. */
static GlowValue *taking_part(const Loss *l, GlowValue *v) {
  return l->ignored ? glow_then3(l->g->b, GLOW_OP_WHERE, l->ignored, zero(l), v) : v;
}

/* v, one for each place, at its class; 0 at other classes. */
static GlowValue *at_class(const Loss *l, GlowValue *v) {
  return glow_then3(l->g->b, GLOW_OP_WHERE, l->hot, v, zero(l));
}

static GlowValue *find_total(const Loss *l) {
  GlowReduceSumMembers all = {.keep = false};
  if (l->weights)
    return glow_then1(l->g->b, GLOW_OP_REDUCE_SUM, l->weights, &all);
  GlowValue *places = glow_then1(l->g->b, GLOW_OP_SIZE, l->classes, NULL);
  return glow_then_cast(l->g->b, places, l->x->type->kind);
}

static bool begin(Loss *l, GlowGrad *g, int reduction, int64_t ignore) {
  const GlowNode *n = g->n;
  GlowBuilder *b = g->b;
  *l = (Loss){.g = g, .x = glow_node_in(n, 0), .dy = g->dy[0], .reduction = reduction};
  const GlowType *t = l->x->type;
  l->weight = glow_node_in(n, GLOW_NEGATIVE_LOG_LIKELIHOOD_LOSS_IN_WEIGHT);
  l->axis = glow_constant_ints(b->module, n, "axis", (int64_t[]){1}, 1);
  l->classes = glow_then_cast(b, glow_node_in(n, 1), GLOW_KIND_I64);
  if (t->unranked || t->dims[1].kind != GLOW_DIM_EXACT)
    return false;
  if (ignore != INT64_MIN) {
    GlowValue *index = glow_constant_int(b->module, n, "ignore", ignore);
    l->ignored = glow_then2(b, GLOW_OP_EQUAL, l->classes, index);
    l->classes = glow_then3(b, GLOW_OP_WHERE, l->ignored,
                            glow_constant_int(b->module, n, "zero", 0), l->classes);
  }
  GlowValue *count = glow_build_count(b, n, t->dims[1].size, 1);
  l->hot = glow_then2(b, GLOW_OP_EQUAL, over_classes(l, l->classes),
                      glow_build_along(b, n, count, t->rank - 1, 0));
  if (l->weight)
    l->weights = glow_build_picked(b, l->weight, l->classes, 0);
  else if (l->ignored)
    l->weights = glow_build_scalar(b, t->kind, 1);
  l->weights = taking_part(l, l->weights);
  if (reduction == GLOW_LOSS_REDUCTION_MEAN)
    l->total = find_total(l);
  return l->hot != NULL;
}

/* The derivative of the loss by what a place adds to its sum, [batch, 1, ...] or a scalar. */
static GlowValue *by_place(const Loss *l, bool weighted) {
  GlowValue *s = l->dy;
  if (l->total)
    s = glow_then2(l->g->b, GLOW_OP_DIV, s, l->total);
  if (weighted && l->weights)
    s = glow_then2(l->g->b, GLOW_OP_MUL, s, l->weights);
  return s && s->type->rank ? over_classes(l, s) : s;
}

/* dWeight from the logarithms of probabilities. */
static GlowValue *by_weight(const Loss *l, GlowValue *log) {
  GlowBuilder *b = l->g->b;
  int64_t axes[GLOW_MAX_RANK];
  uint32_t rank = l->x->type->rank, count = 0;
  GlowValue *loss = glow_then1(b, GLOW_OP_NEG, log, NULL);
  if (l->total)
    loss = glow_then2(b, GLOW_OP_SUB, loss, glow_node_out(l->g->n, 0));
  GlowValue *v = at_class(l, glow_then2(b, GLOW_OP_MUL, loss, by_place(l, false)));
  if (l->ignored)
    v = glow_then3(b, GLOW_OP_WHERE, over_classes(l, l->ignored), zero(l), v);
  for (uint32_t i = 0; i < rank; i++)
    if (i != 1)
      axes[count++] = i;
  return glow_grad_summed(l->g, v, axes, count);
}

enum { X = 0, WEIGHT = GLOW_NEGATIVE_LOG_LIKELIHOOD_LOSS_IN_WEIGHT };

static bool wants_weight(const Loss *l) { return l->weight && l->g->wanted[WEIGHT]; }

bool glow_grad_negative_log_likelihood_loss(GlowGrad *g) {
  const GlowNegativeLogLikelihoodLossMembers *m = g->n->members;
  Loss l;
  if (!begin(&l, g, m->reduction, m->ignore_index))
    return false;
  if (g->wanted[X]) {
    GlowValue *s = glow_then1(g->b, GLOW_OP_NEG, by_place(&l, true), NULL);
    if (!glow_grad_put(g, X, at_class(&l, s)))
      return false;
  }
  return !wants_weight(&l) || glow_grad_put(g, WEIGHT, by_weight(&l, l.x));
}

/* The derivative by X of the logarithms of probabilities, which are a result. */
static GlowValue *by_log(const Loss *l, GlowValue *probability) {
  GlowBuilder *b = l->g->b;
  GlowValue *sum = glow_build_reduce(b, GLOW_OP_REDUCE_SUM, l->g->dy[1], l->axis);
  return glow_then2(b, GLOW_OP_SUB, l->g->dy[1], glow_then2(b, GLOW_OP_MUL, probability, sum));
}

bool glow_grad_softmax_cross_entropy_loss(GlowGrad *g) {
  const GlowSoftmaxCrossEntropyLossMembers *m = g->n->members;
  GlowBuilder *b = g->b;
  Loss l;
  if (!begin(&l, g, m->reduction, m->ignore_index))
    return false;
  if (g->wanted[X]) {
    GlowValue *p = glow_then1(b, GLOW_OP_SOFTMAX, l.x, &(GlowSoftmaxMembers){.axis = 1});
    GlowValue *v = NULL;
    if (l.dy) {
      GlowValue *s = by_place(&l, true);
      v = glow_then2(b, GLOW_OP_SUB, glow_then2(b, GLOW_OP_MUL, p, s), at_class(&l, s));
      if (!v)
        return false;
    }
    if (g->n->nresults > 1 && g->dy[1]) {
      GlowValue *more = by_log(&l, p);
      v = v ? glow_then2(b, GLOW_OP_ADD, v, more) : more;
    }
    if (!glow_grad_put(g, X, v))
      return false;
  }
  if (!wants_weight(&l) || !l.dy)
    return true;
  GlowValue *log = glow_then1(b, GLOW_OP_LOG_SOFTMAX, l.x, &(GlowLogSoftmaxMembers){.axis = 1});
  return glow_grad_put(g, WEIGHT, by_weight(&l, log));
}
