/* The kernels as bitcode, embedded: one blob for each source of lib/kernels/cpu and row of isa.def,
 * and one for each source of lib/kernels/ref and row that others name in their column `ref`. */
#ifndef GLOW_CODEGEN_BLOBS_H
#define GLOW_CODEGEN_BLOBS_H

#include "support/context.h"
#include "target/cpu/isa.h"

typedef enum GlowBlobKind { GLOW_BLOB_CPU, GLOW_BLOB_REF } GlowBlobKind;

typedef struct GlowBitcode {
  GlowIsaId isa;
  GlowBlobKind kind;
  const char *name; /* the source without .c */
  const char *data, *end;
} GlowBitcode;

extern const GlowBitcode glow_bitcode[]; /* by rows; of each first cpu, then ref */
extern const size_t glow_nbitcode;

/* Whether a blob belongs to what programs for a row are linked with. */
static inline bool glow_blob_serves(const GlowBitcode *b, const GlowIsa *isa) {
  return b->isa == (b->kind == GLOW_BLOB_REF ? isa->ref : (GlowIsaId)(isa - glow_isa));
}

/* Reads every function of the row's blobs and verifies them. False after a diagnostic: also if one
 * refers to a function that no blob of the row has and that is none of memcpy, memmove, memset, or
 * if they are not what the kernel table says. */
bool glow_blobs_verify(GlowContext *ctx, const GlowIsa *isa, uint32_t *functions);

#endif
