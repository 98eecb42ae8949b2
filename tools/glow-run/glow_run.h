/* What the files of glow-run share: the command line's values, and what is done with outputs. */
#ifndef GLOW_TOOLS_GLOW_RUN_H
#define GLOW_TOOLS_GLOW_RUN_H

#include "driver/judge.h"
#include "driver/model.h"
#include "driver/pictures.h"

typedef struct GlowRunCommand {
  GlowModelFlags model;
  GlowStrList inputs, expects, each;
  const char *ranges, *truth, *against; /* with --each */
  GlowVerdict verdict;
  const char *output_dir, *labels, *test_data, *trace, *state, *save_state;
  GlowImageFlags pictures;
  double rtol, atol;
  int64_t top_k, error_limit, steps; /* steps 0: once */
  bool softmax, primitives, profile, debug, verbose, ranges_channels;
  GlowImageOptions image;
} GlowRunCommand;

/* Seconds of each stage. */
typedef struct GlowRunTimes {
  double import, passes, compile, run;
} GlowRunTimes;

/* A model and how it is run. */
typedef struct GlowRun {
  const GlowRunCommand *command;
  GlowSession *session;
  const GlowBackend *backend;
  GlowRunOptions options;
  GlowRunTimes times;
} GlowRun;

/* --expect [NAME=]FILE: compares and prints a report for each. BAD_INPUT if one does not hold. */
GlowStatus glow_run_expect(GlowSession *s, const GlowRunCommand *c);
/* --softmax, --labels, --top-k: a line for each of the best classes. */
GlowStatus glow_run_classes(GlowSession *s, const GlowRunCommand *c);
/* Without any other use of the outputs: their values, or a summary of large ones. */
GlowStatus glow_run_print(GlowSession *s);
/* --test-data DIR: input_N.pb in the order of the inputs, output_N.pb compared with the outputs. */
GlowStatus glow_run_add_test_inputs(GlowSession *s, const char *dir);
GlowStatus glow_run_check_test_outputs(GlowSession *s, const GlowRunCommand *c);
/* --profile: runs until a run is as fast as those before, prints where its time went and keeps its
 * outputs; --trace writes the same as a Chrome trace. */
GlowStatus glow_run_profile(GlowSession *s, GlowRunnable *r, const GlowRunCommand *c);
/* Whether the options about samples fit together; an error, if not. */
bool glow_run_check_each(GlowContext *ctx, const GlowRunCommand *c);
/* --each NAME=SOURCE: runs the model on samples, for --ranges, --truth, --against, --output-dir. */
GlowStatus glow_run_each(GlowContext *ctx, const GlowRunCommand *c, const char *path);
/* --verbose: says on stderr what ran, the seconds of each stage, and bytes. */
void glow_run_tell(const GlowRun *run, const GlowRunnable *r);

#endif
