/* Bodies (epilogues of kernels, stacks) as library code runs them: steps over blocks of elements. A
 * body is numbers alone, so its bytes can lie anywhere. Freestanding. */
#ifndef GLOW_KERNELS_BODY_H
#define GLOW_KERNELS_BODY_H

#include <stdint.h>

enum {
  GLOW_BODY_DIMS = 6,       /* coordinates of an operand: see GlowOperand in codegen.h */
  GLOW_BODY_INS = 8,        /* operands of a step */
  GLOW_BODY_OUTS = 4,       /* results at most that steps put in place */
  GLOW_BODY_BLOCKS = 255,   /* of a body at most, and operands of a stack */
  GLOW_BODY_ROOM = 32768,   /* bytes for all blocks of a body */
  GLOW_BODY_LANES = 16,     /* no register has more */
  GLOW_BODY_FEW = 192,      /* elements of a short row at most */
  GLOW_BODY_MOST = 32,      /* blocks of a body at most that takes short rows without calls */
  GLOW_BODY_PAIRS = 1 << 16 /* numbers of functions from here on are those of pairs */
};

/* Two operators in one loop, (a first b) second c; FROM is c - (a first b). Pair number n of kind
 * k, 0 for float and 1 for double: GLOW_BODY_PAIRS + (k * GLOW_PAIR_FIRST + first) *
 * GLOW_PAIR_SECOND + second. Behind them: a b + c d and a b - c d of floats, the cube of a float in
 * double, the product of an i32 as a float and a float, as it is or quantized, e^(a - b) of floats,
 * and indices from the end: of i64, a where it is not negative, else a + b or a - b. */
enum { GLOW_PAIR_ADD, GLOW_PAIR_SUB, GLOW_PAIR_MUL, GLOW_PAIR_FIRST };
enum { GLOW_PAIR_FROM = GLOW_PAIR_FIRST, GLOW_PAIR_DIV, GLOW_PAIR_SECOND };
enum {
  GLOW_BODY_ADD_PRODUCTS = GLOW_BODY_PAIRS + 2 * GLOW_PAIR_FIRST * GLOW_PAIR_SECOND,
  GLOW_BODY_SUB_PRODUCTS,
  GLOW_BODY_CUBE,
  GLOW_BODY_SCALE,
  GLOW_BODY_SCALE_I8,
  GLOW_BODY_SCALE_U8,
  GLOW_BODY_EXP_DIFFERENCE,
  GLOW_BODY_WRAP_ADD,
  GLOW_BODY_WRAP_SUB
};

/* The steps of floats that a short row takes without a call. Behind those with a name of their own:
 * the pairs of floats in their order, then a b + c d and a b - c d. */
enum {
  GLOW_FEW_NONE,
  GLOW_FEW_CONSTANT,
  GLOW_FEW_ADD,
  GLOW_FEW_SUB,
  GLOW_FEW_MUL,
  GLOW_FEW_DIV,
  GLOW_FEW_SIGMOID,
  GLOW_FEW_TANH,
  GLOW_FEW_EXP,
  GLOW_FEW_RELU,
  GLOW_FEW_PAIR,
  GLOW_FEW_ADD_PRODUCTS = GLOW_FEW_PAIR + GLOW_PAIR_FIRST * GLOW_PAIR_SECOND,
  GLOW_FEW_SUB_PRODUCTS
};

/* One call of a function on blocks. A value has a block until its last reader is done;
 * then another value may have that block. */
typedef struct GlowBodyStep {
  int64_t lane;    /* number in glow_lane_names, or of a pair; 0: `members` are an element */
  int64_t members; /* where they begin, in bytes from the beginning of the body; 0: none */
  int64_t bytes;   /* of an element of the result */
  int64_t read;    /* of an element of the first operand */
  int64_t result;
  int64_t nins, in[GLOW_BODY_INS]; /* blocks; -1: absent */
  int64_t few;                     /* GLOW_FEW_... */
  int64_t out; /* number of the body's result that it makes, below GLOW_BODY_OUTS; -1: none */
} GlowBodyStep;

typedef struct GlowBodyOperand {
  int64_t bytes; /* of an element */
  int64_t stride[GLOW_BODY_DIMS];
  int64_t channels; /* how many may be read along the last axis; 0: whole registers */
  int64_t block;
  int64_t step; /* of a line: bytes from element to element, 0 if there is one element */
  int64_t varies, next, unit; /* of rows: -1 if each element has its own, else 0; bytes from row to
                                 row, from unit to unit */
} GlowBodyOperand;

/* How a body begins. Its operands follow, then its steps, then their members. A kernel hands an
 * environment to its callback: an array of addresses. The first is that of the body, or null if
 * there is none; the others are those of the operands. */
typedef struct GlowBodyCode {
  int64_t clip; /* not 0: tiles need no steps; they compute v = acc, plus operand 0 if there is one;
                   then `low` if v <= below, then `high` if v > high. For a stack, acc is its first
                   operand */
  float below, low, high; /* infinities: no limit */
  int32_t rounds; /* not 0: rows need no steps; they compute such a v, rounded to bfloat16 */
  int64_t nouts;  /* stacks: the first operands are results */
  int64_t noperands, nsteps, blocks;
  int64_t line;    /* stacks: elements of a unit, if all loops together are one, in which an operand
                      is elements side by side or a single one; 0: they are not */
  int64_t down;    /* stacks: the axis from row to row: the innermost with several, else the first */
  int64_t one_row; /* stacks: whether all rows are one long row */
  int64_t in_place; /* stacks: whether no element of a row needs room: the body is one step or
                       limits, whose results are put in place */
  int64_t single;   /* stacks: number of the only step that is no constant, the result; -1: none */
  int64_t few; /* whether short rows need no calls: all steps are among GLOW_FEW_..., of values that
                  are few. Then a constant is as many copies as a register has lanes */
  int64_t most, pitch; /* stacks: elements of a block, whole registers, and its bytes */
  int64_t acc, result; /* blocks of an epilogue's parameter 0 and of its result, floats */
} GlowBodyCode;

static inline const GlowBodyOperand *glow_body_operands(const GlowBodyCode *b) {
  return (const GlowBodyOperand *)(b + 1);
}
static inline const GlowBodyStep *glow_body_steps(const GlowBodyCode *b) {
  return (const GlowBodyStep *)(glow_body_operands(b) + b->noperands);
}

#endif
