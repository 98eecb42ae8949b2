/* The gradient rule of LinearAttention: the operator as a Loop over tokens, which carries the state
 * [batch, heads, keys, values] and gives the results of each token. */
#include "autodiff/sample.h"

typedef struct Plan {
  int64_t batch, tokens, heads, shared, keys, values; /* shared: heads of Q for one of K */
  GlowValue *q, *k, *v, *decay, *beta; /* by token; the last two NULL if the rule has none */
} Plan;

/* Operand i [batch, tokens, ...] as [tokens, batch, a, b, c]. NULL if it is absent. */
static GlowValue *by_token(const GlowGrad *g, const Plan *p, uint32_t i, int64_t a, int64_t b,
                           int64_t c) {
  GlowValue *v = glow_node_in(g->n, i);
  v = glow_then_cast(g->b, v, glow_sum_kind(glow_grad_in(g, 0)->type->kind));
  v = glow_build_shaped(g->b, g->n, v, 5, (int64_t[]){p->batch, p->tokens, a, b, c});
  return v ? glow_build_permuted(g->b, v, (uint32_t[]){1, 0, 2, 3, 4}, 5) : NULL;
}

/* The extent of the last axis of operand i. */
static int64_t size_of(const GlowGrad *g, uint32_t i) {
  const GlowValue *v = glow_node_in(g->n, i);
  return v ? v->type->dims[2].size : 0;
}

static Plan plan_of(const GlowGrad *g) {
  const GlowLinearAttentionMembers *m = g->n->members;
  const GlowType *q = glow_grad_in(g, 0)->type;
  Plan p = {.batch = q->dims[0].size, .tokens = q->dims[1].size, .heads = m->kv_num_heads};
  p.shared = m->q_num_heads / m->kv_num_heads;
  p.keys = size_of(g, 1) / p.heads;
  p.values = size_of(g, 2) / p.heads;
  p.q = by_token(g, &p, 0, p.heads, p.shared, p.keys);
  p.k = by_token(g, &p, 1, p.heads, p.keys, 1);
  p.v = by_token(g, &p, 2, p.heads, 1, p.values);
  int64_t decays = size_of(g, 4), betas = size_of(g, 5);
  if (decays) {
    int64_t heads = decays == 1 ? 1 : p.heads;
    p.decay = glow_then1(g->b, GLOW_OP_EXP, by_token(g, &p, 4, heads, decays / heads, 1), NULL);
  }
  if (betas)
    p.beta = by_token(g, &p, 5, betas, 1, 1);
  return p;
}

/* The state after a token. */
static GlowValue *next_state(GlowBuilder *b, const Plan *p, GlowValue *s, GlowValue *token) {
  GlowValue *k = glow_build_picked(b, p->k, token, 0), *v = glow_build_picked(b, p->v, token, 0);
  if (p->decay)
    s = glow_then2(b, GLOW_OP_MUL, s, glow_build_picked(b, p->decay, token, 0));
  if (p->beta && k) {
    GlowValue *row = glow_build_permuted(b, k, (uint32_t[]){0, 1, 3, 2}, 4);
    v = glow_then2(b, GLOW_OP_SUB, v, glow_then2(b, GLOW_OP_MAT_MUL, row, s));
    v = glow_then2(b, GLOW_OP_MUL, v, glow_build_picked(b, p->beta, token, 0));
  }
  return glow_then2(b, GLOW_OP_ADD, s, glow_then2(b, GLOW_OP_MUL, k, v));
}

/* The last state, and results [tokens, batch, heads, shared, values], not scaled. */
static GlowNode *loop_of(const GlowGrad *g, const Plan *p, GlowValue *state) {
  GlowModule *m = g->b->module;
  GlowBuilder in;
  GlowBlock *body = glow_build_region(g->b, "body", &in);
  GlowValue *token = glow_block_add_param(body, NULL, glow_type_scalar(m->ctx, GLOW_KIND_I64));
  GlowValue *go = glow_block_add_param(body, NULL, glow_type_scalar(m->ctx, GLOW_KIND_BOOL));
  GlowValue *s = glow_block_add_param(body, NULL, state->type);
  in.pred = g->b->pred;
  s = next_state(&in, p, s, token);
  GlowValue *y = glow_then2(&in, GLOW_OP_MAT_MUL, glow_build_picked(&in, p->q, token, 0), s);
  if (!y || !glow_build_terminator(body, GLOW_OP_YIELD, (GlowValue *[]){go, s, y}, 3))
    return NULL;
  GlowValue *trip = glow_constant_int(m, g->n, "tokens", p->tokens);
  return glow_node_create(g->b, &(GlowNodeSpec){.op = GLOW_OP_LOOP,
                                                .ins = (GlowValue *[]){trip, NULL, state},
                                                .nins = 3,
                                                .regions = &body,
                                                .nregions = 1,
                                                .nresults = 2});
}

bool glow_grad_linear_attention(GlowGrad *g) {
  const GlowLinearAttentionMembers *m = g->n->members;
  GlowValue *past = glow_node_in(g->n, 3), *results[2] = {NULL};
  GlowKind kind = glow_sum_kind(glow_grad_in(g, 0)->type->kind);
  for (uint32_t i = 0; i < glow_node_nins(g->n); i++)
    if (glow_grad_in(g, i) && !glow_type_is_static(glow_grad_in(g, i)->type))
      return false;
  Plan p = plan_of(g);
  int64_t dims[] = {p.batch, p.heads, p.keys, p.values};
  GlowValue *state =
      past ? glow_then_cast(g->b, past, kind)
           : glow_build_filled(g->b, glow_type_exact(g->b->module->ctx, kind, 4, dims),
                               (GlowScalar){.f = 0});
  GlowNode *loop = p.q && p.k && p.v && state ? loop_of(g, &p, state) : NULL;
  if (!loop)
    return false;
  double scale = m->scale != 0 ? (double)m->scale : 1 / __builtin_sqrt((double)p.keys);
  GlowValue *y = by(g, GLOW_OP_MUL, &loop->results[1], scale);
  y = y ? glow_build_permuted(g->b, y, (uint32_t[]){1, 0, 2, 3, 4}, 5) : NULL;
  results[0] = glow_grad_shaped(g, y, g->n->results[0].type);
  results[1] = &loop->results[0];
  return glow_grad_through(g, results);
}
