/* Options and storage that the parts of -train share. */
#include <math.h>

#include "transforms/training/training.h"

double glow_training_number(GlowTraining *t, const char *name, double initial) {
  const char *text = glow_pass_option(t->run, name);
  if (!text)
    return initial;
  char *end;
  double v = glow_parse_double(text, &end);
  if (!*end && end != text && isfinite(v))
    return v;
  glow_error(t->ctx, GLOW_NOWHERE, "-%s: %s=%s is no number", t->run->pass->name, name, text);
  return (double)NAN;
}

GlowStorage *glow_training_port(GlowTraining *t, const char *name, const GlowType *type) {
  GlowStr wanted = glow_str(t->ctx, name);
  GlowStorage *s = glow_module_storage(t->module, wanted);
  if (!s)
    return glow_storage_create(t->module, GLOW_PLACEHOLDER, wanted, type, (GlowInit){0});
  if (s->cls == GLOW_PLACEHOLDER && s->value.type == type)
    return s;
  glow_error(t->ctx, s->src, "-%s: @%s must be a placeholder of type %s", t->run->pass->name, name,
             glow_type_str(t->ctx, type));
  return NULL;
}

GlowStorage *glow_training_variable(GlowTraining *t, GlowStr name, const GlowType *type,
                                    GlowScalar value) {
  GlowStorage *old = glow_module_storage(t->module, name);
  GlowInit init = {.kind = GLOW_INIT_SPLAT, .splat = value};
  if (!old)
    return glow_storage_create(t->module, GLOW_VARIABLE, name, type, init);
  glow_error(t->ctx, old->src, "-%s: the module has @%s already", t->run->pass->name, name);
  return NULL;
}

bool glow_training_save(GlowTraining *t, GlowValue *v, GlowStorage *s) {
  if (v && s && t->finite && s->cls == GLOW_VARIABLE)
    v = glow_then3(&t->b, GLOW_OP_WHERE, t->finite, v, &s->value);
  GlowValue *ins[] = {v, s ? &s->value : NULL};
  return v && s && glow_build(&t->b, GLOW_OP_SAVE, ins, 2, NULL, NULL);
}
