/* MaxUnpool and Col2Im of plain, dense buffers. */
#include "cpu/work.h"
#include "ops/listed.h"
#include "tensor/tensor.h"

/* Sets the extents in which indices count, as the reference kernel does. False, with s->why, if Y
 * is smaller: the reference kernel says so when it runs. */
static bool read_extents(GlowSelect *s, const GlowMaxUnpoolMembers *m, const GlowView *x,
                         const GlowView *y, GlowUnpoolParams *p) {
  const uint32_t lead = GLOW_UNPOOL_DIMS - x->rank;
  p->elements = p->same = 1;
  for (uint32_t a = 0; a < GLOW_UNPOOL_DIMS; a++)
    p->n[a] = 1;
  for (uint32_t a = 0; a < x->rank; a++) {
    int64_t n = x->dims[a];
    if (a >= 2)
      n = (n - 1) * glow_listed(m->strides, a - 2, 1) + glow_listed(m->kernels, a - 2, 1) -
          glow_listed(m->pads, a - 2, 0) - glow_listed(m->pads, x->rank - 2 + a - 2, 0);
    p->n[lead + a] = n;
    p->stride[lead + a] = y->strides[a];
    p->elements *= n;
    p->same = p->same && n == y->dims[a];
    if (n < 1 || y->dims[a] < n)
      return glow_select_fail(s, "its result is smaller than what was pooled");
  }
  return true;
}

bool glow_select_max_unpool(GlowSelect *s, const GlowNode *n) {
  GlowView x, which, y;
  GlowUnpoolParams p = {0};
  if (!glow_select_dense(s, glow_node_in(n, 0), &x) ||
      !glow_select_dense(s, glow_node_in(n, 1), &which) ||
      !glow_select_dense(s, glow_node_out(n, 0), &y))
    return false;
  p.size = glow_view_extent(&y, 0, y.rank);
  p.count = glow_view_extent(&x, 0, x.rank);
  const int64_t bits = glow_kind_info[y.type->kind].bits;
  if (x.rank > GLOW_UNPOOL_DIMS || bits > 64 || which.type->kind != GLOW_KIND_I64)
    return glow_select_fail(s, "it has too many axes or too wide elements");
  if (!p.size)
    return true;
  if (p.count && !read_extents(s, n->members, &x, &y, &p))
    return false;
  const GlowMaxUnpoolVariant width = bits == 8    ? GLOW_MAX_UNPOOL_8
                                     : bits == 16 ? GLOW_MAX_UNPOOL_16
                                     : bits == 32 ? GLOW_MAX_UNPOOL_32
                                                  : GLOW_MAX_UNPOOL_64;
  GlowWorkSpec spec = {.units = 1, .fault = glow_select_call(s, n)};
  if (!spec.fault)
    return false;
  GlowMaxUnpoolPlaces at = {.y = y.place, .x = x.place, .indices = which.place};
  glow_work_max_unpool(s, n, width, &p, &at, &spec);
  return true;
}

/* The extents of blocks, which must be known. */
static bool read_blocks(GlowSelect *s, const GlowNode *n, const GlowView *x, const GlowView *y,
                        GlowCol2ImParams *p) {
  const GlowCol2ImMembers *m = n->members;
  const GlowTensor *known = glow_value_known(glow_node_in(n, 2));
  const uint32_t spatial = y->rank - 2, lead = GLOW_COL2_IM_DIMS - spatial;
  int64_t taps = 1, blocks = 1;
  if (!known || spatial > GLOW_COL2_IM_DIMS)
    return glow_select_fail(s, "its blocks are not known, or have more than three axes");
  for (uint32_t a = 0; a < GLOW_COL2_IM_DIMS; a++)
    p->image[a] = p->kernel[a] = p->stride[a] = p->dilation[a] = p->count[a] = 1;
  for (uint32_t i = 0; i < spatial; i++) {
    const uint32_t a = lead + i;
    p->image[a] = y->dims[2 + i];
    p->kernel[a] = glow_tensor_get_int(known, i);
    p->stride[a] = glow_listed(m->strides, i, 1);
    p->dilation[a] = glow_listed(m->dilations, i, 1);
    p->before[a] = glow_listed(m->pads, i, 0);
    if (p->kernel[a] < 1)
      return glow_select_fail(s, "a block has no elements");
    const int64_t room = p->image[a] + p->before[a] + glow_listed(m->pads, spatial + i, 0) -
                         ((p->kernel[a] - 1) * p->dilation[a] + 1);
    p->count[a] = room < 0 ? 0 : room / p->stride[a] + 1;
    taps *= p->kernel[a];
    blocks *= p->count[a];
  }
  return (x->dims[1] == y->dims[1] * taps && x->dims[2] == blocks) ||
         glow_select_fail(s, "it has not as many columns as there are blocks");
}

bool glow_select_col2_im(GlowSelect *s, const GlowNode *n) {
  GlowView x, y;
  GlowCol2ImParams p = {0};
  GlowSetup setup = {0};
  if (!glow_select_dense(s, glow_node_in(n, 0), &x) ||
      !glow_select_dense(s, glow_node_out(n, 0), &y))
    return false;
  if (!glow_find_col2_im(y.type->kind))
    return glow_select_fail(s, "there is no kernel for its kind");
  if (!glow_view_extent(&y, 0, y.rank))
    return true;
  if (!read_blocks(s, n, &x, &y, &p))
    return false;
  p.planes = y.dims[0] * y.dims[1];
  glow_setup_col2_im(&s->cpu, &p, &setup);
  glow_work_col2_im(s, n, y.type->kind, &p, &setup, &(GlowCol2ImPlaces){y.place, x.place});
  return true;
}
