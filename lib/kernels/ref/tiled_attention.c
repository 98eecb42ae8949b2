/* TiledAttention: softmax over tiles of keys, with a running maximum and 16 running sums for each
 * query; docs/Numerics has the order. One query at a time. */
#include "kernels/ref/ref.h"
#include "num/fma.h"

enum { LANES = 16 };

/* One query. */
typedef struct Query {
  const float *q, *k, *v, *mask; /* rows; of K and V those of the first key; mask NULL: none */
  float *y;
  const int64_t *ks, *vs;     /* strides of K and V */
  int64_t y_step, mask_step;  /* strides along the last axis */
  int64_t keys, size, v_size; /* number of keys; elements of a key and of a value */
} Query;

static const float *row_of(const GlowBuf *b, int64_t batch, int64_t head, int64_t i) {
  return (const float *)b->data + batch * b->strides[0] + head * b->strides[1] + i * b->strides[2];
}

/* The stride of Mask along one of the four axes of the scores: 0 where it repeats. */
static int64_t mask_stride(const GlowBuf *m, uint32_t axis) {
  uint32_t missing = 4 - m->rank;
  return axis < missing || m->dims[axis - missing] == 1 ? 0 : m->strides[axis - missing];
}

/* The scores of n keys from number t on; returns the largest of them and `top`. */
static float score(const Query *x, int64_t t, int64_t n, float top, float *scores) {
  for (int64_t j = 0; j < n; j++) {
    const float *k = x->k + (t + j) * x->ks[2];
    float sum = 0;
    for (int64_t d = 0; d < x->size; d++)
      sum = glow_fmaf(x->q[d], k[d * x->ks[3]], sum);
    scores[j] = x->mask ? sum + x->mask[(t + j) * x->mask_step] : sum;
    top = scores[j] > top ? scores[j] : top;
  }
  return top;
}

static float tree(float *sums) {
  for (int64_t step = LANES / 2; step > 0; step /= 2)
    for (int64_t l = 0; l < step; l++)
      sums[l] = sums[l] + sums[l + step];
  return sums[0];
}

static void attend(const Query *x, int64_t tile, float *scores, float *acc) {
  float top = -__builtin_inff(), sums[LANES] = {0};
  for (int64_t d = 0; d < x->v_size; d++)
    acc[d] = 0;
  for (int64_t t = 0; t < x->keys; t += tile) {
    int64_t n = x->keys - t < tile ? x->keys - t : tile;
    float now = score(x, t, n, top, scores);
    float base = now == -__builtin_inff() ? 0 : now, factor = glow_weightf(top - base);
    for (int64_t l = 0; l < LANES; l++)
      sums[l] *= factor;
    for (int64_t d = 0; d < x->v_size; d++)
      acc[d] *= factor;
    for (int64_t j = 0; j < n; j++) {
      const float *v = x->v + (t + j) * x->vs[2], w = glow_weightf(scores[j] - base);
      sums[j % LANES] += w;
      for (int64_t d = 0; d < x->v_size; d++)
        acc[d] = glow_fmaf(w, v[d * x->vs[3]], acc[d]);
    }
    top = now;
  }
  float sum = tree(sums), inverse = sum == 0 ? 0 : 1.0f / sum;
  for (int64_t d = 0; d < x->v_size; d++)
    x->y[d * x->y_step] = acc[d] * inverse;
}

size_t glow_scratch_tiled_attention(const GlowCall *call) {
  const GlowTiledAttentionMembers *m = call->members;
  return ((size_t)call->in[0].dims[3] + m->kv_tile + (size_t)call->in[2].dims[3]) * sizeof(float);
}

GlowRunError glow_kernel_tiled_attention(GlowCall *call) {
  const GlowTiledAttentionMembers *m = call->members;
  const GlowBuf *q = &call->in[0], *k = &call->in[1], *v = &call->in[2], *mask = &call->in[3];
  GlowBuf *y = &call->out[0];
  const bool masked = call->nin > 3 && glow_buf_present(mask);
  const int64_t shared = k->dims[1] ? q->dims[1] / k->dims[1] : 1;
  float *scaled = call->scratch, *scores = scaled + q->dims[3], *acc = scores + m->kv_tile;
  Query x = {.q = scaled, .ks = k->strides, .vs = v->strides, .y_step = y->strides[3]};
  x.keys = k->dims[2];
  x.size = q->dims[3];
  x.v_size = v->dims[3];
  int64_t index[GLOW_MAX_RANK] = {0};
  if (q->dims[0] * q->dims[1] * q->dims[2] == 0)
    return GLOW_RUN_OK;
  do {
    const float *from = row_of(q, index[0], index[1], index[2]);
    for (int64_t d = 0; d < x.size; d++)
      scaled[d] = from[d * q->strides[3]] * m->scale;
    x.k = row_of(k, index[0], index[1] / shared, 0);
    x.v = row_of(v, index[0], index[1] / shared, 0);
    x.y = (float *)row_of(y, index[0], index[1], index[2]);
    x.mask = NULL;
    if (masked) {
      x.mask = (const float *)mask->data;
      x.mask_step = mask_stride(mask, 3);
      for (uint32_t a = 0; a < 3; a++)
        x.mask += index[a] * mask_stride(mask, a);
    }
    attend(&x, m->kv_tile, scores, acc);
  } while (glow_next_index(3, q->dims, index));
  return GLOW_RUN_OK;
}
