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
 * W' and B' are `eval` constants, so W must be constant, and B constant or absent; there are two
 * spatial axes in NCHW order, no groups and no dilations. What would need padding below 0 stays: a
 * ConvTranspose that pads by more than its window.
 *
 * Bounded: the order of taps in sums changes, and zeros are added: c = 2 K + 2 for K products. */
#include "lower/window.h"
#include "transforms/contraction.h"

enum { AXES = 2, MOST_PHASES = 64, BLOCK = 16 };

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
  Axis axes[AXES];
  bool merged; /* one convolution */
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
  for (int i = 0; i < AXES; i++) {
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

/* Zeros before and after axes 2 and 3 of v. */
static GlowValue *padded(Subpixel *s, GlowBuilder *b, GlowValue *v, const int64_t pads[4]) {
  for (uint32_t i = 0; i < AXES; i++)
    v = glow_build_padded(b, s->node, v, 2 + i, pads[i], pads[2 + i]);
  return v;
}

/* The filter of a phase, O x C x taps, in an eval block; with zeros if it is for one convolution of
 * all. w: a copy of W there. */
static GlowValue *phase_filter(Subpixel *s, GlowBuilder *b, GlowValue *w, const int64_t at[AXES]) {
  int64_t pads[4] = {0};
  for (uint32_t i = 0; i < AXES && w; i++) {
    const Axis *a = &s->axes[i];
    const Phase *p = &a->phases[at[i]];
    int64_t last = p->tap + (p->taps - 1) * a->stride;
    if (last >= w->type->dims[2 + i].size) { /* it has no taps but zeros */
      int64_t zeros[4] = {0};
      zeros[2 + i] = last + 1 - w->type->dims[2 + i].size;
      w = padded(s, b, w, zeros);
    }
    w = w ? glow_build_part(b, s->node, w, 2 + i, last, p->tap - 1 < 0 ? INT64_MIN : p->tap - 1,
                            -a->stride)
          : NULL;
    if (s->merged) {
      pads[i] = a->all.before - p->before;
      pads[2 + i] = a->all.taps - p->taps - pads[i];
    }
  }
  w = w ? glow_build_permuted(b, w, (uint32_t[]){1, 0, 2, 3}, 4) : NULL;
  return padded(s, b, w, pads);
}

/* The filters of phases first up to end, one after the other, as a constant. */
static GlowValue *filter_of(Subpixel *s, int64_t first, int64_t end) {
  GlowValue *w = glow_node_in(s->node, GLOW_CONTRACTION_W), *parts[MOST_PHASES];
  GlowEval e = glow_eval_create(s->run->module, s->run->arena, s->node);
  for (int64_t i = first; i < end; i++) {
    int64_t at[AXES] = {i / s->axes[1].stride, i % s->axes[1].stride};
    parts[i - first] = phase_filter(s, &e.builder, glow_eval_copy(&e, w), at);
    if (!parts[i - first])
      return NULL;
  }
  GlowValue *v = end - first == 1
                     ? parts[0]
                     : glow_build_concat(&e.builder, parts, (uint32_t)(end - first), 0);
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

/* ---- The rewrite ----------------------------------------------------------------------------- */

/* The convolution of phases first up to end, padded as `rows` and `columns` say. */
static GlowValue *convolve(Subpixel *s, GlowBuilder *b, int64_t first, int64_t end,
                           const Phase *rows, const Phase *columns) {
  uint32_t pads[] = {(uint32_t)rows->before, (uint32_t)columns->before, (uint32_t)rows->after,
                     (uint32_t)columns->after};
  GlowConvolutionMembers members = {.group = 1, .pads = glow_array_u32(s->run->module, pads, 4)};
  GlowValue *ins[] = {glow_node_in(s->node, GLOW_CONTRACTION_X), filter_of(s, first, end),
                      bias_of(s, (uint32_t)(end - first))};
  GlowNode *n = ins[1] ? glow_build(b, GLOW_OP_CONVOLUTION, ins, 3, &members, NULL) : NULL;
  return n ? &n->results[0] : NULL;
}

/* All phases, N x (S T O) x H' x W'. */
static GlowValue *phases_of(Subpixel *s, GlowBuilder *b) {
  const Axis *rows = &s->axes[0], *columns = &s->axes[1];
  int64_t count = rows->stride * columns->stride;
  if (s->merged)
    return convolve(s, b, 0, count, &rows->all, &columns->all);
  GlowValue *parts[MOST_PHASES];
  for (int64_t i = 0; i < count; i++) {
    const Phase *row = &rows->phases[i / columns->stride];
    if (!(parts[i] = convolve(s, b, i, i + 1, row, &columns->phases[i % columns->stride])))
      return NULL;
  }
  return glow_build_concat(b, parts, (uint32_t)count, 1);
}

/* The phases put between each other, and what is too much cut off. */
static GlowValue *interleave(Subpixel *s, GlowBuilder *b, GlowValue *v) {
  const Axis *rows = &s->axes[0], *columns = &s->axes[1];
  int64_t images = s->node->results[0].type->dims[0].size, out = s->of.out;
  int64_t apart[] = {images, rows->stride, columns->stride, out, rows->places, columns->places};
  int64_t joined[] = {images, out, rows->places * rows->stride, columns->places * columns->stride};
  v = glow_build_shaped(b, s->node, v, 6, apart);
  v = glow_build_permuted(b, v, (uint32_t[]){0, 3, 4, 1, 5, 2}, 6);
  v = glow_build_shaped(b, s->node, v, 4, joined);
  for (uint32_t i = 0; i < AXES; i++)
    if (v && joined[2 + i] != s->axes[i].out)
      v = glow_build_part(b, s->node, v, 2 + i, s->axes[i].skipped,
                          s->axes[i].skipped + s->axes[i].out, 1);
  return v;
}

/* Whether the node has the form that the head of this file asks for. */
static bool is_candidate(Subpixel *s, GlowConstness *constness) {
  const GlowNode *n = s->node;
  if (n->op != GLOW_OP_CONV_TRANSPOSE || !glow_contraction_describe(s->node, &s->of))
    return false;
  const GlowConvTransposeMembers *m = n->members;
  const GlowType *y = n->results[0].type;
  return m->layout == GLOW_LAYOUT_NCHW && m->group == 1 && glow_slide_entry(m->dilations, 0, 1) == 1 &&
         glow_slide_entry(m->dilations, 1, 1) == 1 && glow_type_is_static(y) && y->rank == 4 && !y->layout &&
         glow_type_elements(y) > 0 && glow_contraction_is_constant(&s->of, constness) &&
         (double)glow_slide_entry(m->strides, 0, 1) * glow_slide_entry(m->strides, 1, 1) <= MOST_PHASES;
}

/* Fills in the axes. skip: begin where each phase has its first tap. False if this cannot be. */
static bool find_axes(Subpixel *s, bool skip) {
  const GlowConvTransposeMembers *m = s->node->members;
  const GlowType *x = glow_node_in(s->node, GLOW_CONTRACTION_X)->type;
  const GlowType *w = glow_node_in(s->node, GLOW_CONTRACTION_W)->type;
  for (uint32_t i = 0; i < AXES; i++) {
    int64_t stride = glow_slide_entry(m->strides, i, 1), pad = glow_slide_entry(m->pads, i, 0);
    s->axes[i] = (Axis){.stride = stride,
                        .in = x->dims[2 + i].size,
                        .out = s->node->results[0].type->dims[2 + i].size,
                        .skipped = skip ? pad % stride : 0};
    if (!find_phases(&s->axes[i], w->dims[2 + i].size, pad))
      return false;
  }
  return true;
}

/* Chooses how the phases are computed. False if n is something else, or stays. */
static bool describe(Subpixel *s, GlowConstness *constness) {
  if (!is_candidate(s, constness))
    return false;
  Subpixel skipping = *s;
  bool found = find_axes(s, false);
  s->merged = found && cost(s, true) <= cost(s, false);
  if (find_axes(&skipping, true) && (!found || cost(&skipping, true) < cost(s, s->merged))) {
    *s = skipping;
    s->merged = found = true;
  }
  return found;
}

static bool rewrite(GlowNode *n, void *arg) {
  GlowPassRun *run = arg;
  Subpixel s = {.run = run, .node = n};
  if (n->op != GLOW_OP_CONV_TRANSPOSE || !describe(&s, glow_constness_create(run->arena)))
    return true;
  GlowBuilder b = glow_builder_before(n);
  GlowValue *v = phases_of(&s, &b);
  v = v ? interleave(&s, &b, v) : NULL;
  if (!v)
    return false;
  glow_pass_changed(run, n, "became %s",
                    s.merged ? "a convolution" : "a convolution for each phase");
  glow_node_replace(n, &v, 1);
  return true;
}

bool glow_pass_subpixel_conv(GlowPassRun *run) {
  return glow_block_walk(run->function->body, rewrite, run);
}
