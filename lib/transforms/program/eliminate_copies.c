/* Removes copies whose readers can read the source instead of the target, and copies whose source
 * can be computed in the target at once (coalesce.c does both). */
#include "transforms/programs.h"

typedef struct Copies {
  GlowPassRun *run;
  uint64_t count;
  int64_t bytes;
} Copies;

static void eliminate(Copies *c, GlowNode *n) {
  GlowValue *to = n->operands[0].value, *from = glow_node_in(n, 0);
  const char *name = to->name ? to->name : "_", *source = from->name ? from->name : "_";
  int64_t bytes = glow_type_bytes(to->type);
  GlowLoc loc = glow_node_loc(n);
  glow_pass_check_limit(c->run);
  bool forwarded = glow_copy_forward(c->run, n);
  if (!forwarded && !glow_copy_merge(c->run, n))
    return;
  glow_program_begin_change(c->run);
  c->run->changes++;
  glow_pass_remark(c->run, loc, "%s is %s %s: %lld bytes", forwarded ? name : source,
                   forwarded ? "read as" : "computed in", forwarded ? source : name,
                   (long long)bytes);
  c->count++;
  c->bytes += bytes > 0 ? bytes : 0;
}

static void eliminate_in_block(Copies *c, GlowBlock *b) {
  for (GlowNode *n = b->first, *next; n; n = next) {
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar)
        eliminate_in_block(c, n->regions[i]);
    next = n->next;
    /* A dealloc that follows may be removed together with the copy. */
    while (next && next->op == GLOW_OP_DEALLOC)
      next = next->next;
    if (n->op == GLOW_OP_COPY)
      eliminate(c, n);
  }
}

bool glow_pass_eliminate_copies(GlowPassRun *run) {
  Copies c = {.run = run};
  glow_function_number(run->function);
  eliminate_in_block(&c, run->function->body);
  glow_program_saved(run, c.count, "copies", c.bytes);
  return true;
}
