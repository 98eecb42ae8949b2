/* glow-bench-step STEP.gg THREADS NAME=SOURCE...: runs the function @train of a module on batches
 * of samples, in order, and answers the protocol of benchmarks/training/serve.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/backends.h"
#include "driver/model.h"
#include "support/process.h"
#include "driver/feed.h"
#include "train/score.h"

enum { FIRST_STEPS = 5 };

typedef struct Bench {
  GlowContext *ctx;
  GlowSession session;
  GlowFeed feed;
  GlowRunnable *step;
  int64_t done;
} Bench;

/* Seconds that processors spent on this process. */
static double own_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Bytes of this process in memory by a row of /proc/self/status: RssAnon for its own, RssFile for
 * mapped files, VmHWM for the most of both since reset_peak. -1: not known. */
static long long resident(const char *row) {
  FILE *f = fopen("/proc/self/status", "r");
  const size_t length = strlen(row);
  long long kib = -1;
  char line[256];
  while (f && kib < 0 && fgets(line, sizeof line, f))
    if (strncmp(line, row, length) == 0)
      kib = atoll(line + length + 1);
  if (f)
    fclose(f);
  return kib < 0 ? -1 : kib << 10;
}

static void reset_peak(void) {
  FILE *f = fopen("/proc/self/clear_refs", "w");
  if (f) {
    fputs("5", f);
    fclose(f);
  }
}

/* One step on the next batch. */
static bool run_step(Bench *b) {
  uint64_t samples[1024];
  const int64_t batches = b->feed.count / b->feed.batch;
  for (int64_t i = 0; i < b->feed.batch; i++)
    samples[i] = (uint64_t)(b->done % batches * b->feed.batch + i);
  b->done++;
  return glow_feed_fill(&b->feed, samples, b->feed.batch) && glow_runnable_run(b->step) == GLOW_OK;
}

/* The first steps: prints their losses. `before`: bytes of its own that the process had in memory
 * before weights, states and arena. */
static bool begin(Bench *b, double since, long long before) {
  double losses[FIRST_STEPS];
  for (int i = 0; i < FIRST_STEPS; i++) {
    GlowScores scores = {0};
    if (!run_step(b))
      return false;
    glow_scores_of_run(b->ctx, b->step, &scores);
    const GlowScore *loss = glow_scores_find(&scores, "loss");
    losses[i] = loss ? loss->value : 0;
  }
  printf("ready first=%.2f engine=glow-%s arena=%lld memory=%lld losses=", glow_clock() - since,
         GLOW_VERSION_STRING, (long long)b->step->execution->arena,
         resident("VmHWM") - resident("RssFile") - before);
  for (int i = 0; i < FIRST_STEPS; i++)
    printf("%s%.6f", i ? "," : "", losses[i]);
  putchar('\n');
  return fflush(stdout) == 0;
}

static bool serve(Bench *b) {
  long long n;
  while (scanf(" run %lld", &n) == 1) {
    double since = own_time();
    for (long long i = 0; i < n; i++)
      if (!run_step(b))
        return false;
    printf("%.9f\n", own_time() - since);
    fflush(stdout);
  }
  return true;
}

static GlowStatus bench(Bench *b, int argc, char **argv) {
  const GlowModelFlags flags = GLOW_MODEL_DEFAULTS(GLOW_DEFAULT_BACKEND, GLOW_TIER_COMPILED);
  GlowModelFlags model = flags;
  GlowSession *s = &b->session;
  GlowLoadOptions load = {0};
  GlowImageOptions image = {0};
  double since = glow_clock();
  model.threads = atol(argv[2]);
  GlowStatus status = glow_session_open(s, b->ctx, argv[1], &load);
  if (status == GLOW_OK && !(s->entry = glow_module_entry(s->module, "train")))
    status = GLOW_BAD_INPUT;
  if (status == GLOW_OK)
    status = glow_feed_open(&b->feed, s, (const char *const *)argv + 3, (uint32_t)argc - 3, "data",
                            &image);
  const GlowBackend *backend = glow_model_backend(b->ctx, &glow_backends, &model);
  if (status == GLOW_OK)
    status = glow_model_optimize(s, &model, backend, false);
  if (status != GLOW_OK)
    return status;
  GlowPool *pool = glow_pool_make(b->ctx, (int)model.threads);
  GlowRunOptions options = glow_model_run_options(b->ctx, &model, backend, pool);
  options.primitives = backend->primitives;
  options.values = glow_session_values(s);
  options.written = s->written;
  GlowExecutionSetup how = {.parallel = options.parallel};
  GlowExecutable *code = glow_backend_compile(backend, &s->entry, 1, &options);
  reset_peak();
  const long long before = resident("RssAnon");
  b->step = glow_runnable_create(code, &b->feed.inputs, &how);
  bool ok = b->step && begin(b, since, before) && serve(b);
  if (b->step)
    glow_runnable_destroy(b->step);
  glow_pool_destroy_fn(pool);
  return ok ? GLOW_OK : GLOW_BAD_INPUT;
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: glow-bench-step STEP.gg THREADS NAME=SOURCE...\n");
    return 2;
  }
  Bench b = {.ctx = glow_context_create()};
  GlowStatus status = bench(&b, argc, argv);
  glow_feed_close(&b.feed);
  glow_session_close(&b.session);
  glow_context_destroy(b.ctx);
  return (int)status;
}
