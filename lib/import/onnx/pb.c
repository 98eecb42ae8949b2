/* The .pb files of ONNX's test data: one TensorProto, SequenceProto or OptionalProto each. */
#include "import/onnx/onnx.h"
#include "import/onnx/tensor.h"

/* Values of SequenceProto.elem_type and OptionalProto.elem_type. */
enum { ELEM_TENSOR = 1, ELEM_SEQUENCE = 3, ELEM_OPTIONAL = 5 };

/* ---- Reading -------------------------------------------------------------------------------- */

typedef struct Reader {
  GlowWireFile file;
  GlowLoc loc;
} Reader;

static GlowTensor *read_value(Reader *r, GlowWireSpan span, const GlowType *declared);

/* The kind that the data have here: see the note on bfloat16 in onnx.h. */
static GlowKind settle_kind(GlowKind stored, const GlowType *declared) {
  bool bits = declared && declared->kind == GLOW_KIND_BFLOAT16 && stored == GLOW_KIND_U16;
  return bits ? GLOW_KIND_BFLOAT16 : stored;
}

static GlowTensor *read_tensor(Reader *r, GlowWireSpan span, const GlowType *declared) {
  GlowContext *ctx = r->file.ctx;
  GlowOnnxTensorInfo info;
  if (!glow_onnx_tensor_info(&r->file, span, r->loc, "the tensor", &info))
    return NULL;
  if (info.where == GLOW_ONNX_DATA_EXTERNAL) {
    glow_error(ctx, r->loc, "unsupported: the tensor has external data");
    return NULL;
  }
  GlowKind kind = settle_kind(info.type->kind, declared);
  if (declared && declared->kind != kind) {
    glow_error(ctx, r->loc, "the tensor is %s, but %s is declared", glow_type_str(ctx, info.type),
               glow_type_str(ctx, declared));
    return NULL;
  }
  GlowTensor *t = glow_tensor_create(ctx, glow_type_with_kind(ctx, info.type, kind));
  if (kind != GLOW_KIND_STRING) {
    glow_onnx_tensor_decode(&r->file, &info, t->data);
    return t;
  }
  GlowDefer release;
  glow_defer_push(ctx, &release, glow_tensor_free_fn, t);
  GlowWireIter i = {0};
  while (glow_wire_each(&r->file, &info.proto.string_data, &i))
    glow_tensor_set_string(ctx, t, i.index, glow_wire_bytes(&r->file, i.span), i.span.size);
  glow_defer_pop(ctx, &release, false);
  return t;
}

static GlowTensor *mismatch(Reader *r, const char *found, const GlowType *declared) {
  glow_error(r->file.ctx, r->loc, "the file has %s where %s is declared", found,
             glow_type_str(r->file.ctx, declared));
  return NULL;
}

/* Appends every item of a list; false after a diagnostic. */
static bool read_items(Reader *r, const GlowWireList *list, GlowTensor *seq) {
  GlowWireIter i = {0};
  while (glow_wire_each(&r->file, list, &i)) {
    GlowTensor *item = read_value(r, i.span, seq->type->elem);
    if (!item)
      return false;
    GlowDefer release;
    glow_defer_push(r->file.ctx, &release, glow_tensor_free_fn, item);
    glow_tensor_append(r->file.ctx, seq, item);
    glow_defer_pop(r->file.ctx, &release, false);
  }
  return true;
}

static GlowTensor *read_sequence(Reader *r, GlowWireSpan span, const GlowType *declared) {
  GlowOnnxSequence s;
  glow_wire_read(&r->file, &glow_onnx_msg_sequence, span, &s);
  const GlowWireList *all[] = {&s.tensors, &s.sequences, &s.optionals, &s.maps, &s.sparse_tensors};
  const GlowWireList *list = &s.tensors;
  if (declared->elem->cls != GLOW_TYPE_TENSOR)
    list = declared->elem->cls == GLOW_TYPE_SEQ ? &s.sequences : &s.optionals;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i] != list && all[i]->count)
      return mismatch(r, "a sequence of something else", declared);
  GlowTensor *seq = glow_tensor_create(r->file.ctx, declared);
  GlowDefer release;
  glow_defer_push(r->file.ctx, &release, glow_tensor_free_fn, seq);
  bool ok = read_items(r, list, seq);
  glow_defer_pop(r->file.ctx, &release, !ok);
  return ok ? seq : NULL;
}

static GlowTensor *read_optional(Reader *r, GlowWireSpan span, const GlowType *declared) {
  GlowOnnxOptional o;
  glow_wire_read(&r->file, &glow_onnx_msg_optional, span, &o);
  GlowWireSpan value = o.tensor;
  if (declared->elem->cls != GLOW_TYPE_TENSOR)
    value = declared->elem->cls == GLOW_TYPE_SEQ ? o.sequence : o.optional;
  bool other = !value.at &&
               (o.tensor.at || o.sequence.at || o.optional.at || o.map.at || o.sparse_tensor.at);
  if (other)
    return mismatch(r, "an optional of something else", declared);
  GlowTensor *item = value.at ? read_value(r, value, declared->elem) : NULL;
  if (value.at && !item)
    return NULL;
  GlowDefer release;
  glow_defer_push(r->file.ctx, &release, glow_tensor_free_fn, item);
  GlowTensor *opt = glow_tensor_create(r->file.ctx, declared);
  glow_defer_pop(r->file.ctx, &release, false);
  glow_defer_push(r->file.ctx, &release, glow_tensor_free_fn, opt);
  if (item)
    glow_tensor_append(r->file.ctx, opt, item);
  glow_defer_pop(r->file.ctx, &release, false);
  return opt;
}

static GlowTensor *read_value(Reader *r, GlowWireSpan span, const GlowType *declared) {
  if (!declared || declared->cls == GLOW_TYPE_TENSOR)
    return read_tensor(r, span, declared);
  return declared->cls == GLOW_TYPE_SEQ ? read_sequence(r, span, declared)
                                        : read_optional(r, span, declared);
}

GlowTensor *glow_pb_read(GlowContext *ctx, const char *name, const char *data, size_t size,
                         const GlowType *declared) {
  Reader r = {{ctx, name, (const uint8_t *)data, size}, glow_loc_file(ctx, name)};
  bool plain = !declared || declared->cls == GLOW_TYPE_TENSOR;
  const GlowWireMessage *message = plain                            ? &glow_onnx_msg_tensor
                                   : declared->cls == GLOW_TYPE_SEQ ? &glow_onnx_msg_sequence
                                                                    : &glow_onnx_msg_optional;
  GlowWireSpan all = {0, size};
  return glow_wire_check(&r.file, message, all) ? read_value(&r, all, declared) : NULL;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static void put_varint(GlowText *out, uint64_t v) {
  for (; v >= 0x80; v >>= 7)
    glow_text_putc(out, (char)(v | 0x80));
  glow_text_putc(out, (char)v);
}

static void put_int(GlowText *out, unsigned field, uint64_t v) {
  put_varint(out, field << 3);
  put_varint(out, v);
}

static void put_bytes(GlowText *out, unsigned field, const void *data, size_t size) {
  put_varint(out, field << 3 | 2);
  put_varint(out, size);
  glow_text_bytes(out, data, size);
}

static void put_value(GlowText *out, const GlowTensor *t, GlowStr name);

/* A submessage: written aside first, since its size stands before it. */
static void put_message(GlowText *out, unsigned field, const GlowTensor *t) {
  GlowText inner;
  GlowDefer release;
  glow_text_init(&inner, out->ctx);
  glow_defer_push(out->ctx, &release, glow_text_release_fn, &inner);
  put_value(&inner, t, NULL);
  put_bytes(out, field, inner.data, inner.size);
  glow_defer_pop(out->ctx, &release, true);
}

static void put_tensor(GlowText *out, const GlowTensor *t, GlowStr name) {
  for (uint32_t i = 0; i < t->type->rank; i++)
    put_int(out, 1, (uint64_t)t->type->dims[i].size);
  put_int(out, 2, (uint64_t)glow_kind_info[t->type->kind].onnx);
  if (name && *name)
    put_bytes(out, 8, name, glow_str_length(name));
  if (t->type->kind != GLOW_KIND_STRING) {
    put_bytes(out, 9, t->data, t->bytes);
    return;
  }
  for (int64_t i = 0; i < glow_tensor_elements(t); i++) {
    GlowString s = glow_tensor_get_string(t, i);
    put_bytes(out, 6, s.data, s.length);
  }
}

static unsigned elem_type(const GlowType *elem) {
  return elem->cls == GLOW_TYPE_TENSOR ? ELEM_TENSOR
         : elem->cls == GLOW_TYPE_SEQ  ? ELEM_SEQUENCE
                                       : ELEM_OPTIONAL;
}

static void put_value(GlowText *out, const GlowTensor *t, GlowStr name) {
  if (t->type->cls == GLOW_TYPE_TENSOR) {
    GlowTensor *plain = glow_tensor_plain(out->ctx, t);
    GlowDefer release;
    glow_defer_push(out->ctx, &release, glow_tensor_free_fn, plain);
    put_tensor(out, plain, name);
    glow_defer_pop(out->ctx, &release, true);
    return;
  }
  if (name && *name)
    put_bytes(out, 1, name, glow_str_length(name));
  unsigned elem = elem_type(t->type->elem);
  put_int(out, 2, elem);
  for (uint32_t i = 0; i < t->count; i++)
    put_message(out, elem + 2, t->items[i]); /* fields 3, 5 and 7 of both messages */
}

void glow_pb_write(GlowText *out, const GlowTensor *t, GlowStr name) { put_value(out, t, name); }
