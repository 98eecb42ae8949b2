/* Executables of the public API, through the shared library alone: programs run after their module
 * and context are gone; buffers, states and options are checked; both backends and both tiers give
 * the same bits; runs allocate nothing; memory is what was promised; threads. */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "glow/executable.h"
#include "test/unit/counted_malloc.h"
#include "test/unit/unit.h"

/* ---- Models ---------------------------------------------------------------------------------- */

/* Each has an input @x and an output @y. */
typedef struct Model {
  const char *name, *text;
  bool hosted; /* the interpreter runs some of it */
} Model;

static const Model models[] = {
    {"counter",
     "declare {\n"
     "  placeholder @x : float<8 x 8>\n"
     "  placeholder @y : float<8 x 8>\n"
     "  variable @runs : float<8 x 8> = splat(0.0)\n"
     "  constant @w : float<8 x 8> = random {kind = uniform, low = -1.0, high = 1.0, seed = 3}\n"
     "  constant @one : float<8 x 8> = splat(1.0)\n"
     "}\n"
     "func @main {\n"
     "  %p = MatMul(@x, @w)\n"
     "  %r = Add(@runs, @one)\n"
     "  Save(%r, @runs)\n"
     "  %y = Add(%p, %r)\n"
     "  Save(%y, @y)\n"
     "}\n",
     false},
    {"convolution",
     "declare {\n"
     "  placeholder @x : float<1 x 16 x 24 x 24>\n"
     "  placeholder @y : float<1 x 48 x 12 x 12>\n"
     "  constant @w : float<48 x 16 x 3 x 3> = random {kind = uniform, low = -0.1, high = 0.1, "
     "seed = 1}\n"
     "}\n"
     "func @main {\n"
     "  %c = Convolution(@x, @w, none) {pads = [1, 1, 1, 1]}\n"
     "  %r = Relu(%c)\n"
     "  %p = MaxPool(%r) {kernels = [2, 2], strides = [2, 2]}\n"
     "  Save(%p, @y)\n"
     "}\n",
     false},
    {"attention",
     "declare {\n"
     "  placeholder @x : float<1 x 2 x 64 x 32>\n"
     "  placeholder @y : float<1 x 2 x 64 x 32>\n"
     "}\n"
     "func @main {\n"
     "  %k = Transpose(@x) {perm = [0, 1, 3, 2]}\n"
     "  %s = MatMul(@x, %k)\n"
     "  %p = Softmax(%s) {axis = 3}\n"
     "  %a = MatMul(%p, @x)\n"
     "  Save(%a, @y)\n"
     "}\n",
     false},
    {"recurrence",
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
     false},
    {"positions",
     "declare {\n"
     "  placeholder @x : float<8 x 8>\n"
     "  placeholder @y : i64<2 x ..64>\n"
     "  variable @runs : float<8 x 8> = splat(0.0)\n"
     "  constant @one : float<8 x 8> = splat(1.0)\n"
     "}\n"
     "program @main {\n"
     "  add @out @runs, @in @runs, @in @one\n"
     "  %d = alloc float<8 x 8>\n"
     "  sub @out %d, @in @x, @in @runs\n"
     "  non_zero @out @y, @in %d\n"
     "  dealloc %d\n"
     "}\n",
     true}};
enum { MODELS = sizeof models / sizeof *models };

static const char *const ways[] = {"-O2 --no-cache --backend=interp",
                                   "-O2 --no-cache --backend=cpu --tier=library",
                                   "-O2 --no-cache --backend=cpu --tier=compiled", "--no-cache"};
enum { WAYS = sizeof ways / sizeof *ways };

static void silent(void *user, const GlowDiagnostic *d) {
  if (user && d->severity == GLOW_ERROR)
    snprintf(user, 256, "%s:%u:%u: %s", d->loc.file ? d->loc.file : "", d->loc.line, d->loc.col,
             d->message);
}

/* An executable whose module and context are gone. `said`: NULL, or 256 bytes. */
static GlowStatus compile(const char *text, const char *options, GlowStore *store, char *said,
                          GlowExecutable **e) {
  GlowContext *ctx = glow_context_create();
  GlowModule *m = NULL;
  glow_context_set_diagnostic_fn(ctx, silent, said);
  GlowCompileOptions how = {.size = sizeof how, .options = options, .store = store};
  GlowStatus status = glow_module_load_text(ctx, "test", text, strlen(text), &m);
  if (status == GLOW_OK)
    status = glow_compile(m, &how, e);
  glow_context_destroy(ctx);
  return status;
}

static GlowExecutable *compiled(const char *text, const char *options) {
  GlowExecutable *e = NULL;
  char said[256] = "";
  GlowStatus status = compile(text, options, NULL, said, &e);
  EXPECT(status == GLOW_OK && e, "'%s': %s", options, said);
  return e;
}

static size_t port_of(const GlowExecutable *e, const char *name, GlowPort *port) {
  *port = (GlowPort){.size = sizeof *port};
  for (size_t i = 0; glow_executable_port(e, NULL, i, port); i++)
    if (!strcmp(port->name, name))
      return i;
  return 99;
}

static void fill(float *x, size_t bytes) {
  for (size_t i = 0; i < bytes / sizeof *x; i++)
    x[i] = (float)((int)(i % 7) - 3) * 0.5f + 1;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

enum { RUNS = 3, MOST = 1 << 16 };

/* The bytes of @y after each run, with its extents. */
typedef struct Results {
  GlowStatus status;
  size_t bytes[RUNS];
  int64_t extents[RUNS][4];
  unsigned char y[RUNS][MOST];
} Results;

static const char *fault_of(const GlowExecution *x) {
  GlowFaultInfo f = {.size = sizeof f};
  glow_execution_fault(x, &f);
  return f.text;
}

/* Runs with a state (NULL: one of its own) and buffers that lie `odd` bytes beside a good place. */
static void run(GlowExecutable *e, GlowState *shared, const GlowExecutionOptions *o, size_t odd,
                Results *r) {
  static _Alignas(64) _Thread_local unsigned char in[MOST + 64], out[MOST + 64];
  GlowState *s = shared;
  GlowExecution *x = NULL;
  GlowPort px, py;
  size_t ix = port_of(e, "x", &px), iy = port_of(e, "y", &py);
  GlowBuffer buffers[2] = {{0}};
  buffers[ix] = (GlowBuffer){in + odd, px.bytes, NULL};
  buffers[iy] = (GlowBuffer){out + odd, py.bytes, NULL};
  fill((float *)(in + odd), px.bytes);
  *r = (Results){.status = GLOW_OK};
  if (!s)
    r->status = glow_state_create(e, &s);
  if (r->status == GLOW_OK)
    r->status = glow_execution_create(e, o, &x);
  for (int i = 0; i < RUNS && r->status == GLOW_OK; i++) {
    while ((r->status = glow_execution_run(x, s, buffers, 2)) == GLOW_BUSY)
      sched_yield();
    const GlowBuffer *y = glow_execution_output(x, iy);
    if (!y || y->data != out + odd || glow_execution_output(x, ix) || glow_execution_output(x, 2))
      break;
    r->bytes[i] = y->bytes;
    memcpy(r->y[i], y->data, y->bytes);
    memcpy(r->extents[i], y->extents, py.rank * sizeof(int64_t));
  }
  glow_execution_destroy(x);
  if (!shared)
    glow_state_destroy(s);
}

static bool same(const Results *a, const Results *b) {
  return a->status == GLOW_OK && b->status == GLOW_OK && a->bytes[0] && a->bytes[RUNS - 1] &&
         !memcmp(a, b, sizeof *a);
}

static const GlowExecutionOptions with_outputs = {.size = sizeof with_outputs, .outputs = true};

static void check_bits(void) {
  static Results first, again;
  for (int m = 0; m < MODELS; m++)
    for (int w = 0; w < WAYS; w++) {
      GlowExecutable *e = compiled(models[m].text, ways[w]);
      if (!e)
        continue;
      run(e, NULL, NULL, 0, w ? &again : &first);
      EXPECT(w == 0 || same(&first, &again), "%s: '%s' gives other bits", models[m].name, ways[w]);
      run(e, NULL, &with_outputs, 8, &again);
      EXPECT(same(&first, &again), "%s: '%s' gives other bits at odd places", models[m].name,
             ways[w]);
      GlowExecutableInfo info = {.size = sizeof info};
      glow_executable_info(e, &info);
      EXPECT((info.hosted > 0) == (models[m].hosted && w > 0), "%s: %zu hosted steps",
             models[m].name, info.hosted);
      EXPECT((w == 3 || (info.compiled > 0) == (w == 2)) && (info.pieces > 0) == (w > 0),
             "%s: '%s' has %zu pieces, %zu compiled", models[m].name, ways[w], info.pieces,
             info.compiled);
      glow_executable_release(e);
    }
}

/* ---- What runs are given --------------------------------------------------------------------- */

static const char two_inputs[] = "declare {\n"
                                 "  placeholder @a : float<16>\n"
                                 "  placeholder @b : float<16>\n"
                                 "  placeholder @y : float<16>\n"
                                 "  placeholder @unused : float<4>\n"
                                 "}\n"
                                 "func @main {\n"
                                 "  %s = Add(@a, @b)\n"
                                 "  Save(%s, @y)\n"
                                 "}\n";

/* A run that is refused, and part of what is said. at: places of @a, @b and @y in floats; -1: there
 * is no buffer. */
typedef struct Refusal {
  int at[3];
  size_t bytes[3], count;
  bool outputs;
  const char *says;
} Refusal;

static const Refusal refusals[] = {
    {{-1, 64, 128}, {64, 64, 64}, 3, true, "@a: there is no buffer for this input"},
    {{0, 64, -1}, {64, 64, 64}, 3, false, "@y: there is no buffer, and the execution has no"},
    {{0, 64, 128}, {64, 60, 64}, 3, true, "@b: the buffer has 60 bytes, float<16> needs 64"},
    {{0, 64, 128}, {64, 64, 63}, 3, true, "@y: the buffer has 63 bytes, float<16> needs 64"},
    {{0, 64, 129}, {64, 64, 64}, 3, false, "@y: the buffer is not aligned to 64 bytes, and the"},
    {{0, 64, 72}, {64, 64, 64}, 3, true, "@y: the buffer overlaps that of @b"},
    {{0, 64, 0}, {64, 64, 64}, 3, true, "@y: the buffer overlaps that of @a"},
    {{0, 64, 128}, {64, 64, 64}, 5, true, "there are 5 buffers for 4 ports"},
    {{0, 64, 128}, {64, 64, 64}, 1, true, "@b: there is no buffer for this input"},
};

static void check_refusals(const char *options) {
  static _Alignas(64) float memory[256];
  GlowExecutable *e = compiled(two_inputs, options);
  GlowExecution *x[2] = {NULL};
  CHECK(glow_execution_create(e, NULL, &x[0]) == GLOW_OK);
  CHECK(glow_execution_create(e, &with_outputs, &x[1]) == GLOW_OK);
  bool interp = strstr(options, "interp") != NULL; /* copies all outputs */
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    const Refusal *r = &refusals[i];
    GlowBuffer b[5] = {{0}};
    for (int k = 0; k < 3; k++)
      b[k] = (GlowBuffer){r->at[k] < 0 ? NULL : memory + r->at[k], r->bytes[k], NULL};
    if (interp && strstr(r->says, "aligned to 64"))
      continue;
    CHECK(glow_execution_run(x[r->outputs], NULL, b, r->count) == GLOW_BAD_USAGE);
    EXPECT(strstr(fault_of(x[r->outputs]), r->says), "got '%s'", fault_of(x[r->outputs]));
    CHECK(!glow_execution_output(x[r->outputs], 2));
  }
  /* Inputs may overlap; what is not used needs nothing; an odd byte is no place for a float. */
  const int64_t right[] = {16}, wrong[] = {15};
  GlowBuffer b[3] = {{memory, 64, NULL}, {memory + 1, 64, right}, {0}};
  CHECK(glow_execution_run(x[1], NULL, b, 2) == GLOW_OK && !*fault_of(x[1]));
  CHECK(glow_execution_output(x[1], 2) && glow_execution_output(x[1], 2)->extents[0] == 16);
  b[1].extents = wrong;
  CHECK(glow_execution_run(x[1], NULL, b, 2) == GLOW_BAD_USAGE);
  EXPECT(strstr(fault_of(x[1]), "@b: the extents do not fit float<16>: axis 0 has 15"), "%s",
         fault_of(x[1]));
  b[1] = (GlowBuffer){(char *)memory + 1, 64, NULL};
  CHECK(glow_execution_run(x[1], NULL, b, 2) == GLOW_BAD_USAGE);
  EXPECT(strstr(fault_of(x[1]), "@b: the buffer is not aligned to its elements of 4 bytes"), "%s",
         fault_of(x[1]));
  CHECK(!glow_execution_output(x[1], 2) && !glow_execution_output(x[1], 99));
  GlowPort unused;
  CHECK(port_of(e, "unused", &unused) == 3 && !unused.read && !unused.written);
  CHECK(!strcmp(unused.type, "float<4>") && !strcmp(unused.kind, "float") && unused.rank == 1 &&
        unused.low[0] == 4 && unused.high[0] == 4 && unused.bytes == 16 && !unused.rows);
  glow_execution_destroy(x[0]);
  glow_execution_destroy(x[1]);
  glow_executable_release(e);
}

/* What runs may be given when extents are open. */
static void check_extents(void) {
  static const char open[] = "declare {\n"
                             "  placeholder @x : float<$N x 2>\n"
                             "  placeholder @y : float<$N x 2>\n"
                             "}\n"
                             "func @main {\n"
                             "  %r = Relu(@x)\n"
                             "  Save(%r, @y)\n"
                             "}\n";
  GlowExecutable *e = compiled(open, "--backend=interp");
  GlowExecution *x = NULL;
  GlowPort p;
  CHECK(port_of(e, "y", &p) == 1 && p.low[0] == 0 && p.high[0] == INT64_MAX && p.bytes == 0);
  CHECK(glow_execution_create(e, NULL, &x) == GLOW_OK);
  float in[6] = {-1, 2, -3, 4, -5, 6}, out[6];
  const int64_t extents[] = {3, 2}, below[] = {-3, 2};
  GlowBuffer b[2] = {{in, sizeof in, extents}, {out, sizeof out, NULL}};
  CHECK(glow_execution_run(x, NULL, b, 2) == GLOW_OK);
  const GlowBuffer *y = glow_execution_output(x, 1);
  CHECK(y && y->data == out && y->extents[0] == 3 && out[0] == 0 && out[5] == 6);
  b[1].bytes = 20;
  CHECK(glow_execution_run(x, NULL, b, 2) == GLOW_BAD_USAGE);
  EXPECT(strstr(fault_of(x), "@y: the buffer has 20 bytes, the result 24"), "%s", fault_of(x));
  b[0].extents = NULL;
  CHECK(glow_execution_run(x, NULL, b, 2) == GLOW_BAD_USAGE);
  EXPECT(strstr(fault_of(x), "@x: extents are needed for float<$N x 2>"), "%s", fault_of(x));
  b[0].extents = below;
  CHECK(glow_execution_run(x, NULL, b, 2) == GLOW_BAD_USAGE);
  glow_execution_destroy(x);
  glow_executable_release(e);
}

/* Symbols with ranges: what ports say of them, and buffers that are out of range or do not agree.
 * One execution runs all extents. */
static void check_ranges(void) {
  static const char text[] = "declare {\n"
                             "  extent $N : 2..6 step 2\n"
                             "  placeholder @x : float<$N x 2>\n"
                             "  placeholder @z : float<$N x 2>\n"
                             "  placeholder @y : float<$N x 2>\n"
                             "}\n"
                             "func @main {\n"
                             "  %r = Sub(@x, @z)\n"
                             "  Save(%r, @y)\n"
                             "}\n";
  static _Alignas(64) float in[12], other[16], out[16];
  for (int i = 0; i < 12; i++) {
    in[i] = (float)(3 * i);
    other[i] = (float)i;
  }
  for (int w = 0; w < WAYS; w++) {
    GlowExecutable *e = compiled(text, ways[w]);
    GlowExecution *x = NULL;
    GlowPort p;
    CHECK(port_of(e, "x", &p) == 0 && p.low[0] == 2 && p.high[0] == 6 && p.bytes == 48);
    size_t z = port_of(e, "z", &p), y = port_of(e, "y", &p);
    CHECK(glow_execution_create(e, NULL, &x) == GLOW_OK);
    for (int64_t n = 6; n >= 1; n--) {
      const int64_t extents[] = {n, 2};
      GlowBuffer b[3] = {{in, sizeof in, extents}};
      b[z] = (GlowBuffer){other, sizeof other, extents};
      b[y] = (GlowBuffer){out, sizeof out, NULL};
      memset(out, 0, sizeof out);
      GlowStatus status = glow_execution_run(x, NULL, b, 3);
      CHECK(status == (n % 2 ? GLOW_BAD_USAGE : GLOW_OK));
      GlowFaultInfo fault = {.size = sizeof fault};
      glow_execution_fault(x, &fault);
      EXPECT(n % 2 == 0 || (strstr(fault.text, "axis 0 has") && fault.loc.line == 3 &&
                            strstr(fault.text, "$N is 2..6 step 2")),
             "%u: %s", fault.loc.line, fault.text);
      const GlowBuffer *got = glow_execution_output(x, y);
      CHECK(n % 2 ? !got : got && got->extents[0] == n && got->bytes == 16 * (size_t)n / 2);
      for (int64_t i = 0; i < 16; i++)
        CHECK(out[i] == (float)(n % 2 == 0 && i < 2 * n ? 2 * i : 0));
    }
    const int64_t two[] = {2, 2}, four[] = {4, 2};
    GlowBuffer b[3] = {{in, sizeof in, two}};
    b[z] = (GlowBuffer){other, sizeof other, four};
    b[y] = (GlowBuffer){out, sizeof out, NULL};
    for (int k = 0; k < 40; k++)
      CHECK(glow_execution_run(x, NULL, b, 3) == GLOW_BAD_INPUT);
    EXPECT(strstr(fault_of(x), "has extent") && strstr(fault_of(x), "axis 0, but $N is"), "%s",
           fault_of(x));
    b[z].extents = two;
    EXPECT(glow_execution_run(x, NULL, b, 3) == GLOW_OK, "%s", fault_of(x));
    glow_execution_destroy(x);
    glow_executable_release(e);
  }
}

/* A run of a model that adds n rows, first, first + 1, ... to what its state has. */
static GlowStatus add_rows(GlowExecution *x, GlowState *s, int64_t n, float first) {
  static _Alignas(64) float in[8];
  const int64_t extents[] = {n, 2};
  GlowBuffer b[2] = {{in, sizeof in, extents}};
  for (int i = 0; i < 8; i++)
    in[i] = first + (float)i;
  return glow_execution_run(x, s, b, 2);
}

/* Whether the variable has n rows: first, first + 1, ... */
static bool has_rows(const GlowState *s, int64_t n, float first) {
  GlowBuffer b;
  bool ok = glow_state_get(s, 0, &b) == GLOW_OK && b.extents[0] == n && b.bytes == (size_t)n * 8;
  for (int64_t i = 0; ok && i < 2 * n; i++)
    ok = ((const float *)b.data)[i] == first + (float)i;
  return ok;
}

/* A variable that grows: a run that has no room for its rows leaves it as it was; copies go on by
 * themselves; and the caller may take rows back. */
static void check_rows(void) {
  static const char text[] = "declare {\n"
                             "  extent $N : 1..4\n"
                             "  extent $T : 0..8\n"
                             "  extent $T1 = $T + $N : 1..8\n"
                             "  placeholder @x : float<$N x 2>\n"
                             "  placeholder @y : float<$T1 x 2>\n"
                             "  variable @v : float<$T x 2> = splat(0.0)\n"
                             "}\n"
                             "func @main {\n"
                             "  %all = Concat(@v, @x) {axis = 0}\n"
                             "  Save(%all, @v)\n"
                             "  Save(%all, @y)\n"
                             "}\n";
  const GlowExecutionOptions outputs = {.size = sizeof outputs, .outputs = true};
  static _Alignas(64) float one[2] = {7, 8};
  const int64_t one_row[] = {1, 2}, nine_rows[] = {9, 2};
  for (int w = 0; w < WAYS; w++) {
    GlowExecutable *e = compiled(text, ways[w]);
    GlowExecution *x = NULL;
    GlowState *s = NULL, *copy = NULL;
    CHECK(glow_execution_create(e, &outputs, &x) == GLOW_OK);
    CHECK(glow_state_create(e, &s) == GLOW_OK && has_rows(s, 0, 0));
    CHECK(add_rows(x, s, 3, 0) == GLOW_OK && has_rows(s, 3, 0));
    CHECK(glow_state_copy(s, &copy) == GLOW_OK && has_rows(copy, 3, 0));
    CHECK(add_rows(x, s, 3, 6) == GLOW_OK && has_rows(s, 6, 0));
    const GlowBuffer *y = glow_execution_output(x, 1);
    CHECK(y && y->extents[0] == 6 && ((const float *)y->data)[11] == 11);
    CHECK(add_rows(x, s, 3, 12) == GLOW_BAD_INPUT && has_rows(s, 6, 0));
    EXPECT(strstr(fault_of(x), "$T1 = $N + $T is 9, out of 1..8"), "%s", fault_of(x));
    CHECK(add_rows(x, s, 2, 12) == GLOW_OK && has_rows(s, 8, 0));
    CHECK(add_rows(x, copy, 1, 6) == GLOW_OK && has_rows(copy, 4, 0) && has_rows(s, 8, 0));
    GlowBuffer b = {one, sizeof one, one_row};
    CHECK(glow_state_set(s, 0, &b) == GLOW_OK && has_rows(s, 1, 7));
    CHECK(add_rows(x, s, 4, 9) == GLOW_OK && has_rows(s, 5, 7));
    b.extents = nine_rows;
    CHECK(glow_state_set(s, 0, &b) == GLOW_BAD_USAGE && has_rows(s, 5, 7));
    CHECK(glow_state_reset(s) == GLOW_OK && has_rows(s, 0, 0));
    CHECK(add_rows(x, s, 4, 0) == GLOW_OK && has_rows(s, 4, 0));
    glow_state_destroy(copy);
    glow_state_destroy(s);
    glow_execution_destroy(x);
    glow_executable_release(e);
  }
}

/* A port that is read and written may grow up to its bound; texts are no bytes. */
static void check_bounds(void) {
  static const char grows[] = "declare {\n"
                              "  placeholder @x : i64<1 x ..64>\n"
                              "  placeholder @d : float<8>\n"
                              "  placeholder @twice : i64<1 x ..64>\n"
                              "}\n"
                              "program @main {\n"
                              "  add @out @twice, @in @x, @in @x\n"
                              "  non_zero @out @x, @in @d\n"
                              "}\n";
  static const char texts[] = "declare {\n"
                              "  placeholder @s : string<2>\n"
                              "  placeholder @y : string<2>\n"
                              "}\n"
                              "func @main {\n"
                              "  %r = Identity(@s)\n"
                              "  Save(%r, @y)\n"
                              "}\n";
  static _Alignas(64) int64_t x[64];
  static _Alignas(64) float d[8] = {0, 1, 0, 1, 1, 0, 0, 0};
  const int64_t one[] = {1, 1}, many[] = {1, 65};
  for (int w = 0; w < 2; w++) {
    GlowExecutable *e = compiled(grows, ways[w]);
    GlowExecution *run = NULL;
    GlowBuffer b[2] = {{x, sizeof x, one}, {d, sizeof d, NULL}};
    x[0] = 21;
    CHECK(glow_execution_create(e, &with_outputs, &run) == GLOW_OK);
    EXPECT(glow_execution_run(run, NULL, b, 2) == GLOW_OK, "%s", fault_of(run));
    const GlowBuffer *grown = glow_execution_output(run, 0);
    const GlowBuffer *twice = glow_execution_output(run, 2);
    CHECK(twice && twice->bytes == 8 && *(const int64_t *)twice->data == 42);
    CHECK(grown && grown->bytes == 3 * sizeof *x && grown->extents[1] == 3);
    CHECK(x[0] == 1 && x[1] == 3 && x[2] == 4);
    b[0].bytes = 8; /* enough for what is given, not for what may be written */
    CHECK(glow_execution_run(run, NULL, b, 2) == GLOW_BAD_USAGE);
    EXPECT(strstr(fault_of(run), "@x: the buffer has 8 bytes, i64<1 x ..64> needs 512"), "%s",
           fault_of(run));
    b[0] = (GlowBuffer){x, sizeof x, many};
    CHECK(glow_execution_run(run, NULL, b, 2) == GLOW_BAD_USAGE);
    glow_execution_destroy(run);
    glow_executable_release(e);
  }
  GlowExecutable *e = compiled(texts, "--backend=interp");
  GlowExecution *run = NULL;
  GlowBuffer b = {x, sizeof x, NULL};
  GlowPort p;
  CHECK(port_of(e, "s", &p) == 0 && p.bytes == 0 && !strcmp(p.kind, "string"));
  CHECK(glow_execution_create(e, &with_outputs, &run) == GLOW_OK);
  CHECK(glow_execution_run(run, NULL, &b, 1) == GLOW_BAD_USAGE);
  EXPECT(strstr(fault_of(run), "@s: no buffer holds values of string<2>"), "%s", fault_of(run));
  glow_execution_destroy(run);
  glow_executable_release(e);
}

/* ---- Faults, stopping, times ----------------------------------------------------------------- */

static const char gather[] = "declare {\n"
                             "  placeholder @i : i64<2>\n"
                             "  placeholder @y : float<2>\n"
                             "  constant @t : float<3> = [1.0, 2.0, 3.0]\n"
                             "}\n"
                             "program @main {\n"
                             "  gather @out @y, @in @t, @in @i loc(\"m.onnx\":\"Gather_3\")\n"
                             "}\n";

static void check_faults(const char *options) {
  GlowExecutable *e = compiled(gather, options);
  GlowExecution *x = NULL;
  GlowExecutionOptions o = with_outputs;
  o.profile = true;
  CHECK(glow_execution_create(e, &o, &x) == GLOW_OK);
  int64_t i[2] = {2, 17};
  GlowBuffer b = {i, sizeof i, NULL};
  GlowFaultInfo f = {.size = sizeof f};
  for (int k = 0; k < 40; k++) /* also beyond any limit on messages */
    CHECK(glow_execution_run(x, NULL, &b, 1) == GLOW_BAD_INPUT);
  glow_execution_fault(x, &f);
  EXPECT(f.status == GLOW_BAD_INPUT && strstr(f.text, "17") && f.loc.node &&
             !strcmp(f.loc.node, "Gather_3"),
         "%s: %s", options, f.text);
  CHECK(!glow_execution_output(x, 1));
  i[1] = 0;
  glow_execution_stop(x);
  CHECK(glow_execution_run(x, NULL, &b, 1) == GLOW_CANCELLED && *fault_of(x));
  CHECK(glow_execution_run(x, NULL, &b, 1) == GLOW_OK && !*fault_of(x));
  const GlowBuffer *y = glow_execution_output(x, 1);
  CHECK(y && ((const float *)y->data)[0] == 3 && ((const float *)y->data)[1] == 1);
  GlowStepTime t = {.size = sizeof t}, none = {.size = sizeof none};
  EXPECT(glow_execution_time(x, 0, &t) && !strcmp(t.op, "gather") && t.kernel && *t.kernel &&
             t.calls == 1 && t.seconds > 0 && t.loc.node && !strcmp(t.loc.node, "Gather_3"),
         "%s: %s by %s, %llu calls, %g s", options, t.op, t.kernel, t.calls, t.seconds);
  CHECK(!glow_execution_time(x, 99, &none) && !none.op);
  glow_execution_destroy(x);
  CHECK(glow_execution_create(e, NULL, &x) == GLOW_OK && !glow_execution_time(x, 0, &t));
  glow_execution_destroy(x);
  glow_executable_release(e);
}

/* ---- States ---------------------------------------------------------------------------------- */

static float first_of(const GlowState *s) {
  GlowBuffer b = {0};
  CHECK(glow_state_get(s, 0, &b) == GLOW_OK && b.bytes == 256 && b.extents[0] == 8);
  return b.data ? *(const float *)b.data : -1;
}

static void check_states(const char *options) {
  static _Alignas(64) float x[64], y[64], other[64];
  GlowExecutable *e = compiled(models[0].text, options), *e2 = compiled(two_inputs, options);
  GlowPort p = {.size = sizeof p};
  CHECK(glow_executable_variable(e, 0, &p) && !strcmp(p.name, "runs") && p.bytes == 256);
  CHECK(!glow_executable_variable(e, 1, &p) && !glow_executable_variable(e2, 0, &p));
  GlowState *s = NULL, *copy = NULL, *foreign = NULL;
  GlowExecution *run = NULL;
  GlowBuffer ports[2] = {{x, sizeof x, NULL}, {y, sizeof y, NULL}}, b = {other, 256, NULL};
  CHECK(glow_state_create(e, &s) == GLOW_OK && glow_state_create(e2, &foreign) == GLOW_OK);
  CHECK(glow_execution_create(e, NULL, &run) == GLOW_OK);
  CHECK(first_of(s) == 0);
  CHECK(glow_execution_run(run, s, ports, 2) == GLOW_OK && first_of(s) == 1 && y[63] == 1);
  CHECK(glow_state_copy(s, &copy) == GLOW_OK && first_of(copy) == 1);
  other[0] = 41;
  CHECK(glow_state_set(copy, 0, &b) == GLOW_OK && first_of(copy) == 41 && first_of(s) == 1);
  CHECK(glow_execution_run(run, copy, ports, 2) == GLOW_OK && first_of(copy) == 42 && y[0] == 42);
  CHECK(glow_state_reset(copy) == GLOW_OK && first_of(copy) == 0 && first_of(s) == 1);
  CHECK(glow_execution_run(run, copy, ports, 2) == GLOW_OK && first_of(copy) == 1);
  CHECK(glow_execution_run(run, NULL, ports, 2) == GLOW_BAD_USAGE);
  EXPECT(strstr(fault_of(run), "the variable @runs: a state is needed"), "%s", fault_of(run));
  CHECK(glow_execution_run(run, foreign, ports, 2) == GLOW_BAD_USAGE);
  EXPECT(strstr(fault_of(run), "another executable's"), "%s", fault_of(run));
  GlowBuffer lent;
  CHECK(glow_state_get(s, 0, &lent) == GLOW_OK);
  ports[0].data = lent.data;
  CHECK(glow_execution_run(run, s, ports, 2) == GLOW_BAD_USAGE);
  EXPECT(strstr(fault_of(run), "@x: the buffer overlaps the variable @runs"), "%s", fault_of(run));
  CHECK(glow_execution_run(run, copy, ports, 2) == GLOW_OK && first_of(copy) == 2);
  b.bytes = 255;
  CHECK(glow_state_set(s, 0, &b) == GLOW_BAD_USAGE && glow_state_set(s, 1, &b) == GLOW_BAD_USAGE);
  CHECK(glow_state_get(s, 1, &b) == GLOW_BAD_USAGE && glow_state_get(foreign, 0, &b));
  glow_execution_destroy(run);
  glow_state_destroy(copy);
  glow_executable_release(e); /* the state keeps it */
  CHECK(first_of(s) == 1);
  glow_state_destroy(s);
  glow_state_destroy(foreign);
  glow_executable_release(e2);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Whether what was allocated since is within 5 % of the promise, but for 640 bytes of structs. */
static bool kept(unsigned long before, size_t promised) {
#ifdef HAS_SANITIZER
  return before + promised > 0;
#else
  double used = (double)(atomic_load(&allocated) - before), p = (double)promised;
  return used <= 1.05 * p + 640 && p <= 1.05 * used;
#endif
}

static void check_memory(int m, const char *options, int threads) {
  GlowExecutable *e = compiled(models[m].text, options);
  GlowMemory memory = {.size = sizeof memory};
  CHECK(glow_executable_memory(e, NULL, threads, &memory) == GLOW_OK);
  GlowPool *pool = NULL;
  GlowState *s = NULL;
  GlowExecution *x = NULL;
  GlowExecutionOptions o = {.size = sizeof o, .outputs = true};
  CHECK(glow_pool_create(threads, &o.pool) == GLOW_OK);
  pool = o.pool;
  unsigned long before = atomic_load(&allocated);
  CHECK(glow_state_create(e, &s) == GLOW_OK);
  EXPECT(kept(before, memory.state), "%s: a state takes %lu bytes, promised %zu", models[m].name,
         atomic_load(&allocated) - before, memory.state);
  before = atomic_load(&allocated);
  CHECK(glow_execution_create(e, &o, &x) == GLOW_OK);
  EXPECT(kept(before, memory.execution + memory.outputs),
         "%s: an execution takes %lu bytes, promised %zu", models[m].name,
         atomic_load(&allocated) - before, memory.execution + memory.outputs);
  static _Alignas(64) float in[MOST / 4];
  GlowPort px;
  GlowBuffer b = {in, 0, NULL};
  size_t ix = port_of(e, "x", &px);
  b.bytes = px.bytes;
  for (int i = 0; i < 3 && !models[m].hosted; i++) {
    unsigned long made = atomic_load(&allocations);
    CHECK(ix == 0 && glow_execution_run(x, s, &b, 1) == GLOW_OK);
    made = atomic_load(&allocations) - made;
    EXPECT(made == 0, "%s: run %d on %d threads allocates %lu times", models[m].name, i, threads,
           made);
  }
  glow_execution_destroy(x);
  /* The caller's memory, wherever it begins. */
  size_t all = memory.execution + memory.outputs;
  char *own = malloc(all + 3);
  memset(own, 0xa5, all + 3);
  o.memory = own + 1;
  o.bytes = all - 1;
  CHECK(glow_execution_create(e, &o, &x) == GLOW_BAD_USAGE && !x);
  o.bytes = all;
  CHECK(glow_execution_create(e, &o, &x) == GLOW_OK);
  CHECK(glow_execution_run(x, s, &b, 1) == GLOW_OK);
  glow_execution_destroy(x);
  CHECK((unsigned char)own[0] == 0xa5 && (unsigned char)own[all + 1] == 0xa5);
  free(own);
  glow_state_destroy(s);
  glow_executable_release(e);
  glow_pool_destroy(pool);
}

static size_t constants_of(const GlowExecutable *e, size_t *shared) {
  GlowMemory m = {.size = sizeof m};
  CHECK(glow_executable_memory(e, NULL, 1, &m) == GLOW_OK);
  *shared = m.shared;
  return m.constants;
}

/* A file of this process. */
static const char *scratch(void) {
  static char name[64];
  snprintf(name, sizeof name, "executable_test.%ld.tmp", (long)getpid());
  return name;
}

static void open_written(const char *path, const char *how, GlowExecutable **e) {
  GlowContext *ctx = glow_context_create();
  char said[256] = "";
  glow_context_set_diagnostic_fn(ctx, silent, said);
  GlowCompileOptions o = {.size = sizeof o, .options = how};
  GlowStatus status = glow_executable_open(ctx, path, &o, e);
  EXPECT(status == GLOW_OK, "%s", said);
  glow_context_destroy(ctx);
}

/* Two executables of one model have their constants once. */
static void check_store(void) {
  GlowStore *store = NULL;
  GlowExecutable *e[3] = {NULL};
  size_t shared, alone;
  CHECK(glow_store_create(&store) == GLOW_OK);
  CHECK(compile(models[1].text, ways[1], NULL, NULL, &e[0]) == GLOW_OK);
  alone = constants_of(e[0], &shared);
  EXPECT(alone >= 48 * 16 * 9 * 4 && shared == 0, "%zu bytes of constants, %zu shared", alone,
         shared);
  for (int i = 1; i < 3; i++) {
    CHECK(compile(models[1].text, ways[1], store, NULL, &e[i]) == GLOW_OK);
    EXPECT(constants_of(e[i], &shared) == 0 && shared == alone, "%zu bytes shared", shared);
  }
  glow_store_destroy(store);
  static Results want, got;
  run(e[0], NULL, NULL, 0, &want);
  CHECK(glow_executable_write(e[1], scratch()) == GLOW_OK);
  glow_executable_release(e[1]);
  run(e[2], NULL, NULL, 0, &got);
  CHECK(same(&want, &got));
  open_written(scratch(), "--no-cache", &e[1]);
  run(e[1], NULL, NULL, 0, &got);
  CHECK(same(&want, &got));
  glow_executable_release(e[1]);
  remove(scratch());
  glow_executable_release(e[0]);
  glow_executable_release(e[2]);
}

/* A thread that compiles and runs. */
typedef struct Compiling {
  pthread_t thread;
  GlowStore *store;
  GlowStatus status;
  Results results;
} Compiling;

static void *compile_and_run(void *arg) {
  Compiling *c = arg;
  GlowExecutable *e = NULL;
  c->status = compile(models[1].text, ways[1], c->store, NULL, &e);
  if (e)
    run(e, NULL, NULL, 0, &c->results);
  glow_executable_release(e);
  return NULL;
}

/* Threads use a store at the same time. */
static void check_shared_store(void) {
  enum { COMPILING = 4 };
  static Compiling threads[COMPILING];
  GlowStore *store = NULL;
  CHECK(glow_store_create(&store) == GLOW_OK);
  for (int i = 0; i < COMPILING; i++) {
    threads[i].store = store;
    CHECK(!pthread_create(&threads[i].thread, NULL, compile_and_run, &threads[i]));
  }
  for (int i = 0; i < COMPILING; i++) {
    pthread_join(threads[i].thread, NULL);
    CHECK(threads[i].status == GLOW_OK && same(&threads[0].results, &threads[i].results));
  }
  glow_store_destroy(store);
}

/* ---- Threads --------------------------------------------------------------------------------- */

enum { THREADS = 8 };

typedef struct Thread {
  pthread_t thread;
  GlowExecutable *executable;
  GlowState *shared;
  const GlowExecutionOptions *options;
  Results results;
} Thread;

static void *run_thread(void *arg) {
  Thread *t = arg;
  run(t->executable, t->shared, t->options, 0, &t->results);
  return NULL;
}

static void run_threads(Thread *threads, GlowExecutable *e, GlowState *shared,
                        const GlowExecutionOptions *options) {
  for (int i = 0; i < THREADS; i++) {
    threads[i].executable = e;
    threads[i].shared = shared;
    threads[i].options = options;
    CHECK(!pthread_create(&threads[i].thread, NULL, run_thread, &threads[i]));
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i].thread, NULL);
}

static void check_threads(int m, const char *options) {
  static Thread threads[THREADS];
  static Results want;
  GlowExecutable *e = compiled(models[m].text, options);
  run(e, NULL, NULL, 0, &want);
  GlowExecutionOptions with_pool = {.size = sizeof with_pool};
  CHECK(glow_pool_create(3, &with_pool.pool) == GLOW_OK);
  for (int pool = 0; pool < 2; pool++) {
    run_threads(threads, e, NULL, pool ? &with_pool : NULL);
    for (int i = 0; i < THREADS; i++)
      EXPECT(same(&want, &threads[i].results), "%s: thread %d has other bits", models[m].name, i);
  }
  glow_pool_destroy(with_pool.pool);
  GlowState *s = NULL;
  CHECK(glow_state_create(e, &s) == GLOW_OK);
  run_threads(threads, e, s, NULL);
  for (int i = 0; i < THREADS; i++)
    CHECK(threads[i].results.status == GLOW_OK);
  GlowPort p = {.size = sizeof p};
  if (glow_executable_variable(e, 0, &p))
    EXPECT(first_of(s) == THREADS * RUNS, "%s: %g runs of %d", models[m].name, (double)first_of(s),
           THREADS * RUNS);
  glow_state_destroy(s);
  glow_executable_release(e);
}

/* What a run uses. */
typedef struct Used {
  GlowState *state;
  GlowExecution *execution;
} Used;

/* Asks for what the run uses that calls this to share its work. */
static void wait_inside(const GlowParallel *p, GlowPieceFn *piece, void *const *ptrs, int64_t units,
                        int64_t shards) {
  const Used *used = p->pool;
  GlowBuffer b;
  GlowState *copy = (GlowState *)&b;
  (void)shards;
  CHECK(glow_state_get(used->state, 0, &b) == GLOW_BUSY);
  CHECK(glow_state_reset(used->state) == GLOW_BUSY);
  CHECK(glow_state_copy(used->state, &copy) == GLOW_BUSY && !copy);
  CHECK(glow_execution_run(used->execution, NULL, NULL, 0) == GLOW_BUSY);
  piece(ptrs, 0, units, 0);
}

static void check_busy(void) {
  static const char large[] = "declare {\n"
                              "  placeholder @x : float<512 x 256>\n"
                              "  variable @v : float<512 x 256> = splat(0.0)\n"
                              "  constant @w : float<256 x 256> = random {kind = uniform, low = "
                              "-1.0, high = 1.0, seed = 3}\n"
                              "}\n"
                              "func @main {\n"
                              "  %p = MatMul(@x, @w)\n"
                              "  Save(%p, @v)\n"
                              "}\n";
  static float x[512 * 256];
  GlowExecutable *e = compiled(large, ways[1]);
  Used used = {NULL, NULL};
  GlowParallel parallel = {wait_inside, &used, 4};
  GlowExecutionOptions o = {.size = sizeof o, .parallel = &parallel};
  CHECK(glow_state_create(e, &used.state) == GLOW_OK);
  CHECK(glow_execution_create(e, &o, &used.execution) == GLOW_OK);
  unsigned before = passed;
  CHECK(glow_execution_run(used.execution, used.state, &(GlowBuffer){x, sizeof x, NULL}, 1) ==
        GLOW_OK);
  CHECK(passed >= before + 5);
  glow_execution_destroy(used.execution);
  glow_state_destroy(used.state);
  glow_executable_release(e);
}

static void *run_until_stopped(void *execution) {
  static float x[16], y[16];
  GlowBuffer b[3] = {{x, sizeof x, NULL}, {x, sizeof x, NULL}, {y, sizeof y, NULL}};
  GlowStatus status;
  while ((status = glow_execution_run(execution, NULL, b, 3)) == GLOW_OK)
    sched_yield();
  return status == GLOW_CANCELLED ? execution : NULL;
}

/* Another thread stops a run. */
static void check_stop(const char *how) {
  GlowExecutable *e = compiled(two_inputs, how);
  GlowExecution *x = NULL;
  pthread_t thread;
  void *cancelled = NULL;
  CHECK(glow_execution_create(e, &with_outputs, &x) == GLOW_OK);
  CHECK(!pthread_create(&thread, NULL, run_until_stopped, x));
  for (int i = 0; i < 10; i++)
    sched_yield();
  glow_execution_stop(x);
  CHECK(!pthread_join(thread, &cancelled) && cancelled == x);
  EXPECT(strstr(fault_of(x), "stopped"), "%s", fault_of(x));
  glow_execution_destroy(x);
  glow_executable_release(e);
}

/* ---- Options and programs -------------------------------------------------------------------- */

typedef struct Option {
  const char *options, *says; /* NULL: they are right */
} Option;

static const Option options[] = {
    {"-O0", NULL},
    {"-O1 -exact", NULL},
    {"-O3 -fast-math -g", NULL},
    {"  --backend interp\n", NULL},
    {"-target=x86-64-v2 --tier=library --no-cache", NULL},
    {"--entry=main --max-memory=64M --threads=2 --cache-limit=10 --cache-dir=/dev/null", NULL},
    {"-remarks=codegen", NULL},
    {"-O7", "options:1:1: unknown option '-O7'; did you mean '-O0'?"},
    {"-O1 -dce", "options:1:5: unknown option '-dce'"},
    {"-O1 -exact -fast-math", "options:1:12: options '-exact' and '-fast-math' exclude each other"},
    {"-O1\n --tier", "options:2:2: option '-tier' needs a value"},
    {"-O1 --backend=vax", "options:1:5: unknown backend 'vax'; this build has: "},
    {"--tier fast", "options:1:1: --tier: 'fast' is none of"},
    {"--tier=library --backend=interp", "options:1:16: --tier: the backend interp runs no machine"},
    {"-O0 -O1 ", "options:1:5: options '-O0' and '-O1' exclude each other"},
    {"-g -target=vax", "options:1:4: unknown target 'vax'"},
    {"--threads=0", "options:1:1: option '-threads': 0 is not between 1 and 256"},
    {"--threads=many", "options:1:1: option '-threads' needs an integer, not 'many'"},
    {"--max-memory=lots", "options:1:1: option '-max-memory' needs a size such as"},
    {"-g=1", "options:1:1: option '-g' takes no value"},
    {"-O2=1", "options:1:1: option '-O2' takes no value"},
    {"-O1 'x", "options:1:5: this option has a quote that is not closed"},
    {"model", "options:1:1: 'model' is no option: options begin with '-'"},
    {"-remarks=(", "("},
};

static void check_options(void) {
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    const Option *o = &options[i];
    char said[256] = "";
    GlowExecutable *e = NULL;
    GlowStatus status = compile(two_inputs, o->options, NULL, said, &e);
    EXPECT(o->says ? status == GLOW_BAD_USAGE && !e && strstr(said, o->says) : status == GLOW_OK,
           "'%s': %s: %s", o->options, glow_status_text(status), said);
    static _Alignas(64) float memory[48];
    GlowExecution *x = NULL;
    GlowBuffer b[3] = {{memory, 64, NULL}, {memory + 16, 64, NULL}, {memory + 32, 64, NULL}};
    if (e)
      CHECK(glow_execution_create(e, NULL, &x) == GLOW_OK &&
            glow_execution_run(x, NULL, b, 3) == GLOW_OK);
    glow_execution_destroy(x);
    glow_executable_release(e);
  }
  char said[256] = "";
  GlowExecutable *e = NULL;
  CHECK(compile(two_inputs, "--entry=other", NULL, said, &e) == GLOW_BAD_INPUT && !e);
  EXPECT(strstr(said, "other"), "%s", said);
  CHECK(compile(two_inputs, "--max-memory=10", NULL, said, &e) == GLOW_BAD_INPUT && !e);
  /* Extents that are open have no program; an option closes them. */
  static const char open[] = "declare {\n  placeholder @x : float<$N>\n  placeholder @y : "
                             "float<$N>\n}\nfunc @main {\n  %r = Neg(@x)\n  Save(%r, @y)\n}\n";
  CHECK(compile(open, "--no-cache", NULL, said, &e) == GLOW_BAD_INPUT && !e);
  EXPECT(strstr(said, "@x is float<$N>, whose extents need options: -bind=N=N"), "%s", said);
  e = compiled(open, "-bind=N=5 --no-cache");
  GlowPort p;
  CHECK(port_of(e, "x", &p) == 0 && p.bytes == 20);
  glow_executable_release(e);
}

/* Two programs share a state, and a function has parameters and results. */
static void check_entries(const char *how) {
  static const char two[] = "declare {\n"
                            "  placeholder @y : float<2>\n"
                            "  variable @v : float<2> = [1.0, 2.0]\n"
                            "}\n"
                            "func @double {\n"
                            "  %d = Add(@v, @v)\n"
                            "  Save(%d, @v)\n"
                            "}\n"
                            "func @scale(%f : float<>) -> (%r : float<2>) {\n"
                            "  %p = Mul(@v, %f)\n"
                            "  return %p\n"
                            "}\n";
  GlowExecutable *e = compiled(two, how);
  CHECK(glow_executable_entry(e, 0) && !strcmp(glow_executable_entry(e, 0), "double"));
  CHECK(glow_executable_entry(e, 1) && !strcmp(glow_executable_entry(e, 1), "scale"));
  CHECK(!glow_executable_entry(e, 2) && !glow_executable_entry(NULL, 0));
  GlowPort p = {.size = sizeof p};
  GlowExecutionOptions o = with_outputs;
  GlowExecution *doubles = NULL, *scales = NULL;
  GlowState *s = NULL;
  CHECK(!glow_executable_port(e, NULL, 0, &p) && !glow_executable_port(e, "none", 0, &p));
  CHECK(glow_executable_port(e, "scale", 1, &p) && !strcmp(p.name, "f") && p.read && !p.written);
  CHECK(glow_executable_port(e, "scale", 2, &p) && !strcmp(p.name, "r") && p.written && !p.read);
  CHECK(!glow_executable_port(e, "scale", 3, &p) && !glow_executable_port(e, "double", 1, &p));
  CHECK(glow_execution_create(e, &o, &doubles) == GLOW_BAD_USAGE && !doubles);
  o.entry = "double";
  CHECK(glow_execution_create(e, &o, &doubles) == GLOW_OK);
  o.entry = "scale";
  CHECK(glow_execution_create(e, &o, &scales) == GLOW_OK);
  CHECK(glow_state_create(e, &s) == GLOW_OK);
  _Alignas(64) float f = 10;
  GlowBuffer b[2] = {{0}, {&f, sizeof f, NULL}};
  CHECK(glow_execution_run(doubles, s, NULL, 0) == GLOW_OK);
  CHECK(glow_execution_run(scales, s, b, 2) == GLOW_OK);
  const GlowBuffer *r = glow_execution_output(scales, 2);
  CHECK(r && ((const float *)r->data)[0] == 20 && ((const float *)r->data)[1] == 40);
  glow_execution_destroy(doubles);
  glow_execution_destroy(scales);
  glow_state_destroy(s);
  glow_executable_release(e);
}

/* The repository's root: __FILE__ without "test/unit/executable_test.c". */
static const char *path_to(const char *file) {
  static char path[4096];
  const char *tail = strstr(__FILE__, "test/unit/executable_test.c");
  snprintf(path, sizeof path, "%.*s%s", (int)(tail - __FILE__), __FILE__, file);
  return path;
}

/* What the first port of an executable that is written gets from ones. */
static void run_ones(GlowExecutable *e, float *y, size_t count) {
  static _Alignas(64) float ones[4096];
  GlowExecution *x = NULL;
  GlowBuffer b[8] = {{0}};
  GlowPort p = {.size = sizeof p};
  size_t n = 0, written = 8;
  for (size_t i = 0; i < 4096; i++)
    ones[i] = 1;
  for (; n < 8 && glow_executable_port(e, NULL, n, &p); n++) {
    if (p.read)
      b[n] = (GlowBuffer){ones, p.bytes, NULL};
    else if (p.written && written == 8)
      written = n;
  }
  CHECK(glow_execution_create(e, &with_outputs, &x) == GLOW_OK);
  EXPECT(glow_execution_run(x, NULL, b, n) == GLOW_OK, "%s", fault_of(x));
  const GlowBuffer *out = glow_execution_output(x, written);
  CHECK(out && out->bytes >= count * sizeof *y);
  if (out)
    memcpy(y, out->data, count * sizeof *y);
  glow_execution_destroy(x);
}

/* A model's file, its bytes in memory, and its text give the same. The bytes may go. */
static void check_sources(const char *how) {
  enum { COUNT = 2 };
  static char bytes[1 << 16];
  const char *path = path_to("test/oom/Inputs/small-cnn/model.onnx");
  GlowContext *ctx = glow_context_create();
  GlowCompileOptions o = {.size = sizeof o, .options = how};
  GlowModule *m = NULL;
  GlowExecutable *e[3] = {NULL};
  FILE *f = fopen(path, "rb");
  size_t size = f ? fread(bytes, 1, sizeof bytes, f) : 0;
  if (f)
    fclose(f);
  CHECK(glow_executable_open(ctx, path, &o, &e[0]) == GLOW_OK);
  CHECK(glow_module_load(ctx, path, &m) == GLOW_OK && glow_compile(m, &o, &e[1]) == GLOW_OK);
  CHECK(glow_module_load_bytes(ctx, "m", bytes, size, NULL, &m) == GLOW_OK);
  CHECK(glow_module_apply(m, "-O1") == GLOW_OK && glow_compile(m, &o, &e[2]) == GLOW_OK);
  glow_context_destroy(ctx);
  memset(bytes, 0, sizeof bytes);
  float want[COUNT], got[COUNT];
  run_ones(e[0], want, COUNT);
  CHECK(want[0] != want[1] || want[0] != 0);
  for (int i = 1; i < 3; i++) {
    run_ones(e[i], got, COUNT);
    CHECK(!memcmp(want, got, sizeof got));
  }
  for (int i = 0; i < 3; i++)
    glow_executable_release(e[i]);
}

/* ---- Files, and compiling while programs run ------------------------------------------------- */

/* What was written gives the same bits, with the code that it had. */
static void check_files(int m, const char *how) {
  static Results want, got;
  const char *path = scratch();
  GlowExecutable *e = compiled(models[m].text, how), *again = NULL;
  GlowExecutableInfo before = {.size = sizeof before}, after = before;
  if (strstr(how, "interp")) {
    CHECK(glow_executable_write(e, path) == GLOW_BAD_USAGE);
    glow_executable_release(e);
    return;
  }
  CHECK(glow_executable_write(e, "no/such/folder/file") == GLOW_IO);
  CHECK(glow_executable_write(e, path) == GLOW_OK);
  run(e, NULL, NULL, 0, &want);
  glow_executable_info(e, &before);
  glow_executable_release(e);
  open_written(path, "--tier=auto --no-cache", &again);
  run(again, NULL, NULL, 0, &got);
  EXPECT(same(&want, &got), "%s: what '%s' has written gives other bits", models[m].name, how);
  glow_executable_info(again, &after);
  EXPECT(before.compiled == after.compiled, "%s: %zu of %zu pieces are compiled", models[m].name,
         after.compiled, before.compiled);
  CHECK(glow_executable_write(again, path) == GLOW_OK);
  glow_executable_release(again);
  again = NULL;
  open_written(path, "--tier=library --no-cache", &again);
  run(again, NULL, NULL, 0, &got);
  CHECK(same(&want, &got));
  glow_executable_release(again);
  remove(path);
}

static void check_compile(int m, const char *how) {
  static Results want, got;
  GlowExecutable *e = compiled(models[m].text, how);
  GlowExecutableInfo info = {.size = sizeof info};
  run(e, NULL, NULL, 0, &want);
  glow_executable_info(e, &info);
  CHECK(info.compiled == 0 && glow_executable_compile(e, -1) == GLOW_BUSY);
  GlowStatus status = glow_executable_compile(e, 300);
  EXPECT(status == GLOW_OK, "%s: %s", models[m].name, glow_status_text(status));
  glow_executable_info(e, &info);
  CHECK(info.compiled > 0 && glow_executable_compile(e, 0) == GLOW_OK);
  run(e, NULL, NULL, 0, &got);
  EXPECT(same(&want, &got), "%s: compiled code gives other bits", models[m].name);
  glow_executable_release(e);
}

/* A port that is read and written, in the caller's memory at good and at odd places. */
static void check_in_place(const char *how) {
  static const char text[] = "declare {\n"
                             "  placeholder @x : float<16>\n"
                             "}\n"
                             "program @main {\n"
                             "  add @out @x, @in @x, @in @x\n"
                             "}\n";
  static _Alignas(64) float memory[32];
  GlowExecutable *e = compiled(text, how);
  GlowExecution *x = NULL;
  GlowPort p;
  CHECK(port_of(e, "x", &p) == 0 && p.read && p.written);
  CHECK(glow_execution_create(e, &with_outputs, &x) == GLOW_OK);
  for (size_t at = 0; at < 2; at++) {
    memory[at] = 3;
    memory[at + 16] = 7;
    GlowBuffer b = {memory + at, 64, NULL};
    CHECK(glow_execution_run(x, NULL, &b, 1) == GLOW_OK && memory[at] == 6);
    CHECK(glow_execution_run(x, NULL, &b, 1) == GLOW_OK && memory[at] == 12);
    CHECK(memory[at + 16] == 7);
  }
  glow_execution_destroy(x);
  glow_executable_release(e);
}

/* Every function with NULL, and structs of callers that know less. */
static void check_arguments(void) {
  GlowContext *ctx = glow_context_create();
  glow_context_set_diagnostic_fn(ctx, silent, NULL);
  GlowExecutable *e = (GlowExecutable *)ctx;
  CHECK(glow_compile(NULL, NULL, &e) == GLOW_BAD_USAGE && !e);
  CHECK(glow_executable_open(ctx, NULL, NULL, &e) == GLOW_BAD_USAGE);
  CHECK(glow_executable_open(ctx, "x", NULL, NULL) == GLOW_BAD_USAGE);
  CHECK(glow_executable_open(ctx, "/no/such/model", NULL, &e) == GLOW_IO && !e);
  CHECK(glow_context_error_count(ctx) == 1);
  glow_context_destroy(ctx);
  e = compiled(two_inputs, ways[1]);
  GlowState *s;
  GlowExecution *x;
  GlowPort p = {.size = sizeof p};
  GlowMemory m = {.size = sizeof m};
  CHECK(!glow_executable_port(NULL, NULL, 0, &p) && !glow_executable_port(e, NULL, 0, NULL));
  CHECK(!glow_executable_variable(NULL, 0, &p) && !glow_executable_variable(e, 0, NULL));
  CHECK(glow_executable_memory(NULL, NULL, 1, &m) == GLOW_BAD_USAGE &&
        glow_executable_memory(e, NULL, 0, &m) == GLOW_BAD_USAGE &&
        glow_executable_memory(e, NULL, 1, NULL) == GLOW_BAD_USAGE);
  glow_executable_info(NULL, NULL);
  CHECK(glow_executable_write(NULL, "x") == GLOW_BAD_USAGE &&
        glow_executable_write(e, NULL) == GLOW_BAD_USAGE &&
        glow_executable_compile(NULL, 0) == GLOW_BAD_USAGE);
  CHECK(!glow_executable_retain(NULL) && glow_executable_retain(e) == e);
  glow_executable_release(e);
  glow_executable_release(NULL);
  CHECK(glow_state_create(NULL, &s) == GLOW_BAD_USAGE && !s);
  CHECK(glow_state_create(e, NULL) == GLOW_BAD_USAGE && glow_state_copy(NULL, &s) && !s);
  CHECK(glow_state_get(NULL, 0, NULL) && glow_state_set(NULL, 0, NULL) && glow_state_reset(NULL));
  glow_state_destroy(NULL);
  CHECK(glow_execution_create(NULL, NULL, &x) == GLOW_BAD_USAGE && !x);
  CHECK(glow_execution_create(e, NULL, NULL) == GLOW_BAD_USAGE);
  CHECK(glow_execution_run(NULL, NULL, NULL, 0) == GLOW_BAD_USAGE);
  CHECK(!glow_execution_output(NULL, 0) && !glow_execution_time(NULL, 0, NULL));
  glow_execution_fault(NULL, NULL);
  glow_execution_destroy(NULL);
  GlowParallel nobody = {wait_inside, NULL, 0};
  GlowExecutionOptions odd = {.size = sizeof odd, .parallel = &nobody};
  CHECK(glow_execution_create(e, &odd, &x) == GLOW_BAD_USAGE && !x);
  odd = (GlowExecutionOptions){.size = sizeof odd, .memory = &odd, .bytes = 1};
  CHECK(glow_execution_create(e, &odd, &x) == GLOW_BAD_USAGE && !x);
  GlowPool *pool = (GlowPool *)e;
  CHECK(glow_pool_create(0, &pool) == GLOW_BAD_USAGE && !pool);
  CHECK(glow_pool_create(257, &pool) == GLOW_BAD_USAGE && glow_pool_create(1, NULL));
  glow_pool_destroy(NULL);
  CHECK(glow_store_create(NULL) == GLOW_BAD_USAGE);
  glow_store_destroy(NULL);
  /* A port of a caller who knows no more than its type. */
  struct {
    size_t size;
    const char *name, *type, *next;
  } small = {.size = offsetof(GlowPort, kind), .next = "untouched"};
  CHECK(glow_executable_port(e, NULL, 0, (GlowPort *)(void *)&small) && !strcmp(small.name, "a") &&
        !strcmp(small.type, "float<16>") && !strcmp(small.next, "untouched"));
  small.size = 0;
  CHECK(!glow_executable_port(e, NULL, 0, (GlowPort *)(void *)&small));
  GlowExecutionOptions older = {.size = offsetof(GlowExecutionOptions, pool), .outputs = true};
  CHECK(glow_execution_create(e, &older, &x) == GLOW_OK);
  float a[16] = {0};
  GlowBuffer b[2] = {{a, sizeof a, NULL}, {a, sizeof a, NULL}};
  CHECK(glow_execution_run(x, NULL, b, 2) == GLOW_BAD_USAGE); /* it has no outputs of its own */
  glow_execution_destroy(x);
  glow_executable_release(e);
}

int main(void) {
  check_bits();
  check_extents();
  check_ranges();
  check_rows();
  check_bounds();
  for (int w = 0; w < WAYS; w++) {
    check_refusals(ways[w]);
    check_faults(ways[w]);
    check_states(ways[w]);
    check_entries(ways[w]);
    check_sources(ways[w]);
    check_in_place(ways[w]);
    check_stop(ways[w]);
  }
  for (int m = 0; m < MODELS; m++) {
    check_compile(m, "--tier=auto --no-cache");
    for (int w = 0; w < WAYS; w++)
      check_files(m, ways[w]);
    for (int w = 0; w < WAYS; w++)
      check_threads(m, ways[w]);
    for (int w = 1; w < WAYS; w++)
      for (int threads = 1; threads < 5; threads += 3)
        check_memory(m, ways[w], threads);
  }
  check_compile(1, "--tier=auto --no-cache --isolate");
  check_store();
  check_shared_store();
  check_busy();
  check_options();
  check_arguments();
  return unit_finish();
}
