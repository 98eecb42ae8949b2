/* Whole modules: a function from nothing, and changes to one that is there. */
#include "test/random/random_graph.h"

#include "test/random/internal.h"

static void begin(GlowGen *g, GlowModule *m, GlowChoice *choice) {
  static const int64_t extents[] = {2, 3, 4, 1, 5, 2, 8, 6};
  *g = (GlowGen){.ctx = m->ctx, .module = m, .choice = choice};
  g->arena = glow_arena_create(m->ctx);
  for (int i = 0; i < 4; i++)
    g->extents[i] = extents[CHOOSE(g, 8)];
  g->control = ONCE_IN(g, 3);
  g->sequences = ONCE_IN(g, 5);
  g->dynamic = ONCE_IN(g, 4);
  g->predicates = ONCE_IN(g, 4);
}

static void enter_function(GlowGen *g, GlowFunction *f) {
  g->function = f;
  g->block = f->body;
  g->pool.count = 0;
}

/* ---- Results --------------------------------------------------------------------------------- */

/* Ends the function: it returns `old` results, then `more`. */
static void end_function(GlowFunction *f, GlowValuePool *values) {
  GlowNode *end = glow_block_terminator(f->body);
  if (end)
    glow_node_remove(end);
  const GlowType **types = GLOW_NEW_ARRAY(f->module->arena, const GlowType *, values->count);
  for (uint32_t i = 0; i < values->count; i++)
    types[i] = values->data[i]->type;
  f->has_results = true;
  f->nresults = values->count;
  f->result_names = NULL; /* those were of other results */
  f->results = types;
  glow_build_terminator(f->body, GLOW_OP_RETURN, values->data, values->count);
}

static void add_once(GlowGen *g, GlowValuePool *to, GlowValue *v) {
  for (uint32_t i = 0; i < to->count; i++)
    if (to->data[i] == v)
      return;
  glow_vec_push(g->arena, to, v);
}

/* What nothing uses yet, and now and then a value from within. */
static void collect_results(GlowGen *g, GlowValuePool *results) {
  for (uint32_t i = 0; i < g->pool.count; i++) {
    GlowValue *v = g->pool.data[i];
    bool inner = v->kind == GLOW_VALUE_RESULT && v->def.node->block == g->function->body;
    if (inner && (!v->uses || ONCE_IN(g, 8)) && results->count < 24)
      add_once(g, results, v);
  }
}

/* ---- From nothing ---------------------------------------------------------------------------- */

static void fill_function(GlowGen *g, GlowFunction *f, uint32_t nodes) {
  GlowValuePool results = {0};
  enter_function(g, f);
  for (uint32_t n = 1 + CHOOSE(g, 3); n-- > 0;)
    glow_gen_add(g, glow_gen_fresh(g, glow_gen_type(g, GLOW_KIND_FLOAT)));
  glow_gen_nodes(g, nodes);
  collect_results(g, &results);
  if (!results.count)
    add_once(g, &results, g->pool.data[0]);
  end_function(f, &results);
}

/* One result in four is stored instead of only returned. */
static void add_saves(GlowGen *g) {
  GlowNode *end = glow_block_terminator(g->function->body);
  for (uint32_t i = 0; i < end->noperands; i++) {
    GlowValue *v = end->operands[i].value;
    if (!ONCE_IN(g, 4) || !glow_type_is_static(v->type) || v->type->layout)
      continue;
    GlowStorage *s = glow_storage_create(g->module, GLOW_PLACEHOLDER, glow_str(g->ctx, "out"),
                                         v->type, (GlowInit){.kind = GLOW_INIT_NONE});
    GlowBuilder b = glow_builder_at_end(g->function->body);
    glow_build(&b, GLOW_OP_SAVE, (GlowValue *[]){v, &s->value}, 2, NULL, NULL);
  }
}

static bool accept(GlowModule *m, GlowText *text) {
  if (glow_module_verify(m))
    return true;
  if (text)
    glow_module_print(m, text, &(GlowPrintOptions){.no_payload = true});
  return false;
}

GlowModule *glow_random_module(GlowContext *ctx, GlowChoice *choice, GlowText *text) {
  GlowModule *m = glow_module_create(ctx, glow_str(ctx, "random"));
  GlowGen g;
  begin(&g, m, choice);
  if (g.control && CHOOSE(&g, 2))
    fill_function(&g, glow_function_create(m, GLOW_FUNC, glow_str(ctx, "callee")),
                  1 + CHOOSE(&g, 4));
  fill_function(&g, glow_function_create(m, GLOW_FUNC, glow_str(ctx, "main")), 2 + CHOOSE(&g, 14));
  add_saves(&g);
  glow_arena_destroy(g.arena);
  return accept(m, text) ? m : NULL;
}

/* ---- Changes --------------------------------------------------------------------------------- */

static bool add_values(GlowNode *n, void *arg) {
  GlowGen *g = arg;
  for (uint32_t i = 0; n->block == g->block && i < n->nresults; i++)
    glow_gen_add(g, &n->results[i]);
  return true;
}

static GlowNode *random_node(GlowGen *g) {
  uint32_t count = 0, k;
  GlowNode *n;
  for (n = g->block->first; n; n = n->next)
    count++;
  k = CHOOSE(g, count);
  for (n = g->block->first; n && k-- > 0;)
    n = n->next;
  return n && n->noperands && !GLOW_HAS(glow_node_desc(n), TERMINATOR) &&
                 !GLOW_HAS(glow_node_desc(n), WRITES)
             ? n
             : NULL;
}

/* Another value of the same type that is defined before n. */
static void reroute(GlowGen *g, GlowNode *n, GlowUse *use) {
  GlowValue *v = glow_gen_pick(g, glow_gen_same_type, use->value->type);
  bool inner = v && v->kind == GLOW_VALUE_RESULT;
  glow_function_number(g->function);
  if (v && (!inner || v->def.node->order < n->order))
    glow_use_set(use, v);
}

/* A unary operator that keeps the type, between the value and this use. */
static void insert_between(GlowGen *g, GlowNode *n, GlowUse *use) {
  for (int tries = 0; tries < 32; tries++) {
    GlowOp op = (GlowOp)CHOOSE(g, GLOW_OP_COUNT);
    const GlowOpDesc *d = &glow_op_desc[op];
    if (d->nin != 1 || d->nmembers || d->infer != GLOW_INFER_SAME || !d->node ||
        GLOW_HAS(d, INSTR_ONLY) || !GLOW_HAS(d, PURE))
      continue;
    GlowBuilder b = glow_builder_before(n);
    GlowValue *v = glow_build1(&b, op, use->value, NULL, glow_gen_name(g));
    if (v && v->type == use->value->type) {
      glow_use_set(use, v);
      return;
    }
    if (v)
      glow_node_remove(v->def.node);
  }
}

static void change_operand(GlowGen *g) {
  GlowNode *n = random_node(g);
  GlowUse *use = n ? &n->operands[CHOOSE(g, n->noperands)] : NULL;
  if (!use || !use->value)
    return;
  if (CHOOSE(g, 2))
    reroute(g, n, use);
  else
    insert_between(g, n, use);
}

bool glow_random_mutate(GlowFunction *f, GlowChoice *choice) {
  GlowGen g;
  GlowValuePool results = {0};
  begin(&g, f->module, choice);
  enter_function(&g, f);
  g.names = 1000;
  for (uint32_t i = 0; i < f->body->nparams; i++)
    glow_gen_add(&g, f->body->params[i]);
  glow_block_walk(f->body, add_values, &g);
  for (uint32_t n = CHOOSE(&g, 3); n-- > 0;)
    change_operand(&g);
  const GlowNode *end = glow_block_terminator(f->body);
  for (uint32_t i = 0; end && i < end->noperands; i++)
    add_once(&g, &results, end->operands[i].value);
  bool appends = CHOOSE(&g, 2);
  if (appends) {
    if (end)
      f->has_results = true; /* no new parameters behind the results' back */
    glow_gen_nodes(&g, CHOOSE(&g, 5));
    g.pool.count = 0;
    glow_block_walk(f->body, add_values, &g);
    collect_results(&g, &results);
    if (results.count)
      end_function(f, &results);
  }
  glow_arena_destroy(g.arena);
  return accept(f->module, NULL);
}
