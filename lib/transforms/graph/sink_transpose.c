/* Transposes move down, where they meet others and cancel out (-simplify-transpose).
 *
 *   f(Transpose(x), Transpose(y), c)          -> Transpose(f(x, y, Transpose'(c)))   element-wise
 *   Concat(Transpose(x), Transpose(y))        -> Transpose(Concat(x, y))
 *   Pad, Slice of Transpose(x)                -> Transpose(Pad or Slice of x)
 *   ReduceMax, ReduceMin of Transpose(x)      -> Transpose(ReduceMax or ReduceMin of x)
 *
 * All Transposes of one node must have the same permutation. Constants are transposed the other
 * way, by nodes of which -constant-fold makes `eval` constants; operands of one element stay.
 * Moving pays if nothing else uses one of the Transposes. No Transpose moves below a node that
 * makes its operand larger. Exact: no order of a sum changes. ReduceSum, ReduceMean and ReduceProd
 * take another order on other axes, so Transposes stay above them. */
#include "transforms/pieces.h"
#include "transforms/rules.h"

typedef struct Perm {
  uint32_t rank, axis[GLOW_MAX_RANK]; /* result axis i is axis[i] of the operand */
} Perm;

static bool read_perm(const GlowNode *n, Perm *p) {
  const GlowTransposeMembers *m = n->members;
  const GlowType *t = n->results[0].type;
  p->rank = t->rank;
  if (!glow_type_is_known(t) || t->layout)
    return false;
  for (uint32_t i = 0; i < t->rank; i++)
    p->axis[i] = m->perm.count ? glow_array_at(m->perm, uint32_t, i) : t->rank - 1 - i;
  return true;
}

static Perm inverse(const Perm *p) {
  Perm q = {.rank = p->rank};
  for (uint32_t i = 0; i < p->rank; i++)
    q.axis[p->axis[i]] = i;
  return q;
}

static GlowValue *transpose(GlowBuilder *b, GlowValue *x, const Perm *p) {
  GlowTransposeMembers members = {.perm = glow_array_u32(b->module, p->axis, p->rank)};
  return glow_build1(b, GLOW_OP_TRANSPOSE, x, &members, NULL);
}

/* The type that p transposes to t. */
static const GlowType *before_perm(GlowContext *ctx, const GlowType *t, const Perm *p) {
  GlowDim dims[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < p->rank; i++)
    dims[p->axis[i]] = t->dims[i];
  return glow_type_with_dims(ctx, t, p->rank, dims);
}

static bool only_used_by(const GlowValue *v, const GlowNode *n) {
  for (const GlowUse *u = v->uses; u; u = u->next)
    if (u->user != n)
      return false;
  return true;
}

/* The permutation that the Transposes among n's operands share. False if there is none, or if
 * moving it would not pay. */
static bool shared_perm(const GlowNode *n, Perm *p) {
  bool found = false, goes = false;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = glow_node_in(n, i);
    const GlowNode *t = v ? glow_match(v, GLOW_OP_TRANSPOSE, n) : NULL;
    Perm q;
    if (!t)
      continue;
    if (!read_perm(t, &q) ||
        (found && (q.rank != p->rank || memcmp(q.axis, p->axis, q.rank * sizeof *q.axis) != 0)))
      return false;
    *p = q;
    goes |= only_used_by(v, n);
    found = true;
  }
  return goes;
}

/* ---- Element-wise nodes and Concat ----------------------------------------------------------- */

static bool is_one_element(const GlowValue *v, uint32_t rank) {
  return glow_type_is_static(v->type) && v->type->rank <= rank && glow_type_elements(v->type) == 1;
}

/* The constant v, with leading axes up to the rank of p, transposed by the inverse of p. */
static GlowValue *transpose_constant(GlowBuilder *b, const GlowNode *n, GlowValue *v,
                                     const Perm *p) {
  Perm q = inverse(p);
  if (v->type->rank < p->rank) {
    GlowDim dims[GLOW_MAX_RANK];
    uint32_t missing = p->rank - v->type->rank;
    for (uint32_t i = 0; i < p->rank; i++)
      dims[i] = i < missing ? GLOW_EXACT(1) : v->type->dims[i - missing];
    v = glow_build_reshape(b, n, v, p->rank, dims);
  }
  return v ? transpose(b, v, &q) : NULL;
}

typedef enum OperandKind { KEEP, STRIP, TURN, REFUSE } OperandKind;

static OperandKind classify(const GlowNode *n, const GlowValue *v, const Perm *p, bool broadcasts) {
  if (!v)
    return KEEP;
  if (glow_match(v, GLOW_OP_TRANSPOSE, n))
    return STRIP;
  if (broadcasts && is_one_element(v, p->rank))
    return KEEP;
  bool turns = glow_value_is_constant(v) && glow_type_is_static(v->type) && !v->type->layout &&
               !v->type->quantized &&
               (broadcasts ? v->type->rank <= p->rank : v->type->rank == p->rank);
  return turns ? TURN : REFUSE;
}

/* n over operands without their Transposes, transposed. */
static GlowValue *sink_operands(GlowPassRun *run, GlowNode *n, const Perm *p, const void *members,
                                bool broadcasts) {
  const GlowType *t = n->results[0].type;
  if (!glow_type_is_known(t) || t->rank != p->rank || t->layout ||
      !glow_op_moves(GLOW_OP_TRANSPOSE, t))
    return NULL;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = glow_node_in(n, i);
    OperandKind kind = classify(n, v, p, broadcasts);
    if (kind == REFUSE || (kind == STRIP && broadcasts && !glow_type_same_elements(v->type, t)))
      return NULL;
  }
  GlowBuilder b = glow_builder_before(n);
  GlowValue **ins = GLOW_NEW_ARRAY(run->arena, GlowValue *, n->noperands);
  for (uint32_t i = 0; i < n->noperands; i++) {
    GlowValue *v = glow_node_in(n, i);
    OperandKind kind = classify(n, v, p, broadcasts);
    ins[i] = kind == STRIP  ? glow_node_in(v->def.node, 0)
             : kind == TURN ? transpose_constant(&b, n, v, p)
                            : v;
    if (v && !ins[i])
      return NULL;
  }
  const GlowType *before = before_perm(run->ctx, t, p);
  GlowNodeSpec spec = {
      .op = n->op, .ins = ins, .nins = n->noperands, .members = members, .types = &before};
  GlowNode *above = glow_node_create(&b, &spec);
  return above ? transpose(&b, &above->results[0], p) : NULL;
}

static GlowValue *sink_concat(GlowPassRun *run, GlowNode *n, const Perm *p) {
  int64_t axis = ((const GlowConcatMembers *)n->members)->axis;
  GlowConcatMembers members = {.axis = p->axis[axis < 0 ? axis + p->rank : axis]};
  return sink_operands(run, n, p, &members, false);
}

/* ---- Pad, Slice and reductions --------------------------------------------------------------- */

static GlowValue *sink_slice(GlowNode *n, const Perm *p) {
  GlowPiece piece, above;
  if (!glow_piece_of(&n->results[0], n, &piece))
    return NULL;
  above = glow_piece_whole(glow_node_in(piece.source->def.node, 0));
  for (uint32_t i = 0; i < p->rank; i++) {
    above.start[p->axis[i]] = piece.start[i];
    above.step[p->axis[i]] = piece.step[i];
    above.size[p->axis[i]] = piece.size[i];
  }
  GlowBuilder b = glow_builder_before(n);
  GlowValue *slice = glow_piece_build(&b, n, &above);
  return slice ? transpose(&b, slice, p) : NULL;
}

static GlowValue *sink_pad(GlowPassRun *run, GlowNode *n, const Perm *p) {
  uint32_t count, naxes;
  const int64_t *pads = glow_known_ints(run, n, GLOW_PAD_IN_PADS, &count);
  const int64_t *axes = glow_known_ints(run, n, GLOW_PAD_IN_AXES, &naxes);
  if (!pads || (glow_node_in(n, GLOW_PAD_IN_AXES) && !axes))
    return NULL;
  int64_t amounts[2 * GLOW_MAX_RANK] = {0};
  for (uint32_t i = 0; i < count / 2; i++) {
    int64_t axis = axes ? axes[i] : i;
    uint32_t k = p->axis[axis < 0 ? axis + p->rank : axis];
    amounts[k] = pads[i];
    amounts[p->rank + k] = pads[count / 2 + i];
  }
  GlowBuilder b = glow_builder_before(n);
  GlowValue *ins[] = {glow_node_in(glow_node_in(n, 0)->def.node, 0),
                      glow_constant_ints(run->module, n, "pads", amounts, 2 * p->rank),
                      glow_node_in(n, GLOW_PAD_IN_VALUE)};
  GlowNode *above = glow_build(&b, GLOW_OP_PAD, ins, 3, n->members, NULL);
  return above ? transpose(&b, &above->results[0], p) : NULL;
}

/* ReduceMax and ReduceMin have the same members. */
static GlowValue *sink_reduce(GlowPassRun *run, GlowNode *n, const Perm *p) {
  const GlowReduceMaxMembers *m = n->members;
  uint32_t count;
  const int64_t *axes = glow_known_ints(run, n, 1, &count);
  if (!m->keep || !axes || count == 0)
    return NULL;
  int64_t above_axes[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < count; i++)
    above_axes[i] = p->axis[axes[i] < 0 ? axes[i] + p->rank : axes[i]];
  GlowBuilder b = glow_builder_before(n);
  GlowValue *above =
      glow_build2(&b, n->op, glow_node_in(glow_node_in(n, 0)->def.node, 0),
                  glow_constant_ints(run->module, n, "axes", above_axes, count), n->members, NULL);
  return above ? transpose(&b, above, p) : NULL;
}

/* ---- The pass -------------------------------------------------------------------------------- */

static GlowValue *sink(GlowPassRun *run, GlowNode *n, const Perm *p) {
  if (glow_node_is_elementwise(n))
    return sink_operands(run, n, p, n->members, true);
  if (!glow_match(glow_node_in(n, 0), GLOW_OP_TRANSPOSE, n))
    return NULL;
  switch (n->op) {
  case GLOW_OP_CONCAT:
    return sink_concat(run, n, p);
  case GLOW_OP_SLICE:
    return sink_slice(n, p);
  case GLOW_OP_PAD:
    return sink_pad(run, n, p);
  case GLOW_OP_REDUCE_MAX:
  case GLOW_OP_REDUCE_MIN:
    return sink_reduce(run, n, p);
  default:
    return NULL;
  }
}

static bool visit(GlowNode *n, void *arg) {
  GlowPassRun *run = arg;
  Perm p;
  if (n->nresults != 1 || n->nregions || n->op == GLOW_OP_TRANSPOSE || !shared_perm(n, &p))
    return true;
  const GlowType *t = n->results[0].type;
  GlowValue *below = sink(run, n, &p);
  if (below && below->type == t)
    glow_replace_by(run, n, below, "moved a Transpose down");
  else if (below)
    glow_remove_dead(below->def.node);
  return true;
}

bool glow_pass_sink_transpose(GlowPassRun *run) {
  unsigned errors = glow_context_error_count(run->ctx);
  glow_block_walk(run->function->body, visit, run);
  return glow_context_error_count(run->ctx) == errors;
}
