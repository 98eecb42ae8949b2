/* See bindings.h. */
#include "tensor/bindings.h"

GlowTensor *glow_bindings_find(const GlowBindings *b, GlowStr name) {
  for (uint32_t i = 0; b && i < b->count; i++)
    if (b->data[i].name == name)
      return b->data[i].tensor;
  return NULL;
}

/* Tells the ranges of symbols, since types do not show them. */
static void note_ranges(GlowContext *ctx, const GlowType *t, GlowLoc loc) {
  for (uint32_t i = 0; i < t->rank; i++)
    if (t->dims[i].extent)
      glow_note(ctx, loc, "$%s is %s", t->dims[i].symbol, glow_extent_str(ctx, t->dims[i].extent));
}

GlowTensor *glow_bindings_take(GlowContext *ctx, const GlowBindings *b, GlowStr name,
                               const GlowType *type, GlowLoc loc) {
  GlowTensor *t = glow_bindings_find(b, name);
  if (!t)
    glow_error(ctx, loc, "input '%s' of type %s is not given", name, glow_type_str(ctx, type));
  if (!t || (t->type->cls == type->cls && glow_type_fit(type, t->type) != GLOW_FIT_CONTRADICTS))
    return t;
  glow_error(ctx, loc, "input '%s' is %s, but it is declared as %s", name,
             glow_type_str(ctx, t->type), glow_type_str(ctx, type));
  note_ranges(ctx, type, loc);
  return NULL;
}
