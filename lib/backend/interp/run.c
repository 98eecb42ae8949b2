/* Runs as a whole: binds inputs, checks them all at once, walks the graph or the program, and
 * collects what was written. Also single nodes, for constant folding. */
#include "backend/interp/interp_internal.h"

#include <fenv.h>
#include <stdlib.h>

#include "analysis/access.h"
#include "analysis/footprint.h"

/* ---- The floating point environment ---------------------------------------------------------- */

_Static_assert(sizeof(fenv_t) <= sizeof((GlowFloatMode){0}.saved), "room for the environment");

static void restore(void *saved) {
  fenv_t env;
  memcpy(&env, saved, sizeof env);
  fesetenv(&env);
}

void glow_float_mode_enter(GlowContext *ctx, GlowFloatMode *m) {
  fenv_t env;
  fegetenv(&env);
  memcpy(m->saved, &env, sizeof env);
  glow_defer_push(ctx, &m->defer, restore, m->saved);
  fesetenv(FE_DFL_ENV);
}

void glow_float_mode_leave(GlowContext *ctx, GlowFloatMode *m) {
  glow_defer_pop(ctx, &m->defer, true);
}

/* A run under way. */
typedef struct GlowRunCall {
  GlowFunction *function;
  const GlowBindings *inputs;
  GlowBindings *outputs;
  const GlowRunOptions *options;
  GlowArena *arena;
  GlowAccesses accesses;
  GlowOuterValues outer;
  GlowValues *values;
  GlowCells *cells;
  bool ok;
} GlowRunCall;

/* ---- Inputs ---------------------------------------------------------------------------------- */

static GlowContext *context_of(const GlowValue *v) {
  const GlowBlock *b = glow_value_block(v);
  return b ? b->module->ctx : v->def.storage->module->ctx;
}

GlowTensor *glow_bindings_input(const GlowBindings *b, const GlowValue *v) {
  return glow_bindings_take(context_of(v), b, v->name, v->type, glow_value_loc(v));
}

/* Binds the inputs that the function reads. A program may write a placeholder before it reads it.
 * The verifier does not say whether it does, so no value is needed for one that is also written. */
static bool bind_outer(GlowRunCall *r) {
  const GlowFunction *f = r->function;
  bool ok = true;
  for (uint32_t i = 0; i < r->outer.count; i++) {
    const GlowValue *v = r->outer.data[i];
    const GlowAccess *a = &r->accesses.of[v->id];
    bool param = v->kind == GLOW_VALUE_PARAM;
    if (glow_outer_class(v) != GLOW_PLACEHOLDER || !(a->read || (param && f->kind == GLOW_FUNC)))
      continue;
    if (f->kind == GLOW_PROGRAM && a->written && !glow_bindings_find(r->inputs, v->name))
      continue;
    GlowTensor *t = glow_bindings_input(r->inputs, v);
    r->cells->cells[v->id].tensor = t;
    ok &= t != NULL;
  }
  return ok;
}

/* ---- Outputs --------------------------------------------------------------------------------- */

static void add_output(GlowContext *ctx, GlowBindings *outputs, GlowStr name, GlowTensor *t) {
  GlowBinding b = {name, t};
  glow_vec_push(ctx->arena, outputs, b);
}

/* Moves the placeholders and parameters that were written to the outputs, in order. Variables keep
 * their new values. */
static void collect(GlowRunCall *r) {
  for (uint32_t i = 0; i < r->outer.count; i++) {
    const GlowValue *v = r->outer.data[i];
    GlowCell *c = &r->cells->cells[v->id];
    if (!c->written)
      continue;
    if (glow_outer_class(v) == GLOW_PLACEHOLDER) {
      add_output(r->function->module->ctx, r->outputs, v->name, c->tensor);
    } else {
      GlowTensor *t = c->tensor;
      *c = (GlowCell){0};
      glow_values_set(r->values, v->def.storage, t);
    }
    *c = (GlowCell){0};
  }
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static bool count_weight(GlowNode *n, void *weight) {
  *(uint64_t *)weight += glow_node_weight(n);
  return true;
}

static bool run_graph(GlowRunCall *r) {
  GlowFunction *f = r->function;
  GlowContext *ctx = f->module->ctx;
  GlowWalk w;
  GlowScratch scratch = {0};
  GlowDefer release_walk, release_scratch;
  GlowTensorList results;
  const GlowNode *end = glow_block_terminator(f->body);
  GlowTensor **args = GLOW_NEW_ARRAY(r->arena, GlowTensor *, f->body->nparams + 1);
  const GlowStr *names = glow_function_result_names(f, r->arena);
  for (uint32_t i = 0; i < f->body->nparams; i++)
    args[i] = r->cells->cells[f->body->params[i]->id].tensor;
  glow_defer_push(ctx, &release_scratch, glow_scratch_release, &scratch);
  glow_walk_begin(&w, f->module, &scratch);
  glow_defer_push(ctx, &release_walk, glow_walk_end, &w);
  w.cells = r->cells;
  w.options = r->options;
  if (r->options && r->options->kernels)
    w.kernels = r->options->kernels;
  w.primitives = r->options && r->options->primitives;
  for (uint32_t i = 0; i < r->accesses.functions.count; i++)
    glow_block_walk(r->accesses.functions.data[i]->body, count_weight, &w.total);
  glow_tensor_list_begin(ctx, &results, end ? end->noperands : 0);
  bool ok = glow_walk_function(&w, f, args, results.data, NULL);
  if (ok)
    collect(r);
  for (uint32_t i = 0; ok && i < results.count; i++) {
    add_output(ctx, r->outputs, names[i], results.data[i]);
    results.data[i] = NULL;
  }
  glow_tensor_list_end(ctx, &results);
  glow_defer_pop(ctx, &release_walk, true);
  glow_defer_pop(ctx, &release_scratch, true);
  return ok;
}

static bool run_program(GlowRunCall *r) {
  if (!glow_program_run(r->function, r->cells, r->options))
    return false;
  collect(r);
  return true;
}

/* Bytes of constants that are read where their file is mapped, so they take no memory. */
static int64_t mapped_bytes(const GlowRunCall *r) {
  int64_t sum = 0;
  for (const GlowStorage *g = r->function->module->first_storage; g; g = g->next) {
    GlowInitKind kind = g->init.kind;
    bool mapped = kind == GLOW_INIT_RESOURCE || kind == GLOW_INIT_PAYLOAD || kind == GLOW_INIT_LIST;
    if (r->accesses.of[g->value.id].read && mapped && g->init.tensor)
      sum += (int64_t)g->init.tensor->bytes;
  }
  return sum;
}

static void lift_limit(void *ctx) { ((GlowContext *)ctx)->tensor_limit = 0; }

/* Refuses a function that needs more memory than the run may take. Sizes that are known only at run
 * time are checked at each operator. */
static bool limit_memory(const GlowRunCall *r) {
  int64_t limit = r->options ? r->options->max_memory : 0;
  if (!limit)
    return true;
  GlowFootprint p = glow_function_footprint(r->function);
  if (!glow_footprint_fits(r->function, &p, limit))
    return false;
  limit -= mapped_bytes(r);
  r->function->module->ctx->tensor_limit = limit > 0 ? limit : 1;
  return true;
}

static void run_body(GlowContext *ctx, void *arg) {
  GlowRunCall *r = arg;
  GlowFunction *f = r->function;
  if (f->kind == GLOW_GRADIENT) {
    glow_error(ctx, f->src, "@%s is a gradient declaration: it has no body to run", f->name);
    return;
  }
  GlowFloatMode mode;
  GlowCells cells;
  GlowDefer release, release_values, lift;
  GlowValues *given = r->options ? r->options->values : NULL;
  r->arena = glow_arena_create(ctx);
  r->cells = &cells;
  glow_float_mode_enter(ctx, &mode);
  r->accesses = glow_function_accesses(f, r->arena);
  r->outer = glow_function_outer_values(f, r->arena);
  r->values = given ? given : glow_values_create(f->module);
  glow_defer_push(ctx, &release_values, glow_values_destroy_fn, given ? NULL : r->values);
  glow_cells_begin(ctx, &cells, r->values, f->module);
  glow_defer_push(ctx, &release, glow_cells_end, &cells);
  glow_defer_push(ctx, &lift, lift_limit, ctx);
  r->ok =
      limit_memory(r) && bind_outer(r) && (f->kind == GLOW_PROGRAM ? run_program(r) : run_graph(r));
  glow_defer_pop(ctx, &lift, true);
  glow_defer_pop(ctx, &release, true);
  glow_defer_pop(ctx, &release_values, true);
  glow_float_mode_leave(ctx, &mode);
  glow_arena_destroy(r->arena);
}

GlowStatus glow_interp_run(GlowFunction *f, const GlowBindings *inputs, GlowBindings *outputs,
                           const GlowRunOptions *options) {
  GlowRunCall r = {.function = f, .inputs = inputs, .outputs = outputs, .options = options};
  GlowStatus status = glow_protect(f->module->ctx, run_body, &r);
  return status != GLOW_OK || r.ok ? status : GLOW_BAD_INPUT;
}

/* ---- Single nodes ---------------------------------------------------------------------------- */

static bool eval_node(GlowNode *n, const GlowTensor *const *operands, GlowTensor **results) {
  GlowModule *m = n->block->module;
  GlowContext *ctx = m->ctx;
  GlowWalk w;
  GlowFloatMode mode;
  GlowScratch scratch = {0};
  GlowDefer release_walk, release_scratch;
  GlowTensorList out;
  glow_float_mode_enter(ctx, &mode);
  glow_defer_push(ctx, &release_scratch, glow_scratch_release, &scratch);
  glow_walk_begin(&w, m, &scratch);
  glow_defer_push(ctx, &release_walk, glow_walk_end, &w);
  glow_tensor_list_begin(ctx, &out, n->nresults);
  bool ok = glow_walk_op(&w, n, operands, NULL, out.data);
  for (uint32_t i = 0; ok && i < n->nresults; i++) {
    results[i] = out.data[i];
    out.data[i] = NULL;
  }
  glow_tensor_list_end(ctx, &out);
  glow_defer_pop(ctx, &release_walk, true);
  glow_defer_pop(ctx, &release_scratch, true);
  glow_float_mode_leave(ctx, &mode);
  return ok;
}

bool glow_interp_eval_node(GlowNode *n, const GlowTensor *const *operands, GlowTensor **results,
                           bool quiet) {
  GlowContext *ctx = n->block->module->ctx;
  if (!GLOW_HAS(glow_node_desc(n), PURE) || n->nregions)
    return false;
  GlowSilence silence;
  if (!quiet)
    return eval_node(n, operands, results);
  glow_silence_begin(ctx, &silence);
  bool ok = eval_node(n, operands, results);
  glow_silence_end(&silence);
  return ok;
}
