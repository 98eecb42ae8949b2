/* RandomUniform and Bernoulli: counter-based, so that any order of elements gives the same bits.
 *
 * State is u64[2]: key and counter. Element i takes word i % 4 of Philox block counter + i / 4; for
 * double it takes words 2 (i % 2) and the next of block counter + i / 2. A number u in [0, 1) is
 * the upper 24 bits of the word, or 53 bits of the two. The next counter is the first unused one.
 */
#include "kernels/philox.h"
#include "kernels/ref/ref.h"

typedef struct GlowDraw {
  uint64_t key, counter, block; /* block: the one that `words` holds */
  bool wide, loaded;
  uint32_t words[4];
} GlowDraw;

static GlowDraw draw_of(const GlowBuf *state, bool wide) {
  const uint64_t *s = state->data;
  return (GlowDraw){.key = s[0], .counter = s[1], .wide = wide};
}

static double draw(GlowDraw *d, uint64_t i) {
  uint64_t per = d->wide ? 2 : 4, block = d->counter + i / per;
  if (!d->loaded || d->block != block)
    glow_philox_block(d->key, block, d->words);
  d->loaded = true;
  d->block = block;
  if (!d->wide)
    return (double)(d->words[i % 4] >> 8) * 0x1p-24;
  const uint32_t *w = d->words + 2 * (i % 2);
  return (double)(((uint64_t)w[0] << 32 | w[1]) >> 11) * 0x1p-53;
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
