/* Constants become variables, so that they can be trained: those of floating point and of rank 1 or
 * more, whose names match a glob.
 *
 *   -unfreeze='conv1.*,fc.weight'
 *
 * Scalars stay constants: they are parts of formulas, not weights. What an `eval` constant is
 * computed from has to stay constant, too.
 *
 * Requested: a variable is read when the program runs, so nothing is folded into others any more.
 */
#include "pass/pass.h"
#include "transforms/globs.h"
#include "transforms/transforms.h"

static bool can_train(const GlowStorage *s) {
  const GlowType *t = s->value.type;
  return s->cls == GLOW_CONSTANT && glow_type_is_tensor(t) && !t->unranked && t->rank > 0 &&
         glow_kind_is_float(t->kind) && !t->quantized;
}

/* The eval constant that is computed from s, or NULL. */
static const GlowStorage *eval_reader(const GlowStorage *s) {
  for (const GlowUse *u = s->value.uses; u; u = u->next) {
    const GlowBlock *b = u->user->block;
    for (const GlowBlock *up; (up = glow_block_parent(b));)
      b = up;
    if (b->owner == GLOW_BLOCK_EVAL)
      return b->of.storage;
  }
  return NULL;
}

static bool unfreeze(GlowPassRun *run, GlowStorage *s) {
  const GlowStorage *reader = eval_reader(s);
  if (reader) {
    glow_error(run->ctx, s->src,
               "-unfreeze: @%s cannot be a variable: the constant @%s is computed "
               "from it",
               s->value.name, reader->value.name);
    return false;
  }
  glow_pass_changed(run, NULL, "@%s is a variable", s->value.name);
  s->cls = GLOW_VARIABLE;
  return true;
}

bool glow_pass_unfreeze(GlowPassRun *run) {
  GLOW_VEC(GlowStorage *) chosen = {0};
  GLOW_VEC(const char *) names = {0};
  if (run->noptions != 1) {
    glow_error(run->ctx, GLOW_NOWHERE, "-unfreeze needs names: -unfreeze='conv1.*,fc.weight'");
    return false;
  }
  GlowGlobs globs = glow_globs_read(run, run->option_names[0]);
  for (GlowStorage *s = run->module->first_storage; s; s = s->next) {
    if (!can_train(s))
      continue;
    glow_vec_push(run->arena, &names, s->value.name);
    if (glow_globs_match(&globs, s->value.name))
      glow_vec_push(run->arena, &chosen, s);
  }
  bool ok = glow_globs_all_matched(&globs, "floating-point constant of rank 1 or more", names.data,
                                   names.count);
  for (uint32_t i = 0; ok && i < chosen.count; i++)
    ok = unfreeze(run, chosen.data[i]);
  return ok;
}
