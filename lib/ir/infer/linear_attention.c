/* Inference of LinearAttention (ONNX, version 27). */
#include "ir/infer/hooks.h"

enum { BATCH, TOKENS, SIZE };

typedef struct Sizes {
  GlowDim batch, tokens, keys, values; /* keys, values: of one head */
} Sizes;

/* Reads the extents of operand i, [batch, tokens, heads * size]; it may be absent. */
static bool read_packed(const GlowInfer *in, uint32_t i, uint32_t heads, Sizes *s, GlowDim *size) {
  const GlowType *t = glow_infer_in(in, i);
  const char *name = in->desc->in[i].name;
  GlowDim each = GLOW_UNKNOWN;
  if (!t || t->unranked)
    return true;
  if (t->rank != 3)
    return glow_infer_error(in, "%s must have rank 3, but has type %s", name,
                            glow_type_str(in->ctx, t));
  if (!glow_dim_meet(s->batch, t->dims[BATCH], &s->batch) ||
      !glow_dim_meet(s->tokens, t->dims[TOKENS], &s->tokens))
    return glow_infer_error(in, "%s has type %s, but batch and tokens are %s and %s", name,
                            glow_type_str(in->ctx, t), glow_dim_str(in->ctx, s->batch),
                            glow_dim_str(in->ctx, s->tokens));
  if (!size || t->dims[SIZE].kind != GLOW_DIM_EXACT)
    return true;
  if (t->dims[SIZE].size % heads)
    return glow_infer_error(in, "%s has size %lld, which %u heads do not divide", name,
                            (long long)t->dims[SIZE].size, heads);
  each = GLOW_EXACT(t->dims[SIZE].size / heads);
  return glow_dim_meet(*size, each, size) ||
         glow_infer_error(in, "%s has heads of size %s, but those of Q have %s", name,
                          glow_dim_str(in->ctx, each), glow_dim_str(in->ctx, *size));
}

/* Checks Decay or Beta: present exactly if `wanted`, with a last extent of `one` or `other`. */
static bool check_gate(const GlowInfer *in, uint32_t i, bool wanted, GlowDim one, GlowDim other,
                       Sizes *s) {
  const GlowType *t = glow_infer_in(in, i);
  const char *name = in->desc->in[i].name;
  GlowDim same;
  if (!t == wanted)
    return glow_infer_error(in, "%s %s what the update rule takes", name,
                            wanted ? "is missing, which is" : "is given, which is not");
  if (!read_packed(in, i, 1, s, NULL))
    return false;
  return !t || t->unranked || glow_dim_meet(t->dims[SIZE], one, &same) ||
         glow_dim_meet(t->dims[SIZE], other, &same) ||
         glow_infer_error(in, "%s has size %s, expected %s or %s", name,
                          glow_dim_str(in->ctx, t->dims[SIZE]), glow_dim_str(in->ctx, one),
                          glow_dim_str(in->ctx, other));
}

static bool check_state(const GlowInfer *in, const GlowType *past, const GlowDim *dims) {
  bool fits = !past || past->unranked || past->rank == 4;
  GlowDim same;
  for (uint32_t i = 0; fits && past && !past->unranked && i < 4; i++)
    fits = glow_dim_meet(past->dims[i], dims[i], &same);
  return fits || glow_infer_error(in, "Past has type %s, expected %s x %s x %s x %s",
                                  glow_type_str(in->ctx, past), glow_dim_str(in->ctx, dims[0]),
                                  glow_dim_str(in->ctx, dims[1]), glow_dim_str(in->ctx, dims[2]),
                                  glow_dim_str(in->ctx, dims[3]));
}

bool glow_infer_linear_attention(GlowInfer *in) {
  const GlowLinearAttentionMembers *m = in->members;
  const GlowType *q = in->in[GLOW_LINEAR_ATTENTION_IN_Q];
  const GlowType *past = glow_infer_in(in, GLOW_LINEAR_ATTENTION_IN_PAST);
  Sizes s = {GLOW_UNKNOWN, GLOW_UNKNOWN, GLOW_UNKNOWN, GLOW_UNKNOWN};
  if (m->kv_num_heads == 0 || m->q_num_heads == 0 || m->q_num_heads % m->kv_num_heads)
    return glow_infer_error(in, "%u heads of Q are no multiple of %u of K", m->q_num_heads,
                            m->kv_num_heads);
  GlowDim heads = GLOW_EXACT(m->kv_num_heads);
  bool gated =
      m->update_rule == GLOW_UPDATE_RULE_GATED || m->update_rule == GLOW_UPDATE_RULE_GATED_DELTA;
  bool delta =
      m->update_rule == GLOW_UPDATE_RULE_DELTA || m->update_rule == GLOW_UPDATE_RULE_GATED_DELTA;
  if (!read_packed(in, GLOW_LINEAR_ATTENTION_IN_Q, m->q_num_heads, &s, &s.keys) ||
      !read_packed(in, GLOW_LINEAR_ATTENTION_IN_K, m->kv_num_heads, &s, &s.keys) ||
      !read_packed(in, GLOW_LINEAR_ATTENTION_IN_V, m->kv_num_heads, &s, &s.values) ||
      !check_gate(in, GLOW_LINEAR_ATTENTION_IN_DECAY, gated, heads, glow_dim_mul(heads, s.keys),
                  &s) ||
      !check_gate(in, GLOW_LINEAR_ATTENTION_IN_BETA, delta, heads, GLOW_EXACT(1), &s))
    return false;
  GlowDim y[] = {s.batch, s.tokens, glow_dim_mul(GLOW_EXACT(m->q_num_heads), s.values)};
  GlowDim state[] = {s.batch, heads, s.keys, s.values};
  return check_state(in, past, state) && glow_infer_set(in, 0, q, 3, y) &&
         glow_infer_set(in, 1, past ? past : q, 4, state);
}
