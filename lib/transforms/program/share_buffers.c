/* Sharing buffers: an instruction that can work in place writes the buffer that it is the last to
 * read.
 *
 * Both buffers must be allocs of the instruction's own block, because a loop reads a buffer from
 * outside again, and must have the same extents and layout, and elements of the same size. If their
 * kinds or the parameters of their quantization differ, the output becomes a view:
 *
 *   %y = alloc u8[S:0.5]<4>;  stack @out %y, @in %x
 *     becomes   %y = tensorview %x : u8[S:0.5]<4>;  stack @out %y, @in %x
 *
 * Nothing may touch the output before the instruction,
 * or the input after it. The output's alloc is removed; the input then lives as long as the output
 * did. */
#include "transforms/programs.h"

typedef struct Shared {
  uint64_t count;
  int64_t bytes;
} Shared;

/* Whether a node of block b, or a node inside of one, touches the buffer or a view of it: behind
 * the position `order` if `after` is set, else before it. Later uses come first in a list of uses,
 * so a question for uses behind a position usually ends at once. */
static bool is_touched(GlowArena *arena, const GlowValue *buffer, const GlowBlock *b,
                       uint32_t order, bool after) {
  GLOW_VEC(const GlowValue *) work = {0};
  glow_vec_push(arena, &work, buffer);
  while (work.count)
    for (const GlowUse *u = work.data[--work.count]->uses; u; u = u->next) {
      const GlowNode *n = u->user;
      if (n->op == GLOW_OP_TENSORVIEW)
        glow_vec_push(arena, &work, &n->results[0]);
      if (n->op == GLOW_OP_DEALLOC || (n->op == GLOW_OP_TENSORVIEW && !after && n->block == b))
        continue; /* to make a view is no access, but the buffer must live */
      while (n->block != b)
        n = n->block->of.node;
      if (after ? n->order > order : n->order < order)
        return true;
    }
  return false;
}

static bool is_local_alloc(const GlowValue *v, const GlowNode *n) {
  return glow_buffer_is_plain_alloc(v) && v->def.node->block == n->block;
}

/* Whether each element of a buffer of type `from` is as large as that of `to` in its place, and may
 * be any number of either kind. */
static bool has_places_of(const GlowType *from, const GlowType *to) {
  const GlowKindInfo *a = &glow_kind_info[from->kind], *b = &glow_kind_info[to->kind];
  return from == to ||
         (glow_type_is_same_shape(from, to) && from->layout == to->layout && a->bits == b->bits &&
          a->cls != GLOW_CLASS_STRING && b->cls != GLOW_CLASS_STRING &&
          from->kind != GLOW_KIND_BOOL && to->kind != GLOW_KIND_BOOL);
}

/* Whether output `out` may be computed in the buffer of input `in`. */
static bool is_pair(const GlowNode *n, uint32_t out, uint32_t in) {
  return glow_instr_may_share(n, out, in) && glow_node_in(n, in) &&
         has_places_of(glow_node_in(n, in)->type, n->operands[out].value->type);
}

/* Whether each operand of n that lies in `base` is an input that output `out` may overwrite, and
 * the predicate does not lie there. */
static bool all_inplace(const GlowNode *n, uint32_t out, const GlowValue *base) {
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowUse *use = &n->operands[i];
    if (use->value && glow_buffer_base(use->value) == base &&
        (i < n->nouts || !is_pair(n, out, i - n->nouts)))
      return false;
  }
  return !n->pred.value || glow_buffer_base(n->pred.value) != base;
}

static bool can_share(GlowArena *arena, const GlowNode *n, uint32_t out, GlowValue *in) {
  GlowValue *to = n->operands[out].value, *base = glow_buffer_base(in);
  if (!to || !is_local_alloc(to, n) || !is_local_alloc(base, n) || to == base ||
      !has_places_of(in->type, to->type) || !glow_type_is_known(to->type) ||
      !all_inplace(n, out, base))
    return false;
  if (glow_buffer_dense_base(in) != base)
    return false;
  return !is_touched(arena, base, n->block, n->order, true) &&
         !is_touched(arena, to, n->block, n->order, false);
}

/* Moves views of `to` that stand before n down to n: the buffer of which they will be views exists
 * there. */
static void move_views(GlowNode *n, const GlowValue *to) {
  for (GlowUse *u = to->uses, *next; u; u = next) {
    next = u->next;
    if (u->user->op != GLOW_OP_TENSORVIEW || u->user->order > n->order)
      continue;
    glow_node_move_before(u->user, n);
    move_views(n, &u->user->results[0]);
  }
}

/* `to` becomes another name for `in`, or a view of it, and its lifetime that of in's base. */
static void share(GlowPassRun *run, GlowNode *n, GlowValue *to, GlowValue *in) {
  GlowValue *base = glow_buffer_base(in);
  glow_program_begin_change(run);
  glow_pass_changed(run, n, "%%%s shares the buffer of %%%s", to->name, base->name);
  GlowValue *by = glow_buffer_view_as(in, to->type, n);
  if (!by)
    return;
  move_views(n, to);
  GlowNode *alloc = to->def.node, *end = glow_buffer_dealloc(to);
  glow_node_remove(glow_buffer_dealloc(base));
  glow_use_set(&end->operands[0], base);
  glow_value_replace_uses(to, by);
  glow_node_remove(alloc);
}

/* Shares the buffer of the first input that allows it. */
static void share_output(GlowPassRun *run, GlowNode *n, uint32_t out, Shared *s) {
  for (uint32_t in = 0; n->operands[out].value && in < glow_node_nins(n); in++)
    if (is_pair(n, out, in) && can_share(run->arena, n, out, glow_node_in(n, in))) {
      s->count++;
      s->bytes += glow_type_bytes(n->operands[out].value->type);
      share(run, n, n->operands[out].value, glow_node_in(n, in));
      return;
    }
}

static void share_block(GlowPassRun *run, GlowBlock *b, Shared *s) {
  for (GlowNode *n = b->first; n; n = n->next) {
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar)
        share_block(run, n->regions[i], s);
    for (uint32_t out = 0; out < n->nouts; out++)
      share_output(run, n, out, s);
  }
}

bool glow_pass_share_buffers(GlowPassRun *run) {
  Shared s = {0};
  glow_function_number(run->function);
  share_block(run, run->function->body, &s);
  glow_program_saved(run, s.count, "buffers", s.bytes);
  return true;
}
