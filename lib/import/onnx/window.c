/* The attributes of windows.
 *
 * auto_pad = SAME_* pads so that there are ceil(extent / stride) windows. With a stride above 1 the
 * padding depends on the extent. If the extent is open, the padding is computed by arithmetic on
 * integers, and a Pad stands in front of the operator. Once the extent is known, constant folding
 * makes the amounts constants and -merge-pad puts them into the operator. */
#include "import/onnx/window.h"

#include <string.h>

/* ---- Padding of known extents ---------------------------------------------------------------- */

/* How far a window reaches along spatial axis i. */
static int64_t reach(const GlowOnnxWindow *w, uint32_t i) {
  int64_t dilation = glow_listed(w->dilations, i, 1);
  return (glow_listed(w->kernel, i, 1) - (int64_t)1) * dilation + 1;
}

/* The padding along spatial axis i for an extent of whole strides and `remainder` elements, 1 <=
 * remainder <= stride. With auto_pad each stride that begins in the extent has a window; this is
 * ONNX's formula with the whole strides taken out. */
static int64_t total_padding(const GlowOnnxWindow *w, uint32_t i, int64_t remainder) {
  int64_t total = reach(w, i) - remainder;
  return total > 0 ? total : 0;
}

/* The elements behind the last whole stride of an extent over 0: 1 to the stride. */
static int64_t remainder_of(int64_t extent, int64_t stride) { return (extent - 1) % stride + 1; }

/* Pads for auto_pad = SAME_*, the odd element behind or before. Axes whose padding depends on an
 * open extent are noted in *open. */
static bool same_pads(GlowOnnxNode *n, const GlowType *x, bool lower, GlowOnnxWindow *w,
                      bool *open) {
  uint32_t pads[2 * GLOW_MAX_RANK], spatial = w->kernel.count;
  if (x->unranked || x->rank != spatial + 2)
    return glow_onnx_unsupported(n, "auto_pad for an operand of unknown or other rank");
  for (uint32_t i = 0; i < spatial; i++) {
    GlowDim d = x->dims[i + 2];
    int64_t stride = glow_listed(w->strides, i, 1), total;
    if (stride < 1)
      return glow_onnx_fail(n, "a stride is 0");
    bool known = d.kind == GLOW_DIM_EXACT;
    *open |= !known && stride > 1 && reach(w, i) > 1;
    total =
        known && d.size == 0 ? 0 : total_padding(w, i, known ? remainder_of(d.size, stride) : 1);
    if (total > INT32_MAX)
      return glow_onnx_fail(n, "the padding is too large");
    pads[i] = (uint32_t)(lower ? total - total / 2 : total / 2);
    pads[i + spatial] = (uint32_t)total - pads[i];
  }
  w->pads = glow_array_u32(n->im->m, pads, 2 * spatial);
  return true;
}

/* ---- Padding of open extents ----------------------------------------------------------------- */

/* An element-wise node on lists of integers; NULL if an operand is. */
static GlowValue *compute(GlowOnnxNode *n, GlowOp op, GlowValue *a, GlowValue *b) {
  return a && b ? glow_onnx_emit2(n, op, a, b, NULL) : NULL;
}

/* same_pads as nodes: i64<2 * spatial>, begins, then ends. NULL after a diagnostic. */
static GlowValue *open_pads(GlowOnnxNode *n, GlowValue *x, bool lower, const GlowOnnxWindow *w) {
  int64_t strides[GLOW_MAX_RANK], reaches[GLOW_MAX_RANK], one = 1, two = 2, none = 0;
  uint32_t spatial = w->kernel.count;
  for (uint32_t i = 0; i < spatial; i++) {
    strides[i] = glow_listed(w->strides, i, 1);
    reaches[i] = reach(w, i);
  }
  GlowValue *ones = glow_onnx_make_ints(n, "one", &one, 1);
  GlowValue *extents =
      glow_onnx_emit1(n, GLOW_OP_SHAPE, x, &(GlowShapeMembers){.start = 2, .end = INT64_MAX});
  GlowValue *rest = compute(n, GLOW_OP_MOD, compute(n, GLOW_OP_SUB, extents, ones),
                            glow_onnx_make_ints(n, "strides", strides, spatial));
  GlowValue *most = compute(n, GLOW_OP_SUB, glow_onnx_make_ints(n, "reach", reaches, spatial),
                            compute(n, GLOW_OP_ADD, rest, ones));
  GlowValue *total = compute(n, GLOW_OP_MAX, most, glow_onnx_make_ints(n, "none", &none, 1));
  GlowValue *half = compute(n, GLOW_OP_DIV, total, glow_onnx_make_ints(n, "two", &two, 1));
  GlowValue *other = compute(n, GLOW_OP_SUB, total, half);
  return compute(n, GLOW_OP_CONCAT, lower ? other : half, lower ? half : other);
}

GlowValue *glow_onnx_padded(GlowOnnxNode *n, const GlowOnnxWindow *w, GlowValue *x,
                            GlowValue *fill) {
  int64_t axes[GLOW_MAX_RANK];
  if (!w->open_pads)
    return x;
  for (uint32_t i = 0; i < w->kernel.count; i++)
    axes[i] = i + 2;
  GlowValue *ins[] = {x, w->open_pads, fill, glow_onnx_make_ints(n, "axes", axes, w->kernel.count)};
  return glow_onnx_emit(n, GLOW_OP_PAD, ins, 4, NULL);
}

/* ---- Attributes ------------------------------------------------------------------------------ */

bool glow_onnx_read_window(GlowOnnxNode *n, const GlowType *x, GlowOnnxWindow *w) {
  GlowStr mode = NULL;
  bool open = false;
  if (!glow_onnx_u32s(n, "strides", &w->strides) ||
      !glow_onnx_u32s(n, "dilations", &w->dilations) || !glow_onnx_string(n, "auto_pad", &mode))
    return false;
  if (!mode || !*mode || strcmp(mode, "NOTSET") == 0)
    return glow_onnx_u32s(n, "pads", &w->pads);
  glow_onnx_ignore(n, "pads");
  if (strcmp(mode, "VALID") == 0)
    return true;
  bool lower = strcmp(mode, "SAME_LOWER") == 0;
  if (!lower && strcmp(mode, "SAME_UPPER") != 0)
    return glow_onnx_fail(n, "attribute 'auto_pad' is '%s'", mode);
  if (!same_pads(n, x, lower, w, &open))
    return false;
  if (!open)
    return true;
  if (!w->takes_pad)
    return glow_onnx_unsupported(n, "auto_pad with open dimensions; -bind or -bind-input them");
  w->pads = (GlowArray){0};
  w->open_pads = open_pads(n, n->ins[0], lower, w);
  return w->open_pads != NULL;
}
