/* Inference and verification of operators on strings, and of TfIdfVectorizer. Definitions as
 * ONNX's.
 */
#include "ir/infer/hooks.h"

/* X is [C] or [1, C]. Stop words are removed; if none is left, the result is one empty string. */
bool glow_infer_string_normalizer(GlowInfer *in) {
  const GlowStringNormalizerMembers *m = in->members;
  const GlowType *x = in->in[GLOW_STRING_NORMALIZER_IN_X];
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, x, -1);
  if (x->rank < 1 || x->rank > 2 ||
      (x->rank == 2 && x->dims[0].kind == GLOW_DIM_EXACT && x->dims[0].size != 1))
    return glow_infer_error(in, "X must have shape <C> or <1 x C>, but has type %s",
                            glow_type_str(in->ctx, x));
  GlowDim dims[2] = {GLOW_EXACT(1), GLOW_EXACT(1)}, last = x->dims[x->rank - 1];
  bool keeps_all = m->stopwords.count == 0 && !(glow_dim_has_size(last) && last.size == 0);
  dims[x->rank - 1] = keeps_all                 ? last
                      : glow_dim_has_size(last) ? GLOW_BOUND(last.size > 1 ? last.size : 1)
                                                : GLOW_UNKNOWN;
  return glow_infer_set(in, 0, x, x->rank, dims);
}

bool glow_infer_string_split(GlowInfer *in) {
  const GlowStringSplitMembers *m = in->members;
  const GlowType *x = in->in[GLOW_STRING_SPLIT_IN_X];
  const GlowType *count = glow_type_scalar(in->ctx, GLOW_KIND_I64);
  GlowDim dims[GLOW_MAX_RANK];
  if (x->unranked)
    return glow_infer_set_unknown(in, GLOW_STRING_SPLIT_OUT_Y, x, -1) &&
           glow_infer_set_unknown(in, GLOW_STRING_SPLIT_OUT_COUNT, count, -1);
  if (x->rank == GLOW_MAX_RANK)
    return glow_infer_error(in, "X has rank %u already", x->rank);
  for (uint32_t i = 0; i < x->rank; i++)
    dims[i] = x->dims[i];
  bool limited = m->maxsplit >= 0 && m->maxsplit < INT32_MAX;
  dims[x->rank] = limited ? GLOW_BOUND(m->maxsplit + 1) : GLOW_UNKNOWN;
  return glow_infer_set(in, GLOW_STRING_SPLIT_OUT_Y, x, x->rank + 1, dims) &&
         glow_infer_set(in, GLOW_STRING_SPLIT_OUT_COUNT, count, x->rank, dims);
}

/* ---- TfIdfVectorizer ------------------------------------------------------------------------- */

bool glow_infer_tf_idf_vectorizer(GlowInfer *in) {
  const GlowTfIdfVectorizerMembers *m = in->members;
  const GlowType *x = in->in[GLOW_TF_IDF_VECTORIZER_IN_X];
  const GlowType *base = glow_type_scalar(in->ctx, GLOW_KIND_FLOAT);
  int64_t last = -1;
  if (x->unranked)
    return glow_infer_set_unknown(in, 0, base, -1);
  if (x->rank != 1 && x->rank != 2)
    return glow_infer_error(in, "X must have rank 1 or 2, but has type %s",
                            glow_type_str(in->ctx, x));
  for (uint32_t i = 0; i < m->ngram_indexes.count; i++) {
    int64_t index = glow_array_at(m->ngram_indexes, int64_t, i);
    if (index < 0 || index >= INT32_MAX)
      return glow_infer_error(in, "ngram_indexes %u is %lld", i, (long long)index);
    last = index > last ? index : last;
  }
  GlowDim dims[] = {x->dims[0], GLOW_EXACT(last + 1)};
  return glow_infer_set(in, 0, base, x->rank, dims + (x->rank == 1));
}

/* starts[i] (ngram_counts) is the index in the pool where the n-grams of length i + 1 begin. */
static bool check_pool(const GlowNode *n, GlowArray starts, uint32_t pool, int64_t *grams) {
  *grams = 0;
  for (uint32_t i = 0; i < starts.count; i++) {
    int64_t start = glow_array_at(starts, int64_t, i);
    int64_t least = i ? glow_array_at(starts, int64_t, i - 1) : 0;
    if (start < least || start > (int64_t)pool || (i == 0 && start != 0))
      return glow_verify_error(n, "ngram_counts %u is %lld, which is no place in a pool of %u", i,
                               (long long)start, pool);
  }
  for (uint32_t i = 0; i < starts.count; i++) {
    int64_t start = glow_array_at(starts, int64_t, i);
    int64_t end = i + 1 < starts.count ? glow_array_at(starts, int64_t, i + 1) : (int64_t)pool;
    if ((end - start) % (i + 1))
      return glow_verify_error(n, "the pool has %lld items for %u-grams", (long long)(end - start),
                               i + 1);
    *grams += (end - start) / (i + 1);
  }
  return true;
}

bool glow_verify_tf_idf_vectorizer(const GlowNode *n) {
  const GlowTfIdfVectorizerMembers *m = n->members;
  bool strings = glow_node_in(n, GLOW_TF_IDF_VECTORIZER_IN_X)->type->kind == GLOW_KIND_STRING;
  GlowArray pool = strings ? m->pool_strings : m->pool_int64s;
  int64_t grams;
  if ((strings ? m->pool_int64s : m->pool_strings).count || !pool.count)
    return glow_verify_error(n, "X has %s, so %s must be given, and nothing else",
                             strings ? "strings" : "integers",
                             strings ? "pool_strings" : "pool_int64s");
  if (m->min_gram_length < 1 || m->max_gram_length < m->min_gram_length)
    return glow_verify_error(n, "n-grams of length %lld to %lld", (long long)m->min_gram_length,
                             (long long)m->max_gram_length);
  if (m->max_skip_count < 0)
    return glow_verify_error(n, "max_skip_count is %lld", (long long)m->max_skip_count);
  if (!check_pool(n, m->ngram_counts, pool.count, &grams))
    return false;
  if (m->ngram_indexes.count != grams)
    return glow_verify_error(n, "%u ngram_indexes for %lld n-grams", m->ngram_indexes.count,
                             (long long)grams);
  if (m->weights.count && m->weights.count != grams)
    return glow_verify_error(n, "%u weights for %lld n-grams", m->weights.count, (long long)grams);
  return true;
}
