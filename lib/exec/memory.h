/* Memory of runs. */
#ifndef GLOW_EXEC_MEMORY_H
#define GLOW_EXEC_MEMORY_H

#include <stdint.h>
#include <stdlib.h>

enum { GLOW_EXEC_ALIGN = 64 }; /* of what programs read and write */

/* A multiple of GLOW_EXEC_ALIGN. */
static inline int64_t glow_exec_round(int64_t bytes) {
  return (bytes + GLOW_EXEC_ALIGN - 1) / GLOW_EXEC_ALIGN * GLOW_EXEC_ALIGN;
}

/* Aligned bytes, at least one line of the cache, not cleared. Free with free(). NULL: there is no
 * memory. */
static inline void *glow_exec_memory(int64_t bytes) {
  return aligned_alloc(GLOW_EXEC_ALIGN, (size_t)glow_exec_round(bytes > 0 ? bytes : 1));
}

#endif
