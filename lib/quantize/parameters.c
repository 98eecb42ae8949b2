/* See parameters.h. */
#include "quantize/parameters.h"

#include <math.h>

#include "num/range.h"

const char *const glow_quant_schemes[] = {"asymmetric", "symmetric", "symmetric-uint8", "power2"};
const char *const glow_calibrations[] = {"minmax", "percentile", "entropy", "mse"};

/* ---- Schemes --------------------------------------------------------------------------------- */

static float limited(double scale) {
  float s = (float)scale;
  return s > GLOW_LEAST_SCALE ? s : GLOW_LEAST_SCALE;
}

static int32_t clamped(double v, int32_t low, int32_t high) {
  v = rint(v);
  return v < low ? low : v > high ? high : (int32_t)v;
}

GlowQuantParameters glow_quant_parameters(GlowQuantScheme scheme, GlowKind kind, double min,
                                          double max) {
  int32_t low = kind == GLOW_KIND_U8 ? 0 : -128, high = low + 255;
  GlowQuantParameters p = {kind, 1, kind == GLOW_KIND_U8 ? 128 : 0};
  min = fmin(min, 0);
  max = fmax(max, 0);
  if (scheme == GLOW_SCHEME_SYMMETRIC || (scheme == GLOW_SCHEME_SYMMETRIC_UINT8 && min < 0)) {
    if (min < max)
      p.scale = limited(fmax(-min, max) / 127);
    return p;
  }
  p.offset = low;
  if (min == max)
    return p;
  p.scale = limited((max - min) / (high - low));
  if (scheme == GLOW_SCHEME_POWER2) {
    int e;
    bool exact = frexpf(p.scale, &e) == 0.5F;
    p.scale = ldexpf(1, exact ? e - 1 : e);
  }
  p.offset = clamped(low - min / (double)p.scale, low, high);
  return p;
}

/* ---- Histograms ------------------------------------------------------------------------------ */

/* The histogram with a number for each bin, and the bins that something is in. */
typedef struct Histogram {
  double count[GLOW_RANGE_BINS], total;
  int first, last; /* bins */
  double width;    /* of a bin */
} Histogram;

static Histogram histogram_of(const GlowRange *r) {
  Histogram h = {.first = (int)r->bins.data[0].place,
                 .last = (int)r->bins.data[r->bins.count - 1].place,
                 .width = ldexp(1, r->exponent - GLOW_RANGE_SIDE_LOG2)};
  for (uint32_t i = 0; i < r->bins.count; i++) {
    h.count[r->bins.data[i].place] = (double)r->bins.data[i].count;
    h.total += (double)r->bins.data[i].count;
  }
  return h;
}

/* Where bin i begins. */
static double begin_of(const Histogram *h, int i) { return (i - GLOW_RANGE_SIDE) * h->width; }

/* Lowers *max and raises *min to the ends of bins first and last, if these lie further inside. */
static void limit_to(const Histogram *h, int first, int last, double *min, double *max) {
  *min = fmax(*min, fmin(begin_of(h, first), 0));
  *max = fmin(*max, fmax(begin_of(h, last + 1), 0));
}

static void percentile(const Histogram *h, double percent, double *min, double *max) {
  double share = h->total * (100 - percent) / 200, below = 0, above = 0;
  int first = h->first, last = h->last;
  while (first < last && below + h->count[first] <= share)
    below += h->count[first++];
  while (last > first && above + h->count[last] <= share)
    above += h->count[last--];
  limit_to(h, first, last, min, max);
}

/* The mean square error of 256 steps between min and max, times the number of elements. */
static double square_error(const Histogram *h, double min, double max) {
  double step = (max - min) / 255, sum = 0;
  for (int i = h->first; i <= h->last; i++) {
    double at = begin_of(h, i) + h->width / 2;
    double nearest = fmin(fmax(rint(at / step) * step, min), max);
    sum += h->count[i] * (at - nearest) * (at - nearest);
  }
  return sum;
}

enum { TRIES = 64 }; /* of each end: from all of it down to a quarter */

/* The best of several ends, the other one being fixed. */
static void shrink(const Histogram *h, double *min, double *max, double *end) {
  double whole = *end, best = square_error(h, *min, *max), kept = whole;
  for (int t = 1; t <= TRIES; t++) {
    *end = whole * (1 - 0.75 * t / TRIES);
    double error = square_error(h, *min, *max);
    if (error < best) {
      best = error;
      kept = *end;
    }
  }
  *end = kept;
}

static void least_squares(const Histogram *h, double *min, double *max) {
  if (*max > 0)
    shrink(h, min, max, max);
  if (*min < 0)
    shrink(h, min, max, min);
}

/* The divergence of the bins from first to last, with what lies beyond in the outermost ones, from
 * what 256 steps say of them: each spreads its elements evenly over those of its bins that have
 * any. */
static double divergence(const Histogram *h, int first, int last) {
  int n = last - first + 1;
  double sum[256] = {0}, used[256] = {0}, below = 0, above = 0, d = 0;
  for (int i = h->first; i < first; i++)
    below += h->count[i];
  for (int i = last + 1; i <= h->last; i++)
    above += h->count[i];
  for (int i = first; i <= last; i++) {
    int step = (int)((int64_t)(i - first) * 256 / n);
    sum[step] += h->count[i];
    used[step] += h->count[i] > 0;
  }
  double inside = h->total - below - above;
  for (int i = first; i <= last; i++) {
    int step = (int)((int64_t)(i - first) * 256 / n);
    double p = (h->count[i] + (i == first ? below : 0) + (i == last ? above : 0)) / h->total;
    double q = h->count[i] > 0 ? sum[step] / used[step] / inside : 0;
    if (p > 0)
      d += q > 0 ? p * log(p / q) : p * 64; /* something that the steps do not have */
  }
  return d;
}

/* The bin of 0 counts as much as the next one: what Relu has cut off would outweigh all else. */
static void entropy(Histogram *h, double *min, double *max) {
  int reach = 0, first = h->first, last = h->last;
  double zeros = h->count[GLOW_RANGE_SIDE], next = h->count[GLOW_RANGE_SIDE + 1];
  if (zeros > next && h->total > zeros) {
    h->count[GLOW_RANGE_SIDE] = next;
    h->total -= zeros - next;
  }
  reach = last - GLOW_RANGE_SIDE > reach ? last - GLOW_RANGE_SIDE : reach;
  reach = GLOW_RANGE_SIDE - first > reach ? GLOW_RANGE_SIDE - first : reach;
  double best = divergence(h, first, last);
  for (int k = 256; k < reach; k += 8) {
    int a = GLOW_RANGE_SIDE - k, b = GLOW_RANGE_SIDE + k - 1;
    a = a > h->first ? a : h->first;
    b = b < h->last ? b : h->last;
    double d = a <= b ? divergence(h, a, b) : INFINITY;
    if (d < best) {
      best = d;
      first = a;
      last = b;
    }
  }
  limit_to(h, first, last, min, max);
}

void glow_calibrate(GlowCalibration how, double percent, const GlowRange *r, double *min,
                    double *max) {
  *min = fmin((double)r->min, 0);
  *max = fmax((double)r->max, 0);
  if (how == GLOW_CALIBRATE_MINMAX || !r->bins.count || *min == *max)
    return;
  Histogram h = histogram_of(r);
  if (how == GLOW_CALIBRATE_PERCENTILE)
    percentile(&h, percent, min, max);
  else if (how == GLOW_CALIBRATE_MSE)
    least_squares(&h, min, max);
  else
    entropy(&h, min, max);
}
