/* See deadline.h. */
#include "support/deadline.h"

#include <math.h>
#include <string.h>

#include "support/diag.h"
#include "support/text.h"

bool glow_parse_time(const char *text, double *seconds) {
  char *unit;
  double v = text[0] >= '0' && text[0] <= '9' ? glow_parse_double(text, &unit) : 0;
  if (!(v > 0) || !isfinite(v))
    return false;
  double scale = strcmp(unit, "ms") == 0    ? 1e-3
                 : strcmp(unit, "s") == 0   ? 1
                 : strcmp(unit, "min") == 0 ? 60
                                            : 0;
  *seconds = v * scale;
  return *seconds > 0;
}

void glow_deadline_begin(GlowContext *ctx, const char *limit, double seconds) {
  ctx->deadline = glow_clock() + seconds;
  ctx->time_limit = limit;
}

void glow_deadline_end(GlowContext *ctx, GlowLoc loc, const char *at) {
  if (!ctx->late) {
    ctx->late = true;
    glow_silence_break(ctx);
    ctx->error_limit = 0; /* this error must not be dropped as one error too many */
    ctx->too_many_errors = false;
    glow_error(ctx, loc, "the time limit of %s ran out%s%s%s%s", ctx->time_limit, at ? " at " : "",
               at ? at : "", ctx->task ? (at ? ", in " : " in ") : "", ctx->task ? ctx->task : "");
  }
  glow_throw(ctx, GLOW_BAD_INPUT);
}
