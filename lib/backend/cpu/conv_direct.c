/* Convolutions over NCHW16c with packed filters, and those that read few channels plain.
 *
 * A 1x1 convolution with stride 1 and no padding sees each image as one row. The rest is reading
 * the instruction into GlowConvParams, and two rules: the tile and the band. */
#include "backend/cpu/conv.h"

#include <string.h>

/* Full tiles of one row if the row is long enough: as few as cover it, all of about the same width.
 * A row that fills less than half of the registers shares the tile with others, as long as there
 * are general registers for a pointer to each row and to each pixel at an edge: 8. */
void glow_cpu_conv_tile(const GlowIsa *isa, int64_t ow, int64_t rows, int64_t edges,
                        int64_t *tile_rows, int64_t *tile_cols) {
  int64_t pixels = isa->tile_pixels;
  *tile_rows = 1;
  *tile_cols = glow_div_up(ow, glow_div_up(ow, pixels));
  if (ow * 2 <= pixels) {
    *tile_cols = ow;
    *tile_rows =
        glow_min64(glow_min64(pixels / ow, rows), glow_min64(GLOW_CONV_MAX_ROWS, 8 / (1 + edges)));
    *tile_rows = *tile_rows < 1 ? 1 : *tile_rows;
  }
}

/* Output rows (or pixels, if they are scattered) whose input stays in half of the cache while all
 * groups of the filter pass; bands of about the same height. Where strides skip pixels, only those
 * that windows touch count. */
static int64_t band_rows(const GlowIsa *isa, const GlowConvParams *p) {
  int64_t channels = glow_div_up(p->ic, GLOW_CONV_BLOCK) * GLOW_CONV_BLOCK;
  int64_t width = p->kw < p->sw ? p->ow * p->kw : p->iw;
  int64_t bytes = glow_min64(p->kh, p->sh) * width * channels * 4;
  if (p->scattered)
    bytes = glow_div_up(bytes, p->ow);
  int64_t tiles = glow_div_up(p->rows, p->tile_rows);
  int64_t fit = isa->l2 / 2 / (bytes ? bytes : 1) / p->tile_rows;
  int64_t bands = glow_div_up(tiles, fit < 1 ? 1 : fit);
  return glow_div_up(tiles, bands) * p->tile_rows;
}

static void read_params(const GlowConvView *c, GlowConvParams *p) {
  const GlowType *x = c->x.type, *w = c->w.type, *y = c->y.type;
  int64_t group_out = c->oc / c->groups;
  *p = (GlowConvParams){
      .rows = y->dims[0].size * y->dims[2].size,
      .oh = y->dims[2].size,
      .ow = y->dims[3].size,
      .oc = c->oc,
      .ih = x->dims[2].size,
      .iw = x->dims[3].size,
      .ic = c->ic,
      .kh = w->dims[2].size,
      .kw = w->dims[3].size,
      .sh = glow_conv_member(c->m->strides, 0, 1),
      .sw = glow_conv_member(c->m->strides, 1, 1),
      .dh = glow_conv_member(c->m->dilations, 0, 1),
      .dw = glow_conv_member(c->m->dilations, 1, 1),
      .pt = glow_conv_member(c->m->pads, 0, 0),
      .pl = glow_conv_member(c->m->pads, 1, 0),
      .xn = c->x.strides[0],
      .xc = c->x.strides[1],
      .xh = c->x.strides[2],
      .xw = c->x.strides[3],
      .yn = c->y.strides[0],
      .yc = c->y.strides[1],
      .yh = c->y.strides[2],
      .yw = c->y.strides[3],
      .ob = c->ob,
      .block = c->ic < 1 ? 1 : glow_min64(c->ic, GLOW_CONV_BLOCK),
      .wi = c->wi,
      .gb = glow_div_up(group_out, c->ob),
      .gx = c->groups > 1 ? c->ic / GLOW_CONV_BLOCK * c->x.strides[1] : 0,
      .bias = c->has_bias,
  };
}

/* Neighbouring rows as one, if that is all the same to the kernel and takes fewer tiles: as few as
 * give nearly the fewest. */
static void flatten(GlowSelect *s, GlowWork *w, GlowConvParams *p) {
  int64_t pixels = s->isa->tile_pixels;
  bool pointwise = p->kh == 1 && p->kw == 1 && p->sh == 1 && p->sw == 1 && p->pt == 0 &&
                   p->pl == 0 && p->oh == p->ih && p->ow == p->iw;
  bool dense = p->xh == p->iw * p->xw && p->yh == p->ow * p->yw;
  for (uint32_t i = 0; i < w->noperands; i++)
    dense = dense && w->operands[i].stride[2] == p->ow * w->operands[i].stride[3];
  if (!pointwise || !dense)
    return;
  int64_t fewest = glow_div_up(p->oh * p->ow, pixels), merged = 1;
  while (
      merged < p->oh &&
      (p->oh % merged || p->oh / merged * glow_div_up(p->ow * merged, pixels) * 64 > fewest * 65))
    merged++;
  p->rows /= merged;
  p->oh /= merged;
  p->ow *= merged;
  p->ih = p->oh;
  p->iw = p->ow;
  p->xh *= merged;
  p->yh *= merged;
  GlowOperand *operands = GLOW_NEW_ARRAY(s->arena, GlowOperand, w->noperands);
  for (uint32_t i = 0; i < w->noperands; i++) {
    operands[i] = w->operands[i];
    operands[i].stride[2] *= merged;
  }
  w->operands = operands;
}

/* Pixels of a tile that a window can leave to the left and to the right. */
static void count_edges(GlowConvParams *p) {
  p->left = glow_min64(glow_div_up(p->pl, p->sw), p->ow);
  for (p->right = 0; p->right < p->ow; p->right++) {
    int64_t last = (p->ow - 1 - p->right) * p->sw - p->pl + (p->kw - 1) * p->dw;
    if (last < p->iw)
      break;
  }
}

/* The tile that the instruction names, or a good one. most_rows: what the kernel can do. */
static bool choose_tile(GlowSelect *s, const GlowConvView *c, int64_t most_rows,
                        GlowConvParams *p) {
  const GlowArray given = c->m->tile;
  if (given.count) {
    p->tile_rows = glow_conv_member(given, 0, 1);
    p->tile_cols = glow_conv_member(given, 1, 1);
    int64_t most = s->isa->tile_pixels;
    if (given.count != 2 || p->tile_rows < 1 || p->tile_cols < 1 || p->tile_rows > most_rows ||
        p->tile_rows * p->tile_cols > most || p->tile_cols > p->ow ||
        (p->tile_rows > 1 && p->tile_cols != p->ow) ||
        glow_div_up(p->ow, p->tile_cols) * (p->tile_cols - 1) > p->ow)
      return glow_conv_fail(s, glow_arena_printf(s->arena,
                                                 "no kernel of %s has its tile: rows and columns "
                                                 "of at most %u output pixels that cover a row",
                                                 s->isa->name, s->isa->tile_pixels));
  } else {
    glow_cpu_conv_tile(s->isa, p->ow, glow_min64(p->rows, most_rows), p->left + p->right,
                       &p->tile_rows, &p->tile_cols);
  }
  p->narrow = glow_div_up(p->ow, p->tile_cols) * p->tile_cols - p->ow;
  p->left = glow_min64(p->left, p->tile_cols);
  p->right = glow_min64(p->right, p->tile_cols);
  return true;
}

/* Whether a window can leave the input at the top or bottom, or at the sides. */
static bool reads_padding(const GlowConvParams *p) {
  int64_t bottom = (p->oh - 1) * p->sh - p->pt + (p->kh - 1) * p->dh;
  return p->pt > 0 || bottom >= p->ih || p->left || p->right;
}

/* Tiles of full width on rows that they do not divide, where a pointer to each pixel fits into the
 * registers. */
static void scatter(const GlowIsa *isa, const GlowConvView *c, GlowConvParams *p) {
  int64_t pixels = isa->tile_pixels, tiles = glow_div_up(p->ow, pixels);
  if (c->m->tile.count || p->kh * p->kw > GLOW_CONV_MAX_TAPS || pixels < 6 || pixels > 8 ||
      p->ow * 20 > tiles * pixels * 19)
    return;
  p->scattered = 1;
  p->rows *= p->ow;
  p->tile_rows = glow_min64(pixels, p->rows);
  p->tile_cols = 1;
  p->narrow = 0;
}

/* The sizes of tiles that the convolution needs: full, small, and both for an odd last group. */
static void name_tiles(GlowSelect *s, const GlowConvParams *p, const char *names[4]) {
  int64_t groups = glow_div_up(p->oc, p->ob), left = p->oc - (groups - 1) * p->ob;
  bool odd = p->ob > GLOW_CONV_BLOCK && left <= GLOW_CONV_BLOCK;
  int64_t rest = p->rows % p->tile_rows;
  for (int i = 0; i < 4; i++) {
    bool small = i % 2;
    int64_t rows = small && rest ? rest : p->tile_rows;
    int64_t cols = p->tile_cols - (small && p->narrow);
    int64_t vectors = (i < 2 ? p->ob : GLOW_CONV_BLOCK) / s->isa->vl;
    names[i] = NULL;
    bool used = (!small || rest || p->narrow) && (i < 2 ? groups > odd : odd);
    if (used && p->scattered)
      names[i] = glow_arena_printf(s->arena, "conv_scattered_%dx%d", (int)rows, (int)vectors);
    else if (used)
      names[i] =
          glow_arena_printf(s->arena, "conv_tile_%dx%dx%d", (int)rows, (int)cols, (int)vectors);
  }
}

/* Threads share rows, or blocks of the filter if that is the larger operand. */
static void choose_units(GlowConvParams *p, GlowWorkSpec *spec) {
  int64_t rows = glow_div_up(p->rows, p->tile_rows), groups = glow_div_up(p->oc, p->ob);
  int64_t inputs = p->rows * p->iw * p->sh / (p->scattered ? p->ow : 1);
  p->by_group = groups > 1 && (rows < 4 || p->kh * p->kw * p->oc > inputs);
  spec->units = p->by_group ? groups : rows;
}

/* Filters that do not stay in the cache are fetched a block ahead: the tiles of a band share the
 * lines of a tap. */
static void fetch_ahead(const GlowIsa *isa, GlowConvParams *p) {
  int64_t groups = glow_div_up(p->oc, p->ob), lines = p->wi * p->ob / 16;
  int64_t bytes = glow_div_up(p->ic, p->block) * p->kh * p->kw * p->wi * p->ob * 4;
  int64_t row = p->scattered ? 1 : glow_div_up(p->ow, p->tile_cols);
  int64_t tiles = glow_div_up(p->band, p->tile_rows) * row;
  if (groups * bytes <= isa->l2 / 2)
    return;
  p->ahead = glow_min64(glow_div_up(lines, tiles), 8);
  p->turns = glow_div_up(lines, p->ahead);
}

/* Appends the work of `spec`, to which it adds what follows from the parameters. */
static void append(GlowSelect *s, const GlowNode *n, const GlowConvView *c, const GlowConvParams *p,
                   const GlowWork *body, GlowWorkSpec *spec, int64_t scratch) {
  int64_t zeros = ((p->tile_cols - 1) * p->sw * p->xw + GLOW_CONV_BLOCK) * 4;
  GlowPlace places[] = {c->y.place, c->x.place, c->w.place,
                        c->has_bias ? c->b.place : glow_place_absent(),
                        p->padded ? glow_place_zeros(zeros) : glow_place_absent()};
  memcpy(spec->places, places, sizeof places);
  spec->nplaces = 5;
  spec->nwritten = 1;
  spec->shards = c->m->shards > 1 ? c->m->shards : 0;
  spec->cost = p->rows * (p->scattered ? 1 : p->ow) * p->oc * p->ic * p->kh * p->kw;
  const char *names[4];
  name_tiles(s, p, names);
  GlowWork *w = glow_select_work(s, n, spec);
  w->scratch = scratch;
  w->tiles = (GlowTiles){glow_arena_copy(s->arena, names, sizeof names), 4, 6, 3};
  glow_conv_set_epilogue(w, body);
}

/* The packed input as the tiles see it: no padding, no images, and if the filter's rows are all
 * there, a row of taps as one run of channels. */
static bool select_few(GlowSelect *s, const GlowNode *n, const GlowConvView *c, GlowConvParams *p,
                       const GlowWork *body) {
  GlowConvFewParams few = {.ih = p->ih,
                           .iw = p->iw,
                           .ic = p->ic,
                           .xn = p->xn,
                           .xc = p->xc,
                           .xh = p->xh,
                           .xw = p->xw,
                           .pt = p->pt,
                           .pl = p->pl};
  few.places = (p->ow - 1) * p->sw + (p->kw - 1) * p->dw + 1;
  int64_t pitch = few.places * p->ic;
  p->pt = p->pl = p->xn = p->xc = 0;
  p->ih = p->iw = INT64_MAX;
  p->xh = pitch;
  p->xw = p->ic;
  if (p->wi == p->ic && p->dw == 1) {
    p->ic = p->block = p->wi = p->kw * p->ic;
    p->kw = 1;
  }
  if (!choose_tile(s, c, 1, p))
    return false;
  int64_t reach = (p->kh - 1) * p->dh + 1, fit = s->isa->l2 / 4 / (pitch * 4);
  p->band = fit > reach + p->sh ? (fit - reach) / p->sh + 1 : 1;
  p->band = glow_min64(p->band, p->oh);
  few.conv = *p;
  GlowWorkSpec spec = {
      .kernel = "conv_few", .params = &few, .params_size = sizeof few, .units = p->rows};
  append(s, n, c, p, body, &spec, ((p->band - 1) * p->sh + reach) * pitch * 4);
  return true;
}

static bool check_layouts(GlowSelect *s, const GlowConvView *c, bool few) {
  int64_t most = (int64_t)s->isa->vl * s->isa->tile_vectors;
  if (!glow_conv_has_layout(&c->y, "NCHW16c") ||
      !glow_conv_has_layout(&c->x, few ? NULL : "NCHW16c"))
    return glow_conv_fail(s, "its input and output must have the layout NCHW16c");
  if ((c->ob != most && c->ob != GLOW_CONV_BLOCK) || c->ob > most ||
      (c->wi != GLOW_CONV_BLOCK && c->wi != c->ic) || c->wi > GLOW_CONV_BLOCK)
    return glow_conv_fail(s,
                          glow_arena_printf(s->arena, "its filter must have the layout %s for %s",
                                            s->isa->filter, s->isa->name));
  if (c->groups > 1 && (c->ic % GLOW_CONV_BLOCK || c->oc / c->groups % c->ob))
    return glow_conv_fail(s, "its groups are not whole blocks of channels");
  if ((!few && c->x.strides[4] != 1) || c->y.strides[4] != 1 || !glow_conv_is_dense(&c->w))
    return glow_conv_fail(s, "the channels of a block are not contiguous");
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
  flatten(s, &body, &p);
  count_edges(&p);
  if (!choose_tile(s, c, GLOW_CONV_MAX_ROWS, &p))
    return false;
  p.padded = reads_padding(&p);
  scatter(s->isa, c, &p);
  p.band = band_rows(s->isa, &p);
  fetch_ahead(s->isa, &p);
  /* Channel blocks are far apart, so the machine does not see the next tile of a 1x1 coming. */
  int64_t input = p.xn * 4 * c->y.dims[0];
  if (p.kh == 1 && p.kw == 1 && input > s->isa->l2)
    p.fetch = (p.scattered ? p.tile_rows : p.tile_cols) * p.sw * p.xw;
  GlowWorkSpec spec = {.kernel = "conv", .params = &p, .params_size = sizeof p};
  choose_units(&p, &spec);
  append(s, n, c, &p, &body, &spec, 0);
  return true;
}
