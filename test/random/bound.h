/* Whether a bounded pass stayed within its bound: |after - before| <= c * u * S at each value that
 * it rewrote, computed from the same inputs. */
#ifndef GLOW_TEST_RANDOM_BOUND_H
#define GLOW_TEST_RANDOM_BOUND_H

#include "pass/pass.h"
#include "test/random/random_graph.h"

/* Judges the graph function `name` of two modules. *judged counts the values that were compared.
 * NULL, or what is out of bounds. */
const char *glow_bound_check(GlowModule *before, GlowModule *after, GlowStr name,
                             const GlowBindings *inputs, const GlowPass *pass, unsigned *judged);

#endif
