/* Quantization in types. Scales and zero points that are constants of one element move from
 * operands into types, so that later passes meet one pair of operators:
 *
 *   QuantizeLinear(x, S, Z)     -> BitCast(Quantize(x) : u8[S O]) : u8
 *   DequantizeLinear(q, S, Z)   -> Dequantize(BitCast(q) : u8[S O])
 *   BitCast(BitCast(x))         -> BitCast(x), or x if that has the type
 *
 * BitCasts meet and go where the same parameters follow each other. Weights keep their operators:
 * what is dequantized here is no constant. Exact: both pairs divide, round and multiply in float in
 * the same way, for kinds of at most 16 bits and scales that are no extreme numbers. */
#include "transforms/match.h"
#include "transforms/quantized.h"
#include "transforms/rules.h"

typedef struct Typing {
  GlowPassRun *run;
  GlowConstness *constness;
  GlowValues *values;
} Typing;

/* The type of stored elements `t` with the scale and the zero point that are operands 1 and 2 of n;
 * NULL if they are not known numbers, or a scale is extreme. */
static const GlowType *typed(const Typing *c, const GlowNode *n, const GlowType *t) {
  const GlowValue *scale = glow_node_in(n, 1), *zero = glow_node_in(n, 2);
  double s, z = 0;
  if (scale->type->kind != GLOW_KIND_FLOAT || !glow_kind_is_integer(t->kind) ||
      !glow_value_number(c->values, scale, &s) || (zero && !glow_value_number(c->values, zero, &z)))
    return NULL;
  t = glow_type_with_quant(c->run->ctx, t, true, (float)s, (int32_t)z);
  return glow_quantization_is_usual(t) ? t : NULL;
}

static GlowValue *quantize(const Typing *c, GlowNode *n) {
  const GlowQuantizeLinearMembers *m = n->members;
  GlowValue *x = glow_node_in(n, 0);
  const GlowType *y = n->results[0].type;
  const GlowType *t = m->block || !glow_kind_is_float(x->type->kind) ? NULL : typed(c, n, y);
  if (!t)
    return NULL;
  GlowBuilder b = glow_builder_before(n);
  GlowNodeSpec spec = {.op = GLOW_OP_QUANTIZE, .ins = &x, .nins = 1, .types = &t};
  GlowNode *q = glow_node_create(&b, &spec);
  return q ? glow_build_bit_cast(&b, &q->results[0], y) : NULL;
}

static GlowValue *dequantize(const Typing *c, GlowNode *n) {
  const GlowDequantizeLinearMembers *m = n->members;
  GlowDequantizeMembers to = {.to = GLOW_KIND_FLOAT};
  GlowValue *x = glow_node_in(n, 0);
  const GlowType *t = m->block || glow_constness_of(c->constness, x) ? NULL : typed(c, n, x->type);
  if (!t)
    return NULL;
  GlowBuilder b = glow_builder_before(n);
  GlowValue *q = glow_build_bit_cast(&b, x, t);
  return q ? glow_build1(&b, GLOW_OP_DEQUANTIZE, q, &to, NULL) : NULL;
}

/* Of bool, a BitCast changes bytes. */
static GlowValue *twice(GlowNode *n) {
  GlowValue *between = glow_node_in(n, 0);
  const GlowNode *inner = glow_match(between, GLOW_OP_BIT_CAST, n);
  const GlowType *t = n->results[0].type;
  if (!inner || between->type->kind == GLOW_KIND_BOOL)
    return NULL;
  GlowValue *x = glow_node_in(inner, 0);
  GlowBuilder b = glow_builder_before(n);
  return x->type == t ? x : glow_build_bit_cast(&b, x, t);
}

static bool visit(GlowNode *n, void *arg) {
  const Typing *c = arg;
  GlowValue *by = n->op == GLOW_OP_QUANTIZE_LINEAR     ? quantize(c, n)
                  : n->op == GLOW_OP_DEQUANTIZE_LINEAR ? dequantize(c, n)
                                                       : NULL;
  if (by) {
    bool reads = n->op == GLOW_OP_DEQUANTIZE_LINEAR;
    GlowNode *cast = reads ? glow_node_in(by->def.node, 0)->def.node : NULL;
    glow_replace_by(c->run, n, by,
                    reads ? "moved the scale of DequantizeLinear into a type"
                          : "moved the scale of QuantizeLinear into a type");
    n = cast;
  }
  if (n && n->op == GLOW_OP_BIT_CAST && (by = twice(n)))
    glow_replace_by(c->run, n, by, "merged two BitCasts");
  return true;
}

bool glow_pass_type_quantized(GlowPassRun *run) {
  unsigned errors = glow_context_error_count(run->ctx);
  Typing c = {run, glow_constness_create(run->arena), glow_values_create(run->module)};
  GlowDefer release;
  glow_defer_push(run->ctx, &release, glow_values_destroy_fn, c.values);
  glow_block_walk(run->function->body, visit, &c);
  glow_defer_pop(run->ctx, &release, true);
  return glow_context_error_count(run->ctx) == errors;
}
