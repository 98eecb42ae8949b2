/* Stacks and single element-wise instructions: one loop nest over the physical elements of the
 * results. Axes that are one loop for every operand are merged, so that most become one. */
#include "cpu/work.h"

#include <string.h>

/* Strides of every operand (outputs first) along the physical axes of output 0. */
typedef struct Nest {
  uint32_t rank, noperands;
  int64_t dims[GLOW_VIEW_RANK];
  int64_t (*strides)[GLOW_VIEW_RANK];
} Nest;

static bool can_merge(const Nest *nest, uint32_t outer, uint32_t inner) {
  for (uint32_t i = 0; i < nest->noperands; i++) {
    if (nest->strides[i][outer] != nest->strides[i][inner] * nest->dims[inner])
      return false;
  }
  return true;
}

static void move_axis(Nest *nest, uint32_t to, uint32_t from) {
  nest->dims[to] = nest->dims[from];
  for (uint32_t i = 0; i < nest->noperands; i++)
    nest->strides[i][to] = nest->strides[i][from];
}

/* Drops axes of extent 1 and merges neighbours. */
static void merge(Nest *nest) {
  uint32_t kept = 0;
  for (uint32_t a = 0; a < nest->rank; a++) {
    if (nest->dims[a] == 1)
      continue;
    if (kept && can_merge(nest, kept - 1, a)) {
      int64_t n = nest->dims[kept - 1] * nest->dims[a];
      move_axis(nest, kept - 1, a);
      nest->dims[kept - 1] = n;
    } else {
      move_axis(nest, kept++, a);
    }
  }
  nest->rank = kept;
}

/* The loops: the outermost axis first, so that threads share it, and the others last, so that
 * library code may take short rows together. A single long axis is cut into equal pieces of whole
 * vectors. */
static void order_loops(Nest *nest, int64_t vl, int64_t axis_of[GLOW_STACK_DIMS]) {
  for (int64_t pieces = 64; nest->rank == 1 && pieces > 1; pieces--) {
    if (nest->dims[0] % (pieces * vl))
      continue;
    nest->rank = 2;
    nest->dims[1] = nest->dims[0] / pieces;
    nest->dims[0] = pieces;
    for (uint32_t i = 0; i < nest->noperands; i++) {
      nest->strides[i][1] = nest->strides[i][0];
      nest->strides[i][0] *= nest->dims[1];
    }
  }
  for (uint32_t d = 0; d < GLOW_STACK_DIMS; d++) {
    int64_t a = (int64_t)d + nest->rank - GLOW_STACK_DIMS;
    axis_of[d] = a > 0 ? a : -1;
  }
  axis_of[nest->rank > 1 ? 0 : GLOW_STACK_DIMS - 1] = nest->rank ? 0 : -1;
}

static bool finish(GlowSelect *s, GlowStackParams *p, GlowOperand *operands, Nest *nest) {
  int64_t axis_of[GLOW_STACK_DIMS];
  if (nest->rank > GLOW_STACK_DIMS)
    return glow_select_fail(s, "it has too many axes");
  order_loops(nest, s->isa->vl, axis_of);
  for (uint32_t d = 0; d < GLOW_STACK_DIMS; d++) {
    int64_t a = axis_of[d];
    p->n[d] = a < 0 ? 1 : nest->dims[a];
    for (uint32_t i = 0; i < nest->noperands; i++)
      operands[i].stride[d] = a < 0 ? 0 : nest->strides[i][a];
  }
  for (uint32_t i = 0; i < nest->noperands && !nest->rank; i++)
    operands[i].stride[GLOW_STACK_DIMS - 1] = 1; /* one element */
  return true;
}

/* How many vectors a turn of the innermost loop computes. Where elements are narrow and the body is
 * short, most of a turn would be the loop itself; where a function has many steps, each would wait
 * for the one before. */
static int64_t vectors_at_once(const GlowSelect *s, const GlowBody *body,
                               const GlowOperand *operands, uint32_t count, int64_t n) {
  bool narrow = false, waits = false;
  for (uint32_t i = 0; i < count; i++)
    narrow = narrow || glow_kind_info[operands[i].kind].bits < 32;
  for (uint32_t i = 0; i < body->ncalls; i++)
    waits = waits || body->calls[i].turns;
  bool pays = waits ? n >= GLOW_BODY_TURN * (int64_t)s->isa->vl
                    : narrow && body->ncalls <= 2 && n >= 16 * (int64_t)s->isa->vl;
  return pays ? GLOW_BODY_TURN : 1;
}

/* The axis whose slices may have a scale and zero point each. */
static int64_t parameter_axis(const GlowNode *n) {
  return n->op == GLOW_OP_QUANTIZE_LINEAR ? ((const GlowQuantizeLinearMembers *)n->members)->axis
                                          : ((const GlowDequantizeLinearMembers *)n->members)->axis;
}

/* Strides of a scale or zero point along the axes of X: one element for all or for each slice. */
static bool slice_strides(GlowSelect *s, const GlowNode *n, const GlowView *to, const GlowView *v,
                          int64_t *stride) {
  int64_t axis = parameter_axis(n), count = v->rank ? v->dims[0] : 1;
  axis = axis < 0 ? axis + to->rank : axis;
  memset(stride, 0, GLOW_VIEW_RANK * sizeof *stride);
  if (v->rank > 1 || to->type->layout)
    return glow_select_fail(s, "its scale is no list");
  if (count == 1)
    return true;
  if (axis < 0 || axis >= to->rank || count != to->dims[axis])
    return glow_select_fail(s, "its scale does not fit an axis");
  stride[axis] = v->strides[0];
  return true;
}

/* Strides of operand i along the axes of the result. */
static bool operand_strides(GlowSelect *s, const GlowNode *n, const GlowView *to, const GlowView *v,
                            uint32_t i, int64_t *stride) {
  int64_t channels = 0;
  bool linear = n->op == GLOW_OP_QUANTIZE_LINEAR || n->op == GLOW_OP_DEQUANTIZE_LINEAR;
  if (linear && i > 1)
    return slice_strides(s, n, to, v, stride);
  if (!glow_select_operand(s, to, v, stride, &channels))
    return false;
  return !channels || glow_select_fail(s, "an operand is not padded to whole blocks");
}

/* Says what has no vector form. */
static bool refuse(GlowSelect *s, const GlowNode *n, const GlowNode *refused) {
  return glow_select_fail(
      s, refused == n ? "there is no kernel for its kinds"
                      : glow_arena_printf(s->arena,
                                          "its body has '%s', which has no vector form for "
                                          "its kinds",
                                          glow_node_desc(refused)->node));
}

bool glow_select_body(GlowSelect *s, const GlowNode *n, const GlowBlock *b,
                      const GlowValue *const *values, uint32_t noperands, uint32_t nouts) {
  GlowStackParams p;
  GlowBody body;
  const GlowNode *refused =
      b ? glow_select_block_body(s, b, &body) : glow_select_node_body(s, n, &body);
  if (refused)
    return refuse(s, n, refused);
  GlowOperand *operands = GLOW_NEW_ARRAY(s->arena, GlowOperand, noperands);
  Nest nest = {.noperands = noperands};
  nest.strides = glow_arena_array(s->arena, noperands, sizeof *nest.strides);
  GlowView to;
  if (!glow_select_view(s, values[0], &to))
    return false;
  nest.rank = to.rank;
  memcpy(nest.dims, to.dims, sizeof nest.dims);
  for (uint32_t i = 0; i < noperands; i++) {
    GlowView v;
    if (!glow_select_view(s, values[i], &v) || !operand_strides(s, n, &to, &v, i, nest.strides[i]))
      return false;
    operands[i].place = v.place;
    operands[i].kind = v.type->kind;
  }
  for (uint32_t a = 0; a < nest.rank; a++) {
    if (!nest.dims[a])
      return true; /* no elements */
  }
  merge(&nest);
  if (!finish(s, &p, operands, &nest))
    return false;
  p.at_once = vectors_at_once(s, &body, operands, noperands, p.n[GLOW_STACK_DIMS - 1]);
  GlowWorkSpec spec = {.units = p.n[0]};
  if (glow_node_desc(n)->epilogue >= 0) { /* it follows the work that n is about */
    spec.cost = 4 * noperands;
    for (uint32_t d = 0; d < GLOW_STACK_DIMS; d++)
      spec.cost *= p.n[d];
  }
  GlowWork *w = glow_work_stack(s, n, &p, &spec);
  w->form = GLOW_BODY_STEPS;
  w->body = body;
  w->operands = operands;
  w->noperands = noperands;
  w->nouts = nouts;
  for (uint32_t i = 0; i < nouts; i++) {
    GlowView v;
    if (!glow_select_view(s, values[i], &v) || !glow_select_zero_padding(s, n, &v))
      return false;
  }
  return true;
}

bool glow_select_stack(GlowSelect *s, const GlowNode *n) {
  if (glow_select_logic(s, n))
    return true;
  const GlowValue **values = GLOW_NEW_ARRAY(s->arena, const GlowValue *, n->noperands);
  uint32_t count = 0;
  for (uint32_t i = 0; i < n->noperands; i++) { /* absent inputs are left out, and literals */
    if (n->operands[i].value && (i < n->nouts || !glow_select_literal(n, i - n->nouts)))
      values[count++] = n->operands[i].value;
  }
  const GlowBlock *block = n->op == GLOW_OP_STACK ? glow_node_epilogue(n) : NULL;
  return glow_select_body(s, n, block, values, count, n->nouts);
}
