/* Recurrent cells: RNN, GRU and LSTM, whose attributes have the same meaning in all versions, and
 * ONNX Runtime's LSTM with quantized weights. */
#include <string.h>
#include <strings.h>

#include "import/onnx/hooks.h"
#include "import/onnx/importer.h"

static bool read_activations(GlowOnnxNode *n, uint32_t most, GlowArray *functions) {
  GlowArray names = {0};
  if (!glow_onnx_strings(n, "activations", &names))
    return false;
  const GlowEnumDesc *e = &glow_enum_cell_function;
  int *values = GLOW_NEW_ARRAY(n->im->m->arena, int, names.count);
  for (uint32_t i = 0; i < names.count; i++) {
    GlowStr name = glow_array_at(names, GlowStr, i);
    uint32_t k = 0;
    while (k < e->count && strcasecmp(e->values[k], name) != 0)
      k++;
    if (k == e->count)
      return glow_onnx_fail(n, "attribute 'activations' has '%s', which is no activation", name);
    values[i] = (int)k;
  }
  /* RNN's default names two for a cell of one direction. */
  *functions = (GlowArray){names.count < most ? names.count : most, values};
  return true;
}

/* What the three have in common; *m is GlowRNNMembers, with which the others begin. */
static bool read_common(GlowOnnxNode *n, uint32_t functions, uint32_t most_ins, GlowRNNMembers *m) {
  int64_t hidden = -1;
  if (!glow_onnx_check_ins(n, 3, most_ins) ||
      !glow_onnx_enum(n, &glow_enum_direction, "direction", &m->direction) ||
      !glow_onnx_floats(n, "activation_alpha", &m->alpha) ||
      !glow_onnx_floats(n, "activation_beta", &m->beta) || !glow_onnx_float(n, "clip", &m->clip) ||
      !glow_onnx_bool(n, "layout", &m->batch_first) || !glow_onnx_int(n, "hidden_size", &hidden))
    return false;
  glow_onnx_ignore(n, "output_sequence"); /* of version 1: whether Y is wanted, as its name says */
  uint32_t directions = m->direction == GLOW_DIRECTION_BIDIRECTIONAL ? 2 : 1;
  const GlowType *r = n->ins[2]->type;
  if (hidden >= 0 && glow_type_is_tensor(r) && !r->unranked && r->rank == 3 &&
      r->dims[2].kind == GLOW_DIM_EXACT && r->dims[2].size != hidden)
    return glow_onnx_fail(n, "attribute 'hidden_size' is %lld, but R is %s", (long long)hidden,
                          glow_type_str(n->im->ctx, r));
  return read_activations(n, functions * directions, &m->activations);
}

bool glow_onnx_rnn(GlowOnnxNode *n) {
  GlowRNNMembers m = {0};
  return read_common(n, 1, 6, &m) && glow_onnx_finish(n, GLOW_OP_RNN, n->ins, n->nins, &m, NULL, 0);
}

bool glow_onnx_gru(GlowOnnxNode *n) {
  GlowRNNMembers common = {0};
  bool linear_before_reset = false;
  if (!read_common(n, 2, 6, &common) ||
      !glow_onnx_bool(n, "linear_before_reset", &linear_before_reset))
    return false;
  GlowGRUMembers m = {.direction = common.direction,
                      .activations = common.activations,
                      .alpha = common.alpha,
                      .beta = common.beta,
                      .clip = common.clip,
                      .batch_first = common.batch_first,
                      .linear_before_reset = linear_before_reset};
  return glow_onnx_finish(n, GLOW_OP_GRU, n->ins, n->nins, &m, NULL, 0);
}

static bool read_lstm(GlowOnnxNode *n, uint32_t most_ins, GlowLSTMMembers *m) {
  GlowRNNMembers common = {0};
  bool input_forget = false;
  if (!read_common(n, 3, most_ins, &common) || !glow_onnx_bool(n, "input_forget", &input_forget))
    return false;
  *m = (GlowLSTMMembers){.direction = common.direction,
                         .activations = common.activations,
                         .alpha = common.alpha,
                         .beta = common.beta,
                         .clip = common.clip,
                         .batch_first = common.batch_first,
                         .input_forget = input_forget};
  return true;
}

bool glow_onnx_lstm(GlowOnnxNode *n) {
  GlowLSTMMembers m;
  return read_lstm(n, 8, &m) && glow_onnx_finish(n, GLOW_OP_LSTM, n->ins, n->nins, &m, NULL, 0);
}

/* ---- Quantized weights ----------------------------------------------------------------------- */

/* A scale or zero point, [directions] or [directions, gates * hidden], so that it broadcasts over
 * weights [directions, inputs, gates * hidden]. */
static GlowValue *of_columns(GlowOnnxNode *n, GlowValue *v) {
  static const int64_t one[] = {0, 1, 1}, each[] = {0, 1, -1};
  const GlowType *t = v->type;
  if (!glow_type_is_tensor(t) || t->unranked || t->rank < 1 || t->rank > 2) {
    glow_onnx_fail(n, "a scale or zero point has type %s", glow_type_str(n->im->ctx, t));
    return NULL;
  }
  return glow_onnx_emit2(n, GLOW_OP_RESHAPE, v,
                         glow_onnx_make_ints(n, "columns", t->rank == 1 ? one : each, 3), NULL);
}

static bool is_list(const GlowType *t) {
  return glow_type_is_tensor(t) && !t->unranked && t->rank == 1;
}

/* q [directions, inputs, gates * hidden], weights of 8 bits, as real numbers: a scale, and a zero
 * point or NULL, are of a direction or of a column. */
static GlowValue *dequantized(GlowOnnxNode *n, GlowValue *q, GlowValue *scale, GlowValue *zero,
                              GlowKind kind) {
  GlowDequantizeLinearMembers m = {.axis = 0};
  if (is_list(scale->type) && (!zero || is_list(zero->type)))
    return glow_onnx_emit(n, GLOW_OP_DEQUANTIZE_LINEAR, (GlowValue *[]){q, scale, zero}, 3, &m);
  GlowValue *w = glow_onnx_cast_to(n, q, kind), *factor = of_columns(n, scale);
  if (w && zero) {
    zero = of_columns(n, zero);
    zero = zero ? glow_onnx_cast_to(n, zero, kind) : NULL;
    w = zero ? glow_onnx_emit2(n, GLOW_OP_SUB, w, zero, NULL) : NULL;
  }
  return w && factor ? glow_onnx_emit2(n, GLOW_OP_MUL, w, factor, NULL) : NULL;
}

/* Operand i, weights [directions, inputs, gates * hidden] of 8 bits, as LSTM takes them: real, with
 * the last two axes swapped. `scale` is the operand with their scale; a zero point follows. */
static GlowValue *real_weights(GlowOnnxNode *n, uint32_t i, uint32_t scale, GlowKind kind) {
  static const uint32_t perm[] = {0, 2, 1};
  GlowTransposeMembers swapped = {.perm = glow_array_u32(n->im->m, perm, 3)};
  GlowValue *zero = scale + 1 < n->nins ? n->ins[scale + 1] : NULL;
  GlowValue *w = dequantized(n, n->ins[i], n->ins[scale], zero, kind);
  return w ? glow_onnx_emit1(n, GLOW_OP_TRANSPOSE, w, &swapped) : NULL;
}

static bool is_weights(const GlowType *t) {
  return glow_type_is_tensor(t) && !t->unranked && t->rank == 3 &&
         (t->kind == GLOW_KIND_I8 || t->kind == GLOW_KIND_U8);
}

/* The same on real numbers. ONNX Runtime also quantizes X and the states before each product, by
 * their largest and smallest element, to multiply integers. Its numbers differ from these by the
 * error of that. */
bool glow_onnx_dynamic_quantize_lstm(GlowOnnxNode *n) {
  enum { X, W, R, LSTM_INS = 8, W_SCALE = 8, W_ZERO, R_SCALE, R_ZERO };
  GlowLSTMMembers m;
  if (!glow_onnx_check_ins(n, 3, R_ZERO + 1))
    return false;
  if (n->nins <= R_SCALE || !n->ins[W_SCALE] || !n->ins[R_SCALE])
    return glow_onnx_fail(n, "a scale of the weights is missing");
  for (uint32_t i = W; i <= R; i++)
    if (!is_weights(n->ins[i]->type))
      return glow_onnx_fail(n, "operand %u is %s; weights of 8 bits with three axes are expected",
                            i, glow_type_str(n->im->ctx, n->ins[i]->type));
  glow_onnx_check_scale(n, W_SCALE, false);
  glow_onnx_check_scale(n, R_SCALE, false);
  GlowKind kind = n->ins[W_SCALE]->type->kind;
  GlowValue *w = real_weights(n, W, W_SCALE, kind),
            *r = w ? real_weights(n, R, R_SCALE, kind) : NULL;
  if (!r)
    return false;
  n->ins[W] = w;
  n->ins[R] = r;
  n->nins = LSTM_INS;
  return read_lstm(n, LSTM_INS, &m) &&
         glow_onnx_finish(n, GLOW_OP_LSTM, n->ins, LSTM_INS, &m, NULL, 0);
}
