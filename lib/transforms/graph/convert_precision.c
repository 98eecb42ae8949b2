/* Computing in a narrower kind: every pure operator on float computes in the kind `to`, if it is
 * defined for that kind.
 *
 *   y = Op(x, w)   becomes   y = Cast(Op(Cast(x), Cast(w))) back to float
 *
 * A Cast and its inverse behind it are left out. So Casts remain where float comes in and goes out:
 * at placeholders, variables and results, at operators that lack the kind, and at nodes that `keep`
 * names by operator, by result or by the model's name for the node. Constants are cast in `eval`
 * initializers. Shapes, integers, doubles, and the accumulators of contractions stay.
 *
 * Requested: each result is rounded to `to`, with its range. */
#include "pass/pass.h"
#include "transforms/recast.h"

typedef struct Convert {
  GlowRecast recast;
  GlowMap *kept; /* interned names of `keep` that were found, to themselves */
  const GlowStr *keep;
  uint32_t nkeep;
} Convert;

/* ---- Options --------------------------------------------------------------------------------- */

static bool read_kind(GlowPassRun *run, GlowKind *to) {
  const char *text = glow_pass_option(run, "to");
  *to = text ? glow_kind_from_name(text, strlen(text)) : GLOW_KIND_FLOAT16;
  if (*to == GLOW_KIND_FLOAT16 || *to == GLOW_KIND_BFLOAT16)
    return true;
  glow_error(run->ctx, (GlowLoc){0}, "-%s: to=%s is neither float16 nor bfloat16", run->pass->name,
             text);
  return false;
}

/* Splits keep=a,b,c. */
static void read_keep(Convert *c) {
  const char *at = glow_pass_option(c->recast.run, "keep");
  GLOW_VEC(GlowStr) names = {0};
  while (at && *at) {
    size_t length = strcspn(at, ",");
    if (length)
      glow_vec_push(c->recast.run->arena, &names,
                    glow_str_printf(c->recast.run->ctx, "%.*s", (int)length, at));
    at += length + (at[length] == ',');
  }
  c->keep = names.data;
  c->nkeep = names.count;
}

static bool keeps(Convert *c, const char *name) {
  for (uint32_t i = 0; name && i < c->nkeep; i++)
    if (strcmp(c->keep[i], name) == 0) {
      glow_map_set(c->kept, c->keep[i], (void *)(uintptr_t)c->keep[i]);
      return true;
    }
  return false;
}

/* ---- Which nodes ----------------------------------------------------------------------------- */

/* Whether n computes on float, and can do so in the new kind. A node without results of float
 * follows its operands. */
static bool is_convertible(Convert *c, const GlowNode *n) {
  bool wanted = false;
  for (uint32_t i = 0; i < glow_node_nins(n); i++)
    wanted |= glow_node_in(n, i) && glow_map_get(c->recast.stand_ins, glow_node_in(n, i));
  for (uint32_t i = 0; i < n->nresults; i++) {
    wanted |= glow_recast_takes(&c->recast, &n->results[i]);
    if (keeps(c, n->results[i].name))
      return false;
  }
  return wanted && glow_recast_fits(&c->recast, n) && !keeps(c, glow_node_desc(n)->node) &&
         !(n->origin && keeps(c, n->origin->name));
}

bool glow_pass_convert_precision(GlowPassRun *run) {
  Convert c = {.kept = glow_map_create(run->arena)};
  GlowKind to;
  if (!read_kind(run, &to))
    return false;
  c.recast = glow_recast_begin(run, GLOW_KIND_BIT(GLOW_KIND_FLOAT), to);
  read_keep(&c);
  for (uint32_t i = 0; i < c.recast.nodes.count; i++) {
    GlowNode *n = c.recast.nodes.data[i];
    if (is_convertible(&c, n) && !glow_recast_node(&c.recast, n, false))
      return false;
  }
  glow_recast_finish(&c.recast);
  for (uint32_t i = 0; i < c.nkeep; i++)
    if (!glow_map_get(c.kept, c.keep[i]))
      glow_pass_remark(run, (GlowLoc){0}, "keep=%s: no such operator or name in @%s", c.keep[i],
                       run->function->name);
  return true;
}
