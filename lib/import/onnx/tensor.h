/* TensorProto: what it is, where its bytes are, and decoding them. */
#ifndef GLOW_IMPORT_ONNX_TENSOR_H
#define GLOW_IMPORT_ONNX_TENSOR_H

#include "import/onnx/proto.h"
#include "support/diag.h"
#include "tensor/blob.h"

typedef enum GlowOnnxData {
  GLOW_ONNX_DATA_RAW,      /* raw_data: little-endian, as tensors are in memory */
  GLOW_ONNX_DATA_TYPED,    /* float_data and its companions */
  GLOW_ONNX_DATA_EXTERNAL, /* in another file */
} GlowOnnxData;

typedef struct GlowOnnxTensorInfo {
  GlowOnnxTensor proto;
  const GlowType *type; /* exact */
  size_t bytes;         /* of data in memory; strings: of the array of GlowString */
  GlowOnnxData where;
  const void *raw; /* RAW: the bytes in the file */
} GlowOnnxTensorInfo;

/* Reads and checks a TensorProto: type, extents, amount of data. `what` names it in messages
 * ("initializer 'w'"). External data are not looked at. Returns false after a diagnostic. */
bool glow_onnx_tensor_info(const GlowWireFile *f, GlowWireSpan span, GlowLoc loc, const char *what,
                           GlowOnnxTensorInfo *info);

/* Writes the data of a RAW or TYPED tensor, info->bytes bytes; not for strings. */
void glow_onnx_tensor_decode(const GlowWireFile *f, const GlowOnnxTensorInfo *info, void *to);

/* A tensor with its data in the arena; not for EXTERNAL. Never freed by itself. */
const GlowTensor *glow_onnx_tensor_in_arena(const GlowWireFile *f, const GlowOnnxTensorInfo *info,
                                            GlowArena *arena);

/* Finds and maps the external data of a tensor of the model at `path`. Its location is relative to
 * the model's folder and must not leave it; it must be a regular file that holds all of the data.
 * The mapping belongs to the context. NULL after a diagnostic. */
const void *glow_onnx_external_data(const GlowWireFile *f, const GlowOnnxTensorInfo *info,
                                    const char *path, GlowLoc loc, const char *what);

#endif
