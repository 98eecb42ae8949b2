/* One buffer in the place of two that a copy connects.
 *
 *   forward   copy @out %t, @in %s;  relu @out %y, @in %t      ->  relu @out %y, @in %s
 *   merge     relu @out %s, @in %x;  copy @out @y, @in %s      ->  relu @out @y, @in %x
 *
 * To forward, %t must have no other writer, and %s must stay as it is until %t is read for the last
 * time.
 *
 * To merge, nothing else may touch the target @y from the first write of %s up to the copy. If %s
 * is read after the copy, neither %s nor @y may be written until its last read. If the target is a
 * view with strides, its rows have to be contiguous, and all that touches %s must take such a view.
 * The first instruction that writes %s may read the target if it can work in place: bodies of loops
 * do so with their state. */
#include "transforms/programs.h"

/* ---- Forwarding ------------------------------------------------------------------------------ */

GlowNode *glow_buffer_last_reader(GlowArena *arena, const GlowUse *out) {
  const GlowNode *n = out->user;
  GlowNode *last = NULL;
  GlowUseVec uses = glow_buffer_all_uses(arena, out->value);
  for (uint32_t i = 0; i < uses.count; i++) {
    const GlowUse *u = uses.data[i];
    if (u == out)
      continue;
    GlowNode *at = glow_node_in_block(u->user, n->block);
    bool reads = u->user->op == GLOW_OP_TENSORVIEW || u == &u->user->pred ||
                 (u->qual != GLOW_QUAL_OUT && u->qual != GLOW_QUAL_INOUT);
    if (!at || at->order <= n->order || !reads)
      return NULL;
    if (!last || at->order > last->order)
      last = at;
  }
  return last;
}

static GlowNode *forward_until(GlowArena *arena, const GlowUse *out, const GlowValue *from) {
  const GlowValue *to = out->value;
  if (!to || !glow_buffer_is_plain_alloc(to) || to->type != from->type || out->user->pred.value ||
      glow_value_is_strided(from))
    return NULL;
  GlowNode *last = glow_buffer_last_reader(arena, out);
  if (!last || glow_span_accessed(out->user->next, last, glow_value_span(from), GLOW_WRITES))
    return NULL;
  return last;
}

bool glow_buffer_can_forward(GlowArena *arena, const GlowUse *out, const GlowValue *from) {
  return forward_until(arena, out, from) != NULL;
}

/* Removes an alloc; what used it uses `by` from now on. */
static void replace_alloc(GlowValue *alloc, GlowValue *by) {
  glow_node_remove(glow_buffer_dealloc(alloc));
  glow_value_replace_uses(alloc, by);
  glow_node_remove(alloc->def.node);
}

bool glow_copy_forward(GlowPassRun *run, GlowNode *copy) {
  GlowValue *to = copy->operands[0].value, *from = glow_node_in(copy, 0);
  GlowNode *last = forward_until(run->arena, &copy->operands[0], from);
  if (!last)
    return false;
  glow_buffer_keep_until(glow_buffer_base(from), last);
  glow_node_remove(copy);
  replace_alloc(to, from);
  return true;
}

/* ---- Merging --------------------------------------------------------------------------------- */

typedef struct Merge {
  GlowNode *copy;
  GlowValue *to, *alloc;  /* the target; the whole buffer that the copy reads */
  GlowNode *first, *last; /* nodes of the copy's block that touch `alloc` */
} Merge;

static bool find_uses(GlowArena *arena, Merge *m) {
  GlowUseVec uses = glow_buffer_all_uses(arena, m->alloc);
  for (uint32_t i = 0; i < uses.count; i++) {
    GlowNode *at = glow_node_in_block(uses.data[i]->user, m->copy->block);
    if (!at)
      return false;
    if (uses.data[i]->user->op != GLOW_OP_TENSORVIEW && (!m->first || at->order < m->first->order))
      m->first = at;
    if (!m->last || at->order > m->last->order)
      m->last = at;
  }
  return m->first && m->first->order < m->copy->order;
}

static bool has_strides(const GlowValue *v) {
  const GlowNode *view = glow_value_def(v, GLOW_OP_TENSORVIEW);
  return view && ((const GlowTensorviewMembers *)view->members)->strides.count;
}

/* Whether n, which writes the buffer first, may write the target instead although it reads it. */
static bool works_in_place(const Merge *m, const GlowNode *n) {
  GlowSpan to = glow_value_span(m->to);
  uint32_t out = UINT32_MAX;
  if (n->pred.value || (n->nregions && !glow_node_epilogue(n)))
    return false;
  for (uint32_t i = 0; i < n->nouts; i++)
    if (n->operands[i].value == m->alloc && n->operands[i].qual == GLOW_QUAL_OUT)
      out = i;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    if (!v || !glow_spans_overlap(glow_value_span(v), to))
      continue;
    GlowSpan s = glow_value_span(v);
    if (i < n->nouts || out == UINT32_MAX || v->type != m->alloc->type || has_strides(v) ||
        has_strides(m->to) || s.open || to.open || s.low != to.low || s.high != to.high ||
        !glow_instr_may_share(n, out, i - n->nouts))
      return false;
  }
  return true;
}

/* Whether nothing uses the target from the first write of the buffer to the copy, and nothing
 * writes the target or the buffer from the copy to the last read of the buffer. */
static bool is_free(const Merge *m) {
  GlowSpan to = glow_value_span(m->to), from = glow_value_span(m->alloc);
  unsigned any = GLOW_READS | GLOW_WRITES;
  if (glow_instr_access(m->first, to) && !works_in_place(m, m->first))
    return false;
  if (m->first->next != m->copy && glow_span_accessed(m->first->next, m->copy->prev, to, any))
    return false;
  return m->last == m->copy || (!glow_span_accessed(m->copy->next, m->last, to, GLOW_WRITES) &&
                                !glow_span_accessed(m->copy->next, m->last, from, GLOW_WRITES));
}

/* Whether all that touches the buffer would take a view with the strides of `to`. */
static bool takes_strides(const GlowValue *alloc, const GlowValue *to) {
  const GlowArray strides = ((const GlowTensorviewMembers *)to->def.node->members)->strides;
  const GlowSize last = glow_array_at(strides, GlowSize, strides.count - 1);
  if (last.extent || last.size != 1)
    return false;
  for (const GlowUse *u = alloc->uses; u; u = u->next) {
    const GlowNode *n = u->user;
    const GlowOpDesc *d = glow_node_desc(n);
    uint32_t i = (uint32_t)(u - n->operands);
    if (n->op == GLOW_OP_DEALLOC)
      continue;
    if (u == &n->pred || n->op == GLOW_OP_TENSORVIEW || i >= n->noperands)
      return false;
    if (i >= n->noperands - n->nextra)
      continue; /* an operand of the epilogue */
    const GlowOpPort *port =
        i < n->nouts ? glow_op_out_port(d, i) : glow_op_in_port(d, i - n->nouts);
    if (!(port->flags & GLOW_PORT_STRIDED))
      return false;
  }
  return true;
}

/* Moves what defines v before `at`, if it stands behind it in the same block. */
static void define_before(GlowValue *v, GlowNode *at) {
  GlowNode *n = v->kind == GLOW_VALUE_RESULT ? v->def.node : NULL;
  if (!n || n->block != at->block || n->order <= at->order)
    return;
  if (n->op == GLOW_OP_TENSORVIEW)
    define_before(glow_node_in(n, 0), at);
  glow_node_move_before(n, at);
  n->order = at->order;
}

GlowValue *glow_buffer_view_as(GlowValue *base, const GlowType *type, GlowNode *before) {
  if (base->type == type)
    return base;
  GlowBuilder b = glow_builder_before(before);
  b.pred = NULL;
  GlowNodeSpec spec = {.op = GLOW_OP_TENSORVIEW, .ins = &base, .nins = 1, .types = &type};
  GlowNode *n = glow_node_create(&b, &spec);
  if (!n)
    return NULL;
  n->order = before->order;
  return &n->results[0];
}

/* Whether a buffer of `base`'s kind can be seen as one of `kind`: bools are not all that a byte may
 * be. */
static bool can_hold(GlowKind base, GlowKind kind) {
  return base == kind || kind != GLOW_KIND_BOOL;
}

bool glow_copy_merge(GlowPassRun *run, GlowNode *copy) {
  GlowValue *from = glow_node_in(copy, 0);
  Merge m = {.copy = copy, .to = copy->operands[0].value};
  m.alloc = glow_buffer_dense_base(from);
  if (copy->pred.value || !glow_buffer_is_plain_alloc(m.alloc) ||
      m.alloc->def.node->block != copy->block || from->type != m.to->type ||
      !glow_type_is_known(m.to->type) || !glow_type_is_known(m.alloc->type) ||
      !can_hold(m.to->type->kind, m.alloc->type->kind) ||
      (m.alloc != from && (m.to->type->layout || m.alloc->type->layout)) ||
      (glow_value_is_strided(m.to) && !takes_strides(m.alloc, m.to)) ||
      glow_buffer_base(m.to) == m.alloc || !find_uses(run->arena, &m) || !is_free(&m))
    return false;
  GlowNode *alloc = m.alloc->def.node;
  define_before(m.to, alloc);
  GlowValue *by = glow_buffer_view_as(m.to, m.alloc->type, alloc);
  if (!by)
    return false;
  glow_buffer_keep_until(glow_buffer_base(m.to), m.last);
  glow_node_remove(copy);
  replace_alloc(m.alloc, by);
  return true;
}
