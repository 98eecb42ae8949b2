/* What libglow_codegen.so exports. */
#include "codegen/plugin.h"

#include "support/source_id.h"

/* The library has tables of its own: rows are found by their names. */
static bool emit_image(GlowContext *ctx, const GlowProgramData *program,
                       const GlowCodegenOptions *options, const char **unlinked, GlowText *out,
                       GlowCodegenTimes *times) {
  GlowCodegenOptions o = *options;
  o.isa = glow_isa_find(options->isa->name);
  return glow_codegen_emit_image(ctx, program, &o, unlinked, out, times);
}

extern const GlowCodegenPlugin glow_codegen_plugin;
__attribute__((visibility("default"))) const GlowCodegenPlugin glow_codegen_plugin = {
    .source = GLOW_SOURCE_ID,
    .emit_image = emit_image,
    .llvm_version = glow_codegen_llvm_version,
};
