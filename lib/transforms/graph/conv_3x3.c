/* Convolutions with dilations, or with windows that have more than three taps along an axis, become
 * convolutions of plain 3x3 windows, which Winograd's algorithm serves:
 *
 *   dilations   The places whose coordinates agree modulo the dilations D x E meet each other
 * alone. They become images: x : N x C x H x W, with as many zeros as whole phases need, is (D E N)
 * x C x H/D x W/E. Results go back to their places. windows     A window of KH x KW taps is a sum
 * of windows of 3x3 taps that lie next to each other, the last ones with zeros. Taps of the same
 * place in each become channels: Concat(x from row 0, .., x from row 3, ..), and the filter's
 * channels likewise, an `eval` constant, so the filter must be constant.
 *
 * Strides and groups are 1, two spatial axes in NCHW order, and float. The rule counts as the one
 * of -winograd does, which must choose the result, and COPIED for each number that moves. No extent
 * of the batch decides.
 *
 * Bounded: the order of taps in sums changes, and zeros are added: c = 2 K + 2 for K products. */
#include "lower/window.h"
#include "transforms/contraction.h"
#include "transforms/winograd.h"

enum { AXES = 2, SIDE = 3, MOST_PARTS = 9, COPIED = 16 };

/* What happens along an axis. */
typedef struct Axis {
  int64_t in, out, taps, dilation;
  int64_t lead, tail;     /* zeros that make whole phases */
  int64_t before, behind; /* padding of a phase */
  int64_t phase, results; /* places of a phase, of operand and result */
  int64_t parts;          /* windows of three taps */
} Axis;

typedef struct Windows {
  GlowNode *node;
  int64_t images, channels, filters;
  Axis axis[AXES];
  int64_t phases, parts; /* of both axes */
  bool splits;           /* windows become parts */
} Windows;

static int64_t up(int64_t v, int64_t unit) { return (v + unit - 1) / unit * unit; }

static Axis axis_of(const GlowConvolutionMembers *m, uint32_t i, int64_t in, int64_t out,
                    int64_t taps) {
  Axis a = {.in = in, .out = out, .taps = taps, .dilation = glow_listed(m->dilations, i, 1)};
  int64_t before = glow_listed(m->pads, i, 0), behind = glow_listed(m->pads, i + AXES, 0);
  a.lead = before % a.dilation;
  a.tail = up(in + a.lead + behind % a.dilation, a.dilation) - in - a.lead;
  a.before = before / a.dilation;
  a.behind = behind / a.dilation;
  a.phase = (a.lead + in + a.tail) / a.dilation;
  a.results = a.before + a.phase + a.behind - taps + 1;
  a.parts = (taps + SIDE - 1) / SIDE;
  return a;
}

/* Whether Winograd's algorithm would be chosen for the result, and pays with the copies. */
static bool pays(const Windows *w, bool is_constant) {
  const Axis *h = &w->axis[0], *v = &w->axis[1];
  double moved = 0, of_image = (double)(w->channels * h->in * v->in);
  double results = (double)(w->filters * h->out * v->out);
  GlowWinogradCount k =
      glow_winograd_count(w->channels * w->parts, w->filters, h->results, v->results, is_constant);
  if (w->phases > 1)
    moved += of_image + results;
  if (w->splits)
    moved += of_image * (double)w->parts;
  double direct = (double)(h->taps * v->taps * w->channels) * results;
  return k.pays && (k.tiled * (double)w->phases + COPIED * moved) * 1.25 <= direct;
}

/* Whether n has the form that the head of this file asks for. */
static bool describe(GlowNode *n, GlowConstness *constness, Windows *w) {
  GlowContraction c;
  if (n->op != GLOW_OP_CONVOLUTION || n->results[0].type->rank != 2 + AXES ||
      !glow_contraction_describe(n, &c) || c.groups != 1)
    return false;
  const GlowConvolutionMembers *m = n->members;
  const GlowType *x = glow_node_in(n, GLOW_CONTRACTION_X)->type, *y = n->results[0].type;
  GlowValue *filter = glow_node_in(n, GLOW_CONTRACTION_W);
  const GlowType *f = filter->type;
  if (m->layout != GLOW_LAYOUT_NCHW || x->kind != GLOW_KIND_FLOAT || !glow_type_is_static(x) ||
      !glow_type_is_static(y) || x->layout || y->layout || f->layout ||
      glow_type_elements(x) == 0 || glow_type_elements(y) == 0)
    return false;
  *w = (Windows){n, .images = x->dims[0].size, .channels = c.in, .filters = c.out};
  w->phases = w->parts = 1;
  bool larger = false;
  for (uint32_t i = 0; i < AXES; i++) {
    if (glow_listed(m->strides, i, 1) != 1)
      return false;
    w->axis[i] = axis_of(m, i, x->dims[2 + i].size, y->dims[2 + i].size, f->dims[2 + i].size);
    w->phases *= w->axis[i].dilation;
    w->parts *= w->axis[i].parts;
    w->splits |= w->axis[i].taps != SIDE;
    larger |= w->axis[i].taps > SIDE;
  }
  bool is_constant = glow_constness_of(constness, filter);
  return (w->phases > 1 || larger) && w->parts <= MOST_PARTS && (is_constant || !w->splits) &&
         pays(w, is_constant);
}

/* Moves the phases of x into the batch: D x E x N images. */
static GlowValue *as_phases(const Windows *w, GlowBuilder *b, GlowValue *x) {
  const Axis *h = &w->axis[0], *v = &w->axis[1];
  int64_t apart[] = {w->images, w->channels, h->phase, h->dilation, v->phase, v->dilation};
  int64_t joined[] = {w->phases * w->images, w->channels, h->phase, v->phase};
  for (uint32_t i = 0; i < AXES; i++)
    x = x ? glow_build_padded(b, w->node, x, 2 + i, w->axis[i].lead, w->axis[i].tail) : NULL;
  x = glow_build_shaped(b, w->node, x, 6, apart);
  x = glow_build_permuted(b, x, (uint32_t[]){3, 5, 0, 1, 2, 4}, 6);
  return glow_build_shaped(b, w->node, x, 4, joined);
}

/* Puts the results of the phases between each other, and drops those of what was added. */
static GlowValue *from_phases(const Windows *w, GlowBuilder *b, GlowValue *y) {
  const Axis *h = &w->axis[0], *v = &w->axis[1];
  int64_t apart[] = {h->dilation, v->dilation, w->images, w->filters, h->results, v->results};
  int64_t joined[] = {w->images, w->filters, h->results * h->dilation, v->results * v->dilation};
  y = glow_build_shaped(b, w->node, y, 6, apart);
  y = glow_build_permuted(b, y, (uint32_t[]){2, 3, 4, 0, 5, 1}, 6);
  y = glow_build_shaped(b, w->node, y, 4, joined);
  for (uint32_t i = 0; i < AXES; i++)
    if (joined[2 + i] != w->axis[i].out)
      y = glow_build_part(b, w->node, y, 2 + i, 0, w->axis[i].out, 1);
  return y;
}

/* The operand of the parts of windows: what each of them meets, as channels. */
static GlowValue *as_parts(const Windows *w, GlowBuilder *b, GlowValue *x) {
  const Axis *h = &w->axis[0], *v = &w->axis[1];
  GlowValue *parts[MOST_PARTS];
  uint32_t count = 0;
  for (uint32_t i = 0; i < AXES; i++) {
    const Axis *a = &w->axis[i];
    int64_t zeros = a->behind + a->parts * SIDE - a->taps;
    x = x ? glow_build_padded(b, w->node, x, 2 + i, a->before, zeros) : NULL;
  }
  for (int64_t r = 0; r < h->parts; r++) {
    const int64_t end = SIDE * r + h->results + SIDE - 1;
    GlowValue *rows = glow_build_part(b, w->node, x, 2, SIDE * r, end, 1);
    for (int64_t s = 0; s < v->parts; s++, count++) {
      const int64_t last = SIDE * s + v->results + SIDE - 1;
      if (!(parts[count] = glow_build_part(b, w->node, rows, 3, SIDE * s, last, 1)))
        return NULL;
    }
  }
  return count == 1 ? parts[0] : glow_build_concat(b, parts, count, 1);
}

/* The filter whose channels are those of all parts, as a constant. */
static GlowValue *filter_of(const Windows *w, GlowPassRun *run) {
  GlowValue *filter = glow_node_in(w->node, GLOW_CONTRACTION_W);
  const Axis *h = &w->axis[0], *v = &w->axis[1];
  int64_t apart[] = {w->filters, w->channels, h->parts, SIDE, v->parts, SIDE};
  int64_t joined[] = {w->filters, w->parts * w->channels, SIDE, SIDE};
  GlowEval eval = glow_eval_create(run->module, run->arena, w->node);
  GlowBuilder *b = &eval.builder;
  GlowValue *f = glow_eval_copy(&eval, filter);
  for (uint32_t i = 0; i < AXES; i++)
    f = f ? glow_build_padded(b, w->node, f, 2 + i, 0, w->axis[i].parts * SIDE - w->axis[i].taps)
          : NULL;
  f = glow_build_shaped(b, w->node, f, 6, apart);
  f = glow_build_permuted(b, f, (uint32_t[]){0, 2, 4, 1, 3, 5}, 6);
  f = glow_build_shaped(b, w->node, f, 4, joined);
  GlowStr name = glow_str_printf(run->ctx, "%s.parts", filter->name ? filter->name : "filter");
  return f ? &glow_eval_finish(&eval, f, name)->value : NULL;
}

static GlowValue *convolve(const Windows *w, GlowPassRun *run, GlowBuilder *b) {
  GlowConvolutionMembers members = *(const GlowConvolutionMembers *)w->node->members;
  const Axis *h = &w->axis[0], *v = &w->axis[1];
  uint32_t pads[] = {(uint32_t)h->before, (uint32_t)v->before, (uint32_t)h->behind,
                     (uint32_t)v->behind};
  members.strides = members.dilations = members.pads = (GlowArray){0};
  if (!w->splits)
    members.pads = glow_array_u32(run->module, pads, 2 * AXES);
  GlowValue *ins[] = {glow_node_in(w->node, GLOW_CONTRACTION_X),
                      glow_node_in(w->node, GLOW_CONTRACTION_W),
                      glow_node_in(w->node, GLOW_CONTRACTION_B)};
  if (w->phases > 1)
    ins[0] = as_phases(w, b, ins[0]);
  if (w->splits)
    ins[0] = as_parts(w, b, ins[0]), ins[1] = filter_of(w, run);
  GlowNode *n =
      ins[0] && ins[1] ? glow_build(b, GLOW_OP_CONVOLUTION, ins, 3, &members, NULL) : NULL;
  GlowValue *y = n ? &n->results[0] : NULL;
  return w->phases > 1 ? from_phases(w, b, y) : y;
}

static bool rewrite(GlowNode *n, void *arg) {
  GlowPassRun *run = arg;
  Windows w;
  if (n->op != GLOW_OP_CONVOLUTION || !describe(n, glow_constness_create(run->arena), &w))
    return true;
  GlowBuilder b = glow_builder_before(n);
  GlowValue *y = convolve(&w, run, &b);
  if (!y)
    return false;
  glow_pass_changed(run, n, "became a convolution of 3x3 windows, of %lld phases and %lld parts",
                    (long long)w.phases, (long long)w.parts);
  glow_node_replace(n, &y, 1);
  return true;
}

bool glow_pass_conv_3x3(GlowPassRun *run) {
  return glow_block_walk(run->function->body, rewrite, run);
}
