/* Giving nodes of a graph other layouts, one node at a time.
 *
 *   y = Op(x)   becomes   y = Relayout(Op(Relayout(x)))
 *
 * Relayouts that meet are left out, so that they remain where a layout begins and ends. After each
 * node the graph is sound. */
#ifndef GLOW_TRANSFORMS_RELAYOUT_H
#define GLOW_TRANSFORMS_RELAYOUT_H

#include "analysis/layouts.h"
#include "pass/pass.h"
#include "transforms/transforms.h"

typedef struct GlowRelayouts {
  GlowPassRun *run;
  GlowMap *known;             /* values to what was built for them in another layout */
  GLOW_VEC(GlowNode *) exits; /* Relayouts behind nodes that were rebuilt; dead ones go */
} GlowRelayouts;

GlowRelayouts glow_relayouts_begin(GlowPassRun *run);
/* Whether v is in this layout, or Relayouts lead to v from a value in this layout. */
bool glow_value_comes_in(GlowValue *v, const GlowLayout *layout);
/* v, an operand of `user`, in a layout (NULL: plain): v itself or the value that it is a Relayout
 * of, if that is in this layout; else what was built for v before; else a new Relayout, or for a
 * constant a new eval constant. NULL after a diagnostic. */
GlowValue *glow_value_in(GlowRelayouts *r, GlowValue *v, const GlowLayout *layout, GlowNode *user);
/* v with leading axes of extent 1, so that it has four. NULL after a diagnostic. */
GlowValue *glow_value_with_four_axes(GlowRelayouts *r, GlowValue *v, GlowNode *user);
/* Builds n again with the operands `ins` and results of `types`, and counts that as a rewrite,
 * which `what` describes. *changed is false if n has these operands and types already. False after
 * a diagnostic. */
bool glow_node_rebuild(GlowRelayouts *r, GlowNode *n, GlowValue *const *ins,
                       const GlowType *const *types, const char *what, bool *changed);
/* If the Relayout n has a Relayout as its operand, leaves one of them, or none if they cancel
 * out. */
void glow_relayout_shorten(GlowRelayouts *r, GlowNode *n);
/* Drops Relayouts that nobody needs, and gives names back. */
void glow_relayouts_end(GlowRelayouts *r);

/* A constant of the same value in another layout (NULL: plain): `v` itself, what v is a Relayout
 * of, or a new eval constant. NULL after a diagnostic. */
GlowValue *glow_constant_relayout(GlowModule *m, GlowArena *arena, GlowValue *v,
                                  const GlowLayout *layout, const GlowNode *user);

#endif
