/* TfIdfVectorizer: counts n-grams of a pool in rows of strings or integers.
 *
 * A token is a run of bytes, for integers those of an i64, so that both compare alike. The pool's
 * n-grams are sorted by length and tokens; for each window of a row, all that equal it are found by
 * bisection. With skip distance d, an n-gram takes every d-th token. */
#include "backend/interp/interp_internal.h"
#include "ops/values.h"

#include <stdlib.h>

typedef struct Gram {
  const GlowString *tokens;
  uint32_t size, index; /* index: its number in the pool */
} Gram;

typedef struct Grams {
  Gram *sorted;
  uint32_t count;
  const GlowTfIdfVectorizerMembers *m;
  GlowArena *arena;
} Grams;

static int compare_tokens(const GlowString *a, const GlowString *b) {
  size_t common = a->length < b->length ? a->length : b->length;
  int order = common ? memcmp(a->data, b->data, common) : 0;
  return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int compare_grams(const Gram *a, const Gram *b) {
  if (a->size != b->size)
    return a->size < b->size ? -1 : 1;
  for (uint32_t i = 0; i < a->size; i++) {
    int order = compare_tokens(&a->tokens[i], &b->tokens[i]);
    if (order)
      return order;
  }
  return 0;
}

static int by_tokens(const void *a, const void *b) {
  const Gram *x = a, *y = b;
  int order = compare_grams(x, y);
  return order ? order : (x->index > y->index) - (x->index < y->index);
}

static GlowString *int_tokens(GlowArena *arena, const int64_t *values, size_t count) {
  GlowString *tokens = GLOW_NEW_ARRAY(arena, GlowString, count + 1);
  for (size_t i = 0; i < count; i++)
    tokens[i] = (GlowString){(char *)(uintptr_t)&values[i], sizeof *values};
  return tokens;
}

static GlowString *pool_tokens(GlowArena *arena, const GlowTfIdfVectorizerMembers *m) {
  if (m->pool_int64s.count)
    return int_tokens(arena, m->pool_int64s.data, m->pool_int64s.count);
  GlowString *tokens = GLOW_NEW_ARRAY(arena, GlowString, m->pool_strings.count + 1);
  for (uint32_t i = 0; i < m->pool_strings.count; i++) {
    GlowStr s = glow_array_at(m->pool_strings, GlowStr, i);
    tokens[i] = (GlowString){(char *)(uintptr_t)s, glow_str_length(s)};
  }
  return tokens;
}

static GlowString *row_tokens(GlowArena *arena, const GlowTensor *x) {
  int64_t total = glow_tensor_elements(x);
  if (x->type->kind == GLOW_KIND_STRING) {
    GlowString *tokens = GLOW_NEW_ARRAY(arena, GlowString, (size_t)total + 1);
    for (int64_t i = 0; i < total; i++)
      tokens[i] = glow_tensor_get_string(x, i);
    return tokens;
  }
  int64_t *values = GLOW_NEW_ARRAY(arena, int64_t, (size_t)total + 1);
  for (int64_t i = 0; i < total; i++)
    values[i] = glow_tensor_get_int(x, i);
  return int_tokens(arena, values, (size_t)total);
}

/* The n-grams of lengths that count, sorted. */
static void sort_pool(Grams *g) {
  const GlowTfIdfVectorizerMembers *m = g->m;
  const GlowString *tokens = pool_tokens(g->arena, m);
  uint32_t pool = m->pool_int64s.count ? m->pool_int64s.count : m->pool_strings.count, index = 0;
  g->sorted = GLOW_NEW_ARRAY(g->arena, Gram, m->ngram_indexes.count + 1);
  for (uint32_t size = 1; size <= m->ngram_counts.count; size++) {
    int64_t at = glow_array_at(m->ngram_counts, int64_t, size - 1);
    int64_t end = size < m->ngram_counts.count ? glow_array_at(m->ngram_counts, int64_t, size)
                                               : (int64_t)pool;
    for (; at < end; at += size, index++)
      if (size >= m->min_gram_length && size <= m->max_gram_length)
        g->sorted[g->count++] = (Gram){&tokens[at], size, index};
  }
  qsort(g->sorted, g->count, sizeof *g->sorted, by_tokens);
}

/* Counts every n-gram of the pool that equals `window`. */
static void count_window(const Grams *g, const Gram *window, int64_t *counts) {
  uint32_t low = 0, high = g->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (compare_grams(&g->sorted[middle], window) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < g->count && compare_grams(&g->sorted[low], window) == 0; low++)
    counts[g->sorted[low].index]++;
}

/* Single tokens have no gaps, so they are counted once. */
static void count_row(const Grams *g, const GlowString *row, int64_t length, int64_t *counts) {
  const GlowTfIdfVectorizerMembers *m = g->m;
  uint32_t longest = m->ngram_counts.count;
  GlowString *tokens = GLOW_NEW_ARRAY(g->arena, GlowString, longest + 1);
  for (uint32_t size = 1; size <= longest; size++) {
    if (size < m->min_gram_length || size > m->max_gram_length)
      continue;
    int64_t farthest = size == 1 ? 0 : m->max_skip_count;
    for (int64_t skip = 1; skip - 1 <= farthest && skip * (size - 1) < length; skip++)
      for (int64_t at = 0; at + skip * (size - 1) < length; at++) {
        for (uint32_t i = 0; i < size; i++)
          tokens[i] = row[at + skip * i];
        count_window(g, &(Gram){tokens, size, 0}, counts);
      }
  }
}

/* A row of Y, which is zero: n-gram i goes to ngram_indexes[i], with weights[i]. */
static void store_row(const GlowTfIdfVectorizerMembers *m, const int64_t *counts, float *y) {
  for (uint32_t i = 0; i < m->ngram_indexes.count; i++) {
    float v = (float)(m->mode == GLOW_TF_IDF_MODE_IDF ? counts[i] > 0 : counts[i]);
    if (m->mode != GLOW_TF_IDF_MODE_TF && m->weights.count)
      v *= glow_array_at(m->weights, float, i);
    y[glow_array_at(m->ngram_indexes, int64_t, i)] += v;
  }
}

GlowStatus glow_value_tf_idf_vectorizer(GlowWalk *w, const GlowNode *n, GlowTensor *const *in,
                                        GlowTensor **out) {
  const GlowType *type;
  if (!glow_exec_types(n, (const GlowTensor *const *)in, &type))
    return GLOW_BAD_INPUT;
  out[0] = glow_tensor_create(w->ctx, type);
  const GlowTensor *x = in[0];
  Grams g = {.m = n->members, .arena = glow_arena_create(w->ctx)};
  const GlowString *tokens = row_tokens(g.arena, x);
  int64_t rows = x->type->rank == 2 ? x->type->dims[0].size : 1;
  int64_t length = x->type->dims[x->type->rank - 1].size;
  int64_t width = type->dims[type->rank - 1].size;
  int64_t *counts = GLOW_NEW_ARRAY(g.arena, int64_t, g.m->ngram_indexes.count + 1);
  sort_pool(&g);
  for (int64_t r = 0; r < rows; r++) {
    memset(counts, 0, g.m->ngram_indexes.count * sizeof *counts);
    count_row(&g, tokens + r * length, length, counts);
    store_row(g.m, counts, (float *)out[0]->data + r * width);
  }
  glow_arena_destroy(g.arena);
  return GLOW_OK;
}
