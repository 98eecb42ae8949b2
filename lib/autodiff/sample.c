/* A sample is the sum of the elements around its place, each times a weight that is a product over
 * the axes: of one neighbour (nearest), two (linear) or four (cubic) along each axis. Weights
 * follow from the places, so that derivatives by places are those of the weights. */
#include "autodiff/sample.h"

enum { MOST_NEIGHBOURS = 4, MOST_AXES = 4 };

typedef struct Neighbours {
  uint32_t count;
  GlowValue *index[MOST_NEIGHBOURS];  /* i64, in X */
  GlowValue *weight[MOST_NEIGHBOURS]; /* 0 outside of X, with zeros as padding */
} Neighbours;

static GlowValue *one(const GlowGrad *g, GlowOp op, GlowValue *x) {
  return glow_then1(g->b, op, x, NULL);
}
static GlowValue *clipped(const GlowGrad *g, GlowValue *x, double low, double high) {
  if (!x)
    return NULL;
  return glow_then3(g->b, GLOW_OP_CLIP, x, glow_build_scalar(g->b, x->type->kind, low),
                    glow_build_scalar(g->b, x->type->kind, high));
}

/* ---- Places ---------------------------------------------------------------------------------- */

/* x reflected at low and high until it lies between them. */
static GlowValue *reflected(const GlowGrad *g, GlowValue *x, double low, double high) {
  double range = high - low;
  if (range <= 0)
    return clipped(g, x, low, low);
  GlowValue *z = by(g, GLOW_OP_SUB, x, low);
  GlowValue *turns = one(g, GLOW_OP_FLOOR, by(g, GLOW_OP_DIV, z, 2 * range));
  z = two(g, GLOW_OP_SUB, z, by(g, GLOW_OP_MUL, turns, 2 * range));
  z = one(g, GLOW_OP_ABS, by(g, GLOW_OP_SUB, z, range));
  return by(g, GLOW_OP_ADD, one(g, GLOW_OP_NEG, z), high);
}

/* Along axis a: the place itself, or where the padding moves it. */
static GlowValue *padded_place(const GlowGrad *g, const GlowSampling *s, uint32_t a, double size) {
  GlowValue *x = s->place[a];
  double edge = s->corners ? 0 : 0.5;
  if (s->mode == GLOW_RESIZE_MODE_NEAREST)
    x = one(g, GLOW_OP_ROUND, x);
  if (s->padding == GLOW_GRID_PADDING_BORDER && s->mode != GLOW_RESIZE_MODE_CUBIC)
    return clipped(g, x, 0, size - 1);
  return s->padding == GLOW_GRID_PADDING_REFLECTION ? reflected(g, x, -edge, size - 1 + edge) : x;
}

/* Gives neighbour k the element at `index`, which is whole, and its weight. */
static void set_neighbour(const GlowGrad *g, const GlowSampling *s, Neighbours *n, uint32_t k,
                          GlowValue *index, GlowValue *weight, double size) {
  double edge = s->corners ? 0 : 0.5;
  if (s->padding == GLOW_GRID_PADDING_REFLECTION)
    index = reflected(g, index, -edge, size - 1 + edge);
  GlowValue *inside = clipped(g, index, 0, size - 1);
  if (s->padding == GLOW_GRID_PADDING_ZEROS && index && weight) {
    GlowValue *there = two(g, GLOW_OP_EQUAL, inside, index);
    weight = two(g, GLOW_OP_MUL, weight, glow_then_cast(g->b, there, weight->type->kind));
  }
  n->index[k] = glow_then_cast(g->b, inside, GLOW_KIND_I64);
  n->weight[k] = weight;
}

/* ---- Weights --------------------------------------------------------------------------------- */

/* The cubic filter at distance d, below 1 (near) or from 1 to 2. */
static GlowValue *cubic(const GlowGrad *g, GlowValue *d, bool near) {
  const double a = -0.75;
  GlowValue *v = by(g, GLOW_OP_MUL, d, near ? a + 2 : a);
  v = by(g, GLOW_OP_SUB, v, near ? a + 3 : 5 * a);
  v = two(g, GLOW_OP_MUL, v, d);
  if (near)
    return by(g, GLOW_OP_ADD, two(g, GLOW_OP_MUL, v, d), 1);
  v = two(g, GLOW_OP_MUL, by(g, GLOW_OP_ADD, v, 8 * a), d);
  return by(g, GLOW_OP_SUB, v, 4 * a);
}

static Neighbours neighbours_of(const GlowGrad *g, const GlowSampling *s, uint32_t a) {
  double size = (double)s->x->type->dims[2 + a].size;
  GlowValue *x = padded_place(g, s, a, size), *base = one(g, GLOW_OP_FLOOR, x);
  GlowValue *t = two(g, GLOW_OP_SUB, x, base);
  GlowValue *u = by(g, GLOW_OP_ADD, one(g, GLOW_OP_NEG, t), 1);
  Neighbours n = {.count = s->mode == GLOW_RESIZE_MODE_CUBIC ? 4 : 2};
  if (s->mode == GLOW_RESIZE_MODE_NEAREST) {
    n.count = 1;
    set_neighbour(g, s, &n, 0, base, base ? glow_grad_filled(g->b, base, 1) : NULL, size);
    return n;
  }
  for (uint32_t k = 0; k < n.count; k++) {
    GlowValue *weight = k ? t : u;
    if (n.count == 4)
      weight = k == 0   ? cubic(g, by(g, GLOW_OP_ADD, t, 1), false)
               : k == 1 ? cubic(g, t, true)
               : k == 2 ? cubic(g, u, true)
                        : cubic(g, by(g, GLOW_OP_ADD, u, 1), false);
    set_neighbour(g, s, &n, k, by(g, GLOW_OP_ADD, base, (double)k - (n.count == 4)), weight, size);
  }
  return n;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

/* v [batch, places] with one more axis of extent 1. */
static GlowValue *column(const GlowGrad *g, GlowValue *v) {
  const GlowType *t = v ? v->type : NULL;
  return v ? glow_build_shaped(g->b, g->n, v, 3, (int64_t[]){t->dims[0].size, t->dims[1].size, 1})
           : NULL;
}

/* The number of the image of each place, [batch, places, 1]. */
static GlowValue *images(const GlowGrad *g, const GlowType *places) {
  int64_t batch = places->dims[0].size;
  GlowValue *count = glow_build_count(g->b, g->n, batch, 1);
  count = glow_build_shaped(g->b, g->n, count, 3, (int64_t[]){batch, 1, 1});
  int64_t wide[] = {batch, places->dims[1].size, 1};
  return glow_then2(g->b, GLOW_OP_EXPAND, count,
                    glow_constant_ints(g->b->module, g->n, "places", wide, 3));
}

GlowValue *glow_build_samples(const GlowGrad *g, const GlowSampling *s) {
  uint32_t perm[GLOW_MAX_RANK] = {0}, rank = s->spatial + 2, at[MOST_AXES] = {0};
  Neighbours axes[MOST_AXES];
  GlowValue *sum = NULL, *parts[1 + MOST_AXES];
  for (uint32_t a = 0; a < s->spatial; a++) {
    if (!s->place[a])
      return NULL;
    perm[1 + a] = 2 + a;
    axes[a] = neighbours_of(g, s, a);
  }
  perm[rank - 1] = 1;
  GlowValue *x = glow_build_permuted(g->b, s->x, perm, rank);
  parts[0] = images(g, s->place[0]->type);
  for (bool more = true; more;) {
    GlowValue *weight = NULL;
    for (uint32_t a = 0; a < s->spatial; a++) {
      GlowValue *w = axes[a].weight[at[a]];
      weight = a ? two(g, GLOW_OP_MUL, weight, w) : w;
      parts[1 + a] = column(g, axes[a].index[at[a]]);
    }
    GlowValue *v =
        glow_then2(g->b, GLOW_OP_GATHER_ND, x, glow_build_concat(g->b, parts, 1 + s->spatial, 2));
    v = two(g, GLOW_OP_MUL, v, column(g, weight));
    sum = sum ? two(g, GLOW_OP_ADD, sum, v) : v;
    if (!sum)
      return NULL;
    more = false;
    for (uint32_t a = s->spatial; a-- > 0 && !more;) {
      at[a] = (at[a] + 1) % axes[a].count;
      more = at[a] != 0;
    }
  }
  return sum;
}
