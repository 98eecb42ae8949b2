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

/* More than 64 bytes; the last 64 may overlap those before them. */
INLINE void copy_parts(char *to, const char *from, int64_t run) {
  typedef char Part __attribute__((vector_size(64), aligned(1), may_alias));
  const Part last = *(const Part *)(from + run - 64);
  ROLLED for (int64_t i = 0; i < run - 64; i += 64) *(Part *)(to + i) = *(const Part *)(from + i);
  *(Part *)(to + run - 64) = last;
}

/* A call of memcpy would take longer than most runs do. */
INLINE void copy_run(char *to, const char *from, int64_t run) {
  if (run > 1024) {
    __builtin_memcpy(to, from, (size_t)run);
  } else if (run > 256) {
    copy_parts(to, from, run);
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

/* The same of zeros. Parts may overlap those before them. */
INLINE void zero_run(char *to, int64_t run) {
#define ZEROS(size)                                                                                \
  {                                                                                                \
    typedef char Part __attribute__((vector_size(size), aligned(1), may_alias));                   \
    ROLLED for (int64_t i = 0; i < run - (size); i += (size)) *(Part *)(to + i) = (Part){0};       \
    *(Part *)(to + run - (size)) = (Part){0};                                                      \
  }
  if (run > 1024)
    __builtin_memset(to, 0, (size_t)run);
  else if (run >= 64)
    ZEROS(64)
  else if (run >= 16)
    ZEROS(16)
  else if (run >= 4)
    ZEROS(4)
  else
    ROLLED for (int64_t i = 0; i < run; i++) to[i] = 0;
#undef ZEROS
}
#else
INLINE void copy_run(char *to, const char *from, int64_t run) {
  __builtin_memcpy(to, from, (size_t)run);
}
INLINE void zero_run(char *to, int64_t run) { __builtin_memset(to, 0, (size_t)run); }
#endif

/* LOOP(COPY), where COPY(to, from, run) copies a run: library code asks how long runs are before
 * the loop. */
#define RUN_4(t, f, run) copy_4(t, f, (run)-4)
#define RUN_8(t, f, run) copy_8(t, f, (run)-8)
#define RUN_16(t, f, run) copy_16(t, f, (run)-16)
#define RUN_32(t, f, run) copy_32(t, f, (run)-32)
#define RUN_64(t, f, run) copy_64(t, f, (run)-64)
#define RUN_128(t, f, run) copy_128(t, f, (run)-128)
#ifdef GLOW_LIBRARY
#define BY_RUN(run, LOOP)                                                                          \
  if ((run) > 128 && (run) <= 256) {                                                               \
    LOOP(RUN_128)                                                                                  \
  } else if ((run) > 64 && (run) <= 128) {                                                         \
    LOOP(RUN_64)                                                                                   \
  } else if ((run) > 32 && (run) <= 64) {                                                          \
    LOOP(RUN_32)                                                                                   \
  } else if ((run) > 16 && (run) <= 32) {                                                          \
    LOOP(RUN_16)                                                                                   \
  } else if ((run) > 8 && (run) <= 16) {                                                           \
    LOOP(RUN_8)                                                                                    \
  } else if ((run) >= 4 && (run) <= 8) {                                                           \
    LOOP(RUN_4)                                                                                    \
  } else {                                                                                         \
    LOOP(copy_run)                                                                                 \
  }
#else
#define BY_RUN(run, LOOP) LOOP(copy_run)
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
