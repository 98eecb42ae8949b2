/* Pools over windows of up to three spatial axes, in NCHW16c and in plain layouts. */
#include "cpu/work.h"
#include "num/bits.h"
#include "ops/listed.h"

/* The members that all three operators have. */
typedef struct Members {
  int layout;
  GlowArray kernels, strides, pads, dilations;
} Members;

#define MEMBERS(m) ((Members){(m)->layout, (m)->kernels, (m)->strides, (m)->pads, (m)->dilations})

/* Channels of a view: how many outer ones with which stride, and how many neighbours. */
static bool read_channels(GlowSelect *s, const GlowView *v, uint32_t axis, int64_t *outer,
                          int64_t *stride, int64_t *lanes) {
  const GlowLayout *layout = v->type->layout;
  uint32_t rank = v->type->rank;
  *stride = v->strides[axis];
  *outer = v->dims[axis];
  *lanes = 1;
  if (layout && (layout->nblocks != 1 || layout->blocks[0].axis != axis || v->strides[rank] != 1))
    return glow_select_fail(s, "it has a layout that is not blocked by channels alone");
  if (layout) {
    *lanes = v->dims[rank];
  } else if (axis == rank - 1 && rank > 2) {
    if (v->strides[axis] != 1)
      return glow_select_fail(s, "its channels are not contiguous");
    *lanes = v->dims[axis];
    *outer = 1;
  }
  return true;
}

static bool read_params(GlowSelect *s, const GlowView *x, const GlowView *y, const Members *m,
                        GlowPoolParams *p) {
  uint32_t rank = x->type->rank, spatial = rank - 2;
  bool nhwc = m->layout == GLOW_LAYOUT_NHWC;
  uint32_t channel = nhwc ? rank - 1 : 1, first = nhwc ? 1 : 2;
  int64_t c, lanes;
  if (spatial > GLOW_POOL_DIMS)
    return glow_select_fail(s, "it has more than three spatial axes");
  if (!read_channels(s, x, channel, &p->c, &p->xc, &p->lanes) ||
      !read_channels(s, y, channel, &c, &p->yc, &lanes))
    return false;
  if (lanes != p->lanes)
    return glow_select_fail(s, "its input and output have different layouts");
  p->n = y->dims[0];
  p->xn = x->strides[0];
  p->yn = y->strides[0];
  for (uint32_t a = 0; a < GLOW_POOL_DIMS; a++) {
    p->in[a] = p->out[a] = p->kernel[a] = p->stride[a] = p->dilation[a] = 1;
    uint32_t lead = GLOW_POOL_DIMS - spatial, i = a - lead;
    if (a < lead)
      continue;
    p->in[a] = x->type->dims[first + i].size;
    p->out[a] = y->type->dims[first + i].size;
    p->kernel[a] = glow_listed(m->kernels, i, 1);
    p->stride[a] = glow_listed(m->strides, i, 1);
    p->dilation[a] = glow_listed(m->dilations, i, 1);
    p->before[a] = glow_listed(m->pads, i, 0);
    p->after[a] = glow_listed(m->pads, spatial + i, 0);
    p->xs[a] = x->strides[first + i];
    p->ys[a] = y->strides[first + i];
  }
  return true;
}

/* The kernel of n for elements of a kind; NULL if there is none. */
static const GlowKernel *kernel_of(const GlowNode *n, GlowKind kind) {
  bool arg = n->nouts > 1 && glow_node_out(n, 1);
  return arg                             ? glow_find_max_pool_arg(kind)
         : n->op == GLOW_OP_MAX_POOL     ? glow_find_max_pool(kind)
         : n->op == GLOW_OP_AVERAGE_POOL ? glow_find_average_pool(kind)
                                         : glow_find_lp_pool(kind);
}

/* ---- Planes ---------------------------------------------------------------------------------- */

/* Whether a window is a whole plane of dense float maps. */
static bool takes_planes(const GlowView *x, const GlowView *y, const GlowPoolParams *p) {
  bool whole = x->type->kind == GLOW_KIND_FLOAT && !x->type->layout && p->lanes == 1 &&
               glow_view_is_dense(x) && glow_view_is_dense(y);
  for (uint32_t a = 0; whole && a < GLOW_POOL_DIMS; a++)
    whole = p->kernel[a] == p->in[a] && p->out[a] == 1 && !p->before[a] && !p->after[a] &&
            (p->dilation[a] == 1 || p->kernel[a] == 1);
  return whole;
}

/* What is computed of a window, as the kernels of planes and of rows number it; -1: they have no
 * such norm. */
static int variant_of(const GlowNode *n, const GlowPoolParams *p) {
  _Static_assert((int)GLOW_POOL_ROWS_NORM2 == (int)GLOW_POOL_PLANES_NORM2, "the same variants");
  const float norm = glow_float_from_bits((uint32_t)p->norm);
  return n->op == GLOW_OP_MAX_POOL       ? GLOW_POOL_ROWS_MAX
         : n->op == GLOW_OP_AVERAGE_POOL ? GLOW_POOL_ROWS_MEAN
         : norm == 1                     ? GLOW_POOL_ROWS_NORM1
         : norm == 2                     ? GLOW_POOL_ROWS_NORM2
                                         : -1;
}

/* Appends the kernel of planes. False, without a reason, if it does not take the pool. */
static bool select_planes(GlowSelect *s, const GlowNode *n, const GlowPoolParams *pool,
                          const GlowView *x, const GlowView *y) {
  const int what = variant_of(n, pool);
  if (!takes_planes(x, y, pool) || what < 0)
    return false;
  GlowPoolPlanesParams p = {.planes = pool->n * pool->c,
                            .taps = pool->in[0] * pool->in[1] * pool->in[2]};
  GlowPoolPlanesPlaces at = {.y = y->place, .x = x->place};
  GlowWorkSpec spec = {.units = glow_div_up(p.planes, s->isa->vl)};
  glow_work_pool_planes(s, n, (GlowPoolPlanesVariant)what, &p, &at, &spec);
  return true;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Whether the kernels of rows take it: float, plain, rows of several results, few taps. Indices
 * into an image have 32 bits, and floats hold the numbers of taps. */
static bool takes_rows(const GlowView *x, const GlowView *y, const GlowPoolParams *p) {
  const int64_t rows = p->kernel[0] * p->kernel[1], columns = p->kernel[2];
  int64_t image = 1;
  for (uint32_t a = 0; a < GLOW_POOL_DIMS; a++)
    image *= p->in[a];
  return x->type->kind == GLOW_KIND_FLOAT && !x->type->layout && p->lanes == 1 && p->xs[2] == 1 &&
         glow_view_is_dense(y) && p->out[2] > 1 && rows * columns <= GLOW_POOL_TAPS &&
         image <= INT32_MAX;
}

/* Appends the kernel of rows. False, without a reason, if it does not take the pool. */
static bool select_rows(GlowSelect *s, const GlowNode *n, const GlowPoolParams *pool,
                        const GlowView *x, const GlowView *y, const GlowPlace *arg) {
  GlowPoolRowsParams p = {.pool = *pool};
  GlowSetup setup = {0};
  const int what = variant_of(n, pool);
  if (!takes_rows(x, y, pool) || what < 0 || (arg && pool->column_major))
    return false;
  if (arg) {
    GlowPoolRowsArgPlaces at = {.y = y->place, .at = *arg, .x = x->place};
    glow_setup_pool_rows_arg(&s->cpu, &p, &setup);
    glow_work_pool_rows_arg(s, n, &p, &setup, &at);
    return true;
  }
  GlowPoolRowsPlaces at = {.y = y->place, .x = x->place};
  p.maxima = what == GLOW_POOL_ROWS_MAX;
  glow_setup_pool_rows(&s->cpu, &p, &setup);
  glow_work_pool_rows(s, n, (GlowPoolRowsVariant)what, &p, &setup, &at);
  return true;
}

bool glow_select_pool(GlowSelect *s, const GlowNode *n) {
  GlowPoolParams p = {0};
  GlowView x, y, arg;
  Members m;
  const GlowValue *where = n->nouts > 1 ? glow_node_out(n, 1) : NULL;
  if (!glow_select_view(s, glow_node_in(n, 0), &x) || !glow_select_view(s, glow_node_out(n, 0), &y))
    return false;
  if (n->op == GLOW_OP_MAX_POOL) {
    const GlowMaxPoolMembers *max = n->members;
    m = MEMBERS(max);
    p.column_major = max->column_major;
  } else if (n->op == GLOW_OP_AVERAGE_POOL) {
    const GlowAveragePoolMembers *mean = n->members;
    m = MEMBERS(mean);
    p.include_pad = mean->count_include_pad;
  } else {
    const GlowLpPoolMembers *lp = n->members;
    m = MEMBERS(lp);
    p.norm = glow_float_bits(lp->p);
  }
  GlowKind kind = x.type->kind;
  if (!kernel_of(n, kind) || (n->op != GLOW_OP_MAX_POOL && x.type->quantized))
    return glow_select_fail(s, "there is no kernel for its kind");
  if (!read_params(s, &x, &y, &m, &p))
    return false;
  if (where &&
      (!glow_select_view(s, where, &arg) || p.lanes != 1 || x.type->layout ||
       m.layout == GLOW_LAYOUT_NHWC || !glow_view_is_dense(&y) || !glow_view_is_dense(&arg)))
    return glow_select_fail(s, "there is no kernel for its layout that finds indices");
  int64_t pixels = p.n * p.c * p.out[0] * p.out[1] * p.out[2];
  if (!pixels || !p.lanes)
    return true;
  if (!where && select_planes(s, n, &p, &x, &y))
    return true;
  if (select_rows(s, n, &p, &x, &y, where ? &arg.place : NULL))
    return true;
  GlowWorkSpec spec = {.units = p.n * p.c * p.out[0] * p.out[1]};
  if (where)
    glow_work_max_pool_arg(s, n, kind, &p, &(GlowMaxPoolArgPlaces){y.place, arg.place, x.place},
                           &spec);
  else if (n->op == GLOW_OP_MAX_POOL)
    glow_work_max_pool(s, n, kind, &p, &(GlowMaxPoolPlaces){y.place, x.place}, &spec);
  else if (n->op == GLOW_OP_AVERAGE_POOL)
    glow_work_average_pool(s, n, kind, &p, &(GlowAveragePoolPlaces){y.place, x.place}, &spec);
  else
    glow_work_lp_pool(s, n, kind, &p, &(GlowLpPoolPlaces){y.place, x.place}, &spec);
  return glow_select_zero_padding(s, n, &y);
}
