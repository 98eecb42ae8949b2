/* Storage that nothing uses, initializers of others included. */
#include "reduce/delta.h"

static bool is_named_by_gradient(const GlowGradientRef *refs, uint32_t count, GlowStr name) {
  for (uint32_t i = 0; i < count; i++)
    if (refs[i].is_storage && refs[i].name == name)
      return true;
  return false;
}

static bool is_unused(const GlowStorage *s) {
  for (const GlowFunction *f = s->module->first_function; f; f = f->next)
    if (is_named_by_gradient(f->from, f->nfrom, s->value.name) ||
        is_named_by_gradient(f->wrt, f->nwrt, s->value.name) ||
        is_named_by_gradient(f->keeping, f->nkeeping, s->value.name))
      return false;
  return !s->value.uses;
}

static void delete_storage(GlowDelta *d, GlowStorage *s) {
  (void)d;
  glow_storage_remove(s);
}

void glow_delta_storage(GlowDelta *d) { glow_delta_each_storage(d, is_unused, delete_storage); }
