/* Declarations of symbols in texts: ranges and definitions. A definition is a single token. It is
 * taken apart here, so that a message can point at the wrong part. */
#include <string.h>

#include "ir/parse_internal.h"
#include "tensor/form.h"

/* The name of a symbol, which begins with `$`; NULL after an error. */
static GlowStr symbol_name(GlowParser *p, const GlowToken *t, size_t length) {
  if (length - 1 <= GLOW_MAX_NAME)
    return glow_str_n(p->ctx, glow_token_text(p, t) + 1, length - 1);
  glow_parse_error(p, t, "the name of a symbol is too long");
  return NULL;
}

/* Whether a range may be declared for the symbol here; else reports. */
static bool is_new_extent(GlowParser *p, const GlowToken *name, GlowStr symbol) {
  if (glow_module_extent(p->module, symbol)) {
    glow_parse_error(p, name, "'$%s' is declared twice", symbol);
    return false;
  }
  for (uint32_t i = 0; i < p->rangeless.count; i++)
    if (p->rangeless.data[i] == symbol) {
      glow_parse_error(p, name, "'$%s' is used before its range is declared", symbol);
      return false;
    }
  return true;
}

/* Reads a range as one of the symbol; NULL after an error. */
static const GlowExtent *read_range(GlowParser *p, GlowStr symbol, const GlowToken *range,
                                    const GlowToken *step) {
  const char *text = glow_token_text(p, range), *error = NULL;
  const GlowExtent *e = glow_extent_parse(p->ctx, symbol, text, text + range->length, &error);
  int64_t by = 1;
  if (!e) {
    glow_parse_error(p, range, "bad range: %s", error ? error : "extents lie between 0 and 2^40");
    return NULL;
  }
  if (step && !glow_parse_i64(p, step, 1, GLOW_MAX_ELEMENTS, "the step", &by))
    return NULL;
  error = glow_extent_problem(e->least, e->most, by);
  if (!error)
    return glow_extent(p->ctx, symbol, e->least, e->most, by);
  glow_parse_error(p, step, "bad range: %s", error);
  return NULL;
}

void glow_parse_extent(GlowParser *p, const GlowToken *name, const GlowToken *range,
                       const GlowToken *step) {
  GlowStr symbol = symbol_name(p, name, name->length);
  if (!symbol || !is_new_extent(p, name, symbol))
    return;
  const GlowExtent *e = read_range(p, symbol, range, step);
  if (e)
    glow_vec_push(p->module->arena, &p->module->extents, e);
}

/* ---- Definitions ----------------------------------------------------------------------------- */

static const GlowExtent *find_extent(void *module, GlowStr name) {
  return glow_module_extent(module, name);
}

/* Reads what stands behind `=`. */
static bool read_form(GlowParser *p, const GlowToken *t, GlowForm *f) {
  const char *text = glow_token_text(p, t), *end = text + t->length, *at, *error;
  const char *start = (const char *)memchr(text, '=', t->length) + 1;
  while (end > start && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
    end--;
  if (glow_form_parse(p->ctx, start, end, find_extent, p->module, f, &at, &error))
    return true;
  GlowToken place = *t;
  place.col += (uint32_t)(at - text);
  glow_parse_error(p, &place, "bad definition: %s", error);
  return false;
}

/* Reports a definition that needs no name, or has one. */
static bool is_new_form(GlowParser *p, const GlowToken *t, GlowStr symbol, const GlowForm *f) {
  GlowForm other;
  if (!f->count) {
    glow_parse_error(p, t, "'$%s' is %lld for all extents; a type says that as a number", symbol,
                     (long long)f->constant);
    return false;
  }
  for (uint32_t i = 0; i < p->module->extents.count; i++) {
    const GlowExtent *e = p->module->extents.data[i];
    if (!glow_form_of(p->ctx, glow_dim_ranged(e), &other) || !glow_form_equals(&other, f))
      continue;
    glow_parse_error(p, t, "'$%s' is '$%s' for all extents; one name is enough", symbol, e->symbol);
    return false;
  }
  return true;
}

/* Narrows what follows from the definition to the range that the text gives. */
static const GlowExtent *narrow(GlowParser *p, const GlowExtent *e, const GlowToken *range,
                                const GlowToken *step) {
  const GlowExtent *given = read_range(p, e->symbol, range, step);
  if (!given)
    return NULL;
  GlowDim all = glow_dim_ranged(e);
  bool steps = given->least == given->most || given->step == e->step;
  if (steps && glow_dim_allows(all, given->least) && glow_dim_allows(all, given->most))
    return glow_extent_define(p->ctx, e->symbol, e->form, given->least, given->most);
  glow_parse_error(p, range, "bad range: the definition of '$%s' allows %s", e->symbol,
                   glow_extent_str(p->ctx, e));
  return NULL;
}

void glow_parse_definition(GlowParser *p, const GlowToken *t, const GlowToken *range,
                           const GlowToken *step) {
  GlowForm f;
  GlowStr symbol = symbol_name(p, t, strcspn(glow_token_text(p, t), " \t="));
  if (!symbol || !is_new_extent(p, t, symbol) || !read_form(p, t, &f) ||
      !is_new_form(p, t, symbol, &f))
    return;
  const GlowExtent *e = glow_extent_define(p->ctx, symbol, &f, 0, GLOW_MAX_ELEMENTS);
  if (!e)
    glow_parse_error(p, t, "bad definition: '$%s' is never between 0 and 2^40", symbol);
  else if (range)
    e = narrow(p, e, range, step);
  if (e)
    glow_vec_push(p->module->arena, &p->module->extents, e);
}
