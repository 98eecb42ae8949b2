/* Convolutions: over blocks of channels, of few channels, depthwise, Winograd's, over plain
 * layouts; gradients of their filters. */
#include <stdio.h>
#include <string.h>

#include "test/library/cases.h"

enum { AXES = 3 };

/* Extents along the spatial axes. */
typedef struct Windows {
  int axes;
  int in[AXES], out[AXES], size[AXES], stride[AXES], dilation[AXES], pads[2 * AXES];
} Windows;

static int reach(const Windows *w, int a) { return (w->size[a] - 1) * w->dilation[a] + 1; }

/* With at least one output along each axis. */
static Windows draw_windows(Program *p, int axes, int most) {
  Windows w = {.axes = axes};
  bool dense = draw(p, 3) == 0, strided = draw(p, 2), dilated = draw(p, 4) == 0,
       padded = draw(p, 4);
  for (int a = 0; a < axes; a++) {
    w.size[a] = dense ? 1 : draw_in(p, 1, 3);
    w.stride[a] = strided ? draw_in(p, 1, 3) : 1;
    w.dilation[a] = dilated ? draw_in(p, 1, 3) : 1;
    for (int k = 0; k < 2 && !dense; k++)
      w.pads[a + k * axes] = padded ? draw_in(p, 0, 3) : 0;
    int pads = w.pads[a] + w.pads[a + axes], low = reach(&w, a) - pads;
    w.in[a] = draw_in(p, low < 1 ? 1 : low, low < 1 ? most : low + most);
    w.out[a] = (w.in[a] + pads - reach(&w, a)) / w.stride[a] + 1;
  }
  return w;
}

/* Windows as networks have them: of one size, undilated, padded by half of it at most, so that
 * kernels have tiles for them. Sizes: 1, 3, 5 or 7 up to `most_size`. */
static Windows draw_usual_windows(Program *p, int low_size, int most_size, int most) {
  Windows w = {.axes = 2};
  int size = draw_in(p, low_size / 2, most_size / 2) * 2 + 1, stride = draw_in(p, 1, 2);
  for (int a = 0; a < 2; a++) {
    w.size[a] = size;
    w.stride[a] = stride;
    w.dilation[a] = 1;
    w.pads[a] = draw_in(p, 0, size / 2);
    w.pads[a + 2] = draw_in(p, 0, size / 2);
    w.in[a] = draw_in(p, size, size + most);
    w.out[a] = (w.in[a] + w.pads[a] + w.pads[a + 2] - size) / stride + 1;
  }
  return w;
}

static void put_windows(Program *p, const Windows *w) {
  put(p, " {strides = ");
  put_list(p, w->axes, w->stride);
  put(p, ", pads = ");
  put_list(p, 2 * w->axes, w->pads);
  put(p, ", dilations = ");
  put_list(p, w->axes, w->dilation);
  put(p, ", ");
}

static int whole_filter(const Program *p) { return (int)(p->isa->vl * p->isa->tile_vectors); }
static int draw_block(Program *p) { return draw(p, 2) ? 16 : whole_filter(p); }
/* The layout of filters with so many input and output channels in a block. */
static void write_filter(int in, int out, char layout[32]) {
  if (in == 1)
    snprintf(layout, 32, "OIHW%do", out);
  else
    snprintf(layout, 32, "OIHW%di%do", in, out);
}
static int draw_channels(Program *p, int most) {
  return draw(p, 2) ? 16 * draw_in(p, 1, most / 16) : draw_in(p, 1, most);
}

/* ---- Over blocks of channels ----------------------------------------------------------------- */

/* A convolution of two spatial axes that makes blocks of channels. */
typedef struct Blocked {
  int n, groups, ic, oc; /* ic: of a group; oc: of all */
  const char *x, *filter;
  Windows w;
  const char *members;
  GlowKind x_kind, y_kind; /* what X and Y are stored as */
} Blocked;

/* Of X and Y, one or both in 16 bits. */
static void draw_stored(Program *p, Blocked *c) {
  const GlowKind kind = draw(p, 2) ? GLOW_KIND_FLOAT16 : GLOW_KIND_BFLOAT16;
  const uint32_t which = draw(p, 3);
  c->x_kind = which == 0 ? GLOW_KIND_FLOAT : kind;
  c->y_kind = which == 1 ? GLOW_KIND_FLOAT : kind;
}

/* The epilogue, whose result is cast to what Y is stored as. */
static void put_stored_epilogue(Program *p, const Epilogue *e, GlowKind kind) {
  const char *name = glow_kind_info[kind].name;
  const char *end = e->body ? strstr(e->body, " yield ") : NULL;
  if (kind == GLOW_KIND_FLOAT)
    put_epilogue(p, e);
  else if (!end)
    put(p, "    ^epilogue(%%a : float<>) = { %%y = Cast(%%a) {to = %s} : %s<> yield %%y }\n", name,
        name);
  else
    put(p, "%.*s %%y = Cast(%.2s) {to = %s} : %s<> yield %%y }\n", (int)(end - e->body), e->body,
        end + strlen(" yield "), name, name);
}

/* X, or the inside of a larger one. The operand's text. */
static void put_input(Program *p, const Shape *x, char operand[16]) {
  Shape whole = *x;
  bool inside = x->layout && draw(p, 4) == 0;
  int down = draw_in(p, 0, 2), across = draw_in(p, 0, 2);
  if (inside) {
    whole.dims[2] += down + draw_in(p, 0, 2);
    whole.dims[3] += across + draw_in(p, 0, 2);
  }
  int v = declare(p, &whole), row = 16 * whole.dims[3], plane = row * whole.dims[2];
  snprintf(operand, 16, "%cv%d", inside ? '%' : '@', v);
  if (!inside)
    return;
  put(p, "  %%v%d = tensorview @v%d {offset = %d, strides = [%d, %d, %d, 16, 1]} : ", v, v,
      down * row + across * 16, (x->dims[1] + 15) / 16 * plane, plane, row);
  put_type(&p->body, x);
  put(p, "\n");
}

static void put_blocked(Program *p, const Blocked *c) {
  const Windows *w = &c->w;
  const Shape x = shape(c->x_kind, c->x, 4, c->n, c->ic * c->groups, w->in[0], w->in[1]);
  const Shape map = shape(GLOW_KIND_FLOAT, "NCHW16c", 4, c->n, c->oc, w->out[0], w->out[1]);
  const Shape f = shape(GLOW_KIND_FLOAT, c->filter, 4, c->oc, c->ic, w->size[0], w->size[1]);
  const Shape bias = shape(GLOW_KIND_FLOAT, NULL, 1, c->oc);
  Epilogue e = draw_epilogue(p);
  Shape y = map;
  y.kind = c->y_kind;
  char input[16];
  put_input(p, &x, input);
  put(p, "  convolution @out @v%d, @in %s", declare(p, &y), input);
  put(p, ", @in @v%d", declare(p, &f));
  if (draw(p, 2))
    put(p, ", @in @v%d", declare(p, &bias));
  else
    put(p, ", @in none");
  put_epilogue_operands(p, &e, &map, 1);
  put_windows(p, w);
  put(p, "group = %d, %s", c->groups, c->members);
  put_shards(p);
  put_stored_epilogue(p, &e, c->y_kind);
}

/* Whether pieces of so many pixels cover a row, the last of them one pixel narrower. */
static bool covers(int width, int cols) {
  return cols <= width && (width + cols - 1) / cols * (cols - 1) <= width;
}

/* None, mostly; or one that the machine has: of one row, and if it is not `single` of several, or
 * of pixels anywhere. */
static void draw_tile(Program *p, const Windows *w, bool single, char text[64]) {
  int pixels = (int)p->isa->tile_pixels, width = w->out[1];
  int rows = draw_in(p, 1, 4), cols = draw_in(p, 1, pixels), how = draw_in(p, 0, 7);
  text[0] = 0;
  if (how == 0 && covers(width, cols))
    snprintf(text, 64, "tile = [1, %d], ", cols);
  else if (how == 1 && !single && rows * width <= pixels)
    snprintf(text, 64, "tile = [%d, %d], ", rows, width);
  else if (how == 2 && !single && pixels >= 6 && pixels <= 8)
    snprintf(text, 64, "tile = [%d], ", cols);
}

static void put_conv(Program *p, bool stored) {
  char filter[32], tile[64];
  int ob = draw_block(p);
  Blocked c = {.n = draw_in(p, 1, 3), .groups = 1, .x = "NCHW16c", .filter = filter};
  c.ic = draw_channels(p, 48);
  c.oc = draw_channels(p, 80);
  int grouped = draw(p, 8);
  if (grouped < 2) {
    c.groups = draw_in(p, 2, 3);
    c.ic = 16 * draw_in(p, 1, 2);
    c.oc = c.groups * ob * draw_in(p, 1, 2);
  } else if (grouped == 2) { /* two groups share a block */
    ob = 16;
    c.groups = 2 * draw_in(p, 1, 3);
    c.ic = 8;
    c.oc = c.groups * c.ic;
  }
  c.w = draw(p, 3) ? draw_windows(p, 2, 9) : draw_usual_windows(p, 1, 3, 15);
  write_filter(grouped == 2 || (c.ic < 16 && draw(p, 2)) ? c.ic : 16, ob, filter);
  draw_tile(p, &c.w, false, tile);
  c.members = tile;
  if (stored)
    draw_stored(p, &c);
  put_blocked(p, &c);
}
void case_conv(Program *p) { put_conv(p, false); }
void case_conv_stored(Program *p) { put_conv(p, true); }

void case_conv_few(Program *p) {
  char filter[32], tile[64];
  Blocked c = {.n = draw_in(p, 1, 3), .groups = 1, .filter = filter, .members = tile};
  bool image = draw(p, 3) == 0; /* as in the first layer of a network */
  c.ic = image ? 3 : draw_in(p, 1, 15);
  c.oc = image ? 16 * draw_in(p, 1, 5) : draw_channels(p, 80);
  c.w = image ? draw_usual_windows(p, 3, 7, 20) : draw_windows(p, 2, 9);
  draw_tile(p, &c.w, true, tile);
  write_filter(image || draw(p, 2) ? c.ic : 16, image ? whole_filter(p) : draw_block(p), filter);
  put_blocked(p, &c);
}

static void put_depthwise(Program *p, bool stored) {
  Blocked c = {.n = draw_in(p, 1, 3), .ic = 1, .x = "NCHW16c", .filter = "OIHW16o", .members = ""};
  c.groups = c.oc = draw_channels(p, 48);
  c.w = draw(p, 2) ? draw_windows(p, 2, 16) : draw_usual_windows(p, 3, 7, 30);
  if (stored)
    draw_stored(p, &c);
  put_blocked(p, &c);
}
void case_depthwise(Program *p) { put_depthwise(p, false); }
void case_depthwise_stored(Program *p) { put_depthwise(p, true); }

void case_winograd(Program *p) {
  char filter[32];
  int side = draw(p, 2) ? 4 : 2, n = draw_in(p, 1, 3), oc = draw_channels(p, 48);
  int ic = draw_channels(p, 32), pads[4] = {0};
  for (int i = 0; i < 4; i++)
    pads[i] = draw_in(p, 0, 2);
  int h = draw_in(p, 3, 14), w = draw_in(p, 3, 14);
  int oh = h + pads[0] + pads[2] - 2, ow = w + pads[1] + pads[3] - 2;
  bool pool = draw(p, 3) == 0 && oh > 1 && ow > 1;
  snprintf(filter, sizeof filter, "HWOI16i%do", whole_filter(p));
  const Shape x = shape(GLOW_KIND_FLOAT, "NCHW16c", 4, n, ic, h, w),
              map = shape(GLOW_KIND_FLOAT, "NCHW16c", 4, n, oc, oh, ow);
  const Shape y =
      shape(GLOW_KIND_FLOAT, "NCHW16c", 4, n, oc, pool ? oh / 2 : oh, pool ? ow / 2 : ow);
  const Shape f = shape(GLOW_KIND_FLOAT, filter, 4, side + 2, side + 2, oc, ic),
              bias = shape(GLOW_KIND_FLOAT, NULL, 1, oc);
  Epilogue e = draw_epilogue(p);
  put(p, "  convolution @out @v%d, @in @v%d", declare(p, &y), declare(p, &x));
  put(p, ", @in @v%d, @in @v%d", declare(p, &f), declare(p, &bias));
  put_epilogue_operands(p, &e, &map, 1);
  put(p, " {strategy = winograd, pads = ");
  put_list(p, 4, pads);
  put(p, ", ");
  if (pool)
    put(p, "pool_kernels = [2, 2], pool_strides = [2, 2], ");
  if (draw(p, 3) == 0)
    put(p, "tile = [1, %d], ", draw_in(p, 1, 9));
  put_shards(p);
  put_epilogue(p, &e);
}

/* ---- Over plain layouts ---------------------------------------------------------------------- */

/* Images, channels and places, or channels behind the places. */
static Shape image(GlowKind kind, int n, int channels, const int *places, int axes, bool nhwc) {
  Shape s = {.kind = kind, .rank = axes + 2, .dims = {n}};
  s.dims[nhwc ? axes + 1 : 1] = channels;
  for (int a = 0; a < axes; a++)
    s.dims[(nhwc ? 1 : 2) + a] = places[a];
  return s;
}

/* The input of a transposed convolution is the output of the one whose windows these are. */
static void turn_around(Program *p, Windows *w, int *output_padding) {
  for (int a = 0; a < w->axes; a++) {
    int most = w->stride[a] > w->dilation[a] ? w->stride[a] : w->dilation[a];
    int least = reach(w, a) - w->pads[a] - w->pads[a + w->axes];
    output_padding[a] = draw_in(p, 0, most - 1);
    w->in[a] = draw_in(p, 1, 5);
    if (least + output_padding[a] + (w->in[a] - 1) * w->stride[a] < 1)
      w->pads[a] = w->pads[a + w->axes] = 0;
    least = reach(w, a) - w->pads[a] - w->pads[a + w->axes];
    w->out[a] = (w->in[a] - 1) * w->stride[a] + least + output_padding[a];
  }
}

void case_conv_plain(Program *p) {
  int axes = draw_in(p, 1, AXES), groups = draw(p, 3) ? 1 : draw_in(p, 2, 3), n = draw_in(p, 1, 2);
  int ic = draw_in(p, 1, 9), oc = draw_in(p, 1, 20), output_padding[AXES] = {0};
  bool nhwc = draw(p, 2), transposed = draw(p, 2);
  GlowKind kind = draw_kind(p, FLOATS & ~GLOW_KIND_BIT(GLOW_KIND_DOUBLE));
  Windows w = draw_windows(p, axes, axes == 1 ? 40 : axes == 2 ? 8 : 3);
  if (transposed)
    turn_around(p, &w, output_padding);
  const Shape x = image(kind, n, ic * groups, w.in, axes, nhwc);
  const Shape y = image(kind, n, oc * groups, w.out, axes, nhwc);
  const Shape f = transposed ? image(kind, ic * groups, oc, w.size, axes, nhwc)
                             : image(kind, oc * groups, ic, w.size, axes, nhwc);
  const Shape bias = shape(kind, NULL, 1, oc * groups);
  Epilogue e = kind == GLOW_KIND_FLOAT && !nhwc ? draw_epilogue(p) : (Epilogue){0};
  put(p, "  %s @out @v%d", transposed ? "conv_transpose" : "convolution", declare(p, &y));
  put(p, ", @in @v%d, @in @v%d", declare(p, &x), declare(p, &f));
  if (draw(p, 2))
    put(p, ", @in @v%d", declare(p, &bias));
  else
    put(p, ", @in none");
  put_epilogue_operands(p, &e, &y, 1);
  put_windows(p, &w);
  put(p, "layout = %s, group = %d, ", nhwc ? "NHWC" : "NCHW", groups);
  if (transposed) {
    put(p, "output_padding = ");
    put_list(p, axes, output_padding);
    put(p, ", ");
  }
  put_shards(p);
  put_epilogue(p, &e);
}

/* Channels that blocks hold, if there are groups. */
static const char *draw_blocks(Program *p, int groups, int channels) {
  return (groups == 1 || channels % 16 == 0) && draw(p, 2) ? "NCHW16c" : NULL;
}

void case_filter_gradient(Program *p) {
  int axes = draw_in(p, 1, 2), groups = draw(p, 3) ? 1 : draw_in(p, 2, 3), n = draw_in(p, 1, 3);
  bool few = draw(p, 4) == 0;
  int ic = few ? draw_in(p, 1, 4) : draw_channels(p, 48);
  int oc = few ? draw_in(p, 1, 8) : draw_channels(p, 80);
  Windows w = draw_windows(p, axes, axes == 1 ? 40 : 8);
  Shape x = image(GLOW_KIND_FLOAT, n, ic * groups, w.in, axes, false);
  Shape dy = image(GLOW_KIND_FLOAT, n, oc * groups, w.out, axes, false);
  const Shape f = image(GLOW_KIND_FLOAT, oc * groups, ic, w.size, axes, false);
  if (axes == 2) {
    x.layout = draw_blocks(p, groups, ic);
    dy.layout = draw_blocks(p, groups, oc);
  }
  put(p, "  filter_gradient @out @v%d", declare(p, &f));
  put(p, ", @in @v%d", declare(p, &x));
  put(p, ", @in @v%d", declare(p, &dy));
  put_windows(p, &w);
  put(p, "kernels = ");
  put_list(p, axes, w.size);
  put(p, ", group = %d, ", groups);
  put_shards(p);
}

/* ---- Of bytes -------------------------------------------------------------------------------- */

static void put_bytes(Program *p, const Shape *x, Shape *f, const Shape *y, const Windows *w,
                      int groups, bool nhwc) {
  const GlowKindSet bytes = GLOW_KIND_BIT(GLOW_KIND_I8) | GLOW_KIND_BIT(GLOW_KIND_U8);
  const Shape one = shape(x->kind, NULL, 0);
  f->kind = draw_kind(p, bytes);
  const Shape zeros = shape(f->kind, NULL, draw(p, 2), y->dims[nhwc ? y->rank - 1 : 1]);
  put(p, "  conv_integer @out @v%d, @in @v%d", declare(p, y), declare(p, x));
  put(p, ", @in @v%d", declare(p, f));
  if (draw(p, 4))
    put(p, ", @in @v%d", declare(p, &one));
  else
    put(p, ", @in none");
  if (draw(p, 2))
    put(p, ", @in @v%d", declare(p, &zeros));
  else
    put(p, ", @in none");
  put_windows(p, w);
  put(p, "layout = %s, group = %d, ", nhwc ? "NHWC" : "NCHW", groups);
  put_shards(p);
}

void case_dot_conv(Program *p) {
  const GlowKindSet bytes = GLOW_KIND_BIT(GLOW_KIND_I8) | GLOW_KIND_BIT(GLOW_KIND_U8);
  char layout[32];
  int axes = draw_in(p, 1, 2), groups = draw(p, 3) ? 1 : draw_in(p, 2, 3), n = draw_in(p, 1, 2);
  int ic = draw(p, 3) ? draw_in(p, 1, 20) : 64, oc = draw_in(p, 1, 70);
  bool nhwc = draw(p, 4) > 0, packed = axes == 2 && groups == 1 && nhwc && draw(p, 2);
  Windows w = draw(p, 2) && axes == 2 ? draw_usual_windows(p, 1, 3, 12)
                                      : draw_windows(p, axes, axes == 1 ? 60 : 9);
  const Shape x = image(draw_kind(p, bytes), n, ic * groups, w.in, axes, nhwc);
  const Shape y = image(GLOW_KIND_I32, n, oc * groups, w.out, axes, nhwc);
  Shape f = image(GLOW_KIND_I8, oc * groups, ic, w.size, axes, nhwc);
  if (packed) {
    if (ic > 4)
      snprintf(layout, sizeof layout, "OHWI%di16o4i", (ic + 3) / 4);
    f.layout = ic > 4 ? layout : "OHWI16o4i";
  }
  put_bytes(p, &x, &f, &y, &w, groups, nhwc);
}

/* Of floats rounded to bfloat16: at times so small that products are denormal. */
void case_bf16(Program *p) {
  char layout[32];
  const bool product = draw(p, 3) == 0, pair = draw(p, 2);
  const int n = draw_in(p, 1, 2), rows = draw_in(p, 1, 40);
  const int oc = product || pair ? draw_in(p, 2, 70) : 16 * draw_in(p, 1, 5);
  const int ic = draw(p, 3) ? draw_in(p, 2, 40) : 16 * draw_in(p, 1, 9), pairs = (ic + 1) / 2;
  const Windows w = draw(p, 2) ? draw_usual_windows(p, 1, 3, 9) : draw_windows(p, 2, 7);
  Shape x = image(GLOW_KIND_FLOAT, n, ic, w.in, 2, false);
  Shape y = image(GLOW_KIND_FLOAT, n, oc, w.out, 2, false);
  Shape f = image(GLOW_KIND_BFLOAT16, oc, ic, w.size, 2, false);
  const Shape bias = shape(GLOW_KIND_FLOAT, NULL, 1, oc);
  if (product) {
    x = shape(GLOW_KIND_FLOAT, NULL, 3, n, rows, ic);
    y = shape(GLOW_KIND_FLOAT, NULL, 3, n, rows, oc);
    f = shape(GLOW_KIND_BFLOAT16, NULL, 2, ic, oc);
  } else {
    y.layout = "NCHW16c";
    x.layout = draw(p, 2) ? "NCHW16c" : NULL;
  }
  const char *text = product ? "KN%dk16n2k" : "OIHW%di16o2i";
  snprintf(layout, sizeof layout, text, pairs);
  f.layout = pairs > 1 ? layout : product ? "KN16n2k" : "OIHW16o2i";
  const Epilogue e = draw_epilogue(p);
  put(p, "  %s @out @v%d", product ? "mat_mul" : "convolution", declare(p, &y));
  put(p, ", @in @v%d", draw(p, 3) ? declare(p, &x) : declare_tiny(p, &x));
  put(p, ", @in @v%d", declare(p, &f));
  if (!product && draw(p, 2))
    put(p, ", @in @v%d", declare(p, &bias));
  else if (!product)
    put(p, ", @in none");
  put_epilogue_operands(p, &e, &y, product ? 2 : 1);
  if (product)
    put(p, " {");
  else
    put_windows(p, &w);
  put(p, pair ? "strategy = bf16, order = pair, " : "strategy = bf16, ");
  put_shards(p);
  put_epilogue(p, &e);
}

/* What follows sums of bytes that their kernel finishes itself. Extra operands are what sums begin
 * with, if they have no bias, then so many factors, then bytes of the shape of the result. */
typedef struct Finish {
  GlowKind kind;
  int starts, factors;
  const char *added, *quantized; /* NULL: nothing is added; the result is not quantized */
  const char *body;
} Finish;

#define REAL "%f = Cast(%a) {to = float} : float<> "
#define SCALED REAL "%r = MulAdd(%f, %m, %b) : float<> "
#define LAST(type) "%y = Quantize(%t) {steps = true} : " type " yield %y }\n"
static const Finish finishes[] = {
    {GLOW_KIND_I32, 0, 0, NULL, NULL, ""},
    {GLOW_KIND_I32, 1, 0, NULL, NULL,
     "    ^epilogue(%a : i32<>, %c : i32<>) = {%s = Add(%c, %a) : i32<> yield %s }\n"},
    {GLOW_KIND_U8, 1, 1, NULL, "S:0.5 O:7",
     "    ^epilogue(%n : i32<>, %c : i32<>, %m : float<>) = {%a = Add(%n, %c) : i32<> " REAL
     "%t = Mul(%f, %m) : float<> " LAST("u8[S:0.5 O:7]<>")},
    {GLOW_KIND_FLOAT, 0, 0, NULL, NULL, "    ^epilogue(%a : i32<>) = {" REAL "yield %f }\n"},
    {GLOW_KIND_FLOAT, 0, 2, NULL, NULL,
     "    ^epilogue(%a : i32<>, %m : float<>, %b : float<>) = {" SCALED
     "%t = Relu(%r) : float<> yield %t }\n"},
    {GLOW_KIND_U8, 0, 1, NULL, "S:0.5 O:7",
     "    ^epilogue(%a : i32<>, %m : float<>) = {" REAL
     "%t = Mul(%m, %f) : float<> " LAST("u8[S:0.5 O:7]<>")},
    {GLOW_KIND_I8, 0, 2, "S:0.25 O:-9", "S:0.5 O:-128",
     "    ^epilogue(%a : i32<>, %m : float<>, %b : float<>, %s : i8[S:0.25 O:-9]<>) = {" SCALED
     "%d = Dequantize(%s) {steps = true} : float<> %k = Splat() {value = 0.75} : float<> "
     "%t = MulAdd(%k, %d, %r) : float<> " LAST("i8[S:0.5 O:-128]<>")},
    {GLOW_KIND_U8, 0, 2, "S:0.25 O:3", "S:0.5 O:255",
     "    ^epilogue(%a : i32<>, %m : float<>, %b : float<>, %s : u8[S:0.25 O:3]<>) = {" SCALED
     "%d = Dequantize(%s) {steps = true} : float<> %c = Add(%r, %d) : float<> "
     "%l = Splat() {value = -90.5} : float<> %h = Splat() {value = 6.0} : float<> "
     "%t = Clip(%c, %l, %h) : float<> " LAST("u8[S:0.5 O:255]<>")},
    {GLOW_KIND_I8, 0, 2, NULL, "S:0.5 O:-5",
     "    ^epilogue(%a : i32<>, %m : float<>, %b : float<>) = {" SCALED
     "%l = Splat() {value = 6.0} : float<> %h = Splat() {value = 70.0} : float<> "
     "%t = Clip(%r, %l, %h) : float<> " LAST("i8[S:0.5 O:-5]<>")},
    {GLOW_KIND_I8, 0, 2, NULL, "S:0.5 O:3",
     "    ^epilogue(%a : i32<>, %m : float<>, %b : float<>) = {" SCALED
     "%t = Relu(%r) : float<> " LAST("i8[S:0.5 O:3]<>")}};
#undef REAL
#undef SCALED
#undef LAST

/* The factors and terms of a finish, one for all channels or one for each of them. */
static void put_factors(Program *p, const Finish *f, const Shape *each) {
  const Shape factor = shape(GLOW_KIND_FLOAT, NULL, 0);
  const bool small = draw(p, 2); /* so that bytes are packed from rounded results */
  for (int i = 0; i < f->factors; i++) {
    const Shape *s = draw(p, 3) == 0 ? &factor : each;
    put(p, ", @in @v%d", small ? declare_small(p, s) : declare(p, s));
  }
}

/* A Convolution with a filter for each channel, in one block of channels or in the order NHWC. */
static void put_lanes(Program *p, Shape x, Shape y, Shape filter, const Windows *w, int channels) {
  char layout[32];
  const Finish *f = &finishes[draw(p, sizeof finishes / sizeof *finishes)];
  const bool nhwc = draw(p, 2);
  const Shape start = shape(GLOW_KIND_I32, NULL, 1, channels);
  const Shape starts = shape(GLOW_KIND_I32, NULL, 3, channels, 1, 1);
  const Shape each = shape(GLOW_KIND_FLOAT, NULL, 1, channels);
  const Shape all = shape(GLOW_KIND_FLOAT, NULL, 3, channels, 1, 1);
  while (f->added) /* which the kernel does not */
    f--;
  snprintf(layout, sizeof layout, "NCHW%dc", channels);
  x = image(x.kind, x.dims[0], channels, w->in, 2, nhwc);
  y = image(f->kind, y.dims[0], channels, w->out, 2, nhwc);
  filter = image(filter.kind, channels, 1, w->size, 2, nhwc);
  x.layout = y.layout = nhwc ? NULL : layout;
  y.quantized = f->quantized;
  put(p, "  convolution @out @v%d, @in @v%d", declare(p, &y), declare(p, &x));
  put(p, ", @in @v%d", declare(p, &filter));
  if (!f->starts && draw(p, 2))
    put(p, ", @in @v%d", declare(p, &start));
  else
    put(p, ", @in none");
  if (f->starts)
    put(p, ", @in @v%d", declare(p, nhwc ? &start : &starts));
  put_factors(p, f, nhwc ? &each : &all);
  put_windows(p, w);
  put(p, "layout = %s, group = %d, pad = %d, ", nhwc ? "NHWC" : "NCHW", channels,
      draw_in(p, 0, 127));
  put_shards(p);
  put(p, "%s", f->body);
}

void case_dot_lanes(Program *p) {
  const GlowKindSet bytes = GLOW_KIND_BIT(GLOW_KIND_I8) | GLOW_KIND_BIT(GLOW_KIND_U8);
  int channels = draw(p, 2) ? draw_channels(p, 48) : draw_in(p, 60, 150), n = draw_in(p, 1, 2);
  Windows w = draw(p, 2) ? draw_windows(p, 2, 9) : draw_usual_windows(p, 3, 5, 9);
  const Shape x = image(draw_kind(p, bytes), n, channels, w.in, 2, true);
  const Shape y = image(GLOW_KIND_I32, n, channels, w.out, 2, true);
  Shape f = image(GLOW_KIND_I8, channels, 1, w.size, 2, true);
  if (channels > 1 && draw(p, 2)) {
    put_lanes(p, x, y, f, &w, channels);
    return;
  }
  put_bytes(p, &x, &f, &y, &w, channels, true);
}

/* A convolution in one block of channels, or in the order NHWC, or of few plain channels; or a
 * product. */
void case_narrow(Program *p) {
  const GlowKindSet bytes = GLOW_KIND_BIT(GLOW_KIND_I8) | GLOW_KIND_BIT(GLOW_KIND_U8);
  const Finish *f = &finishes[draw(p, sizeof finishes / sizeof *finishes)];
  char layouts[3][32];
  const int order = (int)draw(p, 4), n = draw_in(p, 1, 2), oc = draw_in(p, 2, 70);
  const bool nhwc = order == 1, product = order == 3;
  int ic = draw(p, 3) ? draw_in(p, 2, 20) : 16 * draw_in(p, 1, 9), rows = draw_in(p, 1, 60);
  Windows w = draw(p, 2) ? draw_usual_windows(p, 1, 3, 12) : draw_windows(p, 2, 9);
  Shape x = image(draw_kind(p, bytes), n, ic, w.in, 2, nhwc);
  Shape y = image(f->kind, n, oc, w.out, 2, nhwc);
  Shape filter = image(GLOW_KIND_I8, oc, ic, w.size, 2, nhwc);
  if (product) {
    x = shape(x.kind, NULL, 2, rows, ic);
    y = shape(f->kind, NULL, 2, rows, oc);
    filter = shape(GLOW_KIND_I8, NULL, 2, ic, oc);
  }
  for (int i = 0; i < 2; i++)
    snprintf(layouts[i], sizeof layouts[i], "NCHW%dc", i ? oc : ic);
  snprintf(layouts[2], sizeof layouts[2], ic > 4 ? "%s%d%s16%s4%s" : "%s%.0d%.0s16%s4%s",
           product ? "KN"
           : nhwc  ? "OHWI"
                   : "OIHW",
           ic > 4 ? (ic + 3) / 4 : 0, product ? "k" : "i", product ? "n" : "o",
           product ? "k" : "i");
  filter.layout = layouts[2];
  if (order == 0 || order == 2)
    y.layout = layouts[1];
  if (order == 0)
    x.layout = layouts[0];
  y.quantized = f->quantized;
  const Shape each = shape(GLOW_KIND_FLOAT, NULL, 1, oc);
  const Shape channels = shape(GLOW_KIND_FLOAT, NULL, 3, oc, 1, 1);
  const Shape bias = shape(GLOW_KIND_I32, NULL, 1, oc);
  const Shape starts = shape(GLOW_KIND_I32, NULL, 3, oc, 1, 1);
  Shape added = y;
  added.quantized = f->added;
  put(p, "  %s @out @v%d, @in @v%d", product ? "mat_mul" : "convolution", declare(p, &y),
      declare(p, &x));
  put(p, ", @in @v%d", declare(p, &filter));
  if (!product && !f->starts && draw(p, 2))
    put(p, ", @in @v%d", declare(p, &bias));
  else if (!product)
    put(p, ", @in none");
  if (f->starts)
    put(p, ", @in @v%d", declare(p, product || nhwc ? &bias : &starts));
  put_factors(p, f, product || nhwc ? &each : &channels);
  if (f->added)
    put(p, ", @in @v%d", declare(p, &added));
  if (product) {
    put(p, " {");
  } else {
    put_windows(p, &w);
    put(p, "layout = %s, pad = %d, ", nhwc ? "NHWC" : "NCHW", draw_in(p, 0, 127));
  }
  put_shards(p);
  put(p, "%s", f->body);
}
