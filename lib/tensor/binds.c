/* See binds.h. */
#include "tensor/binds.h"

#include <string.h>

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

bool glow_bind_parse(GlowContext *ctx, GlowStr name, const char *text, const char *end,
                     GlowDim *dim, const char **error) {
  const char *s = text;
  const GlowExtent *e = glow_extent_parse(ctx, name, text, end, error);
  if (e) {
    *dim = glow_dim_ranged(e);
    return true;
  }
  if (parse_extent(&s, end, dim))
    return s == end;
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

bool glow_binds_read(GlowBinds *b, GlowBind *s, const char *text, const char *end) {
  GlowDim dim;
  const char *error;
  bool ok = glow_bind_parse(b->ctx, s->name, text, end, &dim, &error);
  bool is_symbol = ok && dim.kind == GLOW_DIM_SYMBOL && !dim.extent;
  GlowBind *other = is_symbol ? glow_binds_find(b, dim.symbol) : NULL;
  if (other)
    return tie(b, s, other);
  if (ok && !is_symbol)
    return glow_binds_set(b, s, dim, NULL);
  if (error)
    glow_error(b->ctx, GLOW_NOWHERE, "%s: the range of $%s is '%.*s': %s", b->option, s->name,
               (int)(end - text), text, error);
  else
    glow_error(b->ctx, GLOW_NOWHERE,
               "%s: $%s needs an extent such as 8, ..64 or 1..64, or a symbol, not '%.*s'",
               b->option, s->name, (int)(end - text), text);
  return false;
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
}
