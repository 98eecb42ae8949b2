/* The beginning of 16 elements of 4 bytes, by a mask where the machine can. Library code does not
 * know how many are loaded: loads of what it would copy in pieces would wait for all of them. */
#ifndef GLOW_KERNELS_CPU_PART_H
#define GLOW_KERNELS_CPU_PART_H

#include "vector.h"

#if defined(GLOW_LIBRARY) && defined(__AVX__)
enum { HAS_PARTS = 1 };
#else
enum { HAS_PARTS = 0 };
#endif

/* The first `count` <= 16 elements at p, then zeros; only where a machine has masks. */
#ifdef __AVX512F__
INLINE void load_part(void *to, const void *p, int64_t count) {
  typedef float Part __attribute__((vector_size(64)));
  const Part part =
      __builtin_ia32_loadups512_mask(p, (Part){0}, (unsigned short)((1u << count) - 1));
  __builtin_memcpy(to, &part, sizeof part);
}
#elif defined(__AVX__)
INLINE void load_part(void *to, const void *p, int64_t count) {
  typedef float Part __attribute__((vector_size(32)));
  typedef int32_t Mask __attribute__((vector_size(32)));
  UNROLL for (int i = 0; i < 2; i++) {
    const Mask lanes = {0, 1, 2, 3, 4, 5, 6, 7}, mask = lanes < (int32_t)count - 8 * i;
    const Part part = __builtin_ia32_maskloadps256((const Part *)p + i, mask);
    __builtin_memcpy((char *)to + i * sizeof part, &part, sizeof part);
  }
}
#else
INLINE void load_part(void *to, const void *p, int64_t count) { (void)to, (void)p, (void)count; }
#endif

#endif
