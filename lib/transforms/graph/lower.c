/* Lowering: replaces nodes by what their rule of lib/lower builds. This happens to operators that
 * are defined by a rule, and to operators that have a rule and that the target refuses. Nodes that
 * a rule builds may be lowered again. Rules need extents, so integer arithmetic on constants is
 * folded first. An operator whose extents stay open is left as it is, with a remark, and so is an
 * operator on blocked layouts whose rule would lose them.
 *
 * With `all`, operators that have kernels are replaced, too, if they have a rule. Such rules give
 * the bits of the kernel. What is left are the primitives (see the generated page Primitives). */
#include "ops/lower.h"
#include "pass/pass.h"
#include "target/target.h"
#include "transforms/transforms.h"

typedef struct Lower {
  GlowPassRun *run;
  const GlowTarget *target;
  bool all;
} Lower;

/* Whether n is replaced if its rule applies. */
static bool is_lowered(const Lower *l, const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  const char *why;
  return GLOW_HAS(d, LOWERED) ||
         (d->has_lower && (l->all || glow_target_support(l->target, n, &why) == GLOW_REFUSED));
}

static bool lower_node(GlowNode *n, void *arg);

/* Lowers what a rule has built: the nodes behind `before` (NULL: from the start of the block) up to
 * `end`, and the nodes in their regions. */
static bool lower_built(GlowBlock *block, GlowNode *before, const GlowNode *end, void *arg) {
  for (GlowNode *n = before ? before->next : block->first, *next; n != end; n = next) {
    next = n->next;
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !glow_block_walk(n->regions[i], lower_node, arg))
        return false;
    if (!lower_node(n, arg))
      return false;
  }
  return true;
}

/* Whether each result has the layout of n's result. Only rules that work element by element keep
 * blocked layouts; the others know nothing of them. */
static bool keeps_layouts(const GlowNode *n, GlowValue *const *results) {
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowType *old = n->results[i].type, *now = results[i] ? results[i]->type : old;
    if (glow_type_is_tensor(old) && glow_type_is_tensor(now) && old->layout != now->layout)
      return false;
  }
  return true;
}

static bool lower_node(GlowNode *n, void *arg) {
  const Lower *l = arg;
  GlowPassRun *run = l->run;
  const GlowOpDesc *d = glow_node_desc(n);
  if (!is_lowered(l, n))
    return true;
  unsigned errors = glow_context_error_count(run->ctx);
  GlowBuilder b = glow_builder_before(n);
  GlowBlock *block = n->block;
  GlowNode *before = n->prev, *end = n->next;
  GlowValue **results = GLOW_NEW_ARRAY(run->arena, GlowValue *, n->nresults);
  bool applies = glow_lower_hooks[n->op](&b, n, results),
       plain = !applies || keeps_layouts(n, results);
  if (applies && plain) {
    glow_pass_changed(run, n, "lowered %s", d->node);
    glow_node_replace(n, results, n->nresults);
    return lower_built(block, before, end, arg);
  }
  if (glow_context_error_count(run->ctx) != errors)
    return false;
  while (n->prev != before)
    glow_node_remove(n->prev);
  glow_pass_remark(run, glow_node_loc(n), "%s stays: %s", d->node,
                   plain ? "its extents are not known" : "it works on blocks");
  return true;
}

bool glow_pass_lower(GlowPassRun *run) {
  if (!glow_fold_small_integers(run->function, run->arena, &run->changes))
    return false;
  Lower l = {run, glow_target_asked(run->module), glow_pass_option(run, "all") != NULL};
  return glow_block_walk(run->function->body, lower_node, &l);
}
