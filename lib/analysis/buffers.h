/* Buffers of programs: what is behind a view, what an alloc takes and who uses it. */
#ifndef GLOW_ANALYSIS_BUFFERS_H
#define GLOW_ANALYSIS_BUFFERS_H

#include "ir/ir.h"

/* The alloc, storage or parameter behind a buffer, through views. */
GlowValue *glow_buffer_base(GlowValue *v);
/* The same, but stops at a view that leaves out elements or changes their order. */
GlowValue *glow_buffer_dense_base(GlowValue *v);
/* The bytes that an alloc of this type takes: those of its bounds, plus one i64 for each dimension
 * if an extent is only bounded. -1 if the type is not bounded. */
int64_t glow_buffer_bytes(const GlowType *t);

/* Whether v is the result of an alloc, and not a view, storage or parameter. */
bool glow_buffer_is_plain_alloc(const GlowValue *v);
GlowNode *glow_buffer_dealloc(const GlowValue *alloc); /* NULL if it has none */

/* The uses of an alloc besides its dealloc. */
typedef struct GlowBufferUses {
  GlowUse *writer; /* the only @out use; others is set if there are more */
  GlowUse *reader; /* the only @in use */
  bool others;     /* any use besides these: views, @inout, predicates */
} GlowBufferUses;
GlowBufferUses glow_buffer_uses(GlowValue *alloc);

#endif
