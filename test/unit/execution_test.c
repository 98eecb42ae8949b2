/* Executables of the CPU backend, by compiled code and by library code: many runs give the
 * interpreter's bits at any number of threads, see what changed in their inputs, keep variables,
 * and allocate nothing. */
#include <string.h>

#include "backend/backends.h"
#include "driver/session.h"
#include "exec/pool.h"
#include "target/cpu/isa.h"
#include "test/unit/counted_malloc.h"
#include "test/unit/unit.h"

/* Convolutions large enough to be shared, a stack, relayouts, a variable that counts runs, and an
 * output that is read again. The filter has the layout of this host. */
static const char program[] =
    "declare {\n"
    "  placeholder @x : float<2 x 32 x 28 x 28>\n"
    "  placeholder @y : float<2 x 64 x 28 x 28>\n"
    "  placeholder @sum : float<4>\n"
    "  variable @runs : float<4> = splat(0.0)\n"
    "  constant @w : float<64 x 32 x 3 x 3 | OIHW16i%uo> = random {kind = uniform, low = -0.1, "
    "high = "
    "0.1, seed = 1}\n"
    "  constant @one : float<4> = splat(1.0)\n"
    "}\n"
    "program @main {\n"
    "  %%x = alloc float<2 x 32 x 28 x 28 | NCHW16c>\n"
    "  relayout @out %%x, @in @x\n"
    "  %%y = alloc float<2 x 64 x 28 x 28 | NCHW16c>\n"
    "  convolution @out %%y, @in %%x, @in @w, @in none {pads = [1, 1, 1, 1], shards = 7}\n"
    "  dealloc %%x\n"
    "  stack @out %%y, @in %%y ^body(%%v : float<>) = { %%0 = Sigmoid(%%v) : float<>  yield %%0 }\n"
    "  relayout @out @y, @in %%y\n"
    "  dealloc %%y\n"
    "  add @out @runs, @in @runs, @in @one\n"
    "  add @out @sum, @in @runs, @in @one\n"
    "  add @out @sum, @in @sum, @in @one\n"
    "}\n";

/* More kinds of work. */
static const char *const families[] = {
    /* A cell over time, as irgen makes it: steps of the input are read, and steps of the output
     * written, where the iteration says. */
    "declare {\n"
    "  placeholder @x : float<9 x 1 x 64>\n"
    "  placeholder @y : float<9 x 1 x 64>\n"
    "  constant @w : float<64 x 64> = random {kind = uniform, low = -0.1, high = 0.1, seed = 1}\n"
    "  constant @steps : i64<> = 9\n"
    "}\n"
    "program @main {\n"
    "  %h = alloc float<1 x 64>\n"
    "  splat @out %h {value = 0.0}\n"
    "  splat @out @y {value = 0.0}\n"
    "  loop @in @steps, @in none ^body(%i : i64<>) {\n"
    "    %x = alloc float<1 x 64>\n"
    "    gather @out %x, @in @x, @in %i\n"
    "    %p = alloc float<1 x 64>\n"
    "    mat_mul @out %p, @in %h, @in @w\n"
    "    add @out %x, @in %x, @in %p\n"
    "    dealloc %p\n"
    "    tanh @out %h, @in %x\n"
    "    dealloc %x\n"
    "    %at = tensorview %i : i64<1>\n"
    "    scatter_nd @out @y, @in @y, @in %at, @in %h\n"
    "  }\n"
    "  dealloc %h\n"
    "}\n",
    /* Winograd's convolution, and a pool that it computes. */
    "declare {\n"
    "  placeholder @x : float<1 x 64 x 16 x 16>\n"
    "  placeholder @y : float<1 x 64 x 8 x 8>\n"
    "  constant @w : float<64 x 64 x 3 x 3> = random {kind = uniform, low = -0.1, high = 0.1, "
    "seed = 1}\n"
    "}\n"
    "func @main {\n"
    "  %c = Convolution(@x, @w, none) {pads = [1, 1, 1, 1]} : float<1 x 64 x 16 x 16>\n"
    "  %p = MaxPool(%c) {kernels = [2, 2], strides = [2, 2]} : float<1 x 64 x 8 x 8>\n"
    "  Save(%p, @y)\n"
    "}\n",
    /* A product of many rows, and a reduction. */
    "declare {\n"
    "  placeholder @x : float<4 x 96 x 64>\n"
    "  placeholder @y : float<4 x 96 x 128>\n"
    "  constant @w : float<64 x 128> = random {kind = uniform, low = -0.1, high = 0.1, seed = 1}\n"
    "}\n"
    "func @main {\n"
    "  %p = MatMul(@x, @w) : float<4 x 96 x 128>\n"
    "  %s = Softmax(%p) {axis = 2} : float<4 x 96 x 128>\n"
    "  Save(%s, @y)\n"
    "}\n",
    /* Attention without a matrix of scores. */
    "declare {\n"
    "  placeholder @x : float<1 x 2 x 256 x 64>\n"
    "  placeholder @y : float<1 x 2 x 256 x 64>\n"
    "}\n"
    "func @main {\n"
    "  %k = Transpose(@x) {perm = [0, 1, 3, 2]} : float<1 x 2 x 64 x 256>\n"
    "  %s = MatMul(@x, %k) : float<1 x 2 x 256 x 256>\n"
    "  %p = Softmax(%s) {axis = 3} : float<1 x 2 x 256 x 256>\n"
    "  %a = MatMul(%p, @x) : float<1 x 2 x 256 x 64>\n"
    "  Save(%a, @y)\n"
    "}\n",
    /* A reference kernel. */
    "declare {\n"
    "  placeholder @x : float<5 x 3 x 3>\n"
    "  placeholder @y : float<5>\n"
    "}\n"
    "func @main {\n"
    "  %d = Det(@x) : float<5>\n"
    "  Save(%d, @y)\n"
    "}\n",
};

static GlowFunction *parse_text(GlowContext *ctx, const char *text) {
  GlowModule *m = glow_module_parse(ctx, "test", text, strlen(text));
  CHECK(m && glow_module_verify(m));
  return m ? glow_module_entry(m, NULL) : NULL;
}

static GlowFunction *parse(GlowContext *ctx) {
  static char text[2048];
  const GlowIsa *host = glow_isa_host();
  snprintf(text, sizeof text, program, host->vl * host->tile_vectors);
  return parse_text(ctx, text);
}

static void fill(GlowTensor *t, float start) {
  float *x = t->data;
  for (size_t i = 0; i < t->bytes / sizeof *x; i++)
    x[i] = start + 0.001f * (float)(i % 977);
}

static const GlowTensor *find(const GlowBindings *b, const char *name) {
  for (uint32_t i = 0; i < b->count; i++)
    if (strcmp(b->data[i].name, name) == 0)
      return b->data[i].tensor;
  return NULL;
}

static GlowBindings bind(GlowFunction *f, GlowTensor *t) {
  GlowContext *ctx = f->module->ctx;
  GlowBindings in = {0};
  GlowBinding b = {glow_str(ctx, "x"), t};
  glow_vec_push(ctx->arena, &in, b);
  return in;
}

/* The interpreter's y for an input that begins with `start`; bytes of it. The caller frees it. */
static void *reference(GlowFunction *f, GlowTensor *t, float start, size_t *bytes) {
  GlowBindings in = bind(f, t), out = {0};
  fill(t, start);
  CHECK(glow_interp_run(f, &in, &out, &(GlowRunOptions){0}) == GLOW_OK);
  const GlowTensor *y = find(&out, "y");
  *bytes = y ? y->bytes : 0;
  void *copy = malloc(*bytes + 1);
  if (y)
    memcpy(copy, y->data, *bytes);
  for (uint32_t i = 0; i < out.count; i++)
    glow_tensor_free(out.data[i].tensor);
  return copy;
}

/* Four runs with two inputs in turn. `base` runs came before on the variable of options->values. */
static void check_runs(GlowFunction *f, GlowTensor *t, const GlowRunOptions *options, int base) {
  static const float starts[] = {0.25f, -0.5f};
  GlowBindings in = bind(f, t);
  size_t bytes;
  void *want[2];
  GlowContext *other = glow_context_create();
  for (int i = 0; i < 2; i++)
    want[i] = reference(parse(other), t, starts[i], &bytes);
  const GlowBackend *cpu = glow_backend_find(f->module->ctx, &glow_backends, "cpu");
  GlowRunnable *r = glow_backend_prepare(cpu, f, &in, options);
  CHECK(r);
  for (int run = 0; r && run < 4; run++) {
    fill(t, starts[run % 2]);
    unsigned long before = atomic_load(&allocations);
    GlowStatus status = glow_runnable_run(r);
    unsigned long made = atomic_load(&allocations) - before;
    CHECK(status == GLOW_OK && r->outputs.count == 2);
    EXPECT(made == 0, "run %d on %d threads allocates %lu times", run,
           options->parallel ? (int)options->parallel->workers : 1, made);
    const GlowTensor *y = find(&r->outputs, "y"), *sum = find(&r->outputs, "sum");
    CHECK(y && y->bytes == bytes && memcmp(y->data, want[run % 2], bytes) == 0);
    CHECK(sum && ((const float *)sum->data)[3] == (float)(base + run + 3));
  }
  if (r) {
    glow_values_take_state(options->values, r->state);
    glow_runnable_destroy(r);
  }
  free(want[0]);
  free(want[1]);
  glow_context_destroy(other);
}

/* Two runs at -O2 of a program or a graph from @x to @y. */
static void check_family(const char *text, const GlowRunOptions *options) {
  GlowContext *ctx = glow_context_create();
  GlowFunction *f = parse_text(ctx, text);
  GlowSession s = {.ctx = ctx, .module = f ? f->module : NULL, .entry = f};
  CHECK(f && glow_session_optimize(&s, 2, GLOW_MATH_BOUNDED) == GLOW_OK);
  GlowStorage *x = f ? glow_module_storage(s.module, glow_str(ctx, "x")) : NULL;
  GlowTensor *t = x ? glow_tensor_create(ctx, x->value.type) : NULL;
  size_t bytes = 0;
  void *want = t ? reference(s.entry, t, -0.25f, &bytes) : NULL;
  GlowBindings in = {0};
  if (t)
    in = bind(s.entry, t);
  const GlowBackend *cpu = glow_backend_find(ctx, &glow_backends, "cpu");
  GlowRunnable *r = t ? glow_backend_prepare(cpu, s.entry, &in, options) : NULL;
  CHECK(r);
  for (int run = 0; r && run < 2; run++) {
    unsigned long before = atomic_load(&allocations);
    GlowStatus status = glow_runnable_run(r);
    unsigned long made = atomic_load(&allocations) - before;
    EXPECT(made == 0, "run %d of this allocates %lu times:\n%s", run, made, text);
    const GlowTensor *y = find(&r->outputs, "y");
    CHECK(status == GLOW_OK && y && y->bytes == bytes && memcmp(y->data, want, bytes) == 0);
  }
  if (r)
    glow_runnable_destroy(r);
  free(want);
  glow_tensor_free(t);
  glow_context_destroy(ctx);
}

static void check_families(void) {
  GlowContext *ctx = glow_context_create();
  GlowPool *pool = glow_pool_make(ctx, 2);
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    for (int how = 0; how < 4; how++)
      check_family(families[i],
                   &(GlowRunOptions){.parallel = how % 2 ? glow_pool_parallel(pool) : NULL,
                                     .tier = how / 2 ? GLOW_TIER_LIBRARY : GLOW_TIER_COMPILED});
  glow_pool_destroy(pool);
  glow_context_destroy(ctx);
}

int main(void) {
  check_families();
  GlowContext *ctx = glow_context_create();
  GlowFunction *f = parse(ctx);
  GlowStorage *x = f ? glow_module_storage(f->module, glow_str(ctx, "x")) : NULL;
  GlowTensor *aligned = x ? glow_tensor_create(ctx, x->value.type) : NULL;
  GlowTensor *room = x ? glow_tensor_create(ctx, x->value.type) : NULL;
  GlowValues *values = glow_values_create(f->module);
  static float shifted[2 * 32 * 28 * 28 + 1];
  for (int i = 0; x && i < 6; i++) {
    GlowPool *pool = glow_pool_make(ctx, 1 << i / 2);
    const GlowRunOptions options = {.values = values,
                                    .parallel = glow_pool_parallel(pool),
                                    .tier = i % 2 ? GLOW_TIER_LIBRARY : GLOW_TIER_COMPILED};
    check_runs(f, aligned, &options, 8 * i);
    GlowTensor odd = *room;
    odd.data = (void *)((uintptr_t)shifted % 64 ? shifted : shifted + 1);
    check_runs(f, &odd, &options, 8 * i + 4);
    glow_pool_destroy(pool);
  }
  glow_values_destroy(values);
  glow_tensor_free(aligned);
  glow_tensor_free(room);
  glow_context_destroy(ctx);
  return unit_finish();
}
