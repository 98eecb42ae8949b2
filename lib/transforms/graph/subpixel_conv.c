/* Transposed convolutions become convolutions whose results lie between each other:
 *
 *   ConvTranspose(x : N x C x H x W, W : C x O x KH x KW, B) {strides = [S, T]}
 *     becomes   p = Convolution(x, W', B') : N x (S T O) x H' x W'
 *               Reshape(Transpose(Reshape(p) : N x S x T x O x H' x W') : N x O x H' x S x W' x T)
 *
 * Results whose places differ by the strides share their taps, and meet the input as the results of
 * a convolution do. So each of the S T phases is a convolution, with every S-th row and T-th column
 * of the filter, in reverse. Its windows begin where its first result has them. Phases become one
 * convolution if that takes no more multiplications. Channels are counted in blocks of 16 for this,
 * which is how they lie in memory: few channels prefer one convolution. Where phases begin at
 * different inputs, its filter has zeros, or there are results before the first one, which a Slice
 * drops: what takes fewer multiplications. Else the phases are joined by a Concat. A Slice also
 * drops the last places where the strides do not divide the extents of the result.
 *
 * Where x has one place, each result meets one tap at most, and all of them are one product:
 *
 *   ConvTranspose(x : N x C x 1 x 1, W, B)
 *     becomes   Reshape(Add(MatMul(Reshape(x) : N x C, W'), B') : N x O x OH x OW)
 *
 * There W' is W, C x (O OH OW), without the taps that the padding cuts off, and with zeros where no
 * tap reaches. B' has the bias of a channel for each of its places.
 *
 * Results of few channels fill no block of 16, even those of all phases. Where that leaves more
 * than a fifth of the multiplications without a result, all taps are one product, too, and their
 * places in the image are added up:
 *
 *   ConvTranspose(x : N x C x H x W, W, B)
 *     becomes   Add(Col2Im(MatMul(W' : (O KH KW) x C, Reshape(x) : N x C x (H W))), B')
 *
 * W' and B' are `eval` constants; W' of a W that is known at run time only is nodes, where there is
 * no B and x has more than one place. There are two or three spatial axes in NCHW order, no groups
 * and no dilations. What would need padding below 0 stays: a ConvTranspose that pads by more than
 * its window.
 *
 * Bounded: the order of taps in sums changes, and zeros are added: c = 2 K + 2 for K products. */
#include "lower/window.h"
#include "transforms/contraction.h"

enum { MOST_AXES = 3, MOST_PHASES = 64, BLOCK = 16 };

/* The phases along one axis: results b, b + stride, ... for b below the stride. */
typedef struct Phase {
  int64_t tap, taps;     /* the first tap, and how many: tap, tap + stride, ... */
  int64_t before, after; /* padding of its convolution */
} Phase;

typedef struct Axis {
  int64_t stride, in, out;
  int64_t skipped; /* results before the first one, which are computed, too */
  int64_t places;  /* results of a phase */
  Phase phases[MOST_PHASES];
  Phase all; /* of one convolution for all phases: its taps, counted from phase to phase */
} Axis;

typedef struct Subpixel {
  GlowPassRun *run;
  GlowNode *node;
  GlowContraction of;
  uint32_t spatial; /* how many axes */
  Axis axes[MOST_AXES];
  bool product;  /* x has one place; the rest does not count then */
  bool folded;   /* the product of all taps, then Col2Im */
  bool merged;   /* one convolution */
  bool constant; /* W and B are */
} Subpixel;

/* Fills in the phases of an axis. With o = y + pad, result y meets input i at tap k = o - stride i:
 * the taps k that leave the rest o % stride. False if a phase would need padding below 0. */
static bool find_phases(Axis *a, int64_t kernel, int64_t pad) {
  int64_t first = INT64_MAX, last = INT64_MIN; /* inputs of place 0, over all phases */
  pad -= a->skipped;
  a->places = (a->skipped + a->out + a->stride - 1) / a->stride;
  for (int64_t b = 0; b < a->stride; b++) {
    Phase *p = &a->phases[b];
    int64_t end = (b + pad) / a->stride; /* the last input of place 0 */
    p->tap = (b + pad) % a->stride;
    p->taps = p->tap < kernel ? (kernel - p->tap + a->stride - 1) / a->stride : 1;
    p->before = p->taps - 1 - end;
    p->after = a->places + end - a->in;
    if (p->before < 0 || p->after < 0)
      return false;
    first = first < -p->before ? first : -p->before;
    last = last > end ? last : end;
  }
  a->all = (Phase){.taps = last - first + 1, .before = -first, .after = a->places + last - a->in};
  return true;
}

static double blocks(double channels) {
  int64_t whole = ((int64_t)channels + BLOCK - 1) / BLOCK;
  return (double)whole * BLOCK;
}

/* Multiplications of an image for an input channel: in one convolution, or in one for each phase.
 */
static double cost(const Subpixel *s, bool merged) {
  double taps = 1, phases = 1, places = 1;
  for (uint32_t i = 0; i < s->spatial; i++) {
    const Axis *a = &s->axes[i];
    int64_t sum = 0;
    for (int64_t b = 0; b < a->stride; b++)
      sum += a->phases[b].taps;
    taps *= (double)(merged ? a->all.taps : sum);
    phases *= (double)a->stride;
    places *= (double)a->places;
  }
  return taps * places * blocks((merged ? phases : 1) * (double)s->of.out);
}

/* ---- Filters --------------------------------------------------------------------------------- */

/* The place of phase number i along each axis. */
static void phase_at(const Subpixel *s, int64_t i, int64_t at[MOST_AXES]) {
  for (uint32_t k = s->spatial; k-- > 0; i /= s->axes[k].stride)
    at[k] = i % s->axes[k].stride;
}

/* The filter of a phase, O x C x taps, where b builds; with zeros if it is for one convolution of
 * all. w: W, or its copy there. */
static GlowValue *phase_filter(Subpixel *s, GlowBuilder *b, GlowValue *w, const int64_t *at) {
  static const uint32_t perm[] = {1, 0, 2, 3, 4};
  for (uint32_t i = 0; i < s->spatial && w; i++) {
    const Axis *a = &s->axes[i];
    const Phase *p = &a->phases[at[i]];
    int64_t last = p->tap + (p->taps - 1) * a->stride, extent = w->type->dims[2 + i].size;
    if (last >= extent) /* it has no taps but zeros */
      w = glow_build_padded(b, s->node, w, 2 + i, 0, last + 1 - extent);
    w = glow_build_part(b, s->node, w, 2 + i, last, p->tap - 1 < 0 ? INT64_MIN : p->tap - 1,
                        -a->stride);
    int64_t before = a->all.before - p->before;
    if (s->merged)
      w = glow_build_padded(b, s->node, w, 2 + i, before, a->all.taps - p->taps - before);
  }
  return glow_build_permuted(b, w, perm, 2 + s->spatial);
}

/* The filters of phases first up to end, one after the other. */
static GlowValue *join_filters(Subpixel *s, GlowBuilder *b, GlowValue *w, int64_t first,
                               int64_t end) {
  GlowValue *parts[MOST_PHASES];
  for (int64_t i = first; i < end; i++) {
    int64_t at[MOST_AXES];
    phase_at(s, i, at);
    parts[i - first] = phase_filter(s, b, w, at);
    if (!parts[i - first])
      return NULL;
  }
  return end - first == 1 ? parts[0] : glow_build_concat(b, parts, (uint32_t)(end - first), 0);
}

/* The same as a constant, if W is one. */
static GlowValue *filter_of(Subpixel *s, GlowBuilder *b, int64_t first, int64_t end) {
  GlowValue *w = glow_node_in(s->node, GLOW_CONTRACTION_W);
  if (!s->constant)
    return join_filters(s, b, w, first, end);
  GlowEval e = glow_eval_create(s->run->module, s->run->arena, s->node);
  GlowValue *v = join_filters(s, &e.builder, glow_eval_copy(&e, w), first, end);
  GlowStr name = glow_str_printf(s->run->ctx, "%s.phases", w->name ? w->name : "filter");
  return v ? &glow_eval_finish(&e, v, name)->value : NULL;
}

/* The bias of `count` phases; NULL, too, if there is none. */
static GlowValue *bias_of(Subpixel *s, uint32_t count) {
  GlowValue *bias = glow_node_in(s->node, GLOW_CONTRACTION_B), *parts[MOST_PHASES];
  if (!bias || count == 1)
    return bias;
  GlowEval e = glow_eval_create(s->run->module, s->run->arena, s->node);
  for (uint32_t i = 0; i < count; i++)
    parts[i] = glow_eval_copy(&e, bias);
  GlowValue *v = glow_build_concat(&e.builder, parts, count, 0);
  GlowStr name = glow_str_printf(s->run->ctx, "%s.phases", bias->name ? bias->name : "bias");
  return v ? &glow_eval_finish(&e, v, name)->value : NULL;
}

/* ---- Convolutions ---------------------------------------------------------------------------- */

/* The convolution of phases first up to end; `along` says for each axis how it is padded. */
static GlowValue *convolve(Subpixel *s, GlowBuilder *b, int64_t first, int64_t end,
                           const Phase *const *along) {
  uint32_t pads[2 * MOST_AXES];
  for (uint32_t i = 0; i < s->spatial; i++) {
    pads[i] = (uint32_t)along[i]->before;
    pads[s->spatial + i] = (uint32_t)along[i]->after;
  }
  GlowConvolutionMembers members = {.group = 1,
                                    .pads = glow_array_u32(s->run->module, pads, 2 * s->spatial)};
  GlowValue *ins[] = {glow_node_in(s->node, GLOW_CONTRACTION_X), filter_of(s, b, first, end),
                      bias_of(s, (uint32_t)(end - first))};
  GlowNode *n = ins[1] ? glow_build(b, GLOW_OP_CONVOLUTION, ins, 3, &members, NULL) : NULL;
  return n ? &n->results[0] : NULL;
}

/* All phases, N x (S T O) x H' x W'. */
static GlowValue *phases_of(Subpixel *s, GlowBuilder *b) {
  GlowValue *parts[MOST_PHASES];
  const Phase *along[MOST_AXES];
  int64_t count = 1, at[MOST_AXES];
  for (uint32_t i = 0; i < s->spatial; i++) {
    count *= s->axes[i].stride;
    along[i] = &s->axes[i].all;
  }
  if (s->merged)
    return convolve(s, b, 0, count, along);
  for (int64_t k = 0; k < count; k++) {
    phase_at(s, k, at);
    for (uint32_t i = 0; i < s->spatial; i++)
      along[i] = &s->axes[i].phases[at[i]];
    if (!(parts[k] = convolve(s, b, k, k + 1, along)))
      return NULL;
  }
  return glow_build_concat(b, parts, (uint32_t)count, 1);
}

/* The phases put between each other, and what is too much cut off. */
static GlowValue *interleave(Subpixel *s, GlowBuilder *b, GlowValue *v) {
  uint32_t axes = s->spatial, perm[2 + 2 * MOST_AXES] = {0, 1 + axes};
  int64_t apart[2 + 2 * MOST_AXES], joined[2 + MOST_AXES];
  apart[0] = joined[0] = s->node->results[0].type->dims[0].size;
  apart[1 + axes] = joined[1] = s->of.out;
  for (uint32_t i = 0; i < axes; i++) {
    const Axis *a = &s->axes[i];
    apart[1 + i] = a->stride;
    apart[2 + axes + i] = a->places;
    joined[2 + i] = a->places * a->stride;
    perm[2 + 2 * i] = 2 + axes + i;
    perm[3 + 2 * i] = 1 + i;
  }
  v = glow_build_shaped(b, s->node, v, 2 + 2 * axes, apart);
  v = glow_build_permuted(b, v, perm, 2 + 2 * axes);
  v = glow_build_shaped(b, s->node, v, 2 + axes, joined);
  for (uint32_t i = 0; i < axes; i++)
    if (v && joined[2 + i] != s->axes[i].out)
      v = glow_build_part(b, s->node, v, 2 + i, s->axes[i].skipped,
                          s->axes[i].skipped + s->axes[i].out, 1);
  return v;
}

/* ---- One place ------------------------------------------------------------------------------- */

/* The taps of all results, C x (O OH OW), as a constant. */
static GlowValue *matrix_of(Subpixel *s) {
  const GlowConvTransposeMembers *m = s->node->members;
  const GlowType *y = s->node->results[0].type;
  GlowValue *w = glow_node_in(s->node, GLOW_CONTRACTION_W);
  GlowEval e = glow_eval_create(s->run->module, s->run->arena, s->node);
  GlowValue *v = glow_eval_copy(&e, w);
  int64_t extents[] = {s->of.in, s->of.out};
  for (uint32_t i = 0; i < s->spatial; i++) {
    int64_t pad = glow_listed(m->pads, i, 0), out = y->dims[2 + i].size;
    int64_t reached = w->type->dims[2 + i].size - pad, taps = reached < out ? reached : out;
    v = glow_build_part(&e.builder, s->node, v, 2 + i, pad, pad + taps, 1);
    v = glow_build_padded(&e.builder, s->node, v, 2 + i, 0, out - taps);
    extents[1] *= out;
  }
  v = glow_build_shaped(&e.builder, s->node, v, 2, extents);
  GlowStr name = glow_str_printf(s->run->ctx, "%s.taps", w->name ? w->name : "filter");
  return v ? &glow_eval_finish(&e, v, name)->value : NULL;
}

/* The bias of each result of an image, as a constant. */
static GlowValue *places_bias(Subpixel *s, int64_t places) {
  GlowValue *bias = glow_node_in(s->node, GLOW_CONTRACTION_B);
  int64_t column[] = {s->of.out, 1}, all[] = {s->of.out, places}, flat[] = {s->of.out * places};
  GlowEval e = glow_eval_create(s->run->module, s->run->arena, s->node);
  GlowValue *v = glow_build_shaped(&e.builder, s->node, glow_eval_copy(&e, bias), 2, column);
  v = glow_then2(&e.builder, GLOW_OP_EXPAND, v,
                 glow_constant_ints(s->run->module, s->node, "places", all, 2));
  v = glow_build_shaped(&e.builder, s->node, v, 1, flat);
  GlowStr name = glow_str_printf(s->run->ctx, "%s.places", bias->name ? bias->name : "bias");
  return v ? &glow_eval_finish(&e, v, name)->value : NULL;
}

static GlowValue *multiply(Subpixel *s, GlowBuilder *b) {
  const GlowType *y = s->node->results[0].type;
  int64_t rows[] = {y->dims[0].size, s->of.in}, extents[2 + MOST_AXES], places = 1;
  for (uint32_t i = 0; i < y->rank; i++)
    extents[i] = y->dims[i].size;
  for (uint32_t i = 0; i < s->spatial; i++)
    places *= extents[2 + i];
  GlowValue *x = glow_build_shaped(b, s->node, glow_node_in(s->node, GLOW_CONTRACTION_X), 2, rows);
  GlowValue *v = glow_then2(b, GLOW_OP_MAT_MUL, x, matrix_of(s));
  if (glow_node_in(s->node, GLOW_CONTRACTION_B))
    v = glow_then2(b, GLOW_OP_ADD, v, places_bias(s, places));
  return glow_build_shaped(b, s->node, v, y->rank, extents);
}

/* ---- All taps -------------------------------------------------------------------------------- */

/* The taps of all channels, (O KH KW) x C, as a constant. */
static GlowValue *taps_of(Subpixel *s, int64_t taps) {
  static const uint32_t perm[] = {1, 0};
  const int64_t extents[] = {s->of.in, taps};
  GlowValue *w = glow_node_in(s->node, GLOW_CONTRACTION_W);
  GlowEval e = glow_eval_create(s->run->module, s->run->arena, s->node);
  GlowValue *v = glow_build_shaped(&e.builder, s->node, glow_eval_copy(&e, w), 2, extents);
  v = glow_build_permuted(&e.builder, v, perm, 2);
  GlowStr name = glow_str_printf(s->run->ctx, "%s.taps", w->name ? w->name : "filter");
  return v ? &glow_eval_finish(&e, v, name)->value : NULL;
}

/* The bias as O x 1 x 1, a constant. */
static GlowValue *column_bias(Subpixel *s) {
  const int64_t column[] = {s->of.out, 1, 1, 1};
  GlowValue *bias = glow_node_in(s->node, GLOW_CONTRACTION_B);
  GlowEval e = glow_eval_create(s->run->module, s->run->arena, s->node);
  GlowValue *v =
      glow_build_shaped(&e.builder, s->node, glow_eval_copy(&e, bias), 1 + s->spatial, column);
  GlowStr name = glow_str_printf(s->run->ctx, "%s.column", bias->name ? bias->name : "bias");
  return v ? &glow_eval_finish(&e, v, name)->value : NULL;
}

/* How much of the window the padding behind an image cuts off; below 0: places that nothing meets.
 */
static int64_t cut_behind(const Subpixel *s, uint32_t i) {
  const GlowConvTransposeMembers *m = s->node->members;
  const GlowType *w = glow_node_in(s->node, GLOW_CONTRACTION_W)->type;
  const Axis *a = &s->axes[i];
  return a->stride * (a->in - 1) + w->dims[2 + i].size - glow_listed(m->pads, i, 0) - a->out;
}

static GlowValue *fold(Subpixel *s, GlowBuilder *b) {
  const GlowConvTransposeMembers *m = s->node->members;
  const GlowType *w = glow_node_in(s->node, GLOW_CONTRACTION_W)->type;
  int64_t image[MOST_AXES], window[MOST_AXES], places = 1, taps = s->of.out;
  uint32_t strides[MOST_AXES], pads[2 * MOST_AXES];
  for (uint32_t i = 0; i < s->spatial; i++) {
    const Axis *a = &s->axes[i];
    int64_t behind = cut_behind(s, i);
    image[i] = a->out, window[i] = w->dims[2 + i].size;
    places *= a->in, taps *= window[i];
    strides[i] = (uint32_t)a->stride;
    pads[i] = glow_listed(m->pads, i, 0);
    pads[s->spatial + i] = behind > 0 ? (uint32_t)behind : 0;
  }
  const int64_t columns[] = {s->node->results[0].type->dims[0].size, s->of.in, places};
  GlowModule *module = s->run->module;
  GlowCol2ImMembers members = {.strides = glow_array_u32(module, strides, s->spatial),
                               .pads = glow_array_u32(module, pads, 2 * s->spatial)};
  GlowValue *x =
      glow_build_shaped(b, s->node, glow_node_in(s->node, GLOW_CONTRACTION_X), 3, columns);
  GlowValue *ins[] = {glow_then2(b, GLOW_OP_MAT_MUL, taps_of(s, taps), x),
                      glow_constant_ints(module, s->node, "image", image, s->spatial),
                      glow_constant_ints(module, s->node, "window", window, s->spatial)};
  GlowNode *n = ins[0] ? glow_build(b, GLOW_OP_COL2_IM, ins, 3, &members, NULL) : NULL;
  if (!n || !glow_node_in(s->node, GLOW_CONTRACTION_B))
    return n ? &n->results[0] : NULL;
  return glow_then2(b, GLOW_OP_ADD, &n->results[0], column_bias(s));
}

/* ---- The choice ------------------------------------------------------------------------------ */

/* Whether the node has the form that the head of this file asks for. */
static bool is_candidate(Subpixel *s, GlowConstness *constness) {
  const GlowNode *n = s->node;
  if (n->op != GLOW_OP_CONV_TRANSPOSE || !glow_contraction_describe(s->node, &s->of))
    return false;
  const GlowConvTransposeMembers *m = n->members;
  const GlowType *y = n->results[0].type;
  if (m->layout != GLOW_LAYOUT_NCHW || m->group != 1 || !glow_type_is_static(y) || y->rank < 4 ||
      y->rank > 2 + MOST_AXES || y->layout || glow_type_elements(y) == 0)
    return false;
  s->constant = glow_contraction_is_constant(&s->of, constness);
  if (!s->constant && glow_node_in(n, GLOW_CONTRACTION_B))
    return false;
  double phases = 1;
  s->spatial = y->rank - 2;
  for (uint32_t i = 0; i < s->spatial; i++) {
    if (glow_listed(m->dilations, i, 1) != 1)
      return false;
    phases *= (double)glow_listed(m->strides, i, 1);
  }
  return phases <= MOST_PHASES;
}

/* Fills in the axes. skip: begin where each phase has its first tap. False if this cannot be. */
static bool find_axes(Subpixel *s, bool skip) {
  const GlowConvTransposeMembers *m = s->node->members;
  const GlowType *x = glow_node_in(s->node, GLOW_CONTRACTION_X)->type;
  const GlowType *w = glow_node_in(s->node, GLOW_CONTRACTION_W)->type;
  for (uint32_t i = 0; i < s->spatial; i++) {
    int64_t stride = glow_listed(m->strides, i, 1), pad = glow_listed(m->pads, i, 0);
    s->axes[i] = (Axis){.stride = stride,
                        .in = x->dims[2 + i].size,
                        .out = s->node->results[0].type->dims[2 + i].size,
                        .skipped = skip ? pad % stride : 0};
    if (!find_phases(&s->axes[i], w->dims[2 + i].size, pad))
      return false;
  }
  return true;
}

/* Whether x has one place, and each result is one of W's taps, or lies behind them. */
static bool is_product(const Subpixel *s) {
  const GlowConvTransposeMembers *m = s->node->members;
  const GlowType *x = glow_node_in(s->node, GLOW_CONTRACTION_X)->type;
  const GlowType *w = glow_node_in(s->node, GLOW_CONTRACTION_W)->type;
  for (uint32_t i = 0; i < s->spatial; i++)
    if (x->dims[2 + i].size != 1 || glow_listed(m->pads, i, 0) >= w->dims[2 + i].size)
      return false;
  return true;
}

/* Whether the product of all taps takes less than four fifths of the multiplications of the phases,
 * and the number of input channels is worth the sums behind it. */
static bool is_folded(const Subpixel *s) {
  const GlowType *w = glow_node_in(s->node, GLOW_CONTRACTION_W)->type;
  double product = (double)s->of.out;
  for (uint32_t i = 0; i < s->spatial; i++) {
    product *= (double)w->dims[2 + i].size * (double)s->axes[i].in;
    if (cut_behind(s, i) <= -s->axes[i].stride)
      return false;
  }
  return s->constant && s->of.in >= BLOCK && 5 * product <= 4 * cost(s, s->merged);
}

/* Chooses how the results are computed. False if n is something else, or stays. */
static bool describe(Subpixel *s, GlowConstness *constness) {
  if (!is_candidate(s, constness))
    return false;
  if ((s->product = s->constant && is_product(s)))
    return true;
  Subpixel skipping = *s;
  bool found = find_axes(s, false);
  s->merged = found && cost(s, true) <= cost(s, false);
  if (find_axes(&skipping, true) && (!found || cost(&skipping, true) < cost(s, s->merged))) {
    *s = skipping;
    s->merged = found = true;
  }
  s->folded = found && is_folded(s);
  return found;
}

static bool rewrite(GlowNode *n, void *arg) {
  GlowPassRun *run = arg;
  Subpixel s = {.run = run, .node = n};
  if (n->op != GLOW_OP_CONV_TRANSPOSE || !describe(&s, glow_constness_create(run->arena)))
    return true;
  GlowBuilder b = glow_builder_before(n);
  GlowValue *v = s.product ? multiply(&s, &b) : s.folded ? fold(&s, &b) : phases_of(&s, &b);
  v = v && !s.product && !s.folded ? interleave(&s, &b, v) : v;
  if (!v)
    return false;
  glow_pass_changed(run, n, "became %s",
                    s.product  ? "a product"
                    : s.folded ? "a product that is folded"
                    : s.merged ? "a convolution"
                               : "a convolution for each phase");
  glow_node_replace(n, &v, 1);
  return true;
}

bool glow_pass_subpixel_conv(GlowPassRun *run) {
  return glow_block_walk(run->function->body, rewrite, run);
}
