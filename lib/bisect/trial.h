/* One run of the command of a bisection under a limit, and what it told of the passes. */
#ifndef GLOW_BISECT_TRIAL_H
#define GLOW_BISECT_TRIAL_H

#include "bisect/command.h"

typedef enum GlowJudgement {
  GLOW_GOOD,
  GLOW_BAD,
  GLOW_UNJUDGED, /* exit status 125 */
  GLOW_NO_TRIAL  /* it cannot be run; reported */
} GlowJudgement;

/* A line '; bisect: 12 cse on @main: 3 rewrites; the last: merged'. Strings live in the context. */
typedef struct GlowTrialRun {
  uint64_t number, rewrites;
  const char *what; /* "cse on @main" */
  const char *last; /* what the last rewrite said; NULL: nothing */
  bool ran;
} GlowTrialRun;

typedef struct GlowTrial {
  GlowJudgement judgement;
  const char *how; /* "exit status 1" */
  GLOW_VEC(GlowTrialRun) runs;
  bool repeated; /* a number occurs twice: several tools were given the limit */
} GlowTrial;

GlowTrial glow_trial_run(GlowContext *ctx, const GlowBisectCommand *command, const char *limit);
const GlowTrialRun *glow_trial_find(const GlowTrial *t, uint64_t number); /* NULL if none */

#endif
