/* Operators that are defined by a lowering rule: the rule builds a function over the exact types
 * at hand in a module of its own, which then runs. The function is kept for the node and used
 * again while types and the values of small integer operands (axes, shapes) stay the same. */
#include "backend/interp/interp_internal.h"
#include "ops/lower.h"

typedef struct GlowLowered {
  GlowModule *module; /* NULL: nothing kept */
  GlowCells cells;    /* the values of its constants */
  GlowFunction *function;
  GlowTensor *operands; /* type of each operand; data of those that became constants */
  struct GlowLowered *next;
} GlowLowered;

static void forget(GlowLowered *l) {
  glow_values_destroy(l->cells.values);
  glow_module_destroy(l->module);
  l->cells.values = NULL;
  l->module = NULL;
}

void glow_lowered_release(GlowWalk *w) {
  for (GlowLowered *l = w->lowered; l; l = l->next)
    forget(l);
}

/* Whether rules may look at the values: small integers, and single numbers where extents of a
 * result are not known without them (the depth of OneHot). */
static bool is_constant(const GlowNode *n, const GlowTensor *t) {
  const GlowType *type = t->type;
  if (!glow_type_is_tensor(type) || type->quantized || t->bytes > GLOW_MAX_FOLDED_BYTES)
    return false;
  bool open = !glow_type_is_static(n->results[0].type);
  return glow_kind_is_integer(type->kind) || type->kind == GLOW_KIND_BOOL ||
         (open && glow_kind_is_float(type->kind) && glow_tensor_elements(t) == 1);
}

static bool matches(const GlowLowered *l, const GlowNode *n, const GlowTensor *const *in) {
  if (!l->module)
    return false;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowTensor *kept = &l->operands[i];
    if (kept->type != (in[i] ? in[i]->type : NULL) ||
        (kept->data && memcmp(kept->data, in[i]->data, in[i]->bytes) != 0))
      return false;
  }
  return true;
}

/* The operands as parameters and constants of the new function. */
static GlowValue **operands_of(GlowLowered *l, const GlowNode *n, const GlowTensor *const *in) {
  GlowModule *m = l->module;
  GlowValue **values = GLOW_NEW_ARRAY(m->arena, GlowValue *, n->noperands + 1);
  l->operands = GLOW_NEW_ARRAY(m->arena, GlowTensor, n->noperands + 1);
  for (uint32_t i = 0; i < n->noperands; i++) {
    GlowTensor *kept = &l->operands[i];
    if (!in[i])
      continue;
    kept->type = in[i]->type;
    if (is_constant(n, in[i])) {
      kept->data = glow_arena_copy(m->arena, in[i]->data, in[i]->bytes);
      kept->bytes = in[i]->bytes;
      GlowInit init = {.kind = GLOW_INIT_LIST, .tensor = kept};
      values[i] =
          &glow_storage_create(m, GLOW_CONSTANT, glow_str(m->ctx, "operand"), kept->type, init)
               ->value;
    } else {
      values[i] = glow_block_add_param(l->function->body, NULL, kept->type);
    }
  }
  return values;
}

/* Builds the function. False after a diagnostic. */
static bool build(GlowLowered *l, const GlowNode *n, const GlowTensor *const *in) {
  GlowContext *ctx = n->block->module->ctx;
  unsigned errors = glow_context_error_count(ctx);
  l->module = glow_module_create(ctx, NULL);
  l->cells.values = glow_values_create(l->module);
  l->function = glow_function_create(l->module, GLOW_FUNC, glow_str(ctx, "lowered"));
  GlowBuilder b = glow_builder_at_end(l->function->body);
  b.src = n->src;
  b.origin = n->origin;
  GlowNodeSpec spec = {.op = n->op,
                       .ins = operands_of(l, n, in),
                       .nins = n->noperands,
                       .members = n->members,
                       .nresults = n->nresults};
  GlowNode *copy = glow_node_create(&b, &spec);
  if (!copy)
    return false;
  GlowValue **results = GLOW_NEW_ARRAY(l->module->arena, GlowValue *, n->nresults + 1);
  b.before = copy;
  if (!glow_lower_hooks[n->op](&b, copy, results)) {
    if (glow_context_error_count(ctx) == errors)
      glow_run_error(n, "its lowering rule does not apply to these operands");
    return false;
  }
  glow_node_remove(copy);
  glow_build_terminator(l->function->body, GLOW_OP_RETURN, results, n->nresults);
  glow_walk_number(l->function->body);
  return true;
}

static GlowLowered *lowered_for(GlowWalk *w, const GlowNode *n, const GlowTensor *const *in) {
  if (!w->rules)
    w->rules = glow_map_create(w->arena);
  GlowLowered *l = glow_map_get(w->rules, n);
  if (!l) {
    l = GLOW_NEW(w->arena, GlowLowered);
    l->next = w->lowered;
    w->lowered = l;
    glow_map_set(w->rules, n, l);
  }
  if (matches(l, n, in))
    return l;
  forget(l);
  return build(l, n, in) ? l : NULL;
}

bool glow_walk_lowered(GlowWalk *w, const GlowNode *n, const GlowTensor *const *in,
                       GlowTensor **out) {
  if (!glow_walk_enter(w, n))
    return false;
  GlowLowered *l = lowered_for(w, n, in);
  bool ok = l != NULL;
  if (ok) {
    GlowWalk inner;
    GlowDefer release;
    glow_walk_begin(&inner, l->module, w->scratch);
    glow_defer_push(w->ctx, &release, glow_walk_end, &inner);
    inner.cells = &l->cells;
    inner.kernels = w->kernels;
    inner.depth = w->depth;
    inner.primitives = w->primitives;
    for (uint32_t i = 0, p = 0; i < n->noperands; i++)
      if (in[i] && !l->operands[i].data)
        glow_walk_set(&inner, l->function->body->params[p++], (GlowTensor *)(uintptr_t)in[i],
                      false);
    ok = glow_walk_block(&inner, l->function->body, out);
    glow_defer_pop(w->ctx, &release, true);
  }
  w->depth--;
  return ok;
}
