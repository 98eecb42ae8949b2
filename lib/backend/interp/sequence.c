/* Sequences and optionals: values on the heap that hold tensors. Putting a tensor in copies it. */
#include "backend/interp/interp_internal.h"
#include "ops/values.h"

/* ---- Parts of tensors ------------------------------------------------------------------------ */

static bool has_strings(const GlowType *t) {
  return glow_type_is_tensor(t) && t->kind == GLOW_KIND_STRING;
}

static const GlowType *plain_type(GlowContext *ctx, const GlowType *like, uint32_t rank,
                                  const GlowDim *dims) {
  const GlowType *t = glow_type_tensor(ctx, like->kind, rank, dims);
  return like->quantized ? glow_type_with_quant(ctx, t, true, like->scale, like->offset) : t;
}

GlowTensor *glow_tensor_part(GlowContext *ctx, const GlowTensor *x, int64_t axis, int64_t start,
                             int64_t count, bool keep) {
  const GlowType *t = x->type;
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t a = (uint32_t)(axis < 0 ? axis + t->rank : axis), rank = 0;
  GlowBuf src = glow_buf_of(t, x->data);
  for (uint32_t i = 0; i < t->rank; i++)
    if (i != a || keep)
      dims[rank++] = GLOW_EXACT(i == a ? count : t->dims[i].size);
  GlowTensor *part = glow_tensor_create(ctx, plain_type(ctx, t, rank, dims));
  GlowBuf dst = glow_buf_of(part->type, part->data);
  GlowBoxCopy c = {
      .dst = part->data, .src = x->data, .rank = t->rank, .bits = glow_ref_bits(t->kind)};
  c.src_offset = start * src.strides[a];
  for (uint32_t i = 0, k = 0; i < t->rank; i++) {
    c.dims[i] = i == a ? count : t->dims[i].size;
    c.src_strides[i] = src.strides[i];
    c.dst_strides[i] = i == a && !keep ? 0 : dst.strides[k++];
  }
  glow_box_copy(&c);
  if (has_strings(t))
    glow_tensor_own_strings(ctx, part);
  return part;
}

/* Whether all parts have one shape, up to the axis that they are joined along (-1: all of it). */
static bool joinable(const GlowNode *n, GlowTensor *const *parts, uint32_t count, int64_t axis) {
  const GlowType *first = parts[0]->type;
  GlowContext *ctx = n->block->module->ctx;
  for (uint32_t i = 0; i < count; i++) {
    const GlowType *t = parts[i]->type;
    bool same = glow_type_is_tensor(t) && t->kind == first->kind && t->rank == first->rank;
    for (uint32_t a = 0; same && a < t->rank; a++)
      same = (int64_t)a == axis || t->dims[a].size == first->dims[a].size;
    if (!same) {
      glow_run_error(n, "element %u is %s, which does not fit %s of element 0", i,
                     glow_type_str(ctx, t), glow_type_str(ctx, first));
      return false;
    }
  }
  return true;
}

GlowTensor *glow_tensors_join(const GlowNode *n, GlowTensor *const *parts, uint32_t count,
                              int64_t axis, bool new_axis) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowType *first = parts[0]->type;
  GlowDim dims[GLOW_MAX_RANK + 1];
  uint32_t rank = glow_type_is_tensor(first) ? first->rank + new_axis : 0;
  int64_t a = axis < 0 ? axis + rank : axis, total = 0;
  if (a < 0 || a >= rank || rank > GLOW_MAX_RANK) {
    glow_run_error(n, "axis %lld is out of range for elements of type %s", (long long)axis,
                   glow_type_str(ctx, first));
    return NULL;
  }
  if (!joinable(n, parts, count, new_axis ? -1 : a))
    return NULL;
  for (uint32_t i = 0; i < count; i++)
    total += new_axis ? 1 : parts[i]->type->dims[a].size;
  for (uint32_t i = 0, k = 0; i < rank; i++)
    dims[i] = (int64_t)i == a && new_axis ? GLOW_UNKNOWN : first->dims[k++];
  dims[a] = GLOW_EXACT(total);
  const char *error = glow_type_check_dims(first->kind, rank, dims);
  if (error) {
    glow_run_error(n, "in its result %s", error);
    return NULL;
  }
  GlowTensor *out = glow_tensor_create(ctx, plain_type(ctx, first, rank, dims));
  GlowBuf dst = glow_buf_of(out->type, out->data);
  int64_t done = 0;
  for (uint32_t i = 0; i < count; i++) {
    GlowBuf src = glow_buf_of(parts[i]->type, parts[i]->data);
    GlowBoxCopy c = glow_box_of(&dst, &src, &src);
    for (uint32_t k = 0; k < src.rank; k++)
      c.dst_strides[k] = dst.strides[new_axis && (int64_t)k >= a ? k + 1 : k];
    c.dst_offset = done * dst.strides[a];
    glow_box_copy(&c);
    done += new_axis ? 1 : parts[i]->type->dims[a].size;
  }
  if (has_strings(first))
    glow_tensor_own_strings(ctx, out);
  return out;
}

/* ---- Sequences ------------------------------------------------------------------------------- */

/* A sequence or optional of n's result type that will be out[0]. */
static GlowTensor *new_container(const GlowNode *n, GlowTensor **out) {
  return out[0] = glow_tensor_create(n->block->module->ctx, n->results[0].type);
}
static void append_copy(GlowContext *ctx, GlowTensor *s, const GlowTensor *x) {
  glow_tensor_append(ctx, s, glow_tensor_copy(ctx, x));
}

GlowStatus glow_value_sequence_empty(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                                     GlowTensor **out) {
  (void)w, (void)in;
  new_container(n, out);
  return GLOW_OK;
}

GlowStatus glow_value_sequence_construct(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                                         GlowTensor **out) {
  GlowTensor *s = new_container(n, out);
  for (uint32_t i = 0; i < n->noperands; i++)
    append_copy(w->ctx, s, in[i]);
  return GLOW_OK;
}

/* The position that operand p says, counted from the front: in [0, limit]. A negative operand
 * counts from the end of `count` elements. -1 after a diagnostic. */
static int64_t position(const GlowNode *n, const GlowTensor *p, uint32_t count, uint32_t limit) {
  if (glow_tensor_elements(p) != 1) {
    glow_run_error(n, "Position must be one value");
    return -1;
  }
  int64_t at = glow_tensor_get_int(p, 0), i = at < 0 ? at + count : at;
  if (i >= 0 && i <= limit)
    return i;
  glow_run_error(n, "Position is out of range: %lld, in a sequence of %u", (long long)at, count);
  return -1;
}

GlowStatus glow_value_sequence_insert(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                                      GlowTensor **out) {
  const GlowTensor *s = in[0], *p = n->noperands > 2 ? in[2] : NULL;
  int64_t at = p ? position(n, p, s->count, s->count) : s->count;
  if (at < 0)
    return GLOW_BAD_INPUT;
  GlowTensor *r = new_container(n, out);
  for (uint32_t i = 0; i <= s->count; i++) {
    if (i == at)
      append_copy(w->ctx, r, in[1]);
    if (i < s->count)
      append_copy(w->ctx, r, s->items[i]);
  }
  return GLOW_OK;
}

GlowStatus glow_value_sequence_erase(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                                     GlowTensor **out) {
  const GlowTensor *s = in[0], *p = n->noperands > 1 ? in[1] : NULL;
  if (s->count == 0) {
    glow_run_error(n, "the sequence is empty");
    return GLOW_BAD_INPUT;
  }
  int64_t at = p ? position(n, p, s->count, s->count - 1) : s->count - 1;
  if (at < 0)
    return GLOW_BAD_INPUT;
  GlowTensor *r = new_container(n, out);
  for (uint32_t i = 0; i < s->count; i++)
    if (i != at)
      append_copy(w->ctx, r, s->items[i]);
  return GLOW_OK;
}

GlowStatus glow_value_sequence_at(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                                  GlowTensor **out) {
  const GlowTensor *s = in[0];
  if (s->count == 0) {
    glow_run_error(n, "the sequence is empty");
    return GLOW_BAD_INPUT;
  }
  int64_t at = position(n, in[1], s->count, s->count - 1);
  if (at < 0)
    return GLOW_BAD_INPUT;
  out[0] = glow_tensor_copy(w->ctx, s->items[at]);
  return GLOW_OK;
}

static GlowTensor *new_scalar(GlowContext *ctx, GlowKind kind, int64_t v) {
  GlowTensor *t = glow_tensor_create(ctx, glow_type_scalar(ctx, kind));
  glow_tensor_set(t, 0, (GlowScalar){.is_int = true, .i = v, .f = (double)v});
  return t;
}

GlowStatus glow_value_sequence_length(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                                      GlowTensor **out) {
  (void)n;
  out[0] = new_scalar(w->ctx, GLOW_KIND_I64, in[0]->count);
  return GLOW_OK;
}

GlowStatus glow_value_split_to_sequence(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                                        GlowTensor **out) {
  const GlowSplitToSequenceMembers *m = n->members;
  const GlowTensor *x = in[0], *split = n->noperands > 1 ? in[1] : NULL;
  const GlowType *t = x->type;
  int64_t axis = m->axis < 0 ? m->axis + t->rank : m->axis, done = 0;
  if (axis < 0 || axis >= t->rank) {
    glow_run_error(n, "axis %lld is out of range for rank %u", (long long)m->axis, t->rank);
    return GLOW_BAD_INPUT;
  }
  int64_t extent = t->dims[axis].size, pieces = split ? glow_tensor_elements(split) : 0;
  bool listed = split && split->type->rank == 1;
  if (split && !listed && pieces != 1) {
    glow_run_error(n, "Split must be one size or a list of sizes");
    return GLOW_BAD_INPUT;
  }
  GlowTensor *s = new_container(n, out);
  for (int64_t i = 0; listed ? i < pieces : done < extent; i++) {
    int64_t size = split ? glow_tensor_get_int(split, listed ? i : 0) : 1;
    size = !listed && size > extent - done ? extent - done : size;
    if (size < 0 || size > extent - done || (!listed && size == 0)) {
      glow_run_error(n, "Split is out of range: %lld, of an axis of extent %lld", (long long)size,
                     (long long)extent);
      return GLOW_BAD_INPUT;
    }
    glow_tensor_append(w->ctx, s, glow_tensor_part(w->ctx, x, axis, done, size, split || m->keep));
    done += size;
  }
  if (done == extent)
    return GLOW_OK;
  glow_run_error(n, "Split adds up to %lld, but the axis has extent %lld", (long long)done,
                 (long long)extent);
  return GLOW_BAD_INPUT;
}

GlowStatus glow_value_concat_from_sequence(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                                           GlowTensor **out) {
  const GlowConcatFromSequenceMembers *m = n->members;
  (void)w;
  if (in[0]->count == 0) {
    glow_run_error(n, "the sequence is empty");
    return GLOW_BAD_INPUT;
  }
  out[0] = glow_tensors_join(n, in[0]->items, in[0]->count, m->axis, m->new_axis);
  return out[0] ? GLOW_OK : GLOW_BAD_INPUT;
}

/* ---- Optionals ------------------------------------------------------------------------------- */

GlowStatus glow_value_optional(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                               GlowTensor **out) {
  GlowTensor *o = new_container(n, out);
  if (n->noperands > 0 && in[0])
    append_copy(w->ctx, o, in[0]);
  return GLOW_OK;
}

GlowStatus glow_value_optional_has_element(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                                           GlowTensor **out) {
  bool has = n->noperands > 0 && in[0] && (in[0]->type->cls != GLOW_TYPE_OPT || in[0]->count);
  out[0] = new_scalar(w->ctx, GLOW_KIND_BOOL, has);
  return GLOW_OK;
}

GlowStatus glow_value_optional_get_element(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                                           GlowTensor **out) {
  const GlowTensor *o = in[0];
  if (o->type->cls == GLOW_TYPE_OPT && o->count == 0) {
    glow_run_error(n, "the optional is empty");
    return GLOW_BAD_INPUT;
  }
  out[0] = glow_tensor_copy(w->ctx, o->type->cls == GLOW_TYPE_OPT ? o->items[0] : o);
  return GLOW_OK;
}
