/* Dead buffers: an alloc that is only written goes, and so do pure instructions whose outputs are
 * all dead, views without uses, and control flow that has become empty. Backwards, so that one
 * walk finds what becomes dead on the way. */
#include "transforms/programs.h"

/* Whether buffer v is read: as input, as @inout, through a view, or as a predicate. */
static bool is_read(const GlowValue *v) {
  for (const GlowUse *u = v->uses; u; u = u->next) {
    const GlowNode *n = u->user;
    if (n->op == GLOW_OP_DEALLOC)
      continue;
    if (n->op == GLOW_OP_TENSORVIEW ? is_read(&n->results[0]) : u->qual != GLOW_QUAL_OUT)
      return true;
    if (n->op != GLOW_OP_TENSORVIEW && !GLOW_HAS(glow_node_desc(n), PURE))
      return true;
  }
  return false;
}

static bool is_dead(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (n->op == GLOW_OP_TENSORVIEW)
    return !n->results[0].uses;
  if (d->nregions) {
    for (uint32_t i = 0; i < n->nregions; ++i)
      if (n->op != GLOW_OP_IF || (n->regions[i] && n->regions[i]->first))
        return false;
    return true;
  }
  if (!GLOW_HAS(d, PURE) || !n->nouts)
    return false;
  for (uint32_t i = 0; i < n->nouts; ++i) {
    GlowValue *v = n->operands[i].value;
    GlowValue *base = v ? glow_buffer_base(v) : NULL;
    if (base && (!glow_buffer_is_plain_alloc(base) || is_read(base)))
      return false;
  }
  return true;
}

/* An alloc without any use but its dealloc. */
static bool is_dead_alloc(const GlowNode *n) {
  if (n->op != GLOW_OP_ALLOC)
    return false;
  for (const GlowUse *u = n->results[0].uses; u; u = u->next)
    if (u->user->op != GLOW_OP_DEALLOC)
      return false;
  return true;
}

static void delete_in_block(GlowPassRun *run, GlowBlock *b) {
  for (GlowNode *n = b->last, *prev; n; n = prev) {
    for (uint32_t i = 0; i < n->nregions; ++i)
      if (n->regions[i] && !n->regions[i]->scalar)
        delete_in_block(run, n->regions[i]);
    prev = n->prev;
    bool dead_alloc = is_dead_alloc(n);
    if (!dead_alloc && !is_dead(n))
      continue;
    glow_pass_changed(run, n, "deleted %s", glow_node_desc(n)->instr);
    if (dead_alloc && n->results[0].uses)
      glow_node_remove(n->results[0].uses->user);
    glow_node_remove(n);
  }
}

bool glow_pass_delete_dead_allocs(GlowPassRun *run) {
  delete_in_block(run, run->function->body);
  return true;
}
