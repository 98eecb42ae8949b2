/* The public functions that read, change, inspect and write modules, and those about targets:
 * through the shared library alone. Every function is called with NULL, too. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "glow/inspect.h"
#include "glow/target.h"
#include "test/unit/unit.h"

static const char text[] = "declare {\n"
                           "  placeholder @x : float<$N x 2 x 4 x 4>\n"
                           "  placeholder @y : float<$N x 2 x 2 x 2>\n"
                           "  constant @one : float<> = splat(1.0)\n"
                           "  variable @v : i64<3> = [1, 2, 3]\n"
                           "}\n"
                           "func @main(%c : bool<>) {\n"
                           "  %p = MaxPool(@x) {kernels = [2, 2], strides = [2, 2]}\n"
                           "  %r = If(%c)\n"
                           "    ^then {\n"
                           "      %n = Neg(%p)\n"
                           "      yield %n\n"
                           "    }\n"
                           "    ^else {\n"
                           "      yield %p\n"
                           "    }\n"
                           "  Save(%r, @y)\n"
                           "}\n";

static void silent(void *user, const GlowDiagnostic *d) {
  (void)user;
  (void)d;
}

static GlowContext *new_context(void) {
  GlowContext *ctx = glow_context_create();
  glow_context_set_diagnostic_fn(ctx, silent, NULL);
  return ctx;
}

static GlowModule *load(GlowContext *ctx, const char *bytes) {
  GlowModule *m = NULL;
  CHECK(glow_module_load_bytes(ctx, "net.gg", bytes, strlen(bytes), NULL, &m) == GLOW_OK && m);
  return m;
}

/* The last error that the context keeps, and its place. */
static bool last_error_is(const GlowContext *ctx, const char *file, unsigned line, unsigned col,
                          const char *part) {
  GlowDiagnostic d = {.size = sizeof d};
  size_t i = glow_context_diagnostics(ctx);
  while (i-- && glow_context_diagnostic(ctx, i, &d))
    if (d.severity == GLOW_ERROR) {
      bool same = d.loc.file && strcmp(d.loc.file, file) == 0 && d.loc.line == line &&
                  d.loc.col == col && strstr(d.message, part);
      if (!same)
        printf("got %s:%u:%u: %s\n", d.loc.file ? d.loc.file : "-", d.loc.line, d.loc.col,
               d.message);
      return same;
    }
  return false;
}

static char *read_file(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  char *data = f ? malloc(1 << 20) : NULL;
  *size = data ? fread(data, 1, 1 << 20, f) : 0;
  if (f)
    fclose(f);
  return data;
}

static bool text_has(GlowModule *m, const char *part) {
  char *out = NULL;
  size_t size = 0;
  bool has = glow_module_to_text(m, &out, &size) == GLOW_OK && strstr(out, part);
  free(out);
  return has;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The repository's root: __FILE__ without "test/unit/api_test.c". */
static const char *path_to(const char *file) {
  static char path[4096];
  const char *tail = strstr(__FILE__, "test/unit/api_test.c");
  snprintf(path, sizeof path, "%.*s%s", (int)(tail - __FILE__), __FILE__, file);
  return path;
}

static void test_load(void) {
  GlowContext *ctx = new_context();
  GlowModule *m = load(ctx, text);
  CHECK(text_has(m, "func @main"));
  size_t size;
  char *model = read_file(path_to("test/oom/Inputs/small-cnn/model.onnx"), &size);
  CHECK(model && size > 100);
  GlowModule *onnx = NULL;
  CHECK(glow_module_load_bytes(ctx, "small.onnx", model, size, NULL, &onnx) == GLOW_OK && onnx);
  CHECK(onnx && text_has(onnx, "Conv"));

  /* Every prefix of a model is refused, or is a model; nothing is read beyond it. */
  unsigned refused = 0;
  for (size_t n = 0; n < size; n++) {
    GlowContext *own = new_context();
    char *part = malloc(n ? n : 1);
    memcpy(part, model, n);
    GlowModule *got = (GlowModule *)part;
    GlowStatus status = glow_module_load_bytes(own, NULL, part, n, NULL, &got);
    CHECK(status == GLOW_OK ? got != NULL : status == GLOW_BAD_INPUT && !got);
    CHECK(status == GLOW_OK || glow_context_diagnostics(own) > 0);
    refused += status != GLOW_OK;
    glow_context_destroy(own);
    free(part);
  }
  CHECK(refused > size / 2);
  GlowModule *bad = m;
  CHECK(glow_module_load_bytes(ctx, "odd", "\x7f" "ELF\1\2\3", 7, NULL, &bad) == GLOW_BAD_INPUT &&
        !bad);
  CHECK(last_error_is(ctx, "odd", 0, 0, "neither an ONNX model nor a text"));
  CHECK(glow_module_load_bytes(ctx, "a.gg", "\nfunk {", 7, "/dir", &bad) == GLOW_BAD_INPUT && !bad);
  CHECK(last_error_is(ctx, "/dir/a.gg", 2, 1, "funk"));
  CHECK(glow_module_load_bytes(ctx, "n", NULL, 0, NULL, &bad) == GLOW_BAD_INPUT && !bad);
  CHECK(last_error_is(ctx, "n", 1, 1, "the text is empty"));
  CHECK(glow_module_load_bytes(NULL, "n", text, 1, NULL, &bad) == GLOW_BAD_USAGE && !bad);
  CHECK(glow_module_load_bytes(ctx, "n", NULL, 1, NULL, &bad) == GLOW_BAD_USAGE);
  CHECK(glow_module_load_bytes(ctx, "n", text, 1, NULL, NULL) == GLOW_BAD_USAGE);
  CHECK(glow_module_load(NULL, "f", &bad) == GLOW_BAD_USAGE && !bad);
  CHECK(glow_module_load(ctx, NULL, &bad) == GLOW_BAD_USAGE);
  CHECK(glow_module_load(ctx, "f", NULL) == GLOW_BAD_USAGE);
  CHECK(glow_module_load_text(NULL, "n", text, 1, &bad) == GLOW_BAD_USAGE);
  CHECK(glow_module_load_text(ctx, NULL, text, 1, &bad) == GLOW_BAD_USAGE);
  CHECK(glow_module_load_text(ctx, "n", NULL, 1, &bad) == GLOW_BAD_USAGE);
  CHECK(glow_module_load_text(ctx, "n", text, 1, NULL) == GLOW_BAD_USAGE);
  char *out = NULL;
  CHECK(glow_module_run_passes(NULL, "dce") == GLOW_BAD_USAGE);
  CHECK(glow_module_run_passes(m, NULL) == GLOW_BAD_USAGE);
  CHECK(glow_module_check(NULL) == GLOW_BAD_USAGE);
  CHECK(glow_module_to_text(NULL, &out, &size) == GLOW_BAD_USAGE);
  CHECK(glow_module_to_text(m, NULL, &size) == GLOW_BAD_USAGE);
  CHECK(glow_module_to_text(m, &out, NULL) == GLOW_BAD_USAGE && !out);
  glow_context_destroy(ctx);
  free(model);
}

/* Weights beside a text are found through `base`, as `save` writes their path. */
static void test_save(void) {
  char folder[] = "/tmp/glow-api-XXXXXX", path[64];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/w.safetensors", folder);
  static const char weights[] = "\x38\0\0\0\0\0\0\0"
                                "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}  "
                                "\0\0\x80\x3f\0\0\0\x40";
  FILE *f = fopen(path, "wb");
  CHECK(f && fwrite(weights, 1, sizeof weights - 1, f) == sizeof weights - 1 && fclose(f) == 0);
  static const char with_weights[] =
      "declare {\n  constant @w : float<2> = resource(\"w.safetensors\", \"w\")\n}\n";
  GlowContext *ctx = new_context();
  GlowModule *m = NULL;
  CHECK(glow_module_load_bytes(ctx, "m.gg", with_weights, sizeof with_weights - 1, "/nowhere",
                               &m) == GLOW_BAD_INPUT && !m);
  CHECK(glow_module_load_bytes(ctx, "m.gg", with_weights, sizeof with_weights - 1, folder, &m) ==
            GLOW_OK && m);
  char saved[64];
  snprintf(saved, sizeof saved, "%s/saved.gg", folder);
  CHECK(glow_module_save(m, saved) == GLOW_OK);
  size_t size;
  char *again = read_file(saved, &size);
  CHECK(size == sizeof with_weights - 1 && memcmp(again, with_weights, size) == 0);
  free(again);
  unlink(saved);
  unlink(path);
  CHECK(glow_module_save(m, "/nowhere/at/all.gg") == GLOW_IO);
  CHECK(glow_context_diagnostics(ctx) > 0);
  CHECK(glow_module_save(NULL, saved) == GLOW_BAD_USAGE);
  CHECK(glow_module_save(m, NULL) == GLOW_BAD_USAGE);
  GlowModule *broken = glow_module_new(ctx, NULL);
  CHECK(!glow_add_placeholder(broken, "p", "flat<2>"));
  CHECK(glow_module_save(broken, saved) == GLOW_BAD_INPUT && access(saved, F_OK) != 0);
  CHECK(glow_module_apply(broken, "-dce") == GLOW_BAD_INPUT);
  CHECK(rmdir(folder) == 0);
  glow_context_destroy(ctx);
}

/* ---- Options --------------------------------------------------------------------------------- */
static void test_apply(void) {
  GlowContext *ctx = new_context();
  GlowModule *m = load(ctx, text);
  CHECK(glow_module_apply(m, "") == GLOW_OK && text_has(m, "float<$N x 2 x 4 x 4>"));
  CHECK(glow_module_apply(m, "  -bind=N=8\n--target x86-64-v3\t'-O1' -exact") == GLOW_OK);
  CHECK(text_has(m, "float<8 x 2 x 4 x 4>") && text_has(m, "target = \"x86-64-v3\""));
  CHECK(glow_module_apply(m, "-passes='dce,cse'") == GLOW_OK);

  static const struct {
    const char *options, *file;
    unsigned col;
    const char *error;
  } bad[] = {
      {"-dce -no-such", "options", 6, "unknown option '-no-such'"},
      {"-dcee", "options", 1, "did you mean '-dce'?"},
      {" dce", "options", 2, "options begin with '-'"},
      {"-", "options", 1, "options begin with '-'"},
      {"---dce", "options", 1, "options begin with '-'"},
      {"-target=vax", "options", 1, "unknown target 'vax'"},
      {"-dce -target", "options", 6, "option '-target' needs a value"},
      {"-dce '-cse", "options", 6, "a quote that is not closed"},
      {"-passes=\\", "options", 1, "a backslash at the end"},
      {"-O1 -O2", "options", 5, "a level is given once"},
      {"-O1=3", "options", 1, "takes no value"},
      {"-exact -fast-math", "options", 8, "exclude each other"},
      {"-passes=dce -cse", "options", 13, "not both"},
      {"-passes=dce,", "-passes", 5, ""},
      {"-help", "options", 1, "unknown option '-help'"},
      {"-dce @file", "options", 6, "options begin with '-'"},
      {"-bind=N=8;?", "-bind", 5, ""},
  };
  char *before = NULL, *after = NULL;
  size_t size;
  CHECK(glow_module_to_text(m, &before, &size) == GLOW_OK);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    GlowStatus status = glow_module_apply(m, bad[i].options);
    EXPECT(status == GLOW_BAD_USAGE, "'%s' gives %d", bad[i].options, (int)status);
    EXPECT(last_error_is(ctx, bad[i].file, 1, bad[i].col, bad[i].error), "of '%s'",
           bad[i].options);
  }
  CHECK(glow_module_apply(m, "-dce\n  -odd") == GLOW_BAD_USAGE);
  CHECK(last_error_is(ctx, "options", 2, 3, "unknown option '-odd'"));
  CHECK(glow_module_to_text(m, &after, &size) == GLOW_OK && strcmp(before, after) == 0);
  free(before);
  free(after);
  CHECK(glow_module_apply(NULL, "") == GLOW_BAD_USAGE);
  CHECK(glow_module_apply(m, NULL) == GLOW_BAD_USAGE);
  glow_context_destroy(ctx);
}

/* ---- Inspection ------------------------------------------------------------------------------ */
static bool same(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

static bool type_is(const GlowValue *v, const char *want) {
  char *got = NULL;
  bool ok = glow_get_type(v, &got) == GLOW_OK && same(got, want);
  free(got);
  return ok;
}

static bool member_is(const GlowNode *n, const char *name, const char *want) {
  char *got = NULL;
  bool ok = glow_get_member(n, name, &got) == GLOW_OK && same(got, want);
  if (!ok)
    printf("%s is %s\n", name, got ? got : "nothing");
  free(got);
  return ok;
}

static void test_inspect(void) {
  GlowContext *ctx = new_context();
  GlowModule *m = load(ctx, text);
  const char *name = NULL;
  CHECK(glow_count_functions(m) == 1 && glow_count_storage(m) == 4);
  GlowBlock *f = glow_get_function(m, 0, &name);
  CHECK(f && same(name, "main") && glow_get_function(m, 0, NULL) == f);
  CHECK(same(glow_get_function_kind(m, 0), "func"));
  static const char *const storage[][3] = {{"x", "placeholder", "float<$N x 2 x 4 x 4>"},
                                           {"y", "placeholder", "float<$N x 2 x 2 x 2>"},
                                           {"one", "constant", "float<>"},
                                           {"v", "variable", "i64<3>"}};
  for (size_t i = 0; i < 4; i++) {
    GlowValue *v = glow_get_storage(m, i);
    CHECK(same(glow_get_name(v), storage[i][0]) && same(glow_get_value_kind(v), storage[i][1]) &&
          type_is(v, storage[i][2]));
  }
  GlowValue *c = glow_get_param(f, 0);
  CHECK(glow_count_params(f) == 1 && same(glow_get_name(c), "c") && type_is(c, "bool<>") &&
        same(glow_get_value_kind(c), "parameter"));

  GlowNode *pool = glow_get_first_node(f), *branch = glow_get_next_node(pool);
  CHECK(same(glow_get_op(pool), "MaxPool") && glow_count_ins(pool) >= 1 &&
        glow_get_in(pool, 0) == glow_get_storage(m, 0) && glow_count_regions(pool) == 0);
  CHECK(same(glow_get_name(glow_get_out(pool, 0)), "p") &&
        same(glow_get_value_kind(glow_get_out(pool, 0)), "result") &&
        type_is(glow_get_out(pool, 0), "float<$N x 2 x 2 x 2>"));
  CHECK(member_is(pool, "kernels", "[2, 2]") && member_is(pool, "strides", "[2, 2]"));
  char *none = (char *)text;
  CHECK(glow_get_member(pool, "odd", &none) == GLOW_BAD_USAGE && !none);
  CHECK(glow_get_member(pool, "shards", &none) == GLOW_BAD_USAGE && !none);
  CHECK(same(glow_get_op(branch), "If") && glow_count_regions(branch) == 2 &&
        glow_get_in(branch, 0) == c);
  GlowNode *inner = glow_get_first_node(glow_get_region(branch, 0));
  CHECK(same(glow_get_op(inner), "Neg") && glow_get_in(inner, 0) == glow_get_out(pool, 0));
  GlowNode *end = glow_get_next_node(inner);
  CHECK(same(glow_get_op(end), "yield") && glow_count_ins(end) == 1 && !glow_get_next_node(end));
  GlowNode *save = glow_get_next_node(branch);
  CHECK(same(glow_get_op(save), "Save") && glow_count_outs(save) == 0);

  static const char graph[] = "declare {\n  placeholder @x : float<8>\n"
                              "  placeholder @y : float<8>\n"
                              "}\nfunc @main {\n  %r = Relu(@x)\n  Save(%r, @y)\n}\n";
  GlowModule *program = load(ctx, graph);
  CHECK(glow_module_apply(program, "-irgen -O1") == GLOW_OK);
  CHECK(same(glow_get_function_kind(program, 0), "program"));
  GlowNode *relu = glow_get_first_node(glow_get_function(program, 0, NULL));
  while (relu && !same(glow_get_op(relu), "relu"))
    relu = glow_get_next_node(relu);
  CHECK(relu && glow_count_outs(relu) == 1 && glow_count_ins(relu) == 1);
  CHECK(glow_get_in(relu, 0) == glow_get_storage(program, 0) &&
        glow_get_out(relu, 0) == glow_get_storage(program, 1));
  CHECK(glow_get_member(relu, "shards", &none) == GLOW_OK && none && *none >= '0' && *none <= '9');
  free(none);

  CHECK(!glow_get_function(m, 1, &name) && !name && !glow_get_function_kind(m, 1));
  CHECK(!glow_get_storage(m, 4) && !glow_get_storage(m, SIZE_MAX) && !glow_get_param(f, 1));
  CHECK(!glow_get_in(pool, 1000) && !glow_get_out(pool, SIZE_MAX) && !glow_get_region(pool, 0) &&
        !glow_get_region(branch, (size_t)1 << 32) && !glow_get_out(pool, (size_t)1 << 32));
  glow_context_destroy(ctx);
}

static void test_null(void) {
  char *none = (char *)text;
  const char *name = text;
  CHECK(glow_count_functions(NULL) == 0 && !glow_get_function(NULL, 0, &name) && !name);
  CHECK(!glow_get_function_kind(NULL, 0) && glow_count_storage(NULL) == 0);
  CHECK(!glow_get_storage(NULL, 0) && glow_count_params(NULL) == 0 && !glow_get_param(NULL, 0));
  CHECK(!glow_get_first_node(NULL) && !glow_get_next_node(NULL) && !glow_get_op(NULL));
  CHECK(glow_count_ins(NULL) == 0 && !glow_get_in(NULL, 0) && glow_count_outs(NULL) == 0 &&
        !glow_get_out(NULL, 0) && glow_count_regions(NULL) == 0 && !glow_get_region(NULL, 0));
  CHECK(glow_get_member(NULL, "kernels", &none) == GLOW_BAD_USAGE && !none);
  none = (char *)text;
  CHECK(glow_get_type(NULL, &none) == GLOW_BAD_USAGE && !none);
  CHECK(!glow_get_name(NULL) && !glow_get_value_kind(NULL));
}

/* ---- Targets --------------------------------------------------------------------------------- */
static void test_targets(void) {
  size_t count = 0;
  bool v3 = false, interp = false, host = false;
  for (const char *name; (name = glow_target_name(count)); count++) {
    v3 |= same(name, "x86-64-v3");
    interp |= same(name, "interp");
    host |= same(name, glow_target_host("cpu"));
  }
  CHECK(count > 3 && v3 && interp && !glow_target_name(count) && !glow_target_name(SIZE_MAX));
  CHECK(host == (glow_target_host("cpu") != NULL) && !glow_target_host("vax"));
  CHECK(same(glow_target_host(NULL), glow_target_host("cpu")) || !glow_target_host("cpu"));
  CHECK(!glow_target_absent("interp"));
  CHECK(!glow_target_host("cpu") || !glow_target_absent(glow_target_host("cpu")));
  CHECK(same(glow_target_absent("vax"), "there is no such target"));
  CHECK(same(glow_target_absent(NULL), "there is no such target"));
#ifdef __x86_64__
  CHECK(glow_target_absent("aarch64") != NULL);
#endif
}

int main(void) {
  test_load();
  test_save();
  test_apply();
  test_inspect();
  test_null();
  test_targets();
  return unit_finish();
}
