/* Replaces nodes by storage that stands for their results. Where half of a chain is replaced, all
 * nodes before it become unused, so this brings a large graph down in few steps. */
#include "reduce/delta.h"

static bool fits(const GlowNode *n, GlowStandIn kind) {
  bool used = false;
  if (glow_node_is_instr(n) || GLOW_HAS(glow_node_desc(n), SYNTAX))
    return false;
  for (uint32_t i = 0; i < n->nresults; i++) {
    if (!n->results[i].uses)
      continue;
    used = true;
    if (!glow_stand_in_fits(n->results[i].type, kind))
      return false;
  }
  return used && !(n->block->scalar && (kind != GLOW_STAND_IN_ONE || n->op == GLOW_OP_SPLAT));
}

static bool fits_one(const GlowNode *n) { return fits(n, GLOW_STAND_IN_ONE); }
static bool fits_random(const GlowNode *n) { return fits(n, GLOW_STAND_IN_RANDOM); }
static bool fits_input(const GlowNode *n) { return fits(n, GLOW_STAND_IN_INPUT); }

static void to_one(GlowDelta *d, GlowNode *n) { glow_stand_in_for(d, n, GLOW_STAND_IN_ONE); }
static void to_random(GlowDelta *d, GlowNode *n) { glow_stand_in_for(d, n, GLOW_STAND_IN_RANDOM); }
static void to_input(GlowDelta *d, GlowNode *n) { glow_stand_in_for(d, n, GLOW_STAND_IN_INPUT); }

void glow_delta_results_to_one(GlowDelta *d) { glow_delta_each_node(d, fits_one, to_one); }
void glow_delta_results_to_random(GlowDelta *d) { glow_delta_each_node(d, fits_random, to_random); }
void glow_delta_results_to_inputs(GlowDelta *d) { glow_delta_each_node(d, fits_input, to_input); }
