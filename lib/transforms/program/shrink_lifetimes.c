/* Buffers live from the first instruction that touches them to the last: allocs and views sink,
 * deallocs rise, and so do copies of buffers into storage, such as weights that a training step
 * updates, which wait for the last instruction that reads the old value. Programs of irgen are made
 * that way; passes that move and delete instructions leave lifetimes that are too long. An alloc
 * stays in its block: in the body of a loop it would be a new buffer in each iteration. */
#include "transforms/programs.h"

/* The first node of n's block that uses the result of n. */
static GlowNode *first_user(const GlowNode *n) {
  GlowNode *first = NULL;
  for (const GlowUse *u = n->results[0].uses; u; u = u->next) {
    GlowNode *at = glow_node_in_block(u->user, n->block);
    if (at && (!first || at->order < first->order))
      first = at;
  }
  return first;
}

static bool is_definition(const GlowNode *n) {
  return n->op == GLOW_OP_ALLOC || n->op == GLOW_OP_TENSORVIEW;
}

/* Moves n down to its first user, unless only definitions stand between them. Definitions that were
 * moved to the same user have its number; n goes before these, since some may be views of n. */
static void sink(GlowPassRun *run, GlowNode *n) {
  GlowNode *to = first_user(n);
  if (!to)
    return;
  while (to->prev != n && to->prev->order == to->order)
    to = to->prev;
  const GlowNode *between = n->next;
  while (between != to && is_definition(between))
    between = between->next;
  if (between == to)
    return;
  glow_program_begin_change(run);
  glow_pass_changed(run, NULL, NULL);
  glow_node_move_before(n, to);
  n->order = to->order;
}

/* Moves the end of an alloc up to its last user. */
static void hoist_end(GlowPassRun *run, GlowNode *alloc) {
  GlowNode *end = glow_buffer_dealloc(&alloc->results[0]), *last = alloc;
  GlowUseVec uses = glow_buffer_all_uses(run->arena, &alloc->results[0]);
  for (uint32_t i = 0; i < uses.count; i++) {
    GlowNode *at = glow_node_in_block(uses.data[i]->user, alloc->block);
    if (at && at->order > last->order)
      last = at;
  }
  const GlowNode *between = end->prev;
  while (between != last && between->op == GLOW_OP_DEALLOC)
    between = between->prev;
  if (between == last)
    return;
  glow_program_begin_change(run);
  glow_pass_changed(run, NULL, NULL);
  glow_node_move_before(end, last->next);
}

/* The last node of a block before n that touches a buffer or a view of it; `last` if none does. */
static GlowNode *last_toucher(GlowPassRun *run, const GlowNode *n, const GlowValue *buffer,
                              GlowNode *last) {
  GlowUseVec uses = glow_buffer_all_uses(run->arena, buffer);
  for (uint32_t i = 0; i < uses.count; i++) {
    GlowNode *at = glow_node_in_block(uses.data[i]->user, n->block);
    if (at && at->order < n->order && at->order > last->order)
      last = at;
  }
  return last;
}

/* Moves a copy of an alloc into storage up to what touches either last. */
static void hoist_copy(GlowPassRun *run, GlowNode *n) {
  const GlowValue *to = glow_buffer_base(glow_node_out(n, 0));
  GlowValue *from = glow_buffer_base(glow_node_in(n, 0));
  if (to->kind != GLOW_VALUE_STORAGE || !glow_buffer_is_plain_alloc(from) ||
      from->def.node->block != n->block)
    return;
  GlowNode *last = last_toucher(run, n, from, from->def.node);
  last = last_toucher(run, n, to, last);
  const GlowNode *between = n->prev;
  while (between != last && (between->op == GLOW_OP_DEALLOC || between->op == GLOW_OP_COPY))
    between = between->prev;
  if (between == last)
    return;
  glow_program_begin_change(run);
  glow_pass_changed(run, NULL, NULL);
  glow_node_move_before(n, last->next);
  glow_function_number(run->function);
}

typedef enum Step { SINK_VIEWS, SINK_ALLOCS, HOIST_DEALLOCS } Step;

/* Backwards, so that what uses a definition has moved before. */
static void shrink_block(GlowPassRun *run, GlowBlock *b, Step step) {
  for (GlowNode *n = b->last, *prev; n; n = prev) {
    prev = n->prev;
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar)
        shrink_block(run, n->regions[i], step);
    if (n->op == GLOW_OP_ALLOC && step == HOIST_DEALLOCS)
      hoist_end(run, n);
    else if ((n->op == GLOW_OP_ALLOC && step == SINK_ALLOCS) ||
             (n->op == GLOW_OP_TENSORVIEW && step == SINK_VIEWS &&
              glow_type_is_known(n->results[0].type)))
      sink(run, n);
  }
}

bool glow_pass_shrink_lifetimes(GlowPassRun *run) {
  int64_t before = glow_program_live_bytes(run);
  glow_function_number(run->function);
  for (GlowNode *n = run->function->body->first, *next; n; n = next) {
    next = n->next;
    if (n->op == GLOW_OP_COPY)
      hoist_copy(run, n);
  }
  for (Step step = SINK_VIEWS; step <= HOIST_DEALLOCS; step++) {
    glow_function_number(run->function);
    shrink_block(run, run->function->body, step);
  }
  if (run->changes)
    glow_program_saved(run, run->changes, "moves", before - glow_program_live_bytes(run));
  return true;
}
