/* Matrix products of float: MatMul with its epilogue.
 *
 * Batch axes that are one axis to every operand are merged, and those that B does not have become
 * rows. The product of a matrix and one column is turned around, so that its rows fill registers.
 * The rest is choosing sizes: tiles of rows as equal as possible, chunks of k, and what is copied
 * to scratch. None of it changes a bit. */
#include "backend/cpu/select.h"
#include "cpu/work.h"

#include <string.h>

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

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
  int64_t chunk; /* rows of a block of B, if it is packed, else 0 */
} Nest;

/* ---- Reading --------------------------------------------------------------------------------- */

/* The layout of packed right operands: blocks of rows, then of columns as wide as a panel. */
static bool is_packed(GlowSelect *s, const GlowView *b) {
  const GlowLayout *l = b->type->layout;
  if (!l || b->type->rank != 2 || l->nblocks != 2 || l->blocks[0].axis != 0 ||
      l->blocks[1].axis != 1 || l->blocks[1].size != s->isa->vl * s->isa->tile_vectors)
    return false;
  return b->strides[3] == 1 && b->strides[2] == b->dims[3] &&
         b->strides[1] == b->dims[2] * b->strides[2] && b->strides[0] == b->dims[1] * b->strides[1];
}

static bool is_plain_float(GlowSelect *s, const GlowView *v) {
  if (v->type->kind != GLOW_KIND_FLOAT || v->type->quantized)
    return glow_select_fail(s, "an operand is not of float");
  return !v->type->layout || glow_select_fail(s, "an operand has a blocked layout");
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
  bool packed = is_packed(s, &b), rows = a.rank > 1, columns = b.type->rank > 1;
  if (!packed && !is_plain_float(s, &b))
    return false;
  t->rank = c->rank - rows - columns;
  memcpy(t->batch, c->dims, t->rank * sizeof *t->batch);
  t->m = rows ? a.dims[a.rank - 2] : 1;
  t->k = a.dims[a.rank - 1];
  t->n = columns ? b.type->dims[b.type->rank - 1].size : 1;
  t->chunk = packed ? b.type->layout->blocks[0].size : 0;
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
    if (!is_plain_float(s, &v) || !glow_select_operand(s, c, &v, stride, &channels))
      return false;
    t->place[t->count] = v.place;
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

/* C' = B' A', where A is what is on the left. */
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

/* ---- Sizes ----------------------------------------------------------------------------------- */

/* With fewer rows than this a panel of B is used too seldom to be packed. */
#define PACK_ROWS 12
/* With fewer columns than this a row of A is used too seldom to be copied. */
#define COPY_COLUMNS 128
/* Threads should find at least this many units. */
#define FEW_UNITS 8

/* Rows of A whose first elements fall into few sets of a cache push each other out. */
static bool rows_collide(const Nest *t) {
  return t->column[A] != 1 || t->row[A] * 4 % 1024 == 0 || t->row[A] > 4096;
}

static void choose_sizes(GlowSelect *s, const Nest *t, int64_t batch, GlowMatmulParams *p) {
  int64_t pixels = s->isa->tile_pixels, nb = (int64_t)s->isa->vl * s->isa->tile_vectors;
  int64_t panels = div_up(t->n, nb);
  p->packed = t->chunk > 0;
  p->kc = p->packed ? t->chunk : glow_isa_chunk(s->isa, t->k);
  p->tiles = div_up(t->m, pixels);
  p->tile = div_up(t->m, p->tiles);
  p->narrow = p->tiles * p->tile - t->m;
  p->direct = !p->packed && t->column[B] == 1 && t->m < PACK_ROWS;
  p->copy_a = t->n >= COPY_COLUMNS && t->m > 1 && rows_collide(t);
  p->lda = (p->kc + 15) / 16 * 16;
  p->lda += p->lda / 16 % 2 ? 0 : 16;
  int64_t fit = s->isa->l2 / 2 / (p->kc * p->tile * 4 + 1);
  p->blocks = div_up(p->tiles, fit < 1 ? 1 : fit);
  p->block = div_up(p->tiles, p->blocks);
  p->blocks = div_up(p->tiles, p->block);
  /* Several blocks of rows use the panels of a group, which then stay in scratch; if there is one
   * block, groups are for threads alone. */
  int64_t group = s->isa->l2 / (p->kc * nb * 4 + 1);
  if (p->blocks == 1)
    group = batch >= FEW_UNITS ? panels : div_up(panels, FEW_UNITS / batch);
  p->panels = min64(group < 8 ? 8 : group, panels);
  p->groups = div_up(panels, p->panels);
  p->slots = p->blocks > 1 ? p->panels : 1;
  p->ahead = p->direct ? 0 : min64(div_up(nb, 4 * p->block), GLOW_MATMUL_AHEAD);
}

static int64_t scratch_bytes(const GlowMatmulParams *p, int64_t nb) {
  int64_t rows = p->copy_a ? p->block * p->tile * p->lda : 0;
  int64_t columns = p->packed ? 0 : p->slots * p->kc * nb;
  return (rows + columns) * 4;
}

static const GlowTile *tile_if(GlowSelect *s, bool used, int64_t rows, int64_t vectors) {
  return used ? glow_select_tile_found(s, glow_find_matmul_tile(s->isa, rows, vectors)) : NULL;
}

static GlowMatmulTiles tiles_of(GlowSelect *s, const GlowMatmulParams *p) {
  int64_t vl = s->isa->vl, vectors = s->isa->tile_vectors, nb = vl * vectors;
  bool odd = nb > vl && (p->n - 1) % nb < vl, even = !odd || p->n > nb;
  bool full = p->narrow<p->tiles, small = p->narrow> 0;
  return (GlowMatmulTiles){.full = tile_if(s, full && even, p->tile, vectors),
                           .small = tile_if(s, small && even, p->tile - 1, vectors),
                           .full_odd = tile_if(s, full && odd, p->tile, 1),
                           .small_odd = tile_if(s, small && odd, p->tile - 1, 1)};
}

static GlowOperand *operands_of(GlowSelect *s, const Nest *t) {
  GlowOperand *operands = GLOW_NEW_ARRAY(s->arena, GlowOperand, t->count);
  for (uint32_t i = EXTRA; i < t->count; i++) {
    GlowOperand *o = &operands[i - EXTRA];
    *o = (GlowOperand){.place = t->place[i], .channels = t->n};
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
  if (glow_node_out(n, 0)->type->kind != GLOW_KIND_FLOAT)
    return glow_select_product(s, n);
  if (!read_product(s, n, &t, &c) || !read_epilogue(s, n, &c, &t, &body))
    return false;
  if (!glow_view_extent(&c, 0, c.rank))
    return true; /* no elements */
  if (!shape(s, &t))
    return false;
  int64_t batch = 1;
  for (uint32_t a = 0; a < t.rank; a++)
    batch *= t.batch[a];
  GlowMatmulParams p = {.m = t.m, .n = t.n, .k = t.k};
  p.am = t.row[A], p.ak = t.column[A], p.bk = t.row[B], p.bn = t.column[B], p.cm = t.row[C];
  p.plain = glow_node_epilogue(n) == NULL;
  for (uint32_t a = 0; a < GLOW_MATMUL_BATCH; a++) {
    bool has = a < t.rank;
    p.batch[a] = has ? t.batch[a] : 1;
    p.a_batch[a] = has ? t.stride[A][a] : 0;
    p.b_batch[a] = has ? t.stride[B][a] : 0;
    p.c_batch[a] = has ? t.stride[C][a] : 0;
  }
  choose_sizes(s, &t, batch, &p);
  GlowMatmulTiles tiles = tiles_of(s, &p);
  GlowMatmulPlaces at = {.c = t.place[C], .a = t.place[A], .b = t.place[B]};
  GlowWork *w = glow_work_matmul(s, n, &p, &tiles, &at,
                                 &(GlowWorkSpec){.units = batch * p.groups * p.blocks});
  w->form = GLOW_BODY_MATRIX;
  w->body = body;
  w->operands = operands_of(s, &t);
  w->noperands = t.count - EXTRA;
  w->scratch = scratch_bytes(&p, (int64_t)s->isa->vl * s->isa->tile_vectors);
  return true;
}
