/* See pictures.h. */
#include "driver/pictures.h"

#include <stdio.h>
#include <string.h>

#include "support/text.h"

/* "a" or "a,b,c" into three doubles. */
static bool parse_triple(GlowContext *ctx, const char *option, const char *text, double *v) {
  const char *p = text;
  for (int i = 0; i < 3; i++) {
    char *end;
    v[i] = glow_parse_double(p, &end);
    if (end == p || (*end && *end != ','))
      break;
    if (!*end) {
      if (i == 0)
        v[1] = v[2] = v[0];
      if (i == 0 || i == 2)
        return true;
      break;
    }
    p = end + 1;
  }
  glow_error(ctx, GLOW_NOWHERE, "--%s: '%s' is not a number or three numbers with commas", option,
             text);
  return false;
}

static bool choose(GlowContext *ctx, const char *option, const char *text, const char *no,
                   const char *yes, bool *value) {
  *value = text && !strcmp(text, yes);
  if (!text || *value || !strcmp(text, no))
    return true;
  glow_error(ctx, GLOW_NOWHERE, "--%s: '%s' is neither %s nor %s", option, text, no, yes);
  return false;
}

bool glow_image_flags_read(GlowContext *ctx, const GlowImageFlags *c, GlowImageOptions *o) {
  *o = (GlowImageOptions){.std = {1, 1, 1}, .crop = c->crop};
  if (c->size) {
    unsigned w = 0, h = 0;
    char rest;
    if (sscanf(c->size, "%5ux%5u%c", &w, &h, &rest) != 2 || !w || !h) {
      glow_error(ctx, GLOW_NOWHERE, "--image-size: '%s' is not WIDTHxHEIGHT", c->size);
      return false;
    }
    o->width = w;
    o->height = h;
  }
  if (c->mean && !parse_triple(ctx, "mean", c->mean, o->mean))
    return false;
  if (c->std && !parse_triple(ctx, "std", c->std, o->std))
    return false;
  for (int i = 0; i < 3; i++)
    if (!(o->std[i] > 0)) {
      glow_error(ctx, GLOW_NOWHERE, "--std: must be above 0");
      return false;
    }
  if (!(c->crop >= 0 && c->crop <= 1)) {
    glow_error(ctx, GLOW_NOWHERE, "--crop: must be between 0 and 1");
    return false;
  }
  return choose(ctx, "image-layout", c->layout, "nchw", "nhwc", &o->nhwc) &&
         choose(ctx, "channel-order", c->channel_order, "rgb", "bgr", &o->bgr);
}
