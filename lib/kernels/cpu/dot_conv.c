/* Convolutions of bytes, see dot.h: the rows of a product are the windows of outputs, gathered into
 * scratch memory, its columns are filters. Taps outside of the input read its zero point.
 *
 * A convolution of one channel in each group has channels as lanes: two taps at a time are pairs of
 * i16, whose products with pairs of weights a lane adds up. */
#include "kernels/kernels.h"

#include "dot.h"

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
  const bool has_w = p.w_zeros || dot_b_bias(p.w_signed);
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

/* Weights without their zero points, as pairs of taps of a register of channels, and what sums
 * begin with: -x_zero times the sum of the weights. */
INLINE void pack_lanes(const GlowDotLanesParams *p, int32_t *w, int32_t *start, const uint8_t *from,
                       const uint8_t *zeros, int32_t x_zero) {
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
    start[c] = -x_zero * sum;
  }
}

void glow_dot_lanes(const GlowDotLanesParams *params, void *const *ptrs, int64_t begin, int64_t end,
                    char *scratch) {
  const GlowDotLanesParams p = *params;
  const GlowDotLanesPtrs at = GLOW_DOT_LANES_PTRS(ptrs);
  int32_t *w = (int32_t *)(void *)scratch, *start = (int32_t *)(void *)(scratch + p.start_at);
  uint8_t *zero_row = (uint8_t *)scratch + p.zeros_at;
  const uint8_t **taps = (const uint8_t **)(void *)(scratch + p.taps_at);
  const int32_t zero = dot_zero((const uint8_t *)at.x_zero, p.x_zeros, 0, p.x_signed);
  const int64_t whole = p.channels / GLOW_VL * GLOW_VL;
  pack_lanes(&p, w, start, (const uint8_t *)at.w, (const uint8_t *)at.w_zero, zero);
  __builtin_memset(zero_row, zero, (size_t)p.channels);
  ROLLED for (int64_t u = begin; u < end; u++) {
    const int64_t oy = u % p.oh;
    const uint8_t *x = (const uint8_t *)at.x + u / p.oh * p.xn;
    int32_t *y = at.y + u / p.oh * p.yn + oy * p.yh;
    ROLLED for (int64_t ox = 0; ox < p.ow; ox++, y += p.yw) {
      ROLLED for (int64_t t = 0; t < 2 * p.pairs; t++) {
        const int64_t iy = oy * p.sh - p.pt + t / p.kw * p.dh;
        const int64_t ix = ox * p.sw - p.pl + t % p.kw * p.dw;
        const bool in = iy >= 0 && iy < p.ih && ix >= 0 && ix < p.iw && t < p.kh * p.kw;
        taps[t] = in ? x + iy * p.xh + ix * p.xw : zero_row;
      }
      ROLLED for (int64_t c = 0; c < whole; c += GLOW_VL) * (GlowVecI *)(y + c) = lane_sums(
          &p, taps, c, (const GlowVecI *)(w + c * p.pairs), *(const GlowVecI *)(start + c));
      ROLLED for (int64_t c = whole; c < p.channels; c++) {
        const int32_t *pairs = w + whole * p.pairs + c - whole;
        int32_t sum = start[c];
        ROLLED for (int64_t t = 0; t < p.kh * p.kw; t++) {
          const int32_t weight = (int16_t)(pairs[t / 2 * GLOW_VL] >> (t % 2 * 16));
          sum += weight * (p.x_signed ? (int8_t)taps[t][c] : taps[t][c]);
        }
        y[c] = sum;
      }
    }
  }
}
