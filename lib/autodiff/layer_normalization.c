/* Gradient rules of LayerNormalization and RMSNormalization, in closed form. With H = D * InvStdDev
 * the normalized X, G = dY * Scale, and means over the axes that are normalized:
 *
 *   LayerNormalization  dX = (G - mean(G) - H * mean(G * H)) * InvStdDev
 *   RMSNormalization    dX = (G - H * mean(G * H)) * InvStdDev
 *
 * in kind stash_type. So both means are of values that are known before, and one pass gives them.
 * D, InvStdDev and H are the nodes of the lowering rule once more. */
#include "autodiff/parts.h"

typedef struct Normal {
  GlowGrad *g;
  GlowValue *x, *scale, *axes;
  GlowValue *h, *inverse; /* in stash_type */
} Normal;

static GlowValue *two(const Normal *m, GlowOp op, GlowValue *x, GlowValue *y) {
  return glow_then2(m->g->b, op, x, y);
}

static GlowValue *mean(const Normal *m, GlowValue *v) {
  return two(m, GLOW_OP_REDUCE_MEAN, v, m->axes);
}

/* False if X has no rank, or if a node is refused. */
static bool begin(Normal *m, GlowGrad *g, int64_t axis, double epsilon, GlowKind kind,
                  bool centred) {
  int64_t axes[GLOW_MAX_RANK];
  uint32_t count = 0;
  *m = (Normal){.g = g, .x = glow_grad_in(g, 0), .scale = glow_node_in(g->n, 1)};
  const GlowType *t = m->x->type;
  if (t->unranked)
    return false;
  for (uint32_t i = glow_grad_axis(axis, t); i < t->rank; i++)
    axes[count++] = i;
  m->axes = glow_constant_ints(g->b->module, g->n, "axes", axes, count);
  GlowValue *d = glow_then_cast(g->b, m->x, kind);
  d = centred ? two(m, GLOW_OP_SUB, d, mean(m, d)) : d;
  m->inverse = glow_build_inverse_deviation(g->b, d, m->axes, epsilon);
  m->h = two(m, GLOW_OP_MUL, d, m->inverse);
  return m->h != NULL;
}

/* dX but for the last factor; NULL if dY is. */
static GlowValue *unscaled(const Normal *m, bool centred) {
  GlowKind kind = m->h->type->kind;
  GlowValue *v = m->g->dy[0];
  if (!v)
    return NULL;
  v = glow_then_cast(m->g->b, m->scale ? two(m, GLOW_OP_MUL, v, m->scale) : v, kind);
  GlowValue *along = two(m, GLOW_OP_MUL, m->h, mean(m, two(m, GLOW_OP_MUL, v, m->h)));
  v = centred ? two(m, GLOW_OP_SUB, v, mean(m, v)) : v;
  return two(m, GLOW_OP_SUB, v, along);
}

/* What the derivatives by the results Mean and InvStdDev add to dX / InvStdDev: dMean / (n
 * InvStdDev) and -dInvStdDev * InvStdDev * H / n. NULL if there are none, *failed if not. */
static GlowValue *by_statistics(const Normal *m, bool *failed) {
  GlowBuilder *b = m->g->b;
  const GlowNode *n = m->g->n;
  GlowKind kind = m->h->type->kind;
  GlowValue *by_mean = n->nresults > 1 ? m->g->dy[1] : NULL;
  GlowValue *by_inverse = n->nresults > 2 ? m->g->dy[2] : NULL, *v = NULL;
  if (!by_mean && !by_inverse)
    return NULL;
  GlowValue *share = glow_then1(b, GLOW_OP_SIZE, m->inverse, NULL);
  share = two(m, GLOW_OP_DIV, glow_then_cast(b, share, kind),
              glow_then_cast(b, glow_then1(b, GLOW_OP_SIZE, m->x, NULL), kind));
  if (by_mean)
    v = two(m, GLOW_OP_DIV, by_mean, m->inverse);
  if (by_inverse) {
    GlowValue *w = two(m, GLOW_OP_MUL, two(m, GLOW_OP_MUL, by_inverse, m->inverse), m->h);
    w = glow_then1(b, GLOW_OP_NEG, w, NULL);
    v = v ? two(m, GLOW_OP_ADD, w, v) : w;
  }
  v = two(m, GLOW_OP_MUL, v, share);
  *failed = v == NULL;
  return v;
}

static bool set_x(const Normal *m, bool centred) {
  bool failed = false;
  GlowValue *v = unscaled(m, centred);
  if (m->g->dy[0] && !v)
    return false;
  GlowValue *more = centred ? by_statistics(m, &failed) : NULL;
  if (failed)
    return false;
  v = v && more ? two(m, GLOW_OP_ADD, v, more) : v ? v : more;
  return glow_grad_set(m->g, 0, two(m, GLOW_OP_MUL, v, m->inverse));
}

/* dY * H, H cast as in the lowering rule. */
static bool set_scale(const Normal *m, GlowKind first) {
  GlowBuilder *b = m->g->b;
  GlowKind kind = m->scale->type->kind;
  GlowValue *h = glow_then_cast(b, glow_then_cast(b, m->h, first), kind);
  return glow_grad_set(m->g, 1, two(m, GLOW_OP_MUL, glow_then_cast(b, m->g->dy[0], kind), h));
}

static bool wants(const GlowGrad *g, uint32_t i) {
  return i < glow_node_nins(g->n) && g->wanted[i] && glow_grad_in(g, i);
}

bool glow_grad_layer_normalization(GlowGrad *g) {
  const GlowLayerNormalizationMembers *members = g->n->members;
  Normal m;
  if (!begin(&m, g, members->axis, (double)members->epsilon, members->stash_type, true))
    return false;
  if (wants(g, 0) && !set_x(&m, true))
    return false;
  if (wants(g, 1) && g->dy[0] && !set_scale(&m, m.x->type->kind))
    return false;
  return !wants(g, 2) || !g->dy[0] || glow_grad_set(g, 2, g->dy[0]);
}

bool glow_grad_rms_normalization(GlowGrad *g) {
  const GlowRMSNormalizationMembers *members = g->n->members;
  Normal m;
  if (!begin(&m, g, members->axis, (double)members->epsilon, members->stash_type, false))
    return false;
  return (!wants(g, 0) || set_x(&m, false)) && (!wants(g, 1) || set_scale(&m, m.x->type->kind));
}
