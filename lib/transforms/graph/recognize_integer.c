/* Contractions of dequantized operands become contractions of integers:
 *
 *   Convolution(Dequantize(q), w, b)   -> MulAdd(Cast(Convolution(q, w', c) {pad = O}), m, b)
 *   MatMul, FullyConnected             -> the same, with Add(MatMul(q, w'), c)
 *
 * where w is a constant that DequantizeLinear makes of 8-bit integers w', with a scale Sw for all
 * or for each result channel; O and Sx belong to the type of q, m = Sx * Sw, and c = -O *
 * ReduceSum(w') takes the zero point of q out of the sum. A bias that DequantizeLinear makes of i32
 * with exactly the scale m is added to c, and Mul stands for MulAdd then. w' is of i8; of i16 if a
 * zero point of w was subtracted. All constants are eval algebra. The integers may have gone
 * through operators that only move them, in eval constants, too.
 *
 * Bounded: the sum of integers is exact, Cast, Mul and the sum with the bias round once each, while
 * the chain of K products rounds with every product. No sum may leave i32, so K has a limit. */
#include <math.h>

#include "transforms/contraction.h"
#include "transforms/match.h"
#include "transforms/quantized.h"
#include "transforms/rules.h"

/* Integers, and the scale and zero point that make numbers of them. */
typedef struct Stored {
  GlowValue *v;     /* in the eval block */
  GlowValue *scale; /* of one element, or of one for each slice of `axis` */
  GlowValue *zero;  /* NULL: 0 */
  int64_t axis;     /* -1: one scale */
} Stored;

typedef struct Integer {
  GlowPassRun *run;
  GlowConstness *constness;
  GlowValues *values;
  const GlowContraction *c;
  GlowNode *x; /* Dequantize of the first operand */
  GlowEval e;  /* of the constant that is built */
} Integer;

enum { MAX_DEPTH = 8 };
#define BYTES (GLOW_KIND_BIT(GLOW_KIND_I8) | GLOW_KIND_BIT(GLOW_KIND_U8))

static bool one_element(const GlowValue *v) {
  return glow_type_is_static(v->type) && glow_type_elements(v->type) == 1;
}

/* n over other integers, in the eval block. NULL if it does not only move them, or if slices with
 * scales of their own would not stay. */
static GlowValue *moved(Integer *g, GlowNode *n, Stored *s) {
  uint32_t in = glow_node_desc(n)->quant_in;
  if (glow_node_quant_form(n) != GLOW_QUANT_SAME || !GLOW_HAS(glow_node_desc(n), MOVEMENT) ||
      n->nresults != 1)
    return NULL;
  if (s->axis >= 0) {
    if (n->op != GLOW_OP_TRANSPOSE)
      return NULL;
    const GlowTransposeMembers *m = n->members;
    uint32_t rank = n->results[0].type->rank, k = 0;
    while (k < rank &&
           (m->perm.count ? glow_array_at(m->perm, uint32_t, k) : rank - 1 - k) != s->axis)
      k++;
    s->axis = k;
  }
  GlowValue **ins = GLOW_NEW_ARRAY(g->run->arena, GlowValue *, n->noperands);
  for (uint32_t i = 0; i < n->noperands; i++) {
    GlowValue *v = glow_node_in(n, i);
    ins[i] = i == in ? s->v : v ? glow_eval_copy(&g->e, v) : NULL;
  }
  return glow_then(&g->e.builder, n->op, ins, n->noperands, n->members);
}

static const GlowTensor *tensor_of(const Integer *g, const GlowValue *v) {
  return v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls == GLOW_CONSTANT
             ? glow_values_get(g->values, v->def.storage)
             : NULL;
}

/* Finds the integers behind the constant v and copies what makes them to the eval block. */
static bool find_stored(Integer *g, GlowValue *v, Stored *s, int depth) {
  v = glow_eval_inside(v);
  GlowNode *n = v->kind == GLOW_VALUE_RESULT ? v->def.node : NULL;
  if (!n || depth > MAX_DEPTH || n->pred.value || n->noperands == 0)
    return false;
  if (n->op == GLOW_OP_DEQUANTIZE_LINEAR) {
    const GlowDequantizeLinearMembers *m = n->members;
    GlowValue *q = glow_node_in(n, 0), *scale = glow_node_in(n, 1), *zero = glow_node_in(n, 2);
    if (m->block || !(BYTES & GLOW_KIND_BIT(q->type->kind)) ||
        scale->type->kind != GLOW_KIND_FLOAT || !glow_type_is_static(q->type) ||
        !glow_type_is_static(scale->type) || (zero && !glow_type_is_static(zero->type)))
      return false;
    int64_t axis = m->axis < 0 ? m->axis + q->type->rank : m->axis;
    *s = (Stored){glow_eval_copy(&g->e, q), glow_eval_copy(&g->e, scale),
                  zero ? glow_eval_copy(&g->e, zero) : NULL, one_element(scale) ? -1 : axis};
    double z;
    if (zero && glow_zero_point(g->values, zero, &z) && z == 0)
      s->zero = NULL;
    return true;
  }
  GlowValue *x = glow_node_in(n, glow_node_desc(n)->quant_in);
  if (!x || !find_stored(g, x, s, depth + 1))
    return false;
  s->v = moved(g, n, s);
  return s->v != NULL;
}

/* Whether no scale of the weights is NaN, infinite or so large that products with it are. Scales
 * that are computed, as -quantize makes them, are taken as they are: reading them takes all
 * weights. */
static bool has_usual_scales(const Integer *g, const GlowValue *scale) {
  bool computed =
      scale->kind == GLOW_VALUE_STORAGE && scale->def.storage->init.kind == GLOW_INIT_EVAL;
  const GlowTensor *t = computed ? NULL : tensor_of(g, scale);
  for (int64_t i = 0; t && i < glow_tensor_elements(t); i++)
    if (!(fabs(glow_tensor_get_double(t, i)) <= 0x1p60))
      return false;
  return true;
}

static GlowEval begin(const Integer *g) {
  return glow_eval_create(g->run->module, g->run->arena, g->c->node);
}

static GlowValue *finish(Integer *g, GlowValue *v, const char *suffix) {
  const GlowValue *y = &g->c->node->results[0];
  if (v && v->kind == GLOW_VALUE_STORAGE)
    return v; /* nothing is computed */
  GlowStr name = glow_str_printf(g->run->ctx, "%s.%s", y->name ? y->name : "y", suffix);
  return v ? &glow_eval_finish(&g->e, v, name)->value : NULL;
}

/* The weights as i8, or without their zero points as i16. */
static GlowValue *weights(Integer *g, GlowValue *w) {
  Stored s;
  GlowBuilder *b = &g->e.builder;
  g->e = begin(g);
  if (!find_stored(g, w, &s, 0))
    return NULL;
  double z = -1;
  if (s.zero && !glow_zero_point(g->values, s.zero, &z))
    z = -1;
  s.v = glow_centered_weights(b, g->c->node, s.v, s.zero, s.axis < 0 ? 0 : (uint32_t)s.axis, z);
  return finish(g, s.v, "weights");
}

/* Sx * Sw, shaped to broadcast over the result. */
static GlowValue *factor(Integer *g, GlowValue *w) {
  Stored s;
  g->e = begin(g);
  if (!find_stored(g, w, &s, 0))
    return NULL;
  double sx = (double)glow_node_in(g->x, 0)->type->scale;
  GlowBuilder *b = &g->e.builder;
  uint32_t rank = g->c->node->results[0].type->rank;
  GlowValue *m = glow_then2(b, GLOW_OP_MUL, glow_build_scalar(b, GLOW_KIND_FLOAT, sx), s.scale);
  if (m)
    m = glow_build_parameter(b, g->c->node, m, rank - g->c->y_axis, 0);
  return finish(g, m, "scale");
}

/* ---- The bias -------------------------------------------------------------------------------- */

/* Whether the scales of the bias are those of the products, to the bit. */
static bool has_scale_of(const Integer *g, const GlowValue *bias, const GlowValue *w) {
  const GlowTensor *b = tensor_of(g, bias), *s = b ? tensor_of(g, w) : NULL;
  int64_t count = b && s ? glow_tensor_elements(b) : 0, many = s ? glow_tensor_elements(s) : 0;
  float sx = glow_node_in(g->x, 0)->type->scale;
  if (count == 0 || (many != 1 && many != count))
    return false;
  for (int64_t i = 0; i < count; i++)
    if ((float)glow_tensor_get_double(b, i) !=
        sx * (float)glow_tensor_get_double(s, many == 1 ? 0 : i))
      return false;
  return true;
}

/* The largest magnitude of the sums without a bias. */
static int64_t largest_sum(const GlowContraction *c, const GlowType *x, const GlowValue *w) {
  int32_t low, high;
  glow_stored_limits(x->kind, &low, &high);
  int64_t step = x->offset - low > high - x->offset ? x->offset - low : high - x->offset;
  int64_t weight = w->type->kind == GLOW_KIND_I8 ? 128 : 255;
  return glow_type_elements(w->type) / w->type->dims[c->w_out].size * step * weight;
}

static bool stays_in_i32(const Integer *g, const GlowValue *bias, int64_t sum) {
  const GlowTensor *t = tensor_of(g, bias);
  for (int64_t i = 0; t && i < glow_tensor_elements(t); i++) {
    int64_t v = glow_tensor_get_int(t, i);
    if ((v < 0 ? -v : v) + sum > INT32_MAX)
      return false;
  }
  return t != NULL;
}

/* The integers of n's bias if they may be added to the sum. NULL if it is none, or is of another
 * scale; it stays in float then. */
static GlowValue *integer_bias(Integer *g, const GlowValue *scale, int64_t sum) {
  GlowValue *b = glow_node_in(g->c->node, GLOW_CONTRACTION_B);
  const GlowNode *n = b ? glow_value_def(glow_eval_inside(b), GLOW_OP_DEQUANTIZE_LINEAR) : NULL;
  GlowValue *q = n ? glow_node_in(n, 0) : NULL;
  double z = 0;
  bool fits = q && q->type->kind == GLOW_KIND_I32 && !q->type->quantized && q->type->rank == 1 &&
              (!glow_node_in(n, 2) || glow_value_number(g->values, glow_node_in(n, 2), &z)) &&
              z == 0 && has_scale_of(g, glow_node_in(n, 1), scale) && stays_in_i32(g, q, sum);
  return fits ? q : NULL;
}

/* bias - O * ReduceSum(w'), of i32; NULL if it is nothing. */
static GlowValue *correction(Integer *g, GlowValue *w, GlowValue *bias, bool *ok) {
  int32_t offset = glow_node_in(g->x, 0)->type->offset;
  GlowBuilder *b = &g->e.builder;
  if (offset == 0)
    return bias;
  g->e = begin(g);
  bool convolves = g->c->node->op == GLOW_OP_CONVOLUTION;
  GlowValue *sum = glow_weight_sums(b, g->c->node, w, convolves, -offset);
  if (bias)
    sum = glow_then2(b, GLOW_OP_ADD, sum, bias);
  GlowValue *v = finish(g, sum, "correction");
  *ok = v != NULL;
  return v;
}

/* ---- The contraction ------------------------------------------------------------------------- */

static GlowValue *integer_sum(GlowBuilder *b, const Integer *g, GlowValue *w, GlowValue *c) {
  GlowValue *q = glow_node_in(g->x, 0);
  if (g->c->node->op == GLOW_OP_CONVOLUTION) {
    GlowConvolutionMembers m = *(const GlowConvolutionMembers *)g->c->node->members;
    m.pad = q->type->offset;
    GlowValue *ins[] = {q, w, c};
    return glow_then(b, GLOW_OP_CONVOLUTION, ins, c ? 3 : 2, &m);
  }
  GlowValue *sum = glow_then2(b, GLOW_OP_MAT_MUL, q, w);
  return c ? glow_then2(b, GLOW_OP_ADD, sum, c) : sum;
}

/* The bias of n, which is not among the integers, so that it broadcasts over the result. */
static GlowValue *real_bias(GlowBuilder *b, const Integer *g) {
  const GlowNode *n = g->c->node;
  GlowValue *v = glow_node_in(n, GLOW_CONTRACTION_B);
  uint32_t behind = n->results[0].type->rank - g->c->y_axis;
  return v && behind > 1 ? glow_build_along(b, n, v, behind, 0) : v;
}

/* The operands that n must have, and its K. */
static bool qualifies(const Integer *g) {
  const GlowNode *n = g->c->node, *x = g->x;
  const GlowValue *w = glow_node_in(n, GLOW_CONTRACTION_W);
  const GlowValue *bias = glow_node_in(n, GLOW_CONTRACTION_B);
  if (!x || n->results[0].type->kind != GLOW_KIND_FLOAT ||
      ((const GlowDequantizeMembers *)x->members)->steps)
    return false;
  const GlowType *t = glow_node_in(x, 0)->type;
  bool plain = !bias || (glow_type_is_static(bias->type) && bias->type->rank == 1 &&
                         bias->type->dims[0].size == g->c->out);
  return glow_quantization_is_usual(t) && glow_kind_info[t->kind].bits == 8 && plain &&
         g->c->out > 0 && glow_constness_of(g->constness, w);
}

static GlowValue *build(Integer *g) {
  GlowNode *n = g->c->node;
  GlowValue *w = glow_node_in(n, GLOW_CONTRACTION_W);
  Stored s;
  g->e = begin(g);
  if (!find_stored(g, w, &s, 0) || (s.axis >= 0 && s.axis != g->c->w_out) ||
      !has_usual_scales(g, s.scale))
    return NULL;
  GlowValue *stored = weights(g, w), *m = stored ? factor(g, w) : NULL;
  int64_t sum = stored ? largest_sum(g->c, glow_node_in(g->x, 0)->type, stored) : 0;
  if (!m || sum > INT32_MAX)
    return NULL;
  bool ok = true;
  GlowValue *bias = integer_bias(g, s.scale, sum), *c = correction(g, stored, bias, &ok);
  if (!ok)
    return NULL;
  GlowBuilder b = glow_builder_before(n);
  GlowValue *acc = glow_then_cast(&b, integer_sum(&b, g, stored, c), GLOW_KIND_FLOAT);
  GlowValue *real = bias ? NULL : real_bias(&b, g);
  return real ? glow_then3(&b, GLOW_OP_MUL_ADD, acc, m, real) : glow_then2(&b, GLOW_OP_MUL, acc, m);
}

static bool visit(GlowNode *n, void *arg) {
  Integer *g = arg;
  GlowContraction c;
  if (glow_node_quant_form(n) != GLOW_QUANT_CONTRACTION || !glow_contraction_describe(n, &c))
    return true;
  g->c = &c;
  g->x = glow_match(glow_node_in(n, GLOW_CONTRACTION_X), GLOW_OP_DEQUANTIZE, n);
  uint32_t first_new = g->run->module->next_id;
  GlowValue *by = qualifies(g) ? build(g) : NULL;
  if (by && by->type == n->results[0].type)
    glow_replace_by(g->run, n, by, "multiplied integers");
  else
    glow_remove_dead_since(n->block, first_new);
  return true;
}

bool glow_pass_recognize_integer(GlowPassRun *run) {
  unsigned errors = glow_context_error_count(run->ctx);
  Integer g = {run, glow_constness_create(run->arena), glow_values_create(run->module), NULL, NULL,
               {0}};
  GlowDefer release;
  glow_defer_push(run->ctx, &release, glow_values_destroy_fn, g.values);
  glow_block_walk(run->function->body, visit, &g);
  glow_defer_pop(run->ctx, &release, true);
  return glow_context_error_count(run->ctx) == errors;
}
