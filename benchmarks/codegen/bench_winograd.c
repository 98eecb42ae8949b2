/* glow-bench-winograd [seconds]: convolutions of 3x3 windows directly and by Winograd's algorithm
 * with tiles of 4x4 and of 2x2 results, in the machine code that the compiler makes of each.
 *
 * Speeds are multiplications of the direct algorithm per second, in percent of the FMA peak: above
 * 100 is what direct convolution cannot reach. Calls of all strategies and FMA bursts alternate,
 * and of each the fastest counts, since other load only ever makes them slower. The last columns
 * are how far results lie from direct ones, relative to the largest one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/access.h"
#include "driver/peak.h"
#include "exec/tables.h"
#include "program.h"
#include "support/process.h"

typedef struct Case {
  const char *name;
  int batch, channels, size;
} Case;

static const Case cases[] = {
    {"ResNet50 64@56", 8, 64, 56},   {"ResNet50 128@28", 8, 128, 28},
    {"ResNet50 256@14", 8, 256, 14}, {"ResNet50 512@7", 8, 512, 7},
    {"ResNet50 64@56", 1, 64, 56},   {"ResNet50 128@28", 1, 128, 28},
    {"ResNet50 256@14", 1, 256, 14}, {"ResNet50 512@7", 1, 512, 7},
    {"VGG 64@224", 1, 64, 224},      {"VGG 128@112", 1, 128, 112},
    {"VGG 256@56", 1, 256, 56},      {"VGG 512@28", 1, 512, 28},
    {"VGG 512@14", 8, 512, 14},
};

enum { DIRECT, LARGE, SMALL, STRATEGIES };

static const int sides[STRATEGIES] = {0, 4, 2}; /* results of a tile along an axis */

/* A strategy's program, ready to run. */
typedef struct Code {
  GlowCpuPlan plan;
  GlowCode *code;
  GlowRunContext run;
  GlowFault fault;
  void *storage[8];
  char *memory; /* the arena, then a worker's memory */
  float *y;
  int64_t results;
  double best; /* seconds */
} Code;

/* The filter as the strategy takes it, from @w. */
static void write_filter(GlowText *t, int k, const GlowIsa *isa, int side) {
  char type[96];
  if (side)
    snprintf(type, sizeof type, "float<%d x %d x %d x %d | HWOI16i%uo>", side + 2, side + 2, k, k,
             isa->vl * isa->tile_vectors);
  else
    snprintf(type, sizeof type, "float<%d x %d x 3 x 3 | OIHW16i%uo>", k, k,
             isa->vl * isa->tile_vectors);
  glow_text_printf(t, "  constant @f : %s = eval {\n", type);
  if (side)
    glow_text_printf(t, "    %%0 = WinogradFilter(@w) {results = %d}\n", side);
  glow_text_printf(t, "    %%1 = Relayout(%s) : %s\n    yield %%1\n  }\n", side ? "%0" : "@w",
                   type);
}

/* The convolution with bias and Relu; the program makes U itself, once, from the same filter. */
static void write_program(GlowText *t, const Case *c, const GlowIsa *isa, int side) {
  int n = c->batch, k = c->channels, s = c->size;
  glow_text_printf(t, "module \"bench\" {target = \"%s\"}\ndeclare {\n", isa->name);
  glow_text_printf(t, "  placeholder @x : float<%d x %d x %d x %d | NCHW16c>\n", n, k, s, s);
  glow_text_printf(t,
                   "  constant @w : float<%d x %d x 3 x 3> = random {kind = normal, mean = 0.0, "
                   "scale = %g, seed = 1}\n",
                   k, k, sqrt(2.0 / (9.0 * k)));
  write_filter(t, k, isa, side);
  glow_text_printf(t, "  constant @b : float<%d> = splat(0.1)\n", k);
  glow_text_printf(t, "  placeholder @y : float<%d x %d x %d x %d | NCHW16c>\n}\n", n, k, s, s);
  glow_text_printf(t,
                   "program @p {\n  convolution @out @y, @in @x, @in @f, @in @b "
                   "{pads = [1, 1, 1, 1], strategy = %s}\n    ^epilogue(%%a : float<>) = { "
                   "%%0 = Relu(%%a) : float<>  yield %%0 }\n}\n",
                   side ? "winograd" : "direct");
}

/* Buffers of a program: constants as they are, @x filled, @y new. */
static bool bind(Code *c) {
  for (uint32_t i = 0; i < c->plan.nouter; i++) {
    GlowValue *v = c->plan.outer[i];
    int64_t bytes = glow_type_bytes(v->type);
    if (!c->plan.reads[i] && !c->plan.writes[i])
      continue;
    c->storage[i] = bench_alloc(bytes);
    if (!c->storage[i])
      return false;
    if (c->plan.writes[i]) {
      c->y = c->storage[i];
      c->results = bytes / 4;
    } else if (glow_outer_class(v) == GLOW_PLACEHOLDER) {
      bench_fill(c->storage[i], bytes / 4, 1);
    } else {
      GlowValues *values = glow_values_create(v->def.storage->module);
      memcpy(c->storage[i], glow_values_get(values, v->def.storage)->data, (size_t)bytes);
      glow_values_destroy(values);
    }
  }
  c->memory = bench_alloc(c->plan.arena + c->plan.scratch);
  return c->memory != NULL;
}

static bool prepare(GlowContext *ctx, const Case *k, const GlowIsa *isa, int side, Code *c) {
  GlowText text;
  glow_text_init(&text, ctx);
  write_program(&text, k, isa, side);
  if (!bench_plan(ctx, &text, isa, &c->plan))
    return false;
  GlowCodegenOptions options = {.isa = isa};
  c->code = glow_codegen_compile(ctx, glow_cpu_program(ctx->arena, &c->plan, NULL), &options, NULL);
  c->best = INFINITY;
  if (!c->code || !bind(c))
    return false;
  c->run =
      (GlowRunContext){.arena = (uint8_t *)c->memory, .storage = c->storage, .fault = &c->fault};
  glow_walk_tables(ctx->arena, glow_code_program(c->code), &c->run);
  return true;
}

static void run(Code *c) {
  double t = glow_clock();
  glow_walk(glow_code_program(c->code), &c->run);
  t = glow_clock() - t;
  c->best = t < c->best ? t : c->best;
}

static void release(Code *c) {
  bench_free_storage(&c->plan, c->storage);
  free(c->memory);
  glow_code_destroy(c->code);
}

/* The largest difference, over the largest result of a. */
static double distance(const Code *a, const Code *b) {
  float most = 0, apart = 0;
  for (int64_t i = 0; i < a->results; i++) {
    most = fmaxf(most, fabsf(a->y[i]));
    apart = fmaxf(apart, fabsf(a->y[i] - b->y[i]));
  }
  return (double)(apart / most);
}

static bool run_case(GlowContext *ctx, const Case *k, const GlowIsa *isa, double limit) {
  Code codes[STRATEGIES] = {0};
  double peak = 0, macs = 9.0 * k->batch * k->channels * k->channels * k->size * k->size;
  for (int i = 0; i < STRATEGIES; i++)
    if (!prepare(ctx, k, isa, sides[i], &codes[i]))
      return false;
  double start = glow_clock();
  do {
    double burst = glow_fma_burst(isa);
    peak = burst > peak ? burst : peak;
    for (int i = 0; i < STRATEGIES; i++)
      run(&codes[i]);
  } while (glow_clock() - start < limit);
  printf("%-16s %5d", k->name, k->batch);
  for (int i = 0; i < STRATEGIES; i++)
    printf(" %7.1f", 200 * macs / codes[i].best / peak);
  printf(" %9.1e %9.1e\n", distance(&codes[DIRECT], &codes[LARGE]),
         distance(&codes[DIRECT], &codes[SMALL]));
  fflush(stdout);
  for (int i = 0; i < STRATEGIES; i++)
    release(&codes[i]);
  return true;
}

int main(int argc, char **argv) {
  double limit = argc > 1 ? atof(argv[1]) : 2.0;
  char name[256];
  glow_cpu_name(name, sizeof name);
  for (size_t k = 0; k < GLOW_ISA_COUNT; k++) {
    const GlowIsa *isa = &glow_isa[k];
    if (!glow_isa_runs_here(isa) || isa->vl < 8)
      continue;
    printf("%s on %s\n%-16s %5s %7s %7s %7s %9s %9s\n%-16s %5s %7s %7s %7s\n", isa->name, name, "",
           "batch", "direct", "F(4x4)", "F(2x2)", "apart", "apart", "", "", "% peak", "% peak",
           "% peak");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      GlowContext *ctx = glow_context_create();
      if (!ctx || !run_case(ctx, &cases[i], isa, limit))
        return 1;
      glow_context_destroy(ctx);
    }
  }
  return 0;
}
