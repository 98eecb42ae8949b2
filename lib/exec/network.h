/* A program made ready for many runs: compiled, constants computed, buffers allocated. */
#ifndef GLOW_EXEC_NETWORK_H
#define GLOW_EXEC_NETWORK_H

#include "backend/interp/interp.h"
#include "backend/interp/profile.h"

/* The seconds that each step of making a network took, and its sizes in bytes. 0: not known, or
 * there was no such step. */
typedef struct GlowNetworkCosts {
  double select, cache, emit, link, optimize, generate, load, constants;
  int64_t code, arena;
  bool cached; /* code and constants were found in the cache */
} GlowNetworkCosts;

/* A backend makes a network as a struct of its own that begins with this one. The network borrows
 * the function, which must not change, and the inputs, whose elements may change between runs. */
typedef struct GlowNetwork {
  /* Runs once. Allocates nothing, unless the run fails or the backend cannot prepare runs. */
  GlowStatus (*run)(struct GlowNetwork *n);
  void (*destroy)(struct GlowNetwork *n);
  GlowBindings outputs; /* of the last run, in declaration order: the network's own */
  GlowNetworkCosts costs;
  const GlowProfile *profile; /* of the last run, if the options asked */
} GlowNetwork;

/* Runs a program once, with the contract of glow_interp_run. */
typedef GlowStatus (*GlowBackendFn)(GlowFunction *f, const GlowBindings *inputs,
                                    GlowBindings *outputs, const GlowRunOptions *options);

/* Makes a network; NULL after diagnostics. */
typedef GlowNetwork *(*GlowPrepareFn)(GlowFunction *f, const GlowBindings *inputs,
                                      const GlowRunOptions *options);

/* destroy, for glow_defer_push. */
static inline void glow_network_destroy_fn(void *network) {
  GlowNetwork *n = network;
  n->destroy(n);
}

#endif
