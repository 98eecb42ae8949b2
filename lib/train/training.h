/* From files and options to a training that is ready to run. */
#ifndef GLOW_TRAIN_TRAINING_H
#define GLOW_TRAIN_TRAINING_H

#include "driver/backend.h"
#include "train/loop.h"

typedef struct GlowTexts {
  const char *const *data;
  uint32_t count;
} GlowTexts;

typedef struct GlowTrainingSetup {
  const char *path;     /* of the model */
  GlowLoadOptions load; /* entry NULL: @train, or the only function */
  GlowTexts data, eval; /* NAME=SOURCE; without `eval` nothing is evaluated */
  GlowTexts inputs;     /* NAME=SOURCE of values that do not change, or of variables at first */
  GlowTexts required;   /* conditions */
  const GlowImageOptions *image;
  const char *checkpoint, *resume, *state, *log; /* files, or NULL */
  int64_t steps, epochs;                         /* -1: no limit; one of them has one */
  int64_t shuffle;                               /* the seed; -1: samples come as they lie */
  int64_t every;                                 /* see GlowTraining */
  int64_t keep;                                  /* how many of the last checkpoints; 1 or more */
  bool reset_order, stop_on_nan;
} GlowTrainingSetup;

/* Opens the model, its data, and what a checkpoint has. t has a context and a log, is otherwise
 * zeros, and `how` must outlive it. Passes may change t->session then. A failure has been reported;
 * BAD_USAGE: a condition has another form. */
GlowStatus glow_training_open(GlowTraining *t, const GlowTrainingSetup *how);
/* Compiles the functions, which share a state, and opens the log. `options` is without values. A
 * failure has been reported. */
GlowStatus glow_training_compile(GlowTraining *t, const GlowBackend *backend,
                                 const GlowRunOptions *options);
/* Frees all that t has. */
void glow_training_close(GlowTraining *t);
void glow_training_close_fn(void *t); /* for glow_defer_push */

#endif
