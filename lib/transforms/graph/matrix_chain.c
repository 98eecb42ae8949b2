/* Chains of matrix products in the order that takes the fewest multiplications:
 *
 *   MatMul(MatMul(a : 1000 x 2, b : 2 x 1000), c : 1000 x 2)  ->  MatMul(a, MatMul(b, c))
 *
 * The order comes from the classic dynamic program over the places where a chain can be cut. The
 * first factor may have batch axes, which count as rows; it and the last one may be vectors. What
 * -constant-fold computes before the program runs costs nothing.
 *
 * note [rows and the order of chains]
 * A row has to get the same bits in a batch of any size, so the order must not depend on an extent
 * that may hold the batch. Such are the rows of the first factor unless that is a weight, and the
 * columns of the last factor if that is computed. A small, a medium and a large number stand in for
 * such an extent. Another order is taken if it saves an eighth of the multiplications for the
 * medium number, and costs at most an eighth more for each of the others.
 *
 * Bounded: both orders add up the same products, K along each way, c = 2 K + 2. */
#include "transforms/rules.h"

enum { MOST_FACTORS = 16, MOST_VISITS = 64 };

static const int64_t stand_ins[] = {64, 1, 4096}; /* the medium one first */
enum { STAND_INS = sizeof stand_ins / sizeof *stand_ins };

/* Where the product of factors i to j is cut: behind factor at[i][j]. */
typedef struct Order {
  uint8_t at[MOST_FACTORS][MOST_FACTORS];
} Order;

/* Factor i has extents[i] rows and extents[i + 1] columns. */
typedef struct Chain {
  GlowNode *root;
  uint32_t count;
  GlowValue *factors[MOST_FACTORS];
  bool constant[MOST_FACTORS];
  int64_t extents[MOST_FACTORS + 1];
  bool open_rows, open_columns; /* extents that may hold the batch */
  Order written;
} Chain;

/* ---- Finding a chain ------------------------------------------------------------------------- */

static bool is_plain(const GlowType *t) {
  return glow_type_is_static(t) && !t->layout && !t->quantized && t->rank > 0 &&
         glow_type_elements(t) > 0;
}

static bool is_product(const GlowNode *n) {
  return n->op == GLOW_OP_MAT_MUL && !glow_node_is_narrow(n) && glow_product_is_direct(n) &&
         is_plain(glow_node_in(n, 0)->type) && is_plain(glow_node_in(n, 1)->type) &&
         glow_node_in(n, 1)->type->rank <= 2;
}

/* The product that defines operand `port` of n, if it is a link of n's chain. A vector or a batch
 * may stand only at the ends. */
static GlowNode *link_of(const GlowNode *n, uint32_t port) {
  GlowValue *v = glow_node_in(n, port);
  GlowNode *def = glow_match(v, GLOW_OP_MAT_MUL, n);
  if (!def || def->block != n->block || !glow_value_has_one_use(v) || !is_product(def))
    return NULL;
  return glow_node_in(def, 1 - port)->type->rank == 2 ? def : NULL;
}

/* Appends the factors of n. False if there are too many. */
static bool collect(Chain *c, const GlowNode *n) {
  uint32_t first = c->count, cut = 0;
  for (uint32_t port = 0; port < 2; port++) {
    const GlowNode *link = link_of(n, port);
    if (link && !collect(c, link))
      return false;
    if (!link && c->count == MOST_FACTORS)
      return false;
    if (!link)
      c->factors[c->count++] = glow_node_in(n, port);
    if (port == 0)
      cut = c->count - 1;
  }
  c->written.at[first][c->count - 1] = (uint8_t)cut;
  return true;
}

/* Whether v is computed from weights alone, that is from storage other than placeholders. False
 * after *visits values have been looked at. */
static bool is_weight(const GlowValue *v, uint32_t *visits) {
  if (v->kind == GLOW_VALUE_STORAGE)
    return v->def.storage->cls != GLOW_PLACEHOLDER;
  if (v->kind != GLOW_VALUE_RESULT || *visits == 0 || v->def.node->nregions)
    return false;
  --*visits;
  for (uint32_t i = 0; i < v->def.node->noperands; i++)
    if (v->def.node->operands[i].value && !is_weight(v->def.node->operands[i].value, visits))
      return false;
  return true;
}

/* Whether the columns of the matrix v may hold the batch: what callers give has it along axis 0. */
static bool has_open_columns(const GlowValue *v) {
  uint32_t visits = MOST_VISITS;
  bool given = v->kind == GLOW_VALUE_STORAGE ||
               (v->kind == GLOW_VALUE_PARAM && v->def.block->owner == GLOW_BLOCK_FUNCTION);
  return v->type->rank == 2 && !given && !is_weight(v, &visits);
}

static void set_extents(Chain *c) {
  const GlowValue *first = c->factors[0], *last = c->factors[c->count - 1];
  uint32_t visits = MOST_VISITS;
  c->extents[0] = 1;
  for (uint32_t i = 0; i + 1 < first->type->rank; i++)
    c->extents[0] *= first->type->dims[i].size;
  for (uint32_t i = 1; i < c->count; i++)
    c->extents[i] = c->factors[i]->type->dims[0].size;
  c->extents[c->count] = last->type->rank == 2 ? last->type->dims[1].size : 1;
  c->open_rows = first->type->rank > 1 && !is_weight(first, &visits);
  c->open_columns = has_open_columns(last);
}

/* ---- Costs ----------------------------------------------------------------------------------- */

/* The cost of the last product of factors i to j if they are cut behind factor k. A product of
 * constants costs next to nothing, unless it is so large that -constant-fold leaves it. */
static double last_product(const Chain *c, uint32_t i, uint32_t k, uint32_t j) {
  double rows = (double)c->extents[i], columns = (double)c->extents[j + 1];
  double inner = (double)c->extents[k + 1],
         bytes = (double)glow_kind_info[c->factors[i]->type->kind].bits / 8;
  double growth = (rows * columns - rows * inner - inner * columns) * bytes;
  bool folded = growth <= GLOW_FOLD_GROWTH;
  for (uint32_t f = i; f <= j; f++)
    folded &= c->constant[f];
  return rows * inner * columns * (folded ? 0x1p-40 : 1);
}

static double cost(const Chain *c, const Order *order, uint32_t i, uint32_t j) {
  uint32_t k = order->at[i][j];
  return i == j ? 0 : cost(c, order, i, k) + cost(c, order, k + 1, j) + last_product(c, i, k, j);
}

/* The dynamic program: longer pieces of the chain from shorter ones. */
static Order best_order(const Chain *c) {
  Order best = {0};
  double least[MOST_FACTORS][MOST_FACTORS] = {{0}};
  for (uint32_t length = 2; length <= c->count; length++)
    for (uint32_t i = 0, j = length - 1; j < c->count; i++, j++)
      for (uint32_t k = i; k < j; k++) {
        double all = least[i][k] + least[k + 1][j] + last_product(c, i, k, j);
        if (k > i && all >= least[i][j])
          continue;
        least[i][j] = all;
        best.at[i][j] = (uint8_t)k;
      }
  return best;
}

/* The chain with stand-ins for its open extents: number r for rows, number s for columns. */
static Chain with_stand_ins(const Chain *c, uint32_t r, uint32_t s) {
  Chain other = *c;
  if (c->open_rows)
    other.extents[0] = stand_ins[r];
  if (c->open_columns)
    other.extents[c->count] = stand_ins[s];
  return other;
}

/* See note [rows and the order of chains]. */
static bool pays(const Chain *c, const Order *order) {
  for (uint32_t r = 0; r < STAND_INS; r++)
    for (uint32_t s = 0; s < STAND_INS; s++) {
      const Chain other = with_stand_ins(c, r, s);
      double most = cost(&other, &other.written, 0, c->count - 1);
      most *= r == 0 && s == 0 ? 7.0 / 8 : 9.0 / 8;
      if (!(cost(&other, order, 0, c->count - 1) <= most))
        return false;
    }
  return true;
}

/* ---- The rewrite ----------------------------------------------------------------------------- */

static GlowValue *build(GlowBuilder *b, const Chain *c, const Order *order, uint32_t i,
                        uint32_t j) {
  if (i == j)
    return c->factors[i];
  uint32_t k = order->at[i][j];
  GlowValue *left = build(b, c, order, i, k);
  GlowValue *right = left ? build(b, c, order, k + 1, j) : NULL;
  return right ? glow_build2(b, GLOW_OP_MAT_MUL, left, right, NULL, NULL) : NULL;
}

static GlowValue *order_chain(GlowPassRun *run, GlowNode *n) {
  Chain c = {.root = n};
  const GlowNode *user = glow_only_user(&n->results[0]);
  bool inner = user && is_product(user) &&
               ((glow_node_in(user, 0) == &n->results[0] && link_of(user, 0) == n) ||
                (glow_node_in(user, 1) == &n->results[0] && link_of(user, 1) == n));
  if (inner || !is_product(n) || !is_plain(n->results[0].type) || !collect(&c, n) || c.count < 3)
    return NULL;
  set_extents(&c);
  GlowConstness *constness = glow_constness_create(run->arena);
  for (uint32_t i = 0; i < c.count; i++)
    c.constant[i] = glow_constness_of(constness, c.factors[i]);
  const Chain medium = with_stand_ins(&c, 0, 0);
  Order order = best_order(&medium);
  if (!pays(&c, &order))
    return NULL;
  GlowBuilder b = glow_builder_before(n);
  return build(&b, &c, &order, 0, c.count - 1);
}

static const GlowRule rules[] = {
    {GLOW_OP_MAT_MUL, order_chain, "ordered a chain of products for fewer multiplications"},
};

bool glow_pass_matrix_chain(GlowPassRun *run) {
  return glow_rules_run(run, rules, sizeof rules / sizeof *rules);
}
