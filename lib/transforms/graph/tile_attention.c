/* Attention in its plain form becomes TiledAttention, which keeps no matrix of all scores:
 *
 *   Attention(q, k, v, mask)  ->  TiledAttention(q, k, v, mask)     [batch, heads, sequence, size]
 *
 * with Reshape and Transpose around it if the heads lie side by side. The plain form is float, has
 * no past or softcap, and only its Y is used. A mask of bools becomes one that is added;
 * so does what is_causal, windows and lengths hide; of exact extents, without lengths, that is a
 * constant, if it has at most 2^20 elements. It must have at least 16 queries, unless keys are a
 * cache, whose number is open or a length, and 16 keys. Up to 512 keys make one tile; more keys are
 * cut into tiles of 512. All this depends on one image alone, not on the batch.
 *
 * Bounded, c = K + 32 for K numbers in a head and S with the exponentials of absolute scores: the
 * scale rounds at another place, each tile rounds the sums once more, and weights below e^-87 of
 * the largest are 0. */
#include "transforms/match.h"
#include "transforms/transforms.h"

#include <math.h>

enum { LEAST = 16, TILE = 512, LANES = 16, MOST = 1 << 20 };

static bool is_used(const GlowNode *n, uint32_t i) {
  return i < n->nresults && n->results[i].uses != NULL;
}

static bool is_of(const GlowValue *v, GlowKind kind) {
  const GlowType *t = v->type;
  return t->kind == kind && glow_type_is_known(t) && !t->quantized && !t->layout;
}

static bool has_plain_members(const GlowAttentionMembers *m) {
  return m->softcap == 0 && (m->softmax_precision.count == 0 ||
                             glow_array_at(m->softmax_precision, GlowKind, 0) == GLOW_KIND_FLOAT);
}

static const GlowValue *lengths_of(const GlowNode *n) {
  return GLOW_ATTENTION_IN_LENGTHS < glow_node_nins(n) ? glow_node_in(n, GLOW_ATTENTION_IN_LENGTHS)
                                                       : NULL;
}

/* Whether keys are hidden by where they stand. */
static bool hides(const GlowNode *n) {
  const GlowAttentionMembers *m = n->members;
  return lengths_of(n) || m->is_causal || m->left_window_size >= 0 || m->right_window_size >= 0;
}

/* Whether the Attention n has the plain form and is large enough. Sets *keys to the number of
 * keys. */
static bool is_plain(const GlowNode *n, int64_t *keys) {
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    const GlowValue *v = glow_node_in(n, i);
    if (v && i != GLOW_ATTENTION_IN_LENGTHS &&
        (i > GLOW_ATTENTION_IN_MASK ||
         !(is_of(v, GLOW_KIND_FLOAT) || (i == GLOW_ATTENTION_IN_MASK && is_of(v, GLOW_KIND_BOOL)))))
      return false;
    if (i < GLOW_ATTENTION_IN_MASK && v->type->dims[v->type->rank - 1].kind != GLOW_DIM_EXACT)
      return false;
  }
  for (uint32_t i = 1; i < n->nresults; i++)
    if (is_used(n, i))
      return false;
  const GlowType *q = glow_node_in(n, GLOW_ATTENTION_IN_Q)->type;
  const GlowType *k = glow_node_in(n, GLOW_ATTENTION_IN_K)->type;
  const GlowValue *mask = glow_node_in(n, GLOW_ATTENTION_IN_MASK);
  const GlowDim keys_dim = k->dims[k->rank - 2], queries = q->dims[q->rank - 2];
  GlowDim columns = mask && mask->type->rank ? mask->type->dims[mask->type->rank - 1] : keys_dim;
  bool exact = keys_dim.kind == GLOW_DIM_EXACT && queries.kind == GLOW_DIM_EXACT && !lengths_of(n);
  *keys = keys_dim.size;
  return has_plain_members(n->members) && *keys >= LEAST &&
         (queries.size >= LEAST || keys_dim.extent || lengths_of(n)) &&
         q->dims[q->rank - 1].size > 0 &&
         (glow_dim_equals(columns, keys_dim) || glow_dim_is_exact(columns, 1)) &&
         (!hides(n) || !exact || queries.size <= MOST / *keys);
}

/* ---- Masks ----------------------------------------------------------------------------------- */

/* 0 where it is seen, else -inf. */
static GlowValue *added(GlowBuilder *b, GlowValue *seen) {
  GlowValue *zero = glow_build_scalar(b, GLOW_KIND_FLOAT, 0);
  return glow_then3(b, GLOW_OP_WHERE, seen, zero, glow_build_scalar(b, GLOW_KIND_FLOAT, -INFINITY));
}

/* What is_causal and windows hide, a constant. NULL if a node is refused. */
static GlowValue *constant_mask(GlowPassRun *run, const GlowNode *n, GlowDim queries,
                                GlowDim keys) {
  GlowEval e = glow_eval_create(run->module, run->arena, n);
  GlowValue *v = added(&e.builder, glow_build_attention_seen(&e.builder, n, queries, keys));
  GlowStr name = glow_str_printf(run->ctx, "%s.mask", n->results[0].name);
  return v ? &glow_eval_finish(&e, v, name)->value : NULL;
}

/* Sets *mask to what is added to the scores, or NULL. False if a node is refused. */
static bool build_mask(GlowPassRun *run, GlowBuilder *b, const GlowNode *n, GlowDim keys,
                       GlowValue **mask) {
  const GlowType *q = glow_node_in(n, GLOW_ATTENTION_IN_Q)->type;
  *mask = glow_node_in(n, GLOW_ATTENTION_IN_MASK);
  if (*mask && (*mask)->type->kind == GLOW_KIND_BOOL && !(*mask = added(b, *mask)))
    return false;
  if (!hides(n))
    return true;
  GlowDim queries = q->dims[q->rank - 2];
  bool exact = queries.kind == GLOW_DIM_EXACT && keys.kind == GLOW_DIM_EXACT && !lengths_of(n);
  GlowValue *hidden = exact ? constant_mask(run, n, queries, keys)
                            : added(b, glow_build_attention_seen(b, n, queries, keys));
  if (!hidden)
    return false;
  *mask = *mask ? glow_then2(b, GLOW_OP_ADD, *mask, hidden) : hidden;
  return *mask != NULL;
}

/* ---- Heads ----------------------------------------------------------------------------------- */

/* [batch, sequence, heads * size] as [batch, heads, sequence, size], and back. */
static GlowValue *swap_heads(GlowBuilder *b, GlowValue *x) {
  static const uint32_t perm[] = {0, 2, 1, 3};
  GlowTransposeMembers members = {.perm = glow_array_u32(b->module, perm, 4)};
  return x ? glow_build1(b, GLOW_OP_TRANSPOSE, x, &members, NULL) : NULL;
}

static GlowValue *split_heads(GlowBuilder *b, const GlowNode *n, GlowValue *x, uint32_t heads) {
  const GlowType *t = x->type;
  if (t->rank == 4)
    return x;
  GlowDim dims[] = {t->dims[0], t->dims[1], GLOW_EXACT(heads), GLOW_EXACT(t->dims[2].size / heads)};
  return swap_heads(b, glow_build_reshape(b, n, x, 4, dims));
}

static GlowValue *build(GlowPassRun *run, GlowBuilder *b, const GlowNode *n, int64_t keys) {
  const GlowAttentionMembers *m = n->members;
  GlowValue *ins[4];
  for (uint32_t i = 0; i < 3; i++)
    ins[i] = glow_node_in(n, i);
  const GlowType *k = ins[GLOW_ATTENTION_IN_K]->type;
  if (!build_mask(run, b, n, k->dims[k->rank - 2], &ins[3]))
    return NULL;
  uint32_t q_heads = m->q_num_heads, kv_heads = m->kv_num_heads;
  ins[0] = split_heads(b, n, ins[0], q_heads);
  ins[1] = split_heads(b, n, ins[1], kv_heads);
  ins[2] = split_heads(b, n, ins[2], kv_heads);
  if (!ins[0] || !ins[1] || !ins[2])
    return NULL;
  double size = (double)ins[0]->type->dims[3].size;
  GlowTiledAttentionMembers members = {
      .scale = m->scale > 0 ? m->scale : (float)(1 / sqrt(size)),
      .kv_tile = keys > TILE ? TILE : (uint32_t)((keys + LANES - 1) / LANES * LANES)};
  GlowNode *tiled = glow_build(b, GLOW_OP_TILED_ATTENTION, ins, ins[3] ? 4 : 3, &members, NULL);
  const GlowType *y = n->results[0].type;
  if (!tiled || y->rank == 4)
    return tiled ? &tiled->results[0] : NULL;
  GlowValue *joined = swap_heads(b, &tiled->results[0]);
  return joined ? glow_build_reshape(b, n, joined, y->rank, y->dims) : NULL;
}

static bool rewrite(GlowNode *n, void *arg) {
  GlowPassRun *run = arg;
  int64_t keys;
  if (n->op != GLOW_OP_ATTENTION || n->pred.value)
    return true;
  if (!is_plain(n, &keys)) {
    glow_pass_remark(run, glow_node_loc(n), "Attention is not tiled: it is not plain, or small");
    return true;
  }
  glow_pass_check_limit(run);
  GlowBuilder b = glow_builder_before(n);
  GlowValue *y = build(run, &b, n, keys);
  if (!y)
    return false;
  glow_pass_changed(run, n, "Attention over tiles of keys");
  glow_value_replace_uses(&n->results[0], y);
  glow_remove_dead(n);
  return true;
}

bool glow_pass_tile_attention(GlowPassRun *run) {
  return glow_block_walk(run->function->body, rewrite, run);
}
