/* Pools of float in NCHW, vectors along rows: glow_pool_rows_<what> and glow_pool_rows_arg.
 *
 * Rows of results are computed in bands. The rows of X that a band reads go to scratch memory with
 * padding around them, -inf for maxima and +0 for sums, which change no bit; magnitudes or squares
 * for norms. They are sorted by row and column modulo the strides into fields, whose rows follow
 * each other. So each tap of the windows is one line of contiguous numbers for the whole band, and
 * so are the results, with a gap behind each row, which are stored in the end.
 *
 * Maxima are taken of the windows of one row, then of these: the first of equals is the same.
 * Numbers are compared as if no NaN were there until one is read.
 *
 * Vectors at the end of rows are whole ones where memory allows it: what one writes beyond a row
 * the next row overwrites. */
#include "pool_slide.h"

#include "num/math.h"

typedef enum What { MAX, MEAN, NORM1, NORM2, ARG } What;

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* What a call works with. */
typedef struct Call {
  float *fields, *maxima, *sums, *divisors; /* in scratch memory, in this order */
  int32_t *from;                            /* behind sums: of what a maximum is, relative */
  const float *x_end;
  GlowVecI nan;
  float padding;
  bool uniform;    /* the divisors are all the same */
  int64_t columns; /* of X, without those that no window reads */
  int64_t whole[2];
  int64_t start[4];               /* where its first columns go in a row */
  int64_t offset[GLOW_POOL_TAPS]; /* of the taps of one row, in floats */
  int64_t rows[GLOW_POOL_TAPS];   /* of the rows of taps along the second axis */
} Call;

/* ---- Rows of X ------------------------------------------------------------------------------- */

INLINE float term(What what, float v) {
  return what == NORM1 ? glow_fabsf(v) : what == NORM2 ? v * v : v;
}
INLINE GlowVec magnitude(What what, GlowVec v) {
  return what == NORM1 ? (GlowVec)((GlowVecI)v & 0x7fffffff) : what == NORM2 ? v * v : v;
}
INLINE GlowVec terms(What what, const float *x, GlowVecI *nan) {
  const GlowVec v = vec_load(x);
  if (what == MAX)
    *nan |= v != v;
  return magnitude(what, v);
}

/* Where column c of a row in scratch memory lies in its field. Fields of the columns that are equal
 * modulo the stride follow each other. */
INLINE int64_t column(const GlowPoolRowsParams *p, int64_t c) {
  const int64_t s = p->pool.stride[2];
  return c % s * p->field + c / s;
}

/* A vector of steps of one, two or four columns. */
INLINE void take_one(What what, const float *x, float *const *to, int64_t i, GlowVecI *nan) {
  vec_store(to[0] + i, terms(what, x, nan));
}
INLINE void take_two(What what, const float *x, float *const *to, int64_t i, GlowVecI *nan) {
  const GlowVec a = terms(what, x, nan), b = terms(what, x + GLOW_VL, nan);
  vec_store(to[0] + i, EVEN(a, b));
  vec_store(to[1] + i, ODD(a, b));
}
INLINE void take_four(What what, const float *x, float *const *to, int64_t i, GlowVecI *nan) {
  GlowVec v[4];
  UNROLL for (int k = 0; k < 4; k++) v[k] = terms(what, x + k * GLOW_VL, nan);
  const GlowVec even[] = {EVEN(v[0], v[1]), EVEN(v[2], v[3])};
  const GlowVec odd[] = {ODD(v[0], v[1]), ODD(v[2], v[3])};
  vec_store(to[0] + i, EVEN(even[0], even[1]));
  vec_store(to[1] + i, EVEN(odd[0], odd[1]));
  vec_store(to[2] + i, ODD(even[0], even[1]));
  vec_store(to[3] + i, ODD(odd[0], odd[1]));
}

/* Padding before a row of X and behind it, the row itself in steps of S columns. */
#define TAKE(S, TAKE_VECTOR)                                                                       \
  INLINE void TAKE_VECTOR##_row(const GlowPoolRowsParams *p, What what, Call *c, const float *x,   \
                                float *row) {                                                      \
    const int64_t whole = c->columns / S, steps = (c->columns + S - 1) / S;                        \
    const int64_t before = p->pool.before[2];                                                      \
    GlowVecI nan = c->nan;                                                                         \
    float *to[S];                                                                                  \
    int64_t i = 0;                                                                                 \
    UNROLL for (int k = 0; k < S; k++) to[k] = row + c->start[k];                                  \
    ROLLED for (int64_t k = 0; k < before; k += S * GLOW_VL) {                                     \
      UNROLL for (int f = 0; f < S; f++)                                                           \
          vec_store(row + f * p->field + k / S, vec_splat(c->padding));                            \
    }                                                                                              \
    ROLLED for (; i + GLOW_VL <= whole || (i < steps && x + S * (i + GLOW_VL) <= c->x_end);        \
                i += GLOW_VL) TAKE_VECTOR(what, x + S * i, to, i, &nan);                           \
    ROLLED for (; i < steps; i++) {                                                                \
      UNROLL for (int k = 0; k < S; k++) {                                                         \
        const float v = S * i + k < c->columns ? x[S * i + k] : c->padding;                        \
        to[k][i] = term(what, v);                                                                  \
        if (what == MAX)                                                                           \
          nan[0] |= v != v ? -1 : 0;                                                               \
      }                                                                                            \
    }                                                                                              \
    c->nan = nan;                                                                                  \
    UNROLL for (int k = 0; k < S; k++) {                                                           \
      float *end = row + (before + k) % S * p->field + p->pitch;                                   \
      ROLLED for (float *at = to[k] + (c->columns - k + S - 1) / S; at < end; at += GLOW_VL)       \
          vec_store(at, vec_splat(c->padding));                                                    \
    }                                                                                              \
  }
TAKE(1, take_one)
TAKE(2, take_two)
TAKE(4, take_four)

INLINE void fill_row(const GlowPoolRowsParams *p, const Call *c, float *row) {
  ROLLED for (int64_t k = 0; k < p->pool.stride[2]; k++)
      ROLLED for (int64_t i = 0; i < p->pitch; i += GLOW_VL)
          vec_store(row + k * p->field + i, vec_splat(c->padding));
}

INLINE void take_any_row(const GlowPoolRowsParams *p, What what, Call *c, const float *x,
                         float *row) {
  const int64_t s = p->pool.stride[2];
  int64_t phase = p->pool.before[2] % s, at = p->pool.before[2] / s;
  fill_row(p, c, row);
  ROLLED for (int64_t i = 0; i < c->columns; i++) {
    row[phase * p->field + at] = term(what, x[i]);
    if (what == MAX)
      c->nan[0] |= x[i] != x[i] ? -1 : 0;
    at += phase == s - 1;
    phase = phase == s - 1 ? 0 : phase + 1;
  }
}

/* `rows` rows from row `first` of X on; those that are not there are padding. */
#define ROWS(TAKE_ROW)                                                                             \
  ROLLED for (int64_t r = first; r < first + rows; r++) {                                          \
    if (r >= 0 && r < q->in[1])                                                                    \
      TAKE_ROW(p, what, c, x + r * q->xs[1], to + phase * size);                                   \
    else                                                                                           \
      fill_row(p, c, to + phase * size);                                                           \
    to += phase == q->stride[1] - 1 ? p->pitch : 0;                                                \
    phase = phase == q->stride[1] - 1 ? 0 : phase + 1;                                             \
  }
INLINE void take_rows(const GlowPoolRowsParams *p, What what, Call *c, const float *x,
                      int64_t first, int64_t rows, float *to) {
  const GlowPoolParams *q = &p->pool;
  const int64_t size = q->stride[2] * p->field;
  int64_t phase = 0;
  if (q->stride[2] == 1)
    ROWS(take_one_row)
  else if (q->stride[2] == 2)
    ROWS(take_two_row)
  else if (q->stride[2] == 4)
    ROWS(take_four_row)
  else
    ROWS(take_any_row)
}
#undef ROWS

/* ---- Sums and maxima of taps ----------------------------------------------------------------- */

/* How taps are joined. */
typedef enum Join { ADD, LARGER, TOP } Join; /* the larger of two that are no NaN, or as vec_top */

INLINE GlowVec join(Join how, GlowVec a, GlowVec b) {
  const GlowVecI larger = b > a;
  return how == TOP      ? vec_top(a, b)
         : how == LARGER ? (GlowVec)(((GlowVecI)b & larger) | ((GlowVecI)a & ~larger))
                         : a + b;
}

/* N vectors from column j on. */
#define JOIN(N)                                                                                    \
  INLINE void join##N(Join how, const float *const *tap, int64_t taps, float *to, int64_t j) {     \
    GlowVec v[N];                                                                                  \
    UNROLL for (int n = 0; n < N; n++) v[n] = vec_load(tap[0] + j + n * GLOW_VL);                  \
    if (how == ADD) {                                                                              \
      UNROLL for (int n = 0; n < N; n++) v[n] += vec_splat(0); /* -0 becomes +0 */                 \
    }                                                                                              \
    ROLLED for (int64_t t = 1; t < taps; t++) {                                                    \
      const float *from = tap[t] + j;                                                              \
      UNROLL for (int n = 0; n < N; n++) v[n] = join(how, v[n], vec_load(from + n * GLOW_VL));     \
    }                                                                                              \
    UNROLL for (int n = 0; n < N; n++) vec_store(to + j + n * GLOW_VL, v[n]);                      \
  }
JOIN(4)
JOIN(1)

/* `count` columns, and those up to a whole vector. */
INLINE void join_line(Join how, const float *const *tap, int64_t taps, float *to, int64_t count) {
  int64_t j = 0;
  ROLLED for (; j + 3 * GLOW_VL < count; j += 4 * GLOW_VL) join4(how, tap, taps, to, j);
  ROLLED for (; j < count; j += GLOW_VL) join1(how, tap, taps, to, j);
}

/* Maxima and where they stand: `place` says it of each tap. */
INLINE void arg_line(const float *const *tap, const int32_t *place, int64_t taps, float *to,
                     int32_t *from, int64_t count) {
  ROLLED for (int64_t j = 0; j < count; j += GLOW_VL) {
    GlowVec top = vec_load(tap[0] + j);
    GlowVecI at = (GlowVecI){0} + place[0];
    ROLLED for (int64_t k = 1; k < taps; k++) {
      const GlowVec v = vec_load(tap[k] + j);
      const GlowVecI above = ~(v <= top) & (top == top);
      top = (GlowVec)(((GlowVecI)v & above) | ((GlowVecI)top & ~above));
      at = (place[k] & above) | (at & ~above);
    }
    vec_store(to + j, top);
    *(GlowVecI *)(from + j) = at;
  }
}

/* ---- Rows of results ------------------------------------------------------------------------- */

/* Rows of X that windows of a row of results read, along the two outer axes: the first, and how
 * many. `divisor`: what a mean is divided by without the last axis. */
typedef struct Rows {
  int64_t row[2], count[2], divisor;
} Rows;

INLINE Rows rows_of(const GlowPoolParams *p, const int64_t *place) {
  Rows w = {.divisor = 1};
  UNROLL for (int a = 0; a < 2; a++) {
    int64_t first, limit;
    clip_axis(p, a, place[a], &first, &w.count[a], &limit);
    w.row[a] = place[a] * p->stride[a] - p->before[a] + first * p->dilation[a];
    w.divisor *= p->include_pad ? limit : w.count[a];
  }
  return w;
}

/* Stores a vector at y, but nothing from `end` on. */
INLINE void put(float *y, const float *end, GlowVec v) {
  if (y + GLOW_VL <= end)
    vec_store(y, v);
  else
    put_first(y, v, end > y ? end - y : 0);
}

INLINE void put_row(const GlowPoolRowsParams *p, What what, const Call *c, const int64_t *place,
                    const float *from, float *y, const float *end) {
  const int64_t count = p->pool.out[2];
  if (what != MEAN) {
    ROLLED for (int64_t j = 0; j < count; j += GLOW_VL) {
      const GlowVec v = vec_load(from + j);
      put(y + j, end, what == NORM2 ? __builtin_elementwise_sqrt(v) : v);
    }
    return;
  }
  const float rows = (float)rows_of(&p->pool, place).divisor, all = rows * c->divisors[0];
  if (c->uniform && all > 0 && (glow_float_bits(all) & 0x7fffff) == 0) {
    const GlowVec factor = vec_splat(1 / all); /* exact */
    ROLLED for (int64_t j = 0; j < count; j += GLOW_VL)
        put(y + j, end, vec_load(from + j) * factor);
    return;
  }
  ROLLED for (int64_t j = 0; j < count; j += GLOW_VL)
      put(y + j, end, vec_load(from + j) / (vec_splat(rows) * vec_load(c->divisors + j)));
}

/* `whole`: there is room for a register. */
INLINE void put_places(bool whole, int64_t *at, const int64_t *end, GlowVecI from, int64_t base,
                       int64_t s) {
  typedef int64_t Wide __attribute__((vector_size(GLOW_VL * 8), aligned(8)));
  Wide v = __builtin_convertvector(from, Wide) + base;
  UNROLL for (int l = 0; l < GLOW_VL; l++) v[l] += l * s;
  if (whole || at + GLOW_VL <= end) {
    *(Wide *)at = v;
    return;
  }
  int64_t rest[GLOW_VL];
  *(Wide *)rest = v;
  ROLLED for (int l = 0; l < GLOW_VL && at + l < end; l++) at[l] = rest[l];
}

/* A result whose window is not whole. */
INLINE void put_clipped(const GlowPoolParams *p, const Rows *w, const float *x, int64_t base,
                        int64_t column, float *y, int64_t *at) {
  const int64_t origin = column * p->stride[2] - p->before[2];
  float top = -__builtin_inff();
  int64_t where = 0;
  bool any = false;
  ROLLED for (int64_t i = 0; i < w->count[0]; i++) ROLLED for (int64_t j = 0; j < w->count[1]; j++)
      ROLLED for (int64_t k = 0; k < p->kernel[2]; k++) {
    const int64_t r0 = w->row[0] + i * p->dilation[0], r1 = w->row[1] + j * p->dilation[1],
                  c = origin + k * p->dilation[2];
    if (c < 0 || c >= p->in[2])
      continue;
    const float v = x[r0 * p->xs[0] + r1 * p->xs[1] + c];
    if (!any || v > top || (v != v && top == top)) {
      top = v;
      where = base + (r0 * p->in[1] + r1) * p->in[2] + c;
    }
    any = true;
  }
  *y = top;
  *at = where;
}

/* A row of maxima and their places; base: the index of the first element of the image. */
INLINE void put_row_arg(const GlowPoolRowsParams *p, const Call *c, const int64_t *place,
                        const float *plane, int64_t base, const float *top, const int32_t *from,
                        float *y, int64_t *at, const float *end) {
  const GlowPoolParams *q = &p->pool;
  const Rows w = rows_of(q, place);
  const bool whole = w.count[0] == q->kernel[0] && w.count[1] == q->kernel[1];
  const int64_t left = whole ? c->whole[0] : q->out[2], right = whole ? c->whole[1] : q->out[2];
  const int64_t first = base + (w.row[0] * q->in[1] + w.row[1]) * q->in[2] - q->before[2];
  ROLLED for (int64_t j = left; j < right; j += GLOW_VL) {
    put(y + j, end, vec_load(top + j));
    put_places(false, at + j, at + (end - y), *(const GlowVecI *)(from + j),
               first + j * q->stride[2], q->stride[2]);
  }
  ROLLED for (int64_t j = 0; j < left; j++) put_clipped(q, &w, plane, base, j, y + j, at + j);
  ROLLED for (int64_t j = right; j < q->out[2]; j++)
      put_clipped(q, &w, plane, base, j, y + j, at + j);
}

/* ---- Bands ----------------------------------------------------------------------------------- */

/* Maxima of windows of one row, for each field of rows. */
INLINE void row_maxima(const GlowPoolRowsParams *p, Call *c, const Rows *w, bool nan) {
  const GlowPoolParams *q = &p->pool;
  ROLLED for (int64_t f = 0; f < w->count[0] * q->stride[1]; f++) {
    const float *tap[GLOW_POOL_TAPS], *field = c->fields + f * q->stride[2] * p->field;
    float *to = c->maxima + f * p->field;
    ROLLED for (int64_t k = 0; k < q->kernel[2]; k++) tap[k] = field + c->offset[k];
    if (nan)
      join_line(TOP, tap, q->kernel[2], to, p->band_floats);
    else
      join_line(LARGER, tap, q->kernel[2], to, p->band_floats);
  }
}

/* The taps of a band, and what each has for an index beside that of the first element. */
INLINE int64_t find_taps(const GlowPoolRowsParams *p, What what, const Call *c, const Rows *w,
                         const float **tap, int32_t *place) {
  const GlowPoolParams *q = &p->pool;
  const int64_t columns = what == MAX ? 1 : q->kernel[2];
  const int64_t size = q->stride[1] * (what == MAX ? 1 : q->stride[2]) * p->field;
  const float *from = what == MAX ? c->maxima : c->fields;
  int64_t taps = 0;
  ROLLED for (int64_t i = 0; i < w->count[0]; i++)
      ROLLED for (int64_t j = 0; j < q->kernel[1]; j++) {
    const int64_t r = j * q->dilation[1];
    const float *row = from + i * size + c->rows[j];
    ROLLED for (int64_t k = 0; k < columns; k++) {
      tap[taps] = row + (what == MAX ? 0 : c->offset[k]);
      if (what == ARG)
        place[taps] =
            (int32_t)((i * q->dilation[0] * q->in[1] + r) * q->in[2] + k * q->dilation[2]);
      taps++;
    }
  }
  return taps;
}

/* `count` rows of results, to c->sums and c->from. */
INLINE void band(const GlowPoolRowsParams *p, What what, Call *c, const int64_t *place,
                 int64_t count, const float *plane) {
  const float *tap[GLOW_POOL_TAPS];
  int32_t from[GLOW_POOL_TAPS];
  const Rows w = rows_of(&p->pool, place);
  const int64_t floats = (count - 1) * p->pitch + p->pool.out[2];
  const GlowPoolParams *q = &p->pool;
  const int64_t rows = (count - 1) * q->stride[1] + (q->kernel[1] - 1) * q->dilation[1] + 1;
  ROLLED for (int64_t i = 0; i < w.count[0]; i++)
      take_rows(p, what, c, plane + (w.row[0] + i * q->dilation[0]) * q->xs[0],
                place[1] * q->stride[1] - q->before[1], rows,
                c->fields + i * q->stride[1] * q->stride[2] * p->field);
  const bool nan = what == MAX && __builtin_reduce_or(c->nan) != 0;
  if (what == MAX)
    row_maxima(p, c, &w, nan);
  const int64_t taps = find_taps(p, what, c, &w, tap, from);
  if (!taps)
    ROLLED for (int64_t j = 0; j < floats; j += GLOW_VL)
        vec_store(c->sums + j, vec_splat(c->padding));
  else if (what == ARG)
    arg_line(tap, from, taps, c->sums, c->from, floats);
  else if (what != MAX)
    join_line(ADD, tap, taps, c->sums, floats);
  else if (nan)
    join_line(TOP, tap, taps, c->sums, floats);
  else
    join_line(LARGER, tap, taps, c->sums, floats);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Columns [whole[0], whole[1]) of results have all their taps inside. */
INLINE void whole_columns(const GlowPoolParams *p, int64_t *whole) {
  const int64_t s = p->stride[2], reach = (p->kernel[2] - 1) * p->dilation[2] + 1;
  const int64_t last = p->in[2] + p->before[2] - reach;
  whole[0] = least(div_up(p->before[2], s), p->out[2]);
  whole[1] = last < 0 ? 0 : least(last / s + 1, p->out[2]);
  whole[1] = most(whole[0], whole[1]);
}

/* The offset of the last element of X. */
INLINE int64_t last_of(const GlowPoolParams *p) {
  int64_t last = (p->n - 1) * p->xn + (p->c - 1) * p->xc;
  AXES last += (p->in[a] - 1) * p->xs[a];
  return last;
}

INLINE Call begin_call(const GlowPoolRowsParams *p, What what, const float *x, char *scratch) {
  const GlowPoolParams *q = &p->pool;
  const int64_t rows = q->kernel[0] * q->stride[1] * p->field;
  Call c = {.fields = (float *)scratch,
            .x_end = x + last_of(q) + 1,
            .padding = what == MAX || what == ARG ? -__builtin_inff() : 0};
  c.maxima = c.fields + rows * q->stride[2];
  c.sums = c.maxima + (what == MAX ? rows : 0);
  c.divisors = c.sums + p->field;
  c.from = (int32_t *)c.divisors;
  c.columns = most(least(q->in[2], p->pitch * q->stride[2] - q->before[2]), 0);
  c.uniform = true;
  ROLLED for (int64_t j = 0; what == MEAN && j < p->field; j += GLOW_VL)
      vec_store(c.divisors + j, vec_splat(1));
  whole_columns(q, c.whole);
  UNROLL for (int k = 0; k < 4; k++) c.start[k] = column(p, q->before[2] + k);
  ROLLED for (int64_t k = 0; k < q->kernel[2]; k++) c.offset[k] = column(p, k * q->dilation[2]);
  ROLLED for (int64_t j = 0; j < q->kernel[1]; j++) {
    const int64_t r = j * q->dilation[1], s = q->stride[1];
    c.rows[j] = r % s * (what == MAX ? 1 : q->stride[2]) * p->field + r / s * p->pitch;
  }
  /* Nothing beyond rows is computed of what was there, which may take long. */
  ROLLED for (float *at = c.fields; at < c.maxima; at += GLOW_VL) vec_store(at, vec_splat(0));
  ROLLED for (float *at = c.sums; at < c.divisors; at += GLOW_VL) vec_store(at, vec_splat(0));
  ROLLED for (int64_t j = 0; what == MEAN && j < q->out[2]; j++) {
    int64_t first, count, limit;
    clip_axis(q, 2, j, &first, &count, &limit);
    c.divisors[j] = (float)(q->include_pad ? limit : count);
    c.uniform = c.uniform && c.divisors[j] == c.divisors[0];
  }
  return c;
}

/* Where a call is in X and Y. */
typedef struct Walk {
  int64_t place[2], image, channel;
  const float *plane;
} Walk;

INLINE Walk begin_walk(const GlowPoolParams *q, const float *x, int64_t begin) {
  Walk w = {
      {begin / q->out[1] % q->out[0], begin % q->out[1]}, begin / (q->out[0] * q->out[1]), 0, x};
  w.channel = w.image % q->c;
  w.plane += w.image / q->c * q->xn + w.channel * q->xc;
  return w;
}

/* `count` rows of the same plane further. */
INLINE void walk(const GlowPoolParams *q, Walk *w, int64_t count) {
  w->place[1] += count;
  if (w->place[1] < q->out[1])
    return;
  w->place[1] = 0;
  if (++w->place[0] < q->out[0])
    return;
  w->place[0] = 0;
  w->image++;
  w->plane += q->xc;
  if (++w->channel < q->c)
    return;
  w->channel = 0;
  w->plane += q->xn - q->c * q->xc;
}

/* ---- Windows side by side -------------------------------------------------------------------- */

/* Windows of 2, 4, 2 x 2 or 2 x 2 x 2 that do not overlap: each element is read once, so they need
 * no scratch memory. */
INLINE bool are_apart(const GlowPoolParams *q) {
  const int64_t *side = q->kernel;
  bool all = side[0] * side[1] == 1 ? side[2] == 2 || side[2] == 4
                                    : side[0] <= 2 && side[1] == 2 && side[2] == 2;
  AXES all &= q->stride[a] == side[a] && q->dilation[a] == 1 && !q->before[a] &&
              side[a] * q->out[a] <= q->in[a];
  return all;
}

/* How results are computed. Maxima are taken as if no NaN were there unless `nan`; `inside`: whole
 * registers can be read and written up to their ends. A window has `planes` planes, 1 or 2, of
 * `rows` rows, 1 or 2, of `side` elements, 2 or 4. */
typedef struct Apart {
  What what;
  bool nan, inside;
  int64_t planes, rows;
  int side;
  const float *x_end, *limit; /* unless `inside`: nothing is read or written from there on */
} Apart;

/* Rows of results: `count` of each of `groups` planes. */
typedef struct Rect {
  int64_t groups, count;
  const float *from; /* the first window */
  float *y;
  int64_t *at, base; /* where places of maxima go; the index of the first element of the window */
} Rect;

/* The floats at x, sorted by their places in windows of a row. */
INLINE void take_apart(const Apart *how, const float *x, GlowVec *v) {
  UNROLL for (int k = 0; k < how->side; k++) {
    const float *at = x + k * GLOW_VL;
    const int64_t left = how->x_end - at;
    v[k] = how->inside || left >= GLOW_VL ? vec_load(at) : get_first(at, left);
  }
  const GlowVec even = EVEN(v[0], v[1]), odd = ODD(v[0], v[1]);
  if (how->side == 2) {
    v[0] = even, v[1] = odd;
    return;
  }
  const GlowVec other[] = {EVEN(v[2], v[3]), ODD(v[2], v[3])};
  v[0] = EVEN(even, other[0]), v[1] = EVEN(odd, other[1]);
  v[2] = ODD(even, other[0]), v[3] = ODD(odd, other[1]);
}

/* Joins row r of plane i of the windows that begin at `from` to `all`, and to what register_apart
 * says. */
INLINE GlowVec join_apart(const GlowPoolParams *q, const Apart *how, const float *from, int64_t i,
                          int64_t r, GlowVec all, GlowVecI *seen, GlowVecI *place) {
  const What what = how->what;
  GlowVec v[4];
  take_apart(how, from + i * q->xs[0] + r * q->xs[1], v);
  UNROLL for (int k = 0; k < how->side; k++) {
    if (what == ARG) {
      const GlowVecI above = ~(v[k] <= all) & (all == all);
      *place = ((int32_t)((i * q->in[1] + r) * q->in[2] + k) & above) | (*place & ~above);
    } else if (what == MAX && !how->nan) {
      *seen |= v[k] != v[k];
    }
    all = what != MAX && what != ARG ? all + magnitude(what, v[k])
                                     : join(what == ARG || how->nan ? TOP : LARGER, all, v[k]);
  }
  return all;
}

/* A register of results, whose windows begin at `from`. *place becomes where maxima stand, relative
 * to the first element of the first window less their own distance from it. */
INLINE GlowVec register_apart(const GlowPoolParams *q, const Apart *how, const float *from,
                              GlowVecI *seen, GlowVecI *place) {
  const What what = how->what;
  GlowVec all = vec_splat(what == MAX || what == ARG ? -__builtin_inff() : 0);
  if (how->inside) {
    UNROLL for (int i = 0; i < 2; i++) UNROLL for (int r = 0; r < 2; r++) {
      if (i < how->planes && r < how->rows)
        all = join_apart(q, how, from, i, r, all, seen, place);
    }
  } else {
    ROLLED for (int64_t i = 0; i < how->planes; i++) ROLLED for (int64_t r = 0; r < how->rows; r++)
        all = join_apart(q, how, from, i, r, all, seen, place);
  }
  if (what == MEAN)
    return all * vec_splat(1 / (float)(how->planes * how->rows * how->side)); /* exact */
  return what == NORM2 ? __builtin_elementwise_sqrt(all) : all;
}

/* Lanes in which there is a NaN that `how` does not know of. */
INLINE GlowVecI rows_apart(const GlowPoolParams *q, Apart how, Rect r) {
  const int64_t columns = q->out[2], step = how.rows * q->xs[1];
  const int64_t next = how.planes * q->xs[0], index = how.planes * q->in[1] * q->in[2];
  GlowVecI seen = {0};
  ROLLED for (; r.groups > 0; r.groups--, r.from += next, r.base += index) {
    const float *from = r.from;
    int64_t base = r.base;
    ROLLED for (int64_t i = 0; i < r.count; i++, from += step, r.y += columns) {
      int64_t j = 0;
      ROLLED do {
        GlowVecI place = {0};
        const GlowVec v = register_apart(q, &how, from + how.side * j, &seen, &place);
        if (how.inside)
          vec_store(r.y + j, v);
        else
          put(r.y + j, how.limit, v);
        if (how.what == ARG)
          put_places(how.inside, r.at + j, r.at + (how.limit - r.y), place, base + j * how.side,
                     how.side);
        j += GLOW_VL;
      }
      while (j < columns)
        ;
      if (how.what == ARG)
        r.at += columns, base += how.rows * q->in[2];
    }
  }
  return seen;
}

#define RECT(name, what, planes, rows, side)                                                       \
  APART GlowVecI name##_##planes##rows##side(const GlowPoolParams *params, const Rect *r) {        \
    const GlowPoolParams q = *params; /* no store changes it */                                    \
    return rows_apart(&q, (Apart){what, false, true, planes, rows, side, NULL, NULL}, *r);         \
  }
#define EACH_APART(name, what)                                                                     \
  RECT(name, what, 1, 1, 2)                                                                        \
  RECT(name, what, 1, 1, 4)                                                                        \
  RECT(name, what, 1, 2, 2)                                                                        \
  RECT(name, what, 2, 2, 2)                                                                        \
  INLINE GlowVecI name##_inside(const GlowPoolParams *q, const Rect *r) {                          \
    return q->kernel[2] == 4   ? name##_114(q, r)                                                  \
           : q->kernel[1] == 1 ? name##_112(q, r)                                                  \
           : q->kernel[0] == 1 ? name##_122(q, r)                                                  \
                               : name##_222(q, r);                                                 \
  }
EACH_APART(max, MAX)
EACH_APART(mean, MEAN)
EACH_APART(norm1, NORM1)
EACH_APART(norm2, NORM2)
EACH_APART(arg, ARG)

INLINE GlowVecI rows_inside(What what, const GlowPoolParams *q, const Rect *r) {
  return what == MAX     ? max_inside(q, r)
         : what == MEAN  ? mean_inside(q, r)
         : what == NORM1 ? norm1_inside(q, r)
         : what == NORM2 ? norm2_inside(q, r)
                         : arg_inside(q, r);
}

/* One image whose rows, or whose planes, are those of all of them, where these follow each other in
 * equal distances. */
INLINE GlowPoolParams joined_planes(const GlowPoolParams *q) {
  GlowPoolParams all = *q;
  const int64_t images = q->n * q->c;
  if ((q->n > 1 && q->xn != q->c * q->xc) || q->in[0] != q->kernel[0] * q->out[0])
    return all;
  if (q->in[0] == 1 && q->in[1] == q->kernel[1] * q->out[1] &&
      (q->in[1] == 1 || q->xc == q->in[1] * q->xs[1])) {
    if (q->in[1] == 1)
      all.xs[1] = q->xc;
    all.in[1] *= images;
    all.out[1] *= images;
    all.n = all.c = 1;
  } else if (q->in[0] == 1 || q->xc == q->in[0] * q->xs[0]) {
    if (q->in[0] == 1)
      all.xs[0] = q->xc;
    all.in[0] *= images;
    all.out[0] *= images;
    all.n = all.c = 1;
  }
  return all;
}

/* Lanes in which there is a NaN. With `nan`, and where registers may not be whole, maxima are those
 * that a NaN is part of. */
INLINE GlowVecI windows_apart(const GlowPoolParams *q, What what, bool nan, float *y, int64_t *at,
                              const float *x, int64_t begin, int64_t end) {
  const int64_t planes = q->kernel[0], lines = q->kernel[1], side = q->kernel[2];
  const int64_t whole = (q->out[2] + GLOW_VL - 1) / GLOW_VL * GLOW_VL;
  const int64_t step = lines * q->xs[1], next = planes * q->xs[0], size = q->out[1] * q->out[2];
  const int64_t reach = (planes - 1) * q->xs[0] + (lines - 1) * q->xs[1] + side * whole;
  const float *x_end = x + last_of(q) + 1, *limit = y + end * q->out[2];
  GlowVecI seen = {0};
  Walk w = begin_walk(q, x, begin);
  ROLLED for (int64_t u = begin, units, count; u < end; u += units, walk(q, &w, count)) {
    const int64_t rows = least(q->out[1] - w.place[1], end - u);
    Rect r = {.count = rows,
              .from = w.plane + w.place[0] * next + w.place[1] * step,
              .y = y + u * q->out[2],
              .at = what == ARG ? at + u * q->out[2] : NULL};
    r.base =
        ((w.image * q->in[0] + planes * w.place[0]) * q->in[1] + lines * w.place[1]) * q->in[2];
    r.groups = rows < q->out[1] ? 1 : least(q->out[0] - w.place[0], (end - u) / rows);
    ROLLED while (r.groups > 1 &&
                  (x_end - r.from < (r.groups - 1) * next + (rows - 1) * step + reach ||
                   limit - r.y < r.groups * size - q->out[2] + whole)) r.groups--;
    ROLLED while (r.count > 0 && (x_end - r.from < (r.count - 1) * step + reach ||
                                  limit - r.y < (r.count - 1) * q->out[2] + whole)) r.count--;
    const bool inside = r.count > 0 && !nan;
    r.count = inside ? r.count : rows;
    if (inside)
      seen |= rows_inside(what, q, &r);
    else if (side == 4)
      seen |= rows_apart(q, (Apart){what, true, false, 1, 1, 4, x_end, limit}, r);
    else
      seen |= rows_apart(q, (Apart){what, true, false, planes, lines, 2, x_end, limit}, r);
    count = r.count;
    units = r.groups * count;
    w.place[0] += r.groups - 1;
  }
  return seen;
}

/* ---- Windows that move by one or two --------------------------------------------------------- */

/* How many planes from one on are alike: whole ones of an image, of which whole registers can be
 * read and written, and which the first level of cache holds if there is more than one stripe. */
INLINE int64_t planes_alike(const GlowPoolParams *q, const Slide *s, const Walk *w, int stride) {
  enum { FEW = 4096 }; /* floats */
  const int64_t whole = (q->out[2] + GLOW_VL - 1) / GLOW_VL * GLOW_VL;
  const int64_t reach = (q->in[1] - 1) * q->xs[1] + stride * whole + q->kernel[2];
  int64_t n = q->c - w->channel;
  if (q->in[0] > 1 || w->place[1] || s->plane - s->x < q->before[2])
    return 1;
  if (whole > GLOW_VL)
    n = least(n, FEW / most(q->xc, 1));
  ROLLED while (n > 1 && (s->x_end - s->plane < (n - 1) * q->xc + reach ||
                          s->limit - s->y < (n * q->out[1] - 1) * q->out[2] + whole)) n--;
  return most(n, 1);
}

/* `scratch` has room for the divisors of a row and a register more, and of rows. */
INLINE void sliding(const GlowPoolParams *q, bool mean, int side, int stride, float *y,
                    const float *x, int64_t begin, int64_t end, float *scratch) {
  float *counts = scratch + q->out[2] + 2 * GLOW_VL;
  Slide s = {.q = q, .x = x, .x_end = x + last_of(q) + 1, .divisors = scratch, .counts = counts};
  s.limit = y + end * q->out[2];
  ROLLED for (int64_t j = 0; j < q->out[2] + GLOW_VL; j += GLOW_VL)
      vec_store(scratch + j, vec_splat(1));
  UNROLL for (int a = 1; a < GLOW_POOL_DIMS; a++)
      ROLLED for (int64_t j = 0; mean && j < q->out[a]; j++) {
    int64_t first, count, limit;
    clip_axis(q, a, j, &first, &count, &limit);
    (a == 1 ? counts : scratch)[j] = (float)(q->include_pad ? limit : count);
  }
  Walk w = begin_walk(q, x, begin);
  ROLLED for (int64_t u = begin, count; u < end; u += s.planes * count, walk(q, &w, count)) {
    count = least(q->out[1] - w.place[1], end - u);
    s.plane = w.plane + w.place[0] * q->xs[0];
    s.y = y + (u - w.place[1]) * q->out[2];
    s.begin = w.place[1];
    s.end = w.place[1] + count;
    s.planes = planes_alike(q, &s, &w, stride);
    slide_planes(&s, mean, side, stride);
    w.image += s.planes - 1;
    w.channel += s.planes - 1;
    w.plane += (s.planes - 1) * q->xc;
  }
}

/* ---- Windows of one column ------------------------------------------------------------------- */

/* Means of rows next to each other, as LRN has them of channels. Each row of results is a sum of
 * rows of X where they lie, so no scratch memory is needed. */
INLINE bool are_columns(const GlowPoolParams *q) {
  bool all = q->kernel[0] == 1 && q->kernel[2] == 1;
  AXES all &= q->stride[a] == 1 && q->dilation[a] == 1;
  return all && !q->before[0] && !q->before[2] && q->out[0] == q->in[0] && q->out[2] == q->in[2];
}

/* Chains from +0 down `count` rows of X, in N registers. */
#define COLUMNS(N)                                                                                 \
  INLINE void column##N(float *y, const float *from, int64_t next, int64_t count,                  \
                        GlowVec divisor) {                                                         \
    GlowVec sum[N];                                                                                \
    UNROLL for (int k = 0; k < N; k++) sum[k] = vec_splat(0);                                      \
    ROLLED for (int64_t r = 0; r < count; r++, from += next) {                                     \
      UNROLL for (int k = 0; k < N; k++) sum[k] += vec_load(from + k * GLOW_VL);                   \
    }                                                                                              \
    UNROLL for (int k = 0; k < N; k++) vec_store(y + k * GLOW_VL, sum[k] / divisor);               \
  }
COLUMNS(4)
COLUMNS(1)

/* The same in one register, of which `left` lanes may be read of the last row, and as many written.
 */
INLINE void column_part(float *y, const float *from, int64_t next, int64_t count, GlowVec divisor,
                        int64_t left) {
  GlowVec sum = vec_splat(0);
  ROLLED for (int64_t r = 0; r < count; r++, from += next) sum += get_first(from, left);
  put_first(y, sum / divisor, left);
}

INLINE void mean_columns(const GlowPoolParams *q, float *y, const float *x, int64_t begin,
                         int64_t end) {
  const float *x_end = x + last_of(q) + 1, *limit = y + end * q->out[2];
  const int64_t columns = q->out[2], next = q->xs[1];
  Walk w = begin_walk(q, x, begin);
  y += begin * columns;
  ROLLED for (int64_t u = begin; u < end; u++, y += columns, walk(q, &w, 1)) {
    const Rows rows = rows_of(q, w.place);
    const int64_t count = rows.count[1];
    const float *from = w.plane + rows.row[0] * q->xs[0] + rows.row[1] * next;
    const GlowVec divisor = vec_splat((float)rows.divisor);
    /* What a register writes beyond a row the next row overwrites. */
    const int64_t there = count ? x_end - from - (count - 1) * next : columns + GLOW_VL;
    const int64_t room = least(there, limit - y);
    int64_t j = 0;
    ROLLED for (; j + 3 * GLOW_VL < columns && j + 4 * GLOW_VL <= room; j += 4 * GLOW_VL)
        column4(y + j, from + j, next, count, divisor);
    ROLLED for (; j < columns && j + GLOW_VL <= room; j += GLOW_VL)
        column1(y + j, from + j, next, count, divisor);
    if (j < columns)
      column_part(y + j, from + j, next, count, divisor, columns - j);
  }
}

/* ---- Kernels --------------------------------------------------------------------------------- */

INLINE void pool(const GlowPoolRowsParams *params, What what, float *y, int64_t *at, const float *x,
                 int64_t begin, int64_t end, char *scratch) {
  const GlowPoolRowsParams copy = *params, *p = &copy; /* no store changes it */
  const GlowPoolParams *q = &p->pool;
  if (are_apart(q)) {
    const GlowPoolParams joined = joined_planes(q);
    bool nan = false, again;
    ROLLED do {
      const GlowVecI seen = windows_apart(&joined, what, nan, y, at, x, begin, end);
      again = what == MAX && !nan && __builtin_reduce_or(seen) != 0;
      nan = true;
    }
    while (again)
      ;
    return;
  }
  if (what == MEAN && are_columns(q)) {
    mean_columns(q, y, x, begin, end);
    return;
  }
  int64_t side;
  if ((what == MAX || what == MEAN) && slides(q, what == MEAN, &side)) {
    if (what == MAX && q->stride[2] == 2)
      sliding(q, false, 3, 2, y, x, begin, end, (float *)scratch);
    else if (what == MAX && side == 5)
      sliding(q, false, 5, 1, y, x, begin, end, (float *)scratch);
    else
      sliding(q, what == MEAN, 3, 1, y, x, begin, end, (float *)scratch);
    return;
  }
  Call c = begin_call(p, what, x, scratch);
  Walk w = begin_walk(q, x, begin);
  const float *limit = y + end * q->out[2];
  ROLLED for (int64_t u = begin, count; u < end; u += count, walk(q, &w, count)) {
    count = least(least(p->band, q->out[1] - w.place[1]), end - u);
    band(p, what, &c, w.place, count, w.plane);
    ROLLED for (int64_t i = 0; i < count; i++) {
      const int64_t row = (u + i) * q->out[2], here[] = {w.place[0], w.place[1] + i};
      if (what == ARG)
        put_row_arg(p, &c, here, w.plane, w.image * (q->in[0] * q->in[1] * q->in[2]),
                    c.sums + i * p->pitch, c.from + i * p->pitch, y + row, at + row, limit);
      else
        put_row(p, what, &c, here, c.sums + i * p->pitch, y + row, limit);
    }
  }
}

#define ROWS(name, what)                                                                           \
  void glow_pool_rows_##name(const GlowPoolRowsParams *p, void *const *ptrs, int64_t begin,        \
                             int64_t end, char *scratch) {                                         \
    pool(p, what, GLOW_POOL_ROWS_PTRS(ptrs).y, NULL, GLOW_POOL_ROWS_PTRS(ptrs).x, begin, end,      \
         scratch);                                                                                 \
  }
ROWS(max, MAX)
ROWS(mean, MEAN)
ROWS(norm1, NORM1)
ROWS(norm2, NORM2)

void glow_pool_rows_arg(const GlowPoolRowsParams *p, void *const *ptrs, int64_t begin, int64_t end,
                        char *scratch) {
  pool(p, ARG, GLOW_POOL_ROWS_ARG_PTRS(ptrs).y, GLOW_POOL_ROWS_ARG_PTRS(ptrs).at,
       GLOW_POOL_ROWS_ARG_PTRS(ptrs).x, begin, end, scratch);
}
