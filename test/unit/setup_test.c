/* Setups: what they fill in follows from the other fields and the machine alone. Instructions are
 * selected for every row of isa.def; then each derived field is overwritten, and the setup must
 * bring back all of them, the units, the scratch memory and the tiles. Half of a machine's first
 * level of cache changes bands and chunks. */
#include <string.h>

#include "backend/cpu/cpu.h"
#include "target/cpu/rows.h"
#include "test/unit/unit.h"

/* An instruction, its operands' types and the result's. `%d` is the width of a tile: output
 * channels of a filter, columns of a panel. */
typedef struct Case {
  const char *instr, *members, *x, *w, *y;
} Case;

static const Case cases[] = {
    {"convolution", " {pads = [1, 1, 1, 1]}", "2 x 32 x 14 x 14 | NCHW16c",
     "80 x 32 x 3 x 3 | OIHW16i%do", "2 x 80 x 14 x 14 | NCHW16c"},
    {"convolution", "", "1 x 512 x 28 x 28 | NCHW16c", "64 x 512 x 1 x 1 | OIHW16i%do",
     "1 x 64 x 28 x 28 | NCHW16c"},
    {"convolution", " {strides = [2, 2]}", "1 x 64 x 15 x 15 | NCHW16c",
     "128 x 64 x 1 x 1 | OIHW16i%do", "1 x 128 x 8 x 8 | NCHW16c"},
    {"convolution", " {pads = [1, 1, 1, 1]}", "3 x 512 x 5 x 5 | NCHW16c",
     "512 x 512 x 3 x 3 | OIHW16i%do", "3 x 512 x 5 x 5 | NCHW16c"},
    {"convolution", " {pads = [3, 3, 3, 3], strides = [2, 2]}", "1 x 3 x 64 x 64",
     "64 x 3 x 7 x 7 | OIHW3i%do", "1 x 64 x 32 x 32 | NCHW16c"},
    {"convolution", " {pads = [2, 2, 2, 2], dilations = [2, 2]}", "2 x 3 x 23 x 23",
     "48 x 3 x 3 x 3 | OIHW3i%do", "2 x 48 x 23 x 23 | NCHW16c"},
    {"convolution", " {pads = [1, 1, 1, 1], group = 32}", "2 x 32 x 29 x 29 | NCHW16c",
     "32 x 1 x 3 x 3 | OIHW16o", "2 x 32 x 29 x 29 | NCHW16c"},
    {"convolution", " {pads = [1, 1]}", "1 x 5 x 40", "7 x 5 x 3", "1 x 7 x 40"},
    {"conv_transpose", " {strides = [2, 2]}", "2 x 5 x 9 x 9", "5 x 20 x 3 x 3",
     "2 x 20 x 19 x 19"},
    {"convolution", " {pads = [1, 1, 1, 1], strategy = winograd}", "2 x 64 x 28 x 28 | NCHW16c",
     "6 x 6 x 64 x 64 | HWOI16i%do", "2 x 64 x 28 x 28 | NCHW16c"},
    {"convolution", " {pads = [1, 1, 1, 1], strategy = winograd, tile = [1, 5]}",
     "1 x 32 x 9 x 9 | NCHW16c", "4 x 4 x 48 x 32 | HWOI16i%do", "1 x 48 x 9 x 9 | NCHW16c"},
    {"filter_gradient", " {kernels = [3, 3], pads = [1, 1, 1, 1]}", "3 x 40 x 20 x 22 | NCHW16c",
     "3 x 70 x 20 x 22 | NCHW16c", "70 x 40 x 3 x 3"},
    {"filter_gradient", " {kernels = [7, 7], strides = [2, 2]}", "2 x 3 x 65 x 65",
     "2 x 24 x 30 x 30", "24 x 3 x 7 x 7"},
    {"mat_mul", "", "300 x 700", "700 x 150", "300 x 150"},
    {"mat_mul", "", "3 x 5 x 2000", "2000 x 65", "3 x 5 x 65"},
    {"mat_mul", "", "200 x 64", "64 x 200 | KN64k%dn", "200 x 200"},
    {"mat_mul", "", "4 x 3000 x 512", "4 x 512 x 600", "4 x 3000 x 600"},
};

static const char attention[] = "module \"t\" {target = \"%s\"}\n"
                                "declare {\n"
                                "  placeholder @q : float<2 x 3 x 50 x 24>\n"
                                "  placeholder @k : float<2 x 3 x 70 x 24>\n"
                                "  placeholder @y : float<2 x 3 x 50 x 24>\n"
                                "}\n"
                                "program @p {\n"
                                "  tiled_attention @out @y, @in @q, @in @k, @in @k "
                                "{kv_tile = 32, scale = 0.25}\n"
                                "}\n";

static const char top_k[] = "module \"t\" {target = \"%s\"}\n"
                            "declare {\n"
                            "  placeholder @x : %s<2 x 5000 x 3>\n"
                            "  placeholder @y : %s<2 x 30 x 3>\n"
                            "  placeholder @i : i64<2 x 30 x 3>\n"
                            "}\n"
                            "program @p {\n"
                            "  top_k @out @y, @out @i, @in @x, @in none {k = 30, axis = 1}\n"
                            "}\n";

static const char pools[] =
    "module \"t\" {target = \"%s\"}\n"
    "declare {\n"
    "  placeholder @x : float<2 x 9 x 200 x 31>\n"
    "  placeholder @a : float<2 x 9 x 200 x 31>\n"
    "  placeholder @b : float<2 x 9 x 100 x 15>\n"
    "  placeholder @c : float<2 x 9 x 100 x 15>\n"
    "  placeholder @d : float<2 x 9 x 100 x 15>\n"
    "  placeholder @e : float<2 x 9 x 100 x 15>\n"
    "  placeholder @i : i64<2 x 9 x 100 x 15>\n"
    "}\n"
    "program @p {\n"
    "  max_pool @out @a, @out none, @in @x {kernels = [5, 5], pads = [2, 2, 2, 2]}\n"
    "  average_pool @out @b, @in @x {kernels = [2, 2], strides = [2, 2]}\n"
    "  lp_pool @out @c, @in @x {kernels = [2, 2], strides = [2, 2], p = 1.0}\n"
    "  lp_pool @out @d, @in @x {kernels = [2, 2], strides = [2, 2]}\n"
    "  max_pool @out @e, @out @i, @in @x {kernels = [2, 2], strides = [2, 2]}\n"
    "}\n";

static const char windows[] = "module \"t\" {target = \"%s\"}\n"
                              "declare {\n"
                              "  placeholder @x : float<1 x 40 x 30 x 31>\n"
                              "  placeholder @w : float<24 x 20 x 3 x 3>\n"
                              "  placeholder @o : float<1 x 36 x 28 x 29>\n"
                              "  placeholder @y : float<1 x 24 x 28 x 29>\n"
                              "}\n"
                              "program @p {\n"
                              "  deform_conv @out @y, @in @x, @in @w, @in @o, @in none, @in none "
                              "{group = 2, offset_group = 2}\n"
                              "}\n";

/* Of a kind. */
static const char regions[] = "module \"t\" {target = \"%s\"}\n"
                              "declare {\n"
                              "  placeholder @x : %s<2 x 9 x 20 x 30>\n"
                              "  placeholder @r : %s<5 x 4>\n"
                              "  placeholder @b : i64<5>\n"
                              "  placeholder @s : %s<5 x 5>\n"
                              "  placeholder @c : %s<2 x 54 x 99>\n"
                              "  placeholder @y : %s<5 x 9 x 7 x 7>\n"
                              "  placeholder @z : %s<5 x 9 x 7 x 7>\n"
                              "  placeholder @i : %s<2 x 9 x 12 x 10>\n"
                              "  constant @extents : i64<2> = [12, 10]\n"
                              "  constant @block : i64<2> = [2, 3]\n"
                              "}\n"
                              "program @p {\n"
                              "  roi_align @out @y, @in @x, @in @r, @in @b {output_height = 7, "
                              "output_width = 7}\n"
                              "  max_roi_pool @out @z, @in @x, @in @s {pooled_shape = [7, 7]}\n"
                              "  col2_im @out @i, @in @c, @in @extents, @in @block "
                              "{pads = [0, 1, 0, 0]}\n"
                              "}\n";

/* Also of a mode. */
static const char grid_sample[] = "module \"t\" {target = \"%s\"}\n"
                                  "declare {\n"
                                  "  placeholder @x : %s<2 x 9 x 20 x 30>\n"
                                  "  placeholder @g : float<2 x 300 x 200 x 2>\n"
                                  "  placeholder @y : %s<2 x 9 x 300 x 200>\n"
                                  "}\n"
                                  "program @p {\n"
                                  "  grid_sample @out @y, @in @x, @in @g {mode = %s}\n"
                                  "}\n";

/* Of bytes: a product, and convolutions of groups and of channels; and of bfloat16. */
static const char of_bytes[] =
    "module \"t\" {target = \"%s\"}\n"
    "declare {\n"
    "  placeholder @a : u8<3000 x 200>\n"
    "  placeholder @b : i8<200 x 300>\n"
    "  placeholder @c : i32<3000 x 300>\n"
    "  placeholder @x : u8<2 x 30 x 30 x 36>\n"
    "  placeholder @w : i8<60 x 3 x 3 x 36>\n"
    "  placeholder @v : i8<36 x 3 x 3 x 1>\n"
    "  placeholder @y : i32<2 x 30 x 30 x 60>\n"
    "  placeholder @l : i32<2 x 30 x 30 x 36>\n"
    "  placeholder @f : i8<40 x 36 x 3 x 3 | OIHW9i16o4i>\n"
    "  placeholder @g : i8<200 x 300 | KN50k16n4k>\n"
    "  placeholder @n : u8<2 x 36 x 30 x 30 | NCHW36c>\n"
    "  placeholder @m : i32<2 x 40 x 15 x 15 | NCHW40c>\n"
    "  placeholder @p : float<2 x 36 x 30 x 30 | NCHW16c>\n"
    "  placeholder @q : bfloat16<48 x 36 x 3 x 3 | OIHW18i16o2i>\n"
    "  placeholder @r : float<2 x 48 x 15 x 15 | NCHW16c>\n"
    "  placeholder @s : float<3000 x 200>\n"
    "  placeholder @t : bfloat16<200 x 300 | KN100k16n2k>\n"
    "  placeholder @u : float<3000 x 300>\n"
    "}\n"
    "program @p {\n"
    "  mat_mul_integer @out @c, @in @a, @in @b, @in none, @in none\n"
    "  conv_integer @out @y, @in @x, @in @w, @in none, @in none {layout = NHWC, pads = [1, 1, 1, "
    "1]}\n"
    "  conv_integer @out @l, @in @x, @in @v, @in none, @in none {layout = NHWC, group = 36, pads = "
    "[1, 1, 1, 1]}\n"
    "  convolution @out @m, @in @n, @in @f {strides = [2, 2], pads = [1, 1, 1, 1]}\n"
    "  mat_mul @out @c, @in @a, @in @g\n"
    "  convolution @out @r, @in @p, @in @q {strides = [2, 2], pads = [1, 1, 1, 1], strategy = "
    "bf16}\n"
    "  mat_mul @out @u, @in @s, @in @t {strategy = bf16}\n"
    "  convolution @out @r, @in @p, @in @q {strides = [2, 2], pads = [1, 1, 1, 1], strategy = "
    "bf16, order = pair}\n"
    "  mat_mul @out @u, @in @s, @in @t {strategy = bf16, order = pair}\n"
    "}\n";

/* Of X or Y, or both, in 16 bits: rows, merged rows and several images. */
static const char stored[] =
    "module \"t\" {target = \"%s\"}\n"
    "declare {\n"
    "  placeholder @a : float16<2 x 32 x 40 x 41 | NCHW16c>\n"
    "  placeholder @v : float<64 x 32 x 3 x 3 | OIHW16i16o>\n"
    "  placeholder @b : float<2 x 64 x 20 x 21 | NCHW16c>\n"
    "  placeholder @w : float<512 x 64 x 1 x 1 | OIHW16i16o>\n"
    "  placeholder @c : float16<2 x 512 x 20 x 21 | NCHW16c>\n"
    "  placeholder @d : bfloat16<3 x 512 x 7 x 7 | NCHW16c>\n"
    "  placeholder @f : float<512 x 512 x 1 x 1 | OIHW16i16o>\n"
    "  placeholder @e : bfloat16<3 x 512 x 7 x 7 | NCHW16c>\n"
    "  placeholder @g : float<512 x 1 x 3 x 3 | OIHW16o>\n"
    "  placeholder @h : float16<2 x 512 x 10 x 11 | NCHW16c>\n"
    "}\n"
    "program @p {\n"
    "  convolution @out @b, @in @a, @in @v {strides = [2, 2], pads = [1, 1, 1, 1]}\n"
    "  convolution @out @c, @in @b, @in @w\n"
    "    ^epilogue(%%a : float<>) = { %%0 = Cast(%%a) {to = float16} : float16<> yield %%0 }\n"
    "  convolution @out @e, @in @d, @in @f\n"
    "    ^epilogue(%%a : float<>) = { %%0 = Cast(%%a) {to = bfloat16} : bfloat16<> yield %%0 }\n"
    "  convolution @out @h, @in @c, @in @g {group = 512, strides = [2, 2], pads = [1, 1, 1, 1]}\n"
    "    ^epilogue(%%a : float<>) = { %%0 = Cast(%%a) {to = float16} : float16<> yield %%0 }\n"
    "}\n";

static void declare(GlowText *t, const char *name, const char *type, int width) {
  glow_text_printf(t, "  placeholder @%s : float<", name);
  glow_text_printf(t, type, width);
  glow_text_puts(t, ">\n");
}

static void write_case(GlowText *t, const Case *c, const GlowIsa *isa) {
  int width = (int)(isa->vl * isa->tile_vectors);
  glow_text_printf(t, "module \"t\" {target = \"%s\"}\ndeclare {\n", isa->name);
  declare(t, "x", c->x, width);
  declare(t, "w", c->w, width);
  declare(t, "y", c->y, width);
  glow_text_printf(t, "}\nprogram @p {\n  %s @out @y, @in @x, @in @w%s\n}\n", c->instr, c->members);
}

/* ---- Again ----------------------------------------------------------------------------------- */

/* How often each kernel was met, by number. */
static uint32_t met[1024];

static void check_tiles(const GlowWork *w, const GlowSetup *setup, const GlowIsa *isa,
                        const char *text) {
  for (uint32_t i = 0; i < GLOW_SETUP_TILES; i++) {
    const GlowTileSize *size = &setup->tiles[i];
    const GlowTile *want = i < w->tiles.count ? w->tiles.all[i] : NULL;
    const GlowTile *got = size->kind == GLOW_TILE_NONE
                              ? NULL
                              : glow_tile_find(isa, (unsigned)size->kind, size->sizes);
    EXPECT(want == got, "tile %u is %s, then %s:\n%s", i, want ? want->name : "none",
           got ? got->name : "none", text);
  }
}

static void set_up_again(GlowContext *ctx, const GlowWork *w, const GlowIsa *isa,
                         const char *text) {
  const GlowKernel *k = w->kernel;
  size_t bytes = k->words * sizeof(int64_t);
  int64_t *params = glow_arena_copy(ctx->arena, w->params, bytes);
  GlowCpuNumbers cpu = glow_isa_numbers(isa);
  for (uint32_t fill = 0; fill < 2; fill++) {
    for (uint32_t i = 0; i < k->nderived; i++)
      params[k->derived[i]] = fill ? -77 : INT64_C(1) << 40;
    GlowSetup setup = {0};
    k->setup(&cpu, params, &setup);
    EXPECT(!memcmp(params, w->params, bytes), "%s: other params:\n%s", k->name, text);
    EXPECT(setup.units == w->units && setup.scratch == w->scratch, "%s: other units:\n%s", k->name,
           text);
    check_tiles(w, &setup, isa, text);
  }
}

static void check_program(const char *text, size_t size, const GlowIsa *isa) {
  GlowContext *ctx = glow_context_create();
  GlowModule *m = glow_module_parse(ctx, "test", text, size);
  GlowCpuPlan plan;
  bool planned = m && glow_module_verify(m) &&
                 glow_cpu_plan(ctx->arena, m->first_function, isa, &plan) && plan.count > 0;
  EXPECT(planned, "this is not selected for %s:\n%s", isa->name, text);
  for (uint32_t i = 0; planned && i < plan.count; i++) {
    const GlowWork *w = &plan.work[i];
    EXPECT(w->kind == GLOW_WORK_KERNEL, "no kernel on %s for\n%s", isa->name, text);
    if (w->kind != GLOW_WORK_KERNEL || !w->kernel->setup)
      continue;
    met[w->kernel - glow_kernels]++;
    set_up_again(ctx, w, isa, text);
  }
  glow_context_destroy(ctx);
}

/* The programs of one kind. */
static void write_kind(GlowText *t, uint32_t program, const char *kind, const GlowIsa *isa) {
  if (program == 0)
    glow_text_printf(t, top_k, isa->name, kind, kind);
  else if (program == 3)
    glow_text_printf(t, regions, isa->name, kind, kind, kind, kind, kind, kind, kind);
  else
    glow_text_printf(t, grid_sample, isa->name, kind, kind, program == 1 ? "nearest" : "linear");
}

static const char *const others[] = {attention, pools, windows, of_bytes, stored};

static bool has_kind(uint32_t program, GlowKind kind) {
  return program < 2 ||
         (program == 2 ? glow_find_grid_sample(kind) != NULL : glow_find_roi_align(kind) != NULL);
}

static void check_machine(const GlowIsa *isa) {
  GlowContext *ctx = glow_context_create();
  const uint32_t count = sizeof cases / sizeof *cases, kinds = GLOW_KIND_U64 + 1;
  for (uint32_t i = 0; i < count + 4 * kinds + sizeof others / sizeof *others; i++) {
    GlowText text;
    glow_text_init(&text, ctx);
    const uint32_t rest = i < count ? 0 : i - count;
    if (i < count)
      write_case(&text, &cases[i], isa);
    else if (i >= count + 4 * kinds)
      glow_text_printf(&text, others[i - count - 4 * kinds], isa->name);
    else if (has_kind(rest / kinds, rest % kinds))
      write_kind(&text, rest / kinds, glow_kind_info[rest % kinds].name, isa);
    size_t size = text.size;
    if (size)
      check_program(glow_text_cstr(&text), size, isa);
    glow_text_release(&text);
  }
  glow_context_destroy(ctx);
}

/* ---- Caches ---------------------------------------------------------------------------------- */

/* Rows of the band of a 3x3 convolution of 64 columns and many rows, whose block of the filter has
 * between half and all of the first level's bytes; *strip: these. */
static int64_t band_of(const GlowCpuNumbers *cpu, int64_t *strip) {
  int64_t width = cpu->vl * cpu->tile_vectors, channels = width > 16 ? 16 : 48;
  GlowConvParams p = {
      .rows = 100000, .ob = width, .block = 16, .wi = 16, .gb = 4, .tile_rows = 1, .tile_cols = 1};
  p.g = (GlowConvGeometry){.oh = 100000,
                           .ow = 64,
                           .oc = 4 * width,
                           .ih = 100000,
                           .iw = 64,
                           .ic = channels,
                           .kh = 3,
                           .kw = 3,
                           .sh = 1,
                           .sw = 1,
                           .dh = 1,
                           .dw = 1,
                           .pt = 1,
                           .pl = 1};
  *strip = 9 * channels * width * 4;
  GlowSetup setup = {0};
  glow_setup_conv(cpu, &p, &setup);
  return p.band;
}

/* With half the first level, the block of the filter lies in the second, and the band has half of
 * what is left. Chunks of products are half as long where the first level decides them. */
static bool check_half(const GlowIsa *isa) {
  GlowCpuNumbers whole = glow_isa_numbers(isa), half = whole;
  half.l1 /= 2;
  int64_t strip, row = 64 * (isa->vl * isa->tile_vectors > 16 ? 16 : 48) * 4;
  int64_t before = band_of(&whole, &strip), after = band_of(&half, &strip);
  CHECK(half.l1 < strip && strip <= whole.l1);
  EXPECT(before == isa->l2 / 2 / row && after == (isa->l2 - strip) / 2 / row && after < before,
         "%s: bands of %lld and %lld rows", isa->name, (long long)before, (long long)after);
  bool first = isa->l1 / 4 >= isa->l2 / 16;
  int64_t chunk = glow_product_chunk(&whole, 1 << 20), less = glow_product_chunk(&half, 1 << 20);
  EXPECT(less == (first ? chunk / 2 : chunk), "%s: chunks of %lld and %lld steps", isa->name,
         (long long)chunk, (long long)less);
  return first;
}

int main(void) {
  bool first = false;
  for (size_t k = 0; k < GLOW_ISA_COUNT; k++) {
    check_machine(&glow_isa[k]);
    first |= check_half(&glow_isa[k]);
  }
  CHECK(first); /* the first level decides the chunks of some machine */
  for (const GlowKernel *k = glow_kernels; k->name; k++)
    EXPECT(!k->setup || met[k - glow_kernels], "no instruction here has the kernel %s", k->name);
  return unit_finish();
}
