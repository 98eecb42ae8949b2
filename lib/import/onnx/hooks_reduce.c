/* Reductions and selection: what stands around the reduction proper, and attributes of old
 * definitions. */
#include <math.h>
#include <string.h>

#include "import/onnx/hooks.h"
#include "import/onnx/importer.h"

/* ---- Reductions ----------------------------------------------------------------------------- */

/* What stands before and after the reduction proper. */
typedef struct Reduction {
  const char *name;
  GlowOp before, reduce, after; /* GLOW_OP_IDENTITY: nothing; before MUL: the square */
} Reduction;

static const Reduction reductions[] = {
    {"ReduceSum", GLOW_OP_IDENTITY, GLOW_OP_REDUCE_SUM, GLOW_OP_IDENTITY},
    {"ReduceMean", GLOW_OP_IDENTITY, GLOW_OP_REDUCE_MEAN, GLOW_OP_IDENTITY},
    {"ReduceMax", GLOW_OP_IDENTITY, GLOW_OP_REDUCE_MAX, GLOW_OP_IDENTITY},
    {"ReduceMin", GLOW_OP_IDENTITY, GLOW_OP_REDUCE_MIN, GLOW_OP_IDENTITY},
    {"ReduceProd", GLOW_OP_IDENTITY, GLOW_OP_REDUCE_PROD, GLOW_OP_IDENTITY},
    {"ReduceL1", GLOW_OP_ABS, GLOW_OP_REDUCE_SUM, GLOW_OP_IDENTITY},
    {"ReduceL2", GLOW_OP_MUL, GLOW_OP_REDUCE_SUM, GLOW_OP_SQRT},
    {"ReduceSumSquare", GLOW_OP_MUL, GLOW_OP_REDUCE_SUM, GLOW_OP_IDENTITY},
    {"ReduceLogSum", GLOW_OP_IDENTITY, GLOW_OP_REDUCE_SUM, GLOW_OP_LOG},
};

static const Reduction *find_reduction(const char *name) {
  for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
    if (strcmp(reductions[i].name, name) == 0)
      return &reductions[i];
  return NULL;
}

/* The axes: an attribute before operator set 18 (13 for ReduceSum), then operand 1. NULL: all. */
static bool reduction_axes(GlowOnnxNode *n, GlowValue **axes) {
  GlowArray list = {0};
  *axes = n->nins > 1 ? n->ins[1] : NULL;
  if (!glow_onnx_has(n, "axes"))
    return true;
  if (*axes)
    return glow_onnx_fail(n, "axes are given as attribute and as operand");
  if (!glow_onnx_ints(n, "axes", &list))
    return false;
  if (list.count)
    *axes = glow_onnx_make_ints(n, "axes", list.data, list.count);
  return true;
}

/* The members of a reduction, from the attributes; `keep` can be read apart. NULL after a
 * diagnostic.
 */
static char *reduction_members(GlowOnnxNode *n, GlowOp op) {
  const GlowOpDesc *d = &glow_op_desc[op];
  char *members = glow_arena_copy(n->im->arena, d->member_defaults, d->member_size);
  bool *keep = (bool *)(members + glow_op_member(d, "keep")->offset);
  bool *noop = (bool *)(members + glow_op_member(d, "noop")->offset);
  bool ok = glow_onnx_bool(n, "keepdims", keep) && glow_onnx_bool(n, "noop_with_empty_axes", noop);
  return ok ? members : NULL;
}

static bool is_integer(const GlowValue *v) {
  return v && glow_type_is_tensor(v->type) && glow_kind_is_integer(v->type->kind);
}

/* Roots and logarithms of integers are those of doubles, truncated. */
static bool finish_real(GlowOnnxNode *n, GlowOp op, GlowValue *v) {
  if (!is_integer(v))
    return glow_onnx_finish1(n, op, v, NULL);
  GlowCastMembers back = {.to = v->type->kind};
  v = glow_onnx_emit1(n, op, glow_onnx_cast_to(n, v, GLOW_KIND_DOUBLE), NULL);
  return glow_onnx_finish1(n, GLOW_OP_CAST, v, &back);
}

bool glow_onnx_reduce(GlowOnnxNode *n) {
  const Reduction *r = find_reduction(n->op);
  GlowValue *axes, *x = n->nins ? n->ins[0] : NULL;
  char *members = reduction_members(n, r->reduce);
  if (!glow_onnx_check_ins(n, 1, 2) || !reduction_axes(n, &axes) || !members)
    return false;
  if (r->before == GLOW_OP_MUL)
    x = glow_onnx_emit2(n, GLOW_OP_MUL, x, x, NULL);
  else if (r->before != GLOW_OP_IDENTITY)
    x = glow_onnx_emit1(n, r->before, x, NULL);
  if (!x)
    return false;
  GlowValue *ins[] = {x, axes};
  if (r->after == GLOW_OP_IDENTITY)
    return glow_onnx_finish(n, r->reduce, ins, 2, members, NULL, 0);
  return finish_real(n, r->after, glow_onnx_emit(n, r->reduce, ins, 2, members));
}

/* log(sum(exp(X - m))) + m, where m is the largest element, or 0 where that is infinite: sums of
 * infinities are infinite, and nothing else overflows. */
bool glow_onnx_reduce_log_sum_exp(GlowOnnxNode *n) {
  GlowValue *axes;
  const GlowReduceSumMembers *m = (void *)reduction_members(n, GLOW_OP_REDUCE_SUM);
  if (!glow_onnx_check_ins(n, 1, 2) || !reduction_axes(n, &axes) || !m)
    return false;
  bool whole = is_integer(n->ins[0]);
  GlowValue *x = whole ? glow_onnx_cast_to(n, n->ins[0], GLOW_KIND_DOUBLE) : n->ins[0];
  if (!x || !glow_type_is_tensor(x->type))
    return glow_onnx_fail(n, "operand 0 must be a tensor");
  GlowValue *zero = glow_onnx_make_scalar(n, "zero", x->type->kind, 0);
  GlowValue *most = glow_onnx_make_scalar(n, "infinity", x->type->kind, (double)INFINITY);
  GlowValue *shifts[2]; /* for the elements, and for the result */
  for (int i = 0; i < 2; i++) {
    GlowReduceMaxMembers keep = {.keep = i == 0 || m->keep, .noop = m->noop};
    GlowValue *max = glow_onnx_emit(n, GLOW_OP_REDUCE_MAX, (GlowValue *[]){x, axes}, 2, &keep);
    GlowValue *size = glow_onnx_emit1(n, GLOW_OP_ABS, max, NULL);
    GlowValue *open = glow_onnx_emit2(n, GLOW_OP_EQUAL, size, most, NULL);
    if (!open)
      return false;
    shifts[i] = glow_onnx_emit(n, GLOW_OP_WHERE, (GlowValue *[]){open, zero, max}, 3, NULL);
  }
  GlowValue *e =
      glow_onnx_emit1(n, GLOW_OP_EXP, glow_onnx_emit2(n, GLOW_OP_SUB, x, shifts[0], NULL), NULL);
  if (!e)
    return false;
  GlowValue *sum = glow_onnx_emit(n, GLOW_OP_REDUCE_SUM, (GlowValue *[]){e, axes}, 2, m);
  GlowValue *log = glow_onnx_emit1(n, GLOW_OP_LOG, sum, NULL);
  if (!whole)
    return glow_onnx_finish2(n, GLOW_OP_ADD, log, shifts[1], NULL);
  GlowCastMembers back = {.to = n->ins[0]->type->kind};
  return glow_onnx_finish1(n, GLOW_OP_CAST, glow_onnx_emit2(n, GLOW_OP_ADD, log, shifts[1], NULL),
                           &back);
}

/* ---- Selection ------------------------------------------------------------------------------ */

/* x in reverse order, exactly: -x for floats, -1 - x or the largest number minus x for integers. */
static GlowValue *reversed(GlowOnnxNode *n, GlowValue *x) {
  GlowKind kind = x->type->kind;
  const GlowKindInfo *info = &glow_kind_info[kind];
  if (info->cls == GLOW_CLASS_FLOAT)
    return glow_onnx_emit1(n, GLOW_OP_NEG, x, NULL);
  GlowScalar top = {.is_int = true, .i = -1, .f = -1};
  if (info->cls == GLOW_CLASS_UINT) {
    top.f = info->bits == 64 ? 18446744073709551616.0 : (double)((UINT64_C(1) << info->bits) - 1);
    top.i = info->bits == 64 ? -1 : (int64_t)((UINT64_C(1) << info->bits) - 1);
  }
  GlowValue *c = glow_onnx_make_splat(n, "top", glow_type_scalar(n->im->ctx, kind), top);
  return glow_onnx_emit2(n, GLOW_OP_SUB, c, x, NULL);
}

bool glow_onnx_arg_min(GlowOnnxNode *n) {
  GlowArgMaxMembers m = {.axis = 0, .keep = true, .last = false};
  if (!glow_onnx_check_ins(n, 1, 1) || !glow_onnx_int(n, "axis", &m.axis) ||
      !glow_onnx_bool(n, "keepdims", &m.keep) || !glow_onnx_bool(n, "select_last_index", &m.last))
    return false;
  if (!glow_type_is_tensor(n->ins[0]->type))
    return glow_onnx_fail(n, "operand 0 must be a tensor");
  return glow_onnx_finish1(n, GLOW_OP_ARG_MAX, reversed(n, n->ins[0]), &m);
}

bool glow_onnx_top_k(GlowOnnxNode *n) {
  GlowTopKMembers m = {.k = 0, .axis = -1, .largest = true, .sorted = true};
  int64_t k = 0;
  bool operand = n->version >= 10;
  if (!glow_onnx_check_ins(n, operand ? 2 : 1, operand ? 2 : 1) || !glow_onnx_int(n, "k", &k) ||
      !glow_onnx_int(n, "axis", &m.axis) || !glow_onnx_bool(n, "largest", &m.largest) ||
      !glow_onnx_bool(n, "sorted", &m.sorted))
    return false;
  if (k < 0 || k > INT32_MAX)
    return glow_onnx_fail(n, "attribute 'k' is %lld", (long long)k);
  m.k = (uint32_t)k;
  return glow_onnx_finish(n, GLOW_OP_TOP_K, n->ins, n->nins, &m, NULL, 0);
}

bool glow_onnx_compress(GlowOnnxNode *n) {
  GlowCompressMembers m = {.axis = 0, .flat = !glow_onnx_has(n, "axis")};
  return glow_onnx_check_ins(n, 2, 2) && glow_onnx_int(n, "axis", &m.axis) &&
         glow_onnx_finish2(n, GLOW_OP_COMPRESS, n->ins[0], n->ins[1], &m);
}

bool glow_onnx_unique(GlowOnnxNode *n) {
  GlowUniqueMembers m = {.axis = 0, .flat = !glow_onnx_has(n, "axis"), .sorted = true};
  return glow_onnx_check_ins(n, 1, 1) && glow_onnx_int(n, "axis", &m.axis) &&
         glow_onnx_bool(n, "sorted", &m.sorted) &&
         glow_onnx_finish(n, GLOW_OP_UNIQUE, n->ins, 1, &m, NULL, 0);
}
