/* The gradient rule of BatchNormalization in closed form, with d = Sqrt(Var + epsilon) and
 * z = (X - Mean) / d, which the lowering computes, too:
 *
 *   dBias = sum of dY     dScale = sum of dY z     dX = dY Scale / d
 *   dMean = -dBias Scale / d                       dVar = -dScale Scale / (2 d^2)
 *
 * Sums are over all axes but that of the channels. So X is read by two sums alone, whatever of the
 * statistics depends on it. */
#include "autodiff/parts.h"

typedef struct Norm {
  GlowGrad *g;
  GlowValue *x, *scale, *sum, *d; /* sum: Var + epsilon */
} Norm;

static GlowValue *along(const Norm *m, GlowValue *v) {
  return glow_along_channels(m->g->b, m->g->n, v, m->x->type->rank);
}

/* The sum of v for each channel. */
static GlowValue *summed(const Norm *m, GlowValue *v) {
  int64_t axes[GLOW_MAX_RANK] = {0};
  for (uint32_t i = 2; i < m->x->type->rank; i++)
    axes[i - 1] = i;
  return glow_grad_summed(m->g, v, axes, m->x->type->rank - 1);
}

static GlowValue *times_z(const Norm *m, GlowValue *v) {
  GlowBuilder *b = m->g->b;
  GlowValue *mean = glow_grad_in(m->g, GLOW_BATCH_NORMALIZATION_IN_MEAN);
  GlowValue *z = glow_then2(b, GLOW_OP_SUB, m->x, along(m, mean));
  return glow_then2(b, GLOW_OP_MUL, v, glow_then2(b, GLOW_OP_DIV, z, along(m, m->d)));
}

static bool by_variance(const Norm *m, GlowValue *dscale) {
  GlowBuilder *b = m->g->b;
  GlowValue *half = glow_build_scalar(b, m->x->type->kind, -0.5);
  GlowValue *v = glow_then2(b, GLOW_OP_MUL, glow_then2(b, GLOW_OP_MUL, m->scale, dscale), half);
  return glow_grad_put(m->g, GLOW_BATCH_NORMALIZATION_IN_VAR,
                       glow_then2(b, GLOW_OP_DIV, v, m->sum));
}

bool glow_grad_batch_normalization(GlowGrad *g) {
  const GlowBatchNormalizationMembers *members = g->n->members;
  GlowBuilder *b = g->b;
  Norm m = {.g = g,
            .x = glow_grad_in(g, GLOW_BATCH_NORMALIZATION_IN_X),
            .scale = glow_grad_in(g, GLOW_BATCH_NORMALIZATION_IN_SCALE)};
  if (m.x->type->unranked)
    return false;
  const bool *wanted = g->wanted;
  GlowValue *epsilon = glow_build_scalar(b, m.x->type->kind, members->epsilon);
  m.sum = glow_then2(b, GLOW_OP_ADD, glow_grad_in(g, GLOW_BATCH_NORMALIZATION_IN_VAR), epsilon);
  m.d = glow_then1(b, GLOW_OP_SQRT, m.sum, NULL);
  GlowValue *factor = glow_then2(b, GLOW_OP_DIV, m.scale, m.d), *dbias = NULL, *dscale = NULL;
  if (wanted[GLOW_BATCH_NORMALIZATION_IN_BIAS] || wanted[GLOW_BATCH_NORMALIZATION_IN_MEAN])
    dbias = summed(&m, g->dy[0]);
  if (wanted[GLOW_BATCH_NORMALIZATION_IN_SCALE] || wanted[GLOW_BATCH_NORMALIZATION_IN_VAR])
    dscale = summed(&m, times_z(&m, g->dy[0]));
  if (wanted[GLOW_BATCH_NORMALIZATION_IN_X] &&
      !glow_grad_put(g, GLOW_BATCH_NORMALIZATION_IN_X,
                     glow_then2(b, GLOW_OP_MUL, g->dy[0], along(&m, factor))))
    return false;
  if (wanted[GLOW_BATCH_NORMALIZATION_IN_SCALE] &&
      !glow_grad_put(g, GLOW_BATCH_NORMALIZATION_IN_SCALE, dscale))
    return false;
  if (wanted[GLOW_BATCH_NORMALIZATION_IN_BIAS] &&
      !glow_grad_put(g, GLOW_BATCH_NORMALIZATION_IN_BIAS, dbias))
    return false;
  if (wanted[GLOW_BATCH_NORMALIZATION_IN_MEAN] &&
      !glow_grad_put(g, GLOW_BATCH_NORMALIZATION_IN_MEAN,
                     glow_then1(b, GLOW_OP_NEG, glow_then2(b, GLOW_OP_MUL, factor, dbias), NULL)))
    return false;
  return !wanted[GLOW_BATCH_NORMALIZATION_IN_VAR] || by_variance(&m, dscale);
}
