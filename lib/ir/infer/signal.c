/* Inference of transforms, windows and filter banks. Definitions as ONNX's DFT 20, STFT 17 and
 * MelWeightMatrix 17. */
#include "ir/infer/hooks.h"

/* The value of scalar operand i, or -1 if it is not known. False if it is below `least`. */
static bool read_count(const GlowInfer *in, uint32_t i, int64_t least, int64_t *value) {
  uint32_t count;
  const int64_t *known = glow_infer_in(in, i) ? glow_infer_ints(in, i, &count) : NULL;
  *value = known && count == 1 ? known[0] : -1;
  if (!glow_infer_one_element(in, i))
    return false;
  if (!known || *value >= least)
    return true;
  return glow_infer_error(in, "%s is %lld", in->desc->in[i].name, (long long)*value);
}

static bool check_pairs(const GlowInfer *in, GlowDim last, bool real, bool complex) {
  bool bad =
      last.kind == GLOW_DIM_EXACT && !(real && last.size == 1) && !(complex && last.size == 2);
  return !bad || glow_infer_error(in, "the last axis of X has extent %lld, expected %s",
                                  (long long)last.size,
                                  !complex ? "1"
                                  : !real  ? "2"
                                           : "1 or 2");
}

/* How many results a transform of `length` has. */
static GlowDim bins(int64_t length, bool half) {
  return length < 0 ? GLOW_UNKNOWN : GLOW_EXACT(half ? length / 2 + 1 : length);
}

bool glow_infer_dft(GlowInfer *in) {
  const GlowDFTMembers *m = in->members;
  const GlowType *x = in->in[GLOW_DFT_IN_X];
  bool back = m->inverse && m->onesided;
  int64_t length;
  uint32_t axis;
  if (!read_count(in, GLOW_DFT_IN_LENGTH, 1, &length))
    return false;
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, -1);
  if (!glow_infer_axis(in, m->axis, x->rank, &axis))
    return false;
  if (axis + 1 == x->rank)
    return glow_infer_error(in, "the last axis holds the parts of complex numbers");
  GlowDim dims[GLOW_MAX_RANK], extent = x->dims[axis];
  if (!check_pairs(in, x->dims[x->rank - 1], !back, !m->onesided || m->inverse))
    return false;
  if (!glow_infer_in(in, GLOW_DFT_IN_LENGTH) && extent.kind == GLOW_DIM_EXACT) {
    length = back ? 2 * (extent.size - 1) : extent.size;
    if (length < 1)
      return glow_infer_error(in, "axis %u has extent %lld", axis, (long long)extent.size);
  }
  memcpy(dims, x->dims, sizeof dims);
  dims[axis] = bins(length, m->onesided && !m->inverse);
  dims[x->rank - 1] = GLOW_EXACT(back ? 1 : 2);
  return glow_infer_set(in, 0, x, x->rank, dims);
}

/* The length of a frame: what Length or Window says, or the whole signal. -1: not known. */
static bool frame_length(const GlowInfer *in, GlowDim samples, int64_t *length) {
  const GlowType *window = glow_infer_in(in, GLOW_STFT_IN_WINDOW);
  bool given = glow_infer_in(in, GLOW_STFT_IN_LENGTH) != NULL;
  GlowDim d = window && !window->unranked && window->rank == 1 ? window->dims[0] : GLOW_UNKNOWN;
  if (!read_count(in, GLOW_STFT_IN_LENGTH, 1, length))
    return false;
  if (window && !window->unranked && window->rank != 1)
    return glow_infer_error(in, "Window must have rank 1, but has type %s",
                            glow_type_str(in->ctx, window));
  if (!window && !given)
    d = samples;
  if (d.kind != GLOW_DIM_EXACT)
    return true;
  if (*length >= 0 && *length != d.size)
    return glow_infer_error(in, "Length is %lld, but Window has %lld values", (long long)*length,
                            (long long)d.size);
  *length = d.size;
  return *length > 0 || glow_infer_error(in, "a frame is empty");
}

bool glow_infer_stft(GlowInfer *in) {
  const GlowSTFTMembers *m = in->members;
  const GlowType *x = in->in[GLOW_STFT_IN_X];
  int64_t step, length;
  if (!read_count(in, GLOW_STFT_IN_STEP, 1, &step))
    return false;
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, 4);
  if (x->rank != 3)
    return glow_infer_error(in, "X must have rank 3, but has type %s", glow_type_str(in->ctx, x));
  GlowDim samples = x->dims[1], frames = GLOW_UNKNOWN;
  if (!check_pairs(in, x->dims[2], true, !m->onesided) || !frame_length(in, samples, &length))
    return false;
  if (length >= 0 && glow_dim_has_size(samples) && length > samples.size)
    return glow_infer_error(in, "a frame has %lld samples, but X has %s", (long long)length,
                            glow_dim_str(in->ctx, samples));
  if (length >= 0 && step > 0 && samples.kind == GLOW_DIM_EXACT)
    frames = GLOW_EXACT((samples.size - length) / step + 1);
  GlowDim dims[4] = {x->dims[0], frames, bins(length, m->onesided), GLOW_EXACT(2)};
  return glow_infer_set(in, 0, x, 4, dims);
}

static bool check_number(const GlowInfer *in, GlowKind kind) {
  return glow_kind_is_integer(kind) || glow_kind_is_float(kind) ||
         glow_infer_error(in, "no numbers of kind %s", glow_kind_info[kind].name);
}

bool glow_infer_cosine_window(GlowInfer *in) {
  const GlowCosineWindowMembers *m = in->members;
  int64_t size;
  if (!read_count(in, GLOW_COSINE_WINDOW_IN_SIZE, 0, &size) || !check_number(in, m->kind))
    return false;
  GlowDim dim = bins(size, false);
  return glow_infer_set(in, 0, glow_type_scalar(in->ctx, m->kind), 1, &dim);
}

/* An edge must be one number; -1 if it is not known. */
static bool read_edge(const GlowInfer *in, uint32_t i, double *value) {
  const GlowTensor *t = glow_infer_known(in, i);
  *value = t && glow_tensor_elements(t) == 1 ? glow_tensor_get_double(t, 0) : -1;
  if (!glow_infer_one_element(in, i))
    return false;
  return !t || *value >= 0 || glow_infer_error(in, "%s is %g", in->desc->in[i].name, *value);
}

bool glow_infer_mel_weight_matrix(GlowInfer *in) {
  const GlowMelWeightMatrixMembers *m = in->members;
  int64_t filters, length, rate;
  double low, high;
  if (!read_count(in, GLOW_MEL_WEIGHT_MATRIX_IN_FILTERS, 0, &filters) ||
      !read_count(in, GLOW_MEL_WEIGHT_MATRIX_IN_LENGTH, 0, &length) ||
      !read_count(in, GLOW_MEL_WEIGHT_MATRIX_IN_RATE, 1, &rate) ||
      !read_edge(in, GLOW_MEL_WEIGHT_MATRIX_IN_LOW, &low) ||
      !read_edge(in, GLOW_MEL_WEIGHT_MATRIX_IN_HIGH, &high) || !check_number(in, m->kind))
    return false;
  if (low >= 0 && high >= 0 && low > high)
    return glow_infer_error(in, "Low is %g, above High, %g", low, high);
  GlowDim dims[2] = {bins(length, true), bins(filters, false)};
  return glow_infer_set(in, 0, glow_type_scalar(in->ctx, m->kind), 2, dims);
}
