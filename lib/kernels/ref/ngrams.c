/* TfIdfVectorizer: counts n-grams of a pool in rows of integers or strings.
 *
 * The pool's n-grams are sorted by length and tokens; for each window of a row, all that equal it
 * are found by bisection. With skip distance d, an n-gram takes every d-th token. Scratch holds
 * four numbers for each n-gram of the pool, and nothing for rows. */
#include "kernels/ref/order.h"

/* Every step-th token from `at` on, of X or of the pool. */
typedef struct GlowGram {
  bool of_x;
  int64_t at, step, size;
} GlowGram;

typedef struct GlowGrams {
  const GlowTfIdfVectorizerMembers *m;
  const GlowBuf *x;
  int64_t count;         /* n-grams of the pool */
  int64_t *start, *size; /* of each n-gram, its place in the pool and its length */
  int64_t *counts;       /* of each, how often it stands in a row */
  int64_t *sorted;       /* the n-grams whose lengths count (length_counts), in order */
  int64_t nsorted;
} GlowGrams;

static GlowString pool_text(const GlowTfIdfVectorizerMembers *m, int64_t i) {
  const char *text = glow_array_at(m->pool_strings, char *, i);
  GlowString s = {(char *)(uintptr_t)text, 0};
  while (text[s.length])
    s.length++;
  return s;
}

static int order_texts(const GlowGrams *g, const GlowGram *a, const GlowGram *b, int64_t i) {
  const GlowString *x = g->x->data;
  GlowString p = a->of_x ? x[a->at + i * a->step] : pool_text(g->m, a->at + i * a->step);
  GlowString q = b->of_x ? x[b->at + i * b->step] : pool_text(g->m, b->at + i * b->step);
  return glow_string_order(&p, &q);
}

static int64_t number_at(const GlowGrams *g, const GlowGram *a, int64_t i) {
  int64_t at = a->at + i * a->step;
  return a->of_x ? glow_ref_int(g->x, at) : glow_array_at(g->m->pool_int64s, int64_t, at);
}

static int order_grams(const GlowGrams *g, const GlowGram *a, const GlowGram *b) {
  if (a->size != b->size)
    return a->size < b->size ? -1 : 1;
  int order = 0;
  for (int64_t i = 0; order == 0 && i < a->size; i++) {
    if (g->x->kind == GLOW_KIND_STRING) {
      order = order_texts(g, a, b, i);
    } else {
      int64_t p = number_at(g, a, i), q = number_at(g, b, i);
      order = (p > q) - (p < q);
    }
  }
  return order;
}

static GlowGram pool_gram(const GlowGrams *g, int64_t i) {
  return (GlowGram){.at = g->start[i], .step = 1, .size = g->size[i]};
}
static bool gram_follows(const void *with, int64_t i, int64_t j) {
  const GlowGrams *g = with;
  GlowGram a = pool_gram(g, i), b = pool_gram(g, j);
  return order_grams(g, &a, &b) > 0;
}

static bool length_counts(const GlowTfIdfVectorizerMembers *m, int64_t size) {
  return size >= m->min_gram_length && size <= m->max_gram_length;
}

/* Finds the n-grams in the pool and sorts those of lengths that count. */
static void sort_pool(GlowGrams *g) {
  const GlowTfIdfVectorizerMembers *m = g->m;
  int64_t pool = g->x->kind == GLOW_KIND_STRING ? m->pool_strings.count : m->pool_int64s.count;
  int64_t lengths = m->ngram_counts.count, i = 0;
  for (int64_t size = 1; size <= lengths; size++) {
    int64_t at = glow_array_at(m->ngram_counts, int64_t, size - 1);
    int64_t end = size < lengths ? glow_array_at(m->ngram_counts, int64_t, size) : pool;
    for (; at < end; at += size, i++) {
      g->start[i] = at;
      g->size[i] = size;
      if (length_counts(m, size))
        g->sorted[g->nsorted++] = i;
    }
  }
  glow_sort_indices(g->sorted, g->counts, g->nsorted, gram_follows, g);
}

/* Counts every n-gram of the pool that equals `window`. */
static void count_window(GlowGrams *g, const GlowGram *window) {
  int64_t low = 0, high = g->nsorted;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    GlowGram gram = pool_gram(g, g->sorted[middle]);
    if (order_grams(g, &gram, window) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < g->nsorted; low++) {
    GlowGram gram = pool_gram(g, g->sorted[low]);
    if (order_grams(g, &gram, window) != 0)
      return;
    g->counts[g->sorted[low]]++;
  }
}

/* Single tokens have no gaps, so they are counted once. */
static void count_row(GlowGrams *g, int64_t first, int64_t length) {
  for (int64_t i = 0; i < g->count; i++)
    g->counts[i] = 0;
  for (int64_t size = 1; size <= (int64_t)g->m->ngram_counts.count; size++) {
    int64_t farthest = size == 1 ? 0 : g->m->max_skip_count;
    if (!length_counts(g->m, size))
      continue;
    for (int64_t skip = 1; skip - 1 <= farthest && skip * (size - 1) < length; skip++)
      for (int64_t at = 0; at + skip * (size - 1) < length; at++)
        count_window(g, &(GlowGram){true, first + at, skip, size});
  }
}

/* A row of Y, which is zero: n-gram i goes to ngram_indexes[i], with weights[i]. */
static void store_row(const GlowGrams *g, float *y) {
  const GlowTfIdfVectorizerMembers *m = g->m;
  for (int64_t i = 0; i < g->count; i++) {
    float v = (float)(m->mode == GLOW_TF_IDF_MODE_IDF ? g->counts[i] > 0 : g->counts[i]);
    if (m->mode != GLOW_TF_IDF_MODE_TF && m->weights.count)
      v *= glow_array_at(m->weights, float, i);
    y[glow_array_at(m->ngram_indexes, int64_t, i)] += v;
  }
}

size_t glow_scratch_tf_idf_vectorizer(const GlowCall *call) {
  const GlowTfIdfVectorizerMembers *m = call->members;
  return 4 * ((size_t)m->ngram_indexes.count + 1) * sizeof(int64_t);
}

GlowRunError glow_kernel_tf_idf_vectorizer(GlowCall *call) {
  const GlowTfIdfVectorizerMembers *m = call->members;
  const GlowBuf *x = &call->in[0];
  GlowBuf *y = &call->out[0];
  int64_t count = m->ngram_indexes.count, *memory = call->scratch;
  int64_t rows = x->rank == 2 ? x->dims[0] : 1;
  int64_t length = x->dims[x->rank - 1], width = y->dims[y->rank - 1];
  GlowGrams g = {.m = m, .x = x, .count = count, .start = memory, .size = memory + count};
  g.counts = memory + 2 * count;
  g.sorted = memory + 3 * count;
  glow_ref_clear(y);
  sort_pool(&g);
  for (int64_t r = 0; r < rows; r++) {
    count_row(&g, r * length, length);
    store_row(&g, (float *)y->data + r * width);
  }
  return GLOW_RUN_OK;
}
