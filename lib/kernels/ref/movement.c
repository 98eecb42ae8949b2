/* Operators that move elements without computing: boxes copied from one place to another. */
#include "kernels/ref/ref.h"

GlowRunError glow_kernel_identity(GlowCall *call) {
  glow_ref_copy_all(&call->out[0], &call->in[0]);
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_barrier(GlowCall *call) { return glow_kernel_identity(call); }

/* Of bool, bytes other than 0 become 1: other bytes are no values. */
GlowRunError glow_kernel_bit_cast(GlowCall *call) {
  const GlowBuf *out = &call->out[0];
  uint8_t *p = out->data;
  int64_t dims[GLOW_MAX_PHYSICAL], strides[GLOW_MAX_PHYSICAL], n = 1;
  glow_ref_copy_all(&call->out[0], &call->in[0]);
  for (uint32_t a = glow_ref_physical(out, dims, strides); a-- > 0;)
    n *= dims[a];
  for (int64_t i = 0; out->kind == GLOW_KIND_BOOL && i < n; i++)
    p[i] = p[i] != 0;
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_reshape(GlowCall *call) {
  if (glow_buf_elements(&call->in[0]) != glow_buf_elements(&call->out[0])) {
    call->detail = glow_buf_elements(&call->out[0]);
    return GLOW_RUN_SHAPE;
  }
  glow_ref_copy_all(&call->out[0], &call->in[0]);
  return GLOW_RUN_OK;
}

/* Same logical extents, strided on both sides; blocks where both have the same ones. */
GlowRunError glow_kernel_copy(GlowCall *call) {
  const GlowBuf *in = &call->in[0];
  GlowBuf *out = &call->out[0];
  GlowBoxCopy c = {.dst = out->data, .src = in->data, .bits = glow_ref_bits(in->kind)};
  c.rank = glow_ref_physical(in, c.dims, c.src_strides);
  glow_ref_physical(out, c.dims, c.dst_strides);
  glow_box_copy(&c);
  return GLOW_RUN_OK;
}

/* Moves a box between buffers in any layout; `step` NULL is 1 along all axes. Padding lanes stay.
 * Goes element by element where a block is cut, or where the blocks of both sides differ. */
static void move_box(const GlowBuf *out, const int64_t *out_at, const GlowBuf *in,
                     const int64_t *in_at, const int64_t *step, const int64_t *dims) {
  GlowBoxCopy c = {.dst = out->data, .src = in->data, .bits = glow_ref_bits(in->kind)};
  int64_t index[GLOW_MAX_RANK] = {0};
  bool whole = true;
  for (uint32_t a = 0; a < out->rank; a++) {
    whole = whole && (!step || step[a] == 1);
    if (dims[a] == 0)
      return;
  }
  if (whole && glow_ref_copy_blocks(out, out_at, in, in_at, dims))
    return;
  do {
    c.dst_offset = c.src_offset = 0;
    for (uint32_t a = 0; a < out->rank; a++) {
      c.dst_offset += glow_axis_offset(out, a, out_at[a] + index[a]);
      c.src_offset += glow_axis_offset(in, a, in_at[a] + index[a] * (step ? step[a] : 1));
    }
    glow_box_copy(&c);
  } while (glow_next_index(out->rank, dims, index));
}

GlowRunError glow_kernel_relayout(GlowCall *call) {
  const GlowBuf *in = &call->in[0];
  GlowBuf *out = &call->out[0];
  int64_t start[GLOW_MAX_RANK] = {0};
  glow_ref_clear_padding(out);
  move_box(out, start, in, start, NULL, out->dims);
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_transpose(GlowCall *call) {
  const GlowTransposeMembers *m = call->members;
  const GlowBuf *in = &call->in[0], *out = &call->out[0];
  GlowBoxCopy c = glow_box_of(out, in, out);
  for (uint32_t a = 0; a < out->rank; a++) {
    uint32_t from = m->perm.count ? glow_array_at(m->perm, uint32_t, a) : out->rank - 1 - a;
    c.src_strides[a] = in->strides[from];
  }
  glow_box_copy(&c);
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_concat(GlowCall *call) {
  const GlowConcatMembers *m = call->members;
  GlowBuf *out = &call->out[0];
  uint32_t axis = glow_ref_axis(m->axis, out->rank);
  int64_t at[GLOW_MAX_RANK] = {0}, start[GLOW_MAX_RANK] = {0};
  glow_ref_clear_padding(out);
  for (uint32_t i = 0; i < call->nin; i++) {
    const GlowBuf *in = &call->in[i];
    move_box(out, at, in, start, NULL, in->dims);
    at[axis] += in->dims[axis];
  }
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_split(GlowCall *call) {
  const GlowSplitMembers *m = call->members;
  const GlowBuf *in = &call->in[0];
  uint32_t axis = glow_ref_axis(m->axis, in->rank);
  int64_t at[GLOW_MAX_RANK] = {0}, start[GLOW_MAX_RANK] = {0};
  for (uint32_t i = 0; i < call->nout; i++) {
    GlowBuf *out = &call->out[i];
    if (!glow_buf_present(out))
      continue;
    glow_ref_clear_padding(out);
    move_box(out, start, in, at, NULL, out->dims);
    at[axis] += out->dims[axis];
  }
  return GLOW_RUN_OK;
}

/* The axis that entry i of an optional list of axes names; without a list, axis i. */
static uint32_t listed_axis(const GlowBuf *axes, int64_t i, uint32_t rank) {
  return glow_buf_present(axes) ? glow_ref_axis(glow_ref_int(axes, i), rank) : (uint32_t)i;
}

GlowRunError glow_kernel_slice(GlowCall *call) {
  const GlowBuf *in = &call->in[0], *starts = &call->in[1], *axes = &call->in[3];
  const GlowBuf *steps = &call->in[4];
  GlowBuf *out = &call->out[0];
  int64_t first[GLOW_MAX_RANK] = {0}, step[GLOW_MAX_RANK], start[GLOW_MAX_RANK] = {0};
  if (glow_buf_elements(out) == 0)
    return GLOW_RUN_OK;
  for (uint32_t a = 0; a < in->rank; a++)
    step[a] = 1;
  for (int64_t i = 0; i < glow_buf_elements(starts); i++) {
    uint32_t a = listed_axis(axes, i, in->rank);
    int64_t at = glow_ref_int(starts, i), n = in->dims[a];
    step[a] = glow_buf_present(steps) ? glow_ref_int(steps, i) : 1;
    at = at < 0 ? at + n : at;
    at = at < 0 ? 0 : at > n ? n : at;
    first[a] = step[a] < 0 && at > n - 1 ? n - 1 : at;
  }
  glow_ref_clear_padding(out);
  if (in->nblocks || out->nblocks) {
    move_box(out, start, in, first, step, out->dims);
    return GLOW_RUN_OK;
  }
  GlowBoxCopy c = glow_box_of(out, in, out);
  for (uint32_t a = 0; a < in->rank; a++) {
    c.src_offset += first[a] * in->strides[a];
    c.src_strides[a] = step[a] * in->strides[a];
  }
  glow_box_copy(&c);
  return GLOW_RUN_OK;
}

/* The index in [0, n) of the element that a mode puts at place i, which is outside of [0, n). */
static int64_t reflected(int64_t i, int64_t n, int mode) {
  if (mode == GLOW_PAD_MODE_EDGE)
    return i < 0 ? 0 : n - 1;
  int64_t period = mode == GLOW_PAD_MODE_WRAP ? n : 2 * (n - 1);
  if (period == 0)
    return 0;
  i = i % period < 0 ? i % period + period : i % period;
  return i < n ? i : period - i;
}

/* Modes other than constant, one element after the other. */
static void pad_mapped(const GlowBuf *out, const GlowBuf *in, const int64_t *begin, int mode) {
  GlowBoxCopy c = {.dst = out->data, .src = in->data, .bits = glow_ref_bits(in->kind)};
  int64_t index[GLOW_MAX_RANK] = {0};
  do {
    c.src_offset = 0;
    for (uint32_t a = 0; a < out->rank; a++) {
      int64_t i = index[a] - begin[a];
      i = i < 0 || i >= in->dims[a] ? reflected(i, in->dims[a], mode) : i;
      c.src_offset += glow_axis_offset(in, a, i);
    }
    c.dst_offset = glow_index_offset(out, index);
    glow_box_copy(&c);
  } while (glow_next_index(out->rank, out->dims, index));
}

/* One value everywhere, then the input over it. */
static void pad_filled(GlowBuf *out, const GlowBuf *in, const int64_t *begin, const void *value) {
  GlowBoxCopy fill = {.dst = out->data, .src = value, .bits = glow_ref_bits(out->kind)};
  fill.rank = glow_ref_physical(out, fill.dims, fill.dst_strides);
  glow_box_copy(&fill);
  int64_t to[GLOW_MAX_RANK], from[GLOW_MAX_RANK], dims[GLOW_MAX_RANK];
  for (uint32_t a = 0; a < in->rank; a++) {
    int64_t last = out->dims[a] - begin[a];
    from[a] = begin[a] < 0 ? -begin[a] : 0;
    to[a] = from[a] + begin[a];
    last = last < in->dims[a] ? last : in->dims[a];
    dims[a] = last > from[a] ? last - from[a] : 0;
  }
  move_box(out, to, in, from, NULL, dims);
}

GlowRunError glow_kernel_pad(GlowCall *call) {
  static const uint64_t zero[2] = {0, 0};
  const GlowPadMembers *m = call->members;
  const GlowBuf *in = &call->in[0], *pads = &call->in[1], *axes = &call->in[3];
  GlowBuf *out = &call->out[0];
  int64_t begin[GLOW_MAX_RANK] = {0}, n = glow_buf_elements(pads) / 2;
  for (int64_t i = 0; i < n; i++)
    begin[listed_axis(axes, i, in->rank)] = glow_ref_int(pads, i);
  if (glow_buf_elements(out) == 0)
    return GLOW_RUN_OK;
  if (m->mode != GLOW_PAD_MODE_CONSTANT && glow_buf_elements(in) == 0)
    return GLOW_RUN_SHAPE;
  if (m->mode == GLOW_PAD_MODE_CONSTANT)
    pad_filled(out, in, begin, glow_buf_present(&call->in[2]) ? call->in[2].data : zero);
  else
    pad_mapped(out, in, begin, m->mode);
  glow_ref_clear_padding(out);
  return GLOW_RUN_OK;
}

/* Fills the halo axis by axis. A box for axis a spans the whole extent of the axes before a, whose
 * halo is there already, and the inside of the axes behind a. */
GlowRunError glow_kernel_halo(GlowCall *call) {
  static const uint64_t zero[2] = {0, 0};
  const GlowHaloMembers *m = call->members;
  const GlowBuf *value = &call->in[0];
  GlowBuf *out = &call->out[0];
  GlowBoxCopy c = {.dst = out->data, .bits = glow_ref_bits(out->kind)};
  int64_t strides[GLOW_MAX_PHYSICAL], first[GLOW_MAX_PHYSICAL] = {0}, at = 0;
  bool mapped = m->mode != GLOW_PAD_MODE_CONSTANT;
  c.src = mapped ? out->data : glow_buf_present(value) ? value->data : zero;
  c.rank = glow_ref_physical(out, c.dims, strides);
  for (uint32_t a = 0; a < c.rank; a++) {
    c.dst_strides[a] = strides[a];
    c.src_strides[a] = mapped ? strides[a] : 0;
  }
  for (uint32_t a = 0; a < out->rank; a++) {
    first[a] = glow_listed(m->pads, a, 0);
    c.dims[a] -= first[a] + glow_listed(m->pads, out->rank + a, 0);
    at += first[a] * strides[a];
  }
  for (uint32_t a = 0; a < out->rank; a++) {
    int64_t inside = c.dims[a], whole = out->dims[a];
    at -= first[a] * strides[a];
    c.dims[a] = 1;
    for (int64_t i = 0; i < whole && inside < whole && !glow_axis_blocked(out, a); i++) {
      if (i == first[a] && (i += inside) >= whole)
        break;
      int64_t from = mapped ? first[a] + reflected(i - first[a], inside, m->mode) : 0;
      c.dst_offset = at + i * strides[a];
      c.src_offset = mapped ? at + from * strides[a] : 0;
      glow_box_copy(&c);
    }
    c.dims[a] = glow_axis_blocked(out, a) ? inside : whole;
  }
  glow_ref_clear_padding(out);
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_expand(GlowCall *call) {
  const GlowBuf *in = &call->in[0], *out = &call->out[0];
  GlowBoxCopy c = glow_box_of(out, in, out);
  uint32_t lead = out->rank - in->rank;
  for (uint32_t a = 0; a < out->rank; a++) {
    bool repeats = a < lead || in->dims[a - lead] == 1;
    c.src_strides[a] = repeats ? 0 : in->strides[a - lead];
  }
  glow_box_copy(&c);
  return GLOW_RUN_OK;
}

/* Each axis of the result is a pair of axes: the number of a copy, and the index in it. */
GlowRunError glow_kernel_tile(GlowCall *call) {
  const GlowBuf *in = &call->in[0], *out = &call->out[0];
  GlowBoxCopy c = glow_box_of(out, in, in);
  if (glow_buf_elements(out) == 0 || glow_buf_elements(in) == 0)
    return GLOW_RUN_OK;
  int64_t copies[GLOW_MAX_RANK], index[GLOW_MAX_RANK] = {0};
  for (uint32_t a = 0; a < in->rank; a++)
    copies[a] = out->dims[a] / in->dims[a];
  do {
    c.dst_offset = 0;
    for (uint32_t a = 0; a < in->rank; a++)
      c.dst_offset += index[a] * in->dims[a] * out->strides[a];
    glow_box_copy(&c);
  } while (glow_next_index(in->rank, copies, index));
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_gather(GlowCall *call) {
  const GlowGatherMembers *m = call->members;
  const GlowBuf *in = &call->in[0], *which = &call->in[1], *out = &call->out[0];
  uint32_t axis = glow_ref_axis(m->axis, in->rank);
  /* For each index, a box of all axes of X but `axis` is copied. In the result the axes of Indices
   * stand in the place of `axis`. */
  GlowBoxCopy c = {.dst = out->data, .src = in->data, .bits = glow_ref_bits(in->kind)};
  for (uint32_t a = 0; a < in->rank; a++)
    if (a != axis) {
      c.dims[c.rank] = in->dims[a];
      c.src_strides[c.rank] = in->strides[a];
      c.dst_strides[c.rank++] = out->strides[a < axis ? a : a - 1 + which->rank];
    }
  int64_t step = 1; /* stride in the result of the flattened axes of Indices */
  for (uint32_t a = axis + 1; a < in->rank; a++)
    step *= in->dims[a];
  for (int64_t i = 0, n = glow_buf_elements(which); i < n; i++) {
    int64_t at = glow_ref_index(call, which, i, in->dims[axis]);
    if (at < 0)
      return GLOW_RUN_INDEX;
    c.src_offset = at * in->strides[axis];
    c.dst_offset = i * step;
    glow_box_copy(&c);
  }
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_append(GlowCall *call) {
  const GlowBuf *in = &call->in[0];
  GlowBuf *out = &call->out[0];
  int64_t at = glow_ref_int(&call->in[1], 0);
  if (at < 0 || at >= out->dims[0]) {
    call->detail = at;
    return GLOW_RUN_TRIP;
  }
  GlowBoxCopy c = glow_box_of(out, in, in);
  for (uint32_t a = 0; a < in->rank; a++)
    c.dst_strides[a] = out->strides[a + 1];
  c.dst_offset = at * out->strides[0];
  glow_box_copy(&c);
  return GLOW_RUN_OK;
}

/* Row r of each matrix keeps the columns from r + k on, or those up to it. */
GlowRunError glow_kernel_trilu(GlowCall *call) {
  const GlowTriluMembers *m = call->members;
  static const uint64_t zero[2] = {0, 0};
  const GlowBuf *in = &call->in[0], *out = &call->out[0], *which = &call->in[1];
  int64_t rows = in->dims[in->rank - 2], columns = in->dims[in->rank - 1];
  int64_t k = glow_buf_present(which) ? glow_ref_int(which, 0) : 0;
  k = k < -rows ? -rows : k > columns ? columns : k;
  const GlowBuf zeros = {.data = (void *)(uintptr_t)zero, .kind = in->kind};
  for (int64_t i = 0, n = glow_ref_extent(in, 0, in->rank - 1); i < n; i++) {
    int64_t at = i * columns, split = i % rows + k + (m->upper ? 0 : 1);
    split = split < 0 ? 0 : split > columns ? columns : split;
    int64_t kept = m->upper ? split : 0, first = m->upper ? 0 : split;
    glow_ref_move(out, at + kept, in, at + kept, m->upper ? columns - split : split, 1);
    glow_ref_move(out, at + first, &zeros, 0, m->upper ? split : columns - split, 0);
  }
  return GLOW_RUN_OK;
}
