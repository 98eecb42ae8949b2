/* Reading where indices say: GatherElements, GatherND, ReverseSequence. Indices are checked as they
 * are read. */
#include "kernels/ref/ref.h"

GlowRunError glow_kernel_gather_elements(GlowCall *call) {
  const GlowGatherElementsMembers *m = call->members;
  const GlowBuf *in = &call->in[0], *which = &call->in[1], *out = &call->out[0];
  uint32_t axis = glow_ref_axis(m->axis, in->rank);
  int64_t index[GLOW_MAX_RANK] = {0};
  for (int64_t i = 0, n = glow_buf_elements(out); i < n; i++) {
    int64_t at = glow_ref_index(call, which, i, in->dims[axis]), from = 0;
    if (at < 0)
      return GLOW_RUN_INDEX;
    for (uint32_t a = 0; a < in->rank; a++)
      from += (a == axis ? at : index[a]) * in->strides[a];
    glow_ref_move(out, i, in, from, 1, 1);
    glow_next_index(out->rank, out->dims, index);
  }
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_gather_nd(GlowCall *call) {
  const GlowGatherNDMembers *m = call->members;
  const GlowBuf *in = &call->in[0], *which = &call->in[1], *out = &call->out[0];
  uint32_t first = m->batch_dims, outer = which->rank - 1;
  int64_t length = which->dims[outer];
  int64_t slice = glow_ref_extent(in, first + (uint32_t)length, in->rank);
  int64_t vectors = glow_ref_extent(which, first, outer);
  int64_t batch = glow_ref_extent(in, first, in->rank);
  for (int64_t i = 0, n = glow_ref_extent(which, 0, outer); i < n; i++) {
    int64_t from = i / vectors * batch;
    for (int64_t k = 0; k < length; k++) {
      uint32_t a = first + (uint32_t)k;
      int64_t at = glow_ref_index(call, which, i * length + k, in->dims[a]);
      if (at < 0)
        return GLOW_RUN_INDEX;
      from += at * in->strides[a];
    }
    glow_ref_move(out, i * slice, in, from, slice, 1);
  }
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_reverse_sequence(GlowCall *call) {
  const GlowReverseSequenceMembers *m = call->members;
  const GlowBuf *in = &call->in[0], *lengths = &call->in[1], *out = &call->out[0];
  uint32_t batch = glow_ref_axis(m->batch_axis, in->rank);
  uint32_t time = glow_ref_axis(m->time_axis, in->rank);
  GlowBoxCopy c = glow_box_of(out, in, in);
  c.dims[batch] = c.dims[time] = 1;
  for (int64_t b = 0; b < in->dims[batch]; b++) {
    int64_t length = glow_ref_int(lengths, b);
    if (length < 0 || length > in->dims[time]) {
      call->detail = length;
      return GLOW_RUN_INDEX;
    }
    for (int64_t t = 0; t < in->dims[time]; t++) {
      int64_t from = t < length ? length - 1 - t : t;
      c.dst_offset = b * out->strides[batch] + t * out->strides[time];
      c.src_offset = b * in->strides[batch] + from * in->strides[time];
      glow_box_copy(&c);
    }
  }
  return GLOW_RUN_OK;
}
