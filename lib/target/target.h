/* Targets: what Glow knows of machines without generating code for them. Passes know no machine:
 * they ask a target about everything that differs between machines. Targets are constants. Each
 * belongs to a family (targets.def), whose functions answer for all of its targets. */
#ifndef GLOW_TARGET_TARGET_H
#define GLOW_TARGET_TARGET_H

#include "ir/ir.h"

typedef struct GlowTarget {
  const char *name; /* what `target =` and -target say; no two families have the same */
  const struct GlowTargetFamily *family;
  const void *machine; /* the family's own description of it: a GlowIsa for `cpu`; or NULL */
} GlowTarget;

enum { GLOW_CHOICES = 4, GLOW_CHOICE_PORTS = 4, GLOW_TILE_VALUES = 3 };

/* A way to compute a node in layouts of the target's own. */
typedef struct GlowChoice {
  const GlowLayout *in[GLOW_CHOICE_PORTS], *out; /* of operands and results; NULL: plain */
  uint32_t packed; /* bit i: operand i is laid out for this kernel, like a filter */
} GlowChoice;

/* How a target computes what a node does; better is greater. */
typedef enum GlowSupport {
  GLOW_REFUSED,   /* not at all */
  GLOW_HOSTED,    /* the interpreter runs the node */
  GLOW_REFERENCE, /* by the reference kernel */
  GLOW_NATIVE     /* by a kernel of its own, or without any */
} GlowSupport;

/* Places in pipelines where targets differ. */
typedef enum GlowSlot {
  GLOW_SLOT_LAYOUT, /* behind the strategies of a graph */
  GLOW_SLOT_PLACE,  /* at the end of a program: how each instruction runs, where each buffer lies */
  GLOW_SLOT_COUNT
} GlowSlot;

/* A function may be NULL if its comment says what holds `without it`. *why gets a reason for
 * people. */
typedef struct GlowTargetFamily {
  const char *about;         /* what all of its targets are, for people; `describe` says more */
  const GlowTarget *targets; /* best last */
  uint32_t count;
  /* The best target for this host, or NULL. Without it: only modules that name a target of this
   * family get one. */
  const GlowTarget *(*host)(void);
  /* What this process lacks to run code for a target; NULL if it can. Without it: it always can. */
  const char *(*lacks)(const GlowTarget *t);
  /* Appends what a target is, for people. Without it: `about` is shown. */
  void (*describe)(const GlowTarget *t, GlowText *out);
  /* The layout of four axes in which nodes with choices hand activations to each other, in blocks
   * of channels. Nodes between them may use it, too. NULL: there are no blocks. */
  const char *blocks;
  const char *passes[GLOW_SLOT_COUNT]; /* what -O1 and -O2 have in a slot; NULL: nothing */
  /* How well a target computes a node or an instruction. Without it: everything is native. */
  GlowSupport (*support)(const GlowTarget *t, const GlowNode *n, const char **why);
  /* Writes the ways to compute a node or an instruction, the best first; returns how many. 0:
   * operands and results stay as they are, and *why is set if another node of the same operator
   * would have a choice. Without it: 0 for all nodes. */
  uint32_t (*choices)(const GlowTarget *t, const GlowNode *n, GlowChoice choices[GLOW_CHOICES],
                      const char **why);
  /* Whether it pays that the kernel of instruction `into` also does what n does to the result: as
   * an epilogue, by pooling, or in the same loop. Without it: it always pays. */
  bool (*fuses)(const GlowTarget *t, const GlowNode *into, const GlowNode *n, const char **why);
  /* Whether the kernel of instruction n, which computes on float, takes or makes operand i as well
   * where its elements are stored in 16 bits, as `kind`. Without it: no kernel does. */
  bool (*stores)(const GlowTarget *t, const GlowNode *n, uint32_t i, GlowKind kind);
  /* Writes what the member `tile` of an instruction should be; returns how many values it has, 0
   * for none. No result depends on it. Without it: always 0. */
  uint32_t (*tile)(const GlowTarget *t, const GlowNode *n, uint32_t values[GLOW_TILE_VALUES],
                   const char **why);
  /* Into how many pieces threads may cut work of this cost: the number of multiply-adds, or of
   * bytes that are moved. At least 1. Without it: 1. */
  int64_t (*shards)(const GlowTarget *t, int64_t cost);
  /* The order of sums of bfloat16 products that it computes fast. Without it: that of tiles. */
  GlowEnumBf16Order (*bf16_order)(const GlowTarget *t);
} GlowTargetFamily;

/* The target called `name`, of any family; NULL: there is none. */
const GlowTarget *glow_target_find(const char *name);
/* The same; NULL after a diagnostic at loc that lists those there are. */
const GlowTarget *glow_target_named(GlowContext *ctx, GlowLoc loc, const char *name);
/* What a module is compiled for: its target, else the best for this host of the first family that
 * has one. False after a diagnostic; *t is NULL if the module names none and this host has none. */
bool glow_target_of(const GlowModule *m, const GlowTarget **t);
/* The target to ask about a module that may name none: the module's, else this host's, else the
 * first. */
const GlowTarget *glow_target_asked(const GlowModule *m);
/* `support`, `choices`, `fuses`, `stores` and `bf16_order` of a target, also where its family
 * is without them. */
GlowSupport glow_target_support(const GlowTarget *t, const GlowNode *n, const char **why);
uint32_t glow_target_choices(const GlowTarget *t, const GlowNode *n,
                             GlowChoice choices[GLOW_CHOICES], const char **why);
bool glow_target_fuses(const GlowTarget *t, const GlowNode *into, const GlowNode *n,
                       const char **why);
bool glow_target_stores(const GlowTarget *t, const GlowNode *n, uint32_t i, GlowKind kind);
GlowEnumBf16Order glow_target_bf16_order(const GlowTarget *t);
/* A line for each target, for people. */
void glow_targets_print(GlowText *out);

#define FAMILY(name) extern const GlowTargetFamily glow_target_family_##name;
#include "target/targets.def"
#ifdef GLOW_EXTRA_TARGETS /* a build for tests may have rows of its own: a file */
#include GLOW_EXTRA_TARGETS
#endif
#undef FAMILY

#endif
