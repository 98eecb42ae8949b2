/* Undoes -assign-layouts: gives every value the plain layout, on which passes on graphs work.
 *
 * A packed filter is replaced by the constant that it was packed from. Relayouts stay where
 * storage, regions or results of the function have a layout. Exact. */
#include "transforms/relayout.h"

typedef struct Drop {
  GlowRelayouts relayouts;
  GLOW_VEC(GlowNode *) nodes; /* with an operand or result in a layout */
} Drop;

static bool collect(GlowNode *n, void *arg) {
  Drop *d = arg;
  if (glow_node_has_layout(n) || n->op == GLOW_OP_RELAYOUT)
    glow_vec_push(d->relayouts.run->arena, &d->nodes, n);
  return true;
}

static bool make_plain(Drop *d, GlowNode *n) {
  GlowPassRun *run = d->relayouts.run;
  GlowValue **ins = GLOW_NEW_ARRAY(run->arena, GlowValue *, n->noperands);
  const GlowType **types = GLOW_NEW_ARRAY(run->arena, const GlowType *, n->nresults);
  glow_pass_check_limit(run);
  for (uint32_t i = 0; i < n->noperands; i++) {
    ins[i] = n->operands[i].value;
    if (glow_value_has_layout(ins[i]) && !(ins[i] = glow_value_in(&d->relayouts, ins[i], NULL, n)))
      return false;
  }
  for (uint32_t i = 0; i < n->nresults; i++) {
    types[i] = n->results[i].type;
    if (glow_value_has_layout(&n->results[i]))
      types[i] = glow_type_with_layout(run->ctx, types[i], NULL);
  }
  bool changed;
  const char *what =
      glow_arena_printf(run->arena, "%s in the plain layout", glow_node_desc(n)->node);
  return glow_node_rebuild(&d->relayouts, n, ins, types, what, &changed);
}

/* Removes a Relayout that nothing uses any more. */
static bool drop_dead(GlowNode *n, void *arg) {
  (void)arg;
  if (n->op == GLOW_OP_RELAYOUT)
    glow_remove_dead(n);
  return true;
}

bool glow_pass_drop_layouts(GlowPassRun *run) {
  Drop d = {.relayouts = glow_relayouts_begin(run)};
  glow_block_walk(run->function->body, collect, &d);
  for (uint32_t i = 0; i < d.nodes.count; i++) {
    GlowNode *n = d.nodes.data[i];
    if (n->op == GLOW_OP_RELAYOUT)
      glow_relayout_shorten(&d.relayouts, n);
    else if (!make_plain(&d, n))
      return false;
  }
  glow_relayouts_end(&d.relayouts);
  if (run->changes)
    glow_block_walk(run->function->body, drop_dead, NULL);
  return true;
}
