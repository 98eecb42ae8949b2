/* The reference kernels against oracles that share nothing with them: sums in double over plain
 * index arithmetic, and, for the order that the contract fixes, one chain of C's fmaf. Values hold
 * zeros of both signs, infinities, NaNs, denormals and ties. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/half.h"
#include "num/math.h"
#include "ops/kernels.h"
#include "test/unit/unit.h"

static uint64_t state = 88172645463325252u;
static uint64_t draw(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * UINT64_C(0x9E3779B97F4A7C15);
}
static double unit(void) { return (double)(draw() >> 11) * 0x1p-53; }

/* ---- Buffers --------------------------------------------------------------------------------- */

static size_t size_of(GlowKind k) {
  static const uint8_t bits[] = {
#define KIND(e, name, bits, cls, onnx, npy, st) bits,
#include "ops/kinds.def"
#undef KIND
  };
  return bits[k] / 8u;
}

static GlowBuf make(GlowKind kind, uint32_t rank, const int64_t *dims) {
  GlowBuf b = {.kind = kind, .rank = rank};
  int64_t n = 1;
  for (uint32_t a = rank; a-- > 0;) {
    b.dims[a] = dims[a];
    b.strides[a] = n;
    n *= dims[a];
  }
  b.data = calloc((size_t)n + 16, size_of(kind));
  if (!b.data)
    abort();
  return b;
}
#define DIMS(...) ((int64_t[]){__VA_ARGS__})
static GlowBuf absent(void) { return (GlowBuf){.kind = GLOW_KIND_COUNT}; }

/* Any element of a float kind as double. */
static double get(const GlowBuf *b, int64_t i) {
  switch (b->kind) {
  case GLOW_KIND_FLOAT:
    return (double)((float *)b->data)[i];
  case GLOW_KIND_DOUBLE:
    return ((double *)b->data)[i];
  case GLOW_KIND_FLOAT16:
    return (double)glow_half_to_float(((uint16_t *)b->data)[i]);
  default:
    return (double)glow_bfloat_to_float(((uint16_t *)b->data)[i]);
  }
}
static void set(GlowBuf *b, int64_t i, double v) {
  switch (b->kind) {
  case GLOW_KIND_FLOAT:
    ((float *)b->data)[i] = (float)v;
    return;
  case GLOW_KIND_DOUBLE:
    ((double *)b->data)[i] = v;
    return;
  case GLOW_KIND_FLOAT16:
    ((uint16_t *)b->data)[i] = glow_half_from_double(v);
    return;
  default:
    ((uint16_t *)b->data)[i] = glow_bfloat_from_double(v);
  }
}
static void fill(GlowBuf *b, bool edges) {
  static const double rare[] = {0.0, -0.0, 1e-42, -3e-40, 1.0, 1.0, -1.0};
  for (int64_t i = 0; i < glow_buf_elements(b); i++)
    set(b, i, edges && draw() % 5 == 0 ? rare[draw() % 7] : 2 * unit() - 1);
}

static GlowRunError run(GlowRunError (*kernel)(GlowCall *), size_t (*scratch)(const GlowCall *),
                        const void *members, GlowBuf *out, uint32_t nout, GlowBuf *in,
                        uint32_t nin) {
  GlowCall call = {.members = members, .nin = nin, .nout = nout, .in = in, .out = out};
  size_t bytes = scratch ? scratch(&call) : 0;
  call.scratch = aligned_alloc(64, (bytes + 64) / 64 * 64);
  GlowRunError e = kernel(&call);
  free(call.scratch);
  return e;
}
#define RUN(op, members, out, in)                                                                  \
  run(glow_kernel_##op, NULL, members, out, sizeof(out) / sizeof *(out), in,                       \
      sizeof(in) / sizeof *(in))

static bool same_bits(const GlowBuf *a, const GlowBuf *b) {
  return memcmp(a->data, b->data, (size_t)glow_buf_elements(a) * size_of(a->kind)) == 0;
}

/* ---- Convolution ----------------------------------------------------------------------------- */

typedef struct Conv {
  GlowKind kind;
  int64_t n, c, m, group, size, kernel;
  uint32_t stride, pad, dilation, rank; /* rank: spatial axes */
  bool nhwc, bias;
} Conv;

/* Index of an element of X, W or Y (all have the layout's axes): batch-like, channel, space. */
static int64_t at(const Conv *v, int64_t batch, int64_t c, int64_t channels, const int64_t *space,
                  int64_t extent) {
  int64_t flat = 0, all = 1;
  for (uint32_t i = 0; i < v->rank; i++) {
    flat = flat * extent + space[i];
    all *= extent;
  }
  return v->nhwc ? (batch * all + flat) * channels + c : (batch * channels + c) * all + flat;
}

/* One output: the chain in float as the contract orders it, and the same sum in double. */
static void conv_oracle(const Conv *v, const GlowBuf *x, const GlowBuf *w, const GlowBuf *b,
                        int64_t n, int64_t o, const int64_t *place, float *chain, double *sum,
                        double *scale) {
  int64_t per = v->c / v->group, first = o / (v->m / v->group) * per, taps = 1;
  for (uint32_t i = 0; i < v->rank; i++)
    taps *= v->kernel;
  *sum = v->bias ? get(b, o) : 0.0;
  *chain = (float)*sum;
  *scale = fabs(*sum);
  for (int64_t block = 0; block < per; block += 16)
    for (int64_t t = 0; t < taps; t++)
      for (int64_t c = block; c < per && c < block + 16; c++) {
        int64_t tap[3], from[3], rest = t;
        bool inside = true;
        for (uint32_t i = v->rank; i-- > 0; rest /= v->kernel) {
          tap[i] = rest % v->kernel;
          from[i] = place[i] * v->stride + tap[i] * v->dilation - v->pad;
          inside &= from[i] >= 0 && from[i] < v->size;
        }
        double a = inside ? get(x, at(v, n, first + c, v->c, from, v->size)) : 0.0;
        double k = get(w, at(v, o, c, per, tap, v->kernel));
        *sum += a * k;
        *scale += fabs(a * k);
        *chain = fmaf((float)a, (float)k, *chain);
      }
}

static void conv_case(const Conv *v) {
  int64_t reach = (v->kernel - 1) * v->dilation + 1,
          out = (v->size + 2 * v->pad - reach) / v->stride + 1;
  int64_t xd[5], wd[5], yd[5];
  uint32_t rank = v->rank + 2, c = v->nhwc ? rank - 1 : 1, s = v->nhwc ? 1 : 2;
  xd[0] = yd[0] = v->n, wd[0] = v->m;
  xd[c] = v->c, wd[c] = v->c / v->group, yd[c] = v->m;
  uint32_t strides[3], pads[6], dilations[3];
  for (uint32_t i = 0; i < v->rank; i++) {
    xd[s + i] = v->size, wd[s + i] = v->kernel, yd[s + i] = out;
    strides[i] = v->stride, dilations[i] = v->dilation, pads[i] = pads[v->rank + i] = v->pad;
  }
  GlowBuf in[3] = {make(v->kind, rank, xd), make(v->kind, rank, wd), absent()};
  GlowBuf y[1] = {make(v->kind, rank, yd)};
  if (v->bias)
    in[2] = make(v->kind, 1, DIMS(v->m));
  for (int i = 0; i < 2 + v->bias; i++)
    fill(&in[i], true);
  GlowConvolutionMembers m = {.layout = v->nhwc ? GLOW_LAYOUT_NHWC : GLOW_LAYOUT_NCHW,
                              .group = (uint32_t)v->group,
                              .strides = {v->rank, strides},
                              .pads = {2 * v->rank, pads},
                              .dilations = {v->rank, dilations}};
  CHECK(run(glow_kernel_convolution, glow_scratch_convolution, &m, y, 1, in, 3) == GLOW_RUN_OK);
  int64_t places = 1, wrong = 0, far = 0;
  for (uint32_t i = 0; i < v->rank; i++)
    places *= out;
  for (int64_t n = 0; n < v->n; n++)
    for (int64_t o = 0; o < v->m; o++)
      for (int64_t p = 0; p < places; p++) {
        int64_t place[3], rest = p;
        float chain;
        double sum, scale;
        for (uint32_t i = v->rank; i-- > 0; rest /= out)
          place[i] = rest % out;
        conv_oracle(v, &in[0], &in[1], &in[2], n, o, place, &chain, &sum, &scale);
        double got = get(&y[0], at(v, n, o, v->m, place, out));
        GlowBuf one = make(v->kind, 0, NULL);
        set(&one, 0, (double)chain);
        double unit_roundoff = v->kind == GLOW_KIND_DOUBLE    ? 0x1p-53
                               : v->kind == GLOW_KIND_FLOAT   ? 0x1p-24
                               : v->kind == GLOW_KIND_FLOAT16 ? 0x1p-11
                                                              : 0x1p-8;
        wrong += v->kind != GLOW_KIND_DOUBLE && memcmp(&got, &(double){get(&one, 0)}, 8) != 0;
        far += !(fabs(got - sum) <= 40 * unit_roundoff * scale + 1e-40);
        free(one.data);
      }
  CHECK(wrong == 0);
  CHECK(far == 0);
  for (int i = 0; i < 2 + v->bias; i++)
    free(in[i].data);
  free(y[0].data);
}

static void test_convolution(void) {
  static const Conv cases[] = {
      {GLOW_KIND_FLOAT, 2, 3, 5, 1, 7, 3, 1, 1, 1, 2, false, true},
      {GLOW_KIND_FLOAT, 1, 40, 18, 1, 5, 3, 2, 1, 1, 2, false, false},
      {GLOW_KIND_FLOAT, 1, 20, 33, 1, 4, 1, 1, 0, 1, 2, false, true},
      {GLOW_KIND_FLOAT, 1, 9, 9, 9, 8, 5, 2, 2, 1, 2, false, true},
      {GLOW_KIND_FLOAT, 2, 17, 34, 17, 6, 3, 1, 1, 2, 2, false, true},
      {GLOW_KIND_FLOAT, 1, 8, 12, 4, 6, 3, 1, 1, 1, 2, true, true},
      {GLOW_KIND_FLOAT, 1, 6, 4, 2, 9, 3, 2, 2, 2, 1, false, true},
      {GLOW_KIND_FLOAT, 1, 4, 3, 1, 4, 2, 1, 1, 1, 3, false, true},
      {GLOW_KIND_FLOAT16, 1, 18, 6, 1, 5, 3, 1, 1, 1, 2, false, true},
      {GLOW_KIND_BFLOAT16, 1, 5, 20, 1, 4, 3, 1, 1, 1, 2, true, false},
      {GLOW_KIND_FLOAT16, 1, 7, 7, 7, 5, 3, 1, 1, 1, 2, false, false},
      {GLOW_KIND_DOUBLE, 1, 19, 5, 1, 5, 3, 1, 1, 1, 2, false, true},
      {GLOW_KIND_DOUBLE, 1, 5, 10, 5, 5, 3, 2, 1, 1, 2, true, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    conv_case(&cases[i]);
}

/* A padding tap is a real +0: it turns an infinite weight into NaN and a sum of -0 into +0. */
static void test_padding(void) {
  GlowBuf in[3] = {make(GLOW_KIND_FLOAT, 3, DIMS(1, 1, 1)), make(GLOW_KIND_FLOAT, 3, DIMS(1, 1, 2)),
                   make(GLOW_KIND_FLOAT, 1, DIMS(1))};
  GlowBuf y[1] = {make(GLOW_KIND_FLOAT, 3, DIMS(1, 1, 2))};
  uint32_t pads[2] = {1, 1};
  pads[1] = 1;
  GlowConvolutionMembers m = {.group = 1, .pads = {2, pads}};
  float *w = in[1].data, *r = y[0].data;
  set(&in[0], 0, 1.0);
  w[0] = INFINITY, w[1] = 2.0f;
  CHECK(run(glow_kernel_convolution, glow_scratch_convolution, &m, y, 1, in, 3) == GLOW_RUN_OK);
  CHECK(isnan(r[0]) && isinf(r[1]));
  w[0] = 1.0f, w[1] = -0.0f;
  set(&in[0], 0, 1.0);
  set(&in[2], 0, -0.0);
  CHECK(run(glow_kernel_convolution, glow_scratch_convolution, &m, y, 1, in, 3) == GLOW_RUN_OK);
  CHECK(r[0] == 0 && !signbit(r[0]) && r[1] == 1.0f);
  for (int i = 0; i < 3; i++)
    free(in[i].data);
  free(y[0].data);
}

/* ---- Blocked layouts ------------------------------------------------------------------------- */

static GlowBuf make_blocked(int64_t n, int64_t c, int64_t h, int64_t w, int64_t block) {
  GlowBuf b = make(GLOW_KIND_FLOAT, 1, DIMS(n * ((c + block - 1) / block) * h * w * block));
  int64_t dims[4] = {n, c, h, w};
  b.rank = 4;
  b.nblocks = 1;
  b.block_axis[0] = 1;
  b.block_size[0] = (uint32_t)block;
  b.block_stride[0] = 1;
  b.strides[3] = block;
  b.strides[2] = w * block;
  b.strides[1] = h * w * block;
  b.strides[0] = (c + block - 1) / block * h * w * block;
  memcpy(b.dims, dims, sizeof dims);
  return b;
}

static void test_relayout(void) {
  GlowBuf plain[1] = {make(GLOW_KIND_FLOAT, 4, DIMS(2, 19, 3, 5))};
  GlowBuf blocked[1] = {make_blocked(2, 19, 3, 5, 8)},
          back[1] = {make(GLOW_KIND_FLOAT, 4, plain[0].dims)};
  fill(&plain[0], false);
  float *p = plain[0].data, *q = blocked[0].data;
  for (int i = 0; i < 2 * 3 * 3 * 5 * 8; i++)
    q[i] = 7.0f;
  CHECK(RUN(relayout, NULL, blocked, plain) == GLOW_RUN_OK);
  int wrong = 0;
  for (int n = 0; n < 2; n++)
    for (int c = 0; c < 24; c++)
      for (int s = 0; s < 15; s++) {
        float got = q[((n * 3 + c / 8) * 15 + s) * 8 + c % 8];
        wrong += got != (c < 19 ? p[(n * 19 + c) * 15 + s] : 0.0f);
      }
  CHECK(wrong == 0);
  CHECK(RUN(relayout, NULL, back, blocked) == GLOW_RUN_OK);
  CHECK(same_bits(&plain[0], &back[0]));
  free(plain[0].data), free(blocked[0].data), free(back[0].data);
}

/* The same convolution in plain and in blocked layouts gives the same bits. */
static void test_blocked_convolution(void) {
  GlowBuf x[1] = {make(GLOW_KIND_FLOAT, 4, DIMS(1, 19, 6, 6))},
          xb[1] = {make_blocked(1, 19, 6, 6, 16)};
  GlowBuf y[1] = {make(GLOW_KIND_FLOAT, 4, DIMS(1, 21, 6, 6))},
          yb[1] = {make_blocked(1, 21, 6, 6, 16)};
  GlowBuf w = make(GLOW_KIND_FLOAT, 4, DIMS(21, 19, 3, 3)),
          back[1] = {make(GLOW_KIND_FLOAT, 4, y[0].dims)};
  uint32_t pads[4] = {1, 1, 1, 1};
  GlowConvolutionMembers m = {.group = 1, .pads = {4, pads}};
  fill(&x[0], true), fill(&w, true);
  CHECK(RUN(relayout, NULL, xb, x) == GLOW_RUN_OK);
  GlowBuf in[3] = {x[0], w, absent()}, inb[3] = {xb[0], w, absent()};
  CHECK(run(glow_kernel_convolution, glow_scratch_convolution, &m, y, 1, in, 3) == GLOW_RUN_OK);
  for (int i = 0; i < 2 * 36 * 16; i++)
    ((float *)yb[0].data)[i] = 5.0f;
  CHECK(run(glow_kernel_convolution, glow_scratch_convolution, &m, yb, 1, inb, 3) == GLOW_RUN_OK);
  CHECK(RUN(relayout, NULL, back, yb) == GLOW_RUN_OK);
  CHECK(same_bits(&y[0], &back[0]));
  CHECK(((float *)yb[0].data)[36 * 16 + 15] == 0.0f); /* a padding lane: channel 31 */
  free(x[0].data), free(xb[0].data), free(y[0].data), free(yb[0].data), free(w.data),
      free(back[0].data);
}

/* ---- MatMul ---------------------------------------------------------------------------------- */

static const GlowMatMulMembers direct = {.strategy = GLOW_PRODUCT_STRATEGY_DIRECT};

static void mat_mul_case(GlowKind kind, int64_t rows, int64_t depth, int64_t columns) {
  GlowBuf in[2] = {make(kind, 3, DIMS(2, rows, depth)), make(kind, 2, DIMS(depth, columns))};
  GlowBuf c[1] = {make(kind, 3, DIMS(2, rows, columns))};
  fill(&in[0], true), fill(&in[1], true);
  CHECK(run(glow_kernel_mat_mul, glow_scratch_mat_mul, &direct, c, 1, in, 2) == GLOW_RUN_OK);
  int64_t wrong = 0;
  for (int64_t b = 0; b < 2; b++)
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < columns; j++) {
        float chain = 0;
        double wide = 0;
        for (int64_t k = 0; k < depth; k++) {
          double a = get(&in[0], (b * rows + i) * depth + k), v = get(&in[1], k * columns + j);
          chain = fmaf((float)a, (float)v, chain);
          wide = fma(a, v, wide);
        }
        GlowBuf one = make(kind, 0, NULL);
        set(&one, 0, kind == GLOW_KIND_DOUBLE ? wide : (double)chain);
        double got = get(&c[0], (b * rows + i) * columns + j), want = get(&one, 0);
        wrong += memcmp(&got, &want, sizeof got) != 0;
        free(one.data);
      }
  CHECK(wrong == 0);
  free(in[0].data), free(in[1].data), free(c[0].data);
}

static void test_mat_mul(void) {
  mat_mul_case(GLOW_KIND_FLOAT, 1, 33, 40);
  mat_mul_case(GLOW_KIND_FLOAT, 3, 5, 1);
  mat_mul_case(GLOW_KIND_FLOAT, 13, 70, 37);
  mat_mul_case(GLOW_KIND_FLOAT, 6, 0, 5);
  mat_mul_case(GLOW_KIND_FLOAT16, 7, 20, 18);
  mat_mul_case(GLOW_KIND_BFLOAT16, 2, 20, 18);
  mat_mul_case(GLOW_KIND_DOUBLE, 8, 20, 18);
  uint8_t a[2] = {255, 3};
  int8_t b[2] = {-128, 2};
  int32_t r[1] = {0};
  GlowBuf in[2] = {make(GLOW_KIND_U8, 1, DIMS(2)), make(GLOW_KIND_I8, 1, DIMS(2))};
  GlowBuf c[1] = {make(GLOW_KIND_I32, 0, NULL)};
  free(in[0].data), free(in[1].data), free(c[0].data);
  in[0].data = a, in[1].data = b, c[0].data = r;
  CHECK(run(glow_kernel_mat_mul, glow_scratch_mat_mul, &direct, c, 1, in, 2) == GLOW_RUN_OK);
  CHECK(r[0] == -255 * 128 + 6);
}

/* ---- Pooling --------------------------------------------------------------------------------- */

static void test_pools(void) {
  float x[16] = {1, 5, NAN, 2, 5, 5, 0, -0.0f, -1, -2, -3, -4, 7, INFINITY, 7, 7};
  float y[9], mean[9];
  int64_t arg[9];
  uint32_t kernels[2] = {2, 2}, strides[2] = {1, 1};
  GlowBuf in[1] = {make(GLOW_KIND_FLOAT, 4, DIMS(1, 1, 4, 4))};
  GlowBuf out[2] = {make(GLOW_KIND_FLOAT, 4, DIMS(1, 1, 3, 3)),
                    make(GLOW_KIND_I64, 4, DIMS(1, 1, 3, 3))};
  free(in[0].data), free(out[0].data), free(out[1].data);
  in[0].data = x, out[0].data = y, out[1].data = arg;
  GlowMaxPoolMembers m = {.kernels = {2, kernels}, .strides = {2, strides}};
  CHECK(RUN(max_pool, &m, out, in) == GLOW_RUN_OK);
  CHECK(y[0] == 5 && arg[0] == 1);   /* the first of equals */
  CHECK(isnan(y[1]) && arg[1] == 2); /* a NaN above all */
  CHECK(isinf(y[6]) && arg[6] == 13);
  CHECK(y[5] == 0 && !signbit(y[5]) && arg[5] == 6);
  m.column_major = true;
  CHECK(RUN(max_pool, &m, out, in) == GLOW_RUN_OK && arg[0] == 4);
  uint32_t pads[4] = {1, 1, 0, 0};
  GlowAveragePoolMembers a = {.kernels = {2, kernels}, .strides = {2, strides}, .pads = {4, pads}};
  float ones[4] = {1, 2, 3, 4};
  GlowBuf small[1] = {make(GLOW_KIND_FLOAT, 4, DIMS(1, 1, 2, 2))};
  GlowBuf means[1] = {make(GLOW_KIND_FLOAT, 4, DIMS(1, 1, 2, 2))};
  free(small[0].data), free(means[0].data);
  small[0].data = ones, means[0].data = mean;
  CHECK(RUN(average_pool, &a, means, small) == GLOW_RUN_OK);
  CHECK(mean[0] == 1 && mean[1] == 1.5f && mean[2] == 2 && mean[3] == 2.5f);
  a.count_include_pad = true;
  CHECK(RUN(average_pool, &a, means, small) == GLOW_RUN_OK);
  CHECK(mean[0] == 0.25f && mean[1] == 0.75f && mean[2] == 1 && mean[3] == 2.5f);
}

/* Ceil mode adds a window that hangs over; what is beyond the padding does not count. */
static void test_ceil_mode(void) {
  float x[3] = {2, 4, 9}, y[2];
  uint32_t kernels[1] = {2}, strides[1] = {2};
  GlowBuf in[1] = {make(GLOW_KIND_FLOAT, 3, DIMS(1, 1, 3))},
          out[1] = {make(GLOW_KIND_FLOAT, 3, DIMS(1, 1, 2))};
  free(in[0].data), free(out[0].data);
  in[0].data = x, out[0].data = y;
  GlowAveragePoolMembers a = {
      .kernels = {1, kernels}, .strides = {1, strides}, .ceil = true, .count_include_pad = true};
  CHECK(RUN(average_pool, &a, out, in) == GLOW_RUN_OK && y[0] == 3 && y[1] == 9);
  GlowMaxPoolMembers m = {.kernels = {1, kernels}, .strides = {1, strides}, .ceil = true};
  CHECK(RUN(max_pool, &m, out, in) == GLOW_RUN_OK && y[0] == 4 && y[1] == 9);
}

/* ---- Reductions ------------------------------------------------------------------------------ */

/* The lanes rule, written down once more: lane l is the chain of elements l, l + 16, ... */
static float lanes_sum(const float *x, int64_t n) {
  float lane[16];
  bool has[16] = {false};
  for (int64_t i = 0; i < n; i++) {
    lane[i % 16] = has[i % 16] ? lane[i % 16] + x[i] : x[i];
    has[i % 16] = true;
  }
  for (int step = 8; step; step /= 2)
    for (int i = 0; i < step; i++)
      if (has[i + step])
        lane[i] = lane[i] + lane[i + step];
  return lane[0];
}

static void test_sums(void) {
  static const int64_t lengths[] = {1, 2, 7, 15, 16, 17, 31, 255, 272, 300, 1000};
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    int64_t n = lengths[k], axis = 1;
    GlowBuf in[2] = {make(GLOW_KIND_FLOAT, 2, DIMS(3, n)), make(GLOW_KIND_I64, 1, DIMS(1))};
    GlowBuf out[1] = {make(GLOW_KIND_FLOAT, 1, DIMS(3))};
    fill(&in[0], true);
    memcpy(in[1].data, &axis, sizeof axis);
    GlowReduceSumMembers m = {.keep = false};
    CHECK(RUN(reduce_sum, &m, out, in) == GLOW_RUN_OK);
    for (int i = 0; i < 3; i++) {
      const float *row = (float *)in[0].data + i * n;
      float want = lanes_sum(row, n);
      double sum = 0, scale = 0;
      for (int64_t j = 0; j < n; j++) {
        sum += (double)row[j];
        scale += fabs((double)row[j]);
      }
      CHECK(memcmp(&want, (float *)out[0].data + i, sizeof want) == 0);
      CHECK(fabs((double)want - sum) <= (double)n * 0x1p-24 * scale + 1e-44);
    }
    free(in[0].data), free(in[1].data), free(out[0].data);
  }
}

/* Axes that are not the last ones: one chain each, in ascending order. */
static void test_chains(void) {
  GlowBuf in[2] = {make(GLOW_KIND_FLOAT, 3, DIMS(40, 3, 50)), make(GLOW_KIND_I64, 1, DIMS(1))};
  GlowBuf out[1] = {make(GLOW_KIND_FLOAT, 2, DIMS(3, 50))};
  fill(&in[0], false);
  GlowReduceMeanMembers m = {.keep = false};
  CHECK(RUN(reduce_mean, &m, out, in) == GLOW_RUN_OK);
  const float *x = in[0].data, *y = out[0].data;
  int wrong = 0;
  for (int j = 0; j < 150; j++) {
    float sum = x[j];
    for (int i = 1; i < 40; i++)
      sum += x[i * 150 + j];
    wrong += y[j] != sum / 40.0f;
  }
  CHECK(wrong == 0);
  free(in[0].data), free(in[1].data), free(out[0].data);
}

static void test_other_reductions(void) {
  float x[6] = {-0.0f, 0.0f, NAN, 1, -INFINITY, 2}, y[3];
  GlowBuf in[2] = {make(GLOW_KIND_FLOAT, 2, DIMS(3, 2)), make(GLOW_KIND_I64, 1, DIMS(1))};
  GlowBuf out[1] = {make(GLOW_KIND_FLOAT, 2, DIMS(3, 1))};
  free(in[0].data), free(out[0].data);
  in[0].data = x, out[0].data = y;
  *(int64_t *)in[1].data = -1;
  GlowReduceMaxMembers max = {.keep = true};
  CHECK(RUN(reduce_max, &max, out, in) == GLOW_RUN_OK);
  CHECK(y[0] == 0 && !signbit(y[0]) && isnan(y[1]) && y[2] == 2);
  GlowReduceMinMembers min = {.keep = true};
  CHECK(RUN(reduce_min, &min, out, in) == GLOW_RUN_OK);
  CHECK(y[0] == 0 && signbit(y[0]) && isnan(y[1]) && isinf(y[2]));
  GlowBuf none[2] = {make(GLOW_KIND_I32, 2, DIMS(0, 3)), absent()},
          one[1] = {make(GLOW_KIND_I32, 0, NULL)};
  GlowReduceProdMembers prod = {.keep = false};
  CHECK(RUN(reduce_prod, &prod, one, none) == GLOW_RUN_OK && *(int32_t *)one[0].data == 1);
  CHECK(RUN(reduce_max, &max, one, none) == GLOW_RUN_OK && *(int32_t *)one[0].data == INT32_MIN);
  uint8_t bytes[4] = {200, 100, 7, 3};
  GlowBuf small[2] = {make(GLOW_KIND_U8, 1, DIMS(4)), absent()},
          sum[1] = {make(GLOW_KIND_U8, 0, NULL)};
  memcpy(small[0].data, bytes, 4);
  GlowReduceSumMembers add = {.keep = false};
  CHECK(RUN(reduce_sum, &add, sum, small) == GLOW_RUN_OK && *(uint8_t *)sum[0].data == 310 - 256);
  free(in[1].data), free(none[0].data), free(one[0].data), free(small[0].data), free(sum[0].data);
}

/* ---- Selection ------------------------------------------------------------------------------- */

static void test_selection(void) {
  float x[8] = {3, NAN, -0.0f, 0.0f, 7, 7, INFINITY, -1};
  float values[8];
  int64_t indices[8];
  GlowBuf in[2] = {make(GLOW_KIND_FLOAT, 1, DIMS(8)), absent()};
  GlowBuf out[2] = {make(GLOW_KIND_FLOAT, 1, DIMS(8)), make(GLOW_KIND_I64, 1, DIMS(8))};
  free(in[0].data), free(out[0].data), free(out[1].data);
  in[0].data = x, out[0].data = values, out[1].data = indices;
  GlowTopKMembers m = {.k = 8, .axis = 0, .largest = true, .sorted = true};
  CHECK(run(glow_kernel_top_k, glow_scratch_top_k, &m, out, 2, in, 2) == GLOW_RUN_OK);
  static const int64_t down[8] = {1, 6, 4, 5, 0, 2, 3, 7}, up[8] = {7, 2, 3, 0, 4, 5, 6, 1};
  CHECK(memcmp(indices, down, sizeof down) == 0 && isnan(values[0]) && signbit(values[5]));
  m.largest = false;
  CHECK(run(glow_kernel_top_k, glow_scratch_top_k, &m, out, 2, in, 2) == GLOW_RUN_OK);
  CHECK(memcmp(indices, up, sizeof up) == 0);
  GlowBuf arg[1] = {make(GLOW_KIND_I64, 1, DIMS(1))};
  GlowArgMaxMembers first = {.axis = 0, .keep = true},
                    last = {.axis = 0, .keep = true, .last = true};
  x[1] = 0, x[6] = 0;
  GlowBuf only[1] = {in[0]};
  CHECK(RUN(arg_max, &first, arg, only) == GLOW_RUN_OK && *(int64_t *)arg[0].data == 4);
  CHECK(RUN(arg_max, &last, arg, only) == GLOW_RUN_OK && *(int64_t *)arg[0].data == 5);
  free(arg[0].data);
}

static void test_dynamic(void) {
  float x[6] = {0, 1, -0.0f, NAN, 0, 2};
  int64_t where[12];
  GlowBuf in[1] = {make(GLOW_KIND_FLOAT, 2, DIMS(2, 3))},
          out[1] = {make(GLOW_KIND_I64, 2, DIMS(2, 6))};
  free(in[0].data), free(out[0].data);
  in[0].data = x, out[0].data = where;
  static const int64_t want[6] = {0, 1, 1, 1, 0, 2};
  CHECK(RUN(non_zero, NULL, out, in) == GLOW_RUN_OK && out[0].dims[1] == 3);
  CHECK(memcmp(where, want, sizeof want) == 0);
  uint8_t cond[3] = {1, 0, 1};
  float some[6];
  GlowBuf slices[2] = {in[0], make(GLOW_KIND_BOOL, 1, DIMS(3))};
  GlowBuf left[1] = {make(GLOW_KIND_FLOAT, 2, DIMS(2, 3))};
  free(slices[1].data), free(left[0].data);
  slices[1].data = cond, left[0].data = some;
  GlowCompressMembers m = {.axis = 1};
  x[3] = 3;
  CHECK(RUN(compress, &m, left, slices) == GLOW_RUN_OK && left[0].dims[1] == 2);
  CHECK(some[0] == 0 && some[2] == 3 && some[3] == 2);
}

/* ---- Movement -------------------------------------------------------------------------------- */

static void test_movement(void) {
  int16_t x[24], y[24];
  for (int16_t i = 0; i < 24; i++)
    x[i] = i;
  GlowBuf in[1] = {make(GLOW_KIND_I16, 3, DIMS(2, 3, 4))},
          out[1] = {make(GLOW_KIND_I16, 3, DIMS(4, 2, 3))};
  free(in[0].data), free(out[0].data);
  in[0].data = x, out[0].data = y;
  uint32_t perm[3] = {2, 0, 1};
  GlowTransposeMembers t = {.perm = {3, perm}};
  CHECK(RUN(transpose, &t, out, in) == GLOW_RUN_OK);
  int wrong = 0;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 2; j++)
      for (int k = 0; k < 3; k++)
        wrong += y[(i * 2 + j) * 3 + k] != x[(j * 3 + k) * 4 + i];
  CHECK(wrong == 0);

  int64_t starts[2] = {-1, 0}, ends[2] = {-100, 2}, axes[2] = {2, 1}, steps[2] = {-2, 1};
  GlowBuf slice[5] = {in[0]}, part[1] = {make(GLOW_KIND_I16, 3, DIMS(2, 2, 2))};
  int64_t *lists[4] = {starts, ends, axes, steps};
  for (int i = 0; i < 4; i++) {
    slice[1 + i] = (GlowBuf){.data = lists[i], .kind = GLOW_KIND_I64, .rank = 1};
    slice[1 + i].dims[0] = 2, slice[1 + i].strides[0] = 1;
  }
  CHECK(RUN(slice, NULL, part, slice) == GLOW_RUN_OK);
  static const int16_t sliced[8] = {3, 1, 7, 5, 15, 13, 19, 17};
  CHECK(memcmp(part[0].data, sliced, sizeof sliced) == 0);
  free(part[0].data);

  int64_t which[2] = {2, -3};
  GlowBuf gather[2] = {in[0], slice[1]}, picked[1] = {make(GLOW_KIND_I16, 3, DIMS(2, 2, 4))};
  gather[1].data = which;
  GlowGatherMembers g = {.axis = 1};
  CHECK(RUN(gather, &g, picked, gather) == GLOW_RUN_OK);
  CHECK(((int16_t *)picked[0].data)[0] == 8 && ((int16_t *)picked[0].data)[4] == 0 &&
        ((int16_t *)picked[0].data)[8] == 20);
  which[1] = 3;
  CHECK(RUN(gather, &g, picked, gather) == GLOW_RUN_INDEX);
  free(picked[0].data);
}

static void test_pads(void) {
  float x[3] = {1, 2, 3}, y[7], fill_value = 9;
  int64_t pads[2] = {2, 2};
  GlowBuf in[4] = {make(GLOW_KIND_FLOAT, 1, DIMS(3)), make(GLOW_KIND_I64, 1, DIMS(2)),
                   make(GLOW_KIND_FLOAT, 0, NULL), absent()};
  GlowBuf out[1] = {make(GLOW_KIND_FLOAT, 1, DIMS(7))};
  for (int i = 0; i < 3; i++)
    free(in[i].data);
  free(out[0].data);
  in[0].data = x, in[1].data = pads, in[2].data = &fill_value, out[0].data = y;
  static const float want[4][7] = {
      {9, 9, 1, 2, 3, 9, 9}, {3, 2, 1, 2, 3, 2, 1}, {1, 1, 1, 2, 3, 3, 3}, {2, 3, 1, 2, 3, 1, 2}};
  for (int mode = 0; mode < 4; mode++) {
    GlowPadMembers m = {.mode = mode};
    CHECK(RUN(pad, &m, out, in) == GLOW_RUN_OK && memcmp(y, want[mode], sizeof y) == 0);
  }
  pads[0] = -1, out[0].dims[0] = 4;
  GlowPadMembers m = {.mode = GLOW_PAD_MODE_CONSTANT};
  CHECK(RUN(pad, &m, out, in) == GLOW_RUN_OK && y[0] == 2 && y[1] == 3 && y[2] == 9 && y[3] == 9);
}

/* ---- Casts and quantization ------------------------------------------------------------------ */

#define CAST(FROM, from_type, value, TO, to_type)                                                  \
  (a[0] = (GlowBuf){.data = &(from_type){value}, .kind = GLOW_KIND_##FROM},                        \
   b[0] = (GlowBuf){.data = &(to_type){0}, .kind = GLOW_KIND_##TO},                                \
   RUN(cast, &(GlowCastMembers){0}, b, a) == GLOW_RUN_OK ? *(to_type *)b[0].data : (to_type)99)

static void test_casts(void) {
  GlowBuf a[1], b[1];
  CHECK(CAST(FLOAT, float, -1.9f, I32, int32_t) == -1);
  CHECK(CAST(FLOAT, float, 300.0f, I8, int8_t) == 127);
  CHECK(CAST(FLOAT, float, -5.0f, U8, uint8_t) == 0);
  CHECK(CAST(FLOAT, float, NAN, I64, int64_t) == 0);
  CHECK(CAST(FLOAT, float, 1e30f, I64, int64_t) == INT64_MAX);
  CHECK(CAST(FLOAT, float, 1e30f, U64, uint64_t) == UINT64_MAX);
  CHECK(CAST(I32, int32_t, 300, I8, int8_t) == 44);
  CHECK(CAST(I8, int8_t, -1, U32, uint32_t) == UINT32_MAX);
  CHECK(CAST(U64, uint64_t, UINT64_MAX, FLOAT, float) == 0x1p64f);
  CHECK(CAST(I64, int64_t, 0x7fffffc000000001, FLOAT, float) == 0x1p63f);
  CHECK(CAST(I64, int64_t, 16777217, FLOAT, float) == 16777216.0f);
  CHECK(CAST(DOUBLE, double, 1.0 + 0x1p-11 + 0x1p-40, FLOAT16, uint16_t) == 0x3c01);
  CHECK(CAST(I64, int64_t, (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1, BFLOAT16, uint16_t) ==
        0x5e81);
  CHECK(CAST(FLOAT, float, NAN, BOOL, uint8_t) == 1);
  CHECK(CAST(FLOAT, float, -0.0f, BOOL, uint8_t) == 0);
  CHECK(CAST(FLOAT, float, 1000.0f, FLOAT8E4M3FN, uint8_t) == 0x7e);
  CHECK(CAST(I32, int32_t, 16777217, FLOAT, float) == 16777216.0f);
  CHECK(CAST(I32, int32_t, INT32_MIN, FLOAT, float) == -0x1p31f);
}

/* 300 small integers, more than a register has, as floats and as integers of 32 bits. */
#define CHECK_WIDENING(FROM, from_type, first)                                                     \
  do {                                                                                             \
    from_type x[300];                                                                              \
    float f[300];                                                                                  \
    int32_t wide[300];                                                                             \
    GlowBuf in[1] = {make(GLOW_KIND_##FROM, 1, DIMS(300))};                                        \
    GlowBuf to_f[1] = {make(GLOW_KIND_FLOAT, 1, DIMS(300))};                                       \
    GlowBuf to_i[1] = {make(GLOW_KIND_I32, 1, DIMS(300))};                                         \
    free(in[0].data), free(to_f[0].data), free(to_i[0].data);                                      \
    in[0].data = x, to_f[0].data = f, to_i[0].data = wide;                                         \
    for (int i = 0; i < 300; i++)                                                                  \
      x[i] = (from_type)((first) + i);                                                             \
    CHECK(RUN(cast, &(GlowCastMembers){0}, to_f, in) == GLOW_RUN_OK);                              \
    CHECK(RUN(cast, &(GlowCastMembers){0}, to_i, in) == GLOW_RUN_OK);                              \
    for (int i = 0; i < 300; i++)                                                                  \
      CHECK(f[i] == (float)x[i] && wide[i] == (int32_t)x[i]);                                      \
  } while (0)

static void test_widening(void) {
  CHECK_WIDENING(I8, int8_t, -150);
  CHECK_WIDENING(U8, uint8_t, 0);
  CHECK_WIDENING(I16, int16_t, -32768);
  CHECK_WIDENING(U16, uint16_t, 65236);
}

static void test_quantization(void) {
  float x[6] = {0.5f, 1.5f, -1000, 1000, NAN, -0.26f};
  int8_t q[6];
  GlowBuf in[1] = {make(GLOW_KIND_FLOAT, 1, DIMS(6))}, out[1] = {make(GLOW_KIND_I8, 1, DIMS(6))};
  free(in[0].data), free(out[0].data);
  in[0].data = x, out[0].data = q;
  out[0].quantized = true, out[0].scale = 0.5f, out[0].offset = -1;
  GlowQuantizeMembers by_scale = {.steps = false};
  CHECK(RUN(quantize, &by_scale, out, in) == GLOW_RUN_OK);
  static const int8_t want[6] = {0, 2, -128, 127, -1, -2};
  CHECK(memcmp(q, want, sizeof want) == 0);
  x[0] = 0.25f, x[1] = 0.75f; /* ties to even before the offset */
  CHECK(RUN(quantize, &by_scale, out, in) == GLOW_RUN_OK && q[0] == -1 && q[1] == 1);
  float back[6];
  GlowBuf to[1] = {in[0]};
  to[0].data = back;
  GlowDequantizeMembers m = {.to = GLOW_KIND_FLOAT};
  CHECK(RUN(dequantize, &m, to, out) == GLOW_RUN_OK && back[1] == 1.0f && back[2] == -63.5f);
}

/* ---- Functions ------------------------------------------------------------------------------- */

/* Errors in ULP of float against long double, which must hold more than 53 bits to be of use. */
static double ulp_error(float got, long double exact) {
  float nearest = (float)exact;
  if (isnan(nearest) || isinf(nearest) || isnan(got) || isinf(got))
    return (isnan(nearest) && isnan(got)) || nearest == got ? 0 : INFINITY;
  int e;
  frexpl(exact, &e);
  e = exact == 0 || e < -125 ? -149 : e - 24;
  return fabs((double)ldexpl((long double)got - exact, -e));
}

static long double exact_sigmoid(long double x) { return 1.0L / (1.0L + expl(-x)); }

static void test_functions(void) {
  static const struct {
    const char *name;
    float (*fn)(float);
    long double (*exact)(long double);
    int low, high;
  } functions[] = {
      {"exp", glow_expf, expl, -30, 8},    {"log", glow_logf, logl, -149, 128},
      {"tanh", glow_tanhf, tanhl, -30, 6}, {"sigmoid", glow_sigmoidf, exact_sigmoid, -30, 8},
      {"erf", glow_erff, erfl, -30, 4},
  };
  for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
    double worst = 0;
    for (int i = 0; i < 100000; i++) {
      int e = functions[f].low + (int)(draw() % (uint64_t)(functions[f].high - functions[f].low));
      float x = (float)ldexp(1 + unit(), e);
      x = draw() & 1 ? -x : x;
      double error = ulp_error(functions[f].fn(x), functions[f].exact((long double)x));
      worst = error > worst ? error : worst;
    }
    if (!(worst <= 2.0 && worst > 0.4))
      printf("%s: %g ULP\n", functions[f].name, worst);
    CHECK(worst <= 2.0 && worst > 0.4);
  }
  CHECK(glow_expf(-INFINITY) == 0 && glow_expf(INFINITY) == INFINITY && isnan(glow_expf(NAN)));
  CHECK(glow_logf(0) == -INFINITY && isnan(glow_logf(-1)) && glow_logf(INFINITY) == INFINITY);
  CHECK(glow_logf(0x1p-149f) == (float)logl(0x1p-149L) && glow_expf(-103.9f) == 0x1p-149f);
  CHECK(signbit(glow_tanhf(-0.0f)) && glow_tanhf(-INFINITY) == -1 && glow_erff(9) == 1);
  CHECK(glow_rintf(2.5f) == 2 && glow_rintf(3.5f) == 4 && signbit(glow_rintf(-0.25f)));
  CHECK(glow_floorf(-0.5f) == -1 && signbit(glow_ceilf(-0.5f)) && glow_floorf(0x1p25f) == 0x1p25f);
}

static void test_integers(void) {
  CHECK(DIV((int8_t)-128, (int8_t)-1) == -128 && DIV((int32_t)7, (int32_t)0) == 0);
  CHECK(DIV((int32_t)INT32_MIN, (int32_t)-1) == INT32_MIN && DIV((int64_t)-7, (int64_t)2) == -3);
  CHECK(MOD((int32_t)-7, (int32_t)3) == 2 && FMOD((int32_t)-7, (int32_t)3) == -1);
  CHECK(MOD((int64_t)INT64_MIN, (int64_t)-1) == 0 && MOD((uint8_t)7, (uint8_t)0) == 0);
  CHECK(SHL((uint8_t)1, (uint8_t)7) == 128 && SHL((uint8_t)1, (uint8_t)8) == 0);
  CHECK(SHR((uint64_t)1 << 63, (uint64_t)63) == 1 && SHR((uint64_t)5, (uint64_t)64) == 0);
  CHECK(ABS((int8_t)-128) == -128 && POW((int32_t)-2, (int32_t)3) == -8);
  CHECK(POW((int32_t)2, (int32_t)-1) == 0 && POW((int8_t)-1, (int8_t)-3) == -1);
  CHECK(signbit(MAX(-0.0f, -0.0f)) && !signbit(MAX(-0.0f, 0.0f)) && !signbit(MAX(0.0f, -0.0f)));
  CHECK(signbit(MIN(-0.0f, 0.0f)) && signbit(MIN(0.0f, -0.0f)));
  CHECK(isnan(MAX(NAN, 1.0f)) && isnan(MAX(1.0f, (float)NAN)) && isnan(MIN(1.0f, (float)NAN)));
  CHECK(FMOD(5.5f, -2.0f) == 1.5f && MOD(5.5f, -2.0f) == -0.5f && isnan(MOD(1.0f, 0.0f)));
}

/* Where the machine has the instruction, the fallback must give its bits. */
static void test_fma(void) {
  int wrong = 0;
  for (int i = 0; i < 200000; i++) {
    uint64_t u[3] = {draw(), draw(), draw()};
    double d[3];
    float f[3];
    if (i & 1) { /* a sum of two near numbers */
      u[0] = (u[0] & UINT64_C(0x800fffffffffffff)) | UINT64_C(0x3ff) << 52;
      u[1] = (u[1] & UINT64_C(0x800fffffffffffff)) | UINT64_C(0x3fe) << 52;
      u[2] = (u[2] & UINT64_C(0x800fffffffffffff)) | (UINT64_C(0x3a8) + draw() % 100) << 52;
    }
    for (int k = 0; k < 3; k++) {
      memcpy(&d[k], &u[k], 8);
      f[k] = i & 1 ? (float)d[k] : glow_float_from_bits((uint32_t)(u[k] >> 32));
    }
    float a = glow_fmaf_soft(f[0], f[1], f[2]), b = fmaf(f[0], f[1], f[2]);
    double c = glow_fma_soft(d[0], d[1], d[2]), e = fma(d[0], d[1], d[2]);
    wrong += memcmp(&a, &b, sizeof a) != 0 && !(isnan(a) && isnan(b));
    wrong += memcmp(&c, &e, sizeof c) != 0 && !(isnan(c) && isnan(e));
  }
  CHECK(wrong == 0);
}

/* ---- Random numbers -------------------------------------------------------------------------- */

static void test_random(void) {
  /* Known answer of Philox4x32-10 for an all-zero key and counter (Random123's kat_vectors). */
  static const uint32_t want[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  float y[5];
  uint64_t seed[2] = {0, 0}, next[2] = {0, 0};
  GlowBuf in[2] = {absent(), make(GLOW_KIND_U64, 1, DIMS(2))};
  GlowBuf out[2] = {make(GLOW_KIND_FLOAT, 1, DIMS(5)), make(GLOW_KIND_U64, 1, DIMS(2))};
  free(in[1].data), free(out[0].data), free(out[1].data);
  in[1].data = seed, out[0].data = y, out[1].data = next;
  GlowRandomUniformMembers m = {.low = 0, .high = 1};
  CHECK(RUN(random_uniform, &m, out, in) == GLOW_RUN_OK);
  for (int i = 0; i < 4; i++)
    CHECK(y[i] == (float)(want[i] >> 8) * 0x1p-24f);
  CHECK(next[0] == 0 && next[1] == 2);
}

int main(void) {
  test_convolution();
  test_padding();
  test_relayout();
  test_blocked_convolution();
  test_mat_mul();
  test_pools();
  test_ceil_mode();
  test_sums();
  test_chains();
  test_other_reductions();
  test_selection();
  test_dynamic();
  test_movement();
  test_pads();
  test_casts();
  test_widening();
  test_quantization();
  test_functions();
  test_integers();
  test_fma();
  test_random();
  return unit_finish();
}
