/* Bypasses nodes. The first operand that is no constant takes the place of the result, whatever its
 * type; the values that a Loop starts with take the place of its results. An instruction's buffer
 * is replaced by the one that it reads. */
#include "reduce/delta.h"
#include "transforms/programs.h"

static bool is_loop(const GlowNode *n) {
  return n->op == GLOW_OP_LOOP && n->nresults + 2 == glow_node_nins(n);
}

/* The buffer that only n writes, if n writes nothing else. */
static GlowValue *own_buffer(const GlowNode *n) {
  GlowValue *v = n->nouts == 1 ? n->operands[0].value : NULL;
  if (!v || !glow_buffer_is_plain_alloc(v))
    return NULL;
  for (const GlowUse *u = v->uses; u; u = u->next)
    if (u->user != n && u->qual != GLOW_QUAL_IN && u->user->op != GLOW_OP_DEALLOC)
      return NULL;
  return v;
}

static bool fits(const GlowNode *n) {
  const GlowValue *from = glow_delta_main_operand(n);
  if (is_loop(n) || !from)
    return is_loop(n);
  if (glow_node_is_instr(n)) {
    const GlowValue *to = own_buffer(n);
    return to && to != from && to->type == from->type;
  }
  if (!n->nresults || !n->results[0].uses || n->nregions || n->op == GLOW_OP_CALL)
    return false;
  for (uint32_t i = 1; i < n->nresults; i++)
    if (n->results[i].uses)
      return false;
  return true;
}

static void bypass_instr(GlowDelta *d, GlowNode *n) {
  GlowValue *from = glow_delta_main_operand(n), *to = own_buffer(n);
  if (!from || !to || from == to)
    return; /* an earlier change left nothing to do */
  GlowNode *end = glow_buffer_dealloc(to);
  GlowFunction *f = glow_block_function(n->block);
  GlowNode *alloc = to->def.node;
  if (end && f) {
    glow_function_number(f);
    glow_buffer_keep_until(glow_buffer_base(from), end);
    glow_node_remove(end);
  }
  glow_node_remove(n);
  glow_value_replace_uses(to, from);
  glow_node_remove(alloc);
  d->retype = true;
}

static void bypass(GlowDelta *d, GlowNode *n) {
  if (glow_node_is_instr(n)) {
    bypass_instr(d, n);
    return;
  }
  if (is_loop(n)) {
    for (uint32_t i = 0; i < n->nresults; i++)
      if (glow_node_in(n, i + 2))
        glow_value_replace_uses(&n->results[i], glow_node_in(n, i + 2));
  } else if (glow_delta_main_operand(n)) {
    glow_value_replace_uses(&n->results[0], glow_delta_main_operand(n));
  }
  d->retype = true;
  for (uint32_t i = 0; i < n->nresults; i++)
    if (n->results[i].uses)
      return;
  glow_node_remove(n);
}

void glow_delta_bypass(GlowDelta *d) { glow_delta_each_node(d, fits, bypass); }
