/* Inference of operators that give the same elements another shape: Reshape, Flatten, Squeeze,
 * Unsqueeze, Transpose. Definitions as ONNX's, Reshape of version 14. */
#include "ir/infer/hooks.h"

/* ---- Reshape --------------------------------------------------------------------------------- */

/* The product of the extents of X that the result does not copy: a number times the extents that
 * are not exact. */
typedef struct Product {
  int64_t number;
  GlowDim open[GLOW_MAX_RANK];
  uint32_t nopen;
  bool overflow;
} Product;

static void multiply(Product *p, GlowDim d) {
  if (d.kind == GLOW_DIM_EXACT)
    p->overflow |= __builtin_mul_overflow(p->number, d.size, &p->number);
  else
    p->open[p->nopen++] = d;
}

/* The extent that -1 stands for: the elements of X divided by the other extents. */
static bool divide(const GlowInfer *in, const Product *x, GlowDim others, GlowDim *result) {
  *result = GLOW_UNKNOWN;
  if (glow_dim_is_exact(others, 0))
    return glow_infer_error(in, "-1 cannot be computed: another extent is 0");
  if (x->overflow)
    return true;
  if (x->nopen == 0 && others.kind == GLOW_DIM_EXACT) {
    *result = GLOW_EXACT(x->number / others.size);
    return x->number % others.size == 0 ||
           glow_infer_error(in, "%lld elements cannot be divided into pieces of %lld",
                            (long long)x->number, (long long)others.size);
  }
  if (glow_dim_is_exact(others, x->number) && x->nopen == 1) {
    *result = x->open[0];
    return true;
  }
  GlowDim whole = GLOW_EXACT(x->number);
  for (uint32_t i = 0; i < x->nopen; i++)
    whole = glow_dim_mul(whole, x->open[i]);
  *result = glow_dim_div(whole, others);
  return true;
}

typedef struct ReshapeState {
  GlowDim dims[GLOW_MAX_RANK];
  bool copied[GLOW_MAX_RANK]; /* X's axis goes to the result as it is */
  int computed;               /* axis of -1, or -1 */
  bool copies_unknown;        /* a 0 in Shape copies an extent of X, whose rank is unknown */
} ReshapeState;

static bool read_shape(const GlowInfer *in, const GlowSizes *shape, ReshapeState *s) {
  const GlowReshapeMembers *m = in->members;
  const GlowType *x = in->in[GLOW_RESHAPE_IN_X];
  for (uint32_t i = 0; i < shape->count; i++) {
    const GlowSize size = shape->items[i];
    if (size.size > 0 || (size.size == 0 && m->allow_zero)) {
      s->dims[i] = glow_size_dim(size);
    } else if (size.size == 0) {
      s->copies_unknown |= x->unranked;
      if (!x->unranked && i >= x->rank)
        return glow_infer_error(in, "extent %u is 0, but X has only %u axes", i, x->rank);
      s->dims[i] = x->unranked ? GLOW_UNKNOWN : x->dims[i];
      s->copied[i] = !x->unranked;
    } else if (size.size != -1) {
      return glow_infer_error(in, "extent %u is %lld", i, (long long)size.size);
    } else if (s->computed >= 0) {
      return glow_infer_error(in, "more than one extent is -1");
    } else {
      s->computed = (int)i;
    }
  }
  return true;
}

static bool settle_reshape(const GlowInfer *in, uint32_t rank, ReshapeState *s) {
  const GlowType *x = in->in[GLOW_RESHAPE_IN_X];
  GlowDim others = GLOW_EXACT(1);
  for (uint32_t i = 0; i < rank; i++) {
    bool given = !s->copied[i] && (int)i != s->computed && glow_dim_has_size(s->dims[i]);
    GlowDim with = given ? glow_dim_mul(others, s->dims[i]) : others;
    if (with.kind == GLOW_DIM_UNKNOWN)
      return glow_infer_error(in, "the shape has too many elements");
    others = with;
  }
  if (s->computed >= 0)
    s->dims[s->computed] = GLOW_UNKNOWN;
  if (x->unranked || s->copies_unknown)
    return true;
  Product p = {.number = 1};
  bool zero_copied = false;
  for (uint32_t i = 0; i < x->rank; i++) {
    if (!s->copied[i])
      multiply(&p, x->dims[i]);
    zero_copied |= s->copied[i] && glow_dim_is_exact(x->dims[i], 0);
  }
  if (s->computed >= 0)
    return divide(in, &p, zero_copied ? GLOW_EXACT(0) : others, &s->dims[s->computed]);
  if (!zero_copied && p.nopen == 0 && !p.overflow && others.kind == GLOW_DIM_EXACT &&
      p.number != others.size)
    return glow_infer_error(in, "%s has not as many elements as the new shape",
                            glow_type_str(in->ctx, x));
  return true;
}

/* The new shape: a known list, or one that is computed from extents. */
static bool find_shape(const GlowInfer *in, GlowSizes *s) {
  uint32_t rank;
  const int64_t *shape = glow_infer_ints(in, GLOW_RESHAPE_IN_SHAPE, &rank);
  if (!shape)
    return glow_infer_sizes(in, GLOW_RESHAPE_IN_SHAPE, s);
  *s = (GlowSizes){.count = rank};
  for (uint32_t i = 0; i < rank && i < GLOW_MAX_RANK; i++)
    s->items[i].size = shape[i];
  return true;
}

bool glow_infer_reshape(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_RESHAPE_IN_X];
  GlowSizes shape;
  if (!find_shape(in, &shape))
    return glow_infer_set_unknown(in, 0, x, glow_infer_list_length(in, GLOW_RESHAPE_IN_SHAPE));
  if (shape.count > GLOW_MAX_RANK)
    return glow_infer_error(in, "the new shape has %u axes; at most %d are possible", shape.count,
                            GLOW_MAX_RANK);
  ReshapeState s = {.computed = -1};
  return read_shape(in, &shape, &s) && settle_reshape(in, shape.count, &s) &&
         glow_infer_set(in, 0, x, shape.count, s.dims);
}

bool glow_infer_flatten(GlowInfer *in) {
  const GlowFlattenMembers *m = in->members;
  const GlowType *x = in->in[GLOW_FLATTEN_IN_X];
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, 2);
  if (m->axis < -(int64_t)x->rank || m->axis > (int64_t)x->rank)
    return glow_infer_error(in, "axis %lld is out of range for rank %u", (long long)m->axis,
                            x->rank);
  uint32_t axis = (uint32_t)(m->axis < 0 ? m->axis + x->rank : m->axis);
  GlowDim dims[2] = {GLOW_EXACT(1), GLOW_EXACT(1)};
  for (uint32_t i = 0; i < x->rank; i++)
    dims[i >= axis] = glow_dim_mul(dims[i >= axis], x->dims[i]);
  return glow_infer_set(in, 0, x, 2, dims);
}

/* ---- Squeeze, Unsqueeze ---------------------------------------------------------------------- */

/* Without Axes every axis of extent 1 is removed. If an extent may be 1, the rank is unknown. */
static bool squeeze_all(GlowInfer *in, const GlowType *x) {
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < x->rank; i++) {
    if (x->dims[i].kind != GLOW_DIM_EXACT)
      return glow_infer_set_unknown(in, 0, x, -1);
    if (x->dims[i].size != 1)
      dims[rank++] = x->dims[i];
  }
  return glow_infer_set(in, 0, x, rank, dims);
}

bool glow_infer_squeeze(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_SQUEEZE_IN_X];
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, -1);
  if (!glow_infer_in(in, GLOW_SQUEEZE_IN_AXES))
    return squeeze_all(in, x);
  uint32_t count, set;
  const int64_t *axes = glow_infer_ints(in, GLOW_SQUEEZE_IN_AXES, &count);
  if (!axes) {
    int64_t length = glow_infer_list_length(in, GLOW_SQUEEZE_IN_AXES);
    if (length > x->rank)
      return glow_infer_error(in, "%lld axes are named, but X has %u", (long long)length, x->rank);
    return glow_infer_set_unknown(in, 0, x, length < 0 ? -1 : x->rank - length);
  }
  if (!glow_infer_axes(in, axes, count, x->rank, &set))
    return false;
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < x->rank; i++) {
    if (!(set >> i & 1u))
      dims[rank++] = x->dims[i];
    else if (glow_dim_has_size(x->dims[i]) && x->dims[i].size != 1 &&
             (x->dims[i].kind == GLOW_DIM_EXACT || x->dims[i].size < 1))
      return glow_infer_error(in, "axis %u has extent %lld, not 1", i, (long long)x->dims[i].size);
  }
  return glow_infer_set(in, 0, x, rank, dims);
}

bool glow_infer_unsqueeze(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_UNSQUEEZE_IN_X];
  uint32_t count, set;
  const int64_t *axes = glow_infer_ints(in, GLOW_UNSQUEEZE_IN_AXES, &count);
  int64_t length = axes ? count : glow_infer_list_length(in, GLOW_UNSQUEEZE_IN_AXES);
  if (x->unranked || length < 0)
    return glow_infer_set_unknown(in, 0, x, -1);
  if (!axes || length + x->rank > GLOW_MAX_RANK)
    return glow_infer_set_unknown(in, 0, x, length + x->rank);
  uint32_t rank = x->rank + count;
  if (!glow_infer_axes(in, axes, count, rank, &set))
    return false;
  GlowDim dims[GLOW_MAX_RANK];
  for (uint32_t i = 0, k = 0; i < rank; i++)
    dims[i] = set >> i & 1u ? GLOW_EXACT(1) : x->dims[k++];
  return glow_infer_set(in, 0, x, rank, dims);
}

/* ---- Transpose ------------------------------------------------------------------------------- */

bool glow_infer_transpose(GlowInfer *in) {
  const GlowTransposeMembers *m = in->members;
  const GlowType *x = in->in[GLOW_TRANSPOSE_IN_X];
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, m->perm.count ? (int64_t)m->perm.count : -1);
  if (m->perm.count && m->perm.count != x->rank)
    return glow_infer_error(in, "perm has %u axes, X has %u", m->perm.count, x->rank);
  GlowDim dims[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) {
    uint32_t from = m->perm.count ? glow_array_at(m->perm, uint32_t, i) : x->rank - 1 - i;
    if (from >= x->rank)
      return glow_infer_error(in, "perm names axis %u, but X has %u axes", from, x->rank);
    dims[i] = x->dims[from];
  }
  return glow_infer_set(in, 0, x, x->rank, dims);
}

bool glow_verify_transpose(const GlowNode *n) {
  const GlowTransposeMembers *m = n->members;
  uint32_t set = 0;
  for (uint32_t i = 0; i < m->perm.count; i++) {
    uint32_t axis = glow_array_at(m->perm, uint32_t, i);
    if (axis >= m->perm.count || (set >> axis & 1u))
      return glow_verify_error(n, "perm is no permutation: axis %u", axis);
    set |= 1u << axis;
  }
  return true;
}
