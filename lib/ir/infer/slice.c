/* Inference of operators that take tensors apart or put them together along axes: Concat, Split,
 * Slice, Pad, Gather. Definitions as ONNX's. */
#include "ir/infer/hooks.h"
#include "tensor/form.h"

/* ---- Concat ---------------------------------------------------------------------------------- */

bool glow_infer_concat(GlowInfer *in) {
  const GlowConcatMembers *m = in->members;
  const GlowType *first = NULL;
  bool open = false; /* an input of unknown rank: the axis may have any extent */
  if (in->nin == 0)
    return glow_infer_error(in, "it needs an operand");
  for (uint32_t i = 0; i < in->nin; i++) {
    open |= in->in[i]->unranked;
    if (!first && !in->in[i]->unranked)
      first = in->in[i];
  }
  if (!first)
    return glow_infer_set_unknown(in, 0, in->in[0], -1);
  uint32_t axis;
  if (!glow_infer_axis(in, m->axis, first->rank, &axis))
    return false;
  GlowDim dims[GLOW_MAX_RANK], sum = GLOW_EXACT(0);
  memcpy(dims, first->dims, sizeof dims);
  for (uint32_t i = 0; i < in->nin; i++) {
    const GlowType *t = in->in[i];
    if (t->unranked)
      continue;
    if (t->rank != first->rank)
      return glow_infer_error(in, "operand %u has rank %u, not %u", i, t->rank, first->rank);
    sum = glow_dim_add(sum, t->dims[axis]);
    for (uint32_t k = 0; k < t->rank; k++)
      if (k != axis && !glow_dim_meet(dims[k], t->dims[k], &dims[k]))
        return glow_infer_error(in, "operand %u has extent %s along axis %u, not %s", i,
                                glow_dim_str(in->ctx, t->dims[k]), k,
                                glow_dim_str(in->ctx, first->dims[k]));
  }
  dims[axis] = open ? GLOW_UNKNOWN : sum;
  return glow_infer_set(in, 0, in->in[0], first->rank, dims);
}

/* ---- Split ----------------------------------------------------------------------------------- */

static bool check_sizes(const GlowInfer *in, const int64_t *sizes, uint32_t count, GlowDim whole) {
  int64_t sum = 0;
  if (count != in->nout)
    return glow_infer_error(in, "%u sizes for %u results", count, in->nout);
  for (uint32_t i = 0; i < count; i++)
    if (sizes[i] < 0 || __builtin_add_overflow(sum, sizes[i], &sum))
      return glow_infer_error(in, "size %u is %lld", i, (long long)sizes[i]);
  if ((whole.kind == GLOW_DIM_EXACT && sum != whole.size) ||
      (glow_dim_is_open(whole) && sum > whole.size))
    return glow_infer_error(in, "the sizes add up to %lld, the axis has extent %s", (long long)sum,
                            glow_dim_str(in->ctx, whole));
  return true;
}

/* The extent of piece i of `count` equal pieces; the last may be smaller (Split of version 18). */
static GlowDim equal_piece(GlowDim whole, uint32_t count, uint32_t i) {
  if (count == 1 || !glow_dim_has_size(whole))
    return count == 1 ? whole : GLOW_UNKNOWN;
  int64_t piece = whole.size / count + (whole.size % count != 0);
  if (glow_dim_is_open(whole)) /* the last piece is a quotient only if the others are */
    return whole.extent && whole.extent->step % count == 0 && whole.extent->least % count == 0
               ? glow_dim_affine(whole, 1, 0, count, 0, piece)
               : GLOW_BOUND(piece);
  int64_t left = whole.size - piece * (int64_t)i;
  return GLOW_EXACT(left < 0 ? 0 : left < piece ? left : piece);
}

bool glow_infer_split(GlowInfer *in) {
  const GlowSplitMembers *m = in->members;
  const GlowType *x = in->in[GLOW_SPLIT_IN_X];
  uint32_t axis, count;
  const int64_t *sizes = glow_infer_ints(in, GLOW_SPLIT_IN_SIZES, &count);
  if (x->unranked) {
    for (uint32_t i = 0; i < in->nout; i++)
      if (!glow_infer_set_unknown(in, i, x, -1))
        return false;
    return true;
  }
  if (!glow_infer_axis(in, m->axis, x->rank, &axis))
    return false;
  if (sizes && !check_sizes(in, sizes, count, x->dims[axis]))
    return false;
  for (uint32_t i = 0; i < in->nout; i++) {
    GlowDim dims[GLOW_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    if (sizes)
      dims[axis] = GLOW_EXACT(sizes[i]);
    else if (glow_infer_in(in, GLOW_SPLIT_IN_SIZES))
      dims[axis] = glow_dim_part(dims[axis]);
    else
      dims[axis] = equal_piece(dims[axis], in->nout, i);
    if (!glow_infer_set(in, i, x, x->rank, dims))
      return false;
  }
  return true;
}

/* ---- Slice ----------------------------------------------------------------------------------- */

/* How many elements from start to end (exclusive) by step, after ONNX's clamping. */
static int64_t slice_count(int64_t size, int64_t start, int64_t end, int64_t step) {
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  if (size == 0)
    return 0;
  start += start < 0 ? size : 0;
  end += end < 0 ? size : 0;
  start = start < 0 ? 0 : start > high ? high : start;
  end = end < low ? low : end > high ? high : end;
  int64_t span = step > 0 ? end - start : start - end;
  uint64_t by = step > 0 ? (uint64_t)step : (uint64_t)0 - (uint64_t)step;
  return span <= 0 ? 0 : (int64_t)((uint64_t)(span - 1) / by + 1);
}

/* Where a slice begins or ends: the end counts from d if it is negative; then it is limited to
 * low..d + high. */
static bool slice_end(GlowContext *ctx, const GlowForm *d, int64_t end, int64_t low, int64_t high,
                      GlowForm *f) {
  int64_t most = 2 * GLOW_MAX_ELEMENTS;
  GlowForm floor = glow_form_number(low), shift = glow_form_number(high), top;
  *f = glow_form_number(end < -most ? -most : end > most ? most : end);
  return (end >= 0 || glow_form_add(f, d, f)) && glow_form_add(d, &shift, &top) &&
         glow_form_min(ctx, f, &top, f) && glow_form_max(ctx, f, &floor, f);
}

/* The same for a symbol with a range. False if no form says it. */
static bool slice_symbol(GlowDim d, int64_t start, int64_t end, int64_t step, GlowDim *result) {
  GlowContext *ctx = d.extent->ctx;
  GlowForm size, from, to, none = {0};
  bool up = step > 0;
  if (step > GLOW_MAX_ELEMENTS || step < -GLOW_MAX_ELEMENTS)
    return false;
  GlowForm by = glow_form_number(up ? step : -step), more = glow_form_number(by.constant - 1);
  if (!glow_form_of(ctx, d, &size) || !slice_end(ctx, &size, start, 0, up ? 0 : -1, &from) ||
      !slice_end(ctx, &size, end, up ? 0 : -1, up ? 0 : -1, &to))
    return false;
  if (!(up ? glow_form_sub(&to, &from, &size) : glow_form_sub(&from, &to, &size)) ||
      !glow_form_max(ctx, &size, &none, &size) || !glow_form_add(&size, &more, &size) ||
      !glow_form_div(ctx, &size, &by, &size))
    return false;
  *result = glow_form_dim(ctx, &size, 0, d.size);
  return glow_dim_is_known(*result);
}

/* The same when the extent is not exact. */
static GlowDim slice_open(GlowDim d, int64_t start, int64_t end, int64_t step) {
  if (start == 0 && end == INT64_MAX && step == 1)
    return d;
  GlowDim most = glow_dim_part(d), defined;
  if (d.extent && d.extent->least > 0 && slice_symbol(d, start, end, step, &defined))
    return defined;
  int64_t limit = -1;
  if (step > 0 && start >= 0 && end >= 0)
    limit = end > start ? (int64_t)(((uint64_t)end - (uint64_t)start - 1) / (uint64_t)step + 1) : 0;
  else if (step > 0 && start < 0 && start > -GLOW_MAX_ELEMENTS && end >= 0)
    limit = (-start - 1) / step + 1;
  else if (step > 0 && start < 0 && end < 0)
    limit = end > start ? (int64_t)(((uint64_t)end - (uint64_t)start - 1) / (uint64_t)step + 1) : 0;
  if (limit < 0 || limit > GLOW_MAX_ELEMENTS)
    return most;
  return glow_dim_part(glow_dim_is_open(most) && most.size < limit ? most : GLOW_EXACT(limit));
}

typedef struct SliceLists {
  const int64_t *starts, *ends, *axes, *steps; /* NULL: not known, or absent */
  uint32_t count;
} SliceLists;

/* Reads one list and checks its length against the others'. */
static bool slice_list(const GlowInfer *in, uint32_t port, SliceLists *s, const int64_t **list) {
  uint32_t count;
  *list = glow_infer_ints(in, port, &count);
  int64_t length = *list ? count : glow_infer_list_length(in, port);
  if (length < 0 || !glow_infer_in(in, port))
    return true;
  if (s->count != UINT32_MAX && s->count != length)
    return glow_infer_error(in, "%s has %lld values, expected %u", in->desc->in[port].name,
                            (long long)length, s->count);
  s->count = (uint32_t)length;
  return true;
}

/* The result's extent along the axis that entry i of the lists names. */
static bool slice_axis(const GlowInfer *in, const SliceLists *s, uint32_t i, GlowDim *d) {
  bool has_steps = glow_infer_in(in, GLOW_SLICE_IN_STEPS) != NULL;
  if (!s->starts || !s->ends || (has_steps && !s->steps)) {
    *d = glow_dim_part(*d);
    return true;
  }
  int64_t step = has_steps ? s->steps[i] : 1;
  if (step == 0)
    return glow_infer_error(in, "step %u is 0", i);
  if (d->kind == GLOW_DIM_EXACT)
    *d = GLOW_EXACT(slice_count(d->size, s->starts[i], s->ends[i], step));
  else
    *d = slice_open(*d, s->starts[i], s->ends[i], step);
  return true;
}

bool glow_infer_slice(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_SLICE_IN_X];
  SliceLists s = {.count = UINT32_MAX};
  if (!slice_list(in, GLOW_SLICE_IN_STARTS, &s, &s.starts) ||
      !slice_list(in, GLOW_SLICE_IN_ENDS, &s, &s.ends) ||
      !slice_list(in, GLOW_SLICE_IN_AXES, &s, &s.axes) ||
      !slice_list(in, GLOW_SLICE_IN_STEPS, &s, &s.steps))
    return false;
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, -1);
  GlowDim dims[GLOW_MAX_RANK];
  bool has_axes = glow_infer_in(in, GLOW_SLICE_IN_AXES) != NULL;
  if ((has_axes && !s.axes) || s.count == UINT32_MAX) {
    for (uint32_t k = 0; k < x->rank; k++)
      dims[k] = glow_dim_part(x->dims[k]);
    return glow_infer_set(in, 0, x, x->rank, dims);
  }
  if (s.count > x->rank)
    return glow_infer_error(in, "%u axes are sliced, but X has %u", s.count, x->rank);
  memcpy(dims, x->dims, sizeof dims);
  uint32_t seen;
  if (has_axes && !glow_infer_axes(in, s.axes, s.count, x->rank, &seen))
    return false;
  for (uint32_t i = 0; i < s.count; i++) {
    uint32_t axis = i;
    if (has_axes && !glow_infer_axis(in, s.axes[i], x->rank, &axis))
      return false;
    if (!slice_axis(in, &s, i, &dims[axis]))
      return false;
  }
  return glow_infer_set(in, 0, x, x->rank, dims);
}

/* ---- Pad ------------------------------------------------------------------------------------- */

static bool pad_axis(const GlowInfer *in, uint32_t axis, int64_t begin, int64_t end, GlowDim *d) {
  const GlowPadMembers *m = in->members;
  int64_t size, added;
  if (__builtin_add_overflow(begin, end, &added))
    return glow_infer_error(in, "axis %u: the padding is too large", axis);
  if (begin == 0 && end == 0)
    return true;
  if (!glow_dim_has_size(*d)) {
    *d = GLOW_UNKNOWN;
    return true;
  }
  int64_t most = begin > end ? begin : end;
  int64_t room = m->mode == GLOW_PAD_MODE_REFLECT ? d->size - 1 : d->size > 0 ? INT64_MAX : 0;
  if (d->kind == GLOW_DIM_EXACT && m->mode != GLOW_PAD_MODE_CONSTANT && most > 0 && most > room)
    return glow_infer_error(in, "axis %u of extent %lld is too small for a padding of %lld", axis,
                            (long long)d->size, (long long)most);
  if (__builtin_add_overflow(d->size, added, &size))
    return glow_infer_error(in, "axis %u: the padding is too large", axis);
  if (size < 0 && d->kind == GLOW_DIM_EXACT)
    return glow_infer_error(in, "axis %u of extent %lld is cropped by %lld", axis,
                            (long long)d->size, (long long)-added);
  *d = glow_dim_affine(*d, 1, added, 1, 0, size < 0 ? 0 : size);
  return true;
}

bool glow_infer_pad(GlowInfer *in) {
  const GlowPadMembers *m = in->members;
  const GlowType *x = in->in[GLOW_PAD_IN_X];
  uint32_t npads, naxes = x->rank;
  const int64_t *pads = glow_infer_ints(in, GLOW_PAD_IN_PADS, &npads), *axes = NULL;
  bool has_axes = glow_infer_in(in, GLOW_PAD_IN_AXES) != NULL;
  const GlowType *value = glow_infer_in(in, GLOW_PAD_IN_VALUE);
  if (value && glow_type_is_static(value) && glow_type_elements(value) != 1)
    return glow_infer_error(in, "Value is %s, but has to be one element",
                            glow_type_str(in->ctx, value));
  if (x->quantized && !value && m->mode == GLOW_PAD_MODE_CONSTANT)
    return glow_infer_error(in, "X is quantized, so Value must say what stands around it");
  if (has_axes)
    axes = glow_infer_ints(in, GLOW_PAD_IN_AXES, &naxes);
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, has_axes || !pads ? -1 : (int64_t)npads / 2);
  int64_t length = pads ? npads : glow_infer_list_length(in, GLOW_PAD_IN_PADS);
  if (length >= 0 && (axes || !has_axes) && length != 2 * (int64_t)naxes)
    return glow_infer_error(in, "%lld pads for %u axes; two for each are needed", (long long)length,
                            naxes);
  if (has_axes ? !axes : !pads)
    return glow_infer_set_unknown(in, 0, x, x->rank);
  GlowDim dims[GLOW_MAX_RANK];
  memcpy(dims, x->dims, sizeof dims);
  uint32_t seen;
  if (has_axes && !glow_infer_axes(in, axes, naxes, x->rank, &seen))
    return false;
  for (uint32_t i = 0; i < naxes; i++) {
    uint32_t axis = i;
    if (has_axes && !glow_infer_axis(in, axes[i], x->rank, &axis))
      return false;
    if (!pads)
      dims[axis] = GLOW_UNKNOWN;
    else if (!pad_axis(in, axis, pads[i], pads[naxes + i], &dims[axis]))
      return false;
  }
  return glow_infer_set(in, 0, x, x->rank, dims);
}

/* ---- Gather ---------------------------------------------------------------------------------- */

bool glow_infer_gather(GlowInfer *in) {
  const GlowGatherMembers *m = in->members;
  const GlowType *x = in->in[GLOW_GATHER_IN_X], *indices = in->in[GLOW_GATHER_IN_INDICES];
  uint32_t axis;
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, -1);
  if (!glow_infer_axis(in, m->axis, x->rank, &axis))
    return false;
  if (indices->unranked)
    return glow_infer_set_unknown(in, 0, x, -1);
  GlowDim dims[2 * GLOW_MAX_RANK];
  memcpy(dims, x->dims, axis * sizeof *dims);
  memcpy(dims + axis, indices->dims, indices->rank * sizeof *dims);
  memcpy(dims + axis + indices->rank, x->dims + axis + 1, (x->rank - axis - 1) * sizeof *dims);
  return glow_infer_set(in, 0, x, x->rank + indices->rank - 1, dims);
}
