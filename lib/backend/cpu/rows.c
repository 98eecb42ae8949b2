/* Softmax, LogSoftmax and normalizations over rows of neighbours, recognized in neighbouring
 * instructions that spell them: reductions and element-wise instructions, whatever stacks these are
 * in. One kernel takes a row through all steps; what lay in buffers between them is not stored.
 *
 * What each instruction writes is a term over what the first ones read:
 *
 *   E / ReduceSum(E)              with E = Exp(D), D = x - ReduceMax(x)
 *   D - Log(ReduceSum(Exp(D)))
 *   D * R [* scale] [+ bias]      with D = x or x - ReduceMean(x), and R [times a factor] =
 *                                 1 / Sqrt(ReduceMean(D * D) + epsilon), or epsilon outside
 *
 * The last instruction of a run that spells one of these ends it. Whatever the others write,
 * nothing else may read. */
#include "backend/interp/interp_internal.h"
#include "cpu/work.h"
#include "tensor/tensor.h"

#include <string.h>

enum { MOST_STEPS = 8, MOST_TERMS = 48, MOST_BUFFERS = 12 };

/* An element of a value by the elements of others. Equal terms are one. */
typedef struct Term Term;
struct Term {
  GlowOp op;              /* GLOW_OP_COUNT: what is read at `value` */
  const GlowType *type;   /* of the buffers of the instruction, for what is read: of its result */
  const Term *a, *b;      /* NULL: fewer operands */
  const GlowValue *value; /* what is read */
  double number;          /* of Splat */
  uint32_t axes;          /* of reductions: bit i for axis i */
};

typedef struct Run {
  GlowSelect *s;
  const GlowNode *first, *last;
  Term terms[MOST_TERMS];
  const GlowValue *buffers[MOST_BUFFERS]; /* that instructions of the run write */
  const Term *holds[MOST_BUFFERS];
  uint32_t nterms, nbuffers;
} Run;

/* ---- Terms ----------------------------------------------------------------------------------- */

static bool same_dims(const GlowType *a, const GlowType *b) {
  if (a->rank != b->rank)
    return false;
  for (uint32_t i = 0; i < a->rank; i++)
    if (a->dims[i].size != b->dims[i].size)
      return false;
  return true;
}

static const Term *intern(Run *r, const Term *t) {
  for (uint32_t i = 0; i < r->nterms; i++) {
    const Term *k = &r->terms[i];
    if (k->op == t->op && same_dims(k->type, t->type) && k->a == t->a && k->b == t->b &&
        k->value == t->value && !memcmp(&k->number, &t->number, sizeof t->number) &&
        k->axes == t->axes)
      return k;
  }
  if (r->nterms == MOST_TERMS)
    return NULL;
  r->terms[r->nterms] = *t;
  return &r->terms[r->nterms++];
}

static bool is_plain_float(const GlowValue *v) {
  return v && glow_type_is_tensor(v->type) && glow_type_is_static(v->type) &&
         v->type->kind == GLOW_KIND_FLOAT && !v->type->layout && !v->type->quantized;
}

/* An operand of an instruction whose result is of `type`. */
static const Term *read_value(Run *r, const GlowValue *v, const GlowType *type) {
  if (!is_plain_float(v))
    return NULL;
  for (uint32_t i = 0; i < r->nbuffers; i++)
    if (r->buffers[i] == v)
      return r->holds[i];
  return intern(r, &(Term){.op = GLOW_OP_COUNT, .type = type, .value = v});
}

static const Term *apply(Run *r, const GlowNode *n, const GlowType *type, const Term *a,
                         const Term *b) {
  switch (n->op) {
  case GLOW_OP_SUB:
  case GLOW_OP_DIV:
  case GLOW_OP_MUL:
  case GLOW_OP_ADD:
    return a && b ? intern(r, &(Term){.op = n->op, .type = type, .a = a, .b = b}) : NULL;
  case GLOW_OP_EXP:
  case GLOW_OP_LOG:
  case GLOW_OP_SQRT:
  case GLOW_OP_RECIPROCAL:
    return a ? intern(r, &(Term){.op = n->op, .type = type, .a = a}) : NULL;
  case GLOW_OP_SPLAT:
    return intern(r, &(Term){.op = n->op,
                             .type = type,
                             .number = ((const GlowSplatMembers *)n->members)->value.f});
  default:
    return NULL;
  }
}

/* What `v` of a scalar block is; in: what its parameters are. */
static const Term *of_body(Run *r, const GlowValue *v, const GlowType *type,
                           const Term *const *in) {
  if (v->kind == GLOW_VALUE_PARAM)
    return in[v->index];
  const GlowNode *n = v->def.node;
  if (v->type->kind != GLOW_KIND_FLOAT || v->type->quantized || glow_node_nins(n) > 2)
    return NULL;
  const Term *t[2] = {NULL, NULL};
  for (uint32_t i = 0; i < glow_node_nins(n); i++)
    t[i] = glow_node_in(n, i) ? of_body(r, glow_node_in(n, i), type, in) : NULL;
  return apply(r, n, type, t[0], t[1]);
}

static bool put(Run *r, const GlowValue *v, const Term *t) {
  uint32_t i = 0;
  while (i < r->nbuffers && r->buffers[i] != v)
    i++;
  if (!t || i == MOST_BUFFERS)
    return false;
  r->nbuffers += i == r->nbuffers;
  r->buffers[i] = v;
  r->holds[i] = t;
  return true;
}

static bool add_elementwise(Run *r, const GlowNode *n) {
  enum { MOST_INS = 8 };
  const GlowType *type = glow_node_out(n, 0)->type;
  const GlowBlock *body = n->op == GLOW_OP_STACK ? glow_node_epilogue(n) : NULL;
  const Term *in[MOST_INS] = {NULL}, *out[MOST_INS];
  uint32_t count = n->noperands - n->nouts;
  if (count > MOST_INS || n->nouts > MOST_INS || (n->op == GLOW_OP_STACK && !body) ||
      (!body && (count > 2 || n->nouts != 1 || n->nextra)))
    return false;
  for (uint32_t i = 0; i < count; i++)
    in[i] = read_value(r, n->operands[n->nouts + i].value, type);
  for (uint32_t i = 0; i < n->nouts; i++) {
    out[i] = body ? of_body(r, body->last->operands[i].value, type, in)
                  : apply(r, n, type, in[0], in[1]);
    if (!out[i] || !same_dims(glow_node_out(n, i)->type, type))
      return false;
  }
  for (uint32_t i = 0; i < n->nouts; i++)
    if (!put(r, glow_node_out(n, i), out[i]))
      return false;
  return true;
}

static bool add_reduction(Run *r, const GlowNode *n) {
  const GlowValue *x = glow_node_in(n, 0);
  Term t = {.op = n->op, .type = glow_node_out(n, 0)->type};
  if (glow_node_epilogue(n) || !is_plain_float(x) ||
      !glow_select_reduced_axes(r->s, n, x->type->rank, &t.axes))
    return false;
  t.a = read_value(r, x, x->type);
  return t.a && put(r, glow_node_out(n, 0), intern(r, &t));
}

static bool add(Run *r, const GlowNode *n) {
  for (uint32_t i = 0; i < n->nouts; i++)
    if (!is_plain_float(glow_node_out(n, i)))
      return false;
  switch (n->op) {
  case GLOW_OP_REDUCE_MAX:
  case GLOW_OP_REDUCE_MEAN:
  case GLOW_OP_REDUCE_SUM:
    return add_reduction(r, n);
  case GLOW_OP_STACK:
  case GLOW_OP_SUB:
  case GLOW_OP_DIV:
  case GLOW_OP_MUL:
  case GLOW_OP_ADD:
  case GLOW_OP_EXP:
  case GLOW_OP_LOG:
  case GLOW_OP_SQRT:
  case GLOW_OP_RECIPROCAL:
    return add_elementwise(r, n);
  default:
    return false;
  }
}

/* ---- Buffers --------------------------------------------------------------------------------- */

static bool is_between(const GlowNode *n, const GlowNode *first, const GlowNode *last) {
  return n->block == first->block && n->order >= first->order && n->order <= last->order;
}

/* Whether a buffer that the run writes is read by nobody behind it. */
static bool is_passing(const Run *r, const GlowValue *v) {
  const GlowNode *alloc = glow_value_def(v, GLOW_OP_ALLOC);
  if (!alloc || alloc->block != r->first->block)
    return false;
  for (const GlowUse *u = v->uses; u; u = u->next) {
    const GlowNode *n = u->user;
    bool before = n->block == alloc->block && n->order < r->first->order;
    if (n->op == GLOW_OP_TENSORVIEW ||
        (n->op != GLOW_OP_DEALLOC && !before && !is_between(n, r->first, r->last)))
      return false;
  }
  return true;
}

static bool meet(const GlowPlace *a, const GlowPlace *b) {
  return a->storage == b->storage && a->offset < b->offset + b->bytes &&
         b->offset < a->offset + a->bytes;
}

/* Whether y, which the run wrote last, may be written while x is read row by row. */
static bool can_write(Run *r, const GlowValue *y, const GlowView *to, const GlowView *x) {
  for (uint32_t i = 0; i < r->nbuffers; i++)
    if (r->buffers[i] != y && !is_passing(r, r->buffers[i]))
      return false;
  return !meet(&to->place, &x->place) || to->place.offset == x->place.offset;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Rows over the last axes of x. */
typedef struct Rows {
  const Term *x;
  uint32_t axes;
  int64_t count, n;
  GlowView from, to;
} Rows;

static bool is_row_of(const Rows *rows, const GlowType *t) {
  const GlowType *x = rows->x->value->type;
  if (t->rank != x->rank)
    return false;
  for (uint32_t i = 0; i < t->rank; i++)
    if (t->dims[i].size != (rows->axes >> i & 1u ? 1 : x->dims[i].size))
      return false;
  return true;
}

/* Whether `sum` reduces rows of x, in place of which y is written. */
static bool find_rows(Run *r, const Term *x, const Term *sum, const GlowValue *y, Rows *rows) {
  GlowSelect *s = r->s;
  if (x->op != GLOW_OP_COUNT || !same_dims(x->value->type, y->type))
    return false;
  *rows = (Rows){.x = x, .axes = sum->axes, .count = 1, .n = 1};
  uint32_t rank = y->type->rank, first = rank;
  while (first && rows->axes >> (first - 1) & 1u)
    first--;
  if (!rows->axes || rows->axes & ((1u << first) - 1u) || !is_row_of(rows, sum->type) ||
      !glow_select_dense(s, x->value, &rows->from) || !glow_select_dense(s, y, &rows->to))
    return false;
  rows->count = glow_view_extent(&rows->to, 0, first);
  rows->n = glow_view_extent(&rows->to, first, rank);
  return rows->count * rows->n > 0 && rows->n <= 1 << 24 && can_write(r, y, &rows->to, &rows->from);
}

static bool is(const Term *t, GlowOp op) { return t && t->op == op; }

/* D = x - ReduceMax(x) or x - ReduceMean(x). */
static bool is_difference(const Term *d, GlowOp reduce) {
  return is(d, GLOW_OP_SUB) && is(d->b, reduce) && d->b->a == d->a;
}

/* ---- Softmax --------------------------------------------------------------------------------- */

static bool select_softmax(Run *r, const Term *t, const GlowValue *y) {
  const Term *e, *d, *sum;
  GlowSoftmaxParams p = {0};
  Rows rows;
  if (is(t, GLOW_OP_DIV)) {
    e = t->a;
    sum = t->b;
    d = e->a;
  } else if (is(t, GLOW_OP_SUB) && is(t->b, GLOW_OP_LOG)) {
    d = t->a;
    sum = t->b->a;
    e = sum->a;
    p.log = 1;
  } else {
    return false;
  }
  if (!is(sum, GLOW_OP_REDUCE_SUM) || !is(e, GLOW_OP_EXP) || sum->a != e || e->a != d ||
      !is_difference(d, GLOW_OP_REDUCE_MAX) || d->b->axes != sum->axes ||
      !find_rows(r, d->a, sum, y, &rows) || !is_row_of(&rows, d->b->type) ||
      !same_dims(d->type, y->type) || !same_dims(e->type, y->type))
    return false;
  p.n = rows.n;
  glow_work_softmax(r->s, r->last, &p,
                    &(GlowSoftmaxPlaces){.y = rows.to.place, .x = rows.from.place},
                    &(GlowWorkSpec){.units = rows.count});
  return true;
}

/* ---- Normalization --------------------------------------------------------------------------- */

/* A number for each of `period` rows, or for each column. */
typedef struct Numbers {
  GlowPlace place;
  int64_t period;
  bool columns;
} Numbers;

/* How the elements of v, read for a result of type `to`, lie over the rows; `of_rows`: a number for
 * each column will not do. */
static bool find_numbers(Run *r, const Rows *rows, const Term *t, bool of_rows, Numbers *numbers) {
  GlowView v, to;
  int64_t stride[GLOW_VIEW_RANK], channels, columns = 1, period = 1;
  bool by_row = true, by_column = true, repeats = false;
  if (!is(t, GLOW_OP_COUNT) || !glow_select_dense(r->s, t->value, &v))
    return false;
  glow_view_dense(rows->x->value->type, &to);
  if (!glow_select_operand(r->s, &to, &v, stride, &channels))
    return false;
  for (uint32_t a = to.rank; a-- > 0;) {
    if (to.dims[a] == 1)
      continue;
    if (rows->axes >> a & 1u) {
      by_row &= !stride[a];
      by_column &= stride[a] == columns;
      columns *= to.dims[a];
    } else {
      by_row &= !stride[a] || (!repeats && stride[a] == period);
      by_column &= !stride[a];
      repeats |= !stride[a];
      period *= stride[a] ? to.dims[a] : 1;
    }
  }
  *numbers = (Numbers){v.place, by_row ? period : 0, !by_row};
  return (by_row || (by_column && !of_rows)) && !meet(&rows->to.place, &v.place);
}

/* The other operand of t = x * other or x + other. */
static const Term *other(const Term *t, const Term *x) { return t->a == x ? t->b : t->a; }

/* R, perhaps times a factor. */
typedef struct Root {
  const Term *factor, *mean, *epsilon;
  bool outside;
} Root;

static bool is_number(const Term *t) { return is(t, GLOW_OP_SPLAT); }

static bool find_root(const Term *t, Root *root) {
  *root = (Root){0};
  if (is(t, GLOW_OP_MUL)) {
    const Term *inverse = is(t->a, GLOW_OP_RECIPROCAL) ? t->a : t->b;
    root->factor = other(t, inverse);
    t = inverse;
  }
  if (!is(t, GLOW_OP_RECIPROCAL))
    return false;
  root->outside = is(t->a, GLOW_OP_ADD);
  const Term *sum = root->outside ? t->a : t->a->a;
  if (!is(sum, GLOW_OP_ADD) || (!root->outside && !is(t->a, GLOW_OP_SQRT)))
    return false;
  const Term *mean = is_number(sum->a) ? sum->b : sum->a;
  root->epsilon = other(sum, mean);
  if (root->outside && !is(mean, GLOW_OP_SQRT))
    return false;
  root->mean = root->outside ? mean->a : mean;
  return is_number(root->epsilon) && is(root->mean, GLOW_OP_REDUCE_MEAN) &&
         is(root->mean->a, GLOW_OP_MUL) && root->mean->a->a == root->mean->a->b;
}

/* Takes D * R, in either order, apart. */
static bool find_product(const Term *t, Root *root) {
  if (!is(t, GLOW_OP_MUL))
    return false;
  return (find_root(t->b, root) && root->mean->a->a == t->a) ||
         (find_root(t->a, root) && root->mean->a->a == t->b);
}

static bool select_normalization(Run *r, const Term *t, const GlowValue *y) {
  const Term *scale = NULL, *bias = NULL, *product = t;
  Numbers scales = {.place = glow_place_absent()}, biases = scales, factors = scales;
  Rows rows;
  Root root;
  if (is(product, GLOW_OP_ADD)) {
    bias = is(product->a, GLOW_OP_MUL) ? product->b : product->a;
    product = other(product, bias);
  }
  if (is(product, GLOW_OP_MUL) && !find_product(product, &root)) {
    scale = is(product->a, GLOW_OP_MUL) ? product->b : product->a;
    product = other(product, scale);
  }
  if (!find_product(product, &root))
    return false;
  const Term *d = root.mean->a->a, *x = d;
  bool centered = is_difference(d, GLOW_OP_REDUCE_MEAN);
  if (centered) {
    x = d->a;
    if (d->b->axes != root.mean->axes)
      return false;
  }
  if (!find_rows(r, x, root.mean, y, &rows) || (centered && !is_row_of(&rows, d->b->type)) ||
      !same_dims(root.mean->a->type, y->type) || !same_dims(product->type, y->type) ||
      (scale && !find_numbers(r, &rows, scale, false, &scales)) ||
      (bias && !find_numbers(r, &rows, bias, false, &biases)) ||
      (root.factor && !find_numbers(r, &rows, root.factor, true, &factors)))
    return false;
  float epsilon = (float)root.epsilon->number;
  uint32_t bits;
  memcpy(&bits, &epsilon, sizeof bits);
  GlowNormalizeParams p = {.n = rows.n,
                           .centered = centered,
                           .epsilon = bits,
                           .outside = root.outside,
                           .scales = scales.period,
                           .biases = biases.period,
                           .factors = factors.period,
                           .scale_columns = scales.columns,
                           .bias_columns = biases.columns};
  GlowNormalizePlaces at = {.y = rows.to.place,
                            .x = rows.from.place,
                            .scale = scales.place,
                            .bias = biases.place,
                            .factor = factors.place};
  glow_work_normalize(r->s, r->last, &p, &at, &(GlowWorkSpec){.units = rows.count});
  return true;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static bool is_silent(const GlowNode *n) {
  return n->op == GLOW_OP_ALLOC || n->op == GLOW_OP_DEALLOC || n->op == GLOW_OP_TENSORVIEW;
}

const GlowNode *glow_select_rows(GlowSelect *s, const GlowNode *n) {
  const uint32_t before = s->work.count;
  const GlowNode *end = NULL;
  Run r = {.s = s, .first = n};
  for (uint32_t steps = 0; n && steps < MOST_STEPS; n = n->next) {
    if (is_silent(n))
      continue;
    if (glow_program_is_dynamic(n) || !add(&r, n))
      break;
    steps++;
    r.last = n;
    const GlowValue *y = glow_node_out(n, 0);
    for (uint32_t i = 0; n->nouts == 1 && i < r.nbuffers; i++) {
      const uint32_t count = s->work.count;
      if (r.buffers[i] != y ||
          !(select_softmax(&r, r.holds[i], y) || select_normalization(&r, r.holds[i], y)))
        continue;
      if (end) /* what the shorter run was */
        s->work.data[before] = s->work.data[count];
      s->work.count = before + 1;
      end = n;
    }
  }
  return end;
}
