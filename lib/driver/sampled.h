/* A model that is run on samples from files, one batch after the other. */
#ifndef GLOW_DRIVER_SAMPLED_H
#define GLOW_DRIVER_SAMPLED_H

#include "driver/feed.h"
#include "driver/model.h"
#include "quantize/ranges.h"

typedef struct GlowSampled {
  GlowSession session;
  GlowFeed feed; /* count and batch say how many samples there are, and those of a run */
  GlowRunnable *runnable;
  double seconds;            /* that the last run took, without reading its samples */
  bool observes;             /* what follows is set: the model counts its values */
  GlowObservedList observed; /* by the names and types that the model has in its file */
  uint64_t text;             /* glow_function_text_hash of the entry */
} GlowSampled;

typedef struct GlowSampledSetup {
  const char *path;
  const GlowModelFlags *model;
  const GlowBackend *backend;
  const GlowPool *pool;
  const GlowStrList *each, *inputs; /* NAME=SOURCE: samples; values that are the same in all runs */
  const char *state;                /* values of variables, NULL: those of the model */
  const GlowImageOptions *image;
  const GlowPipeline *passes; /* run on the model as it is in its file; NULL: none */
  bool observes, channels; /* `channels`: observes the channels of what contractions read, too */
} GlowSampledSetup;

/* Loads, binds, optimizes and compiles a model. Symbols that are the first extent of inputs with
 * samples become 1. With `observes`, the pass -observe comes first and bounded passes are left out,
 * so that the ranges do not depend on levels. Call glow_sampled_close after any status. */
GlowStatus glow_sampled_open(GlowSampled *s, GlowContext *ctx, const GlowSampledSetup *how);
void glow_sampled_close(void *sampled); /* for glow_defer_push */
/* Runs on samples first to first + n - 1, where n is at most the batch. The outputs are those of
 * s->runnable; rows from n on mean nothing. */
GlowStatus glow_sampled_run(GlowSampled *s, int64_t first, int64_t n);
/* Writes the ranges of all runs to a file. */
GlowStatus glow_sampled_write_ranges(GlowSampled *s, const char *path);

#endif
