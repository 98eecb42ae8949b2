/* Functions of one byte.
 *
 *   Quantize(f(Dequantize(x)))   -> LookupTable(x, table)
 *
 * where f is any graph of element-wise nodes that reads x, 8 bits wide, and numbers that are known,
 * and nothing else uses a value between; f may quantize and dequantize on its way. At least one of
 * its nodes has the quantized form `table`: conversions, products and sums alone are about as fast
 * as a table. The table is a constant: the same nodes on the 256 bytes. Values of fewer elements
 * than that stay as they are, since the table takes longer to make than they do.
 *
 * Exact: the same operators compute the same elements. */
#include "analysis/constness.h"
#include "lower/lower.h"
#include "transforms/quantized.h"
#include "transforms/rules.h"

enum { MOST_NODES = 64, MOST_OPEN = 16, BYTES = 256 };

typedef struct Chain {
  GlowPassRun *run;
  GlowConstness *constness;
  GlowValue *bytes; /* the list of the numbers from 0 to 255; NULL: not made yet */
  const GlowNode *last;
  GlowNode *nodes[MOST_NODES]; /* the last one first */
  uint32_t count;
  GlowValue *open[MOST_OPEN]; /* what the nodes read that none of them computes */
  uint32_t nopen;
} Chain;

static bool is_bytes(const GlowType *t) {
  return glow_type_is_tensor(t) && glow_type_is_static(t) && !t->layout &&
         (t->kind == GLOW_KIND_I8 || t->kind == GLOW_KIND_U8);
}

static bool has_shape_of(const GlowType *t, const GlowType *want) {
  bool same =
      glow_type_is_tensor(t) && glow_type_is_static(t) && !t->layout && t->rank == want->rank;
  for (uint32_t a = 0; same && a < t->rank; a++)
    same = t->dims[a].size == want->dims[a].size;
  return same;
}

static bool has_node(const Chain *c, const GlowNode *n) {
  for (uint32_t i = 0; i < c->count; i++)
    if (c->nodes[i] == n)
      return true;
  return false;
}

/* Whether v is one number that is known before the program runs. */
static bool is_number(Chain *c, const GlowValue *v) {
  return glow_type_is_tensor(v->type) && glow_type_is_static(v->type) && v->type->rank <= 1 &&
         glow_type_elements(v->type) == 1 && glow_constness_of(c->constness, v);
}

static bool joins(const Chain *c, const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (!GLOW_HAS(d, PURE) || !GLOW_HAS(d, ELEMENTWISE) || n->pred.value || n->nregions ||
      n->nresults != 1 || n->block != c->last->block ||
      !has_shape_of(n->results[0].type, c->last->results[0].type))
    return false;
  for (const GlowUse *u = n->results[0].uses; u && n != c->last; u = u->next)
    if (!has_node(c, u->user) || u == &u->user->pred)
      return false;
  return true;
}

/* Takes a node into the chain: its operands are open then. False if it does not fit. */
static bool add(Chain *c, GlowNode *n) {
  if (c->count == MOST_NODES || !joins(c, n))
    return false;
  c->nodes[c->count++] = n;
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    GlowValue *v = glow_node_in(n, i);
    bool known = !v || is_number(c, v);
    for (uint32_t k = 0; k < c->nopen; k++)
      known |= c->open[k] == v;
    if (known)
      continue;
    if (c->nopen == MOST_OPEN)
      return false;
    c->open[c->nopen++] = v;
  }
  return true;
}

/* The open value whose node stands last in the text; -1 if one is no result. */
static int last_open(const Chain *c) {
  int last = -1;
  for (uint32_t k = 0; k < c->nopen; k++) {
    if (c->open[k]->kind != GLOW_VALUE_RESULT)
      return -1;
    if (last < 0 || c->open[k]->def.node->order > c->open[last]->def.node->order)
      last = (int)k;
  }
  return last;
}

/* The longest chain that ends with n: its first value, and *count nodes. NULL if there is none. */
static GlowValue *find(Chain *c, GlowNode *n, uint32_t *count) {
  GlowValue *first = NULL;
  bool function = false; /* whether a node has the form `table` */
  c->last = n;
  c->count = c->nopen = 0;
  for (GlowNode *next = n; next && add(c, next);) {
    function |= glow_node_quant_form(next) == GLOW_QUANT_TABLE;
    if (function && c->nopen == 1 && is_bytes(c->open[0]->type) &&
        has_shape_of(c->open[0]->type, n->results[0].type)) {
      first = c->open[0];
      *count = c->count;
    }
    int last = last_open(c);
    next = last < 0 ? NULL : c->open[last]->def.node;
    if (next)
      c->open[last] = c->open[--c->nopen];
  }
  return first;
}

/* ---- The table ------------------------------------------------------------------------------- */

static const GlowType *as_list(GlowContext *ctx, const GlowType *t) {
  const GlowDim dim = GLOW_EXACT(BYTES);
  return glow_type_with_dims(ctx, t, 1, &dim);
}

/* A copy of n on 256 elements. */
static GlowNode *copy(Chain *c, GlowEval *e, const GlowNode *n) {
  uint32_t nins = glow_node_nins(n);
  GlowValue **ins = GLOW_NEW_ARRAY(c->run->arena, GlowValue *, nins + 1);
  const GlowType *type = as_list(c->run->module->ctx, n->results[0].type);
  for (uint32_t i = 0; i < nins; i++) {
    GlowValue *v = glow_node_in(n, i);
    ins[i] = v ? glow_map_get(e->map, v) : NULL;
    if (v && !ins[i])
      ins[i] = glow_eval_copy(e, v);
  }
  GlowNodeSpec spec = {
      .op = n->op, .ins = ins, .nins = nins, .members = n->members, .types = &type};
  return glow_node_create(&e->builder, &spec);
}

/* What first can hold, all 256 of it, in the order of unsigned bytes. */
static GlowValue *all_bytes(Chain *c, GlowEval *e, const GlowType *first) {
  GlowModule *m = c->run->module;
  const GlowType *list = as_list(m->ctx, first);
  if (!c->bytes) {
    int64_t numbers[BYTES];
    for (int i = 0; i < BYTES; i++)
      numbers[i] = i;
    c->bytes = glow_constant_ints(m, c->last, "bytes", numbers, BYTES);
  }
  GlowValue *x = c->bytes ? glow_build1(&e->builder, GLOW_OP_CAST, c->bytes,
                                        &(GlowCastMembers){.to = GLOW_KIND_U8}, NULL)
                          : NULL;
  return x && x->type != list ? glow_build_bit_cast(&e->builder, x, list) : x;
}

static GlowValue *table_of(Chain *c, GlowValue *first, uint32_t count) {
  GlowEval e = glow_eval_create(c->run->module, c->run->arena, c->last);
  GlowValue *y = all_bytes(c, &e, first->type);
  glow_map_set(e.map, first, y);
  for (uint32_t i = count; y && i-- > 0;) {
    GlowNode *n = copy(c, &e, c->nodes[i]);
    y = n ? &n->results[0] : NULL;
    glow_map_set(e.map, &c->nodes[i]->results[0], y);
  }
  return y ? &glow_eval_finish(&e, y, glow_str(c->run->module->ctx, "table"))->value : NULL;
}

bool glow_pass_lookup_table(GlowPassRun *run) {
  Chain c = {.run = run, .constness = glow_constness_create(run->arena)};
  glow_function_number(run->function);
  GLOW_VEC(GlowNode *) ends = {0};
  for (GlowNode *n = run->function->body->first; n; n = n->next)
    if (n->nresults == 1 && is_bytes(n->results[0].type))
      glow_vec_push(run->arena, &ends, n);
  while (ends.count) {
    GlowNode *n = ends.data[--ends.count];
    uint32_t count = 0;
    bool pays = n->results[0].uses && glow_type_elements(n->results[0].type) >= BYTES;
    GlowValue *first = pays ? find(&c, n, &count) : NULL;
    if (!first)
      continue;
    GlowValue *ins[] = {first, table_of(&c, first, count)};
    GlowBuilder b = glow_builder_before(n);
    GlowNode *y = ins[1] ? glow_build(&b, GLOW_OP_LOOKUP_TABLE, ins, 2, NULL, NULL) : NULL;
    if (!y)
      return false;
    glow_replace_by(run, n, &y->results[0], "made a table of a function of bytes");
  }
  return true;
}
