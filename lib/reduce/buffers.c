/* Buffers of programs: readers of a buffer read a constant instead, and its writers are deleted. */
#include "reduce/delta.h"

static bool is_buffer(const GlowNode *n) {
  return n->op == GLOW_OP_ALLOC && glow_stand_in_fits(n->results[0].type, GLOW_STAND_IN_ONE);
}

/* Deletes the instructions that write v or a view of it, and its dealloc. */
static void delete_writers(GlowValue *v) {
  for (GlowUse *u = v->uses, *next; u; u = next) {
    next = u->next;
    GlowNode *n = u->user;
    if (n->op == GLOW_OP_TENSORVIEW)
      delete_writers(&n->results[0]);
    else if (n->op == GLOW_OP_DEALLOC || u->qual == GLOW_QUAL_OUT || u->qual == GLOW_QUAL_INOUT) {
      glow_node_remove(n);
      next = v->uses; /* n may have used v twice: start again, behind the readers */
      while (next && next->qual == GLOW_QUAL_IN)
        next = next->next;
    }
  }
}

static void replace(GlowDelta *d, GlowNode *n) {
  GlowValue *v = &n->results[0];
  delete_writers(v);
  if (v->uses)
    glow_value_replace_uses(v, glow_stand_in(d, n->block, v->type, GLOW_STAND_IN_ONE, v->name));
  glow_node_remove(n);
}

void glow_delta_buffers_to_one(GlowDelta *d) { glow_delta_each_node(d, is_buffer, replace); }
