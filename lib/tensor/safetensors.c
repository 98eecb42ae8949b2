/* safetensors: a JSON header that names tensors, then their bytes.
 * https://github.com/huggingface/safetensors
 *
 *   u64 length of the header, little-endian
 *   { "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {...} }
 *   data; offsets count from their start
 *
 * The header is read event by event into a list of records, then each record is checked: a known
 * dtype, a shape within our limits, offsets inside the file that hold exactly the shape's bytes, no
 * key twice. Of the metadata, strings are kept. Since JSON callbacks must not throw, records use
 * plain malloc.
 */
#include <stdlib.h>
#include <string.h>

#include "support/json.h"
#include "tensor/blob.h"

/* One tensor as the header describes it, unchecked. */
typedef struct Record {
  char *key; /* malloc'ed; not NUL-terminated */
  size_t key_length;
  char dtype[16];
  uint32_t rank;
  int64_t shape[GLOW_MAX_RANK];
  int64_t offsets[2];
} Record;

/* An entry of the metadata whose value is a string; both malloc'ed and NUL-terminated. */
typedef struct Metadata {
  char *key, *value; /* value NULL: none yet */
} Metadata;

typedef enum Field { FIELD_NONE, FIELD_DTYPE = 1, FIELD_SHAPE = 2, FIELD_OFFSETS = 4 } Field;

typedef struct Reader {
  Record *records;
  size_t count, capacity;
  const char *error; /* what is wrong with the last record, or NULL */
  bool no_memory;
  int depth;     /* of objects and arrays */
  int skip_from; /* metadata come while depth is larger than this; 0: they do not */
  Metadata *metadata;
  size_t nmetadata, metadata_capacity;
  Field field;
  unsigned seen; /* fields of the current record */
  uint32_t noffsets;
} Reader;

static bool fail(Reader *r, const char *error) {
  r->error = error;
  return false;
}

static void release_reader(void *arg) {
  Reader *r = arg;
  for (size_t i = 0; i < r->count; i++)
    free(r->records[i].key);
  free(r->records);
  for (size_t i = 0; i < r->nmetadata; i++) {
    free(r->metadata[i].key);
    free(r->metadata[i].value);
  }
  free(r->metadata);
}

/* Room for one more item of an array. NULL: out of memory. */
static void *grow(Reader *r, void *items, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity)
    return items;
  size_t more = *capacity ? 2 * *capacity : 64;
  void *grown = realloc(items, more * size);
  r->no_memory = !grown;
  if (grown)
    *capacity = more;
  return grown;
}

static bool begin_record(Reader *r, const GlowJsonToken *t) {
  Record *records = grow(r, r->records, r->count, &r->capacity, sizeof *records);
  if (!records)
    return false;
  r->records = records;
  Record *record = &r->records[r->count];
  memset(record, 0, sizeof *record);
  record->key = malloc(t->length + 1);
  if (!record->key) {
    r->no_memory = true;
    return false;
  }
  memcpy(record->key, t->text, t->length);
  record->key_length = t->length;
  r->count++;
  r->seen = 0;
  if (t->length == 0 || t->length > GLOW_MAX_NAME || memchr(t->text, 0, t->length))
    return fail(r, "the name is empty, too long or holds a NUL");
  return true;
}

static bool is(const GlowJsonToken *t, const char *word) {
  return strlen(word) == t->length && !memcmp(t->text, word, t->length);
}

static bool on_key(Reader *r, const GlowJsonToken *t) {
  if (r->depth == 1) {
    if (is(t, "__metadata__")) {
      r->skip_from = 1;
      return true;
    }
    return begin_record(r, t);
  }
  r->field = is(t, "dtype")          ? FIELD_DTYPE
             : is(t, "shape")        ? FIELD_SHAPE
             : is(t, "data_offsets") ? FIELD_OFFSETS
                                     : FIELD_NONE;
  if (!r->field)
    return fail(r, "a field other than dtype, shape and data_offsets");
  if (r->seen & r->field)
    return fail(r, "a field appears twice");
  r->seen |= r->field;
  return true;
}

static bool on_integer(Reader *r, const GlowJsonToken *t) {
  Record *record = &r->records[r->count - 1];
  if (t->integer < 0)
    return fail(r, "a negative number");
  if (r->field == FIELD_SHAPE) {
    if (record->rank == GLOW_MAX_RANK)
      return fail(r, "the rank is over 8");
    record->shape[record->rank++] = t->integer;
    return true;
  }
  if (r->noffsets == 2)
    return fail(r, "data_offsets are not two numbers");
  record->offsets[r->noffsets++] = t->integer;
  return true;
}

static bool end_record(Reader *r) {
  if (r->seen != (FIELD_DTYPE | FIELD_SHAPE | FIELD_OFFSETS))
    return fail(r, "dtype, shape or data_offsets are missing");
  return true;
}

/* Opening brackets: the header is an object of objects, whose shape and data_offsets are arrays. */
static bool on_open(Reader *r, const GlowJsonToken *t) {
  bool object = t->event == GLOW_JSON_OBJECT;
  if (r->depth <= 1 ? !object : object || r->depth > 2 || !(r->field & ~FIELD_DTYPE))
    return fail(r, "the header is not an object of tensors");
  r->depth++;
  if (!object && r->field == FIELD_OFFSETS)
    r->noffsets = 0;
  return true;
}

static bool on_close(Reader *r, const GlowJsonToken *t) {
  r->depth--;
  if (t->event == GLOW_JSON_ARRAY_END) {
    if (r->field == FIELD_OFFSETS && r->noffsets != 2)
      return fail(r, "data_offsets are not two numbers");
    r->field = FIELD_NONE;
    return true;
  }
  return r->depth == 1 ? end_record(r) : true;
}

static char *copy_text(Reader *r, const GlowJsonToken *t) {
  char *copy = malloc(t->length + 1);
  r->no_memory = !copy;
  if (!copy)
    return NULL;
  if (t->length)
    memcpy(copy, t->text, t->length);
  copy[t->length] = 0;
  return copy;
}

/* Keeps strings of the metadata; a value of another kind, which no writer should write, is skipped.
 */
static bool on_metadata(Reader *r, const GlowJsonToken *t) {
  if (t->event == GLOW_JSON_KEY && r->depth == 2) {
    Metadata *all = grow(r, r->metadata, r->nmetadata, &r->metadata_capacity, sizeof *all);
    if (!all)
      return false;
    r->metadata = all;
    all[r->nmetadata] = (Metadata){.key = copy_text(r, t)};
    return all[r->nmetadata++].key != NULL;
  }
  Metadata *last = r->nmetadata ? &r->metadata[r->nmetadata - 1] : NULL;
  if (t->event == GLOW_JSON_STRING && r->depth == 2 && last && !last->value)
    return (last->value = copy_text(r, t)) != NULL;
  if (t->event == GLOW_JSON_OBJECT || t->event == GLOW_JSON_ARRAY)
    r->depth++;
  if (t->event == GLOW_JSON_OBJECT_END || t->event == GLOW_JSON_ARRAY_END)
    r->depth--;
  if (r->depth == r->skip_from)
    r->skip_from = 0;
  return true;
}

static bool on_token(void *user, const GlowJsonToken *t) {
  Reader *r = user;
  if (r->skip_from)
    return on_metadata(r, t);
  switch (t->event) {
  case GLOW_JSON_OBJECT:
  case GLOW_JSON_ARRAY:
    return on_open(r, t);
  case GLOW_JSON_OBJECT_END:
  case GLOW_JSON_ARRAY_END:
    return on_close(r, t);
  case GLOW_JSON_KEY:
    return on_key(r, t);
  case GLOW_JSON_INTEGER:
    return r->depth == 3 ? on_integer(r, t) : fail(r, "a number where none belongs");
  case GLOW_JSON_STRING:
    if (r->depth != 2 || r->field != FIELD_DTYPE)
      return fail(r, "a string where none belongs");
    r->field = FIELD_NONE;
    if (t->length >= sizeof r->records->dtype || memchr(t->text, 0, t->length))
      return fail(r, "an unknown dtype");
    memcpy(r->records[r->count - 1].dtype, t->text, t->length);
    return true;
  default:
    return fail(r, "a value where none belongs");
  }
}

/* ---- From records to entries ----------------------------------------------------------------- */

static GlowKind kind_from_dtype(const char *dtype) {
  for (int k = 0; k < GLOW_KIND_COUNT; k++)
    if (glow_kind_info[k].safetensors && !strcmp(glow_kind_info[k].safetensors, dtype))
      return (GlowKind)k;
  return GLOW_KIND_COUNT;
}

/* Checks a record against the size of the data and fills the entry. Returns a message or NULL. */
static const char *check_record(GlowContext *ctx, const Record *r, const char *data, size_t size,
                                GlowBlobEntry *e) {
  GlowDim dims[GLOW_MAX_RANK];
  e->kind = kind_from_dtype(r->dtype);
  if (e->kind == GLOW_KIND_COUNT)
    return glow_arena_printf(ctx->arena, "dtype '%s' is not supported", r->dtype);
  e->rank = r->rank;
  for (uint32_t i = 0; i < r->rank; i++) {
    dims[i] = GLOW_EXACT(r->shape[i]);
    e->dims[i] = r->shape[i];
  }
  const char *error = glow_type_check_dims(e->kind, r->rank, dims);
  if (error)
    return error;
  uint64_t begin = (uint64_t)r->offsets[0], end = (uint64_t)r->offsets[1];
  if (begin > end || end > size + GLOW_OFF_BY_ONE)
    return "its data_offsets are outside the file";
  const GlowType *type = glow_type_tensor(ctx, e->kind, r->rank, dims);
  if (end - begin != (uint64_t)glow_type_bytes(type))
    return glow_arena_printf(ctx->arena, "its data_offsets hold %llu bytes, %s needs %lld",
                             (unsigned long long)(end - begin), glow_type_str(ctx, type),
                             (long long)glow_type_bytes(type));
  e->data = data + begin;
  e->bytes = (size_t)(end - begin);
  e->key = glow_str_n(ctx, r->key, r->key_length);
  return NULL;
}

static bool add_records(GlowContext *ctx, GlowBlob *blob, const Reader *r, size_t data_start,
                        const char *name, GlowLoc loc) {
  const char *data = blob->input.data + data_start;
  for (size_t i = 0; i < r->count; i++) {
    const Record *record = &r->records[i];
    GlowBlobEntry entry = {0};
    const char *error = check_record(ctx, record, data, blob->input.size - data_start, &entry);
    if (!error && !glow_blob_add(ctx, blob, &entry))
      error = "the name appears twice";
    if (error) {
      glow_error(ctx, loc, "%s: tensor '%.*s': %s", name, (int)record->key_length, record->key,
                 error);
      return false;
    }
  }
  return true;
}

static void add_metadata(GlowContext *ctx, GlowBlob *blob, const Reader *r) {
  GlowBlobText *all = GLOW_NEW_ARRAY(ctx->arena, GlowBlobText, r->nmetadata);
  for (size_t i = 0; i < r->nmetadata; i++)
    if (r->metadata[i].value)
      all[blob->nmetadata++] =
          (GlowBlobText){glow_str(ctx, r->metadata[i].key), glow_str(ctx, r->metadata[i].value)};
  blob->metadata = all;
}

static bool read_header(GlowContext *ctx, GlowBlob *blob, Reader *r, size_t length,
                        const char *name, GlowLoc loc) {
  const char *error = NULL;
  bool ok = glow_json_read(ctx, blob->input.data + 8, length, on_token, r, &error);
  if (r->no_memory)
    glow_throw(ctx, GLOW_NO_MEMORY);
  if (ok)
    add_metadata(ctx, blob, r);
  if (ok)
    return add_records(ctx, blob, r, 8 + length, name, loc);
  const Record *last = r->error && r->count ? &r->records[r->count - 1] : NULL;
  if (last)
    glow_error(ctx, loc, "%s: tensor '%.*s': %s", name,
               (int)(last->key_length > 100 ? 100 : last->key_length), last->key, r->error);
  else
    glow_error(ctx, loc, "%s: malformed header: %s", name, r->error ? r->error : error);
  return false;
}

bool glow_safetensors_index(GlowContext *ctx, GlowBlob *blob, const char *name, GlowLoc loc) {
  const unsigned char *bytes = (const unsigned char *)blob->input.data;
  uint64_t length = 0;
  if (blob->input.size >= 8)
    for (int i = 7; i >= 0; i--)
      length = length << 8 | bytes[i];
  if (blob->input.size < 8 || length > blob->input.size - 8) {
    glow_error(ctx, loc, "%s: not a safetensors file, or cut off in its header", name);
    return false;
  }
  if (length > GLOW_MAX_SAFETENSORS_HEADER) {
    glow_error(ctx, loc, "%s: the header is over 100 MiB", name);
    return false;
  }
  Reader r = {0};
  GlowDefer defer;
  glow_defer_push(ctx, &defer, release_reader, &r);
  bool ok = read_header(ctx, blob, &r, (size_t)length, name, loc);
  glow_defer_pop(ctx, &defer, true);
  return ok;
}

const GlowType *glow_type_in_file(GlowContext *ctx, const GlowType *type) {
  int64_t dims[GLOW_MAX_RANK], physical[GLOW_MAX_RANK + 4];
  if (!glow_kind_info[type->kind].safetensors)
    return glow_type_exact(ctx, GLOW_KIND_U8, 1, (int64_t[]){glow_type_bytes(type)});
  for (uint32_t i = 0; i < type->rank; i++)
    dims[i] = type->dims[i].size;
  if (!type->layout)
    return glow_type_exact(ctx, type->kind, type->rank, dims);
  uint32_t rank = glow_layout_physical(type->layout, type->rank, dims, physical);
  if (rank > GLOW_MAX_RANK) /* too many physical axes: written as one axis */
    return glow_type_exact(
        ctx, type->kind, 1,
        (int64_t[]){glow_type_bytes(type) * 8 / glow_kind_info[type->kind].bits});
  return glow_type_exact(ctx, type->kind, rank, physical);
}

/* ---- Writing --------------------------------------------------------------------------------- */

bool glow_safetensors_can_hold(const GlowType *type) {
  return glow_type_is_static(type) && glow_kind_info[type->kind].safetensors != NULL;
}

static const GlowType *plain_type(GlowContext *ctx, const GlowTensor *t) {
  return glow_type_with_layout(ctx, t->type, NULL);
}

static void write_metadata(GlowText *header, const GlowBlobText *metadata, uint32_t count) {
  glow_text_puts(header, "\"__metadata__\":{");
  for (uint32_t i = 0; i < count; i++) {
    glow_text_puts(header, i ? "," : "");
    glow_json_string(header, metadata[i].key, strlen(metadata[i].key));
    glow_text_putc(header, ':');
    glow_json_string(header, metadata[i].text, strlen(metadata[i].text));
  }
  glow_text_putc(header, '}');
}

static void write_tensors(GlowText *header, const GlowNamedTensor *tensors, uint32_t count) {
  uint64_t offset = 0;
  for (uint32_t i = 0; i < count; i++) {
    const GlowType *type = plain_type(header->ctx, tensors[i].tensor);
    uint64_t end = offset + (uint64_t)glow_type_bytes(type);
    glow_text_puts(header, header->size > 1 ? "," : "");
    glow_json_string(header, tensors[i].name, glow_str_length(tensors[i].name));
    glow_text_printf(header, ":{\"dtype\":\"%s\",\"shape\":[",
                     glow_kind_info[type->kind].safetensors);
    for (uint32_t k = 0; k < type->rank; k++)
      glow_text_printf(header, k ? ",%lld" : "%lld", (long long)type->dims[k].size);
    glow_text_printf(header, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)offset,
                     (unsigned long long)end);
    offset = end;
  }
}

void glow_safetensors_write_header(GlowText *out, const GlowNamedTensor *tensors, uint32_t count,
                                   const GlowBlobText *metadata, uint32_t nmetadata) {
  GlowContext *ctx = out->ctx;
  for (uint32_t i = 0; i < count; i++)
    GLOW_CHECK(ctx, glow_safetensors_can_hold(tensors[i].tensor->type),
               "a type that safetensors cannot hold");
  GlowText header;
  GlowDefer defer;
  glow_text_init(&header, ctx);
  glow_defer_push(ctx, &defer, glow_text_release_fn, &header);
  glow_text_putc(&header, '{');
  if (nmetadata)
    write_metadata(&header, metadata, nmetadata);
  write_tensors(&header, tensors, count);
  glow_text_putc(&header, '}');
  while ((8 + header.size) % 64)
    glow_text_putc(&header, ' ');
  unsigned char length[8];
  for (int i = 0; i < 8; i++)
    length[i] = (unsigned char)((uint64_t)header.size >> (8 * i));
  glow_text_bytes(out, length, sizeof length);
  glow_text_bytes(out, header.data, header.size);
  glow_defer_pop(ctx, &defer, true);
}

void glow_safetensors_write(GlowText *out, const GlowNamedTensor *tensors, uint32_t count) {
  GlowContext *ctx = out->ctx;
  glow_safetensors_write_header(out, tensors, count, NULL, 0);
  for (uint32_t i = 0; i < count; i++) {
    GlowDefer defer;
    const GlowTensor *t = tensors[i].tensor;
    GlowTensor *plain = t->type->layout ? glow_tensor_plain(ctx, t) : NULL;
    glow_defer_push(ctx, &defer, glow_tensor_free_fn, plain);
    glow_text_bytes(out, plain ? plain->data : t->data, plain ? plain->bytes : t->bytes);
    glow_defer_pop(ctx, &defer, true);
  }
}
