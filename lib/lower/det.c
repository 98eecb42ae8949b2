/* Det: Gaussian elimination as a Loop over the columns k of matrices A [batch, n, n], which carries
 * A, the product of the pivots so far and whether one was 0. It has a kernel; -lower=all brings it
 * down to what the kernel does, in its order:
 *
 *   pivot = TopK of |A[:, k:, k]|: the first of equals, a NaN above all
 *   A     = MulAdd(-A[:, i, k] / A[:, k, k], A[:, k, :], A[:, i, :]), after rows k and pivot of A
 *           were exchanged
 *
 * This changes rows up to k, too. That does no harm, since they are not used any more. */
#include "lower/lower.h"
#include "ops/lower.h"

typedef struct Elimination {
  GlowBuilder b; /* at the end of the body */
  const GlowNode *n;
  GlowValue *k; /* the column, i64<> */
  GlowKind kind;
  int64_t batch, size;
} Elimination;

static GlowValue *number(Elimination *e, double v) { return glow_build_scalar(&e->b, e->kind, v); }

/* The row of the largest magnitude in column k from row k on, i64<batch x 1>. */
static GlowValue *find_pivot(Elimination *e, GlowValue *a) {
  GlowBuilder *b = &e->b;
  GlowValue *column = glow_build_picked(b, a, e->k, 2);
  GlowValue *done = glow_then2(b, GLOW_OP_LESS, glow_build_count(b, e->n, e->size, 1), e->k);
  GlowValue *size = glow_then1(b, GLOW_OP_ABS, column, NULL);
  size = glow_then3(b, GLOW_OP_WHERE, done, number(e, -1), size);
  GlowTopKMembers members = {.k = 1, .axis = 1, .largest = true, .sorted = true};
  GlowNodeSpec spec = {
      .op = GLOW_OP_TOP_K, .ins = &size, .nins = 1, .members = &members, .nresults = 2};
  GlowNode *top = size ? glow_node_create(b, &spec) : NULL;
  return top ? &top->results[1] : NULL;
}

/* Rows k and `pivot` of each matrix of a exchanged. */
static GlowValue *exchanged(Elimination *e, GlowValue *a, GlowValue *pivot) {
  GlowBuilder *b = &e->b;
  GlowValue *row = glow_build_count(b, e->n, e->size, 1);
  GlowValue *from =
      glow_then3(b, GLOW_OP_WHERE, glow_then2(b, GLOW_OP_EQUAL, row, pivot), e->k, row);
  from = glow_then3(b, GLOW_OP_WHERE, glow_then2(b, GLOW_OP_EQUAL, row, e->k), pivot, from);
  from = glow_build_shaped(b, e->n, from, 3, (int64_t[]){e->batch, e->size, 1});
  return glow_then(b, GLOW_OP_GATHER_ND, (GlowValue *[]){a, from}, 2,
                   &(GlowGatherNDMembers){.batch_dims = 1});
}

/* Replaces *a, *det (the product of the pivots) and *singular (whether one was 0) by what they are
 * after column k. False if a node is refused. */
static bool eliminate(Elimination *e, GlowValue **a, GlowValue **det, GlowValue **singular) {
  GlowBuilder *b = &e->b;
  int64_t column_dims[] = {e->batch, e->size, 1}, row_dims[] = {e->batch, 1, e->size};
  GlowValue *pivot = find_pivot(e, *a);
  *a = pivot ? exchanged(e, *a, pivot) : NULL;
  if (!*a)
    return false;
  GlowValue *column = glow_build_picked(b, *a, e->k, 2), *row = glow_build_picked(b, *a, e->k, 1);
  GlowValue *top = column ? glow_build_picked(b, column, e->k, 1) : NULL;
  GlowValue *same =
      glow_then2(b, GLOW_OP_EQUAL, glow_build_shaped(b, e->n, pivot, 1, &e->batch), e->k);
  *det = glow_then3(b, GLOW_OP_WHERE, same, *det, glow_then1(b, GLOW_OP_NEG, *det, NULL));
  *det = glow_then2(b, GLOW_OP_MUL, *det, top);
  *singular = glow_then2(b, GLOW_OP_OR, *singular, glow_then2(b, GLOW_OP_EQUAL, top, number(e, 0)));
  top = glow_build_shaped(b, e->n, top, 2, (int64_t[]){e->batch, 1});
  GlowValue *f = glow_then1(b, GLOW_OP_NEG, glow_then2(b, GLOW_OP_DIV, column, top), NULL);
  *a = glow_then3(b, GLOW_OP_MUL_ADD, glow_build_shaped(b, e->n, f, 3, column_dims),
                  glow_build_shaped(b, e->n, row, 3, row_dims), *a);
  return *a && *det && *singular;
}

/* The Loop over all columns, or NULL. */
static GlowNode *elimination_loop(GlowBuilder *b, const GlowNode *n, GlowValue *const *init,
                                  int64_t batch, int64_t size) {
  GlowContext *ctx = b->module->ctx;
  Elimination e = {.n = n, .kind = init[0]->type->kind, .batch = batch, .size = size};
  GlowBlock *body = glow_build_region(b, "body", &e.b);
  GlowValue *k = glow_block_add_param(body, NULL, glow_type_scalar(ctx, GLOW_KIND_I64));
  GlowValue *next[4] = {glow_block_add_param(body, NULL, glow_type_scalar(ctx, GLOW_KIND_BOOL))};
  for (uint32_t i = 0; i < 3; i++)
    next[i + 1] = glow_block_add_param(body, NULL, init[i]->type);
  e.b.pred = b->pred;
  e.k = k;
  if (!eliminate(&e, &next[1], &next[2], &next[3]) ||
      !glow_build_terminator(body, GLOW_OP_YIELD, next, 4))
    return NULL;
  GlowValue *ins[] = {glow_constant_int(b->module, n, "columns", size), NULL, init[0], init[1],
                      init[2]};
  return glow_node_create(b, &(GlowNodeSpec){.op = GLOW_OP_LOOP,
                                             .ins = ins,
                                             .nins = 5,
                                             .regions = &body,
                                             .nregions = 1,
                                             .nresults = 3});
}

bool glow_lower_det(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  GlowContext *ctx = b->module->ctx;
  GlowValue *x = glow_node_in(n, 0);
  const GlowType *t = x->type, *y = n->results[0].type;
  GlowKind kind = glow_sum_kind(t->kind);
  if (!glow_type_is_static(t) || !glow_type_is_static(y))
    return false;
  int64_t batch = glow_type_elements(y), size = t->dims[t->rank - 1].size;
  if (batch == 0 || size == 0) {
    results[0] = glow_build_filled(b, y, (GlowScalar){.f = 1});
    return results[0] != NULL;
  }
  GlowValue *init[] = {
      glow_build_shaped(b, n, glow_then_cast(b, x, kind), 3, (int64_t[]){batch, size, size}),
      glow_build_filled(b, glow_type_exact(ctx, kind, 1, &batch), (GlowScalar){.f = 1}),
      glow_build_filled(b, glow_type_exact(ctx, GLOW_KIND_BOOL, 1, &batch),
                        (GlowScalar){.is_int = true})};
  if (!init[0] || !init[1] || !init[2])
    return false;
  GlowNode *loop = elimination_loop(b, n, init, batch, size);
  if (!loop)
    return false;
  GlowValue *v = glow_then3(b, GLOW_OP_WHERE, &loop->results[2], glow_build_scalar(b, kind, 0),
                            &loop->results[1]);
  v = glow_build_reshape(b, n, v, y->rank, y->dims);
  results[0] = glow_then_cast(b, v, t->kind);
  return results[0] != NULL;
}
