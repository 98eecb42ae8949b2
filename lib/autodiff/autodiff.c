/* The sweep: finds the values that depend on xs, then applies the rules from the ys back to xs.
 * Where several nodes use a value, its derivative is the sum of what they contribute, the last user
 * first. */
#include "autodiff/sweep.h"
#include "lower/lower.h"
#include "ops/lower.h"

static bool is_real(const GlowValue *v) {
  return glow_type_is_tensor(v->type) && glow_kind_is_float(v->type->kind) && !v->type->quantized;
}

GlowValue *glow_grad_filled(GlowBuilder *b, GlowValue *v, double value) {
  GlowScalar s = {.f = value};
  if (glow_type_is_static(v->type)) {
    GlowNodeSpec spec = {
        .op = GLOW_OP_SPLAT, .members = &(GlowSplatMembers){.value = s}, .types = &v->type};
    GlowNode *n = glow_node_create(b, &spec);
    return n ? &n->results[0] : NULL;
  }
  GlowConstantOfShapeMembers m = {.value = s, .kind = v->type->kind};
  return glow_then1(b, GLOW_OP_CONSTANT_OF_SHAPE, glow_then1(b, GLOW_OP_SHAPE, v, NULL), &m);
}

/* Whether n is a Call whose derivatives can be asked for. */
static bool is_known_call(const GlowSweep *s, const GlowNode *n) {
  return n->op == GLOW_OP_CALL && s->asked->gradient_of;
}

static bool uses_active(const GlowSweep *s, const GlowNode *n) {
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    const GlowValue *v = glow_node_in(n, i);
    if (v && glow_map_get(s->active, v))
      return true;
  }
  return false;
}

/* Whether a region of n captures an active value. */
static bool captures_active(const GlowSweep *s, const GlowNode *n) {
  for (uint32_t r = 0; r < n->nregions; r++)
    for (const GlowNode *k = n->regions[r] ? n->regions[r]->first : NULL; k; k = k->next)
      if (uses_active(s, k) || captures_active(s, k))
        return true;
  return false;
}

/* Whether operand i has a rule, or the node's lowering stands for one. */
static bool has_rule(const GlowNode *n, uint32_t i) {
  const GlowOpDesc *d = glow_node_desc(n);
  return d->grad_lowering || glow_op_has_grad(d, i);
}

bool glow_sweep_is_active(const GlowSweep *s, const GlowValue *v) {
  return glow_map_get(s->active, v) != NULL;
}

/* Whether v may carry what depends on xs: besides real numbers these are quantized tensors,
 * sequences and optionals, which no rule lets through. Integers end the path. */
static bool may_carry(const GlowValue *v) {
  return is_real(v) || !glow_type_is_tensor(v->type) || v->type->quantized;
}

static GlowWhole whole_of(const GlowSweep *s, const GlowValue *v) {
  return (GlowWhole)(uintptr_t)glow_map_get(s->whole, v);
}

static bool mark_whole(GlowSweep *s, const GlowValue *v, GlowWhole of) {
  bool news = of > whole_of(s, v);
  if (news)
    glow_map_set(s->whole, v, (void *)(uintptr_t)of);
  return news;
}

bool glow_sweep_flow(GlowSweep *s, const GlowValue *from, GlowValue *to) {
  bool news = glow_map_get(s->active, from) && !glow_map_get(s->active, to);
  if (news)
    glow_map_set(s->active, to, to);
  return mark_whole(s, to, whole_of(s, from)) || news;
}

/* What integers that n computes have of its operands. An operator with a rule rounds, and one
 * without, whose results are no draws, encodes. */
static GlowWhole mark_integers(GlowSweep *s, GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  GlowWhole most = GLOW_WHOLE_NONE;
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    const GlowValue *v = glow_node_in(n, i);
    bool encodes = d->no_grad && !GLOW_HAS(d, RANDOM);
    GlowWhole of = !v                            ? GLOW_WHOLE_NONE
                   : !glow_map_get(s->active, v) ? whole_of(s, v)
                   : has_rule(n, i)              ? GLOW_WHOLE_ROUNDED
                   : encodes                     ? GLOW_WHOLE_ENCODED
                                                 : GLOW_WHOLE_NONE;
    most = of > most ? of : most;
  }
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowType *t = n->results[i].type;
    /* A port of one kind has indices and counts. */
    if (glow_type_is_tensor(t) && glow_kind_is_integer(t->kind) &&
        glow_op_out_port(d, i)->type != GLOW_PORT_KIND)
      mark_whole(s, &n->results[i], most);
  }
  return most;
}

static void mark_results(GlowSweep *s, GlowNode *n) {
  if (glow_sweep_has_regions(n)) {
    glow_sweep_mark_regions(s, n);
    return;
  }
  bool reached = mark_integers(s, n) == GLOW_WHOLE_ENCODED || uses_active(s, n) ||
                 captures_active(s, n) || glow_sweep_calls_active(s, n);
  for (uint32_t i = 0; reached && i < n->nresults; i++)
    if (may_carry(&n->results[i]))
      glow_map_set(s->active, &n->results[i], &n->results[i]);
}

void glow_sweep_mark_block(GlowSweep *s, GlowBlock *b, const GlowNode *end) {
  for (GlowNode *n = b->first; n && n != end; n = n->next)
    mark_results(s, n);
}

/* Gives the derivative of v, which is complete, the name NAME.grad. A derivative that has a name
 * already keeps it: one node may compute those of several values. */
static void name_adjoint(const GlowSweep *s, const GlowValue *v) {
  GlowValue *dv = glow_map_get(s->adjoint, v);
  bool named = v->name && !glow_name_is_number(v->name);
  if (named && dv && dv->kind == GLOW_VALUE_RESULT && dv->name && glow_name_is_number(dv->name))
    glow_value_set_name(dv, glow_str_printf(s->b->module->ctx, "%s.grad", v->name));
}

static bool add_adjoint(GlowSweep *s, GlowValue *v, GlowValue *part) {
  GlowValue *old = glow_map_get(s->adjoint, v);
  GlowValue *sum = old ? glow_build2(s->b, GLOW_OP_ADD, old, part, NULL, NULL) : part;
  if (sum)
    glow_map_set(s->adjoint, v, sum);
  return sum != NULL;
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static const char *name_of(const GlowNode *n) {
  return n->nresults && n->results[0].name ? n->results[0].name : "_";
}

/* The operators that lack a rule. */
typedef struct Missing {
  const GlowNode *last[GLOW_OP_COUNT]; /* their last nodes */
  uint32_t count[GLOW_OP_COUNT];       /* how many nodes */
  GlowOp order[GLOW_OP_COUNT];         /* as found, from the end */
  uint32_t ops;
  bool remarks; /* whether to tell where a path ends in rounded numbers */
} Missing;

static void miss(Missing *m, const GlowNode *n) {
  if (m->count[n->op]++ == 0) {
    m->last[n->op] = n;
    m->order[m->ops++] = n->op;
  }
}

/* Whether a derivative by v, or by what it encodes, is asked for if v is reached. */
static bool is_on_path(const GlowSweep *s, const GlowValue *v) {
  return v && (glow_map_get(s->active, v) || whole_of(s, v) == GLOW_WHOLE_ENCODED);
}

/* Marks v as reached if it lies on a path; true if it is so for the first time. */
static bool reach(GlowSweep *s, GlowValue *v) {
  if (!is_on_path(s, v) || glow_map_get(s->reached, v))
    return false;
  glow_map_set(s->reached, v, v);
  return true;
}

static bool is_reached(const GlowSweep *s, const GlowValue *v) {
  return !glow_map_get(s->independent, v) &&
         (glow_map_get(s->adjoint, v) || glow_map_get(s->reached, v));
}

static void reach_block(GlowSweep *s, Missing *m, GlowNode *last);

/* The yields of an If are reached where its results are, those of a Loop also where what they carry
 * is. True if that is news. */
static bool reach_yields(GlowSweep *s, const GlowNode *n) {
  bool changed = false;
  uint32_t first = n->op == GLOW_OP_LOOP;
  for (uint32_t i = 0; i < n->nresults; i++) {
    GlowValue *param =
        first && i + 2 < n->regions[0]->nparams ? n->regions[0]->params[i + 2] : NULL;
    if (!is_reached(s, &n->results[i]) && !(param && is_reached(s, param)))
      continue;
    if (param) {
      changed |= reach(s, glow_node_in(n, i + 2));
      changed |= reach(s, param);
    }
    for (uint32_t r = 0; r < n->nregions; r++)
      changed |= reach(s, glow_block_terminator(n->regions[r])->operands[i + first].value);
  }
  return changed;
}

static void reach_regions(GlowSweep *s, Missing *m, const GlowNode *n) {
  Missing *none = GLOW_NEW(s->arena, Missing);
  while (reach_yields(s, n))
    for (uint32_t r = 0; r < n->nregions; r++)
      reach_block(s, none, n->regions[r]->last);
  for (uint32_t r = 0; r < n->nregions; r++)
    reach_block(s, m, n->regions[r]->last);
}

/* Marks the values on a path that n and its regions read. True if the derivative by an active one
 * has no rule. */
static bool reach_operands(GlowSweep *s, const GlowNode *n, bool inner) {
  bool lacks = false;
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    GlowValue *v = glow_node_in(n, i);
    reach(s, v);
    lacks |= v && glow_map_get(s->active, v) && !inner && !has_rule(n, i) && !is_known_call(s, n);
  }
  for (uint32_t r = 0; r < n->nregions; r++)
    for (const GlowNode *k = n->regions[r] ? n->regions[r]->first : NULL; k; k = k->next)
      if (reach_operands(s, k, true))
        lacks = true;
  return lacks;
}

/* Tells of numbers that n makes of rounded ones. */
static void tell_rounded(const GlowSweep *s, const GlowNode *n) {
  bool real = false;
  for (uint32_t i = 0; i < n->nresults; i++)
    real |= is_real(&n->results[i]) && n->results[i].uses;
  for (uint32_t i = 0; real && i < glow_node_nins(n); i++) {
    const GlowValue *v = glow_node_in(n, i);
    if (v && whole_of(s, v) == GLOW_WHOLE_ROUNDED && has_rule(n, i))
      s->asked->ends(s->asked->user, n, i);
  }
}

/* Notes the operators from `last` back to the head of its block that are reached and lack a rule.
 */
static void reach_block(GlowSweep *s, Missing *m, GlowNode *last) {
  for (GlowNode *n = last; n; n = n->prev) {
    bool reached = false;
    for (uint32_t i = 0; i < n->nresults; i++)
      reached |= is_reached(s, &n->results[i]);
    if (reached && glow_sweep_has_regions(n))
      reach_regions(s, m, n);
    else if (reached && reach_operands(s, n, false))
      miss(m, n);
    if (m->remarks)
      tell_rounded(s, n);
  }
}

/* False after a report of every operator that lies between xs and `last`, is needed and lacks a
 * rule. */
static bool check_rules(GlowSweep *s, GlowNode *last) {
  GlowContext *ctx = s->b->module->ctx;
  Missing *m = GLOW_NEW(s->arena, Missing);
  m->remarks = s->checks && s->asked->ends;
  reach_block(s, m, last);
  for (uint32_t i = 0; s->checks && i < s->asked->naround; i++)
    reach_block(s, m, s->asked->around[i]->last);
  if (!m->ops)
    return true;
  glow_error(ctx, s->where, "%u operator%s between %s no gradient rule", m->ops,
             m->ops == 1 ? "" : "s", m->ops == 1 ? "has" : "have");
  for (uint32_t i = 0; i < m->ops; i++) {
    const GlowNode *k = m->last[m->order[i]];
    const GlowOpDesc *d = glow_node_desc(k);
    glow_note(ctx, glow_node_loc(k), "%s has none%s%s%s: '%s' is the last of %u", d->node,
              d->no_grad ? " (" : "", d->no_grad ? d->no_grad : "", d->no_grad ? ")" : "",
              name_of(k), m->count[k->op]);
  }
  return false;
}

/* ---- Predicates ------------------------------------------------------------------------------ */

/* Nodes that are built from here on have the place of n, and its predicate if that is a bool<>. */
static void stand_for(GlowSweep *s, const GlowNode *n) {
  GlowBuilder like = glow_builder_before((GlowNode *)n);
  s->b->src = like.src;
  s->b->origin = like.origin;
  s->b->pred = like.pred;
}

/* What is unspecified where a predicate does not hold counts as zero there: derivatives by results,
 * row by row, before the rule for a vector predicate; for a bool<>, which the nodes of the rule
 * copy, and for rows that an element-wise operator takes as they are, behind the rule, where a
 * derivative leaves the predicate. */
static bool mask_results(GlowSweep *s, const GlowNode *n, GlowValue **dy) {
  if (!n->pred.value || n->pred.value->type->rank == 0)
    return true;
  for (uint32_t i = 0; i < n->nresults; i++)
    if (dy[i] && !(dy[i] = glow_grad_where(s->b, n, dy[i])))
      return false;
  return true;
}

/* Lets n read zeros in rows that a vector predicate leaves unspecified, because a rule may add up
 * products with them, and 0 times NaN is NaN. Element-wise nodes have no such sums but those of
 * glow_grad_set. */
static bool mask_operands(GlowSweep *s, GlowNode *n) {
  const GlowValue *mask = n->pred.value;
  if (!mask || mask->type->rank == 0 || GLOW_HAS(glow_node_desc(n), ELEMENTWISE))
    return true;
  GlowNode *before = n->prev;
  GlowBuilder b = glow_builder_before(n);
  b.pred = NULL;
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    GlowValue *v = glow_node_in(n, i);
    if (!v || v->kind != GLOW_VALUE_RESULT || v->def.node->pred.value != mask || !is_real(v))
      continue;
    GlowValue *masked = glow_grad_where(&b, n, v);
    if (!masked)
      return false;
    glow_use_set(&n->operands[i], masked);
  }
  for (GlowNode *k = before ? before->next : n->block->first; k != n; k = k->next)
    mark_results(s, k);
  return true;
}

/* Whether the rows of the operand x of n are those of n's result. */
static bool has_rows_of(const GlowNode *n, const GlowValue *x) {
  const GlowType *a = x->type, *b = n->nresults ? n->results[0].type : a;
  return GLOW_HAS(glow_node_desc(n), ELEMENTWISE) && glow_type_is_static(a) &&
         glow_type_is_static(b) && a->rank == b->rank && a->rank &&
         a->dims[0].size == b->dims[0].size;
}

bool glow_sweep_add(GlowSweep *s, const GlowNode *n, GlowValue *x, GlowValue *dx) {
  s->b->pred = NULL;
  const GlowNode *def = x->kind == GLOW_VALUE_RESULT ? x->def.node : NULL;
  const GlowValue *mask = n->pred.value;
  bool leaves =
      mask && !(def && def->pred.value == mask) && (mask->type->rank == 0 || has_rows_of(n, x));
  if (dx && leaves)
    dx = glow_grad_where(s->b, n, dx);
  return dx && add_adjoint(s, x, dx);
}

/* ---- The sweep ------------------------------------------------------------------------------- */

static bool refuse_extents(GlowSweep *s, const GlowNode *n, unsigned errors) {
  if (glow_context_error_count(s->b->module->ctx) == errors)
    glow_error(s->b->module->ctx, s->where, "%s '%s' lies between, whose extents are not known",
               glow_node_desc(n)->node, name_of(n));
  return false;
}

/* `to` computes the same as the result `from`: it takes the uses, the name and the derivative. */
static bool take_over(GlowSweep *s, GlowValue *from, GlowValue *to) {
  GlowValue *dv = glow_map_get(s->adjoint, from);
  if (!to || glow_map_get(s->independent, from))
    return true;
  GlowStr name = from->name;
  glow_value_replace_uses(from, to);
  if (name && !glow_name_is_number(name) && to->kind == GLOW_VALUE_RESULT && to->name &&
      glow_name_is_number(to->name)) {
    glow_value_set_name(from, NULL);
    glow_value_set_name(to, name);
  }
  return !dv || add_adjoint(s, to, dv);
}

/* Builds before n what n's lowering rule says. The sweep goes on with these nodes, which all users
 * of n read from now on. */
static bool visit_lowering(GlowSweep *s, GlowNode *n) {
  GlowNode *before = n->prev;
  GlowBuilder b = glow_builder_before(n);
  GlowValue **results = GLOW_NEW_ARRAY(s->arena, GlowValue *, n->nresults);
  unsigned errors = glow_context_error_count(s->b->module->ctx);
  if (!glow_lower_hooks[n->op](&b, n, results))
    return refuse_extents(s, n, errors);
  for (GlowNode *k = before ? before->next : n->block->first; k != n; k = k->next)
    mark_results(s, k);
  for (uint32_t i = 0; i < n->nresults; i++)
    if (!take_over(s, &n->results[i], results[i]))
      return false;
  return true;
}

/* Entries that rules may read: one for each port as well, if the node leaves out optional ones. */
static uint32_t operand_slots(const GlowNode *n) {
  uint32_t ports = glow_node_desc(n)->nin;
  return n->noperands > ports ? n->noperands : ports;
}
static uint32_t result_slots(const GlowNode *n) {
  uint32_t ports = glow_node_desc(n)->nout;
  return n->nresults > ports ? n->nresults : ports;
}

/* Adds what the derivatives dy of n's results contribute to those of its operands, by n's rule. */
static bool visit_rule(GlowSweep *s, GlowNode *n, GlowValue **dy, const bool *wanted) {
  GlowValue **dx = GLOW_NEW_ARRAY(s->arena, GlowValue *, operand_slots(n));
  unsigned errors = glow_context_error_count(s->b->module->ctx);
  stand_for(s, n);
  if (!mask_results(s, n, dy) || !mask_operands(s, n))
    return false;
  GlowGrad g = {.b = s->b, .n = n, .dy = dy, .wanted = wanted, .dx = dx};
  if (!glow_grad_hooks[n->op](&g))
    return refuse_extents(s, n, errors);
  for (uint32_t i = 0; i < n->noperands; i++) {
    if (wanted[i] && !dx[i] && s->asked->ends)
      s->asked->ends(s->asked->user, n, i);
    if (wanted[i] && dx[i] && !glow_sweep_add(s, n, glow_node_in(n, i), dx[i]))
      return false;
  }
  return true;
}

/* What a lowering rule has built may lack rules that its node did not. */
static bool lacks_none(GlowSweep *s, GlowNode *n) {
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = glow_node_in(n, i);
    if (is_on_path(s, v) && !(glow_map_get(s->active, v) && has_rule(n, i)))
      return check_rules(s, n);
  }
  return true;
}

static bool visit(GlowSweep *s, GlowNode *n) {
  GlowValue **dy = GLOW_NEW_ARRAY(s->arena, GlowValue *, result_slots(n));
  bool *wanted = GLOW_NEW_ARRAY(s->arena, bool, operand_slots(n));
  bool any_result = false, any_operand = false;
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowValue *v = &n->results[i];
    dy[i] = glow_map_get(s->independent, v) ? NULL : glow_map_get(s->adjoint, v);
    any_result |= dy[i] != NULL;
    name_adjoint(s, v);
  }
  if (any_result && (glow_sweep_has_regions(n) || is_known_call(s, n))) {
    stand_for(s, n);
    return mask_results(s, n, dy) && (n->op == GLOW_OP_CALL ? glow_sweep_visit_call(s, n, dy)
                                                            : glow_sweep_visit_regions(s, n, dy));
  }
  any_operand = any_result && captures_active(s, n);
  for (uint32_t i = 0; any_result && i < n->noperands; i++) {
    GlowValue *v = glow_node_in(n, i);
    wanted[i] = v && glow_map_get(s->active, v);
    any_operand |= wanted[i];
  }
  if (any_result && !lacks_none(s, n))
    return false;
  if (!any_result || !any_operand)
    return true;
  return glow_node_desc(n)->grad_lowering ? visit_lowering(s, n) : visit_rule(s, n, dy, wanted);
}

static bool start(GlowSweep *s, const GlowDerivatives *d) {
  for (uint32_t i = 0; i < d->nys; i++) {
    GlowValue *y = d->ys[i], *seed = d->seeds ? d->seeds[i] : NULL;
    if (!glow_map_get(s->active, y))
      continue;
    if (!seed)
      seed = glow_grad_filled(s->b, y, 1);
    if (!seed || !add_adjoint(s, y, seed))
      return false;
  }
  return true;
}

/* The node before b's place. */
static GlowNode *last_built(const GlowSweep *s) {
  return s->b->before ? s->b->before->prev : s->b->block->last;
}

/* Visits the nodes from n back to the head of its block. */
static bool visit_block(GlowSweep *s, GlowNode *n) {
  for (; n; n = n->prev) {
    GlowNode *last = last_built(s);
    if (!visit(s, n))
      return false;
    for (GlowNode *k = last ? last->next : s->b->block->first; k != s->b->before; k = k->next)
      k->scratch = n;
  }
  return true;
}

static bool sweep(GlowSweep *s, const GlowDerivatives *d) {
  for (uint32_t i = 0; i < d->nxs; i++) {
    glow_map_set(s->active, d->xs[i], d->xs[i]);
    glow_map_set(s->independent, d->xs[i], d->xs[i]);
  }
  for (uint32_t i = d->naround; i-- > 0;)
    glow_sweep_mark_block(s, d->around[i], NULL);
  glow_sweep_mark_block(s, s->b->block, s->b->before);
  GlowNode *n = last_built(s);
  if (!start(s, d) || (s->checks && !check_rules(s, n)) || !visit_block(s, n))
    return false;
  for (uint32_t i = 0; i < d->naround; i++)
    if (!visit_block(s, d->around[i]->last))
      return false;
  for (uint32_t i = 0; i < d->nxs; i++) {
    d->results[i] = glow_map_get(s->adjoint, d->xs[i]);
    name_adjoint(s, d->xs[i]);
  }
  return true;
}

static bool run(GlowSweep *s, const GlowBuilder *b, const GlowDerivatives *d) {
  GlowBuilder at = *b;
  if (!at.before)
    at.before = glow_block_terminator(at.block);
  s->b = &at;
  s->asked = d;
  s->active = glow_map_create(s->arena);
  s->whole = glow_map_create(s->arena);
  s->independent = glow_map_create(s->arena);
  s->adjoint = glow_map_create(s->arena);
  s->reached = glow_map_create(s->arena);
  return sweep(s, d);
}

bool glow_differentiate(GlowBuilder *b, const GlowDerivatives *d) {
  GlowContext *ctx = b->module->ctx;
  for (uint32_t i = 0; i < d->nxs + d->nys; i++) {
    const GlowValue *v = i < d->nxs ? d->xs[i] : d->ys[i - d->nxs];
    if (is_real(v))
      continue;
    glow_error(ctx, b->src, "'%s' is %s; only floating-point tensors have derivatives",
               v->name ? v->name : "_", glow_type_str(ctx, v->type));
    return false;
  }
  GlowSweep s = {.where = b->src, .arena = glow_arena_create(ctx), .checks = true};
  bool ok = run(&s, b, d);
  glow_arena_destroy(s.arena);
  return ok;
}

bool glow_sweep_block(const GlowSweep *s, GlowBuilder *b, const GlowDerivatives *d) {
  GlowSweep inner = {.where = s->where, .arena = s->arena};
  GlowDerivatives asked = *d;
  asked.naround = 0;
  asked.gradient_of = s->asked->gradient_of;
  asked.ends = s->asked->ends;
  asked.user = s->asked->user;
  return run(&inner, b, &asked);
}
