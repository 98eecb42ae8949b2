/* Aggressive dead code elimination: whatever is not needed by an effect goes.
 *
 * Roots are nodes that write or stop the program, and what functions return. Needed is what a
 * needed node reads; a node with regions needs of their results what is used of its own. Constants
 * and variables without uses go too. Placeholders are the interface and stay; so do functions, any
 * of which may be the entry, unless entry=NAME says which one is. */
#include "pass/pass.h"
#include "transforms/transforms.h"

typedef struct Dce {
  GlowPassRun *run;
  GlowMap *needed; /* nodes */
  GLOW_VEC(GlowNode *) work;
} Dce;

static void need_node(Dce *d, GlowNode *n) {
  if (glow_map_get(d->needed, n))
    return;
  glow_map_set(d->needed, n, n);
  glow_vec_push(d->run->arena, &d->work, n);
}

static void need_value(Dce *d, const GlowValue *v) {
  if (!v)
    return;
  if (v->kind == GLOW_VALUE_RESULT)
    need_node(d, v->def.node);
  else if (v->kind == GLOW_VALUE_PARAM && v->def.block->owner == GLOW_BLOCK_REGION)
    need_node(d, v->def.block->of.node);
}

/* An effect by itself. Control flow has none but those of what is inside. */
static bool is_root(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (GLOW_HAS(d, TERMINATOR))
    return n->block->owner != GLOW_BLOCK_REGION;
  if (n->op == GLOW_OP_CALL)
    return glow_call_has_effects(n);
  return GLOW_HAS(d, WRITES) || (GLOW_HAS(d, CONTROL) && !d->nregions);
}

static bool mark_root(GlowNode *n, void *arg) {
  if (is_root(n))
    need_node(arg, n);
  return true;
}

static void propagate(Dce *d) {
  while (d->work.count) {
    GlowNode *n = d->work.data[--d->work.count];
    for (uint32_t i = 0; i < n->noperands; ++i)
      need_value(d, n->operands[i].value);
    need_value(d, n->pred.value);
    for (uint32_t i = 0; i < n->nregions; ++i)
      if (n->regions[i] && glow_block_terminator(n->regions[i]))
        need_node(d, glow_block_terminator(n->regions[i]));
    if (n->block->owner == GLOW_BLOCK_REGION)
      need_node(d, n->block->of.node);
  }
}

/* Removes from the end, so that uses go before definitions. */
static void sweep(Dce *d, GlowBlock *b) {
  for (GlowNode *n = b->last, *prev; n; n = prev) {
    prev = n->prev;
    if (glow_map_get(d->needed, n)) {
      for (uint32_t i = 0; i < n->nregions; ++i)
        if (n->regions[i] && !n->regions[i]->scalar)
          sweep(d, n->regions[i]);
      continue;
    }
    glow_pass_changed(d->run, n, "deleted %s", glow_node_desc(n)->node);
    glow_node_remove(n);
  }
}

/* ---- Results of regions ---------------------------------------------------------------------- */

/* Ends a region with fewer values: those of its terminator where keep[first + i], and all before
 * `first`. */
static void shrink_yield(GlowPassRun *run, GlowBlock *region, uint32_t first, const bool *keep) {
  GlowNode *end = glow_block_terminator(region);
  GlowValue **kept = GLOW_NEW_ARRAY(run->arena, GlowValue *, end->noperands);
  uint32_t count = 0;
  for (uint32_t i = 0; i < end->noperands; ++i)
    if (i < first || keep[i - first])
      kept[count++] = end->operands[i].value;
  GlowLoc src = end->src;
  glow_node_remove(end);
  glow_build_terminator(region, GLOW_OP_YIELD, kept, count)->src = src;
}

/* Rebuilds a node with regions without the results that keep[] leaves out. The first `first`
 * values that its regions yield are no results (a Loop's condition). */
static bool drop_results(GlowPassRun *run, GlowNode *n, const bool *keep, uint32_t first) {
  uint32_t kept = 0;
  GlowValue **ins = GLOW_NEW_ARRAY(run->arena, GlowValue *, n->noperands);
  const GlowType **types = GLOW_NEW_ARRAY(run->arena, const GlowType *, n->nresults);
  GlowBlock **regions = GLOW_NEW_ARRAY(run->arena, GlowBlock *, n->nregions);
  GlowStr *names = GLOW_NEW_ARRAY(run->arena, GlowStr, n->nresults);
  for (uint32_t i = 0; i < n->noperands; ++i)
    ins[i] = n->operands[i].value;
  for (uint32_t i = 0; i < n->nresults; ++i)
    if (keep[i])
      types[kept++] = n->results[i].type;
  for (uint32_t i = 0; i < n->nregions; ++i) {
    regions[i] = n->regions[i];
    n->regions[i] = NULL;
    shrink_yield(run, regions[i], first, keep);
  }
  GlowBuilder b = glow_builder_before(n);
  GlowNodeSpec spec = {.op = n->op,
                       .ins = ins,
                       .nins = n->noperands,
                       .members = n->members,
                       .regions = regions,
                       .nregions = n->nregions,
                       .nresults = kept,
                       .types = types,
                       .names = names,
                       .discard_unnamed = true};
  GlowNode *fresh = glow_node_create(&b, &spec);
  if (!fresh)
    return false;
  for (uint32_t i = 0, k = 0; i < n->nresults; ++i) {
    if (!keep[i])
      continue;
    GlowValue *old = &n->results[i], *value = &fresh->results[k++];
    GlowStr name = old->name;
    glow_value_replace_uses(old, value);
    if (name) {
      glow_value_set_name(old, NULL);
      glow_value_set_name(value, name);
    }
  }
  glow_pass_changed(run, fresh, "dropped %u results of %s", n->nresults - kept,
                    glow_node_desc(n)->node);
  glow_node_remove(n);
  return true;
}

/* An If may lose any result that is unused, a Loop those that it stacks. A node that is left
 * without results is dead as a whole, which the sweep finds. */
static bool drop_unused_results(GlowPassRun *run, GlowNode *n) {
  bool loop = n->op == GLOW_OP_LOOP;
  if ((n->op != GLOW_OP_IF && !loop) || n->pred.value)
    return true;
  uint32_t carried = loop && n->noperands > 2 ? n->noperands - 2 : 0, unused = 0;
  bool *keep = GLOW_NEW_ARRAY(run->arena, bool, n->nresults);
  for (uint32_t i = 0; i < n->nresults; ++i) {
    keep[i] = i < carried || n->results[i].uses;
    unused += !keep[i];
  }
  if (unused == 0 || unused == n->nresults)
    return true;
  return drop_results(run, n, keep, loop ? 1 : 0);
}

static bool drop_in_block(GlowPassRun *run, GlowBlock *b) {
  for (GlowNode *n = b->first, *next; n; n = next) {
    next = n->next;
    for (uint32_t i = 0; i < n->nregions; ++i)
      if (n->regions[i] && !n->regions[i]->scalar && !drop_in_block(run, n->regions[i]))
        return false;
    if (!drop_unused_results(run, n))
      return false;
  }
  return true;
}

/* ---- Functions and storage ------------------------------------------------------------------- */

typedef struct Reached {
  GlowArena *arena;
  GlowMap *functions;
  GLOW_VEC(GlowFunction *) work;
} Reached;

static void reach(Reached *r, GlowFunction *f) {
  if (!f || glow_map_get(r->functions, f))
    return;
  glow_map_set(r->functions, f, f);
  glow_vec_push(r->arena, &r->work, f);
}

static bool reach_callee(GlowNode *n, void *arg) {
  if (n->op == GLOW_OP_CALL)
    reach(arg,
          glow_module_function(n->block->module, ((const GlowCallMembers *)n->members)->callee));
  return true;
}

/* -dce='entry=main': functions that main does not call are deleted, but not those that a gradient
 * is declared of. */
static bool sweep_functions(GlowPassRun *run, const char *entry) {
  Reached r = {.arena = run->arena, .functions = glow_map_create(run->arena)};
  GlowFunction *main_function = glow_module_entry(run->module, entry);
  if (!main_function)
    return false;
  reach(&r, main_function);
  for (GlowFunction *f = run->module->first_function; f; f = f->next)
    if (f->kind == GLOW_GRADIENT)
      reach(&r, glow_module_function(run->module, f->primal));
  while (r.work.count)
    glow_block_walk(r.work.data[--r.work.count]->body, reach_callee, &r);
  for (GlowFunction *f = run->module->first_function, *next; f; f = next) {
    next = f->next;
    if (f->kind == GLOW_GRADIENT || glow_map_get(r.functions, f))
      continue;
    glow_pass_changed(run, NULL, "deleted @%s", f->name);
    while (f->body->last)
      glow_node_remove(f->body->last);
    glow_function_remove(f);
  }
  return true;
}

/* From the end, since an eval initializer uses what stands before it. */
static void sweep_storage(GlowPassRun *run) {
  for (GlowStorage *s = run->module->last_storage, *prev; s; s = prev) {
    prev = s->prev;
    if (s->cls == GLOW_PLACEHOLDER || s->value.uses ||
        glow_gradient_names(run->module, s->value.name))
      continue;
    glow_pass_changed(run, NULL, "deleted @%s", s->value.name);
    glow_storage_remove(s);
  }
}

bool glow_pass_dce(GlowPassRun *run) {
  const char *entry = glow_pass_option(run, "entry");
  if (entry && !sweep_functions(run, entry))
    return false;
  for (GlowFunction *f = run->module->first_function; f; f = f->next) {
    if (f->kind != GLOW_FUNC)
      continue;
    uint64_t before;
    do {
      before = run->changes;
      Dce d = {.run = run, .needed = glow_map_create(run->arena)};
      glow_block_walk(f->body, mark_root, &d);
      propagate(&d);
      sweep(&d, f->body);
      if (!drop_in_block(run, f->body))
        return false;
    } while (run->changes != before);
  }
  sweep_storage(run);
  return true;
}
