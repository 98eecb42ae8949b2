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

enum { GLOW_CHOICES = 4, GLOW_CHOICE_PORTS = 3, GLOW_TILE_VALUES = 3 };

/* A way to compute a node in layouts of the target's own. */
typedef struct GlowChoice {
  const GlowLayout *in[GLOW_CHOICE_PORTS], *out; /* of operands and results; NULL: plain */
  uint32_t packed; /* bit i: operand i is laid out for this kernel, like a filter */
} GlowChoice;

/* How a target computes what a node does; better is greater. */
typedef enum GlowSupport {
  GLOW_REFUSED,   /* not at all */
  GLOW_HOSTED,    /* it leaves the node to the interpreter */
  GLOW_REFERENCE, /* by the reference kernel */
  GLOW_NATIVE     /* by a kernel of its own, or without any */
} GlowSupport;

/* Places in pipelines where targets differ. */
typedef enum GlowSlot {
  GLOW_SLOT_LAYOUT, /* behind the strategies of a graph */
  GLOW_SLOT_PLACE,  /* at the end of a program: how each instruction runs, where each buffer lies */
  GLOW_SLOT_COUNT
} GlowSlot;

/* Functions may be NULL where the comment says what that means. *why gets a reason for people. */
typedef struct GlowTargetFamily {
  const char *about;         /* what all of its targets are, for people; `describe` says more */
  const GlowTarget *targets; /* best last */
  uint32_t count;
  /* The best for this host, or NULL. NULL: the family is for those who name it. */
  const GlowTarget *(*host)(void);
  /* What this process would need to run code for a target; NULL: it can. NULL: it always can. */
  const char *(*lacks)(const GlowTarget *t);
  /* Appends what a target is, for people. NULL: `about` says it. */
  void (*describe)(const GlowTarget *t, GlowText *out);
  /* The layout, of four axes, of what nodes with choices hand on in blocks of channels; a node
   * between them may join in. NULL: there are no blocks. */
  const char *blocks;
  const char *passes[GLOW_SLOT_COUNT]; /* what -O1 and -O2 have in a slot; NULL: nothing */
  /* How well a target computes a node or an instruction. NULL: everything is native. */
  GlowSupport (*support)(const GlowTarget *t, const GlowNode *n, const char **why);
  /* The ways to compute a node, or an instruction, the best first; how many. 0: operands and
   * results stay as they are; *why is set if another node of the operator would have a choice.
   * NULL: there is none ever. */
  uint32_t (*choices)(const GlowTarget *t, const GlowNode *n, GlowChoice choices[GLOW_CHOICES],
                      const char **why);
  /* Whether the kernel of instruction `into` does well to do what n does to its result: as its
   * epilogue, by pooling it, or in the same loop. NULL: it always does. */
  bool (*fuses)(const GlowTarget *t, const GlowNode *into, const GlowNode *n, const char **why);
  /* What the member `tile` of an instruction should be: how many values; 0: nothing. Shows in no
   * result. NULL: nothing ever. */
  uint32_t (*tile)(const GlowTarget *t, const GlowNode *n, uint32_t values[GLOW_TILE_VALUES],
                   const char **why);
  /* Into how many pieces threads may cut work of so many multiply-adds, or bytes that are moved; at
   * least 1. NULL: 1. */
  int64_t (*shards)(const GlowTarget *t, int64_t cost);
} GlowTargetFamily;

/* The target called `name`, of any family; NULL: there is none. */
const GlowTarget *glow_target_find(const char *name);
/* The same; NULL after a diagnostic at loc that lists those there are. */
const GlowTarget *glow_target_named(GlowContext *ctx, GlowLoc loc, const char *name);
/* What a module is compiled for: its target, else the best for this host of the first family that
 * has one. False after a diagnostic; *t is NULL if the module names none and this host has none. */
bool glow_target_of(const GlowModule *m, const GlowTarget **t);
/* Whom to ask what a target decides for modules without one, too: the module's target, else this
 * host's, else the first. */
const GlowTarget *glow_target_asked(const GlowModule *m);
/* `support`, `choices` and `fuses` of a target, with what NULL means. */
GlowSupport glow_target_support(const GlowTarget *t, const GlowNode *n, const char **why);
uint32_t glow_target_choices(const GlowTarget *t, const GlowNode *n,
                             GlowChoice choices[GLOW_CHOICES], const char **why);
bool glow_target_fuses(const GlowTarget *t, const GlowNode *into, const GlowNode *n,
                       const char **why);
/* A line for each target, for people. */
void glow_targets_print(GlowText *out);

#define FAMILY(name) extern const GlowTargetFamily glow_target_family_##name;
#include "target/targets.def"
#ifdef GLOW_EXTRA_TARGETS /* a build for tests may have rows of its own: a file */
#include GLOW_EXTRA_TARGETS
#endif
#undef FAMILY

#endif
