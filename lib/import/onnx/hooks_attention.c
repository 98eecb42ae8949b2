/* ONNX Runtime's operators of decoders (com.microsoft). GroupQueryAttention is a causal Attention
 * with a past, whose sequences end together: one sequence, or several of one length. */
#include "import/onnx/hooks.h"
#include "import/onnx/importer.h"

static GlowValue *operand(const GlowOnnxNode *n, uint32_t i) {
  return i < n->nins ? n->ins[i] : NULL;
}

/* An attribute that may have one value only. */
static bool expect(GlowOnnxNode *n, const char *name, int64_t value) {
  int64_t found = value;
  if (!glow_onnx_int(n, name, &found))
    return false;
  return found == value || glow_onnx_unsupported(n, "%s = %lld", name, (long long)found);
}

/* ---- RotaryEmbedding ------------------------------------------------------------------------- */

/* The heads of an x of rank 3 that rotates all of each head, which cos has half of. */
static bool infer_heads(GlowOnnxNode *n, const GlowType *x, const GlowType *cos, uint32_t *heads) {
  int64_t size = cos->unranked || cos->rank != 2 ? 0 : 2 * cos->dims[1].size;
  if (size <= 0 || x->dims[2].kind != GLOW_DIM_EXACT || x->dims[2].size % size)
    return glow_onnx_unsupported(n, "heads of a size that does not follow from cos_cache");
  *heads = (uint32_t)(x->dims[2].size / size);
  return true;
}

/* X, positions, cos, sin. */
bool glow_onnx_microsoft_rotary_embedding(GlowOnnxNode *n) {
  int64_t heads = 0, dim = 0;
  GlowRotaryEmbeddingMembers m = {0};
  float scale = 1;
  if (!glow_onnx_check_ins(n, 4, 4) || !glow_onnx_int(n, "num_heads", &heads) ||
      !glow_onnx_int(n, "rotary_embedding_dim", &dim) ||
      !glow_onnx_bool(n, "interleaved", &m.interleaved) || !glow_onnx_float(n, "scale", &scale) ||
      !expect(n, "is_packed_batching", 0))
    return false;
  const GlowType *x = n->ins[0]->type, *at = n->ins[1]->type;
  if (scale != 1)
    return glow_onnx_unsupported(n, "scale = %g", (double)scale);
  if (x->unranked || at->unranked || at->rank != 2)
    return glow_onnx_unsupported(n, "positions that are no matrix");
  m.num_heads = (uint32_t)heads;
  m.rotary_embedding_dim = (uint32_t)dim;
  if (x->rank == 3 && !heads && !infer_heads(n, x, n->ins[2]->type, &m.num_heads))
    return false;
  GlowValue *ins[] = {n->ins[0], n->ins[2], n->ins[3], n->ins[1]};
  return glow_onnx_finish(n, GLOW_OP_ROTARY_EMBEDDING, ins, 4, &m, NULL, 0);
}

/* ---- GroupQueryAttention --------------------------------------------------------------------- */

enum { QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, LENGTHS, TOTAL, COS, SIN, POSITIONS, BIAS };

typedef struct Grouped {
  GlowAttentionMembers m;
  GlowValue *q, *k, *v;
  int64_t rotary, interleaved;
} Grouped;

static bool read_grouped(GlowOnnxNode *n, Grouped *g) {
  int64_t heads = 0, kv_heads = 0, window = -1;
  g->m = (GlowAttentionMembers){.is_causal = true, .left_window_size = -1, .right_window_size = -1};
  if (!glow_onnx_int(n, "num_heads", &heads) || !glow_onnx_int(n, "kv_num_heads", &kv_heads) ||
      !glow_onnx_int(n, "local_window_size", &window) ||
      !glow_onnx_float(n, "scale", &g->m.scale) || !glow_onnx_float(n, "softcap", &g->m.softcap) ||
      !glow_onnx_int(n, "do_rotary", &g->rotary) ||
      !glow_onnx_int(n, "rotary_interleaved", &g->interleaved))
    return false;
  if (heads <= 0 || kv_heads <= 0 || heads > UINT32_MAX || heads % kv_heads)
    return glow_onnx_fail(n, "%lld heads share %lld of keys and values", (long long)heads,
                          (long long)kv_heads);
  g->m.q_num_heads = (uint32_t)heads;
  g->m.kv_num_heads = (uint32_t)kv_heads;
  if (window > 0)
    g->m.left_window_size = window - 1; /* its own key counts */
  int64_t smooth = 0;
  if (!glow_onnx_int(n, "smooth_softmax", &smooth))
    return false;
  return smooth <= 0 || glow_onnx_unsupported(n, "smooth_softmax");
}

/* Queries, keys and values side by side, as three values. */
static bool split(GlowOnnxNode *n, Grouped *g) {
  const GlowType *t = g->q->type;
  int64_t heads = (int64_t)g->m.q_num_heads + 2 * (int64_t)g->m.kv_num_heads;
  if (t->dims[2].kind != GLOW_DIM_EXACT || t->dims[2].size % heads)
    return glow_onnx_fail(n, "operand 0 is %s, expected %lld heads along its last axis",
                          glow_type_str(n->im->ctx, t), (long long)heads);
  int64_t size = t->dims[2].size / heads, kv = size * g->m.kv_num_heads;
  int64_t sizes[] = {size * g->m.q_num_heads, kv, kv};
  GlowValue *ins[] = {g->q, glow_onnx_make_ints(n, "sizes", sizes, 3)};
  GlowSplitMembers m = {.axis = 2};
  GlowNode *parts =
      glow_onnx_build(n, GLOW_OP_SPLIT, ins, 2, (GlowNodeSpec){.members = &m, .nresults = 3});
  if (!parts)
    return false;
  g->q = &parts->results[0];
  g->k = &parts->results[1];
  g->v = &parts->results[2];
  return true;
}

/* The place of each query among all keys, [batch, queries]: LENGTHS is one less than all keys. */
static GlowValue *positions(GlowOnnxNode *n, const GlowType *q) {
  GlowDim count = q->dims[1];
  const GlowType *type = glow_type_tensor(n->im->ctx, GLOW_KIND_I64, 1, &count);
  GlowSplatMembers one = {.value = {.is_int = true, .i = 1, .f = 1}};
  GlowNode *ones =
      glow_onnx_build(n, GLOW_OP_SPLAT, NULL, 0, (GlowNodeSpec){.members = &one, .types = &type});
  GlowCumSumMembers down = {.exclusive = true, .reverse = true};
  GlowValue *behind =
      ones ? glow_onnx_emit2(n, GLOW_OP_CUM_SUM, &ones->results[0],
                             glow_onnx_make_scalar(n, "axis", GLOW_KIND_I64, 0), &down)
           : NULL;
  GlowValue *last = glow_onnx_cast_to(n, n->ins[LENGTHS], GLOW_KIND_I64);
  GlowValue *column =
      last ? glow_onnx_emit2(n, GLOW_OP_RESHAPE, last,
                             glow_onnx_make_ints(n, "column", (int64_t[]){-1, 1}, 2), NULL)
           : NULL;
  return behind && column ? glow_onnx_emit2(n, GLOW_OP_SUB, column, behind, NULL) : NULL;
}

static bool rotate(GlowOnnxNode *n, Grouped *g) {
  GlowValue *at = operand(n, POSITIONS);
  if (!operand(n, COS) || !operand(n, SIN))
    return glow_onnx_fail(n, "do_rotary needs cos_cache and sin_cache");
  if (!at && g->q->type->dims[1].kind != GLOW_DIM_EXACT &&
      g->q->type->dims[1].kind != GLOW_DIM_SYMBOL)
    return glow_onnx_unsupported(n, "do_rotary of an unknown number of queries");
  if (!at && !(at = positions(n, g->q->type)))
    return false;
  GlowValue **rotated[] = {&g->q, &g->k};
  for (uint32_t i = 0; i < 2; i++) {
    GlowRotaryEmbeddingMembers m = {.interleaved = g->interleaved != 0,
                                    .num_heads = i ? g->m.kv_num_heads : g->m.q_num_heads};
    const GlowType *cos = n->ins[COS]->type;
    int64_t size = (*rotated[i])->type->dims[2].size / m.num_heads;
    if (!cos->unranked && cos->rank == 2 && 2 * cos->dims[1].size != size)
      m.rotary_embedding_dim = (uint32_t)(2 * cos->dims[1].size);
    GlowValue *ins[] = {*rotated[i], n->ins[COS], n->ins[SIN], at};
    *rotated[i] = glow_onnx_emit(n, GLOW_OP_ROTARY_EMBEDDING, ins, 4, &m);
    if (!*rotated[i])
      return false;
  }
  return true;
}

/* query, key?, value?, past_key?, past_value?, seqlens_k, total_sequence_length, cos?, sin?,
 * position_ids?, attention_bias?. */
bool glow_onnx_group_query_attention(GlowOnnxNode *n) {
  Grouped g = {0};
  if (!glow_onnx_check_ins(n, 1, 11) || !read_grouped(n, &g))
    return false;
  g.q = n->ins[QUERY];
  g.k = operand(n, KEY);
  g.v = operand(n, VALUE);
  const GlowType *q = g.q->type;
  if (q->unranked || q->rank != 3)
    return glow_onnx_fail(n, "operand 0 is %s, expected three axes", glow_type_str(n->im->ctx, q));
  if (!glow_dim_is_exact(q->dims[0], 1))
    return glow_onnx_unsupported(n, "several sequences, whose lengths may differ");
  if (!operand(n, LENGTHS))
    return glow_onnx_fail(n, "operand %d, seqlens_k, is missing", LENGTHS);
  if ((!g.k || !g.v) && !split(n, &g))
    return false;
  if (g.rotary && !rotate(n, &g))
    return false;
  GlowValue *ins[] = {
      g.q, g.k, g.v, operand(n, BIAS), operand(n, PAST_KEY), operand(n, PAST_VALUE)};
  return glow_onnx_finish(n, GLOW_OP_ATTENTION, ins, 6, &g.m, NULL, 0);
}
