/* Convolutions of bytes, see dot.h: the rows of a product are the windows of outputs, gathered into
 * scratch memory, its columns are filters. Taps outside of the input read its zero point.
 *
 * A convolution of one channel in each group has channels as lanes. Neighbouring rows of X are put
 * between each other, four bytes in a lane with VNNI, otherwise two of i16, so that a lane adds up
 * the products of a part of a window's column; each column of X is used by all windows that it lies
 * in. Without VNNI, or where few channels are left, two taps at a time are pairs of i16. Sums are
 * finished in registers, in the order of lanes. */
#include "kernels/kernels.h"

#include "dot.h"
#include "narrow_numbers.h"

/* ---- Groups of channels ---------------------------------------------------------------------- */

typedef struct Conv {
  const GlowDotConvParams *p;
  const uint8_t *x; /* of the image and group */
  DotA *rows;
  int32_t zero; /* what stands for the zero point of X in rows */
} Conv;

/* The window of an output, tap by tap, whose channels fill whole groups of four. */
INLINE void gather_window(const Conv *v, DotA *to, int64_t oy, int64_t ox) {
  const GlowDotConvParams *p = v->p;
  const int64_t tap = p->tap * DOT_GROUP;
  const bool dense = p->xc == 1 && p->xw == tap && p->ic == tap && p->dw == 1;
  ROLLED for (int64_t r = 0; r < p->kh; r++) {
    const int64_t iy = oy * p->sh - p->pt + r * p->dh, ix = ox * p->sw - p->pl;
    const uint8_t *row = v->x + iy * p->xh;
    if (dense && iy >= 0 && iy < p->ih && ix >= 0 && ix + p->kw <= p->iw) {
      dot_widen(to, row + ix * p->xw, p->kw * tap, p->x_signed);
      to += p->kw * tap;
      continue;
    }
    ROLLED for (int64_t s = 0; s < p->kw; s++, to += tap) {
      const int64_t at = ix + s * p->dw;
      if (iy < 0 || iy >= p->ih || at < 0 || at >= p->iw) {
        for (int64_t c = 0; c < p->ic; c++)
          to[c] = (DotA)v->zero;
      } else if (p->xc == 1) {
        dot_widen(to, row + at * p->xw, p->ic, p->x_signed);
      } else {
        ROLLED for (int64_t c = 0; c < p->ic; c++)
            dot_widen(to + c, row + at * p->xw + c * p->xc, 1, p->x_signed);
      }
      ROLLED for (int64_t c = p->ic; c < tap; c++) to[c] = 0;
    }
  }
}

/* Panels of `columns` filters from w on. */
INLINE void pack_filters(const GlowDotConvParams *p, int8_t *to, const uint8_t *w,
                         int64_t columns) {
  ROLLED for (int64_t col = 0; col < columns; col += DOT_PANEL) {
    const int64_t wide = columns - col < DOT_PANEL ? columns - col : DOT_PANEL;
    ROLLED for (int64_t r = 0; r < p->kh; r++) {
      ROLLED for (int64_t s = 0; s < p->kw; s++, to += p->tap * DOT_BYTES)
          dot_pack(to, w + col * p->wo + r * p->wh + s * p->ww, p->wc, p->wo, p->ic, wide);
    }
  }
}

void glow_dot_conv(const GlowDotConvParams *params, void *const *ptrs, int64_t begin, int64_t end,
                   char *scratch) {
  const GlowDotConvParams p = *params;
  const GlowDotConvPtrs at = GLOW_DOT_CONV_PTRS(ptrs);
  DotA *rows = (DotA *)(void *)scratch, *ones = (DotA *)(void *)(scratch + p.ones_at);
  int32_t *row_sums = (int32_t *)(void *)(scratch + p.sums_at), *zeros = row_sums + p.block;
  int32_t *terms = (int32_t *)(void *)(scratch + p.terms_at), *w_zeros = terms + p.columns;
  int8_t *panels = (int8_t *)scratch + p.panels_at;
  const bool has_w = dot_b_moves((const uint8_t *)at.w_zero, p.w_zeros, p.w_signed);
  Conv v = {.p = &p, .rows = rows};
  v.zero = dot_zero((const uint8_t *)at.x_zero, p.x_zeros, 0, p.x_signed) + dot_a_bias(p.x_signed);
  DotBlock t = {.a = rows, .lda = p.lda, .groups = p.depth, .unsigned_b = !p.w_signed};
  t.cm = p.yw;
  t.cn = p.yc;
  t.a_zeros = p.x_zeros || dot_a_bias(p.x_signed) ? zeros : NULL;
  t.terms = terms;
  t.b_zeros = has_w ? w_zeros : NULL;
  t.row_sums = row_sums;
  ROLLED for (int64_t k = 0; k < p.depth * DOT_GROUP; k++) ones[k] = k % (p.tap * DOT_GROUP) < p.ic;
  ROLLED for (int64_t i = 0; i < p.block; i++) zeros[i] = v.zero;
  int64_t rows_of = -1, columns_of = -1;
  ROLLED for (int64_t u = begin; u < end; u++) {
    const int64_t part = u % p.parts, block = u / p.parts % p.blocks;
    const int64_t group = u / p.parts / p.blocks % p.groups;
    const int64_t image = u / p.parts / p.blocks / p.groups;
    const int64_t first = block * p.block, all = p.oh * p.ow, col = part * p.columns;
    const int64_t count = all - first < p.block ? all - first : p.block;
    t.columns = p.oc - col < p.columns ? p.oc - col : p.columns;
    t.c = at.y + image * p.yn + first * p.yw + (group * p.oc + col) * p.yc;
    if (group * p.parts + part != columns_of) {
      columns_of = group * p.parts + part;
      t.b = p.packed ? (const int8_t *)at.w + col / DOT_PANEL * p.depth * DOT_BYTES : panels;
      if (!p.packed)
        pack_filters(&p, panels, (const uint8_t *)at.w + (group * p.oc + col) * p.wo, t.columns);
      dot_terms(&t, ones, p.kh * p.kw * p.ic, terms, has_w ? w_zeros : NULL,
                (const uint8_t *)at.w_zero, p.w_zeros, group * p.oc + col, p.w_signed);
    }
    if (u / p.parts != rows_of) {
      rows_of = u / p.parts;
      v.x = (const uint8_t *)at.x + image * p.xn + group * p.ic * p.xc;
      int64_t oy = first / p.ow, ox = first % p.ow;
      ROLLED for (int64_t i = 0; i < count; i++) {
        gather_window(&v, rows + i * p.lda, oy, ox);
        if (has_w)
          row_sums[i] = dot_sum(rows + i * p.lda, p.depth * DOT_GROUP);
        oy += ++ox == p.ow;
        ox = ox == p.ow ? 0 : ox;
      }
    }
    dot_block(&t, count);
  }
}

/* ---- One channel in each group --------------------------------------------------------------- */

typedef int8_t LaneI8 __attribute__((vector_size(GLOW_VL), aligned(1)));
typedef uint8_t LaneU8 __attribute__((vector_size(GLOW_VL), aligned(1)));

INLINE GlowVecI load_lanes(const uint8_t *x, bool is_signed) {
  return is_signed ? __builtin_convertvector(*(const LaneI8 *)(const void *)x, GlowVecI)
                   : __builtin_convertvector(*(const LaneU8 *)(const void *)x, GlowVecI);
}

/* Adds the products of both halves of lanes. */
INLINE GlowVecI add_pairs(GlowVecI acc, GlowVecI x, GlowVecI w) {
#if defined(__AVX512BW__) && GLOW_VL == 16
  typedef int16_t In __attribute__((vector_size(64)));
  return acc + (GlowVecI)__builtin_ia32_pmaddwd512((In)x, (In)w);
#elif defined(__AVX2__) && GLOW_VL == 8
  typedef int16_t In __attribute__((vector_size(32)));
  return acc + (GlowVecI)__builtin_ia32_pmaddwd256((In)x, (In)w);
#elif defined(__SSE2__) && GLOW_VL == 4
  typedef int16_t In __attribute__((vector_size(16)));
  return acc + (GlowVecI)__builtin_ia32_pmaddwd128((In)x, (In)w);
#else
  return acc + (x << 16 >> 16) * (w << 16 >> 16) + (x >> 16) * (w >> 16);
#endif
}

INLINE GlowVecI lane_sums(const GlowDotLanesParams *p, const uint8_t *const *taps, int64_t at,
                          const GlowVecI *w, GlowVecI acc) {
  ROLLED for (int64_t t = 0; t < p->pairs; t++) {
    const GlowVecI a = load_lanes(taps[2 * t] + at, p->x_signed);
    const GlowVecI b = load_lanes(taps[2 * t + 1] + at, p->x_signed);
    acc = add_pairs(acc, (p->x_signed ? a & 0xffff : a) | b << 16, w[t]);
  }
  return acc;
}

/* What taps outside of the input read. */
INLINE int32_t outside_of(const GlowDotLanesParams *p, const GlowDotLanesPtrs *at) {
  return p->x_zeros ? dot_zero((const uint8_t *)at->x_zero, p->x_zeros, 0, p->x_signed)
                    : (int32_t)((const GlowNarrowNumbers *)at->numbers)->pad;
}

/* What the sum of channel c begins with: its start, less x_zero times the sum of its weights. */
INLINE int32_t first_sum(const GlowDotLanesPtrs *at, int64_t c, int32_t x_zero, int32_t weights) {
  const uint32_t start = at->start ? (uint32_t)at->start[c] : 0;
  return (int32_t)(start - (uint32_t)x_zero * (uint32_t)weights);
}

/* Weights without their zero points, as pairs of taps of a register of channels, and what sums
 * begin with. */
INLINE void pack_lanes(const GlowDotLanesParams *p, int32_t *w, int32_t *start,
                       const GlowDotLanesPtrs *at, int32_t x_zero) {
  const uint8_t *from = (const uint8_t *)at->w, *zeros = (const uint8_t *)at->w_zero;
  ROLLED for (int64_t c = 0; c < p->channels; c++) {
    const int32_t zero = dot_zero(zeros, p->w_zeros, c, p->w_signed);
    int32_t *to = w + c / GLOW_VL * p->pairs * GLOW_VL + c % GLOW_VL, sum = 0;
    ROLLED for (int64_t t = 0; t < p->kh * p->kw; t++) {
      const uint8_t byte = from[c * p->wo + t / p->kw * p->wh + t % p->kw * p->ww];
      const int32_t weight = (p->w_signed ? (int8_t)byte : byte) - zero;
      int32_t *pair = to + t / 2 * GLOW_VL;
      *pair = t % 2 ? (int32_t)((uint32_t)*pair | (uint32_t)weight << 16) : weight & 0xffff;
      sum += weight;
    }
    start[c] = first_sum(at, c, x_zero, sum);
  }
}

/* ---- Results of lanes ------------------------------------------------------------------------ */

/* What becomes of sums: factors and terms, in the order of lanes. */
typedef struct Finish {
  const GlowDotLanesParams *p;
  float low, high;
  int32_t offset;
  const float *scale, *bias;
  const GlowDotLanesParams *params; /* as the kernel got them, for what is not inlined */
  const void *numbers;
  bool packs; /* bytes may be limited after they are rounded, which is monotone */
#if NARROW_PACKS
  NarrowPack pack;
#endif
} Finish;

INLINE int64_t size_of(int64_t result) { return result == GLOW_NARROW_RESULT_BYTES ? 1 : 4; }
INLINE int64_t result_size(const GlowDotLanesParams *p) { return size_of(p->result); }

/* Number i of a list of factors or terms; a list of one is that of all channels. */
INLINE float number_of(const float *list, int64_t listed, int64_t i, int64_t otherwise) {
  return list ? list[listed > 1 ? i : 0] : narrow_float(otherwise);
}

/* The factors and terms of channels in order, and 0 behind them. */
INLINE void pack_numbers(const GlowDotLanesParams *p, const GlowDotLanesPtrs *at, float *scale,
                         float *bias) {
  const GlowNarrowNumbers *n = (const GlowNarrowNumbers *)at->numbers;
  ROLLED for (int64_t c = 0; c < (p->channels + GLOW_VL - 1) / GLOW_VL * GLOW_VL; c++) {
    const bool has = c < p->channels;
    scale[c] = has ? number_of(at->scale, p->scales, c, n->scale) : 0;
    bias[c] = has ? number_of(at->bias, p->biases, c, n->shift) : 0;
  }
}

/* `fit`: all factors and terms do, see narrow_fits. */
INLINE Finish finish_of(const GlowDotLanesParams *p, const GlowDotLanesParams *params,
                        const GlowDotLanesPtrs *at, const char *scratch, bool fit) {
  const GlowNarrowNumbers *n = (const GlowNarrowNumbers *)at->numbers;
  Finish f = {.p = p, .params = params, .numbers = n, .offset = (int32_t)n->offset};
  f.low = narrow_float(n->low), f.high = narrow_float(n->high);
  f.scale = (const float *)(const void *)(scratch + p->scale_at);
  f.bias = (const float *)(const void *)(scratch + p->bias_at);
  f.packs = fit && f.low > -1024 && f.high < 1024;
#if NARROW_PACKS
  if (f.packs)
    f.pack = narrow_pack_of(p->y_signed, p->bounded, n);
#endif
  return f;
}

/* The bits of a register of results, of which `result` of the params says what they are; those of
 * a byte are its first. */
INLINE GlowVecI finished(int64_t result, const Finish *f, int64_t at, GlowVecI sum) {
  if (result == GLOW_NARROW_RESULT_SUMS)
    return sum;
  const GlowVec t = narrow_between(vec_fma(__builtin_convertvector(sum, GlowVec),
                                           vec_load(f->scale + at), vec_load(f->bias + at)),
                                   f->low, f->high);
  return result == GLOW_NARROW_RESULT_BYTES ? narrow_rounded_any(t, f->offset) : (GlowVecI)t;
}

/* Stores a register of finished results. */
INLINE void put_finished(int64_t result, char *y, GlowVecI v) {
  if (result == GLOW_NARROW_RESULT_BYTES)
    *(NarrowU8 *)(void *)y = __builtin_convertvector(v, NarrowU8);
  else
    *(GlowVecI *)(void *)y = v;
}

/* ---- Pairs of taps --------------------------------------------------------------------------- */

/* The sums of all rows, by pairs of taps. */
INLINE void lanes_by_pairs(const GlowDotLanesParams *params, const GlowDotLanesPtrs *ptrs,
                           int64_t begin, int64_t end, char *scratch) {
  const GlowDotLanesParams p = *params;
  const GlowDotLanesPtrs at = *ptrs;
  int32_t *w = (int32_t *)(void *)scratch, *start = (int32_t *)(void *)(scratch + p.start_at);
  uint8_t *zero_row = (uint8_t *)scratch + p.zeros_at;
  const uint8_t **taps = (const uint8_t **)(void *)(scratch + p.taps_at);
  const int32_t outside = outside_of(&p, &at);
  const int64_t whole = p.channels / GLOW_VL * GLOW_VL;
  const int64_t size = result_size(&p), rest = p.channels - whole;
  pack_lanes(&p, w, start, &at, p.x_zeros ? outside : 0);
  if (p.result != GLOW_NARROW_RESULT_SUMS)
    pack_numbers(&p, &at, (float *)(void *)(scratch + p.scale_at),
                 (float *)(void *)(scratch + p.bias_at));
  const Finish f = finish_of(&p, params, &at, scratch, false);
  __builtin_memset(zero_row, outside, (size_t)p.channels);
  ROLLED for (int64_t u = begin; u < end; u++) {
    const int64_t oy = u % p.oh;
    const uint8_t *x = (const uint8_t *)at.x + u / p.oh * p.xn;
    char *y = (char *)at.y + (u / p.oh * p.yn + oy * p.yh) * size;
    ROLLED for (int64_t ox = 0; ox < p.ow; ox++, y += p.yw * size) {
      ROLLED for (int64_t t = 0; t < 2 * p.pairs; t++) {
        const int64_t iy = oy * p.sh - p.pt + t / p.kw * p.dh;
        const int64_t ix = ox * p.sw - p.pl + t % p.kw * p.dw;
        const bool in = iy >= 0 && iy < p.ih && ix >= 0 && ix < p.iw && t < p.kh * p.kw;
        taps[t] = in ? x + iy * p.xh + ix * p.xw : zero_row;
      }
      ROLLED for (int64_t c = 0; c < whole; c += GLOW_VL) {
        const GlowVecI *of = (const GlowVecI *)(w + c * p.pairs);
        const GlowVecI sum = lane_sums(&p, taps, c, of, *(const GlowVecI *)(start + c));
        put_finished(p.result, y + c * size, finished(p.result, &f, c, sum));
      }
      int32_t sums[GLOW_VL] = {0}, results[GLOW_VL];
      ROLLED for (int64_t c = whole; c < p.channels; c++) {
        const int32_t *pairs = w + whole * p.pairs + c - whole;
        int32_t sum = start[c];
        ROLLED for (int64_t t = 0; t < p.kh * p.kw; t++) {
          const int32_t weight = (int16_t)(pairs[t / 2 * GLOW_VL] >> (t % 2 * 16));
          sum += weight * (p.x_signed ? (int8_t)taps[t][c] : taps[t][c]);
        }
        sums[c - whole] = sum;
      }
      if (rest) {
        put_finished(p.result, (char *)results,
                     finished(p.result, &f, whole, *(const GlowVecI *)sums));
        __builtin_memcpy(y + whole * size, results, (size_t)(rest * size));
      }
    }
  }
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* Rows of X in a lane; registers of sums of a block; outputs that are summed up together. */
#if DOT_FOURS && GLOW_VL == 16
enum { ROWS = 4 };
#else
enum { ROWS = 2 };
#endif
enum { NEIGHBOURS = ROWS == 4 };
enum { ANY_SIDE = IN_LIBRARY }; /* fewer outputs than SIDE may be summed up together */
enum { WIDE = 4, BLOCK = WIDE * GLOW_VL, SIDE = GLOW_VL == 16 ? 4 : 2 };

#if DOT_FOURS && GLOW_VL == 16
typedef uint8_t Bytes64 __attribute__((vector_size(64), aligned(1)));
typedef uint8_t Bytes32 __attribute__((vector_size(32), aligned(1)));
#define BYTES8(o) (o), (o) + 1, (o) + 2, (o) + 3, (o) + 4, (o) + 5, (o) + 6, (o) + 7
typedef int16_t Words32 __attribute__((vector_size(64)));
#define BYTES16(o)                                                                                 \
  (o), (o) + 64, (o) + 1, (o) + 65, (o) + 2, (o) + 66, (o) + 3, (o) + 67, (o) + 4, (o) + 68,       \
      (o) + 5, (o) + 69, (o) + 6, (o) + 70, (o) + 7, (o) + 71
#define WORDS8(o) (o), (o) + 32, (o) + 1, (o) + 33, (o) + 2, (o) + 34, (o) + 3, (o) + 35
#define MIX_BYTES(a, b, o)                                                                         \
  ((Words32)__builtin_shufflevector(a, b, BYTES16(o), BYTES16(o + 16), BYTES16(o + 32),            \
                                    BYTES16(o + 48)))
#define MIX_WORDS(a, b, o)                                                                         \
  ((GlowVecI)__builtin_shufflevector(a, b, WORDS8(o), WORDS8(o + 8), WORDS8(o + 16),               \
                                     WORDS8(o + 24)))
#define QUADS(a, b, i, j, k, l)                                                                    \
  __builtin_shufflevector(a, b, i, i + 1, i + 2, i + 3, j, j + 1, j + 2, j + 3, k, k + 1, k + 2,   \
                          k + 3, l, l + 1, l + 2, l + 3)

/* The channel of lane l of register q: quarters of 16 bytes are mixed one by one. */
INLINE int64_t lane_channel(int64_t q, int64_t l) { return l / 4 * 16 + 4 * q + l % 4; }

/* The channels of a block, or those of its first half and zeros. */
INLINE Bytes64 load_channels(const uint8_t *x, const bool half) {
  if (!half)
    return *(const Bytes64 *)x;
  const Bytes32 h = *(const Bytes32 *)x, none = {0};
  return __builtin_shufflevector(h, none, BYTES8(0), BYTES8(8), BYTES8(16), BYTES8(24), BYTES8(32),
                                 BYTES8(40), BYTES8(48), BYTES8(56));
}

/* Puts the bytes of four rows between each other. Signed ones have their first bit turned. With
 * `half`, the second half of the block is not read. */
INLINE void mix_rows(GlowVecI *to, const uint8_t *const *row, int64_t at, bool is_signed,
                     const bool half) {
  const Bytes64 flip = (Bytes64){0} + (uint8_t)(is_signed ? 0x80 : 0);
  const Bytes64 a = load_channels(row[0] + at, half) ^ flip;
  const Bytes64 b = load_channels(row[1] + at, half) ^ flip;
  const Bytes64 c = load_channels(row[2] + at, half) ^ flip;
  const Bytes64 d = load_channels(row[3] + at, half) ^ flip;
  const Words32 ab[] = {MIX_BYTES(a, b, 0), MIX_BYTES(a, b, 8)};
  const Words32 cd[] = {MIX_BYTES(c, d, 0), MIX_BYTES(c, d, 8)};
  UNROLL for (int h = 0; h < 2; h++) {
    to[2 * h] = MIX_WORDS(ab[h], cd[h], 0);
    to[2 * h + 1] = MIX_WORDS(ab[h], cd[h], 4);
  }
}

INLINE GlowVecI add_rows(GlowVecI acc, GlowVecI x, GlowVecI w) { return dot_step(acc, x, w); }

/* Stores sums in the order of channels. */
INLINE void put_block(int32_t *y, const GlowVecI *v) {
  const GlowVecI a = QUADS(v[0], v[1], 0, 16, 4, 20), b = QUADS(v[0], v[1], 8, 24, 12, 28);
  const GlowVecI c = QUADS(v[2], v[3], 0, 16, 4, 20), d = QUADS(v[2], v[3], 8, 24, 12, 28);
  *(GlowVecI *)y = QUADS(a, c, 0, 4, 16, 20);
  *(GlowVecI *)(y + 16) = QUADS(a, c, 8, 12, 24, 28);
  *(GlowVecI *)(y + 32) = QUADS(b, d, 0, 4, 16, 20);
  *(GlowVecI *)(y + 48) = QUADS(b, d, 8, 12, 24, 28);
}

#if NARROW_PACKS
INLINE NarrowBytes in_order(NarrowBytes v) { return v; } /* as lane_channel has them */
#endif
INLINE bool fits_lane(int32_t weight) { return weight >= -128 && weight <= 127; }
#else
INLINE int64_t lane_channel(int64_t q, int64_t l) { return q * GLOW_VL + l; }
INLINE void mix_rows(GlowVecI *to, const uint8_t *const *row, int64_t at, bool is_signed,
                     const bool half) {
  UNROLL for (int q = 0; q < WIDE; q++) {
    if (half && q >= WIDE / 2) {
      to[q] = (GlowVecI){0};
      continue;
    }
    const GlowVecI a = load_lanes(row[0] + at + q * GLOW_VL, is_signed);
    const GlowVecI b = load_lanes(row[1] + at + q * GLOW_VL, is_signed);
    to[q] = (is_signed ? a & 0xffff : a) | b << 16;
  }
}
INLINE GlowVecI add_rows(GlowVecI acc, GlowVecI x, GlowVecI w) { return add_pairs(acc, x, w); }
INLINE void put_block(int32_t *y, const GlowVecI *v) {
  UNROLL for (int q = 0; q < WIDE; q++) * (GlowVecI *)(y + q * GLOW_VL) = v[q];
}
#if NARROW_PACKS
INLINE NarrowBytes in_order(NarrowBytes v) {
  const NarrowInts d = (NarrowInts)v;
#if GLOW_VL == 16
  return (NarrowBytes)__builtin_shufflevector(d, d, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7,
                                              11, 15);
#else
  return (NarrowBytes)__builtin_shufflevector(d, d, 0, 4, 1, 5, 2, 6, 3, 7);
#endif
}
#endif
INLINE bool fits_lane(int32_t weight) {
  (void)weight;
  return true;
}
#endif

/* Channels of a block: all there are, if they are fewer than a block has. */
INLINE int64_t block_channels(const GlowDotLanesParams *p) {
  return p->channels < BLOCK ? p->channels : BLOCK;
}
INLINE int64_t first_channel(const GlowDotLanesParams *p, int64_t block) {
  return block + 1 < p->blocks ? block * BLOCK : p->channels - block_channels(p);
}

/* Weights of a block without their zero points, [columns][groups of rows][WIDE registers], and what
 * its sums begin with. False if a weight does not fit a lane. */
INLINE bool pack_block(const GlowDotLanesParams *p, int32_t *w, int32_t *start,
                       const GlowDotLanesPtrs *at, int64_t first, int32_t x_zero) {
  const int64_t groups = (p->kh + ROWS - 1) / ROWS;
  bool fits = true;
  ROLLED for (int64_t i = 0; i < BLOCK; i++) {
    const int64_t lane = lane_channel(i / GLOW_VL, i % GLOW_VL), c = first + lane;
    if (lane >= block_channels(p)) {
      ROLLED for (int64_t k = 0; k < p->kw * groups; k++) w[k * BLOCK + i] = 0;
      start[i] = 0;
      continue;
    }
    const uint8_t *from = (const uint8_t *)at->w + c * p->wo;
    const int32_t zero = dot_zero((const uint8_t *)at->w_zero, p->w_zeros, c, p->w_signed);
    int32_t sum = 0;
    ROLLED for (int64_t k = 0; k < p->kw; k++) ROLLED for (int64_t g = 0; g < groups; g++) {
      uint32_t bytes = 0;
      UNROLL for (int r = 0; r < ROWS; r++) {
        if (g * ROWS + r >= p->kh)
          continue;
        const uint8_t byte = from[(g * ROWS + r) * p->wh + k * p->ww];
        const int32_t weight = (p->w_signed ? (int8_t)byte : byte) - zero;
        if (p->w_zeros || !p->w_signed) /* others do */
          fits &= fits_lane(weight);
        bytes |= ((uint32_t)weight & (ROWS == 4 ? 0xff : 0xffff)) << r * (32 / ROWS);
        sum += weight;
      }
      w[(k * groups + g) * BLOCK + i] = (int32_t)bytes;
    }
    start[i] = first_sum(at, c, x_zero, sum);
  }
  return fits;
}

typedef int32_t FourInts __attribute__((vector_size(16), aligned(4)));
typedef float FourFloats __attribute__((vector_size(16), aligned(4)));

#if DOT_FOURS && GLOW_VL == 16
/* Whether all blocks are whole, and weights are windows of 3 x 3 bytes one after the other. */
INLINE bool has_threes(const GlowDotLanesParams *p) {
  return p->kh == 3 && p->kw == 3 && p->wo == 9 && p->wh == 3 && p->ww == 1 && p->w_signed &&
         !p->w_zeros && p->channels >= BLOCK;
}

/* The columns of the window of channel c: three lanes of three bytes. Nothing behind the last
 * weight is read. */
INLINE FourInts window_of(const GlowDotLanesParams *p, const uint8_t *w, int64_t c) {
  typedef uint8_t Bytes16 __attribute__((vector_size(16)));
  Bytes16 v = {0};
  if (c + 1 < p->channels)
    __builtin_memcpy(&v, w + c * 9, 16);
  else
    __builtin_memcpy(&v, w + c * 9, 9);
  return (FourInts)__builtin_shufflevector(v, (Bytes16){0}, 0, 3, 6, 16, 1, 4, 7, 16, 2, 5, 8, 16,
                                           16, 16, 16, 16);
}

/* pack_block of such weights, four channels at a time. */
INLINE void pack_threes(const GlowDotLanesParams *p, int32_t *w, int32_t *start,
                        const GlowDotLanesPtrs *at, int64_t first, int32_t x_zero) {
  ROLLED for (int64_t i = 0; i < BLOCK; i += 4) {
    const int64_t c = first + lane_channel(i / GLOW_VL, i % GLOW_VL);
    FourInts v[4], sum = {0}, begin = {0};
    UNROLL for (int n = 0; n < 4; n++) v[n] = window_of(p, (const uint8_t *)at->w, c + n);
    const FourInts ab = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5);
    const FourInts cd = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
    const FourInts column[] = {
        __builtin_shufflevector(ab, cd, 0, 1, 4, 5), __builtin_shufflevector(ab, cd, 2, 3, 6, 7),
        __builtin_shufflevector(__builtin_shufflevector(v[0], v[1], 2, 6, 2, 6),
                                __builtin_shufflevector(v[2], v[3], 2, 6, 2, 6), 0, 1, 4, 5)};
    UNROLL for (int k = 0; k < 3; k++) {
      sum += (column[k] << 24 >> 24) + (column[k] << 16 >> 24) + (column[k] << 8 >> 24);
      *(FourInts *)(w + k * BLOCK + i) = column[k];
    }
    if (at->start)
      begin = *(const FourInts *)(at->start + c);
    *(FourInts *)(start + i) = begin - sum * x_zero;
  }
}
#endif

/* pack_block; library code knows the window and the weights that most networks have. */
APART bool pack_any_block(const GlowDotLanesParams *p, int32_t *w, int32_t *start,
                          const GlowDotLanesPtrs *at, int64_t first, int32_t x_zero) {
#if DOT_FOURS && GLOW_VL == 16
  if (has_threes(p)) {
    pack_threes(p, w, start, at, first, x_zero);
    return true;
  }
#endif
#ifdef GLOW_LIBRARY
  if (p->kh == 3 && p->kw == 3 && p->wh == 3 && p->ww == 1 && p->w_signed && !p->w_zeros) {
    GlowDotLanesParams fixed = *p;
    fixed.kh = fixed.kw = fixed.wh = 3;
    fixed.ww = fixed.w_signed = 1;
    fixed.w_zeros = 0;
    return pack_block(&fixed, w, start, at, first, x_zero);
  }
#endif
  return pack_block(p, w, start, at, first, x_zero);
}

/* number_of for four channels. */
INLINE FourFloats numbers_of(const float *list, int64_t listed, int64_t i, int64_t otherwise) {
  if (list && listed > 1)
    return *(const FourFloats *)(list + i);
  return (FourFloats){0} + number_of(list, listed, i, otherwise);
}

/* The factors and terms of a whole block from channel `first` on, as narrow_fits. */
INLINE bool pack_whole_numbers(const GlowDotLanesParams *p, const GlowDotLanesPtrs *at,
                               float *scale, float *bias, int64_t first) {
  const GlowNarrowNumbers *n = (const GlowNarrowNumbers *)at->numbers;
  FourInts fit = (FourInts){0} == 0;
  ROLLED for (int64_t i = 0; i < BLOCK; i += 4) {
    const int64_t c = first + lane_channel(i / GLOW_VL, i % GLOW_VL);
    const FourFloats s = numbers_of(at->scale, p->scales, c, n->scale);
    const FourFloats b = numbers_of(at->bias, p->biases, c, n->shift);
    *(FourFloats *)(scale + i) = s;
    *(FourFloats *)(bias + i) = b;
    fit &= (FourInts)NARROW_FITS(s, b);
  }
  return __builtin_reduce_and(fit) != 0;
}

/* The factors and terms of a block. Whether all fit. */
APART bool pack_block_numbers(const GlowDotLanesParams *p, const GlowDotLanesPtrs *at,
                              char *scratch, int64_t block) {
  const GlowNarrowNumbers *n = (const GlowNarrowNumbers *)at->numbers;
  float *scale = (float *)(void *)(scratch + p->scale_at) + block * BLOCK;
  float *bias = (float *)(void *)(scratch + p->bias_at) + block * BLOCK;
  const int64_t first = first_channel(p, block);
  bool fit = true;
  if (p->channels >= BLOCK)
    return pack_whole_numbers(p, at, scale, bias, first);
  ROLLED for (int64_t i = 0; i < BLOCK; i++) {
    const int64_t c = lane_channel(i / GLOW_VL, i % GLOW_VL);
    const bool has = c < block_channels(p);
    scale[i] = has ? number_of(at->scale, p->scales, first + c, n->scale) : 0;
    bias[i] = has ? number_of(at->bias, p->biases, first + c, n->shift) : 0;
    fit &= narrow_fits(scale[i], bias[i]);
  }
  return fit;
}

/* Stores what the sums of a block become, in the order of channels; `at`: where its factors are. */
INLINE void put_results(int64_t result, const Finish *f, int64_t at, char *y,
                        const GlowVecI *sums) {
  GlowVecI v[WIDE];
  int32_t all[BLOCK];
  UNROLL for (int q = 0; q < WIDE; q++) v[q] = finished(result, f, at + q * GLOW_VL, sums[q]);
  if (result != GLOW_NARROW_RESULT_BYTES) {
    put_block((int32_t *)(void *)y, v);
    return;
  }
  put_block(all, v);
  UNROLL for (int q = 0; q < WIDE; q++)
      put_finished(result, y + q * GLOW_VL, *(const GlowVecI *)(all + q * GLOW_VL));
}

/* The same for as many channels as there are. */
INLINE void put_channels(int64_t result, const Finish *f, int64_t at, char *y,
                         const GlowVecI *sums) {
  const GlowDotLanesParams *p = f->p;
  char all[BLOCK * 4];
  if (p->channels >= BLOCK) {
    put_results(result, f, at, y, sums);
  } else {
    put_results(result, f, at, all, sums);
    __builtin_memcpy(y, all, (size_t)(p->channels * size_of(result)));
  }
}

#if NARROW_PACKS
/* Bytes of `side` outputs, which may be packed. */
INLINE void put_packed(int side, const Finish *f, int64_t at, char *y, GlowVecI (*sums)[WIDE]) {
  const GlowDotLanesParams *p = f->p;
  NarrowInts q[SIDE][WIDE];
  UNROLL for (int j = 0; j < WIDE; j++) {
    const GlowVec scale = vec_load(f->scale + at + j * GLOW_VL);
    const GlowVec bias = vec_load(f->bias + at + j * GLOW_VL);
    UNROLL for (int i = 0; i < side; i++) q[i][j] =
        narrow_to_ints(vec_fma(__builtin_convertvector(sums[i][j], GlowVec), scale, bias));
  }
  UNROLL for (int i = 0; i < side; i++) {
    const NarrowBytes b = in_order(narrow_pack(&f->pack, q[i]));
    if (p->channels >= BLOCK)
      *(NarrowBytes *)(void *)(y + i * p->yw) = b;
    else if (p->channels == BLOCK / 2)
      __builtin_memcpy(y + i * p->yw, &b, BLOCK / 2);
    else
      __builtin_memcpy(y + i * p->yw, &b, (size_t)p->channels);
  }
}

/* Bytes that may not be packed: rare, so compiled code has this once. */
NARROW_APART void put_apart(const GlowDotLanesParams *p, const GlowNarrowNumbers *n,
                            const float *scale, const float *bias, int64_t side, int64_t at,
                            char *y, const GlowVecI *sums) {
  Finish f = {.p = p, .scale = scale, .bias = bias, .offset = (int32_t)n->offset};
  f.low = narrow_float(n->low), f.high = narrow_float(n->high);
  ROLLED for (int64_t i = 0; i < side; i++)
      put_channels(GLOW_NARROW_RESULT_BYTES, &f, at, y + i * p->yw, sums + i * WIDE);
}
INLINE void put_rare(int side, const Finish *f, int64_t at, char *y, GlowVecI (*sums)[WIDE]) {
  GlowVecI all[SIDE * WIDE];
  UNROLL for (int i = 0; i < side * WIDE; i++) all[i] = sums[i / WIDE][i % WIDE];
  put_apart(f->params, f->numbers, f->scale, f->bias, side, at, y, all);
}
#endif

/* Sums of `side` outputs, whose windows begin `next` registers apart: of `kw` columns that are `dw`
 * apart, `groups` of rows each. */
INLINE void sum_lanes(int side, int64_t kw, int64_t dw, int64_t groups, const GlowVecI *x,
                      int64_t next, const GlowVecI *w, GlowVecI (*acc)[WIDE]) {
  ROLLED for (int64_t k = 0; k < kw; k++) {
    const GlowVecI *column = x + k * dw * groups * WIDE;
    ROLLED for (int64_t g = 0; g < groups; g++, w += WIDE, column += WIDE) {
      UNROLL for (int q = 0; q < WIDE; q++) {
        const GlowVecI weights = w[q];
        UNROLL for (int i = 0; i < side; i++) acc[i][q] =
            add_rows(acc[i][q], column[i * next + q], weights);
      }
    }
  }
}

/* The same of windows of `kw` columns, each one behind the one before. */
INLINE void sum_neighbours(int side, int kw, const GlowVecI *x, const GlowVecI *w,
                           GlowVecI (*acc)[WIDE]) {
  UNROLL for (int q = 0; q < WIDE; q++) {
    UNROLL for (int c = 0; c < side + kw - 1; c++) {
      const GlowVecI column = x[c * WIDE + q];
      UNROLL for (int k = 0; k < kw; k++) {
        if (c >= k && c - k < side)
          acc[c - k][q] = add_rows(acc[c - k][q], column, w[k * WIDE + q]);
      }
    }
  }
}

/* Results of `side` outputs, whose windows begin `next` registers apart. */
INLINE void lane_block(int side, const Finish *f, const GlowVecI *x, int64_t next,
                       const GlowVecI *w, const GlowVecI *start, int64_t at, char *y) {
  const GlowDotLanesParams *p = f->p;
  GlowVecI acc[SIDE][WIDE];
  UNROLL for (int i = 0; i < side; i++) {
    UNROLL for (int q = 0; q < WIDE; q++) acc[i][q] = start[q];
  }
  const int64_t groups = (p->kh + ROWS - 1) / ROWS;
  const bool threes = p->kw == 3 && p->dw == 1 && groups == (3 + ROWS - 1) / ROWS;
  if (NEIGHBOURS && side > 1 && threes && next == WIDE)
    sum_neighbours(side, 3, x, w, acc);
  else if (threes) /* as most networks have */
    sum_lanes(side, 3, 1, (3 + ROWS - 1) / ROWS, x, next, w, acc);
  else
    sum_lanes(side, p->kw, p->dw, groups, x, next, w, acc);
#if NARROW_PACKS
  if (p->result == GLOW_NARROW_RESULT_BYTES) {
    if (f->packs)
      put_packed(side, f, at, y, acc);
    else
      put_rare(side, f, at, y, acc);
    return;
  }
#endif
  UNROLL for (int i = 0; i < side; i++)
      put_channels(p->result, f, at, y + i * p->yw * result_size(p), acc[i]);
}

/* lane_block of 1 to SIDE outputs. */
#define LANE_SIDE(side)                                                                            \
  APART void lane_side_##side(const Finish *f, const GlowVecI *x, int64_t next, const GlowVecI *w, \
                              const GlowVecI *start, int64_t at, char *y) {                        \
    if (side <= SIDE)                                                                              \
      lane_block(side <= SIDE ? side : 1, f, x, next, w, start, at, y);                            \
  }
LANE_SIDE(1)
LANE_SIDE(2)
LANE_SIDE(3)
LANE_SIDE(4)
#undef LANE_SIDE
INLINE void lane_side(int64_t side, const Finish *f, const GlowVecI *x, int64_t next,
                      const GlowVecI *w, const GlowVecI *start, int64_t at, char *y) {
  if (SIDE == 4 && side == 4)
    lane_side_4(f, x, next, w, start, at, y);
  else if (ANY_SIDE && side == 3)
    lane_side_3(f, x, next, w, start, at, y);
  else if ((ANY_SIDE || SIDE == 2) && side == 2)
    lane_side_2(f, x, next, w, start, at, y);
  else
    lane_side_1(f, x, next, w, start, at, y);
}

/* mix_rows of fewer channels than a block has. Nothing behind them is read. */
INLINE void mix_few(GlowVecI *to, const uint8_t *const *row, int64_t channels, bool is_signed) {
  uint8_t copies[ROWS][BLOCK];
  const uint8_t *copy[ROWS];
  UNROLL for (int r = 0; r < ROWS; r++) {
    UNROLL for (int i = 0; i < BLOCK; i += GLOW_VL) {
      if (i + GLOW_VL > channels)
        *(LaneU8 *)(copies[r] + i) = (LaneU8){0};
    }
    __builtin_memcpy(copies[r], row[r], (size_t)channels);
    copy[r] = copies[r];
  }
  mix_rows(to, copy, 0, is_signed, false);
}

/* How rows are mixed: as many channels as a block has, half of them, or fewer than a block. */
typedef enum Mix { MIX_WHOLE, MIX_HALF, MIX_FEW } Mix;

/* Puts `count` columns of X into scratch memory, `pitch` registers apart; rows of it are at `part`,
 * whose columns are `step` bytes apart. */
INLINE void mix_run(Mix mix, const GlowDotLanesParams *p, bool is_signed, GlowVecI *to,
                    int64_t pitch, const uint8_t **part, const int64_t *step, int64_t count) {
  ROLLED for (int64_t i = 0; i < count; i++, to += pitch) {
    if (mix == MIX_FEW)
      mix_few(to, part, p->channels, is_signed);
    else
      mix_rows(to, part, 0, is_signed, mix == MIX_HALF);
    UNROLL for (int r = 0; r < ROWS; r++) part[r] += step[r];
  }
}

INLINE int64_t within(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

/* Puts columns [0, count) of X into scratch memory, beginning with column `left`; those that are
 * not there are zero points. `row`: where the rows of a window begin, and behind them that of zero
 * points, up to whole groups. */
APART void mix_columns(const GlowDotLanesParams *p, GlowVecI *to, const uint8_t *const *row,
                       const uint8_t *zeros, int64_t left, int64_t count, int64_t first) {
  const int64_t groups = (p->kh + ROWS - 1) / ROWS;
  const int64_t begin = within(-left, 0, count), end = within(p->iw - left, begin, count);
  const int64_t ends[] = {begin, end, count};
  ROLLED for (int64_t g = 0; g < groups; g++) {
    int64_t i = 0;
    ROLLED for (int k = 0; k < 3; k++) { /* columns before the map, in it, and behind it */
      const uint8_t *part[ROWS];
      int64_t step[ROWS];
      UNROLL for (int r = 0; r < ROWS; r++) {
        const uint8_t *line = row[g * ROWS + r];
        const bool in = k == 1 && line != zeros;
        part[r] = (in ? line + (left + i) * p->xw : zeros) + first;
        step[r] = in ? p->xw : 0;
      }
      GlowVecI *at = to + (i * groups + g) * WIDE;
      if (p->channels == BLOCK / 2) /* as first layers of networks have */
        mix_run(MIX_HALF, p, p->x_signed, at, groups * WIDE, part, step, ends[k] - i);
      else if (p->channels < BLOCK)
        mix_run(MIX_FEW, p, p->x_signed, at, groups * WIDE, part, step, ends[k] - i);
      else if (p->x_signed)
        mix_run(MIX_WHOLE, p, true, at, groups * WIDE, part, step, ends[k] - i);
      else
        mix_run(MIX_WHOLE, p, false, at, groups * WIDE, part, step, ends[k] - i);
      i = ends[k];
    }
  }
}

/* A row of outputs. Where all parts of it have as many as are summed up together, compiled code
 * sums up the last ones with some of those before again. */
INLINE void lane_row(const Finish *f, const uint8_t *x, int64_t oy, char *y, char *scratch) {
  const GlowDotLanesParams *p = f->p;
  const int64_t size = result_size(p), last = p->ow % p->chunk;
  const bool overlaps = !ANY_SIDE && p->chunk >= SIDE && (!last || last >= SIDE);
  const int64_t groups = (p->kh + ROWS - 1) / ROWS, column = groups * WIDE;
  const uint8_t *zeros = (const uint8_t *)scratch + p->zeros_at;
  const uint8_t **row = (const uint8_t **)(void *)(scratch + p->taps_at);
  GlowVecI *columns = (GlowVecI *)(void *)(scratch + p->columns_at);
  ROLLED for (int64_t r = 0; r < groups * ROWS; r++) {
    const int64_t iy = oy * p->sh - p->pt + r * p->dh;
    row[r] = iy >= 0 && iy < p->ih && r < p->kh ? x + iy * p->xh : zeros;
  }
  ROLLED for (int64_t b = 0; b < p->blocks; b++) {
    const int64_t first = first_channel(p, b);
    const GlowVecI *w = (const GlowVecI *)(const void *)scratch + b * p->kw * column;
    const GlowVecI *start = (const GlowVecI *)(const void *)(scratch + p->start_at) + b * WIDE;
    ROLLED for (int64_t o = 0; o < p->ow; o += p->chunk) {
      const int64_t count = p->ow - o < p->chunk ? p->ow - o : p->chunk;
      mix_columns(p, columns, row, zeros, o * p->sw - p->pl,
                  (count - 1) * p->sw + (p->kw - 1) * p->dw + 1, first);
      int64_t i = 0;
      ROLLED for (; i + (overlaps ? 1 : SIDE) <= count; i += SIDE) {
        const int64_t from = i + SIDE <= count ? i : count - SIDE;
        lane_side(SIDE, f, columns + from * p->sw * column, p->sw * column, w, start, b * BLOCK,
                  y + ((o + from) * p->yw + first) * size);
      }
      const int64_t side = ANY_SIDE ? count - i : 1;
      ROLLED for (; !overlaps && i < count; i += side)
          lane_side(side, f, columns + i * p->sw * column, p->sw * column, w, start, b * BLOCK,
                    y + ((o + i) * p->yw + first) * size);
    }
  }
}

/* Rows [begin, end) of outputs of all images. */
INLINE void lane_rows(const Finish *f, const GlowDotLanesPtrs *at, int64_t begin, int64_t end,
                      char *scratch) {
  const GlowDotLanesParams *p = f->p;
  ROLLED for (int64_t u = begin; u < end; u++) {
    const int64_t oy = u % p->oh, to = u / p->oh * p->yn + oy * p->yh;
    lane_row(f, (const uint8_t *)at->x + u / p->oh * p->xn, oy, (char *)at->y + to * result_size(p),
             scratch);
  }
}

void glow_dot_lanes(const GlowDotLanesParams *params, void *const *ptrs, int64_t begin, int64_t end,
                    char *scratch) {
  const GlowDotLanesParams p = *params;
  const GlowDotLanesPtrs at = GLOW_DOT_LANES_PTRS(ptrs);
  const int32_t bias = ROWS == 4 ? dot_a_bias(p.x_signed) : 0;
  const int32_t outside = outside_of(&p, &at), zero = p.x_zeros ? outside : 0;
  bool fits = p.blocks > 0, fit = true;
  ROLLED for (int64_t b = 0; fits && b < p.blocks; b++) {
    int32_t *w = (int32_t *)(void *)scratch + b * p.kw * ((p.kh + ROWS - 1) / ROWS) * BLOCK;
    fits = pack_any_block(&p, w, (int32_t *)(void *)(scratch + p.start_at) + b * BLOCK, &at,
                          first_channel(&p, b), zero + bias);
    if (p.result != GLOW_NARROW_RESULT_SUMS)
      fit &= pack_block_numbers(&p, &at, scratch, b);
  }
  if (!fits) {
    lanes_by_pairs(&p, &at, begin, end, scratch);
    return;
  }
  __builtin_memset(scratch + p.zeros_at, outside, (size_t)p.channels);
  Finish f = finish_of(&p, params, &at, scratch, fit);
  lane_rows(&f, &at, begin, end, scratch);
}
