/* Loads of a buffer that was filled with one value become fills:
 *
 *   splat @out %a {value = 4};  slice @out @y, @in %a, ..   ->   splat @out @y {value = 4}
 *
 * Afterwards the first fill may be a dead store; this is the example of the Glow paper's Figure 1.
 * The load may be any instruction that copies elements and adds none, with known amounts. On every
 * way to the load, the fill must be the last instruction that writes any of the elements. */
#include "transforms/programs.h"

/* Whether all elements of v are *value where n reads them. */
static bool holds_one_value(const GlowValue *v, const GlowNode *n, GlowScalar *value) {
  GlowSpan s = glow_value_span(v);
  uint32_t distance = 0;
  if (v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls == GLOW_CONSTANT)
    return glow_value_splat(v, value);
  for (;;) {
    for (const GlowNode *at = n->prev; at; at = at->prev) {
      if (++distance > GLOW_MAX_DISTANCE)
        return false;
      if (!(glow_instr_access(at, s) & GLOW_WRITES))
        continue;
      if (at->op != GLOW_OP_SPLAT || !glow_instr_covers(at, v))
        return false;
      *value = ((const GlowSplatMembers *)at->members)->value;
      return true;
    }
    if (n->block->owner != GLOW_BLOCK_REGION)
      return false;
    n = n->block->of.node;
    if (n->op != GLOW_OP_IF && (glow_instr_access(n, s) & GLOW_WRITES))
      return false; /* an earlier iteration may have written it */
  }
}

static bool is_plain(const GlowValue *v) {
  const GlowType *t = v->type;
  return glow_type_is_static(t) && !t->layout && !t->quantized &&
         (glow_op_desc[GLOW_OP_SPLAT].vars[0].kinds & GLOW_KIND_BIT(t->kind)) &&
         !glow_value_is_strided(v);
}

/* How many of n's first inputs are the elements that it moves; 0 if it is none of these operators.
 */
static uint32_t count_moved(const GlowNode *n) {
  switch (n->op) {
  case GLOW_OP_COPY:
  case GLOW_OP_EXPAND:
  case GLOW_OP_RESHAPE:
  case GLOW_OP_SLICE:
  case GLOW_OP_SPLIT:
  case GLOW_OP_TILE:
  case GLOW_OP_TRANSPOSE:
    return 1;
  case GLOW_OP_CONCAT:
    return glow_node_nins(n);
  default:
    return 0;
  }
}

static bool moves_one_value(const GlowNode *n, GlowScalar *value) {
  uint32_t moved = count_moved(n);
  for (uint32_t i = 0; i < n->nouts; i++)
    if (!n->operands[i].value || !is_plain(n->operands[i].value))
      return false;
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    const GlowValue *v = glow_node_in(n, i);
    GlowScalar one;
    if (i >= moved ? v && !glow_value_known(v)
                   : !is_plain(v) || !holds_one_value(v, n, &one) ||
                         (i > 0 && !glow_scalar_same(one, *value)))
      return false;
    if (i < moved)
      *value = one;
  }
  return moved > 0 && !n->pred.value;
}

static void forward_in_block(GlowPassRun *run, GlowBlock *b, int64_t *bytes) {
  for (GlowNode *n = b->first, *next; n; n = next) {
    GlowSplatMembers members = {0};
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar)
        forward_in_block(run, n->regions[i], bytes);
    next = n->next;
    if (!moves_one_value(n, &members.value))
      continue;
    GlowBuilder at = glow_builder_before(n);
    for (uint32_t i = 0; i < n->nouts; i++) {
      glow_build_instr(&at, GLOW_OP_SPLAT, &n->operands[i].value, 1, NULL, 0, &members);
      *bytes += glow_type_bytes(n->operands[i].value->type);
    }
    glow_pass_changed(run, n, "%s reads one value everywhere", glow_node_desc(n)->instr);
    glow_node_remove(n);
  }
}

bool glow_pass_forward_splats(GlowPassRun *run) {
  int64_t bytes = 0;
  uint64_t before = run->changes;
  forward_in_block(run, run->function->body, &bytes);
  glow_program_saved(run, run->changes - before, "loads", bytes);
  return true;
}
