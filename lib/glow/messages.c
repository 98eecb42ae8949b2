/* See messages.h. */
#include "glow/messages.h"

#include "support/diag.h"

static void report(GlowContext *ctx, void *arg) {
  const GlowDiagnostic *d = arg;
  GlowLoc loc = d->loc;
  loc.file = loc.file ? glow_str(ctx, loc.file) : NULL;
  loc.node = loc.node ? glow_str(ctx, loc.node) : NULL;
  bool remarks = ctx->remarks;
  ctx->remarks = true;
  glow_diag(ctx, d->severity, loc, "%s", d->message);
  ctx->remarks = remarks;
}

/* No throw of one context passes the frames of another. */
static void forward(void *to, const GlowDiagnostic *d) {
  glow_protect(to, report, (void *)(uintptr_t)d);
}

void glow_messages_forward(GlowContext *from, GlowContext *to) {
  glow_context_set_diagnostic_fn(from, forward, to);
}
