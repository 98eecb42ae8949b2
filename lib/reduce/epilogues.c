/* Epilogues of instructions: the body goes, with the operands that it alone takes. */
#include "reduce/delta.h"

static bool has_epilogue(const GlowNode *n) {
  return glow_node_is_instr(n) && glow_node_desc(n)->epilogue >= 0 && glow_node_epilogue(n);
}

static void drop(GlowDelta *d, GlowNode *n) {
  (void)d;
  GlowBlock *body = glow_node_epilogue(n);
  while (body->last)
    glow_node_remove(body->last);
  n->regions[--n->nregions] = NULL;
  for (; n->nextra; n->nextra--, n->noperands--)
    glow_use_set(&n->operands[n->noperands - 1], NULL);
}

void glow_delta_epilogues(GlowDelta *d) { glow_delta_each_node(d, has_epilogue, drop); }
