/* The setup of products of bfloat16: blocks of windows that stay in the second level of cache, and
 * filters for threads. */
#include "target/cpu/setup/narrow.h"
#include "target/cpu/setups.h"

enum { PANEL = 16, CHUNK = 32, LINE = 64, MOST_ROWS = 256 };

static int64_t whole(int64_t n, int64_t of) { return glow_div_up(n, of) * of; }

/* Windows are copied as bfloat16 for square tiles, else as floats. */
void glow_setup_bf16(const GlowCpuNumbers *cpu, GlowBf16Params *p, GlowSetup *setup) {
  int64_t size = cpu->squares ? 2 : 4, outputs = p->g.oh * p->g.ow;
  int64_t tile = cpu->squares ? 2 * GLOW_SQUARE : glow_max64(cpu->tile_pixels * 3 / 7, 1);
  p->pairs = p->g.kh * p->g.kw * p->tap;
  p->lda = whole(2 * p->pairs, CHUNK);
  int64_t fit = glow_max64(cpu->l2 / 4 / (p->lda * size), tile);
  p->block = glow_min64(glow_min64(fit, MOST_ROWS) / tile * tile, outputs);
  p->blocks = glow_div_up(outputs, p->block);
  int64_t sums = glow_max64(cpu->l2 / 4 / (p->block * 4) / (2 * PANEL), 1) * 2 * PANEL;
  p->columns = glow_min64(glow_columns_of_unit(p->g.oc, p->images * p->blocks), sums);
  p->parts = glow_div_up(p->g.oc, p->columns);
  int64_t room = whole(p->block, tile);
  p->sums_at = whole(room * p->lda * size, LINE);
  setup->units = p->images * p->blocks * p->parts;
  setup->scratch = p->sums_at + room * p->columns * 4;
}
