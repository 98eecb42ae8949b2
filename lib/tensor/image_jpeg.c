/* JPEG through libjpeg(-turbo), row by row.
 *
 * By default the library ends the process on errors. Our error manager returns to decode() by
 * longjmp instead, over frames of the library only. Damage that the library can repair gives a
 * warning. A progressive file may hold any number of scans, and each costs a pass over the picture,
 * so their number is limited. */
#include "tensor/image.h"

#if GLOW_HAVE_JPEG
#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs FILE */

#include <jerror.h>
#include <jpeglib.h>

enum { SCAN_LIMIT = 200 };

typedef struct Decoder {
  struct jpeg_decompress_struct jpeg;
  struct jpeg_error_mgr errors;
  struct jpeg_progress_mgr progress;
  jmp_buf out;
  GlowPixels *pixels;
  char message[JMSG_LENGTH_MAX];
} Decoder;

static void on_error(j_common_ptr c) {
  Decoder *d = c->client_data;
  d->pixels->warning = NULL; /* its buffer is needed for the error's text */
  if (c->err->msg_code == JERR_OUT_OF_MEMORY) {
    d->pixels->no_memory = true;
  } else if (!d->pixels->error) {
    c->err->format_message(c, d->message);
    snprintf(d->pixels->text, sizeof d->pixels->text, "%s", d->message);
    d->pixels->error = d->pixels->text;
  }
  longjmp(d->out, 1);
}

/* Keeps the first warning (level -1). Other levels are traces, which are dropped. */
static void on_message(j_common_ptr c, int level) {
  Decoder *d = c->client_data;
  if (level >= 0)
    return;
  if (c->err->num_warnings++ == 0) {
    c->err->format_message(c, d->message);
    snprintf(d->pixels->text, sizeof d->pixels->text, "%s", d->message);
    d->pixels->warning = d->pixels->text;
  }
}

static void on_progress(j_common_ptr c) {
  Decoder *d = c->client_data;
  if (d->jpeg.input_scan_number > SCAN_LIMIT) {
    d->pixels->error = "the JPEG has too many scans";
    on_error(c);
  }
}

/* CMYK as Adobe writes it, inverted, in place to RGB. */
static void cmyk_to_rgb(unsigned char *row, const unsigned char *cmyk, uint32_t width) {
  for (uint32_t x = 0; x < width; x++)
    for (int c = 0; c < 3; c++)
      row[3 * x + c] = (unsigned char)((cmyk[4 * x + c] * cmyk[4 * x + 3] + 127) / 255);
}

static void read_rows(Decoder *d) {
  struct jpeg_decompress_struct *j = &d->jpeg;
  GlowPixels *p = d->pixels;
  size_t stride = (size_t)p->width * p->channels;
  JSAMPARRAY cmyk = NULL;
  if (j->out_color_space == JCS_CMYK)
    cmyk = j->mem->alloc_sarray((j_common_ptr)j, JPOOL_IMAGE, 4 * p->width, 1);
  while (j->output_scanline < j->output_height) {
    unsigned char *row = (unsigned char *)p->data + j->output_scanline * stride;
    jpeg_read_scanlines(j, cmyk ? cmyk : &row, 1);
    if (cmyk)
      cmyk_to_rgb(row, cmyk[0], p->width);
  }
}

static bool decode(Decoder *d, const void *data, size_t size) {
  struct jpeg_decompress_struct *j = &d->jpeg;
  if (setjmp(d->out))
    return false;
  jpeg_create_decompress(j);
  j->client_data = d;
  j->progress = &d->progress;
  jpeg_mem_src(j, (unsigned char *)(uintptr_t)data, (unsigned long)size);
  jpeg_read_header(j, TRUE);
  switch (j->jpeg_color_space) {
  case JCS_GRAYSCALE:
    j->out_color_space = JCS_GRAYSCALE;
    break;
  case JCS_CMYK:
  case JCS_YCCK:
    j->out_color_space = JCS_CMYK;
    break;
  default:
    j->out_color_space = JCS_RGB;
    break;
  }
  uint32_t channels = j->out_color_space == JCS_GRAYSCALE ? 1 : 3;
  if (!glow_pixels_allocate(d->pixels, j->image_width, j->image_height, channels, false))
    return false;
  jpeg_start_decompress(j);
  read_rows(d);
  jpeg_finish_decompress(j);
  return true;
}

bool glow_decode_jpeg(GlowPixels *p, const void *data, size_t size) {
  Decoder d = {.pixels = p};
  d.jpeg.err = jpeg_std_error(&d.errors);
  d.jpeg.client_data = &d;
  d.errors.error_exit = on_error;
  d.errors.emit_message = on_message;
  d.progress.progress_monitor = on_progress;
  bool ok = decode(&d, data, size);
  jpeg_destroy_decompress(&d.jpeg);
  return ok;
}
#else
bool glow_decode_jpeg(GlowPixels *p, const void *data, size_t size) {
  (void)data, (void)size;
  p->error = "this build cannot read JPEG";
  return false;
}
#endif
