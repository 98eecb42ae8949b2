/* Unique: the indices of slices are sorted, neighbours that are equal become groups, and the groups
 * are numbered in ascending order or in that of their first slices. Slices are compared element by
 * element in row-major order; strings as bytes, complex numbers by real part, then imaginary. */
#include "kernels/ref/order.h"

/* How the elements at two offsets compare. */
static int element_order(const GlowBuf *x, int64_t a, int64_t b) {
  uint64_t p[2], q[2];
  if (x->kind == GLOW_KIND_STRING)
    return glow_string_order((const GlowString *)x->data + a, (const GlowString *)x->data + b);
  bool complex = x->kind == GLOW_KIND_COMPLEX64 || x->kind == GLOW_KIND_COMPLEX128;
  GlowBuf parts = *x;
  if (complex)
    parts.kind = x->kind == GLOW_KIND_COMPLEX64 ? GLOW_KIND_FLOAT : GLOW_KIND_DOUBLE;
  int n = complex ? 2 : 1;
  glow_load_keys(&parts, n * a, 1, n, p);
  glow_load_keys(&parts, n * b, 1, n, q);
  int order = glow_key_order(p[0], q[0]);
  return order || !complex ? order : glow_key_order(p[1], q[1]);
}

typedef struct GlowSlices {
  GlowBuf x; /* flattened if there is no axis */
  uint32_t axis;
} GlowSlices;

static GlowSlices slices_of(const GlowCall *call) {
  const GlowUniqueMembers *m = call->members;
  GlowSlices s = {.x = call->in[0]};
  if (m->flat) {
    s.x.dims[0] = glow_buf_elements(&call->in[0]);
    s.x.strides[0] = 1;
    s.x.rank = 1;
  }
  s.axis = m->flat ? 0 : glow_ref_axis(m->axis, s.x.rank);
  return s;
}

/* How slices i and j compare. */
static int slice_order(const GlowSlices *s, int64_t i, int64_t j) {
  GlowLines l = glow_lines_of(&s->x, s->axis);
  if (glow_ref_extent(&s->x, 0, s->x.rank) == 0)
    return 0;
  do {
    int64_t at = glow_index_offset(&s->x, l.index), stride = s->x.strides[s->axis];
    int order = element_order(&s->x, at + i * stride, at + j * stride);
    if (order)
      return order;
  } while (glow_next_index(s->x.rank, l.dims, l.index));
  return 0;
}
static bool slice_follows(const void *slices, int64_t i, int64_t j) {
  return slice_order(slices, i, j) > 0;
}

/* Groups: where each begins, the group of each slice, and how many there are. */
typedef struct GlowGroups {
  int64_t *first, *group, count;
} GlowGroups;

static GlowGroups group_slices(const GlowSlices *s, int64_t *memory, int64_t n, bool sorted) {
  int64_t *order = memory, *first = memory + n, *group = memory + 2 * n, *rank = memory + 3 * n;
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++)
    order[i] = i;
  glow_sort_indices(order, group, n, slice_follows, s);
  for (int64_t i = 0; i < n; i++) {
    if (i == 0 || slice_order(s, order[i - 1], order[i]) != 0)
      first[count++] = order[i]; /* the sort is stable: the lowest index of its group */
    group[order[i]] = count - 1;
  }
  if (sorted)
    return (GlowGroups){first, group, count};
  int64_t seen = 0;
  for (int64_t i = 0; i < n; i++) {
    if (first[group[i]] == i) {
      rank[group[i]] = seen;
      order[seen++] = i;
    }
    group[i] = rank[group[i]];
  }
  return (GlowGroups){order, group, count};
}

size_t glow_scratch_unique(const GlowCall *call) {
  GlowSlices s = slices_of(call);
  return 4 * (size_t)s.x.dims[s.axis] * sizeof(int64_t);
}

/* Sets the extent of a list; false if it has no room for `count`. */
static bool set_count(GlowBuf *list, int64_t count) {
  if (count > list->dims[0])
    return false;
  list->dims[0] = count;
  return true;
}

static void write_slices(const GlowSlices *s, const GlowGroups *g, GlowBuf *y) {
  for (int64_t step = 1, a = (int64_t)y->rank; a-- > 0; step *= y->dims[a])
    y->strides[a] = step;
  GlowBoxCopy c = glow_box_of(y, &s->x, &s->x);
  c.dims[s->axis] = 1;
  for (int64_t i = 0; i < g->count; i++) {
    c.src_offset = g->first[i] * s->x.strides[s->axis];
    c.dst_offset = i * y->strides[s->axis];
    glow_box_copy(&c);
  }
}

GlowRunError glow_kernel_unique(GlowCall *call) {
  const GlowUniqueMembers *m = call->members;
  GlowBuf *y = &call->out[0], *lists[3];
  GlowSlices s = slices_of(call);
  int64_t n = s.x.dims[s.axis];
  GlowGroups g = group_slices(&s, call->scratch, n, m->sorted);
  call->detail = g.count;
  for (uint32_t i = 0; i < 3; i++) {
    bool there = call->nout > i + 1 && glow_buf_present(&call->out[i + 1]);
    lists[i] = there ? &call->out[i + 1] : NULL;
    if (lists[i] && !set_count(lists[i], i == 1 ? n : g.count))
      return GLOW_RUN_SHAPE;
  }
  if (glow_buf_present(y)) {
    if (g.count > y->dims[s.axis])
      return GLOW_RUN_SHAPE;
    y->dims[s.axis] = g.count;
    write_slices(&s, &g, y);
  }
  if (lists[0])
    glow_store_int(lists[0], 0, 1, g.count, g.first);
  if (lists[1])
    glow_store_int(lists[1], 0, 1, n, g.group);
  for (int64_t i = 0; lists[2] && i < g.count; i++)
    ((int64_t *)lists[2]->data)[i] = 0;
  for (int64_t i = 0; lists[2] && i < n; i++)
    ((int64_t *)lists[2]->data)[g.group[i]]++;
  return GLOW_RUN_OK;
}
