/* Tests of lib/import/onnx that need no tool: models made here and models of the repository and of
 * ONNX's corpus, cut off at every byte, with every bit flipped, with bytes replaced and pieces
 * repeated. Whatever comes out must be a module that verifies and survives printing, or a
 * diagnostic. Then .pb files: written, read back, damaged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/onnx/onnx.h"
#include "support/diag.h"
#include "support/file.h"
#include "test/unit/unit.h"

/* ---- Bytes ----------------------------------------------------------------------------------- */

typedef struct Bytes {
  unsigned char data[1 << 17];
  size_t size;
} Bytes;

static void put(Bytes *b, const void *data, size_t size) {
  if (size > sizeof b->data - b->size)
    abort();
  memcpy(b->data + b->size, data, size);
  b->size += size;
}

static void put_varint(Bytes *b, unsigned long long v) {
  for (; v >= 0x80; v >>= 7)
    put(b, &(unsigned char){(unsigned char)(v | 0x80)}, 1);
  put(b, &(unsigned char){(unsigned char)v}, 1);
}

static void put_int(Bytes *b, unsigned field, long long v) {
  put_varint(b, field << 3);
  put_varint(b, (unsigned long long)v);
}

static void put_bytes(Bytes *b, unsigned field, const void *data, size_t size) {
  put_varint(b, field << 3 | 2);
  put_varint(b, size);
  put(b, data, size);
}

static void put_str(Bytes *b, unsigned field, const char *s) { put_bytes(b, field, s, strlen(s)); }
static void put_message(Bytes *b, unsigned field, const Bytes *m) {
  put_bytes(b, field, m->data, m->size);
}

/* Scratch messages; each function below empties the one that it fills. */
static Bytes tensor, attribute, node, info, graph, inner, function, model;

static void make_info(const char *name, long long extent, const char *symbol) {
  static Bytes dim, shape, type, outer;
  dim.size = shape.size = type.size = outer.size = info.size = 0;
  if (symbol)
    put_str(&dim, 2, symbol);
  else
    put_int(&dim, 1, extent);
  put_message(&shape, 1, &dim);
  put_int(&type, 1, 1);
  put_message(&type, 2, &shape);
  put_message(&outer, 1, &type);
  put_str(&info, 1, name);
  put_message(&info, 2, &outer);
}

static void start_node(const char *op, const char *domain, const char *a, const char *b,
                       const char *out) {
  node.size = 0;
  if (a)
    put_str(&node, 1, a);
  if (b)
    put_str(&node, 1, b);
  put_str(&node, 2, out);
  put_str(&node, 4, op);
  if (domain)
    put_str(&node, 7, domain);
}

static void put_graph_attribute(const char *name, const Bytes *g) {
  attribute.size = 0;
  put_str(&attribute, 1, name);
  put_message(&attribute, 6, g);
  put_int(&attribute, 20, 5);
  put_message(&node, 5, &attribute);
}

static void put_tensor_attribute(void) {
  attribute.size = 0;
  put_str(&attribute, 1, "value");
  put_message(&attribute, 5, &tensor);
  put_int(&attribute, 20, 4);
  put_message(&node, 5, &attribute);
}

static void make_tensor(const char *name, bool raw) {
  float values[] = {1.0f, -2.5f};
  tensor.size = 0;
  put_int(&tensor, 1, 2);
  put_int(&tensor, 2, 1);
  put_bytes(&tensor, raw ? 9 : 4, values, sizeof values);
  put_str(&tensor, 8, name);
}

/* A branch: one node over a captured value. */
static void make_branch(const char *op, const char *out) {
  Bytes saved = node;
  inner.size = 0;
  start_node(op, NULL, "sum", NULL, out);
  put_message(&inner, 1, &node);
  make_info(out, 2, NULL);
  put_message(&inner, 12, &info);
  node = saved;
}

/* Initializers of both kinds, a constant, a condition, branches, a local function. */
static void make_model(void) {
  graph.size = function.size = model.size = 0;
  start_node("Add", NULL, "x", "w", "sum");
  put_message(&graph, 1, &node);
  start_node("Constant", NULL, NULL, NULL, "flag");
  tensor.size = 0;
  put_int(&tensor, 2, 9);
  put_bytes(&tensor, 9, "\1", 1);
  put_tensor_attribute();
  put_message(&graph, 1, &node);
  start_node("If", NULL, "flag", NULL, "chosen");
  make_branch("Relu", "r");
  put_graph_attribute("then_branch", &inner);
  make_branch("Neg", "m");
  put_graph_attribute("else_branch", &inner);
  put_message(&graph, 1, &node);
  start_node("twice", "local", "chosen", NULL, "y");
  put_str(&node, 3, "call");
  put_message(&graph, 1, &node);
  put_str(&graph, 2, "g");
  make_tensor("w", true);
  put_message(&graph, 5, &tensor);
  make_tensor("v", false);
  put_message(&graph, 5, &tensor);
  make_info("x", 0, "N");
  put_message(&graph, 11, &info);
  make_info("y", 2, NULL);
  put_message(&graph, 12, &info);

  put_str(&function, 1, "twice");
  put_str(&function, 4, "p");
  put_str(&function, 5, "q");
  start_node("Add", NULL, "p", "p", "q");
  put_message(&function, 7, &node);
  Bytes opset = {.size = 0};
  put_int(&opset, 2, 17);
  put_message(&function, 9, &opset);
  put_str(&function, 10, "local");

  put_int(&model, 1, 8);
  put_message(&model, 7, &graph);
  put_message(&model, 8, &opset);
  put_message(&model, 25, &function);
}

/* ---- One import ------------------------------------------------------------------------------ */

typedef struct Run {
  const char *data;
  size_t size;
  bool accepted, sound;
} Run;

static unsigned reported;
static char last_error[512];

static void count_errors(void *user, const GlowDiagnostic *d) {
  (void)user;
  if (d->severity != GLOW_ERROR)
    return;
  reported++;
  snprintf(last_error, sizeof last_error, "%s", d->message);
}

static void import_body(GlowContext *ctx, void *arg) {
  Run *run = arg;
  GlowInput in = {.name = "mutant.onnx", .data = run->data, .size = run->size};
  GlowModule *m = glow_onnx_import(ctx, &in, NULL);
  run->accepted = m != NULL;
  run->sound = !m || !glow_module_verify(m) || glow_module_verify_roundtrip(m);
}

/* True if the bytes are a module, or wrong in a way that was told. */
static bool survives(const void *data, size_t size, bool *accepted) {
  char *copy = malloc(size + 1); /* of exactly this size, so that reads behind it are seen */
  if (!copy)
    abort();
  memcpy(copy, data, size);
  copy[size] = '\0';
  GlowContext *ctx = glow_context_create();
  Run run = {.data = copy, .size = size};
  reported = 0;
  glow_context_set_diagnostic_fn(ctx, count_errors, NULL);
  GlowStatus status = glow_protect(ctx, import_body, &run);
  glow_context_destroy(ctx);
  free(copy);
  if (accepted)
    *accepted = run.accepted && reported == 0;
  return status == GLOW_OK && run.sound && (run.accepted || reported > 0);
}

/* ---- Mutations ------------------------------------------------------------------------------- */

static uint32_t random_state = 1;
static uint32_t draw(uint32_t below) {
  random_state = random_state * 1664525u + 1013904223u;
  return (random_state >> 8) % below;
}

/* Every `step`-th prefix and every bit of every `step`-th byte. */
static void cut_and_flip(const Bytes *b, size_t step) {
  static Bytes work;
  for (size_t n = 0; n < b->size; n += step)
    CHECK(survives(b->data, n, NULL));
  work = *b;
  for (size_t i = 0; i < b->size; i += step)
    for (unsigned bit = 0; bit < 8; bit++) {
      work.data[i] = (unsigned char)(b->data[i] ^ (1u << bit));
      CHECK(survives(work.data, work.size, NULL));
      work.data[i] = b->data[i];
    }
}

/* `count` random edits: bytes replaced by ones that matter to varints, pieces repeated or left
 * out. */
static void edit(const Bytes *b, unsigned count) {
  static const unsigned char nasty[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0x0a, 0x12, 0x08};
  static Bytes work;
  for (unsigned i = 0; i < count; i++) {
    uint32_t from = draw((uint32_t)b->size), length = draw(64);
    length = from + length > b->size ? (uint32_t)(b->size - from) : length;
    work = *b;
    switch (draw(3)) {
    case 0:
      for (unsigned k = 0; k < 3; k++)
        work.data[draw((uint32_t)b->size)] = nasty[draw(sizeof nasty)];
      break;
    case 1:
      memmove(work.data + from, work.data + from + length, b->size - from - length);
      work.size -= length;
      break;
    default:
      work.size = from + length;
      put(&work, b->data + from, b->size - from);
    }
    CHECK(survives(work.data, work.size, NULL));
  }
}

static bool load(const char *path, Bytes *b) {
  FILE *f = fopen(path, "rb");
  if (!f)
    return false;
  b->size = fread(b->data, 1, sizeof b->data - 4096, f);
  fclose(f);
  return b->size > 0;
}

static void mutate_file(const char *path, size_t step, unsigned edits) {
  static Bytes b;
  bool accepted = false;
  if (!load(path, &b)) {
    printf("skipped: %s\n", path);
    return;
  }
  CHECK(survives(b.data, b.size, &accepted));
  CHECK(accepted);
  cut_and_flip(&b, step);
  edit(&b, edits);
}

/* GLOW_UNBOUNDED is set in sanitizer builds, which are slow. */
static size_t stride(size_t n) { return getenv("GLOW_UNBOUNDED") ? 4 * n : n; }

static void test_mutations(void) {
  static const char *const cases[] = {"node/test_if_opt",
                                      "node/test_loop13_seq",
                                      "node/test_scan_sum",
                                      "node/test_training_dropout_mask",
                                      "simple/test_strnorm_model_monday_casesensintive_lower",
                                      "node/test_bernoulli_expanded",
                                      "pytorch-operator/test_operator_addmm"};
  bool accepted = false;
  make_model();
  CHECK(survives(model.data, model.size, &accepted));
  CHECK(accepted);
  cut_and_flip(&model, 1);
  edit(&model, 2000);
  char path[4096];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    snprintf(path, sizeof path, "/usr/share/libonnx-testdata/data/%s/model.onnx", cases[i]);
    mutate_file(path, stride(7), 200);
  }
  const char *slash = strrchr(__FILE__, '/');
  snprintf(path, sizeof path, "%.*s/../../examples/digits/digits-cnn.onnx",
           slash ? (int)(slash - __FILE__) : 1, slash ? __FILE__ : ".");
  mutate_file(path, stride(1001), 100);
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

/* Messages within messages, each the only field of the outer one. */
static void test_nesting(void) {
  enum { DEPTH = 1000000 };
  unsigned char *bytes = malloc(8 * (size_t)DEPTH), *end = bytes + 8 * (size_t)DEPTH, *p = end;
  if (!bytes)
    abort();
  for (unsigned i = 0; i < DEPTH; i++) { /* from the innermost to graph, node, attribute, g, ... */
    static const unsigned char tags[] = {1 << 3 | 2, 5 << 3 | 2, 6 << 3 | 2};
    unsigned char length[10];
    size_t n = 0, size = (size_t)(end - p);
    for (; size >= 0x80; size >>= 7)
      length[n++] = (unsigned char)(size | 0x80);
    length[n++] = (unsigned char)size;
    p -= n;
    memcpy(p, length, n);
    *--p = i + 1 == DEPTH ? 7 << 3 | 2 : tags[(DEPTH - 2 - i) % 3];
  }
  CHECK(survives(p, (size_t)(end - p), NULL));
  CHECK(strstr(last_error, "nested too deeply") != NULL);
  free(bytes);
}

/* 10 MB of empty submessages, in each place that repeats. */
static void test_empty_messages(void) {
  enum { SIZE = 10 << 20 };
  unsigned char *bytes = malloc(SIZE + 16);
  if (!bytes)
    abort();
  static const unsigned char top[] = {8, 14, 20, 25};             /* fields of ModelProto */
  static const unsigned char in_graph[] = {1, 5, 11, 12, 13, 15}; /* of GraphProto */
  for (unsigned c = 0; c < sizeof top + sizeof in_graph; c++) {
    size_t start = 0;
    unsigned tag = (c < sizeof top ? top[c] : in_graph[c - sizeof top]) << 3 | 2;
    size_t item = tag < 0x80 ? 2 : 3, count = (SIZE - 16) / item;
    if (c >= sizeof top) {
      size_t length = count * item;
      bytes[start++] = 7 << 3 | 2;
      for (; length >= 0x80; length >>= 7)
        bytes[start++] = (unsigned char)(length | 0x80);
      bytes[start++] = (unsigned char)length;
    }
    for (size_t i = 0; i < count; i++) {
      if (item == 3)
        bytes[start++] = (unsigned char)(tag | 0x80);
      bytes[start++] = (unsigned char)(item == 3 ? tag >> 7 : tag);
      bytes[start++] = 0;
    }
    CHECK(survives(bytes, start, NULL));
  }
  free(bytes);
}

/* ---- .pb files ------------------------------------------------------------------------------- */

typedef struct PbRun {
  const char *data;
  size_t size;
  const GlowType *(*type)(GlowContext *);
  GlowTensor *(*make)(GlowContext *);
  bool same;
} PbRun;

static const GlowType *sequence_type(GlowContext *ctx) {
  return glow_type_opt(ctx, glow_type_seq(ctx, glow_type_unranked(ctx, GLOW_KIND_STRING), -1));
}

static GlowTensor *sequence_value(GlowContext *ctx) {
  GlowTensor *t =
      glow_tensor_create(ctx, glow_type_exact(ctx, GLOW_KIND_STRING, 1, (int64_t[]){2}));
  glow_tensor_set_string(ctx, t, 0, "a\0b", 3);
  glow_tensor_set_string(ctx, t, 1, "", 0);
  GlowTensor *seq = glow_tensor_create(ctx, sequence_type(ctx)->elem);
  glow_tensor_append(ctx, seq, t);
  GlowTensor *opt = glow_tensor_create(ctx, sequence_type(ctx));
  glow_tensor_append(ctx, opt, seq);
  return opt;
}

static const GlowType *bfloat_type(GlowContext *ctx) {
  return glow_type_exact(ctx, GLOW_KIND_BFLOAT16, 2, (int64_t[]){1, 3});
}

static GlowTensor *bfloat_value(GlowContext *ctx) {
  GlowTensor *t = glow_tensor_create(ctx, bfloat_type(ctx));
  static const uint16_t bits[] = {0x3f80, 0xc000, 0x7fc0};
  memcpy(t->data, bits, sizeof bits);
  return t;
}

static void round_trip(GlowContext *ctx, void *arg) {
  PbRun *run = arg;
  GlowTensor *t = run->make(ctx);
  GlowText text;
  glow_text_init(&text, ctx);
  glow_pb_write(&text, t, glow_str(ctx, "name"));
  GlowTensor *back = glow_pb_read(ctx, "x.pb", text.data, text.size, run->type(ctx));
  run->same = back && glow_tensor_same_bits(t, back);
  glow_tensor_free(back);
  for (size_t n = 0; n < text.size; n++) { /* prefixes: an error, or fewer elements */
    GlowTensor *part = glow_pb_read(ctx, "x.pb", text.data, n, run->type(ctx));
    run->same &= !part || !glow_tensor_same_bits(t, part);
    glow_tensor_free(part);
  }
  glow_text_release(&text);
  glow_tensor_free(t);
}

/* ONNX's corpus stores some bfloat16 as 16-bit integers. */
static void read_bits(GlowContext *ctx, void *arg) {
  PbRun *run = arg;
  static const unsigned char bytes[] = {0x08, 0x01, 0x10, 0x04, 0x4a, 0x02, 0x80, 0x3f};
  GlowTensor *t = glow_pb_read(ctx, "x.pb", (const char *)bytes, sizeof bytes,
                               glow_type_exact(ctx, GLOW_KIND_BFLOAT16, 1, (int64_t[]){1}));
  run->same = t && t->type->kind == GLOW_KIND_BFLOAT16 && glow_tensor_get_double(t, 0) == 1.0;
  glow_tensor_free(t);
  t = glow_pb_read(ctx, "x.pb", (const char *)bytes, sizeof bytes,
                   glow_type_exact(ctx, GLOW_KIND_FLOAT, 1, (int64_t[]){1}));
  run->same &= t == NULL;
}

static void run_pb(void (*body)(GlowContext *, void *), PbRun run) {
  GlowContext *ctx = glow_context_create();
  glow_context_set_diagnostic_fn(ctx, count_errors, NULL);
  CHECK(glow_protect(ctx, body, &run) == GLOW_OK);
  CHECK(run.same);
  glow_context_destroy(ctx);
}

static void test_pb(void) {
  run_pb(round_trip, (PbRun){.type = sequence_type, .make = sequence_value});
  run_pb(round_trip, (PbRun){.type = bfloat_type, .make = bfloat_value});
  run_pb(read_bits, (PbRun){.same = false});
}

static void test_sniffing(void) {
  static const char text[] = "module \"x\"\nfunc @main {\n}\n";
  CHECK(!glow_onnx_is_model(text, sizeof text - 1));
  CHECK(!glow_onnx_is_model("\n; a comment", 12));
  CHECK(!glow_onnx_is_model("", 0));
  make_model();
  CHECK(glow_onnx_is_model((const char *)model.data, model.size));
  static const char *const right[] = {"N=8", "a=b=..4", "N=1..8", "N=0..9 step 3;M=2", "M=N;N=$K"};
  static const char *const wrong[] = {"N",     "N=x y",        "=1",    "N=8..1", "N=1..8 step 3",
                                      "N=1..", "N=1..8 steps", "N=8;M", "N=8;",   "N=1..9 step 0"};
  GlowContext *ctx = glow_context_create();
  for (size_t i = 0; i < sizeof right / sizeof *right; i++)
    CHECK(glow_onnx_bind_valid(ctx, right[i]));
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    CHECK(!glow_onnx_bind_valid(ctx, wrong[i]));
  glow_context_destroy(ctx);
  CHECK(glow_onnx_bind_input_valid("x=1x..3x5") && glow_onnx_bind_input_valid("x="));
  CHECK(!glow_onnx_bind_input_valid("x=1x") && !glow_onnx_bind_input_valid("x=1x2x3x4x5x6x7x8x9"));
}

int main(void) {
  test_sniffing();
  test_pb();
  test_nesting();
  test_empty_messages();
  test_mutations();
  return unit_finish();
}
