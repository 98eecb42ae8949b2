/* The setup of depthwise convolutions. */
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
