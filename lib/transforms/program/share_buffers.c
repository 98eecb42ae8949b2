/* Sharing buffers: an instruction that can work in place writes the buffer that it is the last to
 * read, and a copy whose source is read nowhere else afterwards is no copy at all.
 *
 * Both buffers must be allocs of the instruction's own block (in a loop, a buffer from outside is
 * read again), of the same type, the output not touched before the instruction and the input not
 * after it. The output's alloc goes; the input lives as long as it did. */
#include "transforms/programs.h"

/* The positions between which the buffer or a view of it is touched. */
typedef struct Extent {
  uint32_t first, last;
} Extent;

static void extend(Extent *e, const GlowValue *v, const GlowBlock *b) {
  for (const GlowUse *u = v->uses; u; u = u->next) {
    GlowNode *n = u->user;
    if (n->op == GLOW_OP_DEALLOC)
      continue;
    if (n->op == GLOW_OP_TENSORVIEW)
      extend(e, &n->results[0], b);
    while (n->block != b)
      n = n->block->of.node;
    e->first = n->order < e->first ? n->order : e->first;
    e->last = n->order > e->last ? n->order : e->last;
  }
}

static bool is_local_alloc(const GlowValue *v, const GlowNode *n) {
  return glow_buffer_is_plain_alloc(v) && v->def.node->block == n->block;
}

/* Every operand of n that stands for `base` must be in place with output `out`. */
static bool all_inplace(const GlowNode *n, uint32_t out, const GlowValue *base) {
  const GlowOpDesc *d = glow_node_desc(n);
  for (uint32_t i = n->nouts; i < n->noperands; ++i) {
    if (!n->operands[i].value || glow_buffer_base(n->operands[i].value) != base)
      continue;
    bool found = n->op == GLOW_OP_COPY;
    for (uint32_t k = 0; k < d->ninplace; ++k)
      found |= d->inplace[k].out == out && d->inplace[k].in + n->nouts == i;
    if (!found || n->operands[i].value->type != n->operands[out].value->type)
      return false;
  }
  return !n->pred.value || glow_buffer_base(n->pred.value) != base;
}

static bool can_share(const GlowNode *n, uint32_t out, GlowValue *in) {
  GlowValue *to = n->operands[out].value, *base = glow_buffer_base(in);
  if (!to || !is_local_alloc(to, n) || !is_local_alloc(base, n) || to == base ||
      in->type != to->type || !glow_type_is_static(to->type) || !all_inplace(n, out, base))
    return false;
  if (in != base && glow_type_bytes(base->type) != glow_type_bytes(in->type))
    return false;
  Extent written = {UINT32_MAX, 0}, read = {UINT32_MAX, 0};
  extend(&written, to, n->block);
  extend(&read, base, n->block);
  return written.first == n->order && read.last == n->order;
}

/* `to` becomes another name for `in`, and its lifetime that of in's base. */
static void share(GlowPassRun *run, GlowNode *n, GlowValue *to, GlowValue *in) {
  GlowValue *base = glow_buffer_base(in);
  GlowNode *alloc = to->def.node, *end = glow_buffer_dealloc(to);
  glow_node_remove(glow_buffer_dealloc(base));
  glow_use_set(&end->operands[0], base);
  glow_value_replace_uses(to, in);
  glow_pass_changed(run, n, "%%%s shares the buffer of %%%s", to->name, base->name);
  glow_node_remove(alloc);
  if (n->op == GLOW_OP_COPY)
    glow_node_remove(n);
}

static void share_block(GlowPassRun *run, GlowBlock *b) {
  for (GlowNode *n = b->first, *next; n; n = next) {
    next = n->next;
    for (uint32_t i = 0; i < n->nregions; ++i)
      if (n->regions[i] && !n->regions[i]->scalar)
        share_block(run, n->regions[i]);
    const GlowOpDesc *d = glow_node_desc(n);
    if (n->op == GLOW_OP_COPY) {
      if (can_share(n, 0, n->operands[1].value))
        share(run, n, n->operands[0].value, n->operands[1].value);
      continue;
    }
    for (uint32_t k = 0; k < d->ninplace; ++k) {
      GlowValue *in = glow_node_in(n, d->inplace[k].in);
      if (d->inplace[k].out < n->nouts && in && can_share(n, d->inplace[k].out, in)) {
        share(run, n, n->operands[d->inplace[k].out].value, in);
        break;
      }
    }
  }
}

bool glow_pass_share_buffers(GlowPassRun *run) {
  glow_function_number(run->function);
  share_block(run, run->function->body);
  return true;
}
