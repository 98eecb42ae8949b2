/* What -train builds, in parts: the loss behind a function, the rate of a step, and the updates.
 * All of it is ordinary text. The names that callers rely on are in docs/HowTo-train.md. */
#ifndef GLOW_TRANSFORMS_TRAINING_TRAINING_H
#define GLOW_TRANSFORMS_TRAINING_TRAINING_H

#include "pass/pass.h"
#include "transforms/transforms.h"

typedef GLOW_VEC(GlowStorage *) GlowStorageList;

typedef struct GlowTraining {
  GlowPassRun *run;
  GlowContext *ctx;
  GlowModule *module;
  GlowFunction *net;       /* what is trained */
  GlowFunction *judged;    /* what @eval computes; the net itself, unless option `eval` says else */
  GlowFunction *loss;      /* computes the loss, then how many are right if that is known */
  GlowStorageList weights; /* what is updated */
  GlowStorageList states;  /* what the net itself saves: running statistics, random states */
  GlowBuilder b;           /* at the end of @train */
  int64_t slices, batch;   /* with accumulate: how many slices a step has, and their extent */
  GlowValue *scale;        /* of the loss, a float<>; NULL: 1 */
  GlowStorage *good;       /* with a dynamic scale: counts good steps */
  GlowValue *finite;       /* then: whether variables change; NULL: they do */
} GlowTraining;

/* Options as numbers. NaN after a diagnostic. */
double glow_training_number(GlowTraining *t, const char *name, double initial);

/* The placeholder of this name and type: one that the module has, or a new one. NULL after a
 * diagnostic: something of the name is there, but is no such placeholder. */
GlowStorage *glow_training_port(GlowTraining *t, const char *name, const GlowType *type);
/* A new variable that begins with `value` everywhere. NULL after a diagnostic: the name is taken.
 */
GlowStorage *glow_training_variable(GlowTraining *t, GlowStr name, const GlowType *type,
                                    GlowScalar value);
/* Saves v into s; a variable keeps its value if t->finite says that variables do not change. */
bool glow_training_save(GlowTraining *t, GlowValue *v, GlowStorage *s);

/* Builds the loss that option `loss` names, of the value `of`, at b. *right gets how many places
 * are right, an i64<> if `of` has one for each sample, else the part of them; NULL for losses that
 * have no classes. NULL after a diagnostic. */
GlowValue *glow_training_loss(GlowTraining *t, GlowBuilder *b, GlowValue *of, GlowValue **right);

/* Builds the rate of the step with this number, from 0: a double<> by the options of the schedule.
 * NULL after a diagnostic. */
GlowValue *glow_training_rate(GlowTraining *t, GlowValue *step);

/* Sets t->scale, and t->good if the scale is dynamic, by option `loss-scale`. */
bool glow_training_begin_scale(GlowTraining *t);
/* Divides the derivatives of t->weights by the scale in place, and sets t->finite. */
bool glow_training_unscale(GlowTraining *t, GlowValue **gradients);

/* Accumulation. Inputs that f reads become parameters of the same names; sets t->batch, their first
 * extent. False after a diagnostic. */
bool glow_training_parameters(GlowTraining *t, GlowFunction *f);
/* The type of all slices of an input. */
const GlowType *glow_training_whole(const GlowTraining *t, const GlowType *type);
/* Builds the loop over slices of the parameters at t->b, which Calls g; results[i] gets the mean,
 * or for counts the sum, of g's result i. */
bool glow_training_accumulate(GlowTraining *t, const GlowFunction *g, GlowValue *seed,
                              GlowValue **results);

/* Clips the derivatives of t->weights in place. *norm gets the length of all of them if clip-norm
 * is given. */
bool glow_training_clip(GlowTraining *t, GlowValue **gradients, GlowValue **norm);
/* Updates t->weights by the optimizer of the options, and saves them. `count`: the number of the
 * step, from 1, an i64<>. */
bool glow_training_update(GlowTraining *t, GlowValue *const *gradients, GlowValue *rate,
                          GlowValue *count);

#endif
