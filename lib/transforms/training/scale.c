/* Scaling of the loss, for gradients that would underflow in 16 bits: the seed of the gradient is
 * the scale, and gradients are divided by it.
 *
 *   loss-scale=1024      a number
 *   loss-scale=dynamic   @train.scale, 65536 at first. A step with a gradient that is not finite
 *                        changes no variable but halves the scale; 2000 good steps, which
 *                        @train.good counts, double it */
#include <math.h>
#include <string.h>

#include "transforms/training/training.h"

enum { FIRST_SCALE = 65536, GOOD_STEPS = 2000 };

static GlowValue *two(GlowTraining *t, GlowOp op, GlowValue *x, GlowValue *y) {
  return glow_then2(&t->b, op, x, y);
}

static GlowValue *number(GlowTraining *t, GlowKind kind, double v) {
  return glow_build_scalar(&t->b, kind, v);
}

bool glow_training_begin_scale(GlowTraining *t) {
  const char *text = glow_pass_option(t->run, "loss-scale");
  if (!text)
    return true;
  if (strcmp(text, "dynamic") == 0) {
    GlowStorage *s = glow_training_variable(t, glow_str(t->ctx, "train.scale"),
                                            glow_type_scalar(t->ctx, GLOW_KIND_FLOAT),
                                            (GlowScalar){.f = FIRST_SCALE});
    t->good = glow_training_variable(t, glow_str(t->ctx, "train.good"),
                                     glow_type_scalar(t->ctx, GLOW_KIND_I64),
                                     (GlowScalar){.is_int = true});
    t->scale = s ? &s->value : NULL;
    return s && t->good;
  }
  double v = glow_training_number(t, "loss-scale", 1);
  if (v > 0)
    t->scale = number(t, GLOW_KIND_FLOAT, v);
  else if (!isnan(v))
    glow_error(t->ctx, GLOW_NOWHERE, "-train: loss-scale=%g must be above 0, or dynamic", v);
  return t->scale != NULL;
}

/* Whether all elements are finite: NaN is below nothing. */
static GlowValue *all_finite(GlowTraining *t, GlowValue *v) {
  GlowReduceMaxMembers all = {.keep = false};
  GlowValue *size = glow_then1(&t->b, GLOW_OP_ABS, v, NULL);
  GlowValue *most = glow_then1(&t->b, GLOW_OP_REDUCE_MAX, size, &all);
  return most ? two(t, GLOW_OP_LESS, most, number(t, most->type->kind, (double)INFINITY)) : NULL;
}

/* The next scale, and how many good steps there were since it changed. */
static bool save_scale(GlowTraining *t) {
  GlowValue *zero = number(t, GLOW_KIND_I64, 0);
  GlowValue *more = two(t, GLOW_OP_ADD, &t->good->value, number(t, GLOW_KIND_I64, 1));
  GlowValue *full = two(t, GLOW_OP_EQUAL, more, number(t, GLOW_KIND_I64, GOOD_STEPS));
  GlowValue *good = glow_then3(&t->b, GLOW_OP_WHERE, full, zero, more);
  GlowValue *twice = two(t, GLOW_OP_MUL, t->scale, number(t, GLOW_KIND_FLOAT, 2));
  GlowValue *half = two(t, GLOW_OP_MUL, t->scale, number(t, GLOW_KIND_FLOAT, 0.5));
  GlowValue *grown = glow_then3(&t->b, GLOW_OP_WHERE, full, twice, t->scale);
  GlowValue *next = glow_then3(&t->b, GLOW_OP_WHERE, t->finite, grown, half);
  GlowValue *count = glow_then3(&t->b, GLOW_OP_WHERE, t->finite, good, zero);
  GlowValue *scale_ins[] = {next, t->scale}, *good_ins[] = {count, &t->good->value};
  return next && count && glow_build(&t->b, GLOW_OP_SAVE, scale_ins, 2, NULL, NULL) &&
         glow_build(&t->b, GLOW_OP_SAVE, good_ins, 2, NULL, NULL);
}

bool glow_training_unscale(GlowTraining *t, GlowValue **gradients) {
  GlowValue *finite = NULL;
  for (uint32_t i = 0; t->scale && i < t->weights.count; i++) {
    GlowValue *by = glow_then_cast(&t->b, t->scale, gradients[i]->type->kind);
    gradients[i] = two(t, GLOW_OP_DIV, gradients[i], by);
    GlowValue *fits = t->good && gradients[i] ? all_finite(t, gradients[i]) : NULL;
    if (!gradients[i] || (t->good && !fits))
      return false;
    finite = finite && fits ? two(t, GLOW_OP_AND, finite, fits) : fits;
  }
  if (finite)
    glow_value_set_name(finite, glow_str(t->ctx, "finite"));
  t->finite = finite;
  return !t->good || (finite && save_scale(t));
}
