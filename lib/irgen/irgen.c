/* IRGen: every func becomes a program of the same name.
 *
 * A node becomes the instruction of its name; its results become buffers. A func reads storage as
 * it was at entry, and Save takes effect at exit. So a Save becomes a copy at the end. If the func
 * has no other use of the storage, the value is computed into the storage directly, without a copy.
 * Parameters and results of a func become parameters of the program; those of results have the
 * names that callers know (glow_function_result_names).
 *
 * A type that inference does not prove is a claim: the buffer then has bounds, `expect_shape`
 * checks the extents at run time, and what follows uses a view of the claimed type. */
#include "analysis/buffers.h"
#include "ir/infer.h"
#include "irgen/irgen_internal.h"

GlowValue *glow_irgen_get(const GlowIrgen *g, const GlowValue *v) {
  if (!v || v->kind == GLOW_VALUE_STORAGE)
    return (GlowValue *)(uintptr_t)v;
  GlowValue *buffer = glow_map_get(g->buffers, v);
  GLOW_CHECK(g->ctx, buffer, "a value has no buffer");
  return buffer;
}

void glow_irgen_set(GlowIrgen *g, const GlowValue *v, GlowValue *buffer) {
  glow_map_set(g->buffers, v, buffer);
}

GlowValue *glow_irgen_alloc(GlowIrgen *g, const GlowValue *like, const GlowType *type) {
  GlowStr name = like ? like->name : NULL;
  GlowNodeSpec spec = {.op = GLOW_OP_ALLOC, .types = &type, .names = &name};
  GlowNode *n = glow_node_create(&g->b, &spec);
  GLOW_CHECK(g->ctx, n, "an alloc cannot be built");
  return &n->results[0];
}

GlowValue *glow_irgen_view(GlowIrgen *g, const GlowValue *like, GlowValue *base,
                           const GlowType *type) {
  base = glow_buffer_dense_base(base);
  if (base->type == type)
    return base;
  GlowNodeSpec spec = {.op = GLOW_OP_TENSORVIEW,
                       .ins = &base,
                       .nins = 1,
                       .types = &type,
                       .names = &(GlowStr){like ? like->name : NULL}};
  GlowNode *n = glow_node_create(&g->b, &spec);
  return n ? &n->results[0] : NULL;
}

bool glow_irgen_copy(GlowIrgen *g, GlowValue *to, GlowValue *from) {
  return glow_build_instr(&g->b, GLOW_OP_COPY, &to, 1, &from, 1, NULL) != NULL;
}

/* ---- Most nodes ------------------------------------------------------------------------------ */

/* The claimed type with a bound wherever an extent is not proved to be exact; `claimed` itself if
 * all are. */
static const GlowType *checked_type(GlowIrgen *g, const GlowType *claimed, const GlowType *proved) {
  GlowDim dims[GLOW_MAX_RANK];
  if (!proved || !glow_type_is_static(claimed) || proved == claimed)
    return claimed;
  for (uint32_t i = 0; i < claimed->rank; i++) {
    bool exact = !proved->unranked && proved->dims[i].kind == GLOW_DIM_EXACT;
    dims[i] = exact ? claimed->dims[i] : GLOW_BOUND(claimed->dims[i].size);
  }
  const GlowType *t = glow_type_with_dims(g->ctx, claimed, claimed->rank, dims);
  return glow_type_with_layout(g->ctx, t, claimed->layout);
}

/* The buffer into which result v is computed: its target if that has the type `type`, else a new
 * alloc of this type. */
static GlowValue *result_buffer(GlowIrgen *g, const GlowValue *v, const GlowType *type) {
  GlowValue *target = glow_map_get(g->targets, v);
  if (target && type == target->type)
    return target;
  return glow_irgen_alloc(g, v, type);
}

bool glow_irgen_finish(GlowIrgen *g, const GlowValue *v, GlowValue *buffer,
                       const GlowType *proved) {
  if (buffer->type == v->type) {
    glow_irgen_set(g, v, buffer);
    return true;
  }
  if (checked_type(g, v->type, proved) != v->type) {
    int64_t dims[GLOW_MAX_RANK];
    for (uint32_t i = 0; i < v->type->rank; i++)
      dims[i] = v->type->dims[i].size;
    GlowExpectShapeMembers members = {.dims = glow_array_i64(g->module, dims, v->type->rank)};
    if (!glow_build_instr(&g->b, GLOW_OP_EXPECT_SHAPE, NULL, 0, &buffer, 1, &members))
      return false;
  }
  GlowValue *value = glow_irgen_view(g, v, buffer, v->type);
  glow_irgen_set(g, v, value);
  return value != NULL;
}

bool glow_irgen_default(GlowIrgen *g, const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  uint32_t nins = n->noperands, nouts = n->nresults;
  GlowValue **ins = GLOW_NEW_ARRAY(g->arena, GlowValue *, nins);
  GlowValue **outs = GLOW_NEW_ARRAY(g->arena, GlowValue *, nouts);
  const GlowType **proved = GLOW_NEW_ARRAY(g->arena, const GlowType *, nouts);
  if (!glow_node_infer(n, proved))
    return false;
  for (uint32_t i = 0; i < nins; i++)
    ins[i] = glow_irgen_get(g, n->operands[i].value);
  for (uint32_t i = 0; i < nouts; i++) {
    const GlowValue *v = &n->results[i];
    bool optional = glow_op_out_port(d, i)->flags & GLOW_PORT_OPTIONAL;
    if (v->uses || !optional)
      outs[i] = result_buffer(g, v, checked_type(g, v->type, proved[i]));
  }
  while (nouts && !outs[nouts - 1])
    nouts--;
  g->b.pred = glow_irgen_get(g, n->pred.value);
  bool ok = glow_build_instr(&g->b, n->op, outs, nouts, ins, nins, n->members) != NULL;
  g->b.pred = NULL;
  for (uint32_t i = 0; i < nouts && ok; i++)
    ok = !outs[i] || glow_irgen_finish(g, &n->results[i], outs[i], proved[i]);
  return ok;
}

static void set_place(GlowIrgen *g, const GlowNode *at) {
  g->b.src = at->src;
  g->b.origin = at->origin;
}

static bool emit_node(GlowIrgen *g, const GlowNode *n) {
  set_place(g, n);
  if (n->op == GLOW_OP_SAVE)
    return true; /* emit_saves copies at the end */
  if (n->op == GLOW_OP_IDENTITY && n->results[0].type == glow_node_in(n, 0)->type) {
    glow_irgen_set(g, &n->results[0], glow_irgen_get(g, glow_node_in(n, 0)));
    return true;
  }
  if (glow_map_get(g->appends, n))
    return glow_irgen_append(g, n);
  if (n->op == GLOW_OP_IF)
    return glow_irgen_if(g, n);
  if (n->op == GLOW_OP_LOOP)
    return glow_irgen_loop(g, n);
  return glow_irgen_hooks[n->op] ? glow_irgen_hooks[n->op](g, n) : glow_irgen_default(g, n);
}

bool glow_irgen_block(GlowIrgen *g, const GlowBlock *b) {
  for (const GlowNode *n = b->first; n; n = n->next)
    if (!GLOW_HAS(glow_node_desc(n), TERMINATOR) && !emit_node(g, n))
      return false;
  return true;
}

/* ---- Saves ----------------------------------------------------------------------------------- */

/* A value that is to be in a storage, or in the parameter for a result, at exit. */
typedef struct Saved {
  GlowValue *value;   /* of the func */
  GlowValue *storage; /* or a view of it with more rows, or the parameter of the program */
  const GlowNode *at; /* the Save or the Return */
} Saved;
typedef GLOW_VEC(Saved) SavedVec;

static bool used_once(const GlowIrgen *g, const GlowValue *storage) {
  uint32_t uses = 0;
  for (const GlowUse *u = storage->uses; u; u = u->next)
    uses += u->user->block && glow_block_function(u->user->block) == g->func;
  return uses <= 1;
}

/* Lists the Saves of the top level, then the results, for which it makes parameters. Notes as a
 * value's target where the value can be computed directly. */
static void find_saved(GlowIrgen *g, SavedVec *saved) {
  const GlowStr *names = glow_function_result_names(g->func, g->arena);
  for (GlowNode *n = g->func->body->first; n; n = n->next) {
    if (n->op == GLOW_OP_SAVE) {
      GlowValue *v = glow_node_in(n, GLOW_SAVE_IN_VALUE);
      Saved s = {v, glow_irgen_grown(g, glow_node_in(n, GLOW_SAVE_IN_STORAGE), v), n};
      glow_vec_push(g->arena, saved, s);
    }
    for (uint32_t i = 0; n->op == GLOW_OP_RETURN && i < n->noperands; i++) {
      GlowValue *v = n->operands[i].value;
      Saved s = {v, glow_block_add_param(g->program->body, names[i], v->type), n};
      glow_vec_push(g->arena, saved, s);
    }
  }
  for (uint32_t i = 0; i < saved->count; i++) {
    const Saved *s = &saved->data[i];
    bool direct = s->value->kind == GLOW_VALUE_RESULT && s->value->type == s->storage->type &&
                  used_once(g, glow_buffer_base(s->storage)) && !glow_map_get(g->targets, s->value);
    if (direct)
      glow_map_set(g->targets, s->value, s->storage);
  }
}

/* Whether one of the copies at the end writes `storage`: then no other copy may read it. */
static bool is_overwritten(const GlowIrgen *g, const SavedVec *saved, const GlowValue *storage) {
  for (uint32_t i = 0; i < saved->count; i++)
    if (glow_buffer_base(saved->data[i].storage) == storage &&
        glow_irgen_get(g, saved->data[i].value) != saved->data[i].storage)
      return true;
  return false;
}

static bool emit_saves(GlowIrgen *g, const SavedVec *saved) {
  GlowValue **from = GLOW_NEW_ARRAY(g->arena, GlowValue *, saved->count);
  for (uint32_t i = 0; i < saved->count; i++) {
    const Saved *s = &saved->data[i];
    from[i] = glow_irgen_get(g, s->value);
    if (from[i] == s->storage || !is_overwritten(g, saved, glow_buffer_base(from[i])))
      continue;
    set_place(g, s->at);
    GlowValue *old = glow_irgen_alloc(g, NULL, from[i]->type);
    if (!glow_irgen_copy(g, old, from[i]))
      return false;
    from[i] = old;
  }
  for (uint32_t i = 0; i < saved->count; i++) {
    set_place(g, saved->data[i].at);
    if (from[i] != saved->data[i].storage && !glow_irgen_copy(g, saved->data[i].storage, from[i]))
      return false;
  }
  for (uint32_t i = 0; i < saved->count; i++) {
    set_place(g, saved->data[i].at);
    if (!glow_irgen_set_rows(g, saved->data[i].storage))
      return false;
  }
  return true;
}

/* ---- Functions ------------------------------------------------------------------------------- */

static void make_inputs(GlowIrgen *g) {
  for (uint32_t i = 0; i < g->func->body->nparams; i++) {
    const GlowValue *p = g->func->body->params[i];
    glow_irgen_set(g, p, glow_block_add_param(g->program->body, p->name, p->type));
  }
}

static bool convert(GlowPassRun *run, GlowFunction *func) {
  GlowIrgen g = {.run = run,
                 .ctx = run->ctx,
                 .module = run->module,
                 .arena = run->arena,
                 .func = func,
                 .buffers = glow_map_create(run->arena),
                 .targets = glow_map_create(run->arena),
                 .appends = glow_map_create(run->arena)};
  SavedVec saved = {0};
  g.program = glow_function_create(run->module, GLOW_PROGRAM, func->name);
  g.program->device = func->device;
  g.program->src = func->src;
  g.b = glow_builder_at_end(g.program->body);
  make_inputs(&g);
  find_saved(&g, &saved);
  if (!glow_irgen_block(&g, func->body) || !emit_saves(&g, &saved))
    return false;
  glow_irgen_deallocs(&g);
  while (func->body->last)
    glow_node_remove(func->body->last);
  glow_function_replace(func, g.program);
  glow_pass_changed(run, NULL, NULL);
  return true;
}

/* Removes the declarations of gradients. No Call is left, so nothing uses them, and the functions
 * that they refer to become programs. */
static void drop_gradients(GlowPassRun *run) {
  for (GlowFunction *f = run->module->first_function, *next; f; f = next) {
    next = f->next;
    if (f->kind != GLOW_GRADIENT)
      continue;
    glow_pass_remark(run, f->src, "left out the declaration of gradient @%s", f->name);
    glow_function_remove(f);
  }
}

bool glow_pass_irgen(GlowPassRun *run) {
  bool ok = true;
  GLOW_VEC(GlowFunction *) funcs = {0};
  for (GlowFunction *f = run->module->first_function; f; f = f->next) {
    GlowIrgen g = {.ctx = run->ctx, .module = run->module, .func = f};
    if (f->kind != GLOW_FUNC)
      continue;
    ok &= glow_irgen_check(&g);
    glow_vec_push(run->arena, &funcs, f);
  }
  if (funcs.count == 0 && !glow_module_has_level(run->module, GLOW_LEVEL_PROGRAM)) {
    glow_error(run->ctx, GLOW_NOWHERE, "irgen: the module has no func");
    return false;
  }
  if (ok)
    drop_gradients(run);
  for (uint32_t i = 0; i < funcs.count && ok; i++)
    ok = convert(run, funcs.data[i]);
  return ok;
}
