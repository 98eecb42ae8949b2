/* Reading where indices say: Gather, GatherND and ReverseSequence copy rows, GatherElements single
 * elements. Indices are checked before by a kernel of their own, so that rows can be shared among
 * threads and the index that is reported is the first one. */
#include "index.h"

#include "glow/rt.h"

/* ---- Checks ---------------------------------------------------------------------------------- */

/* In [-n, n); n is not negative. */
INLINE int in_range(int64_t v, int64_t n) { return (uint64_t)v + (uint64_t)n < 2 * (uint64_t)n; }

/* Units are vectors. The fault stands behind the operands. */
#define CHECK(kind, I)                                                                             \
  void glow_check_indices_##kind(const GlowCheckParams *p, void *const *ptrs, int64_t begin,       \
                                 int64_t end, char *scratch) {                                     \
    const I *at = GLOW_CHECK_INDICES_PTRS(ptrs).indices;                                           \
    GlowFault *fault = ptrs[1];                                                                    \
    const int64_t count = (end - begin) * p->length;                                               \
    (void)scratch;                                                                                 \
    at += begin * p->length;                                                                       \
    if (p->length == 1) {                                                                          \
      const int64_t limit = p->limit[0];                                                           \
      int wrong = 0;                                                                               \
      _Pragma("clang loop vectorize(enable)") for (int64_t i = 0; i < count; i++) wrong |=         \
          !in_range(at[i], limit);                                                                 \
      if (!wrong)                                                                                  \
        return;                                                                                    \
    }                                                                                              \
    if (p->length == 2) {                                                                          \
      const int64_t limit = p->limit[0], limit1 = p->limit[1];                                     \
      int wrong = 0;                                                                               \
      _Pragma("clang loop vectorize(enable)") for (int64_t i = 0; i < count; i += 2) wrong |=      \
          !in_range(at[i], limit) | !in_range(at[i + 1], limit1);                                  \
      if (!wrong)                                                                                  \
        return;                                                                                    \
    }                                                                                              \
    ROLLED for (int64_t i = 0, k = 0; i < count; i++, k = k + 1 < p->length ? k + 1 : 0) {         \
      if (!in_range(at[i], p->limit[k])) {                                                         \
        fault->error = GLOW_FAULT_INDEX;                                                           \
        fault->detail = at[i];                                                                     \
        return;                                                                                    \
      }                                                                                            \
    }                                                                                              \
  }
CHECK(i32, int32_t)
CHECK(i64, int64_t)

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Fetches the beginning of a row that will be copied next; the machine sees what follows by itself.
 */
INLINE void fetch_row(const GlowGatherParams *p, const char *row) {
  ROLLED for (int64_t b = 0; b < p->run && b < 1024; b += 64) __builtin_prefetch(row + b);
}

/* Some rows of a group; `run` and `length` are those of p. COPY(to, from) copies one. */
#define EACH_ROW(COPY)                                                                             \
  ROLLED for (int64_t r = 0; r < count; r++) {                                                     \
    int64_t offset = 0, next = 0;                                                                  \
    INDEX_OFFSET(p, length, at + r * length, offset)                                               \
    if (run >= 256 && r + 1 < count) {                                                             \
      INDEX_OFFSET(p, length, at + (r + 1) * length, next)                                         \
      fetch_row(p, from + next);                                                                   \
    }                                                                                              \
    COPY(to + r * run, from + offset, run);                                                        \
  }
typedef uint32_t Four __attribute__((may_alias, aligned(1)));

/* rows: any. lines: one index each. fours: of 4 bytes, which lie side by side; `plain`: no index is
 * negative. */
#define GATHER_ROWS(kind, I)                                                                       \
  INLINE void rows_##kind(const GlowGatherParams *p, int64_t run, int64_t length, char *to,        \
                          const char *from, const I *at, int64_t count) {                          \
    EACH_ROW(copy_run);                                                                            \
  }                                                                                                \
  INLINE void lines_##kind(const GlowGatherParams *p, char *to, const char *from, const I *at,     \
                           int64_t count) {                                                        \
    const int64_t run = p->run, length = 1;                                                        \
    BY_RUN(run, EACH_ROW)                                                                          \
  }                                                                                                \
  INLINE bool plain_##kind(const I *at, int64_t count) {                                           \
    I all = 0;                                                                                     \
    _Pragma("clang loop vectorize(enable)") for (int64_t i = 0; i < count; i++) all |= at[i];      \
    return all >= 0;                                                                               \
  }                                                                                                \
  INLINE void fours_##kind(bool plain, const GlowGatherParams *p, char *to, const char *from,      \
                           const I *at, int64_t count) {                                           \
    const int64_t limit = plain ? 0 : p->limit[0];                                                 \
    const Four *x = (const Four *)(const void *)from;                                              \
    Four *y = (Four *)(void *)to;                                                                  \
    int64_t r = 0;                                                                                 \
    ROLLED for (; r + 4 <= count; r += 4) {                                                        \
      UNROLL for (int i = 0; i < 4; i++) y[r + i] = x[index_at(at[r + i], limit)];                 \
    }                                                                                              \
    ROLLED for (; r < count; r++) y[r] = x[index_at(at[r], limit)];                                \
  }
GATHER_ROWS(i32, int32_t)
GATHER_ROWS(i64, int64_t)

#define GATHER(kind, I)                                                                            \
  void glow_gather_##kind(const GlowGatherParams *params, void *const *ptrs, int64_t begin,        \
                          int64_t end, char *scratch) {                                            \
    const GlowGatherParams copied = *params, *const p = &copied; /* results may alias params */    \
    (void)scratch;                                                                                 \
    const bool fours = p->length == 1 && p->run == 4 && p->stride[0] == 4;                         \
    const bool plain =                                                                             \
        fours && p->shared && plain_##kind(GLOW_GATHER_PTRS(ptrs).indices, p->group);              \
    int64_t block = begin ? begin / p->group : 0, first = begin ? begin % p->group : 0;            \
    ROLLED for (int64_t u = begin, count; u < end; u += count, block++, first = 0) {               \
      const int64_t left = p->group - first;                                                       \
      count = end - u < left ? end - u : left;                                                     \
      const GlowGatherPtrs all = GLOW_GATHER_PTRS(ptrs);                                           \
      char *to = (char *)all.y + u * p->run;                                                       \
      const char *from = (const char *)all.x + block * p->group_stride;                            \
      const I *at = (const I *)all.indices + (p->shared ? first : u) * p->length;                  \
      if (plain)                                                                                   \
        fours_##kind(true, p, to, from, at, count);                                                \
      else if (fours)                                                                              \
        fours_##kind(false, p, to, from, at, count);                                               \
      else if (p->length == 1 && p->run == 4)                                                      \
        rows_##kind(p, 4, 1, to, from, at, count);                                                 \
      else if (p->length == 2 && p->run == 4)                                                      \
        rows_##kind(p, 4, 2, to, from, at, count);                                                 \
      else if (p->length == 1 && p->run == 32)                                                     \
        rows_##kind(p, 32, 1, to, from, at, count);                                                \
      else if (p->length == 1)                                                                     \
        lines_##kind(p, to, from, at, count);                                                      \
      else                                                                                         \
        rows_##kind(p, p->run, p->length, to, from, at, count);                                    \
    }                                                                                              \
  }
GATHER(i32, int32_t)
GATHER(i64, int64_t)

/* ---- ReverseSequence ------------------------------------------------------------------------- */

/* The first shard reports the first length that is out of range. */
INLINE void check_lengths(const int64_t *lengths, int64_t batches, int64_t steps,
                          GlowFault *fault) {
  ROLLED for (int64_t b = 0; b < batches; b++) {
    if ((uint64_t)lengths[b] > (uint64_t)steps) {
      fault->error = GLOW_FAULT_INDEX;
      fault->detail = lengths[b];
      return;
    }
  }
}

/* Each row comes from as many steps ahead or back as its place among the first steps says. */
#define EACH_STEP(COPY)                                                                            \
  ROLLED for (int64_t u = begin; u < end; u++, first = first + 1 < count ? first + 1 : 0) {        \
    ROLLED for (int64_t m = 0; m < middle; m++) {                                                  \
      ROLLED for (int64_t s = 0; s < second; s++, y += run, x += run) {                            \
        const int64_t step = steps_first ? first : s, length = lengths[steps_first ? s : first];   \
        const int64_t ahead = step < length && length <= steps ? length - 1 - 2 * step : 0;        \
        COPY(y, x + ahead * stride, run);                                                          \
      }                                                                                            \
    }                                                                                              \
  }

/* The fault stands behind the operands. */
void glow_reverse_sequence(const GlowReverseParams *p, void *const *ptrs, int64_t begin,
                           int64_t end, char *scratch) {
  const GlowReverseSequencePtrs all = GLOW_REVERSE_SEQUENCE_PTRS(ptrs);
  const bool steps_first = p->steps_first;
  const int64_t count = p->first, middle = p->middle, second = p->second, run = p->run;
  const int64_t steps = steps_first ? count : second, *lengths = all.lengths;
  const int64_t row = middle * second * run, stride = steps_first ? row : run;
  int64_t first = begin ? begin % count : 0;
  char *y = (char *)all.y + begin * row;
  const char *x = (const char *)all.x + begin * row;
  (void)scratch;
  if (begin == 0)
    check_lengths(lengths, steps_first ? second : count, steps, ptrs[3]);
  BY_RUN(run, EACH_STEP)
}

/* ---- Elements -------------------------------------------------------------------------------- */

#define COPY(picked, listed, size) __builtin_memcpy(to + (listed), from + (picked), (size_t)(size));
#define PICK(kind, I)                                                                              \
  void glow_gather_elements_##kind(const GlowPickParams *p, void *const *ptrs, int64_t begin,      \
                                   int64_t end, char *scratch) {                                   \
    const GlowGatherElementsPtrs all = GLOW_GATHER_ELEMENTS_PTRS(ptrs);                            \
    char *to = all.y;                                                                              \
    const char *from = all.x;                                                                      \
    (void)scratch;                                                                                 \
    BY_SIZE(p->bytes, PICK_##kind)                                                                 \
  }
#define PICK_i32(size) EACH_PICK(p, int32_t, all.indices, begin, end, size, COPY)
#define PICK_i64(size) EACH_PICK(p, int64_t, all.indices, begin, end, size, COPY)
PICK(i32, int32_t)
PICK(i64, int64_t)
