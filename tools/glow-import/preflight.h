/* glow-import --preflight: what a model asks for and how much of it is supported. */
#ifndef GLOW_TOOLS_GLOW_IMPORT_PREFLIGHT_H
#define GLOW_TOOLS_GLOW_IMPORT_PREFLIGHT_H

#include "import/onnx/onnx.h"

/* Writes the report on the model in `in` to `path` (NULL: stdout). OK if every node can be read;
 * BAD_INPUT, with the whole report written, if some cannot, or after diagnostics for a malformed
 * model. */
GlowStatus glow_import_preflight(GlowContext *ctx, const GlowInput *in, const GlowOnnxOptions *o,
                                 const char *path, bool json);

#endif
