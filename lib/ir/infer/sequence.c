/* Inference of operators on sequences and optionals. Definitions as ONNX's. A sequence type says
 * how many elements it has at most, where that is known. */
#include "ir/infer/hooks.h"

bool glow_infer_sequence_empty(GlowInfer *in) {
  const GlowSequenceEmptyMembers *m = in->members;
  if (!m->elem || m->elem->cls == GLOW_TYPE_SEQ)
    return glow_infer_error(in, "elem must be the type of a tensor or an optional");
  glow_infer_put(in, 0, glow_type_seq(in->ctx, m->elem, 0));
  return true;
}

static const GlowType *join_elements(const GlowInfer *in, const GlowType *a, const GlowType *b) {
  const GlowType *t = glow_type_join(in->ctx, a, b);
  if (!t)
    glow_infer_error(in, "%s and %s cannot be elements of one sequence", glow_type_str(in->ctx, a),
                     glow_type_str(in->ctx, b));
  return t;
}

bool glow_infer_sequence_construct(GlowInfer *in) {
  if (in->nin == 0)
    return glow_infer_error(in, "it needs an operand");
  const GlowType *elem = in->in[0];
  for (uint32_t i = 1; elem && i < in->nin; i++)
    elem = join_elements(in, elem, in->in[i]);
  if (!elem)
    return false;
  glow_infer_put(in, 0, glow_type_seq(in->ctx, elem, in->nin));
  return true;
}

bool glow_infer_sequence_insert(GlowInfer *in) {
  const GlowType *s = in->in[GLOW_SEQUENCE_INSERT_IN_S];
  /* An empty sequence has no elements whose extents matter. */
  const GlowType *x = in->in[GLOW_SEQUENCE_INSERT_IN_X], *elem = join_elements(in, s->elem, x);
  if (!elem)
    return false;
  if (s->max_count == 0)
    elem = x;
  bool open = s->max_count < 0 || s->max_count == INT64_MAX;
  glow_infer_put(in, 0, glow_type_seq(in->ctx, elem, open ? -1 : s->max_count + 1));
  return true;
}

bool glow_infer_sequence_erase(GlowInfer *in) {
  const GlowType *s = in->in[GLOW_SEQUENCE_ERASE_IN_S];
  if (s->max_count == 0)
    return glow_infer_error(in, "the sequence is empty");
  glow_infer_put(in, 0, glow_type_seq(in->ctx, s->elem, s->max_count < 0 ? -1 : s->max_count - 1));
  return true;
}

bool glow_infer_sequence_at(GlowInfer *in) {
  glow_infer_put(in, 0, in->in[GLOW_SEQUENCE_AT_IN_S]->elem);
  return true;
}

bool glow_infer_sequence_length(GlowInfer *in) {
  glow_infer_put(in, 0, glow_type_scalar(in->ctx, GLOW_KIND_I64));
  return true;
}

/* ---- Sequences of pieces --------------------------------------------------------------------- */

typedef struct Pieces {
  GlowDim extent;
  int64_t count; /* the largest number of pieces, or -1 */
} Pieces;

static bool listed_pieces(const GlowInfer *in, const int64_t *sizes, uint32_t count, GlowDim whole,
                          Pieces *p) {
  int64_t sum = 0, most = 0;
  bool equal = true;
  for (uint32_t i = 0; i < count; i++) {
    if (sizes[i] < 0 || __builtin_add_overflow(sum, sizes[i], &sum))
      return glow_infer_error(in, "size %u is %lld", i, (long long)sizes[i]);
    equal &= sizes[i] == sizes[0];
    most = sizes[i] > most ? sizes[i] : most;
  }
  if (whole.kind == GLOW_DIM_EXACT && sum != whole.size)
    return glow_infer_error(in, "the sizes add up to %lld, the axis has extent %lld",
                            (long long)sum, (long long)whole.size);
  *p = (Pieces){equal ? GLOW_EXACT(most) : GLOW_BOUND(most), count};
  return true;
}

/* Pieces of `size` elements; the last one may be smaller. */
static bool equal_pieces(const GlowInfer *in, int64_t size, GlowDim whole, Pieces *p) {
  if (size <= 0)
    return glow_infer_error(in, "a piece has %lld elements", (long long)size);
  bool exact = whole.kind == GLOW_DIM_EXACT && whole.size % size == 0;
  p->extent = exact ? GLOW_EXACT(size) : GLOW_BOUND(size);
  p->count = glow_dim_has_size(whole) ? whole.size / size + (whole.size % size != 0) : -1;
  return true;
}

bool glow_infer_split_to_sequence(GlowInfer *in) {
  const GlowSplitToSequenceMembers *m = in->members;
  const GlowType *x = in->in[GLOW_SPLIT_TO_SEQUENCE_IN_X];
  const GlowType *split = glow_infer_in(in, GLOW_SPLIT_TO_SEQUENCE_IN_SPLIT);
  uint32_t axis, count;
  if (x->unranked) {
    glow_infer_put(in, 0, glow_type_seq(in->ctx, x, -1));
    return true;
  }
  if (!glow_infer_axis(in, m->axis, x->rank, &axis))
    return false;
  GlowDim whole = x->dims[axis], dims[GLOW_MAX_RANK];
  Pieces p = {GLOW_EXACT(1), glow_dim_has_size(whole) ? whole.size : -1};
  const int64_t *sizes = glow_infer_ints(in, GLOW_SPLIT_TO_SEQUENCE_IN_SPLIT, &count);
  bool scalar = split && !split->unranked && split->rank == 0;
  if (sizes && !(scalar ? equal_pieces(in, sizes[0], whole, &p)
                        : listed_pieces(in, sizes, count, whole, &p)))
    return false;
  if (split && !sizes)
    p = (Pieces){glow_dim_part(whole), scalar ? p.count : glow_infer_list_length(in, 1)};
  uint32_t rank = 0;
  for (uint32_t i = 0; i < x->rank; i++)
    if (i != axis || split || m->keep)
      dims[rank++] = i == axis ? p.extent : x->dims[i];
  const GlowType *elem = glow_type_with_dims(in->ctx, x, rank, dims);
  glow_infer_put(in, 0, glow_type_seq(in->ctx, elem, p.count));
  return true;
}

bool glow_infer_concat_from_sequence(GlowInfer *in) {
  const GlowConcatFromSequenceMembers *m = in->members;
  const GlowType *s = in->in[GLOW_CONCAT_FROM_SEQUENCE_IN_S], *elem = s->elem;
  if (!glow_type_is_tensor(elem))
    return glow_infer_error(in, "S has elements of type %s", glow_type_str(in->ctx, elem));
  if (elem->unranked)
    return glow_infer_set_unknown(in, 0, elem, -1);
  GlowDim count = s->max_count < 0 ? GLOW_UNKNOWN : glow_dim_part(GLOW_EXACT(s->max_count));
  GlowDim dims[GLOW_MAX_RANK + 1];
  uint32_t axis, rank = elem->rank + m->new_axis;
  if (!glow_infer_axis(in, m->axis, rank, &axis))
    return false;
  for (uint32_t i = 0, k = 0; i < rank; i++)
    dims[i] = m->new_axis && i == axis ? count : elem->dims[k++];
  /* The other extents are those of any element. Extents that are bounded or unknown may differ
   * between elements, but then concatenation fails at run time. */
  if (!m->new_axis)
    dims[axis] = glow_dim_is_exact(dims[axis], 1) ? count
                 : glow_dim_has_size(count) && glow_dim_has_size(dims[axis])
                     ? glow_dim_part(glow_dim_mul(count, dims[axis]))
                     : GLOW_UNKNOWN;
  return glow_infer_set(in, 0, elem, rank, dims);
}

/* ---- Optionals ------------------------------------------------------------------------------- */

bool glow_infer_optional(GlowInfer *in) {
  const GlowOptionalMembers *m = in->members;
  const GlowType *x = glow_infer_in(in, GLOW_OPTIONAL_IN_X);
  if (!x && !m->elem)
    return glow_infer_error(in, "it needs an operand or the member elem");
  if (x && m->elem && glow_type_fit(x, m->elem) == GLOW_FIT_CONTRADICTS)
    return glow_infer_error(in, "X has type %s, but elem is %s", glow_type_str(in->ctx, x),
                            glow_type_str(in->ctx, m->elem));
  x = x ? x : m->elem;
  if (x->cls == GLOW_TYPE_OPT)
    return glow_infer_error(in, "an optional cannot hold an optional");
  glow_infer_put(in, 0, glow_type_opt(in->ctx, x));
  return true;
}

bool glow_infer_optional_has_element(GlowInfer *in) {
  glow_infer_put(in, 0, glow_type_scalar(in->ctx, GLOW_KIND_BOOL));
  return true;
}

bool glow_infer_optional_get_element(GlowInfer *in) {
  const GlowType *x = in->in[GLOW_OPTIONAL_GET_ELEMENT_IN_X];
  glow_infer_put(in, 0, x->cls == GLOW_TYPE_OPT ? x->elem : x);
  return true;
}
