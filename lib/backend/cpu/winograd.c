/* Winograd's convolution over NCHW16c with a transformed filter in HWOI16i<ob>o: reading the
 * instruction into GlowWinogradParams. */
#include "backend/cpu/conv.h"
#include "cpu/work.h"

#include <string.h>

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

/* The program may say how many tiles a chunk has, and how many chunks a block: chunks that cover
 * all tiles and differ by one tile at most. */
static bool read_tile(GlowSelect *s, const GlowConvView *c, GlowWinogradParams *p) {
  const GlowArray given = c->m->tile;
  if (!given.count)
    return true;
  int64_t chunk = glow_listed(given, 0, 1), block = glow_listed(given, 1, 0);
  if (given.count != 2 || chunk < 1 || chunk > s->isa->tile_pixels || block < 1 ||
      p->tiles <= glow_div_up(p->tiles, chunk) * (chunk - 1))
    return glow_select_fail(s,
                            glow_arena_printf(s->arena,
                                              "no kernel of %s has its tile: up to %u tiles that "
                                              "divide all evenly, and how many times that",
                                              s->isa->name, s->isa->tile_pixels));
  p->given[0] = chunk;
  p->given[1] = block;
  return true;
}

static bool check_layouts(GlowSelect *s, const GlowConvView *c) {
  const GlowKernel *k = glow_find_winograd();
  if (!glow_select_layout(s, k, "y", &c->y, NULL) || !glow_select_layout(s, k, "x", &c->x, NULL) ||
      !glow_select_layout(s, k, "w", &c->w, NULL))
    return false;
  if (c->x.strides[4] != 1 || c->y.strides[4] != 1 || !glow_view_is_dense(&c->w))
    return glow_select_fail(s, "the channels of a block are not contiguous");
  return true;
}

/* Appends one step, or all. */
static void append(GlowSelect *s, const GlowNode *n, const GlowConvView *c, GlowWinogradParams *p,
                   int64_t step, GlowWork *body) {
  GlowSetup setup = {0};
  p->step = step;
  glow_setup_winograd(&s->cpu, p, &setup);
  GlowWinogradPlaces at = {.y = c->y.place,
                           .x = c->x.place,
                           .w = c->w.place,
                           .bias = c->has_bias ? c->b.place : glow_place_absent()};
  GlowWork *w = glow_work_winograd(s, n, p, &setup, &at);
  w->common = step != GLOW_WINOGRAD_STEP_ALL;
  glow_conv_set_epilogue(w, body);
}

bool glow_select_winograd(GlowSelect *s, const GlowNode *n, const GlowConvView *c) {
  GlowWork body = {0};
  GlowWinogradParams p;
  read_params(s->isa, c, &p);
  if (!check_layouts(s, c) || !glow_conv_epilogue(s, n, &c->map, &body) || !read_tile(s, c, &p))
    return false;
  GlowSetup all = {0};
  glow_setup_winograd(&s->cpu, &p, &all);
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
