/* Sums, products, extrema and means over axes: glow_reduce_<op>_<kind>.
 *
 * Where the reduced axes are the last ones, element j goes to lane j % 16, each lane is a chain,
 * and the lanes are combined by a fixed tree; otherwise each result is one chain in ascending
 * order. The first element starts a chain. See docs/Numerics. */
#include "index.h"

#include "num/half.h"
#include "num/math.h"

#define LANES16                                                                                    \
  _Pragma("clang loop vectorize(enable) interleave(disable)") for (int l = 0; l < 16; l++)
#define BELOW(n) UNROLL for (int l = 0; l < (n); l++)

/* Where the elements of result `index` of the kept axes begin. */
INLINE int64_t kept_offset(const GlowReduceParams *p, int64_t index) {
  return offset_of(GLOW_REDUCE_DIMS, p->kept, p->kept_stride, index);
}

/* Reduces a row of n neighbours. All loops have 16 steps, so that the lanes stay in registers:
 * lanes without an element are computed, too, and then ignored. S is the type of a stored element,
 * C that of what is computed; LOAD and STORE convert between them. */
#define ROW(name, S, C, LOAD, OP)                                                                  \
  INLINE C name##_row(const S *x, int64_t n) {                                                     \
    C acc[16], rest[16];                                                                           \
    S tail[16] = {0};                                                                              \
    const int64_t used = n < 16 ? n : 16, whole = n / 16 * 16;                                     \
    __builtin_memcpy(tail, x + whole, (size_t)(n - whole) * sizeof *x);                            \
    LANES16 rest[l] = LOAD(tail[l]);                                                               \
    if (n < 16) {                                                                                  \
      LANES16 acc[l] = rest[l];                                                                    \
    } else {                                                                                       \
      LANES16 acc[l] = LOAD(x[l]);                                                                 \
      ROLLED for (int64_t j = 16; j < whole; j += 16) {                                            \
        LANES16 acc[l] = OP(acc[l], LOAD(x[j + l]));                                               \
      }                                                                                            \
      LANES16 acc[l] = l < n - whole ? OP(acc[l], rest[l]) : acc[l];                               \
    }                                                                                              \
    BELOW(8) acc[l] = l + 8 < used ? OP(acc[l], acc[l + 8]) : acc[l];                              \
    BELOW(4) acc[l] = l + 4 < used ? OP(acc[l], acc[l + 4]) : acc[l];                              \
    BELOW(2) acc[l] = l + 2 < used ? OP(acc[l], acc[l + 2]) : acc[l];                              \
    return used > 1 ? OP(acc[0], acc[1]) : acc[0];                                                 \
  }

/* N chains side by side; EACH is a loop over them. */
#define CHAINS(name, S, C, LOAD, STORE, OP, DIVIDE, EACH, N)                                       \
  INLINE void name(const GlowReduceParams *p, const S *restrict x, S *restrict y) {                \
    C acc[N];                                                                                      \
    EACH acc[l] = LOAD(x[l]);                                                                      \
    ROLLED for (int64_t a = 0; a < p->reduced[0]; a++)                                             \
        ROLLED for (int64_t b = 0; b < p->reduced[1]; b++)                                         \
            ROLLED for (int64_t c = 0; c < p->reduced[2]; c++)                                     \
                ROLLED for (int64_t d = (a | b | c) == 0; d < p->reduced[3]; d++) {                \
      const S *restrict at = x + a * p->reduced_stride[0] + b * p->reduced_stride[1] +             \
                             c * p->reduced_stride[2] + d * p->reduced_stride[3];                  \
      EACH acc[l] = OP(acc[l], LOAD(at[l]));                                                       \
    }                                                                                              \
    EACH y[l] = STORE(p->mean ? DIVIDE(acc[l], p->count) : acc[l]);                                \
  }

#define REDUCE(name, S, C, LOAD, STORE, OP, DIVIDE)                                                \
  ROW(name, S, C, LOAD, OP)                                                                        \
  CHAINS(name##_chains, S, C, LOAD, STORE, OP, DIVIDE, LANES16, 16)                                \
  CHAINS(name##_chain, S, C, LOAD, STORE, OP, DIVIDE, BELOW(1), 1)                                 \
  void glow_reduce_##name(const GlowReduceParams *p, void *const *ptrs, int64_t begin,             \
                          int64_t end, char *scratch) {                                            \
    S *y = GLOW_REDUCE_PTRS(ptrs).y;                                                               \
    const S *x = GLOW_REDUCE_PTRS(ptrs).x;                                                         \
    (void)scratch;                                                                                 \
    if (p->inner == 0) {                                                                           \
      ROLLED for (int64_t u = begin; u < end; u++) {                                               \
        C v = name##_row(x + kept_offset(p, u), p->count);                                         \
        y[u] = STORE(p->mean ? DIVIDE(v, p->count) : v);                                           \
      }                                                                                            \
      return;                                                                                      \
    }                                                                                              \
    const int64_t wide = p->inner / 16, parts = wide + p->inner % 16;                              \
    ROLLED for (int64_t u = begin; u < end; u++) {                                                 \
      int64_t row = u / parts, part = u % parts;                                                   \
      int64_t at = part < wide ? part * 16 : wide * 16 + part - wide;                              \
      const S *from = x + kept_offset(p, row) + at;                                                \
      S *to = y + row * p->inner + at;                                                             \
      if (part < wide)                                                                             \
        name##_chains(p, from, to);                                                                \
      else                                                                                         \
        name##_chain(p, from, to);                                                                 \
    }                                                                                              \
  }

#define PLAIN(v) (v)
#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))

#define REAL(kind, S, C, LOAD, STORE, MAXIMUM, MINIMUM)                                            \
  REDUCE(sum_##kind, S, C, LOAD, STORE, PLUS, RATIO_##C)                                           \
  REDUCE(prod_##kind, S, C, LOAD, STORE, TIMES, RATIO_##C)                                         \
  REDUCE(max_##kind, S, C, LOAD, STORE, MAXIMUM, RATIO_##C)                                        \
  REDUCE(min_##kind, S, C, LOAD, STORE, MINIMUM, RATIO_##C)
#define RATIO_float(v, n) ((v) / (float)(n))
#define RATIO_double(v, n) ((v) / (double)(n))
REAL(float, float, float, PLAIN, PLAIN, glow_max_f, glow_min_f)
REAL(double, double, double, PLAIN, PLAIN, glow_max_d, glow_min_d)
REAL(float16, uint16_t, float, glow_half_to_float, glow_half_from_float, glow_max_f, glow_min_f)
REAL(bfloat16, uint16_t, float, glow_bfloat_to_float, glow_bfloat_from_float, glow_max_f,
     glow_min_f)

/* Sums and products wrap in the width of the kind. */
#define INTEGER(kind, T, WIDE)                                                                     \
  static inline T add_##kind(T a, T b) { return (T)(a + b); }                                      \
  static inline T mul_##kind(T a, T b) { return (T)((uint64_t)a * (uint64_t)b); }                  \
  static inline T ratio_##kind(T v, int64_t n) { return (T)glow_div_##WIDE(v, (WIDE##_type)n); }   \
  REDUCE(sum_##kind, T, T, PLAIN, PLAIN, add_##kind, ratio_##kind)                                 \
  REDUCE(prod_##kind, T, T, PLAIN, PLAIN, mul_##kind, ratio_##kind)                                \
  REDUCE(max_##kind, T, T, PLAIN, PLAIN, glow_max_##kind, ratio_##kind)                            \
  REDUCE(min_##kind, T, T, PLAIN, PLAIN, glow_min_##kind, ratio_##kind)
typedef int64_t i64_type;
typedef uint64_t u64_type;
INTEGER(i8, int8_t, i64)
INTEGER(i16, int16_t, i64)
INTEGER(i32, int32_t, i64)
INTEGER(i64, int64_t, i64)
INTEGER(u8, uint8_t, u64)
INTEGER(u16, uint16_t, u64)
INTEGER(u32, uint32_t, u64)
INTEGER(u64, uint64_t, u64)
