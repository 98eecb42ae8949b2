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

/* From begin to end what is reported is dropped, and not counted; a throw ends it too. */
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
/* Reports are heard again, whoever has begun a silence: for what is said before a throw. */
void glow_silence_break(GlowContext *ctx);
/* Calls fn in silence, and catches what it throws but exhausted memory. OK if it returned. */
GlowStatus glow_try_in_silence(GlowContext *ctx, void (*fn)(GlowContext *ctx, void *arg),
                               void *arg);

/* A silence that keeps what is reported. After the end, glow_held_report reports it after all;
 * glow_held_error is the first error with its node, in the context, or NULL. */
typedef struct GlowHeld GlowHeld;
typedef struct GlowHold {
  GlowSilence silence;
  GlowHeld *first, **last;
} GlowHold;
void glow_hold_begin(GlowContext *ctx, GlowHold *h);
void glow_hold_end(GlowHold *h);
void glow_held_report(const GlowHold *h);
GlowStr glow_held_error(const GlowHold *h);
unsigned glow_held_errors(const GlowHold *h); /* how many */

/* The default sink: prints to stderr with a caret line when the source is known. */
void glow_diag_print(GlowContext *ctx, const GlowDiagnostic *d);

/* Whether what goes to stderr is coloured: as --color says, else on a terminal that has colours
 * unless NO_COLOR is set. */
bool glow_diag_color(const GlowContext *ctx);

/* --verify-diagnostics: compares what is reported with comments `; expected-error {{text}}`
 * (error, warning, note, remark; then optional -re for a POSIX extended regular expression, and @+N
 * @-N @above @below @unknown) in `source`. The text is any part of the message. A diagnostic
 * without a line in this source is @unknown. begin redirects the context's diagnostics; end
 * restores them, prints what is missing or unexpected with its line, and returns true if the sets
 * were equal. */
typedef struct GlowExpectations GlowExpectations;
GlowExpectations *glow_expect_begin(GlowContext *ctx, const GlowSource *source);
bool glow_expect_end(GlowExpectations *e);

#endif
