/* Writing where indices say: ScatterElements, ScatterND, TensorScatter. The result begins as a copy
 * of X. Updates are applied in ascending order of their places in Indices; each combination is
 * rounded to the element kind, so that elements that are hit more than once are defined to the bit.
 */
#include "kernels/ref/ref.h"

enum { GLOW_SCATTER_ROW = 64 };

/* ---- Combining ------------------------------------------------------------------------------- */

/* out[to + i] = out[to + i] op in[from + i], for up to GLOW_SCATTER_ROW elements. */
#define COMBINE(NAME, T, LOAD, STORE, ADD, MUL, MAXIMUM, MINIMUM)                                  \
  static void combine_##NAME(int op, GlowBuf *out, int64_t to, const GlowBuf *in, int64_t from,    \
                             int64_t n) {                                                          \
    T x[GLOW_SCATTER_ROW], y[GLOW_SCATTER_ROW];                                                    \
    LOAD(out, to, 1, n, x);                                                                        \
    LOAD(in, from, 1, n, y);                                                                       \
    for (int64_t i = 0; i < n; i++)                                                                \
      x[i] = op == GLOW_SCATTER_REDUCTION_ADD   ? ADD(x[i], y[i])                                  \
             : op == GLOW_SCATTER_REDUCTION_MUL ? MUL(x[i], y[i])                                  \
             : op == GLOW_SCATTER_REDUCTION_MAX ? MAXIMUM(x[i], y[i])                              \
                                                : MINIMUM(x[i], y[i]);                             \
    STORE(out, to, 1, n, x);                                                                       \
  }
#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
static void load_uint(const GlowBuf *b, int64_t at, int64_t stride, int64_t n, uint64_t *out) {
  glow_load_int(b, at, stride, n, (int64_t *)out);
}
static void store_uint(GlowBuf *b, int64_t at, int64_t stride, int64_t n, const uint64_t *in) {
  glow_store_int(b, at, stride, n, (const int64_t *)in);
}
COMBINE(float, float, glow_load_float, glow_store_float, PLUS, TIMES, glow_max_f, glow_min_f)
COMBINE(double, double, glow_load_double, glow_store_double, PLUS, TIMES, glow_max_d, glow_min_d)
COMBINE(int, int64_t, glow_load_int, glow_store_int, PLUS, TIMES, glow_max_i64, glow_min_i64)
COMBINE(uint, uint64_t, load_uint, store_uint, PLUS, TIMES, glow_max_u64, glow_min_u64)

/* n neighbouring elements of `in` put at, or combined with, those of `out`. */
static void put(int op, GlowBuf *out, int64_t to, const GlowBuf *in, int64_t from, int64_t n) {
  if (op == GLOW_SCATTER_REDUCTION_NONE) {
    glow_ref_move(out, to, in, from, n, 1);
    return;
  }
  for (int64_t done = 0; done < n; done += GLOW_SCATTER_ROW) {
    int64_t m = n - done < GLOW_SCATTER_ROW ? n - done : GLOW_SCATTER_ROW;
    switch (glow_ref_class(out)) {
    case GLOW_ROW_FLOAT:
      combine_float(op, out, to + done, in, from + done, m);
      break;
    case GLOW_ROW_DOUBLE:
      combine_double(op, out, to + done, in, from + done, m);
      break;
    case GLOW_ROW_INT:
      combine_int(op, out, to + done, in, from + done, m);
      break;
    case GLOW_ROW_UINT:
      combine_uint(op, out, to + done, in, from + done, m);
      break;
    }
  }
}

/* ---- Kernels --------------------------------------------------------------------------------- */

GlowRunError glow_kernel_scatter_elements(GlowCall *call) {
  const GlowScatterElementsMembers *m = call->members;
  const GlowBuf *which = &call->in[1], *updates = &call->in[2];
  GlowBuf *out = &call->out[0];
  uint32_t axis = glow_ref_axis(m->axis, out->rank);
  int64_t index[GLOW_MAX_RANK] = {0};
  glow_ref_copy_all(out, &call->in[0]);
  for (int64_t i = 0, n = glow_buf_elements(which); i < n; i++) {
    int64_t at = glow_ref_index(call, which, i, out->dims[axis]), to = 0;
    if (at < 0)
      return GLOW_RUN_INDEX;
    for (uint32_t a = 0; a < out->rank; a++)
      to += (a == axis ? at : index[a]) * out->strides[a];
    put(m->reduction, out, to, updates, i, 1);
    glow_next_index(which->rank, which->dims, index);
  }
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_scatter_nd(GlowCall *call) {
  const GlowScatterNDMembers *m = call->members;
  const GlowBuf *which = &call->in[1], *updates = &call->in[2];
  GlowBuf *out = &call->out[0];
  int64_t length = which->dims[which->rank - 1];
  int64_t slice = glow_ref_extent(out, (uint32_t)length, out->rank);
  glow_ref_copy_all(out, &call->in[0]);
  for (int64_t i = 0, n = glow_ref_extent(which, 0, which->rank - 1); i < n; i++) {
    int64_t to = 0;
    for (uint32_t a = 0; a < length; a++) {
      int64_t at = glow_ref_index(call, which, i * length + a, out->dims[a]);
      if (at < 0)
        return GLOW_RUN_INDEX;
      to += at * out->strides[a];
    }
    put(m->reduction, out, to, updates, i * slice, slice);
  }
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_tensor_scatter(GlowCall *call) {
  const GlowTensorScatterMembers *m = call->members;
  const GlowBuf *update = &call->in[1], *starts = &call->in[2];
  GlowBuf *out = &call->out[0];
  uint32_t axis = glow_ref_axis(m->axis, out->rank);
  int64_t room = out->dims[axis], n = update->dims[axis];
  int64_t inner = glow_ref_extent(out, axis + 1, out->rank);
  int64_t lines = glow_ref_extent(out, 1, axis);
  glow_ref_copy_all(out, &call->in[0]);
  for (int64_t i = 0; n > 0 && i < out->dims[0] * lines; i++) {
    int64_t start = glow_buf_present(starts) ? glow_ref_int(starts, i / lines) : 0;
    if (m->mode == GLOW_WRITE_MODE_CIRCULAR) {
      start = start % room < 0 ? start % room + room : start % room;
    } else if (start < 0 || start > room - n) {
      call->detail = start;
      return GLOW_RUN_INDEX;
    }
    int64_t first = n < room - start ? n : room - start; /* up to the end; the rest from 0 on */
    glow_ref_move(out, (i * room + start) * inner, update, i * n * inner, first * inner, 1);
    glow_ref_move(out, i * room * inner, update, (i * n + first) * inner, (n - first) * inner, 1);
  }
  return GLOW_RUN_OK;
}
