/* Keys of the tensors of a model, for `resource("model.onnx", "key")`.
 *
 * The key of an initializer is its name, that of a Constant node the name of its result, after the
 * path of the subgraph or function that holds it: "if_node/then_branch/w", "function:f/w". A node
 * without a name counts as OP_N, N its number in its graph. Where two tensors have the same key,
 * the first one has it; the importer then stores the other one with the module. */
#ifndef GLOW_IMPORT_ONNX_INDEX_H
#define GLOW_IMPORT_ONNX_INDEX_H

#include "import/onnx/tensor.h"

GlowStr glow_onnx_node_label(const GlowWireFile *f, const GlowOnnxNodeProto *node, uint32_t index);
GlowStr glow_onnx_subgraph_path(GlowContext *ctx, GlowStr path, GlowStr label, GlowStr attribute);
GlowStr glow_onnx_function_path(GlowContext *ctx, GlowStr domain, GlowStr name);

#endif
