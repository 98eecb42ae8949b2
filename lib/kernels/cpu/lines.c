/* Lines along an axis: ArgMax, CumSum and CumProd, OneHot; and Trilu.
 *
 * Units are lines where they lie one behind the other (inner is 1); otherwise groups of 16
 * neighbouring lines, and single ones for what is left over, as in reduce.c. */
#include "extremes.h"
#include "place.h"
#include "run.h"

#include "num/half.h"
#include "num/math.h"

#define LANES16                                                                                    \
  _Pragma("clang loop vectorize(enable) interleave(disable)") for (int l = 0; l < 16; l++)
#define ONE for (int l = 0; l < 1; l++)

/* Unit u: its first element, the number of its first line, and whether it has 16 lines. Lines one
 * behind the other are found without a division. */
INLINE int64_t lines_at(const GlowLinesParams *p, int64_t u, int64_t *line, int *wide) {
  if (p->inner == 1) {
    *wide = 0;
    *line = u;
    return u * p->n;
  }
  const int64_t groups = p->inner / 16, parts = groups + p->inner % 16;
  const int64_t outer = u / parts, part = u % parts;
  const int64_t at = part < groups ? part * 16 : groups * 16 + part - groups;
  *wide = part < groups;
  *line = outer * p->inner + at;
  return outer * p->n * p->inner + at;
}

/* ---- ArgMax: NaN is above all ---------------------------------------------------------------- */

#define ABOVE_REAL(a, b) (((a) > (b)) | (((a) != (a)) & ((b) == (b))))
#define ABOVE_INT(a, b) ((a) > (b))

#define ARG_LINES(name, S, C, LOAD, ABOVE, EACH, N)                                                \
  INLINE void name(const GlowLinesParams *p, int last, const S *restrict x, int64_t *restrict y) { \
    C top[N];                                                                                      \
    int32_t best[N];                                                                               \
    EACH top[l] = LOAD(x[l]);                                                                      \
    EACH best[l] = 0;                                                                              \
    ROLLED for (int32_t i = 1; i < (int32_t)p->n; i++) {                                           \
      const S *restrict at = x + i * p->inner;                                                     \
      EACH {                                                                                       \
        const C e = LOAD(at[l]);                                                                   \
        const int taken = last ? !ABOVE(top[l], e) : ABOVE(e, top[l]);                             \
        best[l] = taken ? i : best[l];                                                             \
        top[l] = taken ? e : top[l];                                                               \
      }                                                                                            \
    }                                                                                              \
    EACH y[l] = best[l];                                                                           \
  }

/* A line of neighbours: each of 16 lanes finds a maximum of its own; the best of these wins. */
#define ARG_ROW(name, S, C, LOAD, ABOVE)                                                           \
  INLINE int64_t name##_row(const GlowLinesParams *p, int last, const S *x) {                      \
    const int64_t whole = p->n / 16 * 16;                                                          \
    C top[16], most = LOAD(x[0]);                                                                  \
    int32_t best[16];                                                                              \
    int64_t found = 0;                                                                             \
    if (whole) {                                                                                   \
      LANES16 top[l] = LOAD(x[l]);                                                                 \
      LANES16 best[l] = 0;                                                                         \
      ROLLED for (int32_t i = 16; i < (int32_t)whole; i += 16) {                                   \
        LANES16 {                                                                                  \
          const C e = LOAD(x[i + l]);                                                              \
          const int taken = last ? !ABOVE(top[l], e) : ABOVE(e, top[l]);                           \
          best[l] = taken ? i : best[l];                                                           \
          top[l] = taken ? e : top[l];                                                             \
        }                                                                                          \
      }                                                                                            \
      ROLLED for (int l = 0; l < 16; l++) {                                                        \
        const int64_t at = best[l] + l;                                                            \
        const int equal = !ABOVE(top[l], most) && !ABOVE(most, top[l]);                            \
        if (ABOVE(top[l], most) || (equal && (last ? at > found : at < found))) {                  \
          found = at;                                                                              \
          most = top[l];                                                                           \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    ROLLED for (int64_t i = whole; i < p->n; i++) {                                                \
      const C e = LOAD(x[i]);                                                                      \
      if (last ? !ABOVE(most, e) : ABOVE(e, most)) {                                               \
        found = i;                                                                                 \
        most = e;                                                                                  \
      }                                                                                            \
    }                                                                                              \
    return found;                                                                                  \
  }

/* Where a register has a maximum of its line, which is a NaN if the line has one. */
INLINE GlowVecI has_most(const float *x, GlowVec most) {
  const GlowVec v = vec_load(x);
  return (v == most) | (v != v);
}

/* A line of floats: its maximum, then where that stands. A lane that keeps both waits for each of
 * its comparisons. */
INLINE int64_t arg_max_float_row(const GlowLinesParams *p, int last, const float *x) {
  const float one = most_float(x, p->n);
  const GlowVec most = vec_splat(one);
  int64_t i = last ? p->n - 1 : 0;
  if (last) {
    ROLLED while (i >= GLOW_VL && !__builtin_reduce_or(has_most(x + i - GLOW_VL + 1, most)))
      i -= GLOW_VL;
    ROLLED while (i > 0 && x[i] != one && x[i] == x[i])
      i--;
  } else {
    ROLLED while (i + GLOW_VL <= p->n && !__builtin_reduce_or(has_most(x + i, most)))
      i += GLOW_VL;
    ROLLED while (i < p->n - 1 && x[i] != one && x[i] == x[i])
      i++;
  }
  return i;
}

#define ARG_MAX(kind, S, C, LOAD, ABOVE)                                                           \
  ARG_LINES(arg_max_##kind##_all, S, C, LOAD, ABOVE, LANES16, 16)                                  \
  ARG_LINES(arg_max_##kind##_one, S, C, LOAD, ABOVE, ONE, 1)                                       \
  void glow_arg_max_##kind(const GlowLinesParams *p, void *const *ptrs, int64_t begin,             \
                           int64_t end, char *scratch) {                                           \
    int64_t *y = GLOW_ARG_MAX_PTRS(ptrs).y, line;                                                  \
    const S *x = GLOW_ARG_MAX_PTRS(ptrs).x;                                                        \
    int wide;                                                                                      \
    (void)scratch;                                                                                 \
    ROLLED for (int64_t u = begin; u < end; u++) {                                                 \
      if (p->inner == 1) {                                                                         \
        y[u] = p->last ? arg_max_##kind##_row(p, 1, x + u * p->n)                                  \
                       : arg_max_##kind##_row(p, 0, x + u * p->n);                                 \
        continue;                                                                                  \
      }                                                                                            \
      const S *from = x + lines_at(p, u, &line, &wide);                                            \
      if (!wide)                                                                                   \
        arg_max_##kind##_one(p, (int)p->last, from, y + line);                                     \
      else if (p->last)                                                                            \
        arg_max_##kind##_all(p, 1, from, y + line);                                                \
      else                                                                                         \
        arg_max_##kind##_all(p, 0, from, y + line);                                                \
    }                                                                                              \
  }

/* ---- Scans ----------------------------------------------------------------------------------- */

/* The chain of integers that are summed up is no longer than the loop around a step of it. */
#define FOURS _Pragma("clang loop unroll_count(4) vectorize(disable)")
#define SCAN_LINES(name, S, C, LOAD, STORE, OP, FIRST, EACH, N, LOOP)                              \
  INLINE void name(const GlowLinesParams *p, int64_t step, int64_t exclusive, const S *x, S *y) {  \
    const int64_t count = p->n; /* results may alias it */                                         \
    int64_t at = step < 0 ? (count - 1) * -step : 0;                                               \
    C sum[N], before[N];                                                                           \
    EACH before[l] = FIRST;                                                                        \
    EACH sum[l] = LOAD(x[at + l]);                                                                 \
    EACH y[at + l] = exclusive ? STORE(before[l]) : STORE(sum[l]);                                 \
    LOOP for (int64_t i = 1; i < count; i++) {                                                     \
      at += step;                                                                                  \
      EACH before[l] = sum[l];                                                                     \
      EACH sum[l] = OP(sum[l], LOAD(x[at + l]));                                                   \
      EACH y[at + l] = exclusive ? STORE(before[l]) : STORE(sum[l]);                               \
    }                                                                                              \
  }

/* Neighbouring lines at a time, n <= BAND of them, a multiple of 16: rows are read as they lie in
 * memory, and sums are in the first-level cache: by themselves, or as the row that was written
 * last, where that holds all of them. */
enum { BAND = 1024 };
#define SCAN_BAND(name, S, C, LOAD, STORE, OP, FIRST)                                              \
  INLINE void name(const GlowLinesParams *p, const S *x, S *y, int64_t n) {                        \
    const int64_t step = p->reverse ? -p->inner : p->inner;                                        \
    int64_t at = p->reverse ? (p->n - 1) * p->inner : 0;                                           \
    C sums[BAND], sum[16], before[16];                                                             \
    LANES16 before[l] = FIRST;                                                                     \
    ROLLED for (int64_t j = 0; j < n; j += 16) {                                                   \
      LANES16 sum[l] = LOAD(x[at + j + l]);                                                        \
      LANES16 sums[j + l] = sum[l];                                                                \
      LANES16 y[at + j + l] = p->exclusive ? STORE(before[l]) : STORE(sum[l]);                     \
    }                                                                                              \
    if (sizeof(S) == sizeof(C) && !p->exclusive) {                                                 \
      ROLLED for (int64_t i = 1; i < p->n; i++) {                                                  \
        at += step;                                                                                \
        ROLLED for (int64_t j = 0; j < n; j += 16) {                                               \
          LANES16 sum[l] = OP(LOAD(y[at - step + j + l]), LOAD(x[at + j + l]));                    \
          LANES16 y[at + j + l] = STORE(sum[l]);                                                   \
        }                                                                                          \
      }                                                                                            \
      return;                                                                                      \
    }                                                                                              \
    ROLLED for (int64_t i = 1; i < p->n; i++) {                                                    \
      at += step;                                                                                  \
      ROLLED for (int64_t j = 0; j < n; j += 16) {                                                 \
        LANES16 before[l] = sums[j + l];                                                           \
        LANES16 sum[l] = OP(before[l], LOAD(x[at + j + l]));                                       \
        LANES16 sums[j + l] = sum[l];                                                              \
        LANES16 y[at + j + l] = p->exclusive ? STORE(before[l]) : STORE(sum[l]);                   \
      }                                                                                            \
    }                                                                                              \
  }

#define SCAN(name, S, C, LOAD, STORE, OP, FIRST, LOOP)                                             \
  SCAN_LINES(name##_all, S, C, LOAD, STORE, OP, FIRST, LANES16, 16, ROLLED)                        \
  SCAN_LINES(name##_one, S, C, LOAD, STORE, OP, FIRST, ONE, 1, ROLLED)                             \
  SCAN_LINES(name##_sum, S, C, LOAD, STORE, OP, FIRST, ONE, 1, LOOP)                               \
  SCAN_BAND(name##_band, S, C, LOAD, STORE, OP, FIRST)                                             \
  void glow_##name(const GlowLinesParams *p, void *const *ptrs, int64_t begin, int64_t end,        \
                   char *scratch) {                                                                \
    const S *x = GLOW_CUM_PTRS(ptrs).x;                                                            \
    S *y = GLOW_CUM_PTRS(ptrs).y;                                                                  \
    const int64_t step = p->reverse ? -p->inner : p->inner;                                        \
    int64_t line;                                                                                  \
    int wide;                                                                                      \
    (void)scratch;                                                                                 \
    ROLLED for (int64_t u = begin, now; u < end; u += now) {                                       \
      const int64_t at = lines_at(p, u, &line, &wide);                                             \
      now = wide ? (p->inner - line % p->inner) / 16 : 1;                                          \
      now = now < end - u ? now : end - u;                                                         \
      now = now < BAND / 16 ? now : BAND / 16;                                                     \
      if (now > 1)                                                                                 \
        name##_band(p, x + at, y + at, now * 16);                                                  \
      else if (wide)                                                                               \
        name##_all(p, step, p->exclusive, x + at, y + at);                                         \
      else if (step == 1 && !p->exclusive)                                                         \
        name##_sum(p, 1, 0, x + at, y + at);                                                       \
      else                                                                                         \
        name##_one(p, step, p->exclusive, x + at, y + at);                                         \
    }                                                                                              \
  }
#define SCANS(kind, S, C, LOAD, STORE, SUM, PRODUCT, LOOP)                                         \
  SCAN(cum_sum_##kind, S, C, LOAD, STORE, SUM, 0, LOOP)                                            \
  SCAN(cum_prod_##kind, S, C, LOAD, STORE, PRODUCT, 1, ROLLED)

/* ---- OneHot ---------------------------------------------------------------------------------- */

enum { HOT = 64 }; /* indices at a time */

/* Lines u, ... of `n` cold elements each, with a hot one where an index says, if it is in the
 * depth. */
#define HOT_LINES(T)                                                                               \
  {                                                                                                \
    typedef T Element __attribute__((may_alias));                                                  \
    const Element cold = ((const Element *)values)[0], warm = ((const Element *)values)[1];        \
    ROLLED for (int64_t u = 0; u < count; u++) {                                                   \
      Element *line = (Element *)y + outer * n * inner + place;                                    \
      if (inner == 1)                                                                              \
        _Pragma("clang loop vectorize(enable)") for (int64_t i = 0; i < n; i++) line[i] = cold;    \
      else                                                                                         \
        ROLLED for (int64_t i = 0; i < n; i++) line[i * inner] = cold;                             \
      if ((uint64_t)hot[u] < (uint64_t)n)                                                          \
        line[hot[u] * inner] = warm;                                                               \
      place = place + 1 < inner ? place + 1 : 0;                                                   \
      outer += !place;                                                                             \
    }                                                                                              \
  }
static void hot_lines(const GlowLinesParams *p, const int64_t *hot, const void *values, void *y,
                      int64_t first, int64_t count) {
  const int64_t n = p->n, inner = p->inner;
  int64_t outer = inner == 1 ? first : first / inner, place = inner == 1 ? 0 : first % inner;
  if (p->bytes == 4)
    HOT_LINES(uint32_t)
  else if (p->bytes == 8)
    HOT_LINES(uint64_t)
  else if (p->bytes == 2)
    HOT_LINES(uint16_t)
  else
    HOT_LINES(uint8_t)
}

#define ONE_HOT(kind, S, INDEX)                                                                    \
  void glow_one_hot_##kind(const GlowLinesParams *p, void *const *ptrs, int64_t begin,             \
                           int64_t end, char *scratch) {                                           \
    const S *at = GLOW_ONE_HOT_PTRS(ptrs).indices;                                                 \
    int64_t hot[HOT];                                                                              \
    (void)scratch;                                                                                 \
    ROLLED for (int64_t u = begin, count; u < end; u += count) {                                   \
      count = end - u < HOT ? end - u : HOT;                                                       \
      ROLLED for (int64_t i = 0; i < count; i++) {                                                 \
        const int64_t v = INDEX(at[u + i]);                                                        \
        hot[i] = v < 0 ? v + p->n : v;                                                             \
      }                                                                                            \
      hot_lines(p, hot, GLOW_ONE_HOT_PTRS(ptrs).values, GLOW_ONE_HOT_PTRS(ptrs).y, u, count);      \
    }                                                                                              \
  }

/* ---- Kinds ----------------------------------------------------------------------------------- */

#define PLAIN(v) (v)
#define ADD(a, b) ((a) + (b))
#define MULTIPLY(a, b) ((a) * (b))
#define REAL(kind, S, C, LOAD, STORE)                                                              \
  ARG_MAX(kind, S, C, LOAD, ABOVE_REAL)                                                            \
  SCANS(kind, S, C, LOAD, STORE, ADD, MULTIPLY, ROLLED)                                            \
  ONE_HOT(kind, S, REAL_INDEX_##kind)
#define REAL_INDEX_float(v) glow_trunc_i64((double)(v))
#define REAL_INDEX_double(v) glow_trunc_i64(v)
#define REAL_INDEX_float16(v) glow_trunc_i64((double)glow_half_to_float(v))
#define REAL_INDEX_bfloat16(v) glow_trunc_i64((double)glow_bfloat_to_float(v))
ARG_ROW(arg_max_double, double, double, PLAIN, ABOVE_REAL)
ARG_ROW(arg_max_float16, uint16_t, float, glow_half_to_float, ABOVE_REAL)
ARG_ROW(arg_max_bfloat16, uint16_t, float, glow_bfloat_to_float, ABOVE_REAL)
REAL(float, float, float, PLAIN, PLAIN)
REAL(double, double, double, PLAIN, PLAIN)
REAL(float16, uint16_t, float, glow_half_to_float, glow_half_from_float)
REAL(bfloat16, uint16_t, float, glow_bfloat_to_float, glow_bfloat_from_float)

/* Sums and products wrap in the width of the kind. */
#define INTEGER(kind, T, INDEX)                                                                    \
  static inline T add_##kind(T a, T b) { return (T)(a + b); }                                      \
  static inline T mul_##kind(T a, T b) { return (T)((uint64_t)a * (uint64_t)b); }                  \
  ARG_ROW(arg_max_##kind, T, T, PLAIN, ABOVE_INT)                                                  \
  ARG_MAX(kind, T, T, PLAIN, ABOVE_INT)                                                            \
  SCANS(kind, T, T, PLAIN, PLAIN, add_##kind, mul_##kind, FOURS)                                   \
  ONE_HOT(kind, T, INDEX)
#define SIGNED(v) ((int64_t)(v))
#define HUGE_OR(v) ((v) > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)(v))
INTEGER(i8, int8_t, SIGNED)
INTEGER(i16, int16_t, SIGNED)
INTEGER(i32, int32_t, SIGNED)
INTEGER(i64, int64_t, SIGNED)
INTEGER(u8, uint8_t, SIGNED)
INTEGER(u16, uint16_t, SIGNED)
INTEGER(u32, uint32_t, SIGNED)
INTEGER(u64, uint64_t, HUGE_OR)

/* ---- Trilu ----------------------------------------------------------------------------------- */

/* Without the operand `diagonal` the triangle ends at the main diagonal. */
void glow_trilu(const GlowTriluParams *p, void *const *ptrs, int64_t begin, int64_t end,
                char *scratch) {
  const int64_t rows = p->rows, columns = p->columns, bytes = p->bytes, row = columns * bytes;
  const bool upper = p->upper;
  const int64_t *diagonal = ptrs[2];
  int64_t k = diagonal ? *diagonal : 0, r = part_of(begin, rows);
  k = (k < -rows ? -rows : k > columns ? columns : k) + !upper;
  char *to = (char *)GLOW_TRILU_PTRS(ptrs).y + begin * row;
  const char *from = (const char *)GLOW_TRILU_PTRS(ptrs).x + begin * row;
  (void)scratch;
  ROLLED for (int64_t u = begin; u < end; u++, to += row, from += row) {
    int64_t split = r + k; /* where the upper part begins */
    split = split < 0 ? 0 : split > columns ? columns : split;
    const int64_t left = split * bytes, kept = upper ? left : 0, zeros = upper ? 0 : left;
    const int64_t right = row - left;
    if (to != from)
      copy_run(to + kept, from + kept, upper ? right : left);
    zero_run(to + zeros, upper ? left : right);
    r = r + 1 < rows ? r + 1 : 0;
  }
}
