/* Reading ONNX: models, and the .pb files of its test data.
 *
 * A model is only data: the reader is bounded in depth, time and memory, external data cannot leave
 * the model's folder, and whatever is wrong is reported with a byte offset or a node's name. */
#ifndef GLOW_IMPORT_ONNX_ONNX_H
#define GLOW_IMPORT_ONNX_ONNX_H

#include "ir/ir.h"

typedef struct GlowOnnxOptions {
  /* "N=8" or "N=..64": dimensions that the model calls N */
  const char *const *binds;
  uint32_t nbinds;
  /* "image=1x3x224x224": the shape of one input; ..N, as in types, for a bound */
  const char *const *bind_inputs;
  uint32_t nbind_inputs;
  const char *folder; /* of external data, for bytes that are no file; NULL: such bytes have none */
  bool training;      /* Dropout draws, BatchNormalization takes the batch's statistics */
  bool quiet;         /* no notes */
} GlowOnnxOptions;

/* Whether the text of an option is well formed. */
bool glow_onnx_bind_valid(GlowContext *ctx, const char *text);
bool glow_onnx_bind_input_valid(const char *text);

/* Whether the bytes look like a serialized model rather than a text or another format. */
bool glow_onnx_is_model(const char *data, size_t size);

/* Whether an input is a text of a module; otherwise reports what it is instead. */
bool glow_onnx_expect_text(GlowContext *ctx, const GlowInput *in);

/* Reads a model as a module with one func at graph level. Weights of a model in a regular file
 * stay there, as resources; those of any other input become payload, and then `in` must stay open
 * as long as the module is used. `o` may be NULL. Returns NULL after diagnostics, which name
 * everything that is wrong or unsupported. The module is not verified. */
GlowModule *glow_onnx_import(GlowContext *ctx, const GlowInput *in, const GlowOnnxOptions *o);

/* How an operator of a model will run. */
typedef enum GlowOnnxSupport {
  GLOW_ONNX_NATIVE,    /* machine kernels, views, copies, or constants */
  GLOW_ONNX_LOWERED,   /* by rules: other operators stand for it */
  GLOW_ONNX_REFERENCE, /* at least in part by reference kernels */
  GLOW_ONNX_GRAPH,     /* by the graph interpreter: it has no form in programs */
  GLOW_ONNX_NOT_SUPPORTED
} GlowOnnxSupport;

/* One operator under one definition; strings live in the context. */
typedef struct GlowOnnxUse {
  GlowStr domain, op;
  unsigned version;      /* of the definition in force; 0: not known */
  size_t count;          /* of nodes, subgraphs included, bodies of the model's functions once */
  size_t unread;         /* how many of these cannot be read */
  GlowStr why;           /* the reason of the first that cannot be read, if any */
  GlowStr first;         /* its name */
  GlowOnnxSupport worst; /* of the nodes that it became */
} GlowOnnxUse;

/* An output that needs a node which cannot be read. */
typedef struct GlowOnnxLostOutput {
  GlowStr name;
  const GlowType *type; /* as the model declares it, or NULL */
} GlowOnnxLostOutput;

/* The operators that a model uses, and the outputs that cannot be computed. */
typedef struct GlowOnnxUses {
  GLOW_VEC(GlowOnnxUse *) list; /* in order of first use */
  size_t unread;
  GLOW_VEC(GlowOnnxLostOutput) lost;
} GlowOnnxUses;

GlowOnnxSupport glow_onnx_support(const GlowOnnxUse *use);

/* Reads a model like glow_onnx_import, and fills in `uses`. What is not supported is no error here:
 * its results stay undefined, and so do outputs that need them. NULL after a diagnostic, which
 * means that the model is malformed. */
GlowModule *glow_onnx_preflight(GlowContext *ctx, const GlowInput *in, const GlowOnnxOptions *o,
                                GlowOnnxUses *uses);

/* Lets texts of this context refer to tensors in .onnx files by resource(...). */
void glow_onnx_register(GlowContext *ctx);

/* Reads a TensorProto, SequenceProto or OptionalProto, as `declared` says; NULL stands for any
 * tensor. A tensor has the exact type of its data, of the kind that was declared; a sequence or an
 * optional has the declared type. Bits of 16-bit integers are taken as they are where bfloat16 is
 * declared. `name` is for messages. The caller frees the result. NULL after a diagnostic. */
GlowTensor *glow_pb_read(GlowContext *ctx, const char *name, const char *data, size_t size,
                         const GlowType *declared);

/* Appends t as a message of one of the three types; `name` is stored in it. */
void glow_pb_write(GlowText *out, const GlowTensor *t, GlowStr name);

#endif
