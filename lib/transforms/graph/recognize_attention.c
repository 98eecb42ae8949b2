/* Attention, spelled out for operands [batch, heads, sequence, size] or [heads, sequence, size]:
 *
 *   MatMul(Softmax(MatMul(q, k') * a + mask), v)
 *
 * where k' is k with its last axes swapped. The factor a may be a divisor, and may stand at q, at
 * k, or at both. The mask is added, or applied as Where(seen, scores, lowest), with -inf or the
 * lowest number of the kind. A further node may replace the NaN of a query that sees no key by 0. A
 * constant mask that shows each query the keys up to its own becomes is_causal. q, k and v have the
 * same batch and heads.
 *
 * Bounded, if every query sees a key: the factor rounds at other places, c = K + 16 for K numbers
 * in a head, S with the exponentials of absolute scores. A mask that fills with the lowest number
 * is taken only if it is constant and shows a key to every query: for a query that sees none,
 * Attention gives zeros, but this spelling gives the mean of all values. */
#include "transforms/match.h"

#include <math.h>

/* ---- Masks ----------------------------------------------------------------------------------- */

typedef struct Mask {
  GlowValue *value; /* NULL: none */
  bool hides;       /* true in a mask of bools means that a key is not seen */
  bool causal;
} Mask;

/* Whether v is the lowest finite number of a kind, or low enough to hide a score. */
static bool is_lowest(GlowKind kind, double v) {
  return v < (kind == GLOW_KIND_FLOAT16 ? -6e4 : kind == GLOW_KIND_DOUBLE ? -1e300 : -1e38);
}

/* Reads a constant mask. Returns whether each query sees a key; sets *causal to whether each sees
 * just the keys up to its own. */
static bool read_rows(const GlowTensor *t, bool hides, bool *causal) {
  uint32_t rank = t->type->rank;
  if (rank < 2)
    return false;
  int64_t rows = t->type->dims[rank - 2].size, columns = t->type->dims[rank - 1].size;
  int64_t count = glow_tensor_elements(t);
  *causal = rows == columns;
  for (int64_t i = 0; i < count; i += columns) {
    bool any = false;
    for (int64_t k = 0; k < columns; k++) {
      bool seen = (glow_tensor_get_int(t, i + k) != 0) != hides;
      any |= seen;
      *causal &= seen == (k <= i / columns % rows);
    }
    if (!any)
      return false;
  }
  return count > 0;
}

/* Looks at the number that fills hidden scores, and into the mask if it is constant. False if
 * Attention would give other results. */
static bool read_bools(const GlowMatch *m, Mask *mask) {
  double lowest = glow_match_number(m, 'l');
  GlowKind kind = glow_match_value(m, 'l')->type->kind;
  bool infinite = isinf(lowest) && lowest < 0, causal = false;
  const GlowValue *v = mask->value;
  if (v->kind != GLOW_VALUE_STORAGE || v->def.storage->cls != GLOW_CONSTANT)
    return infinite;
  const GlowTensor *t = glow_values_get(m->values, v->def.storage);
  if (!t || !read_rows(t, mask->hides, &causal))
    return infinite;
  if (causal)
    *mask = (Mask){.causal = true};
  return infinite || is_lowest(kind, lowest);
}

static bool read_mask(const GlowMatch *m, Mask *mask) {
  GlowValue *seen = glow_match_value(m, 'w'), *hidden = glow_match_value(m, 'u');
  if (!seen && !hidden) {
    *mask = (Mask){.value = glow_match_value(m, 'a')};
    return true;
  }
  *mask = (Mask){.value = seen ? seen : hidden, .hides = hidden != NULL};
  return read_bools(m, mask);
}

/* ---- Operands -------------------------------------------------------------------------------- */

/* The product of the factors that the formula found: f, g and h multiply, c, d and e divide. */
static double read_scale(const GlowMatch *m) {
  double scale = 1;
  static const char factors[] = "fgh", divisors[] = "cde";
  for (int i = 0; i < 3; i++) {
    scale *= glow_match_value(m, factors[i]) ? glow_match_number(m, factors[i]) : 1;
    scale /= glow_match_value(m, divisors[i]) ? glow_match_number(m, divisors[i]) : 1;
  }
  return scale;
}

static GlowValue *swap_last(GlowBuilder *b, GlowValue *x) {
  uint32_t perm[GLOW_MAX_RANK], rank = x->type->rank;
  for (uint32_t i = 0; i < rank; i++)
    perm[i] = i + 2 < rank ? i : rank - 1 - (i - (rank - 2));
  GlowTransposeMembers members = {.perm = glow_array_u32(b->module, perm, rank)};
  return glow_build1(b, GLOW_OP_TRANSPOSE, x, &members, NULL);
}

/* x with a first axis of 1 if it has rank 3. */
static GlowValue *as_rank_4(GlowBuilder *b, const GlowNode *n, GlowValue *x) {
  const GlowType *t = x ? x->type : NULL;
  if (!t || t->rank == 4)
    return x;
  GlowDim dims[] = {GLOW_EXACT(1), t->dims[0], t->dims[1], t->dims[2]};
  return glow_build_reshape(b, n, x, 4, dims);
}

/* Whether q, k' and v are tensors of one batch and one set of heads. */
static bool fit_together(const GlowType *q, const GlowType *k, const GlowType *v) {
  if (!glow_type_is_known(q) || !glow_type_is_known(k) || !glow_type_is_known(v) ||
      (q->rank != 3 && q->rank != 4) || k->rank != q->rank || v->rank != q->rank ||
      k->kind != q->kind || v->kind != q->kind || !glow_kind_is_float(q->kind))
    return false;
  for (uint32_t i = 0; i + 2 < q->rank; i++)
    if (!glow_dim_equals(q->dims[i], k->dims[i]) || !glow_dim_equals(q->dims[i], v->dims[i]))
      return false;
  return q->dims[q->rank - 1].kind == GLOW_DIM_EXACT && q->dims[q->rank - 1].size > 0 &&
         v->dims[q->rank - 1].kind == GLOW_DIM_EXACT &&
         glow_dim_equals(k->dims[q->rank - 1], v->dims[q->rank - 2]) &&
         (q->rank == 4 || q->dims[0].kind == GLOW_DIM_EXACT);
}

/* Whether a mask that is added broadcasts to the scores and has their kind. */
static bool fits_scores(const GlowValue *mask, const GlowType *scores) {
  const GlowType *t = mask ? mask->type : NULL;
  if (!t)
    return true;
  if (!glow_type_is_known(t) || t->rank > scores->rank ||
      (t->kind != scores->kind && t->kind != GLOW_KIND_BOOL))
    return false;
  for (uint32_t i = 0; i < t->rank; i++) {
    bool all = glow_dim_equals(t->dims[i], scores->dims[i + scores->rank - t->rank]);
    if (!all &&
        (!glow_dim_is_exact(t->dims[i], 1) || i + 1 == t->rank)) /* a short last axis hides keys */
      return false;
  }
  return true;
}

static GlowValue *build(GlowBuilder *b, const GlowMatch *m) {
  GlowValue *q = glow_match_value(m, 'q'), *k = glow_match_value(m, 'k');
  GlowValue *v = glow_match_value(m, 'v'), *p = glow_match_value(m, 'p');
  const GlowType *scores = p->type;
  double scale = read_scale(m);
  Mask mask;
  if (!fit_together(q->type, k->type, v->type) || !(scale > 0) || !isfinite((float)scale) ||
      ((double)(float)scale != scale && q->type->kind == GLOW_KIND_DOUBLE) || scores->unranked)
    return NULL;
  const GlowSoftmaxMembers *softmax = p->def.node->members;
  bool last = softmax->axis == -1 || softmax->axis == (int64_t)scores->rank - 1;
  if (!last || !read_mask(m, &mask) || !fits_scores(mask.value, scores))
    return NULL;
  GlowValue *ins[] = {as_rank_4(b, m->root, q), as_rank_4(b, m->root, swap_last(b, k)),
                      as_rank_4(b, m->root, v), mask.value};
  GlowAttentionMembers members =
      *(const GlowAttentionMembers *)glow_op_desc[GLOW_OP_ATTENTION].member_defaults;
  members.scale = (float)scale;
  members.is_causal = mask.causal;
  if (mask.value && mask.hides)
    ins[3] = glow_build1(b, GLOW_OP_NOT, mask.value, NULL, NULL);
  if (!ins[0] || !ins[1] || !ins[2])
    return NULL;
  GlowNode *n = glow_build(b, GLOW_OP_ATTENTION, ins, 4, &members, NULL);
  const GlowType *y = m->root->results[0].type;
  if (!n || y->rank == 4)
    return n ? &n->results[0] : NULL;
  return glow_build_reshape(b, m->root, &n->results[0], y->rank, y->dims);
}

#define PRODUCT "MatMul({Mul(q, #g) | Div(q, #d) | q}, {Mul(k, #h) | Div(k, #e) | k})"
#define SCALED "{Mul(" PRODUCT ", #f) | Div(" PRODUCT ", #c) | " PRODUCT "}"
#define MASKED                                                                                     \
  "{Add(" SCALED ", a) | Where(w, " SCALED ", #l) | Where(u, #l, " SCALED ") | " SCALED "}"
#define WEIGHTS "p=Softmax(" MASKED ")"

bool glow_pass_recognize_attention(GlowPassRun *run) {
  static const GlowFormula formulas[] = {
      {"MatMul(" WEIGHTS ", v)", build},
      {"MatMul(Where(IsNaN(p), 0, " WEIGHTS "), v)", build},
  };
  return glow_recognize(run, "Attention", formulas, sizeof formulas / sizeof *formulas);
}
