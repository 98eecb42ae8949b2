/* Values of constants and variables. 0, 1 and random values count as simple, in no order, so that
 * none is ever replaced by another. */
#include "reduce/delta.h"

static bool is_simple(const GlowInit *init) {
  return init->kind == GLOW_INIT_RANDOM ||
         (init->kind == GLOW_INIT_SPLAT && (init->splat.f == 0 || init->splat.f == 1));
}

static bool is_complex(const GlowStorage *s) {
  return s->cls != GLOW_PLACEHOLDER && !is_simple(&s->init) && glow_type_is_static(s->value.type) &&
         glow_stand_in_fits(s->value.type, GLOW_STAND_IN_ONE);
}

static bool is_complex_float(const GlowStorage *s) {
  return is_complex(s) && glow_stand_in_fits(s->value.type, GLOW_STAND_IN_RANDOM);
}

/* The initializer goes through the constructor, which rounds it to the type. */
static void set(GlowDelta *d, GlowStorage *s, GlowInit init) {
  GlowStorage *fresh = glow_storage_create(d->module, s->cls, NULL, s->value.type, init);
  if (s->init.eval)
    while (s->init.eval->last)
      glow_node_remove(s->init.eval->last);
  s->init = fresh->init;
  glow_storage_remove(fresh);
}

static void to_one(GlowDelta *d, GlowStorage *s) { set(d, s, glow_init_splat(1)); }
static void to_zero(GlowDelta *d, GlowStorage *s) { set(d, s, glow_init_splat(0)); }
static void to_random(GlowDelta *d, GlowStorage *s) { set(d, s, glow_init_random()); }

void glow_delta_constants_to_one(GlowDelta *d) { glow_delta_each_storage(d, is_complex, to_one); }
void glow_delta_constants_to_zero(GlowDelta *d) { glow_delta_each_storage(d, is_complex, to_zero); }
void glow_delta_constants_to_random(GlowDelta *d) {
  glow_delta_each_storage(d, is_complex_float, to_random);
}
