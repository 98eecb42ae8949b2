/* Matrix products of float: MatMul with its epilogue.
 *
 * Batch axes that are one axis to every operand are merged, and those that B does not have become
 * rows. The product of a matrix and one column is turned around, so that its rows fill registers.
 * Sizes are the setup's. None of it changes a bit. */
#include "backend/cpu/conv.h"
#include "cpu/work.h"
#include "ir/infer.h"

#include <string.h>

enum { A, B, C, EXTRA };               /* operands: those of the product, then the epilogue's */
enum { MOST = EXTRA + GLOW_MAX_RANK }; /* how many there may be */

/* The product as a nest: batch axes, rows and columns of C, and the strides of all operands. */
typedef struct Nest {
  uint32_t rank, count; /* batch axes, operands */
  int64_t m, n, k;
  int64_t batch[GLOW_VIEW_RANK];
  int64_t stride[MOST][GLOW_VIEW_RANK]; /* along batch axes */
  int64_t row[MOST], column[MOST];      /* of A: rows and k; of B: k and columns */
  GlowPlace place[MOST];
  GlowKind kind[MOST]; /* of the operands of the epilogue */
  int64_t chunk;       /* rows of a block of B, if it is packed, else 0 */
} Nest;

/* ---- Reading --------------------------------------------------------------------------------- */

/* *chunk: rows of a block of a packed right operand, 0 if it is not packed. */
static bool is_packed(GlowSelect *s, const GlowView *b, int64_t *chunk) {
  int64_t blocks[GLOW_LAYOUT_BLOCKS];
  *chunk = 0;
  if (!b->type->layout ||
      !glow_kernel_takes(glow_find_matmul(), "b", s->isa, b->type->layout, blocks) ||
      !glow_view_is_dense(b))
    return false;
  *chunk = blocks[0];
  return true;
}

static bool is_plain(GlowSelect *s, const GlowView *v) {
  return !v->type->layout || glow_select_fail(s, "an operand has a blocked layout");
}

static bool is_plain_float(GlowSelect *s, const GlowView *v) {
  if (v->type->kind != GLOW_KIND_FLOAT || v->type->quantized)
    return glow_select_fail(s, "an operand is not of float");
  return is_plain(s, v);
}

/* Strides of operand `i` along C's batch axes; `matrix` of its last axes are no batch axes. */
static void read_batch(Nest *t, const GlowView *v, uint32_t i, uint32_t matrix) {
  uint32_t batch = v->rank - matrix;
  t->place[i] = v->place;
  for (uint32_t a = 0; a < t->rank; a++) {
    bool has = a + batch >= t->rank && v->dims[a + batch - t->rank] != 1;
    t->stride[i][a] = has ? v->strides[a + batch - t->rank] : 0;
  }
}

static bool read_product(GlowSelect *s, const GlowNode *n, Nest *t, GlowView *c) {
  GlowView a, b;
  if (!glow_select_view(s, glow_node_in(n, 0), &a) ||
      !glow_select_view(s, glow_node_in(n, 1), &b) ||
      !glow_select_view(s, glow_node_out(n, 0), c) || !is_plain_float(s, &a) ||
      !is_plain_float(s, c))
    return false;
  bool packed = is_packed(s, &b, &t->chunk), rows = a.rank > 1, columns = b.type->rank > 1;
  if (!packed && !is_plain_float(s, &b))
    return false;
  t->rank = c->rank - rows - columns;
  memcpy(t->batch, c->dims, t->rank * sizeof *t->batch);
  t->m = rows ? a.dims[a.rank - 2] : 1;
  t->k = a.dims[a.rank - 1];
  t->n = columns ? b.type->dims[b.type->rank - 1].size : 1;
  read_batch(t, &a, A, rows ? 2 : 1);
  read_batch(t, &b, B, packed ? b.rank : columns ? 2 : 1);
  read_batch(t, c, C, rows + columns);
  t->row[A] = rows ? a.strides[a.rank - 2] : 0;
  t->column[A] = a.strides[a.rank - 1];
  t->row[B] = b.strides[b.rank - 1 - columns];
  t->column[B] = columns ? b.strides[b.rank - 1] : 1;
  t->row[C] = rows ? c->strides[t->rank] : 0;
  t->column[C] = columns ? c->strides[t->rank + rows] : 1;
  t->count = EXTRA;
  return true;
}

/* The epilogue's operands besides the accumulator. */
static bool read_epilogue(GlowSelect *s, const GlowNode *n, const GlowView *c, Nest *t,
                          GlowBody *body) {
  bool rows = glow_node_in(n, 0)->type->rank > 1, columns = glow_node_in(n, 1)->type->rank > 1;
  if (!glow_select_epilogue_body(s, n, body))
    return false;
  if (n->nextra > GLOW_MAX_RANK)
    return glow_select_fail(s, "its epilogue has too many operands");
  for (uint32_t i = 0; i < n->nextra; i++) {
    GlowView v;
    int64_t stride[GLOW_VIEW_RANK], channels;
    const GlowValue *value = n->operands[n->noperands - n->nextra + i].value;
    if (!value || !glow_select_view(s, value, &v))
      return value ? false : glow_select_fail(s, "an operand of its epilogue is absent");
    if (!is_plain(s, &v) || !glow_select_operand(s, c, &v, stride, &channels))
      return false;
    t->place[t->count] = v.place;
    t->kind[t->count] = v.type->kind;
    memcpy(t->stride[t->count], stride, t->rank * sizeof *stride);
    t->row[t->count] = rows ? stride[t->rank] : 0;
    t->column[t->count++] = columns ? stride[t->rank + rows] : 0;
  }
  return true;
}

/* ---- Shaping --------------------------------------------------------------------------------- */

/* Drops batch axes of extent 1 and merges neighbours. */
static void merge_batch(Nest *t) {
  uint32_t kept = 0;
  for (uint32_t a = 0; a < t->rank; a++) {
    if (t->batch[a] == 1)
      continue;
    bool one = kept > 0;
    for (uint32_t i = 0; i < t->count && one; i++)
      one = t->stride[i][kept - 1] == t->stride[i][a] * t->batch[a];
    uint32_t to = one ? kept - 1 : kept++;
    t->batch[to] = one ? t->batch[to] * t->batch[a] : t->batch[a];
    for (uint32_t i = 0; i < t->count; i++)
      t->stride[i][to] = t->stride[i][a];
  }
  t->rank = kept;
}

/* Batches of the same B are more rows. */
static void batch_to_rows(Nest *t) {
  while (t->rank) {
    uint32_t a = t->rank - 1;
    bool one = t->stride[B][a] == 0;
    for (uint32_t i = 0; i < t->count && one; i++)
      one = i == B || t->m == 1 || t->stride[i][a] == t->row[i] * t->m;
    if (!one)
      return;
    for (uint32_t i = 0; i < t->count && t->m == 1; i++)
      t->row[i] = i == B ? t->row[i] : t->stride[i][a];
    t->m *= t->batch[a];
    t->rank = a;
  }
}

static void swap(int64_t *a, int64_t *b) {
  int64_t c = *a;
  *a = *b;
  *b = c;
}

/* C' = B' A' instead of C = A B: exchanges A and B, and rows and columns of all operands. */
static void turn_around(Nest *t) {
  int64_t stride[GLOW_VIEW_RANK], row = t->row[A], column = t->column[A];
  GlowPlace place = t->place[A];
  memcpy(stride, t->stride[A], sizeof stride);
  memcpy(t->stride[A], t->stride[B], sizeof stride);
  memcpy(t->stride[B], stride, sizeof stride);
  t->place[A] = t->place[B];
  t->place[B] = place;
  t->row[A] = t->column[B];
  t->column[A] = t->row[B];
  t->row[B] = column;
  t->column[B] = row;
  swap(&t->m, &t->n);
  for (uint32_t i = C; i < t->count; i++)
    swap(&t->row[i], &t->column[i]);
}

static bool shape(GlowSelect *s, Nest *t) {
  merge_batch(t);
  batch_to_rows(t);
  if (t->rank > GLOW_MATMUL_BATCH)
    return glow_select_fail(s, "it has too many batch axes");
  if (t->n == 1 && t->m > 1 && !t->chunk)
    turn_around(t);
  for (uint32_t i = C; i < t->count; i++) {
    t->column[i] = t->n == 1 ? i == C : t->column[i];
    if (t->column[i] != 1 && (i == C || t->column[i] != 0))
      return glow_select_fail(
          s, "the columns of its result, or of an operand of its epilogue, are not "
             "contiguous");
  }
  return true;
}

/* ---- Selecting --------------------------------------------------------------------------------
 */

static GlowOperand *operands_of(GlowSelect *s, const Nest *t) {
  GlowOperand *operands = GLOW_NEW_ARRAY(s->arena, GlowOperand, t->count);
  for (uint32_t i = EXTRA; i < t->count; i++) {
    GlowOperand *o = &operands[i - EXTRA];
    *o = (GlowOperand){.place = t->place[i], .kind = t->kind[i], .channels = t->n};
    memcpy(o->stride, t->stride[i], t->rank * sizeof *o->stride);
    o->stride[GLOW_MATMUL_BATCH] = t->row[i];
    o->stride[GLOW_MATMUL_BATCH + 1] = t->column[i];
  }
  return operands;
}

bool glow_select_matmul(GlowSelect *s, const GlowNode *n) {
  Nest t = {0};
  GlowView c;
  GlowBody body;
  if (!glow_product_is_direct(n))
    return glow_select_bf16_product(s, n);
  if (glow_node_is_narrow(n))
    return glow_select_narrow_product(s, n);
  if (glow_node_out(n, 0)->type->kind != GLOW_KIND_FLOAT)
    return glow_select_product(s, n);
  if (glow_node_in(n, 1)->type->kind != GLOW_KIND_FLOAT)
    return glow_select_stored_product(s, n);
  if (!read_product(s, n, &t, &c) || !read_epilogue(s, n, &c, &t, &body))
    return false;
  if (!glow_view_extent(&c, 0, c.rank))
    return true; /* no elements */
  if (!shape(s, &t))
    return false;
  GlowMatmulParams p = {.m = t.m, .n = t.n, .k = t.k};
  p.am = t.row[A], p.ak = t.column[A], p.bk = t.row[B], p.bn = t.column[B], p.cm = t.row[C];
  p.packed = t.chunk;
  p.plain = glow_node_epilogue(n) == NULL;
  for (uint32_t a = 0; a < GLOW_MATMUL_BATCH; a++) {
    bool has = a < t.rank;
    p.batch[a] = has ? t.batch[a] : 1;
    p.a_batch[a] = has ? t.stride[A][a] : 0;
    p.b_batch[a] = has ? t.stride[B][a] : 0;
    p.c_batch[a] = has ? t.stride[C][a] : 0;
  }
  GlowSetup setup = {0};
  glow_setup_matmul(&s->cpu, &p, &setup);
  GlowMatmulPlaces at = {.c = t.place[C], .a = t.place[A], .b = t.place[B]};
  GlowWork *w = glow_work_matmul(s, n, &p, &setup, &at);
  w->form = GLOW_BODY_MATRIX;
  w->body = body;
  w->operands = operands_of(s, &t);
  w->noperands = t.count - EXTRA;
  return true;
}
