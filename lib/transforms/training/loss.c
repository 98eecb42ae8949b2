/* The losses of -train, each the mean over all elements.
 *
 *   SoftmaxCrossEntropyLoss   of logits [N, C, ...] and @label [N, ...], classes as i64
 *   BinaryCrossEntropyLoss    Softplus(X) - X * T: of logits and @label, numbers between 0 and 1
 *   SquaredLoss               (X - T) * (X - T)
 *   AbsoluteLoss              |X - T|
 *   HuberLoss                 m * (a - m / 2) with a = |X - T| and m = Min(a, delta)
 *   Regression                X itself, for which the derivative X - T is defined
 *
 * With axis=-1 the classes of logits [N, ..., C] are their last axis. */
#include "transforms/training/training.h"

typedef struct Loss {
  GlowTraining *t;
  GlowBuilder *b;
  GlowValue *x, *target; /* the target of x's type, or for classes i64 */
  GlowValue **right;
} Loss;

static GlowValue *two(Loss *l, GlowOp op, GlowValue *x, GlowValue *y) {
  return glow_then2(l->b, op, x, y);
}

static GlowValue *number(Loss *l, double v) { return glow_build_scalar(l->b, l->x->type->kind, v); }

static GlowValue *mean(Loss *l, GlowValue *v) {
  return glow_then1(l->b, GLOW_OP_REDUCE_MEAN, v, &(GlowReduceMeanMembers){.keep = false});
}

static GlowValue *sum(Loss *l, GlowValue *v) {
  return glow_then1(l->b, GLOW_OP_REDUCE_SUM, v, &(GlowReduceSumMembers){.keep = false});
}

/* How many places of the bools v are true: all of them, or the part of them where a sample has
 * several. */
static GlowValue *count_right(Loss *l, GlowValue *v) {
  if (!v)
    return NULL;
  if (v->type->rank == 1)
    return sum(l, glow_then_cast(l->b, v, GLOW_KIND_I64));
  return mean(l, glow_then_cast(l->b, v, GLOW_KIND_FLOAT));
}

/* The target: a placeholder @label of this type. */
static bool add_label(Loss *l, const GlowType *type) {
  GlowStorage *s = glow_training_port(l->t, "label", type);
  l->target = s ? &s->value : NULL;
  return s != NULL;
}

/* ---- Classes --------------------------------------------------------------------------------- */

static bool read_axis(Loss *l, bool *last) {
  bool ok = true;
  int64_t axis = glow_pass_option_int(l->t->run, "axis", 1, &ok);
  *last = axis == -1 && l->x->type->rank > 2;
  if (ok && axis != 1 && axis != -1)
    glow_error(l->t->ctx, GLOW_NOWHERE, "-train: axis=%lld is neither 1 nor -1", (long long)axis);
  return ok && (axis == 1 || axis == -1);
}

/* Puts the classes behind the first axis: [N, ..., C] as [N..., C], and @label as a vector. */
static bool flatten_places(Loss *l) {
  const GlowType *t = l->x->type;
  if (l->x->kind != GLOW_VALUE_RESULT || !glow_type_is_static(t)) {
    glow_error(l->t->ctx, glow_value_loc(l->x),
               "-train: axis=-1: '%s' must be computed, with exact "
               "extents, but is %s",
               l->x->name, glow_type_str(l->t->ctx, t));
    return false;
  }
  int64_t classes = t->dims[t->rank - 1].size, places = 1;
  for (uint32_t i = 0; i + 1 < t->rank; i++)
    places *= t->dims[i].size;
  const GlowNode *n = l->x->def.node;
  l->x = glow_build_shaped(l->b, n, l->x, 2, (int64_t[]){places, classes});
  l->target = glow_build_shaped(l->b, n, l->target, 1, (int64_t[]){places});
  return l->x && l->target;
}

static GlowValue *softmax_cross_entropy(Loss *l) {
  const GlowType *t = l->x->type;
  GlowDim dims[GLOW_MAX_RANK];
  bool last = false;
  if (t->rank < 2) {
    glow_error(l->t->ctx, glow_value_loc(l->x), "-train: the loss is of classes, but '%s' is %s",
               l->x->name, glow_type_str(l->t->ctx, t));
    return NULL;
  }
  if (!read_axis(l, &last))
    return NULL;
  for (uint32_t i = 0, k = 0; i < t->rank; i++)
    if (i != (last ? t->rank - 1 : 1))
      dims[k++] = t->dims[i];
  const GlowType *label =
      glow_type_with_dims(l->t->ctx, glow_type_scalar(l->t->ctx, GLOW_KIND_I64), t->rank - 1, dims);
  if (!add_label(l, label) || (last && !flatten_places(l)))
    return NULL;
  GlowArgMaxMembers along = {.axis = 1};
  GlowValue *top = glow_then1(l->b, GLOW_OP_ARG_MAX, l->x, &along);
  GlowValue *same = two(l, GLOW_OP_EQUAL, top, l->target);
  if (last && same) /* places of several axes: their part, not their number */
    *l->right = mean(l, glow_then_cast(l->b, same, GLOW_KIND_FLOAT));
  else
    *l->right = count_right(l, same);
  return *l->right ? two(l, GLOW_OP_SOFTMAX_CROSS_ENTROPY_LOSS, l->x, l->target) : NULL;
}

static GlowValue *binary_cross_entropy(Loss *l) {
  if (!add_label(l, l->x->type))
    return NULL;
  GlowValue *half = number(l, 0.5);
  GlowValue *yes = two(l, GLOW_OP_GREATER, l->x, number(l, 0));
  GlowValue *same = two(l, GLOW_OP_EQUAL, yes, two(l, GLOW_OP_GREATER, l->target, half));
  const GlowType *t = l->x->type;
  if (same && t->rank == 2 && t->dims[1].kind == GLOW_DIM_EXACT && t->dims[1].size == 1)
    *l->right = sum(l, glow_then_cast(l->b, same, GLOW_KIND_I64));
  else
    *l->right = count_right(l, same);
  GlowValue *soft = glow_then1(l->b, GLOW_OP_SOFTPLUS, l->x, NULL);
  return *l->right ? mean(l, two(l, GLOW_OP_SUB, soft, two(l, GLOW_OP_MUL, l->x, l->target)))
                   : NULL;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static GlowValue *difference(Loss *l) {
  return add_label(l, l->x->type) ? two(l, GLOW_OP_SUB, l->x, l->target) : NULL;
}

static GlowValue *squared(Loss *l) {
  GlowValue *d = difference(l);
  return mean(l, two(l, GLOW_OP_MUL, d, d));
}

static GlowValue *absolute(Loss *l) {
  return mean(l, glow_then1(l->b, GLOW_OP_ABS, difference(l), NULL));
}

static GlowValue *huber(Loss *l) {
  double delta = glow_training_number(l->t, "delta", 1);
  if (!(delta > 0)) {
    if (delta <= 0)
      glow_error(l->t->ctx, GLOW_NOWHERE, "-train: delta=%g must be above 0", delta);
    return NULL;
  }
  GlowValue *a = glow_then1(l->b, GLOW_OP_ABS, difference(l), NULL);
  GlowValue *m = two(l, GLOW_OP_MIN, a, number(l, delta));
  GlowValue *rest = two(l, GLOW_OP_SUB, a, two(l, GLOW_OP_MUL, m, number(l, 0.5)));
  return mean(l, two(l, GLOW_OP_MUL, m, rest));
}

static GlowValue *regression(Loss *l) {
  return add_label(l, l->x->type) ? two(l, GLOW_OP_REGRESSION, l->x, l->target) : NULL;
}

static const struct {
  const char *name;
  GlowValue *(*build)(Loss *l);
} losses[] = {{"SoftmaxCrossEntropyLoss", softmax_cross_entropy},
              {"BinaryCrossEntropyLoss", binary_cross_entropy},
              {"SquaredLoss", squared},
              {"AbsoluteLoss", absolute},
              {"HuberLoss", huber},
              {"Regression", regression}};

GlowValue *glow_training_loss(GlowTraining *t, GlowBuilder *b, GlowValue *of, GlowValue **right) {
  enum { LOSSES = sizeof losses / sizeof *losses };
  const char *name = glow_pass_option(t->run, "loss"), *names[LOSSES];
  Loss l = {.t = t, .b = b, .x = of, .right = right};
  *right = NULL;
  for (uint32_t i = 0; i < LOSSES; i++) {
    names[i] = losses[i].name;
    if (strcmp(name, names[i]) == 0)
      return losses[i].build(&l);
  }
  const char *near = glow_nearest(name, names, LOSSES);
  glow_error(t->ctx, GLOW_NOWHERE, "-train: unknown loss '%s'%s%s%s", name,
             near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  return NULL;
}
