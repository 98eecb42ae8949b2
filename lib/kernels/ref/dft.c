/* DFT: the direct sum, in double whatever the kind, one rounding at the end.
 *
 * Result k is a chain of fused multiply-adds from +0 over the samples in ascending order, real part
 * before imaginary part, with the cosine and sine of 2 pi (k i mod N) / N; the inverse divides the
 * sum by N. Cost: N multiplications for each result. */
#include "kernels/ref/ref.h"

typedef struct GlowDftPlan {
  int64_t length;  /* N */
  int64_t given;   /* samples that are there, at most N */
  int64_t results; /* along the axis */
  bool complex;    /* samples are pairs */
  bool back;       /* the inverse of a one-sided spectrum */
  bool inverse;
  double *cosines, *sines; /* N each */
} GlowDftPlan;

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

/* Cosines and sines, then the samples of a line as pairs. */
size_t glow_scratch_dft(const GlowCall *call) {
  int64_t n = dft_length(call);
  return n < 0 ? 0 : 4 * (size_t)n * sizeof(double);
}

static void make_table(const GlowDftPlan *p) {
  const double two_pi = 0x1.921fb54442d18p2;
  for (int64_t i = 0; i < p->length; i++) {
    double t = two_pi * (double)i / (double)p->length;
    p->cosines[i] = glow_cos(t);
    p->sines[i] = p->inverse ? glow_sin(t) : -glow_sin(t);
  }
}

/* Loads all N samples of a line as pairs. Samples that are not given are zeros; of a one-sided
 * spectrum (`back`) the other side is its mirror image, conjugated. */
static void load_line(const GlowDftPlan *p, const GlowBuf *x, int64_t at, int64_t stride,
                      double *line) {
  for (int64_t i = 0; i < p->length; i++)
    line[2 * i] = line[2 * i + 1] = 0;
  for (int64_t i = 0; i < p->given; i++)
    glow_load_real(x, at + i * stride, 1, p->complex ? 2 : 1, line + 2 * i);
  for (int64_t i = p->length / 2 + 1; p->back && i < p->length; i++) {
    line[2 * i] = line[2 * (p->length - i)];
    line[2 * i + 1] = -line[2 * (p->length - i) + 1];
  }
}

static void transform(const GlowDftPlan *p, const double *line, int64_t k, double *pair) {
  double re = 0, im = 0;
  int64_t turn = 0, samples = p->back ? p->length : p->given;
  for (int64_t i = 0; i < samples; i++) {
    double a = line[2 * i], b = line[2 * i + 1], c = p->cosines[turn], s = p->sines[turn];
    re = glow_fma(a, c, re);
    im = glow_fma(a, s, im);
    if (p->complex) {
      re = glow_fma(-b, s, re);
      im = glow_fma(b, c, im);
    }
    turn += k;
    turn -= turn >= p->length ? p->length : 0;
  }
  pair[0] = p->inverse ? re / (double)p->length : re;
  pair[1] = p->inverse ? im / (double)p->length : im;
}

GlowRunError glow_kernel_dft(GlowCall *call) {
  const GlowDFTMembers *m = call->members;
  const GlowBuf *x = &call->in[0];
  GlowBuf *y = &call->out[0];
  uint32_t axis = dft_axis(call), last = x->rank - 1;
  GlowDftPlan p = {.length = dft_length(call), .inverse = m->inverse};
  p.back = m->inverse && m->onesided;
  p.complex = x->dims[last] == 2;
  p.results = y->dims[axis];
  if (p.length < 0 || p.results != (m->onesided && !p.back ? p.length / 2 + 1 : p.length))
    return GLOW_RUN_VALUE;
  if (glow_buf_elements(y) == 0)
    return GLOW_RUN_OK;
  int64_t most = p.back ? p.length / 2 + 1 : p.length;
  p.given = x->dims[axis] < most ? x->dims[axis] : most;
  p.cosines = call->scratch;
  p.sines = p.cosines + p.length;
  double *line = p.sines + p.length, pair[2];
  int64_t index[GLOW_MAX_RANK] = {0}, dims[GLOW_MAX_RANK];
  for (uint32_t a = 0; a < x->rank; a++)
    dims[a] = a == axis || a == last ? 1 : x->dims[a];
  make_table(&p);
  do {
    load_line(&p, x, glow_index_offset(x, index), x->strides[axis], line);
    int64_t to = glow_index_offset(y, index);
    for (int64_t k = 0; k < p.results; k++) {
      transform(&p, line, k, pair);
      for (int64_t part = 0; part < y->dims[last]; part++)
        glow_ref_store_number(y, to + k * y->strides[axis] + part, pair[part]);
    }
  } while (glow_next_index(x->rank, dims, index));
  return GLOW_RUN_OK;
}
