/* One node after the other: an operator of the table, operands, members; kept if the builder takes
 * it. What was made for a node that was refused goes again. */
#include "test/random/internal.h"

enum { TRIES = 24 };

static bool generated(const GlowGen *g, const GlowOpDesc *d) {
  if (!d->node || GLOW_HAS(d, INSTR_ONLY) || GLOW_HAS(d, SYNTAX) || GLOW_HAS(d, TERMINATOR) ||
      GLOW_HAS(d, WRITES))
    return false;
  if (GLOW_HAS(d, CONTROL))
    return g->control && g->depth < 2;
  return (g->sequences || !GLOW_HAS(d, HEAP)) && (g->dynamic || !GLOW_HAS(d, DYNAMIC));
}

static GlowOp pick_op(GlowGen *g) {
  bool simple = ONCE_IN(g, 4); /* chains of element-wise operators are what passes look for */
  for (int i = 0; i < 64; i++) {
    GlowOp op = (GlowOp)CHOOSE(g, GLOW_OP_COUNT);
    const GlowOpDesc *d = &glow_op_desc[op];
    if (generated(g, d) && (!simple || GLOW_HAS(d, ELEMENTWISE)))
      return op;
  }
  return GLOW_OP_IDENTITY;
}

static bool small(const GlowType *t) {
  int64_t n = glow_type_is_tensor(t) ? glow_type_elements(t) : 0;
  return n <= MAX_ELEMENTS;
}

static bool small_results(const GlowNode *n) {
  for (uint32_t i = 0; i < n->nresults; i++)
    if (!small(n->results[i].type))
      return false;
  return true;
}

/* How many results to ask for: all ports, now and then without the optional ones. */
static uint32_t result_count(GlowGen *g, const GlowDraft *d) {
  uint32_t count = 0;
  bool all = CHOOSE(g, 2);
  for (uint32_t i = 0; i < d->desc->nout; i++) {
    uint8_t flags = d->desc->out[i].flags;
    if (flags & GLOW_PORT_VARIADIC)
      count += 1 + CHOOSE(g, 3);
    else if (!(flags & GLOW_PORT_OPTIONAL) || all)
      count = i + 1;
  }
  return count;
}

/* An operator that leaves the type of its result free needs a claim. */
static const GlowType *claim(GlowGen *g, const GlowDraft *d) {
  const GlowOpPort *y = d->desc->nout ? &d->desc->out[0] : NULL;
  if (d->desc->infer != GLOW_INFER_FREE || !y)
    return NULL;
  GlowKindSet set = y->type == GLOW_PORT_VAR ? d->desc->vars[y->var].kinds : ~0u;
  const GlowType *t = d->nin ? d->in[0]->type : NULL;
  t = t && glow_type_is_tensor(t) && !t->unranked ? t : glow_gen_type(g, GLOW_KIND_FLOAT);
  if (set & GLOW_KIND_BIT(GLOW_KIND_FLOAT))
    return CHOOSE(g, 2) || !(set & GLOW_KIND_BIT(GLOW_KIND_I64))
               ? glow_type_with_kind(g->ctx, t, GLOW_KIND_FLOAT)
               : glow_type_with_kind(g->ctx, t, GLOW_KIND_I64);
  t = glow_type_with_kind(g->ctx, t, CHOOSE(g, 2) ? GLOW_KIND_I8 : GLOW_KIND_U8);
  return glow_type_with_quant(g->ctx, t, true, 0.125f, (int32_t)CHOOSE(g, 3));
}

/* Says which rows of n matter: one flag for all, or one for each along the first axis of its
 * result. Half of the time the flags of another node, since passes ask whether predicates are
 * equal. */
static void add_predicate(GlowGen *g, GlowNode *n) {
  const GlowType *type = n->results[0].type, *flags = glow_type_scalar(g->ctx, GLOW_KIND_BOOL);
  bool rows = glow_type_is_tensor(type) && glow_type_is_static(type) && type->rank > 0;
  if (rows && CHOOSE(g, 2))
    flags = glow_type_with_dims(g->ctx, flags, 1, &type->dims[0]);
  GlowValue *p = CHOOSE(g, 2) ? glow_gen_pick(g, glow_gen_same_type, flags) : NULL;
  p = p ? p : glow_gen_fresh(g, flags);
  glow_use_set(&n->pred, p);
  glow_gen_add(g, p);
}

/* Storage and parameters that a refused node asked for. */
static void drop_unused(GlowGen *g, const GlowStorage *last, uint32_t nparams) {
  for (GlowStorage *s = g->module->last_storage; s && s != last;) {
    GlowStorage *before = s->prev;
    if (!s->value.uses)
      glow_storage_remove(s);
    s = before;
  }
  (void)nparams;
}

/* Whether integers come from the bits of floats: those of a NaN are not specified. */
static bool shows_nans(const GlowDraft *d) {
  return d->op == GLOW_OP_BIT_CAST && glow_kind_is_float(d->in[0]->type->kind);
}

static bool try_node(GlowGen *g, GlowOp op) {
  GlowDraft d = {.op = op, .desc = &glow_op_desc[op]};
  if (!glow_gen_operands(g, &d) || shows_nans(&d))
    return false;
  GlowStr names[8];
  const GlowType *types[8] = {claim(g, &d)};
  uint32_t nresults = result_count(g, &d);
  if (nresults == 0 || nresults > 8)
    return false;
  for (uint32_t i = 0; i < nresults; i++)
    names[i] = glow_gen_name(g);
  GlowNodeSpec spec = {.op = op, .ins = d.in, .nins = d.nin, .members = d.members};
  spec.nresults = nresults;
  spec.names = names;
  spec.types = types;
  GlowBuilder b = glow_builder_at_end(g->block);
  GlowNode *n = glow_node_create(&b, &spec);
  if (n && !small_results(n)) {
    glow_node_remove(n);
    n = NULL;
  }
  if (n && g->predicates && ONCE_IN(g, 3))
    add_predicate(g, n);
  for (uint32_t i = 0; n && i < d.nin; i++)
    if (d.in[i] && d.in[i]->kind == GLOW_VALUE_STORAGE)
      glow_gen_add(g, d.in[i]);
  for (uint32_t i = 0; n && i < n->nresults; i++)
    glow_gen_add(g, &n->results[i]);
  return n != NULL;
}

void glow_gen_nodes(GlowGen *g, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    GlowOp op = pick_op(g);
    for (int k = 0; k < TRIES; k++) {
      GlowStorage *last = g->module->last_storage;
      bool ok = GLOW_HAS(&glow_op_desc[op], CONTROL) ? glow_gen_control(g, op) : try_node(g, op);
      if (ok)
        break;
      drop_unused(g, last, g->function->body->nparams);
      if (k % 8 == 7)
        op = pick_op(g);
    }
  }
}
