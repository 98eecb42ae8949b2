/* The IR in memory: building, names, replacing, cloning, comparing, signatures, texts cut
 * off or damaged, and failing allocations in the parser. test/ir tests what texts can say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"
#include "test/unit/failing_malloc.h"
#include "test/unit/unit.h"

/* ---- Helpers --------------------------------------------------------------------------------- */
static char last_error[512];
static unsigned errors;

static void collect(void *user, const GlowDiagnostic *d) {
  (void)user;
  if (d->severity == GLOW_ERROR) {
    errors++;
    snprintf(last_error, sizeof last_error, "%s", d->message);
  }
}

static GlowModule *parse(GlowContext *ctx, const char *text) {
  return glow_module_parse(ctx, "test.gg", text, strlen(text));
}

/* What the module prints, in the context's arena. */
static const char *printed(const GlowModule *m) {
  GlowText t;
  glow_text_init(&t, m->ctx);
  glow_module_print(m, &t, NULL);
  const char *s = glow_arena_copy(m->ctx->arena, glow_text_cstr(&t), t.size + 1);
  glow_text_release(&t);
  return s;
}

static GlowNode *node(const GlowModule *m, const char *function, uint32_t index) {
  GlowNode *n = glow_module_function(m, glow_str(m->ctx, function))->body->first;
  while (index--)
    n = n->next;
  return n;
}

static const char base_text[] = "declare {\n"
                                "  placeholder @x : float<2 x 3>\n"
                                "  constant @w : float<3> = [1.0, 2.0, 3.0]\n"
                                "  constant @k : i64<2> = [3, 2]\n"
                                "  constant @s : i64<1> = splat(6)\n"
                                "  constant @yes : bool<> = true\n"
                                "}\n"
                                "func @f {\n"
                                "  %a = Add(@x, @w) : float<2 x 3> loc(\"m.onnx\":\"Add_0\")\n"
                                "  %r = If(@yes) : float<2 x 3>\n"
                                "    ^then {\n"
                                "      %t = Relu(%a) : float<2 x 3>\n"
                                "      yield %t\n"
                                "    }\n"
                                "    ^else {\n"
                                "      yield %a\n"
                                "    }\n"
                                "  Save(%r, @x)\n"
                                "}\n";

/* ---- Tests ----------------------------------------------------------------------------------- */
static void test_names(GlowContext *ctx, void *arg) {
  (void)arg;
  GlowModule *m = parse(ctx, base_text);
  GlowNode *add = node(m, "f", 0);
  GlowBuilder b = glow_builder_before(add->next);
  GlowStr a = glow_str(ctx, "a");
  GlowValue *first = glow_build1(&b, GLOW_OP_RELU, &add->results[0], NULL, a);
  GlowValue *second = glow_build1(&b, GLOW_OP_RELU, first, NULL, first->name);
  GlowValue *third = glow_build1(&b, GLOW_OP_RELU, second, NULL, NULL);
  EXPECT(!strcmp(first->name, "a.1"), "a clone of a is called %s", first->name);
  EXPECT(!strcmp(second->name, "a.2"), "a clone of a.1 is called %s", second->name);
  EXPECT(!strcmp(third->name, "0"), "the first generated name is %s", third->name);
  EXPECT(!first->def.node->origin, "a builder before the If has the origin of the If: none");
  glow_value_set_name(second, glow_str(ctx, "t"));
  EXPECT(!strcmp(second->name, "t.1"), "names of regions belong to the function: %s", second->name);
  EXPECT(glow_module_verify(m), "%s", last_error);
  GlowStorage *s = glow_storage_create(m, GLOW_PLACEHOLDER, glow_str(ctx, "x"),
                                       glow_type_scalar(ctx, GLOW_KIND_FLOAT), (GlowInit){0});
  EXPECT(!strcmp(s->value.name, "x.1"), "a second @x is called %s", s->value.name);
  glow_storage_move(s, m->first_storage);
  EXPECT(m->first_storage == s && s->next->prev == s, "moving to the front");
  glow_storage_remove(s);
  EXPECT(!glow_module_storage(m, glow_str(ctx, "x.1")), "a removed storage can still be found");
}

static void test_replace(GlowContext *ctx, void *arg) {
  (void)arg;
  GlowModule *m = parse(ctx, base_text);
  GlowNode *add = node(m, "f", 0);
  GlowBuilder b = glow_builder_before(add);
  GlowValue *x = &glow_module_storage(m, glow_str(ctx, "x"))->value;
  GlowValue *w = &glow_module_storage(m, glow_str(ctx, "w"))->value;
  GlowValue *mul = glow_build2(&b, GLOW_OP_MUL, x, w, NULL, NULL);
  EXPECT(glow_value_use_count(&add->results[0]) == 2, "uses before");
  glow_node_replace(add, &mul, 1);
  EXPECT(!strcmp(mul->name, "a"), "the name moves to the new node, found %s", mul->name);
  EXPECT(mul->def.node->origin && !strcmp(mul->def.node->origin->name, "Add_0"),
         "so does the origin");
  EXPECT(glow_value_use_count(mul) == 2, "uses after: %u", glow_value_use_count(mul));
  EXPECT(glow_value_use_count(x) == 2, "uses of @x: %u", glow_value_use_count(x));
  EXPECT(glow_module_verify(m), "%s", last_error);
  EXPECT(glow_module_verify_roundtrip(m), "%s", last_error);
  /* A result that nobody used, printed as _, gets a name when it is used. */
  GlowNodeSpec top = {.op = GLOW_OP_TOP_K, .ins = &mul, .nins = 1, .discard_unnamed = true};
  GlowTopKMembers members = *(const GlowTopKMembers *)glow_op_desc[GLOW_OP_TOP_K].member_defaults;
  members.k = 2;
  top.members = &members;
  GlowBuilder end = glow_builder_at_end(mul->def.node->block);
  GlowNode *n = glow_node_create(&end, &top);
  EXPECT(n && n->nresults == 2 && !n->results[0].name && !n->results[1].name, "unnamed results");
  glow_build1(&end, GLOW_OP_RELU, &n->results[0], NULL, NULL);
  EXPECT(n->results[0].name && !n->results[1].name, "a used result has a name");
  EXPECT(glow_module_verify_roundtrip(m), "%s", last_error);
}

static void test_builder_errors(GlowContext *ctx, void *arg) {
  (void)arg;
  GlowModule *m = parse(ctx, base_text);
  GlowBlock *body = glow_module_function(m, glow_str(ctx, "f"))->body;
  const char *before = printed(m);
  GlowBuilder b = glow_builder_at_end(body);
  GlowValue *yes = &glow_module_storage(m, glow_str(ctx, "yes"))->value;
  GlowValue *x = &glow_module_storage(m, glow_str(ctx, "x"))->value;
  errors = 0;
  EXPECT(!glow_build1(&b, GLOW_OP_RELU, yes, NULL, NULL), "a Relu of a bool was built");
  EXPECT(!glow_build2(&b, GLOW_OP_ADD, x, yes, NULL, NULL), "a sum of float and bool was built");
  EXPECT(!glow_build(&b, GLOW_OP_ADD, &x, 1, NULL, NULL), "a sum of one operand was built");
  const GlowType *claim = glow_type_scalar(ctx, GLOW_KIND_FLOAT);
  GlowNodeSpec spec = {.op = GLOW_OP_RELU, .ins = &x, .nins = 1, .types = &claim};
  EXPECT(!glow_node_create(&b, &spec), "a contradicting claim was taken");
  EXPECT(errors == 4, "%u errors, expected 4", errors);
  EXPECT(!strcmp(before, printed(m)), "a node that was refused left traces:\n%s", printed(m));
}

static bool count_nodes(GlowNode *n, void *arg) {
  (void)n;
  ++*(unsigned *)arg;
  return true;
}

static void test_walk(GlowContext *ctx, void *arg) {
  (void)arg;
  GlowModule *m = parse(ctx, base_text);
  GlowFunction *f = glow_module_function(m, glow_str(ctx, "f"));
  unsigned walked = 0, stepped = 0;
  glow_block_walk(f->body, count_nodes, &walked);
  for (GlowNode *n = f->body->first; n; n = glow_next_in_walk(n))
    EXPECT(++stepped <= 10, "the walk does not end");
  EXPECT(walked == 6 && stepped == 6, "%u and %u nodes, expected 6", walked, stepped);
  EXPECT(glow_function_number(f) == 6, "numbering counts 6 nodes");
  GlowBlock *then = glow_node_region(node(m, "f", 1), "then");
  EXPECT(then && glow_block_parent(then) == f->body && glow_block_function(then) == f, "parents");
  EXPECT(glow_block_terminator(then)->op == GLOW_OP_YIELD, "terminator");
  EXPECT(!glow_node_region(node(m, "f", 1), "body"), "no such region");
}

/* What no text can say, since the parser resolves names as it reads. */
static void test_dominance(GlowContext *ctx, void *arg) {
  (void)arg;
  GlowModule *m = parse(ctx, base_text);
  GlowNode *add = node(m, "f", 0), *branch = node(m, "f", 1), *save = node(m, "f", 2);
  GlowBlock *then = glow_node_region(branch, "then");
  glow_node_move_before(branch, add);
  EXPECT(!glow_module_verify(m) && strstr(last_error, "uses '%a', which is not defined before it"),
         "%s", last_error);
  glow_node_move_before(add, branch);
  EXPECT(glow_module_verify(m), "%s", last_error);
  glow_use_set(&save->operands[0], &then->first->results[0]);
  EXPECT(!glow_module_verify(m) && strstr(last_error, "uses '%t', which is not defined before it"),
         "a value of a region is used outside: %s", last_error);
  glow_use_set(&save->operands[0], &branch->results[0]);
  glow_use_set(&then->first->operands[0], &branch->results[0]);
  EXPECT(!glow_module_verify(m) && strstr(last_error, "uses '%r', which is not defined before it"),
         "a region uses a result of its own node: %s", last_error);
  glow_use_set(&then->first->operands[0], &add->results[0]);
  EXPECT(glow_module_verify(m), "%s", last_error);
  GlowStorage *late = glow_storage_create(m, GLOW_CONSTANT, glow_str(ctx, "late"),
                                          glow_type_scalar(ctx, GLOW_KIND_FLOAT), (GlowInit){0});
  EXPECT(!glow_module_verify(m) && strstr(last_error, "needs an initializer"), "%s", last_error);
  glow_storage_remove(late);
  EXPECT(glow_module_verify(m), "%s", last_error);
}

static void test_known(GlowContext *ctx, void *arg) {
  (void)arg;
  GlowModule *m = parse(ctx, base_text);
  const GlowTensor *k = glow_value_known(&glow_module_storage(m, glow_str(ctx, "k"))->value);
  const GlowTensor *s = glow_value_known(&glow_module_storage(m, glow_str(ctx, "s"))->value);
  EXPECT(k && glow_tensor_get_int(k, 0) == 3 && glow_tensor_get_int(k, 1) == 2, "a list is known");
  EXPECT(s && glow_tensor_get_int(s, 0) == 6, "a splat is known");
  EXPECT(!glow_value_known(&glow_module_storage(m, glow_str(ctx, "x"))->value),
         "a placeholder is not");
  EXPECT(!glow_value_known(&node(m, "f", 0)->results[0]), "a result is not");
}

static void test_clone(GlowContext *ctx, void *arg) {
  (void)arg;
  GlowModule *m = parse(ctx, base_text);
  GlowModule *c = glow_module_clone(m);
  EXPECT(glow_module_equal(m, c) && glow_module_equal(c, m), "a clone differs");
  EXPECT(!strcmp(printed(m), printed(c)), "a clone prints\n%s", printed(c));
  GlowBlock *body = glow_module_function(c, glow_str(ctx, "f"))->body;
  GlowNode *branch = body->first->next;
  GlowArena *scratch = glow_arena_create(ctx);
  GlowBuilder b = glow_builder_before(branch->next);
  GlowNode *copy = glow_node_clone(&b, branch, glow_map_create(scratch));
  EXPECT(!strcmp(copy->results[0].name, "r.1"), "the copy of %%r is called %s",
         copy->results[0].name);
  EXPECT(glow_module_verify(c), "%s", last_error);
  EXPECT(!glow_module_equal(m, c), "a module equals one with a node more");
  glow_node_remove(copy);
  EXPECT(glow_module_equal(m, c), "removing the copy leaves traces:\n%s", printed(c));
  glow_arena_destroy(scratch);
  glow_module_destroy(m);
  EXPECT(glow_module_verify_roundtrip(c), "a clone outlives its original: %s", last_error);
}

/* Texts that differ in one thing each. */
static void test_equal(GlowContext *ctx, void *arg) {
  (void)arg;
  static const char *const edits[][2] = {{"2.0, 3.0", "2.0, 4.0"},
                                         {"splat(6)", "splat(7)"},
                                         {"@yes : bool<> = true", "@yes : bool<> = false"},
                                         {"Relu", "Neg"},
                                         {"\"Add_0\"", "\"Add_1\""},
                                         {"yield %t", "yield %a"},
                                         {"Save(%r", "Save(%a"},
                                         {"@x, @w", "@w, @x"},
                                         {"placeholder @x", "placeholder @y"},
                                         {"func @f {", "func @g {"}};
  GlowModule *m = parse(ctx, base_text);
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
    const char *at = strstr(base_text, edits[i][0]);
    const char *text = glow_arena_printf(ctx->arena, "%.*s%s%s", (int)(at - base_text), base_text,
                                         edits[i][1], at + strlen(edits[i][0]));
    GlowModule *other = parse(ctx, text);
    EXPECT(!other || !glow_module_equal(m, other), "'%s' makes no difference", edits[i][1]);
    EXPECT(other || !strcmp(edits[i][0], "placeholder @x"), "'%s' does not parse: %s", edits[i][1],
           last_error);
  }
}

static void test_members(GlowContext *ctx, void *arg) {
  (void)arg;
  GlowModule *m = glow_module_create(ctx, NULL);
  const GlowOpDesc *d = &glow_op_desc[GLOW_OP_CONVOLUTION];
  GlowConvolutionMembers a = *(const GlowConvolutionMembers *)d->member_defaults, b = a, c = a;
  a.strides = glow_array_u32(m, (uint32_t[]){1, 2}, 2);
  b.strides = glow_array_u32(m, (uint32_t[]){1, 2}, 2);
  c.strides = glow_array_u32(m, (uint32_t[]){2, 1}, 2);
  EXPECT(glow_members_equal(d, &a, &b) && !glow_members_equal(d, &a, &c), "equality of arrays");
  EXPECT(glow_members_hash(d, &a) == glow_members_hash(d, &b), "equal members hash alike");
  EXPECT(glow_members_hash(d, &a) != glow_members_hash(d, &c), "different members hash alike");
}

static void test_gradient(GlowContext *ctx, void *arg) {
  (void)arg;
  GlowModule *m =
      parse(ctx, "func @foo(%x : float<1 x 784>, %w : float<784 x 10>, %b : float<1 x 10>)"
                 " -> (float<1 x 10>) {\n"
                 "  %0 = MatMul(%x, %w)\n  %1 = Add(%0, %b)\n  return %1\n}\n"
                 "gradient @foo_grad of @foo from 0 wrt %w, %b keeping 0 seedable\n");
  EXPECT(m != NULL, "%s", last_error);
  const char *expected =
      "gradient @foo_grad(%x : float<1 x 784>, %w : float<784 x 10>, %b : float<1 x 10>, "
      "%seed : float<1 x 10>) -> (float<784 x 10>, float<1 x 10>, float<1 x 10>) of @foo from 0 "
      "wrt %w, %b keeping 0 seedable\n";
  EXPECT(m && strstr(printed(m), expected), "%s", printed(m));
}

static void test_entry(GlowContext *ctx, void *arg) {
  (void)arg;
  GlowModule *m = parse(ctx, "func @main { }\ngradient @g of @f from 0 wrt %x\n"
                             "func @f(%x : float<>) -> (float<>) { return %x }\n");
  errors = 0;
  EXPECT(!glow_module_entry(m, NULL) && errors == 1, "two functions and no --entry");
  EXPECT(glow_module_entry(m, "main") == m->first_function, "by name");
  EXPECT(!glow_module_entry(m, "mian") && strstr(last_error, "did you mean '@main'?"), "%s",
         last_error);
  EXPECT(!glow_module_entry(m, "g") && strstr(last_error, "no body to run"), "%s", last_error);
  EXPECT(glow_module_has_level(m, GLOW_LEVEL_GRAPH) &&
             !glow_module_has_level(m, GLOW_LEVEL_PROGRAM),
         "levels");
}

typedef struct Mutant {
  const char *text;
  size_t size;
  bool sound;
} Mutant;

static void parse_mutant(GlowContext *ctx, void *arg) {
  Mutant *mutant = arg;
  char *copy = glow_arena_alloc(ctx->arena, mutant->size + 1);
  memcpy(copy, mutant->text, mutant->size);
  ctx->error_limit = 0;
  errors = 0;
  GlowModule *m = glow_module_parse(ctx, "mutant.gg", copy, mutant->size);
  mutant->sound = m ? !glow_module_verify(m) || glow_module_verify_roundtrip(m) : errors > 0;
  glow_module_destroy(m);
}

/* True if a text gives errors, or a module that survives the round trip. */
static bool survives(const char *text, size_t size) {
  GlowContext *ctx = glow_context_create();
  Mutant mutant = {.text = text, .size = size};
  glow_context_set_diagnostic_fn(ctx, collect, NULL);
  GlowStatus status = glow_protect(ctx, parse_mutant, &mutant);
  glow_context_destroy(ctx);
  return status == GLOW_OK && mutant.sound;
}

/* Every `step`-th prefix of a text, and one bit of every `step`-th byte flipped. */
static void mutate(const char *name, char *text, size_t size, size_t step) {
  for (size_t n = 0; n <= size; n += step)
    EXPECT(survives(text, n), "%s: prefix of %zu bytes", name, n);
  for (size_t i = 0; i < size; i += step) {
    char old = text[i];
    text[i] = (char)(old ^ (1 << i % 8));
    EXPECT(survives(text, size), "%s: bit %zu of byte %zu", name, i % 8, i);
    text[i] = old;
  }
}

/* A file of test/ir. GLOW_UNBOUNDED is set in sanitizer builds, which are slow. */
static void mutate_file(const char *name, size_t step) {
  static char text[1 << 16];
  char path[4096];
  const char *slash = strrchr(__FILE__, '/');
  snprintf(path, sizeof path, "%.*s/../ir/%s", slash ? (int)(slash - __FILE__) : 1,
           slash ? __FILE__ : ".", name);
  FILE *f = fopen(path, "rb");
  EXPECT(f != NULL, "cannot open %s", path);
  if (!f)
    return;
  size_t size = fread(text, 1, sizeof text, f);
  fclose(f);
  mutate(name, text, size, getenv("GLOW_UNBOUNDED") ? 16 * step : step);
}

static void test_mutants(void) {
  char text[sizeof base_text];
  memcpy(text, base_text, sizeof text);
  mutate("a graph", text, sizeof text - 1, 1);
  mutate_file("figure3.gir", 1);
  mutate_file("every-feature.gg", 7);
}

static bool parsed_without_memory;
static void parse_all(GlowContext *ctx, void *arg) {
  (void)arg;
  GlowModule *m = parse(ctx, base_text);
  parsed_without_memory = m && glow_module_verify(m) && glow_module_verify_roundtrip(m);
}

/* The n-th allocation fails, for each n until none does: a status, never a crash, no leak (the
 * sanitizer build looks). */
static void test_memory(void) {
  for (long n = 1; n < 100000; n++) {
    parsed_without_memory = false;
    allowance = n - 1;
    refused = 0;
    GlowContext *ctx = glow_context_create();
    GlowStatus status = GLOW_NO_MEMORY;
    if (ctx) {
      glow_context_set_diagnostic_fn(ctx, collect, NULL);
      status = glow_protect(ctx, parse_all, NULL);
    }
    glow_context_destroy(ctx);
    allowance = -1;
    if (!refused) {
      EXPECT(status == GLOW_OK && parsed_without_memory, "with enough memory it fails");
      EXPECT(n > 20, "only %ld allocations were made", n);
      return;
    }
    EXPECT(status == GLOW_NO_MEMORY || status == GLOW_OK, "allocation %ld: status %d", n,
           (int)status);
  }
  EXPECT(false, "allocations never suffice");
}

static void run(const char *name, void (*test)(GlowContext *ctx, void *arg)) {
  GlowContext *ctx = glow_context_create();
  glow_context_set_diagnostic_fn(ctx, collect, NULL);
  last_error[0] = '\0';
  GlowStatus status = glow_protect(ctx, test, NULL);
  EXPECT(status == GLOW_OK, "%s: status %d: %s", name, (int)status, last_error);
  glow_context_destroy(ctx);
}

int main(void) {
  run("names", test_names);
  run("replace", test_replace);
  run("builder errors", test_builder_errors);
  run("walk", test_walk);
  run("dominance", test_dominance);
  run("known", test_known);
  run("clone", test_clone);
  run("equal", test_equal);
  run("members", test_members);
  run("gradient", test_gradient);
  run("entry", test_entry);
  test_mutants();
  test_memory();
  return unit_finish();
}
