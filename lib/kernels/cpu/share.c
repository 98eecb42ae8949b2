/* Sharing a piece of work among threads, if there are any. */
#include "rt/rt.h"

void glow_share(const GlowParallel *parallel, GlowPieceFn *piece, void *const *ptrs, int64_t units,
                int64_t shards) {
  if (parallel)
    parallel->run(parallel, piece, ptrs, units, shards);
  else
    piece(ptrs, 0, units, 0);
}
