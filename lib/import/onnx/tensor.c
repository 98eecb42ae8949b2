/* TensorProto: checks, decoding of the typed fields, external data. */
#include "import/onnx/tensor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The typed field that holds elements of a kind. */
static const GlowWireList *typed_field(const GlowOnnxTensor *t, GlowKind kind) {
  switch (kind) {
  case GLOW_KIND_FLOAT:
  case GLOW_KIND_COMPLEX64:
    return &t->float_data;
  case GLOW_KIND_DOUBLE:
  case GLOW_KIND_COMPLEX128:
    return &t->double_data;
  case GLOW_KIND_I64:
    return &t->int64_data;
  case GLOW_KIND_U32:
  case GLOW_KIND_U64:
    return &t->uint64_data;
  case GLOW_KIND_STRING:
    return &t->string_data;
  default:
    return &t->int32_data;
  }
}

/* How many values the typed field of a tensor holds: complex numbers take two, kinds below a byte
 * stand there as packed bytes. */
static int64_t typed_count(const GlowType *type) {
  int64_t elements = glow_type_elements(type);
  const GlowKindInfo *kind = &glow_kind_info[type->kind];
  if (kind->cls == GLOW_CLASS_COMPLEX)
    return 2 * elements;
  return kind->bits < 8 ? glow_type_bytes(type) : elements;
}

static bool read_type(const GlowWireFile *f, GlowLoc loc, const char *what,
                      GlowOnnxTensorInfo *info) {
  const GlowOnnxTensor *t = &info->proto;
  GlowKind kind = t->data_type.v > 0 && t->data_type.v < 1000
                      ? glow_kind_from_onnx((int)t->data_type.v)
                      : GLOW_KIND_COUNT;
  if (kind == GLOW_KIND_COUNT) {
    glow_error(f->ctx, loc, "%s has the unknown element type %lld", what,
               (long long)t->data_type.v);
    return false;
  }
  if (t->dims.count > GLOW_MAX_RANK) {
    glow_error(f->ctx, loc, "%s has %u dimensions, more than %d", what, t->dims.count,
               GLOW_MAX_RANK);
    return false;
  }
  GlowDim dims[GLOW_MAX_RANK];
  GlowWireNumber n = {0};
  for (uint32_t i = 0; glow_wire_each_number(f, &t->dims, &n); i++)
    dims[i] = GLOW_EXACT((int64_t)n.value);
  const char *bad = glow_type_check_dims(kind, t->dims.count, dims);
  if (bad) {
    glow_error(f->ctx, loc, "%s: %s", what, bad);
    return false;
  }
  info->type = glow_type_tensor(f->ctx, kind, t->dims.count, dims);
  info->bytes = (size_t)glow_type_bytes(info->type);
  return true;
}

static bool check_typed(const GlowWireFile *f, GlowLoc loc, const char *what,
                        GlowOnnxTensorInfo *info) {
  const GlowOnnxTensor *t = &info->proto;
  const GlowWireList *field = typed_field(t, info->type->kind);
  const GlowWireList *const all[] = {&t->float_data, &t->int32_data,  &t->string_data,
                                     &t->int64_data, &t->double_data, &t->uint64_data};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i] != field && all[i]->count) {
      glow_error(f->ctx, loc, "%s: field %u holds data, but not those of %s", what, all[i]->number,
                 glow_type_str(f->ctx, info->type));
      return false;
    }
  if (field->count != typed_count(info->type)) {
    glow_error(f->ctx, loc, "%s: %u values where %s has %lld", what, field->count,
               glow_type_str(f->ctx, info->type), (long long)typed_count(info->type));
    return false;
  }
  info->where = GLOW_ONNX_DATA_TYPED;
  return true;
}

static bool check_raw(const GlowWireFile *f, GlowLoc loc, const char *what,
                      GlowOnnxTensorInfo *info) {
  if (info->type->kind == GLOW_KIND_STRING) {
    glow_error(f->ctx, loc, "%s: strings cannot be raw data", what);
    return false;
  }
  if (info->proto.raw_data.size != info->bytes) {
    glow_error(f->ctx, loc, "%s: %zu bytes of raw data where %s has %zu", what,
               info->proto.raw_data.size, glow_type_str(f->ctx, info->type), info->bytes);
    return false;
  }
  info->where = GLOW_ONNX_DATA_RAW;
  info->raw = glow_wire_bytes(f, info->proto.raw_data);
  return true;
}

bool glow_onnx_tensor_info(const GlowWireFile *f, GlowWireSpan span, GlowLoc loc, const char *what,
                           GlowOnnxTensorInfo *info) {
  *info = (GlowOnnxTensorInfo){0};
  glow_wire_read(f, &glow_onnx_msg_tensor, span, &info->proto);
  if (!read_type(f, loc, what, info))
    return false;
  if (info->proto.segment.at) {
    glow_error(f->ctx, loc, "unsupported: %s is stored in segments", what);
    return false;
  }
  if (info->proto.data_location.v == 1) {
    if (info->type->kind == GLOW_KIND_STRING) {
      glow_error(f->ctx, loc, "%s: strings cannot be external data", what);
      return false;
    }
    info->where = GLOW_ONNX_DATA_EXTERNAL;
    return true;
  }
  if (info->proto.raw_data.at && (info->proto.raw_data.size || !info->bytes))
    return check_raw(f, loc, what, info);
  return check_typed(f, loc, what, info);
}

/* Stores the low bytes of each value. Kinds of one byte or less: one byte each. */
static void decode_integers(const GlowWireFile *f, const GlowWireList *field, size_t size,
                            unsigned char *to) {
  GlowWireNumber n = {0};
  for (; glow_wire_each_number(f, field, &n); to += size)
    memcpy(to, &n.value, size);
}

void glow_onnx_tensor_decode(const GlowWireFile *f, const GlowOnnxTensorInfo *info, void *to) {
  if (info->bytes == 0)
    return;
  GlowKind kind = info->type->kind;
  if (info->where == GLOW_ONNX_DATA_RAW) {
    memcpy(to, info->raw, info->bytes);
  } else {
    const GlowWireList *field = typed_field(&info->proto, kind);
    size_t size = info->bytes / field->count; /* both are not 0 */
    decode_integers(f, field, size, to);
  }
  if (kind == GLOW_KIND_BOOL)
    for (size_t i = 0; i < info->bytes; i++)
      ((unsigned char *)to)[i] = ((unsigned char *)to)[i] != 0;
}

const GlowTensor *glow_onnx_tensor_in_arena(const GlowWireFile *f, const GlowOnnxTensorInfo *info,
                                            GlowArena *arena) {
  GlowTensor *t = GLOW_NEW(arena, GlowTensor);
  t->type = info->type;
  t->bytes = info->bytes;
  t->data = glow_arena_alloc(arena, info->bytes);
  if (info->type->kind != GLOW_KIND_STRING) {
    glow_onnx_tensor_decode(f, info, t->data);
    return t;
  }
  GlowString *strings = t->data;
  GlowWireIter i = {0};
  while (glow_wire_each(f, &info->proto.string_data, &i)) {
    strings[i.index].data = glow_arena_copy(arena, glow_wire_bytes(f, i.span), i.span.size);
    strings[i.index].length = i.span.size;
  }
  return t;
}

/* ---- External data -------------------------------------------------------------------------- */

typedef struct External {
  GlowStr location;
  uint64_t offset, length;
  bool has_length;
} External;

static bool parse_number(const char *text, uint64_t *value) {
  char *end;
  errno = 0;
  if (*text < '0' || *text > '9')
    return false;
  *value = strtoull(text, &end, 10);
  return *end == '\0' && errno == 0;
}

static bool read_external(const GlowWireFile *f, const GlowOnnxTensor *t, GlowLoc loc,
                          const char *what, External *e) {
  *e = (External){0};
  GlowWireIter i = {0};
  while (glow_wire_each(f, &t->external_data, &i)) {
    GlowOnnxEntry entry;
    glow_wire_read(f, &glow_onnx_msg_entry, i.span, &entry);
    GlowStr key = glow_wire_str(f, entry.key), value = glow_wire_str(f, entry.value);
    bool ok = true;
    if (strcmp(key, "location") == 0)
      e->location = value;
    else if (strcmp(key, "offset") == 0)
      ok = parse_number(value, &e->offset);
    else if (strcmp(key, "length") == 0)
      ok = e->has_length = parse_number(value, &e->length);
    if (!ok) {
      glow_error(f->ctx, loc, "%s: external data with the %s '%s'", what, key, value);
      return false;
    }
  }
  if (!e->location || !*e->location) {
    glow_error(f->ctx, loc, "%s: external data without a location", what);
    return false;
  }
  return true;
}

/* A relative path without "..", by its text alone. */
static bool is_inside(const char *path) {
  if (*path == '/')
    return false;
  for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
    if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
      return false;
  return true;
}

static void free_string(void *p) { free(*(char **)p); }

/* Whether `path` with all links resolved lies below `dir`; says why not. */
static bool resolves_inside(const GlowWireFile *f, const char *dir, const char *path, GlowLoc loc,
                            const char *what) {
  char *real_dir = NULL, *real_path = NULL;
  GlowDefer free_dir, free_path;
  glow_defer_push(f->ctx, &free_dir, free_string, &real_dir);
  glow_defer_push(f->ctx, &free_path, free_string, &real_path);
  real_dir = realpath(dir, NULL);
  real_path = realpath(path, NULL);
  int code = errno;
  if (!real_dir || !real_path) {
    if (code == ENOMEM)
      glow_throw(f->ctx, GLOW_NO_MEMORY);
    char buf[128];
    glow_error(f->ctx, loc, "%s: cannot open the external data '%s': %s", what, path,
               strerror_r(code, buf, sizeof buf));
  }
  size_t n = real_dir ? strlen(real_dir) : 0;
  bool root = n == 1; /* "/" ends with the separator already */
  bool inside = real_dir && real_path && strncmp(real_path, real_dir, n) == 0 &&
                (root || real_path[n] == '/');
  if (real_dir && real_path && !inside)
    glow_error(f->ctx, loc, "%s: external data '%s' leave the model's folder through a link", what,
               path);
  glow_defer_pop(f->ctx, &free_path, true);
  glow_defer_pop(f->ctx, &free_dir, true);
  return inside;
}

/* Maps a file once per context, as a blob without a path, so that no look-up finds the blob. */
static const GlowInput *map_once(GlowContext *ctx, const char *path, GlowLoc loc) {
  GlowStr name = glow_str(ctx, path);
  for (const GlowBlob *b = ctx->blobs; b; b = b->next)
    if (!b->path && b->input.map && b->input.name == name)
      return &b->input;
  GlowBlob *blob = GLOW_NEW(ctx->arena, GlowBlob);
  GlowInput in;
  if (!glow_input_open(ctx, path, true, loc, &in))
    return NULL;
  blob->input = in;
  blob->next = ctx->blobs;
  ctx->blobs = blob; /* the context, which has the model's blob, releases it */
  return &blob->input;
}

const void *glow_onnx_external_data(const GlowWireFile *f, const GlowOnnxTensorInfo *info,
                                    const char *path, GlowLoc loc, const char *what) {
  External e;
  if (!read_external(f, &info->proto, loc, what, &e))
    return NULL;
  if (!is_inside(e.location)) {
    glow_error(f->ctx, loc, "%s: external data '%s' lie outside the model's folder", what,
               e.location);
    return NULL;
  }
  GlowStr dir = glow_path_dir(f->ctx, path), file = glow_path_join(f->ctx, dir, e.location);
  if (!resolves_inside(f, dir, file, loc, what))
    return NULL;
  const GlowInput *in = map_once(f->ctx, file, loc);
  if (!in)
    return NULL;
  if (e.has_length && e.length != info->bytes) {
    glow_error(f->ctx, loc, "%s: %llu bytes of external data where %s has %zu", what,
               (unsigned long long)e.length, glow_type_str(f->ctx, info->type), info->bytes);
    return NULL;
  }
  if (e.offset > in->size || info->bytes > in->size - e.offset) {
    glow_error(f->ctx, loc, "%s: bytes %llu to %llu of '%s', which has %zu", what,
               (unsigned long long)e.offset, (unsigned long long)(e.offset + info->bytes),
               e.location, in->size);
    return NULL;
  }
  return in->data + e.offset;
}
