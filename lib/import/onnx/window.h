/* The attributes of operators that slide a window, which convolutions and pools share. */
#ifndef GLOW_IMPORT_ONNX_WINDOW_H
#define GLOW_IMPORT_ONNX_WINDOW_H

#include "import/onnx/importer.h"
#include "ops/listed.h"

typedef struct GlowOnnxWindow {
  GlowArray kernel, strides, pads, dilations; /* uint32_t, empty: default */
  bool takes_pad;       /* set before: the operator's operand 0 may be padded by glow_onnx_padded */
  GlowValue *open_pads; /* the padding, if it depends on open extents; `pads` is empty then */
} GlowOnnxWindow;

/* strides, pads, dilations and auto_pad of a window over n's operand 0, whose type is x; w->kernel
 * is set before. False after a diagnostic. */
bool glow_onnx_read_window(GlowOnnxNode *n, const GlowType *x, GlowOnnxWindow *w);
/* x [batch, channels, ...] with w->open_pads elements added, of the value `fill` (NULL: 0); x
 * itself if there are none. NULL after a diagnostic. */
GlowValue *glow_onnx_padded(GlowOnnxNode *n, const GlowOnnxWindow *w, GlowValue *x,
                            GlowValue *fill);

#endif
