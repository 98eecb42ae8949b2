/* Setups of direct convolutions over blocks of channels. Their tile is given: it stands in the
 * program, or is that of target/cpu/rules.h. */
#include "target/cpu/setup/conv.h"
#include "target/cpu/setup/cache.h"

void glow_conv_edges(const GlowConvLine *l, int64_t *left, int64_t *right) {
  *left = glow_min64(glow_div_up(l->pl, l->sw), l->ow);
  for (*right = 0; *right < l->ow; ++*right) {
    if ((l->ow - 1 - *right) * l->sw - l->pl + (l->kw - 1) * l->dw < l->iw)
      break;
  }
}

bool glow_conv_padding(const GlowConvGeometry *g, int64_t cols, int64_t *left, int64_t *right) {
  glow_conv_edges(&(GlowConvLine){g->ow, g->iw, g->kw, g->sw, g->dw, g->pl}, left, right);
  *left = glow_min64(*left, cols);
  *right = glow_min64(*right, cols);
  int64_t bottom = (g->oh - 1) * g->sh - g->pt + (g->kh - 1) * g->dh;
  return g->pt > 0 || bottom >= g->ih || *left || *right;
}

/* ---- Direct ---------------------------------------------------------------------------------- */

static int64_t groups_of(const GlowConvParams *p) { return glow_div_up(p->g.oc, p->ob); }

/* A block of the filter: what each tile reads. */
static int64_t filter_bytes(const GlowConvParams *p) {
  return glow_div_up(p->g.ic, p->block) * p->g.kh * p->g.kw * p->wi * p->ob * 4;
}

static void cut_rows(GlowConvParams *p) {
  p->narrow = p->scattered ? 0 : glow_div_up(p->g.ow, p->tile_cols) * p->tile_cols - p->g.ow;
}

/* Full and small tiles, and both for an odd last group of channels. */
static void name_tiles(const GlowCpuNumbers *cpu, const GlowConvParams *p, GlowTileSize tiles[4]) {
  int64_t groups = groups_of(p), left = p->g.oc - (groups - 1) * p->ob;
  bool odd = p->ob > GLOW_CONV_BLOCK && left <= GLOW_CONV_BLOCK;
  int64_t rest = p->rows % p->tile_rows;
  for (int i = 0; i < 4; i++) {
    bool small = i % 2;
    int64_t rows = small && rest ? rest : p->tile_rows;
    int64_t cols = p->tile_cols - (small && p->narrow);
    int64_t vectors = (i < 2 ? p->ob : GLOW_CONV_BLOCK) / cpu->vl;
    bool used = (!small || rest || p->narrow) && (i < 2 ? groups > odd : odd);
    if (used && p->scattered)
      tiles[i] = glow_size_conv_scattered(rows, vectors);
    else if (used)
      tiles[i] = glow_size_conv_tile(rows, cols, vectors);
  }
}

/* Output rows (or pixels, if they are scattered) whose input is a band; bands of about the same
 * height. Where strides skip pixels, only those that windows touch count. Each band reads the whole
 * filter once more: where that is more than to read the whole input for each block of the filter,
 * all rows are one band. */
static int64_t band_rows(const GlowCpuNumbers *cpu, const GlowConvParams *p) {
  int64_t channels = glow_div_up(p->g.ic, GLOW_CONV_BLOCK) * GLOW_CONV_BLOCK;
  int64_t width = p->g.kw < p->g.sw ? p->g.ow * p->g.kw : p->g.iw;
  int64_t bytes = glow_min64(p->g.kh, p->g.sh) * width * channels * 4;
  if (p->scattered)
    bytes = glow_div_up(bytes, p->g.ow);
  int64_t tiles = glow_div_up(p->rows, p->tile_rows);
  int64_t fit = glow_band_bytes(cpu, filter_bytes(p)) / (bytes ? bytes : 1) / p->tile_rows;
  int64_t bands = glow_div_up(tiles, fit < 1 ? 1 : fit);
  if ((bands - 1) * filter_bytes(p) > p->rows * bytes)
    bands = 1;
  return glow_div_up(tiles, bands) * p->tile_rows;
}

/* If the filter does not stay in the cache, tiles fetch its next block. The tiles of a band share
 * the cache lines of each tap. */
static void fetch_filter(const GlowCpuNumbers *cpu, GlowConvParams *p) {
  int64_t lines = p->wi * p->ob / 16;
  int64_t row = p->scattered ? 1 : glow_div_up(p->g.ow, p->tile_cols);
  int64_t tiles = glow_div_up(p->band, p->tile_rows) * row;
  bool stays = groups_of(p) * filter_bytes(p) <= cpu->l2 / 2;
  p->ahead = stays ? 0 : glow_min64(glow_div_up(lines, tiles), 8);
  p->turns = stays ? 0 : glow_div_up(lines, p->ahead);
}

/* Channel blocks are far apart, so the machine does not see the next tile of a 1x1 coming. */
static void fetch_input(const GlowCpuNumbers *cpu, GlowConvParams *p) {
  int64_t image = p->g.oh * (p->scattered ? p->g.ow : 1), bytes = p->rows / image * p->g.xn * 4;
  bool far = p->g.kh == 1 && p->g.kw == 1 && bytes > cpu->l2;
  p->fetch = far ? (p->scattered ? p->tile_rows : p->tile_cols) * p->g.sw * p->g.xw : 0;
}

/* Output channels for which it is worth reading the whole input. */
enum { SHARE_CHANNELS = 128 };

/* Threads share rows, or blocks of the filter if that is the larger operand. */
static void share(GlowConvParams *p, GlowSetup *setup) {
  int64_t rows = glow_div_up(p->rows, p->tile_rows), groups = groups_of(p);
  int64_t inputs = p->rows * p->g.iw * p->g.sh / (p->scattered ? p->g.ow : 1);
  p->by_group = groups > 1 && (rows < 4 || p->g.kh * p->g.kw * p->g.oc > inputs);
  setup->units = p->by_group ? groups : rows;
  setup->grain = p->by_group ? SHARE_CHANNELS / p->ob : 0;
}

static void find_padding(GlowConvParams *p, GlowSetup *setup) {
  p->padded = glow_conv_padding(&p->g, p->tile_cols, &p->left, &p->right);
  if (p->padded)
    setup->zeros = ((p->tile_cols - 1) * p->g.sw * p->g.xw + GLOW_CONV_BLOCK) * 4;
}

void glow_setup_conv(const GlowCpuNumbers *cpu, GlowConvParams *p, GlowSetup *setup) {
  cut_rows(p);
  find_padding(p, setup);
  p->band = band_rows(cpu, p);
  fetch_filter(cpu, p);
  fetch_input(cpu, p);
  share(p, setup);
  name_tiles(cpu, p, setup->tiles);
}

/* ---- Stored in 16 bits ----------------------------------------------------------------------- */

/* Units of a strip, whose floats of input and output fill half of the second level, or as much as
 * the filter, which each strip reads once more. */
static int64_t strip_units(const GlowCpuNumbers *cpu, const GlowConvStoredParams *p) {
  const GlowConvParams *c = &p->conv;
  int64_t outputs = p->g.ow * glow_div_up(p->g.oc, GLOW_CONV_BLOCK);
  int64_t row =
      ((p->x ? p->g.sh * p->g.iw * p->blocks : 0) + (p->y ? outputs : 0)) * GLOW_CONV_BLOCK * 4;
  int64_t unit = glow_max64(row * c->tile_rows / (c->scattered ? p->g.ow : 1), 1);
  int64_t fit = glow_max64(cpu->l2 / 2, groups_of(c) * filter_bytes(c)) / unit;
  return glow_max64(1, glow_min64(fit, glow_div_up(c->rows, c->tile_rows)));
}

/* Rows of the input that a strip reads at most: those of its first and its last row of the output,
 * and all between, also of images that end in between. */
static int64_t strip_rows(const GlowConvStoredParams *p) {
  const GlowConvGeometry *g = &p->g;
  int64_t rows = p->strip * p->conv.tile_rows;
  if (p->conv.scattered)
    rows = rows / g->ow + 2;
  int64_t ends = (rows - 1) / g->oh + 1, skipped = glow_max64(g->ih - g->oh * g->sh, 0);
  int64_t read = (rows - 1) * g->sh + (g->kh - 1) * g->dh + 1 + ends * skipped;
  return glow_min64(read, p->images * g->ih);
}

/* The geometry as the tiles see it: what is stored in 16 bits lies in scratch, where images follow
 * each other. Returns the bytes of scratch. */
static int64_t see_strip(GlowConvStoredParams *p) {
  GlowConvGeometry *g = &p->conv.g;
  int64_t pixels = p->strip * p->conv.tile_rows * (p->conv.scattered ? 1 : g->ow), bytes = 0;
  if (p->x) {
    g->xw = GLOW_CONV_BLOCK;
    g->xh = g->iw * g->xw;
    g->xc = p->rows * g->xh;
    g->xn = g->ih * g->xh;
    bytes = p->blocks * g->xc * 4;
  }
  p->y_at = bytes;
  if (p->y) {
    g->yw = GLOW_CONV_BLOCK;
    g->yh = g->ow * g->yw;
    g->yc = pixels * g->yw;
    g->yn = g->oh * g->yh;
    bytes += glow_div_up(g->oc, GLOW_CONV_BLOCK) * g->yc * 4;
  }
  p->conv.gx = p->group * g->xc;
  return bytes;
}

void glow_setup_conv_stored(const GlowCpuNumbers *cpu, GlowConvStoredParams *p, GlowSetup *setup) {
  GlowConvParams *c = &p->conv;
  c->g = p->g;
  p->strip = strip_units(cpu, p);
  p->rows = strip_rows(p);
  setup->scratch = see_strip(p);
  cut_rows(c);
  find_padding(c, setup);
  c->band = p->strip * c->tile_rows;
  fetch_filter(cpu, c);
  c->fetch = c->by_group = 0;
  name_tiles(cpu, c, setup->tiles);
  setup->units = glow_div_up(c->rows, c->tile_rows);
}

/* ---- Few, plain input channels --------------------------------------------------------------- */

/* The geometry of the packed input, as the tiles see it: no padding and no images; if p->run, a row
 * of taps is one tap with more channels. */
static void see_packed(GlowConvFewParams *p) {
  GlowConvParams *c = &p->conv;
  c->g = p->g;
  c->g.pt = c->g.pl = c->g.xn = c->g.xc = 0;
  c->g.ih = c->g.iw = INT64_MAX;
  c->g.xh = p->places * p->g.ic;
  c->g.xw = p->g.ic;
  if (p->run) {
    c->g.ic = c->block = c->wi = p->g.kw * p->g.ic;
    c->g.kw = 1;
  }
}

void glow_setup_conv_few(const GlowCpuNumbers *cpu, GlowConvFewParams *p, GlowSetup *setup) {
  GlowConvParams *c = &p->conv;
  p->places = (p->g.ow - 1) * p->g.sw + (p->g.kw - 1) * p->g.dw + 1;
  see_packed(p);
  cut_rows(c);
  int64_t row = c->g.xh * 4, reach = (p->g.kh - 1) * p->g.dh + 1;
  int64_t fit = glow_band_bytes(cpu, filter_bytes(c)) / 2 / row; /* what is packed passes, too */
  c->band = fit > reach + p->g.sh ? (fit - reach) / p->g.sh + 1 : 1;
  c->band = glow_min64(c->band, p->g.oh);
  c->fetch = c->left = c->right = c->by_group = c->ahead = c->turns = c->padded = 0;
  name_tiles(cpu, c, setup->tiles);
  setup->units = c->rows;
  setup->scratch = ((c->band - 1) * p->g.sh + reach) * row;
}
