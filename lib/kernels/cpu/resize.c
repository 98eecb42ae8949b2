/* Resize from tables of indices and weights; units are rows of the result: all places along the
 * last of the axes that change, for one place along the others.
 *
 * Nearest copies elements, and a row that repeats the one before it as a whole. Otherwise each
 * result is a sum of sums in double, the last axis first, each one chain from +0: rows of the input
 * are resampled along the last axis into scratch memory, where the next rows of the result find
 * them again. */
#include "kernels/kernels.h"
#include "part.h"

#include "doubles.h"
#include "num/half.h"
#include "num/math.h"

#define LANES16                                                                                    \
  _Pragma("clang loop vectorize(enable) interleave(disable)") for (int l = 0; l < 16; l++)
#define EACH(n)                                                                                    \
  _Pragma("clang loop vectorize(enable) interleave(disable)") for (int64_t l = 0; l < (n); l++)
#define BELOW(n) ROLLED for (int64_t l = 0; l < (n); l++)

/* What library code has besides: loops for maps of two axes. */
#ifdef GLOW_LIBRARY
enum { IN_LIBRARY = 1 };
#define APART static __attribute__((noinline))
#else
enum { IN_LIBRARY = 0 };
#define APART INLINE
#endif

/* The place of a row of the result, along the axes but the last one. */
typedef struct Place {
  int64_t image, plane, line;
} Place;
INLINE Place place_of(const GlowResizeParams *p, int64_t u) {
  const int64_t rows = u ? u / p->out[1] : 0;
  return u ? (Place){rows / p->out[0], rows % p->out[0], u % p->out[1]} : (Place){0, 0, 0};
}
INLINE void step(const GlowResizeParams *p, Place *at) {
  at->line = at->line + 1 < p->out[1] ? at->line + 1 : 0;
  if (!at->line)
    at->plane = at->plane + 1 < p->out[0] ? at->plane + 1 : 0;
  at->image += !at->line && !at->plane;
}

/* ---- Nearest --------------------------------------------------------------------------------- */

INLINE void fill_bytes(const GlowResizeParams *p, char *to, int64_t count) {
  ROLLED for (int64_t i = 0; i < count; i++)
      __builtin_memcpy(to + i * p->bytes, &p->fill, (size_t)p->bytes);
}

typedef uint32_t Eight __attribute__((vector_size(32), aligned(1), may_alias));
typedef uint32_t Four __attribute__((vector_size(16), aligned(1), may_alias));

/* Each of n elements twice, eight at a time, then four: who reads a register of the result finds
 * what one store has written. */
INLINE void double_row(const char *from, char *to, int64_t n) {
  int64_t i = 0;
  ROLLED for (; i + 8 <= n; i += 8) {
    const Eight v = *(const Eight *)(from + 4 * i);
    *(Eight *)(to + 8 * i) = __builtin_shufflevector(v, v, 0, 0, 1, 1, 2, 2, 3, 3);
    *(Eight *)(to + 8 * i + 32) = __builtin_shufflevector(v, v, 4, 4, 5, 5, 6, 6, 7, 7);
  }
  if (i + 4 <= n) {
    const Four v = *(const Four *)(from + 4 * i);
    *(Eight *)(to + 8 * i) = __builtin_shufflevector(v, v, 0, 0, 1, 1, 2, 2, 3, 3);
    i += 4;
  }
  ROLLED for (; i < n; i++) {
    uint64_t both;
    __builtin_memcpy(&both, from + 4 * i, 4);
    both = (uint32_t)both * UINT64_C(0x100000001);
    __builtin_memcpy(to + 8 * i, &both, 8);
  }
}

/* Each of n elements twice, in two rows, one after the other: two lines of memory that are written by
 * turns take longer. Loads of a short row would wait for the stores. */
INLINE void double_rows(const char *from, char *to, int64_t n) {
  char *again = to + 8 * n;
  int64_t i = 0;
  if (n == 8) {
    const Eight v = *(const Eight *)from;
    const Eight low = __builtin_shufflevector(v, v, 0, 0, 1, 1, 2, 2, 3, 3);
    const Eight high = __builtin_shufflevector(v, v, 4, 4, 5, 5, 6, 6, 7, 7);
    *(Eight *)to = *(Eight *)again = low;
    *(Eight *)(to + 32) = *(Eight *)(again + 32) = high;
    return;
  }
  double_row(from, to, n);
  if (n <= 16) {
    double_row(from, again, n);
    return;
  }
  ROLLED for (; i + 4 <= n; i += 4) *(Eight *)(again + 8 * i) = *(const Eight *)(to + 8 * i);
  ROLLED for (; i < n; i++) __builtin_memcpy(again + 8 * i, to + 8 * i, 8);
}

/* Rows [begin, end) of maps whose elements stand twice along their last axis, and perhaps along the
 * one before it. */
INLINE void double_maps(const GlowResizeParams *p, char *y, const char *x, int64_t begin,
                        int64_t end) {
  const int64_t lines = p->out[1], columns = p->in[2], map = p->in[1] * columns * 4;
  const int64_t row = 8 * columns, *lines_of = p->table + p->places[1];
  int64_t line = begin ? begin % lines : 0;
  x += begin ? begin / lines * map : 0;
  ROLLED for (int64_t u = begin; u < end;) {
    const int64_t j = lines_of[line];
    const bool both = line + 1 < lines && u + 1 < end && lines_of[line + 1] == j;
    if (both)
      double_rows(x + j * columns * 4, y + u * row, columns);
    else
      double_row(x + j * columns * 4, y + u * row, columns);
    u += 1 + both, line += 1 + both;
    x += line < lines ? 0 : map;
    line = line < lines ? line : 0;
  }
}

void glow_resize_nearest(const GlowResizeParams *p, void *const *ptrs, int64_t begin, int64_t end,
                         char *scratch) {
  const int64_t run = p->run * p->bytes, row = p->out[2] * run, columns = p->in[2];
  const int64_t lines = p->in[1], last_line = p->out[1] - 1;
  const int64_t *planes_of = p->table + p->places[0], *lines_of = p->table + p->places[1];
  const int64_t *last = p->table + p->places[2];
  const bool whole = !p->changes[2], doubles = p->doubles;
  if (IN_LIBRARY && doubles && !p->changes[0] && !p->fills) {
    double_maps(p, GLOW_RESIZE_NEAREST_PTRS(ptrs).y, GLOW_RESIZE_NEAREST_PTRS(ptrs).x, begin, end);
    return;
  }
  int64_t before = -1; /* the row of X that the row before this one came from */
  Place at = place_of(p, begin);
  char *to = (char *)GLOW_RESIZE_NEAREST_PTRS(ptrs).y + begin * row;
  const char *x = GLOW_RESIZE_NEAREST_PTRS(ptrs).x;
  (void)scratch;
  ROLLED for (int64_t u = begin; u < end; u++, step(p, &at), to += row) {
    const int64_t i = planes_of[at.plane], j = lines_of[at.line];
    const int64_t source = i < 0 || j < 0 ? -1 : (at.image * p->in[0] + i) * lines + j;
    const char *from = x + source * columns * run;
    if (source < 0)
      fill_bytes(p, to, p->out[2] * p->run);
    else if (source == before)
      __builtin_memcpy(to, to - row, (size_t)row);
    else if (whole)
      __builtin_memcpy(to, from, (size_t)row);
    else if (doubles)
      if (u + 1 < end && at.line < last_line && lines_of[at.line + 1] == j) {
        double_rows(from, to, columns); /* the row behind it, too */
        u++, at.line++, to += row;
      } else {
        double_row(from, to, columns);
      }
    else
      ROLLED for (int64_t k = 0; k < p->out[2]; k++) {
        if (p->fills && last[k] < 0)
          fill_bytes(p, to + k * run, p->run);
        else
          __builtin_memcpy(to + k * run, from + last[k] * run, (size_t)run);
      }
    before = source;
  }
}

/* ---- Sums ------------------------------------------------------------------------------------ */

/* Elements of a list. */
INLINE int64_t list_index(const int64_t *list, int64_t k) { return list[1 + 2 * k]; }
INLINE double list_weight(const int64_t *list, int64_t k) {
  return glow_double_from_bits((uint64_t)list[2 + 2 * k]);
}
INLINE const int64_t *list_of(const GlowResizeParams *p, int a, int64_t i) {
  return p->table + p->table[p->places[a] + i];
}

/* Whether place l of a row is a sum of elements 2 l and 2 l + 1: a row that is halved. */
INLINE bool is_halved(const GlowResizeParams *p) {
  if (!p->pairs || p->in[2] < 2 * p->out[2])
    return false;
  const int64_t n = p->out[2], *first = p->table + p->pairs, *second = first + n;
  int64_t others = 0;
  EACH(n) others |= (first[l] ^ (2 * l)) | (second[l] ^ (2 * l + 1));
  return !others;
}

/* Resamples a row of X along the last axis, in double, where each sum has one element or two. */
#define PAIRS(kind, S, LOAD)                                                                       \
  INLINE void pairs_##kind(const GlowResizeParams *p, bool halved, const S *restrict x,            \
                           double *restrict to) {                                                  \
    if (halved) {                                                                                  \
      const int64_t n = p->out[2], *weights = p->table + p->pairs + 2 * n;                         \
      EACH(n) {                                                                                    \
        const double w = glow_double_from_bits((uint64_t)weights[l]);                              \
        const double v = glow_double_from_bits((uint64_t)weights[n + l]);                          \
        const double one = glow_fma(w, LOAD(x[2 * l]), 0.0);                                       \
        const double both = glow_fma(v, LOAD(x[2 * l + 1]), one);                                  \
        to[l] = v != 0 ? both : one;                                                               \
      }                                                                                            \
    } else {                                                                                       \
      const int64_t n = p->out[2], *first = p->table + p->pairs, *second = first + n;              \
      const int64_t *weights = second + n;                                                         \
      EACH(n) {                                                                                    \
        const double w = glow_double_from_bits((uint64_t)weights[l]);                              \
        const double v = glow_double_from_bits((uint64_t)weights[n + l]);                          \
        const double one = glow_fma(w, LOAD(x[first[l]]), 0.0);                                    \
        const double both = glow_fma(v, LOAD(x[second[l]]), one);                                  \
        to[l] = v != 0 ? both : one;                                                               \
      }                                                                                            \
    }                                                                                              \
  }

/* The same of a row of 16 floats at most, to 8 places or more: elements are chosen in registers,
 * not by loads of one each. */
#ifdef __AVX512VL__
enum { HAS_FEW = 1 };
INLINE void few_pairs(const GlowResizeParams *p, const float *x, double *restrict to) {
  typedef float Half __attribute__((vector_size(32)));
  typedef int32_t Places __attribute__((vector_size(32)));
  typedef int64_t Indices __attribute__((vector_size(64), aligned(8)));
  const int64_t n = p->out[2], *first = p->table + p->pairs, *second = first + n;
  const int64_t *weights = second + n;
  Half row[2];
  load_part(row, x, p->in[2]);
  ROLLED for (int64_t i = 0; i < n; i += 8) {
    const int64_t at = i + 8 <= n ? i : n - 8; /* the last ones over those before them */
    const Places a = __builtin_convertvector(*(const Indices *)(first + at), Places);
    const Places b = __builtin_convertvector(*(const Indices *)(second + at), Places);
    const Half u = __builtin_ia32_vpermi2varps256(row[0], a, row[1]);
    const Half z = __builtin_ia32_vpermi2varps256(row[0], b, row[1]);
    EACH(8) {
      const double w = glow_double_from_bits((uint64_t)weights[at + l]);
      const double v = glow_double_from_bits((uint64_t)weights[n + at + l]);
      const double one = glow_fma(w, (double)u[l], 0.0);
      const double both = glow_fma(v, (double)z[l], one);
      to[at + l] = v != 0 ? both : one;
    }
  }
}
#else
enum { HAS_FEW = 0 };
INLINE void few_pairs(const GlowResizeParams *p, const float *x, double *restrict to) {
  (void)p, (void)x, (void)to;
}
#endif

/* Any row. */
#define ROW(kind, S, LOAD)                                                                         \
  INLINE void row_##kind(const GlowResizeParams *p, bool halved, const S *restrict x,              \
                         double *restrict to) {                                                    \
    if (!p->changes[2]) {                                                                          \
      EACH(p->in[2] * p->run) to[l] = LOAD(x[l]);                                                  \
    } else if (sizeof(S) == 4 && HAS_FEW && p->pairs && p->in[2] <= 16 && p->out[2] >= 8) {        \
      few_pairs(p, (const float *)(const void *)x, to);                                            \
    } else if (p->pairs) {                                                                         \
      pairs_##kind(p, halved, x, to);                                                              \
    } else if (p->run == 1) {                                                                      \
      const int64_t *const table = p->table, *const lists = table + p->places[2];                  \
      const int64_t n = p->out[2];                                                                 \
      ROLLED for (int64_t i = 0; i < n; i++) {                                                     \
        const int64_t *list = table + lists[i];                                                    \
        const int64_t count = list[0];                                                             \
        double sum = 0;                                                                            \
        if (count == 4)                                                                            \
          UNROLL for (int k = 0; k < 4; k++) sum =                                                 \
              glow_fma(list_weight(list, k), LOAD(x[list_index(list, k)]), sum);                   \
        else                                                                                       \
          ROLLED for (int64_t k = 0; k < count; k++) sum =                                         \
              glow_fma(list_weight(list, k), LOAD(x[list_index(list, k)]), sum);                   \
        to[i] = sum;                                                                               \
      }                                                                                            \
    } else {                                                                                       \
      ROLLED for (int64_t i = 0; i < p->out[2]; i++) {                                             \
        const int64_t *list = list_of(p, 2, i);                                                    \
        double *restrict sums = to + i * p->run;                                                   \
        int64_t c = 0;                                                                             \
        ROLLED for (; c + 16 <= p->run; c += 16) {                                                 \
          double sum[16];                                                                          \
          LANES16 sum[l] = 0;                                                                      \
          ROLLED for (int64_t k = 0; k < list[0]; k++) {                                           \
            const S *restrict at = x + list_index(list, k) * p->run + c;                           \
            const double w = list_weight(list, k);                                                 \
            LANES16 sum[l] = glow_fma(w, LOAD(at[l]), sum[l]);                                     \
          }                                                                                        \
          LANES16 sums[c + l] = sum[l];                                                            \
        }                                                                                          \
        ROLLED for (; c < p->run; c++) {                                                           \
          double sum = 0;                                                                          \
          ROLLED for (int64_t k = 0; k < list[0]; k++) sum =                                       \
              glow_fma(list_weight(list, k), LOAD(x[list_index(list, k) * p->run + c]), sum);      \
          sums[c] = sum;                                                                           \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }

/* Resampled rows in scratch memory: first which row of X each slot holds (-1: none), then where the
 * rows of a sum are, in its order, then the slots, of `size` elements, a multiple of 16. */
typedef struct Rows {
  int64_t *ids, size;
  const double **list;
  double *data;
} Rows;

INLINE int64_t slots_of(const GlowResizeParams *p) { return p->span[0] * p->span[1]; }
INLINE Rows rows_in(const GlowResizeParams *p, char *scratch) {
  const int64_t all = (slots_of(p) + 7) / 8 * 64; /* bytes for a number or address of each slot */
  Rows r = {(int64_t *)scratch, (p->out[2] * p->run + 15) / 16 * 16, NULL, NULL};
  r.list = (const double **)(void *)(scratch + all);
  r.data = (double *)(void *)(scratch + 2 * all);
  BELOW(slots_of(p)) r.ids[l] = -1;
  /* Sums behind a row are not of what was there, which may take long. */
  ROLLED for (int64_t i = 0; i < slots_of(p); i++)
      ROLLED for (int64_t k = p->out[2] * p->run; k < r.size; k++) r.data[i * r.size + k] = 0;
  return r;
}
/* i % n without a division for the spans of two neighbours, which library code does not know. */
INLINE int64_t turn(int64_t i, int64_t n) { return n == 1 ? 0 : n == 2 ? i & 1 : i % n; }
INLINE int64_t slot_of(const GlowResizeParams *p, int64_t i, int64_t j) {
  return turn(i, p->span[0]) * p->span[1] + turn(j, p->span[1]);
}

enum { PARTS = 16 / LANES }; /* registers of 16 sums */
#define EACH_PART UNROLL for (int i = 0; i < PARTS; i++)

/* 16 sums from offset `at` of the rows on. */
INLINE void sum_rows(const GlowResizeParams *p, const Rows *r, const int64_t *planes,
                     const int64_t *lines, int64_t at, double *restrict out) {
  Doubles outer[PARTS];
  EACH_PART outer[i] = (Doubles){0};
  ROLLED for (int64_t a = 0; a < planes[0]; a++) {
    Doubles inner[PARTS];
    EACH_PART inner[i] = (Doubles){0};
    ROLLED for (int64_t b = 0; b < lines[0]; b++) {
      const Doubles *restrict row = (const Doubles *)(r->list[a * lines[0] + b] + at);
      const Doubles w = doubles_splat(list_weight(lines, b));
      if (p->changes[1])
        EACH_PART inner[i] = doubles_fma(w, row[i], inner[i]);
      else
        EACH_PART inner[i] = row[i];
    }
    const Doubles w = doubles_splat(list_weight(planes, a));
    if (p->changes[0])
      EACH_PART outer[i] = doubles_fma(w, inner[i], outer[i]);
    else
      EACH_PART outer[i] = inner[i];
  }
  EACH_PART((Doubles *)out)[i] = outer[i];
}

/* Sums of one row or two, of one plane. */
INLINE void sum_two(bool two, double w, const double *restrict x, double v,
                    const double *restrict z, double *restrict out) {
  if (two)
    LANES16 out[l] = glow_fma(v, z[l], glow_fma(w, x[l], 0.0));
  else
    LANES16 out[l] = glow_fma(w, x[l], 0.0);
}
INLINE void sum_lines(const Rows *r, const int64_t *lines, int64_t at, double *restrict out) {
  const bool two = lines[0] > 1;
  sum_two(two, list_weight(lines, 0), r->list[0] + at, two ? list_weight(lines, 1) : 0,
          r->list[two] + at, out);
}

/* Sums of one row or two of each of one plane or two. */
INLINE void sum_planes(const Rows *r, const int64_t *planes, const int64_t *lines, int64_t at,
                       double *restrict out) {
  const double w = list_weight(planes, 0), v = planes[0] > 1 ? list_weight(planes, 1) : 0;
  const Rows second = {NULL, 0, r->list + lines[0], NULL};
  double front[16], back[16];
  sum_lines(r, lines, at, front);
  if (planes[0] > 1)
    sum_lines(&second, lines, at, back);
  sum_two(planes[0] > 1, w, front, v, back, out);
}

/* Stores SUM(at) for each 16 columns, the last ones over those before them. */
#define EACH_SUM(size, y, STORE, SUM)                                                              \
  {                                                                                                \
    double sums[16] __attribute__((aligned(64)));                                                  \
    ROLLED for (int64_t x = 0; (size) >= 16 && x < (size); x += 16) {                              \
      const int64_t at = x + 16 <= (size) ? x : (size)-16;                                         \
      SUM(at);                                                                                     \
      LANES16 y[at + l] = STORE(sums[l]);                                                          \
    }                                                                                              \
    if ((size) < 16) {                                                                             \
      SUM(0);                                                                                      \
      BELOW(size) y[l] = STORE(sums[l]);                                                           \
    }                                                                                              \
  }
#define SUM_ROWS(at) sum_rows(p, &r, planes, lines, at, sums)
#define SUM_LINES(at) sum_lines(&r, lines, at, sums)
#define SUM_PLANES(at) sum_planes(&r, planes, lines, at, sums)

/* Rows [begin, end) of maps in which sums have two neighbours at most along both axes. Library code
 * has this for the kinds of pictures and activations. */
#define MAPS(kind, S, STORE)                                                                       \
  APART void row_of_pairs_##kind(const GlowResizeParams *p, bool halved, const S *x, double *to) { \
    if (sizeof(S) == 4 && HAS_FEW && p->in[2] <= 16 && p->out[2] >= 8)                             \
      few_pairs(p, (const float *)x, to);                                                          \
    else                                                                                           \
      pairs_##kind(p, halved, x, to);                                                              \
  }                                                                                                \
  INLINE void maps_##kind(const GlowResizeParams *p, bool halved, const Rows *rows, S *y,          \
                          const S *from, int64_t begin, int64_t end) {                             \
    const int64_t size = p->out[2] * p->run, lines = p->out[1], mask = p->span[1] - 1;             \
    const int64_t next = p->in[2] * p->run, map = p->in[1];                                        \
    const int64_t *table = p->table, *lists = table + p->places[1];                                \
    int64_t line = begin % lines, first = begin / lines * map, have[2] = {-1, -1};                 \
    ROLLED for (int64_t u = begin; u < end; u++) {                                                 \
      const int64_t *list = table + lists[line];                                                   \
      const bool two = list[0] > 1;                                                                \
      const int64_t i = list_index(list, 0), j = list_index(list, two);                            \
      double *row = rows->data + (i & mask) * rows->size;                                          \
      double *second = rows->data + (j & mask) * rows->size;                                       \
      if (have[i & mask] != first + i)                                                             \
        row_of_pairs_##kind(p, halved, from + (first + i) * next, row);                            \
      have[i & mask] = first + i;                                                                  \
      if (have[j & mask] != first + j)                                                             \
        row_of_pairs_##kind(p, halved, from + (first + j) * next, second);                         \
      have[j & mask] = first + j;                                                                  \
      const double w = list_weight(list, 0), v = two ? list_weight(list, 1) : 0;                   \
      S *restrict to = y + u * size;                                                               \
      EACH_SUM(size, to, STORE, SUM_LINE)                                                          \
      first += line + 1 < lines ? 0 : map;                                                         \
      line = line + 1 < lines ? line + 1 : 0;                                                      \
    }                                                                                              \
  }
#define SUM_LINE(at) sum_two(two, w, row + at, v, second + at, sums)

#define RESIZE(kind, S, LOAD, STORE, HAS_MAPS)                                                     \
  PAIRS(kind, S, LOAD)                                                                             \
  ROW(kind, S, LOAD)                                                                               \
  MAPS(kind, S, STORE)                                                                             \
  void glow_resize_##kind(const GlowResizeParams *p, void *const *ptrs, int64_t begin,             \
                          int64_t end, char *scratch) {                                            \
    const int64_t size = p->out[2] * p->run;                                                       \
    const S fill = (S)FILL_##S(p->fill);                                                           \
    const Rows r = rows_in(p, scratch);                                                            \
    const bool halved = is_halved(p);                                                              \
    if (HAS_MAPS && IN_LIBRARY && p->pairs && !p->changes[0] && p->changes[1] &&                   \
        p->span[1] <= 2 && !p->fills) {                                                            \
      maps_##kind(p, halved, &r, ptrs[0], ptrs[1], begin, end);                                    \
      return;                                                                                      \
    }                                                                                              \
    Place place = place_of(p, begin);                                                              \
    ROLLED for (int64_t u = begin; u < end; u++, step(p, &place)) {                                \
      const int64_t *planes = list_of(p, 0, place.plane), *lines = list_of(p, 1, place.line);      \
      const int64_t first = place.image * p->in[0];                                                \
      S *restrict y = (S *)ptrs[0] + u * size;                                                     \
      if (p->fills && (planes[0] < 0 || lines[0] < 0)) {                                           \
        BELOW(size) y[l] = fill;                                                                   \
        continue;                                                                                  \
      }                                                                                            \
      ROLLED for (int64_t a = 0; a < planes[0]; a++)                                               \
          ROLLED for (int64_t b = 0; b < lines[0]; b++) {                                          \
        const int64_t i = list_index(planes, a), j = list_index(lines, b);                         \
        const int64_t id = (first + i) * p->in[1] + j, slot = slot_of(p, i, j);                    \
        if (r.ids[slot] != id)                                                                     \
          row_##kind(p, halved, (const S *)ptrs[1] + id * p->in[2] * p->run,                       \
                     r.data + slot * r.size);                                                      \
        r.ids[slot] = id;                                                                          \
        r.list[a * lines[0] + b] = r.data + slot * r.size;                                         \
      }                                                                                            \
      if (!p->changes[0] && p->changes[1] && (lines[0] == 1 || lines[0] == 2))                     \
        EACH_SUM(size, y, STORE, SUM_LINES)                                                        \
      else if (sizeof(S) == 4 && p->changes[0] && p->changes[1] && planes[0] <= 2 &&               \
               lines[0] <= 2)                                                                      \
        EACH_SUM(size, y, STORE, SUM_PLANES)                                                       \
      else                                                                                         \
        EACH_SUM(size, y, STORE, SUM_ROWS)                                                         \
      ROLLED for (int64_t k = 0; p->fills && k < p->out[2]; k++) {                                 \
        if (list_of(p, 2, k)[0] < 0)                                                               \
          BELOW(p->run) y[k * p->run + l] = fill;                                                  \
      }                                                                                            \
    }                                                                                              \
  }

#define FILL_float(v) glow_float_from_bits((uint32_t)(v))
#define FILL_double(v) glow_double_from_bits((uint64_t)(v))
#define FILL_uint16_t(v) (v)
#define FILL_uint8_t(v) (v)
#define FILL_int8_t(v) (v)

#define WIDEN(v) ((double)(v))
#define WIDEN_HALF(v) ((double)glow_half_to_float(v))
#define WIDEN_BFLOAT(v) ((double)glow_bfloat_to_float(v))
#define TO_FLOAT(v) ((float)(v))
#define TO_DOUBLE(v) (v)
static inline uint8_t to_u8(double v) {
  uint64_t u = glow_trunc_u64(v);
  return (uint8_t)(u > 255 ? 255 : u);
}
static inline int8_t to_i8(double v) {
  int64_t i = glow_trunc_i64(v);
  return (int8_t)(i > 127 ? 127 : i < -128 ? -128 : i);
}
RESIZE(float, float, WIDEN, TO_FLOAT, 1)
RESIZE(double, double, WIDEN, TO_DOUBLE, 0)
RESIZE(float16, uint16_t, WIDEN_HALF, glow_half_from_double, 0)
RESIZE(bfloat16, uint16_t, WIDEN_BFLOAT, glow_bfloat_from_double, 0)
RESIZE(u8, uint8_t, WIDEN, to_u8, 1)
RESIZE(i8, int8_t, WIDEN, to_i8, 1)
