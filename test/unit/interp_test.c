/* The interpreter: walkers on texts, what reads and Saves see, run-time errors, both compilations
 * of the kernels, element-wise operators against an oracle in double, and failing allocations. */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/interp/interp_internal.h"
#include "test/unit/failing_malloc.h"
#include "test/unit/unit.h"

/* ---- Helpers --------------------------------------------------------------------------------- */

static char messages[8192];
static unsigned errors, error_line;

static void collect(void *user, const GlowDiagnostic *d) {
  (void)user;
  errors += d->severity == GLOW_ERROR;
  error_line = d->loc.line;
  size_t n = strlen(messages);
  snprintf(messages + n, sizeof messages - n, "%s\n", d->message);
}

static bool said(const char *part) {
  bool found = strstr(messages, part) != NULL;
  if (!found)
    printf("  said: %s\n", messages);
  return found;
}

static uint64_t state = 88172645463325252u;
static uint64_t draw(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * UINT64_C(0x9E3779B97F4A7C15);
}

/* A module, its only function (or the one called `main`), and a run of it. */
typedef struct Run {
  GlowContext *ctx;
  GlowModule *module;
  GlowFunction *entry;
  GlowValues *values;
  GlowBindings inputs, outputs;
  GlowStatus status;
} Run;

static Run begin(const char *text) {
  Run r = {.ctx = glow_context_create()};
  glow_context_set_diagnostic_fn(r.ctx, collect, NULL);
  messages[0] = 0;
  errors = 0;
  r.module = glow_module_parse(r.ctx, "test.gg", text, strlen(text));
  if (!r.module || !glow_module_verify(r.module)) {
    printf("the text is wrong: %s\n%s\n", messages, text);
    exit(1);
  }
  r.values = glow_values_create(r.module);
  r.entry = glow_module_function(r.module, glow_str(r.ctx, "main"));
  if (!r.entry)
    r.entry = glow_module_entry(r.module, NULL);
  return r;
}

static const GlowTensor *value_of(Run *r, const char *name) {
  return glow_values_get(r->values, glow_module_storage(r->module, glow_str(r->ctx, name)));
}

/* Binds the value of the constant @name.in, if there is one, to the input @name. */
static void bind(Run *r, const char *name) {
  char source[64];
  snprintf(source, sizeof source, "%s.in", name);
  GlowStorage *s = glow_module_storage(r->module, glow_str(r->ctx, source));
  GlowBinding b = {glow_str(r->ctx, name), (GlowTensor *)(uintptr_t)glow_values_get(r->values, s)};
  glow_vec_push(r->ctx->arena, &r->inputs, b);
}

static void drop_outputs(Run *r) {
  for (uint32_t i = 0; i < r->outputs.count; i++)
    glow_tensor_free(r->outputs.data[i].tensor);
  r->outputs.count = 0;
}
static GlowStatus go(Run *r) {
  drop_outputs(r);
  return r->status = glow_interp_run(r->entry, &r->inputs, &r->outputs,
                                     &(GlowRunOptions){.values = r->values});
}
static void end(Run *r) {
  drop_outputs(r);
  glow_values_destroy(r->values);
  glow_module_destroy(r->module);
  glow_context_destroy(r->ctx);
}

static const GlowTensor *output(const Run *r, const char *name) {
  for (uint32_t i = 0; i < r->outputs.count; i++)
    if (strcmp(r->outputs.data[i].name, name) == 0)
      return r->outputs.data[i].tensor;
  return NULL;
}

/* An output as text: `[1, 2]`. */
static bool prints(Run *r, const char *name, const char *want) {
  const GlowTensor *t = output(r, name);
  GlowText text;
  glow_text_init(&text, r->ctx);
  if (t)
    glow_tensor_print(&text, t);
  bool same = t && strcmp(glow_text_cstr(&text), want) == 0;
  if (!same)
    printf("  %s is %s\n  %s\n", name, t ? glow_text_cstr(&text) : "missing", messages);
  glow_text_release(&text);
  return same;
}

/* Runs a text without inputs; every result and output must print as given: name, text, ..., NULL.
 */
static void expect(const char *text, const char *const *want) {
  Run r = begin(text);
  CHECK(go(&r) == GLOW_OK);
  for (; want[0]; want += 2)
    CHECK(prints(&r, want[0], want[1]));
  end(&r);
}
#define PRINTS(text, ...) expect(text, (const char *const[]){__VA_ARGS__, NULL})

/* Runs a text that must fail, and looks for a part of the message. */
static void fails(const char *text, const char *part, unsigned line) {
  Run r = begin(text);
  CHECK(go(&r) == GLOW_BAD_INPUT);
  CHECK(said(part));
  CHECK(error_line == line);
  CHECK(r.outputs.count == 0);
  end(&r);
}

/* ---- Inputs and outputs ---------------------------------------------------------------------- */

static void test_bindings(void) {
  Run r = begin(
      "declare { placeholder @a : float<2>  placeholder @b : float<2>  placeholder @c : i64<>\n"
      "  placeholder @y : float<2>  placeholder @z : float<2>\n"
      "  constant @a.in : float<2> = [1.0, 2.0]  constant @b.in : float<3> = [1.0, 2.0, 3.0] }\n"
      "func @main() -> (float<2>, i64<0>) {\n"
      "  %0 = Add(@a, @b)  %1 = Shape(@c)  Save(%0, @z)  return %0, %1\n"
      "}\n");
  bind(&r, "a");
  bind(&r, "b");
  CHECK(go(&r) == GLOW_BAD_INPUT && errors == 2); /* all at once */
  CHECK(said("input 'b' is float<3>") && said("input 'c' of type i64<> is not given"));
  end(&r);
  r = begin(
      "declare { placeholder @z : float<1>  placeholder @y : float<1>  placeholder @x : float<1>\n"
      "  constant @x.in : float<1> = [3.0] }\n"
      "func @main(%p : float<1>) -> (float<1>, float<1>) {\n"
      "  %0 = Neg(@x)  %1 = Add(%p, %p)  Save(%1, @y)  Save(%0, @z)  return %0, %1\n"
      "}\n");
  bind(&r, "x");
  r.inputs.data[0].tensor = (GlowTensor *)(uintptr_t)glow_values_get(
      r.values, glow_module_storage(r.module, glow_str(r.ctx, "x.in")));
  GlowBinding p = {glow_str(r.ctx, "p"), r.inputs.data[0].tensor};
  glow_vec_push(r.ctx->arena, &r.inputs, p);
  CHECK(go(&r) == GLOW_OK && r.outputs.count == 4);
  CHECK(r.outputs.count == 4 && strcmp(r.outputs.data[0].name, "z") == 0 &&
        strcmp(r.outputs.data[3].name, "1") == 0);
  CHECK(prints(&r, "z", "[-3.0]") && prints(&r, "y", "[6.0]"));
  end(&r);
}

/* Reads see what storage held when their function began. */
static void test_save(void) {
  Run r = begin("declare { variable @v : i64<> = 1  placeholder @old : i64<> }\n"
                "func @bump() -> (i64<>) { %one = Splat() {value = 1} : i64<>  %n = Add(@v, %one)  "
                "Save(%n, @v)\n"
                "  %again = Add(@v, @v)  return %again }\n"
                "func @main() -> (i64<>, i64<>) { %a = Call() {callee = @bump}  %b = Call() "
                "{callee = @bump}\n"
                "  Save(@v, @old)  return %a, %b }\n");
  CHECK(go(&r) == GLOW_OK);
  CHECK(prints(&r, "a", "2") && prints(&r, "b", "4") && prints(&r, "old", "1"));
  CHECK(go(&r) == GLOW_OK); /* the variable was kept */
  CHECK(prints(&r, "a", "6") && prints(&r, "b", "8") && prints(&r, "old", "3"));
  end(&r);
}

/* ---- Control flow ---------------------------------------------------------------------------- */

static void test_control(void) {
  PRINTS("declare { constant @n : i64<> = 6  constant @a : i64<> = 0  constant @b : i64<> = 1 }\n"
         "func @main() -> (i64<>, i64<?>) {\n"
         "  %x, %y, %all = Loop(@n, none, @a, @b) : i64<>, i64<>, i64<?>\n"
         "    ^body(%i : i64<>, %go : bool<>, %p : i64<>, %q : i64<>) {\n"
         "      %s = Add(%p, %q)  %five = Splat() {value = 8} : i64<>  %more = Less(%s, %five)\n"
         "      yield %more, %q, %s, %p }\n"
         "  return %x, %all }\n",
         "x", "5", "all", "[0, 1, 1, 2, 3]");
  PRINTS("declare { constant @zero : i64<> = 0  constant @a : float<2> = [1.0, 2.0] }\n"
         "func @main() -> (float<2>, i64<2>) {\n"
         "  %x, %all = Loop(@zero, none, @a) : float<2>, float<? x 2>\n"
         "    ^body(%i : i64<>, %go : bool<>, %p : float<2>) { %s = Neg(%p)  yield %go, %s, %p }\n"
         "  %n = Shape(%all)  return %x, %n }\n",
         "x", "[1.0, 2.0]", "n", "[0, 2]");
  PRINTS("declare { constant @s : float<2> = [0.0, 0.0]\n"
         "  constant @x : float<3 x 2> = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]] }\n"
         "func @main() -> (float<2>, float<3 x 2>) {\n"
         "  %sum, %all = Scan(@s, @x) {num_scan = 1, in_reverse = [true], out_reverse = [true]}\n"
         "    ^body(%a : float<2>, %b : float<2>) { %c = Add(%a, %b)  yield %c, %c }\n"
         "  return %sum, %all }\n",
         "sum", "[9.0, 12.0]", "all", "[[9.0, 12.0], [8.0, 10.0], [5.0, 6.0]]");
  PRINTS("declare { constant @c : bool<> = false  constant @x : float<1> = [4.0] }\n"
         "func @main() -> (float<?>) { %k = Sqrt(@x)\n"
         "  %r = If(@c) : float<?> ^then { yield @x } ^else { %d = Concat(%k, @x) {axis = 0} yield "
         "%d }\n"
         "  return %r }\n",
         "r", "[2.0, 4.0]");
}

static void test_depth(void) {
  static char text[16384];
  size_t n = 0;
  for (int i = 0; i < 70; i++)
    n += (size_t)snprintf(text + n, sizeof text - n,
                          "func @f%d(%%x : float<>) -> (float<>) { %%y = Call(%%x) {callee = @f%d} "
                          ": float<>  return %%y }\n",
                          i, i + 1);
  snprintf(text + n, sizeof text - n,
           "func @f70(%%x : float<>) -> (float<>) { %%y = Neg(%%x)  return %%y }\n"
           "func @main() -> (float<>) { %%x = Splat() {value = 1.0} : float<>  %%y = Call(%%x) "
           "{callee = @f0} : "
           "float<>  return %%y }\n");
  fails(text, "nest more than 64 deep", 64);
}

/* ---- Sequences, optionals, strings ----------------------------------------------------------- */

static void test_sequences(void) {
  PRINTS("declare { constant @x : float<3 x 2> = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]\n"
         "  constant @sizes : i64<2> = [1, 2]  constant @last : i64<> = -1 }\n"
         "func @main() -> (float<..2 x 2>, i64<>, float<? x 2>) {\n"
         "  %s = SplitToSequence(@x, @sizes) : seq<float<..2 x 2>, 2>\n"
         "  %e = SequenceAt(%s, @last) : float<..2 x 2>\n"
         "  %t = SequenceInsert(%s, %e) : seq<float<..2 x 2>, 3>\n"
         "  %n = SequenceLength(%t)\n"
         "  %u = SequenceErase(%t, @last) : seq<float<..2 x 2>, 2>\n"
         "  %c = ConcatFromSequence(%u) {axis = 0} : float<? x 2>\n"
         "  return %e, %n, %c }\n",
         "e", "[[3.0, 4.0], [5.0, 6.0]]", "n", "3", "c", "[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]");
  PRINTS("declare { constant @s : string<4> = [\"Monday\", \"tuesday\", \"\xc3\x84rger\", "
         "\"MONDAY\"] }\n"
         "func @main() -> (string<..4>) {\n"
         "  %a = StringNormalizer(@s) {action = upper, stopwords = [\"monday\"]}\n"
         "  return %a }\n",
         "a", "[\"TUESDAY\", \"\xc3\x84RGER\"]");
  PRINTS("declare { constant @x : float<3> = [0.1, -inf, 1e30]  constant @s : string<2> = [\"-7\", "
         "\"2.5\"] }\n"
         "func @main() -> (string<3>, float<2>) { %a = Cast(@x) {to = string}  %b = Cast(@s) {to = "
         "float}  return %a, %b }\n",
         "a", "[\"0.1\", \"-inf\", \"1e+30\"]", "b", "[-7.0, 2.5]");
  fails("declare { constant @s : string<1> = [\"seven\"] }\n"
        "func @main() -> (float<1>) {\n  %b = Cast(@s) {to = float}\n  return %b }\n",
        "element 0 is no number: \"seven\"", 3);
  fails("func @main() -> (float<2>) {\n  %s = SequenceEmpty() {elem = float<2>}\n  %i = Splat() "
        "{value = 0} : i64<>\n"
        "  %x = SequenceAt(%s, %i)\n  return %x }\n",
        "the sequence is empty", 4);
}

/* ---- Errors at run time ---------------------------------------------------------------------- */

static void test_errors(void) {
  fails("declare { variable @i : i64<2> = [1, 5]  constant @x : float<3> = [1.0, 2.0, 3.0] }\n"
        "func @main() -> (float<2>) {\n  %picked = Gather(@x, @i)\n  return %picked }\n",
        "Gather 'picked': Indices is out of range: 5", 3);
  fails("declare { variable @s : i64<1> = [3]  constant @x : float<3> = [1.0, 2.0, 3.0] }\n"
        "func @main() -> (float<2>) {\n  %y = Reshape(@x, @s) : float<2>\n  return %y }\n",
        "float<3>", 3);
  fails("declare { variable @x : float<4> = splat(1.0)  variable @k : i64<1> = [3] }\n"
        "func @main() -> (float<*>) {\n  %m = ConstantOfShape(@k) : float<?>\n"
        "  %y = Clip(@x, %m)\n  return %y }\n",
        "extent 3 of Min does not fit", 4);
  fails("declare { constant @x : float<2> = elided }\nfunc @main() -> (float<2>) { %y = Neg(@x)  "
        "return %y }\n",
        "left out of this text", 1);
  fails("declare { variable @x : float<4> = [1.0, 0.0, 2.0, 0.0]  placeholder @y : i64<1 x 3> }\n"
        "program @main {\n  %n = alloc i64<1 x ..4>\n  non_zero @out %n, @in @x\n"
        "  expect_shape @in %n {dims = [1, 3]}\n  dealloc %n\n}\n",
        "extent 2 of axis 1 breaks the claim that it is 3", 5);
}

/* ---- Programs -------------------------------------------------------------------------------- */

/* Two ways to say the same; their outputs must have the same bits. */
static void same_results(const char *a, const char *b) {
  Run x = begin(a), y = begin(b);
  CHECK(go(&x) == GLOW_OK && go(&y) == GLOW_OK && x.outputs.count == 1 && y.outputs.count == 1);
  CHECK(x.outputs.count && y.outputs.count &&
        glow_tensor_same_bits(x.outputs.data[0].tensor, y.outputs.data[0].tensor));
  end(&x);
  end(&y);
}

#define DECLARE(kind)                                                                              \
  "declare { variable @a : " kind                                                                  \
  "<3 x 700> = random {kind = normal, mean = 0.0, scale = 2.0, seed = 1}\n"                        \
  "  variable @b : " kind "<700> = random {kind = normal, mean = 0.0, scale = 2.0, seed = 2}\n"    \
  "  placeholder @y : " kind "<3 x 700> }\n"

static void test_bodies(void) {
  static const char nodes[] =
      "func @main { %0 = Mul(@a, @b)  %1 = Sigmoid(%0)  %s = Splat() {value = 0.7} : ";
#define REST(kind) kind "<>  %2 = Add(%1, %s)  %3 = Max(%2, @b)  Save(%3, @y) }\n"
#define STACK(kind)                                                                                \
  "program @main { stack @out @y, @in @a, @in @b\n"                                                \
  "  ^body(%p : " kind "<>, %q : " kind "<>) = { %0 = Mul(%p, %q)  %1 = Sigmoid(%0)\n"             \
  "    %s = Splat() {value = 0.7} : " kind                                                         \
  "<>  %2 = Add(%1, %s)  %3 = Max(%2, %q)  yield %3 } }\n"
  char text[4096];
  snprintf(text, sizeof text, "%s%s%s", DECLARE("float"), nodes, REST("float"));
  same_results(text, DECLARE("float") STACK("float"));
  snprintf(text, sizeof text, "%s%s%s", DECLARE("float16"), nodes, REST("float16"));
  same_results(text, DECLARE("float16") STACK("float16"));
#define CONV                                                                                       \
  "declare { variable @x : float16<1 x 20 x 9 x 9> = random {kind = xavier, fan = 3.0, seed = "    \
  "3}\n"                                                                                           \
  "  variable @w : float16<17 x 20 x 3 x 3> = random {kind = xavier, fan = 3.0, seed = 4}\n"       \
  "  variable @skip : float16<17 x 1 x 1> = random {kind = xavier, fan = 3.0, seed = 5}\n"         \
  "  placeholder @y : float16<1 x 17 x 7 x 7> }\n"
  same_results(
      CONV
      "func @main { %c = Convolution(@x, @w)  %d = Add(%c, @skip)  %e = Relu(%d)  Save(%e, @y) }\n",
      CONV "program @main { convolution @out @y, @in @x, @in @w, @in none, @in @skip\n"
           "  ^epilogue(%acc : float16<>, %s : float16<>) = { %0 = Add(%acc, %s)  %1 = Relu(%0)  "
           "yield %1 } }\n");
}

/* Blocked layouts: the same bits, and zeros in the padding lanes. */
static void test_layouts(void) {
#define BLOCKED                                                                                    \
  "declare { variable @x : float<1 x 19 x 5 x 5> = random {kind = normal, mean = 0.0, scale = "    \
  "1.0, seed = 6}\n"                                                                               \
  "  placeholder @y : float<1 x 19 x 5 x 5> }\n"
  same_results(BLOCKED "func @main { %0 = Exp(@x)  Save(%0, @y) }\n", BLOCKED
               "func @main { %b = Relayout(@x) : float<1 x 19 x 5 x 5 | NCHW16c>\n"
               "  %0 = Exp(%b)  %p = Relayout(%0) : float<1 x 19 x 5 x 5>  Save(%p, @y) }\n");
  Run r = begin("declare { variable @x : float<1 x 3 x 1 x 1> = [[[[1.0]], [[2.0]], [[3.0]]]]\n"
                "  placeholder @y : float<1 x 3 x 1 x 1 | NCHW8c> }\n"
                "func @main { %b = Relayout(@x) : float<1 x 3 x 1 x 1 | NCHW8c>  %0 = Exp(%b)  "
                "Save(%0, @y) }\n");
  CHECK(go(&r) == GLOW_OK);
  const GlowTensor *t = output(&r, "y");
  CHECK(t && t->bytes == 32 && ((float *)t->data)[2] > 20 && ((float *)t->data)[3] == 0 &&
        ((float *)t->data)[7] == 0);
  end(&r);
}

/* A planned arena, views with strides, and in-place operators. */
static void test_programs(void) {
  PRINTS("declare { variable @x : float<2 x 3> = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]  placeholder "
         "@y : float<3 x 2> }\n"
         "program @main with {arena = 128, align = 64} {\n"
         "  %a = alloc float<2 x 3> at 64\n"
         "  neg @out %a, @in @x\n"
         "  exp @out %a, @in %a\n"
         "  log @out %a, @in %a\n"
         "  %v = tensorview %a {strides = [1, 3]} : float<3 x 2>\n"
         "  copy @out @y, @in %v\n"
         "  dealloc %a\n}\n",
         "y", "[[-1.0, -4.0], [-2.0, -5.0], [-3.0, -6.0]]");
  PRINTS("declare { variable @n : i64<> = 3  placeholder @y : i64<..4> }\n"
         "program @main {\n"
         "  %c = alloc bool<>\n  splat @out %c {value = 1}\n"
         "  loop @in @n, @in %c ^body(%i : i64<>) { append @inout @y, @in %i, @in %i }\n"
         "  dealloc %c\n}\n",
         "y", "[0, 1, 2]");
}

/* ---- Element-wise operators against an oracle ------------------------------------------------ */

static void test_broadcast(void) {
  Run r = begin("declare { variable @a : float<2 x 1 x 3 x 5> = random {kind = uniform, low = "
                "-1.0, high = 1.0, seed = 1}\n"
                "  variable @b : float<4 x 1 x 5> = random {kind = uniform, low = -1.0, high = "
                "1.0, seed = 2}\n"
                "  placeholder @y : float<2 x 4 x 3 x 5> }\n"
                "func @main { %0 = Sub(@a, @b)  Save(%0, @y) }\n");
  CHECK(go(&r) == GLOW_OK);
  const float *a = value_of(&r, "a")->data;
  const float *b = value_of(&r, "b")->data;
  const float *y = output(&r, "y")->data;
  int wrong = 0;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 4; j++)
      for (int k = 0; k < 3; k++)
        for (int l = 0; l < 5; l++)
          wrong += y[((i * 4 + j) * 3 + k) * 5 + l] !=
                   (float)((double)a[(i * 3 + k) * 5 + l] - (double)b[j * 5 + l]);
  CHECK(wrong == 0);
  end(&r);
}

/* Quantized operands compute in float: dequantize, add, quantize. */
static void test_quantized(void) {
  PRINTS(
      "declare { constant @a : i8[S:0.5 O:10]<4> = [127, -128, 12, 10]\n"
      "  constant @b : i8[S:0.25 O:0]<4> = [1, -100, 3, 1] }\n"
      "func @main() -> (i8[S:1.0 O:-2]<4>) { %y = Add(@a, @b) : i8[S:1.0 O:-2]<4>  return %y }\n",
      /* 58.5 + 0.25, -69 - 25, 1 + 0.75, 0 + 0.25 */
      "y", "[57, -96, 0, -2]");
}

static void test_pow(void) {
  PRINTS(
      "declare { constant @i : i32<3> = [2, 3, -2]  constant @f : float<3> = [0.5, 3.0, 31.0]\n"
      "  constant @x : float<2> = [2.0, -8.0]  constant @e : i64<2> = [-1, 3] }\n"
      "func @main() -> (i32<3>, float<2>) { %a = Pow(@i, @f)  %b = Pow(@x, @e)  return %a, %b }\n",
      "a", "[1, 27, -2147483648]", "b", "[0.5, -512.0]");
}

static void test_softmax(void) {
  Run r = begin("declare { variable @x : float<3 x 37> = random {kind = normal, mean = 0.0, scale "
                "= 4.0, seed = 9}\n"
                "  placeholder @y : float<3 x 37>  placeholder @z : float<3 x 37> }\n"
                "func @main { %0 = Softmax(@x)  %1 = LogSoftmax(@x) {axis = 0}  Save(%0, @y)  "
                "Save(%1, @z) }\n");
  CHECK(go(&r) == GLOW_OK);
  const float *x = value_of(&r, "x")->data;
  const float *y = output(&r, "y")->data, *z = output(&r, "z")->data;
  double worst = 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 37; j++) {
      double sum = 0, down = 0;
      for (int k = 0; k < 37; k++)
        sum += exp((double)x[i * 37 + k]);
      for (int k = 0; k < 3; k++)
        down += exp((double)x[k * 37 + j]);
      double e = fabs((double)y[i * 37 + j] / (exp((double)x[i * 37 + j]) / sum) - 1);
      double f = fabs((double)z[i * 37 + j] - ((double)x[i * 37 + j] - log(down)));
      worst = e > worst ? e : worst;
      worst = f > worst ? f : worst;
    }
  CHECK(worst < 2e-6);
  end(&r);
}

/* ---- Both compilations of the kernels -------------------------------------------------------- */

/* Two NaNs are equal, whatever their bits; n elements of kind k. */
static bool same_row(GlowKind k, const void *a, const void *b, int n) {
  size_t size = glow_ref_bits(k) / 8;
  for (int i = 0; i < n; i++) {
    GlowBuf x = {.data = (void *)(uintptr_t)a, .kind = k},
            y = {.data = (void *)(uintptr_t)b, .kind = k};
    if (memcmp((const char *)a + (size_t)i * size, (const char *)b + (size_t)i * size, size) == 0)
      continue;
    float f[2] = {0, 0};
    double d[2] = {0, 0};
    if (k == GLOW_KIND_DOUBLE) {
      glow_load_double(&x, i, 1, 1, &d[0]);
      glow_load_double(&y, i, 1, 1, &d[1]);
    } else if (k == GLOW_KIND_FLOAT || k == GLOW_KIND_FLOAT16 || k == GLOW_KIND_BFLOAT16) {
      glow_load_float(&x, i, 1, 1, &f[0]);
      glow_load_float(&y, i, 1, 1, &f[1]);
    }
    if (!(isnan(f[0]) && isnan(f[1])) && !(isnan(d[0]) && isnan(d[1])))
      return false;
  }
  return true;
}

static void test_kernel_sets(void) {
  enum { N = 333 };
  static uint64_t in[3][N], out[2][N];
  unsigned rows = 0, different = 0;
  for (uint32_t op = 0; op < GLOW_OP_COUNT; op++)
    for (uint32_t kind = 0; kind < GLOW_KIND_COUNT; kind++) {
      const GlowOpDesc *d = &glow_op_desc[op];
      /* Strings are addresses: random bits are none. */
      if (!glow_kernel_sets[0].rows[op][kind] || d->nin > 3 || kind == GLOW_KIND_STRING)
        continue;
      if (kind == GLOW_KIND_STRING)
        continue; /* random bits are no strings */
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < N; j++)
          in[i][j] = kind == GLOW_KIND_BOOL ? draw() & UINT64_C(0x0101010101010101) : draw();
      for (int j = 0; j < N && d->in[0].type == GLOW_PORT_KIND; j++)
        in[0][j] &= UINT64_C(0x0101010101010101);
      GlowKind result = d->out[0].type == GLOW_PORT_KIND ? (GlowKind)d->out[0].var : (GlowKind)kind;
      for (uint32_t s = 0; s < glow_nkernel_sets; s++) {
        void *p[4] = {out[s & 1], in[0], in[1], in[2]};
        int64_t strides[4] = {1, 1, 1, 1};
        if (!glow_kernel_sets[s].runs_here())
          continue;
        memset(out[s & 1], 0, sizeof out[0]);
        glow_kernel_sets[s].rows[op][kind](p, strides, N, d->member_defaults, 7);
        if (s > 0 && !same_row(result, out[0], out[s & 1], N)) {
          printf("  %s of %s differs\n", d->node, glow_kind_info[kind].name);
          different++;
        }
      }
      rows++;
    }
  CHECK(rows > 200);
  CHECK(different == 0);
}

static GlowBuf shaped(void *data, GlowKind kind, uint32_t rank, const int64_t *dims) {
  GlowBuf b = {.data = data, .kind = kind, .rank = rank};
  memcpy(b.dims, dims, rank * sizeof *dims);
  glow_buf_pack(&b);
  return b;
}
static void call_row(const GlowKernelRow *row, const void *members, GlowBuf *in, uint32_t nin,
                     GlowBuf *out) {
  GlowCall call = {.members = members, .nin = nin, .nout = 1, .in = in, .out = out};
  if (row->scratch)
    call.scratch = aligned_alloc(64, glow_align64(row->scratch(&call) + 1));
  CHECK(row->kernel(&call) == GLOW_RUN_OK);
  free(call.scratch);
}

/* The contractions, casts and reductions through both tables. */
static void test_kernel_tables(void) {
  enum { C = 21, M = 18, S = 9, O = 4 };
  static float x[C * S * S], w[M * C * 9], y[2][M * O * O], sum[2][M * C];
  static uint16_t half[2][C * S * S];
  int64_t xd[] = {1, C, S, S}, wd[] = {M, C, 3, 3}, yd[] = {1, M, O, O}, sd[] = {M, C, 1, 1};
  int64_t axes[2] = {2, 3}, two = 2, ad[] = {M, C * 9}, bd[] = {C * 9, S}, cd[] = {M, S};
  uint32_t strides[2] = {2, 2};
  for (int i = 0; i < C * S * S; i++)
    x[i] = (float)(draw() >> 40) * 0x1p-23f - 1;
  for (int i = 0; i < M * C * 9; i++)
    w[i] = (float)(draw() >> 40) * 0x1p-23f - 1;
  GlowConvolutionMembers conv = {.group = 1, .strides = {2, strides}};
  GlowReduceSumMembers reduce = {.keep = true};
  for (uint32_t s = 0; s < glow_nkernel_sets; s++) {
    const GlowKernelRow *t = glow_kernel_sets[s].table;
    if (!glow_kernel_sets[s].runs_here())
      continue;
    GlowBuf in[3] = {shaped(x, GLOW_KIND_FLOAT, 4, xd), shaped(w, GLOW_KIND_FLOAT, 4, wd),
                     glow_buf_absent()};
    GlowBuf out = shaped(y[s & 1], GLOW_KIND_FLOAT, 4, yd);
    call_row(&t[GLOW_OP_CONVOLUTION], &conv, in, 3, &out);
    in[0] = shaped(w, GLOW_KIND_FLOAT, 4, wd), in[1] = shaped(axes, GLOW_KIND_I64, 1, &two);
    out = shaped(sum[s & 1], GLOW_KIND_FLOAT, 4, sd);
    call_row(&t[GLOW_OP_REDUCE_SUM], &reduce, in, 2, &out);
    in[0] = shaped(x, GLOW_KIND_FLOAT, 4, xd), out = shaped(half[s & 1], GLOW_KIND_FLOAT16, 4, xd);
    call_row(&t[GLOW_OP_CAST], NULL, in, 1, &out);
  }
  CHECK(glow_nkernel_sets == 1 || !glow_kernel_sets[1].runs_here() ||
        (memcmp(y[0], y[1], sizeof y[0]) == 0 && memcmp(sum[0], sum[1], sizeof sum[0]) == 0 &&
         memcmp(half[0], half[1], sizeof half[0]) == 0));
  for (uint32_t s = 0; s < glow_nkernel_sets && glow_kernel_sets[s].runs_here(); s++) {
    GlowBuf in[2] = {shaped(w, GLOW_KIND_FLOAT, 2, ad), shaped(x, GLOW_KIND_FLOAT, 2, bd)};
    GlowBuf out = shaped(y[s & 1], GLOW_KIND_FLOAT, 2, cd);
    call_row(&glow_kernel_sets[s].table[GLOW_OP_MAT_MUL], &(GlowMatMulMembers){0}, in, 2, &out);
  }
  CHECK(glow_nkernel_sets == 1 || !glow_kernel_sets[1].runs_here() ||
        memcmp(y[0], y[1], M * S * sizeof(float)) == 0);
}

/* ---- The floating point environment ---------------------------------------------------------- */

static void test_float_mode(void) {
  Run r = begin(
      "declare { variable @x : float<2> = [1e-40, 1.0]  variable @e : float<2> = [1e-40, 1e-10] }\n"
      "func @main() -> (float<2>) { %y = Add(@x, @e)  return %y }\n");
  CHECK(fesetround(FE_UPWARD) == 0);
  CHECK(go(&r) == GLOW_OK);
  CHECK(fegetround() == FE_UPWARD);
  fesetround(FE_TONEAREST);
  CHECK(prints(&r, "y", "[1.99999e-40, 1.0]"));
  end(&r);
}

/* ---- Storage --------------------------------------------------------------------------------- */

static void test_chain(void) {
  enum { LINKS = 20000 };
  char *text = malloc(LINKS * 100 + 200), *t = text;
  t += sprintf(t, "declare { constant @c0 : i64<> = 1\n");
  for (int i = 1; i < LINKS; i++)
    t += sprintf(t, "constant @c%d : i64<> = eval { %%0 = Add(@c%d, @c0)  yield %%0 }\n", i, i - 1);
  sprintf(t, "}\nfunc @main() -> (i64<>) { %%y = Neg(@c%d)  return %%y }\n", LINKS - 1);
  PRINTS(text, "y", "-20000");
  free(text);
}

/* What one initializer alone reads is forgotten when that has its value, and evaluated again for
 * who asks again; a program's variables begin with what the table holds, and leave it there. */
static void test_values(void) {
  Run r =
      begin("declare { constant @x : float<2> = [1.0, 4.0]  variable @n : float<2> = splat(1.0)\n"
            "  constant @a : float<2> = eval { %0 = Sqrt(@x)  yield %0 }\n"
            "  constant @b : float<2> = eval { %0 = Neg(@a)  yield %0 }\n"
            "  constant @c : float<2> = eval { %0 = Add(@b, @b)  yield %0 } }\n"
            "func @main() -> (float<2>) { %0 = Add(@b, @n)  Save(%0, @n)  return @c }\n");
  GlowStorage *a = glow_module_storage(r.module, glow_str(r.ctx, "a"));
  GlowStorage *n = glow_module_storage(r.module, glow_str(r.ctx, "n"));
  CHECK(!glow_values_held(r.values, a));
  CHECK(value_of(&r, "a") && glow_values_held(r.values, a) == value_of(&r, "a"));
  CHECK(go(&r) == GLOW_OK && prints(&r, "0", "[-2.0, -4.0]"));
  CHECK(!glow_values_held(r.values, a) && value_of(&r, "b") == value_of(&r, "b"));
  CHECK(glow_tensor_get_double(value_of(&r, "n"), 1) == -1);
  CHECK(glow_tensor_get_double(value_of(&r, "a"), 1) == 2);
  CHECK(go(&r) == GLOW_OK && glow_tensor_get_double(value_of(&r, "n"), 1) == -3);
  GlowTensor *t = glow_values_take(r.values, n);
  CHECK(!glow_values_held(r.values, n) && glow_tensor_get_double(value_of(&r, "n"), 1) == 1);
  glow_values_set(r.values, n, t);
  CHECK(value_of(&r, "n") == t);
  glow_values_forget(r.values, n);
  CHECK(go(&r) == GLOW_OK && glow_tensor_get_double(value_of(&r, "n"), 1) == -1);
  CHECK(glow_interp_run(r.entry, &r.inputs, &r.outputs, NULL) == GLOW_OK);
  CHECK(glow_tensor_get_double(value_of(&r, "n"), 1) == -1); /* that run had a table of its own */
  end(&r);
}

enum { MOST_SEEN = 16 };
typedef struct Seen {
  const void *data[MOST_SEEN]; /* of the first result of each node */
  uint32_t count;
} Seen;
static void see(void *user, const GlowNode *n, GlowTensor *const *results) {
  Seen *seen = user;
  if (n->nresults && seen->count < MOST_SEEN)
    seen->data[seen->count++] = results[0]->data;
}

/* An element-wise node has its result where an operand of that type was that nothing else needs. */
static void test_dying_operands(void) {
  Run r = begin("declare { constant @x : float<3> = [1.0, 2.0, 3.0] }\n"
                "func @main() -> (float<3>, float<3>, float<3>, bool<3>) {\n"
                "  %a = Neg(@x)  %b = Sub(%a, @x)  %c = Neg(%b)  %d = Mul(%b, %b)\n"
                "  %e = Sub(@x, %c)  %f = Sqrt(%d)  %g = Greater(%f, @x)\n"
                "  return %c, %d, %e, %g }\n");
  Seen seen = {.count = 0};
  enum { A, B, C, D, E, F };
  CHECK(glow_interp_run(r.entry, &r.inputs, &r.outputs,
                        &(GlowRunOptions){.trace = see, .trace_user = &seen}) == GLOW_OK);
  CHECK(prints(&r, "c", "[2.0, 4.0, 6.0]") && prints(&r, "d", "[4.0, 16.0, 36.0]"));
  CHECK(prints(&r, "e", "[-1.0, -2.0, -3.0]") && prints(&r, "g", "[true, true, true]"));
  CHECK(seen.count >= 7 && seen.data[B] == seen.data[A] && seen.data[D] == seen.data[B]);
  CHECK(seen.data[C] != seen.data[B] && seen.data[E] != seen.data[C]);
  CHECK(seen.data[F] != seen.data[D]);
  end(&r);
  /* One of another type or of another round is left alone. */
  PRINTS("declare { constant @n : i64<> = 3  constant @x : float<3> = [1.0, 2.0, 3.0] }\n"
         "func @main() -> (float<3>, float<3>) {\n"
         "  %one = Splat() {value = 1.0} : float<1>  %y = Add(%one, @x)\n"
         "  %o = Neg(@x)  %sum = Loop(@n, none, @x) : float<3>\n"
         "    ^body(%i : i64<>, %go : bool<>, %p : float<3>) { %s = Sub(%p, %o)  yield %go, %s }\n"
         "  return %y, %sum }\n",
         "y", "[2.0, 3.0, 4.0]", "sum", "[4.0, 8.0, 12.0]");
}

static void test_single_nodes(void) {
  Run r = begin("declare { constant @i : i64<> = 9 }\n"
                "func @main() -> (float<>) { %x = Splat() {value = 2.0} : float<3>  %y = "
                "Gather(%x, @i)  return %y }\n");
  GlowNode *splat = r.entry->body->first, *gather = splat->next;
  GlowTensor *x = NULL, *y = NULL;
  CHECK(glow_interp_eval_node(splat, NULL, &x, false) && x && glow_tensor_get_double(x, 2) == 2.0);
  const GlowTensor *in[2] = {x, value_of(&r, "i")};
  CHECK(!glow_interp_eval_node(gather, in, &y, true) && errors == 0 && !y);
  CHECK(!glow_interp_eval_node(gather, in, &y, false) && errors == 1 && said("out of range"));
  glow_tensor_free(x);
  end(&r);
}

/* ---- Failing allocations --------------------------------------------------------------------- */

static void test_out_of_memory(void) {
  static const char text[] = "declare { constant @n : i64<> = 2  constant @x : float<2 x 3> = "
                             "splat(0.5)  placeholder @y : float<2 x 3>\n"
                             "  constant @e : float<2 x 3> = eval { %0 = Exp(@x)  yield %0 } }\n"
                             "func @main() -> (float<? x 2 x 3>, seq<float<2 x 3>, 2>) {\n"
                             "  %a, %all = Loop(@n, none, @x) : float<2 x 3>, float<? x 2 x 3>\n"
                             "    ^body(%i : i64<>, %go : bool<>, %p : float<2 x 3>) { %s = "
                             "Softmax(%p)  yield %go, %s, %p }\n"
                             "  %q = SequenceConstruct(%a, @e) : seq<float<2 x 3>, 2>\n"
                             "  %z = Splat() {value = 0} : i64<>\n"
                             "  %f = SequenceAt(%q, %z)  Save(%f, @y)  return %all, %q }\n";
  long n = 0;
  GlowStatus status = GLOW_NO_MEMORY;
  for (; status == GLOW_NO_MEMORY && n < 20000; n++) {
    Run r = begin(text);
    allowance = n;
    status = go(&r);
    allowance = -1;
    CHECK(status == GLOW_NO_MEMORY || status == GLOW_OK);
    end(&r);
  }
  CHECK(status == GLOW_OK && n > 50);
}

int main(void) {
  test_bindings();
  test_save();
  test_control();
  test_depth();
  test_sequences();
  test_errors();
  test_bodies();
  test_layouts();
  test_programs();
  test_broadcast();
  test_quantized();
  test_pow();
  test_softmax();
  test_kernel_sets();
  test_kernel_tables();
  test_float_mode();
  test_chain();
  test_values();
  test_dying_operands();
  test_single_nodes();
  test_out_of_memory();
  return unit_finish();
}
