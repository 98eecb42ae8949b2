/* The sums of a tile of narrow integers: some neighbouring pixels of a row of the output by
 * NARROW_COLUMNS filters. A register of four channels of each pixel, broadcast, meets registers of
 * filters; dot.h says what a machine with VNNI, and any machine, does in a step.
 *
 * AVX2 without VNNI has a product that adds two neighbours up in 16 bits and saturates there. So a
 * unit looks at its filters first, and puts the groups of four steps of a panel in an order:
 *
 *   quads   eight steps at a time: no input lets sums of four products leave 16 bits, so they are
 *           added up before they become 32 bits wide
 *   wides   four steps at a time, of which products are added up in 32 bits: of a band and of a
 *           panel that have 16 bits an element, the even ones of a group before the odd ones
 *   pairs   four steps at a time: no input lets sums of two products leave 16 bits
 *
 * Sums are the same in any order. */
#ifndef GLOW_KERNELS_CPU_NARROW_SUMS_H
#define GLOW_KERNELS_CPU_NARROW_SUMS_H

#include "kernels/kernels.h"

#include "dot.h"
#include "narrow_numbers.h"

#if defined(__AVX2__) && GLOW_VL == 8
#define NARROW_DIRECT 1 /* sums become bytes in registers */
typedef int16_t NarrowTwo __attribute__((vector_size(32), aligned(2)));
#else
#define NARROW_DIRECT 0
#endif
#if NARROW_DIRECT && !DOT_FOURS
#define NARROW_PROVES 1 /* its sums need orders */
typedef uint8_t NarrowX;
enum { NARROW_PIXELS = 4, NARROW_MANY = 16, NARROW_TRIED = 16 };
#else
#define NARROW_PROVES 0
typedef DotA NarrowX;
enum { NARROW_PIXELS = GLOW_TILE_PIXELS };
#endif

enum {
  NARROW_BYTES = DOT_VNNI || NARROW_PROVES, /* X is of bytes, as u8 */
  NARROW_VECTORS = NARROW_BYTES ? 2 : GLOW_TILE_VECTORS,
  NARROW_WIDTH = NARROW_BYTES ? GLOW_VL : DOT_WIDTH, /* columns of a register */
  NARROW_COLUMNS = NARROW_VECTORS * NARROW_WIDTH,
  NARROW_SQUARE = 16, /* outputs of a square tile */
#ifdef __AMX_INT8__
  NARROW_SQUARES = 1,
  NARROW_ROOM = 2 * NARROW_SQUARE * NARROW_COLUMNS
#else
  NARROW_SQUARES = 0,
  NARROW_ROOM = NARROW_PIXELS * NARROW_COLUMNS
#endif
};

/* The groups of a panel in their order: the first of two for each of the quads; from `wide` on, as
 * many wides; then pairs. */
typedef struct NarrowOrder {
  int64_t quads, wide, wides, pairs;
  const uint32_t *groups;
} NarrowOrder;

/* What a unit works on. */
typedef struct Unit {
  const GlowNarrowParams *p;
  const GlowNarrowNumbers *n;
  const GlowNarrowParams *params; /* the same as the kernel got them, for what is not inlined */
  const void *numbers;
  const NarrowX *x;     /* of the window of its first output */
  int64_t row, pixel;   /* elements from a row of the input to the next, from a pixel to the next */
  const int8_t *w;      /* panels of its filters */
  int64_t panel;        /* bytes of one */
  const int32_t *start; /* of its filters: what sums begin with, */
  const float *scale, *bias; /* and what they are multiplied by and added to */
  bool nan;                  /* whether results may be NaN */
  bool packs;                /* whether narrow_packed may finish them */
  const int64_t *steps;      /* by group of a panel: where its elements of X are, from x on */
  uint32_t *orders;          /* by panel: how many quads and wides there are, then its groups */
  NarrowOrder order;         /* of the panel at work */
  bool wides;                /* whether any panel has wides, */
  const NarrowX *band;       /* which read the wide form of this copy, */
  int16_t *wide_x;           /* here, */
  int16_t *wide_w;           /* and those of the panel at work, in their order */
  int16_t *filters, *places; /* of Winograd's algorithm: transformed filters and input, */
  int32_t *products;         /* and what they give */
} Unit;

/* `count` neighbours of X. */
INLINE void narrow_widen(NarrowX *to, const uint8_t *from, int64_t count, bool is_signed) {
#if NARROW_PROVES
  for (int64_t k = 0; k < count; k++)
    to[k] = from[k] ^ (is_signed ? 0x80 : 0);
#else
  dot_widen(to, from, count, is_signed);
#endif
}

/* The order of a panel, of all of them. */
INLINE NarrowOrder narrow_order_of(const GlowNarrowParams *p, const uint32_t *orders,
                                   int64_t panel) {
  const int64_t groups = p->kh * p->runs * p->run;
  const uint32_t *from = orders + panel * (groups + 2);
  const int64_t quads = from[0], wides = from[1];
  return (NarrowOrder){quads, 2 * quads, wides, groups - 2 * quads - wides, from + 2};
}

#if NARROW_PROVES

typedef char NarrowFour __attribute__((vector_size(32), aligned(1)));

INLINE NarrowFour narrow_load(const int8_t *w) { return *(const NarrowFour *)(const void *)w; }
/* Returns p and emits nothing; what was loaded from there is loaded again. Loops of tiles have one
 * value too many for 16 registers, and a sum would go to memory. */
INLINE const void *narrow_again(const void *p) {
  __asm__("" : "+r"(p));
  return p;
}
INLINE NarrowFour narrow_row_of(const NarrowX *x) {
  int32_t four;
  __builtin_memcpy(&four, x, sizeof four);
  return (NarrowFour)dot_splat(four);
}
INLINE NarrowTwo narrow_two_of(const int16_t *x) {
  int32_t two;
  __builtin_memcpy(&two, x, sizeof two);
  return (NarrowTwo)dot_splat(two);
}
INLINE NarrowTwo narrow_twos(int16_t s) {
  return (NarrowTwo)dot_splat((int32_t)(0x10001U * (uint16_t)s));
}
/* Products of u8 by i8, two neighbours added up. */
INLINE NarrowTwo narrow_product(NarrowFour x, NarrowFour w) {
  return (NarrowTwo)__builtin_ia32_pmaddubsw256(x, w);
}
INLINE GlowVecI narrow_wide(NarrowTwo x, NarrowTwo w) {
  return (GlowVecI)__builtin_ia32_pmaddwd256(x, w);
}

/* Adds the sums of four weights. */
INLINE GlowVecI narrow_weights(GlowVecI sum, const int8_t *w) {
  const NarrowTwo two = narrow_product((NarrowFour)dot_splat(0x01010101), narrow_load(w));
  return sum + narrow_wide(two, narrow_twos(1));
}

/* ---- Proofs ---------------------------------------------------------------------------------- */

/* Two weights in each lane: their sum, and that of their magnitudes. */
typedef struct NarrowPair {
  NarrowTwo sum, magnitude;
} NarrowPair;

INLINE NarrowPair narrow_pair(const int8_t *w) {
  const NarrowFour v = narrow_load(w), ones = (NarrowFour)dot_splat(0x01010101);
  typedef signed char Signed __attribute__((vector_size(32)));
  const NarrowFour magnitude = (NarrowFour)__builtin_elementwise_abs((Signed)v);
  return (NarrowPair){narrow_product(ones, v), narrow_product(magnitude, ones)};
}

/* Whether the weights of each sign add up to at most 128, the largest magnitude of which 255 times
 * is in 16 bits: the larger of both sums is half of all magnitudes and of the sum's. */
INLINE NarrowTwo narrow_leaves(NarrowPair v) {
  return v.magnitude + __builtin_elementwise_abs(v.sum) > narrow_twos(256);
}
INLINE bool narrow_none(NarrowTwo a, NarrowTwo b) {
  return !__builtin_ia32_pmovmskb256((NarrowFour)(a | b));
}
/* Whether two groups from w on may be a quad. */
INLINE bool narrow_is_quad(const int8_t *w) {
  NarrowTwo leaves[2];
  UNROLL for (int j = 0; j < 2; j++) {
    const NarrowPair a = narrow_pair(w + j * 32), b = narrow_pair(w + DOT_BYTES + j * 32);
    leaves[j] = narrow_leaves((NarrowPair){a.sum + b.sum, a.magnitude + b.magnitude});
  }
  return narrow_none(leaves[0], leaves[1]);
}

/* The order of the groups of a panel, as Unit has it; `run` of them lie next to each other in X,
 * `wide` has room for all. Without `proves` all are wides. */
NARROW_APART void narrow_order(int64_t groups, int64_t run, bool proves, uint32_t *to,
                               const int8_t *w, uint32_t *wide) {
  uint32_t *order = to + 2;
  int64_t quads = 0, wides = 0, end = groups;
  ROLLED for (int64_t g = 0, left = run; g < groups; left = left ? left : run) {
    const int8_t *at = w + g * DOT_BYTES;
    proves =
        proves && (wides < NARROW_TRIED || quads || end < groups); /* others will be wides, too */
    if (proves && left > 1 && narrow_is_quad(at)) {
      order[quads++] = (uint32_t)g;
      g += 2, left -= 2;
      continue;
    }
    if (proves && narrow_none(narrow_leaves(narrow_pair(at)), narrow_leaves(narrow_pair(at + 32))))
      order[--end] = (uint32_t)g;
    else
      wide[wides++] = (uint32_t)g;
    g++, left--;
  }
  to[0] = (uint32_t)quads, to[1] = (uint32_t)wides;
  ROLLED for (int64_t i = 0; i < wides; i++) order[end - wides + i] = wide[i];
}

/* ---- 16 bits --------------------------------------------------------------------------------- */

/* `count` elements of X, a multiple of four. */
NARROW_APART void narrow_wide_x(int16_t *to, const NarrowX *from, int64_t count) {
  typedef uint8_t Bytes __attribute__((vector_size(16), aligned(1)));
  int64_t k = 0;
  ROLLED for (; k + 16 <= count; k += 16) {
    const Bytes v = *(const Bytes *)(from + k);
    *(NarrowTwo *)(to + k) = __builtin_convertvector(
        __builtin_shufflevector(v, v, 0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15),
        NarrowTwo);
  }
  ROLLED for (; k < count; k += 4) {
    to[k] = from[k], to[k + 1] = from[k + 2];
    to[k + 2] = from[k + 1], to[k + 3] = from[k + 3];
  }
}

/* `count` wides of a panel. */
NARROW_APART void narrow_wide_w(const uint32_t *list, int64_t count, const int8_t *w, int16_t *to) {
  ROLLED for (int64_t k = 0; k < count; k++, to += DOT_BYTES) {
    const int8_t *b = w + (int64_t)list[k] * DOT_BYTES;
    UNROLL for (int j = 0; j < 2; j++) {
      const NarrowTwo v = (NarrowTwo)narrow_load(b + j * 32);
      *(NarrowTwo *)(to + j * 16) = v << 8 >> 8;
      *(NarrowTwo *)(to + 32 + j * 16) = v >> 8;
    }
  }
}

/* ---- Sums ------------------------------------------------------------------------------------ */

/* Sums of `count` pixels from x on by the filters of two registers from panel w on. */
INLINE void narrow_sums(int count, int vectors, const Unit *t, const NarrowX *x, const int8_t *w,
                        const int32_t *start, GlowVecI (*acc)[NARROW_VECTORS]) {
  const int64_t step = t->p->sw * t->pixel;
  const NarrowTwo ones = narrow_twos(1);
  const uint32_t *list = t->order.groups;
  UNROLL for (int j = 0; j < 2; j++) {
    UNROLL for (int i = 0; i < count; i++) acc[i][j] = *(const GlowVecI *)(start + j * GLOW_VL);
  }
  ROLLED for (int64_t k = 0; k < t->order.quads; k++, list++) {
    const NarrowX *a = x + t->steps[*list];
    const int8_t *b = w + (int64_t)*list * DOT_BYTES;
    const NarrowFour b0[2] = {narrow_load(b), narrow_load(b + 32)}, b1 = narrow_load(b + DOT_BYTES);
    UNROLL for (int i = 0; i < count; i++) {
      const NarrowFour a0 = narrow_row_of(a + i * step), a1 = narrow_row_of(a + i * step + 4);
      b = narrow_again(b);
      acc[i][0] += narrow_wide(narrow_product(a0, b0[0]) + narrow_product(a1, b1), ones);
      acc[i][1] += narrow_wide(
          narrow_product(a0, b0[1]) + narrow_product(a1, narrow_load(b + DOT_BYTES + 32)), ones);
    }
  }
  list = t->order.groups + t->order.wide;
  const int16_t *wide = t->wide_w, *wide_x = t->wide_x + (x - t->band);
  ROLLED for (int64_t k = 0; k < t->order.wides; k++, list++) {
    const int16_t *a = wide_x + t->steps[*list];
    UNROLL for (int half = 0; half < 2; half++, wide += 32) {
      const NarrowTwo b[2] = {*(const NarrowTwo *)wide, *(const NarrowTwo *)(wide + 16)};
      UNROLL for (int i = 0; i < count; i++) {
        const NarrowTwo v = narrow_two_of(a + i * step + 2 * half);
        UNROLL for (int j = 0; j < 2; j++) acc[i][j] += narrow_wide(v, b[j]);
      }
    }
  }
  ROLLED for (int64_t k = 0; k < t->order.pairs; k++, list++) {
    const NarrowX *a = x + t->steps[*list];
    const int8_t *b = w + (int64_t)*list * DOT_BYTES;
    const NarrowFour v[2] = {narrow_load(b), narrow_load(b + 32)};
    UNROLL for (int i = 0; i < count; i++) {
      UNROLL for (int j = 0; j < 2; j++) acc[i][j] +=
          narrow_wide(narrow_product(narrow_row_of(a + i * step), v[j]), ones);
    }
  }
}

#else

INLINE GlowVecI narrow_weights(GlowVecI sum, const int8_t *w) {
#if DOT_FOURS
  sum = dot_step(sum, dot_splat(0x01010101), dot_columns(w, false));
#endif
  return sum;
}

/* Sums of `count` pixels from x on by the filters of `vectors` registers from panel w on. */
INLINE void narrow_sums(int count, int vectors, const Unit *t, const NarrowX *x, const int8_t *w,
                        const int32_t *start, GlowVecI (*acc)[NARROW_VECTORS]) {
  const GlowNarrowParams *p = t->p;
  const int64_t step = p->sw * t->pixel;
  UNROLL for (int j = 0; j < vectors; j++) {
    const GlowVecI first = DOT_VNNI ? *(const GlowVecI *)(start + j * GLOW_VL) : dot_splat(0);
    UNROLL for (int i = 0; i < count; i++) acc[i][j] = first;
  }
  ROLLED for (int64_t r = 0; r < p->kh; r++) {
    ROLLED for (int64_t s = 0; s < p->runs; s++) {
      const NarrowX *a = x + r * p->dh * t->row + s * p->dw * t->pixel;
      ROLLED for (int64_t g = 0; g < p->run; g++, w += DOT_BYTES, a += DOT_GROUP) {
        DotB b[NARROW_VECTORS];
        UNROLL for (int j = 0; j < vectors; j++) {
          const int64_t at = j * NARROW_WIDTH;
          b[j] = dot_columns(w + at / DOT_PANEL * t->panel + at % DOT_PANEL * DOT_GROUP, false);
        }
        UNROLL for (int i = 0; i < count; i++) {
          const __typeof__(dot_row(a)) v = dot_row(a + i * step);
          UNROLL for (int j = 0; j < vectors; j++) acc[i][j] = dot_step(acc[i][j], v, b[j]);
        }
      }
    }
  }
}

#endif

/* Stores what narrow_sums gave. */
INLINE void narrow_keep(int count, int vectors, const int32_t *start,
                        GlowVecI (*acc)[NARROW_VECTORS], int32_t *sums) {
  UNROLL for (int i = 0; i < count; i++) {
    int32_t *to = sums + i * NARROW_COLUMNS;
#if DOT_FOURS || NARROW_PROVES
    UNROLL for (int j = 0; j < vectors; j++) * (GlowVecI *)(to + j * GLOW_VL) = acc[i][j];
#else
    UNROLL for (int j = 0; j < vectors; j += 2) {
      const int64_t at = j * NARROW_WIDTH;
      *(GlowVecI *)(to + at) =
          dot_add_pairs(acc[i][j], acc[i][j + 1]) + *(const GlowVecI *)(start + at);
    }
#endif
  }
}

#endif
