/* Rules for operators whose indices say where single elements are. They have kernels; -lower=all
 * brings them down to GatherND and ScatterND, with the places of all axes as the last axis of
 * Indices:
 *
 *   GatherElements, ScatterElements  the place where the index stands, with the index itself in the
 *                                    place of `axis`
 *   TensorScatter                    (batch, start + step), with the axis moved behind the batch
 *   ReverseSequence                  (batch, length - 1 - step), likewise
 *   Compress                         Gather of NonZero(Cond)
 *
 * Indices that a kernel refuses stay out of range, so the primitive refuses them. */
#include "lower/lower.h"
#include "ops/lower.h"

static GlowValue *integer(GlowBuilder *b, const GlowNode *n, int64_t v) {
  return glow_constant_int(b->module, n, "number", v);
}

/* v, broadcast to the extents of `like`, which are known, with one more axis of extent 1 at the
 * end. */
static GlowValue *as_column(GlowBuilder *b, const GlowNode *n, GlowValue *v, const GlowType *like) {
  int64_t dims[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < like->rank; i++)
    dims[i] = like->dims[i].size;
  v = glow_then2(b, GLOW_OP_EXPAND, v, glow_constant_ints(b->module, n, "shape", dims, like->rank));
  dims[like->rank] = 1;
  return glow_build_shaped(b, n, v, like->rank + 1, dims);
}

/* ---- Elements -------------------------------------------------------------------------------- */

/* For each element of the indices `which`, the place that it means, as a vector along a new last
 * axis. NULL if an extent is not known. */
static GlowValue *places(GlowBuilder *b, const GlowNode *n, GlowValue *which, int64_t axis) {
  const GlowType *t = which->type;
  GlowValue *columns[GLOW_MAX_RANK];
  if (!glow_type_is_static(t) || t->rank == GLOW_MAX_RANK)
    return NULL;
  axis += axis < 0 ? t->rank : 0;
  for (uint32_t i = 0; i < t->rank; i++) {
    GlowValue *v =
        i == axis ? glow_then_cast(b, which, GLOW_KIND_I64)
                  : glow_build_along(b, n, glow_build_count(b, n, t->dims[i].size, 1), t->rank, i);
    columns[i] = as_column(b, n, v, t);
  }
  return glow_build_concat(b, columns, t->rank, -1);
}

bool glow_lower_gather_elements(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowGatherElementsMembers *m = n->members;
  GlowValue *index = places(b, n, glow_node_in(n, 1), m->axis);
  results[0] = glow_then2(b, GLOW_OP_GATHER_ND, glow_node_in(n, 0), index);
  return results[0] != NULL;
}

bool glow_lower_scatter_elements(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowScatterElementsMembers *m = n->members;
  GlowScatterNDMembers members = {.reduction = m->reduction};
  GlowValue *index = places(b, n, glow_node_in(n, 1), m->axis);
  results[0] =
      glow_then(b, GLOW_OP_SCATTER_ND,
                (GlowValue *[]){glow_node_in(n, 0), index, glow_node_in(n, 2)}, 3, &members);
  return results[0] != NULL;
}

/* ---- Steps along an axis, for each batch ----------------------------------------------------- */

/* The permutation that moves `first` and `second` to the front, and its inverse. */
static void to_front(uint32_t rank, uint32_t first, uint32_t second, uint32_t *perm,
                     uint32_t *inverse) {
  uint32_t k = 0;
  perm[k++] = first;
  perm[k++] = second;
  for (uint32_t i = 0; i < rank; i++)
    if (i != first && i != second)
      perm[k++] = i;
  for (uint32_t i = 0; i < rank; i++)
    inverse[perm[i]] = i;
}

/* (batch, step) for step [batches, count]. */
static GlowValue *batch_places(GlowBuilder *b, const GlowNode *n, GlowValue *step) {
  if (!step || !glow_type_is_static(step->type))
    return NULL;
  GlowValue *batch = glow_build_count(b, n, step->type->dims[0].size, 1);
  GlowValue *columns[] = {as_column(b, n, glow_build_along(b, n, batch, 2, 0), step->type),
                          as_column(b, n, step, step->type)};
  return glow_build_concat(b, columns, 2, -1);
}

/* Where each of `count` updates goes, [batches, count]; a negative start is out of range. */
static GlowValue *write_steps(GlowBuilder *b, const GlowNode *n, int64_t batches, int64_t count,
                              int64_t room) {
  const GlowTensorScatterMembers *m = n->members;
  GlowValue *start = glow_node_in(n, GLOW_TENSOR_SCATTER_IN_WRITE_INDICES);
  GlowValue *zero = integer(b, n, 0), *size = integer(b, n, room);
  bool circular = m->mode == GLOW_WRITE_MODE_CIRCULAR;
  if (!start)
    start = glow_build_count(b, n, batches, 0);
  if (circular)
    start = glow_then2(b, GLOW_OP_MOD, start, size);
  else
    start = glow_then3(b, GLOW_OP_WHERE, glow_then2(b, GLOW_OP_LESS, start, zero), size, start);
  start = glow_build_shaped(b, n, start, 2, (int64_t[]){batches, 1});
  GlowValue *step = glow_then2(b, GLOW_OP_ADD, start, glow_build_count(b, n, count, 1));
  return circular ? glow_then2(b, GLOW_OP_MOD, step, size) : step;
}

bool glow_lower_tensor_scatter(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowTensorScatterMembers *m = n->members;
  GlowValue *x = glow_node_in(n, 0), *update = glow_node_in(n, 1);
  if (!glow_type_is_static(x->type) || !glow_type_is_static(update->type))
    return false;
  uint32_t rank = x->type->rank, perm[GLOW_MAX_RANK], inverse[GLOW_MAX_RANK];
  uint32_t axis = (uint32_t)(m->axis < 0 ? m->axis + rank : m->axis);
  for (uint32_t i = 1; i < axis; i++)
    if (x->type->dims[i].size == 0) { /* no line to write into, whatever the indices */
      results[0] = x;
      return true;
    }
  to_front(rank, 0, axis, perm, inverse);
  GlowValue *step = write_steps(b, n, x->type->dims[0].size, update->type->dims[axis].size,
                                x->type->dims[axis].size);
  GlowValue *index = batch_places(b, n, step);
  GlowValue *y = glow_then3(b, GLOW_OP_SCATTER_ND, glow_build_permuted(b, x, perm, rank), index,
                            glow_build_permuted(b, update, perm, rank));
  results[0] = y ? glow_build_permuted(b, y, inverse, rank) : NULL;
  return results[0] != NULL;
}

/* From where each step comes, [batches, steps]: step t from Lengths - 1 - t if that is not
 * negative, else from t. All are out of range if Lengths is not in [0, steps]. */
static GlowValue *read_steps(GlowBuilder *b, const GlowNode *n, int64_t batches, int64_t steps) {
  GlowValue *lengths = glow_node_in(n, GLOW_REVERSE_SEQUENCE_IN_LENGTHS);
  GlowValue *zero = integer(b, n, 0), *size = integer(b, n, steps);
  lengths = glow_build_shaped(b, n, lengths, 2, (int64_t[]){batches, 1});
  GlowValue *wrong = glow_then2(b, GLOW_OP_OR, glow_then2(b, GLOW_OP_LESS, lengths, zero),
                                glow_then2(b, GLOW_OP_GREATER, lengths, size));
  GlowValue *step = glow_build_count(b, n, steps, 1);
  GlowValue *last = glow_then2(b, GLOW_OP_SUB, lengths, integer(b, n, 1));
  GlowValue *from = glow_then3(b, GLOW_OP_WHERE, glow_then2(b, GLOW_OP_LESS, step, lengths),
                               glow_then2(b, GLOW_OP_SUB, last, step), step);
  return glow_then3(b, GLOW_OP_WHERE, wrong, size, from);
}

bool glow_lower_reverse_sequence(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowReverseSequenceMembers *m = n->members;
  GlowValue *x = glow_node_in(n, 0);
  if (!glow_type_is_static(x->type))
    return false;
  uint32_t rank = x->type->rank, perm[GLOW_MAX_RANK], inverse[GLOW_MAX_RANK];
  uint32_t batch = (uint32_t)(m->batch_axis < 0 ? m->batch_axis + rank : m->batch_axis);
  uint32_t time = (uint32_t)(m->time_axis < 0 ? m->time_axis + rank : m->time_axis);
  to_front(rank, batch, time, perm, inverse);
  GlowValue *from = read_steps(b, n, x->type->dims[batch].size, x->type->dims[time].size);
  GlowValue *y = glow_then2(b, GLOW_OP_GATHER_ND, glow_build_permuted(b, x, perm, rank),
                            batch_places(b, n, from));
  results[0] = y ? glow_build_permuted(b, y, inverse, rank) : NULL;
  return results[0] != NULL;
}

/* ---- Compress -------------------------------------------------------------------------------- */

bool glow_lower_compress(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowCompressMembers *m = n->members;
  static const int64_t flat = -1;
  GlowValue *x = glow_node_in(n, 0), *cond = glow_node_in(n, 1);
  GlowValue *list = glow_constant_ints(b->module, n, "flat", &flat, 1);
  if (!glow_type_is_static(x->type))
    return false;
  int64_t axis = m->flat ? 0 : m->axis < 0 ? m->axis + x->type->rank : m->axis;
  int64_t extent = m->flat ? glow_type_elements(x->type) : x->type->dims[axis].size;
  if (m->flat)
    x = glow_then2(b, GLOW_OP_RESHAPE, x, list);
  cond = glow_build_part(b, n, cond, 0, 0, extent, 1);
  GlowValue *which = glow_then1(b, GLOW_OP_NON_ZERO, cond, NULL);
  results[0] = glow_build_picked(b, x, glow_then2(b, GLOW_OP_RESHAPE, which, list), axis);
  return results[0] != NULL;
}
