/* The driver of rewrite rules, and the questions that their patterns ask. */
#include "transforms/rules.h"

#include <math.h>

#include "ir/dims.h"
#include "ir/infer.h"
#include "tensor/form.h"

void glow_replace_by(GlowPassRun *run, GlowNode *n, GlowValue *by, const char *what) {
  glow_replace_all(run, n, &by, what);
}

void glow_replace_all(GlowPassRun *run, GlowNode *n, GlowValue *const *values, const char *what) {
  glow_pass_changed(run, n, "%s", what);
  uint32_t count = n->noperands;
  GlowNode **defs = GLOW_NEW_ARRAY(run->arena, GlowNode *, count);
  for (uint32_t i = 0; i < count; i++) {
    const GlowValue *v = n->operands[i].value;
    defs[i] = v && v->kind == GLOW_VALUE_RESULT ? v->def.node : NULL;
  }
  glow_node_replace(n, values, n->nresults);
  for (uint32_t i = 0; i < count; i++)
    if (defs[i])
      glow_remove_dead(defs[i]);
}

static bool says_no_less(const GlowType *by, const GlowType *than) {
  if (by == than)
    return true;
  if (glow_type_is_tensor(by) && glow_type_is_tensor(than) && by->layout != than->layout)
    return false;
  GlowFit fit = glow_type_fit(by, than);
  return fit == GLOW_FIT_EQUAL || fit == GLOW_FIT_NARROWER;
}

/* Whether an operand of n that `by` is made of may be broadcast by the others: then the extent 1
 * says no more than that of the result. */
static bool may_be_broadcast(const GlowNode *n, const GlowType *by) {
  const GlowType *t = n->results[0].type;
  if (!GLOW_HAS(glow_node_desc(n), ELEMENTWISE) || n->noperands < 2 || by->unranked || t->unranked)
    return false;
  for (uint32_t a = 0; a < t->rank && a < by->rank; a++) {
    const GlowDim *from = &by->dims[a], *to = &t->dims[a];
    if (from->kind == GLOW_DIM_EXACT && from->size == 1 &&
        (to->kind != GLOW_DIM_EXACT || to->size != 1))
      return true;
  }
  return false;
}

/* Applies to n the rules of its operator, in order, until one replaces n. Returns the node that
 * this rule built; NULL if it built none, or if no rule replaced n. After a change in place, the
 * next rules follow. */
static GlowNode *apply_first(GlowPassRun *run, GlowNode *n, const GlowRule *rules, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (rules[i].op != n->op)
      continue;
    uint32_t first_new = run->module->next_id;
    glow_pass_check_limit(run); /* a rule may change n in place */
    GlowValue *by = rules[i].apply(run, n);
    if (!by)
      continue;
    if (by == &n->results[0]) {
      glow_pass_changed(run, n, "%s", rules[i].what);
      continue;
    }
    bool built = by->kind == GLOW_VALUE_RESULT && by->def.node->id >= first_new;
    if (says_no_less(by->type, n->results[0].type) && !may_be_broadcast(n, by->type)) {
      glow_replace_by(run, n, by, rules[i].what);
      return built ? by->def.node : NULL;
    }
    if (built)
      glow_remove_dead(by->def.node);
  }
  return NULL;
}

typedef struct Rules {
  GlowPassRun *run;
  const GlowRule *rules;
  uint32_t count;
} Rules;

static bool visit(GlowNode *n, void *arg) {
  const Rules *r = arg;
  while (n && n->nresults == 1)
    n = apply_first(r->run, n, r->rules, r->count);
  return true;
}

bool glow_rules_run(GlowPassRun *run, const GlowRule *rules, uint32_t count) {
  unsigned errors = glow_context_error_count(run->ctx);
  glow_block_walk(run->function->body, visit, &(Rules){run, rules, count});
  return glow_context_error_count(run->ctx) == errors;
}

/* ---- Questions ------------------------------------------------------------------------------- */

GlowNode *glow_match(const GlowValue *v, GlowOp op, const GlowNode *user) {
  GlowNode *n = glow_value_def(v, op);
  return n && n->pred.value == user->pred.value ? n : NULL;
}

bool glow_value_is_all(const GlowValue *v, double want) {
  GlowScalar s;
  if (!v || !glow_type_is_tensor(v->type) || v->type->quantized || !glow_value_splat(v, &s))
    return false;
  if (glow_kind_is_float(v->type->kind))
    return s.f == want && !signbit(s.f) == !signbit(want);
  return s.is_int ? s.i == (int64_t)want : s.f == want;
}

bool glow_value_is_constant(const GlowValue *v) {
  if (v->kind == GLOW_VALUE_STORAGE)
    return v->def.storage->cls == GLOW_CONSTANT;
  return glow_value_def(v, GLOW_OP_SPLAT) != NULL;
}

bool glow_op_moves(GlowOp op, const GlowType *t) {
  GlowKindSet kinds = glow_op_desc[op].vars[0].kinds;
  return (kinds & (t->quantized ? GLOW_KINDS_QUANTIZED : GLOW_KIND_BIT(t->kind))) != 0;
}

bool glow_value_has_one_use(const GlowValue *v) { return v->uses && !v->uses->next; }

bool glow_node_is_elementwise(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  return GLOW_HAS(d, ELEMENTWISE) && !GLOW_HAS(d, RANDOM) && n->nresults == 1 && !n->nregions &&
         n->noperands > 0;
}

bool glow_value_is_computed(const GlowValue *v) {
  const GlowOpDesc *d = v->kind == GLOW_VALUE_RESULT ? glow_node_desc(v->def.node) : NULL;
  return d && (d->epilogue >= 0 || GLOW_HAS(d, ELEMENTWISE)) && !glow_value_is_constant(v) &&
         glow_value_has_one_use(v);
}

GlowValue *glow_splat_like(GlowNode *n, double value) {
  const GlowType *t = n->results[0].type;
  bool integer = !glow_kind_is_float(t->kind);
  if (!glow_type_is_static(t) || t->quantized || t->layout)
    return NULL;
  GlowBuilder b = glow_builder_before(n);
  GlowSplatMembers members = {.value = {.is_int = integer, .i = (int64_t)value, .f = value}};
  GlowNodeSpec spec = {.op = GLOW_OP_SPLAT, .members = &members, .types = &t};
  GlowNode *splat = glow_node_create(&b, &spec);
  return splat ? &splat->results[0] : NULL;
}

const int64_t *glow_known_ints(GlowPassRun *run, const GlowNode *n, uint32_t operand,
                               uint32_t *count) {
  const GlowValue *v = glow_node_in(n, operand);
  const GlowTensor *t = v ? glow_value_known(v) : NULL;
  *count = 0;
  if (!t || !glow_kind_is_integer(t->type->kind))
    return NULL;
  *count = (uint32_t)glow_tensor_elements(t);
  int64_t *ints = GLOW_NEW_ARRAY(run->arena, int64_t, *count + 1);
  for (uint32_t i = 0; i < *count; i++)
    ints[i] = glow_tensor_get_int(t, i);
  return ints;
}

/* Whether v gives a symbol its number in each run of f: one of its extents is the symbol, and a
 * node that reads more than extents uses it. */
static bool says(const GlowFunction *f, const GlowValue *v, const GlowExtent *symbol) {
  bool names = false;
  for (uint32_t a = 0; glow_type_is_tensor(v->type) && a < v->type->rank; a++)
    names |= v->type->dims[a].extent == symbol;
  for (const GlowUse *u = names ? v->uses : NULL; u; u = u->next) {
    const GlowNode *n = u->user;
    bool target = n->op == GLOW_OP_SAVE && u == &n->operands[GLOW_SAVE_IN_STORAGE];
    bool extents = n->op == GLOW_OP_SHAPE || n->op == GLOW_OP_SIZE;
    if (!target && !extents && glow_block_function(n->block) == f)
      return true;
  }
  return false;
}

typedef struct Symbols {
  const GlowFunction *function;
  bool said; /* all so far */
} Symbols;

static void find_symbol(void *symbols, const GlowExtent *symbol) {
  Symbols *s = symbols;
  bool found = false;
  for (uint32_t i = 0; i < s->function->body->nparams; i++)
    found |= says(s->function, s->function->body->params[i], symbol);
  for (const GlowStorage *g = s->function->module->first_storage; g; g = g->next)
    found |= g->cls != GLOW_CONSTANT && says(s->function, &g->value, symbol);
  s->said &= found;
}

/* Whether inputs that are read say all symbols of t. */
static bool are_said(const GlowFunction *f, const GlowType *t) {
  Symbols s = {f, f != NULL};
  for (uint32_t a = 0; f && a < t->rank; a++) {
    const GlowExtent *e = t->dims[a].extent;
    if (e && e->form)
      glow_form_symbols(e->form, find_symbol, &s);
    else if (e)
      find_symbol(&s, e);
  }
  return s.said;
}

bool glow_extents_follow(const GlowNode *n) {
  const GlowType *t = n->results[0].type, *follows = NULL;
  if (!glow_type_is_known(t) || glow_type_is_static(t) || t->layout || t->quantized ||
      !glow_kind_is_data(t->kind) || !glow_node_infer(n, &follows) ||
      !glow_type_is_known(follows) || follows->rank != t->rank)
    return false;
  for (uint32_t k = 0; k < t->rank; k++)
    if (!glow_dim_agrees(t->dims[k], follows->dims[k]))
      return false;
  return are_said(glow_block_function(n->block), t);
}
