/* Embeds the files of gen/kernels with the assembler, which is faster than a C array. */
#include "codegen/blobs.h"

#define SYMBOL(isa, name) glow_bitcode_##isa##_##name
#define STRING(x) STRING_(x)
#define STRING_(x) #x

/* Bitcode wants an alignment of 4. */
#define BLOB(isa, name, path)                                                                                                                  \
  extern const char SYMBOL(isa, name)[], SYMBOL(isa, name##_end)[];                                                                            \
  __asm__(                                                                                                                                     \
      ".pushsection .rodata\n.balign 16\n.hidden " STRING(SYMBOL(isa, name)) "\n.hidden " STRING(SYMBOL(isa, name##_end)) "\n.global " STRING( \
          SYMBOL(                                                                                                                              \
              isa,                                                                                                                             \
              name)) "\n.global " STRING(SYMBOL(isa,                                                                                           \
                                                name##_end)) "\n" STRING(SYMBOL(isa,                                                           \
                                                                                name)) ":\n."                                                  \
                                                                                       "incbin "                                               \
                                                                                       "\"" path                                               \
                                                                                       "\""                                                    \
                                                                                       "\n" STRING(SYMBOL(                                     \
                                                                                           isa,                                                \
                                                                                           name##_end)) ":\n.byte 0\n.popsection\n");
#include "kernels/blobs.inc"
#undef BLOB

const GlowBitcode glow_bitcode[] = {
#define BLOB(isa, name, path) {GLOW_ISA_##isa, #name, SYMBOL(isa, name), SYMBOL(isa, name##_end)},
#include "kernels/blobs.inc"
#undef BLOB
};
const size_t glow_nbitcode = sizeof glow_bitcode / sizeof *glow_bitcode;
