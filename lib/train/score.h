/* Scores: what a function says about its samples, one number for each of its outputs. */
#ifndef GLOW_TRAIN_SCORE_H
#define GLOW_TRAIN_SCORE_H

#include "driver/feed.h"
#include "exec/runnable.h"

typedef struct GlowScore {
  GlowStr name;
  double value;
} GlowScore;
typedef GLOW_VEC(GlowScore) GlowScores;

const GlowScore *glow_scores_find(const GlowScores *scores, const char *name);

/* The outputs of the last run that have one element. */
void glow_scores_of_run(GlowContext *ctx, const GlowRunnable *r, GlowScores *scores);

/* Runs a function on all samples of its feed, in order, and sets the score of each output:
 *
 *   extents that begin with the batch   one value for each sample: the mean over the samples
 *   one floating-point number           the mean over the batch's samples: the mean over all
 *   one integer or bool                 a count over the batch's samples: the sum, divided by how
 *                                       many samples there are
 *
 * The last batch is filled up with repetitions of its first sample. These do not count: of the
 * second and third kind their share is what a run on that sample alone says. Numbers are summed in
 * double, in the order of the samples. The score of an output `right`, which says how many samples
 * are right, is called `accuracy`. A run that fails has been reported. */
GlowStatus glow_evaluate(GlowFeed *f, GlowRunnable *r, GlowScores *scores);

/* The name of the score of an output of an evaluation. */
GlowStr glow_score_name(GlowContext *ctx, GlowStr output);

/* A condition on a score: 'accuracy>=0.97'. */
typedef struct GlowCondition {
  GlowStr name;
  char order; /* '<' or '>' */
  bool equal; /* also if it is the bound itself */
  double bound;
} GlowCondition;

/* Reads NAME>=X, NAME>X, NAME<=X or NAME<X. False if the text has another form. */
bool glow_condition_read(GlowContext *ctx, const char *text, GlowCondition *c);
bool glow_condition_holds(const GlowCondition *c, double value);

#endif
