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
  const int64_t block = s == 1 ? at : s == 2 ? at >> 1 : at / s; /* divisions take long */
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

/* What each tap along the last axis has: columns [first, end) of the image, where column 0 would
 * be, in elements from the first block of a row at tap 0, and lanes of the vectors of a row. */
typedef struct Masks {
  int64_t vectors; /* of a row; 0: there are too many for masks */
  int64_t first[GLOW_COL2_IM_TAPS], end[GLOW_COL2_IM_TAPS], from[GLOW_COL2_IM_TAPS];
  int64_t low, high; /* the least and the greatest `from` */
  GlowVecI of[GLOW_COL2_IM_TAPS];
} Masks;

/* Column c of the image is at from[c] for tap k along the last axis. */
typedef struct Tap {
  const float *from;
  const GlowVecI *masks;
  int64_t k;
} Tap;

/* The taps of a row. Each is from [low, high]. */
typedef struct Taps {
  int64_t count;
  const float *low, *high;
  Tap of[GLOW_COL2_IM_TAPS];
} Taps;

/* Rows of taps lie in ascending order: those of one tap are a plane of blocks. */
INLINE void find_taps(const GlowCol2ImParams *p, const Masks *m, const float *x, int64_t r0,
                      int64_t r1, Taps *taps) {
  const int64_t row_blocks = p->count[2], blocks = p->count[0] * p->count[1] * row_blocks;
  int64_t count = 0;
  taps->low = taps->high = x;
  ROLLED for (int64_t i = 0; i < p->kernel[0]; i++) {
    const int64_t b0 = block_at(p, 0, r0, i);
    ROLLED for (int64_t j = 0; b0 >= 0 && j < p->kernel[1]; j++) {
      const int64_t b1 = block_at(p, 1, r1, j);
      if (b1 < 0)
        continue;
      const float *row =
          x + (i * p->kernel[1] + j) * p->kernel[2] * blocks + (b0 * p->count[1] + b1) * row_blocks;
      taps->low = count ? taps->low : row + m->low;
      taps->high = row + m->high;
      ROLLED for (int64_t k = 0; k < p->kernel[2]; k++) {
        if (m->first[k] < m->end[k])
          taps->of[count++] = (Tap){row + m->from[k], m->of + k * m->vectors, k};
      }
    }
  }
  taps->count = count;
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
  const int64_t blocks = p->count[0] * p->count[1] * p->count[2];
  GlowVecI lanes;
  UNROLL for (int l = 0; l < GLOW_VL; l++) lanes[l] = l;
  m->vectors = (p->image[2] + GLOW_VL - 1) / GLOW_VL;
  if (m->vectors * p->kernel[2] > GLOW_COL2_IM_TAPS)
    m->vectors = 0;
  ROLLED for (int64_t k = 0; k < p->kernel[2]; k++) {
    int64_t first, end, at;
    blocks_at(p, 2, k, &first, &end, &at);
    m->first[k] = first + at, m->end[k] = end + at, m->from[k] = k * blocks - at;
    m->low = k ? least(m->low, m->from[k]) : m->from[k];
    m->high = k ? most(m->high, m->from[k]) : m->from[k];
    ROLLED for (int64_t v = 0; v < m->vectors; v++) {
      const int32_t begin = (int32_t)(first + at - v * GLOW_VL),
                    stop = (int32_t)(end + at - v * GLOW_VL);
      m->of[k * m->vectors + v] = (lanes >= begin) & (lanes < stop);
    }
  }
}

/* N vectors, the first of them number v, of a row of the image whose taps may be read whole, `row`
 * elements behind those of the first row: one alone waits for its last sum. */
#define FOLD_WHOLE(N)                                                                              \
  INLINE void fold_whole##N(const Taps *taps, int64_t row, int64_t v, float *y,                    \
                            const float *y_limit) {                                                \
    GlowVec sum[N];                                                                                \
    UNROLL for (int n = 0; n < N; n++) sum[n] = vec_splat(0);                                      \
    ROLLED for (int64_t t = 0; t < taps->count; t++) {                                             \
      const float *from = taps->of[t].from + row + v * GLOW_VL;                                    \
      const GlowVecI *mask = taps->of[t].masks + v;                                                \
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

INLINE void fold_whole_row(const Taps *taps, int64_t vectors, int64_t row, float *y,
                           const float *y_limit) {
  int64_t v = 0;
  ROLLED for (; v + 2 <= vectors; v += 2) fold_whole2(taps, row, v, y, y_limit);
  if (v < vectors)
    fold_whole1(taps, row, v, y, y_limit);
}

/* A row of the image; y_limit: where no more is stored. */
INLINE void fold_row(const GlowCol2ImParams *p, const Masks *m, const Taps *taps, int64_t row,
                     const float *begin, const float *limit, float *y, const float *y_limit) {
  ROLLED for (int64_t j = 0; j < p->image[2]; j += GLOW_VL) {
    GlowVec sum = vec_splat(0);
    ROLLED for (int64_t t = 0; t < taps->count; t++) {
      const Tap tap = taps->of[t];
      const int64_t first = m->first[tap.k] - j, end = m->end[tap.k] - j;
      if (first <= 0 && end >= GLOW_VL)
        sum += vec_load(tap.from + row + j);
      else if (first < GLOW_VL && end > 0)
        sum += load_lanes(tap.from + row + j, first, end, begin, limit);
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
  Taps taps;
  int64_t row = 0; /* elements behind the taps that were found */
  int64_t r1 = begin % p->image[1], rest = begin / p->image[1];
  ROLLED for (int64_t u = begin; u < end; u++) {
    if (u > begin && r1 > 0 && row_has_all(p, r1 - 1) && row_has_all(p, r1)) {
      row += p->count[2];
    } else {
      const int64_t image = p->image[0] == 1 ? rest : rest / p->image[0];
      find_taps(p, &masks, x + image * plane, rest - image * p->image[0], r1, &taps);
      row = 0;
    }
    if (masks.vectors > 0 && (uintptr_t)(taps.low + row) >= (uintptr_t)x &&
        (uintptr_t)(taps.high + row + masks.vectors * GLOW_VL) <= (uintptr_t)limit)
      fold_whole_row(&taps, masks.vectors, row, y + u * p->image[2], y + end * p->image[2]);
    else
      fold_row(p, &masks, &taps, row, x, limit, y + u * p->image[2], y + end * p->image[2]);
    if (++r1 == p->image[1])
      r1 = 0, rest++;
  }
}

#define FOLD(kind, S, C, LOAD, STORE, ROWS)                                                        \
  ADD(kind, S, C, LOAD)                                                                            \
  STORE_ROW(kind, S, C, STORE)                                                                     \
  void glow_col2_im_##kind(const GlowCol2ImParams *params, void *const *ptrs, int64_t begin,       \
                           int64_t end, char *scratch) {                                           \
    if (begin >= end)                                                                              \
      return;                                                                                      \
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
    int64_t r1 = begin % p->image[1], r0 = begin / p->image[1] % p->image[0];                      \
    const S *x = (const S *)ptrs[1] + begin / (p->image[0] * p->image[1]) * taps * blocks;         \
    ROLLED for (int64_t u = begin; u < end; u++) {                                                 \
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
      if (++r1 == p->image[1]) {                                                                   \
        r1 = 0;                                                                                    \
        if (++r0 == p->image[0])                                                                   \
          r0 = 0, x += taps * blocks;                                                              \
      }                                                                                            \
    }                                                                                              \
  }

#define PLAIN(v) (v)
FOLD(float, float, float, PLAIN, PLAIN, 1)
FOLD(double, double, double, PLAIN, PLAIN, 0)
FOLD(float16, uint16_t, float, glow_half_to_float, glow_half_from_float, 0)
FOLD(bfloat16, uint16_t, float, glow_bfloat_to_float, glow_bfloat_from_float, 0)
