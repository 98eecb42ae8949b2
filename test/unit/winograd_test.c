/* The reference kernel of Winograd's convolution, to the bit: what docs/Numerics says, written once
 * more for one output at a time; in plain and in blocked layouts. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/kernels.h"
#include "test/unit/unit.h"

static uint64_t state = 88172645463325252u;
static double draw(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (double)(state >> 11) * 0x1p-52 - 1;
}

/* ---- The definition -------------------------------------------------------------------------- */

static void input_points(int side, const float *d, int step, float *r) {
  if (side == 2) {
    float d1 = d[step], d2 = d[2 * step], first = d[0], last = d[3 * step];
    r[0] = first - d2;
    r[step] = d1 + d2;
    r[2 * step] = d2 - d1;
    r[3 * step] = last - d1;
    return;
  }
  float d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step];
  float e = fmaf(-2.25f, d2, d4), o = fmaf(-2.25f, d1, d3);
  float f = fmaf(-0.390625f, d2, d4), q = fmaf(-0.390625f, d1, d3);
  r[0] = fmaf(0.87890625f, d0, fmaf(-2.640625f, d2, d4));
  r[step] = fmaf(0.625f, o, e);
  r[2 * step] = fmaf(-0.625f, o, e);
  r[3 * step] = fmaf(1.5f, q, f);
  r[4 * step] = fmaf(-1.5f, q, f);
  r[5 * step] = fmaf(0.87890625f, d1, fmaf(-2.640625f, d3, d[5 * step]));
}

static void outputs(int side, const float *m, int step, float *y) {
  if (side == 2) {
    float first = m[0], p = m[step] + m[2 * step], q = m[step] - m[2 * step];
    y[0] = first + p;
    y[step] = q + m[3 * step];
    return;
  }
  float s = m[step] + m[2 * step], t = m[step] - m[2 * step];
  float u = m[3 * step] + m[4 * step], v = m[3 * step] - m[4 * step];
  y[0] = (m[0] + s) + u;
  y[step] = fmaf(1.5f, v, 0.625f * t);
  y[2 * step] = fmaf(2.25f, u, 0.390625f * s);
  y[3 * step] = fmaf(3.375f, v, fmaf(0.244140625f, t, m[5 * step]));
}

typedef struct Case {
  int side, n, c, o, h, w, top, left, bottom, right;
  bool bias;
} Case;

/* One tile of one output channel: y has `side` rows, each of as many places as a tile has inputs
 * along an axis. */
static void tile(const Case *k, const float *x, const float *u, float bias, int n, int o, int h0,
                 int w0, float *y) {
  float m[36] = {0}, d[36], r[36];
  const int side = k->side, points = side + 2, places = points * points;
  for (int c = 0; c < k->c; c++) {
    for (int i = 0; i < places; i++) {
      int h = h0 - k->top + i / points, w = w0 - k->left + i % points;
      bool inside = h >= 0 && h < k->h && w >= 0 && w < k->w;
      d[i] = inside ? x[((n * k->c + c) * k->h + h) * k->w + w] : 0;
    }
    for (int j = 0; j < points; j++)
      input_points(side, d + j, points, r + j);
    for (int i = 0; i < points; i++)
      input_points(side, r + points * i, 1, d + points * i);
    for (int i = 0; i < places; i++)
      m[i] = fmaf(d[i], u[(i * k->o + o) * k->c + c], m[i]);
  }
  for (int j = 0; j < points; j++)
    outputs(side, m + j, points, r + j);
  for (int i = 0; i < side; i++)
    outputs(side, r + points * i, 1, y + points * i);
  for (int i = 0; i < side * points; i++)
    y[i] = k->bias ? y[i] + bias : y[i];
}

/* ---- Buffers --------------------------------------------------------------------------------- */

static GlowBuf make(uint32_t rank, const int64_t *dims) {
  GlowBuf b = {.kind = GLOW_KIND_FLOAT, .rank = rank};
  int64_t n = 1;
  for (uint32_t a = rank; a-- > 0; n *= dims[a]) {
    b.dims[a] = dims[a];
    b.strides[a] = n;
  }
  b.data = calloc((size_t)n + 1, sizeof(float));
  if (!b.data)
    abort();
  return b;
}
#define DIMS(...) ((int64_t[]){__VA_ARGS__})

/* Like b, with an axis, or two, in blocks that come last. */
static GlowBuf blocked(const GlowBuf *b, uint32_t nblocks, const uint8_t *axis,
                       const uint32_t *size) {
  int64_t dims[GLOW_MAX_RANK];
  memcpy(dims, b->dims, sizeof dims);
  int64_t inner = 1;
  for (uint32_t i = 0; i < nblocks; i++) {
    dims[axis[i]] = (dims[axis[i]] + size[i] - 1) / size[i];
    inner *= size[i];
  }
  GlowBuf all = make(b->rank + 1, DIMS(dims[0], dims[1], dims[2], dims[3], inner)), r = all;
  r.rank = b->rank;
  r.nblocks = nblocks;
  memcpy(r.dims, b->dims, sizeof r.dims);
  for (uint32_t i = 0; i < nblocks; i++) {
    inner /= size[i];
    r.block_axis[i] = axis[i];
    r.block_size[i] = size[i];
    r.block_stride[i] = inner;
  }
  GlowCall call = {.nin = 1, .nout = 1, .in = (GlowBuf *)(uintptr_t)b, .out = &r};
  CHECK(glow_kernel_relayout(&call) == GLOW_RUN_OK);
  return r;
}

static void fill(GlowBuf *b, int64_t n) {
  static const float rare[] = {0.0f, -0.0f, 1e-42f, -3e-40f, 1.0f, 1e30f, -1e-30f};
  for (int64_t i = 0; i < n; i++)
    ((float *)b->data)[i] = draw() > 0.6 ? rare[(int)((draw() + 1) * 3.499)] : (float)draw();
}

static void convolve(const Case *k, GlowBuf *x, GlowBuf *u, GlowBuf *b, GlowBuf *y) {
  uint32_t pads[4] = {(uint32_t)k->top, (uint32_t)k->left, (uint32_t)k->bottom, (uint32_t)k->right};
  GlowConvolutionMembers m = {
      .group = 1, .pads = {4, pads}, .strategy = GLOW_CONV_STRATEGY_WINOGRAD};
  GlowBuf in[3] = {*x, *u, {.kind = GLOW_KIND_COUNT}};
  if (k->bias)
    in[2] = *b;
  GlowCall call = {.members = &m, .nin = 3, .nout = 1, .in = in, .out = y};
  call.scratch = aligned_alloc(64, (glow_scratch_convolution(&call) + 64) / 64 * 64);
  CHECK(glow_kernel_convolution(&call) == GLOW_RUN_OK);
  free(call.scratch);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static int64_t differing(const Case *k, const GlowBuf *x, const GlowBuf *u, const GlowBuf *b,
                         const GlowBuf *y) {
  int64_t oh = y->dims[2], ow = y->dims[3], side = k->side, wrong = 0;
  for (int n = 0; n < k->n; n++)
    for (int o = 0; o < k->o; o++)
      for (int64_t h = 0; h < oh; h++)
        for (int64_t w = 0; w < ow; w++) {
          float t[24], got = ((float *)y->data)[((n * k->o + o) * oh + h) * ow + w];
          tile(k, x->data, u->data, ((float *)b->data)[o], n, o, (int)(h / side * side),
               (int)(w / side * side), t);
          float want = t[h % side * (side + 2) + w % side];
          wrong += memcmp(&got, &want, 4) != 0 && !(isnan(got) && isnan(want));
        }
  return wrong;
}

static void check_case(const Case *k) {
  int64_t oh = k->h + k->top + k->bottom - 2, ow = k->w + k->left + k->right - 2;
  GlowBuf x = make(4, DIMS(k->n, k->c, k->h, k->w)), u = make(4, DIMS(k->side + 2, k->side + 2, k->o, k->c));
  GlowBuf b = make(1, DIMS(k->o)), y = make(4, DIMS(k->n, k->o, oh, ow));
  fill(&x, (int64_t)k->n * k->c * k->h * k->w);
  fill(&u, u.dims[0] * u.dims[1] * k->o * k->c);
  fill(&b, k->o);
  convolve(k, &x, &u, &b, &y);
  CHECK(differing(k, &x, &u, &b, &y) == 0);
  GlowBuf xb = blocked(&x, 1, (uint8_t[]){1}, (uint32_t[]){16});
  GlowBuf ub = blocked(&u, 2, (uint8_t[]){3, 2}, (uint32_t[]){16, 32});
  GlowBuf yb = blocked(&y, 1, (uint8_t[]){1}, (uint32_t[]){16});
  GlowBuf want = blocked(&y, 1, (uint8_t[]){1}, (uint32_t[]){16});
  size_t bytes = (size_t)(k->n * ((k->o + 15) / 16) * oh * ow) * 64;
  memset(yb.data, 1, bytes);
  convolve(k, &xb, &ub, &b, &yb);
  CHECK(memcmp(yb.data, want.data, bytes) == 0);
  GlowBuf *all[] = {&x, &u, &b, &y, &xb, &ub, &yb, &want};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    free(all[i]->data);
}

int main(void) {
  static const Case cases[] = {
      {0, 1, 1, 1, 3, 3, 0, 0, 0, 0, false},  {0, 1, 3, 2, 4, 4, 1, 1, 1, 1, true},
      {0, 2, 17, 33, 9, 7, 1, 1, 1, 1, true}, {0, 1, 16, 16, 8, 8, 0, 2, 1, 0, false},
      {0, 3, 5, 20, 6, 13, 2, 0, 2, 3, true}, {0, 1, 40, 3, 1, 2, 5, 4, 3, 2, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int side = 2; side <= 4; side += 2) {
      Case k = cases[i];
      k.side = side;
      check_case(&k);
    }
  return unit_finish();
}
