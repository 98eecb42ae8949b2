/* MaxUnpool and Col2Im: elements go back to where a sliding window took them from. */
#include "kernels/ref/ref.h"

/* ---- MaxUnpool ------------------------------------------------------------------------------- */

/* Sets the extents of the tensor that was pooled, as X and the windows imply them, and returns
 * their product. Indices count in these extents, not in those of Y. */
static int64_t implied_dims(const GlowCall *call, int64_t *dims) {
  const GlowMaxUnpoolMembers *m = call->members;
  const GlowBuf *x = &call->in[0];
  int64_t elements = 1;
  for (uint32_t a = 0; a < x->rank; a++) {
    dims[a] = x->dims[a];
    if (a >= 2)
      dims[a] = (x->dims[a] - 1) * glow_listed(m->strides, a - 2, 1) +
                glow_listed(m->kernels, a - 2, 1) - glow_listed(m->pads, a - 2, 0) -
                glow_listed(m->pads, x->rank - 2 + a - 2, 0);
    elements *= dims[a];
  }
  return elements;
}

/* Element i of X goes to the place that index i names in the implied extents, at the same
 * coordinates of Y; where two meet, the later one stays. */
GlowRunError glow_kernel_max_unpool(GlowCall *call) {
  const GlowBuf *x = &call->in[0], *indices = &call->in[1];
  GlowBuf *y = &call->out[0];
  int64_t dims[GLOW_MAX_RANK], elements = implied_dims(call, dims), count = glow_buf_elements(x);
  GlowBoxCopy one = {.dst = y->data, .src = x->data, .bits = glow_ref_bits(y->kind)};
  for (uint32_t a = 2; a < y->rank; a++)
    if (y->dims[a] < dims[a]) {
      call->detail = y->dims[a];
      return GLOW_RUN_SHAPE;
    }
  glow_ref_clear(y);
  for (int64_t i = 0; i < count; i++) {
    int64_t index = glow_ref_int(indices, i), rest = index;
    if (index < 0 || index >= elements) {
      call->detail = index;
      return GLOW_RUN_INDEX;
    }
    one.dst_offset = 0;
    for (uint32_t a = y->rank; a-- > 0; rest /= dims[a])
      one.dst_offset += rest % dims[a] * y->strides[a];
    one.src_offset = i;
    glow_box_copy(&one);
  }
  return GLOW_RUN_OK;
}

/* ---- Col2Im ---------------------------------------------------------------------------------- */

typedef struct Image {
  const GlowBuf *x;
  GlowBuf *y;
  uint32_t spatial;
  int64_t taps, blocks;          /* products of kernel and of count */
  int64_t kernel[GLOW_MAX_RANK]; /* extents of a block */
  int64_t count[GLOW_MAX_RANK];  /* blocks along each axis */
  int64_t stride[GLOW_MAX_RANK], dilation[GLOW_MAX_RANK], before[GLOW_MAX_RANK];
} Image;

static Image image_of(const GlowCall *call) {
  const GlowCol2ImMembers *m = call->members;
  Image im = {.x = &call->in[0], .y = &call->out[0], .taps = 1, .blocks = 1};
  im.spatial = im.y->rank - 2;
  for (uint32_t i = 0; i < im.spatial; i++) {
    im.kernel[i] = glow_ref_int(&call->in[2], i);
    im.stride[i] = glow_listed(m->strides, i, 1);
    im.dilation[i] = glow_listed(m->dilations, i, 1);
    im.before[i] = glow_listed(m->pads, i, 0);
    int64_t room = im.y->dims[2 + i] + im.before[i] + glow_listed(m->pads, im.spatial + i, 0) -
                   ((im.kernel[i] - 1) * im.dilation[i] + 1);
    im.count[i] = room < 0 ? 0 : room / im.stride[i] + 1;
    im.taps *= im.kernel[i];
    im.blocks *= im.count[i];
  }
  return im;
}

/* The element of X that tap `tap`, at index k of a block, puts at `place`: its offset for channel 0
 * of an image, or -1 if no block has the tap there. */
static int64_t source(const Image *im, const int64_t *place, const int64_t *k, int64_t tap) {
  int64_t block = 0;
  for (uint32_t i = 0; i < im->spatial; i++) {
    int64_t at = place[i] + im->before[i] - k[i] * im->dilation[i];
    if (at < 0 || at % im->stride[i] || at / im->stride[i] >= im->count[i])
      return -1;
    block = block * im->count[i] + at / im->stride[i];
  }
  return tap * im->blocks + block;
}

/* An element is the sum of the columns' elements that lie on it, a chain over the taps from 0. */
#define FOLD(T, S, LOAD, STORE)                                                                    \
  static void fold_##S(const Image *im, const int64_t *index, int64_t to) {                        \
    int64_t k[GLOW_MAX_RANK] = {0}, first = (index[0] * im->y->dims[1] + index[1]) * im->taps;     \
    T sum = 0, v;                                                                                  \
    for (int64_t tap = 0; tap < im->taps; tap++) {                                                 \
      int64_t from = source(im, index + 2, k, tap);                                                \
      glow_next_index(im->spatial, im->kernel, k);                                                 \
      if (from < 0)                                                                                \
        continue;                                                                                  \
      LOAD(im->x, first * im->blocks + from, 1, 1, &v);                                            \
      sum += v;                                                                                    \
    }                                                                                              \
    STORE(im->y, to, 1, 1, &sum);                                                                  \
  }
static void load_wrapping(const GlowBuf *b, int64_t at, int64_t stride, int64_t n, uint64_t *out) {
  glow_load_int(b, at, stride, n, (int64_t *)out);
}
static void store_wrapping(GlowBuf *b, int64_t at, int64_t stride, int64_t n, const uint64_t *in) {
  glow_store_int(b, at, stride, n, (const int64_t *)in);
}
FOLD(float, float, glow_load_float, glow_store_float)
FOLD(double, double, glow_load_double, glow_store_double)
FOLD(uint64_t, int, load_wrapping, store_wrapping)

GlowRunError glow_kernel_col2_im(GlowCall *call) {
  GlowBuf *y = &call->out[0];
  int64_t index[GLOW_MAX_RANK] = {0}, to = 0;
  if (glow_buf_elements(y) == 0)
    return GLOW_RUN_OK;
  for (int64_t i = 0; i < glow_buf_elements(&call->in[2]); i++)
    if (glow_ref_int(&call->in[2], i) < 1)
      return GLOW_RUN_VALUE;
  Image im = image_of(call);
  if (im.x->dims[1] != y->dims[1] * im.taps || im.x->dims[2] != im.blocks) {
    call->detail = im.blocks;
    return GLOW_RUN_SHAPE;
  }
  GlowRowClass cls = glow_ref_class(y);
  do {
    if (cls == GLOW_ROW_FLOAT)
      fold_float(&im, index, to);
    else if (cls == GLOW_ROW_DOUBLE)
      fold_double(&im, index, to);
    else
      fold_int(&im, index, to);
    to++;
  } while (glow_next_index(y->rank, y->dims, index));
  return GLOW_RUN_OK;
}
