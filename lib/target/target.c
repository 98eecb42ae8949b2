/* The table of families, and targets by name. */
#include "target/target.h"

#include <string.h>

#include "glow/target.h"

static const GlowTargetFamily *const families[] = {
#define FAMILY(name) &glow_target_family_##name,
#include "target/targets.def"
#ifdef GLOW_EXTRA_TARGETS
#include GLOW_EXTRA_TARGETS
#endif
#undef FAMILY
};
enum { FAMILIES = sizeof families / sizeof *families };

/* The target that follows t, or the first one if t is NULL. NULL: t is the last one. */
static const GlowTarget *next_target(const GlowTarget *t) {
  uint32_t f = 0;
  if (t && t + 1 < t->family->targets + t->family->count)
    return t + 1;
  while (t && families[f] != t->family)
    f++;
  f += t != NULL;
  return f < FAMILIES ? families[f]->targets : NULL;
}

static const char *const family_names[] = {
#define FAMILY(name) #name,
#include "target/targets.def"
#ifdef GLOW_EXTRA_TARGETS
#include GLOW_EXTRA_TARGETS
#endif
#undef FAMILY
};

const GlowTarget *glow_target_find(const char *name) {
  const GlowTarget *t = next_target(NULL);
  while (t && strcmp(t->name, name) != 0)
    t = next_target(t);
  return t;
}

const GlowTarget *glow_target_named(GlowContext *ctx, GlowLoc loc, const char *name) {
  const GlowTarget *found = glow_target_find(name);
  if (found)
    return found;
  GLOW_VEC(const char *) names = {0};
  const char *list = NULL;
  for (const GlowTarget *t = next_target(NULL); t; t = next_target(t)) {
    glow_vec_push(ctx->arena, &names, t->name);
    list = list ? glow_arena_printf(ctx->arena, "%s, %s", list, t->name) : t->name;
  }
  const char *near = glow_nearest(name, names.data, names.count);
  glow_error(ctx, loc, "unknown target '%s'%s%s%s", name, near ? "; did you mean '" : "",
             near ? near : "", near ? "'?" : "");
  glow_note(ctx, loc, "there are %s", list);
  return NULL;
}

static const GlowTarget *host_target(void) {
  const GlowTarget *t = NULL;
  for (uint32_t i = 0; i < FAMILIES && !t; i++)
    t = families[i]->host ? families[i]->host() : NULL;
  return t;
}

bool glow_target_of(const GlowModule *m, const GlowTarget **t) {
  *t = m->target ? glow_target_named(m->ctx, m->src, m->target) : host_target();
  return *t || !m->target;
}

const GlowTarget *glow_target_asked(const GlowModule *m) {
  const GlowTarget *t = m->target ? glow_target_find(m->target) : host_target();
  return t ? t : next_target(NULL);
}

GlowSupport glow_target_support(const GlowTarget *t, const GlowNode *n, const char **why) {
  return t->family->support ? t->family->support(t, n, why) : GLOW_NATIVE;
}

uint32_t glow_target_choices(const GlowTarget *t, const GlowNode *n,
                             GlowChoice choices[GLOW_CHOICES], const char **why) {
  return t->family->choices ? t->family->choices(t, n, choices, why) : 0;
}

bool glow_target_fuses(const GlowTarget *t, const GlowNode *into, const GlowNode *n,
                       const char **why) {
  return !t->family->fuses || t->family->fuses(t, into, n, why);
}

GlowEnumBf16Order glow_target_bf16_order(const GlowTarget *t) {
  return t->family->bf16_order ? t->family->bf16_order(t) : GLOW_BF16_ORDER_TILE;
}

bool glow_target_stores(const GlowTarget *t, const GlowNode *n, uint32_t i, GlowKind kind) {
  return t->family->stores && t->family->stores(t, n, i, kind);
}

void glow_targets_print(GlowText *out) {
  for (const GlowTarget *t = next_target(NULL); t; t = next_target(t)) {
    glow_text_printf(out, "  %-14s ", t->name);
    if (t->family->describe)
      t->family->describe(t, out);
    else
      glow_text_puts(out, t->family->about);
    glow_text_puts(out, t->family->lacks && t->family->lacks(t) ? "\n" : ", runs here\n");
  }
}

/* ---- The public functions -------------------------------------------------------------------- */
const char *glow_target_name(size_t i) {
  const GlowTarget *t = next_target(NULL);
  for (; t && i; i--)
    t = next_target(t);
  return t ? t->name : NULL;
}

const char *glow_target_host(const char *family) {
  const GlowTarget *t = family ? NULL : host_target();
  for (uint32_t i = 0; family && i < FAMILIES; i++)
    if (strcmp(family, family_names[i]) == 0 && families[i]->host)
      t = families[i]->host();
  return t ? t->name : NULL;
}

const char *glow_target_absent(const char *name) {
  const GlowTarget *t = name ? glow_target_find(name) : NULL;
  if (!t)
    return "there is no such target";
  return t->family->lacks ? t->family->lacks(t) : NULL;
}
