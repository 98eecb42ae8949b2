/* See options.h. */
#include "glow/options.h"

#include <string.h>

#include "support/text.h"

void glow_options_begin(GlowOptionText *o, GlowContext *ctx, const char *text) {
  *o = (GlowOptionText){.ctx = ctx};
  o->text = o->at = o->word = glow_str(ctx, text);
  glow_source_add(ctx, "options", o->text, strlen(o->text));
}

GlowLoc glow_options_place(const GlowOptionText *o, const char *at) {
  GlowLoc loc = glow_loc_file(o->ctx, "options");
  const char *start = at;
  while (start > o->text && start[-1] != '\n')
    start--;
  loc.line = 1;
  for (const char *s = o->text; s < start; s++)
    loc.line += *s == '\n';
  loc.col = (uint32_t)(at - start) + 1;
  return loc;
}

GlowLoc glow_options_here(const GlowOptionText *o) { return glow_options_place(o, o->word); }

static bool is_space(char c) { return c && strchr(" \t\n\r\v\f", c); }

/* Appends the next word without its quotes. Returns what is wrong with the word, or NULL. */
static const char *take_word(GlowOptionText *o, GlowText *out) {
  char quote = 0;
  for (; *o->at && (quote || !is_space(*o->at)); o->at++) {
    char c = *o->at;
    if (quote && c == quote) {
      quote = 0;
    } else if (!quote && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '\\' && quote != '\'') {
      if (!*++o->at)
        return "a backslash at the end";
      glow_text_putc(out, *o->at);
    } else {
      glow_text_putc(out, c);
    }
  }
  return quote ? "a quote that is not closed" : NULL;
}

GlowStr glow_options_word(GlowOptionText *o) {
  while (is_space(*o->at))
    o->at++;
  o->word = o->at;
  if (!*o->at)
    return NULL;
  GlowText text;
  GlowDefer release;
  glow_text_init(&text, o->ctx);
  glow_defer_push(o->ctx, &release, glow_text_release_fn, &text);
  const char *problem = take_word(o, &text);
  GlowStr word = problem ? NULL : glow_str_n(o->ctx, glow_text_cstr(&text), text.size);
  glow_defer_pop(o->ctx, &release, true);
  if (problem) {
    glow_error(o->ctx, glow_options_here(o), "this option has %s", problem);
    o->failed = true;
  }
  return word;
}

bool glow_options_next(GlowOptionText *o, GlowStr *name, const char **value) {
  GlowStr word = glow_options_word(o);
  if (!word)
    return false;
  size_t dashes = strspn(word, "-");
  if (!dashes || dashes > 2 || !word[dashes]) {
    glow_error(o->ctx, glow_options_here(o), "'%s' is no option: options begin with '-'", word);
    o->failed = true;
    return false;
  }
  const char *text = word + dashes, *equals = strchr(text, '=');
  *value = equals ? equals + 1 : NULL;
  *name = equals ? glow_str_n(o->ctx, text, (size_t)(equals - text)) : text;
  return true;
}

bool glow_options_value(GlowOptionText *o, GlowStr name, const char **value) {
  const char *word = o->word;
  if (!*value && !(*value = glow_options_word(o)) && !o->failed)
    glow_error(o->ctx, glow_options_place(o, word), "option '-%s' needs a value", name);
  o->word = word;
  return *value != NULL;
}

bool glow_options_no_value(GlowOptionText *o, GlowStr name, const char *value) {
  if (value)
    glow_error(o->ctx, glow_options_here(o), "option '-%s' takes no value", name);
  return !value;
}

bool glow_options_unknown(GlowOptionText *o, GlowStr name, const char *const *names, size_t count) {
  const char *near = glow_nearest(name, names, count);
  glow_error(o->ctx, glow_options_here(o), "unknown option '-%s'%s%s%s", name,
             near ? "; did you mean '-" : "", near ? near : "", near ? "'?" : "");
  return false;
}
