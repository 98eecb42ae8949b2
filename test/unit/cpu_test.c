/* The CPU backend: the bits that it computes, against plain loops written here, and the machine
 * code of hot loops: full-width vectors, enough FMAs, and no stack. */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "kernels/params.h"
#include "support/file.h"
#include "support/text.h"
#include "target/cpu/rows.h"
#include "test/unit/hot_loops.h"
#include "test/unit/unit.h"

static uint32_t state = 1;
static uint32_t draw(uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}
static int64_t div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static bool same(float a, float b) { return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0; }

/* ---- Programs from text ---------------------------------------------------------------------- */

static GlowFunction *parse(GlowContext *ctx, GlowText *text) {
  size_t size = text->size;
  GlowModule *m = glow_module_parse(ctx, "test", glow_text_cstr(text), size);
  if (!m || !glow_module_verify(m)) {
    EXPECT(false, "this does not parse or verify:\n%s", text->data);
    return NULL;
  }
  return glow_module_entry(m, NULL);
}

/* A tensor for the placeholder `name`, bound. */
static float *bind(GlowFunction *f, GlowBindings *b, const char *name, size_t *count) {
  GlowContext *ctx = f->module->ctx;
  GlowStorage *g = glow_module_storage(f->module, glow_str(ctx, name));
  GlowBinding binding = {g->value.name, glow_tensor_create(ctx, g->value.type)};
  glow_vec_push(ctx->arena, b, binding);
  *count = binding.tensor->bytes / sizeof(float);
  return binding.tensor->data;
}

static void release(GlowBindings *b) {
  for (uint32_t i = 0; i < b->count; i++)
    glow_tensor_free(b->data[i].tensor);
  b->count = 0;
}

/* ---- Convolution against a plain loop -------------------------------------------------------- */

typedef struct Conv {
  int64_t n, ic, oc, ih, iw, kh, kw, sh, sw, dh, dw, pt, pl, pb, pr, oh, ow;
  bool bias, tile;
  int epilogue;
} Conv;
enum { NO_EPILOGUE, RELU, RESIDUAL, CHANNELS, CLIP, EPILOGUES };

static bool draw_conv(Conv *c) {
  *c = (Conv){.n = 1 + draw(3),
              .ic = 1 + draw(40),
              .oc = 1 + draw(70),
              .ih = 1 + draw(18),
              .iw = 1 + draw(18),
              .kh = 1 + draw(3),
              .kw = 1 + draw(3),
              .sh = 1,
              .sw = 1,
              .dh = 1,
              .dw = 1,
              .bias = draw(2),
              .tile = draw(4) == 0,
              .epilogue = (int)draw(EPILOGUES)};
  if (draw(2))
    c->sh = 1 + draw(3), c->sw = 1 + draw(3);
  if (draw(4) == 0)
    c->dh = 1 + draw(2), c->dw = 1 + draw(2);
  if (draw(4))
    c->pt = draw(4), c->pl = draw(4), c->pb = draw(4), c->pr = draw(4);
  if (draw(3) == 0)
    c->kh = c->kw = 1, c->pt = c->pl = c->pb = c->pr = 0;
  int64_t h = c->ih + c->pt + c->pb - (c->kh - 1) * c->dh - 1;
  int64_t w = c->iw + c->pl + c->pr - (c->kw - 1) * c->dw - 1;
  c->oh = h / c->sh + 1;
  c->ow = w / c->sw + 1;
  return h >= 0 && w >= 0;
}

static void write_conv(GlowText *t, const Conv *c, const GlowIsa *isa) {
  static const char *const bodies[EPILOGUES] = {
      "", "    ^epilogue(%a : float<>) = { %0 = Relu(%a) : float<>  yield %0 }\n",
      "    ^epilogue(%a : float<>, %s : float<>) = { %0 = Add(%a, %s) : float<>  %1 = Relu(%0) : "
      "float<>  yield %1 }\n",
      "    ^epilogue(%a : float<>, %s : float<>) = { %0 = Mul(%s, %a) : float<>  yield %0 }\n",
      "    ^epilogue(%a : float<>) = { %lo = Splat() {value = -1.5} : float<>  %hi = Splat() "
      "{value = 0.75} : float<>  %0 = Clip(%a, %lo, %hi) : float<>  yield %0 }\n"};
  glow_text_printf(t, "module \"t\" {target = \"%s\"}\ndeclare {\n", isa->name);
  glow_text_printf(t, "  placeholder @x : float<%d x %d x %d x %d | NCHW16c>\n", (int)c->n,
                   (int)c->ic, (int)c->ih, (int)c->iw);
  glow_text_printf(t, "  placeholder @w : float<%d x %d x %d x %d | OIHW16i%uo>\n", (int)c->oc,
                   (int)c->ic, (int)c->kh, (int)c->kw, isa->vl * isa->tile_vectors);
  glow_text_printf(t, "  placeholder @b : float<%d>\n", (int)c->oc);
  glow_text_printf(t, "  placeholder @m : float<%d x 1 x 1>\n", (int)c->oc);
  for (int i = 0; i < 2; i++)
    glow_text_printf(t, "  placeholder @%s : float<%d x %d x %d x %d | NCHW16c>\n", i ? "y" : "s",
                     (int)c->n, (int)c->oc, (int)c->oh, (int)c->ow);
  glow_text_printf(t, "}\nprogram @p {\n  convolution @out @y, @in @x, @in @w, @in %s",
                   c->bias ? "@b" : "none");
  if (c->epilogue == RESIDUAL || c->epilogue == CHANNELS)
    glow_text_puts(t, c->epilogue == RESIDUAL ? ", @in @s" : ", @in @m");
  glow_text_printf(t, " {strides = [%d, %d], pads = [%d, %d, %d, %d], dilations = [%d, %d]",
                   (int)c->sh, (int)c->sw, (int)c->pt, (int)c->pl, (int)c->pb, (int)c->pr,
                   (int)c->dh, (int)c->dw);
  if (c->tile)
    glow_text_printf(t, ", tile = [1, %d]", c->ow % 2 ? 1 : 2);
  glow_text_printf(t, "}\n%s}\n", bodies[c->epilogue]);
}

static size_t at16(int64_t channels, int64_t h, int64_t w, int64_t n, int64_t c, int64_t y,
                   int64_t x) {
  return (size_t)((((n * div_up(channels, 16) + c / 16) * h + y) * w + x) * 16 + c % 16);
}

/* The chain of docs/Numerics: from the bias over ic/16, taps, ic%16; zeros outside of the input. */
static float chain(const Conv *c, const float *x, const float *w, float acc, int64_t ob, int64_t n,
                   int64_t o, int64_t h, int64_t q) {
  for (int64_t block = 0; block < c->ic; block += 16)
    for (int64_t u = 0; u < c->kh; u++)
      for (int64_t v = 0; v < c->kw; v++)
        for (int64_t i = block; i < c->ic && i < block + 16; i++) {
          int64_t y = h * c->sh - c->pt + u * c->dh, z = q * c->sw - c->pl + v * c->dw;
          bool in = y >= 0 && y < c->ih && z >= 0 && z < c->iw;
          int64_t tap = ((o / ob * div_up(c->ic, 16) + i / 16) * c->kh + u) * c->kw + v;
          acc = fmaf(in ? x[at16(c->ic, c->ih, c->iw, n, i, y, z)] : 0.0f,
                     w[(tap * 16 + i % 16) * ob + o % ob], acc);
        }
  return acc;
}

static float apply(const Conv *c, float acc, float skip, float scale) {
  switch (c->epilogue) {
  case RELU:
    return acc < 0 ? 0 : acc;
  case RESIDUAL:
    acc += skip;
    return acc < 0 ? 0 : acc;
  case CHANNELS:
    return scale * acc;
  case CLIP:
    return acc < -1.5f ? -1.5f : acc > 0.75f ? 0.75f : acc;
  default:
    return acc;
  }
}

/* Mostly small numbers; sometimes what breaks shortcuts. Padding lanes stay zero. */
static void fill(float *p, size_t n, int64_t channels, int64_t plane) {
  static const float odd[] = {-0.0f, 0.0f, INFINITY, -INFINITY, NAN, 1e-42f, -1e-40f, 3e38f};
  bool with_odd = draw(3) == 0;
  for (size_t i = 0; i < n; i++) {
    int64_t c = plane ? (int64_t)i / plane % div_up(channels, 16) * 16 + (int64_t)i % 16 : 0;
    p[i] = c >= channels && plane      ? 0.0f
           : with_odd && draw(40) == 0 ? odd[draw(8)]
                                       : (float)((int)draw(2001) - 1000) / 1000.0f;
  }
}

/* Filters are zero where they are padded: [O/ob][I/16][KH][KW][16][ob]. */
static void fill_filter(const Conv *c, float *w, int64_t ob) {
  int64_t blocks = div_up(c->ic, 16), taps = c->kh * c->kw, count = div_up(c->oc, ob) * ob;
  for (int64_t o = 0; o < count; o++)
    for (int64_t i = 0; i < blocks * 16; i++)
      for (int64_t k = 0; k < taps; k++)
        w[(((o / ob * blocks + i / 16) * taps + k) * 16 + i % 16) * ob + o % ob] =
            o < c->oc && i < c->ic ? (float)((int)draw(2001) - 1000) / 1000.0f : 0.0f;
}

static void check_conv(const Conv *c, const GlowIsa *isa, unsigned number) {
  GlowContext *ctx = glow_context_create();
  GlowText text;
  glow_text_init(&text, ctx);
  write_conv(&text, c, isa);
  GlowFunction *f = parse(ctx, &text);
  GlowBindings in = {0}, out = {0};
  if (f) {
    size_t count;
    int64_t ob = (int64_t)isa->vl * isa->tile_vectors;
    float *x = bind(f, &in, "x", &count);
    fill(x, count, c->ic, c->ih * c->iw * 16);
    float *w = bind(f, &in, "w", &count);
    fill_filter(c, w, ob);
    float *b = bind(f, &in, "b", &count);
    fill(b, count, 0, 0);
    float *m = bind(f, &in, "m", &count);
    fill(m, count, 0, 0);
    float *s = bind(f, &in, "s", &count);
    fill(s, count, c->oc, c->oh * c->ow * 16);
    /* The caller's rounding mode neither matters nor changes. */
    int mode = number % 4 ? FE_TONEAREST : FE_UPWARD;
    fesetround(mode);
    GlowRunOptions options = {.tier = number % 3 ? GLOW_TIER_COMPILED : GLOW_TIER_LIBRARY};
    GlowStatus status = glow_cpu_run(f, &in, &out, &options);
    EXPECT(fegetround() == mode, "conv %u changes the rounding mode", number);
    fesetround(FE_TONEAREST);
    EXPECT(status == GLOW_OK && out.count == 1, "conv %u does not run on %s", number, isa->name);
    const float *y = out.count == 1 ? out.data[0].tensor->data : NULL;
    size_t wrong = 0;
    for (int64_t n = 0; y && n < c->n; n++)
      for (int64_t o = 0; o < div_up(c->oc, 16) * 16; o++)
        for (int64_t h = 0; h < c->oh; h++)
          for (int64_t q = 0; q < c->ow; q++) {
            size_t at = at16(c->oc, c->oh, c->ow, n, o, h, q);
            float want = 0;
            if (o < c->oc)
              want = apply(c, chain(c, x, w, c->bias ? b[o] : 0.0f, ob, n, o, h, q), s[at], m[o]);
            wrong += !same(want, y[at]);
          }
    EXPECT(!wrong, "conv %u on %s: %zu elements differ:\n%s", number, isa->name, wrong,
           glow_text_cstr(&text));
  }
  release(&in);
  release(&out);
  glow_text_release(&text);
  glow_context_destroy(ctx);
}

/* ---- Relayout, copy, stacks ------------------------------------------------------------------ */

/* Plain to blocked, element-wise in the blocked layout, a copy, and back. */
static void check_movement(const GlowIsa *isa, unsigned number) {
  int n = 1 + (int)draw(3), c = 1 + (int)draw(40), h = 1 + (int)draw(6), w = 1 + (int)draw(6);
  GlowContext *ctx = glow_context_create();
  GlowText t;
  glow_text_init(&t, ctx);
  glow_text_printf(&t, "module \"t\" {target = \"%s\"}\ndeclare {\n", isa->name);
  for (int i = 0; i < 2; i++)
    glow_text_printf(&t, "  placeholder @%c : float<%d x %d x %d x %d>\n", "xy"[i], n, c, h, w);
  glow_text_printf(&t, "  placeholder @z : float<%d x %d x %d x %d | NCHW16c>\n", n, c, h, w);
  glow_text_printf(&t, "  placeholder @r : float<%d>\n", w);
  glow_text_puts(&t, "}\nprogram @p {\n");
  for (int i = 0; i < 2; i++)
    glow_text_printf(&t, "  %%%c = alloc float<%d x %d x %d x %d%s>\n", "ab"[i], n, c, h, w,
                     i ? "" : " | NCHW16c");
  glow_text_puts(&t, "  relayout @out %a, @in @x\n"
                     "  stack @out %a, @in %a\n    ^body(%v : float<>) = { %one = Splat() {value = "
                     "1.0} : float<>  %0 = Add(%v, %one) : float<>  yield %0 }\n"
                     "  copy @out @z, @in %a\n  relayout @out %b, @in %a\n  dealloc %a\n"
                     "  mul @out @y, @in %b, @in @r\n  dealloc %b\n}\n");
  GlowFunction *f = parse(ctx, &t);
  GlowBindings in = {0}, out = {0};
  if (f) {
    size_t count, wrong = 0;
    float *x = bind(f, &in, "x", &count);
    fill(x, count, 0, 0);
    float *r = bind(f, &in, "r", &count);
    fill(r, count, 0, 0);
    GlowStatus status = glow_cpu_run(f, &in, &out, NULL);
    EXPECT(status == GLOW_OK && out.count == 2, "movement %u does not run", number);
    const float *y = out.count == 2 ? out.data[0].tensor->data : NULL;
    const float *z = out.count == 2 ? out.data[1].tensor->data : NULL;
    for (int64_t i = 0; y && i < n; i++)
      for (int64_t k = 0; k < div_up(c, 16) * 16; k++)
        for (int64_t p = 0; p < h * w; p++) {
          size_t at = (size_t)((i * c + k) * h * w + p);
          float v = k < c ? x[at] + 1.0f : 0.0f;
          wrong += !same(v, z[at16(c, h, w, i, k, p / w, p % w)]);
          wrong += k < c && !same(v * r[p % w], y[at]);
        }
    EXPECT(!wrong, "movement %u on %s: %zu elements differ:\n%s", number, isa->name, wrong,
           glow_text_cstr(&t));
  }
  release(&in);
  release(&out);
  glow_text_release(&t);
  glow_context_destroy(ctx);
}

/* ---- Machine code ---------------------------------------------------------------------------- */

/* tile: FMAs of one step of its largest tile. */
static HotLoops compile_hot_loops(const Conv *c, const GlowIsa *isa, const GlowInput *planted,
                                  unsigned *tile) {
  GlowContext *ctx = glow_context_create();
  GlowText text, assembly;
  glow_text_init(&text, ctx);
  glow_text_init(&assembly, ctx);
  write_conv(&text, c, isa);
  GlowFunction *f = parse(ctx, &text);
  GlowCpuPlan plan;
  HotLoops hot = {0};
  if (f && glow_cpu_plan(ctx->arena, f, isa, &plan)) {
    GlowCodegenOptions options = {.isa = isa};
    if (planted) {
      GlowConvParams p = *(const GlowConvParams *)plan.work[0].params;
      static const GlowTile seven = {
          "conv_tile_1x7x4", "glow_conv_tile_1x7x4", GLOW_CONV_TILE, {1, 7, 4}};
      const GlowTile *tiles[4] = {&seven};
      p.tile_rows = 1, p.tile_cols = 7, p.narrow = 0, p.ob = 4 * isa->vl;
      plan.work[0].params = glow_arena_copy(ctx->arena, &p, sizeof p);
      plan.work[0].tiles.all = glow_arena_copy(ctx->arena, tiles, sizeof tiles);
      options.kernels = planted->data;
      options.kernels_size = planted->size;
    }
    bool ok =
        glow_codegen_emit_asm(ctx, glow_cpu_program(ctx->arena, &plan, NULL), &options, &assembly);
    EXPECT(ok, "no assembly for %s", isa->name);
    *tile = tile_fmas(&plan.work[0]);
    hot = find_hot_loops(glow_text_cstr(&assembly), full_vector(isa));
  }
  glow_text_release(&text);
  glow_text_release(&assembly);
  glow_context_destroy(ctx);
  return hot;
}

static Conv square(int64_t size, int64_t ic, int64_t oc, int64_t k, int64_t stride) {
  int64_t pad = (k - 1) / 2, out = (size + 2 * pad - k) / stride + 1;
  return (Conv){.n = 1,
                .ic = ic,
                .oc = oc,
                .ih = size,
                .iw = size,
                .kh = k,
                .kw = k,
                .sh = stride,
                .sw = stride,
                .dh = 1,
                .dw = 1,
                .pt = pad,
                .pl = pad,
                .pb = pad,
                .pr = pad,
                .oh = out,
                .ow = out,
                .bias = true,
                .epilogue = RESIDUAL};
}

static void check_machine_code(void) {
  const Conv convs[] = {square(56, 64, 64, 3, 1),   square(7, 2048, 512, 1, 1),
                        square(56, 64, 64, 3, 2),   square(7, 512, 512, 3, 1),
                        square(28, 128, 128, 3, 1), square(14, 1024, 256, 1, 1)};
  for (size_t k = 0; k < GLOW_ISA_COUNT; k++) {
    for (size_t i = 0; i < sizeof convs / sizeof *convs && full_vector(&glow_isa[k]); i++) {
      unsigned tile = 0;
      HotLoops hot = compile_hot_loops(&convs[i], &glow_isa[k], NULL, &tile);
      EXPECT(tile && hot.most_fmas >= tile, "conv %zu on %s: %u FMAs in one loop, %u in a tile", i,
             glow_isa[k].name, hot.most_fmas, tile);
      EXPECT(hot.full_width == hot.fmas, "conv %zu on %s: only %u of %u FMAs are full width", i,
             glow_isa[k].name, hot.full_width, hot.fmas);
      EXPECT(!hot.stack, "conv %zu on %s: %u stack references in hot loops", i, glow_isa[k].name,
             hot.stack);
    }
  }
}

/* Every tile size, with padding on both sides. */
static void check_tile_sizes(void) {
  for (size_t k = 0; k < GLOW_ISA_COUNT; k++) {
    for (int64_t size = 1; size <= glow_isa[k].tile_pixels && full_vector(&glow_isa[k]); size++) {
      Conv c = square(size, 32, 48, 3, 1);
      unsigned tile = 0;
      HotLoops hot = compile_hot_loops(&c, &glow_isa[k], NULL, &tile);
      EXPECT(tile && hot.most_fmas >= tile && hot.full_width == hot.fmas && !hot.stack,
             "3x3 on %d pixels on %s: %u FMAs in one loop, %u in a tile, %u of %u full width, "
             "%u stack references",
             (int)size, glow_isa[k].name, hot.most_fmas, tile, hot.full_width, hot.fmas, hot.stack);
    }
  }
}

/* A tile of 7 pixels by 4 vectors with its operands needs 33 registers of 32. */
static void check_planted_spill(void) {
  GlowContext *ctx = glow_context_create();
  GlowInput planted;
  if (glow_input_open(ctx, GLOW_TEST_CONV, false, GLOW_NOWHERE, &planted)) {
    Conv c = square(56, 64, 64, 3, 1);
    unsigned tile = 0;
    HotLoops hot = compile_hot_loops(&c, &glow_isa[GLOW_ISA_X86_64_V4], &planted, &tile);
    EXPECT(hot.most_fmas >= tile && hot.most_stack, "the planted spill is not found (%u FMAs)",
           hot.most_fmas);
    glow_input_close(&planted);
  } else {
    EXPECT(false, "%s cannot be read", GLOW_TEST_CONV);
  }
  glow_context_destroy(ctx);
}

/* Equal convolutions share their code, whatever their values are called; another epilogue does not.
 */
static void check_sharing(void) {
  const GlowIsa *isa = &glow_isa[GLOW_ISA_X86_64_V3];
  GlowContext *ctx = glow_context_create();
  GlowText text, ir;
  glow_text_init(&text, ctx);
  glow_text_init(&ir, ctx);
  glow_text_puts(&text, "module \"t\" {target = \"x86-64-v3\"}\ndeclare {\n");
  for (int i = 0; i < 4; i++)
    glow_text_printf(&text, "  placeholder @%c : float<1 x 16 x 8 x 8 | NCHW16c>\n", "xabc"[i]);
  glow_text_puts(&text,
                 "  placeholder @w : float<16 x 16 x 1 x 1 | OIHW16i16o>\n}\nprogram @p {\n");
  for (int i = 0; i < 3; i++)
    glow_text_printf(&text,
                     "  convolution @out @%c, @in @x, @in @w, @in none\n    ^epilogue(%%v%d : "
                     "float<>) = { %%r%d = %s(%%v%d) : float<>  yield %%r%d }\n",
                     "abc"[i], i, i, i == 2 ? "Tanh" : "Relu", i, i);
  glow_text_puts(&text, "}\n");
  GlowFunction *f = parse(ctx, &text);
  GlowCpuPlan plan;
  GlowCodegenOptions options = {.isa = isa};
  bool ok = f && glow_cpu_plan(ctx->arena, f, isa, &plan) &&
            glow_codegen_emit_ir(ctx, glow_cpu_program(ctx->arena, &plan, NULL), &options, &ir);
  unsigned functions = 0;
  for (const char *p = ok ? glow_text_cstr(&ir) : "";
       (p = strstr(p, "define internal void @conv.")); p++)
    functions++;
  EXPECT(functions == 2, "three convolutions of two kinds have %u functions", functions);
  glow_text_release(&text);
  glow_text_release(&ir);
  glow_context_destroy(ctx);
}

int main(int argc, char **argv) {
  unsigned cases = argc > 1 ? (unsigned)atoi(argv[1]) : 40;
  check_machine_code();
  check_tile_sizes();
  check_planted_spill();
  check_sharing();
  for (size_t k = 0; k < GLOW_ISA_COUNT; k++) {
    if (!glow_isa_runs_here(&glow_isa[k]))
      continue;
    for (unsigned i = 0; i < cases; i++) {
      state = i * 7919 + 1;
      Conv c;
      if (draw_conv(&c))
        check_conv(&c, &glow_isa[k], i);
      check_movement(&glow_isa[k], i);
    }
  }
  return unit_finish();
}
