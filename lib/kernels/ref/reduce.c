/* Sums, products, extrema and means over axes.
 *
 * Where the reduced axes are the last ones (in logical order, whatever their extents), element j of
 * the reduced space goes to lane j % 16; each lane is a chain in ascending order; lanes that got
 * elements are combined as i and i + 8, then i and i + 4, + 2, + 1. Otherwise each result is one
 * chain in ascending order. The first element starts a chain, so nothing is added to it. Integers
 * are 64 bits wide here; their stores wrap. */
#include "kernels/ref/ref.h"

enum { GLOW_REDUCE_LANES = 16, GLOW_REDUCE_ROW = 256 };

typedef enum GlowReduceOp {
  GLOW_REDUCE_SUM,
  GLOW_REDUCE_PROD,
  GLOW_REDUCE_MAX,
  GLOW_REDUCE_MIN
} GlowReduceOp;

typedef struct GlowReduce {
  GlowReduceOp op;
  bool mean;
  const GlowBuf *x;
  int64_t count; /* elements of one result */
  uint32_t nreduced, nkept;
  int64_t extent[GLOW_MAX_RANK], stride[GLOW_MAX_RANK];    /* reduced axes */
  int64_t kept[GLOW_MAX_RANK], kept_stride[GLOW_MAX_RANK]; /* kept ones, without the inner */
  uint32_t axis[GLOW_MAX_RANK], kept_axis[GLOW_MAX_RANK];  /* their numbers */
  int64_t inner;  /* neighbouring results behind the last reduced axis; 0: 16 lanes (file head) */
  bool scattered; /* an operand has blocks: one element at a time, and inner is 0 or 1 */
} GlowReduce;

/* Where element i of the results is, in row-major order. */
static int64_t result_offset(const GlowBuf *y, int64_t i) {
  if (!y->nblocks)
    return i;
  int64_t offset = 0;
  for (uint32_t a = y->rank; a-- > 0; i /= y->dims[a])
    offset += glow_axis_offset(y, a, i % y->dims[a]);
  return offset;
}

/* ---- The results of no elements -------------------------------------------------------------- */

static float identity_float(const GlowReduce *r) {
  const float inf = __builtin_inff();
  return r->op == GLOW_REDUCE_SUM    ? 0.0f
         : r->op == GLOW_REDUCE_PROD ? 1.0f
         : r->op == GLOW_REDUCE_MAX  ? -inf
                                     : inf;
}
static double identity_double(const GlowReduce *r) { return (double)identity_float(r); }
static int64_t identity_int(const GlowReduce *r) {
  int64_t high = (int64_t)(~UINT64_C(0) >> (65 - glow_ref_bits(r->x->kind)));
  return r->op == GLOW_REDUCE_SUM    ? 0
         : r->op == GLOW_REDUCE_PROD ? 1
         : r->op == GLOW_REDUCE_MAX  ? -high - 1
                                     : high;
}
static uint64_t identity_uint(const GlowReduce *r) {
  uint64_t high =
      r->x->kind == GLOW_KIND_BOOL ? 1 : ~UINT64_C(0) >> (64 - glow_ref_bits(r->x->kind));
  return r->op == GLOW_REDUCE_PROD ? 1 : r->op == GLOW_REDUCE_MIN ? high : 0;
}

/* ---- One body for each compute type ---------------------------------------------------------- */

#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))

#define T float
#define NAME(x) x##_float
#define LOAD glow_load_float
#define STORE glow_store_float
#define ADD PLUS
#define MUL TIMES
#define MAXIMUM glow_max_f
#define MINIMUM glow_min_f
#define DIVIDE(v, n) ((v) / (float)(n))
#include "kernels/ref/reduce_body.inc"

#define T double
#define NAME(x) x##_double
#define LOAD glow_load_double
#define STORE glow_store_double
#define ADD PLUS
#define MUL TIMES
#define MAXIMUM glow_max_d
#define MINIMUM glow_min_d
#define DIVIDE(v, n) ((v) / (double)(n))
#include "kernels/ref/reduce_body.inc"

/* Sums wrap in the width of the kind before they are divided. */
static int64_t wrapped(const GlowBuf *b, int64_t v) {
  uint32_t unused = 64 - glow_ref_bits(b->kind);
  return (int64_t)((uint64_t)v << unused) >> unused;
}
static uint64_t wrapped_unsigned(const GlowBuf *b, uint64_t v) {
  return v & ~UINT64_C(0) >> (64 - glow_ref_bits(b->kind));
}

#define T int64_t
#define NAME(x) x##_int
#define LOAD glow_load_int
#define STORE glow_store_int
#define ADD(a, b) (int64_t)((uint64_t)(a) + (uint64_t)(b))
#define MUL(a, b) (int64_t)((uint64_t)(a) * (uint64_t)(b))
#define MAXIMUM glow_max_i64
#define MINIMUM glow_min_i64
#define DIVIDE(v, n) glow_div_i64(wrapped(r->x, v), n)
#include "kernels/ref/reduce_body.inc"

static void load_uint(const GlowBuf *b, int64_t at, int64_t stride, int64_t n, uint64_t *out) {
  glow_load_int(b, at, stride, n, (int64_t *)out);
}
static void store_uint(GlowBuf *b, int64_t at, int64_t stride, int64_t n, const uint64_t *in) {
  glow_store_int(b, at, stride, n, (const int64_t *)in);
}
#define T uint64_t
#define NAME(x) x##_uint
#define LOAD load_uint
#define STORE store_uint
#define ADD PLUS
#define MUL TIMES
#define MAXIMUM glow_max_u64
#define MINIMUM glow_min_u64
#define DIVIDE(v, n) glow_div_u64(wrapped_unsigned(r->x, v), (uint64_t)(n))
#include "kernels/ref/reduce_body.inc"

/* ---- Kernels --------------------------------------------------------------------------------- */

/* Bit a of the result: axis a is reduced. */
static uint32_t reduced_axes(const GlowCall *call, bool noop) {
  const GlowBuf *axes = &call->in[1];
  uint32_t rank = call->in[0].rank, mask = 0;
  bool any = call->nin > 1 && glow_buf_present(axes) && glow_buf_elements(axes) > 0;
  if (!any)
    return noop ? 0 : (1u << rank) - 1u;
  for (int64_t i = 0; i < glow_buf_elements(axes); i++) {
    int64_t a = glow_ref_int(axes, i);
    mask |= 1u << (a < 0 ? a + rank : a);
  }
  return mask;
}

static GlowReduce reduce_of(const GlowCall *call, GlowReduceOp op, uint32_t mask) {
  const GlowBuf *x = &call->in[0];
  GlowReduce r = {.op = op, .x = x, .count = 1, .inner = 1};
  r.scattered = x->nblocks || call->out[0].nblocks;
  uint32_t last = 0; /* one past the last reduced axis */
  for (uint32_t a = 0; a < x->rank; a++)
    last = mask >> a & 1u ? a + 1 : last;
  for (uint32_t a = 0; a < x->rank; a++) {
    if (mask >> a & 1u) {
      r.extent[r.nreduced] = x->dims[a];
      r.axis[r.nreduced] = a;
      r.stride[r.nreduced++] = x->strides[a];
      r.count *= x->dims[a];
    } else if (a < last || r.nreduced == 0 || r.scattered) {
      r.kept[r.nkept] = x->dims[a];
      r.kept_axis[r.nkept] = a;
      r.kept_stride[r.nkept++] = x->strides[a];
    } else {
      r.inner *= x->dims[a];
    }
  }
  /* The last axes are reduced, and nothing else: one run of neighbours. */
  bool innermost = mask != 0 && last == x->rank &&
                   mask >> (x->rank - r.nreduced) << (x->rank - r.nreduced) == mask;
  if (innermost)
    r.inner = 0;
  return r;
}

static GlowRunError reduce(GlowCall *call, GlowReduceOp op, bool mean, bool noop) {
  GlowBuf *y = &call->out[0];
  uint32_t mask = reduced_axes(call, noop);
  GlowReduce r = reduce_of(call, op, mask);
  r.mean = mean;
  if (glow_buf_elements(y) == 0)
    return GLOW_RUN_OK;
  glow_ref_clear_padding(y);
  if (r.count == 0) { /* each result is that of no elements: one at a time */
    r.nkept = 1;
    r.kept[0] = glow_buf_elements(y);
  }
  switch (glow_ref_class(r.x)) {
  case GLOW_ROW_FLOAT:
    reduce_float(&r, y);
    break;
  case GLOW_ROW_DOUBLE:
    reduce_double(&r, y);
    break;
  case GLOW_ROW_INT:
    reduce_int(&r, y);
    break;
  case GLOW_ROW_UINT:
    reduce_uint(&r, y);
    break;
  }
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_reduce_sum(GlowCall *call) {
  const GlowReduceSumMembers *m = call->members;
  return reduce(call, GLOW_REDUCE_SUM, false, m->noop);
}
GlowRunError glow_kernel_reduce_mean(GlowCall *call) {
  const GlowReduceMeanMembers *m = call->members;
  return reduce(call, GLOW_REDUCE_SUM, true, m->noop);
}
GlowRunError glow_kernel_reduce_max(GlowCall *call) {
  const GlowReduceMaxMembers *m = call->members;
  return reduce(call, GLOW_REDUCE_MAX, false, m->noop);
}
GlowRunError glow_kernel_reduce_min(GlowCall *call) {
  const GlowReduceMinMembers *m = call->members;
  return reduce(call, GLOW_REDUCE_MIN, false, m->noop);
}
GlowRunError glow_kernel_reduce_prod(GlowCall *call) {
  const GlowReduceProdMembers *m = call->members;
  return reduce(call, GLOW_REDUCE_PROD, false, m->noop);
}
