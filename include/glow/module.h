/* Modules: texts of both levels and ONNX models, in memory. */
#ifndef GLOW_MODULE_H
#define GLOW_MODULE_H

#include "glow/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct GlowModule GlowModule;

/* Reads the module in `path` ("-": standard input): .gg, .gir or .onnx, recognised by content, and
 * verifies it. On GLOW_OK *module is the caller's until glow_module_release or the end of the
 * context. */
GLOW_API GlowStatus glow_module_load(GlowContext *ctx, const char *path, GlowModule **module);

/* The same for a text in memory; `name` is what diagnostics call it. The text is copied. */
GLOW_API GlowStatus glow_module_load_text(GlowContext *ctx, const char *name, const char *text,
                                          size_t size, GlowModule **module);

/* Runs passes: a pipeline string such as "lower,fixpoint(dce),fold-bn", or "O2". */
GLOW_API GlowStatus glow_module_run_passes(GlowModule *module, const char *pipeline);

/* Checks every rule of the language reference; fails also if building it failed (build.h). */
GLOW_API GlowStatus glow_module_check(GlowModule *module);

/* Prints the canonical text, payload included. On GLOW_OK *text has *size bytes and a NUL behind
 * them; release it with free(). */
GLOW_API GlowStatus glow_module_to_text(GlowModule *module, char **text, size_t *size);

GLOW_API void glow_module_release(GlowModule *module);

#ifdef __cplusplus
}
#endif
#endif
