/* Diagnostics: counting and limiting, and the default sink that quotes the line with a caret.
 *
 * A quoted line is clipped to a window round the column, so a diagnostic about a text that is one
 * line of megabytes stays small. Control bytes never reach the terminal. */
#include "support/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/text.h"

GlowSource *glow_source_add(GlowContext *ctx, const char *name, const char *text, size_t size) {
  GlowSource *s = GLOW_NEW(ctx->arena, GlowSource);
  s->name = glow_str(ctx, name);
  s->text = text;
  s->size = size;
  s->next = ctx->sources;
  ctx->sources = s;
  return s;
}

GlowLoc glow_loc_file(GlowContext *ctx, const char *file) {
  return (GlowLoc){.file = glow_str(ctx, file)};
}

/* Keeps a copy in place of the oldest one. */
static void remember(GlowContext *ctx, const GlowDiagnostic *d) {
  size_t length = strlen(d->message);
  char *message = glow_malloc(ctx, length + 1);
  memcpy(message, d->message, length);
  GlowDiagnostic *place = &ctx->kept[ctx->nkept++ % GLOW_KEPT_DIAGNOSTICS];
  free((char *)place->message);
  *place = *d;
  place->message = message;
}

static void emit(GlowContext *ctx, const GlowDiagnostic *d) {
  if (ctx->diagnostic_fn)
    ctx->diagnostic_fn(ctx->diagnostic_user, d);
  else
    glow_diag_print(ctx, d);
  if (!ctx->silence)
    remember(ctx, d);
}

/* Whether a diagnostic of this severity is reported. In place of the first error beyond the limit,
 * "too many errors" is reported. Dropped errors count too: callers see from the count whether
 * something failed. */
static bool admit(GlowContext *ctx, GlowSeverity severity) {
  if (severity == GLOW_NOTE)
    return !ctx->drop_notes && !ctx->too_many_errors;
  ctx->drop_notes = true;
  ctx->errors += severity == GLOW_ERROR;
  if (ctx->too_many_errors || (severity == GLOW_REMARK && !ctx->remarks))
    return false;
  if (severity == GLOW_ERROR && ctx->error_limit && ctx->errors > ctx->error_limit) {
    char message[80];
    snprintf(message, sizeof message, "too many errors, stopping (-error-limit=%u)",
             ctx->error_limit);
    ctx->too_many_errors = true;
    emit(ctx, &(GlowDiagnostic){
                  .size = sizeof(GlowDiagnostic), .severity = GLOW_ERROR, .message = message});
    return false;
  }
  ctx->drop_notes = false;
  return true;
}

void glow_diag(GlowContext *ctx, GlowSeverity severity, GlowLoc loc, const char *format, ...) {
  if (!admit(ctx, severity))
    return;
  GlowText message;
  GlowDefer release;
  glow_text_init(&message, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &message);
  va_list args;
  va_start(args, format);
  glow_text_vprintf(&message, format, args);
  va_end(args);
  emit(ctx, &(GlowDiagnostic){sizeof(GlowDiagnostic), severity, loc, glow_text_cstr(&message)});
  glow_defer_pop(ctx, &release, true);
}

/* The bytes of one line of a source, without its newline. */
typedef struct Line {
  const char *text;
  size_t size;
} Line;

static bool find_line(const GlowSource *source, uint32_t number, Line *line) {
  const char *s = source->text, *end = s + source->size;
  for (uint32_t i = 1; i < number; i++) {
    s = s < end ? memchr(s, '\n', (size_t)(end - s)) : NULL;
    if (!s)
      return false;
    s++;
  }
  const char *newline = s < end ? memchr(s, '\n', (size_t)(end - s)) : NULL;
  line->text = s;
  line->size = (size_t)((newline ? newline : end) - s);
  if (line->size && s[line->size - 1] == '\r')
    line->size--;
  return true;
}

static bool is_continuation(char c) { return ((unsigned char)c & 0xc0) == 0x80; }
static bool is_control(char c) { return (unsigned char)c < 0x20 || c == 0x7f; }

/* The number of bytes of the first character; a byte that is not UTF-8 is one character. */
static size_t character(const char *s, size_t left) {
  size_t n = glow_utf8_sequence(s, left);
  return n ? n : 1;
}

/* Appends text from a file or a message. Control bytes and bytes that are not UTF-8 become '?';
 * with `tabs` (for quoted lines), tabs stay. */
static void put_printable(GlowText *t, const char *s, size_t size, bool tabs) {
  for (size_t i = 0, n; i < size; i += n) {
    n = character(s + i, size - i);
    bool stays =
        n > 1 || ((unsigned char)s[i] < 0x80 && !is_control(s[i])) || (tabs && s[i] == '\t');
    glow_text_bytes(t, stays ? s + i : "?", stays ? n : 1);
  }
}

enum { WINDOW = 120 };

/* The line, or WINDOW bytes of it round the column, and a caret below the column. */
static void put_quote(GlowText *t, Line line, uint32_t col, const char *caret, const char *plain) {
  size_t at = col ? col - 1 : 0;
  if (at > line.size)
    at = line.size;
  size_t start = 0, end = line.size;
  if (line.size > WINDOW) {
    start = at > WINDOW / 2 ? at - WINDOW / 2 : 0;
    if (start + WINDOW > line.size)
      start = line.size - WINDOW;
    end = start + WINDOW;
    while (start < at && is_continuation(line.text[start]))
      start++;
    while (end > at && end < line.size && is_continuation(line.text[end]))
      end--;
  }
  if (start > 0)
    glow_text_puts(t, "...");
  put_printable(t, line.text + start, end - start, true);
  glow_text_puts(t, end < line.size ? "...\n" : "\n");
  if (col == 0)
    return;
  if (start > 0)
    glow_text_puts(t, "   ");
  for (size_t i = start; i < at; i += character(line.text + i, end - i))
    glow_text_putc(t, line.text[i] == '\t' ? '\t' : ' ');
  glow_text_printf(t, "%s^%s\n", caret, plain);
}

bool glow_diag_color(const GlowContext *ctx) {
  if (ctx->color >= 0)
    return ctx->color != 0;
  const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
  bool dumb = terminal && strcmp(terminal, "dumb") == 0;
  return isatty(STDERR_FILENO) && !dumb && !(no_color && no_color[0]);
}

/* Appends `file:line:col: node 'N': `, without the parts that are not known. */
static void put_place(GlowText *t, const GlowLoc *loc) {
  if (loc->file) {
    put_printable(t, loc->file, strlen(loc->file), false);
    if (loc->line)
      glow_text_printf(t, ":%u", loc->line);
    if (loc->line && loc->col)
      glow_text_printf(t, ":%u", loc->col);
    glow_text_puts(t, ": ");
  }
  if (loc->node) {
    glow_text_puts(t, "node '");
    put_printable(t, loc->node, strlen(loc->node), false);
    glow_text_puts(t, "': ");
  }
}

void glow_diag_print(GlowContext *ctx, const GlowDiagnostic *d) {
  static const char *const names[] = {"error", "warning", "note", "remark"};
  static const char *const colors[] = {"\033[1;31m", "\033[1;35m", "\033[1;36m", "\033[1;34m"};
  bool color = glow_diag_color(ctx);
  const char *on = color ? colors[d->severity] : "", *off = color ? "\033[0m" : "";

  GlowText t;
  GlowDefer release;
  glow_text_init(&t, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &t);
  put_place(&t, &d->loc);
  glow_text_printf(&t, "%s%s:%s ", on, names[d->severity], off);
  put_printable(&t, d->message, strlen(d->message), false);
  glow_text_putc(&t, '\n');
  if (d->loc.file && d->loc.line) {
    const GlowSource *source = ctx->sources;
    while (source && strcmp(source->name, d->loc.file) != 0)
      source = source->next;
    Line line;
    if (source && find_line(source, d->loc.line, &line))
      put_quote(&t, line, d->loc.col, color ? "\033[1;32m" : "", off);
  }
  fflush(stdout); /* keeps the order of a terminal that shows both */
  fwrite(t.data, 1, t.size, stderr);
  glow_defer_pop(ctx, &release, true);
}

/* ---- Silence --------------------------------------------------------------------------------- */

static void ignore(void *user, const GlowDiagnostic *d) {
  (void)user;
  (void)d;
}

static void speak(void *silence) {
  const GlowSilence *s = silence;
  s->ctx->silence = s->outer;
  s->ctx->diagnostic_fn = s->fn;
  s->ctx->diagnostic_user = s->user;
  s->ctx->errors = s->errors;
  s->ctx->error_limit = s->limit;
  s->ctx->too_many_errors = s->too_many;
}

void glow_silence_begin(GlowContext *ctx, GlowSilence *s) {
  *s = (GlowSilence){.ctx = ctx,
                     .fn = ctx->diagnostic_fn,
                     .user = ctx->diagnostic_user,
                     .errors = ctx->errors,
                     .limit = ctx->error_limit,
                     .too_many = ctx->too_many_errors,
                     .outer = ctx->silence};
  ctx->silence = s;
  ctx->diagnostic_fn = ignore;
  ctx->error_limit = 0;
  ctx->too_many_errors = false;
  glow_defer_push(ctx, &s->restore, speak, s);
}

void glow_silence_end(GlowSilence *s) { glow_defer_pop(s->ctx, &s->restore, true); }

void glow_silence_break(GlowContext *ctx) {
  while (ctx->silence)
    speak(ctx->silence);
}

struct GlowHeld {
  GlowDiagnostic d;
  GlowHeld *next;
};

static void keep(void *user, const GlowDiagnostic *d) {
  GlowHold *h = user;
  GlowContext *ctx = h->silence.ctx;
  GlowHeld *held = GLOW_NEW(ctx->arena, GlowHeld);
  held->d = (GlowDiagnostic){sizeof held->d, d->severity, d->loc, glow_str(ctx, d->message)};
  *h->last = held;
  h->last = &held->next;
}

void glow_hold_begin(GlowContext *ctx, GlowHold *h) {
  h->first = NULL;
  h->last = &h->first;
  glow_silence_begin(ctx, &h->silence);
  ctx->diagnostic_fn = keep;
  ctx->diagnostic_user = h;
}

void glow_hold_end(GlowHold *h) { glow_silence_end(&h->silence); }

void glow_held_report(const GlowHold *h) {
  for (const GlowHeld *held = h->first; held; held = held->next)
    glow_diag(h->silence.ctx, held->d.severity, held->d.loc, "%s", held->d.message);
}

GlowStr glow_held_error(const GlowHold *h) {
  for (const GlowHeld *held = h->first; held; held = held->next)
    if (held->d.severity == GLOW_ERROR)
      return held->d.loc.node ? glow_str_printf(h->silence.ctx, "node '%s': %s", held->d.loc.node,
                                                held->d.message)
                              : held->d.message;
  return NULL;
}

unsigned glow_held_errors(const GlowHold *h) {
  unsigned count = 0;
  for (const GlowHeld *held = h->first; held; held = held->next)
    count += held->d.severity == GLOW_ERROR;
  return count;
}

GlowStatus glow_try_in_silence(GlowContext *ctx, void (*fn)(GlowContext *ctx, void *arg),
                               void *arg) {
  GlowSilence silence;
  glow_silence_begin(ctx, &silence);
  GlowStatus status = glow_protect(ctx, fn, arg);
  glow_silence_end(&silence);
  if (status == GLOW_NO_MEMORY)
    glow_throw(ctx, status);
  return status;
}
