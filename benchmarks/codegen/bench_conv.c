/* glow-bench-conv [-batch=N] [-target=NAME] [-seconds=S] [WORD...]: the speed of convolutions, in
 * percent of the FMA peak. The layers of ResNet50 and MobileNetV2, or those whose name has one of
 * the words in it.
 *
 * Other load makes wall time worthless. So a layer is timed in pieces of its units, in the order in
 * which one thread works on them; each piece stands between two FMA bursts, and counts only if they
 * agree within 3 %. The speed of a piece is the median over those around it; a layer's time is the
 * sum over its pieces. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver/peak.h"
#include "exec/tables.h"
#include "kernels/params.h"
#include "program.h"

enum { MAX_PIECES = 64, MAX_SAMPLES = 400 };

typedef struct Layer {
  const char *network;
  int size, groups, ic, oc, kernel, stride; /* ic, oc: of a group */
  int count;                                /* in the network */
} Layer;

#define RESNET "resnet50"
#define MOBILE "mobilenetv2"
static const Layer layers[] = {
    {RESNET, 224, 1, 3, 64, 7, 2, 1},     {RESNET, 56, 1, 64, 64, 1, 1, 1},
    {RESNET, 56, 1, 64, 64, 3, 1, 3},     {RESNET, 56, 1, 64, 256, 1, 1, 4},
    {RESNET, 56, 1, 256, 64, 1, 1, 2},    {RESNET, 56, 1, 256, 128, 1, 1, 1},
    {RESNET, 56, 1, 128, 128, 3, 2, 1},   {RESNET, 28, 1, 128, 512, 1, 1, 4},
    {RESNET, 56, 1, 256, 512, 1, 2, 1},   {RESNET, 28, 1, 512, 128, 1, 1, 3},
    {RESNET, 28, 1, 128, 128, 3, 1, 3},   {RESNET, 28, 1, 512, 256, 1, 1, 1},
    {RESNET, 28, 1, 256, 256, 3, 2, 1},   {RESNET, 14, 1, 256, 1024, 1, 1, 6},
    {RESNET, 28, 1, 512, 1024, 1, 2, 1},  {RESNET, 14, 1, 1024, 256, 1, 1, 5},
    {RESNET, 14, 1, 256, 256, 3, 1, 5},   {RESNET, 14, 1, 1024, 512, 1, 1, 1},
    {RESNET, 14, 1, 512, 512, 3, 2, 1},   {RESNET, 7, 1, 512, 2048, 1, 1, 3},
    {RESNET, 14, 1, 1024, 2048, 1, 2, 1}, {RESNET, 7, 1, 2048, 512, 1, 1, 2},
    {RESNET, 7, 1, 512, 512, 3, 1, 2},    {MOBILE, 224, 1, 3, 32, 3, 2, 1},
    {MOBILE, 112, 32, 1, 1, 3, 1, 1},     {MOBILE, 112, 1, 32, 16, 1, 1, 1},
    {MOBILE, 112, 1, 16, 96, 1, 1, 1},    {MOBILE, 112, 96, 1, 1, 3, 2, 1},
    {MOBILE, 56, 1, 96, 24, 1, 1, 1},     {MOBILE, 56, 1, 24, 144, 1, 1, 2},
    {MOBILE, 56, 144, 1, 1, 3, 1, 1},     {MOBILE, 56, 1, 144, 24, 1, 1, 1},
    {MOBILE, 56, 144, 1, 1, 3, 2, 1},     {MOBILE, 28, 1, 144, 32, 1, 1, 1},
    {MOBILE, 28, 1, 32, 192, 1, 1, 3},    {MOBILE, 28, 192, 1, 1, 3, 1, 2},
    {MOBILE, 28, 1, 192, 32, 1, 1, 2},    {MOBILE, 28, 192, 1, 1, 3, 2, 1},
    {MOBILE, 14, 1, 192, 64, 1, 1, 1},    {MOBILE, 14, 1, 64, 384, 1, 1, 4},
    {MOBILE, 14, 384, 1, 1, 3, 1, 4},     {MOBILE, 14, 1, 384, 64, 1, 1, 3},
    {MOBILE, 14, 1, 384, 96, 1, 1, 1},    {MOBILE, 14, 1, 96, 576, 1, 1, 3},
    {MOBILE, 14, 576, 1, 1, 3, 1, 2},     {MOBILE, 14, 1, 576, 96, 1, 1, 2},
    {MOBILE, 14, 576, 1, 1, 3, 2, 1},     {MOBILE, 7, 1, 576, 160, 1, 1, 1},
    {MOBILE, 7, 1, 160, 960, 1, 1, 3},    {MOBILE, 7, 960, 1, 1, 3, 1, 3},
    {MOBILE, 7, 1, 960, 160, 1, 1, 2},    {MOBILE, 7, 1, 960, 320, 1, 1, 1},
    {MOBILE, 7, 1, 320, 1280, 1, 1, 1},
};

static void name_layer(const Layer *l, char *name, size_t size) {
  if (l->groups > 1)
    snprintf(name, size, "%s %dx%d dw %d@%d s%d", l->network, l->kernel, l->kernel, l->groups,
             l->size, l->stride);
  else
    snprintf(name, size, "%s %dx%d %d-%d@%d s%d", l->network, l->kernel, l->kernel, l->ic, l->oc,
             l->size, l->stride);
}

/* A program of the layer with a bias and Relu; a 1x1 convolution to more channels of ResNet50 has a
 * residual, too. */
static void write_program(GlowText *t, const Layer *l, int batch, const GlowIsa *isa) {
  int pad = (l->kernel - 1) / 2, out = (l->size + 2 * pad - l->kernel) / l->stride + 1;
  int oc = l->oc * l->groups, lanes = (int)(isa->vl * isa->tile_vectors);
  bool residual = !strcmp(l->network, RESNET) && l->oc == 4 * l->ic;
  glow_text_printf(t, "module \"bench\" {target = \"%s\"}\ndeclare {\n", isa->name);
  glow_text_printf(t, "  placeholder @x : float<%d x %d x %d x %d%s>\n", batch, l->ic * l->groups,
                   l->size, l->size, l->ic == 3 ? "" : " | NCHW16c");
  glow_text_printf(t, "  placeholder @w : float<%d x %d x %d x %d | ", oc, l->ic, l->kernel,
                   l->kernel);
  if (l->groups > 1)
    glow_text_puts(t, "OIHW16o>\n");
  else
    glow_text_printf(t, "OIHW%di%do>\n", l->ic == 3 ? 3 : 16, lanes);
  glow_text_printf(t, "  placeholder @b : float<%d>\n", oc);
  for (int i = 0; i < 2; i++)
    glow_text_printf(t, "  placeholder @%c : float<%d x %d x %d x %d | NCHW16c>\n", "ys"[i], batch,
                     oc, out, out);
  glow_text_printf(t,
                   "}\nprogram @conv {\n  convolution @out @y, @in @x, @in @w, @in @b%s {group = "
                   "%d, strides = [%d, %d], pads = [%d, %d, %d, %d]}\n",
                   residual ? ", @in @s" : "", l->groups, l->stride, l->stride, pad, pad, pad, pad);
  glow_text_puts(t, residual ? "    ^epilogue(%a : float<>, %s : float<>) = { %0 = Add(%a, %s) : "
                               "float<>  %1 = Relu(%0) : float<>  yield %1 }\n}\n"
                             : "    ^epilogue(%a : float<>) = { %0 = Relu(%a) : float<>  yield %0 "
                               "}\n}\n");
}

/* ---- Timing ---------------------------------------------------------------------------------- */

static double seconds_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static double now(void) { return seconds_of(CLOCK_MONOTONIC); }
/* This thread's own time: what the system gives to others does not count. */
static double own(void) { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* Samples of each piece: FMAs' worth of the bursts around it, in flop. */
typedef struct Timer {
  const GlowIsa *isa;
  int64_t step; /* units of a piece */
  int pieces, count[MAX_PIECES];
  double (*flop)[MAX_SAMPLES];
} Timer;

/* A GlowParallel that runs all pieces here, and times them. */
static void run_pieces(const GlowParallel *parallel, GlowPieceFn *piece, void *const *ptrs,
                       int64_t units, int64_t shards) {
  Timer *t = parallel->pool;
  (void)shards;
  t->pieces = 0;
  for (int64_t u = 0; u < units; u += t->step, t->pieces++) {
    double before = glow_fma_burst(t->isa), start = own();
    piece(ptrs, u, u + t->step < units ? u + t->step : units, 0);
    double seconds = own() - start, after = glow_fma_burst(t->isa), agree = before / after;
    int *count = &t->count[t->pieces];
    if (agree > 0.97 && agree < 1.03 && *count < MAX_SAMPLES)
      t->flop[t->pieces][(*count)++] = seconds * 0.5 * (before + after);
  }
}

/* Makes rows the units, as one thread works, and gives the units of a piece: whole bands, of about
 * half a millisecond at least. */
static int64_t cut_pieces(GlowContext *ctx, GlowWork *w, double flop) {
  int64_t band = 1;
  if (strcmp(w->kernel->name, "depthwise") != 0) { /* parameters begin as the others' */
    GlowConvParams *p = glow_arena_copy(ctx->arena, w->params, w->nparams * sizeof *w->params);
    p->by_group = 0;
    band = p->band / p->tile_rows;
    w->units = (p->rows + p->tile_rows - 1) / p->tile_rows;
    w->params = (const int64_t *)p;
  }
  w->shards = w->units > 1 ? w->units : 2; /* so that it is shared */
  int64_t most = (int64_t)(flop / 5e7);
  most = most < 1 ? 1 : most > MAX_PIECES ? MAX_PIECES : most;
  int64_t step = (w->units + most - 1) / most;
  return (step + band - 1) / band * band;
}

typedef struct Speed {
  double median, best; /* shares of the peak */
  int samples;         /* the fewest of a piece */
} Speed;

static Speed speed_of(Timer *t, double flop) {
  double median = 0, best = 0;
  Speed s = {.samples = MAX_SAMPLES};
  for (int i = 0; i < t->pieces; i++) {
    int n = t->count[i];
    s.samples = n < s.samples ? n : s.samples;
    qsort(t->flop[i], (size_t)n, sizeof(double), by_value);
    median += n ? t->flop[i][n / 2] : NAN;
    best += n ? t->flop[i][n / 10] : NAN;
  }
  s.median = flop / median;
  s.best = flop / best;
  return s;
}

/* Shares of 0 if there is no code. */
static Speed run_layer(const Layer *l, int batch, const GlowIsa *isa, double limit, double flop,
                       const char **kernel) {
  GlowContext *ctx = glow_context_create();
  GlowText text;
  glow_text_init(&text, ctx);
  write_program(&text, l, batch, isa);
  GlowCpuPlan plan;
  Speed speed = {0};
  void *storage[8] = {0};
  if (bench_plan(ctx, &text, isa, &plan) && !plan.references.count &&
      bench_make_storage(&plan, storage)) {
    GlowCodegenOptions options = {.isa = isa};
    int64_t step = cut_pieces(ctx, &plan.work[0], flop);
    GlowCode *code =
        glow_codegen_compile(ctx, glow_cpu_program(ctx->arena, &plan, NULL), &options, NULL);
    uint8_t *arena = bench_alloc(plan.arena + plan.scratch);
    Timer t = {.isa = isa, .step = step};
    t.flop = malloc(MAX_PIECES * sizeof *t.flop);
    GlowParallel parallel = {run_pieces, &t, 1};
    GlowFault fault;
    const GlowProgram *program = glow_code_program(code);
    GlowRunContext run = {
        .arena = arena, .storage = storage, .parallel = &parallel, .fault = &fault};
    glow_walk_tables(ctx->arena, program, &run);
    double start = now();
    glow_walk(program, &run);
    memset(t.count, 0, sizeof t.count);
    while (now() - start < limit)
      glow_walk(program, &run);
    speed = speed_of(&t, flop);
    const GlowTile *tile = plan.work[0].tiles.all[0];
    *kernel = !strcmp(plan.work[0].kernel->name, "depthwise") ? "depthwise"
              : tile                                          ? tile->name
                                                              : NULL;
    static char name[64];
    snprintf(name, sizeof name, "%s", *kernel ? *kernel : "-");
    *kernel = name;
    bench_free_storage(&plan, storage);
    free(arena);
    free(t.flop);
    glow_code_destroy(code);
  }
  glow_context_destroy(ctx);
  return speed;
}

typedef struct Options {
  int batch, nwords;
  double limit;
  const GlowIsa *target;
  char **words;
  Layer layer;
} Options;

static bool is_wanted(const Options *o, const char *name) {
  for (int i = 0; i < o->nwords; i++) {
    if (strstr(name, o->words[i]))
      return true;
  }
  return !o->nwords;
}

static void run_layers(const GlowIsa *isa, const Options *o) {
  double done = 0, possible = 0, best = 0;
  char name[256];
  glow_cpu_name(name, sizeof name);
  printf("%s on %s, batch %d: FMA peak %.1f GFLOP/s\n", isa->name, name, o->batch,
         glow_fma_peak(isa) * 1e-9);
  printf("%-36s %-20s %9s %6s %8s\n", "layer", "tile", "% of peak", "best", "samples");
  size_t count = o->layer.size ? 1 : sizeof layers / sizeof *layers;
  for (size_t i = 0; i < count; i++) {
    const Layer *l = o->layer.size ? &o->layer : &layers[i];
    name_layer(l, name, sizeof name);
    if (!is_wanted(o, name))
      continue;
    int out = (l->size - 1) / l->stride + 1;
    double flop = 2.0 * o->batch * out * out * l->groups * l->oc * l->ic * l->kernel * l->kernel;
    const char *kernel = "";
    Speed v = run_layer(l, o->batch, isa, o->limit, flop, &kernel);
    printf("%-36s %-20s %9.1f %6.1f %8d\n", name, kernel, v.median * 100, v.best * 100, v.samples);
    fflush(stdout);
    if (v.median > 0) {
      done += flop * l->count;
      possible += flop * l->count / v.median;
      best += flop * l->count / v.best;
    }
  }
  printf("%-36s %-20s %9.1f %6.1f\n", "all, as often as they occur", "", done / possible * 100,
         done / best * 100);
}

int main(int argc, char **argv) {
  Options o = {
      .batch = 8, .limit = 0.5, .words = argv, .layer = {.network = "a layer", .count = 1}};
  Layer *l = &o.layer;
  for (int i = 1; i < argc; i++) {
    if (strncmp(argv[i], "-batch=", 7) == 0)
      o.batch = atoi(argv[i] + 7) < 1 ? 1 : atoi(argv[i] + 7);
    else if (strncmp(argv[i], "-seconds=", 9) == 0)
      o.limit = atof(argv[i] + 9);
    else if (strncmp(argv[i], "-target=", 8) == 0)
      o.target = glow_isa_find(argv[i] + 8);
    else if (sscanf(argv[i], "-layer=%d,%d,%d,%d,%d,%d", &l->size, &l->groups, &l->ic, &l->oc,
                    &l->kernel, &l->stride) != 6)
      o.words[o.nwords++] = argv[i];
  }
  for (size_t k = 0; k < GLOW_ISA_COUNT; k++) {
    const GlowIsa *isa = &glow_isa[k];
    if (o.target ? isa == o.target : glow_isa_runs_here(isa) && glow_fma_peak(isa) > 0)
      run_layers(isa, &o);
  }
  return 0;
}
