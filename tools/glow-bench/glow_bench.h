/* What the files of glow-bench share: the command line's values, and a model that is ready. */
#ifndef GLOW_TOOLS_GLOW_BENCH_H
#define GLOW_TOOLS_GLOW_BENCH_H

#include "driver/model.h"
#include "target/cpu/isa.h"

typedef struct GlowBenchCommand {
  GlowModelFlags model;
  GlowStrList inputs;
  const char *json, *csv;
  int64_t batch, rounds;
  double seconds;
  bool profile, worker, burst;
} GlowBenchCommand;

/* Seconds of single inferences, in order. */
typedef struct GlowBenchSamples {
  double *seconds;
  uint32_t count;
} GlowBenchSamples;

/* A model that has run once, and what was measured. */
typedef struct GlowBench {
  const GlowBenchCommand *command;
  const char *path;
  GlowSession session;
  const GlowBackend *backend;
  GlowRunnable *runnable;
  const GlowIsa *isa;               /* what the FMA burst is of; NULL: nothing to compare with */
  int64_t macs;                     /* of the model as it was read */
  double import, optimize, compile; /* seconds; compile has the constants, too */
  double first;                     /* the first run */
  double *rounds, *bursts;          /* seconds per inference; flop/s of the best burst around it */
  double *started;                  /* of the rounds, in seconds since the first one */
  int64_t repeat;                   /* inferences in a round */
  double least, median, burst;      /* of the rounds */
  GlowBenchSamples samples;         /* sorted */
  GlowRunnable *profiled;           /* with --profile: has run, and noted where the time went */
} GlowBench;

/* Seconds that n runs took; negative if one failed. */
double glow_bench_time(GlowRunnable *runnable, int64_t n);
/* The most that this process has taken so far. */
long glow_bench_peak_mib(void);

/* Measures all models in rounds, each model in turn in each round. */
GlowStatus glow_bench_measure(GlowBench *all, uint32_t count);
/* The time that `percent` of the inferences did not exceed. */
double glow_bench_percentile(const GlowBench *b, int percent);
/* flop/s of the model in `seconds`; 0 where nothing is known of its operations. */
double glow_bench_speed(const GlowBench *b, double seconds);

/* Prints what was measured. */
void glow_bench_print(GlowText *out, const GlowBench *all, uint32_t count);
/* Appends it in the form of --json and of --csv. */
void glow_bench_json(GlowText *out, const GlowBench *all, uint32_t count);
void glow_bench_csv(GlowText *out, const GlowBench *all, uint32_t count);

/* Writes the outputs to `output` and serves `run N` lines until the end of standard input. */
GlowStatus glow_bench_serve(GlowBench *b, const char *output);
/* The same for a worker that computes nothing but FMAs. */
GlowStatus glow_bench_serve_burst(GlowContext *ctx);

#endif
