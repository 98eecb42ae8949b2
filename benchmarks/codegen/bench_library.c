/* See bench_library.h. Every case is one instruction on tensors that are there already. */
#include "bench_library.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "exec/runnable.h"
#include "program.h"
#include "support/process.h"

/* What is computed of a sum %a, or of the elements of an operand, and perhaps of %s. */
typedef struct Body {
  const char *name;
  const char *operands, *text;
} Body;

static const Body none = {"", NULL, NULL};
/* Library code has these inline. */
static const Body relu = {"Relu", "%a : float<>", "%r = Relu(%a) : float<>"};
static const Body residual = {"Add, Relu", "%a : float<>, %s : float<>",
                              "%0 = Add(%a, %s) : float<>\n %r = Relu(%0) : float<>"};
static const Body clip = {"Clip", "%a : float<>",
                          "%z = Splat() {value = 0.0} : float<>\n"
                          "%six = Splat() {value = 6.0} : float<>\n"
                          "%r = Clip(%a, %z, %six) : float<>"};
/* These run as lists of calls. */
static const Body silu = {"x * Sigmoid(x)", "%a : float<>",
                          "%0 = Sigmoid(%a) : float<>\n %r = Mul(%a, %0) : float<>"};
static const Body gelu = {"Gelu by Erf", "%a : float<>",
                          "%c = Splat() {value = 0.70710677} : float<>\n"
                          "%one = Splat() {value = 1.0} : float<>\n"
                          "%half = Splat() {value = 0.5} : float<>\n"
                          "%0 = Mul(%a, %c) : float<>\n %1 = Erf(%0) : float<>\n"
                          "%2 = Add(%1, %one) : float<>\n %3 = Mul(%a, %2) : float<>\n"
                          "%r = Mul(%3, %half) : float<>"};
static const Body four = {"Add, Mul, Add, Relu", "%a : float<>, %s : float<>",
                          "%0 = Add(%a, %s) : float<>\n %1 = Mul(%0, %s) : float<>\n"
                          "%2 = Add(%1, %a) : float<>\n %r = Relu(%2) : float<>"};

typedef struct Conv {
  int kernel, ic, oc, size, stride, groups; /* ic, oc: of all groups */
  const Body *body;
} Conv;

static const Conv convs[] = {
    {3, 64, 64, 56, 1, 1, &residual},  {1, 2048, 512, 7, 1, 1, &residual},
    {3, 64, 64, 56, 2, 1, &residual},  {3, 256, 256, 14, 1, 1, &residual},
    {3, 512, 512, 7, 1, 1, &residual}, {3, 256, 256, 14, 2, 1, &residual},
    {1, 1024, 256, 14, 1, 1, &relu},   {1, 256, 64, 56, 1, 1, &relu},
    {1, 16, 96, 112, 1, 1, &clip},     {1, 96, 32, 56, 1, 1, &none},
    {1, 32, 192, 28, 1, 1, &clip},     {1, 192, 64, 14, 1, 1, &none},
    {7, 3, 64, 224, 2, 1, &relu},      {3, 3, 32, 224, 2, 1, &clip},
    {3, 3, 64, 224, 1, 1, &relu},      {3, 192, 192, 56, 1, 192, &clip},
    {3, 192, 192, 28, 1, 192, &clip},  {3, 384, 384, 14, 1, 384, &clip},
    {3, 960, 960, 7, 1, 960, &clip},   {3, 144, 144, 56, 2, 144, &clip},
    {5, 240, 240, 28, 1, 240, &relu},  {5, 240, 240, 28, 2, 240, &relu},
    {3, 64, 64, 56, 1, 1, &silu},      {1, 192, 64, 14, 1, 1, &silu},
    {3, 192, 192, 28, 1, 192, &silu},
};

typedef struct Product {
  int m, k, n;
  bool packed;
  const Body *body;
} Product;

static const Product products[] = {
    {128, 768, 768, true, &none},  {17, 768, 768, true, &none}, {128, 3072, 768, true, &residual},
    {128, 768, 3072, true, &gelu}, {1, 768, 768, true, &none},  {128, 64, 128, false, &none},
};

typedef struct Stack {
  int kib;
  const Body *body;
} Stack;

static const Stack stacks[] = {
    {32, &relu},  {32, &silu}, {512, &silu}, {4096, &silu}, {32, &gelu},
    {512, &gelu}, {32, &four}, {512, &four}, {4096, &four},
};

/* Others: what is declared, then the instruction. */
typedef struct Other {
  const char *name, *declared, *instruction;
} Other;

static const Other others[] = {
    {"filter_gradient 3x3, batch 8 of 64@32",
     "  placeholder @x : float<8 x 64 x 32 x 32 | NCHW16c>\n"
     "  placeholder @d : float<8 x 64 x 32 x 32 | NCHW16c>\n"
     "  placeholder @y : float<64 x 64 x 3 x 3>\n",
     "filter_gradient @out @y, @in @x, @in @d {kernels = [3, 3], pads = [1, 1, 1, 1]}"},
    {"max_pool 3x3 stride 2, 64@112",
     "  placeholder @x : float<1 x 64 x 112 x 112 | NCHW16c>\n"
     "  placeholder @y : float<1 x 64 x 56 x 56 | NCHW16c>\n",
     "max_pool @out @y, @out none, @in @x {kernels = [3, 3], strides = [2, 2], pads = [1, 1, 1, "
     "1]}"},
    {"average_pool 7x7, 2048@7",
     "  placeholder @x : float<1 x 2048 x 7 x 7 | NCHW16c>\n"
     "  placeholder @y : float<1 x 2048 x 1 x 1 | NCHW16c>\n",
     "average_pool @out @y, @in @x {kernels = [7, 7]}"},
    {"max_pool 5x5, plain, 256@20",
     "  placeholder @x : float<1 x 256 x 20 x 20>\n"
     "  placeholder @y : float<1 x 256 x 20 x 20>\n",
     "max_pool @out @y, @out none, @in @x {kernels = [5, 5], pads = [2, 2, 2, 2]}"},
    {"relayout to blocks, 64@56",
     "  placeholder @x : float<1 x 64 x 56 x 56>\n"
     "  placeholder @y : float<1 x 64 x 56 x 56 | NCHW16c>\n",
     "relayout @out @y, @in @x"},
    {"reduce_max of rows, 1536 x 128",
     "  placeholder @x : float<1536 x 128>\n  placeholder @y : float<1536 x 1>\n"
     "  constant @axis : i64<1> = [1]\n",
     "reduce_max @out @y, @in @x, @in @axis"},
    {"transpose, 128 x 12 x 64",
     "  placeholder @x : float<128 x 12 x 64>\n  placeholder @y : float<12 x 64 x 128>\n",
     "transpose @out @y, @in @x {perm = [1, 2, 0]}"},
    {"cum_sum, 512 x 1024",
     "  placeholder @x : float<512 x 1024>\n  placeholder @y : float<512 x 1024>\n"
     "  constant @axis : i64<> = 1\n",
     "cum_sum @out @y, @in @x, @in @axis"},
    {"softmax, 4608 x 384",
     "  placeholder @x : float<4608 x 384>\n  placeholder @y : float<4608 x 384>\n"
     "  constant @axis : i64<1> = [1]\n",
     "%max = alloc float<4608 x 1>\n  %e = alloc float<4608 x 384>\n"
     "  reduce_max @out %max, @in @x, @in @axis\n  sub @out %e, @in @x, @in %max\n"
     "  exp @out %e, @in %e\n  reduce_sum @out %max, @in %e, @in @axis\n"
     "  div @out @y, @in %e, @in %max\n  dealloc %max\n  dealloc %e"},
    {"normalize, 1024 x 1024",
     "  placeholder @x : float<1024 x 1024>\n  placeholder @y : float<1024 x 1024>\n"
     "  constant @axis : i64<1> = [1]\n",
     "%row = alloc float<1024 x 1>\n  %e = alloc float<1024 x 1024>\n"
     "  mul @out %e, @in @x, @in @x\n  reduce_mean @out %row, @in %e, @in @axis\n"
     "  stack @out %row, @in %row\n    ^body(%v : float<>) = {\n"
     "      %c = Splat() {value = 0.25} : float<>\n      %a = Add(%v, %c) : float<>\n"
     "      %r = Sqrt(%a) : float<>\n      %i = Reciprocal(%r) : float<>\n"
     "      yield %i\n    }\n"
     "  mul @out @y, @in @x, @in %row\n  dealloc %row\n  dealloc %e"},
    {"mat_mul_integer, 128 x 768 x 768",
     "  placeholder @x : u8<128 x 768>\n  placeholder @y : i32<128 x 768>\n"
     "  placeholder @w : i8<768 x 768 | KN192k16n4k>\n",
     "mat_mul_integer @out @y, @in @x, @in @w, @in none, @in none"},
    {"conv_integer, 3x3, 64@28",
     "  placeholder @x : u8<1 x 28 x 28 x 64>\n  placeholder @y : i32<1 x 28 x 28 x 64>\n"
     "  placeholder @w : i8<64 x 3 x 3 x 64 | OHWI16i16o4i>\n",
     "conv_integer @out @y, @in @x, @in @w, @in none, @in none {layout = NHWC, pads = [1, 1, 1, "
     "1]}"},
    {"grid_sample, linear, 32@56",
     "  placeholder @x : float<1 x 32 x 56 x 56>\n  placeholder @y : float<1 x 32 x 56 x 56>\n"
     "  placeholder @g : float<1 x 56 x 56 x 2>\n",
     "grid_sample @out @y, @in @x, @in @g"},
    {"dft, 100 frames of 512",
     "  placeholder @x : float<100 x 512 x 1>\n  placeholder @y : float<100 x 257 x 2>\n",
     "dft @out @y, @in @x, @in none {onesided = true}"},
    {"roi_align, 7x7 of 64@50x68",
     "  placeholder @x : float<1 x 64 x 50 x 68>\n  placeholder @y : float<20 x 64 x 7 x 7>\n"
     "  placeholder @r : float<20 x 4>\n  placeholder @b : i64<20>\n",
     "roi_align @out @y, @in @x, @in @r, @in @b {output_height = 7, output_width = 7, "
     "sampling_ratio = 2}"},
    {"col2_im 3x3, 32@28",
     "  placeholder @x : float<1 x 288 x 676>\n  placeholder @y : float<1 x 32 x 28 x 28>\n"
     "  constant @i : i64<2> = [28, 28]\n  constant @k : i64<2> = [3, 3]\n",
     "col2_im @out @y, @in @x, @in @i, @in @k"},
    {"deform_conv 3x3, 32@28",
     "  placeholder @x : float<1 x 32 x 28 x 28>\n  placeholder @y : float<1 x 32 x 28 x 28>\n"
     "  placeholder @w : float<32 x 32 x 3 x 3>\n  placeholder @o : float<1 x 18 x 28 x 28>\n",
     "deform_conv @out @y, @in @x, @in @w, @in @o, @in none, @in none {pads = [1, 1, 1, 1]}"},
    {"top_k, 10 of 50000",
     "  placeholder @x : float<50000>\n  placeholder @y : float<10>\n"
     "  placeholder @i : i64<10>\n",
     "top_k @out @y, @out @i, @in @x, @in none {k = 10}"},
    {"top_k, 5 of 80, 8400 rows",
     "  placeholder @x : float<8400 x 80>\n  placeholder @y : float<8400 x 5>\n"
     "  placeholder @i : i64<8400 x 5>\n",
     "top_k @out @y, @out @i, @in @x, @in none {k = 5}"},
};

/* ---- Texts ----------------------------------------------------------------------------------- */

static void begin(GlowText *t, const GlowIsa *isa) {
  glow_text_printf(t, "module \"bench\" {target = \"%s\"}\ndeclare {\n", isa->name);
}

/* Ends an instruction and the program. */
static void end(GlowText *t, const char *region, const Body *body) {
  if (body->text)
    glow_text_printf(t, "\n ^%s(%s) = {\n%s\n yield %%r\n }", region, body->operands, body->text);
  glow_text_puts(t, "\n}\n");
}

static bool has_second(const Body *body) { return body->text && strstr(body->operands, "%s"); }

static void write_conv(GlowText *t, const Conv *c, const GlowIsa *isa) {
  int pad = (c->kernel - 1) / 2, out = (c->size + 2 * pad - c->kernel) / c->stride + 1;
  bool few = c->ic < 16;
  begin(t, isa);
  glow_text_printf(t, "  placeholder @x : float<1 x %d x %d x %d%s>\n", c->ic, c->size, c->size,
                   few ? "" : " | NCHW16c");
  glow_text_printf(t, "  placeholder @w : float<%d x %d x %d x %d | ", c->oc, c->ic / c->groups,
                   c->kernel, c->kernel);
  if (c->groups > 1)
    glow_text_puts(t, "OIHW16o>\n");
  else
    glow_text_printf(t, "OIHW%di%uo>\n", few ? c->ic : 16, isa->vl * isa->tile_vectors);
  glow_text_printf(t, "  placeholder @b : float<%d>\n", c->oc);
  for (int i = 0; i < 2; i++)
    glow_text_printf(t, "  placeholder @%c : float<1 x %d x %d x %d | NCHW16c>\n", "ys"[i], c -> oc,
                     out, out);
  glow_text_printf(t,
                   "}\nprogram @p {\n  convolution @out @y, @in @x, @in @w, @in @b%s {group = %d, "
                   "strides = [%d, %d], pads = [%d, %d, %d, %d]}",
                   has_second(c->body) ? ", @in @s" : "", c->groups, c->stride, c->stride, pad, pad,
                   pad, pad);
  end(t, "epilogue", c->body);
}

static void write_product(GlowText *t, const Product *p, const GlowIsa *isa) {
  begin(t, isa);
  glow_text_printf(t, "  placeholder @x : float<%d x %d>\n  placeholder @w : float<%d x %d", p->m,
                   p->k, p->k, p->n);
  if (p->packed)
    glow_text_printf(t, " | KN%lldk%un", (long long)glow_isa_chunk(isa, p->k),
                     isa->vl * isa->tile_vectors);
  glow_text_printf(t, ">\n  placeholder @y : float<%d x %d>\n  placeholder @s : float<%d x %d>\n",
                   p->m, p->n, p->m, p->n);
  glow_text_printf(t, "}\nprogram @p {\n  mat_mul @out @y, @in @x, @in @w%s",
                   has_second(p->body) ? ", @in @s" : "");
  end(t, "epilogue", p->body);
}

static void write_stack(GlowText *t, const Stack *s, const GlowIsa *isa) {
  begin(t, isa);
  for (int i = 0; i < 3; i++)
    glow_text_printf(t, "  placeholder @%c : float<%d>\n", "xys"[i], s -> kib * 256);
  glow_text_printf(t, "}\nprogram @p {\n  stack @out @y, @in @x%s",
                   has_second(s->body) ? ", @in @s" : "");
  end(t, "body", s->body);
}

static void write_other(GlowText *t, const Other *o, const GlowIsa *isa) {
  begin(t, isa);
  glow_text_printf(t, "%s}\nprogram @p {\n  %s", o->declared, o->instruction);
  end(t, "", &none);
}

/* ---- Times ----------------------------------------------------------------------------------- */

enum { TIERS = 2 };
static const GlowTier tiers[TIERS] = {GLOW_TIER_COMPILED, GLOW_TIER_LIBRARY};

/* Numbers for everything that the program reads; the first place where it reads indices. */
static void bind_inputs(GlowContext *ctx, GlowModule *m, GlowBindings *inputs) {
  for (GlowStorage *s = m->first_storage; s; s = s->next) {
    if (s->cls != GLOW_PLACEHOLDER)
      continue;
    GlowTensor *t = glow_tensor_create(ctx, s->value.type);
    if (t->type->kind == GLOW_KIND_I64)
      memset(t->data, 0, t->bytes);
    else
      bench_fill(t->data, (int64_t)(t->bytes / sizeof(float)), inputs->count + 1);
    glow_vec_push(ctx->arena, inputs, ((GlowBinding){s->value.name, t}));
  }
}

/* Seconds of one of `count` runs. */
static double time_of(GlowRunnable *r, int count) {
  double start = bench_own_time();
  for (int i = 0; i < count; i++)
    if (glow_runnable_run(r) != GLOW_OK)
      return -1;
  return (bench_own_time() - start) / count;
}

/* The best time of each entry, in turns. */
static void measure(GlowRunnable *const *entries, double seconds, double *best) {
  double start = glow_clock(), once = time_of(entries[0], 2);
  int count = once > 0 && once < 1e-4 ? (int)(1e-4 / once) : 1;
  best[0] = best[1] = DBL_MAX;
  do
    for (int i = 0; i < TIERS; i++) {
      double t = time_of(entries[i], count);
      best[i] = t < best[i] ? t : best[i];
    }
  while (glow_clock() - start < seconds);
}

/* False if the results differ. */
static bool print_times(const char *name, GlowRunnable *const *entries, const double *best) {
  const GlowTensor *y[TIERS];
  for (int i = 0; i < TIERS; i++)
    y[i] = entries[i]->outputs.data[0].tensor;
  bool same = glow_tensor_same_bits(y[0], y[1]);
  printf("%-44s %10.1f %10.1f %7.2f%s\n", name, best[0] * 1e6, best[1] * 1e6, best[0] / best[1],
         same ? "" : "  the results differ");
  fflush(stdout);
  return same;
}

/* The text is released. */
static bool run_case(GlowContext *ctx, const char *name, GlowText *text, double seconds) {
  GlowModule *m = bench_parse(ctx, text);
  GlowBindings inputs = {0};
  GlowRunnable *entries[TIERS] = {0};
  bool ok = m != NULL;
  GlowFunction *f = ok ? glow_module_entry(m, NULL) : NULL;
  if (ok)
    bind_inputs(ctx, m, &inputs);
  for (int i = 0; i < TIERS && ok; i++)
    ok = (entries[i] =
              glow_runnable_create(glow_cpu_compile(&f, 1, &(GlowRunOptions){.tier = tiers[i]}),
                                   &inputs, &(GlowExecutionSetup){0})) != NULL;
  if (ok) {
    double best[TIERS];
    measure(entries, seconds, best);
    ok = print_times(name, entries, best);
  }
  for (int i = 0; i < TIERS && entries[i]; i++)
    glow_runnable_destroy(entries[i]);
  for (uint32_t i = 0; i < inputs.count; i++)
    glow_tensor_free(inputs.data[i].tensor);
  return ok;
}

/* ---- Cases ----------------------------------------------------------------------------------- */

enum { NCONVS = sizeof convs / sizeof *convs, NPRODUCTS = sizeof products / sizeof *products };
enum { NSTACKS = sizeof stacks / sizeof *stacks, NOTHERS = sizeof others / sizeof *others };

/* Writes case i and gives its name. False behind the last one. */
static bool write_case(GlowText *t, size_t i, const GlowIsa *isa, char *name, size_t size) {
  if (i < NCONVS) {
    const Conv *c = &convs[i];
    write_conv(t, c, isa);
    snprintf(name, size, "%dx%d %s%d-%d@%d%s %s", c->kernel, c->kernel,
             c->groups > 1 ? "depthwise " : "", c->ic, c->oc, c->size,
             c->stride > 1 ? " stride 2" : "", c->body->name);
  } else if (i < NCONVS + NPRODUCTS) {
    const Product *p = &products[i - NCONVS];
    write_product(t, p, isa);
    snprintf(name, size, "%d x %d x %d%s %s", p->m, p->k, p->n, p->packed ? " packed" : "",
             p->body->name);
  } else if (i < NCONVS + NPRODUCTS + NSTACKS) {
    const Stack *s = &stacks[i - NCONVS - NPRODUCTS];
    write_stack(t, s, isa);
    snprintf(name, size, "stack, %d KiB: %s", s->kib, s->body->name);
  } else if (i < NCONVS + NPRODUCTS + NSTACKS + NOTHERS) {
    const Other *o = &others[i - NCONVS - NPRODUCTS - NSTACKS];
    write_other(t, o, isa);
    snprintf(name, size, "%s", o->name);
  } else {
    return false;
  }
  return true;
}

bool bench_library(const GlowIsa *isa, double seconds) {
  char name[64];
  bool ok = true;
  printf("%-44s %10s %10s %7s\n", isa->name, "compiled", "library", "share");
  printf("%-44s %10s %10s %7s\n", "", "us", "us", "");
  for (size_t i = 0; ok; i++) {
    GlowContext *ctx = glow_context_create();
    GlowText text;
    if (!ctx)
      return false;
    glow_text_init(&text, ctx);
    bool more = write_case(&text, i, isa, name, sizeof name);
    ok = more && run_case(ctx, name, &text, seconds);
    glow_context_destroy(ctx);
    if (!more)
      return true;
  }
  return false;
}
