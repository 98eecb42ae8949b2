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

/* The same for `size` bytes of a .onnx, .gg or .gir in memory, recognised by content. They are read
 * as if they were the file `name` in the folder `base`, where their weight files are. `name` NULL
 * stands for "<memory>"; `base` NULL: a model has no weight files, those of a text are looked for
 * in the folder of `name`. A text is copied. The bytes of a model are borrowed: they must not change
 * before the end of the context. */
GLOW_API GlowStatus glow_module_load_bytes(GlowContext *ctx, const char *name, const void *data,
                                           size_t size, const char *base, GlowModule **module);

/* Changes the module as glow-opt does with these options: -PASS or -PASS=OPTIONS, -O0 to -O3,
 * -passes=PIPELINE, -target=NAME, -exact, -fast-math. "-bind=N=8 -target=x86-64-v3 -O2" is an
 * example. Words are quoted as for a shell. BAD_USAGE after a diagnostic whose place is in the
 * options, which have the name "options": nothing has changed then. After any other failure the
 * module can only be released. */
GLOW_API GlowStatus glow_module_apply(GlowModule *module, const char *options);

/* Writes the canonical text, payload included, to the file `path` ("-": standard output). Paths of
 * weight files are relative to the folder of the file. The file appears only if all is written. */
GLOW_API GlowStatus glow_module_save(GlowModule *module, const char *path);

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
