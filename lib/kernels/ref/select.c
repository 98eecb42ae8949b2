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

/* Elements that are looked at together. */
enum { CHUNK = 512 };

/* Where elements are not zero that are unsigned integers with `mask` of their bits: find_T writes
 * the places among n <= CHUNK elements. */
#define NONZERO(T)                                                                                 \
  static int64_t count_##T(const void *data, int64_t n, uint64_t mask) {                           \
    const T *x = data, bits = (T)mask;                                                             \
    int64_t count = 0;                                                                             \
    for (int64_t i = 0, m; i < n; i += m) {                                                        \
      T part = 0; /* of at most 128, so that it fits 8 bits */                                     \
      m = n - i < 128 ? n - i : 128;                                                               \
      for (int64_t j = 0; j < m; j++)                                                              \
        part = (T)(part + ((x[i + j] & bits) != 0));                                               \
      count += (int64_t)part;                                                                      \
    }                                                                                              \
    return count;                                                                                  \
  }                                                                                                \
  static int64_t find_##T(const void *data, int64_t n, uint64_t mask, int32_t *at) {               \
    const T *x = data, bits = (T)mask;                                                             \
    int64_t count = 0;                                                                             \
    for (int32_t i = 0; i < n; i++) {                                                              \
      at[count] = i;                                                                               \
      count += (x[i] & bits) != 0;                                                                 \
    }                                                                                              \
    return count;                                                                                  \
  }
NONZERO(uint8_t)
NONZERO(uint16_t)
NONZERO(uint32_t)
NONZERO(uint64_t)

/* The bits of an element that make it other than zero: all but the sign of a float. 0: it takes
 * more than bits. */
static uint64_t nonzero_mask(GlowKind kind) {
  switch (kind) {
  case GLOW_KIND_FLOAT16:
  case GLOW_KIND_BFLOAT16:
    return INT16_MAX;
  case GLOW_KIND_FLOAT:
    return INT32_MAX;
  case GLOW_KIND_DOUBLE:
    return INT64_MAX;
  case GLOW_KIND_BOOL:
  case GLOW_KIND_I8:
  case GLOW_KIND_U8:
  case GLOW_KIND_I16:
  case GLOW_KIND_U16:
  case GLOW_KIND_I32:
  case GLOW_KIND_U32:
  case GLOW_KIND_I64:
  case GLOW_KIND_U64:
    return UINT64_MAX;
  default:
    return 0;
  }
}

/* How many of the n elements from `begin` on are not zero. */
static int64_t count_nonzero(const GlowBuf *x, int64_t begin, int64_t n) {
  const uint64_t mask = nonzero_mask(x->kind);
  const uint32_t size = glow_ref_bits(x->kind) / 8;
  const char *data = (const char *)x->data + begin * size;
  int64_t count = 0;
  if (mask)
    return size == 1   ? count_uint8_t(data, n, mask)
           : size == 2 ? count_uint16_t(data, n, mask)
           : size == 4 ? count_uint32_t(data, n, mask)
                       : count_uint64_t(data, n, mask);
  for (int64_t i = 0; i < n; i++)
    count += is_nonzero(x, begin + i);
  return count;
}

/* Writes which of the n <= CHUNK elements from `begin` on are not zero. */
static int64_t find_nonzero(const GlowBuf *x, int64_t begin, int64_t n, int32_t *at) {
  const uint64_t mask = nonzero_mask(x->kind);
  const uint32_t size = glow_ref_bits(x->kind) / 8;
  const char *data = (const char *)x->data + begin * size;
  int64_t count = 0;
  if (mask)
    return size == 1   ? find_uint8_t(data, n, mask, at)
           : size == 2 ? find_uint16_t(data, n, mask, at)
           : size == 4 ? find_uint32_t(data, n, mask, at)
                       : find_uint64_t(data, n, mask, at);
  for (int32_t i = 0; i < n; i++)
    if (is_nonzero(x, begin + i))
      at[count++] = i;
  return count;
}

/* A row of X along its last axis, and how much of Y is written. */
typedef struct Columns {
  const GlowBuf *x;
  int64_t *y, count; /* columns of Y */
  int64_t done, row; /* columns that are written; the first element of the row */
  int64_t index[GLOW_MAX_RANK];
} Columns;

/* Writes the indices of some elements in ascending order: begin + at[i]. */
static void write_columns(Columns *c, int64_t begin, const int32_t *at, int64_t n) {
  const uint32_t outer = c->x->rank - 1;
  const int64_t extent = c->x->dims[outer];
  for (int64_t i = 0; i < n;) {
    int64_t first = c->done, *last = c->y + outer * c->count;
    while (begin + at[i] - c->row >= extent) {
      c->row += extent;
      glow_next_index(outer, c->x->dims, c->index);
    }
    for (; i < n && begin + at[i] - c->row < extent; i++)
      last[c->done++] = begin + at[i] - c->row;
    for (uint32_t a = 0; a < outer; a++)
      for (int64_t k = first; k < c->done; k++)
        c->y[a * c->count + k] = c->index[a];
  }
}

GlowRunError glow_kernel_non_zero(GlowCall *call) {
  const GlowBuf *x = &call->in[0];
  GlowBuf *y = &call->out[0];
  int64_t n = glow_buf_elements(x), count = count_nonzero(x, 0, n);
  if (count > y->dims[1]) {
    call->detail = count;
    return GLOW_RUN_SHAPE;
  }
  y->dims[1] = count;
  Columns c = {.x = x, .y = y->data, .count = count};
  for (int64_t i = 0, m; x->rank && c.done < count; i += m) {
    int32_t at[CHUNK];
    m = n - i < CHUNK ? n - i : CHUNK;
    write_columns(&c, i, at, find_nonzero(x, i, m, at));
  }
  return GLOW_RUN_OK;
}

/* How many of the conditions from i on are those of slices that lie together: true. */
static int64_t run_of(const uint8_t *cond, int64_t i, int64_t n) {
  int64_t end = i;
  while (end < n && cond[end])
    end++;
  return end - i;
}

/* Copies slices of `bytes` each, of which `outer` times n lie in X, to Y without gaps. */
static void compress(const GlowCall *call, int64_t outer, int64_t n, int64_t given, size_t bytes) {
  const char *x = call->in[0].data;
  const uint8_t *cond = call->in[1].data;
  char *y = call->out[0].data;
  for (int64_t o = 0; o < outer; o++, x += n * (int64_t)bytes)
    for (int64_t i = 0, run; i < given; i += run + 1) {
      run = run_of(cond, i, given);
      if (run)
        __builtin_memcpy(y, x + i * (int64_t)bytes, (size_t)run * bytes);
      y += run * (int64_t)bytes;
    }
}

GlowRunError glow_kernel_compress(GlowCall *call) {
  const GlowCompressMembers *m = call->members;
  const GlowBuf *x = &call->in[0], *cond = &call->in[1];
  GlowBuf *y = &call->out[0];
  uint32_t axis = m->flat ? 0 : glow_ref_axis(m->axis, x->rank);
  int64_t n = m->flat ? glow_buf_elements(x) : x->dims[axis];
  int64_t given = glow_buf_elements(cond) < n ? glow_buf_elements(cond) : n;
  int64_t count = count_nonzero(cond, 0, given);
  if (count > y->dims[axis]) {
    call->detail = count;
    return GLOW_RUN_SHAPE;
  }
  y->dims[axis] = count;
  for (int64_t step = 1, a = (int64_t)y->rank; a-- > 0; step *= y->dims[a])
    y->strides[a] = step;
  if (glow_ref_bits(x->kind) >= 8) {
    int64_t inner = m->flat ? 1 : glow_ref_extent(x, axis + 1, x->rank);
    compress(call, m->flat ? 1 : glow_ref_extent(x, 0, axis), n, given,
             (size_t)inner * glow_ref_bits(x->kind) / 8);
    return GLOW_RUN_OK;
  }
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
