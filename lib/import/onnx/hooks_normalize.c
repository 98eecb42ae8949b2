/* Normalization, softmax and attention. */
#include <string.h>

#include "import/onnx/hooks.h"
#include "import/onnx/importer.h"

static bool is_ranked(const GlowValue *v) {
  return glow_type_is_tensor(v->type) && !v->type->unranked;
}

/* ---- Batch normalization -------------------------------------------------------------------- */

typedef struct BatchNorm {
  GlowValue *ins[5]; /* X, Scale, Bias, Mean, Var */
  bool training, spatial;
  bool saves; /* -training: running averages are variables, which the function saves */
  float momentum;
  GlowBatchNormalizationMembers members;
} BatchNorm;

static bool read_batch_norm(GlowOnnxNode *n, BatchNorm *bn) {
  bool test = n->version >= 7 && n->nouts <= 1;
  if (!glow_onnx_check_ins(n, 5, 5) || !glow_onnx_float(n, "epsilon", &bn->members.epsilon) ||
      !glow_onnx_float(n, "momentum", &bn->momentum) || !glow_onnx_bool(n, "is_test", &test) ||
      !glow_onnx_bool(n, "spatial", &bn->spatial))
    return false;
  bn->training = !test;
  if (n->version >= 14) {
    bn->training = false;
    if (!glow_onnx_bool(n, "training_mode", &bn->training))
      return false;
  }
  bn->saves = n->im->training && !bn->training;
  bn->training |= bn->saves;
  n->im->differs |= bn->saves;
  if (!bn->training && n->nouts > 1)
    return glow_onnx_fail(n, "%u results, of which all but the first need training mode", n->nouts);
  memcpy(bn->ins, n->ins, sizeof bn->ins);
  for (uint32_t i = 0; i < 5; i++)
    if (!glow_type_is_tensor(bn->ins[i]->type) || !glow_kind_is_float(bn->ins[i]->type->kind))
      return glow_onnx_fail(n, "operand %u must be a tensor of floats", i);
  return true;
}

/* All operands in the widest kind among them. */
static void widen(GlowOnnxNode *n, BatchNorm *bn) {
  GlowKind kind = bn->ins[0]->type->kind;
  for (uint32_t i = 1; i < 5; i++)
    if (bn->ins[i]->type->kind != kind)
      kind = kind == GLOW_KIND_DOUBLE || bn->ins[i]->type->kind == GLOW_KIND_DOUBLE
                 ? GLOW_KIND_DOUBLE
                 : GLOW_KIND_FLOAT;
  for (uint32_t i = 0; i < 5; i++)
    bn->ins[i] = glow_onnx_cast_to(n, bn->ins[i], kind);
}

/* The mean of each channel. */
static GlowValue *channel_mean(GlowOnnxNode *n, GlowValue *x, bool keep) {
  int64_t axes[GLOW_MAX_RANK] = {0};
  for (uint32_t i = 2; x && i < x->type->rank; i++)
    axes[i - 1] = i;
  GlowReduceMeanMembers m = {.keep = keep};
  return x ? glow_onnx_emit2(n, GLOW_OP_REDUCE_MEAN, x,
                             glow_onnx_make_ints(n, "axes", axes, x->type->rank - 1), &m)
           : NULL;
}

/* The two parts of a running average in parts[]: old * momentum, new * (1 - momentum). */
static bool average_parts(GlowOnnxNode *n, const BatchNorm *bn, GlowValue *old, GlowValue *current,
                          GlowValue **parts) {
  GlowKind kind = old->type->kind;
  GlowValue *keep = glow_onnx_make_scalar(n, "momentum", kind, (double)bn->momentum);
  GlowValue *take = glow_onnx_make_scalar(n, "rest", kind, 1 - (double)bn->momentum);
  parts[0] = glow_onnx_emit2(n, GLOW_OP_MUL, old, keep, NULL);
  parts[1] = glow_onnx_emit2(n, GLOW_OP_MUL, current, take, NULL);
  return parts[0] && parts[1];
}

/* The running average of operand `index` + 2 is saved where the operand lies. */
static bool save_running(GlowOnnxNode *n, const BatchNorm *bn, uint32_t index, GlowValue *old,
                         GlowValue *current) {
  GlowValue *stored = n->ins[index + 2], *parts[2];
  GlowOnnxRegion *top = n->scope->region;
  if (top->outer)
    return glow_onnx_unsupported(n, "training inside a subgraph");
  if (stored->kind != GLOW_VALUE_STORAGE || stored->def.storage->cls == GLOW_PLACEHOLDER)
    return glow_onnx_unsupported(n, "training with running statistics that are computed");
  if (glow_onnx_region_state(top, stored->def.storage))
    return glow_onnx_unsupported(n, "training with running statistics that two nodes share");
  if (!average_parts(n, bn, old, current, parts))
    return false;
  GlowValue *sum = glow_onnx_emit2(n, GLOW_OP_ADD, parts[0], parts[1], NULL);
  GlowOnnxState s = {.variable = stored->def.storage, .in = stored};
  s.next = sum ? glow_onnx_cast_to(n, sum, stored->type->kind) : NULL;
  s.variable->cls = GLOW_VARIABLE;
  glow_vec_push(n->im->arena, &top->states, s);
  return s.next != NULL;
}

/* Result `index`: the running average. */
static bool running(GlowOnnxNode *n, const BatchNorm *bn, uint32_t index, GlowValue *old,
                    GlowValue *current) {
  GlowValue *parts[2];
  if (bn->saves)
    return save_running(n, bn, index, old, current);
  if (n->nouts <= index || !n->outs[index])
    return true;
  GlowKind kind = old->type->kind, result = n->ins[index + 2]->type->kind;
  if (!average_parts(n, bn, old, current, parts))
    return false;
  if (kind == result)
    return glow_onnx_result(n, index, GLOW_OP_ADD, parts, 2, NULL);
  GlowValue *sum = glow_onnx_emit2(n, GLOW_OP_ADD, parts[0], parts[1], NULL);
  return sum && glow_onnx_result(n, index, GLOW_OP_CAST, &sum, 1, &(GlowCastMembers){.to = result});
}

/* The statistics as result `index`, which definitions before version 14 have for the gradient. */
static bool saved(GlowOnnxNode *n, uint32_t index, GlowValue *v) {
  return n->nouts <= index || !n->outs[index] ||
         glow_onnx_result(n, index, GLOW_OP_IDENTITY, &v, 1, NULL);
}

/* Training: the batch's mean and variance replace the operands Mean and Var, whose running averages
 * become results. */
static bool train(GlowOnnxNode *n, BatchNorm *bn) {
  GlowValue *x = bn->ins[0];
  if (!is_ranked(x) || x->type->rank < 2)
    return glow_onnx_unsupported(n, "training with an operand of unknown rank, or below 2");
  GlowKind kind = x->type->kind;
  if (kind == GLOW_KIND_FLOAT16 || kind == GLOW_KIND_BFLOAT16)
    for (uint32_t i = 0; i < 5; i++) /* sums of squares overflow */
      bn->ins[i] = glow_onnx_cast_to(n, bn->ins[i], GLOW_KIND_FLOAT);
  x = bn->ins[0];
  GlowValue *mean = channel_mean(n, x, false), *from = mean;
  if (x->type->rank > 2) { /* along axis 1, as BatchNormalization has it */
    const int64_t along[GLOW_MAX_RANK] = {-1, 1, 1, 1, 1, 1, 1, 1};
    from = glow_onnx_emit2(n, GLOW_OP_RESHAPE, mean,
                           glow_onnx_make_ints(n, "shape", along, x->type->rank - 1), NULL);
  }
  GlowValue *d = glow_onnx_emit2(n, GLOW_OP_SUB, x, from, NULL);
  GlowValue *var = channel_mean(n, glow_onnx_emit2(n, GLOW_OP_MUL, d, d, NULL), false);
  if (!mean || !var || !running(n, bn, 1, bn->ins[3], mean) || !running(n, bn, 2, bn->ins[4], var))
    return false;
  bn->ins[3] = mean;
  bn->ins[4] = var;
  return n->version >= 14 || (saved(n, 3, mean) && saved(n, 4, var));
}

/* Y from operands that may have been cast or reshaped. */
static bool finish_batch_norm(GlowOnnxNode *n, const BatchNorm *bn, GlowValue *shape) {
  GlowKind kind = n->ins[0]->type->kind;
  GlowReshapeMembers exact = {.allow_zero = true};
  if (!shape && bn->ins[0]->type->kind == kind)
    return glow_onnx_result(n, 0, GLOW_OP_BATCH_NORMALIZATION, bn->ins, 5, &bn->members);
  GlowValue *y = glow_onnx_emit(n, GLOW_OP_BATCH_NORMALIZATION, bn->ins, 5, &bn->members);
  if (!y || !shape)
    return y && glow_onnx_result(n, 0, GLOW_OP_CAST, &y, 1, &(GlowCastMembers){.to = kind});
  y = glow_onnx_cast_to(n, y, kind);
  return y && glow_onnx_result(n, 0, GLOW_OP_RESHAPE, (GlowValue *[]){y, shape}, 2, &exact);
}

bool glow_onnx_batch_normalization(GlowOnnxNode *n) {
  BatchNorm bn = {.spatial = true, .momentum = 0.9f, .members = {.epsilon = 1e-5f}};
  if (!read_batch_norm(n, &bn))
    return false;
  if (bn.training && !bn.spatial)
    return glow_onnx_unsupported(n, "training mode with attribute 'spatial' = 0");
  widen(n, &bn);
  GlowValue *shape = NULL;
  bool vector = bn.ins[0] && is_ranked(bn.ins[0]) && bn.ins[0]->type->rank == 1;
  if (!bn.spatial || vector) { /* each feature is a channel; a vector has one channel */
    const int64_t column[] = {-1, 1}, all[] = {-1};
    shape = glow_onnx_shape_of(n, bn.ins[0]);
    bn.ins[0] =
        vector ? glow_onnx_emit2(n, GLOW_OP_RESHAPE, bn.ins[0],
                                 glow_onnx_make_ints(n, "column", column, 2), NULL)
               : glow_onnx_emit1(n, GLOW_OP_FLATTEN, bn.ins[0], &(GlowFlattenMembers){.axis = 1});
    for (uint32_t i = 1; i < 5; i++)
      bn.ins[i] = glow_onnx_emit2(n, GLOW_OP_RESHAPE, bn.ins[i],
                                  glow_onnx_make_ints(n, "all", all, 1), NULL);
  }
  for (uint32_t i = 0; i < 5; i++)
    if (!bn.ins[i])
      return false;
  return (!bn.training || train(n, &bn)) && finish_batch_norm(n, &bn, shape);
}

/* ---- Groups and axes ------------------------------------------------------------------------ */

/* [groups] as [channels]: each element for all channels of its group. */
static GlowValue *for_channels(GlowOnnxNode *n, GlowValue *v, int64_t groups, int64_t each) {
  GlowValue *column = glow_onnx_make_ints(n, "column", (const int64_t[]){groups, 1}, 2);
  GlowValue *matrix = glow_onnx_make_ints(n, "matrix", (const int64_t[]){groups, each}, 2);
  GlowValue *all = glow_onnx_make_ints(n, "all", (const int64_t[]){-1}, 1);
  v = glow_onnx_emit2(n, GLOW_OP_RESHAPE, v, column, NULL);
  v = glow_onnx_emit2(n, GLOW_OP_EXPAND, v, matrix, NULL);
  return glow_onnx_emit2(n, GLOW_OP_RESHAPE, v, all, NULL);
}

/* Version 18: Scale and Bias have an element for each group. */
bool glow_onnx_group_normalization(GlowOnnxNode *n) {
  int64_t groups = 0;
  GlowGroupNormalizationMembers m = {.epsilon = 1e-5f, .stash_type = GLOW_KIND_FLOAT};
  if (!glow_onnx_check_ins(n, 3, 3) || !glow_onnx_int(n, "num_groups", &groups) ||
      !glow_onnx_float(n, "epsilon", &m.epsilon))
    return false;
  GlowValue *x = n->ins[0];
  if (!is_ranked(x) || x->type->rank < 2 || x->type->dims[1].kind != GLOW_DIM_EXACT)
    return glow_onnx_unsupported(n, "an unknown number of channels");
  int64_t channels = x->type->dims[1].size;
  if (groups < 1 || groups > INT32_MAX || channels % groups)
    return glow_onnx_fail(n, "%lld groups do not divide %lld channels", (long long)groups,
                          (long long)channels);
  m.num_groups = (uint32_t)groups;
  if (x->type->kind == GLOW_KIND_DOUBLE)
    m.stash_type = GLOW_KIND_DOUBLE;
  GlowValue *ins[] = {x, for_channels(n, n->ins[1], groups, channels / groups),
                      for_channels(n, n->ins[2], groups, channels / groups)};
  return ins[1] && ins[2] && glow_onnx_finish(n, GLOW_OP_GROUP_NORMALIZATION, ins, 3, &m, NULL, 0);
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

static bool read_heads(GlowOnnxNode *n, uint32_t *of_q, uint32_t *of_kv) {
  int64_t q_heads = 0, kv_heads = 0;
  if (!glow_onnx_int(n, "q_num_heads", &q_heads) || !glow_onnx_int(n, "kv_num_heads", &kv_heads))
    return false;
  if (q_heads < 0 || q_heads > INT32_MAX || kv_heads < 0 || kv_heads > INT32_MAX)
    return glow_onnx_fail(n, "a number of heads is out of range");
  *of_q = (uint32_t)q_heads;
  *of_kv = (uint32_t)kv_heads;
  return true;
}

static bool attention_members(GlowOnnxNode *n, GlowAttentionMembers *m) {
  int64_t mode = 0;
  if (!read_heads(n, &m->q_num_heads, &m->kv_num_heads) ||
      !glow_onnx_int(n, "qk_matmul_output_mode", &mode) ||
      !glow_onnx_float(n, "scale", &m->scale) || !glow_onnx_float(n, "softcap", &m->softcap) ||
      !glow_onnx_bool(n, "is_causal", &m->is_causal) ||
      !softmax_precision(n, &m->softmax_precision))
    return false;
  if (mode < 0 || mode > 3)
    return glow_onnx_fail(n, "attribute 'qk_matmul_output_mode' is %lld", (long long)mode);
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

bool glow_onnx_linear_attention(GlowOnnxNode *n) {
  GlowLinearAttentionMembers m = {.update_rule = GLOW_UPDATE_RULE_GATED_DELTA};
  glow_onnx_ignore(n, "chunk_size"); /* a hint */
  return glow_onnx_check_ins(n, 3, 6) && read_heads(n, &m.q_num_heads, &m.kv_num_heads) &&
         glow_onnx_float(n, "scale", &m.scale) &&
         glow_onnx_enum(n, &glow_enum_update_rule, "update_rule", &m.update_rule) &&
         glow_onnx_finish(n, GLOW_OP_LINEAR_ATTENTION, n->ins, n->nins, &m, NULL, 0);
}
