/* Lifetimes: a dealloc for each alloc, in the alloc's block, right after the last instruction that
 * touches the buffer or a view of it. An instruction inside a region counts as the instruction of
 * the alloc's block that has the region. */
#include "analysis/buffers.h"
#include "analysis/spans.h"
#include "irgen/irgen_internal.h"

/* Remembers in `last` (allocs to nodes) that `use` touches an alloc; a later call overwrites. */
static void touch(GlowMap *last, const GlowUse *use) {
  if (!use->value)
    return;
  GlowNode *alloc = glow_value_def(glow_buffer_base(use->value), GLOW_OP_ALLOC);
  if (alloc)
    glow_map_set(last, alloc, glow_node_in_block(use->user, alloc->block));
}

static bool find_last(GlowNode *n, void *last) {
  for (uint32_t i = 0; i < n->noperands; i++)
    touch(last, &n->operands[i]);
  touch(last, &n->pred);
  return true;
}

static void end_block(GlowMap *last, GlowBlock *b) {
  for (GlowNode *n = b->first, *next; n; n = next) {
    next = n->next;
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar)
        end_block(last, n->regions[i]);
    if (n->op != GLOW_OP_ALLOC)
      continue;
    GlowNode *end = glow_map_get(last, n);
    if (!end) {
      glow_node_remove(n);
      continue;
    }
    GlowBuilder at = {.module = b->module, .block = b, .before = end->next};
    at.src = end->src;
    GlowValue *buffer = &n->results[0];
    glow_build(&at, GLOW_OP_DEALLOC, &buffer, 1, NULL, NULL);
  }
}

void glow_irgen_deallocs(GlowIrgen *g) {
  GlowMap *last = glow_map_create(g->arena);
  glow_block_walk(g->program->body, find_last, last);
  end_block(last, g->program->body);
}
