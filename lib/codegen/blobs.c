/* Embeds the files of gen/kernels with the assembler, which is faster than a C array. */
#include "codegen/blobs.h"

#define SYMBOL(isa, kind, name) glow_bitcode_##isa##_##kind##_##name
#define STRING(x) STRING_(x)
#define STRING_(x) #x
#define GLOBAL(symbol) ".hidden " STRING(symbol) "\n.global " STRING(symbol) "\n"
#define LABEL(symbol) STRING(symbol) ":\n"

/* Bitcode wants an alignment of 4. */
#define EMBED(first, last, path)                                                                   \
  extern const char first[], last[];                                                               \
  __asm__(".pushsection .rodata\n.balign 16\n" GLOBAL(first) GLOBAL(last)                          \
              LABEL(first) ".incbin \"" path "\"\n" LABEL(last) ".byte 0\n.popsection\n");
#define BLOB(isa, kind, name, path)                                                                \
  EMBED(SYMBOL(isa, kind, name), SYMBOL(isa, kind, name##_end), path)
#include "kernels/blobs.inc"
#undef BLOB

const GlowBitcode glow_bitcode[] = {
#define BLOB(isa, kind, name, path)                                                                \
  {GLOW_ISA_##isa, GLOW_BLOB_##kind, #name, SYMBOL(isa, kind, name), SYMBOL(isa, kind, name##_end)},
#include "kernels/blobs.inc"
#undef BLOB
};
const size_t glow_nbitcode = sizeof glow_bitcode / sizeof *glow_bitcode;
