/* Recurrent cells: RNN, GRU and LSTM, whose attributes have the same meaning in all versions. */
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

bool glow_onnx_lstm(GlowOnnxNode *n) {
  GlowRNNMembers common = {0};
  bool input_forget = false;
  if (!read_common(n, 3, 8, &common) || !glow_onnx_bool(n, "input_forget", &input_forget))
    return false;
  GlowLSTMMembers m = {.direction = common.direction,
                       .activations = common.activations,
                       .alpha = common.alpha,
                       .beta = common.beta,
                       .clip = common.clip,
                       .batch_first = common.batch_first,
                       .input_forget = input_forget};
  return glow_onnx_finish(n, GLOW_OP_LSTM, n->ins, n->nins, &m, NULL, 0);
}
