/* glow-bench-open MODEL SYMBOL=RANGE TIER SECONDS EXTENT...: how fast a model runs that is compiled
 * once, for all extents of a symbol, beside the same model compiled for each of these extents.
 *
 * For each extent both run in turns for some seconds. Printed are the best times in milliseconds,
 * the share of the exact model's speed that the open one has, and what the first run at the extent
 * takes longer than the best one. TIER is that of glow-run: with `auto` and `compiled` both are
 * given the time to be compiled first. Inputs are random numbers of variance 1, integers 0. */
#include <glow/executable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_PORTS = 64, ALIGN = 64, MOST_RANK = 8, PATIENCE = 600 };

typedef struct Model {
  GlowExecutable *executable;
  GlowExecution *execution;
  GlowState *state;
  GlowBuffer buffers[MOST_PORTS];
  int64_t extents[MOST_PORTS][MOST_RANK];
  size_t count;
} Model;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static GlowStatus open_model(Model *m, const char *path, const char *bind, const char *tier) {
  char options[512];
  snprintf(options, sizeof options, "-bind='%s' --tier=%s", bind, tier);
  GlowCompileOptions how = {.size = sizeof how, .options = options};
  GlowExecutionOptions outputs = {.size = sizeof outputs, .outputs = true};
  GlowContext *ctx = glow_context_create();
  GlowStatus status = ctx ? glow_executable_open(ctx, path, &how, &m->executable) : GLOW_NO_MEMORY;
  glow_context_destroy(ctx);
  if (status == GLOW_OK)
    status = glow_executable_compile(m->executable, PATIENCE);
  if (status == GLOW_OK)
    status = glow_execution_create(m->executable, &outputs, &m->execution);
  return status == GLOW_OK ? glow_state_create(m->executable, &m->state) : status;
}

static void close_model(Model *m) {
  for (size_t i = 0; i < m->count; i++)
    free(m->buffers[i].data);
  glow_execution_destroy(m->execution);
  glow_state_destroy(m->state);
  glow_executable_release(m->executable);
  *m = (Model){0};
}

static void fill(const GlowPort *port, GlowBuffer *b) {
  unsigned state = 1;
  for (size_t i = 0; !strcmp(port->kind, "float") && i < b->bytes / sizeof(float); i++) {
    state = state * 1664525u + 1013904223u;
    ((float *)b->data)[i] = (float)(state >> 8) * 0x1p-23f * 1.7320508f - 1.7320508f;
  }
}

/* Buffers for the inputs, as large as they can be. */
static GlowStatus make_inputs(Model *m) {
  GlowPort port = {.size = sizeof port};
  for (; m->count < MOST_PORTS && glow_executable_port(m->executable, NULL, m->count, &port);
       m->count++) {
    GlowBuffer *b = &m->buffers[m->count];
    if (!port.read || port.written)
      continue;
    b->bytes = port.bytes;
    b->data = port.bytes ? aligned_alloc(ALIGN, (port.bytes + ALIGN - 1) / ALIGN * ALIGN) : NULL;
    if (!b->data)
      return GLOW_NO_MEMORY;
    memset(b->data, 0, b->bytes);
    fill(&port, b);
  }
  return GLOW_OK;
}

/* Says that open extents of the inputs are n. */
static void set_extent(Model *m, int64_t n) {
  GlowPort port = {.size = sizeof port};
  for (size_t i = 0; i < m->count; i++) {
    if (!m->buffers[i].data || !glow_executable_port(m->executable, NULL, i, &port))
      continue;
    for (uint32_t a = 0; a < port.rank; a++)
      m->extents[i][a] = port.low[a] == port.high[a] ? port.low[a] : n;
    m->buffers[i].extents = m->extents[i];
  }
}

/* Seconds of a run; -1 after a message. */
static double run(Model *m) {
  double start = now();
  GlowStatus status = glow_execution_run(m->execution, m->state, m->buffers, m->count);
  double seconds = now() - start;
  GlowFaultInfo fault = {.size = sizeof fault};
  if (status == GLOW_OK)
    return seconds;
  glow_execution_fault(m->execution, &fault);
  fprintf(stderr, "glow-bench-open: %s\n", fault.text);
  return -1;
}

/* Whether both models compute the same bytes. */
static int agree(const Model *a, const Model *b) {
  for (size_t i = 0; i < a->count; i++) {
    const GlowBuffer *x = glow_execution_output(a->execution, i);
    const GlowBuffer *y = glow_execution_output(b->execution, i);
    if (!x != !y || (x && (x->bytes != y->bytes || memcmp(x->data, y->data, x->bytes))))
      return 0;
  }
  return 1;
}

static int compare(Model *open, const char *path, const char *symbol, const char *tier, int64_t n,
                   double seconds) {
  char bind[128];
  Model exact = {0};
  snprintf(bind, sizeof bind, "%.*s=%lld", (int)strcspn(symbol, "="), symbol, (long long)n);
  set_extent(open, n);
  int ok = open_model(&exact, path, bind, tier) == GLOW_OK && make_inputs(&exact) == GLOW_OK;
  double first = ok ? run(open) : -1, best[2] = {1e9, 1e9};
  for (double end = now() + seconds; first >= 0 && ok && now() < end;)
    for (int k = 0; k < 2 && ok; k++) {
      double t = run(k ? &exact : open);
      best[k] = t < best[k] ? t : best[k];
      ok = t >= 0;
    }
  ok = ok && first >= 0;
  if (ok)
    printf("%8lld %10.3f %10.3f %7.3f %10.3f  %s\n", (long long)n, best[0] * 1e3, best[1] * 1e3,
           best[1] / best[0], (first - best[0]) * 1e3,
           agree(open, &exact) ? "the same bits" : "other bits");
  close_model(&exact);
  return ok;
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fprintf(stderr, "usage: glow-bench-open MODEL SYMBOL=RANGE TIER SECONDS EXTENT...\n");
    return 2;
  }
  Model open = {0};
  double start = now();
  int ok = open_model(&open, argv[1], argv[2], argv[3]) == GLOW_OK && make_inputs(&open) == GLOW_OK;
  if (ok)
    printf("%s in %.3f s\n%8s %10s %10s %7s %10s\n", argv[2], now() - start, "extent", "open ms",
           "exact ms", "share", "first + ms");
  for (int i = 5; ok && i < argc; i++)
    ok = compare(&open, argv[1], argv[2], argv[3], atoll(argv[i]), atof(argv[4]));
  close_model(&open);
  return !ok;
}
