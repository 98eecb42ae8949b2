/* Pools: a maximum pool that alone reads the result of a convolution becomes part of it, where that
 * pays on the target.
 *
 *   convolution @out %t, .. {strategy = winograd} ^epilogue ..;  max_pool @out %y, @in %t {..}
 *     becomes   convolution @out %y, .. {strategy = winograd, pool_kernels = [2, 2], ..} ^epilogue
 * ..
 *
 * The convolution moves down to the pool, so nothing in between may write what it reads. The result
 * of the convolution must be in memory if the pool also says where its maxima stood, or if another
 * instruction reads that result: then both stay. */
#include "ir/infer.h"
#include "target/target.h"
#include "transforms/programs.h"

static bool all_known(const GlowNode *n) {
  for (uint32_t i = 0; i < n->noperands; i++)
    if (n->operands[i].value && !glow_type_is_known(n->operands[i].value->type))
      return false;
  return true;
}

/* Why pool n stays; NULL: *c is the convolution that it becomes part of. */
static const char *obstacle(const GlowNode *n, GlowNode **c) {
  const GlowMaxPoolMembers *m = n->members;
  GlowMaxPoolMembers pool;
  GlowValue *link = glow_node_in(n, GLOW_MAX_POOL_IN_X);
  if (n->nouts > GLOW_MAX_POOL_OUT_ARGMAX && n->operands[GLOW_MAX_POOL_OUT_ARGMAX].value)
    return "it also says where its maxima stood";
  *c = glow_instr_producer(n, link);
  if (!*c || (*c)->op != GLOW_OP_CONVOLUTION || glow_node_pool(*c, &pool))
    return "no convolution computes what it alone reads";
  const GlowConvolutionMembers *conv = (*c)->members;
  if (conv->layout != m->layout || !all_known(*c))
    return "the order of its axes is another, or extents are not known";
  const char *why = NULL;
  return glow_target_fuses(glow_target_asked(n->block->module), *c, n, &why) ? NULL : why;
}

static GlowNode *fuse(GlowPassRun *run, GlowNode *c, GlowNode *n) {
  const GlowMaxPoolMembers *pool = n->members;
  GlowConvolutionMembers members = *(const GlowConvolutionMembers *)c->members;
  members.pool_kernels = pool->kernels;
  members.pool_strides = pool->strides;
  members.pool_pads = pool->pads;
  GlowValue *link = c->operands[0].value;
  GlowMap *map = glow_map_create(run->arena);
  glow_map_set(map, link, n->operands[0].value);
  glow_program_begin_change(run);
  GlowBuilder b = glow_builder_before(n);
  GlowNode *fused = glow_node_clone(&b, c, map);
  *(GlowConvolutionMembers *)fused->members = members;
  glow_pass_changed(run, n, "pools what the convolution computes before it is stored");
  glow_instr_replace_pair(c, n, fused);
  glow_buffer_remove(link);
  return fused;
}

static void fuse_block(GlowPassRun *run, GlowBlock *b, int64_t *bytes) {
  for (GlowNode *n = b->first, *next; n; n = next) {
    GlowNode *c = NULL;
    next = n->next;
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar)
        fuse_block(run, n->regions[i], bytes);
    if (n->op != GLOW_OP_MAX_POOL)
      continue;
    const char *why = obstacle(n, &c);
    if (why) {
      glow_pass_remark(run, glow_node_loc(n), "max_pool stays: %s", why);
      continue;
    }
    *bytes += glow_type_bytes(c->operands[0].value->type);
    next = fuse(run, c, n)->next;
  }
}

bool glow_pass_fuse_pool(GlowPassRun *run) {
  int64_t bytes = 0;
  uint64_t before = run->changes;
  glow_function_number(run->function);
  fuse_block(run, run->function->body, &bytes);
  glow_program_saved(run, run->changes - before, "buffers", bytes);
  return true;
}
