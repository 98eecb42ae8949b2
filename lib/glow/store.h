/* Constants that executables share. Equal bytes are one block, whatever they were made from. */
#ifndef GLOW_GLOW_STORE_H
#define GLOW_GLOW_STORE_H

#include "exec/executable.h"

/* A block that is used. */
typedef struct GlowStoreUse {
  struct GlowStoreBlock *block; /* NULL: none */
  const void *data;             /* aligned to 64 bytes */
} GlowStoreUse;

/* Finds or makes the block with these bytes. False: out of memory. */
bool glow_store_take(GlowStore *s, const void *data, size_t bytes, GlowStoreUse *use);
/* One user less. */
void glow_store_leave(GlowStoreUse *use);

#endif
