/* Writing where indices say: ScatterND puts rows, TensorScatter pieces of lines, ScatterElements
 * single elements, in ascending order of the updates. A function of its own combines an update with
 * the element that is there; without such a function the update replaces it. The result holds X
 * already, and the indices have been checked. */
#include "index.h"

#include "glow/rt.h"
#include "num/half.h"
#include "num/math.h"

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Operands: y, updates, indices. Rows of one element have one column, so `count` is a constant. */
#define SCATTER(kind, I)                                                                           \
  void glow_scatter_nd_##kind(const GlowScatterParams *p, GlowCombineFn *combine,                  \
                              void *const *ptrs, int64_t begin, int64_t end, char *scratch) {      \
    const int single = p->run == p->bytes;                                                         \
    const int64_t first = single ? 0 : begin, count = single ? 1 : end - begin;                    \
    char *to = (char *)ptrs[0] + first * p->bytes;                                                 \
    const char *from = (const char *)ptrs[1] + first * p->bytes;                                   \
    const I *at = (const I *)ptrs[2];                                                              \
    (void)scratch;                                                                                 \
    ROLLED for (int64_t r = 0; r < p->rows; r++, at += p->length, from += p->run) {                \
      int64_t offset = 0;                                                                          \
      INDEX_OFFSET(p, p->length, at, offset)                                                       \
      if (combine)                                                                                 \
        combine(GLOW_IN_LIBRARY(p) to + offset, from, count);                                      \
      else                                                                                         \
        copy_run(to + offset, from, count * p->bytes);                                             \
    }                                                                                              \
  }
SCATTER(i32, int32_t)
SCATTER(i64, int64_t)

/* ---- TensorScatter --------------------------------------------------------------------------- */

INLINE int64_t start_of(const GlowWriteParams *p, const int64_t *starts, int64_t batch) {
  const int64_t start = starts ? starts[batch] : 0;
  return !p->circular ? start : start % p->room < 0 ? start % p->room + p->room : start % p->room;
}

/* The fault stands behind the operands. The first shard reports the first place that is out of
 * range; lines whose place is are left alone. */
void glow_tensor_scatter(const GlowWriteParams *p, void *const *ptrs, int64_t begin, int64_t end,
                         char *scratch) {
  const GlowTensorScatterPtrs all = GLOW_TENSOR_SCATTER_PTRS(ptrs);
  GlowFault *fault = ptrs[3];
  (void)scratch;
  ROLLED for (int64_t b = 0; begin == 0 && b < p->batches; b++) {
    const int64_t start = start_of(p, all.starts, b);
    if (start < 0 || start > (p->circular ? p->room - 1 : p->room - p->n)) {
      fault->error = GLOW_FAULT_INDEX;
      fault->detail = start;
      return;
    }
  }
  ROLLED for (int64_t u = begin; u < end; u++) {
    const int64_t start = start_of(p, all.starts, u / p->lines);
    const int64_t first = p->n < p->room - start ? p->n : p->room - start;
    char *to = (char *)all.y + u * p->room * p->run;
    const char *from = (const char *)all.updates + u * p->n * p->run;
    if (start < 0 || start > p->room || (!p->circular && first < p->n))
      continue;
    copy_run(to + start * p->run, from, first * p->run);
    copy_run(to, from + first * p->run, (p->n - first) * p->run);
  }
}

/* ---- Elements -------------------------------------------------------------------------------- */

#define PUT_ONE(picked, listed, size)                                                              \
  __builtin_memcpy(to + (picked), from + (listed), (size_t)(size));
#define COMBINE_ONE(picked, listed, size)                                                          \
  combine(GLOW_IN_LIBRARY(p) to + (picked), from + (listed), 1);
/* Operands: y, updates, indices. */
#define PUT(kind, I)                                                                               \
  void glow_scatter_elements_##kind(const GlowPickParams *p, GlowCombineFn *combine,               \
                                    void *const *ptrs, int64_t begin, int64_t end,                 \
                                    char *scratch) {                                               \
    char *to = ptrs[0];                                                                            \
    const char *from = ptrs[1];                                                                    \
    (void)scratch;                                                                                 \
    if (combine)                                                                                   \
      EACH_PICK(p, I, ptrs[2], begin, end, p->bytes, COMBINE_ONE)                                  \
    else                                                                                           \
      BY_SIZE(p->bytes, PUT_##kind)                                                                \
  }
#define PUT_i32(size) EACH_PICK(p, int32_t, ptrs[2], begin, end, size, PUT_ONE)
#define PUT_i64(size) EACH_PICK(p, int64_t, ptrs[2], begin, end, size, PUT_ONE)
PUT(i32, int32_t)
PUT(i64, int64_t)

/* ---- Combining ------------------------------------------------------------------------------- */

#define COMBINE(op, kind, S, LOAD, STORE, OP)                                                      \
  void glow_combine_##op##_##kind(const void *p, void *to, const void *from, int64_t count) {      \
    S *y = to;                                                                                     \
    const S *x = from;                                                                             \
    (void)p;                                                                                       \
    _Pragma("clang loop vectorize(enable)") for (int64_t i = 0; i < count; i++) y[i] =             \
        STORE(OP(LOAD(y[i]), LOAD(x[i])));                                                         \
  }
#define COMBINES(kind, S, LOAD, STORE, PLUS, TIMES, MAXIMUM, MINIMUM)                              \
  COMBINE(add, kind, S, LOAD, STORE, PLUS)                                                         \
  COMBINE(mul, kind, S, LOAD, STORE, TIMES)                                                        \
  COMBINE(max, kind, S, LOAD, STORE, MAXIMUM)                                                      \
  COMBINE(min, kind, S, LOAD, STORE, MINIMUM)

#define PLAIN(v) (v)
#define SUM(a, b) ((a) + (b))
#define PRODUCT(a, b) ((a) * (b))
COMBINES(float, float, PLAIN, PLAIN, SUM, PRODUCT, glow_max_f, glow_min_f)
COMBINES(double, double, PLAIN, PLAIN, SUM, PRODUCT, glow_max_d, glow_min_d)
COMBINES(float16, uint16_t, glow_half_to_float, glow_half_from_float, SUM, PRODUCT, glow_max_f,
         glow_min_f)
COMBINES(bfloat16, uint16_t, glow_bfloat_to_float, glow_bfloat_from_float, SUM, PRODUCT, glow_max_f,
         glow_min_f)

/* Sums and products wrap in the width of the kind. */
#define INTEGER(kind, T)                                                                           \
  COMBINES(kind, T, PLAIN, (T), SUM, WRAPPED_PRODUCT, glow_max_##kind, glow_min_##kind)
#define WRAPPED_PRODUCT(a, b) ((uint64_t)(a) * (uint64_t)(b))
INTEGER(i8, int8_t)
INTEGER(i16, int16_t)
INTEGER(i32, int32_t)
INTEGER(i64, int64_t)
INTEGER(u8, uint8_t)
INTEGER(u16, uint16_t)
INTEGER(u32, uint32_t)
INTEGER(u64, uint64_t)
