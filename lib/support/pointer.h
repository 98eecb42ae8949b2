/* Pointers in structs that compiled programs hold as constants, laid out alike on every machine. */
#ifndef GLOW_SUPPORT_POINTER_H
#define GLOW_SUPPORT_POINTER_H

#include <stdint.h>

/* A member of a struct. Where pointers have 32 bits, it still takes the room of 64. */
#if UINTPTR_MAX > UINT32_MAX
#define GLOW_POINTER(T, name) T *name
#else
#define GLOW_POINTER(T, name)                                                                      \
  _Alignas(8) T *name;                                                                             \
  uint32_t name##_rest
#endif

#endif
