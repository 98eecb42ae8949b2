/* Convolutions of every kind on the CPU backend: the bits that they compute, against plain loops
 * written here and against the interpreter, and their machine code in hot loops. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "support/text.h"
#include "target/cpu/rules.h"
#include "test/unit/any_order.h"
#include "test/unit/hot_loops.h"
#include "test/unit/unit.h"

static uint32_t state = 1;
static uint32_t draw(uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}
static int draw_in(int low, int high) { return low + (int)draw((uint32_t)(high - low + 1)); }
static bool same(float a, float b) { return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0; }

/* SHARED: groups of 8, of which two share a block. */
typedef enum Kind { DIRECT, FEW, GROUPED, SHARED, DEPTHWISE, KINDS } Kind;
static const char *const kind_names[KINDS] = {"direct", "few", "grouped", "shared", "depthwise"};
enum { NO_EPILOGUE, RESIDUAL, CLIP, EPILOGUES };

typedef struct Conv {
  Kind kind;
  int n, groups, ic, oc, ih, iw, kh, kw, sh, sw, dh, dw, pt, pl, pb, pr; /* ic, oc: of a group */
  bool bias;
  int epilogue, scattered; /* pixels of a tile of consecutive ones, 0: whatever the rules say */
  char filter[24];         /* layout of W */
  const char *xl;          /* layout of X, "" if plain */
} Conv;

static int extent(int in, int before, int after, int k, int stride, int dilation) {
  int room = in + before + after - (k - 1) * dilation - 1;
  return room < 0 ? 0 : room / stride + 1;
}
static int out_h(const Conv *c) { return extent(c->ih, c->pt, c->pb, c->kh, c->sh, c->dh); }
static int out_w(const Conv *c) { return extent(c->iw, c->pl, c->pr, c->kw, c->sw, c->dw); }

static int packed_lanes(const GlowIsa *isa) { return (int)(isa->vl * isa->tile_vectors); }

/* A filter without padding rows. */
static void set_compact_filter(Conv *c, int ob) {
  if (c->ic == 1)
    snprintf(c->filter, sizeof c->filter, "OIHW%do", ob);
  else
    snprintf(c->filter, sizeof c->filter, "OIHW%di%do", c->ic, ob);
}

/* Channels and layouts that the kernel of a kind takes. */
static void set_channels(Conv *c, const GlowIsa *isa) {
  int ob = packed_lanes(isa);
  c->groups = 1;
  c->xl = " | NCHW16c";
  snprintf(c->filter, sizeof c->filter, "OIHW16i%do", ob);
  switch (c->kind) {
  case DIRECT:
    c->ic = draw_in(1, 40), c->oc = draw_in(1, 70);
    if (c->ic < 16 && draw(2))
      set_compact_filter(c, ob);
    break;
  case FEW:
    c->ic = draw(3) ? 3 : draw_in(1, 15), c->oc = draw_in(1, 70);
    c->xl = "";
    if (draw(3))
      set_compact_filter(c, ob);
    break;
  case GROUPED:
    c->groups = draw_in(2, 4), c->ic = 16 * draw_in(1, 3), c->oc = 16 * draw_in(1, 4);
    if (c->oc % ob)
      snprintf(c->filter, sizeof c->filter, "OIHW16i16o");
    break;
  case SHARED:
    c->groups = 2 * draw_in(1, 4), c->ic = c->oc = 8;
    snprintf(c->filter, sizeof c->filter, "OIHW8i16o");
    break;
  default:
    c->groups = draw_in(1, 70), c->ic = c->oc = 1;
    snprintf(c->filter, sizeof c->filter, "OIHW16o");
  }
}

static bool draw_conv(Conv *c, Kind kind, const GlowIsa *isa) {
  *c = (Conv){.kind = kind,
              .n = draw_in(1, 3),
              .ih = draw_in(1, 20),
              .iw = draw_in(1, 34),
              .kh = draw_in(1, 5),
              .kw = draw_in(1, 5),
              .sh = 1,
              .sw = 1,
              .dh = 1,
              .dw = 1,
              .bias = draw(2),
              .epilogue = (int)draw(EPILOGUES)};
  if (draw(2))
    c->sh = draw_in(1, 3), c->sw = draw_in(1, 3);
  if (draw(4) == 0)
    c->dh = draw_in(1, 2), c->dw = draw_in(1, 3);
  if (draw(4))
    c->pt = (int)draw(4), c->pl = (int)draw(4), c->pb = (int)draw(4), c->pr = (int)draw(4);
  if (draw(4) == 0) { /* rows may be merged */
    c->kh = c->kw = c->sh = c->sw = 1;
    c->pt = c->pl = c->pb = c->pr = 0;
  }
  set_channels(c, isa);
  if ((kind == DIRECT || kind == SHARED) && draw(3) == 0 &&
      glow_conv_can_scatter(isa, c->kh * c->kw))
    c->scattered = draw_in(1, (int)isa->tile_pixels);
  return out_h(c) > 0 && out_w(c) > 0;
}

static void write_conv(GlowText *t, const Conv *c, const char *target) {
  static const char *const bodies[EPILOGUES] = {
      "",
      "    ^epilogue(%a : float<>, %s : float<>) = { %0 = Add(%a, %s) : float<>  %1 = Relu(%0) : "
      "float<>  yield %1 }\n",
      "    ^epilogue(%a : float<>) = { %lo = Splat() {value = 0.25} : float<>  %hi = Splat() "
      "{value = 6.0} : float<>  %0 = Clip(%a, %lo, %hi) : float<>  yield %0 }\n"};
  int oc = c->groups * c->oc;
  glow_text_printf(t, "module \"t\" {target = \"%s\"}\ndeclare {\n", target);
  glow_text_printf(t, "  placeholder @x : float<%d x %d x %d x %d%s>\n", c->n, c->groups * c->ic,
                   c->ih, c->iw, c->xl);
  glow_text_printf(t, "  placeholder @w : float<%d x %d x %d x %d | %s>\n", oc, c->ic, c->kh, c->kw,
                   c->filter);
  glow_text_printf(t, "  placeholder @b : float<%d>\n", oc);
  for (int i = 0; i < 2; i++)
    glow_text_printf(t, "  placeholder @%c : float<%d x %d x %d x %d | NCHW16c>\n", "ys"[i], c -> n,
                     oc, out_h(c), out_w(c));
  glow_text_printf(t, "}\nprogram @p {\n  convolution @out @y, @in @x, @in @w, @in %s%s",
                   c->bias ? "@b" : "none", c->epilogue == RESIDUAL ? ", @in @s" : "");
  glow_text_printf(
      t,
      " {shards = %d, group = %d, strides = [%d, %d], pads = [%d, %d, %d, %d], dilations = [%d, "
      "%d]",
      1 + (c->ih + c->iw) % 6, c->groups, c->sh, c->sw, c->pt, c->pl, c->pb, c->pr, c->dh, c->dw);
  if (c->scattered)
    glow_text_printf(t, ", tile = [%d]", c->scattered);
  glow_text_printf(t, "}\n%s}\n", bodies[c->epilogue]);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* Mostly small numbers; sometimes what breaks shortcuts. */
static float number(bool odd) {
  static const float numbers[] = {-0.0f, 0.0f, INFINITY, -INFINITY, NAN, 1e-42f, -1e-40f, 3e38f};
  return odd && draw(40) == 0 ? numbers[draw(8)] : (float)draw_in(-1000, 1000) / 1000.0f;
}

/* A tensor, and its elements in logical order. */
typedef struct Data {
  GlowTensor *tensor;
  float *logical;
} Data;
enum { X, W, B, S, OPERANDS };

/* Binds the placeholder `name` to a tensor whose elements are drawn; padding lanes are zero. */
static Data bind(GlowFunction *f, GlowBindings *in, const char *name) {
  GlowContext *ctx = f->module->ctx;
  const GlowStorage *g = glow_module_storage(f->module, glow_str(ctx, name));
  GlowBinding binding = {g->value.name, glow_tensor_create(ctx, g->value.type)};
  glow_vec_push(ctx->arena, in, binding);
  int64_t count = glow_type_elements(g->value.type);
  Data d = {binding.tensor, GLOW_NEW_ARRAY(ctx->arena, float, (uint32_t)count)};
  bool odd = draw(3) == 0;
  float *data = d.tensor->data;
  memset(data, 0, d.tensor->bytes);
  for (int64_t i = 0; i < count; i++)
    data[glow_type_physical_index(g->value.type, i)] = d.logical[i] = number(odd);
  return d;
}

/* The chain of docs/Numerics for output channel o at (h, q). */
static float chain(const Conv *c, const float *x, const float *w, float acc, int n, int o, int h,
                   int q) {
  int first = o / c->oc * c->ic, channels = c->groups * c->ic;
  for (int block = 0; block < c->ic; block += 16)
    for (int u = 0; u < c->kh; u++)
      for (int v = 0; v < c->kw; v++)
        for (int i = block; i < c->ic && i < block + 16; i++) {
          int y = h * c->sh - c->pt + u * c->dh, z = q * c->sw - c->pl + v * c->dw;
          bool in = y >= 0 && y < c->ih && z >= 0 && z < c->iw;
          int place = ((n * channels + first + i) * c->ih + y) * c->iw + z;
          int tap = ((o * c->ic + i) * c->kh + u) * c->kw + v;
          acc = fmaf(in ? x[place] : 0.0f, w[tap], acc);
        }
  return acc;
}

static float finish(const Conv *c, float acc, float skip) {
  if (c->epilogue == RESIDUAL) {
    acc += skip;
    return acc < 0 ? 0 : acc;
  }
  if (c->epilogue == CLIP)
    return acc < 0.25f ? 0.25f : acc > 6.0f ? 6.0f : acc;
  return acc;
}

/* The result as y's bytes should be: padding lanes zero. */
static void expected(const Conv *c, const Data *in, const GlowType *type, float *y) {
  memset(y, 0, (size_t)glow_type_bytes(type));
  int64_t i = 0;
  for (int n = 0; n < c->n; n++)
    for (int o = 0; o < c->groups * c->oc; o++)
      for (int h = 0; h < out_h(c); h++)
        for (int q = 0; q < out_w(c); q++, i++) {
          float bias = c->bias ? in[B].logical[o] : 0.0f;
          float acc = chain(c, in[X].logical, in[W].logical, bias, n, o, h, q);
          y[glow_type_physical_index(type, i)] = finish(c, acc, in[S].logical[i]);
        }
}

static size_t count_wrong(const GlowBindings *out, const float *want) {
  const GlowTensor *y = out->data[0].tensor;
  size_t wrong = 0;
  for (size_t i = 0; i < y->bytes / sizeof(float); i++)
    wrong += !same(((const float *)y->data)[i], want[i]);
  return wrong;
}

static void release(GlowBindings *b) {
  for (uint32_t i = 0; i < b->count; i++)
    glow_tensor_free(b->data[i].tensor);
}

/* Both kinds of machine code, in turns. */
static GlowTier tier_of(unsigned number) {
  return number % 2 ? GLOW_TIER_LIBRARY : GLOW_TIER_COMPILED;
}

static void check_numbers(const Conv *c, const GlowIsa *isa, unsigned number_of) {
  GlowContext *ctx = glow_context_create();
  GlowText text;
  glow_text_init(&text, ctx);
  write_conv(&text, c, isa->name);
  size_t size = text.size;
  GlowModule *m = glow_module_parse(ctx, "test", glow_text_cstr(&text), size);
  GlowFunction *f = m && glow_module_verify(m) ? glow_module_entry(m, NULL) : NULL;
  EXPECT(f, "this does not parse or verify:\n%s", glow_text_cstr(&text));
  GlowBindings in = {0}, cpu = {0}, interp = {0};
  if (f) {
    Data data[OPERANDS];
    for (int i = 0; i < OPERANDS; i++)
      data[i] = bind(f, &in, (const char *[]){"x", "w", "b", "s"}[i]);
    uint32_t order = number_of;
    GlowParallel parallel = any_order(&order);
    const GlowRunOptions options = {.parallel = &parallel, .tier = tier_of(number_of)};
    GlowStatus status = glow_cpu_run(f, &in, &cpu, &options);
    status = status == GLOW_OK ? glow_interp_run(f, &in, &interp, NULL) : status;
    EXPECT(status == GLOW_OK && cpu.count == 1 && interp.count == 1,
           "%s %u does not run on %s:\n%s", kind_names[c->kind], number_of, isa->name,
           glow_text_cstr(&text));
    if (cpu.count == 1 && interp.count == 1) {
      const GlowTensor *y = cpu.data[0].tensor;
      float *want = malloc(y->bytes);
      expected(c, data, y->type, want);
      size_t wrong = count_wrong(&cpu, want);
      EXPECT(!wrong, "%s %u on %s: %zu elements are wrong:\n%s", kind_names[c->kind], number_of,
             isa->name, wrong, glow_text_cstr(&text));
      wrong = count_wrong(&interp, want);
      EXPECT(!wrong, "%s %u in the interpreter: %zu elements are wrong:\n%s", kind_names[c->kind],
             number_of, wrong, glow_text_cstr(&text));
      free(want);
    }
  }
  release(&in);
  release(&cpu);
  release(&interp);
  glow_text_release(&text);
  glow_context_destroy(ctx);
}

/* ---- Plain layouts --------------------------------------------------------------------------- */

enum { AXES = 3 };

typedef struct Plain {
  int axes, n, groups, ic, oc;
  int in[AXES], out[AXES], window[AXES], stride[AXES], dilation[AXES], before[AXES], after[AXES];
  int extra[AXES]; /* output_padding */
  bool nhwc, transposed, bias, relu;
  const char *element;
} Plain;

static bool draw_plain(Plain *c) {
  static const char *const elements[] = {"float", "float16", "bfloat16"};
  *c = (Plain){.axes = draw_in(1, AXES),
               .n = draw_in(1, 2),
               .groups = draw(2) ? 1 : draw_in(2, 5),
               .ic = draw_in(1, draw(3) ? 5 : 35),
               .oc = draw_in(1, draw(3) ? 5 : 20),
               .nhwc = draw(3) == 0,
               .transposed = draw(2),
               .bias = draw(2),
               .element = elements[draw(2) ? 0 : draw(3)]};
  c->relu = draw(2) && !c->transposed && !strcmp(c->element, "float");
  bool fits = true;
  for (int i = 0; i < c->axes; i++) {
    c->in[i] = draw_in(1, c->axes == 1 ? 60 : 12);
    c->window[i] = draw_in(1, 3);
    c->stride[i] = draw(2) ? 1 : draw_in(1, 3);
    c->dilation[i] = draw(3) ? 1 : 2;
    c->before[i] = (int)draw(3), c->after[i] = (int)draw(3);
    int reach = (c->window[i] - 1) * c->dilation[i] + 1, pads = c->before[i] + c->after[i];
    c->extra[i] = (int)draw((uint32_t)c->stride[i]);
    c->out[i] = c->transposed ? (c->in[i] - 1) * c->stride[i] + reach - pads + c->extra[i]
                              : extent(c->in[i], c->before[i], c->after[i], c->window[i],
                                       c->stride[i], c->dilation[i]);
    fits = fits && c->out[i] > 0;
  }
  return fits;
}

/* a x (spatial) x b or, with channels last, in the order of NHWC. */
static void write_shape(GlowText *t, const Plain *c, int a, int b, const int *spatial) {
  glow_text_printf(t, "%s<%d", c->element, a);
  if (!c->nhwc)
    glow_text_printf(t, " x %d", b);
  for (int i = 0; i < c->axes; i++)
    glow_text_printf(t, " x %d", spatial[i]);
  if (c->nhwc)
    glow_text_printf(t, " x %d", b);
  glow_text_puts(t, ">\n");
}

static void write_list(GlowText *t, const char *name, const int *values, int count) {
  glow_text_printf(t, ", %s = [", name);
  for (int i = 0; i < count; i++)
    glow_text_printf(t, "%s%d", i ? ", " : "", values[i]);
  glow_text_puts(t, "]");
}

static void write_plain(GlowText *t, const Plain *c, const char *target) {
  int ic = c->groups * c->ic, oc = c->groups * c->oc, pads[2 * AXES];
  memcpy(pads, c->before, sizeof c->before);
  memcpy(pads + c->axes, c->after, sizeof c->after);
  glow_text_printf(t, "module \"t\" {target = \"%s\"}\ndeclare {\n  placeholder @x : ", target);
  write_shape(t, c, c->n, ic, c->in);
  glow_text_puts(t, "  placeholder @w : ");
  write_shape(t, c, c->transposed ? ic : oc, c->transposed ? c->oc : c->ic, c->window);
  glow_text_printf(t, "  placeholder @b : %s<%d>\n  placeholder @y : ", c->element, oc);
  write_shape(t, c, c->n, oc, c->out);
  glow_text_printf(t,
                   "}\nprogram @p {\n  %s @out @y, @in @x, @in @w, @in %s {layout = %s, group = %d",
                   c->transposed ? "conv_transpose" : "convolution", c->bias ? "@b" : "none",
                   c->nhwc ? "NHWC" : "NCHW", c->groups);
  write_list(t, "strides", c->stride, c->axes);
  write_list(t, "pads", pads, 2 * c->axes);
  write_list(t, "dilations", c->dilation, c->axes);
  if (c->transposed)
    write_list(t, "output_padding", c->extra, c->axes);
  else
    glow_text_printf(t, ", shards = %d", 1 + c->in[0] % 6);
  glow_text_printf(t, "}\n%s}\n",
                   c->relu ? "    ^epilogue(%a : float<>) = { %0 = Relu(%a) : float<>  yield %0 }\n"
                           : "");
}

static size_t differences(const GlowTensor *a, const GlowTensor *b) {
  size_t wrong = 0;
  bool wide = a->type->kind == GLOW_KIND_FLOAT;
  for (size_t i = 0; i < a->bytes / (wide ? 4 : 2); i++)
    wrong += wide ? !same(((const float *)a->data)[i], ((const float *)b->data)[i])
                  : ((const uint16_t *)a->data)[i] != ((const uint16_t *)b->data)[i];
  return wrong;
}

static bool has_machine_kernel(GlowFunction *f, const GlowIsa *isa) {
  GlowCpuPlan plan;
  return glow_cpu_plan(f->module->ctx->arena, f, isa, &plan) &&
         strcmp(plan.work[0].kernel->name, "conv_plain") == 0;
}

/* Small numbers of any kind; for float also what breaks shortcuts. */
static void bind_any(GlowFunction *f, GlowBindings *in, const char *name) {
  GlowContext *ctx = f->module->ctx;
  const GlowStorage *g = glow_module_storage(f->module, glow_str(ctx, name));
  if (g->value.type->kind == GLOW_KIND_FLOAT) {
    bind(f, in, name);
    return;
  }
  GlowBinding binding = {g->value.name, glow_tensor_create(ctx, g->value.type)};
  glow_vec_push(ctx->arena, in, binding);
  uint16_t *data = binding.tensor->data;
  for (size_t i = 0; i < binding.tensor->bytes / 2; i++)
    data[i] = (uint16_t)(0x3a00u + draw(0x400) + (draw(2) << 15));
}

static void check_plain(const Plain *c, const GlowIsa *isa, unsigned number_of) {
  GlowContext *ctx = glow_context_create();
  GlowText text;
  glow_text_init(&text, ctx);
  write_plain(&text, c, isa->name);
  size_t size = text.size;
  GlowModule *m = glow_module_parse(ctx, "test", glow_text_cstr(&text), size);
  GlowFunction *f = m && glow_module_verify(m) ? glow_module_entry(m, NULL) : NULL;
  EXPECT(f, "this does not parse or verify:\n%s", glow_text_cstr(&text));
  GlowBindings in = {0}, cpu = {0}, interp = {0};
  if (f) {
    for (int i = 0; i < 3; i++)
      bind_any(f, &in, (const char *[]){"x", "w", "b"}[i]);
    EXPECT(has_machine_kernel(f, isa), "plain %u has no machine kernel:\n%s", number_of, text.data);
    uint32_t order = number_of;
    GlowParallel parallel = any_order(&order);
    const GlowRunOptions options = {.parallel = &parallel, .tier = tier_of(number_of)};
    GlowStatus status = glow_cpu_run(f, &in, &cpu, &options);
    status = status == GLOW_OK ? glow_interp_run(f, &in, &interp, NULL) : status;
    EXPECT(status == GLOW_OK, "plain %u does not run on %s:\n%s", number_of, isa->name, text.data);
    size_t wrong = status == GLOW_OK ? differences(cpu.data[0].tensor, interp.data[0].tensor) : 0;
    EXPECT(!wrong, "plain %u on %s: %zu elements differ:\n%s", number_of, isa->name, wrong,
           text.data);
  }
  release(&in);
  release(&cpu);
  release(&interp);
  glow_text_release(&text);
  glow_context_destroy(ctx);
}

/* ---- Machine code ---------------------------------------------------------------------------- */

/* The hot loops of a program, and FMAs of one step of its largest tile. */
static HotLoops hot_loops_of(GlowContext *ctx, GlowText *text, const GlowIsa *isa, unsigned *tile) {
  GlowText assembly;
  glow_text_init(&assembly, ctx);
  size_t size = text->size;
  GlowModule *m = glow_module_parse(ctx, "test", glow_text_cstr(text), size);
  GlowFunction *f = m ? glow_module_entry(m, NULL) : NULL;
  GlowCpuPlan plan;
  HotLoops hot = {0};
  if (f && glow_cpu_plan(ctx->arena, f, isa, &plan)) {
    GlowCodegenOptions options = {.isa = isa};
    bool ok =
        glow_codegen_emit_asm(ctx, glow_cpu_program(ctx->arena, &plan, NULL), &options, &assembly);
    EXPECT(ok, "no assembly for %s", isa->name);
    *tile = tile_fmas(&plan.work[0]);
    hot = find_hot_loops(glow_text_cstr(&assembly), isa->vl == 16 ? "%zmm" : "%ymm");
  }
  glow_text_release(&assembly);
  return hot;
}

static void expect_hot(const HotLoops *hot, unsigned fmas, const GlowIsa *isa, const char *what) {
  EXPECT(fmas && hot->most_fmas >= fmas, "%s on %s: %u FMAs in one loop, %u in a tile", what,
         isa->name, hot->most_fmas, fmas);
  EXPECT(hot->full_width == hot->fmas, "%s on %s: only %u of %u FMAs are full width", what,
         isa->name, hot->full_width, hot->fmas);
  EXPECT(!hot->stack, "%s on %s: %u stack references in hot loops", what, isa->name, hot->stack);
}

typedef struct Shape {
  Kind kind;
  int size, groups, ic, oc, k, stride;
  int dilation;
  bool line; /* one row, as conv-2d makes of convolutions along one axis */
} Shape;

static void check_machine_code(const Shape *shape, const GlowIsa *isa) {
  int d = shape->dilation, pad = (shape->k - 1) * d / 2;
  Conv c = {.kind = shape->kind,
            .n = 1,
            .groups = shape->groups,
            .ic = shape->ic,
            .oc = shape->oc,
            .ih = shape->line ? 1 : shape->size,
            .iw = shape->size,
            .kh = shape->line ? 1 : shape->k,
            .kw = shape->k,
            .sh = shape->line ? 1 : shape->stride,
            .sw = shape->stride,
            .dh = shape->line ? 1 : d,
            .dw = d,
            .pt = shape->line ? 0 : pad,
            .pl = pad,
            .pb = shape->line ? 0 : pad,
            .pr = pad,
            .bias = true,
            .epilogue = RESIDUAL};
  c.xl = c.kind == FEW ? "" : " | NCHW16c";
  bool half = c.kind == GROUPED && c.oc % packed_lanes(isa); /* of a block of the filter */
  if (c.kind == DEPTHWISE)
    snprintf(c.filter, sizeof c.filter, "OIHW16o");
  else if (c.kind == FEW || c.kind == SHARED)
    set_compact_filter(&c, c.kind == SHARED ? 16 : packed_lanes(isa));
  else
    snprintf(c.filter, sizeof c.filter, "OIHW16i%do", half ? 16 : packed_lanes(isa));
  GlowContext *ctx = glow_context_create();
  GlowText text;
  glow_text_init(&text, ctx);
  write_conv(&text, &c, isa->name);
  unsigned tile = 0;
  HotLoops hot = hot_loops_of(ctx, &text, isa, &tile);
  if (c.kind == DEPTHWISE) /* its tiles are named by their pixels alone */
    tile *= 16 / isa->vl;
  char what[80];
  snprintf(what, sizeof what, "%s %dx%d on %dx%d pixels, stride %d, dilation %d",
           kind_names[c.kind], c.kh, c.kw, c.ih, c.iw, c.sw, c.dw);
  expect_hot(&hot, tile, isa, what);
  glow_text_release(&text);
  glow_context_destroy(ctx);
}

static void check_plain_machine_code(const GlowIsa *isa, bool transposed) {
  Plain c = {.axes = 2,
             .n = 1,
             .groups = 1,
             .ic = 64,
             .oc = 84,
             .in = {14, 14},
             .out = {14, 14},
             .window = {3, 3},
             .stride = {1, 1},
             .dilation = {1, 1},
             .before = {1, 1},
             .after = {1, 1},
             .transposed = transposed,
             .bias = true,
             .element = "float"};
  GlowContext *ctx = glow_context_create();
  GlowText text;
  glow_text_init(&text, ctx);
  write_plain(&text, &c, isa->name);
  unsigned tile = 0;
  HotLoops hot = hot_loops_of(ctx, &text, isa, &tile);
  expect_hot(&hot, tile * isa->tile_vectors, isa, transposed ? "plain, transposed" : "plain");
  glow_text_release(&text);
  glow_context_destroy(ctx);
}

static void check_all_machine_code(const GlowIsa *isa) {
  static const Shape shapes[] = {
      {FEW, 224, 1, 3, 64, 7, 2, 1, false},       {FEW, 224, 1, 3, 32, 3, 2, 1, false},
      {FEW, 28, 1, 1, 32, 5, 1, 1, false},        {DEPTHWISE, 112, 32, 1, 1, 3, 1, 1, false},
      {DEPTHWISE, 112, 96, 1, 1, 3, 2, 1, false}, {DEPTHWISE, 28, 240, 1, 1, 5, 1, 1, false},
      {DEPTHWISE, 14, 576, 1, 1, 3, 2, 1, false}, {DEPTHWISE, 7, 960, 1, 1, 3, 1, 1, false},
      {DEPTHWISE, 56, 144, 1, 1, 5, 2, 1, false}, {GROUPED, 56, 4, 32, 32, 3, 1, 1, false},
      {GROUPED, 28, 8, 16, 16, 3, 1, 1, false},   {GROUPED, 14, 4, 64, 64, 3, 2, 1, false},
      {DIRECT, 14, 1, 512, 1024, 1, 2, 1, false}, {DIRECT, 112, 1, 16, 96, 1, 1, 1, false},
      {DIRECT, 56, 1, 24, 144, 1, 1, 1, false},   {DIRECT, 17, 1, 128, 64, 7, 1, 1, false},
      {DIRECT, 7, 1, 512, 512, 3, 1, 1, false},   {DIRECT, 14, 1, 256, 256, 3, 1, 1, false},
      {DIRECT, 7, 1, 2048, 512, 1, 1, 1, false},  {DIRECT, 14, 1, 512, 512, 3, 2, 1, false},
      {DIRECT, 28, 1, 128, 128, 3, 1, 2, false},  {DIRECT, 28, 1, 64, 64, 5, 1, 1, false},
      {DEPTHWISE, 28, 240, 1, 1, 3, 1, 2, false}, {GROUPED, 28, 4, 32, 32, 3, 1, 2, false},
      {DIRECT, 1000, 1, 64, 96, 9, 1, 1, true},   {DIRECT, 1000, 1, 64, 64, 3, 2, 1, true},
      {FEW, 16000, 1, 1, 64, 10, 5, 1, true},     {DEPTHWISE, 500, 96, 1, 1, 7, 1, 1, true},
      {GROUPED, 500, 4, 32, 32, 3, 1, 1, true},   {SHARED, 56, 16, 8, 8, 3, 1, 1, false},
      {SHARED, 14, 32, 8, 8, 3, 1, 1, false},     {SHARED, 28, 32, 8, 8, 3, 2, 1, false},
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    check_machine_code(&shapes[i], isa);
  check_plain_machine_code(isa, false);
  check_plain_machine_code(isa, true);
}

int main(int argc, char **argv) {
  unsigned cases = argc > 1 ? (unsigned)atoi(argv[1]) : 12;
  for (size_t k = 0; k < GLOW_ISA_COUNT; k++) {
    const GlowIsa *isa = &glow_isa[k];
    if (strcmp(isa->arch, "x86_64") == 0 && isa->vl >= 8)
      check_all_machine_code(isa);
    for (Kind kind = 0; glow_isa_runs_here(isa) && kind < KINDS; kind++)
      for (unsigned i = 0; i < cases; i++) {
        state = i * 7919 + 1;
        Conv c;
        if (draw_conv(&c, kind, isa))
          check_numbers(&c, isa, i);
      }
    for (unsigned i = 0; glow_isa_runs_here(isa) && i < 3 * cases; i++) {
      state = i * 7919 + 1;
      Plain c;
      if (draw_plain(&c))
        check_plain(&c, isa, i);
    }
  }
  return unit_finish();
}
