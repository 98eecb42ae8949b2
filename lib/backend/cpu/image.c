/* See image.h. Structs have the layout of this host, which every little-endian machine shares:
 * support/pointer.h gives pointers of 32 bits the room of 64. */
#include "backend/cpu/image.h"

#include <string.h>

#include "ir/ir.h"
#include "kernels/reference.h"
#include "support/sort.h"

#define ALIGN 16

int64_t glow_image_add(GlowImageBuilder *b, const void *data, size_t size) {
  size_t at = (b->size + ALIGN - 1) / ALIGN * ALIGN;
  GLOW_CHECK(glow_arena_context(b->arena), at + size < UINT32_MAX, "params are small");
  while (at + size > b->room)
    b->bytes = glow_vec_grow(b->arena, b->bytes, b->size, &b->room, 1);
  if (size)
    memcpy(b->bytes + at, data, size);
  b->size = (uint32_t)(at + size);
  return (int64_t)at;
}

void glow_image_point(GlowImageBuilder *b, int64_t place, int64_t target) {
  GlowFixup f = {place, target};
  memset(b->bytes + place, 0, sizeof(void *));
  glow_vec_push(b->arena, &b->fixups, f);
}

/* A null pointer at `place`. */
static void clear(GlowImageBuilder *b, int64_t place) {
  memset(b->bytes + place, 0, sizeof(void *));
}

/* ---- Members of operators -------------------------------------------------------------------- */

/* The text that a pointer at `place` leads to. */
static void add_text(GlowImageBuilder *b, int64_t place, const char *text) {
  clear(b, place);
  if (text)
    glow_image_point(b, place, glow_image_add(b, text, strlen(text) + 1));
}

/* The elements that the GlowArray at `place` leads to. */
static void add_array(GlowImageBuilder *b, int64_t place, const GlowMember *m, GlowArray a) {
  size_t size = glow_member_size(m);
  place += (int64_t)offsetof(GlowArray, data);
  clear(b, place);
  if (!a.count)
    return;
  int64_t at = glow_image_add(b, a.data, a.count * size);
  glow_image_point(b, place, at);
  for (uint32_t i = 0; i < a.count && glow_member_is_text(m); i++)
    add_text(b, at + (int64_t)(i * size), glow_array_at(a, char *, i));
}

/* Members as the kernel reads them. Types are left out: no kernel knows the IR. */
static int64_t add_members(GlowImageBuilder *b, const GlowOpDesc *d, const void *members) {
  int64_t at = glow_image_add(b, members, d->member_size);
  for (uint32_t i = 0; i < d->nmembers; i++) {
    const GlowMember *m = &d->members[i];
    const char *field = (const char *)members + m->offset;
    int64_t place = at + (int64_t)m->offset;
    if (m->array)
      add_array(b, place, m, *(const GlowArray *)field);
    else if (m->type == GLOW_MEMBER_TYPE)
      clear(b, place);
    else if (m->type == GLOW_MEMBER_SIZE)
      clear(b, place + (int64_t)offsetof(GlowSize, extent));
    else if (glow_member_is_text(m))
      add_text(b, place, *(const char *const *)field);
  }
  return at;
}

int64_t glow_image_add_call(GlowImageBuilder *b, const GlowOpDesc *d, const GlowCall *c) {
  GlowReferenceParams p = {.call = {.nin = c->nin, .nout = c->nout},
                           .nouts = (int64_t)c->nout + d->nout,
                           .nins = (int64_t)c->nin + d->nin,
                           .op = d - glow_op_desc};
  int64_t at = glow_image_add(b, &p, sizeof p);
  int64_t call = at + (int64_t)offsetof(GlowReferenceParams, call);
  if (d->member_size)
    glow_image_point(b, call + (int64_t)offsetof(GlowCall, members), add_members(b, d, c->members));
  glow_image_point(b, call + (int64_t)offsetof(GlowCall, out),
                   glow_image_add(b, c->out, (size_t)p.nouts * sizeof *c->out));
  glow_image_point(b, call + (int64_t)offsetof(GlowCall, in),
                   glow_image_add(b, c->in, (size_t)p.nins * sizeof *c->in));
  return at;
}

/* ---- The image ------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b) {
  int64_t x = ((const GlowFixup *)a)->place, y = ((const GlowFixup *)b)->place;
  return (x > y) - (x < y);
}

GlowImage glow_image_finish(GlowImageBuilder *b) {
  if (b->fixups.count)
    glow_sort(b->fixups.data, b->fixups.count, sizeof *b->fixups.data, by_place);
  return (GlowImage){b->bytes, b->size, b->fixups.data, b->fixups.count};
}

void *glow_image_room(GlowArena *arena, size_t size) {
  char *memory = glow_arena_alloc(arena, size + GLOW_IMAGE_ALIGN);
  return memory + (GLOW_IMAGE_ALIGN - (uintptr_t)memory % GLOW_IMAGE_ALIGN) % GLOW_IMAGE_ALIGN;
}

const void *glow_image_copy(GlowArena *arena, const GlowImage *image) {
  if (!image->size)
    return NULL;
  void *memory = glow_image_room(arena, image->size);
  glow_image_place(image, memory);
  return memory;
}

void glow_image_place(const GlowImage *image, void *memory) {
  if (image->size)
    memcpy(memory, image->bytes, image->size);
  for (uint32_t i = 0; i < image->nfixups; i++) {
    char *target = (char *)memory + image->fixups[i].target;
    memcpy((char *)memory + image->fixups[i].place, &target, sizeof target);
  }
}
