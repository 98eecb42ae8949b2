/* Aggressive dead code elimination: deletes whatever no effect needs.
 *
 * Needed from the start are nodes that write or stop the program, and what functions return.
 * Whatever a needed node reads is needed, too. An If, Loop or Scan is taken slot by slot: a value
 * that a region yields is needed only if the node's result for it is, or, for a carried value, the
 * parameter. So a value that a loop carries for itself alone is deleted, with its parameter, its
 * initial value and its result.
 *
 * Constants and variables without uses are deleted, too, and with `unread` also variables that are
 * saved and never read. Placeholders stay, because they are the interface. Functions stay, because
 * any may be the entry, unless entry=NAME, which may be repeated, says which ones are. */
#include "pass/pass.h"
#include "transforms/transforms.h"

typedef struct Dce {
  GlowPassRun *run;
  GlowMap *needed; /* nodes and values */
  GLOW_VEC(GlowNode *) work;
  GLOW_VEC(const GlowValue *) values;
} Dce;

/* ---- Slots of regions ------------------------------------------------------------------------ */

/* One value that goes through a Loop, Scan or If: the numbers of the node's operand, of the
 * region's parameter, of the yielded value and of the node's result; -1 if there is no such
 * part. */
typedef struct Slot {
  int64_t operand, param, yield, result;
} Slot;

static bool has_slots(const GlowNode *n) {
  return (n->op == GLOW_OP_IF || n->op == GLOW_OP_LOOP || n->op == GLOW_OP_SCAN) &&
         !glow_node_is_instr(n);
}

/* How many values a node carries from one iteration to the next. */
static uint32_t carried_count(const GlowNode *n) {
  if (n->op == GLOW_OP_LOOP)
    return n->regions[0]->nparams - 2;
  return n->op == GLOW_OP_SCAN ? n->noperands - ((const GlowScanMembers *)n->members)->num_scan : 0;
}

/* The slot of result i; slots of carried values come first. */
static Slot slot_of(const GlowNode *n, uint32_t i) {
  bool carried = i < carried_count(n);
  Slot s = {.operand = -1, .param = -1, .yield = i, .result = i};
  if (n->op == GLOW_OP_LOOP) {
    s.yield = i + 1;
    s.operand = s.param = carried ? (int64_t)i + 2 : -1;
  } else if (n->op == GLOW_OP_SCAN && carried) {
    s.operand = s.param = i;
  }
  return s;
}

static bool is_slot_operand(const GlowNode *n, uint32_t operand) {
  uint32_t first = n->op == GLOW_OP_LOOP ? 2 : 0;
  return n->op != GLOW_OP_IF && operand >= first && operand < first + carried_count(n);
}

/* ---- What is needed -------------------------------------------------------------------------- */

static void need_node(Dce *d, GlowNode *n) {
  if (glow_map_get(d->needed, n))
    return;
  glow_map_set(d->needed, n, n);
  glow_vec_push(d->run->arena, &d->work, n);
}

static void need_value(Dce *d, GlowValue *v) {
  if (!v || v->kind == GLOW_VALUE_STORAGE || glow_map_get(d->needed, v))
    return;
  glow_map_set(d->needed, v, v);
  glow_vec_push(d->run->arena, &d->values, v);
}

static void need_yield(Dce *d, const GlowNode *n, int64_t i) {
  for (uint32_t r = 0; r < n->nregions; r++)
    need_value(d, glow_block_terminator(n->regions[r])->operands[i].value);
}

static void need_slot(Dce *d, const GlowNode *n, Slot s) {
  if (s.operand >= 0)
    need_value(d, glow_node_in(n, (uint32_t)s.operand));
  need_yield(d, n, s.yield);
}

static void expand_value(Dce *d, const GlowValue *v) {
  GlowNode *n = NULL;
  if (v->kind == GLOW_VALUE_RESULT)
    n = v->def.node;
  else if (v->def.block->owner == GLOW_BLOCK_REGION)
    n = v->def.block->of.node;
  if (!n)
    return;
  need_node(d, n);
  if (!has_slots(n))
    return;
  if (v->kind == GLOW_VALUE_RESULT)
    need_slot(d, n, slot_of(n, v->index));
  else if (is_slot_operand(n, v->index))
    need_slot(d, n, slot_of(n, v->index - (n->op == GLOW_OP_LOOP ? 2 : 0)));
}

/* Whether n is needed for its own effect. An If or Loop is not; nodes inside of it may be. */
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

static void expand_node(Dce *d, GlowNode *n) {
  bool slots = has_slots(n), yield = n->op == GLOW_OP_YIELD && has_slots(n->block->of.node);
  for (uint32_t i = 0; !yield && i < n->noperands; i++)
    if (!slots || !is_slot_operand(n, i))
      need_value(d, n->operands[i].value);
  need_value(d, n->pred.value);
  for (uint32_t i = 0; i < n->nregions; i++)
    if (n->regions[i] && glow_block_terminator(n->regions[i]))
      need_node(d, glow_block_terminator(n->regions[i]));
  if (n->op == GLOW_OP_LOOP)
    need_yield(d, n, 0);
  if (n->block->owner == GLOW_BLOCK_REGION)
    need_node(d, n->block->of.node);
}

static void propagate(Dce *d) {
  while (d->work.count || d->values.count) {
    if (d->values.count)
      expand_value(d, d->values.data[--d->values.count]);
    else
      expand_node(d, d->work.data[--d->work.count]);
  }
}

/* ---- Sweeping -------------------------------------------------------------------------------- */

static bool slot_is_needed(const Dce *d, const GlowNode *n, const Slot *s) {
  return glow_map_get(d->needed, &n->results[s->result]) ||
         (s->param >= 0 && glow_map_get(d->needed, n->regions[0]->params[s->param]));
}

/* Takes their values out of slots that are not needed; drop_slots removes these slots later. */
static void cut_slots(Dce *d, GlowNode *n) {
  for (uint32_t i = 0; i < n->nresults; i++) {
    Slot s = slot_of(n, i);
    if (slot_is_needed(d, n, &s))
      continue;
    if (s.operand >= 0)
      glow_use_set(&n->operands[s.operand], NULL);
    for (uint32_t r = 0; r < n->nregions; r++)
      glow_use_set(&glow_block_terminator(n->regions[r])->operands[s.yield], NULL);
  }
}

/* Takes the operands away from nodes that are not needed, so that these nodes can be removed in any
 * order. */
static bool cut_off(GlowNode *n, void *arg) {
  Dce *d = arg;
  if (glow_map_get(d->needed, n)) {
    if (has_slots(n))
      cut_slots(d, n);
    return true;
  }
  for (uint32_t i = 0; i < n->noperands; i++)
    glow_use_set(&n->operands[i], NULL);
  glow_use_set(&n->pred, NULL);
  return true;
}

/* Ends each region without the values of slots that are not kept, and drops their parameters. */
static void shrink_regions(Dce *d, GlowNode *n, const bool *keep) {
  uint32_t carried = carried_count(n), first = n->op == GLOW_OP_LOOP ? 1 : 0;
  for (uint32_t r = 0; r < n->nregions; r++) {
    GlowBlock *region = n->regions[r];
    GlowNode *end = glow_block_terminator(region);
    GlowValue **kept = GLOW_NEW_ARRAY(d->run->arena, GlowValue *, end->noperands);
    uint32_t count = 0;
    for (uint32_t i = 0; i < end->noperands; i++)
      if (i < first || keep[i - first])
        kept[count++] = end->operands[i].value;
    GlowLoc src = end->src;
    glow_node_remove(end);
    end = glow_build_terminator(region, GLOW_OP_YIELD, kept, count);
    end->src = src;
    glow_map_set(d->needed, end, end);
    for (uint32_t i = carried; i-- > 0;)
      if (!keep[i])
        glow_block_remove_param(region, (uint32_t)slot_of(n, i).param);
  }
}

/* The entries of one of Scan's lists, of elements of `size` bytes, for the stacked results that
 * keep[] keeps. */
static GlowArray keep_entries(GlowModule *m, GlowArray list, size_t size, const bool *keep) {
  char *data = glow_arena_alloc(m->arena, list.count * size);
  uint32_t count = 0;
  for (uint32_t i = 0; i < list.count; i++)
    if (keep[i])
      memcpy(data + count++ * size, (const char *)list.data + i * size, size);
  return (GlowArray){count, data};
}

static void keep_members(GlowNode *n, const bool *keep) {
  if (n->op != GLOW_OP_SCAN)
    return;
  GlowModule *m = n->block->module;
  GlowScanMembers *members = n->members;
  const bool *stacked = keep + carried_count(n);
  members->out_axes = keep_entries(m, members->out_axes, sizeof(int64_t), stacked);
  members->out_reverse = keep_entries(m, members->out_reverse, sizeof(bool), stacked);
}

/* Puts `fresh` in the place of n, which has more results. */
static void take_over(GlowNode *n, GlowNode *fresh, const bool *keep) {
  for (uint32_t i = 0, k = 0; i < n->nresults; i++) {
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
  glow_node_remove(n);
}

/* Rebuilds a node with regions without the slots that keep[] leaves out. */
static bool drop_slots(Dce *d, GlowNode *n, const bool *keep) {
  GlowPassRun *run = d->run;
  uint32_t kept = 0, nins = 0, first = n->op == GLOW_OP_LOOP ? 2 : 0;
  GlowValue **ins = GLOW_NEW_ARRAY(run->arena, GlowValue *, n->noperands);
  const GlowType **types = GLOW_NEW_ARRAY(run->arena, const GlowType *, n->nresults);
  GlowBlock **regions = glow_arena_copy(run->arena, n->regions, n->nregions * sizeof *n->regions);
  GlowStr *names = GLOW_NEW_ARRAY(run->arena, GlowStr, n->nresults);
  for (uint32_t i = 0; i < n->noperands; i++)
    if (!is_slot_operand(n, i) || keep[i - first])
      ins[nins++] = n->operands[i].value;
  for (uint32_t i = 0; i < n->nresults; i++)
    if (keep[i])
      types[kept++] = n->results[i].type;
  glow_pass_changed(run, n, "dropped %u results of %s", n->nresults - kept,
                    glow_node_desc(n)->node);
  shrink_regions(d, n, keep);
  keep_members(n, keep);
  uint32_t nregions = n->nregions;
  n->nregions = 0;
  GlowBuilder b = glow_builder_before(n);
  GlowNodeSpec spec = {.op = n->op,
                       .ins = ins,
                       .nins = nins,
                       .members = n->members,
                       .regions = regions,
                       .nregions = nregions,
                       .nresults = kept,
                       .types = types,
                       .names = names,
                       .discard_unnamed = true};
  GlowNode *fresh = glow_node_create(&b, &spec);
  if (!fresh)
    return false;
  glow_map_set(d->needed, fresh, fresh);
  take_over(n, fresh, keep);
  return true;
}

static bool drop_unneeded_slots(Dce *d, GlowNode *n) {
  bool *keep = GLOW_NEW_ARRAY(d->run->arena, bool, n->nresults);
  uint32_t dropped = 0;
  for (uint32_t i = 0; i < n->nresults; i++) {
    Slot s = slot_of(n, i);
    keep[i] = slot_is_needed(d, n, &s);
    dropped += !keep[i];
  }
  return dropped == 0 || drop_slots(d, n, keep);
}

/* Removes from the end, so that uses go before definitions. */
static void sweep(Dce *d, GlowBlock *b) {
  for (GlowNode *n = b->last, *prev; n; n = prev) {
    prev = n->prev;
    if (!glow_map_get(d->needed, n)) {
      glow_pass_changed(d->run, n, "deleted %s", glow_node_desc(n)->node);
      glow_node_remove(n);
      continue;
    }
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar)
        sweep(d, n->regions[i]);
  }
}

static bool drop_in_block(Dce *d, GlowBlock *b) {
  for (GlowNode *n = b->first, *next; n; n = next) {
    next = n->next;
    if (!glow_map_get(d->needed, n))
      continue;
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar && !drop_in_block(d, n->regions[i]))
        return false;
    if (has_slots(n) && !drop_unneeded_slots(d, n))
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

/* -dce='entry=main': deletes functions that no such entry calls, but keeps functions of which a
 * gradient is declared. */
static bool sweep_functions(GlowPassRun *run) {
  Reached r = {.arena = run->arena, .functions = glow_map_create(run->arena)};
  for (uint32_t i = 0; i < run->noptions; i++) {
    if (strcmp(run->option_names[i], "entry") != 0)
      continue;
    GlowFunction *entry = glow_module_entry(run->module, run->option_values[i]);
    if (!entry)
      return false;
    reach(&r, entry);
  }
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

/* Whether all that happens to the storage is that it is saved. */
static bool is_unread(const GlowStorage *s) {
  if (s->cls != GLOW_VARIABLE || glow_gradient_names(s->module, s->value.name))
    return false;
  for (const GlowUse *u = s->value.uses; u; u = u->next)
    if (u->user->op != GLOW_OP_SAVE || u != &u->user->operands[GLOW_SAVE_IN_STORAGE])
      return false;
  return s->value.uses != NULL;
}

static void sweep_saves(GlowPassRun *run) {
  for (GlowStorage *s = run->module->first_storage; s; s = s->next) {
    bool unread = is_unread(s);
    while (unread && s->value.uses) {
      GlowNode *save = s->value.uses->user;
      glow_pass_changed(run, save, "nothing reads @%s", s->value.name);
      glow_node_remove(save);
    }
  }
}

static bool eliminate(GlowPassRun *run, GlowFunction *f) {
  Dce d = {.run = run, .needed = glow_map_create(run->arena)};
  glow_block_walk(f->body, mark_root, &d);
  propagate(&d);
  glow_pass_begin_batch(run);
  glow_block_walk(f->body, cut_off, &d);
  bool ok = drop_in_block(&d, f->body);
  if (ok)
    sweep(&d, f->body);
  glow_pass_end_batch(run);
  return ok;
}

bool glow_pass_dce(GlowPassRun *run) {
  if (glow_pass_option(run, "entry") && !sweep_functions(run))
    return false;
  if (glow_pass_option(run, "unread"))
    sweep_saves(run);
  for (GlowFunction *f = run->module->first_function; f; f = f->next)
    if (f->kind == GLOW_FUNC && !eliminate(run, f))
      return false;
  sweep_storage(run);
  return true;
}
