/* A case: a function in one line, whose derivatives are compared with differences.
 *
 *   [twice:] [%y, %z =] Operator(operand, ...) [{members}] [: types]
 *   corner: the same | derivatives | PyTorch derivatives | JAX derivatives
 *
 *   operand   double<2 x 3>              varied: values between -1.6 and 1.7, no two alike
 *             double<2 x 3> in 0.5 2     values between these
 *             double<2 x 3> flat         varied, but the derivative is 0 everywhere
 *             double<2> at [0.0, 1.0]    varied, at these values
 *             i64<2> = [1, 0]            a constant
 *             Operator(...) {...}        the result of another node
 *             none, 0.5, true            as in graphs
 *
 * `twice` asks for the derivatives of the derivatives, too. Lines that start with ; are comments.
 */
#ifndef GLOW_TEST_AUTODIFF_CASE_H
#define GLOW_TEST_AUTODIFF_CASE_H

#include "support/text.h"

enum { MAX_VARIED = 8 };

typedef struct Varied {
  double low, high;
  const char *at; /* in the line, behind `at`; NULL: not given */
  bool flat;
} Varied;

typedef struct Case {
  bool twice;
  const char *corner; /* the derivatives, in the line; NULL: no corner */
  uint32_t nvaried;   /* operand i is the placeholder @x<i> */
  Varied varied[MAX_VARIED];
  GlowText module; /* malloc'ed: see glow_text_release. The function is @main; its last node has the
                      results that are differentiated. */
  const char *error; /* what is wrong with the line, or NULL */
} Case;

/* Reads a line, which ends with NUL. */
Case case_read(GlowContext *ctx, const char *line);

#endif
