/* Stacks: chains of element-wise instructions become one loop over the elements.
 *
 *   %t = alloc;  add @out %t, @in %a, @in %b;  relu @out %y, @in %t;  dealloc %t
 *     becomes    stack @out %y, @in %a, @in %b ^body(..) = { Add, Relu }
 *
 * A link of a chain is a buffer that one instruction writes and one reads, both element-wise over
 * the same extents in the same block; the buffer disappears. The work of the first moves down to
 * the second, so nothing in between may write what the first reads. Each step in the body rounds
 * as its instruction did. A body has at most GLOW_MAX_STEPS. */
#include "transforms/programs.h"

/* The instruction whose result n reads through a buffer that can disappear, and that buffer. */
static GlowNode *find_producer(const GlowNode *n, GlowValue **link) {
  GlowValue *out = n->operands[0].value;
  for (uint32_t i = n->nouts; i < n->noperands; ++i) {
    GlowValue *v = n->operands[i].value;
    if (!v || !glow_buffer_is_plain_alloc(v) || v->type->rank != out->type->rank ||
        memcmp(v->type->dims, out->type->dims, out->type->rank * sizeof *out->type->dims) != 0)
      continue;
    GlowBufferUses uses = glow_buffer_uses(v);
    if (uses.others || !uses.writer || !uses.reader)
      continue;
    GlowNode *producer = uses.writer->user;
    if (producer->block != n->block || producer->pred.value != n->pred.value ||
        !glow_scalar_can_hold(producer) ||
        glow_scalar_steps(producer) + glow_scalar_steps(n) > GLOW_MAX_STEPS ||
        !glow_instr_can_move_down(producer, n) ||
        !glow_instr_reads_apart(producer, NULL, out, true) ||
        !glow_instr_reads_apart(n, v, out, true))
      continue;
    *link = v;
    return producer;
  }
  return NULL;
}

static GlowNode *fuse(GlowPassRun *run, GlowNode *producer, GlowNode *n, GlowValue *link) {
  glow_program_begin_change(run);
  GlowScalarBody s;
  GlowValue *v = NULL;
  if (producer->op == GLOW_OP_STACK) {
    s = glow_scalar_continue(run->arena, producer, &v);
  } else {
    s = glow_scalar_begin(run->module, run->arena, "body");
    v = glow_scalar_apply(&s, producer, NULL, NULL);
  }
  v = v ? glow_scalar_apply(&s, n, link, v) : NULL;
  if (!v)
    return NULL;
  glow_build_terminator(s.body, GLOW_OP_YIELD, &v, 1);
  GlowBuilder b = glow_builder_before(n);
  GlowNodeSpec spec = {.op = GLOW_OP_STACK,
                       .outs = &n->operands[0].value,
                       .nouts = 1,
                       .ins = s.inputs.data,
                       .nins = s.inputs.count,
                       .regions = &s.body,
                       .nregions = 1};
  GlowNode *stack = glow_node_create(&b, &spec);
  if (!stack)
    return NULL;
  glow_pass_changed(run, n, "stacked %s on %s", glow_node_desc(n)->instr,
                    glow_node_desc(producer)->instr);
  glow_instr_replace_pair(producer, n, link, stack);
  return stack;
}

static bool stack_block(GlowPassRun *run, GlowBlock *b, int64_t *bytes) {
  for (GlowNode *n = b->first, *next; n; n = next) {
    for (uint32_t i = 0; i < n->nregions; ++i)
      if (n->regions[i] && !n->regions[i]->scalar && !stack_block(run, n->regions[i], bytes))
        return false;
    GlowValue *link;
    GlowNode *producer;
    while (glow_scalar_can_hold(n) && (producer = find_producer(n, &link))) {
      *bytes += glow_type_bytes(link->type);
      if (!(n = fuse(run, producer, n, link)))
        return false;
    }
    next = n->next;
  }
  return true;
}

bool glow_pass_stack(GlowPassRun *run) {
  int64_t bytes = 0;
  uint64_t before = run->changes;
  glow_function_number(run->function);
  bool ok = stack_block(run, run->function->body, &bytes);
  glow_program_saved(run, run->changes - before, "buffers", bytes);
  return ok;
}
