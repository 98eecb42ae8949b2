/* Winograd's convolution over NCHW16c with a transformed filter in HWOI16i<ob>o: reading the
 * instruction into GlowWinogradParams, and two rules: the tiles of a chunk and of a block. */
#include "backend/cpu/conv.h"
#include "cpu/work.h"

#include <string.h>

static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

static void read_params(const GlowIsa *isa, const GlowConvView *c, GlowWinogradParams *p) {
  const int64_t points = c->w.type->dims[0].size, side = points - 2;
  *p = (GlowWinogradParams){.g = c->g,
                            .side = side,
                            .points = points,
                            .down = glow_div_up(c->g.oh, side),
                            .across = glow_div_up(c->g.ow, side),
                            .ob = (int64_t)isa->vl * isa->tile_vectors,
                            .pool = c->pools};
  p->tiles = c->y.type->dims[0].size * p->down * p->across;
}

static int64_t places(const GlowWinogradParams *p) { return p->points * p->points; }

/* A place of V or M: an odd number of cache lines. */
static int64_t odd_lines(int64_t floats) { return (floats / 16 | 1) * 16; }

/* Tiles of a block: as many as the cache holds the V and M of. But each block reads the filter
 * once, so that it is at least so large that this costs half of what writing and reading V and M
 * does: I * O / (I + O) tiles. */
static int64_t block_tiles(const GlowIsa *isa, int64_t places, int64_t in, int64_t out) {
  int64_t tile_bytes = places * (in + out) * 4;
  int64_t tiles = max64(isa->l2 / tile_bytes, in * out / (in + out));
  return glow_min64(tiles, 20 * isa->l2 / tile_bytes);
}

/* Chunks are as few as cover the tiles, and differ by one tile at most. The instruction may say how
 * many tiles a chunk has, and how many chunks a block. */
static bool choose_block(GlowSelect *s, const GlowConvView *c, GlowWinogradParams *p) {
  const GlowArray given = c->m->tile;
  int64_t in = glow_div_up(p->g.ic, GLOW_CONV_BLOCK) * GLOW_CONV_BLOCK;
  int64_t out = glow_div_up(p->g.oc, p->ob) * p->ob, pixels = s->isa->tile_pixels;
  p->chunk = glow_div_up(p->tiles, glow_div_up(p->tiles, pixels));
  p->block = glow_div_up(block_tiles(s->isa, places(p), in, out), p->chunk);
  if (given.count) {
    p->chunk = glow_conv_member(given, 0, 1);
    p->block = glow_conv_member(given, 1, 1);
  }
  p->chunks = glow_div_up(p->tiles, p->chunk);
  p->full = p->tiles - p->chunks * (p->chunk - 1);
  if (given.count && (given.count != 2 || p->chunk > pixels || p->full < 1))
    return glow_select_fail(s,
                            glow_arena_printf(s->arena,
                                              "no kernel of %s has its tile: up to %u tiles that "
                                              "divide all evenly, and how many times that",
                                              s->isa->name, s->isa->tile_pixels));
  p->block = glow_min64(p->block, p->chunks);
  p->room = p->block * p->chunk;
  p->v_place = odd_lines(in * p->room);
  p->m_place = odd_lines(out * p->room);
  p->m_at = places(p) * p->v_place;
  return true;
}

static bool check_layouts(GlowSelect *s, const GlowConvView *c, const GlowWinogradParams *p) {
  const char *filter = glow_arena_printf(s->arena, "HWOI16i%do", (int)p->ob);
  if (!glow_conv_has_layout(&c->y, "NCHW16c") || !glow_conv_has_layout(&c->x, "NCHW16c"))
    return glow_select_fail(s, "its input and output must have the layout NCHW16c");
  if (!glow_conv_has_layout(&c->w, filter))
    return glow_select_fail(s,
                            glow_arena_printf(s->arena, "its filter must have the layout %s for %s",
                                              filter, s->isa->name));
  if (c->x.strides[4] != 1 || c->y.strides[4] != 1 || !glow_view_is_dense(&c->w))
    return glow_select_fail(s, "the channels of a block are not contiguous");
  return true;
}

/* Appends one step, or all. */
static void append(GlowSelect *s, const GlowNode *n, const GlowConvView *c, GlowWinogradParams *p,
                   int64_t step, GlowWork *body) {
  int64_t groups = glow_div_up(p->g.oc, p->ob);
  GlowWorkSpec spec = {.units = p->tiles};
  bool all = step == GLOW_WINOGRAD_STEP_ALL, multiplies = all || step == GLOW_WINOGRAD_STEP_PRODUCT;
  if (multiplies)
    spec.units = all ? p->chunks : places(p) * groups;
  if (all)
    spec.grain = p->block; /* each reads the filter */
  p->step = step;
  const GlowIsa *isa = s->isa;
  GlowWinogradTiles t = {0};
  if (all || step == GLOW_WINOGRAD_STEP_INPUT)
    t.input = glow_select_tile_found(s, glow_find_winograd_input(isa, p->side));
  if (multiplies)
    t.full = glow_select_tile_found(s, glow_find_winograd_product(isa, p->chunk));
  if (multiplies && p->full < p->chunks)
    t.small = glow_select_tile_found(s, glow_find_winograd_product(isa, p->chunk - 1));
  if (all || step == GLOW_WINOGRAD_STEP_OUTPUT)
    t.output = glow_select_tile_found(s, glow_find_winograd_output(isa, p->side));
  GlowWinogradPlaces at = {.y = c->y.place,
                           .x = c->x.place,
                           .w = c->w.place,
                           .bias = c->has_bias ? c->b.place : glow_place_absent()};
  GlowWork *w = glow_work_winograd(s, n, p, &t, &at, &spec);
  w->scratch = (p->m_at + places(p) * p->m_place) * 4;
  w->common = !all;
  glow_conv_set_epilogue(w, body);
}

bool glow_select_winograd(GlowSelect *s, const GlowNode *n, const GlowConvView *c) {
  GlowWork body = {0};
  GlowWinogradParams p;
  read_params(s->isa, c, &p);
  if (!check_layouts(s, c, &p) || !glow_conv_epilogue(s, n, &c->map, &body) ||
      !choose_block(s, c, &p))
    return false;
  /* Threads that share tiles read the whole filter each. Where it is more than the transformed
   * tiles, or these are few, they share the steps instead. */
  if (p.block < p.chunks || (p.chunks >= 4 && p.g.oc <= p.tiles)) {
    append(s, n, c, &p, GLOW_WINOGRAD_STEP_ALL, &body);
    return true;
  }
  append(s, n, c, &p, GLOW_WINOGRAD_STEP_INPUT, &body);
  append(s, n, c, &p, GLOW_WINOGRAD_STEP_PRODUCT, &body);
  append(s, n, c, &p, GLOW_WINOGRAD_STEP_OUTPUT, &body);
  return true;
}
