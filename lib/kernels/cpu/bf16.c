/* Convolutions and products of floats rounded to bfloat16, whose sums have the order of
 * docs/Numerics (order = tile): windows of outputs, rounded, are the rows of a product, filters
 * its columns.
 *
 *   AMX     tdpbf16ps is that order: 32 steps of k for 16 rows and 16 columns
 *   other   rounded numbers are floats. Two chains of multiply-adds take the first and second
 *           numbers of pairs; after 16 pairs both are added to the sums, which are in memory */
#include "kernels/kernels.h"

#include "bf16.h"

enum {
  PANEL = 16,
  PAIR = 2,
  CHUNK = GLOW_BF16_CHUNK,
  PAIRS = GLOW_BF16_PAIRS,
  PIECE = 8, /* chunks of a panel that stay in the first level of cache */
  COLUMNS = GLOW_VL * GLOW_TILE_VECTORS,
  HALF = GLOW_TILE_PIXELS * 3 / 7,
  ROWS = HALF ? HALF : 1 /* of a tile: each has two chains, whose weights take a register each */
};

#ifdef __AMX_BF16__
typedef uint16_t Element;
#define IS_TILED 1
#else
typedef float Element;
#define IS_TILED 0
#endif

/* Rows times columns: what a unit computes. */
typedef struct Block {
  const Element *a;    /* rows, `lda` elements apart, whole chunks */
  const uint16_t *w;   /* panels [pairs][16 columns][2] */
  float *sums;         /* `columns` floats apart */
  int64_t lda, pairs, columns;
} Block;

/* ---- Rounding -------------------------------------------------------------------------------- */

INLINE void store_rounded(Element *to, GlowVecI u) {
#if IS_TILED
  typedef uint16_t Halves __attribute__((vector_size(GLOW_VL * 2), aligned(2)));
  typedef uint32_t Wide __attribute__((vector_size(GLOW_VL * 4)));
  *(Halves *)to = __builtin_convertvector((Wide)round_lanes(u) >> 16, Halves);
#else
  *(GlowVecI *)(void *)to = round_lanes(u);
#endif
}

/* `count` neighbours, and zeros up to a whole pair. */
INLINE Element *copy_run(Element *to, const float *x, int64_t count) {
  int64_t c = 0;
  ROLLED for (; c + GLOW_VL <= count; c += GLOW_VL)
      store_rounded(to + c, (GlowVecI)vec_load(x + c));
  if (c < count) {
    Element rest[GLOW_VL];
    const int64_t left = (count - c + 1) / PAIR * PAIR;
    store_rounded(rest, (GlowVecI)vec_load_first(x + c, count - c));
    ROLLED for (int64_t l = 0; l < left; l++) to[c + l] = rest[l];
  }
  return to + (count + 1) / PAIR * PAIR;
}

/* The channels of one place; x is NULL outside of the input. */
INLINE Element *copy_place(const GlowBf16Params *p, Element *to, const float *x) {
  if (!x) {
    __builtin_memset(to, 0, (size_t)(p->tap * PAIR) * sizeof *to);
    return to + p->tap * PAIR;
  }
  if (p->x_block > 1) {
    ROLLED for (int64_t c = 0; c < p->g.ic; c += p->x_block, x += p->g.xc) {
      const int64_t left = p->g.ic - c;
      to = copy_run(to, x, left < p->x_block ? left : p->x_block);
    }
    return to;
  }
  ROLLED for (int64_t c = 0; c < p->g.ic;) { /* plain channels, a few at a time */
    float some[PANEL];
    int64_t n = 0;
    ROLLED for (; n < PANEL && c < p->g.ic; n++, c++) some[n] = x[c * p->g.xc];
    to = copy_run(to, some, n);
  }
  return to;
}

/* The window of an output, then zeros up to a whole chunk. */
INLINE void copy_window(const GlowBf16Params *p, Element *to, const float *image, int64_t oy,
                        int64_t ox) {
  const GlowConvGeometry *g = &p->g;
  Element *const end = to + p->lda;
  ROLLED for (int64_t r = 0; r < g->kh; r++) {
    const int64_t iy = oy * g->sh - g->pt + r * g->dh;
    ROLLED for (int64_t s = 0; s < g->kw; s++) {
      const int64_t ix = ox * g->sw - g->pl + s * g->dw;
      const bool inside = iy >= 0 && iy < g->ih && ix >= 0 && ix < g->iw;
      to = copy_place(p, to, inside ? image + iy * g->xh + ix * g->xw : NULL);
    }
  }
  __builtin_memset(to, 0, (size_t)(end - to) * sizeof *to);
}

/* ---- Sums ------------------------------------------------------------------------------------ */

#if IS_TILED
/* Tiles of 16 rows of 64 bytes: 0 to 3 are sums of 32 rows by 32 columns, 4 and 5 rows, 6 and 7
 * panels. */
typedef struct Config {
  uint8_t palette, start, reserved[14];
  uint16_t bytes[16];
  uint8_t rows[16];
} Config;
static const Config config = {.palette = 1,
                              .bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                              .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

/* One step of 16 pairs. */
INLINE void multiply(int rows, int panels, const Element *a, int64_t lda, const uint16_t *w,
                     const uint16_t *next) {
  __builtin_ia32_tileloadd64(6, w, 64);
  __builtin_ia32_tileloadd64(4, a, (size_t)lda * sizeof *a);
  __builtin_ia32_tdpbf16ps(0, 4, 6);
  if (panels > 1) {
    __builtin_ia32_tileloadd64(7, next, 64);
    __builtin_ia32_tdpbf16ps(1, 4, 7);
  }
  if (rows > 16) {
    __builtin_ia32_tileloadd64(5, a + 16 * lda, (size_t)lda * sizeof *a);
    __builtin_ia32_tdpbf16ps(2, 5, 6);
    if (panels > 1)
      __builtin_ia32_tdpbf16ps(3, 5, 7);
  }
}

/* 32 or 16 rows, by two panels or one. What is left of a panel behind whole chunks stands in
 * `tail`, with zeros behind it. */
INLINE void square(int rows, int panels, const Block *t, int64_t row, int64_t col,
                   const uint16_t (*tail)[PAIRS * PANEL * PAIR]) {
  const Element *a = t->a + row * t->lda;
  const int64_t size = t->pairs * PANEL * PAIR, chunks = t->pairs / PAIRS;
  const uint16_t *w = t->w + col / PANEL * size;
  float *sums = t->sums + row * t->columns + col;
  const size_t step = (size_t)t->columns * sizeof *sums;
  __builtin_ia32_tilezero(0);
  __builtin_ia32_tilezero(1);
  __builtin_ia32_tilezero(2);
  __builtin_ia32_tilezero(3);
  ROLLED for (int64_t c = 0; c < chunks; c++) {
    const uint16_t *here = w + c * CHUNK * PANEL;
    multiply(rows, panels, a + c * CHUNK, t->lda, here, here + size);
  }
  if (t->pairs % PAIRS)
    multiply(rows, panels, a + chunks * CHUNK, t->lda, tail[0], tail[1]);
  __builtin_ia32_tilestored64(0, sums, step);
  if (panels > 1)
    __builtin_ia32_tilestored64(1, sums + PANEL, step);
  if (rows > 16)
    __builtin_ia32_tilestored64(2, sums + 16 * t->columns, step);
  if (rows > 16 && panels > 1)
    __builtin_ia32_tilestored64(3, sums + 16 * t->columns + PANEL, step);
}

/* All rows, up to whole tiles, by one or two panels. */
INLINE void stripe(int panels, const Block *t, int64_t rows, int64_t col) {
  uint16_t tail[2][PAIRS * PANEL * PAIR];
  const int64_t left = t->pairs % PAIRS, size = t->pairs * PANEL * PAIR;
  if (left) {
    __builtin_memset(tail, 0, sizeof tail);
    UNROLL for (int j = 0; j < panels; j++)
        __builtin_memcpy(tail[j], t->w + (col / PANEL + j + 1) * size - left * PANEL * PAIR,
                         (size_t)(left * PANEL * PAIR) * sizeof **tail);
  }
  int64_t row = 0;
  ROLLED for (; rows - row > 16; row += 32)
      square(32, panels, t, row, col, (const uint16_t(*)[PAIRS * PANEL * PAIR])tail);
  ROLLED for (; rows - row > 0; row += 16)
      square(16, panels, t, row, col, (const uint16_t(*)[PAIRS * PANEL * PAIR])tail);
}

INLINE void multiply_block(const Block *t, int64_t rows, int64_t columns) {
  int64_t col = 0;
  __builtin_ia32_tile_loadconfig(&config);
  ROLLED for (; columns - col > PANEL; col += 2 * PANEL) stripe(2, t, rows, col);
  ROLLED for (; columns - col > 0; col += PANEL) stripe(1, t, rows, col);
  __builtin_ia32_tilerelease();
}
#else
/* `rows` rows from `row` on by `vectors` registers of columns from `col` on; chunks from `first` up
 * to `last`. */
INLINE void tile(int rows, int vectors, const Block *t, int64_t row, int64_t col, int64_t first,
                 int64_t last) {
  const uint16_t *w[GLOW_TILE_VECTORS];
  const float *a = (const float *)t->a + row * t->lda;
  float *sums = t->sums + row * t->columns + col;
  UNROLL for (int j = 0; j < vectors; j++) {
    const int64_t at = col + j * GLOW_VL;
    w[j] = t->w + at / PANEL * t->pairs * PANEL * PAIR + at % PANEL * PAIR;
  }
  ROLLED for (int64_t c = first; c < last; c++) {
    GlowVec acc[PAIR][ROWS][GLOW_TILE_VECTORS];
    UNROLL for (int h = 0; h < PAIR; h++) {
      UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int j = 0; j < vectors; j++) acc[h][i][j] = vec_splat(0);
      }
    }
    const int64_t left = t->pairs - c * PAIRS;
    ROLLED for (int64_t k = c * PAIRS, end = k + (left < PAIRS ? left : PAIRS); k < end; k++) {
      UNROLL for (int h = 0; h < PAIR; h++) {
        GlowVec v[GLOW_TILE_VECTORS];
        UNROLL for (int j = 0; j < vectors; j++) {
          const GlowVecI both = *(const GlowVecI *)(const void *)(w[j] + k * PANEL * PAIR);
          v[j] = weights(h ? both & splat_bits(0xffff0000) : both << 16);
        }
        UNROLL for (int i = 0; i < rows; i++) {
          const GlowVec x = vec_splat(a[i * t->lda + k * PAIR + h]);
          UNROLL for (int j = 0; j < vectors; j++) acc[h][i][j] = chain(x, v[j], acc[h][i][j]);
        }
      }
    }
    const GlowVec none = vec_splat(left < PAIRS ? 0.0f : -0.0f); /* zeros fill the last chunk */
    UNROLL for (int i = 0; i < rows; i++) {
      UNROLL for (int j = 0; j < vectors; j++) {
        float *s = sums + i * t->columns + j * GLOW_VL;
        const GlowVec sum = add(acc[0][i][j] + none, acc[1][i][j] + none);
        vec_store(s, add(c ? vec_load(s) : vec_splat(0), sum));
      }
    }
  }
}

INLINE void stripe(int vectors, const Block *t, int64_t rows, int64_t col, int64_t first,
                   int64_t last) {
  int64_t row = 0;
  UNROLL for (int most = ROWS; most; most /= 2) {
    ROLLED for (; rows - row >= most; row += most) tile(most, vectors, t, row, col, first, last);
  }
}

INLINE void multiply_block(const Block *t, int64_t rows, int64_t columns) {
  const uint32_t mode = begin_flushing();
  const int64_t chunks = (t->pairs + PAIRS - 1) / PAIRS;
  ROLLED for (int64_t first = 0; first < chunks; first += PIECE) {
    const int64_t last = chunks - first < PIECE ? chunks : first + PIECE;
    int64_t col = 0;
    ROLLED for (; col < columns; col += COLUMNS) {
      if (GLOW_VL == PANEL && columns - col <= PANEL)
        stripe(1, t, rows, col, first, last);
      else
        stripe(GLOW_TILE_VECTORS, t, rows, col, first, last);
    }
  }
  end_flushing(mode);
}
#endif

/* ---- Results --------------------------------------------------------------------------------- */

/* Adds the biases of a panel to the sums of a row, and stores them. */
INLINE void store_panel(const GlowBf16Params *p, float *y, const float *sums, const float *bias,
                        int64_t count) {
  UNROLL for (int l = 0; l < PANEL; l += GLOW_VL) {
    const int64_t left = count - l;
    if (left >= GLOW_VL) {
      const GlowVec b = bias ? vec_load(bias + l) : vec_splat(0);
      vec_store(y + l, vec_load(sums + l) + b);
    } else if (left > 0) {
      const GlowVec b = bias ? vec_load_first(bias + l, left) : vec_splat(0);
      const GlowVec v = vec_load(sums + l) + b;
      if (p->whole)
        vec_store(y + l, vec_first(v, left));
      else
        vec_store_first(y + l, v, left);
    } else if (p->whole) {
      vec_store(y + l, vec_splat(0));
    }
  }
}

void glow_bf16(const GlowBf16Params *params, void *const *ptrs, int64_t begin, int64_t end,
               char *scratch) {
  const GlowBf16Params p = *params;
  const GlowBf16Ptrs at = GLOW_BF16_PTRS(ptrs);
  Element *rows = (Element *)(void *)scratch;
  Block t = {.a = rows, .sums = (float *)(void *)(scratch + p.sums_at)};
  t.lda = p.lda, t.pairs = p.pairs, t.columns = p.columns;
  int64_t rows_of = -1;
  ROLLED for (int64_t u = begin; u < end; u++) {
    const int64_t part = u % p.parts, block = u / p.parts % p.blocks;
    const int64_t image = u / p.parts / p.blocks;
    const int64_t first = block * p.block, col = part * p.columns, all = p.g.oh * p.g.ow;
    const int64_t count = all - first < p.block ? all - first : p.block;
    const int64_t columns = p.g.oc - col < p.columns ? p.g.oc - col : p.columns;
    if (u / p.parts != rows_of) {
      rows_of = u / p.parts;
      int64_t oy = first / p.g.ow, ox = first % p.g.ow;
      ROLLED for (int64_t i = 0; i < count; i++) {
        copy_window(&p, rows + i * p.lda, at.x + image * p.g.xn, oy, ox);
        oy += ++ox == p.g.ow;
        ox = ox == p.g.ow ? 0 : ox;
      }
    }
    t.w = (const uint16_t *)at.w + col / PANEL * p.pairs * PANEL * PAIR;
    multiply_block(&t, count, columns);
    float *const y = at.y + image * p.g.yn;
    ROLLED for (int64_t i = 0; i < count; i++) {
      float *row = y + (first + i) / p.g.ow * p.g.yh + (first + i) % p.g.ow * p.g.yw;
      ROLLED for (int64_t c = 0; c < columns; c += PANEL)
          store_panel(&p, row + (col + c) / PANEL * p.g.yc, t.sums + i * p.columns + c,
                      at.bias ? at.bias + col + c : NULL, columns - c);
    }
  }
}
