/* Operands that may be absent, and repeated ones of which there may be fewer. */
#include "reduce/delta.h"

typedef struct Operand {
  GlowNode *node;
  uint32_t index; /* among the inputs */
} Operand;

static bool may_go(const GlowNode *n, uint32_t i) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (GLOW_HAS(d, SYNTAX) || n->nregions || n->nextra || n->op == GLOW_OP_CALL)
    return false;
  uint8_t flags = d->in[i < d->nin ? i : d->nin - 1u].flags;
  return glow_node_in(n, i) && (flags & (GLOW_PORT_OPTIONAL | GLOW_PORT_VARIADIC));
}

static void drop_last(GlowNode *n) {
  glow_use_set(&n->operands[n->noperands - 1], NULL);
  n->noperands--;
}

static void drop(GlowDelta *d, Operand o) {
  GlowNode *n = o.node;
  const GlowOpDesc *desc = glow_node_desc(n);
  if (desc->in[o.index < desc->nin ? o.index : desc->nin - 1u].flags & GLOW_PORT_VARIADIC) {
    for (uint32_t i = n->nouts + o.index; i + 1 < n->noperands; i++)
      glow_use_set(&n->operands[i], n->operands[i + 1].value);
    drop_last(n);
  } else {
    glow_use_set(&n->operands[n->nouts + o.index], NULL);
    while (glow_node_nins(n) && !n->operands[n->noperands - 1].value)
      drop_last(n);
  }
  d->retype = true;
}

void glow_delta_operands(GlowDelta *d) {
  GLOW_VEC(Operand) taken = {0};
  for (GlowFunction *f = d->module->first_function; f; f = f->next)
    for (GlowNode *n = f->body->first; n; n = glow_next_in_walk(n))
      for (uint32_t i = glow_node_nins(n); i-- > 0;)
        if (may_go(n, i) && glow_delta_offer(d))
          glow_vec_push(d->arena, &taken, ((Operand){n, i}));
  for (uint32_t i = 0; i < taken.count; i++)
    drop(d, taken.data[i]);
}
