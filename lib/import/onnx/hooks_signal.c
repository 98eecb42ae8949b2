/* Transforms, windows and filter banks. */
#include <string.h>

#include "import/onnx/hooks.h"
#include "import/onnx/importer.h"

/* DFT: the axis became an operand in operator set 20. */
bool glow_onnx_dft(GlowOnnxNode *n) {
  bool operand = n->version >= 20;
  GlowDFTMembers m = {.axis = operand ? -2 : 1};
  if (!glow_onnx_check_ins(n, 1, operand ? 3 : 2) || !glow_onnx_int(n, "axis", &m.axis) ||
      !glow_onnx_bool(n, "inverse", &m.inverse) || !glow_onnx_bool(n, "onesided", &m.onesided))
    return false;
  if (operand && n->nins > 2) {
    const GlowTensor *axis = glow_value_known(n->ins[2]);
    if (!axis || glow_tensor_elements(axis) != 1)
      return glow_onnx_unsupported(n, "an axis that is not constant");
    m.axis = glow_tensor_get_int(axis, 0);
  }
  return glow_onnx_finish(n, GLOW_OP_DFT, n->ins, n->nins < 2 ? n->nins : 2, &m, NULL, 0);
}

bool glow_onnx_cosine_window(GlowOnnxNode *n) {
  GlowCosineWindowMembers m = {.kind = GLOW_KIND_FLOAT, .periodic = true};
  m.shape = strcmp(n->op, "HannWindow") == 0      ? GLOW_WINDOW_SHAPE_HANN
            : strcmp(n->op, "HammingWindow") == 0 ? GLOW_WINDOW_SHAPE_HAMMING
                                                  : GLOW_WINDOW_SHAPE_BLACKMAN;
  return glow_onnx_check_ins(n, 1, 1) && glow_onnx_bool(n, "periodic", &m.periodic) &&
         glow_onnx_kind(n, "output_datatype", &m.kind) &&
         glow_onnx_finish1(n, GLOW_OP_COSINE_WINDOW, n->ins[0], &m);
}
