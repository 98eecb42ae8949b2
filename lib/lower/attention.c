/* Attention, as ONNX's versions 23 to 25 define it, over [batch, heads, sequence, size]:
 *
 *   Scores = MatMul(Q * s, Transpose(K * s)),  s = Sqrt(scale)
 *   Scores = softcap * Tanh(Scores / softcap)
 *   Scores = Scores + Mask, or -inf where a Mask of bools, a window or Lengths exclude a key
 *   Y = MatMul(Softmax(Scores), V)
 *
 * A query that sees no key gives zeros. Where Q has g times the heads of K, each head of K serves g
 * neighbours: the product runs over [batch, heads of K, g, sequence, size]. */
#include <math.h>

#include "ir/dims.h"
#include "lower/lower.h"
#include "ops/lower.h"

typedef struct Attention {
  GlowBuilder *b;
  const GlowNode *n;
  const GlowAttentionMembers *m;
  GlowValue *q, *k, *v; /* rank 4; k and v with the past in front */
  GlowDim dims[4];      /* batch, heads of Q, queries, keys in all */
  int64_t heads;        /* of K and V */
  int64_t shared;       /* heads of Q that share a head of K */
  GlowDim past;         /* keys of the past */
  bool may_hide;        /* some query may see no key */
} Attention;

static GlowValue *operand(const Attention *a, uint32_t i) { return glow_node_in(a->n, i); }

static GlowValue *reshape(const Attention *a, GlowValue *x, uint32_t rank, const GlowDim *dims) {
  return x ? glow_build_reshape(a->b, a->n, x, rank, dims) : NULL;
}

/* ---- Operands ------------------------------------------------------------------------------- */

/* [batch, sequence, heads * size] as [batch, heads, sequence, size]. */
static GlowValue *split_heads(const Attention *a, GlowValue *x, uint32_t heads) {
  const GlowType *t = x->type;
  if (t->rank == 4)
    return x;
  if (t->dims[2].kind != GLOW_DIM_EXACT)
    return NULL;
  GlowDim dims[] = {t->dims[0], t->dims[1], GLOW_EXACT(heads), GLOW_EXACT(t->dims[2].size / heads)};
  return glow_build_permuted(a->b, reshape(a, x, 4, dims), (const uint32_t[]){0, 2, 1, 3}, 4);
}

static GlowValue *with_past(const Attention *a, GlowValue *past, GlowValue *x) {
  if (!past || !x)
    return x;
  GlowNode *n = glow_build(a->b, GLOW_OP_CONCAT, (GlowValue *[]){past, x}, 2,
                           &(GlowConcatMembers){.axis = 2}, NULL);
  return n ? &n->results[0] : NULL;
}

static bool prepare(Attention *a) {
  const GlowValue *past = operand(a, GLOW_ATTENTION_IN_PAST_KEY);
  for (uint32_t i = GLOW_ATTENTION_IN_Q; i <= GLOW_ATTENTION_IN_V; i++)
    if (operand(a, i)->type->unranked)
      return false;
  a->q = split_heads(a, operand(a, GLOW_ATTENTION_IN_Q), a->m->q_num_heads);
  a->k = split_heads(a, operand(a, GLOW_ATTENTION_IN_K), a->m->kv_num_heads);
  a->v = split_heads(a, operand(a, GLOW_ATTENTION_IN_V), a->m->kv_num_heads);
  a->k = with_past(a, operand(a, GLOW_ATTENTION_IN_PAST_KEY), a->k);
  a->v = with_past(a, operand(a, GLOW_ATTENTION_IN_PAST_VALUE), a->v);
  if (!a->q || !a->k || !a->v || (past && past->type->unranked))
    return false;
  GlowDim q_heads = a->q->type->dims[1], heads = a->k->type->dims[1];
  GlowDim before = past ? past->type->dims[2] : GLOW_EXACT(0);
  if (q_heads.kind != GLOW_DIM_EXACT || heads.kind != GLOW_DIM_EXACT ||
      !glow_dim_is_known(before) || a->q->type->dims[3].kind != GLOW_DIM_EXACT)
    return false;
  a->heads = heads.size;
  a->shared = heads.size ? q_heads.size / heads.size : 1;
  a->past = before;
  memcpy(a->dims, a->q->type->dims, 3 * sizeof *a->dims);
  a->dims[3] = a->k->type->dims[2];
  return true;
}

/* MatMul(x, y) of x [batch, heads of Q, ...] and y [batch, heads of K, ...]. */
static GlowValue *product(const Attention *a, GlowValue *x, GlowValue *y) {
  if (a->shared == 1 || !x || !y)
    return glow_then2(a->b, GLOW_OP_MAT_MUL, x, y);
  const GlowDim *xd = x->type->dims, *yd = y->type->dims, heads = GLOW_EXACT(a->heads);
  GlowDim x5[] = {xd[0], heads, GLOW_EXACT(a->shared), xd[2], xd[3]};
  GlowDim y5[] = {yd[0], heads, GLOW_EXACT(1), yd[2], yd[3]};
  GlowDim z4[] = {xd[0], xd[1], xd[2], yd[3]};
  GlowValue *z = glow_then2(a->b, GLOW_OP_MAT_MUL, reshape(a, x, 5, x5), reshape(a, y, 5, y5));
  return reshape(a, z, 4, z4);
}

/* ---- Scores --------------------------------------------------------------------------------- */

static GlowValue *scaled(const Attention *a, GlowValue *x) {
  int64_t size = a->q->type->dims[3].size;
  double scale = a->m->scale > 0 ? (double)a->m->scale : 1 / sqrt((double)size);
  return glow_then2(a->b, GLOW_OP_MUL, x, glow_build_scalar(a->b, x->type->kind, sqrt(scale)));
}

static GlowValue *capped(const Attention *a, GlowValue *x) {
  if (!x || a->m->softcap == 0)
    return x;
  GlowValue *cap = glow_build_scalar(a->b, x->type->kind, (double)a->m->softcap);
  GlowValue *y = glow_then1(a->b, GLOW_OP_TANH, glow_then2(a->b, GLOW_OP_DIV, x, cap), NULL);
  return glow_then2(a->b, GLOW_OP_MUL, y, cap);
}

/* ---- Masks: which keys a query sees --------------------------------------------------------- */

static GlowValue *both(const Attention *a, GlowValue *x, GlowValue *y) {
  return x && y ? glow_then2(a->b, GLOW_OP_AND, x, y) : y;
}

static GlowValue *integer(const Attention *a, int64_t v) {
  return glow_constant_int(a->b->module, a->n, "number", v);
}

/* 0 to `count` - 1; or down to 0. */
static GlowValue *numbers(const Attention *a, GlowDim count, bool down) {
  if (count.kind == GLOW_DIM_EXACT && !down) {
    GlowValue *ins[] = {integer(a, 0), integer(a, count.size), integer(a, 1)};
    GlowNode *n = glow_build(a->b, GLOW_OP_RANGE, ins, 3, NULL, NULL);
    return n ? &n->results[0] : NULL;
  }
  const GlowType *type = glow_type_tensor(a->b->module->ctx, GLOW_KIND_I64, 1, &count);
  GlowValue *ones = glow_build_filled(a->b, type, (GlowScalar){.is_int = true, .i = 1, .f = 1});
  GlowCumSumMembers m = {.exclusive = true, .reverse = down};
  return glow_then(a->b, GLOW_OP_CUM_SUM, (GlowValue *[]){ones, integer(a, 0)}, 2, &m);
}

/* Whether the last query stands where the last key does. */
static bool ends_together(const Attention *a) {
  GlowDim end = glow_dim_add(a->past, a->dims[2]);
  return glow_dim_is_same(end, a->dims[3]);
}

/* For each query and key, how far the key stands behind the place of the query itself among the
 * keys: [queries, keys]; with Lengths, on which that place depends, [batch, 1, queries, keys]. What
 * stands at the end of an open number of keys is counted from there: that number is no value. */
static GlowValue *distances(const Attention *a, GlowValue *keys, GlowValue *lengths) {
  GlowDim column[] = {a->dims[2], GLOW_EXACT(1)};
  bool open = a->dims[2].kind != GLOW_DIM_EXACT;
  bool down = a->past.kind != GLOW_DIM_EXACT || (lengths && open);
  GlowValue *own = reshape(a, numbers(a, a->dims[2], down), 2, column);
  if (lengths && open) {
    GlowValue *last = glow_then2(a->b, GLOW_OP_SUB, lengths, integer(a, 1));
    own = glow_then2(a->b, GLOW_OP_SUB, last, own);
  } else if (lengths) {
    GlowValue *first = glow_then2(a->b, GLOW_OP_SUB, lengths, integer(a, a->dims[2].size));
    own = glow_then2(a->b, GLOW_OP_ADD, own, first);
  } else if (down) {
    return glow_then2(a->b, GLOW_OP_SUB, own, numbers(a, a->dims[3], true));
  } else if (a->past.size) {
    own = glow_then2(a->b, GLOW_OP_ADD, own, integer(a, a->past.size));
  }
  return glow_then2(a->b, GLOW_OP_SUB, keys, own);
}

/* Sets *seen to whether is_causal, windows and Lengths let a query see a key. It stays NULL if they
 * hide none. False if extents are not known or a node is refused. */
static bool places(Attention *a, GlowValue **seen) {
  const GlowAttentionMembers *m = a->m;
  GlowValue *lengths = operand(a, GLOW_ATTENTION_IN_LENGTHS);
  int64_t left = m->left_window_size, right = m->right_window_size;
  right = m->is_causal ? 0 : right;
  if (left < 0 && right < 0 && !lengths)
    return true;
  bool exact = a->dims[2].kind == GLOW_DIM_EXACT && a->dims[3].kind == GLOW_DIM_EXACT;
  if (!exact && (!glow_dim_is_known(a->dims[2]) || !glow_dim_is_known(a->dims[3]) ||
                 (a->past.kind != GLOW_DIM_EXACT && !ends_together(a))))
    return false;
  GlowValue *keys = numbers(a, a->dims[3], false);
  if (lengths) {
    GlowDim each[] = {a->dims[0], GLOW_EXACT(1), GLOW_EXACT(1), GLOW_EXACT(1)};
    lengths = reshape(a, lengths, 4, each);
    *seen = glow_then2(a->b, GLOW_OP_LESS, keys, lengths);
    if (!*seen)
      return false;
  }
  a->may_hide |= lengths || left >= 0;
  if (left < 0 && right < 0)
    return true;
  GlowValue *d = distances(a, keys, lengths);
  if (right >= 0)
    *seen = both(a, *seen, glow_then2(a->b, GLOW_OP_LESS_OR_EQUAL, d, integer(a, right)));
  if (left >= 0)
    *seen = both(a, *seen, glow_then2(a->b, GLOW_OP_GREATER_OR_EQUAL, d, integer(a, -left)));
  return *seen != NULL;
}

GlowValue *glow_build_attention_seen(GlowBuilder *b, const GlowNode *n, GlowDim queries,
                                     GlowDim keys) {
  Attention a = {.b = b, .n = n, .m = n->members, .past = GLOW_EXACT(0)};
  GlowValue *seen = NULL;
  a.dims[0] = operand(&a, GLOW_ATTENTION_IN_Q)->type->dims[0];
  a.dims[2] = queries;
  a.dims[3] = keys;
  return places(&a, &seen) ? seen : NULL;
}

/* A mask that is shorter than the keys hides the rest. */
static GlowValue *full_mask(const Attention *a, GlowValue *mask) {
  const GlowType *t = mask->type;
  if (t->rank == 0)
    return mask;
  GlowDim last = t->dims[t->rank - 1], all = a->dims[3];
  if (last.kind != GLOW_DIM_EXACT || all.kind != GLOW_DIM_EXACT || last.size == 1 ||
      last.size >= all.size)
    return mask;
  int64_t pads[2 * GLOW_MAX_RANK] = {0};
  pads[2 * t->rank - 1] = all.size - last.size;
  GlowSplatMembers hidden = {.value = {.is_int = t->kind == GLOW_KIND_BOOL,
                                       .f = t->kind == GLOW_KIND_BOOL ? 0 : -INFINITY}};
  const GlowType *scalar = glow_type_scalar(a->b->module->ctx, t->kind);
  GlowNode *value = glow_node_create(
      a->b, &(GlowNodeSpec){.op = GLOW_OP_SPLAT, .members = &hidden, .types = &scalar});
  GlowValue *to = glow_constant_ints(a->b->module, a->n, "pads", pads, 2 * t->rank);
  if (!value)
    return NULL;
  GlowNode *n =
      glow_build(a->b, GLOW_OP_PAD, (GlowValue *[]){mask, to, &value->results[0]}, 3, NULL, NULL);
  return n ? &n->results[0] : NULL;
}

static GlowValue *where(const Attention *a, GlowValue *seen, GlowValue *x, GlowValue *other) {
  return glow_then3(a->b, GLOW_OP_WHERE, seen, x, other);
}

static GlowValue *masked(Attention *a, GlowValue *scores) {
  GlowValue *mask = operand(a, GLOW_ATTENTION_IN_MASK), *seen = NULL;
  if (!scores || (mask && mask->type->unranked) || !places(a, &seen))
    return NULL;
  if (mask) {
    a->may_hide = true;
    bool hides = mask->type->kind == GLOW_KIND_BOOL;
    mask = full_mask(a, mask);
    if (!hides)
      scores =
          glow_then2(a->b, GLOW_OP_ADD, scores, glow_then_cast(a->b, mask, scores->type->kind));
    else if (!mask || !(seen = both(a, seen, mask)))
      return NULL;
  }
  if (!seen || !scores)
    return scores;
  return where(a, seen, scores, glow_build_scalar(a->b, scores->type->kind, -INFINITY));
}

/* ---- The rule ------------------------------------------------------------------------------- */

/* Softmax of the scores, in the kind that softmax_precision asks for. A row that is all -inf, of a
 * query that sees no key, gives zeros. */
static GlowValue *weights(const Attention *a, GlowValue *scores) {
  if (!scores)
    return NULL;
  GlowKind kind = scores->type->kind;
  if (a->m->softmax_precision.count)
    kind = glow_array_at(a->m->softmax_precision, GlowKind, 0);
  GlowValue *wide = glow_then_cast(a->b, scores, kind);
  GlowValue *w = glow_then1(a->b, GLOW_OP_SOFTMAX, wide, &(GlowSoftmaxMembers){.axis = -1});
  if (w && a->may_hide) {
    GlowValue *axes = glow_constant_ints(a->b->module, a->n, "axis", &(int64_t){-1}, 1);
    GlowValue *lowest = glow_build_scalar(a->b, kind, -INFINITY);
    GlowValue *top = glow_then2(a->b, GLOW_OP_REDUCE_MAX, wide, axes);
    GlowValue *hidden = glow_then2(a->b, GLOW_OP_EQUAL, top, lowest);
    w = where(a, hidden, glow_build_scalar(a->b, kind, 0), w);
  }
  return glow_then_cast(a->b, w, scores->type->kind);
}

/* y [batch, heads, sequence, size] as it is if Q has rank 4, else as [batch, sequence, heads *
 * size]. */
static GlowValue *join_heads(const Attention *a, GlowValue *y) {
  if (!y || operand(a, GLOW_ATTENTION_IN_Q)->type->rank == 4)
    return y;
  const GlowType *t = a->n->results[0].type;
  return reshape(a, glow_build_permuted(a->b, y, (const uint32_t[]){0, 2, 1, 3}, 4), 3, t->dims);
}

static GlowValue *same(const Attention *a, GlowValue *x) {
  return glow_then1(a->b, GLOW_OP_IDENTITY, x, NULL);
}

bool glow_lower_attention(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  Attention a = {.b = b, .n = n, .m = n->members};
  if (!prepare(&a))
    return false;
  GlowKind kind = a.q->type->kind;
  GlowValue *stages[4];
  GlowValue *keys = glow_build_permuted(b, scaled(&a, a.k), (const uint32_t[]){0, 1, 3, 2}, 4);
  stages[GLOW_ATTENTION_SCORES_PRODUCT] = product(&a, scaled(&a, a.q), keys);
  stages[GLOW_ATTENTION_SCORES_CAPPED] = capped(&a, stages[GLOW_ATTENTION_SCORES_PRODUCT]);
  stages[GLOW_ATTENTION_SCORES_MASKED] = masked(&a, stages[GLOW_ATTENTION_SCORES_CAPPED]);
  GlowValue *w = weights(&a, stages[GLOW_ATTENTION_SCORES_MASKED]);
  stages[GLOW_ATTENTION_SCORES_WEIGHTS] = w;
  GlowValue *y = product(&a, glow_then_cast(b, w, a.v->type->kind), a.v);
  results[GLOW_ATTENTION_OUT_Y] = join_heads(&a, glow_then_cast(b, y, kind));
  if (n->nresults > GLOW_ATTENTION_OUT_PRESENT_KEY)
    results[GLOW_ATTENTION_OUT_PRESENT_KEY] = same(&a, a.k);
  if (n->nresults > GLOW_ATTENTION_OUT_PRESENT_VALUE)
    results[GLOW_ATTENTION_OUT_PRESENT_VALUE] = same(&a, a.v);
  if (n->nresults > GLOW_ATTENTION_OUT_SCORES)
    results[GLOW_ATTENTION_OUT_SCORES] = same(&a, stages[a.m->scores]);
  return results[0] && results[n->nresults - 1];
}

/* ---- The past ------------------------------------------------------------------------------- */

/* What masks and places hide together, as one mask. */
static bool whole_mask(Attention *a, GlowValue **mask) {
  GlowValue *seen = NULL;
  if ((*mask && (*mask)->type->unranked) || !places(a, &seen))
    return false;
  if (!seen)
    return true;
  if (*mask && (*mask)->type->kind == GLOW_KIND_BOOL)
    seen = both(a, seen, full_mask(a, *mask));
  else if (*mask)
    seen = where(a, seen, full_mask(a, *mask),
                 glow_build_scalar(a->b, (*mask)->type->kind, -INFINITY));
  *mask = seen;
  return seen != NULL;
}

bool glow_build_attention_without_past(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  Attention a = {.b = b, .n = n, .m = n->members};
  GlowValue *mask = operand(&a, GLOW_ATTENTION_IN_MASK);
  if (operand(&a, GLOW_ATTENTION_IN_LENGTHS) || !prepare(&a) || !whole_mask(&a, &mask))
    return false;
  GlowAttentionMembers m = *a.m;
  m.is_causal = false;
  m.left_window_size = m.right_window_size = -1;
  m.q_num_heads = m.kv_num_heads = 0;
  bool scores = n->nresults > GLOW_ATTENTION_OUT_SCORES;
  GlowNode *plain = glow_node_create(b, &(GlowNodeSpec){.op = GLOW_OP_ATTENTION,
                                                        .ins = (GlowValue *[]){a.q, a.k, a.v, mask},
                                                        .nins = mask ? 4 : 3,
                                                        .members = &m,
                                                        .nresults = scores ? n->nresults : 1});
  if (!plain)
    return false;
  GlowValue *all[] = {join_heads(&a, &plain->results[0]), a.k, a.v, NULL};
  if (scores)
    all[GLOW_ATTENTION_OUT_SCORES] = &plain->results[GLOW_ATTENTION_OUT_SCORES];
  memcpy(results, all, n->nresults * sizeof *all);
  return all[0] != NULL;
}
