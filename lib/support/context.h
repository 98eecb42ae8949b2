/* The inside of a context: memory, strings, diagnostics, and the one way out of a deep call.
 *
 * note [running out of memory]: arenas and glow_malloc never return NULL. When malloc fails they
 * call glow_throw, which runs the deferred releases of the innermost glow_protect and longjmps to
 * it. Every public entry is one glow_protect. A call into a foreign library that can call back
 * into us (libspng, libjpeg, LLVM) must not be crossed by a throw: its callbacks use plain malloc
 * and report failure through the library's own means. Two exceptions hold nothing in their frames
 * that a throw could leak: yajl, which cannot report a failed allocation and gets its memory from
 * an arena (json.c), and lemon's parsers (see note [parser stack]). */
#ifndef GLOW_SUPPORT_CONTEXT_H
#define GLOW_SUPPORT_CONTEXT_H

#include "glow/context.h"
#include "support/arena.h"
#include "support/str.h"

/* A release that runs if a throw leaves the enclosing glow_protect. Lives in the caller's frame. */
typedef struct GlowDefer {
  void (*release)(void *arg);
  void *arg;
  struct GlowDefer *outer;
} GlowDefer;

typedef struct GlowTry GlowTry; /* one active glow_protect; private to context.c */
typedef struct GlowSource GlowSource;

enum { GLOW_KEPT_DIAGNOSTICS = 64 };

struct GlowContext {
  GlowArena *arenas;     /* list of all live arenas, which are released with the context */
  GlowArena *arena;      /* memory that lives as long as the context */
  struct GlowRoom *room; /* where all arenas lie (room.h); NULL: malloc */
  struct GlowStrEntry *strings;
  struct GlowTypeEntry *types;       /* lib/tensor: interned types */
  struct GlowLayoutEntry *layouts;   /* lib/tensor: interned layouts */
  struct GlowExtentEntry *extents;   /* lib/tensor: interned symbols, newest first */
  const struct GlowExtent *apart[2]; /* lib/ir: symbols that the inference under way needs equal */
  struct GlowAtomEntry *atoms;       /* lib/tensor: interned atoms of forms, newest first */
  struct GlowBlob *blobs;            /* lib/tensor: files mapped and heap blobs, newest first */
  int64_t tensor_bytes;              /* lib/tensor: bytes that living tensors own */
  int64_t tensor_limit; /* an operator's results may not take tensor_bytes over this; 0: no limit */
  bool (*onnx_index)(GlowContext *, struct GlowBlob *,
                     GlowLoc);          /* set by lib/import/onnx, or NULL */
  void (*release_blobs)(GlowContext *); /* set by the first blob */
  struct GlowModule *modules;           /* lib/ir: modules that were not destroyed, newest first */
  void (*release_modules)(GlowContext *); /* set by the first module */
  GlowTry *innermost;                     /* the glow_protect that a throw would leave */
  GlowStatus thrown;                      /* status of the throw under way, for deferred releases */
  GlowDefer *defers;                      /* releases that a throw would run, newest first */
  GlowSource *sources;                    /* texts that diagnostics may quote, newest first */
  GlowDiagnosticFn diagnostic_fn;
  void *diagnostic_user;
  GlowDiagnostic kept[GLOW_KEPT_DIAGNOSTICS]; /* the last ones, in a ring; messages are owned */
  size_t nkept;                               /* how many there have been outside of silences */
  unsigned errors, error_limit;               /* error_limit 0: no limit */
  bool too_many_errors;                       /* set when error_limit was reached; parsers stop */
  int color;                                  /* -1 decide by terminal and NO_COLOR, 0 off, 1 on */
  bool remarks;                               /* whether remarks reach the diagnostic function */
  struct GlowRemarks *listener;               /* lib/ir: who asked for remarks; NULL: nobody */
  double deadline;                            /* support/deadline.h: on glow_clock; 0: none */
  const char *time_limit;                     /* the limit as messages print it: "10s" */
  const char *task;            /* the work under way, for messages: "pass 'lower'"; or NULL */
  bool late;                   /* the deadline has passed and was reported */
  struct GlowSilence *silence; /* support/diag.h: the innermost silence, or NULL */
  bool drop_notes;             /* the last diagnostic was dropped, so its notes are too */
};

/* What creating and destroying are made of, for who has the memory of a context, all zeros. False:
 * memory is exhausted. */
bool glow_context_begin(GlowContext *ctx);
void glow_context_end(GlowContext *ctx);

/* Runs body(ctx, arg). Returns GLOW_OK, or the status that was thrown. Nests. */
GlowStatus glow_protect(GlowContext *ctx, void (*body)(GlowContext *ctx, void *arg), void *arg);

/* Leaves the innermost glow_protect with `status`. Throwing NO_MEMORY reports nothing: the outer
 * caller says "out of memory". A throw outside of any glow_protect is a bug and traps. */
_Noreturn void glow_throw(GlowContext *ctx, GlowStatus status);

/* Registers release(arg) in `d`. Releases are popped in reverse order; glow_defer_pop runs the
 * release if `run`. */
void glow_defer_push(GlowContext *ctx, GlowDefer *d, void (*release)(void *), void *arg);
void glow_defer_pop(GlowContext *ctx, GlowDefer *d, bool run);

/* malloc family that throws instead of returning NULL. Free with free(). glow_malloc zeroes. */
void *glow_malloc(GlowContext *ctx, size_t bytes);
void *glow_realloc(GlowContext *ctx, void *old, size_t bytes);

/* Reports an internal error and throws GLOW_INTERNAL. For invariants that no input can break;
 * `what` describes the broken invariant. */
_Noreturn void glow_internal_error(GlowContext *ctx, const char *file, int line, const char *what);
#define GLOW_CHECK(ctx, cond, what)                                                                \
  ((cond) ? (void)0 : glow_internal_error((ctx), __FILE__, __LINE__, (what)))

#endif
