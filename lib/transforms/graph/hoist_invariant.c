/* Nodes of Loop and Scan bodies that depend on nothing of the body move in front of it.
 *
 * Out of a body that may not run, only nodes that cannot fail move: element-wise nodes whose
 * operands have known extents. Out of a body that is known to run, every pure node may move.
 * Literals stay where they are used, unless a node that moves needs them. */
#include "transforms/rules.h"

/* Whether block b lies in `region`, at any depth. */
static bool lies_in(const GlowBlock *b, const GlowBlock *region) {
  for (; b; b = glow_block_parent(b))
    if (b == region)
      return true;
  return false;
}

static bool is_literal(const GlowValue *v) {
  const GlowNode *n = glow_value_def(v, GLOW_OP_SPLAT);
  return n && !n->pred.value;
}

/* Whether v is defined outside of the loop's body, or is a literal, which can be moved out, too. */
static bool is_outside(const GlowValue *v, const GlowBlock *body) {
  const GlowBlock *home = v ? glow_value_block(v) : NULL;
  return !home || is_literal(v) || !lies_in(home, body);
}

/* Whether n cannot fail at run time. A Cast of strings can: a string may spell no number. */
static bool cannot_fail(const GlowNode *n) {
  if (!GLOW_HAS(glow_node_desc(n), ELEMENTWISE) || !glow_type_is_static(n->results[0].type))
    return false;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    if (v && (!glow_type_is_static(v->type) || v->type->kind == GLOW_KIND_STRING))
      return false;
  }
  return true;
}

/* Whether the body certainly runs: of a Loop whose count is known and positive (or absent) and
 * whose condition is known to hold at the start (or absent), or of a Scan over known extents that
 * are not 0. */
static bool runs(const GlowNode *loop) {
  if (loop->op == GLOW_OP_SCAN) {
    const GlowScanMembers *m = loop->members;
    const GlowType *t = glow_node_in(loop, loop->noperands - m->num_scan)->type;
    return glow_type_is_static(t) && glow_type_elements(t) > 0;
  }
  const GlowValue *trip = glow_node_in(loop, GLOW_LOOP_IN_TRIP);
  const GlowTensor *count = trip ? glow_value_known(trip) : NULL;
  bool positive =
      !trip || (count && glow_tensor_elements(count) == 1 && glow_tensor_get_int(count, 0) > 0);
  const GlowValue *cond = glow_node_in(loop, GLOW_LOOP_IN_COND);
  return positive && (!cond || glow_value_is_all(cond, 1.0));
}

static bool may_move(const GlowNode *n, const GlowNode *loop, bool certain) {
  const GlowBlock *body = loop->regions[0];
  if (!GLOW_HAS(glow_node_desc(n), PURE) || n->nregions || n->nresults == 0 ||
      n->op == GLOW_OP_SPLAT || !is_outside(n->pred.value, body) || (!certain && !cannot_fail(n)))
    return false;
  bool all_literals = true;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    if (v && !is_outside(v, body))
      return false;
    all_literals &= !v || is_literal(v);
  }
  return !all_literals;
}

static void move_out(GlowPassRun *run, GlowNode *n, GlowNode *loop) {
  glow_pass_changed(run, n, "moved %s out of %s", glow_node_desc(n)->node,
                    glow_node_desc(loop)->node);
  for (uint32_t i = 0; i < n->noperands; i++) {
    GlowNode *literal = glow_value_def(n->operands[i].value, GLOW_OP_SPLAT);
    if (literal && lies_in(literal->block, loop->regions[0]))
      glow_node_move_before(literal, loop);
  }
  glow_node_move_before(n, loop);
}

/* Inner loops first, so that what leaves them can go on outwards. */
static void hoist_in(GlowPassRun *run, GlowBlock *b) {
  for (GlowNode *n = b->first; n; n = n->next)
    for (uint32_t i = 0; i < n->nregions; i++) {
      if (!n->regions[i] || n->regions[i]->scalar)
        continue;
      hoist_in(run, n->regions[i]);
      if ((n->op != GLOW_OP_LOOP && n->op != GLOW_OP_SCAN) || n->pred.value)
        continue;
      bool certain = runs(n);
      for (GlowNode *inner = n->regions[i]->first, *next; inner; inner = next) {
        next = inner->next;
        if (may_move(inner, n, certain))
          move_out(run, inner, n);
      }
    }
}

bool glow_pass_hoist_invariant(GlowPassRun *run) {
  hoist_in(run, run->function->body);
  return true;
}
