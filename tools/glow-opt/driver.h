/* What glow-opt and glow-irgen share: one text in, a pipeline, one text out. */
#ifndef GLOW_TOOLS_GLOW_OPT_DRIVER_H
#define GLOW_TOOLS_GLOW_OPT_DRIVER_H

#include "ir/remarks.h"
#include "pass/pass.h"
#include "support/cmdline.h"
#include "target/target.h"

typedef struct GlowDriver {
  const char *tool;
  GlowContext *ctx;
  GlowPipeline *pipeline;
  GlowRunnerOptions runner;
  GlowRemarkFlags remarks;
  int argc; /* for reproducers */
  char **argv;
  const char *run_reproducer; /* a file */
  const char *output;         /* NULL or "-": stdout */
  const char *verify_each;
  const char *target; /* of those in targets.def, or NULL */
  const char *view;   /* file to draw to, or NULL */
  bool verify_roundtrip, verify_diagnostics, split_input;
  bool elide_constants;
  int64_t error_limit;
} GlowDriver;

/* clang-format off */
/* The options that both have: GLOW_DRIVER_OPTIONS(d) in a table, for a GlowDriver d. */
#define GLOW_DRIVER_OPTIONS(d)                                                                     \
  {.name = "o", .value = "FILE", .help = "Write to FILE instead of stdout",                        \
   .kind = GLOW_OPT_STRING, .target = &(d).output},                                                \
  {.name = "target", .value = "NAME",                                                              \
   .help = "Choose layouts for this machine, as x86-64-v3 (this host); help lists them",           \
   .kind = GLOW_OPT_STRING, .target = &(d).target, .list = glow_targets_print},                        \
  GLOW_OPTION_HEADING("Checking"),                                                                 \
  {.name = "verify-each", .value = "[=0]", .help = "Verify after each pass (on; =0 turns it off)", \
   .kind = GLOW_OPT_OPTIONAL, .target = &(d).verify_each},                                         \
  {.name = "verify-roundtrip", .help = "Check that the result prints and parses to itself",        \
   .kind = GLOW_OPT_FLAG, .target = &(d).verify_roundtrip, .two_dashes = true},                    \
  {.name = "verify-diagnostics",                                                                   \
   .help = "Check the diagnostics against '; expected-error {{...}}' comments",                    \
   .kind = GLOW_OPT_FLAG, .target = &(d).verify_diagnostics, .two_dashes = true},                  \
  {.name = "split-input-file", .help = "Treat each part between lines '; -----' as a module",      \
   .kind = GLOW_OPT_FLAG, .target = &(d).split_input, .two_dashes = true},                         \
  GLOW_OPTION_HEADING("Seeing what passes do"),                                                    \
  {.name = "print-before", .value = "[=PASSES]", .help = "Dump before these passes, to stderr",    \
   .kind = GLOW_OPT_OPTIONAL, .target = &(d).runner.print_before},                                 \
  {.name = "print-after", .value = "[=PASSES]", .help = "Dump after these passes, to stderr",      \
   .kind = GLOW_OPT_OPTIONAL, .target = &(d).runner.print_after},                                  \
  {.name = "print-before-all", .help = "Dump before each pass",                                    \
   .kind = GLOW_OPT_FLAG, .target = &(d).runner.print_before_all},                                 \
  {.name = "print-after-all", .help = "Dump after each pass",                                      \
   .kind = GLOW_OPT_FLAG, .target = &(d).runner.print_after_all},                                  \
  {.name = "print-changed", .value = "[=FORM]",                                                    \
   .help = "Dump after passes that change something; FORM: diff, cdiff, quiet",                    \
   .kind = GLOW_OPT_OPTIONAL, .target = &(d).runner.print_changed},                                \
  {.name = "filter-print-funcs", .value = "NAMES", .help = "Show only these functions in dumps",          \
   .kind = GLOW_OPT_STRING, .target = &(d).runner.print_funcs},                                    \
  {.name = "print-ir-dir", .value = "DIR",                                                         \
   .help = "Write dumps to numbered files there; alone: after each change",                        \
   .kind = GLOW_OPT_STRING, .target = &(d).runner.print_dir},                                      \
  GLOW_OPTION_HEADING("Measuring and bisecting"),                                                  \
  {.name = "time-passes", .help = "Print how long each pass took, to stderr",                      \
   .kind = GLOW_OPT_FLAG, .target = &(d).runner.time_passes},                                      \
  {.name = "time-trace", .value = "FILE", .help = "Write the times for Chrome's trace viewer",     \
   .kind = GLOW_OPT_STRING, .target = &(d).runner.time_trace},                                     \
  {.name = "stats", .help = "Print counters of passes, to stderr",                                 \
   .kind = GLOW_OPT_FLAG, .target = &(d).runner.stats},                                            \
  {.name = "stats-json", .value = "FILE", .help = "Write them as JSON",                            \
   .kind = GLOW_OPT_STRING, .target = &(d).runner.stats_json},                                     \
  {.name = "remarks", .value = "[=REGEX]",                                                         \
   .help = "Show what passes (whose names match) did, and what they left",                         \
   .kind = GLOW_OPT_OPTIONAL, .target = &(d).remarks.speakers},                                    \
  {.name = "remarks-output", .value = "FILE", .help = "Write remarks as lines of JSON",            \
   .kind = GLOW_OPT_STRING, .target = &(d).remarks.output},                                        \
  {.name = "bisect-limit", .value = "LIMIT",                                                       \
   .help = "Run the first N runs of passes: N, N:REWRITES, 1-8,10-",                               \
   .kind = GLOW_OPT_STRING, .target = &(d).runner.bisect_limit},                                   \
  GLOW_OPTION_HEADING("Reading and writing"),                                                      \
  {.name = "view", .value = "FILE",                                                                \
   .help = "Draw the result to FILE, .svg or .dot; graph:FILE or memory:FILE: which picture",      \
   .kind = GLOW_OPT_STRING, .target = &(d).view},                                                  \
  {.name = "elide-constants", .help = "Leave values of constants out: for reading only",           \
   .kind = GLOW_OPT_FLAG, .target = &(d).elide_constants},                                         \
  {.name = "error-limit", .value = "N", .help = "Stop after N errors (20; 0: never)",              \
   .kind = GLOW_OPT_INT, .target = &(d).error_limit, .min = 0, .max = INT32_MAX}

/* clang-format on */

/* Fields that are not zero to begin with. */
GlowDriver glow_driver_create(GlowContext *ctx, const char *tool, int argc, char **argv);
/* Reads `path` ("-" or NULL: stdin), runs the pipeline, writes. */
GlowStatus glow_driver_run(GlowDriver *d, const char *path);

#endif
