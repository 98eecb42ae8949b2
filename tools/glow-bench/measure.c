/* Measuring in rounds: each model runs in each round, so that all meet the same disturbances. */
#include <stdlib.h>
#include <sys/resource.h>

#include "driver/peak.h"
#include "support/process.h"
#include "tools/glow-bench/glow_bench.h"

enum { MOST_SAMPLES = 1 << 20 };

double glow_bench_time(GlowRunnable *runnable, int64_t n) {
  double start = glow_clock();
  for (int64_t i = 0; i < n; i++)
    if (glow_runnable_run(runnable) != GLOW_OK)
      return -1;
  return glow_clock() - start;
}

long glow_bench_peak_mib(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return use.ru_maxrss >> 10;
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

/* Decides how often a round repeats the model, and how many inferences are timed alone. */
static void plan_rounds(GlowBench *b) {
  const GlowBenchCommand *c = b->command;
  GlowArena *arena = b->session.ctx->arena;
  double once = glow_bench_time(b->runnable, 1);
  double wanted = once > 0 ? c->seconds / once : 1;
  b->repeat = wanted < 1 ? 1 : wanted > 1e9 ? 1000000000 : (int64_t)(wanted + 0.5);
  b->rounds = GLOW_NEW_ARRAY(arena, double, c->rounds);
  b->bursts = GLOW_NEW_ARRAY(arena, double, c->rounds);
  b->started = GLOW_NEW_ARRAY(arena, double, c->rounds);
  int64_t timed = b->repeat < MOST_SAMPLES / c->rounds ? b->repeat : MOST_SAMPLES / c->rounds + 1;
  b->samples.seconds = GLOW_NEW_ARRAY(arena, double, (size_t)(c->rounds * timed));
}

/* One round, `began` on the clock: the first inferences are timed one by one, as many as there is
 * room for. */
static GlowStatus run_round(GlowBench *b, int64_t round, double began) {
  int64_t room = MOST_SAMPLES / b->command->rounds + 1, timed = b->repeat < room ? b->repeat : room;
  b->started[round] = glow_clock() - began;
  double before = b->isa ? glow_fma_peak(b->isa) : 0, sum = 0;
  for (int64_t i = 0; i < timed; i++) {
    double t = glow_bench_time(b->runnable, 1);
    if (t < 0)
      return GLOW_BAD_INPUT;
    b->samples.seconds[b->samples.count++] = t;
    sum += t;
  }
  double rest = timed < b->repeat ? glow_bench_time(b->runnable, b->repeat - timed) : 0;
  double after = b->isa ? glow_fma_peak(b->isa) : 0;
  b->rounds[round] = (sum + rest) / (double)b->repeat;
  b->bursts[round] = before > after ? before : after;
  return rest < 0 ? GLOW_BAD_INPUT : GLOW_OK;
}

/* ---- Figures --------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void summarize(GlowBench *b) {
  size_t n = (size_t)b->command->rounds;
  for (size_t i = 0; i < n; i++)
    b->burst = b->bursts[i] > b->burst ? b->bursts[i] : b->burst;
  double *sorted = glow_arena_copy(b->session.ctx->arena, b->rounds, n * sizeof *sorted);
  qsort(sorted, n, sizeof *sorted, by_value);
  b->least = sorted[0];
  b->median = n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
  qsort(b->samples.seconds, b->samples.count, sizeof *sorted, by_value);
}

/* Nearest rank: the least sample that is not exceeded by so many of all. */
double glow_bench_percentile(const GlowBench *b, int percent) {
  uint64_t rank = ((uint64_t)b->samples.count * (uint64_t)percent + 99) / 100;
  return b->samples.seconds[rank ? rank - 1 : 0];
}

double glow_bench_speed(const GlowBench *b, double seconds) {
  return 2.0 * (double)b->macs / seconds;
}

GlowStatus glow_bench_measure(GlowBench *all, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    plan_rounds(&all[i]);
  double began = glow_clock();
  for (int64_t round = 0; round < all->command->rounds; round++)
    for (uint32_t i = 0; i < count; i++)
      if (run_round(&all[i], round, began) != GLOW_OK)
        return GLOW_BAD_INPUT;
  for (uint32_t i = 0; i < count; i++)
    summarize(&all[i]);
  return GLOW_OK;
}
