/* The setups of products and convolutions of bytes: blocks of rows that stay in the second level of
 * cache, as two bytes each, and groups of columns for threads. */
#include "target/cpu/setup/narrow.h"
#include "target/cpu/setups.h"

enum { PANEL = 16, GROUP = 4, FEW_UNITS = 8, FEW_PIXELS = 16, LEAST_COLUMNS = 64, LINE = 64 };
/* Of tiles by Winograd's algorithm: numbers of one, groups of channels at most, outputs. */
enum { PLACES = 16, MOST_TAP = 256, FEW_TILED = 64 };

static int64_t lines(int64_t bytes) { return glow_div_up(bytes, LINE) * LINE; }

/* Of so many rows those that fit, as whole tiles. Rows may have no elements. */
static int64_t rows_of_block(const GlowCpuNumbers *cpu, int64_t lda, int64_t rows) {
  int64_t fit = glow_max64(cpu->l2 / 4 / glow_max64(2 * lda, LINE), 1);
  int64_t tile = cpu->vl >= PANEL ? PANEL : cpu->tile_pixels;
  return glow_min64(fit > tile ? fit / tile * tile : fit, rows);
}

int64_t glow_columns_of_unit(int64_t n, int64_t others) {
  int64_t columns = glow_div_up(n, PANEL) * PANEL, wanted = glow_div_up(FEW_UNITS, others);
  int64_t part = glow_div_up(columns, wanted * 2 * PANEL) * 2 * PANEL;
  return glow_min64(columns, glow_max64(part, LEAST_COLUMNS));
}

void glow_setup_dot(const GlowCpuNumbers *cpu, GlowDotParams *p, GlowSetup *setup) {
  int64_t batch = 1;
  p->b_shared = 1;
  for (int i = 0; i < GLOW_PRODUCT_BATCH; i++) {
    batch *= p->batch[i];
    p->b_shared &= p->batch[i] == 1 || p->b_batch[i] == 0;
  }
  p->depth = p->packed ? p->packed : glow_div_up(p->k, GROUP);
  p->lda = lines(p->depth * GROUP);
  p->block = rows_of_block(cpu, p->lda, p->m);
  p->blocks = glow_div_up(p->m, p->block);
  p->columns = glow_columns_of_unit(p->n, batch * p->blocks);
  p->groups = glow_div_up(p->n, p->columns);
  p->ones_at = p->block * p->lda * 2;
  p->sums_at = p->ones_at + p->lda * 2;
  p->terms_at = p->sums_at + lines(2 * p->block * 4);
  p->panels_at = p->terms_at + lines((2 * p->columns + 2 * PANEL) * 4);
  setup->units = batch * p->blocks * p->groups;
  setup->scratch = p->panels_at + (p->packed ? 0 : p->columns * p->depth * GROUP);
}

void glow_setup_dot_conv(const GlowCpuNumbers *cpu, GlowDotConvParams *p, GlowSetup *setup) {
  p->depth = p->kh * p->kw * p->tap;
  p->lda = lines(p->depth * GROUP);
  p->block = rows_of_block(cpu, p->lda, p->oh * p->ow);
  p->blocks = glow_div_up(p->oh * p->ow, p->block);
  p->columns = glow_columns_of_unit(p->oc, p->images * p->groups * p->blocks);
  p->parts = glow_div_up(p->oc, p->columns);
  p->ones_at = p->block * p->lda * 2;
  p->sums_at = p->ones_at + p->lda * 2;
  p->terms_at = p->sums_at + lines(2 * p->block * 4);
  p->panels_at = p->terms_at + lines((2 * p->columns + 2 * PANEL) * 4);
  setup->units = p->images * p->groups * p->blocks * p->parts;
  setup->scratch = p->panels_at + (p->packed ? 0 : p->columns * p->depth * GROUP);
}

/* Columns of X take at most half of the first level. Groups of rows are counted as those of two,
 * which take the most memory. */
void glow_setup_dot_lanes(const GlowCpuNumbers *cpu, GlowDotLanesParams *p, GlowSetup *setup) {
  int64_t channels = glow_div_up(p->channels, cpu->vl) * cpu->vl, wide = 4 * cpu->vl;
  int64_t groups = glow_div_up(p->kh, 2), column = groups * wide * 4;
  int64_t reach = (p->kw - 1) * p->dw + 1;
  p->pairs = glow_div_up(p->kh * p->kw, 2);
  p->blocks = p->channels < cpu->vl ? 0 : glow_div_up(p->channels, wide);
  p->chunk = glow_max64((cpu->l1 / 2 / column - reach) / p->sw, 4);
  p->chunk = glow_min64(p->chunk, p->ow);
  p->start_at = lines(glow_max64(channels * p->pairs * 4, p->blocks * p->kw * column));
  int64_t numbers = lines(glow_max64(channels, p->blocks * wide) * 4);
  p->scale_at = p->start_at + numbers;
  p->bias_at = p->scale_at + (p->result == GLOW_NARROW_RESULT_SUMS ? 0 : numbers);
  p->zeros_at = p->bias_at + (p->result == GLOW_NARROW_RESULT_SUMS ? 0 : numbers);
  p->taps_at = p->zeros_at + lines(glow_max64(channels, wide));
  p->columns_at = p->taps_at + lines(glow_max64(2 * p->pairs, 2 * groups + 2) * 8);
  setup->units = p->images * p->oh;
  setup->scratch = p->columns_at + (p->blocks ? ((p->chunk - 1) * p->sw + reach) * column : 0);
}

/* ---- Narrow integers ------------------------------------------------------------------------- */

static bool leaves_input(const GlowNarrowParams *p) {
  return p->pt || p->pl || (p->oh - 1) * p->sh + (p->kh - 1) * p->dh >= p->ih ||
         (p->ow - 1) * p->sw + (p->kw - 1) * p->dw >= p->iw;
}

/* Bytes of what proofs leave: where groups are, a spare list, and lists of all panels. */
static int64_t proofs(const GlowCpuNumbers *cpu, const GlowNarrowParams *p) {
  int64_t groups = p->kh * p->runs * p->run, list = 4;
  if (!glow_narrow_proves(cpu) || p->tiled)
    return 0;
  return lines(groups * (8 + list) + p->columns / PANEL * (groups + 2) * list);
}

/* Registers: tiles of a row; and bands, which are copied as elements of two bytes, or one, and fill
 * a quarter of the second level of cache, but threads want some units. What sums make of a panel
 * first pays for some pixels. */
static void cut_for_registers(const GlowCpuNumbers *cpu, GlowNarrowParams *p) {
  int64_t row = 2 * p->line * p->tap * GROUP * p->sh, least = 1, few = p->images;
  if (glow_narrow_proves(cpu)) {
    few *= glow_div_up(p->oc, LEAST_COLUMNS);
    least = glow_min64(glow_div_up(FEW_PIXELS, p->ow), p->oh);
  }
  few = glow_div_up(FEW_UNITS, few);
  p->pitch = p->ahead = 0;
  p->tiles = glow_div_up(p->ow, glow_narrow_pixels(cpu));
  p->cols = glow_div_up(p->ow, p->tiles);
  p->narrow = p->tiles * p->cols - p->ow;
  p->band = glow_max64(glow_min64(cpu->l2 / 4 / row, p->oh / few), least);
  p->bands = glow_div_up(p->oh, p->band);
  p->columns = glow_columns_of_unit(p->oc, p->images * p->bands);
}

/* Outputs from a row to the next, if rows of the input lie so that tiles can run over them; what
 * they compute between two rows is for nobody. 0: they cannot, or there is too much between. */
static int64_t pitch_of(const GlowNarrowParams *p) {
  int64_t pixel = p->copied ? p->tap * GROUP : p->xw, row = p->copied ? p->line * pixel : p->xh;
  int64_t pitch = row * p->sh / glow_max64(pixel * p->sw, 1);
  int64_t apart = p->band * glow_div_up(p->ow, GLOW_SQUARE) * GLOW_SQUARE;
  bool even = pitch >= p->ow && pitch * pixel * p->sw == row * p->sh;
  return even && (p->band - 1) * pitch + p->ow <= apart ? pitch : 0;
}

/* Square tiles: a band, and filters of a unit, fill a quarter of the second level of cache each. */
static void cut_for_squares(const GlowCpuNumbers *cpu, GlowNarrowParams *p) {
  int64_t row = p->line * p->tap * GROUP * p->sh, filter = p->kh * p->kw * p->tap * GROUP;
  int64_t few = glow_div_up(FEW_UNITS, p->images * glow_div_up(p->oc, LEAST_COLUMNS));
  p->band = glow_max64(glow_min64(cpu->l2 / 4 / row, p->oh / few), 1);
  p->band = glow_div_up(p->oh, glow_div_up(p->oh, p->band));
  if (p->ow == 1)
    p->band = glow_min64(glow_div_up(p->band, 2 * GLOW_SQUARE) * 2 * GLOW_SQUARE, p->oh);
  p->bands = glow_div_up(p->oh, p->band);
  p->columns = glow_min64(glow_columns_of_unit(p->oc, p->images * p->bands),
                          glow_max64(cpu->l2 / 4 / filter / (2 * PANEL), 1) * 2 * PANEL);
  p->pitch = pitch_of(p);
  int64_t all = p->pitch ? (p->band - 1) * p->pitch + p->ow : p->ow;
  p->cols =
      p->pitch ? glow_min64(all, GLOW_SQUARE) : glow_div_up(all, glow_div_up(all, GLOW_SQUARE));
  p->tiles = p->narrow = 0;
  /* Where each filter is needed once, those of the next unit are fetched meanwhile. */
  int64_t blocks = glow_div_up(all, 2 * p->cols) * (p->pitch ? 1 : p->band);
  p->ahead =
      p->images * p->bands == 1 ? glow_div_up(2 * PANEL * GROUP * p->step / LINE, blocks) : 0;
}

/* Whether sums of machines that prove are those of Winograd's F(2x2, 3x3): windows of 3x3, channels
 * in whole registers, few enough that sums stay in 32 bits, and some tiles for each transformed
 * filter. */
static bool is_tiled(const GlowCpuNumbers *cpu, const GlowNarrowParams *p) {
  return glow_narrow_proves(cpu) && p->kh == 3 && p->kw == 3 && p->sh == 1 && p->sw == 1 &&
         p->dh == 1 && p->dw == 1 && p->tap % 4 == 0 && p->tap <= MOST_TAP && p->oh > 1 &&
         p->ow > 1 && p->images * p->oh * p->ow >= FEW_TILED;
}

/* Bands of whole tiles, the transformed form of which fills a quarter of the second level of cache,
 * and filters half of it. */
static void cut_for_tiles(const GlowCpuNumbers *cpu, GlowNarrowParams *p) {
  int64_t room = p->tap * GROUP, row = glow_div_up(p->ow, 2) * PLACES * room * 2;
  int64_t rows = glow_min64(cpu->l2 / 4 / row, glow_div_up(p->band, 2));
  p->band = 2 * glow_max64(rows, 1);
  p->bands = glow_div_up(p->oh, p->band);
  int64_t panels = glow_max64(cpu->l2 / 2 / (PLACES * room * PANEL * 2), 1);
  p->columns = glow_min64(p->columns, panels * PANEL);
}

/* Where transformed filters, input and products are, from `at` on. Bytes of scratch memory. */
static int64_t place_tiles(const GlowCpuNumbers *cpu, GlowNarrowParams *p, int64_t at) {
  int64_t room = p->tap * GROUP, most = glow_narrow_pixels(cpu);
  int64_t tiles = glow_div_up(p->band / 2 * glow_div_up(p->ow, 2), most) * most;
  p->filters_at = lines(at);
  p->places_at = p->filters_at + p->columns * PLACES * room * 2;
  p->products_at = p->places_at + tiles * PLACES * room * 2;
  return p->products_at + tiles * PLACES * PANEL * 4;
}

void glow_setup_narrow(const GlowCpuNumbers *cpu, GlowNarrowParams *p, GlowSetup *setup) {
  int64_t room = p->tap * GROUP;
  p->copied =
      leaves_input(p) || p->xc != 1 || p->ic % GROUP || p->x_signed || glow_narrow_proves(cpu);
  p->line = (p->ow - 1) * p->sw + (p->kw - 1) * p->dw + 1;
  bool merged = p->dw == 1 && (p->copied || p->xw == room);
  p->runs = merged ? 1 : p->kw;
  p->run = merged ? p->kw * p->tap : p->tap;
  p->step = glow_narrow_step(cpu, p->run, p->oh * p->ow);
  if (p->step)
    cut_for_squares(cpu, p);
  else
    cut_for_registers(cpu, p);
  p->tiled = is_tiled(cpu, p);
  if (p->tiled)
    cut_for_tiles(cpu, p);
  p->columns = glow_div_up(p->columns, 2 * PANEL) * 2 * PANEL;
  p->parts = glow_div_up(p->oc, p->columns);
  int64_t rows = (p->band - 1) * p->sh + (p->kh - 1) * p->dh + 1 + p->tiled;
  int64_t sums = cpu->squares ? 2 * GLOW_SQUARE : cpu->tile_pixels;
  p->band_at = lines(sums * 2 * PANEL * 4) + lines(3 * p->columns * 4) + proofs(cpu, p);
  int64_t elements = (rows * p->line + GLOW_SQUARE * p->sw) * room;
  bool wide = glow_narrow_proves(cpu) && !p->tiled;
  p->wide_at = wide ? p->band_at + lines(elements) : 0;
  p->panel_at = wide ? p->wide_at + lines(2 * elements) : 0;
  setup->units = p->images * p->bands * p->parts;
  setup->scratch = wide ? p->panel_at + 2 * p->kh * p->runs * p->run * GROUP * PANEL
                        : p->band_at + lines(2 * elements);
  p->filters_at = p->places_at = p->products_at = 0;
  if (p->tiled)
    setup->scratch = place_tiles(cpu, p, setup->scratch);
}
