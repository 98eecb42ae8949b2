/* Inference of operators that undo a sliding window: ConvTranspose, FilterGradient, MaxUnpool and
 * Col2Im. */
#include "ir/infer/window.h"

/* stride * (in - 1) + (kernel - 1) * dilation + 1 + extra - pads, for spatial axis i. */
static bool spread(const GlowInfer *in, const Window *w, uint32_t i, GlowDim size, GlowDim kernel,
                   int64_t extra, GlowDim *result) {
  int64_t reach, length, stride = glow_listed(w->strides, i, 1);
  *result = GLOW_UNKNOWN;
  if (kernel.kind == GLOW_DIM_EXACT && kernel.size == 0)
    return glow_infer_error(in, "the window is empty along spatial axis %u", i);
  if (kernel.kind != GLOW_DIM_EXACT || !glow_dim_has_size(size))
    return true;
  if (__builtin_mul_overflow(kernel.size - 1, glow_listed(w->dilations, i, 1), &reach) ||
      __builtin_mul_overflow(size.size - 1, stride, &length) ||
      __builtin_add_overflow(length, reach, &length) ||
      __builtin_add_overflow(length, extra + 1, &length))
    return glow_infer_error(in, "the result is too large along spatial axis %u", i);
  length -= glow_listed(w->pads, i, 0) + glow_listed(w->pads, w->spatial + i, 0);
  if (length < 0)
    return glow_infer_error(in, "pads are larger than the result along spatial axis %u", i);
  *result = glow_dim_affine(size, stride, length - stride * size.size, 1, 0, length);
  return true;
}

static bool check_transposed(const GlowInfer *in, const GlowConvTransposeMembers *m,
                             const GlowType *x, const GlowType *f) {
  if (x->rank < 3 || x->rank != f->rank)
    return glow_infer_error(in, "X has rank %u and W rank %u; they must be the same and at least 3",
                            x->rank, f->rank);
  if (m->group == 0)
    return glow_infer_error(in, "group is 0");
  if (m->output_padding.count && m->output_padding.count != x->rank - 2)
    return glow_infer_error(in, "output_padding has %u values, expected %u",
                            m->output_padding.count, x->rank - 2);
  return true;
}

bool glow_infer_conv_transpose(GlowInfer *in) {
  const GlowConvTransposeMembers *m = in->members;
  const GlowType *x = in->in[GLOW_CONV_TRANSPOSE_IN_X], *f = in->in[GLOW_CONV_TRANSPOSE_IN_W];
  const GlowType *bias = glow_infer_in(in, GLOW_CONV_TRANSPOSE_IN_B);
  if (x->unranked || f->unranked)
    return glow_infer_set_unknown(
        in, 0, x, x->unranked ? f->unranked ? -1 : (int64_t)f->rank : (int64_t)x->rank);
  if (!check_transposed(in, m, x, f))
    return false;
  Window w = window_of(x, m->layout);
  w.strides = m->strides;
  w.pads = m->pads;
  w.dilations = m->dilations;
  GlowDim dims[GLOW_MAX_RANK], channels = x->dims[w.channel], one = f->dims[w.channel];
  GlowDim filters = glow_dim_mul(one, GLOW_EXACT(m->group));
  if (!glow_infer_window(in, &w))
    return false;
  if (!glow_dim_meet(channels, f->dims[0], &channels))
    return glow_infer_error(in, "X has %s channels, but W takes %s",
                            glow_dim_str(in->ctx, x->dims[w.channel]),
                            glow_dim_str(in->ctx, f->dims[0]));
  if (channels.kind == GLOW_DIM_EXACT && channels.size % m->group)
    return glow_infer_error(in, "%lld channels cannot be divided into %u groups",
                            (long long)channels.size, m->group);
  if (bias && !bias->unranked &&
      (bias->rank != 1 || !glow_dim_meet(filters, bias->dims[0], &filters)))
    return glow_infer_error(in, "B has type %s, expected %s elements", glow_type_str(in->ctx, bias),
                            glow_dim_str(in->ctx, filters));
  dims[0] = x->dims[0];
  dims[w.channel] = filters;
  for (uint32_t i = 0; i < w.spatial; i++)
    if (!spread(in, &w, i, x->dims[w.first + i], f->dims[w.first + i],
                glow_listed(m->output_padding, i, 0), &dims[w.first + i]))
      return false;
  return glow_infer_set(in, 0, x, x->rank, dims);
}

/* ---- FilterGradient -------------------------------------------------------------------------- */

/* Checks that X and DY are images and channels of one Convolution. */
static bool check_maps(const GlowInfer *in, const GlowType *x, const GlowType *dy) {
  const GlowFilterGradientMembers *m = in->members;
  GlowDim same;
  if (x->rank < 3 || x->rank != dy->rank)
    return glow_infer_error(in,
                            "X has rank %u and DY rank %u; they must be the same and at least 3",
                            x->rank, dy->rank);
  if (!glow_dim_meet(x->dims[0], dy->dims[0], &same))
    return glow_infer_error(in, "X has %s images, but DY %s", glow_dim_str(in->ctx, x->dims[0]),
                            glow_dim_str(in->ctx, dy->dims[0]));
  if (m->group == 0)
    return glow_infer_error(in, "group is 0");
  for (uint32_t i = 0; i < 2; i++) {
    GlowDim channels = (i ? dy : x)->dims[1];
    if (channels.kind == GLOW_DIM_EXACT && channels.size % m->group)
      return glow_infer_error(in, "%lld channels of %s cannot be divided into %u groups",
                              (long long)channels.size, in->desc->in[i].name, m->group);
  }
  return true;
}

/* DW: [channels of DY, channels of a group of X, window]. */
bool glow_infer_filter_gradient(GlowInfer *in) {
  const GlowFilterGradientMembers *m = in->members;
  const GlowType *x = in->in[GLOW_FILTER_GRADIENT_IN_X], *dy = in->in[GLOW_FILTER_GRADIENT_IN_DY];
  if (x->unranked || dy->unranked)
    return glow_infer_set_unknown(in, 0, x, (int64_t)m->kernels.count + 2);
  if (!check_maps(in, x, dy))
    return false;
  Window w = window_of(x, GLOW_LAYOUT_NCHW);
  w.strides = m->strides;
  w.pads = m->pads;
  w.dilations = m->dilations;
  GlowDim dims[GLOW_MAX_RANK] = {dy->dims[1], x->dims[1]};
  if (m->kernels.count != w.spatial)
    return glow_infer_error(in, "kernels has %u values, expected %u", m->kernels.count, w.spatial);
  if (!glow_infer_window(in, &w))
    return false;
  if (m->group > 1)
    dims[1] = dims[1].kind == GLOW_DIM_EXACT ? GLOW_EXACT(dims[1].size / m->group) : GLOW_UNKNOWN;
  for (uint32_t i = 0; i < w.spatial; i++) {
    GlowDim places, same;
    dims[2 + i] = GLOW_EXACT(glow_array_at(m->kernels, uint32_t, i));
    if (!glow_infer_slide(in, &w, i, x->dims[2 + i], dims[2 + i], &places))
      return false;
    if (!glow_dim_meet(places, dy->dims[2 + i], &same))
      return glow_infer_error(in, "DY has %s places along spatial axis %u, but X has %s windows",
                              glow_dim_str(in->ctx, dy->dims[2 + i]), i,
                              glow_dim_str(in->ctx, places));
  }
  return glow_infer_set(in, 0, x, x->rank, dims);
}

/* ---- MaxUnpool ------------------------------------------------------------------------------- */

/* The extents that the windows imply. */
static bool implied_dims(const GlowInfer *in, const GlowType *x, GlowDim *dims) {
  const GlowMaxUnpoolMembers *m = in->members;
  Window w = window_of(x, GLOW_LAYOUT_NCHW);
  w.strides = m->strides;
  w.pads = m->pads;
  if (m->kernels.count != w.spatial)
    return glow_infer_error(in, "kernels has %u values, expected %u", m->kernels.count, w.spatial);
  if (!glow_infer_window(in, &w))
    return false;
  memcpy(dims, x->dims, sizeof x->dims);
  for (uint32_t i = 0; i < w.spatial; i++) {
    GlowDim kernel = GLOW_EXACT(glow_array_at(m->kernels, uint32_t, i));
    if (!spread(in, &w, i, x->dims[2 + i], kernel, 0, &dims[2 + i]))
      return false;
  }
  return true;
}

/* The extents that OutputShape asks for, where it is known. */
static bool asked_dims(const GlowInfer *in, uint32_t rank, GlowDim *dims) {
  uint32_t count;
  const int64_t *shape = glow_infer_ints(in, GLOW_MAX_UNPOOL_IN_OUTPUT_SHAPE, &count);
  int64_t length = shape ? count : glow_infer_list_length(in, GLOW_MAX_UNPOOL_IN_OUTPUT_SHAPE);
  if (length >= 0 && length != rank)
    return glow_infer_error(in, "OutputShape has %lld extents, expected %u", (long long)length,
                            rank);
  for (uint32_t i = 0; i < rank; i++) {
    GlowDim least = dims[i];
    dims[i] = shape ? GLOW_EXACT(shape[i]) : GLOW_UNKNOWN;
    if (shape && (shape[i] < 0 || (least.kind == GLOW_DIM_EXACT && shape[i] < least.size)))
      return glow_infer_error(in, "OutputShape has extent %lld along axis %u, which takes %s",
                              (long long)shape[i], i, glow_dim_str(in->ctx, least));
  }
  return true;
}

bool glow_infer_max_unpool(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_MAX_UNPOOL_IN_X], *index = in->in[GLOW_MAX_UNPOOL_IN_INDICES];
  bool asked = glow_infer_in(in, GLOW_MAX_UNPOOL_IN_OUTPUT_SHAPE) != NULL;
  GlowDim dims[GLOW_MAX_RANK], same;
  if (x->unranked)
    return glow_infer_set_unknown(
        in, 0, x, asked ? glow_infer_list_length(in, GLOW_MAX_UNPOOL_IN_OUTPUT_SHAPE) : -1);
  if (x->rank < 3)
    return glow_infer_error(in, "X must have rank 3 at least, but has type %s",
                            glow_type_str(in->ctx, x));
  bool fits = index->unranked || index->rank == x->rank;
  for (uint32_t i = 0; fits && !index->unranked && i < x->rank; i++)
    fits = glow_dim_meet(x->dims[i], index->dims[i], &same);
  if (!fits)
    return glow_infer_error(in, "Indices must have the shape of X, but are %s and %s",
                            glow_type_str(in->ctx, index), glow_type_str(in->ctx, x));
  if (!implied_dims(in, x, dims) || (asked && !asked_dims(in, x->rank, dims)))
    return false;
  return glow_infer_set(in, 0, x, x->rank, dims);
}

/* ---- Col2Im ---------------------------------------------------------------------------------- */

/* Elements of a block, and how many blocks the image holds. */
static bool count_blocks(const GlowInfer *in, const int64_t *image, const int64_t *block,
                         uint32_t spatial, GlowDim *taps, GlowDim *blocks) {
  const GlowCol2ImMembers *m = in->members;
  Window w = {
      .spatial = spatial, .strides = m->strides, .pads = m->pads, .dilations = m->dilations};
  *taps = *blocks = GLOW_EXACT(1);
  if (!glow_infer_window(in, &w))
    return false;
  for (uint32_t i = 0; i < spatial; i++) {
    GlowDim count = GLOW_UNKNOWN;
    if (image && (image[i] < 0 || image[i] > GLOW_MAX_ELEMENTS))
      return glow_infer_error(in, "ImageShape has extent %lld", (long long)image[i]);
    if (block && (block[i] < 1 || block[i] > GLOW_MAX_ELEMENTS))
      return glow_infer_error(in, "BlockShape has extent %lld", (long long)block[i]);
    if (image && block &&
        !glow_infer_slide(in, &w, i, GLOW_EXACT(image[i]), GLOW_EXACT(block[i]), &count))
      return false;
    *taps = glow_dim_mul(*taps, block ? GLOW_EXACT(block[i]) : GLOW_UNKNOWN);
    *blocks = glow_dim_mul(*blocks, count);
  }
  return true;
}

/* The channels of X [batch, channels * taps, blocks]. */
static bool image_channels(const GlowInfer *in, const GlowType *x, GlowDim taps, GlowDim blocks,
                           GlowDim *channels) {
  GlowDim rows = x->dims[1], same;
  *channels = GLOW_UNKNOWN;
  if (!glow_dim_meet(x->dims[2], blocks, &same))
    return glow_infer_error(in, "X has %s blocks, but the image %s",
                            glow_dim_str(in->ctx, x->dims[2]), glow_dim_str(in->ctx, blocks));
  if (rows.kind != GLOW_DIM_EXACT || taps.kind != GLOW_DIM_EXACT)
    return true;
  if (rows.size % taps.size)
    return glow_infer_error(in, "X has %lld rows, which blocks of %lld elements do not divide",
                            (long long)rows.size, (long long)taps.size);
  *channels = GLOW_EXACT(rows.size / taps.size);
  return true;
}

bool glow_infer_col2_im(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_COL2_IM_IN_X];
  uint32_t images, blocks_rank;
  const int64_t *image = glow_infer_ints(in, GLOW_COL2_IM_IN_IMAGE_SHAPE, &images);
  const int64_t *block = glow_infer_ints(in, GLOW_COL2_IM_IN_BLOCK_SHAPE, &blocks_rank);
  int64_t spatial = image ? images : glow_infer_list_length(in, GLOW_COL2_IM_IN_IMAGE_SHAPE);
  int64_t other = block ? blocks_rank : glow_infer_list_length(in, GLOW_COL2_IM_IN_BLOCK_SHAPE);
  GlowDim dims[GLOW_MAX_RANK], taps, blocks;
  if (spatial >= 0 && other >= 0 && spatial != other)
    return glow_infer_error(in, "ImageShape has %lld extents, but BlockShape %lld",
                            (long long)spatial, (long long)other);
  spatial = spatial < 0 ? other : spatial;
  if (spatial == 0 || spatial > GLOW_MAX_RANK - 2)
    return glow_infer_error(in, "an image of %lld axes", (long long)spatial);
  if (!x->unranked && x->rank != 3)
    return glow_infer_error(in, "X must have rank 3, but has type %s", glow_type_str(in->ctx, x));
  if (spatial < 0 || x->unranked)
    return glow_infer_set_unknown(in, 0, x, spatial < 0 ? -1 : spatial + 2);
  dims[0] = x->dims[0];
  for (uint32_t i = 0; i < (uint32_t)spatial; i++)
    dims[2 + i] = image ? GLOW_EXACT(image[i]) : GLOW_UNKNOWN;
  return count_blocks(in, image, block, (uint32_t)spatial, &taps, &blocks) &&
         image_channels(in, x, taps, blocks, &dims[1]) &&
         glow_infer_set(in, 0, x, (uint32_t)spatial + 2, dims);
}
