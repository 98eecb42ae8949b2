/* Products of few rows by weights that are stored in 16 bits: one FMA chain for each output, as in
 * matmul.c. Such a product takes as long as its weights take from memory, so each is widened in a
 * register. Panels are packed ahead. One row is multiplied by several of them at a time, since the
 * chains of one are too few; several rows share what is widened of one. */
#include "matrix_tile.h"
#include "stored.h"

enum {
  PANELS = 8 / GLOW_TILE_VECTORS,       /* for one row */
  ROWS = GLOW_TILE_VECTORS == 4 ? 2 : 4 /* that share a panel */
};

/* Some rows by neighbouring panels from panel p on; both numbers are literals. */
INLINE void tile(int rows, int panels, bool half, const GlowMatmulStoredParams *s, float *c,
                 const float *a, const uint16_t *b, int64_t p) {
  const int64_t all = (s->n + PANEL - 1) / PANEL, size = s->chunk * PANEL;
  GlowVec sums[ROWS][PANELS * GLOW_TILE_VECTORS];
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < panels * GLOW_TILE_VECTORS; j++) sums[i][j] = (GlowVec){0};
  }
  ROLLED for (int64_t k0 = 0; k0 < s->k; k0 += s->chunk) {
    const int64_t depth = s->k - k0 < s->chunk ? s->k - k0 : s->chunk;
    const uint16_t *w = b + k0 * all * PANEL + p * size;
    ROLLED for (int64_t k = 0; k < depth; k++, w += PANEL) {
      UNROLL for (int j = 0; j < panels * GLOW_TILE_VECTORS; j++) {
        const GlowStored stored = *(const GlowStored *)(w + j / GLOW_TILE_VECTORS * size +
                                                        j % GLOW_TILE_VECTORS * GLOW_VL);
        const GlowVec v = half ? halves_to_vec(stored) : bfloats_to_vec(stored);
        UNROLL for (int i = 0; i < rows; i++) sums[i][j] =
            vec_fma(vec_splat(a[i * s->am + k0 + k]), v, sums[i][j]);
      }
    }
  }
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < panels * GLOW_TILE_VECTORS; j++) {
      const int64_t column = p * PANEL + j * GLOW_VL;
      put(c + i * s->cm + column, sums[i][j], column, s->n);
    }
  }
}

INLINE void product(bool half, const GlowMatmulStoredParams *s, const GlowMatmulStoredPtrs *x,
                    int64_t begin, int64_t end) {
  int64_t p = begin;
  if (s->m == 1) {
    ROLLED for (; p + PANELS <= end; p += PANELS) tile(1, PANELS, half, s, x->c, x->a, x->b, p);
  }
  ROLLED for (; p < end; p++) {
    int64_t r = 0;
    ROLLED for (; r + ROWS <= s->m; r += ROWS)
        tile(ROWS, 1, half, s, x->c + r * s->cm, x->a + r * s->am, x->b, p);
    ROLLED for (; r < s->m; r++) tile(1, 1, half, s, x->c + r * s->cm, x->a + r * s->am, x->b, p);
  }
}

void glow_matmul_stored(const GlowMatmulStoredParams *params, void *const *ptrs, int64_t begin,
                        int64_t end, char *scratch) {
  const GlowMatmulStoredParams s = *params;
  const GlowMatmulStoredPtrs x = GLOW_MATMUL_STORED_PTRS(ptrs);
  (void)scratch;
  if (s.element == GLOW_CONV_ELEMENT_HALF)
    product(true, &s, &x, begin, end);
  else
    product(false, &s, &x, begin, end);
}
