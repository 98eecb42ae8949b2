/* A limit on a tool's time: --time-limit.
 *
 * The deadline is checked between steps: by passes at each node and rewrite, by the interpreter
 * before each node and each round of a loop, by machine code after each piece of work, by code
 * generation between its steps, by packing of constants between pieces. A step under way is never
 * interrupted and no signal is used, so an output file is either whole or absent. */
#ifndef GLOW_SUPPORT_DEADLINE_H
#define GLOW_SUPPORT_DEADLINE_H

#include "support/context.h"
#include "support/process.h"

/* Reads a time such as "500ms", "10s" or "1.5min", in seconds. False if the text has another form
 * or the time is not above 0. */
bool glow_parse_time(const char *text, double *seconds);

/* Sets the deadline to `seconds` from now. `limit` is the time as messages print it. */
void glow_deadline_begin(GlowContext *ctx, const char *limit, double seconds);

static inline bool glow_deadline_over(const GlowContext *ctx) {
  return ctx->deadline > 0 && glow_clock() > ctx->deadline;
}

/* Throws BAD_INPUT. The first call also reports an error at `loc`, even in a silence, so the tool
 * fails even if somebody catches the throw. `at` names the node that was reached ("Exp '%e'") and
 * may be NULL. */
_Noreturn void glow_deadline_end(GlowContext *ctx, GlowLoc loc, const char *at);
/* Does the same if the deadline has passed; else nothing. */
static inline void glow_deadline_check(GlowContext *ctx, GlowLoc loc) {
  if (glow_deadline_over(ctx))
    glow_deadline_end(ctx, loc, NULL);
}
#endif
