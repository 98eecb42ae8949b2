/* One scale for values that a node only chooses among: the parts of a Concat, both sides of Max,
 * Min and Where.
 *
 *   a = Quantize(x) : u8[S:0.05 O:0]
 *   b = Quantize(y) : u8[S:0.04 O:0]
 *   q = Quantize(Concat(Dequantize(a), Dequantize(b))) : u8[S:0.06 O:0]
 *
 * have the type u8[S:0.05 O:0] then. So -sink-quantize and -merge-quantize leave the node
 * with stored integers, and nothing is rounded twice. A value is tied if Quantize makes it, and if
 * Dequantize alone reads it, and so is the result; a scale may become `tie` times larger. The
 * type is that of a value whose range holds all of theirs, else one for all. If others read the
 * quantized result, the values get its type, or none is tied.
 *
 * Requested: values are rounded to another scale. */
#include <math.h>

#include "transforms/quantize/quantize.h"
#include "transforms/quantized.h"

enum { MAX_ROUNDS = 8 };

typedef struct Ties {
  GlowPassRun *run;
  double limit;
  GlowMap *least; /* a Quantize to the scale that it began with: float */
  bool changed;
} Ties;

/* The values of one node. */
typedef struct Group {
  GLOW_VEC(GlowNode *) makers; /* Quantize */
  GlowNode *result;            /* Quantize of the result, or NULL */
  double low, high, least;
} Group;

static bool is_plain_quantize(const GlowNode *n) {
  return n && n->op == GLOW_OP_QUANTIZE && !((const GlowQuantizeMembers *)n->members)->steps &&
         glow_quantization_is_usual(n->results[0].type) &&
         glow_kind_info[n->results[0].type->kind].bits == 8;
}

/* Whether Dequantize alone reads what n makes, so that its type is free. */
static bool is_free(const GlowNode *n) {
  for (const GlowUse *u = n->results[0].uses; u; u = u->next)
    if (u->user->op != GLOW_OP_DEQUANTIZE ||
        ((const GlowDequantizeMembers *)u->user->members)->steps)
      return false;
  return true;
}

/* The Quantize whose result v dequantizes. */
static GlowNode *maker_of(const GlowValue *v) {
  const GlowNode *d = glow_value_def(v, GLOW_OP_DEQUANTIZE);
  GlowNode *q = d && !((const GlowDequantizeMembers *)d->members)->steps
                    ? glow_value_def(glow_node_in(d, 0), GLOW_OP_QUANTIZE)
                    : NULL;
  return is_plain_quantize(q) ? q : NULL;
}

static float first_scale(Ties *t, const GlowNode *q) {
  float *s = glow_map_get(t->least, q);
  if (!s) {
    s = GLOW_NEW(t->run->arena, float);
    *s = q->results[0].type->scale;
    glow_map_set(t->least, q, s);
  }
  return *s;
}

static bool chooses(const GlowNode *n) {
  GlowQuantForm form = glow_node_quant_form(n);
  return n->nresults == 1 &&
         (form == GLOW_QUANT_SAME || form == GLOW_QUANT_CLAMP ||
          (GLOW_HAS(glow_node_desc(n), ELEMENTWISE) && GLOW_HAS(glow_node_desc(n), ROUNDS_NEVER)));
}

/* The Quantize nodes of all operands of n that are floats. False if one has none. */
static bool find_makers(Ties *t, const GlowNode *n, Group *g) {
  g->least = INFINITY;
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    const GlowValue *v = glow_node_in(n, i);
    if (!v || !glow_type_is_tensor(v->type) || v->type->kind != GLOW_KIND_FLOAT)
      continue;
    GlowNode *q = maker_of(v);
    if (!q || !is_free(q))
      return false;
    double low, high;
    glow_quantized_range(q->results[0].type, &low, &high);
    g->low = fmin(g->low, low);
    g->high = fmax(g->high, high);
    g->least = fmin(g->least, (double)first_scale(t, q));
    glow_vec_push(t->run->arena, &g->makers, q);
  }
  return g->makers.count > 1;
}

static void find_result(const GlowNode *n, Group *g) {
  const GlowUse *u = n->results[0].uses;
  g->result = u && !u->next && is_plain_quantize(u->user) ? u->user : NULL;
}

/* ---- The type -------------------------------------------------------------------------------- */

static bool holds(const Group *g, const GlowType *t) {
  double low, high, slack = (double)t->scale / 2;
  glow_quantized_range(t, &low, &high);
  return low <= g->low + slack && high >= g->high - slack;
}

/* The type of one for all, without its shape; NULL: the result has one that cannot hold all. */
static const GlowType *common_type(const Ties *t, const Group *g) {
  const GlowType *first = g->makers.data[0]->results[0].type;
  if (g->result && !is_free(g->result))
    return holds(g, g->result->results[0].type) ? g->result->results[0].type : NULL;
  const GlowType *best = NULL;
  for (uint32_t i = 0; i < g->makers.count; i++) {
    const GlowType *one = g->makers.data[i]->results[0].type;
    if (holds(g, one) && (!best || one->scale < best->scale))
      best = one;
  }
  if (best)
    return best;
  GlowQuantParameters p =
      glow_quant_parameters(GLOW_SCHEME_ASYMMETRIC, first->kind, g->low, g->high);
  return glow_type_with_quant(t->run->ctx, glow_type_with_kind(t->run->ctx, first, p.kind), true,
                              p.scale, p.offset);
}

static bool has_type(const GlowNode *q, const GlowType *t) {
  return glow_quantization_is_same(q->results[0].type, t);
}

static void set_type(const Ties *t, GlowNode *q, const GlowType *like) {
  GlowContext *ctx = t->run->ctx;
  const GlowType *plain = glow_type_with_kind(ctx, q->results[0].type, like->kind);
  q->results[0].type = glow_type_with_quant(ctx, plain, true, like->scale, like->offset);
}

static bool is_tied(const Group *g, const GlowType *type) {
  bool tied = !g->result || has_type(g->result, type);
  for (uint32_t i = 0; i < g->makers.count; i++)
    tied &= has_type(g->makers.data[i], type);
  return tied;
}

static bool visit(GlowNode *n, void *arg) {
  Ties *t = arg;
  Group g = {0};
  if (!chooses(n) || !find_makers(t, n, &g))
    return true;
  find_result(n, &g);
  const GlowType *type = common_type(t, &g);
  double factor = type ? (double)type->scale / g.least : INFINITY;
  if (type && is_tied(&g, type))
    return true;
  if (!(factor <= t->limit)) {
    glow_pass_remark(t->run, glow_node_loc(n), "%s '%s' keeps several scales: %s",
                     glow_node_desc(n)->node, n->results[0].name,
                     type
                         ? glow_str_printf(t->run->ctx, "one would be %.3g times too large", factor)
                         : "that of its result cannot hold all of them");
    return true;
  }
  glow_pass_changed(t->run, n, "tied scales");
  for (uint32_t i = 0; i < g.makers.count; i++)
    set_type(t, g.makers.data[i], type);
  if (g.result && is_free(g.result))
    set_type(t, g.result, type);
  t->changed = true;
  return true;
}

bool glow_pass_tie_scales(GlowPassRun *run) {
  const char *tie = glow_pass_option(run, "tie");
  Ties t = {.run = run, .limit = 4, .least = glow_map_create(run->arena), .changed = true};
  if (tie && !glow_quantize_read_number(run, "tie", tie, 1, 1e9, &t.limit))
    return false;
  for (int i = 0; t.changed && i < MAX_ROUNDS; i++) {
    t.changed = false;
    glow_block_walk(run->function->body, visit, &t);
  }
  return true;
}
