/* Objects of our own code generation into an image (exec/code.h). No LLVM. */
#ifndef GLOW_CODEGEN_LINK_H
#define GLOW_CODEGEN_LINK_H

#include "exec/code.h"
#include "support/file.h"
#include "support/text.h"

/* The line of a function, by its symbol. */
typedef struct GlowLinkLine {
  const char *function, *file;
  uint64_t line;
} GlowLinkLine;

/* Links relocatable ELF objects of one machine (x86-64, AArch64 or RV64, little-endian, PIC) and
 * appends the image to `out`. Functions that no object defines become imports. `program` is the
 * GlowProgram. Objects with lines go into the image, too, for debuggers; `lines` are for profilers.
 * Returns NULL, or why the objects cannot be linked: an unknown relocation or section. That text
 * lives in the context, and `out` is then as it was. */
const char *glow_link(GlowContext *ctx, const GlowBytes *objects, uint32_t count,
                      const char *program, const GlowLinkLine *lines, uint32_t nlines,
                      GlowText *out);

#endif
