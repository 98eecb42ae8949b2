/* Choosing what is quantized: see quantize.h.
 *
 *   1. A node can be, if its operator has a quantized form, the user wants it, and its operands
 * have ranges. What `same` ties has one scale, unless that is `tie` times more than one of the
 *      values needs: then the node stays in float. What `clamp` limits has the scale of the result.
 *   2. A node is, if it lies between contractions that can be, or is one (`all`: in any case).
 *   3. A value that such nodes read is rounded to 8 bits, but for those that only pass from a
 *      contraction or an element-wise node to the element-wise node that alone reads them: both run
 *      in one loop, in float. Of two such operands that come from contractions the later one stays,
 *      since a contraction finishes one sum at a time. */
#include <math.h>

#include "transforms/quantize/quantize.h"

static GlowQuantValue *entry_of(const GlowQuantPlan *p, const GlowValue *v) {
  return v ? glow_map_get(p->by_value, v) : NULL;
}

static GlowQuantValue *head_of(GlowQuantValue *v) {
  while (v->tied)
    v = v->tied;
  return v;
}

static GlowQuantNode *node_of(const GlowQuantPlan *p, const GlowNode *n) {
  return glow_map_get(p->by_node, n);
}

bool glow_quant_is_quantized(const GlowQuantPlan *p, const GlowNode *n) {
  const GlowQuantNode *q = node_of(p, n);
  return q && q->form != GLOW_QUANT_NONE && !q->reason;
}

GlowQuantValue *glow_quant_operand(const GlowQuantPlan *p, const GlowNode *n, uint32_t i) {
  const GlowQuantNode *q = node_of(p, n);
  bool counts = q && q->form != GLOW_QUANT_NONE && i < glow_node_nins(n) &&
                (q->form != GLOW_QUANT_CONTRACTION || i <= GLOW_CONTRACTION_W);
  return counts ? entry_of(p, glow_node_in(n, i)) : NULL;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static bool is_usable(const GlowRange *r) {
  return r && (r->fixed || (r->bounded && !r->nan && !r->inf));
}

static void add_value(GlowQuantPlan *p, GlowValue *v) {
  GlowQuantValue *q = GLOW_NEW(p->run->arena, GlowQuantValue);
  const GlowQuantizeOptions *o = p->options;
  *q = (GlowQuantValue){.value = v, .least = INFINITY};
  q->range = glow_ranges_find(o->ranges, glow_observed_name(p->run->ctx, v));
  if (is_usable(q->range)) {
    q->ranged = q->range->bounded;
    q->fixed = q->range->fixed ? q->range : NULL;
    if (q->ranged)
      glow_calibrate(o->calibrate, o->percent, q->range, &q->min, &q->max);
    if (q->max > q->min)
      q->least = q->max - q->min;
  }
  glow_vec_push(p->run->arena, &p->values, q);
  glow_map_set(p->by_value, v, q);
}

/* An error, once for a value: it is needed and has no range that can be used. */
static void refuse_value(GlowQuantPlan *p, const GlowQuantValue *v) {
  GlowContext *ctx = p->run->ctx;
  const GlowRange *r = v->range;
  GlowStr name = glow_observed_name(ctx, v->value);
  p->failed = true;
  if (r && (r->nan || r->inf))
    glow_error(ctx, r->loc, "'%s' had %lld NaN and %lld infinities in the profile", name,
               (long long)r->nan, (long long)r->inf);
  else if (r)
    glow_error(ctx, r->loc, "'%s' had no elements in the profile, so it has no range", name);
  else
    glow_error(ctx, glow_value_loc(v->value),
               "there is no range for '%s'; 'partial' leaves it in "
               "float",
               name);
}

/* ---- Ties ------------------------------------------------------------------------------------ */

static bool same_parameters(const GlowRange *a, const GlowRange *b) {
  return a->kind == b->kind && a->scale == b->scale && a->offset == b->offset;
}

/* Whether two heads can have one scale. *factor gets by how much it would be too large. */
static bool can_tie(const GlowQuantPlan *p, const GlowQuantValue *a, const GlowQuantValue *b,
                    double *factor) {
  *factor = 1;
  if (a->fixed && b->fixed)
    return same_parameters(a->fixed, b->fixed);
  if (!a->ranged || !b->ranged)
    return true;
  double least = fmin(a->least, b->least);
  double extent = fmax(a->max, b->max) - fmin(a->min, b->min);
  *factor = isfinite(least) ? extent / least : 1;
  return *factor <= p->options->tie;
}

static void tie(GlowQuantValue *to, GlowQuantValue *from) {
  if (from->ranged) {
    to->min = to->ranged ? fmin(to->min, from->min) : from->min;
    to->max = to->ranged ? fmax(to->max, from->max) : from->max;
    to->least = fmin(to->least, from->least);
    to->ranged = true;
  }
  to->right |= from->right;
  to->fixed = to->fixed ? to->fixed : from->fixed;
  to->leads = true;
  from->tied = to;
}

typedef GLOW_VEC(GlowQuantValue *) ValueList;

/* The values that a node of the form `same` would tie. */
static ValueList tied_values(const GlowQuantPlan *p, const GlowNode *n) {
  ValueList list = {0};
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    GlowQuantValue *v = glow_quant_operand(p, n, i);
    if (v)
      glow_vec_push(p->run->arena, &list, v);
  }
  for (uint32_t i = 0; i < n->nresults; i++) {
    GlowQuantValue *v = entry_of(p, &n->results[i]);
    if (v)
      glow_vec_push(p->run->arena, &list, v);
  }
  return list;
}

/* What is said of values with one scale that is `factor` times too large for `smallest`. */
static const char *sharing(const GlowQuantPlan *p, const ValueList *list,
                           const GlowQuantValue *smallest, double factor) {
  GlowContext *ctx = p->run->ctx;
  GlowStr names = NULL;
  for (uint32_t i = 0; i < list->count; i++) {
    GlowStr name = glow_observed_name(ctx, list->data[i]->value);
    const char *between = i + 1 == list->count ? " and " : ", ";
    names = names ? glow_str_printf(ctx, "%s%s'%s'", names, between, name)
                  : glow_str_printf(ctx, "'%s'", name);
  }
  return glow_str_printf(ctx, "%s share a scale that is %.3g times too large for '%s'", names,
                         factor, glow_observed_name(ctx, smallest->value));
}

/* Ties all of the values of q or none. NULL, or why they cannot be tied. */
static const char *tie_all(GlowQuantPlan *p, GlowQuantNode *q) {
  ValueList list = tied_values(p, q->node);
  if (!list.count)
    return NULL;
  GlowQuantValue all = *head_of(list.data[0]);
  const GlowQuantValue *smallest = list.data[0];
  double least = all.least, factor = 1;
  for (uint32_t i = 1; i < list.count; i++) {
    GlowQuantValue head = *head_of(list.data[i]);
    if (!can_tie(p, &all, &head, &factor))
      return factor > 1
                 ? glow_str_printf(p->run->ctx,
                                   "'%s' and '%s' would share a scale that is %.3g times too "
                                   "large for one of them",
                                   glow_observed_name(p->run->ctx, list.data[0]->value),
                                   glow_observed_name(p->run->ctx, list.data[i]->value), factor)
                 : "the ranges file gives its values several scales";
    tie(&all, &head);
    smallest = head.least < least ? list.data[i] : smallest;
    least = fmin(least, head.least);
  }
  if (factor > GLOW_USUAL_TIE)
    q->sharing = sharing(p, &list, smallest, factor);
  for (uint32_t i = 1; i < list.count; i++) {
    GlowQuantValue *to = head_of(list.data[0]), *from = head_of(list.data[i]);
    if (to != from)
      tie(to, from);
  }
  return NULL;
}

static bool is_single(const GlowQuantValue *v) { return v->value->uses && !v->value->uses->next; }

/* Operands that a node of the form `clamp` alone reads get the parameters of its result: what lies
 * outside of that range is limited anyway. */
static void tie_limited(GlowQuantPlan *p, const GlowNode *n) {
  GlowQuantValue *y = entry_of(p, &n->results[0]);
  for (uint32_t i = 0; y && i < glow_node_nins(n); i++) {
    GlowQuantValue *x = glow_quant_operand(p, n, i);
    if (!x || !is_single(x) || x->tied || x->leads || x->fixed || head_of(y) == x)
      continue;
    x->ranged = false;
    tie(head_of(y), x);
  }
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* Why the user does not want n to be quantized; NULL: nobody has said so. */
static const char *unwanted(GlowQuantPlan *p, const GlowNode *n) {
  GlowQuantizeOptions *o = p->options;
  const char *why = glow_quant_unwanted(&o->nodes, n);
  for (uint32_t i = 0; i < n->nresults && !why; i++) {
    const GlowRange *r = glow_ranges_find(o->ranges, n->results[i].name ? n->results[i].name : "");
    if (r && r->keep)
      why = r->why ? glow_str_printf(p->run->ctx, "the ranges file keeps it: %s", r->why)
                   : "the ranges file keeps it";
  }
  return why;
}

static bool is_float(const GlowValue *v) {
  return v && glow_type_is_tensor(v->type) && v->type->kind == GLOW_KIND_FLOAT &&
         !v->type->quantized;
}

/* Why the weights of a contraction cannot be quantized. */
static const char *bad_weights(const GlowQuantPlan *p, GlowNode *n) {
  GlowContraction c;
  const GlowValue *w = glow_node_in(n, GLOW_CONTRACTION_W);
  if (glow_constness_of(p->constness, w))
    return glow_contraction_describe(n, &c) ? NULL : "its weights are no filter and no matrix";
  return n->op == GLOW_OP_MAT_MUL ? NULL : "its weights are no constant";
}

/* Why operand i keeps n in float. */
static const char *bad_operand(const GlowQuantPlan *p, GlowQuantNode *q, uint32_t i) {
  GlowNode *n = q->node;
  const GlowValue *v = glow_node_in(n, i);
  bool contraction = q->form == GLOW_QUANT_CONTRACTION;
  if (!is_float(v) || (contraction && i > GLOW_CONTRACTION_W))
    return NULL;
  if (contraction && i == GLOW_CONTRACTION_W)
    return bad_weights(p, n);
  if (glow_constness_of(p->constness, v)) {
    bool one = glow_type_is_static(v->type) && glow_type_elements(v->type) == 1;
    bool free = q->form == GLOW_QUANT_FLOAT || q->form == GLOW_QUANT_TABLE;
    return !contraction && (free || one) ? NULL : "an operand is a constant";
  }
  const GlowQuantValue *entry = entry_of(p, v);
  if (!entry)
    return "a region computes an operand";
  return p->options->partial && !is_usable(entry->range) ? "an operand has no range" : NULL;
}

static bool touches_float(const GlowNode *n) {
  bool is = false;
  for (uint32_t i = 0; i < glow_node_nins(n); i++)
    is |= is_float(glow_node_in(n, i));
  for (uint32_t i = 0; i < n->nresults; i++)
    is |= is_float(&n->results[i]);
  return is;
}

/* Whether all floating-point operands and results are of the kind float. */
static bool computes_in_float(const GlowNode *n) {
  bool is = n->nresults > 0;
  for (uint32_t i = 0; i < n->nresults; i++)
    is &= is_float(&n->results[i]) || !glow_type_is_tensor(n->results[i].type) ||
          !glow_kind_is_float(n->results[i].type->kind);
  return is && touches_float(n);
}

static const char *reason_for(GlowQuantPlan *p, GlowQuantNode *q) {
  GlowNode *n = q->node;
  if (q->form == GLOW_QUANT_NONE)
    return "its operator has no form on 8-bit integers";
  if (!computes_in_float(n))
    return "it computes in another kind";
  const char *why = unwanted(p, n);
  for (uint32_t i = 0; i < glow_node_nins(n) && !why; i++)
    why = bad_operand(p, q, i);
  if (why)
    return why;
  if (q->form == GLOW_QUANT_SAME)
    return tie_all(p, q);
  if (q->form == GLOW_QUANT_CLAMP)
    tie_limited(p, n);
  GlowQuantValue *right =
      q->form == GLOW_QUANT_CONTRACTION ? glow_quant_operand(p, n, GLOW_CONTRACTION_W) : NULL;
  if (right)
    head_of(right)->right = true;
  return NULL;
}

static void add_nodes(GlowQuantPlan *p) {
  GlowBlock *body = p->run->function->body;
  for (GlowNode *n = body->first; n; n = n->next) {
    const GlowOpDesc *d = glow_node_desc(n);
    bool constant = n->nresults && glow_constness_of(p->constness, &n->results[0]);
    if (!touches_float(n) || constant || GLOW_HAS(d, TERMINATOR) || GLOW_HAS(d, WRITES))
      continue;
    GlowQuantNode q = {.node = n, .form = glow_node_quant_form(n)};
    glow_vec_push(p->run->arena, &p->nodes, q);
  }
  for (uint32_t i = 0; i < p->nodes.count; i++)
    glow_map_set(p->by_node, p->nodes.data[i].node, &p->nodes.data[i]);
  for (uint32_t i = 0; i < p->nodes.count; i++)
    p->nodes.data[i].reason = reason_for(p, &p->nodes.data[i]);
}

/* ---- Between contractions -------------------------------------------------------------------- */

static bool is_contraction(const GlowQuantNode *q) { return q->form == GLOW_QUANT_CONTRACTION; }

/* Marks the nodes that compute on what contractions compute, through nodes that can be quantized.
 */
static void mark_fed(const GlowQuantPlan *p, bool *fed) {
  for (uint32_t i = 0; i < p->nodes.count; i++) {
    const GlowQuantNode *q = &p->nodes.data[i];
    if (q->reason)
      continue;
    fed[i] = is_contraction(q);
    for (uint32_t k = 0; k < glow_node_nins(q->node) && !fed[i]; k++) {
      const GlowQuantValue *v = glow_quant_operand(p, q->node, k);
      bool made = v && v->value->kind == GLOW_VALUE_RESULT;
      const GlowQuantNode *from = made ? node_of(p, v->value->def.node) : NULL;
      fed[i] = (from && fed[from - p->nodes.data]) ||
               (v && p->options->inputs && v->value->kind == GLOW_VALUE_STORAGE);
    }
  }
}

/* Marks the nodes whose results reach a contraction so. */
static void mark_leading(const GlowQuantPlan *p, bool *leads) {
  for (uint32_t i = p->nodes.count; i-- > 0;) {
    const GlowQuantNode *q = &p->nodes.data[i];
    if (q->reason)
      continue;
    leads[i] = is_contraction(q);
    for (uint32_t k = 0; k < q->node->nresults && !leads[i]; k++)
      for (const GlowUse *u = q->node->results[k].uses; u && !leads[i]; u = u->next) {
        const GlowQuantNode *to = node_of(p, u->user);
        uint32_t port = (uint32_t)(u - u->user->operands);
        leads[i] = to && glow_quant_operand(p, u->user, port) && leads[to - p->nodes.data];
      }
  }
}

static void keep_between(GlowQuantPlan *p) {
  bool *fed = GLOW_NEW_ARRAY(p->run->arena, bool, p->nodes.count + 1);
  bool *leads = GLOW_NEW_ARRAY(p->run->arena, bool, p->nodes.count + 1);
  mark_fed(p, fed);
  mark_leading(p, leads);
  for (uint32_t i = 0; i < p->nodes.count; i++) {
    GlowQuantNode *q = &p->nodes.data[i];
    if (q->reason || p->options->all || (fed[i] && leads[i]))
      continue;
    q->reason = fed[i] ? "no contraction on 8-bit integers follows"
                       : "no contraction on 8-bit integers comes before it";
  }
}

/* ---- Conversions ----------------------------------------------------------------------------- */

static bool is_elementwise(const GlowNode *n) { return GLOW_HAS(glow_node_desc(n), ELEMENTWISE); }

/* The node that computes v, if it is quantized. */
static const GlowNode *maker(const GlowQuantPlan *p, const GlowQuantValue *v) {
  const GlowNode *n = v->value->kind == GLOW_VALUE_RESULT ? v->value->def.node : NULL;
  return n && glow_quant_is_quantized(p, n) ? n : NULL;
}

static bool find_rooted(const GlowQuantPlan *p, const GlowQuantValue *v) {
  const GlowNode *n = maker(p, v);
  if (!n || is_contraction(node_of(p, n)))
    return n != NULL;
  bool rooted = false;
  for (uint32_t i = 0; is_elementwise(n) && i < glow_node_nins(n); i++) {
    const GlowQuantValue *x = glow_quant_operand(p, n, i);
    rooted |= x && x->rooted && is_single(x);
  }
  return rooted;
}

/* Whether v only passes to an element-wise node that runs with the one that makes it. */
static bool is_fused(const GlowQuantPlan *p, const GlowQuantValue *v) {
  const GlowNode *n = maker(p, v), *user = is_single(v) ? v->value->uses->user : NULL;
  if (!n || !user || !(is_contraction(node_of(p, n)) || is_elementwise(n)) ||
      !is_elementwise(user) || user->block != n->block || user->pred.value != n->pred.value)
    return false;
  for (uint32_t i = 0; v->rooted && i < glow_node_nins(user); i++) {
    const GlowQuantValue *x = glow_quant_operand(p, user, i);
    const GlowNode *other = x && x != v && x->rooted && is_single(x) ? maker(p, x) : NULL;
    if (other && other->order > n->order)
      return false;
  }
  return true;
}

/* Whether a quantized node reads v. */
static bool is_read(const GlowQuantPlan *p, const GlowQuantValue *v) {
  for (const GlowUse *u = v->value->uses; u; u = u->next)
    if (glow_quant_is_quantized(p, u->user) &&
        glow_quant_operand(p, u->user, (uint32_t)(u - u->user->operands)))
      return true;
  return false;
}

static void choose_values(GlowQuantPlan *p) {
  for (uint32_t i = 0; i < p->values.count; i++)
    p->values.data[i]->rooted = find_rooted(p, p->values.data[i]);
  for (uint32_t i = 0; i < p->values.count; i++) {
    GlowQuantValue *v = p->values.data[i];
    v->converted = is_read(p, v) && !is_fused(p, v);
    if (v->converted && !is_usable(v->range) && (v->range || !head_of(v)->ranged))
      refuse_value(p, v);
  }
}

GlowQuantParameters glow_quant_parameters_of(const GlowQuantPlan *p, const GlowQuantValue *v) {
  const GlowQuantizeOptions *o = p->options;
  GlowQuantValue *head = head_of((GlowQuantValue *)(uintptr_t)v);
  if (head->fixed && !head->right)
    return (GlowQuantParameters){head->fixed->kind, head->fixed->scale, head->fixed->offset};
  return head->right
             ? glow_quant_parameters(GLOW_SCHEME_SYMMETRIC, GLOW_KIND_I8, head->min, head->max)
             : glow_quant_parameters(o->scheme, o->kind, head->min, head->max);
}

bool glow_quantize_plan(GlowQuantPlan *p) {
  GlowFunction *f = p->run->function;
  p->by_node = glow_map_create(p->run->arena);
  p->by_value = glow_map_create(p->run->arena);
  p->constness = glow_constness_create(p->run->arena);
  glow_function_number(f);
  GlowValueList values = glow_observable_values(f, p->run->arena);
  for (uint32_t i = 0; i < values.count; i++)
    add_value(p, values.data[i]);
  add_nodes(p);
  keep_between(p);
  choose_values(p);
  return !p->failed;
}
