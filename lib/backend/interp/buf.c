/* Buffers as kernels see them, made from types, and loops over the rows of several at once. */
#include "backend/interp/interp_internal.h"

GlowBuf glow_buf_absent(void) { return (GlowBuf){.kind = GLOW_KIND_COUNT}; }

GlowBuf glow_buf_of(const GlowType *t, const void *data) {
  GlowBuf b = {.data = (void *)(uintptr_t)data, .kind = t->kind, .rank = t->rank};
  int64_t physical[GLOW_MAX_RANK + 4], stride = 1;
  b.quantized = t->quantized;
  b.scale = t->scale;
  b.offset = t->offset;
  for (uint32_t a = 0; a < t->rank; a++)
    b.dims[a] = t->dims[a].size;
  uint32_t n = glow_layout_physical(t->layout, t->rank, b.dims, physical);
  b.nblocks = n - t->rank;
  for (uint32_t k = b.nblocks; k-- > 0;) {
    b.block_axis[k] = t->layout->blocks[k].axis;
    b.block_size[k] = t->layout->blocks[k].size;
    b.block_stride[k] = stride;
    stride *= b.block_size[k];
  }
  for (uint32_t a = t->rank; a-- > 0;) {
    b.strides[a] = stride;
    stride *= physical[a] ? physical[a] : 1;
  }
  return b;
}

void glow_buf_pack(GlowBuf *b) {
  int64_t stride = 1;
  for (uint32_t a = b->rank; a-- > 0;) {
    b->strides[a] = stride;
    stride *= b->dims[a] ? b->dims[a] : 1;
  }
}

/* Whether both have the same physical extents, so that equal offsets are equal indices. */
static bool same_place(const GlowBuf *a, const GlowBuf *b) {
  bool same = a->rank == b->rank && a->nblocks == b->nblocks;
  for (uint32_t i = 0; same && i < a->rank; i++)
    same = a->dims[i] == b->dims[i] && (a->dims[i] == 1 || a->strides[i] == b->strides[i]);
  for (uint32_t i = 0; same && i < a->nblocks; i++)
    same = a->block_axis[i] == b->block_axis[i] && a->block_size[i] == b->block_size[i] &&
           a->block_stride[i] == b->block_stride[i];
  return same;
}

/* How many elements the buffer spans if it has no holes; -1 if it has. */
static int64_t solid_span(const GlowBuf *b) {
  int64_t dims[GLOW_MAX_PHYSICAL], strides[GLOW_MAX_PHYSICAL], n = 1;
  uint32_t rank = glow_ref_physical(b, dims, strides);
  for (uint32_t a = rank; a-- > b->rank; n *= dims[a])
    if (strides[a] != n)
      return -1;
  for (uint32_t a = b->rank; a-- > 0; n *= dims[a])
    if (dims[a] != 1 && strides[a] != n)
      return -1;
  return n;
}

static bool one_element(const GlowBuf *b) { return glow_buf_elements(b) == 1 && !b->nblocks; }

/* One long row, if no buffer has holes and each has the extents and strides of the first one or is
 * a single element. False if that is not so. */
static bool make_flat(GlowRowLoop *l) {
  int64_t span = solid_span(l->bufs[0]);
  for (uint32_t i = 1; i < l->count && span >= 0; i++)
    if (glow_buf_present(l->bufs[i]) && !one_element(l->bufs[i]) &&
        !same_place(l->bufs[0], l->bufs[i]))
      span = -1;
  if (span < 0)
    return false;
  l->rank = 1;
  l->dims[0] = span;
  for (uint32_t i = 0; i < l->count; i++)
    l->strides[i][0] = glow_buf_present(l->bufs[i]) && (i == 0 || !one_element(l->bufs[i]));
  return true;
}

/* The stride of operand b along axis a of the result, by broadcast. */
static int64_t broadcast_stride(const GlowBuf *b, uint32_t a, uint32_t rank) {
  if (!glow_buf_present(b) || a + b->rank < rank)
    return 0;
  uint32_t own = a + b->rank - rank;
  return b->dims[own] == 1 ? 0 : b->strides[own];
}

/* Whether b, broadcast to a result with one block, has its elements in rows of that block: it has
 * the same one, or none on that axis. */
static bool has_block_rows(const GlowBuf *b, const GlowBuf *out) {
  if (!glow_buf_present(b) || b->nblocks == 0)
    return true;
  uint32_t axis = out->block_axis[0];
  if (b->nblocks != 1 || axis + b->rank < out->rank)
    return false;
  return b->block_axis[0] == axis + b->rank - out->rank && b->block_size[0] == out->block_size[0];
}

/* Rows are the blocks of the result, without its padding lanes. An operand that is not blocked
 * along that axis gets two strides for it: of a block's length between rows, and its own inside a
 * row. */
static bool make_block_rows(GlowRowLoop *l) {
  const GlowBuf *out = l->bufs[0];
  if (out->nblocks != 1 || out->block_size[0] > GLOW_ROW_BLOCK)
    return false;
  for (uint32_t i = 0; i < l->count; i++)
    if (!has_block_rows(l->bufs[i], out))
      return false;
  uint32_t axis = l->block_axis = out->block_axis[0];
  l->block = out->block_size[0];
  l->rank = out->rank + 1;
  for (uint32_t a = 0; a < out->rank; a++)
    l->dims[a] = out->dims[a];
  l->dims[axis] = (out->dims[axis] + l->block - 1) / l->block;
  l->dims[out->rank] = l->block;
  for (uint32_t i = 0; i < l->count; i++) {
    const GlowBuf *b = l->bufs[i];
    for (uint32_t a = 0; a < out->rank; a++)
      l->strides[i][a] = broadcast_stride(b, a, out->rank);
    int64_t stride = l->strides[i][axis];
    bool own = stride && b->nblocks;
    l->strides[i][axis] = own ? stride : stride * l->block;
    l->strides[i][out->rank] = own ? b->block_stride[0] : stride;
  }
  return true;
}

bool glow_row_loop_init(GlowRowLoop *l, GlowBuf *const *bufs, uint32_t count) {
  const GlowBuf *out = bufs[0];
  memset(l, 0, sizeof *l);
  l->bufs = bufs;
  l->count = count;
  if (glow_buf_elements(out) == 0 || make_flat(l))
    return glow_buf_elements(out) != 0;
  for (uint32_t i = 0; i < count; i++)
    l->blocked |= glow_buf_present(bufs[i]) && bufs[i]->nblocks;
  if (l->blocked && make_block_rows(l))
    return true;
  for (uint32_t a = 0; a < out->rank; a++) {
    if (out->dims[a] == 1 && !l->blocked)
      continue;
    bool joins = l->rank > 0 && !l->blocked;
    for (uint32_t i = 0; i < count && joins; i++)
      joins = l->strides[i][l->rank - 1] == broadcast_stride(bufs[i], a, out->rank) * out->dims[a];
    uint32_t at = joins ? l->rank - 1 : l->rank++;
    l->dims[at] = joins ? l->dims[at] * out->dims[a] : out->dims[a];
    for (uint32_t i = 0; i < count; i++)
      l->strides[i][at] = broadcast_stride(bufs[i], a, out->rank);
  }
  if (l->rank == 0) {
    l->rank = 1;
    l->dims[0] = 1;
  }
  return true;
}

/* The offsets of a row of one element, for buffers whose blocked layouts differ. */
static void blocked_offsets(GlowRowLoop *l) {
  for (uint32_t i = 0; i < l->count; i++) {
    const GlowBuf *b = l->bufs[i];
    l->offset[i] = 0;
    l->step[i] = 1;
    for (uint32_t a = 0; glow_buf_present(b) && a < b->rank; a++) {
      int64_t index = b->dims[a] == 1 ? 0 : l->index[a + l->rank - b->rank];
      l->offset[i] += glow_axis_offset(b, a, index);
    }
  }
  l->n = 1;
}

/* Moves behind the row; false after the last. */
static bool next_row(GlowRowLoop *l) {
  uint32_t last = l->rank - 1;
  l->index[last] = l->block ? l->block : l->index[last] + l->n;
  for (uint32_t a = last; l->index[a] >= l->dims[a];) {
    if (a == 0)
      return false;
    l->index[a--] = 0;
    l->index[a]++;
  }
  return true;
}

bool glow_row_loop_next(GlowRowLoop *l) {
  uint32_t last = l->rank - 1;
  if (l->started && !next_row(l))
    return false;
  l->started = true;
  if (l->blocked && !l->block) {
    blocked_offsets(l);
    return true;
  }
  for (uint32_t i = 0; i < l->count; i++) {
    l->offset[i] = 0;
    for (uint32_t a = 0; a < l->rank; a++)
      l->offset[i] += l->index[a] * l->strides[i][a];
    l->step[i] = l->strides[i][last];
  }
  int64_t left = l->dims[last] - l->index[last];
  if (l->block) {
    int64_t real = l->bufs[0]->dims[l->block_axis] - l->index[l->block_axis] * l->block;
    left = real < left ? real : left;
  }
  l->n = left < GLOW_ROW_BLOCK ? left : GLOW_ROW_BLOCK;
  return true;
}
