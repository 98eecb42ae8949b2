/* Instructions that read and write where indices say: Gather, GatherElements, GatherND,
 * ReverseSequence, ScatterElements, ScatterND and TensorScatter. Indices are checked by a piece of
 * work of their own, unless they are known to be in range; what follows trusts them. */
#include "backend/cpu/box.h"
#include "cpu/work.h"
#include "tensor/tensor.h"

/* ---- Operands -------------------------------------------------------------------------------- */

static int64_t bytes_of(const GlowView *v) { return glow_kind_info[v->type->kind].bits / 8; }

static bool read_views(GlowSelect *s, const GlowNode *n, GlowView *to, GlowView *from,
                       GlowView *which) {
  return glow_select_dense(s, glow_node_out(n, 0), to) &&
         glow_select_dense(s, glow_node_in(n, 0), from) &&
         glow_select_dense(s, glow_node_in(n, 1), which);
}

/* ---- Checks ---------------------------------------------------------------------------------- */

static bool known_in_range(const GlowTensor *known, int64_t count, const GlowCheckParams *p) {
  for (int64_t i = 0; i < count; i++) {
    int64_t v = glow_tensor_get_int(known, i), limit = p->limit[i % p->length];
    if (v < -limit || v >= limit)
      return false;
  }
  return true;
}

/* Appends the check of `vectors` vectors of indices. */
static bool append_check(GlowSelect *s, const GlowNode *n, const GlowView *which, int64_t vectors,
                         const GlowCheckParams *p) {
  const GlowTensor *known = glow_value_known(glow_node_in(n, 1));
  int64_t count = vectors * p->length;
  if (count == 0 || (known && known_in_range(known, count, p)))
    return true;
  const GlowCall *call = glow_select_call(s, n);
  if (!call)
    return false;
  GlowWorkSpec spec = {.units = vectors,
                       .grain = vectors, /* the first index is the one that is reported */
                       .fault = call};
  glow_work_check_indices(s, n, which->type->kind, p,
                          &(GlowCheckIndicesPlaces){.indices = which->place}, &spec);
  return true;
}

/* The extents and strides of the `length` axes of v, from axis `first` on, that vectors of indices
 * point into. */
static void read_vectors(const GlowView *v, uint32_t first, int64_t length, GlowCheckParams *c,
                         int64_t *stride) {
  c->length = length;
  for (uint32_t k = 0; k < length; k++) {
    c->limit[k] = v->dims[first + k];
    stride[k] = glow_view_extent(v, first + k + 1, v->rank) * bytes_of(v);
  }
}

/* ---- Gather ---------------------------------------------------------------------------------- */

static bool append_rows(GlowSelect *s, const GlowNode *n, const GlowGatherParams *p, int64_t rows,
                        const GlowView *to, const GlowView *from, const GlowView *which) {
  if (rows * p->run == 0)
    return true;
  GlowGatherPlaces at = {.y = to->place, .x = from->place, .indices = which->place};
  glow_work_gather(s, n, which->type->kind, p, &at, &(GlowWorkSpec){.units = rows});
  return true;
}

bool glow_select_gather(GlowSelect *s, const GlowNode *n) {
  GlowView to, from, which;
  if (!read_views(s, n, &to, &from, &which))
    return false;
  uint32_t axis = glow_axis_from(((const GlowGatherMembers *)n->members)->axis, from.rank);
  int64_t count = glow_view_extent(&which, 0, which.rank), outer = glow_view_extent(&from, 0, axis);
  GlowGatherParams p = {.length = 1, .group = count, .shared = 1};
  GlowCheckParams c = {0};
  read_vectors(&from, axis, 1, &c, p.stride);
  p.limit[0] = c.limit[0];
  p.run = p.stride[0];
  p.group_stride = c.limit[0] * p.run;
  return append_check(s, n, &which, count, &c) &&
         append_rows(s, n, &p, outer * count, &to, &from, &which);
}

bool glow_select_gather_nd(GlowSelect *s, const GlowNode *n) {
  GlowView to, from, which;
  if (!read_views(s, n, &to, &from, &which))
    return false;
  uint32_t first = ((const GlowGatherNDMembers *)n->members)->batch_dims, outer = which.rank - 1;
  int64_t length = which.dims[outer], rows = glow_view_extent(&which, 0, outer);
  GlowGatherParams p = {.length = length, .group = glow_view_extent(&which, first, outer)};
  GlowCheckParams c = {0};
  read_vectors(&from, first, length, &c, p.stride);
  for (uint32_t k = 0; k < length; k++)
    p.limit[k] = c.limit[k];
  p.run = glow_view_extent(&from, first + (uint32_t)length, from.rank) * bytes_of(&from);
  p.group_stride = glow_view_extent(&from, first, from.rank) * bytes_of(&from);
  return append_check(s, n, &which, rows, &c) && append_rows(s, n, &p, rows, &to, &from, &which);
}

/* A view whose elements are whole bytes. */
static bool read_bytes(GlowSelect *s, const GlowValue *v, GlowView *view) {
  return glow_select_dense(s, v, view) &&
         (bytes_of(view) || glow_select_fail(s, "its elements are not whole bytes"));
}

bool glow_select_reverse_sequence(GlowSelect *s, const GlowNode *n) {
  const GlowReverseSequenceMembers *m = n->members;
  GlowView to, from, lengths;
  const GlowCall *call = glow_select_call(s, n);
  if (!call || !read_bytes(s, glow_node_out(n, 0), &to) ||
      !read_bytes(s, glow_node_in(n, 0), &from) ||
      !glow_select_dense(s, glow_node_in(n, 1), &lengths))
    return false;
  uint32_t batch = glow_axis_from(m->batch_axis, from.rank);
  uint32_t time = glow_axis_from(m->time_axis, from.rank);
  uint32_t first = batch < time ? batch : time, second = batch < time ? time : batch;
  GlowReverseParams p = {.outer = glow_view_extent(&from, 0, first),
                         .first = from.dims[first],
                         .middle = glow_view_extent(&from, first + 1, second),
                         .second = from.dims[second],
                         .run = glow_view_extent(&from, second + 1, from.rank) * bytes_of(&from),
                         .steps_first = time == first};
  if (p.outer * p.first * p.middle * p.second * p.run == 0)
    return from.dims[batch] == 0 || glow_select_fail(s, "it has no elements");
  GlowReverseSequencePlaces at = {.y = to.place, .x = from.place, .lengths = lengths.place};
  glow_work_reverse_sequence(s, n, &p, &at,
                             &(GlowWorkSpec){.units = p.outer * p.first, .fault = call});
  return true;
}

/* Elements: the extents of the indices, the strides of `other`, which has the indexed axis. Axes of
 * one element are left out, so that the innermost one has elements to take. */
static void read_elements(const GlowView *which, const GlowView *other, uint32_t axis,
                          GlowPickParams *p) {
  uint32_t to = GLOW_INDEX_DIMS;
  *p = (GlowPickParams){.limit = other->dims[axis], .bytes = bytes_of(other), .part = 1};
  for (uint32_t a = which->rank; a > 0; a--) {
    if (which->dims[a - 1] == 1)
      continue;
    p->n[--to] = which->dims[a - 1];
    p->stride[to] = a - 1 == axis ? 0 : other->strides[a - 1] * p->bytes;
  }
  while (to > 0)
    p->n[--to] = 1;
  p->axis_stride = other->strides[axis] * p->bytes;
}

bool glow_select_gather_elements(GlowSelect *s, const GlowNode *n) {
  GlowView to, from, which;
  GlowPickParams p;
  if (!read_views(s, n, &to, &from, &which))
    return false;
  uint32_t axis = glow_axis_from(((const GlowGatherElementsMembers *)n->members)->axis, from.rank);
  int64_t count = glow_view_extent(&which, 0, which.rank);
  if (from.rank == 0 || count == 0)
    return count == 0 || glow_select_fail(s, "it has no axis");
  read_elements(&which, &from, axis, &p);
  GlowCheckParams c = {.length = 1, .limit = {p.limit}};
  if (!append_check(s, n, &which, count, &c))
    return false;
  GlowGatherElementsPlaces at = {.y = to.place, .x = from.place, .indices = which.place};
  glow_work_gather_elements(s, n, which.type->kind, &p, &at, &(GlowWorkSpec){.units = count});
  return true;
}

/* ---- Scatter --------------------------------------------------------------------------------- */

/* Appends a copy of X to the result, unless both are one buffer. */
static bool append_copy(GlowSelect *s, const GlowNode *n, const GlowView *to,
                        const GlowView *from) {
  GlowBox b = {0};
  if (to->place.storage == from->place.storage && to->place.offset == from->place.offset)
    return true;
  glow_box_push(&b, glow_view_extent(to, 0, to->rank), bytes_of(to), bytes_of(to));
  return glow_box_append(s, n, &b, to, from);
}

/* Finds the function that combines elements of a kind; NULL if they are replaced. False, with
 * s->why, if there is none. */
static bool read_reduction(GlowSelect *s, GlowKind kind, int reduction, const GlowTile **combine) {
  static const GlowCombineVariant variants[] = {[GLOW_SCATTER_REDUCTION_ADD] = GLOW_COMBINE_ADD,
                                                [GLOW_SCATTER_REDUCTION_MUL] = GLOW_COMBINE_MUL,
                                                [GLOW_SCATTER_REDUCTION_MAX] = GLOW_COMBINE_MAX,
                                                [GLOW_SCATTER_REDUCTION_MIN] = GLOW_COMBINE_MIN};
  *combine = NULL;
  if (reduction == GLOW_SCATTER_REDUCTION_NONE)
    return true;
  *combine = glow_find_combine(s->isa, variants[reduction], kind);
  return *combine || glow_select_fail(s, "there is no kernel for its kind");
}

/* Bytes of each row of updates that a shard of ScatterND takes at least. */
enum { SHARED_BYTES = 256 };

bool glow_select_scatter_nd(GlowSelect *s, const GlowNode *n) {
  GlowView to, from, which, updates;
  const GlowTile *combine;
  if (!read_views(s, n, &to, &from, &which) ||
      !glow_select_dense(s, glow_node_in(n, 2), &updates) ||
      !read_reduction(s, to.type->kind, ((const GlowScatterNDMembers *)n->members)->reduction,
                      &combine) ||
      !append_copy(s, n, &to, &from))
    return false;
  int64_t length = which.dims[which.rank - 1], rows = glow_view_extent(&which, 0, which.rank - 1);
  int64_t columns = glow_view_extent(&to, (uint32_t)length, to.rank);
  GlowScatterParams p = {.length = length, .rows = rows, .bytes = bytes_of(&to)};
  GlowCheckParams c = {0};
  read_vectors(&to, 0, length, &c, p.stride);
  for (uint32_t k = 0; k < length; k++)
    p.limit[k] = c.limit[k];
  p.run = columns * p.bytes;
  if (!append_check(s, n, &which, rows, &c))
    return false;
  if (rows * columns == 0)
    return true;
  GlowWorkSpec spec = {.units = columns,
                       .grain = (SHARED_BYTES + p.bytes - 1) / p.bytes, /* each reads the indices */
                       .cost = rows * p.run};
  GlowScatterNdPlaces at = {.y = to.place, .updates = updates.place, .indices = which.place};
  glow_work_scatter_nd(s, n, which.type->kind, &p, &(GlowScatterNdTiles){combine}, &at, &spec);
  return true;
}

bool glow_select_tensor_scatter(GlowSelect *s, const GlowNode *n) {
  const GlowTensorScatterMembers *m = n->members;
  const GlowValue *starts = glow_node_nins(n) > 2 ? glow_node_in(n, 2) : NULL;
  GlowView to, from, updates, where;
  GlowPlace place = glow_place_absent();
  const GlowCall *call = glow_select_call(s, n);
  if (!call || !read_bytes(s, glow_node_out(n, 0), &to) ||
      !read_bytes(s, glow_node_in(n, 0), &from) || !read_bytes(s, glow_node_in(n, 1), &updates))
    return false;
  if (starts) {
    if (!glow_select_dense(s, starts, &where))
      return false;
    place = where.place;
  }
  uint32_t axis = glow_axis_from(m->axis, to.rank);
  GlowWriteParams p = {.batches = to.dims[0],
                       .lines = glow_view_extent(&to, 1, axis),
                       .room = to.dims[axis],
                       .n = updates.dims[axis],
                       .run = glow_view_extent(&to, axis + 1, to.rank) * bytes_of(&to),
                       .circular = m->mode == GLOW_WRITE_MODE_CIRCULAR};
  if (p.lines * p.n * p.run == 0)
    return glow_select_fail(s, "it has no elements");
  if (!append_copy(s, n, &to, &from))
    return false;
  GlowWorkSpec spec = {
      .units = p.batches * p.lines, .cost = p.batches * p.lines * p.n * p.run, .fault = call};
  GlowTensorScatterPlaces at = {.y = to.place, .updates = updates.place, .starts = place};
  glow_work_tensor_scatter(s, n, &p, &at, &spec);
  return true;
}

/* Updates with another index on the first axis never meet, unless that is the indexed one. */
bool glow_select_scatter_elements(GlowSelect *s, const GlowNode *n) {
  const GlowScatterElementsMembers *m = n->members;
  GlowView to, from, which, updates;
  const GlowTile *combine;
  GlowPickParams p;
  if (!read_views(s, n, &to, &from, &which) ||
      !glow_select_dense(s, glow_node_in(n, 2), &updates) ||
      !read_reduction(s, to.type->kind, m->reduction, &combine) || !append_copy(s, n, &to, &from))
    return false;
  uint32_t axis = glow_axis_from(m->axis, to.rank);
  int64_t count = glow_view_extent(&which, 0, which.rank);
  if (to.rank == 0 || count == 0)
    return count == 0 || glow_select_fail(s, "it has no axis");
  read_elements(&which, &to, axis, &p);
  GlowCheckParams c = {.length = 1, .limit = {p.limit}};
  if (!append_check(s, n, &which, count, &c))
    return false;
  int64_t units = axis == 0 ? 1 : which.dims[0];
  p.part = count / units;
  GlowScatterElementsPlaces at = {.y = to.place, .updates = updates.place, .indices = which.place};
  glow_work_scatter_elements(s, n, which.type->kind, &p, &(GlowScatterElementsTiles){combine}, &at,
                             &(GlowWorkSpec){.units = units, .cost = count * 8});
  return true;
}
