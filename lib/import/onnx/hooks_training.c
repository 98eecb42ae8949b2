/* One step of an optimizer (ai.onnx.preview.training): element-wise nodes for each tensor.
 *
 * Operands are a learning rate R, a count of steps T, then all tensors X, all gradients G, and all
 * of each state; results are all new X, then all of each new state. The formulas are those of the
 * operators' definitions, version 1. */
#include <string.h>

#include "import/onnx/hooks.h"
#include "import/onnx/importer.h"

/* What is computed for one tensor; scalars are of its kind. */
typedef struct Step {
  GlowOnnxNode *n;
  uint32_t tensors, index; /* how many there are, and which this is */
  GlowKind kind;
  GlowValue *rate, *count; /* R in the tensor's kind; T */
  GlowValue *x, *g;
} Step;

static GlowValue *scalar(const Step *s, const char *tag, float v) {
  return glow_onnx_make_scalar(s->n, tag, s->kind, (double)v);
}

static GlowValue *binary(const Step *s, GlowOp op, GlowValue *x, GlowValue *y) {
  return glow_onnx_emit2(s->n, op, x, y, NULL);
}

static GlowValue *scaled(const Step *s, const char *tag, float factor, GlowValue *v) {
  return v ? binary(s, GLOW_OP_MUL, scalar(s, tag, factor), v) : NULL;
}

/* Operand or result number `list` of this tensor: list 0 is X, then G (operands only), states. */
static GlowValue *operand(const Step *s, uint32_t list) {
  return s->n->ins[2 + list * s->tensors + s->index];
}

/* The node that is result number `list` of this tensor, whether the model names it or not. */
static GlowValue *result(const Step *s, uint32_t list, GlowOp op, GlowValue *x, GlowValue *y) {
  uint32_t i = list * s->tensors + s->index;
  if (!x || !y)
    return NULL;
  if (i >= s->n->nouts || !s->n->outs[i])
    return binary(s, op, x, y);
  return glow_onnx_result(s->n, i, op, (GlowValue *[]){x, y}, 2, NULL) ? s->n->results[i] : NULL;
}

/* Calls `step` for each tensor. `lists`: how many lists of operands there are. */
static bool each_tensor(GlowOnnxNode *n, uint32_t lists, bool (*step)(Step *s, const void *config),
                        float norm, const void *config) {
  if (n->nins < 2 + lists || (n->nins - 2) % lists)
    return glow_onnx_fail(n, "%u operands, expected 2 and %u for each tensor", n->nins, lists);
  if (!glow_onnx_check_ins(n, n->nins, n->nins))
    return false;
  uint32_t tensors = (n->nins - 2) / lists;
  if (n->nouts > tensors * (lists - 1))
    return glow_onnx_fail(n, "%u results where there are %u", n->nouts, tensors * (lists - 1));
  GlowValue *rate = glow_onnx_rank0(n, n->ins[0]), *count = glow_onnx_rank0(n, n->ins[1]);
  for (uint32_t i = 0; rate && count && i < tensors; i++) {
    Step s = {.n = n, .tensors = tensors, .index = i, .count = count};
    s.x = operand(&s, 0);
    if (!glow_type_is_tensor(s.x->type) || !glow_kind_is_float(s.x->type->kind))
      return glow_onnx_fail(n, "operand %u is %s", 2 + i, glow_type_str(n->im->ctx, s.x->type));
    s.kind = s.x->type->kind;
    s.rate = glow_onnx_cast_to(n, rate, s.kind);
    s.g = operand(&s, 1);
    if (norm != 0)
      s.g = binary(&s, GLOW_OP_ADD, scaled(&s, "norm", norm, s.x), s.g);
    if (!s.rate || !s.g || !step(&s, config))
      return false;
  }
  return rate && count;
}

/* a where T > 0, else b. */
static GlowValue *after_first(const Step *s, GlowValue *a, GlowValue *b) {
  GlowValue *zero = glow_onnx_make_scalar(s->n, "first", GLOW_KIND_I64, 0);
  GlowValue *later = binary(s, GLOW_OP_GREATER, s->count, zero);
  return later && a && b
             ? glow_onnx_emit(s->n, GLOW_OP_WHERE, (GlowValue *[]){later, a, b}, 3, NULL)
             : NULL;
}

/* ---- Adagrad -------------------------------------------------------------------------------- */

typedef struct Adagrad {
  float decay, epsilon;
} Adagrad;

/* r = R / (1 + T * decay), H' = H + G * G, X' = X - r * G / (sqrt(H') + epsilon) */
static bool adagrad(Step *s, const void *config) {
  const Adagrad *c = config;
  GlowValue *one = scalar(s, "one", 1), *epsilon = scalar(s, "epsilon", c->epsilon);
  GlowValue *steps = glow_onnx_cast_to(s->n, s->count, s->kind);
  GlowValue *slow = binary(s, GLOW_OP_ADD, one, scaled(s, "decay", c->decay, steps));
  GlowValue *rate = binary(s, GLOW_OP_DIV, s->rate, slow);
  GlowValue *h = result(s, 1, GLOW_OP_ADD, operand(s, 2), binary(s, GLOW_OP_MUL, s->g, s->g));
  GlowValue *root = glow_onnx_emit1(s->n, GLOW_OP_SQRT, h, NULL);
  GlowValue *size = binary(s, GLOW_OP_ADD, root, epsilon);
  GlowValue *move = binary(s, GLOW_OP_DIV, binary(s, GLOW_OP_MUL, rate, s->g), size);
  return result(s, 0, GLOW_OP_SUB, s->x, move) != NULL;
}

bool glow_onnx_adagrad(GlowOnnxNode *n) {
  Adagrad c = {.decay = 0, .epsilon = 1e-6f};
  float norm = 0;
  return glow_onnx_float(n, "decay_factor", &c.decay) &&
         glow_onnx_float(n, "epsilon", &c.epsilon) &&
         glow_onnx_float(n, "norm_coefficient", &norm) && each_tensor(n, 3, adagrad, norm, &c);
}

/* ---- Adam ----------------------------------------------------------------------------------- */

typedef struct Adam {
  float alpha, beta, epsilon, post;
} Adam;

/* factor * v + (1 - factor) * w as result number `list`. */
static GlowValue *moving_average(const Step *s, uint32_t list, GlowValue *factor, GlowValue *one,
                                 GlowValue *v, GlowValue *w) {
  GlowValue *old = binary(s, GLOW_OP_MUL, factor, v);
  GlowValue *rest = binary(s, GLOW_OP_SUB, one, factor);
  return result(s, list, GLOW_OP_ADD, old, binary(s, GLOW_OP_MUL, rest, w));
}

/* 1 - factor^T */
static GlowValue *bias_correction(const Step *s, GlowValue *factor, GlowValue *one) {
  return binary(s, GLOW_OP_SUB, one, binary(s, GLOW_OP_POW, factor, s->count));
}

/* r = R sqrt(1 - beta^T) / (1 - alpha^T) after the first step */
static GlowValue *adam_rate(const Step *s, GlowValue *alpha, GlowValue *beta, GlowValue *one) {
  GlowValue *up = glow_onnx_emit1(s->n, GLOW_OP_SQRT, bias_correction(s, beta, one), NULL);
  GlowValue *faster = binary(s, GLOW_OP_MUL, s->rate, up);
  GlowValue *corrected = binary(s, GLOW_OP_DIV, faster, bias_correction(s, alpha, one));
  return after_first(s, corrected, s->rate);
}

/* V' = alpha V + (1 - alpha) G, H' = beta H + (1 - beta) G * G,
 * X' = (1 - post) (X - r * (V' / (sqrt(H') + epsilon))) */
static bool adam(Step *s, const void *config) {
  const Adam *c = config;
  GlowValue *one = scalar(s, "one", 1), *epsilon = scalar(s, "epsilon", c->epsilon);
  GlowValue *alpha = scalar(s, "alpha", c->alpha), *beta = scalar(s, "beta", c->beta);
  GlowValue *v = moving_average(s, 1, alpha, one, operand(s, 2), s->g);
  GlowValue *square = binary(s, GLOW_OP_MUL, s->g, s->g);
  GlowValue *h = moving_average(s, 2, beta, one, operand(s, 3), square);
  GlowValue *root = glow_onnx_emit1(s->n, GLOW_OP_SQRT, h, NULL);
  GlowValue *ratio = binary(s, GLOW_OP_DIV, v, binary(s, GLOW_OP_ADD, root, epsilon));
  GlowValue *move = binary(s, GLOW_OP_MUL, adam_rate(s, alpha, beta, one), ratio);
  if (c->post == 0)
    return result(s, 0, GLOW_OP_SUB, s->x, move) != NULL;
  GlowValue *keep = binary(s, GLOW_OP_SUB, one, scalar(s, "post", c->post));
  return result(s, 0, GLOW_OP_MUL, keep, binary(s, GLOW_OP_SUB, s->x, move)) != NULL;
}

bool glow_onnx_adam(GlowOnnxNode *n) {
  Adam c = {.alpha = 0.9f, .beta = 0.999f, .epsilon = 1e-6f};
  float norm = 0;
  return glow_onnx_float(n, "alpha", &c.alpha) && glow_onnx_float(n, "beta", &c.beta) &&
         glow_onnx_float(n, "epsilon", &c.epsilon) &&
         glow_onnx_float(n, "norm_coefficient", &norm) &&
         glow_onnx_float(n, "norm_coefficient_post", &c.post) && each_tensor(n, 4, adam, norm, &c);
}

/* ---- Momentum ------------------------------------------------------------------------------- */

typedef struct Momentum {
  float alpha, beta;
  bool nesterov;
} Momentum;

/* V' = alpha V + b G with b = beta after the first step, else 1;
 * X' = X - R V', or with Nesterov's X - R (G + alpha V') */
static bool momentum(Step *s, const void *config) {
  const Momentum *c = config;
  GlowValue *one = scalar(s, "one", 1), *alpha = scalar(s, "alpha", c->alpha);
  GlowValue *beta = after_first(s, scalar(s, "beta", c->beta), one);
  GlowValue *old = binary(s, GLOW_OP_MUL, alpha, operand(s, 2));
  GlowValue *v = result(s, 1, GLOW_OP_ADD, old, binary(s, GLOW_OP_MUL, beta, s->g));
  GlowValue *move = v;
  if (c->nesterov)
    move = binary(s, GLOW_OP_ADD, s->g, binary(s, GLOW_OP_MUL, alpha, v));
  return result(s, 0, GLOW_OP_SUB, s->x, binary(s, GLOW_OP_MUL, s->rate, move)) != NULL;
}

bool glow_onnx_momentum(GlowOnnxNode *n) {
  Momentum c = {0};
  float norm = 0;
  GlowStr mode = NULL;
  static const char *const required[] = {"alpha", "beta", "mode", "norm_coefficient"};
  for (size_t i = 0; i < sizeof required / sizeof *required; i++)
    if (!glow_onnx_has(n, required[i]))
      return glow_onnx_fail(n, "attribute '%s' is missing", required[i]);
  if (!glow_onnx_float(n, "alpha", &c.alpha) || !glow_onnx_float(n, "beta", &c.beta) ||
      !glow_onnx_float(n, "norm_coefficient", &norm) || !glow_onnx_string(n, "mode", &mode))
    return false;
  c.nesterov = strcmp(mode, "nesterov") == 0;
  if (!c.nesterov && strcmp(mode, "standard") != 0)
    return glow_onnx_fail(n, "attribute 'mode' is '%s'", mode);
  return each_tensor(n, 3, momentum, norm, &c);
}
