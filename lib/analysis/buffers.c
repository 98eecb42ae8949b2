/* Buffers of programs; see buffers.h. */
#include "analysis/buffers.h"

GlowValue *glow_buffer_base(GlowValue *v) {
  for (GlowNode *n; (n = glow_value_def(v, GLOW_OP_TENSORVIEW));)
    v = glow_node_in(n, 0);
  return v;
}

GlowValue *glow_buffer_dense_base(GlowValue *v) {
  for (GlowNode *n; (n = glow_value_def(v, GLOW_OP_TENSORVIEW));) {
    const GlowTensorviewMembers *m = n->members;
    GlowValue *base = glow_node_in(n, 0);
    if (m->offset.size || m->strides.count ||
        glow_type_elements(base->type) != glow_type_elements(v->type))
      break;
    v = base;
  }
  return v;
}

int64_t glow_buffer_bytes(const GlowType *t) {
  int64_t bytes = glow_type_bytes(t);
  if (bytes < 0 || glow_type_is_static(t))
    return bytes;
  return ((bytes + 7) & ~INT64_C(7)) + 8 * (int64_t)t->rank;
}

bool glow_buffer_is_plain_alloc(const GlowValue *v) {
  return glow_value_def(v, GLOW_OP_ALLOC) != NULL;
}

GlowNode *glow_buffer_dealloc(const GlowValue *alloc) {
  for (const GlowUse *u = alloc->uses; u; u = u->next)
    if (u->user->op == GLOW_OP_DEALLOC)
      return u->user;
  return NULL;
}

GlowBufferUses glow_buffer_uses(GlowValue *alloc) {
  GlowBufferUses found = {0};
  for (GlowUse *u = alloc->uses; u; u = u->next) {
    GlowNode *n = u->user;
    if (n->op == GLOW_OP_DEALLOC)
      continue;
    bool simple = glow_node_is_instr(n) && n->op != GLOW_OP_TENSORVIEW && u != &n->pred;
    if (simple && u->qual == GLOW_QUAL_OUT && !found.writer)
      found.writer = u;
    else if (simple && u->qual == GLOW_QUAL_IN && !found.reader)
      found.reader = u;
    else {
      found.others = true;
      break;
    }
  }
  return found;
}
