/* The rate of a step: @train.rate times a factor in double, for step s = 0, 1, ...
 *
 *   constant   1
 *   step       gamma^floor(s / every)
 *   linear     1 - s / steps
 *   cosine     (1 + Cos(pi * s / steps)) / 2
 *   given      1, and the rate is the placeholder @rate, which the caller gives for each run
 *
 * Behind `steps` the factor stays what it is there. With warmup=W the factor of the first W steps
 * is (s + 1) / W, and the schedule begins behind them: s - W of steps - W. */
#include <math.h>

#include "transforms/training/training.h"

typedef struct Rate {
  GlowTraining *t;
  GlowValue *s; /* steps behind the warmup, a double<> */
  double steps; /* of them; NaN: not given */
} Rate;

static GlowValue *real(Rate *r, double v) {
  return glow_build_scalar(&r->t->b, GLOW_KIND_DOUBLE, v);
}

static GlowValue *two(Rate *r, GlowOp op, GlowValue *x, GlowValue *y) {
  return glow_then2(&r->t->b, op, x, y);
}

static GlowValue *bounded(Rate *r) { return two(r, GLOW_OP_MIN, r->s, real(r, r->steps)); }

static GlowValue *stepwise(Rate *r) {
  double every = glow_training_number(r->t, "every", (double)NAN);
  double gamma = glow_training_number(r->t, "gamma", 0.1);
  if (!(every >= 1) || isnan(gamma)) {
    glow_error(r->t->ctx, GLOW_NOWHERE, "-train: schedule=step needs every=N, a number of steps");
    return NULL;
  }
  GlowValue *stairs =
      glow_then1(&r->t->b, GLOW_OP_FLOOR, two(r, GLOW_OP_DIV, r->s, real(r, every)), NULL);
  return two(r, GLOW_OP_POW, real(r, gamma), stairs);
}

static GlowValue *linear(Rate *r) {
  return two(r, GLOW_OP_SUB, real(r, 1), two(r, GLOW_OP_DIV, bounded(r), real(r, r->steps)));
}

static GlowValue *cosine(Rate *r) {
  static const double pi = 3.14159265358979323846;
  GlowValue *angle = two(r, GLOW_OP_MUL, bounded(r), real(r, pi));
  angle = two(r, GLOW_OP_DIV, angle, real(r, r->steps));
  GlowValue *up = two(r, GLOW_OP_ADD, real(r, 1), glow_then1(&r->t->b, GLOW_OP_COS, angle, NULL));
  return two(r, GLOW_OP_DIV, up, real(r, 2));
}

static const struct {
  const char *name;
  bool needs_steps;
  GlowValue *(*factor)(Rate *r); /* NULL: 1 */
} schedules[] = {{"constant", false, NULL},
                 {"step", false, stepwise},
                 {"linear", true, linear},
                 {"cosine", true, cosine},
                 {"given", false, NULL}};

enum { SCHEDULES = sizeof schedules / sizeof *schedules };

/* The index of the schedule; SCHEDULES after a diagnostic. */
static uint32_t find_schedule(GlowTraining *t, const char *name) {
  const char *names[SCHEDULES];
  for (uint32_t i = 0; i < SCHEDULES; i++) {
    names[i] = schedules[i].name;
    if (strcmp(name, names[i]) == 0)
      return i;
  }
  const char *near = glow_nearest(name, names, SCHEDULES);
  glow_error(t->ctx, GLOW_NOWHERE, "-train: unknown schedule '%s'%s%s%s", name,
             near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  return SCHEDULES;
}

/* The factor of the schedule, with its warmup: NULL for 1. False after a diagnostic. */
static bool build_factor(Rate *r, uint32_t schedule, GlowValue *step, GlowValue **factor) {
  double steps = glow_training_number(r->t, "steps", 0);
  double warmup = glow_training_number(r->t, "warmup", 0);
  *factor = NULL;
  if (isnan(steps) || isnan(warmup))
    return false;
  if (schedules[schedule].needs_steps && !(steps > warmup)) {
    glow_error(r->t->ctx, GLOW_NOWHERE, "-train: schedule=%s needs steps=N%s",
               schedules[schedule].name, warmup > 0 ? ", more than the warmup" : "");
    return false;
  }
  if (!schedules[schedule].factor && !(warmup > 0))
    return true;
  GlowValue *s = glow_then_cast(&r->t->b, step, GLOW_KIND_DOUBLE);
  r->steps = steps - warmup;
  r->s = warmup > 0 ? two(r, GLOW_OP_SUB, s, real(r, warmup)) : s;
  if (schedules[schedule].factor && !(*factor = schedules[schedule].factor(r)))
    return false;
  if (!(warmup > 0))
    return true;
  GlowValue *ramp = two(r, GLOW_OP_DIV, two(r, GLOW_OP_ADD, s, real(r, 1)), real(r, warmup));
  GlowValue *early = two(r, GLOW_OP_LESS, s, real(r, warmup));
  *factor = glow_then3(&r->t->b, GLOW_OP_WHERE, early, ramp, *factor ? *factor : real(r, 1));
  return *factor != NULL;
}

GlowValue *glow_training_rate(GlowTraining *t, GlowValue *step) {
  const char *name = glow_pass_option(t->run, "schedule");
  const GlowType *type = glow_type_scalar(t->ctx, GLOW_KIND_DOUBLE);
  uint32_t schedule = find_schedule(t, name ? name : "constant");
  if (schedule == SCHEDULES)
    return NULL;
  if (strcmp(schedules[schedule].name, "given") == 0) {
    GlowStorage *given = glow_training_port(t, "rate", type);
    return given ? &given->value : NULL;
  }
  double base = glow_training_number(t, "rate", (double)NAN);
  if (!(base > 0)) {
    glow_error(t->ctx, GLOW_NOWHERE,
               "-train: give the rate of learning, a number above 0: rate=0.1");
    return NULL;
  }
  Rate r = {.t = t};
  GlowValue *factor, *rate;
  GlowStorage *v =
      glow_training_variable(t, glow_str(t->ctx, "train.rate"), type, (GlowScalar){.f = base});
  if (!v || !build_factor(&r, schedule, step, &factor))
    return NULL;
  rate = factor ? two(&r, GLOW_OP_MUL, factor, &v->value) : &v->value;
  if (rate && factor)
    glow_value_set_name(rate, glow_str(t->ctx, "rate"));
  return rate && glow_training_save(t, rate, glow_training_port(t, "rate", type)) ? rate : NULL;
}
