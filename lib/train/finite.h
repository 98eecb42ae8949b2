/* Finding the first value of a step that is not finite: the step is run again by the interpreter,
 * on the same samples and the variables from before. */
#ifndef GLOW_TRAIN_FINITE_H
#define GLOW_TRAIN_FINITE_H

#include "driver/session.h"
#include "exec/runnable.h"

typedef struct GlowWatch {
  GlowSession *session; /* passes have changed its module */
  const char *path;     /* of the module as it was */
  GlowLoadOptions load; /* how that is loaded, with the entry */
  GlowBindings before;  /* owned: the variables before the step */
} GlowWatch;

/* Notes the variables before a step. */
void glow_watch_begin(GlowWatch *w, const GlowState *state);
/* Whether all outputs of one element and all variables are finite after a step. */
bool glow_watch_holds(const GlowRunnable *r);
/* Reports an error at the node or instruction whose value is the first one that is not finite.
 * `step` and `inputs` are those of the step. */
void glow_watch_explain(const GlowWatch *w, const GlowBindings *inputs, int64_t step);
void glow_watch_close(GlowWatch *w);

#endif
