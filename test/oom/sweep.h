/* Runs a body again and again, in a context of its own each time, with one more allocation before the
 * one that fails. For a program of one source file. */
#ifndef GLOW_TEST_OOM_SWEEP_H
#define GLOW_TEST_OOM_SWEEP_H

#include <stdio.h>

#include "support/diag.h"
#include "test/oom/failing.h"

/* What is run: `body` gets `arg` and sets *status to what a tool would exit with. */
typedef struct Sweep {
  const char *name;
  void (*body)(GlowContext *ctx, void *arg);
  void *arg;
  GlowStatus *status;
} Sweep;

static void silent(void *user, const GlowDiagnostic *d) {
  (void)user;
  (void)d;
}

/* One run. */
static GlowStatus attempt(const Sweep *s, long fail_at) {
  fired = false;
  countdown = fail_at;
  GlowContext *ctx = glow_context_create();
  GlowStatus status = GLOW_NO_MEMORY;
  if (ctx) {
    glow_context_set_diagnostic_fn(ctx, silent, NULL);
    status = glow_protect(ctx, s->body, s->arg);
    countdown = -1;
    glow_context_destroy(ctx);
    if (status == GLOW_OK)
      status = *s->status;
  }
  countdown = -1;
  return status;
}

/* Until no allocation fails. Each failure must end in a status that is no internal error, and leave
 * no memory behind. Adds the number of allocations to *total. */
static bool sweep(const Sweep *s, long *total) {
  for (long n = 0;; n++) {
    long before = live;
    GlowStatus status = attempt(s, n);
    if (live != before) {
      printf("%s: allocation %ld failed: %ld blocks left behind\n", s->name, n, live - before);
      return false;
    }
    if (!fired) {
      *total += n;
      printf("%s: %ld allocations, each failed once; then status %d\n", s->name, n, status);
      return status == GLOW_OK && n > 20;
    }
    if (status == GLOW_INTERNAL) {
      printf("%s: allocation %ld failed: internal error\n", s->name, n);
      return false;
    }
  }
}

#endif
