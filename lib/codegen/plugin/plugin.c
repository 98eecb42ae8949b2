/* What libglow_codegen.so exports. */
#include "codegen/plugin.h"

#include "support/source_id.h"

/* The library has tables of its own: rows are found by their names. */
static bool emit_object(GlowContext *ctx, const GlowProgramData *program,
                        const GlowCodegenOptions *options, GlowText *out, GlowCodegenTimes *times) {
  GlowCodegenOptions o = *options;
  o.isa = glow_isa_find(options->isa->name);
  return glow_codegen_emit_object(ctx, program, &o, out, times);
}

extern const GlowCodegenPlugin glow_codegen_plugin;
__attribute__((visibility("default"))) const GlowCodegenPlugin glow_codegen_plugin = {
    .source = GLOW_SOURCE_ID,
    .emit_object = emit_object,
    .load = glow_code_load,
    .program = glow_code_program,
    .size = glow_code_size,
    .destroy = glow_code_destroy,
    .llvm_version = glow_codegen_llvm_version,
};
