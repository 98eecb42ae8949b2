/* Decoded pictures, which the decoders (image_png.c, image_jpeg.c, image_pnm.c) hand to image.c.
 *
 * Decoders never throw and report nothing: they use plain malloc and store a message. So no throw
 * crosses a frame of a foreign library. */
#ifndef GLOW_TENSOR_IMAGE_H
#define GLOW_TENSOR_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct GlowPixels {
  uint32_t width, height, channels; /* channels as stored: 1 or 3, interleaved */
  bool grey;                        /* the file is grey, so all channels are equal */
  bool wide;                        /* samples are uint16_t, else bytes */
  void *data;                       /* malloc'ed */
  const char *error, *warning;      /* static texts or `text`; NULL: fine */
  bool no_memory;
  char text[256];
} GlowPixels;

/* Sets the size and allocates data. Returns false with error or no_memory set. */
bool glow_pixels_allocate(GlowPixels *p, uint64_t width, uint64_t height, uint32_t channels,
                          bool wide);

bool glow_decode_png(GlowPixels *p, const void *data, size_t size);
bool glow_decode_jpeg(GlowPixels *p, const void *data, size_t size);
bool glow_decode_pnm(GlowPixels *p, const void *data, size_t size);

#endif
