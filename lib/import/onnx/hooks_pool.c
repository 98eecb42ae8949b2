/* Pools. */
#include <math.h>

#include "import/onnx/hooks.h"
#include "import/onnx/window.h"

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

/* The lowest value of x's element kind. */
static GlowValue *smallest(GlowOnnxNode *n, const GlowType *x) {
  const GlowKindInfo *kind = &glow_kind_info[x->kind];
  double value = glow_kind_is_float(x->kind)    ? -INFINITY
                 : kind->cls == GLOW_CLASS_UINT ? 0
                                                : -ldexp(1, (int)kind->bits - 1);
  return glow_onnx_make_scalar(n, "smallest", x->kind, value);
}

bool glow_onnx_max_pool(GlowOnnxNode *n) {
  GlowOnnxWindow w = {.takes_pad = true};
  GlowMaxPoolMembers m = {.layout = GLOW_LAYOUT_NCHW};
  if (!pool_window(n, &w, &m.ceil) || !glow_onnx_bool(n, "storage_order", &m.column_major))
    return false;
  m.kernels = w.kernel;
  m.strides = w.strides;
  m.pads = w.pads;
  m.dilations = w.dilations;
  GlowValue *x = n->ins[0];
  if (w.open_pads && n->nouts > 1 && n->outs[1])
    return glow_onnx_unsupported(n, "Indices and auto_pad with open dimensions; -bind them");
  if (w.open_pads)
    x = glow_onnx_padded(n, &w, x, smallest(n, x->type));
  return x && glow_onnx_finish(n, GLOW_OP_MAX_POOL, &x, 1, &m, NULL, 0);
}

/* The share of each window that lies in x, as a mean over ones: [1, 1, extents of the result]. */
static GlowValue *covered(GlowOnnxNode *n, const GlowOnnxWindow *w,
                          const GlowAveragePoolMembers *m) {
  GlowValue *x = n->ins[0];
  GlowValue *extents =
      glow_onnx_emit1(n, GLOW_OP_SHAPE, x, &(GlowShapeMembers){.start = 2, .end = INT64_MAX});
  GlowValue *front = glow_onnx_make_ints(n, "front", (int64_t[]){1, 1}, 2);
  GlowValue *shape = extents ? glow_onnx_emit2(n, GLOW_OP_CONCAT, front, extents, NULL) : NULL;
  GlowConstantOfShapeMembers one = {.value = {.is_int = true, .i = 1, .f = 1},
                                    .kind = x->type->kind};
  GlowValue *ones = shape ? glow_onnx_emit1(n, GLOW_OP_CONSTANT_OF_SHAPE, shape, &one) : NULL;
  GlowValue *padded = ones ? glow_onnx_padded(n, w, ones, NULL) : NULL;
  return padded ? glow_onnx_emit1(n, GLOW_OP_AVERAGE_POOL, padded, m) : NULL;
}

/* A mean where the padding is known only when the model runs. Padding that does not count is taken
 * out: the mean is divided by the share of the window that lies in x. */
static bool average_over_open_pads(GlowOnnxNode *n, const GlowOnnxWindow *w,
                                   GlowAveragePoolMembers *m) {
  bool counts = m->count_include_pad;
  m->count_include_pad = true;
  GlowValue *x = glow_onnx_padded(n, w, n->ins[0], NULL);
  if (counts)
    return x && glow_onnx_finish1(n, GLOW_OP_AVERAGE_POOL, x, m);
  GlowValue *mean = x ? glow_onnx_emit1(n, GLOW_OP_AVERAGE_POOL, x, m) : NULL;
  GlowValue *part = mean ? covered(n, w, m) : NULL;
  return part && glow_onnx_finish2(n, GLOW_OP_DIV, mean, part, NULL);
}

bool glow_onnx_average_pool(GlowOnnxNode *n) {
  GlowOnnxWindow w = {.takes_pad = true};
  GlowAveragePoolMembers m = {.layout = GLOW_LAYOUT_NCHW};
  if (!pool_window(n, &w, &m.ceil) || !glow_onnx_bool(n, "count_include_pad", &m.count_include_pad))
    return false;
  m.kernels = w.kernel;
  m.strides = w.strides;
  m.pads = w.pads;
  m.dilations = w.dilations;
  if (w.open_pads)
    return average_over_open_pads(n, &w, &m);
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
  GlowOnnxWindow w = {.takes_pad = true};
  GlowLpPoolMembers m = {.layout = GLOW_LAYOUT_NCHW, .p = 2};
  if (!pool_window(n, &w, &m.ceil) || !read_norm(n, &m.p))
    return false;
  m.kernels = w.kernel;
  m.strides = w.strides;
  m.pads = w.pads;
  m.dilations = w.dilations;
  GlowValue *x = glow_onnx_padded(n, &w, n->ins[0], NULL);
  return x && glow_onnx_finish1(n, GLOW_OP_LP_POOL, x, &m);
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
