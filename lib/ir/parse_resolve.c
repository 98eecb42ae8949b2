/* The second walk of the parser: result types. Every signature is known by now, so a Call may refer
 * to a function that comes later. Inner regions come first, since results follow from what they
 * yield. */
#include "ir/parse_internal.h"

static void resolve_block(GlowParser *p, GlowBlock *b);

/* Whether n lacks a region or the end of one, so that nothing can be inferred for n. */
static bool lost_yield(const GlowNode *n) {
  for (uint32_t i = 0; i < n->nregions; i++)
    if (!n->regions[i] || !glow_block_terminator(n->regions[i]))
      return true;
  return false;
}

static void resolve_node(GlowParser *p, GlowNode *n) {
  for (uint32_t i = 0; i < n->nregions; i++)
    if (n->regions[i])
      resolve_block(p, n->regions[i]);
  if (glow_parse_is_literal(n))
    return; /* resolved with the node that uses it */
  glow_parse_resolve_literals(p, n);
  if (GLOW_HAS(glow_node_desc(n), TERMINATOR) || p->fatal || (p->recovered && lost_yield(n)))
    return;
  if (n->nresults == 0 && glow_node_is_instr(n))
    return; /* nothing to infer; the verifier checks it */
  bool small[16], *claimed = small;
  if (n->nresults > 16)
    claimed = glow_arena_alloc(p->arena, n->nresults);
  for (uint32_t i = 0; i < n->nresults; i++)
    claimed[i] = !glow_type_is_error(n->results[i].type);
  glow_node_resolve(n, claimed);
  p->fatal |= p->ctx->too_many_errors;
}

static void resolve_block(GlowParser *p, GlowBlock *b) {
  for (GlowNode *n = b->first; n && !p->fatal; n = n->next)
    resolve_node(p, n);
}

void glow_parse_resolve(GlowParser *p) {
  GlowModule *m = p->module;
  for (GlowFunction *f = m->first_function; f && !p->fatal; f = f->next)
    if (f->kind == GLOW_GRADIENT && f->primal)
      glow_gradient_signature(f);
  for (GlowStorage *s = m->first_storage; s && !p->fatal; s = s->next)
    if (s->init.eval)
      resolve_block(p, s->init.eval);
  for (GlowFunction *f = m->first_function; f && !p->fatal; f = f->next)
    resolve_block(p, f->body);
}
