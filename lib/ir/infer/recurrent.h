/* Recurrent cells, for inference and lowering: the members of RNN, GRU and LSTM as one struct. */
#ifndef GLOW_IR_INFER_RECURRENT_H
#define GLOW_IR_INFER_RECURRENT_H

#include "ir/ir.h"

typedef struct GlowRecurrent {
  GlowOp op;
  uint32_t gates;      /* axis 1 of W and R has gates * hidden elements */
  uint32_t functions;  /* number of activations of one direction */
  uint32_t directions; /* 1, or 2 if bidirectional */
  int direction;       /* GLOW_DIRECTION_* */
  GlowArray activations, alpha, beta;
  float clip; /* 0: none */
  bool batch_first, linear_before_reset, input_forget;
} GlowRecurrent;

GlowRecurrent glow_recurrent_of(const GlowOpDesc *d, const void *members);

/* An activation and its parameters: what `alpha` and `beta` say, or the default. */
typedef struct GlowCellFunction {
  int function; /* GLOW_CELL_FUNCTION_* */
  float alpha, beta;
} GlowCellFunction;
/* Activation number `index`, counted over all directions. The values of `alpha` go, in order, to
 * the activations that take an alpha; those of `beta` likewise. */
GlowCellFunction glow_recurrent_function(const GlowRecurrent *r, uint32_t index);

#endif
