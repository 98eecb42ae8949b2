/* The bitcode of lib/kernels/cpu, embedded: one blob for each source and row of isa.def. */
#ifndef GLOW_CODEGEN_BLOBS_H
#define GLOW_CODEGEN_BLOBS_H

#include "kernels/isa.h"

typedef struct GlowBitcode {
  GlowIsaId isa;
  const char *name; /* the source without .c */
  const char *data, *end;
} GlowBitcode;

extern const GlowBitcode glow_bitcode[];
extern const size_t glow_nbitcode;

#endif
