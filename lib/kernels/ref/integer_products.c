/* MatMulInteger and ConvInteger: sums in i32, which wrap, of products of bytes without their zero
 * points. */
#include "kernels/ref/ref.h"

static uint32_t byte_at(const GlowBuf *b, int64_t at) {
  return b->kind == GLOW_KIND_I8 ? (uint32_t)((const int8_t *)b->data)[at]
                                 : ((const uint8_t *)b->data)[at];
}

/* Where the zero point of a row or column is: in a list of one number or one for each `line`, or in
 * a tensor of the operand's shape with extent 1 along one axis, at `offset`. */
static uint32_t zero_at(const GlowBuf *z, int64_t offset, int64_t line) {
  if (!glow_buf_present(z))
    return 0;
  int64_t count = glow_buf_elements(z);
  return byte_at(z, count == 1 ? 0 : z->rank == 1 ? line * z->strides[0] : offset);
}

/* What index i of the batch axes adds to the offset in an operand whose matrix axes are its last.
 */
static int64_t batch_offset(const GlowBuf *b, uint32_t all, const int64_t *index) {
  int64_t offset = 0;
  uint32_t batch = b->rank > 2 ? b->rank - 2 : 0;
  for (uint32_t a = 0; a < batch; a++)
    offset += b->dims[a] == 1 ? 0 : index[all - batch + a] * b->strides[a];
  return offset;
}

GlowRunError glow_kernel_mat_mul_integer(GlowCall *call) {
  const GlowBuf *a = &call->in[0], *b = &call->in[1], *az = &call->in[2], *bz = &call->in[3];
  GlowBuf *c = &call->out[0];
  bool rows = a->rank > 1, columns = b->rank > 1;
  uint32_t batch = c->rank - rows - columns;
  int64_t m = rows ? a->dims[a->rank - 2] : 1, depth = a->dims[a->rank - 1];
  int64_t n = columns ? b->dims[b->rank - 1] : 1, index[GLOW_MAX_RANK] = {0};
  int64_t c_step = columns ? c->strides[c->rank - 1] : 1;
  if (glow_buf_elements(c) == 0)
    return GLOW_RUN_OK;
  do {
    int64_t a_at = batch_offset(a, batch, index), b_at = batch_offset(b, batch, index), c_at = 0;
    for (uint32_t i = 0; i < batch; i++)
      c_at += index[i] * c->strides[i];
    for (int64_t i = 0; i < m; i++) {
      uint32_t *row = (uint32_t *)c->data + c_at + (rows ? i * c->strides[batch] : 0);
      uint32_t a_zero = zero_at(
          az, az->rank > 1 ? batch_offset(az, batch, index) + i * az->strides[az->rank - 2] : 0, i);
      for (int64_t j = 0; j < n; j++)
        row[j * c_step] = 0;
      for (int64_t k = 0; k < depth; k++) {
        uint32_t x = byte_at(a, a_at + (rows ? i * a->strides[a->rank - 2] : 0) +
                                    k * a->strides[a->rank - 1]) -
                     a_zero;
        int64_t b_row =
            b_at + (b->rank > 1 ? glow_axis_offset(b, b->rank - 2, k) : glow_axis_offset(b, 0, k));
        for (int64_t j = 0; j < n; j++) {
          int64_t from = b_row + (columns ? glow_axis_offset(b, b->rank - 1, j) : 0);
          uint32_t b_zero = zero_at(
              bz, bz->rank > 1 ? batch_offset(bz, batch, index) + j * bz->strides[bz->rank - 1] : 0,
              j);
          row[j * c_step] += x * (byte_at(b, from) - b_zero);
        }
      }
    }
  } while (glow_next_index(batch, c->dims, index));
  return GLOW_RUN_OK;
}

/* ---- Convolution ----------------------------------------------------------------------------- */

typedef struct Conv {
  const GlowBuf *x, *w;
  const GlowConvIntegerMembers *m;
  uint32_t spatial, first, channel; /* axes of X, W and Y */
  uint32_t x_zero;
} Conv;

/* The outputs [*from, *to) along spatial axis i whose tap t is inside of X. */
static void inside(const Conv *p, const GlowBuf *y, uint32_t i, int64_t t, int64_t *from,
                   int64_t *to) {
  int64_t stride = glow_listed(p->m->strides, i, 1);
  int64_t at = t * glow_listed(p->m->dilations, i, 1) - glow_listed(p->m->pads, i, 0);
  int64_t size = p->x->dims[p->first + i], out = y->dims[p->first + i];
  int64_t last = size - 1 - at; /* of out * stride */
  *from = at >= 0 ? 0 : (-at + stride - 1) / stride;
  *to = last < 0 ? 0 : last / stride + 1 < out ? last / stride + 1 : out;
}

/* Adds what one tap of one input channel gives to all outputs of a filter. */
static void add_tap(const Conv *p, GlowBuf *y, int64_t x_at, int64_t y_at, const int64_t *tap,
                    uint32_t weight) {
  uint32_t last = p->spatial - 1, axis = p->first + last;
  int64_t from[GLOW_MAX_RANK], to[GLOW_MAX_RANK], count[GLOW_MAX_RANK], index[GLOW_MAX_RANK] = {0};
  for (uint32_t i = 0; i < p->spatial; i++) {
    inside(p, y, i, tap[i], &from[i], &to[i]);
    count[i] = to[i] - from[i];
    if (count[i] <= 0)
      return;
  }
  int64_t step = glow_listed(p->m->strides, last, 1) * p->x->strides[axis];
  int64_t y_step = y->strides[axis];
  do {
    int64_t x = x_at, to_y = y_at;
    for (uint32_t i = 0; i < p->spatial; i++) {
      int64_t o = from[i] + (i < last ? index[i] : 0);
      int64_t in = o * glow_listed(p->m->strides, i, 1) +
                   tap[i] * glow_listed(p->m->dilations, i, 1) - glow_listed(p->m->pads, i, 0);
      x += in * p->x->strides[p->first + i];
      to_y += o * y->strides[p->first + i];
    }
    uint32_t *sum = (uint32_t *)y->data + to_y;
    for (int64_t o = 0; o < count[last]; o++)
      sum[o * y_step] += weight * (byte_at(p->x, x + o * step) - p->x_zero);
  } while (glow_next_index(last, count, index));
}

static void clear_map(const Conv *p, GlowBuf *y, int64_t y_at) {
  int64_t index[GLOW_MAX_RANK] = {0};
  do {
    int64_t at = y_at;
    for (uint32_t i = 0; i < p->spatial; i++)
      at += index[i] * y->strides[p->first + i];
    ((uint32_t *)y->data)[at] = 0;
  } while (glow_next_index(p->spatial, y->dims + p->first, index));
}

/* One filter over one image. */
static void filter(const Conv *p, GlowBuf *y, int64_t image, int64_t o, int64_t group,
                   uint32_t w_zero) {
  int64_t y_at = image * y->strides[0] + o * y->strides[p->channel];
  int64_t in = p->w->dims[p->channel];
  clear_map(p, y, y_at);
  for (int64_t c = 0; c < in; c++) {
    int64_t x_at = image * p->x->strides[0] + (group * in + c) * p->x->strides[p->channel];
    int64_t tap[GLOW_MAX_RANK] = {0};
    do {
      int64_t at = glow_axis_offset(p->w, 0, o) + glow_axis_offset(p->w, p->channel, c);
      for (uint32_t i = 0; i < p->spatial; i++)
        at += glow_axis_offset(p->w, p->first + i, tap[i]);
      add_tap(p, y, x_at, y_at, tap, byte_at(p->w, at) - w_zero);
    } while (glow_next_index(p->spatial, p->w->dims + p->first, tap));
  }
}

GlowRunError glow_kernel_conv_integer(GlowCall *call) {
  const GlowConvIntegerMembers *m = call->members;
  const GlowBuf *w_zero = &call->in[3];
  bool last = m->layout == GLOW_LAYOUT_NHWC;
  GlowBuf *y = &call->out[0];
  Conv p = {.x = &call->in[0],
            .w = &call->in[1],
            .m = m,
            .spatial = y->rank - 2,
            .first = last ? 1 : 2,
            .channel = last ? y->rank - 1 : 1,
            .x_zero = zero_at(&call->in[2], 0, 0)};
  if (glow_buf_elements(y) == 0)
    return GLOW_RUN_OK;
  int64_t filters = p.w->dims[0], groups = m->group ? m->group : 1;
  bool no_taps = glow_buf_elements(p.w) == 0;
  for (int64_t image = 0; image < y->dims[0]; image++)
    for (int64_t o = 0; o < filters; o++) {
      if (no_taps)
        clear_map(&p, y, image * y->strides[0] + o * y->strides[p.channel]);
      else
        filter(&p, y, image, o, o / (filters / groups), zero_at(w_zero, 0, o));
    }
  return GLOW_RUN_OK;
}
