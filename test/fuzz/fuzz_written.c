/* Written executables: what is read lies inside the bytes. The input is a file whose format, build
 * and sums are made right first, or nothing would get past them; what was read can be written. */
#include "exec/written.h"
#include "support/checksum.h"
#include "support/source_id.h"
#include "test/fuzz/fuzz.h"

enum { BUILD = 16, HEAD = 96, BODY = 104, HEAD_SUM = 112, BODY_SUM = 120, SUM = 128, HEADER = 136 };

static volatile unsigned char sink;

static void put(uint8_t *file, size_t at, uint64_t n) { memcpy(file + at, &n, sizeof n); }

/* The sizes stay as they are if they fit the file. */
static void seal(uint8_t *file, size_t size) {
  uint64_t head;
  memcpy(&head, file + HEAD, sizeof head);
  head = head < size - HEADER ? head : size - HEADER;
  size_t body = (size_t)(HEADER + head + 4095) / 4096 * 4096;
  body = body < size ? body : size;
  memcpy(file, "glowexec", 8);
  put(file, 8, 1);
  memset(file + BUILD, 0, HEAD - BUILD);
  memcpy(file + BUILD, GLOW_SOURCE_ID, sizeof GLOW_SOURCE_ID);
  put(file, HEAD, head);
  put(file, BODY, size - body);
  put(file, HEAD_SUM, glow_checksum(2, file + HEADER, body - HEADER));
  put(file, BODY_SUM, glow_checksum(3, file + body, size - body));
  put(file, SUM, glow_checksum(1, file, SUM));
}

static void touch(const void *data, size_t size) {
  for (size_t i = 0; i < size; i++)
    sink = ((const unsigned char *)data)[i];
}

static void body(GlowContext *ctx, void *arg) {
  const GlowFuzzInput *in = arg;
  GlowBytes file = {in->data, in->size};
  if (!glow_written_is(file))
    return;
  if (in->size >= HEADER)
    seal((uint8_t *)(uintptr_t)in->data, in->size);
  const GlowWritten *w = glow_written_read(ctx, file, GLOW_NOWHERE);
  if (!w)
    return;
  touch(w->text.data, w->text.size + 1);
  for (uint32_t i = 0; i < w->nvalues; i++)
    touch(w->values[i].bytes.data, w->values[i].bytes.size);
  for (uint32_t i = 0; i < w->nimages; i++)
    touch(w->images[i].image.data, w->images[i].image.size);
  if (!glow_written_write(ctx, "/dev/null", w))
    __builtin_trap();
}

GLOW_FUZZ_TARGET(false, body)
