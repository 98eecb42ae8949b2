/* Tiled attention: see docs/Numerics for the order of everything.
 *
 * For each head, a tile of keys and their values is packed into scratch; then tiles of queries pass
 * over it, each a register tile high: scores as a product, weights, and a product with the values
 * that goes on from what Y holds. So no more than a tile of scores is ever in memory, and K and V
 * are packed once per head. Running maxima and sums of all queries of the head are in scratch. */
#include "exp.h"
#include "matrix_tile.h"
#include "pack.h"

#define LANES (GLOW_ATTENTION_LANES / GLOW_VL) /* registers that hold the sums of one query */

/* glow_weightf of lanes: from lanes_float.c, which compiled code inlines; library code has it in
 * the loops where it is short. */
#if defined(GLOW_LIBRARY) && GLOW_HAS_FMA
INLINE GlowVec weight_of(GlowVec x) {
  float in[GLOW_VL], out[GLOW_VL];
  vec_store(in, x);
  VECTOR_LANES out[l] = glow_weightf(in[l]);
  return vec_load(out);
}
#else
GlowVec glow_lanes_weight(GlowVec x);
INLINE GlowVec weight_of(GlowVec x) { return glow_lanes_weight(x); }
#endif

enum { FIRST = 1, LAST = 2 };

/* ---- Scratch --------------------------------------------------------------------------------- */

/* State of a query: its sums, then its maximum. */
#define STATE (GLOW_ATTENTION_LANES + 1)

INLINE int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* Floats from one query's weights to the next one's: not a power of two. */
INLINE int64_t weights_stride(const GlowAttentionParams *s) {
  return round_up(s->kv_tile, PANEL) + 16;
}

/* ---- One tile -------------------------------------------------------------------------------- */

INLINE GlowVec larger(GlowVec a, GlowVec b) {
  GlowVecI above = (GlowVecI)(b > a);
  return (GlowVec)(((GlowVecI)b & above) | ((GlowVecI)a & ~above));
}

#define OTHER_LANE(l, d) ((l) ^ (d))
#define FOLD(v, d) larger(v, __builtin_shufflevector(v, v, GLOW_LANES_OF(OTHER_LANE, d)))

INLINE float top_of(GlowVec v) {
  v = FOLD(v, 1);
  v = FOLD(v, 2);
#if GLOW_VL >= 8
  v = FOLD(v, 4);
#endif
#if GLOW_VL >= 16
  v = FOLD(v, 8);
#endif
  return v[0];
}

/* Lanes behind the last key get the lowest score. */
INLINE void hide_tail(float *row, int64_t keys) {
  ROLLED for (int64_t j = keys; j % GLOW_ATTENTION_LANES; j++) row[j] = -__builtin_inff();
}

INLINE void add_mask(const GlowAttentionParams *s, float *row, const float *mask, int64_t keys) {
  ROLLED for (int64_t j = 0; j < keys; j += GLOW_VL) {
    int64_t left = keys - j;
    GlowVec m = vec_splat(mask[0]);
    if (s->m[3])
      m = left < GLOW_VL ? vec_load_first(mask + j, left) : vec_load(mask + j);
    vec_store(row + j, vec_load(row + j) + m);
  }
}

/* The largest score so far: of this row and of the tiles before. */
INLINE float largest(const float *row, float before, int64_t keys) {
  GlowVec lowest = vec_splat(-__builtin_inff()), top[LANES];
  UNROLL for (int i = 0; i < LANES; i++) top[i] = lowest;
  ROLLED for (int64_t j = 0; j < keys; j += GLOW_ATTENTION_LANES) {
    UNROLL for (int i = 0; i < LANES; i++) top[i] = larger(top[i], vec_load(row + j + i * GLOW_VL));
  }
  UNROLL for (int i = 1; i < LANES; i++) top[0] = larger(top[0], top[i]);
  float now = top_of(top[0]);
  return now > before ? now : before;
}

/* The scores of rows become weights, which are added to their sums. */
APART void weigh(const GlowAttentionParams *s, int64_t rows, float *weights, float *state,
                 const float *base, const float *factors, int64_t keys) {
  const int64_t ldw = weights_stride(s);
  ROLLED for (int64_t r = 0; r < rows; r++) {
    float *row = weights + r * ldw, *sums = state + r * STATE;
    const GlowVec b = vec_splat(base[r]);
    GlowVec sum[LANES];
    UNROLL for (int i = 0; i < LANES; i++) sum[i] =
        vec_load(sums + i * GLOW_VL) * vec_splat(factors[r]);
    ROLLED for (int64_t j = 0; j < keys; j += GLOW_ATTENTION_LANES) {
      UNROLL for (int i = 0; i < LANES; i++) {
        float *at = row + j + i * GLOW_VL;
        const GlowVec w = weight_of(vec_load(at) - b);
        vec_store(at, w);
        sum[i] = sum[i] + w;
      }
    }
    UNROLL for (int i = 0; i < LANES; i++) vec_store(sums + i * GLOW_VL, sum[i]);
  }
}

/* What the sums of rows before are multiplied by, of how much the largest score has grown. */
APART void weigh_factors(float *factors, int64_t rows) {
  ROLLED for (int64_t i = 0; i < rows; i += GLOW_VL)
      vec_store(factors + i, weight_of(vec_load(factors + i)));
}

/* 1 / the sum of the weights, or 0 if that is 0. The lanes are summed as a tree. */
INLINE float inverse_sum(const float *state) {
  float sum[GLOW_ATTENTION_LANES];
  UNROLL for (int l = 0; l < GLOW_ATTENTION_LANES; l++) sum[l] = state[l];
  UNROLL for (int step = GLOW_ATTENTION_LANES / 2; step > 0; step /= 2) {
    UNROLL for (int l = 0; l < step; l++) sum[l] = sum[l] + sum[l + step];
  }
  return sum[0] == 0 ? 0.0f : 1.0f / sum[0];
}

INLINE void score(int rows, const GlowAttentionParams *s, const float *q, const float *k,
                  float *scaled, float *weights) {
  const int64_t ldw = weights_stride(s);
  const float scale = glow_float_from_bits((uint32_t)s->scale);
  const Steps steps = {.am = s->size, .ak = 1, .bk = PANEL, .rest = s->size % 4 != 0};
  ROLLED for (int64_t i = 0; i < rows; i++) {
    int64_t d = 0;
    if (s->q[3] == 1) {
      ROLLED for (; d + GLOW_VL <= s->size; d += GLOW_VL)
          vec_store(scaled + i * s->size + d, vec_load(q + i * s->q[2] + d) * vec_splat(scale));
    }
    ROLLED for (; d < s->size; d++) scaled[i * s->size + d] = q[i * s->q[2] + d * s->q[3]] * scale;
  }
  ROLLED for (int64_t p = 0; p < s->k_panels; p++) {
    Accumulators acc;
    UNROLL for (int i = 0; i < rows; i++) {
      UNROLL for (int j = 0; j < GLOW_TILE_VECTORS; j++) acc[i][j] = (GlowVec){0};
    }
    product_steps(rows, GLOW_TILE_VECTORS, acc, scaled, k + p * s->size * PANEL, k, s->size,
                  &steps);
    UNROLL for (int i = 0; i < rows; i++) {
      UNROLL for (int j = 0; j < GLOW_TILE_VECTORS; j++)
          vec_store(weights + i * ldw + p * PANEL + j * GLOW_VL, acc[i][j]);
    }
  }
}

/* Y = Y * factors + weights * V, in the end times `inverse`. */
INLINE void gather(int rows, const GlowAttentionParams *s, float *y, const float *v,
                   const float *weights, const float *factors, const float *inverse, int64_t keys,
                   int64_t phase) {
  const Steps steps = {
      .am = weights_stride(s), .ak = 1, .bk = PANEL, .rest = s->keys % 4 || s->kv_tile % 4};
  ROLLED for (int64_t p = 0; p < s->v_panels; p++) {
    Accumulators acc;
    UNROLL for (int i = 0; i < rows; i++) {
      UNROLL for (int j = 0; j < GLOW_TILE_VECTORS; j++) acc[i][j] = (GlowVec){0};
    }
    if (s->kv_tile < s->keys && !(phase & FIRST)) {
      UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int j = 0; j < GLOW_TILE_VECTORS; j++) {
          int64_t c = p * PANEL + j * GLOW_VL;
          acc[i][j] = get(y + i * s->y[2] + c, c, s->v_size) * vec_splat(factors[i]);
        }
      }
    }
    product_steps(rows, GLOW_TILE_VECTORS, acc, weights, v + p * s->kv_tile * PANEL, v, keys,
                  &steps);
    if (s->kv_tile >= s->keys || phase & LAST) {
      UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int j = 0; j < GLOW_TILE_VECTORS; j++) acc[i][j] =
            acc[i][j] * vec_splat(inverse[i]);
      }
    }
    UNROLL for (int i = 0; i < rows; i++) {
      UNROLL for (int j = 0; j < GLOW_TILE_VECTORS; j++) {
        int64_t c = p * PANEL + j * GLOW_VL;
        put(y + i * s->y[2] + c, acc[i][j], c, s->v_size);
      }
    }
  }
}

INLINE void tile(int rows, const GlowAttentionParams *params, float *y, const float *q,
                 const float *k, const float *v, const float *mask, float *state, float *work,
                 int64_t keys, int64_t phase) {
  const GlowAttentionParams s = *params;
  const int64_t ldw = weights_stride(&s);
  float *scaled = work, *weights = work + round_up(GLOW_TILE_PIXELS * s.size, 16);
  float base[GLOW_TILE_PIXELS], inverse[GLOW_TILE_PIXELS];
  float factors[GLOW_TILE_PIXELS + GLOW_VL - 1];
  UNROLL for (int i = rows; i < GLOW_TILE_PIXELS + GLOW_VL - 1; i++) factors[i] = 0;
  score(rows, &s, q, k, scaled, weights);
  /* One pass over all rows for each step, so that the latencies of different rows overlap. */
  ROLLED for (int64_t i = 0; i < rows; i++) {
    float *row = weights + i * ldw, *top = state + i * STATE + GLOW_ATTENTION_LANES;
    if (s.mask)
      add_mask(&s, row, mask + i * s.m[2], keys);
    if (s.keys % GLOW_ATTENTION_LANES)
      hide_tail(row, keys);
    float now = largest(row, *top, keys);
    base[i] = now == -__builtin_inff() ? 0.0f : now;
    factors[i] = *top - base[i];
    *top = now;
  }
  weigh_factors(factors, rows);
  weigh(&s, rows, weights, state, base, factors, keys);
  ROLLED for (int64_t i = 0; i < rows; i++) inverse[i] =
      phase & LAST ? inverse_sum(state + i * STATE) : 1.0f;
  gather(rows, &s, y, v, weights, factors, inverse, keys, phase);
}

#define TILE(rows)                                                                                 \
  void glow_attention_tile_##rows(const GlowAttentionParams *params, float *y, const float *q,     \
                                  const float *k, const float *v, const float *mask, float *state, \
                                  float *work, int64_t keys, int64_t phase) {                      \
    tile(rows, params, y, q, k, v, mask, state, work, keys, phase);                                \
  }

EACH_ATTENTION_TILE(TILE)

/* ---- Heads ----------------------------------------------------------------------------------- */

INLINE int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

/* Keys as columns, in panels; beyond the last one zeros. */
INLINE void pack_keys(const GlowAttentionParams *s, float *to, const float *k, int64_t keys) {
  ROLLED for (int64_t p = 0; p < s->k_panels; p++) {
    int64_t columns = min64(keys - p * PANEL, PANEL);
    const float *from = k + p * PANEL * s->k[2];
    float *panel = to + p * s->size * PANEL;
    if (columns == PANEL)
      pack(panel, PANEL, from, s->k[3], s->k[2], s->size, PANEL);
    else
      pack_padded(panel, PANEL, from, s->k[3], s->k[2], s->size, columns < 0 ? 0 : columns);
  }
}

/* Values as rows, in panels of their elements. */
INLINE void pack_values(const GlowAttentionParams *s, float *to, const float *v, int64_t keys) {
  ROLLED for (int64_t p = 0; p < s->v_panels; p++) {
    int64_t columns = min64(s->v_size - p * PANEL, PANEL);
    const float *from = v + p * PANEL * s->v[3];
    float *panel = to + p * s->kv_tile * PANEL;
    if (columns == PANEL)
      pack(panel, PANEL, from, s->v[2], s->v[3], keys, PANEL);
    else
      pack_padded(panel, PANEL, from, s->v[2], s->v[3], keys, columns);
  }
}

/* Where a head begins in an operand with these strides. */
INLINE int64_t at4(const int64_t *stride, int64_t batch, int64_t head) {
  return batch * stride[0] + head * stride[1];
}

/* `full` and `small` are specialized tiles. `small` has one query less, and may be null. */
void glow_attention(const GlowAttentionParams *params, GlowAttentionTileFn *full,
                    GlowAttentionTileFn *small, void *const *ptrs, int64_t begin, int64_t end,
                    char *scratch) {
  const GlowAttentionParams s = *params;
  float *keys = (float *)scratch, *values = keys + s.k_panels * s.size * PANEL;
  float *state = values + s.v_panels * s.kv_tile * PANEL;
  float *work = state + round_up(s.queries * STATE, 16);
  ROLLED for (int64_t unit = begin; unit < end; unit++) {
    const int64_t b = unit / s.heads, h = unit % s.heads, shared = h / s.shared;
    const GlowAttentionPtrs p = GLOW_ATTENTION_PTRS(ptrs);
    float *y = p.y + at4(s.y, b, h);
    const float *q = p.q + at4(s.q, b, h);
    const float *k = p.k + at4(s.k, b, shared);
    const float *v = p.v + at4(s.v, b, shared);
    const float *mask = p.mask + at4(s.m, b, h);
    ROLLED for (int64_t i = 0; i < s.queries * STATE; i++) state[i] =
        i % STATE == GLOW_ATTENTION_LANES ? -__builtin_inff() : 0.0f;
    ROLLED for (int64_t t = 0; t < s.keys; t += s.kv_tile) {
      const int64_t count = min64(s.keys - t, s.kv_tile);
      const int64_t phase = (t == 0 ? FIRST : 0) | (t + count == s.keys ? LAST : 0);
      pack_keys(&s, keys, k + t * s.k[2], count);
      pack_values(&s, values, v + t * s.v[2], count);
      ROLLED for (int64_t i = 0, row = 0; i < s.tiles; i++) {
        const bool slim = s.narrow && i >= s.tiles - s.narrow;
        GlowAttentionTileFn *fn = slim ? small : full;
        fn(GLOW_IN_LIBRARY(params) y + row * s.y[2], q + row * s.q[2], keys, values,
           mask + row * s.m[2] + t * s.m[3], state + row * STATE, work, count, phase);
        row += s.tile - slim;
      }
    }
  }
}
