/* The k best elements of lines along an axis, best first: glow_top_k_<kind>.
 *
 * Elements have keys: integers in the order of the contract, NaN above +inf, -0 equal to +0, and
 * the complements of these where the smallest are wanted. A key and the complement of an index make
 * an entry. No two entries are equal, and the first of equal elements has the best one.
 *
 * Whole vectors of keys are compared with the key of a limit; the entries of elements that are
 * better than the limit go to a room. When the room is full, only its k best stay, and the worst of
 * these is the next limit. The first limit comes from a sample of the line: its elements are dealt
 * to groups, and k elements are as good as the k-th best of the groups' maxima, or better. */
#include "kernels/kernels.h"

#define LANES16                                                                                    \
  _Pragma("clang loop vectorize(enable) interleave(disable)") for (int l = 0; l < 16; l++)
#define EACH_OF(n) _Pragma("clang loop vectorize(enable)") for (int64_t i = 0; i < (n); i++)
#define EACH(n) _Pragma("clang loop vectorize(enable)") for (int64_t l = 0; l < (n); l++)

/* ---- Entries --------------------------------------------------------------------------------- */

/* Of keys of at most 32 bits: the key in the upper half, ~index in the lower. */
typedef int64_t Narrow;
INLINE Narrow narrow_entry(int64_t key, int64_t index) {
  return (int64_t)((uint64_t)key << 32 | (uint32_t)~index);
}
INLINE Narrow narrow_worst(void) { return INT64_MIN; }
INLINE int64_t narrow_key(Narrow e) { return e >> 32; }
INLINE int64_t narrow_index(Narrow e) { return (uint32_t)~e; }
INLINE int narrow_better(Narrow a, Narrow b) { return a > b; }

/* Of others. */
typedef struct Wide {
  int64_t key, other;
} Wide;
INLINE Wide wide_entry(int64_t key, int64_t index) {
  const Wide e = {key, ~index};
  return e;
}
INLINE Wide wide_worst(void) {
  const Wide e = {INT64_MIN, INT64_MIN};
  return e;
}
INLINE int64_t wide_key(Wide e) { return e.key; }
INLINE int64_t wide_index(Wide e) { return ~e.other; }
INLINE int wide_better(Wide a, Wide b) {
  return (a.key > b.key) | ((a.key == b.key) & (a.other > b.other));
}

/* Sort n entries: each goes where as many others are better. What makes n a multiple of 8 is worse
 * than all. Two counts take turns, since each waits for its last step. */
INLINE void narrow_rank(Narrow *restrict from, int64_t n, Narrow *restrict to) {
  typedef int64_t Eight __attribute__((vector_size(64), aligned(8)));
  ROLLED for (int64_t i = n; i % 8; i++) from[i] = narrow_worst();
  ROLLED for (int64_t i = 0; i < n; i += 8) {
    const Eight mine = *(const Eight *)(from + i);
    Eight rank = {0}, odd = {0};
    ROLLED for (int64_t j = 0; j < n; j += 2) rank -= mine < from[j], odd -= mine < from[j + 1];
    rank += odd;
    UNROLL for (int l = 0; l < 8; l++) to[rank[l]] = mine[l];
  }
}
INLINE void wide_rank(const Wide *restrict from, int64_t n, Wide *restrict to) {
  ROLLED for (int64_t i = 0; i < n; i++) {
    int64_t rank = 0;
    ROLLED for (int64_t j = 0; j < n; j++) rank += wide_better(from[j], from[i]);
    to[rank] = from[i];
  }
}

enum { RANKED = 32 }; /* entries that are sorted by their ranks */

/* Where n is said, the memory of entries has room for 8 more. */
#define ENTRIES(E, e)                                                                              \
  typedef struct E##Room {                                                                         \
    E *all, limit;                                                                                 \
    int64_t count;                                                                                 \
  } E##Room;                                                                                       \
                                                                                                   \
  INLINE void e##_swap(E *a, E *b) {                                                               \
    const E v = *a;                                                                                \
    *a = *b;                                                                                       \
    *b = v;                                                                                        \
  }                                                                                                \
                                                                                                   \
  /* Moves the k best of n entries to the front, the worst of them to k - 1. */                    \
  static void e##_keep(E *all, int64_t n, int64_t k) {                                             \
    int64_t low = 0, high = n - 1;                                                                 \
    ROLLED while (low < high) {                                                                    \
      const int64_t middle = low + (high - low) / 2;                                               \
      if (e##_better(all[middle], all[low]))                                                       \
        e##_swap(&all[middle], &all[low]);                                                         \
      if (e##_better(all[high], all[low]))                                                         \
        e##_swap(&all[high], &all[low]);                                                           \
      if (e##_better(all[middle], all[high])) /* the second of the three goes to the end */        \
        e##_swap(&all[middle], &all[high]);                                                        \
      const E pivot = all[high];                                                                   \
      int64_t better = low;                                                                        \
      ROLLED for (int64_t i = low; i < high; i++) {                                                \
        const E v = all[i];                                                                        \
        all[i] = all[better];                                                                      \
        all[better] = v;                                                                           \
        better += e##_better(v, pivot);                                                            \
      }                                                                                            \
      e##_swap(&all[better], &all[high]);                                                          \
      if (better == k - 1)                                                                         \
        return;                                                                                    \
      if (better < k)                                                                              \
        low = better + 1;                                                                          \
      else                                                                                         \
        high = better - 1;                                                                         \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  /* Merges two runs. Two of one length are merged from both ends at a time: each end comes to the \
   * middle, so neither looks behind a run. */                                                     \
  INLINE void e##_merge(const E *a, int64_t na, const E *b, int64_t nb, E *to) {                   \
    int64_t i = 0, j = 0;                                                                          \
    if (na == nb) {                                                                                \
      const E *a_end = a + na - 1, *b_end = b + nb - 1;                                            \
      ROLLED for (int64_t t = 0; t < na; t++) {                                                    \
        const E va = *a, vb = *b, wa = *a_end, wb = *b_end;                                        \
        const int second = e##_better(vb, va), first = e##_better(wb, wa);                         \
        to[t] = second ? vb : va;                                                                  \
        to[2 * na - 1 - t] = first ? wa : wb;                                                      \
        a += !second;                                                                              \
        b += second;                                                                               \
        a_end -= first;                                                                            \
        b_end -= !first;                                                                           \
      }                                                                                            \
      return;                                                                                      \
    }                                                                                              \
    ROLLED while (i < na && j < nb) {                                                              \
      const int second = e##_better(b[j], a[i]);                                                   \
      to[i + j] = second ? b[j] : a[i];                                                            \
      i += !second;                                                                                \
      j += second;                                                                                 \
    }                                                                                              \
    ROLLED for (; i < na; i++) to[i + j] = a[i];                                                   \
    ROLLED for (; j < nb; j++) to[i + j] = b[j];                                                   \
  }                                                                                                \
                                                                                                   \
  /* Sorts n entries, in two places by turns; returns where they are. */                           \
  static E *e##_sort(E *all, E *other, int64_t n) {                                                \
    E *from = other, *to = all;                                                                    \
    ROLLED for (int64_t i = 0; i < n; i += RANKED)                                                 \
        e##_rank(all + i, n - i < RANKED ? n - i : RANKED, other + i);                             \
    ROLLED for (int64_t run = RANKED; run < n; run *= 2) {                                         \
      ROLLED for (int64_t i = 0; i < n; i += 2 * run) {                                            \
        const int64_t left = n - i < run ? n - i : run, both = n - i < 2 * run ? n - i : 2 * run;  \
        e##_merge(from + i, left, from + i + left, both - left, to + i);                           \
      }                                                                                            \
      E *next = from;                                                                              \
      from = to;                                                                                   \
      to = next;                                                                                   \
    }                                                                                              \
    return from;                                                                                   \
  }                                                                                                \
                                                                                                   \
  /* Makes place for `more` entries. */                                                            \
  INLINE void e##_make_place(const GlowTopKParams *p, E##Room *r, int64_t more) {                  \
    if (r->count + more <= p->room)                                                                \
      return;                                                                                      \
    e##_keep(r->all, r->count, p->k);                                                              \
    r->count = p->k;                                                                               \
    r->limit = r->all[p->k - 1];                                                                   \
  }                                                                                                \
                                                                                                   \
  INLINE void e##_offer(E##Room *r, E v) {                                                         \
    r->all[r->count] = v;                                                                          \
    r->count += e##_better(v, r->limit);                                                           \
  }
ENTRIES(Narrow, narrow)
ENTRIES(Wide, wide)

/* ---- Keys ------------------------------------------------------------------------------------ */

/* A register of elements, as integers, and which of them a comparison holds for. */
#define VECTOR(kind, F)                                                                            \
  typedef F kind##Keys __attribute__((vector_size(GLOW_VL * 4), aligned(sizeof(F)), may_alias));   \
  enum { kind##_lanes = GLOW_VL * 4 / sizeof(F) };                                                 \
  INLINE uint64_t kind##_which(kind##Keys holds) {                                                 \
    typedef bool Bits __attribute__((ext_vector_type(kind##_lanes)));                              \
    const Bits bits = __builtin_convertvector(holds, Bits);                                        \
    uint64_t which = 0;                                                                            \
    __builtin_memcpy(&which, &bits, sizeof bits);                                                  \
    return which & UINT64_MAX >> (64 - kind##_lanes);                                              \
  }

/* Keys of numbers with a sign and a magnitude, of which those above INF are NaN; all bits are
 * turned by `flip`. Of one element, then of a register of them. */
#define REAL_KEYS(kind, F, SIGN, INF)                                                              \
  VECTOR(kind, F)                                                                                  \
  INLINE F kind##_key(F v, F flip) {                                                               \
    const F size = (F)(v & ~SIGN), below = (F)(size > INF || v >= 0 ? 0 : -1);                     \
    return (F)((((size > INF ? INF + 1 : size) ^ below) - below) ^ flip);                          \
  }                                                                                                \
  INLINE kind##Keys kind##_keys(kind##Keys v, F flip) {                                            \
    const kind##Keys size = v & (F)~SIGN, below = (v < 0) & (size <= (F)INF), zero = {0};          \
    return ((__builtin_elementwise_min(size, zero + (F)(INF + 1)) ^ below) - below) ^ flip;        \
  }
REAL_KEYS(float, int32_t, INT32_MIN, 0x7f800000)
REAL_KEYS(double, int64_t, INT64_MIN, INT64_C(0x7ff0000000000000))
REAL_KEYS(float16, int16_t, INT16_MIN, 0x7c00)
REAL_KEYS(bfloat16, int16_t, INT16_MIN, 0x7f80)

/* The first bit of `flip` makes unsigned numbers signed ones. */
#define INTEGER_KEYS(kind, F)                                                                      \
  VECTOR(kind, F)                                                                                  \
  INLINE F kind##_key(F v, F flip) { return (F)(v ^ flip); }                                       \
  INLINE kind##Keys kind##_keys(kind##Keys v, F flip) { return v ^ flip; }
INTEGER_KEYS(i8, int8_t)
INTEGER_KEYS(i16, int16_t)
INTEGER_KEYS(i32, int32_t)
INTEGER_KEYS(i64, int64_t)

/* ---- Lines ----------------------------------------------------------------------------------- */

enum { ENOUGH = 64 };    /* entries that are sorted with those that are too many */
enum { SHORT_BEST = 4 }; /* elements of short lines that are found one after the other */
typedef Narrow Short8 __attribute__((vector_size(64), aligned(8)));
typedef Narrow Short16 __attribute__((vector_size(128), aligned(8)));

/* Lines of at most SIZE elements with narrow entries: these are one register, or few. */
#define SHORT_LINES(kind, F, of, SIZE)                                                             \
  INLINE void kind##_short##SIZE(const GlowTopKParams *p, int64_t lines, const F *x,               \
                                 int64_t pitch, F *y, int64_t *at, int64_t next, F flip) {         \
    const int64_t n = p->n, k = p->k, inner = p->inner; /* results may alias them */               \
    ROLLED for (int64_t l = 0; l < lines; l++, x += pitch) {                                       \
      Short##SIZE v;                                                                               \
      if (n == SIZE) { /* memory of its own, which stays a register */                             \
        Narrow all[SIZE];                                                                          \
        EACH_OF(SIZE) all[i] = narrow_entry(of##_key(x[i], flip), i);                              \
        v = *(const Short##SIZE *)all;                                                             \
      } else {                                                                                     \
        Narrow some[SIZE];                                                                         \
        ROLLED for (int64_t i = 0; i < SIZE; i++) some[i] =                                        \
            i < n ? narrow_entry(of##_key(x[i], flip), i) : narrow_worst();                        \
        v = *(const Short##SIZE *)some;                                                            \
      }                                                                                            \
      ROLLED for (int64_t i = 0; i < k; i++) {                                                     \
        const Narrow best = __builtin_reduce_max(v);                                               \
        const int64_t from = narrow_index(best);                                                   \
        if (y)                                                                                     \
          y[l * next + i * inner] = x[from];                                                       \
        if (at)                                                                                    \
          at[l * next + i * inner] = from;                                                         \
        const Short##SIZE taken = v == best;                                                       \
        v = (v & ~taken) | (taken & narrow_worst());                                               \
      }                                                                                            \
    }                                                                                              \
  }

/* F: the integer of the width of an element; `of`: the kind that has its keys; E, e: its entries.
 */
#define TOP_K(kind, F, of, FLIP, LOWEST, HIGHEST, E, e)                                            \
  SHORT_LINES(kind, F, of, 8)                                                                      \
  SHORT_LINES(kind, F, of, 16)                                                                     \
  /* Where the first of the best elements is. */                                                   \
  INLINE int64_t kind##_first(const F *x, int64_t n, F flip) {                                     \
    const int64_t whole = n / of##_lanes * of##_lanes;                                             \
    F most = of##_key(x[0], flip);                                                                 \
    if (whole) {                                                                                   \
      of##Keys top = of##_keys(*(const of##Keys *)x, flip);                                        \
      ROLLED for (int64_t i = of##_lanes; i < whole; i += of##_lanes) top =                        \
          __builtin_elementwise_max(top, of##_keys(*(const of##Keys *)(x + i), flip));             \
      most = __builtin_reduce_max(top);                                                            \
    }                                                                                              \
    ROLLED for (int64_t i = whole; i < n; i++) {                                                   \
      const F key = of##_key(x[i], flip);                                                          \
      most = key > most ? key : most;                                                              \
    }                                                                                              \
    int64_t i = 0;                                                                                 \
    ROLLED for (; i < whole; i += of##_lanes) {                                                    \
      const of##Keys same = of##_keys(*(const of##Keys *)(x + i), flip) == most;                   \
      if (__builtin_reduce_or(same))                                                               \
        return i + __builtin_ctzll(of##_which(same));                                              \
    }                                                                                              \
    ROLLED while (of##_key(x[i], flip) != most) i++;                                               \
    return i;                                                                                      \
  }                                                                                                \
                                                                                                   \
  /* Entries of elements [0, n). */                                                                \
  INLINE void kind##_take(const F *restrict x, int64_t n, F flip, E##Room *r) {                    \
    E *restrict all = r->all;                                                                      \
    EACH(n) all[l] = e##_entry(of##_key(x[l], flip), l);                                           \
    r->count = n;                                                                                  \
  }                                                                                                \
                                                                                                   \
  /* Finds the first limit. No: all elements may be among the best. */                             \
  APART int kind##_sample(const GlowTopKParams *p, const F *x, F flip, E *work, E##Room *r) {      \
    ROLLED for (int64_t g = 0; g < p->groups; g += of##_lanes) {                                   \
      of##Keys top = of##_keys(*(const of##Keys *)(x + g), flip);                                  \
      ROLLED for (int64_t i = g + p->groups; i < p->sample; i += p->groups) top =                  \
          __builtin_elementwise_max(top, of##_keys(*(const of##Keys *)(x + i), flip));             \
      F keys[of##_lanes];                                                                          \
      __builtin_memcpy(keys, &top, sizeof keys);                                                   \
      EACH(of##_lanes) work[g + l] = e##_entry(keys[l], g + l);                                    \
    }                                                                                              \
    if (p->groups <= RANKED)                                                                       \
      e##_rank(work, p->groups, r->all);                                                           \
    else                                                                                           \
      e##_keep(work, p->groups, p->k);                                                             \
    const int64_t key = e##_key(p->groups <= RANKED ? r->all[p->k - 1] : work[p->k - 1]);          \
    if (key == LOWEST)                                                                             \
      return 0;                                                                                    \
    r->limit = e##_entry(key - 1, 0); /* better than all others of this key */                     \
    return 1;                                                                                      \
  }                                                                                                \
                                                                                                   \
  /* Takes what is better than the limit from the register at i, but not from its first lanes. */  \
  INLINE void kind##_pick(const F *x, int64_t i, int64_t but, F flip, E##Room *r) {                \
    const F above = (F)e##_key(r->limit);                                                          \
    uint64_t which = of##_which(of##_keys(*(const of##Keys *)(x + i), flip) > above);              \
    which &= UINT64_MAX << but;                                                                    \
    ROLLED for (; which; which &= which - 1) {                                                     \
      const int64_t at = i + __builtin_ctzll(which);                                               \
      e##_offer(r, e##_entry(of##_key(x[at], flip), at));                                          \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  /* Takes what is better than the limit from elements [from, n). */                               \
  APART void kind##_scan(const GlowTopKParams *p, const F *x, int64_t from, F flip, E##Room *r) {  \
    const int64_t lanes = of##_lanes, n = p->n;                                                    \
    E##Room room = *r, *const at = &room; /* entries may alias *r */                               \
    int64_t i = from;                                                                              \
    ROLLED while (i < n) {                                                                         \
      const F above = (F)e##_key(at->limit);                                                       \
      if (above == HIGHEST)                                                                        \
        break;                                                                                     \
      ROLLED for (; i + 4 * lanes <= n; i += 4 * lanes) {                                          \
        const of##Keys a = of##_keys(*(const of##Keys *)(x + i), flip);                            \
        const of##Keys b = of##_keys(*(const of##Keys *)(x + i + lanes), flip);                    \
        const of##Keys c = of##_keys(*(const of##Keys *)(x + i + 2 * lanes), flip);                \
        const of##Keys d = of##_keys(*(const of##Keys *)(x + i + 3 * lanes), flip);                \
        if (__builtin_reduce_or((a > above) | (b > above) | (c > above) | (d > above)))            \
          break;                                                                                   \
      }                                                                                            \
      const int64_t end = i + 4 * lanes < n ? i + 4 * lanes : n;                                   \
      e##_make_place(p, at, 4 * lanes);                                                            \
      ROLLED for (; i + lanes <= end; i += lanes) kind##_pick(x, i, 0, flip, at);                  \
      if (i < end && n >= lanes) { /* the last elements, in a register with some before them */    \
        kind##_pick(x, n - lanes, lanes - (n - i), flip, at);                                      \
        i = n;                                                                                     \
      }                                                                                            \
      ROLLED for (; i < end; i++) e##_offer(at, e##_entry(of##_key(x[i], flip), i));               \
    }                                                                                              \
    *r = room;                                                                                     \
  }                                                                                                \
  /* Where the k best elements of a line are, in order: entries in scratch memory. */              \
  INLINE const E *kind##_best(const GlowTopKParams *p, const F *x, F flip, char *scratch) {        \
    E##Room r = {.all = (E *)scratch, .limit = e##_worst()};                                       \
    E *work = (E *)(scratch + p->work_at);                                                         \
    int64_t from = 0;                                                                              \
    if (!p->groups || !kind##_sample(p, x, flip, work, &r)) {                                      \
      from = p->n < p->room ? p->n : p->room;                                                      \
      kind##_take(x, from, flip, &r);                                                              \
    }                                                                                              \
    if (from < p->n) {                                                                             \
      e##_make_place(p, &r, from ? p->room : 0);                                                   \
      kind##_scan(p, x, from, flip, &r);                                                           \
    }                                                                                              \
    if (r.count <= ENOUGH) {                                                                       \
      e##_rank(r.all, r.count, work);                                                              \
      return work;                                                                                 \
    }                                                                                              \
    if (r.count > p->k)                                                                            \
      e##_keep(r.all, r.count, p->k);                                                              \
    return e##_sort(r.all, work, p->k);                                                            \
  }                                                                                                \
                                                                                                   \
  /* Lines of neighbours, `pitch` apart, whose results are `next` apart and may be wanted or not.  \
   */                                                                                              \
  APART void kind##_lines(const GlowTopKParams *p, int64_t lines, const F *x, int64_t pitch, F *y, \
                          int64_t *at, int64_t next, char *scratch) {                              \
    const F flip = (F)((FLIP) ^ (p->smallest ? -1 : 0));                                           \
    const int64_t k = p->k, inner = p->inner; /* results may alias them */                         \
    if (sizeof(E) == sizeof(Narrow) && p->n <= 16 && k > 1 && k <= SHORT_BEST) {                   \
      if (p->n <= 8)                                                                               \
        kind##_short8(p, lines, x, pitch, y, at, next, flip);                                      \
      else                                                                                         \
        kind##_short16(p, lines, x, pitch, y, at, next, flip);                                     \
      return;                                                                                      \
    }                                                                                              \
    ROLLED for (int64_t l = 0; p->k == 1 && l < lines; l++, x += pitch) {                          \
      const int64_t i = kind##_first(x, p->n, flip);                                               \
      if (y)                                                                                       \
        y[l * next] = x[i];                                                                        \
      if (at)                                                                                      \
        at[l * next] = i;                                                                          \
    }                                                                                              \
    ROLLED for (int64_t l = 0; k > 1 && l < lines; l++, x += pitch) {                              \
      const E *restrict best = kind##_best(p, x, flip, scratch);                                   \
      if (y)                                                                                       \
        ROLLED for (int64_t i = 0; i < k; i++) y[l * next + i * inner] = x[e##_index(best[i])];    \
      if (at)                                                                                      \
        ROLLED for (int64_t i = 0; i < k; i++) at[l * next + i * inner] = e##_index(best[i]);      \
    }                                                                                              \
  }                                                                                                \
  /* The best elements of 16 lines beside each other. */                                           \
  APART void kind##_first16(const GlowTopKParams *p, const F *restrict x, F *y, int64_t *at) {     \
    const F flip = (F)((FLIP) ^ (p->smallest ? -1 : 0));                                           \
    F top[16];                                                                                     \
    int32_t best[16];                                                                              \
    LANES16 top[l] = of##_key(x[l], flip);                                                         \
    LANES16 best[l] = 0;                                                                           \
    ROLLED for (int32_t i = 1; i < (int32_t)p->n; i++) {                                           \
      const F *restrict row = x + i * p->inner;                                                    \
      LANES16 {                                                                                    \
        const F key = of##_key(row[l], flip);                                                      \
        best[l] = key > top[l] ? i : best[l];                                                      \
        top[l] = key > top[l] ? key : top[l];                                                      \
      }                                                                                            \
    }                                                                                              \
    ROLLED for (int64_t l = 0; y && l < 16; l++) y[l] = x[best[l] * p->inner + l];                 \
    ROLLED for (int64_t l = 0; at && l < 16; l++) at[l] = best[l];                                 \
  }                                                                                                \
                                                                                                   \
  /* Copies lines beside each other to scratch memory. */                                          \
  APART void kind##_copy(const GlowTopKParams *p, int64_t lines, const F *restrict x,              \
                         F *restrict to) {                                                         \
    ROLLED for (int64_t i = 0; i < p->n; i += 16) {                                                \
      const int64_t end = p->n - i < 16 ? p->n : i + 16;                                           \
      ROLLED for (int64_t l = 0; l < lines; l++) ROLLED for (int64_t j = i; j < end; j++)          \
          to[l * p->pitch + j] = x[j * p->inner + l];                                              \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  void glow_top_k_##kind(const GlowTopKParams *params, void *const *ptrs, int64_t begin,           \
                         int64_t end, char *scratch) {                                             \
    const GlowTopKParams copy = *params, *const p = &copy; /* no store changes it */               \
    const F *all = (const F *)ptrs[2];                                                             \
    F *y = (F *)ptrs[0], *rows = (F *)(scratch + p->lines_at);                                     \
    int64_t *at = GLOW_TOP_K_PTRS(ptrs).at;                                                        \
    const int64_t parts = (p->inner + 15) / 16, to = begin * p->k;                                 \
    if (p->inner == 1) {                                                                           \
      kind##_lines(p, end - begin, all + begin * p->n, p->n, y ? y + to : y, at ? at + to : at,    \
                   p->k, scratch);                                                                 \
      return;                                                                                      \
    }                                                                                              \
    ROLLED for (int64_t u = begin; u < end; u++) {                                                 \
      const int64_t outer = u / parts, line = u % parts * 16, left = p->inner - line;              \
      const int64_t first = outer * p->k * p->inner + line, lines = left < 16 ? left : 16;         \
      const F *x = all + outer * p->n * p->inner + line;                                           \
      F *y_line = y ? y + first : y;                                                               \
      int64_t *at_line = at ? at + first : at;                                                     \
      if (p->k == 1 && lines == 16) {                                                              \
        kind##_first16(p, x, y_line, at_line);                                                     \
      } else {                                                                                     \
        kind##_copy(p, lines, x, rows);                                                            \
        kind##_lines(p, lines, rows, p->pitch, y_line, at_line, 1, scratch);                       \
      }                                                                                            \
    }                                                                                              \
  }

#define NARROW_TOP_K(kind, F, of, flip, low, high)                                                 \
  TOP_K(kind, F, of, flip, low, high, Narrow, narrow)
#define WIDE_TOP_K(kind, F, of, flip, low, high) TOP_K(kind, F, of, flip, low, high, Wide, wide)
NARROW_TOP_K(float, int32_t, float, 0, INT32_MIN, INT32_MAX)
WIDE_TOP_K(double, int64_t, double, 0, INT64_MIN, INT64_MAX)
NARROW_TOP_K(float16, int16_t, float16, 0, INT16_MIN, INT16_MAX)
NARROW_TOP_K(bfloat16, int16_t, bfloat16, 0, INT16_MIN, INT16_MAX)
NARROW_TOP_K(i8, int8_t, i8, 0, INT8_MIN, INT8_MAX)
NARROW_TOP_K(i16, int16_t, i16, 0, INT16_MIN, INT16_MAX)
NARROW_TOP_K(i32, int32_t, i32, 0, INT32_MIN, INT32_MAX)
WIDE_TOP_K(i64, int64_t, i64, 0, INT64_MIN, INT64_MAX)
NARROW_TOP_K(u8, int8_t, i8, INT8_MIN, INT8_MIN, INT8_MAX)
NARROW_TOP_K(u16, int16_t, i16, INT16_MIN, INT16_MIN, INT16_MAX)
NARROW_TOP_K(u32, int32_t, i32, INT32_MIN, INT32_MIN, INT32_MAX)
WIDE_TOP_K(u64, int64_t, i64, INT64_MIN, INT64_MIN, INT64_MAX)
