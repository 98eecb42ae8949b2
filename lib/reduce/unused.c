/* Unused nodes: those whose results are not in use (Saves and instructions have none), and those
 * that only computed for such nodes. A buffer goes with its dealloc. */
#include "reduce/delta.h"

/* Whether a use does not keep its value alive: a dealloc, or a node that is offered itself. */
static bool is_light(const GlowUse *u, const GlowMap *dead) {
  return glow_map_get(dead, u->user) ||
         (u->user->op == GLOW_OP_DEALLOC && u->user->block->level == GLOW_LEVEL_PROGRAM);
}

static bool is_unused(const GlowNode *n, const GlowMap *dead) {
  if (GLOW_HAS(glow_node_desc(n), TERMINATOR) || n->op == GLOW_OP_DEALLOC)
    return false;
  for (uint32_t i = 0; i < n->nresults; i++)
    for (const GlowUse *u = n->results[i].uses; u; u = u->next)
      if (!is_light(u, dead))
        return false;
  return true;
}

typedef GLOW_VEC(GlowNode *) NodeVec;

/* Goes from the end, so that users come before what they use. A node that writes is offered, but
 * the nodes that it alone uses are not: they are offered the next time, once it is gone. */
static void collect(GlowDelta *d, GlowBlock *b, GlowMap *dead, NodeVec *found) {
  for (GlowNode *n = b->last; n; n = n->prev) {
    if (is_unused(n, dead)) {
      if (GLOW_HAS(glow_node_desc(n), PURE) && !glow_node_is_instr(n))
        glow_map_set(dead, n, n);
      if (glow_delta_offer(d))
        glow_vec_push(d->arena, found, n);
    }
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar)
        collect(d, n->regions[i], dead, found);
  }
}

static void delete_node(GlowNode *n) {
  for (uint32_t i = 0; i < n->nresults; i++) {
    for (GlowUse *u = n->results[i].uses, *next; u; u = next) {
      next = u->next;
      if (u->user->op == GLOW_OP_DEALLOC)
        glow_node_remove(u->user);
    }
    if (n->results[i].uses)
      return; /* by a node that was not taken */
  }
  glow_node_remove(n);
}

void glow_delta_unused(GlowDelta *d) {
  NodeVec taken = {0};
  GlowMap *dead = glow_map_create(d->arena);
  for (GlowFunction *f = d->module->first_function; f; f = f->next)
    collect(d, f->body, dead, &taken);
  for (uint32_t i = 0; i < taken.count; i++)
    if (taken.data[i]->block)
      delete_node(taken.data[i]);
}
