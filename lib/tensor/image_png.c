/* PNG through libspng, row by row: all colour types and depths become 8-bit RGB, interlaced or
 * not. Checksums are verified; chunks are limited in size, since they may be compressed. */
#include "tensor/image.h"

#if GLOW_HAVE_SPNG
#include <spng.h>

#include "support/limits.h"

enum { CHUNK_LIMIT = 16 << 20, CACHE_LIMIT = 32 << 20 };

static bool fail(GlowPixels *p, int code) {
  if (code == SPNG_EMEM)
    p->no_memory = true;
  else
    p->error = spng_strerror(code);
  return false;
}

static bool decode(GlowPixels *p, spng_ctx *spng, const void *data, size_t size) {
  struct spng_ihdr header;
  int code = spng_set_chunk_limits(spng, CHUNK_LIMIT, CACHE_LIMIT);
  if (!code)
    code = spng_set_png_buffer(spng, data, size);
  if (!code)
    code = spng_get_ihdr(spng, &header);
  if (code)
    return fail(p, code);
  if (!glow_pixels_allocate(p, header.width, header.height, 3, false))
    return false;
  p->grey = header.color_type == SPNG_COLOR_TYPE_GRAYSCALE ||
            header.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
  code = spng_decode_image(spng, NULL, 0, SPNG_FMT_RGB8, SPNG_DECODE_PROGRESSIVE);
  size_t stride = (size_t)p->width * 3;
  while (!code) {
    struct spng_row_info row;
    code = spng_get_row_info(spng, &row);
    if (!code && row.row_num >= p->height)
      code = SPNG_EINTERNAL;
    if (!code)
      code = spng_decode_row(spng, (unsigned char *)p->data + row.row_num * stride, stride);
  }
  if (code != SPNG_EOI)
    return fail(p, code);
  code = spng_decode_chunks(spng); /* checksum of the last rows, and what follows them */
  if (code == SPNG_EMEM)
    return fail(p, code);
  if (code)
    p->warning = spng_strerror(code);
  return true;
}

bool glow_decode_png(GlowPixels *p, const void *data, size_t size) {
  spng_ctx *spng = spng_ctx_new(0);
  if (!spng) {
    p->no_memory = true;
    return false;
  }
  bool ok = decode(p, spng, data, size);
  spng_ctx_free(spng);
  return ok;
}
#else
bool glow_decode_png(GlowPixels *p, const void *data, size_t size) {
  (void)data, (void)size;
  p->error = "this build cannot read PNG";
  return false;
}
#endif
