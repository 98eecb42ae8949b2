/* The messages of onnx.proto and onnx-data.proto as tables. Field numbers are ONNX's. */
#include "import/onnx/proto.h"

/* F(struct, member, number, kind, the field's name in onnx.proto, message or NULL) */
#define F(T, member, number, kind, name, message)                                                  \
  { number, GLOW_WIRE_##kind, offsetof(T, member), name, message }
#define MESSAGE(variable, T, name, fields, name_field)                                             \
  const GlowWireMessage variable = {name, fields, sizeof(fields) / sizeof *(fields), sizeof(T),    \
                                    name_field}

static const GlowWireField entry_fields[] = {
    F(GlowOnnxEntry, key, 1, NAME, "key", NULL),
    F(GlowOnnxEntry, value, 2, NAME, "value", NULL),
};
MESSAGE(glow_onnx_msg_entry, GlowOnnxEntry, "StringStringEntryProto", entry_fields, 0);

static const GlowWireField tensor_fields[] = {
    F(GlowOnnxTensor, dims, 1, INTS, "dims", NULL),
    F(GlowOnnxTensor, data_type, 2, INT, "data_type", NULL),
    F(GlowOnnxTensor, segment, 3, BYTES, "segment", NULL),
    F(GlowOnnxTensor, float_data, 4, FLOATS, "float_data", NULL),
    F(GlowOnnxTensor, int32_data, 5, INTS, "int32_data", NULL),
    F(GlowOnnxTensor, string_data, 6, BYTESES, "string_data", NULL),
    F(GlowOnnxTensor, int64_data, 7, INTS, "int64_data", NULL),
    F(GlowOnnxTensor, name, 8, NAME, "name", NULL),
    F(GlowOnnxTensor, raw_data, 9, BYTES, "raw_data", NULL),
    F(GlowOnnxTensor, double_data, 10, DOUBLES, "double_data", NULL),
    F(GlowOnnxTensor, uint64_data, 11, INTS, "uint64_data", NULL),
    F(GlowOnnxTensor, external_data, 13, MESSAGES, "external_data", &glow_onnx_msg_entry),
    F(GlowOnnxTensor, data_location, 14, INT, "data_location", NULL),
};
MESSAGE(glow_onnx_msg_tensor, GlowOnnxTensor, "TensorProto", tensor_fields, 0);

/* Only to be refused: its fields do not matter. */
static const GlowWireField sparse_fields[] = {
    F(GlowOnnxTensor, dims, 3, INTS, "dims", NULL),
};
MESSAGE(glow_onnx_msg_sparse_tensor, GlowOnnxTensor, "SparseTensorProto", sparse_fields, 0);

static const GlowWireField dim_fields[] = {
    F(GlowOnnxDim, value, 1, INT, "dim_value", NULL),
    F(GlowOnnxDim, param, 2, NAME, "dim_param", NULL),
};
MESSAGE(glow_onnx_msg_dim, GlowOnnxDim, "TensorShapeProto.Dimension", dim_fields, 0);

static const GlowWireField shape_fields[] = {
    F(GlowOnnxShape, dims, 1, MESSAGES, "dim", &glow_onnx_msg_dim),
};
MESSAGE(glow_onnx_msg_shape, GlowOnnxShape, "TensorShapeProto", shape_fields, 0);

static const GlowWireField tensor_type_fields[] = {
    F(GlowOnnxTensorType, elem_type, 1, INT, "elem_type", NULL),
    F(GlowOnnxTensorType, shape, 2, MESSAGE, "shape", &glow_onnx_msg_shape),
};
MESSAGE(glow_onnx_msg_tensor_type, GlowOnnxTensorType, "TypeProto.Tensor", tensor_type_fields, 0);

static const GlowWireField elem_type_fields[] = {
    F(GlowOnnxElemType, elem, 1, MESSAGE, "elem_type", &glow_onnx_msg_type),
};
MESSAGE(glow_onnx_msg_elem_type, GlowOnnxElemType, "TypeProto.Sequence", elem_type_fields, 0);

static const GlowWireField type_fields[] = {
    F(GlowOnnxType, tensor, 1, MESSAGE, "tensor_type", &glow_onnx_msg_tensor_type),
    F(GlowOnnxType, sequence, 4, MESSAGE, "sequence_type", &glow_onnx_msg_elem_type),
    F(GlowOnnxType, map, 5, BYTES, "map_type", NULL),
    F(GlowOnnxType, opaque, 7, BYTES, "opaque_type", NULL),
    F(GlowOnnxType, sparse_tensor, 8, BYTES, "sparse_tensor_type", NULL),
    F(GlowOnnxType, optional, 9, MESSAGE, "optional_type", &glow_onnx_msg_elem_type),
};
MESSAGE(glow_onnx_msg_type, GlowOnnxType, "TypeProto", type_fields, 0);

static const GlowWireField value_info_fields[] = {
    F(GlowOnnxValueInfo, name, 1, NAME, "name", NULL),
    F(GlowOnnxValueInfo, type, 2, MESSAGE, "type", &glow_onnx_msg_type),
};
MESSAGE(glow_onnx_msg_value_info, GlowOnnxValueInfo, "ValueInfoProto", value_info_fields, 0);

static const GlowWireField attribute_fields[] = {
    F(GlowOnnxAttribute, name, 1, NAME, "name", NULL),
    F(GlowOnnxAttribute, f, 2, FLOAT, "f", NULL),
    F(GlowOnnxAttribute, i, 3, INT, "i", NULL),
    F(GlowOnnxAttribute, s, 4, BYTES, "s", NULL),
    F(GlowOnnxAttribute, t, 5, MESSAGE, "t", &glow_onnx_msg_tensor),
    F(GlowOnnxAttribute, g, 6, MESSAGE, "g", &glow_onnx_msg_graph),
    F(GlowOnnxAttribute, floats, 7, FLOATS, "floats", NULL),
    F(GlowOnnxAttribute, ints, 8, INTS, "ints", NULL),
    F(GlowOnnxAttribute, strings, 9, BYTESES, "strings", NULL),
    F(GlowOnnxAttribute, tensors, 10, MESSAGES, "tensors", &glow_onnx_msg_tensor),
    F(GlowOnnxAttribute, graphs, 11, MESSAGES, "graphs", &glow_onnx_msg_graph),
    F(GlowOnnxAttribute, tp, 14, MESSAGE, "tp", &glow_onnx_msg_type),
    F(GlowOnnxAttribute, types, 15, MESSAGES, "type_protos", &glow_onnx_msg_type),
    F(GlowOnnxAttribute, type, 20, INT, "type", NULL),
    F(GlowOnnxAttribute, ref_name, 21, NAME, "ref_attr_name", NULL),
    F(GlowOnnxAttribute, sparse_tensor, 22, MESSAGE, "sparse_tensor", &glow_onnx_msg_sparse_tensor),
    F(GlowOnnxAttribute, sparse_tensors, 23, MESSAGES, "sparse_tensors",
      &glow_onnx_msg_sparse_tensor),
};
MESSAGE(glow_onnx_msg_attribute, GlowOnnxAttribute, "AttributeProto", attribute_fields, 0);

static const GlowWireField node_fields[] = {
    F(GlowOnnxNodeProto, inputs, 1, NAMES, "input", NULL),
    F(GlowOnnxNodeProto, outputs, 2, NAMES, "output", NULL),
    F(GlowOnnxNodeProto, name, 3, NAME, "name", NULL),
    F(GlowOnnxNodeProto, op_type, 4, NAME, "op_type", NULL),
    F(GlowOnnxNodeProto, attributes, 5, MESSAGES, "attribute", &glow_onnx_msg_attribute),
    F(GlowOnnxNodeProto, domain, 7, NAME, "domain", NULL),
    F(GlowOnnxNodeProto, overload, 8, NAME, "overload", NULL),
};
MESSAGE(glow_onnx_msg_node, GlowOnnxNodeProto, "NodeProto", node_fields, 3);

static const GlowWireField graph_fields[] = {
    F(GlowOnnxGraph, nodes, 1, MESSAGES, "node", &glow_onnx_msg_node),
    F(GlowOnnxGraph, name, 2, NAME, "name", NULL),
    F(GlowOnnxGraph, initializers, 5, MESSAGES, "initializer", &glow_onnx_msg_tensor),
    F(GlowOnnxGraph, inputs, 11, MESSAGES, "input", &glow_onnx_msg_value_info),
    F(GlowOnnxGraph, outputs, 12, MESSAGES, "output", &glow_onnx_msg_value_info),
    F(GlowOnnxGraph, sparse_initializers, 15, MESSAGES, "sparse_initializer",
      &glow_onnx_msg_sparse_tensor),
};
MESSAGE(glow_onnx_msg_graph, GlowOnnxGraph, "GraphProto", graph_fields, 0);

static const GlowWireField opset_fields[] = {
    F(GlowOnnxOpset, domain, 1, NAME, "domain", NULL),
    F(GlowOnnxOpset, version, 2, INT, "version", NULL),
};
MESSAGE(glow_onnx_msg_opset, GlowOnnxOpset, "OperatorSetIdProto", opset_fields, 0);

static const GlowWireField function_fields[] = {
    F(GlowOnnxFunction, name, 1, NAME, "name", NULL),
    F(GlowOnnxFunction, inputs, 4, NAMES, "input", NULL),
    F(GlowOnnxFunction, outputs, 5, NAMES, "output", NULL),
    F(GlowOnnxFunction, attributes, 6, NAMES, "attribute", NULL),
    F(GlowOnnxFunction, nodes, 7, MESSAGES, "node", &glow_onnx_msg_node),
    F(GlowOnnxFunction, opset_import, 9, MESSAGES, "opset_import", &glow_onnx_msg_opset),
    F(GlowOnnxFunction, domain, 10, NAME, "domain", NULL),
    F(GlowOnnxFunction, attribute_defaults, 11, MESSAGES, "attribute_proto",
      &glow_onnx_msg_attribute),
    F(GlowOnnxFunction, overload, 13, NAME, "overload", NULL),
};
MESSAGE(glow_onnx_msg_function, GlowOnnxFunction, "FunctionProto", function_fields, 0);

static const GlowWireField training_info_fields[] = {
    F(GlowOnnxTrainingInfo, initialization, 1, MESSAGE, "initialization", &glow_onnx_msg_graph),
    F(GlowOnnxTrainingInfo, algorithm, 2, MESSAGE, "algorithm", &glow_onnx_msg_graph),
    F(GlowOnnxTrainingInfo, initialization_binding, 3, MESSAGES, "initialization_binding",
      &glow_onnx_msg_entry),
    F(GlowOnnxTrainingInfo, update_binding, 4, MESSAGES, "update_binding", &glow_onnx_msg_entry),
};
MESSAGE(glow_onnx_msg_training_info, GlowOnnxTrainingInfo, "TrainingInfoProto",
        training_info_fields, 0);

static const GlowWireField model_fields[] = {
    F(GlowOnnxModel, ir_version, 1, INT, "ir_version", NULL),
    F(GlowOnnxModel, producer_name, 2, NAME, "producer_name", NULL),
    F(GlowOnnxModel, producer_version, 3, NAME, "producer_version", NULL),
    F(GlowOnnxModel, graph, 7, MESSAGE, "graph", &glow_onnx_msg_graph),
    F(GlowOnnxModel, opset_import, 8, MESSAGES, "opset_import", &glow_onnx_msg_opset),
    F(GlowOnnxModel, training_info, 20, MESSAGES, "training_info", &glow_onnx_msg_training_info),
    F(GlowOnnxModel, functions, 25, MESSAGES, "functions", &glow_onnx_msg_function),
};
MESSAGE(glow_onnx_msg_model, GlowOnnxModel, "ModelProto", model_fields, 0);

static const GlowWireField sequence_fields[] = {
    F(GlowOnnxSequence, elem_type, 2, INT, "elem_type", NULL),
    F(GlowOnnxSequence, tensors, 3, MESSAGES, "tensor_values", &glow_onnx_msg_tensor),
    F(GlowOnnxSequence, sparse_tensors, 4, MESSAGES, "sparse_tensor_values",
      &glow_onnx_msg_sparse_tensor),
    F(GlowOnnxSequence, sequences, 5, MESSAGES, "sequence_values", &glow_onnx_msg_sequence),
    F(GlowOnnxSequence, maps, 6, BYTESES, "map_values", NULL),
    F(GlowOnnxSequence, optionals, 7, MESSAGES, "optional_values", &glow_onnx_msg_optional),
};
MESSAGE(glow_onnx_msg_sequence, GlowOnnxSequence, "SequenceProto", sequence_fields, 0);

static const GlowWireField optional_fields[] = {
    F(GlowOnnxOptional, elem_type, 2, INT, "elem_type", NULL),
    F(GlowOnnxOptional, tensor, 3, MESSAGE, "tensor_value", &glow_onnx_msg_tensor),
    F(GlowOnnxOptional, sparse_tensor, 4, MESSAGE, "sparse_tensor_value",
      &glow_onnx_msg_sparse_tensor),
    F(GlowOnnxOptional, sequence, 5, MESSAGE, "sequence_value", &glow_onnx_msg_sequence),
    F(GlowOnnxOptional, map, 6, BYTES, "map_value", NULL),
    F(GlowOnnxOptional, optional, 7, MESSAGE, "optional_value", &glow_onnx_msg_optional),
};
MESSAGE(glow_onnx_msg_optional, GlowOnnxOptional, "OptionalProto", optional_fields, 0);
