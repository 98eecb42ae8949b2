/* Register tiles: how much of its result a kernel keeps in registers at a time. The module's target
 * chooses the tile of each instruction. A tile that the text has already stays. No result depends
 * on a tile. */
#include "target/target.h"
#include "transforms/programs.h"

typedef struct Assign {
  GlowPassRun *run;
  const GlowTarget *target;
} Assign;

static bool assign(GlowNode *n, void *arg) {
  const Assign *a = arg;
  const GlowMember *tile = glow_op_member(glow_node_desc(n), "tile");
  if (!tile || !tile->instr_only || !glow_member_is_default(tile, n->members))
    return true;
  uint32_t values[GLOW_TILE_VALUES];
  const char *why = NULL;
  uint32_t count = a->target->family->tile(a->target, n, values, &why);
  if (!count)
    return true;
  glow_pass_changed(a->run, n, "%s", why);
  GlowArray array = glow_array_u32(a->run->module, values, count);
  memcpy((char *)n->members + tile->offset, &array, sizeof array);
  return true;
}

bool glow_pass_assign_tiles(GlowPassRun *run) {
  Assign a = {run, run->module->target ? glow_target_find(run->module->target) : NULL};
  return !a.target || !a.target->family->tile || glow_block_walk(run->function->body, assign, &a);
}
