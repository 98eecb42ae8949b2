/* Runs as a whole: binds inputs, checks them all at once, walks the graph or the program, and
 * collects what was written. Also single nodes, for constant folding. */
#include "backend/interp/interp_internal.h"

#include <fenv.h>
#include <stdlib.h>

#include "ir/access.h"
#include "ir/footprint.h"

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

/* ---- What a function touches ----------------------------------------------------------------- */

typedef struct GlowSurvey {
  GlowModule *module;
  GlowArena *arena;
  GlowAccesses accesses;
  uint64_t weight;
} GlowSurvey;

static bool add_weight(GlowNode *n, void *weight) {
  *(uint64_t *)weight += glow_node_weight(n);
  return true;
}

static void survey(GlowSurvey *s, GlowFunction *f) {
  s->module = f->module;
  s->accesses = glow_function_accesses(f, s->arena);
  for (uint32_t i = 0; i < s->accesses.functions.count; i++)
    glow_block_walk(s->accesses.functions.data[i]->body, add_weight, &s->weight);
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

static GlowTensor *find_input(const GlowBindings *inputs, GlowStr name) {
  for (uint32_t i = 0; inputs && i < inputs->count; i++)
    if (inputs->data[i].name == name)
      return inputs->data[i].tensor;
  return NULL;
}

/* The input called `name`, which must have type `declared`; NULL after a diagnostic. */
static GlowTensor *checked_input(GlowContext *ctx, const GlowBindings *inputs, GlowStr name,
                                 const GlowType *declared, GlowLoc loc) {
  GlowTensor *t = find_input(inputs, name);
  if (!t) {
    glow_error(ctx, loc, "input '%s' of type %s is not given", name, glow_type_str(ctx, declared));
    return NULL;
  }
  bool fits =
      t->type->cls == declared->cls && glow_type_fit(declared, t->type) != GLOW_FIT_CONTRADICTS;
  if (fits)
    return t;
  glow_error(ctx, loc, "input '%s' is %s, but it is declared as %s", name,
             glow_type_str(ctx, t->type), glow_type_str(ctx, declared));
  return NULL;
}

static bool bind_placeholders(const GlowSurvey *s, GlowFunction *f, const GlowBindings *inputs,
                              GlowCells *cells) {
  bool ok = true;
  for (GlowStorage *p = s->module->first_storage; p; p = p->next) {
    const GlowAccess *a = &s->accesses.of[p->value.id];
    if (p->cls != GLOW_PLACEHOLDER || !a->read)
      continue;
    if (f->kind == GLOW_PROGRAM && a->written && !find_input(inputs, p->value.name))
      continue;
    GlowTensor *t = checked_input(s->module->ctx, inputs, p->value.name, p->value.type, p->src);
    cells->cells[p->value.id].tensor = t;
    ok &= t != NULL;
  }
  return ok;
}

static bool bind_params(GlowFunction *f, const GlowBindings *inputs, GlowTensor **args) {
  bool ok = true;
  for (uint32_t i = 0; i < f->body->nparams; i++) {
    const GlowValue *p = f->body->params[i];
    args[i] = checked_input(f->module->ctx, inputs, p->name, p->type, f->src);
    ok &= args[i] != NULL;
  }
  return ok;
}

/* ---- Outputs --------------------------------------------------------------------------------- */

static void add_output(GlowContext *ctx, GlowBindings *outputs, GlowStr name, GlowTensor *t) {
  GlowBinding b = {name, t};
  glow_vec_push(ctx->arena, outputs, b);
}

/* Placeholders that were written, in declaration order; variables keep their new values. */
static void collect(GlowModule *m, GlowCells *cells, GlowBindings *outputs) {
  for (GlowStorage *s = m->first_storage; s; s = s->next) {
    GlowCell *c = &cells->cells[s->value.id];
    if (!c->written)
      continue;
    if (s->cls == GLOW_PLACEHOLDER) {
      add_output(m->ctx, outputs, s->value.name, c->tensor);
    } else {
      glow_tensor_free(s->cached);
      s->cached = c->tensor;
    }
    *c = (GlowCell){0};
  }
}

/* ---- Runs ------------------------------------------------------------------------------------ */

typedef struct GlowRunCall {
  GlowFunction *function;
  const GlowBindings *inputs;
  GlowBindings *outputs;
  const GlowRunOptions *options;
  bool ok;
} GlowRunCall;

static bool run_graph(GlowRunCall *r, const GlowSurvey *s, GlowCells *cells) {
  GlowFunction *f = r->function;
  GlowContext *ctx = f->module->ctx;
  GlowWalk w;
  GlowScratch scratch = {0};
  GlowDefer release_walk, release_scratch;
  GlowTensorList results;
  const GlowNode *end = glow_block_terminator(f->body);
  GlowTensor **args = GLOW_NEW_ARRAY(s->arena, GlowTensor *, f->body->nparams + 1);
  bool bound = bind_params(f, r->inputs, args);
  if (!bind_placeholders(s, f, r->inputs, cells) || !bound)
    return false;
  glow_defer_push(ctx, &release_scratch, glow_scratch_release, &scratch);
  glow_walk_begin(&w, f->module, &scratch);
  glow_defer_push(ctx, &release_walk, glow_walk_end, &w);
  w.cells = cells;
  w.options = r->options;
  if (r->options && r->options->kernels)
    w.kernels = r->options->kernels;
  w.primitives = r->options && r->options->primitives;
  w.total = s->weight;
  glow_tensor_list_begin(ctx, &results, end ? end->noperands : 0);
  bool ok = glow_walk_function(&w, f, args, results.data, NULL);
  if (ok)
    collect(f->module, cells, r->outputs);
  for (uint32_t i = 0; ok && i < results.count; i++) {
    add_output(ctx, r->outputs, glow_str_printf(ctx, "%u", i), results.data[i]);
    results.data[i] = NULL;
  }
  glow_tensor_list_end(ctx, &results);
  glow_defer_pop(ctx, &release_walk, true);
  glow_defer_pop(ctx, &release_scratch, true);
  return ok;
}

static bool run_program(GlowRunCall *r, const GlowSurvey *s, GlowCells *cells) {
  GlowFunction *f = r->function;
  if (!bind_placeholders(s, f, r->inputs, cells) || !glow_program_run(f, cells, r->options))
    return false;
  collect(f->module, cells, r->outputs);
  return true;
}

/* Constants that are read where their file is mapped. */
static int64_t mapped_bytes(const GlowSurvey *s) {
  int64_t sum = 0;
  for (const GlowStorage *g = s->module->first_storage; g; g = g->next) {
    GlowInitKind kind = g->init.kind;
    bool mapped = kind == GLOW_INIT_RESOURCE || kind == GLOW_INIT_PAYLOAD || kind == GLOW_INIT_LIST;
    if (s->accesses.of[g->value.id].read && mapped && g->init.tensor)
      sum += (int64_t)g->init.tensor->bytes;
  }
  return sum;
}

static void lift_limit(void *ctx) { ((GlowContext *)ctx)->tensor_limit = 0; }

/* Refuses what needs more than the run may take. What is known only as it runs is asked again at
 * each operator. */
static bool limit_memory(const GlowRunCall *r, const GlowSurvey *s) {
  int64_t limit = r->options ? r->options->max_memory : 0;
  if (!limit)
    return true;
  GlowFootprint p = glow_function_footprint(r->function);
  if (!glow_footprint_fits(r->function, &p, limit))
    return false;
  limit -= mapped_bytes(s);
  s->module->ctx->tensor_limit = limit > 0 ? limit : 1;
  return true;
}

static void run_body(GlowContext *ctx, void *arg) {
  GlowRunCall *r = arg;
  GlowFunction *f = r->function;
  if (f->kind == GLOW_GRADIENT) {
    glow_error(ctx, f->src, "gradient '@%s' has no body; run -grad", f->name);
    return;
  }
  GlowFloatMode mode;
  GlowCells cells;
  GlowDefer release, lift;
  GlowSurvey s = {.arena = glow_arena_create(ctx)};
  glow_float_mode_enter(ctx, &mode);
  survey(&s, f);
  glow_cells_begin(ctx, &cells, f->module);
  glow_defer_push(ctx, &release, glow_cells_end, &cells);
  glow_defer_push(ctx, &lift, lift_limit, ctx);
  r->ok = limit_memory(r, &s) &&
          (f->kind == GLOW_PROGRAM ? run_program(r, &s, &cells) : run_graph(r, &s, &cells));
  glow_defer_pop(ctx, &lift, true);
  glow_defer_pop(ctx, &release, true);
  glow_float_mode_leave(ctx, &mode);
  glow_arena_destroy(s.arena);
}

GlowStatus glow_interp_run(GlowFunction *f, const GlowBindings *inputs, GlowBindings *outputs,
                           const GlowRunOptions *options) {
  GlowRunCall r = {f, inputs, outputs, options, false};
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
  bool ok = glow_walk_op(&w, n, operands, out.data);
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
