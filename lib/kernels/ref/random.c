/* Random numbers: counter-based, so that any order of elements gives the same bits.
 *
 * State is u64[2]: key and counter. Element i takes word i % 4 of Philox block counter + i / 4; for
 * double it takes words 2 (i % 2) and the next of block counter + i / 2. A number u in [0, 1) is
 * the upper 24 bits of the word, or 53 bits of the two. The next counter is the first unused one. A
 * normal number comes from a word, or 52 bits of two, plus a half: never 0 or 1. */
#include "kernels/ref/ref.h"
#include "num/math_double.h"
#include "num/normal.h"
#include "num/philox.h"

typedef struct GlowDraw {
  uint64_t key, counter, block; /* block: the one that `words` holds */
  bool wide, loaded;            /* wide: draws doubles; loaded: `words` holds a block */
  uint32_t words[4];
} GlowDraw;

static GlowDraw draw_of(const GlowBuf *state, bool wide) {
  const uint64_t *s = state->data;
  return (GlowDraw){.key = s[0], .counter = s[1], .wide = wide};
}

/* The random bits of element i: 64 for double, else 32. */
static uint64_t draw_bits(GlowDraw *d, uint64_t i) {
  uint64_t per = d->wide ? 2 : 4, block = d->counter + i / per;
  if (!d->loaded || d->block != block)
    glow_philox_block(d->key, block, d->words);
  d->loaded = true;
  d->block = block;
  const uint32_t *w = d->words + 2 * (i % 2);
  return d->wide ? (uint64_t)w[0] << 32 | w[1] : d->words[i % 4];
}

static double draw(GlowDraw *d, uint64_t i) {
  uint64_t bits = draw_bits(d, i);
  return d->wide ? (double)(bits >> 11) * 0x1p-53 : (double)(bits >> 8) * 0x1p-24;
}

static double draw_normal(GlowDraw *d, uint64_t i) {
  uint64_t bits = draw_bits(d, i);
  double u = d->wide ? ((double)(bits >> 12) + 0.5) * 0x1p-52 : ((double)bits + 0.5) * 0x1p-32;
  return glow_inverse_normal(u);
}

static void store_next(GlowCall *call, const GlowDraw *d, int64_t n) {
  uint64_t *next = call->out[1].data, per = d->wide ? 2 : 4;
  if (call->nout < 2 || !glow_buf_present(&call->out[1]))
    return;
  next[0] = d->key;
  next[1] = d->counter + ((uint64_t)n + per - 1) / per;
}

GlowRunError glow_kernel_random_uniform(GlowCall *call) {
  const GlowRandomUniformMembers *m = call->members;
  GlowBuf *y = &call->out[0];
  GlowDraw d = draw_of(&call->in[1], y->kind == GLOW_KIND_DOUBLE);
  int64_t n = glow_buf_elements(y);
  float width = m->high - m->low;
  for (int64_t i = 0; i < n; i++) {
    double u = draw(&d, (uint64_t)i);
    if (d.wide) {
      double v = (double)m->low + u * ((double)m->high - (double)m->low);
      glow_store_double(y, i, 1, 1, &v);
    } else {
      float v = m->low + (float)u * width;
      glow_store_float(y, i, 1, 1, &v);
    }
  }
  store_next(call, &d, n);
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_bernoulli(GlowCall *call) {
  const GlowBuf *x = &call->in[0];
  GlowBuf *y = &call->out[0];
  GlowDraw d = draw_of(&call->in[1], x->kind == GLOW_KIND_DOUBLE);
  int64_t n = glow_buf_elements(y);
  for (int64_t i = 0; i < n; i++) {
    double u = draw(&d, (uint64_t)i), p;
    float f = 0;
    if (d.wide) {
      glow_load_double(x, i, 1, 1, &p);
    } else {
      glow_load_float(x, i, 1, 1, &f);
      p = (double)f;
    }
    glow_ref_store_number(y, i, u < p ? 1.0 : 0.0);
  }
  store_next(call, &d, n);
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_random_normal(GlowCall *call) {
  const GlowRandomNormalMembers *m = call->members;
  GlowBuf *y = &call->out[0];
  GlowDraw d = draw_of(&call->in[1], y->kind == GLOW_KIND_DOUBLE);
  int64_t n = glow_buf_elements(y);
  for (int64_t i = 0; i < n; i++)
    glow_ref_store_number(y, i, (double)m->mean + (double)m->scale * draw_normal(&d, (uint64_t)i));
  store_next(call, &d, n);
  return GLOW_RUN_OK;
}

/* ---- Multinomial ----------------------------------------------------------------------------- */

static double logarithm_at(const GlowBuf *x, int64_t i) {
  double v;
  float f;
  if (x->kind == GLOW_KIND_DOUBLE) {
    glow_load_double(x, i, 1, 1, &v);
    return v;
  }
  glow_load_float(x, i, 1, 1, &f);
  return (double)f;
}

/* The largest logarithm of a row and the sum of e^(x - max), in ascending order. False if the row
 * is no distribution: empty, all -inf, or with NaN or +inf. */
static bool row_total(const GlowBuf *x, int64_t at, int64_t classes, double *max, double *total) {
  *max = -__builtin_inf();
  *total = 0;
  for (int64_t j = 0; j < classes; j++) {
    double v = logarithm_at(x, at + j);
    if (v != v || v == __builtin_inf())
      return false;
    *max = v > *max ? v : *max;
  }
  if (*max == -__builtin_inf())
    return false;
  for (int64_t j = 0; j < classes; j++)
    *total += glow_exp(logarithm_at(x, at + j) - *max);
  return true;
}

/* The first class whose cumulated probability is above u, else the last one that has any. */
static int64_t pick_class(const GlowBuf *x, int64_t at, int64_t classes, double max, double u) {
  double sum = 0;
  int64_t last = 0;
  for (int64_t j = 0; j < classes; j++) {
    double p = glow_exp(logarithm_at(x, at + j) - max);
    sum += p;
    if (sum > u)
      return j;
    last = p > 0 ? j : last;
  }
  return last;
}

GlowRunError glow_kernel_multinomial(GlowCall *call) {
  const GlowBuf *x = &call->in[0];
  GlowBuf *y = &call->out[0];
  GlowDraw d = draw_of(&call->in[1], x->kind == GLOW_KIND_DOUBLE);
  int64_t classes = x->dims[1], samples = y->dims[1];
  for (int64_t row = 0; row < x->dims[0] && samples; row++) {
    double max, total;
    if (!row_total(x, row * classes, classes, &max, &total))
      return GLOW_RUN_VALUE;
    for (int64_t i = row * samples; i < (row + 1) * samples; i++) {
      int64_t k = pick_class(x, row * classes, classes, max, draw(&d, (uint64_t)i) * total);
      glow_store_int(y, i, 1, 1, &k);
    }
  }
  store_next(call, &d, glow_buf_elements(y));
  return GLOW_RUN_OK;
}
