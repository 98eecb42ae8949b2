/* Scalar bodies as nodes. The identities below hold to the bit for every kind, since all NaNs count
 * as equal, integers wrap, and Max puts -0 below +0 (docs/Numerics.md). */
#include "lower/expand.h"

static bool is_half(GlowKind k) { return k == GLOW_KIND_FLOAT16 || k == GLOW_KIND_BFLOAT16; }

GlowExpand glow_expand_begin(GlowBuilder *b, const GlowNode *n, uint32_t key) {
  const GlowType *t = glow_node_in(n, key)->type;
  GlowKind kind = is_half(t->kind) || t->quantized ? GLOW_KIND_FLOAT : t->kind;
  return (GlowExpand){.b = b, .n = n, .kind = kind};
}

/* v as a tensor of rank 0 if it has one element but more axes than the result, as a limit of Clip
 * may have: it could not be broadcast to the result. Else v itself. */
static GlowValue *without_axes(GlowExpand *e, GlowValue *v) {
  const GlowType *y = e->n->results[0].type, *t = v->type;
  if (y->unranked || t->unranked || t->rank <= y->rank || glow_type_elements(t) != 1)
    return v;
  return glow_build_shaped(e->b, e->n, v, 0, NULL);
}

GlowValue *glow_expand_in(GlowExpand *e, uint32_t i) {
  GlowValue *v = glow_node_in(e->n, i);
  v = v ? without_axes(e, v) : NULL;
  if (!v)
    return NULL;
  if (v->type->quantized)
    return glow_build1(e->b, GLOW_OP_DEQUANTIZE, v, NULL, NULL);
  return is_half(v->type->kind) ? glow_then_cast(e->b, v, GLOW_KIND_FLOAT) : v;
}

bool glow_expand_end(GlowExpand *e, GlowValue *v, GlowValue **results) {
  const GlowType *type = e->n->results[0].type;
  if (v && type->quantized) {
    GlowNode *q = glow_node_create(
        e->b, &(GlowNodeSpec){.op = GLOW_OP_QUANTIZE, .ins = &v, .nins = 1, .types = &type});
    v = q ? &q->results[0] : NULL;
  } else if (v && v->type->kind != type->kind) {
    v = glow_then_cast(e->b, v, type->kind);
  }
  results[0] = v;
  return v != NULL;
}

GlowValue *glow_expand_number(GlowExpand *e, double v) {
  const GlowKindInfo *kind = &glow_kind_info[e->kind];
  if (kind->cls == GLOW_CLASS_UINT && v < 0) /* as C converts it */
    return glow_expand_2(e, GLOW_OP_SUB, glow_build_scalar(e->b, e->kind, 0),
                         glow_build_scalar(e->b, e->kind, -v));
  return glow_build_scalar(e->b, e->kind, v);
}

GlowValue *glow_expand_real(GlowExpand *e, GlowKind kind, double v) {
  return glow_build_scalar(e->b, kind, v);
}

GlowValue *glow_expand_whole(GlowExpand *e, GlowKind kind, uint64_t v) {
  const GlowType *type = glow_type_scalar(e->b->module->ctx, kind);
  bool is_signed = glow_kind_info[kind].cls == GLOW_CLASS_SINT;
  double f = is_signed ? (double)(int64_t)v : (double)v;
  return glow_build_filled(e->b, type, (GlowScalar){.is_int = true, .i = (int64_t)v, .f = f});
}

/* A number of x's kind, which inside of functions may differ from the compute type. */
static GlowValue *number_like(GlowExpand *e, const GlowValue *x, double v) {
  GlowExpand of = *e;
  of.kind = x ? x->type->kind : e->kind;
  return glow_expand_number(&of, v);
}

GlowValue *glow_expand_bool(GlowExpand *e, bool v) {
  return glow_build_scalar(e->b, GLOW_KIND_BOOL, v);
}

GlowValue *glow_expand_1(GlowExpand *e, GlowOp op, GlowValue *x) {
  return glow_then1(e->b, op, x, NULL);
}

GlowValue *glow_expand_2(GlowExpand *e, GlowOp op, GlowValue *x, GlowValue *y) {
  return glow_then2(e->b, op, x, y);
}

GlowValue *glow_expand_3(GlowExpand *e, GlowOp op, GlowValue *x, GlowValue *y, GlowValue *z) {
  return glow_then3(e->b, op, x, y, z);
}

/* ---- Comparisons and logic ------------------------------------------------------------------- */
GlowValue *glow_expand_greater(GlowExpand *e, GlowValue *x, GlowValue *y) {
  return glow_expand_2(e, GLOW_OP_LESS, y, x);
}

GlowValue *glow_expand_and(GlowExpand *e, GlowValue *x, GlowValue *y) {
  return glow_expand_3(e, GLOW_OP_WHERE, x, y, glow_expand_bool(e, false));
}

GlowValue *glow_expand_or(GlowExpand *e, GlowValue *x, GlowValue *y) {
  return glow_expand_3(e, GLOW_OP_WHERE, x, glow_expand_bool(e, true), y);
}

GlowValue *glow_expand_not(GlowExpand *e, GlowValue *x) {
  return glow_expand_2(e, GLOW_OP_EQUAL, x, glow_expand_bool(e, false));
}

/* This cannot be Not(Less(y, x)), which is true for NaN: NaN is neither less nor equal. */
GlowValue *glow_expand_less_or_equal(GlowExpand *e, GlowValue *x, GlowValue *y) {
  return glow_expand_or(e, glow_expand_2(e, GLOW_OP_LESS, x, y),
                        glow_expand_2(e, GLOW_OP_EQUAL, x, y));
}

GlowValue *glow_expand_greater_or_equal(GlowExpand *e, GlowValue *x, GlowValue *y) {
  return glow_expand_less_or_equal(e, y, x);
}

GlowValue *glow_expand_not_equal(GlowExpand *e, GlowValue *x, GlowValue *y) {
  return glow_expand_not(e, glow_expand_2(e, GLOW_OP_EQUAL, x, y));
}

/* ---- Bits ------------------------------------------------------------------------------------ */
/* x | y = x + y - (x & y). */
GlowValue *glow_expand_bit_or(GlowExpand *e, GlowValue *x, GlowValue *y) {
  GlowValue *sum = glow_expand_2(e, GLOW_OP_ADD, x, y);
  return glow_expand_2(e, GLOW_OP_SUB, sum, glow_expand_2(e, GLOW_OP_BITWISE_AND, x, y));
}

/* x ^ y = (x | y) - (x & y). */
GlowValue *glow_expand_bit_xor(GlowExpand *e, GlowValue *x, GlowValue *y) {
  GlowValue *any = glow_expand_bit_or(e, x, y);
  return glow_expand_2(e, GLOW_OP_SUB, any, glow_expand_2(e, GLOW_OP_BITWISE_AND, x, y));
}

/* ~x = 0 - x - 1. */
GlowValue *glow_expand_bit_not(GlowExpand *e, GlowValue *x) {
  GlowValue *negated = glow_expand_2(e, GLOW_OP_SUB, number_like(e, x, 0), x);
  return glow_expand_2(e, GLOW_OP_SUB, negated, number_like(e, x, 1));
}

GlowValue *glow_expand_bits(GlowExpand *e, GlowValue *x, GlowKind kind) {
  return glow_then1(e->b, GLOW_OP_BIT_CAST, x, &(GlowBitCastMembers){.to = kind});
}

GlowValue *glow_expand_copysign(GlowExpand *e, GlowValue *x, GlowValue *sign) {
  if (!x || !sign)
    return NULL;
  GlowKind kind = x->type->kind, bits = kind == GLOW_KIND_DOUBLE ? GLOW_KIND_U64 : GLOW_KIND_U32;
  uint64_t top = UINT64_C(1) << (glow_kind_info[bits].bits - 1);
  GlowValue *low = glow_expand_2(e, GLOW_OP_BITWISE_AND, glow_expand_bits(e, x, bits),
                                 glow_expand_whole(e, bits, top - 1));
  GlowValue *high = glow_expand_2(e, GLOW_OP_BITWISE_AND, glow_expand_bits(e, sign, bits),
                                  glow_expand_whole(e, bits, top));
  return glow_expand_bits(e, glow_expand_2(e, GLOW_OP_ADD, low, high), kind);
}

static GlowValue *shift(GlowExpand *e, GlowValue *x, GlowValue *y, bool right) {
  return glow_then(e->b, GLOW_OP_BIT_SHIFT, (GlowValue *[]){x, y}, 2,
                   &(GlowBitShiftMembers){.right = right});
}

GlowValue *glow_expand_shift_left(GlowExpand *e, GlowValue *x, GlowValue *y) {
  return shift(e, x, y, false);
}

GlowValue *glow_expand_shift_right(GlowExpand *e, GlowValue *x, GlowValue *y) {
  return shift(e, x, y, true);
}

GlowValue *glow_expand_cast(GlowExpand *e, GlowValue *x, GlowKind kind) {
  return glow_then_cast(e->b, x, kind);
}

/* ---- Arithmetic ------------------------------------------------------------------------------ */
/* -0 - x is -x for zeros of both signs too. */
GlowValue *glow_expand_negate(GlowExpand *e, GlowValue *x) {
  double zero = x && glow_kind_is_float(x->type->kind) ? -0.0 : 0;
  return glow_expand_2(e, GLOW_OP_SUB, number_like(e, x, zero), x);
}

/* The larger of x and -x. The smallest integer gives itself, since its negation is itself. */
GlowValue *glow_expand_abs(GlowExpand *e, GlowValue *x) {
  if (x && glow_kind_info[x->type->kind].cls == GLOW_CLASS_UINT)
    return x;
  GlowValue *negated = glow_expand_negate(e, x);
  return glow_expand_2(e, GLOW_OP_MAX, x, negated);
}

GlowValue *glow_expand_ceil(GlowExpand *e, GlowValue *x) {
  return glow_expand_negate(e, glow_expand_1(e, GLOW_OP_FLOOR, glow_expand_negate(e, x)));
}

/* Min by Max in the reverse order: -x reverses it, and for integers ~x, which does not overflow. */
GlowValue *glow_expand_min(GlowExpand *e, GlowValue *x, GlowValue *y) {
  GlowValue *(*turn)(GlowExpand *, GlowValue *) =
      glow_kind_is_float(e->kind) ? glow_expand_negate : glow_expand_bit_not;
  GlowValue *a = turn(e, x), *b = turn(e, y);
  return turn(e, glow_expand_2(e, GLOW_OP_MAX, a, b));
}
