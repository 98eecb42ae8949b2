/* Sums, products, extrema and means over axes: glow_reduce_<op>_<kind>.
 *
 * Where the reduced axes are the last ones, element j goes to lane j % 16, each lane is a chain,
 * and the lanes are combined by a fixed tree; otherwise each result is one chain in ascending
 * order. The first element starts a chain. See docs/Numerics. A lane waits for its last addition,
 * so several rows are added up side by side. Extrema are exact in any order. */
#include "extremes.h"
#include "index.h"
#include "part.h"

#include "num/half.h"
#include "num/math.h"

#define LANES16                                                                                    \
  _Pragma("clang loop vectorize(enable) interleave(disable)") for (int l = 0; l < 16; l++)
#define BELOW(n) UNROLL for (int l = 0; l < (n); l++)

/* Rows side by side: as many as keep their lanes, of type C, in half of the registers. */
#define GROUP(C)                                                                                   \
  (GLOW_TILE_PIXELS == 1 || sizeof(C) * 2 > 2 * GLOW_VL ? 1 : sizeof(C) * 4 > 2 * GLOW_VL ? 2 : 4)

/* Where the elements of result `index` of the kept axes begin. */
INLINE int64_t kept_offset(const GlowReduceParams *p, int64_t index) {
  if (p->kept[0] == 1 && p->kept[1] == 1 && p->kept[2] == 1)
    return index * p->kept_stride[3];
  return place_of(GLOW_REDUCE_DIMS, p->kept, p->kept_stride, NULL, index).to;
}

/* ---- Rows of neighbours ---------------------------------------------------------------------- */

/* Copies n < 16 elements. Library code does not know n, and a copy of some bytes would be a call.
 */
#ifdef GLOW_LIBRARY
#define COPY_FIRST(to, from, n) ROLLED for (int64_t l = 0; l < (n); l++)(to)[l] = (from)[l]
#else
#define COPY_FIRST(to, from, n) __builtin_memcpy(to, from, (size_t)(n) * sizeof *(to))
#endif

/* in[l] = LOAD(x[l]) for l < n < 16, of zeros in the other lanes. */
#define LOAD_FIRST(S, in, LOAD, x, n)                                                              \
  S row[16] = {0};                                                                                 \
  if (HAS_PARTS && sizeof(S) == 4)                                                                 \
    load_part(row, x, n);                                                                          \
  else                                                                                             \
    COPY_FIRST(row, x, n);                                                                         \
  LANES16 in[l] = LOAD(row[l])

/* Reduces a row of n < 16 neighbours, the first of which starts at x. S is the type of a stored
 * element, C that of what is computed; LOAD and STORE convert between them. */
#define SHORT_ROW(name, S, C, LOAD, OP)                                                            \
  INLINE C name##_short(const S *x, int64_t n) {                                                   \
    C acc[16];                                                                                     \
    LOAD_FIRST(S, acc, LOAD, x, n);                                                                \
    BELOW(8) acc[l] = l + 8 < n ? OP(acc[l], acc[l + 8]) : acc[l];                                 \
    BELOW(4) acc[l] = l + 4 < n ? OP(acc[l], acc[l + 4]) : acc[l];                                 \
    BELOW(2) acc[l] = l + 2 < n ? OP(acc[l], acc[l + 2]) : acc[l];                                 \
    return n > 1 ? OP(acc[0], acc[1]) : acc[0];                                                    \
  }

/* Reduces N rows of n >= 16 neighbours. All loops have 16 steps, so that the lanes stay in
 * registers: lanes without an element are computed, too, and then ignored. */
#define LONG_ROWS(name, S, C, LOAD, OP, N)                                                         \
  INLINE void name(const S *const *x, int64_t n, C *y) {                                           \
    typedef C Lanes __attribute__((vector_size(16 * sizeof(C)), aligned(sizeof(C))));              \
    const int64_t whole = n / 16 * 16;                                                             \
    Lanes acc[N];                                                                                  \
    C in[16];                                                                                      \
    UNROLL for (int r = 0; r < N; r++) {                                                           \
      LANES16 in[l] = LOAD(x[r][l]);                                                               \
      acc[r] = *(const Lanes *)in;                                                                 \
    }                                                                                              \
    ROLLED for (int64_t j = 16; j < whole; j += 16) {                                              \
      UNROLL for (int r = 0; r < N; r++) {                                                         \
        LANES16 in[l] = LOAD(x[r][j + l]);                                                         \
        acc[r] = acc[r] OP * (const Lanes *)in;                                                    \
      }                                                                                            \
    }                                                                                              \
    if (whole < n) {                                                                               \
      UNROLL for (int r = 0; r < N; r++) {                                                         \
        C both[16];                                                                                \
        LOAD_FIRST(S, in, LOAD, x[r] + whole, n - whole);                                          \
        *(Lanes *)both = acc[r];                                                                   \
        LANES16 both[l] = l < n - whole ? (C)(both[l] OP in[l]) : both[l];                         \
        acc[r] = *(const Lanes *)both;                                                             \
      }                                                                                            \
    }                                                                                              \
    UNROLL for (int r = 0; r < N; r++) {                                                           \
      C v[16];                                                                                     \
      *(Lanes *)v = acc[r];                                                                        \
      BELOW(8) v[l] = (C)(v[l] OP v[l + 8]);                                                       \
      BELOW(4) v[l] = (C)(v[l] OP v[l + 4]);                                                       \
      BELOW(2) v[l] = (C)(v[l] OP v[l + 2]);                                                       \
      y[r] = (C)(v[0] OP v[1]);                                                                    \
    }                                                                                              \
  }

/* Rows `begin` to `end`: groups of GROUP(C) of them, then what is left over. */
#define SUM_ROWS(name, S, C, LOAD, STORE, OP, FN, DIVIDE)                                          \
  SHORT_ROW(name, S, C, LOAD, FN)                                                                  \
  LONG_ROWS(name##_group, S, C, LOAD, OP, GROUP(C))                                                \
  LONG_ROWS(name##_long, S, C, LOAD, OP, 1)                                                        \
  INLINE void name##_rows(const GlowReduceParams *p, const S *x, S *y, int64_t begin,              \
                          int64_t end) {                                                           \
    const int64_t n = p->count;                                                                    \
    ROLLED for (int64_t u = begin, now; u < end; u += now) {                                       \
      const S *from[GROUP(C)];                                                                     \
      C v[GROUP(C)];                                                                               \
      now = n >= 16 && end - u >= GROUP(C) ? GROUP(C) : 1;                                         \
      from[0] = x + kept_offset(p, u);                                                             \
      UNROLL for (int r = 1; r < GROUP(C); r++) from[r] =                                          \
          now == 1 ? from[0] : x + kept_offset(p, u + r);                                          \
      if (n < 16)                                                                                  \
        v[0] = name##_short(from[0], n);                                                           \
      else if (now == 1)                                                                           \
        name##_long(from, n, v);                                                                   \
      else                                                                                         \
        name##_group(from, n, v);                                                                  \
      ROLLED for (int64_t r = 0; r < now; r++) y[u + r] = STORE(p->mean ? DIVIDE(v[r], n) : v[r]); \
    }                                                                                              \
  }

EXTREMES(int8_t, uint8_t, 1)
EXTREMES(int16_t, uint16_t, 1)
EXTREMES(int64_t, uint64_t, 1)
REAL_EXTREMES(double, double, int64_t, uint64_t, 0x7ff0000000000000)
REAL_EXTREMES(float16, uint16_t, int16_t, uint16_t, 0x7c00)
REAL_EXTREMES(bfloat16, uint16_t, int16_t, uint16_t, 0x7f80)

#define EXTREME_ROWS(name, S, ROW)                                                                 \
  INLINE void name##_rows(const GlowReduceParams *p, const S *x, S *y, int64_t begin,              \
                          int64_t end) {                                                           \
    ROLLED for (int64_t u = begin; u < end; u++) y[u] = ROW(x + kept_offset(p, u), p->count);      \
  }

/* ---- Chains ---------------------------------------------------------------------------------- */

/* Neighbouring results at a time, whose chains are in the first-level cache. */
enum { CHAINS = 1024 };

/* n <= CHAINS chains side by side, a multiple of 16 or, with EACH over one, 1. Four elements of a
 * chain are taken at a time where they lie along the last reduced axis. */
#define CHAINS_OF(name, S, C, LOAD, STORE, OP, DIVIDE, EACH, N)                                    \
  INLINE void name(const GlowReduceParams *p, const S *restrict x, S *restrict y, int64_t n) {     \
    C acc[CHAINS < N ? N : N == 1 ? 1 : CHAINS];                                                   \
    const int64_t step = p->reduced_stride[3];                                                     \
    ROLLED for (int64_t i = 0; i < n; i += N) { EACH acc[i + l] = LOAD(x[i + l]); }                \
    ROLLED for (int64_t a = 0; a < p->reduced[0]; a++)                                             \
        ROLLED for (int64_t b = 0; b < p->reduced[1]; b++)                                         \
            ROLLED for (int64_t c = 0; c < p->reduced[2]; c++) {                                   \
      const S *restrict at =                                                                       \
          x + a * p->reduced_stride[0] + b * p->reduced_stride[1] + c * p->reduced_stride[2];      \
      int64_t d = (a | b | c) == 0;                                                                \
      ROLLED for (; d + 4 <= p->reduced[3]; d += 4) {                                              \
        const S *restrict x0 = at + d * step, *restrict x1 = x0 + step, *restrict x2 = x1 + step,  \
                          *restrict x3 = x2 + step;                                                \
        ROLLED for (int64_t i = 0; i < n; i += N) {                                                \
          EACH acc[i + l] =                                                                        \
              OP(OP(OP(OP(acc[i + l], LOAD(x0[i + l])), LOAD(x1[i + l])), LOAD(x2[i + l])),        \
                 LOAD(x3[i + l]));                                                                 \
        }                                                                                          \
      }                                                                                            \
      ROLLED for (; d < p->reduced[3]; d++) {                                                      \
        const S *restrict x0 = at + d * step;                                                      \
        ROLLED for (int64_t i = 0; i < n; i += N) {                                                \
          EACH acc[i + l] = OP(acc[i + l], LOAD(x0[i + l]));                                       \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    if (p->mean && __builtin_types_compatible_p(C, float)) {                                       \
      ROLLED for (int64_t i = 0; i < n; i += N) {                                                  \
        EACH acc[i + l] = DIVIDE(acc[i + l], p->count);                                            \
      }                                                                                            \
    } else if (p->mean) {                                                                          \
      ROLLED for (int64_t i = 0; i < n; i++) acc[i] = DIVIDE(acc[i], p->count);                    \
    }                                                                                              \
    ROLLED for (int64_t i = 0; i < n; i += N) { EACH y[i + l] = STORE(acc[i + l]); }               \
  }

#define REDUCE(name, S, C, LOAD, STORE, OP, DIVIDE)                                                \
  CHAINS_OF(name##_chains, S, C, LOAD, STORE, OP, DIVIDE, LANES16, 16)                             \
  CHAINS_OF(name##_chain, S, C, LOAD, STORE, OP, DIVIDE, BELOW(1), 1)                              \
  void glow_reduce_##name(const GlowReduceParams *p, void *const *ptrs, int64_t begin,             \
                          int64_t end, char *scratch) {                                            \
    S *y = GLOW_REDUCE_PTRS(ptrs).y;                                                               \
    const S *x = GLOW_REDUCE_PTRS(ptrs).x;                                                         \
    (void)scratch;                                                                                 \
    if (p->inner == 0) {                                                                           \
      name##_rows(p, x, y, begin, end);                                                            \
      return;                                                                                      \
    }                                                                                              \
    const int64_t wide = p->inner / 16, parts = wide + p->inner % 16;                              \
    ROLLED for (int64_t u = begin, now; u < end; u += now) {                                       \
      const int64_t row = u / parts, part = u % parts;                                             \
      const int64_t at = part < wide ? part * 16 : wide * 16 + part - wide;                        \
      const S *from = x + kept_offset(p, row) + at;                                                \
      S *to = y + row * p->inner + at;                                                             \
      now = part < wide ? wide - part : 1;                                                         \
      now = now < end - u ? now : end - u;                                                         \
      now = now < CHAINS / 16 ? now : CHAINS / 16;                                                 \
      if (part < wide)                                                                             \
        name##_chains(p, from, to, now * 16);                                                      \
      else                                                                                         \
        name##_chain(p, from, to, 1);                                                              \
    }                                                                                              \
  }
#define SUMS(name, S, C, LOAD, STORE, OP, FN, DIVIDE)                                              \
  SUM_ROWS(name, S, C, LOAD, STORE, OP, FN, DIVIDE)                                                \
  REDUCE(name, S, C, LOAD, STORE, FN, DIVIDE)
#define EXTREME(name, S, C, LOAD, STORE, FN, ROW)                                                  \
  EXTREME_ROWS(name, S, ROW)                                                                       \
  REDUCE(name, S, C, LOAD, STORE, FN, UNDIVIDED)

#define PLAIN(v) (v)
#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define UNDIVIDED(v, n) (v)

#define REAL(kind, S, C, LOAD, STORE, MAXIMUM, MINIMUM)                                            \
  SUMS(sum_##kind, S, C, LOAD, STORE, +, PLUS, RATIO_##C)                                          \
  SUMS(prod_##kind, S, C, LOAD, STORE, *, TIMES, UNDIVIDED)                                        \
  EXTREME(max_##kind, S, C, LOAD, STORE, MAXIMUM, most_##kind)                                     \
  EXTREME(min_##kind, S, C, LOAD, STORE, MINIMUM, least_##kind)
#define RATIO_float(v, n) ((v) / (float)(n))
#define RATIO_double(v, n) ((v) / (double)(n))
REAL(float, float, float, PLAIN, PLAIN, glow_max_f, glow_min_f)
REAL(double, double, double, PLAIN, PLAIN, glow_max_d, glow_min_d)
REAL(float16, uint16_t, float, glow_half_to_float, glow_half_from_float, glow_max_f, glow_min_f)
REAL(bfloat16, uint16_t, float, glow_bfloat_to_float, glow_bfloat_from_float, glow_max_f,
     glow_min_f)

/* Sums and products wrap in the width of the kind. */
#define INTEGER(kind, T, I, WIDE, MOST, LEAST)                                                     \
  static inline T add_##kind(T a, T b) { return (T)(a + b); }                                      \
  static inline T mul_##kind(T a, T b) { return (T)((uint64_t)a * (uint64_t)b); }                  \
  static inline T ratio_##kind(T v, int64_t n) { return (T)glow_div_##WIDE(v, (WIDE##_type)n); }   \
  static inline T most_##kind(const T *x, int64_t n) { return extremes_##I(x, n).MOST; }           \
  static inline T least_##kind(const T *x, int64_t n) { return extremes_##I(x, n).LEAST; }         \
  SUMS(sum_##kind, T, T, PLAIN, PLAIN, +, add_##kind, ratio_##kind)                                \
  SUMS(prod_##kind, T, T, PLAIN, PLAIN, *, mul_##kind, UNDIVIDED)                                  \
  EXTREME(max_##kind, T, T, PLAIN, PLAIN, glow_max_##kind, most_##kind)                            \
  EXTREME(min_##kind, T, T, PLAIN, PLAIN, glow_min_##kind, least_##kind)
typedef int64_t i64_type;
typedef uint64_t u64_type;
INTEGER(i8, int8_t, int8_t, i64, most, least)
INTEGER(i16, int16_t, int16_t, i64, most, least)
INTEGER(i32, int32_t, int32_t, i64, most, least)
INTEGER(i64, int64_t, int64_t, i64, most, least)
INTEGER(u8, uint8_t, int8_t, u64, umost, uleast)
INTEGER(u16, uint16_t, int16_t, u64, umost, uleast)
INTEGER(u32, uint32_t, int32_t, u64, umost, uleast)
INTEGER(u64, uint64_t, int64_t, u64, umost, uleast)

void glow_reduce_range(const GlowReduceParams *p, void *const *ptrs, int64_t begin, int64_t end,
                       char *scratch) {
  const GlowReduceRangePtrs at = GLOW_REDUCE_RANGE_PTRS(ptrs);
  (void)scratch;
  ROLLED for (int64_t u = begin; u < end; u++) {
    const Extremes_int32_t e = extremes_int32_t((const float *)at.x + kept_offset(p, u), p->count);
    at.low[u] = least_of_float(e);
    at.high[u] = most_of_float(e);
  }
}
