/* Contexts, and leaving a deep call. glow_protect sets a mark; glow_throw runs the releases that
 * were deferred since the mark, then jumps to the mark. See note [running out of memory]. */
#include "support/context.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "support/diag.h"

struct GlowTry {
  jmp_buf mark;
  volatile GlowStatus status; /* written between setjmp and longjmp */
  GlowDefer *defers;          /* ctx->defers at the mark */
  GlowTry *outer;
};

static void create_arena(GlowContext *ctx, void *arg) {
  (void)arg;
  ctx->arena = glow_arena_create(ctx);
}

bool glow_context_begin(GlowContext *ctx) {
  ctx->error_limit = 20;
  ctx->color = -1;
  return glow_protect(ctx, create_arena, NULL) == GLOW_OK;
}

GlowContext *glow_context_create(void) {
  GlowContext *ctx = calloc(1, sizeof *ctx);
  if (!ctx || glow_context_begin(ctx))
    return ctx;
  glow_context_destroy(ctx);
  return NULL;
}

void glow_context_end(GlowContext *ctx) {
  if (ctx->release_modules)
    ctx->release_modules(ctx);
  if (ctx->release_blobs)
    ctx->release_blobs(ctx);
  while (ctx->arenas)
    glow_arena_destroy(ctx->arenas);
  for (size_t i = 0; i < GLOW_KEPT_DIAGNOSTICS; i++)
    free((char *)ctx->kept[i].message);
}

void glow_context_destroy(GlowContext *ctx) {
  if (!ctx)
    return;
  glow_context_end(ctx);
  free(ctx);
}

void glow_context_set_diagnostic_fn(GlowContext *ctx, GlowDiagnosticFn fn, void *user) {
  ctx->diagnostic_fn = fn;
  ctx->diagnostic_user = user;
}

unsigned glow_context_error_count(const GlowContext *ctx) { return ctx->errors; }

size_t glow_context_diagnostics(const GlowContext *ctx) {
  return ctx->nkept < GLOW_KEPT_DIAGNOSTICS ? ctx->nkept : GLOW_KEPT_DIAGNOSTICS;
}

bool glow_context_diagnostic(const GlowContext *ctx, size_t i, GlowDiagnostic *diagnostic) {
  size_t count = glow_context_diagnostics(ctx);
  size_t least = offsetof(GlowDiagnostic, message) + sizeof diagnostic->message;
  if (!diagnostic || i >= count || diagnostic->size < least)
    return false;
  size_t size = diagnostic->size < sizeof *diagnostic ? diagnostic->size : sizeof *diagnostic;
  memcpy(diagnostic, &ctx->kept[(ctx->nkept - count + i) % GLOW_KEPT_DIAGNOSTICS], size);
  diagnostic->size = size;
  return true;
}

const char *glow_version(void) { return GLOW_VERSION_STRING; }

const char *glow_status_text(GlowStatus status) {
  switch (status) {
  case GLOW_OK:
    return "no error";
  case GLOW_BAD_INPUT:
    return "the input is wrong";
  case GLOW_BAD_USAGE:
    return "the call is wrong";
  case GLOW_IO:
    return "a file could not be read or written";
  case GLOW_NO_MEMORY:
    return "out of memory";
  case GLOW_INTERNAL:
    return "internal error";
  case GLOW_BUSY:
    return "another thread uses the object";
  case GLOW_CANCELLED:
    return "the run was stopped";
  }
  return "unknown status";
}

GlowStatus glow_protect(GlowContext *ctx, void (*body)(GlowContext *ctx, void *arg), void *arg) {
  GlowTry here;
  here.status = GLOW_OK;
  here.defers = ctx->defers;
  here.outer = ctx->innermost;
  ctx->innermost = &here;
  if (setjmp(here.mark) == 0) {
    body(ctx, arg);
    ctx->innermost = here.outer;
    return GLOW_OK;
  }
  return here.status; /* glow_throw has restored the context */
}

void glow_throw(GlowContext *ctx, GlowStatus status) {
  GlowTry *target = ctx->innermost;
  if (!target)
    __builtin_trap();
  ctx->thrown = status;
  while (ctx->defers != target->defers) {
    GlowDefer *d = ctx->defers;
    ctx->defers = d->outer;
    d->release(d->arg);
  }
  ctx->innermost = target->outer;
  target->status = status;
  longjmp(target->mark, 1);
}

void glow_defer_push(GlowContext *ctx, GlowDefer *d, void (*release)(void *), void *arg) {
  d->release = release;
  d->arg = arg;
  d->outer = ctx->defers;
  ctx->defers = d;
}

void glow_defer_pop(GlowContext *ctx, GlowDefer *d, bool run) {
  if (ctx->defers != d)
    __builtin_trap();
  ctx->defers = d->outer;
  if (run)
    d->release(d->arg);
}

void *glow_malloc(GlowContext *ctx, size_t bytes) {
  void *p = calloc(1, bytes ? bytes : 1);
  if (!p)
    glow_throw(ctx, GLOW_NO_MEMORY);
  return p;
}

void *glow_realloc(GlowContext *ctx, void *old, size_t bytes) {
  void *p = realloc(old, bytes ? bytes : 1);
  if (!p)
    glow_throw(ctx, GLOW_NO_MEMORY);
  return p;
}

void glow_internal_error(GlowContext *ctx, const char *file, int line, const char *what) {
  const char *slash = strrchr(file, '/');
  ctx->error_limit = 0; /* an internal error must not be dropped as one error too many */
  ctx->too_many_errors = false;
  glow_error(ctx, GLOW_NOWHERE, "internal error: %s (%s:%d)", what, slash ? slash + 1 : file, line);
  glow_throw(ctx, GLOW_INTERNAL);
}
