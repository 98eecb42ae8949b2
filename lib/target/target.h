/* Targets: what is known of machines without a line of code for them. What differs between machines
 * is asked of a target; no pass knows a machine. Targets are constants, in families that answer for
 * all of their own (targets.def). */
#ifndef GLOW_TARGET_TARGET_H
#define GLOW_TARGET_TARGET_H

#include "ir/ir.h"

typedef struct GlowTarget {
  const char *name; /* what `target =` and -target say; no two families have the same */
  const struct GlowTargetFamily *family;
  const void *machine; /* what the family knows of it, of `cpu` a GlowIsa; NULL: nothing */
} GlowTarget;

/* Functions may be NULL where the comment says what that means. */
typedef struct GlowTargetFamily {
  const char *name, *about;
  const GlowTarget *targets; /* best last */
  uint32_t count;
  /* The best for this host, or NULL. NULL: the family is for those who name it. */
  const GlowTarget *(*host)(void);
  /* What this process would need to run code for a target; NULL: it can. NULL: it always can. */
  const char *(*lacks)(const GlowTarget *t);
  /* Appends what a target is, for people. NULL: `about` says it. */
  void (*describe)(const GlowTarget *t, GlowText *out);
} GlowTargetFamily;

/* The target called `name`, of any family; NULL: there is none. */
const GlowTarget *glow_target_find(const char *name);
/* The same; NULL after a diagnostic at loc that lists those there are. */
const GlowTarget *glow_target_named(GlowContext *ctx, GlowLoc loc, const char *name);
/* The best for this host of the first family that has one; NULL: none has. */
const GlowTarget *glow_target_host(void);
/* What a module is compiled for: its target, else glow_target_host. False after a diagnostic; *t is
 * NULL if the module names none and this host has none. */
bool glow_target_of(const GlowModule *m, const GlowTarget **t);
/* A line for each target, for people. */
void glow_targets_print(GlowText *out);

#define FAMILY(name) extern const GlowTargetFamily glow_target_family_##name;
#include "target/targets.def"
#undef FAMILY

#endif
