/* The public builder: graphs with regions, errors of every argument, broken modules. The program of
 * examples/build-lenet is compared with its text by the test `install`. */
#include "glow/build.h"

#include <stdlib.h>
#include <string.h>

#include "test/unit/unit.h"

#define INS(...)                                                                                   \
  (GlowValue *[]){__VA_ARGS__}, sizeof((GlowValue *[]){__VA_ARGS__}) / sizeof(GlowValue *)

static char last_error[512];

static void remember(void *user, const GlowDiagnostic *d) {
  (void)user;
  if (d->severity == GLOW_ERROR)
    snprintf(last_error, sizeof last_error, "%s", d->message);
}

static char *text_of(GlowModule *m) {
  char *text = NULL;
  size_t size;
  return glow_module_to_text(m, &text, &size) == GLOW_OK ? text : NULL;
}

/* A function with parameters and results, data, optional operands, two results and an If. */
static void build_graph(GlowContext *ctx) {
  GlowModule *m = glow_module_new(ctx, "hand");
  const float weights[] = {1, 2, 3, 4};
  GlowValue *w = glow_add_constant_data(m, "w", "float<2 x 2>", weights, sizeof weights);
  GlowValue *k = glow_add_constant(m, "k", "i64<1>", "[1]");
  GlowBlock *f = glow_add_func(m, "main");
  GlowValue *x = glow_add_param(f, "x", "float<2 x 2>");
  GlowValue *yes = glow_add_param(f, "yes", "bool<>");
  GlowValue *product = glow_add_op(f, "p", "MatMul", NULL, INS(x, w)), *top[2];
  GlowNodeArgs args = {.op = "TopK",
                       .ins = (GlowValue *[]){product, k},
                       .nins = 2,
                       .members = "largest = false",
                       .names = (const char *[]){"v", "i"},
                       .nresults = 2};
  CHECK(glow_add_node(f, &args, top, 2) == GLOW_OK && top[0] && top[1]);
  GlowBlock *regions[] = {glow_add_region(f, "then"), glow_add_region(f, "else")};
  CHECK(glow_add_yield(regions[0], INS(glow_add_op(regions[0], "n", "Neg", NULL, INS(top[0])))) ==
        GLOW_OK);
  CHECK(glow_add_yield(regions[1], INS(top[0])) == GLOW_OK);
  GlowValue *chosen;
  GlowNodeArgs branch = {.op = "If",
                         .ins = &yes,
                         .nins = 1,
                         .regions = regions,
                         .nregions = 2,
                         .names = (const char *[]){"r"},
                         .nresults = 1};
  CHECK(glow_add_node(f, &branch, &chosen, 1) == GLOW_OK);
  CHECK(glow_add_return(f, INS(chosen, top[1])) == GLOW_OK);
  CHECK(glow_module_check(m) == GLOW_OK);
  char *text = text_of(m);
  const char *want =
      "module \"hand\"\n"
      "declare {\n"
      "  constant @w : float<2 x 2> = [[1.0, 2.0], [3.0, 4.0]]\n"
      "  constant @k : i64<1> = [1]\n"
      "}\n"
      "func @main(%x : float<2 x 2>, %yes : bool<>) -> (float<2 x 1>, i64<2 x 1>) {\n"
      "  %p = MatMul(%x, @w) : float<2 x 2>\n"
      "  %v, %i = TopK(%p, @k) {largest = false} : float<2 x 1>, i64<2 x 1>\n"
      "  %r = If(%yes) : float<2 x 1>\n"
      "    ^then {\n"
      "      %n = Neg(%v) : float<2 x 1>\n"
      "      yield %n\n"
      "    }\n"
      "    ^else {\n"
      "      yield %v\n"
      "    }\n"
      "  return %r, %i\n"
      "}\n";
  EXPECT(text && strcmp(text, want) == 0, "got:\n%s", text ? text : "nothing");
  free(text);
  glow_module_release(m);
}

/* Symbols with ranges and definitions. */
static void build_open(GlowContext *ctx) {
  GlowModule *m = glow_module_new(ctx, NULL);
  CHECK(glow_add_extent(m, "$N : 1..512") == GLOW_OK);
  CHECK(glow_add_extent(m, "$H : 32..64 step 32") == GLOW_OK);
  CHECK(glow_add_extent(m, "$M = $N * 2") == GLOW_OK);
  GlowBlock *f = glow_add_func(m, "main");
  GlowValue *x = glow_add_param(f, "x", "float<$N x $H>");
  GlowNodeArgs args = {.op = "Concat",
                       .ins = (GlowValue *[]){x, x},
                       .nins = 2,
                       .members = "axis = 0",
                       .names = (const char *[]){"y"},
                       .nresults = 1};
  GlowValue *y;
  CHECK(glow_add_node(f, &args, &y, 1) == GLOW_OK && glow_add_return(f, INS(y)) == GLOW_OK);
  CHECK(glow_module_check(m) == GLOW_OK);
  char *text = text_of(m);
  const char *want = "declare {\n"
                     "  extent $N : 1..512\n"
                     "  extent $H : 32..64 step 32\n"
                     "  extent $M = $N * 2 : 2..1024 step 2\n"
                     "}\n"
                     "func @main(%x : float<$N x $H>) -> (float<$M x $H>) {\n"
                     "  %y = Concat(%x, %x) {axis = 0} : float<$M x $H>\n"
                     "  return %y\n"
                     "}\n";
  EXPECT(text && strcmp(text, want) == 0, "got:\n%s", text ? text : "nothing");
  free(text);
  glow_module_release(m);
}

/* What a user gets wrong, and a part of the message. */
typedef struct Mistake {
  const char *extent, *type, *initializer, *op, *members, *message;
} Mistake;

static const Mistake mistakes[] = {
    {.extent = "$N : 8..1", .message = "the range ends before it begins"},
    {.extent = "$N", .message = "expected"},
    {.extent = "N : 1..8", .message = "expected"},
    {.extent = "$N : 1..8 }", .message = "expected"},
    {.extent = "$N = $K + 1", .message = "bad definition"},
    {.extent = "", .message = "expected"},
    {.type = "flot<2>", .message = "flot"},
    {.type = "float<2", .message = "bad shape"},
    {.type = "float<2> float<3>", .message = "expected"},
    {.type = "", .message = "expected"},
    {.type = "float<99999999999 x 99999999999>", .message = "elements"},
    {.type = "float<2>", .initializer = "[1, 2, 3]", .message = "expected 2 values"},
    {.type = "float<2>", .initializer = "splot(1)", .message = "splot"},
    {.type = "float<2>", .initializer = "eval { }", .message = "'eval' cannot"},
    {.type = "float<2>", .initializer = "payload(\"w\")", .message = "cannot stand here"},
    {.type = "float<2>",
     .initializer = "resource(\"/no/file.safetensors\", \"w\")",
     .message = "/no/file"},
    {.type = "i64<2>",
     .initializer = "random {kind = normal, mean = 0.0, scale = 1.0, seed = 1}",
     .message = "floating-point"},
    {.op = "Rely", .message = "did you mean 'Relu'?"},
    {.op = "Relu", .members = "bogus = 1", .message = "has no 'bogus'"},
    {.op = "Softmax", .members = "axs = 1", .message = "did you mean 'axis'?"},
    {.op = "Softmax", .members = "axis = 7", .message = "axis"},
    {.op = "Softmax", .members = "axis = ", .message = "expected"},
    {.op = "Softmax", .members = "axis = 1}", .message = "expected"},
    {.op = "Softmax", .members = "axis = 1, axis = 1", .message = "twice"},
    {.op = "MaxPool", .members = NULL, .message = "needs 'kernels'"},
    {.op = "MatMul", .members = NULL, .message = "operand"},
    {.op = "alloc", .members = NULL, .message = "unknown operator"},
    {.op = "Yield", .members = NULL, .message = "unknown operator"},
};

static void make_mistake(const Mistake *e) {
  GlowContext *ctx = glow_context_create();
  glow_context_set_diagnostic_fn(ctx, remember, NULL);
  GlowModule *m = glow_module_new(ctx, NULL);
  GlowValue *x = glow_add_placeholder(m, "x", "float<2 x 2>"), *bad;
  GlowBlock *f = glow_add_func(m, "main");
  last_error[0] = 0;
  if (e->extent)
    bad = glow_add_extent(m, e->extent) == GLOW_OK ? x : NULL;
  else if (e->op)
    bad = glow_add_op(f, "r", e->op, e->members, INS(x));
  else if (e->initializer)
    bad = glow_add_variable(m, "v", e->type, e->initializer);
  else
    bad = glow_add_placeholder(m, "p", e->type);
  const char *what = e->extent ? e->extent : e->op ? e->op : e->type;
  EXPECT(!bad && last_error[0] && strstr(last_error, e->message), "%s, %s: got '%s'", what,
         e->members       ? e->members
         : e->initializer ? e->initializer
                          : "",
         last_error);
  /* Broken for good, and quietly. */
  last_error[0] = 0;
  CHECK(!glow_add_op(f, "s", "Relu", NULL, INS(x)) && !last_error[0]);
  CHECK(!glow_add_placeholder(m, "q", "float<2>") && !glow_add_func(m, "g"));
  CHECK(glow_module_check(m) == GLOW_BAD_INPUT);
  glow_module_release(m);
  glow_context_destroy(ctx);
}

static void other_mistakes(void) {
  GlowContext *ctx = glow_context_create();
  glow_context_set_diagnostic_fn(ctx, remember, NULL);
  GlowModule *m = glow_module_new(ctx, NULL);
  CHECK(!glow_add_constant_data(m, "w", "float<2>", "abc", 3) && strstr(last_error, "3 bytes"));
  glow_module_release(m);
  m = glow_module_new(ctx, NULL);
  GlowBlock *f = glow_add_func(m, "main");
  GlowValue *x = glow_add_param(f, "x", "float<2>");
  CHECK(glow_add_return(f, INS(x)) == GLOW_OK);
  CHECK(glow_add_return(f, INS(x)) == GLOW_BAD_INPUT && strstr(last_error, "does not fit"));
  glow_module_release(m);
  m = glow_module_new(ctx, NULL);
  f = glow_add_func(m, "main");
  CHECK(glow_add_yield(f, NULL, 0) == GLOW_BAD_INPUT);
  CHECK(!glow_add_op(NULL, "r", "Relu", NULL, NULL, 0) && !glow_add_region(NULL, "then"));
  glow_module_release(m);
  glow_context_destroy(ctx);
}

int main(void) {
  GlowContext *ctx = glow_context_create();
  glow_context_set_diagnostic_fn(ctx, remember, NULL);
  build_graph(ctx);
  build_open(ctx);
  glow_context_destroy(ctx);
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
    make_mistake(&mistakes[i]);
  other_mistakes();
  return unit_finish();
}
