/* The messages of onnx.proto that matter here, as structs that glow_wire_read fills. Fields that
 * carry nothing for us (documentation, metadata, annotations) are skipped. */
#ifndef GLOW_IMPORT_ONNX_PROTO_H
#define GLOW_IMPORT_ONNX_PROTO_H

#include "import/onnx/wire.h"

typedef struct GlowOnnxModel {
  GlowWireInt ir_version;
  GlowWireSpan producer_name, producer_version, graph;
  GlowWireList opset_import, functions, training_info;
} GlowOnnxModel;

/* TrainingInfoProto */
typedef struct GlowOnnxTrainingInfo {
  GlowWireSpan initialization, algorithm; /* graphs */
  GlowWireList initialization_binding, update_binding;
} GlowOnnxTrainingInfo;

typedef struct GlowOnnxOpset {
  GlowWireSpan domain;
  GlowWireInt version;
} GlowOnnxOpset;

typedef struct GlowOnnxGraph {
  GlowWireSpan name;
  GlowWireList nodes, initializers, sparse_initializers, inputs, outputs;
} GlowOnnxGraph;

typedef struct GlowOnnxFunction {
  GlowWireSpan name, domain, overload;
  GlowWireList inputs, outputs, attributes; /* names */
  GlowWireList nodes, opset_import, attribute_defaults;
} GlowOnnxFunction;

typedef struct GlowOnnxNodeProto {
  GlowWireSpan name, op_type, domain, overload;
  GlowWireList inputs, outputs, attributes;
} GlowOnnxNodeProto;

/* AttributeProto.AttributeType */
typedef enum GlowOnnxAttrType {
  GLOW_ONNX_ATTR_UNDEFINED,
  GLOW_ONNX_ATTR_FLOAT,
  GLOW_ONNX_ATTR_INT,
  GLOW_ONNX_ATTR_STRING,
  GLOW_ONNX_ATTR_TENSOR,
  GLOW_ONNX_ATTR_GRAPH,
  GLOW_ONNX_ATTR_FLOATS,
  GLOW_ONNX_ATTR_INTS,
  GLOW_ONNX_ATTR_STRINGS,
  GLOW_ONNX_ATTR_TENSORS,
  GLOW_ONNX_ATTR_GRAPHS,
  GLOW_ONNX_ATTR_SPARSE_TENSOR,
  GLOW_ONNX_ATTR_SPARSE_TENSORS,
  GLOW_ONNX_ATTR_TYPE,
  GLOW_ONNX_ATTR_TYPES
} GlowOnnxAttrType;

/* Members have the names of AttributeProto's fields: i for an integer, f for a float, and so on. */
typedef struct GlowOnnxAttribute {
  GlowWireSpan name, ref_name;
  GlowWireInt type, i;
  GlowWireFloat f;
  GlowWireSpan s, t, g, tp, sparse_tensor;
  GlowWireList floats, ints, strings, tensors, graphs, types, sparse_tensors;
} GlowOnnxAttribute;

typedef struct GlowOnnxTensor {
  GlowWireSpan name, raw_data, segment;
  GlowWireInt data_type, data_location; /* location 1: external */
  GlowWireList dims, float_data, int32_data, string_data, int64_data, double_data, uint64_data;
  GlowWireList external_data;
} GlowOnnxTensor;

typedef struct GlowOnnxEntry {
  GlowWireSpan key, value;
} GlowOnnxEntry;

typedef struct GlowOnnxValueInfo {
  GlowWireSpan name, type;
} GlowOnnxValueInfo;

typedef struct GlowOnnxType {
  GlowWireSpan tensor, sequence, map, sparse_tensor, optional, opaque;
} GlowOnnxType;

typedef struct GlowOnnxTensorType {
  GlowWireInt elem_type;
  GlowWireSpan shape;
} GlowOnnxTensorType;

/* Sequence and Optional */
typedef struct GlowOnnxElemType {
  GlowWireSpan elem;
} GlowOnnxElemType;

typedef struct GlowOnnxShape {
  GlowWireList dims;
} GlowOnnxShape;

typedef struct GlowOnnxDim {
  GlowWireInt value;
  GlowWireSpan param;
} GlowOnnxDim;

/* onnx-data.proto */
typedef struct GlowOnnxSequence {
  GlowWireInt elem_type;
  GlowWireList tensors, sequences, optionals, maps, sparse_tensors;
} GlowOnnxSequence;

typedef struct GlowOnnxOptional {
  GlowWireInt elem_type;
  GlowWireSpan tensor, sequence, optional, map, sparse_tensor;
} GlowOnnxOptional;

extern const GlowWireMessage glow_onnx_msg_model, glow_onnx_msg_opset, glow_onnx_msg_graph,
    glow_onnx_msg_function, glow_onnx_msg_node, glow_onnx_msg_attribute, glow_onnx_msg_tensor,
    glow_onnx_msg_entry, glow_onnx_msg_value_info, glow_onnx_msg_type, glow_onnx_msg_tensor_type,
    glow_onnx_msg_elem_type, glow_onnx_msg_shape, glow_onnx_msg_dim, glow_onnx_msg_sequence,
    glow_onnx_msg_optional, glow_onnx_msg_sparse_tensor, glow_onnx_msg_training_info;

#endif
