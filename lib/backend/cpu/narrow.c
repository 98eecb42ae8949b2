/* Convolutions and products of narrow integers by filters that are packed, with the epilogues that
 * their kernel has in its stores; and convolutions with a filter for each channel. */
#include "target/cpu/setup/narrow.h"
#include "backend/cpu/conv.h"
#include "cpu/work.h"
#include "ir/infer.h"
#include "target/cpu/requantize.h"

#include <math.h>
#include <string.h>

/* A map as its kernel sees it: an element is at n * image + h * row + w * pixel + c * channel. */
typedef struct Map {
  int64_t images, rows, columns, channels;
  int64_t image, row, pixel, channel;
} Map;

/* A map, plain or in one block of channels; rows are pixels of one row. */
static bool read_map(GlowSelect *s, const GlowView *v, GlowEnumLayout order, Map *m) {
  const int64_t *d = v->dims, *t = v->strides;
  const GlowType *type = v->type;
  bool block = type->layout && v->rank == 5 && d[1] == 1 && type->layout->nblocks == 1 &&
               type->layout->blocks[0].axis == 1 && order == GLOW_LAYOUT_NCHW;
  if (block)
    *m = (Map){d[0], d[2], d[3], type->dims[1].size, t[0], t[2], t[3], t[4]};
  else if (v->rank == 4 && !type->layout && order == GLOW_LAYOUT_NCHW)
    *m = (Map){d[0], d[2], d[3], d[1], t[0], t[2], t[3], t[1]};
  else if (v->rank == 4 && !type->layout && order == GLOW_LAYOUT_NHWC)
    *m = (Map){d[0], d[1], d[2], d[3], t[0], t[1], t[2], t[3]};
  else
    return glow_select_fail(s, "its operands are no maps of two axes whose channels lie together");
  return true;
}

/* An extra operand with a number for each of `channels`, or one for all. */
static bool read_term(GlowSelect *s, const GlowNode *n, const GlowRequantizeTerm *t,
                      int64_t channels, GlowPlace *place, int64_t *count) {
  GlowView v;
  *place = glow_place_absent();
  *count = 0;
  if (t->extra < 0)
    return true;
  const GlowValue *x = n->operands[n->noperands - n->nextra + (uint32_t)t->extra].value;
  if (!glow_select_dense(s, x, &v))
    return false;
  *place = v.place;
  *count = glow_view_extent(&v, 0, v.rank);
  return v.type->kind == GLOW_KIND_FLOAT &&
         (*count == 1 || *count == channels ||
          glow_select_fail(s, "its epilogue has factors that are not those of channels"));
}

/* The extra operand that sums begin with, a number for each of `channels`. */
static bool read_start(GlowSelect *s, const GlowNode *n, int extra, int64_t channels,
                       GlowPlace *place) {
  GlowView v;
  if (!glow_select_dense(s, n->operands[n->noperands - n->nextra + (uint32_t)extra].value, &v))
    return false;
  *place = v.place;
  return (v.type->kind == GLOW_KIND_I32 && glow_view_extent(&v, 0, v.rank) == channels) ||
         glow_select_fail(s, "its epilogue adds integers that are not those of channels");
}

static int64_t bits_of(float f) {
  int32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

/* An epilogue as both kernels take it, and what it says. */
typedef struct Finish {
  GlowRequantize r;
  GlowPlace scale, bias;
  int64_t scales, biases, result;
  bool is_signed, bounded; /* the result, if it is bytes */
} Finish;

/* The epilogue of n for `channels`; where an extra operand says what sums begin with, *start. */
static bool read_finish(GlowSelect *s, const GlowNode *n, const GlowType *y, int64_t channels,
                        Finish *f, GlowPlace *start) {
  const GlowRequantize *r = &f->r;
  if (!glow_requantize_match(n, &f->r))
    return glow_select_fail(s, "its epilogue has another form than its kernel");
  if (!read_term(s, n, &r->scale, channels, &f->scale, &f->scales) ||
      !read_term(s, n, &r->bias, channels, &f->bias, &f->biases))
    return false;
  if (r->start >= 0 && !read_start(s, n, r->start, channels, start))
    return false;
  f->result = r->stage <= GLOW_REQUANTIZE_WHOLE_SUM ? GLOW_NARROW_RESULT_SUMS
              : r->stage == GLOW_REQUANTIZE_BYTES   ? GLOW_NARROW_RESULT_BYTES
                                                    : GLOW_NARROW_RESULT_REALS;
  GlowKind kind = f->result == GLOW_NARROW_RESULT_SUMS    ? GLOW_KIND_I32
                  : f->result == GLOW_NARROW_RESULT_REALS ? GLOW_KIND_FLOAT
                                                          : y->kind;
  const bool bytes = f->result == GLOW_NARROW_RESULT_BYTES;
  f->is_signed = bytes && y->kind == GLOW_KIND_I8;
  const float least = (f->is_signed ? -128.0f : 0.0f) - (float)r->offset;
  f->bounded = bytes && (rintf(r->low) > least || rintf(r->high) < least + 255);
  return y->kind == kind || glow_select_fail(s, "its epilogue gives another kind than its kernel");
}

/* The numbers of a kernel that says f. */
static GlowNarrowNumbers numbers_of(const Finish *f, int64_t pad) {
  const GlowRequantize *r = &f->r;
  return (GlowNarrowNumbers){.pad = pad,
                             .scale = bits_of(r->scale.number),
                             .shift = bits_of(r->bias.number),
                             .low = bits_of(r->low),
                             .high = bits_of(r->high),
                             .offset = r->offset,
                             .add_scale = r->add < 0 ? 0 : bits_of(r->add_scale),
                             .add_offset = r->add < 0 ? 0 : r->add_type->offset};
}

/* The bias and the epilogue of a kernel with packed filters; `pad` is what taps outside of the
 * input read. Of what the epilogue adds, *add is the view; its type is NULL if that is nothing. */
static bool read_epilogue(GlowSelect *s, const GlowNode *n, const GlowType *y, int64_t pad,
                          GlowNarrowParams *p, GlowNarrowNumbers *numbers, GlowNarrowPlaces *at,
                          GlowView *add) {
  const GlowValue *bias = glow_node_nins(n) > 2 ? glow_node_in(n, 2) : NULL;
  GlowView b = {.place = glow_place_absent()};
  Finish f;
  const GlowRequantize *r = &f.r;
  if (bias && !glow_select_dense(s, bias, &b))
    return false;
  at->start = b.place;
  if (!read_finish(s, n, y, p->oc, &f, &at->start))
    return false;
  at->scale = f.scale, at->bias = f.bias;
  p->scales = f.scales, p->biases = f.biases, p->result = f.result;
  p->y_signed = f.is_signed, p->bounded = f.bounded;
  *numbers = numbers_of(&f, pad);
  at->add = glow_place_absent();
  add->type = NULL;
  if (r->add < 0)
    return true;
  const GlowValue *x = n->operands[n->noperands - n->nextra + (uint32_t)r->add].value;
  if (!glow_select_view(s, x, add))
    return false;
  p->adds = 1;
  p->add_signed = add->type->kind == GLOW_KIND_I8;
  at->add = add->place;
  return true;
}

/* Where the elements of a map lie that the epilogue of a convolution adds. */
static bool read_added(GlowSelect *s, const GlowView *add, GlowEnumLayout order,
                       GlowNarrowParams *p) {
  Map m;
  if (!add->type)
    return true;
  if (!read_map(s, add, order, &m))
    return false;
  p->an = m.image, p->ah = m.row, p->aw = m.pixel;
  return (m.channel == 1 && m.images == p->images && m.rows == p->oh && m.columns == p->ow &&
          m.channels == p->oc) ||
         glow_select_fail(s, "what its epilogue adds has another shape");
}

/* The filter in panels: its taps and groups of channels. */
static bool read_filter(GlowSelect *s, const GlowView *w, GlowNarrowParams *p) {
  int64_t blocks[GLOW_LAYOUT_BLOCKS] = {0};
  p->tap = (p->ic + 3) / 4;
  if (w->type->kind != GLOW_KIND_I8 || w->type->quantized)
    return glow_select_fail(s, "its filter is not of i8");
  if (!glow_select_layout(s, glow_find_narrow(), "w", w, blocks))
    return false;
  return (glow_view_is_dense(w) && blocks[0] == p->tap) ||
         glow_select_fail(s, "its filter has a layout of other channels");
}

/* Whether rows can be seen as one: a window of one tap on buffers without gaps. */
static bool is_flat(const GlowNarrowParams *p) {
  return p->kh == 1 && p->kw == 1 && p->sh == 1 && p->sw == 1 && p->oh == p->ih && p->ow == p->iw &&
         p->xh == p->iw * p->xw && p->yh == p->ow * p->yw && (!p->adds || p->ah == p->ow * p->aw);
}

/* Sees all pixels, those of all images if these lie one behind the other, as rows of one tile each
 * if a number of pixels divides them that nearly fills a tile; else as one row. Square tiles run
 * over rows, so that these are pixels. */
static void flatten(const GlowSelect *s, GlowNarrowParams *p) {
  const int64_t most = glow_narrow_pixels(&s->cpu);
  if (p->xn == p->ih * p->xh && p->yn == p->oh * p->yh && (!p->adds || p->an == p->oh * p->ah)) {
    p->oh *= p->images;
    p->images = 1;
  }
  int64_t pixels = p->oh * p->ow, row = most;
  while (row > most / 2 && pixels % row)
    row--;
  p->ow = p->iw = row > most / 2 ? row : pixels;
  if (glow_narrow_step(&s->cpu, p->tap, pixels))
    p->ow = p->iw = 1;
  p->oh = p->ih = pixels / p->ow;
  p->xh = p->ow * p->xw, p->yh = p->ow * p->yw, p->ah = p->ow * p->aw;
}

static void append(GlowSelect *s, const GlowNode *n, GlowNarrowParams *p,
                   const GlowNarrowNumbers *numbers, GlowNarrowPlaces *at) {
  if (is_flat(p))
    flatten(s, p);
  GlowSetup setup = {0};
  glow_setup_narrow(&s->cpu, p, &setup);
  at->numbers = glow_place_numbers(sizeof *numbers);
  glow_select_numbers(s, glow_work_narrow(s, n, p, &setup, at), numbers, sizeof *numbers);
}

static bool read_operands(GlowSelect *s, const GlowNode *n, GlowView *x, GlowView *w, GlowView *y) {
  return glow_select_view(s, glow_node_in(n, 0), x) && glow_select_view(s, glow_node_in(n, 1), w) &&
         glow_select_view(s, glow_node_out(n, 0), y);
}

bool glow_select_narrow_conv(GlowSelect *s, const GlowNode *n) {
  const GlowConvolutionMembers *m = n->members;
  const GlowType *f = glow_node_in(n, GLOW_CONVOLUTION_IN_W)->type;
  GlowMaxPoolMembers pool;
  GlowNarrowNumbers numbers;
  GlowView x, w, y, add;
  Map in, out;
  if (!read_operands(s, n, &x, &w, &y) || !read_map(s, &x, m->layout, &in) ||
      !read_map(s, &y, m->layout, &out))
    return false;
  if (f->rank != 4 || m->group > 1 || glow_node_pool(n, &pool))
    return glow_select_fail(s, "it has groups, or pools");
  bool last = m->layout == GLOW_LAYOUT_NHWC;
  GlowNarrowParams p = {.images = out.images, .ic = in.channels, .oc = out.channels};
  p.oh = out.rows, p.ow = out.columns, p.ih = in.rows, p.iw = in.columns;
  p.kh = f->dims[last ? 1 : 2].size, p.kw = f->dims[last ? 2 : 3].size;
  p.sh = glow_listed(m->strides, 0, 1), p.sw = glow_listed(m->strides, 1, 1);
  p.dh = glow_listed(m->dilations, 0, 1), p.dw = glow_listed(m->dilations, 1, 1);
  p.pt = glow_listed(m->pads, 0, 0), p.pl = glow_listed(m->pads, 1, 0);
  p.xn = in.image, p.xh = in.row, p.xw = in.pixel, p.xc = in.channel;
  p.yn = out.image, p.yh = out.row, p.yw = out.pixel;
  p.x_signed = x.type->kind == GLOW_KIND_I8;
  if (out.channel != 1 || in.channels == 0)
    return glow_select_fail(s, "the channels of its result do not lie together");
  GlowNarrowPlaces at = {.y = y.place, .x = x.place, .w = w.place};
  if (!read_filter(s, &w, &p) || !read_epilogue(s, n, y.type, m->pad, &p, &numbers, &at, &add) ||
      !read_added(s, &add, m->layout, &p))
    return false;
  if (glow_view_extent(&y, 0, y.rank) == 0)
    return true;
  if (y.type->layout && y.type->layout->blocks[0].size != p.oc)
    return glow_select_fail(s, "the last channels of its result fill no block");
  append(s, n, &p, &numbers, &at);
  return true;
}

/* ---- Products -------------------------------------------------------------------------------- */

enum { INPUT, RESULT, ADDED, SIDES };

/* The axes of rows that lie apart in one of the operands, the outermost first. */
typedef struct Rows {
  uint32_t rank;
  int64_t extent[GLOW_VIEW_RANK], step[SIDES][GLOW_VIEW_RANK];
} Rows;

static Rows rows_of(const GlowView *x, const GlowView *y, const GlowView *add) {
  const GlowView *sides[SIDES] = {x, y, add->type ? add : y};
  Rows r = {.rank = 0};
  for (uint32_t a = 0; a + 1 < y->rank; a++) {
    if (y->dims[a] == 1)
      continue;
    bool one = r.rank > 0; /* this axis and the one before can be seen as one */
    for (int i = 0; i < SIDES && one; i++)
      one = r.step[i][r.rank - 1] == sides[i]->strides[a] * y->dims[a];
    const uint32_t to = one ? r.rank - 1 : r.rank++;
    r.extent[to] = one ? r.extent[to] * y->dims[a] : y->dims[a];
    for (int i = 0; i < SIDES; i++)
      r.step[i][to] = sides[i]->strides[a];
  }
  return r;
}

/* Moves a place to an index of an axis. */
static void enter(GlowPlace *place, int64_t index, int64_t extent, int64_t bytes) {
  place->offset += index * bytes;
  place->bytes -= (extent - 1) * bytes;
}

/* Rows as pixels of images; for each index of axes before these three, work of its own. */
static void append_rows(GlowSelect *s, const GlowNode *n, const Rows *r, const GlowNarrowParams *p,
                        const GlowNarrowNumbers *numbers, const GlowNarrowPlaces *at) {
  enum { AXES = 3 };
  const int64_t bytes = (int64_t)glow_kind_info[glow_node_out(n, 0)->type->kind].bits / 8;
  const uint32_t before = r->rank > AXES ? r->rank - AXES : 0;
  int64_t extent[AXES] = {1, 1, 1}, parts = 1;
  int64_t step[SIDES][AXES] = {{0, 0, p->ic}, {0, 0, p->oc}, {0, 0, p->oc}}; /* of a single row */
  for (uint32_t a = before, to = AXES - (r->rank - before); a < r->rank; a++, to++) {
    extent[to] = r->extent[a];
    for (int i = 0; i < SIDES; i++)
      step[i][to] = r->step[i][a];
  }
  for (int a = AXES - 1; a-- > 0;) /* missing axes have steps, too: rows are seen as one */
    for (int i = 0; i < SIDES && extent[a] == 1; i++)
      step[i][a] = extent[a + 1] * step[i][a + 1];
  for (uint32_t a = 0; a < before; a++)
    parts *= r->extent[a];
  for (int64_t part = 0; part < parts; part++) {
    GlowNarrowParams q = *p;
    GlowNarrowPlaces to = *at;
    int64_t rest = part;
    for (uint32_t a = before; a-- > 0; rest /= r->extent[a]) {
      const int64_t index = rest % r->extent[a];
      enter(&to.x, index, r->extent[a], r->step[INPUT][a]);
      enter(&to.y, index, r->extent[a], r->step[RESULT][a] * bytes);
      if (q.adds)
        enter(&to.add, index, r->extent[a], r->step[ADDED][a]);
    }
    q.images = extent[0], q.oh = q.ih = extent[1], q.ow = q.iw = extent[2];
    q.xn = step[INPUT][0], q.xh = step[INPUT][1], q.xw = step[INPUT][2];
    q.yn = step[RESULT][0], q.yh = step[RESULT][1], q.yw = step[RESULT][2];
    if (q.adds)
      q.an = step[ADDED][0], q.ah = step[ADDED][1], q.aw = step[ADDED][2];
    append(s, n, &q, numbers, &to);
  }
}

bool glow_select_narrow_product(GlowSelect *s, const GlowNode *n) {
  GlowNarrowNumbers numbers;
  GlowView x, w, y, add;
  if (!read_operands(s, n, &x, &w, &y))
    return false;
  if (w.type->rank != 2 || x.type->layout || y.type->layout)
    return glow_select_fail(s, "its right operand is no matrix, or another one is in blocks");
  GlowNarrowParams p = {.ic = x.dims[x.rank - 1], .oc = y.dims[y.rank - 1]};
  p.kh = p.kw = p.sh = p.sw = p.dh = p.dw = 1;
  p.xc = x.strides[x.rank - 1];
  p.x_signed = x.type->kind == GLOW_KIND_I8;
  if (p.ic == 0 || (p.oc > 1 && y.strides[y.rank - 1] != 1))
    return glow_select_fail(s, "rows of its result have gaps");
  GlowNarrowPlaces at = {.y = y.place, .x = x.place, .w = w.place};
  if (!read_filter(s, &w, &p) || !read_epilogue(s, n, y.type, 0, &p, &numbers, &at, &add))
    return false;
  if (add.type && p.oc > 1 && add.strides[add.rank - 1] != 1)
    return glow_select_fail(s, "rows of what its epilogue adds have gaps");
  if (glow_view_extent(&y, 0, y.rank) == 0)
    return true;
  const Rows r = rows_of(&x, &y, &add);
  append_rows(s, n, &r, &p, &numbers, &at);
  return true;
}

/* ---- A filter for each channel --------------------------------------------------------------- */

bool glow_select_narrow_lanes(GlowSelect *s, const GlowNode *n) {
  const GlowConvolutionMembers *m = n->members;
  const GlowValue *bias = glow_node_in(n, GLOW_CONVOLUTION_IN_B);
  GlowView x, w, y, b = {.place = glow_place_absent()};
  Map in, out;
  if (!read_operands(s, n, &x, &w, &y) || !read_map(s, &x, m->layout, &in) ||
      !read_map(s, &y, m->layout, &out) || (bias && !glow_select_dense(s, bias, &b)))
    return false;
  if (in.channel != 1 || out.channel != 1)
    return glow_select_fail(s, "its channels do not lie together");
  if (glow_view_extent(&y, 0, y.rank) == 0)
    return true;
  bool last = m->layout == GLOW_LAYOUT_NHWC;
  GlowDotLanesParams p = {.images = out.images, .channels = out.channels};
  p.oh = out.rows, p.ow = out.columns, p.ih = in.rows, p.iw = in.columns;
  p.kh = w.dims[last ? 1 : 2], p.kw = w.dims[last ? 2 : 3];
  p.wo = w.strides[0], p.wh = w.strides[last ? 1 : 2], p.ww = w.strides[last ? 2 : 3];
  p.sh = glow_listed(m->strides, 0, 1), p.sw = glow_listed(m->strides, 1, 1);
  p.dh = glow_listed(m->dilations, 0, 1), p.dw = glow_listed(m->dilations, 1, 1);
  p.pt = glow_listed(m->pads, 0, 0), p.pl = glow_listed(m->pads, 1, 0);
  p.xn = in.image, p.xh = in.row, p.xw = in.pixel;
  p.yn = out.image, p.yh = out.row, p.yw = out.pixel;
  p.x_signed = x.type->kind == GLOW_KIND_I8, p.w_signed = 1;
  GlowDotLanesPlaces at = {.y = y.place, .x = x.place, .w = w.place, .start = b.place};
  at.x_zero = at.w_zero = glow_place_absent();
  Finish f;
  if (!read_finish(s, n, y.type, p.channels, &f, &at.start))
    return false;
  at.scale = f.scale, at.bias = f.bias;
  p.scales = f.scales, p.biases = f.biases, p.result = f.result;
  p.y_signed = f.is_signed, p.bounded = f.bounded;
  const GlowNarrowNumbers numbers = numbers_of(&f, m->pad);
  at.numbers = glow_place_numbers(sizeof numbers);
  GlowSetup setup = {0};
  glow_setup_dot_lanes(&s->cpu, &p, &setup);
  glow_select_numbers(s, glow_work_dot_lanes(s, n, &p, &setup, &at), &numbers, sizeof numbers);
  return true;
}
