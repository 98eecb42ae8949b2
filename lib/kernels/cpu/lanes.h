/* Element-wise operators on one register of lanes, for epilogues and stacks:
 * glow_lanes_<operator>_<kind>, generated from the scalar bodies in lib/ops. A file defines the
 * kinds that it wants, GLOW_LANES_<KIND>, and includes ops/vector.inc. GLOW_VL lanes of every kind.
 */
#ifndef GLOW_KERNELS_CPU_LANES_H
#define GLOW_KERNELS_CPU_LANES_H

#include "vector.h"

/* A call in the loop of library code would keep it from being vector code. GLOW_BLOCK_FLAT: a file
 * has such functions. Registers of 4 floats make them too long. */
#if defined(GLOW_LIBRARY) && defined(GLOW_BLOCK_FLAT) && GLOW_VL >= 8
#define LANES_FLAT
#endif
#ifdef LANES_FLAT
#pragma clang attribute push(__attribute__((flatten)), apply_to = function)
#endif
#include "ops/scalar.h"
#ifdef LANES_FLAT
#pragma clang attribute pop
#endif

/* The functions have no prototypes: they are called by number (glow_lane_names). The test unit.isa
 * looks for all of them. */
#pragma clang diagnostic ignored "-Wmissing-prototypes"

/* In library code each function of lanes gets a caller that works on blocks, a GlowBlockFn. */
#ifdef GLOW_LIBRARY
#include "kernels/library.h"
/* `count` operands. They are copied, since a result of bytes may alias anything. forms: the loops,
 * BLOCK_FORMS; front: whether there is a loop for a last operand that alone does not vary; rows: a
 * BLOCK_ROW for each operand. */
#define BLOCK_FUNCTION(name, count, forms)                                                         \
  GlowBlockFn glow_block_##name;                                                                   \
  void glow_block_##name(const void *members, int64_t rows, int64_t width, char *result,           \
                         int64_t next, const GlowBlockOperand *const *operands) {                  \
    enum { COUNT = count };                                                                        \
    const int64_t last = width - GLOW_VL;                                                          \
    GlowBlockOperand in[COUNT];                                                                    \
    UNROLL for (int i = 0; i < COUNT; i++) in[i] = *operands[i];                                   \
    forms                                                                                          \
  }
#define GLOW_BLOCK(name, count, rows_of, call)                                                     \
  BLOCK_FUNCTION(name, count, BLOCK_FORMS(true, rows_of, call))
/* The loops of a bool or an enumeration of two, `choice` of Members, know its value. */
#define GLOW_BLOCK_CHOICE(name, Members, choice, count, rows_of, call)                             \
  BLOCK_FUNCTION(name, count, BLOCK_CHOICE(Members, choice, BLOCK_FORMS(true, rows_of, call)))
#define BLOCK_CHOICE(Members, choice, forms)                                                       \
  Members one = *(const Members *)members;                                                         \
  members = &one;                                                                                  \
  if (one.choice) {                                                                                \
    one.choice = 1;                                                                                \
    forms                                                                                          \
  } else {                                                                                         \
    one.choice = 0;                                                                                \
    forms                                                                                          \
  }
/* What a row of operand i is read from: its elements, or copies of the one that all of them are, 0
 * if it is absent. A single operand has elements. Where a loop knows that an operand does not vary,
 * its copies are a register. */
#define BLOCK_ROW(T, i)                                                                            \
  T one##i[GLOW_VL];                                                                               \
  const char *from##i = in[i].at;                                                                  \
  if (COUNT > 1 && !in[i].varies) {                                                                \
    const T only = from##i ? *(const T *)(const void *)from##i : (T)0;                             \
    UNROLL for (int l = 0; l < GLOW_VL; l++) one##i[l] = only;                                     \
    from##i = (const char *)one##i;                                                                \
  }
/* The loop over the registers of a row. turn: ROLLED, or how many of them a turn has. */
#define BLOCK_ROW_LOOP(turn, call)                                                                 \
  ROLLED for (int left = 1; left; left = at < width, at = last) {                                  \
    turn for (int more = 1; more; at += GLOW_VL, more = at <= last) call;                          \
  }
/* The loops over rows and registers. */
#define BLOCK_LOOPS(rows_of, call)                                                                 \
  ROLLED for (int64_t y = 0; y < rows; y++) {                                                      \
    int64_t at = 0;                                                                                \
    rows_of BLOCK_ROW_LOOP(ROLLED, call) result += next;                                           \
    UNROLL for (int i = 0; i < COUNT; i++) in[i].at += in[i].next;                                 \
  }
/* Rows of whole registers. */
#define BLOCK_REGISTERS(rows_of, call)                                                             \
  ROLLED for (int64_t y = 0; y < rows; y++) {                                                      \
    int64_t at = 0;                                                                                \
    rows_of ROLLED for (; at < width; at += GLOW_VL) call;                                         \
    result += next;                                                                                \
    UNROLL for (int i = 0; i < COUNT; i++) in[i].at += in[i].next;                                 \
  }
/* Rows of one register. */
#define BLOCK_ROWS(rows_of, call)                                                                  \
  ROLLED for (int64_t y = 0; y < rows; y++) {                                                      \
    int64_t at = 0;                                                                                \
    rows_of call;                                                                                  \
    result += next;                                                                                \
    UNROLL for (int i = 0; i < COUNT; i++) in[i].at += in[i].next;                                 \
  }
/* There are loops more, which know what varies: all operands of three or more but the last, and, if
 * GLOW_BLOCK_FORMS is defined, the first one alone, or all. */
#ifdef GLOW_BLOCK_FORMS
enum { BLOCK_HAS_FORMS = 1 };
#else
enum { BLOCK_HAS_FORMS = 0 };
#endif
#define BLOCK_VARY(i, which) UNROLL for (int i = 0; i < COUNT; i++) in[i].varies = (which) ? -1 : 0;
#define BLOCK_FORMS(has_front, rows_of, call)                                                      \
  int64_t others = ~in[0].varies, all = in[0].varies, front = all & ~in[COUNT - 1].varies;         \
  UNROLL for (int i = 1; i < COUNT; i++) others |= in[i].varies;                                   \
  UNROLL for (int i = 1; i < COUNT; i++) all &= in[i].varies;                                      \
  UNROLL for (int i = 1; i < COUNT - 1; i++) front &= in[i].varies;                                \
  if (BLOCK_HAS_FORMS && COUNT > 1 && !others) {                                                   \
    BLOCK_VARY(i, !i)                                                                              \
    BLOCK_LOOPS(rows_of, call)                                                                     \
  } else if (BLOCK_HAS_FORMS && COUNT > 3 && all && width == GLOW_VL) {                            \
    BLOCK_VARY(i, 1)                                                                               \
    BLOCK_ROWS(rows_of, call)                                                                      \
  } else if (BLOCK_HAS_FORMS && COUNT > 1 && all && width % GLOW_VL == 0) {                        \
    BLOCK_VARY(i, 1)                                                                               \
    BLOCK_REGISTERS(rows_of, call)                                                                 \
  } else if ((has_front) && COUNT > 2 && front && width % GLOW_VL == 0) {                          \
    BLOCK_VARY(i, i < COUNT - 1)                                                                   \
    BLOCK_REGISTERS(rows_of, call)                                                                 \
  } else {                                                                                         \
    BLOCK_LOOPS(rows_of, call)                                                                     \
  }
#define GLOW_LANES_FUNCTION                                                                        \
  static inline __attribute__((always_inline, flatten)) /* in that caller */
#define BLOCK_OUT(T) (T *)(void *)result + at
#define BLOCK_IN(T, i) (const T *)(const void *)from##i + (COUNT > 1 ? at & in[i].varies : at)
/* Of one operand, with a function for the registers of a turn; what is left of a row are one or
 * more registers, the last of which may overlap the ones before it. */
#if GLOW_VL >= 8
#define GLOW_BLOCK_TURNS(name, rows_of, call, turn)                                                \
  GLOW_BLOCK(name, 1,                                                                              \
             rows_of ROLLED for (; at + GLOW_TURN * GLOW_VL <= width; at += GLOW_TURN * GLOW_VL)   \
                 turn;                                                                             \
             at = at < last ? at : last;, call)
#else
#define GLOW_BLOCK_TURNS(name, rows_of, call, turn) GLOW_BLOCK(name, 1, rows_of, call)
#endif
#else
#define GLOW_BLOCK(name, count, rows_of, call)
#define GLOW_BLOCK_CHOICE(name, Members, choice, count, rows_of, call)
#define GLOW_BLOCK_TURNS(name, rows_of, call, turn)
#define GLOW_LANES_FUNCTION
#endif

/* What a lane stores that is true. Library code has the number in a register: LLVM would load a
 * constant under the mask of the lanes, and such a load takes 200 cycles as long as no lane is true
 * if nothing else has touched the page of the constant. */
INLINE uint8_t lane_true(void) {
  uint8_t yes = 1;
#ifdef GLOW_LIBRARY
  __asm__("" : "+r"(yes));
#endif
  return yes;
}

#define GLOW_LANES                                                                                 \
  _Pragma(                                                                                         \
      "clang loop vectorize(enable) interleave(disable) vectorize_width(GLOW_VL) unroll(disable)")
/* Of several registers, of which each step is done before the next one. */
enum { GLOW_TURN = 4 };
#define GLOW_TURNS                                                                                 \
  _Pragma(                                                                                         \
      "clang loop vectorize(enable) interleave_count(4) vectorize_width(GLOW_VL) unroll(disable)")

#endif
