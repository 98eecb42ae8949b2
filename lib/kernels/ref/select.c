/* Selection: ArgMax, TopK, NonZero, Compress. Equal keys keep the order of their indices. */
#include "kernels/ref/order.h"

GlowRunError glow_kernel_arg_max(GlowCall *call) {
  const GlowArgMaxMembers *m = call->members;
  const GlowBuf *x = &call->in[0];
  uint32_t axis = glow_ref_axis(m->axis, x->rank);
  GlowLines l = glow_lines_of(x, axis);
  int64_t to = 0;
  if (glow_buf_elements(&call->out[0]) == 0)
    return GLOW_RUN_OK;
  if (x->rank && x->dims[axis] == 0)
    return GLOW_RUN_SHAPE;
  do {
    int64_t at = glow_index_offset(x, l.index), best = 0, n = x->rank ? x->dims[axis] : 1;
    uint64_t top = 0, key;
    for (int64_t i = 0; i < n; i++) {
      glow_load_keys(x, at + (x->rank ? i * x->strides[axis] : 0), 1, 1, &key);
      if (i == 0 || key > top || (m->last && key == top)) {
        top = key;
        best = i;
      }
    }
    glow_store_int(&call->out[0], to++, 1, 1, &best);
  } while (glow_next_index(x->rank, l.dims, l.index));
  return GLOW_RUN_OK;
}

/* ---- TopK ------------------------------------------------------------------------------------ */

static bool key_follows(const void *keys, int64_t i, int64_t j) {
  return ((const uint64_t *)keys)[i] < ((const uint64_t *)keys)[j];
}

size_t glow_scratch_top_k(const GlowCall *call) {
  const GlowTopKMembers *m = call->members;
  const GlowBuf *x = &call->in[0];
  size_t n = x->rank ? (size_t)x->dims[glow_ref_axis(m->axis, x->rank)] : 1;
  return 3 * n * sizeof(uint64_t);
}

GlowRunError glow_kernel_top_k(GlowCall *call) {
  const GlowTopKMembers *m = call->members;
  const GlowBuf *x = &call->in[0];
  GlowBuf *values = &call->out[0], *indices = &call->out[1];
  uint32_t axis = glow_ref_axis(m->axis, x->rank);
  bool want_values = glow_buf_present(values);
  bool want_indices = call->nout > 1 && glow_buf_present(indices);
  const GlowBuf *shape = want_values ? values : indices;
  int64_t n = x->dims[axis], k = shape->dims[axis];
  if ((!want_values && !want_indices) || glow_buf_elements(shape) == 0)
    return GLOW_RUN_OK;
  if (k > n) {
    call->detail = k;
    return GLOW_RUN_INDEX;
  }
  uint64_t *keys = call->scratch;
  int64_t *order = (int64_t *)keys + n, *other = order + n;
  GlowLines l = glow_lines_of(x, axis);
  GlowBoxCopy one = {.dst = values->data, .src = x->data, .bits = glow_ref_bits(x->kind)};
  do {
    int64_t at = glow_index_offset(x, l.index), to = glow_index_offset(shape, l.index);
    glow_load_keys(x, at, x->strides[axis], n, keys);
    for (int64_t i = 0; i < n; i++) {
      keys[i] = m->largest ? keys[i] : ~keys[i];
      order[i] = i;
    }
    glow_sort_indices(order, other, n, key_follows, keys);
    for (int64_t i = 0; i < k; i++) {
      one.dst_offset = to + i * shape->strides[axis];
      one.src_offset = at + order[i] * x->strides[axis];
      if (want_values)
        glow_box_copy(&one);
      if (want_indices)
        glow_store_int(indices, one.dst_offset, 1, 1, &order[i]);
    }
  } while (glow_next_index(x->rank, l.dims, l.index));
  return GLOW_RUN_OK;
}

/* ---- NonZero and Compress -------------------------------------------------------------------- */

/* Whether an element is not zero. A string is zero if it is empty, a complex number if both parts
 * are. */
static bool is_nonzero(const GlowBuf *x, int64_t at) {
  if (x->kind == GLOW_KIND_STRING)
    return ((const GlowString *)x->data)[at].length != 0;
  if (x->kind == GLOW_KIND_COMPLEX64 || x->kind == GLOW_KIND_COMPLEX128) {
    GlowBuf part = *x;
    part.kind = x->kind == GLOW_KIND_COMPLEX64 ? GLOW_KIND_FLOAT : GLOW_KIND_DOUBLE;
    return is_nonzero(&part, 2 * at) || is_nonzero(&part, 2 * at + 1);
  }
  uint64_t key, zero = glow_ref_class(x) == GLOW_ROW_UINT ? 0 : UINT64_C(1) << 63;
  glow_load_keys(x, at, 1, 1, &key);
  return key != zero;
}

GlowRunError glow_kernel_non_zero(GlowCall *call) {
  const GlowBuf *x = &call->in[0];
  GlowBuf *y = &call->out[0];
  int64_t n = glow_buf_elements(x), count = 0, column = 0;
  for (int64_t i = 0; i < n; i++)
    count += is_nonzero(x, i);
  if (count > y->dims[1]) {
    call->detail = count;
    return GLOW_RUN_SHAPE;
  }
  y->dims[1] = count;
  int64_t index[GLOW_MAX_RANK] = {0};
  for (int64_t i = 0; i < n; i++, glow_next_index(x->rank, x->dims, index)) {
    if (!is_nonzero(x, i))
      continue;
    for (uint32_t a = 0; a < x->rank; a++)
      glow_store_int(y, a * count + column, 1, 1, &index[a]);
    column++;
  }
  return GLOW_RUN_OK;
}

GlowRunError glow_kernel_compress(GlowCall *call) {
  const GlowCompressMembers *m = call->members;
  const GlowBuf *x = &call->in[0], *cond = &call->in[1];
  GlowBuf *y = &call->out[0];
  uint32_t axis = m->flat ? 0 : glow_ref_axis(m->axis, x->rank);
  int64_t n = m->flat ? glow_buf_elements(x) : x->dims[axis], count = 0;
  int64_t given = glow_buf_elements(cond) < n ? glow_buf_elements(cond) : n;
  for (int64_t i = 0; i < given; i++)
    count += glow_ref_int(cond, i) != 0;
  if (count > y->dims[axis]) {
    call->detail = count;
    return GLOW_RUN_SHAPE;
  }
  y->dims[axis] = count;
  for (int64_t step = 1, a = (int64_t)y->rank; a-- > 0; step *= y->dims[a])
    y->strides[a] = step;
  GlowBoxCopy c = glow_box_of(y, x, m->flat ? y : x);
  c.dims[axis] = 1;
  int64_t stride = m->flat ? 1 : x->strides[axis];
  for (int64_t i = 0, k = 0; i < given; i++) {
    if (glow_ref_int(cond, i) == 0)
      continue;
    c.src_offset = i * stride;
    c.dst_offset = k++ * y->strides[axis];
    glow_box_copy(&c);
  }
  return GLOW_RUN_OK;
}
