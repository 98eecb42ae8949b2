/* Which elements of X each place of a Resize takes: see resize_plan.c. The CPU backend makes tables
 * for its kernels from this. */
#ifndef GLOW_KERNELS_REF_RESIZE_PLAN_H
#define GLOW_KERNELS_REF_RESIZE_PLAN_H

#include "kernels/ref/ref.h"

typedef struct GlowResizeAxis {
  int64_t in, out;
  double scale;
  double length;     /* in * scale: the extent of the result before it is rounded */
  double start, end; /* of the crop */
  bool fraction;     /* the scale is out / in exactly */
  bool same;         /* the axis stays as it is */
} GlowResizeAxis;

/* Axes are physical: a blocked axis must keep its extent, and the blocks behind the axes do. */
typedef struct GlowResizePlan {
  const GlowResizeMembers *m;
  const GlowBuf *x;
  uint32_t rank;
  GlowResizeAxis axes[GLOW_MAX_RANK];
} GlowResizePlan;

/* What one place along an axis takes: `count` elements from `first` on. */
typedef struct GlowTaps {
  int64_t first, count;
  double *weights; /* the caller's, as many as the axis has elements */
} GlowTaps;

/* Reads the operands; X and Y have elements. False if they contradict the extents of Y, or if a
 * blocked axis changes. */
bool glow_resize_plan(const GlowCall *call, GlowResizePlan *p);
/* Whether place i along an axis is beyond X, where the crop is filled. */
bool glow_resize_is_outside(const GlowResizePlan *p, const GlowResizeAxis *a, int64_t i);
/* The element nearest to place i, or -1 if the place is outside. */
int64_t glow_resize_nearest(const GlowResizePlan *p, const GlowResizeAxis *a, int64_t i);
/* The elements that place i takes, with their weights; those of weight 0 take no part. */
void glow_resize_taps(const GlowResizePlan *p, const GlowResizeAxis *a, int64_t i, GlowTaps *t);

#endif
