/* MaxUnpool and Col2Im: elements go back to where a sliding window took them from. */
#include "kernels/kernels.h"

#include "glow/rt.h"
#include "num/half.h"

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- MaxUnpool ------------------------------------------------------------------------------- */

/* Where an index of the implied extents lies in Y. */
INLINE int64_t place_of(const GlowUnpoolParams *p, int64_t index) {
  int64_t place = 0;
  if (p->same)
    return index;
  UNROLL for (int a = GLOW_UNPOOL_DIMS - 1; a >= 0; a--) {
    place += index % p->n[a] * p->stride[a];
    index /= p->n[a];
  }
  return place;
}

/* One unit. The fault stands behind the operands. */
#define UNPOOL(bits, T)                                                                            \
  void glow_max_unpool_##bits(const GlowUnpoolParams *p, void *const *ptrs, int64_t begin,         \
                              int64_t end, char *scratch) {                                        \
    T *restrict y = (T *)ptrs[0];                                                                  \
    const T *restrict x = (const T *)ptrs[1];                                                      \
    const int64_t *restrict indices = GLOW_MAX_UNPOOL_PTRS(ptrs).indices;                          \
    const int64_t elements = p->elements, size = p->size, count = begin < end ? p->count : 0;      \
    GlowFault *fault = ptrs[3];                                                                    \
    (void)scratch;                                                                                 \
    if (begin < end)                                                                               \
      __builtin_memset(y, 0, (size_t)size * sizeof(T));                                            \
    ROLLED for (int64_t i = 0; i < count; i++) {                                                   \
      const int64_t index = indices[i];                                                            \
      if ((uint64_t)index >= (uint64_t)elements) {                                                 \
        fault->error = GLOW_FAULT_INDEX;                                                           \
        fault->detail = index;                                                                     \
        return;                                                                                    \
      }                                                                                            \
      y[place_of(p, index)] = x[i];                                                                \
    }                                                                                              \
  }
UNPOOL(8, uint8_t)
UNPOOL(16, uint16_t)
UNPOOL(32, uint32_t)
UNPOOL(64, uint64_t)

/* ---- Col2Im ---------------------------------------------------------------------------------- */

/* Each element is a chain from +0 over the taps in ascending order. Of floats whose blocks are side
 * by side vectors of a row are summed, with +0 for what lies outside, which changes no sum. Other
 * rows are summed in scratch memory, tap by tap, the columns of each rest by the stride side by
 * side. */

/* Blocks [*first, *end) along axis a have tap k inside of the image, block b at place
 * *at + b * stride. */
INLINE void blocks_at(const GlowCol2ImParams *p, int a, int64_t k, int64_t *first, int64_t *end,
                      int64_t *at) {
  const int64_t s = p->stride[a], last = p->image[a] - 1;
  *at = k * p->dilation[a] - p->before[a];
  *first = *at < 0 ? (-*at + s - 1) / s : 0;
  *end = last < *at ? 0 : least((last - *at) / s + 1, p->count[a]);
}

/* What tap k along the last axis adds to: sums [to, to + count) in scratch memory, from the blocks
 * of a row from block `first` on. `room`: sums of the columns of a rest by the stride. */
typedef struct Run {
  int64_t first, count, to;
} Run;
INLINE Run run_of(const GlowCol2ImParams *p, int64_t k, int64_t room) {
  const int64_t s = p->stride[2];
  int64_t first, end, at;
  blocks_at(p, 2, k, &first, &end, &at);
  const int64_t start = at + first * s, block = first < end ? start / s : 0;
  return (Run){first, end - first, (start - block * s) * room + block};
}

/* The block of axis a whose tap k is at `place`; -1: there is none. */
INLINE int64_t block_at(const GlowCol2ImParams *p, int a, int64_t place, int64_t k) {
  const int64_t at = place + p->before[a] - k * p->dilation[a], s = p->stride[a];
  const int64_t block = s == 1 ? at : at / s;
  return at < 0 || block * s != at || block >= p->count[a] ? -1 : block;
}

/* Adds neighbours of X to neighbouring sums. */
#define ADD(kind, S, C, LOAD)                                                                      \
  INLINE void kind##_add(C *restrict sum, const S *restrict x, int64_t count) {                    \
    const int64_t eights = count & ~7, fours = count & ~3;                                         \
    _Pragma("clang loop vectorize(enable)") for (int64_t i = 0; i < eights; i++) sum[i] +=         \
        LOAD(x[i]);                                                                                \
    if (eights < fours)                                                                            \
      UNROLL for (int64_t i = eights; i < eights + 4; i++) sum[i] += LOAD(x[i]);                   \
    ROLLED for (int64_t i = fours; i < count; i++) sum[i] += LOAD(x[i]);                           \
  }

/* A row of the image from its sums: those of columns c, c + s, ... lie side by side, `room` from
 * those of column c + 1 on. */
#define STORE_ROW(kind, S, C, STORE)                                                               \
  INLINE void kind##_store(S *restrict y, const C *restrict sum, int64_t columns, int64_t s,       \
                           int64_t room) {                                                         \
    const C *restrict odd = sum + room;                                                            \
    if (s == 1)                                                                                    \
      _Pragma("clang loop vectorize(enable)") for (int64_t c = 0; c < columns; c++) y[c] =         \
          STORE(sum[c]);                                                                           \
    else if (s == 2 && columns % 2 == 0)                                                           \
      _Pragma("clang loop vectorize(enable)") for (int64_t c = 0; c < room; c++) {                 \
        y[2 * c] = STORE(sum[c]);                                                                  \
        y[2 * c + 1] = STORE(odd[c]);                                                              \
      }                                                                                            \
    else                                                                                           \
      ROLLED for (int64_t f = 0; f < s; f++) {                                                     \
        ROLLED for (int64_t c = f; c < columns; c += s) y[c] = STORE(sum[f * room + c / s]);       \
      }                                                                                            \
  }

/* What the taps of a row have: column c of the image is at from[c], for c in [first, end). */
typedef struct Tap {
  const float *from;
  int64_t first, end, k; /* k: along the last axis */
} Tap;

/* What each tap along the last axis has: columns [first, end) of the image, column c from block
 * c - at, and lanes of the vectors of a row. */
typedef struct Masks {
  int64_t vectors; /* of a row; 0: there are too many for masks */
  int64_t first[GLOW_COL2_IM_TAPS], end[GLOW_COL2_IM_TAPS], at[GLOW_COL2_IM_TAPS];
  GlowVecI of[GLOW_COL2_IM_TAPS];
} Masks;

INLINE int64_t find_taps(const GlowCol2ImParams *p, const Masks *m, const float *x, int64_t r0,
                         int64_t r1, Tap *taps) {
  const int64_t row_blocks = p->count[2], blocks = p->count[0] * p->count[1] * row_blocks;
  int64_t count = 0;
  ROLLED for (int64_t i = 0; i < p->kernel[0]; i++) {
    const int64_t b0 = block_at(p, 0, r0, i);
    ROLLED for (int64_t j = 0; b0 >= 0 && j < p->kernel[1]; j++) {
      const int64_t b1 = block_at(p, 1, r1, j);
      ROLLED for (int64_t k = 0; b1 >= 0 && k < p->kernel[2]; k++) {
        const int64_t tap = (i * p->kernel[1] + j) * p->kernel[2] + k;
        if (m->first[k] < m->end[k])
          taps[count++] = (Tap){x + tap * blocks + (b0 * p->count[1] + b1) * row_blocks - m->at[k],
                                m->first[k], m->end[k], k};
      }
    }
  }
  return count;
}

/* A vector at `from` with +0 outside of lanes [first, end); nothing is read outside of
 * [begin, limit). */
INLINE GlowVec load_lanes(const float *from, int64_t first, int64_t end, const float *begin,
                          const float *limit) {
  GlowVecI lanes;
  UNROLL for (int l = 0; l < GLOW_VL; l++) lanes[l] = l;
  if ((uintptr_t)from >= (uintptr_t)begin && (uintptr_t)(from + GLOW_VL) <= (uintptr_t)limit)
    return (GlowVec)((GlowVecI)vec_load(from) & (lanes >= (int32_t)most(first, 0)) &
                     (lanes < (int32_t)least(end, GLOW_VL)));
  float v[GLOW_VL] = {0};
  ROLLED for (int64_t l = most(first, 0); l < least(end, GLOW_VL); l++) v[l] = from[l];
  return vec_load(v);
}

INLINE void find_masks(const GlowCol2ImParams *p, Masks *m) {
  GlowVecI lanes;
  UNROLL for (int l = 0; l < GLOW_VL; l++) lanes[l] = l;
  m->vectors = (p->image[2] + GLOW_VL - 1) / GLOW_VL;
  if (m->vectors * p->kernel[2] > GLOW_COL2_IM_TAPS)
    m->vectors = 0;
  ROLLED for (int64_t k = 0; k < p->kernel[2]; k++) {
    int64_t first, end, at;
    blocks_at(p, 2, k, &first, &end, &at);
    m->first[k] = first + at, m->end[k] = end + at, m->at[k] = at;
    ROLLED for (int64_t v = 0; v < m->vectors; v++) {
      const int32_t begin = (int32_t)(first + at - v * GLOW_VL),
                    stop = (int32_t)(end + at - v * GLOW_VL);
      m->of[k * m->vectors + v] = (lanes >= begin) & (lanes < stop);
    }
  }
}

/* N vectors, the first of them number v, of a row of the image whose taps may be read whole: one
 * alone waits for its last sum. */
#define FOLD_WHOLE(N)                                                                              \
  INLINE void fold_whole##N(const Masks *m, const Tap *taps, int64_t count, int64_t v, float *y,   \
                            const float *y_limit) {                                                \
    GlowVec sum[N];                                                                                \
    UNROLL for (int n = 0; n < N; n++) sum[n] = vec_splat(0);                                      \
    ROLLED for (int64_t t = 0; t < count; t++) {                                                   \
      const float *from = taps[t].from + v * GLOW_VL;                                              \
      const GlowVecI *mask = m->of + taps[t].k * m->vectors + v;                                   \
      UNROLL for (int n = 0; n < N; n++) sum[n] +=                                                 \
          (GlowVec)((GlowVecI)vec_load(from + n * GLOW_VL) & mask[n]);                             \
    }                                                                                              \
    UNROLL for (int n = 0; n < N; n++) {                                                           \
      float *to = y + (v + n) * GLOW_VL;                                                           \
      if (to + GLOW_VL <= y_limit)                                                                 \
        vec_store(to, sum[n]);                                                                     \
      else                                                                                         \
        vec_store_first(to, sum[n], most(y_limit - to, 0));                                        \
    }                                                                                              \
  }
FOLD_WHOLE(2)
FOLD_WHOLE(1)

INLINE void fold_whole_row(const Masks *m, const Tap *taps, int64_t count, float *y,
                           const float *y_limit) {
  int64_t v = 0;
  ROLLED for (; v + 2 <= m->vectors; v += 2) fold_whole2(m, taps, count, v, y, y_limit);
  if (v < m->vectors)
    fold_whole1(m, taps, count, v, y, y_limit);
}

/* A row of the image; y_limit: where no more is stored. */
INLINE void fold_row(const GlowCol2ImParams *p, const Tap *taps, int64_t count, const float *begin,
                     const float *limit, float *y, const float *y_limit) {
  ROLLED for (int64_t j = 0; j < p->image[2]; j += GLOW_VL) {
    GlowVec sum = vec_splat(0);
    ROLLED for (int64_t t = 0; t < count; t++) {
      const int64_t first = taps[t].first - j, end = taps[t].end - j;
      if (first <= 0 && end >= GLOW_VL)
        sum += vec_load(taps[t].from + j);
      else if (first < GLOW_VL && end > 0)
        sum += load_lanes(taps[t].from + j, first, end, begin, limit);
    }
    if (y + j + GLOW_VL <= y_limit)
      vec_store(y + j, sum);
    else
      vec_store_first(y + j, sum, y_limit - (y + j));
  }
}

/* Whether row r of an image has all taps along its axis. Those of the next one, if it has them,
 * too, are a row of blocks further. */
INLINE bool row_has_all(const GlowCol2ImParams *p, int64_t r) {
  const int64_t first = r + p->before[1];
  return p->stride[1] == 1 && first < p->count[1] && first >= (p->kernel[1] - 1) * p->dilation[1];
}

INLINE void fold_rows(const GlowCol2ImParams *p, const float *x, float *y, int64_t begin,
                      int64_t end) {
  const int64_t blocks = p->count[0] * p->count[1] * p->count[2];
  const int64_t plane = p->kernel[0] * p->kernel[1] * p->kernel[2] * blocks;
  const float *limit = x + p->planes * plane;
  Masks masks;
  find_masks(p, &masks);
  Tap taps[GLOW_COL2_IM_TAPS];
  const float *low = x, *high = x; /* the lowest and the highest of where taps are from */
  int64_t count = 0;
  ROLLED for (int64_t u = begin; u < end; u++) {
    const int64_t r1 = u % p->image[1], rest = u / p->image[1];
    if (u > begin && r1 > 0 && row_has_all(p, r1 - 1) && row_has_all(p, r1)) {
      ROLLED for (int64_t t = 0; t < count; t++) taps[t].from += p->count[2];
      low += p->count[2], high += p->count[2];
    } else {
      count = find_taps(p, &masks, x + rest / p->image[0] * plane, rest % p->image[0], r1, taps);
      low = high = count ? taps[0].from : x;
      ROLLED for (int64_t t = 1; t < count; t++) {
        low = (uintptr_t)taps[t].from < (uintptr_t)low ? taps[t].from : low;
        high = (uintptr_t)taps[t].from > (uintptr_t)high ? taps[t].from : high;
      }
    }
    if (masks.vectors > 0 && (uintptr_t)low >= (uintptr_t)x &&
        (uintptr_t)(high + masks.vectors * GLOW_VL) <= (uintptr_t)limit)
      fold_whole_row(&masks, taps, count, y + u * p->image[2], y + end * p->image[2]);
    else
      fold_row(p, taps, count, x, limit, y + u * p->image[2], y + end * p->image[2]);
  }
}

#define FOLD(kind, S, C, LOAD, STORE, ROWS)                                                        \
  ADD(kind, S, C, LOAD)                                                                            \
  STORE_ROW(kind, S, C, STORE)                                                                     \
  void glow_col2_im_##kind(const GlowCol2ImParams *params, void *const *ptrs, int64_t begin,       \
                           int64_t end, char *scratch) {                                           \
    const GlowCol2ImParams copy = *params, *const p = &copy; /* no store changes it */             \
    const int64_t columns = p->image[2], taps = p->kernel[0] * p->kernel[1] * p->kernel[2];        \
    const int64_t row_blocks = p->count[2], blocks = p->count[0] * p->count[1] * row_blocks;       \
    const int64_t s = p->stride[2], room = (columns + s - 1) / s;                                  \
    C *sum = (C *)scratch;                                                                         \
    if (ROWS && p->stride[2] == 1 && taps <= GLOW_COL2_IM_TAPS) {                                  \
      fold_rows(p, ptrs[1], ptrs[0], begin, end);                                                  \
      return;                                                                                      \
    }                                                                                              \
    const int64_t known = least(p->kernel[2], GLOW_COL2_IM_TAPS); /* they divide */                \
    Run runs[GLOW_COL2_IM_TAPS];                                                                   \
    ROLLED for (int64_t k = 0; k < known; k++) runs[k] = run_of(p, k, room);                       \
    ROLLED for (int64_t u = begin; u < end; u++) {                                                 \
      const int64_t r1 = u % p->image[1], r0 = u / p->image[1] % p->image[0];                      \
      const S *x = (const S *)ptrs[1] + u / (p->image[0] * p->image[1]) * taps * blocks;           \
      S *restrict y = (S *)ptrs[0] + u * columns;                                                  \
      __builtin_memset(sum, 0, (size_t)(s * room) * sizeof(C));                                    \
      ROLLED for (int64_t i = 0; i < p->kernel[0]; i++) {                                          \
        const int64_t b0 = block_at(p, 0, r0, i);                                                  \
        ROLLED for (int64_t j = 0; b0 >= 0 && j < p->kernel[1]; j++) {                             \
          const int64_t b1 = block_at(p, 1, r1, j);                                                \
          ROLLED for (int64_t k = 0; b1 >= 0 && k < p->kernel[2]; k++) {                           \
            const int64_t tap = (i * p->kernel[1] + j) * p->kernel[2] + k;                         \
            const S *from = x + tap * blocks + (b0 * p->count[1] + b1) * row_blocks;               \
            const Run run = k < known ? runs[k] : run_of(p, k, room);                              \
            if (run.count > 0)                                                                     \
              kind##_add(sum + run.to, from + run.first, run.count);                               \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
      kind##_store(y, sum, columns, s, room);                                                      \
    }                                                                                              \
  }

#define PLAIN(v) (v)
FOLD(float, float, float, PLAIN, PLAIN, 1)
FOLD(double, double, double, PLAIN, PLAIN, 0)
FOLD(float16, uint16_t, float, glow_half_to_float, glow_half_from_float, 0)
FOLD(bfloat16, uint16_t, float, glow_bfloat_to_float, glow_bfloat_from_float, 0)
