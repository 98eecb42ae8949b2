/* Into how many pieces threads may cut the work of each instruction, by what it costs
 * (glow_instr_cost) and the rule of target/cpu/rules.h, which the CPU backend follows where a
 * program says nothing. What the text says already stays.
 *
 * Not of control flow, of what a machine kernel does not do, and of little work: that is one piece.
 * Nor for no machine: like tiles, shards come with the module's target. No sum is ever split, so no
 * result depends on shards; what a kernel cannot cut that far becomes fewer pieces. */
#include "analysis/cost.h"
#include "ops/infer.h"
#include "target/cpu/native.h"
#include "target/cpu/rules.h"
#include "transforms/programs.h"

static bool assign(GlowNode *n, void *arg) {
  if (n->shards || !glow_op_has_shards(glow_node_desc(n)) || !glow_cpu_is_native(n->op))
    return true;
  int64_t cost = glow_instr_cost(n), shards = glow_shards(cost);
  if (shards == 1)
    return true;
  glow_pass_changed(arg, n, "%lld thousand %s in up to %lld shards", (long long)(cost / 1000),
                    glow_macs_hooks[n->op] ? "multiply-adds" : "bytes", (long long)shards);
  n->shards = (uint32_t)shards;
  return true;
}

bool glow_pass_assign_shards(GlowPassRun *run) {
  return !run->module->target || glow_block_walk(run->function->body, assign, run);
}
