/* glow-bench-operators LIBRARY MODEL OUTPUTS ROUNDS SECONDS OPTIONS... -- INPUT...: runs a model by
 * ONNX Runtime, whose shared library LIBRARY is, and by Glow, once for each OPTIONS, which are
 * those of glow_executable_open ("--tier=library"). All are in this process, on the calling thread,
 * and work on the same buffers: INPUTs are files of bytes, one for each input of the model in its
 * order.
 *
 * Prints `remark TEXT` for what has no machine kernel. Writes output i of engine e (0: ONNX
 * Runtime) to OUTPUTS.e.i and prints `output NAME KIND` for each i. Then come ROUNDS turns of about
 * SECONDS for each engine, fewer if these take much longer: a line of seconds for a run, a column
 * for an engine. */
#include <dlfcn.h>
#include <glow/executable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A case of which rounds take as long as LONG turns has FEW_ROUNDS. */
enum { MOST_PORTS = 16, MOST_ENGINES = 4, ALIGN = 64, FEW_ROUNDS = 3, LONG = 100 };

/* ---- ONNX Runtime ---------------------------------------------------------------------------- */

/* The functions of the C API that are used, by their place in the table of its functions. They keep
 * it: the table only grows at its end, so no header of one version is needed. */
enum {
  ORT_MESSAGE = 2,
  ORT_CREATE_ENV = 3,
  ORT_CREATE_SESSION = 7,
  ORT_RUN = 9,
  ORT_CREATE_OPTIONS = 10,
  ORT_SET_INTRA_THREADS = 24,
  ORT_CREATE_TENSOR = 49,
  ORT_TENSOR_DATA = 51,
  ORT_ELEMENT_COUNT = 64,
  ORT_TYPE_AND_SHAPE = 65,
  ORT_CREATE_CPU_MEMORY = 69,
  ORT_RELEASE_VALUE = 96,
  ORT_RELEASE_SHAPE = 99
};

enum { API_VERSION = 1, LOG_ONLY_FATAL = 4, ARENA = 1, DEFAULT_MEMORY = 0 };

typedef void (*Function)(void);
typedef struct OrtApiBase {
  const Function *(*get_api)(uint32_t version);
  const char *(*version)(void);
} OrtApiBase;

/* An object of ONNX Runtime, or a status: NULL where a call succeeded. */
typedef void *Ort;
typedef Ort (*OrtRun)(Ort session, Ort options, const char *const *in, const Ort *values,
                      size_t nin, const char *const *out, size_t nout, Ort *outputs);

static const Function *ort;
#define ORT(f, ...) ((Ort(*)(__VA_ARGS__))ort[f])

static void check(Ort status) {
  if (!status)
    return;
  const char *text = ((const char *(*)(Ort))ort[ORT_MESSAGE])(status);
  fprintf(stderr, "ONNX Runtime: %s\n", text);
  exit(1);
}

/* ---- A model and its engines ----------------------------------------------------------------- */

typedef struct Glow {
  GlowExecutable *model;
  GlowExecution *execution;
} Glow;

/* What all engines have in common. Ports of Glow and names of the model have the same order. */
typedef struct Case {
  Glow glow[MOST_ENGINES];
  size_t engines; /* of Glow */
  GlowPort ports[MOST_PORTS];
  GlowBuffer buffers[MOST_PORTS];
  size_t count;
  Ort session;
  const char *in[MOST_PORTS], *out[MOST_PORTS];
  Ort inputs[MOST_PORTS], outputs[MOST_PORTS]; /* an output is NULL if its extents are not known */
  size_t nin, nout;
} Case;

static void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void run_glow(const Case *c, size_t e) {
  GlowStatus status = glow_execution_run(c->glow[e].execution, NULL, c->buffers, c->count);
  GlowFaultInfo fault = {.size = sizeof fault, .text = ""};
  if (status == GLOW_OK)
    return;
  glow_execution_fault(c->glow[e].execution, &fault);
  fail("Glow", fault.text);
}

/* Outputs that ONNX Runtime allocates, since nobody knows their extents, are freed if !keep. */
static void run_ort(const Case *c, Ort *outputs, bool keep) {
  memcpy(outputs, c->outputs, sizeof c->outputs);
  check(
      ((OrtRun)ort[ORT_RUN])(c->session, NULL, c->in, c->inputs, c->nin, c->out, c->nout, outputs));
  for (size_t i = 0; i < c->nout && !keep; i++)
    if (!c->outputs[i])
      ((void (*)(Ort))ort[ORT_RELEASE_VALUE])(outputs[i]);
}

/* Engine 0 is ONNX Runtime. */
static void run(const Case *c, size_t engine) {
  Ort outputs[MOST_PORTS];
  if (engine)
    run_glow(c, engine - 1);
  else
    run_ort(c, outputs, false);
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* Prints remarks about reference kernels; errors and warnings go to stderr. */
static void hear(void *user, const GlowDiagnostic *d) {
  (void)user;
  if (d->severity == GLOW_REMARK && strstr(d->message, "runs as its reference kernel"))
    printf("remark %s\n", d->message);
  else if (d->severity <= GLOW_WARNING)
    fprintf(stderr, "Glow: %s\n", d->message);
}

static void open_glow(Glow *g, const char *path, const char *tier) {
  char options[256];
  snprintf(options, sizeof options, "--no-cache --threads=1 -remarks=codegen %s", tier);
  GlowCompileOptions how = {.size = sizeof how, .options = options};
  GlowContext *ctx = glow_context_create();
  if (!ctx)
    fail("Glow", "no memory");
  glow_context_set_diagnostic_fn(ctx, hear, NULL);
  GlowStatus status = glow_executable_open(ctx, path, &how, &g->model);
  if (status == GLOW_OK)
    status = glow_execution_create(g->model, NULL, &g->execution);
  if (status != GLOW_OK)
    fail("Glow", glow_status_text(status));
  GlowExecutableInfo info = {.size = sizeof info};
  glow_executable_info(g->model, &info);
  if (info.hosted)
    printf("remark run by the interpreter\n");
  glow_context_destroy(ctx);
}

static void open_ort(Case *c, const char *library, const char *path) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  const OrtApiBase *(*base)(void) = NULL;
  if (handle)
    *(void **)&base = dlsym(handle, "OrtGetApiBase");
  if (!base)
    fail("ONNX Runtime", dlerror());
  ort = base()->get_api(API_VERSION);
  Ort env, options;
  check(ORT(ORT_CREATE_ENV, int, const char *, Ort *)(LOG_ONLY_FATAL, "glow", &env));
  check(ORT(ORT_CREATE_OPTIONS, Ort *)(&options));
  check(ORT(ORT_SET_INTRA_THREADS, Ort, int)(options, 1));
  check(ORT(ORT_CREATE_SESSION, Ort, const char *, Ort, Ort *)(env, path, options, &c->session));
}

/* The number of an element kind in ONNX, which is that in ONNX Runtime. */
static int number_of(const char *kind) {
  static const struct {
    const char *name;
    int number;
  } kinds[] = {
#define KIND(enumerator, name, bits, class, onnx, npy, safetensors) {name, onnx},
#include "lib/ops/kinds.def"
#undef KIND
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(kinds[i].name, kind))
      return kinds[i].number;
  return 0;
}

static void read_bytes(const char *path, const GlowBuffer *b) {
  FILE *f = fopen(path, "rb");
  if (!f || fread(b->data, 1, b->bytes, f) != b->bytes)
    fail(path, "cannot be read, or is too short");
  fclose(f);
}

/* Makes the buffer of a port, and its value for ONNX Runtime. */
static void open_port(Case *c, size_t i, Ort memory, char **files) {
  GlowPort *p = &c->ports[i];
  GlowBuffer *b = &c->buffers[i];
  bool fixed = !memcmp(p->low, p->high, p->rank * sizeof *p->low);
  Ort *value = p->written ? &c->outputs[c->nout] : &c->inputs[c->nin];
  if (!p->bytes)
    fail(p->name, "its extents have no bound");
  b->bytes = p->bytes;
  b->data = aligned_alloc(ALIGN, (p->bytes + ALIGN - 1) / ALIGN * ALIGN);
  if (!b->data)
    fail(p->name, "no memory");
  memset(b->data, 0, p->bytes);
  if (fixed)
    check(ORT(ORT_CREATE_TENSOR, Ort, void *, size_t, const int64_t *, size_t, int,
              Ort *)(memory, b->data, b->bytes, p->low, p->rank, number_of(p->kind), value));
  if (p->written) {
    c->out[c->nout++] = p->name;
    return;
  }
  if (!files[c->nin])
    fail(p->name, "has no file");
  read_bytes(files[c->nin], b);
  c->in[c->nin++] = p->name;
}

static void open_ports(Case *c, char **files) {
  Ort memory;
  check(ORT(ORT_CREATE_CPU_MEMORY, int, int, Ort *)(ARENA, DEFAULT_MEMORY, &memory));
  for (; c->count < MOST_PORTS; c->count++) {
    c->ports[c->count].size = sizeof *c->ports;
    if (!glow_executable_port(c->glow[0].model, NULL, c->count, &c->ports[c->count]))
      break;
    open_port(c, c->count, memory, files);
  }
}

/* ---- Outputs --------------------------------------------------------------------------------- */

static void write_bytes(const char *outputs, size_t engine, size_t i, const void *data,
                        size_t bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s.%zu.%zu", outputs, engine, i);
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f))
    fail(path, "cannot be written");
}

/* Bytes of an element of a port. */
static size_t element(const GlowPort *p) {
  size_t count = 1;
  for (uint32_t d = 0; d < p->rank; d++)
    count *= (size_t)p->high[d];
  return count ? p->bytes / count : 0;
}

static void write_ort(const Case *c, size_t i, const GlowPort *p, Ort value, const char *outputs) {
  Ort shape;
  size_t count;
  void *data;
  check(ORT(ORT_TYPE_AND_SHAPE, Ort, Ort *)(value, &shape));
  check(ORT(ORT_ELEMENT_COUNT, Ort, size_t *)(shape, &count));
  ((void (*)(Ort))ort[ORT_RELEASE_SHAPE])(shape);
  check(ORT(ORT_TENSOR_DATA, Ort, void **)(value, &data));
  write_bytes(outputs, 0, i, data, count * element(p));
  if (!c->outputs[i])
    ((void (*)(Ort))ort[ORT_RELEASE_VALUE])(value);
}

static void write_glow(const Case *c, size_t e, size_t port, size_t i, const char *outputs) {
  const GlowBuffer *b = glow_execution_output(c->glow[e].execution, port);
  const GlowPort *p = &c->ports[port];
  size_t bytes = element(p);
  for (uint32_t d = 0; d < p->rank; d++)
    bytes *= (size_t)(b->extents ? b->extents[d] : p->high[d]);
  write_bytes(outputs, e + 1, i, b->data, bytes);
}

/* Runs each engine once and writes what it made, before the next one overwrites it. */
static void write_outputs(const Case *c, const char *outputs) {
  for (size_t e = 0; e <= c->engines; e++) {
    Ort values[MOST_PORTS];
    size_t i = 0;
    if (e)
      run_glow(c, e - 1);
    else
      run_ort(c, values, true);
    for (size_t p = 0; p < c->count; p++) {
      if (!c->ports[p].written)
        continue;
      if (e)
        write_glow(c, e - 1, p, i, outputs);
      else {
        printf("output %s %s\n", c->ports[p].name, c->ports[p].kind);
        write_ort(c, i, &c->ports[p], values[i], outputs);
      }
      i++;
    }
  }
}

/* ---- Time ------------------------------------------------------------------------------------ */

/* Of this thread alone: what else runs on the processor counts only by what it does to caches. */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds(const Case *c, size_t engine, long runs) {
  double start = now();
  for (long i = 0; i < runs; i++)
    run(c, engine);
  return (now() - start) / (double)runs;
}

static void measure(const Case *c, long rounds, double wanted) {
  long runs[MOST_ENGINES + 1] = {0};
  for (size_t e = 0; e <= c->engines && rounds; e++) {
    double once = seconds(c, e, 1), few = wanted / 4 / once < 1000 ? wanted / 4 / once : 1000;
    if (few > 1)
      once = seconds(c, e, (long)few);
    runs[e] = wanted > once ? (long)(wanted / once) : 1;
  }
  double start = now();
  for (long r = 0; r < rounds && (r < FEW_ROUNDS || now() - start < LONG * wanted); r++)
    for (size_t e = 0; e <= c->engines; e++)
      printf("%.9f%c", seconds(c, e, runs[e]), e < c->engines ? ' ' : '\n');
}

int main(int argc, char **argv) {
  static Case c;
  int i = 6;
  if (argc < 8) {
    fprintf(stderr, "usage: glow-bench-operators LIBRARY MODEL OUTPUTS ROUNDS SECONDS OPTIONS... "
                    "-- INPUT...\n");
    return 2;
  }
  for (; i < argc && strcmp(argv[i], "--") && c.engines < MOST_ENGINES; i++)
    open_glow(&c.glow[c.engines++], argv[2], argv[i]);
  open_ort(&c, argv[1], argv[2]);
  open_ports(&c, argv + i + 1);
  write_outputs(&c, argv[3]);
  measure(&c, strtol(argv[4], NULL, 10), strtod(argv[5], NULL));
  return 0;
}
