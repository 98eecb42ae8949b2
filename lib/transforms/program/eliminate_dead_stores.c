/* Dead stores: deletes instructions without other effects if each of their outputs is overwritten
 * in full, or deallocated, before anything reads it.
 *
 *   splat @out %a {value = 3};  splat @out %a {value = 4}   ->   splat @out %a {value = 4}
 *   max_pool @out %y, @out %argmax, ..;  dealloc %argmax    ->   max_pool @out %y, @out none, ..
 *
 * The second example: the instruction can do without this output, but its other outputs are needed.
 *
 * The caller reads what is in storage when the program ends. A region that may run again reads what
 * its last run wrote. A store that is overwritten only in part stays. */
#include "transforms/programs.h"

/* Whether anything may read v as n leaves it. A read of another part of the buffer counts, too: n
 * may be the first instruction that writes the buffer. */
static bool is_seen(const GlowNode *n, const GlowValue *v) {
  GlowSpan s = {.root = glow_value_span(v).root, .high = INT64_MAX};
  uint32_t distance = 0;
  for (;; n = n->block->of.node) {
    for (const GlowNode *at = n->next; at; at = at->next) {
      if (++distance > GLOW_MAX_DISTANCE || (glow_instr_access(at, s) & GLOW_READS))
        return true;
      if (glow_instr_covers(at, v) ||
          (at->op == GLOW_OP_DEALLOC && at->operands[0].value == s.root))
        return false;
    }
    /* The end of a block without a dealloc: of a program, or of a region that may run again. */
    if (n->block->owner != GLOW_BLOCK_REGION || n->block->of.node->op != GLOW_OP_IF)
      return true;
  }
}

static bool is_dead(const GlowNode *n) {
  if (!GLOW_HAS(glow_node_desc(n), PURE) || !n->nouts)
    return false;
  for (uint32_t i = 0; i < n->nouts; i++)
    if (n->operands[i].value &&
        (n->operands[i].qual != GLOW_QUAL_OUT || is_seen(n, n->operands[i].value)))
      return false;
  return true;
}

/* Drops outputs of n that nothing reads and n can do without. */
static void drop_outputs(GlowPassRun *run, GlowNode *n, int64_t *bytes) {
  for (uint32_t i = 0; i < n->nouts; i++)
    if (glow_instr_can_drop(n, i) && !is_seen(n, n->operands[i].value)) {
      *bytes += glow_type_bytes(n->operands[i].value->type);
      glow_instr_drop(run, n, i);
    }
}

/* Backwards, so that a store that only dead stores read is found in the same walk. */
static void eliminate_in_block(GlowPassRun *run, GlowBlock *b, int64_t *bytes) {
  for (GlowNode *n = b->last, *prev; n; n = prev) {
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar)
        eliminate_in_block(run, n->regions[i], bytes);
    prev = n->prev;
    if (!is_dead(n)) {
      drop_outputs(run, n, bytes);
      continue;
    }
    for (uint32_t i = 0; i < n->nouts; i++)
      if (n->operands[i].value)
        *bytes += glow_type_bytes(n->operands[i].value->type);
    glow_pass_changed(run, n, "nothing reads what %s stores", glow_node_desc(n)->instr);
    glow_node_remove(n);
  }
}

bool glow_pass_eliminate_dead_stores(GlowPassRun *run) {
  int64_t bytes = 0;
  uint64_t before = run->changes;
  eliminate_in_block(run, run->function->body, &bytes);
  glow_program_saved(run, run->changes - before, "stores", bytes);
  return true;
}
