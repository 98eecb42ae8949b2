/* Convolutions and products of floats rounded to bfloat16, whose sums have the order of
 * docs/Numerics (order = pair): a step of a chain takes two channels.
 *
 *   AVX512-BF16  vdpbf16ps is that step
 *   other        rounded numbers are floats: two multiply-adds, that of the odd channel first
 *
 * The pixels that a unit reads are rounded first, to rows of pairs with zeros where windows leave
 * the input. A tile of pixels by registers of filters stays in registers while its chains run from
 * the bias over all taps; its sums go through memory in the first level of cache to the epilogue.
 */
#include "bf16.h"
#include "finish.h"

enum {
  PANEL = 16,
  PAIR = 2,
  VECTORS = GLOW_TILE_VECTORS,
  COLUMNS = GLOW_VL * VECTORS,
  WORD = 4, /* bytes of a pair */
  LINE = 64,
  HALF = GLOW_TILE_PIXELS * 3 / 7,
  ROWS = HALF ? HALF : 1 /* whose sums, with both numbers of pairs of filters, fit in registers */
};

#ifdef __AVX512BF16__
#define IS_NATIVE 1
#else
#define IS_NATIVE 0
#endif

INLINE int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- Rounding -------------------------------------------------------------------------------- */

typedef uint32_t Words __attribute__((vector_size(GLOW_VL * 4)));

/* glow_bf16_round_flushed, in the upper halves of lanes. */
INLINE Words rounded(GlowVec v) { return (Words)round_lanes(flush((GlowVecI)v)); }

/* GLOW_VL neighbours. */
INLINE void store_rounded(char *to, GlowVec v) {
#if IS_NATIVE
  typedef float In __attribute__((vector_size(64)));
  typedef __bf16 Out __attribute__((vector_size(32)));
  const Out h = __builtin_ia32_cvtneps2bf16_512_mask((In)v, (Out){0}, -1);
  __builtin_memcpy(to, &h, sizeof h);
#else
  typedef uint16_t Halves __attribute__((vector_size(GLOW_VL * 2)));
  const Halves h = __builtin_convertvector(rounded(v) >> 16, Halves);
  __builtin_memcpy(to, &h, sizeof h);
#endif
}

/* `count` neighbours, and a zero up to a whole pair. */
INLINE void copy_run(char *to, const float *x, int64_t count) {
  int64_t c = 0;
  ROLLED for (; c + GLOW_VL <= count; c += GLOW_VL) store_rounded(to + 2 * c, vec_load(x + c));
  if (c < count) {
    char rest[2 * GLOW_VL];
    store_rounded(rest, vec_load_first(x + c, count - c));
    ROLLED for (int64_t l = 0; l < count - c; l += PAIR)
        __builtin_memcpy(to + 2 * (c + l), rest + 2 * l, WORD);
  }
}

/* GLOW_VL pixels of two channels, whose neighbours lie next to each other; b is NULL if there is
 * one. */
INLINE void copy_planes(char *to, int64_t step, const float *a, const float *b) {
  const Words high = b ? rounded(vec_load(b)) : (Words){0};
  const Words both = (rounded(vec_load(a)) >> 16) | high;
  UNROLL for (int l = 0; l < GLOW_VL; l++) {
    const uint32_t word = both[l];
    __builtin_memcpy(to + l * step, &word, WORD);
  }
}

/* `count` pixels from x on, with all channels: two blocks of a pixel are a cache line. */
APART void copy_pixels(const GlowBf16PairParams *p, char *to, const float *x, int64_t count) {
  const int64_t step = p->pixel * WORD, block = p->x_block;
  if (block > 1) {
    ROLLED for (int64_t c = 0; c < p->g.ic; c += 2 * block) {
      const float *from = x + c / block * p->g.xc;
      const int64_t left = min64(p->g.ic - c, 2 * block);
      ROLLED for (int64_t i = 0; i < count; i++, from += p->g.xw) {
        ROLLED for (int64_t b = 0; b < left; b += block) copy_run(
            to + i * step + 2 * (c + b), from + b / block * p->g.xc, min64(left - b, block));
      }
    }
    return;
  }
  ROLLED for (int64_t c = 0; c < p->g.ic; c += PAIR) { /* plain channels */
    const float *a = x + c * p->g.xc, *b = c + 1 < p->g.ic ? a + p->g.xc : NULL;
    char *pair = to + 2 * c;
    int64_t i = 0;
    if (p->g.xw == 1)
      ROLLED for (; i + GLOW_VL <= count; i += GLOW_VL)
          copy_planes(pair + i * step, step, a + i, b ? b + i : NULL);
    ROLLED for (; i < count; i++) {
      const uint32_t low = glow_float_bits(glow_bf16_round_flushed(a[i * p->g.xw]));
      const uint32_t high = b ? glow_float_bits(glow_bf16_round_flushed(b[i * p->g.xw])) : 0;
      const uint32_t word = low >> 16 | high;
      __builtin_memcpy(pair + i * step, &word, WORD);
    }
  }
}

/* Pixels [from, end) of all rows of an image. */
INLINE void copy_flat(const GlowBf16PairParams *p, char *to, const float *image, int64_t from,
                      int64_t end) {
  ROLLED for (int64_t next; from < end; from = next) {
    const int64_t row = from / p->width;
    next = (row + 1) * p->width < end ? (row + 1) * p->width : end;
    copy_pixels(p, to, image + row * p->g.xh + from % p->width * p->g.xw, next - from);
    to += (next - from) * p->pixel * WORD;
  }
}

/* The rows that output rows [row, row + rows) of an image read at output columns [from, end). */
INLINE void copy_band(const GlowBf16PairParams *p, char *to, const float *image, int64_t row,
                      int64_t rows, int64_t from, int64_t end) {
  const GlowConvGeometry *g = &p->g;
  const int64_t step = p->pixel * WORD, first = row * g->sh - g->pt, left = from * g->sw - g->pl;
  const int64_t count = (rows - 1) * g->sh + (g->kh - 1) * g->dh + 1;
  const int64_t width = (end - from - 1) * g->sw + (g->kw - 1) * g->dw + 1;
  int64_t before = left < 0 ? -left : 0, behind = left + width - g->iw;
  before = before < width ? before : width;
  behind = behind < 0 ? 0 : behind < width - before ? behind : width - before;
  const int64_t inside = width - before - behind;
  ROLLED for (int64_t r = first; r < first + count; r++, to += p->line * step) {
    if (r < 0 || r >= g->ih) {
      __builtin_memset(to, 0, (size_t)(width * step));
      continue;
    }
    __builtin_memset(to, 0, (size_t)(before * step));
    copy_pixels(p, to + before * step, image + r * g->xh + (left + before) * g->xw, inside);
    __builtin_memset(to + (before + inside) * step, 0, (size_t)(behind * step));
  }
}

/* ---- Sums ------------------------------------------------------------------------------------ */

/* What a tile reads. */
typedef struct Sources {
  const char *x;     /* pairs of its first pixel; others are `step` bytes apart */
  const uint16_t *w; /* its first panel; the next one is `panel` elements behind */
  int64_t step, panel;
  const char *next;       /* what to fetch meanwhile */
  GlowVec first[VECTORS]; /* what chains start at */
} Sources;

INLINE GlowVec word_at(const char *at) {
  float word;
  __builtin_memcpy(&word, at, WORD);
  return vec_splat(word);
}

INLINE GlowVecI filters_at(const Sources *t, const uint16_t *w, int j) {
  const int64_t at = j * GLOW_VL;
  return *(const GlowVecI *)(const void *)(w + at / PANEL * t->panel + at % PANEL * PAIR);
}

#if IS_NATIVE
INLINE GlowVec dot(GlowVec sum, GlowVec x, GlowVecI w) {
  typedef float Sums __attribute__((vector_size(64)));
  typedef __bf16 Pairs __attribute__((vector_size(64)));
  return (GlowVec)__builtin_ia32_dpbf16ps_512((Sums)sum, (Pairs)x, (Pairs)w);
}
#else
INLINE GlowVec dot(GlowVec sum, GlowVec x, GlowVecI w) {
  const GlowVecI odd = splat_bits(0xffff0000);
  sum = chain((GlowVec)((GlowVecI)x & odd), weights(w & odd), sum);
  return chain((GlowVec)((GlowVecI)x << 16), weights(w << 16), sum);
}
#endif

/* Sums of `count` pixels: sums[(j * apart + i) * GLOW_VL] is register j of pixel i. Library code
 * has an address for three pixels, or it would need more registers than there are. */
INLINE void sum_up(int count, const GlowBf16PairParams *p, const Sources *t, int64_t apart,
                   float *sums) {
  enum { NEAR = 3 };
  GlowVec acc[GLOW_TILE_PIXELS][VECTORS];
  const uint16_t *w = t->w;
  const char *next = t->next;
  const int64_t lines = p->ahead < 0 ? 1 : p->ahead, jump = p->g.xc * 4 - p->stretch * LINE;
  int64_t left = p->stretch;
  UNROLL for (int j = 0; j < VECTORS; j++) {
    UNROLL for (int i = 0; i < count; i++) acc[i][j] = t->first[j];
  }
  ROLLED for (int64_t r = 0; r < p->g.kh; r++) {
    ROLLED for (int64_t s = 0; s < p->runs; s++) {
      const char *x = t->x + (r * p->g.dh * p->line + s * p->g.dw) * p->pixel * WORD;
      const char *at[GLOW_TILE_PIXELS];
      UNROLL for (int i = 0; i < count; i += NEAR) at[i / NEAR] = x + i * t->step;
      ROLLED for (int64_t k = 0; k < p->run; k++, w += PANEL * PAIR) {
        GlowVecI f[VECTORS];
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        UNROLL for (int i = 0; i < 2; i++) {
          if (i < lines)
            __builtin_prefetch(next + i * LINE, 0, 2);
        }
        next += lines * LINE;
        if (--left == 0) {
          next += jump;
          left = p->stretch;
        }
        UNROLL for (int j = 0; j < VECTORS; j++) f[j] = filters_at(t, w, j);
        UNROLL for (int i = 0; i < count; i++) {
          const GlowVec v = word_at(at[i / NEAR] + i % NEAR * t->step);
          UNROLL for (int j = 0; j < VECTORS; j++) acc[i][j] = dot(acc[i][j], v, f[j]);
        }
        UNROLL for (int i = 0; i < count; i += NEAR) {
          at[i / NEAR] += WORD;
#ifdef GLOW_LIBRARY
          __asm__("" : "+r"(at[i / NEAR])); /* or sums of addresses would be kept */
#endif
        }
      }
    }
  }
  UNROLL for (int j = 0; j < VECTORS; j++) {
    UNROLL for (int i = 0; i < count; i++) vec_store(sums + (j * apart + i) * GLOW_VL, acc[i][j]);
  }
}

#if !IS_NATIVE
/* Fewer pixels at a time, whose sums fit in registers. */
APART void sum_some(const GlowBf16PairParams *p, const Sources *t, int64_t apart, float *sums) {
  sum_up(ROWS, p, t, apart, sums);
}
APART void sum_one(const GlowBf16PairParams *p, const Sources *t, int64_t apart, float *sums) {
  sum_up(1, p, t, apart, sums);
}
APART void sum_parts(int count, const GlowBf16PairParams *p, const Sources *t, float *sums) {
  const uint32_t mode = begin_flushing();
  Sources part = *t;
  int i = 0;
  UNROLL for (int j = 0; j < VECTORS; j++) part.first[j] = (GlowVec)flush((GlowVecI)part.first[j]);
  ROLLED for (; i + ROWS <= count; i += ROWS, part.x += ROWS * t->step)
      sum_some(p, &part, count, sums + i * GLOW_VL);
  ROLLED for (; ROWS > 1 && i < count; i++, part.x += t->step)
      sum_one(p, &part, count, sums + i * GLOW_VL);
  end_flushing(mode);
}
#endif

/* ---- Tiles ----------------------------------------------------------------------------------- */

/* Where the results of a tile are: an image, its first channel and pixel. */
typedef struct Place {
  int64_t image, channel, row, col;
} Place;

/* Stores a register of results, past the caches if `far`. */
INLINE void put(float *to, GlowVec v, bool far) {
#if IS_NATIVE
  typedef float Line __attribute__((vector_size(64)));
  if (far) {
    __builtin_nontemporal_store((Line)v, (Line *)(void *)to);
    return;
  }
#endif
  vec_store(to, v);
}

/* Whether results, which are whole cache lines then, leave the caches before they are read: it
 * takes time to read each line before it is written. */
INLINE bool is_far(const GlowBf16PairParams *p, const float *y) {
  enum { MANY = 1 << 20 };
  return IS_NATIVE && p->whole && p->images * p->g.yn > MANY && (uintptr_t)y % LINE == 0 &&
         p->g.yw % PANEL == 0 && p->g.yc % PANEL == 0;
}

#if IS_NATIVE
/* Fetches what the epilogue reads of its operand 0. */
INLINE void fetch_beside(int count, const GlowBf16PairParams *p, const float *operand,
                         const Place *at) {
  operand +=
      at->image * p->g.yn + at->channel / PANEL * p->g.yc + at->row * p->g.yh + at->col * p->g.yw;
  ROLLED for (int64_t j = 0; j < COLUMNS; j += PANEL, operand += p->g.yc) {
    ROLLED for (int64_t i = 0; i < count; i++) __builtin_prefetch(operand + i * p->g.yw, 0, 3);
  }
}
#endif

#ifdef GLOW_LIBRARY
/* Stores a register of `count` pixels from `from` on, if the body is limits, perhaps after a sum
 * with whole registers of an operand. */
INLINE bool put_limited(int count, const float *from, const GlowBf16PairParams *p, float *to,
                        void *const *env, const Place *at, int64_t c, bool far) {
  const GlowBodyCode *b = env[0];
  if (!b || !b->clip)
    return false;
  const GlowLimits limits = limits_of(b);
  const GlowBodyOperand *o = glow_body_operands(b);
  if (!b->noperands) {
    ROLLED for (int64_t i = 0; i < count; i++)
        put(to + i * p->g.yw, within(vec_load(from + i * GLOW_VL), &limits), far);
    return true;
  }
  if (!o->stride[4] || (o->channels % GLOW_VL && c + GLOW_VL > o->channels))
    return false;
  const float *added = env[1];
  added += at->image * o->stride[0] + c / PANEL * o->stride[1] + at->row * o->stride[2] +
           at->col * o->stride[3] + c % PANEL * o->stride[4];
  ROLLED for (int64_t i = 0; i < count; i++) {
    const GlowVec sum = vec_load(from + i * GLOW_VL) + vec_load(added + i * o->stride[3]);
    put(to + i * p->g.yw, within(sum, &limits), far);
  }
  return true;
}
#endif

/* Finishes the sums of `count` pixels and stores them. */
APART void finish(int count, const GlowBf16PairParams *p, float *sums, float *y, void *const *env,
                  const Place *at, GlowEpilogueFn *epilogue) {
  y += at->image * p->g.yn + at->row * p->g.yh + at->col * p->g.yw;
  const bool far = is_far(p, y);
  const int64_t room = p->whole ? (p->g.oc + PANEL - 1) / PANEL * PANEL : p->g.oc;
  ROLLED for (int64_t j = 0; j < VECTORS; j++) {
    const int64_t c = at->channel + j * GLOW_VL, left = p->g.oc - c;
    if (c >= room)
      return;
    float *to = y + c / PANEL * p->g.yc + c % PANEL;
    float *from = sums + j * count * GLOW_VL;
    bool done = left <= 0;
#ifdef GLOW_LIBRARY
    const GlowBodyCode *b = env[0];
    if (left >= GLOW_VL && put_limited(count, from, p, to, env, at, c, far))
      continue;
    if (!done && b && !b->clip) {
      const int64_t place[] = {at->image, c / PANEL, at->row, at->col, c % PANEL};
      glow_body_rows(from, count, GLOW_VL, env, place, 5, c);
      done = true;
    }
#endif
    ROLLED for (int64_t i = 0; i < count; i++) {
      GlowVec v = vec_load(from + i * GLOW_VL);
      if (!done)
        v = finish_pixel(epilogue, v, env, at->image, c, at->row, at->col + i);
      if (left >= GLOW_VL)
        put(to + i * p->g.yw, v, far);
      else if (p->whole)
        vec_store(to + i * p->g.yw, vec_first(v, left));
      else
        vec_store_first(to + i * p->g.yw, v, left);
    }
  }
}

APART Sources sources_of(const GlowBf16PairParams *p, const void *x, const void *w,
                         const float *bias, const void *next, int64_t channel) {
  Sources t = {.x = x, .w = w, .step = p->g.sw * p->pixel * WORD, .next = next};
  /* No panel need be behind the last one; nobody reads what a tile gives there. */
  if (p->g.oc - channel > PANEL)
    t.panel = p->g.kh * p->g.kw * p->tap * PANEL * PAIR;
  UNROLL for (int j = 0; j < VECTORS; j++) {
    const int64_t c = channel + j * GLOW_VL, left = p->g.oc - c;
    t.first[j] = !p->g.bias || left <= 0 ? vec_splat(0)
                 : left >= GLOW_VL       ? vec_load(bias + c)
                                         : vec_load_first(bias + c, left);
  }
  return t;
}

#if IS_NATIVE || !defined(GLOW_LIBRARY)
#define TILE_INLINE INLINE
#else
#define TILE_INLINE APART
#endif
TILE_INLINE void tile(int count, const GlowBf16PairParams *params, GlowEpilogueFn *epilogue,
                      float *y, const float *x, const void *w, const float *bias, void *const *env,
                      const float *next, const Place *at) {
#ifdef GLOW_LIBRARY
  const GlowBf16PairParams *const p = params;
#else
  const GlowBf16PairParams s = *params, *const p = &s;
#endif
  float sums[GLOW_TILE_PIXELS * COLUMNS] __attribute__((aligned(64)));
  const Sources t = sources_of(p, x, w, bias, next, at->channel);
#if IS_NATIVE
  if (p->beside)
    fetch_beside(count, p, env[1], at);
  sum_up(count, p, &t, count, sums);
#else
  sum_parts(count, p, &t, sums);
#endif
  finish(count, p, sums, y, env, at, epilogue);
}

#define TILE(pixels)                                                                               \
  void glow_bf16_pair_tile_##pixels(const GlowBf16PairParams *params, GlowEpilogueFn *epilogue,    \
                                    float *y, const float *x, const uint16_t *w,                   \
                                    const float *bias, void *const *env, float *next,              \
                                    int64_t image, int64_t channel, int64_t row, int64_t col) {    \
    const Place at = {image, channel, row, col};                                                   \
    tile(pixels, params, epilogue, y, x, w, bias, env, next, &at);                                 \
  }
EACH_BF16_PAIR_TILE(TILE)

#ifdef GLOW_LIBRARY
/* By number of pixels. The tiles that a piece names are those of the row's base. */
#define OWN(pixels) glow_bf16_pair_tile_##pixels,
static GlowBf16PairTileFn *const own_tiles[] = {NULL, EACH_BF16_PAIR_TILE(OWN)};
#endif

/* The first pixel of tile t of a row. */
INLINE int64_t tile_at(const GlowBf16PairParams *p, int64_t t) {
  const int64_t wide = p->tiles - p->narrow;
  return t * p->cols - (t > wide ? t - wide : 0);
}

/* The line from which call number `call` of a band fetches on: calls share the pixels that follow
 * pixel `end` of an image, block by block. */
INLINE const float *next_pixels(const GlowBf16PairParams *p, const float *x, int64_t image,
                                int64_t end, int64_t call) {
  const int64_t block = call / p->stretches * p->stride, pixel = call % p->stretches * p->stretch;
  x += end < p->g.ow ? image * p->g.xn + end * p->g.xw : (image + 1) * p->g.xn;
  return x + block * p->g.xc + pixel * p->g.xw;
}

void glow_bf16_pair(const GlowBf16PairParams *params, GlowBf16PairTileFn *full,
                    GlowBf16PairTileFn *small, GlowEpilogueFn *callback, void *const *ptrs,
                    int64_t begin, int64_t end, char *scratch) {
  const GlowBf16PairParams s = *params;
  const GlowBf16PairPtrs at = GLOW_BF16_PAIR_PTRS(ptrs);
  const int64_t panel = s.g.kh * s.g.kw * s.tap * PAIR, wide = s.tiles - s.narrow;
  const bool single = s.g.oh == 1;
#ifdef GLOW_LIBRARY
  full = own_tiles[s.cols];
  small = own_tiles[s.cols - 1];
#endif
  int64_t band_of = -1;
  ROLLED for (int64_t u = begin; u < end; u++) {
    const int64_t part = u % s.parts, band = u / s.parts % s.bands, image = u / s.parts / s.bands;
    const int64_t row = single ? 0 : band * s.band;
    const int64_t rows = single ? 1 : min64(s.g.oh - row, s.band);
    const int64_t t0 = single ? band * s.band : 0;
    const int64_t t1 = single ? min64(t0 + s.band, s.tiles) : s.tiles;
    const int64_t from = tile_at(&s, t0), last = min64((part + 1) * s.columns, s.g.oc);
    int64_t calls = 0;
    if (u / s.parts != band_of) {
      band_of = u / s.parts;
      const float *x = at.x + image * s.g.xn;
      if (s.width)
        copy_flat(&s, scratch, x, from, tile_at(&s, t1));
      else
        copy_band(&s, scratch, x, row, rows, from, tile_at(&s, t1));
    }
    ROLLED for (int64_t c = part * s.columns; c < last; c += COLUMNS) {
      const uint16_t *w = (const uint16_t *)at.w + c * panel;
      /* The first two tiles, or the only one, fetch the next filters. */
      const uint16_t *next = w + (c + COLUMNS < s.g.oc ? COLUMNS : -c) * panel;
      const int64_t last_fetch = (COLUMNS / PANEL - 1) * PANEL * panel;
      ROLLED for (int64_t r = 0; r < rows; r++) {
        const char *x = scratch + r * s.g.sh * s.line * s.pixel * WORD;
        ROLLED for (int64_t t = t0; t < t1; t++) {
          GlowBf16PairTileFn *fn = t < wide ? full : small;
          if (s.ahead < 0)
            next = (const uint16_t *)(const void *)next_pixels(&s, at.x, image, tile_at(&s, t1),
                                                               calls++);
          const int64_t col = tile_at(&s, t), pixel = (col - from) * s.g.sw * s.pixel * WORD;
          fn(GLOW_IN_LIBRARY(params, callback) at.y, (const float *)(const void *)(x + pixel), w,
             at.bias, at.env, (float *)(void *)(uintptr_t)next, image, c, row + r, col);
          if (s.ahead == 1)
            next = r == 0 && t == t0 ? next + last_fetch : w;
        }
      }
    }
  }
#if IS_NATIVE
  __builtin_ia32_sfence(); /* before another thread reads what went past the caches */
#endif
}
