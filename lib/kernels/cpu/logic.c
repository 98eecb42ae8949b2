/* Logical operators on bools, whole registers of bytes at a time: glow_logic_<operator>. Lanes of
 * stacks have as many bools as a register has floats, a quarter of what it holds. */
#include "kernels/kernels.h"

enum { WIDE = GLOW_VL * 4 };
typedef int8_t Bools __attribute__((vector_size(WIDE), aligned(1), may_alias));
typedef int8_t Few __attribute__((vector_size(8), aligned(1), may_alias));

/* CALL computes from `u` and `v`, which are -1 where a and b are true, else 0. */
#define AT(T, from) *(const T *)((from) + i)
#define STEP(T, CALL)                                                                              \
  {                                                                                                \
    const T u = AT(T, a) != 0, v = AT(T, b) != 0;                                                  \
    *(T *)(y + i) = (CALL)&1;                                                                      \
  }
#define LOGIC(name, B, CALL)                                                                       \
  void glow_logic_##name(const GlowLogicParams *p, void *const *ptrs, int64_t begin, int64_t end,  \
                         char *scratch) {                                                          \
    char *y = GLOW_LOGIC_PTRS(ptrs).y;                                                             \
    const char *a = GLOW_LOGIC_PTRS(ptrs).a, *b = B;                                               \
    int64_t i = begin * GLOW_LOGIC_PART, n = p->n;                                                 \
    const int64_t last = end * GLOW_LOGIC_PART < n ? end * GLOW_LOGIC_PART : n;                    \
    (void)scratch;                                                                                 \
    ROLLED for (; i + 2 * WIDE <= last; i += WIDE) {                                               \
      STEP(Bools, CALL)                                                                            \
      i += WIDE;                                                                                   \
      STEP(Bools, CALL)                                                                            \
    }                                                                                              \
    ROLLED for (; i + 8 <= last; i += 8) STEP(Few, CALL) ROLLED for (; i < last; i++) {            \
      const int u = -(a[i] != 0), v = -(b[i] != 0);                                                \
      (void)v;                                                                                     \
      y[i] = (char)((CALL)&1);                                                                     \
    }                                                                                              \
  }
LOGIC(and, GLOW_LOGIC_PTRS(ptrs).b, u &v)
LOGIC(or, GLOW_LOGIC_PTRS(ptrs).b, u | v)
LOGIC(xor, GLOW_LOGIC_PTRS(ptrs).b, u ^ v)
LOGIC(not, a, ~u + (v & 0))
