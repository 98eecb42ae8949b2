/* Code generation as a shared library, libglow_codegen.so, so that only processes that compile load
 * LLVM. Both sides are of one build: no member of the table is older than the other side. */
#ifndef GLOW_CODEGEN_PLUGIN_H
#define GLOW_CODEGEN_PLUGIN_H

#include "codegen/codegen.h"

#define GLOW_CODEGEN_PLUGIN_FILE "libglow_codegen.so"
#define GLOW_CODEGEN_PLUGIN_TABLE "glow_codegen_plugin"

/* The functions of codegen.h with these names. options->isa may be a row of the caller's table. */
typedef struct GlowCodegenPlugin {
  const char *source; /* GLOW_SOURCE_ID; the first member in every build */
  bool (*emit_image)(GlowContext *ctx, const GlowProgramData *program,
                     const GlowCodegenOptions *options, const char **unlinked, GlowText *out,
                     GlowCodegenTimes *times);
  const char *(*llvm_version)(GlowContext *ctx);
} GlowCodegenPlugin;

#endif
