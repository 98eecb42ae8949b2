/* AffineGrid: what the last axis adds is one line for all of an image. A line of places is that
 * line, plus what each other axis adds, plus the last column of Theta; these are the same for each
 * place of it. The order of the sums is the reference kernel's.
 *
 * Coordinates of a place lie side by side, so a line is summed PERIOD doubles at a time. */
#include "kernels/kernels.h"

#include "doubles.h"
#include "grid_element.h"

enum { PERIOD = GLOW_AFFINE_PERIOD, REGISTERS = PERIOD / LANES };

typedef struct Pattern {
  Doubles v[REGISTERS];
} Pattern;

/* Number i of Theta: a map has up to 12 of them. */
static __attribute__((noinline)) double number_of(int64_t element, const char *theta, int64_t i) {
  return grid_number(element, theta, i);
}

/* Column `column` of an image's map, repeated. */
INLINE Pattern column_of(int64_t element, const char *theta, int64_t image, int axes, int column) {
  double each[GLOW_GRID_AXES];
  Pattern to;
  UNROLL for (int j = 0; j < axes; j++) each[j] =
      number_of(element, theta, (image * axes + j) * (axes + 1) + column);
  UNROLL for (int r = 0; r < REGISTERS; r++) UNROLL for (int l = 0; l < LANES; l++) to.v[r][l] =
      each[(r * LANES + l) % axes];
  return to;
}

/* What place i of an axis adds, by its column of a map. */
INLINE Pattern add_axis(const GlowAffineGridParams *p, Pattern column, int64_t axis, int64_t i) {
  const double place = (double)(2 * i + 1 - p->n[axis]) / (double)p->divisor[axis];
  UNROLL for (int r = 0; r < REGISTERS; r++) column.v[r] *= doubles_splat(place);
  return column;
}

/* Fills a line with what the last axis adds. */
INLINE void fill_line(const GlowAffineGridParams *p, int axes, Pattern column, double *line) {
  const Doubles divisor = doubles_splat((double)p->divisor[axes - 1]);
  const Doubles first = doubles_splat((double)(1 - p->n[axes - 1]));
  Pattern twice; /* a place, counted from the middle, times two */
  UNROLL for (int r = 0; r < REGISTERS; r++) {
    UNROLL for (int l = 0; l < LANES; l++) twice.v[r][l] = (r * LANES + l) / axes * 2;
    twice.v[r] += first;
  }
  ROLLED for (int64_t at = 0; at < p->pitch; at += PERIOD) {
    UNROLL for (int r = 0; r < REGISTERS; r++) {
      *(Doubles *)(line + at + r * LANES) = twice.v[r] / divisor * column.v[r];
      twice.v[r] += doubles_splat(PERIOD / axes * 2);
    }
  }
}

/* `count` floats, at least PERIOD; the last PERIOD of them may overlap the ones before. */
INLINE void sum_floats(const double *line, const Pattern *terms, int axes, int64_t count,
                       float *y) {
  typedef float Floats __attribute__((vector_size(LANES * 4), aligned(4)));
  const int64_t last = count - PERIOD;
  ROLLED for (int64_t at = 0;; at = at + PERIOD < last ? at + PERIOD : last) {
    UNROLL for (int r = 0; r < REGISTERS; r++) {
      Doubles sum = *(const Doubles *)(line + at + r * LANES);
      UNROLL for (int k = 0; k < axes; k++) sum += terms[k].v[r];
      *(Floats *)(y + at + r * LANES) = __builtin_convertvector(sum, Floats);
    }
    if (at == last)
      return;
  }
}

/* A line of any kind, by way of doubles. */
static void sum_line(const GlowAffineGridParams *p, const double *line, const Pattern *terms,
                     double *sums, char *y) {
  const int64_t count = p->n[p->axes - 1] * p->axes;
  uint16_t *half = (uint16_t *)(void *)y;
  ROLLED for (int64_t at = 0; at < p->pitch; at += PERIOD) {
    UNROLL for (int r = 0; r < REGISTERS; r++) {
      Doubles sum = *(const Doubles *)(line + at + r * LANES);
      ROLLED for (int64_t k = 0; k < p->axes; k++) sum += terms[k].v[r];
      *(Doubles *)(sums + at + r * LANES) = sum;
    }
  }
  ROLLED for (int64_t i = 0; i < count; i++) {
    if (p->element == GLOW_GRID_ELEMENT_FLOAT)
      ((float *)(void *)y)[i] = (float)sums[i];
    else if (p->element == GLOW_GRID_ELEMENT_DOUBLE)
      ((double *)(void *)y)[i] = sums[i];
    else if (p->element == GLOW_GRID_ELEMENT_HALF)
      half[i] = glow_half_from_double(sums[i]);
    else
      half[i] = glow_bfloat_from_double(sums[i]);
  }
}

/* Lines of places with p->axes coordinates. */
INLINE void lines(const GlowAffineGridParams *p, int axes, char *y, const char *theta,
                  int64_t begin, int64_t end, double *line) {
  const int last = axes - 1;
  const int64_t inner = p->n[last - 1], outer = last == 2 ? p->n[0] : 1;
  const int64_t count = p->n[last] * axes;
  const int64_t bytes = grid_bytes(p->element);
  int64_t image = begin / inner / outer, plane = begin / inner % outer, row = begin % inner;
  Pattern by_row, by_plane, terms[GLOW_GRID_AXES]; /* terms in the order of their sum */
  int fresh = 1;
  y += begin * count * bytes;
  ROLLED for (int64_t u = begin; u < end; u++, y += count * bytes) {
    if (fresh) {
      fill_line(p, axes, column_of(p->element, theta, image, axes, 0), line);
      by_row = column_of(p->element, theta, image, axes, 1);
      if (last == 2)
        by_plane = column_of(p->element, theta, image, axes, 2);
      terms[last] = column_of(p->element, theta, image, axes, axes);
    }
    if (last == 2 && (fresh || !row))
      terms[1] = add_axis(p, by_plane, 0, plane);
    terms[0] = add_axis(p, by_row, last - 1, row);
    if (p->element == GLOW_GRID_ELEMENT_FLOAT && count >= PERIOD) {
      sum_floats(line, terms, axes, count, (float *)(void *)y);
    } else {
      Pattern copy[GLOW_GRID_AXES];
      UNROLL for (int k = 0; k < axes; k++) copy[k] = terms[k];
      sum_line(p, line, copy, line + p->pitch, y);
    }
    fresh = 0;
    if (++row == inner) {
      row = 0;
      if (++plane == outer)
        plane = 0, image++, fresh = 1;
    }
  }
}

void glow_affine_grid(const GlowAffineGridParams *params, void *const *ptrs, int64_t begin,
                      int64_t end, char *scratch) {
  const GlowAffineGridParams copy = *params, *const p = &copy; /* no store changes it */
  char *y = GLOW_AFFINE_GRID_PTRS(ptrs).y;
  const char *theta = GLOW_AFFINE_GRID_PTRS(ptrs).theta;
  double *line = (double *)(void *)scratch;
  if (p->axes == 2)
    lines(p, 2, y, theta, begin, end, line);
  else
    lines(p, 3, y, theta, begin, end, line);
}
