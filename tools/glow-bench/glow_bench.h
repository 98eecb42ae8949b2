/* What the files of glow-bench share: the command line's values, and a model that is ready. */
#ifndef GLOW_TOOLS_GLOW_BENCH_H
#define GLOW_TOOLS_GLOW_BENCH_H

#include "backend/model.h"
#include "kernels/isa.h"

typedef struct GlowBenchCommand {
  GlowModelFlags model;
  GlowStrList inputs;
  int64_t batch, rounds;
  double seconds;
  bool worker, burst;
} GlowBenchCommand;

/* A model that has run once. */
typedef struct GlowBench {
  const GlowBenchCommand *command;
  GlowSession session;
  GlowNetwork *network;
  const GlowIsa *isa;               /* what the FMA burst is of; NULL: nothing to compare with */
  int64_t macs;                     /* of the model as it was read */
  double import, optimize, compile; /* seconds; compile has the constants, too */
  double first;                     /* the first run */
} GlowBench;

/* Measures in rounds and prints. */
GlowStatus glow_bench_report(GlowBench *b, const char *path);
/* Writes the outputs to `output` and serves `run N` lines until the end of standard input. */
GlowStatus glow_bench_serve(GlowBench *b, const char *output);
/* The same for a worker that computes nothing but FMAs. */
GlowStatus glow_bench_serve_burst(GlowContext *ctx);

#endif
