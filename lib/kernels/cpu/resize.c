/* Resize from tables of indices and weights; units are rows of the result: all places along the
 * last of the axes that change, for one place along the others.
 *
 * Nearest copies elements, and a row that repeats the one before it as a whole. Otherwise each
 * result is a sum of sums in double, the last axis first, each one chain from +0: rows of the input
 * are resampled along the last axis into scratch memory, all of a plane or those for a band of
 * lines, where the next rows of the result find them again. */
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

/* The place of a row of the result, along the axes but the last one. */
typedef struct Place {
  int64_t image, plane, line;
} Place;
INLINE Place place_of(const GlowResizeParams *p, int64_t u) {
  const int64_t rows = u ? u / p->out[1] : 0;
  return u ? (Place){rows / p->out[0], rows % p->out[0], u % p->out[1]} : (Place){0, 0, 0};
}
/* `count` rows of the same plane further, or all rows of `maps` images of one plane. */
INLINE void step(const GlowResizeParams *p, Place *at, int64_t count, int64_t maps) {
  at->line = at->line + count < p->out[1] ? at->line + count : 0;
  if (!at->line)
    at->plane = at->plane + 1 < p->out[0] ? at->plane + 1 : 0;
  at->image += !at->line && !at->plane ? maps : 0;
}

/* ---- Nearest --------------------------------------------------------------------------------- */

INLINE void fill_bytes(const GlowResizeParams *p, char *to, int64_t count) {
  ROLLED for (int64_t i = 0; i < count; i++)
      __builtin_memcpy(to + i * p->bytes, &p->fill, (size_t)p->bytes);
}

typedef uint32_t Four __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint32_t Eight __attribute__((vector_size(32), aligned(1), may_alias));
typedef uint32_t Sixteen __attribute__((vector_size(64), aligned(1), may_alias));

/* Eight elements, each twice. */
INLINE void double_eight(const char *from, char *to) {
  const Eight v = *(const Eight *)from;
  *(Sixteen *)to = __builtin_shufflevector(v, v, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
}

/* Each of n elements twice, eight at a time, the last ones over those before them. */
INLINE void double_row(const char *from, char *to, int64_t n) {
  int64_t i = 0;
  ROLLED for (; i + 8 <= n; i += 8) double_eight(from + 4 * i, to + 8 * i);
  if (i < n && n >= 8) {
    double_eight(from + 4 * (n - 8), to + 8 * (n - 8));
    return;
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

/* Each of n elements twice, in two rows, one after the other: two lines of memory that are written
 * by turns take longer. */
INLINE void double_rows(const char *from, char *to, int64_t n) {
  if (n == 8) {
    double_eight(from, to);
    double_eight(from, to + 64);
    return;
  }
  double_row(from, to, n);
  double_row(from, to + 8 * n, n);
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
  if (IN_LIBRARY && doubles && !p->changes[0] && !p->fills) { /* has a loop for such maps */
    double_maps(p, GLOW_RESIZE_NEAREST_PTRS(ptrs).y, GLOW_RESIZE_NEAREST_PTRS(ptrs).x, begin, end);
    return;
  }
  int64_t before = -1; /* the row of X that the row before this one came from */
  Place at = place_of(p, begin);
  char *to = (char *)GLOW_RESIZE_NEAREST_PTRS(ptrs).y + begin * row;
  const char *x = GLOW_RESIZE_NEAREST_PTRS(ptrs).x;
  (void)scratch;
  ROLLED for (int64_t u = begin; u < end; u++, step(p, &at, 1, 1), to += row) {
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

/* The same of `lines` rows of floats, of 16 at most or halved, to 8 places or more, `pitch` from
 * each other: elements are chosen in registers, not by loads of one each. */
#ifdef __AVX512VL__
enum { HAS_FEW = 1 };
INLINE void few_pairs(const GlowResizeParams *p, bool halved, const float *from,
                      double *restrict to, int64_t lines, int64_t pitch) {
  typedef float Half __attribute__((vector_size(32)));
  typedef int32_t Places __attribute__((vector_size(32)));
  const int64_t n = p->out[2], in = p->in[2], *first = p->table + p->pairs, *second = first + n;
  const int64_t *weights = second + n, part = halved ? 16 : in;
  ROLLED for (int64_t i = 0; i < n; i += LANES) {
    const int64_t at = i + LANES <= n ? i : n - LANES; /* the last ones over those before them */
    const int64_t base = halved ? 2 * at : 0;
    const Places a = __builtin_convertvector(*(const Longs *)(first + at) - base, Places);
    const Places b = __builtin_convertvector(*(const Longs *)(second + at) - base, Places);
    const Doubles w = (Doubles) * (const Longs *)(weights + at);
    const Doubles v = (Doubles) * (const Longs *)(weights + n + at);
    const Longs two = v != 0;
    const float *x = from + base;
    double *y = to + at;
    ROLLED for (int64_t k = lines; k > 0; k--, x += in, y += pitch) {
      Half row[2];
      load_part(row, x, part);
      const Half u = __builtin_ia32_vpermi2varps256(row[0], a, row[1]);
      const Half z = __builtin_ia32_vpermi2varps256(row[0], b, row[1]);
      const Doubles one = doubles_fma(w, __builtin_convertvector(u, Doubles), (Doubles){0});
      const Doubles both = doubles_fma(v, __builtin_convertvector(z, Doubles), one);
      *(Doubles *)y = (Doubles)(((Longs)both & two) | ((Longs)one & ~two));
    }
  }
}
#else
enum { HAS_FEW = 0 };
INLINE void few_pairs(const GlowResizeParams *p, bool halved, const float *from,
                      double *restrict to, int64_t lines, int64_t pitch) {
  (void)p, (void)halved, (void)from, (void)to, (void)lines, (void)pitch;
}
#endif

/* Any other row. */
#define ROW(kind, S, LOAD)                                                                         \
  INLINE void row_##kind(const GlowResizeParams *p, const S *restrict x, double *restrict to) {    \
    if (!p->changes[2]) {                                                                          \
      EACH(p->in[2] * p->run) to[l] = LOAD(x[l]);                                                  \
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

/* `lines` rows that follow each other, to rows `pitch` from each other. */
#define LINES(kind, S)                                                                             \
  APART void lines_##kind(const GlowResizeParams *p, bool halved, const S *restrict x,             \
                          double *restrict to, int64_t lines, int64_t pitch) {                     \
    const int64_t next = p->in[2] * p->run;                                                        \
    const bool few = p->in[2] <= 16 || (halved && lines > 1);                                      \
    if (sizeof(S) == 4 && HAS_FEW && p->pairs && p->out[2] >= 8 && few)                            \
      few_pairs(p, halved, (const float *)(const void *)x, to, lines, pitch);                      \
    else if (p->pairs)                                                                             \
      ROLLED for (; lines > 0; lines--, x += next, to += pitch) pairs_##kind(p, halved, x, to);    \
    else                                                                                           \
      ROLLED for (; lines > 0; lines--, x += next, to += pitch) row_##kind(p, x, to);              \
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
  const int64_t slots = slots_of(p), size = p->out[2] * p->run;
  const int64_t all = (slots + 7) / 8 * 64; /* bytes for a number or address of each slot */
  Rows r = {(int64_t *)scratch, (size + 15) / 16 * 16, NULL, NULL};
  r.list = (const double **)(void *)(scratch + all);
  r.data = (double *)(void *)(scratch + 2 * all);
  EACH(slots) r.ids[l] = -1;
  /* Sums behind a short row are not of what was there, which may take long. */
  ROLLED for (int64_t i = 0; size < 16 && i < slots; i++) ROLLED for (int64_t k = size; k < 16; k++)
      r.data[i * 16 + k] = 0;
  return r;
}
INLINE int64_t slot_of(const GlowResizeParams *p, int64_t i, int64_t j) {
  return (i & (p->span[0] - 1)) * p->span[1] + (j & (p->span[1] - 1));
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

/* Sums of one row or two. */
INLINE void sum_two(bool two, double w, const double *restrict x, double v,
                    const double *restrict z, double *restrict out) {
  if (two)
    LANES16 out[l] = glow_fma(v, z[l], glow_fma(w, x[l], 0.0));
  else
    LANES16 out[l] = glow_fma(w, x[l], 0.0);
}

/* Sums of four. */
INLINE void sum_four(const double *w, const double *const *row, int64_t at, double *restrict out) {
  const double *restrict a = row[0] + at, *restrict b = row[1] + at;
  const double *restrict c = row[2] + at, *restrict d = row[3] + at;
  LANES16 out[l] =
      glow_fma(w[3], d[l], glow_fma(w[2], c[l], glow_fma(w[1], b[l], glow_fma(w[0], a[l], 0.0))));
}

/* Sums of one row or two of each of one plane or two, `apart` from each other. */
INLINE void sum_planes(bool two, double w, const double *x, double v, const double *z,
                       const int64_t *planes, int64_t apart, double *restrict out) {
  const bool pair = planes[0] == 2;
  double front[16], back[16];
  sum_two(two, w, x, v, z, front);
  if (pair)
    sum_two(two, w, x + apart, v, z + apart, back);
  sum_two(pair, list_weight(planes, 0), front, list_weight(planes, pair), back, out);
}

/* Stores SUM(at) for each 16 columns, the last ones over those before them, of each of `count`
 * maps. */
#define EACH_SUM(count, STORE, SUM)                                                                \
  {                                                                                                \
    __typeof__(*y) *restrict to = y;                                                               \
    int64_t from = 0;                                                                              \
    ROLLED for (int64_t m = (count); m > 0; m--, to += out_map, from += map) {                     \
      ROLLED for (int64_t c = 0; last >= 0 && c < size; c += 16) {                                 \
        const int64_t at = c < last ? c : last;                                                    \
        double sums[16] __attribute__((aligned(64)));                                              \
        SUM(from + at);                                                                            \
        LANES16 to[at + l] = STORE(sums[l]);                                                       \
      }                                                                                            \
      if (last < 0) {                                                                              \
        double sums[16] __attribute__((aligned(64)));                                              \
        SUM(from);                                                                                 \
        BELOW(size) to[l] = STORE(sums[l]);                                                        \
      }                                                                                            \
    }                                                                                              \
  }
#define SUM_TWO(at) sum_two(two, w, x + (at), v, z + (at), sums)
#define SUM_PLANES(at) sum_planes(two, w, x + (at), v, z + (at), planes, back - front, sums)
#define SUM_FOUR(at) sum_four(weights, rows, at, sums)
#define SUM_ROWS(at) sum_rows(p, r, planes, list, at, sums)

/* Lines of sums of one row or two, up to the next one that is none. */
#define EACH_LINE(count, STORE, SUM)                                                               \
  ROLLED for (; lines > 0 && (uint64_t)(table[*place] - 1) < 2; lines--, place++, y += size) {     \
    const int64_t *list = table + *place;                                                          \
    const bool two = list[0] > 1;                                                                  \
    const double *x = front + (list_index(list, 0) & mask) * next;                                 \
    const double *z = front + (list_index(list, two) & mask) * next;                               \
    const double w = list_weight(list, 0), v = list_weight(list, two);                             \
    EACH_SUM(count, STORE, SUM)                                                                    \
  }

/* `lines` lines of results, from line `line` of a plane on, of rows that are all in their slots;
 * the same of each of `maps` images of one plane. */
#define SUMS(kind, S, STORE)                                                                       \
  APART void sums_##kind(const GlowResizeParams *p, const Rows *r, const int64_t *planes,          \
                         int64_t line, int64_t lines, int64_t maps, S *restrict y) {               \
    const int64_t size = p->out[2] * p->run, mask = p->span[1] - 1, next = r->size;                \
    const int64_t map = p->span[1] * next, out_map = p->out[1] * size;                             \
    const int64_t *const table = p->table, *place = table + p->places[1] + line;                   \
    const bool flat = p->changes[1] && !p->changes[0];                                             \
    const bool pair = planes[0] == 2;                                                              \
    const bool deep =                                                                              \
        sizeof(S) == 4 && p->changes[1] && p->changes[0] && (pair || planes[0] == 1);              \
    const int64_t last = size - 16;                                                                \
    const double *front = r->data + slot_of(p, list_index(planes, 0), 0) * next;                   \
    const double *back = r->data + slot_of(p, list_index(planes, pair), 0) * next;                 \
    ROLLED for (; lines > 0; lines--, place++, y += size) {                                        \
      if (flat)                                                                                    \
        EACH_LINE(maps, STORE, SUM_TWO)                                                            \
      else if (deep)                                                                               \
        EACH_LINE(1, STORE, SUM_PLANES)                                                            \
      if (!lines)                                                                                  \
        return;                                                                                    \
      const int64_t *list = table + *place;                                                        \
      if (sizeof(S) == 4 && flat && list[0] == 4) {                                                \
        double weights[4];                                                                         \
        const double *rows[4];                                                                     \
        UNROLL for (int k = 0; k < 4; k++) {                                                       \
          weights[k] = list_weight(list, k);                                                       \
          rows[k] = front + (list_index(list, k) & mask) * next;                                   \
        }                                                                                          \
        EACH_SUM(maps, STORE, SUM_FOUR)                                                            \
      } else {                                                                                     \
        ROLLED for (int64_t a = 0; a < planes[0]; a++)                                             \
            ROLLED for (int64_t b = 0; b < list[0]; b++) r->list[a * list[0] + b] =                \
            r->data + slot_of(p, list_index(planes, a), list_index(list, b)) * next;               \
        EACH_SUM(maps, STORE, SUM_ROWS)                                                            \
      }                                                                                            \
    }                                                                                              \
  }

#define RESIZE(kind, S, LOAD, STORE)                                                               \
  PAIRS(kind, S, LOAD)                                                                             \
  ROW(kind, S, LOAD)                                                                               \
  LINES(kind, S)                                                                                   \
  SUMS(kind, S, STORE)                                                                             \
  void glow_resize_##kind(const GlowResizeParams *p, void *const *ptrs, int64_t begin,             \
                          int64_t end, char *scratch) {                                            \
    const int64_t size = p->out[2] * p->run;                                                       \
    const S fill = (S)FILL_##S(p->fill);                                                           \
    const Rows r = rows_in(p, scratch);                                                            \
    const bool halved = is_halved(p), whole = !p->fills && p->span[1] >= p->in[1];                 \
    Place place = place_of(p, begin);                                                              \
    ROLLED for (int64_t u = begin, count, maps; u < end;                                           \
                u += count * maps, step(p, &place, count, maps)) {                                 \
      const int64_t *planes = list_of(p, 0, place.plane), *lines = list_of(p, 1, place.line);      \
      const int64_t left = p->out[1] - place.line, first = place.image * p->in[0];                 \
      S *restrict y = (S *)ptrs[0] + u * size;                                                     \
      count = p->band < left ? p->band : left;                                                     \
      count = count < end - u ? count : end - u;                                                   \
      maps = !p->changes[0] && p->span[0] > 1 && count == p->out[1] ? (end - u) / count : 1;       \
      maps = maps < p->span[0] ? maps : p->span[0];                                                \
      if (p->fills && (planes[0] < 0 || lines[0] < 0)) {                                           \
        BELOW(size) y[l] = fill;                                                                   \
        continue;                                                                                  \
      }                                                                                            \
      const bool joined = maps > 1 && p->in[1] == p->span[1];                                      \
      const int64_t steps = p->changes[0] ? planes[0] : joined ? 1 : maps;                         \
      ROLLED for (int64_t a = 0; a < steps; a++) {                                                 \
        const int64_t i = maps > 1 ? a : list_index(planes, a), id = (first + i) * p->in[1];       \
        const int64_t slot = slot_of(p, i, 0);                                                     \
        if (whole && r.ids[slot] != id)                                                            \
          lines_##kind(p, halved, (const S *)ptrs[1] + id * p->in[2] * p->run,                     \
                       r.data + slot * r.size, (joined ? maps : 1) * p->in[1], r.size);            \
        r.ids[slot] = whole ? id : r.ids[slot];                                                    \
        ROLLED for (int64_t k = 0; !whole && k < count; k++) {                                     \
          const int64_t *list = list_of(p, 1, place.line + k);                                     \
          ROLLED for (int64_t b = 0; b < list[0]; b++) {                                           \
            const int64_t j = list_index(list, b), here = slot_of(p, i, j);                        \
            if (r.ids[here] != id + j)                                                             \
              lines_##kind(p, halved, (const S *)ptrs[1] + (id + j) * p->in[2] * p->run,           \
                           r.data + here * r.size, 1, r.size);                                     \
            r.ids[here] = id + j;                                                                  \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
      sums_##kind(p, &r, planes, place.line, count, maps, y);                                      \
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
RESIZE(float, float, WIDEN, TO_FLOAT)
RESIZE(double, double, WIDEN, TO_DOUBLE)
RESIZE(float16, uint16_t, WIDEN_HALF, glow_half_from_double)
RESIZE(bfloat16, uint16_t, WIDEN_BFLOAT, glow_bfloat_from_double)
RESIZE(u8, uint8_t, WIDEN, to_u8)
RESIZE(i8, int8_t, WIDEN, to_i8)
