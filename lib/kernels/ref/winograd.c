/* Convolution by Winograd's F(4x4, 3x3) or F(2x2, 3x3), and the transform of their filters.
 *
 * A tile of 4x4 outputs comes from 6x6 inputs d, one of 2x2 from 4x4. With the matrices of
 * docs/Numerics it is
 *
 *   Y = A' M A,   M = sum over channels c of V[c] * U[c] (place by place),   V[c] = B' d[c] B
 *
 * where U = G g G' is what WinogradFilter makes of a filter g. Tiles are taken six at a time: their
 * V, then for 16 output channels the 36 or 16 places of M, each one chain of fused multiply-adds.
 */
#include "kernels/ref/winograd.h"
#include "kernels/ref/tile.h"
#include "kernels/winograd.h"

enum {
  MOST_POINTS = GLOW_WINOGRAD_MOST_POINTS,
  MOST_PLACES = GLOW_WINOGRAD_MOST_PLACES,
  MOST_SIDE = GLOW_WINOGRAD_LARGE,
  ROWS = GLOW_TILE_ROWS, /* tiles that are computed together */
  LANES = GLOW_TILE_COLUMNS
};

typedef struct Plan {
  const GlowBuf *x, *w, *b; /* b may be absent */
  GlowBuf *y;
  int64_t side, points;    /* of a tile: outputs and inputs along an axis */
  int64_t places;          /* points squared */
  int64_t in, out, panels; /* channels; groups of 16 output channels */
  int64_t top, left;       /* padding */
  int64_t down, across;    /* tiles of an image */
  size_t inputs_at, total; /* in scratch: U as [panel][place][in][16], then V */
} Plan;

static Plan plan_of(const GlowCall *call) {
  const GlowConvolutionMembers *m = call->members;
  Plan p = {.x = &call->in[0], .w = &call->in[1], .b = &call->in[2], .y = &call->out[0]};
  p.points = p.w->dims[0];
  p.side = p.points - 2;
  p.places = p.points * p.points;
  p.in = p.x->dims[1];
  p.out = p.y->dims[1];
  p.panels = (p.out + LANES - 1) / LANES;
  p.top = glow_listed(m->pads, 0, 0);
  p.left = glow_listed(m->pads, 1, 0);
  p.down = (p.y->dims[2] + p.side - 1) / p.side;
  p.across = (p.y->dims[3] + p.side - 1) / p.side;
  size_t size = p.x->kind == GLOW_KIND_DOUBLE ? sizeof(double) : sizeof(float);
  p.inputs_at = (size_t)(p.panels * p.places * p.in * LANES) * size;
  p.total = p.inputs_at + (size_t)(p.places * ROWS * p.in) * size;
  return p;
}

size_t glow_ref_winograd_scratch(const GlowCall *call) { return plan_of(call).total; }

/* Where a tile is: image, first row and column of its outputs. */
typedef struct Tile {
  int64_t n, h, w;
} Tile;

static Tile tile_at(const Plan *p, int64_t i) {
  return (Tile){i / (p->across * p->down), i / p->across % p->down * p->side,
                i % p->across * p->side};
}

#define T float
#define NAME(x) x##_float
#define LOAD glow_load_float
#define LOAD_RUN glow_run_load_float
#define STORE glow_store_float
#define FMA glow_fmaf
#include "kernels/ref/winograd_body.inc"

#define T double
#define NAME(x) x##_double
#define LOAD glow_load_double
#define LOAD_RUN glow_run_load_double
#define STORE glow_store_double
#define FMA glow_fma
#include "kernels/ref/winograd_body.inc"

GlowRunError glow_ref_winograd(GlowCall *call) {
  Plan p = plan_of(call);
  if (p.y->nblocks)
    glow_ref_clear(p.y);
  if (glow_buf_elements(p.y) > 0)
    (p.x->kind == GLOW_KIND_DOUBLE ? convolve_double : convolve_float)(&p, call->scratch);
  return GLOW_RUN_OK;
}

/* ---- Filters --------------------------------------------------------------------------------- */

enum { CHUNK = 32 }; /* filters at a time */

/* One axis of filters at the six points of F(4, 3), in double; elements are CHUNK filters. */
static void filter_points_4(const double *g, int64_t step, double *u, int64_t to) {
  const double a = (double)GLOW_WINOGRAD_A, b = (double)GLOW_WINOGRAD_B;
  const double a2 = (double)GLOW_WINOGRAD_A2, b2 = (double)GLOW_WINOGRAD_B2;
  const double at_0 = 1 / (a2 * b2), at_a = 1 / (2 * a2 * (a2 - b2)),
               at_b = 1 / (2 * b2 * (b2 - a2));
  step *= CHUNK;
  to *= CHUNK;
  for (int64_t c = 0; c < CHUNK; c++) {
    const double g0 = g[c], g1 = g[c + step], g2 = g[c + 2 * step];
    const double even_a = g0 + a2 * g2, odd_a = a * g1, even_b = g0 + b2 * g2, odd_b = b * g1;
    u[c] = at_0 * g0;
    u[c + to] = at_a * (even_a + odd_a);
    u[c + 2 * to] = at_a * (even_a - odd_a);
    u[c + 3 * to] = at_b * (even_b + odd_b);
    u[c + 4 * to] = at_b * (even_b - odd_b);
    u[c + 5 * to] = g2;
  }
}

/* The same at the four points of F(2, 3). */
static void filter_points_2(const double *g, int64_t step, double *u, int64_t to) {
  step *= CHUNK;
  to *= CHUNK;
  for (int64_t c = 0; c < CHUNK; c++) {
    const double even = g[c] + g[c + 2 * step], odd = g[c + step];
    u[c] = g[c];
    u[c + to] = 0.5 * (even + odd);
    u[c + 2 * to] = 0.5 * (even - odd);
    u[c + 3 * to] = g[c + 2 * step];
  }
}

/* n neighbours, each rounded once. */
static void store_rounded(GlowBuf *b, int64_t at, int64_t n, const double *v) {
  float *f = (float *)b->data + at;
  if (b->kind == GLOW_KIND_FLOAT)
    for (int64_t i = 0; i < n; i++)
      f[i] = (float)v[i];
  else
    for (int64_t i = 0; i < n; i++)
      glow_ref_store_number(b, at + i, v[i]);
}

/* Filters that are transformed together: n neighbours along an axis of W, which is a channel of
 * outputs (0) or inputs (1). */
typedef struct Group {
  int64_t o, c, n;
  int64_t run; /* so many along the axis are neighbours in U, and then so many others */
  uint32_t axis;
} Group;

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* One place of the group, in any layout of U. */
static void store_place(GlowBuf *u, const Group *g, int64_t place, const double *v) {
  const int64_t points = u->dims[0];
  int64_t at = glow_axis_offset(u, 0, place / points) + glow_axis_offset(u, 1, place % points);
  at += glow_axis_offset(u, g->axis == 0 ? 3 : 2, g->axis == 0 ? g->c : g->o);
  const int64_t first = g->axis == 0 ? g->o : g->c;
  for (int64_t i = 0, n; i < g->n; i += n) {
    n = least(g->n - i, g->run - (first + i) % g->run);
    store_rounded(u, at + glow_axis_offset(u, 2 + g->axis, first + i), n, v + i);
  }
}

static void transform_filters(const GlowBuf *w, GlowBuf *u, const Group *group) {
  double taps[CHUNK * 9], g[9 * CHUNK] = {0}, rows[MOST_POINTS * 3 * CHUNK],
                                places[MOST_PLACES * CHUNK];
  const int64_t points = u->dims[0], n = group->n;
  const int64_t at = group->o * w->strides[0] + group->c * w->strides[1];
  void (*filter_points)(const double *, int64_t, double *, int64_t) =
      points == MOST_POINTS ? filter_points_4 : filter_points_2;
  if (group->axis == 1)
    glow_load_real(w, at, 1, n * 9, taps);
  for (int64_t i = 0; group->axis == 0 && i < n; i++)
    glow_load_real(w, at + i * w->strides[0], 1, 9, taps + i * 9);
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < 9; k++)
      g[k * CHUNK + i] = taps[i * 9 + k];
  for (int64_t j = 0; j < 3; j++)
    filter_points(g + j * CHUNK, 3, rows + j * CHUNK, 3);
  for (int64_t i = 0; i < points; i++)
    filter_points(rows + 3 * i * CHUNK, 1, places + points * i * CHUNK, 1);
  for (int64_t k = 0; k < points * points; k++)
    store_place(u, group, k, places + k * CHUNK);
}

/* How many channels of U are neighbours along `axis`, from a multiple of that number on. */
static int64_t neighbours(const GlowBuf *u, uint32_t axis) {
  int64_t run = u->strides[axis] == 1 ? u->dims[axis] : 1;
  for (uint32_t i = 0; i < u->nblocks; i++)
    if (u->block_axis[i] == axis)
      run = u->block_stride[i] == 1 ? u->block_size[i] : 1;
  return run;
}

/* U may be in any layout. Where its neighbours are channels of outputs, these are transformed
 * together, else channels of inputs. */
GlowRunError glow_kernel_winograd_filter(GlowCall *call) {
  const GlowBuf *w = &call->in[0];
  GlowBuf *u = &call->out[0];
  const int64_t out = w->dims[0], in = w->dims[1];
  const uint32_t axis = neighbours(u, 2) > 1 ? 0 : 1;
  Group g = {.run = neighbours(u, 2 + axis), .axis = axis};
  glow_ref_clear_padding(u);
  for (g.o = 0; g.o < out; g.o += axis == 0 ? CHUNK : 1)
    for (g.c = 0; g.c < in; g.c += axis == 0 ? 1 : CHUNK) {
      g.n = least(axis == 0 ? out - g.o : in - g.c, CHUNK);
      transform_filters(w, u, &g);
    }
  return GLOW_RUN_OK;
}
