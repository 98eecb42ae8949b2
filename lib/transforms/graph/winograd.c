/* Convolution of 3x3 windows by Winograd's F(4x4, 3x3) or F(2x2, 3x3), where that pays:
 *
 *   Convolution(x, W, B)  ->  Convolution(x, U, B) {strategy = winograd}
 *
 * where U is WinogradFilter(W) {results = 4 or 2}, an `eval` constant if W is constant, else a
 * node. Strides, dilations and groups are 1, two spatial axes in NCHW order, and float. A strategy
 * of bf16 whose sums have the order of pairs stays in the text as the roundings of its operands:
 *
 *   Convolution(x, W, B) {strategy = bf16, order = pair}
 *     ->  Convolution(Cast(Cast(x) {to = bfloat16}), U, B) {strategy = winograd}
 *
 * The rule counts multiplications of one image, never of a batch, and is alike for all targets,
 * since the choice shows in the last bits. For I input and O output channels and T tiles of as many
 * results:
 *
 *   directly        9 * I * O * rows * columns
 *   tiles of 4x4   36 * I * O * max(T, R) + 200 * T * (I + O)
 *   tiles of 2x2   16 * I * O * max(T, R) +  90 * T * (I + O)
 *
 * A filter that is transformed at each run costs 4 multiplications more for each number of U. The
 * smaller of the last two is taken if it is 1.25 times smaller than the first; if it is 3.2 times
 * smaller in the place of products of bfloat16, which machines with the order of pairs do twice as
 * fast, and which stay near to that speed on small maps. R is the cost of reading U: each of its
 * numbers is loaded once for all tiles, which takes as long as its products with 6 tiles, or with
 * 16 if U has more than 2^21 numbers, 8 MB, which no cache keeps until the next image. So small
 * maps of many channels prefer the tiles with fewer places. 200 and 90 are the costs of the
 * transforms of a tile for each channel, loads and stores included; channels count in blocks of 16,
 * which is how they lie in memory.
 *
 * Bounded: the matrices of the transforms multiply to 564 at most, along both axes and in absolute
 * value (64 for tiles of 2x2), so an output of I channels is off by (I + 36) u times 564 times the
 * sum over channels of the largest input of its tile times the largest weight. With K = 9 I
 * products that is less than (7 K + 2300) u S, where S takes an operand's largest magnitude for all
 * its elements, since a tile mixes them: BOUNDED_OVERALL. Measured errors are a thousandth of
 * that. */
#include "transforms/winograd.h"
#include "pass/pass.h"
#include "transforms/transforms.h"

enum { BLOCK = 16, READ_NEAR = 6, READ_FAR = 16, FAR = 1 << 21, MADE = 4 };

static const double PAIRS = 3.2; /* times smaller where products of bfloat16 are the other way */

/* A kind of tiles. */
typedef struct Tiling {
  uint32_t side;    /* results along an axis */
  double places;    /* numbers of a transformed tile: 36 or 16 */
  double transform; /* the cost of the transforms of a tile for a channel */
} Tiling;

enum { TILINGS = 2 };
static const Tiling tilings[TILINGS] = {{4, 36, 200}, {2, 16, 90}};

typedef struct Winograd {
  GlowPassRun *run;
  GlowConstness *constness;
  GlowMap *filters[2][TILINGS]; /* W to U, of W as it is and rounded to bfloat16 */
  bool all;                     /* also where it does not pay */
} Winograd;

static bool all_ones(GlowArray a) {
  for (uint32_t i = 0; i < a.count; i++)
    if (glow_array_at(a, uint32_t, i) != 1)
      return false;
  return true;
}

/* Why n cannot be done this way; NULL if it can. */
static const char *obstacle(const GlowNode *n) {
  const GlowConvolutionMembers *m = n->members;
  const GlowType *x = glow_node_in(n, GLOW_CONVOLUTION_IN_X)->type, *y = n->results[0].type;
  if (!all_ones(m->strides))
    return "its strides are not 1";
  if (!all_ones(m->dilations))
    return "it has dilations";
  if (m->group != 1)
    return "it has groups";
  if (m->layout != GLOW_LAYOUT_NCHW)
    return "its layout is not NCHW";
  if (x->kind != GLOW_KIND_FLOAT)
    return "it is not of float";
  if (!glow_type_is_known(x) || !glow_type_is_known(y))
    return "its extents are not known";
  if (x->layout || y->layout)
    return "its layouts are assigned already";
  return NULL;
}

static bool is_bf16(const GlowNode *n) {
  return ((const GlowConvolutionMembers *)n->members)->strategy == GLOW_CONV_STRATEGY_BF16;
}

static bool is_constant_filter(const Winograd *c, const GlowNode *n) {
  return glow_constness_of(c->constness, glow_node_in(n, GLOW_CONVOLUTION_IN_W));
}

static double blocks(int64_t channels) { return (double)((channels + BLOCK - 1) / BLOCK * BLOCK); }

/* The smaller of the counts of both kinds of tiles. */
GlowWinogradCount glow_winograd_count(int64_t in, int64_t out, int64_t rows, int64_t columns,
                                      bool is_constant) {
  GlowWinogradCount best = {.direct = 9.0 * (double)in * (double)out * (double)(rows * columns)};
  for (int i = 0; i < TILINGS; i++) {
    const Tiling *t = &tilings[i];
    int64_t down = (rows + t->side - 1) / t->side, across = (columns + t->side - 1) / t->side;
    double tiles = (double)down * (double)across, filter = t->places * (double)in * (double)out;
    double read = filter > FAR ? READ_FAR : READ_NEAR;
    double count = (is_constant ? 0 : MADE * filter) + filter * (tiles > read ? tiles : read) +
                   t->transform * tiles * (blocks(in) + blocks(out));
    if (i == 0 || count < best.tiled)
      best.tiled = count, best.tiling = i;
  }
  best.pays = best.tiled * 1.25 <= best.direct;
  return best;
}

static GlowWinogradCount count(const Winograd *c, const GlowNode *n) {
  const GlowDim *y = n->results[0].type->dims;
  int64_t in = glow_node_in(n, GLOW_CONVOLUTION_IN_X)->type->dims[1].size;
  return glow_winograd_count(in, y[1].size, y[2].size, y[3].size, is_constant_filter(c, n));
}

/* Rounded to bfloat16, as a float; NULL after a diagnostic. */
static GlowValue *rounded(GlowBuilder *b, GlowValue *v) {
  if (v->type->kind != GLOW_KIND_BFLOAT16)
    v = glow_then_cast(b, v, GLOW_KIND_BFLOAT16);
  return v ? glow_then_cast(b, v, GLOW_KIND_FLOAT) : NULL;
}

/* WinogradFilter of n's filter w. */
static GlowValue *build_filter(GlowBuilder *b, const GlowNode *n, GlowValue *w, int tiling) {
  const GlowWinogradFilterMembers members = {.results = tilings[tiling].side};
  if (is_bf16(n))
    w = rounded(b, w);
  return w ? glow_build1(b, GLOW_OP_WINOGRAD_FILTER, w, &members, NULL) : NULL;
}

/* The transformed filter; as a constant one for all convolutions that share W. NULL after a
 * diagnostic. */
static GlowValue *transform(Winograd *c, GlowNode *n, int tiling) {
  GlowMap *filters = c->filters[is_bf16(n)][tiling];
  GlowValue *w = glow_node_in(n, GLOW_CONVOLUTION_IN_W), *known = glow_map_get(filters, w);
  if (known)
    return known;
  if (!is_constant_filter(c, n)) {
    GlowBuilder b = glow_builder_before(n);
    return build_filter(&b, n, w, tiling);
  }
  GlowEval e = glow_eval_create(c->run->module, c->run->arena, n);
  GlowValue *u = build_filter(&e.builder, n, glow_eval_copy(&e, w), tiling);
  if (!u)
    return NULL;
  GlowStr name = glow_str_printf(c->run->ctx, "%s.winograd", w->name ? w->name : "filter");
  known = &glow_eval_finish(&e, u, name)->value;
  glow_map_set(filters, w, known);
  return known;
}

static bool is_candidate(const GlowNode *n) {
  const GlowConvolutionMembers *m = n->members;
  if (n->op != GLOW_OP_CONVOLUTION || (m->strategy != GLOW_CONV_STRATEGY_DIRECT &&
                                       (!is_bf16(n) || m->order != GLOW_BF16_ORDER_PAIR)))
    return false;
  const GlowType *w = glow_node_in(n, GLOW_CONVOLUTION_IN_W)->type;
  uint32_t first = m->layout == GLOW_LAYOUT_NHWC ? 1 : 2;
  return glow_type_is_static(w) && w->rank == 4 && w->dims[first].size == 3 &&
         w->dims[first + 1].size == 3;
}

static bool choose(GlowNode *n, void *arg) {
  Winograd *c = arg;
  if (!is_candidate(n))
    return true;
  const char *why = obstacle(n);
  if (why) {
    glow_pass_remark(c->run, glow_node_loc(n), "stays direct: %s", why);
    return true;
  }
  GlowWinogradCount k = count(c, n);
  const bool pays = is_bf16(n) ? k.tiled * PAIRS <= k.direct : k.pays;
  if (!c->all && !pays) {
    glow_pass_remark(c->run, glow_node_loc(n),
                     "stays direct: %.4g million multiplications of an image, with transforms %.4g",
                     k.direct * 1e-6, k.tiled * 1e-6);
    return true;
  }
  uint32_t side = tilings[k.tiling].side;
  glow_pass_changed(c->run, n,
                    "chosen: tiles of %ux%u, %.4g million multiplications of an image become %.4g",
                    side, side, k.direct * 1e-6, k.tiled * 1e-6);
  GlowValue *u = transform(c, n, k.tiling);
  if (!u)
    return false;
  glow_use_set(&n->operands[GLOW_CONVOLUTION_IN_W], u);
  GlowConvolutionMembers *m = n->members;
  if (is_bf16(n)) {
    GlowBuilder b = glow_builder_before(n);
    GlowValue *x = rounded(&b, glow_node_in(n, GLOW_CONVOLUTION_IN_X));
    if (!x)
      return false;
    glow_use_set(&n->operands[GLOW_CONVOLUTION_IN_X], x);
  }
  m->strategy = GLOW_CONV_STRATEGY_WINOGRAD;
  m->order = GLOW_BF16_ORDER_TILE;
  return true;
}

bool glow_pass_winograd(GlowPassRun *run) {
  Winograd c = {.run = run,
                .constness = glow_constness_create(run->arena),
                .filters = {{glow_map_create(run->arena), glow_map_create(run->arena)},
                            {glow_map_create(run->arena), glow_map_create(run->arena)}},
                .all = glow_pass_option(run, "all") != NULL};
  return glow_block_walk(run->function->body, choose, &c);
}
