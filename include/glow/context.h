/* Contexts, statuses and diagnostics: what every other part of the public API needs.
 *
 * A context owns everything that one compile creates: interned strings, types, blobs, modules.
 * There are no globals and no locks; use one context per thread. No function of the library ends
 * the process: bad input gives a located diagnostic and a failed status, and so does a failing
 * allocation. */
#ifndef GLOW_CONTEXT_H
#define GLOW_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GLOW_API __attribute__((visibility("default")))
#else
#define GLOW_API
#endif

#define GLOW_VERSION_STRING "0.1.0"

/* Outcome of a call. Tools map them to exit statuses: 0, 1 for BAD_INPUT, NO_MEMORY and IO,
 * 2 for BAD_USAGE, 3 for INTERNAL. */
typedef enum GlowStatus {
  GLOW_OK,
  GLOW_BAD_INPUT, /* the input is wrong; diagnostics say where and why */
  GLOW_BAD_USAGE, /* the call or the command line is wrong */
  GLOW_IO,        /* a file could not be read or written; a diagnostic names it */
  GLOW_NO_MEMORY, /* an allocation failed; the context can still be used and must be destroyed */
  GLOW_INTERNAL,  /* our own fault; a diagnostic says where */
  GLOW_BUSY,      /* another thread uses an object that one run at a time may use */
  GLOW_CANCELLED  /* somebody has stopped the run */
} GlowStatus;

typedef struct GlowContext GlowContext;

typedef enum GlowSeverity { GLOW_ERROR, GLOW_WARNING, GLOW_NOTE, GLOW_REMARK } GlowSeverity;

/* Where a message points: a place in a text (line and column from 1), or a node of an imported
 * model (`node`), or only a file. Absent parts are 0 or NULL. Strings belong to the context. */
typedef struct GlowLoc {
  const char *file;
  uint32_t line, col;
  const char *node;
} GlowLoc;

typedef struct GlowDiagnostic {
  GlowSeverity severity;
  GlowLoc loc;
  const char *message; /* one line, no newline at its end */
} GlowDiagnostic;

/* Receives each diagnostic; `diagnostic` is valid only during the call. */
typedef void (*GlowDiagnosticFn)(void *user, const GlowDiagnostic *diagnostic);

/* Returns a new context, or NULL if memory is exhausted. */
GLOW_API GlowContext *glow_context_create(void);

/* Releases the context and everything it owns; NULL is ignored. */
GLOW_API void glow_context_destroy(GlowContext *ctx);

/* Sends diagnostics to `fn` instead of stderr; NULL restores stderr. */
GLOW_API void glow_context_set_diagnostic_fn(GlowContext *ctx, GlowDiagnosticFn fn, void *user);

/* How many errors there have been so far, those beyond the limit included. */
GLOW_API unsigned glow_context_error_count(const GlowContext *ctx);

#ifdef __cplusplus
}
#endif
#endif
