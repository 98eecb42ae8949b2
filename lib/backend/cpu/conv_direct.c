/* Convolutions over NCHW16c with packed filters, and those that read few channels plain.
 *
 * Reads the instruction into GlowConvParams. The tile is in the text, or that of
 * target/cpu/rules.h; the band, what is fetched ahead and what threads share are decided here. */
#include "backend/cpu/conv.h"
#include "cpu/work.h"
#include "target/cpu/rules.h"

#include <string.h>

/* Output rows (or pixels, if they are scattered) whose input stays in half of the cache while all
 * groups of the filter pass; bands of about the same height. Where strides skip pixels, only those
 * that windows touch count. */
static int64_t band_rows(const GlowIsa *isa, const GlowConvParams *p) {
  int64_t channels = glow_div_up(p->g.ic, GLOW_CONV_BLOCK) * GLOW_CONV_BLOCK;
  int64_t width = p->g.kw < p->g.sw ? p->g.ow * p->g.kw : p->g.iw;
  int64_t bytes = glow_min64(p->g.kh, p->g.sh) * width * channels * 4;
  if (p->scattered)
    bytes = glow_div_up(bytes, p->g.ow);
  int64_t tiles = glow_div_up(p->rows, p->tile_rows);
  int64_t fit = isa->l2 / 2 / (bytes ? bytes : 1) / p->tile_rows;
  int64_t bands = glow_div_up(tiles, fit < 1 ? 1 : fit);
  return glow_div_up(tiles, bands) * p->tile_rows;
}

static void read_params(const GlowConvView *c, GlowConvParams *p) {
  int64_t group_out = c->oc / c->groups;
  *p = (GlowConvParams){
      .g = c->g,
      .rows = c->y.type->dims[0].size * c->g.oh,
      .ob = c->ob,
      .block = c->ic < 1 ? 1 : glow_min64(c->ic, GLOW_CONV_BLOCK),
      .wi = c->wi,
      .gb = glow_div_up(group_out, c->ob),
      .gx = c->groups > 1 ? c->ic / GLOW_CONV_BLOCK * c->g.xc : 0,
  };
}

/* Whether neighbouring rows can be seen as one. */
static bool is_flat(const GlowWork *w, const GlowConvParams *p) {
  bool flat = p->g.kh == 1 && p->g.kw == 1 && p->g.sh == 1 && p->g.sw == 1 && p->g.pt == 0 &&
              p->g.pl == 0 && p->g.oh == p->g.ih && p->g.ow == p->g.iw &&
              p->g.xh == p->g.iw * p->g.xw && p->g.yh == p->g.ow * p->g.yw;
  for (uint32_t i = 0; i < w->noperands; i++)
    flat = flat && w->operands[i].stride[2] == p->g.ow * w->operands[i].stride[3];
  return flat;
}

/* Sees neighbouring rows as one. */
static void merge_rows(GlowSelect *s, GlowWork *w, GlowConvParams *p, int64_t merged) {
  p->rows /= merged;
  p->g.oh /= merged;
  p->g.ow *= merged;
  p->g.ih = p->g.oh;
  p->g.iw = p->g.ow;
  p->g.xh *= merged;
  p->g.yh *= merged;
  GlowOperand *operands = GLOW_NEW_ARRAY(s->arena, GlowOperand, w->noperands);
  for (uint32_t i = 0; i < w->noperands; i++) {
    operands[i] = w->operands[i];
    operands[i].stride[2] *= merged;
  }
  w->operands = operands;
}

/* Whether there are kernels for the tile that the text names. */
static bool is_tile(const GlowIsa *isa, const GlowConvGrid *g, const GlowConvTile *t) {
  int64_t rows = t->values[0], cols = t->values[1], vectors = isa->tile_vectors;
  int64_t merged = t->count == 3 ? t->values[2] : 1, width = g->ow * merged;
  if (t->count == 1)
    return !g->single && g->taps <= GLOW_CONV_MAX_TAPS &&
           glow_find_conv_scattered(isa, rows, vectors);
  return glow_find_conv_tile(isa, rows, cols, vectors) && cols <= width &&
         (rows == 1 || (cols == width && !g->single)) &&
         glow_div_up(width, cols) * (cols - 1) <= width && merged >= 1 &&
         (merged == 1 || (g->flat && g->oh % merged == 0));
}

/* The tile that the instruction names, or a good one, into p. */
static bool choose_tile(GlowSelect *s, const GlowConvView *c, GlowWork *body, bool single,
                        GlowConvParams *p) {
  const GlowArray given = c->m->tile;
  GlowConvGrid g = {.rows = p->rows, .oh = p->g.oh, .ow = p->g.ow, .edges = p->left + p->right};
  g.taps = p->g.kh * p->g.kw;
  g.single = single;
  g.flat = !single && is_flat(body, p);
  GlowConvTile t = {.count = given.count};
  if (given.count && given.count <= 3)
    memcpy(t.values, given.data, given.count * sizeof *t.values);
  else
    t = glow_conv_tile(s->isa, &g);
  if (given.count > 3 || !is_tile(s->isa, &g, &t))
    return glow_select_fail(s, glow_arena_printf(s->arena,
                                                 "no kernel of %s has its tile: at most %u output "
                                                 "pixels, in rows that cover the result",
                                                 s->isa->name, s->isa->tile_pixels));
  if (t.count == 3 && t.values[2] > 1)
    merge_rows(s, body, p, t.values[2]);
  p->scattered = t.count == 1;
  p->tile_rows = t.values[0];
  p->tile_cols = p->scattered ? 1 : t.values[1];
  p->rows *= p->scattered ? p->g.ow : 1;
  p->narrow = p->scattered ? 0 : glow_div_up(p->g.ow, p->tile_cols) * p->tile_cols - p->g.ow;
  p->left = glow_min64(p->left, p->tile_cols);
  p->right = glow_min64(p->right, p->tile_cols);
  return true;
}

/* Whether a window can leave the input at the top or bottom, or at the sides. */
static bool reads_padding(const GlowConvParams *p) {
  int64_t bottom = (p->g.oh - 1) * p->g.sh - p->g.pt + (p->g.kh - 1) * p->g.dh;
  return p->g.pt > 0 || bottom >= p->g.ih || p->left || p->right;
}

/* The sizes of tiles that the convolution needs: full, small, and both for an odd last group. */
static void find_tiles(GlowSelect *s, const GlowConvParams *p, const GlowTile *tiles[4]) {
  int64_t groups = glow_div_up(p->g.oc, p->ob), left = p->g.oc - (groups - 1) * p->ob;
  bool odd = p->ob > GLOW_CONV_BLOCK && left <= GLOW_CONV_BLOCK;
  int64_t rest = p->rows % p->tile_rows;
  for (int i = 0; i < 4; i++) {
    bool small = i % 2;
    int64_t rows = small && rest ? rest : p->tile_rows;
    int64_t cols = p->tile_cols - (small && p->narrow);
    int64_t vectors = (i < 2 ? p->ob : GLOW_CONV_BLOCK) / s->isa->vl;
    bool used = (!small || rest || p->narrow) && (i < 2 ? groups > odd : odd);
    tiles[i] = NULL;
    if (used)
      tiles[i] = glow_select_tile_found(s, p->scattered
                                               ? glow_find_conv_scattered(s->isa, rows, vectors)
                                               : glow_find_conv_tile(s->isa, rows, cols, vectors));
  }
}

/* Output channels for which it is worth reading the whole input. */
enum { SHARE_CHANNELS = 128 };

/* Threads share rows, or blocks of the filter if that is the larger operand. */
static void choose_units(GlowConvParams *p, GlowWorkSpec *spec) {
  int64_t rows = glow_div_up(p->rows, p->tile_rows), groups = glow_div_up(p->g.oc, p->ob);
  int64_t inputs = p->rows * p->g.iw * p->g.sh / (p->scattered ? p->g.ow : 1);
  p->by_group = groups > 1 && (rows < 4 || p->g.kh * p->g.kw * p->g.oc > inputs);
  spec->units = p->by_group ? groups : rows;
  spec->grain = p->by_group ? SHARE_CHANNELS / p->ob : 0;
}

/* Filters that do not stay in the cache are fetched a block ahead: the tiles of a band share the
 * lines of a tap. */
static void fetch_ahead(const GlowIsa *isa, GlowConvParams *p) {
  int64_t groups = glow_div_up(p->g.oc, p->ob), lines = p->wi * p->ob / 16;
  int64_t bytes = glow_div_up(p->g.ic, p->block) * p->g.kh * p->g.kw * p->wi * p->ob * 4;
  int64_t row = p->scattered ? 1 : glow_div_up(p->g.ow, p->tile_cols);
  int64_t tiles = glow_div_up(p->band, p->tile_rows) * row;
  if (groups * bytes <= isa->l2 / 2)
    return;
  p->ahead = glow_min64(glow_div_up(lines, tiles), 8);
  p->turns = glow_div_up(lines, p->ahead);
}

/* Where the operands are: zeros for padding that tiles read. */
static GlowConvPlaces places_of(const GlowConvView *c, const GlowConvParams *p) {
  int64_t zeros = ((p->tile_cols - 1) * p->g.sw * p->g.xw + GLOW_CONV_BLOCK) * 4;
  return (GlowConvPlaces){.y = c->y.place,
                          .x = c->x.place,
                          .w = c->w.place,
                          .bias = c->has_bias ? c->b.place : glow_place_absent(),
                          .zeros = p->padded ? glow_place_zeros(zeros) : glow_place_absent()};
}

/* The packed input as the tiles see it: no padding, no images, and if the filter's rows are all
 * there, a row of taps as one run of channels. */
static bool select_few(GlowSelect *s, const GlowNode *n, const GlowConvView *c, GlowConvParams *p,
                       GlowWork *body) {
  GlowConvFewParams few = {.g = p->g};
  few.places = (p->g.ow - 1) * p->g.sw + (p->g.kw - 1) * p->g.dw + 1;
  int64_t pitch = few.places * p->g.ic;
  p->g.pt = p->g.pl = p->g.xn = p->g.xc = 0;
  p->g.ih = p->g.iw = INT64_MAX;
  p->g.xh = pitch;
  p->g.xw = p->g.ic;
  if (p->wi == p->g.ic && p->g.dw == 1) {
    p->g.ic = p->block = p->wi = p->g.kw * p->g.ic;
    p->g.kw = 1;
  }
  if (!choose_tile(s, c, body, true, p))
    return false;
  int64_t reach = (p->g.kh - 1) * p->g.dh + 1, fit = s->isa->l2 / 4 / (pitch * 4);
  p->band = fit > reach + p->g.sh ? (fit - reach) / p->g.sh + 1 : 1;
  p->band = glow_min64(p->band, p->g.oh);
  few.conv = *p;
  const GlowTile *t[4];
  find_tiles(s, p, t);
  GlowConvPlaces at = places_of(c, p);
  GlowWork *w = glow_work_conv_few(s, n, &few, &(GlowConvFewTiles){t[0], t[1], t[2], t[3]},
                                   &(GlowConvFewPlaces){at.y, at.x, at.w, at.bias, at.zeros},
                                   &(GlowWorkSpec){.units = p->rows});
  w->scratch = ((p->band - 1) * p->g.sh + reach) * pitch * 4;
  glow_conv_set_epilogue(w, body);
  return true;
}

static bool check_layouts(GlowSelect *s, const GlowConvView *c, bool few) {
  int64_t most = (int64_t)s->isa->vl * s->isa->tile_vectors;
  if (!glow_conv_has_layout(&c->y, "NCHW16c") ||
      !glow_conv_has_layout(&c->x, few ? NULL : "NCHW16c"))
    return glow_select_fail(s, "its input and output must have the layout NCHW16c");
  if ((c->ob != most && c->ob != GLOW_CONV_BLOCK) || c->ob > most ||
      (c->wi != GLOW_CONV_BLOCK && c->wi != c->ic) || c->wi > GLOW_CONV_BLOCK)
    return glow_select_fail(s,
                            glow_arena_printf(s->arena, "its filter must have the layout %s for %s",
                                              s->isa->filter, s->isa->name));
  if (c->groups > 1 && (c->ic % GLOW_CONV_BLOCK || c->oc / c->groups % c->ob))
    return glow_select_fail(s, "its groups are not whole blocks of channels");
  if ((!few && c->x.strides[4] != 1) || c->y.strides[4] != 1 || !glow_view_is_dense(&c->w))
    return glow_select_fail(s, "the channels of a block are not contiguous");
  return true;
}

bool glow_select_conv_direct(GlowSelect *s, const GlowNode *n, const GlowConvView *c) {
  bool few = c->groups == 1 && c->ic > 0 && c->ic < GLOW_CONV_BLOCK && !c->x.type->layout;
  GlowWork body = {0};
  GlowConvParams p;
  if (!check_layouts(s, c, few) || !glow_conv_epilogue(s, n, &c->y, &body))
    return false;
  read_params(c, &p);
  if (few)
    return select_few(s, n, c, &p, &body);
  glow_conv_edges(&(GlowConvLine){p.g.ow, p.g.iw, p.g.kw, p.g.sw, p.g.dw, p.g.pl}, &p.left,
                  &p.right);
  if (!choose_tile(s, c, &body, false, &p))
    return false;
  p.padded = reads_padding(&p);
  p.band = band_rows(s->isa, &p);
  fetch_ahead(s->isa, &p);
  /* Channel blocks are far apart, so the machine does not see the next tile of a 1x1 coming. */
  int64_t input = p.g.xn * 4 * c->y.dims[0];
  if (p.g.kh == 1 && p.g.kw == 1 && input > s->isa->l2)
    p.fetch = (p.scattered ? p.tile_rows : p.tile_cols) * p.g.sw * p.g.xw;
  GlowWorkSpec spec = {0};
  const GlowTile *t[4];
  choose_units(&p, &spec);
  find_tiles(s, &p, t);
  GlowConvPlaces at = places_of(c, &p);
  GlowConvTiles tiles = {t[0], t[1], t[2], t[3]};
  glow_conv_set_epilogue(glow_work_conv(s, n, &p, &tiles, &at, &spec), &body);
  return true;
}
