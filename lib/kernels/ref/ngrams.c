/* TfIdfVectorizer: counts n-grams of a pool in rows of integers or strings.
 *
 * The pool's n-grams are sorted by length and tokens; for each window of a row, all that equal it
 * are found by bisection. Of integers those of a length that begin with the same token are a group,
 * which a hash of both finds: most windows are in none. With skip distance d, an n-gram takes every
 * d-th token. Scratch holds some numbers for each n-gram of the pool, and nothing for rows. */
#include "kernels/ref/order.h"

/* Every step-th token from `at` on, of X or of the pool. */
typedef struct GlowGram {
  bool of_x;
  int64_t at, step, size;
} GlowGram;

/* Sorted n-grams [low, high) of integers: all of a size that begin with a token. */
typedef struct GlowGroup {
  int64_t size, token, low, high;
} GlowGroup;

typedef struct GlowGrams {
  const GlowTfIdfVectorizerMembers *m;
  const GlowBuf *x;
  int64_t count;         /* n-grams of the pool */
  int64_t *start, *size; /* of each n-gram, its place in the pool and its length */
  int64_t *counts;       /* of each, how often it stands in a row */
  int64_t *sorted;       /* the n-grams whose lengths count (length_counts), in order */
  int64_t nsorted;
  GlowGroup *groups;
  int64_t *slots; /* a table of 2^bits: 1 + the number of a group, 0 where there is none */
  int bits;
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

/* Counts every n-gram of sorted ones [low, high) that equals `window`. */
static void count_window(GlowGrams *g, const GlowGram *window, int64_t low, int64_t high) {
  const int64_t end = high;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    GlowGram gram = pool_gram(g, g->sorted[middle]);
    if (order_grams(g, &gram, window) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < end; low++) {
    GlowGram gram = pool_gram(g, g->sorted[low]);
    if (order_grams(g, &gram, window) != 0)
      return;
    g->counts[g->sorted[low]]++;
  }
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static inline int64_t slot_of(int bits, int64_t size, int64_t token) {
  const uint64_t mixed = ((uint64_t)token + (uint64_t)size * UINT64_C(0xd6e8feb86659fd93)) *
                         UINT64_C(0x9e3779b97f4a7c15);
  return (int64_t)(mixed >> (64 - bits));
}

/* The group of a token, from its slot on, or NULL. */
static inline const GlowGroup *find_group(const GlowGrams *g, int64_t size, int64_t token) {
  int64_t slot = slot_of(g->bits, size, token);
  for (; g->slots[slot]; slot = (slot + 1) & ((INT64_C(1) << g->bits) - 1)) {
    const GlowGroup *group = &g->groups[g->slots[slot] - 1];
    if (group->token == token && group->size == size)
      return group;
  }
  return NULL;
}

/* More slots than four times the n-grams, so that most stay empty. */
static int slot_bits(int64_t count) {
  int bits = 4;
  while (INT64_C(1) << bits < 4 * count + 1)
    bits++;
  return bits;
}

static void find_groups(GlowGrams *g) {
  int64_t n = 0;
  for (int64_t i = 0; i < INT64_C(1) << g->bits; i++)
    g->slots[i] = 0;
  for (int64_t i = 0; i < g->nsorted; i++) {
    const int64_t gram = g->sorted[i], size = g->size[gram];
    const int64_t token = glow_array_at(g->m->pool_int64s, int64_t, g->start[gram]);
    if (n && g->groups[n - 1].token == token && g->groups[n - 1].size == size) {
      g->groups[n - 1].high++;
      continue;
    }
    g->groups[n++] = (GlowGroup){size, token, i, i + 1};
    int64_t slot = slot_of(g->bits, size, token);
    while (g->slots[slot])
      slot = (slot + 1) & ((INT64_C(1) << g->bits) - 1);
    g->slots[slot] = n;
  }
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static inline int64_t token_at(const GlowBuf *x, int64_t i) {
  return x->kind == GLOW_KIND_I64 ? ((const int64_t *)x->data)[i] : ((const int32_t *)x->data)[i];
}

/* How an n-gram of the pool and the window at `at` compare that begin with the same token. */
static inline int order_rest(const GlowGrams *g, int64_t gram, int64_t at, int64_t step) {
  const int64_t *tokens = &glow_array_at(g->m->pool_int64s, int64_t, g->start[gram]);
  for (int64_t i = 1; i < g->size[gram]; i++) {
    const int64_t p = tokens[i], q = token_at(g->x, at + i * step);
    if (p != q)
      return p < q ? -1 : 1;
  }
  return 0;
}

static void count_group(GlowGrams *g, const GlowGroup *group, int64_t at, int64_t step) {
  int64_t low = group->low, high = group->high;
  for (; group->size == 1 && low < high; low++)
    g->counts[g->sorted[low]]++;
  while (high - low > 4) {
    const int64_t middle = low + (high - low) / 2;
    if (order_rest(g, g->sorted[middle], at, step) < 0)
      low = middle + 1;
    else
      high = middle + 1; /* it may be the first that equals */
  }
  for (int order = -1; low < group->high && order <= 0; low++) {
    order = order_rest(g, g->sorted[low], at, step);
    g->counts[g->sorted[low]] += order == 0;
  }
}

enum { CHUNK = 64 };

/* Writes which of n <= CHUNK tokens may begin n-grams of a size, those whose slots are taken, and
 * what is in their slots. No branch depends on a token. */
static int64_t find_candidates(const GlowGrams *g, int64_t size, const int64_t *tokens, int64_t n,
                               int32_t *at, int64_t *in_slot) {
  const int64_t *slots = g->slots;
  const int bits = g->bits;
  int64_t count = 0;
  for (int32_t i = 0; i < n; i++) {
    const int64_t taken = slots[slot_of(bits, size, tokens[i])];
    at[count] = i;
    in_slot[count] = taken;
    count += taken != 0;
  }
  return count;
}

/* Counts `count` windows of neighbouring beginnings. */
static void count_windows(GlowGrams *g, int64_t first, int64_t count, int64_t step, int64_t size) {
  if (g->x->kind == GLOW_KIND_STRING) {
    for (int64_t i = 0; i < count; i++)
      count_window(g, &(GlowGram){true, first + i, step, size}, 0, g->nsorted);
    return;
  }
  for (int64_t done = 0, n; done < count; done += n) {
    int64_t tokens[CHUNK], in_slot[CHUNK];
    int32_t at[CHUNK];
    n = count - done < CHUNK ? count - done : CHUNK;
    glow_load_int(g->x, first + done, 1, n, tokens);
    const int64_t candidates = find_candidates(g, size, tokens, n, at, in_slot);
    for (int64_t i = 0; i < candidates; i++) {
      const int64_t token = tokens[at[i]];
      const GlowGroup *group = &g->groups[in_slot[i] - 1];
      if (group->token != token || group->size != size)
        group = find_group(g, size, token);
      if (group)
        count_group(g, group, first + done + at[i], step);
    }
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
      count_windows(g, first, length - skip * (size - 1), skip, size);
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
  int64_t count = m->ngram_indexes.count;
  return (size_t)(8 * count + (INT64_C(1) << slot_bits(count))) * sizeof(int64_t);
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
  g.groups = (GlowGroup *)(memory + 4 * count);
  g.slots = memory + 8 * count;
  g.bits = slot_bits(count);
  glow_ref_clear(y);
  sort_pool(&g);
  if (x->kind != GLOW_KIND_STRING)
    find_groups(&g);
  for (int64_t r = 0; r < rows; r++) {
    count_row(&g, r * length, length);
    store_row(&g, (float *)y->data + r * width);
  }
  return GLOW_RUN_OK;
}
