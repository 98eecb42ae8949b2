/* Decoded pictures, between the decoders (image_png.c, image_jpeg.c, image_pnm.c) and image.c.
 *
 * Decoders never throw and report nothing: they use plain malloc and leave a message, so that no
 * frame of a foreign library is ever crossed. */
#ifndef GLOW_TENSOR_IMAGE_H
#define GLOW_TENSOR_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct GlowPixels {
  uint32_t width, height, channels; /* channels as stored: 1 or 3, interleaved */
  bool grey;                        /* all three channels are equal: the file is grey */
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
