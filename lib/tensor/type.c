/* Types: interning, printing, and how two types relate.
 *
 * Each type has a key, a row of words, as many as its rank asks for. Types with equal keys are the
 * same object. Keys contain addresses of interned strings, layouts and types. That does no harm,
 * since the table is never iterated. */
#include <string.h>

#include "tensor/type.h"
#include "tensor/uthash.h"

enum { HEAD_WORDS = 5, KEY_WORDS = HEAD_WORDS + 2 * GLOW_MAX_RANK };

struct GlowTypeEntry {
  uint64_t key[KEY_WORDS];
  GlowType type;
  UT_hash_handle hh;
};

/* Returns the bytes of the key. */
static size_t make_key(const GlowType *t, uint64_t *key) {
  uint32_t scale;
  memcpy(&scale, &t->scale, sizeof scale);
  key[0] = (uint64_t)t->cls | (uint64_t)t->kind << 8 | (uint64_t)t->quantized << 16 |
           (uint64_t)t->unranked << 17 | (uint64_t)t->rank << 24;
  key[1] = (uint64_t)scale << 32 | (uint32_t)t->offset;
  key[2] = (uint64_t)(uintptr_t)t->layout;
  key[3] = (uint64_t)(uintptr_t)t->elem;
  key[4] = (uint64_t)t->max_count;
  for (uint32_t i = 0; i < t->rank; i++) {
    const GlowExtent *e = t->dims[i].extent;
    key[HEAD_WORDS + 2 * i] = (uint64_t)t->dims[i].kind | (uint64_t)(e ? e->id : 0) << 8;
    key[HEAD_WORDS + 1 + 2 * i] = t->dims[i].kind == GLOW_DIM_SYMBOL
                                      ? (uint64_t)(uintptr_t)t->dims[i].symbol
                                      : (uint64_t)t->dims[i].size;
  }
  return (HEAD_WORDS + 2 * t->rank) * sizeof *key;
}

static const GlowType *intern(GlowContext *ctx, const GlowType *t) {
  uint64_t key[KEY_WORDS];
  const size_t bytes = make_key(t, key);
  struct GlowTypeEntry *head = ctx->types, *entry = NULL;
  HASH_FIND(hh, head, key, bytes, entry);
  if (entry)
    return &entry->type;
  entry = GLOW_NEW(ctx->arena, struct GlowTypeEntry);
  memcpy(entry->key, key, bytes);
  entry->type = *t;
  entry->type.id = HASH_COUNT(head) + 1;
  HASH_ADD(hh, head, key, bytes, entry);
  ctx->types = head;
  return &entry->type;
}

bool glow_type_names_symbol(const GlowContext *ctx, GlowStr name) {
  for (const struct GlowTypeEntry *e = ctx->types; e; e = e->hh.next)
    for (uint32_t i = 0; i < e->type.rank; i++)
      if (e->type.dims[i].kind == GLOW_DIM_SYMBOL && e->type.dims[i].symbol == name)
        return true;
  return false;
}

/* ---- Dims ------------------------------------------------------------------------------------ */

bool glow_dim_allows(GlowDim d, int64_t n) {
  if (d.kind == GLOW_DIM_EXACT)
    return n == d.size;
  if (n < 0 || (glow_dim_has_size(d) && n > d.size))
    return false;
  return !d.extent || (n >= d.extent->least && (n - d.extent->least) % d.extent->step == 0);
}

bool glow_dim_equals(GlowDim a, GlowDim b) {
  return a.kind == b.kind && a.size == b.size && a.symbol == b.symbol && a.extent == b.extent;
}

const char *glow_dim_str(GlowContext *ctx, GlowDim d) {
  if (d.kind == GLOW_DIM_SYMBOL)
    return glow_arena_printf(ctx->arena, "$%s", d.symbol);
  if (d.kind == GLOW_DIM_UNKNOWN)
    return "?";
  return glow_arena_printf(ctx->arena, "%s%lld", d.kind == GLOW_DIM_BOUND ? ".." : "",
                           (long long)d.size);
}

const char *glow_dim_range_str(GlowContext *ctx, GlowDim d) {
  return d.extent ? glow_extent_str(ctx, d.extent) : glow_dim_str(ctx, d);
}

/* ---- Constructors ---------------------------------------------------------------------------- */

static void set_dims(GlowType *t, uint32_t rank, const GlowDim *dims) {
  memset(t->dims, 0, sizeof t->dims);
  t->rank = rank;
  for (uint32_t i = 0; i < rank; i++) {
    t->dims[i].kind = dims[i].kind;
    if (dims[i].kind == GLOW_DIM_SYMBOL && dims[i].extent)
      t->dims[i] = glow_dim_ranged(dims[i].extent);
    else if (dims[i].kind == GLOW_DIM_SYMBOL)
      t->dims[i].symbol = dims[i].symbol;
    else if (dims[i].kind != GLOW_DIM_UNKNOWN)
      t->dims[i].size = dims[i].size;
  }
}

const GlowType *glow_type_tensor(GlowContext *ctx, GlowKind kind, uint32_t rank,
                                 const GlowDim *dims) {
  GLOW_CHECK(ctx, rank <= GLOW_MAX_RANK, "a tensor type of too high a rank");
  GlowType t = {.cls = GLOW_TYPE_TENSOR, .kind = kind};
  set_dims(&t, rank, dims);
  return intern(ctx, &t);
}

const GlowType *glow_type_exact(GlowContext *ctx, GlowKind kind, uint32_t rank,
                                const int64_t *dims) {
  GLOW_CHECK(ctx, rank <= GLOW_MAX_RANK, "a tensor type of too high a rank");
  GlowDim exact[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++)
    exact[i] = GLOW_EXACT(dims[i]);
  return glow_type_tensor(ctx, kind, rank, exact);
}

const GlowType *glow_type_scalar(GlowContext *ctx, GlowKind kind) {
  return glow_type_tensor(ctx, kind, 0, NULL);
}

const GlowType *glow_type_unranked(GlowContext *ctx, GlowKind kind) {
  GlowType t = {.cls = GLOW_TYPE_TENSOR, .kind = kind, .unranked = true};
  return intern(ctx, &t);
}

const GlowType *glow_type_seq(GlowContext *ctx, const GlowType *elem, int64_t max_count) {
  GlowType t = {.cls = GLOW_TYPE_SEQ, .elem = elem, .max_count = max_count < 0 ? -1 : max_count};
  return intern(ctx, &t);
}

const GlowType *glow_type_opt(GlowContext *ctx, const GlowType *elem) {
  GlowType t = {.cls = GLOW_TYPE_OPT, .elem = elem};
  return intern(ctx, &t);
}

const GlowType *glow_type_error(GlowContext *ctx) {
  GlowType t = {.cls = GLOW_TYPE_ERROR};
  return intern(ctx, &t);
}

const GlowType *glow_type_with_kind(GlowContext *ctx, const GlowType *t, GlowKind kind) {
  GlowType n = *t;
  n.kind = kind;
  n.quantized = false;
  n.scale = 0;
  n.offset = 0;
  return intern(ctx, &n);
}

const GlowType *glow_type_with_dims(GlowContext *ctx, const GlowType *t, uint32_t rank,
                                    const GlowDim *dims) {
  GLOW_CHECK(ctx, rank <= GLOW_MAX_RANK, "a tensor type of too high a rank");
  GlowType n = *t;
  GlowDim copy[GLOW_MAX_RANK]; /* dims may be t's own */
  for (uint32_t i = 0; i < rank; i++)
    copy[i] = dims[i];
  n.unranked = false;
  n.layout = NULL;
  set_dims(&n, rank, copy);
  return intern(ctx, &n);
}

const GlowType *glow_type_with_layout(GlowContext *ctx, const GlowType *t,
                                      const GlowLayout *layout) {
  GlowType n = *t;
  n.layout = layout && layout->nblocks ? layout : NULL; /* a layout without blocks is plain */
  return intern(ctx, &n);
}

const GlowType *glow_type_interned(GlowContext *ctx, const GlowType *t) { return intern(ctx, t); }

void glow_type_fill(GlowType *to, const GlowType *t, const int64_t *extents) {
  *to = *t;
  for (uint32_t a = 0; a < t->rank; a++)
    to->dims[a] = GLOW_EXACT(extents[a]);
}

const GlowType *glow_type_room(GlowContext *ctx, const GlowType *t) {
  GlowDim dims[GLOW_MAX_RANK];
  if (!glow_type_is_tensor(t) || glow_type_is_static(t))
    return t;
  for (uint32_t a = 0; a < t->rank; a++)
    dims[a] = GLOW_EXACT(t->dims[a].size);
  return glow_type_with_layout(ctx, glow_type_with_dims(ctx, t, t->rank, dims), t->layout);
}

bool glow_type_grows(const GlowType *t) {
  if (!glow_type_is_tensor(t) || t->unranked || t->layout || !t->rank || !t->dims[0].extent ||
      t->dims[0].extent->form)
    return false;
  for (uint32_t a = 1; a < t->rank; a++)
    if (t->dims[a].kind != GLOW_DIM_EXACT)
      return false;
  return true;
}

bool glow_type_takes_rows(const GlowType *t, GlowDim rows) {
  GlowDim all = t->dims[0];
  int64_t least = rows.extent ? rows.extent->least : rows.size;
  bool known = glow_dim_is_known(rows);
  bool steps = !rows.extent || rows.extent->least == rows.extent->most ||
               rows.extent->step % all.extent->step == 0;
  return known && steps && glow_dim_allows(all, least) && glow_dim_allows(all, rows.size);
}

const GlowType *glow_type_with_rows(GlowContext *ctx, const GlowType *t, GlowDim rows) {
  GlowDim dims[GLOW_MAX_RANK];
  memcpy(dims, t->dims, sizeof dims);
  dims[0] = rows;
  return glow_type_with_dims(ctx, t, t->rank, dims);
}

const GlowType *glow_type_with_quant(GlowContext *ctx, const GlowType *t, bool quantized,
                                     float scale, int32_t offset) {
  GlowType n = *t;
  n.quantized = quantized;
  n.scale = quantized ? scale : 0;
  n.offset = quantized ? offset : 0;
  return intern(ctx, &n);
}

const char *glow_type_check_dims(GlowKind kind, uint32_t rank, const GlowDim *dims) {
  if ((unsigned)kind >= GLOW_KIND_COUNT)
    return "unknown element kind";
  if (rank > GLOW_MAX_RANK)
    return "the rank is over 8";
  int64_t product = 1;
  for (uint32_t i = 0; i < rank; i++) {
    if (!glow_dim_has_size(dims[i]))
      continue;
    if (dims[i].size < 0)
      return "an extent is negative";
    if (dims[i].size > 0 &&
        (__builtin_mul_overflow(product, dims[i].size, &product) || product > GLOW_MAX_ELEMENTS))
      return "the tensor has more than 2^40 elements";
  }
  return NULL;
}

/* ---- Questions ------------------------------------------------------------------------------- */

bool glow_type_is_static(const GlowType *t) {
  if (t->cls != GLOW_TYPE_TENSOR || t->unranked)
    return false;
  for (uint32_t i = 0; i < t->rank; i++)
    if (t->dims[i].kind != GLOW_DIM_EXACT)
      return false;
  return true;
}

bool glow_type_is_known(const GlowType *t) {
  if (t->cls != GLOW_TYPE_TENSOR || t->unranked)
    return false;
  for (uint32_t i = 0; i < t->rank; i++)
    if (t->dims[i].kind != GLOW_DIM_EXACT && !t->dims[i].extent)
      return false;
  return true;
}

bool glow_type_is_same_shape(const GlowType *a, const GlowType *b) {
  bool same = glow_type_is_known(a) && glow_type_is_known(b) && a->rank == b->rank;
  for (uint32_t i = 0; same && i < a->rank; i++)
    same = glow_dim_equals(a->dims[i], b->dims[i]);
  return same;
}

/* How often the symbol of d is an extent of t. */
static uint32_t count_symbol(const GlowType *t, GlowDim d) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < t->rank; i++)
    count += t->dims[i].extent == d.extent;
  return count;
}

static int64_t number_of_exact(const GlowType *t) {
  int64_t n = 1;
  for (uint32_t i = 0; i < t->rank; i++)
    if (t->dims[i].kind == GLOW_DIM_EXACT)
      n *= t->dims[i].size;
  return n;
}

bool glow_type_same_elements(const GlowType *a, const GlowType *b) {
  if (!glow_type_is_known(a) || !glow_type_is_known(b) || number_of_exact(a) != number_of_exact(b))
    return false;
  for (uint32_t i = 0; i < a->rank; i++)
    if (a->dims[i].extent && count_symbol(a, a->dims[i]) != count_symbol(b, a->dims[i]))
      return false;
  for (uint32_t i = 0; i < b->rank; i++)
    if (b->dims[i].extent && !count_symbol(a, b->dims[i]))
      return false;
  return true;
}

bool glow_type_is_bounded(const GlowType *t) {
  if (t->cls == GLOW_TYPE_SEQ)
    return t->max_count >= 0 && glow_type_is_bounded(t->elem);
  if (t->cls == GLOW_TYPE_OPT)
    return glow_type_is_bounded(t->elem);
  if (t->cls != GLOW_TYPE_TENSOR || t->unranked)
    return false;
  for (uint32_t i = 0; i < t->rank; i++)
    if (!glow_dim_has_size(t->dims[i]))
      return false;
  return true;
}

static bool has_symbols(const GlowType *t, bool ranged) {
  while (t->cls == GLOW_TYPE_SEQ || t->cls == GLOW_TYPE_OPT)
    t = t->elem;
  for (uint32_t i = 0; i < t->rank; i++)
    if (t->dims[i].kind == GLOW_DIM_SYMBOL && (ranged || !t->dims[i].extent))
      return true;
  return false;
}

bool glow_type_has_symbols(const GlowType *t) { return has_symbols(t, true); }
bool glow_type_has_rangeless(const GlowType *t) { return has_symbols(t, false); }

int64_t glow_type_elements(const GlowType *t) {
  if (t->cls != GLOW_TYPE_TENSOR || !glow_type_is_bounded(t))
    return -1;
  int64_t n = 1;
  for (uint32_t i = 0; i < t->rank; i++)
    if (t->dims[i].size == 0)
      return 0;
  for (uint32_t i = 0; i < t->rank; i++)
    if (__builtin_mul_overflow(n, t->dims[i].size, &n))
      return -1;
  return n;
}

int64_t glow_type_bytes(const GlowType *t) {
  int64_t n = glow_type_elements(t);
  if (n <= 0)
    return n;
  if (t->layout) {
    int64_t dims[GLOW_MAX_RANK] = {0}, physical[GLOW_MAX_RANK + 4];
    for (uint32_t i = 0; i < t->rank; i++)
      dims[i] = t->dims[i].size;
    uint32_t rank = glow_layout_physical(t->layout, t->rank, dims, physical);
    n = 1;
    for (uint32_t i = 0; i < rank; i++)
      if (__builtin_mul_overflow(n, physical[i], &n))
        return -1;
  }
  int64_t bits = glow_kind_info[t->kind].bits, bytes;
  if (bits < 8)
    return n / (8 / bits) + (n % (8 / bits) != 0);
  return __builtin_mul_overflow(n, bits / 8, &bytes) ? -1 : bytes;
}

/* ---- Fit, meet and join ---------------------------------------------------------------------- */

/* Combines the fits of two parts: a contradiction wins, then a narrower claim, then a wider one. */
static GlowFit worse(GlowFit a, GlowFit b) {
  static const int weight[] = {[GLOW_FIT_EQUAL] = 0,
                               [GLOW_FIT_WIDER] = 1,
                               [GLOW_FIT_NARROWER] = 2,
                               [GLOW_FIT_CONTRADICTS] = 3};
  return weight[a] > weight[b] ? a : b;
}

/* How much a dim says, as a number: unknown, symbol, bound or symbol with a range, exact. */
static int precision(const GlowDim *d) {
  return d->kind == GLOW_DIM_EXACT ? 3 : glow_dim_has_size(*d) ? 2 : d->symbol ? 1 : 0;
}

/* The same for dims that allow several extents, where both say how large they can be. What names a
 * symbol says more than a bound that is not below its range. */
static GlowFit open_fit(const GlowDim *claimed, const GlowDim *proved) {
  if (claimed->extent == proved->extent && claimed->size == proved->size)
    return GLOW_FIT_EQUAL;
  if (!claimed->extent)
    return claimed->size < proved->size ? GLOW_FIT_NARROWER : GLOW_FIT_WIDER;
  return claimed->extent->least > proved->size ? GLOW_FIT_CONTRADICTS : GLOW_FIT_NARROWER;
}

static GlowFit dim_fit(const GlowDim *claimed, const GlowDim *proved) {
  int c = precision(claimed), p = precision(proved);
  if (c >= 2 && p >= 2) {
    if (c == 2 && p == 2)
      return open_fit(claimed, proved);
    if (c == p && claimed->size == proved->size)
      return GLOW_FIT_EQUAL;
    if (p == 3)
      return glow_dim_allows(*claimed, proved->size) && c == 2 ? GLOW_FIT_WIDER
                                                               : GLOW_FIT_CONTRADICTS;
    return glow_dim_allows(*proved, claimed->size) ? GLOW_FIT_NARROWER : GLOW_FIT_CONTRADICTS;
  }
  if (c == p)
    return claimed->symbol == proved->symbol ? GLOW_FIT_EQUAL : GLOW_FIT_NARROWER;
  return c > p ? GLOW_FIT_NARROWER : GLOW_FIT_WIDER;
}

static bool same_element(const GlowType *a, const GlowType *b) {
  return a->kind == b->kind && a->quantized == b->quantized &&
         (!a->quantized ||
          (!memcmp(&a->scale, &b->scale, sizeof a->scale) && a->offset == b->offset));
}

static GlowFit tensor_fit(const GlowType *claimed, const GlowType *proved) {
  if (!same_element(claimed, proved) || (proved->layout && claimed->layout != proved->layout))
    return GLOW_FIT_CONTRADICTS;
  if (claimed->unranked || proved->unranked)
    return claimed->unranked == proved->unranked ? GLOW_FIT_EQUAL
           : claimed->unranked                   ? GLOW_FIT_WIDER
                                                 : GLOW_FIT_NARROWER;
  if (claimed->rank != proved->rank)
    return GLOW_FIT_CONTRADICTS;
  GlowFit fit = GLOW_FIT_EQUAL;
  for (uint32_t i = 0; i < claimed->rank; i++)
    fit = worse(fit, dim_fit(&claimed->dims[i], &proved->dims[i]));
  return fit;
}

GlowFit glow_type_fit(const GlowType *claimed, const GlowType *proved) {
  if (claimed == proved || claimed->cls == GLOW_TYPE_ERROR || proved->cls == GLOW_TYPE_ERROR)
    return GLOW_FIT_EQUAL;
  if (claimed->cls != proved->cls)
    return GLOW_FIT_CONTRADICTS;
  if (claimed->cls == GLOW_TYPE_TENSOR)
    return tensor_fit(claimed, proved);
  GlowFit fit = glow_type_fit(claimed->elem, proved->elem);
  if (claimed->cls == GLOW_TYPE_SEQ && claimed->max_count != proved->max_count) {
    /* As unsigned numbers, -1 is the largest bound. */
    bool narrower = (uint64_t)claimed->max_count < (uint64_t)proved->max_count;
    fit = worse(fit, narrower ? GLOW_FIT_NARROWER : GLOW_FIT_WIDER);
  }
  return fit;
}

static const GlowType *tensor_meet(GlowContext *ctx, const GlowType *a, const GlowType *b) {
  if (!same_element(a, b) || (a->layout && b->layout && a->layout != b->layout))
    return NULL;
  if (a->unranked || b->unranked)
    return a->unranked ? b : a;
  if (a->rank != b->rank)
    return NULL;
  GlowType t = *a;
  t.layout = a->layout ? a->layout : b->layout;
  for (uint32_t i = 0; i < a->rank; i++) {
    switch (dim_fit(&a->dims[i], &b->dims[i])) {
    case GLOW_FIT_EQUAL:
    case GLOW_FIT_NARROWER:
      break;
    case GLOW_FIT_WIDER:
      t.dims[i] = b->dims[i];
      break;
    case GLOW_FIT_CONTRADICTS:
      return NULL;
    }
  }
  return intern(ctx, &t);
}

const GlowType *glow_type_meet(GlowContext *ctx, const GlowType *a, const GlowType *b) {
  if (a == b || b->cls == GLOW_TYPE_ERROR)
    return a;
  if (a->cls == GLOW_TYPE_ERROR)
    return b;
  if (a->cls != b->cls)
    return NULL;
  if (a->cls == GLOW_TYPE_TENSOR)
    return tensor_meet(ctx, a, b);
  const GlowType *elem = glow_type_meet(ctx, a->elem, b->elem);
  if (!elem || a->cls == GLOW_TYPE_OPT)
    return elem ? glow_type_opt(ctx, elem) : NULL;
  bool narrower = (uint64_t)a->max_count < (uint64_t)b->max_count;
  return glow_type_seq(ctx, elem, narrower ? a->max_count : b->max_count);
}

static GlowDim dim_join(const GlowDim *a, const GlowDim *b) {
  if (dim_fit(a, b) == GLOW_FIT_EQUAL)
    return *a;
  if (precision(a) < 2 || precision(b) < 2)
    return GLOW_UNKNOWN;
  return GLOW_BOUND(a->size > b->size ? a->size : b->size);
}

const GlowType *glow_type_join(GlowContext *ctx, const GlowType *a, const GlowType *b) {
  if (a == b || a->cls == GLOW_TYPE_ERROR)
    return a;
  if (b->cls == GLOW_TYPE_ERROR)
    return b;
  if (a->cls != b->cls)
    return NULL;
  if (a->cls != GLOW_TYPE_TENSOR) {
    const GlowType *elem = glow_type_join(ctx, a->elem, b->elem);
    if (!elem || a->cls == GLOW_TYPE_OPT)
      return elem ? glow_type_opt(ctx, elem) : NULL;
    bool wider = (uint64_t)a->max_count > (uint64_t)b->max_count;
    return glow_type_seq(ctx, elem, wider ? a->max_count : b->max_count);
  }
  if (!same_element(a, b) || a->layout != b->layout)
    return NULL;
  GlowType t = *a;
  if (a->unranked || b->unranked || a->rank != b->rank) {
    set_dims(&t, 0, NULL);
    t.unranked = true;
    t.layout = NULL;
    return intern(ctx, &t);
  }
  for (uint32_t i = 0; i < a->rank; i++)
    t.dims[i] = dim_join(&a->dims[i], &b->dims[i]);
  /* Bounds of several dimensions may multiply past the limit that each type respected. */
  if (glow_type_check_dims(t.kind, t.rank, t.dims))
    for (uint32_t i = 0; i < a->rank; i++)
      if (t.dims[i].kind == GLOW_DIM_BOUND)
        t.dims[i] = GLOW_UNKNOWN;
  return intern(ctx, &t);
}

/* ---- Text ------------------------------------------------------------------------------------ */

static bool is_name_char(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '$' || c == '/' || c == '-';
}

/* Symbols are written like names of values: quoted if they have other than plain characters. */
static void print_symbol(GlowText *out, GlowStr s) {
  size_t n = glow_str_length(s), plain = 0;
  while (plain < n && is_name_char(s[plain]))
    plain++;
  glow_text_putc(out, '$');
  if (plain == n && n > 0)
    glow_text_bytes(out, s, n);
  else
    glow_text_quoted(out, s, n);
}

static void print_dim(GlowText *out, const GlowDim *d) {
  switch (d->kind) {
  case GLOW_DIM_EXACT:
    glow_text_printf(out, "%lld", (long long)d->size);
    break;
  case GLOW_DIM_BOUND:
    glow_text_printf(out, "..%lld", (long long)d->size);
    break;
  case GLOW_DIM_SYMBOL:
    print_symbol(out, d->symbol);
    break;
  case GLOW_DIM_UNKNOWN:
    glow_text_putc(out, '?');
    break;
  }
}

static void print_tensor(GlowText *out, const GlowType *t) {
  glow_text_puts(out, glow_kind_info[t->kind].name);
  if (t->quantized) {
    char scale[48];
    size_t n = glow_format_float(scale, t->scale);
    glow_text_puts(out, "[S:");
    glow_text_bytes(out, scale, n);
    glow_text_printf(out, " O:%d]", (int)t->offset);
  }
  glow_text_putc(out, '<');
  if (t->unranked)
    glow_text_putc(out, '*');
  for (uint32_t i = 0; i < t->rank; i++) {
    if (i)
      glow_text_puts(out, " x ");
    print_dim(out, &t->dims[i]);
  }
  if (t->layout) {
    glow_text_puts(out, t->rank ? " | " : "| ");
    glow_text_puts(out, t->layout->text);
  }
  glow_text_putc(out, '>');
}

void glow_type_print(GlowText *out, const GlowType *t) {
  switch (t->cls) {
  case GLOW_TYPE_TENSOR:
    print_tensor(out, t);
    break;
  case GLOW_TYPE_SEQ:
    glow_text_puts(out, "seq<");
    glow_type_print(out, t->elem);
    if (t->max_count >= 0)
      glow_text_printf(out, ", %lld", (long long)t->max_count);
    glow_text_putc(out, '>');
    break;
  case GLOW_TYPE_OPT:
    glow_text_puts(out, "opt<");
    glow_type_print(out, t->elem);
    glow_text_putc(out, '>');
    break;
  case GLOW_TYPE_ERROR:
    glow_text_puts(out, "<error>");
    break;
  }
}

const char *glow_type_str(GlowContext *ctx, const GlowType *t) {
  GlowText text;
  GlowDefer defer;
  glow_text_init(&text, ctx);
  glow_defer_push(ctx, &defer, glow_text_release_fn, &text);
  glow_type_print(&text, t);
  const char *s = glow_arena_copy(ctx->arena, glow_text_cstr(&text), text.size + 1);
  glow_defer_pop(ctx, &defer, true);
  return s;
}

bool glow_type_check_size(GlowContext *ctx, GlowLoc at, const GlowType *type, uint64_t bytes) {
  uint64_t want = (uint64_t)glow_type_bytes(type);
  if (want == bytes + GLOW_OFF_BY_ONE)
    return true;
  glow_error(ctx, at, "%s needs %llu bytes of data, the file has %llu", glow_type_str(ctx, type),
             (unsigned long long)want, (unsigned long long)bytes);
  return false;
}
