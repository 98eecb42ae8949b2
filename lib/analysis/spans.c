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

/* Elements [low[a], high[a]) of each axis. */
typedef struct Box {
  int64_t low[GLOW_MAX_RANK], high[GLOW_MAX_RANK];
} Box;

/* Whether a view of v, of which all is static, is a box of it with the same axes. */
static bool find_box(const GlowNode *view, const GlowValue *v, Box *box) {
  const GlowTensorviewMembers *m = view->members;
  const GlowType *t = view->results[0].type;
  int64_t offset = m->offset.size, stride = 1, own = 1, strides[GLOW_MAX_RANK];
  if (m->offset.extent || t->rank != v->type->rank || t->kind != v->type->kind || t->layout ||
      !glow_type_is_static(t))
    return false;
  for (uint32_t a = t->rank; a-- > 0;) {
    const GlowSize s =
        m->strides.count ? glow_array_at(m->strides, GlowSize, a) : (GlowSize){.size = own};
    if (s.extent || (t->dims[a].size > 1 && s.size != stride))
      return false;
    strides[a] = stride;
    own *= t->dims[a].size;
    stride *= v->type->dims[a].size;
  }
  for (uint32_t a = 0; a < t->rank; a++) {
    box->low[a] = offset / strides[a];
    box->high[a] = box->low[a] + t->dims[a].size;
    offset %= strides[a];
    if (box->high[a] > v->type->dims[a].size)
      return false;
  }
  return true;
}

static bool is_apart(const Box *a, const Box *b, uint32_t rank) {
  for (uint32_t i = 0; i < rank; i++)
    if (a->high[i] <= b->low[i] || b->high[i] <= a->low[i])
      return true;
  return false;
}

bool glow_block_covers(const GlowBlock *b, const GlowValue *v) {
  enum { MOST = 64 };
  Box boxes[MOST];
  uint32_t count = 0;
  int64_t missing = 0;
  const bool plain =
      glow_type_is_tensor(v->type) && glow_type_is_static(v->type) && !v->type->layout;
  if (plain)
    missing = glow_type_elements(v->type);
  for (const GlowNode *n = b->first; n; n = n->next)
    for (uint32_t i = 0; i < n->nouts; i++) {
      const GlowValue *out = n->operands[i].value;
      if (!out || n->operands[i].qual != GLOW_QUAL_OUT || n->pred.value)
        continue;
      if (out == v || (plain && glow_instr_covers(n, v)))
        return true;
      const GlowNode *view = glow_value_def(out, GLOW_OP_TENSORVIEW);
      bool apart = plain && missing > 0 && count < MOST && view && view->operands[0].value == v &&
                   find_box(view, v, &boxes[count]);
      for (uint32_t k = 0; k < count && apart; k++)
        apart = is_apart(&boxes[k], &boxes[count], v->type->rank);
      if (!apart)
        continue;
      count++;
      missing -= glow_type_elements(out->type);
      if (!missing)
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
