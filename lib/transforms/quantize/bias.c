/* Biases that make up for rounded weights: see quantize.h. Rounding moves each weight a little, and
 * what it multiplies has a mean that is not 0, so all results of a channel move by
 *
 *   sum of (W - stored * scale) * mean of its operand's channel
 *
 * over the weights that compute the channel, where none lies in the padding. The bias gets that
 * sum. */
#include "transforms/quantize/quantize.h"
#include "transforms/rules.h"

typedef struct Bias {
  GlowEval eval;
  const GlowContraction *c;
  const GlowNode *node;
} Bias;

/* The node and its input to which the sum is added: the bias of the contraction, or the other
 * operand of the Add that alone reads a product. NULL: there is none that is constant. */
static GlowNode *place_of(const GlowContraction *c, GlowConstness *constness, uint32_t *input) {
  GlowNode *n = c->node;
  GlowValue *y = &n->results[0];
  *input = GLOW_CONTRACTION_B;
  if (n->op == GLOW_OP_MAT_MUL) {
    n = glow_value_has_one_use(y) ? y->uses->user : NULL;
    if (!n || n->op != GLOW_OP_ADD)
      return NULL;
    *input = glow_node_in(n, 0) == y;
  }
  const GlowValue *old = glow_node_in(n, *input);
  bool fits =
      !old || (old->type->kind == GLOW_KIND_FLOAT && glow_constness_of(constness, old) &&
               (n == c->node || glow_is_per_channel(old->type, y->type->rank, c->y_axis, c->out)));
  return fits ? n : NULL;
}

/* The means of the operand's channels, so that they broadcast over the weights of `groups` groups:
 * [groups, out / groups, ...], if there are several. */
static GlowValue *build_means(Bias *b, const GlowRange *range, uint32_t rank) {
  GlowModule *m = b->eval.module;
  const GlowContraction *c = b->c;
  GlowTensor *t = glow_tensor_create(m->ctx, glow_type_exact(m->ctx, GLOW_KIND_FLOAT, 1, &c->in));
  __builtin_memcpy(t->data, range->mean.data, (size_t)c->in * sizeof(float));
  GlowStr name = glow_str_printf(m->ctx, "%s.mean", range->value);
  GlowValue *v = &glow_constant_list(m, name, t)->value;
  glow_tensor_free(t);
  v = glow_eval_copy(&b->eval, v);
  if (c->groups == 1)
    return glow_build_along(&b->eval.builder, b->node, v, rank, c->w_in);
  int64_t dims[GLOW_MAX_RANK] = {c->groups, 1, c->in / c->groups};
  for (uint32_t i = 3; i < rank; i++)
    dims[i] = 1;
  return glow_build_shaped(&b->eval.builder, b->node, v, rank, dims);
}

/* What rounding takes from each result channel: [out]. */
static GlowValue *build_sum(Bias *b, const GlowRange *range, GlowValue *weights, GlowValue *stored,
                            GlowValue *scale) {
  GlowBuilder *at = &b->eval.builder;
  const GlowContraction *c = b->c;
  GlowValue *ins[] = {stored, scale};
  GlowDequantizeLinearMembers d = {.axis = c->w_out};
  GlowValue *v = glow_then(at, GLOW_OP_DEQUANTIZE_LINEAR, ins, 2, &d);
  v = glow_then2(at, GLOW_OP_SUB, glow_eval_copy(&b->eval, weights), v);
  uint32_t rank = weights->type->rank, kept = 1;
  int64_t dims[GLOW_MAX_RANK], axes[GLOW_MAX_RANK];
  if (v && c->groups > 1) {
    dims[0] = c->groups;
    for (uint32_t i = 0; i < rank; i++)
      dims[i + 1] = weights->type->dims[i].size;
    dims[1] /= c->groups;
    kept = 2;
    v = glow_build_shaped(at, b->node, v, ++rank, dims);
  }
  v = glow_then2(at, GLOW_OP_MUL, v, build_means(b, range, rank));
  uint32_t count = 0;
  for (uint32_t i = 0; i < rank; i++)
    if (kept == 2 ? i >= kept : i != c->w_out)
      axes[count++] = i;
  GlowValue *list = glow_constant_ints(at->module, b->node, "axes", axes, count);
  v = v ? glow_build_reduce(at, GLOW_OP_REDUCE_SUM, v, list) : NULL;
  return v ? glow_build_shaped(at, b->node, v, 1, &c->out) : NULL;
}

bool glow_quantize_bias(GlowPassRun *run, const GlowContraction *c, GlowConstness *constness,
                        const GlowRange *range, GlowValue *stored, GlowValue *scale) {
  uint32_t input;
  GlowNode *n = place_of(c, constness, &input);
  GlowValue *old = n ? glow_node_in(n, input) : NULL;
  GlowValue *weights = glow_node_in(c->node, GLOW_CONTRACTION_W);
  bool known = range && range->axis == c->x_axis && (int64_t)range->mean.count == c->in;
  if (!n || !known || (c->groups > 1 && (c->w_out || weights->type->rank == GLOW_MAX_RANK)))
    return true;
  Bias b = {.eval = glow_eval_create(run->module, run->arena, c->node), .c = c, .node = c->node};
  GlowValue *v = build_sum(&b, range, weights, stored, scale);
  v = v && old ? glow_then2(&b.eval.builder, GLOW_OP_ADD, glow_eval_copy(&b.eval, old), v) : v;
  if (!v)
    return false;
  GlowStr name = glow_str_printf(run->ctx, "%s.bias", c->node->results[0].name);
  glow_node_set_in(n, input, &glow_eval_finish(&b.eval, v, name)->value);
  glow_pass_count(run, "biases corrected", 1);
  return true;
}
