/* Convolutions and matrix products. */
#include <string.h>

#include "import/onnx/hooks.h"
#include "import/onnx/importer.h"
#include "import/onnx/window.h"

static bool is_ranked(const GlowValue *v) {
  return glow_type_is_tensor(v->type) && !v->type->unranked;
}

/* ---- Convolution --------------------------------------------------------------------------- */

/* The kernel's extents: W's, which kernel_shape must repeat if it is given. */
static bool conv_kernel(GlowOnnxNode *n, const GlowType *w, GlowArray *kernel) {
  if (!glow_onnx_u32s(n, "kernel_shape", kernel) || w->unranked)
    return glow_onnx_has(n, "kernel_shape") || glow_onnx_fail(n, "the filter has no rank");
  if (w->rank < 2 || (kernel->count && kernel->count != w->rank - 2))
    return glow_onnx_fail(n, "the filter is %s, but kernel_shape has %u extents",
                          glow_type_str(n->im->ctx, w), kernel->count);
  uint32_t extents[GLOW_MAX_RANK] = {0};
  for (uint32_t i = 0; i + 2 < w->rank; i++) {
    GlowDim d = w->dims[i + 2];
    bool exact = d.kind == GLOW_DIM_EXACT && d.size <= INT32_MAX;
    if (exact && kernel->count && glow_array_at(*kernel, uint32_t, i) != d.size)
      return glow_onnx_fail(n, "the filter is %s, but kernel_shape has %u",
                            glow_type_str(n->im->ctx, w), glow_array_at(*kernel, uint32_t, i));
    extents[i] = exact ? (uint32_t)d.size : glow_listed(*kernel, i, 1);
  }
  *kernel = glow_array_u32(n->im->m, extents, w->rank - 2);
  return true;
}

static bool read_groups(GlowOnnxNode *n, const char *name, uint32_t *group) {
  int64_t count = 1;
  if (!glow_onnx_int(n, name, &count))
    return false;
  if (count < 1 || count > INT32_MAX)
    return glow_onnx_fail(n, "attribute '%s' is %lld", name, (long long)count);
  *group = (uint32_t)count;
  return true;
}

/* The attributes of a convolution of x with the filter w. */
static bool conv_window(GlowOnnxNode *n, const GlowType *x, const GlowType *w,
                        GlowOnnxWindow *window, uint32_t *group) {
  if (!glow_type_is_tensor(x) || !glow_type_is_tensor(w))
    return glow_onnx_fail(n, "operands must be tensors");
  return read_groups(n, "group", group) && conv_kernel(n, w, &window->kernel) &&
         glow_onnx_read_window(n, x, window);
}

bool glow_onnx_conv(GlowOnnxNode *n) {
  GlowOnnxWindow w = {.takes_pad = true};
  GlowConvolutionMembers m = {.layout = GLOW_LAYOUT_NCHW, .strategy = GLOW_CONV_STRATEGY_DIRECT};
  if (!glow_onnx_check_ins(n, 2, 3) ||
      !conv_window(n, n->ins[0]->type, n->ins[1]->type, &w, &m.group))
    return false;
  m.strides = w.strides;
  m.pads = w.pads;
  m.dilations = w.dilations;
  n->ins[0] = glow_onnx_padded(n, &w, n->ins[0], NULL);
  return n->ins[0] && glow_onnx_finish(n, GLOW_OP_CONVOLUTION, n->ins, n->nins, &m, NULL, 0);
}

bool glow_onnx_conv_integer(GlowOnnxNode *n) {
  GlowOnnxWindow w = {.takes_pad = true};
  GlowConvIntegerMembers m = {0};
  if (!glow_onnx_check_ins(n, 2, 4) ||
      !conv_window(n, n->ins[0]->type, n->ins[1]->type, &w, &m.group))
    return false;
  m.strides = w.strides;
  m.pads = w.pads;
  m.dilations = w.dilations;
  n->ins[0] = glow_onnx_padded(n, &w, n->ins[0], n->nins > 2 ? n->ins[2] : NULL);
  return n->ins[0] && glow_onnx_finish(n, GLOW_OP_CONV_INTEGER, n->ins, n->nins, &m, NULL, 0);
}

bool glow_onnx_qlinear_conv(GlowOnnxNode *n) {
  GlowOnnxWindow w = {.takes_pad = true};
  GlowQLinearConvMembers m = {0};
  if (!glow_onnx_check_ins(n, 8, 9) ||
      !conv_window(n, n->ins[0]->type, n->ins[3]->type, &w, &m.group))
    return false;
  m.strides = w.strides;
  m.pads = w.pads;
  m.dilations = w.dilations;
  glow_onnx_check_scale(n, 1, false);
  glow_onnx_check_scale(n, 4, false);
  glow_onnx_check_scale(n, 6, true);
  n->ins[0] = glow_onnx_padded(n, &w, n->ins[0], n->ins[2]);
  return n->ins[0] && glow_onnx_finish(n, GLOW_OP_QLINEAR_CONV, n->ins, n->nins, &m, NULL, 0);
}

bool glow_onnx_deform_conv(GlowOnnxNode *n) {
  GlowOnnxWindow w = {0};
  GlowDeformConvMembers m = {0};
  if (!glow_onnx_check_ins(n, 3, 5) ||
      !conv_window(n, n->ins[0]->type, n->ins[1]->type, &w, &m.group) ||
      !read_groups(n, "offset_group", &m.offset_group))
    return false;
  m.strides = w.strides;
  m.pads = w.pads;
  m.dilations = w.dilations;
  return glow_onnx_finish(n, GLOW_OP_DEFORM_CONV, n->ins, n->nins, &m, NULL, 0);
}

/* ---- Transposed convolution ----------------------------------------------------------------- */

/* Splits `total` elements of padding along axis i: the odd one goes behind (`upper`) or before. A
 * negative total is output padding instead. */
static bool split_padding(GlowOnnxNode *n, uint32_t i, uint32_t spatial, double total, bool upper,
                          uint32_t *pads, uint32_t *extra) {
  if (total > INT32_MAX || total < -(double)INT32_MAX)
    return glow_onnx_fail(n, "the padding along spatial axis %u is too large", i);
  pads[i] = pads[i + spatial] = 0;
  if (total < 0) {
    extra[i] -= (uint32_t)(int64_t)total;
    return true;
  }
  uint32_t half = (uint32_t)total / 2;
  pads[i] = upper ? half : (uint32_t)total - half;
  pads[i + spatial] = (uint32_t)total - pads[i];
  return true;
}

/* Sets pads and output_padding: from output_shape, which may have extents for batch and channels in
 * front, or from auto_pad, where every extent grows by its stride. */
static bool fit_transposed(GlowOnnxNode *n, GlowOnnxWindow *w, GlowArray shape, bool upper,
                           GlowArray *output_padding) {
  const GlowType *x = n->ins[0]->type;
  uint32_t spatial = w->kernel.count, pads[2 * GLOW_MAX_RANK], extra[GLOW_MAX_RANK];
  if (x->unranked || x->rank != spatial + 2)
    return glow_onnx_unsupported(n, "output_shape or auto_pad for an operand of unknown rank");
  if (shape.count && shape.count != spatial && shape.count != spatial + 2)
    return glow_onnx_fail(n, "attribute 'output_shape' has %u extents, expected %u", shape.count,
                          spatial);
  for (uint32_t i = 0; i < spatial; i++) {
    double stride = glow_listed(w->strides, i, 1), grown = stride;
    double window =
        ((double)glow_listed(w->kernel, i, 1) - 1) * (double)glow_listed(w->dilations, i, 1) + 1;
    extra[i] = glow_listed(*output_padding, i, 0);
    if (shape.count) { /* how far the result goes beyond (in - 1) * stride */
      int64_t want = glow_array_at(shape, int64_t, shape.count - spatial + i);
      if (x->dims[i + 2].kind != GLOW_DIM_EXACT || x->dims[i + 2].size > INT32_MAX)
        return glow_onnx_unsupported(n, "output_shape with open dimensions; -bind them");
      if (want < 0)
        return glow_onnx_fail(n, "the padding along spatial axis %u is too large", i);
      grown = (double)want - ((double)x->dims[i + 2].size - 1) * stride;
    }
    if (!split_padding(n, i, spatial, window + (double)extra[i] - grown, upper, pads, extra))
      return false;
  }
  w->pads = glow_array_u32(n->im->m, pads, 2 * spatial);
  *output_padding = glow_array_u32(n->im->m, extra, spatial);
  return true;
}

bool glow_onnx_conv_transpose(GlowOnnxNode *n) {
  GlowOnnxWindow w = {0};
  GlowArray shape = {0};
  GlowStr mode = NULL;
  GlowConvTransposeMembers m = {.layout = GLOW_LAYOUT_NCHW};
  if (!glow_onnx_check_ins(n, 2, 3) || !read_groups(n, "group", &m.group) ||
      !glow_type_is_tensor(n->ins[0]->type) || !glow_type_is_tensor(n->ins[1]->type) ||
      !conv_kernel(n, n->ins[1]->type, &w.kernel) || !glow_onnx_u32s(n, "strides", &w.strides) ||
      !glow_onnx_u32s(n, "dilations", &w.dilations) ||
      !glow_onnx_u32s(n, "output_padding", &m.output_padding) ||
      !glow_onnx_ints(n, "output_shape", &shape) || !glow_onnx_string(n, "auto_pad", &mode))
    return false;
  mode = mode && *mode ? mode : "NOTSET";
  bool upper = strcmp(mode, "SAME_UPPER") == 0, same = upper || strcmp(mode, "SAME_LOWER") == 0;
  if (!same && strcmp(mode, "NOTSET") != 0 && strcmp(mode, "VALID") != 0)
    return glow_onnx_fail(n, "attribute 'auto_pad' is '%s'", mode);
  if (same || shape.count || strcmp(mode, "VALID") == 0)
    glow_onnx_ignore(n, "pads");
  else if (!glow_onnx_u32s(n, "pads", &w.pads))
    return false;
  if ((same || shape.count) && !fit_transposed(n, &w, shape, upper, &m.output_padding))
    return false;
  m.strides = w.strides;
  m.pads = w.pads;
  m.dilations = w.dilations;
  return glow_onnx_finish(n, GLOW_OP_CONV_TRANSPOSE, n->ins, n->nins, &m, NULL, 0);
}

/* ---- Gemm ----------------------------------------------------------------------------------- */

static GlowValue *transposed(GlowOnnxNode *n, GlowValue *v, bool yes) {
  if (!yes)
    return v;
  GlowTransposeMembers m = {.perm = glow_array_u32(n->im->m, (uint32_t[]){1, 0}, 2)};
  return glow_onnx_emit1(n, GLOW_OP_TRANSPOSE, v, &m);
}

static GlowValue *scaled(GlowOnnxNode *n, const char *tag, GlowValue *v, float factor) {
  if (!v || factor == 1.0f)
    return v;
  return glow_onnx_emit2(n, GLOW_OP_MUL, v,
                         glow_onnx_make_scalar(n, tag, v->type->kind, (double)factor), NULL);
}

/* alpha * A' * B' + beta * C: FullyConnected in the common case, otherwise a node for each part. */
bool glow_onnx_gemm(GlowOnnxNode *n) {
  bool trans_a = false, trans_b = false;
  float alpha = 1, beta = 1;
  if (!glow_onnx_check_ins(n, 2, 3) || !glow_onnx_bool(n, "transA", &trans_a) ||
      !glow_onnx_bool(n, "transB", &trans_b) || !glow_onnx_float(n, "alpha", &alpha) ||
      !glow_onnx_float(n, "beta", &beta))
    return false;
  glow_onnx_ignore(n, "broadcast"); /* before 7 it allowed what is always allowed now */
  GlowValue *c = n->nins > 2 ? n->ins[2] : NULL;
  if (!glow_type_is_tensor(n->ins[0]->type))
    return glow_onnx_fail(n, "operand 0 must be a tensor");
  GlowKind kind = n->ins[0]->type->kind;
  if (!glow_kind_is_float(kind) && (alpha != 1 || (c && beta != 1)))
    return glow_onnx_unsupported(n, "integer operands with alpha or beta");
  GlowValue *a = transposed(n, n->ins[0], trans_a), *b = transposed(n, n->ins[1], trans_b);
  if (!a || !b)
    return false;
  bool plain = alpha == 1 && beta == 1 && glow_kind_is_float(kind);
  if (plain && c && is_ranked(c) && c->type->rank == 1)
    return glow_onnx_finish(n, GLOW_OP_FULLY_CONNECTED, (GlowValue *[]){a, b, c}, 3, NULL, NULL, 0);
  if (alpha == 1 && !c)
    return glow_onnx_finish2(n, GLOW_OP_MAT_MUL, a, b, NULL);
  GlowValue *product = glow_onnx_emit2(n, GLOW_OP_MAT_MUL, a, b, NULL);
  if (!c)
    return product &&
           glow_onnx_finish2(n, GLOW_OP_MUL, product,
                             glow_onnx_make_scalar(n, "alpha", kind, (double)alpha), NULL);
  return glow_onnx_finish2(n, GLOW_OP_ADD, scaled(n, "alpha", product, alpha),
                           scaled(n, "beta", c, beta), NULL);
}
