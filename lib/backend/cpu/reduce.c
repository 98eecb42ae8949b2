/* Reductions over axes that are known: kept and reduced axes, neighbours merged. */
#include <string.h>

#include "cpu/work.h"
#include "target/cpu/cpu.h"
#include "tensor/tensor.h"

/* Axes from the outermost inward, in the order in which they are visited. */
typedef struct Axes {
  uint32_t rank;
  int64_t dims[GLOW_MAX_RANK], strides[GLOW_MAX_RANK];
} Axes;

static void push(Axes *a, int64_t dim, int64_t stride) {
  uint32_t last = a->rank - 1;
  if (dim == 1)
    return;
  if (a->rank && a->strides[last] == dim * stride) {
    a->dims[last] *= dim;
    a->strides[last] = stride;
    return;
  }
  a->dims[a->rank] = dim;
  a->strides[a->rank++] = stride;
}

static bool pad_axes(GlowSelect *s, const Axes *a, int64_t *dims, int64_t *strides) {
  if (a->rank > GLOW_REDUCE_DIMS)
    return glow_select_fail(s, "its axes alternate too often");
  for (uint32_t i = 0; i < GLOW_REDUCE_DIMS; i++) {
    uint32_t lead = GLOW_REDUCE_DIMS - a->rank;
    dims[i] = i < lead ? 1 : a->dims[i - lead];
    strides[i] = i < lead ? 0 : a->strides[i - lead];
  }
  return true;
}

/* The rule of the reference kernel: lanes if the reduced axes are the last ones and nothing else.
 */
static bool read_shape(GlowSelect *s, const GlowView *x, uint32_t mask, GlowReduceParams *p) {
  Axes kept = {0}, reduced = {0};
  uint32_t rank = x->rank, last = 0, nreduced = 0;
  p->count = p->inner = 1;
  for (uint32_t a = 0; a < rank; a++)
    last = mask >> a & 1u ? a + 1 : last;
  for (uint32_t a = 0; a < rank; a++) {
    if (mask >> a & 1u) {
      push(&reduced, x->dims[a], x->strides[a]);
      p->count *= x->dims[a];
      nreduced++;
    } else if (a < last || nreduced == 0) {
      push(&kept, x->dims[a], x->strides[a]);
    } else {
      p->inner *= x->dims[a];
    }
  }
  if (mask != 0 && last == rank && mask >> (rank - nreduced) << (rank - nreduced) == mask)
    p->inner = 0;
  return pad_axes(s, &kept, p->kept, p->kept_stride) &&
         pad_axes(s, &reduced, p->reduced, p->reduced_stride);
}

/* Whether the reduced axes, bits of `mask`, are those of images and places of whole blocks of
 * channels: then the physical axes are visited as the logical ones, and results lie as they should.
 */
enum { ALL_BUT_CHANNELS = 0xd }; /* bits of axes 0, 2, 3 */
static bool read_blocks(GlowSelect *s, const GlowView *x, uint32_t mask) {
  const int64_t channels = x->type->dims[1].size;
  if (strcmp(x->type->layout->text, GLOW_CPU_BLOCKS) || !glow_view_is_dense(x) ||
      channels % x->dims[4] || mask != ALL_BUT_CHANNELS)
    return glow_select_fail(s, "it does not keep whole blocks of channels alone");
  return true;
}

static bool is_dense(const GlowView *v) { return !v->type->layout && glow_view_is_dense(v); }

static GlowReduceVariant variant_of(const GlowNode *n, bool *noop) {
  switch (n->op) {
  case GLOW_OP_REDUCE_SUM:
    *noop = ((const GlowReduceSumMembers *)n->members)->noop;
    return GLOW_REDUCE_SUM;
  case GLOW_OP_REDUCE_MEAN:
    *noop = ((const GlowReduceMeanMembers *)n->members)->noop;
    return GLOW_REDUCE_SUM;
  case GLOW_OP_REDUCE_MAX:
    *noop = ((const GlowReduceMaxMembers *)n->members)->noop;
    return GLOW_REDUCE_MAX;
  case GLOW_OP_REDUCE_MIN:
    *noop = ((const GlowReduceMinMembers *)n->members)->noop;
    return GLOW_REDUCE_MIN;
  default:
    *noop = ((const GlowReduceProdMembers *)n->members)->noop;
    return GLOW_REDUCE_PROD;
  }
}

bool glow_select_reduced_axes(GlowSelect *s, const GlowNode *n, uint32_t rank, uint32_t *mask) {
  const GlowValue *v = glow_node_nins(n) > 1 ? glow_node_in(n, 1) : NULL;
  const GlowTensor *axes = v ? glow_value_known(v) : NULL;
  bool noop;
  variant_of(n, &noop);
  if (v && !axes)
    return glow_select_fail(s, "its axes are not known before it runs");
  *mask = 0;
  if (!axes || glow_tensor_elements(axes) == 0)
    *mask = noop ? 0 : (1u << rank) - 1u;
  for (int64_t i = 0; axes && i < glow_tensor_elements(axes); i++) {
    int64_t a = glow_tensor_get_int(axes, i);
    *mask |= 1u << (a < 0 ? a + rank : a);
  }
  return true;
}

static bool same_place(GlowPlace a, GlowPlace b) {
  return a.storage == b.storage && a.offset == b.offset;
}

/* Rows whose smallest elements were found right before are read once for the largest ones, too, or
 * the other way round: both follow from the same keys. False if the work before is another. */
static bool join_extremes(GlowSelect *s, const GlowNode *n, GlowReduceVariant op,
                          const GlowReduceParams *p, const GlowReducePlaces *at,
                          const GlowWorkSpec *spec) {
  GlowWork *before = s->work.count ? &s->work.data[s->work.count - 1] : NULL;
  const GlowReduceVariant other = op == GLOW_REDUCE_MIN ? GLOW_REDUCE_MAX : GLOW_REDUCE_MIN;
  if ((op != GLOW_REDUCE_MIN && op != GLOW_REDUCE_MAX) || p->inner || !before ||
      before->kernel != glow_find_reduce(other, GLOW_KIND_FLOAT) ||
      memcmp(before->params, p, sizeof *p) != 0 || !same_place(before->places[1], at->x))
    return false;
  const GlowPlace *y = before->places;
  GlowReduceRangePlaces both = {.low = op == GLOW_REDUCE_MIN ? at->y : *y,
                                .high = op == GLOW_REDUCE_MIN ? *y : at->y,
                                .x = at->x};
  s->work.count--;
  glow_work_reduce_range(s, n, p, &both, spec);
  return true;
}

bool glow_select_reduce(GlowSelect *s, const GlowNode *n) {
  GlowReduceParams p = {.mean = n->op == GLOW_OP_REDUCE_MEAN};
  GlowView x, y;
  uint32_t mask;
  bool noop;
  GlowReduceVariant op = variant_of(n, &noop);
  if (!glow_select_view(s, glow_node_in(n, 0), &x) || !glow_select_view(s, glow_node_out(n, 0), &y))
    return false;
  GlowKind kind = x.type->kind == GLOW_KIND_BOOL ? GLOW_KIND_U8 : x.type->kind;
  if (!glow_find_reduce(op, kind) || x.type->quantized)
    return glow_select_fail(s, "there is no kernel for its kind");
  if ((!x.type->layout && !is_dense(&x)) || !is_dense(&y))
    return glow_select_fail(s, "an operand is not dense");
  if (glow_type_elements(y.type) == 0)
    return true;
  if (!glow_select_reduced_axes(s, n, x.type->rank, &mask) ||
      (x.type->layout && !read_blocks(s, &x, mask)) || !read_shape(s, &x, mask, &p))
    return false;
  int64_t rows = 1;
  for (uint32_t a = 0; a < GLOW_REDUCE_DIMS; a++)
    rows *= p.kept[a];
  int64_t units = rows * (p.inner ? p.inner / 16 + p.inner % 16 : 1);
  if (!p.count)
    return glow_select_fail(s, "its results are those of no elements");
  GlowReducePlaces at = {.y = y.place, .x = x.place};
  GlowWorkSpec spec = {.units = units};
  if (kind != GLOW_KIND_FLOAT || !join_extremes(s, n, op, &p, &at, &spec))
    glow_work_reduce(s, n, op, kind, &p, &at, &spec);
  return true;
}
