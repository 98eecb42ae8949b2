/* Normalization, softmax and attention. */
#include <string.h>

#include "import/onnx/hooks.h"
#include "import/onnx/importer.h"

static bool is_ranked(const GlowValue *v) {
  return glow_type_is_tensor(v->type) && !v->type->unranked;
}

bool glow_onnx_batch_normalization(GlowOnnxNode *n) {
  GlowBatchNormalizationMembers m = {.epsilon = 1e-5f};
  bool training = false, test = n->version >= 7, spatial = true;
  if (!glow_onnx_check_ins(n, 5, 5) || !glow_onnx_float(n, "epsilon", &m.epsilon) ||
      !glow_onnx_bool(n, "training_mode", &training) || !glow_onnx_bool(n, "is_test", &test) ||
      !glow_onnx_bool(n, "spatial", &spatial))
    return false;
  glow_onnx_ignore(n, "momentum");
  if (training || !test || n->nouts > 1)
    return glow_onnx_unsupported(n, "training mode");
  if (!spatial)
    return glow_onnx_unsupported(n, "attribute 'spatial' = 0");
  return glow_onnx_finish(n, GLOW_OP_BATCH_NORMALIZATION, n->ins, 5, &m, NULL, 0);
}

/* Softmax, LogSoftmax and Hardmax before operator set 13: over a matrix that is split at `axis`. */
bool glow_onnx_softmax_matrix(GlowOnnxNode *n) {
  int64_t axis = 1;
  if (!glow_onnx_check_ins(n, 1, 1) || !glow_onnx_int(n, "axis", &axis))
    return false;
  GlowOp op = strcmp(n->op, "Softmax") == 0   ? GLOW_OP_SOFTMAX
              : strcmp(n->op, "Hardmax") == 0 ? GLOW_OP_HARDMAX
                                              : GLOW_OP_LOG_SOFTMAX;
  const void *members = glow_op_desc[op].member_defaults; /* axis = -1 */
  GlowValue *x = n->ins[0];
  if (is_ranked(x) && (axis == -1 || axis == (int64_t)x->type->rank - 1))
    return glow_onnx_finish1(n, op, x, members);
  GlowValue *shape = glow_onnx_shape_of(n, x);
  GlowValue *matrix = glow_onnx_emit1(n, GLOW_OP_FLATTEN, x, &(GlowFlattenMembers){.axis = axis});
  return glow_onnx_finish2(n, GLOW_OP_RESHAPE, glow_onnx_emit1(n, op, matrix, members), shape,
                           &(GlowReshapeMembers){.allow_zero = true});
}

/* ---- Attention ------------------------------------------------------------------------------ */

/* ONNX's number for an element type -> the list that the member wants. */
static bool softmax_precision(GlowOnnxNode *n, GlowArray *list) {
  GlowKind *kind = GLOW_NEW(n->im->m->arena, GlowKind);
  if (!glow_onnx_has(n, "softmax_precision"))
    return true;
  *list = (GlowArray){1, kind};
  return glow_onnx_kind(n, "softmax_precision", kind);
}

static bool attention_members(GlowOnnxNode *n, GlowAttentionMembers *m) {
  int64_t q_heads = 0, kv_heads = 0, mode = 0;
  if (!glow_onnx_int(n, "q_num_heads", &q_heads) || !glow_onnx_int(n, "kv_num_heads", &kv_heads) ||
      !glow_onnx_int(n, "qk_matmul_output_mode", &mode) ||
      !glow_onnx_float(n, "scale", &m->scale) || !glow_onnx_float(n, "softcap", &m->softcap) ||
      !glow_onnx_bool(n, "is_causal", &m->is_causal) ||
      !softmax_precision(n, &m->softmax_precision))
    return false;
  if (q_heads < 0 || q_heads > INT32_MAX || kv_heads < 0 || kv_heads > INT32_MAX)
    return glow_onnx_fail(n, "a number of heads is out of range");
  if (mode < 0 || mode > 3)
    return glow_onnx_fail(n, "attribute 'qk_matmul_output_mode' is %lld", (long long)mode);
  m->q_num_heads = (uint32_t)q_heads;
  m->kv_num_heads = (uint32_t)kv_heads;
  m->scores = (int)mode; /* the same order */
  return glow_onnx_int(n, "left_window_size", &m->left_window_size) &&
         glow_onnx_int(n, "right_window_size", &m->right_window_size);
}

bool glow_onnx_attention(GlowOnnxNode *n) {
  GlowAttentionMembers m = {.left_window_size = -1, .right_window_size = -1};
  if (!glow_onnx_check_ins(n, 3, 7) || !attention_members(n, &m))
    return false;
  const GlowValue *mask = n->nins > 3 ? n->ins[3] : NULL;
  if (mask && glow_type_is_tensor(mask->type) && glow_kind_is_integer(mask->type->kind))
    return glow_onnx_unsupported(n, "a mask of integers");
  return glow_onnx_finish(n, GLOW_OP_ATTENTION, n->ins, n->nins, &m, NULL, 0);
}
