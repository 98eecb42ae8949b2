/* Blobs: immutable bytes that belong to the context, and the two file formats of weights. A file is
 * mapped once per context and indexed by key. The data of an entry are read only when they are
 * used. */
#ifndef GLOW_TENSOR_BLOB_H
#define GLOW_TENSOR_BLOB_H

#include "support/file.h"
#include "tensor/tensor.h"

typedef struct GlowBlob GlowBlob;
/* A tensor in a blob. */
typedef struct GlowBlobEntry {
  GlowStr key;
  GlowKind kind;
  uint32_t rank;
  int64_t dims[GLOW_MAX_RANK];
  const void *data; /* any alignment */
  size_t bytes;
} GlowBlobEntry;

/* An entry of a file's metadata. */
typedef struct GlowBlobText {
  const char *key, *text;
} GlowBlobText;

struct GlowBlob {
  GlowStr path; /* absolute path; NULL for payloads */
  GlowInput input;
  void *heap; /* owned bytes of a payload built in memory */
  const GlowBlobEntry *entries;
  uint32_t nentries, capacity;
  const GlowBlobText *metadata; /* of safetensors: those that are strings */
  uint32_t nmetadata;
  struct GlowBlobIndex *index; /* by key */
  GlowBlob *next;
};

/* Opens (or finds) the weight file at `path`: safetensors, or ONNX through the reader that
 * lib/import/onnx registers with glow_blob_set_onnx_reader. Must be a regular file. NULL after a
 * diagnostic at loc. */
GlowBlob *glow_blob_open(GlowContext *ctx, const char *path, GlowLoc loc);
/* A blob over bytes in safetensors format (the payload of a text); borrowed, must outlive ctx. */
GlowBlob *glow_blob_from_safetensors(GlowContext *ctx, const char *name, const void *data,
                                     size_t size, GlowLoc loc);
/* Hands an input to the context, which closes it at its end. For texts with borrowed payload. */
void glow_blob_hold(GlowContext *ctx, const GlowInput *in);
/* Whether these bytes lie in a file that the context has mapped. Their pages can be given back
 * (glow_let_pages_go): who reads them again reads the file. */
bool glow_blob_is_mapped(const GlowContext *ctx, const void *data, size_t bytes);
const GlowBlobEntry *glow_blob_find(const GlowBlob *blob, GlowStr key);

/* A reader for the index of an ONNX file: it adds every initializer and constant with raw data by
 * its key. Tools that link the importer set it, so that lib/tensor does not depend on the
 * importer. */
typedef bool (*GlowOnnxIndexFn)(GlowContext *ctx, GlowBlob *blob, GlowLoc loc);
void glow_blob_set_onnx_reader(GlowContext *ctx, GlowOnnxIndexFn fn);
/* For such readers: adds an entry (copied). Returns false, and changes nothing, if the blob already
 * has its key. */
bool glow_blob_add(GlowContext *ctx, GlowBlob *blob, const GlowBlobEntry *entry);

/* Reads the header at the start of blob->input into entries. Returns false after a diagnostic at
 * loc that begins with `name`. */
bool glow_safetensors_index(GlowContext *ctx, GlowBlob *blob, const char *name, GlowLoc loc);

/* The type that a tensor of this static type has in a weight file: its physical extents, or plain
 * bytes if safetensors has no such kind. */
const GlowType *glow_type_in_file(GlowContext *ctx, const GlowType *type);

/* glow_safetensors_write appends tensors in safetensors format: a header, then the data in order,
 * without gaps. The header is padded with spaces, so that the data start at a multiple of 64 bytes,
 * counted from the present end of `out`. The format must be able to hold every type; blocked
 * layouts are written plain. */
bool glow_safetensors_can_hold(const GlowType *type);
typedef struct GlowNamedTensor {
  GlowStr name;
  const GlowTensor *tensor;
} GlowNamedTensor;
void glow_safetensors_write(GlowText *out, const GlowNamedTensor *tensors, uint32_t count);
/* The header alone, with metadata. */
void glow_safetensors_write_header(GlowText *out, const GlowNamedTensor *tensors, uint32_t count,
                                   const GlowBlobText *metadata, uint32_t nmetadata);

#endif
