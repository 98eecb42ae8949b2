/* The sweep: finds the values that depend on xs, then applies the rules from y back to xs. Where
 * several nodes use a value, its derivative is the sum of what they contribute, the last user
 * first. */
#include "autodiff/autodiff.h"
#include "lower/lower.h"

typedef struct Sweep {
  GlowBuilder *b;
  GlowArena *arena;
  GlowMap *active;      /* values that depend on xs, as keys */
  GlowMap *independent; /* xs, as keys */
  GlowMap *adjoint;     /* values -> the derivative of y by them, so far */
  GlowMap *reached;     /* in a refusal: values that y depends on, as keys */
} Sweep;

static bool is_real(const GlowValue *v) {
  return glow_type_is_tensor(v->type) && glow_kind_is_float(v->type->kind) && !v->type->quantized;
}

/* A tensor of one value in the shape of v. */
static GlowValue *fill_like(GlowBuilder *b, GlowValue *v, double value) {
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

static bool uses_active(const Sweep *s, const GlowNode *n) {
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    const GlowValue *v = glow_node_in(n, i);
    if (v && glow_map_get(s->active, v))
      return true;
  }
  return false;
}

/* Whether a region of n captures an active value. */
static bool captures_active(const Sweep *s, const GlowNode *n) {
  for (uint32_t r = 0; r < n->nregions; r++)
    for (const GlowNode *k = n->regions[r] ? n->regions[r]->first : NULL; k; k = k->next)
      if (uses_active(s, k) || captures_active(s, k))
        return true;
  return false;
}

/* Whether operand i has a rule. */
static bool has_rule(const GlowNode *n, uint32_t i) {
  return i < 32 && (glow_node_desc(n)->grad >> i & 1) != 0;
}

static void mark_active(Sweep *s) {
  for (GlowNode *n = s->b->block->first; n && n != s->b->before; n = n->next) {
    bool reached = uses_active(s, n) || captures_active(s, n);
    for (uint32_t i = 0; reached && i < n->nresults; i++)
      if (is_real(&n->results[i]))
        glow_map_set(s->active, &n->results[i], &n->results[i]);
  }
}

static bool add_adjoint(Sweep *s, GlowValue *v, GlowValue *part) {
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

/* Marks the active values that n and its regions read. True if the derivative by one of them has no
 * rule. */
static bool reach_operands(Sweep *s, const GlowNode *n, bool captured) {
  bool lacks = false;
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    GlowValue *v = glow_node_in(n, i);
    if (!v || !glow_map_get(s->active, v))
      continue;
    glow_map_set(s->reached, v, v);
    lacks |= captured || !has_rule(n, i);
  }
  for (uint32_t r = 0; r < n->nregions; r++)
    for (const GlowNode *k = n->regions[r] ? n->regions[r]->first : NULL; k; k = k->next)
      lacks |= reach_operands(s, k, true);
  return lacks;
}

static bool is_reached(const Sweep *s, const GlowNode *n) {
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowValue *v = &n->results[i];
    if (!glow_map_get(s->independent, v) &&
        (glow_map_get(s->adjoint, v) || glow_map_get(s->reached, v)))
      return true;
  }
  return false;
}

/* Reports every operator that lies between xs and n, has no rule and is needed, with the last of
 * its nodes. */
static bool refuse_missing(Sweep *s, const GlowNode *n) {
  GlowContext *ctx = s->b->module->ctx;
  const GlowNode **last = GLOW_NEW_ARRAY(s->arena, const GlowNode *, GLOW_OP_COUNT);
  uint32_t *count = GLOW_NEW_ARRAY(s->arena, uint32_t, GLOW_OP_COUNT), missing = 0;
  GlowOp *order = GLOW_NEW_ARRAY(s->arena, GlowOp, GLOW_OP_COUNT);
  for (; n; n = n->prev) {
    if (!is_reached(s, n) || !reach_operands(s, n, false))
      continue;
    if (count[n->op]++ == 0) {
      last[n->op] = n;
      order[missing++] = n->op;
    }
  }
  glow_error(ctx, s->b->src, "%u operator%s between %s no gradient rule", missing,
             missing == 1 ? "" : "s", missing == 1 ? "has" : "have");
  for (uint32_t i = 0; i < missing; i++) {
    const GlowNode *k = last[order[i]];
    glow_note(ctx, glow_node_loc(k), "%s has none: '%s' is the last of %u", glow_node_desc(k)->node,
              name_of(k), count[order[i]]);
  }
  return false;
}

/* Adds what the derivatives of n's results contribute to those of its operands, by n's rule. */
static bool visit(Sweep *s, const GlowNode *n) {
  GlowValue **dy = GLOW_NEW_ARRAY(s->arena, GlowValue *, n->nresults + 1);
  GlowValue **dx = GLOW_NEW_ARRAY(s->arena, GlowValue *, n->noperands + 1);
  bool *wanted = GLOW_NEW_ARRAY(s->arena, bool, n->noperands + 1);
  bool any_result = false, any_operand = false;
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowValue *v = &n->results[i];
    dy[i] = glow_map_get(s->independent, v) ? NULL : glow_map_get(s->adjoint, v);
    any_result |= dy[i] != NULL;
  }
  if (any_result && n->nregions && captures_active(s, n))
    return refuse_missing(s, n);
  for (uint32_t i = 0; any_result && i < n->noperands; i++) {
    GlowValue *v = glow_node_in(n, i);
    wanted[i] = v && glow_map_get(s->active, v);
    any_operand |= wanted[i];
    if (wanted[i] && !has_rule(n, i))
      return refuse_missing(s, n);
  }
  if (!any_result || !any_operand)
    return true;
  unsigned errors = glow_context_error_count(s->b->module->ctx);
  GlowGrad g = {.b = s->b, .n = n, .dy = dy, .wanted = wanted, .dx = dx};
  if (!glow_grad_hooks[n->op](&g)) {
    if (glow_context_error_count(s->b->module->ctx) == errors)
      glow_error(s->b->module->ctx, s->b->src, "%s '%s' lies between, whose extents are not known",
                 glow_node_desc(n)->node, name_of(n));
    return false;
  }
  for (uint32_t i = 0; i < n->noperands; i++)
    if (wanted[i] && dx[i] && !add_adjoint(s, glow_node_in(n, i), dx[i]))
      return false;
  return true;
}

static bool sweep(Sweep *s, GlowValue *y, GlowValue *const *xs, uint32_t count,
                  GlowValue **results) {
  for (uint32_t i = 0; i < count; i++) {
    glow_map_set(s->active, xs[i], xs[i]);
    glow_map_set(s->independent, xs[i], xs[i]);
  }
  mark_active(s);
  GlowNode *n = s->b->before ? s->b->before->prev : s->b->block->last;
  if (glow_map_get(s->active, y)) {
    GlowValue *seed = fill_like(s->b, y, 1);
    if (!seed || !add_adjoint(s, y, seed))
      return false;
    for (; n; n = n->prev)
      if (!visit(s, n))
        return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    results[i] = glow_map_get(s->adjoint, xs[i]);
    if (!results[i])
      results[i] = fill_like(s->b, xs[i], 0);
    if (!results[i])
      return false;
  }
  return true;
}

bool glow_differentiate(GlowBuilder *b, GlowValue *y, GlowValue *const *xs, uint32_t count,
                        GlowValue **results) {
  GlowContext *ctx = b->module->ctx;
  for (uint32_t i = 0; i <= count; i++) {
    const GlowValue *v = i < count ? xs[i] : y;
    if (is_real(v))
      continue;
    glow_error(ctx, b->src, "'%s' is %s; only floating-point tensors have derivatives",
               v->name ? v->name : "_", glow_type_str(ctx, v->type));
    return false;
  }
  Sweep s = {.b = b, .arena = glow_arena_create(ctx)};
  s.active = glow_map_create(s.arena);
  s.independent = glow_map_create(s.arena);
  s.adjoint = glow_map_create(s.arena);
  s.reached = glow_map_create(s.arena);
  bool ok = sweep(&s, y, xs, count, results);
  glow_arena_destroy(s.arena);
  return ok;
}
