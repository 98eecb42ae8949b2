/* A limit on a tool's time: --time-limit. Work looks at it between steps: passes at each node and
 * rewrite, the interpreter before each node and each round of a loop, machine code after each piece
 * of work, code generation between its steps. Nothing ends a step that is under way, and no signal
 * is used, so that files are whole or not there. */
#ifndef GLOW_SUPPORT_DEADLINE_H
#define GLOW_SUPPORT_DEADLINE_H

#include "support/context.h"
#include "support/process.h"

/* "500ms", "10s", "1.5min" in seconds. False if it is none of these or not above 0. */
bool glow_parse_time(const char *text, double *seconds);

/* The time begins now; `limit` is what a message calls it. */
void glow_deadline_begin(GlowContext *ctx, const char *limit, double seconds);

static inline bool glow_deadline_over(const GlowContext *ctx) {
  return ctx->deadline > 0 && glow_clock() > ctx->deadline;
}

/* Leaves the innermost glow_protect with BAD_INPUT. The first call reports an error at `loc`, also
 * in a silence; the tool then fails, whoever has caught the throw. `at` ("Exp '%e'") may be NULL.
 */
_Noreturn void glow_deadline_end(GlowContext *ctx, GlowLoc loc, const char *at);
/* The same if the time is over. */
static inline void glow_deadline_check(GlowContext *ctx, GlowLoc loc) {
  if (glow_deadline_over(ctx))
    glow_deadline_end(ctx, loc, NULL);
}
#endif
