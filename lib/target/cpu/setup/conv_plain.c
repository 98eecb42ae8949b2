/* The setup of convolutions over plain layouts. */
#include "target/cpu/setups.h"

/* Counts the phases, and the chunks of the largest phase of an image. */
static void count_phases(const GlowCpuNumbers *cpu, GlowConvPlainParams *p) {
  int64_t places = 1;
  p->phases = 1;
  for (int64_t i = 0; i < p->axes; i++) {
    int64_t step = p->transposed ? p->stride[i] : 1;
    p->phases *= step;
    places *= glow_div_up(p->out[i], step);
  }
  p->chunks = glow_div_up(places, glow_cpu_columns(cpu));
}

/* Whether output places are input places of one tap, which follow each other in memory. */
static bool is_direct(const GlowConvPlainParams *p) {
  int64_t step = 1;
  bool direct = p->element == GLOW_CONV_ELEMENT_FLOAT && !p->transposed && p->taps == 1;
  for (int64_t i = p->axes - 1; i >= 0; i--) {
    direct = direct && p->stride[i] == 1 && p->pad[i] == 0 && p->in[i] == p->out[i] &&
             (p->in[i] == 1 || p->xs[i] == step);
    step *= p->in[i];
  }
  return direct;
}

/* Bytes of scratch, and where its pieces are. Every piece is a multiple of 64 bytes. */
static int64_t place_scratch(const GlowCpuNumbers *cpu, GlowConvPlainParams *p) {
  int64_t lanes = glow_cpu_columns(cpu);
  p->taps_at = p->taps * p->ic * lanes * 4;
  p->offsets_at = p->taps_at + glow_div_up(p->taps * 8, 64) * 64;
  p->masks_at = p->offsets_at + p->taps * lanes * 8;
  p->results_at = p->masks_at + (p->transposed ? p->taps * lanes * 4 : 0);
  p->filter_at = p->results_at + p->rows * lanes * 4;
  return p->filter_at +
         (p->element == GLOW_CONV_ELEMENT_FLOAT ? 0 : glow_div_up(p->wg * 4, 64) * 64);
}

/* With fewer pieces of work than this the output channels are cut, too. */
enum { ENOUGH_UNITS = 16 };
/* Multiply-adds of a shard for which converting the filter once more is worth it. */
enum { SHARE_MACS = 1 << 20 };

void glow_setup_conv_plain(const GlowCpuNumbers *cpu, GlowConvPlainParams *p, GlowSetup *setup) {
  count_phases(cpu, p);
  p->direct = is_direct(p);
  int64_t chunks = p->images * p->groups * p->phases * p->chunks;
  p->rows = glow_min64(p->oc, cpu->tile_pixels);
  int64_t tiles = glow_div_up(p->oc, p->rows), rest = p->oc % p->rows;
  p->parts = glow_min64(glow_div_up(ENOUGH_UNITS, chunks), tiles);
  setup->units = chunks * p->parts;
  setup->scratch = place_scratch(cpu, p);
  int64_t macs = chunks * glow_cpu_columns(cpu) * p->oc * p->ic * p->taps;
  if (p->element != GLOW_CONV_ELEMENT_FLOAT) /* each shard converts the filter */
    setup->grain = glow_div_up(setup->units, glow_min64(1 + macs / SHARE_MACS, ENOUGH_UNITS));
  setup->tiles[GLOW_CONV_PLAIN_TILE_FULL] = glow_size_conv_plain_tile(p->rows);
  if (rest)
    setup->tiles[GLOW_CONV_PLAIN_TILE_REST] = glow_size_conv_plain_tile(rest);
}
