/* Parameters of the kernels of Resize; see kernels.ops for why every field is int64_t. Of the
 * physical axes those from the first to the last one that changes are `in` and `out`, at most
 * three; what is before them are images, and behind them lie `run` elements next to each other.
 * Both sides are dense. */
#ifndef GLOW_KERNELS_CPU_RESIZE_H
#define GLOW_KERNELS_CPU_RESIZE_H

#include <stdint.h>

#define GLOW_RESIZE_AXES 3

/* Tables, for each place i along axis a, from places[a] + i on: of the nearest element its index;
 * otherwise where the list of its elements begins. That is a count, then indices and weights, the
 * bits of a double. A negative index or count: the place is filled. */
typedef struct GlowResizeParams {
  int64_t in[GLOW_RESIZE_AXES], out[GLOW_RESIZE_AXES], run;
  int64_t changes[GLOW_RESIZE_AXES]; /* 0: the axis stays as it is */
  int64_t places[GLOW_RESIZE_AXES];
  int64_t span[GLOW_RESIZE_AXES]; /* the most neighbours that the elements of a list lie among */
  int64_t pairs;                  /* no list of the last axis has more than two elements */
  int64_t bytes;                  /* of an element */
  int64_t doubles;     /* nearest: each element of 4 bytes along the last axis stands twice */
  int64_t fills, fill; /* whether places are filled, and with which bits */
  int64_t table[];
} GlowResizeParams;

#endif
