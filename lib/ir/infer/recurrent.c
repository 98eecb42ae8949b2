/* Inference and verification of recurrent cells. X is [steps, batch, inputs]. With batch_first, X
 * is [batch, steps, inputs], and the batch is the first axis of the states and of Y, too.
 * Definitions as ONNX's RNN, GRU and LSTM 22. */
#include "ir/infer/recurrent.h"
#include "ir/infer/hooks.h"

/* ---- Members --------------------------------------------------------------------------------- */

#define READ(m)                                                                                    \
  do {                                                                                             \
    r.direction = (m)->direction;                                                                  \
    r.activations = (m)->activations;                                                              \
    r.alpha = (m)->alpha;                                                                          \
    r.beta = (m)->beta;                                                                            \
    r.clip = (m)->clip;                                                                            \
    r.batch_first = (m)->batch_first;                                                              \
  } while (0)

GlowRecurrent glow_recurrent_of(const GlowOpDesc *d, const void *members) {
  GlowRecurrent r = {.op = (GlowOp)(d - glow_op_desc), .gates = 1, .functions = 1};
  if (r.op == GLOW_OP_LSTM) {
    const GlowLSTMMembers *m = members;
    READ(m);
    r.gates = 4;
    r.functions = 3;
    r.input_forget = m->input_forget;
  } else if (r.op == GLOW_OP_GRU) {
    const GlowGRUMembers *m = members;
    READ(m);
    r.gates = 3;
    r.functions = 2;
    r.linear_before_reset = m->linear_before_reset;
  } else {
    READ((const GlowRNNMembers *)members);
  }
  r.directions = r.direction == GLOW_DIRECTION_BIDIRECTIONAL ? 2 : 1;
  return r;
}

/* Which parameters an activation takes, and their defaults: those of the operator of that name. */
static const struct {
  bool has_alpha, has_beta;
  float alpha, beta;
} function_rows[] = {
    [GLOW_CELL_FUNCTION_AFFINE] = {true, true, 1.0f, 0.0f},
    [GLOW_CELL_FUNCTION_LEAKYRELU] = {true, false, 0.01f, 0.0f},
    [GLOW_CELL_FUNCTION_THRESHOLDEDRELU] = {true, false, 1.0f, 0.0f},
    [GLOW_CELL_FUNCTION_SCALEDTANH] = {true, true, 1.0f, 1.0f},
    [GLOW_CELL_FUNCTION_HARDSIGMOID] = {true, true, 0.2f, 0.5f},
    [GLOW_CELL_FUNCTION_ELU] = {true, false, 1.0f, 0.0f},
    [GLOW_CELL_FUNCTION_SOFTPLUS] = {false, false, 0.0f, 0.0f},
};

static int function_at(const GlowRecurrent *r, uint32_t index) {
  if (r->activations.count)
    return glow_array_at(r->activations, int, index);
  return r->op == GLOW_OP_RNN || index % r->functions ? GLOW_CELL_FUNCTION_TANH
                                                      : GLOW_CELL_FUNCTION_SIGMOID;
}

GlowCellFunction glow_recurrent_function(const GlowRecurrent *r, uint32_t index) {
  uint32_t alphas = 0, betas = 0;
  for (uint32_t i = 0; i < index; i++) {
    int before = function_at(r, i);
    alphas += function_rows[before].has_alpha;
    betas += function_rows[before].has_beta;
  }
  GlowCellFunction f = {.function = function_at(r, index)};
  f.alpha = function_rows[f.function].alpha;
  f.beta = function_rows[f.function].beta;
  if (function_rows[f.function].has_alpha && alphas < r->alpha.count)
    f.alpha = glow_array_at(r->alpha, float, alphas);
  if (function_rows[f.function].has_beta && betas < r->beta.count)
    f.beta = glow_array_at(r->beta, float, betas);
  return f;
}

/* ---- Types ----------------------------------------------------------------------------------- */

/* The extents of a cell; each operand narrows them. */
typedef struct Extents {
  GlowDim steps, batch, inputs, hidden;
} Extents;

/* Narrows `dims` by the dims of operand i, as far as its type tells. Reports a contradiction. */
static bool meet(const GlowInfer *in, uint32_t i, uint32_t rank, GlowDim *const *dims) {
  const GlowType *t = glow_infer_in(in, i);
  if (!t || t->unranked)
    return true;
  const char *name = in->desc->in[i].name;
  if (t->rank != rank)
    return glow_infer_error(in, "%s must have rank %u, but has type %s", name, rank,
                            glow_type_str(in->ctx, t));
  for (uint32_t a = 0; a < rank; a++) {
    GlowDim before = *dims[a];
    if (!glow_dim_meet(before, t->dims[a], dims[a]))
      return glow_infer_error(in, "axis %u of %s has extent %s, expected %s", a, name,
                              glow_dim_str(in->ctx, t->dims[a]), glow_dim_str(in->ctx, before));
  }
  return true;
}

static GlowDim times(GlowDim d, uint32_t factor) {
  return glow_dim_mul(d, GLOW_EXACT((int64_t)factor));
}

/* Computes `hidden` from axis 1 of W, which is `gates` times as long. */
static bool divide(const GlowInfer *in, uint32_t gates, Extents *e) {
  const GlowType *w = in->in[GLOW_LSTM_IN_W];
  if (w->unranked || w->rank != 3 || w->dims[1].kind != GLOW_DIM_EXACT ||
      e->hidden.kind == GLOW_DIM_EXACT)
    return true;
  if (w->dims[1].size % gates)
    return glow_infer_error(in, "axis 1 of W has extent %lld, no multiple of %u",
                            (long long)w->dims[1].size, gates);
  e->hidden = GLOW_EXACT(w->dims[1].size / gates);
  return true;
}

/* Reads the extents of all operands. The ports of the three operators have the same numbers. */
static bool read_extents(const GlowInfer *in, const GlowRecurrent *r, Extents *e) {
  GlowDim directions = GLOW_EXACT(r->directions), any = GLOW_UNKNOWN;
  bool batch_first = r->batch_first;
  GlowDim *state[] = {batch_first ? &e->batch : &directions, batch_first ? &directions : &e->batch,
                      &e->hidden};
  if (!meet(in, GLOW_LSTM_IN_X, 3,
            (GlowDim *[]){batch_first ? &e->batch : &e->steps, batch_first ? &e->steps : &e->batch,
                          &e->inputs}) ||
      !meet(in, GLOW_LSTM_IN_R, 3, (GlowDim *[]){&directions, &any, &e->hidden}) ||
      !divide(in, r->gates, e) || !meet(in, GLOW_LSTM_IN_INITIAL_H, 3, state) ||
      !meet(in, GLOW_LSTM_IN_LENGTHS, 1, (GlowDim *[]){&e->batch}))
    return false;
  GlowDim rows = times(e->hidden, r->gates), biases = times(e->hidden, 2 * r->gates);
  GlowDim peepholes = times(e->hidden, 3);
  return meet(in, GLOW_LSTM_IN_W, 3, (GlowDim *[]){&directions, &rows, &e->inputs}) &&
         meet(in, GLOW_LSTM_IN_R, 3, (GlowDim *[]){&directions, &rows, &e->hidden}) &&
         meet(in, GLOW_LSTM_IN_B, 2, (GlowDim *[]){&directions, &biases}) &&
         (r->op != GLOW_OP_LSTM ||
          (meet(in, GLOW_LSTM_IN_INITIAL_C, 3, state) &&
           meet(in, GLOW_LSTM_IN_P, 2, (GlowDim *[]){&directions, &peepholes})));
}

static bool check_lengths(const GlowInfer *in, GlowDim steps) {
  uint32_t count;
  const int64_t *lengths = glow_infer_ints(in, GLOW_LSTM_IN_LENGTHS, &count);
  for (uint32_t i = 0; lengths && i < count; i++)
    if (lengths[i] < 0 || (steps.kind == GLOW_DIM_EXACT && lengths[i] > steps.size))
      return glow_infer_error(in, "sequence %u has length %lld, but there are %s steps", i,
                              (long long)lengths[i], glow_dim_str(in->ctx, steps));
  return true;
}

static bool infer_cell(GlowInfer *in) {
  GlowRecurrent r = glow_recurrent_of(in->desc, in->members);
  const GlowType *x = in->in[GLOW_LSTM_IN_X];
  Extents e = {GLOW_UNKNOWN, GLOW_UNKNOWN, GLOW_UNKNOWN, GLOW_UNKNOWN};
  if (!read_extents(in, &r, &e) || !check_lengths(in, e.steps))
    return false;
  GlowDim d = GLOW_EXACT(r.directions);
  GlowDim y[2][4] = {{e.steps, d, e.batch, e.hidden}, {e.batch, e.steps, d, e.hidden}};
  GlowDim last[2][3] = {{d, e.batch, e.hidden}, {e.batch, d, e.hidden}};
  return glow_infer_set(in, GLOW_LSTM_OUT_Y, x, 4, y[r.batch_first]) &&
         glow_infer_set(in, GLOW_LSTM_OUT_LAST_H, x, 3, last[r.batch_first]) &&
         glow_infer_set(in, GLOW_LSTM_OUT_LAST_C, x, 3, last[r.batch_first]);
}

bool glow_infer_rnn(GlowInfer *in) { return infer_cell(in); }
bool glow_infer_gru(GlowInfer *in) { return infer_cell(in); }
bool glow_infer_lstm(GlowInfer *in) { return infer_cell(in); }

static bool verify_cell(const GlowNode *n) {
  GlowRecurrent r = glow_recurrent_of(glow_node_desc(n), n->members);
  uint32_t expected = r.functions * r.directions;
  if (r.activations.count && r.activations.count != expected)
    return glow_verify_error(n, "activations has %u values, expected %u", r.activations.count,
                             expected);
  if (!(r.clip >= 0))
    return glow_verify_error(n, "clip is %g", (double)r.clip);
  return true;
}

bool glow_verify_rnn(const GlowNode *n) { return verify_cell(n); }
bool glow_verify_gru(const GlowNode *n) { return verify_cell(n); }
bool glow_verify_lstm(const GlowNode *n) { return verify_cell(n); }
