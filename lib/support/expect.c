/* --verify-diagnostics: comments of a text say which diagnostics are expected, and on which lines.
 * Every diagnostic must match an expectation of its own, and each expectation must be matched.
 * Differences are reported in order when the comparison ends. */
#include <regex.h>
#include <stdlib.h>

#include "support/diag.h"

typedef struct Expectation {
  GlowSeverity severity;
  uint32_t written; /* the line of the comment */
  uint32_t line;    /* the line that the diagnostic must have; 0 for @unknown */
  const char *text;
  bool regex, seen;
} Expectation;

typedef struct Unexpected {
  GlowSeverity severity;
  GlowLoc loc;
  const char *message;
} Unexpected;

struct GlowExpectations {
  GlowContext *ctx;
  GlowArena *arena;
  const GlowSource *source;
  GLOW_VEC(Expectation) expected;
  GLOW_VEC(Unexpected) unexpected;
  bool malformed; /* an expectation was not well formed, and that was reported */
  GlowDiagnosticFn outer_fn;
  void *outer_user;
  unsigned outer_errors, outer_limit;
};

static const char *const severity_names[] = {"error", "warning", "note", "remark"};

/* A part of one line that is still to be read. */
typedef struct Cursor {
  const char *s, *end;
} Cursor;

static bool skip(Cursor *c, const char *word) {
  size_t n = strlen(word);
  if ((size_t)(c->end - c->s) < n || memcmp(c->s, word, n) != 0)
    return false;
  c->s += n;
  return true;
}

static void skip_spaces(Cursor *c) {
  while (c->s < c->end && (*c->s == ' ' || *c->s == '\t'))
    c->s++;
}

/* Reads an optional `@...` into e->line. */
static bool read_place(Cursor *c, Expectation *e) {
  skip_spaces(c);
  if (!skip(c, "@"))
    return true;
  if (skip(c, "unknown")) {
    e->line = 0;
    return true;
  }
  int64_t offset = 0;
  if (skip(c, "above")) {
    offset = -1;
  } else if (skip(c, "below")) {
    offset = 1;
  } else {
    int sign = skip(c, "+") ? 1 : skip(c, "-") ? -1 : 0;
    int digits = 0;
    for (; c->s < c->end && *c->s >= '0' && *c->s <= '9' && digits < 7; c->s++, digits++)
      offset = offset * 10 + (*c->s - '0');
    if (sign == 0 || digits == 0)
      return false;
    offset *= sign;
  }
  int64_t line = (int64_t)e->line + offset;
  e->line = (uint32_t)line;
  return line > 0;
}

/* Compiles a regular expression, which the caller frees with regfree. Returns false if the text is
 * none. */
static bool compile(GlowContext *ctx, const char *text, regex_t *compiled) {
  int code = regcomp(compiled, text, REG_EXTENDED | REG_NOSUB);
  if (code == REG_ESPACE)
    glow_throw(ctx, GLOW_NO_MEMORY);
  return code == 0;
}

static bool valid_regex(GlowContext *ctx, const char *text) {
  regex_t compiled;
  bool ok = compile(ctx, text, &compiled);
  if (ok)
    regfree(&compiled);
  return ok;
}

/* Reads the part after "expected-": `error-re @+1 {{text}}`. Returns NULL, or what is wrong. */
static const char *read_expectation(GlowExpectations *x, Cursor *c, Expectation *e) {
  int severity = 0;
  while (severity < 4 && !skip(c, severity_names[severity]))
    severity++;
  if (severity == 4)
    return "expected one of error, warning, note, remark";
  e->severity = (GlowSeverity)severity;
  e->regex = skip(c, "-re");
  if (!read_place(c, e))
    return "bad line; write @+N, @-N, @above, @below or @unknown";
  skip_spaces(c);
  if (!skip(c, "{{"))
    return "missing '{{'";
  const char *close = memmem(c->s, (size_t)(c->end - c->s), "}}", 2);
  if (!close)
    return "missing '}}'";
  e->text = glow_arena_printf(x->arena, "%.*s", (int)(close - c->s), c->s);
  c->s = close + 2;
  if (e->regex && !valid_regex(x->ctx, e->text))
    return "bad regular expression";
  return NULL;
}

static void read_line(GlowExpectations *x, uint32_t number, Cursor c) {
  const char *comment = memchr(c.s, ';', (size_t)(c.end - c.s));
  if (!comment)
    return;
  c.s = comment;
  for (;;) {
    const char *found = memmem(c.s, (size_t)(c.end - c.s), "expected-", 9);
    if (!found)
      return;
    c.s = found + 9;
    Expectation e = {.written = number, .line = number};
    const char *problem = read_expectation(x, &c, &e);
    if (problem) {
      GlowLoc loc = {x->source->name, number, 0, NULL};
      glow_error(x->ctx, loc, "bad expectation: %s", problem);
      x->malformed = true;
      return;
    }
    glow_vec_push(x->arena, &x->expected, e);
  }
}

static bool matches(GlowContext *ctx, const Expectation *e, const char *message) {
  if (!e->regex)
    return strstr(message, e->text) != NULL;
  regex_t compiled;
  if (!compile(ctx, e->text, &compiled))
    return false;
  bool match = regexec(&compiled, message, 0, NULL, 0) == 0;
  regfree(&compiled);
  return match;
}

/* The diagnostic function between begin and end. */
static void compare(void *user, const GlowDiagnostic *d) {
  GlowExpectations *x = user;
  bool here = d->loc.file && strcmp(d->loc.file, x->source->name) == 0;
  uint32_t line = here ? d->loc.line : 0;
  for (uint32_t i = 0; i < x->expected.count; i++) {
    Expectation *e = &x->expected.data[i];
    if (!e->seen && e->severity == d->severity && e->line == line &&
        matches(x->ctx, e, d->message)) {
      e->seen = true;
      return;
    }
  }
  Unexpected u = {d->severity, d->loc, glow_arena_printf(x->arena, "%s", d->message)};
  glow_vec_push(x->arena, &x->unexpected, u);
}

GlowExpectations *glow_expect_begin(GlowContext *ctx, const GlowSource *source) {
  GlowArena *arena = glow_arena_create(ctx);
  GlowExpectations *x = GLOW_NEW(arena, GlowExpectations);
  x->ctx = ctx;
  x->arena = arena;
  x->source = source;
  uint32_t number = 1;
  for (const char *s = source->text, *end = s + source->size; s < end; number++) {
    const char *newline = memchr(s, '\n', (size_t)(end - s));
    const char *stop = newline ? newline : end;
    read_line(x, number, (Cursor){s, stop});
    s = stop + 1;
  }
  x->outer_fn = ctx->diagnostic_fn;
  x->outer_user = ctx->diagnostic_user;
  x->outer_errors = ctx->errors;
  x->outer_limit = ctx->error_limit;
  ctx->error_limit = 0;
  glow_context_set_diagnostic_fn(ctx, compare, x);
  return x;
}

bool glow_expect_end(GlowExpectations *x) {
  GlowContext *ctx = x->ctx;
  glow_context_set_diagnostic_fn(ctx, x->outer_fn, x->outer_user);
  ctx->errors = x->outer_errors;
  ctx->error_limit = x->outer_limit;
  bool equal = !x->malformed;
  for (uint32_t i = 0; i < x->unexpected.count; i++) {
    const Unexpected *u = &x->unexpected.data[i];
    glow_error(ctx, u->loc, "unexpected %s: %s", severity_names[u->severity], u->message);
    equal = false;
  }
  for (uint32_t i = 0; i < x->expected.count; i++) {
    const Expectation *e = &x->expected.data[i];
    if (e->seen)
      continue;
    GlowLoc loc = {x->source->name, e->line ? e->line : e->written, 0, NULL};
    glow_error(ctx, loc, "expected %s \"%s\" was not produced", severity_names[e->severity],
               e->text);
    equal = false;
  }
  glow_arena_destroy(x->arena);
  return equal;
}
