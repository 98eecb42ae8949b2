/* uthash with its memory in the context's arena, which is freed with the context. Where a table
 * grows, a variable `ctx` must be in scope. Allocation may throw: callers therefore add through a
 * local copy of the head. Then the table is as before, or has the new item. */
#ifndef GLOW_TENSOR_UTHASH_H
#define GLOW_TENSOR_UTHASH_H

#include "support/context.h"

#define uthash_malloc(bytes) glow_arena_alloc(ctx->arena, (bytes))
#define uthash_free(memory, bytes) ((void)(memory), (void)(bytes))
#include <uthash.h>

#endif
