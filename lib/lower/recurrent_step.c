/* One step of a recurrent cell as nodes: activations, gates, and the new state. */
#include "lower/recurrent.h"

/* ---- Activations ----------------------------------------------------------------------------- */

static GlowValue *scalar(GlowBuilder *b, const GlowValue *x, float v) {
  return glow_build_scalar(b, x->type->kind, (double)v);
}

static GlowValue *affine(GlowBuilder *b, GlowValue *x, const GlowCellFunction *f) {
  GlowValue *y = glow_then2(b, GLOW_OP_MUL, scalar(b, x, f->alpha), x);
  return glow_then2(b, GLOW_OP_ADD, y, scalar(b, x, f->beta));
}

/* Unlike the operator of that name, alpha itself stays. */
static GlowValue *thresholded_relu(GlowBuilder *b, GlowValue *x, float alpha) {
  GlowValue *above = glow_then2(b, GLOW_OP_GREATER_OR_EQUAL, x, scalar(b, x, alpha));
  return glow_then3(b, GLOW_OP_WHERE, above, x, scalar(b, x, 0.0f));
}

static GlowValue *scaled_tanh(GlowBuilder *b, GlowValue *x, const GlowCellFunction *f) {
  GlowValue *y = glow_then2(b, GLOW_OP_MUL, scalar(b, x, f->beta), x);
  y = glow_then1(b, GLOW_OP_TANH, y, NULL);
  return glow_then2(b, GLOW_OP_MUL, scalar(b, x, f->alpha), y);
}

static GlowValue *cell_function(GlowBuilder *b, GlowValue *x, GlowCellFunction f) {
  if (!x)
    return NULL;
  switch ((GlowEnumCellFunction)f.function) {
  case GLOW_CELL_FUNCTION_RELU:
    return glow_then1(b, GLOW_OP_RELU, x, NULL);
  case GLOW_CELL_FUNCTION_TANH:
    return glow_then1(b, GLOW_OP_TANH, x, NULL);
  case GLOW_CELL_FUNCTION_SIGMOID:
    return glow_then1(b, GLOW_OP_SIGMOID, x, NULL);
  case GLOW_CELL_FUNCTION_AFFINE:
    return affine(b, x, &f);
  case GLOW_CELL_FUNCTION_LEAKYRELU:
    return glow_then1(b, GLOW_OP_LEAKY_RELU, x, &(GlowLeakyReluMembers){.alpha = f.alpha});
  case GLOW_CELL_FUNCTION_THRESHOLDEDRELU:
    return thresholded_relu(b, x, f.alpha);
  case GLOW_CELL_FUNCTION_SCALEDTANH:
    return scaled_tanh(b, x, &f);
  case GLOW_CELL_FUNCTION_HARDSIGMOID:
    return glow_then1(b, GLOW_OP_HARD_SIGMOID, x,
                      &(GlowHardSigmoidMembers){.alpha = f.alpha, .beta = f.beta});
  case GLOW_CELL_FUNCTION_ELU:
    return glow_then1(b, GLOW_OP_ELU, x, &(GlowEluMembers){.alpha = f.alpha});
  case GLOW_CELL_FUNCTION_SOFTSIGN:
    return glow_then1(b, GLOW_OP_SOFTSIGN, x, NULL);
  case GLOW_CELL_FUNCTION_SOFTPLUS:
    return glow_then1(b, GLOW_OP_SOFTPLUS, x, NULL);
  }
  return NULL;
}

/* ---- One step -------------------------------------------------------------------------------- */

/* Activation `index` of a direction; what a gate gets is clipped. */
static GlowValue *activate(const GlowCellRule *r, GlowBuilder *b, const GlowCellWeights *w,
                           uint32_t index, GlowValue *v) {
  bool is_gate = index < 2;
  if (is_gate && r->r.clip > 0)
    v = glow_then3(b, GLOW_OP_CLIP, v, glow_build_scalar(b, r->kind, -(double)r->r.clip),
                   glow_build_scalar(b, r->kind, (double)r->r.clip));
  return cell_function(b, v, glow_recurrent_function(&r->r, w->direction * r->r.functions + index));
}

static GlowValue *one_minus(const GlowCellRule *r, GlowBuilder *b, GlowValue *v) {
  return glow_then2(b, GLOW_OP_SUB, glow_build_scalar(b, r->kind, 1.0), v);
}

static GlowValue *mul(GlowBuilder *b, GlowValue *x, GlowValue *y) {
  return glow_then2(b, GLOW_OP_MUL, x, y);
}

static GlowValue *add(GlowBuilder *b, GlowValue *x, GlowValue *y) {
  return glow_then2(b, GLOW_OP_ADD, x, y);
}

static GlowValue *product(GlowBuilder *b, GlowValue *x, GlowValue *y) {
  return glow_then2(b, GLOW_OP_MAT_MUL, x, y);
}

static GlowCellState rnn_step(const GlowCellRule *r, GlowBuilder *b, const GlowCellWeights *w,
                              GlowValue *p, GlowCellState s) {
  return (GlowCellState){activate(r, b, w, 0, add(b, p, product(b, s.h, w->r))), NULL};
}

static GlowCellState gru_step(const GlowCellRule *r, GlowBuilder *b, const GlowCellWeights *w,
                              GlowValue *p, GlowCellState s) {
  GlowValue *parts[2], *gates[2], *hidden;
  if (!glow_cell_cut(r, b, p, (int64_t[]){2, 1}, 2, parts) ||
      !glow_cell_cut(r, b, add(b, parts[0], product(b, s.h, w->r)), (int64_t[]){1, 1}, 2, gates))
    return (GlowCellState){0};
  GlowValue *update = activate(r, b, w, 0, gates[0]), *reset = activate(r, b, w, 0, gates[1]);
  if (r->r.linear_before_reset) {
    hidden = product(b, s.h, w->r_h);
    hidden = mul(b, reset, w->rb_h ? add(b, hidden, w->rb_h) : hidden);
  } else {
    hidden = product(b, mul(b, reset, s.h), w->r_h);
  }
  hidden = activate(r, b, w, 1, add(b, parts[1], hidden));
  return (GlowCellState){add(b, mul(b, one_minus(r, b, update), hidden), mul(b, update, s.h)),
                         NULL};
}

static GlowCellState lstm_step(const GlowCellRule *r, GlowBuilder *b, const GlowCellWeights *w,
                               GlowValue *p, GlowCellState s) {
  enum { INPUT, OUTPUT, FORGET, CELL };
  static const int64_t ones[] = {1, 1, 1, 1};
  GlowValue *gates[4], *peep[3];
  if (!glow_cell_cut(r, b, add(b, p, product(b, s.h, w->r)), ones, 4, gates) ||
      (w->peephole && !glow_cell_cut(r, b, w->peephole, ones, 3, peep)))
    return (GlowCellState){0};
  if (w->peephole) {
    gates[INPUT] = add(b, gates[INPUT], mul(b, peep[INPUT], s.c));
    gates[FORGET] = add(b, gates[FORGET], mul(b, peep[FORGET], s.c));
  }
  GlowValue *input = activate(r, b, w, 0, gates[INPUT]);
  GlowValue *forget =
      r->r.input_forget ? one_minus(r, b, input) : activate(r, b, w, 0, gates[FORGET]);
  GlowValue *cell = activate(r, b, w, 1, gates[CELL]);
  GlowValue *c = add(b, mul(b, forget, s.c), mul(b, input, cell));
  if (w->peephole)
    gates[OUTPUT] = add(b, gates[OUTPUT], mul(b, peep[OUTPUT], c));
  GlowValue *output = activate(r, b, w, 0, gates[OUTPUT]);
  return (GlowCellState){mul(b, output, activate(r, b, w, 2, c)), c};
}

GlowCellState glow_cell_step(const GlowCellRule *r, GlowBuilder *b, const GlowCellWeights *w,
                             GlowValue *p, GlowCellState s) {
  if (r->r.op == GLOW_OP_LSTM)
    return lstm_step(r, b, w, p, s);
  return r->r.op == GLOW_OP_GRU ? gru_step(r, b, w, p, s) : rnn_step(r, b, w, p, s);
}
