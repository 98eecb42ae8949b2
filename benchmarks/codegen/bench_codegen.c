/* glow-bench-codegen [--library | --gradients] [--target=NAME] [--seconds=S]: for some
 * convolutions, the time that LLVM takes, the time that clang -O3 takes for the same kernel with
 * the same constants, and the speed of the code in percent of the FMA peak.
 *
 * Other load makes wall time worthless, so calls count their thread's own time, and the speed is a
 * ratio: each call stands between two FMA bursts, and counts only if they agree within 3 %. Compile
 * times are CPU times, medians of 9.
 *
 * With --gradients: the speed of filter gradients. With --library: how fast library code is beside
 * compiled code, for convolutions, products, stacks and others (bench_library.h). */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_library.h"
#include "driver/peak.h"
#include "exec/tables.h"
#include "kernels/params.h"
#include "program.h"
#include "support/process.h"

extern char **environ;

enum { REPEATS = 9, MAX_SAMPLES = 20000 };

typedef struct Case {
  const char *name;
  int size, ic, oc, kernel, stride;
  int goal; /* percent of the peak */
} Case;

static const Case cases[] = {
    {"3x3 64@56", 56, 64, 64, 3, 1, 85},          {"1x1 2048-512@7", 7, 2048, 512, 1, 1, 75},
    {"3x3 64@56 stride 2", 56, 64, 64, 3, 2, 70}, {"3x3 256@14", 14, 256, 256, 3, 1, 85},
    {"3x3 512@7", 7, 512, 512, 3, 1, 75},         {"3x3 256@14 stride 2", 14, 256, 256, 3, 2, 70},
    {"1x1 1024-256@14", 14, 1024, 256, 1, 1, 85}, {"1x1 256-64@56", 56, 256, 64, 1, 1, 85},
};

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}
static double median(double *v, size_t n) {
  qsort(v, n, sizeof *v, by_value);
  return v[n / 2];
}

/* A program of one convolution with a bias, a residual and Relu. */
static void write_program(GlowText *t, const Case *c, const GlowIsa *isa) {
  int pad = (c->kernel - 1) / 2, out = (c->size + 2 * pad - c->kernel) / c->stride + 1;
  glow_text_printf(t, "module \"bench\" {target = \"%s\"}\ndeclare {\n", isa->name);
  glow_text_printf(t, "  placeholder @x : float<1 x %d x %d x %d | NCHW16c>\n", c->ic, c->size,
                   c->size);
  glow_text_printf(t, "  placeholder @skip : float<1 x %d x %d x %d | NCHW16c>\n", c->oc, out, out);
  glow_text_printf(t, "  placeholder @w : float<%d x %d x %d x %d | OIHW16i%uo>\n", c->oc, c->ic,
                   c->kernel, c->kernel, isa->vl * isa->tile_vectors);
  glow_text_printf(t, "  placeholder @b : float<%d>\n", c->oc);
  glow_text_printf(t, "  placeholder @y : float<1 x %d x %d x %d | NCHW16c>\n}\n", c->oc, out, out);
  glow_text_puts(t, "program @conv {\n  convolution @out @y, @in @x, @in @w, @in @b, @in @skip {");
  glow_text_printf(t, "strides = [%d, %d], pads = [%d, %d, %d, %d]}\n", c->stride, c->stride, pad,
                   pad, pad, pad);
  glow_text_puts(t, "    ^epilogue(%acc : float<>, %s : float<>) = {\n"
                    "      %0 = Add(%acc, %s) : float<>\n      %1 = Relu(%0) : float<>\n"
                    "      yield %1\n    }\n}\n");
}

/* ---- clang on the same kernel ---------------------------------------------------------------- */

static void write_c(FILE *f, const GlowConvParams *p, int64_t units) {
  const int64_t *fields = (const int64_t *)p;
  fprintf(f, "#include \"kernels/cpu/conv_tile.h\"\n"
             "static const GlowConvParams params = {");
  for (size_t i = 0; i < sizeof *p / sizeof *fields; i++)
    fprintf(f, "%lld,", (long long)fields[i]);
  fprintf(f,
          "};\n"
          "INLINE GlowVec epilogue(GlowVec acc, void *const *env, int64_t n, int64_t c,"
          " int64_t h, int64_t w) {\n"
          "  const float *skip = (const float *)env[0] + n * %lld + c / 16 * %lld + h * %lld +"
          " w * 16 + c %% 16;\n"
          "  GlowVec r = acc + vec_load(skip), z = {0};\n"
          "  return (GlowVec)(~(r < z) & (GlowVecI)r);\n}\n",
          (long long)p->g.yn, (long long)p->g.yc, (long long)p->g.yh);
  const char *names[] = {"full", "small"};
  int64_t rest = p->rows % p->tile_rows;
  bool small = rest || p->narrow;
  for (int i = 0; i < 1 + small; i++) {
    long long rows = (long long)(i && rest ? rest : p->tile_rows);
    char call[96];
    if (p->scattered)
      snprintf(call, sizeof call, "scattered_tile(%lld, GLOW_TILE_VECTORS, &params, &p, from,",
               rows);
    else
      snprintf(call, sizeof call, "tile(%lld, %lld, GLOW_TILE_VECTORS, &params, &p, row, from,",
               rows, (long long)(p->tile_cols - (i && p->narrow)));
    fprintf(f,
            "__attribute__((noinline)) static void %s(float *restrict y, const float *restrict x,"
            " const float *restrict w, const float *bias, const float *zeros, void *const *env,"
            " int64_t row, int64_t from, int64_t to, int64_t group) {\n"
            "  GlowConvPtrs p = {y, x, w, bias, zeros, env};\n"
            "  ROLLED for (bool more = true; more; more = GLOW_CONV_SIDE_BY_SIDE && from < to) {\n"
            "    %s group, epilogue);\n    from += %lld;\n  }\n}\n",
            names[i], call, p->scattered ? rows : (long long)(p->tile_cols - (i && p->narrow)));
  }
  fprintf(f,
          "static const float zeros[4096];\n"
          "void run(float *y, const float *x, const float *w, const float *b, void *const *env) {\n"
          "  GlowConvPtrs p = {y, x, w, b, zeros, env};\n"
          "  all_tiles(&params, full, %s, 0, 0, &p, 0, %lld);\n}\n",
          small ? "small" : "0", (long long)units);
}

/* Seconds of user and system time of one clang -O3 -c; negative if it fails. */
static double run_clang(const char *source, const GlowIsa *isa) {
  char vl[32], pixels[40], vectors[40], march[40];
  snprintf(vl, sizeof vl, "-DGLOW_VL=%u", isa->vl);
  snprintf(pixels, sizeof pixels, "-DGLOW_TILE_PIXELS=%u", isa->tile_pixels);
  snprintf(vectors, sizeof vectors, "-DGLOW_TILE_VECTORS=%u", isa->tile_vectors);
  snprintf(march, sizeof march, "-march=%s", isa->cpu);
  const char *argv[] = {GLOW_CLANG,
                        "-O3",
                        "-c",
                        march,
                        "-mprefer-vector-width=512",
                        "-std=c17",
                        "-ffreestanding",
                        "-ffp-contract=off",
                        "-fno-math-errno",
                        "-fwrapv",
                        "-I" GLOW_LIB_DIR,
                        "-I" GLOW_GEN_DIR,
                        vl,
                        pixels,
                        vectors,
                        "-o",
                        "/dev/null",
                        source,
                        NULL};
  pid_t pid;
  if (posix_spawn(&pid, GLOW_CLANG, NULL, NULL, (char *const *)argv, environ))
    return -1;
  int status;
  struct rusage use;
  if (wait4(pid, &status, 0, &use) != pid || status != 0)
    return -1;
  return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

/* Writes the kernel of p as C to a temporary file whose name replaces the X's of `path`. */
static bool write_source(char *path, const GlowWork *w) {
  int fd = mkstemps(path, 2);
  FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
  if (!f)
    return false;
  write_c(f, (const GlowConvParams *)w->params, w->units);
  return fclose(f) == 0;
}

/* Compile times, in turns so that a change of the machine's speed meets both: medians of our total,
 * of its passes, of clang, and of our total over clang's. Returns the last code, or NULL. */
typedef struct CompileTimes {
  double total, optimize, clang, ratio;
} CompileTimes;

static GlowCode *compile(GlowContext *ctx, const GlowCpuPlan *plan, const GlowIsa *isa,
                         CompileTimes *times) {
  char source[] = "/tmp/glow-bench-XXXXXX.c";
  if (!write_source(source, &plan->work[0]))
    return NULL;
  GlowCodegenOptions options = {.isa = isa};
  double total[REPEATS], optimize[REPEATS], clang[REPEATS], ratio[REPEATS];
  GlowCode *code = NULL;
  for (int i = 0; i < REPEATS; i++) {
    GlowCodegenTimes t;
    glow_code_destroy(code);
    code = glow_codegen_compile(ctx, glow_cpu_program(ctx->arena, plan, NULL), &options, &t);
    clang[i] = run_clang(source, isa);
    if (!code || clang[i] < 0)
      break;
    total[i] = t.emit + t.link + t.optimize + t.generate;
    optimize[i] = t.optimize;
    ratio[i] = total[i] / clang[i];
    if (i == REPEATS - 1)
      *times = (CompileTimes){median(total, REPEATS), median(optimize, REPEATS),
                              median(clang, REPEATS), median(ratio, REPEATS)};
  }
  unlink(source);
  return code;
}

/* ---- Running --------------------------------------------------------------------------------- */

/* Flop/s over that of the bursts around each call. */
typedef struct Share {
  double median, best; /* best: reached by a tenth of the calls */
  size_t count;        /* samples that were good */
} Share;

static Share measure(GlowContext *ctx, GlowCode *code, void **storage, void *arena,
                     const GlowIsa *isa, double flops, double limit) {
  double *ratio = malloc(MAX_SAMPLES * sizeof *ratio), start = glow_clock();
  GlowFault fault;
  const GlowProgram *program = glow_code_program(code);
  GlowRunContext run = {.arena = arena, .storage = storage, .fault = &fault};
  glow_walk_tables(ctx->arena, program, &run);
  size_t n = 0;
  glow_walk(program, &run);
  while (n < MAX_SAMPLES && glow_clock() - start < limit) {
    double before = glow_fma_burst(isa), t = bench_own_time();
    glow_walk(program, &run);
    t = bench_own_time() - t;
    double after = glow_fma_burst(isa), agree = before / after;
    if (agree > 0.97 && agree < 1.03)
      ratio[n++] = flops / t / (0.5 * (before + after));
  }
  Share share = {.count = n};
  if (n) {
    share.median = median(ratio, n);
    share.best = ratio[n * 9 / 10];
  }
  free(ratio);
  return share;
}

static bool run_case(GlowContext *ctx, const Case *c, const GlowIsa *isa, double limit) {
  GlowText text;
  glow_text_init(&text, ctx);
  write_program(&text, c, isa);
  GlowCpuPlan plan;
  if (!bench_plan(ctx, &text, isa, &plan))
    return false;
  CompileTimes times = {0};
  GlowCode *code = compile(ctx, &plan, isa, &times);
  if (!code)
    return false;
  void *storage[8] = {0};
  if (!bench_make_storage(&plan, storage))
    return false;
  const GlowConvParams *p = (const GlowConvParams *)plan.work[0].params;
  double flops =
      2.0 * (double)(p->rows * p->g.ow) * (double)(p->g.oc * p->g.ic * p->g.kh * p->g.kw);
  Share speed = measure(ctx, code, storage, NULL, isa, flops, limit);
  printf("%-20s %2dx%-2d %7.1f %7.1f %8.1f %6.2f %8.1f %6d %8zu\n", c->name, (int)p->tile_rows,
         (int)p->tile_cols, times.total * 1e3, times.optimize * 1e3, times.clang * 1e3, times.ratio,
         speed.median * 100, c->goal, speed.count);
  fflush(stdout);
  bench_free_storage(&plan, storage);
  glow_code_destroy(code);
  return true;
}

static bool run_cases(const GlowIsa *isa, double limit) {
  printf("%-20s %5s %7s %7s %8s %6s %8s %6s %8s\n", "", "tile", "LLVM", "passes", "clang-O3",
         "ratio", "of peak", "goal", "samples");
  printf("%-20s %5s %7s %7s %8s %6s %8s %6s\n", "convolution", "", "ms", "ms", "ms", "", "%", "%");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    GlowContext *ctx = glow_context_create();
    if (!ctx || !run_case(ctx, &cases[i], isa, limit))
      return false;
    glow_context_destroy(ctx);
  }
  return true;
}

/* ---- Filter gradients ------------------------------------------------------------------------ */

/* Those of ResNet-18 at 32x32, batch 32; `size` is that of X. */
static const Case gradients[] = {
    {"3x3 3-64@32", 32, 3, 64, 3, 1, 75},
    {"3x3 64@32", 32, 64, 64, 3, 1, 85},
    {"3x3 64-128@32 stride 2", 32, 64, 128, 3, 2, 85},
    {"1x1 64-128@32 stride 2", 32, 64, 128, 1, 2, 85},
    {"3x3 128@16", 16, 128, 128, 3, 1, 85},
    {"3x3 128-256@16 stride 2", 16, 128, 256, 3, 2, 85},
    {"1x1 128-256@16 stride 2", 16, 128, 256, 1, 2, 85},
    {"3x3 256@8", 8, 256, 256, 3, 1, 85},
    {"3x3 256-512@8 stride 2", 8, 256, 512, 3, 2, 85},
    {"1x1 256-512@8 stride 2", 8, 256, 512, 1, 2, 85},
    {"3x3 512@4", 4, 512, 512, 3, 1, 85},
};

enum { GRADIENT_BATCH = 32 };

static void write_gradient(GlowText *t, const Case *c, const GlowIsa *isa) {
  int pad = c->kernel / 2, out = (c->size - 1) / c->stride + 1;
  glow_text_printf(t, "module \"bench\" {target = \"%s\"}\ndeclare {\n", isa->name);
  glow_text_printf(t, "  placeholder @x : float<%d x %d x %d x %d%s>\n", GRADIENT_BATCH, c->ic,
                   c->size, c->size, c->ic < GLOW_CONV_BLOCK ? "" : " | NCHW16c");
  glow_text_printf(t, "  placeholder @dy : float<%d x %d x %d x %d | NCHW16c>\n", GRADIENT_BATCH,
                   c->oc, out, out);
  glow_text_printf(t, "  placeholder @dw : float<%d x %d x %d x %d>\n}\nprogram @p {\n", c->oc,
                   c->ic, c->kernel, c->kernel);
  glow_text_printf(t,
                   "  filter_gradient @out @dw, @in @x, @in @dy {kernels = [%d, %d], strides = "
                   "[%d, %d], pads = [%d, %d, %d, %d]}\n}\n",
                   c->kernel, c->kernel, c->stride, c->stride, pad, pad, pad, pad);
}

static bool run_gradient(GlowContext *ctx, const Case *c, const GlowIsa *isa, double limit) {
  GlowText text;
  GlowCpuPlan plan;
  void *storage[8] = {0};
  glow_text_init(&text, ctx);
  write_gradient(&text, c, isa);
  if (!bench_plan(ctx, &text, isa, &plan))
    return false;
  GlowCodegenTimes times;
  GlowCode *code = glow_codegen_compile(ctx, glow_cpu_program(ctx->arena, &plan, NULL),
                                        &(GlowCodegenOptions){.isa = isa}, &times);
  void *arena = bench_alloc(plan.arena + plan.scratch);
  if (!code || !arena || !bench_make_storage(&plan, storage))
    return false;
  double out = (c->size - 1) / c->stride + 1;
  double flops = 2.0 * GRADIENT_BATCH * c->ic * c->oc * c->kernel * c->kernel * out * out;
  Share speed = measure(ctx, code, storage, arena, isa, flops, limit);
  free(arena);
  printf("%-26s %8.1f %6.1f %6d %8zu\n", c->name, speed.median * 100, speed.best * 100, c->goal,
         speed.count);
  fflush(stdout);
  bench_free_storage(&plan, storage);
  glow_code_destroy(code);
  return true;
}

static bool run_gradients(const GlowIsa *isa, double limit) {
  printf("%-26s %8s %6s %6s %8s\n", "filter gradient, batch 32", "of peak", "best", "goal",
         "samples");
  for (size_t i = 0; i < sizeof gradients / sizeof *gradients; i++) {
    GlowContext *ctx = glow_context_create();
    if (!ctx || !run_gradient(ctx, &gradients[i], isa, limit))
      return false;
    glow_context_destroy(ctx);
  }
  return true;
}

static int usage(void) {
  fprintf(stderr,
          "usage: glow-bench-codegen [--library | --gradients] [--target=NAME] [--seconds=S]\n");
  return 2;
}

int main(int argc, char **argv) {
  double limit = 2.0;
  bool library = false, gradient = false;
  const GlowIsa *target = NULL;
  char name[256];
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--library") == 0)
      library = true;
    else if (strcmp(argv[i], "--gradients") == 0)
      gradient = true;
    else if (strncmp(argv[i], "--seconds=", 10) == 0)
      limit = atof(argv[i] + 10);
    else if (strncmp(argv[i], "--target=", 9) != 0 || !(target = glow_isa_find(argv[i] + 9)))
      return usage();
  }
  glow_cpu_name(name, sizeof name);
  for (size_t k = 0; k < GLOW_ISA_COUNT; k++) {
    const GlowIsa *isa = &glow_isa[k];
    if (!glow_isa_runs_here(isa) || (target && isa != target))
      continue;
    double best = 0;
    for (int i = 0; i < 200; i++) {
      double b = glow_fma_burst(isa);
      best = b > best ? b : best;
    }
    printf("%s on %s: FMA peak %.1f GFLOP/s; %s\n", isa->name, name, best * 1e-9, isa->features);
    if (!(library ? bench_library : gradient ? run_gradients : run_cases)(isa, limit))
      return 1;
  }
  return 0;
}
