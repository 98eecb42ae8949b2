/* Images (GlowImage) under construction: structs with pointers, as bytes that do not know where
 * they will lie. */
#ifndef GLOW_BACKEND_CPU_IMAGE_H
#define GLOW_BACKEND_CPU_IMAGE_H

#include "codegen/codegen.h"

typedef struct GlowImageBuilder {
  GlowArena *arena;
  char *bytes;
  uint32_t size, room;
  GLOW_VEC(GlowFixup) fixups;
} GlowImageBuilder;

/* Appends a copy of some bytes, aligned to 16. Returns where it begins. For each pointer among the
 * bytes glow_image_point must be called. */
int64_t glow_image_add(GlowImageBuilder *b, const void *data, size_t size);
/* The pointer at `place` leads to `target`. */
void glow_image_point(GlowImageBuilder *b, int64_t place, int64_t target);
/* Params of the reference kernel of an operator: a GlowReferenceParams with all that it points to.
 */
int64_t glow_image_add_call(GlowImageBuilder *b, const GlowOpDesc *desc, const GlowCall *call);
/* The image; the builder is not used again. */
GlowImage glow_image_finish(GlowImageBuilder *b);
/* Zeros at a multiple of GLOW_IMAGE_ALIGN, in an arena. */
void *glow_image_room(GlowArena *arena, size_t size);
/* A copy of the image in an arena, ready to be read. NULL: it is empty. */
const void *glow_image_copy(GlowArena *arena, const GlowImage *image);
/* Gives a copy of the image its pointers; `memory` has image->size bytes and is aligned to
 * GLOW_IMAGE_ALIGN. */
void glow_image_place(const GlowImage *image, void *memory);

#endif
