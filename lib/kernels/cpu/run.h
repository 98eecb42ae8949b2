/* Copies of some bytes whose number is a constant in compiled code. */
#ifndef GLOW_KERNELS_CPU_RUN_H
#define GLOW_KERNELS_CPU_RUN_H

#include "kernels/kernels.h"

#ifdef GLOW_LIBRARY
#define BYTES(size)                                                                                \
  INLINE void copy_##size(char *to, const char *from, int64_t last) {                              \
    typedef char Part __attribute__((vector_size(size), aligned(1), may_alias));                   \
    const Part a = *(const Part *)from, b = *(const Part *)(from + last);                          \
    *(Part *)to = a;                                                                               \
    *(Part *)(to + last) = b;                                                                      \
  }
BYTES(4)
BYTES(8)
BYTES(16)
BYTES(32)
BYTES(64)
BYTES(128)
#undef BYTES

/* A call of memcpy would take longer than most runs do. */
INLINE void copy_run(char *to, const char *from, int64_t run) {
  if (run > 256) {
    __builtin_memcpy(to, from, (size_t)run);
  } else if (run >= 128) {
    copy_128(to, from, run - 128);
  } else if (run >= 64) {
    copy_64(to, from, run - 64);
  } else if (run >= 32) {
    copy_32(to, from, run - 32);
  } else if (run >= 16) {
    copy_16(to, from, run - 16);
  } else if (run >= 8) {
    copy_8(to, from, run - 8);
  } else if (run >= 4) {
    copy_4(to, from, run - 4);
  } else {
    ROLLED for (int64_t i = 0; i < run; i++) to[i] = from[i];
  }
}
#else
INLINE void copy_run(char *to, const char *from, int64_t run) {
  __builtin_memcpy(to, from, (size_t)run);
}
#endif

/* CALL(bytes) with a constant for the sizes of most elements: one of them in compiled code. */
#define BY_SIZE(bytes, CALL)                                                                       \
  if ((bytes) == 4)                                                                                \
    CALL(4)                                                                                        \
  else if ((bytes) == 8)                                                                           \
    CALL(8)                                                                                        \
  else if ((bytes) == 1)                                                                           \
    CALL(1)                                                                                        \
  else if ((bytes) == 2)                                                                           \
    CALL(2)                                                                                        \
  else                                                                                             \
    CALL(bytes)

#endif
