/* Casts that lose nothing.
 *
 *   Cast(x) to its own kind                  -> x
 *   Cast(Cast(x : A to B) to C)              -> Cast(x) to C, or x if A is C
 *
 * if B holds every value of A, so that the second Cast reads the same number. From an integer A
 * over a floating-point B to an integer C, the Casts saturate, while a Cast from A to C wraps: so B
 * is left out only if C holds every value of A, too. Strings, complex and packed kinds stay. */
#include "transforms/rules.h"

typedef struct Range {
  bool ok, has_sign, is_float;
  int mantissa, exponent; /* bits of an integer's magnitude; of a float's significand */
} Range;

static Range range_of(GlowKind kind) {
  const GlowKindInfo *info = &glow_kind_info[kind];
  int bits = (int)info->bits;
  switch (kind) {
  case GLOW_KIND_FLOAT16:
    return (Range){true, true, true, 11, 5};
  case GLOW_KIND_BFLOAT16:
    return (Range){true, true, true, 8, 8};
  case GLOW_KIND_FLOAT:
    return (Range){true, true, true, 24, 8};
  case GLOW_KIND_DOUBLE:
    return (Range){true, true, true, 53, 11};
  case GLOW_KIND_BOOL:
    return (Range){true, false, false, 1, 0};
  default:
    if (bits < 8 || !glow_kind_is_integer(kind))
      return (Range){.ok = false};
    bool has_sign = info->cls == GLOW_CLASS_SINT;
    return (Range){true, has_sign, false, bits - has_sign, 0};
  }
}

/* Whether `to` holds every value of `from`. */
static bool holds(GlowKind to, GlowKind from) {
  Range a = range_of(from), b = range_of(to);
  if (!a.ok || !b.ok)
    return false;
  if (from == to)
    return true;
  if (a.is_float)
    return b.is_float && b.mantissa >= a.mantissa && b.exponent >= a.exponent;
  if (b.is_float) /* |MIN| is a power of two; float16 ends at 65504 */
    return b.mantissa >= a.mantissa && (b.exponent > 5 || a.mantissa <= 11);
  return to != GLOW_KIND_BOOL && b.mantissa >= a.mantissa && (b.has_sign || !a.has_sign);
}

static bool detour_is_exact(GlowKind a, GlowKind b, GlowKind c) {
  if (!holds(b, a) || !range_of(c).ok)
    return false;
  bool saturates = range_of(b).is_float && !range_of(a).is_float && glow_kind_is_integer(c);
  return !saturates || holds(c, a);
}

static bool is_plain(const GlowValue *v) {
  return glow_type_is_tensor(v->type) && !v->type->quantized;
}

static GlowValue *same_kind(GlowPassRun *run, GlowNode *n) {
  (void)run;
  GlowValue *x = glow_node_in(n, 0);
  return is_plain(x) && is_plain(&n->results[0]) && x->type->kind == n->results[0].type->kind
             ? x
             : NULL;
}

static GlowValue *chain(GlowPassRun *run, GlowNode *n) {
  (void)run;
  GlowValue *between = glow_node_in(n, 0);
  const GlowNode *inner = glow_match(between, GLOW_OP_CAST, n);
  if (!inner)
    return NULL;
  GlowValue *x = glow_node_in(inner, 0);
  GlowKind to = ((const GlowCastMembers *)n->members)->to;
  if (!is_plain(x) || !is_plain(between) || !is_plain(&n->results[0]) ||
      !detour_is_exact(x->type->kind, between->type->kind, to))
    return NULL;
  if (x->type->kind == to)
    return x;
  GlowBuilder b = glow_builder_before(n);
  return glow_build1(&b, GLOW_OP_CAST, x, n->members, NULL);
}

static const GlowRule rules[] = {
    {GLOW_OP_CAST, same_kind, "dropped a Cast to the same kind"},
    {GLOW_OP_CAST, chain, "dropped a Cast that loses nothing"},
};

bool glow_pass_simplify_cast(GlowPassRun *run) {
  return glow_rules_run(run, rules, sizeof rules / sizeof *rules);
}
