/* Modules from executables in files (exec/written.h). */
#ifndef GLOW_DRIVER_WRITTEN_H
#define GLOW_DRIVER_WRITTEN_H

#include "exec/written.h"
#include "ir/ir.h"

/* The module in a file that glow_written_is says yes to; its constants lie in the file, which must
 * stay in memory as long as the context. NULL after a diagnostic. *written has the images of code;
 * `name` is what diagnostics call the file. */
GlowModule *glow_written_module(GlowContext *ctx, const char *name, GlowBytes file,
                                const GlowWritten **written);

#endif
