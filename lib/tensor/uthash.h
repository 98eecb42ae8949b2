/* uthash with its memory in the context's arena: a variable `ctx` must be in scope where tables
 * grow. Nothing is freed before the context. An allocation that throws leaves the table as it was,
 * or with the new item in it, provided that the caller adds through a local copy of the head. */
#ifndef GLOW_TENSOR_UTHASH_H
#define GLOW_TENSOR_UTHASH_H

#include "support/context.h"

#define uthash_malloc(bytes) glow_arena_alloc(ctx->arena, (bytes))
#define uthash_free(memory, bytes) ((void)(memory), (void)(bytes))
#include <uthash.h>

#endif
