/* Einsum multiplies two operands at a time, from the left. Before that, an operand with a repeated
 * label is replaced by its diagonal, and ReduceSum drops labels that nothing else names. A pair
 * becomes
 *
 *   MatMul([labels of both that are needed, labels of the first, contracted labels],
 *          [labels of both that are needed, contracted labels, labels of the second])
 *
 * with each group flattened in order of first appearance, or Mul where nothing is contracted. In
 * the end the axes are put in the order of the result. All extents must be known. */
#include "ir/einsum.h"
#include "lower/lower.h"
#include "ops/lower.h"

/* An operand, or the product of some; its labels are distinct. */
typedef struct Part {
  GlowValue *v;     /* NULL: a node was refused */
  GlowEinsumTerm t; /* the labels of its axes */
} Part;

typedef struct Einsum {
  GlowBuilder *b;
  const GlowNode *n;
  GlowEinsum e;
  uint32_t done; /* operands 0 to done - 1 are in the product */
} Einsum;

static int64_t extent_of(const Part *p, GlowLabel label) {
  for (uint32_t i = 0; i < p->t.rank; i++)
    if (p->t.labels[i] == label)
      return p->v->type->dims[i].size;
  return 1;
}

static GlowValue *ints(const Einsum *s, const char *what, const int64_t *values, uint32_t count) {
  return glow_constant_ints(s->b->module, s->n, what, values, count);
}

static GlowValue *reshape(const Einsum *s, GlowValue *v, uint32_t rank, const int64_t *shape) {
  GlowDim dims[GLOW_MAX_RANK];
  bool same = v && v->type->rank == rank;
  for (uint32_t i = 0; i < rank; i++) {
    dims[i] = GLOW_EXACT(shape[i]);
    same = same && v->type->dims[i].size == shape[i];
  }
  return v && !same ? glow_build_reshape(s->b, s->n, v, rank, dims) : v;
}

/* p with its axes in the order of t, which has the same labels. */
static void transpose(const Einsum *s, Part *p, const GlowEinsumTerm *t) {
  uint32_t perm[GLOW_MAX_RANK] = {0};
  bool same = true;
  for (uint32_t i = 0; i < t->rank; i++) {
    for (perm[i] = 0; p->t.labels[perm[i]] != t->labels[i]; perm[i]++)
      ;
    same = same && perm[i] == i;
  }
  GlowTransposeMembers m = {.perm = glow_array_u32(s->b->module, perm, t->rank)};
  if (!same)
    p->v = glow_then1(s->b, GLOW_OP_TRANSPOSE, p->v, &m);
  p->t = *t;
}

/* ---- One operand ---------------------------------------------------------------------------- */

/* Takes the diagonal of axes i < j, which have the same label and extent n: the axes go to the end
 * and become one axis of n * n elements, of which a Slice keeps every (n + 1)st. */
static void diagonal(const Einsum *s, Part *p, uint32_t i, uint32_t j) {
  uint32_t perm[GLOW_MAX_RANK], rank = 0;
  int64_t shape[GLOW_MAX_RANK], n = p->v->type->dims[i].size;
  GlowEinsumTerm t = {0};
  for (uint32_t k = 0; k < p->t.rank; k++)
    if (k != i && k != j) {
      shape[rank] = p->v->type->dims[k].size;
      t.labels[rank] = p->t.labels[k];
      perm[rank++] = k;
    }
  perm[rank] = i;
  perm[rank + 1] = j;
  shape[rank] = n * n;
  t.labels[rank] = p->t.labels[i];
  t.rank = rank + 1;
  GlowTransposeMembers m = {.perm = glow_array_u32(s->b->module, perm, rank + 2)};
  GlowValue *v = glow_then1(s->b, GLOW_OP_TRANSPOSE, p->v, &m);
  v = reshape(s, v, rank + 1, shape);
  GlowValue *ins[] = {v, ints(s, "start", &(int64_t){0}, 1), ints(s, "end", &shape[rank], 1),
                      ints(s, "axis", &(int64_t){rank}, 1), ints(s, "step", &(int64_t){n + 1}, 1)};
  GlowNode *slice = v ? glow_build(s->b, GLOW_OP_SLICE, ins, 5, NULL, NULL) : NULL;
  p->v = slice ? &slice->results[0] : NULL;
  p->t = t;
}

static void take_diagonals(const Einsum *s, Part *p) {
  for (uint32_t j = 1; p->v && j < p->t.rank; j++)
    for (uint32_t i = 0; p->v && i < j; i++)
      if (p->t.labels[i] == p->t.labels[j]) {
        diagonal(s, p, i, j);
        j = 0; /* from the start */
        break;
      }
}

/* Whether the result, or an operand that is not in the product yet, names the label. */
static bool is_needed(const Einsum *s, GlowLabel label) {
  if (glow_einsum_has(&s->e.result, label))
    return true;
  for (uint32_t i = s->done; i < s->e.nterms; i++)
    if (glow_einsum_has(&s->e.terms[i], label))
      return true;
  return false;
}

/* Sums p over labels that neither `other` (NULL: none) nor anything to come names. */
static void drop(const Einsum *s, Part *p, const GlowEinsumTerm *other) {
  int64_t axes[GLOW_MAX_RANK];
  uint32_t count = 0;
  GlowEinsumTerm t = {0};
  for (uint32_t i = 0; i < p->t.rank; i++) {
    GlowLabel label = p->t.labels[i];
    if (is_needed(s, label) || (other && glow_einsum_has(other, label)))
      t.labels[t.rank++] = label;
    else
      axes[count++] = i;
  }
  if (count && p->v)
    p->v = glow_build2(s->b, GLOW_OP_REDUCE_SUM, p->v, ints(s, "axes", axes, count),
                       &(GlowReduceSumMembers){.keep = false}, NULL);
  p->t = t;
}

/* ---- Two operands --------------------------------------------------------------------------- */

/* The labels of a pair. */
typedef struct Groups {
  GlowEinsumTerm batch;         /* in both operands, and needed later */
  GlowEinsumTerm inner;         /* in both operands, and contracted */
  GlowEinsumTerm first, second; /* in one operand alone */
} Groups;

static void put(GlowEinsumTerm *t, GlowLabel label) { t->labels[t->rank++] = label; }

static Groups group(const Einsum *s, const Part *a, const Part *b) {
  Groups g = {0};
  for (uint32_t i = 0; i < s->e.nlabels; i++) {
    GlowLabel label = s->e.order[i];
    bool in_a = glow_einsum_has(&a->t, label), in_b = glow_einsum_has(&b->t, label);
    if (in_a && in_b)
      put(is_needed(s, label) ? &g.batch : &g.inner, label);
    else if (in_a || in_b)
      put(in_a ? &g.first : &g.second, label);
  }
  return g;
}

/* The extent of a label in a pair; one operand may have extent 1 and broadcast. */
static int64_t extent_in(const Part *a, const Part *b, GlowLabel label) {
  int64_t x = extent_of(a, label), y = extent_of(b, label);
  return x == 1 ? y : x;
}

/* The product of the extents of a group. */
static int64_t product_of(const Part *a, const Part *b, const GlowEinsumTerm *t) {
  int64_t n = 1;
  for (uint32_t i = 0; i < t->rank; i++)
    n *= extent_in(a, b, t->labels[i]);
  return n;
}

/* p, one operand of the pair a and b, as a tensor of three axes, one for each of the groups. Axes
 * that broadcast are expanded to the extent that the other operand has. */
static GlowValue *arranged(const Einsum *s, Part p, const Part *a, const Part *b,
                           const GlowEinsumTerm *const *groups) {
  GlowEinsumTerm t = {0};
  int64_t full[GLOW_MAX_RANK], shape[3];
  bool grows = false;
  for (uint32_t k = 0; k < 3; k++) {
    shape[k] = product_of(a, b, groups[k]);
    for (uint32_t i = 0; i < groups[k]->rank; i++) {
      full[t.rank] = extent_in(a, b, groups[k]->labels[i]);
      grows |= extent_of(&p, groups[k]->labels[i]) != full[t.rank];
      put(&t, groups[k]->labels[i]);
    }
  }
  transpose(s, &p, &t);
  if (grows)
    p.v = glow_then2(s->b, GLOW_OP_EXPAND, p.v, ints(s, "extents", full, t.rank));
  return reshape(s, p.v, 3, shape);
}

/* MatMul; integers of 8 and 16 bits, of which it gives no products in their kind, wrap behind it.
 */
static GlowValue *product(const Einsum *s, GlowValue *x, GlowValue *y) {
  GlowKind kind = x ? x->type->kind : GLOW_KIND_I32;
  if (!glow_kind_is_integer(kind) || glow_kind_info[kind].bits >= 32)
    return glow_then2(s->b, GLOW_OP_MAT_MUL, x, y);
  x = glow_then_cast(s->b, x, GLOW_KIND_I32);
  y = glow_then_cast(s->b, y, GLOW_KIND_I32);
  return glow_then_cast(s->b, glow_then2(s->b, GLOW_OP_MAT_MUL, x, y), kind);
}

static Part multiply(const Einsum *s, Part a, Part b) {
  Groups g = group(s, &a, &b);
  const GlowEinsumTerm *rows[] = {&g.batch, &g.first, &g.inner};
  const GlowEinsumTerm *columns[] = {&g.batch, &g.inner, &g.second};
  Part c = {0};
  int64_t shape[GLOW_MAX_RANK];
  for (uint32_t k = 0; k < 3; k++) {
    const GlowEinsumTerm *t = k == 0 ? &g.batch : k == 1 ? &g.first : &g.second;
    for (uint32_t i = 0; i < t->rank; i++) {
      shape[c.t.rank] = extent_in(&a, &b, t->labels[i]);
      put(&c.t, t->labels[i]);
    }
  }
  GlowValue *x = arranged(s, a, &a, &b, rows), *y = arranged(s, b, &a, &b, columns);
  c.v = g.inner.rank ? product(s, x, y) : glow_then2(s->b, GLOW_OP_MUL, x, y);
  c.v = reshape(s, c.v, c.t.rank, shape);
  return c;
}

static Part operand(const Einsum *s, uint32_t i) {
  Part p = {glow_node_in(s->n, i), s->e.terms[i]};
  take_diagonals(s, &p);
  return p;
}

bool glow_lower_einsum(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  const GlowEinsumMembers *m = n->members;
  Einsum s = {.b = b, .n = n, .done = 1};
  const GlowType **types = GLOW_NEW_ARRAY(b->module->ctx->arena, const GlowType *, n->noperands);
  for (uint32_t i = 0; i < n->noperands; i++) {
    types[i] = glow_node_in(n, i)->type;
    if (!glow_type_is_static(types[i]))
      return false;
  }
  if (glow_einsum_parse(b->module->ctx, m->equation, types, n->noperands, &s.e))
    return false; /* inference has refused it */
  Part p = operand(&s, 0);
  for (; p.v && s.done < s.e.nterms;) {
    Part next = operand(&s, s.done++);
    drop(&s, &p, &next.t);
    drop(&s, &next, &p.t);
    if (!p.v || !next.v)
      return false;
    p = multiply(&s, p, next);
  }
  drop(&s, &p, NULL);
  transpose(&s, &p, &s.e.result);
  if (p.v == glow_node_in(n, 0))
    p.v = glow_then1(b, GLOW_OP_IDENTITY, p.v, NULL);
  results[0] = p.v;
  return p.v != NULL;
}
