/* The protocol of workers under a driver such as benchmarks/peers. */
#include <stdio.h>
#include <string.h>

#include "driver/peak.h"
#include "support/file.h"
#include "tools/glow-bench/glow_bench.h"

/* All outputs one after the other, as they lie in memory. */
static bool write_raw(GlowBench *b, const char *path) {
  const GlowBindings *outputs = &b->runnable->outputs;
  GlowBytes *parts = GLOW_NEW_ARRAY(b->session.ctx->arena, GlowBytes, outputs->count);
  for (uint32_t i = 0; i < outputs->count; i++) {
    const GlowTensor *t = outputs->data[i].tensor;
    if (t->type->kind == GLOW_KIND_STRING) {
      glow_error(b->session.ctx, GLOW_NOWHERE, "output '%s' is of strings, which have no raw form",
                 outputs->data[i].name);
      return false;
    }
    parts[i] = (GlowBytes){t->data, t->bytes};
  }
  return glow_output_write(b->session.ctx, path, parts, outputs->count);
}

static double time_runs(void *user, int64_t n) { return glow_bench_time(user, n); }

/* Prints the seconds that `time` returns for each line `run N`. */
static GlowStatus answer(GlowContext *ctx, double (*time)(void *user, int64_t n), void *user) {
  char line[64];
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    long long n;
    char rest;
    if (sscanf(line, "run %lld%c", &n, &rest) != 2 || rest != '\n' || n < 1) {
      line[strcspn(line, "\n")] = '\0';
      glow_error(ctx, GLOW_NOWHERE, "'%s' is not 'run N'", line);
      return GLOW_BAD_INPUT;
    }
    double t = time(user, n);
    if (t < 0)
      return GLOW_BAD_INPUT;
    printf("%.9f\n", t);
    fflush(stdout);
  }
  return GLOW_OK;
}

GlowStatus glow_bench_serve(GlowBench *b, const char *output) {
  if (!write_raw(b, output))
    return GLOW_IO;
  const GlowExecutableCosts *costs = &b->runnable->executable->costs;
  printf("ready load=%.3f first=%.3f rss=%ld import=%.3f optimize=%.3f compile=%.3f "
         "constants=%.3f cached=%d code=%lld arena=%lld engine=glow-%s\n",
         b->import + b->optimize + b->compile, b->first, glow_bench_peak_mib(), b->import,
         b->optimize, b->compile - costs->constants, costs->constants, costs->cached,
         (long long)b->runnable->executable->code, (long long)b->runnable->execution->arena,
         GLOW_VERSION_STRING);
  return answer(b->session.ctx, time_runs, b->runnable);
}

/* Seconds that n times 10^9 operations take at the speed of bursts. */
static double time_bursts(void *user, int64_t n) {
  double t = 0;
  for (int64_t i = 0; i < n; i++)
    t += 1e9 / glow_fma_burst(user);
  return t;
}

GlowStatus glow_bench_serve_burst(GlowContext *ctx) {
  const GlowIsa *isa = glow_isa_host();
  if (!isa || !(glow_fma_burst(isa) > 0)) {
    glow_error(ctx, GLOW_NOWHERE, "there is no burst for this processor");
    return GLOW_BAD_INPUT;
  }
  printf("ready load=0 first=0 rss=%ld gflop=1 engine=%s\n", glow_bench_peak_mib(), isa->name);
  return answer(ctx, time_bursts, (void *)isa);
}
