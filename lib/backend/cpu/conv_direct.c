/* Convolutions over NCHW16c with packed filters, and those that read few channels plain.
 *
 * Reads the instruction into GlowConvParams. The tile is in the text, or that of
 * target/cpu/rules.h; the rest is decided by the setup. */
#include "backend/cpu/conv.h"
#include "cpu/work.h"
#include "target/cpu/rules.h"

#include <string.h>

/* Whether two groups share each block of channels, in x, in the filter and in y. */
static bool are_shared(const GlowConvView *c) {
  return c->groups % 2 == 0 && c->ic == GLOW_CONV_GROUP && c->oc == c->groups * GLOW_CONV_GROUP;
}

static void read_params(const GlowConvView *c, int64_t wi, int64_t ob, GlowConvParams *p) {
  int64_t group_out = c->oc / c->groups;
  bool shared = are_shared(c);
  *p = (GlowConvParams){
      .g = c->g,
      .rows = c->y.type->dims[0].size * c->g.oh,
      .ob = ob,
      .block = c->ic < 1 ? 1 : glow_min64(c->ic, GLOW_CONV_BLOCK),
      .wi = wi,
      .gb = shared ? 1 : glow_div_up(group_out, ob),
      .gx = shared          ? c->g.xc
            : c->groups > 1 ? c->ic / GLOW_CONV_BLOCK * c->g.xc
                            : 0,
      .shared = shared,
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

/* Sets the tile in p: the one that the instruction names, else that of glow_conv_tile. */
static bool choose_tile(GlowSelect *s, const GlowConvView *c, GlowWork *body, bool single,
                        GlowConvParams *p) {
  const GlowArray given = c->m->tile;
  GlowConvGrid g = {.rows = p->rows, .oh = p->g.oh, .ow = p->g.ow};
  int64_t left = 0, right = 0;
  if (!single)
    glow_conv_edges(&(GlowConvLine){p->g.ow, p->g.iw, p->g.kw, p->g.sw, p->g.dw, p->g.pl}, &left,
                    &right);
  g.edges = left + right;
  g.taps = p->g.kh * p->g.kw;
  g.single = single;
  g.flat = is_flat(body, p);
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
  return true;
}

/* Where the operands are, and the zeros that tiles read instead of padding. */
static GlowConvPlaces places_of(const GlowConvView *c, const GlowSetup *setup) {
  return (GlowConvPlaces){.y = c->y.place,
                          .x = c->x.place,
                          .w = c->w.place,
                          .bias = c->has_bias ? c->b.place : glow_place_absent(),
                          .zeros =
                              setup->zeros ? glow_place_zeros(setup->zeros) : glow_place_absent()};
}

static bool select_few(GlowSelect *s, const GlowNode *n, const GlowConvView *c, GlowConvParams *p,
                       GlowWork *body) {
  GlowSetup setup = {0};
  if (!choose_tile(s, c, body, true, p))
    return false;
  GlowConvFewParams few = {.conv = *p, .g = p->g, .run = p->wi == c->ic && p->g.dw == 1};
  glow_setup_conv_few(&s->cpu, &few, &setup);
  GlowConvPlaces at = places_of(c, &setup);
  GlowWork *w = glow_work_conv_few(s, n, &few, &setup,
                                   &(GlowConvFewPlaces){at.y, at.x, at.w, at.bias, at.zeros});
  glow_conv_set_epilogue(w, body);
  return true;
}

static void select_stored(GlowSelect *s, const GlowNode *n, const GlowConvView *c,
                          const GlowConvParams *p, const GlowWork *body) {
  GlowSetup setup = {0};
  GlowConvStoredParams stored = {.conv = *p,
                                 .g = p->g,
                                 .x = c->x_element,
                                 .y = c->y_element,
                                 .images = c->y.dims[0],
                                 .blocks = c->x.dims[1],
                                 .group = p->shared       ? 1
                                          : c->groups > 1 ? c->ic / GLOW_CONV_BLOCK
                                                          : 0};
  glow_setup_conv_stored(&s->cpu, &stored, &setup);
  GlowConvPlaces at = places_of(c, &setup);
  GlowWork *w = glow_work_conv_stored(s, n, &stored, &setup,
                                      &(GlowConvStoredPlaces){at.y, at.x, at.w, at.bias, at.zeros});
  glow_conv_set_epilogue(w, body);
}

/* *wi, *ob: the blocks of the filter. */
static bool read_layouts(GlowSelect *s, const GlowConvView *c, bool few, int64_t *wi, int64_t *ob) {
  const GlowKernel *k = few ? glow_find_conv_few() : glow_find_conv();
  int64_t blocks[GLOW_LAYOUT_BLOCKS];
  if (!glow_select_layout(s, k, "y", &c->y, NULL) || !glow_select_layout(s, k, "x", &c->x, NULL) ||
      !glow_select_layout(s, k, "w", &c->w, blocks))
    return false;
  *wi = blocks[0];
  *ob = blocks[1];
  if (*wi != GLOW_CONV_BLOCK && (*wi != c->ic || *wi > GLOW_CONV_BLOCK))
    return glow_select_fail(s, "a block of its filter has neither 16 input channels nor all");
  if (are_shared(c) ? *ob != GLOW_CONV_BLOCK
                    : c->groups > 1 && (c->ic % GLOW_CONV_BLOCK || c->oc / c->groups % *ob))
    return glow_select_fail(s, "its groups are not whole blocks of channels");
  if ((!few && c->x.strides[4] != 1) || c->y.strides[4] != 1 || !glow_view_is_dense(&c->w))
    return glow_select_fail(s, "the channels of a block are not contiguous");
  return true;
}

bool glow_select_conv_direct(GlowSelect *s, const GlowNode *n, const GlowConvView *c) {
  bool few = c->groups == 1 && c->ic > 0 && c->ic < GLOW_CONV_BLOCK && !c->x.type->layout;
  if (few && (c->x_element || c->y_element))
    return glow_select_fail(s, "with few input channels X and Y are floats");
  GlowWork body = {0};
  GlowConvParams p;
  int64_t wi, ob;
  if (!read_layouts(s, c, few, &wi, &ob) || !glow_conv_epilogue(s, n, &c->y, &body))
    return false;
  read_params(c, wi, ob, &p);
  if (few)
    return select_few(s, n, c, &p, &body);
  if (!choose_tile(s, c, &body, false, &p))
    return false;
  if (c->x_element || c->y_element) {
    select_stored(s, n, c, &p, &body);
    return true;
  }
  GlowSetup setup = {0};
  glow_setup_conv(&s->cpu, &p, &setup);
  GlowConvPlaces at = places_of(c, &setup);
  glow_conv_set_epilogue(glow_work_conv(s, n, &p, &setup, &at), &body);
  return true;
}
