/* Says for each instruction into how many pieces (shards) threads may cut its work. The target
 * derives the number from the cost of the instruction (glow_instr_cost). A number that the text has
 * already stays.
 *
 * Control flow, instructions without a machine kernel, and little work stay one piece. Without a
 * target in the module, so does everything, as with tiles. No sum is ever split, so no result
 * depends on shards. A kernel that cannot cut its work so far makes fewer pieces. */
#include "analysis/cost.h"
#include "ops/infer.h"
#include "target/target.h"
#include "transforms/programs.h"

typedef struct Assign {
  GlowPassRun *run;
  const GlowTarget *target;
} Assign;

static bool assign(GlowNode *n, void *arg) {
  const Assign *a = arg;
  const char *why;
  if (n->shards || !glow_op_has_shards(glow_node_desc(n)) ||
      glow_target_support(a->target, n, &why) != GLOW_NATIVE)
    return true;
  int64_t cost = glow_instr_cost(n), shards = a->target->family->shards(a->target, cost);
  if (shards == 1)
    return true;
  glow_pass_changed(a->run, n, "%lld thousand %s in up to %lld shards", (long long)(cost / 1000),
                    glow_macs_hooks[n->op] ? "multiply-adds" : "bytes", (long long)shards);
  n->shards = (uint32_t)shards;
  return true;
}

bool glow_pass_assign_shards(GlowPassRun *run) {
  Assign a = {run, run->module->target ? glow_target_find(run->module->target) : NULL};
  return !a.target || !a.target->family->shards || glow_block_walk(run->function->body, assign, &a);
}
