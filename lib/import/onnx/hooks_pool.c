/* Pools, and the attributes of windows. */
#include "import/onnx/window.h"

#include <string.h>

#include "import/onnx/hooks.h"

/* ---- Windows -------------------------------------------------------------------------------- */

/* Pads for auto_pad = SAME_*: ceil(extent / stride) results, the odd element behind or before. */
static bool same_pads(GlowOnnxNode *n, const GlowType *x, bool lower, GlowOnnxWindow *w) {
  uint32_t pads[2 * GLOW_MAX_RANK], spatial = w->kernel.count;
  if (x->unranked || x->rank != spatial + 2)
    return glow_onnx_unsupported(n, "auto_pad for an operand of unknown or other rank");
  for (uint32_t i = 0; i < spatial; ++i) {
    GlowDim d = x->dims[i + 2];
    int64_t stride = glow_onnx_entry(w->strides, i, 1),
            dilation = glow_onnx_entry(w->dilations, i, 1);
    if (d.kind != GLOW_DIM_EXACT)
      return glow_onnx_unsupported(n, "auto_pad with open dimensions; -bind or -bind-input them");
    if (stride < 1)
      return glow_onnx_fail(n, "a stride is 0");
    int64_t window = (glow_onnx_entry(w->kernel, i, 1) - (int64_t)1) * dilation + 1;
    int64_t outs = (d.size + stride - 1) / stride;
    int64_t total = (outs - 1) * stride + window - d.size;
    total = total < 0 || outs == 0 ? 0 : total;
    if (total > INT32_MAX)
      return glow_onnx_fail(n, "the padding is too large");
    pads[i] = (uint32_t)(lower ? total - total / 2 : total / 2);
    pads[i + spatial] = (uint32_t)total - pads[i];
  }
  w->pads = glow_array_u32(n->im->m, pads, 2 * spatial);
  return true;
}

bool glow_onnx_read_window(GlowOnnxNode *n, const GlowType *x, GlowOnnxWindow *w) {
  GlowStr mode = NULL;
  if (!glow_onnx_u32s(n, "strides", &w->strides) ||
      !glow_onnx_u32s(n, "dilations", &w->dilations) || !glow_onnx_string(n, "auto_pad", &mode))
    return false;
  if (!mode || !*mode || strcmp(mode, "NOTSET") == 0)
    return glow_onnx_u32s(n, "pads", &w->pads);
  glow_onnx_ignore(n, "pads");
  if (strcmp(mode, "VALID") == 0)
    return true;
  if (strcmp(mode, "SAME_UPPER") == 0 || strcmp(mode, "SAME_LOWER") == 0)
    return same_pads(n, x, strcmp(mode, "SAME_LOWER") == 0, w);
  return glow_onnx_fail(n, "attribute 'auto_pad' is '%s'", mode);
}

/* ---- Pooling -------------------------------------------------------------------------------- */

static bool pool_window(GlowOnnxNode *n, GlowOnnxWindow *w, bool *ceil) {
  if (!glow_onnx_check_ins(n, 1, 1))
    return false;
  if (!glow_type_is_tensor(n->ins[0]->type))
    return glow_onnx_fail(n, "operand 0 must be a tensor");
  if (!glow_onnx_has(n, "kernel_shape"))
    return glow_onnx_fail(n, "attribute 'kernel_shape' is missing");
  return glow_onnx_u32s(n, "kernel_shape", &w->kernel) &&
         glow_onnx_read_window(n, n->ins[0]->type, w) && glow_onnx_bool(n, "ceil_mode", ceil);
}

bool glow_onnx_max_pool(GlowOnnxNode *n) {
  GlowOnnxWindow w = {0};
  GlowMaxPoolMembers m = {.layout = GLOW_LAYOUT_NCHW};
  if (!pool_window(n, &w, &m.ceil) || !glow_onnx_bool(n, "storage_order", &m.column_major))
    return false;
  m.kernels = w.kernel;
  m.strides = w.strides;
  m.pads = w.pads;
  m.dilations = w.dilations;
  return glow_onnx_finish(n, GLOW_OP_MAX_POOL, n->ins, 1, &m, NULL, 0);
}

bool glow_onnx_average_pool(GlowOnnxNode *n) {
  GlowOnnxWindow w = {0};
  GlowAveragePoolMembers m = {.layout = GLOW_LAYOUT_NCHW};
  if (!pool_window(n, &w, &m.ceil) || !glow_onnx_bool(n, "count_include_pad", &m.count_include_pad))
    return false;
  m.kernels = w.kernel;
  m.strides = w.strides;
  m.pads = w.pads;
  m.dilations = w.dilations;
  return glow_onnx_finish(n, GLOW_OP_AVERAGE_POOL, n->ins, 1, &m, NULL, 0);
}

/* p: a float in version 1, an integer later. */
static bool read_norm(GlowOnnxNode *n, float *p) {
  int64_t whole = 2;
  if (n->version == 1)
    return glow_onnx_float(n, "p", p);
  if (!glow_onnx_int(n, "p", &whole))
    return false;
  *p = (float)whole;
  return true;
}

bool glow_onnx_lp_pool(GlowOnnxNode *n) {
  GlowOnnxWindow w = {0};
  GlowLpPoolMembers m = {.layout = GLOW_LAYOUT_NCHW, .p = 2};
  if (!pool_window(n, &w, &m.ceil) || !read_norm(n, &m.p))
    return false;
  m.kernels = w.kernel;
  m.strides = w.strides;
  m.pads = w.pads;
  m.dilations = w.dilations;
  return glow_onnx_finish(n, GLOW_OP_LP_POOL, n->ins, 1, &m, NULL, 0);
}

bool glow_onnx_global_lp_pool(GlowOnnxNode *n) {
  GlowGlobalLpPoolMembers m = {.layout = GLOW_LAYOUT_NCHW, .p = 2};
  if (!glow_onnx_check_ins(n, 1, 1) || !read_norm(n, &m.p))
    return false;
  return glow_onnx_finish1(n, GLOW_OP_GLOBAL_LP_POOL, n->ins[0], &m);
}

bool glow_onnx_max_unpool(GlowOnnxNode *n) {
  GlowMaxUnpoolMembers m = {0};
  if (!glow_onnx_check_ins(n, 2, 3))
    return false;
  if (!glow_onnx_has(n, "kernel_shape"))
    return glow_onnx_fail(n, "attribute 'kernel_shape' is missing");
  if (!glow_onnx_u32s(n, "kernel_shape", &m.kernels) || !glow_onnx_u32s(n, "strides", &m.strides) ||
      !glow_onnx_u32s(n, "pads", &m.pads))
    return false;
  return glow_onnx_finish(n, GLOW_OP_MAX_UNPOOL, n->ins, n->nins, &m, NULL, 0);
}
