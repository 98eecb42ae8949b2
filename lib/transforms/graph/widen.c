/* Contractions on float16 and bfloat16 compute on float, where their fast kernels are:
 *
 *   y = Convolution(x, w)   becomes   a = Convolution(Cast(x), Cast(w)) : float
 *                                     y = Cast(a) to float16, which is cast to float for the next
 *
 * Constants are cast once, in `eval` initializers. Nodes that read such a y compute on float, too,
 * if the description of their operator says that it computes 16-bit floats in float. If the
 * operator rounds its result, the pair of casts behind it does this rounding (-fuse-epilogue and
 * -stack make it part of a loop); if it does not round, the pair is left out. So between the
 * borders values are floats in memory, and have the same numbers as before.
 *
 * Exact: the operators round once (docs/Numerics.md, section 1), and this is that rounding. */
#include "ops/infer.h"
#include "pass/pass.h"
#include "transforms/recast.h"

/* Whether n computes in float with its 16-bit operands, and would with float in their place. */
static bool has_float_body(const GlowRecast *r, const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  GlowKind now[GLOW_MAX_RANK], then[GLOW_MAX_RANK];
  uint32_t nins = glow_node_nins(n);
  if (!d->has_scalar || nins > GLOW_MAX_RANK)
    return false;
  for (uint32_t i = 0; i < nins; i++) {
    const GlowValue *v = glow_node_in(n, i);
    now[i] = then[i] = v ? v->type->kind : GLOW_KIND_COUNT;
    if (glow_recast_takes(r, v))
      then[i] = r->to;
  }
  GlowKind kind = glow_op_compute_kind(d, now, nins);
  return ((r->from | GLOW_KIND_BIT(r->to)) & GLOW_KIND_BIT(kind)) &&
         glow_op_compute_kind(d, then, nins) == r->to;
}

static bool rounds(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  return !GLOW_HAS(d, ROUNDS_NEVER) && !GLOW_HAS(d, MOVEMENT);
}

/* Whether an operand is computed as float already. */
static bool follows(const GlowRecast *r, const GlowNode *n) {
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    const GlowValue *v = glow_node_in(n, i);
    if (v && v->kind != GLOW_VALUE_STORAGE && glow_map_get(r->stand_ins, v))
      return true;
  }
  return false;
}

static bool is_widened(const GlowRecast *r, const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  bool once = GLOW_HAS(d, ROUNDS_ONCE);
  if (!once && !GLOW_HAS(d, ROUNDS_NEVER) && !GLOW_HAS(d, MOVEMENT) && !d->has_scalar)
    return false;
  return glow_recast_fits(r, n) && (!d->has_scalar || has_float_body(r, n)) &&
         ((once && glow_macs_hooks[n->op]) || follows(r, n));
}

bool glow_pass_widen(GlowPassRun *run) {
  GlowRecast r = glow_recast_begin(
      run, GLOW_KIND_BIT(GLOW_KIND_FLOAT16) | GLOW_KIND_BIT(GLOW_KIND_BFLOAT16), GLOW_KIND_FLOAT);
  for (uint32_t i = 0; i < r.nodes.count; i++) {
    GlowNode *n = r.nodes.data[i];
    if (is_widened(&r, n) && !glow_recast_node(&r, n, rounds(n)))
      return false;
  }
  glow_recast_finish(&r);
  return true;
}
