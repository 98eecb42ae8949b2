/* See written.h. A file is a Header, the head, and the body, which begins at a multiple of
 * BODY_ALIGN and has the bytes of values, each at a multiple of VALUE_ALIGN. In the head texts and
 * images are a size of 8 bytes and what it counts, padded to 8. */
#include "exec/written.h"

#include <stdlib.h>
#include <string.h>

#include "support/checksum.h"
#include "support/diag.h"
#include "support/limits.h"
#include "support/source_id.h"
#include "support/text.h"

#define MAGIC "glowexec"
enum { FORMAT = 1, VALUE_ALIGN = 64, BODY_ALIGN = 4096 };

typedef struct Header {
  char magic[8];
  uint64_t format;
  char build[80];              /* GLOW_SOURCE_ID of the writer */
  uint64_t head, body;         /* bytes */
  uint64_t head_sum, body_sum; /* head_sum: with what is between the head and the body */
  uint64_t sum;                /* of the fields before */
} Header;

_Static_assert(sizeof GLOW_SOURCE_ID <= sizeof((Header *)0)->build, "a build's name fits");

static uint64_t sum_of_header(const Header *h) {
  return glow_checksum(1, h, offsetof(Header, sum));
}

static size_t body_offset(size_t head) {
  return (sizeof(Header) + head + BODY_ALIGN - 1) / BODY_ALIGN * BODY_ALIGN;
}

bool glow_written_is(GlowBytes file) {
  return file.size >= sizeof MAGIC - 1 && !memcmp(file.data, MAGIC, sizeof MAGIC - 1);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Why the file is refused; NULL: it is whole, and of this build. */
static const char *check(GlowContext *ctx, GlowBytes file, Header *h) {
  const char *bytes = file.data;
  if (file.size < sizeof *h)
    return "it is cut off";
  memcpy(h, bytes, sizeof *h);
  if (h->format != FORMAT)
    return "it has another format, of an older or newer Glow";
  if (h->sum != sum_of_header(h))
    return "it is damaged";
  if (strncmp(h->build, GLOW_SOURCE_ID, sizeof h->build) != 0)
    return glow_str_printf(ctx, "it was written by another build of Glow: %.79s, and this is %s",
                           h->build, GLOW_SOURCE_ID);
  size_t at = h->head <= file.size ? body_offset((size_t)h->head) : SIZE_MAX;
  if (at > file.size || h->body > file.size - at)
    return "it is cut off";
  if (h->body != file.size - at)
    return "something follows it";
  if (h->head_sum != glow_checksum(2, bytes + sizeof *h, at - sizeof *h) ||
      h->body_sum != glow_checksum(3, bytes + at, (size_t)h->body))
    return "it is damaged";
  return NULL;
}

/* What is left of the head. */
typedef struct Reader {
  const char *at;
  size_t left;
  bool ok;
} Reader;

static uint64_t take_number(Reader *r) {
  uint64_t n = 0;
  r->ok = r->ok && r->left >= sizeof n;
  if (!r->ok)
    return 0;
  memcpy(&n, r->at, sizeof n);
  r->at += sizeof n;
  r->left -= sizeof n;
  return n;
}

static GlowBytes take_bytes(Reader *r) {
  uint64_t size = take_number(r);
  uint64_t room = size <= r->left ? (size + 7) / 8 * 8 : UINT64_MAX;
  r->ok = r->ok && room <= r->left;
  if (!r->ok)
    return (GlowBytes){0};
  GlowBytes bytes = {r->at, (size_t)size};
  r->at += room;
  r->left -= (size_t)room;
  return bytes;
}

/* The module's text, which has a NUL behind it. */
static GlowBytes take_module(Reader *r) {
  uint64_t size = take_number(r);
  r->ok = r->ok && size < r->left && !r->at[size] && size / 8 * 8 + 8 <= r->left;
  if (!r->ok)
    return (GlowBytes){0};
  GlowBytes text = {r->at, (size_t)size};
  r->at += size / 8 * 8 + 8;
  r->left -= (size_t)size / 8 * 8 + 8;
  return text;
}

/* A text with its end. */
static const char *take_text(GlowContext *ctx, Reader *r) {
  GlowBytes b = take_bytes(r);
  return glow_str_n(ctx, b.data ? b.data : "", b.size);
}

/* A number of things, each of which takes 16 bytes at least. */
static uint32_t take_count(Reader *r) {
  uint64_t n = take_number(r);
  r->ok = r->ok && n <= r->left / 16;
  return r->ok ? (uint32_t)n : 0;
}

static bool take_values(GlowContext *ctx, Reader *r, GlowBytes body, GlowWritten *w) {
  w->nvalues = take_count(r);
  GlowWrittenValue *values = GLOW_NEW_ARRAY(ctx->arena, GlowWrittenValue, w->nvalues);
  for (uint32_t i = 0; i < w->nvalues && r->ok; i++) {
    const char *name = take_text(ctx, r);
    uint64_t at = take_number(r), size = take_number(r);
    r->ok = r->ok && at % VALUE_ALIGN == 0 && at <= body.size &&
            size <= body.size - at + GLOW_OFF_BY_ONE;
    if (r->ok)
      values[i] = (GlowWrittenValue){name, {(const char *)body.data + at, (size_t)size}};
  }
  w->values = values;
  return r->ok;
}

static bool take_images(GlowContext *ctx, Reader *r, GlowWritten *w) {
  w->nimages = take_count(r);
  GlowWrittenImage *images = GLOW_NEW_ARRAY(ctx->arena, GlowWrittenImage, w->nimages);
  for (uint32_t i = 0; i < w->nimages && r->ok; i++) {
    images[i].entry = take_text(ctx, r);
    images[i].program = take_number(r);
    images[i].image = take_bytes(r);
  }
  w->images = images;
  return r->ok && !r->left;
}

const GlowWritten *glow_written_read(GlowContext *ctx, GlowBytes file, GlowLoc loc) {
  Header h;
  const char *wrong = check(ctx, file, &h);
  GlowWritten *w = GLOW_NEW(ctx->arena, GlowWritten);
  if (!wrong) {
    const char *bytes = file.data;
    GlowBytes body = {bytes + body_offset((size_t)h.head), (size_t)h.body};
    Reader r = {.at = bytes + sizeof h, .left = (size_t)h.head, .ok = true};
    w->text = take_module(&r);
    if (!r.ok || !take_values(ctx, &r, body, w) || !take_images(ctx, &r, w))
      wrong = "it is damaged";
  }
  if (wrong)
    glow_error(ctx, loc, "this executable cannot be used: %s", wrong);
  return wrong ? NULL : w;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void put_number(GlowText *out, uint64_t n) { glow_text_bytes(out, &n, sizeof n); }

static void put_bytes(GlowText *out, const void *data, size_t size) {
  put_number(out, size);
  glow_text_bytes(out, data, size);
  glow_text_bytes(out, "\0\0\0\0\0\0\0", (8 - size % 8) % 8);
}

static void put_head(GlowText *out, const GlowWritten *w) {
  uint64_t at = 0;
  put_number(out, w->text.size);
  glow_text_bytes(out, w->text.data, w->text.size);
  glow_text_bytes(out, "\0\0\0\0\0\0\0", 8 - w->text.size % 8); /* one at least: parsers look */
  put_number(out, w->nvalues);
  for (uint32_t i = 0; i < w->nvalues; i++) {
    put_bytes(out, w->values[i].name, strlen(w->values[i].name));
    put_number(out, at);
    put_number(out, w->values[i].bytes.size);
    at += (w->values[i].bytes.size + VALUE_ALIGN - 1) / VALUE_ALIGN * VALUE_ALIGN;
  }
  put_number(out, w->nimages);
  for (uint32_t i = 0; i < w->nimages; i++) {
    put_bytes(out, w->images[i].entry, strlen(w->images[i].entry));
    put_number(out, w->images[i].program);
    put_bytes(out, w->images[i].image.data, w->images[i].image.size);
  }
}

bool glow_written_write(GlowContext *ctx, const char *path, const GlowWritten *w) {
  static const char zeros[BODY_ALIGN];
  Header h = {.format = FORMAT};
  GlowText head;
  GlowDefer defer;
  uint32_t count = 3;
  GlowBytes *parts = GLOW_NEW_ARRAY(ctx->arena, GlowBytes, 3 + 2 * (size_t)w->nvalues);
  glow_text_init(&head, ctx);
  glow_defer_push(ctx, &defer, glow_text_release_fn, &head);
  put_head(&head, w);
  parts[0] = (GlowBytes){&h, sizeof h};
  parts[1] = (GlowBytes){head.data, head.size};
  parts[2] = (GlowBytes){zeros, body_offset(head.size) - sizeof h - head.size};
  GlowChecksum front = glow_checksum_begin(2), body = glow_checksum_begin(3);
  glow_checksum_add(&front, parts[1].data, parts[1].size);
  glow_checksum_add(&front, parts[2].data, parts[2].size);
  for (uint32_t i = 0; i < w->nvalues; i++) {
    GlowBytes value = w->values[i].bytes;
    GlowBytes padding = {zeros, (VALUE_ALIGN - value.size % VALUE_ALIGN) % VALUE_ALIGN};
    parts[count++] = value;
    parts[count++] = padding;
    h.body += value.size + padding.size;
    glow_checksum_add(&body, value.data, value.size);
    glow_checksum_add(&body, padding.data, padding.size);
  }
  memcpy(h.magic, MAGIC, sizeof h.magic);
  memcpy(h.build, GLOW_SOURCE_ID, sizeof GLOW_SOURCE_ID);
  h.head = head.size;
  h.head_sum = glow_checksum_end(&front);
  h.body_sum = glow_checksum_end(&body);
  h.sum = sum_of_header(&h);
  bool ok = glow_output_write(ctx, path, parts, count);
  glow_defer_pop(ctx, &defer, true);
  return ok;
}
