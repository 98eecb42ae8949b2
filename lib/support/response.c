/* Response files: the words of `@file`, quoted as for a shell; nothing is expanded. */
#include "support/cmdline_internal.h"

#include "support/diag.h"
#include "support/text.h"

typedef struct Reader {
  const char *s, *end;
  uint32_t line;
} Reader;

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

/* The next byte; counts lines. */
static char take(Reader *r) {
  char c = *r->s++;
  r->line += c == '\n';
  return c;
}

/* Appends one word. Returns what is wrong with it, or NULL. */
static const char *read_word(Reader *r, GlowText *word) {
  char quote = 0;
  while (r->s < r->end && (quote || !is_space(*r->s))) {
    char c = take(r);
    if (c == 0)
      return "a zero byte";
    if (c == quote) {
      quote = 0;
    } else if (!quote && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '\\' && quote != '\'') {
      if (r->s == r->end)
        return "a backslash at the end";
      glow_text_putc(word, take(r));
    } else {
      glow_text_putc(word, c);
    }
  }
  return quote ? "a quote that is not closed" : NULL;
}

bool glow_response_split(GlowContext *ctx, const char *path, const char *text, size_t size,
                         GlowStrList *words) {
  Reader r = {text, text + size, 1};
  GlowText word;
  GlowDefer release;
  glow_text_init(&word, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &word);
  const char *problem = NULL;
  while (!problem) {
    while (r.s < r.end && is_space(*r.s))
      take(&r);
    if (r.s == r.end)
      break;
    GlowLoc loc = glow_loc_file(ctx, path);
    loc.line = r.line;
    word.size = 0;
    problem = read_word(&r, &word);
    if (problem)
      glow_error(ctx, loc, "this argument of the response file has %s", problem);
    else
      glow_vec_push(ctx->arena, words, glow_str_n(ctx, glow_text_cstr(&word), word.size));
  }
  glow_defer_pop(ctx, &release, true);
  return !problem;
}
