/* Portable grey and pixel maps: P2 and P3 as text, P5 and P6 as bytes (two for each sample, high
 * byte first, where maxval is over 255). https://netpbm.sourceforge.net/doc/pnm.html
 * Only the first picture of a file is read. */
#include "tensor/image.h"

#include "support/limits.h"

typedef struct Pnm {
  const unsigned char *at, *end;
} Pnm;

static bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Skips white space and comments, then reads a number of at most 9 digits. */
static bool take_number(Pnm *f, uint32_t *n) {
  while (f->at < f->end && (is_space(*f->at) || *f->at == '#')) {
    if (*f->at == '#')
      while (f->at < f->end && *f->at != '\n' && *f->at != '\r')
        f->at++;
    else
      f->at++;
  }
  int digits = 0;
  for (*n = 0; f->at < f->end && *f->at >= '0' && *f->at <= '9'; f->at++) {
    if (++digits > 9)
      return false;
    *n = *n * 10 + (*f->at - '0');
  }
  return digits > 0;
}

static bool fail(GlowPixels *p, const char *error) {
  p->error = error;
  return false;
}

static bool read_text(GlowPixels *p, Pnm *f, size_t count, uint32_t maxval) {
  for (size_t i = 0; i < count; i++) {
    uint32_t v;
    if (!take_number(f, &v) || v > maxval)
      return fail(p, "the picture is cut off, or a sample is over the maximum");
    if (p->wide)
      ((uint16_t *)p->data)[i] = (uint16_t)v;
    else
      ((unsigned char *)p->data)[i] = (unsigned char)v;
  }
  return true;
}

static bool read_raw(GlowPixels *p, const Pnm *f, size_t count, uint32_t maxval) {
  for (size_t i = 0; i < count; i++) {
    uint32_t v = p->wide ? (uint32_t)f->at[2 * i] << 8 | f->at[2 * i + 1] : f->at[i];
    if (v > maxval)
      return fail(p, "a sample is over the maximum");
    if (p->wide)
      ((uint16_t *)p->data)[i] = (uint16_t)v;
    else
      ((unsigned char *)p->data)[i] = (unsigned char)v;
  }
  return true;
}

bool glow_decode_pnm(GlowPixels *p, const void *data, size_t size) {
  const unsigned char *bytes = data;
  Pnm f = {bytes + 2, bytes + size};
  uint32_t width, height, maxval;
  if (!take_number(&f, &width) || !take_number(&f, &height) || !take_number(&f, &maxval) ||
      maxval == 0 || maxval > 65535)
    return fail(p, "malformed PNM header");
  bool raw = bytes[1] >= '5';
  uint32_t channels = bytes[1] == '3' || bytes[1] == '6' ? 3 : 1;
  uint64_t samples = (uint64_t)width * height; /* both below 10^9 */
  /* Every sample takes at least one byte: a short file cannot ask for much memory. */
  if (samples > size || samples * channels * (raw && maxval > 255 ? 2 : 1) > size)
    return fail(p, "the picture is cut off");
  if (!glow_pixels_allocate(p, width, height, channels, maxval > 255))
    return false;
  size_t count = (size_t)samples * channels;
  if (!raw)
    return read_text(p, &f, count, maxval);
  if (f.at == f.end || !is_space(*f.at++) ||
      (size_t)(f.end - f.at) / (p->wide ? 2 : 1) + GLOW_OFF_BY_ONE < count)
    return fail(p, "the picture is cut off");
  return read_raw(p, &f, count, maxval);
}
