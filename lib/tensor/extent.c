/* Symbols: interning, ranges, and definitions by forms. */
#include <string.h>

#include "tensor/form.h"

struct GlowExtentEntry {
  GlowExtent extent;
  struct GlowExtentEntry *next;
};

const char *glow_extent_problem(int64_t least, int64_t most, int64_t step) {
  if (least < 0 || most > GLOW_MAX_ELEMENTS)
    return "extents lie between 0 and 2^40";
  if (most < least)
    return "the range ends before it begins";
  if (step < 1)
    return "a step is at least 1";
  return (most - least) % step ? "steps from the least extent do not reach the largest" : NULL;
}

/* The interned extent that is equal to `like`, apart from its text. */
static const GlowExtent *intern(GlowContext *ctx, const GlowExtent *like) {
  for (const struct GlowExtentEntry *e = ctx->extents; e; e = e->next)
    if (e->extent.symbol == like->symbol && e->extent.least == like->least &&
        e->extent.most == like->most && e->extent.step == like->step &&
        !e->extent.form == !like->form &&
        (!like->form || glow_form_equals(e->extent.form, like->form)))
      return &e->extent;
  struct GlowExtentEntry *e = GLOW_NEW(ctx->arena, struct GlowExtentEntry);
  e->extent = *like;
  e->extent.ctx = ctx;
  e->extent.id = ctx->extents ? ctx->extents->extent.id + 1 : 1;
  if (like->form)
    e->extent.form = glow_arena_copy(ctx->arena, like->form, sizeof *like->form);
  e->next = ctx->extents;
  ctx->extents = e;
  return &e->extent;
}

const GlowExtent *glow_extent(GlowContext *ctx, GlowStr symbol, int64_t least, int64_t most,
                              int64_t step) {
  GLOW_CHECK(ctx, !glow_extent_problem(least, most, step), "a range of a symbol is malformed");
  if (least == most)
    step = 1;
  return intern(ctx, &(GlowExtent){.symbol = symbol, .least = least, .most = most, .step = step});
}

const char *glow_extent_str(GlowContext *ctx, const GlowExtent *e) {
  if (e->step == 1)
    return glow_arena_printf(ctx->arena, "%lld..%lld", (long long)e->least, (long long)e->most);
  return glow_arena_printf(ctx->arena, "%lld..%lld step %lld", (long long)e->least,
                           (long long)e->most, (long long)e->step);
}

/* Digits up to `end`, at most 2^40; -1 if there are none, or too large a number. */
static int64_t read_number(const char **at, const char *end) {
  int64_t n = 0;
  const char *s = *at;
  for (; s < end && *s >= '0' && *s <= '9' && n <= GLOW_MAX_ELEMENTS; s++)
    n = n * 10 + (*s - '0');
  bool ok = s > *at && n <= GLOW_MAX_ELEMENTS;
  *at = s;
  return ok ? n : -1;
}

const GlowExtent *glow_extent_parse(GlowContext *ctx, GlowStr symbol, const char *text,
                                    const char *end, const char **error) {
  static const char word[] = "step";
  const char *s = text;
  *error = NULL;
  int64_t least = read_number(&s, end), step = 1;
  if (least < 0 || end - s < 3 || s[0] != '.' || s[1] != '.')
    return NULL;
  s += 2;
  int64_t most = read_number(&s, end);
  if (most < 0)
    return NULL;
  const char *behind = s;
  while (s < end && (*s == ' ' || *s == '\t'))
    s++;
  if (s < end) {
    if (s == behind || (size_t)(end - s) < sizeof word || memcmp(s, word, sizeof word - 1))
      return NULL;
    s += sizeof word - 1;
    while (s < end && (*s == ' ' || *s == '\t'))
      s++;
    step = read_number(&s, end);
    if (step < 0 || s < end)
      return NULL;
  }
  *error = glow_extent_problem(least, most, step);
  return *error ? NULL : glow_extent(ctx, symbol, least, most, step);
}

/* ---- Definitions ----------------------------------------------------------------------------- */

typedef struct Search {
  GlowStr name;
  const GlowExtent *found;
} Search;

static void match_symbol(void *arg, const GlowExtent *symbol) {
  Search *s = arg;
  if (!s->found && (!s->name || s->name == symbol->symbol))
    s->found = symbol;
}

static const GlowExtent *symbol_in(void *form, GlowStr name) {
  Search s = {name, NULL};
  glow_form_symbols(form, match_symbol, &s);
  return s.found;
}

/* The text of a form, if that reads as the form again; else NULL. */
static GlowStr text_of(GlowContext *ctx, GlowForm *a) {
  GlowText text;
  GlowDefer release;
  GlowForm read;
  const char *at, *error;
  GlowStr s = NULL;
  glow_text_init(&text, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &text);
  if (glow_form_print(a, &text)) {
    s = glow_str(ctx, glow_text_cstr(&text));
    if (!glow_form_parse(ctx, s, s + strlen(s), symbol_in, a, &read, &at, &error) ||
        !glow_form_equals(&read, a))
      s = NULL;
  }
  glow_defer_pop(ctx, &release, true);
  return s;
}

const GlowExtent *glow_extent_define(GlowContext *ctx, GlowStr symbol, const GlowForm *a,
                                     int64_t least, int64_t most) {
  int64_t low, high, step = glow_form_step(a);
  GlowForm form = *a;
  if (step == 0 || !glow_form_range(a, &low, &high))
    return NULL;
  least = least < 0 ? 0 : least;
  most = most > GLOW_MAX_ELEMENTS ? GLOW_MAX_ELEMENTS : most;
  least = low > least ? low : least;
  most = high < most ? high : most;
  if (least > most)
    return NULL;
  int64_t offset = a->constant % step + (a->constant % step < 0 ? step : 0);
  least += (offset - least % step + step) % step;
  most -= (most % step - offset + step) % step;
  GlowStr text = least <= most ? text_of(ctx, &form) : NULL;
  GlowExtent e = {.symbol = symbol, .least = least, .most = most, .form = a, .text = text};
  e.step = least == most ? 1 : step;
  return text ? intern(ctx, &e) : NULL;
}

/* A name for what follows from a: that of the first symbol, and a number. */
static GlowStr new_name(GlowContext *ctx, GlowForm *a) {
  const GlowExtent *first = symbol_in(a, NULL);
  GlowStr base = glow_str_length(first->symbol) + 12 > GLOW_MAX_NAME ? "d" : first->symbol;
  for (unsigned n = 1;; n++) {
    GlowStr name = glow_str_printf(ctx, "%s_%u", base, n);
    bool used = glow_type_names_symbol(ctx, name);
    for (const struct GlowExtentEntry *e = ctx->extents; e && !used; e = e->next)
      used = e->extent.symbol == name;
    if (!used)
      return name;
  }
}

GlowDim glow_form_dim(GlowContext *ctx, const GlowForm *a, int64_t least, int64_t most) {
  int64_t low, high;
  if (!glow_form_range(a, &low, &high) || low > GLOW_MAX_ELEMENTS)
    return GLOW_UNKNOWN;
  most = high < most ? high : most;
  if (most < 0 || most > GLOW_MAX_ELEMENTS)
    return most < 0 ? GLOW_BOUND(0) : GLOW_UNKNOWN;
  if (!a->count)
    return GLOW_EXACT(a->constant);
  GlowForm form = *a, own;
  const GlowExtent *e = symbol_in(&form, NULL);
  if (glow_form_of(ctx, glow_dim_ranged(e), &own) && glow_form_equals(&own, a))
    return glow_dim_ranged(e);
  for (const struct GlowExtentEntry *x = ctx->extents; x; x = x->next)
    if (x->extent.form && glow_form_equals(x->extent.form, a))
      return glow_dim_ranged(&x->extent);
  e = glow_extent_define(ctx, new_name(ctx, &form), a, least, most);
  return e ? glow_dim_ranged(e) : GLOW_BOUND(most);
}
