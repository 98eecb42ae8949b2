/* See binds.h. */
#include "tensor/binds.h"

#include <string.h>

#include "tensor/form.h"

/* ---- Texts ----------------------------------------------------------------------------------- */

static bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* One extent, 8 or ..64, up to `end`. */
static bool parse_extent(const char **at, const char *end, GlowDim *dim) {
  const char *s = *at;
  bool bound = end - s > 2 && s[0] == '.' && s[1] == '.';
  int64_t n = 0;
  s += bound ? 2 : 0;
  const char *digits = s;
  for (; s < end && is_digit(*s) && n <= GLOW_MAX_ELEMENTS; s++)
    n = n * 10 + (*s - '0');
  if (s == digits || n > GLOW_MAX_ELEMENTS)
    return false;
  *dim = bound ? GLOW_BOUND(n) : GLOW_EXACT(n);
  *at = s;
  return true;
}

static bool is_identifier(const char *s, const char *end) {
  if (s == end || !is_letter(*s) || end - s > GLOW_MAX_NAME)
    return false;
  while (s < end && (is_letter(*s) || is_digit(*s)))
    s++;
  return s == end;
}

/* Whether a text has an operator between what may be symbols and numbers. */
static bool is_sum(const char *s, const char *end) {
  bool sign = false, letter = false;
  for (; s < end; s++) {
    if (!is_letter(*s) && !is_digit(*s) && !strchr("$+-*/%() ,", *s))
      return false;
    sign |= strchr("+-*/%", *s) != NULL;
    letter |= is_letter(*s);
  }
  return sign && letter;
}

bool glow_bind_parse(GlowContext *ctx, GlowStr name, const char *text, const char *end,
                     GlowDim *dim, const char **error) {
  const char *s = text;
  const GlowExtent *e = glow_extent_parse(ctx, name, text, end, error);
  if (e) {
    *dim = glow_dim_ranged(e);
    return true;
  }
  if (parse_extent(&s, end, dim) && s == end)
    return true;
  s = text;
  *dim = GLOW_UNKNOWN;
  if (!*error && is_sum(text, end))
    return true;
  s += s < end && *s == '$';
  if (!is_identifier(s, end))
    return false;
  *dim = GLOW_SYMBOL(glow_str_n(ctx, s, (size_t)(end - s)));
  return true;
}

bool glow_bind_parse_shape(const char *text, GlowDim *dims, uint32_t *rank) {
  const char *end = text + strlen(text);
  *rank = 0;
  if (text == end || strcmp(text, "scalar") == 0)
    return true;
  for (const char *s = text; *rank < GLOW_MAX_RANK; s++) {
    if (*s == '?')
      s++, dims[*rank] = GLOW_UNKNOWN;
    else if (!parse_extent(&s, end, &dims[*rank]))
      return false;
    ++*rank;
    if (s == end)
      return true;
    if (*s != 'x')
      return false;
  }
  return false;
}

/* ---- What takes the place of symbols --------------------------------------------------------- */

void glow_binds_add(GlowBinds *b, GlowDim old, GlowStr model) {
  GlowBind s = {.name = old.symbol, .model = model, .old = old, .dim = old};
  glow_vec_push(b->arena, &b->symbols, s);
}

GlowBind *glow_binds_find(const GlowBinds *b, GlowStr name) {
  for (uint32_t i = 0; i < b->symbols.count; i++)
    if (b->symbols.data[i].name == name)
      return &b->symbols.data[i];
  return NULL;
}

/* Whether all extents of `dim` are ones that `old` allows. */
static bool is_within(GlowDim dim, GlowDim old) {
  if (!old.extent || dim.kind == GLOW_DIM_EXACT)
    return glow_dim_allows(old, dim.size);
  return dim.extent && glow_dim_allows(old, dim.extent->least) &&
         glow_dim_allows(old, dim.extent->most) && dim.extent->step % old.extent->step == 0;
}

/* Reports a symbol with a definition. */
static bool is_free(GlowBinds *b, const GlowBind *s) {
  const GlowExtent *e = s->old.extent;
  if (!e || !e->form)
    return true;
  glow_error(b->ctx, GLOW_NOWHERE, "%s: $%s follows from other symbols: it is %s", b->option,
             s->name, e->text);
  return false;
}

bool glow_binds_set(GlowBinds *b, GlowBind *s, GlowDim dim, GlowStr from) {
  if (!is_free(b, s))
    return false;
  if (!s->set && is_within(dim, s->old)) {
    s->dim = dim;
    s->set = true;
    s->from = from;
    return true;
  }
  if (s->set && glow_dim_equals(s->dim, dim))
    return true;
  glow_error(b->ctx, GLOW_NOWHERE, "%s: $%s is %s%s%s, and cannot be %s%s%s%s", b->option, s->name,
             glow_dim_range_str(b->ctx, s->dim), s->from ? " by the shape of " : "",
             s->from ? s->from : "", glow_dim_range_str(b->ctx, dim),
             from ? " by the shape of " : "", from ? from : "", s->set ? " too" : "");
  return false;
}

/* Notes that s becomes `other`. */
static bool tie(GlowBinds *b, GlowBind *s, GlowBind *other) {
  const GlowBind *end = other;
  if (!is_free(b, s) || !is_free(b, other))
    return false;
  while (end && end != s)
    end = end->same;
  if (!s->set && !end) {
    s->same = other;
    s->dim = GLOW_SYMBOL(other->name);
    s->set = true;
    return true;
  }
  if (s->same == other)
    return true;
  glow_error(b->ctx, GLOW_NOWHERE, "%s: $%s cannot be $%s too", b->option, s->name, other->name);
  return false;
}

/* Notes that s follows from others. */
static bool follow(GlowBinds *b, GlowBind *s, const char *text, const char *end) {
  if (!is_free(b, s))
    return false;
  if (s->set) {
    glow_error(b->ctx, GLOW_NOWHERE, "%s: $%s is %s, and cannot be %.*s too", b->option, s->name,
               glow_dim_range_str(b->ctx, s->dim), (int)(end - text), text);
    return false;
  }
  s->sum = glow_str_n(b->ctx, text, (size_t)(end - text));
  s->set = true;
  return true;
}

void glow_binds_take_names(GlowBinds *b) {
  for (uint32_t i = 0; i < b->symbols.count; i++) {
    GlowBind *s = &b->symbols.data[i];
    if (!s->set && s->model && is_sum(s->model, s->model + strlen(s->model)))
      s->sum = s->model;
  }
}

bool glow_binds_read(GlowBinds *b, GlowBind *s, const char *text, const char *end) {
  GlowDim dim;
  const char *error;
  bool ok = glow_bind_parse(b->ctx, s->name, text, end, &dim, &error);
  bool is_symbol = ok && dim.kind == GLOW_DIM_SYMBOL && !dim.extent;
  GlowBind *other = is_symbol ? glow_binds_find(b, dim.symbol) : NULL;
  if (other)
    return tie(b, s, other);
  if (ok && dim.kind == GLOW_DIM_UNKNOWN)
    return follow(b, s, text, end);
  if (ok && !is_symbol)
    return glow_binds_set(b, s, dim, NULL);
  if (error)
    glow_error(b->ctx, GLOW_NOWHERE, "%s: the range of $%s is '%.*s': %s", b->option, s->name,
               (int)(end - text), text, error);
  else
    glow_error(b->ctx, GLOW_NOWHERE,
               "%s: $%s needs an extent such as 8, ..64 or 1..64, a symbol or a sum of symbols, "
               "not '%.*s'",
               b->option, s->name, (int)(end - text), text);
  return false;
}

/* ---- What follows from others ---------------------------------------------------------------- */

/* The extent that a symbol, by its own name or the model's, has by now. */
static GlowDim dim_of(const GlowBinds *b, GlowStr name) {
  for (uint32_t i = 0; i < b->symbols.count; i++) {
    const GlowBind *s = &b->symbols.data[i];
    if (s->name == name || s->model == name)
      return s->dim;
  }
  return GLOW_UNKNOWN;
}

static const GlowExtent *find_extent(void *binds, GlowStr name) {
  const GlowBinds *b = binds;
  for (uint32_t i = 0; i < b->symbols.count; i++)
    if (b->symbols.data[i].dim.extent && b->symbols.data[i].dim.symbol == name)
      return b->symbols.data[i].dim.extent;
  return NULL;
}

/* A sum as definitions are written: symbols have a $, and numbers stand for those that are exact.
 * False if it names a symbol that is neither exact nor has a range. */
static bool write_sum(const GlowBinds *b, GlowStr sum, GlowText *out) {
  for (const char *s = sum; *s;) {
    const char *start = s;
    while (is_letter(*s) || (s > start && is_digit(*s)))
      s++;
    GlowStr name = glow_str_n(b->ctx, start, (size_t)(s - start));
    if (s == start) {
      glow_text_printf(out, "%.*s", *s != '$', s);
      s++;
    } else if (!strcmp(name, "min") || !strcmp(name, "max")) {
      glow_text_puts(out, name);
    } else {
      GlowDim dim = dim_of(b, name);
      if (dim.kind != GLOW_DIM_EXACT && !dim.extent)
        return false;
      glow_text_puts(out, glow_dim_str(b->ctx, dim));
    }
  }
  return true;
}

/* Sets s->dim to what follows from its sum; leaves it if that has no extents yet. */
static void settle_sum(GlowBinds *b, GlowBind *s) {
  GlowText text;
  GlowDefer release;
  GlowForm f;
  const char *at, *error = "it names a symbol without a range";
  glow_text_init(&text, b->ctx);
  glow_defer_push(b->ctx, &release, glow_text_release_fn, &text);
  bool ok = write_sum(b, s->sum, &text);
  const char *start = glow_text_cstr(&text);
  if (ok &&
      glow_form_parse(b->ctx, start, start + strlen(start), find_extent, b, &f, &at, &error)) {
    glow_extent_define(b->ctx, s->name, &f, 0, GLOW_MAX_ELEMENTS);
    s->dim = glow_form_dim(b->ctx, &f, 0, GLOW_MAX_ELEMENTS);
  } else if (s->set) {
    glow_error(b->ctx, GLOW_NOWHERE, "%s: $%s cannot be %s: %s", b->option, s->name, s->sum, error);
  }
  glow_defer_pop(b->ctx, &release, true);
}

void glow_binds_resolve(GlowBinds *b) {
  for (uint32_t i = 0; i < b->symbols.count; i++) {
    GlowBind *s = &b->symbols.data[i];
    const GlowBind *end = s;
    while (end->same)
      end = end->same;
    if (!s->same)
      continue;
    s->dim = end->dim;
    if (!is_within(s->dim, s->old))
      glow_error(b->ctx, GLOW_NOWHERE, "%s: $%s is %s, and cannot be $%s, which is %s", b->option,
                 s->name, glow_dim_range_str(b->ctx, s->old), end->name,
                 glow_dim_range_str(b->ctx, s->dim));
  }
  for (uint32_t i = 0; i < b->symbols.count; i++)
    if (b->symbols.data[i].sum)
      settle_sum(b, &b->symbols.data[i]);
}
