/* Who reads and writes which part of a buffer. */
#include "analysis/spans.h"

/* Buffers without elements count as if they had some: they have to be written, too. */
static bool touches(const GlowValue *v, GlowSpan s) {
  if (!v)
    return false;
  GlowSpan t = glow_value_span(v);
  return t.root == s.root && (t.low == t.high || s.low == s.high || glow_spans_overlap(t, s));
}

static unsigned use_access(const GlowUse *u, GlowSpan s) {
  if (!touches(u->value, s))
    return 0;
  return u->qual == GLOW_QUAL_OUT     ? GLOW_WRITES
         : u->qual == GLOW_QUAL_INOUT ? GLOW_READS | GLOW_WRITES
                                      : GLOW_READS;
}

unsigned glow_instr_access(const GlowNode *n, GlowSpan s) {
  unsigned access = 0;
  if (n->op == GLOW_OP_TENSORVIEW || n->op == GLOW_OP_DEALLOC)
    return 0;
  for (uint32_t i = 0; i < n->noperands; i++)
    access |= use_access(&n->operands[i], s);
  if (touches(n->pred.value, s))
    access |= GLOW_READS;
  for (uint32_t i = 0; i < n->nregions; i++) {
    const GlowBlock *b = n->regions[i];
    for (const GlowNode *inner = b && !b->scalar ? b->first : NULL; inner; inner = inner->next)
      access |= glow_instr_access(inner, s);
  }
  return access;
}

bool glow_span_accessed(const GlowNode *first, const GlowNode *last, GlowSpan s, unsigned access) {
  uint32_t distance = 0;
  for (const GlowNode *n = first;; n = n->next) {
    if (!n || ++distance > GLOW_MAX_DISTANCE || (glow_instr_access(n, s) & access))
      return true;
    if (n == last)
      return false;
  }
}

bool glow_instr_covers(const GlowNode *n, const GlowValue *v) {
  GlowSpan s = glow_value_span(v);
  if (n->pred.value || n->op == GLOW_OP_TENSORVIEW || n->op == GLOW_OP_DEALLOC)
    return false;
  for (uint32_t i = 0; i < n->nouts; i++) {
    const GlowValue *out = n->operands[i].value;
    if (!out || n->operands[i].qual != GLOW_QUAL_OUT)
      continue;
    GlowSpan o = glow_value_span(out);
    if (out == v || (o.root == s.root && !o.open && o.low <= s.low && s.high <= o.high &&
                     glow_type_is_static(out->type) && glow_type_is_static(v->type) &&
                     !glow_value_is_strided(out)))
      return true;
  }
  return false;
}

GlowNode *glow_node_in_block(GlowNode *n, const GlowBlock *b) {
  while (n && n->block != b)
    n = n->block->owner == GLOW_BLOCK_REGION ? n->block->of.node : NULL;
  return n;
}

GlowUseVec glow_buffer_all_uses(GlowArena *arena, const GlowValue *buffer) {
  GlowUseVec uses = {0};
  GLOW_VEC(const GlowValue *) work = {0};
  glow_vec_push(arena, &work, buffer);
  while (work.count)
    for (GlowUse *u = work.data[--work.count]->uses; u; u = u->next) {
      if (u->user->op == GLOW_OP_DEALLOC)
        continue;
      glow_vec_push(arena, &uses, u);
      if (u->user->op == GLOW_OP_TENSORVIEW)
        glow_vec_push(arena, &work, &u->user->results[0]);
    }
  return uses;
}
