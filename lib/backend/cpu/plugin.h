/* Opens code generation. */
#ifndef GLOW_BACKEND_CPU_PLUGIN_H
#define GLOW_BACKEND_CPU_PLUGIN_H

#include "codegen/plugin.h"

/* The table of libglow_codegen.so, which stays open. The file lies in the folder of this library or
 * program, or in the folder of libraries beside it. NULL after a diagnostic: there is no such file,
 * it cannot be opened, or it belongs to another build. */
const GlowCodegenPlugin *glow_codegen_open(GlowContext *ctx);

/* The path of a file of this build that stands in one of the places, which are folders as seen from
 * that of this library or program; the list ends with NULL. NULL: there is none. */
const char *glow_find_beside(GlowContext *ctx, const char *file, const char *const *places);

#endif
