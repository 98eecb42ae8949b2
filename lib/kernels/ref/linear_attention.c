/* LinearAttention (ONNX, version 27): for each image and head of K a state S of keys times values,
 * in float (double for double), which starts at Past or 0. For each token, in this order:
 *
 *   S[d][m] = S[d][m] * exp(Decay[d])                       gated
 *   v[m] = Beta * (v[m] - chain over d of S[d][m] * k[d])   delta
 *   S[d][m] = fma(k[d], v[m], S[d][m])
 *   Y[m] = scale * chain over d of S[d][m] * q[d]           each head of Q that shares S
 *
 * Chains are fused multiply-adds from +0, d ascending. */
#include "kernels/ref/ref.h"
#include "num/fma.h"

typedef struct Plan {
  const GlowBuf *q, *k, *v, *past, *decay, *beta;
  GlowBuf *y, *present;
  int64_t tokens, heads;        /* heads: of K and V */
  int64_t shared, keys, values; /* heads of Q for each of K; elements of a key and of a value */
  float scale;                  /* 0: from the size of a head */
} Plan;

static Plan plan_of(const GlowCall *call) {
  const GlowLinearAttentionMembers *m = call->members;
  Plan p = {.q = &call->in[0], .k = &call->in[1], .v = &call->in[2], .past = &call->in[3]};
  p.decay = &call->in[4];
  p.beta = &call->in[5];
  p.y = &call->out[0];
  p.present = &call->out[1];
  p.tokens = p.q->dims[1];
  p.heads = m->kv_num_heads;
  p.shared = m->q_num_heads / m->kv_num_heads;
  p.keys = p.k->dims[2] / p.heads;
  p.values = p.v->dims[2] / p.heads;
  p.scale = m->scale;
  return p;
}

size_t glow_scratch_linear_attention(const GlowCall *call) {
  Plan p = plan_of(call);
  return (size_t)((p.keys + 1) * p.values) * sizeof(double);
}

static double real_at(const GlowBuf *b, int64_t i) {
  double v;
  glow_load_real(b, i, 1, 1, &v);
  return v;
}

/* Entry of Decay or Beta [batch, tokens, 1 or heads or heads * keys] for a token, head and key. */
static int64_t gate_index(const Plan *p, const GlowBuf *gate, int64_t token, int64_t head,
                          int64_t d) {
  int64_t size = gate->dims[2];
  int64_t at = size == p->heads ? head : size == 1 ? 0 : head * p->keys + d;
  return token * size + at;
}

#define STEPS(T, FMA)                                                                              \
  static void decay_##T(const Plan *p, int64_t token, int64_t head, T *s) {                        \
    for (int64_t d = 0; d < p->keys; d++) {                                                        \
      const T factor = EXP((T)real_at(p->decay, gate_index(p, p->decay, token, head, d)));         \
      for (int64_t m = 0; m < p->values; m++)                                                      \
        s[d * p->values + m] *= factor;                                                            \
    }                                                                                              \
  }                                                                                                \
  /* The chain over x, a vector of keys, and column m of the state. */                             \
  static T read_##T(const Plan *p, const T *s, const GlowBuf *x, int64_t at, int64_t m) {          \
    T sum = 0;                                                                                     \
    for (int64_t d = 0; d < p->keys; d++)                                                          \
      sum = FMA(s[d * p->values + m], (T)real_at(x, at + d), sum);                                 \
    return sum;                                                                                    \
  }                                                                                                \
  static void write_##T(const Plan *p, int64_t token, int64_t head, T *s, T *v) {                  \
    int64_t key = (token * p->heads + head) * p->keys;                                             \
    for (int64_t m = 0; m < p->values; m++) {                                                      \
      v[m] = (T)real_at(p->v, (token * p->heads + head) * p->values + m);                          \
      if (glow_buf_present(p->beta))                                                               \
        v[m] = (T)real_at(p->beta, gate_index(p, p->beta, token, head, 0)) *                       \
               (v[m] - read_##T(p, s, p->k, key, m));                                              \
    }                                                                                              \
    for (int64_t d = 0; d < p->keys; d++) {                                                        \
      const T k = (T)real_at(p->k, key + d);                                                       \
      for (int64_t m = 0; m < p->values; m++)                                                      \
        s[d * p->values + m] = FMA(k, v[m], s[d * p->values + m]);                                 \
    }                                                                                              \
  }                                                                                                \
  static void head_##T(const Plan *p, int64_t batch, int64_t head, T *s) {                         \
    int64_t size = p->keys * p->values, state = (batch * p->heads + head) * size;                  \
    const T scale = p->scale != 0 ? (T)p->scale : 1 / SQRT((T)p->keys);                            \
    for (int64_t i = 0; i < size; i++)                                                             \
      s[i] = glow_buf_present(p->past) ? (T)real_at(p->past, state + i) : 0;                       \
    for (int64_t t = 0; t < p->tokens; t++) {                                                      \
      int64_t token = batch * p->tokens + t;                                                       \
      if (glow_buf_present(p->decay))                                                              \
        decay_##T(p, token, head, s);                                                              \
      write_##T(p, token, head, s, s + size);                                                      \
      for (int64_t j = 0; j < p->shared; j++) {                                                    \
        int64_t row = (token * p->heads + head) * p->shared + j;                                   \
        for (int64_t m = 0; m < p->values; m++)                                                    \
          glow_ref_store_number(p->y, row * p->values + m,                                         \
                                (double)(scale * read_##T(p, s, p->q, row * p->keys, m)));         \
      }                                                                                            \
    }                                                                                              \
    for (int64_t i = 0; i < size && glow_buf_present(p->present); i++)                             \
      glow_ref_store_number(p->present, state + i, (double)s[i]);                                  \
  }
STEPS(float, glow_fmaf)
STEPS(double, glow_fma)

GlowRunError glow_kernel_linear_attention(GlowCall *call) {
  Plan p = plan_of(call);
  for (int64_t b = 0; b < p.q->dims[0]; b++)
    for (int64_t h = 0; h < p.heads; h++) {
      if (p.q->kind == GLOW_KIND_DOUBLE)
        head_double(&p, b, h, call->scratch);
      else
        head_float(&p, b, h, call->scratch);
    }
  return GLOW_RUN_OK;
}
