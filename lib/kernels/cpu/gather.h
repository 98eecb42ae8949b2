/* Parameters of the kernels that read and write where indices say; see kernels.ops for why every
 * field is int64_t. Strides count bytes. Indices below 0 count from the end of their axis. */
#ifndef GLOW_KERNELS_CPU_GATHER_H
#define GLOW_KERNELS_CPU_GATHER_H

#include <stdint.h>

#define GLOW_INDEX_DIMS 8

/* Which indices are in range: vectors of `length` indices, the one at place k in [-limit[k],
 * limit[k]). */
typedef struct GlowCheckParams {
  int64_t length, limit[GLOW_INDEX_DIMS];
} GlowCheckParams;

/* Rows of `run` bytes, each of which a vector of `length` indices picks from its group's part of X.
 * Groups of `group` rows follow each other; all have the same vectors if they are `shared`. */
typedef struct GlowGatherParams {
  int64_t length, limit[GLOW_INDEX_DIMS], stride[GLOW_INDEX_DIMS];
  int64_t group, group_stride, shared;
  int64_t run;
} GlowGatherParams;

/* Elements of `bytes` bytes, one for each index: its place in the other buffer is its own along
 * `n`, but the index along an axis of extent `limit`. Extents from the outermost axis inward,
 * unused ones 1; strides are those of the other buffer, that of the indexed axis 0. A unit is
 * `part` elements. */
typedef struct GlowPickParams {
  int64_t n[GLOW_INDEX_DIMS], stride[GLOW_INDEX_DIMS];
  int64_t limit, axis_stride;
  int64_t bytes, part;
} GlowPickParams;

/* `rows` rows of `run` bytes, in elements of `bytes`, each of which goes to where a vector of
 * `length` indices says. A unit is a column of elements. */
typedef struct GlowScatterParams {
  int64_t length, limit[GLOW_INDEX_DIMS], stride[GLOW_INDEX_DIMS];
  int64_t rows, run, bytes;
} GlowScatterParams;

#endif
