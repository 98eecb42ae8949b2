/* Line tables through LLVM's DIBuilder. See debug.h.
 *
 * A function belongs to the line of the instruction that it was made for, and so do the kernels
 * that are inlined into it: they are compiled without lines of their own, and what has none gets
 * that of the call. A piece that shares the code of another has a function of one call, so that
 * debuggers stop at its line. */
#include "codegen/debug.h"

#include <string.h>
#include <unistd.h>

static LLVMMetadataRef file_of(GlowDebug *d, const char *name) {
  GlowContext *ctx = d->l->ctx;
  char here[4096];
  GlowStr key = glow_str(ctx, name ? name : "<none>");
  for (uint32_t i = 0; i < d->files.count; i++) {
    if (d->files.data[i].name == key)
      return d->files.data[i].file;
  }
  const char *folder = getcwd(here, sizeof here) ? here : ".";
  GlowDebugFile f = {key,
                     LLVMDIBuilderCreateFile(d->builder, key, strlen(key), folder, strlen(folder))};
  glow_vec_push(d->arena, &d->files, f);
  return f.file;
}

static void add_flag(GlowLlvm *l, const char *name, unsigned value) {
  LLVMAddModuleFlag(l->module, LLVMModuleFlagBehaviorWarning, name, strlen(name),
                    LLVMValueAsMetadata(LLVMConstInt(l->i32, value, 0)));
}

void glow_debug_open(GlowDebug *d, GlowLlvm *l, GlowArena *arena, bool on, GlowLoc program) {
  static const char producer[] = "Glow " GLOW_VERSION_STRING;
  *d = (GlowDebug){.l = l, .arena = arena, .program = program};
  if (!on)
    return;
  d->builder = LLVMCreateDIBuilder(l->module);
  LLVMDIBuilderCreateCompileUnit(d->builder, LLVMDWARFSourceLanguageC, file_of(d, program.file),
                                 producer, sizeof producer - 1, 1, "", 0, 0, "", 0,
                                 LLVMDWARFEmissionFull, 0, 0, 0, "", 0, "", 0);
  d->function_type =
      LLVMDIBuilderCreateSubroutineType(d->builder, file_of(d, program.file), NULL, 0, 0);
  /* Without the version LLVM drops all of it. */
  add_flag(l, "Debug Info Version", LLVMDebugMetadataVersion());
  add_flag(l, "Dwarf Version", 4);
}

void glow_debug_close(GlowDebug *d) {
  if (!d->builder)
    return;
  LLVMSetCurrentDebugLocation2(d->l->builder, NULL);
  LLVMDIBuilderFinalize(d->builder);
  LLVMDisposeDIBuilder(d->builder);
  d->builder = NULL;
}

void glow_debug_function(GlowDebug *d, LLVMValueRef function, const char *name) {
  if (!d->builder)
    return;
  GlowLoc loc = d->source ? d->source->line : d->program;
  LLVMMetadataRef file = file_of(d, loc.file);
  LLVMMetadataRef line =
      LLVMDIBuilderCreateFunction(d->builder, file, name, strlen(name), "", 0, file, loc.line,
                                  d->function_type, 1, 1, loc.line, LLVMDIFlagZero, 1);
  LLVMSetSubprogram(function, line);
  LLVMSetCurrentDebugLocation2(
      d->l->builder, LLVMDIBuilderCreateDebugLocation(d->l->llvm, loc.line, loc.col, line, NULL));
}

void glow_debug_at(GlowDebug *d, LLVMValueRef function, GlowLoc loc) {
  if (!d->builder)
    return;
  LLVMMetadataRef scope = LLVMGetSubprogram(function), file;
  file = file_of(d, loc.file);
  if (LLVMDIScopeGetFile(scope) != file)
    scope = LLVMDIBuilderCreateLexicalBlockFile(d->builder, scope, file, 0);
  LLVMSetCurrentDebugLocation2(
      d->l->builder, LLVMDIBuilderCreateDebugLocation(d->l->llvm, loc.line, loc.col, scope, NULL));
}
