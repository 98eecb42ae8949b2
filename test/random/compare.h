/* Running a function on given inputs and comparing what two runs gave. */
#ifndef GLOW_TEST_RANDOM_COMPARE_H
#define GLOW_TEST_RANDOM_COMPARE_H

#include "driver/backend.h"
#include "pass/pass.h"
#include "test/random/random_graph.h"

/* Runs `name` in a copy of m, so that variables start anew; outputs get the variables' values as
 * well, under their names with @. Owned by the caller: glow_random_release. */
GlowStatus glow_run_copy_by(GlowBackendFn run, const GlowRunOptions *options, const GlowModule *m,
                            GlowStr name, const GlowBindings *inputs, GlowBindings *outputs);
/* The same by the interpreter. */
GlowStatus glow_run_copy(const GlowModule *m, GlowStr name, const GlowBindings *inputs,
                         GlowBindings *outputs);
/* And where a run is cheap, since passes are judged by some hundred of them: more
 * multiply-adds or memory are an error. */
enum { GLOW_MOST_MACS = 1 << 25, GLOW_MOST_BYTES = 1 << 24 };
GlowStatus glow_run_small(const GlowModule *m, GlowStr name, const GlowBindings *inputs,
                          GlowBindings *outputs);

/* Makes true, with exact passes, what a pass needs. False if they cannot; open extents stay. */
bool glow_make_needs(GlowModule *m, GlowNeeds needs);

/* NULL if both hold the same bits under the same names (two NaNs are equal), else what differs. */
const char *glow_outputs_differ(GlowContext *ctx, const GlowBindings *want,
                                const GlowBindings *got);

#endif
