/* Copies between strided boxes: what instructions that move elements are made of. */
#ifndef GLOW_BACKEND_CPU_BOX_H
#define GLOW_BACKEND_CPU_BOX_H

#include "backend/cpu/select.h"

/* One loop of a copy: its steps, and the strides of both sides in bytes. */
typedef struct GlowBoxLoop {
  int64_t n, to, from;
} GlowBoxLoop;

typedef struct GlowBox {
  GlowBoxLoop loops[GLOW_VIEW_RANK];
  uint32_t count;
  int64_t to, from; /* offsets in bytes */
  int64_t planes;   /* of a border: how many planes it goes around, if units should be planes; else
                       1. 0: it is no border */
} GlowBox;

static inline void glow_box_push(GlowBox *b, int64_t n, int64_t to, int64_t from) {
  if (n != 1)
    b->loops[b->count++] = (GlowBoxLoop){n, to, from};
}

/* Appends the work that copies a box from one view's place to another's, or zeros it if `from` is
 * NULL. The elements are those of `to`'s kind. Loops may come in any order; b is changed. False,
 * with s->why, if there are too many. */
bool glow_box_append(GlowSelect *s, const GlowNode *n, GlowBox *b, const GlowView *to,
                     const GlowView *from);

/* Along one axis, `size` elements: element from + i * step of one buffer is element to + i of the
 * other. */
typedef struct GlowSlab {
  int64_t size, to, from, step;
} GlowSlab;

/* Appends the work that copies a box of logical elements, one slab for each logical axis, between
 * buffers of one rank in any layouts. Padding lanes stay as they are. False, with s->why, if it is
 * cut into too many pieces. */
bool glow_slab_append(GlowSelect *s, const GlowNode *n, const GlowSlab *slabs, const GlowView *to,
                      const GlowView *from);

/* A padded buffer and the box that is there already, along the physical axes of the buffer. Axes
 * that are padded are not blocked. */
typedef struct GlowHalo {
  GlowView to;
  int64_t begin[GLOW_VIEW_RANK], inside[GLOW_VIEW_RANK];
  int mode;               /* of a Pad */
  const GlowValue *value; /* NULL: 0 */
} GlowHalo;

/* Appends the work that fills what is around the box. False, with s->why, if padding is wider than
 * what it repeats. */
bool glow_halo_append(GlowSelect *s, const GlowNode *n, const GlowHalo *h);

#endif
