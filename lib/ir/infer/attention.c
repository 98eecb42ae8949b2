/* Inference of attention. Operands are [batch, heads, sequence, size], or [batch, sequence,
 * heads * size] with the numbers of heads as members. */
#include <math.h>

#include "ir/infer/hooks.h"

enum { BATCH, HEADS, SEQUENCE, SIZE };

/* A dim divided by the number of heads. False if it is not a multiple. */
static bool divide(GlowDim d, uint32_t heads, GlowDim *result) {
  *result = d.kind == GLOW_DIM_EXACT ? GLOW_EXACT(d.size / heads) : GLOW_UNKNOWN;
  return d.kind != GLOW_DIM_EXACT || d.size % heads == 0;
}

/* Reads operand i (Q, K, V or a past) as [batch, heads, sequence, size] into dims[4]. With rank 3
 * its last axis is heads * size. `heads`: 0 if the members do not tell. */
static bool four_axes(const GlowInfer *in, uint32_t i, uint32_t rank, uint32_t heads,
                      GlowDim *dims) {
  const char *name = in->desc->in[i].name;
  const GlowType *t = glow_infer_in(in, i);
  for (uint32_t k = 0; k < 4; k++)
    dims[k] = GLOW_UNKNOWN;
  if (heads)
    dims[HEADS] = GLOW_EXACT(heads);
  if (!t || t->unranked)
    return true;
  if (t->rank != rank)
    return glow_infer_error(in, "%s must have rank %u, but has type %s", name, rank,
                            glow_type_str(in->ctx, t));
  if (rank == 4) {
    GlowDim named = dims[HEADS];
    memcpy(dims, t->dims, 4 * sizeof *dims);
    return glow_dim_meet(named, t->dims[HEADS], &dims[HEADS]) ||
           glow_infer_error(in, "%s has %s heads, but the member says %u", name,
                            glow_dim_str(in->ctx, t->dims[HEADS]), heads);
  }
  dims[BATCH] = t->dims[0];
  dims[SEQUENCE] = t->dims[1];
  return divide(t->dims[2], heads, &dims[SIZE]) ||
         glow_infer_error(in, "%s has size %s, which %u heads do not divide", name,
                          glow_dim_str(in->ctx, t->dims[2]), heads);
}

static bool meet(const GlowInfer *in, const char *what, uint32_t a, GlowDim *x, uint32_t b,
                 GlowDim y) {
  return glow_dim_meet(*x, y, x) ||
         glow_infer_error(in, "%s and %s have %s %s and %s", in->desc->in[a].name,
                          in->desc->in[b].name, what, glow_dim_str(in->ctx, *x),
                          glow_dim_str(in->ctx, y));
}

typedef struct Shapes {
  GlowDim q[4], k[4], v[4], total; /* total: number of keys, past ones included */
  GlowDim past[4];                 /* of PastKey */
} Shapes;

/* PastKey and PastValue must agree with K and V in all axes but the sequence. */
static bool check_past(const GlowInfer *in, Shapes *s) {
  GlowDim value[4];
  const uint32_t key_in = GLOW_ATTENTION_IN_PAST_KEY, value_in = GLOW_ATTENTION_IN_PAST_VALUE;
  bool has_key = glow_infer_in(in, key_in) != NULL, has_value = glow_infer_in(in, value_in) != NULL;
  if (has_key != has_value)
    return glow_infer_error(in, "PastKey and PastValue are given together or not at all");
  s->total = s->k[SEQUENCE];
  if (!has_key)
    return true;
  if (glow_infer_in(in, GLOW_ATTENTION_IN_LENGTHS))
    return glow_infer_error(in, "Lengths cannot be used together with PastKey and PastValue");
  if (!four_axes(in, key_in, 4, 0, s->past) || !four_axes(in, value_in, 4, 0, value) ||
      !meet(in, "sequence length", key_in, &s->past[SEQUENCE], value_in, value[SEQUENCE]))
    return false;
  static const char *const names[] = {"batch", "number of heads", "", "size"};
  for (uint32_t i = 0; i < 4; i++)
    if (i != SEQUENCE && (!meet(in, names[i], GLOW_ATTENTION_IN_K, &s->k[i], key_in, s->past[i]) ||
                          !meet(in, names[i], GLOW_ATTENTION_IN_V, &s->v[i], value_in, value[i])))
      return false;
  s->total = glow_dim_add(s->past[SEQUENCE], s->k[SEQUENCE]);
  return true;
}

static bool check_heads(const GlowInfer *in, const Shapes *s) {
  GlowDim q = s->q[HEADS], k = s->k[HEADS];
  if (q.kind != GLOW_DIM_EXACT || k.kind != GLOW_DIM_EXACT)
    return true;
  if (k.size > 0 ? q.size % k.size == 0 : q.size == 0)
    return true;
  return glow_infer_error(in, "%lld heads of Q cannot share %lld of K", (long long)q.size,
                          (long long)k.size);
}

/* Mask must broadcast to the scores; its last axis may be shorter than that of the scores. */
static bool check_mask(const GlowInfer *in, const GlowDim *scores) {
  const GlowType *t = glow_infer_in(in, GLOW_ATTENTION_IN_MASK);
  if (!t || t->unranked)
    return true;
  bool ok = t->rank <= 4;
  for (uint32_t i = 0; ok && i < t->rank; i++) {
    GlowDim d = t->dims[i], s = scores[i + 4 - t->rank], same;
    bool last = i + 1 == t->rank && s.kind == GLOW_DIM_EXACT && d.kind == GLOW_DIM_EXACT;
    ok = glow_dim_is_exact(d, 1) || (last ? d.size <= s.size : glow_dim_meet(s, d, &same));
  }
  return ok ||
         glow_infer_error(in, "Mask has type %s, which does not broadcast to <%s x %s x %s x %s>",
                          glow_type_str(in->ctx, t), glow_dim_str(in->ctx, scores[0]),
                          glow_dim_str(in->ctx, scores[1]), glow_dim_str(in->ctx, scores[2]),
                          glow_dim_str(in->ctx, scores[3]));
}

static bool check_members(const GlowInfer *in, uint32_t rank) {
  const GlowAttentionMembers *m = in->members;
  if (rank != 3 && rank != 4)
    return glow_infer_error(in, "Q must have rank 3 or 4, but has type %s",
                            glow_type_str(in->ctx, in->in[GLOW_ATTENTION_IN_Q]));
  if (rank == 3 && (m->q_num_heads == 0 || m->kv_num_heads == 0))
    return glow_infer_error(in, "operands of rank 3 need q_num_heads and kv_num_heads");
  if (!(m->scale >= 0) || isinf(m->scale))
    return glow_infer_error(in, "scale must be a number that is not negative");
  if (!(m->softcap >= 0) || isinf(m->softcap))
    return glow_infer_error(in, "softcap must be a number that is not negative");
  if (m->left_window_size < -1 || m->right_window_size < -1)
    return glow_infer_error(in, "a window size is below -1");
  if (m->softmax_precision.count > 1)
    return glow_infer_error(in, "softmax_precision has %u kinds, expected at most 1",
                            m->softmax_precision.count);
  if (m->softmax_precision.count &&
      !glow_kind_is_float(glow_array_at(m->softmax_precision, GlowKind, 0)))
    return glow_infer_error(in, "softmax_precision is no floating point kind");
  return true;
}

static bool check_operands(const GlowInfer *in, uint32_t rank, Shapes *s) {
  const GlowAttentionMembers *m = in->members;
  const uint32_t q = GLOW_ATTENTION_IN_Q, k = GLOW_ATTENTION_IN_K, v = GLOW_ATTENTION_IN_V;
  return four_axes(in, q, rank, m->q_num_heads, s->q) &&
         four_axes(in, k, rank, m->kv_num_heads, s->k) &&
         four_axes(in, v, rank, m->kv_num_heads, s->v) &&
         meet(in, "batch", q, &s->q[BATCH], k, s->k[BATCH]) &&
         meet(in, "batch", q, &s->q[BATCH], v, s->v[BATCH]) &&
         meet(in, "size", q, &s->q[SIZE], k, s->k[SIZE]) &&
         meet(in, "number of heads", k, &s->k[HEADS], v, s->v[HEADS]) &&
         meet(in, "sequence length", k, &s->k[SEQUENCE], v, s->v[SEQUENCE]) && check_heads(in, s);
}

static bool check_lengths(const GlowInfer *in, GlowDim batch) {
  const GlowType *t = glow_infer_in(in, GLOW_ATTENTION_IN_LENGTHS);
  GlowDim same;
  if (!t || t->unranked || (t->rank == 1 && glow_dim_meet(batch, t->dims[0], &same)))
    return true;
  return glow_infer_error(in, "Lengths has type %s, expected %s elements: one for each batch",
                          glow_type_str(in->ctx, t), glow_dim_str(in->ctx, batch));
}

static bool set_results(GlowInfer *in, uint32_t rank, const Shapes *s) {
  const GlowType *q = in->in[GLOW_ATTENTION_IN_Q], *v = in->in[GLOW_ATTENTION_IN_V];
  const GlowDim *k = s->k;
  GlowDim y4[] = {s->q[BATCH], s->q[HEADS], s->q[SEQUENCE], s->v[SIZE]};
  GlowDim y3[] = {s->q[BATCH], s->q[SEQUENCE], glow_dim_mul(s->q[HEADS], s->v[SIZE])};
  GlowDim key[] = {k[BATCH], k[HEADS], s->total, k[SIZE]};
  GlowDim value[] = {k[BATCH], k[HEADS], s->total, s->v[SIZE]};
  GlowDim scores[] = {s->q[BATCH], s->q[HEADS], s->q[SEQUENCE], s->total};
  return check_mask(in, scores) && check_lengths(in, s->q[BATCH]) &&
         glow_infer_set(in, GLOW_ATTENTION_OUT_Y, q, rank, rank == 4 ? y4 : y3) &&
         glow_infer_set(in, GLOW_ATTENTION_OUT_PRESENT_KEY, q, 4, key) &&
         glow_infer_set(in, GLOW_ATTENTION_OUT_PRESENT_VALUE, v, 4, value) &&
         glow_infer_set(in, GLOW_ATTENTION_OUT_SCORES, q, 4, scores);
}

bool glow_infer_attention(GlowInfer *in) {
  const GlowType *q = in->in[GLOW_ATTENTION_IN_Q], *v = in->in[GLOW_ATTENTION_IN_V];
  Shapes s;
  if (q->unranked)
    return glow_infer_set_unknown(in, GLOW_ATTENTION_OUT_Y, q, -1) &&
           glow_infer_set_unknown(in, GLOW_ATTENTION_OUT_PRESENT_KEY, q, 4) &&
           glow_infer_set_unknown(in, GLOW_ATTENTION_OUT_PRESENT_VALUE, v, 4) &&
           glow_infer_set_unknown(in, GLOW_ATTENTION_OUT_SCORES, q, 4);
  return check_members(in, q->rank) && check_operands(in, q->rank, &s) && check_past(in, &s) &&
         set_results(in, q->rank, &s);
}

/* ---- TiledAttention -------------------------------------------------------------------------- */

bool glow_infer_tiled_attention(GlowInfer *in) {
  const GlowType *q = in->in[GLOW_TILED_ATTENTION_IN_Q];
  const uint32_t iq = GLOW_TILED_ATTENTION_IN_Q, ik = GLOW_TILED_ATTENTION_IN_K,
                 iv = GLOW_TILED_ATTENTION_IN_V;
  if (q->unranked)
    return glow_infer_set_unknown(in, GLOW_TILED_ATTENTION_OUT_Y, q, 4);
  Shapes s;
  if (!four_axes(in, iq, 4, 0, s.q) || !four_axes(in, ik, 4, 0, s.k) ||
      !four_axes(in, iv, 4, 0, s.v) || !meet(in, "batch", iq, &s.q[BATCH], ik, s.k[BATCH]) ||
      !meet(in, "batch", iq, &s.q[BATCH], iv, s.v[BATCH]) ||
      !meet(in, "size", iq, &s.q[SIZE], ik, s.k[SIZE]) ||
      !meet(in, "number of heads", ik, &s.k[HEADS], iv, s.v[HEADS]) ||
      !meet(in, "sequence length", ik, &s.k[SEQUENCE], iv, s.v[SEQUENCE]) || !check_heads(in, &s))
    return false;
  GlowDim y[] = {s.q[BATCH], s.q[HEADS], s.q[SEQUENCE], s.v[SIZE]};
  GlowDim scores[] = {s.q[BATCH], s.q[HEADS], s.q[SEQUENCE], s.k[SEQUENCE]};
  const GlowType *mask = glow_infer_in(in, GLOW_TILED_ATTENTION_IN_MASK);
  for (uint32_t i = 0; mask && !mask->unranked && i < mask->rank; i++) {
    GlowDim sum, d = mask->dims[i];
    if (mask->rank > 4 || !glow_dim_broadcast(scores[i + 4 - mask->rank], d, &sum) ||
        (glow_dim_is_exact(scores[i + 4 - mask->rank], 1) && !glow_dim_is_exact(d, 1)))
      return glow_infer_error(in, "Mask has type %s, which does not broadcast to the scores",
                              glow_type_str(in->ctx, mask));
  }
  return glow_infer_set(in, GLOW_TILED_ATTENTION_OUT_Y, q, 4, y);
}

bool glow_verify_tiled_attention(const GlowNode *n) {
  const GlowTiledAttentionMembers *m = n->members;
  if (m->kv_tile == 0 || m->kv_tile % 16)
    return glow_verify_error(n, "kv_tile must be a multiple of 16, but is %u", m->kv_tile);
  if (isnan(m->scale))
    return glow_verify_error(n, "scale is no number");
  return true;
}
