/* What is quantized is computed in steps of the type that it becomes:
 *
 *   Quantize(v) : u8[S O]   -> Quantize(v / S) {steps = true} : u8[S O]
 *
 * where the division goes into constants, and no element is divided:
 *
 *   Mul(a, m) / S           = Mul(a, m / S)
 *   MulAdd(a, m, b) / S     = MulAdd(a, m / S, b / S)
 *   Add(a, b) / S           = Add(a / S, b / S); MulAdd where one of them is a Mul
 *   Relu(a) / S, Clip(a, c, d) / S   = Relu(a / S), Clip(a / S, c / S, d / S)
 *   Dequantize(q) / S       = Mul(Dequantize(q) {steps = true}, S' / S) for q : u8[S' O']
 *
 * m, b, c and d are constants, or of b a value that is divided in turn; nothing else uses the
 * values between. Behind a sum of integers this is one FMA for each element, by float(Sx * Sw / S),
 * which is how ONNX Runtime requantizes.
 *
 * Ties: a result moves by one step, and only near a tie. At most MAX_DEPTH nodes lie on a way from
 * a leaf to v. Each rounds once before and once after; a leaf, the division of v and those of
 * constants add two on each side. */
#include "transforms/quantized.h"
#include "transforms/rules.h"

enum { MAX_DEPTH = 4 };

typedef struct Steps {
  GlowPassRun *run;
  GlowConstness *constness;
  const GlowNode *root; /* the Quantize */
  GlowBuilder b;
  GlowValue *scale; /* S */
} Steps;

static GlowValue *divided(Steps *s, GlowValue *v, int depth);

static GlowValue *constant_divided(Steps *s, GlowValue *v) {
  return v && glow_constness_of(s->constness, v) ? glow_then2(&s->b, GLOW_OP_DIV, v, s->scale)
                                                 : NULL;
}

static GlowValue *mul_divided(Steps *s, const GlowNode *n) {
  GlowValue *x = glow_node_in(n, 0), *y = glow_node_in(n, 1), *m = constant_divided(s, y);
  if (m)
    return glow_then2(&s->b, GLOW_OP_MUL, x, m);
  m = constant_divided(s, x);
  return m ? glow_then2(&s->b, GLOW_OP_MUL, y, m) : NULL;
}

static GlowValue *mul_add_divided(Steps *s, const GlowNode *n, int depth) {
  GlowValue *m = constant_divided(s, glow_node_in(n, 1));
  GlowValue *b = m ? divided(s, glow_node_in(n, 2), depth + 1) : NULL;
  return b ? glow_then3(&s->b, GLOW_OP_MUL_ADD, glow_node_in(n, 0), m, b) : NULL;
}

static GlowValue *add_divided(Steps *s, const GlowNode *n, int depth) {
  GlowValue *x = divided(s, glow_node_in(n, 0), depth + 1);
  GlowValue *y = x ? divided(s, glow_node_in(n, 1), depth + 1) : NULL;
  if (!y)
    return NULL;
  for (int i = 0; i < 2; i++) {
    GlowValue *product = i ? x : y, *other = i ? y : x;
    const GlowNode *mul = glow_value_def(product, GLOW_OP_MUL);
    if (mul && !product->uses)
      return glow_then3(&s->b, GLOW_OP_MUL_ADD, glow_node_in(mul, 0), glow_node_in(mul, 1), other);
  }
  return glow_then2(&s->b, GLOW_OP_ADD, x, y);
}

static GlowValue *clip_divided(Steps *s, const GlowNode *n, int depth) {
  GlowValue *ins[3] = {divided(s, glow_node_in(n, 0), depth + 1)};
  for (uint32_t i = 1; i < 3; i++) {
    GlowValue *v = glow_node_in(n, i);
    ins[i] = ins[0] && v ? constant_divided(s, v) : NULL;
    if (!ins[0] || (v && !ins[i]))
      return NULL;
  }
  GlowNode *clip = glow_build(&s->b, GLOW_OP_CLIP, ins, 3, NULL, NULL);
  return clip ? &clip->results[0] : NULL;
}

static GlowValue *dequantize_divided(Steps *s, const GlowNode *n) {
  GlowDequantizeMembers m = {.to = GLOW_KIND_FLOAT, .steps = true};
  GlowValue *q = glow_node_in(n, 0);
  if (((const GlowDequantizeMembers *)n->members)->steps || !glow_quantization_is_usual(q->type))
    return NULL;
  float ratio = q->type->scale / s->root->results[0].type->scale;
  GlowValue *steps = glow_build1(&s->b, GLOW_OP_DEQUANTIZE, q, &m, NULL);
  return glow_then2(&s->b, GLOW_OP_MUL, steps,
                    glow_build_scalar(&s->b, GLOW_KIND_FLOAT, (double)ratio));
}

/* v / S without a division of elements; NULL if there is no such form. */
static GlowValue *divided(Steps *s, GlowValue *v, int depth) {
  if (v->type->kind != GLOW_KIND_FLOAT || v->type->quantized || depth > MAX_DEPTH)
    return NULL;
  if (glow_constness_of(s->constness, v))
    return constant_divided(s, v);
  const GlowNode *n = v->kind == GLOW_VALUE_RESULT ? v->def.node : NULL;
  if (!n || n->pred.value != s->root->pred.value)
    return NULL;
  if (n->op == GLOW_OP_DEQUANTIZE)
    return depth ? dequantize_divided(s, n) : NULL;
  if (!glow_value_has_one_use(v))
    return NULL;
  switch (n->op) {
  case GLOW_OP_MUL:
    return mul_divided(s, n);
  case GLOW_OP_MUL_ADD:
    return mul_add_divided(s, n, depth);
  case GLOW_OP_ADD:
    return add_divided(s, n, depth);
  case GLOW_OP_RELU:
    return glow_then1(&s->b, GLOW_OP_RELU, divided(s, glow_node_in(n, 0), depth + 1), NULL);
  case GLOW_OP_CLIP:
    return clip_divided(s, n, depth);
  default:
    return NULL;
  }
}

static bool visit(GlowNode *n, void *arg) {
  Steps *s = arg;
  const GlowType *t = n->nresults ? n->results[0].type : NULL;
  if (n->op != GLOW_OP_QUANTIZE || ((const GlowQuantizeMembers *)n->members)->steps ||
      !glow_quantization_is_usual(t))
    return true;
  uint32_t first_new = s->run->module->next_id;
  s->root = n;
  s->b = glow_builder_before(n);
  s->scale = glow_build_scalar(&s->b, GLOW_KIND_FLOAT, (double)t->scale);
  GlowValue *x = s->scale ? divided(s, glow_node_in(n, 0), 0) : NULL;
  GlowQuantizeMembers m = {.steps = true};
  GlowNodeSpec spec = {.op = GLOW_OP_QUANTIZE, .ins = &x, .nins = 1, .members = &m, .types = &t};
  GlowNode *q = x ? glow_node_create(&s->b, &spec) : NULL;
  if (q)
    glow_replace_by(s->run, n, &q->results[0], "computed in steps");
  glow_remove_dead_since(s->b.block, first_new);
  return true;
}

bool glow_pass_scale_in_steps(GlowPassRun *run) {
  unsigned errors = glow_context_error_count(run->ctx);
  Steps s = {.run = run, .constness = glow_constness_create(run->arena)};
  glow_block_walk(run->function->body, visit, &s);
  return glow_context_error_count(run->ctx) == errors;
}
