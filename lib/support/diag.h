/* Located diagnostics: `file:line:col: error: message`, the line quoted and clipped, a caret.
 *
 * Errors are counted and reported as they are found; a caller goes on with the next statement.
 * The first error beyond ctx->error_limit is replaced by "too many errors", ctx->too_many_errors is
 * set, and whatever follows is dropped. */
#ifndef GLOW_SUPPORT_DIAG_H
#define GLOW_SUPPORT_DIAG_H

#include "support/context.h"

/* A text that diagnostics quote. `name` is what messages print for it (a path or "<stdin>"). */
struct GlowSource {
  GlowStr name;
  const char *text; /* text[size] is NUL */
  size_t size;
  GlowSource *next;
};

/* Registers a text for caret lines. `text` must outlive the context's last diagnostic about it. */
GlowSource *glow_source_add(GlowContext *ctx, const char *name, const char *text, size_t size);

void glow_diag(GlowContext *ctx, GlowSeverity severity, GlowLoc loc, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define glow_error(ctx, loc, ...) glow_diag((ctx), GLOW_ERROR, (loc), __VA_ARGS__)
#define glow_warning(ctx, loc, ...) glow_diag((ctx), GLOW_WARNING, (loc), __VA_ARGS__)
#define glow_note(ctx, loc, ...) glow_diag((ctx), GLOW_NOTE, (loc), __VA_ARGS__)
#define glow_remark(ctx, loc, ...) glow_diag((ctx), GLOW_REMARK, (loc), __VA_ARGS__)

#define GLOW_NOWHERE ((GlowLoc){0})
GlowLoc glow_loc_file(GlowContext *ctx, const char *file);

/* A silence: diagnostics between begin and end are dropped and not counted. A throw ends the
 * silence too. The fields keep the context's state for the end. */
typedef struct GlowSilence {
  GlowContext *ctx;
  GlowDiagnosticFn fn;
  void *user;
  unsigned errors, limit;
  bool too_many;
  struct GlowSilence *outer;
  GlowDefer restore;
} GlowSilence;
void glow_silence_begin(GlowContext *ctx, GlowSilence *s);
void glow_silence_end(GlowSilence *s);
/* Ends all silences, so that a report just before a throw is heard. */
void glow_silence_break(GlowContext *ctx);
/* Calls fn in a silence and returns the status that fn throws, or OK. Exhausted memory is thrown
 * on. */
GlowStatus glow_try_in_silence(GlowContext *ctx, void (*fn)(GlowContext *ctx, void *arg),
                               void *arg);

/* A silence that keeps the diagnostics. After the end, glow_held_report reports them after all, and
 * glow_held_error returns the first error with its node (in the context), or NULL. */
typedef struct GlowHeld GlowHeld;
typedef struct GlowHold {
  GlowSilence silence;
  GlowHeld *first, **last;
} GlowHold;
void glow_hold_begin(GlowContext *ctx, GlowHold *h);
void glow_hold_end(GlowHold *h);
void glow_held_report(const GlowHold *h);
GlowStr glow_held_error(const GlowHold *h);
unsigned glow_held_errors(const GlowHold *h); /* the number of errors */

/* The default sink: prints to stderr with a caret line when the source is known. */
void glow_diag_print(GlowContext *ctx, const GlowDiagnostic *d);

/* Whether output on stderr is coloured: as --color says; by default on a terminal that has colours,
 * unless NO_COLOR is set. */
bool glow_diag_color(const GlowContext *ctx);

/* --verify-diagnostics: compares the diagnostics with comments in `source`:
 *
 *   ; expected-error {{text}}
 *
 * In place of `error` stands `warning`, `note` or `remark`. `-re` may follow: then the text is a
 * POSIX extended regular expression. A line may follow: @+N, @-N, @above, @below or @unknown.
 * Without -re the text is any part of the message. A diagnostic without a line in this source is
 * @unknown. glow_expect_begin redirects the context's diagnostics. glow_expect_end restores them,
 * prints missing and unexpected diagnostics with their lines, and returns true if there are none.
 */
typedef struct GlowExpectations GlowExpectations;
GlowExpectations *glow_expect_begin(GlowContext *ctx, const GlowSource *source);
bool glow_expect_end(GlowExpectations *e);

#endif
