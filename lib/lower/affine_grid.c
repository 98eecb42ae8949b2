/* AffineGrid: for spatial axis k with N elements, place i lies at p = (2 i + 1 - N) / D, where D is
 * N, or N - 1 (at least 1) with align_corners. The result is a sum of products by broadcast, in
 * double:
 *
 *   p_last * Theta[:, :, 0] + ... + p_first * Theta[:, :, n - 1] + Theta[:, :, n]
 */
#include "lower/lower.h"
#include "ops/lower.h"

typedef struct Rule {
  GlowBuilder *b;
  const GlowNode *n;
  uint32_t spatial;
  GlowValue *columns[GLOW_MAX_RANK]; /* of Theta: [batch, 1, ..., spatial] */
} Rule;

static GlowValue *integer(const Rule *r, const char *what, int64_t v) {
  return glow_constant_int(r->b->module, r->n, what, v);
}

static GlowValue *shaped(const Rule *r, GlowValue *v, const int64_t *shape, uint32_t rank) {
  return glow_then2(r->b, GLOW_OP_RESHAPE, v,
                    glow_constant_ints(r->b->module, r->n, "shape", shape, rank));
}

/* Cuts Theta into its columns. */
static bool read_theta(Rule *r) {
  GlowBuilder *b = r->b;
  GlowValue *theta = glow_then_cast(b, glow_node_in(r->n, 0), GLOW_KIND_DOUBLE);
  int64_t shape[GLOW_MAX_RANK];
  GlowSplitMembers m = {.axis = 2};
  GlowNodeSpec spec = {
      .op = GLOW_OP_SPLIT, .ins = &theta, .nins = 1, .members = &m, .nresults = r->spatial + 1};
  GlowNode *split = theta ? glow_node_create(b, &spec) : NULL;
  for (uint32_t a = 0; a < r->spatial; a++)
    shape[a + 1] = 1;
  shape[0] = -1;
  shape[r->spatial + 1] = r->spatial;
  for (uint32_t k = 0; split && k <= r->spatial; k++)
    r->columns[k] = shaped(r, &split->results[k], shape, r->spatial + 2);
  return split != NULL;
}

/* The places along spatial axis k, [N, 1, ..., 1]. */
static GlowValue *places(const Rule *r, uint32_t k, bool align) {
  GlowBuilder *b = r->b;
  GlowValue *size = glow_node_in(r->n, GLOW_AFFINE_GRID_IN_SIZE);
  const GlowTensor *known = glow_value_known(size);
  GlowValue *one = integer(r, "one", 1), *count;
  count = known ? integer(r, "count", glow_tensor_get_int(known, k + 2))
                : glow_then2(b, GLOW_OP_GATHER, size, integer(r, "axis", k + 2));
  if (!count)
    return NULL;
  GlowValue *i = glow_then3(b, GLOW_OP_RANGE, integer(r, "zero", 0), count, one);
  GlowValue *d = count;
  if (align)
    d = glow_then2(b, GLOW_OP_MAX, glow_then2(b, GLOW_OP_SUB, count, one), one);
  GlowValue *p = glow_then2(b, GLOW_OP_SUB, glow_then2(b, GLOW_OP_ADD, i, i),
                            glow_then2(b, GLOW_OP_SUB, count, one));
  p = glow_then2(b, GLOW_OP_DIV, glow_then_cast(b, p, GLOW_KIND_DOUBLE),
                 glow_then_cast(b, d, GLOW_KIND_DOUBLE));
  int64_t shape[GLOW_MAX_RANK];
  uint32_t rank = r->spatial - k + 1;
  for (uint32_t a = 0; a < rank; a++)
    shape[a] = a ? 1 : -1;
  return shaped(r, p, shape, rank);
}

bool glow_lower_affine_grid(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowAffineGridMembers *m = n->members;
  const GlowType *theta = glow_node_in(n, 0)->type;
  Rule r = {.b = b, .n = n};
  if (theta->unranked || theta->dims[1].kind != GLOW_DIM_EXACT)
    return false;
  r.spatial = (uint32_t)theta->dims[1].size;
  if (!read_theta(&r))
    return false;
  GlowValue *y = NULL;
  for (uint32_t k = r.spatial; k-- > 0;) {
    GlowValue *p =
        glow_then2(b, GLOW_OP_MUL, places(&r, k, m->align_corners), r.columns[r.spatial - 1 - k]);
    y = y ? glow_then2(b, GLOW_OP_ADD, y, p) : p;
    if (!y)
      return false;
  }
  y = glow_then2(b, GLOW_OP_ADD, y, r.columns[r.spatial]);
  results[0] = glow_then_cast(b, y, theta->kind);
  return results[0] != NULL;
}
