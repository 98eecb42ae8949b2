/* The machine code of matrix products, of attention and of filter gradients on the CPU backend: in
 * every variant the loop with the most FMAs has those of a register tile, on full vectors, and
 * leaves the stack alone. Batches that share a matrix cost what one product of all rows costs.
 * test/codegen compares their bits. */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "support/file.h"
#include "support/text.h"
#include "test/unit/hot_loops.h"
#include "test/unit/unit.h"

enum { STEPS = 4 }; /* of k in one round of the loop */

static int div_up(int a, int b) { return (a + b - 1) / b; }

/* The plan of a program, which is one piece of work by `kernel`. */
static bool plan_one(GlowContext *ctx, GlowText *text, const GlowIsa *isa, const char *kernel,
                     GlowCpuPlan *plan) {
  size_t size = text->size;
  GlowModule *m = glow_module_parse(ctx, "test", glow_text_cstr(text), size);
  GlowFunction *f = m && glow_module_verify(m) ? glow_module_entry(m, NULL) : NULL;
  bool ok = f && glow_cpu_plan(ctx->arena, f, isa, plan);
  EXPECT(ok, "this does not parse, verify or compile:\n%s", text->data);
  bool one = ok && plan->count == 1 && !strcmp(plan->work[0].kernel->name, kernel);
  EXPECT(!ok || one, "no %s is made of\n%s", kernel, text->data);
  return one;
}

static HotLoops compiled_loops(GlowContext *ctx, const GlowCpuPlan *plan,
                               const GlowCodegenOptions *options) {
  GlowText assembly;
  glow_text_init(&assembly, ctx);
  EXPECT(glow_codegen_emit_asm(ctx, glow_cpu_program(ctx->arena, plan, NULL), options, &assembly),
         "no assembly for %s", options->isa->name);
  HotLoops hot =
      find_hot_loops(glow_text_cstr(&assembly), options->isa->vl == 16 ? "%zmm" : "%ymm");
  glow_text_release(&assembly);
  return hot;
}

static HotLoops hot_loops_of(GlowContext *ctx, GlowText *text, const GlowIsa *isa,
                             const char *kernel) {
  GlowCpuPlan plan;
  GlowCodegenOptions options = {.isa = isa};
  return plan_one(ctx, text, isa, kernel, &plan) ? compiled_loops(ctx, &plan, &options)
                                                 : (HotLoops){0};
}

/* The loop with the most FMAs has those of a tile. Others are epilogues, which find the tile's sums
 * in memory, and what attention computes once for each query. */
static void expect_hot(const HotLoops *hot, int fmas, const GlowIsa *isa, const char *what) {
  EXPECT(hot->most_fmas >= (unsigned)fmas && hot->most_full_width == hot->most_fmas &&
             !hot->most_stack,
         "%s on %s: %u FMAs of %d, %u of them full width, %u stack references", what, isa->name,
         hot->most_fmas, fmas, hot->most_full_width, hot->most_stack);
}

/* ---- Matrix products ------------------------------------------------------------------------- */

typedef enum RightOperand { PLAIN, TURNED, PACKED } RightOperand;

typedef struct Product {
  const char *what;
  int batch; /* 1: matrices */
  int m, k, n;
  RightOperand b;
  bool turned; /* A lies as its transpose */
  bool shared; /* B has no batch axis: batches are rows */
  bool epilogue;
} Product;

/* A placeholder of rows x columns, or, turned, of their transpose. */
static void declare_matrix(GlowText *t, const char *name, int batch, int rows, int columns,
                           bool turned) {
  glow_text_printf(t, "  placeholder @%s : float<", name);
  if (batch > 1)
    glow_text_printf(t, "%d x ", batch);
  glow_text_printf(t, "%d x %d>\n", turned ? columns : rows, turned ? rows : columns);
}

/* `%name`, which reads @name turned around. */
static void turn(GlowText *t, const char *name, int batch, int rows, int columns) {
  glow_text_printf(t, "  %%%s = tensorview @%s {strides = [", name, name);
  if (batch > 1)
    glow_text_printf(t, "%d, ", rows * columns);
  glow_text_printf(t, "1, %d]} : float<", rows);
  if (batch > 1)
    glow_text_printf(t, "%d x ", batch);
  glow_text_printf(t, "%d x %d>\n", rows, columns);
}

static void write_product(GlowText *t, const Product *p, const GlowIsa *isa) {
  int b_batch = p->shared ? 1 : p->batch;
  glow_text_printf(t, "module \"t\" {target = \"%s\"}\ndeclare {\n", isa->name);
  declare_matrix(t, "a", p->batch, p->m, p->k, p->turned);
  if (p->b == PACKED)
    glow_text_printf(t, "  placeholder @b : float<%d x %d | KN%dk%un>\n", p->k, p->n,
                     (int)glow_isa_chunk(isa, p->k), isa->vl * isa->tile_vectors);
  else
    declare_matrix(t, "b", b_batch, p->k, p->n, p->b == TURNED);
  declare_matrix(t, "y", p->batch, p->m, p->n, false);
  glow_text_printf(t, "  placeholder @bias : float<%d>\n}\nprogram @p {\n", p->n);
  if (p->turned)
    turn(t, "a", p->batch, p->m, p->k);
  if (p->b == TURNED)
    turn(t, "b", b_batch, p->k, p->n);
  glow_text_printf(t, "  mat_mul @out @y, @in %sa, @in %sb%s\n%s}\n", p->turned ? "%" : "@",
                   p->b == TURNED ? "%" : "@", p->epilogue ? ", @in @bias" : "",
                   p->epilogue ? "    ^epilogue(%acc : float<>, %v : float<>) = { %0 = Add(%acc, "
                                 "%v) : float<>  %1 = Relu(%0) : float<>  yield %1 }\n"
                               : "");
}

static void check_product(const Product *p, const GlowIsa *isa) {
  GlowContext *ctx = glow_context_create();
  GlowText text;
  glow_text_init(&text, ctx);
  write_product(&text, p, isa);
  HotLoops hot = hot_loops_of(ctx, &text, isa, "matmul");
  int rows = p->n == 1 ? 1 : p->shared ? p->batch * p->m : p->m;
  int columns = p->n == 1 ? p->m : p->n;
  int vectors = columns > (int)isa->vl ? (int)isa->tile_vectors : 1;
  char what[96];
  snprintf(what, sizeof what, "%s: %d of %dx%d by %dx%d", p->what, p->batch, p->m, p->k, p->k,
           p->n);
  expect_hot(&hot, STEPS * vectors * div_up(rows, div_up(rows, (int)isa->tile_pixels)), isa, what);
  glow_text_release(&text);
  glow_context_destroy(ctx);
}

static void check_products(const GlowIsa *isa) {
  static const Product products[] = {
      {"packed", 1, 128, 768, 3072, PACKED, false, false, false},
      {"packed, epilogue", 1, 128, 768, 768, PACKED, false, false, true},
      {"packed, rests", 1, 127, 766, 1001, PACKED, false, false, true},
      {"packed, one row", 1, 1, 1280, 1000, PACKED, false, false, true},
      {"packed, batches as rows", 8, 16, 256, 256, PACKED, false, true, true},
      {"plain", 1, 256, 512, 384, PLAIN, false, false, false},
      {"plain, epilogue", 1, 256, 512, 384, PLAIN, false, false, true},
      {"plain, rests", 1, 61, 203, 75, PLAIN, false, false, true},
      {"few rows", 1, 5, 512, 512, PLAIN, false, false, true},
      {"one row", 1, 1, 2048, 1000, PLAIN, false, false, true},
      {"one column", 1, 1000, 2048, 1, PLAIN, false, false, false},
      {"one column of a transpose", 1, 1000, 2048, 1, PLAIN, true, false, false},
      {"few columns", 1, 64, 64, 7, PLAIN, false, false, false},
      {"left transposed", 1, 96, 256, 128, PLAIN, true, false, true},
      {"right transposed", 1, 96, 256, 128, TURNED, false, false, false},
      {"both transposed", 1, 96, 256, 128, TURNED, true, false, true},
      {"one row by a transpose", 1, 1, 768, 768, TURNED, false, false, true},
      {"batched", 12, 128, 64, 128, PLAIN, false, false, false},
      {"batched, right transposed", 12, 128, 64, 128, TURNED, false, false, true},
      {"batched, rests", 3, 37, 41, 53, PLAIN, false, false, true},
      {"batches as rows", 8, 7, 128, 256, PLAIN, false, true, false},
  };
  for (size_t i = 0; i < sizeof products / sizeof *products; i++)
    check_product(&products[i], isa);
  for (int rows = 1; rows <= (int)isa->tile_pixels; rows++) {
    Product p = {"every tile", 1, rows, 256, 256, PACKED, false, false, true};
    check_product(&p, isa);
    p.b = PLAIN;
    check_product(&p, isa);
  }
}

/* Batches of the same B are planned as the product of all their rows. */
static void check_merging(const GlowIsa *isa) {
  static const Product batched[] = {
      {"packed", 8, 128, 256, 512, PACKED, false, true, true},
      {"plain", 8, 128, 256, 512, PLAIN, false, true, false},
      {"one row each", 64, 1, 256, 1024, PACKED, false, true, false},
  };
  for (size_t i = 0; i < sizeof batched / sizeof *batched; i++) {
    GlowContext *ctx = glow_context_create();
    Product products[] = {batched[i], batched[i]};
    products[1].m *= products[1].batch;
    products[1].batch = 1;
    GlowCpuPlan plans[2];
    bool ok = true;
    for (int k = 0; k < 2; k++) {
      GlowText text;
      glow_text_init(&text, ctx);
      write_product(&text, &products[k], isa);
      ok = plan_one(ctx, &text, isa, "matmul", &plans[k]) && ok;
      glow_text_release(&text);
    }
    const GlowWork *a = ok ? plans[0].work : NULL, *b = ok ? plans[1].work : NULL;
    EXPECT(!ok || (a->units == b->units && a->shards == b->shards), "%s on %s: %d units, not %d",
           batched[i].what, isa->name, (int)a->units, (int)b->units);
    EXPECT(!ok || (a->nparams == b->nparams &&
                   !memcmp(a->params, b->params, a->nparams * sizeof *a->params)),
           "%s on %s: batches are no rows", batched[i].what, isa->name);
    glow_context_destroy(ctx);
  }
}

/* ---- Attention ------------------------------------------------------------------------------- */

static void check_attention(const GlowIsa *isa, int queries, int keys, int size, bool mask) {
  GlowContext *ctx = glow_context_create();
  GlowText t;
  glow_text_init(&t, ctx);
  glow_text_printf(&t, "module \"t\" {target = \"%s\"}\ndeclare {\n", isa->name);
  for (int i = 0; i < 4; i++)
    glow_text_printf(&t, "  placeholder @%c : float<2 x 4 x %d x %d>\n", "qkvy"[i],
                     i == 1 || i == 2 ? keys : queries, size);
  glow_text_printf(&t, "  placeholder @m : float<2 x 1 x %d x %d>\n}\nprogram @p {\n", queries,
                   keys);
  glow_text_printf(&t,
                   "  tiled_attention @out @y, @in @q, @in @k, @in @v, @in %s {scale = 0.125, "
                   "kv_tile = 256}\n}\n",
                   mask ? "@m" : "none");
  HotLoops hot = hot_loops_of(ctx, &t, isa, "attention");
  char what[64];
  snprintf(what, sizeof what, "attention, %d queries, %d keys of %d%s", queries, keys, size,
           mask ? ", masked" : "");
  int rows = div_up(queries, div_up(queries, (int)isa->tile_pixels));
  expect_hot(&hot, STEPS * rows * (int)isa->tile_vectors, isa, what);
  glow_text_release(&t);
  glow_context_destroy(ctx);
}

/* ---- Filter gradients ------------------------------------------------------------------------ */

typedef struct Gradient {
  int ic, oc, size, kernel, stride;
  bool blocked;
} Gradient;

/* A tile of as many terms as share a run of a window equally, by registers of output channels. */
static void check_gradient(const GlowIsa *isa, const Gradient *g) {
  GlowContext *ctx = glow_context_create();
  GlowText t;
  glow_text_init(&t, ctx);
  const char *layout = g->blocked ? " | NCHW16c" : "";
  int pad = g->kernel / 2, out = (g->size - 1) / g->stride + 1;
  glow_text_printf(&t, "module \"t\" {target = \"%s\"}\ndeclare {\n", isa->name);
  glow_text_printf(&t, "  placeholder @x : float<4 x %d x %d x %d%s>\n", g->ic, g->size, g->size,
                   layout);
  glow_text_printf(&t, "  placeholder @y : float<4 x %d x %d x %d%s>\n", g->oc, out, out, layout);
  glow_text_printf(&t, "  placeholder @w : float<%d x %d x %d x %d>\n}\nprogram @p {\n", g->oc,
                   g->ic, g->kernel, g->kernel);
  glow_text_printf(&t,
                   "  filter_gradient @out @w, @in @x, @in @y {kernels = [%d, %d], strides = "
                   "[%d, %d], pads = [%d, %d, %d, %d]}\n}\n",
                   g->kernel, g->kernel, g->stride, g->stride, pad, pad, pad, pad);
  HotLoops hot = hot_loops_of(ctx, &t, isa, "filter_gradient");
  char what[64];
  snprintf(what, sizeof what, "%d to %d channels, %dx%d at %d, stride %d", g->ic, g->oc, g->kernel,
           g->kernel, g->size, g->stride);
  /* With few channels all rows of the window are in a run, else one. */
  int channels = g->ic < 16 ? g->ic : 16, row = channels * g->kernel;
  int enough = isa->tile_pixels < 7 ? (int)isa->tile_pixels : 7;
  int run = row < enough ? row * g->kernel : row;
  int vectors = g->oc > (int)isa->vl ? (int)isa->tile_vectors : 1;
  expect_hot(&hot, vectors * div_up(run, div_up(run, (int)isa->tile_pixels)), isa, what);
  glow_text_release(&t);
  glow_context_destroy(ctx);
}

static void check_gradients(const GlowIsa *isa) {
  static const Gradient gradients[] = {
      {64, 64, 32, 3, 1, true},  {512, 512, 4, 3, 1, true}, {64, 128, 32, 3, 2, true},
      {64, 128, 32, 1, 2, true}, {64, 64, 32, 3, 1, false}, {3, 64, 32, 3, 1, false},
      {1, 8, 8, 3, 1, false},    {16, 64, 20, 5, 1, false}, {3, 64, 64, 7, 2, false},
  };
  for (size_t i = 0; i < sizeof gradients / sizeof *gradients; i++)
    check_gradient(isa, &gradients[i]);
}

/* ---- A planted tile -------------------------------------------------------------------------- */

/* A tile of 7 rows by 4 registers of 512 bits, which with its operands needs 33 registers of 32. */
static void check_planted(void) {
  const GlowIsa *isa = &glow_isa[GLOW_ISA_X86_64_V4];
  const Product product = {"planted", 1, 128, 768, 3072, PLAIN, false, false, true};
  GlowContext *ctx = glow_context_create();
  GlowText text;
  glow_text_init(&text, ctx);
  write_product(&text, &product, isa);
  GlowCpuPlan plan;
  GlowInput planted;
  if (!glow_input_open(ctx, GLOW_TEST_MATMUL, false, GLOW_NOWHERE, &planted)) {
    EXPECT(false, "%s cannot be read", GLOW_TEST_MATMUL);
  } else {
    bool one = plan_one(ctx, &text, isa, "matmul", &plan);
    const GlowTile planted_tile = {"matmul_tile_7x4", "glow_matmul_tile_7x4", 0, {7, 4}};
    const GlowTile *tiles[GLOW_SETUP_TILES] = {&planted_tile};
    if (one)
      plan.work[0].tiles.all = tiles;
    GlowCodegenOptions options = {
        .isa = isa, .kernels = planted.data, .kernels_size = planted.size};
    HotLoops hot = one ? compiled_loops(ctx, &plan, &options) : (HotLoops){0};
    EXPECT(hot.most_fmas == STEPS * 7 * 4 && hot.most_stack,
           "the planted spill is not found: %u FMAs, %u stack references", hot.most_fmas,
           hot.most_stack);
    glow_input_close(&planted);
  }
  glow_text_release(&text);
  glow_context_destroy(ctx);
}

int main(void) {
  check_planted();
  for (size_t k = 0; k < GLOW_ISA_COUNT; k++) {
    const GlowIsa *isa = &glow_isa[k];
    if (strcmp(isa->arch, "x86_64") || isa->vl < 8)
      continue;
    check_products(isa);
    check_merging(isa);
    check_attention(isa, 2048, 2048, 64, false);
    check_attention(isa, 128, 128, 64, true);
    check_attention(isa, 77, 300, 80, false);
    /* With fewer queries the loop with the most FMAs is that of the exponential function. */
    for (int queries = 3; queries <= (int)isa->tile_pixels; queries++)
      check_attention(isa, queries, 128, 64, queries % 2);
    check_gradients(isa);
  }
  return unit_finish();
}
