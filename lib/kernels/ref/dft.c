/* DFT: fast transforms of lines, in double whatever the kind (num/fourier.h), one rounding at the
 * end. The inverse multiplies by 1 / N. */
#include "kernels/ref/dft.h"

static uint32_t dft_axis(const GlowCall *call) {
  const GlowDFTMembers *m = call->members;
  return glow_ref_axis(m->axis, call->in[0].rank);
}

/* N, or -1 if Length is no length. */
static int64_t dft_length(const GlowCall *call) {
  const GlowDFTMembers *m = call->members;
  int64_t extent = call->in[0].dims[dft_axis(call)], length = extent;
  if (glow_buf_present(&call->in[1]))
    length = glow_ref_int(&call->in[1], 0);
  else if (m->inverse && m->onesided)
    length = 2 * (extent - 1);
  return length > 0 && length <= GLOW_MAX_ELEMENTS ? length : -1;
}

static GlowFourier plan(const GlowCall *call, int64_t length) {
  const GlowDFTMembers *m = call->members;
  const GlowBuf *x = &call->in[0];
  return glow_fourier_plan(length, x->dims[x->rank - 1] == 2, m->inverse, m->onesided);
}

/* The arrays of a line, then the table. */
size_t glow_scratch_dft(const GlowCall *call) {
  int64_t n = dft_length(call);
  if (n < 0)
    return 0;
  const GlowFourier f = plan(call, n);
  return (size_t)(4 * glow_fourier_room(&f) + glow_fourier_table(&f)) * sizeof(double);
}

bool glow_dft_plan(const GlowCall *call, GlowFourier *f, uint32_t *axis) {
  const GlowBuf *y = &call->out[0];
  int64_t length = dft_length(call);
  if (length < 0)
    return false;
  *f = plan(call, length);
  *axis = dft_axis(call);
  return y->dims[*axis] == (f->back ? length : f->results) &&
         y->dims[y->rank - 1] == (f->back ? 1 : 2);
}

/* Loads a line from `at` on. What is not given is 0. */
static void load_line(const GlowFourier *f, const GlowBuf *x, int64_t at, uint32_t axis,
                      GlowFourierLine *line) {
  const bool complex = x->dims[x->rank - 1] == 2, pairs = f->halved && !f->back;
  const int64_t stride = x->strides[axis], most = pairs ? f->length : f->loaded;
  const int64_t given = x->dims[axis] < most ? x->dims[axis] : most;
  for (int64_t i = 0; i < f->loaded; i++)
    line->re[i] = line->im[i] = 0;
  for (int64_t i = 0; i < given; i++) {
    double *to = pairs ? (i % 2 ? line->im : line->re) + i / 2 : &line->re[i];
    glow_load_real(x, at + i * stride, 1, 1, to);
    if (complex)
      glow_load_real(x, at + i * stride + x->strides[x->rank - 1], 1, 1, &line->im[i]);
  }
}

static void store_line(const GlowFourier *f, const GlowFourierLine *line, GlowBuf *y, int64_t at,
                       uint32_t axis) {
  const double scale = f->inverse ? 1 / (double)f->length : 1;
  const int64_t stride = y->strides[axis];
  for (int64_t i = 0; i < y->dims[axis]; i++) {
    if (f->back && f->halved) {
      glow_ref_store_number(y, at + i * stride, scale * (i % 2 ? line->im : line->re)[i / 2]);
      continue;
    }
    glow_ref_store_number(y, at + i * stride, scale * line->re[i]);
    if (!f->back)
      glow_ref_store_number(y, at + i * stride + y->strides[y->rank - 1], scale * line->im[i]);
  }
}

GlowRunError glow_kernel_dft(GlowCall *call) {
  const GlowBuf *x = &call->in[0];
  GlowBuf *y = &call->out[0];
  GlowFourier f;
  uint32_t axis, last = x->rank - 1;
  if (!glow_dft_plan(call, &f, &axis))
    return GLOW_RUN_VALUE;
  if (glow_buf_elements(y) == 0)
    return GLOW_RUN_OK;
  const int64_t room = glow_fourier_room(&f);
  double *work = call->scratch, *table = work + 4 * room;
  const GlowFourierLine arrays = {work, work + room, work + 2 * room, work + 3 * room};
  int64_t index[GLOW_MAX_RANK] = {0}, dims[GLOW_MAX_RANK];
  for (uint32_t a = 0; a < x->rank; a++)
    dims[a] = a == axis || a == last ? 1 : x->dims[a];
  glow_fourier_fill(&f, table, arrays);
  do {
    GlowFourierLine line = arrays;
    load_line(&f, x, glow_index_offset(x, index), axis, &line);
    glow_fourier_run(&f, table, &line);
    store_line(&f, &line, y, glow_index_offset(y, index), axis);
  } while (glow_next_index(x->rank, dims, index));
  return GLOW_RUN_OK;
}
