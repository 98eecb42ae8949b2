/* Cases of the corpus on open extents. */
#ifndef GLOW_TEST_CORPUS_OPEN_H
#define GLOW_TEST_CORPUS_OPEN_H

#include "driver/session.h"

/* How many ways there are to open a case: all extents of all inputs; all of inputs of floating
 * point; of these the first, the second or the last alone. */
enum { GLOW_OPENINGS = 5 };

/* Makes symbols of extents of the inputs that were added, in way k, and infers all types again.
 * Returns how many extents became symbols. 0: there were none above 1, or, after a diagnostic, the
 * operators do not allow it. */
uint32_t glow_open_inputs(GlowSession *s, unsigned k);

#endif
