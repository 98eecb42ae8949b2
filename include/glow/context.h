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

/* The version of this header. Libraries of one major and minor number fit each other. */
#define GLOW_VERSION_MAJOR 0
#define GLOW_VERSION_MINOR 1
#define GLOW_VERSION_STRING "0.1.0"

/* The version of the library that runs, such as "0.1.0". */
GLOW_API const char *glow_version(void);

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

/* What a status means, as half a sentence: "out of memory". Never NULL. */
GLOW_API const char *glow_status_text(GlowStatus status);

typedef struct GlowContext GlowContext;

typedef enum GlowSeverity { GLOW_ERROR, GLOW_WARNING, GLOW_NOTE, GLOW_REMARK } GlowSeverity;

/* Where a message points: a place in a text (line and column from 1), or a node of an imported
 * model (`node`), or only a file. Absent parts are 0 or NULL. Strings belong to the context. */
typedef struct GlowLoc {
  const char *file;
  uint32_t line, col;
  const char *node;
} GlowLoc;

/* `size` is sizeof(GlowDiagnostic) as the side knows it that fills the struct in, or wants it
 * filled in: the struct may grow at its end. GlowLoc stays as it is. */
typedef struct GlowDiagnostic {
  size_t size;
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

/* The context keeps the last 64 diagnostics, with and without a function that receives them.
 * Returns how many it keeps. */
GLOW_API size_t glow_context_diagnostics(const GlowContext *ctx);

/* Fills in the kept diagnostic i; 0 is the oldest. The caller sets diagnostic->size. The strings
 * stay valid until the context reports the next diagnostic. False, and nothing is written: there
 * is no such diagnostic, or the size is less than that of the fields above. */
GLOW_API bool glow_context_diagnostic(const GlowContext *ctx, size_t i, GlowDiagnostic *diagnostic);

#ifdef __cplusplus
}
#endif
#endif
