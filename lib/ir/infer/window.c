/* Inference and verification of operators that slide a window: convolution and pooling of any
 * spatial rank, in the logical order NCHW or NHWC. Extents as ONNX's:
 *   out = floor or ceil((in + pads - ((kernel - 1) * dilation + 1)) / stride) + 1
 * and with ceil no window may start in the padding at the end. */
#include <math.h>

#include "ir/infer/window.h"

static bool check_list(const GlowInfer *in, const Window *w, const char *name, GlowArray a,
                       uint32_t count, bool positive) {
  const char *prefix = w->prefix ? w->prefix : "";
  if (a.count && a.count != count)
    return glow_infer_error(in, "%s%s has %u values, expected %u", prefix, name, a.count, count);
  for (uint32_t i = 0; positive && i < a.count; i++)
    if (glow_array_at(a, uint32_t, i) == 0)
      return glow_infer_error(in, "%s%s must be positive", prefix, name);
  return true;
}

bool glow_infer_window(const GlowInfer *in, const Window *w) {
  return check_list(in, w, "strides", w->strides, w->spatial, true) &&
         check_list(in, w, "dilations", w->dilations, w->spatial, true) &&
         check_list(in, w, "pads", w->pads, 2 * w->spatial, false);
}

/* How many windows fit into an exact extent. All values are below 2^33, or 2^40 for size and
 * kernel, so that only the product can overflow. -1: the window does not fit. */
static int64_t count_windows(const Window *w, uint32_t i, int64_t size, int64_t kernel) {
  int64_t stride = glow_listed(w->strides, i, 1), dilation = glow_listed(w->dilations, i, 1), reach;
  int64_t begin = glow_listed(w->pads, i, 0), end = glow_listed(w->pads, w->spatial + i, 0);
  if (__builtin_mul_overflow(kernel - 1, dilation, &reach))
    return -1;
  int64_t room = size + begin + end;
  if (reach >= room)
    return -1;
  room -= reach + 1;
  int64_t count = room / stride + 1;
  if (w->ceil && room % stride && count * stride < size + begin)
    count++;
  return count;
}

/* The number of windows, which is `count` for the largest extent. With ceil a window more fits
 * where it begins before the padding at the end. */
static GlowDim windows_of(const Window *w, uint32_t i, GlowDim size, int64_t kernel,
                          int64_t count) {
  int64_t stride = glow_listed(w->strides, i, 1), begin = glow_listed(w->pads, i, 0);
  int64_t end = glow_listed(w->pads, w->spatial + i, 0);
  int64_t reach = (kernel - 1) * glow_listed(w->dilations, i, 1);
  int64_t rest = begin + end - reach - 1;
  if (!size.extent || (w->ceil && end > reach))
    return size.kind == GLOW_DIM_EXACT ? GLOW_EXACT(count) : GLOW_BOUND(count);
  if (!w->ceil)
    return glow_dim_affine(size, 1, rest + stride, stride, 1, count);
  GlowDim fit = glow_dim_affine(size, 1, rest + 2 * stride - 1, stride, 1,
                                (size.size + rest + stride - 1) / stride + 1);
  GlowDim begun = glow_dim_affine(size, 1, begin + stride - 1, stride, 1,
                                  (size.size + begin + stride - 1) / stride);
  return glow_dim_min(fit, begun);
}

bool glow_infer_slide(const GlowInfer *in, const Window *w, uint32_t i, GlowDim size,
                      GlowDim kernel, GlowDim *result) {
  *result = GLOW_UNKNOWN;
  if (kernel.kind != GLOW_DIM_EXACT)
    return true;
  if (kernel.size == 0)
    return glow_infer_error(in, "the window is empty along spatial axis %u", i);
  if (!glow_dim_has_size(size)) {
    int64_t pads = glow_listed(w->pads, i, 0) + glow_listed(w->pads, w->spatial + i, 0), reach;
    bool same = glow_listed(w->strides, i, 1) == 1 &&
                !__builtin_mul_overflow(kernel.size - 1, glow_listed(w->dilations, i, 1), &reach) &&
                reach == pads;
    *result = same ? size : GLOW_UNKNOWN;
    return true;
  }
  int64_t count = count_windows(w, i, size.size, kernel.size);
  if (count < 0)
    return glow_infer_error(in,
                            "a window of %lld with its dilation is larger than spatial axis %u,"
                            " which has extent %s before padding",
                            (long long)kernel.size, i, glow_dim_str(in->ctx, size));
  *result = windows_of(w, i, size, kernel.size, count);
  return true;
}

/* ---- Convolution ----------------------------------------------------------------------------- */

static bool check_channels(const GlowInfer *in, GlowDim x, GlowDim w, GlowDim filters,
                           uint32_t group) {
  if (x.kind == GLOW_DIM_EXACT && w.kind == GLOW_DIM_EXACT &&
      (x.size % group || x.size / group != w.size))
    return glow_infer_error(in, "X has %lld channels, but W takes %lld in each of %u group%s",
                            (long long)x.size, (long long)w.size, group, group == 1 ? "" : "s");
  if (filters.kind == GLOW_DIM_EXACT && filters.size % group)
    return glow_infer_error(in, "%lld filters cannot be divided into %u groups",
                            (long long)filters.size, group);
  return true;
}

/* Sets the result of sliding the filter f over x, with elements as in `base`. The caller fills only
 * the lists of w. */
static bool convolve(GlowInfer *in, const GlowType *x, const GlowType *f, const GlowType *bias,
                     const Window *lists, int layout, uint32_t group, const GlowType *base) {
  if (x->unranked || f->unranked) {
    int64_t rank = x->unranked ? (int64_t)f->rank : x->rank;
    rank = x->unranked && f->unranked ? -1 : rank;
    return glow_infer_set_unknown(in, 0, base, rank);
  }
  if (x->rank < 3 || x->rank != f->rank)
    return glow_infer_error(in, "X has rank %u and W rank %u; they must be the same and at least 3",
                            x->rank, f->rank);
  if (group == 0)
    return glow_infer_error(in, "group is 0");
  Window w = window_of(x, layout);
  w.strides = lists->strides;
  w.pads = lists->pads;
  w.dilations = lists->dilations;
  GlowDim dims[GLOW_MAX_RANK], filters = f->dims[0];
  if (!glow_infer_window(in, &w) ||
      !check_channels(in, x->dims[w.channel], f->dims[w.channel], filters, group))
    return false;
  if (bias && !bias->unranked &&
      (bias->rank != 1 || !glow_dim_meet(filters, bias->dims[0], &filters)))
    return glow_infer_error(in, "B has type %s, expected %s elements", glow_type_str(in->ctx, bias),
                            glow_dim_str(in->ctx, f->dims[0]));
  dims[0] = x->dims[0];
  dims[w.channel] = filters;
  for (uint32_t i = 0; i < w.spatial; i++)
    if (!glow_infer_slide(in, &w, i, x->dims[w.first + i], f->dims[w.first + i],
                          &dims[w.first + i]))
      return false;
  return glow_infer_set(in, 0, base, x->rank, dims);
}

bool glow_infer_conv_integer(GlowInfer *in) {
  const GlowConvIntegerMembers *m = in->members;
  Window w = {.strides = m->strides, .pads = m->pads, .dilations = m->dilations};
  return convolve(in, in->in[GLOW_CONV_INTEGER_IN_X], in->in[GLOW_CONV_INTEGER_IN_W], NULL, &w,
                  m->layout, m->group, glow_type_scalar(in->ctx, GLOW_KIND_I32));
}

bool glow_infer_qlinear_conv(GlowInfer *in) {
  const GlowQLinearConvMembers *m = in->members;
  GlowKind kind = in->in[GLOW_QLINEAR_CONV_IN_YZERO]->kind;
  Window w = {.strides = m->strides, .pads = m->pads, .dilations = m->dilations};
  return convolve(in, in->in[GLOW_QLINEAR_CONV_IN_X], in->in[GLOW_QLINEAR_CONV_IN_W],
                  glow_infer_in(in, GLOW_QLINEAR_CONV_IN_B), &w, GLOW_LAYOUT_NCHW, m->group,
                  glow_type_scalar(in->ctx, kind));
}

/* Operand i [batch, channels, places of the result]. */
static bool check_map(const GlowInfer *in, uint32_t i, const GlowType *y, GlowDim channels) {
  const GlowType *t = glow_infer_in(in, i);
  GlowDim same;
  if (!t || t->unranked)
    return true;
  bool fits = t->rank == y->rank && glow_dim_meet(t->dims[0], y->dims[0], &same) &&
              glow_dim_meet(t->dims[1], channels, &same);
  for (uint32_t a = 2; fits && a < y->rank; a++)
    fits = glow_dim_meet(t->dims[a], y->dims[a], &same);
  return fits || glow_infer_error(in, "%s has type %s, expected %s channels over the result, %s",
                                  in->desc->in[i].name, glow_type_str(in->ctx, t),
                                  glow_dim_str(in->ctx, channels), glow_type_str(in->ctx, y));
}

bool glow_infer_deform_conv(GlowInfer *in) {
  const GlowDeformConvMembers *m = in->members;
  const GlowType *x = in->in[GLOW_DEFORM_CONV_IN_X], *f = in->in[GLOW_DEFORM_CONV_IN_W];
  Window w = {.strides = m->strides, .pads = m->pads, .dilations = m->dilations};
  if (!convolve(in, x, f, glow_infer_in(in, GLOW_DEFORM_CONV_IN_B), &w, GLOW_LAYOUT_NCHW, m->group,
                x))
    return false;
  if (m->offset_group == 0)
    return glow_infer_error(in, "offset_group is 0");
  if (x->unranked || f->unranked)
    return true;
  if (x->dims[1].kind == GLOW_DIM_EXACT && x->dims[1].size % m->offset_group)
    return glow_infer_error(in, "%lld channels cannot be divided into %u groups of offsets",
                            (long long)x->dims[1].size, m->offset_group);
  GlowDim taps = GLOW_EXACT(m->offset_group);
  for (uint32_t a = 2; a < f->rank; a++)
    taps = glow_dim_mul(taps, f->dims[a]);
  return check_map(in, GLOW_DEFORM_CONV_IN_OFFSET, in->out[0],
                   glow_dim_mul(taps, GLOW_EXACT(x->rank - 2))) &&
         check_map(in, GLOW_DEFORM_CONV_IN_MASK, in->out[0], taps);
}

/* ---- Pooling --------------------------------------------------------------------------------- */

static Window pool_window(const GlowType *x, int layout, GlowArray strides, GlowArray pads,
                          GlowArray dilations, bool ceil) {
  Window w = window_of(x, layout);
  w.strides = strides;
  w.pads = pads;
  w.dilations = dilations;
  w.ceil = ceil;
  return w;
}

/* The dims of a pooling result. */
static bool pool(const GlowInfer *in, const GlowType *x, const Window *w, GlowArray kernels,
                 GlowDim *dims) {
  if (x->rank < 3)
    return glow_infer_error(in, "X must have rank 3 at least, but has type %s",
                            glow_type_str(in->ctx, x));
  if (kernels.count != w->spatial)
    return glow_infer_error(in, "%skernels has %u values, expected %u", w->prefix ? w->prefix : "",
                            kernels.count, w->spatial);
  if (!glow_infer_window(in, w))
    return false;
  memcpy(dims, x->dims, sizeof x->dims);
  for (uint32_t i = 0; i < w->spatial; i++) {
    GlowDim kernel = GLOW_EXACT(glow_array_at(kernels, uint32_t, i));
    if (!glow_infer_slide(in, w, i, x->dims[w->first + i], kernel, &dims[w->first + i]))
      return false;
  }
  return true;
}

bool glow_infer_max_pool(GlowInfer *in) {
  const GlowMaxPoolMembers *m = in->members;
  const GlowType *x = in->in[GLOW_MAX_POOL_IN_X], *index = glow_type_scalar(in->ctx, GLOW_KIND_I64);
  GlowDim dims[GLOW_MAX_RANK];
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, -1) && glow_infer_set_unknown(in, 1, index, -1);
  Window w = pool_window(x, m->layout, m->strides, m->pads, m->dilations, m->ceil);
  return pool(in, x, &w, m->kernels, dims) &&
         glow_infer_set(in, GLOW_MAX_POOL_OUT_Y, x, x->rank, dims) &&
         glow_infer_set(in, GLOW_MAX_POOL_OUT_ARGMAX, index, x->rank, dims);
}

bool glow_infer_average_pool(GlowInfer *in) {
  const GlowAveragePoolMembers *m = in->members;
  const GlowType *x = in->in[GLOW_AVERAGE_POOL_IN_X];
  GlowDim dims[GLOW_MAX_RANK];
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, -1);
  Window w = pool_window(x, m->layout, m->strides, m->pads, m->dilations, m->ceil);
  return pool(in, x, &w, m->kernels, dims) && glow_infer_set(in, 0, x, x->rank, dims);
}

bool glow_infer_lp_pool(GlowInfer *in) {
  const GlowLpPoolMembers *m = in->members;
  const GlowType *x = in->in[GLOW_LP_POOL_IN_X];
  GlowDim dims[GLOW_MAX_RANK];
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, -1);
  Window w = pool_window(x, m->layout, m->strides, m->pads, m->dilations, m->ceil);
  return pool(in, x, &w, m->kernels, dims) && glow_infer_set(in, 0, x, x->rank, dims);
}

/* Refuses padding that a whole window fits into. `name` is the name of `pads` in messages. */
static bool check_padding(const GlowNode *n, const char *name, GlowArray kernels, GlowArray pads,
                          GlowArray dilations) {
  for (uint32_t i = 0; kernels.count && i < pads.count; i++) {
    uint32_t axis = i % kernels.count;
    int64_t reach =
        ((int64_t)glow_array_at(kernels, uint32_t, axis) - 1) * glow_listed(dilations, axis, 1);
    if (glow_array_at(pads, uint32_t, i) > reach)
      return glow_verify_error(n, "%s %u is as large as the window", name, i);
  }
  return true;
}

bool glow_verify_max_pool(const GlowNode *n) {
  const GlowMaxPoolMembers *m = n->members;
  return check_padding(n, "pads", m->kernels, m->pads, m->dilations);
}

bool glow_verify_average_pool(const GlowNode *n) {
  const GlowAveragePoolMembers *m = n->members;
  return check_padding(n, "pads", m->kernels, m->pads, m->dilations);
}

static bool check_norm(const GlowNode *n, float p) {
  return (p > 0 && p < INFINITY) || glow_verify_error(n, "p is %g", (double)p);
}

bool glow_verify_lp_pool(const GlowNode *n) {
  const GlowLpPoolMembers *m = n->members;
  return check_padding(n, "pads", m->kernels, m->pads, m->dilations) && check_norm(n, m->p);
}

bool glow_verify_global_lp_pool(const GlowNode *n) {
  const GlowGlobalLpPoolMembers *m = n->members;
  return check_norm(n, m->p);
}

static bool global_pool(GlowInfer *in, int layout) {
  const GlowType *x = in->in[0];
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, -1);
  if (x->rank < 2)
    return glow_infer_error(in, "X must have rank 2 at least, but has type %s",
                            glow_type_str(in->ctx, x));
  Window w = window_of(x, layout);
  GlowDim dims[GLOW_MAX_RANK];
  memcpy(dims, x->dims, sizeof dims);
  for (uint32_t i = 0; i < w.spatial; i++)
    dims[w.first + i] = GLOW_EXACT(1);
  return glow_infer_set(in, 0, x, x->rank, dims);
}

bool glow_infer_global_average_pool(GlowInfer *in) {
  const GlowGlobalAveragePoolMembers *m = in->members;
  return global_pool(in, m->layout);
}

bool glow_infer_global_max_pool(GlowInfer *in) {
  const GlowGlobalMaxPoolMembers *m = in->members;
  return global_pool(in, m->layout);
}

bool glow_infer_global_lp_pool(GlowInfer *in) {
  const GlowGlobalLpPoolMembers *m = in->members;
  return global_pool(in, m->layout);
}

/* ---- A convolution and its pool -------------------------------------------------------------- */

bool glow_node_pool(const GlowNode *n, GlowMaxPoolMembers *pool) {
  const GlowConvolutionMembers *m = n->op == GLOW_OP_CONVOLUTION ? n->members : NULL;
  if (!m || !m->pool_kernels.count)
    return false;
  *pool = (GlowMaxPoolMembers){.layout = m->layout,
                               .kernels = m->pool_kernels,
                               .strides = m->pool_strides,
                               .pads = m->pool_pads};
  return true;
}

/* Infers the map that the convolution computes, before pooling. */
static bool infer_map(GlowInfer *in, const GlowConvolutionMembers *m) {
  const GlowType *x = in->in[GLOW_CONVOLUTION_IN_X], *f = in->in[GLOW_CONVOLUTION_IN_W];
  Window w = {.strides = m->strides, .pads = m->pads, .dilations = m->dilations};
  if (m->strategy == GLOW_CONV_STRATEGY_WINOGRAD && !glow_infer_winograd(in, &f))
    return false;
  return convolve(in, x, f, glow_infer_in(in, GLOW_CONVOLUTION_IN_B), &w, m->layout, m->group,
                  glow_infer_computed(in, x));
}

bool glow_infer_convolution(GlowInfer *in) {
  const GlowConvolutionMembers *m = in->members;
  if (!infer_map(in, m))
    return false;
  const GlowType *map = in->out[0];
  if (!m->pool_kernels.count || map->unranked)
    return true;
  GlowDim dims[GLOW_MAX_RANK];
  Window w = pool_window(map, m->layout, m->pool_strides, m->pool_pads, (GlowArray){0}, false);
  w.prefix = "pool_";
  return pool(in, map, &w, m->pool_kernels, dims) && glow_infer_set(in, 0, map, map->rank, dims);
}

const GlowType *glow_node_map_of(const GlowNode *n, const GlowType *const *types) {
  const GlowType *y = glow_node_out(n, 0)->type, *map = NULL;
  GlowInfer in = {.ctx = n->block->module->ctx,
                  .desc = glow_node_desc(n),
                  .members = n->members,
                  .loc = glow_node_loc(n),
                  .nin = glow_node_nins(n),
                  .nout = 1,
                  .in = types,
                  .out = &map};
  GLOW_CHECK(in.ctx, infer_map(&in, n->members), "the map of a pool has no type");
  return glow_type_with_layout(in.ctx, glow_type_with_dims(in.ctx, y, map->rank, map->dims),
                               y->layout);
}

const GlowType *glow_node_map(const GlowNode *n) {
  const GlowType *types[GLOW_CONVOLUTION_IN_B + 1];
  GlowMaxPoolMembers pool;
  if (!glow_node_pool(n, &pool))
    return glow_node_out(n, 0)->type;
  for (uint32_t i = 0; i < glow_node_nins(n); i++)
    types[i] = glow_node_in(n, i) ? glow_node_in(n, i)->type : NULL;
  return glow_node_map_of(n, types);
}

/* Checks the members of the pool. The extents of the map must be known. */
static bool check_pool(const GlowNode *n, const GlowConvolutionMembers *m) {
  if (!m->pool_kernels.count)
    return (!m->pool_strides.count && !m->pool_pads.count) ||
           glow_verify_error(n, "pool_strides and pool_pads need pool_kernels");
  const GlowType *map = glow_node_map(n);
  if (!glow_type_is_known(map))
    return glow_verify_error(n, "pools a map of type %s: its extents must be known",
                             glow_type_str(n->block->module->ctx, map));
  return check_padding(n, "pool_pads", m->pool_kernels, m->pool_pads, (GlowArray){0});
}

/* What taps outside of X read is an element of X; in floating point it is 0. */
static bool check_pad(const GlowNode *n, int64_t pad) {
  const GlowType *x = glow_node_in(n, GLOW_CONVOLUTION_IN_X)->type;
  if (pad == 0)
    return true;
  if (!glow_kind_is_integer(x->kind))
    return glow_verify_error(n, "pad is %lld, but X has type %s: only integers have a pad",
                             (long long)pad, glow_type_str(n->block->module->ctx, x));
  return glow_kind_holds(x->kind, pad) ||
         glow_verify_error(n, "pad is %lld, which is no %s", (long long)pad,
                           glow_kind_info[x->kind].name);
}

bool glow_verify_convolution(const GlowNode *n) {
  const GlowConvolutionMembers *m = n->members;
  const bool is_bf16 = m->strategy == GLOW_CONV_STRATEGY_BF16;
  if (!check_pad(n, m->pad) || !glow_verify_stored(n, is_bf16, m->order, GLOW_CONVOLUTION_IN_X))
    return false;
  if (is_bf16 && m->group != 1)
    return glow_verify_error(n, "group is %u, expected 1 with strategy = bf16", m->group);
  for (uint32_t i = 0; i < m->tile.count; i++)
    if (glow_array_at(m->tile, uint32_t, i) == 0)
      return glow_verify_error(n, "tile %u is 0", i);
  return check_pool(n, m);
}
