/* Scans: result i is the sum or product of the elements along the axis up to i (with `exclusive`,
 * before i). All results of a line are one chain in ascending order (descending with `reverse`);
 * the first element starts the chain, so nothing is added to it. 16-bit floats are summed in float
 * and rounded as they are stored; integers wrap. */
#include "kernels/ref/ref.h"

enum { GLOW_SCAN_ROW = 256 };

typedef struct GlowScan {
  const GlowBuf *x;
  GlowBuf *y;
  bool product, exclusive;
} GlowScan;

/* n elements from offset `at` on, `stride` apart. */
#define SCAN(NAME, T, LOAD, STORE)                                                                 \
  static void scan_##NAME(const GlowScan *s, int64_t at, int64_t stride, int64_t n) {              \
    T row[GLOW_SCAN_ROW], sum = s->product ? 1 : 0;                                                \
    bool started = false;                                                                          \
    for (int64_t done = 0; done < n; done += GLOW_SCAN_ROW) {                                      \
      int64_t m = n - done < GLOW_SCAN_ROW ? n - done : GLOW_SCAN_ROW;                             \
      LOAD(s->x, at + done * stride, stride, m, row);                                              \
      for (int64_t i = 0; i < m; i++) {                                                            \
        T next = !started ? row[i] : s->product ? sum * row[i] : sum + row[i];                     \
        row[i] = s->exclusive ? sum : next;                                                        \
        sum = next;                                                                                \
        started = true;                                                                            \
      }                                                                                            \
      STORE(s->y, at + done * stride, stride, m, row);                                             \
    }                                                                                              \
  }
SCAN(float, float, glow_load_float, glow_store_float)
SCAN(double, double, glow_load_double, glow_store_double)
SCAN(int, int64_t, glow_load_int, glow_store_int) /* wraps: right for every width */

static GlowRunError scan(GlowCall *call, bool product, bool exclusive, bool reverse) {
  const GlowBuf *x = &call->in[0];
  GlowScan s = {.x = x, .y = &call->out[0], .product = product, .exclusive = exclusive};
  int64_t at = glow_ref_index(call, &call->in[1], 0, x->rank);
  if (at < 0)
    return GLOW_RUN_INDEX;
  uint32_t axis = (uint32_t)at;
  int64_t n = x->dims[axis], inner = glow_ref_extent(x, axis + 1, x->rank);
  int64_t lines = glow_ref_extent(x, 0, axis) * inner, stride = reverse ? -inner : inner;
  for (int64_t i = 0; n > 0 && i < lines; i++) {
    int64_t first = i / inner * n * inner + i % inner + (reverse ? (n - 1) * inner : 0);
    switch (glow_ref_class(x)) {
    case GLOW_ROW_FLOAT:
      scan_float(&s, first, stride, n);
      break;
    case GLOW_ROW_DOUBLE:
      scan_double(&s, first, stride, n);
      break;
    case GLOW_ROW_INT:
    case GLOW_ROW_UINT:
      scan_int(&s, first, stride, n);
      break;
    }
  }
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_cum_sum(GlowCall *call) {
  const GlowCumSumMembers *m = call->members;
  return scan(call, false, m->exclusive, m->reverse);
}
GlowRunError glow_kernel_cum_prod(GlowCall *call) {
  const GlowCumProdMembers *m = call->members;
  return scan(call, true, m->exclusive, m->reverse);
}
