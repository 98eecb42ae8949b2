/* Matrix products: one FMA chain per output from +0 in ascending k; see docs/Numerics.
 *
 * A tile of rows of A by registers of columns of B stays in registers over one chunk of k; between
 * chunks C holds the partial sums, and the last chunk applies the epilogue. B comes in panels as
 * wide as the tile: packed ahead, packed here, or read in place where the rows are too few to repay
 * packing (except for a last, partial panel). A chunk of a block of rows of A stays in the
 * second-level cache, copied to scratch if its rows would meet in the same cache sets; while the
 * tiles of one panel run, they fetch the next one. */
#include "finish.h"
#include "matrix_tile.h"
#include "pack.h"
#include "place.h"

enum { FIRST = 1, LAST = 2 };

/* ---- Tiles ----------------------------------------------------------------------------------- */

INLINE void multiply(int rows, int nr, const GlowMatmulParams *s, Accumulators acc, const float *a,
                     const float *b, int64_t bk, const float *next, int64_t depth) {
  const Steps x = {.am = s->copy_a ? s->lda : s->am,
                   .ak = s->copy_a ? 1 : s->ak,
                   .bk = bk,
                   .ahead = s->ahead,
                   .rest = s->k % 4 || s->kc % 4};
  product_steps(rows, nr, acc, a, b, next, depth, &x);
}

/* Stores a tile through memory, so that the epilogue is there once and not for each register. */
INLINE void finish(int rows, int nr, const GlowMatmulParams *s, const Accumulators acc, float *c,
                   void *const *env, int64_t batch, int64_t row, int64_t col,
                   GlowMatrixEpilogueFn *epilogue) {
  float sums[GLOW_TILE_PIXELS * PANEL] __attribute__((aligned(64)));
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < nr; j++) vec_store(sums + (i * nr + j) * GLOW_VL, acc[i][j]);
  }
  int64_t at[GLOW_MATMUL_BATCH];
  UNROLL for (int d = GLOW_MATMUL_BATCH - 1; d >= 0; d--) {
    at[d] = part_of(batch, s->batch[d]);
    batch = whole_of(batch, s->batch[d]);
  }
#ifdef GLOW_LIBRARY
  glow_body_store(sums, rows, nr * GLOW_VL, env,
                  (const int64_t[]){at[0], at[1], at[2], at[3], row, col}, c, s->cm, s->n);
#else
  ROLLED for (int64_t i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < nr; j++) {
      if (is_outside(s->n, col + j * GLOW_VL))
        continue;
      const GlowVec v = vec_load(sums + (i * nr + j) * GLOW_VL);
      put(c + i * s->cm + j * GLOW_VL,
          epilogue(v, env, at[0], at[1], at[2], at[3], row + i, col + j * GLOW_VL),
          col + j * GLOW_VL, s->n);
    }
  }
#endif
}

/* rows by nr registers, both literals. */
INLINE void tile(int rows, int nr, const GlowMatmulParams *params, GlowMatrixEpilogueFn *epilogue,
                 float *c, const float *a, const float *b, const float *next, void *const *env,
                 int64_t batch, int64_t row, int64_t col, int64_t depth, int64_t phase) {
  const GlowMatmulParams s = *params;
  Accumulators acc;
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < nr; j++) acc[i][j] = (GlowVec){0};
  }
  if (s.kc < s.k && !(phase & FIRST)) {
    UNROLL for (int i = 0; i < rows; i++) {
      UNROLL for (int j = 0; j < nr; j++) acc[i][j] =
          get(c + i * s.cm + j * GLOW_VL, col + j * GLOW_VL, s.n);
    }
  }
  if (s.direct && nr == GLOW_TILE_VECTORS && (s.n % PANEL == 0 || col + PANEL <= s.n))
    multiply(rows, nr, &s, acc, a, b, s.bk, next, depth);
  else
    multiply(rows, nr, &s, acc, a, b, PANEL, next, depth);
  if (!s.plain && (s.kc >= s.k || phase & LAST)) {
    finish(rows, nr, &s, acc, c, env, batch, row, col, epilogue);
    return;
  }
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < nr; j++)
        put(c + i * s.cm + j * GLOW_VL, acc[i][j], col + j * GLOW_VL, s.n);
  }
}

#define TILE(rows, vectors)                                                                        \
  void glow_matmul_tile_##rows##x##vectors(                                                        \
      const GlowMatmulParams *params, GlowMatrixEpilogueFn *epilogue, float *c, const float *a,    \
      const float *b, const float *next, void *const *env, int64_t batch, int64_t row,             \
      int64_t col, int64_t depth, int64_t phase) {                                                 \
    tile(rows, vectors, params, epilogue, c, a, b, next, env, batch, row, col, depth, phase);      \
  }
EACH_MATMUL_TILE(TILE)

/* ---- One row --------------------------------------------------------------------------------- */

#define ROW_VECTORS 8 /* sums of a row, in as many registers */

/* Floats from one panel of B to the next. */
INLINE int64_t panel_stride(const GlowMatmulParams *s) { return s->direct ? PANEL : s->kc * PANEL; }

/* Finishes and stores a row's sums together; false if they are finished panel by panel. */
INLINE bool finish_row(const GlowMatmulParams *s, const GlowVec *sums, float *c, void *const *env,
                       int64_t batch, int64_t row, int64_t col) {
#ifdef GLOW_LIBRARY
  if (!env[0] || !glow_body_fits(env, ROW_VECTORS * GLOW_VL))
    return false;
  int64_t at[GLOW_MATMUL_BATCH];
  UNROLL for (int d = GLOW_MATMUL_BATCH - 1; d >= 0; d--) {
    at[d] = part_of(batch, s->batch[d]);
    batch = whole_of(batch, s->batch[d]);
  }
  float all[ROW_VECTORS * GLOW_VL] __attribute__((aligned(64))); /* the body may read c */
  UNROLL for (int i = 0; i < ROW_VECTORS; i++) vec_store(all + i * GLOW_VL, sums[i]);
  glow_body_store(all, 1, ROW_VECTORS * GLOW_VL, env,
                  (const int64_t[]){at[0], at[1], at[2], at[3], row, col}, c, 0, s->n);
  return true;
#else
  return false;
#endif
}

/* One row by ROW_VECTORS / GLOW_TILE_VECTORS whole panels, the first one at b. */
INLINE void row_tile(int panels, const GlowMatmulParams *params, GlowMatrixEpilogueFn *epilogue,
                     float *c, const float *a, const float *b, void *const *env, int64_t batch,
                     int64_t row, int64_t col, int64_t depth, int64_t phase) {
  const GlowMatmulParams s = *params;
  const int64_t apart = panel_stride(&s), step = s.direct ? s.bk : PANEL;
  GlowVec sums[ROW_VECTORS];
  UNROLL for (int i = 0; i < ROW_VECTORS; i++) {
    sums[i] = (GlowVec){0};
    if (s.kc < s.k && !(phase & FIRST))
      sums[i] = vec_load(c + i * GLOW_VL);
  }
  ROLLED for (int64_t k = 0; k < depth; k++) {
    const GlowVec v = vec_splat(a[k * s.ak]);
    UNROLL for (int p = 0; p < panels; p++) {
      UNROLL for (int j = 0; j < GLOW_TILE_VECTORS; j++) {
        const int i = p * GLOW_TILE_VECTORS + j;
        sums[i] = vec_fma(v, vec_load(b + p * apart + j * GLOW_VL), sums[i]);
      }
    }
    b += step;
  }
  if (!s.plain && (s.kc >= s.k || phase & LAST)) {
    if (finish_row(&s, sums, c, env, batch, row, col))
      return;
    UNROLL for (int p = 0; p < panels; p++) {
      Accumulators acc;
      UNROLL for (int j = 0; j < GLOW_TILE_VECTORS; j++) acc[0][j] =
          sums[p * GLOW_TILE_VECTORS + j];
      finish(1, GLOW_TILE_VECTORS, &s, acc, c + p * PANEL, env, batch, row, col + p * PANEL,
             epilogue);
    }
    return;
  }
  UNROLL for (int i = 0; i < ROW_VECTORS; i++) vec_store(c + i * GLOW_VL, sums[i]);
}

#define ROW(panels)                                                                                \
  void glow_matmul_row_##panels(const GlowMatmulParams *params, GlowMatrixEpilogueFn *epilogue,    \
                                float *c, const float *a, const float *b, const float *next,       \
                                void *const *env, int64_t batch, int64_t row, int64_t col,         \
                                int64_t depth, int64_t phase) {                                    \
    (void)next;                                                                                    \
    row_tile(panels, params, epilogue, c, a, b, env, batch, row, col, depth, phase);               \
  }
EACH_MATMUL_ROW(ROW)

/* ---- All tiles ------------------------------------------------------------------------------- */

typedef struct Product {
  float *c;
  const float *a, *b;
  void *const *env;
  float *rows, *columns; /* scratch: copies of A, panels of B */
  int64_t batch;
} Product;

typedef struct Tiles {
  GlowMatmulTileFn *full, *small, *full_odd, *small_odd, *row;
  const GlowMatmulParams *params; /* what they take first */
  GlowMatrixEpilogueFn *callback;
} Tiles;

INLINE int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

/* The first row of tile t. */
INLINE int64_t tile_row(const GlowMatmulParams *s, int64_t t) {
  int64_t wide = s->tiles - s->narrow;
  return t * s->tile - (t > wide ? t - wide : 0);
}

/* Panel `p` of a chunk, in scratch. */
INLINE void pack_panel(const GlowMatmulParams *s, const Product *x, float *to, int64_t k,
                       int64_t depth, int64_t p) {
  int64_t columns = min64(s->n - p * PANEL, PANEL);
  const float *from = x->b + k * s->bk + p * PANEL * s->bn;
  if (columns == PANEL || columns == GLOW_VL) /* of one register no tile reads more */
    pack(to, PANEL, from, s->bk, s->bn, depth, columns);
  else
    pack_padded(to, PANEL, from, s->bk, s->bn, depth, columns);
}

/* Tiles [t0, t1) of the rows by panel p, which begins at b, for `depth` steps from step k on. */
INLINE void panel(const GlowMatmulParams *s, const Tiles *tiles, const Product *x, const float *b,
                  const float *next, int64_t k, int64_t depth, int64_t p, int64_t t0, int64_t t1) {
  const bool odd = GLOW_TILE_VECTORS > 1 && s->n - p * PANEL <= GLOW_VL;
  const int64_t phase = (k == 0 ? FIRST : 0) | (k + depth == s->k ? LAST : 0);
  const int64_t share = s->ahead * 16 * (depth / 4), row0 = tile_row(s, t0);
  int64_t fetched = 0;
  ROLLED for (int64_t t = t0; t < t1; t++) {
    bool small = s->narrow && t >= s->tiles - s->narrow;
    GlowMatmulTileFn *fn = odd     ? small ? tiles->small_odd : tiles->full_odd
                           : small ? tiles->small
                                   : tiles->full;
    int64_t row = tile_row(s, t);
    const float *a = s->copy_a ? x->rows + (row - row0) * s->lda : x->a + row * s->am + k * s->ak;
    fn(GLOW_IN_LIBRARY(tiles->params, tiles->callback) x->c + row * s->cm + p * PANEL, a, b,
       next + fetched, x->env, x->batch, row, p * PANEL, depth, phase);
    fetched = fetched + 2 * share <= depth * PANEL ? fetched + share : 0;
  }
}

/* One row by as many of the whole panels [p0, p1) as the tile for rows takes, for `depth` steps
 * from step k on. Returns the first panel that is left. The chains of a tile wait for each other,
 * so the last tile takes some panels a second time where half of its panels or more are left, and
 * nothing but these sums is stored. */
INLINE int64_t row_panels(const GlowMatmulParams *s, const Tiles *tiles, const Product *x,
                          int64_t k, int64_t depth, int64_t p0, int64_t p1) {
  enum { PANELS = ROW_VECTORS / GLOW_TILE_VECTORS };
  const int64_t all = (s->n + PANEL - 1) / PANEL, whole = min64(p1, s->n / PANEL);
  const int64_t phase = (k == 0 ? FIRST : 0) | (k + depth == s->k ? LAST : 0);
  const float *b = x->b + k * (s->direct ? s->bk : all * PANEL), *a = x->a + k * s->ak;
  const bool again = s->plain && phase == (FIRST | LAST);
  const int64_t least = again ? PANELS / 2 : PANELS, first = p0;
  ROLLED while (p0 + least <= whole && first + PANELS <= whole) {
    const int64_t p = min64(p0, whole - PANELS);
    tiles->row(GLOW_IN_LIBRARY(tiles->params, tiles->callback) x->c + p * PANEL, a,
               b + p * panel_stride(s), b, x->env, x->batch, 0, p * PANEL, depth, phase);
    p0 = p + PANELS;
  }
  return p0;
}

/* Blocks of rows [r0, r1) of one group of panels: chunk by chunk. */
INLINE void product(const GlowMatmulParams *s, const Tiles *tiles, const Product *x, int64_t group,
                    int64_t r0, int64_t r1) {
  const int64_t all = (s->n + PANEL - 1) / PANEL;
  const int64_t p0 = group * s->panels, p1 = min64(p0 + s->panels, all);
  int64_t k = 0;
  do {
    const int64_t depth = min64(s->k - k, s->kc);
    ROLLED for (int64_t r = r0; r < r1; r++) {
      int64_t t0 = r * s->block, t1 = min64(t0 + s->block, s->tiles), row = tile_row(s, t0);
      if (s->copy_a)
        pack(x->rows, s->lda, x->a + row * s->am + k * s->ak, s->am, s->ak, tile_row(s, t1) - row,
             depth);
      int64_t p = p0;
      if (tiles->row)
        p = row_panels(s, tiles, x, k, depth, p0, p1);
      ROLLED for (; p < p1; p++) {
        const float *b = x->b + k * s->bk + p * PANEL, *next = b;
        if (s->packed) {
          b = x->b + k * all * PANEL + p * s->kc * PANEL;
          next = b + s->kc * PANEL;
        } else if (!s->direct || (p + 1) * PANEL > s->n) {
          float *slot = x->columns + (p - p0) % s->slots * s->kc * PANEL;
          if (r == r0)
            pack_panel(s, x, slot, k, depth, p);
          b = slot;
          next = s->slots > 1 ? slot + s->kc * PANEL : slot;
        }
        panel(s, tiles, x, b, next, k, depth, p, t0, t1);
      }
    }
    k += depth;
  } while (k < s->k);
}

#ifdef GLOW_LIBRARY
/* Whether rows are one block, k is one chunk, and A is read where it is: what else there is to find
 * out would take longer than a product of one row by a small matrix. */
static bool is_short(const GlowMatmulParams *s) {
  return s->blocks == 1 && s->kc >= s->k && !s->copy_a;
}

/* Whether all of B is read where it is. */
static bool reads_in_place(const GlowMatmulParams *s) {
  return s->packed || (s->direct && s->n % PANEL == 0);
}

/* Panels [p0, p1) of a short product. */
static void short_panels(const GlowMatmulParams *s, const Tiles *tiles, const Product *x,
                         int64_t p0, int64_t p1) {
  const int64_t apart = s->packed ? s->kc * PANEL : PANEL;
  int64_t p = p0;
  if (tiles->row)
    p = row_panels(s, tiles, x, 0, s->k, p, p1);
  ROLLED for (; p < p1; p++) {
    const float *b = x->b + p * apart, *next = b + apart;
    if (!s->packed && (!s->direct || (p + 1) * PANEL > s->n)) {
      pack_panel(s, x, x->columns, 0, s->k, p);
      b = next = x->columns;
    }
    panel(s, tiles, x, b, next, 0, s->k, p, 0, s->tiles);
  }
}

enum { SHORT_SUMS = 2048 };

/* A whole product of several panels, whose sums wait in a buffer, so that the body runs once over
 * all of them. False if they do not fit. */
static bool finish_at_once(const GlowMatmulParams *params, const Tiles *tiles, const Product *x,
                           const int64_t *place, int64_t panels) {
  const int64_t rows = params->m, n = params->n;
  const int64_t width = (n + GLOW_VL - 1) / GLOW_VL * GLOW_VL;
  if (!x->env[0] || panels < 2 || rows * width > SHORT_SUMS || !glow_body_fits(x->env, width))
    return false;
  float sums[SHORT_SUMS] __attribute__((aligned(64)));
  GlowMatmulParams s = *params;
  Tiles storing = *tiles;
  Product to = *x;
  s.plain = 1, s.cm = width, storing.params = &s, to.c = sums;
  ROLLED for (int64_t i = 1; i <= rows; i++) vec_store(
      sums + i * width - GLOW_VL, vec_splat(0)); /* what no tile stores is computed, too */
  short_panels(&s, &storing, &to, 0, panels);
  glow_body_store(sums, rows, width, x->env, place, x->c, params->cm, n);
  return true;
}

/* Registers of a row whose sums are computed together, beside which there is room for a number of A
 * and for what is loaded; those of several rows. */
enum { SHORT_VECTORS = 12, SHORT_BLOCK = 24 };
_Static_assert(GLOW_TILE_VECTORS % 2 == 0, "two registers are in one panel");

/* Some rows by `count` registers of columns from b on, literals, whose chains do not wait for each
 * other. Rows of sums are `width` apart. */
INLINE void sums_of(int rows, int count, const GlowMatmulParams *s, const float *a, const float *b,
                    float *sums, int64_t width) {
  const int64_t apart = panel_stride(s), step = s->direct ? s->bk : PANEL, am = s->am;
  GlowVec sum[SHORT_VECTORS], column[SHORT_VECTORS];
  UNROLL for (int i = 0; i < rows * count; i++) sum[i] = (GlowVec){0};
  ROLLED for (int64_t k = 0; k < s->k; k++) {
    UNROLL for (int j = 0; j < count; j++) column[j] =
        vec_load(b + j / GLOW_TILE_VECTORS * apart + j % GLOW_TILE_VECTORS * GLOW_VL);
    UNROLL for (int i = 0; i < rows; i++) {
      const GlowVec v = vec_splat(a[i * am]);
      UNROLL for (int j = 0; j < count; j++) sum[i * count + j] =
          vec_fma(v, column[j], sum[i * count + j]);
    }
    a += s->ak, b += step;
  }
  UNROLL for (int i = 0; i < rows * count; i++)
      vec_store(sums + i / count * width + i % count * GLOW_VL, sum[i]);
}

/* One row by at most SHORT_VECTORS registers. */
static void row_of_sums(const GlowMatmulParams *s, const Product *x, int64_t count, float *sums) {
  switch (count) {
#define SUMS(r, n)                                                                                 \
  case n:                                                                                          \
    sums_of(r, n, s, x->a, x->b, sums, 0);                                                         \
    break;
    SUMS(1, 1)
    SUMS(1, 2)
    SUMS(1, 3)
    SUMS(1, 4)
    SUMS(1, 5)
    SUMS(1, 6)
    SUMS(1, 7)
    SUMS(1, 8)
    SUMS(1, 9)
    SUMS(1, 10)
    SUMS(1, 11)
  default:
    sums_of(1, SHORT_VECTORS, s, x->a, x->b, sums, 0);
#undef SUMS
  }
}

/* Two to four rows, two registers at a time. */
static void block_of_sums(const GlowMatmulParams *s, const Product *x, int64_t rows, int64_t count,
                          float *sums) {
  ROLLED for (int64_t i = 0; i < count; i += 2) {
    const float *b =
        x->b + i / GLOW_TILE_VECTORS * panel_stride(s) + i % GLOW_TILE_VECTORS * GLOW_VL;
    switch (2 * rows + (i + 1 < count)) {
#define SUMS(r, n)                                                                                 \
  case 2 * r + n - 1:                                                                              \
    sums_of(r, n, s, x->a, b, sums + i * GLOW_VL, count * GLOW_VL);                                \
    break;
      SUMS(2, 1)
      SUMS(2, 2)
      SUMS(3, 1)
      SUMS(3, 2)
      SUMS(4, 1)
    default:
      sums_of(4, 2, s, x->a, b, sums + i * GLOW_VL, count * GLOW_VL);
#undef SUMS
    }
  }
}

/* A whole product of one row by at most SHORT_VECTORS registers, or of up to four rows, SHORT_BLOCK
 * registers together. False if it is another one, or the machine has no fused multiply-add: what
 * stands in for it would be there 105 times more. */
static bool short_rows(const GlowMatmulParams *s, const Product *x, const int64_t *place) {
  const int64_t rows = s->m, count = (s->n + GLOW_VL - 1) / GLOW_VL, width = count * GLOW_VL;
  float sums[SHORT_BLOCK * GLOW_VL] __attribute__((aligned(64)));
  if (!GLOW_HAS_FMA || rows > 4 || rows * count > (rows == 1 ? SHORT_VECTORS : SHORT_BLOCK))
    return false;
  if (rows == 1)
    row_of_sums(s, x, count, sums);
  else
    block_of_sums(s, x, rows, count, sums);
  if (x->env[0]) {
    glow_body_store(sums, rows, width, x->env, place, x->c, s->cm, s->n);
    return true;
  }
  ROLLED for (int64_t y = 0; y < rows; y++) ROLLED for (int64_t i = 0; i < s->n; i += GLOW_VL)
      put(x->c + y * s->cm + i, vec_load(sums + y * width + i), i, s->n);
  return true;
}

/* Short products. Units are batches, of each groups of panels. */
static __attribute__((noinline)) void short_products(const GlowMatmulParams *s, const Tiles *tiles,
                                                     void *const *ptrs, int64_t begin, int64_t end,
                                                     char *scratch) {
  const GlowMatmulPtrs at = GLOW_MATMUL_PTRS(ptrs);
  const int64_t all = (s->n + PANEL - 1) / PANEL;
  const bool in_place = reads_in_place(s);
  ROLLED for (int64_t unit = begin, next; unit < end; unit = next) {
    const int64_t group = part_of(unit, s->groups), last = min64(s->groups, group + end - unit);
    const int64_t p0 = group * s->panels, p1 = min64(last * s->panels, all);
    Product x = {.c = at.c, .a = at.a, .b = at.b, .env = at.env, .columns = (float *)scratch};
    int64_t place[GLOW_BODY_DIMS] = {0}, rest = x.batch = whole_of(unit, s->groups);
    next = unit + last - group;
    ROLLED for (int d = GLOW_MATMUL_BATCH - 1; rest; d--) {
      const int64_t i = place[d] = part_of(rest, s->batch[d]);
      rest = whole_of(rest, s->batch[d]);
      x.a += i * s->a_batch[d];
      x.b += i * s->b_batch[d];
      x.c += i * s->c_batch[d];
    }
    if (p0 || p1 < all ||
        !((in_place && short_rows(s, &x, place)) || finish_at_once(s, tiles, &x, place, all)))
      short_panels(s, tiles, &x, p0, p1);
  }
}
#endif

/* Apart, so that a short product does not begin with room for this. */
APART void units(const GlowMatmulParams *params, const Tiles *tiles, void *const *ptrs,
                 int64_t begin, int64_t end, char *scratch) {
  const GlowMatmulParams s = *params;
  ROLLED for (int64_t unit = begin, next; unit < end; unit = next) {
    const int64_t r0 = part_of(unit, s.blocks), pair = whole_of(unit, s.blocks);
    const int64_t r1 = min64(s.blocks, r0 + end - unit);
    next = unit + r1 - r0;
    const GlowMatmulPtrs at = GLOW_MATMUL_PTRS(ptrs);
    Product x = {.c = at.c, .a = at.a, .b = at.b, .env = at.env};
    x.batch = whole_of(pair, s.groups);
    x.rows = (float *)scratch;
    x.columns = x.rows + (s.copy_a ? s.block * s.tile * s.lda : 0);
    int64_t rest = x.batch;
    UNROLL for (int d = GLOW_MATMUL_BATCH - 1; d >= 0; d--) {
      int64_t i = part_of(rest, s.batch[d]);
      rest = whole_of(rest, s.batch[d]);
      x.a += i * s.a_batch[d];
      x.b += i * s.b_batch[d];
      x.c += i * s.c_batch[d];
    }
    product(&s, tiles, &x, part_of(pair, s.groups), r0, r1);
  }
}

/* `full` and `small` are specialized tiles; `small` has one row less. The _odd ones serve a last
 * panel of which only one register exists; `row` serves products of one row. Tiles that are not
 * used may be null. */
void glow_matmul(const GlowMatmulParams *params, GlowMatmulTileFn *full, GlowMatmulTileFn *small,
                 GlowMatmulTileFn *full_odd, GlowMatmulTileFn *small_odd, GlowMatmulTileFn *row,
                 GlowMatrixEpilogueFn *callback, void *const *ptrs, int64_t begin, int64_t end,
                 char *scratch) {
  const Tiles tiles = {full, small, full_odd, small_odd, row, params, callback};
#ifdef GLOW_LIBRARY
  if (is_short(params)) {
    short_products(params, &tiles, ptrs, begin, end, scratch);
    return;
  }
#endif
  units(params, &tiles, ptrs, begin, end, scratch);
}
