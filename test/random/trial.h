/* One seed of the metamorphic tests: its module, what it computes, and what each pass makes of it.
 */
#ifndef GLOW_TEST_RANDOM_TRIAL_H
#define GLOW_TEST_RANDOM_TRIAL_H

#include "driver/backend.h"
#include "pass/pass.h"
#include "test/random/compare.h"

/* What is tested: a row of the pass table, a pipeline with bounded passes left out, or machine
 * code. */
typedef struct GlowSubject {
  const char *name;
  const GlowPass *pass;       /* NULL: the pipeline, or the backend */
  const GlowBackend *backend; /* of machine code; else NULL */
  GlowTier tier;
  uint32_t every;      /* one program in so many, because it is slow; with --pass, each */
  const char *level;   /* O0 to O2, on graphs, then on the programs that they become */
  const char *options; /* of the pass, as NAME<...>, or NULL */
  unsigned modules;    /* that it changed, or that ran */
  unsigned limited;    /* that it changed up to a limit */
  uint64_t rewrites;
  unsigned judged; /* values compared with a bound */
  unsigned skipped, failed;
} GlowSubject;

typedef struct GlowTester {
  char **patterns; /* files with modules to start from */
  uint32_t npatterns;
  GlowSubject *subjects;
  uint32_t nsubjects;
  const char *only;                    /* the one subject to test, or NULL */
  const struct GlowParallel *parallel; /* threads of machine code */
  bool verbose;
  unsigned modules, refused, unrunnable, failed; /* seeds */
  /* Of the seed that runs: */
  uint64_t seed;
  const char *source, *stage; /* pattern or "random"; what is going on */
  const GlowModule *before;   /* what the subject rewrites; NULL before there is one */
  char error[512];            /* the first diagnostic since it was cleared */
} GlowTester;

/* Makes the module of t->seed and tests every subject on it. */
void glow_trial(GlowTester *t);

/* Prints what failed, how to do it again, and the module. */
void glow_trial_fail(GlowTester *t, GlowSubject *s, const GlowModule *before, const char *why);

#endif
