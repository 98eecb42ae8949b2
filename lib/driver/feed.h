/* Feeds: the inputs of a function, of which each run gets a batch of samples. */
#ifndef GLOW_DRIVER_FEED_H
#define GLOW_DRIVER_FEED_H

#include "driver/samples.h"
#include "driver/session.h"

typedef struct GlowFeed {
  GlowContext *ctx;
  GlowBindings inputs; /* owned tensors: batches; then borrowed ones, which are always the same */
  GLOW_VEC(GlowSamples *) samples; /* of the first inputs */
  int64_t count, batch;            /* samples there are; samples of a run */
} GlowFeed;

/* Gives symbols that are the first extent of inputs with sources the size 1. BAD_INPUT after a
 * diagnostic. */
GlowStatus glow_feed_bind(GlowSession *s, const char *const *sources, uint32_t count);
/* Opens the sources NAME=SOURCE of the inputs of the session's entry. An input without a source has
 * a value that the session was given. `option`: what the command line calls sources, for messages.
 * BAD_INPUT after diagnostics: no data for an input, sources of different lengths, inputs of
 * different batches. Passes may change the module afterwards. */
GlowStatus glow_feed_open(GlowFeed *f, GlowSession *s, const char *const *sources, uint32_t count,
                          const char *option, const GlowImageOptions *image);
/* Puts n samples, 1 <= n <= batch, into the batch; its other places repeat the first one. False
 * after a diagnostic. */
bool glow_feed_fill(GlowFeed *f, const uint64_t *samples, int64_t n);
/* Frees what the feed owns. */
void glow_feed_close(GlowFeed *f);

#endif
