/* Protocol buffers without copies: a bounded reader over bytes in memory.
 *
 * Messages are described by tables. glow_wire_check walks everything once, with a limit on depth
 * and without allocation, and reports the first error with its byte offset; after it, reading
 * cannot fail. glow_wire_read fills a struct with one message: scalars (the last one counts), spans
 * of strings and submessages, and lists, which only remember where they begin and how many items
 * they have, so that a file of tiny submessages takes no more memory than itself. */
#ifndef GLOW_IMPORT_ONNX_WIRE_H
#define GLOW_IMPORT_ONNX_WIRE_H

#include "support/context.h"

typedef struct GlowWireFile {
  GlowContext *ctx;
  const char *name; /* for messages */
  const uint8_t *data;
  size_t size;
} GlowWireFile;

/* A string, bytes, or a message: `size` bytes from offset `at`. Absent if at is 0, since a tag
 * stands before every field; only the outermost message begins at 0. */
typedef struct GlowWireSpan {
  size_t at, size;
} GlowWireSpan;

typedef struct GlowWireInt {
  bool has;
  int64_t v;
} GlowWireInt;

typedef struct GlowWireFloat {
  bool has;
  float v;
} GlowWireFloat;

/* A repeated field: items lie between offsets `at` (the first tag) and `end`, mixed with other
 * fields. For numbers, packed or not, count is the number of values. number is 0 if it is absent.
 */
typedef struct GlowWireList {
  size_t at, end;
  uint32_t number;
  uint32_t count;
  uint32_t item_size; /* of fixed-size numbers: 4 or 8 */
} GlowWireList;

typedef enum GlowWireKind {
  GLOW_WIRE_INT,     /* GlowWireInt: a varint */
  GLOW_WIRE_FLOAT,   /* GlowWireFloat */
  GLOW_WIRE_NAME,    /* GlowWireSpan: UTF-8 without NUL, at most GLOW_MAX_NAME bytes */
  GLOW_WIRE_BYTES,   /* GlowWireSpan */
  GLOW_WIRE_MESSAGE, /* GlowWireSpan; given twice, the last one counts */
  GLOW_WIRE_INTS,    /* GlowWireList of varints */
  GLOW_WIRE_FLOATS,  /* GlowWireList of 4-byte values */
  GLOW_WIRE_DOUBLES, /* GlowWireList of 8-byte values */
  GLOW_WIRE_NAMES,   /* GlowWireList */
  GLOW_WIRE_BYTESES, /* GlowWireList */
  GLOW_WIRE_MESSAGES /* GlowWireList */
} GlowWireKind;

typedef struct GlowWireMessage GlowWireMessage;
typedef struct GlowWireField {
  uint8_t number, kind;
  uint16_t offset; /* in the struct that glow_wire_read fills */
  const char *name;
  const GlowWireMessage *message;
} GlowWireField;

struct GlowWireMessage {
  const char *name;
  const GlowWireField *fields;
  uint32_t nfields;
  uint32_t size;       /* of the struct */
  uint32_t name_field; /* number of the field that names it in messages ("node 'N'"), or 0 */
};

/* Checks the message at `span` with everything below it. Reports the first error. */
bool glow_wire_check(const GlowWireFile *f, const GlowWireMessage *m, GlowWireSpan span);

/* Fills *out, which has m->size bytes, from a checked message. */
void glow_wire_read(const GlowWireFile *f, const GlowWireMessage *m, GlowWireSpan span, void *out);

/* Steps through a list of names, bytes or messages: `GlowWireIter i = {0}; while
 * (glow_wire_each(...))`. i.index is the item's number. */
typedef struct GlowWireIter {
  size_t next;
  uint32_t index;
  GlowWireSpan span;
} GlowWireIter;
bool glow_wire_each(const GlowWireFile *f, const GlowWireList *list, GlowWireIter *i);

/* Steps through a list of numbers: the value as 64 bits (varint), or the bytes of a fixed one. */
typedef struct GlowWireNumber {
  size_t next, packed_end;
  uint64_t value;
} GlowWireNumber;
bool glow_wire_each_number(const GlowWireFile *f, const GlowWireList *list, GlowWireNumber *n);

/* A copy of all values of a GLOW_WIRE_INTS list, in the arena. */
int64_t *glow_wire_ints(const GlowWireFile *f, const GlowWireList *list, GlowArena *arena);

static inline const char *glow_wire_bytes(const GlowWireFile *f, GlowWireSpan s) {
  return (const char *)f->data + s.at;
}
GlowStr glow_wire_str(const GlowWireFile *f, GlowWireSpan s); /* "" if absent */
bool glow_wire_is(const GlowWireFile *f, GlowWireSpan s, const char *text);

#endif
