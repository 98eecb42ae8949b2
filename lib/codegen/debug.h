/* Lines of code: every instruction of the machine belongs to a line of the text, or to a node of
 * the model that it comes from. */
#ifndef GLOW_CODEGEN_DEBUG_H
#define GLOW_CODEGEN_DEBUG_H

#include <llvm-c/DebugInfo.h>

#include "codegen/codegen.h"
#include "codegen/llvm.h"

typedef struct GlowDebugFile {
  GlowStr name;
  LLVMMetadataRef file;
} GlowDebugFile;

/* All functions do nothing if `builder` is NULL. */
typedef struct GlowDebug {
  GlowLlvm *l;
  LLVMDIBuilderRef builder;
  GlowArena *arena;
  GLOW_VEC(GlowDebugFile) files;
  LLVMMetadataRef function_type;
  const GlowWorkSource *source; /* what new functions are for; NULL: nothing in particular */
  GlowLoc program;              /* where the program begins */
} GlowDebug;

/* Opens a unit for a text, or does nothing unless `on`. */
void glow_debug_open(GlowDebug *d, GlowLlvm *l, GlowArena *arena, bool on, GlowLoc program);
/* Must be called before the module is verified. */
void glow_debug_close(GlowDebug *d);

/* A new function, in which the builder stands: gives it the line of d->source. */
void glow_debug_function(GlowDebug *d, LLVMValueRef function, const char *name);
/* What is built next in the function, which has a line, belongs to the line of loc. */
void glow_debug_at(GlowDebug *d, LLVMValueRef function, GlowLoc loc);

#endif
