/* Several products whose results are added become one longer product, as in a recurrent cell:
 *
 *   x W + h U + b  ->  [x h] [W; U] + b     MatMul(Concat(x, h), Concat(W, U)), W and U constants
 *   W x + U h + b  ->  [W U] [x; h] + b
 *
 * and likewise FullyConnected, with its bias. -constant-fold makes an `eval` constant of the Concat
 * of constants. The Concat of x and h copies them, row by row, but saves a store and a load of the
 * first product. That pays if a row of the result is at least as long as the rows of x and h
 * together, and if these are short (LONGEST_SUM), since after long sums stores cost nothing. The
 * number of rows does not decide: they may be the batch (note [rows and the order of chains]).
 * Constants that are added, biases among them, become one.
 *
 * This is DLVM's linear algebra fusion. Bounded: up to four products, each a chain of at most K
 * terms, become one chain of all terms, and twelve more terms may be added in another order:
 * c = 5 K + 24. */
#include "transforms/rules.h"

enum { MOST_PRODUCTS = 4, MOST_TERMS = 8, LONGEST_SUM = 64 };

/* The terms of a sum: the leaves of a tree of Adds. */
typedef struct Sum {
  GlowNode *root;
  GlowConstness *constness;
  uint32_t count;
  GlowValue *terms[MOST_TERMS];
} Sum;

/* Products of one form: the constant matrix is operand `port` of each. */
typedef struct Group {
  uint32_t count, port;
  int64_t inner; /* the sum of the extents over which the products are summed */
  GlowNode *products[MOST_PRODUCTS];
} Group;

static bool is_plain(const GlowType *t) {
  return glow_type_is_static(t) && !t->layout && !t->quantized;
}

/* The node of operator op that defines v, if only this sum uses v and v has the type of the sum. */
static GlowNode *part_of(const Sum *s, const GlowValue *v, GlowOp op) {
  GlowNode *n = glow_match(v, op, s->root);
  bool only = n && n->block == s->root->block && glow_value_has_one_use(v);
  return only && v->type == s->root->results[0].type ? n : NULL;
}

static bool collect(Sum *s, const GlowNode *n) {
  for (uint32_t i = 0; i < 2; i++) {
    GlowValue *v = glow_node_in(n, i);
    const GlowNode *inner = part_of(s, v, GLOW_OP_ADD);
    if (inner && !collect(s, inner))
      return false;
    if (inner)
      continue;
    if (s->count == MOST_TERMS)
      return false;
    s->terms[s->count++] = v;
  }
  return true;
}

/* Whether operand `port` of a product is a constant matrix and the other one has its own rows. */
static bool has_form(GlowConstness *constness, const GlowNode *n, uint32_t port) {
  const GlowValue *w = glow_node_in(n, port), *x = glow_node_in(n, 1 - port);
  uint32_t rank = n->results[0].type->rank;
  const GlowValue *bias = glow_node_in(n, GLOW_FULLY_CONNECTED_IN_B);
  if (glow_node_is_narrow(n) || !glow_product_is_direct(n))
    return false; /* operands of other products may have other kinds */
  if (n->op == GLOW_OP_FULLY_CONNECTED &&
      (port == 0 || (bias && !glow_constness_of(constness, bias))))
    return false;
  return is_plain(w->type) && is_plain(x->type) && w->type->rank == 2 && rank >= 2 &&
         x->type->rank == rank && glow_constness_of(constness, w) &&
         !glow_constness_of(constness, x);
}

/* Adds n to the group unless the product of all would not pay (see the head of this file). */
static void add_product(Group *g, GlowNode *n) {
  const GlowType *w = glow_node_in(n, g->port)->type;
  int64_t inner = w->dims[g->port == 1 ? 0 : 1].size, row = w->dims[g->port == 1 ? 1 : 0].size;
  if (g->count == MOST_PRODUCTS || g->inner + inner > row || g->inner + inner > LONGEST_SUM)
    return;
  g->inner += inner;
  g->products[g->count++] = n;
}

static GlowValue *concat(GlowBuilder *b, const Group *g, uint32_t port, int64_t axis) {
  GlowValue *parts[MOST_PRODUCTS];
  for (uint32_t i = 0; i < g->count; i++)
    parts[i] = glow_node_in(g->products[i], port);
  GlowConcatMembers members = {.axis = axis};
  GlowNode *n = glow_build(b, GLOW_OP_CONCAT, parts, g->count, &members, NULL);
  return n ? &n->results[0] : NULL;
}

static bool in_group(const Group *g, const GlowValue *v) {
  for (uint32_t i = 0; i < g->count; i++)
    if (v == &g->products[i]->results[0])
      return true;
  return false;
}

/* sum + v; v alone if there is no sum yet, the sum if there is no v. NULL after a diagnostic. */
static GlowValue *plus(GlowBuilder *b, GlowValue *sum, GlowValue *v) {
  return !v ? sum : sum ? glow_build2(b, GLOW_OP_ADD, sum, v, NULL, NULL) : v;
}

static GlowValue *product_of_all(GlowBuilder *b, const Sum *s, const Group *g) {
  int64_t last = (int64_t)s->root->results[0].type->rank - 1;
  GlowValue *left = concat(b, g, 0, g->port == 1 ? last : 1);
  GlowValue *right = concat(b, g, 1, g->port == 1 ? 0 : last - 1);
  return left && right ? glow_build2(b, GLOW_OP_MAT_MUL, left, right, NULL, NULL) : NULL;
}

/* Builds the product of the group, then adds the constants to it, then the other terms in order. */
static GlowValue *build(const Sum *s, const Group *g) {
  GlowBuilder b = glow_builder_before(s->root);
  GlowValue *v = product_of_all(&b, s, g), *constants = NULL;
  for (uint32_t i = 0; i < g->count; i++)
    if (g->products[i]->op == GLOW_OP_FULLY_CONNECTED)
      constants = plus(&b, constants, glow_node_in(g->products[i], GLOW_FULLY_CONNECTED_IN_B));
  for (uint32_t i = 0; i < s->count; i++)
    if (glow_constness_of(s->constness, s->terms[i]))
      constants = plus(&b, constants, s->terms[i]);
  v = v ? plus(&b, v, constants) : NULL;
  for (uint32_t i = 0; v && i < s->count; i++)
    if (!in_group(g, s->terms[i]) && !glow_constness_of(s->constness, s->terms[i]))
      v = plus(&b, v, s->terms[i]);
  return v;
}

static GlowNode *product(const Sum *s, const GlowValue *term) {
  GlowNode *n = part_of(s, term, GLOW_OP_MAT_MUL);
  return n ? n : part_of(s, term, GLOW_OP_FULLY_CONNECTED);
}

static GlowValue *fuse(GlowPassRun *run, GlowNode *n) {
  Sum s = {.root = n, .constness = glow_constness_create(run->arena)};
  GlowNode *user = glow_only_user(&n->results[0]);
  const Sum above = {.root = user};
  bool inner = user && user->op == GLOW_OP_ADD && part_of(&above, &n->results[0], GLOW_OP_ADD);
  if (inner || !is_plain(n->results[0].type) || !collect(&s, n))
    return NULL;
  for (uint32_t port = 2; port-- > 0;) {
    Group g = {.port = port};
    for (uint32_t i = 0; i < s.count; i++) {
      GlowNode *p = product(&s, s.terms[i]);
      if (p && has_form(s.constness, p, port))
        add_product(&g, p);
    }
    if (g.count > 1)
      return build(&s, &g);
  }
  return NULL;
}

static const GlowRule rules[] = {
    {GLOW_OP_ADD, fuse, "products that are added become one"},
};

bool glow_pass_fuse_products(GlowPassRun *run) {
  return glow_rules_run(run, rules, sizeof rules / sizeof *rules);
}
