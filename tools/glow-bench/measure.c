/* Measuring in rounds, and the protocol of benchmarks/peers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "runtime/peak.h"
#include "support/file.h"
#include "support/process.h"
#include "tools/glow-bench/glow_bench.h"

/* Seconds that n runs took; negative if one failed. */
static double time_runs(GlowNetwork *network, int64_t n) {
  double start = glow_clock();
  for (int64_t i = 0; i < n; i++)
    if (network->run(network) != GLOW_OK)
      return -1;
  return glow_clock() - start;
}

static long peak_mib(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return use.ru_maxrss >> 10;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *v, size_t n) {
  qsort(v, n, sizeof *v, by_value);
  return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

typedef struct Rounds {
  double *time, *burst; /* seconds per inference; flop/s of the best burst around it */
  int64_t repeat;
} Rounds;

static GlowStatus measure(GlowBench *b, Rounds *r) {
  int64_t rounds = b->command->rounds;
  r->time = GLOW_NEW_ARRAY(b->session.ctx->arena, double, rounds);
  r->burst = GLOW_NEW_ARRAY(b->session.ctx->arena, double, rounds);
  double once = time_runs(b->network, 1);
  double wanted = once > 0 ? b->command->seconds / once : 1;
  r->repeat = wanted < 1 ? 1 : wanted > 1e9 ? 1000000000 : (int64_t)(wanted + 0.5);
  for (int64_t i = 0; i < rounds; i++) {
    double before = b->isa ? glow_fma_peak(b->isa) : 0;
    double t = time_runs(b->network, r->repeat);
    double after = b->isa ? glow_fma_peak(b->isa) : 0;
    if (t < 0)
      return GLOW_BAD_INPUT;
    r->time[i] = t / (double)r->repeat;
    r->burst[i] = before > after ? before : after;
  }
  return GLOW_OK;
}

static void print_speed(const GlowBench *b, double least, double middle, double burst) {
  double flops = 2.0 * (double)b->macs;
  if (!b->macs)
    return;
  printf("%-10s %.2f GFLOP/s, median %.2f", "speed", flops / least * 1e-9, flops / middle * 1e-9);
  burst *= (double)b->command->model.threads;
  if (burst > 0)
    printf("; %.1f %%, median %.1f %% of an FMA burst of %.1f GFLOP/s", 100 * flops / least / burst,
           100 * flops / middle / burst, burst * 1e-9);
  printf("\n");
}

static void print_costs(const GlowBench *b) {
  const GlowNetworkCosts *c = &b->network->costs;
  printf("%-10s import %.3f, optimize %.3f, compile %.3f, first run %.3f\n", "seconds", b->import,
         b->optimize, b->compile, b->first);
  if (c->code)
    printf("%-10s select %.3f, cache %.3f%s, emit %.3f, link %.3f, LLVM passes %.3f, machine code "
           "%.3f, load %.3f,"
           " constants %.3f\n",
           "compile", c->select, c->cache, c->cached ? " (found)" : "", c->emit, c->link,
           c->optimize, c->generate, c->load, c->constants);
  printf("%-10s ", "memory");
  if (c->code)
    printf("code %.1f KiB, arena %.2f MiB, ", (double)c->code / 1024, (double)c->arena / (1 << 20));
  printf("peak %ld MiB\n", peak_mib());
}

GlowStatus glow_bench_report(GlowBench *b, const char *path) {
  const GlowBenchCommand *c = b->command;
  Rounds r;
  GlowStatus status = measure(b, &r);
  if (status != GLOW_OK)
    return status;
  char cpu[256];
  glow_cpu_name(cpu, sizeof cpu);
  printf("%-10s %s, %.3f GMAC\n", "model", glow_path_base(path), (double)b->macs * 1e-9);
  printf("%-10s %s", "backend", c->model.backend);
  if (b->isa)
    printf(" for %s", b->isa->name);
  printf(", %lld thread%s, on %s\n", (long long)c->model.threads, c->model.threads > 1 ? "s" : "",
         cpu);
  print_costs(b);
  size_t n = (size_t)c->rounds;
  double middle = median(r.time, n), burst = r.burst[0];
  for (size_t i = 1; i < n; i++)
    burst = r.burst[i] > burst ? r.burst[i] : burst;
  printf("%-10s min %.3f ms, median %.3f ms (%lld round%s of %lld)\n", "inference", r.time[0] * 1e3,
         middle * 1e3, (long long)c->rounds, c->rounds > 1 ? "s" : "", (long long)r.repeat);
  print_speed(b, r.time[0], middle, burst);
  return GLOW_OK;
}

/* ---- Worker ---------------------------------------------------------------------------------- */

/* All outputs one after the other, as they lie in memory. */
static bool write_raw(GlowBench *b, const char *path) {
  const GlowBindings *outputs = &b->network->outputs;
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

static double time_network(void *user, int64_t n) { return time_runs(user, n); }

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
  const GlowNetworkCosts *costs = &b->network->costs;
  printf("ready load=%.3f first=%.3f rss=%ld import=%.3f optimize=%.3f compile=%.3f "
         "constants=%.3f cached=%d code=%lld arena=%lld engine=glow-%s\n",
         b->import + b->optimize + b->compile, b->first, peak_mib(), b->import, b->optimize,
         b->compile - costs->constants, costs->constants, costs->cached, (long long)costs->code,
         (long long)costs->arena, GLOW_VERSION_STRING);
  return answer(b->session.ctx, time_network, b->network);
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
  printf("ready load=0 first=0 rss=%ld gflop=1 engine=%s\n", peak_mib(), isa->name);
  return answer(ctx, time_bursts, (void *)isa);
}
