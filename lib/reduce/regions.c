/* Replaces control flow by nodes of its regions: If by one branch, Loop by one run of its body. */
#include "reduce/delta.h"

/* Moves the nodes of `region` before n and removes n; results i become what the region yields at
 * i + first. */
static void inline_region(GlowDelta *d, GlowNode *n, GlowBlock *region, uint32_t first) {
  GlowNode *end = glow_block_terminator(region);
  for (GlowNode *inner = region->first, *next; inner && inner != end; inner = next) {
    next = inner->next;
    glow_node_move_before(inner, n);
  }
  for (uint32_t i = 0; i < n->nresults; i++)
    if (n->results[i].uses && end && i + first < end->noperands && end->operands[i + first].value)
      glow_value_replace_uses(&n->results[i], end->operands[i + first].value);
  for (uint32_t i = 0; i < n->nresults; i++)
    if (n->results[i].uses)
      return;
  glow_node_remove(n);
  d->retype = true;
}

static bool is_if(const GlowNode *n) { return n->op == GLOW_OP_IF; }
static bool has_else(const GlowNode *n) { return is_if(n) && glow_node_region(n, "else"); }

static void to_then(GlowDelta *d, GlowNode *n) {
  inline_region(d, n, glow_node_region(n, "then"), 0);
}

static void to_else(GlowDelta *d, GlowNode *n) {
  inline_region(d, n, glow_node_region(n, "else"), 0);
}

/* Not a Loop with results that stack a value of each iteration: one run has no such results. */
static bool is_loop(const GlowNode *n) {
  if (n->op != GLOW_OP_LOOP)
    return false;
  if (!glow_node_is_instr(n))
    for (uint32_t i = glow_node_nins(n) - 2; i < n->nresults; i++)
      if (n->results[i].uses)
        return false;
  return true;
}

/* The first iteration: number 0, condition true, carried values as they begin. */
static void to_body(GlowDelta *d, GlowNode *n) {
  GlowBlock *body = glow_node_region(n, "body");
  for (uint32_t i = 0; i < body->nparams; i++) {
    GlowValue *p = body->params[i], *initial = i >= 2 ? glow_node_in(n, i) : NULL;
    if (i < 2 && p->uses) {
      GlowStorage *s =
          glow_storage_create(d->module, GLOW_CONSTANT, p->name, p->type, glow_init_splat(i));
      initial = &s->value;
    }
    if (p->uses && initial)
      glow_value_replace_uses(p, initial);
  }
  inline_region(d, n, body, 1);
}

void glow_delta_then_branches(GlowDelta *d) { glow_delta_each_node(d, is_if, to_then); }
void glow_delta_else_branches(GlowDelta *d) { glow_delta_each_node(d, has_else, to_else); }
void glow_delta_loops_once(GlowDelta *d) { glow_delta_each_node(d, is_loop, to_body); }
