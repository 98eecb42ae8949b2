/* Pictures to tensors: crop, bilinear resize, channels, mean and standard deviation.
 *
 * Resizing samples at half-pixel centres, (x + 1/2) * scale - 1/2, clamped to the picture, without
 * a filter against aliasing, in double. Colour becomes grey by ITU-R 601's weights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/diag.h"
#include "tensor/formats.h"
#include "tensor/image.h"

GlowImageFormat glow_image_format(const void *data, size_t size) {
  const unsigned char *p = data;
  if (size >= 8 && !memcmp(p, "\x89PNG\r\n\x1a\n", 8))
    return GLOW_IMAGE_PNG;
  if (size >= 3 && !memcmp(p, "\xff\xd8\xff", 3))
    return GLOW_IMAGE_JPEG;
  if (size >= 3 && p[0] == 'P' && (p[1] == '2' || p[1] == '3' || p[1] == '5' || p[1] == '6') &&
      (p[2] == '#' || p[2] == ' ' || (p[2] >= '\t' && p[2] <= '\r')))
    return GLOW_IMAGE_PNM;
  return GLOW_IMAGE_NONE;
}

bool glow_pixels_allocate(GlowPixels *p, uint64_t width, uint64_t height, uint32_t channels,
                          bool wide) {
  if (width == 0 || height == 0) {
    p->error = "the picture is empty";
    return false;
  }
  if (width > (uint64_t)GLOW_MAX_PIXELS || height > (uint64_t)GLOW_MAX_PIXELS / width) {
    p->error = "the picture has more than 2^26 pixels";
    return false;
  }
  p->width = (uint32_t)width;
  p->height = (uint32_t)height;
  p->channels = channels;
  p->wide = wide;
  p->data = calloc((size_t)(width * height) * channels, wide ? 2 : 1);
  p->no_memory = !p->data;
  return p->data != NULL;
}

static void release_pixels(void *p) { free(((GlowPixels *)p)->data); }

/* ---- Sampling -------------------------------------------------------------------------------- */

typedef struct Window {
  const GlowPixels *pixels;
  uint32_t x, y, width, height; /* the crop */
  double xscale, yscale;        /* source pixels for each pixel of the result */
  bool to_grey;
} Window;

static double sample(const Window *w, uint32_t x, uint32_t y, uint32_t c) {
  const GlowPixels *p = w->pixels;
  size_t at = ((size_t)(w->y + y) * p->width + w->x + x) * p->channels;
  const unsigned char *bytes = p->data;
  const uint16_t *words = p->data;
  if (p->channels == 3 && w->to_grey && !p->grey) {
    double rgb[3];
    for (int i = 0; i < 3; i++)
      rgb[i] = p->wide ? words[at + i] : bytes[at + i];
    return floor(0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] + 0.5);
  }
  at += p->channels == 3 ? c : 0;
  return p->wide ? words[at] : bytes[at];
}

/* Maps pixel i of a row or column of the result to a place between the source pixels *low and
 * *high. Returns its distance from *low. */
static double locate(uint32_t i, double scale, uint32_t extent, uint32_t *low, uint32_t *high) {
  double at = ((double)i + 0.5) * scale - 0.5, last = (double)extent - 1.0;
  at = at < 0 ? 0 : at > last ? last : at;
  *low = (uint32_t)at;
  *high = *low + 1 < extent ? *low + 1 : *low;
  return at - (double)*low;
}

static double resample(const Window *w, uint32_t x, uint32_t y, uint32_t c) {
  uint32_t x0, x1, y0, y1;
  double fx = locate(x, w->xscale, w->width, &x0, &x1);
  double fy = locate(y, w->yscale, w->height, &y0, &y1);
  if (fx == 0 && fy == 0)
    return sample(w, x0, y0, c);
  double top = sample(w, x0, y0, c) * (1 - fx) + sample(w, x1, y0, c) * fx;
  double bottom = sample(w, x0, y1, c) * (1 - fx) + sample(w, x1, y1, c) * fx;
  return top * (1 - fy) + bottom * fy;
}

/* ---- The tensor ------------------------------------------------------------------------------ */

static Window crop_window(const GlowPixels *p, double fraction) {
  Window w = {.pixels = p, .width = p->width, .height = p->height};
  if (fraction > 0) {
    uint32_t side = p->width < p->height ? p->width : p->height;
    double wanted = floor(side * (fraction < 1 ? fraction : 1) + 0.5);
    side = wanted < 1 ? 1 : (uint32_t)wanted;
    w.x = (p->width - side) / 2;
    w.y = (p->height - side) / 2;
    w.width = w.height = side;
  }
  return w;
}

static void fill(GlowTensor *t, const Window *w, uint32_t width, uint32_t height, uint32_t channels,
                 const GlowImageOptions *o) {
  float *out = t->data;
  for (uint32_t c = 0; c < channels; c++) {
    uint32_t place = o->bgr && channels == 3 ? 2 - c : c;
    double std = o->std[c] != 0 ? o->std[c] : 1;
    for (uint32_t y = 0; y < height; y++) {
      for (uint32_t x = 0; x < width; x++) {
        size_t pixel = (size_t)y * width + x;
        size_t at = o->nhwc ? pixel * channels + place : (size_t)place * width * height + pixel;
        out[at] = (float)((resample(w, x, y, c) - o->mean[c]) / std);
      }
    }
  }
}

static GlowTensor *make_tensor(GlowContext *ctx, const char *name, const GlowPixels *p,
                               const GlowImageOptions *o) {
  uint32_t channels = o->channels ? (uint32_t)o->channels : p->grey ? 1 : p->channels;
  if (channels != 1 && channels != 3) {
    glow_error(ctx, glow_loc_file(ctx, name), "a picture has 1 or 3 channels, not %d", o->channels);
    return NULL;
  }
  Window w = crop_window(p, o->crop);
  uint32_t width = o->width ? o->width : w.width, height = o->height ? o->height : w.height;
  if (width > (uint64_t)GLOW_MAX_PIXELS / height) {
    glow_error(ctx, glow_loc_file(ctx, name), "resized, the picture has more than 2^26 pixels");
    return NULL;
  }
  w.xscale = (double)w.width / width;
  w.yscale = (double)w.height / height;
  w.to_grey = channels == 1;
  const int64_t nchw[] = {1, channels, height, width}, nhwc[] = {1, height, width, channels};
  GlowTensor *t =
      glow_tensor_create(ctx, glow_type_exact(ctx, GLOW_KIND_FLOAT, 4, o->nhwc ? nhwc : nchw));
  fill(t, &w, width, height, channels, o);
  return t;
}

GlowTensor *glow_image_read(GlowContext *ctx, const char *name, const void *data, size_t size,
                            const GlowImageOptions *o) {
  GlowPixels pixels = {0};
  bool ok = false;
  switch (glow_image_format(data, size)) {
  case GLOW_IMAGE_PNG:
    ok = glow_decode_png(&pixels, data, size);
    break;
  case GLOW_IMAGE_JPEG:
    ok = glow_decode_jpeg(&pixels, data, size);
    break;
  case GLOW_IMAGE_PNM:
    ok = glow_decode_pnm(&pixels, data, size);
    break;
  case GLOW_IMAGE_NONE:
    pixels.error = "neither PNG nor JPEG nor PNM";
    break;
  }
  GlowTensor *t = NULL;
  GlowDefer defer;
  glow_defer_push(ctx, &defer, release_pixels, &pixels);
  if (pixels.no_memory)
    glow_throw(ctx, GLOW_NO_MEMORY);
  if (pixels.warning)
    glow_warning(ctx, glow_loc_file(ctx, name), "%s", pixels.warning);
  if (ok)
    t = make_tensor(ctx, name, &pixels, o);
  else
    glow_error(ctx, glow_loc_file(ctx, name), "%s",
               pixels.error ? pixels.error : "damaged picture");
  glow_defer_pop(ctx, &defer, true);
  return t;
}
