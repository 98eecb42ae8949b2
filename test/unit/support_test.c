/* Tests of lib/support that need no tool: each CHECK is one fact. The program links with wrapped
 * malloc functions, so that the last test can let each allocation fail in turn. */
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/cmdline.h"
#include "support/diag.h"
#include "support/file.h"
#include "support/json.h"
#include "support/sort.h"
#include "support/text.h"
#include "support/threads.h"
#include "test/unit/failing_malloc.h"
#include "test/unit/unit.h"

/* What the diagnostics of a test were, one per line. */
typedef struct Log {
  char text[4096];
  size_t size;
} Log;

static void log_diagnostic(void *user, const GlowDiagnostic *d) {
  Log *log = user;
  int n = snprintf(log->text + log->size, sizeof log->text - log->size, "%s:%u: %d: %s\n",
                   d->loc.file ? d->loc.file : "", d->loc.line, (int)d->severity, d->message);
  if (n > 0 && (size_t)n < sizeof log->text - log->size)
    log->size += (size_t)n;
}

static uint32_t random_bits(void) {
  static uint64_t state = 0x9e3779b97f4a7c15u;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 32);
}

static void test_arena(GlowContext *ctx, void *arg) {
  (void)arg;
  GlowArena *arena = glow_arena_create(ctx);
  bool aligned = true, zeroed = true;
  for (size_t i = 0; i < 3000; i++) {
    size_t bytes = i % 7 == 0 ? i * 5 : i % 40;
    unsigned char *p = glow_arena_alloc(arena, bytes);
    aligned &= (uintptr_t)p % 16 == 0;
    for (size_t k = 0; k < bytes; k++)
      zeroed &= p[k] == 0;
    memset(p, 0xff, bytes);
  }
  CHECK(aligned);
  CHECK(zeroed);
  CHECK(glow_arena_context(arena) == ctx);
  CHECK(strcmp(glow_arena_printf(arena, "%d-%s", 7, "x"), "7-x") == 0);
  CHECK(memcmp(glow_arena_copy(arena, "abc", 4), "abc", 4) == 0);

  GLOW_VEC(uint32_t) v = {0}, w = {0};
  for (uint32_t i = 0; i < 100000; i++) {
    glow_vec_push(arena, &v, i);
    if (i % 3 == 0)
      glow_vec_push(arena, &w, i);
  }
  bool kept = v.count == 100000 && w.count == 33334;
  for (uint32_t i = 0; i < v.count; i++)
    kept &= v.data[i] == i && w.data[i / 3] == i / 3 * 3;
  CHECK(kept);
  glow_arena_destroy(arena);
}

static void overflow_array(GlowContext *ctx, void *arg) {
  (void)arg;
  glow_arena_array(ctx->arena, SIZE_MAX / 4, 8);
}
static void overflow_alloc(GlowContext *ctx, void *arg) {
  (void)arg;
  glow_arena_alloc(ctx->arena, SIZE_MAX - 3);
}
static void fail_internally(GlowContext *ctx, void *arg) {
  (void)arg;
  GLOW_CHECK(ctx, 1 + 1 == 3, "arithmetic broke");
}

static int order[4];
static int norder;
static void note_release(void *arg) { order[norder++] = *(int *)arg; }

static void throw_deeply(GlowContext *ctx, void *arg) {
  (void)arg;
  int one = 1, two = 2, three = 3;
  GlowDefer a, b, c;
  glow_defer_push(ctx, &a, note_release, &one);
  glow_defer_push(ctx, &b, note_release, &two);
  CHECK(glow_protect(ctx, overflow_array, NULL) == GLOW_NO_MEMORY);
  CHECK(norder == 0); /* the inner throw leaves the outer releases alone */
  glow_defer_push(ctx, &c, note_release, &three);
  glow_defer_pop(ctx, &c, false);
  glow_throw(ctx, GLOW_BAD_INPUT);
}

static void test_throw(GlowContext *ctx) {
  CHECK(glow_protect(ctx, overflow_array, NULL) == GLOW_NO_MEMORY);
  CHECK(glow_protect(ctx, overflow_alloc, NULL) == GLOW_NO_MEMORY);
  CHECK(glow_protect(ctx, throw_deeply, NULL) == GLOW_BAD_INPUT);
  CHECK(norder == 2 && order[0] == 2 && order[1] == 1);
  CHECK(ctx->innermost == NULL && ctx->defers == NULL);
  Log log = {0};
  glow_context_set_diagnostic_fn(ctx, log_diagnostic, &log);
  CHECK(glow_protect(ctx, fail_internally, NULL) == GLOW_INTERNAL);
  CHECK(strstr(log.text, "internal error: arithmetic broke (support_test.c:") != NULL);
  glow_context_set_diagnostic_fn(ctx, NULL, NULL);
}

static void test_strings(GlowContext *ctx, void *arg) {
  (void)arg;
  CHECK(glow_str(ctx, "conv1") == glow_str_n(ctx, "conv1.w", 5));
  CHECK(glow_str(ctx, "a") != glow_str(ctx, "b"));
  CHECK(glow_str(ctx, "") == glow_str_n(ctx, NULL, 0));
  CHECK(glow_str_length(glow_str(ctx, "")) == 0);
  CHECK(glow_str_length(glow_str(ctx, "weights")) == 7);
  CHECK(glow_str_n(ctx, "ab\0cd", 5) == glow_str(ctx, "ab"));
  GlowStr long_one = glow_str_printf(ctx, "%0500d", 1);
  CHECK(glow_str_length(long_one) == 500 && long_one == glow_str_printf(ctx, "%0500d", 1));
  bool same = true;
  GlowStr *first = GLOW_NEW_ARRAY(ctx->arena, GlowStr, 5000);
  for (int i = 0; i < 5000; i++)
    first[i] = glow_str_printf(ctx, "v%d", i);
  for (int i = 0; i < 5000; i++)
    same &= first[i] == glow_str_printf(ctx, "v%d", i) && atoi(first[i] + 1) == i;
  CHECK(same);

  static const char *const names[] = {"fold-bn", "fold-pad", "cse", "dce", "lower"};
  CHECK(glow_nearest("fold-nb", names, 5) == names[0]);
  CHECK(glow_nearest("lowr", names, 5) == names[4]);
  CHECK(glow_nearest("cce", names, 5) == names[2]); /* the first of equals */
  CHECK(glow_nearest("convolution", names, 5) == NULL);
  CHECK(glow_nearest("", names, 5) == NULL);
  CHECK(glow_nearest("x", (const char *const[]){"y"}, 1) == NULL);
}

static void check_float(float v, const char *expected) {
  char buf[48], *end;
  size_t n = glow_format_float(buf, v);
  bool ok = strlen(buf) == n && (!expected || strcmp(buf, expected) == 0);
  float back = glow_parse_float(buf, &end);
  ok &= *end == '\0' && memcmp(&back, &v, sizeof v) == 0;
  ok &= strpbrk(buf, ".en") != NULL;
  if (!ok)
    printf("float: %s, expected %s\n", buf, expected ? expected : "a round trip");
  CHECK(ok);
}

static void check_double(double v, const char *expected) {
  char buf[48], *end;
  size_t n = glow_format_double(buf, v);
  bool ok = strlen(buf) == n && (!expected || strcmp(buf, expected) == 0);
  double back = glow_parse_double(buf, &end);
  ok &= *end == '\0' && memcmp(&back, &v, sizeof v) == 0;
  if (!ok)
    printf("double: %s, expected %s\n", buf, expected ? expected : "a round trip");
  CHECK(ok);
}

static float float_of(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static void test_numbers(void) {
  check_float(0.0f, "0.0");
  check_float(-0.0f, "-0.0");
  check_float(1.0f, "1.0");
  check_float(-128.0f, "-128.0");
  check_float(0.1f, "0.1");
  check_float(-2.5e-3f, "-0.0025");
  check_float(1e-5f, "0.00001");
  check_float(1.5e-6f, "1.5e-06");
  check_float(1e10f, "1e+10");
  check_float(123456789.0f, "123456790.0");
  check_float(16777216.0f, "16777216.0");
  check_float(3.4028234664e38f, "3.4028235e+38");
  check_float(1.401298464e-45f, "1e-45");
  check_float(INFINITY, "inf");
  check_float(-INFINITY, "-inf");
  check_float(float_of(0x7fc00000u), "nan");
  check_float(float_of(0x7fc00001u), "nan(0x7fc00001)");
  check_float(float_of(0xffc00000u), "nan(0xffc00000)");
  check_float(float_of(0x7f800001u), "nan(0x7f800001)");
  check_double(0.1, "0.1");
  check_double(1e15, "1000000000000000.0");
  check_double(1e16, "1e+16");
  check_double(5e-324, "5e-324");
  check_double(1.7976931348623157e308, NULL);
  check_double(-INFINITY, "-inf");
  for (int i = 0; i < 20000; i++) {
    uint64_t bits = (uint64_t)random_bits() << 32 | random_bits();
    double v;
    memcpy(&v, &bits, sizeof v);
    check_float(float_of((uint32_t)bits), NULL);
    if (i % 4 == 0)
      check_double(v, NULL);
  }
  char *end;
  const char *not_nan = "nan(0x3f800000)";
  glow_parse_float(not_nan, &end);
  CHECK(end == not_nan + 3); /* bits of 1.0 */
  const char *none = "x";
  glow_parse_float(none, &end);
  CHECK(end == none);
}

static bool valid(const char *s, size_t expected_bad) {
  size_t bad = SIZE_MAX;
  bool ok = glow_utf8_valid(s, strlen(s), &bad);
  return ok ? expected_bad == SIZE_MAX : bad == expected_bad;
}

static void test_text(GlowContext *ctx, void *arg) {
  (void)arg;
  CHECK(valid("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", SIZE_MAX));
  CHECK(valid("a\xc0\x80", 1));
  CHECK(valid("ab\xed\xa0\x80", 2));
  CHECK(valid("\xf4\x90\x80\x80", 0));
  CHECK(valid("\xe0\x9f\xbf", 0));
  CHECK(valid("abc\xe2\x82", 3));
  CHECK(valid("\x80", 0));
  GlowText t;
  glow_text_init(&t, ctx);
  glow_text_quoted(&t, "a\"\\\n\t\r\x01\x7f\xc3\xbc\xff", 11);
  CHECK(strcmp(glow_text_cstr(&t), "\"a\\\"\\\\\\n\\t\\r\\x01\\x7f\xc3\xbc\\xff\"") == 0);
  size_t size = t.size;
  for (int i = 0; i < 1000; i++)
    glow_text_printf(&t, "%04d", i);
  CHECK(t.size == size + 4000 && memcmp(t.data + t.size - 4, "0999", 4) == 0);
  t.size = 0;
  glow_json_string(&t, "a\"\n\xff\xc3\xbc", 6);
  CHECK(strcmp(glow_text_cstr(&t), "\"a\\\"\\u000a\xef\xbf\xbd\xc3\xbc\"") == 0);
  glow_text_release(&t);
}

static void test_diagnostics(GlowContext *ctx, void *arg) {
  (void)arg;
  Log log = {0};
  glow_context_set_diagnostic_fn(ctx, log_diagnostic, &log);
  GlowLoc loc = glow_loc_file(ctx, "m.gg");
  glow_remark(ctx, loc, "dropped");
  glow_note(ctx, loc, "dropped too");
  CHECK(log.size == 0);
  ctx->error_limit = 2;
  for (int i = 0; i < 4; i++) {
    glow_error(ctx, loc, "bad %d", i);
    glow_note(ctx, loc, "note %d", i);
  }
  CHECK(strcmp(log.text,
               "m.gg:0: 0: bad 0\nm.gg:0: 2: note 0\nm.gg:0: 0: bad 1\n"
               "m.gg:0: 2: note 1\n:0: 0: too many errors, stopping (-error-limit=2)\n") == 0);
  CHECK(ctx->too_many_errors && glow_context_error_count(ctx) == 4);
}

/* What the default sink prints goes through a temporary file in place of stderr. */
static void print_to(char *out, size_t size, GlowContext *ctx, const GlowDiagnostic *d) {
  char path[] = "/tmp/glow-support-test-XXXXXX";
  int fd = mkstemp(path), saved = dup(STDERR_FILENO);
  fflush(stderr);
  dup2(fd, STDERR_FILENO);
  glow_diag_print(ctx, d);
  fflush(stderr);
  dup2(saved, STDERR_FILENO);
  ssize_t n = pread(fd, out, size - 1, 0);
  out[n > 0 ? n : 0] = '\0';
  close(fd);
  close(saved);
  unlink(path);
}

static void test_print(GlowContext *ctx, void *arg) {
  (void)arg;
  static const char text[] = "first\n\t%x\x01 = Relu(@in)\r\nlast";
  glow_source_add(ctx, "m.gg", text, sizeof text - 1);
  char out[2048];
  ctx->color = 0;
  GlowDiagnostic d = {sizeof d, GLOW_ERROR, {"m.gg", 2, 7, NULL}, "unknown\noperator"};
  print_to(out, sizeof out, ctx, &d);
  CHECK(strcmp(out, "m.gg:2:7: error: unknown?operator\n\t%x? = Relu(@in)\n\t     ^\n") == 0);
  d = (GlowDiagnostic){sizeof d, GLOW_WARNING, {"m.onnx", 0, 0, "Conv_0"}, "odd"};
  print_to(out, sizeof out, ctx, &d);
  CHECK(strcmp(out, "m.onnx: node 'Conv_0': warning: odd\n") == 0);
  d = (GlowDiagnostic){sizeof d, GLOW_ERROR, {"m.gg", 3, 99, NULL}, "end"};
  print_to(out, sizeof out, ctx, &d);
  CHECK(strcmp(out, "m.gg:3:99: error: end\nlast\n    ^\n") == 0);
  d = (GlowDiagnostic){sizeof d, GLOW_ERROR, {"m.gg", 77, 1, NULL}, "beyond"};
  print_to(out, sizeof out, ctx, &d);
  CHECK(strcmp(out, "m.gg:77:1: error: beyond\n") == 0);

  /* One line of 4 MB of two-byte characters: the window splits none. */
  size_t size = 4 << 20;
  char *large = glow_arena_alloc(ctx->arena, size + 1);
  for (size_t i = 0; i < size; i += 2)
    memcpy(large + i, "\xc3\xbc", 2);
  glow_source_add(ctx, "large", large, size);
  d = (GlowDiagnostic){sizeof d, GLOW_ERROR, {"large", 1, 2000002, NULL}, "here"};
  print_to(out, sizeof out, ctx, &d);
  CHECK(strlen(out) < 400 && glow_utf8_valid(out, strlen(out), NULL));
  CHECK(strstr(out, "\n...\xc3\xbc") != NULL && strstr(out, "\xc3\xbc...\n") != NULL);
  ctx->color = 1;
  print_to(out, sizeof out, ctx, &d);
  CHECK(strstr(out, "\033[1;31merror:\033[0m here") != NULL);
}

/* The context keeps the last 64, with and without a function, but for those in a silence. */
static void test_kept(GlowContext *ctx, void *arg) {
  (void)arg;
  Log log = {0};
  GlowDiagnostic d = {.size = sizeof d};
  CHECK(glow_context_diagnostics(ctx) == 0 && !glow_context_diagnostic(ctx, 0, &d));
  glow_context_set_diagnostic_fn(ctx, log_diagnostic, &log);
  glow_warning(ctx, ((GlowLoc){.file = glow_str(ctx, "m.gg"), .line = 3, .col = 7}), "first");
  GlowSilence silence;
  glow_silence_begin(ctx, &silence);
  glow_warning(ctx, GLOW_NOWHERE, "not heard");
  glow_silence_end(&silence);
  CHECK(glow_context_diagnostics(ctx) == 1 && glow_context_diagnostic(ctx, 0, &d));
  CHECK(d.size == sizeof d && d.severity == GLOW_WARNING && strcmp(d.message, "first") == 0 &&
        strcmp(d.loc.file, "m.gg") == 0 && d.loc.line == 3 && d.loc.col == 7 && !d.loc.node);
  for (int i = 0; i < 100; i++)
    glow_warning(ctx, GLOW_NOWHERE, "number %d", i);
  CHECK(glow_context_diagnostics(ctx) == 64);
  CHECK(glow_context_diagnostic(ctx, 0, &d) && strcmp(d.message, "number 36") == 0);
  CHECK(glow_context_diagnostic(ctx, 63, &d) && strcmp(d.message, "number 99") == 0);

  CHECK(!glow_context_diagnostic(ctx, 64, &d) && !glow_context_diagnostic(ctx, SIZE_MAX, &d));
  CHECK(!glow_context_diagnostic(ctx, 0, NULL));
  const size_t small[] = {0, sizeof(size_t), sizeof d - 1};
  for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
    d = (GlowDiagnostic){.size = small[i], .message = "untouched"};
    CHECK(!glow_context_diagnostic(ctx, 0, &d) && strcmp(d.message, "untouched") == 0);
  }
  struct {
    GlowDiagnostic d;
    char more[8];
  } later = {.d.size = sizeof later, .more = "as is"};
  CHECK(glow_context_diagnostic(ctx, 0, &later.d) && later.d.size == sizeof d &&
        strcmp(later.more, "as is") == 0);

  CHECK(strcmp(glow_version(), GLOW_VERSION_STRING) == 0);
  char version[32];
  snprintf(version, sizeof version, "%d.%d.", GLOW_VERSION_MAJOR, GLOW_VERSION_MINOR);
  CHECK(strncmp(version, glow_version(), strlen(version)) == 0);
  for (int s = GLOW_OK; s <= GLOW_CANCELLED; s++)
    for (int t = GLOW_OK; t <= GLOW_CANCELLED + 1; t++)
      CHECK((strcmp(glow_status_text((GlowStatus)s), glow_status_text((GlowStatus)t)) == 0) ==
            (s == t));
  CHECK(strcmp(glow_status_text((GlowStatus)-1), "unknown status") == 0);
}

static bool verify(GlowContext *ctx, const char *text, Log *log) {
  *log = (Log){0};
  GlowSource *source = glow_source_add(ctx, "e.gg", text, strlen(text));
  glow_context_set_diagnostic_fn(ctx, log_diagnostic, log);
  GlowExpectations *e = glow_expect_begin(ctx, source);
  GlowLoc loc = {.file = source->name, .line = 2, .col = 1};
  glow_error(ctx, loc, "unknown operator 'Rulu'");
  glow_note(ctx, loc, "did you mean 'Relu'?");
  glow_warning(ctx, GLOW_NOWHERE, "no target");
  return glow_expect_end(e);
}

static void test_expect(GlowContext *ctx, void *arg) {
  (void)arg;
  Log log;
  CHECK(verify(ctx,
               "; expected-error@+1 {{unknown operator}} expected-note @below {{Relu}}\n"
               "x\n; expected-warning @unknown {{no target}}\n",
               &log));
  CHECK(log.size == 0);
  CHECK(verify(ctx,
               "\nx ; expected-error-re {{operator '[A-Z][a-z]+'$}}\n"
               "; expected-note @above {{Relu}}\n; expected-warning@unknown {{no}}",
               &log));
  CHECK(!verify(ctx, "; expected-remark {{never}}\n", &log));
  CHECK(strcmp(log.text, "e.gg:2: 0: unexpected error: unknown operator 'Rulu'\n"
                         "e.gg:2: 0: unexpected note: did you mean 'Relu'?\n"
                         ":0: 0: unexpected warning: no target\n"
                         "e.gg:1: 0: expected remark \"never\" was not produced\n") == 0);
  CHECK(!verify(ctx, "; expected-error @-5 {{x}}\n", &log));
  CHECK(strstr(log.text, "e.gg:1: 0: bad expectation: bad line") != NULL);
  CHECK(!verify(ctx, "; expected-error-re {{(}}\n", &log));
  CHECK(strstr(log.text, "bad regular expression") != NULL);
}

typedef struct Options {
  bool verbose;
  const char *output, *stats;
  int64_t jobs;
  double rtol;
  GlowStrList inputs;
  const char *pass, *pass_value;
} Options;

static bool take_pass(void *user, const char *name, const char *value) {
  Options *o = user;
  if (strncmp(name, "fold", 4) != 0)
    return false;
  o->pass = name;
  o->pass_value = value;
  return true;
}

static GlowStatus parse(GlowContext *ctx, Options *o, GlowStrList *rest, Log *log,
                        const char *const *args) {
  const GlowOption table[] = {
      {.name = "v", .help = "Say more", .kind = GLOW_OPT_FLAG, .target = &o->verbose},
      {.name = "o", .value = "FILE", .kind = GLOW_OPT_STRING, .target = &o->output},
      {.name = "stats", .value = "FILE", .kind = GLOW_OPT_OPTIONAL, .target = &o->stats},
      {.name = "jobs", .value = "N", .kind = GLOW_OPT_INT, .target = &o->jobs, .min = 1, .max = 64},
      {.name = "rtol",
       .value = "X",
       .kind = GLOW_OPT_DOUBLE,
       .target = &o->rtol,
       .two_dashes = true},
      {.name = "input",
       .value = "NAME=FILE",
       .kind = GLOW_OPT_REPEAT,
       .target = &o->inputs,
       .two_dashes = true},
  };
  static const char *const passes[] = {"fold-bn", "cse"};
  GlowCommand cmd = {.name = "glow-test",
                     .overview = "Tests",
                     .usage = "[options] [FILE]",
                     .options = table,
                     .noptions = sizeof table / sizeof table[0],
                     .unknown = take_pass,
                     .unknown_names = passes,
                     .nunknown_names = 2,
                     .user = o,
                     .max_positional = 2};
  *o = (Options){0};
  *log = (Log){0};
  glow_context_set_diagnostic_fn(ctx, log_diagnostic, log);
  const char *argv[16] = {"glow-test"};
  int argc = 1;
  while (*args)
    argv[argc++] = *args++;
  bool exit_now;
  return glow_cmdline_parse(ctx, &cmd, argc, (char **)(uintptr_t)argv, rest, &exit_now);
}
#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_cmdline(GlowContext *ctx, void *arg) {
  (void)arg;
  Options o;
  GlowStrList rest;
  Log log;
  CHECK(parse(ctx, &o, &rest, &log,
              ARGS("-v", "--o", "out", "-input=a=1", "x.gg", "--input", "@b", "-fold-bn=k=v",
                   "-rtol=1e-3", "-", "-stats", "--jobs=0x10")) == GLOW_OK);
  CHECK(o.verbose && strcmp(o.output, "out") == 0 && o.rtol == 1e-3 && o.jobs == 16);
  CHECK(o.inputs.count == 2 && strcmp(o.inputs.data[0], "a=1") == 0 &&
        strcmp(o.inputs.data[1], "@b") == 0);
  CHECK(rest.count == 2 && strcmp(rest.data[0], "x.gg") == 0 && strcmp(rest.data[1], "-") == 0);
  CHECK(strcmp(o.pass, "fold-bn") == 0 && strcmp(o.pass_value, "k=v") == 0);
  CHECK(strcmp(o.stats, "") == 0);
  CHECK(parse(ctx, &o, &rest, &log, ARGS("--", "-v")) == GLOW_OK && rest.count == 1 && !o.verbose);

  static const struct {
    const char *arg, *message;
  } bad[] = {
      {"--inptu=a", "unknown option '--inptu'; did you mean '--input'?"},
      {"-cs", "unknown option '-cs'; did you mean '-cse'?"},
      {"--verison", "unknown option '--verison'; did you mean '--version'?"},
      {"-whatever", "unknown option '-whatever'\n"},
      {"-o", "option '-o' needs a value: FILE"},
      {"-v=1", "option '-v' takes no value"},
      {"-jobs=65", "option '-jobs': 65 is not between 1 and 64"},
      {"-jobs=1x", "option '-jobs' needs an integer, not '1x'"},
      {"-jobs=99999999999999999999", "is not between 1 and 64"},
      {"--rtol=", "option '--rtol' needs a number, not ''"},
      {"@/nonexistent", "cannot open '/nonexistent': No such file or directory"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    CHECK(parse(ctx, &o, &rest, &log, ARGS(bad[i].arg)) == GLOW_BAD_USAGE);
    CHECK(strncmp(log.text, "glow-test:0: 0: ", 16) == 0 && strstr(log.text, bad[i].message));
  }
  CHECK(parse(ctx, &o, &rest, &log, ARGS("a", "b", "c")) == GLOW_BAD_USAGE);
  CHECK(strstr(log.text, "unexpected argument 'c'") != NULL);
}

static bool put_file(GlowContext *ctx, const char *path, const void *data, size_t size) {
  GlowBytes parts[] = {{data, size / 2}, {(const char *)data + size / 2, size - size / 2}};
  return glow_output_write(ctx, path, parts, 2);
}

static void test_files(GlowContext *ctx, void *arg) {
  (void)arg;
  Log log = {0};
  glow_context_set_diagnostic_fn(ctx, log_diagnostic, &log);
  char dir[] = "/tmp/glow-support-test-XXXXXX";
  CHECK(mkdtemp(dir) != NULL);
  const char *file = glow_path_join(ctx, dir, "f"), *fifo = glow_path_join(ctx, dir, "p");
  static char data[8192];
  memset(data, 'x', sizeof data);
  static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 8192};
  GlowInput in;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    CHECK(put_file(ctx, file, data, sizes[i]));
    CHECK(glow_input_open(ctx, file, true, GLOW_NOWHERE, &in));
    CHECK(in.size == sizes[i] && memcmp(in.data, data, in.size) == 0 && in.data[in.size] == '\0');
    CHECK(in.inode != 0);
    glow_input_close(&in);
  }
  CHECK(chmod(file, 0600) == 0 && put_file(ctx, file, "new", 3));
  struct stat st;
  CHECK(stat(file, &st) == 0 && (st.st_mode & 0777) == 0600 && st.st_size == 3);

  CHECK(put_file(ctx, glow_path_join(ctx, dir, "@r"), "-v\r\n\n-o\n'o u't\n", 14));
  Options o;
  GlowStrList rest;
  CHECK(parse(ctx, &o, &rest, &log, ARGS(glow_str_printf(ctx, "@%s/@r", dir))) == GLOW_OK);
  CHECK(o.verbose && o.output && strcmp(o.output, "o ut") == 0);
  unlink(glow_path_join(ctx, dir, "@r"));

  CHECK(log.size == 0);
  CHECK(mkfifo(fifo, 0600) == 0);
  CHECK(!glow_input_open(ctx, fifo, true, GLOW_NOWHERE, &in));
  CHECK(strstr(log.text, "cannot open: not a regular file") != NULL);
  CHECK(!glow_input_open(ctx, dir, false, GLOW_NOWHERE, &in));
  CHECK(strstr(log.text, "cannot open: Is a directory") != NULL);
  CHECK(!put_file(ctx, dir, "x", 1));
  CHECK(!put_file(ctx, "/dev/full", "x", 1));
  CHECK(strstr(log.text, "/dev/full:0: 0: cannot write: No space left on device") != NULL);
  CHECK(put_file(ctx, "/dev/null", "x", 1));
  CHECK(!put_file(ctx, glow_path_join(ctx, dir, "no/such"), "x", 1));
  CHECK(unlink(fifo) == 0 && unlink(file) == 0 && rmdir(dir) == 0); /* nothing else was left */
}

static void test_paths(GlowContext *ctx, void *arg) {
  (void)arg;
  CHECK(glow_path_dir(ctx, "a/b/c") == glow_str(ctx, "a/b"));
  CHECK(glow_path_dir(ctx, "c") == glow_str(ctx, "."));
  CHECK(glow_path_dir(ctx, "/c") == glow_str(ctx, "/"));
  CHECK(strcmp(glow_path_base("a/b"), "b") == 0 && strcmp(glow_path_base("b"), "b") == 0);
  CHECK(glow_path_join(ctx, "a", "b") == glow_str(ctx, "a/b"));
  CHECK(glow_path_join(ctx, "a/", "b") == glow_str(ctx, "a/b"));
  CHECK(glow_path_join(ctx, "a", "/b") == glow_str(ctx, "/b"));
  CHECK(glow_path_absolute(ctx, "/a/./b//../c") == glow_str(ctx, "/a/c"));
  CHECK(glow_path_absolute(ctx, "/../..") == glow_str(ctx, "/"));
  CHECK(glow_path_relative(ctx, "/a/b/c", "/a/b") == glow_str(ctx, "c"));
  CHECK(glow_path_relative(ctx, "/a/bb/c", "/a/b") == glow_str(ctx, "../bb/c"));
  CHECK(glow_path_relative(ctx, "/a/b", "/a/b") == glow_str(ctx, "."));
  CHECK(glow_path_relative(ctx, "/a", "/a/b/c") == glow_str(ctx, "../.."));
  CHECK(glow_path_relative(ctx, "/a/b", "/") == glow_str(ctx, "a/b"));
  CHECK(glow_path_relative(ctx, "/", "/a") == glow_str(ctx, ".."));
}

static bool record(void *user, const GlowJsonToken *t) {
  static const char kinds[] = "{}[]ksidbn";
  Log *log = user;
  if (t->event == GLOW_JSON_NULL)
    return false;
  log->size += (size_t)snprintf(log->text + log->size, sizeof log->text - log->size, "%c%.*s",
                                kinds[t->event], (int)t->length, t->text ? t->text : "");
  if (t->event == GLOW_JSON_INTEGER || t->event == GLOW_JSON_BOOL)
    log->size += (size_t)snprintf(log->text + log->size, sizeof log->text - log->size, "%lld",
                                  (long long)t->integer);
  return true;
}

static bool read_json(GlowContext *ctx, const char *text, Log *log, const char **error) {
  *log = (Log){0};
  return glow_json_read(ctx, text, strlen(text), record, log, error);
}

static void test_json(GlowContext *ctx, void *arg) {
  (void)arg;
  Log log;
  const char *error;
  CHECK(read_json(ctx, "{\"a\\u00fc\": [1, -2, true, 1.5], \"b\": \"x\"}", &log, &error));
  CHECK(strcmp(log.text, "{ka\xc3\xbc[i1i-2b1d]kbsx}") == 0 && error == NULL);
  CHECK(read_json(ctx, "42", &log, &error) && strcmp(log.text, "i42") == 0);
  CHECK(!read_json(ctx, "[null]", &log, &error) && error == NULL);
  CHECK(!read_json(ctx, "[1 2]", &log, &error) && strstr(error, " at byte ") != NULL);
  CHECK(!read_json(ctx, "{\"a\":", &log, &error) && strstr(error, "premature EOF") != NULL);
  CHECK(!read_json(ctx, "", &log, &error) && error != NULL);
  CHECK(!read_json(ctx, "{} x", &log, &error) && error != NULL);
  CHECK(!read_json(ctx, "\"\xff\"", &log, &error) && error != NULL);
  CHECK(!read_json(ctx, "99999999999999999999", &log, &error) && error != NULL);
  CHECK(read_json(ctx, "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]", &log, &error));
  CHECK(!read_json(ctx, "[[[[[[[[[[[[[[[[[", &log, &error));
  CHECK(strcmp(error, "nested more than 16 deep at byte 17") == 0);
}

/* Uses a bit of everything; returns false only through a throw. */
static void use_everything(GlowContext *ctx, void *arg) {
  (void)arg;
  Log log;
  const char *error;
  read_json(ctx, "{\"a\\n\": [1.25, \"b\\tc\"], \"b\": 7}", &log, &error);
  for (int i = 0; i < 2000; i++)
    glow_str_printf(ctx, "name %d %s", i, i == 500 ? "with a rather long and telling tail" : "");
  glow_path_relative(ctx, "/a/b/c", "/a/d");
  verify(ctx, "; expected-error-re @+1 {{unknown .*}}\n", &log);
  GlowInput in;
  if (glow_input_open(ctx, "/proc/self/status", false, GLOW_NOWHERE, &in))
    glow_input_close(&in);
  GlowText t;
  GlowDefer d;
  glow_text_init(&t, ctx);
  glow_defer_push(ctx, &d, glow_text_release_fn, &t);
  for (int i = 0; i < 100; i++)
    glow_text_printf(&t, "%s %d", "text", i);
  glow_defer_pop(ctx, &d, true);
}

/* Every allocation in turn fails; a leak or a crash shows in the sanitizer build. */
static void test_failing_allocations(void) {
  bool done = false;
  long n = 0;
  for (; n < 2000 && !done; n++) {
    allowance = n;
    GlowContext *ctx = glow_context_create();
    GlowStatus status = ctx ? glow_protect(ctx, use_everything, NULL) : GLOW_NO_MEMORY;
    bool balanced = !ctx || (ctx->defers == NULL && ctx->innermost == NULL);
    glow_context_destroy(ctx);
    done = status == GLOW_OK;
    CHECK(balanced && (done || status == GLOW_NO_MEMORY));
    allowance = -1;
  }
  CHECK(done && n > 10);
}

static void run(const char *name, void (*body)(GlowContext *ctx, void *arg)) {
  GlowContext *ctx = glow_context_create();
  CHECK(ctx != NULL);
  GlowStatus status = glow_protect(ctx, body, NULL);
  if (status != GLOW_OK)
    printf("%s: left with status %d\n", name, (int)status);
  CHECK(status == GLOW_OK);
  glow_context_destroy(ctx);
}

/* ---- Threads --------------------------------------------------------------------------------- */

enum { UNITS = 10000 };
static atomic_uint calls, next_unit;
static unsigned char units[UNITS];

static void take_units(void *arg) {
  (void)arg;
  atomic_fetch_add(&calls, 1);
  for (unsigned i; (i = atomic_fetch_add(&next_unit, 1)) < UNITS;)
    units[i]++;
}

static void test_share(void) {
  static const uint32_t threads[] = {0, 1, 5, GLOW_MOST_SHARING + 9};
  for (unsigned k = 0; k < 4; k++) {
    uint32_t most = threads[k] < 1                   ? 1
                    : threads[k] > GLOW_MOST_SHARING ? GLOW_MOST_SHARING
                                                     : threads[k];
    atomic_store(&calls, 0);
    atomic_store(&next_unit, 0);
    glow_share(threads[k], take_units, NULL);
    EXPECT(calls >= 1 && calls <= most, "%u threads make %u calls", threads[k], calls);
    unsigned wrong = 0;
    for (unsigned i = 0; i < UNITS; i++)
      wrong += units[i] != k + 1;
    EXPECT(wrong == 0, "%u threads: %u of %d units", threads[k], wrong, UNITS);
  }
}

typedef struct Sorted {
  uint32_t key;
  char rest[96]; /* of the key */
} Sorted;

static int by_key(const void *a, const void *b) {
  uint32_t x = ((const Sorted *)a)->key, y = ((const Sorted *)b)->key;
  return (x > y) - (x < y);
}

static void test_sort(void) {
  enum { MOST = 200 };
  static Sorted all[MOST];
  for (size_t count = 0; count <= MOST; count++) {
    uint64_t before = 0, after = 0;
    bool ok = true;
    for (size_t i = 0; i < count; i++) {
      all[i].key = random_bits() % (count % 2 ? 7 : 1u << 30);
      memset(all[i].rest, (int)(all[i].key & 127), sizeof all[i].rest);
      before += (uint64_t)all[i].key * all[i].key;
    }
    glow_sort(all, count, sizeof *all, by_key);
    for (size_t i = 0; i < count; i++) {
      after += (uint64_t)all[i].key * all[i].key;
      ok = ok && (!i || all[i - 1].key <= all[i].key);
      for (size_t k = 0; k < sizeof all[i].rest; k++)
        ok = ok && all[i].rest[k] == (char)(all[i].key & 127);
    }
    EXPECT(ok && before == after, "%zu elements", count);
  }
}

static void test_processors(void) {
  cpu_set_t before, one;
  CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(glow_processors() == (uint32_t)CPU_COUNT(&before));
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before))
    cpu++;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(glow_processors() == 1);
  CHECK(sched_setaffinity(0, sizeof before, &before) == 0);
}

int main(void) {
  run("arena", test_arena);
  run("strings", test_strings);
  run("text", test_text);
  run("diagnostics", test_diagnostics);
  run("print", test_print);
  run("kept", test_kept);
  run("expect", test_expect);
  run("cmdline", test_cmdline);
  run("files", test_files);
  run("paths", test_paths);
  run("json", test_json);
  GlowContext *ctx = glow_context_create();
  test_throw(ctx);
  glow_context_destroy(ctx);
  test_numbers();
  test_share();
  test_sort();
  test_processors();
  test_failing_allocations();
  return unit_finish();
}
