/* QuantizeLinear and DequantizeLinear of all operator sets.
 *
 * Our operators divide in the kind of the scale, and dequantize to that kind. So a Cast of the
 * scale stands for `precision` and for scales of kinds that nothing is computed in (i32,
 * float8e8m0). A Cast of the result stands for an `output_dtype` of DequantizeLinear that is not
 * the scale's kind. */
#include <float.h>
#include <math.h>

#include "import/onnx/hooks.h"
#include "import/onnx/importer.h"

static bool is_compute_kind(GlowKind k) {
  return k == GLOW_KIND_FLOAT || k == GLOW_KIND_FLOAT16 || k == GLOW_KIND_BFLOAT16;
}

void glow_onnx_check_scale(GlowOnnxNode *n, uint32_t i, bool divides) {
  const GlowValue *v = i < n->nins ? n->ins[i] : NULL;
  const GlowTensor *t = v && v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls == GLOW_CONSTANT
                            ? v->def.storage->init.tensor
                            : NULL;
  if (!t || !is_compute_kind(t->type->kind))
    return;
  for (int64_t k = 0; k < glow_tensor_elements(t); k++) {
    const double scale = glow_tensor_get_double(t, k);
    if (divides ? scale >= FLT_MIN && scale <= FLT_MAX : isfinite(scale))
      continue;
    glow_warning(n->im->ctx, n->loc, "%s: the scale '%s' is %.9g, which is %s", n->op, v->name,
                 scale, divides ? "no positive, normal float" : "not finite");
    return;
  }
}

/* Reads an attribute that is an element kind, or 0, which leaves *kind as it is. */
static bool optional_kind(GlowOnnxNode *n, const char *name, GlowKind *kind) {
  int64_t number = 0;
  if (!glow_onnx_int(n, name, &number))
    return false;
  return number == 0 || glow_onnx_kind(n, name, kind);
}

/* Reads axis and block size, and copies the operands to ins. */
static bool read_operands(GlowOnnxNode *n, int64_t *axis, int64_t *block, GlowValue **ins) {
  if (!glow_onnx_check_ins(n, 2, 3) || !glow_onnx_int(n, "axis", axis) ||
      !glow_onnx_int(n, "block_size", block))
    return false;
  for (uint32_t i = 0; i < n->nins; i++) {
    if (n->ins[i] && !glow_type_is_tensor(n->ins[i]->type))
      return glow_onnx_fail(n, "operands must be tensors");
    ins[i] = n->ins[i];
  }
  return true;
}

bool glow_onnx_quantize_linear(GlowOnnxNode *n) {
  GlowQuantizeLinearMembers m = {.axis = 1, .kind = GLOW_KIND_U8, .saturate = true};
  GlowValue *ins[3] = {NULL};
  if (!read_operands(n, &m.axis, &m.block, ins) || !glow_onnx_bool(n, "saturate", &m.saturate))
    return false;
  glow_onnx_check_scale(n, 1, true);
  GlowKind scale = ins[1]->type->kind, zero = ins[2] ? ins[2]->type->kind : GLOW_KIND_U8;
  GlowKind precision = is_compute_kind(scale) ? scale : GLOW_KIND_FLOAT;
  m.kind = zero;
  if (!optional_kind(n, "precision", &precision) || !optional_kind(n, "output_dtype", &m.kind))
    return false;
  if (!is_compute_kind(precision))
    return glow_onnx_unsupported(n, "attribute 'precision': %s", glow_kind_info[precision].name);
  if (ins[2] && m.kind != zero)
    return glow_onnx_fail(n, "output_dtype is %s, but the zero point %s",
                          glow_kind_info[m.kind].name, glow_kind_info[zero].name);
  ins[1] = glow_onnx_cast_to(n, ins[1], precision);
  return ins[1] && glow_onnx_finish(n, GLOW_OP_QUANTIZE_LINEAR, ins, 3, &m, NULL, 0);
}

bool glow_onnx_dequantize_linear(GlowOnnxNode *n) {
  GlowDequantizeLinearMembers m = {.axis = 1};
  GlowValue *ins[3] = {NULL};
  if (!read_operands(n, &m.axis, &m.block, ins))
    return false;
  glow_onnx_check_scale(n, 1, false);
  GlowKind kind = ins[1]->type->kind;
  if (!optional_kind(n, "output_dtype", &kind))
    return false;
  if (kind == ins[1]->type->kind)
    return glow_onnx_finish(n, GLOW_OP_DEQUANTIZE_LINEAR, ins, 3, &m, NULL, 0);
  ins[1] = glow_onnx_cast_to(n, ins[1], GLOW_KIND_FLOAT);
  if (!ins[1])
    return false;
  if (kind == GLOW_KIND_FLOAT)
    return glow_onnx_finish(n, GLOW_OP_DEQUANTIZE_LINEAR, ins, 3, &m, NULL, 0);
  return glow_onnx_finish1(n, GLOW_OP_CAST,
                           glow_onnx_emit(n, GLOW_OP_DEQUANTIZE_LINEAR, ins, 3, &m),
                           &(GlowCastMembers){.to = kind});
}

/* Operands 1, 4 and 6 are the scales of both operands and of the result. */
bool glow_onnx_qlinear_mat_mul(GlowOnnxNode *n) {
  if (!glow_onnx_check_ins(n, 8, 8))
    return false;
  glow_onnx_check_scale(n, 1, false);
  glow_onnx_check_scale(n, 4, false);
  glow_onnx_check_scale(n, 6, true);
  return glow_onnx_finish(n, GLOW_OP_QLINEAR_MAT_MUL, n->ins, 8, NULL, NULL, 0);
}
