/* What reads and writes where indices say. */
#include "test/library/cases.h"

enum { MOST_EXTENT = 8 };

static const GlowKindSet any = NUMBERS | GLOW_KIND_BIT(GLOW_KIND_BOOL);

/* Without an axis of no elements, which has no index. */
static Shape draw_data(Program *p, GlowKindSet kinds, int low_rank) {
  Shape s = draw_shape(p, draw_kind(p, kinds), low_rank, 4, 7);
  for (int a = 0; a < s.rank; a++)
    s.dims[a] = s.dims[a] ? s.dims[a] : 1;
  return s;
}

static int smallest(const Shape *s, int from, int count) {
  int least = s->dims[from];
  for (int a = from; a < from + count; a++)
    least = s->dims[a] < least ? s->dims[a] : least;
  return least;
}

/* Rows of x along an axis. */
static void put_gather(Program *p) {
  Shape x = draw_data(p, any, 1), indices = draw_shape(p, draw_kind(p, INDICES), 0, 2, 6);
  Shape y = {.kind = x.kind};
  int axis = (int)draw(p, (uint32_t)x.rank);
  for (int a = 0; a < axis; a++)
    y.dims[y.rank++] = x.dims[a];
  for (int a = 0; a < indices.rank; a++)
    y.dims[y.rank++] = indices.dims[a];
  for (int a = axis + 1; a < x.rank; a++)
    y.dims[y.rank++] = x.dims[a];
  put(p, "  gather @out @v%d, @in @v%d", declare(p, &y), declare(p, &x));
  put(p, ", @in @v%d {axis = %d, ", declare_indices(p, &indices, x.dims[axis]),
      draw(p, 2) ? axis : axis - x.rank);
  put_shards(p);
}

/* Rows that vectors of indices name, behind batch axes. */
static void put_gather_nd(Program *p) {
  Shape x = draw_data(p, any, 1), indices = {.kind = draw_kind(p, INDICES)}, y = {.kind = x.kind};
  int batch = draw_in(p, 0, x.rank - 1), length = draw_in(p, 1, x.rank - batch);
  for (int a = 0; a < batch; a++)
    indices.dims[indices.rank++] = x.dims[a];
  for (int a = draw_in(p, 0, 2); a > 0; a--)
    indices.dims[indices.rank++] = draw_in(p, 1, 6);
  y.rank = indices.rank;
  for (int a = 0; a < indices.rank; a++)
    y.dims[a] = indices.dims[a];
  indices.dims[indices.rank++] = length;
  for (int a = batch + length; a < x.rank; a++)
    y.dims[y.rank++] = x.dims[a];
  put(p, "  gather_nd @out @v%d, @in @v%d", declare(p, &y), declare(p, &x));
  put(p, ", @in @v%d {batch_dims = %d, ", declare_indices(p, &indices, smallest(&x, batch, length)),
      batch);
  put_shards(p);
}

void case_gather(Program *p) {
  if (draw(p, 2))
    put_gather(p);
  else
    put_gather_nd(p);
}

/* Indices that are not known are checked first. */
void case_check_indices(Program *p) { case_gather(p); }

/* As many indices as x has places along the other axes, or fewer. */
static Shape draw_elements(Program *p, const Shape *x, int axis) {
  Shape s = *x;
  s.kind = draw_kind(p, INDICES);
  for (int a = 0; a < x->rank; a++)
    s.dims[a] = draw_in(p, 1, a == axis ? 7 : x->dims[a]);
  return s;
}

void case_gather_elements(Program *p) {
  Shape x = draw_data(p, any, 1);
  int axis = (int)draw(p, (uint32_t)x.rank);
  Shape indices = draw_elements(p, &x, axis), y = indices;
  y.kind = x.kind;
  put(p, "  gather_elements @out @v%d, @in @v%d", declare(p, &y), declare(p, &x));
  put(p, ", @in @v%d {axis = %d, ", declare_indices(p, &indices, x.dims[axis]), axis);
  put_shards(p);
}

static const char *draw_reduction(Program *p) {
  static const char *const names[] = {"none", "add", "mul", "max", "min"};
  return names[draw(p, 5)];
}

void case_scatter_nd(Program *p) {
  Shape x = draw_data(p, NUMBERS, 1), indices = {.kind = draw_kind(p, INDICES)},
        updates = {.kind = x.kind};
  int length = draw_in(p, 1, x.rank);
  for (int a = draw_in(p, 0, 2); a > 0; a--)
    indices.dims[indices.rank++] = draw_in(p, 1, 6);
  updates.rank = indices.rank;
  for (int a = 0; a < indices.rank; a++)
    updates.dims[a] = indices.dims[a];
  indices.dims[indices.rank++] = length;
  for (int a = length; a < x.rank; a++)
    updates.dims[updates.rank++] = x.dims[a];
  put(p, "  scatter_nd @out @v%d, @in @v%d", declare(p, &x), declare(p, &x));
  put(p, ", @in @v%d", declare_indices(p, &indices, smallest(&x, 0, length)));
  put(p, ", @in @v%d {reduction = %s, ", declare(p, &updates), draw_reduction(p));
  put_shards(p);
}

void case_scatter_elements(Program *p) {
  Shape x = draw_data(p, NUMBERS, 1);
  int axis = (int)draw(p, (uint32_t)x.rank);
  Shape indices = draw_elements(p, &x, axis), updates = indices;
  updates.kind = x.kind;
  put(p, "  scatter_elements @out @v%d, @in @v%d", declare(p, &x), declare(p, &x));
  put(p, ", @in @v%d", declare_indices(p, &indices, x.dims[axis]));
  put(p, ", @in @v%d {axis = %d, reduction = %s, ", declare(p, &updates), axis, draw_reduction(p));
  put_shards(p);
}

void case_reverse_sequence(Program *p) {
  Shape x = draw_data(p, any, 2);
  int batch = (int)draw(p, (uint32_t)x.rank), time = (int)draw(p, (uint32_t)x.rank - 1);
  int lengths[MOST_EXTENT];
  time += time >= batch;
  for (int b = 0; b < x.dims[batch]; b++)
    lengths[b] = draw_in(p, 0, x.dims[time]);
  put(p, "  reverse_sequence @out @v%d, @in @v%d", declare(p, &x), declare(p, &x));
  put(p, ", @in @v%d", declare_ints(p, x.dims[batch], lengths));
  put(p, " {batch_axis = %d, time_axis = %d, ", draw(p, 2) ? batch : batch - x.rank, time);
  put_shards(p);
}

/* Batches, lines, rows. */
void case_tensor_scatter(Program *p) {
  Shape x = draw_data(p, any, 2), update = x;
  int axis = draw_in(p, 1, x.rank - 1), starts[MOST_EXTENT];
  bool circular = draw(p, 2), given = draw(p, 3);
  update.dims[axis] = draw_in(p, 1, x.dims[axis]);
  for (int b = 0; b < x.dims[0]; b++)
    starts[b] = circular ? draw_in(p, -20, 20) : draw_in(p, 0, x.dims[axis] - update.dims[axis]);
  put(p, "  tensor_scatter @out @v%d, @in @v%d", declare(p, &x), declare(p, &x));
  put(p, ", @in @v%d", declare(p, &update));
  if (given)
    put(p, ", @in @v%d", declare_ints(p, x.dims[0], starts));
  put(p, " {axis = %d, mode = %s, ", draw(p, 2) ? axis : axis - x.rank,
      circular ? "circular" : "linear");
  put_shards(p);
}
