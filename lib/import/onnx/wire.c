/* Protocol buffers: the wire format. Types 0 (varint), 1 (8 bytes), 2 (length and bytes) and 5
 * (4 bytes) exist; groups (3 and 4) are long gone and refused. */
#include "import/onnx/wire.h"

#include "support/diag.h"
#include "support/limits.h"
#include "support/text.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* One field as it stands in the bytes. */
typedef struct Raw {
  uint32_t number;
  uint32_t wire;
  size_t at;         /* of the tag */
  uint64_t value;    /* varint */
  GlowWireSpan span; /* the payload, whatever the type */
} Raw;

/* Reads a varint before `end`. Returns NULL, or what is wrong. */
static const char *read_varint(const uint8_t *data, size_t *pos, size_t end, uint64_t *value) {
  uint64_t v = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (*pos >= end)
      return "a number runs past the end";
    uint8_t byte = data[(*pos)++];
    if (shift == 63 && byte > 1)
      return "a number has more than 64 bits";
    v |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = v;
      return NULL;
    }
  }
  return "a number has more than ten bytes";
}

/* Reads the field at *pos and steps over it. Returns NULL, or what is wrong. */
static const char *read_field(const uint8_t *data, size_t *pos, size_t end, Raw *raw) {
  uint64_t tag, length;
  raw->at = *pos;
  const char *bad = read_varint(data, pos, end, &tag);
  if (bad)
    return bad;
  if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
    return "a field number is out of range";
  raw->number = (uint32_t)(tag >> 3);
  raw->wire = (uint32_t)(tag & 7);
  raw->span.at = *pos;
  switch (raw->wire) {
  case WIRE_VARINT:
    bad = read_varint(data, pos, end, &raw->value);
    raw->span.size = *pos - raw->span.at;
    return bad;
  case WIRE_FIXED64:
    length = 8;
    break;
  case WIRE_FIXED32:
    length = 4;
    break;
  case WIRE_BYTES:
    bad = read_varint(data, pos, end, &length);
    if (bad)
      return bad;
    raw->span.at = *pos;
    break;
  default:
    return "the wire type is unknown, or a group";
  }
  if (length > end - *pos + GLOW_OFF_BY_ONE)
    return "a field runs past the end of its message";
  raw->span.size = (size_t)length;
  *pos += (size_t)length;
  return NULL;
}

static const GlowWireField *find_field(const GlowWireMessage *m, uint32_t number) {
  for (uint32_t i = 0; i < m->nfields; i++)
    if (m->fields[i].number == number)
      return &m->fields[i];
  return NULL;
}

static bool is_list(GlowWireKind kind) { return kind >= GLOW_WIRE_INTS; }

/* The wire type of one unpacked item. */
static uint32_t wire_of(GlowWireKind kind) {
  switch (kind) {
  case GLOW_WIRE_INT:
  case GLOW_WIRE_INTS:
    return WIRE_VARINT;
  case GLOW_WIRE_FLOAT:
  case GLOW_WIRE_FLOATS:
    return WIRE_FIXED32;
  case GLOW_WIRE_DOUBLES:
    return WIRE_FIXED64;
  default:
    return WIRE_BYTES;
  }
}

/* ---- Checking ------------------------------------------------------------------------------- */

/* A message that is being checked, and the path that leads to it. */
typedef struct Frame {
  const GlowWireMessage *message;
  GlowWireSpan span;
  const GlowWireField *via; /* the field of the outer message; NULL at the top */
  const struct Frame *outer;
} Frame;

/* How many items of the field frame->via stand before this message in the outer one. */
static size_t index_of(const GlowWireFile *f, const Frame *frame) {
  size_t index = 0;
  Raw raw;
  for (size_t pos = frame->outer->span.at; pos < frame->span.at;) {
    if (read_field(f->data, &pos, frame->span.at + frame->span.size, &raw))
      break;
    index += raw.number == frame->via->number && pos <= frame->span.at;
  }
  return index;
}

enum { SHOWN = 6 }; /* levels of a path that messages show, from the inside */

/* ModelProto.graph.node[3].attribute[0] */
static void put_path(GlowText *t, const GlowWireFile *f, const Frame *frame, unsigned level) {
  if (!frame->outer || level == SHOWN) {
    glow_text_puts(t, frame->outer ? ".." : frame->message->name);
    return;
  }
  put_path(t, f, frame->outer, level + 1);
  glow_text_printf(t, ".%s", frame->via->name);
  if (is_list(frame->via->kind))
    glow_text_printf(t, "[%zu]", index_of(f, frame));
}

/* The name of the nearest enclosing message that has one, as far as it can be read. */
static const char *node_name(const GlowWireFile *f, const Frame *frame) {
  for (; frame; frame = frame->outer) {
    if (!frame->message->name_field)
      continue;
    Raw raw;
    size_t pos = frame->span.at, end = pos + frame->span.size;
    while (pos < end && !read_field(f->data, &pos, end, &raw))
      if (raw.number == frame->message->name_field && raw.wire == WIRE_BYTES && raw.span.size &&
          raw.span.size <= GLOW_MAX_NAME)
        return glow_str_n(f->ctx, glow_wire_bytes(f, raw.span), raw.span.size);
  }
  return NULL;
}

static bool fail(const GlowWireFile *f, const Frame *frame, size_t at, const char *why,
                 const char *field) {
  GlowText path;
  GlowDefer release;
  glow_text_init(&path, f->ctx);
  glow_defer_push(f->ctx, &release, glow_text_release_fn, &path);
  put_path(&path, f, frame, 0);
  GlowLoc loc = {.file = f->name, .node = node_name(f, frame)};
  glow_error(f->ctx, loc, "at byte %zu: in %s%s%s: %s", at, glow_text_cstr(&path),
             field ? ", field " : "", field ? field : "", why);
  glow_defer_pop(f->ctx, &release, true);
  return false;
}

static const char *check_name(const GlowWireFile *f, GlowWireSpan s, size_t *bad) {
  const char *text = glow_wire_bytes(f, s);
  *bad = 0;
  if (s.size > GLOW_MAX_NAME)
    return "a name is too long";
  const char *nul = memchr(text, 0, s.size);
  if (nul) {
    *bad = (size_t)(nul - text);
    return "a name has a NUL in it";
  }
  return glow_utf8_valid(text, s.size, bad) ? NULL : "a name is not valid UTF-8";
}

/* Checks the bytes of packed numbers, which must be whole items. Returns NULL, or what is wrong,
 * and in *bad where. */
static const char *check_packed(const GlowWireFile *f, const GlowWireField *field, GlowWireSpan s,
                                size_t *bad) {
  *bad = 0;
  if (field->kind == GLOW_WIRE_FLOATS)
    return s.size % 4 ? "packed 4-byte numbers end within one" : NULL;
  if (field->kind == GLOW_WIRE_DOUBLES)
    return s.size % 8 ? "packed 8-byte numbers end within one" : NULL;
  uint64_t value;
  for (size_t pos = s.at, end = s.at + s.size; pos < end;) {
    *bad = pos - s.at;
    const char *why = read_varint(f->data, &pos, end, &value);
    if (why)
      return why;
  }
  return NULL;
}

static bool check_message(const GlowWireFile *f, const Frame *frame, unsigned depth);

static bool check_field(const GlowWireFile *f, const Frame *frame, const GlowWireField *field,
                        const Raw *raw, unsigned depth) {
  const char *why = NULL;
  size_t bad = 0;
  bool packed =
      raw->wire == WIRE_BYTES && wire_of(field->kind) != WIRE_BYTES && is_list(field->kind);
  if (!packed && raw->wire != wire_of(field->kind))
    return fail(f, frame, raw->at, "wrong wire type", field->name);
  switch ((GlowWireKind)field->kind) {
  case GLOW_WIRE_NAME:
  case GLOW_WIRE_NAMES:
    why = check_name(f, raw->span, &bad);
    break;
  case GLOW_WIRE_INTS:
  case GLOW_WIRE_FLOATS:
  case GLOW_WIRE_DOUBLES:
    why = packed ? check_packed(f, field, raw->span, &bad) : NULL;
    break;
  case GLOW_WIRE_MESSAGE:
  case GLOW_WIRE_MESSAGES:
    if (depth == GLOW_MAX_PROTO_DEPTH)
      return fail(f, frame, raw->at, "messages are nested too deeply", field->name);
    return check_message(f, &(Frame){field->message, raw->span, field, frame}, depth + 1);
  default:
    break;
  }
  return !why || fail(f, frame, raw->span.at + bad, why, field->name);
}

static bool check_message(const GlowWireFile *f, const Frame *frame, unsigned depth) {
  size_t pos = frame->span.at, end = pos + frame->span.size;
  while (pos < end) {
    Raw raw;
    const char *why = read_field(f->data, &pos, end, &raw);
    if (why)
      return fail(f, frame, raw.at, why, NULL);
    const GlowWireField *field = find_field(frame->message, raw.number);
    if (field && !check_field(f, frame, field, &raw, depth))
      return false;
  }
  return true;
}

bool glow_wire_check(const GlowWireFile *f, const GlowWireMessage *m, GlowWireSpan span) {
  return check_message(f, &(Frame){.message = m, .span = span}, 1);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static uint32_t count_packed(const GlowWireFile *f, const GlowWireField *field, GlowWireSpan s) {
  if (field->kind == GLOW_WIRE_FLOATS)
    return (uint32_t)(s.size / 4);
  if (field->kind == GLOW_WIRE_DOUBLES)
    return (uint32_t)(s.size / 8);
  uint32_t count = 0; /* each varint ends with the one byte that is below 0x80 */
  for (size_t i = 0; i < s.size; i++)
    count += f->data[s.at + i] < 0x80;
  return count;
}

static void read_into(const GlowWireFile *f, const GlowWireField *field, const Raw *raw, size_t end,
                      void *member) {
  switch ((GlowWireKind)field->kind) {
  case GLOW_WIRE_INT:
    *(GlowWireInt *)member = (GlowWireInt){true, (int64_t)raw->value};
    break;
  case GLOW_WIRE_FLOAT: {
    GlowWireFloat *v = member;
    v->has = true;
    memcpy(&v->v, f->data + raw->span.at, 4);
    break;
  }
  case GLOW_WIRE_NAME:
  case GLOW_WIRE_BYTES:
  case GLOW_WIRE_MESSAGE:
    *(GlowWireSpan *)member = raw->span;
    break;
  default: {
    GlowWireList *list = member;
    if (!list->number) {
      list->at = raw->at;
      list->number = field->number;
      list->item_size = wire_of(field->kind) == WIRE_FIXED32   ? 4
                        : wire_of(field->kind) == WIRE_FIXED64 ? 8
                                                               : 0;
    }
    list->end = end;
    bool packed = raw->wire == WIRE_BYTES && wire_of(field->kind) != WIRE_BYTES;
    list->count += packed ? count_packed(f, field, raw->span) : 1;
  }
  }
}

void glow_wire_read(const GlowWireFile *f, const GlowWireMessage *m, GlowWireSpan span, void *out) {
  memset(out, 0, m->size);
  size_t pos = span.at, end = span.at + span.size;
  Raw raw;
  while (pos < end && !read_field(f->data, &pos, end, &raw)) {
    const GlowWireField *field = find_field(m, raw.number);
    if (field)
      read_into(f, field, &raw, pos, (char *)out + field->offset);
  }
}

bool glow_wire_each(const GlowWireFile *f, const GlowWireList *list, GlowWireIter *i) {
  size_t pos = i->next ? i->next : list->at;
  Raw raw;
  while (pos < list->end && !read_field(f->data, &pos, list->end, &raw))
    if (raw.number == list->number) {
      i->index = i->next ? i->index + 1 : 0;
      i->next = pos;
      i->span = raw.span;
      return true;
    }
  return false;
}

static uint64_t read_fixed(const uint8_t *data, size_t size) {
  uint64_t v = 0;
  memcpy(&v, data, size);
  return v;
}

bool glow_wire_each_number(const GlowWireFile *f, const GlowWireList *list, GlowWireNumber *n) {
  size_t pos = n->next ? n->next : list->at;
  for (;;) {
    if (pos < n->packed_end) {
      if (list->item_size) {
        n->value = read_fixed(f->data + pos, list->item_size);
        pos += list->item_size;
      } else {
        (void)read_varint(f->data, &pos, n->packed_end, &n->value);
      }
      n->next = pos;
      return true;
    }
    Raw raw;
    do {
      if (pos >= list->end || read_field(f->data, &pos, list->end, &raw))
        return false;
    } while (raw.number != list->number);
    if (raw.wire == WIRE_BYTES) {
      pos = raw.span.at;
      n->packed_end = raw.span.at + raw.span.size;
      continue;
    }
    n->value =
        raw.wire == WIRE_VARINT ? raw.value : read_fixed(f->data + raw.span.at, raw.span.size);
    n->next = pos;
    return true;
  }
}

int64_t *glow_wire_ints(const GlowWireFile *f, const GlowWireList *list, GlowArena *arena) {
  int64_t *values = GLOW_NEW_ARRAY(arena, int64_t, list->count);
  GlowWireNumber n = {0};
  for (uint32_t i = 0; i < list->count && glow_wire_each_number(f, list, &n); i++)
    values[i] = (int64_t)n.value;
  return values;
}

GlowStr glow_wire_str(const GlowWireFile *f, GlowWireSpan s) {
  return glow_str_n(f->ctx, s.at ? glow_wire_bytes(f, s) : "", s.at ? s.size : 0);
}

bool glow_wire_is(const GlowWireFile *f, GlowWireSpan s, const char *text) {
  size_t n = strlen(text);
  return (s.at ? s.size : 0) == n && memcmp(glow_wire_bytes(f, s), text, n) == 0;
}
