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

/* ---- Order ----------------------------------------------------------------------------------- */

enum { DIGITS = 8, DIGIT = 256 };

/* Slices in ascending order, equal ones by index, and their keys if there are any. */
typedef struct GlowOrder {
  uint64_t *keys; /* NULL: slices are compared as they are */
  int64_t *order;
  int64_t *free[2]; /* n numbers each that are not needed any more */
} GlowOrder;

/* Whether a key of 64 bits says all of a slice. */
static bool has_keys(const GlowSlices *s) {
  GlowKind kind = s->x.kind;
  return kind != GLOW_KIND_STRING && kind != GLOW_KIND_COMPLEX64 && kind != GLOW_KIND_COMPLEX128 &&
         glow_ref_extent(&s->x, 0, s->x.rank) == s->x.dims[s->axis];
}

/* Loads n keys and counts the values of each of their digits. Floats have their keys in the upper
 * bits, since they are keys of double: the others say nothing and are shifted out. */
static void load_digits(const GlowSlices *s, int64_t n, uint64_t *keys, int64_t *counts) {
  const int shift = glow_ref_class(&s->x) == GLOW_ROW_FLOAT ? 29 : 0;
  glow_load_keys(&s->x, 0, s->x.strides[s->axis], n, keys);
  for (int64_t i = 0; i < DIGITS * DIGIT; i++)
    counts[i] = 0;
  for (int64_t i = 0; i < n; i++) {
    keys[i] >>= shift;
    for (int d = 0; d < DIGITS; d++)
      counts[d * DIGIT + (int64_t)(keys[i] >> 8 * d & 255)]++;
  }
}

/* Sorts by keys, digit by digit from the lowest on; a digit that is the same in all takes no pass.
 * memory: 4 n numbers, then those of load_digits. */
static GlowOrder order_keys(const GlowSlices *s, int64_t n, int64_t *memory) {
  uint64_t *keys = (uint64_t *)memory, *other = keys + n;
  int64_t *order = memory + 2 * n, *next = order + n, *counts = memory + 4 * n;
  load_digits(s, n, keys, counts);
  for (int64_t i = 0; i < n; i++)
    order[i] = i;
  for (int d = 0; d < DIGITS && n > 0; d++, counts += DIGIT) {
    const int shift = 8 * d;
    if (counts[keys[0] >> shift & 255] == n)
      continue;
    for (int64_t k = 0, begin = 0; k < DIGIT; k++) {
      const int64_t count = counts[k];
      counts[k] = begin;
      begin += count;
    }
    for (int64_t i = 0; i < n; i++) {
      const int64_t to = counts[keys[i] >> shift & 255]++;
      other[to] = keys[i];
      next[to] = order[i];
    }
    uint64_t *k = keys;
    int64_t *o = order;
    keys = other;
    order = next;
    other = k;
    next = o;
  }
  return (GlowOrder){keys, order, {(int64_t *)other, next}};
}

static GlowOrder order_slices(const GlowSlices *s, int64_t n, int64_t *memory) {
  if (has_keys(s))
    return order_keys(s, n, memory);
  GlowOrder o = {.order = memory, .free = {memory + n, memory + 2 * n}};
  for (int64_t i = 0; i < n; i++)
    o.order[i] = i;
  glow_sort_indices(o.order, o.free[0], n, slice_follows, s);
  return o;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

/* Groups of equal slices: group g is order[starts[g]] up to order[starts[g + 1]], with the lowest
 * index first. If they are numbered by that, group_at[i] is the group whose first slice is i, or
 * -1. */
typedef struct GlowGroups {
  const int64_t *order;
  int64_t *starts, *group_at, count, n;
} GlowGroups;

static GlowGroups group_slices(const GlowSlices *s, int64_t *memory, int64_t n, bool sorted) {
  const GlowOrder o = order_slices(s, n, memory);
  GlowGroups g = {.order = o.order, .starts = o.free[0], .n = n};
  for (int64_t i = 0; i < n; i++)
    if (i == 0 ||
        (o.keys ? o.keys[i - 1] != o.keys[i] : slice_follows(s, o.order[i], o.order[i - 1])))
      g.starts[g.count++] = i;
  if (sorted)
    return g;
  g.group_at = o.free[1];
  for (int64_t i = 0; i < n; i++)
    g.group_at[i] = -1;
  for (int64_t i = 0; i < g.count; i++)
    g.group_at[g.order[g.starts[i]]] = i;
  return g;
}

size_t glow_scratch_unique(const GlowCall *call) {
  GlowSlices s = slices_of(call);
  return (4 * (size_t)s.x.dims[s.axis] + DIGITS * DIGIT) * sizeof(int64_t);
}

/* ---- Results --------------------------------------------------------------------------------- */

/* Sets the extent of a list; false if it has no room for `count`. */
static bool set_count(GlowBuf *list, int64_t count) {
  if (count > list->dims[0])
    return false;
  list->dims[0] = count;
  return true;
}

/* The results, NULL where they are not wanted. */
typedef struct GlowUniques {
  GlowBoxCopy slice; /* to Y, from X */
  int64_t to, from;  /* strides of slices */
  size_t bytes;      /* of a slice that is one element of whole bytes, else 0 */
  bool values;
  int64_t *lists[3];
} GlowUniques;

static void write_group(const GlowGroups *g, int64_t group, int64_t number, GlowUniques *u) {
  const int64_t begin = g->starts[group];
  const int64_t end = group + 1 < g->count ? g->starts[group + 1] : g->n;
  if (u->values) {
    u->slice.src_offset = g->order[begin] * u->from;
    u->slice.dst_offset = number * u->to;
    if (u->bytes)
      __builtin_memcpy((char *)u->slice.dst + number * (int64_t)u->bytes,
                       (const char *)u->slice.src + u->slice.src_offset * (int64_t)u->bytes,
                       u->bytes);
    else
      glow_box_copy(&u->slice);
  }
  if (u->lists[0])
    u->lists[0][number] = g->order[begin];
  for (int64_t i = begin; u->lists[1] && i < end; i++)
    u->lists[1][g->order[i]] = number;
  if (u->lists[2])
    u->lists[2][number] = end - begin;
}

static void write_groups(const GlowGroups *g, GlowUniques *u) {
  if (!g->group_at)
    for (int64_t i = 0; i < g->count; i++)
      write_group(g, i, i, u);
  for (int64_t i = 0, number = 0; g->group_at && i < g->n; i++)
    if (g->group_at[i] >= 0)
      write_group(g, g->group_at[i], number++, u);
}

/* Where slices of X, and Y with its new extent, are. */
static void place_slices(const GlowSlices *s, GlowBuf *y, GlowUniques *u) {
  for (int64_t step = 1, a = (int64_t)y->rank; a-- > 0; step *= y->dims[a])
    y->strides[a] = step;
  u->values = true;
  u->slice = glow_box_of(y, &s->x, &s->x);
  u->slice.dims[s->axis] = 1;
  u->from = s->x.strides[s->axis];
  u->to = y->strides[s->axis];
  u->bytes = glow_ref_extent(y, 0, y->rank) == y->dims[s->axis] ? u->slice.bits / 8 : 0;
}

GlowRunError glow_kernel_unique(GlowCall *call) {
  const GlowUniqueMembers *m = call->members;
  GlowBuf *y = &call->out[0];
  GlowSlices s = slices_of(call);
  GlowUniques u = {.values = false};
  int64_t n = s.x.dims[s.axis];
  GlowGroups g = group_slices(&s, call->scratch, n, m->sorted);
  call->detail = g.count;
  for (uint32_t i = 0; i < 3; i++) {
    if (call->nout <= i + 1 || !glow_buf_present(&call->out[i + 1]))
      continue;
    if (!set_count(&call->out[i + 1], i == 1 ? n : g.count))
      return GLOW_RUN_SHAPE;
    u.lists[i] = call->out[i + 1].data;
  }
  if (glow_buf_present(y)) {
    if (g.count > y->dims[s.axis])
      return GLOW_RUN_SHAPE;
    y->dims[s.axis] = g.count;
    place_slices(&s, y, &u);
  }
  write_groups(&g, &u);
  return GLOW_RUN_OK;
}
