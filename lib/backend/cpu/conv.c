/* Convolutions over NCHW16c with packed filters.
 *
 * A 1x1 convolution with stride 1 and no padding sees each image as one row. The rest is reading
 * the instruction into GlowConvParams, and two rules: the tile and the band. */
#include "kernels/cpu/conv.h"
#include "backend/cpu/select.h"

#include <string.h>

static bool fail(GlowSelect *s, const char *why) {
  s->why = why;
  return false;
}

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Full tiles of one row if the row is long enough: as few as cover it, all of about the same width.
 * A row that fills less than half of the registers shares the tile with others, as long as there
 * are general registers for a pointer to each row and to each pixel at an edge: 8. */
void glow_cpu_conv_tile(const GlowIsa *isa, int64_t ow, int64_t rows, int64_t edges,
                        int64_t *tile_rows, int64_t *tile_cols) {
  int64_t pixels = isa->tile_pixels;
  *tile_rows = 1;
  *tile_cols = div_up(ow, div_up(ow, pixels));
  if (ow * 2 <= pixels) {
    *tile_cols = ow;
    *tile_rows = min64(min64(pixels / ow, rows), min64(GLOW_CONV_MAX_ROWS, 8 / (1 + edges)));
    *tile_rows = *tile_rows < 1 ? 1 : *tile_rows;
  }
}

/* Output rows whose input stays in half of the cache while all groups of the filter pass. */
static int64_t band_rows(const GlowIsa *isa, const GlowConvParams *p) {
  int64_t row_bytes = p->sh * p->iw * div_up(p->ic, GLOW_CONV_BLOCK) * GLOW_CONV_BLOCK * 4;
  int64_t rows = isa->l2 / 2 / (row_bytes ? row_bytes : 1);
  rows = rows / p->tile_rows * p->tile_rows;
  rows = rows < p->tile_rows ? p->tile_rows : rows;
  return min64(rows, div_up(p->rows, p->tile_rows) * p->tile_rows);
}

static uint32_t member_at(GlowArray a, uint32_t i, uint32_t initial) {
  return i < a.count ? glow_array_at(a, uint32_t, i) : initial;
}

static bool has_layout(const GlowView *v, const char *layout) {
  return v->type->layout && strcmp(v->type->layout->text, layout) == 0;
}

typedef struct Conv {
  const GlowConvolutionMembers *m;
  GlowView x, w, b, y;
  bool bias;
} Conv;

static bool read_operands(GlowSelect *s, const GlowNode *n, Conv *c) {
  c->m = n->members;
  const GlowValue *bias = glow_node_in(n, GLOW_CONVOLUTION_IN_B);
  c->bias = bias != NULL;
  if (!glow_select_view(s, glow_node_out(n, 0), &c->y) ||
      !glow_select_view(s, glow_node_in(n, GLOW_CONVOLUTION_IN_X), &c->x) ||
      !glow_select_view(s, glow_node_in(n, GLOW_CONVOLUTION_IN_W), &c->w) ||
      (bias && !glow_select_view(s, bias, &c->b)))
    return false;
  if (c->y.type->kind != GLOW_KIND_FLOAT)
    return fail(s, "it is not of float");
  if (c->m->group != 1)
    return fail(s, "it has groups");
  if (c->m->layout != GLOW_LAYOUT_NCHW || c->y.type->rank != 4)
    return fail(s, "only two spatial axes in NCHW order are supported");
  if (c->m->strategy != GLOW_CONV_STRATEGY_DIRECT)
    return fail(s, "only the strategy 'direct' is supported");
  if (!has_layout(&c->x, "NCHW16c") || !has_layout(&c->y, "NCHW16c"))
    return fail(s, "its input and output must have the layout NCHW16c");
  if (!has_layout(&c->w, s->isa->filter))
    return fail(s, glow_arena_printf(s->arena, "its filter must have the layout %s for %s",
                                     s->isa->filter, s->isa->name));
  if (c->x.strides[4] != 1 || c->y.strides[4] != 1)
    return fail(s, "the channels of a block are not contiguous");
  const GlowType *x = c->x.type, *w = c->w.type, *y = c->y.type;
  if (x->dims[0].size != y->dims[0].size || x->dims[1].size != w->dims[1].size ||
      y->dims[1].size != w->dims[0].size ||
      (bias && (c->b.rank != 1 || c->b.dims[0] != y->dims[1].size || c->b.strides[0] != 1)))
    return fail(s, "its operands do not fit each other");
  return true;
}

static void read_params(GlowSelect *s, const Conv *c, GlowConvParams *p) {
  const GlowType *x = c->x.type, *w = c->w.type, *y = c->y.type;
  *p = (GlowConvParams){
      .rows = y->dims[0].size * y->dims[2].size,
      .oh = y->dims[2].size,
      .ow = y->dims[3].size,
      .oc = y->dims[1].size,
      .ih = x->dims[2].size,
      .iw = x->dims[3].size,
      .ic = x->dims[1].size,
      .kh = w->dims[2].size,
      .kw = w->dims[3].size,
      .sh = member_at(c->m->strides, 0, 1),
      .sw = member_at(c->m->strides, 1, 1),
      .dh = member_at(c->m->dilations, 0, 1),
      .dw = member_at(c->m->dilations, 1, 1),
      .pt = member_at(c->m->pads, 0, 0),
      .pl = member_at(c->m->pads, 1, 0),
      .xn = c->x.strides[0],
      .xc = c->x.strides[1],
      .xh = c->x.strides[2],
      .xw = c->x.strides[3],
      .yn = c->y.strides[0],
      .yc = c->y.strides[1],
      .yh = c->y.strides[2],
      .yw = c->y.strides[3],
      .ob = (int64_t)s->isa->vl * s->isa->tile_vectors,
      .bias = c->bias,
  };
}

/* The epilogue's operands besides the accumulator. */
static bool read_epilogue(GlowSelect *s, const GlowNode *n, const Conv *c, GlowWork *w) {
  w->form = GLOW_BODY_EPILOGUE;
  w->body.block = glow_node_epilogue(n);
  const GlowNode *culprit = NULL;
  if (!glow_codegen_has_body(&w->body, &culprit))
    return fail(s, glow_arena_printf(s->arena,
                                     "its epilogue has '%s', which is not element-wise "
                                     "or not of float",
                                     glow_node_desc(culprit)->node));
  if (n->nextra > GLOW_MAX_RANK)
    return fail(s, "its epilogue has too many operands");
  GlowOperand *operands = GLOW_NEW_ARRAY(s->arena, GlowOperand, n->nextra);
  w->noperands = n->nextra;
  w->operands = operands;
  for (uint32_t i = 0; i < n->nextra; i++) {
    GlowOperand *o = &operands[i];
    GlowView v;
    int64_t stride[GLOW_VIEW_RANK];
    const GlowValue *value = n->operands[n->noperands - n->nextra + i].value;
    if (!value || !glow_select_view(s, value, &v))
      return value ? false : fail(s, "an operand of its epilogue is absent");
    if (!glow_select_operand(s, &c->y, &v, stride, &o->channels))
      return false;
    if (stride[4] != 0 && stride[4] != 1)
      return fail(s, "the channels of an operand of its epilogue are not contiguous");
    memcpy(o->stride, stride, 5 * sizeof *stride);
    o->place = v.place;
  }
  return true;
}

/* Each image as one row, if that is all the same to the kernel. Not if full tiles cover its rows
 * anyway and it is larger than the cache: rows make bands. */
static void flatten(const GlowIsa *isa, const GlowWork *w, GlowConvParams *p) {
  if (p->ow % isa->tile_pixels == 0 && p->xn * 4 > isa->l2 / 2)
    return;
  bool pointwise = p->kh == 1 && p->kw == 1 && p->sh == 1 && p->sw == 1 && p->pt == 0 &&
                   p->pl == 0 && p->oh == p->ih && p->ow == p->iw;
  bool dense = p->xh == p->iw * p->xw && p->yh == p->ow * p->yw;
  for (uint32_t i = 0; i < w->noperands; i++)
    dense = dense && w->operands[i].stride[2] == p->ow * w->operands[i].stride[3];
  if (!pointwise || !dense)
    return;
  p->rows /= p->oh;
  p->ow *= p->oh;
  p->iw *= p->ih;
  p->oh = p->ih = 1;
}

/* Pixels of a tile that a window can leave to the left and to the right. */
static void count_edges(GlowConvParams *p) {
  p->left = min64(div_up(p->pl, p->sw), p->ow);
  for (p->right = 0; p->right < p->ow; p->right++) {
    int64_t last = (p->ow - 1 - p->right) * p->sw - p->pl + (p->kw - 1) * p->dw;
    if (last < p->iw)
      break;
  }
}

static bool choose_tile(GlowSelect *s, const Conv *c, GlowConvParams *p) {
  const GlowArray given = c->m->tile;
  if (given.count) {
    p->tile_rows = member_at(given, 0, 1);
    p->tile_cols = member_at(given, 1, 1);
    int64_t most = s->isa->tile_pixels;
    if (given.count != 2 || p->tile_rows < 1 || p->tile_cols < 1 || p->tile_rows > most ||
        p->tile_rows * p->tile_cols > most || p->tile_rows > GLOW_CONV_MAX_ROWS ||
        p->tile_cols > p->ow || (p->tile_rows > 1 && p->tile_cols != p->ow) ||
        div_up(p->ow, p->tile_cols) * (p->tile_cols - 1) > p->ow)
      return fail(s, glow_arena_printf(s->arena,
                                       "no kernel of %s has its tile: rows and columns "
                                       "of at most %u output pixels that cover a row",
                                       s->isa->name, s->isa->tile_pixels));
  } else {
    glow_cpu_conv_tile(s->isa, p->ow, p->rows, p->left + p->right, &p->tile_rows, &p->tile_cols);
  }
  p->narrow = div_up(p->ow, p->tile_cols) * p->tile_cols - p->ow;
  p->left = min64(p->left, p->tile_cols);
  p->right = min64(p->right, p->tile_cols);
  p->band = band_rows(s->isa, p);
  /* Channel blocks are far apart, so the machine does not see the next tile of a 1x1 coming. */
  if (p->kh == 1 && p->kw == 1 && p->xn * 4 > s->isa->l2)
    p->fetch = p->tile_cols * p->sw * p->xw;
  return true;
}

/* Whether a window can leave the input at the top or bottom, or at the sides. */
static bool reads_padding(const GlowConvParams *p) {
  int64_t bottom = (p->oh - 1) * p->sh - p->pt + (p->kh - 1) * p->dh;
  return p->pt > 0 || bottom >= p->ih || p->left || p->right;
}

/* The sizes of tiles that the convolution needs: full, small, and both for an odd last group. */
static void name_tiles(GlowSelect *s, const GlowConvParams *p, const char *names[4]) {
  int64_t groups = div_up(p->oc, p->ob), left = p->oc - (groups - 1) * p->ob;
  bool odd = p->ob > GLOW_CONV_BLOCK && left <= GLOW_CONV_BLOCK;
  int64_t rest = p->rows % p->tile_rows;
  for (int i = 0; i < 4; i++) {
    bool small = i % 2;
    int64_t rows = small && rest ? rest : p->tile_rows;
    int64_t cols = p->tile_cols - (small && p->narrow);
    int64_t vectors = (i < 2 ? p->ob : GLOW_CONV_BLOCK) / s->isa->vl;
    names[i] = NULL;
    if ((!small || rest || p->narrow) && (i < 2 ? groups > odd : odd))
      names[i] =
          glow_arena_printf(s->arena, "conv_tile_%dx%dx%d", (int)rows, (int)cols, (int)vectors);
  }
}

/* Threads share rows, or blocks of the filter if that is the larger operand. */
static void choose_units(const GlowConvParams *p, GlowWorkSpec *spec, GlowConvParams *out) {
  int64_t rows = div_up(p->rows, p->tile_rows), groups = div_up(p->oc, p->ob);
  out->by_group = groups > 1 && (rows < 4 || p->kh * p->kw * p->oc > p->rows * p->iw * p->sh);
  spec->units = out->by_group ? groups : rows;
  spec->cost = p->rows * p->ow * p->oc * p->ic * p->kh * p->kw;
}

bool glow_select_conv(GlowSelect *s, const GlowNode *n) {
  Conv c;
  GlowWork body = {0};
  GlowConvParams p;
  if (!read_operands(s, n, &c) || !read_epilogue(s, n, &c, &body))
    return false;
  read_params(s, &c, &p);
  if (!p.rows || !p.ow || !p.oc)
    return true; /* no elements */
  flatten(s->isa, &body, &p);
  count_edges(&p);
  if (!choose_tile(s, &c, &p))
    return false;
  int64_t zeros = ((p.tile_cols - 1) * p.sw * p.xw + 16) * 4;
  GlowWorkSpec spec = {
      .kernel = "conv",
      .params = &p,
      .params_size = sizeof p,
      .places = {c.y.place, c.x.place, c.w.place, c.bias ? c.b.place : glow_place_absent(),
                 reads_padding(&p) ? glow_place_zeros(zeros) : glow_place_absent()},
      .nplaces = 5,
      .nwritten = 1,
      .shards = c.m->shards > 1 ? c.m->shards : 0};
  choose_units(&p, &spec, &p);
  const char *names[4];
  name_tiles(s, &p, names);
  GlowWork *w = glow_select_work(s, n, &spec);
  w->tiles = (GlowTiles){glow_arena_copy(s->arena, names, sizeof names), 4, 6, 3};
  w->form = body.form;
  w->body = body.body;
  w->operands = body.operands;
  w->noperands = body.noperands;
  return true;
}
