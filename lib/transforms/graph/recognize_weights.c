/* Products of few rows by a constant matrix of integers of 2, 4 or 8 bits read the bits:
 *
 *   MatMul(a, DequantizeLinear(q, scale, zero) {axis = 0, block})   -> MatMulNBits(a, words, scale,
 * zero) FullyConnected(a, the same, b)                                  -> Add(MatMulNBits(...), b)
 *
 * q may also be DequantizeLinear'd as rows of the transposed matrix, of which Slice leaves the
 * first columns, as ONNX Runtime's MatMulNBits has weights; or one of several matrices, taken by
 * Gather, each of which has one scale, as DynamicQuantizeLSTM has weights. Words, scales and zero
 * points are `eval` algebra: an integer with a sign becomes one without, and those that share a
 * word are added up.
 *
 * Such a product takes about as long as its weights take from memory, and more arithmetic than that
 * of floats. So the product stays in float if it always has more than MOST_ROWS rows, or if its
 * weights are so few that they stay in a cache. An open number of rows may be one: a decoder's
 * tokens are worth more than its prompt.
 *
 * Exact: each weight is rounded once, as DequantizeLinear does, and sums have one order. */
#include "transforms/contraction.h"
#include "transforms/rules.h"

enum { MOST_ROWS = 4, LEAST_WEIGHTS = 1 << 16, WORD = 32, SHARED = 16 };

typedef struct Weights {
  GlowNode *product;
  GlowValue *q, *scale, *zero; /* of DequantizeLinear; zero may be NULL */
  bool several;                /* q, scale and zero are those of several matrices */
  int64_t which;               /* of several */
  bool turned;                 /* they are rows of the transposed matrix */
  int64_t depth, columns;      /* of the matrix */
  int64_t bits, block;
} Weights;

/* Whether n swaps the last two of two or three axes. */
static bool is_turning(const GlowNode *n) {
  const GlowTransposeMembers *m = n->members;
  uint32_t rank = n->results[0].type->rank;
  if (n->op != GLOW_OP_TRANSPOSE || rank < 2 || rank > 3)
    return false;
  return m->perm.count ? glow_array_at(m->perm, uint32_t, rank - 1) == rank - 2 &&
                             glow_array_at(m->perm, uint32_t, rank - 2) == rank - 1
                       : rank == 2;
}

/* Whether n takes one of several matrices. */
static bool takes_one(const GlowNode *n) {
  const GlowGatherMembers *m = n->members;
  return n->op == GLOW_OP_GATHER && m->axis == 0 && n->results[0].type->rank == 2 &&
         glow_node_in(n, 0)->type->rank == 3 && glow_value_known(glow_node_in(n, 1));
}

/* Whether n leaves the first of X's columns. */
static bool leaves_first(const GlowNode *n) {
  const GlowTensor *starts = n->op == GLOW_OP_SLICE ? glow_value_known(glow_node_in(n, 1)) : NULL;
  const GlowType *x = glow_node_in(n, 0)->type, *y = n->results[0].type;
  bool first = starts && !glow_node_in(n, 4) && x->rank == 2 && y->rank == 2 &&
               glow_dim_is_same(x->dims[0], y->dims[0]);
  for (int64_t i = 0; first && i < glow_tensor_elements(starts); i++)
    first = glow_tensor_get_int(starts, i) == 0;
  return first;
}

static GlowNode *node_of(GlowValue *v) {
  v = glow_eval_inside(v);
  return v->kind == GLOW_VALUE_RESULT && !v->def.node->pred.value ? v->def.node : NULL;
}

/* DequantizeLinear behind one of several matrices; NULL if there are none. */
static GlowNode *find_among(GlowNode *n, Weights *w) {
  w->several = true;
  w->which = glow_tensor_get_int(glow_value_known(glow_node_in(n, 1)), 0);
  n = node_of(glow_node_in(n, 0));
  if (n && is_turning(n)) {
    w->turned = !w->turned;
    n = node_of(glow_node_in(n, 0));
  }
  return n;
}

/* Finds DequantizeLinear behind the matrix v. */
static bool find(GlowValue *v, Weights *w) {
  GlowNode *n = node_of(v);
  w->depth = v->type->dims[0].size;
  w->columns = v->type->dims[1].size;
  w->turned = n && is_turning(n);
  if (w->turned)
    n = node_of(glow_node_in(n, 0));
  if (n && takes_one(n))
    n = find_among(n, w);
  else if (w->turned && n && leaves_first(n))
    n = node_of(glow_node_in(n, 0));
  if (!n || n->op != GLOW_OP_DEQUANTIZE_LINEAR)
    return false;
  const GlowDequantizeLinearMembers *m = n->members;
  w->q = glow_node_in(n, 0);
  w->scale = glow_node_in(n, 1);
  w->zero = glow_node_in(n, 2);
  w->block = w->several ? w->depth : m->block;
  w->bits = glow_kind_info[w->q->type->kind].bits;
  bool fits = w->several ? m->axis == 0 && m->block == 0 && w->scale->type->rank == 1 &&
                               w->q->type->rank == 3
                         : m->axis == (w->turned ? 1 : 0) && m->block > 0 && m->block < w->depth &&
                               w->q->type->rank == 2;
  return fits && glow_kind_is_integer(w->q->type->kind) && w->bits <= 8 && !w->q->type->quantized &&
         w->scale->type->kind == GLOW_KIND_FLOAT && glow_type_is_static(w->q->type) &&
         w->block % SHARED == 0;
}

/* ---- The constants --------------------------------------------------------------------------- */

/* v, one of the matrices of the weights, with the matrix's columns and its first `rows` rows, or
 * with zeros behind them. */
static GlowValue *upright(GlowBuilder *b, const Weights *w, GlowValue *v, int64_t rows) {
  static const uint32_t swap[] = {1, 0};
  if (v && w->turned)
    v = glow_build_permuted(b, v, swap, 2);
  return v ? glow_build_padded(b, w->product, v, 0, 0, rows - v->type->dims[0].size) : NULL;
}

/* v, one of q, scale and zero, of the matrix that the product takes; a number becomes one for each
 * column. */
static GlowValue *of_matrix(GlowBuilder *b, const Weights *w, GlowValue *v) {
  if (!v || !w->several)
    return v;
  bool number = v->type->rank == 1;
  int64_t dims[] = {w->turned ? w->columns : 1, w->turned ? 1 : w->columns};
  v = glow_build_picked(b, v, glow_constant_int(b->module, w->product, "which", w->which), 0);
  if (!v || !number)
    return v;
  return glow_then2(b, GLOW_OP_EXPAND, v,
                    glow_constant_ints(b->module, w->product, "columns", dims, 2));
}

/* Integers of bits in `kind`, without signs: the middle of their range is added if they have one.
 */
static GlowValue *without_signs(GlowBuilder *b, GlowValue *q, int64_t bits, GlowKind kind) {
  bool has_sign = glow_kind_info[q->type->kind].cls == GLOW_CLASS_SINT;
  q = glow_then_cast(b, q, GLOW_KIND_I32);
  if (has_sign)
    q = glow_then2(b, GLOW_OP_ADD, q,
                   glow_build_scalar(b, GLOW_KIND_I32, (double)(1 << (bits - 1))));
  return glow_then_cast(b, q, kind);
}

/* [depth / elements of a word, columns]: words, each the sum of its elements at their places. */
static GlowValue *build_words(GlowBuilder *b, const Weights *w, GlowValue *q) {
  int64_t each = WORD / w->bits, rows = (w->depth + each - 1) / each, places[SHARED], axis = 1;
  for (int64_t i = 0; i < each; i++)
    places[i] = (int64_t)1 << (i * w->bits);
  q = upright(b, w, without_signs(b, q, w->bits, GLOW_KIND_U32), rows * each);
  GlowValue *by =
      glow_constant_numbers(b->module, w->product, "places", GLOW_KIND_U32, places, (uint32_t)each);
  q = glow_build_shaped(b, w->product, q, 3, (int64_t[]){rows, each, w->columns});
  q = glow_then2(b, GLOW_OP_MUL, q, glow_build_along(b, w->product, by, 2, 0));
  GlowValue *axes = glow_constant_ints(b->module, w->product, "axis", &axis, 1);
  q = q ? glow_build_reduce(b, GLOW_OP_REDUCE_SUM, q, axes) : NULL;
  return glow_build_shaped(b, w->product, q, 2, (int64_t[]){rows, w->columns});
}

/* Zero points as bytes. NULL, and *ok, if none is needed: they are the middle. */
static GlowValue *build_zero(GlowBuilder *b, const Weights *w, GlowEval *e) {
  int64_t blocks = (w->depth + w->block - 1) / w->block, dims[] = {blocks, w->columns};
  if (w->zero)
    return upright(
        b, w, without_signs(b, of_matrix(b, w, glow_eval_copy(e, w->zero)), w->bits, GLOW_KIND_U8),
        blocks);
  return glow_build_filled(b, glow_type_exact(b->module->ctx, GLOW_KIND_U8, 2, dims),
                           (GlowScalar){.is_int = true});
}

/* Whether all zero points are the middle of the range of integers without signs. */
static bool has_middle_zero(const Weights *w) {
  bool has_sign = glow_kind_info[w->q->type->kind].cls == GLOW_CLASS_SINT;
  if (!w->zero)
    return has_sign;
  return glow_value_is_all(w->zero, has_sign ? 0 : (double)(1 << (w->bits - 1)));
}

static GlowValue *finish(GlowEval *e, const Weights *w, GlowValue *v, const char *suffix) {
  const GlowValue *y = &w->product->results[0];
  if (v && v->kind == GLOW_VALUE_STORAGE)
    return v; /* nothing is computed */
  GlowStr name = glow_str_printf(e->module->ctx, "%s.%s", y->name ? y->name : "y", suffix);
  return v ? &glow_eval_finish(e, v, name)->value : NULL;
}

/* The product; NULL after a diagnostic. */
static GlowValue *build(GlowPassRun *run, const Weights *w) {
  GlowValue *ins[] = {glow_node_in(w->product, 0), NULL, NULL, NULL};
  GlowMatMulNBitsMembers m = {.bits = (uint32_t)w->bits, .block = w->block};
  GlowEval e = glow_eval_create(run->module, run->arena, w->product);
  ins[1] =
      finish(&e, w, build_words(&e.builder, w, of_matrix(&e.builder, w, glow_eval_copy(&e, w->q))),
             "words");
  e = glow_eval_create(run->module, run->arena, w->product);
  ins[2] = finish(&e, w,
                  upright(&e.builder, w, of_matrix(&e.builder, w, glow_eval_copy(&e, w->scale)),
                          (w->depth + w->block - 1) / w->block),
                  "scale");
  if (!has_middle_zero(w)) {
    e = glow_eval_create(run->module, run->arena, w->product);
    ins[3] = finish(&e, w, build_zero(&e.builder, w, &e), "zero");
    if (!ins[3])
      return NULL;
  }
  GlowBuilder b = glow_builder_before(w->product);
  GlowValue *y = glow_then(&b, GLOW_OP_MAT_MUL_NBITS, ins, ins[3] ? 4 : 3, &m);
  GlowValue *bias = glow_node_in(w->product, GLOW_CONTRACTION_B);
  return bias ? glow_then2(&b, GLOW_OP_ADD, y, bias) : y;
}

/* ---- The pass -------------------------------------------------------------------------------- */

typedef struct Pass {
  GlowPassRun *run;
  GlowConstness *constness;
} Pass;

/* How few rows a value of type t may have as a matrix; -1: not known. */
static int64_t least_rows(const GlowType *t) {
  int64_t rows = 1;
  if (!glow_type_is_known(t))
    return -1;
  for (uint32_t i = 0; i + 1 < t->rank; i++)
    rows *= t->dims[i].extent ? t->dims[i].extent->least : t->dims[i].size;
  return rows;
}

static bool visit(GlowNode *n, void *arg) {
  Pass *p = arg;
  Weights w = {.product = n};
  GlowContraction c;
  if ((n->op != GLOW_OP_MAT_MUL && n->op != GLOW_OP_FULLY_CONNECTED) || n->pred.value ||
      !glow_contraction_describe(n, &c))
    return true;
  GlowValue *matrix = glow_node_in(n, GLOW_CONTRACTION_W);
  int64_t rows = least_rows(glow_node_in(n, 0)->type);
  if (n->results[0].type->kind != GLOW_KIND_FLOAT || !glow_constness_of(p->constness, matrix) ||
      !find(matrix, &w) || w.depth * w.columns < LEAST_WEIGHTS)
    return true;
  if (rows < 0 || rows > MOST_ROWS) {
    glow_pass_remark(p->run, glow_node_loc(n), "its rows are always more than %d, or not known",
                     MOST_ROWS);
    return true;
  }
  GlowValue *by = build(p->run, &w);
  if (by)
    glow_replace_by(p->run, n, by, "read weights of a few bits");
  return by != NULL;
}

bool glow_pass_recognize_weights(GlowPassRun *run) {
  Pass p = {run, glow_constness_create(run->arena)};
  unsigned errors = glow_context_error_count(run->ctx);
  glow_block_walk(run->function->body, visit, &p);
  return glow_context_error_count(run->ctx) == errors;
}
