/* Programs of cases as bundles, which are linked in groups and run in this process: alone and on
 * two threads, with constants in a file and linked in by turns. */
#ifndef GLOW_TEST_CORPUS_BUNDLES_H
#define GLOW_TEST_CORPUS_BUNDLES_H

#include "driver/session.h"

typedef struct GlowBundles GlowBundles;
typedef struct GlowTrial GlowTrial; /* one bundle, with its inputs and what it must compute */

/* Code is generated as at -O<level>. NULL, with a message, without a folder for temporary files. */
GlowBundles *glow_bundles_create(void);
void glow_bundles_destroy(GlowBundles *b); /* NULL is ignored */

/* Compiles the program of a session, whose inputs are there, before it is run: variables must have
 * their first values. NULL after a diagnostic. */
GlowTrial *glow_bundles_compile(GlowBundles *b, const GlowSession *s, const char *name);
/* Says what a trial must compute, and leaves it to its group. */
void glow_bundles_expect(GlowBundles *b, GlowTrial *t, const GlowBindings *outputs);
void glow_trial_destroy(GlowTrial *t); /* one that is in no group; NULL is ignored */

/* Links and runs the group if it is full, or in any case. Prints what is not as expected; returns
 * how many those are. */
unsigned glow_bundles_run(GlowBundles *b, bool now);

#endif
