/* The setups of depthwise convolutions. */
#include "target/cpu/setup/conv.h"

/* As few tiles as cover a row, all of about the same width. */
void glow_setup_depthwise(const GlowCpuNumbers *cpu, GlowDepthwiseParams *p, GlowSetup *setup) {
  const GlowConvGeometry *g = &p->g;
  int64_t tiles = glow_div_up(g->ow, cpu->tile_pixels);
  p->cols = glow_div_up(g->ow, tiles);
  p->narrow = tiles * p->cols - g->ow;
  if (glow_conv_padding(g, p->cols, &p->left, &p->right))
    setup->zeros = (((p->cols - 1) * g->sw + (g->kw - 1) * g->dw) * g->xw + GLOW_CONV_BLOCK) * 4;
  p->over = glow_max64((g->ow - 1) * g->sw - g->pl + (g->kw - 1) * g->dw + 1 - g->iw, 0);
  setup->units = p->images * p->blocks * g->oh;
  setup->tiles[GLOW_DEPTHWISE_TILE_FULL] = glow_size_depthwise_tile(p->cols);
  if (p->narrow)
    setup->tiles[GLOW_DEPTHWISE_TILE_SMALL] = glow_size_depthwise_tile(p->cols - 1);
}

/* A strip's floats of input and output fill a quarter of the second level. */
void glow_setup_depthwise_stored(const GlowCpuNumbers *cpu, GlowDepthwiseStoredParams *p,
                                 GlowSetup *setup) {
  GlowConvGeometry *g = &p->conv.g;
  *g = p->g;
  if (p->x) {
    g->xn = g->xc = 0;
    g->xw = GLOW_CONV_BLOCK;
    g->xh = g->iw * g->xw;
  }
  if (p->y) {
    g->yn = g->yc = 0;
    g->yw = GLOW_CONV_BLOCK;
    g->yh = g->ow * g->yw;
  }
  glow_setup_depthwise(cpu, &p->conv, setup);
  int64_t row = ((p->x ? g->sh * g->xh : 0) + (p->y ? g->yh : 0)) * 4;
  p->strip = glow_max64(1, glow_min64(cpu->l2 / 4 / glow_max64(row, 1), g->oh));
  p->rows = p->x ? glow_min64((p->strip - 1) * g->sh + (g->kh - 1) * g->dh + 1, g->ih) : 0;
  p->y_at = p->rows * g->xh * 4;
  setup->scratch = p->y_at + (p->y ? p->strip * g->yh * 4 : 0);
}
