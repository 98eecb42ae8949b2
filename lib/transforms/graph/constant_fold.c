/* Constant folding, in one walk in text order:
 *
 *   1. types are inferred again, since operands before may have become constants;
 *   2. fold hooks answer from types alone (Shape, Size);
 *   3. integers and booleans of up to 1 KB are evaluated by the interpreter and become lists,
 *      which inference reads: the shape arithmetic of models disappears here. Floats of that size
 *      are evaluated too, since integers may come from them, but stay nodes; where extents follow
 *      from their values (Range, Resize) they become lists as well;
 *   4. other constant values become `eval` constants if a node that is not constant uses them. The
 *      body of an `eval` constant is a copy of the nodes that computed the value. No arithmetic on
 *      tensors happens here.
 *
 * Integers that hold whatever symbols are become constants, too; a Reshape by a list that is
 * computed from extents gets a constant list where such a list says the same.
 *
 * A node such as Expand or Tile stays if it repeats elements for more than growth=BYTES (65536) in
 * all; so do nodes that depend on it. -lower begins with steps 1 to 3 (glow_fold_small_integers).
 * An If on a constant condition becomes the region that runs. */
#include "backend/interp/interp.h"
#include "ir/infer.h"
#include "lower/lower.h"
#include "ops/fold.h"
#include "pass/pass.h"
#include "tensor/element.h"
#include "transforms/transforms.h"

typedef struct Fold {
  GlowModule *module;
  GlowContext *ctx;
  GlowArena *arena;
  GlowMap *floats; /* results that were evaluated and stay nodes, to their tensors */
  uint64_t *changes;
  bool changed;
} Fold;

static bool is_integer(const GlowType *t) {
  return glow_kind_is_integer(t->kind) || t->kind == GLOW_KIND_BOOL;
}

static bool is_small(const GlowType *t) {
  return glow_type_is_static(t) && !t->quantized &&
         (is_integer(t) || glow_kind_is_float(t->kind)) &&
         glow_type_bytes(t) <= GLOW_MAX_FOLDED_BYTES;
}

static void replaced(Fold *f, GlowNode *n, GlowValue *const *values) {
  for (uint32_t i = 0; i < n->nresults; i++)
    glow_value_replace_uses(&n->results[i], values[i]);
  glow_remove_dead(n);
  ++*f->changes;
}

static bool try_hook(Fold *f, GlowNode *n) {
  if (!glow_fold_hooks[n->op] || n->pred.value)
    return false;
  GlowBuilder b = glow_builder_before(n);
  GlowValue **values = GLOW_NEW_ARRAY(f->arena, GlowValue *, n->nresults);
  if (!glow_fold_hooks[n->op](&b, n, values))
    return false;
  replaced(f, n, values);
  return true;
}

/* ---- Small integers -------------------------------------------------------------------------- */

/* The values of n's operands; NULL if one is unknown. */
static const GlowTensor **known_operands(Fold *f, const GlowNode *n) {
  const GlowTensor **known = GLOW_NEW_ARRAY(f->arena, const GlowTensor *, n->noperands + 1);
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    if (!v)
      continue;
    known[i] = glow_value_known(v);
    if (!known[i])
      known[i] = glow_map_get(f->floats, v);
    if (!known[i])
      return NULL;
  }
  return known;
}

/* Whether the results of n are small, as far as types say so before it is evaluated. */
static bool may_be_small(const GlowNode *n) {
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowType *t = n->results[i].type;
    if (!glow_type_is_tensor(t) || t->quantized || (!is_integer(t) && !glow_kind_is_float(t->kind)))
      return false;
    int64_t bytes = glow_type_bytes(t);
    if (bytes < 0 || bytes > GLOW_MAX_FOLDED_BYTES)
      return false;
  }
  return true;
}

/* Takes the values that n evaluated to. Integers and booleans replace n; floats are remembered in
 * f->floats. A node with results of both kinds stays. */
static void take_results(Fold *f, GlowNode *n, GlowTensor *const *results) {
  bool small = true, integers = true;
  for (uint32_t i = 0; i < n->nresults; i++) {
    small &= is_small(results[i]->type);
    integers &= is_integer(results[i]->type);
  }
  GlowValue **values = GLOW_NEW_ARRAY(f->arena, GlowValue *, n->nresults);
  for (uint32_t i = 0; small && i < n->nresults; i++) {
    GlowValue *v = &n->results[i];
    if (!integers)
      glow_map_set(f->floats, v, glow_tensor_in_arena(f->arena, results[i]));
    else if (v->uses)
      values[i] = &glow_constant_list(f->module, v->name, results[i])->value;
  }
  if (small && integers)
    replaced(f, n, values);
}

/* The tensors of one evaluation, freed in any case. */
typedef struct Results {
  GlowTensor **tensors;
  uint32_t count;
} Results;

static void free_results(void *arg) {
  const Results *r = arg;
  for (uint32_t i = 0; i < r->count; i++)
    glow_tensor_free(r->tensors[i]);
}

/* Whether n could be evaluated; it may be gone then. */
static bool try_evaluate(Fold *f, GlowNode *n) {
  if (!glow_node_is_foldable(n) || !may_be_small(n))
    return false;
  const GlowTensor *const *known = known_operands(f, n);
  if (!known)
    return false;
  Results r = {GLOW_NEW_ARRAY(f->arena, GlowTensor *, n->nresults), n->nresults};
  if (!glow_interp_eval_node(n, known, r.tensors, true))
    return false;
  GlowDefer release;
  glow_defer_push(f->ctx, &release, free_results, &r);
  take_results(f, n, r.tensors);
  glow_defer_pop(f->ctx, &release, true);
  return true;
}

/* Replaces n by numbers that types say, if its result has the symbols of no extent. */
static void try_numbers(Fold *f, GlowNode *n) {
  int64_t numbers[GLOW_MAX_SIZES];
  GlowValue *v = n->nresults == 1 ? &n->results[0] : NULL;
  if (!v || !v->uses || n->pred.value || !glow_node_is_foldable(n) ||
      !glow_type_is_tensor(v->type) || !is_small(v->type) || !is_integer(v->type) ||
      !glow_value_numbers(v, numbers))
    return;
  GlowTensor *t = glow_tensor_create(f->ctx, v->type);
  for (int64_t i = 0; i < glow_type_elements(v->type); i++)
    glow_tensor_set(t, i, glow_scalar_int(numbers[i]));
  GlowValue *list = &glow_constant_list(f->module, v->name, t)->value;
  glow_tensor_free(t);
  replaced(f, n, &list);
}

static bool is_open(const GlowNode *n) {
  for (uint32_t i = 0; i < n->nresults; i++)
    if (glow_type_is_tensor(n->results[i].type) && !glow_type_is_static(n->results[i].type))
      return true;
  return false;
}

/* Gives n the operands `values` where they are not NULL. */
static void set_operands(GlowNode *n, GlowValue *const *values) {
  for (uint32_t i = 0; i < n->noperands; i++)
    if (values[i])
      glow_use_set(&n->operands[i], values[i]);
}

/* If an extent of n is open, its float operands that were evaluated become lists, unless inference
 * learns nothing from them. */
static bool read_floats(Fold *f, GlowNode *n) {
  GlowValue **old = GLOW_NEW_ARRAY(f->arena, GlowValue *, n->noperands + 1);
  GlowValue **lists = GLOW_NEW_ARRAY(f->arena, GlowValue *, n->noperands + 1);
  bool any = false, narrowed = false;
  for (uint32_t i = 0; i < n->noperands && is_open(n); i++) {
    GlowValue *v = n->operands[i].value;
    const GlowTensor *t = v ? glow_map_get(f->floats, v) : NULL;
    if (!t)
      continue;
    old[i] = v;
    lists[i] = &glow_constant_list(f->module, v->name, t)->value;
    any = true;
  }
  if (!any)
    return true;
  set_operands(n, lists);
  if (!glow_reinfer_node(n, &narrowed))
    return false;
  if (!narrowed)
    set_operands(n, old);
  f->changed |= narrowed;
  for (uint32_t i = 0; i < n->noperands; i++) {
    if (narrowed && old[i] && old[i]->def.node->block)
      glow_remove_dead(old[i]->def.node);
    if (!narrowed && lists[i])
      glow_storage_remove(lists[i]->def.storage);
  }
  return true;
}

/* Whether no extent can be 0: then -1 in a list can always be computed. */
static bool has_elements(const GlowType *t) {
  for (uint32_t i = 0; i < t->rank; i++)
    if (t->dims[i].extent ? t->dims[i].extent->least <= 0 : t->dims[i].size <= 0)
      return false;
  return true;
}

/* Gives a Reshape, whose result is known while its list is computed, a constant list. */
static bool read_extents(Fold *f, GlowNode *n) {
  GlowReshapeMembers *m = n->members;
  GlowValue *list = n->op == GLOW_OP_RESHAPE ? glow_node_in(n, GLOW_RESHAPE_IN_SHAPE) : NULL;
  const GlowType *t = n->nresults ? n->results[0].type : NULL;
  int64_t shape[GLOW_MAX_RANK];
  bool allow_zero, changed = false;
  if (!list || glow_value_known(list) || !glow_type_is_tensor(t) || !glow_type_is_known(t) ||
      !has_elements(t) || !glow_type_is_tensor(glow_node_in(n, 0)->type) ||
      glow_node_in(n, 0)->type->unranked ||
      !glow_reshape_list(glow_node_in(n, 0)->type, t->rank, t->dims, shape, &allow_zero))
    return true;
  m->allow_zero = allow_zero;
  glow_use_set(&n->operands[GLOW_RESHAPE_IN_SHAPE],
               glow_constant_ints(f->module, n, "shape", shape, t->rank));
  if (list->kind == GLOW_VALUE_RESULT)
    glow_remove_dead(list->def.node);
  f->changed = true;
  return glow_reinfer_node(n, &changed);
}

/* ---- Control flow ---------------------------------------------------------------------------- */

/* Moves the nodes of the region that runs before the If. */
static bool try_if(Fold *f, GlowNode *n) {
  if (n->op != GLOW_OP_IF || n->pred.value)
    return false;
  const GlowTensor *cond = glow_value_known(glow_node_in(n, GLOW_IF_IN_COND));
  if (!cond || glow_tensor_elements(cond) != 1)
    return false;
  GlowBlock *taken = glow_node_region(n, glow_tensor_get_int(cond, 0) ? "then" : "else");
  GlowNode *end = glow_block_terminator(taken);
  while (taken->first != end)
    glow_node_move_before(taken->first, n);
  GlowValue **values = GLOW_NEW_ARRAY(f->arena, GlowValue *, n->nresults);
  for (uint32_t i = 0; i < n->nresults; i++)
    values[i] = end->operands[i].value;
  glow_node_replace(n, values, n->nresults);
  ++*f->changes;
  return true;
}

static bool fold_block(GlowBlock *b, void *arg) {
  Fold *f = arg;
  for (GlowNode *n = b->first, *next, *prev; n; n = next) {
    prev = n->prev;
    next = n->next;
    if (try_if(f, n)) { /* go on with the nodes that were moved */
      next = prev ? prev->next : b->first;
      continue;
    }
    if (!glow_each_region(n, fold_block, f) || !glow_reinfer_node(n, &f->changed) ||
        !read_floats(f, n) || !read_extents(f, n))
      return false;
    if (!try_hook(f, n) && !try_evaluate(f, n))
      try_numbers(f, n);
  }
  return true;
}

bool glow_fold_small_integers(GlowFunction *function, GlowArena *arena, uint64_t *changes) {
  GlowModule *m = function->module;
  Fold f = {.module = m, .ctx = m->ctx, .arena = arena, .changes = changes};
  f.floats = glow_map_create(arena);
  if (!fold_block(function->body, &f))
    return false;
  *changes += f.changed;
  return true;
}

/* ---- Everything else: eval constants --------------------------------------------------------- */

typedef struct Outline {
  GlowPassRun *run;
  GlowConstness *constness;
  GLOW_VEC(GlowNode *) dead; /* nodes whose results were replaced */
} Outline;

/* Whether something that is not itself constant uses v. */
static bool has_variable_use(Outline *o, const GlowValue *v) {
  for (const GlowUse *u = v->uses; u; u = u->next) {
    const GlowNode *user = u->user;
    if (u == &user->pred || !glow_node_is_foldable(user) || !user->nresults ||
        !glow_constness_of(o->constness, &user->results[0]))
      return true;
  }
  return false;
}

/* A Splat of one element is a literal, and stays a node. */
static bool is_literal(const GlowNode *n) {
  return n->op == GLOW_OP_SPLAT && glow_type_elements(n->results[0].type) == 1;
}

static bool outline_value(Outline *o, GlowValue *v) {
  GlowPassRun *run = o->run;
  GlowNode *n = v->def.node;
  GlowStorage *s;
  if (n->op == GLOW_OP_SPLAT) {
    GlowInit init = {.kind = GLOW_INIT_SPLAT,
                     .splat = ((const GlowSplatMembers *)n->members)->value};
    s = glow_storage_create(run->module, GLOW_CONSTANT, v->name, v->type, init);
    s->origin = n->origin;
  } else {
    GlowEval e = glow_eval_create(run->module, run->arena, n);
    GlowValue *copy = glow_eval_copy(&e, v);
    if (!copy)
      return false;
    s = glow_eval_finish(&e, copy, v->name);
  }
  glow_pass_changed(run, n, "%%%s becomes constant @%s", v->name, s->value.name);
  glow_value_replace_uses(v, &s->value);
  glow_vec_push(run->arena, &o->dead, n);
  return true;
}

static bool outline_node(GlowNode *n, void *arg) {
  Outline *o = arg;
  if (!glow_node_is_foldable(n) || is_literal(n) ||
      !glow_constness_of(o->constness, &n->results[0]))
    return true;
  for (uint32_t i = 0; i < n->nresults; i++) {
    GlowValue *v = &n->results[i];
    bool wanted = glow_type_is_static(v->type) && v->type->kind != GLOW_KIND_STRING && v->uses;
    if (wanted && has_variable_use(o, v) && !outline_value(o, v))
      return false;
  }
  return true;
}

bool glow_pass_constant_fold(GlowPassRun *run) {
  glow_pass_begin_batch(run); /* shapes that follow from each other */
  if (!glow_fold_small_integers(run->function, run->arena, &run->changes))
    return false;
  glow_pass_end_batch(run);
  bool ok = true;
  int64_t limit = glow_pass_option_int(run, "growth", GLOW_FOLD_GROWTH, &ok);
  if (!ok)
    return false;
  Outline o = {.run = run, .constness = glow_constness_create(run->arena)};
  glow_constness_limit(o.constness, limit);
  if (!glow_block_walk(run->function->body, outline_node, &o))
    return false;
  for (uint32_t i = 0; i < o.dead.count; i++)
    glow_remove_dead(o.dead.data[i]);
  return true;
}
