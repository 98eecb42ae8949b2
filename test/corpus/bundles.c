/* See bundles.h. */
#include "test/corpus/bundles.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "exec/pool.h"

enum { GROUP = 64 };

typedef struct Buffer {
  char name[64];
  GlowKind kind;
  size_t bytes;
  void *given, *want; /* NULL: not read, not written */
} Buffer;

struct GlowTrial {
  char name[128], symbol[128], reset[64];
  GlowBundleParams params;
  void *weights; /* NULL: linked in, or none */
  Buffer *buffers;
};

struct GlowBundles {
  char dir[64];
  unsigned made; /* since the beginning */
  GlowContext *ctx;
  GlowPool *pool;
  GlowTrial *group[GROUP];
  unsigned count;
};

/* Memory as bundles want it; the tests end without it. */
static void *room(size_t bytes) {
  void *p = aligned_alloc(GLOW_BUNDLE_ALIGN, (bytes / GLOW_BUNDLE_ALIGN + 1) * GLOW_BUNDLE_ALIGN);
  if (!p)
    exit(1);
  return memset(p, 0xa5, bytes);
}

static void *copy(const void *data, size_t bytes) {
  return bytes ? memcpy(room(bytes), data, bytes) : room(0);
}

GlowBundles *glow_bundles_create(void) {
  GlowBundles *b = calloc(1, sizeof *b);
  if (!b)
    exit(1);
  *b = (GlowBundles){.dir = "/tmp/glow-bundles-XXXXXX"};
  b->ctx = glow_context_create();
  if (!mkdtemp(b->dir)) {
    perror("glow-onnx-corpus: /tmp");
    glow_context_destroy(b->ctx);
    free(b);
    return NULL;
  }
  b->pool = glow_pool_make(b->ctx, 2);
  return b;
}

void glow_bundles_destroy(GlowBundles *b) {
  if (!b)
    return;
  for (unsigned i = 0; i < b->count; i++)
    glow_trial_destroy(b->group[i]);
  glow_pool_destroy(b->pool);
  glow_context_destroy(b->ctx);
  char left[128]; /* of a case that was dropped */
  snprintf(left, sizeof left, "%s/0.o", b->dir);
  unlink(left);
  rmdir(b->dir);
  free(b);
}

void glow_trial_destroy(GlowTrial *t) {
  if (!t)
    return;
  for (int64_t i = 0; i < t->params.nbuffers; i++) {
    free(t->buffers[i].given);
    free(t->buffers[i].want);
  }
  free(t->buffers);
  free(t->weights);
  free(t);
}

/* ---- Making ---------------------------------------------------------------------------------- */

static GlowTrial *record(const GlowBundle *b, const GlowSession *s, const char *name) {
  const GlowBundleEntry *e = &b->entries[0];
  GlowTrial *t = calloc(1, sizeof *t);
  if (!t || !(t->buffers = calloc(e->buffers.count + 1, sizeof *t->buffers)))
    exit(1);
  snprintf(t->name, sizeof t->name, "%s", name);
  snprintf(t->symbol, sizeof t->symbol, "%s", e->symbol);
  snprintf(t->reset, sizeof t->reset, "%s_reset_variables", b->name);
  t->params = e->params;
  if (b->weights && !b->options->link_weights)
    t->weights = copy(b->weights, (size_t)b->header.size);
  for (uint32_t i = 0; i < e->buffers.count; i++) {
    const GlowBundleBuffer *x = &e->buffers.data[i];
    const GlowTensor *given = x->in ? glow_bindings_find(&s->inputs, x->value->name) : NULL;
    Buffer *to = &t->buffers[i];
    snprintf(to->name, sizeof to->name, "%s", x->value->name);
    to->kind = x->value->type->kind;
    to->bytes = (size_t)glow_type_bytes(x->value->type);
    to->given = given ? copy(given->data, to->bytes) : NULL;
  }
  return t;
}

static bool write_object(const GlowBundles *b, const GlowBundle *bundle, GlowText *object) {
  char path[128];
  snprintf(path, sizeof path, "%s/%u.o", b->dir, b->count);
  if (!glow_bundle_code(bundle, GLOW_CODE_OBJECT, object))
    return false;
  FILE *f = fopen(path, "wb");
  bool ok = f && fwrite(object->data, object->size, 1, f) == 1;
  return f && fclose(f) == 0 && ok;
}

GlowTrial *glow_bundles_compile(GlowBundles *b, const GlowSession *s, const char *name) {
  const GlowIsa *isa = glow_cpu_target(s->module, GLOW_NOWHERE);
  char prefix[16];
  snprintf(prefix, sizeof prefix, "c%u", b->made++);
  const GlowBundleOptions options = {
      .name = prefix, .link_weights = b->made % 2, .code = {.isa = isa}};
  GlowBundle *bundle = isa ? glow_bundle_create(s->module, &options) : NULL;
  if (!bundle)
    return NULL;
  GlowText object;
  glow_text_init(&object, s->ctx);
  GlowTrial *t = write_object(b, bundle, &object) ? record(bundle, s, name) : NULL;
  glow_text_release(&object);
  glow_bundle_destroy(bundle);
  return t;
}

void glow_bundles_expect(GlowBundles *b, GlowTrial *t, const GlowBindings *outputs) {
  for (int64_t i = 0; i < t->params.nbuffers; i++) {
    Buffer *x = &t->buffers[i];
    for (uint32_t k = 0; k < outputs->count && !x->want; k++) {
      const GlowBinding *o = &outputs->data[k];
      if (strncmp(o->name, x->name, sizeof x->name - 1) == 0)
        x->want = copy(o->tensor->data, x->bytes);
    }
  }
  b->group[b->count++] = t;
}

/* ---- Running --------------------------------------------------------------------------------- */

static bool is_nan(GlowKind kind, const void *p) {
  uint16_t half;
  float f;
  double d;
  memcpy(&half, p, sizeof half);
  if (kind == GLOW_KIND_FLOAT16 || kind == GLOW_KIND_BFLOAT16)
    return (half & 0x7fff) > (kind == GLOW_KIND_FLOAT16 ? 0x7c00 : 0x7f80);
  if (kind == GLOW_KIND_FLOAT)
    return memcpy(&f, p, sizeof f), f != f;
  return memcpy(&d, p, sizeof d), d != d;
}

/* Equal bits, any NaN for a NaN. */
static bool same(GlowKind kind, const char *a, const char *b, size_t bytes) {
  size_t width = kind == GLOW_KIND_DOUBLE                                  ? 8
                 : kind == GLOW_KIND_FLOAT                                 ? 4
                 : kind == GLOW_KIND_FLOAT16 || kind == GLOW_KIND_BFLOAT16 ? 2
                                                                           : 0;
  if (!width)
    return memcmp(a, b, bytes) == 0;
  for (size_t i = 0; i < bytes; i += width)
    if (memcmp(a + i, b + i, width) != 0 && !(is_nan(kind, a + i) && is_nan(kind, b + i)))
      return false;
  return true;
}

typedef int64_t EntryFn(const GlowBundleArguments *a, const GlowParallel *p, GlowFault *fault);
typedef int64_t ResetFn(void *variables, const void *weights, int64_t size);

/* Prints what is wrong. */
static bool judge(const GlowTrial *t, const GlowBundleArguments *a, int64_t error, int threads) {
  if (error)
    printf("FAILED %s: its bundle ends with error %d on %d threads\n", t->name, (int)error,
           threads);
  bool compared = false, ok = !error;
  for (int64_t i = 0; i < t->params.nbuffers && ok; i++) {
    const Buffer *x = &t->buffers[i];
    compared = compared || x->want;
    ok = !x->want || same(x->kind, x->want, a->buffers[i], x->bytes);
    if (!ok)
      printf("FAILED %s: output %s of its bundle is not the interpreter's on %d threads\n", t->name,
             x->name, threads);
  }
  if (ok && !compared)
    printf("FAILED %s: its bundle has no output\n", t->name);
  return ok && compared;
}

static bool run_once(const GlowTrial *t, void *library, const GlowParallel *parallel) {
  const GlowBundleParams *p = &t->params;
  /* What dlsym gives may be a function, as POSIX has it. */
  EntryFn *entry = (EntryFn *)(uintptr_t)dlsym(library, t->symbol);
  ResetFn *reset = (ResetFn *)(uintptr_t)dlsym(library, t->reset);
  int threads = parallel ? (int)parallel->workers : 1;
  size_t n = (size_t)p->nbuffers;
  GlowBundleArguments *a = calloc(1, sizeof *a + (n + 1) * sizeof *a->buffers);
  if (!a)
    exit(1);
  a->arena_size = p->arena + p->worker * threads;
  a->arena = aligned_alloc((size_t)p->align, (size_t)((a->arena_size / p->align + 1) * p->align));
  a->weights = t->weights;
  a->weights_size = t->weights ? p->weights.size : 0;
  a->variables = room((size_t)p->weights.variables_size);
  for (size_t i = 0; i < n; i++)
    a->buffers[i] = t->buffers[i].given ? copy(t->buffers[i].given, t->buffers[i].bytes)
                                        : room(t->buffers[i].bytes);
  GlowFault fault;
  int64_t error = entry ? 0 : -1;
  if (!error && reset)
    error = reset(a->variables, a->weights, a->weights_size);
  if (!error)
    error = entry(a, parallel, &fault);
  bool ok = judge(t, a, error, threads);
  for (size_t i = 0; i < n; i++)
    free(a->buffers[i]);
  free(a->variables);
  free(a->arena);
  free(a);
  return ok;
}

/* One shared library of all objects in the folder. NULL after a message. */
static void *link_group(const GlowBundles *b) {
  char command[512], path[128];
  snprintf(path, sizeof path, "%s/%u.so", b->dir, b->made);
  snprintf(command, sizeof command, "cc -shared -nostdlib -o %s %s/*.o", path, b->dir);
  void *library = system(command) ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    printf("FAILED: a group of bundles cannot be linked or loaded\n");
  snprintf(command, sizeof command, "rm -f %s/*.o %s", b->dir, path);
  return system(command) ? NULL : library;
}

unsigned glow_bundles_run(GlowBundles *b, bool now) {
  if (!b->count || (b->count < GROUP && !now))
    return 0;
  void *library = link_group(b);
  unsigned failed = library ? 0 : b->count;
  for (unsigned i = 0; i < b->count; i++) {
    GlowTrial *t = b->group[i];
    failed += library &&
              !(run_once(t, library, NULL) && run_once(t, library, glow_pool_parallel(b->pool)));
    glow_trial_destroy(t);
  }
  b->count = 0;
  if (library)
    dlclose(library);
  return failed;
}
