/* Winograd's convolution on the CPU backend: the interpreter's bits (which winograd_test compares
 * with the definition), whole and in parts, and the machine code of its products. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "kernels/params.h"
#include "support/text.h"
#include "test/unit/any_order.h"
#include "test/unit/hot_loops.h"
#include "test/unit/unit.h"

static uint32_t state = 1;
static uint32_t draw(uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}
static int draw_in(int low, int high) { return low + (int)draw((uint32_t)(high - low + 1)); }

typedef enum Epilogue { NONE, RESIDUAL, CHANNELS, EPILOGUES } Epilogue;

typedef struct Conv {
  int side; /* results of a tile along an axis */
  int n, ic, oc, ih, iw, pt, pl, pb, pr;
  bool bias;
  Epilogue epilogue;
  int shards; /* 1: not split */
  int block;  /* chunks of one tile in blocks of so many; 0: as the compiler chooses */
  bool pool;  /* the maxima of 2x2 results are stored */
} Conv;

static int out_h(const Conv *c) { return c->ih + c->pt + c->pb - 2; }
static int out_w(const Conv *c) { return c->iw + c->pl + c->pr - 2; }

static void write_conv(GlowText *t, const Conv *c, const GlowIsa *isa) {
  static const char *const bodies[EPILOGUES] = {
      "",
      ("    ^epilogue(%a : float<>, %s : float<>) = {\n"
       "      %0 = Add(%a, %s) : float<>  %1 = Relu(%0) : float<>  yield %1\n    }\n"),
      "    ^epilogue(%a : float<>, %m : float<>) = { %0 = Mul(%a, %m) : float<>  yield %0 }\n"};
  glow_text_printf(t, "module \"t\" {target = \"%s\"}\ndeclare {\n", isa->name);
  glow_text_printf(t, "  placeholder @x : float<%d x %d x %d x %d | NCHW16c>\n", c->n, c->ic, c->ih,
                   c->iw);
  glow_text_printf(t, "  placeholder @u : float<%d x %d x %d x %d | HWOI16i%uo>\n", c->side + 2,
                   c->side + 2, c->oc, c->ic, isa->vl * isa->tile_vectors);
  glow_text_printf(t, "  placeholder @b : float<%d>\n  placeholder @m : float<%d x 1 x 1>\n", c->oc,
                   c->oc);
  for (int i = 0; i < 2; i++) {
    int part = c->pool && !i ? 2 : 1;
    glow_text_printf(t, "  placeholder @%c : float<%d x %d x %d x %d | NCHW16c>\n", "ys"[i], c -> n,
                     c -> oc, out_h(c) / part, out_w(c) / part);
  }
  glow_text_printf(t, "}\nprogram @p {\n  convolution @out @y, @in @x, @in @u, @in %s%s",
                   c->bias ? "@b" : "none",
                   c->epilogue == RESIDUAL   ? ", @in @s"
                   : c->epilogue == CHANNELS ? ", @in @m"
                                             : "");
  glow_text_printf(t, " {pads = [%d, %d, %d, %d], strategy = winograd, shards = %d", c->pt, c->pl,
                   c->pb, c->pr, c->shards);
  if (c->block)
    glow_text_printf(t, ", tile = [1, %d]", c->block);
  if (c->pool)
    glow_text_puts(t, ", pool_kernels = [2, 2], pool_strides = [2, 2]");
  glow_text_printf(t, "}\n%s}\n", bodies[c->epilogue]);
}

/* The program of a text. NULL, and a failure counted, if there is none. */
static GlowFunction *parse(GlowContext *ctx, GlowText *text) {
  size_t size = text->size;
  GlowModule *m = glow_module_parse(ctx, "test", glow_text_cstr(text), size);
  GlowFunction *f = m && glow_module_verify(m) ? glow_module_entry(m, NULL) : NULL;
  EXPECT(f, "this does not parse or verify:\n%s", text->data);
  return f;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* Mostly small numbers, sometimes what breaks shortcuts; padding lanes are zero. */
static void bind(GlowFunction *f, GlowBindings *in, const char *name) {
  static const float odd[] = {-0.0f, 0.0f, INFINITY, NAN, 1e-42f, -1e-40f, 3e38f, -1e-30f};
  GlowContext *ctx = f->module->ctx;
  const GlowStorage *g = glow_module_storage(f->module, glow_str(ctx, name));
  GlowBinding binding = {g->value.name, glow_tensor_create(ctx, g->value.type)};
  glow_vec_push(ctx->arena, in, binding);
  float *data = binding.tensor->data;
  bool with_odd = draw(3) == 0;
  memset(data, 0, binding.tensor->bytes);
  for (int64_t i = 0, n = glow_type_elements(g->value.type); i < n; i++)
    data[glow_type_physical_index(g->value.type, i)] =
        with_odd && draw(60) == 0 ? odd[draw(8)] : (float)draw_in(-1000, 1000) / 1000.0f;
}

static size_t count_different(const GlowTensor *a, const GlowTensor *b) {
  const float *x = a->data, *y = b->data;
  size_t count = 0;
  for (size_t i = 0; i < a->bytes / sizeof(float); i++)
    count += !(isnan(x[i]) && isnan(y[i])) && memcmp(&x[i], &y[i], sizeof *x) != 0;
  return count;
}

static void release(GlowBindings *b) {
  for (uint32_t i = 0; i < b->count; i++)
    glow_tensor_free(b->data[i].tensor);
}

static void check_numbers(const Conv *c, const GlowIsa *isa) {
  GlowContext *ctx = glow_context_create();
  GlowText text;
  glow_text_init(&text, ctx);
  write_conv(&text, c, isa);
  GlowFunction *f = parse(ctx, &text);
  GlowBindings in = {0}, cpu = {0}, interp = {0};
  for (int i = 0; f && i < 5; i++)
    bind(f, &in, (const char *[]){"x", "u", "b", "m", "s"}[i]);
  uint32_t order = state;
  GlowParallel parallel = any_order(&order);
  GlowRunOptions options = {.parallel = draw(4) ? &parallel : NULL,
                            .tier = order >> 16 & 1 ? GLOW_TIER_LIBRARY : GLOW_TIER_COMPILED};
  bool ran = f && glow_cpu_run(f, &in, &cpu, &options) == GLOW_OK &&
             glow_interp_run(f, &in, &interp, NULL) == GLOW_OK;
  EXPECT(ran && cpu.count == 1 && interp.count == 1, "does not run on %s:\n%s", isa->name,
         text.data);
  if (cpu.count == 1 && interp.count == 1) {
    size_t different = count_different(cpu.data[0].tensor, interp.data[0].tensor);
    EXPECT(!different, "%zu elements differ on %s:\n%s", different, isa->name, text.data);
  }
  release(&in);
  release(&cpu);
  release(&interp);
  glow_text_release(&text);
  glow_context_destroy(ctx);
}

static void check_random(const GlowIsa *isa, unsigned cases) {
  for (unsigned i = 0; i < cases; i++) {
    state = i * 7919 + 1;
    Conv c = {.side = draw(2) ? 4 : 2,
              .n = draw_in(1, 3),
              .ic = draw(2) ? 16 * draw_in(1, 3) : draw_in(1, 40),
              .oc = draw(2) ? 16 * draw_in(1, 5) : draw_in(1, 70),
              .ih = draw_in(1, 20),
              .iw = draw_in(1, 30),
              .bias = draw(2),
              .epilogue = (Epilogue)draw(EPILOGUES),
              .shards = draw_in(1, 5),
              .block = draw(4) ? 0 : draw_in(1, 9)};
    if (draw(4))
      c.pt = draw_in(0, 3), c.pl = draw_in(0, 3), c.pb = draw_in(0, 3), c.pr = draw_in(0, 3);
    c.pool = draw(3) == 0 && out_h(&c) > 1 && out_w(&c) > 1;
    if (out_h(&c) > 0 && out_w(&c) > 0)
      check_numbers(&c, isa);
  }
}

/* ---- Plans and machine code ------------------------------------------------------------------ */

/* What a shape becomes: chunks that fill the registers, whole chunks in a block. The products' loop
 * has all FMAs of four input channels, full width, and does not touch the stack. */
static void check_code(const GlowIsa *isa, int side, int n, int channels, int size) {
  Conv c = {side, n, channels, channels, size, size, 1, 1, 1, 1, true, RESIDUAL, 1, 0, false};
  GlowContext *ctx = glow_context_create();
  GlowText text, assembly;
  glow_text_init(&text, ctx);
  glow_text_init(&assembly, ctx);
  write_conv(&text, &c, isa);
  GlowFunction *f = parse(ctx, &text);
  GlowCpuPlan plan;
  if (f && glow_cpu_plan(ctx->arena, f, isa, &plan) && plan.count > 0) {
    const GlowWinogradParams *p = (const GlowWinogradParams *)plan.work[0].params;
    int64_t few = p->tiles < isa->tile_pixels ? p->tiles : isa->tile_pixels / 2 + 1;
    EXPECT(p->chunk >= few && p->chunk <= isa->tile_pixels && p->full > 0 &&
               p->full * p->chunk + (p->chunks - p->full) * (p->chunk - 1) == p->tiles,
           "%d channels at %d, side %d: %d chunks of %d tiles, %d of them full", channels, size,
           side, (int)p->chunks, (int)p->chunk, (int)p->full);
    long long scratch = plan.arena - plan.scratch_at + plan.scratch;
    EXPECT(scratch >= (p->m_at + (side + 2) * (side + 2) * p->m_place) * 4 &&
               scratch <= 21 * isa->l2,
           "%d channels at %d, side %d: %lld bytes of scratch", channels, size, side, scratch);
    GlowCodegenOptions options = {.isa = isa};
    CHECK(
        glow_codegen_emit_asm(ctx, glow_cpu_program(ctx->arena, &plan, NULL), &options, &assembly));
    HotLoops hot = find_hot_loops(glow_text_cstr(&assembly), isa->vl == 16 ? "%zmm" : "%ymm");
    EXPECT(hot.most_fmas == 4 * isa->tile_vectors * p->chunk &&
               hot.most_full_width == hot.most_fmas && !hot.most_stack,
           "%d channels at %d, side %d, on %s: %u FMAs, %u full width, %u stack references",
           channels, size, side, isa->name, hot.most_fmas, hot.most_full_width, hot.most_stack);
  } else {
    EXPECT(false, "no plan for %s", isa->name);
  }
  glow_text_release(&text);
  glow_text_release(&assembly);
  glow_context_destroy(ctx);
}

int main(int argc, char **argv) {
  unsigned cases = argc > 1 ? (unsigned)atoi(argv[1]) : 40;
  for (size_t k = 0; k < GLOW_ISA_COUNT; k++) {
    const GlowIsa *isa = &glow_isa[k];
    if (glow_isa_runs_here(isa))
      check_random(isa, cases);
    if (strcmp(isa->arch, "x86_64") || isa->vl < 8)
      continue;
    for (int side = 2; side <= 4; side += 2) {
      check_code(isa, side, 8, 64, 56);
      check_code(isa, side, 1, 256, 14);
      check_code(isa, side, 8, 512, 7);
      check_code(isa, side, 1, 512, 7);
    }
  }
  return unit_finish();
}
