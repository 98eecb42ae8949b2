/* The loop over data: steps, evaluations and checkpoints. A step is a function that is run on a
 * batch and leaves all its state in variables; another function, which shares them, may judge it.
 */
#ifndef GLOW_TRAIN_LOOP_H
#define GLOW_TRAIN_LOOP_H

#include <signal.h>

#include "driver/feed.h"
#include "train/checkpoint.h"
#include "train/finite.h"
#include "train/log.h"
#include "train/score.h"

typedef struct GlowTraining {
  GlowContext *ctx;
  GlowSession session;
  int64_t steps;                    /* so many together, with those before */
  int64_t every;                    /* a checkpoint after each so many steps; 0: after each epoch */
  GLOW_VEC(GlowCondition) required; /* the first one also says what is best */
  const volatile sig_atomic_t *stop; /* ends after the step when it is not 0; or NULL */
  GlowFeed data, judged;             /* judged.batch 0: nothing is evaluated */
  GlowRunnable *step, *judge;
  GlowCheckpoints checkpoints;
  GlowWatch watch;
  bool watched; /* stop at a value that is not finite */
  GlowLog log;
  int64_t done;                  /* steps so far */
  bool interrupted;              /* *stop ended the loop */
  GlowScores scores, evaluation; /* of the last step, of the last evaluation */
  uint64_t *order;               /* of `epoch` */
  int64_t epoch;
  bool has_best;
  double best;
} GlowTraining;

/* Runs until `steps` are done or *stop is set. A checkpoint is written as `every` says and at the
 * end. Failures have been reported; the last checkpoint stays then. */
GlowStatus glow_train(GlowTraining *t);
/* Reports the conditions that do not hold. */
bool glow_train_holds(const GlowTraining *t);

#endif
