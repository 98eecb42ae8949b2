/* Networks of the CPU backend: many runs give the interpreter's bits at any number of threads, see
 * what changed in their inputs, keep variables, and allocate nothing. Allocations are counted at
 * the level of malloc, whoever asks, in any thread. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "kernels/isa.h"
#include "runtime/pool.h"
#include "test/unit/unit.h"

static atomic_ulong allocations;

/* The address sanitizer has an allocator of its own, which nobody may replace. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

#ifndef HAS_SANITIZER
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
  atomic_fetch_add(&allocations, 1);
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  atomic_fetch_add(&allocations, 1);
  return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
  atomic_fetch_add(&allocations, 1);
  return __libc_realloc(old, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  atomic_fetch_add(&allocations, 1);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **result, size_t alignment, size_t size) {
  atomic_fetch_add(&allocations, 1);
  *result = __libc_memalign(alignment, size);
  return *result ? 0 : 12;
}
#endif

/* Convolutions large enough to be shared, a stack, relayouts, a variable that counts runs, and an
 * output that is read again. The filter has the layout of this host. */
static const char program[] =
    "declare {\n"
    "  placeholder @x : float<2 x 32 x 28 x 28>\n"
    "  placeholder @y : float<2 x 64 x 28 x 28>\n"
    "  placeholder @sum : float<4>\n"
    "  variable @runs : float<4> = splat(0.0)\n"
    "  constant @w : float<64 x 32 x 3 x 3 | %s> = random {kind = uniform, low = -0.1, "
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

/* A cell over time, as irgen makes it: steps of the input are read, and steps of the output
 * written, where the iteration says. */
static const char loop[] =
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
    "}\n";

static GlowFunction *parse_text(GlowContext *ctx, const char *text) {
  GlowModule *m = glow_module_parse(ctx, "test", text, strlen(text));
  CHECK(m && glow_module_verify(m));
  return m ? glow_module_entry(m, NULL) : NULL;
}

static GlowFunction *parse(GlowContext *ctx) {
  static char text[2048];
  snprintf(text, sizeof text, program, glow_isa_host()->filter);
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

/* Four runs with two inputs in turn. `base` runs came before on the same variable. */
static void check_runs(GlowFunction *f, GlowTensor *t, const GlowParallel *parallel, int base) {
  static const float starts[] = {0.25f, -0.5f};
  GlowBindings in = bind(f, t);
  size_t bytes;
  void *want[2];
  GlowContext *other = glow_context_create();
  for (int i = 0; i < 2; i++)
    want[i] = reference(parse(other), t, starts[i], &bytes);
  const GlowBackend *cpu = glow_backend_find(f->module->ctx, "cpu");
  GlowNetwork *n = glow_backend_prepare(cpu, f, &in, &(GlowRunOptions){.parallel = parallel});
  CHECK(n);
  for (int run = 0; n && run < 4; run++) {
    fill(t, starts[run % 2]);
    unsigned long before = atomic_load(&allocations);
    GlowStatus status = n->run(n);
    unsigned long made = atomic_load(&allocations) - before;
    CHECK(status == GLOW_OK && n->outputs.count == 2);
    EXPECT(made == 0, "run %d on %d threads allocates %lu times", run,
           parallel ? (int)parallel->workers : 1, made);
    const GlowTensor *y = find(&n->outputs, "y"), *sum = find(&n->outputs, "sum");
    CHECK(y && y->bytes == bytes && memcmp(y->data, want[run % 2], bytes) == 0);
    CHECK(sum && ((const float *)sum->data)[3] == (float)(base + run + 3));
  }
  if (n)
    n->destroy(n);
  free(want[0]);
  free(want[1]);
  glow_context_destroy(other);
}

/* Two runs of a program with a Loop. */
static void check_loop(void) {
  GlowContext *ctx = glow_context_create();
  GlowFunction *f = parse_text(ctx, loop);
  GlowStorage *x = f ? glow_module_storage(f->module, glow_str(ctx, "x")) : NULL;
  GlowTensor *t = x ? glow_tensor_create(ctx, x->value.type) : NULL;
  size_t bytes = 0;
  void *want = t ? reference(f, t, -0.25f, &bytes) : NULL;
  GlowBindings in = {0};
  if (t)
    in = bind(f, t);
  const GlowBackend *cpu = glow_backend_find(ctx, "cpu");
  GlowNetwork *n = t ? glow_backend_prepare(cpu, f, &in, &(GlowRunOptions){0}) : NULL;
  CHECK(n);
  for (int run = 0; n && run < 2; run++) {
    unsigned long before = atomic_load(&allocations);
    GlowStatus status = n->run(n);
    unsigned long made = atomic_load(&allocations) - before;
    EXPECT(made == 0, "run %d of the loop allocates %lu times", run, made);
    const GlowTensor *y = find(&n->outputs, "y");
    CHECK(status == GLOW_OK && y && y->bytes == bytes && memcmp(y->data, want, bytes) == 0);
  }
  if (n)
    n->destroy(n);
  free(want);
  glow_tensor_free(t);
  glow_context_destroy(ctx);
}

int main(void) {
  check_loop();
  GlowContext *ctx = glow_context_create();
  GlowFunction *f = parse(ctx);
  GlowStorage *x = f ? glow_module_storage(f->module, glow_str(ctx, "x")) : NULL;
  GlowTensor *aligned = x ? glow_tensor_create(ctx, x->value.type) : NULL;
  GlowTensor *room = x ? glow_tensor_create(ctx, x->value.type) : NULL;
  static float shifted[2 * 32 * 28 * 28 + 1];
  for (int i = 0; x && i < 3; i++) {
    GlowPool *pool = glow_pool_create(ctx, 1 << i);
    check_runs(f, aligned, glow_pool_parallel(pool), 8 * i);
    GlowTensor odd = *room;
    odd.data = (void *)((uintptr_t)shifted % 64 ? shifted : shifted + 1);
    check_runs(f, &odd, glow_pool_parallel(pool), 8 * i + 4);
    glow_pool_destroy(pool);
  }
  glow_tensor_free(aligned);
  glow_tensor_free(room);
  glow_context_destroy(ctx);
  return unit_finish();
}
