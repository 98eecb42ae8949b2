/* The setups of pools of rows. */
#include "target/cpu/setups.h"

/* Bands are as many rows as fill half of the first level, four at least. */
void glow_setup_pool_rows(const GlowCpuNumbers *cpu, GlowPoolRowsParams *p, GlowSetup *setup) {
  const GlowPoolParams *q = &p->pool;
  int64_t fields = q->kernel[0] * q->stride[1] * (q->stride[2] + p->maxima) + 2;
  int64_t reach = (q->kernel[1] - 1) * q->dilation[1] / q->stride[1];
  p->pitch = q->out[2] + (q->kernel[2] - 1) * q->dilation[2] / q->stride[2];
  int64_t rows = cpu->l1 / 2 / (int64_t)sizeof(float) / fields / p->pitch - reach;
  p->band = glow_min64(glow_max64(rows, 4), q->out[1]);
  p->band_floats = (p->band + reach) * p->pitch;
  /* Beyond the last row of a field vectors write padding, and read. */
  p->field = glow_div_up(p->band_floats, cpu->vl) * cpu->vl + 4 * cpu->vl;
  setup->units = q->n * q->c * q->out[0] * q->out[1];
  /* Windows that move by one have the divisors of columns and rows there. */
  int64_t divisors = q->out[2] + 2 * cpu->vl + q->out[1];
  setup->scratch = glow_max64(fields * p->field, divisors) * (int64_t)sizeof(float);
}
void glow_setup_pool_rows_arg(const GlowCpuNumbers *cpu, GlowPoolRowsParams *p, GlowSetup *setup) {
  glow_setup_pool_rows(cpu, p, setup);
}
